/*
 * Aim: the corners of the Telegram adapter that a sceptical reader asks about: kills and stops
 * while something is being fetched, albums of groups, groups that move under an open run, sockets
 * that hang, and an idle service that sleeps.
 * Method: as telegram_chats.
 *   scenario_telegram_review BINARY FAKE_MODEL
 */
#include "telegram_world.h"

#include "support/check.h"

#include <dirent.h>
#include <signal.h>

#define QUICK ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0,\"perGroupPerMinute\":0}"
#define SECRET "0123456789-abcdef"
#define KILL_COUNT 8
#define BURST_COUNT 6
#define IDLE_MS 2500
#define PRESS_COUNT 400
#define DESCRIPTOR_COUNT_MAX 200 /* far below any system's limit, far above what is needed */

static const char *binary, *fake_model, *only;
static struct platform_world world;

#define RUN_CASE(name)                                \
    do {                                              \
        if (only == NULL || strcmp(only, #name) == 0) \
            RUN(name);                                \
    } while (0)

static void start(const char *members)
{
    platform_world_start(&world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){.members = members});
}

static void restart(void)
{
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
}

static void fault(const char *method, const char *kind, int times)
{
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", method,
                  "kind", kind, "times", times, "ms", 1500, "bytes", 7);
}

static int64_t counter(const char *name)
{
    return platform_get(&world.client, name, "{s:s}", "do", "counters");
}

static void await_faults_met(void)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (counter("faults_left") > 0 && process_now_ms() < until)
        process_pause_ms(2);
    CHECK_INT(0, counter("faults_left"));
}

static void expect_count(int64_t chat, size_t count, const char *part)
{
    size_t found = chat_count(&world, chat, part);
    if (found != count)
        chat_show(&world, chat);
    CHECK_INT(count, found);
}

/* -- fetching ---------------------------------------------------------------------------------- */
static void send_document(int64_t chat, const char *caption)
{
    platform_tell(&world.client, "{s:s,s:I,s:i,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat",
                  (json_int_t)chat, "user", ANN, "caption", caption, "file", "kind", "document",
                  "name", "notes.txt", "text", "what the notes say");
}

/* Each telling counts against the bot's rate, and undoes what was written at @BotFather. */
static void the_commands_are_told_once_and_not_at_every_start(void)
{
    start(NULL);
    CHECK_INT(0, service_stop(&world.world.service));
    fault("setMyCommands", "status", 2);
    restart();
    chat_say(&world, ANN, ANN, "hello.");
    chat_expect(&world, ANN, "You said: hello.");
    CHECK_INT(2, counter("faults_left"));
    CHECK_INT(0, service_stop(&world.world.service));
    char command[300];
    snprintf(command, sizeof command, "rm %s/.ship/.cache/telegram/commands-*.txt",
             world.world.folder.path);
    CHECK_INT(0, system(command));
    restart();
    await_faults_met();
    chat_say(&world, ANN, ANN, "still there?");
    chat_expect(&world, ANN, "You said: still there?");
    CHECK(system(command) != 0); /* not taken, so not told: the next start tries again */
    platform_world_stop(&world);
}

static void a_kill_while_fetching_loses_and_doubles_nothing(void)
{
    start(QUICK);
    fault("file", "half_open", 1);
    send_document(ANN, "read this please");
    await_faults_met();
    chat_say(&world, ANN, ANN, "and then this");
    service_kill(&world.world.service);
    restart();
    chat_expect(&world, ANN, "read this please");
    chat_expect(&world, ANN, "and then this");
    platform_settle(&world);
    expect_count(ANN, 1, "read this please");
    expect_count(ANN, 1, "and then this");
    platform_world_stop(&world);
}

/* As many as are fetched at once: everybody else's would stand in line behind them. */
static void downloads_that_hang_are_begun_again(void)
{
    start(QUICK);
    fault("file", "half_open", 4);
    static const char *const captions[] = {"paper one", "paper two", "paper three", "paper four"};
    for (size_t i = 0; i < SMA_COUNT_OF(captions); i++)
        send_document(ANN, captions[i]);
    await_faults_met();
    long long asked = process_now_ms();
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat", BOB,
                  "user", BOB, "caption", "the paper of Bob", "file", "kind", "document", "name",
                  "bob.txt", "text", "what Bob says");
    chat_expect(&world, BOB, "the paper of Bob");
    for (size_t i = 0; i < SMA_COUNT_OF(captions); i++)
        chat_expect(&world, ANN, captions[i]);
    CHECK(process_now_ms() - asked < 25000);
    CHECK_INT(0, platform_asked(&world, "could not be fetched"));
    platform_settle(&world);
    platform_world_stop(&world);
}

static void a_stop_while_fetching_ends_the_message(void)
{
    start(QUICK);
    fault("getFile", "half_open", 1);
    send_document(ANN, "read this please");
    await_faults_met();
    chat_say(&world, ANN, ANN, "/stop");
    chat_expect(&world, ANN, "topped");
    chat_say(&world, ANN, ANN, "something else");
    long long asked = process_now_ms();
    chat_expect(&world, ANN, "You said: something else");
    CHECK(process_now_ms() - asked < 5000 * PATIENCE); /* the fetch that hangs holds up nobody */
    platform_settle(&world);
    expect_count(ANN, 0, "read this please");
    CHECK_INT(0, platform_asked(&world, "read this please"));
    platform_world_stop(&world);
}

/* -- albums ------------------------------------------------------------------------------------ */
static void send_album(int64_t chat, const char *name, int size, int captioned, const char *caption)
{
    for (int i = 0; i < size; i++)
        platform_tell(&world.client, "{s:s,s:I,s:i,s:s,s:{s:s,s:s},s:s*}", "do", "say", "chat",
                      (json_int_t)chat, "user", ANN, "group", name, "file", "kind", "photo", "text",
                      "picture", "caption", i == captioned ? caption : NULL);
}

static void expect_album(int64_t chat, const char *caption, int size)
{
    chat_expect(&world, chat, caption);
    platform_settle(&world);
    expect_count(chat, 1, caption);
    json_t *list = world_asked(&world.world, caption);
    CHECK_INT(2, json_array_size(list)); /* one turn */
    expect_count(chat, 1, "");           /* and no notice that one has to wait */
    int count = 0;
    for (const char *at = talk_text(json_array_get(list, 0), "body");
         (at = strstr(at, "@attach photo")) != NULL; at++)
        count++;
    CHECK_INT(size, count);
    json_decref(list);
}

/* Only one piece names the bot; the others speak to nobody. */
static void an_album_of_a_group_is_one_message(void)
{
    platform_world_create(&world, &telegram_kind, fake_model,
                          &(struct platform_options){.members = QUICK});
    platform_tell(&world.client, "{s:s,s:b}", "do", "privacy", "on", 0);
    restart();
    send_album(TEAM, "album-1", 3, 0, "@helper_bot look at the first three");
    expect_album(TEAM, "look at the first three", 3);
    fault("file", "delay", 1);
    send_album(FORUM, "album-2", 4, 2, "@helper_bot look at the next four");
    expect_album(FORUM, "look at the next four", 4);
    platform_world_stop(&world);
}

static void a_kill_in_an_album_keeps_it_whole(void)
{
    start(QUICK);
    fault("file", "half_open", 2);
    send_album(ANN, "album-3", 3, 0, "look at my album");
    await_faults_met();
    service_kill(&world.world.service);
    restart();
    expect_album(ANN, "look at my album", 3);
    platform_world_stop(&world);
}

/* -- webhooks ---------------------------------------------------------------------------------- */
static void point_webhook(void)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/webhooks/telegram", world.world.service.port);
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "webhook", "url", url, "secret", SECRET);
}

/* What was answered 200 is answered to the person, what was not comes again; nothing is answered
 * twice but the message that was on its way when the process died. */
static void kills_under_webhooks_lose_nothing(void)
{
    char text[64];
    size_t sent = 0;
    start(QUICK ",\"mode\":\"webhook\",\"webhookSecret\":\"" SECRET "\"");
    point_webhook();
    for (int i = 0; i < KILL_COUNT; i++) {
        for (int k = 0; k < BURST_COUNT; k++) {
            snprintf(text, sizeof text, "burst %d number %d.", i, k);
            chat_say(&world, k % 2 == 0 ? ANN : BOB, k % 2 == 0 ? ANN : BOB, text);
        }
        process_pause_ms(10 * i);
        service_kill(&world.world.service);
        service_start(&world.world.service, binary, &world.world.folder);
        point_webhook();
    }
    platform_settle(&world);
    for (int i = 0; i < KILL_COUNT; i++)
        for (int k = 0; k < BURST_COUNT; k++) {
            snprintf(text, sizeof text, "You said: burst %d number %d.", i, k);
            size_t count = chat_count(&world, k % 2 == 0 ? ANN : BOB, text);
            CHECK(count == 1 || count == 2);
            sent += count;
        }
    fprintf(stderr, "   %zu answers to %d messages\n", sent, KILL_COUNT * BURST_COUNT);
    CHECK(sent <= KILL_COUNT * (BURST_COUNT + 2)); /* two chats, one message of each at most */
    platform_world_stop(&world);
}

/* -- groups that move -------------------------------------------------------------------------- */
static void a_group_moves_while_its_run_is_open(void)
{
    static const int64_t old_id = -4711, new_id = -1009876543210;
    start(QUICK);
    platform_tell(&world.client, "{s:s,s:I,s:s}", "do", "chat", "id", (json_int_t)old_id, "type",
                  "group");
    chat_say(&world, old_id, ANN, "@helper_bot [[fault:silence ms=20000]] greet the parrot");
    while (platform_asked(&world, "greet the parrot") == 0)
        process_pause_ms(2);
    platform_tell(&world.client, "{s:s,s:I,s:I}", "do", "migrate", "chat", (json_int_t)old_id, "to",
                  (json_int_t)new_id);
    /* the old chat is no more when the answer comes, whatever the service knows of it */
    world_end_silence(&world.world);
    chat_expect(&world, new_id, "greet the parrot");
    chat_say(&world, new_id, ANN, "@helper_bot whose bird");
    chat_expect(&world, new_id, "You said: whose bird");
    platform_settle(&world);
    json_t *list = world_asked(&world.world, "whose bird");
    CHECK(strstr(talk_text(json_array_get(list, 0), "body"), "greet the parrot") != NULL);
    json_decref(list);
    expect_count(new_id, 1, "greet the parrot");
    expect_count(old_id, 0, "greet the parrot");
    char *history =
        folder_read(&world.world.folder, ".ship/chats/telegram%3Achat%3A-1009876543210.jsonl");
    CHECK(history != NULL && strstr(history, "greet the parrot") != NULL);
    free(history);
    platform_world_stop(&world);
}

/* -- what hangs -------------------------------------------------------------------------------- */
static void a_send_that_hangs_holds_up_its_chat_alone(void)
{
    start(QUICK);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "sendMessage",
                  "kind", "half_open", "times", 1, "chat", ANN);
    chat_say(&world, ANN, ANN, "this hangs");
    await_faults_met();
    long long asked = process_now_ms();
    chat_say(&world, BOB, BOB, "this does not");
    chat_expect(&world, BOB, "You said: this does not");
    CHECK(process_now_ms() - asked < 5000 * PATIENCE);
    platform_world_stop(&world);
}

static void a_getme_that_hangs_is_given_up(void)
{
    platform_world_create(&world, &telegram_kind, fake_model,
                          &(struct platform_options){.members = QUICK});
    fault("getMe", "half_open", 1);
    chat_say(&world, ANN, ANN, "good morning");
    restart();
    chat_expect(&world, ANN, "You said: good morning");
    platform_settle(&world);
    expect_count(ANN, 1, "good morning");
    platform_world_stop(&world);
}

static void a_stop_does_not_wait_for_what_hangs(void)
{
    start(QUICK);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "sendMessage",
                  "kind", "half_open", "times", 1, "chat", ANN);
    fault("file", "half_open", 1);
    chat_say(&world, ANN, ANN, "this hangs");
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat", BOB,
                  "user", BOB, "caption", "the paper of Bob", "file", "kind", "document", "name",
                  "bob.txt", "text", "what Bob says");
    await_faults_met();
    long long asked = process_now_ms();
    CHECK_INT(0, service_stop(&world.world.service));
    fprintf(stderr, "   stopped after %lld ms\n", process_now_ms() - asked);
    CHECK(process_now_ms() - asked < 22000);
    restart();
    chat_expect(&world, ANN, "You said: this hangs");
    chat_expect(&world, BOB, "the paper of Bob");
    platform_settle(&world);
    expect_count(ANN, 1, "You said: this hangs");
    expect_count(BOB, 1, "the paper of Bob");
    platform_world_stop(&world);
}

/* What the store reads of the block holds at once; the rest is said to wait for the next start. */
static void access_follows_a_reload(void)
{
    start(QUICK);
    chat_say(&world, TEAM, ANN, "@helper_bot I was first");
    chat_expect(&world, TEAM, "You said: I was first");
    char *json = folder_read(&world.world.folder, "ship.json");
    char *at = strstr(json, "\"telegram\":{");
    CHECK(at != NULL);
    char *changed = calloc(1, strlen(json) + 64);
    size_t head = (size_t)(at - json) + 12;
    snprintf(changed, strlen(json) + 64, "%.*s\"groupAccess\":\"anyone\",\"pollTimeoutS\":7,%s",
             (int)head, json, json + head);
    folder_write(&world.world.folder, "ship.json", changed);
    free(json);
    free(changed);
    kill(world.world.service.pid, SIGHUP);
    bool is_told = false;
    for (long long until = process_now_ms() + AWAIT_MS; !is_told && process_now_ms() < until;
         process_pause_ms(5)) {
        char *log = folder_read(&world.world.folder, "service.log");
        is_told =
            log != NULL && strstr(log, "counts from the next start: adapters.telegram.") != NULL;
        free(log);
    }
    CHECK(is_told);
    chat_say(&world, TEAM, BOB, "@helper_bot let me in");
    chat_expect(&world, TEAM, "You said: let me in");
    platform_world_stop(&world);
}

static size_t descriptor_count(void)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)world.world.service.pid);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* Somebody presses a button again and again, and no answer to a press ever comes back. */
static void presses_that_hang_use_up_no_descriptors(void)
{
    start(QUICK);
    chat_say(&world, ANN, ANN, "hello");
    json_t *answer = chat_await(&world, ANN, "You said: hello");
    json_int_t id = platform_number(answer, "id", 0);
    json_decref(answer);
    fault("answerCallbackQuery", "half_open", PRESS_COUNT * 2);
    size_t most = 0;
    for (int i = 0; i < PRESS_COUNT; i++) {
        platform_tell(&world.client, "{s:s,s:i,s:i,s:I,s:s}", "do", "press", "chat", ANN, "user",
                      ANN, "message_id", id, "data", "again");
        size_t count = descriptor_count();
        most = count > most ? count : most;
    }
    chat_say(&world, ANN, ANN, "still there");
    chat_expect(&world, ANN, "You said: still there");
    size_t count = descriptor_count();
    most = count > most ? count : most;
    fprintf(stderr, "   descriptors: %zu\n", most);
    CHECK(most < DESCRIPTOR_COUNT_MAX);
    platform_tell(&world.client, "{s:s}", "do", "clear_faults");
    platform_world_stop(&world);
}

/* -- nothing to do ----------------------------------------------------------------------------- */
/* How often the threads of the service went to sleep so far. */
static long wake_count(void)
{
    char path[128];
    long sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)world.world.service.pid);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char line[128];
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", (int)world.world.service.pid,
                 entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            long count = 0;
            if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
                count = strtol(line + 24, NULL, 10);
            sum += count;
        }
        if (file != NULL)
            fclose(file);
    }
    closedir(dir);
    return sum;
}

#ifdef __SANITIZE_THREAD__
#define IDLE_WAKE_COUNT_MAX \
    100 /* the sanitizer has a thread of its own, which wakes up ten times a second */
#else
#define IDLE_WAKE_COUNT_MAX 3
#endif

static void an_idle_service_sleeps(void)
{
    start(QUICK);
    chat_say(&world, ANN, ANN, "hello");
    chat_expect(&world, ANN, "You said: hello");
    platform_settle(&world);
    platform_world_await_ready(&world);
    process_pause_ms(3000); /* what follows an answer (files, check points) is over */
    long before = wake_count();
    process_pause_ms(IDLE_MS);
    long after = wake_count();
    fprintf(stderr, "   woken %ld times in %d ms\n", after - before, IDLE_MS);
    CHECK(after - before <= IDLE_WAKE_COUNT_MAX);
    platform_world_stop(&world);
}

static void a_reload_leaves_the_bot_at_work(void)
{
    start(QUICK);
    kill(world.world.service.pid, SIGHUP);
    chat_say(&world, ANN, ANN, "after the reload");
    chat_expect(&world, ANN, "You said: after the reload");
    platform_settle(&world);
    expect_count(ANN, 1, "after the reload");
    platform_world_stop(&world);
}

/* A bot that reads everything hears commands for others, also within the follow-up window of a
 * person. */
static void commands_of_other_bots_are_left_alone(void)
{
    platform_world_create(&world, &telegram_kind, fake_model,
                          &(struct platform_options){.members = QUICK});
    platform_tell(&world.client, "{s:s,s:b}", "do", "privacy", "on", 0);
    restart();
    chat_say(&world, TEAM, ANN, "@helper_bot hello");
    chat_expect(&world, TEAM, "You said: hello");
    platform_settle(&world); /* who speaks while the run is still open is told to wait */
    chat_say(&world, TEAM, ANN, "/weather can you tell me?");
    chat_say(&world, TEAM, ANN, "/weather@other_bot can you tell me?");
    chat_say(&world, TEAM, ANN, "can you tell me more?");
    chat_expect(&world, TEAM, "You said: can you tell me more?");
    platform_settle(&world);
    expect_count(TEAM, 2, "");
    platform_world_stop(&world);
}

/* -- words ------------------------------------------------------------------------------------- */
static void notices_speak_the_persons_language_in_their_topic(void)
{
    start(QUICK);
    platform_tell(&world.client, "{s:s,s:i,s:s,s:s,s:s}", "do", "user", "id", 1007, "first_name",
                  "Li", "username", "li", "language", "zh-hans");
    int64_t thread = platform_get(&world.client, "thread", "{s:s,s:I,s:i,s:s}", "do", "topic",
                                  "chat", (json_int_t)FORUM, "user", ANN, "name", "Plans");
    chat_say(&world, FORUM, ANN, "@helper_bot I was first in general");
    chat_expect(&world, FORUM, "I was first in general");
    platform_tell(&world.client, "{s:s,s:I,s:i,s:I,s:s}", "do", "say", "chat", (json_int_t)FORUM,
                  "user", ANN, "thread", (json_int_t)thread, "text", "@helper_bot first here");
    chat_expect(&world, FORUM, "You said: first here");
    platform_settle(&world); /* who speaks while the run is still open is told to wait */
    size_t before = chat_sent(&world, FORUM);
    platform_tell(&world.client, "{s:s,s:I,s:i,s:I,s:s}", "do", "say", "chat", (json_int_t)FORUM,
                  "user", 1007, "thread", (json_int_t)thread, "text", "@helper_bot me too");
    long long until = process_now_ms() + AWAIT_MS;
    while (chat_sent(&world, FORUM) == before && process_now_ms() < until)
        process_pause_ms(2);
    json_t *refusal = chat_await(&world, FORUM, "");
    CHECK_INT(thread, platform_number(refusal, "thread", 0));
    CHECK((unsigned char)talk_text(refusal, "text")[0] >= 0x80); /* Chinese */
    json_decref(refusal);
    platform_settle(&world);
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    binary = argv[1];
    fake_model = argv[2];
    only = argc > 3 ? argv[3] : NULL; /* one case, by hand */
    RUN_CASE(an_idle_service_sleeps);
    RUN_CASE(presses_that_hang_use_up_no_descriptors);
    RUN_CASE(the_commands_are_told_once_and_not_at_every_start);
    RUN_CASE(a_kill_while_fetching_loses_and_doubles_nothing);
    RUN_CASE(downloads_that_hang_are_begun_again);
    RUN_CASE(a_stop_while_fetching_ends_the_message);
    RUN_CASE(an_album_of_a_group_is_one_message);
    RUN_CASE(a_kill_in_an_album_keeps_it_whole);
    RUN_CASE(kills_under_webhooks_lose_nothing);
    RUN_CASE(a_group_moves_while_its_run_is_open);
    RUN_CASE(a_send_that_hangs_holds_up_its_chat_alone);
    RUN_CASE(a_getme_that_hangs_is_given_up);
    RUN_CASE(a_stop_does_not_wait_for_what_hangs);
    RUN_CASE(access_follows_a_reload);
    RUN_CASE(a_reload_leaves_the_bot_at_work);
    RUN_CASE(commands_of_other_bots_are_left_alone);
    RUN_CASE(notices_speak_the_persons_language_in_their_topic);
    return check_summary();
}
