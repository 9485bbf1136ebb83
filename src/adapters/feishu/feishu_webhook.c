/*
 * feishu_webhook.c — events that the platform brings over HTTP: decrypted, authenticated, answered
 * 200 only when the store has finished with them. Anything else makes the platform bring the event
 * again; only a button is not brought again, so its answer is always one.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"

#define RETRY_AFTER_S 5

struct taking
{
    struct feishu *feishu;
    const struct sma_msg *msg;
    uint64_t read_ns;
    int status; /* to answer now; 0 = when the store has answered */
};

static void answer(struct feishu *feishu, enum sma_actor_id asker, uint64_t ask_id, int status,
                   struct sma_str body)
{
    sma_adapter_answer_webhook(
        feishu->ctx, asker, ask_id,
        &(struct sma_webhook_answer){.status = status,
                                     .retry_after_s = status == 503 ? RETRY_AFTER_S : 0,
                                     .body = body.len > 0 ? body : SMA_STR("{}")});
}

static struct feishu_hook *free_hook(struct feishu *feishu)
{
    for (size_t i = 0; i < FEISHU_HOOK_COUNT_MAX; i++)
        if (!feishu->hooks[i].is_open)
            return &feishu->hooks[i];
    return NULL;
}

static void on_event(void *user, const struct feishu_event *event)
{
    struct taking *taking = user;
    struct feishu *feishu = taking->feishu;
    sma_adapter_health_event(&feishu->base.health);
    if (event->kind == FEISHU_EVENT_IGNORED)
        return;
    struct feishu_hook *hook = free_hook(feishu);
    taking->status = 503;
    if (hook == NULL)
        return;
    struct feishu_origin origin = {.asker = FEISHU_ASKER_HOOK,
                                   .index = (uint32_t)(hook - feishu->hooks),
                                   .read_ns = taking->read_ns};
    if (feishu_intake_ask(feishu, event, &origin) != SMA_ERR_OK)
        return;
    *hook = (struct feishu_hook){
        .is_open = true, .asker = taking->msg->from, .ask_id = taking->msg->ask_id};
    taking->status = 0;
}

/* @return the status to answer now, 0 = later */
static int take_event(struct taking *taking, struct sma_str json)
{
    struct feishu *feishu = taking->feishu;
    bool has_identity =
        feishu->identity.bot.open_id[0] != '\0'; /* who was addressed cannot be said without */
    if (feishu->base.is_intake_off || !has_identity)
        return 503;
    struct feishu_event_options options = feishu_event_options_now(feishu, taking->read_ns);
    struct sma_error error = {0};
    taking->status = 200;
    enum sma_err err = feishu_event_parse(&options, json, on_event, taking, &error);
    if (err == SMA_ERR_OK)
        return taking->status;
    if (err == SMA_ERR_NOMEM)
        return 503;
    sma_ctx_log(feishu->ctx, SMA_LOG_WARN, "feishu: an event cannot be read (%s); dropped",
                err == SMA_ERR_TOOBIG ? sma_err_text(err) : error.text);
    return 200; /* refused, it would be brought again and read no better */
}

static void reject(struct feishu *feishu, const struct feishu_webhook_verdict *verdict)
{
    sma_adapter_health_error(&feishu->base.health, verdict->why);
    if (sma_adapter_is_worth_telling(++feishu->hook_refused_count)) /* anybody can cause these */
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN,
                    "feishu: a webhook request was rejected (%u so far): %s",
                    feishu->hook_refused_count, verdict->why);
}

void feishu_on_webhook(struct feishu *feishu, const struct sma_msg *msg,
                       const struct sma_webhook *webhook)
{
    const struct feishu_settings *settings = &feishu->settings;
    enum sma_actor_id asker = (enum sma_actor_id)msg->from;
    if (!settings->is_webhook || webhook->is_get) {
        answer(feishu, asker, msg->ask_id, settings->is_webhook ? 405 : 404, SMA_STR(""));
        return;
    }
    struct feishu_webhook_secrets secrets = {sma_str(settings->encrypt_key),
                                             sma_str(settings->verification_token)};
    struct feishu_webhook_request request = {
        .timestamp = sma_webhook_header(webhook, "X-Lark-Request-Timestamp"),
        .nonce = sma_webhook_header(webhook, "X-Lark-Request-Nonce"),
        .signature = sma_webhook_header(webhook, "X-Lark-Signature"),
        .body = webhook->body,
        .now_wall_ms = sma_ctx_wall(feishu->ctx),
    };
    struct sma_buf plain;
    struct feishu_webhook_verdict verdict = {
        .kind = FEISHU_WEBHOOK_REJECTED, .status = 503, .why = ""};
    sma_buf_init(&plain, FEISHU_WEBHOOK_BYTES_MAX + 1024);
    struct taking taking = {.feishu = feishu, .msg = msg, .read_ns = webhook->read_ns};
    if (feishu_webhook_read(&secrets, &request, &plain, &verdict) != SMA_ERR_OK) {
        answer(feishu, asker, msg->ask_id, 503, SMA_STR(""));
    } else if (verdict.kind == FEISHU_WEBHOOK_CHALLENGE) {
        answer(feishu, asker, msg->ask_id, 200, sma_buf_str(&plain));
    } else if (verdict.kind == FEISHU_WEBHOOK_REJECTED) {
        reject(feishu, &verdict);
        answer(feishu, asker, msg->ask_id, verdict.status, SMA_STR(""));
    } else {
        int status = take_event(&taking, sma_buf_str(&plain));
        if (status != 0)
            answer(feishu, asker, msg->ask_id, status, SMA_STR(""));
    }
    sma_buf_fini(&plain);
}

void feishu_webhook_settle(struct feishu *feishu, uint32_t index,
                           const struct sma_accepted *accepted, struct sma_str result)
{
    SMA_ASSERT(index < FEISHU_HOOK_COUNT_MAX && feishu->hooks[index].is_open);
    struct feishu_hook *hook = &feishu->hooks[index];
    bool is_refused = accepted->verdict == SMA_VERDICT_REFUSED && result.len == 0;
    answer(feishu, (enum sma_actor_id)hook->asker, hook->ask_id, is_refused ? 503 : 200, result);
    hook->is_open = false;
}
