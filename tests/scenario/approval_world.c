/*
 * approval_world.c — see approval_world.h. Waiting is for an event with a deadline.
 */
#include "approval_world.h"

#include "support/check.h"

#include <stdarg.h>

#define NO_LIMITS ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0,\"perGroupPerMinute\":0}"

void approval_create(struct platform_world *world, const char *fake_model,
                     const struct approval_options *options)
{
    char root[2048];
    int len = snprintf(root, sizeof root,
                       ",\"permissions\":{\"roles\":{\"owner\":[\"telegram:%d\"],"
                       "\"member\":[\"telegram:%d\"]}%s}%s",
                       ANN, BOB, options->permissions == NULL ? "" : options->permissions,
                       options->root == NULL ? "" : options->root);
    CHECK(len > 0 && (size_t)len < sizeof root);
    platform_world_create(world, &telegram_kind, fake_model,
                          &(struct platform_options){
                              .concurrency = options->concurrency,
                              .access = options->access == NULL ? "\"paired\"" : options->access,
                              .members = options->members == NULL ? NO_LIMITS : options->members,
                              .script = options->script,
                              .knows_no_group = options->knows_no_group,
                              .root = root,
                              .llm = options->llm});
    platform_tell(&world->client, "{s:s,s:i,s:s,s:s,s:s}", "do", "user", "id", CAT, "first_name",
                  "Cat", "username", "cat", "language", "en");
}

void approval_start(struct platform_world *world, const char *binary, const char *fake_model,
                    const struct approval_options *options)
{
    approval_create(world, fake_model, options);
    service_start(&world->world.service, binary, &world->world.folder);
    platform_world_await_ready(world);
}

void approval_restart(struct platform_world *world, const char *binary)
{
    service_start(&world->world.service, binary, &world->world.folder);
    platform_world_await_ready(world);
}

/* -- messages and buttons ---------------------------------------------------------------------- */
static json_t *find_message(const struct platform_world *world, int64_t chat, int64_t id,
                            const char *part, bool has_buttons)
{
    json_t *list = platform_do(&world->client, "{s:s,s:I}", "do", "list", "chat", (json_int_t)chat),
           *found = NULL;
    const json_t *messages = json_object_get(list, "messages");
    for (size_t i = json_array_size(messages); i > 0 && found == NULL; i--) {
        json_t *message = json_array_get(messages, i - 1);
        if (json_is_true(json_object_get(message, "is_ours")) &&
            (id == 0 || platform_number(message, "id", 0) == id) &&
            (json_array_size(json_object_get(message, "buttons")) > 0) == has_buttons &&
            strstr(talk_text(message, "text"), part) != NULL)
            found = json_incref(message);
    }
    json_decref(list);
    return found;
}

static json_t *await_message(const struct platform_world *world, int64_t chat, int64_t id,
                             const char *part, bool has_buttons)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(2)) {
        json_t *message = find_message(world, chat, id, part, has_buttons);
        if (message != NULL)
            return message;
    }
    fprintf(stderr, "no message %s buttons and with \"%s\" came\n",
            has_buttons ? "with" : "without", part);
    chat_show(world, chat);
    exit(1);
}

json_t *approval_await_card(const struct platform_world *world, int64_t chat, const char *part)
{
    return await_message(world, chat, 0, part, true);
}

static char *press(const struct platform_world *world, int64_t chat, int64_t user,
                   int64_t message_id, const char *member, const char *value)
{
    json_t *answer = platform_do(&world->client, "{s:s,s:I,s:I,s:I,s:s}", "do", "press", "chat",
                                 (json_int_t)chat, "user", (json_int_t)user, "message_id",
                                 (json_int_t)message_id, member, value);
    char *id = strdup(talk_text(answer, "id"));
    CHECK(json_is_true(json_object_get(answer, "is_queued")) && id != NULL);
    json_decref(answer);
    return id;
}

char *approval_press(const struct platform_world *world, int64_t chat, int64_t user,
                     int64_t message_id, const char *button)
{
    return press(world, chat, user, message_id, "button", button);
}

void approval_expect_toast(const struct platform_world *world, char *id, const char *part)
{
    char text[512] = "";
    bool is_answered = false, is_late = false;
    for (long long until = process_now_ms() + AWAIT_MS;
         process_now_ms() < until && !is_answered && !is_late; process_pause_ms(2)) {
        json_t *toast = platform_do(&world->client, "{s:s,s:s}", "do", "toast", "id", id);
        is_answered = json_is_true(json_object_get(toast, "is_answered"));
        is_late = json_is_true(json_object_get(toast, "is_late"));
        snprintf(text, sizeof text, "%s", talk_text(toast, "text"));
        json_decref(toast);
    }
    if (!is_answered || strstr(text, part) == NULL) {
        fprintf(stderr, "the press got \"%s\", wanted \"%s\"\n", text, part);
        chat_show(world, ANN);
    }
    CHECK(is_answered && strstr(text, part) != NULL);
    free(id);
}

void approval_press_for(const struct platform_world *world, int64_t chat, int64_t user,
                        int64_t message_id, const char *button, const char *part)
{
    approval_expect_toast(world, approval_press(world, chat, user, message_id, button), part);
}

void approval_await_results(const struct platform_world *world, int64_t chat, size_t count)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (chat_count(world, chat, "Result: ") < count && process_now_ms() < until)
        process_pause_ms(2);
    if (chat_count(world, chat, "Result: ") != count)
        chat_show(world, chat);
    CHECK_INT(count, chat_count(world, chat, "Result: "));
}

char *approval_do(const struct platform_world *world, int64_t chat, int64_t user, const char *text)
{
    size_t count = chat_count(world, chat, "Result: ");
    (void)chat_say(world, chat, user, text);
    approval_await_results(world, chat, count + 1);
    json_t *message = chat_await(world, chat, "Result: ");
    char *result = strdup(talk_text(message, "text"));
    json_decref(message);
    return result;
}

char *approval_agree(const struct platform_world *world, const char *text)
{
    size_t count = chat_count(world, ANN, "Result: ");
    int64_t said = chat_say(world, ANN, ANN, text).number, pressed = 0;
    long long until = process_now_ms() + AWAIT_MS;
    while (chat_count(world, ANN, "Result: ") == count && process_now_ms() < until) {
        json_t *card = find_message(world, ANN, 0, "", true);
        int64_t id = card == NULL ? 0 : platform_number(card, "id", 0);
        if (id > said && id != pressed)
            free(approval_press(world, ANN, ANN, pressed = id, "Approve"));
        json_decref(card);
        process_pause_ms(2);
    }
    approval_await_results(world, ANN, count + 1);
    json_t *message = chat_await(world, ANN, "Result: ");
    char *result = strdup(talk_text(message, "text"));
    json_decref(message);
    return result;
}

void approval_do_for(const struct platform_world *world, const char *text, const char *part)
{
    char *result = approval_agree(world, text);
    if (strstr(result, part) == NULL)
        fprintf(stderr, "%s gave \"%s\", wanted \"%s\"\n", text, result, part);
    CHECK(strstr(result, part) != NULL);
    free(result);
}

int64_t approval_ask(const struct platform_world *world, int64_t chat, int64_t user,
                     const char *text, const char *part)
{
    int64_t said = chat_say(world, chat, user, text).number, id = 0;
    long long until = process_now_ms() + AWAIT_MS;
    do { /* an older one with the same words may not be edited yet */
        json_t *card = approval_await_card(world, chat, part);
        id = platform_number(card, "id", 0);
        json_decref(card);
    } while (id <= said && process_now_ms() < until);
    CHECK(id > said);
    platform_await_receipts(world);
    return id;
}

void approval_await_asked(const struct platform_world *world, const char *part, size_t count)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (platform_asked(world, part) < count && process_now_ms() < until)
        process_pause_ms(5);
    if (platform_asked(world, part) != count) {
        fprintf(stderr, "the model was told \"%s\" %zu times\n", part, platform_asked(world, part));
        chat_show(world, ANN);
    }
    CHECK_INT(count, platform_asked(world, part));
}

json_t *approval_api(const struct platform_world *world, const char *path, const char *body,
                     int status)
{
    struct http_answer answer = http_ask(world->world.service.port, path, "", body, TALK_MS);
    if (answer.status != status)
        fprintf(stderr, "%s gave %d: %s\n", path, answer.status,
                answer.body == NULL ? "" : answer.body);
    CHECK_INT(status, answer.status);
    json_t *root = talk_json(&answer);
    http_answer_fini(&answer);
    return root;
}

json_t *approval_await_open(const struct platform_world *world, size_t count)
{
    json_t *list = NULL;
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5)) {
        list = approval_api(world, "/api/approvals", NULL, 200);
        if (json_array_size(json_object_get(list, "approvals")) == count)
            return list;
        json_decref(list);
    }
    fprintf(stderr, "there are never %zu requests\n", count);
    chat_show(world, ANN);
    exit(1);
}

void approval_cli(const struct platform_world *world, const char *binary, int status,
                  const char *part, ...)
{
    char line[1024];
    size_t len = (size_t)snprintf(line, sizeof line, "cd '%s' && exec '%s'",
                                  world->world.folder.path, binary);
    va_list words;
    va_start(words, part);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;)
        len += (size_t)snprintf(line + len, sizeof line - len, " '%s'", word);
    va_end(words);
    CHECK(len < sizeof line);
    char *output = NULL, *argv[] = {(char *)"/bin/sh", (char *)"-c", line, NULL};
    int actual = run_to_end(argv, "", &output, 30000);
    if (actual != status || strstr(output, part) == NULL)
        fprintf(stderr, "%s: status %d, wanted %d and \"%s\":\n%s\n", line, actual, status, part,
                output);
    CHECK(actual == status && strstr(output, part) != NULL);
    free(output);
}
