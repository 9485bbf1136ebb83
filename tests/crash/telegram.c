/*
 * telegram.c — people in the chats of a Bot API server, and what those chats show in the end. An
 * update that is not confirmed is handed out again, one that is never; a confirmed one must be
 * answered.
 *
 * An answer may show twice in one case, see lives.h: only these two get the same key in saw.log.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAT_COUNT 6
#define FIRST_CHAT 5000
#define GROUP_CHAT \
    4 /* an administrator asks there who is not the first: the platform is asked for the role */
#define FILE_CHAT 5 /* every message brings a document */
#define FIRST_SPEAKER 6000
#define OPEN_PER_CHAT 3
#define RARITY 16

struct talker
{
    int64_t oldest; /* messages before this one are confirmed */
    unsigned next;  /* number of the next message */
    int64_t ids[OPEN_PER_CHAT];
    unsigned open;
};

static int64_t chat_of(int number)
{
    return number == GROUP_CHAT ? -FIRST_CHAT : FIRST_CHAT + number;
}

static int64_t say(const struct world *world, int64_t chat, int64_t user, const char *text,
                   bool has_file)
{
    json_t *file =
        has_file ? json_pack("{s:s,s:s,s:s}", "kind", "document", "name", "note.txt", "text", text)
                 : NULL;
    return platform_get(&world->telegram, "message_id", "{s:s,s:I,s:I,s:s,s:o*}", "do", "say",
                        "chat", (json_int_t)chat, "user", (json_int_t)user,
                        has_file ? "caption" : "text", text, "file", file);
}

void telegram_open(struct world *world)
{
    world->telegram = fake_telegram_client(fake_telegram_start(0));
    for (int i = 0; i < CHAT_COUNT; i++)
        platform_tell(&world->telegram, "{s:s,s:i,s:s}", "do", "user", "id", FIRST_CHAT + i,
                      "language", "en");
    platform_tell(&world->telegram, "{s:s,s:i}", "do", "user", "id", FIRST_SPEAKER);
    platform_tell(&world->telegram, "{s:s,s:I,s:[i]}", "do", "chat", "id",
                  (json_int_t)chat_of(GROUP_CHAT), "admins", FIRST_CHAT + GROUP_CHAT);
    (void)say(world, chat_of(GROUP_CHAT), FIRST_SPEAKER, "@" FAKE_TELEGRAM_BOT_NAME " hello",
              false);
}

bool telegram_is_drained(const struct world *world)
{
    return platform_get(&world->telegram, "queued", "{s:s}", "do", "counters") == 0;
}

/* How many of the talker's messages are still unconfirmed. */
static void look(const struct world *world, int64_t chat, struct talker *talker)
{
    if (talker->open == 0)
        return;
    json_t *list = platform_do(&world->telegram, "{s:s,s:i,s:I}", "do", "list", "chat", chat,
                               "from", (json_int_t)talker->ids[0] - 1);
    const json_t *messages = json_object_get(list, "messages");
    unsigned confirmed = 0;
    for (unsigned i = 0; i < talker->open; i++) {
        const json_t *message = json_array_get(messages, (size_t)(talker->ids[i] - talker->ids[0]));
        confirmed += json_is_true(json_object_get(message, "is_confirmed"));
    }
    memmove(talker->ids, talker->ids + confirmed,
            (talker->open - confirmed) * sizeof talker->ids[0]);
    talker->open -= confirmed; /* confirmed in order: the oldest first */
    json_decref(list);
}

void *telegram_run(void *user)
{
    struct caller *caller = user;
    struct talker talkers[CHAT_COUNT] = {0};
    uint64_t random = caller->seed;
    while (!atomic_load(&caller->world->is_stopping)) {
        for (int i = 0; i < CHAT_COUNT; i++) {
            struct talker *talker = &talkers[i];
            if (world_random(&random) % RARITY != 0)
                continue;
            look(caller->world, chat_of(i), talker);
            if (talker->open == OPEN_PER_CHAT)
                continue;
            char text[96];
            snprintf(text, sizeof text, "%splease repeat s%d-%u",
                     i == GROUP_CHAT ? "@" FAKE_TELEGRAM_BOT_NAME " " : "", i, talker->next++);
            talker->ids[talker->open++] =
                say(caller->world, chat_of(i), FIRST_CHAT + i, text, i == FILE_CHAT);
        }
        world_sleep_ms(2);
    }
    return NULL;
}

/* -- the report -------------------------------------------------------------------------------- */
void telegram_catch_up(struct world *world)
{
    lives_catch_up(&world->telegram);
}

/* The last one of ours before this that says the same; 0: none. */
static uint64_t shown_before(const json_t *messages, size_t index)
{
    const char *text = json_string_value(json_object_get(json_array_get(messages, index), "text"));
    for (size_t i = index; i > 0; i--) {
        const json_t *earlier = json_array_get(messages, i - 1);
        if (json_is_true(json_object_get(earlier, "is_ours")) &&
            strcmp(json_string_value(json_object_get(earlier, "text")), text) == 0)
            return (uint64_t)json_integer_value(json_object_get(earlier, "ns"));
    }
    return 0;
}

static void report_message(struct world *world, FILE *saw, int chat, const json_t *messages,
                           size_t index)
{
    const json_t *message = json_array_get(messages, index);
    const char *text = json_string_value(json_object_get(message, "text"));
    uint64_t ns = (uint64_t)json_integer_value(json_object_get(message, "ns"));
    if (json_is_false(json_object_get(message, "is_ours"))) {
        if (strstr(text, "please repeat s") != NULL &&
            json_is_true(json_object_get(message, "is_confirmed"))) {
            world_note(world, "S accepted %s accepted", strrchr(text, ' ') + 1);
            atomic_fetch_add(&world->accepted, 1);
        }
        return;
    }
    bool is_answer = strstr(text, "please repeat s") != NULL; /* a notice may be said again */
    uint64_t before_ns = is_answer ? shown_before(messages, index) : 0;
    bool is_other =
        before_ns != 0 && !lives_are_window(world->lives, world->life_count, before_ns, ns);
    fprintf(saw, "SAW telegram:chat:room%d %s%llu \"", chat, is_other ? "again" : "key",
            is_other ? (unsigned long long)index : 0ull);
    for (; *text != '\0'; text++)
        fputc(*text == '\n' ? ' ' : *text, saw); /* a line each */
    fputs("\"\n", saw);
}

void telegram_report(struct world *world)
{
    FILE *saw = fopen(world->saw, "w");
    if (saw == NULL)
        abort();
    for (int chat = 0; chat < CHAT_COUNT; chat++) {
        json_t *list = platform_do(&world->telegram, "{s:s,s:I}", "do", "list", "chat",
                                   (json_int_t)chat_of(chat));
        const json_t *messages = json_object_get(list, "messages");
        for (size_t i = 0; i < json_array_size(messages); i++)
            report_message(world, saw, chat, messages, i);
        json_decref(list);
    }
    fclose(saw);
}
