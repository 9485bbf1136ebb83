/* test_http_api.c — the API as its users see it: results, duplicates, streams, waiting,
 * shutdown. */
#include "harness.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct harness *harness;

CASE(execute_answers_with_the_result)
{
    struct reply reply =
        request_once(harness, "POST /api/execute", "", "{\"instructions\":\"hello\"}");
    CHECK_INT(200, reply.status);
    CHECK(strncmp(reply.body,
                  "{\"success\":true,\"output\":\"echo: hello\",\"toolCalls\":[{\"tool\":\"t\"",
                  60) == 0);
    CHECK(reply_has(&reply, "\"status\":\"done\"") && reply_has(&reply, "\"messageId\":\""));
    CHECK(reply_has(&reply, "X-Content-Type-Options: nosniff") &&
          reply_has(&reply, "Cache-Control: no-store"));
    CHECK(!reply_has(&reply, "Access-Control"));
    reply_free(&reply);
}

CASE(same_message_id_is_one_run)
{
    unsigned before = harness_accepted_count(harness);
    const char *body = "{\"instructions\":\"once\",\"messageId\":\"m-1\",\"userId\":\"u\"}";
    struct reply first = request_once(harness, "POST /api/execute", "", body);
    struct reply second = request_once(harness, "POST /api/execute", "", body);
    CHECK_INT(200, second.status);
    CHECK_TEXT(first.body, second.body);
    CHECK_INT(before + 1, harness_accepted_count(harness));
    CHECK_INT(
        409, request_status(harness, "POST /api/execute", "",
                            "{\"instructions\":\"other\",\"messageId\":\"m-1\",\"userId\":\"u\"}"));
    CHECK_INT(409,
              request_status(harness, "POST /api/execute", "",
                             "{\"instructions\":\"once\",\"messageId\":\"m-1\",\"userId\":\"v\"}"));
    CHECK_INT(
        200,
        request_status(
            harness, "POST /api/execute", "",
            "{\"instructions\":\"once\",\"messageId\":\"m-1\",\"userId\":\"v\",\"chatId\":\"c\"}"));
    reply_free(&first);
    reply_free(&second);
}

CASE(wrong_bodies_are_named)
{
    static const struct
    {
        const char *body, *word;
    } cases[] = {
        {"", "empty"},
        {"  \n", "empty"},
        {"{\"instructions\":", "Invalid JSON"},
        {"nonsense that is longer than fifty characters, so that it is cut", "nonsense that"},
        {"{\"instructions\":\"a\"} x", "Invalid JSON"},
        {"[]", "object"},
        {"\"text\"", "object"},
        {"{}", "instructions"},
        {"{\"instructions\":\"\"}", "instructions"},
        {"{\"instructions\":\"  \"}", "instructions"},
        {"{\"instructions\":null}", "instructions"},
        {"{\"instructions\":7}", "\\\"instructions\\\" must be a string"},
        {"{\"instructions\":[\"a\"]}", "\\\"instructions\\\" must be a string"},
        {"{\"instructions\":\"a\",\"messageID\":\"m\"}",
         "Member \\\"messageID\\\" is unknown; this request takes instructions, chatId"},
        {"{\"instructions\":\"a\",\"chatId, sessionId\":\"m\"}", "is unknown"},
        {"{\"instructions\":\"a\",\"\":\"m\"}", "is unknown"},
        {"{\"instructions\":\"a\",\"chatId\":7}", "chatId"},
        {"{\"instructions\":\"a\",\"userId\":{}}", "userId"},
        {"{\"instructions\":\"a\",\"actorId\":true}", "actorId"},
        {"{\"instructions\":\"a\",\"messageId\":1}", "messageId"},
        {"{\"instructions\":\"a\",\"sessionId\":[]}", "sessionId"},
        {"{\"instructions\":\"a\\u0000b\"}", "Invalid JSON"},
        {"{\"instructions\":\"\xff\xfe\"}", "UTF-8"},
        {"{\"instructions\":\"\\ud800\"}", "Invalid JSON"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct reply reply = request_once(harness, "POST /api/execute", "", cases[i].body);
        if (reply.status != 400 || !reply_has(&reply, cases[i].word))
            fprintf(stderr, "case %zu: %d %s\n", i, reply.status, reply.body);
        CHECK_INT(400, reply.status);
        CHECK(reply_has(&reply, "{\"success\":false,\"message\":\"") &&
              reply_has(&reply, cases[i].word));
        reply_free(&reply);
    }
}

CASE(ids_default_and_have_bounds)
{
    char body[1400], id[514];
    memset(id, 'a', sizeof id);
    for (int len = 511; len <= 513; len++) {
        snprintf(body, sizeof body, "{\"instructions\":\"x\",\"messageId\":\"%.*s\"}", len, id);
        CHECK_INT(len <= 512 ? 200 : 400, request_status(harness, "POST /api/execute", "", body));
        snprintf(body, sizeof body, "{\"instructions\":\"x\",\"chatId\":\"%.*s\"}", len, id);
        CHECK_INT(len <= 512 ? 200 : 400, request_status(harness, "POST /api/execute", "", body));
    }
    /* An id that would break out of a header line is stored and shown as JSON only. */
    struct reply reply =
        request_once(harness, "POST /api/execute", "Prefer: respond-async\r\n",
                     "{\"instructions\":\"x\",\"messageId\":\"a\\r\\nX-Evil: 1\"}");
    CHECK_INT(202, reply.status);
    CHECK(strstr(reply.head, "X-Evil") == NULL &&
          reply_has(&reply, "\"messageId\":\"a\\r\\nX-Evil: 1\""));
    reply_free(&reply);
}

CASE(verdicts_have_their_status)
{
    struct reply reply =
        request_once(harness, "POST /api/execute", "", "{\"instructions\":\"busy\"}");
    CHECK_INT(503, reply.status);
    CHECK(reply_has(&reply, "Retry-After: 3") && reply_has(&reply, "\"runId\":\"") &&
          reply_has(&reply, "told by"));
    reply_free(&reply);
    reply = request_once(harness, "POST /api/execute", "", "{\"instructions\":\"refuse\"}");
    CHECK_INT(503, reply.status);
    CHECK(reply_has(&reply, "Retry-After: 3") && !reply_has(&reply, "runId"));
    reply_free(&reply);
    reply = request_once(harness, "POST /api/execute", "", "{\"instructions\":\"ignore\"}");
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "\"success\":false"));
    reply_free(&reply);
}

CASE(async_returns_at_once_and_is_fetched_later)
{
    char path[128], id[64];
    struct reply reply = request_once(harness, "POST /api/execute", "Prefer: respond-async\r\n",
                                      "{\"instructions\":\"later a\"}");
    CHECK_INT(202, reply.status);
    CHECK(reply_has(&reply, "Preference-Applied: respond-async") &&
          reply_has(&reply, "X-Message-Id: "));
    const char *location = strstr(reply.head, "Location: /api/runs/");
    CHECK(location != NULL && sscanf(location, "Location: /api/runs/%63[0-9]", id) == 1);
    reply_free(&reply);
    snprintf(path, sizeof path, "GET /api/runs/%s", id);
    reply = request_once(harness, path, "", NULL);
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "\"status\":\"running\"") && !reply_has(&reply, "\"success\""));
    reply_free(&reply);

    /* Two long polls on one run, one of them leaves: the other hears of the result. */
    int gone = client_connect(harness), stays = client_connect(harness);
    char request[256];
    snprintf(request, sizeof request,
             "GET /api/runs/%s?wait=30 HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "\r\n",
             id, harness_port(harness));
    client_text(gone, request);
    client_text(stays, request);
    wait_ms(50);
    close(gone);
    CHECK_INT(200,
              request_status(harness, "POST /api/execute", "", "{\"instructions\":\"release\"}"));
    reply = client_read(stays);
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "echo: later a") && reply_has(&reply, "\"status\":\"done\""));
    reply_free(&reply);
    close(stays);
    CHECK_INT(404, request_status(harness, "GET /api/runs/999999", "", NULL));
    CHECK_INT(404, request_status(harness, "GET /api/runs/abc", "", NULL));
    CHECK_INT(404, request_status(harness, "GET /api/runs/", "", NULL));
    CHECK_INT(404, request_status(harness, "GET /api/runs/-1", "", NULL));
    CHECK_INT(400, request_status(harness, "GET /api/runs/1?wait=x", "", NULL));
}

CASE(stream_tells_progress_and_result)
{
    int fd = client_connect(harness);
    static const char body[] = "{\"instructions\":\"progress a\",\"messageId\":\"s-1\"}";
    client_post(fd, harness, "Accept: text/event-stream\r\n", body, sizeof body - 1);
    char *text = client_read_until(fd, "event: tool\ndata: {\"name\":\"chat_send\"}\n\n");
    CHECK(strstr(text, "Content-Type: text/event-stream") != NULL);
    CHECK(strstr(text, "event: accepted\ndata: {\"runId\":\"") != NULL);
    CHECK(strstr(text, "event: progress\ndata: {\"text\":\"so far\\nso good\"}\n\n") != NULL);
    free(text);
    CHECK_INT(200,
              request_status(harness, "POST /api/execute", "", "{\"instructions\":\"release\"}"));
    text = client_read_until(fd, "\"s-1\"}\n\n");
    CHECK(strstr(text, "event: result\ndata: {\"success\":true,\"output\":\"echo: progress a\"") !=
          NULL);
    CHECK(client_is_closed(fd));
    free(text);
    close(fd);
}

/* A client that leaves while it waits costs nothing: no turning loop, no lost run. */
CASE(leaving_clients_do_not_spin)
{
    static const char body[] = "{\"instructions\":\"later b\"}";
    static const char stream[] = "{\"instructions\":\"progress c\"}";
    unsigned before = harness_accepted_count(harness);
    for (int i = 0; i < 10; i++) {
        int waits = client_connect(harness), streams = client_connect(harness),
            extra = client_connect(harness);
        client_post(waits, harness, "", body, sizeof body - 1);
        client_post(streams, harness, "Accept: text/event-stream\r\n", stream, sizeof stream - 1);
        client_post(extra, harness, "", body, sizeof body - 1);
        client_text(extra, "unasked bytes behind the request");
        free(client_read_until(streams, "event: accepted"));
        wait_ms(5);
        close(streams);
        close(waits);
        struct linger hard = {1, 0};
        setsockopt(extra, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(extra);
    }
    wait_ms(50);
    double cpu = cpu_seconds();
    wait_ms(400);
    CHECK(cpu_seconds() - cpu < 0.1);
    CHECK_INT(before + 30, harness_accepted_count(harness));
    CHECK_INT(200,
              request_status(harness, "POST /api/execute", "", "{\"instructions\":\"release\"}"));
    CHECK_INT(200, request_status(harness, "GET /health", "", NULL));
}

CASE(small_routes_answer)
{
    struct reply reply = request_once(harness, "GET /health", "", NULL);
    CHECK_INT(200, reply.status);
    CHECK(strncmp(reply.body, "{\"status\":\"ok\",\"timestamp\":\"20", 30) == 0);
    reply_free(&reply);
    reply = request_once(harness, "HEAD /health", "", NULL);
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "Content-Length: ") && reply.body_len == 0);
    reply_free(&reply);
    reply = request_once(harness, "GET /api/status", "", NULL);
    CHECK(reply_has(&reply, "{\"name\":\"shipmyagent\",\"status\":\"running\",\"sandbox\":\"off\","
                            "\"timestamp\":\"") &&
          reply_has(&reply, "\"store\":{\"queue\":7,"));
    reply_free(&reply);
    reply = request_once(harness, "GET /metrics", "", NULL);
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "\nsma_http_requests_total ") &&
          reply_has(&reply, "\nharness_accepted ") &&
          reply_has(&reply, "text/plain; version=0.0.4"));
    reply_free(&reply);
    reply = request_once(harness, "GET /api/history?chatKey=api%3Achat%3Ax&limit=3", "", NULL);
    CHECK_TEXT("[{\"key\":\"api:chat:x\",\"limit\":3}]", reply.body);
    reply_free(&reply);
    CHECK_INT(400, request_status(harness, "GET /api/history", "", NULL));
    CHECK_INT(400, request_status(harness, "GET /api/history?chatKey=a&limit=0", "", NULL));
    CHECK_INT(400, request_status(harness, "GET /api/history?chatKey=a&limit=201", "", NULL));
    CHECK_INT(400, request_status(harness, "GET /api/history?chatKey=%ff", "", NULL));
    CHECK_INT(400, request_status(harness, "GET /api/history?chatKey=a%00b", "", NULL));
}

/* Where pages are, in the words of the old program; under /api/ as JSON (test_http_routes). */
CASE(unknown_paths_are_404)
{
    static const char *const lines[] = {"GET /nothing", "OPTIONS *",    "GET /public/../x",
                                        "GET //health", "GET /health/", "GET /.ship/api-token"};
    for (size_t i = 0; i < SMA_COUNT_OF(lines); i++) {
        struct reply reply = request_once(harness, lines[i], "", NULL);
        CHECK_INT(404, reply.status);
        CHECK_TEXT("404 Not Found", reply.body);
        CHECK(reply_has(&reply, "text/plain"));
        reply_free(&reply);
    }
}

CASE(public_folder_is_served)
{
    char path[128];
    struct reply reply = request_once(harness, "GET /", "", NULL);
    CHECK_TEXT("ShipMyAgent Agent Server", reply.body);
    reply_free(&reply);
    reply = request_once(harness, "GET /app.js", "", NULL);
    CHECK_INT(404, reply.status);
    CHECK_TEXT("Not Found", reply.body);
    reply_free(&reply);
    snprintf(path, sizeof path, "%s/public", harness_dir(harness));
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/public/index.html", harness_dir(harness));
    CHECK(symlink("/etc/passwd", path) == 0); /* a link out of the folder is not followed */
    reply = request_once(harness, "GET /", "", NULL);
    CHECK_TEXT("ShipMyAgent Agent Server", reply.body);
    reply_free(&reply);
    CHECK(unlink(path) == 0);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("<p>page</p>", file) >= 0 && fclose(file) == 0);
    reply = request_once(harness, "GET /", "", NULL);
    CHECK_TEXT("<p>page</p>", reply.body);
    CHECK(reply_has(&reply, "text/html; charset=utf-8"));
    reply_free(&reply);
}

CASE(pipelined_requests_are_answered_in_order)
{
    char request[400];
    struct sma_buf all;
    sma_buf_init(&all, sizeof request * 50);
    int fd = client_connect(harness);
    for (int i = 0; i < 50; i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"instructions\":\"number %d\"}", i);
        sma_buf_printf(&all,
                       "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
                       "Content-Length: %zu\r\n\r\n%s",
                       harness_port(harness), strlen(body), body);
    }
    CHECK_OK(all.err);
    client_send(fd, all.ptr, all.len);
    shutdown(fd, SHUT_WR); /* a client that has said all it has to say still gets every answer */
    for (int i = 0; i < 50; i++) {
        struct reply reply = client_read(fd);
        snprintf(request, sizeof request, "echo: number %d\"", i);
        CHECK_INT(200, reply.status);
        CHECK(reply_has(&reply, request));
        reply_free(&reply);
    }
    sma_buf_fini(&all);
    close(fd);
}

CASE(stopping_tells_those_who_wait)
{
    static const char body[] = "{\"instructions\":\"later d\",\"messageId\":\"w-1\"}";
    int waits = client_connect(harness), streams = client_connect(harness),
        idle = client_connect(harness);
    client_post(waits, harness, "", body, sizeof body - 1);
    client_post(streams, harness, "Accept: text/event-stream\r\n", body, sizeof body - 1);
    free(client_read_until(streams, "event: accepted"));
    wait_ms(20);
    harness_begin_stop(harness);
    struct reply reply = client_read(waits);
    CHECK_INT(202, reply.status);
    CHECK(reply_has(&reply, "\"location\":\"/api/runs/") &&
          reply_has(&reply, "\"messageId\":\"w-1\""));
    reply_free(&reply);
    char *text = client_read_until(streams, "event: result");
    CHECK(strstr(text, "event: result") != NULL);
    free(text);
    CHECK(client_is_closed(idle));
    close(waits);
    close(streams);
    close(idle);
}

int main(void)
{
    harness = harness_start(&(struct harness_options){0});
    check_run_cases(NULL);
    harness_stop(harness);
    return check_summary();
}
