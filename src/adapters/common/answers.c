/* answers.c — see answers.h. */
#include "answers.h"

#include "sma/config.h"

#define EAGER_COUNT 16
#define EAGER_S_MAX 4

struct sma_msg *sma_adapter_make_ingress(struct sma_ctx *ctx, const struct sma_ingress *in)
{
    struct sma_ingress ingress = *in;
    ingress.stamps.parsed_ns = sma_ctx_now(ctx);
    return sma_msg_make_ingress(&ingress);
}

void sma_adapter_answer_attempt(struct sma_ctx *ctx, struct sma_msg *question,
                                const struct sma_attempt_result *result)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(question, struct sma_attempt);
    struct sma_attempt_result made = *result;
    made.outbox_id = asked->outbox_id;
    made.part = asked->part;
    struct sma_msg *msg = sma_msg_make_attempt_result(&made);
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory for the outcome of a delivery");
    sma_ctx_answer(ctx, question, &msg);
}

void sma_adapter_answer_webhook(struct sma_ctx *ctx, enum sma_actor_id asker, uint64_t ask_id,
                                const struct sma_webhook_answer *answer)
{
    struct sma_msg *msg = sma_msg_make_webhook_answer(answer);
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory for an answer");
    sma_ctx_answer_to(ctx, asker, ask_id, &msg);
}

uint64_t sma_adapter_backoff_ns(struct sma_ctx *ctx, unsigned failure_count, unsigned max_s)
{
    unsigned shift = failure_count < 2 ? 0 : failure_count - 1 > 12 ? 12 : failure_count - 1;
    uint64_t whole_s = UINT64_C(1) << shift;
    uint64_t whole_ns = (whole_s > max_s ? max_s : whole_s) * SMA_NS_PER_S;
    return whole_ns / 2 + sma_ctx_random(ctx) % (whole_ns / 2 + 1);
}

uint64_t sma_adapter_eager_backoff_ns(struct sma_ctx *ctx, unsigned failure_count, unsigned max_s)
{
    if (failure_count > EAGER_COUNT) /* goes on where the eager ones ended: twice as far apart */
        return sma_adapter_backoff_ns(ctx, failure_count - EAGER_COUNT + 3, max_s);
    return sma_adapter_backoff_ns(ctx, failure_count, max_s < EAGER_S_MAX ? max_s : EAGER_S_MAX);
}

uint32_t sma_adapter_wait_ms(int64_t said_ms, uint32_t otherwise_ms, bool is_rate_limit)
{
    int64_t most_ms = is_rate_limit ? SMA_ADAPTER_LIMIT_MS_MAX : SMA_ADAPTER_PAUSE_MS_MAX;
    if (said_ms <= 0)
        return otherwise_ms;
    return said_ms > most_ms ? (uint32_t)most_ms : (uint32_t)said_ms;
}
