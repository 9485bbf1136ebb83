/*
 * platform_world.c — see platform_world.h.
 */
#include "platform_world.h"

#include "support/check.h"

/* -- life ------------------------------------------------------------------------------------- */
/* The pattern with the port for each "%d". */
static void put_block(char *block, size_t size, const char *pattern, int port)
{
    size_t len = 0;
    for (; *pattern != '\0'; pattern++) {
        bool is_port = pattern[0] == '%' && pattern[1] == 'd';
        int put = is_port ? snprintf(block + len, size - len, "%d", port)
                          : snprintf(block + len, size - len, "%c", *pattern);
        pattern += is_port;
        len += (size_t)put;
        CHECK(len < size);
    }
}

static const char *or_else(const char *text, const char *fallback)
{
    return text == NULL ? fallback : text;
}

static void configure(struct platform_world *world, const struct platform_options *options)
{
    char block[1024], json[4096], llm[256];
    const struct platform_kind *kind = world->kind;
    /* Most tests count an answer for each message. */
    bool has_mode = strstr(or_else(options->root, ""), "\"queue\"") != NULL;
    put_block(block, sizeof block, or_else(options->block, kind->block), world->client.port);
    int len = snprintf(json, sizeof json,
                       "%s%s,\"agent\":{\"concurrency\":%s},\"access\":%s,\"adapters\":{"
                       "\"terminal\":{\"enabled\":false},\"%s\":{%s%s%s}}%s",
                       kind->root, has_mode ? "" : ",\"queue\":{\"mode\":\"serial\"}",
                       or_else(options->concurrency, "4"), or_else(options->access, "\"anyone\""),
                       kind->name, block, options->knows_no_group ? "" : kind->groups,
                       or_else(options->members, ""), or_else(options->root, ""));
    CHECK(len > 0 && (size_t)len < sizeof json);
    snprintf(llm, sizeof llm, "\"apiKey\":\"" WORLD_API_KEY "\"%s", or_else(options->llm, ""));
    world_configure(&world->world, world->world.fake_port, llm, json);
}

void platform_world_create(struct platform_world *world, const struct platform_kind *kind,
                           const char *fake_model, const struct platform_options *options)
{
    *world = (struct platform_world){.kind = kind, .fake = kind->start(0)};
    world->client = kind->client(world->fake);
    for (size_t i = 0; kind->people[i] != NULL; i++) {
        json_t *command = json_loads(kind->people[i], 0, NULL);
        platform_tell(&world->client, "o", command);
    }
    folder_create(&world->world.folder, NULL);
    world_model_start(&world->world, fake_model, options->script);
    configure(world, options);
}

void platform_world_await_ready(const struct platform_world *world)
{
    platform_await_counter(world, world->kind->ready, 1);
}

void platform_world_start(struct platform_world *world, const struct platform_kind *kind,
                          const char *binary, const char *fake_model,
                          const struct platform_options *options)
{
    platform_world_create(world, kind, fake_model, options);
    service_start(&world->world.service, binary, &world->world.folder);
    if (options->members == NULL || strstr(options->members, "webhook") == NULL)
        platform_world_await_ready(world);
    else if (kind->hook != NULL)
        kind->hook(world);
}

void platform_world_stop(struct platform_world *world)
{
    const struct platform_kind *kind = world->kind;
    CHECK_INT(0, service_stop(&world->world.service));
    server_stop(world->world.fake);
    if (kind->wrong != NULL && !world->may_complain) {
        if (platform_counter(world, kind->wrong) > 0)
            chat_show_of(world, NULL);
        CHECK_INT(0, platform_counter(world, kind->wrong));
    }
    world_keeps_secret(&world->world, WORLD_API_KEY);
    for (size_t i = 0; kind->secrets[i] != NULL; i++)
        world_keeps_secret(&world->world, kind->secrets[i]);
    kind->stop(world->fake);
    folder_remove(&world->world.folder);
}

/* -- chats ------------------------------------------------------------------------------------ */
json_t *chat_text_id(const char *id)
{
    return json_string(id);
}

json_t *chat_number_id(int64_t id)
{
    return json_integer((json_int_t)id);
}

json_t *chat_no_id(const void *id)
{
    (void)id;
    return NULL;
}

struct chat_message chat_say_as(const struct platform_world *world, json_t *chat, json_t *user,
                                const char *text)
{
    struct chat_message message = {"", 0};
    json_t *said = platform_do(&world->client, "{s:s,s:o*,s:o*,s:s}", "do", "say", "chat", chat,
                               "user", user, "text", text);
    const json_t *id = json_object_get(said, "message_id");
    if (id == NULL)
        id = json_object_get(said, "id");
    message.number = json_integer_value(id);
    if (json_is_string(id))
        snprintf(message.id, sizeof message.id, "%s", json_string_value(id));
    json_decref(said);
    return message;
}

/* The newest of ours that contains the text (NULL: none), and how many do. */
static json_t *find(const struct platform_world *world, json_t *chat, const char *part,
                    size_t *ret_count)
{
    json_t *list = platform_do(&world->client, "{s:s,s:O*}", "do", "list", "chat", chat);
    return world_newest(list, part, world->kind->hidden, ret_count);
}

size_t chat_count_in(const struct platform_world *world, json_t *chat, const char *part)
{
    size_t count;
    json_decref(find(world, chat, part, &count));
    json_decref(chat);
    return count;
}

static void show_view(const struct platform_world *world, const char *what, json_t *chat)
{
    json_t *view = platform_do(&world->client, "{s:s,s:O*}", "do", what, "chat", chat);
    char *text = json_dumps(view, JSON_INDENT(1));
    fprintf(stderr, "%s: %s\n", what, text);
    free(text);
    json_decref(view);
}

/* chat NULL: that of Ann. */
void chat_show_of(const struct platform_world *world, json_t *chat)
{
    json_t *ann = json_loads(world->kind->ann, 0, NULL);
    for (size_t i = 0; world->kind->views[i] != NULL; i++)
        show_view(world, world->kind->views[i], chat == NULL ? json_object_get(ann, "chat") : chat);
    char *log = folder_read(&world->world.folder, "service.log");
    fprintf(stderr, "%s\n", log == NULL ? "" : log);
    free(log);
    json_decref(ann);
    json_decref(chat);
}

json_t *chat_await_in(const struct platform_world *world, json_t *chat, const char *part)
{
    size_t count;
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        json_t *message = find(world, chat, part, &count);
        if (message != NULL) {
            json_decref(chat);
            return message;
        }
    }
    fprintf(stderr, "nothing with \"%s\" came\n", part);
    chat_show_of(world, chat);
    exit(1);
}

/* -- the platform ----------------------------------------------------------------------------- */
int64_t platform_counter(const struct platform_world *world, const char *name)
{
    json_t *counters = platform_do(&world->client, "{s:s}", "do", "counters");
    const json_t *value = json_object_get(counters, name);
    int64_t number = json_is_true(value) ? 1 : json_integer_value(value);
    json_decref(counters);
    return number;
}

int64_t platform_calls(const struct platform_world *world, const char *name)
{
    json_t *counters = platform_do(&world->client, "{s:s}", "do", "counters");
    int64_t count = platform_number(json_object_get(counters, "calls"), name, 0);
    json_decref(counters);
    return count;
}

static void give_up(const struct platform_world *world, const char *what, const char *name)
{
    fprintf(stderr, "%s: %s\n", what, name);
    chat_show_of(world, NULL);
    exit(1);
}

void platform_await_counter(const struct platform_world *world, const char *name, int64_t value)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2))
        if (platform_counter(world, name) >= value)
            return;
    fprintf(stderr, "%lld, wanted %lld\n", (long long)platform_counter(world, name),
            (long long)value);
    give_up(world, "the counter does not rise", name);
}

void platform_status(const struct platform_world *world, const char *method, int status, int code,
                     int times)
{
    platform_tell(&world->client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", method,
                  "kind", "status", "status", status, "code", code, "times", times);
}

/* -- the service ------------------------------------------------------------------------------ */
/* The store says it itself: gauges lag behind a batch. */
static bool is_all_sent(const struct platform_world *world)
{
    struct http_answer answer =
        http_ask(world->world.service.port, "/api/status", "", NULL, AWAIT_MS);
    CHECK(answer.status == 200 && strstr(answer.body, "\"outbox\":{\"open\":") != NULL);
    bool is_quiet = strstr(answer.body, "\"outbox\":{\"open\":0,") != NULL;
    http_answer_fini(&answer);
    return is_quiet;
}

void platform_settle(const struct platform_world *world)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5))
        if (platform_counter(world, world->kind->queued) == 0 && is_all_sent(world) &&
            world_is_at_rest(&world->world))
            return;
    struct http_answer answer = http_ask(world->world.service.port, "/metrics", "", NULL, 10000);
    fprintf(stderr, "%s\n", answer.body == NULL ? "" : answer.body);
    http_answer_fini(&answer);
    give_up(world, "it does not come to rest", world->kind->name);
}

size_t platform_asked(const struct platform_world *world, const char *part)
{
    return world_asked_count(&world->world, part);
}

bool platform_log_has(const struct platform_world *world, const char *part)
{
    return world_log_has(&world->world, part);
}

void platform_await_log(const struct platform_world *world, const char *part)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5))
        if (platform_log_has(world, part))
            return;
    give_up(world, "the log does not say", part);
}

size_t platform_lines(const struct platform_world *world, const char *name)
{
    char *text = folder_read(&world->world.folder, name);
    size_t count = 0;
    for (const char *at = text; at != NULL && (at = strchr(at, '\n')) != NULL; at++)
        count++;
    free(text);
    return count;
}

void platform_await_receipts(const struct platform_world *world)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(1))
        if (is_all_sent(world))
            return;
    give_up(world, "something is still to be sent", world->kind->name);
}
