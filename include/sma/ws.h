/*
 * ws.h — WebSocket clients for actors on a libuv loop: libwebsockets on the actor's own loop.
 *
 * One struct sma_ws per actor holds the context; each connection is made, used, closed and freed by its actor. The
 * connection says what happened and nothing else: when to connect again, when a peer counts as silent, what a message
 * means, is its user's affair. Callbacks run on the actor's thread and may close the connection they are told of.
 * A closed connection is reported exactly once, whatever ended it.
 * Thread: the actor's. Blocks: name look-ups do not block the loop.
 */
#ifndef SMA_WS_H
#define SMA_WS_H

#include "sma/actor.h"

struct sma_ws;
struct sma_ws_conn;

struct sma_ws_options
{
    const char *ca_file; /* further trusted certificates (PEM), NULL = the system's only */
};
/** For the actor of ctx, which must be on a loop. */
SMA_CHECKED enum sma_err sma_ws_open(struct sma_ctx *ctx, const struct sma_ws_options *options, struct sma_ws **ret_ws,
                                     struct sma_error *error);
/** Closes every connection without a callback; the loop must still run to close its handles. NULL is fine. */
void sma_ws_close(struct sma_ws *ws);

enum sma_ws_end
{
    SMA_WS_NOT_CONNECTED, /* name, TCP, TLS, or the upgrade was refused: http_status when one came */
    SMA_WS_CLOSED_BY_PEER,/* close frame: code and reason */
    SMA_WS_LOST,          /* the connection ended without a close frame */
    SMA_WS_PROTOCOL,      /* the peer broke the protocol, or a message was over message_bytes_max */
    SMA_WS_CLOSED_BY_US,
};
struct sma_ws_closed
{
    enum sma_ws_end end;
    int http_status;       /* of a refused upgrade, else 0 */
    unsigned code;         /* of the close frame, else 0 */
    struct sma_str reason; /* of the close frame, or the error in words; valid during the callback */
};
struct sma_ws_ask
{
    const char *url;          /* ws:// or wss:// */
    const char *const *headers; /* "Name: value", may be NULL */
    size_t header_count;
    uint32_t connect_ms;      /* name, TCP, TLS and upgrade together; 0 = 10 s */
    size_t message_bytes_max; /* of one whole message; over it the connection ends with PROTOCOL */
    size_t unsent_bytes_max;  /* sma_ws_send refuses beyond */
    void (*opened)(void *user);
    /* One whole message; bytes are valid during the call. read_ns = when its last bytes were read. */
    void (*message)(void *user, struct sma_str bytes, bool is_binary, uint64_t read_ns);
    void (*closed)(void *user, const struct sma_ws_closed *closed); /* exactly once; the connection is freed after it */
    void *user;
};
SMA_CHECKED enum sma_err sma_ws_connect(struct sma_ws *ws, const struct sma_ws_ask *ask, struct sma_ws_conn **ret_conn);
/** Copies and sends in order. FULL: more than unsent_bytes_max wait (the peer does not read). */
SMA_CHECKED enum sma_err sma_ws_send(struct sma_ws_conn *conn, struct sma_str bytes, bool is_binary);
/** Stop or resume reading: back-pressure up to the peer's TCP window. */
void sma_ws_pause(struct sma_ws_conn *conn, bool is_paused);
/** End it: closed() follows with CLOSED_BY_US, at once for a connection that does not answer. code 0 = no close frame. */
void sma_ws_end(struct sma_ws_conn *conn, unsigned code);

#endif
