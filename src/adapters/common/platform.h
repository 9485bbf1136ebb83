/*
 * platform.h — what every chat platform is behind its wire: an actor with a life, requests and a
 * token, events that become questions to the store, webhooks, attempts, downloads, health. A
 * platform is a table of operations and what only it knows.
 *
 * The state of a platform begins with a struct sma_platform, so that one pointer is both; the table
 * says how large it is. The parts keep their own structs: requests (call.h), events at the store
 * (intake.h), webhook requests (webhook.h), attempts (sending.h), downloads (fetch.h), health
 * (platform_health.h). Each operation is called on the actor's thread, none from inside a function
 * of the platform's that it called itself, unless its comment says so.
 *
 *   create   open                        settings and memory; no file, no socket
 *   start    begin                       net, calls, downloads are there: log in, connect
 *   events   intake, webhook             wire in; acknowledged when the store has them
 *   ATTEMPT  sending                     wire out; one attempt, one answer
 *   time     tick                        everything that waits says when; one wake time for all
 *   LIFE     leave, drained, close       take no more; nothing is open at the store; give up
 *
 * Invariants: INTAKE_OFF is done once, when no question is open at the store; every ATTEMPT,
 *             PREPARE and WEBHOOK is answered exactly once while the actor lives; no operation is
 *             called after close.
 * Threads:    the actor's; create, facts and destroy: main's, while the actor does not run.
 */
#ifndef SMA_ADAPTERS_COMMON_PLATFORM_H
#define SMA_ADAPTERS_COMMON_PLATFORM_H

#include "call.h"
#include "fetch.h"
#include "home.h"
#include "intake.h"
#include "platform_health.h"
#include "sending.h"
#include "stream.h"
#include "webhook.h"

#include "sma/adapter.h"
#include "sma/net.h"
#include "sma/param.h"
#include "sma/proxy.h"
#include "sma/ws.h"

/* What the skeleton must know of the settings. */
struct sma_platform_facts
{
    const char *ca_file; /* trusted instead of the system's; NULL or "" = the system's */
    bool has_websocket;  /* ws is wanted */
    bool takes_webhooks; /* requests to /webhooks/<name> are events of ours; else they get 404 */
    uint32_t per_second, per_chat_minute, per_group_minute; /* sends; 0 = as many as we like */
};

struct sma_platform_ops
{
    const char *name;  /* as in ship.json; of one bot: home.name */
    size_t state_size; /* of the struct that begins with struct sma_platform */
    /** Read the settings, make what is needed; the state is zeroed but for its base. What it made
     * is released by free(),
     *  also when it fails. OK | NOTFOUND: not configured | BADINPUT, NOMEM with *error. */
    SMA_CHECKED enum sma_err (*open)(void *state, const char *json, struct sma_error *error);
    void (*free)(void *state);
    struct sma_platform_facts (*facts)(const void *state);
    /** Log in and connect. OK | any error with *error: the program does not start. */
    SMA_CHECKED enum sma_err (*begin)(void *state, struct sma_error *error);
    /** Instead of begin(): sma_adapter_ops.probe, with the proxy and the authorities set. */
    void (*probe)(void *state, struct sma_probing *probing);
    void (*find_owner)(void *state, const char *code, struct sma_probing *probing);
    void (*leave)(void *state);   /* take no more events; sends still go out */
    void (*drained)(void *state); /* all that was taken has its verdict; NULL = nothing to do */
    void (*close)(void *state);   /* before net, ws and calls end: forget what holds them */
    uint64_t (*tick)(void *state, uint64_t now_ns); /* @return when to look again */
    void (*take_cursor)(void *state, uint64_t ask_id,
                        struct sma_str json); /* QUERY_RESULT; NULL = none asked */
    /* What else is shown of a run, after its stream; NULL = nothing. */
    void (*take_progress)(void *state, struct sma_msg **msg);
    /* All must be there; webhook only where facts().takes_webhooks. */
    const struct sma_call_ops *call;
    const struct sma_fetch_ops *fetch;
    const struct sma_intake_ops *intake;
    const struct sma_webhook_ops *webhook;
    const struct sma_sending_ops *sending;
    const struct sma_stream_ops *stream; /* NULL = answers are not streamed here */
};

struct sma_platform
{
    uint32_t magic;
    const struct sma_platform_ops *ops;
    bool has_ca; /* ca_fd is open: a caFile of the project, by handle */
    int ca_fd;
    char ca_path[32];
    struct sma_home home; /* what is this bot's among several of the platform */
    const struct sma_config *config;
    struct sma_proxy proxy;
    struct sma_ctx *ctx;
    struct sma_net *net; /* NULL when closed */
    struct sma_ws *ws;   /* NULL when closed, or not wanted */
    struct sma_calls *calls;
    struct sma_fetches *fetches;
    struct sma_adapter_health health;
    struct sma_intake intake;
    struct sma_webhooks webhooks;
    struct sma_sendings sendings;
    struct sma_streams streams;
    bool is_intake_off, is_intake_told, is_closed;
    bool is_streaming_off; /* by the configuration */
};

/* Rows that the blocks of chat platforms share. */
extern const struct sma_params sma_platform_params;

/** For sma_adapter_ops.create: calls open(). */
SMA_CHECKED enum sma_err sma_platform_create(const struct sma_platform_ops *ops,
                                             const struct sma_config *config,
                                             const struct sma_config_adapter *block,
                                             void **ret_state, struct sma_error *error);
/* For sma_adapter_ops: */
void sma_platform_destroy(void *state);
void sma_platform_configure(const void *state, struct sma_capabilities *capabilities);
bool sma_platform_takes_webhooks(const void *state);
void sma_platform_probe(void *state, struct sma_probing *probing);
void sma_platform_find_owner(void *state, const char *code, struct sma_probing *probing);
/* For sma_actor_ops, by SMA_PLATFORM_ACTOR(name): */
enum sma_err sma_platform_start(void *state, struct sma_ctx *ctx, struct sma_error *error);
void sma_platform_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx);
void sma_platform_batch_end(void *state, struct sma_ctx *ctx);
void sma_platform_wake(void *state, struct sma_ctx *ctx);
void sma_platform_stop(void *state, struct sma_ctx *ctx);
#define SMA_PLATFORM_ACTOR(platform_name)                                         \
    {                                                                             \
        .name = (platform_name), .is_on_loop = true, .start = sma_platform_start, \
        .handle = sma_platform_handle, .batch_end = sma_platform_batch_end,       \
        .wake = sma_platform_wake, .stop = sma_platform_stop,                     \
    }

/** Ask the store for a cursor; take_cursor() gets the answer. false: there is none to be had. */
bool sma_platform_ask_cursor(struct sma_platform *platform, const char *name, uint64_t *ret_ask_id);
/** Tell the supervisor when nothing is open at the store any more. Called by intake. */
void sma_platform_note_drained(struct sma_platform *platform);
/** As sma_ctx_log, behind the bot's name. */
void sma_platform_log(const struct sma_platform *platform, enum sma_log_level level,
                      const char *format, ...) SMA_PRINTF(3, 4);
/** The crash loops' points are named "<platform>.<what>". */
void sma_platform_crash_point(const struct sma_platform *platform, const char *what);

static inline uint64_t sma_platform_earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

#endif
