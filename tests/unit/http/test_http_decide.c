/* test_http_decide.c — approvals, pairings and grants by the API, and runs that wait for people. */
#include "harness.h"

#include <stdio.h>
#include <unistd.h>

static struct harness *harness;

static void check_decided(const char *path, const char *body, int status, const char *text)
{
    char request[200];
    snprintf(request, sizeof request, "POST %s", path);
    struct reply reply = request_once(harness, request, "", body);
    if (status != reply.status || !reply_has(&reply, text))
        fprintf(stderr, "%s %s: %d %s\n", path, body == NULL ? "" : body, reply.status,
                reply.body == NULL ? "" : reply.body);
    CHECK_INT(status, reply.status);
    CHECK(reply_has(&reply, text));
    reply_free(&reply);
}

static void decisions_reach_the_store(void)
{
    check_decided("/api/approvals/0123456789abcdef/approve", "{}", 200,
                  "\"0 0123456789abcdef 1 yes=0 no=0 grant=0 as=1 \\\"\\\"\"");
    check_decided("/api/approvals/0123456789abcdef/approve", "", 200, "{\"success\":true,");
    check_decided("/api/approvals/0123ab/approve",
                  "{\"items\":[1,3],\"grant\":\"10m\",\"response\":\"go on\"}", 200,
                  "0 0123ab 1 yes=5 no=0 grant=600 as=1 \\\"go on\\\"");
    check_decided("/api/approvals/0123ab/approve", "{\"items\":[32],\"grant\":\"always\"}", 200,
                  "yes=80000000 no=0 grant=-1");
    check_decided("/api/approvals/0123ab/approve", "{\"grant\":90}", 200, "grant=90");
    check_decided("/api/approvals/0123ab/approve", "{\"grant\":\"30d\"}", 200, "grant=2592000");
    check_decided("/api/approvals/0123ab/approve", "{\"grant\":null,\"items\":null}", 200,
                  "yes=0 no=0 grant=0");
    check_decided("/api/approvals/0123ab/reject", "{\"items\":[2],\"response\":\"no \\\"way\\\"\"}",
                  200, "0 0123ab 0 yes=0 no=2 grant=0");
    check_decided("/api/pairings/ABCD-2345/approve", "{\"role\":\"admin\"}", 200,
                  "1 ABCD-2345 1 yes=0 no=0 grant=0 as=2");
    check_decided("/api/pairings/ABCD2345/approve", "{\"role\":\"owner\"}", 200, "as=3");
    check_decided("/api/pairings/ABCD2345/approve", "", 200, "as=1");
    check_decided("/api/pairings/ABCD2345/reject", "{}", 200, "1 ABCD2345 0");
    check_decided("/api/pairings/telegram:1001/approve", "{\"role\":\"owner\"}", 200,
                  "1 telegram:1001 1 yes=0 no=0 grant=0 as=3");
    check_decided("/api/pairings/feishu:ou_84a0/reject", "", 200, "1 feishu:ou_84a0 0");
    check_decided("/api/grants/feed/revoke", "", 200, "2 feed 0");
}

static void the_store_says_how_it_ended(void)
{
    static const int statuses[] = {400, 403, 404, 409, 410, 503};
    for (size_t i = 0; i < SMA_COUNT_OF(statuses); i++) {
        char path[100];
        snprintf(path, sizeof path, "/api/approvals/%d/approve", statuses[i]);
        check_decided(path, "{}", statuses[i], "{\"success\":false,\"message\":");
    }
    struct reply reply = request_once(harness, "POST /api/approvals/410/reject", "", "{}");
    CHECK(reply_has(&reply, "410 Gone"));
    reply_free(&reply);
}

static void wrong_requests_are_named(void)
{
    static const char approve[] = "/api/approvals/abcdef/approve";
    check_decided(approve, "{", 400, "not JSON");
    check_decided(approve, "[]", 400, "JSON object");
    check_decided(approve, "\"yes\"", 400, "JSON object");
    check_decided(approve, "{\"items\":[]}", 400, "list of item numbers");
    check_decided(approve, "{\"items\":1}", 400, "list of item numbers");
    check_decided(approve, "{\"items\":[0]}", 400, "not a number from 1 to 32");
    check_decided(approve, "{\"items\":[33]}", 400, "not a number from 1 to 32");
    check_decided(approve, "{\"items\":[\"1\"]}", 400, "not a number from 1 to 32");
    check_decided(approve, "{\"item\":[1]}", 400, "Unknown member \\\"item\\\"");
    check_decided(approve, "{\"role\":\"owner\"}", 400, "Unknown member \\\"role\\\"");
    static const char *const grants[] = {"0",          "-1",           "2592001", "\"\"", "\"m\"",
                                         "\"10\"",     "\"10w\"",      "\"31d\"", "true", "\"-5m\"",
                                         "\"Always\"", "\"9999999d\"", "1.5",     "{}"};
    for (size_t i = 0; i < SMA_COUNT_OF(grants); i++) {
        char body[100];
        snprintf(body, sizeof body, "{\"grant\":%s}", grants[i]);
        check_decided(approve, body, 400, "Member \\\"grant\\\"");
    }
    check_decided("/api/approvals/abcdef/reject", "{\"grant\":\"10m\"}", 400, "approve only");
    check_decided(approve, "{\"response\":5}", 400, "\\\"response\\\" must be a string");
    check_decided("/api/pairings/ABCD2345/approve", "{\"role\":\"stranger\"}", 400, "\\\"role\\\"");
    check_decided("/api/pairings/ABCD2345/approve", "{\"role\":1}", 400, "\\\"role\\\"");
    check_decided("/api/pairings/ABCD2345/approve", "{\"grant\":1}", 400, "Unknown member");
    static const char *const unknown[] = {
        "/api/approvals/",          "/api/approvals/approve",       "/api/approvals//approve",
        "/api/approvals/ab/revoke", "/api/approvals/a%20b/approve", "/api/grants/ab/approve",
        "/api/pairings/a*b/reject", "/api/approvals/a_b/reject",    "/api/approvals/ab/approve/"};
    for (size_t i = 0; i < SMA_COUNT_OF(unknown); i++)
        check_decided(unknown[i], "{}", 404, "");
    check_decided("/api/approvals", "{}", 405, "");
    CHECK_INT(405, request_status(harness, "GET /api/approvals/ab/approve", "", NULL));
}

static void the_doors_are_guarded(void)
{
    static const char path[] = "POST /api/approvals/abcdef/approve";
    CHECK_INT(403, request_status(harness, path, "Origin: https://evil.example\r\n", "{}"));
    CHECK_INT(403, request_status(harness, "GET /api/pairings", "Origin: https://evil.example\r\n",
                                  NULL));
}

static void lists_are_the_stores(void)
{
    static const char *const rows[][2] = {
        {"GET /api/approvals", "{\"approvals\":[\"\"]}"},
        {"GET /api/approvals?chatKey=api%3Achat%3Ax", "{\"approvals\":[\"api:chat:x\"]}"},
        {"GET /api/grants", "{\"grants\":[]}"},
        {"GET /api/pairings", "{\"pairings\":[],\"people\":[]}"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct reply reply = request_once(harness, rows[i][0], "", NULL);
        CHECK_INT(200, reply.status);
        CHECK_TEXT(rows[i][1], reply.body);
        reply_free(&reply);
    }
    CHECK_INT(400, request_status(harness, "GET /api/approvals?chatKey=", "", NULL));
    CHECK_INT(400, request_status(harness, "GET /api/approvals?chatKey=%zz", "", NULL));
}

static void a_parked_run_says_what_it_waits_for(void)
{
    struct reply reply = request_once(harness, "POST /api/execute", "",
                                      "{\"instructions\":\"park me\",\"messageId\":\"p1\"}");
    CHECK_INT(200, reply.status);
    CHECK(strncmp(reply.body,
                  "{\"success\":false,\"output\":\"Run this command? yes / no\",\"toolCalls\":[],"
                  "\"status\":\"parked\",\"runId\":\"",
                  60) == 0);
    CHECK(reply_has(&reply, "\"messageId\":\"p1\""));
    CHECK(reply_has(&reply, "\"pendingApproval\":{\"id\":\"0a\",\"type\":\"exec_shell\"}}"));
    const char *run = strstr(reply.body, "\"runId\":\"");
    char path[64];
    CHECK(run != NULL);
    snprintf(path, sizeof path, "GET /api/runs/%u?wait=60",
             (unsigned)strtoul(run + strlen("\"runId\":\""), NULL, 10));
    struct reply poll = request_once(harness, path, "", NULL); /* waiting would help nobody */
    CHECK_INT(200, poll.status);
    CHECK(reply_has(&poll, "\"status\":\"parked\""));
    CHECK(reply_has(&poll, "\"pendingApproval\":{\"id\":\"0a\""));
    reply_free(&poll);
    reply_free(&reply);

    static const char body[] = "{\"instructions\":\"park me too\"}";
    int fd = client_connect(harness);
    client_post(fd, harness, "Accept: text/event-stream\r\n", body, sizeof body - 1);
    char *seen = client_read_until(fd, "\"type\":\"exec_shell\"}}");
    CHECK(strstr(seen, "event: accepted\n") != NULL);
    CHECK(strstr(seen, "event: result\ndata: {\"success\":false,") != NULL);
    CHECK(strstr(seen, "\"pendingApproval\":{\"id\":\"0a\"") != NULL);
    free(seen);
    close(fd);
}

static void a_token_is_needed(void)
{
    harness = harness_start(&(struct harness_options){.api_token = "secret-secret-secret"});
    static const char *const closed[] = {"GET /api/approvals", "GET /api/grants",
                                         "GET /api/pairings"};
    for (size_t i = 0; i < SMA_COUNT_OF(closed); i++) {
        CHECK_INT(401, request_status(harness, closed[i], "", NULL));
        CHECK_INT(200, request_status(harness, closed[i],
                                      "Authorization: Bearer secret-secret-secret\r\n", NULL));
    }
    CHECK_INT(401, request_status(harness, "POST /api/approvals/abcdef/approve", "", "{}"));
    CHECK_INT(401, request_status(harness, "POST /api/pairings/ABCD/approve", "", "{}"));
    CHECK_INT(401, request_status(harness, "POST /api/grants/ab/revoke", "", "{}"));
    CHECK_INT(200, request_status(harness, "POST /api/grants/ab/revoke",
                                  "Authorization: Bearer secret-secret-secret\r\n", "{}"));
    harness_stop(harness);
}

int main(void)
{
    harness = harness_start(&(struct harness_options){0});
    RUN(decisions_reach_the_store);
    RUN(the_store_says_how_it_ended);
    RUN(wrong_requests_are_named);
    RUN(the_doors_are_guarded);
    RUN(lists_are_the_stores);
    RUN(a_parked_run_says_what_it_waits_for);
    harness_stop(harness);
    RUN(a_token_is_needed);
    return check_summary();
}
