/*
 * test_http_feed.c — GET /api/runs/:id/events: what EventSource reads. The text comes once, and
 * then what is added; a reader that comes again misses nothing and hears nothing twice; tickets; a
 * message that waits behind a question says so.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct harness *harness;

/* A run that goes on until "release". @return its number */
static unsigned begin(const char *text)
{
    char body[200];
    unsigned seq = 0;
    snprintf(body, sizeof body, "{\"instructions\":\"%s\"}", text);
    struct reply reply =
        request_once(harness, "POST /api/execute", "Prefer: respond-async\r\n", body);
    CHECK_INT(202, reply.status);
    CHECK(sscanf(strstr(reply.body, "\"runId\":\""), "\"runId\":\"%u\"", &seq) == 1);
    reply_free(&reply);
    return seq;
}

static void tell(unsigned seq, char kind, const char *text)
{
    char words[150];
    snprintf(words, sizeof words, "tell %u %c%s", seq, kind, text);
    (void)begin(words);
}

static int open_feed(unsigned seq, const char *headers)
{
    char head[500];
    int fd = client_connect(harness);
    snprintf(head, sizeof head,
             "GET /api/runs/%u/events HTTP/1.1\r\nHost: localhost:%d\r\n%s" HARNESS_TOKEN_LINE
             "\r\n",
             seq, harness_port(harness), headers);
    client_text(fd, head);
    return fd;
}

/* What comes, up to this text. */
static char *read_to(int fd, const char *needle)
{
    char *text = client_read_until(fd, needle);
    if (strstr(text, needle) == NULL)
        fprintf(stderr, "%s\nhas no %s\n", text, needle);
    CHECK(strstr(text, needle) != NULL);
    return text;
}

/* The id of the last event in what came. */
static void last_id(const char *text, char id[100])
{
    const char *at = NULL;
    for (const char *next = text; (next = strstr(next, "\nid: ")) != NULL;)
        at = next += 5;
    CHECK(at != NULL);
    snprintf(id, 100, "%.*s", (int)strcspn(at, "\n"), at);
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        count++;
    return count;
}

CASE(the_text_comes_once_and_then_what_is_added)
{
    unsigned seq = begin("later one");
    int fd = open_feed(seq, "");
    char *text = read_to(fd, "event: state\ndata: {\"status\":\"running\"");
    CHECK(strstr(text, "text/event-stream") != NULL && strstr(text, "retry: 3000\n\n") != NULL);
    free(text);
    tell(seq, 't', "The answer");
    free(read_to(fd, "event: delta\ndata: {\"text\":\"The answer\"}\n\n"));
    tell(seq, 't', "The answer is 4");
    text = read_to(fd, "event: delta\ndata: {\"text\":\" is 4\"}\n\n");
    CHECK(count_of(text, "The answer") == 0 && count_of(text, "\nid: ") + 1 >= 1);
    free(text);
    tell(seq, 'u', "read_file");
    free(read_to(fd, "event: tool\ndata: {\"name\":\"read_file\"}\n\n"));
    tell(seq, 't', "Another one"); /* not what was told before: all of it */
    free(read_to(fd, "event: progress\ndata: {\"text\":\"Another one\"}\n\n"));
    tell(seq, 't', "Another one.");
    free(read_to(fd, "event: delta\ndata: {\"text\":\".\"}\n\n"));
    (void)begin("release");
    text = read_to(fd, "echo: later one");
    free(read_to(fd, "}\n\n"));
    CHECK(strstr(text, "-done\nevent: result\ndata: {\"success\":true,") != NULL);
    free(text);
    CHECK(client_is_closed(fd));
    close(fd);
}

CASE(who_comes_again_misses_nothing_and_hears_nothing_twice)
{
    char id[100], header[140];
    unsigned seq = begin("later two");
    int fd = open_feed(seq, "");
    tell(seq, 't', "One");
    free(read_to(fd, "\"One\""));
    tell(seq, 'u', "glob_files");
    char *text = read_to(fd, "glob_files\"}\n\n");
    last_id(text, id);
    free(text);
    close(fd);
    tell(seq, 'u', "read_file");
    snprintf(header, sizeof header, "Last-Event-ID: %s\r\n", id);
    fd = open_feed(seq, header);
    text = read_to(fd, "read_file\"}\n\n");
    CHECK_INT(0, count_of(text, "glob_files") + count_of(text, "One"));
    free(text);
    tell(seq, 't', "One, two");
    free(read_to(fd, "two\"}\n\n")); /* else who comes next may be there before it has grown */
    close(fd);
    fd = open_feed(seq, header); /* the text has grown since: it is told whole */
    text = read_to(fd, "event: progress\ndata: {\"text\":\"One, two\"}\n\n");
    CHECK_INT(0, count_of(text, "glob_files"));
    CHECK_INT(1, count_of(text, "read_file"));
    free(text);
    close(fd);
    static const char *const foreign[] = {"",         "x",    "99-00000000-9",
                                          "17-0-0-0", "\xff", "1-ffffffff-99999999999999999999"};
    for (size_t i = 0; i < SMA_COUNT_OF(foreign); i++) { /* all that there is */
        snprintf(header, sizeof header, "Last-Event-ID: %s\r\n", foreign[i]);
        fd = open_feed(seq, header);
        text = read_to(fd, "event: progress\ndata: {\"text\":\"One, two\"}\n\n");
        CHECK(count_of(text, "glob_files") == 1 && count_of(text, "read_file") == 1);
        free(text);
        close(fd);
    }
    (void)begin("release");
}

/* 204 is what makes EventSource stop. */
CASE(a_finished_run_is_told_once)
{
    char id[100], path[100];
    unsigned seq = begin("hello");
    int fd = open_feed(seq, "");
    char *text = read_to(fd, "echo: hello");
    free(read_to(fd, "}\n\n"));
    CHECK(client_is_closed(fd));
    close(fd);
    last_id(text, id);
    free(text);
    char header[140];
    snprintf(header, sizeof header, "Last-Event-ID: %s\r\n", id);
    snprintf(path, sizeof path, "GET /api/runs/%u/events", seq);
    CHECK_INT(204, request_status(harness, path, header, NULL));
    seq = begin("park this");
    fd = open_feed(seq, "");
    text = read_to(fd, "\"pendingApproval\":{\"id\":\"0a\"");
    CHECK(strstr(text, "-parked-0a\nevent: result\n") != NULL);
    last_id(text, id);
    free(text);
    close(fd);
    snprintf(header, sizeof header, "Last-Event-ID: %s\r\n", id);
    snprintf(path, sizeof path, "GET /api/runs/%u/events", seq);
    CHECK_INT(204, request_status(harness, path, header, NULL));
    CHECK_INT(404, request_status(harness, "GET /api/runs/99999/events", "", NULL));
    CHECK_INT(404, request_status(harness, "GET /api/runs/x/events", "", NULL));
    snprintf(path, sizeof path, "HEAD /api/runs/%u/events", seq);
    CHECK_INT(200, request_status(harness, path, "", NULL));
}

CASE(several_readers_are_told_each_what_it_lacks)
{
    unsigned seq = begin("later three");
    int first = open_feed(seq, "");
    free(read_to(first, "event: state"));
    tell(seq, 't', "a");
    free(read_to(first, "\"a\""));
    int second = open_feed(seq, "");
    free(read_to(second, "event: progress\ndata: {\"text\":\"a\"}"));
    tell(seq, 't', "ab");
    free(read_to(first, "event: delta\ndata: {\"text\":\"b\"}"));
    free(read_to(second, "event: delta\ndata: {\"text\":\"b\"}"));
    close(first);
    tell(seq, 't', "abc");
    free(read_to(second, "event: delta\ndata: {\"text\":\"c\"}"));
    (void)begin("release");
    free(read_to(second, "echo: later three"));
    close(second);
}

/* What `data: {"text":"..."}` of each event holds, one behind the other: letters alone. */
static size_t join_texts(const char *stream, char *all)
{
    size_t len = 0;
    for (const char *at = stream; (at = strstr(at, "data: {\"text\":\"")) != NULL;) {
        at += sizeof "data: {\"text\":\"" - 1;
        size_t part = strcspn(at, "\"");
        memcpy(all + len, at, part);
        len += part;
    }
    all[len] = '\0';
    return len;
}

/* Each letter has three bytes, so that pieces of 8192 bytes would end inside of one. */
CASE(a_long_text_comes_in_pieces_of_whole_letters)
{
    enum
    {
        LETTERS = 16000,
        BYTES = LETTERS * 3
    };
    unsigned seq = begin("later long");
    char *text = malloc(BYTES + 1), *all = malloc(BYTES + 1), *words = malloc(BYTES + 200), id[100];
    CHECK(text != NULL && all != NULL && words != NULL);
    for (size_t i = 0; i < LETTERS; i++)
        memcpy(text + 3 * i, i % 7 == 0 ? "\xE5\xA5\xBD" : "\xE4\xBD\xA0", 3);
    text[BYTES] = '\0';
    int first = open_feed(seq, "");
    free(read_to(first, "event: state"));
    tell(seq, 't', "a");
    free(read_to(first, "\"a\""));
    snprintf(words, BYTES + 200, "{\"instructions\":\"tell %u t%s\"}", seq, text);
    struct reply reply =
        request_once(harness, "POST /api/execute", "Prefer: respond-async\r\n", words);
    CHECK_INT(202, reply.status);
    reply_free(&reply);
    char *stream = read_to(first, "\nid: "); /* the only one stands at the last piece */
    char *rest = read_to(first, "\n\n");
    size_t size = strlen(stream) + strlen(rest) + 1;
    char *whole = malloc(size);
    CHECK(whole != NULL);
    snprintf(whole, size, "%s%s", stream, rest);
    CHECK_INT(BYTES, join_texts(whole, all));
    CHECK(memcmp(all, text, BYTES) == 0);
    CHECK_INT(1, count_of(whole, "event: progress"));
    CHECK(count_of(whole, "event: delta") >= BYTES / 8192);
    last_id(whole, id);
    CHECK_INT(1, count_of(whole, "\nid: "));
    (void)begin("release");
    close(first);
    free(text);
    free(all);
    free(words);
    free(stream);
    free(rest);
    free(whole);
}

/* -- a question stands before it --------------------------------------------------------------- */
static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

CASE(a_message_behind_a_question_says_so_at_once)
{
    double begun = now_s();
    struct reply reply =
        request_once(harness, "POST /api/execute", "", "{\"instructions\":\"behind one\"}");
    CHECK_INT(202, reply.status);
    CHECK(now_s() - begun < 5);
    CHECK(reply_has(&reply, "\"status\":\"waiting\"") &&
          reply_has(&reply, "\nLocation: /api/runs/"));
    CHECK(reply_has(&reply, "\"pendingApproval\":{\"id\":\"0b\"") && reply_has(&reply, "question"));
    unsigned seq = 0;
    CHECK(sscanf(strstr(reply.body, "\"runId\":\""), "\"runId\":\"%u\"", &seq) == 1);
    reply_free(&reply);
    char path[100];
    snprintf(path, sizeof path, "GET /api/runs/%u?wait=20", seq);
    reply = request_once(harness, path, "", NULL);
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "\"pendingApproval\":{\"id\":\"0b\"") && now_s() - begun < 5);
    reply_free(&reply);
    /* A stream hears it and goes on to the end. */
    static const char body[] = "{\"instructions\":\"behind two\"}";
    int fd = client_connect(harness);
    client_post(fd, harness, "Accept: text/event-stream\r\n", body, sizeof body - 1);
    char *text = read_to(fd, "event: waiting\ndata: {\"status\":\"waiting\",\"message\":");
    CHECK(strstr(text, "event: accepted") != NULL);
    free(text);
    int feed = open_feed(seq, "");
    text = read_to(feed, "\"pendingApproval\":{\"id\":\"0b\"");
    CHECK(strstr(text, "event: state") != NULL);
    free(text);
    (void)begin("release");
    free(read_to(fd, "echo: behind two"));
    free(read_to(feed, "echo: behind one"));
    close(fd);
    close(feed);
}

/* -- tickets ----------------------------------------------------------------------------------- */
static int get(const char *path, const char *headers)
{
    char line[400];
    snprintf(line, sizeof line, "GET %s", path);
    return request_status(harness, line, headers, NULL);
}

CASE(a_ticket_opens_one_path)
{
    char url[300] = "", other[300];
    unsigned seq = 1;
    char body[100], token[] = "X-Api-Token: another-token\r\n";
    harness_stop(harness);
    harness = harness_start(&(struct harness_options){.api_token = "another-token"});
    struct reply reply = request_once(harness, "POST /api/execute",
                                      "X-Api-Token: another-token\r\nPrefer: respond-async\r\n",
                                      "{\"instructions\":\"hello\"}");
    CHECK_INT(202, reply.status);
    reply_free(&reply);
    snprintf(body, sizeof body, "{\"path\":\"/api/runs/%u/events\"}", seq);
    CHECK_INT(401, request_status(harness, "POST /api/tickets", "", body));
    reply = request_once(harness, "POST /api/tickets", token, body);
    CHECK_INT(200, reply.status);
    CHECK(sscanf(strstr(reply.body, "\"url\":\""), "\"url\":\"%299[^\"]\"", url) == 1);
    CHECK(reply_has(&reply, "\"seconds\":900"));
    reply_free(&reply);
    CHECK_INT(401, get("/api/runs/1/events", ""));
    CHECK_INT(200, get(url, ""));
    CHECK_INT(200, get(url, ""));                                     /* EventSource comes again */
    snprintf(other, sizeof other, "/api/runs/1%s", strchr(url, '?')); /* of another path */
    CHECK_INT(401, get(other, ""));
    snprintf(other, sizeof other, "/api/runs/2/events%s", strchr(url, '?'));
    CHECK_INT(401, get(other, ""));
    snprintf(other, sizeof other, "%s", url);
    other[strlen(other) - 1] ^= 1;
    CHECK_INT(401, get(other, ""));
    snprintf(other, sizeof other, "%s", url);
    strchr(other, '=')[1] = 'f'; /* a later end */
    CHECK_INT(401, get(other, ""));
    snprintf(other, sizeof other, "%s0", url);
    CHECK_INT(401, get(other, ""));
    static const char *const wrong[] = {"{\"path\":\"/api/status\"}",
                                        "{\"path\":\"/api/runs/1\"}",
                                        "{}",
                                        "",
                                        "{\"path\":7}",
                                        "{\"path\":\"/ws\",\"more\":1}",
                                        "{\"path\":\"/api/runs//events\"}"};
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_INT(400, request_status(harness, "POST /api/tickets", token, wrong[i]));
    CHECK_INT(200, request_status(harness, "POST /api/tickets", token, "{\"path\":\"/ws\"}"));
    harness_reload(harness, "another-token");
    for (int tries = 0; get(url, "") != 401 && tries < 500; tries++)
        wait_ms(2);
    CHECK_INT(401, get(url, "")); /* a change of the token ends it */
    harness_stop(harness);
}

int main(void)
{
    harness = harness_start(&(struct harness_options){0});
    check_run_cases(NULL);
    return 0;
}
