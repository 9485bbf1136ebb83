/*
 * Aim: files come in, go out, and are named as missing when they cannot; an old project goes on
 * where it stopped; a webhook serves as the long connection does and believes nobody else; wrong
 * credentials do not hammer.
 * Method: as feishu_chats.
 *   scenario_feishu_files BINARY FAKE_MODEL
 */
#include "feishu_world.h"

#include "support/check.h"

#include <dirent.h>
#include <sys/stat.h>

#define KEY "an-encrypt-key-of-the-app"
#define TOKEN "a-verification-token"
#define WEBHOOK \
    ",\"mode\":\"webhook\",\"encryptKey\":\"" KEY "\",\"verificationToken\":\"" TOKEN "\""
#define TRUE_LOGIN "\"appId\":\"" FAKE_FEISHU_APP "\",\"appSecret\":\"" FAKE_FEISHU_SECRET "\""

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *members)
{
    platform_world_start(world, &feishu_kind, binary, fake_model,
                         &(struct platform_options){.members = members});
}

/* -- files ------------------------------------------------------------------------------------- */
/* The one file in the adapter's cache whose name ends so; its content, malloc'ed. */
static char *read_cached(const struct platform_world *world, const char *end)
{
    char path[256], name[512] = "";
    snprintf(path, sizeof path, "%s/.ship/.cache/feishu", world->world.folder.path);
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len > strlen(end) && strcmp(entry->d_name + len - strlen(end), end) == 0)
            snprintf(name, sizeof name, ".ship/.cache/feishu/%s", entry->d_name);
    }
    closedir(folder);
    CHECK(name[0] != '\0');
    return folder_read(&world->world.folder, name);
}

static void send_file(const struct platform_world *world, const char *kind, const char *name,
                      const char *text)
{
    platform_tell(&world->client, "{s:s,s:s,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat", ANN_CHAT,
                  "user", ANN, "file", "kind", kind, "name", name, "text", text);
}

static void a_file_is_on_disk_before_the_model_reads_of_it(void)
{
    struct platform_world world;
    start(&world, NULL);
    send_file(&world, "file", "../my file.txt", "what the file says");
    chat_expect(&world, ANN_CHAT, "-my_file.txt");
    platform_settle(&world);
    CHECK(platform_asked(&world, "@attach document .ship/.cache/feishu/") > 0);
    char *text = read_cached(&world, "-my_file.txt");
    CHECK_TEXT("what the file says", text);
    free(text);
    send_file(&world, "image", "", "PNG");
    chat_expect(&world, ANN_CHAT, "@attach photo");
    platform_settle(&world);
    CHECK(platform_asked(&world, "@attach photo .ship/.cache/feishu/") > 0);
    platform_world_stop(&world);
}

static void a_file_that_cannot_be_had_is_named(void)
{
    struct platform_world world;
    start(&world, ",\"attachmentBytesMax\":1000");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:{s:s,s:s,s:i}}", "do", "say", "chat", ANN_CHAT,
                  "user", ANN, "file", "kind", "file", "name", "big.bin", "size", 1001);
    chat_expect(&world, ANN_CHAT, "-big.bin");
    platform_settle(&world);
    CHECK(platform_asked(&world, "big.bin") > 0);
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "fault", "method", "resource", "kind",
                  "cut");
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "fault", "method", "resource", "kind",
                  "token");
    send_file(&world, "file", "storm.txt", "whole in the end");
    chat_expect(&world, ANN_CHAT, "-storm.txt");
    char *text = read_cached(&world, "-storm.txt");
    CHECK_TEXT("whole in the end", text);
    free(text);
    platform_settle(&world);
    CHECK_INT(0, platform_counter(&world, "faults_left"));
    platform_world_stop(&world);
}

static void a_file_goes_out_with_its_words(void)
{
    static const char script[] =
        "[{\"calls\":[{\"name\":\"chat_send\",\"arguments\":{\"text\":\"@attach document "
        "report.txt | The report\\n"
        "@attach photo look.png\\n\\nhere it is\"}}]},{\"text\":\"Done.\"}]";
    struct platform_world world;
    platform_world_create(&world, &feishu_kind, fake_model,
                          &(struct platform_options){.script = script});
    folder_write(&world.world.folder, "report.txt", "all is well");
    folder_write(&world.world.folder, "look.png", "\x89PNG and so on");
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "fault", "method", "file", "kind", "token");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "image", "kind",
                  "lose_answer", "times", 1);
    service_start(&world.world.service, binary, &world.world.folder);
    chat_say(&world, ANN_CHAT, ANN, "send me the report");
    chat_expect(&world, ANN_CHAT, "here it is");
    platform_settle(&world);
    json_t *list = platform_do(&world.client, "{s:s,s:s}", "do", "list", "chat", ANN_CHAT);
    const json_t *messages = json_object_get(list, "messages");
    size_t files = 0, images = 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        if (strcmp(talk_text(message, "type"), "file") == 0) {
            files++;
            CHECK_TEXT("all is well", talk_text(message, "file_text"));
            CHECK_TEXT("report.txt", talk_text(message, "file_name"));
        }
        images += strcmp(talk_text(message, "type"), "image") == 0;
    }
    if (files != 1 || images != 1)
        chat_show(&world, ANN_CHAT);
    CHECK_INT(1, files);
    CHECK_INT(1, images);
    json_decref(list);
    platform_world_stop(&world);
}

/* -- old projects ------------------------------------------------------------------------------ */
static void make_dir(const struct folder *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    CHECK_INT(0, mkdir(path, 0755));
}

/* Its ship.json names variables; .env has them. */
static void an_old_project_goes_on_where_it_stopped(void)
{
    static const char *const dirs[] = {".ship", ".ship/chats", ".ship/.cache",
                                       ".ship/.cache/feishu", ".ship/.cache/feishu/dedupe"};
    struct platform_world world;
    char text[256];
    platform_world_create(&world, &feishu_kind, fake_model,
                          &(struct platform_options){
                              .block =
                                  "\"enabled\":true,\"appId\":\"${FEISHU_APP_ID}\",\"appSecret\":"
                                  "\"${FEISHU_APP_SECRET}\",\"domain\":\"http://127.0.0.1:%d\""});
    folder_write(&world.world.folder, ".env",
                 "FEISHU_APP_ID=" FAKE_FEISHU_APP "\nFEISHU_APP_SECRET=" FAKE_FEISHU_SECRET "\n");
    for (size_t i = 0; i < SMA_COUNT_OF(dirs); i++)
        make_dir(&world.world.folder, dirs[i]);
    struct chat_message seen = chat_say(&world, ANN_CHAT, ANN, "already seen by the old program");
    snprintf(text, sizeof text, "{\"ids\":[\"om_older\",\"%s\"]}", seen.id);
    folder_write(&world.world.folder, ".ship/.cache/feishu/dedupe/feishu%3Achat%3Aoc_ann.json",
                 text);
    folder_write(&world.world.folder, ".ship/.cache/feishu/threadInitiators.json",
                 "{\"initiators\":{\"feishu:chat:" TEAM "\":\"" BOB "\"},\"updatedAt\":1}");
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    chat_say(&world, ANN_CHAT, ANN, "new to everybody");
    chat_expect(&world, ANN_CHAT, "You said: new to everybody");
    chat_say(&world, TEAM, ANN, "@{bot} am I first?");
    chat_say(&world, TEAM, BOB, "@{bot} I was first");
    chat_expect(&world, TEAM, "You said: I was first");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, ANN_CHAT, "already"));
    CHECK_INT(0, chat_count(&world, TEAM, "You said: am I first?"));
    platform_world_stop(&world);
}

static void other_projects_are_not_touched(void)
{
    struct platform_world world;
    platform_world_create(
        &world, &feishu_kind, fake_model,
        &(struct platform_options){.block = "\"enabled\":true,\"domain\":\"http://127.0.0.1:%d\""});
    service_start(&world.world.service, binary,
                  &world.world.folder); /* not configured: as the old program, left out */
    talk_expect(world.world.service.port, "chat-1", "over HTTP", "You said: over HTTP");
    CHECK_INT(0, platform_counter(&world, "tickets"));
    platform_world_stop(&world);
}

/* -- credentials ------------------------------------------------------------------------------- */
static void wrong_credentials_are_said_and_do_not_hammer(void)
{
    struct platform_world world;
    platform_world_create(&world, &feishu_kind, fake_model, &(struct platform_options){0});
    platform_tell(&world.client, "{s:s,s:s}", "do", "secret", "secret", "another one");
    service_start(&world.world.service, binary, &world.world.folder);
    platform_await_log(&world, "app secret is wrong");
    for (long long until = process_now_ms() + 3000; process_now_ms() < until; process_pause_ms(100))
        continue; /* what would hammer does so now */
    json_t *counters = platform_do(&world.client, "{s:s}", "do", "counters");
    const json_t *calls = json_object_get(counters, "calls");
    CHECK(platform_number(calls, "token", 0) + platform_number(calls, "endpoint", 0) <= 4);
    json_decref(counters);
    talk_expect(world.world.service.port, "chat-1", "over HTTP",
                "You said: over HTTP"); /* the rest goes on */
    platform_world_stop(&world);
}

static void too_many_connections_are_said(void)
{
    struct platform_world world;
    platform_world_create(&world, &feishu_kind, fake_model, &(struct platform_options){0});
    platform_tell(&world.client, "{s:s,s:i}", "do", "connections", "max", 0);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_await_log(&world, "onnections");
    platform_world_stop(&world);
}

/* -- webhook ----------------------------------------------------------------------------------- */
static void set_webhook(const struct platform_world *world, const char *key, const char *token)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/webhooks/feishu", world->world.service.port);
    platform_tell(&world->client, "{s:s,s:s,s:s,s:s}", "do", "webhook", "url", url, "key", key,
                  "token", token);
}

static void a_webhook_serves_as_the_connection_does(void)
{
    struct platform_world world;
    start(&world, WEBHOOK);
    set_webhook(&world, KEY, TOKEN);
    platform_tell(&world.client, "{s:s}", "do", "challenge");
    platform_await_counter(&world, "challenges_good", 1);
    chat_say(&world, ANN_CHAT, ANN, "by webhook");
    chat_expect(&world, ANN_CHAT, "You said: by webhook");
    platform_settle(&world);
    platform_tell(&world.client, "{s:s,s:i}", "do", "redeliver", "count", 1);
    platform_settle(&world);
    CHECK_INT(1, chat_sent(&world, ANN_CHAT));
    CHECK_INT(0, service_stop(&world.world.service));
    chat_say(&world, ANN_CHAT, ANN, "while it is down");
    service_start(&world.world.service, binary, &world.world.folder);
    set_webhook(&world, KEY, TOKEN);
    chat_expect(&world, ANN_CHAT, "You said: while it is down");
    platform_settle(&world);
    CHECK_INT(2, chat_sent(&world, ANN_CHAT));
    CHECK_INT(0, platform_counter(&world, "opened")); /* no long connection beside it */
    platform_world_stop(&world);
}

static void a_webhook_believes_nobody_else(void)
{
    static const char *const kinds[] = {"signature", "unsigned", "old",    "token",
                                        "key",       "plain",    "garbage"};
    struct platform_world world;
    start(&world, WEBHOOK);
    set_webhook(&world, KEY, TOKEN);
    chat_say(&world, ANN_CHAT, ANN, "the true one");
    chat_expect(&world, ANN_CHAT, "You said: the true one");
    platform_settle(&world); /* who speaks while the run is still open is told to wait */
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "forge", "kind", kinds[i], "chat",
                      ANN_CHAT);
    platform_tell(&world.client, "{s:s,s:s}", "do", "challenge", "token", "a wrong one");
    platform_await_counter(&world, "challenges", 1);
    chat_say(&world, ANN_CHAT, ANN, "another true one");
    chat_expect(&world, ANN_CHAT, "You said: another true one");
    platform_settle(&world);
    CHECK_INT(0, platform_counter(&world, "challenges_good"));
    bool is_answered = false;
    json_t *forged = NULL;
    for (long long until = process_now_ms() + AWAIT_MS; !is_answered && process_now_ms() < until;
         process_pause_ms(5)) {
        json_decref(forged);
        forged = platform_do(&world.client, "{s:s}", "do", "forged");
        is_answered = true;
        for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
            is_answered &= platform_number(json_array_get(json_object_get(forged, "forged"), i),
                                           "status", -1) >= 0;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        int64_t status =
            platform_number(json_array_get(json_object_get(forged, "forged"), i), "status", -1);
        if (status < 400 || status >= 500)
            fprintf(stderr, "forged (%s): %lld\n", kinds[i], (long long)status);
        CHECK(status >= 400 && status < 500);
    }
    json_decref(forged);
    CHECK_INT(2, chat_sent(&world, ANN_CHAT));
    CHECK_INT(0, platform_asked(&world, "forged words"));
    platform_world_stop(&world);
}

static void a_webhook_without_a_secret_does_not_start(void)
{
    struct platform_world world;
    platform_world_create(
        &world, &feishu_kind, fake_model,
        &(struct platform_options){.block = "\"enabled\":true,\"mode\":\"webhook\"," TRUE_LOGIN});
    const char *argv[] = {binary, "start", world.world.folder.path, "--port", "0", NULL};
    char *output = NULL;
    int status = run_to_end((char *const *)argv, "", &output, 20000);
    CHECK(status != 0);
    if (strstr(output, "encryptKey") == NULL)
        fprintf(stderr, "%s\n", output);
    CHECK(strstr(output, "encryptKey") != NULL);
    free(output);
    server_stop(world.world.fake);
    fake_feishu_stop(world.fake);
    folder_remove(&world.world.folder);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_file_is_on_disk_before_the_model_reads_of_it);
    RUN(a_file_that_cannot_be_had_is_named);
    RUN(a_file_goes_out_with_its_words);
    RUN(an_old_project_goes_on_where_it_stopped);
    RUN(other_projects_are_not_touched);
    RUN(wrong_credentials_are_said_and_do_not_hammer);
    RUN(too_many_connections_are_said);
    RUN(a_webhook_serves_as_the_connection_does);
    RUN(a_webhook_believes_nobody_else);
    RUN(a_webhook_without_a_secret_does_not_start);
    return check_summary();
}
