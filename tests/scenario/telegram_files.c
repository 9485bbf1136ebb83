/*
 * Aim: files come in, go out, and are named as missing when they cannot; a group that becomes a
 * supergroup stays the same conversation; a webhook serves as polling does; an old project goes on
 * where it stopped.
 * Method: as telegram_chats.
 *   scenario_telegram_files BINARY FAKE_MODEL
 */
#include "telegram_world.h"

#include "support/check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUPER (-1009876543210)
#define SMALL (-4242)
#define SECRET "a-secret-of-twenty-characters"
#define DAY_S 86400

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *members)
{
    platform_world_start(world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){.members = members});
}

/* -- files ------------------------------------------------------------------------------------- */
/* The one file in the adapter's cache whose name ends so; "": there is none. */
static void find_cached(const struct platform_world *world, const char *end, char name[512])
{
    char path[256];
    name[0] = '\0';
    snprintf(path, sizeof path, "%s/.ship/.cache/telegram", world->world.folder.path);
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len > strlen(end) && strcmp(entry->d_name + len - strlen(end), end) == 0)
            snprintf(name, 512, ".ship/.cache/telegram/%s", entry->d_name);
    }
    closedir(folder);
}

/* Its content, malloc'ed. */
static char *read_cached(const struct platform_world *world, const char *end)
{
    char name[512];
    find_cached(world, end, name);
    CHECK(name[0] != '\0');
    return folder_read(&world->world.folder, name);
}

static void a_document_is_on_disk_before_the_model_reads_of_it(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat", ANN,
                  "user", ANN, "caption", "see this", "file", "kind", "document", "name",
                  "../my file.txt", "text", "what the file says");
    chat_expect(&world, ANN, "see this");
    platform_settle(&world);
    CHECK_INT(2, platform_asked(&world, "@attach document .ship/.cache/telegram/"));
    char *text = read_cached(&world, "-my_file.txt");
    CHECK_TEXT("what the file says", text);
    free(text);
    platform_tell(&world.client, "{s:s,s:i,s:i,s:{s:s,s:s}}", "do", "say", "chat", ANN, "user", ANN,
                  "file", "kind", "voice", "text", "OggS");
    platform_settle(&world);
    text = read_cached(&world, "-voice.ogg");
    CHECK_TEXT("OggS", text);
    free(text);
    platform_world_stop(&world);
}

/* ANN or BOB asks the model to fetch it again; until its result, which holds `part`, is told. */
static void fetch_again(const struct platform_world *world, int64_t chat, const char *member,
                        const char *value, const char *part)
{
    char text[700];
    snprintf(text, sizeof text, "again [[call download_attachment {\"%s\":\"%s\"}]]", member,
             value);
    size_t before = chat_count(world, chat, "Result: ");
    (void)chat_say(world, chat, chat, text);
    long long until = process_now_ms() + AWAIT_MS;
    while (chat_count(world, chat, "Result: ") == before && process_now_ms() < until)
        process_pause_ms(2);
    platform_settle(world);
    if (chat_count(world, chat, part) == 0)
        chat_show(world, chat);
    CHECK(chat_count(world, chat, part) > 0);
}

/* By path or by message, also after a restart; for who was there, and nobody else. What the
 * platform has no more is told as such, and what never came can still be had. */
static void what_came_is_fetched_again(void)
{
    struct platform_world world;
    char path[512], place[800], id[32];
    platform_world_start(&world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){.root =
                                                        ",\"permissions\":{\"roles\":{\"member\":"
                                                        "[\"telegram:1001\",\"telegram:1002\"]}}"});
    json_t *said = platform_do(&world.client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s,s:s}}", "do", "say",
                               "chat", ANN, "user", ANN, "caption", "see this", "file", "kind",
                               "document", "name", "my file.txt", "text", "what the file says");
    snprintf(id, sizeof id, "%lld",
             (long long)json_integer_value(json_object_get(said, "message_id")));
    json_decref(said);
    chat_expect(&world, ANN, "see this");
    platform_settle(&world);
    find_cached(&world, "-my_file.txt", path);
    snprintf(place, sizeof place, "%s/%s", world.world.folder.path, path);
    CHECK(unlink(place) == 0);
    fetch_again(&world, ANN, "path", path, "\"bytes\":18");
    char *text = read_cached(&world, "-my_file.txt");
    CHECK_TEXT("what the file says", text);
    free(text);
    CHECK(unlink(place) == 0);
    fetch_again(&world, ANN, "messageId", id, "\"name\":\"my file.txt");
    CHECK(access(place, R_OK) == 0);
    (void)chat_say(&world, BOB, BOB, "hello");
    chat_expect(&world, BOB, "You said: hello");
    CHECK(unlink(place) == 0);
    fetch_again(&world, BOB, "path", path, "No earlier message of this chat");
    fetch_again(&world, BOB, "messageId", id, "No earlier message of this chat");
    fetch_again(&world, ANN, "path", ".ship/.cache/telegram/nothing", "No earlier message");
    CHECK(access(place, F_OK) != 0);
    platform_status(&world, "file", 404, 404, 99);
    fetch_again(&world, ANN, "path", path, "could not be");
    CHECK(platform_log_has(&world, "telegram: an earlier message of telegram:chat:1001: an "));
    CHECK(access(place, F_OK) != 0);
    platform_world_stop(&world);
}

static void a_file_that_cannot_be_had_is_named(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s,s:i}}", "do", "say", "chat", ANN,
                  "user", ANN, "caption", "far too big", "file", "kind", "document", "name",
                  "big.bin", "size", (20 << 20) + 1);
    chat_expect(&world, ANN, "far too big");
    json_t *asked = world_asked(&world.world, "far too big");
    CHECK(strstr(talk_text(json_array_get(asked, 0), "body"), "big.bin") != NULL);
    json_decref(asked);
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "fault", "method", "file", "kind", "cut");
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "fault", "method", "getFile", "kind",
                  "html");
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat", ANN,
                  "user", ANN, "caption", "in bad weather", "file", "kind", "document", "name",
                  "storm.txt", "text", "whole in the end");
    chat_expect(&world, ANN, "in bad weather");
    char *text = read_cached(&world, "-storm.txt");
    CHECK_TEXT("whole in the end", text);
    free(text);
    platform_settle(&world);
    platform_world_stop(&world);
}

static void a_file_goes_out_with_its_words(void)
{
    static const char script[] = "[{\"calls\":[{\"name\":\"chat_send\",\"arguments\":{\"text\":\"@"
                                 "attach document report.txt | The report\\n\\nhere "
                                 "it is\"}}]},{\"text\":\"Done.\"}]";
    struct platform_world world;
    platform_world_create(&world, &telegram_kind, fake_model,
                          &(struct platform_options){.script = script});
    folder_write(&world.world.folder, "report.txt", "all is well");
    service_start(&world.world.service, binary, &world.world.folder);
    chat_say(&world, ANN, ANN, "send me the report");
    chat_expect(&world, ANN, "here it is");
    platform_settle(&world);
    json_t *list = platform_do(&world.client, "{s:s,s:i}", "do", "list", "chat", ANN);
    const json_t *messages = json_object_get(list, "messages");
    size_t files = 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        if (strcmp(talk_text(message, "kind"), "document") != 0)
            continue;
        files++;
        CHECK_TEXT("all is well", talk_text(message, "file_text"));
        CHECK_TEXT("report.txt", talk_text(message, "file_name"));
    }
    CHECK_INT(1, files);
    json_decref(list);
    platform_world_stop(&world);
}

/* -- migration --------------------------------------------------------------------------------- */
static void migration_keeps_the_conversation(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:i,s:s}", "do", "chat", "id", SMALL, "type", "group");
    chat_say(&world, SMALL, ANN, "@helper_bot keep the number four");
    chat_expect(&world, SMALL, "You said: keep the number four");
    platform_settle(&world);
    platform_tell(&world.client, "{s:s,s:i,s:I}", "do", "migrate", "chat", SMALL, "to",
                  (json_int_t)SUPER);
    platform_settle(&world);
    chat_say(&world, SUPER, ANN, "@helper_bot we have moved");
    chat_expect(&world, SUPER, "You said: we have moved");
    chat_say(&world, SUPER, BOB, "@helper_bot and I am not the initiator");
    chat_expect(&world, SUPER, "I answer only the person who spoke to me first"); /* she still is */
    platform_settle(&world);
    json_t *asked = world_asked(&world.world, "we have moved");
    CHECK(strstr(talk_text(json_array_get(asked, 0), "body"), "keep the number four") != NULL);
    json_decref(asked);
    platform_world_stop(&world);
}

static void an_answer_to_a_group_that_moved_follows_it(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:i,s:s}", "do", "chat", "id", SMALL, "type", "group");
    chat_say(&world, SMALL, ANN, "@helper_bot [[fault:silence ms=20000]] slow answer");
    while (platform_asked(&world, "slow answer") == 0)
        process_pause_ms(2);
    platform_tell(&world.client, "{s:s,s:i,s:I}", "do", "migrate", "chat", SMALL, "to",
                  (json_int_t)SUPER);
    world_end_silence(&world.world);
    chat_expect(&world, SUPER, "slow answer");
    platform_settle(&world);
    CHECK_INT(1,
              chat_count(&world, SUPER, "slow answer") + chat_count(&world, SMALL, "slow answer"));
    platform_world_stop(&world);
}

/* -- backlog ----------------------------------------------------------------------------------- */
static void what_is_older_than_a_day_is_only_recorded(void)
{
    struct platform_world world;
    platform_world_create(&world, &telegram_kind, fake_model, &(struct platform_options){0});
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:I}", "do", "say", "chat", ANN, "user", ANN,
                  "text", "from long ago", "date", (json_int_t)time(NULL) - DAY_S - 600);
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:I}", "do", "say", "chat", ANN, "user", ANN,
                  "text", "from yesterday", "date", (json_int_t)time(NULL) - DAY_S + 600);
    service_start(&world.world.service, binary, &world.world.folder);
    chat_expect(&world, ANN, "You said: from yesterday");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, ANN, "from long ago"));
    char *history = folder_read(&world.world.folder, ".ship/chats/telegram%3Achat%3A1001.jsonl");
    CHECK(history != NULL && strstr(history, "from long ago") != NULL);
    free(history);
    platform_world_stop(&world);
}

static void a_backlog_may_be_recorded_only(void)
{
    struct platform_world world;
    platform_world_create(&world, &telegram_kind, fake_model,
                          &(struct platform_options){.members = ",\"backlog\":\"record\""});
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:I}", "do", "say", "chat", ANN, "user", ANN,
                  "text", "while you were away", "date", (json_int_t)time(NULL) - 5);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:I}", "do", "say", "chat", ANN, "user", ANN,
                  "text", "now you are here", "date",
                  (json_int_t)time(NULL) + 2); /* a second is the finest a date can say */
    chat_expect(&world, ANN, "You said: now you are here");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, ANN, "while you were away"));
    char *history = folder_read(&world.world.folder, ".ship/chats/telegram%3Achat%3A1001.jsonl");
    CHECK(history != NULL && strstr(history, "while you were away") != NULL);
    free(history);
    platform_world_stop(&world);
}

/* -- old projects ------------------------------------------------------------------------------ */
static void make_dir(const struct folder *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    CHECK_INT(0, mkdir(path, 0755));
}

static void an_old_project_goes_on_where_it_stopped(void)
{
    static const char *const dirs[] = {".ship",
                                       ".ship/chats",
                                       ".ship/.cache",
                                       ".ship/.cache/telegram",
                                       ".ship/.cache/ingress",
                                       ".ship/.cache/ingress/telegram",
                                       ".ship/.cache/ingress/telegram/telegram%3Achat%3A1001"};
    struct platform_world world;
    char text[256];
    platform_world_create(&world, &telegram_kind, fake_model, &(struct platform_options){0});
    chat_say(&world, ANN, ANN, "already seen by offset");
    int64_t next = platform_get(&world.client, "next_update_id", "{s:s}", "do", "counters");
    int64_t marked = chat_say(&world, ANN, ANN, "already claimed by a marker").number;
    chat_say(&world, ANN, ANN, "new to everybody");
    for (size_t i = 0; i < SMA_COUNT_OF(dirs); i++)
        make_dir(&world.world.folder, dirs[i]);
    snprintf(text, sizeof text, "{\n  \"lastUpdateId\": %lld\n}\n", (long long)next - 1);
    folder_write(&world.world.folder, ".ship/.cache/telegram/lastUpdateId.json", text);
    snprintf(
        text, sizeof text,
        "{\n  \"initiators\": {\n    \"telegram:chat:%lld\": \"%d\"\n  },\n  \"updatedAt\": 1\n}\n",
        (long long)TEAM, BOB);
    folder_write(&world.world.folder, ".ship/.cache/telegram/threadInitiators.json", text);
    char name[256];
    snprintf(name, sizeof name, "%s/%lld.json", dirs[6], (long long)marked);
    snprintf(text, sizeof text,
             "{\n  \"v\": 1,\n  \"channel\": \"telegram\",\n  \"chatKey\": "
             "\"telegram:chat:1001\",\n  \"messageId\": "
             "\"%lld\",\n  \"claimedAt\": 1\n}",
             (long long)marked);
    folder_write(&world.world.folder, name, text);
    folder_write(
        &world.world.folder, ".ship/chats/telegram%3Achat%3A1001.jsonl",
        "{\"v\":1,\"ts\":1700000000000,\"channel\":\"telegram\",\"chatId\":\"1001\",\"chatKey\":"
        "\"telegram:chat:1001\",\"userId\":\"1001\",\"messageId\":\"1\",\"role\":\"user\",\"text\":"
        "\"old words\"}\n");
    service_start(&world.world.service, binary, &world.world.folder);
    chat_expect(&world, ANN, "You said: new to everybody");
    chat_say(&world, TEAM, ANN, "@helper_bot am I first?");
    chat_expect(&world, TEAM, "I answer only the person who spoke to me first");
    chat_say(&world, TEAM, BOB, "@helper_bot I was first");
    chat_expect(&world, TEAM, "You said: I was first");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, ANN, "already"));
    platform_world_stop(&world);
}

/* -- webhook ----------------------------------------------------------------------------------- */
static void set_webhook(const struct platform_world *world, const char *secret)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/webhooks/telegram", world->world.service.port);
    platform_tell(&world->client, "{s:s,s:s,s:s}", "do", "webhook", "url", url, "secret", secret);
}

static void a_webhook_serves_as_polling_does(void)
{
    struct platform_world world;
    start(&world, ",\"mode\":\"webhook\",\"webhookSecret\":\"" SECRET "\"");
    set_webhook(&world, SECRET);
    chat_say(&world, ANN, ANN, "by webhook");
    chat_expect(&world, ANN, "You said: by webhook");
    platform_settle(&world);
    set_webhook(&world, "another-secret-of-somebody");
    chat_say(&world, ANN, ANN, "by a stranger");
    for (long long until = process_now_ms() + 300; process_now_ms() < until;)
        CHECK_INT(1, platform_get(&world.client, "queued", "{s:s}", "do", "counters"));
    set_webhook(&world, SECRET); /* the platform tries again, and is let in */
    chat_expect(&world, ANN, "You said: by a stranger");
    CHECK_INT(0, service_stop(&world.world.service));
    chat_say(&world, ANN, ANN, "while it is down");
    chat_say(&world, BOB, BOB, "me too");
    service_start(&world.world.service, binary, &world.world.folder);
    set_webhook(&world, SECRET);
    chat_expect(&world, ANN, "You said: while it is down");
    chat_expect(&world, BOB, "You said: me too");
    platform_settle(&world);
    platform_tell(&world.client, "{s:s,s:i}", "do", "redeliver", "count", 4);
    platform_settle(&world);
    CHECK_INT(3, chat_sent(&world, ANN)); /* an event that comes again is not answered again */
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_document_is_on_disk_before_the_model_reads_of_it);
    RUN(what_came_is_fetched_again);
    RUN(a_file_that_cannot_be_had_is_named);
    RUN(a_file_goes_out_with_its_words);
    RUN(migration_keeps_the_conversation);
    RUN(an_answer_to_a_group_that_moved_follows_it);
    RUN(what_is_older_than_a_day_is_only_recorded);
    RUN(a_backlog_may_be_recorded_only);
    RUN(an_old_project_goes_on_where_it_stopped);
    RUN(a_webhook_serves_as_polling_does);
    return check_summary();
}
