/*
 * fake_feishu_test.h — a fake Feishu with people in it, and calls to it; for the two tests of the
 * fake.
 */
#ifndef FAKE_FEISHU_TEST_H
#define FAKE_FEISHU_TEST_H

#include "feishu/fake_feishu.h"
#include "scenario/talk.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"

#define WAIT_MS PATIENCE_AWAIT_MS

static struct fake_feishu *fake;
static struct platform_client feishu;
static int port;
static char token[128];

static inline void start(void)
{
    fake = fake_feishu_start(0);
    feishu = fake_feishu_client(fake);
    port = fake_feishu_port(fake);
    platform_tell(&feishu, "{s:s,s:s,s:s}", "do", "user", "id", "ou_ann", "name", "Ann");
    platform_tell(&feishu, "{s:s,s:s,s:s}", "do", "user", "id", "ou_bob", "name", "Bob");
    platform_tell(&feishu, "{s:s,s:s,s:s,s:[s],s:[s,s]}", "do", "chat", "id", "oc_team", "owner",
                  "ou_bob", "managers", "ou_ann", "members", "ou_ann", "ou_bob");
    platform_tell(&feishu, "{s:s,s:i,s:i,s:i}", "do", "rates", "chat_per_second", 0,
                  "edit_per_second", 0, "app_per_second", 0);
}

static inline int64_t counter(const char *name)
{
    return platform_get(&feishu, name, "{s:s}", "do", "counters");
}

static inline void await_counter(const char *name, int64_t wanted)
{
    for (long long until = process_now_ms() + WAIT_MS;
         counter(name) != wanted && process_now_ms() < until;)
        process_pause_ms(1);
    CHECK_INT(wanted, counter(name));
}

static inline void stop(void)
{
    fake_feishu_stop(fake);
}

/* One complaint holding `part`, and no other. */
static inline void complained(const char *part)
{
    for (long long until = process_now_ms() + WAIT_MS;
         counter("complaints") == 0 && process_now_ms() < until;)
        process_pause_ms(1);
    json_t *list = platform_do(&feishu, "{s:s}", "do", "complaints");
    const json_t *complaints = json_object_get(list, "complaints");
    const char *text = json_string_value(json_array_get(complaints, 0));
    if (text == NULL || strstr(text, part) == NULL)
        fprintf(stderr, "complained: %s\n", text == NULL ? "nothing" : text);
    CHECK(text != NULL && strstr(text, part) != NULL);
    CHECK_INT(1, json_array_size(complaints));
    json_decref(list);
}

/* -- REST -------------------------------------------------------------------------------------- */
static inline json_t *call_as(const char *given, int status, int64_t code, const char *method,
                              const char *path, const char *body)
{
    char headers[256];
    snprintf(headers, sizeof headers, "Content-Type: application/json; charset=utf-8\r\n%s%s%s",
             given[0] == '\0' ? "" : "Authorization: Bearer ", given,
             given[0] == '\0' ? "" : "\r\n");
    struct http_answer answer =
        http_call(port, method, path, headers, body, body == NULL ? 0 : strlen(body), 20000);
    json_t *tree = answer.body == NULL ? NULL : json_loadb(answer.body, answer.len, 0, NULL);
    if (answer.status != status || platform_number(tree, "code", -1) != code)
        fprintf(stderr, "%s %s %.300s: %d %s\n", method, path, body == NULL ? "" : body,
                answer.status, answer.body == NULL ? "no answer" : answer.body);
    CHECK_INT(status, answer.status);
    CHECK(tree != NULL);
    CHECK_INT(code, platform_number(tree, "code", -1));
    http_answer_fini(&answer);
    return tree;
}

static inline void refused(int status, int64_t code, const char *method, const char *path,
                           const char *body)
{
    json_decref(call_as(token, status, code, method, path, body));
}

static inline json_t *accepted(const char *method, const char *path, const char *body)
{
    return call_as(token, 200, 0, method, path, body);
}

static inline void log_in(void)
{
    json_t *tree =
        call_as("", 200, 0, "POST", "/open-apis/auth/v3/tenant_access_token/internal",
                "{\"app_id\":\"" FAKE_FEISHU_APP "\",\"app_secret\":\"" FAKE_FEISHU_SECRET "\"}");
    snprintf(token, sizeof token, "%s", talk_text(tree, "tenant_access_token"));
    json_decref(tree);
}

#define SEND "/open-apis/im/v1/messages?receive_id_type=chat_id"

static inline char *body_of(const char *chat, const char *type, const char *content,
                            const char *uuid)
{
    json_t *tree = json_pack("{s:s,s:s,s:s,s:s*}", "receive_id", chat, "msg_type", type, "content",
                             content, "uuid", uuid);
    char *text = json_dumps(tree, JSON_COMPACT);
    json_decref(tree);
    return text;
}

/* @return id of the message; static */
static inline const char *sent(const char *chat, const char *type, const char *content,
                               const char *uuid)
{
    static char id[64];
    char *body = body_of(chat, type, content, uuid);
    json_t *tree = accepted("POST", SEND, body);
    snprintf(id, sizeof id, "%s", talk_text(json_object_get(tree, "data"), "message_id"));
    json_decref(tree);
    free(body);
    return id;
}

#define CARD(elements)                                                                             \
    "{\"schema\":\"2.0\",\"config\":{\"update_multi\":true},\"body\":{\"elements\":[" elements "]" \
    "}"                                                                                            \
    "}"

#endif
