/* dispatcher_receipt.c — how a part or a row ended becomes durable before anything is built on
 * it. */
#include "actors/kernel/traffic.h"
#include "dispatcher_priv.h"
#include "sma/labels.h"

#include <stdio.h>

static void fill_hold(struct sma_receipt *receipt, const struct row *row, uint64_t now)
{
    uint64_t left_ns = row->give_until_ns > now ? row->give_until_ns - now : 0;
    receipt->is_held = row->is_given_back;
    receipt->is_platform_held = row->is_given_back && row->is_platform_held;
    receipt->hold_ms =
        row->is_given_back ? (uint32_t)((left_ns + SMA_NS_PER_MS - 1) / SMA_NS_PER_MS) : 0;
    receipt->waited_ms = (uint32_t)(row->try.waited_ns / SMA_NS_PER_MS); /* at most a day */
}

static void ask_receipt(struct sma_dispatcher *dispatcher, struct row *row, struct sma_ctx *ctx)
{
    const struct sma_adapter_ops *ops = row->platform->ops;
    bool is_failure = row->receipt_state != SMA_DELIVERY_SENT;
    struct sma_receipt receipt = {
        .outbox_id = row->deliver->outbox_id,
        .part = row->part,
        .part_count = row->part_count,
        .renderer_version = ops == NULL ? 0 : ops->renderer_version,
        .state = row->receipt_state,
        .is_final = row->is_ended,
        .is_content_refused = row->is_ended && row->is_content_refused,
        .attempt_count = row->try.attempt_count,
        .platform_message_id = sma_str(is_failure ? "" : row->platform_id),
        .error = sma_str(is_failure ? row->error : ""),
        .reply_id = sma_str(is_failure ? "" : row->reply_id),
        .sent_ms = is_failure ? 0 : row->sent_ms,
        .reply_ns = row->reply_ns,
    };
    fill_hold(&receipt, row, sma_ctx_now(ctx));
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = sma_msg_make_receipt(&receipt);
    if (msg == NULL || sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, NULL) != SMA_ERR_OK) {
        row->phase = ROW_RECEIPT_HELD;
        sma_timers_set(&dispatcher->timers, &row->timer,
                       sma_ctx_now(ctx) + SMA_DISPATCHER_RETRY_S * SMA_NS_PER_S);
        return;
    }
    row->phase = ROW_RECEIPT;
    dispatcher->receipt_open_count++;
}

void sma_dispatcher_send_receipt(struct sma_dispatcher *dispatcher, struct row *row,
                                 enum sma_delivery_state state, struct sma_ctx *ctx)
{
    SMA_ASSERT(row->phase == ROW_QUEUED);
    row->receipt_state = (uint8_t)state;
    ask_receipt(dispatcher, row, ctx);
}

void sma_dispatcher_give_back(struct sma_dispatcher *dispatcher, struct row *row, uint64_t until_ns,
                              struct sma_ctx *ctx)
{
    row->is_given_back = true;
    row->give_until_ns = until_ns;
    sma_dispatcher_send_receipt(dispatcher, row, SMA_DELIVERY_WAITING, ctx);
}

void sma_dispatcher_repeat_receipt(struct sma_dispatcher *dispatcher, struct row *row,
                                   struct sma_ctx *ctx)
{
    SMA_ASSERT(row->phase == ROW_RECEIPT_HELD);
    ask_receipt(dispatcher, row, ctx);
}

/* A delivery that did not go out is a warning of its own, with the reason. */
static void log_delivered(const struct row *row, struct sma_ctx *ctx)
{
    static const char *const words[] = {[SMA_DELIVERY_SENT] = "sent",
                                        [SMA_DELIVERY_FAILED] = "failed",
                                        [SMA_DELIVERY_UNKNOWN] = "unknown"};
    static const uint8_t counts[] = {
        [SMA_DELIVERY_SENT] = 0, [SMA_DELIVERY_FAILED] = 1, [SMA_DELIVERY_UNKNOWN] = 2};
    const struct sma_deliver *deliver = row->deliver;
    struct sma_traffic line;
    SMA_ASSERT(row->receipt_state < SMA_COUNT_OF(words));
    SMA_FAMILY_ADD(platform_deliveries_total, row->platform->label, counts[row->receipt_state], 1);
    if (!sma_traffic_begin(&line, ctx, SMA_LOG_INFO, "delivered", deliver->seq,
                           deliver->route.chat_key))
        return;
    const char *platform = row->platform->ops == NULL ? "" : row->platform->name;
    sma_traffic_str(&line, "platform", sma_str(platform));
    sma_traffic_str(&line, "state", sma_str(words[row->receipt_state]));
    sma_traffic_ms(&line, "ms", row->msg->sent_ns, sma_ctx_now(ctx));
    sma_traffic_u64(&line, "attempts", row->attempt_total);
    sma_traffic_u64(&line, "parts", row->part_count);
    sma_traffic_u64(&line, "outboxId", deliver->outbox_id);
    sma_traffic_end(&line);
}

void sma_dispatcher_end_row(struct sma_dispatcher *dispatcher, struct row *row,
                            enum sma_delivery_state state, struct sma_str error,
                            struct sma_ctx *ctx)
{
    SMA_ASSERT(!row->is_ended);
    row->is_ended = true;
    row->receipt_state = (uint8_t)state;
    if (error.len == 0 && state == SMA_DELIVERY_UNKNOWN)
        error = SMA_STR("the platform's answer is unknown");
    if (error.len == 0 && state == SMA_DELIVERY_FAILED)
        error = SMA_STR("the platform refused it");
    if (error.ptr != row->error)
        snprintf(row->error, sizeof row->error, "%.*s", (int)error.len,
                 error.len == 0 ? "" : error.ptr);
    if (state == SMA_DELIVERY_SENT)
        SMA_METRIC_ADD(deliveries_sent_total, 1);
    if (state == SMA_DELIVERY_FAILED)
        SMA_METRIC_ADD(deliveries_failed_total, 1);
    if (state != SMA_DELIVERY_SENT)
        sma_ctx_log(ctx, SMA_LOG_WARN, "delivery %llu to %.*s %s: %s",
                    (unsigned long long)row->deliver->outbox_id,
                    (int)row->deliver->route.chat_key.len,
                    row->deliver->route.chat_key.len == 0 ? "" : row->deliver->route.chat_key.ptr,
                    state == SMA_DELIVERY_FAILED ? "failed" : "has an unknown outcome", row->error);
    log_delivered(row, ctx);
    sma_dispatcher_tell_outcome(dispatcher, row, ctx);
    sma_dispatcher_send_receipt(dispatcher, row, state, ctx);
}

/* The row leaves; its chat goes on with the next. */
static void drop_row(struct sma_dispatcher *dispatcher, struct row *row, struct sma_ctx *ctx)
{
    struct chat *chat = row->chat;
    if (chat != NULL) {
        sma_dispatcher_unlink_row(row);
        chat->phase = CHAT_HELD;
    }
    sma_dispatcher_destroy_row(dispatcher, row);
    if (chat != NULL)
        sma_dispatcher_advance(dispatcher, chat, ctx);
}

/* The store has ended the row by itself (stopped): whoever asks hears of a failure, unless it ended
 * before. */
static void on_stopped(struct sma_dispatcher *dispatcher, struct row *row, struct sma_ctx *ctx)
{
    if (!row->is_ended) {
        row->is_ended = true;
        row->receipt_state = SMA_DELIVERY_FAILED;
        snprintf(row->error, sizeof row->error, "stopped");
        SMA_METRIC_ADD(deliveries_failed_total, 1);
        log_delivered(row, ctx);
        sma_dispatcher_tell_outcome(dispatcher, row, ctx);
    }
    drop_row(dispatcher, row, ctx);
}

void sma_dispatcher_on_receipt_done(struct sma_dispatcher *dispatcher,
                                    const struct sma_receipt_done *done, struct sma_ctx *ctx)
{
    SMA_CRASH_POINT("dispatcher.after_receipt");
    struct row *row = sma_dispatcher_find_row(dispatcher, done->outbox_id);
    if (row == NULL || row->phase != ROW_RECEIPT) {
        sma_ctx_log(ctx, SMA_LOG_ERROR, "receipt answered for delivery %llu, which waits for none",
                    (unsigned long long)done->outbox_id);
        return;
    }
    SMA_ASSERT(dispatcher->receipt_open_count > 0);
    dispatcher->receipt_open_count--;
    if (done->verdict == SMA_STEP_NO_DISK) {
        row->phase = ROW_RECEIPT_HELD;
        sma_timers_set(&dispatcher->timers, &row->timer,
                       sma_ctx_now(ctx) + SMA_DISPATCHER_RETRY_S * SMA_NS_PER_S);
        return;
    }
    row->phase = ROW_QUEUED;
    if (done->verdict == SMA_STEP_STOPPED) {
        on_stopped(dispatcher, row, ctx);
        return;
    }
    if (row->is_ended || row->is_given_back) {
        drop_row(dispatcher, row, ctx);
        return;
    }
    if (row->is_late_sent) {
        sma_dispatcher_part_sent(dispatcher, row, ctx);
        return;
    }
    if (row->receipt_state == SMA_DELIVERY_SENT)
        row->part++;
    row->chat->phase = CHAT_HELD;
    sma_dispatcher_advance(dispatcher, row->chat, ctx);
}
