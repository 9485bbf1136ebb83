/* event_support.h — events made and seen, for the tests of the event reader. */
#ifndef SMA_TEST_FEISHU_EVENT_SUPPORT_H
#define SMA_TEST_FEISHU_EVENT_SUPPORT_H

#include "adapters/feishu/feishu_event.h"
#include "adapters/feishu/feishu_frame.h"

#include "sma/limits.h"
#include "sma/text.h"
#include "vectors.h"

#define NOW_MS 1763755100000ll

/* What was told in the callback, copied: slices end with it. */
struct seen
{
    int count;
    enum feishu_event_kind kind;
    bool is_callback, is_group;
    uint8_t event_kind, control, addressed;
    int64_t wall_ms, joined_ms; /* joined_ms: when the bot came into the group; 0 = it did not */
    uint64_t read_ns;
    char why[128], type[128], id[128], chat_key[600], chat_id[600], chat_type[64], thread[64],
        message_id[600];
    bool is_whole;
    uint8_t change;
    char target_id[128];
    char user_id[128], user_alias[128], user_name[128], language[8], key[600], callback_token[64];
    char text[8192], context[2048], meta[512], preparation[16384];
    size_t text_len;
};

static inline void copy(char *to, size_t size, struct sma_str from)
{
    CHECK(from.len == 0 || from.ptr != NULL);
    size_t len = from.len < size ? from.len : size - 1;
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
}
#define COPY(field, slice) copy(seen->field, sizeof seen->field, (slice))

static inline void see(void *user, const struct feishu_event *event)
{
    struct seen *seen = user;
    const struct sma_ingress *ingress = &event->ingress;
    seen->count++;
    seen->kind = event->kind;
    seen->is_callback = event->is_callback;
    seen->is_group = ingress->is_group;
    seen->joined_ms = ingress->has_joined ? ingress->sent_ms : 0;
    seen->event_kind = ingress->kind;
    seen->control = ingress->control;
    seen->addressed = ingress->addressed;
    seen->wall_ms = ingress->wall_ms;
    seen->read_ns = ingress->stamps.read_ns;
    seen->text_len = ingress->text.len;
    COPY(why, sma_str(event->why));
    COPY(type, event->event_type);
    COPY(id, event->event_id);
    COPY(callback_token, event->callback_token);
    COPY(chat_key, ingress->route.chat_key);
    COPY(chat_id, ingress->route.chat_id);
    COPY(chat_type, ingress->route.chat_type);
    COPY(thread, ingress->route.thread_id);
    COPY(message_id, ingress->route.message_id);
    COPY(user_id, ingress->route.user_id);
    COPY(user_alias, ingress->user_alias);
    seen->is_whole = ingress->is_whole;
    seen->change = ingress->change;
    COPY(target_id, ingress->target_id);
    COPY(user_name, ingress->route.user_name);
    COPY(language, ingress->route.language);
    COPY(key, ingress->event_key);
    COPY(text, ingress->text);
    COPY(context, ingress->context);
    COPY(meta, ingress->meta_json);
    COPY(preparation, ingress->preparation);
    if (event->kind == FEISHU_EVENT_INGRESS) {
        CHECK(sma_utf8_is_valid(ingress->text) && sma_utf8_is_valid(ingress->context));
        CHECK_STR("feishu", ingress->route.channel);
        CHECK_INT(9, ingress->route.adapter);
    }
    CHECK((event->kind == FEISHU_EVENT_IGNORED) == (event->why[0] != '\0'));
}

static inline enum sma_err parse_bytes(struct sma_str body, struct seen *seen)
{
    struct feishu_event_options options = {.bot_open_id = SMA_STR("ou_bot"),
                                           .app_id = SMA_STR("cli_0123456789abcdef"),
                                           .adapter = 9,
                                           .now_wall_ms = NOW_MS,
                                           .read_ns = 77};
    struct sma_error error = {0};
    *seen = (struct seen){0};
    enum sma_err err = feishu_event_parse(&options, body, see, seen, &error);
    CHECK((err == SMA_ERR_OK) == (seen->count == 1));
    CHECK((err == SMA_ERR_OK) == (error.text[0] == '\0'));
    return err;
}

static inline struct seen parse(const char *body)
{
    struct seen seen;
    CHECK_OK(parse_bytes(sma_str(body), &seen));
    return seen;
}

/* A message of the new envelope. content: JSON; mentions: JSON list or NULL; more: further members,
 * begin with ',' */
static inline struct seen message(const char *chat_type, const char *type, const char *content,
                                  const char *mentions, const char *more)
{
    static char body[65536];
    struct sma_buf escaped;
    sma_buf_init(&escaped, sizeof body);
    sma_buf_put_json_string(&escaped, sma_str(content));
    CHECK_OK(escaped.err);
    int len =
        snprintf(body, sizeof body,
                 "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"ev_1\",\"event_type\":\"im."
                 "message.receive_v1\","
                 "\"create_time\":\"1763755000000\",\"token\":\"t\"},\"event\":{\"sender\":{"
                 "\"sender_id\":{\"open_id\":\"ou_user\","
                 "\"union_id\":\"on_user\",\"user_id\":\"u1\"},\"sender_type\":\"user\"},"
                 "\"message\":{\"message_id\":\"om_1\","
                 "\"create_time\":\"1763755000123\",\"chat_id\":\"oc_1\",\"chat_type\":\"%s\","
                 "\"message_type\":\"%s\","
                 "\"content\":%.*s%s%s%s}}}",
                 chat_type, type, (int)escaped.len, escaped.ptr,
                 mentions == NULL ? "" : ",\"mentions\":", mentions == NULL ? "" : mentions, more);
    CHECK(len > 0 && (size_t)len < sizeof body);
    sma_buf_fini(&escaped);
    return parse(body);
}

static const char BOT[] __attribute__((unused)) =
    "[{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"ou_bot\",\"user_id\":\"\"},\"name\":\"simbot\"}]";

#endif
