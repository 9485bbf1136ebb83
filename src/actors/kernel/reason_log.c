/* reason_log.c — see reason_log.h. */
#include "reason_log.h"

#include "traffic.h"

#define MINUTE_NS (UINT64_C(60) * 1000000000)

uint64_t sma_reason_due(const struct sma_reason_gate *gate)
{
    return gate->has_left_out ? gate->end_ns : UINT64_MAX;
}

/* What finds no room in the log is told with the next minute. */
static void tell_left_out(struct sma_reason_gate *gate, struct sma_ctx *ctx)
{
    gate->has_left_out = false;
    for (unsigned i = 1; i < SMA_REASON_COUNT; i++) {
        struct sma_traffic line;
        if (gate->left_out[i] == 0)
            continue;
        if (!sma_traffic_begin(&line, ctx, SMA_LOG_INFO, "messages_left_out", 0, SMA_STR(""))) {
            gate->has_left_out = true;
            continue;
        }
        sma_traffic_str(&line, "reason", sma_str(sma_reason_text((enum sma_reason)i)->word));
        sma_traffic_u64(&line, "count", gate->left_out[i]);
        sma_traffic_end(&line);
        gate->left_out[i] = 0;
    }
}

uint64_t sma_reason_tick(struct sma_reason_gate *gate, struct sma_ctx *ctx)
{
    uint64_t now = sma_ctx_now(ctx);
    if (gate->end_ns > now)
        return sma_reason_due(gate);
    if (gate->has_left_out)
        tell_left_out(gate, ctx);
    memset(gate->said, 0, sizeof gate->said);
    gate->end_ns = now + MINUTE_NS;
    return sma_reason_due(gate);
}

static bool has_place(struct sma_reason_gate *gate, enum sma_reason reason)
{
    if (gate->said[reason] >= SMA_REASON_LINE_COUNT) {
        gate->left_out[reason]++;
        gate->has_left_out = true;
        return false;
    }
    gate->said[reason]++;
    return true;
}

void sma_reason_say(struct sma_reason_gate *gate, struct sma_ctx *ctx,
                    const struct sma_unanswered *it)
{
    struct sma_traffic line;
    if (it->reason == SMA_REASON_NONE)
        return;
    const struct sma_reason_text *text = sma_reason_text(it->reason);
    sma_reason_count(it->platform, it->reason);
    (void)sma_reason_tick(gate, ctx); /* the caller asks when to come again */
    bool is_refused = text->kind == SMA_REASON_IS_REFUSED;
    enum sma_log_level level = has_place(gate, it->reason) ? SMA_LOG_INFO : SMA_LOG_DEBUG;
    if (!sma_traffic_begin(&line, ctx, level, is_refused ? "message_refused" : "message_ignored",
                           it->seq, it->chat_key))
        return;
    sma_traffic_str(&line, "reason", sma_str(text->word));
    sma_traffic_str(&line, "platform", it->platform);
    sma_traffic_str(&line, "userId", it->user_id);
    sma_traffic_str(&line, "messageId", it->message_id);
    if (it->more != NULL)
        sma_traffic_str(&line, "detail", sma_str(it->more));
    sma_traffic_end(&line);
}
