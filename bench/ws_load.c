/* ws_load.c — see ws_load.h. */
#include "ws_load.h"

#include "bench.h"
#include "feishu/fake_feishu.h"
#include "qq/fake_qq.h"
#include "ws_load_event.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define IN_BYTES_MAX (256 * 1024)
#define OUT_BYTES_MAX (64 * 1024)
#define FD_MAX 1024
#define SENT_RING (UINT64_C(1) << 20) /* a power of two, above what can be unacknowledged */
#define FIRST_SEQ UINT64_C(100000000000)

enum conn_kind
{
    CONN_HTTP,
    CONN_EVENTS, /* a WebSocket that gets events */
    CONN_SILENT, /* a WebSocket that has not introduced itself */
};
struct conn
{
    int fd;
    enum conn_kind kind;
    bool is_qq, is_blocked; /* blocked: the kernel takes no more */
    unsigned shard, shard_count;
    uint64_t seq;
    size_t unacked, in_len, out_len, out_at;
    char *in, *out;
};

/* Guarded by the lock, as is every connection. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct conn *conns[FD_MAX];
static int epoll_fd, listen_fd, wake_fd, port;
static struct
{
    enum ws_load_kind kind;
    size_t window;
    unsigned chats;
    bool is_on;
} flood;
static uint64_t number, *noted;
static size_t noted_count, noted_max;
static uint64_t sent_ns[SENT_RING], acked_ns[SENT_RING];
static bool is_model_answering;
static atomic_uint_least64_t sent_count, acked_count, reply_count;

static void die(const char *what)
{
    fprintf(stderr, "bench_ws: %s (%s)\n", what, strerror(errno));
    exit(2);
}

/* -- writing ----------------------------------------------------------------------------------- */
static void watch(struct conn *conn, bool wants_room)
{
    if (conn->is_blocked == wants_room)
        return;
    conn->is_blocked = wants_room;
    struct epoll_event event = {.events = EPOLLIN | (wants_room ? (uint32_t)EPOLLOUT : 0u),
                                .data.fd = conn->fd};
    (void)epoll_ctl(epoll_fd, EPOLL_CTL_MOD, conn->fd, &event);
}

static void flush(struct conn *conn)
{
    while (conn->out_at < conn->out_len) {
        ssize_t put = send(conn->fd, conn->out + conn->out_at, conn->out_len - conn->out_at,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put <= 0) {
            watch(conn, errno == EAGAIN);
            return;
        }
        conn->out_at += (size_t)put;
    }
    conn->out_at = conn->out_len = 0;
    watch(conn, false);
}

static void put(struct conn *conn, const char *bytes, size_t len)
{
    if (conn->out_len + len > OUT_BYTES_MAX)
        die("what is to be sent does not fit");
    memcpy(conn->out + conn->out_len, bytes, len);
    conn->out_len += len;
}

static void put_event(struct conn *conn, enum ws_load_kind kind, unsigned chat)
{
    uint64_t mine = ++number;
    conn->out_len += event_put(kind, mine, chat, ++conn->seq, conn->out + conn->out_len);
    conn->unacked++;
    sent_ns[mine % SENT_RING] = bench_now_ns();
    acked_ns[mine % SENT_RING] = 0;
    atomic_fetch_add_explicit(&sent_count, 1, memory_order_relaxed);
}

static bool is_of(const struct conn *conn, enum ws_load_kind kind)
{
    return conn != NULL && conn->kind == CONN_EVENTS && conn->is_qq == (kind == WS_LOAD_QQ);
}

/* As much as the connection and its window take, some at a time; the rest when the others have had
 * their turn. */
static void feed(struct conn *conn)
{
    if (!flood.is_on || !is_of(conn, flood.kind))
        return;
    for (int rounds = 0; rounds < 4; rounds++) {
        if (conn->out_len > 0)
            return; /* the kernel tells when there is room */
        while (conn->out_len + EVENT_BYTES_MAX <= OUT_BYTES_MAX &&
               (flood.window == 0 || conn->unacked < flood.window))
            put_event(conn, flood.kind, (unsigned)(number % flood.chats));
        if (conn->out_len == 0)
            return;
        flush(conn);
    }
    watch(conn, true);
}

/* -- WebSocket --------------------------------------------------------------------------------- */
static void note_ack(struct conn *conn, uint64_t mine)
{
    uint64_t now = bench_now_ns();
    conn->unacked -= conn->unacked > 0;
    acked_ns[mine % SENT_RING] = now;
    if (noted_count < noted_max)
        noted[noted_count++] = now - sent_ns[mine % SENT_RING];
    atomic_fetch_add_explicit(&acked_count, 1, memory_order_relaxed);
}

static void answer_qq(struct conn *conn, const char *text)
{
    char out[512], json[400];
    const char *shard = strstr(text, "\"shard\":[");
    if (strstr(text, "\"op\":1,") != NULL) {
        put(conn, out, event_put_text("{\"op\":11}", out, sizeof out));
    } else if (strstr(text, "\"op\":6,") != NULL) {
        snprintf(json, sizeof json, "{\"op\":0,\"s\":%llu,\"t\":\"RESUMED\",\"d\":\"\"}",
                 (unsigned long long)++conn->seq);
        put(conn, out, event_put_text(json, out, sizeof out));
        conn->kind = CONN_EVENTS;
    } else if (strstr(text, "\"op\":2,") != NULL && shard != NULL) {
        char *end;
        conn->shard = (unsigned)strtoul(shard + 9, &end, 10);
        conn->shard_count = (unsigned)strtoul(end + 1, NULL, 10);
        snprintf(json, sizeof json,
                 "{\"op\":0,\"s\":%llu,\"t\":\"READY\",\"id\":\"READY:1\",\"d\":{\"version\":1,"
                 "\"session_id\":\"session-%u\",\"user\":{\"id\":\"1\",\"username\":\"helper\","
                 "\"bot\":true,\"status\":1},\"shard\":[%u,%u]}}",
                 (unsigned long long)++conn->seq, conn->shard, conn->shard, conn->shard_count);
        put(conn, out, event_put_text(json, out, sizeof out));
        conn->kind = CONN_EVENTS;
    }
    flush(conn);
}

static void take_message(struct conn *conn, unsigned opcode, char *bytes, size_t len)
{
    char out[256];
    if (opcode == 1)
        answer_qq(conn, bytes);
    if (opcode == 10)
        acked_ns[strtoull(bytes, NULL, 16) % SENT_RING] = bench_now_ns();
    if (opcode != 2)
        return;
    uint64_t mine = event_acknowledged(bytes, len);
    if (mine != 0) {
        note_ack(conn, mine);
    } else if (memmem(bytes, len, "ping", 4) != NULL) {
        put(conn, out, event_put_pong(out));
        flush(conn);
    }
}

/* One frame of the client at the front of the buffer. @return its bytes; 0: not whole */
static size_t take_frame(struct conn *conn, char *at, size_t have)
{
    size_t len = have < 2 ? 0 : (unsigned char)at[1] & 0x7f, head = 6;
    if (have < 2)
        return 0;
    if (len == 126) {
        head = 8;
        if (have < head)
            return 0;
        len = (size_t)(unsigned char)at[2] << 8 | (unsigned char)at[3];
    } else if (len == 127) {
        die("a frame of the bot is over 64 KiB");
    }
    if (have < head + len)
        return 0;
    const char *mask = at + head - 4;
    for (size_t i = 0; i < len; i++)
        at[head + i] = (char)(at[head + i] ^ mask[i % 4]);
    char kept = at[head + len];
    at[head + len] = '\0';
    take_message(conn, (unsigned char)at[0] & 0x0f, at + head, len);
    at[head + len] = kept;
    return head + len;
}

static void accept_upgrade(struct conn *conn, const char *request)
{
    const char *key = strcasestr(request, "sec-websocket-key:");
    char text[128], answer[300];
    unsigned char digest[EVP_MAX_MD_SIZE], base64[64];
    unsigned digest_len;
    if (key == NULL)
        die("an upgrade without a key");
    key += 18 + strspn(key + 18, " ");
    int text_len = snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    if (EVP_Digest(text, (size_t)text_len, digest, &digest_len, EVP_sha1(), NULL) != 1)
        die("SHA-1");
    EVP_EncodeBlock(base64, digest, (int)digest_len);
    int len = snprintf(answer, sizeof answer,
                       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                       "Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                       base64);
    put(conn, answer, (size_t)len);
    conn->is_qq = strncmp(request, "GET /qq", 7) == 0;
    conn->kind = conn->is_qq ? CONN_SILENT : CONN_EVENTS;
    conn->seq = FIRST_SEQ;
    if (conn->is_qq)
        put(conn, text,
            event_put_text("{\"op\":10,\"d\":{\"heartbeat_interval\":30000}}", text, sizeof text));
    flush(conn);
}

/* -- REST -------------------------------------------------------------------------------------- */
static void answer_http(struct conn *conn, const char *json)
{
    char answer[1200];
    int len = snprintf(answer, sizeof answer,
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                       "%zu\r\n\r\n%s",
                       strlen(json), json);
    put(conn, answer, (size_t)len);
    flush(conn);
}

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void answer_model(struct conn *conn)
{
    if (is_model_answering)
        answer_http(conn, "{\"id\":\"b\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,"
                          "\"message\":{\"role\":\"assistant\",\"content\":\"The second region, by "
                          "four per cent.\"},\"finish_reason\":\"stop\"}],\"usage\":"
                          "{\"prompt_tokens\":1,\"completion_tokens\":1}}");
}

static void answer_request(struct conn *conn, const char *request)
{
    char json[512];
    const char *path = strchr(request, ' ');
    path = path == NULL ? "" : path + 1;
    if (strcasestr(request, "\r\nupgrade: websocket") != NULL) {
        accept_upgrade(conn, request);
    } else if (begins(path, "/v1/")) {
        answer_model(conn);
    } else if (begins(path, "/open-apis/auth/")) {
        answer_http(conn, "{\"code\":0,\"msg\":\"ok\",\"tenant_access_token\":\"t-bench\","
                          "\"expire\":7200}");
    } else if (begins(path, "/open-apis/bot/")) {
        answer_http(conn, "{\"code\":0,\"msg\":\"ok\",\"bot\":{\"activate_status\":2,\"app_name\":"
                          "\"Helper\",\"open_id\":\"" FAKE_FEISHU_BOT "\"}}");
    } else if (begins(path, "/callback/ws/endpoint")) {
        snprintf(json, sizeof json,
                 "{\"code\":0,\"msg\":\"\",\"data\":{\"URL\":\"ws://127.0.0.1:%d/"
                 "feishu?fpid=493&device_id=7400000000000000001&service_id=33554678&ticket=1\","
                 "\"ClientConfig\":{\"ReconnectCount\":-1,\"ReconnectInterval\":120,"
                 "\"ReconnectNonce\":30,\"PingInterval\":120}}}",
                 port);
        answer_http(conn, json);
    } else if (begins(path, "/app/getAppAccessToken")) {
        answer_http(conn, "{\"access_token\":\"bench\",\"expires_in\":\"7200\"}");
    } else if (begins(path, "/gateway")) {
        snprintf(json, sizeof json,
                 "{\"url\":\"ws://127.0.0.1:%d/qq\",\"shards\":1,\"session_start_limit\":{"
                 "\"total\":1000,\"remaining\":999,\"reset_after\":14400000,"
                 "\"max_concurrency\":1000}}",
                 port);
        answer_http(conn, json);
    } else {
        if (begins(request, "POST "))
            atomic_fetch_add(&reply_count, 1);
        snprintf(json, sizeof json,
                 "{\"code\":0,\"msg\":\"success\",\"data\":{\"message_id\":\"om_%llu\"},\"id\":"
                 "\"%llu\",\"timestamp\":\"2026-07-21T10:00:00+08:00\"}",
                 (unsigned long long)reply_count, (unsigned long long)reply_count);
        answer_http(conn, json);
    }
}

/* One request at the front of the buffer. @return its bytes; 0: not whole */
static size_t take_request(struct conn *conn, char *at, size_t have)
{
    const char *end = memmem(at, have, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    size_t head = (size_t)(end + 4 - at);
    char kept = at[head];
    at[head] = '\0';
    const char *length = strcasestr(at, "\r\ncontent-length:");
    size_t whole = head + (length == NULL ? 0 : strtoul(length + 17, NULL, 10));
    if (have >= whole)
        answer_request(conn, at);
    at[head] = kept;
    return have >= whole ? whole : 0;
}

/* -- connections ------------------------------------------------------------------------------- */
static void close_conn(struct conn *conn)
{
    conns[conn->fd] = NULL;
    close(conn->fd);
    free(conn->in);
    free(conn->out);
    free(conn);
}

static void open_conn(void)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC), one = 1;
    if (fd < 0)
        return;
    struct conn *conn = fd < FD_MAX ? calloc(1, sizeof *conn) : NULL;
    if (conn == NULL || (conn->in = malloc(IN_BYTES_MAX + 1)) == NULL ||
        (conn->out = malloc(OUT_BYTES_MAX)) == NULL)
        die("a connection");
    conn->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll_ctl");
    conns[fd] = conn;
}

static void read_conn(struct conn *conn)
{
    ssize_t got =
        recv(conn->fd, conn->in + conn->in_len, IN_BYTES_MAX - conn->in_len, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        close_conn(conn);
        return;
    }
    conn->in_len += (size_t)got;
    size_t at = 0;
    for (;;) {
        char *front = conn->in + at;
        size_t have = conn->in_len - at, used = have == 0 ? 0
                                                : conn->kind == CONN_HTTP
                                                    ? take_request(conn, front, have)
                                                    : take_frame(conn, front, have);
        if (used == 0)
            break;
        at += used;
    }
    memmove(conn->in, conn->in + at, conn->in_len - at);
    conn->in_len -= at;
    if (conn->in_len == IN_BYTES_MAX)
        die("a request of the bot is too long");
    feed(conn);
}

static void handle(const struct epoll_event *event)
{
    int fd = event->data.fd;
    uint64_t wakes;
    if (fd == wake_fd) {
        if (read(wake_fd, &wakes, sizeof wakes) < 0)
            return;
        for (int i = 0; i < FD_MAX; i++)
            if (conns[i] != NULL)
                feed(conns[i]);
        return;
    }
    if (fd == listen_fd) {
        open_conn();
        return;
    }
    struct conn *conn = conns[fd];
    if (conn == NULL)
        return;
    if ((event->events & EPOLLOUT) != 0) {
        flush(conn);
        feed(conn);
    }
    if ((event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
        read_conn(conn);
}

static void *run(void *unused)
{
    struct epoll_event events[64];
    (void)unused;
    for (;;) {
        int count = epoll_wait(epoll_fd, events, 64, -1);
        if (count < 0 && errno != EINTR)
            return NULL;
        pthread_mutex_lock(&lock);
        for (int i = 0; i < count; i++)
            handle(&events[i]);
        pthread_mutex_unlock(&lock);
    }
}

int ws_load_start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    pthread_t thread;
    event_prepare();
    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    wake_fd = eventfd(0, EFD_CLOEXEC);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event on_listen = {.events = EPOLLIN, .data.fd = listen_fd},
                       on_wake = {.events = EPOLLIN, .data.fd = wake_fd};
    if (listen_fd < 0 || bind(listen_fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listen_fd, 128) != 0 ||
        getsockname(listen_fd, (struct sockaddr *)&address, &bytes) != 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &on_listen) != 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &on_wake) != 0)
        die("listen");
    port = ntohs(address.sin_port);
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        die("pthread_create");
    pthread_detach(thread);
    return port;
}

/* -- orders ------------------------------------------------------------------------------------ */
static void wake(void)
{
    uint64_t one = 1;
    if (write(wake_fd, &one, sizeof one) != sizeof one)
        die("eventfd");
}

void ws_load_flood(enum ws_load_kind kind, size_t window, unsigned chats)
{
    pthread_mutex_lock(&lock);
    flood.kind = kind;
    flood.window = window;
    flood.chats = chats;
    flood.is_on = true;
    pthread_mutex_unlock(&lock);
    wake();
}

void ws_load_pause(void)
{
    pthread_mutex_lock(&lock);
    flood.is_on = false;
    pthread_mutex_unlock(&lock);
}

static struct conn *first_of(enum ws_load_kind kind)
{
    for (int fd = 0; fd < FD_MAX; fd++)
        if (is_of(conns[fd], kind))
            return conns[fd];
    die("the bot is not connected");
    return NULL;
}

uint64_t ws_load_send_one(enum ws_load_kind kind, unsigned chat, uint64_t *ret_number)
{
    pthread_mutex_lock(&lock);
    struct conn *conn = first_of(kind);
    put_event(conn, kind, chat);
    *ret_number = number;
    uint64_t before = sent_ns[number % SENT_RING] = bench_now_ns();
    flush(conn);
    pthread_mutex_unlock(&lock);
    return before;
}

uint64_t ws_load_ping_one(enum ws_load_kind kind, uint64_t *ret_number)
{
    char frame[16] = {(char)0x89, 12};
    pthread_mutex_lock(&lock);
    struct conn *conn = first_of(kind);
    *ret_number = ++number;
    acked_ns[number % SENT_RING] = 0;
    snprintf(frame + 2, sizeof frame - 2, "%012llx", (unsigned long long)number);
    put(conn, frame, 14);
    uint64_t before = bench_now_ns();
    flush(conn);
    pthread_mutex_unlock(&lock);
    return before;
}

uint64_t ws_load_await_ack(uint64_t mine)
{
    for (int tries = 0; tries < 20000; tries++) {
        pthread_mutex_lock(&lock);
        uint64_t at = acked_ns[mine % SENT_RING];
        pthread_mutex_unlock(&lock);
        if (at != 0)
            return at;
        usleep(100);
    }
    return 0;
}

size_t ws_load_ready_count(enum ws_load_kind kind)
{
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < FD_MAX; i++)
        count += is_of(conns[i], kind);
    pthread_mutex_unlock(&lock);
    return count;
}

uint64_t ws_load_sent_count(void)
{
    return atomic_load(&sent_count);
}

uint64_t ws_load_acked_count(void)
{
    return atomic_load(&acked_count);
}

uint64_t ws_load_reply_count(void)
{
    return atomic_load(&reply_count);
}

void ws_load_note_latencies(uint64_t *latencies_ns, size_t max)
{
    pthread_mutex_lock(&lock);
    noted = latencies_ns;
    noted_max = max;
    noted_count = 0;
    pthread_mutex_unlock(&lock);
}

size_t ws_load_noted_count(void)
{
    pthread_mutex_lock(&lock);
    size_t count = noted_count;
    noted_max = 0;
    pthread_mutex_unlock(&lock);
    return count;
}

void ws_load_model_answers(bool is_answering)
{
    pthread_mutex_lock(&lock);
    is_model_answering = is_answering;
    pthread_mutex_unlock(&lock);
}
