/*
 * feishu_probe.c — does Feishu take this app? Token, bot, scopes, and whether the long connection
 * is chosen for events: an endpoint is asked for and not connected to.
 *
 * Which events are subscribed to is nowhere told by the API; a bot that connects and never hears
 * anything lacks im.message.receive_v1.
 * Source: open.feishu.cn, application-v6/scope/list (needs no scope itself); protocols/feishu.md.
 */
#include "feishu_priv.h"

#include "adapters/common/login_probe.h"
#include "feishu_code.h"
#include "feishu_login.h"

#include <stdio.h>

#define SCOPES_PATH "/open-apis/application/v6/scopes"
#define GRANT "developer console, Permissions & Scopes: add it; then release a version of the app"

/* -- scopes ------------------------------------------------------------------------------------ */
/* One of the names is enough. Without a needed one nothing works, without another one less. */
static const struct
{
    const char *names[5];
    bool is_needed;
    const char *what_for;
} SCOPES[] = {
    {{"im:message:send_as_bot", "im:message"}, true, "it cannot answer"},
    {{"im:message.p2p_msg:readonly", "im:message.p2p_msg", "im:message"},
     true,
     "it gets no private messages"},
    {{"im:message.group_at_msg:readonly", "im:message.group_at_msg", "im:message.group_msg",
      "im:message"},
     false,
     "it does not hear mentions in groups"},
    {{"im:resource", "im:message"}, false, "it can neither send nor fetch files"},
    {{"im:chat:readonly", "im:chat"}, false, "it cannot know who administers a group"},
};

static bool is_granted(const json_t *scopes, const char *name)
{
    for (size_t i = 0; i < json_array_size(scopes); i++) {
        const json_t *scope = json_array_get(scopes, i);
        if (sma_str_is_equal(sma_json_str(scope, "scope_name"), sma_str(name)) &&
            sma_json_int(scope, "grant_status", 0, 10, 0) == 1)
            return true;
    }
    return false;
}

static void say_scopes(struct sma_probing *probing, const json_t *scopes)
{
    bool lacks_any = false;
    for (size_t i = 0; i < SMA_COUNT_OF(SCOPES); i++) {
        bool has_one = false;
        for (size_t k = 0; SCOPES[i].names[k] != NULL; k++)
            has_one = has_one || is_granted(scopes, SCOPES[i].names[k]);
        lacks_any = lacks_any || !has_one;
        if (!has_one)
            sma_probing_say(probing, SCOPES[i].is_needed ? SMA_PROBE_ERROR : SMA_PROBE_WARNING,
                            "scope", GRANT, "%s is not granted: %s", SCOPES[i].names[0],
                            SCOPES[i].what_for);
    }
    if (!lacks_any)
        sma_probing_say(probing, SMA_PROBE_OK, "scopes", "", "all it needs are granted");
}

static void on_scopes(void *state, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct feishu_reply reply = feishu_reply_read(answer);
    const json_t *scopes = sma_json_get(sma_json_get(reply.root, "data"), "scopes");
    (void)state;
    if (reply.code == 0 && json_is_array(scopes)) {
        say_scopes(probing, scopes);
    } else {
        struct sma_answered answered;
        sma_verdict(&feishu_verdicts, "asking Feishu for the scopes", answer, SMA_WHEN_QUESTION,
                    &answered);
        sma_probing_say(probing, SMA_PROBE_WARNING, "scopes",
                        "compare them with docs/feishu.md in the developer console", "%s",
                        answered.error);
    }
    json_decref(reply.root);
}

/* -- events ------------------------------------------------------------------------------------ */
static void on_endpoint(void *state, struct sma_probing *probing,
                        const struct sma_net_answer *answer)
{
    struct sma_login_error error = {0};
    struct feishu_endpoint endpoint;
    (void)state;
    if (sma_probing_is_lost(probing, answer, "events"))
        return;
    enum sma_login login =
        feishu_endpoint_parse(answer, &FEISHU_CLIENT_CONFIG_DEFAULT, &endpoint, &error);
    if (sma_login_probe_judge(probing, login, &error, "events",
                              "developer console, Events & Callbacks: choose the long connection, "
                              "add im.message.receive_v1, and release a version of the app"))
        sma_probing_say(probing, SMA_PROBE_OK, "events", "",
                        "the long connection is open to it (the API does not tell which events it "
                        "is subscribed to: im.message.receive_v1 is needed)");
    explicit_bzero(&endpoint, sizeof endpoint);
}

static void ask_events(const struct feishu *feishu, struct sma_probing *probing)
{
    struct sma_buf body;
    if (feishu->settings.is_webhook) {
        sma_probing_say(probing, SMA_PROBE_OK, "events", "",
                        "they come by webhook: Feishu does not tell where it sends them");
        return;
    }
    sma_buf_init(&body, 65536);
    feishu_put_endpoint_body(&body, sma_str(feishu->settings.app_id),
                             sma_str(feishu->settings.app_secret));
    sma_login_probe_post(probing, FEISHU_ENDPOINT_PATH, &body, on_endpoint);
}

/* -- the bot ----------------------------------------------------------------------------------- */
static void on_bot(void *state, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct sma_login_error error = {0};
    struct feishu_bot bot;
    if (sma_probing_is_lost(probing, answer, "bot"))
        return;
    enum sma_login login = feishu_bot_parse(answer, &bot, &error);
    if (!sma_login_probe_judge(probing, login, &error, "bot",
                               "developer console: enable the bot ability of the app, and release "
                               "a version"))
        return;
    sma_probing_is(probing, bot.name);
    sma_probing_say(probing, bot.is_active ? SMA_PROBE_OK : SMA_PROBE_ERROR, "bot",
                    bot.is_active ? ""
                                  : "developer console: release a version of the app, and "
                                    "have it enabled by an administrator",
                    "%s%s", bot.name,
                    bot.is_active ? "" : " is not enabled in this organisation: nobody reaches it");
    sma_login_probe_get(probing, SCOPES_PATH, on_scopes);
    ask_events(state, probing);
}

static void go_on(void *state, struct sma_probing *probing)
{
    (void)state;
    sma_probing_say(probing, SMA_PROBE_OK, "token", "", "Feishu takes the app id and its secret");
    sma_login_probe_get(probing, FEISHU_BOT_PATH, on_bot);
}

void feishu_probe(void *state, struct sma_probing *probing)
{
    sma_login_probe_begin(
        probing,
        &(struct sma_login_probe){
            .ops = &feishu_call_ops,
            .state = state,
            .remedy = "copy App ID and App Secret from the developer console (Credentials & Basic "
                      "Info) into FEISHU_APP_ID and FEISHU_APP_SECRET; for Lark, set "
                      "adapters.feishu.domain to https://open.larksuite.com",
            .go_on = go_on});
}
