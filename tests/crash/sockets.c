/*
 * sockets.c — people in the chats of Feishu and QQ, and what those chats show in the end. What
 * Feishu got no acknowledgement for it hands out again, up to four times; QQ replays a session from
 * the number it is resumed with.
 *
 * Both have a key for sending, so no answer may show twice, whenever the process dies.
 *
 * What was accepted: on Feishu every acknowledged event. On QQ every event of a session that the
 * service knew of: that an answer went out for one event proves it. A service that is killed
 * between the log-in and writing it down begins a new session, and what was meant for the one it
 * never knew is lost: the platform has no way to ask for it.
 */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEISHU_CHATS 24
#define FEISHU_GROUP 8 /* an administrator asks there who is not the first: the role is asked for */
#define FEISHU_FILES 9 /* every message is a document */
#define FEISHU_CARDS 7 /* every message has structure, so the answer is a card */
#define QQ_CHATS 6
#define QQ_GROUP 4
#define QQ_FILES 5
#define QQ_ROOM 40 /* its rooms in the report are counted from here, those of Feishu from 0 */
#define QQ_OPEN_MAX 3
#define RARITY 8         /* a chat says something in one of so many looks at it */
#define BREAK_RARITY 400 /* a connection is cut in one of so many rounds */
#define FASTER 6000      /* redelivery after 2, 50, 600 and 3600 ms */
#define ACK_MS 100
#define UNANSWERED_MAX 100 /* acknowledged on Feishu and not answered yet: people wait then */

/* The order of deliveries is the platform's only while one event waits, so a person waits for the
 * tick. */
struct feishu_talker
{
    char event_id[80]; /* said and not settled; "" none */
    unsigned next;
};

struct qq_talker
{
    int64_t from; /* messages before this place are answered, or nobody's */
    unsigned next;
};

/* -- opening ----------------------------------------------------------------------------------- */
static void feishu_chat_id(unsigned number, char id[32])
{
    snprintf(id, 32, number == FEISHU_GROUP ? "oc_team%u" : "oc_person%u", number);
}

static void qq_chat_key(unsigned number, char key[64])
{
    snprintf(key, 64, "%s:%032X", number == QQ_GROUP ? "group" : "c2c", number + 1);
}

static void open_feishu(struct world *world)
{
    struct platform_client *client = &world->feishu;
    for (unsigned i = 0; i < FEISHU_CHATS; i++) {
        char id[32];
        snprintf(id, sizeof id, "ou_person%u", i);
        platform_tell(client, "{s:s,s:s,s:s}", "do", "user", "id", id, "name", "Ann");
    }
    char owner[32], group[32];
    snprintf(owner, sizeof owner, "ou_person%u", FEISHU_GROUP);
    feishu_chat_id(FEISHU_GROUP, group);
    platform_tell(client, "{s:s,s:s,s:s}", "do", "user", "id", "ou_other", "name", "Bob");
    platform_tell(client, "{s:s,s:s,s:s}", "do", "chat", "id", group, "owner", owner);
    platform_tell(client, "{s:s,s:f}", "do", "scale", "factor", (double)FASTER);
    platform_tell(client, "{s:s,s:i}", "do", "ack_limit", "ms", ACK_MS);
    platform_tell(client, "{s:s,s:i,s:i}", "do", "config", "reconnect_nonce", 0,
                  "reconnect_interval", 1);
    platform_tell(client, "{s:s,s:i,s:i,s:i}", "do", "rates", "chat_per_second", 0,
                  "edit_per_second", 0, "app_per_second", 0);
    platform_tell(client, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", group, "user", "ou_other",
                  "text", "@{bot} hello");
}

static void open_qq(struct world *world)
{
    struct platform_client *client = &world->qq;
    for (unsigned i = 0; i < QQ_CHATS; i++) {
        char key[64];
        qq_chat_key(i, key);
        platform_tell(client, "{s:s,s:s}", "do", "chat", "chat", key);
    }
    platform_tell(client, "{s:s,s:i,s:i}", "do", "gateway", "identifies", 1000000, "concurrency",
                  0);
    platform_tell(client, "{s:s,s:i}", "do", "rights", "per_second", 0);
}

void sockets_open(struct world *world)
{
    world->fake_feishu = fake_feishu_start(0);
    world->fake_qq = fake_qq_start(0);
    world->feishu = fake_feishu_client(world->fake_feishu);
    world->qq = fake_qq_client(world->fake_qq);
    open_feishu(world);
    open_qq(world);
}

void sockets_close(struct world *world)
{
    fake_feishu_stop(world->fake_feishu);
    fake_qq_stop(world->fake_qq);
}

void sockets_put_config(const struct world *world, char *text, size_t size)
{
    int port = fake_qq_port(world->fake_qq);
    char group[32]; /* let in: only there its owner counts as one, and is answered */
    feishu_chat_id(FEISHU_GROUP, group);
    snprintf(text, size,
             "\"feishu\":{\"enabled\":true,\"appId\":\"" FAKE_FEISHU_APP
             "\",\"appSecret\":\"" FAKE_FEISHU_SECRET "\",\"domain\":\"http://127.0.0.1:%d\","
             "\"groups\":[\"%s\"],\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0,"
             "\"perGroupPerMinute\":0}},"
             "\"qq\":{\"enabled\":true,\"appId\":\"" FAKE_QQ_APP_ID
             "\",\"appSecret\":\"" FAKE_QQ_SECRET "\",\"apiRoot\":\"http://127.0.0.1:%d\","
             "\"tokenUrl\":\"http://127.0.0.1:%d/app/getAppAccessToken\","
             "\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}}",
             fake_feishu_port(world->fake_feishu), group, port, port);
}

/* -- Feishu ------------------------------------------------------------------------------------ */
static void say_feishu(struct world *world, unsigned number, struct feishu_talker *talker)
{
    char chat[32], user[32], text[96];
    bool is_file = number == FEISHU_FILES;
    feishu_chat_id(number, chat);
    snprintf(user, sizeof user, "ou_person%u", number);
    snprintf(text, sizeof text, "%splease repeat s%u-%u%s",
             number == FEISHU_GROUP   ? "@{bot} "
             : number == FEISHU_CARDS ? "# "
                                      : "",
             number, talker->next, is_file ? " .txt" : "");
    talker->next++;
    json_t *file =
        is_file ? json_pack("{s:s,s:s,s:s}", "kind", "file", "name", text, "text", "a note") : NULL;
    json_t *answer = platform_do(&world->feishu, "{s:s,s:s,s:s,s:s,s:o*}", "do", "say", "chat",
                                 chat, "user", user, "text", text, "file", file);
    snprintf(talker->event_id, sizeof talker->event_id, "%s",
             platform_text(answer, "event_id", ""));
    json_decref(answer);
}

/* Forget what is acknowledged, or given up by the platform. @return the first event that still
 * waits */
static int64_t look_at_events(const struct world *world, struct feishu_talker *talkers,
                              int64_t from)
{
    json_t *answer =
        platform_do(&world->feishu, "{s:s,s:I}", "do", "events", "from", (json_int_t)from);
    const json_t *events = json_object_get(answer, "events"), *event;
    bool is_open_before = false;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)events, i, event)
    {
        const char *state = platform_text(event, "state", ""), *id = platform_text(event, "id", "");
        bool is_settled = strcmp(state, "done") == 0 || strcmp(state, "lost") == 0;
        for (unsigned j = 0; is_settled && j < FEISHU_CHATS; j++)
            if (strcmp(talkers[j].event_id, id) == 0)
                talkers[j].event_id[0] = '\0';
        is_open_before = is_open_before || !is_settled;
        from += !is_open_before;
    }
    json_decref(answer);
    return from;
}

/* On a busy machine accepting is faster than answering; without this the last life would have
 * thousands to answer. */
static bool is_behind(const struct world *world)
{
    json_t *counters = platform_do(&world->feishu, "{s:s}", "do", "counters");
    int64_t acked = platform_number(counters, "acked", 0);
    int64_t answered = platform_number(counters, "sent", 0);
    json_decref(counters);
    return acked - answered > UNANSWERED_MAX;
}

/* -- QQ ---------------------------------------------------------------------------------------- */
static void session_now(const struct world *world, char id[64])
{
    json_t *answer = platform_do(&world->qq, "{s:s}", "do", "sessions");
    snprintf(id, 64, "%s",
             platform_text(json_array_get(json_object_get(answer, "sessions"), 0), "id", "none"));
    json_decref(answer);
}

static size_t count_open(const struct world *world, unsigned number, struct qq_talker *talker,
                         const char *session)
{
    char key[64];
    qq_chat_key(number, key);
    json_t *answer = platform_do(&world->qq, "{s:s,s:s,s:I}", "do", "list", "chat", key, "from",
                                 (json_int_t)talker->from);
    const json_t *messages = json_object_get(answer, "messages"), *message;
    size_t open = 0, i;
    json_array_foreach((json_t *)(uintptr_t)messages, i, message)
    {
        open += !platform_flag(message, "is_ours", false) &&
                platform_number(message, "reply_count", 0) == 0 &&
                strcmp(platform_text(message, "session", ""), session) == 0;
        talker->from += open == 0;
    }
    json_decref(answer);
    return open;
}

static void say_qq(struct world *world, unsigned number, struct qq_talker *talker)
{
    char key[64], text[96];
    qq_chat_key(number, key);
    snprintf(text, sizeof text, "please repeat s%u-%u", QQ_ROOM + number, talker->next++);
    json_t *files = number == QQ_FILES ? json_pack("[{s:s,s:s,s:s}]", "type", "file", "name",
                                                   "note.txt", "text", text)
                                       : NULL;
    platform_tell(&world->qq, "{s:s,s:s,s:s,s:s,s:o*}", "do", "say", "chat", key, "text", text,
                  "role", "admin", "attachments", files);
}

/* -- all --------------------------------------------------------------------------------------- */
void *sockets_run(void *user)
{
    struct caller *caller = user;
    struct world *world = caller->world;
    struct feishu_talker feishu[FEISHU_CHATS] = {0};
    struct qq_talker qq[QQ_CHATS] = {0};
    uint64_t random = caller->seed;
    int64_t from = 0;
    while (!atomic_load(&world->is_stopping)) {
        char session[64];
        from = look_at_events(world, feishu, from);
        session_now(world, session);
        bool may_say = !is_behind(world);
        for (unsigned i = 0; may_say && i < FEISHU_CHATS; i++)
            if (feishu[i].event_id[0] == '\0' && world_random(&random) % RARITY == 0)
                say_feishu(world, i, &feishu[i]);
        for (unsigned i = 0; i < QQ_CHATS; i++)
            if (world_random(&random) % RARITY == 0 &&
                count_open(world, i, &qq[i], session) < QQ_OPEN_MAX)
                say_qq(world, i, &qq[i]);
        if (world_random(&random) % BREAK_RARITY == 0)
            platform_tell(&world->feishu, "{s:s,s:s}", "do", "break", "how", "reset");
        world_sleep_ms(3);
    }
    return NULL;
}

/* -- the report -------------------------------------------------------------------------------- */
static void note_accepted(struct world *world, const char *text)
{
    const char *mark = strstr(text, "please repeat s");
    if (mark == NULL)
        return;
    mark += strlen("please repeat ");
    world_note(world, "S accepted %.*s accepted", (int)strcspn(mark, " "), mark);
    atomic_fetch_add(&world->accepted, 1);
}

/* Every message under a key of its own: what shows twice was answered twice. */
static void note_shown(FILE *saw, unsigned room, size_t index, const char *text)
{
    fprintf(saw, "SAW sockets:chat:room%u key%zu \"", room, index);
    for (; *text != '\0'; text++)
        fputc(*text == '\n' ? ' ' : *text, saw); /* a line each */
    fputs("\"\n", saw);
}

static void report_feishu(struct world *world, FILE *saw)
{
    for (unsigned i = 0; i < FEISHU_CHATS; i++) {
        char chat[32];
        feishu_chat_id(i, chat);
        json_t *list = platform_do(&world->feishu, "{s:s,s:s}", "do", "list", "chat", chat);
        const json_t *messages = json_object_get(list, "messages"), *message;
        size_t j;
        json_array_foreach((json_t *)(uintptr_t)messages, j, message)
        {
            const char *text = platform_text(message, "text", "");
            if (platform_flag(message, "is_ours", false))
                note_shown(saw, i, j, text);
            else if (platform_flag(message, "is_acked", false))
                note_accepted(world, text);
        }
        json_decref(list);
    }
}

/* The sessions of which something was answered, and the newest. */
static json_t *known_sessions(const struct world *world, json_t *const *lists)
{
    char newest[64];
    json_t *known = json_object();
    session_now(world, newest);
    json_object_set_new(known, newest, json_true());
    for (unsigned i = 0; i < QQ_CHATS; i++) {
        const json_t *messages = json_object_get(lists[i], "messages"), *message;
        size_t j;
        json_array_foreach((json_t *)(uintptr_t)messages, j,
                           message) if (platform_number(message, "reply_count", 0) > 0)
            json_object_set_new(known, platform_text(message, "session", ""), json_true());
    }
    return known;
}

static void report_qq_chat(struct world *world, FILE *saw, unsigned room, const json_t *messages,
                           const json_t *known)
{
    const json_t *message;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)messages, i, message)
    {
        const char *text = platform_text(message, "text", ""),
                   *session = platform_text(message, "session", "");
        if (platform_flag(message, "is_ours", false))
            note_shown(saw, room, i, text);
        else if (session[0] != '\0' && json_object_get(known, session) != NULL)
            note_accepted(world, text);
    }
}

static void report_qq(struct world *world, FILE *saw)
{
    json_t *lists[QQ_CHATS];
    for (unsigned i = 0; i < QQ_CHATS; i++) {
        char key[64];
        qq_chat_key(i, key);
        lists[i] = platform_do(&world->qq, "{s:s,s:s}", "do", "list", "chat", key);
    }
    json_t *known = known_sessions(world, lists);
    for (unsigned i = 0; i < QQ_CHATS; i++) {
        report_qq_chat(world, saw, QQ_ROOM + i, json_object_get(lists[i], "messages"), known);
        json_decref(lists[i]);
    }
    json_decref(known);
}

/* A strict platform found fault with what it got. 40054005 is what hides a repeat. */
static void check_manners(struct world *world)
{
    json_t *feishu = platform_do(&world->feishu, "{s:s}", "do", "complaints"),
           *qq = platform_do(&world->qq, "{s:s}", "do", "refusals");
    const json_t *complaints = json_object_get(feishu, "complaints"),
                 *refusals = json_object_get(qq, "refusals");
    for (size_t i = 0; i < json_array_size(complaints); i++)
        world_fail(world, "Feishu complains: %s", json_string_value(json_array_get(complaints, i)));
    for (size_t i = 0; i < json_array_size(refusals); i++) {
        const json_t *refusal = json_array_get(refusals, i);
        if (platform_number(refusal, "code", 0) != 40054005)
            world_fail(world, "QQ refused %s with %" PRId64, platform_text(refusal, "call", ""),
                       platform_number(refusal, "code", 0));
    }
    json_decref(feishu);
    json_decref(qq);
}

static int64_t feishu_count(const struct world *world, const char *name)
{
    return platform_get(&world->feishu, name, "{s:s}", "do", "counters");
}

static int64_t qq_count(const struct world *world, const char *name)
{
    return platform_get(&world->qq, name, "{s:s}", "do", "counters");
}

void sockets_report(struct world *world)
{
    FILE *saw = fopen(world->saw, "w");
    if (saw == NULL)
        abort();
    report_feishu(world, saw);
    report_qq(world, saw);
    fclose(saw);
    check_manners(world);
    printf("crash_loop: Feishu: %" PRId64 " events, %" PRId64 " handed out again, %" PRId64
           " given up, %" PRId64 " repeats hidden by uuid, %" PRId64 " connections\n"
           "crash_loop: QQ: %" PRId64 " events, %" PRId64 " replayed in %" PRId64
           " resumes, %" PRId64 " sessions, %" PRId64 " repeats hidden by msg_seq\n",
           feishu_count(world, "events"), feishu_count(world, "retries"),
           feishu_count(world, "lost"), feishu_count(world, "repeats"),
           feishu_count(world, "opened"), qq_count(world, "events"), qq_count(world, "replayed"),
           qq_count(world, "resumes"), qq_count(world, "identifies"),
           qq_count(world, "duplicates"));
}

bool sockets_are_drained(const struct world *world)
{
    char session[64];
    size_t open = 0;
    if (feishu_count(world, "queued") > 0 || qq_count(world, "ready") == 0)
        return false;
    session_now(world, session);
    for (unsigned i = 0; i < QQ_CHATS; i++)
        open += count_open(world, i, &(struct qq_talker){0}, session);
    return open == 0;
}
