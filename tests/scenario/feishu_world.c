/*
 * feishu_world.c — see feishu_world.h. Waiting is for an event with a deadline.
 */
#include "feishu_world.h"

#include "support/check.h"

static void add_people(const struct feishu_world *world)
{
    static const char *const people[][2] = {{ANN, "Ann"}, {BOB, "Bob"}, {EVE, "Eve"}};
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++)
        platform_tell(&world->feishu, "{s:s,s:s,s:s}", "do", "user", "id", people[i][0], "name",
                      people[i][1]);
    platform_tell(&world->feishu, "{s:s,s:s,s:s}", "do", "chat", "id", TEAM, "owner", EVE);
    platform_tell(&world->feishu, "{s:s,s:s,s:s,s:b}", "do", "chat", "id", TOPICS, "owner", EVE,
                  "topics", 1);
    platform_tell(&world->feishu, "{s:s,s:i}", "do", "scale", "factor", 60);
}

static void configure(struct feishu_world *world, const struct feishu_options *options)
{
    static const char usual[] =
        "\"enabled\":true,\"appId\":\"" FAKE_FEISHU_APP "\",\"appSecret\":\"" FAKE_FEISHU_SECRET
        "\",\"domain\":\"http://127.0.0.1:%d\"";
    static const char groups[] = ",\"groups\":[\"" TEAM "\",\"" TOPICS "\"]";
    char block[512], json[4096];
    const char *pattern = options->block == NULL ? usual : options->block,
               *mark = strstr(pattern, "%d");
    int head = (int)(mark == NULL ? strlen(pattern) : (size_t)(mark - pattern));
    if (mark == NULL)
        snprintf(block, sizeof block, "%s", pattern);
    else
        snprintf(block, sizeof block, "%.*s%d%s", head, pattern, world->feishu.port, mark + 2);
    int len = snprintf(json, sizeof json,
                       ",\"agent\":{\"concurrency\":4},\"access\":%s,"
                       "\"adapters\":{\"terminal\":{\"enabled\":"
                       "false},\"feishu\":{%s%s%s}}%s",
                       options->access == NULL ? "\"anyone\"" : options->access, block,
                       options->knows_no_group ? "" : groups,
                       options->members == NULL ? "" : options->members,
                       options->root == NULL ? "" : options->root);
    CHECK(len > 0 && (size_t)len < sizeof json);
    world_configure(&world->world, world->world.fake_port, "\"apiKey\":\"" WORLD_API_KEY "\"",
                    json);
}

void feishu_world_create(struct feishu_world *world, const char *fake_model,
                         const struct feishu_options *options)
{
    *world = (struct feishu_world){.fake = fake_feishu_start(0)};
    world->feishu = fake_feishu_client(world->fake);
    add_people(world);
    folder_create(&world->world.folder, NULL);
    world_model_start(&world->world, fake_model, options->script);
    configure(world, options);
}

int64_t feishu_counter(const struct feishu_world *world, const char *name)
{
    return platform_get(&world->feishu, name, "{s:s}", "do", "counters");
}

void feishu_await_counter(const struct feishu_world *world, const char *name, int64_t wanted)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (feishu_counter(world, name) < wanted && process_now_ms() < until)
        process_pause_ms(2);
    if (feishu_counter(world, name) < wanted) {
        fprintf(stderr, "%s is %lld, wanted %lld\n", name, (long long)feishu_counter(world, name),
                (long long)wanted);
        feishu_show(world, ANN_CHAT);
        exit(1);
    }
}

void feishu_world_await_connection(const struct feishu_world *world)
{
    feishu_await_counter(world, "connections", 1);
}

void feishu_world_start(struct feishu_world *world, const char *binary, const char *fake_model,
                        const struct feishu_options *options)
{
    feishu_world_create(world, fake_model, options);
    service_start(&world->world.service, binary, &world->world.folder);
    if (options->members == NULL || strstr(options->members, "webhook") == NULL)
        feishu_world_await_connection(world);
}

void feishu_world_stop(struct feishu_world *world)
{
    CHECK_INT(0, service_stop(&world->world.service));
    server_stop(world->world.fake);
    if (!world->may_complain && feishu_counter(world, "complaints") > 0)
        feishu_show(world, ANN_CHAT);
    CHECK(world->may_complain || feishu_counter(world, "complaints") == 0);
    world_keeps_secret(&world->world, WORLD_API_KEY);
    world_keeps_secret(&world->world, FAKE_FEISHU_SECRET);
    world_keeps_secret(&world->world, "fakeTenantAccessToken"); /* in every token of the platform */
    world_keeps_secret(&world->world, "ticket="); /* in every URL of the long connection */
    fake_feishu_stop(world->fake);
    folder_remove(&world->world.folder);
}

struct feishu_message feishu_say(const struct feishu_world *world, const char *chat,
                                 const char *user, const char *text)
{
    struct feishu_message message;
    json_t *said = platform_do(&world->feishu, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", chat,
                               "user", user, "text", text);
    snprintf(message.id, sizeof message.id, "%s", talk_text(said, "message_id"));
    json_decref(said);
    return message;
}

/* The newest of ours that contains the text (NULL: none), and how many do. */
static json_t *find(const struct feishu_world *world, const char *chat, const char *part,
                    size_t *ret_count)
{
    json_t *list = platform_do(&world->feishu, "{s:s,s:s}", "do", "list", "chat", chat);
    return world_newest(list, part, "is_recalled", ret_count);
}

size_t feishu_count(const struct feishu_world *world, const char *chat, const char *part)
{
    size_t count;
    json_decref(find(world, chat, part, &count));
    return count;
}

size_t feishu_sent(const struct feishu_world *world, const char *chat)
{
    return feishu_count(world, chat, "");
}

static void show(const struct feishu_world *world, const char *what, const char *chat)
{
    json_t *tree = platform_do(&world->feishu, "{s:s,s:s}", "do", what, "chat", chat);
    char *text = json_dumps(tree, JSON_INDENT(1));
    fprintf(stderr, "%s: %s\n", what, text);
    free(text);
    json_decref(tree);
}

void feishu_show(const struct feishu_world *world, const char *chat)
{
    char *log = folder_read(&world->world.folder, "service.log");
    show(world, "list", chat);
    show(world, "counters", chat);
    show(world, "complaints", chat);
    fprintf(stderr, "%s\n", log == NULL ? "" : log);
    free(log);
}

json_t *feishu_await(const struct feishu_world *world, const char *chat, const char *part)
{
    size_t count;
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        json_t *message = find(world, chat, part, &count);
        if (message != NULL)
            return message;
    }
    fprintf(stderr, "nothing with \"%s\" came\n", part);
    feishu_show(world, chat);
    exit(1);
}

void feishu_expect(const struct feishu_world *world, const char *chat, const char *part)
{
    json_decref(feishu_await(world, chat, part));
}

static bool is_settled(const struct feishu_world *world)
{
    return feishu_counter(world, "queued") == 0 && world_is_at_rest(&world->world);
}

void feishu_settle(const struct feishu_world *world)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5))
        if (is_settled(world))
            return;
    fprintf(stderr, "it does not come to rest\n");
    feishu_show(world, ANN_CHAT);
    exit(1);
}

size_t feishu_asked(const struct feishu_world *world, const char *part)
{
    return world_asked_count(&world->world, part);
}

bool feishu_log_has(const struct feishu_world *world, const char *part)
{
    return world_log_has(&world->world, part);
}

void feishu_await_log(const struct feishu_world *world, const char *part)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (!feishu_log_has(world, part) && process_now_ms() < until)
        process_pause_ms(5);
    if (!feishu_log_has(world, part))
        feishu_show(world, ANN_CHAT);
    CHECK(feishu_log_has(world, part));
}
