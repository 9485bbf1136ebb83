/*
 * telegram_probe.c — does Telegram take this bot? getMe and getWebhookInfo: both only read, and
 * take no update away from a service that is polling.
 */
#include "telegram_priv.h"

#include "runtime/json/json_read.h"
#include "sma/probe.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#define PENDING_COUNT_MUCH 1000

static void ask(struct telegram *telegram, struct sma_probing *probing, const char *method,
                sma_probe_fn *done)
{
    struct sma_buf url;
    sma_buf_init(&url, 8192);
    telegram_call_ops.put_root(telegram, &url);
    sma_buf_put_text(&url, method);
    sma_probing_ask(probing, &(struct sma_probe_ask){
                                 .method = "GET", .url = &url, .done = done, .user = telegram});
}

/* -- getWebhookInfo ---------------------------------------------------------------------------- */
/* While we poll: the first start takes it away by itself, but who else has set it? */
static void say_polling(struct sma_probing *probing, struct sma_str host)
{
    if (host.len == 0)
        sma_probing_say(probing, SMA_PROBE_OK, "events", "",
                        "no webhook is set: they can be fetched");
    else
        sma_probing_say(probing, SMA_PROBE_WARNING, "events",
                        "`start` takes the webhook away and fetches; if another program uses this "
                        "bot, stop it or make a bot of its own with @BotFather",
                        "a webhook is set (to %.*s), while adapters.telegram.mode is polling",
                        (int)host.len, host.ptr);
}

static void say_webhook(const struct telegram *telegram, struct sma_probing *probing,
                        struct sma_str url, struct sma_str host)
{
    const char *own = telegram->settings.webhook_url;
    if (url.len == 0)
        sma_probing_say(probing, own[0] == '\0' ? SMA_PROBE_ERROR : SMA_PROBE_WARNING, "events",
                        own[0] == '\0'
                            ? "set adapters.telegram.webhookUrl, or call setWebhook yourself with "
                              "webhookSecret as secret_token"
                            : "`start` sets it",
                        "adapters.telegram.mode is webhook, and none is set at Telegram");
    else if (own[0] != '\0' && !sma_str_is_equal(url, sma_str(own)))
        sma_probing_say(probing, SMA_PROBE_WARNING, "events",
                        "`start` sets adapters.telegram.webhookUrl; if another program uses this "
                        "bot, stop it",
                        "the webhook at Telegram is another one (to %.*s)", (int)host.len,
                        host.ptr);
    else
        sma_probing_say(probing, SMA_PROBE_OK, "events", "", "the webhook is set, to %.*s",
                        (int)host.len, host.ptr);
}

static void say_trouble(struct sma_probing *probing, const json_t *info)
{
    struct sma_str said = sma_json_str(info, "last_error_message");
    int64_t pending = sma_json_int(info, "pending_update_count", 0, INT64_MAX, 0);
    if (said.len > 0)
        sma_probing_say(probing, SMA_PROBE_WARNING, "webhook",
                        "check the reverse proxy, its certificate, and that it leads to "
                        "/webhooks/telegram of this service",
                        "Telegram could not deliver: %.*s", (int)(said.len < 200 ? said.len : 200),
                        said.ptr);
    if (pending >= PENDING_COUNT_MUCH)
        sma_probing_say(probing, SMA_PROBE_WARNING, "queue",
                        "start the service soon: Telegram keeps them for a day",
                        "%lld messages wait at Telegram", (long long)pending);
}

static void on_hook(void *state, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    json_t *root;
    if (sma_probing_is_lost(probing, answer, "events"))
        return;
    const json_t *info = telegram_result(answer, &root);
    struct sma_str url = sma_json_str(info, "url");
    char text[512];
    (void)snprintf(text, sizeof text, "%.*s", (int)url.len, url.ptr);
    struct sma_str host = sma_url_host(text);
    if (info == NULL)
        sma_probing_say(probing, SMA_PROBE_WARNING, "events", "try again",
                        "getWebhookInfo was answered with HTTP %d", answer->status);
    else if (telegram->settings.is_webhook)
        say_webhook(telegram, probing, url, host);
    else
        say_polling(probing, host);
    if (info != NULL && url.len > 0)
        say_trouble(probing, info);
    json_decref(root);
}

/* -- getMe ------------------------------------------------------------------------------------- */
static void say_refused(const struct telegram *telegram, struct sma_probing *probing,
                        const struct sma_net_answer *answer)
{
    char said[200];
    telegram_describe(answer, said);
    bool is_token = answer->status == 401 || (answer->status == 404 && telegram->settings.is_cloud);
    if (is_token)
        sma_probing_say(probing, SMA_PROBE_ERROR, "token",
                        "get the current one from @BotFather (/mybots, API Token) and put it into "
                        "the variable that adapters.telegram.botToken names",
                        "Telegram refuses the bot token (HTTP %d%s%s): it is wrong or was revoked",
                        answer->status, said[0] == '\0' ? "" : ": ", said);
    else
        sma_probing_say(probing,
                        answer->status >= 500 || answer->status == 429 ? SMA_PROBE_WARNING
                                                                       : SMA_PROBE_ERROR,
                        "token",
                        answer->status >= 500 || answer->status == 429
                            ? "Telegram has trouble or limits the rate: try again later"
                            : "check adapters.telegram.apiRoot and botToken",
                        "getMe was answered with HTTP %d%s%s", answer->status,
                        said[0] == '\0' ? "" : ": ", said);
}

/* Privacy mode is right for a bot that is mentioned, and wrong for one that is to follow a talk. */
static void say_groups(struct sma_probing *probing, const json_t *bot)
{
    if (!json_is_true(json_object_get(bot, "can_join_groups")))
        sma_probing_say(probing, SMA_PROBE_WARNING, "groups",
                        "if it is to work in groups: @BotFather, /setjoingroups, Enable",
                        "the bot cannot be added to groups");
    else if (!json_is_true(json_object_get(bot, "can_read_all_group_messages")))
        sma_probing_say(probing, SMA_PROBE_WARNING, "privacy",
                        "if it is to follow a talk without being mentioned: @BotFather, "
                        "/setprivacy, Disable; then remove it from the group and add it again",
                        "privacy mode is on: in groups it sees commands, replies to it and "
                        "mentions only (can_read_all_group_messages)");
    else
        sma_probing_say(probing, SMA_PROBE_OK, "privacy", "",
                        "privacy mode is off: it sees all messages of its groups");
}

static void on_who(void *state, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    json_t *root;
    if (sma_probing_is_lost(probing, answer, "token"))
        return;
    const json_t *bot = telegram_result(answer, &root);
    struct sma_str name = sma_json_str(bot, "username");
    if (bot == NULL || sma_json_int(bot, "id", 1, INT64_MAX, 0) == 0) {
        say_refused(telegram, probing, answer);
    } else {
        char who[128];
        (void)snprintf(who, sizeof who, "@%.*s", (int)(name.len < 100 ? name.len : 100), name.ptr);
        sma_probing_is(probing, who);
        sma_probing_say(probing, SMA_PROBE_OK, "token", "", "Telegram knows the bot as %s", who);
        say_groups(probing, bot);
        ask(telegram, probing, "getWebhookInfo", on_hook);
    }
    json_decref(root);
}

void telegram_probe(void *state, struct sma_probing *probing)
{
    ask(state, probing, "getMe", on_who);
}
