/* ws_server.c — the thread, the sockets and the commands of the test server. Requests and frames:
 * ws_server_frame.c. */
#include "platform/ws_server.h"
#include "platform/ws_server_priv.h"

#include "sma/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES 65536
#define POLL_COUNT_MAX 4096

static void need(bool is_good, const char *what)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "ws_server: %s failed: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ms(void)
{
    return sma_clock_now_ns() / 1000000;
}

void ws_server_lock(struct ws_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
}

void ws_server_unlock(struct ws_server *server)
{
    (void)pthread_mutex_unlock(&server->lock);
}

void ws_server_ring(struct ws_server *server)
{
    uint64_t one = 1;
    (void)!write(server->bell, &one, sizeof one); /* a full counter is a ringing bell too */
}

/* -- what runs when nobody scripts ------------------------------------------------------------- */
static void default_request(void *user, struct ws_server *server,
                            const struct ws_server_request *request)
{
    (void)user;
    if (request->is_upgrade)
        (void)ws_server_accept(server, request->conn);
    else
        (void)ws_server_answer(server, request->conn, 404, "text/plain", SMA_STR("not here"));
}

static void default_message(void *user, struct ws_server *server, unsigned conn,
                            struct sma_str bytes, bool is_binary)
{
    (void)user;
    (void)ws_server_send(server, conn, bytes, is_binary);
}

/* -- one connection ---------------------------------------------------------------------------- */
static void take_connection(struct ws_server *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct ws_conn *conn = calloc(1, sizeof *conn);
    need(conn != NULL, "calloc");
    conn->fd = fd;
    conn->id = ++server->last_id;
    sma_buf_init(&conn->in, WS_BUFFER_BYTES_MAX);
    sma_buf_init(&conn->out, WS_BUFFER_BYTES_MAX);
    sma_buf_init(&conn->message, WS_BODY_BYTES_MAX);
    if (server->ssl_ctx != NULL && server->tls != WS_SERVER_TLS_SILENT) {
        conn->ssl = SSL_new(server->ssl_ctx);
        need(conn->ssl != NULL && SSL_set_fd(conn->ssl, fd) == 1, "SSL_new");
        SSL_set_accept_state(conn->ssl);
    }
    conn->is_frozen = server->tls == WS_SERVER_TLS_SILENT;
    conn->next = server->conns;
    server->conns = conn;
}

static void free_connection(struct ws_conn *conn)
{
    if (conn->ssl != NULL)
        SSL_free(conn->ssl);
    (void)close(conn->fd);
    sma_buf_fini(&conn->in);
    sma_buf_fini(&conn->out);
    sma_buf_fini(&conn->message);
    free(conn);
}

/* @return bytes, 0 = nothing now, -1 = over */
static ssize_t tls_result(struct ws_conn *conn, int count)
{
    if (count > 0)
        return count;
    int error = SSL_get_error(conn->ssl, count);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static ssize_t system_result(ssize_t count, bool is_read)
{
    if (count > 0)
        return count;
    if (count == 0)
        return is_read ? -1 : 0;
    return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

static void read_connection(struct ws_server *server, struct ws_conn *conn)
{
    for (int i = 0; i < 16 && !conn->is_dead; i++) {
        char *room = sma_buf_reserve(&conn->in, READ_BYTES);
        need(room != NULL, "room for what a client sends");
        ssize_t len = conn->ssl == NULL ? system_result(recv(conn->fd, room, READ_BYTES, 0), true)
                                        : tls_result(conn, SSL_read(conn->ssl, room, READ_BYTES));
        if (len == 0)
            break;
        if (len < 0)
            conn->is_dead = true;
        else
            conn->in.len += (size_t)len;
    }
    bool was_dead = conn->is_dead; /* what came before its end is handled all the same */
    conn->is_dead = false;
    ws_conn_parse(server, conn);
    conn->is_dead = conn->is_dead || was_dead;
}

static void write_connection(struct ws_conn *conn)
{
    while (conn->out_start < conn->out.len) {
        const char *bytes = conn->out.ptr + conn->out_start;
        size_t len = conn->out.len - conn->out_start;
        ssize_t sent =
            conn->ssl == NULL
                ? system_result(send(conn->fd, bytes, len, MSG_NOSIGNAL), false)
                : tls_result(conn, SSL_write(conn->ssl, bytes, len > 65536 ? 65536 : (int)len));
        conn->is_dead = conn->is_dead || sent < 0;
        if (sent <= 0)
            return;
        conn->out_start += (size_t)sent;
    }
    sma_buf_clear(&conn->out);
    conn->out_start = 0;
    if (conn->is_ending)
        conn->is_dead = true;
}

static void serve_connection(struct ws_server *server, struct ws_conn *conn, short events)
{
    if (conn->is_frozen || conn->is_dead)
        return;
    if (conn->ssl != NULL && !conn->is_shaken) {
        int done = SSL_do_handshake(conn->ssl);
        conn->is_shaken = done == 1;
        conn->is_dead = tls_result(conn, done) < 0;
        if (!conn->is_shaken)
            return;
    }
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !conn->is_paused)
        read_connection(server, conn);
    else
        ws_conn_parse(server, conn); /* a request behind the one that was just answered */
    if (!conn->is_dead)
        write_connection(conn);
}

static void bury_dead(struct ws_server *server)
{
    struct ws_conn **at = &server->conns;
    while (*at != NULL) {
        struct ws_conn *conn = *at;
        if (!conn->is_dead) {
            at = &conn->next;
            continue;
        }
        *at = conn->next;
        if (conn->phase == WS_CONN_OPEN && server->hooks.closed != NULL)
            server->hooks.closed(server->user, server, conn->id, conn->close_code,
                                 sma_str(conn->close_reason));
        free_connection(conn);
        (void)pthread_cond_broadcast(&server->changed);
        at = &server->conns; /* the hook may have changed the list's states */
    }
}

/* -- the thread -------------------------------------------------------------------------------- */
static int run_timers(struct ws_server *server)
{
    for (;;) {
        struct ws_timer **first = NULL;
        for (struct ws_timer **at = &server->timers; *at != NULL; at = &(*at)->next)
            if (first == NULL || (*at)->at_ms < (*first)->at_ms)
                first = at;
        if (first == NULL)
            return -1;
        struct ws_timer *timer = *first;
        uint64_t now = now_ms();
        if (timer->at_ms > now)
            return (int)(timer->at_ms - now);
        *first = timer->next;
        timer->run(timer->user, server);
        free(timer);
    }
}

static size_t fill_polls(struct ws_server *server, struct pollfd *polls)
{
    size_t count = 0;
    polls[count++] = (struct pollfd){.fd = server->bell, .events = POLLIN};
    polls[count++] =
        (struct pollfd){.fd = server->listener, .events = POLLIN}; /* -1 is passed over */
    for (struct ws_conn *conn = server->conns; conn != NULL && count < POLL_COUNT_MAX;
         conn = conn->next) {
        bool has_output = conn->out_start < conn->out.len && (conn->ssl == NULL || conn->is_shaken);
        short events = (short)((conn->is_paused ? 0 : POLLIN) | (has_output ? POLLOUT : 0));
        bool is_silent = conn->is_frozen ||
                         (conn->is_paused && !has_output); /* or POLLHUP would turn the loop */
        polls[count++] = (struct pollfd){.fd = is_silent ? -1 : conn->fd, .events = events};
    }
    return count;
}

static void serve(struct ws_server *server, const struct pollfd *polls, size_t count)
{
    uint64_t rings;
    if ((polls[0].revents & POLLIN) != 0)
        (void)!read(server->bell, &rings, sizeof rings);
    /* New connections go in front of the list: serve the old ones first, they are in the order of
     * polls. */
    size_t i = 2;
    for (struct ws_conn *conn = server->conns; conn != NULL && i < count; conn = conn->next)
        serve_connection(server, conn, polls[i++].revents);
    if (server->listener >= 0 && (polls[1].revents & POLLIN) != 0)
        take_connection(server);
    bury_dead(server);
}

static void *run(void *argument)
{
    struct ws_server *server = argument;
    struct pollfd *polls = calloc(POLL_COUNT_MAX, sizeof *polls);
    need(polls != NULL, "calloc");
    ws_server_lock(server);
    while (!server->is_stopping) {
        int wait_ms = run_timers(server);
        size_t count = fill_polls(server, polls);
        ws_server_unlock(server);
        (void)poll(polls, count, sma_clock_poll_ms(wait_ms));
        ws_server_lock(server);
        serve(server, polls, count);
    }
    ws_server_unlock(server);
    free(polls);
    return NULL;
}

/* -- start and stop ---------------------------------------------------------------------------- */
static void open_listener(struct ws_server *server)
{
    int family = server->is_ipv6 ? AF_INET6 : AF_INET, one = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    need(fd >= 0, "socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(server->port)};
    in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
                               .sin6_port = htons(server->port),
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct sockaddr *address =
        server->is_ipv6 ? (const struct sockaddr *)&in6 : (const struct sockaddr *)&in4;
    socklen_t len = server->is_ipv6 ? sizeof in6 : sizeof in4;
    need(bind(fd, address, len) == 0, "bind");
    need(listen(fd, 512) == 0, "listen");
    need(getsockname(fd, server->is_ipv6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in4,
                     &len) == 0,
         "getsockname");
    server->port = ntohs(server->is_ipv6 ? in6.sin6_port : in4.sin_port);
    server->listener = fd;
}

static void make_lock(struct ws_server *server)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    (void)pthread_mutexattr_init(&mutex);
    (void)pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_condattr_init(&cond);
    (void)pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    need(pthread_mutex_init(&server->lock, &mutex) == 0 &&
             pthread_cond_init(&server->changed, &cond) == 0,
         "lock");
    (void)pthread_mutexattr_destroy(&mutex);
    (void)pthread_condattr_destroy(&cond);
}

static void make_tls(struct ws_server *server)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(server->dir, sizeof server->dir, "%.40s/ws_server.XXXXXX",
                   base == NULL ? "/tmp" : base);
    need(mkdtemp(server->dir) != NULL, "mkdtemp");
    (void)snprintf(server->ca_file, sizeof server->ca_file, "%s/ca.pem", server->dir);
    server->ssl_ctx = ws_server_tls_create(server->tls, server->ca_file);
}

struct ws_server *ws_server_start(const struct ws_server_options *options)
{
    static const struct ws_server_hooks echo = {.request = default_request,
                                                .message = default_message};
    struct ws_server *server = calloc(1, sizeof *server);
    need(server != NULL, "calloc");
    make_lock(server);
    server->hooks = echo;
    if (options != NULL) {
        server->tls = options->tls;
        server->is_ipv6 = options->is_ipv6;
        server->port = options->port;
        server->user = options->user;
        if (options->hooks != NULL)
            server->hooks = *options->hooks;
    }
    if (server->hooks.request == NULL)
        server->hooks.request = default_request;
    if (server->tls != WS_SERVER_PLAIN)
        make_tls(server);
    server->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    need(server->bell >= 0, "eventfd");
    open_listener(server);
    const char *host = server->is_ipv6 ? "[::1]" : "127.0.0.1",
               *s = server->tls == WS_SERVER_PLAIN ? "" : "s";
    (void)snprintf(server->url, sizeof server->url, "ws%s://%s:%u", s, host, server->port);
    (void)snprintf(server->http_url, sizeof server->http_url, "http%s://%s:%u", s, host,
                   server->port);
    need(pthread_create(&server->thread, NULL, run, server) == 0, "pthread_create");
    return server;
}

void ws_server_stop(struct ws_server *server)
{
    if (server == NULL)
        return;
    ws_server_lock(server);
    server->is_stopping = true;
    ws_server_unlock(server);
    ws_server_ring(server);
    (void)pthread_join(server->thread, NULL);
    while (server->conns != NULL) {
        struct ws_conn *conn = server->conns;
        server->conns = conn->next;
        free_connection(conn);
    }
    while (server->timers != NULL) {
        struct ws_timer *timer = server->timers;
        server->timers = timer->next;
        free(timer);
    }
    if (server->listener >= 0)
        (void)close(server->listener);
    (void)close(server->bell);
    if (server->ssl_ctx != NULL) {
        SSL_CTX_free(server->ssl_ctx);
        (void)unlink(server->ca_file);
        (void)rmdir(server->dir);
    }
    (void)pthread_mutex_destroy(&server->lock);
    (void)pthread_cond_destroy(&server->changed);
    free(server);
}

uint16_t ws_server_port(const struct ws_server *server)
{
    return server->port;
}

const char *ws_server_url(const struct ws_server *server)
{
    return server->url;
}

const char *ws_server_http_url(const struct ws_server *server)
{
    return server->http_url;
}

const char *ws_server_ca_file(const struct ws_server *server)
{
    return server->ca_file;
}

void ws_server_listen(struct ws_server *server, bool is_listening)
{
    ws_server_lock(server);
    if (is_listening && server->listener < 0)
        open_listener(server);
    if (!is_listening && server->listener >= 0) {
        (void)close(server->listener);
        server->listener = -1;
    }
    ws_server_unlock(server);
    ws_server_ring(server);
}

void ws_server_after(struct ws_server *server, unsigned ms,
                     void (*run_it)(void *user, struct ws_server *server), void *user)
{
    ws_server_lock(server);
    struct ws_timer *timer = calloc(1, sizeof *timer);
    need(timer != NULL, "calloc");
    *timer = (struct ws_timer){
        .next = server->timers, .at_ms = now_ms() + ms, .run = run_it, .user = user};
    server->timers = timer;
    ws_server_unlock(server);
    ws_server_ring(server);
}

/* -- counts ------------------------------------------------------------------------------------ */
static size_t count_conns(struct ws_server *server, bool is_open_only)
{
    size_t count = 0;
    for (struct ws_conn *conn = server->conns; conn != NULL; conn = conn->next)
        count += !conn->is_dead && (!is_open_only || conn->phase == WS_CONN_OPEN);
    return count;
}

size_t ws_server_open_count(struct ws_server *server)
{
    ws_server_lock(server);
    size_t count = count_conns(server, true);
    ws_server_unlock(server);
    return count;
}

size_t ws_server_socket_count(struct ws_server *server)
{
    ws_server_lock(server);
    size_t count = count_conns(server, false);
    ws_server_unlock(server);
    return count;
}

size_t ws_server_accepted_count(struct ws_server *server)
{
    ws_server_lock(server);
    size_t count = server->accepted_count;
    ws_server_unlock(server);
    return count;
}

size_t ws_server_request_count(struct ws_server *server)
{
    ws_server_lock(server);
    size_t count = server->request_count;
    ws_server_unlock(server);
    return count;
}

unsigned ws_server_newest(struct ws_server *server)
{
    ws_server_lock(server);
    unsigned id = 0;
    for (struct ws_conn *conn = server->conns; conn != NULL && id == 0; conn = conn->next)
        id = conn->phase == WS_CONN_OPEN && !conn->is_dead ? conn->id : 0;
    ws_server_unlock(server);
    return id;
}

bool ws_server_wait_open(struct ws_server *server, size_t count, unsigned timeout_ms)
{
    uint64_t end_ms = sma_clock_machine_ns(sma_clock_now_ns()) / 1000000 +
                      timeout_ms; /* the patience of a test */
    struct timespec end = {.tv_sec = (time_t)(end_ms / 1000),
                           .tv_nsec = (long)(end_ms % 1000) * 1000000};
    ws_server_lock(server);
    bool is_late = false;
    while (count_conns(server, true) != count && !is_late)
        is_late = pthread_cond_timedwait(&server->changed, &server->lock, &end) != 0;
    bool is_reached = count_conns(server, true) == count;
    ws_server_unlock(server);
    return is_reached;
}

/* -- commands: one connection or every open one ------------------------------------------------ */
struct command
{
    void (*run)(struct ws_conn *conn, const struct command *command);
    struct sma_str bytes;
    unsigned char first;
    bool is_on; /* masked, frozen, paused, mute */
    size_t count;
    unsigned code;
    bool is_for_any; /* not only WebSockets */
};

static bool command(struct ws_server *server, unsigned id, const struct command *command)
{
    bool is_done = false;
    ws_server_lock(server);
    for (struct ws_conn *conn = server->conns; conn != NULL; conn = conn->next) {
        bool is_meant = id == 0 ? conn->phase == WS_CONN_OPEN : conn->id == id;
        if (!is_meant || conn->is_dead || (conn->phase != WS_CONN_OPEN && !command->is_for_any))
            continue;
        command->run(conn, command);
        need(conn->out.err == SMA_ERR_OK, "buffering what is to be sent");
        is_done = true;
    }
    ws_server_unlock(server);
    if (is_done)
        ws_server_ring(server);
    return is_done;
}

static void run_frame(struct ws_conn *conn, const struct command *command)
{
    if (!conn->has_sent_close)
        ws_conn_put_frame(conn, command->first, command->is_on, command->bytes);
}

bool ws_server_send_frame(struct ws_server *server, unsigned conn, unsigned char first,
                          bool is_masked, struct sma_str bytes)
{
    return command(
        server, conn,
        &(struct command){.run = run_frame, .first = first, .is_on = is_masked, .bytes = bytes});
}

bool ws_server_send(struct ws_server *server, unsigned conn, struct sma_str bytes, bool is_binary)
{
    return ws_server_send_frame(server, conn, is_binary ? 0x82 : 0x81, false, bytes);
}

bool ws_server_ping(struct ws_server *server, unsigned conn, struct sma_str bytes)
{
    return ws_server_send_frame(server, conn, 0x89, false, bytes);
}

static void run_fragments(struct ws_conn *conn, const struct command *command)
{
    size_t sent = 0;
    for (size_t i = 0; i < command->count; i++) {
        bool is_last = i + 1 == command->count;
        size_t len = is_last ? command->bytes.len - sent : command->bytes.len / command->count;
        unsigned char first = (unsigned char)((i == 0 ? command->first : 0) | (is_last ? 0x80 : 0));
        ws_conn_put_frame(conn, first, false, (struct sma_str){command->bytes.ptr + sent, len});
        if (i == 0 && command->is_on)
            ws_conn_put_frame(conn, 0x89, false, SMA_STR("between"));
        sent += len;
    }
}

bool ws_server_send_fragments(struct ws_server *server, unsigned conn, struct sma_str bytes,
                              bool is_binary, size_t count, bool has_ping_between)
{
    return command(server, conn,
                   &(struct command){.run = run_fragments,
                                     .first = is_binary ? 2 : 1,
                                     .bytes = bytes,
                                     .count = count,
                                     .is_on = has_ping_between});
}

static void run_raw(struct ws_conn *conn, const struct command *command)
{
    sma_buf_put_str(&conn->out, command->bytes);
}

bool ws_server_send_raw(struct ws_server *server, unsigned conn, struct sma_str bytes)
{
    return command(server, conn,
                   &(struct command){.run = run_raw, .bytes = bytes, .is_for_any = true});
}

static void run_close(struct ws_conn *conn, const struct command *command)
{
    char payload[125];
    size_t len = command->bytes.len > 123 ? 123 : command->bytes.len;
    payload[0] = (char)(command->code >> 8);
    payload[1] = (char)command->code;
    if (len > 0)
        memcpy(payload + 2, command->bytes.ptr, len);
    if (!conn->has_sent_close)
        ws_conn_put_frame(conn, 0x88, false,
                          (struct sma_str){payload, command->code == 0 ? 0 : len + 2});
    conn->has_sent_close = true;
}

bool ws_server_close(struct ws_server *server, unsigned conn, unsigned code, const char *reason)
{
    return command(server, conn,
                   &(struct command){.run = run_close, .code = code, .bytes = sma_str(reason)});
}

static void run_drop(struct ws_conn *conn, const struct command *command)
{
    (void)command;
    conn->is_ending = true;
    conn->is_frozen = false;
    if (conn->out_start == conn->out.len)
        conn->is_dead = true;
}

bool ws_server_drop(struct ws_server *server, unsigned conn)
{
    return command(server, conn, &(struct command){.run = run_drop, .is_for_any = true});
}

static void run_reset(struct ws_conn *conn, const struct command *command)
{
    (void)command;
    struct linger linger = {.l_onoff = 1};
    (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    conn->is_dead = true;
}

bool ws_server_reset(struct ws_server *server, unsigned conn)
{
    return command(server, conn, &(struct command){.run = run_reset, .is_for_any = true});
}

static void run_freeze(struct ws_conn *conn, const struct command *command)
{
    conn->is_frozen = command->is_on;
}

bool ws_server_freeze(struct ws_server *server, unsigned conn, bool is_frozen)
{
    return command(server, conn,
                   &(struct command){.run = run_freeze, .is_on = is_frozen, .is_for_any = true});
}

static void run_pause(struct ws_conn *conn, const struct command *command)
{
    conn->is_paused = command->is_on;
}

bool ws_server_pause(struct ws_server *server, unsigned conn, bool is_paused)
{
    return command(server, conn,
                   &(struct command){.run = run_pause, .is_on = is_paused, .is_for_any = true});
}

static void run_mute(struct ws_conn *conn, const struct command *command)
{
    conn->is_mute = command->is_on;
}

bool ws_server_mute(struct ws_server *server, unsigned conn, bool is_mute)
{
    return command(server, conn, &(struct command){.run = run_mute, .is_on = is_mute});
}

size_t ws_server_unsent(struct ws_server *server, unsigned id)
{
    size_t len = 0;
    ws_server_lock(server);
    for (struct ws_conn *conn = server->conns; conn != NULL; conn = conn->next)
        if (id == 0 ? conn->phase == WS_CONN_OPEN : conn->id == id)
            len += conn->out.len - conn->out_start;
    ws_server_unlock(server);
    return len;
}
