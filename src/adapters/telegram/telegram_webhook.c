/*
 * telegram_webhook.c — updates that the platform brings: authenticated by the secret header,
 * answered 200 only when the store has finished with them. Anything else than 2xx makes the
 * platform bring the update again.
 */
#include "telegram_priv.h"

#define RETRY_AFTER_S 5

static void answer(struct telegram *telegram, enum sma_actor_id asker, uint64_t ask_id, int status,
                   uint32_t retry_after_s)
{
    const struct sma_webhook_answer made = {
        .status = status, .retry_after_s = retry_after_s, .body = SMA_STR("{}")};
    sma_adapter_answer_webhook(telegram->ctx, asker, ask_id, &made);
}

/* Takes as long for every wrong value of a length. */
static bool is_secret(const char *secret, struct sma_str given)
{
    size_t len = strlen(secret);
    unsigned difference = given.len == len ? 0 : 1;
    for (size_t i = 0; i < len; i++)
        difference |= (unsigned char)secret[i] ^ (i < given.len ? (unsigned char)given.ptr[i] : 0u);
    return difference == 0;
}

struct taking
{
    struct telegram *telegram;
    const struct sma_msg *msg;
    int status; /* to answer now; 0 = when the store has answered */
};

static struct telegram_hook *free_hook(struct telegram *telegram)
{
    for (size_t i = 0; i < TELEGRAM_HOOK_COUNT_MAX; i++)
        if (!telegram->hooks[i].is_open)
            return &telegram->hooks[i];
    return NULL;
}

static void on_event(void *user, const struct telegram_event *event)
{
    struct taking *taking = user;
    struct telegram *telegram = taking->telegram;
    sma_adapter_health_event(&telegram->base.health);
    taking->status = 200;
    if (event->kind == TELEGRAM_IGNORED) {
        if (event->callback_id.len > 0)
            telegram_answer_callback(telegram, event->callback_id, SMA_STR(""), false);
        return;
    }
    struct telegram_hook *hook = free_hook(telegram);
    taking->status = 503;
    struct telegram_intake intake = {.ingress = &event->ingress,
                                     .callback_id = event->callback_id,
                                     .update_id = event->update_id,
                                     .asker = TELEGRAM_ASKER_HOOK};
    if (hook == NULL)
        return;
    intake.index = (uint32_t)(hook - telegram->hooks);
    if (telegram_intake_ask(telegram, &intake) != SMA_ERR_OK)
        return;
    *hook = (struct telegram_hook){
        .is_open = true, .asker = taking->msg->from, .ask_id = taking->msg->ask_id};
    taking->status = 0;
}

/* @return the status to answer now, 0 = later */
static int take(struct telegram *telegram, const struct sma_msg *msg,
                const struct sma_webhook *webhook)
{
    const struct telegram_settings *settings = &telegram->settings;
    if (!settings->is_webhook)
        return 404;
    struct sma_str given = sma_webhook_header(webhook, "X-Telegram-Bot-Api-Secret-Token");
    if (!is_secret(settings->webhook_secret, given))
        return 401;
    if (telegram->base.is_intake_off || telegram->bot.id == 0)
        return 503;
    struct taking taking = {.telegram = telegram, .msg = msg, .status = 200};
    struct telegram_in_options options = telegram_in_options_now(telegram, webhook->read_ns);
    struct sma_error error = {0};
    enum sma_err err = telegram_update_parse(&options, webhook->body, on_event, &taking, &error);
    if (err == SMA_ERR_OK)
        return taking.status;
    if (err == SMA_ERR_NOMEM)
        return 503;
    sma_ctx_log(telegram->ctx, SMA_LOG_WARN, /* refused, it would be brought again and again */
                "telegram: a webhook request with the right secret holds no update (%s); dropped",
                error.text);
    return 200;
}

void telegram_on_webhook(struct telegram *telegram, const struct sma_msg *msg,
                         const struct sma_webhook *webhook)
{
    int status = take(telegram, msg, webhook);
    if (status != 0)
        answer(telegram, (enum sma_actor_id)msg->from, msg->ask_id, status,
               status == 503 ? RETRY_AFTER_S : 0);
}

void telegram_webhook_settle(struct telegram *telegram, uint32_t index,
                             const struct sma_accepted *accepted)
{
    SMA_ASSERT(index < TELEGRAM_HOOK_COUNT_MAX && telegram->hooks[index].is_open);
    struct telegram_hook *hook = &telegram->hooks[index];
    /* In conflict: it is told apart when it is brought again. */
    bool is_refused =
        accepted->verdict == SMA_VERDICT_REFUSED || accepted->verdict == SMA_VERDICT_CONFLICT;
    uint32_t wait_s = (accepted->retry_after_ms + 999) / 1000;
    answer(telegram, (enum sma_actor_id)hook->asker, hook->ask_id, is_refused ? 503 : 200,
           !is_refused   ? 0
           : wait_s == 0 ? 1
                         : wait_s);
    hook->is_open = false;
}
