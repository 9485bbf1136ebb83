/*
 * Aim: what people write to the bot reaches the store once and in order, over a restart too;
 * answers arrive.
 * Method: the adapter on its thread against the simulated platform; the core is a stand-in that
 * does as it is told.
 */
#include "actor_world.h"

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

int main(void)
{
    RUN(a_text_comes_and_is_answered);
    RUN(every_kind_of_chat_is_heard_and_answered);
    RUN(a_restart_resumes_where_the_store_was);
    RUN(the_cursor_knows_more_than_the_file);
    return check_summary();
}
