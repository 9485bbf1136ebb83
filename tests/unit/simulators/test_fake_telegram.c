/*
 * Aim: the fake Bot API refuses what the platform refuses, and misbehaves as told: a test that
 * passes before it says something.
 * Method: one server on a thread; every refusal once over HTTP, every fault once.
 */
#include "scenario/talk.h"
#include "support/check.h"
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

static char *long_text(size_t units, const char *unit)
{
    char *text = calloc(1, units * strlen(unit) + 200);
    CHECK(text != NULL);
    size_t len = (size_t)snprintf(text, 200, "{\"chat_id\":%d,\"text\":\"", ANN);
    for (size_t i = 0; i < units; i++, len += strlen(unit))
        memcpy(text + len, unit, strlen(unit));
    memcpy(text + len, "\"}", 3);
    return text;
}

static void say(const char *text)
{
    telegram_tell(&telegram, "{s:s,s:i,s:i,s:s}", "do", "say", "chat", ANN, "user", ANN, "text",
                  text);
}

/* -- the door ---------------------------------------------------------------------------------- */
static void tokens_and_methods_are_checked(void)
{
    struct http_answer answer = http_ask(telegram.port, "/other", "", NULL, 20000);
    CHECK_INT(404, answer.status);
    http_answer_fini(&answer);
    answer = http_ask(telegram.port, "/bot123/getMe", "", NULL, 20000);
    CHECK_INT(401, answer.status);
    CHECK(strstr(answer.body, "invalid token specified") != NULL);
    http_answer_fini(&answer);
    answer = http_ask(telegram.port, "/bot7001234567:AAE-another_token_of_another_bot_01/getMe", "",
                      NULL, 20000);
    CHECK_INT(401, answer.status);
    http_answer_fini(&answer);
    refused(404, "method not found", "sendNothing", "{}");
    refused(400, "can't parse JSON", "sendMessage", "{");
    accepted("getMe", "{}");
    accepted("GETME", "{}"); /* names have no case */
    telegram_tell(&telegram, "{s:s,s:b}", "do", "revoke", "on", 1);
    refused(401, "Unauthorized", "getMe", "{}");
    telegram_tell(&telegram, "{s:s,s:b}", "do", "revoke", "on", 0);
}

static void forms_and_queries_are_read(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/sendMessage?chat_id=%d&text=a%%20b+c", root, ANN);
    struct http_answer answer = http_ask(telegram.port, path, "", NULL, 20000);
    CHECK_INT(200, answer.status);
    CHECK(strstr(answer.body, "\"text\":\"a b c\"") != NULL);
    http_answer_fini(&answer);
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

static void updates_repeat_until_confirmed(void)
{
    say("one");
    say("two");
    say("three");
    int64_t first = first_update(poll_from(0, ""), 3);
    CHECK_INT(first, first_update(poll_from(0, ""), 3));
    CHECK_INT(first, first_update(poll_from(0, ",\"limit\":2"), 2));
    CHECK_INT(first + 1, first_update(poll_from(first + 1, ""), 2));
    CHECK_INT(first + 1, first_update(poll_from(0, ""), 2));
    CHECK_INT(first + 2, first_update(poll_from(-1, ""), 1)); /* all but the last are dropped */
    CHECK_INT(0, first_update(poll_from(first + 3, ""), 0));
    say("four");
    CHECK_INT(first + 3, first_update(poll_from(first + 1000, ""), 1)); /* another queue's offset */
    telegram_tell(&telegram, "{s:s,s:i}", "do", "gap", "count", 5);
    say("five");
    CHECK_INT(first + 9, first_update(poll_from(first + 4, ""), 1));
    json_decref(poll_from(first + 10, ""));
    telegram_tell(&telegram, "{s:s,s:i}", "do", "redeliver", "count", 2);
    CHECK_INT(first + 3, first_update(poll_from(0, ""), 2));
    json_decref(poll_from(first + 10, ""));
}

static void types_not_allowed_use_no_number(void)
{
    int64_t next = telegram_number(&telegram, "next_update_id", "{s:s}", "do", "counters");
    json_decref(poll_from(next, ",\"allowed_updates\":[\"callback_query\"]"));
    say("hidden");
    CHECK_INT(next, telegram_number(&telegram, "next_update_id", "{s:s}", "do", "counters"));
    json_decref(poll_from(next, "")); /* remembered */
    say("hidden too");
    CHECK_INT(0, first_update(
                     poll_from(next, ",\"allowed_updates\":[\"message\",\"callback_query\"]"), 0));
    say("shown");
    CHECK_INT(next, first_update(poll_from(next, ""), 1));
    json_decref(poll_from(next + 1, ""));
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
    long long asked = process_now_ms();
    CHECK_INT(0, first_update(poll_from(next + 1, ",\"timeout\":1"), 0));
    CHECK(process_now_ms() - asked >= 1000);
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

/* -- sending ----------------------------------------------------------------------------------- */
static void bad_places_are_refused(void)
{
    int64_t topic = telegram_number(&telegram, "thread", "{s:s,s:I,s:i}", "do", "topic", "chat",
                                    (json_int_t)FORUM, "user", ANN);
    char body[256];
    refused(400, "chat_id is empty", "sendMessage", "{\"text\":\"a\"}");
    refused(400, "chat not found", "sendMessage", "{\"chat_id\":5,\"text\":\"a\"}");
    refused(400, "message thread not found", "sendMessage",
            "{\"chat_id\":-1001234567891,\"message_thread_id\":777,\"text\":\"a\"}");
    telegram_tell(&telegram, "{s:s,s:I,s:i,s:s}", "do", "say", "chat", (json_int_t)FORUM, "user",
                  ANN, "text", "a");
    snprintf(body, sizeof body, "{\"chat_id\":%lld,\"message_thread_id\":%lld,\"text\":\"a\"}",
             (long long)FORUM, (long long)topic);
    accepted("sendMessage", body);
    telegram_tell(&telegram, "{s:s,s:I}", "do", "chat", "id", (json_int_t)-500);
    telegram_tell(&telegram, "{s:s,s:I,s:b}", "do", "kick", "chat", (json_int_t)-500, "on", 1);
    refused(403, "bot was kicked", "sendMessage", "{\"chat_id\":-500,\"text\":\"a\"}");
    telegram_tell(&telegram, "{s:s,s:I,s:i}", "do", "take_in", "chat", (json_int_t)-500, "from",
                  ANN);
    accepted("sendMessage", "{\"chat_id\":-500,\"text\":\"a\"}");
    telegram_tell(&telegram, "{s:s,s:i}", "do", "user", "id", 1002);
    telegram_tell(&telegram, "{s:s,s:i}", "do", "block", "chat", 1002);
    refused(403, "blocked by the user", "sendMessage", "{\"chat_id\":1002,\"text\":\"a\"}");
    telegram_tell(&telegram, "{s:s,s:i,s:s}", "do", "chat", "id", -600, "type", "group");
    telegram_tell(&telegram, "{s:s,s:i,s:I}", "do", "migrate", "chat", -600, "to",
                  (json_int_t)-1009999999999);
    json_t *tree = call(400, "sendMessage", "{\"chat_id\":-600,\"text\":\"a\"}");
    CHECK_INT(-1009999999999, json_integer_value(json_object_get(
                                  json_object_get(tree, "parameters"), "migrate_to_chat_id")));
    json_decref(tree);
    refused(400, "message to be replied not found", "sendMessage",
            "{\"chat_id\":1001,\"text\":\"a\",\"reply_parameters\":{\"message_id\":9999}}");
    accepted("sendMessage",
             "{\"chat_id\":1001,\"text\":\"a\",\"reply_parameters\":{\"message_id\":9999,"
             "\"allow_sending_without_reply\":true}}");
}

static void general_is_not_number_one(void)
{
    struct telegram *t = &telegram;
    telegram_tell(t, "{s:s,s:I,s:b}", "do", "chat", "id", (json_int_t)-700, "forum", 1);
    telegram_tell(t, "{s:s,s:i,s:i,s:s}", "do", "say", "chat", -700, "user", ANN, "text", "first");
    refused(400, "message thread not found", "sendMessage",
            "{\"chat_id\":-700,\"message_thread_id\":1,\"text\":\"a\"}");
    accepted("sendChatAction", "{\"chat_id\":-700,\"message_thread_id\":1,\"action\":\"typing\"}");
    refused(400, "wrong parameter action", "sendChatAction",
            "{\"chat_id\":-700,\"action\":\"dancing\"}");
}

static void texts_are_measured_after_parsing(void)
{
    char *text = long_text(4096, "a");
    accepted("sendMessage", text);
    free(text);
    text = long_text(4097, "a");
    refused(400, "message is too long", "sendMessage", text);
    free(text);
    text = long_text(2048, "\xF0\x9F\x98\x80");
    accepted("sendMessage", text);
    free(text);
    text = long_text(2049, "\xF0\x9F\x98\x80");
    refused(400, "message is too long", "sendMessage", text);
    free(text);
    text = long_text(32769, "a");
    refused(400, "text is too long", "sendMessage", text);
    free(text);
    refused(400, "message text is empty", "sendMessage", "{\"chat_id\":1001,\"text\":\"\"}");
    refused(400, "message text is empty", "sendMessage", "{\"chat_id\":1001,\"text\":\" \\n \"}");
    refused(400, "message text is empty", "sendMessage",
            "{\"chat_id\":1001,\"parse_mode\":\"HTML\",\"text\":\"<b> </b>\"}");
}

static void html(const char *part, const char *text)
{
    char body[512];
    snprintf(body, sizeof body, "{\"chat_id\":1001,\"parse_mode\":\"HTML\",\"text\":\"%s\"}", text);
    if (part == NULL)
        accepted("sendMessage", body);
    else
        refused(400, part, "sendMessage", body);
}

static void html_is_parsed_strictly(void)
{
    json_t *tree =
        call(200, "sendMessage",
             "{\"chat_id\":1001,\"parse_mode\":\"HTML\",\"text\":\"\xF0\x9F\x98\x80 <b>bold &amp; "
             "&lt;i&gt;</b> <a href=\\\"http://x/\\\">y</a>\"}");
    json_t *result = json_object_get(tree, "result");
    CHECK_TEXT("\xF0\x9F\x98\x80 bold & <i> y", talk_text(result, "text"));
    json_t *entities = json_object_get(result, "entities");
    CHECK_INT(2, json_array_size(entities));
    CHECK_INT(3, json_integer_value(json_object_get(json_array_get(entities, 0), "offset")));
    CHECK_INT(10, json_integer_value(json_object_get(json_array_get(entities, 0), "length")));
    CHECK_TEXT("http://x/", talk_text(json_array_get(entities, 1), "url"));
    json_decref(tree);
    html(NULL, "<pre><code class=\\\"language-c\\\">a &lt; b</code></pre><blockquote "
               "expandable>q</blockquote>");
    html("can't parse entities: Unsupported start tag \"br\"", "a<br>b");
    html("Unsupported start tag", "a < b");
    html("Can't find end tag corresponding to start tag \"b\"", "<b>a");
    html("expected \"</i>\", found \"</b>\"", "<b><i>a</b></i>");
    html("Unexpected end tag", "a</b>");
    html("Unclosed start tag", "a <b");
    html("must have class \"tg-spoiler\"", "<span>a</span>");
    refused(400, "unsupported parse_mode", "sendMessage",
            "{\"chat_id\":1001,\"parse_mode\":\"Wiki\",\"text\":\"a\"}");
    refused(400, "is reserved and must be escaped", "sendMessage",
            "{\"chat_id\":1001,\"parse_mode\":\"MarkdownV2\",\"text\":\"a.\"}");
    refused(400, "Can't find end of the entity", "sendMessage",
            "{\"chat_id\":1001,\"parse_mode\":\"MarkdownV2\",\"text\":\"*a\"}");
}

static void buttons_and_callbacks_have_limits(void)
{
    char body[512];
    refused(400, "BUTTON_DATA_INVALID", "sendMessage",
            "{\"chat_id\":1001,\"text\":\"a\",\"reply_markup\":{\"inline_keyboard\":[[{\"text\":"
            "\"b\",\"callback_data\":"
            "\"12345678901234567890123456789012345678901234567890123456789012345\"}]]}}");
    refused(400, "Text buttons are unallowed", "sendMessage",
            "{\"chat_id\":1001,\"text\":\"a\",\"reply_markup\":{\"inline_keyboard\":[[{\"text\":"
            "\"b\"}]]}}");
    refused(400, "query is too old", "answerCallbackQuery", "{\"callback_query_id\":\"1\"}");
    json_t *sent = call(200, "sendMessage",
                        "{\"chat_id\":1001,\"text\":\"ask\",\"reply_markup\":{\"inline_keyboard\":["
                        "[{\"text\":\"b\","
                        "\"callback_data\":\"yes\"}]]}}");
    json_t *pressed = telegram_do(
        &telegram, "{s:s,s:i,s:i,s:I,s:s}", "do", "press", "chat", ANN, "user", ANN, "message_id",
        json_integer_value(json_object_get(json_object_get(sent, "result"), "message_id")), "data",
        "yes");
    snprintf(body, sizeof body, "{\"callback_query_id\":\"%s\"}", talk_text(pressed, "id"));
    accepted("answerCallbackQuery", body);
    telegram_tell(&telegram, "{s:s,s:i}", "do", "callback_deadline", "ms", 0);
    refused(400, "query is too old", "answerCallbackQuery", body);
    telegram_tell(&telegram, "{s:s,s:i}", "do", "callback_deadline", "ms", 15000);
    json_decref(sent);
    json_decref(pressed);
}

static void edits_and_drafts_have_rules(void)
{
    char body[256];
    json_t *sent = call(200, "sendMessage", "{\"chat_id\":1001,\"text\":\"before\"}");
    long long id =
        json_integer_value(json_object_get(json_object_get(sent, "result"), "message_id"));
    json_decref(sent);
    snprintf(body, sizeof body, "{\"chat_id\":1001,\"message_id\":%lld,\"text\":\"before\"}", id);
    refused(400, "message is not modified", "editMessageText", body);
    snprintf(body, sizeof body, "{\"chat_id\":1001,\"message_id\":%lld,\"text\":\"after\"}", id);
    accepted("editMessageText", body);
    refused(400, "message to edit not found", "editMessageText",
            "{\"chat_id\":1001,\"message_id\":9999,\"text\":\"a\"}");
    refused(400, "message can't be edited", "editMessageText",
            "{\"chat_id\":1001,\"message_id\":2,\"text\":\"a\"}");
    refused(400, "message to delete not found", "deleteMessage",
            "{\"chat_id\":1001,\"message_id\":9999}");
    accepted("sendMessageDraft", "{\"chat_id\":1001,\"draft_id\":7,\"text\":\"thinking\"}");
    json_t *list = telegram_do(&telegram, "{s:s,s:i}", "do", "list", "chat", ANN);
    CHECK_TEXT("thinking", talk_text(list, "draft"));
    json_decref(list);
    refused(400, "private chats", "sendMessageDraft",
            "{\"chat_id\":-1001234567890,\"draft_id\":7,\"text\":\"a\"}");
    refused(400, "non-zero", "sendMessageDraft",
            "{\"chat_id\":1001,\"draft_id\":0,\"text\":\"a\"}");
}

static void rates_are_kept(void)
{
    telegram_tell(&telegram, "{s:s,s:i,s:i}", "do", "rates", "chat_per_second", 1, "bot_per_second",
                  0);
    struct http_answer answer = {0, NULL, 0};
    char path[256];
    snprintf(path, sizeof path, "%s/sendMessage", root);
    for (int i = 0; i < 3 && answer.status != 429; i++) {
        http_answer_fini(&answer);
        answer = http_ask(telegram.port, path, "", "{\"chat_id\":1001,\"text\":\"a\"}", 20000);
    }
    CHECK_INT(429, answer.status);
    CHECK(strstr(answer.body, "\"retry_after\":1") != NULL);
    http_answer_fini(&answer);
    telegram_tell(&telegram, "{s:s,s:i,s:i}", "do", "rates", "chat_per_second", 0, "bot_per_second",
                  1);
    snprintf(path, sizeof path, "%s/sendMessage", root);
    for (int i = 0; i < 3 && answer.status != 429; i++) {
        http_answer_fini(&answer);
        answer =
            http_ask(telegram.port, path, "", "{\"chat_id\":-1001234567890,\"text\":\"a\"}", 20000);
    }
    CHECK_INT(429, answer.status);
    http_answer_fini(&answer);
    telegram_tell(&telegram, "{s:s}", "do", "rates");
}

/* -- the rest ---------------------------------------------------------------------------------- */
static void commands_are_validated(void)
{
    accepted("setMyCommands",
             "{\"commands\":[{\"command\":\"help\",\"description\":\"what I can do\"}]}");
    refused(400, "BOT_COMMAND_INVALID", "setMyCommands",
            "{\"commands\":[{\"command\":\"Help\",\"description\":\"a\"}]}");
    refused(400, "BOT_COMMAND_DESCRIPTION_INVALID", "setMyCommands",
            "{\"commands\":[{\"command\":\"help\",\"description\":\"\"}]}");
    refused(400, "commands", "setMyCommands", "{}");
    refused(400, "BotCommandScope", "setMyCommands",
            "{\"commands\":[],\"scope\":{\"type\":\"moon\"}}");
    accepted("getChatMember", "{\"chat_id\":-1001234567890,\"user_id\":1001}");
    refused(400, "PARTICIPANT_ID_INVALID", "getChatMember",
            "{\"chat_id\":-1001234567890,\"user_id\":4}");
    accepted("getChatAdministrators", "{\"chat_id\":-1001234567890}");
    refused(400, "no administrators in the private chat", "getChatAdministrators",
            "{\"chat_id\":1001}");
}

static void files_have_limits(void)
{
    telegram_tell(&telegram, "{s:s,s:i,s:i,s:{s:s,s:s,s:s}}", "do", "say", "chat", ANN, "user", ANN,
                  "file", "kind", "document", "name", "a.txt", "text", "hello file");
    telegram_tell(&telegram, "{s:s,s:i,s:i,s:{s:s,s:s,s:i}}", "do", "say", "chat", ANN, "user", ANN,
                  "file", "kind", "document", "name", "big.bin", "size", (20 << 20) + 1);
    int64_t next = telegram_number(&telegram, "next_update_id", "{s:s}", "do", "counters");
    json_t *updates = poll_from(next - 2, "");
    json_t *list = json_object_get(updates, "result");
    char body[2][256], path[400];
    CHECK_INT(2, json_array_size(list));
    for (size_t i = 0; i < 2; i++)
        snprintf(body[i], sizeof body[i], "{\"file_id\":\"%s\"}",
                 talk_text(json_object_get(json_object_get(json_array_get(list, i), "message"),
                                           "document"),
                           "file_id"));
    json_decref(updates);
    json_t *file = call(200, "getFile", body[0]);
    snprintf(path, sizeof path, "/file%s/%s", root,
             talk_text(json_object_get(file, "result"), "file_path"));
    json_decref(file);
    struct http_answer answer = http_ask(telegram.port, path, "", NULL, 20000);
    CHECK_INT(200, answer.status);
    CHECK_TEXT("hello file", answer.body);
    http_answer_fini(&answer);
    refused(400, "file is too big", "getFile", body[1]);
    refused(400, "wrong file_id", "getFile", "{\"file_id\":\"none\"}");
    refused(400, "there is no document", "sendDocument", "{\"chat_id\":1001}");
    refused(400, "wrong file identifier", "sendDocument",
            "{\"chat_id\":1001,\"document\":\"none\"}");
}

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

/* A press is kept for 150 s, a message for a day. */
static void what_nobody_fetches_is_dropped(void)
{
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
        size_t count;
    } looks[] = {{150, 2}, {151, 1}, {86400, 1}, {86401, 0}};
    for (size_t i = 0; i < SMA_COUNT_OF(looks); i++) {
        telegram_tell(&telegram, "{s:s,s:i}", "do", "clock", "seconds", looks[i].after_s);
        json_t *updates = call(200, "getUpdates", "{}");
        CHECK_INT(looks[i].count, json_array_size(json_object_get(updates, "result")));
        json_decref(updates);
    }
    CHECK_INT(2, telegram_number(&telegram, "expired", "{s:s}", "do", "counters"));
    telegram_tell(&telegram, "{s:s,s:i}", "do", "clock", "seconds", 0);
    json_decref(sent);
}

static void a_group_takes_so_many_a_minute(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/sendMessage", root);
    telegram_tell(&telegram, "{s:s,s:i}", "do", "rates", "group_per_minute", 2);
    for (int i = 0; i < 3; i++) {
        accepted("sendMessage", "{\"chat_id\":1001,\"text\":\"private chats have no such limit\"}");
        struct http_answer answer =
            http_ask(telegram.port, path, "", "{\"chat_id\":-1001234567890,\"text\":\"a\"}", 20000);
        CHECK_INT(i < 2 ? 200 : 429, answer.status);
        const char *wait = strstr(answer.body, "\"retry_after\":");
        CHECK((wait == NULL) == (i < 2));
        CHECK(wait == NULL ||
              (strtol(wait + 14, NULL, 10) > 1 && strtol(wait + 14, NULL, 10) <= 60));
        http_answer_fini(&answer);
    }
    telegram_tell(&telegram, "{s:s}", "do", "rates");
}

static void bad_weather_comes_on_demand(void)
{
    static const char *const silent[] = {"close", "lose_answer", "cut"};
    char path[256];
    snprintf(path, sizeof path, "%s/getMe", root);
    for (size_t i = 0; i < SMA_COUNT_OF(silent); i++) {
        telegram_tell(&telegram, "{s:s,s:s,s:s}", "do", "fault", "method", "getMe", "kind",
                      silent[i]);
        struct http_answer answer = http_ask(telegram.port, path, "", "{}", 20000);
        CHECK_INT(0, answer.status);
        http_answer_fini(&answer);
        accepted("getMe", "{}"); /* once means once */
    }
    telegram_tell(&telegram, "{s:s,s:s,s:s}", "do", "fault", "method", "getMe", "kind",
                  "half_open");
    struct http_answer answer = http_ask(telegram.port, path, "", "{}", 300);
    CHECK_INT(0, answer.status);
    telegram_tell(&telegram, "{s:s,s:s,s:s}", "do", "fault", "method", "getMe", "kind", "slow");
    accepted("getMe", "{}");
    telegram_tell(&telegram, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "getMe", "kind", "delay",
                  "ms", 5);
    accepted("getMe", "{}");
    telegram_tell(&telegram, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "getMe", "kind",
                  "status", "status", 429, "seconds", 3);
    json_t *tree = call(429, "getMe", "{}");
    CHECK_INT(
        3, json_integer_value(json_object_get(json_object_get(tree, "parameters"), "retry_after")));
    json_decref(tree);
    telegram_tell(&telegram, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "getMe", "kind",
                  "status", "status", 409);
    refused(409, "terminated by other", "getMe", "{}");
    telegram_tell(&telegram, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "getMe", "kind",
                  "status", "status", 500);
    refused(500, "restart", "getMe", "{}");
    static const char *const pages[] = {"html", "garbage"};
    for (size_t i = 0; i < 2; i++) {
        telegram_tell(&telegram, "{s:s,s:s,s:s}", "do", "fault", "method", "getMe", "kind",
                      pages[i]);
        answer = http_ask(telegram.port, path, "", "{}", 20000);
        CHECK_INT(i == 0 ? 502 : 200, answer.status);
        CHECK(answer.body[0] == '<');
        http_answer_fini(&answer);
    }
    json_t *before = telegram_do(&telegram, "{s:s,s:i}", "do", "list", "chat", ANN);
    telegram_tell(&telegram, "{s:s,s:s,s:s}", "do", "fault", "method", "sendMessage", "kind",
                  "lose_answer");
    snprintf(path, sizeof path, "%s/sendMessage", root);
    answer = http_ask(telegram.port, path, "", "{\"chat_id\":1001,\"text\":\"posted\"}", 20000);
    CHECK_INT(0, answer.status);
    json_t *after = telegram_do(&telegram, "{s:s,s:i}", "do", "list", "chat", ANN);
    CHECK_INT(json_array_size(json_object_get(before, "messages")) + 1,
              json_array_size(json_object_get(after, "messages")));
    json_decref(before);
    json_decref(after);
}

static void clocks_and_queues_jump(void)
{
    telegram_tell(&telegram, "{s:s,s:i}", "do", "clock", "seconds", -90000);
    int64_t next = telegram_number(&telegram, "next_update_id", "{s:s}", "do", "counters");
    say("late");
    json_t *tree = poll_from(next, "");
    const json_t *message =
        json_object_get(json_array_get(json_object_get(tree, "result"), 0), "message");
    CHECK(json_integer_value(json_object_get(message, "date")) < time(NULL) - 89000);
    json_decref(tree);
    telegram_tell(&telegram, "{s:s,s:i}", "do", "clock", "seconds", 0);
    json_decref(poll_from(next + 1, ""));
    telegram_tell(&telegram, "{s:s,s:i}", "do", "restart", "update_id", 100);
    say("after the jump");
    CHECK_INT(100, first_update(poll_from(next + 1, ""), 1));
    CHECK_INT(0, first_update(poll_from(101, ""), 0));
    telegram_tell(&telegram, "{s:s,s:b}", "do", "privacy", "on", 1);
    json_t *said = telegram_do(&telegram, "{s:s,s:I,s:i,s:s}", "do", "say", "chat",
                               (json_int_t)TEAM, "user", ANN, "text", "chatter");
    CHECK(json_is_false(json_object_get(said, "is_queued")));
    json_decref(said);
    said = telegram_do(&telegram, "{s:s,s:I,s:i,s:s}", "do", "say", "chat", (json_int_t)TEAM,
                       "user", ANN, "text", "hi @helper_bot");
    CHECK(json_is_true(json_object_get(said, "is_queued")));
    json_decref(said);
    json_decref(poll_from(102, ""));
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
    RUN(tokens_and_methods_are_checked);
    RUN(forms_and_queries_are_read);
    RUN(updates_repeat_until_confirmed);
    RUN(types_not_allowed_use_no_number);
    RUN(a_poll_waits_and_wakes);
    RUN(the_older_of_two_polls_is_told);
    RUN(bad_places_are_refused);
    RUN(general_is_not_number_one);
    RUN(texts_are_measured_after_parsing);
    RUN(html_is_parsed_strictly);
    RUN(buttons_and_callbacks_have_limits);
    RUN(edits_and_drafts_have_rules);
    RUN(rates_are_kept);
    RUN(a_group_takes_so_many_a_minute);
    RUN(what_nobody_fetches_is_dropped);
    RUN(commands_are_validated);
    RUN(files_have_limits);
    RUN(uploads_have_limits);
    RUN(bad_weather_comes_on_demand);
    RUN(clocks_and_queues_jump);
    RUN(webhooks_are_delivered_in_order);
    stop();
    return check_summary();
}
