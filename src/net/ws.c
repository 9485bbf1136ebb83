/*
 * ws.c — the public face of WebSocket clients, what waits to be sent, and the end of a connection.
 *
 * An end is told once. The library's last word, LWS_CALLBACK_WSI_DESTROY, is the only event that
 * always comes.
 */
#include "ws_priv.h"

#include <stdarg.h>
#include <stdlib.h>

#define WS_MAGIC 0x57534f43u
#define CONN_MAGIC 0x5753434eu
#define FRAME_HEAD_BYTES_MAX 14

/* -- the end of a connection ------------------------------------------------------------------ */
void ws_conn_set_reason(struct sma_ws_conn *conn, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(conn->reason, sizeof conn->reason, format, arguments);
    va_end(arguments);
}

void ws_conn_drop_first(struct sma_ws_conn *conn)
{
    struct ws_piece *piece = conn->first;
    conn->first = piece->next;
    if (conn->first == NULL)
        conn->last = &conn->first;
    conn->unsent -= piece->len;
    conn->has_sent_first = false;
    free(piece);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct sma_ws_conn *conn = handle->data;
    while (conn->first != NULL)
        ws_conn_drop_first(conn);
    sma_buf_fini(&conn->request);
    sma_buf_fini(&conn->message);
    sma_buf_fini(&conn->head);
    sma_buf_fini(&conn->body);
    ws_unref(conn->ws);
    conn->magic = 0;
    free(conn);
}

static void free_if_over(struct sma_ws_conn *conn)
{
    if (conn->phase != WS_OVER || conn->wsi != NULL || conn->is_freed)
        return;
    conn->is_freed = true;
    if (conn->previous == NULL)
        conn->ws->conns = conn->next;
    else
        conn->previous->next = conn->next;
    if (conn->next != NULL)
        conn->next->previous = conn->previous;
    uv_close((uv_handle_t *)&conn->timer, on_timer_closed);
}

void ws_conn_lost_wsi(struct sma_ws_conn *conn)
{
    conn->wsi = NULL;
    free_if_over(conn);
}

void ws_conn_kill_wsi(struct sma_ws_conn *conn)
{
    struct lws *wsi = conn->wsi;
    conn->wsi = NULL;
    if (wsi == NULL)
        return;
    lws_set_opaque_user_data(wsi, NULL);
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

static void bury(struct sma_ws_conn *conn)
{
    conn->phase = WS_OVER;
    net_dial_cancel(conn->dial);
    conn->dial = NULL;
    if (conn->wsi != NULL)
        ws_conn_arm(conn, conn->ws->is_closing ? 0 : WS_LINGER_MS);
    free_if_over(conn);
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

/* -- time ------------------------------------------------------------------------------------- */
static void on_timer(uv_timer_t *timer)
{
    struct sma_ws_conn *conn = timer->data;
    switch (conn->phase) {
    case WS_ENDED:
        if (conn->end_code == 0)
            ws_conn_kill_wsi(conn);
        ws_conn_finish(conn,
                       &(struct sma_ws_closed){.end = SMA_WS_CLOSED_BY_US, .code = conn->end_code});
        return;
    case WS_OVER: /* it has lingered long enough */
        ws_conn_kill_wsi(conn);
        free_if_over(conn);
        return;
    case WS_OPEN:
        return;
    case WS_DIALLING:
    case WS_SHAKING:
    case WS_UPGRADING:
        ws_conn_on_deadline(conn);
        return;
    }
}

/* The library's own timers are not armed from outside its callbacks on a foreign loop. */
void ws_conn_arm(struct sma_ws_conn *conn, uint64_t wait_ms)
{
    uv_update_time(conn->ws->loop); /* libuv counts from the time it last looked */
    SMA_ASSERT(uv_timer_start(&conn->timer, on_timer, wait_ms, 0) == 0);
}

/* -- the public face -------------------------------------------------------------------------- */
void ws_conn_link(struct sma_ws_conn *conn)
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

struct sma_ws_conn *ws_conn_create(struct sma_ws *ws, const struct sma_ws_ask *ask)
{
    SMA_ASSERT(ask->opened != NULL && ask->message != NULL && ask->closed != NULL);
    struct sma_ws_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    conn->magic = CONN_MAGIC;
    conn->ws = ws;
    conn->last = &conn->first;
    conn->ask = *ask;
    conn->ask.url = NULL;
    conn->ask.headers = NULL;
    if (ask->connect_ms == 0)
        conn->ask.connect_ms = WS_CONNECT_MS_DEFAULT;
    if (ask->message_bytes_max == 0)
        conn->ask.message_bytes_max = WS_BYTES_MAX_DEFAULT;
    if (ask->unsent_bytes_max == 0)
        conn->ask.unsent_bytes_max = WS_BYTES_MAX_DEFAULT;
    sma_buf_init(&conn->message, conn->ask.message_bytes_max);
    return conn;
}

enum sma_err sma_ws_connect(struct sma_ws *ws, const struct sma_ws_ask *ask,
                            struct sma_ws_conn **ret_conn)
{
    struct sma_ws_conn *conn = ws_conn_create(ws, ask);
    if (conn == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = ws_conn_prepare(conn, ask);
    if (err == SMA_ERR_OK)
        err = ws_conn_begin(conn);
    if (err != SMA_ERR_OK) {
        sma_buf_fini(&conn->request);
        free(conn);
        return err;
    }
    ws_conn_link(conn);
    ws_conn_arm(conn, conn->ask.connect_ms);
    *ret_conn = conn;
    return SMA_ERR_OK;
}

bool sma_ws_is_idle(const struct sma_ws *ws)
{
    return ws->conns == NULL;
}

size_t sma_ws_unsent(const struct sma_ws_conn *conn)
{
    return conn->unsent;
}

enum sma_err sma_ws_send(struct sma_ws_conn *conn, struct sma_str bytes, bool is_binary)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    if (conn->phase == WS_OVER || conn->phase == WS_ENDED)
        return SMA_ERR_GONE;
    if (conn->phase != WS_OPEN)
        return SMA_ERR_BUSY;
    size_t max = conn->ask.unsent_bytes_max;
    if (bytes.len + FRAME_HEAD_BYTES_MAX > max)
        return SMA_ERR_TOOBIG;
    if (conn->unsent > max - bytes.len)
        return SMA_ERR_FULL;
    struct ws_piece *piece = malloc(sizeof *piece + LWS_PRE + bytes.len);
    if (piece == NULL)
        return SMA_ERR_NOMEM;
    piece->next = NULL;
    piece->len = bytes.len;
    piece->is_binary = is_binary;
    if (bytes.len > 0)
        memcpy(piece->bytes + LWS_PRE, bytes.ptr, bytes.len);
    *conn->last = piece;
    conn->last = &piece->next;
    conn->unsent += bytes.len;
    (void)lws_callback_on_writable(conn->wsi);
    return SMA_ERR_OK;
}

void sma_ws_pause(struct sma_ws_conn *conn, bool is_paused)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    if (conn->phase == WS_OPEN && conn->is_paused != is_paused)
        (void)lws_rx_flow_control(conn->wsi, is_paused ? 0 : 1);
    conn->is_paused = is_paused;
}

void sma_ws_end(struct sma_ws_conn *conn, unsigned code)
{
    SMA_ASSERT(conn->magic == CONN_MAGIC);
    SMA_ASSERT(code == 0 || (code >= 1000 && code < 5000));
    if (conn->phase == WS_ENDED || conn->phase == WS_OVER)
        return;
    if (conn->phase == WS_OPEN && code != 0) {
        conn->end_code = code;
        sma_ws_pause(conn, false); /* or the peer's close frame is never read */
        (void)lws_callback_on_writable(conn->wsi);
    }
    net_dial_cancel(conn->dial);
    conn->dial = NULL;
    conn->phase = WS_ENDED;
    ws_conn_arm(conn, 0);
}

/* What it has of a connection is killed in the loop's next turn: this may be a callback of the
 * library's. */
void sma_ws_close(struct sma_ws *ws)
{
    if (ws == NULL)
        return;
    SMA_ASSERT(!ws->is_closing);
    ws->is_closing = true;
    net_names_close(&ws->names);
    for (struct sma_ws_conn *conn = ws->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        bury(conn);
    }
    ws_lws_close(ws);
}
