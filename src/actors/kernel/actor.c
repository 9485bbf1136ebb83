/*
 * actor.c — the context through which an actor acts.
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
