/* qq_event.c — see qq_event.h. */
#include "qq_event_priv.h"

#include "sma/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const place_words[] = {"group", "c2c", "channel", "dm"};

struct sma_str qq_first_of(const json_t *object, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sma_str value = sma_json_str(object, keys[i]);
        if (value.len > 0)
            return value;
    }
    return SMA_STR("");
}

/* -- time -------------------------------------------------------------------------------------- */
/* RFC 3339, or Go's print form "2023-11-06 13:37:18 +0800 CST m=+…"; both begin alike. */
static bool read_calendar(struct sma_str text, int64_t *ret_ms)
{
    char copy[32] = "";
    int year, month, day, hour, minute, second;
    if (text.len < 19)
        return false;
    memcpy(copy, text.ptr, 19);
    if (sscanf(copy, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d", &year, &month, &day, &hour, &minute,
               &second) != 6)
        return false;
    struct tm date = {.tm_year = year - 1900,
                      .tm_mon = month - 1,
                      .tm_mday = day,
                      .tm_hour = hour,
                      .tm_min = minute,
                      .tm_sec = second};
    int64_t seconds = (int64_t)timegm(&date);
    for (size_t i = 19; i + 4 < text.len; i++) {
        if (text.ptr[i] != '+' && text.ptr[i] != '-')
            continue;
        int offset_hour = 0, offset_minute = 0;
        snprintf(copy, sizeof copy, "%.*s", (int)(text.len - i - 1 < 8 ? text.len - i - 1 : 8),
                 text.ptr + i + 1);
        if (sscanf(copy, "%2d:%2d", &offset_hour, &offset_minute) != 2 &&
            sscanf(copy, "%2d%2d", &offset_hour, &offset_minute) != 2)
            break;
        int64_t offset = offset_hour * 3600 + offset_minute * 60;
        seconds += text.ptr[i] == '+' ? -offset : offset;
        break;
    }
    *ret_ms = seconds * 1000;
    return true;
}

int64_t qq_timestamp_ms(const json_t *object)
{
    int64_t ms = 0;
    const json_t *stamp = sma_json_get(object, "timestamp");
    if (json_is_string(stamp) && read_calendar(sma_json_str_of(stamp), &ms))
        return ms > 0 ? ms : 0;
    return sma_json_int(object, "timestamp", 1, INT64_MAX / 1000, 0) * 1000;
}

static int64_t time_of(const struct qq_reading *in)
{
    int64_t now = in->options->now_wall_ms, ms = qq_timestamp_ms(in->data);
    return ms > 0 && ms <= now ? ms : now;
}

/* -- who and where ----------------------------------------------------------------------------- */
bool qq_is_id(struct sma_str id)
{
    return id.len > 0 && id.len <= SMA_ID_BYTES_MAX && memchr(id.ptr, '\0', id.len) == NULL;
}

bool qq_fill_route(struct qq_reading *in, enum qq_place place, struct sma_str chat_id,
                   struct sma_str user_id)
{
    if (!qq_is_id(chat_id) || user_id.len > SMA_ID_BYTES_MAX) {
        qq_ignore(in, SMA_WHY_MALFORMED "no usable chat id");
        return false;
    }
    const struct sma_home *home = in->options->home;
    const char *channel = home == NULL ? "qq" : home->name;
    sma_buf_printf(&in->chat_key, "%s:%s:", channel, place_words[place]);
    sma_buf_put_str(&in->chat_key, chat_id);
    struct sma_route *route = &in->event.ingress.route;
    route->adapter = in->options->adapter;
    route->channel = sma_str(channel);
    route->chat_key = sma_buf_str(&in->chat_key);
    route->chat_id = chat_id;
    route->chat_type = sma_str(place_words[place]);
    route->user_id = user_id;
    in->event.ingress.wall_ms = in->date_ms;
    in->event.ingress.stamps.read_ns = in->options->read_ns;
    in->event.ingress.is_group = place == QQ_PLACE_GROUP || place == QQ_PLACE_CHANNEL;
    return true;
}

/* -- everything else --------------------------------------------------------------------------- */
static void set_reply_event(struct qq_reading *in)
{
    struct sma_str prefix = SMA_STR(QQ_EVENT_REPLY_PREFIX);
    if (!qq_is_id(in->frame->id) || in->frame->id.len > SMA_ID_BYTES_MAX - prefix.len)
        return; /* nothing that an answer could name */
    sma_buf_put_str(&in->reply_id, prefix);
    sma_buf_put_str(&in->reply_id, in->frame->id);
    in->event.ingress.route.message_id = sma_buf_str(&in->reply_id);
}

static void read_interaction(struct qq_reading *in)
{
    struct sma_str group = sma_json_str(in->data, "group_openid"),
                   user = sma_json_str(in->data, "user_openid");
    struct sma_str channel = sma_json_str(in->data, "channel_id");
    const json_t *resolved = sma_json_get(sma_json_get(in->data, "data"), "resolved");
    struct sma_ingress *ingress = &in->event.ingress;
    in->event.interaction_id = sma_json_str(in->data, "id");
    if (!qq_is_id(in->event.interaction_id))
        in->event.interaction_id = SMA_STR("");
    ingress->event_key = qq_is_id(in->frame->id) ? in->frame->id : in->event.interaction_id;
    bool is_routed = group.len > 0  ? qq_fill_route(in, QQ_PLACE_GROUP, group,
                                                    sma_json_str(in->data, "group_member_openid"))
                     : user.len > 0 ? qq_fill_route(in, QQ_PLACE_C2C, user, user)
                                    : qq_fill_route(in, QQ_PLACE_CHANNEL, channel,
                                                    sma_json_str(resolved, "user_id"));
    if (!is_routed)
        return;
    ingress->kind = SMA_EVENT_CALLBACK;
    ingress->addressed =
        (uint8_t)(ingress->is_group ? SMA_ADDRESSED_MENTION : SMA_ADDRESSED_PRIVATE);
    ingress->text = sma_json_str(resolved, "button_data");
    if (!qq_is_id(ingress->event_key))
        qq_ignore(in, SMA_WHY_MALFORMED "a button press without id");
    else if (ingress->text.len > SMA_ID_BYTES_MAX)
        qq_ignore(in, SMA_WHY_LIMIT "a button press with more data than a button holds");
    else
        set_reply_event(in);
}

static void read_relation(struct qq_reading *in)
{
    struct sma_str group = sma_json_str(in->data, "group_openid"),
                   user = sma_json_str(in->data, "openid");
    bool is_routed = group.len > 0 ? qq_fill_route(in, QQ_PLACE_GROUP, group,
                                                   sma_json_str(in->data, "op_member_openid"))
                                   : qq_fill_route(in, QQ_PLACE_C2C, user, user);
    in->event.ingress.kind = SMA_EVENT_NOTE;
    in->event.ingress.addressed = SMA_ADDRESSED_NONE;
    in->event.ingress.event_key = in->frame->id;
    if (is_routed && !qq_is_id(in->frame->id))
        qq_ignore(in, SMA_WHY_MALFORMED "a notice without event id");
    else if (is_routed)
        set_reply_event(in);
    if (is_routed && sma_str_is_equal(in->frame->type, SMA_STR("GROUP_ADD_ROBOT"))) {
        in->event.ingress.has_joined = in->event.ingress.is_group;
        in->event.ingress.sent_ms = qq_timestamp_ms(in->data);
    }
    /* As if they had written /start: the bot's first words are a greeting, or the way in. */
    if (!is_routed || !sma_str_is_equal(in->frame->type, SMA_STR("FRIEND_ADD")))
        return;
    in->event.ingress.kind = SMA_EVENT_CONTROL;
    in->event.ingress.control = SMA_CONTROL_START;
    in->event.ingress.addressed = SMA_ADDRESSED_PRIVATE;
}

/* Of guilds only: a message was taken away, by its author or by somebody who may. */
static void read_deleted(struct qq_reading *in, enum qq_place place)
{
    const json_t *message = sma_json_get(in->data, "message");
    struct sma_ingress *ingress = &in->event.ingress;
    struct sma_str chat_id =
        sma_json_str(message, place == QQ_PLACE_DM ? "guild_id" : "channel_id");
    ingress->target_id = sma_json_str(message, "id");
    ingress->event_key = qq_is_id(in->frame->id) ? in->frame->id : ingress->target_id;
    ingress->kind = SMA_EVENT_NOTE;
    ingress->addressed = SMA_ADDRESSED_NONE;
    ingress->change = SMA_CHANGE_RECALL;
    if (!qq_is_id(ingress->target_id))
        qq_ignore(in, SMA_WHY_MALFORMED "a deletion of no message");
    else
        (void)qq_fill_route(in, place, chat_id, /* else it is ignored, and says why */
                            sma_json_str(sma_json_get(message, "author"), "id"));
}

static void read_event(struct qq_reading *in)
{
    static const char *const relations[] = {
        "FRIEND_ADD",      "FRIEND_DEL",      "C2C_MSG_REJECT",   "C2C_MSG_RECEIVE",
        "GROUP_ADD_ROBOT", "GROUP_DEL_ROBOT", "GROUP_MSG_REJECT", "GROUP_MSG_RECEIVE"};
    struct sma_str type = in->frame->type;
    if (sma_str_is_equal(type, SMA_STR("C2C_MESSAGE_CREATE")))
        qq_read_message(in, QQ_PLACE_C2C, true);
    else if (sma_str_is_equal(type, SMA_STR("GROUP_AT_MESSAGE_CREATE")))
        qq_read_message(in, QQ_PLACE_GROUP, true);
    else if (sma_str_is_equal(type, SMA_STR("GROUP_MESSAGE_CREATE")))
        qq_read_message(in, QQ_PLACE_GROUP, qq_is_mentioned(in));
    else if (sma_str_is_equal(type, SMA_STR("AT_MESSAGE_CREATE")))
        qq_read_message(in, QQ_PLACE_CHANNEL, true);
    else if (sma_str_is_equal(type, SMA_STR("MESSAGE_CREATE")))
        qq_read_message(in, QQ_PLACE_CHANNEL, qq_is_mentioned(in));
    else if (sma_str_is_equal(type, SMA_STR("DIRECT_MESSAGE_CREATE")))
        qq_read_message(in, QQ_PLACE_DM, true);
    else if (sma_str_is_equal(type, SMA_STR("MESSAGE_DELETE")) ||
             sma_str_is_equal(type, SMA_STR("PUBLIC_MESSAGE_DELETE")))
        read_deleted(in, QQ_PLACE_CHANNEL);
    else if (sma_str_is_equal(type, SMA_STR("DIRECT_MESSAGE_DELETE")))
        read_deleted(in, QQ_PLACE_DM);
    else if (sma_str_is_equal(type, SMA_STR("INTERACTION_CREATE")))
        read_interaction(in);
    else {
        for (size_t i = 0; i < SMA_COUNT_OF(relations); i++) {
            if (sma_str_is_equal(type, sma_str(relations[i]))) {
                read_relation(in);
                return;
            }
        }
        in->event.audit_place = sma_json_str(in->data, "channel_id");
        in->event.is_audit_refused = sma_str_is_equal(type, SMA_STR("MESSAGE_AUDIT_REJECT"));
        qq_ignore(in, in->event.is_audit_refused
                          ? SMA_WHY_OWN "the platform's audit has refused a message of ours"
                          : SMA_WHY_UNSUPPORTED "an event of no interest here");
    }
}

#define BUFFER_MAP(X) \
    X(chat_key) X(reply_id) X(lines) X(said) X(text) X(context) X(meta) X(preparation)

enum sma_err qq_event_parse(const struct qq_event_options *options, const struct qq_frame *frame,
                            qq_event_fn *each, void *user)
{
    struct qq_reading in = {.options = options,
                            .frame = frame,
                            .data = json_is_object(frame->data) ? frame->data : NULL,
                            .event = {.kind = QQ_EVENT_INGRESS, .why = ""}};
#define X(name) sma_buf_init(&in.name, 4 * QQ_FRAME_BYTES_MAX);
    BUFFER_MAP(X)
#undef X
    in.author = sma_json_get(in.data, "author");
    in.date_ms = time_of(&in);
    read_event(&in);
    enum sma_err err = SMA_ERR_OK;
#define X(name) err = err == SMA_ERR_OK ? in.name.err : err;
    BUFFER_MAP(X)
#undef X
    if (err == SMA_ERR_OK)
        each(user, &in.event);
#define X(name) sma_buf_fini(&in.name);
    BUFFER_MAP(X)
#undef X
    return err;
}
