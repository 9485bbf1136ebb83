/*
 * Aim: a probe asks a model one short question with the product's own headers, and says what is
 * wrong in words that name the remedy; no key stands in any line.
 * Method: a server of the test's own; sma_probe_model and sma_probe_models_list against it.
 */
#include "cli/probe/probe.h"
#include "platform/ws_server.h"
#include "support/check.h"
#include "unit/model/raw_server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KEY "sk-secret-of-the-house-0001"

struct world
{
    struct raw_server *server;
    char url[128];
    struct sma_config_llm llm;
    struct sma_probe_result result;
};

static void open_world(struct world *world, raw_answer_fn *answer)
{
    *world = (struct world){.server = raw_server_create(answer, world)};
    snprintf(world->url, sizeof world->url, "http://127.0.0.1:%d/v1",
             raw_server_port(world->server));
    world->llm = (struct sma_config_llm){.api = SMA_LLM_CHAT,
                                         .provider = "custom",
                                         .model = "house-modl",
                                         .base_url = world->url,
                                         .api_key = KEY,
                                         .api_key_source = "${LLM_API_KEY}",
                                         .is_stream = true};
}

static void close_world(struct world *world)
{
    for (size_t i = 0; i < world->result.line_count; i++) {
        CHECK(strstr(world->result.lines[i].seen, KEY) == NULL);
        CHECK(strstr(world->result.lines[i].remedy, KEY) == NULL);
    }
    raw_server_destroy(world->server);
}

static const struct sma_probe_line *probe(struct world *world)
{
    sma_probe_model(&world->llm, &world->result);
    CHECK(world->result.line_count > 0);
    return &world->result.lines[0];
}

#define HAS(text, part) CHECK(strstr((text), (part)) != NULL)

/* -- answers ----------------------------------------------------------------------------------- */
static void say_ok(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)number, (void)request;
    raw_say(response, size, "ok");
}

CASE(a_model_that_answers_is_fine)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, say_ok);
    const struct sma_probe_line *line = probe(&world);
    CHECK_INT(SMA_PROBE_OK, line->state);
    CHECK_INT(SMA_PROBE_OK, world.result.state);
    CHECK_TEXT("model custom/house-modl", line->name);
    HAS(line->seen, "answers, after ");
    CHECK_TEXT("", line->remedy);
    const char *request = raw_server_request(world.server, 0);
    HAS(request, "POST /v1/chat/completions ");
    HAS(request, "Authorization: Bearer " KEY "\r\n");
    HAS(request, "\"model\":\"house-modl\"");
    HAS(request, "\"tools\":["); /* whether it can call tools is part of the question */
    HAS(raw_server_request(world.server, 2), "GET /v1/models ");
    HAS(raw_server_request(world.server, 3), "GET /api/ps ");
    HAS(raw_server_request(world.server, 4), "GET /props ");
    HAS(raw_server_request(world.server, 5), "POST /api/show ");
    HAS(raw_server_request(world.server, 5), "{\"model\":\"house-modl\"}");
    CHECK_INT(6, raw_server_count(world.server)); /* of a server nearby: what window it has */
    HAS(raw_server_request(world.server, 1), "\"role\":\"tool\"");
}

/* DeepSeek behind a gateway: the first message passes, what stands before is refused. */
static void want_reasoning(void *user, size_t number, const char *request, char *response,
                           size_t size)
{
    (void)user, (void)number;
    if (strstr(request, "\"tool_calls\"") == NULL || strstr(request, "reasoning_content") != NULL)
        raw_say(response, size, "ok");
    else
        raw_fail(response, size, 400, "",
                 "{\"error\":{\"message\":\"The reasoning_content in the thinking mode must be "
                 "passed back to the API.\"}}");
}

CASE(two_turns_with_a_call_are_tried)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, want_reasoning);
    const struct sma_probe_line *line = probe(&world);
    CHECK_INT(SMA_PROBE_OK, line->state);
    HAS(raw_server_request(world.server, 2), "\"reasoning_content\":\"\"");
}

static void small_window(void *user, size_t number, const char *request, char *response,
                         size_t size)
{
    (void)user, (void)number;
    if (strncmp(request, "POST ", 5) == 0)
        raw_say(response, size, "ok");
    else
        raw_fail(response, size, 200, "",
                 "{\"data\":[{\"id\":\"house-modl\",\"max_model_len\":4096}]}");
}

/* Ollama before the model is loaded: asked by its name, it tells what its Modelfile sets. */
static void small_modelfile(void *user, size_t number, const char *request, char *response,
                            size_t size)
{
    (void)user, (void)number;
    if (strncmp(request, "POST /api/show ", 15) == 0)
        raw_fail(
            response, size, 200, "",
            "{\"model_info\":{\"llama.context_length\":131072},\"parameters\":\"num_ctx 4096\"}");
    else if (strncmp(request, "POST ", 5) == 0)
        raw_say(response, size, "ok");
    else
        raw_fail(response, size, 404, "", "404 page not found");
}

CASE(a_window_smaller_than_counted_on_is_told)
{
    for (int i = 0; i < 2; i++) {
        struct world world;
        open_world(&world, i == 0 ? small_window : small_modelfile);
        (void)probe(&world);
        CHECK_INT(2, world.result.line_count);
        CHECK_INT(SMA_PROBE_WARNING, world.result.lines[1].state);
        HAS(world.result.lines[1].seen, "keeps 4096 tokens");
        HAS(world.result.lines[1].remedy, "llm.contextTokens");
        close_world(&world);
    }
}

static void only_under_v1(void *user, size_t number, const char *request, char *response,
                          size_t size)
{
    (void)user, (void)number;
    if (strncmp(request, "POST /v1/", 9) == 0)
        raw_say(response, size, "ok");
    else
        raw_fail(response, size, 404, "", "404 page not found");
}

CASE(a_missing_v1_is_named)
{
    char url[64];
    SMA_AUTO(close_world) struct world world;
    open_world(&world, only_under_v1);
    snprintf(url, sizeof url, "%.*s", (int)(strlen(world.llm.base_url) - 3), world.llm.base_url);
    world.llm.base_url = url;
    const struct sma_probe_line *line = probe(&world);
    CHECK_INT(SMA_PROBE_ERROR, line->state);
    HAS(line->seen, "with /v1 behind it the model does");
    HAS(line->remedy, "/v1");
}

static void refuse_key(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)number, (void)request;
    raw_fail(response, size, 401, "",
             "{\"error\":{\"message\":\"Incorrect API key provided: " KEY
             "\",\"type\":\"invalid_request_error\",\"code\":\"invalid_api_key\"}}");
}

static void want_key(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)number, (void)request;
    raw_fail(response, size, 401, "",
             "{\"error\":{\"message\":\"You didn't provide an API key\"}}");
}

CASE(a_refused_key_names_where_it_comes_from)
{
    struct world world;
    open_world(&world, refuse_key);
    const struct sma_probe_line *line = probe(&world);
    CHECK_INT(SMA_PROBE_ERROR, line->state);
    HAS(line->seen, "HTTP 401");
    HAS(line->remedy, "${LLM_API_KEY}");
    close_world(&world);
    open_world(&world, want_key);
    world.llm.api_key = "";
    world.llm.api_key_source = "none";
    HAS(probe(&world)->remedy, "no key was found");
    close_world(&world);
}

static void refuse_all(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)number, (void)request;
    raw_fail(response, size, 401, "", "{}");
}

CASE(many_keys_have_a_line_each)
{
    static char texts[32][16];
    static const char *keys[32];
    SMA_AUTO(close_world) struct world world;
    open_world(&world, refuse_all);
    for (int i = 0; i < 32; i++) {
        snprintf(texts[i], sizeof texts[i], "key-number-%d", i);
        keys[i] = texts[i];
    }
    world.llm.api_keys = keys;
    world.llm.api_key_count = 32;
    (void)probe(&world);
    CHECK_INT(32, world.result.line_count);
    CHECK_INT(32, raw_server_count(world.server));
}

static void refuse_second(void *user, size_t number, const char *request, char *response,
                          size_t size)
{
    (void)user, (void)number;
    if (strstr(request, "Bearer key-two-of-two") != NULL)
        raw_fail(response, size, 401, "",
                 "{\"error\":{\"message\":\"Incorrect API key provided: key-two-of-two\"}}");
    else
        raw_say(response, size, "ok");
}

CASE(each_key_is_asked_with_and_named_by_its_number)
{
    static const char *const keys[] = {"key-one-of-two", "key-two-of-two"};
    SMA_AUTO(close_world) struct world world;
    open_world(&world, refuse_second);
    world.llm.api_keys = keys;
    world.llm.api_key_count = 2;
    world.llm.api_key = keys[0];
    (void)probe(&world);
    CHECK_INT(2, world.result.line_count);
    /* They are asked at once: whose answer comes first is told first. */
    bool is_second_first = strstr(world.result.lines[0].name, " key 2") != NULL;
    const struct sma_probe_line *first = &world.result.lines[is_second_first],
                                *second = &world.result.lines[!is_second_first];
    CHECK_INT(SMA_PROBE_OK, first->state);
    HAS(first->name, " key 1");
    CHECK_INT(SMA_PROBE_ERROR, second->state);
    CHECK(strstr(second->seen, keys[1]) == NULL);
    HAS(second->name, " key 2");
    CHECK_INT(SMA_PROBE_ERROR, world.result.state);
}

static void have_others(void *user, size_t number, const char *request, char *response, size_t size)
{
    static const char list[] = "{\"object\":\"list\",\"data\":[{\"id\":\"whisper\"},"
                               "{\"id\":\"house-model\"},{\"id\":\"house-mode2\"}]}";
    (void)user, (void)number;
    if (strncmp(request, "GET /v1/models ", 15) == 0)
        snprintf(response, size,
                 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n"
                 "%s",
                 strlen(list), list);
    else
        raw_fail(response, size, 404, "",
                 "{\"error\":{\"message\":\"The model `house-modl` does not exist\",\"type\":"
                 "\"invalid_request_error\",\"code\":\"model_not_found\"}}");
}

CASE(an_unknown_model_is_told_with_those_that_are_there)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, have_others);
    const struct sma_probe_line *line = probe(&world);
    CHECK_INT(SMA_PROBE_ERROR, line->state);
    HAS(line->seen, "does not have the model house-modl");
    HAS(line->remedy, "for example house-mode");
    CHECK(strstr(line->remedy, "house-model") < strstr(line->remedy, "whisper"));
}

CASE(the_list_of_models_is_read)
{
    struct world world;
    struct sma_models_list list;
    open_world(&world, have_others);
    CHECK(sma_probe_models_list(&world.llm, &list, &world.result));
    CHECK_INT(3, list.count);
    sma_models_list_fini(&list);
    CHECK_INT(SMA_PROBE_OK, world.result.state);
    close_world(&world);
    open_world(&world, refuse_key);
    CHECK(!sma_probe_models_list(&world.llm, &list, &world.result));
    CHECK_INT(SMA_PROBE_ERROR, world.result.state);
    HAS(world.result.lines[0].remedy, "${LLM_API_KEY}");
    close_world(&world);
}

static void lack_money(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)number, (void)request;
    raw_fail(
        response, size, 402, "",
        "{\"error\":{\"message\":\"Insufficient Balance\",\"code\":\"invalid_request_error\"}}");
}

CASE(an_empty_account_is_an_error_and_says_top_it_up)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, lack_money);
    const struct sma_probe_line *line = probe(&world);
    CHECK_INT(SMA_PROBE_ERROR, line->state);
    HAS(line->seen, "Insufficient Balance");
    HAS(line->remedy, "top it up");
    CHECK(strstr(line->seen, "top it up") == NULL); /* the remedy stands in its own half alone */
}

static void refuse_member(void *user, size_t number, const char *request, char *response,
                          size_t size)
{
    (void)user, (void)number;
    if (strstr(request, "\"temperature\"") == NULL)
        raw_say(response, size, "ok");
    else
        raw_fail(response, size, 400, "",
                 "{\"error\":{\"message\":\"Unsupported parameter: 'temperature' is not supported "
                 "with this model.\",\"type\":\"invalid_request_error\",\"param\":\"temperature\","
                 "\"code\":\"unsupported_parameter\"}}");
}

CASE(a_member_that_is_refused_is_left_out_as_the_service_does)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, refuse_member);
    world.llm.has_temperature = true;
    world.llm.temperature = 0.3;
    CHECK_INT(SMA_PROBE_OK, probe(&world)->state);
    HAS(raw_server_request(world.server, 1), "POST ");
    CHECK(strstr(raw_server_request(world.server, 1), "\"temperature\"") == NULL);
}

/* -- no answer --------------------------------------------------------------------------------- */
static void stay_silent(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)number, (void)request, (void)size;
    response[0] = '\0';
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

CASE(a_server_that_hangs_gives_a_line_and_no_hang)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, stay_silent);
    static const char *const keys[] = {"key-one-of-two", "key-two-of-two"};
    world.llm.api_keys = keys; /* both at once, and told once */
    world.llm.api_key_count = 2;
    uint64_t begin_ms = now_ms();
    const struct sma_probe_line *line = probe(&world);
    CHECK(now_ms() - begin_ms < 2 * SMA_PROBE_MS);
    CHECK_INT(SMA_PROBE_WARNING, line->state); /* it may be loading a model */
    HAS(line->seen, "no answer in time");
    HAS(line->remedy, "thinks for long");
    CHECK_INT(1, world.result.line_count);
}

CASE(what_cannot_be_reached_is_told_by_its_kind)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, say_ok);
    world.llm.base_url = "http://127.0.0.1:1/v1";
    HAS(probe(&world)->seen, "no connection");
    world.llm.base_url = "http://no-such-host.invalid/v1";
    HAS(probe(&world)->seen, "no address is known for the name (DNS)");
    HAS(probe(&world)->remedy, "resolv.conf");
    world.llm.proxy = "http://127.0.0.1:1";
    HAS(probe(&world)->seen, "the proxy does not let us through");
}

static void say_of_certificate(enum ws_server_tls tls, bool is_trusted, const char *seen,
                               const char *remedy)
{
    struct ws_server *server = ws_server_start(&(struct ws_server_options){.tls = tls});
    struct world world;
    open_world(&world, say_ok);
    world.llm.base_url = ws_server_http_url(server);
    if (is_trusted)
        CHECK_INT(0, setenv("SSL_CERT_FILE", ws_server_ca_file(server), 1));
    const struct sma_probe_line *line = probe(&world);
    HAS(line->seen, seen);
    HAS(line->remedy, remedy);
    CHECK_INT(0, unsetenv("SSL_CERT_FILE"));
    close_world(&world);
    ws_server_stop(server);
}

CASE(what_is_wrong_with_a_certificate_is_named)
{
    static const char refused[] = "the certificate is not accepted (TLS)";
    say_of_certificate(WS_SERVER_TLS, false, refused, "SSL_CERT_FILE");
    say_of_certificate(WS_SERVER_TLS_SELF_SIGNED, true, refused, "SSL_CERT_FILE");
    say_of_certificate(WS_SERVER_TLS_WRONG_NAME, true, refused, "another server's");
    say_of_certificate(WS_SERVER_TLS_EXPIRED, true, refused, "clock");
    say_of_certificate(WS_SERVER_TLS, true, "HTTP 4", ""); /* it is no model, but it is reached */
    CHECK_INT(0, setenv("SSL_CERT_FILE", "/nowhere/ca.pem", 1));
    say_of_certificate(WS_SERVER_TLS, false, "TLS", "PEM file");
}

/* -- the clock --------------------------------------------------------------------------------- */
static void be_behind(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)number, (void)request;
    raw_fail(response, size, 503, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "{}");
}

CASE(the_clock_of_the_server_is_noted)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, be_behind);
    CHECK_INT(SMA_PROBE_WARNING, probe(&world)->state); /* trouble that may pass */
    CHECK(world.result.has_clock && world.result.clock_ahead_s < -86400 * 365);
}

static size_t thread_count(void)
{
    char line[256];
    size_t count = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "Threads: %zu", &count) == 1)
            break;
    if (status != NULL)
        (void)fclose(status);
    return count;
}

CASE(no_thread_is_left)
{
    SMA_AUTO(close_world) struct world world;
    open_world(&world, say_ok);
    (void)probe(&world);
    size_t before = thread_count();
    for (int i = 0; i < 5; i++)
        (void)probe(&world);
    /* the server's own for a connection may take a moment to end */
    for (int i = 0; i < 1000 && thread_count() > before + 1; i++)
        usleep(10000);
    CHECK(thread_count() <= before + 1);
}

CASES_MAIN
