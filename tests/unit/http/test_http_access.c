/* test_http_access.c — who gets in: token, Host, Origin; what listening says when it cannot. */
#include "harness.h"

#include "sma/health.h"
#include "sma/log_ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TOKEN "correct-horse-battery-staple"

static int ask(struct harness *harness, const char *headers)
{
    return request_status(harness, "GET /api/status", headers, NULL);
}

CASE(configured_token_is_required)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness = harness_start(&(struct harness_options){.api_token = TOKEN});
    static const char *const wrong[] = {
        "",
        "Authorization: \r\n",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Bearer wrong\r\n",
        "Authorization: Bearer correct-horse-battery-stapl\r\n",
        "Authorization: Bearer correct-horse-battery-staplee\r\n",
        "Authorization: Bearer Correct-horse-battery-staple\r\n",
        "Authorization: Basic " TOKEN "\r\n",
        "Authorization: " TOKEN "\r\n",
        "X-Api-Token: \r\n",
        "X-Api-Token: wrong\r\n",
        "Authorization: Bearer wrong\r\nX-Api-Token: " TOKEN "\r\n",
        "Cookie: token=" TOKEN "\r\n",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        struct reply reply = request_once(harness, "GET /api/status", wrong[i], NULL);
        if (reply.status != 401)
            fprintf(stderr, "case %zu: %d\n", i, reply.status);
        CHECK_INT(401, reply.status);
        CHECK(reply_has(&reply, "WWW-Authenticate: Bearer") && !reply_has(&reply, "horse"));
        reply_free(&reply);
    }
    CHECK_INT(401, request_status(harness, "GET /api/status?token=" TOKEN, "", NULL));
    CHECK_INT(401, request_status(harness, "GET /nothing", "",
                                  NULL)); /* paths are not told to strangers */
    CHECK_INT(401, request_status(harness, "GET /metrics", "", NULL));
    CHECK_INT(401, request_status(harness, "POST /api/execute", "", "{\"instructions\":\"x\"}"));
    CHECK_INT(0, harness_accepted_count(harness));
    CHECK_INT(200, ask(harness, "Authorization: Bearer " TOKEN "\r\n"));
    CHECK_INT(200, ask(harness, "authorization: bearer   " TOKEN " \r\n"));
    CHECK_INT(200, ask(harness, "X-Api-Token: " TOKEN "\r\n"));
    CHECK_INT(200, request_status(harness, "GET /health", "", NULL));
    CHECK_INT(400,
              ask(harness, "Authorization: Bearer " TOKEN "\r\nAuthorization: Bearer wrong\r\n"));
}

CASE(rotated_token_counts_at_once)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness = harness_start(&(struct harness_options){.api_token = TOKEN});
    CHECK_INT(200, ask(harness, "X-Api-Token: " TOKEN "\r\n"));
    harness_reload(harness, "another-token-for-the-same");
    for (int tries = 0;
         ask(harness, "X-Api-Token: another-token-for-the-same\r\n") != 200 && tries < 500; tries++)
        wait_ms(2);
    CHECK_INT(200, ask(harness, "X-Api-Token: another-token-for-the-same\r\n"));
    CHECK_INT(401, ask(harness, "X-Api-Token: " TOKEN "\r\n"));
}

CASE(the_token_is_made_at_the_first_start)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness =
        harness_start(&(struct harness_options){.host = "0.0.0.0", .api_token = ""});
    char path[128], token[100] = "", header[200];
    snprintf(path, sizeof path, "%s/.ship/api-token", harness_dir(harness));
    struct stat facts;
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600 && facts.st_size == 64);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fgets(token, sizeof token, file) != NULL);
    fclose(file);
    CHECK_INT(401, ask(harness, ""));
    CHECK_INT(401, ask(harness, "Authorization: Bearer " TOKEN "\r\n"));
    snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
    CHECK_INT(200, ask(harness, header));
    token[63] = token[63] == '0' ? '1' : '0';
    snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
    CHECK_INT(401, ask(harness, header));
    CHECK_INT(200, request_status(harness, "GET /health", "Host: any.name:99\r\n", NULL));
}

static void read_token(const struct harness *harness, char header[200])
{
    char path[128], token[100] = "";
    snprintf(path, sizeof path, "%s/.ship/api-token", harness_dir(harness));
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fgets(token, sizeof token, file) != NULL);
    fclose(file);
    snprintf(header, 200, "Authorization: Bearer %s\r\n", token);
}

/* Every account of the machine reaches 127.0.0.1; the file, which only the service's user can read,
 * tells who asks. */
CASE(loopback_is_not_a_person)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness = harness_start(&(struct harness_options){.api_token = ""});
    static const char *const lines[] = {
        "GET /api/status",
        "GET /metrics",
        "GET /api/history?chatKey=api:chat:x",
        "GET /api/runs/1",
        "GET /api/approvals",
        "GET /api/grants",
        "GET /api/pairings",
        "GET /nothing",
        "OPTIONS /api/execute",
        "POST /api/execute",
        "POST /api/approvals/0123456789/approve",
        "POST /api/approvals/0123456789/reject",
        "POST /api/pairings/telegram:6666/approve",
        "POST /api/grants/ab/revoke",
        "POST /health",
    };
    char right[200];
    read_token(harness, right);
    for (size_t i = 0; i < SMA_COUNT_OF(lines); i++) {
        const char *body = lines[i][0] == 'P' ? "{\"instructions\":\"x\"}" : NULL;
        struct reply reply = request_once(harness, lines[i], "", body);
        if (reply.status != 401)
            fprintf(stderr, "%s: %d\n", lines[i], reply.status);
        CHECK_INT(401, reply.status);
        CHECK(reply_has(&reply, ".ship/api-token")); /* where the token is */
        reply_free(&reply);
        CHECK(request_status(harness, lines[i], right, body) != 401);
    }
    CHECK_INT(1, harness_accepted_count(harness)); /* the one with the token */
    CHECK_INT(200, request_status(harness, "GET /health", "", NULL));
    CHECK_INT(200, request_status(harness, "HEAD /health", "", NULL));
    CHECK_INT(200, request_status(harness, "GET /", "", NULL)); /* public content */
}

/* The command line of the service's user needs no configuration, even where callers elsewhere have
 * a token of theirs. */
CASE(the_token_file_counts_beside_a_configured_token)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness = harness_start(&(struct harness_options){.api_token = TOKEN});
    char right[200];
    read_token(harness, right);
    CHECK_INT(200, ask(harness, right));
    CHECK_INT(200, ask(harness, "X-Api-Token: " TOKEN "\r\n"));
    CHECK_INT(401, ask(harness, "X-Api-Token: " HARNESS_TOKEN "\r\n"));
}

static void check_policy(const struct reply *reply, bool is_page)
{
    static const char *const all[] = {"\r\nX-Content-Type-Options: nosniff\r\n",
                                      "\r\nX-Frame-Options: DENY\r\n", "frame-ancestors 'none'",
                                      "\r\nReferrer-Policy: no-referrer\r\n", "default-src 'none'"};
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++)
        CHECK(strstr(reply->head, all[i]) != NULL);
    CHECK(strstr(reply->head, is_page ? "\r\nContent-Security-Policy: sandbox allow-scripts; "
                                      : "; sandbox\r\n") != NULL);
    CHECK((strstr(reply->head, "allow-same-origin") == NULL));
    CHECK(!is_page || strstr(reply->head, "connect-src 'none'; form-action 'none'") != NULL);
    CHECK((strstr(reply->head, "Cross-Origin-Resource-Policy: same-origin") != NULL) == !is_page);
    CHECK(strcasestr(reply->head, "Set-Cookie") == NULL);
    CHECK(strcasestr(reply->head, "Access-Control-") == NULL);
}

/* What commands or the model write into public/ has an origin of its own in a browser: it is a
 * stranger to the API. */
CASE(nothing_that_is_served_may_act)
{
    SMA_AUTO(harness_stopp) struct harness *harness = harness_start(&(struct harness_options){0});
    static const char *const names[] = {"index.html", "app.js", "styles.css"};
    static const char *const lines[] = {"GET /", "GET /app.js", "GET /styles.css"};
    static const char *const types[] = {
        "\r\nContent-Type: text/html; charset=utf-8\r\n",
        "\r\nContent-Type: application/javascript; charset=utf-8\r\n",
        "\r\nContent-Type: text/css; charset=utf-8\r\n"};
    static const char *const api[] = {"GET /health", "GET /api/status", "GET /metrics",
                                      "GET /nothing", "GET /api/approvals"};
    char path[128];
    snprintf(path, sizeof path, "%s/public", harness_dir(harness));
    CHECK(mkdir(path, 0700) == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/public/%s", harness_dir(harness), names[i]);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs("<script>fetch('/api/status')</script>", file) >= 0 &&
              fclose(file) == 0);
        struct reply reply = request_once(harness, lines[i], "", NULL);
        CHECK_INT(200, reply.status);
        CHECK(strstr(reply.head, types[i]) != NULL);
        check_policy(&reply, true);
        reply_free(&reply);
        CHECK(unlink(path) == 0);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(api); i++) {
        struct reply reply = request_once(harness, api[i], "", NULL);
        check_policy(&reply, false);
        reply_free(&reply);
    }
    /* the page's own requests come from the origin "null", with whatever token it has been given */
    CHECK_INT(403, request_status(harness, "POST /api/pairings/telegram:6666/approve",
                                  "Origin: null\r\n", "{\"role\":\"owner\"}"));
    CHECK_INT(403, request_status(harness, "OPTIONS /api/execute", "Origin: null\r\n", NULL));
    int fd = client_connect(harness);
    client_post(fd, harness, "Accept: text/event-stream\r\n", "{\"instructions\":\"x\"}", 20);
    struct reply stream = {.head = client_read_until(fd, "\r\n\r\n")};
    check_policy(&stream, false);
    free(stream.head);
    close(fd);
}

CASE(health_tells_strangers_nothing_else)
{
    SMA_AUTO(harness_stopp) struct harness *harness = harness_start(&(struct harness_options){0});
    struct reply reply = request_once(harness, "GET /health", "", NULL);
    CHECK(strncmp(reply.body, "{\"status\":\"ok\",\"timestamp\":\"", 28) == 0);
    CHECK(reply_has(&reply, "\",\"sandbox\":\"off\"}")); /* no commands here, and so no walls */
    CHECK_INT(28 + 24 + 1 + 16 + 1, (long long)reply.body_len);
    reply_free(&reply);
}

static void check_health(struct harness *harness, const char *body_start)
{
    struct reply reply = request_once(harness, "GET /health", "", NULL);
    CHECK_INT(200, reply.status);
    CHECK(strncmp(reply.body, body_start, strlen(body_start)) == 0);
    CHECK(!reply_has(&reply, "secret")); /* how, not why */
    reply_free(&reply);
}

CASE(a_platform_that_waits_for_somebody_degrades_health)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness = harness_start(&(struct harness_options){.api_token = TOKEN});
    check_health(harness, "{\"status\":\"ok\"");
    sma_health_set("telegram", SMA_STR("the secret is refused"));
    check_health(harness, "{\"status\":\"degraded\"");
    sma_health_set("model", SMA_STR("the key is refused: secret"));
    struct reply reply = request_once(harness, "GET /health", "", NULL);
    CHECK(reply_has(&reply, ",\"reasons\":[\"telegram\",\"model\"]}"));
    reply_free(&reply);
    sma_health_set("model", SMA_STR(""));
    sma_health_set("telegram", SMA_STR(""));
    check_health(harness, "{\"status\":\"ok\"");
}

CASE(the_newest_lines_of_the_log_can_be_asked_for)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness = harness_start(&(struct harness_options){.api_token = TOKEN});
    sma_log_ring_reset();
    sma_log_ring_put(SMA_STR("{\"message\":\"one\"}\n"));
    sma_log_ring_put(SMA_STR("{\"message\":\"two\"}\n"));
    CHECK_INT(401, request_status(harness, "GET /api/logs", "", NULL));
    struct reply reply =
        request_once(harness, "GET /api/logs", "Authorization: Bearer " TOKEN "\r\n", NULL);
    CHECK_INT(200, reply.status);
    CHECK_TEXT("{\"logs\":[{\"message\":\"one\"},{\"message\":\"two\"}]}", reply.body);
    reply_free(&reply);
    reply =
        request_once(harness, "GET /api/logs?limit=1", "Authorization: Bearer " TOKEN "\r\n", NULL);
    CHECK_TEXT("{\"logs\":[{\"message\":\"two\"}]}", reply.body);
    reply_free(&reply);
    CHECK_INT(400, request_status(harness, "GET /api/logs?limit=2001",
                                  "Authorization: Bearer " TOKEN "\r\n", NULL));
    sma_log_ring_reset();
}

/* A token file that others can read (copied, made by hand) is closed before it is used. */
CASE(token_file_is_closed_to_others)
{
    SMA_AUTO(harness_stopp)
    struct harness *harness =
        harness_start(&(struct harness_options){.host = "0.0.0.0", .api_token = ""});
    char path[128];
    struct stat facts = {0};
    snprintf(path, sizeof path, "%s/.ship/api-token", harness_dir(harness));
    CHECK_INT(0, chmod(path, 0644));
    harness_reload(harness, "");
    for (int tries = 0; tries < 500; tries++) {
        CHECK_INT(0, stat(path, &facts));
        if ((facts.st_mode & 0777) == 0600)
            break;
        wait_ms(2);
    }
    CHECK_INT(0600, (long long)(facts.st_mode & 0777));
}

CASE(foreign_hosts_are_refused)
{
    SMA_AUTO(harness_stopp) struct harness *harness = harness_start(&(struct harness_options){0});
    static const struct
    {
        const char *name;
        bool has_port;
        int status;
    } cases[] = {
        {"localhost", true, 200},
        {"LocalHost", true, 200},
        {"127.0.0.1", true, 200},
        {"[::1]", true, 200},
        {"evil.example", true, 403},
        {"localhost.evil.example", true, 403},
        {"localhost", false, 403},
        {"127.0.0.1", false, 403},
        {"localhost:1", false, 403},
        {"", true, 403},
        {"127.0.0.1:80:80", false, 403},
        {"user@localhost", true, 403},
        {"localhost:", false, 403},
        {"localhost:99999", false, 403},
        {"::1", true, 403},
    };
    char header[200];
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char port[16] = "";
        if (cases[i].has_port)
            snprintf(port, sizeof port, ":%d", harness_port(harness));
        snprintf(header, sizeof header, "Host: %s%s\r\n", cases[i].name, port);
        int status = ask(harness, header);
        if (status != cases[i].status)
            fprintf(stderr, "case %zu: %s", i, header);
        CHECK_INT(cases[i].status, status);
    }
    CHECK_INT(403, request_status(harness, "GET /health", "Host: evil.example\r\n", NULL));
}

CASE(foreign_origins_are_refused)
{
    SMA_AUTO(harness_stopp) struct harness *harness = harness_start(&(struct harness_options){0});
    char header[200];
    snprintf(header, sizeof header, "Origin: http://127.0.0.1:%d\r\n", harness_port(harness));
    CHECK_INT(200, ask(harness, header));
    snprintf(header, sizeof header, "Origin: http://localhost:%d\r\n", harness_port(harness));
    CHECK_INT(403, ask(harness, header)); /* the Host of these requests is 127.0.0.1 */
    CHECK_INT(403, ask(harness, "Origin: http://127.0.0.1\r\n"));
    CHECK_INT(403, ask(harness, "Origin: null\r\n"));
    CHECK_INT(403, ask(harness, "Origin: \r\n"));
    CHECK_INT(403, ask(harness, "Origin: http://evil.example\r\n"));
    CHECK_INT(403, request_status(harness, "POST /api/execute", "Origin: http://evil.example\r\n",
                                  "{\"instructions\":\"x\"}"));
    CHECK_INT(0, harness_accepted_count(harness));
}

static atomic_bool is_disk_full;

static int open_on_full_disk(void *self, const char *path, int flags, mode_t mode)
{
    if (atomic_load(&is_disk_full) && strstr(path, "service.json") != NULL) {
        errno = ENOSPC;
        return -1;
    }
    return sma_sys_real()->open(self, path, flags, mode);
}

/* After a crash on a full disk the service starts and answers; the file comes by itself. */
CASE(a_full_disk_keeps_nobody_out)
{
    struct sma_sys sys = *sma_sys_real();
    sys.open = open_on_full_disk;
    atomic_store(&is_disk_full, true);
    SMA_AUTO(harness_stopp)
    struct harness *harness = harness_start(&(struct harness_options){.sys = &sys});
    char path[128];
    snprintf(path, sizeof path, "%s/.ship/service.json", harness_dir(harness));
    CHECK(access(path, F_OK) != 0);
    CHECK_INT(200, ask(harness, ""));
    CHECK(access(path, F_OK) != 0);
    atomic_store(&is_disk_full, false);
    time_t until = time(NULL) + 30;
    while (access(path, F_OK) != 0 && time(NULL) < until)
        usleep(5000);
    CHECK(access(path, F_OK) == 0);
}

CASE(service_file_tells_the_port)
{
    struct harness *harness = harness_start(&(struct harness_options){0});
    char path[128], text[256] = "", wanted[200];
    snprintf(path, sizeof path, "%s/.ship/service.json", harness_dir(harness));
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    fclose(file);
    snprintf(wanted, sizeof wanted, "{\"pid\":%ld,\"port\":%d,\"host\":\"127.0.0.1\"}\n",
             (long)getpid(), harness_port(harness));
    CHECK_TEXT(wanted, text);

    /* A second one on the same port says which port and what to do. */
    const char *error =
        harness_start_failing(&(struct harness_options){.port = harness_port(harness)});
    snprintf(wanted, sizeof wanted, "port %d", harness_port(harness));
    CHECK(strstr(error, wanted) != NULL && strstr(error, "--port") != NULL &&
          strchr(error, '\n') == NULL);
    harness_stop(harness); /* checks that the file is gone */
}

CASE(wrong_addresses_and_options_say_so)
{
    CHECK(strstr(harness_start_failing(&(struct harness_options){.host = "999.1.2.3.4"}),
                 "start.host") != NULL);
    CHECK(strstr(harness_start_failing(&(struct harness_options){.host = "203.0.113.9"}),
                 "start.host") != NULL);
    struct sma_config config = {.start_host = "127.0.0.1", .api_token = ""};
    static const char *const bad[] = {"{\"connections\":0}", "{\"connections\":\"9\"}",
                                      "{\"requestDeadlineMs\":1}", "[]"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        struct sma_config_adapter block = {.name = "http", .is_enabled = true, .json = bad[i]};
        struct sma_error error = {0};
        void *state = NULL;
        CHECK_ERR(SMA_ERR_BADINPUT, sma_http_adapter_ops.create(&config, &block, &state, &error));
        CHECK(strstr(error.text, "ship.json: adapters.http") != NULL && state == NULL);
    }
}

CASES_MAIN
