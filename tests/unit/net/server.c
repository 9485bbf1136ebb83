#include "server.h"

#include "support/check.h"
#include "support/clock.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONN_COUNT_MAX 512
#define REQUEST_BYTES_MAX (8u << 20)

struct conn
{
    struct server *server;
    int fd;
    pthread_t thread;
};

struct server
{
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock;
    struct conn conns[CONN_COUNT_MAX];
    size_t conn_count, request_count, open_count;
    char *last;
    size_t last_len;
};

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static bool send_answer(int fd, int status, const char *headers, const char *body, size_t len)
{
    char head[512];
    int head_len = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\n\r\n",
                            status, headers, len);
    return send_all(fd, head, (size_t)head_len) && send_all(fd, body, len);
}

static void wait_for_end(int fd)
{
    char byte[64];
    while (recv(fd, byte, sizeof byte, 0) > 0) {
    }
}

static bool answer_status(int fd, const char *path)
{
    char headers[256];
    const char *after = strstr(path, "/after/");
    int len = snprintf(headers, sizeof headers, "X-Tt-Logid: log-%d\r\n",
                       (int)strtol(path + 8, NULL, 10));
    if (after != NULL) {
        len +=
            snprintf(headers + len, sizeof headers - (size_t)len, "Retry-After: %s\r\n", after + 7);
        for (char *at = headers; *at != '\0'; at++)
            *at = *at == '_' ? ' ' : *at;
    }
    CHECK(len < (int)sizeof headers);
    int status = (int)strtol(path + 8, NULL, 10);
    return send_answer(fd, status, headers, "{\"ok\":false}", status == 204 ? 0 : 12);
}

static bool drip(int fd, long pause_ms)
{
    static const char head[] = "HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\n";
    if (!send_all(fd, head, sizeof head - 1))
        return false;
    for (int i = 0; i < 10; i++) {
        clock_rest((unsigned)pause_ms);
        if (!send_all(fd, "x", 1))
            return false;
    }
    return true;
}

/* @return the connection goes on */
static bool answer(int fd, const char *path, const char *body, size_t len, bool *is_mortal)
{
    static const char stalled[] = "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n0123456789";
    if (*is_mortal || strcmp(path, "/close") == 0)
        return false;
    if (strcmp(path, "/echo") == 0)
        return send_answer(fd, 200, "X-Request-Id: r1\r\n", body, len);
    if (strncmp(path, "/status/", 8) == 0)
        return answer_status(fd, path);
    if (strncmp(path, "/drip/", 6) == 0)
        return drip(fd, strtol(path + 6, NULL, 10));
    if (strcmp(path, "/mortal") == 0)
        return *is_mortal = true, send_answer(fd, 200, "", "{}", 2);
    if (strcmp(path, "/farewell") == 0)
        return send_answer(fd, 200, "", "{}", 2) && false;
    if (strncmp(path, "/bytes/", 7) == 0) {
        size_t count = (size_t)strtoul(path + 7, NULL, 10);
        char *bytes = malloc(count + 1);
        CHECK(bytes != NULL);
        memset(bytes, 'b', count);
        bool is_sent = send_answer(fd, 200, "", bytes, count);
        free(bytes);
        return is_sent;
    }
    if (strcmp(path, "/stall") == 0 || strcmp(path, "/part") == 0)
        send_all(fd, stalled, sizeof stalled - 1);
    if (strcmp(path, "/part") != 0)
        wait_for_end(fd);
    return false;
}

static void note_request(struct server *server, const char *bytes, size_t len)
{
    pthread_mutex_lock(&server->lock);
    server->request_count++;
    free(server->last);
    server->last = malloc(len);
    CHECK(server->last != NULL);
    memcpy(server->last, bytes, len);
    server->last_len = len;
    pthread_mutex_unlock(&server->lock);
}

static void *serve(void *argument)
{
    struct conn *conn = argument;
    char *in = malloc(REQUEST_BYTES_MAX);
    size_t len = 0;
    bool is_mortal = false, goes_on = true;
    CHECK(in != NULL);
    while (goes_on) {
        const char *end = len < 4 ? NULL : memmem(in, len, "\r\n\r\n", 4);
        size_t body_len = 0;
        if (end != NULL) {
            const char *length = memmem(in, (size_t)(end - in), "Content-Length: ", 16);
            body_len = length == NULL ? 0 : (size_t)strtoul(length + 16, NULL, 10);
        }
        size_t whole = end == NULL ? SIZE_MAX : (size_t)(end - in) + 4 + body_len;
        if (len < whole) {
            ssize_t got = recv(conn->fd, in + len, REQUEST_BYTES_MAX - len, 0);
            if (got <= 0)
                break;
            len += (size_t)got;
            continue;
        }
        char path[256];
        CHECK(sscanf(in, "%*s %255s", path) == 1);
        note_request(conn->server, in, whole);
        goes_on = answer(conn->fd, path, end + 4, body_len, &is_mortal);
        memmove(in, in + whole, len - whole);
        len -= whole;
    }
    free(in);
    shutdown(conn->fd, SHUT_RDWR);
    pthread_mutex_lock(&conn->server->lock);
    conn->server->open_count--;
    pthread_mutex_unlock(&conn->server->lock);
    return NULL;
}

static void *accept_all(void *argument)
{
    struct server *server = argument;
    int fd;
    while ((fd = accept(server->fd, NULL, NULL)) >= 0) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_mutex_lock(&server->lock);
        CHECK(server->conn_count < CONN_COUNT_MAX);
        struct conn *conn = &server->conns[server->conn_count++];
        server->open_count++;
        conn->server = server;
        conn->fd = fd;
        CHECK(pthread_create(&conn->thread, NULL, serve, conn) == 0);
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

struct server *server_create(void)
{
    struct server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    CHECK(server != NULL);
    pthread_mutex_init(&server->lock, NULL);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(server->fd >= 0);
    CHECK(bind(server->fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(server->fd, 256) == 0);
    CHECK(getsockname(server->fd, (struct sockaddr *)&address, &len) == 0);
    server->port = ntohs(address.sin_port);
    CHECK(pthread_create(&server->thread, NULL, accept_all, server) == 0);
    return server;
}

void server_destroy(struct server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (size_t i = 0; i < server->conn_count; i++) {
        shutdown(server->conns[i].fd, SHUT_RDWR);
        pthread_join(server->conns[i].thread, NULL);
        close(server->conns[i].fd);
    }
    free(server->last);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

int server_port(const struct server *server)
{
    return server->port;
}

static size_t read_count(struct server *server, const size_t *count)
{
    pthread_mutex_lock(&server->lock);
    size_t value = *count;
    pthread_mutex_unlock(&server->lock);
    return value;
}

size_t server_connections(struct server *server)
{
    return read_count(server, &server->conn_count);
}

size_t server_requests(struct server *server)
{
    return read_count(server, &server->request_count);
}

size_t server_open(struct server *server)
{
    return read_count(server, &server->open_count);
}

void server_last(struct server *server, char *text, size_t size)
{
    pthread_mutex_lock(&server->lock);
    size_t len = server->last_len < size - 1 ? server->last_len : size - 1;
    if (len > 0)
        memcpy(text, server->last, len);
    text[len] = '\0';
    pthread_mutex_unlock(&server->lock);
}
