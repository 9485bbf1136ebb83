/* telegram_in_event.c — what every event has (chat, person, numbers), and the updates that are no
 * messages. */
#include "telegram_in_priv.h"

#include <inttypes.h>
#include <stdio.h>

struct sma_str telegram_in_number(char field[TELEGRAM_ID_TEXT_BYTES], int64_t number)
{
    int len = snprintf(field, TELEGRAM_ID_TEXT_BYTES, "%" PRIi64, number);
    return (struct sma_str){field, (size_t)len};
}

const char *telegram_in_read_chat(const json_t *object, struct telegram_chat *ret_chat)
{
    const json_t *chat = telegram_in_object(object, "chat");
    struct sma_str type = telegram_in_str(chat, "type");
    int64_t id = telegram_in_int(chat, "id");
    bool is_private = sma_str_is_equal(type, SMA_STR("private"));
    if (id == 0)
        return SMA_WHY_MALFORMED "a chat without an id";
    if (sma_str_is_equal(type, SMA_STR("channel")))
        return SMA_WHY_UNSUPPORTED "from a channel";
    if (!is_private && !sma_str_is_equal(type, SMA_STR("group")) &&
        !sma_str_is_equal(type, SMA_STR("supergroup")))
        return SMA_WHY_UNSUPPORTED "a chat of an unknown type";
    /* A chat is what all its flags say: one with a flag of no rule is none that is known. */
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)chat, key,
                        value) if (strncmp(key, "is_", 3) == 0 && json_is_true(value) &&
                                   strcmp(key, "is_forum") != 0 &&
                                   strcmp(key, "is_direct_messages") !=
                                       0) return SMA_WHY_UNSUPPORTED
        "a chat with a flag that has no rule yet";
    bool is_direct = telegram_in_true(chat, "is_direct_messages");
    if (is_direct && telegram_in_thread(object) <= 0)
        return SMA_WHY_UNSUPPORTED "a direct message of a channel without its topic";
    *ret_chat = (struct telegram_chat){.id = id,
                                       .type = is_direct ? SMA_STR(TELEGRAM_DIRECT) : type,
                                       .is_private = is_private || is_direct,
                                       .is_direct = is_direct};
    return NULL;
}

static const char *channel_of(const struct telegram_in *in)
{
    return in->options->home == NULL ? "telegram" : in->options->home->name;
}

static struct sma_str put_chat_key(const struct telegram_in *in,
                                   char field[TELEGRAM_KEY_TEXT_BYTES], int64_t chat_id,
                                   int64_t thread_id)
{
    int len = snprintf(field, TELEGRAM_KEY_TEXT_BYTES, "%s:chat:%" PRIi64, channel_of(in), chat_id);
    if (thread_id > 0)
        len += snprintf(field + len, TELEGRAM_KEY_TEXT_BYTES - (size_t)len, ":topic:%" PRIi64,
                        thread_id);
    return (struct sma_str){field, (size_t)len};
}

void telegram_in_put_chat(struct telegram_in *in, const struct telegram_chat *chat,
                          int64_t thread_id, struct sma_ingress *ingress)
{
    struct sma_route *route = &ingress->route;
    route->adapter = in->options->adapter;
    route->channel = sma_str(channel_of(in));
    route->chat_key = put_chat_key(in, in->chat_key, chat->id, thread_id);
    route->chat_id = telegram_in_number(in->chat_id, chat->id);
    route->chat_type = chat->type;
    if (thread_id > 0)
        route->thread_id = telegram_in_number(in->thread_id, thread_id);
    ingress->is_group = !chat->is_private;
}

/* "First Last" into `name`. No '@' in it: what stands behind one is a handle, which is given
 * once. */
static void put_display_name(struct sma_buf *name, const json_t *user)
{
    static const char *const parts[] = {"first_name", "last_name"};
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        struct sma_str part = sma_str_trim(telegram_in_str(user, parts[i]));
        part.len = sma_utf8_cut(part, TELEGRAM_QUOTED_NAME_BYTES_MAX / 2);
        if (part.len > 0 && name->len > 0)
            sma_buf_put_char(name, ' ');
        for (size_t j = 0; j < part.len; j++)
            sma_buf_put_char(
                name, (unsigned char)part.ptr[j] < ' ' || part.ptr[j] == '@' ? ' ' : part.ptr[j]);
    }
}

void telegram_in_put_user(struct telegram_in *in, const json_t *user, struct sma_ingress *ingress)
{
    struct sma_route *route = &ingress->route;
    struct sma_str handle = telegram_in_str(user, "username");
    struct sma_str language = telegram_in_str(user, "language_code");
    if (telegram_in_int(user, "id") > 0)
        route->user_id = telegram_in_number(in->user_id, telegram_in_int(user, "id"));
    put_display_name(&in->name, user);
    size_t display_len = in->name.len;
    handle.len = sma_utf8_cut(handle, SMA_NAME_BYTES_MAX / (display_len > 0 ? 2 : 1));
    if (display_len == 0) {
        sma_buf_put_str(&in->name, handle);
    } else if (handle.len > 0) {
        sma_buf_put_text(&in->name, " (@");
        sma_buf_put_str(&in->name, handle);
        sma_buf_put_char(&in->name, ')');
    }
    route->user_name = sma_buf_str(&in->name);
    ingress->display_name = (struct sma_str){route->user_name.ptr, display_len};
    ingress->handle = handle;
    if (language.len <= 35) /* the longest tag of RFC 5646 that is not made up */
        route->language = language;
}

int64_t telegram_in_thread(const json_t *message)
{
    int64_t thread_id = telegram_in_int(message, "message_thread_id");
    const json_t *direct = telegram_in_object(message, "direct_messages_topic");
    if (telegram_in_int(direct, "topic_id") > 0)
        return telegram_in_int(direct, "topic_id");
    return telegram_in_true(message, "is_topic_message") && thread_id > 0 ? thread_id : 0;
}

int64_t telegram_in_date_ms(const struct telegram_in *in, int64_t date_s)
{
    int64_t now = in->options->now_wall_ms;
    return date_s <= 0 || date_s > now / 1000 ? now : date_s * 1000;
}

void telegram_in_put_meta(struct telegram_in *in, const struct telegram_chat *chat,
                          int64_t thread_id, size_t file_count, struct sma_ingress *ingress)
{
    struct sma_buf *buf = &in->meta;
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "chatType");
    sma_buf_put_json_string(buf, chat->type);
    if (thread_id > 0) {
        sma_buf_put_json_key(buf, "messageThreadId");
        sma_buf_put_i64(buf, thread_id);
    }
    if (ingress->handle.len > 0) {
        sma_buf_put_json_key(buf, "username");
        sma_buf_put_json_string(buf, ingress->handle);
    }
    if (ingress->display_name.len > 0) {
        sma_buf_put_json_key(buf, "name");
        sma_buf_put_json_string(buf, ingress->display_name);
    }
    if (file_count > 0) {
        sma_buf_put_json_key(buf, "attachments");
        sma_buf_put_u64(buf, file_count);
    }
    sma_buf_put_char(buf, '}');
    ingress->meta_json = sma_buf_str(buf);
}

struct sma_str telegram_in_put_key(struct telegram_in *in, const char *prefix, int64_t number)
{
    int len = snprintf(in->event_key, sizeof in->event_key, "%s%" PRIi64, prefix, number);
    return (struct sma_str){in->event_key, (size_t)len};
}

/* -- buttons ----------------------------------------------------------------------------------- */

const char *telegram_in_take_callback(struct telegram_in *in, const json_t *query,
                                      struct telegram_event *event)
{
    struct sma_ingress *ingress = &event->ingress;
    struct sma_str id = telegram_in_str(query, "id"), data = telegram_in_str(query, "data");
    const json_t *message = telegram_in_object(query, "message");
    const json_t *from = telegram_in_object(query, "from");
    struct telegram_chat chat;
    if (id.len == 0 || id.len > SMA_ID_BYTES_MAX)
        return SMA_WHY_MALFORMED "a button press without an id";
    event->callback_id = id;
    if (telegram_in_int(from, "id") <= 0)
        return SMA_WHY_NO_AUTHOR "a button press of nobody";
    if (message == NULL)
        return SMA_WHY_UNSUPPORTED "a button of an inline message";
    if (data.len == 0)
        return SMA_WHY_EMPTY "a button without data";
    if (data.len > TELEGRAM_CALLBACK_BYTES_MAX)
        return SMA_WHY_LIMIT "a button's data is over the limit";
    const char *why = telegram_in_read_chat(message, &chat);
    if (why != NULL)
        return why;
    int64_t thread_id = telegram_in_thread(message),
            message_id = telegram_in_int(message, "message_id");
    telegram_in_put_chat(in, &chat, thread_id, ingress);
    telegram_in_put_user(in, from, ingress);
    telegram_in_put_meta(in, &chat, thread_id, 0, ingress);
    if (message_id > 0)
        ingress->route.message_id = telegram_in_number(in->message_id, message_id);
    ingress->kind = SMA_EVENT_CALLBACK;
    ingress->event_key = id;
    ingress->text = data;
    ingress->addressed = chat.is_private ? SMA_ADDRESSED_PRIVATE : SMA_ADDRESSED_MENTION;
    ingress->wall_ms = in->options->now_wall_ms; /* the date is the message's, not the press's */
    return NULL;
}

/* -- coming and going -------------------------------------------------------------------------- */
static const char *status_of(const json_t *member)
{
    static const char *const known[] = {"creator",    "administrator", "member",
                                        "restricted", "left",          "kicked"};
    struct sma_str status = telegram_in_str(member, "status");
    for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
        if (sma_str_is_equal(status, sma_str(known[i])))
            return known[i];
    return "unknown";
}

/* Restricted ones are in it or not, and the platform says which. */
static bool is_in(const json_t *member)
{
    const char *status = status_of(member);
    return strcmp(status, "creator") == 0 || strcmp(status, "administrator") == 0 ||
           strcmp(status, "member") == 0 ||
           (strcmp(status, "restricted") == 0 &&
            json_is_true(json_object_get(member, "is_member")));
}

/* It has come into a group, from outside. Channels are no place for a greeting: everybody who
 * subscribes would read it. */
static bool has_joined(const struct telegram_chat *chat, const json_t *change)
{
    const json_t *old = telegram_in_object(change, "old_chat_member");
    const char *before = status_of(old);
    bool was_out = strcmp(before, "left") == 0 || strcmp(before, "kicked") == 0 ||
                   (strcmp(before, "restricted") == 0 && !is_in(old));
    bool is_group = sma_str_is_equal(chat->type, SMA_STR("group")) ||
                    sma_str_is_equal(chat->type, SMA_STR("supergroup"));
    return is_group && was_out && is_in(telegram_in_object(change, "new_chat_member"));
}

const char *telegram_in_take_member(struct telegram_in *in, const json_t *change,
                                    struct telegram_event *event)
{
    struct sma_ingress *ingress = &event->ingress;
    struct telegram_chat chat;
    const char *why = telegram_in_read_chat(change, &chat);
    if (why != NULL)
        return why;
    if (event->update_id == 0)
        return SMA_WHY_MALFORMED "a change of membership without an update id";
    int64_t date_s = telegram_in_int(change, "date");
    telegram_in_put_chat(in, &chat, 0, ingress);
    telegram_in_put_user(in, telegram_in_object(change, "from"), ingress);
    telegram_in_put_meta(in, &chat, 0, 0, ingress);
    sma_buf_printf(&in->context, "This bot's place in the chat changed from %s to %s.",
                   status_of(telegram_in_object(change, "old_chat_member")),
                   status_of(telegram_in_object(change, "new_chat_member")));
    ingress->context = sma_buf_str(&in->context);
    ingress->kind = SMA_EVENT_NOTE;
    ingress->addressed = SMA_ADDRESSED_NONE;
    ingress->event_key = telegram_in_put_key(in, "u", event->update_id);
    ingress->wall_ms = telegram_in_date_ms(in, date_s);
    ingress->has_joined = has_joined(&chat, change);
    if (ingress->has_joined && date_s > 0 && date_s < INT64_MAX / 1000)
        ingress->sent_ms = date_s * 1000;
    return NULL;
}

/* The old group says where it went, the new one where it came from; either may come alone, and one
 * is enough. */
const char *telegram_in_take_migration(struct telegram_in *in, const json_t *message,
                                       struct telegram_event *event)
{
    struct sma_ingress *ingress = &event->ingress;
    struct telegram_chat chat;
    const char *why = telegram_in_read_chat(message, &chat);
    if (why != NULL)
        return why;
    int64_t to = telegram_in_int(message, "migrate_to_chat_id");
    int64_t from = to != 0 ? chat.id : telegram_in_int(message, "migrate_from_chat_id");
    to = to != 0 ? to : chat.id;
    if (from >= 0 || to >= 0 || from == to || chat.is_private)
        return SMA_WHY_MALFORMED "a migration without both chats";
    chat = (struct telegram_chat){.id = to, .type = SMA_STR("supergroup")};
    telegram_in_put_chat(in, &chat, 0, ingress);
    telegram_in_put_user(in, telegram_in_object(message, "from"), ingress);
    telegram_in_put_meta(in, &chat, 0, 0, ingress);
    ingress->kind = SMA_EVENT_NOTE;
    ingress->addressed = SMA_ADDRESSED_NONE;
    ingress->migrated_from = put_chat_key(in, in->old_key, from, 0);
    ingress->event_key = telegram_in_put_key(in, "migrate:", from);
    ingress->wall_ms = telegram_in_date_ms(in, telegram_in_int(message, "date"));
    return NULL;
}
