/*
 * Aim: what happens to a connection is told exactly once and truly: made, refused, lost, closed by
 * either side, broken by the peer; messages arrive whole and in order; nothing of it needs a
 * wake-up while nothing happens.
 * Method: an actor on a loop against the scriptable server, each fault by itself.
 */
#include "harness.h"
#include "names.h"
#include "support/patience.h"

#include <libwebsockets.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

static struct ws_server *server;
static struct ws_harness *harness;

static struct /* under the server's lock */
{
    unsigned closed_count, code, pong_count;
    char pong[64], authorization[64];
    size_t path_len, query_len;
} seen;

static void on_request(void *user, struct ws_server *the_server,
                       const struct ws_server_request *request)
{
    (void)user;
    unsigned conn = request->conn;
    struct sma_str authorization = ws_server_header(request, "Authorization");
    seen.path_len = request->path.len;
    seen.query_len = request->query.len;
    (void)snprintf(seen.authorization, sizeof seen.authorization, "%.*s", (int)authorization.len,
                   authorization.ptr);
    if (sma_str_is_equal(request->path, SMA_STR("/refuse")))
        (void)ws_server_answer_with(the_server, conn, 403, "Handshake-Status: 514\r\n",
                                    SMA_STR("app not\r\nallowed"));
    else if (sma_str_is_equal(request->path, SMA_STR("/redirect")))
        (void)ws_server_answer_with(the_server, conn, 302, "Location: /elsewhere\r\n", SMA_STR(""));
    else if (sma_str_is_equal(request->path, SMA_STR("/wrong-key")))
        (void)ws_server_accept_wrongly(the_server, conn, true, "");
    else if (sma_str_is_equal(request->path, SMA_STR("/extension")))
        (void)ws_server_accept_wrongly(the_server, conn, false,
                                       "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    else if (sma_str_is_equal(request->path, SMA_STR("/garbage")))
        (void)ws_server_send_raw(the_server, conn, SMA_STR("220 ready for mail\r\n"));
    else if (sma_str_is_equal(request->path, SMA_STR("/half-refuse")))
        (void)ws_server_send_raw(the_server, conn, SMA_STR("HTTP/1.1 502 Bad\r\n\r\nhalf a"));
    else if (sma_str_is_equal(request->path, SMA_STR("/drop")))
        (void)ws_server_drop(the_server, conn);
    else if (sma_str_is_equal(request->path, SMA_STR("/glued"))) {
        (void)ws_server_accept(the_server, conn);
        (void)ws_server_send(the_server, conn, SMA_STR("first"), false);
        (void)ws_server_send(the_server, conn, SMA_STR("second"), false);
    } else if (!sma_str_is_equal(request->path, SMA_STR("/never")))
        (void)ws_server_accept(the_server, conn);
}

static void on_message(void *user, struct ws_server *the_server, unsigned conn,
                       struct sma_str bytes, bool is_binary)
{
    (void)user;
    (void)ws_server_send(the_server, conn, bytes, is_binary);
}

static void on_server_closed(void *user, struct ws_server *the_server, unsigned conn, unsigned code,
                             struct sma_str reason)
{
    (void)user;
    (void)the_server;
    (void)conn;
    (void)reason;
    seen.closed_count++;
    seen.code = code;
}

static void on_pong(void *user, struct ws_server *the_server, unsigned conn, struct sma_str bytes)
{
    (void)user;
    seen.pong_count++;
    (void)snprintf(seen.pong, sizeof seen.pong, "%.*s", (int)bytes.len, bytes.ptr);
    (void)ws_server_send(the_server, conn, SMA_STR("pong seen"), false);
}

static const struct ws_server_hooks hooks = {
    .request = on_request, .message = on_message, .closed = on_server_closed, .pong = on_pong};

static void open_client(struct client *client, const char *path)
{
    char url[256];
    (void)snprintf(url, sizeof url, "%s%s", ws_server_url(server), path);
    client_connect(harness, client, url);
}

static void opened_client(struct client *client)
{
    open_client(client, "/");
    client_wait_open(client);
}

static void ended(struct client *client)
{
    client_end(client, 1000);
    client_wait_closed(client);
    CHECK_INT(SMA_WS_CLOSED_BY_US, client->closed.end);
    CHECK_INT(1000, client->closed.code);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
    ws_server_lock(server);
    CHECK_INT(1000, seen.code);
    ws_server_unlock(server);
}

ENDING(ws_server_stop, struct ws_server)

CASE(echo_of_text_and_binary)
{
    SMA_AUTO(ended) struct client client = {0};
    opened_client(&client);
    uint64_t before = sma_sys_real()->now_ns(NULL);
    CHECK_OK(client_send(&client, SMA_STR("hello"), false));
    client_wait_messages(&client, 1);
    CHECK_TEXT("hello", client.text);
    CHECK(!client.is_binary);
    CHECK(client.read_ns > before && client.read_ns <= sma_sys_real()->now_ns(NULL));
    CHECK_OK(client_send(&client, SMA_STR("\x00\xff"), true));
    client_wait_messages(&client, 2);
    CHECK(client.is_binary);
    CHECK_INT(2, client.text_len);
    CHECK_OK(client_send(&client, SMA_STR(""), false));
    client_wait_messages(&client, 3);
    CHECK_INT(0, client.text_len);
}

CASE(messages_glued_to_the_answer_are_not_lost)
{
    SMA_AUTO(ended) struct client client = {0};
    open_client(&client, "/glued");
    client_wait_messages(&client, 2);
    CHECK_TEXT("second", client.text);
}

CASE(fragments_and_pings)
{
    SMA_AUTO(ended) struct client client = {0};
    opened_client(&client);
    CHECK(ws_server_send_fragments(server, 0, SMA_STR("in seven pieces"), false, 7, true));
    client_wait_messages(&client, 2);
    CHECK_TEXT("pong seen", client.text);
    ws_server_lock(server);
    CHECK_TEXT("between", seen.pong);
    CHECK_INT(1, seen.pong_count);
    ws_server_unlock(server);
    CHECK_INT(strlen("in seven piecespong seen"), client.bytes_count);
}

/* code 0: the library ends the connection without a close frame of its own. */
static void check_protocol_end(const char *frame, size_t len, unsigned code, const char *reason)
{
    struct client client = {0};
    opened_client(&client);
    CHECK(ws_server_send_raw(server, 0, (struct sma_str){frame, len}));
    client_wait_closed(&client);
    CHECK_INT(SMA_WS_PROTOCOL, client.closed.end);
    CHECK(strstr(client.reason, reason) != NULL);
    CHECK_INT(0, client.message_count);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
    ws_server_lock(server);
    CHECK_INT(code, seen.code);
    ws_server_unlock(server);
}

/* -- the library's memory ---------------------------------------------------------------------- */
/* Blocks of libwebsockets with room behind them that nobody may touch: what it writes behind a
 * buffer lands there and is seen when the block is given back. */
#define GUARD_BYTES ((size_t)2 * 1024 * 1024)
#define GUARD_SEEN_BYTES 64
#define GUARD_BYTE 0x5a
static atomic_uint overrun_count;

static void *guarded_realloc(void *old, size_t size, const char *reason)
{
    size_t *block = old == NULL ? NULL : (size_t *)old - 4, old_size = old == NULL ? 0 : block[0];
    (void)reason;
    for (size_t i = 0; old != NULL && i < GUARD_SEEN_BYTES; i++)
        if (((unsigned char *)old)[old_size + i] != GUARD_BYTE) {
            overrun_count++;
            break;
        }
    char *made = NULL;
    if (size > 0) {
        /* only what is as large as a read can be overrun by a frame */
        size_t guard = size < 16384 ? GUARD_SEEN_BYTES : GUARD_BYTES;
        size_t *memory = malloc(4 * sizeof *memory + size + guard);
        SMA_ASSERT(memory != NULL);
        memory[0] = size;
        made = (char *)(memory + 4);
        memset(made + size, GUARD_BYTE, GUARD_SEEN_BYTES);
        if (old != NULL)
            memcpy(made, old, size < old_size ? size : old_size);
    }
    free(block);
    return made;
}

/* libwebsockets 4.1.6 goes on reading after it was told to close, until its close frame is
 * answered, and empties its buffer only when it was not: full to the last byte at a refusal, it is
 * written behind. A close frame may not come through: that is the peer's matter, who does not
 * read. */
static void check_writes_nowhere(const char *bytes, size_t len, const char *reason)
{
    struct client client = {0};
    opened_client(&client);
    CHECK(ws_server_send_raw(server, 0, (struct sma_str){bytes, len}));
    client_wait_closed(&client);
    CHECK_INT(SMA_WS_PROTOCOL, client.closed.end);
    CHECK(strstr(client.reason, reason) != NULL);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

CASE(a_peer_that_goes_on_behind_a_refused_frame_writes_nowhere)
{
    static char bytes[1024 * 1024];
    memcpy(bytes, "\x82\x7f\x00\x00\x01\x00\x00\x00\x00\x00", 10); /* 1 TiB, and some of it */
    check_writes_nowhere(bytes, sizeof bytes, "over the limit");
    /* A text of just the library's buffer, no UTF-8. What was read together with its end is thrown
     * away; wherever the next read begins, it finds a frame that nobody wants. */
    memset(bytes, 0xff, 10 + 32768);
    memcpy(bytes, "\x81\x7f\x00\x00\x00\x00\x00\x00\x80\x00", 10);
    for (size_t at = 10 + 32768 + 6; at + 16 <= sizeof bytes; at += 16)
        memcpy(bytes + at, "\x82\x7f\x00\x00\x00\x00\x00\x08\x00\x00", 10);
    check_writes_nowhere(bytes, sizeof bytes, "not UTF-8");
    CHECK_INT(0, overrun_count);
}

CASE(a_peer_that_breaks_the_protocol)
{
    check_protocol_end("\xc1\x01z", 3, 0, "broke the protocol");
    check_protocol_end("\x81\x02\xff\xfe", 4, 1007, "not UTF-8");
    check_protocol_end("\x82\x7f\x00\x00\x00\x00\x7f\xff\xff\xff", 10, 1009, "over the limit");
    check_protocol_end("\x83\x01z", 3, 0, "broke the protocol"); /* no such opcode */
    check_protocol_end("GET / HTTP/1.1\r\n", 16, 0, "broke the protocol");
}

static bool is_told_twice_or_closed(void *user)
{
    struct client *client = user;
    return client->message_count == 2 || client->closed_count > 0;
}

/* libwebsockets 4.1.6 takes it, 4.3.5 refuses it. A mask protects servers and what stands before
 * them, not clients. */
CASE(a_masked_frame_is_a_message_or_the_end)
{
    struct client client = {0};
    opened_client(&client);
    CHECK(ws_server_send_frame(server, 0, 0x81, true, SMA_STR("masked")));
    CHECK(ws_server_send(server, 0, SMA_STR("plain"), false));
    ws_wait(harness, is_told_twice_or_closed, &client, "two messages or the end");
    if (CLIENT_GET(&client, closed_count) == 0) {
        CHECK_TEXT("plain", client.text);
        CHECK_INT(strlen("maskedplain"), client.bytes_count);
        ended(&client);
        return;
    }
    CHECK_INT(SMA_WS_PROTOCOL, client.closed.end);
    CHECK_INT(0, client.message_count);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

CASE(half_open_stays_until_ended_and_ends_at_once)
{
    struct client client = {0};
    opened_client(&client);
    unsigned id = ws_server_newest(server);
    CHECK(ws_server_freeze(server, id, true));
    CHECK_OK(client_send(&client, SMA_STR("into the void"), false));
    long cpu_before, cpu_after, switches_before, switches_after;
    ws_actor_cost(harness, &cpu_before, &switches_before);
    (void)usleep(300000); /* the measured thing is that nothing happens */
    ws_actor_cost(harness, &cpu_after, &switches_after);
    CHECK(switches_after - switches_before <= 3);
    CHECK_INT(0, CLIENT_GET(&client, closed_count));
    uint64_t before = sma_sys_real()->now_ns(NULL);
    client_end(&client, 1000);
    client_wait_closed(&client);
    CHECK(sma_sys_real()->now_ns(NULL) - before < 900000000u);
    CHECK_INT(SMA_WS_CLOSED_BY_US, client.closed.end);
    CHECK(ws_server_freeze(server, id, false));
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

CASE(closed_by_the_peer)
{
    static const struct
    {
        unsigned code, echoed;
        const char *reason;
    } cases[] = {
        {1000, 1000, "bye"}, {4004, 4004, "\xe4\xbd\xa0"}, {0, 1005, ""}, {5000, 5000, "odd"}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct client client = {0};
        opened_client(&client);
        CHECK(ws_server_close(server, 0, cases[i].code, cases[i].reason));
        client_wait_closed(&client);
        CHECK_INT(SMA_WS_CLOSED_BY_PEER, client.closed.end);
        CHECK_INT(cases[i].code, client.closed.code);
        CHECK_TEXT(cases[i].reason, client.reason);
        CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
        ws_server_lock(server);
        CHECK_INT(cases[i].echoed, seen.code);
        ws_server_unlock(server);
    }
}

CASE(lost_without_a_close_frame)
{
    struct client dropped = {0}, reset = {0}, half = {0};
    opened_client(&dropped);
    CHECK(ws_server_drop(server, 0));
    client_wait_closed(&dropped);
    CHECK_INT(SMA_WS_LOST, dropped.closed.end);
    opened_client(&reset);
    CHECK(ws_server_reset(server, 0));
    client_wait_closed(&reset);
    CHECK_INT(SMA_WS_LOST, reset.closed.end);
    opened_client(&half);
    CHECK(ws_server_send_raw(server, 0, SMA_STR("\x81\x7e\x01")));
    CHECK(ws_server_drop(server, 0));
    client_wait_closed(&half);
    CHECK_INT(SMA_WS_LOST, half.closed.end);
    CHECK_INT(0, half.message_count);
}

static void check_not_connected(const char *path, int status, const char *reason)
{
    struct client client = {0};
    open_client(&client, path);
    client_wait_closed(&client);
    CHECK_INT(0, client.opened_count);
    CHECK_INT(SMA_WS_NOT_CONNECTED, client.closed.end);
    CHECK_INT(status, client.closed.http_status);
    if (strstr(client.reason, reason) == NULL)
        (void)fprintf(stderr, "reason: %s\n", client.reason);
    CHECK(strstr(client.reason, reason) != NULL);
    CHECK_TEXT(status == 403 ? "514" : "", client.diagnosis);
}

CASE(refused_upgrades)
{
    check_not_connected("/refuse", 403, "status 403: app not  allowed");
    check_not_connected("/redirect", 302, "status 302");
    check_not_connected("/wrong-key", 0, "answered the upgrade wrongly: ");
    check_not_connected("/extension", 0, "answered the upgrade wrongly: ");
    check_not_connected("/half-refuse", 502, "status 502: half a"); /* its end does not come */
    check_not_connected("/drop", 0, "before it answered the upgrade");
}

CASE(long_paths_and_headers_arrive)
{
    static char url[5200];
    SMA_AUTO(ended) struct client client = {0};
    size_t len = (size_t)snprintf(url, sizeof url, "%s/", ws_server_url(server));
    memset(url + len, 'p', 4096);
    url[len + 1500] = '?';
    const char *headers[] = {"Authorization: QQBot x"};
    CHECK_OK(client_try(harness, &client,
                        &(struct sma_ws_ask){.url = url, .headers = headers, .header_count = 1}));
    client_wait_open(&client);
    ws_server_lock(server);
    CHECK_INT(1501, seen.path_len);
    CHECK_INT(4097 - 1502, seen.query_len);
    CHECK_TEXT("QQBot x", seen.authorization);
    ws_server_unlock(server);
}

CASE(bad_asks_are_refused_at_once)
{
    struct client client = {0};
    const char *headers[] = {"A: b\r\nC: d"};
    CHECK_ERR(SMA_ERR_BADINPUT,
              client_try(harness, &client, &(struct sma_ws_ask){.url = "http://127.0.0.1/"}));
    CHECK_ERR(SMA_ERR_BADINPUT,
              client_try(harness, &client,
                         &(struct sma_ws_ask){
                             .url = "ws://127.0.0.1/", .headers = headers, .header_count = 1}));
}

static void check_deadline(const char *url, const char *reason)
{
    struct client client = {0};
    uint64_t before = sma_sys_real()->now_ns(NULL);
    CHECK_OK(client_try(harness, &client, &(struct sma_ws_ask){.url = url, .connect_ms = 120}));
    client_wait_closed(&client);
    uint64_t after = sma_sys_real()->now_ns(NULL);
    CHECK(after - before >= 110000000u);
    CHECK_INT(SMA_WS_NOT_CONNECTED, client.closed.end);
    if (strstr(client.reason, reason) == NULL)
        (void)fprintf(stderr, "reason: %s\n", client.reason);
    CHECK(strstr(client.reason, reason) != NULL);
}

/* A listener whose queue is full takes no further connection: SYNs go unanswered. */
static int full_listener(int fillers[8], char *url, size_t url_size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, 0) == 0);
    CHECK_INT(0, getsockname(fd, (struct sockaddr *)&address, &len));
    for (int i = 0; i < 8; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&address,
                      len); /* the later ones stay pending */
    }
    (void)snprintf(url, url_size, "ws://127.0.0.1:%u/", ntohs(address.sin_port));
    return fd;
}

CASE(deadlines_of_each_step)
{
    char url[128];
    int fillers[8];
    (void)snprintf(url, sizeof url, "%s/never", ws_server_url(server));
    check_deadline(url, "the answer to the upgrade took longer than 120 ms");
    (void)snprintf(url, sizeof url, "%s/garbage", ws_server_url(server));
    check_deadline(url, "the answer to the upgrade took longer than 120 ms");
    int fd = full_listener(fillers, url, sizeof url);
    check_deadline(url, "no answer within 120 ms");
    for (int i = 0; i < 8; i++)
        (void)close(fillers[i]);
    (void)close(fd);
    SMA_AUTO(ws_server_stopp)
    struct ws_server *silent =
        ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS_SILENT});
    (void)snprintf(url, sizeof url, "%s/", ws_server_url(silent));
    check_deadline(url, "the TLS handshake took longer than 120 ms");
}

CASE(nobody_there)
{
    struct client refused = {0}, nameless = {0};
    struct ws_server *gone = ws_server_start(NULL);
    char url[128];
    (void)snprintf(url, sizeof url, "%s/", ws_server_url(gone));
    ws_server_stop(gone);
    client_connect(harness, &refused, url);
    client_wait_closed(&refused);
    CHECK_INT(SMA_WS_NOT_CONNECTED, refused.closed.end);
    CHECK(strstr(refused.reason, "connection refused") != NULL);
    client_connect(harness, &nameless, "ws://no.such.name.invalid/");
    client_wait_closed(&nameless);
    CHECK_INT(SMA_WS_NOT_CONNECTED, nameless.closed.end);
    CHECK(strstr(nameless.reason, "no.such.name.invalid") != NULL);
}

CASE(a_server_that_restarts)
{
    struct client before = {0}, during = {0}, after = {0};
    opened_client(&before);
    ws_server_listen(server, false);
    CHECK(ws_server_drop(server, 0));
    client_wait_closed(&before);
    open_client(&during, "/");
    client_wait_closed(&during);
    CHECK_INT(SMA_WS_NOT_CONNECTED, during.closed.end);
    ws_server_listen(server, true);
    opened_client(&after);
    ended(&after);
}

CASE(names_and_ipv6)
{
    struct client by_name = {0}, by_address = {0};
    char url[128];
    (void)snprintf(url, sizeof url, "ws://localhost:%u/",
                   ws_server_port(server)); /* ::1 may come first and refuse */
    client_connect(harness, &by_name, url);
    client_wait_open(&by_name);
    ended(&by_name);
    SMA_AUTO(ws_server_stopp)
    struct ws_server *six =
        ws_server_start(&(struct ws_server_options){.is_ipv6 = true, .hooks = &hooks});
    (void)snprintf(url, sizeof url, "%s/", ws_server_url(six));
    client_connect(harness, &by_address, url);
    client_wait_open(&by_address);
    client_end(&by_address, 1000);
    client_wait_closed(&by_address);
    CHECK(ws_server_wait_open(six, 0, PATIENCE_AWAIT_MS));
}

static void end_and_check(struct client *client)
{
    sma_ws_end(client->conn, 4000);
    sma_ws_end(client->conn, 1000); /* changes nothing */
    CHECK_ERR(SMA_ERR_GONE, sma_ws_send(client->conn, SMA_STR("late"), false));
}

/* 127.0.0.2: nobody there, then one who takes no connection; 127.0.0.1 is good. */
CASE(an_address_that_does_not_answer_costs_a_quarter_second)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(ws_server_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
    int fd = -1, fillers[8];
    for (int round = 0; round < 2; round++) {
        struct client client = {0};
        char url[128];
        (void)snprintf(url, sizeof url, "ws://two.test:%u/", ws_server_port(server));
        uint64_t before = sma_sys_real()->now_ns(NULL);
        CHECK_OK(client_try(harness, &client,
                            &(struct sma_ws_ask){.url = url, .connect_ms = 10000 * PATIENCE}));
        client_wait_open(&client);
        uint64_t ms = (sma_sys_real()->now_ns(NULL) - before) / 1000000;
        CHECK(round == 0 ||
              (ms >= 240 && ms < 240 * PATIENCE * 4)); /* the head start of the first */
        ended(&client);
        if (round == 1)
            break;
        fd = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
              listen(fd, 0) == 0);
        for (int i = 0; i < 8; i++) {
            fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            (void)connect(fillers[i], (struct sockaddr *)&address, sizeof address);
        }
    }
    for (int i = 0; i < 8; i++)
        (void)close(fillers[i]);
    (void)close(fd);
}

CASE(a_name_server_that_hangs_stops_nobody_else)
{
    struct client hanging = {0}, other = {0};
    CHECK_OK(client_try(harness, &hanging,
                        &(struct sma_ws_ask){.url = "ws://hang.test/", .connect_ms = 150}));
    opened_client(&other);
    CHECK_OK(client_send(&other, SMA_STR("still here"), false));
    client_wait_messages(&other, 1);
    client_wait_closed(&hanging);
    CHECK_TEXT("cannot connect to hang.test: looking up its address took longer than 150 ms",
               hanging.reason);
    names_release(); /* its answer comes to nobody */
    ended(&other);
}

static void send_at_once(struct client *client)
{
    CHECK_OK(sma_ws_send(client->conn, SMA_STR("as soon as it is open"), false));
}

CASE(sends_inside_opened)
{
    struct client client = {.on_open = send_at_once};
    open_client(&client, "/");
    client_wait_messages(&client, 1);
    CHECK_TEXT("as soon as it is open", client.text);
    ended(&client);
}

CASE(a_paused_connection_tells_its_end_when_resumed)
{
    struct client client = {0};
    opened_client(&client);
    CHECK(ws_server_wait_open(server, 1, PATIENCE_AWAIT_MS));
    client_pause(&client, true);
    CHECK(ws_server_send(server, 0, SMA_STR("before the end"), false));
    CHECK(ws_server_close(server, 0, 4001, "the end"));
    (void)usleep(50000); /* time in which a broken pause would show */
    CHECK_INT(0, CLIENT_GET(&client, closed_count) + CLIENT_GET(&client, message_count));
    client_pause(&client, false);
    client_wait_closed(&client);
    CHECK_INT(1, client.message_count);
    CHECK_INT(SMA_WS_CLOSED_BY_PEER, client.closed.end);
    CHECK_INT(4001, client.closed.code);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

CASE(ends_inside_callbacks)
{
    struct client in_open = {.on_open = end_and_check}, in_message = {.on_message = end_and_check};
    open_client(&in_open, "/glued"); /* messages are waiting behind */
    client_wait_closed(&in_open);
    CHECK_INT(SMA_WS_CLOSED_BY_US, in_open.closed.end);
    CHECK_INT(0, in_open.message_count);
    open_client(&in_message, "/glued");
    client_wait_closed(&in_message);
    CHECK_INT(4000, in_message.closed.code);
    CHECK_INT(1, in_message.message_count);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

CASE(ends_before_it_is_open)
{
    static const char *const paths[] = {"/", "/never"};
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
        struct client client = {0};
        open_client(&client, paths[i]);
        client_end(&client, 1000);
        client_wait_closed(&client);
    }
    struct client looking = {0};
    client_connect(harness, &looking, "ws://no.such.name.invalid/");
    client_end(&looking, 0);
    client_wait_closed(&looking);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

static void connect_again(struct client *client)
{
    char url[128];
    if (client->closed_count >= 3)
        return;
    (void)snprintf(url, sizeof url, "%s/drop", ws_server_url(server));
    struct sma_ws_ask ask = client->again;
    ask.url = url;
    CHECK_OK(sma_ws_connect(ws_of(harness), &ask, &client->conn));
}

static bool is_closed_thrice(void *user)
{
    return ((struct client *)user)->closed_count == 3;
}

CASE(connects_again_inside_closed)
{
    static struct client client = {
        .on_closed = connect_again}; /* the actor looks at it after its last end too */
    open_client(&client, "/drop");
    ws_wait(harness, is_closed_thrice, &client, "three ends");
}

static void close_all(struct client *client)
{
    (void)client;
    sma_ws_close(ws_of(harness));
    ws_forget(harness);
}

CASE(close_with_open_connections)
{
    struct client clients[6] = {0};
    for (size_t i = 0; i < 3; i++)
        opened_client(&clients[i]);
    open_client(&clients[3], "/never");
    client_connect(harness, &clients[4], "ws://no.such.name.invalid/");
    clients[5].on_message = close_all; /* from inside a callback, with more to read behind it */
    open_client(&clients[5], "/glued");
    client_wait_messages(&clients[5], 1);
    ws_harness_stop(harness);
    CHECK_INT(1, clients[5].message_count);
    for (size_t i = 0; i < SMA_COUNT_OF(clients); i++)
        if (i != 4) /* whose name may have been looked up before */
            CHECK_INT(0, clients[i].closed_count);
    CHECK(ws_server_wait_open(server, 0, PATIENCE_AWAIT_MS));
}

int main(void)
{
    lws_set_allocator(guarded_realloc);
    server = ws_server_start(&(struct ws_server_options){.hooks = &hooks});
    harness = ws_harness_start(NULL);
    check_run_cases(NULL);
    ws_server_stop(server);
    CHECK_INT(0, overrun_count);
    return check_summary();
}
