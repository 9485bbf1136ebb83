/*
 * ws.c — an open WebSocket connection and its end, and the public face. How it came to be open:
 * ws_connect.c.
 */
#include "ws_priv.h"

#include <openssl/err.h>
#include <stdarg.h>
#include <stdlib.h>

#define WS_MAGIC 0x57534f43u
#define CONN_MAGIC 0x5753434eu
#define PONG_ROOM_BYTES 4096 /* beyond unsent_bytes_max; pongs over it are not sent */

/* -- the end of a connection ------------------------------------------------------------------- */
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

/* No call back after this; the memory goes in the loop's next turn. */
static void bury(struct sma_ws_conn *conn)
{
    conn->phase = WS_PHASE_OVER;
    ws_conn_drop_lookup(conn);
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

void ws_conn_finish(struct sma_ws_conn *conn, const struct sma_ws_closed *closed)
{
    bury(conn);
    conn->ask.closed(conn->ask.user, closed);
}

void ws_conn_finish_in_words(struct sma_ws_conn *conn, enum sma_ws_end end, const char *reason)
{
    ws_conn_finish(conn, &(struct sma_ws_closed){.end = end, .reason = sma_str(reason)});
}

void ws_conn_set_reason(struct sma_ws_conn *conn, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(conn->reason, sizeof conn->reason, format, arguments);
    va_end(arguments);
}

void ws_conn_fail(struct sma_ws_conn *conn)
{
    ws_conn_finish_in_words(conn, SMA_WS_NOT_CONNECTED, conn->reason);
}

/* -- sending ----------------------------------------------------------------------------------- */
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
    if (conn->phase == WS_PHASE_OVER || conn->phase == WS_PHASE_ENDED)
        return SMA_ERR_GONE;
    if (conn->phase != WS_PHASE_OPEN)
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

/* -- receiving --------------------------------------------------------------------------------- */
static void handle_close(struct sma_ws_conn *conn, const struct ws_found *found)
{
    char reason[WS_CONTROL_BYTES_MAX];
    struct sma_ws_closed closed = {.end = SMA_WS_CLOSED_BY_PEER, .code = found->code};
    if (found->bytes.len > 0)
        memcpy(reason, found->bytes.ptr, found->bytes.len);
    closed.reason = (struct sma_str){reason, found->bytes.len};
    bool can_echo = found->code == 0 || ws_close_code_is_valid(found->code);
    say_goodbye(conn, can_echo ? found->code : 1002);
    ws_conn_finish(conn, &closed);
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
        ws_conn_set_reason(conn, "the server sent %.*s", (int)found->bytes.len, found->bytes.ptr);
        say_goodbye(conn, found->code);
        ws_conn_finish_in_words(conn, SMA_WS_PROTOCOL, conn->reason);
        return;
    case WS_FOUND_NOTHING:
    case WS_FOUND_PONG:
        return;
    }
}

size_t ws_conn_read_frames(struct sma_ws_conn *conn, struct sma_str bytes)
{
    size_t used = 0;
    while (used < bytes.len && conn->phase == WS_PHASE_OPEN && !conn->pipe->is_paused) {
        struct ws_found found;
        used += ws_reader_take(&conn->reader, (struct sma_str){bytes.ptr + used, bytes.len - used},
                               &found);
        handle_found(conn, &found);
    }
    return used;
}

/* -- the public face --------------------------------------------------------------------------- */
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
    enum sma_err err = ws_conn_prepare(conn, ask);
    if (err != SMA_ERR_OK) {
        sma_buf_fini(&conn->request);
        free(conn);
        return err;
    }
    ws_reader_init(&conn->reader, conn->ask.message_bytes_max);
    link_conn(conn);
    ws_conn_begin(conn);
    *ret_conn = conn;
    return SMA_ERR_OK;
}

void sma_ws_pause(struct sma_ws_conn *conn, bool is_paused)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    if (conn->phase == WS_PHASE_OPEN)
        ws_pipe_pause(conn->pipe, is_paused);
}

void sma_ws_end(struct sma_ws_conn *conn, unsigned code)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    SMA_ASSERT(code == 0 || ws_close_code_is_valid(code));
    if (conn->phase == WS_PHASE_ENDED || conn->phase == WS_PHASE_OVER)
        return;
    if (conn->phase == WS_PHASE_OPEN && code != 0) {
        say_goodbye(conn, code);
        conn->end_code = code;
    }
    ws_conn_drop_lookup(conn);
    if (conn->pipe != NULL)
        ws_pipe_close(conn->pipe);
    conn->pipe = NULL;
    conn->phase = WS_PHASE_ENDED;
    ws_conn_arm(conn, 0);
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
