/*
 * Aim: the page's files are served as they are and with a policy that lets nothing else run; a link
 * signs one page in, once and soon; neither half of a session is of use alone; a session ends when
 * it is signed out, when the token changes and when it is old; it opens the API and nothing else.
 * Method: raw sockets; the clock is moved where time decides.
 */
#include "harness.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN "correct-horse-battery-staple"
#define HEADER_TOKEN "X-Api-Token: " TOKEN "\r\n"

static _Atomic uint64_t late_ns;
static uint64_t late_now(void *self)
{
    return sma_sys_real()->now_ns(self) + atomic_load(&late_ns);
}

struct session
{
    char cookie[128], key[65], both[300];
};

static struct harness *start(void)
{
    static struct sma_sys sys;
    sys = *sma_sys_real();
    sys.now_ns = late_now;
    atomic_store(&late_ns, 0);
    return harness_start(&(struct harness_options){
        .api_token = TOKEN, .cors = "http://friend.example", .sys = &sys});
}

static void take(const char *text, const char *before, const char *end, char *room, size_t size)
{
    const char *at = strstr(text, before);
    CHECK(at != NULL);
    at += strlen(before);
    size_t len = strcspn(at, end);
    CHECK(len > 0 && len < size);
    memcpy(room, at, len);
    room[len] = '\0';
}

static void ask_code(struct harness *harness, char code[64])
{
    struct reply reply = request_once(harness, "POST /sign-in/codes", HEADER_TOKEN, "{}");
    CHECK_INT(200, reply.status);
    take(reply.body, "\"code\":\"", "\"", code, 64);
    reply_free(&reply);
}

static int sign_in(struct harness *harness, const char *word, const char *value,
                   const char *headers, struct session *session)
{
    char body[200];
    snprintf(body, sizeof body, "{\"%s\":\"%s\"}", word, value);
    struct reply reply = request_once(harness, "POST /sign-in", headers, body);
    int status = reply.status;
    if (status == 200) {
        take(reply.head, "Set-Cookie: ", ";", session->cookie, sizeof session->cookie);
        take(reply.body, "\"key\":\"", "\"", session->key, sizeof session->key);
        snprintf(session->both, sizeof session->both, "Cookie: a=b; %s; c=d\r\nX-Page-Key: %s\r\n",
                 session->cookie, session->key);
        CHECK(reply_has(&reply, "; Path=/api/; "));
        CHECK(reply_has(&reply, "; HttpOnly; SameSite=Strict"));
        CHECK(reply_has(&reply, "; Secure") == (strstr(headers, "https://") != NULL));
    } else {
        CHECK(!reply_has(&reply, "Set-Cookie"));
    }
    reply_free(&reply);
    return status;
}

static struct session open_session(struct harness *harness)
{
    char code[64];
    struct session session;
    ask_code(harness, code);
    CHECK_INT(200, sign_in(harness, "code", code, "", &session));
    return session;
}

static int ask(struct harness *harness, const char *line, const char *headers)
{
    return request_status(harness, line, headers, line[0] == 'P' ? "{}" : NULL);
}

CASE(a_link_opens_one_page_once_and_soon)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    struct session session;
    char codes[4][64];
    ask_code(harness, codes[0]);
    CHECK_INT(401, sign_in(harness, "code", "0123456789abcdef0123456789abcdef", "", &session));
    CHECK_INT(401, sign_in(harness, "code", "short", "", &session));
    CHECK_INT(200, sign_in(harness, "code", codes[0], "", &session));
    CHECK_INT(200, ask(harness, "GET /api/status", session.both));
    CHECK_INT(401, sign_in(harness, "code", codes[0], "", &session));
    for (size_t i = 0; i < 4; i++)
        ask_code(harness, codes[i]);
    CHECK_INT(401, sign_in(harness, "code", codes[0], "", &session)); /* three wait at once */
    CHECK_INT(200, sign_in(harness, "code", codes[1], "", &session));
    atomic_store(&late_ns, 119 * SMA_NS_PER_S);
    CHECK_INT(200, sign_in(harness, "code", codes[2], "", &session));
    atomic_store(&late_ns, 121 * SMA_NS_PER_S);
    CHECK_INT(401, sign_in(harness, "code", codes[3], "", &session));
    /* programs with the token are given codes; pages are not, signed in or not */
    CHECK_INT(401, ask(harness, "POST /sign-in/codes", ""));
    CHECK_INT(401, ask(harness, "POST /sign-in/codes", session.both));
    char own[200];
    snprintf(own, sizeof own, HEADER_TOKEN "Origin: http://127.0.0.1:%d\r\n",
             harness_port(harness));
    CHECK_INT(403, ask(harness, "POST /sign-in/codes", own));
}

CASE(neither_half_is_of_use_alone)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    struct session one = open_session(harness), two = open_session(harness);
    char lines[8][400];
    snprintf(lines[0], 400, "Cookie: %s\r\n", one.cookie);
    snprintf(lines[1], 400, "X-Page-Key: %s\r\n", one.key);
    snprintf(lines[2], 400, "Cookie: %s\r\nX-Page-Key: %s\r\n", one.cookie, two.key);
    snprintf(lines[3], 400, "Cookie: %s\r\nX-Page-Key: %.63s\r\n", one.cookie, one.key);
    snprintf(lines[4], 400, "Cookie: sma-1=%s\r\nX-Page-Key: %s\r\n", strchr(one.cookie, '=') + 1,
             one.key); /* another port's */
    snprintf(lines[5], 400, "Cookie: x%s\r\nX-Page-Key: %s\r\n", one.cookie, one.key);
    snprintf(lines[6], 400, "Origin: http://friend.example\r\n%s", one.both);
    snprintf(lines[7], 400, "Cookie: %s\r\nX-Page-Key: \r\n", one.cookie);
    for (size_t i = 0; i < SMA_COUNT_OF(lines); i++) {
        if (ask(harness, "GET /api/status", lines[i]) != 401)
            fprintf(stderr, "%zu: %s\n", i, lines[i]);
        CHECK_INT(401, ask(harness, "GET /api/status", lines[i]));
        CHECK_INT(401, ask(harness, "POST /api/execute", lines[i]));
    }
    CHECK_INT(0, harness_accepted_count(harness));
    CHECK_INT(200, ask(harness, "GET /api/status", one.both));
    CHECK_INT(200, ask(harness, "GET /api/status", two.both));
    char foreign[400];
    snprintf(foreign, sizeof foreign, "Origin: http://evil.example\r\n%s", one.both);
    CHECK_INT(403, ask(harness, "GET /api/status", foreign));
}

CASE(a_session_opens_the_api_and_nothing_else)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    struct session session = open_session(harness);
    static const char *const closed[] = {
        "GET /metrics", "GET /openapi.json",    "GET /v1/models", "POST /v1/chat/completions",
        "POST /mcp",    "POST /webhook/github", "GET /ws",        "GET /nothing",
        "GET /api",     "POST /sign-in/codes"};
    for (size_t i = 0; i < SMA_COUNT_OF(closed); i++)
        CHECK_INT(401, ask(harness, closed[i], session.both));
    char from[200], parts[2048], text[401];
    CHECK_INT(200, request_status(harness, "POST /api/execute", session.both,
                                  "{\"instructions\":\"hello\",\"chatId\":\"r1\","
                                  "\"userId\":\"somebody\"}"));
    harness_newest(harness, parts, text);
    harness_newest_from(harness, from);
    CHECK_TEXT("hello", text);
    CHECK_TEXT("web web:room:r1 owner", from);
    CHECK_INT(200, request_status(harness, "POST /api/execute", HEADER_TOKEN,
                                  "{\"instructions\":\"hello\",\"chatId\":\"r1\"}"));
    harness_newest_from(harness, from);
    CHECK_TEXT("api api:chat:r1 api", from);
}

CASE(wrong_tokens_are_few_and_lock_nobody_out)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    struct session session;
    for (int i = 0; i < 5; i++)
        CHECK_INT(401, sign_in(harness, "token", "a-wrong-token-of-somebody", "", &session));
    CHECK_INT(429, sign_in(harness, "token", "a-wrong-token-of-somebody", "", &session));
    CHECK_INT(429, sign_in(harness, "token", TOKEN, "", &session)); /* who guesses learns nothing */
    session = open_session(harness);                                /* the owner has a link */
    CHECK_INT(200, ask(harness, "GET /api/status", session.both));
    atomic_store(&late_ns, 61 * SMA_NS_PER_S);
    char https[100];
    snprintf(https, sizeof https, "Origin: https://127.0.0.1:%d\r\n", harness_port(harness));
    CHECK_INT(200, sign_in(harness, "token", TOKEN, https, &session));
    static const char *const bodies[] = {"",
                                         "{}",
                                         "[]",
                                         "{\"code\":1}",
                                         "{\"code\":\"\"}",
                                         "{\"token\":\"" TOKEN "\",\"code\":\"a\"}"};
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++)
        CHECK_INT(400, request_status(harness, "POST /sign-in", "", bodies[i]));
    char large[8300];
    memset(large, ' ', sizeof large);
    large[8193] = '\0';
    CHECK_INT(413, request_status(harness, "POST /sign-in", "", large));
    large[8192] = '\0';
    CHECK_INT(400, request_status(harness, "POST /sign-in", "", large));
    CHECK_INT(403, request_status(harness, "POST /sign-in", "Origin: http://friend.example\r\n",
                                  "{\"token\":\"" TOKEN "\"}"));
}

/* Signing out everywhere also ends what the sessions have opened: tickets, and pages of /ws. */
CASE(signing_out_everywhere_leaves_nothing_open)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    struct session session = open_session(harness);
    char url[200], text[600];
    struct reply reply =
        request_once(harness, "POST /api/tickets", session.both, "{\"path\":\"/ws\"}");
    CHECK_INT(200, reply.status);
    take(reply.body, "\"url\":\"", "\"", url, sizeof url);
    reply_free(&reply);
    int fd = client_connect(harness);
    snprintf(text, sizeof text,
             "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
             "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
             "Sec-WebSocket-Version: 13\r\n\r\n",
             url, harness_port(harness));
    client_text(fd, text);
    free(client_read_until(fd, "\"store\":"));
    CHECK_INT(200,
              request_status(harness, "POST /api/sign-out", session.both, "{\"everywhere\":true}"));
    free(client_read_until(fd, "\x88\x02\x03\xf0")); /* 1008 */
    CHECK(client_is_closed(fd));
    close(fd);
    snprintf(text, sizeof text, "GET %s", url);
    CHECK_INT(401, request_status(harness, text, "", NULL));
}

CASE(a_session_ends)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    struct session one = open_session(harness), two = open_session(harness),
                   three = open_session(harness);
    CHECK_INT(200, ask(harness, "POST /api/sign-out", one.both));
    CHECK_INT(401, ask(harness, "GET /api/status", one.both));
    CHECK_INT(200, ask(harness, "GET /api/status", two.both));
    CHECK_INT(200,
              request_status(harness, "POST /api/sign-out", three.both, "{\"everywhere\":true}"));
    CHECK_INT(401, ask(harness, "GET /api/status", two.both));
    CHECK_INT(401, ask(harness, "GET /api/status", three.both));
    one = open_session(harness);
    harness_reload(harness, "another-token-for-the-same");
    for (int tries = 0; ask(harness, "GET /api/status", one.both) != 401 && tries < 500; tries++)
        wait_ms(2);
    CHECK_INT(401, ask(harness, "GET /api/status", one.both));
}

/* Thirty-two browsers; what is kept of them is of no use to who reads it. */
CASE(sessions_are_few_and_kept_as_digests)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    struct session first = open_session(harness), second = open_session(harness), last = first;
    for (int i = 2; i < 33; i++)
        last = open_session(harness);
    CHECK_INT(401, ask(harness, "GET /api/status", first.both));
    CHECK_INT(200, ask(harness, "GET /api/status", second.both));
    CHECK_INT(200, ask(harness, "GET /api/status", last.both));
    char path[128], text[8192];
    snprintf(path, sizeof path, "%s/.ship/page-sessions", harness_dir(harness));
    struct stat facts;
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    CHECK(strlen(text) > 32 * 65);
    CHECK(strstr(text, last.key) == NULL && strstr(text, strchr(last.cookie, '=') + 1) == NULL);
    CHECK(unlink(path) == 0);
}

/* -- the files --------------------------------------------------------------------------------- */
#define PACKED "Accept-Encoding: gzip, br\r\n"

static void check_page(const struct reply *reply)
{
    static const char *const all[] = {
        "\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; ",
        "connect-src 'self'",
        "base-uri 'none'; frame-ancestors 'none'",
        "require-trusted-types-for 'script'; trusted-types 'none'\r\n",
        "\r\nX-Content-Type-Options: nosniff\r\n",
        "\r\nReferrer-Policy: no-referrer\r\n",
        "\r\nX-Frame-Options: DENY\r\n",
        "\r\nCross-Origin-Opener-Policy: same-origin\r\n",
        "\r\nContent-Encoding: gzip\r\n"};
    CHECK_INT(200, reply->status);
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++)
        CHECK(strstr(reply->head, all[i]) != NULL);
    CHECK(strstr(reply->head, "unsafe") == NULL && strstr(reply->head, "Set-Cookie") == NULL);
    CHECK(memcmp(reply->body, "\x1f\x8b", 2) == 0);
}

CASE(the_page_is_served_to_everybody_and_runs_nothing_else)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    static const char *const pages[] = {"GET /ui/", "GET /ui/now", "GET /ui/chat/web:room:1",
                                        "GET /ui/runs/17"};
    char etag[64], known[100];
    for (size_t i = 0; i < SMA_COUNT_OF(pages); i++) {
        struct reply reply = request_once(harness, pages[i], PACKED, NULL);
        check_page(&reply);
        CHECK(reply_has(&reply, "\r\nContent-Type: text/html; charset=utf-8\r\n"));
        CHECK(reply_has(&reply, "\r\nCache-Control: no-cache\r\n"));
        take(reply.head, "ETag: ", "\r", etag, sizeof etag);
        reply_free(&reply);
    }
    snprintf(known, sizeof known, PACKED "If-None-Match: %s\r\n", etag);
    struct reply reply = request_once(harness, "HEAD /ui/", known, NULL);
    CHECK_INT(304, reply.status);
    CHECK(strstr(reply.head, "Content-Length") == NULL);
    reply_free(&reply);
    reply = request_once(harness, "GET /ui/icon.svg", PACKED, NULL);
    check_page(&reply);
    CHECK(reply_has(&reply, "\r\nContent-Type: image/svg+xml; charset=utf-8\r\n"));
    CHECK(reply_has(&reply, "\r\nCache-Control: public, max-age=31536000, immutable\r\n"));
    reply_free(&reply);
    static const char *const unknown[] = {
        "GET /ui/nothing", "GET /ui/index.html",         "GET /ui//x",
        "GET /ui/SUMS",    "GET /ui/../.ship/api-token", "GET /ui/app.js"};
    for (size_t i = 0; i < SMA_COUNT_OF(unknown); i++)
        CHECK_INT(404, request_status(harness, unknown[i], PACKED, NULL));
    CHECK_INT(406, request_status(harness, "GET /ui/", "", NULL));
    CHECK_INT(406, request_status(harness, "GET /ui/", "Accept-Encoding: br\r\n", NULL));
    CHECK_INT(403, request_status(harness, "GET /ui/", "Host: evil.example\r\n" PACKED, NULL));
}

/* A browser finds it at the root, programs what they always found, and a page of the project's own
 * stays where it is. */
CASE(the_root_leads_browsers_to_the_page)
{
    SMA_AUTO(harness_stopp) struct harness *harness = start();
    static const char browser[] = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n";
    struct reply reply = request_once(harness, "GET /", browser, NULL);
    CHECK_INT(302, reply.status);
    CHECK(reply_has(&reply, "\r\nLocation: /ui/\r\n"));
    reply_free(&reply);
    CHECK_INT(302, request_status(harness, "GET /ui", "", NULL));
    reply = request_once(harness, "GET /", "Accept: */*\r\n", NULL);
    CHECK_TEXT("ShipMyAgent Agent Server", reply.body);
    reply_free(&reply);
    char path[128], folder[128];
    snprintf(folder, sizeof folder, "%s/public", harness_dir(harness));
    snprintf(path, sizeof path, "%s/index.html", folder);
    CHECK(mkdir(folder, 0700) == 0);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("own", file) >= 0 && fclose(file) == 0);
    reply = request_once(harness, "GET /", browser, NULL);
    CHECK_TEXT("own", reply.body);
    CHECK(reply_has(&reply, "Content-Security-Policy: sandbox allow-scripts"));
    reply_free(&reply);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

int main(void)
{
    check_run_cases(NULL);
    return check_summary();
}
