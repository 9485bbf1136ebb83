/*
 * dispatcher.c — the actor that gets outbox rows onto their platforms: it takes messages and timers
 * and hands them to the rows (dispatcher_*.c). Rules are in runtime/delivery; what a row is, in
 * dispatcher_priv.h and docs/notes/delivery.md.
 */
#include "dispatcher_priv.h"

#include "sma/labels.h"

#include <stddef.h>
#include <stdlib.h>

/* Every timer that can be set at once: rows, chats (one with rows per row, and idle ones),
 * platforms, questions. */
#define TIMER_COUNT_MAX                                                                          \
    (2 * SMA_ADAPTER_COUNT_MAX * SMA_DELIVER_CREDIT_COUNT + SMA_DISPATCHER_IDLE_CHAT_COUNT_MAX + \
     2 + SMA_ADAPTER_COUNT_MAX + SMA_ASK_SEND_COUNT_MAX)

#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static void init_platform(struct platform *platform, const struct sma_adapter *adapter)
{
    struct sma_capabilities capabilities = adapter->ops->capabilities;
    if (adapter->ops->configure != NULL)
        adapter->ops->configure(adapter->state, &capabilities);
    uint32_t group_per_minute = capabilities.group_per_minute == 0 ? capabilities.chat_per_minute
                                                                   : capabilities.group_per_minute;
    platform->ops = adapter->ops;
    platform->name = sma_adapter_name(adapter);
    platform->label = sma_label_place(SMA_LABEL_PLATFORM, sma_str(sma_adapter_name(adapter)));
    platform->rate = sma_rate_make(capabilities.adapter_per_second, SMA_NS_PER_S, 1);
    platform->chat_rate =
        sma_rate_make(capabilities.chat_per_minute, 60 * SMA_NS_PER_S, capabilities.chat_burst);
    platform->group_rate =
        sma_rate_make(group_per_minute, 60 * SMA_NS_PER_S, capabilities.chat_burst);
}

enum sma_err sma_dispatcher_create(const struct sma_dispatcher_options *options,
                                   struct sma_dispatcher **ret_dispatcher, struct sma_error *error)
{
    if (options->adapter_count > SMA_ADAPTER_COUNT_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "%zu adapters are configured; at most %d can run",
                        options->adapter_count, SMA_ADAPTER_COUNT_MAX);
    struct sma_dispatcher *dispatcher = calloc(1, sizeof *dispatcher);
    if (dispatcher == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "dispatcher: out of memory");
    dispatcher->magic = DISPATCHER_MAGIC;
    dispatcher->config = options->config;
    if (sma_timers_init(&dispatcher->timers, TIMER_COUNT_MAX) != SMA_ERR_OK) {
        sma_dispatcher_destroy(dispatcher);
        return sma_fail(error, SMA_ERR_NOMEM, "dispatcher: out of memory");
    }
    for (size_t i = 0; i < SMA_ADAPTER_COUNT_MAX; i++) {
        dispatcher->platforms[i].actor = (enum sma_actor_id)(SMA_ACTOR_ADAPTER_0 + i);
        dispatcher->platforms[i].timer.kind = TIMER_PLATFORM;
    }
    for (size_t i = 0; i < options->adapter_count; i++) {
        SMA_ASSERT(sma_actor_is_adapter(options->adapters[i].actor));
        init_platform(sma_dispatcher_platform(dispatcher, options->adapters[i].actor),
                      &options->adapters[i]);
    }
    *ret_dispatcher = dispatcher;
    return SMA_ERR_OK;
}

void sma_dispatcher_destroy(struct sma_dispatcher *dispatcher)
{
    if (dispatcher == NULL)
        return;
    SMA_ASSERT(dispatcher->magic == DISPATCHER_MAGIC);
    sma_dispatcher_drop_sends(dispatcher);
    for (size_t i = 0; i < DISPATCHER_TABLE_SIZE; i++)
        while (dispatcher->rows[i] != NULL) {
            struct row *row = dispatcher->rows[i];
            row->chat = NULL;
            sma_dispatcher_destroy_row(dispatcher, row);
        }
    for (size_t i = 0; i < DISPATCHER_TABLE_SIZE; i++)
        while (dispatcher->chats[i] != NULL) {
            struct chat *chat = dispatcher->chats[i];
            dispatcher->chats[i] = chat->next_in_table;
            free(chat);
        }
    sma_timers_fini(&dispatcher->timers);
    dispatcher->magic = 0;
    free(dispatcher);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)error;
    struct sma_dispatcher *dispatcher = state;
    SMA_ASSERT(dispatcher->magic == DISPATCHER_MAGIC);
    for (size_t i = 0; i < sizeof dispatcher->hash_key; i += sizeof(uint64_t)) {
        uint64_t random = sma_ctx_random(ctx);
        memcpy(dispatcher->hash_key + i, &random, sizeof random);
    }
    return SMA_ERR_OK;
}

/* -- messages ---------------------------------------------------------------------------------- */
/* An answer that comes a day late answers nothing any more. One that is as old already, from before
 * a restart, has an hour. */
static uint64_t expires_at(const struct sma_deliver *deliver, struct sma_ctx *ctx)
{
    const uint64_t max_ns = SMA_DELIVERY_AGE_MAX_S * SMA_NS_PER_S;
    uint64_t least_ns = deliver->waited_ms > 0 ? 0 : SMA_DELIVERY_AGE_LEAST_S * SMA_NS_PER_S;
    int64_t age_ms = deliver->made_wall_ms == 0 ? 0 : sma_ctx_wall(ctx) - deliver->made_wall_ms;
    uint64_t age_ns = age_ms <= 0 ? 0 : (uint64_t)age_ms * SMA_NS_PER_MS;
    uint64_t left_ns = age_ns < max_ns ? max_ns - age_ns : 0;
    return sma_ctx_now(ctx) + (left_ns > least_ns ? left_ns : least_ns);
}

static void on_deliver(struct sma_dispatcher *dispatcher, struct sma_msg **msg, struct sma_ctx *ctx)
{
    unsigned actor = SMA_MSG_BODY(*msg, struct sma_deliver)->route.adapter;
    struct platform *platform = sma_dispatcher_platform(dispatcher, actor);
    SMA_ASSERT(platform != NULL); /* the store hands out rows of adapters only */
    struct row *row = sma_dispatcher_add_row(dispatcher, platform, msg);
    if (row == NULL)
        sma_ctx_fatal(ctx,
                      "out of memory while taking a delivery; it is kept and sent after a restart");
    struct chat *chat = row->chat;
    row->expires_ns = expires_at(row->deliver, ctx);
    if (platform->ops == NULL) {
        sma_dispatcher_unlink_row(row);
        sma_dispatcher_end_row(dispatcher, row, SMA_DELIVERY_FAILED,
                               SMA_STR("the adapter of this chat is not configured"), ctx);
    } else if (platform->ops->capabilities.is_stored_delivery) {
        sma_dispatcher_unlink_row(row); /* stored is delivered: nothing to attempt */
        sma_dispatcher_end_row(dispatcher, row, SMA_DELIVERY_SENT, SMA_STR(""), ctx);
    }
    sma_dispatcher_advance(dispatcher, chat, ctx);
}

static bool is_cancellable(const struct row *row, uint64_t mark_seq)
{
    const struct sma_deliver *deliver = row->deliver;
    bool is_untouched = !row->is_attempted && !row->is_ended && row->phase == ROW_QUEUED;
    bool was_untouched =
        deliver->part_done_count == 0 && deliver->attempt_count == 0 && !deliver->is_repeat;
    return deliver->seq < mark_seq && is_untouched && was_untouched;
}

static void cancel_in_chat(struct sma_dispatcher *dispatcher, struct chat *chat, uint64_t mark_seq,
                           struct sma_ctx *ctx)
{
    struct row *next;
    for (struct row *row = chat->first; row != NULL; row = next) {
        next = row->next_in_chat;
        if (!is_cancellable(row, mark_seq))
            continue;
        sma_dispatcher_unlink_row(row);
        sma_dispatcher_end_row(dispatcher, row, SMA_DELIVERY_FAILED, SMA_STR("stopped"), ctx);
    }
    sma_dispatcher_advance(dispatcher, chat, ctx);
}

static void on_cancel(struct sma_dispatcher *dispatcher, const struct sma_cancel_deliver *cancel,
                      struct sma_ctx *ctx)
{
    for (size_t i = 0; i < SMA_ADAPTER_COUNT_MAX; i++) {
        struct chat *chat =
            sma_dispatcher_find_chat(dispatcher, &dispatcher->platforms[i], cancel->chat_key);
        if (chat != NULL)
            cancel_in_chat(dispatcher, chat, cancel->mark_seq, ctx);
    }
}

/* Pass a signal on to the adapter of its chat, unless that is waiting: what is streamed then would
 * only make it worse. That the run is over asks for nothing. */
static void on_progress(struct sma_dispatcher *dispatcher, struct sma_msg **msg,
                        struct sma_ctx *ctx)
{
    const struct sma_progress *progress = SMA_MSG_BODY(*msg, struct sma_progress);
    const struct sma_route *route = &progress->route;
    struct platform *platform = sma_dispatcher_platform(dispatcher, route->adapter);
    if (platform == NULL || platform->ops == NULL || dispatcher->is_draining)
        return;
    const struct chat *chat = sma_dispatcher_find_chat(dispatcher, platform, route->chat_key);
    uint64_t now = sma_ctx_now(ctx);
    bool is_held = platform->hold_until_ns > now || (chat != NULL && chat->hold_until_ns > now);
    if (is_held && progress->kind != SMA_PROGRESS_FINISHED)
        return;
    sma_ctx_signal(ctx, platform->actor, msg);
}

static void on_life(struct sma_dispatcher *dispatcher, const struct sma_life *life,
                    struct sma_ctx *ctx)
{
    if (life->phase != SMA_PHASE_DRAIN) {
        sma_ctx_life_done(ctx, life->phase);
        return;
    }
    dispatcher->is_draining = true;
    dispatcher->drain_until_ns = sma_ctx_now(ctx) + SMA_DISPATCHER_DRAIN_S * SMA_NS_PER_S;
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_dispatcher *dispatcher = state;
    SMA_ASSERT(dispatcher->magic == DISPATCHER_MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_DELIVER:
        on_deliver(dispatcher, msg, ctx);
        return;
    case SMA_MSG_CANCEL_DELIVER:
        on_cancel(dispatcher, SMA_MSG_BODY(*msg, struct sma_cancel_deliver), ctx);
        return;
    case SMA_MSG_RECEIPT_DONE:
        sma_dispatcher_on_receipt_done(dispatcher, SMA_MSG_BODY(*msg, struct sma_receipt_done),
                                       ctx);
        return;
    case SMA_MSG_ATTEMPT_RESULT:
        sma_dispatcher_on_result(dispatcher, *msg, SMA_MSG_BODY(*msg, struct sma_attempt_result),
                                 ctx);
        return;
    case SMA_MSG_SEND:
        sma_dispatcher_on_send(dispatcher, *msg, SMA_MSG_BODY(*msg, struct sma_send), ctx);
        return;
    case SMA_MSG_PROGRESS:
        on_progress(dispatcher, msg, ctx);
        return;
    case SMA_MSG_RELOAD:
        dispatcher->config = SMA_MSG_BODY(*msg, struct sma_reload)->config;
        return;
    case SMA_MSG_LIFE:
        on_life(dispatcher, SMA_MSG_BODY(*msg, struct sma_life), ctx);
        return;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "dispatcher: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

/* -- time -------------------------------------------------------------------------------------- */
static void fire(struct sma_dispatcher *dispatcher, struct sma_timer *timer, struct sma_ctx *ctx)
{
    switch ((enum timer_kind)timer->kind) {
    case TIMER_CHAT:
        sma_dispatcher_advance(dispatcher, CONTAINER_OF(timer, struct chat, timer), ctx);
        return;
    case TIMER_ROW: {
        struct row *row = CONTAINER_OF(timer, struct row, timer);
        if (row->phase == ROW_ATTEMPT)
            sma_dispatcher_time_out(dispatcher, row, ctx);
        else
            sma_dispatcher_repeat_receipt(dispatcher, row, ctx);
        return;
    }
    case TIMER_PLATFORM:
        return; /* batch_end pumps every platform */
    case TIMER_SEND:
        sma_dispatcher_expire_send(dispatcher, CONTAINER_OF(timer, struct send, timer), ctx);
        return;
    }
}

static void finish_drain(struct sma_dispatcher *dispatcher, struct sma_ctx *ctx)
{
    bool is_quiet = dispatcher->attempt_open_count == 0 && dispatcher->receipt_open_count == 0;
    bool is_late = sma_ctx_now(ctx) >= dispatcher->drain_until_ns;
    if (dispatcher->is_drained || (!is_quiet && !is_late))
        return;
    dispatcher->is_drained = true;
    if (!is_quiet)
        sma_ctx_log(
            ctx, SMA_LOG_WARN,
            "stopping with %u attempts and %u receipts open; the deliveries go on after a restart",
            dispatcher->attempt_open_count, dispatcher->receipt_open_count);
    sma_ctx_life_done(ctx, SMA_PHASE_DRAIN);
}

static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct sma_dispatcher *dispatcher = state;
    struct sma_timer *timer;
    while ((timer = sma_timers_take_due(&dispatcher->timers, sma_ctx_now(ctx))) != NULL)
        fire(dispatcher, timer, ctx);
    for (size_t i = 0; i < SMA_ADAPTER_COUNT_MAX; i++)
        sma_dispatcher_pump(dispatcher, &dispatcher->platforms[i], ctx);
    uint64_t next = sma_timers_next_at(&dispatcher->timers);
    if (dispatcher->is_draining) {
        finish_drain(dispatcher, ctx);
        if (!dispatcher->is_drained && dispatcher->drain_until_ns < next)
            next = dispatcher->drain_until_ns;
    }
    sma_ctx_wake_at(ctx, next);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx; /* batch_end, which follows, looks at the timers */
}

const struct sma_actor_ops sma_dispatcher_actor_ops = {
    .name = "dispatcher",
    .start = start,
    .handle = handle,
    .batch_end = batch_end,
    .wake = wake,
};
