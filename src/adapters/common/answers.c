/* answers.c — see answers.h. */
#include "answers.h"

#include "sma/config.h"
#include "sma/text.h"

#define NS_PER_S UINT64_C(1000000000)
#define EAGER_COUNT 16
#define EAGER_S_MAX 4

struct sma_msg *sma_adapter_make_ingress(struct sma_ctx *ctx, const struct sma_ingress *in)
{
    const struct sma_str texts[] = {in->event_key, in->text,          in->context,
                                    in->meta_json, in->cursor_name,   in->preparation,
                                    in->group_key, in->migrated_from, in->reply_to_id};
    size_t space = sma_route_space(&in->route);
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        space += texts[i].len + 1;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress, space);
    if (msg == NULL)
        return NULL;
    struct sma_ingress *ingress = SMA_MSG_BODY(msg, struct sma_ingress);
    *ingress = *in;
    ingress->route = sma_route_dup(msg, &in->route);
    ingress->event_key = sma_msg_dup(msg, in->event_key);
    ingress->text = sma_msg_dup(msg, in->text);
    ingress->context = sma_msg_dup(msg, in->context);
    ingress->meta_json = sma_msg_dup(msg, in->meta_json);
    ingress->cursor_name = sma_msg_dup(msg, in->cursor_name);
    ingress->preparation = sma_msg_dup(msg, in->preparation);
    ingress->group_key = sma_msg_dup(msg, in->group_key);
    ingress->migrated_from = sma_msg_dup(msg, in->migrated_from);
    ingress->reply_to_id = sma_msg_dup(msg, in->reply_to_id);
    ingress->stamps.parsed_ns = sma_ctx_now(ctx);
    return msg;
}

void sma_adapter_answer_attempt(struct sma_ctx *ctx, struct sma_msg *question,
                                const struct sma_attempt_result *result)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(question, struct sma_attempt);
    struct sma_str id = result->platform_message_id, error = result->error;
    struct sma_str reply_id = result->reply_id;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_ATTEMPT_RESULT, struct sma_attempt_result,
                                      id.len + error.len + reply_id.len + 3);
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory for the outcome of a delivery");
    struct sma_attempt_result *made = SMA_MSG_BODY(msg, struct sma_attempt_result);
    *made = *result;
    made->outbox_id = asked->outbox_id;
    made->part = asked->part;
    made->platform_message_id = sma_msg_dup(msg, id);
    made->reply_id = sma_msg_dup(msg, reply_id);
    made->error = sma_msg_dup(msg, error);
    sma_ctx_answer(ctx, question, &msg);
}

void sma_adapter_answer_webhook(struct sma_ctx *ctx, enum sma_actor_id asker, uint64_t ask_id,
                                const struct sma_webhook_answer *answer)
{
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_WEBHOOK_ANSWER, struct sma_webhook_answer, answer->body.len + 1);
    if (msg == NULL)
        sma_ctx_fatal(ctx, "out of memory for an answer");
    struct sma_webhook_answer *made = SMA_MSG_BODY(msg, struct sma_webhook_answer);
    *made = *answer;
    made->body = sma_msg_dup(msg, answer->body);
    sma_ctx_answer_to(ctx, asker, ask_id, &msg);
}

uint64_t sma_adapter_backoff_ns(struct sma_ctx *ctx, unsigned failure_count, unsigned max_s)
{
    unsigned shift = failure_count < 2 ? 0 : failure_count - 1 > 12 ? 12 : failure_count - 1;
    uint64_t whole_s = UINT64_C(1) << shift;
    uint64_t whole_ns = (whole_s > max_s ? max_s : whole_s) * NS_PER_S;
    return whole_ns / 2 + sma_ctx_random(ctx) % (whole_ns / 2 + 1);
}

uint64_t sma_adapter_eager_backoff_ns(struct sma_ctx *ctx, unsigned failure_count, unsigned max_s)
{
    if (failure_count > EAGER_COUNT) /* goes on where the eager ones ended: twice as far apart */
        return sma_adapter_backoff_ns(ctx, failure_count - EAGER_COUNT + 3, max_s);
    return sma_adapter_backoff_ns(ctx, failure_count, max_s < EAGER_S_MAX ? max_s : EAGER_S_MAX);
}

bool sma_adapter_flood_note(struct sma_adapter_flood *flood, struct sma_str chat_id,
                            uint32_t retry_after_ms, uint64_t apart_ns, uint64_t now_ns)
{
    static const uint8_t key[16] = "flood of a chat"; /* nothing is gained by a collision */
    uint64_t chat = sma_siphash(key, chat_id.ptr, chat_id.len);
    bool is_second = flood->until_ns > now_ns && flood->chat != chat;
    uint64_t until_ns = now_ns + retry_after_ms * UINT64_C(1000000);
    uint64_t between_ns =
        until_ns > flood->until_ns ? until_ns - flood->until_ns : flood->until_ns - until_ns;
    if (!is_second || until_ns > flood->until_ns)
        *flood = (struct sma_adapter_flood){chat, until_ns};
    return is_second && between_ns <= apart_ns;
}

void sma_adapter_tell_reload(struct sma_ctx *ctx, const struct sma_config *config, const char *name,
                             const char *json)
{
    for (size_t i = 0; i < config->adapter_count; i++)
        if (strcmp(config->adapters[i].name, name) == 0 &&
            strcmp(config->adapters[i].json, json) != 0)
            sma_ctx_log(ctx, SMA_LOG_WARN,
                        "%s: adapters.%s has changed; it takes effect at the next start", name,
                        name);
}
