/* raw_ws.c — see raw_ws.h. */
#include "raw_ws.h"

#include "scenario/talk.h"
#include "support/check.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES_MAX (64u << 20)

/* @return false: nothing came in time, or the end */
static bool read_some(struct raw_ws *ws, long long until)
{
    long long left = until - process_now_ms();
    struct pollfd wait = {ws->fd, POLLIN, 0};
    if (ws->fd < 0 || poll(&wait, 1, left < 0 ? 0 : (int)left) <= 0)
        return false;
    char *room = sma_buf_reserve(&ws->in, 65536);
    CHECK(room != NULL);
    ssize_t len = recv(ws->fd, room, 65536, 0);
    if (len <= 0) {
        close(ws->fd);
        ws->fd = -1;
        return false;
    }
    ws->in.len += (size_t)len;
    return true;
}

static void drop(struct raw_ws *ws, size_t len)
{
    memmove(ws->in.ptr, ws->in.ptr + len, ws->in.len - len);
    ws->in.len -= len;
}

void raw_ws_open(struct raw_ws *ws, int port, const char *path)
{
    char text[2048];
    *ws = (struct raw_ws){.fd = raw_connect(port)};
    sma_buf_init(&ws->in, BYTES_MAX);
    int len = snprintf(
        text, sizeof text,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        path, port);
    CHECK(raw_send(ws->fd, text, (size_t)len));
    const char *end = NULL;
    while (end == NULL && read_some(ws, process_now_ms() + 5000))
        end = memmem(ws->in.ptr, ws->in.len, "\r\n\r\n", 4);
    if (end == NULL)
        return; /* status 0: no answer */
    size_t head_len = (size_t)(end - ws->in.ptr) + 4;
    CHECK(head_len < sizeof ws->head && sscanf(ws->in.ptr, "HTTP/1.1 %d", &ws->status) == 1);
    memcpy(ws->head, ws->in.ptr, head_len);
    drop(ws, head_len);
}

static void send_frame(struct raw_ws *ws, unsigned char first, struct sma_str bytes)
{
    static const unsigned char mask[4] = {0xa1, 0xb2, 0xc3, 0xd4};
    struct sma_buf out;
    sma_buf_init(&out, BYTES_MAX);
    sma_buf_put_char(&out, (char)first);
    if (bytes.len < 126) {
        sma_buf_put_char(&out, (char)(0x80 | bytes.len));
    } else {
        size_t width = bytes.len < 65536 ? 2 : 8;
        sma_buf_put_char(&out, (char)(0x80 | (width == 2 ? 126 : 127)));
        for (size_t i = width; i > 0; i--)
            sma_buf_put_char(&out, (char)((uint64_t)bytes.len >> (8 * (i - 1))));
    }
    sma_buf_put(&out, mask, 4);
    for (size_t i = 0; i < bytes.len; i++)
        sma_buf_put_char(&out, (char)((unsigned char)bytes.ptr[i] ^ mask[i % 4]));
    CHECK(out.err == SMA_ERR_OK);
    if (ws->fd >= 0)
        (void)raw_send(ws->fd, out.ptr, out.len); /* its end is seen by reading */
    sma_buf_fini(&out);
}

void raw_ws_send(struct raw_ws *ws, struct sma_str bytes, bool is_binary)
{
    send_frame(ws, is_binary ? 0x82 : 0x81, bytes);
}

/* @return length of the whole first frame, 0: not there yet */
static size_t frame_length(const struct raw_ws *ws, size_t *ret_head)
{
    const unsigned char *bytes = (const unsigned char *)ws->in.ptr;
    if (ws->in.len < 2)
        return 0;
    CHECK((bytes[1] & 0x80) == 0); /* servers do not mask */
    size_t len = bytes[1], head = len == 126 ? 4 : len == 127 ? 10 : 2;
    if (ws->in.len < head)
        return 0;
    if (head > 2) {
        len = 0;
        for (size_t i = 2; i < head; i++)
            len = len << 8 | bytes[i];
    }
    *ret_head = head;
    return ws->in.len < head + len ? 0 : head + len;
}

bool raw_ws_take(struct raw_ws *ws, int timeout_ms, struct sma_buf *ret_bytes)
{
    long long until = process_now_ms() + timeout_ms;
    for (;;) {
        size_t head = 0, len = frame_length(ws, &head);
        if (len == 0) {
            if (!read_some(ws, until))
                return false;
            continue;
        }
        unsigned char first = (unsigned char)ws->in.ptr[0];
        struct sma_str payload = {ws->in.ptr + head, len - head};
        bool is_control = (first & 8) != 0;
        if ((first & 15) == 9)
            send_frame(ws, 0x8a, payload);
        if ((first & 15) == 8)
            send_frame(ws, 0x88, payload);
        if (!is_control || (first & 15) == 8)
            sma_buf_put_str(ret_bytes, payload);
        if ((first & 15) != 0)
            ws->opcode = (first & 15) < 9 ? first & 15 : ws->opcode;
        drop(ws, len);
        if ((!is_control && (first & 0x80) != 0) || (first & 15) == 8)
            return true;
    }
}

void raw_ws_close(struct raw_ws *ws)
{
    if (ws->fd >= 0)
        close(ws->fd);
    ws->fd = -1;
    sma_buf_fini(&ws->in);
}
