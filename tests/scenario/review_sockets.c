/*
 * Aim: Feishu and QQ beside each other in one service: both by webhook, both away for longer than a
 * first few tries last, and both bringing events whose members are of every wrong type.
 * Method: the real binary between both platforms and a model server.
 *   scenario_review_sockets BINARY FAKE_MODEL
 */
#include "feishu/fake_feishu.h"
#include "qq_world.h"

#include "support/check.h"

#define KEY "review key"
#define FEISHU_CHAT "oc_ann"
#define FEISHU_USER "ou_ann"
#define OUTAGE_MS 13000

static const char *binary, *fake_model;
static struct platform_world world;
static struct fake_feishu *feishu;
static struct platform_client platform;

/* -- the two together -------------------------------------------------------------------------- */
static void create(bool is_webhook)
{
    char members[512];
    feishu = fake_feishu_start(0);
    platform = fake_feishu_client(feishu);
    platform_tell(&platform, "{s:s,s:s,s:s}", "do", "user", "id", FEISHU_USER, "name", "Ann");
    /* the block of QQ ends here, that of Feishu where the world's text goes on */
    int len =
        snprintf(members, sizeof members,
                 "%s},\"feishu\":{\"enabled\":true,\"appId\":\"" FAKE_FEISHU_APP
                 "\",\"appSecret\":\"" FAKE_FEISHU_SECRET "\",\"domain\":\"http://127.0.0.1:%d\"%s",
                 is_webhook ? ",\"mode\":\"webhook\"" : "", platform.port,
                 is_webhook ? ",\"mode\":\"webhook\",\"encryptKey\":\"" KEY "\"" : "");
    CHECK(len > 0 && (size_t)len < sizeof members);
    platform_world_start(&world, &qq_kind, binary, fake_model,
                         &(struct platform_options){.members = members});
}

static void destroy(void)
{
    CHECK_INT(0, platform_get(&platform, "complaints", "{s:s}", "do", "counters"));
    platform_world_stop(&world);
    fake_feishu_stop(feishu);
}

static void show_feishu(void)
{
    static const char *const views[] = {"list", "counters", "events", "complaints"};
    for (size_t i = 0; i < SMA_COUNT_OF(views); i++) {
        json_t *view = platform_do(&platform, "{s:s,s:s}", "do", views[i], "chat", FEISHU_CHAT);
        char *text = json_dumps(view, 0);
        fprintf(stderr, "feishu %s: %s\n", views[i], text);
        free(text);
        json_decref(view);
    }
    chat_show(&world, ANN);
}

static void await_feishu(const char *counter, int64_t value)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (platform_get(&platform, counter, "{s:s}", "do", "counters") < value &&
           process_now_ms() < until)
        process_pause_ms(2);
    if (platform_get(&platform, counter, "{s:s}", "do", "counters") < value)
        show_feishu();
    CHECK(platform_get(&platform, counter, "{s:s}", "do", "counters") >= value);
}

static void say_feishu(const char *text)
{
    platform_tell(&platform, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", FEISHU_CHAT, "user",
                  FEISHU_USER, "text", text);
}

static size_t count_feishu(const char *part)
{
    json_t *list = platform_do(&platform, "{s:s,s:s}", "do", "list", "chat", FEISHU_CHAT);
    const json_t *messages = json_object_get(list, "messages");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        count += json_is_true(json_object_get(message, "is_ours")) &&
                 strstr(talk_text(message, "text"), part) != NULL;
    }
    json_decref(list);
    return count;
}

static void expect_feishu(const char *part)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (count_feishu(part) == 0 && process_now_ms() < until)
        process_pause_ms(2);
    if (count_feishu(part) != 1)
        show_feishu();
    CHECK_INT(1, count_feishu(part));
}

/* Both answer. */
static void talk(const char *text)
{
    char answer[128];
    snprintf(answer, sizeof answer, "You said: %s", text);
    say_feishu(text);
    chat_say(&world, ANN, NULL, text);
    expect_feishu(answer);
    chat_expect(&world, ANN, answer);
}

/* -- cases ------------------------------------------------------------------------------------- */
static void both_come_by_webhook(void)
{
    char url[128];
    create(true);
    platform_await_log(&world, "feishu: ready as");
    snprintf(url, sizeof url, "http://127.0.0.1:%d/webhooks/feishu", world.world.service.port);
    platform_tell(&platform, "{s:s,s:s,s:s}", "do", "webhook", "url", url, "key", KEY);
    platform_tell(&platform, "{s:s}", "do", "challenge");
    await_feishu("challenges_good", 1);
    talk("by both webhooks.");
    platform_settle(&world);
    destroy();
}

static void both_are_back_soon_after_an_outage(void)
{
    create(false);
    await_feishu("connections", 1);
    talk("first words.");
    platform_tell(&world.client, "{s:s,s:i}", "do", "restart", "ms", OUTAGE_MS);
    platform_tell(&platform, "{s:s,s:i}", "do", "restart", "ms", OUTAGE_MS);
    long long ended = process_now_ms() + (long long)sma_clock_wait_ms(OUTAGE_MS);
    say_feishu("meanwhile.");
    chat_say(&world, ANN, NULL, "meanwhile.");
    process_pause_ms(OUTAGE_MS);
    platform_await_counter(&world, "ready", 1);
    await_feishu("connections", 1);
    CHECK(process_now_ms() - ended <= RECOVERY_MS);
    platform_tell(&platform, "{s:s}", "do",
                  "hurry"); /* else after 15 s, if it was back, or 5 min */
    expect_feishu("You said: meanwhile.");
    chat_expect(&world, ANN, "You said: meanwhile.");
    talk("second words.");
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, "You said: meanwhile."));
    CHECK_INT(1, platform_counter(&world, "identifies"));
    destroy();
}

typedef void send_fn(json_t *event);

/* Every member once as every other type, the rest as it was. */
static void send_variants(json_t *root, json_t *at, send_fn *send)
{
    static const char *const values[] = {
        "null", "true", "-1",     "9223372036854775807",       "1e300",      "\"\"",
        "[]",   "{}",   "[null]", "[[{\"id\":[]}],\"\",{},5]", "{\"a\":{}}", "\"\\u0000\\n\""};
    const char *key;
    void *next;
    json_t *member;
    json_object_foreach_safe(at, next, key, member)
    {
        json_incref(member);
        for (size_t i = 0; i < SMA_COUNT_OF(values); i++) {
            json_object_set_new(at, key,
                                json_loads(values[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
            send(root);
        }
        json_object_set(at, key, member);
        send_variants(root, member, send);
        for (size_t i = 0; i < json_array_size(member); i++)
            send_variants(root, json_array_get(member, i), send);
        json_decref(member);
    }
}

static size_t sent_count;

static void send_feishu(json_t *event)
{
    char *bytes = json_dumps(event, JSON_COMPACT);
    platform_tell(&platform, "{s:s,s:s}", "do", "event", "bytes", bytes);
    free(bytes);
    sent_count++;
}

static const char *qq_type;

static void send_qq(json_t *event)
{
    platform_tell(&world.client, "{s:s,s:s,s:O}", "do", "emit", "type", qq_type, "data", event);
    sent_count++;
}

/* In a group nobody addresses the bot: what can be read is noted, nothing is said. */
static void members_of_any_type_hurt_nobody(void)
{
    static const char *const feishu_events[] = {
        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"ev1\",\"event_type\":\"im.message.receive_"
        "v1\","
        "\"create_time\":\"1784600000000\",\"token\":\"t\",\"app_id\":\"cli_x\",\"tenant_key\":"
        "\"k\"},"
        "\"event\":{\"sender\":{\"sender_id\":{\"open_id\":\"ou_1\",\"user_id\":\"u\",\"union_id\":"
        "\"on_1\"},"
        "\"sender_type\":\"user\"},\"message\":{\"message_id\":\"om_1\",\"root_id\":\"\",\"parent_"
        "id\":\"\","
        "\"create_time\":\"1784600000000\",\"chat_id\":\"oc_g\",\"thread_id\":\"omt_1\",\"chat_"
        "type\":\"group\","
        "\"message_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"@_user_1 a\\\"}\",\"mentions\":"
        "[{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"ou_2\"},\"name\":\"B\"}]}}}",
        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"ev2\",\"event_type\":\"im.chat.member.bot."
        "added_v1\"},"
        "\"event\":{\"chat_id\":\"oc_g\",\"operator_id\":{\"open_id\":\"ou_1\"},\"name\":\"N\"}}",
        "{\"event\":{\"type\":\"message\",\"open_id\":\"ou_1\",\"open_chat_id\":\"oc_g\",\"open_"
        "message_id\":\"om_2\","
        "\"chat_type\":\"group\",\"msg_type\":\"text\",\"text\":\"a\",\"is_mention\":false},"
        "\"uuid\":\"x\"}"};
    static const struct
    {
        const char *type, *data;
    } qq_events[] = {{"GROUP_MESSAGE_CREATE",
                      "{\"id\":\"g1\",\"content\":\"<@1> "
                      "hi\",\"timestamp\":\"2026-07-21T10:00:00+08:00\",\"group_openid\":\"G9\","
                      "\"author\":{\"id\":\"M\",\"member_openid\":\"M\",\"member_role\":\"member\","
                      "\"username\":\"u\",\"bot\":false},"
                      "\"attachments\":[{\"content_type\":\"image/"
                      "png\",\"filename\":\"f\",\"size\":1,\"url\":\"http://127.0.0.1:1/x\"}],"
                      "\"mentions\":[{\"scope\":\"single\",\"id\":\"1\",\"member_openid\":\"1\","
                      "\"username\":\"n\",\"is_you\":false}],"
                      "\"msg_elements\":[{\"content\":\"q\"}],\"message_scene\":{\"ext\":[\"a=b\"]}"
                      ",\"message_type\":0}"},
                     {"INTERACTION_CREATE",
                      "{\"id\":\"i1\",\"type\":11,\"group_openid\":\"G9\",\"group_member_openid\":"
                      "\"M\",\"channel_id\":\"\","
                      "\"user_openid\":\"\",\"data\":{\"type\":11,\"resolved\":{\"button_data\":"
                      "\"\",\"user_id\":\"\"}}}"}};
    create(false);
    await_feishu("connections", 1);
    talk("first words.");
    for (size_t i = 0; i < SMA_COUNT_OF(feishu_events); i++) {
        json_t *event = json_loads(feishu_events[i], 0, NULL);
        CHECK(event != NULL);
        send_variants(event, event, send_feishu);
        json_decref(event);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(qq_events); i++) {
        json_t *event = json_loads(qq_events[i].data, 0, NULL);
        CHECK(event != NULL);
        qq_type = qq_events[i].type;
        send_variants(event, event, send_qq);
        json_decref(event);
    }
    fprintf(stderr, "   %zu events\n", sent_count);
    talk("second words.");
    CHECK_INT(1, platform_get(&platform, "opened", "{s:s}", "do", "counters"));
    CHECK_INT(1, platform_counter(&world, "identifies"));
    CHECK_INT(0, platform_counter(&world, "resumes"));
    CHECK_INT(0, service_stop(&world.world.service));
    service_start(&world.world.service, binary, &world.world.folder);
    await_feishu("opened", 2);
    talk("third words.");
    destroy();
}

/* A start that fails says where, and leaves nothing behind; what is skipped is not skipped in
 * silence. */
static void wrong_settings_are_said(void)
{
    static const char *const names[] = {"qq", "feishu"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char json[512], key[64], *output = NULL;
        struct folder folder;
        int len = snprintf(
            json, sizeof json,
            "{\"name\":\"tested\",\"llm\":{\"provider\":\"custom\",\"model\":\"m\","
            "\"baseUrl\":\"http://127.0.0.1:1/v1\",\"apiKey\":\"k\"},\"access\":\"anyone\","
            "\"adapters\":{"
            "\"terminal\":{\"enabled\":false},\"%s\":{\"enabled\":true,\"appId\":"
            "\"1\",\"appSecret\":\"s\",\"caFile\":\"none.pem\"},\"%s\":{"
            "\"enabled\":true}}}",
            names[i], names[1 - i]);
        CHECK(len > 0 && (size_t)len < sizeof json);
        folder_create(&folder, json);
        const char *argv[] = {binary, "start", folder.path, "--port", "0", NULL};
        int status = run_to_end((char *const *)argv, "", &output, 20000);
        fprintf(stderr, "%s", output);
        CHECK_INT(1, status);
        snprintf(key, sizeof key, "adapters.%s.caFile cannot be used", names[i]);
        CHECK(strstr(output, key) != NULL && strstr(output, "none.pem") != NULL);
        snprintf(key, sizeof key, "adapters.%s is enabled, but has no credentials", names[1 - i]);
        CHECK(strstr(output, key) != NULL);
        CHECK(strstr(output, "left handles") == NULL);
        free(output);
        folder_remove(&folder);
    }
}

int main(int argc, char **argv)
{
    CHECK_INT(3, argc);
    binary = argv[1];
    fake_model = argv[2];
    RUN(wrong_settings_are_said);
    RUN(both_come_by_webhook);
    RUN(members_of_any_type_hurt_nobody);
    RUN(both_are_back_soon_after_an_outage);
    return check_summary();
}
