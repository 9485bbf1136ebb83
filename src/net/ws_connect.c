/*
 * ws_connect.c — from a URL to an open connection: the name is looked up, its addresses are tried
 * in turn, the upgrade is asked for. One timer bounds all of it; an open connection has none
 * running.
 */
#include "sma/text.h"
#include "ws_priv.h"

#include <stdlib.h>

/* A name look-up cannot be called back: it outlives its connection, then conn is NULL. */
struct ws_lookup
{
    uv_getaddrinfo_t request;
    struct sma_ws *ws;
    struct sma_ws_conn *conn;
};

static const struct ws_pipe_events pipe_events;

void ws_conn_drop_lookup(struct sma_ws_conn *conn)
{
    if (conn->lookup == NULL)
        return;
    conn->lookup->conn = NULL;
    (void)uv_cancel(
        (uv_req_t *)&conn->lookup->request); /* refused once it runs: then it ends unheard */
    conn->lookup = NULL;
}

static void finish_refused(struct sma_ws_conn *conn)
{
    struct ws_answer *answer = &conn->answer;
    SMA_ASSERT(ws_answer_parse(sma_buf_str(&conn->head), answer) ==
               SMA_ERR_OK); /* it was, and may have moved */
    size_t body_len = conn->head.len - answer->head_bytes;
    struct sma_str body = {conn->head.ptr + answer->head_bytes, body_len};
    body.len = sma_utf8_cut(body, sizeof conn->reason - 128);
    ws_conn_set_reason(conn, "%s refused the upgrade with status %d%s%.*s", conn->url.host,
                       answer->status, body.len > 0 ? ": " : "", (int)body.len,
                       body.len > 0 ? body.ptr : "");
    bool is_text = sma_utf8_is_valid(sma_str(conn->reason));
    for (char *at = conn->reason; *at != '\0'; at++) /* it goes into a log line */
        if ((unsigned char)*at < ' ' || *at == 0x7f || (!is_text && (unsigned char)*at > 0x7f))
            *at = ' ';
    ws_conn_finish(conn, &(struct sma_ws_closed){.end = SMA_WS_NOT_CONNECTED,
                                                 .http_status = answer->status,
                                                 .head = answer->head,
                                                 .reason = sma_str(conn->reason)});
}

/* -- the upgrade ------------------------------------------------------------------------------- */
static size_t take_refusal(struct sma_ws_conn *conn, struct sma_str bytes)
{
    size_t wanted = conn->answer.head_bytes + ws_refusal_bytes(&conn->answer);
    size_t room = conn->head.len < wanted ? wanted - conn->head.len : 0;
    sma_buf_put(&conn->head, bytes.ptr, bytes.len < room ? bytes.len : room);
    if (conn->head.err != SMA_ERR_OK || conn->head.len >= wanted)
        finish_refused(conn);
    return bytes.len;
}

static size_t open_or_refuse(struct sma_ws_conn *conn, size_t body_bytes, struct sma_str all)
{
    if (conn->answer.status != 101) {
        conn->phase = WS_PHASE_REFUSED;
        uint64_t now_ms = uv_now(conn->ws->loop),
                 left_ms = conn->deadline_ms > now_ms ? conn->deadline_ms - now_ms : 0;
        ws_conn_arm(conn, left_ms < WS_REFUSAL_MS ? left_ms : WS_REFUSAL_MS);
        struct sma_str body = {all.ptr + all.len - body_bytes, body_bytes};
        (void)take_refusal(conn, body);
        return all.len;
    }
    const char *fault = ws_answer_fault(&conn->answer, conn->key, conn->has_asked_protocol);
    if (fault != NULL) {
        ws_conn_finish_in_words(conn, SMA_WS_NOT_CONNECTED, fault);
        return all.len;
    }
    conn->phase = WS_PHASE_OPEN;
    (void)uv_timer_stop(&conn->timer); /* always 0 */
    sma_buf_fini(&conn->head);
    sma_buf_fini(&conn->request);
    conn->ask.opened(conn->ask.user);
    return all.len - body_bytes; /* the rest is frames, brought again */
}

static size_t read_answer(struct sma_ws_conn *conn, struct sma_str bytes)
{
    size_t before = conn->head.len;
    sma_buf_put_str(&conn->head, bytes);
    enum sma_err err = conn->head.err;
    if (err == SMA_ERR_OK)
        err = ws_answer_parse(sma_buf_str(&conn->head), &conn->answer);
    if (err == SMA_ERR_EMPTY && conn->head.len <= WS_HEAD_BYTES_MAX)
        return bytes.len;
    if (err == SMA_ERR_OK && conn->answer.head_bytes > WS_HEAD_BYTES_MAX)
        err = SMA_ERR_TOOBIG;
    if (err != SMA_ERR_OK) {
        ws_conn_set_reason(conn, "%s gave no answer of HTTP/1.1 to the upgrade%s", conn->url.host,
                           err == SMA_ERR_BADINPUT ? "" : ", or one over 16 KiB");
        ws_conn_fail(conn);
        return bytes.len;
    }
    size_t body_bytes = before + bytes.len - conn->answer.head_bytes;
    conn->head.len -=
        body_bytes; /* answer.head points in here: it stays where it is until a refusal grows it */
    return open_or_refuse(conn, body_bytes, bytes);
}

static size_t on_bytes(void *user, struct sma_str bytes)
{
    struct sma_ws_conn *conn = user;
    switch (conn->phase) {
    case WS_PHASE_UPGRADING:
        return read_answer(conn, bytes);
    case WS_PHASE_REFUSED:
        return take_refusal(conn, bytes);
    case WS_PHASE_OPEN:
        return ws_conn_read_frames(conn, bytes);
    default:
        return bytes.len;
    }
}

static void on_ready(void *user)
{
    struct sma_ws_conn *conn = user;
    conn->phase = WS_PHASE_UPGRADING;
    sma_buf_put_str(&conn->pipe->out, sma_buf_str(&conn->request));
    ws_pipe_flush(conn->pipe);
}

/* -- addresses --------------------------------------------------------------------------------- */
static bool try_next_address(struct sma_ws_conn *conn)
{
    size_t bytes_max =
        2 * conn->ask.unsent_bytes_max + 2 * WS_REQUEST_BYTES_MAX; /* TLS adds to what it carries */
    conn->phase = WS_PHASE_CONNECTING;
    while (conn->address_next < conn->address_count) {
        const struct sockaddr *address =
            (const struct sockaddr *)&conn->addresses[conn->address_next++];
        const char *reason;
        enum sma_err err = ws_pipe_open(conn->ws, address, conn->url.is_tls ? conn->url.host : NULL,
                                        bytes_max, &pipe_events, conn, &conn->pipe, &reason);
        if (err != SMA_ERR_OK) {
            ws_conn_set_reason(conn, "cannot connect to %s: %s", conn->url.host, reason);
            continue;
        }
        uint64_t now_ms = uv_now(conn->ws->loop),
                 left_ms = conn->deadline_ms > now_ms ? conn->deadline_ms - now_ms : 0;
        uint64_t share_ms = left_ms / (conn->address_count - conn->address_next + 1);
        if (share_ms < WS_ADDRESS_MS_MIN)
            share_ms = left_ms < WS_ADDRESS_MS_MIN ? left_ms : WS_ADDRESS_MS_MIN;
        ws_conn_arm(conn, share_ms);
        return true;
    }
    return false;
}

static void on_ended(void *user, bool is_before_tcp, const char *reason)
{
    struct sma_ws_conn *conn = user;
    conn->pipe = NULL;
    if (conn->phase == WS_PHASE_OPEN) {
        ws_conn_finish_in_words(conn, SMA_WS_LOST, reason);
        return;
    }
    if (conn->phase == WS_PHASE_REFUSED) {
        finish_refused(conn);
        return;
    }
    ws_conn_set_reason(
        conn, is_before_tcp ? "cannot connect to %s: %s" : "%s: %s before it answered the upgrade",
        conn->url.host, reason);
    if (!is_before_tcp || !try_next_address(conn))
        ws_conn_fail(conn);
}

static const struct ws_pipe_events pipe_events = {
    .ready = on_ready, .bytes = on_bytes, .ended = on_ended};

static void keep_addresses(struct sma_ws_conn *conn, const struct addrinfo *list)
{
    for (; list != NULL && conn->address_count < WS_ADDRESS_COUNT_MAX; list = list->ai_next)
        if (list->ai_addrlen <= sizeof conn->addresses[0])
            memcpy(&conn->addresses[conn->address_count++], list->ai_addr, list->ai_addrlen);
}

static void on_lookup(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct ws_lookup *lookup = request->data;
    struct sma_ws_conn *conn = lookup->conn;
    if (conn != NULL) {
        conn->lookup = NULL;
        ws_conn_set_reason(conn, "cannot find the address of %s: %s", conn->url.host,
                           status == 0 ? "it has none" : uv_strerror(status));
        keep_addresses(conn, list);
        if (!try_next_address(conn))
            ws_conn_fail(conn);
    }
    uv_freeaddrinfo(list);
    ws_unref(lookup->ws);
    free(lookup);
}

static enum sma_err look_up(struct sma_ws_conn *conn)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct ws_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL)
        return SMA_ERR_NOMEM;
    lookup->request.data = lookup;
    lookup->ws = conn->ws;
    lookup->conn = conn;
    int status = uv_getaddrinfo(conn->ws->loop, &lookup->request, on_lookup, conn->url.host,
                                conn->url.port, &hints);
    if (status != 0) {
        ws_conn_set_reason(conn, "cannot find the address of %s: %s", conn->url.host,
                           uv_strerror(status));
        free(lookup);
        return SMA_ERR_IO;
    }
    conn->ws->use_count++;
    conn->lookup = lookup;
    return SMA_ERR_OK;
}

static bool keep_literal_address(struct sma_ws_conn *conn)
{
    struct sockaddr_storage *address = &conn->addresses[0];
    int64_t number = 0;
    if (sma_parse_i64(sma_str(conn->url.port), 1, 65535, &number) != SMA_ERR_OK)
        return false; /* not after ws_url_parse */
    int port = (int)number;
    if (uv_ip4_addr(conn->url.host, port, (struct sockaddr_in *)address) != 0 &&
        uv_ip6_addr(conn->url.host, port, (struct sockaddr_in6 *)address) != 0)
        return false;
    conn->address_count = 1;
    return true;
}

/* -- deadlines --------------------------------------------------------------------------------- */
static void give_up_address(struct sma_ws_conn *conn)
{
    ws_conn_set_reason(conn, "cannot connect to %s: no answer within the time allowed",
                       conn->url.host);
    ws_pipe_close(conn->pipe);
    conn->pipe = NULL;
    if (!try_next_address(conn))
        ws_conn_fail(conn);
}

static void on_deadline(struct sma_ws_conn *conn)
{
    static const char *const waited_for[] = {[WS_PHASE_RESOLVING] = "looking up its address",
                                             [WS_PHASE_CONNECTING] = "the TLS handshake",
                                             [WS_PHASE_UPGRADING] = "the answer to the upgrade"};
    uint64_t now_ms = uv_now(conn->ws->loop);
    if (conn->phase == WS_PHASE_CONNECTING && conn->pipe->state == PIPE_CONNECTING) {
        give_up_address(conn);
        return;
    }
    if (now_ms <
        conn->deadline_ms) { /* it was the address's share that ended, and the address is good */
        ws_conn_arm(conn, conn->deadline_ms - now_ms);
        return;
    }
    ws_conn_set_reason(conn, "cannot connect to %s: %s took longer than %u ms", conn->url.host,
                       waited_for[conn->phase], conn->ask.connect_ms);
    ws_conn_fail(conn);
}

static void on_timer(uv_timer_t *timer)
{
    struct sma_ws_conn *conn = timer->data;
    switch (conn->phase) {
    case WS_PHASE_ENDED:
        ws_conn_finish(conn,
                       &(struct sma_ws_closed){.end = SMA_WS_CLOSED_BY_US, .code = conn->end_code});
        return;
    case WS_PHASE_FAILED:
        ws_conn_fail(conn);
        return;
    case WS_PHASE_REFUSED:
        finish_refused(conn);
        return;
    case WS_PHASE_RESOLVING:
    case WS_PHASE_CONNECTING:
    case WS_PHASE_UPGRADING:
        on_deadline(conn);
        return;
    case WS_PHASE_OPEN:
    case WS_PHASE_OVER:
        return;
    }
}

void ws_conn_arm(struct sma_ws_conn *conn, uint64_t wait_ms)
{
    uv_update_time(conn->ws->loop); /* libuv counts from the time it last looked */
    SMA_ASSERT(uv_timer_start(&conn->timer, on_timer, wait_ms, 0) == 0);
}

/* -- the beginning ----------------------------------------------------------------------------- */
static void on_ask(struct sma_ws_conn *conn, const struct sma_ws_ask *ask)
{
    conn->ask = *ask;
    conn->ask.url = NULL;
    conn->ask.headers = NULL;
    if (ask->connect_ms == 0)
        conn->ask.connect_ms = WS_CONNECT_MS_DEFAULT;
    if (ask->message_bytes_max == 0)
        conn->ask.message_bytes_max = WS_BYTES_MAX_DEFAULT;
    if (ask->unsent_bytes_max == 0)
        conn->ask.unsent_bytes_max = WS_BYTES_MAX_DEFAULT;
}

enum sma_err ws_conn_prepare(struct sma_ws_conn *conn, const struct sma_ws_ask *ask)
{
    unsigned char random[16];
    on_ask(conn, ask);
    const struct sma_sys *sys = sma_ctx_sys(conn->ws->ctx);
    sys->random_bytes(sys->self, random, sizeof random);
    ws_format_key(random, conn->key);
    sma_buf_init(&conn->request, WS_REQUEST_BYTES_MAX);
    sma_buf_init(&conn->head, 2 * WS_HEAD_BYTES_MAX + WS_READ_BYTES);
    enum sma_err err = ws_url_parse(sma_str(ask->url), &conn->url);
    if (err == SMA_ERR_OK)
        err =
            ws_put_request(&conn->request, &conn->url, conn->key, ask->headers, ask->header_count);
    conn->url.target = (struct sma_str){"", 0}; /* it was the caller's text */
    for (size_t i = 0; i < ask->header_count; i++)
        conn->has_asked_protocol |=
            ws_header(sma_str(ask->headers[i]), "Sec-WebSocket-Protocol").len > 0;
    return err;
}

void ws_conn_begin(struct sma_ws_conn *conn)
{
    ws_conn_arm(conn, conn->ask.connect_ms);
    conn->deadline_ms = uv_now(conn->ws->loop) + conn->ask.connect_ms;
    bool is_begun =
        keep_literal_address(conn) ? try_next_address(conn) : look_up(conn) == SMA_ERR_OK;
    if (is_begun)
        return;
    if (conn->reason[0] == '\0')
        ws_conn_set_reason(conn, "no memory to look up %s", conn->url.host);
    conn->phase = WS_PHASE_FAILED;
    ws_conn_arm(conn, 0);
}
