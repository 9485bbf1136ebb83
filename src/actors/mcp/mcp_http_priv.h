/*
 * mcp_http_priv.h — servers over HTTP: links, exchanges, and who does what with them.
 *
 * A link is a server while it is open. An exchange is one request of HTTP and its answer: a message
 * of ours by POST, a stream that goes on where another one broke, the standing stream of what the
 * server says by itself, the DELETE at the end. libcurl's callbacks take notes in it; what follows
 * happens in mcp_http_pass and in its `done`.
 *
 * Streamable HTTP (2025-03-26 and later, and 2026-07-28) has one address. HTTP+SSE (2024-11-05) has
 * a standing stream, which names the address that takes our messages and brings every answer.
 * Source: the specification of these revisions, "Transports".
 *
 * Invariants: an exchange that is_gone is in no request and freed by mcp_http_sweep, which nobody
 *             calls while an exchange is worked at. No address but the server's own origin gets
 *             the headers of mcp.json, a token or a message.
 * Threads:    the actor's.
 */
#ifndef SMA_ACTORS_MCP_HTTP_PRIV_H
#define SMA_ACTORS_MCP_HTTP_PRIV_H

#include "mcp_priv.h"

#include "runtime/mcp/oauth.h"
#include "runtime/text/sse.h"
#include "sma/net.h"

#define MCP_HTTP_SHORT_MS 30000 /* for what brings no answer */
#define MCP_HTTP_ENDING_MS 2000 /* for DELETE */
#define MCP_HTTP_RESUME_MS 1000 /* before a broken stream is asked for again, unless it says */
#define MCP_HTTP_RESUME_MAX_MS 60000
#define MCP_HTTP_QUIET_MS 15000 /* a stream that goes on: until its head; then once more */
#define MCP_HTTP_LINGER_MS 1000 /* a stream whose answer is in, to its end */
#define MCP_HTTP_TRIES_COUNT_MAX 6
#define MCP_HTTP_REDIRECT_COUNT_MAX 3

enum mcp_http_kind
{
    MCP_HTTP_POST,
    MCP_HTTP_RESUME, /* GET: the rest of a POST's answer */
    MCP_HTTP_STREAM, /* GET: what the server says by itself; HTTP+SSE: all it says */
    MCP_HTTP_DELETE,
};

enum mcp_http_what /* a POST says */
{
    MCP_HTTP_DISCOVER,
    MCP_HTTP_INITIALIZE,
    MCP_HTTP_INITIALIZED,
    MCP_HTTP_CALL,   /* tools/call: never sent twice */
    MCP_HTTP_LISTEN, /* its answer goes on for ever */
    MCP_HTTP_ASK,    /* lists, reads: asked again without harm */
    MCP_HTTP_TELL,   /* no answer is expected */
};

struct mcp_http_link;

struct mcp_http_exchange
{
    struct mcp_http_exchange *next, *next_ready;
    struct mcp_http_link *link;
    enum mcp_http_kind kind;
    enum mcp_http_what what;
    uint64_t id; /* of the request that is answered; 0 = none */
    bool is_modern;
    char version[16];
    char *body; /* lent to the request */
    size_t body_len;
    char **headers; /* of this message alone: Mcp-Method and the like */
    size_t header_count;
    struct sma_net_request *request; /* NULL = not under way */
    uint64_t due_ns;                 /* MCP_HTTP_*_MS: what is waited for; UINT64_MAX = nothing */
    unsigned tries;
    bool is_ready, is_gone, has_head;
    bool is_locked; /* 401: until there is a token */
    unsigned lock_count;
    bool is_held;       /* until the server has taken notifications/initialized */
    const char *unsent; /* why it could not even begin */
    int status;
    char session[SMA_MCP_HTTP_SESSION_BYTES_MAX + 1], type[64];
    bool has_bad_session, is_too_big;
    char location[SMA_MCP_URL_BYTES_MAX + 1], challenge[SMA_MCP_URL_BYTES_MAX * 2];
    struct sma_buf in; /* what has come and was not looked at */
    struct sma_sse sse;
};

/* What happens in exchanges is told upwards by these. */
struct mcp_http_ops
{
    void (*ended)(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer);
    void (*due)(struct mcp_http_exchange *exchange);
    void (*endpoint)(struct mcp_http_link *link, struct sma_str data);
    void (*closed)(struct mcp_http_link *link); /* closing, and no exchange is left */
};

struct mcp_http_link
{
    struct mcp_server *server;
    const struct mcp_http_ops *ops;
    struct mcp_http_exchange *exchanges;
    size_t exchange_count;
    char *url;   /* where messages go; HTTP+SSE: NULL before the server has named it */
    bool is_sse; /* HTTP+SSE */
    struct mcp_http_exchange *waiting; /* initialize, until the server has named the address */
    char session[SMA_MCP_HTTP_SESSION_BYTES_MAX + 1];
    char version[16];
    unsigned redirects;
    bool is_closing;
    bool is_settling; /* notifications/initialized is on its way: what is behind it waits */
    uint64_t due_ns;  /* HTTP+SSE: until when the address has to be named */
    char refusal[MCP_TROUBLE_BYTES_MAX];
    struct sma_oauth_token token; /* of a login; server_url NULL = none */
    char *authorization;          /* "Authorization: Bearer ..."; NULL = none */
    struct mcp_login *login;      /* a token is being got */
    uv_timer_t timer;
    bool has_timer;
};

/* What all links share: mcp->http. */
struct mcp_http
{
    struct sma_mcp *mcp;
    struct sma_net *net;
    struct mcp_http_exchange *ready;
};

/* -- mcp_http_exchange.c ----------------------------------------------------------------------- */
/** Set the timer to what is due next. */
void mcp_http_arm(struct mcp_http_link *link);
/** Free what is gone. */
void mcp_http_sweep(struct mcp_http_link *link);
/** NULL: out of memory, or too many; then the link is lost. */
struct mcp_http_exchange *mcp_http_exchange_add(struct mcp_http_link *link,
                                                enum mcp_http_kind kind);
void mcp_http_exchange_add_header(struct mcp_http_exchange *exchange, const char *line);
/** Ask; what cannot be asked is lost or refused. */
void mcp_http_exchange_start(struct mcp_http_exchange *exchange);
/** It is over, whatever comes. */
void mcp_http_exchange_drop(struct mcp_http_exchange *exchange);
void mcp_http_exchange_free(struct mcp_http_exchange *exchange);
/** sma_net_on_pass: look at what has come. */
void mcp_http_pass(void *user);

/* -- mcp_http_end.c ---------------------------------------------------------------------------- */
/** The exchange has been answered, or will not be; answer as sma_net tells it. */
void mcp_http_on_end(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer);
/** The time it waited for has come. */
void mcp_http_on_due(struct mcp_http_exchange *exchange);

/* -- mcp_oauth.c ------------------------------------------------------------------------------- */
/** Read the login that is kept. */
void mcp_oauth_open(struct mcp_http_link *link);
void mcp_oauth_close(struct mcp_http_link *link);
/** It was refused with 401. @return a token is being got, with which it is sent again */
bool mcp_oauth_wait(struct mcp_http_exchange *exchange);

/* -- mcp_sse.c --------------------------------------------------------------------------------- */
/** Open the stream of HTTP+SSE. */
void mcp_sse_begin(struct mcp_http_link *link);
/** `event: endpoint`. */
void mcp_sse_take_endpoint(struct mcp_http_link *link, struct sma_str data);
/** Open the standing stream of Streamable HTTP. */
void mcp_http_stream_open(struct mcp_http_link *link);
/** A standing stream ended. */
void mcp_http_stream_ended(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer);

#endif
