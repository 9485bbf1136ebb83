/*
 * kernel_priv.h — what the files of the actor runtime share: the context of one actor and the
 * system of all.
 *
 * Threads: a context belongs to its actor's thread; fields marked "any" are atomics that others
 *          read. Everything is built before the threads start and taken down after they have ended.
 */
#ifndef SMA_KERNEL_PRIV_H
#define SMA_KERNEL_PRIV_H

#include "sma/actor.h"
#include "sma/mailbox.h"
#include "sma/messages.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

struct actor_loop; /* libuv part, loop.c */

/* From this actor to one other. */
struct edge
{
    struct sma_lane *main, *signal; /* NULL: no such edge */
    size_t ask_max, ask_open;
    size_t handoff_max; /* a hand-off finds the main lane full at this; the rest is for answers */
};

/* What the actor is doing, for the heartbeat. */
enum activity
{
    ACTIVITY_IDLE,
    ACTIVITY_HANDLE,    /* one message, a wake, or start */
    ACTIVITY_BATCH_END, /* the store's commit may take longer */
};

struct random_state
{
    uint64_t words[4];
};

struct sma_ctx
{
    struct sma_system *system;
    const struct sma_actor_ops *ops;
    void *state;
    struct sma_mailbox *box;
    enum sma_actor_id id;
    struct edge edges[SMA_ACTOR_COUNT_MAX];
    uint64_t next_ask_id;
    uint64_t wake_at_ns; /* UINT64_MAX = never */
    bool is_batch_end_wanted;
    /* log lines of traffic: when the bucket was full last, moved on by each line */
    uint64_t traffic_ns;
    struct random_state random;
    struct sma_sys sys; /* the system's table; in simulation with this actor's clock and chance */
    struct actor_loop *loop;

    pthread_t thread;
    bool has_thread, has_started, is_stuck;
    sem_t start_is_over;
    enum sma_err start_err;
    struct sma_error start_error;
    _Atomic bool is_stopping; /* set by the supervisor, then the mailbox is rung */

    /* any: written by the actor only, read by metrics and the supervisor. */
    _Atomic uint64_t handled_count, wait_sum_ns, handle_sum_ns;
    _Atomic uint64_t busy_since_ns; /* 0 = not in a handler */
    _Atomic int activity;

    /* supervisor's notes about this actor */
    unsigned phase_done; /* bit per phase */
    uint64_t watch_handled, watch_since_ns;
    bool watch_was_waiting, is_reported;
};

struct simulation
{
    uint64_t now_ns;
    int64_t wall_shift_ms;
    struct random_state random;
    uint64_t trace_hash, handled_count;
    bool has_crashed;
};

struct sma_system
{
    const struct sma_sys *sys; /* underlying table */
    bool is_simulated, has_started;
    uint64_t seed;
    struct simulation sim;
    struct sma_ctx *actors[SMA_ACTOR_COUNT_MAX];  /* by id; NULL = not registered */
    enum sma_actor_id order[SMA_ACTOR_COUNT_MAX]; /* of registration, without the supervisor */
    size_t order_count;
    sigset_t old_mask;
    bool has_old_mask;
};

/* -- edges.c ----------------------------------------------------------------------------------- */
enum kind_class
{
    CLASS_NONE,
    CLASS_ASK,
    CLASS_ANSWER,
    CLASS_SIGNAL,
    CLASS_HANDOFF,
};
enum kind_class sma_kernel_class(unsigned kind);
/** Whether the message table lets this kind travel from -> to. */
bool sma_kernel_may_travel(unsigned kind, unsigned from, unsigned to);
/** Is `answer` the kind that answers `question`? */
bool sma_kernel_is_answer_to(unsigned question, unsigned answer);
/** Add every lane between registered actors. NOMEM. */
SMA_CHECKED enum sma_err sma_kernel_build_lanes(struct sma_system *system);

/* -- actor.c ----------------------------------------------------------------------------------- */
void sma_kernel_seed(struct random_state *random, uint64_t seed);
uint64_t sma_kernel_random(struct random_state *random);
/** Account for and handle one message; destroys it unless the handler kept it. */
void sma_kernel_deliver(struct sma_ctx *ctx, struct sma_msg *msg);
/** Take and handle at most `count_max` messages. @return how many. */
size_t sma_kernel_drain(struct sma_ctx *ctx, size_t count_max);
/** Call wake() if its time has come. */
void sma_kernel_wake_if_due(struct sma_ctx *ctx);
/** Call batch_end() if anything asked for it since the last one. */
void sma_kernel_batch_end(struct sma_ctx *ctx);
/** One look at an actor's heartbeat: how long it has made no progress, ns; 0 = fine. Thread: the
 *  supervisor's. */
uint64_t sma_kernel_silence_of(struct sma_ctx *actor, uint64_t now_ns);
void sma_kernel_set_activity(struct sma_ctx *ctx, enum activity activity);
/** Send a LIFE message as the supervisor. */
SMA_CHECKED enum sma_err sma_kernel_send_life(struct sma_system *system, enum sma_actor_id to,
                                              unsigned phase);

/* -- loop.c ------------------------------------------------------------------------------------ */
/** Body of an actor's thread; argument: its context. */
void *sma_kernel_thread(void *ctx);

/* -- sim.c ------------------------------------------------------------------------------------- */
void sma_kernel_sim_init(struct sma_system *system);
void sma_kernel_sim_init_ctx(struct sma_ctx *ctx);

/* -- system.c ---------------------------------------------------------------------------------- */
/** Stop and join one actor's thread; false: it did not end within timeout_ms and is marked
 *  stuck. */
bool sma_kernel_stop_thread(struct sma_ctx *ctx, uint64_t timeout_ms);

/* -- supervisor.c ------------------------------------------------------------------------------ */
extern const struct sma_actor_ops sma_kernel_supervisor_ops;

#endif
