/* proxy_server.c — see proxy_server.h. */
#include "support/proxy_server.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_COUNT_MAX 256

struct proxy_server
{
    struct proxy_server_options options;
    int listener;
    pthread_t thread;
    pthread_t threads[CONNECTION_COUNT_MAX];
    int fds[CONNECTION_COUNT_MAX]; /* shut down at the end */
    unsigned count;
    atomic_uint opened, refused;
    atomic_bool is_ending;
    pthread_mutex_t lock;
    char target[300], url[128], user_url[512];
    uint16_t port;
};
struct way
{
    struct proxy_server *proxy;
    int client;
};

/* -- bytes ------------------------------------------------------------------------------------- */
static bool send_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

static bool answer(const struct way *way, const void *bytes, size_t len)
{
    if (way->proxy->options.fault != PROXY_IN_PIECES)
        return send_all(way->client, bytes, len);
    for (size_t i = 0; i < len; i++) {
        if (!send_all(way->client, (const char *)bytes + i, 1))
            return false;
        (void)usleep(500);
    }
    return true;
}

static bool read_all(int fd, void *room, size_t len)
{
    char *at = room;
    while (len > 0) {
        ssize_t got = recv(fd, at, len, 0);
        if (got <= 0)
            return false;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

static void relay(int a, int b)
{
    char bytes[16384];
    struct pollfd fds[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    while (poll(fds, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents == 0)
                continue;
            ssize_t got = recv(fds[i].fd, bytes, sizeof bytes, 0);
            if (got <= 0 || !send_all(fds[1 - i].fd, bytes, (size_t)got))
                return;
        }
}

/* -- where to ---------------------------------------------------------------------------------- */
static int connect_to(const char *host, const char *port)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
    socklen_t size = sizeof *four;
    size_t len = strlen(host);
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    if (len > 5 && strcmp(host + len - 5, ".test") == 0)
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        size = sizeof *six;
    } else if (inet_pton(AF_INET, host, &four->sin_addr) != 1)
        return -1;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int open_way(struct proxy_server *proxy, const char *host, const char *port)
{
    int fd = connect_to(host, port);
    (void)pthread_mutex_lock(&proxy->lock);
    (void)snprintf(proxy->target, sizeof proxy->target, "%s:%s", host, port);
    (void)pthread_mutex_unlock(&proxy->lock);
    if (fd >= 0)
        (void)atomic_fetch_add(&proxy->opened, 1);
    return fd;
}

/* -- HTTP -------------------------------------------------------------------------------------- */
static int refuse_http(const struct way *way, const char *status)
{
    char text[128];
    (void)atomic_fetch_add(&way->proxy->refused, 1);
    int len = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);
    (void)answer(way, text, (size_t)len);
    return -1;
}

static bool find_header(const char *head, const char *name, char *room, size_t size)
{
    size_t len = strlen(name);
    for (const char *at = strstr(head, "\r\n"); at != NULL; at = strstr(at + 2, "\r\n"))
        if (strncasecmp(at + 2, name, len) == 0 && at[2 + len] == ':') {
            const char *value = at + 3 + len + strspn(at + 3 + len, " ");
            (void)snprintf(room, size, "%.*s", (int)strcspn(value, "\r"), value);
            return true;
        }
    return false;
}

static bool is_let_in(const struct proxy_server_options *options, const char *head)
{
    char plain[512], coded[768], wanted[800], given[800];
    bool is_given = find_header(head, "Proxy-Authorization", given, sizeof given);
    if (options->user == NULL)
        return !is_given;
    int len = snprintf(plain, sizeof plain, "%s:%s", options->user, options->password);
    (void)EVP_EncodeBlock((unsigned char *)coded, (unsigned char *)plain, len);
    (void)snprintf(wanted, sizeof wanted, "Basic %s", coded);
    return is_given && strcmp(given, wanted) == 0;
}

static int read_connect(const struct way *way)
{
    char head[8192] = "", target[300], host[300], value[300];
    size_t len = 0;
    while (len < sizeof head - 1 && strstr(head, "\r\n\r\n") == NULL) {
        ssize_t got = recv(way->client, head + len, sizeof head - 1 - len, 0);
        if (got <= 0)
            return -1;
        len += (size_t)got;
        head[len] = '\0';
    }
    const char *end = strstr(head, "\r\n\r\n");
    if (end == NULL || end[4] != '\0')
        return refuse_http(way, "400 Bytes Before Their Turn");
    if (sscanf(head, "CONNECT %299s HTTP/1.1\r", target) != 1)
        return refuse_http(way, "405 Method Not Allowed");
    char *colon = strrchr(target, ':');
    if (colon == NULL || strspn(colon + 1, "0123456789") != strlen(colon + 1) || colon == target)
        return refuse_http(way, "400 Bad Target");
    if (!find_header(head, "Host", value, sizeof value) || strcmp(value, target) != 0)
        return refuse_http(way, "400 Bad Host");
    if (find_header(head, "Authorization", value, sizeof value) ||
        find_header(head, "Cookie", value, sizeof value))
        return refuse_http(way, "400 Not For Me");
    if (!is_let_in(&way->proxy->options, head))
        return refuse_http(way, "407 Proxy Authentication Required");
    if (way->proxy->options.fault == PROXY_REFUSES)
        return refuse_http(way, "403 Forbidden");
    bool is_ipv6 = target[0] == '[';
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - target) - 2 * is_ipv6,
                   target + is_ipv6);
    int fd = open_way(way->proxy, host, colon + 1);
    if (fd < 0)
        return refuse_http(way, "502 Bad Gateway");
    static const char fine[] = "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n";
    (void)answer(way, fine, sizeof fine - 1);
    return fd;
}

/* -- SOCKS 5 ----------------------------------------------------------------------------------- */
static int refuse_socks(const struct way *way, const void *bytes, size_t len)
{
    (void)atomic_fetch_add(&way->proxy->refused, 1);
    (void)answer(way, bytes, len);
    return -1;
}

static bool read_text(int fd, char room[256])
{
    unsigned char len;
    if (!read_all(fd, &len, 1) || !read_all(fd, room, len))
        return false;
    room[len] = '\0';
    return true;
}

static bool log_in(const struct way *way)
{
    const struct proxy_server_options *options = &way->proxy->options;
    unsigned char version;
    char user[256], password[256];
    if (!read_all(way->client, &version, 1) || version != 1 || !read_text(way->client, user) ||
        !read_text(way->client, password))
        return false;
    if (strcmp(user, options->user) == 0 && strcmp(password, options->password) == 0)
        return answer(way, "\x01\x00", 2);
    (void)refuse_socks(way, "\x01\x01", 2);
    return false;
}

static bool greet(const struct way *way)
{
    unsigned char head[2], methods[255];
    unsigned char wanted = way->proxy->options.user == NULL ? 0 : 2;
    if (!read_all(way->client, head, 2) || head[0] != 5 || head[1] == 0 ||
        !read_all(way->client, methods, head[1]))
        return false;
    if (memchr(methods, wanted, head[1]) == NULL) {
        (void)refuse_socks(way, "\x05\xff", 2);
        return false;
    }
    char chosen[2] = {5, (char)wanted};
    return answer(way, chosen, 2) && (wanted == 0 || log_in(way));
}

static int read_socks(const struct way *way)
{
    unsigned char head[4], address[16], port_bytes[2];
    char host[256] = "", port[8];
    if (!greet(way) || !read_all(way->client, head, 4))
        return -1;
    if (head[0] != 5 || head[1] != 1 || head[2] != 0)
        return refuse_socks(way, "\x05\x07\x00\x01\0\0\0\0\0\0", 10);
    if (head[3] == 3) {
        if (!read_text(way->client, host) || host[0] == '\0')
            return -1;
    } else {
        size_t size = head[3] == 1 ? 4 : 16;
        if ((head[3] != 1 && head[3] != 4) || !read_all(way->client, address, size) ||
            inet_ntop(size == 4 ? AF_INET : AF_INET6, address, host, sizeof host) == NULL)
            return refuse_socks(way, "\x05\x08\x00\x01\0\0\0\0\0\0", 10);
    }
    if (!read_all(way->client, port_bytes, 2))
        return -1;
    (void)snprintf(port, sizeof port, "%d", port_bytes[0] << 8 | port_bytes[1]);
    if (way->proxy->options.fault == PROXY_REFUSES)
        return refuse_socks(way, "\x05\x02\x00\x01\0\0\0\0\0\0", 10);
    int fd = open_way(way->proxy, host, port);
    if (fd < 0)
        return refuse_socks(way, "\x05\x04\x00\x01\0\0\0\0\0\0", 10);
    (void)answer(way, "\x05\x00\x00\x03\x04test\x12\x34", 11); /* it may name itself */
    return fd;
}

/* -- the server -------------------------------------------------------------------------------- */
static void *serve(void *argument)
{
    struct way way = *(struct way *)argument;
    enum proxy_fault fault = way.proxy->options.fault;
    char byte;
    free(argument);
    int fd = -1;
    if (fault == PROXY_SILENT)
        while (recv(way.client, &byte, 1, 0) > 0) {
        }
    else if (fault == PROXY_GARBAGE)
        (void)send_all(way.client, "220 ready for mail\r\n\r\n", 22);
    else if (fault == PROXY_HANGS_UP)
        (void)recv(way.client, &byte, 1, 0);
    else
        fd = way.proxy->options.is_socks ? read_socks(&way) : read_connect(&way);
    if (fd >= 0 && fault == PROXY_EAGER)
        (void)send_all(way.client, "and more", 8);
    if (fd >= 0) {
        relay(way.client, fd);
        (void)close(fd);
    }
    (void)shutdown(way.client, SHUT_RDWR); /* closed at the end, so that its number stays */
    return NULL;
}

static void *listen_on(void *argument)
{
    struct proxy_server *proxy = argument;
    while (proxy->count < CONNECTION_COUNT_MAX) {
        int fd = accept(proxy->listener, NULL, NULL);
        if (fd < 0 || atomic_load(&proxy->is_ending))
            break;
        struct way *way = malloc(sizeof *way);
        CHECK(way != NULL);
        *way = (struct way){proxy, fd};
        proxy->fds[proxy->count] = fd;
        CHECK_INT(0, pthread_create(&proxy->threads[proxy->count], NULL, serve, way));
        proxy->count++;
    }
    return NULL;
}

struct proxy_server *proxy_server_start(const struct proxy_server_options *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct proxy_server *proxy = calloc(1, sizeof *proxy);
    CHECK(proxy != NULL);
    proxy->options = *options;
    CHECK_INT(0, pthread_mutex_init(&proxy->lock, NULL));
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(proxy->listener >= 0 && bind(proxy->listener, (struct sockaddr *)&address, size) == 0 &&
          listen(proxy->listener, 64) == 0 &&
          getsockname(proxy->listener, (struct sockaddr *)&address, &size) == 0);
    proxy->port = ntohs(address.sin_port);
    const char *scheme = options->is_socks ? "socks5h" : "http";
    (void)snprintf(proxy->url, sizeof proxy->url, "%s://127.0.0.1:%u", scheme, proxy->port);
    (void)snprintf(proxy->user_url, sizeof proxy->user_url, "%s://%s:%s@127.0.0.1:%u", scheme,
                   options->user == NULL ? "" : options->user,
                   options->password == NULL ? "" : options->password, proxy->port);
    CHECK_INT(0, pthread_create(&proxy->thread, NULL, listen_on, proxy));
    return proxy;
}

void proxy_server_stop(struct proxy_server *proxy)
{
    atomic_store(&proxy->is_ending, true);
    (void)shutdown(proxy->listener, SHUT_RDWR);
    CHECK_INT(0, pthread_join(proxy->thread, NULL));
    for (unsigned i = 0; i < proxy->count; i++)
        (void)shutdown(proxy->fds[i], SHUT_RDWR);
    for (unsigned i = 0; i < proxy->count; i++) {
        CHECK_INT(0, pthread_join(proxy->threads[i], NULL));
        (void)close(proxy->fds[i]);
    }
    (void)close(proxy->listener);
    (void)pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

const char *proxy_server_url(struct proxy_server *proxy, bool has_user)
{
    return has_user ? proxy->user_url : proxy->url;
}

unsigned proxy_server_port(const struct proxy_server *proxy)
{
    return proxy->port;
}

unsigned proxy_server_opened(const struct proxy_server *proxy)
{
    return atomic_load(&proxy->opened);
}

unsigned proxy_server_refused(const struct proxy_server *proxy)
{
    return atomic_load(&proxy->refused);
}

void proxy_server_target(struct proxy_server *proxy, char *text, size_t size)
{
    (void)pthread_mutex_lock(&proxy->lock);
    (void)snprintf(text, size, "%s", proxy->target);
    (void)pthread_mutex_unlock(&proxy->lock);
}
