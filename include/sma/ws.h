/*
 * ws.h — WebSocket clients (RFC 6455) for actors on a libuv loop, ws:// and wss://.
 *
 * One struct sma_ws per actor holds the context; each connection is made, used, closed and freed by
 * its actor. The connection says what happened and nothing else: when to connect again, when a peer
 * counts as silent, what a message means, is its user's affair. Callbacks run on the actor's thread
 * and may close the connection they are told of. A closed connection is reported exactly once,
 * whatever ended it.
 * Thread: the actor's. Blocks: name look-ups do not block the loop.
 */
#ifndef SMA_WS_H
#define SMA_WS_H

#include "sma/actor.h"

struct sma_ws;
struct sma_ws_conn;

struct sma_proxy;
struct sma_ws_options
{
    const char *ca_file; /* further trusted certificates (PEM), NULL = the system's only */
    const struct sma_proxy *proxy; /* copied; NULL = none; not of kind OTHER */
};
/** For the actor of ctx, which must be on a loop. @return OK | NOMEM | IO: ca_file cannot be read |
 *  NOTFOUND: libwebsockets has no plugin for libuv; with *error */
SMA_CHECKED enum sma_err sma_ws_open(struct sma_ctx *ctx, const struct sma_ws_options *options,
                                     struct sma_ws **ret_ws, struct sma_error *error);
/** Closes every connection without a callback; the loop must still run to close its handles. NULL
 *  is fine. */
void sma_ws_close(struct sma_ws *ws);

enum sma_ws_end
{
    /* name, TCP, TLS, or the upgrade was refused: http_status when one came */
    SMA_WS_NOT_CONNECTED,
    SMA_WS_CLOSED_BY_PEER, /* close frame: code and reason */
    SMA_WS_LOST,           /* the connection ended without a close frame */
    SMA_WS_PROTOCOL, /* the peer broke the protocol, or a message was over message_bytes_max */
    SMA_WS_CLOSED_BY_US,
};
struct sma_ws_closed
{
    enum sma_ws_end end;
    int http_status; /* of a refused upgrade, else 0 */
    /* header lines of the answer that refused the upgrade, each with CR LF; else empty */
    struct sma_str head;
    unsigned code; /* of the close frame, else 0 */
    /* of the close frame, or the error in words; valid during the callback */
    struct sma_str reason;
};
/** Value of a header of the answer that refused the upgrade, trimmed; empty when it is not
 *  there. */
struct sma_str sma_ws_closed_header(const struct sma_ws_closed *closed, const char *name);

struct sma_ws_ask
{
    const char *url;            /* ws:// or wss:// */
    const char *const *headers; /* "Name: value", may be NULL */
    size_t header_count;
    const char *const *kept_headers; /* names: kept of an answer that refuses the upgrade; static */
    size_t kept_header_count;
    uint32_t connect_ms; /* name, TCP, TLS and upgrade together; 0 = 10 s */
    /* of one whole message; over it the connection ends with PROTOCOL; 0 = 4 MiB */
    size_t message_bytes_max;
    size_t unsent_bytes_max; /* sma_ws_send refuses beyond; 0 = 4 MiB */
    void (*opened)(void *user);
    /* One whole message; bytes are valid during the call. read_ns = when its last bytes were
     * read. */
    void (*message)(void *user, struct sma_str bytes, bool is_binary, uint64_t read_ns);
    /* exactly once; the connection is freed after it */
    void (*closed)(void *user, const struct sma_ws_closed *closed);
    void *user;
};
/**
 * Begin to connect; url and headers are copied. opened() or closed() tells the result, never from
 * inside this call. Text messages of the peer that are not UTF-8 end the connection (PROTOCOL).
 * Pings are answered, pongs passed over.
 * @return OK | NOMEM | BADINPUT: not a ws or wss URL, over 8 KiB, or a header with control
 *         characters or one of the handshake's own names
 */
SMA_CHECKED enum sma_err sma_ws_connect(struct sma_ws *ws, const struct sma_ws_ask *ask,
                                        struct sma_ws_conn **ret_conn);
/** Copies and sends in order. FULL: more than unsent_bytes_max would wait (the peer does not read).
 *  TOOBIG: this message alone is more. BUSY: not open yet. GONE: ended. NOMEM. */
SMA_CHECKED enum sma_err sma_ws_send(struct sma_ws_conn *conn, struct sma_str bytes,
                                     bool is_binary);
/** Stop or resume reading: back-pressure up to the peer's TCP window. Nothing is reported of a
 *  paused connection, not even its end, until it is resumed. */
void sma_ws_pause(struct sma_ws_conn *conn, bool is_paused);
/** End it: closed() follows with CLOSED_BY_US in the loop's next turn, never from inside this call,
 *  and no message after it. What was sent and a close frame with this code go out behind it, for a
 *  second at most. code 0 = no close frame, what is unsent is dropped. A second call changes
 *  nothing. */
void sma_ws_end(struct sma_ws_conn *conn, unsigned code);

/* -- pages: sockets that an HTTP server has accepted ------------------------------------------- */
/** The value of a Sec-WebSocket-Key as RFC 6455 has it. */
bool sma_ws_is_key(struct sma_str key);
/**
 * Carry on with a socket whose upgrade the caller has read and let in: answers 101, then it is a
 * connection like the others. opened() and closed() may come from inside this call.
 * @fd    moved, in any case
 * @rest  bytes that came behind the request
 * @ask   url and headers are not used
 * @return OK | NOMEM
 */
SMA_CHECKED enum sma_err sma_ws_adopt(struct sma_ws *ws, int fd, struct sma_str key,
                                      struct sma_str rest, const struct sma_ws_ask *ask,
                                      struct sma_ws_conn **ret_conn);
/** No connection is open, on its way, or lingering. */
bool sma_ws_is_idle(const struct sma_ws *ws);
/** Bytes of sma_ws_send that the kernel has not taken yet. */
size_t sma_ws_unsent(const struct sma_ws_conn *conn);

#endif
