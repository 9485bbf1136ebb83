/*
 * telegram_webhook.c — updates that the platform brings: authenticated by the secret header.
 */
#include "telegram_priv.h"

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
    struct sma_webhook_slot *slot;
    int status;
};

static void on_event(void *user, const struct telegram_event *event)
{
    struct taking *taking = user;
    struct sma_origin origin = {.slot = taking->slot};
    taking->status = sma_webhook_status(telegram_take(taking->telegram, event, &origin), &origin);
}

static int take(void *state, const struct sma_webhook *webhook, struct sma_webhook_slot *slot,
                struct sma_buf *body)
{
    struct telegram *telegram = state;
    struct sma_webhooks *webhooks = &telegram->base.webhooks;
    (void)body;
    struct sma_str given = sma_webhook_header(webhook, "X-Telegram-Bot-Api-Secret-Token");
    if (!is_secret(telegram->settings.webhook_secret, given))
        return sma_webhook_refuse(webhooks, 401, "it does not hold webhookSecret");
    if (telegram->base.is_intake_off || telegram->bot.id == 0)
        return 503;
    struct taking taking = {.telegram = telegram, .slot = slot, .status = 200};
    struct telegram_in_options options = telegram_in_options_now(telegram, webhook->read_ns);
    struct sma_error error = {0};
    enum sma_err err = telegram_update_parse(&options, webhook->body, on_event, &taking, &error);
    if (err == SMA_ERR_OK)
        return taking.status;
    return err == SMA_ERR_NOMEM ? 503 : sma_webhook_drop(webhooks, error.text);
}

const struct sma_webhook_ops telegram_webhook_ops = {.take = take};
