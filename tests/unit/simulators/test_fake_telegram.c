/*
 * Aim: what the fake Bot API does while something waits: polls, uploads, webhooks, time (what it
 * refuses: tests/talks/fake_telegram.talk).
 * Method: one server on a thread, over HTTP.
 */
#include "scenario/talk.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"
#include "telegram/fake_telegram.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANN 1001
#define TEAM -1001234567890
#define FORUM -1001234567891

static struct telegram telegram;
static char root[128];

static void start(void)
{
    telegram = (struct telegram){fake_telegram_start(0), 0};
    telegram.port = fake_telegram_port(telegram.fake);
    snprintf(root, sizeof root, "/bot%s", FAKE_TELEGRAM_TOKEN);
    telegram_tell(&telegram, "{s:s,s:i,s:s,s:s}", "do", "user", "id", ANN, "username", "ann",
                  "language", "en");
    telegram_tell(&telegram, "{s:s,s:I,s:[i]}", "do", "chat", "id", (json_int_t)TEAM, "admins",
                  ANN);
    telegram_tell(&telegram, "{s:s,s:I,s:b}", "do", "chat", "id", (json_int_t)FORUM, "forum", 1);
}

static void stop(void)
{
    fake_telegram_stop(telegram.fake);
}

/* One call; the answer's JSON, its HTTP status checked. */
static json_t *call(int status, const char *method, const char *body)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, method);
    struct http_answer answer = http_ask(telegram.port, path, "", body, 20000);
    if (answer.status != status)
        fprintf(stderr, "%s %s: %s\n", method, body,
                answer.body == NULL ? "no answer" : answer.body);
    CHECK_INT(status, answer.status);
    json_t *tree = json_loadb(answer.body, answer.len, 0, NULL);
    CHECK(tree != NULL);
    http_answer_fini(&answer);
    CHECK(json_is_true(json_object_get(tree, "ok")) == (status == 200));
    CHECK(status == 200 || json_integer_value(json_object_get(tree, "error_code")) == status);
    return tree;
}

static void refused(int status, const char *part, const char *method, const char *body)
{
    json_t *tree = call(status, method, body);
    if (strstr(talk_text(tree, "description"), part) == NULL)
        fprintf(stderr, "%s: %s\n", body, talk_text(tree, "description"));
    CHECK(strstr(talk_text(tree, "description"), part) != NULL);
    json_decref(tree);
}

static void accepted(const char *method, const char *body)
{
    json_decref(call(200, method, body));
}

static void say(const char *text)
{
    telegram_tell(&telegram, "{s:s,s:i,s:i,s:s}", "do", "say", "chat", ANN, "user", ANN, "text",
                  text);
}

/* -- updates ----------------------------------------------------------------------------------- */
static int64_t first_update(json_t *tree, size_t count)
{
    const json_t *list = json_object_get(tree, "result");
    CHECK_INT(count, json_array_size(list));
    int64_t id = json_integer_value(json_object_get(json_array_get(list, 0), "update_id"));
    json_decref(tree);
    return id;
}

static json_t *poll_from(int64_t offset, const char *more)
{
    char body[256];
    snprintf(body, sizeof body, "{\"offset\":%lld%s}", (long long)offset, more);
    return call(200, "getUpdates", body);
}

static void wait_polled(void)
{
    bool is_polled = false;
    for (long long until = process_now_ms() + 20000; !is_polled && process_now_ms() < until;) {
        json_t *counters = telegram_do(&telegram, "{s:s}", "do", "counters");
        is_polled = json_is_true(json_object_get(counters, "is_polled"));
        json_decref(counters);
    }
    CHECK(is_polled);
}

static void start_poll(struct talk *talk, const char *body)
{
    char path[256];
    snprintf(path, sizeof path, "%s/getUpdates", root);
    talk_start(talk, telegram.port, path, "", body);
}

static void a_poll_waits_and_wakes(void)
{
    struct talk talk;
    char body[128];
    int64_t next = telegram_number(&telegram, "next_update_id", "{s:s}", "do", "counters");
    snprintf(body, sizeof body, "{\"offset\":%lld,\"timeout\":30}", (long long)next);
    start_poll(&talk, body);
    wait_polled();
    long long said = process_now_ms();
    say("wake up");
    talk_wait(&talk);
    CHECK_INT(200, talk.answer.status);
    CHECK(strstr(talk.answer.body, "wake up") != NULL);
    CHECK(talk.ended_ms - said < 5000 * PATIENCE); /* milliseconds, on a quiet machine */
    talk_fini(&talk);
    long long asked = clock_now_ms();
    CHECK_INT(0, first_update(poll_from(next + 1, ",\"timeout\":1"), 0));
    CHECK(clock_now_ms() - asked >= 1000);
}

static void the_older_of_two_polls_is_told(void)
{
    struct talk older, newer;
    start_poll(&older, "{\"timeout\":30}");
    wait_polled();
    start_poll(&newer, "{\"timeout\":30}");
    talk_wait(&older);
    CHECK_INT(409, older.answer.status);
    CHECK(strstr(older.answer.body, "terminated by other getUpdates") != NULL);
    talk_fini(&older);
    wait_polled();
    accepted("setWebhook", "{\"url\":\"http://127.0.0.1:1/hook\"}");
    talk_wait(&newer);
    CHECK_INT(409, newer.answer.status);
    CHECK(strstr(newer.answer.body, "terminated by setWebhook") != NULL);
    talk_fini(&newer);
    refused(409, "webhook is active", "getUpdates", "{}");
    refused(400, "bad webhook", "setWebhook", "{\"url\":\"nonsense\"}");
    refused(400, "unallowed characters", "setWebhook",
            "{\"url\":\"http://127.0.0.1:1/\",\"secret_token\":\"a b\"}");
    accepted("getWebhookInfo", "{}");
    accepted("deleteWebhook", "{}");
}

/* -- the rest ---------------------------------------------------------------------------------- */
#define A_PHOTO "\xff\xd8\xff\xe0" /* how a JPEG begins */

static char *multipart(const char *method, const char *field, size_t size, size_t caption)
{
    char head[1024], *body = malloc(size + caption + 2048);
    CHECK(body != NULL);
    size_t len =
        (size_t)snprintf(body, 300,
                         "--XX\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n1001\r\n"
                         "--XX\r\nContent-Disposition: form-data; name=\"caption\"\r\n\r\n");
    memset(body + len, 'c', caption);
    len += caption;
    len += (size_t)snprintf(
        body + len, 300,
        "\r\n--XX\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"r.txt\"\r\n\r\n",
        field);
    memset(body + len, 'x', size);
    if (strcmp(field, "photo") == 0)
        memcpy(body + len, A_PHOTO, 4);
    len += size;
    len += (size_t)snprintf(body + len, 20, "\r\n--XX--\r\n");
    snprintf(head, sizeof head,
             "POST %s/%s HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; "
             "boundary=XX\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n",
             root, method, len);
    int fd = raw_connect(telegram.port);
    CHECK(raw_send(fd, head, strlen(head)) && raw_send(fd, body, len));
    free(body);
    char *answer = raw_read(fd, "\r\n\r\n{", 20000);
    close(fd);
    return answer;
}

static void uploads_have_limits(void)
{
    static const char *const kinds[][2] = {{"sendDocument", "document"},
                                           {"sendPhoto", "photo"},
                                           {"sendVoice", "voice"},
                                           {"sendAudio", "audio"}};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        char *answer = multipart(kinds[i][0], kinds[i][1], 100, 1024);
        CHECK(strstr(answer, " 200 ") != NULL);
        free(answer);
    }
    char *answer = multipart("sendDocument", "document", 100, 1025);
    CHECK(strstr(answer, " 400 ") != NULL && strstr(answer, "caption is too long") != NULL);
    free(answer);
    answer = multipart("sendPhoto", "photo", (10u << 20) + 1, 10);
    CHECK(strstr(answer, " 413 ") != NULL);
    free(answer);
    answer = multipart("sendDocument", "document", 0, 10);
    CHECK(strstr(answer, "file must be non-empty") != NULL);
    free(answer);
}

/* A press is kept for 150 s, a message for a day. The seconds that pass here count as well. */
static void what_nobody_fetches_is_dropped(void)
{
    long long began = clock_wall_s();
    json_decref(
        poll_from(telegram_number(&telegram, "next_update_id", "{s:s}", "do", "counters"), ""));
    json_t *sent = call(200, "sendMessage",
                        "{\"chat_id\":1001,\"text\":\"x\",\"reply_markup\":{\"inline_keyboard\":"
                        "[[{\"text\":\"Yes\",\"callback_data\":\"yes\"}]]}}");
    telegram_tell(
        &telegram, "{s:s,s:i,s:i,s:I,s:s}", "do", "press", "chat", ANN, "user", ANN, "message_id",
        json_integer_value(json_object_get(json_object_get(sent, "result"), "message_id")), "data",
        "yes");
    telegram_tell(&telegram, "{s:s,s:i,s:i,s:s}", "do", "say", "chat", ANN, "user", ANN, "text",
                  "while you were away");
    static const struct
    {
        int after_s;
        bool is_over;
        size_t count;
    } looks[] = {{150, false, 2}, {151, true, 1}, {86400, false, 1}, {86401, true, 0}};
    for (size_t i = 0; i < SMA_COUNT_OF(looks); i++) {
        int passed_s = looks[i].is_over ? 0 : (int)(clock_wall_s() - began) + 5;
        telegram_tell(&telegram, "{s:s,s:i}", "do", "clock", "seconds",
                      looks[i].after_s - passed_s);
        json_t *updates = call(200, "getUpdates", "{}");
        CHECK_INT(looks[i].count, json_array_size(json_object_get(updates, "result")));
        json_decref(updates);
    }
    CHECK_INT(2, telegram_number(&telegram, "expired", "{s:s}", "do", "counters"));
    telegram_tell(&telegram, "{s:s,s:i}", "do", "clock", "seconds", 0);
    json_decref(sent);
}

/* -- webhook ----------------------------------------------------------------------------------- */
/* A bot that is called: takes one request, checks it, answers as told. */
static void serve_hook(int listening, const char *text, const char *response)
{
    int fd = accept(listening, NULL, NULL);
    char bytes[8192] = "";
    size_t len = 0;
    CHECK(fd >= 0);
    while (strstr(bytes, text) == NULL) {
        ssize_t got = recv(fd, bytes + len, sizeof bytes - 1 - len, 0);
        CHECK(got > 0);
        len += (size_t)got;
        bytes[len] = '\0';
    }
    CHECK(strstr(bytes, "POST /hook HTTP/1.1") != NULL);
    CHECK(strstr(bytes, "X-Telegram-Bot-Api-Secret-Token: s3cret") != NULL);
    CHECK(raw_send(fd, response, strlen(response)));
    close(fd);
}

static void webhooks_are_delivered_in_order(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char body[256];
    CHECK(bind(listening, (struct sockaddr *)&address, len) == 0 && listen(listening, 8) == 0);
    CHECK(getsockname(listening, (struct sockaddr *)&address, &len) == 0);
    snprintf(body, sizeof body,
             "{\"url\":\"http://127.0.0.1:%d/hook\",\"secret_token\":\"s3cret\"}",
             ntohs(address.sin_port));
    accepted("setWebhook", body);
    say("first hooked");
    say("second hooked");
    serve_hook(listening, "first hooked", "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
    serve_hook(listening, "first hooked",
               "HTTP/1.1 503 No\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n");
    serve_hook(listening, "first hooked", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    serve_hook(listening, "second hooked", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    for (long long until = process_now_ms() + 20000; process_now_ms() < until;)
        if (telegram_number(&telegram, "queued", "{s:s}", "do", "counters") == 0)
            break;
    CHECK_INT(0, telegram_number(&telegram, "queued", "{s:s}", "do", "counters"));
    close(listening);
    accepted("deleteWebhook", "{\"drop_pending_updates\":true}");
}

int main(void)
{
    start();
    RUN(a_poll_waits_and_wakes);
    RUN(the_older_of_two_polls_is_told);
    RUN(what_nobody_fetches_is_dropped);
    RUN(uploads_have_limits);
    RUN(webhooks_are_delivered_in_order);
    stop();
    return check_summary();
}
