/*
 * system.c — the system of all actors: made, started (a thread or a place in the simulation each),
 * stopped, measured.
 */
#include "kernel_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define START_STOP_TIMEOUT_MS 5000

static void ctx_destroy(struct sma_ctx *ctx)
{
    if (ctx == NULL)
        return;
    sma_mailbox_destroy(ctx->box);
    (void)sem_destroy(&ctx->start_is_over); /* nobody waits any more */
    free(ctx);
}

static struct sma_ctx *ctx_create(struct sma_system *system, enum sma_actor_id id,
                                  const struct sma_actor_ops *ops, void *state)
{
    struct sma_ctx *ctx = calloc(1, sizeof *ctx);
    if (ctx == NULL)
        return NULL;
    bool needs_fd = (ops->is_on_loop || id == SMA_ACTOR_SUPERVISOR) && !system->is_simulated;
    ctx->box = sma_mailbox_create(needs_fd ? SMA_DOORBELL_EVENT_FD : SMA_DOORBELL_EVENT_COUNT);
    if (ctx->box == NULL || sem_init(&ctx->start_is_over, 0, 0) != 0) {
        sma_mailbox_destroy(ctx->box);
        free(ctx);
        return NULL;
    }
    ctx->system = system;
    ctx->id = id;
    ctx->ops = ops;
    ctx->state = state;
    ctx->next_ask_id = 1;
    ctx->wake_at_ns = UINT64_MAX;
    ctx->sys = *system->sys;
    uint64_t seed;
    if (system->is_simulated) {
        sma_kernel_sim_init_ctx(ctx);
        seed = system->seed * 0x100000001b3u + id + 1;
    } else {
        ctx->sys.random_bytes(ctx->sys.self, &seed, sizeof seed);
    }
    sma_kernel_seed(&ctx->random, seed);
    return ctx;
}

struct sma_system *sma_system_create(const struct sma_system_options *options)
{
    struct sma_system *system = calloc(1, sizeof *system);
    if (system == NULL)
        return NULL;
    system->sys = options->sys != NULL ? options->sys : sma_sys_real();
    system->is_simulated = options->is_simulated;
    system->seed = options->seed;
    if (system->is_simulated)
        sma_kernel_sim_init(system);
    system->actors[SMA_ACTOR_SUPERVISOR] =
        ctx_create(system, SMA_ACTOR_SUPERVISOR, &sma_kernel_supervisor_ops, system);
    if (system->actors[SMA_ACTOR_SUPERVISOR] == NULL) {
        free(system);
        return NULL;
    }
    return system;
}

enum sma_err sma_system_add(struct sma_system *system, enum sma_actor_id id,
                            const struct sma_actor_ops *ops, void *state)
{
    SMA_ASSERT(!system->has_started);
    SMA_ASSERT(ops->handle != NULL && ops->name != NULL);
    if ((unsigned)id >= SMA_ACTOR_COUNT_MAX || id == SMA_ACTOR_SUPERVISOR)
        return SMA_ERR_BADINPUT;
    if (id >= SMA_ACTOR_ADAPTER_0 && !sma_actor_is_adapter(id))
        return SMA_ERR_BADINPUT;
    if (system->actors[id] != NULL)
        return SMA_ERR_EXISTS;
    system->actors[id] = ctx_create(system, id, ops, state);
    if (system->actors[id] == NULL)
        return SMA_ERR_NOMEM;
    system->order[system->order_count++] = id;
    return SMA_ERR_OK;
}

struct sma_ctx *sma_system_ctx(struct sma_system *system, enum sma_actor_id id)
{
    return (unsigned)id < SMA_ACTOR_COUNT_MAX ? system->actors[id] : NULL;
}

static void stop_simulated(struct sma_ctx *ctx)
{
    if (ctx->has_started && ctx->ops->stop != NULL)
        ctx->ops->stop(ctx->state, ctx);
    ctx->has_started = false;
}

bool sma_kernel_stop_thread(struct sma_ctx *ctx, uint64_t timeout_ms)
{
    if (!ctx->has_thread)
        return true;
    atomic_store_explicit(&ctx->is_stopping, true, memory_order_release);
    sma_mailbox_ring(ctx->box);
    struct timespec
        /* this call knows the wall clock only; a jump of it shortens or stretches one bounded
         * wait */
        until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_timedjoin_np(ctx->thread, NULL, &until) != 0) {
        ctx->is_stuck = true;
        return false;
    }
    ctx->has_thread = false;
    return true;
}

/* Everything started so far, last started first. */
static void stop_all(struct sma_system *system)
{
    for (size_t i = system->order_count; i-- > 0;) {
        struct sma_ctx *ctx = system->actors[system->order[i]];
        if (system->is_simulated)
            stop_simulated(ctx);
        else
            (void)sma_kernel_stop_thread(ctx, START_STOP_TIMEOUT_MS); /* is_stuck tells */
    }
}

/* Signals are taken by the supervisor through a descriptor, so no thread may receive them. */
static void block_signals(struct sma_system *system)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR2);
    system->has_old_mask = pthread_sigmask(SIG_BLOCK, &set, &system->old_mask) == 0;
    (void)signal(SIGPIPE, SIG_IGN); /* a closed peer is an error of write, not the end */
}

static enum sma_err start_thread(struct sma_ctx *ctx, struct sma_error *error)
{
    int status = pthread_create(&ctx->thread, NULL, sma_kernel_thread, ctx);
    if (status != 0)
        return sma_fail_os(error, status, "cannot start the thread of %s", ctx->ops->name);
    ctx->has_thread = true;
    while (sem_wait(&ctx->start_is_over) != 0 && errno == EINTR) {
    }
    if (ctx->start_err != SMA_ERR_OK && error != NULL)
        *error = ctx->start_error;
    return ctx->start_err;
}

static enum sma_err start_simulated(struct sma_ctx *ctx, struct sma_error *error)
{
    enum sma_err err =
        ctx->ops->start == NULL ? SMA_ERR_OK : ctx->ops->start(ctx->state, ctx, error);
    ctx->has_started = err == SMA_ERR_OK;
    return err;
}

enum sma_err sma_system_start(struct sma_system *system, struct sma_error *error)
{
    SMA_ASSERT(!system->has_started);
    system->has_started = true;
    enum sma_err err = sma_kernel_build_lanes(system);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "no memory for the mailboxes");
    if (!system->is_simulated)
        block_signals(system);
    for (size_t i = 0; i < system->order_count; i++) {
        struct sma_ctx *ctx = system->actors[system->order[i]];
        err = system->is_simulated ? start_simulated(ctx, error) : start_thread(ctx, error);
        if (err == SMA_ERR_OK)
            continue;
        stop_all(system);
        return err;
    }
    return SMA_ERR_OK;
}

void sma_system_destroy(struct sma_system *system)
{
    if (system == NULL)
        return;
    if (!system->sim.has_crashed)
        stop_all(system); /* nothing is left to stop after an ordered shutdown */
    for (size_t i = 0; i < SMA_ACTOR_COUNT_MAX; i++) {
        /* A thread that did not end still uses its context: the process must exit, nothing may be
         * freed. */
        SMA_ASSERT(system->actors[i] == NULL || !system->actors[i]->is_stuck);
    }
    for (size_t i = 0; i < SMA_ACTOR_COUNT_MAX; i++)
        ctx_destroy(system->actors[i]);
    if (system->has_old_mask)
        (void)pthread_sigmask(SIG_SETMASK, &system->old_mask, NULL);
    free(system);
}

/* -- metrics ----------------------------------------------------------------------------------- */
enum actor_metric
{
    METRIC_HANDLED,
    METRIC_WAIT,
    METRIC_HANDLE,
    METRIC_PARKS,
    METRIC_DEPTH,
    METRIC_COUNT,
};
static const struct
{
    const char *name, *type, *help;
} actor_metrics[METRIC_COUNT] = {
    [METRIC_HANDLED] = {"actor_handled_total", "counter", "messages handled"},
    [METRIC_WAIT] = {"actor_wait_seconds_total", "counter", "time messages waited in the mailbox"},
    [METRIC_HANDLE] = {"actor_handle_seconds_total", "counter", "time spent handling messages"},
    [METRIC_PARKS] = {"actor_parks_total", "counter",
                      "times the actor found nothing to do and slept"},
    [METRIC_DEPTH] = {"actor_mailbox_depth", "gauge", "messages waiting in the mailbox"},
};

static double metric_of(const struct sma_ctx *ctx, enum actor_metric metric)
{
    switch (metric) {
    case METRIC_HANDLED:
        return (double)atomic_load_explicit(&ctx->handled_count, memory_order_relaxed);
    case METRIC_WAIT:
        return (double)atomic_load_explicit(&ctx->wait_sum_ns, memory_order_relaxed) / 1e9;
    case METRIC_HANDLE:
        return (double)atomic_load_explicit(&ctx->handle_sum_ns, memory_order_relaxed) / 1e9;
    case METRIC_PARKS:
        return (double)sma_mailbox_park_count(ctx->box);
    default:
        return (double)sma_mailbox_count(ctx->box);
    }
}

void sma_system_format_metrics(const struct sma_system *system, struct sma_buf *buf)
{
    for (int metric = 0; metric < METRIC_COUNT; metric++) {
        sma_buf_printf(buf, "# HELP sma_%s %s\n# TYPE sma_%s %s\n", actor_metrics[metric].name,
                       actor_metrics[metric].help, actor_metrics[metric].name,
                       actor_metrics[metric].type);
        for (size_t i = 0; i < system->order_count; i++) {
            const struct sma_ctx *ctx = system->actors[system->order[i]];
            sma_buf_printf(buf, "sma_%s{actor=\"%s\"} %.15g\n", actor_metrics[metric].name,
                           ctx->ops->name, metric_of(ctx, (enum actor_metric)metric));
        }
    }
}
