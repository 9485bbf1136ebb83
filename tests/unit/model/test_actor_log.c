/*
 * Aim: the request log says what a model was told and what it said, within its bounds and without a
 *      secret, also where a text is cut in the middle of one; and only when it is wanted.
 * Method: the real model actor and a log in place of the real one, which keeps the blocks; every
 *         one must be JSON where it says so.
 */
#include "harness.h"
#include "raw_server.h"
#include "support/check.h"

#include <jansson.h>
#include <stdlib.h>

#define SECRET "sk-secret-key-which-is-long-0123456789"

static struct sma_config_llm llm;

static struct harness *open_harness(bool is_on)
{
    llm = harness_llm(SMA_LLM_CHAT);
    llm.api_key = SECRET;
    llm.logs_messages = is_on;
    return harness_create(&llm, NULL);
}

/* The line that begins with this block; up to its details. */
static char *block_of(struct harness *harness, const char *kind)
{
    char start[64];
    snprintf(start, sizeof start, "===== LLM %s BEGIN =====", kind);
    harness_wait_log(harness, start);
    const char *at = strstr(harness_log(harness), start);
    const char *end = strstr(at, " END ===== {");
    CHECK(end != NULL);
    end = strchr(end, '\n');
    char *block = strndup(at, (size_t)(end - at));
    CHECK(block != NULL);
    return block;
}

static json_t *details_of(const char *block)
{
    const char *at = strstr(block, "END ===== {");
    CHECK(at != NULL);
    json_t *details = json_loads(at + 10, 0, NULL);
    CHECK(details != NULL);
    return details;
}

CASE(a_question_and_its_answer_leave_two_blocks)
{
    SMA_AUTO(harness_destroyp) struct harness *harness = open_harness(true);
    size_t number = harness_ask(harness, "what is the time");
    (void)harness_wait(harness, number);
    char *request = block_of(harness, "REQUEST"), *response = block_of(harness, "RESPONSE");
    CHECK(strstr(request, "POST http://127.0.0.1:") != NULL);
    CHECK(strstr(request, "model: m-1, tools: 0, messages: 2, bytes: ") != NULL);
    CHECK(strstr(request, "You are a test.") != NULL);
    CHECK(strstr(request, "what is the time") != NULL);
    CHECK(strstr(response, "outcome: ok, attempts: 1") != NULL);
    CHECK(strstr(response, "call chat_send {\"text\":\"You said: what is the time\"}") != NULL);
    json_t *asked = details_of(request), *said = details_of(response);
    CHECK_TEXT("llm_request", json_string_value(json_object_get(asked, "kind")));
    CHECK_TEXT("POST", json_string_value(json_object_get(asked, "method")));
    CHECK_TEXT("m-1", json_string_value(json_object_get(asked, "model")));
    CHECK_INT(2, json_integer_value(json_object_get(asked, "messagesCount")));
    CHECK(json_object_get(asked, "payload") == NULL);
    CHECK_TEXT("llm_response", json_string_value(json_object_get(said, "kind")));
    CHECK_TEXT(json_string_value(json_object_get(asked, "requestId")),
               json_string_value(json_object_get(said, "requestId")));
    json_decref(asked);
    json_decref(said);
    free(request);
    free(response);
}

CASE(a_system_text_is_written_once)
{
    SMA_AUTO(harness_destroyp) struct harness *harness = open_harness(true);
    for (int i = 0; i < 3; i++)
        (void)harness_wait(harness, harness_ask(harness, "again"));
    while (harness_log_count(harness, "RESPONSE END") < 3)
        ;
    CHECK_INT(1, harness_log_count(harness, "You are a test."));
    CHECK_INT(2, harness_log_count(harness, "as in llm-"));
}

CASE(nothing_is_written_when_it_is_not_wanted)
{
    SMA_AUTO(harness_destroyp) struct harness *harness = open_harness(false);
    (void)harness_wait(harness, harness_ask(harness, "private"));
    harness_wait_log(harness, "model_call");
    CHECK_INT(0, harness_log_count(harness, "private"));
    CHECK_INT(0, harness_log_count(harness, "===== LLM"));
}

static void answer_shortly(void *user, size_t number, const char *request, char *response,
                           size_t size)
{
    (void)user;
    (void)number;
    (void)request;
    raw_say(response, size, "Hello.");
}

/* Secrets at every distance from where texts are cut. */
CASE(no_part_of_a_secret_stays_at_a_cut)
{
    setenv("SMA_LOG_LLM_PAYLOAD", "1", 1);
    struct raw_server *server =
        raw_server_create(answer_shortly, NULL); /* the fake quotes a part */
    struct harness *harness = open_harness(true);
    char *text = malloc(200000), url[64];
    CHECK(text != NULL);
    struct sma_config_llm there = llm;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", raw_server_port(server));
    there.base_url = url;
    for (size_t shift = 0; shift < 2 * sizeof SECRET; shift++) {
        size_t len = 0;
        while (len < shift)
            text[len++] = '.';
        while (len < 100000) /* so close that every cut meets one */
            len += (size_t)sprintf(text + len, "%s ", SECRET);
        (void)harness_wait(harness, harness_ask_at(harness, &there, "", text));
    }
    free(text);
    const char *log = harness_log(harness);
    CHECK(strstr(log, "bytes left out") != NULL);
    CHECK(strstr(log, "[redacted]") != NULL);
    CHECK(strstr(log, "sk-s") == NULL);                      /* nor its beginning */
    for (size_t at = 0; at + 6 <= sizeof SECRET - 1; at++) { /* not six bytes of it together */
        char part[7] = "";
        memcpy(part, &SECRET[at], 6);
        if (strstr(log, part) != NULL)
            fprintf(stderr, "  %s is left\n", part);
        CHECK(strstr(log, part) == NULL);
    }
    harness_destroy(harness);
    raw_server_destroy(server);
    unsetenv("SMA_LOG_LLM_PAYLOAD");
}

CASE(blocks_are_bounded_and_say_so)
{
    setenv("SMA_LOG_LLM_PAYLOAD", "1", 1);
    struct harness *harness = open_harness(true);
    char *text = malloc(3000001);
    CHECK(text != NULL);
    memset(text, 'x', 3000000);
    text[3000000] = '\0';
    (void)harness_wait(harness, harness_ask(harness, text));
    (void)harness_wait(harness, harness_ask(harness, "short"));
    char *request = block_of(harness, "REQUEST");
    CHECK(strlen(request) < 12000 + 65536 + 2000);
    CHECK(strstr(request, " bytes left out ...]") != NULL);
    json_t *details = details_of(request);
    CHECK(json_is_string(json_object_get(details, "payload")));
    json_decref(details);
    const char *second = strstr(strstr(harness_log(harness), "===== LLM REQUEST BEGIN") + 10,
                                "===== LLM REQUEST BEGIN");
    CHECK(second != NULL);
    char *copy = strndup(second, strcspn(strstr(second, " END ===== {"), "\n") +
                                     (size_t)(strstr(second, " END ===== {") - second));
    details = details_of(copy);
    CHECK(json_is_object(json_object_get(details, "payload"))); /* whole: as it was sent */
    json_decref(details);
    free(copy);
    free(request);
    free(text);
    harness_destroy(harness);
    unsetenv("SMA_LOG_LLM_PAYLOAD");
}

CASES_MAIN
