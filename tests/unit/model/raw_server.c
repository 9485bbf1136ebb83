#include "raw_server.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_COUNT_MAX 128

struct raw_server
{
    int fd, port, to_port; /* to_port > 0: a proxy */
    raw_answer_fn *answer;
    void *user;
    pthread_mutex_t lock;
    pthread_t acceptor, threads[CONNECTION_COUNT_MAX];
    int fds[CONNECTION_COUNT_MAX];
    size_t thread_count;
    char *requests[RAW_REQUEST_COUNT_MAX];
    size_t request_count;
};

struct connection
{
    struct raw_server *server;
    int fd;
    char bytes[RAW_REQUEST_BYTES_MAX];
    size_t len;
};

static void send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t count = send(fd, bytes, len, MSG_NOSIGNAL);
        if (count <= 0)
            return;
        bytes += count;
        len -= (size_t)count;
    }
}

static size_t keep(struct raw_server *server, const char *request, size_t len)
{
    CHECK(server->request_count < RAW_REQUEST_COUNT_MAX);
    server->requests[server->request_count] = strndup(request, len);
    return server->request_count++;
}

/* -- a server ---------------------------------------------------------------------------------- */
/* Length of the first whole request in the buffer; 0 = not there yet. */
static size_t request_len(struct connection *connection)
{
    connection->bytes[connection->len] = '\0';
    const char *end = strstr(connection->bytes, "\r\n\r\n");
    if (end == NULL)
        return 0;
    const char *length = strcasestr(connection->bytes, "\r\ncontent-length:");
    size_t body = length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0;
    size_t whole = (size_t)(end + 4 - connection->bytes) + body;
    return connection->len >= whole ? whole : 0;
}

static void serve(struct connection *connection)
{
    struct raw_server *server = connection->server;
    for (;;) {
        size_t whole = request_len(connection);
        if (whole > 0) {
            static const size_t size = 1 << 17;
            char *response = calloc(1, size);
            CHECK(response != NULL);
            pthread_mutex_lock(&server->lock);
            size_t number = keep(server, connection->bytes, whole);
            server->answer(server->user, number, server->requests[number], response, size);
            pthread_mutex_unlock(&server->lock);
            send_all(connection->fd, response, strlen(response));
            bool is_last = strstr(response, "\r\nConnection: close\r\n") != NULL;
            free(response);
            if (is_last) /* an orderly end, which tells nothing of a body without a length */
                return;
            memmove(connection->bytes, connection->bytes + whole, connection->len - whole);
            connection->len -= whole;
            continue;
        }
        ssize_t count = recv(connection->fd, connection->bytes + connection->len,
                             RAW_REQUEST_BYTES_MAX - 1 - connection->len, 0);
        if (count <= 0)
            return;
        connection->len += (size_t)count;
    }
}

/* -- a proxy ----------------------------------------------------------------------------------- */
static void relay(int left, int right)
{
    char bytes[16384];
    struct pollfd fds[2] = {{.fd = left, .events = POLLIN}, {.fd = right, .events = POLLIN}};
    while (poll(fds, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents == 0)
                continue;
            ssize_t count = recv(fds[i].fd, bytes, sizeof bytes, 0);
            if (count <= 0)
                return;
            send_all(fds[1 - i].fd, bytes, (size_t)count);
        }
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

/* SOCKS5 by RFC 1928: greeting, then CONNECT to a name. Kept as "SOCKS5 name:port". */
static bool shake_socks(struct connection *connection)
{
    unsigned char *bytes = (unsigned char *)connection->bytes;
    CHECK(recv(connection->fd, bytes + 1, 1, MSG_WAITALL) == 1);
    CHECK(recv(connection->fd, bytes + 2, bytes[1], MSG_WAITALL) == bytes[1]);
    send_all(connection->fd, "\x05\x00", 2);
    if (recv(connection->fd, bytes, 5, MSG_WAITALL) != 5 || bytes[3] != 3)
        return false;
    size_t len = bytes[4];
    CHECK(recv(connection->fd, bytes + 5, len + 2, MSG_WAITALL) == (ssize_t)len + 2);
    char line[300];
    snprintf(line, sizeof line, "SOCKS5 %.*s:%d", (int)len, (const char *)bytes + 5,
             bytes[5 + len] * 256 + bytes[6 + len]);
    pthread_mutex_lock(&connection->server->lock);
    keep(connection->server, line, strlen(line));
    pthread_mutex_unlock(&connection->server->lock);
    send_all(connection->fd, "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00", 10);
    return true;
}

static void serve_proxy(struct connection *connection)
{
    struct raw_server *server = connection->server;
    char first = 0;
    if (recv(connection->fd, &first, 1, MSG_PEEK) != 1)
        return;
    bool is_tunnel = true;
    if (first == 5) {
        (void)!recv(connection->fd, connection->bytes, 1, 0);
        is_tunnel = shake_socks(connection);
    } else {
        while (strstr(connection->bytes, "\r\n\r\n") == NULL) {
            ssize_t count = recv(connection->fd, connection->bytes + connection->len,
                                 RAW_REQUEST_BYTES_MAX - 1 - connection->len, 0);
            if (count <= 0)
                return;
            connection->len += (size_t)count;
            connection->bytes[connection->len] = '\0';
        }
        pthread_mutex_lock(&server->lock);
        keep(server, connection->bytes, connection->len);
        pthread_mutex_unlock(&server->lock);
        is_tunnel = strncmp(connection->bytes, "CONNECT ", 8) == 0;
        if (is_tunnel)
            send_all(connection->fd, "HTTP/1.1 200 Connection established\r\n\r\n", 39);
    }
    int to = connect_to(server->to_port);
    if (!is_tunnel)
        send_all(to, connection->bytes, connection->len);
    relay(connection->fd, to);
    close(to);
}

/* -- life -------------------------------------------------------------------------------------- */
static void *run_connection(void *argument)
{
    struct connection *connection = argument;
    if (connection->server->to_port > 0)
        serve_proxy(connection);
    else
        serve(connection);
    (void)shutdown(connection->fd, SHUT_RDWR);
    free(connection);
    return NULL;
}

static void *run_server(void *argument)
{
    struct raw_server *server = argument;
    for (;;) {
        int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        struct connection *connection = calloc(1, sizeof *connection);
        CHECK(connection != NULL && server->thread_count < CONNECTION_COUNT_MAX);
        connection->server = server;
        connection->fd = server->fds[server->thread_count] = fd;
        CHECK(pthread_create(&server->threads[server->thread_count], NULL, run_connection,
                             connection) == 0);
        server->thread_count++;
    }
}

static struct raw_server *create(raw_answer_fn *answer, void *user, int to_port)
{
    struct raw_server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    CHECK(server != NULL);
    server->answer = answer;
    server->user = user;
    server->to_port = to_port;
    pthread_mutex_init(&server->lock, NULL);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, len) == 0);
    CHECK(listen(server->fd, 64) == 0);
    CHECK(getsockname(server->fd, (struct sockaddr *)&address, &len) == 0);
    server->port = ntohs(address.sin_port);
    CHECK(pthread_create(&server->acceptor, NULL, run_server, server) == 0);
    return server;
}

struct raw_server *raw_server_create(raw_answer_fn *answer, void *user)
{
    return create(answer, user, 0);
}

struct raw_server *raw_proxy_create(int to_port)
{
    return create(NULL, NULL, to_port);
}

void raw_server_destroy(struct raw_server *server)
{
    (void)shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->acceptor, NULL);
    close(server->fd);
    for (size_t i = 0; i < server->thread_count; i++)
        (void)shutdown(server->fds[i], SHUT_RDWR);
    for (size_t i = 0; i < server->thread_count; i++) {
        pthread_join(server->threads[i], NULL);
        close(server->fds[i]);
    }
    for (size_t i = 0; i < server->request_count; i++)
        free(server->requests[i]);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

int raw_server_port(const struct raw_server *server)
{
    return server->port;
}

size_t raw_server_count(struct raw_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->request_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

const char *raw_server_request(struct raw_server *server, size_t number)
{
    CHECK(number < raw_server_count(server));
    pthread_mutex_lock(&server->lock);
    const char *request = server->requests[number];
    pthread_mutex_unlock(&server->lock);
    return request;
}

/* -- answers ----------------------------------------------------------------------------------- */
void raw_say(char *response, size_t size, const char *text)
{
    char body[4096];
    int len = snprintf(
        body, sizeof body,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":"
        "{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_"
        "tokens\":"
        "60}}}\n\ndata: [DONE]\n\n",
        text);
    snprintf(response, size,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
             len, body);
}

void raw_fail(char *response, size_t size, int status, const char *headers, const char *body)
{
    snprintf(response, size,
             "HTTP/1.1 %d No\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s",
             status, headers, strlen(body), body);
}
