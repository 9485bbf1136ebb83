/*
 * Aim: what people write to the bot reaches the store once and in order, over a restart too;
 * answers arrive.
 * Method: the adapter on its thread against the simulated platform; the core is a stand-in that
 * does as it is told.
 */
#include "actor_world.h"

#include <errno.h>
#include <sys/stat.h>

static struct world_event event_of(const char *text)
{
    for (size_t i = 0; i < world_event_count(); i++) {
        struct world_event event = world_event_at(i);
        if (strcmp(event.text, text) == 0)
            return event;
    }
    CHECK(false);
    return (struct world_event){0};
}

static void wait_connected(void)
{
    WORLD_WAIT(world_log_count("qq: connected") > 0);
}

static void a_text_comes_and_is_answered(void)
{
    world_open("");
    wait_connected();
    const char *id = world_say(WORLD_C2C, "hello");
    WORLD_WAIT(world_event_count() == 1);
    struct world_event event = world_event_at(0);
    CHECK_TEXT("hello", event.text);
    CHECK_TEXT("qq:c2c:A1B2", event.chat_key);
    CHECK_TEXT(id, event.event_key);
    CHECK_INT(SMA_ADDRESSED_PRIVATE, event.addressed);
    uint64_t row = world_deliver(&(struct world_row){WORLD_C2C, id, "good day", 0, 0, 0});
    struct world_receipt receipt = world_await(row, SMA_DELIVERY_SENT);
    CHECK(receipt.platform_id[0] != '\0');
    CHECK_INT(1, world_shown(WORLD_C2C, "good day"));
    world_close();
}

static void every_kind_of_chat_is_heard_and_answered(void)
{
    static const char *const chats[] = {WORLD_C2C, WORLD_GROUP, WORLD_CHANNEL};
    world_open("");
    wait_connected();
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++) {
        char text[32], key[64];
        snprintf(text, sizeof text, "to %zu", i);
        snprintf(key, sizeof key, "qq:%s", chats[i]);
        const char *id = world_say(chats[i], text);
        WORLD_WAIT(world_event_count_of(text) == 1); /* mention and blanks are cut off */
        CHECK_TEXT(key, event_of(text).chat_key);
        uint64_t row = world_deliver(&(struct world_row){chats[i], id, text, 0, 0, 0});
        world_await(row, SMA_DELIVERY_SENT);
        CHECK_INT(1, world_shown(chats[i], text));
    }
    world_close();
}

static void a_restart_resumes_where_the_store_was(void)
{
    struct stat status;
    char path[300];
    world_open("");
    wait_connected();
    world_say(WORLD_C2C, "one");
    world_say(WORLD_C2C, "two");
    WORLD_WAIT(world_event_count() == 2);
    world_stop();
    snprintf(path, sizeof path, "%s/.ship/.cache/qq/session-0.json", world_dir);
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    world_say(WORLD_C2C, "meanwhile");
    world_open("");
    WORLD_WAIT(world_event_count_of("meanwhile") == 1);
    world_rest(50);
    CHECK_INT(1, world_event_count()); /* after an orderly end nothing is replayed */
    CHECK_INT(1, world_counter("identifies"));
    world_close();
}

/* As after a crash: the file is from the session's start, the cursor knows more. */
static void the_cursor_knows_more_than_the_file(void)
{
    char path[300], old[2048];
    world_open("");
    wait_connected();
    snprintf(path, sizeof path, "%s/.ship/.cache/qq/session-0.json", world_dir);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t len = fread(old, 1, sizeof old, file);
    fclose(file);
    char text[32];
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "number %d", i);
        world_say(WORLD_C2C, text);
        WORLD_WAIT(world_event_count_of(text) == 1);
    }
    world_stop();
    file = fopen(path, "w");
    CHECK(file != NULL && fwrite(old, 1, len, file) == len);
    fclose(file);
    world_open("");
    WORLD_WAIT(world_event_count_of("number 9") ==
               1);                   /* the last one may not be in the cursor yet */
    CHECK(world_event_count() <= 2); /* nor the one before it, if its verdict was read late */
    world_close();
}

/* -- what only a store or a delivery can do (the rest: tests/talks/qq_sending) --------------- */
static void an_event_the_store_refused_comes_again(void)
{
    world_open("");
    wait_connected();
    world_refuse(0, 1);
    world_say(WORLD_C2C, "again");
    WORLD_WAIT(world_event_count_of("again") >= 2);
    CHECK_INT(1, world_counter("identifies"));
    world_close();
}

static void a_store_that_is_slow_stops_the_reading(void)
{
    world_open("");
    wait_connected();
    world_hold(true);
    for (int i = 0; i < 1500; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %d", i);
        world_say(WORLD_C2C, text);
    }
    WORLD_WAIT(world_event_count() == 1024);
    world_rest(50);
    CHECK_INT(1024, world_event_count());
    world_hold(false);
    WORLD_WAIT(world_event_count() == 1500);
    for (size_t i = 0; i < 1500; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %zu", i);
        CHECK_TEXT(text, world_event_at(i).text);
    }
    CHECK_INT(0, world_counter("resumes"));
    world_close();
}

static int64_t interaction_code(void)
{
    json_t *list = platform_do(&world_platform, "{s:s}", "do", "interactions");
    int64_t code =
        platform_number(json_array_get(json_object_get(list, "interactions"), 0), "code", -1);
    json_decref(list);
    return code;
}

static void a_late_verdict_does_not_keep_a_button_waiting(void)
{
    world_open("");
    wait_connected();
    world_hold(true);
    world_tell("{s:s,s:s,s:s}", "do", "press", "chat", WORLD_C2C, "data", "late");
    WORLD_WAIT(interaction_code() == 0);
    world_hold(false);
    world_close();
}

static const char *start_talk(const char *members, const char *chat)
{
    world_open(members);
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    const char *id = world_say(chat, "hello");
    WORLD_WAIT(world_event_count() == 1);
    return id;
}

static uint64_t answer(const char *chat, const char *id, const char *text)
{
    return world_deliver(&(struct world_row){.chat = chat, .reply = id, .text = text});
}

/* Of the chat's last message of ours. */
static bool last_is_active(const char *chat)
{
    json_t *list = world_chat(chat), *messages = json_object_get(list, "messages");
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    CHECK(platform_flag(last, "is_ours", false));
    bool is_active = platform_flag(last, "is_active", false);
    json_decref(list);
    return is_active;
}

static void used_up_answers_go_active(void)
{
    const char *id = start_talk("", WORLD_C2C);
    struct world_row row = {.chat = WORLD_C2C, .reply = id, .text = "fifth", .reply_count = 4};
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(last_is_active(WORLD_C2C));
    row = (struct world_row){.chat = WORLD_C2C,
                             .reply = id,
                             .text = "busy",
                             .reply_count = 3,
                             .intent = SMA_INTENT_NOTICE};
    world_await(world_deliver(&row), SMA_DELIVERY_SENT); /* the last one is kept for the answer */
    CHECK(last_is_active(WORLD_C2C));
    row.intent = SMA_INTENT_ASSISTANT_TEXT;
    row.text = "one moment";
    row.is_interim = true;
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(last_is_active(WORLD_C2C));
    row.is_interim = false;
    row.text = "the answer";
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(!last_is_active(WORLD_C2C));
    world_close();
}

/* Counted too high (an outcome was unknown), a final text is an answer all the same. */
static void the_platforms_count_is_what_holds(void)
{
    const char *id = start_talk("", WORLD_C2C);
    world_tell("{s:s,s:b}", "do", "rights", "active", 0);
    struct world_row row = {.chat = WORLD_C2C, .reply = id, .text = "at last", .reply_count = 4};
    world_await(world_deliver(&row), SMA_DELIVERY_SENT);
    CHECK(!last_is_active(WORLD_C2C));
    row.text = "to a third person"; /* whose chat it is not about: no word of a final text */
    row.reply = NULL;
    row.is_interim = true;
    struct world_receipt receipt = world_await(world_deliver(&row), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "final text") == NULL);
    world_close();
}

static void write_file(const char *name, size_t len)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", world_dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (size_t i = 0; i < len; i++)
        putc('a' + (int)(i % 23), file);
    CHECK(fclose(file) == 0);
}

static size_t media_count(const char *chat)
{
    size_t count = 0, index;
    json_t *list = world_chat(chat), *message;
    json_array_foreach(json_object_get(list, "messages"), index, message) count +=
        strcmp(platform_text(message, "kind", ""), "media") == 0;
    json_decref(list);
    return count;
}

/* What /full made is sent by its own delivery, which sends nothing else. */
static void only_its_own_delivery_sends_an_output(void)
{
    char path[300];
    const char *id = start_talk("", WORLD_C2C);
    snprintf(path, sizeof path, "%s/.ship", world_dir);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/.ship/output", world_dir);
    CHECK(mkdir(path, 0700) == 0);
    write_file(".ship/output/answer-1.md", 5000);
    write_file("plan.txt", 50);
    const char *line = "@attach document .ship/output/answer-1.md | all of it";
    struct world_receipt receipt = world_await(answer(WORLD_C2C, id, line), SMA_DELIVERY_FAILED);
    CHECK(strstr(receipt.error, "protected") != NULL);
    CHECK_INT(0, media_count(WORLD_C2C));
    world_set_intent(SMA_INTENT_OUTPUT);
    world_await(answer(WORLD_C2C, id, line), SMA_DELIVERY_SENT);
    CHECK_INT(1, media_count(WORLD_C2C));
    world_await(answer(WORLD_C2C, id, "@attach document plan.txt"), SMA_DELIVERY_FAILED);
    world_close();
}

static void attachments_are_fetched(void)
{
    char path[300];
    struct world_prepared prepared;
    world_open("");
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    json_decref(platform_do(&world_platform, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat",
                            WORLD_C2C, "text", "look", "attachments", "type", "image/jpeg", "name",
                            "x.jpg", "text", "the picture"));
    WORLD_WAIT(world_event_count() == 1);
    struct world_event event = world_event_at(0);
    CHECK(event.preparation[0] != '\0');
    uint64_t seq = world_prepare(event.preparation, WORLD_C2C, "M1", true);
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    CHECK_TEXT("", prepared.context);
    CHECK(strncmp("image:.ship/.cache/qq/", prepared.parts, 22) == 0);
    CHECK(strstr(prepared.parts, "|x.jpg|image/jpeg") != NULL);
    const char *from = strstr(event.text, ".ship/"), *to = strchr(from, ' ');
    CHECK(from != NULL);
    size_t len = to == NULL ? strcspn(from, "\n") : (size_t)(to - from);
    snprintf(path, sizeof path, "%s/%.*s", world_dir,
             (int)(len < strcspn(from, "\n") ? len : strcspn(from, "\n")), from);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    char bytes[32] = "";
    CHECK(fread(bytes, 1, sizeof bytes - 1, file) == strlen("the picture"));
    fclose(file);
    CHECK_TEXT("the picture", bytes);
    seq = world_prepare("this is no list", WORLD_C2C, "M1", true);
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    world_close();
}

int main(void)
{
    RUN(a_text_comes_and_is_answered);
    RUN(every_kind_of_chat_is_heard_and_answered);
    RUN(a_restart_resumes_where_the_store_was);
    RUN(the_cursor_knows_more_than_the_file);
    RUN(an_event_the_store_refused_comes_again);
    RUN(a_store_that_is_slow_stops_the_reading);
    RUN(a_late_verdict_does_not_keep_a_button_waiting);
    RUN(used_up_answers_go_active);
    RUN(the_platforms_count_is_what_holds);
    RUN(only_its_own_delivery_sends_an_output);
    RUN(attachments_are_fetched);
    return check_summary();
}
