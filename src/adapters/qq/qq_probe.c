/*
 * qq_probe.c — does QQ take this bot? Token, who we are, the gateway and how often it may still be
 * connected to today. Intents are told only to who connects, which would end a running session: the
 * service says in its log and in `status` which ones it goes without.
 */
#include "qq_priv.h"

#include "adapters/common/login_probe.h"
#include "qq_login.h"
#include "runtime/json/json_read.h"

#include <stdio.h>

#define IDENTIFY_COUNT_FEW 20
#define WHO_PATH "/users/@me"

static void say_limit(struct sma_probing *probing, const struct qq_gateway *gateway)
{
    if (!gateway->has_limit || gateway->remaining >= IDENTIFY_COUNT_FEW)
        return;
    sma_probing_say(probing, gateway->remaining == 0 ? SMA_PROBE_ERROR : SMA_PROBE_WARNING,
                    "sessions",
                    "something connects over and over: stop other programs that use this bot, and "
                    "do not restart the service until then",
                    "%lld of %lld new sessions are left for the next %lld minutes",
                    (long long)gateway->remaining, (long long)gateway->total,
                    (long long)(gateway->reset_after_ms / 60000));
}

static void on_gateway(void *state, struct sma_probing *probing,
                       const struct sma_net_answer *answer)
{
    struct qq *qq = state;
    struct sma_login_error error = {0};
    struct qq_gateway gateway;
    struct sma_buf names;
    if (sma_probing_is_lost(probing, answer, "gateway"))
        return;
    enum sma_login login = qq_gateway_parse(answer, &gateway, &error);
    if (!sma_login_probe_judge(
            probing, login, &error, "gateway",
            qq->settings.is_sandbox
                ? "q.qq.com: add yourself to the sandbox, and this machine's address to the bot's "
                  "IP list"
                : "q.qq.com: add this machine's address to the bot's IP list; a bot that is not "
                  "published needs \"sandbox\": true"))
        return;
    sma_buf_init(&names, 512);
    qq_put_intents(&names, qq->settings.intents);
    sma_probing_say(probing, SMA_PROBE_OK, "gateway", "",
                    "it may be connected to; intents asked for: %s (rights to them show only when "
                    "it connects)",
                    names.ptr == NULL ? "none" : names.ptr);
    sma_buf_fini(&names);
    if (gateway.shards > qq->settings.shard_count)
        sma_probing_say(probing, SMA_PROBE_WARNING, "shards", "set adapters.qq.shards to it",
                        "QQ recommends %u connections, %u are set", gateway.shards,
                        qq->settings.shard_count);
    say_limit(probing, &gateway);
}

static void on_who(void *state, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    (void)state;
    if (answer->end != SMA_NET_ANSWERED || answer->status != 200 ||
        sma_json_load(answer->body, &root) != SMA_ERR_OK)
        return; /* only for the name */
    struct sma_str name = sma_json_str(root, "username");
    char who[128];
    (void)snprintf(who, sizeof who, "%.*s", (int)(name.len < 100 ? name.len : 100), name.ptr);
    sma_probing_is(probing, who);
}

static void go_on(void *state, struct sma_probing *probing)
{
    const struct qq *qq = state;
    sma_probing_say(probing, SMA_PROBE_OK, "token", "", "QQ takes the AppID and its secret");
    sma_login_probe_get(probing, WHO_PATH, on_who);
    if (qq->settings.is_webhook)
        sma_probing_say(probing, SMA_PROBE_OK, "events", "",
                        "they come by webhook: QQ does not tell where it sends them");
    else
        sma_login_probe_get(probing, QQ_GATEWAY_BOT_PATH, on_gateway);
}

void qq_probe(void *state, struct sma_probing *probing)
{
    const struct qq *qq = state;
    if (qq->settings.secret[0] == '\0') {
        sma_probing_say(probing, SMA_PROBE_ERROR, "token", "put it into QQ_APP_SECRET of .env",
                        "there is no appSecret");
        return;
    }
    sma_login_probe_begin(
        probing, &(struct sma_login_probe){
                     .ops = &qq_call_ops,
                     .state = state,
                     .remedy = "copy AppID and AppSecret from q.qq.com (Development settings) into "
                               "QQ_APP_ID and QQ_APP_SECRET",
                     .go_on = go_on});
}
