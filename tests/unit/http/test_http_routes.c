/*
 * test_http_routes.c — the table of routes: what is served on which path with which method, and
 * what is said of everything else. Each row of the table is asked for.
 */
#include "harness.h"

#include "adapters/http/http_priv.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct harness *harness;

static const char *name_of(enum sma_http_method method)
{
    static const char *const names[] = {
        [SMA_HTTP_GET] = "GET",       [SMA_HTTP_HEAD] = "HEAD",       [SMA_HTTP_POST] = "POST",
        [SMA_HTTP_DELETE] = "DELETE", [SMA_HTTP_OPTIONS] = "OPTIONS", [SMA_HTTP_OTHER] = "PATCH"};
    return names[method];
}

/* "/api/runs/:id/trace" -> "/api/runs/17/trace" */
static void example_of(const char *pattern, char path[200])
{
    size_t at = 0;
    while (*pattern != '\0') {
        size_t plain = strcspn(pattern, ":*");
        at += (size_t)snprintf(path + at, 200 - at, "%.*s", (int)plain, pattern);
        pattern += plain;
        if (*pattern == '\0')
            break;
        pattern += strcspn(pattern, "/");
        at += (size_t)snprintf(path + at, 200 - at, "17");
    }
}

static bool is_served(const char *path, enum sma_http_method method)
{
    struct sma_str value;
    return http_route_find(method, sma_str(path), &value) != NULL;
}

static void check_refusal(const char *path, enum sma_http_method method,
                          const struct http_route_row *row)
{
    char line[240];
    bool is_question = method == SMA_HTTP_OPTIONS;
    snprintf(line, sizeof line, "%s %s", name_of(method), path);
    struct reply reply = request_once(harness, line, "", NULL);
    if (reply.status != (is_question ? 204 : 405))
        fprintf(stderr, "%s: %d\n", line, reply.status);
    CHECK_INT(is_question ? 204 : 405, reply.status);
    const char *allow = strstr(reply.head, "\r\nAllow: ");
    CHECK(allow != NULL && strstr(allow, name_of(row->method)) != NULL);
    bool is_openai = strncmp(path, "/v1/", 4) == 0; /* in its own words */
    CHECK(is_question || reply_has(&reply, is_openai ? "{\"error\":{\"message\":"
                                                     : "{\"success\":false,\"message\":"));
    CHECK(is_question == (reply.body_len == 0));
    reply_free(&reply);
}

/* No method beside the rows of the table leads to anything else than 405 with the list of those
 * that are served. */
static void every_row_is_served_and_nothing_else(void)
{
    size_t count;
    const struct http_route_row *rows = http_route_rows(&count);
    for (size_t i = 0; i < count; i++) {
        char path[200];
        example_of(rows[i].pattern, path);
        CHECK(is_served(path, rows[i].method));
        for (int method = SMA_HTTP_POST; method <= SMA_HTTP_OTHER; method++)
            if (!is_served(path, (enum sma_http_method)method))
                check_refusal(path, (enum sma_http_method)method, &rows[i]);
    }
}

static void allow_names_each_method(void)
{
    struct reply reply = request_once(harness, "PUT /api/runs/17", "", "{}");
    CHECK_INT(405, reply.status);
    CHECK(reply_has(&reply, "\r\nAllow: GET, HEAD, DELETE, OPTIONS\r\n"));
    CHECK(reply_has(&reply, "application/json") && reply.is_closing); /* its body is not read */
    reply_free(&reply);
    reply = request_once(harness, "GET /api/execute", "", NULL);
    CHECK_INT(405, reply.status);
    CHECK(reply_has(&reply, "\r\nAllow: POST, OPTIONS\r\n") && !reply.is_closing);
    reply_free(&reply);
}

static void unknown_paths_of_the_api_are_404_as_json(void)
{
    static const char *const lines[] = {
        "GET /api/nothing",
        "GET /api/runs/",
        "GET /api/runs//trace",
        "GET /api/runs/17/tracee",
        "GET /api/",
        "POST /api/approvals//approve",
        "GET /api/runs/17/trace/",
        "DELETE /api/runs/a/b",
        "POST /api/grants/a%b/revoke",
        "POST /api/pairings/x/love",
        "OPTIONS /api/nothing",
        "GET /api/runs/999x",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(lines); i++) {
        struct reply reply = request_once(harness, lines[i], "", NULL);
        if (reply.status != 404)
            fprintf(stderr, "%s: %d\n", lines[i], reply.status);
        CHECK_INT(404, reply.status);
        CHECK(reply_has(&reply, "application/json") && reply_has(&reply, "{\"success\":false,"));
        reply_free(&reply);
    }
}

static void check_asked(const char *line, const char *said)
{
    struct reply reply = request_once(harness, line, "", NULL);
    if (reply.status != 200 || !reply_has(&reply, said))
        fprintf(stderr, "%s: %d %s\n", line, reply.status, reply.body);
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, said));
    reply_free(&reply);
}

static void lists_of_runs_and_chats_can_be_narrowed(void)
{
    static const char *const wrong[] = {
        "GET /api/runs?status=lost", "GET /api/runs?limit=0",       "GET /api/runs?limit=201",
        "GET /api/runs?before=x",    "GET /api/runs?before=0",      "GET /api/runs?chatKey=",
        "GET /api/runs?status=",     "GET /api/chats?limit=100000", "GET /api/runs?chatKey=%ff",
    };
    check_asked("GET /api/runs", "{\"runs\":[],\"next\":\"50 0 0 \"}");
    check_asked("GET /api/runs?status=parked&chatKey=telegram:chat:1&limit=7&before=99",
                "\"7 3 99 telegram:chat:1\"");
    check_asked("GET /api/runs?status=open", "\"50 1 0 \"");
    check_asked("GET /api/chats?before=12&limit=3", "{\"chats\":[],\"next\":\"3 0 12 \"}");
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_INT(400, request_status(harness, wrong[i], "", NULL));
}

static void a_run_is_cancelled_by_its_number(void)
{
    struct reply reply = request_once(harness, "DELETE /api/runs/17", "", NULL);
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "{\"success\":true,\"message\":\"3 17 0 "));
    reply_free(&reply);
    reply = request_once(harness, "DELETE /api/runs/404", "", NULL);
    CHECK_INT(404, reply.status);
    CHECK(reply_has(&reply, "\"success\":false"));
    reply_free(&reply);
    CHECK_INT(400, request_status(harness, "DELETE /api/runs/17", "", "{\"reason\":\"x\"}"));
}

static void say(const char *path, const char *headers, const char *body, int status,
                const char *part)
{
    char line[200];
    snprintf(line, sizeof line, "POST %s", path);
    struct reply reply = request_once(harness, line, headers, body);
    if (reply.status != status || !reply_has(&reply, part))
        fprintf(stderr, "%s %s: %d %s\n", path, body, reply.status, reply.body);
    CHECK_INT(status, reply.status);
    CHECK(reply_has(&reply, part));
    reply_free(&reply);
}

static void a_message_to_a_chat_is_taken(void)
{
#define TO "/api/chats/telegram%3Achat%3A-100+1/messages"
    char parts[2048], text[401];
    say(TO, "", "{\"text\":\"backup is done\",\"messageId\":\"n1\"}", 202,
        "\"messageId\":\"n1\",\"outboxId\":");
    say("/api/chats/telegram:chat:-100%2B1/messages", "Idempotency-Key: n1\r\n",
        "{\"text\":\"backup is done\"}", 202, "\"status\":\"duplicate\""); /* the same key */
    harness_newest(harness, parts, text);
    CHECK_TEXT("backup is done", text);
    say(TO, "Idempotency-Key: \"n1\"\r\n", "{\"text\":\"backup is done\"}", 202, "duplicate");
    say(TO, "Idempotency-Key: \"n1\"\r\n", "{\"text\":\"other\"}", 422, "");
    say(TO, "", "{\"text\":\"other\",\"messageId\":\"n1\"}", 409, "");
    say(TO, "", "{\"text\":\"refuse\"}", 503, "told by the fake");
    say("/api/chats/nowhere/messages", "", "{\"text\":\"x\"}", 404, "told by the fake");
    say("/api/chats/%ff/messages", "", "{\"text\":\"x\"}", 404, "no such chat");
    say("/api/chats/a%00b/messages", "", "{\"text\":\"x\"}", 404, "no such chat");
    say("/api/chats/%zz/messages", "", "{\"text\":\"x\"}", 404, "no such chat");
    static const char *const wrong[] = {"",
                                        "{}",
                                        "{\"text\":\" \"}",
                                        "{\"text\":7}",
                                        "[\"x\"]",
                                        "{\"text\":null}",
                                        "{\"Text\":\"x\"}",
                                        "{\"text\":\"x\",\"chatId\":\"y\"}"};
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        say(TO, "", wrong[i], 400, "\"success\":false");
    check_asked("GET /api/deliveries/17", "\"state\":\"sent\"");
    CHECK_INT(404, request_status(harness, "GET /api/deliveries/18", "", NULL));
    harness_stop(harness);
    harness =
        harness_start(&(struct harness_options){.permissions = "{\"send_elsewhere\":\"refuse\"}"});
    say(TO, "", "{\"text\":\"x\"}", 403, "send_elsewhere");
    CHECK_INT(0, harness_accepted_count(harness));
}

static void write_file(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", harness_dir(harness), name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void texts_of_the_project_are_shown_and_nothing_else(void)
{
    char link[300];
    write_file("notes.md", "# Notes\nä \"quoted\"\n");
    write_file(".env", "KEY=secret-of-the-project");
    write_file("binary", "\xff\xfe");
    snprintf(link, sizeof link, "%s/link", harness_dir(harness));
    CHECK(symlink("/etc/passwd", link) == 0);
    check_asked("GET /api/files/notes.md",
                "{\"success\":true,\"content\":\"# Notes\\nä \\\"quoted\\\"\\n\"}");
    check_asked("GET /api/files/%6eotes.md", "# Notes");
    static const char *const hidden[] = {
        ".env",
        ".ship/api-token",
        ".ship/state.db",
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "link",
        "binary",
        "notes.md%00",
        ".ship/../.env",
        "nothing.md",
        "%zz",
        ".",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(hidden); i++) {
        char line[200];
        snprintf(line, sizeof line, "GET /api/files/%s", hidden[i]);
        struct reply reply = request_once(harness, line, "", NULL);
        if (reply.status != 403 && reply.status != 404)
            fprintf(stderr, "%s: %d\n", line, reply.status);
        CHECK(reply.status == 403 || reply.status == 404);
        CHECK(!reply_has(&reply, "secret-of") && !reply_has(&reply, "root:"));
        reply_free(&reply);
    }
    char *large = calloc(1, 1024 * 1024 + 2);
    CHECK(large != NULL);
    memset(large, 'x', 1024 * 1024 + 1);
    write_file("large.txt", large);
    CHECK_INT(413, request_status(harness, "GET /api/files/large.txt", "", NULL));
    free(large);
    static const char *const made[] = {"notes.md", ".env", "binary", "link", "large.txt"};
    for (size_t i = 0; i < SMA_COUNT_OF(made); i++) {
        snprintf(link, sizeof link, "%s/%s", harness_dir(harness), made[i]);
        CHECK(unlink(link) == 0);
    }
}

static void make_folder(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", harness_dir(harness), name);
    CHECK(mkdir(path, 0700) == 0);
}

static void check_names(const char *query, const char *expected)
{
    char line[400];
    snprintf(line, sizeof line, "GET /api/files%s", query);
    struct reply reply = request_once(harness, line, "", NULL);
    CHECK_INT(200, reply.status);
    CHECK_TEXT(expected, reply.body);
    reply_free(&reply);
}
#define FILES(list) "{\"success\":true,\"files\":[" list "]}"

static void make_tree(void)
{
    char link[300];
    static const char *const folders[] = {"src", "src/deep", "build", ".ship/secret"};
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++)
        make_folder(folders[i]);
    static const char *const files[] = {"b.md",        "a.md", "src/z.c",    "src/deep/y.c",
                                        "build/out.c", ".env", ".env.local", ".ship/secret/key",
                                        "src/.env"};
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++)
        write_file(files[i], "x");
    snprintf(link, sizeof link, "%s/src/link.c", harness_dir(harness));
    CHECK(symlink("/etc/passwd", link) == 0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    return place->level == 0 ? 0 : remove(path);
}

/* All that the test has put into the project, before the harness takes away its own. */
static void clear_project(void)
{
    static const char *const names[] = {"src",  "build", "many", ".ship/secret",
                                        "b.md", "a.md",  ".env", ".env.local"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", harness_dir(harness), names[i]);
        (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        (void)remove(path); /* not every test makes each of them */
    }
}

static void names_of_the_project_are_shown_and_no_secret_is(void)
{
    make_tree();
    check_names("?pattern=*.md", FILES("\"a.md\",\"b.md\""));
    check_names("?pattern=src/**", FILES("\"src/deep/y.c\",\"src/z.c\""));
    check_names("?pattern=**/*.c", FILES("\"src/deep/y.c\",\"src/z.c\""));
    check_names("?pattern=%73rc%2F*.c", FILES("\"src/z.c\""));
    check_names("?pattern=build/*", FILES("\"build/out.c\""));
    check_names("?pattern=nowhere/*", FILES(""));
    check_names("?pattern=.ship/**", FILES(""));
    check_names("?pattern=.ship/secret/key", FILES(""));
    check_names("?pattern=**/.env*", FILES(""));
    check_names("?pattern=", FILES("\"a.md\",\"b.md\",\"src/deep/y.c\",\"src/z.c\""));
    check_names("", FILES("\"a.md\",\"b.md\",\"src/deep/y.c\",\"src/z.c\""));
    static const char *const wrong[] = {
        "?patern=*",     "?pattern=*&limit=1",   "?limit=1",          "?pattern",
        "?pattern=../*", "?pattern=/etc/*",      "?pattern=a%2F../*", "?pattern=%00",
        "?pattern=%ff",  "?pattern=*&pattern=*", "?pattern=%zz"};
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        char line[100];
        snprintf(line, sizeof line, "GET /api/files%s", wrong[i]);
        CHECK_INT(400, request_status(harness, line, "", NULL));
    }
    for (int len = 200; len <= 201; len++) {
        char line[300] = "GET /api/files?pattern=";
        size_t at = strlen(line);
        memset(line + at, 'x', (size_t)len);
        line[at + (size_t)len] = '\0';
        CHECK_INT(len == 200 ? 200 : 400, request_status(harness, line, "", NULL));
    }
    clear_project();
}

static void names_are_as_many_as_may_be_and_allowed(void)
{
    make_folder("many");
    for (int i = 0; i < 1001; i++) {
        char name[40];
        snprintf(name, sizeof name, "many/%04d", i);
        write_file(name, "");
        if (i < 999)
            continue;
        struct reply reply = request_once(harness, "GET /api/files?pattern=many/*", "", NULL);
        CHECK_INT(200, reply.status);
        CHECK((strstr(reply.body, ",\"truncated\":true}") != NULL) == (i == 1000));
        int count = 0; /* which of them, the file system says */
        for (const char *at = reply.body; (at = strstr(at, "\"many/")) != NULL; at++)
            count++;
        CHECK_INT(1000, count);
        reply_free(&reply);
    }
    clear_project();
    harness_stop(harness);
    harness = harness_start(&(struct harness_options){.permissions = "{\"read_repo\":false}"});
    CHECK_INT(400, request_status(harness, "GET /api/files?pattern=*", "", NULL));
    harness_stop(harness);
    harness = harness_start(
        &(struct harness_options){.permissions = "{\"read_repo\":{\"paths\":[\"src/**\"]}}"});
    make_tree();
    check_names("?pattern=**/*", FILES("\"src/deep/y.c\",\"src/z.c\""));
    check_names("?pattern=*.md", FILES(""));
    clear_project();
}

static void pages_of_the_old_program_find_what_they_ask_for(void)
{
    struct reply reply = request_once(harness, "POST /webhook/github", "", "{\"a\":1}");
    CHECK_INT(200, reply.status);
    CHECK_TEXT("{\"received\":true}", reply.body);
    reply_free(&reply);
    check_asked("GET /api/status", "\"tasksCount\":0,\"pendingApprovalsCount\":3,");
}

int main(void)
{
    harness = harness_start(&(struct harness_options){0});
    every_row_is_served_and_nothing_else();
    allow_names_each_method();
    unknown_paths_of_the_api_are_404_as_json();
    lists_of_runs_and_chats_can_be_narrowed();
    a_run_is_cancelled_by_its_number();
    a_message_to_a_chat_is_taken();
    texts_of_the_project_are_shown_and_nothing_else();
    names_of_the_project_are_shown_and_no_secret_is();
    names_are_as_many_as_may_be_and_allowed();
    pages_of_the_old_program_find_what_they_ask_for();
    harness_stop(harness);
    return 0;
}
