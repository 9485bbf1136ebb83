/*
 * Aim: the fake Feishu refuses what the platform refuses, and misbehaves as told: a test that
 * passes before it says something. Here: the REST calls.
 * Method: one server on a thread; every refusal once over HTTP, every fault once.
 */
#include "fake_feishu_test.h"
#include "sma/buf.h"

static void unsent(int64_t code, const char *type, const char *content)
{
    char *body = body_of("oc_ann", type, content, NULL);
    refused(400, code, "POST", SEND, body);
    free(body);
}

static void tokens_are_checked_and_overlap(void)
{
    char first[128];
    start();
    refused(200, 10014, "POST", "/open-apis/auth/v3/tenant_access_token/internal",
            "{\"app_id\":\"" FAKE_FEISHU_APP "\",\"app_secret\":\"wrong\"}");
    token[0] = '\0';
    refused(400, 99991661, "GET", "/open-apis/bot/v3/info", NULL);
    json_decref(call_as("nonsense", 400, 99991671, "GET", "/open-apis/bot/v3/info", NULL));
    json_decref(call_as("t-unknown", 400, 99991663, "GET", "/open-apis/bot/v3/info", NULL));
    log_in();
    memcpy(first, token, sizeof first);
    json_t *bot = accepted("GET", "/open-apis/bot/v3/info", NULL);
    CHECK_TEXT(FAKE_FEISHU_BOT, talk_text(json_object_get(bot, "bot"), "open_id"));
    json_decref(bot);
    log_in();
    CHECK_TEXT(first, token); /* more than half an hour is left: the same again */
    platform_tell(&feishu, "{s:s,s:i}", "do", "tokens", "renew_s", 8000);
    log_in();
    CHECK(strcmp(first, token) != 0);
    json_decref(call_as(first, 200, 0, "GET", "/open-apis/bot/v3/info", NULL)); /* both are good */
    json_decref(accepted("GET", "/open-apis/bot/v3/info", NULL));
    platform_tell(&feishu, "{s:s,s:s,s:s}", "do", "fault", "method", "bot", "kind", "token");
    refused(400, 99991663, "GET", "/open-apis/bot/v3/info", NULL);
    refused(400, 99991663, "GET", "/open-apis/bot/v3/info", NULL); /* and it stays so */
    log_in();
    json_decref(accepted("GET", "/open-apis/bot/v3/info", NULL));
    platform_tell(&feishu, "{s:s}", "do", "expire_tokens");
    platform_tell(&feishu, "{s:s,s:i,s:i}", "do", "tokens", "life_s", 0, "renew_s", 1);
    log_in();
    refused(400, 99991663, "GET", "/open-apis/bot/v3/info", NULL);
    stop();
}

static void messages_are_checked(void)
{
    start();
    log_in();
    (void)sent("oc_ann", "text", "{\"text\":\"hi <at user_id=\\\"ou_ann\\\">Ann</at>\"}", NULL);
    unsent(230001, "text", "{\"text\":\"\"}");
    unsent(230001, "text", "no json");
    unsent(230001, "text", "{\"text\":\"<at user_id=\\\"ou_who\\\"></at>\"}");
    unsent(230001, "dance", "{\"text\":\"a\"}");
    (void)sent("oc_ann", "post",
               "{\"zh_cn\":{\"title\":\"t\",\"content\":[[{\"tag\":\"md\",\"text\":\"**b**\"}]]}}",
               NULL);
    unsent(230001, "post",
           "{\"zh_cn\":{\"content\":[[{\"tag\":\"md\",\"text\":\"a\"},{\"tag\":\"text\",\"text\":"
           "\"b\"}]]}}");
    unsent(230001, "post", "{\"content\":[[]]}");
    unsent(230001, "post", "{\"en_us\":{\"content\":[[{\"tag\":\"blink\"}]]}}");
    unsent(230001, "image", "{\"image_key\":\"img_none\"}");
    refused(400, 230034, "POST", SEND,
            "{\"receive_id\":\"oc_nowhere\",\"msg_type\":\"text\",\"content\":\"{\\\"text\\\":"
            "\\\"a\\\"}\"}");
    refused(400, 99992402, "POST", "/open-apis/im/v1/messages", "{\"receive_id\":\"oc_ann\"}");
    refused(400, 230001, "POST", SEND,
            "{\"receive_id\":\"oc_ann\",\"msg_type\":\"text\",\"content\":{\"text\":\"a\"}}");
    refused(400, 9499, "POST", SEND, "{");
    char *body = body_of("oc_ann", "text", "{\"text\":\"a\"}",
                         "123456789012345678901234567890123456789012345678901");
    refused(400, 99992402, "POST", SEND, body);
    free(body);
    CHECK_INT(2, counter("sent"));
    stop();
}

static void sizes_are_limited(void)
{
    char *text = malloc(160 * 1024), *content = malloc(170 * 1024);
    CHECK(text != NULL && content != NULL);
    start();
    log_in();
    memset(text, 'a', 150 * 1024);
    text[149 * 1024] = '\0';
    snprintf(content, 170 * 1024, "{\"text\":\"%s\"}", text);
    (void)sent("oc_ann", "text", content, NULL);
    text[149 * 1024] = 'a';
    text[150 * 1024] = '\0';
    snprintf(content, 170 * 1024, "{\"text\":\"%s\"}", text);
    unsent(230025, "text", content);
    text[30 * 1024] = '\0';
    snprintf(
        content, 170 * 1024,
        "{\"schema\":\"2.0\",\"body\":{\"elements\":[{\"tag\":\"markdown\",\"content\":\"%s\"}]}}",
        text);
    unsent(230025, "interactive", content);
    free(text);
    free(content);
    stop();
}

#define CARD(elements)                                                                             \
    "{\"schema\":\"2.0\",\"config\":{\"update_multi\":true},\"body\":{\"elements\":[" elements "]" \
    "}"                                                                                            \
    "}"
#define TABLE "|a|b|\\n|--|--|\\n|1|2|\\n\\n"

static void cards_are_checked(void)
{
    start();
    log_in();
    (void)sent("oc_ann", "interactive",
               CARD("{\"tag\":\"markdown\",\"element_id\":\"md_1\",\"content\":\"" TABLE TABLE TABLE
                    "\"}"),
               NULL);
    (void)sent("oc_ann", "interactive",
               "{\"config\":{\"update_multi\":true},\"elements\":[{\"tag\":\"action\",\"actions\":["
               "{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":\"Yes\"},"
               "\"value\":{\"k\":1}}]}]}",
               NULL);
    unsent(230099, "interactive", "not json");
    unsent(230099, "interactive",
           CARD("{\"tag\":\"markdown\",\"content\":\"" TABLE TABLE TABLE TABLE "\"}"));
    unsent(230099, "interactive", CARD("{\"tag\":\"action\",\"actions\":[]}"));
    unsent(230099, "interactive", CARD("{\"tag\":\"note\",\"elements\":[]}"));
    unsent(230099, "interactive", CARD("{\"tag\":\"marquee\"}"));
    unsent(230099, "interactive",
           CARD("{\"tag\":\"markdown\",\"content\":\"![x](https://elsewhere/x.png)\"}"));
    unsent(230099, "interactive",
           CARD("{\"tag\":\"markdown\",\"element_id\":\"1st\",\"content\":\"a\"}"));
    unsent(230099, "interactive",
           CARD("{\"tag\":\"hr\",\"element_id\":\"a\"},{\"tag\":\"hr\",\"element_id\":\"a\"}"));
    unsent(230099, "interactive",
           CARD("{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":\"Yes\"},"
                "\"value\":{\"k\":1}}"));
    unsent(230099, "interactive",
           CARD("{\"tag\":\"button\",\"type\":\"huge\",\"text\":{\"tag\":\"plain_text\","
                "\"content\":\"Yes\"}}"));
    unsent(230099, "interactive", "{\"schema\":\"2.0\",\"elements\":[]}");
    unsent(230099, "interactive",
           "{\"schema\":\"2.0\",\"header\":{\"template\":\"pink\"},\"body\":{\"elements\":[]}}");
    stop();
}

static void uuids_make_messages_single(void)
{
    char first[64];
    start();
    log_in();
    snprintf(first, sizeof first, "%s", sent("oc_ann", "text", "{\"text\":\"once\"}", "u1"));
    CHECK_TEXT(first, sent("oc_ann", "text", "{\"text\":\"once\"}", "u1"));
    CHECK_INT(1, counter("sent"));
    CHECK_INT(1, counter("repeats"));
    CHECK(strcmp(first, sent("oc_ann", "text", "{\"text\":\"once\"}", "u2")) != 0);
    platform_tell(&feishu, "{s:s,s:i}", "do", "uuid_life", "ms", 0);
    CHECK(strcmp(first, sent("oc_ann", "text", "{\"text\":\"once\"}", "u1")) !=
          0); /* an hour later */
    stop();
}

static void replies_and_changes_are_checked(void)
{
    static const char reply[] =
        "{\"msg_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"r\\\"}\",\"reply_in_thread\":true}",
                      card[] = "{\"content\":\"{\\\"config\\\":{\\\"update_multi\\\":true},"
                               "\\\"elements\\\":[]}\"}";
    char path[160], plain[64], shared[64];
    start();
    log_in();
    json_t *said = platform_do(&feishu, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", "oc_ann", "user",
                               "ou_ann", "text", "hi");
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/reply",
             talk_text(said, "message_id"));
    json_t *answer = accepted("POST", path, reply);
    CHECK_TEXT(talk_text(said, "message_id"),
               talk_text(json_object_get(answer, "data"), "parent_id"));
    CHECK(strncmp(talk_text(json_object_get(answer, "data"), "thread_id"), "omt_", 4) == 0);
    json_decref(answer);
    platform_tell(&feishu, "{s:s,s:s,s:b}", "do", "recall", "message_id",
                  talk_text(said, "message_id"), "quietly", 1);
    refused(400, 230011, "POST", path, reply);
    refused(400, 231003, "POST", "/open-apis/im/v1/messages/om_unknown/reply", reply);
    refused(400, 230001, "POST", "/open-apis/im/v1/messages/unknown/reply", reply);
    snprintf(plain, sizeof plain, "%s", sent("oc_ann", "text", "{\"text\":\"a\"}", NULL));
    snprintf(shared, sizeof shared, "%s",
             sent("oc_ann", "interactive", CARD("{\"tag\":\"hr\"}"), NULL));
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s", plain);
    refused(400, 230001, "PATCH", path, card); /* no card */
    json_decref(
        accepted("PUT", path, "{\"msg_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"b\\\"}\"}"));
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s", shared);
    json_decref(accepted("PATCH", path, card));
    refused(400, 230001, "PATCH", path,
            "{\"content\":\"{\\\"elements\\\":[]}\"}"); /* update_multi is gone */
    refused(400, 230054, "PUT", path,
            "{\"msg_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"b\\\"}\"}");
    platform_tell(&feishu, "{s:s,s:i}", "do", "rates", "edit_per_second", 1);
    json_decref(accepted("PATCH", path, card));
    refused(400, 230020, "PATCH", path, card);
    json_decref(accepted("DELETE", path, NULL));
    refused(400, 230011, "PATCH", path, card);
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s", talk_text(said, "message_id"));
    refused(400, 230011, "DELETE", path, NULL);
    json_decref(said);
    stop();
}

static void rooms_say_who_may_speak(void)
{
    static const char body[] = "{\"receive_id\":\"oc_team\",\"msg_type\":\"text\",\"content\":\"{"
                               "\\\"text\\\":\\\"a\\\"}\"}",
                      bob[] = "{\"receive_id\":\"oc_bob\",\"msg_type\":\"text\",\"content\":\"{"
                              "\\\"text\\\":\\\"a\\\"}\"}";
    start();
    log_in();
    json_t *chat = accepted("GET", "/open-apis/im/v1/chats/oc_team?user_id_type=open_id", NULL);
    const json_t *data = json_object_get(chat, "data");
    CHECK_TEXT("ou_bob", talk_text(data, "owner_id"));
    CHECK_TEXT("ou_ann",
               json_string_value(json_array_get(json_object_get(data, "user_manager_id_list"), 0)));
    json_decref(chat);
    refused(400, 232006, "GET", "/open-apis/im/v1/chats/oc_nowhere", NULL);
    platform_tell(&feishu, "{s:s,s:s}", "do", "mute", "chat", "oc_team");
    refused(400, 230018, "POST", SEND, body);
    platform_tell(&feishu, "{s:s,s:s,s:s}", "do", "bot_removed", "chat", "oc_team", "user",
                  "ou_bob");
    refused(400, 230002, "POST", SEND, body);
    refused(400, 232011, "GET", "/open-apis/im/v1/chats/oc_team", NULL);
    platform_tell(&feishu, "{s:s,s:s}", "do", "dissolve", "chat", "oc_team");
    refused(400, 232009, "POST", SEND, body);
    platform_tell(&feishu, "{s:s,s:s}", "do", "stop", "user", "ou_bob");
    refused(400, 230053, "POST", SEND, bob);
    platform_tell(&feishu, "{s:s,s:s,s:b}", "do", "stop", "user", "ou_bob", "on", 0);
    platform_tell(&feishu, "{s:s,s:i}", "do", "rates", "chat_per_second", 1);
    json_decref(accepted("POST", SEND, bob));
    refused(400, 230020, "POST", SEND, bob);
    platform_tell(&feishu, "{s:s,s:i,s:i}", "do", "rates", "chat_per_second", 0, "app_per_second",
                  1);
    json_decref(accepted("POST", SEND, bob));
    refused(429, 99991400, "POST", SEND, bob);
    platform_tell(&feishu, "{s:s,s:b}", "do", "disable", "on", 1);
    refused(400, 99991662, "POST", SEND, bob);
    stop();
}

/* -- files ------------------------------------------------------------------------------------- */
static json_t *upload(int64_t code, const char *path, const char *fields, const char *part,
                      const char *bytes, size_t len)
{
    struct sma_buf body;
    char headers[256];
    sma_buf_init(&body, 64u << 20);
    sma_buf_printf(
        &body, "%s--XX\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"a.bin\"\r\n\r\n",
        fields, part);
    sma_buf_put(&body, bytes, len);
    sma_buf_put_text(&body, "\r\n--XX--\r\n");
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=XX\r\n",
             token);
    struct http_answer answer = http_call(port, "POST", path, headers, body.ptr, body.len, 20000);
    json_t *tree = answer.body == NULL ? NULL : json_loadb(answer.body, answer.len, 0, NULL);
    CHECK_INT(code, platform_number(tree, "code", -1));
    http_answer_fini(&answer);
    sma_buf_fini(&body);
    return tree;
}

#define FIELD(name, value) \
    "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"

static void files_are_checked(void)
{
    char content[160], path[256];
    size_t huge = 10u * 1024 * 1024 + 1;
    char *bytes = calloc(1, huge);
    CHECK(bytes != NULL);
    start();
    log_in();
    json_t *image =
        upload(0, "/open-apis/im/v1/images", FIELD("image_type", "message"), "image", "PNG", 3);
    const char *key = talk_text(json_object_get(image, "data"), "image_key");
    snprintf(content, sizeof content, "{\"image_key\":\"%s\"}", key);
    (void)sent("oc_ann", "image", content, NULL);
    snprintf(path, sizeof path, "/open-apis/im/v1/images/%s", key);
    char headers[200];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    struct http_answer answer = http_call(port, "GET", path, headers, NULL, 0, 5000);
    CHECK_INT(200, answer.status);
    CHECK_TEXT("PNG", answer.body);
    http_answer_fini(&answer);
    json_decref(
        upload(234001, "/open-apis/im/v1/images", FIELD("image_type", "other"), "image", "PNG", 3));
    json_decref(
        upload(234010, "/open-apis/im/v1/images", FIELD("image_type", "message"), "image", "", 0));
    json_decref(upload(234006, "/open-apis/im/v1/images", FIELD("image_type", "message"), "image",
                       bytes, huge));
    json_decref(upload(234001, "/open-apis/im/v1/files",
                       FIELD("file_type", "exe") FIELD("file_name", "a"), "file", "x", 1));
    json_t *file = upload(0, "/open-apis/im/v1/files",
                          FIELD("file_type", "pdf") FIELD("file_name", "a.pdf"), "file", "x", 1);
    snprintf(content, sizeof content, "{\"file_key\":\"%s\"}",
             talk_text(json_object_get(file, "data"), "file_key"));
    (void)sent("oc_ann", "file", content, NULL);
    unsent(230055, "audio", content);
    json_decref(file);
    json_t *said =
        platform_do(&feishu, "{s:s,s:s,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat", "oc_ann", "user",
                    "ou_ann", "file", "kind", "file", "name", "b.txt", "text", "what Ann wrote");
    json_t *list = platform_do(&feishu, "{s:s,s:s}", "do", "list", "chat", "oc_ann");
    json_t *messages = json_object_get(list, "messages");
    json_t *raw = json_loads(
        talk_text(json_array_get(messages, json_array_size(messages) - 1), "raw"), 0, NULL);
    const char *theirs = talk_text(raw, "file_key");
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/resources/%s?type=file",
             talk_text(said, "message_id"), theirs);
    answer = http_call(port, "GET", path, headers, NULL, 0, 5000);
    CHECK_INT(200, answer.status);
    CHECK_TEXT("what Ann wrote", answer.body);
    http_answer_fini(&answer);
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/resources/%s?type=image",
             talk_text(said, "message_id"), theirs);
    refused(400, 234001, "GET", path, NULL);
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/resources/%s?type=file",
             talk_text(said, "message_id"), key);
    refused(400, 234003, "GET", path, NULL);
    snprintf(path, sizeof path, "/open-apis/im/v1/files/%s", theirs);
    refused(400, 234008, "GET", path, NULL);
    json_decref(raw);
    json_decref(image);
    json_decref(list);
    json_decref(said);
    free(bytes);
    stop();
}

static void calls_meet_weather(void)
{
    static const char *const none[] = {"close", "lose_answer", "cut"};
    static const char body[] = "{\"receive_id\":\"oc_ann\",\"msg_type\":\"text\",\"content\":\"{"
                               "\\\"text\\\":\\\"a\\\"}\"}";
    char headers[256];
    start();
    log_in();
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nContent-Type: application/json\r\n", token);
    for (size_t i = 0; i < SMA_COUNT_OF(none); i++) {
        platform_tell(&feishu, "{s:s,s:s,s:s,s:s}", "do", "fault", "method", "send", "kind",
                      none[i], "chat", "oc_ann");
        struct http_answer answer =
            http_call(port, "POST", SEND, headers, body, strlen(body), 5000);
        CHECK_INT(0, answer.status);
    }
    CHECK_INT(2, counter("sent")); /* the answer was lost, the message was not */
    platform_tell(&feishu, "{s:s,s:s,s:s}", "do", "fault", "method", "send", "kind", "half_open");
    struct http_answer answer = http_call(port, "POST", SEND, headers, body, strlen(body), 50);
    CHECK_INT(0, answer.status);
    platform_tell(&feishu, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "send", "kind", "slow",
                  "bytes", 97);
    json_decref(accepted("POST", SEND, body));
    platform_tell(&feishu, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "send", "kind", "delay",
                  "ms", 30);
    long long began = process_now_ms();
    json_decref(accepted("POST", SEND, body));
    CHECK(process_now_ms() - began >= 29);
    platform_tell(&feishu, "{s:s,s:s,s:s,s:i,s:I}", "do", "fault", "method", "send", "kind",
                  "status", "status", 400, "code", (json_int_t)230020);
    refused(400, 230020, "POST", SEND, body);
    platform_tell(&feishu, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "send", "kind",
                  "status", "status", 429, "seconds", 7);
    answer = http_call(port, "POST", SEND, headers, body, strlen(body), 5000);
    CHECK_INT(429, answer.status);
    http_answer_fini(&answer);
    platform_tell(&feishu, "{s:s,s:s,s:s}", "do", "fault", "method", "send", "kind", "html");
    answer = http_call(port, "POST", SEND, headers, body, strlen(body), 5000);
    CHECK_INT(502, answer.status);
    http_answer_fini(&answer);
    CHECK_INT(4, counter("sent"));
    CHECK_INT(0, counter("faults_left"));
    CHECK_INT(0, counter("complaints"));
    stop();
}

int main(void)
{
    RUN(tokens_are_checked_and_overlap);
    RUN(messages_are_checked);
    RUN(sizes_are_limited);
    RUN(cards_are_checked);
    RUN(uuids_make_messages_single);
    RUN(replies_and_changes_are_checked);
    RUN(rooms_say_who_may_speak);
    RUN(files_are_checked);
    RUN(calls_meet_weather);
    return check_summary();
}
