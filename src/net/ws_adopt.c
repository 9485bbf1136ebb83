/*
 * ws_adopt.c — a page's WebSocket: a socket that our HTTP server has accepted, whose request it has
 * read and let in. libwebsockets is given a request of our own, so that it never parses what came
 * from outside but frames.
 */
#include "ws_priv.h"

#include <stdlib.h>
#include <unistd.h>

#define KEY_LEN 24

bool sma_ws_is_key(struct sma_str key)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < key.len && i < KEY_LEN - 2; i++)
        if (key.ptr[i] == '\0' || strchr(alphabet, key.ptr[i]) == NULL)
            return false;
    return key.len == KEY_LEN && memcmp(key.ptr + KEY_LEN - 2, "==", 2) == 0;
}

enum sma_err sma_ws_adopt(struct sma_ws *ws, int fd, struct sma_str key, struct sma_str rest,
                          const struct sma_ws_ask *ask, struct sma_ws_conn **ret_conn)
{
    struct sma_buf request;
    SMA_ASSERT(sma_ws_is_key(key));
    sma_buf_init(&request, WS_REQUEST_BYTES_MAX + rest.len);
    sma_buf_printf(&request,
                   "GET /ws HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   "Sec-WebSocket-Key: %.*s\r\nSec-WebSocket-Version: 13\r\n\r\n",
                   (int)key.len, key.ptr);
    sma_buf_put_str(&request, rest);
    struct sma_ws_conn *conn = request.err == SMA_ERR_OK ? ws_conn_create(ws, ask) : NULL;
    struct lws_vhost *vhost = conn == NULL ? NULL : ws_page_vhost(ws);
    if (vhost == NULL) {
        sma_buf_fini(&request);
        free(conn);
        (void)close(fd);
        return SMA_ERR_NOMEM;
    }
    conn->phase = WS_UPGRADING;
    ws_conn_link(conn);
    ws_conn_arm(conn, conn->ask.connect_ms);
    ws->adopting = conn; /* its first events come from inside this call */
    *ret_conn = conn;
    struct lws *wsi = lws_adopt_socket_vhost_readbuf(vhost, fd, request.ptr, request.len);
    ws->adopting = NULL;
    sma_buf_fini(&request);
    if (wsi == NULL && conn->phase == WS_UPGRADING) {
        conn->wsi = NULL;
        ws_conn_arm(conn, 0);                                /* tells it */
    } else if (wsi != NULL && conn->phase == WS_UPGRADING) { /* not open yet */
        lws_set_opaque_user_data(wsi, conn);
        conn->wsi = wsi;
    }
    return SMA_ERR_OK;
}
