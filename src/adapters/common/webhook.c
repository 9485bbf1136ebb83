/* webhook.c — see webhook.h. */
#include "platform.h"

#include "answers.h"

#include <stdlib.h>

#define RETRY_AFTER_S 5
#define BODY_BYTES_MAX 65536

enum sma_err sma_webhooks_init(struct sma_webhooks *webhooks, struct sma_platform *platform)
{
    *webhooks = (struct sma_webhooks){.platform = platform};
    webhooks->slots = calloc(SMA_ASK_WEBHOOK_COUNT_MAX, sizeof *webhooks->slots);
    return webhooks->slots == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

void sma_webhooks_fini(struct sma_webhooks *webhooks)
{
    free(webhooks->slots);
    *webhooks = (struct sma_webhooks){0};
}

static struct sma_webhook_slot *free_slot(const struct sma_webhooks *webhooks)
{
    for (size_t i = 0; i < SMA_ASK_WEBHOOK_COUNT_MAX; i++)
        if (!webhooks->slots[i].is_open)
            return &webhooks->slots[i];
    return NULL;
}

static struct sma_str body_or(struct sma_str body, const char *otherwise)
{
    return body.len > 0 ? body : otherwise == NULL ? SMA_STR("{}") : sma_str(otherwise);
}

static void answer(const struct sma_webhooks *webhooks, struct sma_webhook_slot *slot,
                   struct sma_webhook_answer made)
{
    const struct sma_webhook_ops *ops = webhooks->platform->ops->webhook;
    made.body = body_or(made.body, made.status == 503   ? ops->body_again
                                   : made.status == 200 ? ops->body_ok
                                                        : NULL);
    sma_adapter_answer_webhook(webhooks->platform->ctx, (enum sma_actor_id)slot->asker,
                               slot->ask_id, &made);
    *slot = (struct sma_webhook_slot){0};
}

void sma_webhooks_on_request(struct sma_webhooks *webhooks, struct sma_msg *msg)
{
    struct sma_platform *platform = webhooks->platform;
    struct sma_webhook_slot *slot = free_slot(webhooks);
    SMA_ASSERT(slot != NULL); /* as many places as the edge has questions */
    *slot = (struct sma_webhook_slot){.is_open = true, .asker = msg->from, .ask_id = msg->ask_id};
    struct sma_buf body;
    sma_buf_init(&body, BODY_BYTES_MAX);
    int status = 404;
    if (platform->ops->facts(platform).takes_webhooks)
        status = platform->is_closed
                     ? 503
                     : platform->ops->webhook->take(platform, SMA_MSG_BODY(msg, struct sma_webhook),
                                                    slot, &body);
    if (!slot->is_asked)
        answer(webhooks, slot,
               (struct sma_webhook_answer){.status = status,
                                           .retry_after_s = status == 503 ? RETRY_AFTER_S : 0,
                                           .body = sma_buf_str(&body)});
    sma_buf_fini(&body);
}

int sma_webhook_status(enum sma_took took, const struct sma_origin *origin)
{
    origin->slot->is_asked = took == SMA_TOOK_ASKED;
    return took == SMA_TOOK_FINISHED ? 200 : 503;
}

/* In conflict: it is told apart when it is brought again. A press is not brought again, so it
 * always has its words. */
void sma_webhook_settle(struct sma_webhooks *webhooks, struct sma_webhook_slot *slot,
                        const struct sma_accepted *accepted, struct sma_str result)
{
    SMA_ASSERT(slot->is_open && slot->is_asked);
    bool is_refused = result.len == 0 && (accepted->verdict == SMA_VERDICT_REFUSED ||
                                          accepted->verdict == SMA_VERDICT_CONFLICT);
    uint32_t wait_s = (accepted->retry_after_ms + 999) / 1000;
    struct sma_webhook_answer made = {.status = 200, .body = result};
    if (is_refused)
        made =
            (struct sma_webhook_answer){.status = 503, .retry_after_s = wait_s == 0 ? 1 : wait_s};
    answer(webhooks, slot, made);
}

int sma_webhook_refuse(struct sma_webhooks *webhooks, int status, const char *why)
{
    struct sma_platform *platform = webhooks->platform;
    sma_adapter_health_error(&platform->health, why);
    if (sma_adapter_is_worth_telling(++webhooks->refused_count)) /* anybody can cause these */
        sma_ctx_log(platform->ctx, SMA_LOG_WARN,
                    "%s: a webhook request was refused (%d, %u so far): %s", platform->home.name,
                    status, webhooks->refused_count, why);
    return status;
}

int sma_webhook_drop(struct sma_webhooks *webhooks, const char *why)
{
    if (sma_adapter_is_worth_telling(++webhooks->dropped_count))
        sma_ctx_log(webhooks->platform->ctx, SMA_LOG_WARN,
                    "%s: an authentic webhook request cannot be read (%u so far): %s; dropped",
                    webhooks->platform->home.name, webhooks->dropped_count, why);
    return 200;
}
