/*
 * test_http_webhooks.c — a platform's request reaches its adapter as it was sent, and hears what
 * the adapter answers; who waits too long, asks too much or has left harms nobody else.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct harness *harness;

static void post(int fd, const char *target, const char *headers, const void *body, size_t len)
{
    char head[1024];
    snprintf(head, sizeof head,
             "POST %s HTTP/1.1\r\nHost: hooks.example\r\nContent-Length: %zu\r\n%s\r\n", target,
             len, headers);
    client_text(fd, head);
    client_send(fd, body, len);
}

static void post_text(int fd, const char *text)
{
    post(fd, "/webhooks/fake", "", text, strlen(text));
}

static int read_status(int fd)
{
    struct reply reply = client_read(fd);
    int status = reply.status;
    reply_free(&reply);
    return status;
}

static void read_text(int fd, int status, const char *text)
{
    struct reply reply = client_read(fd);
    CHECK_INT(status, reply.status);
    CHECK(reply_has(&reply, text));
    reply_free(&reply);
}

static void wait_count(unsigned count)
{
    for (int i = 0; harness_webhook_count(harness) < count; i++) {
        CHECK(i < 10000);
        wait_ms(1);
    }
}

static void start(const char *json, const char *api_token)
{
    struct harness_options options = {.has_webhook = true, .json = json, .api_token = api_token};
    harness = harness_start(&options);
}

/* ---------------------------------------------------------------------------------------------- */

AFTER_EACH(harness_stop(harness))

CASE(an_event_arrives_as_it_was_sent)
{
    start(NULL, NULL);
    int fd = client_connect(harness);
    post(fd, "/webhooks/fake?a=1&b=%20", "X-Secret:  s3cret \r\nOrigin: https://else.where\r\n",
         "a\0b", 3);
    read_text(fd, 200,
              "{\"get\":0,\"path\":\"/webhooks/"
              "fake\",\"query\":\"a=1&b=%20\",\"secret\":\"s3cret\",\"bytes\":3}");
    client_text(fd, "GET /webhooks/fake?challenge=7 HTTP/1.1\r\nHost: h\r\n\r\n");
    read_text(fd, 200,
              "{\"get\":1,\"path\":\"/webhooks/"
              "fake\",\"query\":\"challenge=7\",\"secret\":\"\",\"bytes\":0}");
    post_text(fd, "refuse this");
    struct reply reply = client_read(fd);
    CHECK_INT(503, reply.status);
    CHECK(reply_has(&reply, "Retry-After: 7\r\n") && reply_has(&reply, "{\"why\":\"no disk\"}"));
    CHECK(!reply.is_closing);
    reply_free(&reply);
    close(fd);
}

CASE(no_token_is_asked_for)
{
    start(NULL, "t0ken");
    int fd = client_connect(harness);
    post_text(fd, "x");
    CHECK_INT(200, read_status(fd));
    close(fd);
    CHECK_INT(401, request_status(harness, "GET /api/status", "", NULL));
    /* Other names look like any other path that is not there. */
    CHECK_INT(401, request_status(harness, "POST /webhooks/other", "", "{}"));
    CHECK_INT(401, request_status(harness, "POST /other", "", "{}"));
}

CASE(other_names_are_not_found)
{
    static const char *const requests[] = {
        "POST /webhooks/other", "POST /webhooks/", "POST /webhooks/fake/",  "POST /webhooks/fakes",
        "POST /webhooks/Fake",  "POST /webhooks",  "POST /webhooks//fake",  "POST /webhooks/fak%65",
        "PUT /webhooks/fake",   "POST /other",     "DELETE /webhooks/fake", "GET /webhooks/other"};
    start(NULL, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(requests); i++) {
        struct reply reply = request_once(harness, requests[i], "", "{}");
        CHECK_INT(404, reply.status);
        CHECK_TEXT("404 Not Found", reply.body);
        CHECK(reply.is_closing);
        reply_free(&reply);
    }
    CHECK_INT(404, request_status(harness, "HEAD /webhooks/fake", "", NULL));
    CHECK_INT(0, harness_webhook_count(harness));
}

/* The answer to a request that was given up must not become the answer to the next one of its
 * connection. */
CASE(an_answer_that_comes_too_late_is_dropped)
{
    start("{\"webhookDeadlineMs\":100}", NULL);
    int fd = client_connect(harness), other = client_connect(harness);
    post_text(fd, "hold 1");
    struct reply reply = client_read(fd);
    CHECK_INT(503, reply.status);
    CHECK(reply_has(&reply, "Retry-After: 5\r\n") && reply_has(&reply, "100 ms"));
    CHECK(!reply.is_closing);
    reply_free(&reply);
    post_text(fd, "hold 2");
    wait_count(2);
    post_text(other, "release");
    CHECK_INT(200, read_status(other));
    read_text(fd, 200, "\"hold 2\"");
    close(fd);
    close(other);
}

CASE(a_client_that_has_left_harms_nobody)
{
    start(NULL, NULL);
    int fd = client_connect(harness), other = client_connect(harness);
    post_text(fd, "hold 1");
    wait_count(1);
    struct linger reset = {.l_onoff = 1};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    close(fd); /* a reset */
    while (sma_gauge_get(SMA_GAUGE_http_connections) > 1)
        wait_ms(1);
    fd = client_connect(harness); /* takes the place of the one that left */
    post_text(fd, "hold 2");
    wait_count(2);
    post_text(other, "release");
    CHECK_INT(200, read_status(other));
    read_text(fd, 200, "\"hold 2\"");
    close(fd);
    close(other);
}

CASE(as_many_as_the_edge_holds_may_be_open)
{
    static int fds[SMA_ASK_WEBHOOK_COUNT_MAX];
    start(NULL, NULL);
    int other = client_connect(harness);
    for (unsigned i = 0; i < SMA_ASK_WEBHOOK_COUNT_MAX - 1; i++) {
        fds[i] = client_connect(harness);
        post_text(fds[i], "hold");
    }
    wait_count(SMA_ASK_WEBHOOK_COUNT_MAX - 1);
    post_text(other, "one more goes");
    CHECK_INT(200, read_status(other));
    int last = client_connect(harness);
    post_text(last, "hold");
    wait_count(SMA_ASK_WEBHOOK_COUNT_MAX + 1);
    post_text(other, "one more does not");
    struct reply reply = client_read(other);
    CHECK_INT(503, reply.status);
    CHECK(reply_has(&reply, "Retry-After: 1\r\n"));
    reply_free(&reply);
    CHECK_INT(200, request_status(harness, "GET /health", "", NULL));
    harness_begin_stop(
        harness); /* nobody can release them any more: they hear that the service stops */
    for (unsigned i = 0; i < SMA_ASK_WEBHOOK_COUNT_MAX - 1; i++) {
        read_text(fds[i], 503, "Retry-After: 5\r\n");
        close(fds[i]);
    }
    CHECK_INT(503, read_status(last));
    close(last);
    close(other);
}

static int post_bytes(int fd, const char *start_text, size_t len)
{
    char *body = calloc(1, len);
    CHECK(body != NULL);
    memcpy(body, start_text, strlen(start_text));
    post(fd, "/webhooks/fake", "", body, len);
    free(body);
    return fd;
}

CASE(bodies_are_bounded_one_by_one_and_together)
{
    int fds[8];
    start(NULL, NULL);
    int other = client_connect(harness);
    CHECK_INT(200, read_status(post_bytes(other, "x", SMA_HTTP_BODY_BYTES_MAX - 1)));
    CHECK_INT(200, read_status(post_bytes(other, "x", SMA_HTTP_BODY_BYTES_MAX)));
    CHECK_INT(413, read_status(post_bytes(other, "x", SMA_HTTP_BODY_BYTES_MAX + 1)));
    close(other);
    other = client_connect(harness);
    for (unsigned i = 0; i < 8; i++) {
        fds[i] = client_connect(harness);
        post_bytes(fds[i], "hold", SMA_HTTP_BODY_BYTES_MAX);
        wait_count(3 + i);
    }
    post_text(other, "x"); /* 16 MiB wait for their answers */
    CHECK_INT(503, read_status(other));
    client_text(other, "GET /webhooks/fake HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK_INT(200, read_status(other)); /* no bytes, no limit */
    close(other);
    harness_begin_stop(harness);
    for (unsigned i = 0; i < 8; i++) {
        CHECK_INT(503, read_status(fds[i]));
        close(fds[i]);
    }
}

CASE(answered_bytes_make_room_again)
{
    start(NULL, NULL);
    int fd = client_connect(harness);
    for (int i = 0; i < 20; i++)
        CHECK_INT(200, read_status(post_bytes(fd, "x", 1024 * 1024)));
    close(fd);
}

CASE(pipelined_events_are_answered_in_order)
{
    start(NULL, NULL);
    int fd = client_connect(harness);
    client_text(fd, "POST /webhooks/fake?1 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"
                    "GET /health HTTP/1.1\r\nHost: h\r\n\r\n"
                    "POST /webhooks/fake?2 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nyy"
                    "GET /webhooks/fake?3 HTTP/1.1\r\nHost: h\r\n\r\n");
    read_text(fd, 200, "\"query\":\"1\"");
    CHECK_INT(403, read_status(fd)); /* the Host of this one is checked */
    read_text(fd, 200, "\"query\":\"2\"");
    read_text(fd, 200, "\"query\":\"3\"");
    close(fd);
}

CASE(what_cannot_be_passed_on_is_refused)
{
    start(NULL, NULL);
    int fd = client_connect(harness);
    post(fd, "/webhooks/ghost", "", "x", 1);
    read_text(fd, 503, "Retry-After: 1\r\n");
    client_text(fd, "POST /webhooks/fake HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n");
    CHECK_INT(501, read_status(fd));
    close(fd);
    CHECK_INT(0, harness_webhook_count(harness));
}

CASE(an_event_that_waits_when_the_service_stops_is_sent_again)
{
    start(NULL, NULL);
    int fd = client_connect(harness);
    post_text(fd, "hold");
    wait_count(1);
    harness_begin_stop(harness);
    struct reply reply = client_read(fd);
    CHECK_INT(503, reply.status);
    CHECK(reply.is_closing && reply_has(&reply, "stopping"));
    reply_free(&reply);
    close(fd);
}

/* Pictures that somebody sends in, or only announces, keep no platform waiting. */
CASE(large_requests_leave_room_for_events)
{
    enum
    {
        LARGE = 32 * 1024 * 1024 - 65536,
        EVENT = 200 * 1024
    };
    char request[400];
    start(NULL, NULL);
    int fds[2];
    for (int i = 0; i < 2; i++) {
        fds[i] = client_connect(harness);
        snprintf(request, sizeof request,
                 "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
                 "Expect: 100-continue\r\nContent-Length: %d\r\n\r\n",
                 harness_port(harness), LARGE);
        client_text(fds[i], request);
        char *goes_on = client_read_until(fds[i], "100 Continue");
        free(goes_on);
    }
    char *event = calloc(1, EVENT);
    int fd = client_connect(harness);
    post(fd, "/webhooks/fake", "", event, EVENT);
    read_text(fd, 200, "\"bytes\":204800}");
    free(event);
    close(fd);
    close(fds[0]);
    close(fds[1]);
}

CASES_MAIN
