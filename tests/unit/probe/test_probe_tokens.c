/*
 * Aim: the probes of Feishu and QQ say whether the credentials are good, who the bot is, what right
 * it lacks and whether events can come, and connect to nothing.
 * Method: the simulated platforms; their counters tell what was asked.
 */
#include "adapters/feishu/feishu.h"
#include "adapters/qq/qq.h"
#include "cli/probe/probe.h"
#include "feishu/fake_feishu.h"
#include "qq/fake_qq.h"
#include "support/check.h"

#include <jansson.h>
#include <stdio.h>

static struct sma_probe_result result;

static void probe(const struct sma_adapter_ops *ops, const char *json, const char *secret)
{
    struct sma_config config = {.project_dir = "/tmp", .state_dir = "/tmp/.ship", .proxy = ""};
    struct sma_config_adapter block = {
        .name = ops->name, .is_enabled = true, .says_enabled = true, .json = json};
    sma_probe_platform(ops, &config, &block, &result);
    for (size_t i = 0; i < result.line_count; i++) {
        CHECK(strstr(result.lines[i].seen, secret) == NULL);
        CHECK(strstr(result.lines[i].remedy, secret) == NULL);
    }
}

static const struct sma_probe_line *line_of(const char *name, enum sma_probe_state state)
{
    for (size_t i = 0; i < result.line_count; i++)
        if (strcmp(result.lines[i].name, name) == 0) {
            CHECK_INT(state, result.lines[i].state);
            return &result.lines[i];
        }
    fprintf(stderr, "no line %s\n", name);
    exit(1);
}

#define HAS(text, part) CHECK(strstr((text), (part)) != NULL)

/* -- Feishu ------------------------------------------------------------------------------------ */
static void probe_feishu(struct fake_feishu *fake, const char *secret)
{
    char json[512];
    snprintf(json, sizeof json,
             "{\"enabled\":true,\"appId\":\"" FAKE_FEISHU_APP "\",\"appSecret\":\"%s\","
             "\"domain\":\"http://127.0.0.1:%d\"}",
             secret, fake_feishu_port(fake));
    probe(&sma_feishu_adapter_ops, json, secret);
}

static void tell_feishu(struct fake_feishu *fake, const char *what)
{
    json_t *answer = fake_feishu_command(fake, json_pack("{s:s,s:b}", "do", what, "on", 1));
    CHECK(json_object_get(answer, "error") == NULL);
    json_decref(answer);
}

CASE(a_feishu_app_with_its_scopes_is_fine)
{
    struct fake_feishu *fake = fake_feishu_start(0);
    probe_feishu(fake, FAKE_FEISHU_SECRET);
    CHECK_INT(SMA_PROBE_OK, result.state);
    CHECK_TEXT("Helper", result.who);
    (void)line_of("feishu token", SMA_PROBE_OK);
    (void)line_of("feishu bot", SMA_PROBE_OK);
    (void)line_of("feishu scopes", SMA_PROBE_OK);
    HAS(line_of("feishu events", SMA_PROBE_OK)->seen, "im.message.receive_v1");
    json_t *counters = fake_feishu_command(fake, json_pack("{s:s}", "do", "counters"));
    CHECK_INT(0, json_integer_value(json_object_get(counters, "connections")));
    json_decref(counters);
    fake_feishu_stop(fake);
}

CASE(what_a_feishu_app_lacks_is_named)
{
    struct fake_feishu *fake = fake_feishu_start(0);
    probe_feishu(fake, "anotherSecret0123456789abcdefgh");
    HAS(line_of("feishu token", SMA_PROBE_ERROR)->remedy, "FEISHU_APP_SECRET");
    CHECK_INT(1, result.line_count);
    tell_feishu(fake, "lacks_send");
    probe_feishu(fake, FAKE_FEISHU_SECRET);
    HAS(line_of("feishu scope", SMA_PROBE_ERROR)->seen, "im:message:send_as_bot is not granted");
    tell_feishu(fake, "forbid");
    probe_feishu(fake, FAKE_FEISHU_SECRET);
    HAS(line_of("feishu events", SMA_PROBE_ERROR)->remedy, "choose the long connection");
    tell_feishu(fake, "disable");
    probe_feishu(fake, FAKE_FEISHU_SECRET);
    HAS(line_of("feishu bot", SMA_PROBE_ERROR)->seen, "the app is disabled");
    fake_feishu_stop(fake);
}

/* -- QQ ---------------------------------------------------------------------------------------- */
static void probe_qq(struct fake_qq *fake, const char *secret)
{
    char json[512];
    snprintf(json, sizeof json,
             "{\"enabled\":true,\"appId\":\"" FAKE_QQ_APP_ID "\",\"appSecret\":\"%s\","
             "\"apiRoot\":\"http://127.0.0.1:%d\",\"tokenUrl\":"
             "\"http://127.0.0.1:%d/app/getAppAccessToken\"}",
             secret, fake_qq_port(fake), fake_qq_port(fake));
    probe(&sma_qq_adapter_ops, json, secret);
}

CASE(a_qq_bot_that_is_known_is_fine_and_identifies_nowhere)
{
    struct fake_qq *fake = fake_qq_start(0);
    struct platform_client client = fake_qq_client(fake);
    probe_qq(fake, FAKE_QQ_SECRET);
    CHECK_INT(SMA_PROBE_OK, result.state);
    CHECK_TEXT(FAKE_QQ_BOT_NAME, result.who);
    (void)line_of("qq token", SMA_PROBE_OK);
    HAS(line_of("qq gateway", SMA_PROBE_OK)->seen, "group_and_c2c");
    CHECK_INT(0, platform_get(&client, "identifies", "{s:s}", "do", "counters"));
    CHECK_INT(1000, platform_get(&client, "identifies_left", "{s:s}", "do", "counters"));
    fake_qq_stop(fake);
}

CASE(what_a_qq_bot_lacks_is_named)
{
    struct fake_qq *fake = fake_qq_start(0);
    struct platform_client client = fake_qq_client(fake);
    probe_qq(fake, "AnotherSecret000");
    HAS(line_of("qq token", SMA_PROBE_ERROR)->remedy, "QQ_APP_SECRET");
    CHECK_INT(1, result.line_count);
    platform_tell(&client, "{s:s,s:i,s:i}", "do", "gateway", "identifies", 0, "shards", 3);
    probe_qq(fake, FAKE_QQ_SECRET);
    HAS(line_of("qq sessions", SMA_PROBE_ERROR)->seen, "0 of 1000");
    HAS(line_of("qq shards", SMA_PROBE_WARNING)->seen, "3 connections");
    fake_qq_stop(fake);
}

CASES_MAIN
