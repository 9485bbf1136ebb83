/*
 * Aim: the OpenAI-compatible API with everything behind it: deltas while the model writes, failures
 *      that say so, conversations and responses after a restart, one run a key after a kill.
 * Method: the real binary over sockets; a model server that can drip, fail and be silent says what
 *   it was asked. scenario_openai_world BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "support/patience.h"
#include "talk.h"
#include "world.h"

#include <unistd.h>

#define LLM "\"api\":\"chat\",\"apiKey\":\"" WORLD_API_KEY "\""
#define SAY(role, text) "{\"role\":\"" role "\",\"content\":\"" text "\"}"

static char *binary, *fake_model;
static struct world world;

static json_t *post(const char *path, const char *headers, const char *body, int status)
{
    struct http_answer answer = http_ask(world.service.port, path, headers, body, TALK_MS);
    if (answer.status != status)
        fprintf(stderr, "%s: %d %s\n", body, answer.status,
                answer.body == NULL ? "no answer" : answer.body);
    CHECK_INT(status, answer.status);
    json_t *root = talk_json(&answer);
    http_answer_fini(&answer);
    return root;
}

/* The text of a chat completion; free it. */
static char *complete(const char *headers, const char *body)
{
    json_t *root = post("/v1/chat/completions", headers, body, 200);
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    CHECK_TEXT("stop", talk_text(choice, "finish_reason"));
    char *text = strdup(talk_text(json_object_get(choice, "message"), "content"));
    CHECK(text != NULL);
    json_decref(root);
    return text;
}

static void expect_text(const char *headers, const char *body, const char *part, const char * not )
{
    char *text = complete(headers, body);
    bool is_right = strstr(text, part) != NULL && (not == NULL || strstr(text, not ) == NULL);
    if (!is_right)
        fprintf(stderr, "%s\n", text);
    CHECK(is_right);
    free(text);
}

/* All bytes of an event stream; free it. */
static char *stream(const char *path, const char *body)
{
    char token[128], head[600];
    int fd = raw_connect(world.service.port);
    http_token_of(world.service.port, token);
    snprintf(head, sizeof head,
             "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
             "Content-Length: %zu\r\n\r\n",
             path, world.service.port, token, strlen(body));
    CHECK(raw_send(fd, head, strlen(head)) && raw_send(fd, body, strlen(body)));
    char *bytes = raw_read(fd, "\x01", TALK_MS);
    close(fd);
    return bytes;
}

/* Each piece once, in order: what a client joins is the text. */
static void deltas_come_while_the_model_writes(void)
{
    char *bytes =
        stream("/v1/chat/completions",
               "{\"stream\":true,\"messages\":[" SAY(
                   "user", "[[plain]] [[fault:drip bytes=60 ms=100]] one two three four five six "
                           "seven eight nine ten eleven twelve thirteen") "]}");
    char text[1000] = "";
    unsigned count = 0;
    CHECK(strstr(bytes, "data: [DONE]\n\n") != NULL);
    for (char *at = strstr(bytes, "data: {"); at != NULL; at = strstr(at, "data: {")) {
        at += 6;
        json_t *chunk = json_loadb(at, strcspn(at, "\n"), 0, NULL);
        CHECK(chunk != NULL);
        const json_t *choice = json_array_get(json_object_get(chunk, "choices"), 0);
        const char *piece = talk_text(json_object_get(choice, "delta"), "content");
        count += piece[0] != '\0';
        CHECK(strlen(text) + strlen(piece) < sizeof text);
        strcat(text, piece);
        json_decref(chunk);
    }
    CHECK_TEXT("[[plain]] [[fault:drip bytes=60 ms=100]] one two three four five six "
               "seven eight "
               "nine ten eleven twelve thirteen",
               text);
    CHECK(count >= 2);
    free(bytes);
}

static void a_failed_run_is_an_error_not_to_be_repeated(void)
{
    static const char body[] = "{\"messages\":[" SAY("user", "[[fault:400 times=99]] no") "]}";
    json_t *root = post("/v1/chat/completions", "", body, 500);
    const json_t *error = json_object_get(root, "error");
    CHECK_TEXT("server_error", talk_text(error, "type"));
    CHECK(talk_text(error, "message")[0] != '\0');
    json_decref(root);
    root = post("/v1/responses", "", "{\"input\":\"[[fault:400 times=99]] nor this\"}", 200);
    CHECK_TEXT("failed", talk_text(root, "status"));
    CHECK_TEXT("server_error", talk_text(json_object_get(root, "error"), "code"));
    CHECK_INT(0, json_array_size(json_object_get(root, "output")));
    json_decref(root);
    char *bytes =
        stream("/v1/chat/completions",
               "{\"stream\":true,\"messages\":[" SAY("user", "[[fault:400 times=99]] nor so") "]}");
    CHECK(strstr(bytes, "data: {\"error\":{\"message\":\"") != NULL);
    CHECK(strstr(bytes, "[DONE]") == NULL);
    free(bytes);
}

/* What was sent by a tool before the last word is part of the answer. */
static void what_was_sent_on_the_way_is_told(void)
{
    json_t *model = json_pack("{s:s,s:s}", "role", "user", "content",
                              "[[call chat_send {\"text\":\"The long answer.\"}]]");
    json_t *ask = json_pack("{s:[o]}", "messages", model);
    char *body = json_dumps(ask, 0);
    CHECK(body != NULL);
    expect_text("", body, "The long answer.", NULL);
    json_decref(ask);
    free(body);
}

static void commands_are_answered(void)
{
    expect_text("X-Chat-Id: ordered\r\n",
                "{\"messages\":[" SAY("system", "Be kind.") "," SAY("user", "/status") "]}", "",
                "You said");
}

static void restart(void)
{
    CHECK_INT(0, service_stop(&world.service));
    service_start(&world.service, binary, &world.folder);
}

static void conversations_outlive_a_restart(void)
{
    char first[2000];
    char *answer = complete("", "{\"messages\":[" SAY("user", "the harbour is blue") "]}");
    json_t *one = post("/v1/responses", "", "{\"input\":\"the harbour is green\"}", 200);
    restart();
    snprintf(first, sizeof first,
             "{\"messages\":[" SAY("user", "the harbour is blue") "," SAY(
                 "assistant", "%s") "," SAY("user", "go on") "]}",
             answer);
    /* not known any more: told as text */
    expect_text("", first, "User: the harbour is blue", NULL);
    snprintf(first, sizeof first, "{\"input\":\"go on\",\"previous_response_id\":\"%s\"}",
             talk_text(one, "id"));
    json_t *two = post("/v1/responses", "", first, 200);
    /* the model sees what this chat has said before */
    json_t *asked = world_asked(&world, "the harbour is green");
    CHECK(json_array_size(asked) >= 2);
    json_decref(asked);
    json_decref(one);
    json_decref(two);
    free(answer);
}

static void a_key_is_one_run_after_a_kill(void)
{
    static const char body[] = "{\"messages\":[" SAY("user", "only once, please") "]}";
    char *one = complete("Idempotency-Key: \"k-1\"\r\n", body);
    size_t count = world_asked_count(&world, "only once, please");
    service_kill(&world.service);
    service_start(&world.service, binary, &world.folder);
    char *two = complete("Idempotency-Key: \"k-1\"\r\n", body);
    CHECK_TEXT(one, two);
    CHECK_INT(count, world_asked_count(&world, "only once, please"));
    free(one);
    free(two);
}

int main(int argc, char **argv)
{
    CHECK_INT(3, argc);
    binary = argv[1];
    fake_model = argv[2];
    world_start(&world, binary, fake_model, LLM, "");
    deltas_come_while_the_model_writes();
    a_failed_run_is_an_error_not_to_be_repeated();
    what_was_sent_on_the_way_is_told();
    commands_are_answered();
    conversations_outlive_a_restart();
    a_key_is_one_run_after_a_kill();
    world_stop(&world);
    return 0;
}
