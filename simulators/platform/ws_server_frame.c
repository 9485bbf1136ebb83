/* ws_server_frame.c — HTTP requests and WebSocket frames of the test server; strict about what a
 * client may send. */
#include "platform/ws_server_priv.h"
#include "sma/text.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>

#define WS_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

/* -- HTTP -------------------------------------------------------------------------------------- */
struct sma_str ws_server_header(const struct ws_server_request *request, const char *name)
{
    struct sma_str rest = request->head, wanted = sma_str(name);
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.ptr) + 1;
        if (len > wanted.len && rest.ptr[wanted.len] == ':' &&
            sma_str_is_equal_nocase((struct sma_str){rest.ptr, wanted.len}, wanted))
            return sma_str_trim((struct sma_str){rest.ptr + wanted.len + 1, len - wanted.len - 1});
        rest.ptr += len;
        rest.len -= len;
    }
    return (struct sma_str){"", 0};
}

static struct sma_str take_word(struct sma_str *rest, char end)
{
    const char *at = memchr(rest->ptr, end, rest->len);
    size_t len = at == NULL ? rest->len : (size_t)(at - rest->ptr);
    struct sma_str word = {rest->ptr, len};
    rest->ptr += at == NULL ? len : len + 1;
    rest->len -= at == NULL ? len : len + 1;
    return word;
}

static bool has_word(struct sma_str list, const char *word)
{
    while (list.len > 0)
        if (sma_str_is_equal_nocase(sma_str_trim(take_word(&list, ',')), sma_str(word)))
            return true;
    return false;
}

static bool is_upgrade(const struct ws_server_request *request)
{
    return sma_str_is_equal(request->method, SMA_STR("GET")) &&
           sma_str_is_equal_nocase(ws_server_header(request, "Upgrade"), SMA_STR("websocket")) &&
           has_word(ws_server_header(request, "Connection"), "Upgrade") &&
           sma_str_is_equal(ws_server_header(request, "Sec-WebSocket-Version"), SMA_STR("13")) &&
           ws_server_header(request, "Sec-WebSocket-Key").len == 24;
}

/* @return false: not whole yet, or the connection is dead */
static bool parse_request(struct ws_server *server, struct ws_conn *conn)
{
    struct sma_buf *in = &conn->in;
    const char *end = in->len == 0 ? NULL : memmem(in->ptr, in->len, "\r\n\r\n", 4);
    if (end == NULL) {
        conn->is_dead = conn->is_dead || in->len > WS_HEAD_BYTES_MAX;
        return false;
    }
    size_t head_len = (size_t)(end - in->ptr) + 4;
    struct sma_str head = {in->ptr, head_len - 2};
    struct sma_str line = take_word(&head, '\n');
    struct ws_server_request request = {.conn = conn->id, .head = head};
    request.method = take_word(&line, ' ');
    request.query = take_word(&line, ' ');
    request.path = take_word(&request.query, '?');
    int64_t body_len = 0;
    struct sma_str length = ws_server_header(&request, "Content-Length");
    if (ws_server_header(&request, "Transfer-Encoding").len > 0 ||
        (length.len > 0 && sma_parse_i64(length, 0, WS_BODY_BYTES_MAX, &body_len) != SMA_ERR_OK)) {
        conn->is_dead = true;
        return false;
    }
    if (in->len < head_len + (size_t)body_len) {
        if (!conn->has_continued && ws_server_header(&request, "Expect").len > 0)
            sma_buf_put_text(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
        conn->has_continued = true;
        return false;
    }
    request.body = (struct sma_str){in->ptr + head_len, (size_t)body_len};
    request.is_upgrade = is_upgrade(&request);
    struct sma_str key = ws_server_header(&request, "Sec-WebSocket-Key");
    (void)snprintf(conn->key, sizeof conn->key, "%.*s", request.is_upgrade ? (int)key.len : 0,
                   request.is_upgrade ? key.ptr : "");
    conn->request_bytes = head_len + (size_t)body_len;
    conn->phase = WS_CONN_WAITING;
    server->request_count++;
    server->hooks.request(server->user, server, &request);
    return true;
}

static struct ws_conn *find_waiting(struct ws_server *server, unsigned id)
{
    for (struct ws_conn *conn = server->conns; conn != NULL; conn = conn->next)
        if (conn->id == id)
            return conn->phase == WS_CONN_WAITING && !conn->is_dead ? conn : NULL;
    return NULL;
}

bool ws_server_accept_wrongly(struct ws_server *server, unsigned id, bool is_key_wrong,
                              const char *extra)
{
    ws_server_lock(server);
    struct ws_conn *conn = find_waiting(server, id);
    bool is_done = conn != NULL && conn->key[0] != '\0';
    if (is_done) {
        char text[128];
        unsigned char digest[SHA_DIGEST_LENGTH], encoded[32];
        (void)snprintf(text, sizeof text, "%s%s%s", conn->key, WS_GUID, is_key_wrong ? "?" : "");
        (void)SHA1((const unsigned char *)text, strlen(text), digest);
        (void)EVP_EncodeBlock(encoded, digest, sizeof digest);
        sma_buf_printf(
            &conn->out,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: %s\r\n%s\r\n",
            (const char *)encoded, extra);
        conn->phase = WS_CONN_OPEN;
        server->accepted_count++;
        (void)pthread_cond_broadcast(&server->changed);
        ws_server_ring(server);
    }
    ws_server_unlock(server);
    return is_done;
}

bool ws_server_accept(struct ws_server *server, unsigned conn)
{
    return ws_server_accept_wrongly(server, conn, false, "");
}

bool ws_server_answer_with(struct ws_server *server, unsigned id, int status, const char *headers,
                           struct sma_str body)
{
    ws_server_lock(server);
    struct ws_conn *conn = find_waiting(server, id);
    if (conn != NULL) {
        sma_buf_printf(&conn->out, "HTTP/1.1 %d Test\r\nContent-Length: %zu\r\n%s\r\n", status,
                       body.len, headers);
        sma_buf_put_str(&conn->out, body);
        conn->phase = WS_CONN_HTTP;
        ws_server_ring(server);
    }
    ws_server_unlock(server);
    return conn != NULL;
}

bool ws_server_answer(struct ws_server *server, unsigned conn, int status, const char *type,
                      struct sma_str body)
{
    char header[256];
    (void)snprintf(header, sizeof header, "Content-Type: %s\r\n", type);
    return ws_server_answer_with(server, conn, status, header, body);
}

/* -- frames ------------------------------------------------------------------------------------ */
void ws_conn_put_frame(struct ws_conn *conn, unsigned char first, bool is_masked,
                       struct sma_str bytes)
{
    static const unsigned char mask[4] = {0x11, 0x22, 0x33, 0x44};
    unsigned char bit = is_masked ? 0x80 : 0, head[14] = {first};
    size_t len = 2;
    if (bytes.len < 126) {
        head[1] = (unsigned char)(bit | bytes.len);
    } else if (bytes.len < 65536) {
        head[1] = bit | 126;
        head[2] = (unsigned char)(bytes.len >> 8);
        head[3] = (unsigned char)bytes.len;
        len = 4;
    } else {
        head[1] = bit | 127;
        for (size_t i = 0; i < 8; i++)
            head[2 + i] = (unsigned char)((uint64_t)bytes.len >> (8 * (7 - i)));
        len = 10;
    }
    if (is_masked) {
        memcpy(head + len, mask, 4);
        len += 4;
    }
    sma_buf_put(&conn->out, head, len);
    if (!is_masked) {
        sma_buf_put_str(&conn->out, bytes);
        return;
    }
    for (size_t i = 0; i < bytes.len; i++)
        sma_buf_put_char(&conn->out, (char)((unsigned char)bytes.ptr[i] ^ mask[i % 4]));
}

static void handle_close(struct ws_conn *conn, struct sma_str payload)
{
    conn->close_code = 1005;
    if (payload.len >= 2) {
        conn->close_code =
            (unsigned)((unsigned char)payload.ptr[0] << 8 | (unsigned char)payload.ptr[1]);
        (void)snprintf(conn->close_reason, sizeof conn->close_reason, "%.*s", (int)payload.len - 2,
                       payload.ptr + 2);
    }
    if (conn->is_mute)
        return;
    if (!conn->has_sent_close)
        ws_conn_put_frame(conn, 0x88, false, payload);
    conn->has_sent_close = true;
    conn->is_ending = true;
}

static void handle_data(struct ws_server *server, struct ws_conn *conn, unsigned char first,
                        struct sma_str payload)
{
    unsigned opcode = first & 15u;
    if ((opcode == 0) !=
        conn->is_message_open) { /* a fragment without a start, or a start inside a message */
        conn->is_dead = true;
        return;
    }
    if (opcode != 0)
        conn->is_binary = opcode == 2;
    conn->is_message_open = (first & 0x80) == 0;
    sma_buf_put_str(&conn->message, payload);
    if (conn->is_message_open)
        return;
    if (server->hooks.message != NULL)
        server->hooks.message(server->user, server, conn->id, sma_buf_str(&conn->message),
                              conn->is_binary);
    sma_buf_clear(&conn->message);
}

static void handle_frame(struct ws_server *server, struct ws_conn *conn, unsigned char first,
                         struct sma_str payload)
{
    switch (first & 15u) {
    case 0:
    case 1:
    case 2:
        handle_data(server, conn, first, payload);
        return;
    case 8:
        handle_close(conn, payload);
        return;
    case 9:
        if (!conn->is_mute)
            ws_conn_put_frame(conn, 0x8a, false, payload);
        if (server->hooks.ping != NULL)
            server->hooks.ping(server->user, server, conn->id, payload);
        return;
    case 10:
        if (server->hooks.pong != NULL)
            server->hooks.pong(server->user, server, conn->id, payload);
        return;
    default:
        conn->is_dead = true;
    }
}

/* One frame from bytes; 0 = not whole. */
static size_t parse_frame(struct ws_server *server, struct ws_conn *conn, unsigned char *bytes,
                          size_t len)
{
    if (len < 6)
        return 0;
    uint64_t payload_len = bytes[1] & 0x7f;
    size_t head_len = payload_len == 126 ? 4 : payload_len == 127 ? 10 : 2;
    if (len < head_len + 4)
        return 0;
    if (head_len > 2) {
        payload_len = 0;
        for (size_t i = 2; i < head_len; i++)
            payload_len = payload_len << 8 | bytes[i];
    }
    bool is_control = (bytes[0] & 8) != 0;
    if ((bytes[0] & 0x70) != 0 || (bytes[1] & 0x80) == 0 || payload_len > WS_BODY_BYTES_MAX ||
        (is_control && (payload_len > 125 || (bytes[0] & 0x80) == 0))) {
        conn->is_dead = true; /* no client may send this */
        return 0;
    }
    if (len < head_len + 4 + payload_len)
        return 0;
    unsigned char *payload = bytes + head_len + 4;
    for (size_t i = 0; i < payload_len; i++)
        payload[i] ^= bytes[head_len + i % 4];
    handle_frame(server, conn, bytes[0], (struct sma_str){(char *)payload, (size_t)payload_len});
    return head_len + 4 + (size_t)payload_len;
}

static void consume(struct ws_conn *conn, size_t len)
{
    memmove(conn->in.ptr, conn->in.ptr + len, conn->in.len - len);
    conn->in.len -= len;
}

void ws_conn_parse(struct ws_server *server, struct ws_conn *conn)
{
    bool has_more = true;
    while (has_more && !conn->is_dead && conn->phase == WS_CONN_HTTP) {
        has_more = parse_request(server, conn);
        if (conn->phase != WS_CONN_WAITING && conn->request_bytes > 0) {
            consume(conn, conn->request_bytes);
            conn->request_bytes = 0;
            conn->has_continued = false;
        }
    }
    if (conn->phase != WS_CONN_OPEN)
        return;
    size_t used = 0;
    while (!conn->is_dead && !conn->is_ending && used < conn->in.len) {
        size_t len =
            parse_frame(server, conn, (unsigned char *)conn->in.ptr + used, conn->in.len - used);
        if (len == 0)
            break;
        used += len;
    }
    if (used > 0)
        consume(conn, used);
}
