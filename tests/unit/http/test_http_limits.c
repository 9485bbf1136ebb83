/*
 * test_http_limits.c — every bound of the HTTP adapter at max-1, max, max+1, and input that means
 * harm: the service answers with the bound's own status and goes on.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct harness *harness;

static void still_serves(void)
{
    CHECK_INT(200, request_status(harness, "GET /health", "", NULL));
}

static char *make_text(size_t len)
{
    char *text = malloc(len + 1);
    CHECK(text != NULL);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

/* A whole body of exactly `size` bytes with `text_len` bytes of instructions and JSON white space
 * around. */
static int post_sized(size_t size, size_t text_len)
{
    char *body = make_text(size);
    memset(body, ' ', size);
    static const char start[] = "{\"instructions\":\"";
    memcpy(body, start, sizeof start - 1);
    memset(body + sizeof start - 1, 'x', text_len);
    memcpy(body + sizeof start - 1 + text_len, "\"}", 2);
    int fd = client_connect(harness);
    client_post(fd, harness, "Prefer: respond-async\r\n", body, size);
    struct reply reply = client_read(fd);
    int status = reply.status;
    CHECK(status != 413 || (reply_has(&reply, "limit") && reply_has(&reply, "success\":false")));
    reply_free(&reply);
    close(fd);
    free(body);
    return status;
}

static void body_limit_is_exact(void)
{
    CHECK_INT(202, post_sized(SMA_HTTP_EXECUTE_BYTES_MAX - 1, 100));
    CHECK_INT(202, post_sized(SMA_HTTP_EXECUTE_BYTES_MAX, 100));
    CHECK_INT(413, post_sized(SMA_HTTP_EXECUTE_BYTES_MAX + 1, 100));
    CHECK_INT(413, post_sized(5 * 1024 * 1024, 5 * 1024 * 1024 - 100));
    still_serves();
}

static void text_limit_is_exact(void)
{
    CHECK_INT(202, post_sized(SMA_TEXT_BYTES_MAX + 100, SMA_TEXT_BYTES_MAX - 1));
    CHECK_INT(202, post_sized(SMA_TEXT_BYTES_MAX + 100, SMA_TEXT_BYTES_MAX));
    CHECK_INT(413, post_sized(SMA_TEXT_BYTES_MAX + 100, SMA_TEXT_BYTES_MAX + 1));
    still_serves();
}

static int get_with_head(size_t size)
{
    char *head = make_text(size);
    int len = snprintf(head, size,
                       "GET /health HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE "X: ",
                       harness_port(harness));
    head[len] = 'x';
    memcpy(head + size - 4, "\r\n\r\n", 4);
    int fd = client_connect(harness);
    client_send(fd, head, size);
    struct reply reply = client_read(fd);
    int status = reply.status;
    CHECK(reply.is_closing == (status != 200));
    reply_free(&reply);
    close(fd);
    free(head);
    return status;
}

static void head_limit_is_exact(void)
{
    CHECK_INT(200, get_with_head(SMA_HTTP_HEADER_BYTES_MAX - 1));
    CHECK_INT(200, get_with_head(SMA_HTTP_HEADER_BYTES_MAX));
    CHECK_INT(431, get_with_head(SMA_HTTP_HEADER_BYTES_MAX + 1));
    CHECK_INT(431, get_with_head(100 * 1024));
    char *uri = make_text(20000);
    memcpy(uri, "GET /", 5);
    int fd = client_connect(harness);
    client_send(fd, uri, 20000); /* no line end at all */
    struct reply reply = client_read(fd);
    CHECK_INT(431, reply.status);
    reply_free(&reply);
    close(fd);
    free(uri);
    still_serves();
}

static void depth_limit_is_exact(void)
{
    for (int depth = SMA_JSON_DEPTH_MAX - 1; depth <= SMA_JSON_DEPTH_MAX + 1; depth++) {
        char body[400];
        int len = snprintf(body, sizeof body, "{\"instructions\":\"[[[ not counted\",\"more\":");
        for (int i = 1; i < depth; i++)
            body[len++] = '[';
        for (int i = 1; i < depth; i++)
            body[len++] = ']';
        snprintf(body + len, sizeof body - (size_t)len, "}");
        /* No member may be deep: one that is read is refused by its name, as unknown. */
        struct reply reply = request_once(harness, "POST /api/execute", "", body);
        CHECK_INT(400, reply.status);
        CHECK(reply_has(&reply, "more") == (depth <= SMA_JSON_DEPTH_MAX));
        reply_free(&reply);
    }
    char *deep = make_text(1000000);
    memset(deep, '[', 1000000);
    int fd = client_connect(harness);
    client_post(fd, harness, "", deep, 1000000);
    struct reply reply = client_read(fd);
    CHECK_INT(400, reply.status);
    CHECK(reply_has(&reply, "deeper than 64"));
    reply_free(&reply);
    close(fd);
    free(deep);
}

static void expectation_is_met(void)
{
    static const char body[] = "{\"instructions\":\"hello\"}";
    char request[300];
    int fd = client_connect(harness);
    snprintf(request, sizeof request,
             "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "Content-Length: %zu\r\n"
             "Expect: 100-continue\r\n\r\n",
             harness_port(harness), sizeof body - 1);
    client_text(fd, request);
    struct reply reply = client_read(fd);
    CHECK_INT(100, reply.status);
    reply_free(&reply);
    client_text(fd, body);
    reply = client_read(fd);
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    close(fd);
    CHECK_INT(501, request_status(harness, "POST /api/execute",
                                  "Transfer-Encoding: gzip\r\nExpect: 100-continue\r\n", NULL));
}

static void garbage_is_refused(void)
{
    static const struct
    {
        const char *bytes;
        int status;
    } cases[] = {
        {"\x16\x03\x01\x02\x01\x01", 400},
        {"GET\r\n\r\n", 400},
        {"GET / HTTP/9.9\r\n\r\n", 505},
        {"GET / HTTP/1.1\n\n\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400}, /* no Host */
        {"POST /api/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: "
         "4\r\n\r\nabc",
         400},
        {"POST /api/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\nabc", 400},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        int fd = client_connect(harness);
        client_text(fd, cases[i].bytes);
        struct reply reply = client_read(fd);
        CHECK_INT(cases[i].status, reply.status);
        reply_free(&reply);
        close(fd);
    }
    unsigned seed = 7;
    for (int i = 0; i < 200;
         i++) { /* noise of every length; some of it is cut off in the middle of a request */
        char noise[300] =
            "POST /api/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n";
        for (int j = 0; j < 12; j++) {
            seed = seed * 1103515245u + 12345u;
            noise[(seed >> 16) % 80] = (char)(seed >> 8);
        }
        int fd = client_connect(harness);
        client_send(fd, noise, (seed >> 16) % 120);
        close(fd);
    }
    still_serves();
}

/* The deadline is 300 ms here (adapters.http.requestDeadlineMs). */
static void slow_clients_are_cut_off(void)
{
    char request[300];
    int silent = client_connect(harness), head = client_connect(harness),
        body = client_connect(harness);
    client_text(head, "POST /api/execute HTTP/1.1\r\nHos");
    snprintf(request, sizeof request,
             "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "Content-Length: 50\r\n\r\n{",
             harness_port(harness));
    client_text(body, request);
    struct reply reply = client_read(head);
    CHECK_INT(408, reply.status);
    CHECK(reply.is_closing);
    reply_free(&reply);
    reply = client_read(body);
    CHECK_INT(408, reply.status);
    reply_free(&reply);
    CHECK(client_is_closed(silent));
    close(silent);
    close(head);
    close(body);

    int drip = client_connect(harness); /* a byte now and then does not move the deadline */
    int sent = 0;
    for (; sent < 40; sent++) {
        char byte;
        client_send(drip, "G", 1);
        wait_ms(20);
        if (recv(drip, &byte, 1, MSG_DONTWAIT) == 1)
            break;
    }
    CHECK(sent > 5 && sent < 40);
    close(drip);
    still_serves();
}

/* A large body may take longer: it goes on after a small one was given up. */
static void time_to_send_grows_with_the_body(void)
{
    enum
    {
        LARGE = 30 * 1024 * 1024
    };
    char request[300];
    char *body = make_text(LARGE);
    memset(body, ' ', LARGE);
    memcpy(body, "{\"instructions\":\"large\"}", 24);
    int fds[2] = {client_connect(harness), client_connect(harness)};
    for (int i = 0; i < 2; i++) {
        snprintf(request, sizeof request,
                 "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
                 "Prefer: respond-async\r\nContent-Length: %d\r\n\r\n",
                 harness_port(harness), i == 0 ? 50 : LARGE);
        client_text(fds[i], request);
        client_send(fds[i], body, 10);
    }
    struct reply reply = client_read(fds[0]);
    CHECK_INT(408, reply.status);
    reply_free(&reply);
    client_send(fds[1], body + 10, LARGE - 10);
    reply = client_read(fds[1]);
    CHECK_INT(202, reply.status);
    reply_free(&reply);
    close(fds[0]);
    close(fds[1]);
    free(body);
}

static void two_hundred_connections_work(void)
{
    int fds[200];
    static const char body[] = "{\"instructions\":\"many\"}";
    for (int i = 0; i < 200; i++)
        fds[i] = client_connect(harness);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++)
            client_post(fds[i], harness, "Prefer: respond-async\r\n", body, sizeof body - 1);
        for (int i = 0; i < 200; i++) {
            struct reply reply = client_read(fds[i]);
            CHECK_INT(202, reply.status);
            reply_free(&reply);
        }
    }
    for (int i = 0; i < 200; i++)
        close(fds[i]);
    still_serves();
}

static void await_connections(long wanted)
{
    for (int tries = 0; sma_gauge_get(SMA_GAUGE_http_connections) != wanted && tries < 2000;
         tries++)
        wait_ms(1);
    CHECK_INT(wanted, sma_gauge_get(SMA_GAUGE_http_connections));
}

/* The limit is 210 here (adapters.http.connections). Who waits for an answer is never closed for
 * somebody else. */
static void connection_limit_answers_503(void)
{
    static const char body[] = "{\"instructions\":\"later, all of us\"}";
    int fds[211];
    unsigned before = harness_accepted_count(harness);
    await_connections(0);
    for (int i = 0; i < 210; i++) {
        fds[i] = client_connect(harness);
        client_post(fds[i], harness, "", body, sizeof body - 1);
    }
    await_connections(210);
    for (int tries = 0; harness_accepted_count(harness) < before + 210 && tries < 5000; tries++)
        wait_ms(1);
    fds[210] = client_connect(harness);
    struct reply reply = client_read(fds[210]);
    CHECK_INT(503, reply.status);
    CHECK(reply_has(&reply, "Too many connections") && reply_has(&reply, "Retry-After: 1"));
    reply_free(&reply);
    struct linger at_once = {1, 0}; /* one goes, by a reset, so that the others can be released */
    CHECK(setsockopt(fds[209], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    close(fds[209]);
    await_connections(209);
    CHECK_INT(200,
              request_status(harness, "POST /api/execute", "", "{\"instructions\":\"release\"}"));
    for (int i = 0; i < 209; i++) {
        reply = client_read(fds[i]);
        CHECK_INT(200, reply.status);
        reply_free(&reply);
        close(fds[i]);
    }
    close(fds[210]);
    await_connections(0);
    still_serves();
}

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int connect_from(const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET},
                       to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)harness_port(harness))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = 20};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && inet_pton(AF_INET, address, &from.sin_addr) == 1);
    CHECK(bind(fd, (struct sockaddr *)&from, sizeof from) == 0);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

/* 1,060 of one address, silent or in the middle of a head, against 210 places. One of another
 * address was there first. */
static void silent_connections_keep_nobody_out(void)
{
    enum
    {
        COUNT = 1060
    };
    static int fds[COUNT];
    struct rlimit descriptors;
    CHECK(getrlimit(RLIMIT_NOFILE, &descriptors) == 0);
    descriptors.rlim_cur = descriptors.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &descriptors) == 0);
    harness = harness_start(&(struct harness_options){.json = "{\"connections\":210}"});
    int first = connect_from("127.0.0.2"), idle = client_connect(harness);
    static const char body[] = "{\"instructions\":\"hello\"}";
    client_post(idle, harness, "", body, sizeof body - 1);
    struct reply reply = client_read(idle);
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    for (int i = 0; i < COUNT; i++) {
        fds[i] = client_connect(harness);
        if (i % 2 == 1)
            client_text(fds[i], "GET /health HTT");
    }
    long long begin = now_ms();
    CHECK_INT(200, request_status(harness, "GET /health", "", NULL));
    CHECK(now_ms() - begin < 1000);
    CHECK(sma_gauge_get(SMA_GAUGE_http_connections) <= 210);
    char request[128];
    snprintf(request, sizeof request, "GET /health HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
             harness_port(harness));
    client_text(first, request); /* the flood has pushed out itself */
    reply = client_read(first);
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    client_post(idle, harness, "", body, sizeof body - 1); /* and nobody who has shown the token */
    reply = client_read(idle);
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    CHECK(client_is_closed(fds[0])); /* the oldest went */
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    close(first);
    close(idle);
    await_connections(0);
    harness_stop(harness);
}

/* A client that asks for much and reads nothing does not hold up the others. */
static void unread_answers_do_not_block(void)
{
    int fd = client_connect(harness);
    char request[200];
    snprintf(request, sizeof request,
             "GET /metrics HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE "\r\n",
             harness_port(harness));
    for (int i = 0; i < 2000; i++)
        if (send(fd, request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0)
            break;
    still_serves();
    double cpu = cpu_seconds();
    wait_ms(200);
    CHECK(cpu_seconds() - cpu < 0.1);
    still_serves();
    close(fd);
}

int main(void)
{
    harness = harness_start(
        &(struct harness_options){.json = "{\"requestDeadlineMs\":300,\"connections\":210}"});
    RUN(head_limit_is_exact);
    RUN(body_limit_is_exact);
    RUN(text_limit_is_exact);
    RUN(depth_limit_is_exact);
    RUN(expectation_is_met);
    RUN(garbage_is_refused);
    RUN(slow_clients_are_cut_off);
    RUN(time_to_send_grows_with_the_body);
    RUN(two_hundred_connections_work);
    RUN(connection_limit_answers_503);
    RUN(unread_answers_do_not_block);
    harness_stop(harness);
    RUN(silent_connections_keep_nobody_out);
    return check_summary();
}
