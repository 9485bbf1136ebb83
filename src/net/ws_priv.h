/*
 * ws_priv.h — what the files of the WebSocket client share.
 *
 * ws.c         the public face, sending
 * ws_conn.c    one connection: its deadline, its end
 * ws_connect.c from a URL to an open connection: TCP by dial.c, then libwebsockets does TLS and
 * the upgrade
 * ws_event.c   what libwebsockets tells: messages, close frames, ends
 * ws_lws.c     its context and virtual hosts on the actor's loop, and how to get rid of them
 * ws_url.c     URL and request (pure)
 *
 * The library is only called from its own callbacks or from handles of ours, never from inside a
 * call of the user's but for the three that may be made at any time (writeable, flow control,
 * opaque data). Life time: a connection is freed when neither its user nor the library has it any
 * more.
 * Threads:   the actor's.
 */
#ifndef SMA_NET_WS_PRIV_H
#define SMA_NET_WS_PRIV_H

#include "dial.h"

#include "sma/buf.h"
#include "sma/ws.h"

#include <libwebsockets.h>
#include <uv.h>

#define WS_MAGIC 0x57534f43u
#define WS_CONN_MAGIC 0x5753434eu
#define WS_URL_BYTES_MAX 8192
#define WS_REQUEST_BYTES_MAX 16384 /* request line and headers; more is BADINPUT */
#define WS_HEAD_BYTES_MAX 16384    /* of the answer; over it NOT_CONNECTED */
#define WS_REFUSAL_BYTES_MAX 1024  /* kept of the body of a refusal */
#define WS_READ_BYTES 32768        /* the library reads and tells so many at a time */
#define WS_CONNECT_MS_DEFAULT 10000
#define WS_BYTES_MAX_DEFAULT (4u * 1024 * 1024)
#define WS_LINGER_MS 1000 /* from a connection's end to its socket's, at most */
#define WS_REASON_BYTES 512
#define WS_KEPT_BYTES 65536 /* a message buffer larger than this is given back after its message */
#define WS_CONNECTION_COUNT_MAX 1024 /* of an actor, lingering ones too: sizes a table */

/* -- ws_url.c --------------------------------------------------------------------------------- */
struct ws_url
{
    bool is_tls;
    char host[NET_HOST_BYTES]; /* name or address, without brackets */
    char port[NET_PORT_BYTES];
    bool is_default_port, is_ipv6;
    struct sma_str target; /* in the text it was parsed from; "" = "/", or begins with '?' */
};
/** BADINPUT: not ws://host[:port][/path][?query] or wss://...; what follows '#' is left out. */
SMA_CHECKED enum sma_err ws_url_parse(struct sma_str text, struct ws_url *ret_url);
/** Append request line and headers, without the key and the empty line. BADINPUT: a header that is
 *  none. */
SMA_CHECKED enum sma_err ws_put_request(struct sma_buf *buf, const struct ws_url *url,
                                        const char *const *headers, size_t header_count);

/* -- one connection --------------------------------------------------------------------------- */
enum ws_phase
{
    WS_DIALLING,
    WS_SHAKING, /* TLS */
    WS_UPGRADING,
    WS_OPEN,
    WS_ENDED, /* by us; told in the next turn */
    WS_OVER,  /* told */
};
struct ws_piece /* one message to be sent */
{
    struct ws_piece *next;
    size_t len;
    bool is_binary;
    unsigned char bytes[]; /* LWS_PRE, then len */
};
struct sma_ws_conn
{
    uint32_t magic;
    enum ws_phase phase;
    struct sma_ws *ws;
    struct sma_ws_conn *previous, *next;
    struct sma_ws_ask ask;
    struct ws_url url;
    struct sma_buf request; /* until it is sent */
    struct net_dial *dial;
    struct lws *wsi;        /* NULL: the library has none of it, or it was given up */
    struct sma_buf message; /* fragments so far */
    struct ws_piece *first, **last;
    size_t unsent;
    uv_timer_t timer; /* runs until it is open, and again from its end */
    unsigned end_code;
    int http_status;
    struct sma_buf head, body; /* of a refusal */
    bool is_certificate_good, is_binary, is_paused, has_sent_first, is_freed;
    char reason[WS_REASON_BYTES];
};

/* ws_conn.c */
void ws_conn_arm(struct sma_ws_conn *conn, uint64_t wait_ms);
void ws_conn_set_reason(struct sma_ws_conn *conn, const char *format, ...) SMA_PRINTF(2, 3);
/** It is over. What the library still has of it lingers. */
void ws_conn_bury(struct sma_ws_conn *conn);
/** The same, and tell the user. */
void ws_conn_finish(struct sma_ws_conn *conn, const struct sma_ws_closed *closed);
void ws_conn_finish_in_words(struct sma_ws_conn *conn, enum sma_ws_end end, const char *reason);
/** What the peer sent is not taken: a close frame with this code, and the end. why: constant. */
void ws_conn_refuse(struct sma_ws_conn *conn, unsigned code, const char *why);
/** The library has forgotten it; gone, if the user has too. */
void ws_conn_lost_wsi(struct sma_ws_conn *conn);
/** Give up the library's part, which it frees in a later turn. Not from inside its callbacks. */
void ws_conn_kill_wsi(struct sma_ws_conn *conn);
void ws_conn_drop_first(struct sma_ws_conn *conn);

/** Allocated, with the limits of *ask. NULL: no memory. Freed by the connection's end, or by free()
 *  before it is linked. */
struct sma_ws_conn *ws_conn_create(struct sma_ws *ws, const struct sma_ws_ask *ask);
void ws_conn_link(struct sma_ws_conn *conn);
void ws_unref(struct sma_ws *ws);

/* ws_connect.c */
SMA_CHECKED enum sma_err ws_conn_prepare(struct sma_ws_conn *conn, const struct sma_ws_ask *ask);
SMA_CHECKED enum sma_err ws_conn_begin(struct sma_ws_conn *conn);
/** It did not come to be open. words: the library's, used when we have none of our own. */
void ws_conn_fail(struct sma_ws_conn *conn, struct sma_str words);
/** Its callbacks on the way: 0, or the library closes the connection. */
int ws_conn_put_request(struct sma_ws_conn *conn, char **end, size_t room);
int ws_conn_look_at_answer(struct sma_ws_conn *conn, struct lws *wsi);
int ws_conn_look_at_certificate(struct sma_ws_conn *conn, X509_STORE_CTX *store, bool is_good);

/* ws_event.c */
int ws_on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                size_t len);

/* -- ws_lws.c --------------------------------------------------------------------------------- */
#define WS_STATIC_COUNT_MAX 8
struct ws_handles
{
    const uv_handle_t *list[256];
    size_t count;
};
struct sma_ws
{
    uint32_t magic;
    struct sma_ctx *ctx;
    uv_loop_t *loop;
    struct net_names names;
    struct lws_context *lws;
    struct lws_vhost *vhosts[2]; /* for ws://; for wss://, made with the first of them */
    struct lws_vhost *page_vhost;
    struct sma_ws_conn *adopting;
    SSL_CTX *tls;
    struct sma_proxy proxy;
    struct sma_ws_conn *conns;
    size_t use_count; /* open() and everything with a handle on the loop; freed at 0 */
    uv_idle_t closer;
    uv_check_t check;
    const uv_handle_t
        *statics[WS_STATIC_COUNT_MAX]; /* the library's, which outlive its connections */
    size_t static_count;
    bool is_closing, is_destroying;
#if LWS_LIBRARY_VERSION_NUMBER >= 4003000
    lws_log_cx_t log; /* the process-wide one asserts on a counter that threads spoil */
#endif
};
/** @return NULL: TLS cannot be prepared */
struct lws_vhost *ws_vhost(struct sma_ws *ws, bool is_tls);
struct lws_vhost *ws_page_vhost(struct sma_ws *ws);

#endif
