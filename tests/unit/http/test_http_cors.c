/*
 * test_http_cors.c — pages of other origins: none by default, those of api.cors with the token, and
 * a browser that asks first is answered. Idempotency-Key.
 */
#include "harness.h"

#include <stdio.h>
#include <unistd.h>

#define APP "Origin: https://app.example.org\r\n"
#define ASKS "Access-Control-Request-Method: POST\r\n"

static struct harness *harness;

static void check(const char *line, const char *headers, int status, const char *part)
{
    struct reply reply = request_once(harness, line, headers, NULL);
    if (reply.status != status || !reply_has(&reply, part))
        fprintf(stderr, "%s %s: %d %s\n", line, headers, reply.status, reply.head);
    CHECK_INT(status, reply.status);
    CHECK(reply_has(&reply, part));
    CHECK(status == 403 || strstr(reply.head, "Access-Control-Allow-Credentials") == NULL);
    CHECK((status != 403) || strstr(reply.head, "Access-Control-Allow") == NULL);
    reply_free(&reply);
}

AFTER_EACH(harness_stop(harness))

CASE(without_configuration_no_other_origin_is_served)
{
    harness = harness_start(&(struct harness_options){0});
    check("GET /api/status", APP, 403, "another origin");
    check("OPTIONS /api/execute", APP ASKS, 403, "another origin");
    check("OPTIONS /api/execute", "", 204, "Allow: POST, OPTIONS");
    struct reply reply = request_once(harness, "GET /api/status", "", NULL);
    CHECK(strstr(reply.head, "Vary") == NULL && strstr(reply.head, "Access-Control") == NULL);
    reply_free(&reply);
}

CASE(origins_of_the_list_are_served_and_named)
{
    harness = harness_start(&(struct harness_options){
        .cors = "http://localhost:5173 https://app.example.org", .api_token = "another-token"});
    static const char token[] = APP "X-Api-Token: another-token\r\n";
    check("GET /api/status", token, 200,
          "\r\nAccess-Control-Allow-Origin: https://app.example.org\r\n");
    check("GET /api/status", token, 200, "\r\nVary: Origin\r\n");
    check("GET /api/status", token, 200, "\r\nAccess-Control-Expose-Headers: Location, ");
    check("GET /api/nothing", token, 404, "\r\nAccess-Control-Allow-Origin: https://app");
    check("GET /api/status", APP, 401, "\r\nAccess-Control-Allow-Origin: https://app");
    check("GET /api/status", "X-Api-Token: another-token\r\n", 200, "\r\nVary: Origin\r\n");
    check("GET /api/status", "Origin: HTTP://LOCALHOST:5173\r\nX-Api-Token: another-token\r\n", 200,
          "\r\nAccess-Control-Allow-Origin: HTTP://LOCALHOST:5173\r\n");
    static const char *const strangers[] = {
        "Origin: https://app.example.org.evil.example\r\n",
        "Origin: https://app.example.or\r\n",
        "Origin: https://app.example.org:8443\r\n",
        "Origin: http://app.example.org\r\n",
        "Origin: null\r\n",
        "Origin: \r\n",
        "Origin: http://localhost:5173 https://app.example.org\r\n"};
    for (size_t i = 0; i < SMA_COUNT_OF(strangers); i++) {
        char headers[200];
        snprintf(headers, sizeof headers, "%sX-Api-Token: another-token\r\n", strangers[i]);
        check("GET /api/status", headers, 403, "another origin");
        snprintf(headers, sizeof headers, "%s" ASKS, strangers[i]);
        check("OPTIONS /api/execute", headers, 403, "another origin");
    }
}

/* Browsers send no token when they ask first; whether the request itself has it is seen later. */
CASE(a_browser_that_asks_first_is_answered)
{
    harness = harness_start(
        &(struct harness_options){.cors = "https://app.example.org", .api_token = "another-token"});
    check("OPTIONS /api/execute", APP ASKS, 204, "Access-Control-Allow-Methods: POST, OPTIONS\r\n");
    check("OPTIONS /api/execute", APP ASKS, 204,
          "\r\nAccess-Control-Allow-Origin: https://app.example.org\r\n");
    check("OPTIONS /api/execute", APP ASKS, 204, "Idempotency-Key, Last-Event-ID, X-Chat-Id\r\n");
    check("OPTIONS /api/runs/17", APP ASKS, 204, "Methods: GET, HEAD, DELETE, OPTIONS\r\n");
    check("OPTIONS /api/nothing", APP ASKS, 404, "Access-Control-Allow-Origin");
    check("OPTIONS /api/execute", APP, 401, "Access-Control-Allow-Origin"); /* no preflight */
    check("GET /api/status", APP ASKS, 401, "Access-Control-Allow-Origin");
}

CASE(a_star_lets_everybody_ask)
{
    harness = harness_start(&(struct harness_options){.cors = "*"});
    check("GET /api/status", "Origin: https://any.example\r\n", 200,
          "\r\nAccess-Control-Allow-Origin: https://any.example\r\n");
    CHECK_INT(403, request_status(harness, "GET /api/status",
                                  "Host: evil.example\r\nOrigin: http://evil.example\r\n",
                                  NULL)); /* a name that is bound to us is no name of ours */
}

CASE(a_stream_names_the_origin_too)
{
    static const char body[] = "{\"instructions\":\"later stream\"}";
    harness = harness_start(&(struct harness_options){.cors = "https://app.example.org"});
    int fd = client_connect(harness);
    client_post(fd, harness, APP "Accept: text/event-stream\r\n", body, sizeof body - 1);
    char *text = client_read_until(fd, "event: accepted");
    CHECK(strstr(text, "\r\nAccess-Control-Allow-Origin: https://app.example.org\r\n") != NULL);
    free(text);
    close(fd);
}

/* -- Idempotency-Key --------------------------------------------------------------------------- */
static void post(const char *headers, const char *body, int status, const char *part)
{
    struct reply reply = request_once(harness, "POST /api/execute", headers, body);
    if (reply.status != status || !reply_has(&reply, part))
        fprintf(stderr, "%s %s: %d %s\n", headers, body, reply.status, reply.body);
    CHECK_INT(status, reply.status);
    CHECK(reply_has(&reply, part));
    reply_free(&reply);
}

CASE(a_key_of_the_header_is_the_message_id)
{
#define HELLO "{\"instructions\":\"hello\"}"
    harness = harness_start(&(struct harness_options){0});
    post("Idempotency-Key: \"order-4711\"\r\n", HELLO, 200, "\"messageId\":\"order-4711\"");
    post("Idempotency-Key: \"order-4711\"\r\n", HELLO, 200, "\"messageId\":\"order-4711\"");
    post("idempotency-key: order-4711\r\n", HELLO, 200, "\"messageId\":\"order-4711\"");
    post("", "{\"instructions\":\"hello\",\"messageId\":\"order-4711\"}", 200, "echo: hello");
    post("Idempotency-Key: \"order-4711\"\r\n",
         "{\"instructions\":\"hello\",\"messageId\":\"order-4711\"}", 200, "echo: hello");
    CHECK_INT(1, harness_accepted_count(harness)); /* all of them are one message */
    post("Idempotency-Key: \"order-4711\"\r\n", "{\"instructions\":\"another\"}", 422, "messageId");
    post("", "{\"instructions\":\"another\",\"messageId\":\"order-4711\"}", 409, "messageId");
    post("Idempotency-Key: \"a\"\r\n", "{\"instructions\":\"x\",\"messageId\":\"b\"}", 400,
         "differ");
    static const char *const wrong[] = {"\"\"", "", "\"a\"b\"", "a\\b", "\"", "\xc3\xa4"};
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        char header[64];
        snprintf(header, sizeof header, "Idempotency-Key: %s\r\n", wrong[i]);
        post(header, HELLO, 400, "Idempotency-Key");
    }
    post("Idempotency-Key: a\r\nIdempotency-Key: b\r\n", HELLO, 400, "Malformed");
    CHECK_INT(1, harness_accepted_count(harness));
}

int main(void)
{
    check_run_cases(NULL);
    return 0;
}
