/*
 * Aim: QQ's webhook serves as its gateway does: signed events are answered once, whatever is not
 * the platform's is refused, what was not taken comes again; and existing projects go on unchanged.
 * Method: the real binary between a QQ platform that posts and a model server.
 *   scenario_qq_webhook BINARY FAKE_MODEL
 */
#include "qq_world.h"

#include "support/check.h"

#define HOOK ",\"mode\":\"webhook\",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}"

static const char *binary, *fake_model;
static struct platform_world world;

static void start(void)
{
    platform_world_start(&world, &qq_kind, binary, fake_model,
                         &(struct platform_options){.members = HOOK});
}

static void events_by_post_are_answered_once(void)
{
    static const char *const chats[] = {ANN, TEAM, PLACE, DIRECT};
    start();
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        chat_say(&world, chats[i], NULL, "hello by post");
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        chat_expect(&world, chats[i], "You said: hello by post");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i}", "do", "say", "chat", ANN, "text",
                  "sent thrice", "times", 3);
    chat_expect(&world, ANN, "You said: sent thrice");
    platform_tell(&world.client, "{s:s,s:i}", "do", "redeliver", "count", 5); /* hours later */
    platform_talk(&world, 1, 1);
    CHECK_INT(1, chat_count(&world, ANN, "sent thrice"));
    CHECK_INT(1, chat_count(&world, TEAM, "hello by post"));
    CHECK_INT(0, platform_counter(&world, "webhook_failed"));
    CHECK_INT(0, platform_counter(&world, "identifies")); /* the gateway is not used */
    CHECK_INT(0, platform_counter(&world, "refusals"));
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "press", "chat", ANN, "data", "x");
    platform_talk(&world, 1, 1);
    json_t *list = platform_do(&world.client, "{s:s}", "do", "interactions");
    CHECK_INT(1,
              platform_number(json_array_get(json_object_get(list, "interactions"), 0), "acks", 0));
    json_decref(list);
    platform_world_stop(&world);
}

static void the_address_is_validated(void)
{
    start();
    json_t *result = platform_do(&world.client, "{s:s}", "do", "validate");
    if (!json_is_true(json_object_get(result, "is_valid")))
        fprintf(stderr, "%s\n", talk_text(result, "body"));
    CHECK(json_is_true(json_object_get(result, "is_valid")));
    json_decref(result);
    result = platform_do(&world.client, "{s:s,s:s}", "do", "validate", "secret", "another");
    CHECK(json_is_false(json_object_get(result, "is_valid")));
    CHECK(platform_number(result, "status", 0) >= 400);
    json_decref(result);
    platform_world_stop(&world);
}

#define EVENT(id)                                                            \
    "{\"op\":0,\"t\":\"C2C_MESSAGE_CREATE\",\"id\":\"C2C_MESSAGE_CREATE:" id \
    "\",\"d\":{\"id\":\"" id "\",\"content\":\"" id                          \
    "\",\"timestamp\":\"2026-07-21T10:00:00+08:00\",\"author\":{"            \
    "\"user_openid\":\"A1B2C3D4E5F60718293A4B5C6D7E8F90\"}}}"

/* @return its HTTP status */
static int64_t post(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *result = platform_vdo(&world.client, format, arguments);
    va_end(arguments);
    int64_t status = platform_number(result, "status", 0);
    json_decref(result);
    return status;
}

static void what_is_not_the_platforms_is_refused(void)
{
    char ones[129], zeros[129];
    memset(ones, 'f', 128);
    memset(zeros, '0', 128);
    ones[128] = zeros[128] = '\0';
    start();
    static const char *const headers[] = {"signature", "timestamp"};
    for (size_t i = 0; i < SMA_COUNT_OF(headers); i++)
        CHECK(post("{s:s,s:s,s:s}", "do", "post", "body", EVENT("no-header"), "without",
                   headers[i]) >= 400);
    const char *const signatures[] = {"", "00", "zz", ones, zeros};
    for (size_t i = 1; i < SMA_COUNT_OF(signatures); i++)
        CHECK(post("{s:s,s:s,s:s}", "do", "post", "body", EVENT("bad-signature"), "signature",
                   signatures[i]) >= 400);
    CHECK(post("{s:s,s:s,s:s}", "do", "post", "body", EVENT("other-secret"), "secret", "another") >=
          400);
    CHECK(post("{s:s,s:s,s:i}", "do", "post", "body", EVENT("too-old"), "seconds", -3600) >= 400);
    CHECK(post("{s:s,s:s,s:i}", "do", "post", "body", EVENT("from-the-future"), "seconds", 3600) >=
          400);
    CHECK(post("{s:s,s:s,s:s}", "do", "post", "body", EVENT("other-bot"), "app_id", "7") >= 400);
    CHECK(post("{s:s,s:s}", "do", "post", "body", "this is no JSON") >= 400);
    CHECK(post("{s:s,s:s}", "do", "post", "body", "{}") >= 400);
    platform_talk(&world, 1, 1);
    CHECK_INT(1, chat_sent(&world, ANN));
    CHECK_INT(0, platform_asked(&world, "no-header") + platform_asked(&world, "other-secret") +
                     platform_asked(&world, "too-old"));
    platform_world_stop(&world);
}

/* The signature is over the bytes as they came, whatever they look like. */
static void odd_but_signed_bodies_are_taken(void)
{
    start();
    CHECK_INT(200, post("{s:s,s:s}", "do", "post", "body",
                        "{\n  \"op\": 0,\n  \"d\": {},\n  \"t\": \"GATEWAY_EVENT_NAME\"\n}"));
    CHECK_INT(200, post("{s:s,s:s,s:s}", "do", "post", "body",
                        "{\"op\":0,\"t\":\"SOMETHING_NEW\",\"d\":[1]}", "without", "app_id"));
    platform_talk(&world, 1, 1);
    platform_world_stop(&world);
}

static void what_was_not_taken_comes_again(void)
{
    start();
    platform_talk(&world, 1, 1);
    CHECK_INT(0, service_stop(&world.world.service));
    chat_say(&world, ANN, NULL, "said while it was down.");
    chat_say(&world, BOB, NULL, "so did I.");
    platform_await_counter(&world, "webhook_failed", 3);
    service_start(&world.world.service, binary, &world.world.folder);
    qq_set_webhook(&world); /* at another port */
    long long ended = process_now_ms();
    chat_expect(&world, ANN, "You said: said while it was down.");
    chat_expect(&world, BOB, "You said: so did I.");
    CHECK(process_now_ms() - ended <= RECOVERY_MS);
    platform_settle(&world);
    char text[64];
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "near the end, number %d.", i);
        chat_say(&world, i % 2 == 0 ? ANN : BOB, NULL, text);
    }
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    qq_set_webhook(&world);
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "You said: near the end, number %d.", i);
        chat_expect(&world, i % 2 == 0 ? ANN : BOB, text);
    }
    platform_settle(&world);
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "You said: near the end, number %d.", i);
        CHECK_INT(1, chat_count(&world, i % 2 == 0 ? ANN : BOB, text));
    }
    CHECK_INT(0, platform_counter(&world, "lost"));
    platform_world_stop(&world);
}

static void without_a_secret_it_refuses_to_start(void)
{
    platform_world_create(&world, &qq_kind, fake_model, &(struct platform_options){0});
    char json[512], *output = NULL;
    snprintf(
        json, sizeof json,
        "{\"name\":\"tested\",\"llm\":{\"provider\":\"custom\",\"model\":\"fake-1\",\"baseUrl\":"
        "\"http://127.0.0.1:%d/v1\",\"apiKey\":\"k\"},\"access\":\"anyone\","
        "\"adapters\":{\"terminal\":{\"enabled\":"
        "false},\"qq\":{\"enabled\":true,\"appId\":\"%s\",\"mode\":\"webhook\"}}}",
        world.world.fake_port, FAKE_QQ_APP_ID);
    folder_write(&world.world.folder, "ship.json", json);
    const char *argv[] = {binary, "start", world.world.folder.path, "--port", "0", NULL};
    int status = run_to_end((char *const *)argv, "", &output, 20000);
    if (status == 0 || strstr(output, "appSecret") == NULL)
        fprintf(stderr, "%d: %s\n", status, output);
    CHECK(status != 0 && strstr(output, "appSecret") != NULL);
    free(output);
    server_stop(world.world.fake);
    fake_qq_stop(world.fake);
    folder_remove(&world.world.folder);
}

/* ship.json as the old program wrote it: placeholders and variables. Only the address of the
 * platform is ours. */
static void old_project_files_run_unchanged(void)
{
    static const char *const blocks[] = {"adapters", "integrations"};
    CHECK(setenv("QQ_APP_ID", FAKE_QQ_APP_ID, 1) == 0);
    CHECK(setenv("QQ_APP_SECRET", FAKE_QQ_SECRET, 1) == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(blocks); i++) {
        char json[1024];
        fprintf(stderr, "   %s.qq\n", blocks[i]);
        platform_world_create(&world, &qq_kind, fake_model, &(struct platform_options){0});
        snprintf(
            json, sizeof json,
            ",\"language\":\"en\",\"access\":\"anyone\",\"%s\":{\"qq\":{\"enabled\":true,\"appId\":"
            "\"${QQ_APP_ID}\","
            "\"appSecret\":\"${QQ_APP_SECRET}\",\"sandbox\":false,\"apiRoot\":"
            "\"http://127.0.0.1:%d\",\"tokenUrl\":\"http://127.0.0.1:%d/app/getAppAccessToken\"}"
            "}",
            blocks[i], world.client.port, world.client.port);
        world_configure(&world.world, world.world.fake_port, "\"apiKey\":\"" WORLD_API_KEY "\"",
                        json);
        service_start(&world.world.service, binary, &world.world.folder);
        platform_world_await_ready(&world);
        platform_talk(&world, 1, 1);
        chat_say(&world, TEAM, NULL, "and the group");
        chat_expect(&world, TEAM, "You said: and the group");
        platform_settle(&world);
        platform_world_stop(&world);
    }
    CHECK(unsetenv("QQ_APP_ID") == 0 && unsetenv("QQ_APP_SECRET") == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(events_by_post_are_answered_once);
    RUN(the_address_is_validated);
    RUN(what_is_not_the_platforms_is_refused);
    RUN(odd_but_signed_bodies_are_taken);
    RUN(what_was_not_taken_comes_again);
    RUN(without_a_secret_it_refuses_to_start);
    RUN(old_project_files_run_unchanged);
    return check_summary();
}
