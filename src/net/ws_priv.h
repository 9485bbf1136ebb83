/*
 * ws_priv.h — what the files of the WebSocket client share.
 *
 * ws_url.c    what is said before the first frame: URL, request, answer (pure)
 * ws_frame.c  frames: a strict reader and a writer (pure)
 * ws_pipe.c   bytes over TCP, with TLS or without, on the loop
 * ws_connect.c  from a URL to an open connection: names, addresses, deadlines, handshake
 * ws.c        messages, ends, the public face
 *
 * Life time: a pipe and a connection hold a libuv timer, so their memory goes in its close
 *            callback, a turn of the loop after their end: code that called back into the user can
 *            still look at is_over.
 * Threads:   the actor's.
 */
#ifndef SMA_ACTORS_WS_PRIV_H
#define SMA_ACTORS_WS_PRIV_H

#include "sma/buf.h"
#include "sma/ws.h"

#include <openssl/ssl.h>
#include <uv.h>

#define WS_URL_BYTES_MAX 8192
#define WS_REQUEST_BYTES_MAX 65536 /* request line and headers; more is BADINPUT */
#define WS_HEAD_BYTES_MAX 16384    /* of the answer; over it NOT_CONNECTED */
#define WS_REFUSAL_BYTES_MAX 1024  /* kept of the body of a refusal */
#define WS_REFUSAL_MS 1000         /* waited for that body */
#define WS_CONNECT_MS_DEFAULT 10000
#define WS_BYTES_MAX_DEFAULT (4u * 1024 * 1024)
#define WS_ADDRESS_COUNT_MAX 8 /* tried in turn */
#define WS_ADDRESS_MS_MIN 250  /* for one of several addresses, at least */
#define WS_LINGER_MS 1000      /* from a connection's end to its socket's, at most */
#define WS_REASON_BYTES 512
#define WS_READ_BYTES 65536
#define WS_FRAME_HEAD_BYTES_MAX 14
#define WS_CONTROL_BYTES_MAX 125
/* a message buffer larger than this is given back after its message */
#define WS_KEPT_BYTES 65536

/* -- ws_url.c ---------------------------------------------------------------------------------- */
struct ws_url
{
    bool is_tls;
    char host[256]; /* name or address, without brackets */
    char port[8];
    bool is_default_port, is_ipv6;
    struct sma_str target; /* in the text it was parsed from; "" = "/", or begins with '?' */
};
/** BADINPUT: not ws://host[:port][/path][?query] or wss://...; what follows '#' is left out. */
SMA_CHECKED enum sma_err ws_url_parse(struct sma_str text, struct ws_url *ret_url);

#define WS_KEY_BYTES 24
/** Append the request. BADINPUT: a header that is none; TOOBIG, NOMEM from the buffer. */
SMA_CHECKED enum sma_err ws_put_request(struct sma_buf *buf, const struct ws_url *url,
                                        const char *key, const char *const *headers,
                                        size_t header_count);
/** 16 random bytes as text. */
void ws_format_key(const unsigned char random[16], char ret_key[WS_KEY_BYTES + 1]);
struct ws_answer
{
    int status;
    size_t head_bytes;   /* with the empty line */
    struct sma_str head; /* header lines */
};
/** EMPTY: not whole yet. BADINPUT: not an HTTP/1.1 answer. */
SMA_CHECKED enum sma_err ws_answer_parse(struct sma_str bytes, struct ws_answer *ret_answer);
struct sma_str ws_header(struct sma_str head, const char *name);
/** Why a 101 is no agreement, or NULL when it is one. */
const char *ws_answer_fault(const struct ws_answer *answer, const char *key,
                            bool has_asked_protocol);
/** Body bytes of a refusal to wait for: what Content-Length says, cut to WS_REFUSAL_BYTES_MAX, or
 *  that. */
size_t ws_refusal_bytes(const struct ws_answer *answer);

/* -- ws_frame.c -------------------------------------------------------------------------------- */
enum ws_opcode
{
    WS_CONTINUATION,
    WS_TEXT,
    WS_BINARY,
    WS_CLOSE = 8,
    WS_PING,
    WS_PONG,
};
struct ws_reader
{
    struct sma_buf message; /* fragments so far */
    size_t message_bytes_max;
    unsigned char head[WS_FRAME_HEAD_BYTES_MAX];
    size_t head_len;
    uint64_t payload_left;
    char control[WS_CONTROL_BYTES_MAX];
    size_t control_len;
    bool is_in_payload, is_in_message, is_binary;
};
enum ws_found_kind
{
    WS_FOUND_NOTHING, /* all bytes are used, more are needed */
    WS_FOUND_MESSAGE,
    WS_FOUND_PING,
    WS_FOUND_PONG,
    WS_FOUND_CLOSE,
    WS_FOUND_FAULT, /* the reader is not to be used again */
};
struct ws_found
{
    enum ws_found_kind kind;
    bool is_binary;
    /* message, ping, close reason: valid until the next call; of a fault: what is wrong */
    struct sma_str bytes;
    unsigned code; /* of a close frame (0 = none), or to send for a fault */
};
void ws_reader_init(struct ws_reader *reader, size_t message_bytes_max);
void ws_reader_fini(struct ws_reader *reader);
/** Read to the end of one message or control frame. @return bytes used */
size_t ws_reader_take(struct ws_reader *reader, struct sma_str bytes, struct ws_found *ret_found);
/** Bytes of a client's frame with this payload. */
size_t ws_frame_bytes(size_t payload_len);
/** Append a whole masked frame. */
void ws_put_frame(struct sma_buf *buf, enum ws_opcode opcode, struct sma_str payload,
                  const unsigned char mask[4]);
/** Whether a close frame may carry this code. */
bool ws_close_code_is_valid(unsigned code);

/* -- ws_pipe.c --------------------------------------------------------------------------------- */
struct ws_pipe_events
{
    void (*ready)(void *user); /* TCP, and TLS where wanted, stand */
    /* @return bytes used; those left are brought again when the pipe is resumed */
    size_t (*bytes)(void *user, struct sma_str bytes);
    /* It ended by itself; the pipe is gone after this. is_before_tcp: another address may help. */
    void (*ended)(void *user, bool is_before_tcp, const char *reason);
};
struct ws_pipe
{
    struct sma_ws *ws;
    struct ws_pipe *previous, *next;
    uv_tcp_t tcp;
    uv_timer_t timer; /* resume after a pause, or the end of lingering */
    uv_connect_t connect;
    uv_write_t write;
    uv_shutdown_t shutdown;
    unsigned handle_count;
    enum
    {
        PIPE_CONNECTING,
        PIPE_SHAKING,
        PIPE_READY,
        PIPE_LINGERING, /* released by its user */
        PIPE_CLOSED,
    } state;
    SSL *ssl;
    BIO *from_peer, *to_peer; /* owned by ssl */
    struct sma_buf out, sending, stash;
    size_t bytes_max;
    uint64_t read_ns; /* when the newest bytes came from the kernel */
    bool is_sending, is_reading, is_paused, is_shut;
    bool is_broken; /* cannot send any more */
    const struct ws_pipe_events *events;
    void *user;
};
/** Start to connect. host: for the certificate, NULL = no TLS. Nothing is called back from
 *  inside. */
SMA_CHECKED enum sma_err ws_pipe_open(struct sma_ws *ws, const struct sockaddr *address,
                                      const char *host, size_t bytes_max,
                                      const struct ws_pipe_events *events, void *user,
                                      struct ws_pipe **ret_pipe, const char **ret_reason);
/** Send what was put into pipe->out, as soon as what is under way has gone. */
void ws_pipe_flush(struct ws_pipe *pipe);
/** Bytes that the kernel has not taken yet. */
size_t ws_pipe_unsent(const struct ws_pipe *pipe);
void ws_pipe_pause(struct ws_pipe *pipe, bool is_paused);
/** No more calls back: send what waits, shut down, close when the peer has, or after
 *  WS_LINGER_MS. */
void ws_pipe_release(struct ws_pipe *pipe);
/** No more calls back: close now. */
void ws_pipe_close(struct ws_pipe *pipe);

/* -- ws.c -------------------------------------------------------------------------------------- */
struct sma_ws
{
    uint32_t magic;
    struct sma_ctx *ctx;
    uv_loop_t *loop;
    SSL_CTX *tls;
    struct sma_ws_conn *conns;
    struct ws_pipe *pipes;
    size_t use_count; /* open() and everything with a handle on the loop; freed at 0 */
    unsigned char random[512];
    size_t random_left;
    char received[WS_READ_BYTES], plain[WS_READ_BYTES];
};
void ws_unref(struct sma_ws *ws);

/* -- one connection: ws.c and ws_connect.c ----------------------------------------------------- */
enum ws_phase
{
    WS_PHASE_RESOLVING,
    WS_PHASE_CONNECTING, /* TCP and TLS */
    WS_PHASE_UPGRADING,
    WS_PHASE_REFUSED, /* the body of the refusal is read */
    WS_PHASE_OPEN,
    WS_PHASE_FAILED, /* could not even begin: told in the next turn */
    WS_PHASE_ENDED,  /* by us: told in the next turn */
    WS_PHASE_OVER,
};

struct ws_lookup;

struct sma_ws_conn
{
    uint32_t magic;
    enum ws_phase phase;
    struct sma_ws *ws;
    struct sma_ws_conn *previous, *next;
    struct sma_ws_ask ask; /* url and headers are not kept */
    struct ws_url url;
    char key[WS_KEY_BYTES + 1];
    bool has_asked_protocol;
    struct sma_buf request, head; /* until the upgrade */
    struct ws_answer answer;
    struct ws_lookup *lookup;
    struct sockaddr_storage addresses[WS_ADDRESS_COUNT_MAX];
    size_t address_count, address_next;
    struct ws_pipe *pipe;
    struct ws_reader reader;
    uv_timer_t timer;
    uint64_t deadline_ms; /* on the loop's clock */
    unsigned end_code;
    char reason[WS_REASON_BYTES];
};

/** Take url, headers, limits and calls; conn is zeroed but for ws. BADINPUT | NOMEM. */
SMA_CHECKED enum sma_err ws_conn_prepare(struct sma_ws_conn *conn, const struct sma_ws_ask *ask);
/** Start on the way to an open connection; what goes wrong from here is told by closed(). The timer
 *  is initialised. */
void ws_conn_begin(struct sma_ws_conn *conn);
/** The look-up under way, if any, tells nobody any more. */
void ws_conn_drop_lookup(struct sma_ws_conn *conn);
/** Let the connection's timer run once: what it then does depends on the phase. */
void ws_conn_arm(struct sma_ws_conn *conn, uint64_t wait_ms);
/** Take messages from bytes until they are used up, or it is paused or over. @return bytes used */
size_t ws_conn_read_frames(struct sma_ws_conn *conn, struct sma_str bytes);
void ws_conn_set_reason(struct sma_ws_conn *conn, const char *format, ...) SMA_PRINTF(2, 3);
/** Release everything, then tell the user. The memory goes in the loop's next turn. */
void ws_conn_finish(struct sma_ws_conn *conn, const struct sma_ws_closed *closed);
void ws_conn_finish_in_words(struct sma_ws_conn *conn, enum sma_ws_end end, const char *reason);
/** NOT_CONNECTED, for conn->reason. */
void ws_conn_fail(struct sma_ws_conn *conn);

#endif
