/* ws_event.c — what libwebsockets tells of a connection: messages, room to write, close frames,
 * ends. */
#include "ws_priv.h"

#include "sma/text.h"

#include <netinet/tcp.h>

/* -- messages --------------------------------------------------------------------------------- */
/* None of these ends the connection by the callback's result: 4.1.6 goes on reading after that
 * until its close frame is answered, and empties its buffer only when the result was 0. */
static void tell_message(struct sma_ws_conn *conn, struct sma_str message)
{
    const struct sma_sys *sys = sma_ctx_sys(conn->ws->ctx);
    /* The library's own check costs ten times as much. */
    if (!conn->is_binary && !sma_utf8_is_valid(message))
        ws_conn_refuse(conn, LWS_CLOSE_STATUS_INVALID_PAYLOAD,
                       "the peer sent text that is not UTF-8");
    else
        conn->ask.message(conn->ask.user, message, conn->is_binary, sys->now_ns(sys->self));
}

/* A piece of a frame, WS_READ_BYTES at most. */
static void receive(struct sma_ws_conn *conn, struct lws *wsi, struct sma_str bytes)
{
    bool is_whole = lws_is_final_fragment(wsi) != 0;
    if (lws_is_first_fragment(wsi)) {
        sma_buf_clear(&conn->message);
        conn->is_binary = lws_frame_is_binary(wsi) != 0;
    }
    if (bytes.len + lws_remaining_packet_payload(wsi) >
        conn->ask.message_bytes_max - conn->message.len) {
        ws_conn_refuse(conn, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                       "the peer sent a message over the limit");
        return;
    }
    if (is_whole && conn->message.len == 0) {
        tell_message(conn, bytes);
        return;
    }
    sma_buf_put_str(&conn->message, bytes);
    if (conn->message.err != SMA_ERR_OK)
        ws_conn_refuse(conn, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                       "the peer sent more than there is memory for");
    else if (is_whole)
        tell_message(conn, sma_buf_str(&conn->message));
    if (!is_whole)
        return;
    sma_buf_clear(&conn->message);
    if (conn->message.cap > WS_KEPT_BYTES) {
        sma_buf_fini(&conn->message);
        sma_buf_init(&conn->message, conn->ask.message_bytes_max);
    }
}

/* -- what waits to be sent -------------------------------------------------------------------- */
static void set_cork(struct lws *wsi, int is_on)
{
    (void)setsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_CORK, &is_on, sizeof is_on);
}

/* The library sends each frame by itself. Corked, many small ones share a segment. */
static int write_pieces(struct sma_ws_conn *conn, struct lws *wsi)
{
    while (conn->first != NULL) {
        struct ws_piece *piece = conn->first;
        if (lws_write(wsi, piece->bytes + LWS_PRE, piece->len,
                      piece->is_binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT) < (int)piece->len)
            return -1;
        if (lws_partial_buffered(
                wsi)) { /* what the library has taken counts until it asks for more */
            conn->has_sent_first = true;
            (void)lws_callback_on_writable(wsi);
            return 0;
        }
        ws_conn_drop_first(conn);
    }
    return 0;
}

static int handle_writable(struct sma_ws_conn *conn, struct lws *wsi)
{
    if (conn->has_sent_first)
        ws_conn_drop_first(conn);
    bool is_many = conn->first != NULL && conn->first->next != NULL;
    if (is_many)
        set_cork(wsi, 1);
    int result = write_pieces(conn, wsi);
    if (is_many)
        set_cork(wsi, 0);
    /* Not -1 from here: the packaged builds, made with _DEBUG, then close twice on libuv, and the
     * second close overtakes the close frame. */
    if (result == 0 && conn->first == NULL && conn->end_code != 0)
        lws_set_timer_usecs(wsi, 1);
    return result;
}

/* -- ends ------------------------------------------------------------------------------------- */
static void handle_close_frame(struct sma_ws_conn *conn, const unsigned char *bytes, size_t len)
{
    struct sma_ws_closed closed = {.end = SMA_WS_CLOSED_BY_PEER};
    if (len >= 2) {
        closed.code = (unsigned)bytes[0] << 8 | bytes[1];
        closed.reason = (struct sma_str){(const char *)bytes + 2, len - 2};
        if (!sma_utf8_is_valid(closed.reason)) /* the code is what is acted on */
            closed.reason = (struct sma_str){"", 0};
    }
    ws_conn_finish(conn, &closed);
}

/* Whose doing is it that the library closes an open connection? It does not say; but if it has
 * prepared a close frame, or the peer has not left, it was the library's own. */
static void handle_closed(struct sma_ws_conn *conn, struct lws *wsi)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    bool is_peer_there =
        getsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
        info.tcpi_state == TCP_ESTABLISHED;
    if (is_peer_there || lws_get_close_length(wsi) > 0)
        ws_conn_finish_in_words(conn, SMA_WS_PROTOCOL, "the peer broke the protocol");
    else
        ws_conn_finish_in_words(conn, SMA_WS_LOST, "the connection was lost");
}

static void handle_destroyed(struct sma_ws_conn *conn, bool is_ours)
{
    if (is_ours && conn->phase == WS_OPEN)
        ws_conn_finish_in_words(conn, SMA_WS_LOST, "the connection was lost");
    else if (is_ours)
        ws_conn_fail(conn, SMA_STR("the connection ended"));
    ws_conn_lost_wsi(conn);
}

/* -- all of it -------------------------------------------------------------------------------- */
static int handle_opened(struct sma_ws_conn *conn)
{
    (void)uv_timer_stop(&conn->timer); /* always 0 */
    conn->phase = WS_OPEN;
    conn->ask.opened(conn->ask.user);
    return 0;
}

/* While its user waits for what happens. */
static int handle_ours(struct sma_ws_conn *conn, struct lws *wsi, enum lws_callback_reasons reason,
                       void *in, size_t len)
{
    switch (reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return ws_conn_put_request(conn, in, len);
    case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
        return ws_conn_look_at_answer(conn, wsi);
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
        sma_buf_put(&conn->body, in, len < WS_REFUSAL_BYTES_MAX ? len : WS_REFUSAL_BYTES_MAX);
        return -1; /* the rest is not waited for */
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        ws_conn_fail(conn, in == NULL ? SMA_STR("the connection ended")
                                      : (struct sma_str){in, strnlen(in, len)});
        return 0;
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
    case LWS_CALLBACK_ESTABLISHED:
        return handle_opened(conn);
    case LWS_CALLBACK_CLIENT_RECEIVE:
    case LWS_CALLBACK_RECEIVE:
        receive(conn, wsi, (struct sma_str){in, len});
        return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        handle_close_frame(conn, in, len);
        return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_CLOSED:
        handle_closed(conn, wsi);
        return 0;
    default:
        return 0;
    }
}

static bool is_for_us(enum lws_callback_reasons reason)
{
    switch (reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
    case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_RECEIVE:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_ESTABLISHED:
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_TIMER:
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_WSI_DESTROY:
    case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
        return true;
    default:
        return false;
    }
}

static bool is_end(enum lws_callback_reasons reason)
{
    return reason == LWS_CALLBACK_WSI_DESTROY || reason == LWS_CALLBACK_CLIENT_CLOSED ||
           reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR || reason == LWS_CALLBACK_CLOSED;
}

/* One that is being adopted is known once it is open. */
static struct sma_ws_conn *adopted(struct lws *wsi)
{
    const struct sma_ws *ws = lws_context_user(lws_get_context(wsi));
    struct sma_ws_conn *conn = ws->adopting;
    if (conn == NULL || lws_get_vhost(wsi) != ws->page_vhost)
        return NULL;
    lws_set_opaque_user_data(wsi, conn);
    conn->wsi = wsi;
    return conn;
}

int ws_on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    if (!is_for_us(reason)) /* some come without a wsi */
        return 0;
    struct sma_ws_conn *conn = lws_get_opaque_user_data(wsi);
    if (conn == NULL)
        conn = adopted(wsi);
    if (conn == NULL) /* given up */
        return is_end(reason) ? 0 : -1;
    bool is_ours = conn->phase < WS_ENDED && !conn->ws->is_closing;
    switch (reason) {
    case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
        return ws_conn_look_at_certificate(conn, user, len != 0);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return handle_writable(conn, wsi);
    case LWS_CALLBACK_TIMER:
        lws_close_reason(wsi, (enum lws_close_status)conn->end_code, NULL, 0);
        return -1; /* the close frame goes out now */
    case LWS_CALLBACK_WSI_DESTROY:
        handle_destroyed(conn, is_ours);
        return 0;
    default:
        if (is_ours)
            return handle_ours(conn, wsi, reason, in, len);
        return reason == LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER ||
                       reason == LWS_CALLBACK_CLIENT_ESTABLISHED
                   ? -1
                   : 0;
    }
}
