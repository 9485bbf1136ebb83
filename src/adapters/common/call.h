/*
 * call.h — requests to a platform: with the token where the platform wants it, waiting for one
 * while there is none, and once more with a new one when the platform refuses the old.
 *
 * "May be sent twice" has one name, may_repeat, and one meaning, that of sma_net_ask: a request
 * that the network may have lost is repeated on another connection. A refused token is another
 * matter: what was refused was not carried out, so everything is repeated then, once.
 * The platform's part is a table of functions; a platform whose token never ends (Telegram) has no
 * token_ops, and puts its token where it belongs.
 *
 * Invariants: done is called exactly once, unless the call was cancelled, and never from inside
 *             sma_call_start; a call ends at its deadline, waiting for a token included. URLs,
 *             tokens and bodies are logged nowhere and wiped when a call ends.
 * Threads:    the actor's. Blocks: never. Allocates: a call, its URL.
 */
#ifndef SMA_ADAPTERS_COMMON_CALL_H
#define SMA_ADAPTERS_COMMON_CALL_H

#include "platform_health.h"
#include "token.h"

#include "sma/buf.h"
#include "sma/net.h"

#define SMA_CALL_HEADER_COUNT_MAX 2 /* of the platform's own */
#define SMA_CALL_HEADER_BYTES_MAX (SMA_TOKEN_BYTES_MAX + 64)

struct sma_call;
struct sma_calls; /* of one adapter */
typedef void sma_call_fn(void *state, void *user, const struct sma_net_answer *answer);

struct sma_call_options
{
    const char *method;
    struct sma_str path;  /* below the platform's root, with the token; copied. Or, */
    struct sma_str url;   /* when not empty: a whole URL, which is shown no token; copied. Or, */
    bool is_token_only;   /* nothing: done when there is a token (ANSWERED, 204) */
    bool has_no_token;    /* path, but without the token */
    struct sma_buf *body; /* moved away, also on failure; its error is a failure. NULL = none */
    const char *type;     /* Content-Type of the body, constant; NULL = the platform's JSON */
    const struct sma_net_field *fields; /* multipart instead of body; borrowed until done */
    size_t field_count;
    int file;                /* as in sma_net_ask */
    bool may_repeat;         /* as in sma_net_ask; a GET always may */
    uint32_t total_ms;       /* with the wait for a token */
    size_t answer_bytes_max; /* 0 = 256 KiB */
    sma_call_fn *done;       /* state: the adapter's; NULL: nobody cares */
    void *user;
};
struct sma_call_ops
{
    /* The root that paths are put behind; may hold a secret. */
    void (*put_root)(const void *state, struct sma_buf *url);
    const char *json_type; /* Content-Type of a JSON body; NULL = "application/json" */
    /* Headers with the token; those left empty are not sent. NULL = none. */
    void (*put_headers)(const void *state, struct sma_str token,
                        char lines[SMA_CALL_HEADER_COUNT_MAX][SMA_CALL_HEADER_BYTES_MAX]);
    bool (*is_token_refused)(const struct sma_net_answer *answer); /* NULL = never */
    const struct sma_token_ops *token; /* NULL = there is none to fetch */
};

/* Where calls belong; all of it is borrowed. */
struct sma_call_home
{
    struct sma_ctx *ctx;
    struct sma_net *net;
    void *state; /* of the adapter: first argument of every operation and of done */
    struct sma_adapter_health *health;
};
/** NULL when out of memory. */
struct sma_calls *sma_calls_create(const struct sma_call_home *home,
                                   const struct sma_call_ops *ops);
/** After net has ended: what is open is forgotten, no call starts any more. Accepts NULL. */
void sma_calls_close(struct sma_calls *calls);
void sma_calls_destroy(struct sma_calls *calls); /* closed before; accepts NULL */
/** @return when to look again */
uint64_t sma_calls_tick(struct sma_calls *calls, uint64_t now_ns);

/** @return the call, freed when done has returned; NULL when out of memory: done is not called. */
struct sma_call *sma_call_start(struct sma_calls *calls, const struct sma_call_options *options);
void sma_call_cancel(struct sma_call *call); /* done is not called; accepts NULL */
/** For a token: nothing of it is on its way. */
bool sma_call_is_waiting(const struct sma_call *call);

/* -- the token, for what is no request (a gateway's log-in) ------------------------------------ */
/** Ask for the first one. is_link: the connection stands or falls with it (webhooks). */
void sma_calls_begin(struct sma_calls *calls, bool is_link);
/** The token, empty when there is none. */
struct sma_str sma_calls_token(const struct sma_calls *calls);
/** The platform refused the present one. */
void sma_calls_drop_token(struct sma_calls *calls);
/** Called by token.c: there is one, or none is to be had: waiting calls go on, or end. */
void sma_calls_go_on(struct sma_calls *calls);

#endif
