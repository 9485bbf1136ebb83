/*
 * Aim: nothing that arrives on a socket stops the service, holds it up or makes it grow; whoever
 * sends it is told why.
 * Method: a table of bad requests as bytes, then bodies too big for a table, slow and many
 *         connections, and garbage on the terminal's socket; after each the service is asked
 *         whether it is well. Then everything again, while its descriptors and memory are watched.
 *   scenario_bad_input BINARY
 */
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"
#include "talk.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TOKEN "the-token-of-bad-input"
#define TOKEN_LINE "X-Api-Token: " TOKEN "\r\n"
#define POST "POST /api/execute HTTP/1.1"
#define LONG_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LONG_512 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64

static char *binary;
static struct folder folder;
static struct service service;

/* -- is it well? ------------------------------------------------------------------------------- */
static void expect_well(const char *after)
{
    struct http_answer answer = http_ask(service.port, "/health", "", NULL, 20000);
    if (answer.status != 200)
        fprintf(stderr, "after %s: /health %d %s\n", after, answer.status,
                answer.body == NULL ? "" : answer.body);
    CHECK_INT(200, answer.status);
    http_answer_fini(&answer);
}

static void expect_answers(const char *after)
{
    char text[128], wanted[160];
    snprintf(text, sizeof text, "well after %.80s", after);
    snprintf(wanted, sizeof wanted, "You said: %s", text);
    talk_expect(service.port, "health", text, wanted);
}

/* Without the history files: the store keeps a bounded number of them open. */
static int count_descriptors(void)
{
    char path[64], target[512];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)service.pid);
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    int count = 0;
    for (struct dirent *item; (item = readdir(directory)) != NULL;) {
        ssize_t len = readlinkat(dirfd(directory), item->d_name, target, sizeof target - 1);
        target[len < 0 ? 0 : len] = '\0';
        count += strstr(target, "/.ship/chats/") == NULL;
    }
    closedir(directory);
    return count;
}

/* At rest: a connection that is just being closed is not counted. */
static int count_descriptors_at_rest(void)
{
    int least = count_descriptors();
    for (int i = 0; i < 20; i++) {
        process_pause_ms(10);
        int count = count_descriptors();
        least = count < least ? count : least;
    }
    return least;
}

static long resident_kib(void)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)service.pid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    long kib = -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    fclose(file);
    CHECK(kib > 0);
    return kib;
}

/* -- requests of a table ----------------------------------------------------------------------- */
struct bad
{
    const char *name;
    const char *line;    /* request line */
    const char *headers; /* more of them; "" */
    const char *body;    /* NULL: none and no length */
    int status;          /* 0: any, also none: the bytes are not HTTP */
    const char *part;    /* of the answer */
};

static const struct bad TABLE[] = {
    {"unknown path", "GET /nope HTTP/1.1", "", NULL, 404, "404 Not Found"},
    {"unknown method", "BREW /api/execute HTTP/1.1", "", NULL, 0, ""},
    {"wrong method", "PUT /api/execute HTTP/1.1", "", "{}", 405, "POST, OPTIONS"},
    {"dots in the path", "GET /../../../../etc/passwd HTTP/1.1", "", NULL, 0, ""},
    {"coded dots", "GET /%2e%2e/%2e%2e/ship.json HTTP/1.1", "", NULL, 404, ""},
    {"a file that is not public", "GET /ship.json HTTP/1.1", "", NULL, 404, ""},
    {"unknown run", "GET /api/runs/999999 HTTP/1.1", "", NULL, 404, "No such run"},
    {"no run", "GET /api/runs/ HTTP/1.1", "", NULL, 404, ""},
    {"run of words", "GET /api/runs/abc HTTP/1.1", "", NULL, 404, ""},
    {"negative run", "GET /api/runs/-1 HTTP/1.1", "", NULL, 404, ""},
    {"huge run", "GET /api/runs/99999999999999999999999 HTTP/1.1", "", NULL, 404, ""},
    {"wait of words", "GET /api/runs/1?wait=soon HTTP/1.1", "", NULL, 400, "wait"},
    {"negative wait", "GET /api/runs/1?wait=-5 HTTP/1.1", "", NULL, 400, "wait"},
    {"history without a key", "GET /api/history HTTP/1.1", "", NULL, 400, "chatKey"},
    {"history with a bad limit", "GET /api/history?chatKey=api:chat:x&limit=many HTTP/1.1", "",
     NULL, 400, "limit"},
    {"history of nobody", "GET /api/history?chatKey=api:chat:nobody HTTP/1.1", "", NULL, 200, "[]"},
    {"history outside", "GET /api/history?chatKey=../../../../etc/passwd HTTP/1.1", "", NULL, 0,
     ""},
    {"packed", POST, "Transfer-Encoding: gzip\r\n", NULL, 501, ""},
    {"no length", POST, "Content-Type: application/json\r\n", NULL, 400, "empty"},
    {"length of words", POST, "Content-Length: many\r\n", NULL, 0, ""},
    {"negative length", POST, "Content-Length: -5\r\n", NULL, 0, ""},
    {"impossible length", POST, "Content-Length: 99999999999999999999999\r\n", NULL, 0, ""},
    {"empty", POST, "", "", 400, ""},
    {"blank", POST, "", "   \r\n ", 400, ""},
    {"broken JSON", POST, "", "{\"instructions\":\"half", 400, ""},
    {"trailing comma", POST, "", "{\"instructions\":\"x\",}", 400, ""},
    {"two documents", POST, "", "{\"instructions\":\"x\"}{\"instructions\":\"y\"}", 400, ""},
    {"a list", POST, "", "[\"instructions\"]", 400, ""},
    {"a number", POST, "", "42", 400, ""},
    {"null", POST, "", "null", 400, ""},
    {"no instructions", POST, "", "{\"chatId\":\"x\"}", 400, "instructions"},
    {"number for a text", POST, "", "{\"instructions\":5}", 400, "instructions"},
    {"null for a text", POST, "", "{\"instructions\":null}", 400, "instructions"},
    {"list for a text", POST, "", "{\"instructions\":[\"x\"]}", 400, "instructions"},
    {"empty text", POST, "", "{\"instructions\":\"\"}", 400, "instructions"},
    {"number for a chat", POST, "", "{\"instructions\":\"x\",\"chatId\":[7]}", 400, "chatId"},
    {"object for a user", POST, "", "{\"instructions\":\"x\",\"userId\":{}}", 400, "userId"},
    {"truth for an id", POST, "", "{\"instructions\":\"x\",\"messageId\":true}", 400, "messageId"},
    {"long chat", POST, "", "{\"instructions\":\"x\",\"chatId\":\"" LONG_512 "+\"}", 400, "chatId"},
    {"long id", POST, "", "{\"instructions\":\"x\",\"messageId\":\"" LONG_512 "+\"}", 400,
     "messageId"},
    {"not UTF-8", POST, "", "{\"instructions\":\"\xff\xfe\"}", 400, ""},
    {"half a character", POST, "", "{\"instructions\":\"\xe4\xbd\"}", 400, ""},
    {"overlong slash", POST, "", "{\"instructions\":\"\xc0\xaf\"}", 400, ""},
    {"half a surrogate pair", POST, "", "{\"instructions\":\"\\ud83d\"}", 400, ""},
    {"zero byte in a text", POST, "", "{\"instructions\":\"a\\u0000b\"}", 0, ""},
    {"foreign origin", POST, "Origin: http://evil.example\r\n", "{\"instructions\":\"x\"}", 403,
     ""},
    {"no origin", POST, "Origin: null\r\n", "{\"instructions\":\"x\"}", 403, ""},
    {"an upgrade", "GET / HTTP/1.1",
     "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
     NULL, 0, ""},
    {"an upgrade to HTTP/2", "GET / HTTP/1.1",
     "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
     "HTTP2-Settings: AAMAAABkAAQAAP__\r\n",
     NULL, 0, ""},
    {"expect", POST, "Expect: 100-continue\r\n", "{\"instructions\":7}", 400, ""},
    {"no version", "GET /health", "", NULL, 0, ""},
    {"odd version", "GET /health HTTP/9.9", "", NULL, 0, ""},
    {"no path", "GET  HTTP/1.1", "", NULL, 0, ""},
    {"absolute path", "GET http://evil.example/health HTTP/1.1", "", NULL, 0, ""},
};

static bool is_refused(const struct bad *bad)
{
    char head[8192];
    int fd = raw_connect(service.port);
    int len = snprintf(head, sizeof head,
                       "%s\r\nHost: 127.0.0.1:%d\r\n" TOKEN_LINE "Connection: close\r\n%s",
                       bad->line, service.port, bad->headers);
    if (bad->body != NULL)
        len += snprintf(head + len, sizeof head - (size_t)len, "Content-Length: %zu\r\n",
                        strlen(bad->body));
    len += snprintf(head + len, sizeof head - (size_t)len, "\r\n%s",
                    bad->body == NULL ? "" : bad->body);
    CHECK(len < (int)sizeof head);
    (void)raw_send(fd, head, (size_t)len);
    if (bad->status == 0)
        shutdown(fd, SHUT_WR); /* it may wait for more of what is no request */
    char *answer = raw_read(fd, NULL, 20000);
    int status = 0;
    /* "100 Continue" may stand before the answer */
    const char *last =
        strstr(answer, "HTTP/1.1 100") == answer ? strstr(answer + 5, "HTTP/1.") : answer;
    if (last != NULL && strncmp(last, "HTTP/1.", 7) == 0)
        status = (int)strtol(last + 8, NULL, 10);
    bool is_right = bad->status == 0 ? status == 0 || (status >= 200 && status < 500) ||
                                           status == 501 || status == 505
                                     : status == bad->status && strstr(answer, bad->part) != NULL;
    if (!is_right)
        fprintf(stderr, "%s: status %d, wanted %d \"%s\":\n%.600s\n", bad->name, status,
                bad->status, bad->part, answer);
    CHECK(strstr(answer, "root:") == NULL && strstr(answer, "\"provider\"") == NULL);
    free(answer);
    close(fd);
    return is_right;
}

CASE(bad_requests_are_refused)
{
    int wrong_count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(TABLE); i++) {
        wrong_count += !is_refused(&TABLE[i]);
        expect_well(TABLE[i].name);
    }
    CHECK_INT(0, wrong_count);
    expect_answers("bad requests");
}

/* -- bytes that are no table ------------------------------------------------------------------- */
static void send_bytes(const char *name, const void *bytes, size_t len, int status)
{
    int fd = raw_connect(service.port);
    (void)raw_send(fd, bytes, len); /* it may hang up in the middle */
    shutdown(fd, SHUT_WR);
    char *answer = raw_read(fd, NULL, 20000);
    int actual = strncmp(answer, "HTTP/1.", 7) == 0 ? (int)strtol(answer + 8, NULL, 10) : 0;
    if (status != 0 && actual != 0 && actual != status)
        fprintf(stderr, "%s: %d, wanted %d: %.300s\n", name, actual, status, answer);
    CHECK(status == 0 || actual == status ||
          actual == 0); /* a reset may swallow the answer, see big_bodies */
    free(answer);
    close(fd);
    expect_well(name);
}

CASE(bytes_that_are_not_http)
{
    static const unsigned char hello[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3,   3,
                                          0,    0, 0, 0, 0, 0, 0, 0, 0,    0xff};
    send_bytes("a TLS hello", hello, sizeof hello, 0);
    send_bytes("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33, 0);
    send_bytes("nothing", "", 0, 0);
    send_bytes("empty lines", "\r\n\r\n\r\n\r\n", 8, 0);
    send_bytes("zero bytes", "\0\0\0\0\0\0\0\0\r\n\r\n", 12, 0);
    send_bytes("a zero byte in the head", "GET /hea\0lth HTTP/1.1\r\nHost: x\r\n\r\n", 34, 0);
    send_bytes("no host", "GET /api/status HTTP/1.1\r\n\r\n", 28, 400);
    char noise[4096];
    unsigned state = 4711;
    for (int round = 0; round < 40; round++) {
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (char)((state = state * 1103515245u + 12345u) >> 16);
        send_bytes("noise", noise, sizeof noise, 0);
    }
    expect_answers("noise");
}

/* A request with `len` bytes of `fill` between `before` and `after`. Status checked when an answer
 * came. */
static void big_request(const char *name, const char *before, size_t len, const char *fill,
                        const char *after, int status, int other_status)
{
    size_t before_len = strlen(before), after_len = strlen(after), fill_len = strlen(fill);
    char head[256];
    char *body = malloc(before_len + len + after_len + 1);
    CHECK(body != NULL);
    memcpy(body, before, before_len);
    for (size_t i = 0; i < len; i++)
        body[before_len + i] = fill[i % fill_len];
    memcpy(body + before_len + len, after, after_len + 1);
    len += before_len + after_len;
    int head_len =
        snprintf(head, sizeof head,
                 POST "\r\nHost: 127.0.0.1:%d\r\n" TOKEN_LINE "Content-Length: %zu\r\n\r\n",
                 service.port, len);
    int fd = raw_connect(service.port);
    CHECK(raw_send(fd, head, (size_t)head_len));
    (void)raw_send(fd, body, len);
    char *answer = raw_read(fd, "\r\n\r\n", 30000);
    int actual = strncmp(answer, "HTTP/1.", 7) == 0 ? (int)strtol(answer + 8, NULL, 10) : 0;
    if (actual != status && actual != other_status)
        fprintf(stderr, "%s: %d, wanted %d: %.300s\n", name, actual, status, answer);
    CHECK(actual == status || actual == other_status);
    free(answer);
    free(body);
    close(fd);
    expect_well(name);
}

CASE(big_bodies_are_refused)
{
    /* Answered before the body was sent: the rest may meet a closed connection, so no answer is one
     * as well. */
    big_request("5 MB of text", "{\"instructions\":\"", 5u << 20, "x", "\"}", 413, 0);
    big_request("a text just too long", "{\"instructions\":\"", (1u << 20) + 1, "x", "\"}", 413,
                413);
    big_request("1 MiB, the longest text", "{\"chatId\":\"big\",\"instructions\":\"", 1u << 20, "x",
                "\"}", 200, 200);
    big_request("deep lists", "{\"instructions\":\"x\",\"more\":", 1000000, "[", "", 400, 400);
    big_request("deep objects", "", 900000, "{\"a\":", "", 400, 400);
    big_request("many members", "{\"instructions\":7", 900000, ",\"k\":1234", "", 400, 400);
    big_request("a million escapes", "{\"chatId\":\"big\",\"instructions\":\"", 600000, "\\u4e2d",
                "\"}", 200, 200);
    big_request("a long number", "{\"instructions\":", 1000000, "9", "}", 400, 400);
    expect_answers("big bodies");
}

CASE(big_heads_are_refused)
{
    static char head[1 << 20];
    size_t len = (size_t)snprintf(
        head, sizeof head, "GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: ", service.port);
    memset(head + len, 'a', sizeof head - len);
    send_bytes("a header that never ends", head, sizeof head, 431);
    memcpy(head + 12000, "\r\n\r\n", 4);
    send_bytes("a header of 12 KB", head, 12004, 431);
    for (size_t at = len; at + 5 < sizeof head; at += 5)
        memcpy(head + at, "\r\na:b", 5);
    send_bytes("very many headers", head, sizeof head, 431);
    memset(head, 'a', sizeof head);
    memcpy(head, "GET /", 5);
    send_bytes("a path that never ends", head, sizeof head, 0);
    expect_answers("big heads");
}

CASE(pipelined_garbage_hurts_its_sender_only)
{
    char request[512];
    int len = snprintf(request, sizeof request,
                       POST "\r\nHost: 127.0.0.1:%d\r\n" TOKEN_LINE
                            "Content-Length: 30\r\n\r\n{\"instructions\":\"pipelined 1\"}"
                            "\x01\x02garbage\r\n\r\n" POST "\r\n\r\n{{{{",
                       service.port);
    int fd = raw_connect(service.port);
    CHECK(raw_send(fd, request, (size_t)len));
    char *answer = raw_read(fd, "You said: pipelined 1", 20000);
    CHECK(strstr(answer, "You said: pipelined 1") != NULL);
    free(answer);
    answer = raw_read(fd, NULL, 15000); /* then an error or the end, soon */
    free(answer);
    close(fd);
    expect_well("pipelined garbage");
    /* several good ones at once are all answered, in order */
    char many[2048];
    len = 0;
    for (int i = 0; i < 5; i++)
        len +=
            snprintf(many + len, sizeof many - (size_t)len,
                     "GET /api/runs/99999%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" TOKEN_LINE "%s\r\n",
                     i, service.port, i == 4 ? "Connection: close\r\n" : "");
    fd = raw_connect(service.port);
    CHECK(raw_send(fd, many, (size_t)len));
    answer = raw_read(fd, NULL, 20000);
    int count = 0;
    for (const char *at = answer; (at = strstr(at, "HTTP/1.1 404")) != NULL; at++)
        count++;
    CHECK_INT(5, count);
    free(answer);
    close(fd);
    expect_answers("pipelined garbage");
}

/* -- slow and many ----------------------------------------------------------------------------- */
#define SLOW_COUNT 20
static int slow_fds[SLOW_COUNT];
static long long slow_begin_ms;

static void slow_clients_begin(void)
{
    char head[256];
    int len = snprintf(head, sizeof head,
                       POST "\r\nHost: 127.0.0.1:%d\r\n" TOKEN_LINE
                            "Content-Length: 100\r\n\r\n{\"instru",
                       service.port);
    slow_begin_ms = process_now_ms();
    for (int i = 0; i < SLOW_COUNT; i++) {
        slow_fds[i] = raw_connect(service.port);
        CHECK(raw_send(slow_fds[i], head, (size_t)(i % 2 == 0 ? len : 30)));
    }
}

CASE(slow_clients_are_given_up)
{
    for (int i = 0; i < SLOW_COUNT; i++) {
        char *answer = raw_read(slow_fds[i], NULL, 25000);
        if (strstr(answer, " 408 ") == NULL)
            fprintf(stderr, "slow client %d: %s\n", i, answer);
        CHECK(strstr(answer, " 408 ") != NULL);
        free(answer);
        close(slow_fds[i]);
    }
    CHECK(process_now_ms() - slow_begin_ms < 30000 * PATIENCE);
    expect_answers("slow clients");
}

CASE(many_connections_are_served)
{
    enum
    {
        COUNT = 300
    };
    static int fds[COUNT];
    for (int i = 0; i < COUNT; i++) {
        fds[i] = raw_connect(service.port);
        if (i % 3 == 0)
            CHECK(raw_send(fds[i], "POST /api/exec", 14));
    }
    expect_answers("300 connections");
    char request[128];
    int len = snprintf(request, sizeof request,
                       "GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", service.port);
    for (int i = 1; i < COUNT; i += 3)
        CHECK(raw_send(fds[i], request, (size_t)len));
    for (int i = 1; i < COUNT; i += 3) {
        char *answer = raw_read(fds[i], "\"ok\"", 20000);
        CHECK(strstr(answer, "\"ok\"") != NULL);
        free(answer);
    }
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    expect_well("300 connections closed");
}

/* Many questions with megabytes of answers, none of them read: its own connection stops, nothing
 * else. */
CASE(readers_that_do_not_read)
{
    enum
    {
        COUNT = 20,
        QUESTIONS = 200
    };
    char request[256];
    int fds[COUNT];
    int len = snprintf(request, sizeof request,
                       "GET /api/history?chatKey=api:chat:big&limit=50 HTTP/1.1\r\nHost: "
                       "127.0.0.1:%d\r\n" TOKEN_LINE "\r\n",
                       service.port);
    for (int i = 0; i < COUNT; i++) {
        fds[i] = raw_connect(service.port);
        for (int k = 0; k < QUESTIONS; k++)
            if (send(fds[i], request, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) != len)
                break;
    }
    expect_well("readers that do not read");
    expect_answers("readers that do not read");
    char *answer = raw_read(fds[0], "api:chat:big", 20000); /* it was only waiting */
    CHECK(strstr(answer, "HTTP/1.1 200") == answer);
    free(answer);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    expect_well("readers that left");
}

/* Gone in the middle of a body, of a wait, of a stream: the run of an accepted message goes on. */
CASE(callers_that_leave)
{
    char request[512];
    for (int i = 0; i < 30; i++) {
        char body[128];
        int body_len = snprintf(body, sizeof body,
                                "{\"chatId\":\"left-%d\",\"instructions\":\"wait 50 ms\"}", i);
        int len = snprintf(
            request, sizeof request,
            POST "\r\nHost: 127.0.0.1:%d\r\n" TOKEN_LINE "Content-Length: %d\r\n%s\r\n%s",
            service.port, body_len, i % 3 == 2 ? "Accept: text/event-stream\r\n" : "", body);
        int fd = raw_connect(service.port);
        CHECK(raw_send(fd, request, (size_t)(i % 3 == 0 ? len - 10 : len)));
        if (i % 3 == 2)
            free(raw_read(fd, "event: accepted", 20000));
        struct linger at_once = {1, 0};
        if (i % 2 == 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once,
                       sizeof at_once); /* a reset, not an end */
        close(fd);
    }
    for (long long until = process_now_ms() + 20000;; process_pause_ms(20)) {
        json_t *history = talk_get(service.port, "/api/history?chatKey=api:chat:left-29&limit=5");
        char *dump = json_dumps(history, 0);
        bool is_answered = strstr(dump, "You said: wait 50 ms") != NULL;
        free(dump);
        json_decref(history);
        if (is_answered)
            break;
        CHECK(process_now_ms() < until);
    }
    expect_answers("callers that left");
}

/* -- the terminal's socket --------------------------------------------------------------------- */
static int terminal_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/.ship/chat.sock", folder.path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static void expect_terminal(const char *after)
{
    static const char lines[] =
        "{\"type\":\"hello\",\"version\":1,\"chat\":\"well\",\"user\":\"jo\"}\n"
        "{\"type\":\"message\",\"text\":\"how are you\"}\n";
    int fd = terminal_connect();
    CHECK(raw_send(fd, lines, sizeof lines - 1));
    char *answer = raw_read(fd, "You said: how are you", 20000);
    if (strstr(answer, "You said: how are you") == NULL)
        fprintf(stderr, "terminal after %s: %s\n", after, answer);
    CHECK(strstr(answer, "You said: how are you") != NULL);
    free(answer);
    close(fd);
}

static void terminal_line(const char *name, const char *line, size_t len, bool is_greeted,
                          const char *part)
{
    static const char hello[] =
        "{\"type\":\"hello\",\"version\":1,\"chat\":\"bad\",\"user\":\"jo\"}\n";
    int fd = terminal_connect();
    if (is_greeted)
        CHECK(raw_send(fd, hello, sizeof hello - 1));
    (void)raw_send(fd, line, len);
    if (len > 0 && line[len - 1] != '\n')
        (void)raw_send(fd, "\n", 1);
    char *answer = raw_read(fd, part, part[0] == '\0' ? 0 : 20000);
    if (strstr(answer, part) == NULL)
        fprintf(stderr, "terminal, %s: %s\n", name, answer);
    CHECK(strstr(answer, part) != NULL);
    free(answer);
    close(fd);
    expect_terminal(name);
}
#define LINE(name, text, is_greeted, part) \
    terminal_line((name), (text), sizeof(text) - 1, (is_greeted), (part))
#define ERROR "\"type\":\"error\""

CASE(terminal_garbage_is_answered)
{
    LINE("binary", "\x00\x01\x02\xff\xfe\x80 binary\n", false, ERROR);
    LINE("no JSON", "hello there\n", false, ERROR);
    LINE("a list", "[1,2,3]\n", true, ERROR);
    LINE("a number", "42\n", true, ERROR);
    LINE("no type", "{}\n", true, "");
    LINE("type of a wrong type", "{\"type\":5}\n", true, "");
    LINE("not greeted", "{\"type\":\"message\",\"text\":\"x\"}\n", false, ERROR);
    LINE("wrong version", "{\"type\":\"hello\",\"version\":99}\n", false, "version");
    LINE("chat of a wrong type", "{\"type\":\"hello\",\"version\":1,\"chat\":[\"x\"]}\n", false,
         "");
    LINE("long chat", "{\"type\":\"hello\",\"version\":1,\"chat\":\"" LONG_512 "\"}\n", false,
         ERROR);
    LINE("text of a wrong type", "{\"type\":\"message\",\"text\":[\"x\"]}\n", true, ERROR);
    LINE("no text", "{\"type\":\"message\"}\n", true, ERROR);
    LINE("blank text", "{\"type\":\"message\",\"text\":\"  \"}\n", true, ERROR);
    LINE("id of a wrong type", "{\"type\":\"message\",\"id\":7,\"text\":\"fine\"}\n", true, "");
    LINE("long id", "{\"type\":\"message\",\"id\":\"" LONG_512 "\",\"text\":\"x\"}\n", true, ERROR);
    LINE("not UTF-8", "{\"type\":\"message\",\"text\":\"\xff\xfe\"}\n", true, ERROR);
    LINE("deep",
         "{\"type\":\"message\",\"text\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "[[[[[[[[[[[[[[\n",
         true, ERROR);
    static char line[5 << 20];
    memset(line, 'x', sizeof line);
    terminal_line("5 MB without an end", line, sizeof line, true, ERROR);
    int len = snprintf(line, sizeof line, "{\"type\":\"message\",\"text\":\"");
    line[len] = 'x';
    memcpy(line + (3 << 19), "\"}\n", 3);
    terminal_line("1.5 MB of text", line, (3 << 19) + 3, true, ERROR);
}

CASE(too_many_terminals_are_told)
{
    enum
    {
        COUNT = 40
    };
    int fds[COUNT];
    for (int i = 0; i < COUNT; i++)
        fds[i] = terminal_connect();
    char *answer = raw_read(fds[COUNT - 1], NULL, 10000);
    CHECK(strstr(answer, ERROR) != NULL);
    free(answer);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    for (long long until = process_now_ms() + 10000;; process_pause_ms(10)) {
        int fd = terminal_connect();
        char *hello = raw_read(fd, "\n", 10000);
        bool is_free = strstr(hello, "\"hello\"") != NULL;
        free(hello);
        close(fd);
        if (is_free)
            break;
        CHECK(process_now_ms() < until);
    }
    expect_terminal("too many terminals");
}

/* -- again and again --------------------------------------------------------------------------- */
static void everything_once(void)
{
    bad_requests_are_refused();
    bytes_that_are_not_http();
    big_bodies_are_refused();
    big_heads_are_refused();
    pipelined_garbage_hurts_its_sender_only();
    many_connections_are_served();
    readers_that_do_not_read();
    callers_that_leave();
    terminal_garbage_is_answered();
    too_many_terminals_are_told();
}

/* The thread sanitizer keeps as much again, and more, beside each byte that was touched. */
#ifdef __SANITIZE_THREAD__
#define LEFT_KIB_MAX (64 * 1024)
#else
#define LEFT_KIB_MAX (24 * 1024)
#endif

CASE(nothing_is_left_behind)
{
    for (int i = 0; i < 3; i++) /* then the pools of a sanitizer are as large as they get */
        everything_once();
    long before_kib = resident_kib();
    everything_once();
    everything_once();
    long after_kib = resident_kib();
    if (after_kib - before_kib > LEFT_KIB_MAX)
        fprintf(stderr, "resident: %ld KiB, then %ld KiB\n", before_kib, after_kib);
    CHECK(after_kib - before_kib <= LEFT_KIB_MAX);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    /* freed memory must not be kept back by a sanitizer: the memory is watched */
    const char *given = getenv("ASAN_OPTIONS");
    char options[512];
    snprintf(options, sizeof options, "%s%squarantine_size_mb=1", given == NULL ? "" : given,
             given == NULL ? "" : ":");
    CHECK(setenv("ASAN_OPTIONS", options, 1) == 0);
    folder_create(
        &folder,
        "{\"name\":\"tested\",\"llm\":{\"provider\":\"offline\"},\"api\":{\"token\":\"" TOKEN
        "\"}}");
    service_start(&service, binary, &folder);
    expect_answers("the start");
    int before = count_descriptors_at_rest();
    slow_clients_begin();
    check_run_cases(NULL);
    for (long long until = process_now_ms() + 60000; count_descriptors() > before;
         process_pause_ms(20))
        CHECK(process_now_ms() < until);
    CHECK_INT(0, service_stop(&service));
    char *log = folder_read(&folder, "service.log");
    CHECK(log != NULL && strstr(log, "Sanitizer") == NULL);
    free(log);
    folder_remove(&folder);
    return check_summary();
}
