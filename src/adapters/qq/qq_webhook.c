/*
 * qq_webhook.c — events that come as requests to /webhooks/qq: believed by their signature,
 * answered 200 only when the store has finished with them. Anything else makes the platform bring
 * the event again.
 */
#include "qq_priv.h"

#include "runtime/json/json_read.h"

#include <stdio.h>

#define RETRY_AFTER_S 5
#define TELL_S 60 /* refused requests are said at most this often: anybody can send them */

static void answer_at_once(struct qq *qq, const struct sma_msg *msg, int status,
                           struct sma_str body)
{
    struct sma_webhook_answer answer = {
        .status = status, .body = body, .retry_after_s = status == 503 ? RETRY_AFTER_S : 0};
    sma_adapter_answer_webhook(qq->ctx, (enum sma_actor_id)msg->from, msg->ask_id, &answer);
}

/* -- events ------------------------------------------------------------------------------------ */
struct taking
{
    struct qq *qq;
    const struct sma_msg *msg;
    int status; /* to answer now; 0 = when the store has answered */
};

static struct qq_hook_place *free_place(struct qq *qq)
{
    for (size_t i = 0; i < QQ_HOOK_COUNT_MAX; i++)
        if (!qq->hooks[i].is_open)
            return &qq->hooks[i];
    return NULL;
}

static void on_event(void *user, const struct qq_event *event)
{
    struct taking *taking = user;
    struct qq *qq = taking->qq;
    sma_adapter_health_event(&qq->base.health);
    taking->status = 200;
    if (event->kind == QQ_EVENT_IGNORED) {
        if (event->interaction_id.len > 0)
            qq_acknowledge(qq, event->interaction_id, QQ_INTERACTION_DONE);
        return;
    }
    struct qq_hook_place *place = free_place(qq);
    taking->status = 503;
    if (place == NULL)
        return;
    struct qq_ask ask = {.asker = QQ_ASKER_HOOK, .index = (uint32_t)(place - qq->hooks)};
    if (qq_intake_ask(qq, event, &event->ingress, &ask) != SMA_ERR_OK)
        return;
    *place = (struct qq_hook_place){
        .is_open = true, .asker = taking->msg->from, .ask_id = taking->msg->ask_id};
    taking->status = 0;
}

static int take_event(struct qq *qq, const struct sma_msg *msg, const struct sma_webhook *webhook,
                      const struct qq_frame *frame)
{
    if (qq->base.is_intake_off)
        return 503;
    qq_capture(qq, frame, webhook->body);
    struct taking taking = {.qq = qq, .msg = msg, .status = 503};
    struct qq_event_options options = qq_event_options_now(qq, webhook->read_ns);
    return qq_event_parse(&options, frame, on_event, &taking) == SMA_ERR_OK ? taking.status : 503;
}

/* -- requests ---------------------------------------------------------------------------------- */
static void tell_refusal(struct qq *qq, const struct qq_hook *hook)
{
    uint64_t now_ns = sma_ctx_now(qq->ctx);
    bool is_due = qq->hook_told_ns == 0 || now_ns - qq->hook_told_ns >= TELL_S * QQ_NS_PER_S;
    if (hook->why[0] == '\0' || !is_due)
        return;
    qq->hook_told_ns = now_ns;
    sma_ctx_log(qq->ctx, SMA_LOG_WARN, "qq: a webhook request was refused (%d): %s", hook->status,
                hook->why);
}

static void take(struct qq *qq, const struct sma_msg *msg, const struct sma_webhook *webhook,
                 struct qq_hook *hook)
{
    if (hook->kind == QQ_HOOK_ANSWERED) {
        tell_refusal(qq, hook);
        answer_at_once(qq, msg, hook->status, sma_buf_str(&hook->body));
        return;
    }
    int status = take_event(qq, msg, webhook, &hook->frame);
    if (status != 0)
        answer_at_once(qq, msg, status,
                       status == 200 ? SMA_STR(QQ_HOOK_ANSWER_OK) : SMA_STR(QQ_HOOK_ANSWER_AGAIN));
}

void qq_on_webhook(struct qq *qq, const struct sma_msg *msg, const struct sma_webhook *webhook)
{
    const struct qq_settings *settings = &qq->settings;
    struct qq_hook hook = {0};
    if (!settings->is_webhook) {
        answer_at_once(qq, msg, 404, SMA_STR("{}"));
        return;
    }
    if (qq_hook_read(webhook, sma_str(settings->secret), sma_str(settings->app_id),
                     sma_ctx_wall(qq->ctx), &hook) != SMA_ERR_OK) {
        answer_at_once(qq, msg, 503, SMA_STR(QQ_HOOK_ANSWER_AGAIN));
        return;
    }
    take(qq, msg, webhook, &hook);
    qq_hook_fini(&hook);
}

void qq_webhook_settle(struct qq *qq, uint32_t index, const struct sma_accepted *accepted)
{
    SMA_ASSERT(index < QQ_HOOK_COUNT_MAX && qq->hooks[index].is_open);
    struct qq_hook_place *place = &qq->hooks[index];
    bool is_refused = accepted->verdict == SMA_VERDICT_REFUSED;
    uint32_t wait_s = (accepted->retry_after_ms + 999) / 1000;
    struct sma_webhook_answer answer = {.status = 200, .body = SMA_STR(QQ_HOOK_ANSWER_OK)};
    if (is_refused)
        answer = (struct sma_webhook_answer){.status = 503,
                                             .body = SMA_STR(QQ_HOOK_ANSWER_AGAIN),
                                             .retry_after_s = wait_s == 0 ? 1 : wait_s};
    sma_adapter_answer_webhook(qq->ctx, (enum sma_actor_id)place->asker, place->ask_id, &answer);
    place->is_open = false;
}

/* -- who we are -------------------------------------------------------------------------------- */
/* A webhook brings no READY; without our id only the mention of us in guild texts cannot be told
 * from others'. */
static void on_bot(struct qq *qq, void *user, const struct sma_net_answer *answer)
{
    (void)user;
    struct qq_outcome outcome;
    json_t *root = NULL;
    qq_classify(answer, &(struct qq_asked){0}, &outcome);
    if (outcome.attempt_class == SMA_ATTEMPT_SENT && outcome.message_id[0] != '\0' &&
        sma_json_load(answer->body, &root) == SMA_ERR_OK) {
        struct sma_str name = sma_json_str(root, "username");
        snprintf(qq->bot_id, sizeof qq->bot_id, "%.*s", (int)sizeof qq->bot_id - 1,
                 outcome.message_id);
        sma_ctx_log(
            qq->ctx, SMA_LOG_INFO, "qq: connected as %.*s (%s); requests are taken at /webhooks/qq",
            (int)(name.len > 60 ? 60 : name.len), name.len == 0 ? "" : name.ptr, qq->bot_id);
        json_decref(root);
        return;
    }
    json_decref(root);
    if (sma_adapter_is_worth_telling(++qq->bot_failure_count))
        sma_ctx_log(qq->ctx, SMA_LOG_WARN, "qq: asking who the bot is failed %u times: %s",
                    qq->bot_failure_count, outcome.error);
    qq->bot_due_ns = sma_ctx_now(qq->ctx) +
                     sma_adapter_backoff_ns(qq->ctx, qq->bot_failure_count, QQ_BACKOFF_MAX_S);
}

void qq_webhook_begin(struct qq *qq)
{
    qq->bot_due_ns = UINT64_MAX;
    struct qq_call_options options = {
        .method = "GET", .path = SMA_STR("/users/@me"), .total_ms = QQ_CONTROL_MS, .done = on_bot};
    if (qq_call_start(qq, &options) == NULL)
        qq->bot_due_ns = sma_ctx_now(qq->ctx) + QQ_NS_PER_S; /* out of memory */
}

void qq_webhook_tick(struct qq *qq, uint64_t now_ns)
{
    if (qq->bot_due_ns <= now_ns)
        qq_webhook_begin(qq);
}
