/*
 * actor.c — the context through which an actor acts, and the system of all actors.
 *
 * Lock-free by construction: every lane has one sender, every context one thread. Threads meet in
 * lanes only.
 */
#include "kernel_priv.h"

#include "sma/metrics.h"
#include "sma/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOG_TEXT_BYTES_MAX 2000
#define LOG_DETAILS_BYTES_MAX 8000
#define START_STOP_TIMEOUT_MS 5000

/* -- chance ------------------------------------------------------------------------------------ */
static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

/* Source: D. Blackman, S. Vigna, xoshiro256** 1.0, seeded by splitmix64 as its authors advise. */
void sma_kernel_seed(struct random_state *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t word = seed;
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
        word = (word ^ word >> 27) * 0x94d049bb133111ebu;
        random->words[i] = word ^ word >> 31;
    }
}

uint64_t sma_kernel_random(struct random_state *random)
{
    uint64_t *w = random->words;
    uint64_t result = rotate(w[1] * 5, 7) * 9, shifted = w[1] << 17;
    w[2] ^= w[0];
    w[3] ^= w[1];
    w[1] ^= w[2];
    w[0] ^= w[3];
    w[2] ^= shifted;
    w[3] = rotate(w[3], 45);
    return result;
}

/* -- facts ------------------------------------------------------------------------------------- */
enum sma_actor_id sma_ctx_self(const struct sma_ctx *ctx)
{
    return ctx->id;
}

uint64_t sma_ctx_now(const struct sma_ctx *ctx)
{
    return ctx->sys.now_ns(ctx->sys.self);
}

int64_t sma_ctx_wall(const struct sma_ctx *ctx)
{
    return ctx->sys.wall_ms(ctx->sys.self);
}

uint64_t sma_ctx_random(struct sma_ctx *ctx)
{
    return sma_kernel_random(&ctx->random);
}

const struct sma_sys *sma_ctx_sys(const struct sma_ctx *ctx)
{
    return &ctx->sys;
}

struct uv_loop_s *sma_ctx_loop(struct sma_ctx *ctx)
{
    return ctx->loop == NULL ? NULL : sma_kernel_uv_loop(ctx);
}

void sma_ctx_wake_at(struct sma_ctx *ctx, uint64_t deadline_ns)
{
    ctx->wake_at_ns = deadline_ns;
}

void sma_ctx_request_batch_end(struct sma_ctx *ctx)
{
    ctx->is_batch_end_wanted = true;
}

/* -- sending ----------------------------------------------------------------------------------- */
static bool is_registered(const struct sma_ctx *ctx, unsigned to)
{
    SMA_ASSERT(to < SMA_ACTOR_COUNT_MAX);
    return ctx->system->actors[to] != NULL;
}

static enum sma_err push(struct sma_ctx *ctx, enum sma_actor_id to, struct sma_lane *lane,
                         struct sma_msg **msg)
{
    SMA_ASSERT(lane != NULL); /* no such edge in the table: a programming error */
    SMA_ASSERT_SLOW(sma_kernel_may_travel((*msg)->kind, ctx->id, to));
    (*msg)->from = (uint8_t)ctx->id;
    (*msg)->to = (uint8_t)to;
    (*msg)->sent_ns = sma_ctx_now(ctx);
    return sma_lane_push(lane, msg);
}

size_t sma_ctx_ask_room(const struct sma_ctx *ctx, enum sma_actor_id to)
{
    SMA_ASSERT((unsigned)to < SMA_ACTOR_COUNT_MAX);
    return ctx->edges[to].ask_max - ctx->edges[to].ask_open;
}

enum sma_err sma_ctx_ask(struct sma_ctx *ctx, enum sma_actor_id to, struct sma_msg **msg,
                         uint64_t deadline_ns, uint64_t *ret_ask_id)
{
    SMA_ASSERT_SLOW(sma_kernel_class((*msg)->kind) == CLASS_ASK);
    if (!is_registered(ctx, to))
        return SMA_ERR_GONE;
    struct edge *edge = &ctx->edges[to];
    if (edge->ask_open >= edge->ask_max)
        return SMA_ERR_FULL;
    uint64_t ask_id = ctx->next_ask_id;
    (*msg)->ask_id = ask_id;
    (*msg)->deadline_ns = deadline_ns;
    SMA_TRY(push(ctx, to, edge->main, msg));
    ctx->next_ask_id++;
    edge->ask_open++;
    if (ret_ask_id != NULL)
        *ret_ask_id = ask_id;
    return SMA_ERR_OK;
}

void sma_ctx_answer_to(struct sma_ctx *ctx, enum sma_actor_id asker, uint64_t ask_id,
                       struct sma_msg **answer)
{
    SMA_ASSERT(ask_id != 0);
    SMA_ASSERT_SLOW(sma_kernel_class((*answer)->kind) == CLASS_ANSWER);
    SMA_ASSERT(is_registered(ctx, asker));
    (*answer)->ask_id = ask_id;
    enum sma_err err = push(ctx, asker, ctx->edges[asker].main, answer);
    SMA_ASSERT(err != SMA_ERR_FULL); /* the lane is as large as the questions it answers */
    if (err == SMA_ERR_GONE)
        sma_msg_destroyp(answer); /* the asker has ended: nobody waits */
}

void sma_ctx_answer(struct sma_ctx *ctx, const struct sma_msg *question, struct sma_msg **answer)
{
    SMA_ASSERT_SLOW(sma_kernel_is_answer_to(question->kind, (*answer)->kind));
    sma_ctx_answer_to(ctx, (enum sma_actor_id)question->from, question->ask_id, answer);
}

enum sma_err sma_ctx_send(struct sma_ctx *ctx, enum sma_actor_id to, struct sma_msg **msg)
{
    SMA_ASSERT_SLOW(sma_kernel_class((*msg)->kind) == CLASS_HANDOFF);
    if (!is_registered(ctx, to))
        return SMA_ERR_GONE;
    const struct edge *edge = &ctx->edges[to];
    SMA_ASSERT(edge->main != NULL); /* no such edge in the table: a programming error */
    if (sma_lane_count(edge->main) >= edge->handoff_max)
        return SMA_ERR_FULL;
    return push(ctx, to, edge->main, msg);
}

/* OK when it went out; the message is gone either way. */
static enum sma_err signal_to(struct sma_ctx *ctx, enum sma_actor_id to, struct sma_msg **msg)
{
    SMA_ASSERT_SLOW(sma_kernel_class((*msg)->kind) == CLASS_SIGNAL);
    enum sma_err err =
        is_registered(ctx, to) ? push(ctx, to, ctx->edges[to].signal, msg) : SMA_ERR_GONE;
    if (err != SMA_ERR_OK)
        sma_msg_destroyp(msg);
    return err;
}

void sma_ctx_signal(struct sma_ctx *ctx, enum sma_actor_id to, struct sma_msg **msg)
{
    if (signal_to(ctx, to, msg) == SMA_ERR_FULL)
        SMA_METRIC_ADD(signals_dropped_total, 1);
}

static struct sma_msg *life_msg(unsigned kind, unsigned phase)
{
    return sma_msg_make(kind, &(struct sma_life){.phase = phase});
}

void sma_ctx_life_done(struct sma_ctx *ctx, unsigned phase)
{
    struct sma_msg *msg = life_msg(SMA_MSG_LIFE_DONE, phase);
    /* Out of memory or a full lane: the supervisor's deadline for the phase covers both. */
    if (msg != NULL && sma_ctx_send(ctx, SMA_ACTOR_SUPERVISOR, &msg) != SMA_ERR_OK)
        sma_msg_destroy(msg);
}

enum sma_err sma_kernel_send_life(struct sma_system *system, enum sma_actor_id to, unsigned phase)
{
    struct sma_msg *msg = life_msg(SMA_MSG_LIFE, phase);
    if (msg == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = sma_ctx_send(system->actors[SMA_ACTOR_SUPERVISOR], to, &msg);
    sma_msg_destroy(msg);
    return err;
}

/* -- log --------------------------------------------------------------------------------------- */
static const char *const level_names[] = {"debug", "info", "action", "warn", "error"};

/* Where there is no log actor to take the line: the log actor's own lines, tools and tests. */
static void log_to_stderr(const struct sma_ctx *ctx, enum sma_log_level level, struct sma_str text)
{
    if (ctx->system->is_simulated && getenv("SMA_SIM_LOG") == NULL)
        return;
    fprintf(stderr, "%s %s: %.*s\n", level_names[level], ctx->ops->name, (int)text.len, text.ptr);
}

static _Atomic int least_level = SMA_LOG_DEBUG;

void sma_log_set_level(enum sma_log_level level)
{
    SMA_ASSERT((unsigned)level <= SMA_LOG_ERROR);
    atomic_store_explicit(&least_level, (int)level, memory_order_relaxed);
}

static bool is_wanted(enum sma_log_level level)
{
    return (int)level >= atomic_load_explicit(&least_level, memory_order_relaxed);
}

/* A bucket of a second's lines that fills evenly: traffic_ns is the time at which the next line
 * would be on time. */
static bool take_traffic_place(struct sma_ctx *ctx)
{
    const uint64_t second = UINT64_C(1000000000), price = second / SMA_TRAFFIC_LINE_COUNT_S;
    uint64_t now = sma_ctx_now(ctx);
    if (ctx->traffic_ns + second < now)
        ctx->traffic_ns = now - second;
    if (ctx->traffic_ns + price > now)
        return false;
    ctx->traffic_ns += price;
    return true;
}

bool sma_ctx_may_log_traffic(struct sma_ctx *ctx, enum sma_log_level level)
{
    SMA_ASSERT((unsigned)level <= SMA_LOG_ERROR);
    const struct sma_lane *lane = ctx->edges[SMA_ACTOR_LOG].signal;
    if (!is_wanted(level) || lane == NULL)
        return false;
    /* Half of the lane is for what must be known. */
    if (sma_lane_count(lane) < SMA_SIGNAL_COUNT_MAX / 2 && take_traffic_place(ctx))
        return true;
    SMA_METRIC_ADD(log_dropped_total, 1);
    return false;
}

static void log_line(struct sma_ctx *ctx, const struct sma_log_line *said)
{
    struct sma_log_line line = *said;
    line.wall_ms = sma_ctx_wall(ctx);
    struct sma_msg *msg = sma_msg_make_log(&line);
    if (msg == NULL || signal_to(ctx, SMA_ACTOR_LOG, &msg) != SMA_ERR_OK)
        SMA_METRIC_ADD(log_dropped_total, 1);
}

bool sma_ctx_log_block(struct sma_ctx *ctx, struct sma_str block, struct sma_str details_json)
{
    const struct sma_lane *lane = ctx->edges[SMA_ACTOR_LOG].signal;
    if (lane == NULL)
        return false;
    if (sma_lane_count(lane) >= SMA_SIGNAL_COUNT_MAX / 2) { /* half is for what must be known */
        SMA_METRIC_ADD(log_blocks_dropped_total, 1);
        return false;
    }
    log_line(ctx, &(struct sma_log_line){.level = SMA_LOG_INFO,
                                         .is_block = true,
                                         .text = block,
                                         .details_json = details_json});
    return true;
}

void sma_ctx_log_traffic(struct sma_ctx *ctx, enum sma_log_level level, struct sma_str message,
                         struct sma_str details_json)
{
    if (ctx->edges[SMA_ACTOR_LOG].signal == NULL)
        log_to_stderr(ctx, level, message);
    else
        log_line(ctx, &(struct sma_log_line){.level = (int)level,
                                             .is_traffic = true,
                                             .text = message,
                                             .details_json = details_json});
}

void sma_ctx_log_details(struct sma_ctx *ctx, enum sma_log_level level, struct sma_str message,
                         struct sma_str details_json)
{
    SMA_ASSERT((unsigned)level <= SMA_LOG_ERROR);
    if (!is_wanted(level))
        return;
    if (ctx->edges[SMA_ACTOR_LOG].signal == NULL) {
        log_to_stderr(ctx, level, message);
        return;
    }
    message.len = sma_utf8_cut(message, LOG_TEXT_BYTES_MAX);
    if (details_json.len > LOG_DETAILS_BYTES_MAX)
        details_json.len = 0; /* half an object would be no JSON */
    log_line(ctx, &(struct sma_log_line){
                      .level = (int)level, .text = message, .details_json = details_json});
}

void sma_ctx_log(struct sma_ctx *ctx, enum sma_log_level level, const char *format, ...)
{
    char text[LOG_TEXT_BYTES_MAX + 8];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (len < 0)
        return;
    struct sma_str line = {text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1};
    line.len = sma_utf8_cut(line, LOG_TEXT_BYTES_MAX);
    sma_ctx_log_details(ctx, level, line, SMA_STR(""));
}

void sma_ctx_fatal(struct sma_ctx *ctx, const char *format, ...)
{
    char text[LOG_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fatal %s: %s\n", ctx->ops->name, text);
    _exit(1); /* no handlers, no flushing: what is not durable now was never promised */
}

/* -- running one actor ------------------------------------------------------------------------- */
/* The only writer is the actor itself: a plain load and store, no locked instruction. */
static void bump(_Atomic uint64_t *number, uint64_t by)
{
    uint64_t old = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, old + by, memory_order_relaxed);
}

void sma_kernel_set_activity(struct sma_ctx *ctx, enum activity activity)
{
    uint64_t since = activity == ACTIVITY_IDLE ? 0 : sma_ctx_now(ctx);
    atomic_store_explicit(&ctx->busy_since_ns, since, memory_order_relaxed);
    atomic_store_explicit(&ctx->activity, activity, memory_order_relaxed);
}

void sma_kernel_deliver(struct sma_ctx *ctx, struct sma_msg *msg)
{
    SMA_ASSERT(msg->to == ctx->id);
    if (sma_kernel_class(msg->kind) == CLASS_ANSWER) {
        struct edge *edge = &ctx->edges[msg->from];
        SMA_ASSERT(edge->ask_open > 0); /* an answer nobody asked for, or a second one */
        edge->ask_open--;
    }
    uint64_t begin = sma_ctx_now(ctx), sent = msg->sent_ns;
    atomic_store_explicit(&ctx->busy_since_ns, begin, memory_order_relaxed);
    atomic_store_explicit(&ctx->activity, ACTIVITY_HANDLE, memory_order_relaxed);
    ctx->ops->handle(ctx->state, &msg, ctx);
    sma_msg_destroy(msg);
    bump(&ctx->handled_count, 1);
    bump(&ctx->wait_sum_ns, begin > sent ? begin - sent : 0);
    bump(&ctx->handle_sum_ns, sma_ctx_now(ctx) - begin);
    ctx->is_batch_end_wanted = true;
}

size_t sma_kernel_drain(struct sma_ctx *ctx, size_t count_max)
{
    size_t count = 0;
    struct sma_msg *msg;
    while (count < count_max && (msg = sma_mailbox_take(ctx->box)) != NULL) {
        sma_kernel_deliver(ctx, msg);
        count++;
    }
    return count;
}

void sma_kernel_wake_if_due(struct sma_ctx *ctx)
{
    if (ctx->wake_at_ns == UINT64_MAX || sma_ctx_now(ctx) < ctx->wake_at_ns)
        return;
    ctx->wake_at_ns = UINT64_MAX; /* before the call: wake() may set the next time */
    if (ctx->ops->wake == NULL)
        return;
    sma_kernel_set_activity(ctx, ACTIVITY_HANDLE);
    ctx->ops->wake(ctx->state, ctx);
    ctx->is_batch_end_wanted = true;
}

void sma_kernel_batch_end(struct sma_ctx *ctx)
{
    if (!ctx->is_batch_end_wanted)
        return;
    ctx->is_batch_end_wanted = false;
    if (ctx->ops->batch_end == NULL)
        return;
    sma_kernel_set_activity(ctx, ACTIVITY_BATCH_END);
    ctx->ops->batch_end(ctx->state, ctx);
}

/* -- the system -------------------------------------------------------------------------------- */
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
