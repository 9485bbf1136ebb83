/*
 * qq_webhook.c — events that come as requests to /webhooks/qq: believed by their signature.
 */
#include "qq_priv.h"

#include "runtime/json/json_read.h"

#include <stdio.h>

/* -- requests ---------------------------------------------------------------------------------- */
struct taking
{
    struct qq *qq;
    struct sma_origin origin;
    int status;
};

static void on_event(void *user, const struct qq_event *event)
{
    struct taking *taking = user;
    enum sma_took took = qq_take(taking->qq, event, &event->ingress, &taking->origin);
    taking->status = sma_webhook_status(took, &taking->origin);
}

static int take_event(struct qq *qq, const struct sma_webhook *webhook,
                      const struct qq_frame *frame, struct sma_webhook_slot *slot)
{
    if (qq->base.is_intake_off)
        return 503;
    qq_record_raw(qq, frame, webhook->body);
    struct taking taking = {.qq = qq, .origin = {.slot = slot}, .status = 503};
    struct qq_event_options options = qq_event_options_now(qq, webhook->read_ns);
    return qq_event_parse(&options, frame, on_event, &taking) == SMA_ERR_OK ? taking.status : 503;
}

static int take(void *state, const struct sma_webhook *webhook, struct sma_webhook_slot *slot,
                struct sma_buf *body)
{
    struct qq *qq = state;
    const struct qq_settings *settings = &qq->settings;
    struct qq_hook hook = {0};
    if (qq_hook_read(webhook, sma_str(settings->secret), sma_str(settings->app_id),
                     sma_ctx_wall(qq->ctx), &hook) != SMA_ERR_OK)
        return 503;
    int status = hook.status;
    if (hook.kind == QQ_HOOK_EVENT)
        status = take_event(qq, webhook, &hook.frame, slot);
    else
        sma_buf_put_str(body, sma_buf_str(&hook.body));
    if (hook.kind == QQ_HOOK_ANSWERED && hook.why[0] != '\0')
        status = sma_webhook_refuse(&qq->base.webhooks, status, hook.why);
    qq_hook_fini(&hook);
    return status;
}

const struct sma_webhook_ops qq_webhook_ops = {
    .take = take, .body_ok = QQ_HOOK_ANSWER_OK, .body_again = QQ_HOOK_ANSWER_AGAIN};

/* -- who we are -------------------------------------------------------------------------------- */
/* A webhook brings no READY; without our id only the mention of us in guild texts cannot be told
 * from others'. */
static void on_bot(void *state, void *user, const struct sma_net_answer *answer)
{
    struct qq *qq = state;
    (void)user;
    struct sma_answered outcome;
    json_t *root = NULL;
    sma_verdict(&qq_verdicts, "asking QQ", answer, SMA_WHEN_QUESTION, &outcome);
    if (outcome.attempt_class == SMA_ATTEMPT_SENT && outcome.message_id[0] != '\0' &&
        sma_json_load(answer->body, &root) == SMA_ERR_OK) {
        struct sma_str name = sma_json_str(root, "username");
        snprintf(qq->bot_id, sizeof qq->bot_id, "%.*s", (int)sizeof qq->bot_id - 1,
                 outcome.message_id);
        sma_platform_log(&qq->base, SMA_LOG_INFO,
                         "connected as %.*s (%s); requests are taken at %s",
                         (int)(name.len > 60 ? 60 : name.len), name.len == 0 ? "" : name.ptr,
                         qq->bot_id, qq->base.home.webhook);
        json_decref(root);
        return;
    }
    json_decref(root);
    if (sma_adapter_is_worth_telling(++qq->bot_failure_count))
        sma_platform_log(&qq->base, SMA_LOG_WARN, "asking who the bot is failed (%u in a row): %s",
                         qq->bot_failure_count, outcome.error);
    qq->bot_due_ns = sma_ctx_now(qq->ctx) +
                     sma_adapter_backoff_ns(qq->ctx, qq->bot_failure_count, QQ_BACKOFF_MAX_S);
}

void qq_webhook_begin(struct qq *qq)
{
    qq->bot_due_ns = UINT64_MAX;
    struct sma_call_options options = {
        .method = "GET", .path = SMA_STR("/users/@me"), .total_ms = QQ_CONTROL_MS, .done = on_bot};
    if (sma_call_start(qq->base.calls, &options) == NULL)
        qq->bot_due_ns = sma_ctx_now(qq->ctx) + SMA_NS_PER_S; /* out of memory */
}

void qq_webhook_tick(struct qq *qq, uint64_t now_ns)
{
    if (qq->bot_due_ns <= now_ns)
        qq_webhook_begin(qq);
}
