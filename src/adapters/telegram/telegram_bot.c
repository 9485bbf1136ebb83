/*
 * telegram_bot.c — the steps before the first update: where we left off, no webhook in the way, who
 * we are, commands.
 *
 * Each step that matters is repeated for ever with back-off: a service that was started while the
 * network was down, or before its token was mended, comes up by itself.
 */
#include "telegram_priv.h"

#include "runtime/json/json_read.h"

#include <jansson.h>
#include <stdio.h>

#define REFUSED_S 60 /* a wrong token is tried again this often */

static void next_step(struct telegram *telegram);

/* -- trouble ----------------------------------------------------------------------------------- */
void telegram_bot_refused(struct telegram *telegram, int status)
{
    const char *text =
        status == 404 ? "the server of adapters.telegram.apiRoot does not know this bot (404). "
                        "Check botToken and apiRoot in ship.json and restart"
                      : "the bot token is refused (401): it is wrong or was revoked. Get the "
                        "current one from @BotFather (/mybots, API Token), put it into "
                        "adapters.telegram.botToken or the variable named there, and restart";
    if (sma_adapter_health_set(&telegram->base.health, SMA_CAUSE_LOGIN, text))
        sma_platform_log(&telegram->base, SMA_LOG_ERROR, "%s; trying again every %d s", text,
                         REFUSED_S);
}

static void step_failed(struct telegram *telegram, const char *method,
                        const struct sma_net_answer *answer)
{
    struct sma_answered outcome;
    sma_verdict(&telegram_verdicts, "asking Telegram", answer, SMA_WHEN_QUESTION, &outcome);
    sma_adapter_health_down(&telegram->base.health, outcome.error);
    uint64_t delay_ns = telegram_backoff_ns(telegram, ++telegram->bot_failure_count);
    if (outcome.act == SMA_ACT_OWNER) {
        telegram_bot_refused(telegram, answer->status);
        delay_ns = REFUSED_S * SMA_NS_PER_S;
    } else if (sma_adapter_is_worth_telling(telegram->bot_failure_count)) {
        sma_platform_log(&telegram->base, SMA_LOG_WARN, "%s failed (%u in a row): %s; trying again",
                         method, telegram->bot_failure_count, outcome.error);
    }
    uint64_t ordered_ns = outcome.retry_after_ms * SMA_NS_PER_MS;
    telegram->bot_due_ns =
        sma_ctx_now(telegram->ctx) + (ordered_ns > delay_ns ? ordered_ns : delay_ns);
}

static void step_is_done(struct telegram *telegram, enum telegram_phase next)
{
    telegram->phase = (uint8_t)next;
    telegram->bot_failure_count = 0;
    if (next == TELEGRAM_PHASE_READY)
        sma_adapter_health_up(&telegram->base.health);
    next_step(telegram);
}

/* -- deleteWebhook ----------------------------------------------------------------------------- */
static void on_unhooked(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    (void)user;
    bool is_done = answer->end == SMA_NET_ANSWERED && answer->status == 200;
    if (!is_done && telegram->bot.id != 0) {
        step_failed(telegram, "deleteWebhook", answer);
        return;
    }
    if (!is_done) /* tolerated: getMe tells more, and with a webhook in the way the poll says so */
        sma_adapter_health_error(&telegram->base.health, "deleteWebhook failed");
    step_is_done(telegram, telegram->bot.id == 0 ? TELEGRAM_PHASE_WHO : TELEGRAM_PHASE_READY);
}

void telegram_bot_unhook(struct telegram *telegram, uint64_t delay_ns)
{
    telegram->phase = TELEGRAM_PHASE_UNHOOK;
    if (delay_ns == 0)
        next_step(telegram);
    else
        telegram->bot_due_ns = sma_ctx_now(telegram->ctx) + delay_ns;
}

/* -- getMe ------------------------------------------------------------------------------------- */
static bool read_bot(struct telegram *telegram, const json_t *result)
{
    const json_t *id = json_object_get(result, "id"), *name = json_object_get(result, "username");
    if (!json_is_integer(id) || json_integer_value(id) <= 0)
        return false;
    const char *text = json_string_value(name);
    snprintf(telegram->bot_name, sizeof telegram->bot_name, "%s", text == NULL ? "" : text);
    telegram->bot = (struct telegram_bot){
        .id = json_integer_value(id),
        .username = sma_str(telegram->bot_name),
        .joins_groups = json_is_true(json_object_get(result, "can_join_groups")),
        .reads_all = json_is_true(json_object_get(result, "can_read_all_group_messages")),
    };
    return true;
}

static void on_who(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    (void)user;
    json_t *root;
    bool is_known = read_bot(telegram, telegram_result(answer, &root));
    json_decref(root);
    if (!is_known) {
        step_failed(telegram, "getMe", answer);
        return;
    }
    sma_adapter_health_heal(&telegram->base.health, SMA_CAUSE_LOGIN);
    telegram_commands_tell(telegram);
    bool sets_hook = telegram->settings.is_webhook && telegram->settings.webhook_url[0] != '\0';
    step_is_done(telegram, sets_hook ? TELEGRAM_PHASE_HOOK : TELEGRAM_PHASE_READY);
}

/* -- setWebhook -------------------------------------------------------------------------------- */
static void put_webhook(struct sma_buf *body, const struct telegram_settings *settings)
{
    sma_buf_put_text(body, "{\"url\":");
    sma_buf_put_json_string(body, sma_str(settings->webhook_url));
    sma_buf_put_text(body, ",\"secret_token\":");
    sma_buf_put_json_string(body, sma_str(settings->webhook_secret));
    sma_buf_put_text(body, ",\"drop_pending_updates\":false,"
                           "\"allowed_updates\":[\"message\",\"edited_message\",\"callback_query\","
                           "\"my_chat_member\"]}");
}

static void on_hooked(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    (void)user;
    if (answer->end == SMA_NET_ANSWERED && answer->status == 200)
        step_is_done(telegram, TELEGRAM_PHASE_READY);
    else
        step_failed(telegram, "setWebhook", answer);
}

/* -- in order ---------------------------------------------------------------------------------- */
static void tell_ready(struct telegram *telegram)
{
    if (telegram->is_ready_told)
        return;
    telegram->is_ready_told = true;
    const struct telegram_settings *settings = &telegram->settings;
    sma_platform_log(&telegram->base, SMA_LOG_INFO, "connected as @%s (%lld), %s%s",
                     telegram->bot_name, (long long)telegram->bot.id,
                     !settings->is_webhook              ? "polling"
                     : settings->webhook_url[0] != '\0' ? "webhook set; requests are taken at "
                                                        : "requests are taken at ",
                     settings->is_webhook ? telegram->base.home.webhook : "");
    if (telegram->bot.joins_groups && settings->is_paired)
        sma_platform_log(
            &telegram->base, SMA_LOG_WARN,
            "anybody may take this bot into a group; there it answers nobody "
            "until an owner lets the group in. /setjoingroups of @BotFather forbids it "
            "altogether");
}

static void start_step(struct telegram *telegram, const char *method, struct sma_buf *body,
                       sma_call_fn *done)
{
    if (sma_call_start(telegram->base.calls,
                       &(struct sma_call_options){.method = "POST",
                                                  .path = sma_str(method),
                                                  .body = body,
                                                  .may_repeat = true,
                                                  .total_ms = TELEGRAM_CONTROL_MS,
                                                  .done = done}) == NULL)
        telegram->bot_due_ns = sma_ctx_now(telegram->ctx) + SMA_NS_PER_S; /* out of memory */
}

static void next_step(struct telegram *telegram)
{
    struct sma_buf body;
    telegram->bot_due_ns = UINT64_MAX;
    if (telegram->base.is_intake_off)
        return;
    sma_buf_init(&body, 8192);
    switch ((enum telegram_phase)telegram->phase) {
    case TELEGRAM_PHASE_CURSOR:
        return;
    case TELEGRAM_PHASE_UNHOOK:
        sma_buf_put_text(&body, "{\"drop_pending_updates\":false}");
        start_step(telegram, "deleteWebhook", &body, on_unhooked);
        return;
    case TELEGRAM_PHASE_WHO:
        sma_buf_put_text(&body, "{}");
        start_step(telegram, "getMe", &body, on_who);
        return;
    case TELEGRAM_PHASE_HOOK:
        put_webhook(&body, &telegram->settings);
        start_step(telegram, "setWebhook", &body, on_hooked);
        return;
    case TELEGRAM_PHASE_READY:
        tell_ready(telegram);
        if (!telegram->settings.is_webhook)
            telegram_poll_start(telegram);
        return;
    }
}

void telegram_bot_tick(struct telegram *telegram, uint64_t now_ns)
{
    if (telegram->bot_due_ns <= now_ns)
        next_step(telegram);
}

void telegram_bot_take_cursor(struct telegram *telegram, struct sma_str json)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    int64_t value = 0;
    if (sma_json_load(json, &root) == SMA_ERR_OK)
        value = sma_json_int(root, "value", 0, INT64_MAX, 0);
    if (telegram->phase != TELEGRAM_PHASE_CURSOR)
        return;
    telegram->poll.offset = value > 0 ? value : 0;
    step_is_done(telegram, TELEGRAM_PHASE_UNHOOK);
}

void telegram_bot_begin(struct telegram *telegram)
{
    telegram->phase = TELEGRAM_PHASE_CURSOR;
    telegram->bot_due_ns = UINT64_MAX;
    (void)snprintf(telegram->poll.cursor_name, sizeof telegram->poll.cursor_name, "%s.offset",
                   telegram->base.home.name);
    if (telegram->settings.is_webhook) {
        step_is_done(telegram, TELEGRAM_PHASE_WHO);
        return;
    }
    if (!sma_platform_ask_cursor(&telegram->base, telegram->poll.cursor_name, NULL))
        step_is_done(telegram,
                     TELEGRAM_PHASE_UNHOOK); /* the platform still knows what was confirmed */
}
