/*
 * telegram_world.c — see telegram_world.h. Waiting is for an event with a deadline.
 */
#include "telegram_world.h"

#include "support/check.h"

static void add_people(const struct telegram_world *world)
{
    static const struct
    {
        int id;
        const char *name, *user_name;
    } people[] = {{ANN, "Ann", "ann"}, {BOB, "Bob", "bob"}, {EVE, "Eve", ""}};
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++)
        telegram_tell(&world->telegram, "{s:s,s:i,s:s,s:s,s:s}", "do", "user", "id", people[i].id,
                      "first_name", people[i].name, "username", people[i].user_name, "language",
                      "en");
    telegram_tell(&world->telegram, "{s:s,s:I,s:[i]}", "do", "chat", "id", (json_int_t)TEAM,
                  "admins", EVE);
    telegram_tell(&world->telegram, "{s:s,s:I,s:b,s:[i]}", "do", "chat", "id", (json_int_t)FORUM,
                  "forum", 1, "admins", EVE);
}

void telegram_world_create(struct telegram_world *world, const char *fake_model,
                           const struct telegram_options *options)
{
    char json[4096], groups[96];
    snprintf(groups, sizeof groups, ",\"groups\":[%lld,\"%lld\"]", (long long)TEAM,
             (long long)FORUM);
    *world = (struct telegram_world){.telegram = {fake_telegram_start(0), 0}};
    world->telegram.port = fake_telegram_port(world->telegram.fake);
    add_people(world);
    folder_create(&world->world.folder, NULL);
    world_model_start(&world->world, fake_model, options->script);
    int len =
        snprintf(json, sizeof json,
                 ",\"agent\":{\"concurrency\":%s},\"access\":%s,"
                 "\"adapters\":{\"terminal\":{\"enabled\":false},"
                 "\"telegram\":{"
                 "\"enabled\":true,\"botToken\":\"%s\",\"apiRoot\":\"http://127.0.0.1:%d\"%s%s}}%s",
                 options->concurrency == NULL ? "4" : options->concurrency,
                 options->access == NULL ? "\"anyone\"" : options->access, FAKE_TELEGRAM_TOKEN,
                 world->telegram.port, options->knows_no_group ? "" : groups,
                 options->members == NULL ? "" : options->members,
                 options->root == NULL ? "" : options->root);
    CHECK(len > 0 && (size_t)len < sizeof json);
    world_configure(&world->world, world->world.fake_port, "\"apiKey\":\"" WORLD_API_KEY "\"",
                    json);
}

static bool is_polled(const struct telegram_world *world)
{
    json_t *counters = telegram_do(&world->telegram, "{s:s}", "do", "counters");
    bool result = json_is_true(json_object_get(counters, "is_polled"));
    json_decref(counters);
    return result;
}

void telegram_world_await_poll(const struct telegram_world *world)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (!is_polled(world) && process_now_ms() < until)
        process_pause_ms(2);
    CHECK(is_polled(world));
}

void telegram_world_start(struct telegram_world *world, const char *binary, const char *fake_model,
                          const struct telegram_options *options)
{
    telegram_world_create(world, fake_model, options);
    service_start(&world->world.service, binary, &world->world.folder);
    if (options->members == NULL || strstr(options->members, "webhook") == NULL)
        telegram_world_await_poll(world);
}

void telegram_world_stop(struct telegram_world *world)
{
    CHECK_INT(0, service_stop(&world->world.service));
    server_stop(world->world.fake);
    world_keeps_secret(&world->world, WORLD_API_KEY);
    world_keeps_secret(&world->world, FAKE_TELEGRAM_TOKEN);
    fake_telegram_stop(world->telegram.fake);
    folder_remove(&world->world.folder);
}

int64_t telegram_say(const struct telegram_world *world, int64_t chat, int64_t user,
                     const char *text)
{
    return telegram_number(&world->telegram, "message_id", "{s:s,s:I,s:I,s:s}", "do", "say", "chat",
                           (json_int_t)chat, "user", (json_int_t)user, "text", text);
}

/* The newest of ours that contains the text (NULL: none), and how many do. */
static json_t *find(const struct telegram_world *world, int64_t chat, const char *part,
                    size_t *ret_count)
{
    json_t *list =
        telegram_do(&world->telegram, "{s:s,s:I}", "do", "list", "chat", (json_int_t)chat);
    return world_newest(list, part, NULL, ret_count);
}

size_t telegram_count(const struct telegram_world *world, int64_t chat, const char *part)
{
    size_t count;
    json_decref(find(world, chat, part, &count));
    return count;
}

size_t telegram_sent(const struct telegram_world *world, int64_t chat)
{
    return telegram_count(world, chat, "");
}

void telegram_show(const struct telegram_world *world, int64_t chat)
{
    json_t *list =
        telegram_do(&world->telegram, "{s:s,s:I}", "do", "list", "chat", (json_int_t)chat);
    char *text = json_dumps(list, JSON_INDENT(1));
    char *log = folder_read(&world->world.folder, "service.log");
    fprintf(stderr, "%s\n%s\n", text, log == NULL ? "" : log);
    free(text);
    free(log);
    json_decref(list);
}

json_t *telegram_await(const struct telegram_world *world, int64_t chat, const char *part)
{
    size_t count;
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        json_t *message = find(world, chat, part, &count);
        if (message != NULL)
            return message;
    }
    fprintf(stderr, "nothing with \"%s\" came\n", part);
    telegram_show(world, chat);
    exit(1);
}

void telegram_expect(const struct telegram_world *world, int64_t chat, const char *part)
{
    json_decref(telegram_await(world, chat, part));
}

static bool is_settled(const struct telegram_world *world)
{
    return telegram_number(&world->telegram, "queued", "{s:s}", "do", "counters") == 0 &&
           world_is_at_rest(&world->world);
}

void telegram_settle(const struct telegram_world *world)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5))
        if (is_settled(world))
            return;
    struct http_answer answer = http_ask(world->world.service.port, "/metrics", "", NULL, 10000);
    fprintf(stderr, "it does not come to rest\n%s\n", answer.body == NULL ? "" : answer.body);
    http_answer_fini(&answer);
    telegram_show(world, ANN);
    exit(1);
}

size_t telegram_asked(const struct telegram_world *world, const char *part)
{
    return world_asked_count(&world->world, part);
}

int64_t telegram_member(const json_t *tree, const char *name)
{
    return json_integer_value(json_object_get(tree, name));
}
