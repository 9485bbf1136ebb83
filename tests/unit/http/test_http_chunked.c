/*
 * test_http_chunked.c — bodies in chunks: read like those with a length, in whatever pieces they
 * come, bounded like them, and never taken for another request.
 */
#include "harness.h"

#include "adapters/http/chunked.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HELLO "18\r\n{\"instructions\":\"hello\"}\r\n"
#define END "0\r\n\r\n"

static struct harness *harness;

/* -- the decoder ------------------------------------------------------------------------------- */
/* Decode text in pieces of so many bytes. @return its verdict; what was made stands in out. */
static enum sma_err decode(const char *text, size_t piece, uint64_t max, char out[256],
                           size_t *ret_rest)
{
    struct sma_http_chunks chunks = {0};
    enum sma_err err = SMA_ERR_EMPTY;
    size_t len = strlen(text), at = 0, made = 0;
    while (err == SMA_ERR_EMPTY && at < len) {
        char bytes[256];
        size_t count = len - at < piece ? len - at : piece;
        memcpy(bytes, text + at, count);
        struct sma_http_chunk_bytes part = {.ptr = bytes, .len = count};
        err = sma_http_chunks_read(&chunks, max, &part);
        CHECK(part.made <= part.used && part.used <= count);
        CHECK(err != SMA_ERR_EMPTY || part.used == count);
        memcpy(out + made, bytes, part.made);
        made += part.made;
        at += part.used;
    }
    out[made] = '\0';
    *ret_rest = len - at;
    CHECK(err == SMA_ERR_BADINPUT || err == SMA_ERR_TOOBIG || chunks.body_bytes == made);
    return err;
}

static void every_cut_gives_the_same_body(void)
{
    static const struct
    {
        const char *text, *body;
        size_t rest;
    } cases[] = {
        {"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
        {"0\r\n\r\n", "", 0},
        {"1\r\nh\r\n4;ext=\"a;b\"\r\nello\r\n000\r\nX: y\r\nZ:\r\n\r\nGET /", "hello", 5},
        {"A \t;x\r\n0123456789\r\n0000000000000000\r\n\r\n", "0123456789", 0},
        {"2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++)
        for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
            char out[256];
            size_t rest;
            CHECK_OK(decode(cases[i].text, piece, 10, out, &rest));
            CHECK_TEXT(cases[i].body, out);
            CHECK(piece > 1 || rest == cases[i].rest);
        }
}

static void what_is_no_chunk_is_refused(void)
{
    static const char *const cases[] = {
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "+1\r\n",
        " 1\r\na\r\n",
        "0x1\r\na\r\n",
        "1\na\r\n",
        "1 \r\na\r\n",
        "1\r\na\n0\r\n\r\n",
        "1\r\nab\r\n0\r\n\r\n",
        "1\ra",
        "00000000000000001\r\na\r\n",
        "1;a\x01\r\n",
        "1;a\nb\r\n",
        "0\r\n X: y\r\n\r\n",
        "0\r\n: y\r\n\r\n",
        "0\r\nX: y\n\r\n",
        "0\r\nX\x7f: y\r\n\r\n",
        "0\r\n\rX",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++)
        for (size_t piece = 1; piece <= strlen(cases[i]); piece++) {
            char out[256];
            size_t rest;
            enum sma_err err = decode(cases[i], piece, 100, out, &rest);
            if (err != SMA_ERR_BADINPUT)
                fprintf(stderr, "case %zu in pieces of %zu\n", i, piece);
            CHECK_ERR(SMA_ERR_BADINPUT, err);
        }
}

static void the_bounds_are_exact(void)
{
    char out[256];
    size_t rest;
    CHECK_ERR(SMA_ERR_EMPTY, decode("a\r\n0123456789\r\n", 3, 10, out, &rest));
    CHECK_ERR(SMA_ERR_TOOBIG, decode("b\r\n0123456789a\r\n", 3, 10, out, &rest));
    CHECK_ERR(SMA_ERR_TOOBIG, decode("5\r\n01234\r\n6\r\n", 3, 10, out, &rest));
    CHECK_ERR(SMA_ERR_TOOBIG, decode("ffffffffffffffff\r\n", 3, 10, out, &rest));
    CHECK_ERR(SMA_ERR_TOOBIG, decode("1\r\na\r\nffffffffffffffff\r\n", 3, 10, out, &rest));
    /* Extensions and trailers without end cost their sender the connection. */
    struct sma_http_chunks chunks = {0};
    char line[] = "1;ext=xx\r\na\r\n";
    enum sma_err err = SMA_ERR_EMPTY;
    size_t count = 0;
    for (; err == SMA_ERR_EMPTY && count < 10000; count++) {
        char bytes[sizeof line];
        memcpy(bytes, line, sizeof line);
        struct sma_http_chunk_bytes part = {.ptr = bytes, .len = sizeof line - 1};
        err = sma_http_chunks_read(&chunks, 1000000, &part);
    }
    CHECK_ERR(SMA_ERR_BADINPUT, err);
    CHECK(count > 500 && count < 2000);
}

/* -- requests ---------------------------------------------------------------------------------- */
static int begin(const char *headers)
{
    char head[400];
    int fd = client_connect(harness);
    snprintf(head, sizeof head,
             "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "Transfer-Encoding: chunked\r\n%s\r\n",
             harness_port(harness), headers);
    client_text(fd, head);
    return fd;
}

static void check_reply(int fd, int status, const char *text)
{
    struct reply reply = client_read(fd);
    if (reply.status != status || !reply_has(&reply, text))
        fprintf(stderr, "%d %s\n", reply.status, reply.body);
    CHECK_INT(status, reply.status);
    CHECK(reply_has(&reply, text));
    reply_free(&reply);
}

static void a_body_in_chunks_is_a_body(void)
{
    int fd = begin("");
    client_text(fd, "1\r\n{\r\n");
    wait_ms(5); /* pieces of their own; read together they mean the same */
    client_text(fd, "e;a=b\r\n\"instructions\"\r\n9\r");
    wait_ms(5);
    client_text(fd, "\n:\"hello\"}\r\n0\r\nX-Check: 1\r\n\r\n");
    check_reply(fd, 200, "echo: hello");
    client_text(fd, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"); /* not our Host: closed */
    check_reply(fd, 403, "Host");
    close(fd);
}

/* A body that ends in the middle of what was read: the next request is the next request. */
static void what_follows_the_body_is_the_next_request(void)
{
    char second[400];
    int fd = begin("");
    snprintf(second, sizeof second,
             HELLO END
             "POST /api/execute HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "Transfer-Encoding: CHUNKED\r\n\r\n" HELLO END
             "GET /api/history?chatKey=x HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "\r\n",
             harness_port(harness), harness_port(harness));
    client_text(fd, second);
    check_reply(fd, 200, "echo: hello");
    check_reply(fd, 200, "echo: hello");
    check_reply(fd, 200, "[{\"key\":\"x\"");
    close(fd);
}

static void smuggling_is_refused(void)
{
    static const char *const heads[] = {"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n",
                                        "Transfer-Encoding: identity\r\n"};
    unsigned before = harness_accepted_count(harness);
    for (size_t i = 0; i < SMA_COUNT_OF(heads); i++) {
        int fd = begin(heads[i]);
        client_text(fd, HELLO END);
        check_reply(fd, 400, "Malformed");
        CHECK(client_is_closed(fd));
        close(fd);
    }
    static const char *const others[] = {"gzip", "chunked, gzip", "gzip, chunked", "chunked;x=1",
                                         "xchunked"};
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        char header[100];
        snprintf(header, sizeof header, "Transfer-Encoding: %s\r\n", others[i]);
        CHECK_INT(501, request_status(harness, "POST /api/execute", header, NULL));
    }
    char old[300];
    int fd = client_connect(harness);
    snprintf(old, sizeof old,
             "POST /api/execute HTTP/1.0\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" HELLO END,
             harness_port(harness));
    client_text(fd, old);
    check_reply(fd, 400, "Malformed");
    close(fd);
    fd = begin("");
    client_text(fd, "18\r\n{\"instructions\":\"hello\"}XX0\r\n\r\n");
    check_reply(fd, 400, "chunks");
    CHECK(client_is_closed(fd)); /* what follows is never taken for a request */
    close(fd);
    CHECK_INT(before, harness_accepted_count(harness));
}

static void an_expectation_is_met_before_the_first_chunk(void)
{
    int fd = begin("Expect: 100-continue\r\n");
    check_reply(fd, 100, "");
    client_text(fd, HELLO END);
    check_reply(fd, 200, "echo: hello");
    close(fd);
}

/* One byte a chunk: six bytes for one, and the same message. */
static void many_small_chunks_are_one_body(void)
{
    static const char start[] = "{\"instructions\":\"", end[] = "\"}";
    size_t text_len = 20000, size = (text_len + 64) * 6 + 16, at = 0;
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < text_len + sizeof start + sizeof end - 2; i++) {
        char c = i < sizeof start - 1              ? start[i]
                 : i < sizeof start - 1 + text_len ? 'x'
                                                   : end[i - (sizeof start - 1) - text_len];
        at += (size_t)snprintf(bytes + at, size - at, "1\r\n%c\r\n", c);
    }
    at += (size_t)snprintf(bytes + at, size - at, END);
    int fd = begin("Prefer: respond-async\r\n");
    client_send(fd, bytes, at);
    check_reply(fd, 202, "\"status\":\"accepted\"");
    close(fd);
    free(bytes);
}

static void a_body_over_the_limit_is_refused_when_it_is_said(void)
{
    int fd = begin("");
    client_text(fd, "2000001\r\nx");
    check_reply(fd, 413, "33554432");
    close(fd);
    /* Of other requests less. */
    char head[300];
    fd = client_connect(harness);
    snprintf(head, sizeof head,
             "POST /api/approvals/ab/approve HTTP/1.1\r\nHost: localhost:%d\r\n" HARNESS_TOKEN_LINE
             "Transfer-Encoding: chunked\r\n\r\n200001\r\n",
             harness_port(harness));
    client_text(fd, head);
    check_reply(fd, 413, "2097152");
    close(fd);
}

/* A chunk now and then does not keep the connection: the body has its time from the first byte. */
static void drops_of_a_body_do_not_hold_a_connection(void)
{
    struct timespec begun, now;
    int fd = begin(""), drops = 0;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        if (drops++ < 40)
            client_text(fd, "1\r\n \r\n");
        wait_ms(20);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < 700);
    check_reply(fd, 408, "not complete after 500 ms");
    close(fd);
}

int main(void)
{
    RUN(every_cut_gives_the_same_body);
    RUN(what_is_no_chunk_is_refused);
    RUN(the_bounds_are_exact);
    harness = harness_start(&(struct harness_options){.json = "{\"requestDeadlineMs\":500}"});
    RUN(a_body_in_chunks_is_a_body);
    RUN(what_follows_the_body_is_the_next_request);
    RUN(smuggling_is_refused);
    RUN(an_expectation_is_met_before_the_first_chunk);
    RUN(many_small_chunks_are_one_body);
    RUN(a_body_over_the_limit_is_refused_when_it_is_said);
    RUN(drops_of_a_body_do_not_hold_a_connection);
    harness_stop(harness);
    return 0;
}
