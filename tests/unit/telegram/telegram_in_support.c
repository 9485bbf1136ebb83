/* telegram_in_support.c — see the header. */
#include "telegram_in_support.h"

#include "sma/text.h"

struct telegram_bot test_bot = {.id = BOT_ID, .username = {"helper_bot", 10}};
struct telegram_in_options test_options = {
    .bot = &test_bot, .adapter = 17, .now_wall_ms = NOW_MS, .read_ns = 4711};

static void copy(char *field, size_t size, struct sma_str text)
{
    CHECK(text.len < size);
    CHECK(text.len == 0 || text.ptr != NULL);
    if (text.len > 0)
        memcpy(field, text.ptr, text.len);
    field[text.len] = '\0';
}

void keep(void *user, const struct telegram_event *event)
{
    struct seen *seen = user;
    const struct sma_ingress *in = &event->ingress;
    unsigned count = seen->count + 1;
    memset(seen, 0, sizeof *seen);
    seen->count = count;
    seen->update_id = event->update_id;
    seen->is_ingress = event->kind == TELEGRAM_INGRESS;
    seen->why = event->why;
    CHECK(seen->why != NULL && (seen->why[0] == '\0') == seen->is_ingress);
    CHECK(in->stamps.read_ns == 4711);
    copy(seen->callback_id, sizeof seen->callback_id, event->callback_id);
#define COPY(name, slice) copy(seen->name, sizeof seen->name, slice)
    if (!seen->is_ingress) {
        COPY(chat_key, event->chat_key);
        COPY(user_id, event->user_id);
        COPY(message_id, event->message_id);
        return;
    }
    CHECK_STR("telegram", in->route.channel);
    CHECK(in->cursor_name.len == 0 && in->body_hash == 0);
    const struct sma_str all[] = {in->text, in->context, in->meta_json, in->preparation,
                                  in->route.user_name};
    for (size_t i = 0; i < SMA_COUNT_OF(all); i++)
        CHECK(sma_utf8_is_valid(all[i]));
    CHECK(in->kind != SMA_EVENT_MESSAGE || in->text.len > 0);
    CHECK(in->route.chat_key.len > 0 && in->event_key.len > 0);
    seen->adapter = in->route.adapter;
    seen->kind = in->kind;
    seen->control = in->control;
    seen->addressed = in->addressed;
    seen->wall_ms = in->wall_ms;
    seen->sent_ms = in->sent_ms;
    seen->is_record_only = in->is_record_only;
    seen->is_group = in->is_group;
    seen->has_joined = in->has_joined;
    seen->text_len = in->text.len;
    COPY(chat_key, in->route.chat_key);
    COPY(chat_id, in->route.chat_id);
    COPY(chat_type, in->route.chat_type);
    COPY(thread_id, in->route.thread_id);
    COPY(message_id, in->route.message_id);
    COPY(reply_to_id, in->reply_to_id);
    COPY(user_id, in->route.user_id);
    COPY(user_name, in->route.user_name);
    COPY(display_name, in->display_name);
    COPY(handle, in->handle);
    COPY(language, in->route.language);
    COPY(event_key, in->event_key);
    COPY(group_key, in->group_key);
    COPY(migrated_from, in->migrated_from);
    COPY(edit_of, in->change == SMA_CHANGE_EDIT ? in->target_id : SMA_STR(""));
    COPY(context, in->context);
    COPY(meta, in->meta_json);
    COPY(preparation, in->preparation);
#undef COPY
    struct sma_str head = {in->text.ptr, in->text.len < sizeof seen->text ? in->text.len : 0};
    copy(seen->text, sizeof seen->text, head);
}

void see(const char *json, struct seen *seen)
{
    struct sma_error error = {0};
    seen->count = 0;
    CHECK_OK(telegram_update_parse(&test_options, sma_str(json), keep, seen, &error));
    CHECK_INT(1, seen->count);
}

void see_message(const char *chat_type, const char *members, struct seen *seen)
{
    struct sma_buf json;
    bool is_private = strcmp(chat_type, "private") == 0;
    sma_buf_init(&json, 4 << 20);
    sma_buf_printf(
        &json,
        "{\"update_id\":1,\"message\":{\"message_id\":5,\"date\":1750000000,"
        "\"from\":{\"id\":1001,\"is_bot\":false,\"first_name\":\"Ann\",\"username\":\"ann\"},"
        "\"chat\":{\"id\":%s,\"type\":\"%s\",\"title\":\"Team\"}%s",
        is_private ? "1001" : "-100777", chat_type, members[0] == '\0' ? "" : ",");
    sma_buf_put_text(&json, members);
    sma_buf_put_text(&json, "}}");
    CHECK(json.err == SMA_ERR_OK);
    see(json.ptr, seen);
    sma_buf_fini(&json);
}
