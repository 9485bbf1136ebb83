/*
 * qq_world.c — see qq_world.h. Waiting is for an event with a deadline.
 */
#include "qq_world.h"

#include "support/check.h"

void qq_world_create(struct qq_world *world, const char *fake_model,
                     const struct qq_options *options)
{
    static const char *const chats[] = {ANN, BOB, TEAM, PLACE, DIRECT};
    char json[4096], groups[128];
    snprintf(groups, sizeof groups, ",\"groups\":[\"%s\"]", strchr(TEAM, ':') + 1);
    *world = (struct qq_world){.fake = fake_qq_start(0)};
    world->qq = fake_qq_client(world->fake);
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        platform_tell(&world->qq, "{s:s,s:s}", "do", "chat", "chat", chats[i]);
    folder_create(&world->world.folder, NULL);
    world_model_start(&world->world, fake_model, options->script);
    int len = snprintf(
        json, sizeof json,
        ",\"language\":\"en\",\"agent\":{\"concurrency\":4},\"access\":%s,\"adapters\":{"
        "\"terminal\":{"
        "\"enabled\":false},\"qq\":{\"enabled\":true,\"appId\":\"%s\",\"appSecret\":\"%s\","
        "\"apiRoot\":\"http://127.0.0.1:%d\",\"tokenUrl\":\"http://127.0.0.1:%d/app/"
        "getAppAccessToken\"%s%s}}%s",
        options->access == NULL ? "\"anyone\"" : options->access, FAKE_QQ_APP_ID, FAKE_QQ_SECRET,
        world->qq.port, world->qq.port, options->knows_no_group ? "" : groups,
        options->members == NULL ? "" : options->members,
        options->root == NULL ? "" : options->root);
    CHECK(len > 0 && (size_t)len < sizeof json);
    world_configure(&world->world, world->world.fake_port, "\"apiKey\":\"" WORLD_API_KEY "\"",
                    json);
}

int64_t qq_counter(const struct qq_world *world, const char *name)
{
    return platform_get(&world->qq, name, "{s:s}", "do", "counters");
}

int64_t qq_calls(const struct qq_world *world, const char *name)
{
    json_t *counters = platform_do(&world->qq, "{s:s}", "do", "counters");
    int64_t count = platform_number(json_object_get(counters, "calls"), name, 0);
    json_decref(counters);
    return count;
}

void qq_await_counter(const struct qq_world *world, const char *name, int64_t value)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2))
        if (qq_counter(world, name) >= value)
            return;
    fprintf(stderr, "%s does not become %lld\n", name, (long long)value);
    qq_show(world, ANN);
    exit(1);
}

void qq_world_await_ready(const struct qq_world *world)
{
    qq_await_counter(world, "ready", 1);
}

void qq_world_set_webhook(const struct qq_world *world)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/webhooks/qq", world->world.service.port);
    platform_tell(&world->qq, "{s:s,s:s,s:i,s:i}", "do", "webhook", "url", url, "retry_ms", 200,
                  "tries", 100);
}

void qq_world_start(struct qq_world *world, const char *binary, const char *fake_model,
                    const struct qq_options *options)
{
    qq_world_create(world, fake_model, options);
    service_start(&world->world.service, binary, &world->world.folder);
    if (options->members != NULL && strstr(options->members, "webhook") != NULL) {
        qq_await_log(world,
                     "qq: connected as"); /* from then on it knows its own mention in guilds */
        qq_world_set_webhook(world);
    } else {
        qq_world_await_ready(world);
    }
}

void qq_world_stop(struct qq_world *world)
{
    CHECK_INT(0, service_stop(&world->world.service));
    CHECK_INT(0, qq_counter(world, "leaks"));
    server_stop(world->world.fake);
    world_keeps_secret(&world->world, WORLD_API_KEY);
    world_keeps_secret(&world->world, FAKE_QQ_SECRET);
    fake_qq_stop(world->fake);
    folder_remove(&world->world.folder);
}

char *qq_said(const struct qq_world *world, const char *chat, const char *text)
{
    json_t *said =
        platform_do(&world->qq, "{s:s,s:s,s:s}", "do", "say", "chat", chat, "text", text);
    char *id = platform_copy(sma_str(talk_text(said, "id")));
    json_decref(said);
    return id;
}

void qq_say(const struct qq_world *world, const char *chat, const char *text)
{
    free(qq_said(world, chat, text));
}

json_t *qq_ours(const struct qq_world *world, const char *chat)
{
    json_t *list = platform_do(&world->qq, "{s:s,s:s}", "do", "list", "chat", chat),
           *ours = json_array();
    const json_t *messages = json_object_get(list, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++)
        if (json_is_true(json_object_get(json_array_get(messages, i), "is_ours")))
            json_array_append(ours, json_array_get(messages, i));
    json_decref(list);
    return ours;
}

/* The newest of ours that contains the text (NULL: none), and how many do. */
static json_t *find(const struct qq_world *world, const char *chat, const char *part,
                    size_t *ret_count)
{
    json_t *list = platform_do(&world->qq, "{s:s,s:s}", "do", "list", "chat", chat);
    return world_newest(list, part, NULL, ret_count);
}

size_t qq_count(const struct qq_world *world, const char *chat, const char *part)
{
    size_t count;
    json_decref(find(world, chat, part, &count));
    return count;
}

size_t qq_sent(const struct qq_world *world, const char *chat)
{
    return qq_count(world, chat, "");
}

void qq_show(const struct qq_world *world, const char *chat)
{
    static const char *const views[] = {"list", "counters", "sessions", "refusals"};
    for (size_t i = 0; i < SMA_COUNT_OF(views); i++) {
        json_t *view = platform_do(&world->qq, "{s:s,s:s}", "do", views[i], "chat", chat);
        char *text = json_dumps(view, JSON_INDENT(1));
        fprintf(stderr, "%s\n", text);
        free(text);
        json_decref(view);
    }
    char *log = folder_read(&world->world.folder, "service.log");
    fprintf(stderr, "%s\n", log == NULL ? "" : log);
    free(log);
}

json_t *qq_await(const struct qq_world *world, const char *chat, const char *part)
{
    size_t count;
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        json_t *message = find(world, chat, part, &count);
        if (message != NULL)
            return message;
    }
    fprintf(stderr, "nothing with \"%s\" came\n", part);
    qq_show(world, chat);
    exit(1);
}

void qq_expect(const struct qq_world *world, const char *chat, const char *part)
{
    json_decref(qq_await(world, chat, part));
}

static bool is_settled(const struct qq_world *world)
{
    return qq_counter(world, "webhook_waiting") == 0 && world_is_at_rest(&world->world);
}

void qq_settle(const struct qq_world *world)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5))
        if (is_settled(world))
            return;
    fprintf(stderr, "it does not come to rest\n");
    qq_show(world, ANN);
    exit(1);
}

size_t qq_asked(const struct qq_world *world, const char *part)
{
    return world_asked_count(&world->world, part);
}

int64_t qq_member(const json_t *tree, const char *name)
{
    return json_integer_value(json_object_get(tree, name));
}

void qq_await_log(const struct qq_world *world, const char *part)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5))
        if (world_log_has(&world->world, part))
            return;
    fprintf(stderr, "the log does not say \"%s\"\n", part);
    qq_show(world, ANN);
    exit(1);
}

/* -- weather ----------------------------------------------------------------------------------- */
void qq_fault(const struct qq_world *world, const char *method, const char *kind, int times)
{
    platform_tell(&world->qq, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", method, "kind",
                  kind, "times", times, "ms", 2, "bytes", 7);
}

void qq_status(const struct qq_world *world, const char *method, int status, int code, int times)
{
    platform_tell(&world->qq, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", method, "kind",
                  "status", "status", status, "code", code, "times", times);
}

void qq_await_faults(const struct qq_world *world)
{
    for (long long until = process_now_ms() + AWAIT_MS;
         qq_counter(world, "faults_left") > 0 && process_now_ms() < until;)
        process_pause_ms(2);
    CHECK_INT(0, qq_counter(world, "faults_left"));
}

void qq_talk(const struct qq_world *world, size_t low, size_t high)
{
    static unsigned number;
    char text[64], part[80];
    snprintf(text, sizeof text, "message %u of the storm.", number++);
    snprintf(part, sizeof part, "You said: %s", text);
    long long asked = process_now_ms();
    qq_say(world, ANN, text);
    qq_expect(world, ANN, part);
    long long took = process_now_ms() - asked;
    qq_settle(world);
    size_t count = qq_count(world, ANN, part);
    if (count < low || count > high || took > RECOVERY_MS)
        qq_show(world, ANN);
    CHECK(count >= low && count <= high);
    CHECK(took <= RECOVERY_MS);
}

void qq_recovers(const struct qq_world *world, const char *counter, int64_t value, long long ended)
{
    qq_await_counter(world, counter, value);
    qq_world_await_ready(world);
    long long took = process_now_ms() - ended;
    if (took > RECOVERY_MS)
        qq_show(world, ANN);
    CHECK(took <= RECOVERY_MS);
    qq_talk(world, 1, 1);
}

void qq_say_meanwhile(const struct qq_world *world, size_t count)
{
    char text[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "said meanwhile, number %zu.", i);
        qq_say(world, ANN, text);
    }
}

void qq_expect_meanwhile(const struct qq_world *world, size_t count)
{
    char part[80];
    for (size_t i = 0; i < count; i++) {
        snprintf(part, sizeof part, "You said: said meanwhile, number %zu.", i);
        qq_expect(world, ANN, part);
    }
    qq_settle(world);
    for (size_t i = 0; i < count; i++) {
        snprintf(part, sizeof part, "You said: said meanwhile, number %zu.", i);
        CHECK_INT(1, qq_count(world, ANN, part));
    }
}
