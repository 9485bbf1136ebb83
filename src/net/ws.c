/* ws.c — the public face of WebSocket clients, and what waits to be sent. */
#include "ws_priv.h"

#include <stdlib.h>

#define FRAME_HEAD_BYTES_MAX 14

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
    SMA_ASSERT(conn->magic == WS_CONN_MAGIC);
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
    SMA_ASSERT(conn->magic == WS_CONN_MAGIC);
    if (conn->phase == WS_OPEN && conn->is_paused != is_paused)
        (void)lws_rx_flow_control(conn->wsi, is_paused ? 0 : 1);
    conn->is_paused = is_paused;
}

void sma_ws_end(struct sma_ws_conn *conn, unsigned code)
{
    SMA_ASSERT(conn->magic == WS_CONN_MAGIC);
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
