/*
 * ws.c — WebSocket connections: the name is looked up, its addresses are tried in turn, the upgrade is asked for, then
 * messages go both ways. One timer bounds everything up to the upgrade; an open connection has none running.
 */
#include "sma/text.h"
#include "ws_priv.h"

#include <openssl/err.h>
#include <stdarg.h>
#include <stdlib.h>

#define WS_MAGIC 0x57534f43u
#define CONN_MAGIC 0x5753434eu
#define REASON_BYTES 512
#define PONG_ROOM_BYTES 4096 /* beyond unsent_bytes_max; pongs over it are not sent */

enum phase
{
    PHASE_RESOLVING,
    PHASE_CONNECTING, /* TCP and TLS */
    PHASE_UPGRADING,
    PHASE_REFUSED, /* the body of the refusal is read */
    PHASE_OPEN,
    PHASE_FAILED, /* could not even begin: told in the next turn */
    PHASE_ENDED,  /* by us: told in the next turn */
    PHASE_OVER,
};

/* A name look-up cannot be called back: it outlives its connection, then conn is NULL. */
struct lookup
{
    uv_getaddrinfo_t request;
    struct sma_ws *ws;
    struct sma_ws_conn *conn;
};

struct sma_ws_conn
{
    uint32_t magic;
    enum phase phase;
    struct sma_ws *ws;
    struct sma_ws_conn *previous, *next;
    struct sma_ws_ask ask; /* url and headers are not kept */
    struct ws_url url;
    char key[WS_KEY_BYTES + 1];
    bool has_asked_protocol;
    struct sma_buf request, head; /* until the upgrade */
    struct ws_answer answer;
    struct lookup *lookup;
    struct sockaddr_storage addresses[WS_ADDRESS_COUNT_MAX];
    size_t address_count, address_next;
    struct ws_pipe *pipe;
    struct ws_reader reader;
    uv_timer_t timer;
    uint64_t deadline_ms; /* on the loop's clock */
    unsigned end_code;
    char reason[REASON_BYTES];
};

static const struct ws_pipe_events pipe_events;
static void arm(struct sma_ws_conn *conn, uint64_t wait_ms);

/* -- the end of a connection -------------------------------------------------------------------------------------- */
void ws_unref(struct sma_ws *ws)
{
    SMA_ASSERT(ws->use_count > 0);
    if (--ws->use_count > 0)
        return;
    SSL_CTX_free(ws->tls);
    ws->magic = 0;
    free(ws);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct sma_ws_conn *conn = handle->data;
    sma_buf_fini(&conn->request);
    sma_buf_fini(&conn->head);
    ws_reader_fini(&conn->reader);
    ws_unref(conn->ws);
    conn->magic = 0;
    free(conn);
}

static void drop_lookup(struct sma_ws_conn *conn)
{
    if (conn->lookup == NULL)
        return;
    conn->lookup->conn = NULL;
    (void)uv_cancel(
        (uv_req_t *)&conn->lookup->request); /* refused once it runs: then it ends unheard */
    conn->lookup = NULL;
}

/* No call back after this; the memory goes in the loop's next turn. */
static void bury(struct sma_ws_conn *conn)
{
    conn->phase = PHASE_OVER;
    drop_lookup(conn);
    if (conn->pipe != NULL)
        ws_pipe_close(conn->pipe);
    conn->pipe = NULL;
    if (conn->previous == NULL)
        conn->ws->conns = conn->next;
    else
        conn->previous->next = conn->next;
    if (conn->next != NULL)
        conn->next->previous = conn->previous;
    uv_close((uv_handle_t *)&conn->timer, on_timer_closed);
}

static void finish(struct sma_ws_conn *conn, const struct sma_ws_closed *closed)
{
    bury(conn);
    conn->ask.closed(conn->ask.user, closed);
}

static void finish_in_words(struct sma_ws_conn *conn, enum sma_ws_end end, const char *reason)
{
    finish(conn, &(struct sma_ws_closed){.end = end, .reason = sma_str(reason)});
}

static void SMA_PRINTF(2, 3) set_reason(struct sma_ws_conn *conn, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(conn->reason, sizeof conn->reason, format, arguments);
    va_end(arguments);
}

static void fail(struct sma_ws_conn *conn)
{
    finish_in_words(conn, SMA_WS_NOT_CONNECTED, conn->reason);
}

static void finish_refused(struct sma_ws_conn *conn)
{
    struct ws_answer *answer = &conn->answer;
    SMA_ASSERT(ws_answer_parse(sma_buf_str(&conn->head), answer) ==
               SMA_ERR_OK); /* it was, and may have moved */
    size_t body_len = conn->head.len - answer->head_bytes;
    struct sma_str body = {conn->head.ptr + answer->head_bytes, body_len};
    body.len = sma_utf8_cut(body, sizeof conn->reason - 128);
    set_reason(conn, "%s refused the upgrade with status %d%s%.*s", conn->url.host, answer->status,
               body.len > 0 ? ": " : "", (int)body.len, body.len > 0 ? body.ptr : "");
    bool is_text = sma_utf8_is_valid(sma_str(conn->reason));
    for (char *at = conn->reason; *at != '\0'; at++) /* it goes into a log line */
        if ((unsigned char)*at < ' ' || *at == 0x7f || (!is_text && (unsigned char)*at > 0x7f))
            *at = ' ';
    finish(conn, &(struct sma_ws_closed){.end = SMA_WS_NOT_CONNECTED,
                                         .http_status = answer->status,
                                         .head = answer->head,
                                         .reason = sma_str(conn->reason)});
}

/* -- sending ------------------------------------------------------------------------------------------------------ */
static void take_mask(struct sma_ws *ws, unsigned char mask[4])
{
    if (ws->random_left < 4) {
        const struct sma_sys *sys = sma_ctx_sys(ws->ctx);
        sys->random_bytes(sys->self, ws->random, sizeof ws->random);
        ws->random_left = sizeof ws->random;
    }
    ws->random_left -= 4;
    memcpy(mask, ws->random + ws->random_left, 4);
}

static enum sma_err put_frame(struct sma_ws_conn *conn, enum ws_opcode opcode,
                              struct sma_str payload)
{
    unsigned char mask[4];
    take_mask(conn->ws, mask);
    ws_put_frame(&conn->pipe->out, opcode, payload, mask);
    enum sma_err err = conn->pipe->out.err;
    conn->pipe->out.err = SMA_ERR_OK; /* what was there before is still whole */
    return err;
}

/* The close frame is the last that goes out, and goes out behind the user's back. */
static void say_goodbye(struct sma_ws_conn *conn, unsigned code)
{
    char payload[2] = {(char)(code >> 8), (char)code};
    if (put_frame(conn, WS_CLOSE, (struct sma_str){payload, code == 0 ? 0 : 2}) == SMA_ERR_OK)
        ws_pipe_release(conn->pipe);
    else
        ws_pipe_close(conn->pipe);
    conn->pipe = NULL;
}

static void answer_ping(struct sma_ws_conn *conn, struct sma_str payload)
{
    if (ws_pipe_unsent(conn->pipe) > conn->ask.unsent_bytes_max + PONG_ROOM_BYTES)
        return; /* a peer that does not read needs no answers */
    if (put_frame(conn, WS_PONG, payload) == SMA_ERR_OK)
        ws_pipe_flush(conn->pipe);
}

enum sma_err sma_ws_send(struct sma_ws_conn *conn, struct sma_str bytes, bool is_binary)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    if (conn->phase == PHASE_OVER || conn->phase == PHASE_ENDED)
        return SMA_ERR_GONE;
    if (conn->phase != PHASE_OPEN)
        return SMA_ERR_BUSY;
    size_t len = ws_frame_bytes(bytes.len), max = conn->ask.unsent_bytes_max;
    if (len > max)
        return SMA_ERR_TOOBIG;
    if (ws_pipe_unsent(conn->pipe) > max - len)
        return SMA_ERR_FULL;
    enum sma_err err = put_frame(conn, is_binary ? WS_BINARY : WS_TEXT, bytes);
    if (err == SMA_ERR_OK)
        ws_pipe_flush(conn->pipe);
    return err;
}

/* -- receiving ---------------------------------------------------------------------------------------------------- */
static void handle_close(struct sma_ws_conn *conn, const struct ws_found *found)
{
    char reason[WS_CONTROL_BYTES_MAX];
    struct sma_ws_closed closed = {.end = SMA_WS_CLOSED_BY_PEER, .code = found->code};
    if (found->bytes.len > 0)
        memcpy(reason, found->bytes.ptr, found->bytes.len);
    closed.reason = (struct sma_str){reason, found->bytes.len};
    bool can_echo = found->code == 0 || ws_close_code_is_valid(found->code);
    say_goodbye(conn, can_echo ? found->code : 1002);
    finish(conn, &closed);
}

static void handle_found(struct sma_ws_conn *conn, const struct ws_found *found)
{
    switch (found->kind) {
    case WS_FOUND_MESSAGE:
        conn->ask.message(conn->ask.user, found->bytes, found->is_binary, conn->pipe->read_ns);
        return;
    case WS_FOUND_PING:
        answer_ping(conn, found->bytes);
        return;
    case WS_FOUND_CLOSE:
        handle_close(conn, found);
        return;
    case WS_FOUND_FAULT:
        set_reason(conn, "the server sent %.*s", (int)found->bytes.len, found->bytes.ptr);
        say_goodbye(conn, found->code);
        finish_in_words(conn, SMA_WS_PROTOCOL, conn->reason);
        return;
    case WS_FOUND_NOTHING:
    case WS_FOUND_PONG:
        return;
    }
}

static size_t read_frames(struct sma_ws_conn *conn, struct sma_str bytes)
{
    size_t used = 0;
    while (used < bytes.len && conn->phase == PHASE_OPEN && !conn->pipe->is_paused) {
        struct ws_found found;
        used += ws_reader_take(&conn->reader, (struct sma_str){bytes.ptr + used, bytes.len - used},
                               &found);
        handle_found(conn, &found);
    }
    return used;
}

/* -- the upgrade -------------------------------------------------------------------------------------------------- */
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
        conn->phase = PHASE_REFUSED;
        uint64_t now_ms = uv_now(conn->ws->loop),
                 left_ms = conn->deadline_ms > now_ms ? conn->deadline_ms - now_ms : 0;
        arm(conn, left_ms < WS_REFUSAL_MS ? left_ms : WS_REFUSAL_MS);
        struct sma_str body = {all.ptr + all.len - body_bytes, body_bytes};
        (void)take_refusal(conn, body);
        return all.len;
    }
    const char *fault = ws_answer_fault(&conn->answer, conn->key, conn->has_asked_protocol);
    if (fault != NULL) {
        finish_in_words(conn, SMA_WS_NOT_CONNECTED, fault);
        return all.len;
    }
    conn->phase = PHASE_OPEN;
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
        set_reason(conn, "%s gave no answer of HTTP/1.1 to the upgrade%s", conn->url.host,
                   err == SMA_ERR_BADINPUT ? "" : ", or one over 16 KiB");
        fail(conn);
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
    case PHASE_UPGRADING:
        return read_answer(conn, bytes);
    case PHASE_REFUSED:
        return take_refusal(conn, bytes);
    case PHASE_OPEN:
        return read_frames(conn, bytes);
    default:
        return bytes.len;
    }
}

static void on_ready(void *user)
{
    struct sma_ws_conn *conn = user;
    conn->phase = PHASE_UPGRADING;
    sma_buf_put_str(&conn->pipe->out, sma_buf_str(&conn->request));
    ws_pipe_flush(conn->pipe);
}

/* -- addresses ---------------------------------------------------------------------------------------------------- */
static bool try_next_address(struct sma_ws_conn *conn)
{
    size_t bytes_max =
        2 * conn->ask.unsent_bytes_max + 2 * WS_REQUEST_BYTES_MAX; /* TLS adds to what it carries */
    conn->phase = PHASE_CONNECTING;
    while (conn->address_next < conn->address_count) {
        const struct sockaddr *address =
            (const struct sockaddr *)&conn->addresses[conn->address_next++];
        const char *reason;
        enum sma_err err = ws_pipe_open(conn->ws, address, conn->url.is_tls ? conn->url.host : NULL,
                                        bytes_max, &pipe_events, conn, &conn->pipe, &reason);
        if (err != SMA_ERR_OK) {
            set_reason(conn, "cannot connect to %s: %s", conn->url.host, reason);
            continue;
        }
        uint64_t now_ms = uv_now(conn->ws->loop),
                 left_ms = conn->deadline_ms > now_ms ? conn->deadline_ms - now_ms : 0;
        uint64_t share_ms = left_ms / (conn->address_count - conn->address_next + 1);
        if (share_ms < WS_ADDRESS_MS_MIN)
            share_ms = left_ms < WS_ADDRESS_MS_MIN ? left_ms : WS_ADDRESS_MS_MIN;
        arm(conn, share_ms);
        return true;
    }
    return false;
}

static void on_ended(void *user, bool is_before_tcp, const char *reason)
{
    struct sma_ws_conn *conn = user;
    conn->pipe = NULL;
    if (conn->phase == PHASE_OPEN) {
        finish_in_words(conn, SMA_WS_LOST, reason);
        return;
    }
    if (conn->phase == PHASE_REFUSED) {
        finish_refused(conn);
        return;
    }
    set_reason(conn,
               is_before_tcp ? "cannot connect to %s: %s" : "%s: %s before it answered the upgrade",
               conn->url.host, reason);
    if (!is_before_tcp || !try_next_address(conn))
        fail(conn);
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
    struct lookup *lookup = request->data;
    struct sma_ws_conn *conn = lookup->conn;
    if (conn != NULL) {
        conn->lookup = NULL;
        set_reason(conn, "cannot find the address of %s: %s", conn->url.host,
                   status == 0 ? "it has none" : uv_strerror(status));
        keep_addresses(conn, list);
        if (!try_next_address(conn))
            fail(conn);
    }
    uv_freeaddrinfo(list);
    ws_unref(lookup->ws);
    free(lookup);
}

static enum sma_err look_up(struct sma_ws_conn *conn)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL)
        return SMA_ERR_NOMEM;
    lookup->request.data = lookup;
    lookup->ws = conn->ws;
    lookup->conn = conn;
    int status = uv_getaddrinfo(conn->ws->loop, &lookup->request, on_lookup, conn->url.host,
                                conn->url.port, &hints);
    if (status != 0) {
        set_reason(conn, "cannot find the address of %s: %s", conn->url.host, uv_strerror(status));
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

/* -- deadlines ---------------------------------------------------------------------------------------------------- */
static void give_up_address(struct sma_ws_conn *conn)
{
    set_reason(conn, "cannot connect to %s: no answer within the time allowed", conn->url.host);
    ws_pipe_close(conn->pipe);
    conn->pipe = NULL;
    if (!try_next_address(conn))
        fail(conn);
}

static void on_deadline(struct sma_ws_conn *conn)
{
    static const char *const waited_for[] = {[PHASE_RESOLVING] = "looking up its address",
                                             [PHASE_CONNECTING] = "the TLS handshake",
                                             [PHASE_UPGRADING] = "the answer to the upgrade"};
    uint64_t now_ms = uv_now(conn->ws->loop);
    if (conn->phase == PHASE_CONNECTING && conn->pipe->state == PIPE_CONNECTING) {
        give_up_address(conn);
        return;
    }
    if (now_ms <
        conn->deadline_ms) { /* it was the address's share that ended, and the address is good */
        arm(conn, conn->deadline_ms - now_ms);
        return;
    }
    set_reason(conn, "cannot connect to %s: %s took longer than %u ms", conn->url.host,
               waited_for[conn->phase], conn->ask.connect_ms);
    fail(conn);
}

static void on_timer(uv_timer_t *timer)
{
    struct sma_ws_conn *conn = timer->data;
    switch (conn->phase) {
    case PHASE_ENDED:
        finish(conn, &(struct sma_ws_closed){.end = SMA_WS_CLOSED_BY_US, .code = conn->end_code});
        return;
    case PHASE_FAILED:
        fail(conn);
        return;
    case PHASE_REFUSED:
        finish_refused(conn);
        return;
    case PHASE_RESOLVING:
    case PHASE_CONNECTING:
    case PHASE_UPGRADING:
        on_deadline(conn);
        return;
    case PHASE_OPEN:
    case PHASE_OVER:
        return;
    }
}

static void arm(struct sma_ws_conn *conn, uint64_t wait_ms)
{
    uv_update_time(conn->ws->loop); /* libuv counts from the time it last looked */
    SMA_ASSERT(uv_timer_start(&conn->timer, on_timer, wait_ms, 0) == 0);
}

/* -- the public face ---------------------------------------------------------------------------------------------- */
static enum sma_err prepare(struct sma_ws_conn *conn, const struct sma_ws_ask *ask)
{
    unsigned char random[16];
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

static void take_ask(struct sma_ws_conn *conn, const struct sma_ws_ask *ask)
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

static void link_conn(struct sma_ws_conn *conn)
{
    struct sma_ws *ws = conn->ws;
    (void)uv_timer_init(ws->loop, &conn->timer); /* cannot fail */
    conn->timer.data = conn;
    conn->next = ws->conns;
    if (ws->conns != NULL)
        ws->conns->previous = conn;
    ws->conns = conn;
    ws->use_count++;
}

enum sma_err sma_ws_connect(struct sma_ws *ws, const struct sma_ws_ask *ask,
                            struct sma_ws_conn **ret_conn)
{
    SMA_ASSERT(ws->magic == WS_MAGIC);
    SMA_ASSERT(ask->opened != NULL && ask->message != NULL && ask->closed != NULL);
    struct sma_ws_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return SMA_ERR_NOMEM;
    conn->magic = CONN_MAGIC;
    conn->ws = ws;
    enum sma_err err = prepare(conn, ask);
    if (err != SMA_ERR_OK) {
        sma_buf_fini(&conn->request);
        free(conn);
        return err;
    }
    take_ask(conn, ask);
    ws_reader_init(&conn->reader, conn->ask.message_bytes_max);
    link_conn(conn);
    arm(conn, conn->ask.connect_ms);
    conn->deadline_ms = uv_now(ws->loop) + conn->ask.connect_ms;
    bool is_begun =
        keep_literal_address(conn) ? try_next_address(conn) : look_up(conn) == SMA_ERR_OK;
    if (!is_begun) {
        if (conn->reason[0] == '\0')
            set_reason(conn, "no memory to look up %s", conn->url.host);
        conn->phase = PHASE_FAILED;
        arm(conn, 0);
    }
    *ret_conn = conn;
    return SMA_ERR_OK;
}

void sma_ws_pause(struct sma_ws_conn *conn, bool is_paused)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    if (conn->phase == PHASE_OPEN)
        ws_pipe_pause(conn->pipe, is_paused);
}

void sma_ws_end(struct sma_ws_conn *conn, unsigned code)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    SMA_ASSERT(code == 0 || ws_close_code_is_valid(code));
    if (conn->phase == PHASE_ENDED || conn->phase == PHASE_OVER)
        return;
    if (conn->phase == PHASE_OPEN && code != 0) {
        say_goodbye(conn, code);
        conn->end_code = code;
    }
    drop_lookup(conn);
    if (conn->pipe != NULL)
        ws_pipe_close(conn->pipe);
    conn->pipe = NULL;
    conn->phase = PHASE_ENDED;
    arm(conn, 0);
}

static enum sma_err make_tls(struct sma_ws *ws, const char *ca_file, struct sma_error *error)
{
    ERR_clear_error();
    ws->tls = SSL_CTX_new(TLS_client_method());
    if (ws->tls == NULL || SSL_CTX_set_min_proto_version(ws->tls, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(ws->tls) != 1)
        return sma_fail(error, SMA_ERR_NOMEM, "cannot prepare TLS for WebSocket connections");
    SSL_CTX_set_verify(ws->tls, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_options(ws->tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(ws->tls, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ws->tls, SSL_SESS_CACHE_OFF);
    if (ca_file == NULL || SSL_CTX_load_verify_file(ws->tls, ca_file) == 1)
        return SMA_ERR_OK;
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    return sma_fail(error, SMA_ERR_IO, "cannot read trusted certificates (PEM) from %s: %s",
                    ca_file, reason == NULL ? "not readable" : reason);
}

enum sma_err sma_ws_open(struct sma_ctx *ctx, const struct sma_ws_options *options,
                         struct sma_ws **ret_ws, struct sma_error *error)
{
    struct sma_ws *ws = calloc(1, sizeof *ws);
    if (ws == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for WebSocket connections");
    ws->magic = WS_MAGIC;
    ws->ctx = ctx;
    ws->loop = sma_ctx_loop(ctx);
    ws->use_count = 1;
    SMA_ASSERT(ws->loop != NULL);
    enum sma_err err = make_tls(ws, options == NULL ? NULL : options->ca_file, error);
    if (err != SMA_ERR_OK) {
        ws_unref(ws);
        return err;
    }
    *ret_ws = ws;
    return SMA_ERR_OK;
}

void sma_ws_close(struct sma_ws *ws)
{
    if (ws == NULL)
        return;
    SMA_ASSERT(ws->magic == WS_MAGIC);
    while (ws->conns != NULL)
        bury(ws->conns);
    while (ws->pipes != NULL)
        ws_pipe_close(ws->pipes);
    ws_unref(ws);
}
