/*
 * ws_conn.c — one connection from its place in the list to its end.
 *
 * An end is told once. The library's last word, LWS_CALLBACK_WSI_DESTROY, is the only event that
 * always comes.
 */
#include "ws_priv.h"

#include "sma/clock.h"

#include <stdarg.h>
#include <stdlib.h>

void ws_unref(struct sma_ws *ws)
{
    SMA_ASSERT(ws->use_count > 0);
    if (--ws->use_count > 0)
        return;
    SSL_CTX_free(ws->tls);
    explicit_bzero(&ws->proxy, sizeof ws->proxy);
    ws->magic = 0;
    free(ws);
}

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

/* -- the end ---------------------------------------------------------------------------------- */
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

void ws_conn_bury(struct sma_ws_conn *conn)
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
    ws_conn_bury(conn);
    conn->ask.closed(conn->ask.user, closed);
}

void ws_conn_finish_in_words(struct sma_ws_conn *conn, enum sma_ws_end end, const char *reason)
{
    ws_conn_finish(conn, &(struct sma_ws_closed){.end = end, .reason = sma_str(reason)});
}

void ws_conn_refuse(struct sma_ws_conn *conn, unsigned code, const char *why)
{
    conn->end_code = code;
    (void)lws_callback_on_writable(conn->wsi);
    ws_conn_finish_in_words(conn, SMA_WS_PROTOCOL, why);
}

/* -- time ------------------------------------------------------------------------------------- */
static void on_deadline(struct sma_ws_conn *conn)
{
    if (conn->phase == WS_DIALLING)
        net_dial_describe_wait(conn->dial, conn->ask.connect_ms, conn->reason, sizeof conn->reason);
    else
        ws_conn_set_reason(conn, "cannot connect to %s: %s took longer than %u ms", conn->url.host,
                           conn->phase == WS_SHAKING ? "the TLS handshake"
                                                     : "the answer to the upgrade",
                           conn->ask.connect_ms);
    ws_conn_kill_wsi(conn);
    ws_conn_finish_in_words(conn, SMA_WS_NOT_CONNECTED, conn->reason);
}

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
        on_deadline(conn);
        return;
    }
}

/* The library's own timers are not armed from outside its callbacks on a foreign loop. */
void ws_conn_arm(struct sma_ws_conn *conn, uint64_t wait_ms)
{
    uv_update_time(conn->ws->loop); /* libuv counts from the time it last looked */
    SMA_ASSERT(uv_timer_start(&conn->timer, on_timer, sma_clock_wait_ms(wait_ms), 0) == 0);
}

/* -- the beginning ---------------------------------------------------------------------------- */
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
    conn->magic = WS_CONN_MAGIC;
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
