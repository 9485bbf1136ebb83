/*
 * raw_ws.h — a WebSocket client for tests of fake platforms: blocking, with deadlines, sends what
 * it is told. Ends the test when the other side breaks the protocol.
 */
#ifndef FAKE_RAW_WS_H
#define FAKE_RAW_WS_H

#include "sma/buf.h"

struct raw_ws
{
    int fd;
    int status;        /* of the answer to the upgrade: 101 when it is open */
    char head[4096];   /* of that answer */
    struct sma_buf in; /* bytes read and not yet taken */
    unsigned opcode;   /* of the message taken last; 8: closed, its bytes are code and reason */
};
/** path with query. status says how it went. */
void raw_ws_open(struct raw_ws *ws, int port, const char *path);
void raw_ws_send(struct raw_ws *ws, struct sma_str bytes, bool is_binary);
/**
 * The next message (fragments put together; pings are answered, pongs passed over).
 * @ret_bytes  appended
 * @return     false: nothing in that time, or the connection ended (then ws->fd is -1)
 */
bool raw_ws_take(struct raw_ws *ws, int timeout_ms, struct sma_buf *ret_bytes);
void raw_ws_close(struct raw_ws *ws); /* without a close frame */

#endif
