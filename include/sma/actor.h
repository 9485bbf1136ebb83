/*
 * actor.h — what an actor is: a state nobody else touches, a mailbox, and a handler that never
 * blocks.
 *
 * handle(state, &msg, ctx) runs to completion; all effects go through ctx. The same ops run on a
 * thread of their own (production) or under the seeded single-thread scheduler with a virtual clock
 * (tests): an actor cannot tell. Only the store may block, in batch_end, in its commit.
 *
 * Edges: asks (correlation id; answered exactly once; at most the edge's declared
 * number open), signals (may be dropped), durable hand-offs (credits). The table of edges with
 * capacities is in messages.h.
 */
#ifndef SMA_ACTOR_H
#define SMA_ACTOR_H

#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/msg.h"
#include "sma/sys.h"

struct uv_loop_s;
struct sma_ctx; /* one per actor, owned by the runtime */

enum sma_actor_id
{
    SMA_ACTOR_SUPERVISOR,
    SMA_ACTOR_STORE,
    SMA_ACTOR_DISPATCHER,
    SMA_ACTOR_AGENT,
    SMA_ACTOR_MODEL,
    SMA_ACTOR_TOOLS,
    SMA_ACTOR_MCP, /* there when mcp.json names a server */
    SMA_ACTOR_LOG,
    SMA_ACTOR_MEMORY,
    SMA_ACTOR_ADAPTER_0 = 9, /* adapters: 9 .. 9 + SMA_ADAPTER_COUNT_MAX - 1 */
};

static inline bool sma_actor_is_adapter(unsigned id)
{
    return id >= SMA_ACTOR_ADAPTER_0 && id < SMA_ACTOR_ADAPTER_0 + SMA_ADAPTER_COUNT_MAX;
}

struct sma_actor_ops
{
    const char *name;
    bool is_on_loop; /* owns a libuv loop; its doorbell is an eventfd on that loop */
    /* On the actor's own thread before the first message. Failing here stops the program with
     * *error. */
    /* may be NULL */
    SMA_CHECKED enum sma_err (*start)(void *state, struct sma_ctx *ctx, struct sma_error *error);
    /* One message. To keep it, copy the pointer and set *msg = NULL; otherwise the runtime destroys
     * it. */
    void (*handle)(void *state, struct sma_msg **msg, struct sma_ctx *ctx);
    /* After each drained batch (and after wake): commit, flush, answer. May be NULL. */
    void (*batch_end)(void *state, struct sma_ctx *ctx);
    /* The time given to sma_ctx_wake_at has come. May be NULL. */
    void (*wake)(void *state, struct sma_ctx *ctx);
    /* On the actor's thread, after its last message: close handles. The state itself is destroyed
     * by its creator. */
    void (*stop)(void *state, struct sma_ctx *ctx); /* may be NULL */
};

/* -- what a handler may do --------------------------------------------------------------------- */
enum sma_actor_id sma_ctx_self(const struct sma_ctx *ctx);
/* monotonic ns; one value per handled message is fine */
uint64_t sma_ctx_now(const struct sma_ctx *ctx);
int64_t sma_ctx_wall(const struct sma_ctx *ctx); /* ms since 1970, for stamps only */
uint64_t sma_ctx_random(struct sma_ctx *ctx);    /* seeded per actor in simulation */
const struct sma_sys *sma_ctx_sys(const struct sma_ctx *ctx);
/* loop actors on threads only; NULL in simulation */
struct uv_loop_s *sma_ctx_loop(struct sma_ctx *ctx);

/**
 * Ask `to`: gives *msg a fresh ask_id (returned in *ret_ask_id if not NULL) and sends it.
 * @return OK (msg moved) | FULL: as many questions open on this edge as the table allows (msg kept)
 * | GONE When a question meets GONE later, the runtime does not invent an answer: life cycle
 * messages tell.
 */
SMA_CHECKED enum sma_err sma_ctx_ask(struct sma_ctx *ctx, enum sma_actor_id to,
                                     struct sma_msg **msg, uint64_t deadline_ns,
                                     uint64_t *ret_ask_id);
/** Answer `question` (its from and ask_id are used; it stays the caller's). Always finds room:
 *  asserted. */
void sma_ctx_answer(struct sma_ctx *ctx, const struct sma_msg *question, struct sma_msg **answer);
/** Answer when the question itself is gone: keep from and ask_id instead. */
void sma_ctx_answer_to(struct sma_ctx *ctx, enum sma_actor_id asker, uint64_t ask_id,
                       struct sma_msg **answer);
/** Questions this actor may still ask `to` right now (declared bound minus open ones). */
size_t sma_ctx_ask_room(const struct sma_ctx *ctx, enum sma_actor_id to);
/** A hand-off or control message on the main lane; the sender keeps its own credit count. OK | FULL
 *  | GONE. */
SMA_CHECKED enum sma_err sma_ctx_send(struct sma_ctx *ctx, enum sma_actor_id to,
                                      struct sma_msg **msg);
/** A signal: dropped (destroyed and counted) when its lane is full. Always leaves *msg NULL. */
void sma_ctx_signal(struct sma_ctx *ctx, enum sma_actor_id to, struct sma_msg **msg);
/** Call wake() at this monotonic time; one time per actor, the last call wins, UINT64_MAX =
 *  never. */
void sma_ctx_wake_at(struct sma_ctx *ctx, uint64_t deadline_ns);
/** Run batch_end after the current loop callback (loop actors: libuv callbacks outside a drained
 *  batch). */
void sma_ctx_request_batch_end(struct sma_ctx *ctx);
/** This actor has finished draining / stopping: tells the supervisor. See SMA_MSG_LIFE. */
void sma_ctx_life_done(struct sma_ctx *ctx, unsigned phase);
/** A failure that ends the program: logged, exit status 1, unclean. Thread: the actor's. */
_Noreturn void sma_ctx_fatal(struct sma_ctx *ctx, const char *format, ...) SMA_PRINTF(2, 3);

/* -- log: one line, a signal to the log actor; levels as in the old program -------------------- */
enum sma_log_level
{
    SMA_LOG_DEBUG,
    SMA_LOG_INFO,
    SMA_LOG_ACTION,
    SMA_LOG_WARN,
    SMA_LOG_ERROR,
};
void sma_ctx_log(struct sma_ctx *ctx, enum sma_log_level level, const char *format, ...)
    SMA_PRINTF(3, 4);
/** With a JSON object of details (no secrets; the log actor redacts known secret values all the
 *  same). */
void sma_ctx_log_details(struct sma_ctx *ctx, enum sma_log_level level, struct sma_str message,
                         struct sma_str details_json);
/** Lines of ordinary traffic (src/actors/kernel/traffic.h): may one be made now? Counts one that
 *  may not for want of room. */
bool sma_ctx_may_log_traffic(struct sma_ctx *ctx, enum sma_log_level level);
/** A request to a model or its answer, for the files in .ship/logs/llm alone. false: the lane to
 *  the log is half full or there is none; what is left out is counted
 *  (log_blocks_dropped_total). */
bool sma_ctx_log_block(struct sma_ctx *ctx, struct sma_str block, struct sma_str details_json);
void sma_ctx_log_traffic(struct sma_ctx *ctx, enum sma_log_level level, struct sma_str message,
                         struct sma_str details_json);
/** Lines below this level are not made at all. Process-wide; DEBUG at first. Thread: any. */
void sma_log_set_level(enum sma_log_level level);

/* -- the system of actors ---------------------------------------------------------------------- */
struct sma_system; /* all actors, lanes and contexts of one program */

struct sma_system_options
{
    const struct sma_sys *sys; /* NULL = real */
    bool is_simulated;         /* true: no threads; drive with sma_sim_* of sim.h */
    uint64_t seed;             /* simulation only */
};
/** Allocates. NULL when out of memory. */
struct sma_system *sma_system_create(const struct sma_system_options *options);
void sma_system_destroy(struct sma_system *system); /* after all actors have ended; accepts NULL */
/** Register an actor. Before start. `ops` and `state` are borrowed and must outlive the system. */
SMA_CHECKED enum sma_err sma_system_add(struct sma_system *system, enum sma_actor_id id,
                                        const struct sma_actor_ops *ops, void *state);
/**
 * Build the lanes of every edge between registered actors, then (threaded) start one thread per
 * actor, in the order of registration (leaves first), each start() finished before the next begins.
 */
SMA_CHECKED enum sma_err sma_system_start(struct sma_system *system, struct sma_error *error);
/**
 * Run as the supervisor on the calling thread: signals (SIGTERM, SIGINT: ordered shutdown; a second
 * one: at once;
 * SIGHUP: on_reload), heartbeat watch, systemd notify and watchdog. Returns when everything has
 * ended.
 * @return the exit status
 */
struct sma_supervise_options
{
    void (*on_reload)(void *user); /* may be NULL */
    void *user;
    int stop_fd; /* readable = stop as on SIGTERM; -1 = none. Used by in-process chat and tests */
    bool leaves_signals; /* take no signals here: the caller does, and stops by stop_fd */
    unsigned drain_ms;   /* bound of the whole ordered shutdown; 0 = SMA_DRAIN_S */
};
SMA_CHECKED int sma_system_supervise(struct sma_system *system,
                                     const struct sma_supervise_options *options);
/** Hand a new configuration snapshot to every actor (RELOAD). Thread: the supervisor's, from
 *  on_reload. The snapshot must live until the system is destroyed. */
struct sma_config;
void sma_system_reload(struct sma_system *system, const struct sma_config *config);
/** Prometheus lines of every actor: mailbox depth, messages handled, wait and handling time, parks.
 *  Thread: any. */
void sma_system_format_metrics(const struct sma_system *system, struct sma_buf *buf);
/** The context of an actor, for code that acts in its place (tests). */
struct sma_ctx *sma_system_ctx(struct sma_system *system, enum sma_actor_id id);

#endif
