/*
 * telegram_in_message.c — one Message: who speaks, to whom, whether it is a command, and the text
 * that is kept. The order of the tests is that of protocols/telegram.md §4.
 */
#include "telegram_in_priv.h"

#include "sma/adapter.h"

/* What one message says, before it is known what that means. */
struct reading
{
    const json_t *message;
    struct telegram_chat chat;
    struct telegram_origin origin;
    int64_t thread_id;
    struct sma_str text; /* as received: text, else caption, else the words of a rich message */
    struct telegram_marks marks;
    bool is_forward, is_reply, is_reply_to_us;
    bool is_for_others; /* a command without a name that is likely another bot's */
    uint8_t addressed, control;
};

static const char *read_speaker(struct telegram_in *in, const struct reading *reading,
                                struct sma_ingress *ingress)
{
    const struct telegram_bot *bot = in->options->bot;
    const json_t *from = telegram_in_object(reading->message, "from");
    const json_t *sender_chat = telegram_in_object(reading->message, "sender_chat");
    if (telegram_in_int(sender_chat, "id") != 0) {
        /* The account in `from` is a placeholder then, and says it is a bot. */
        ingress->route.user_id =
            telegram_in_number(in->user_id, telegram_in_int(sender_chat, "id"));
        return NULL;
    }
    int64_t user_id = telegram_in_int(from, "id");
    if (user_id <= 0 && !reading->chat.is_private)
        return SMA_WHY_NO_AUTHOR "its sender is not named";
    if (user_id == bot->id && user_id != 0)
        return SMA_WHY_OWN "a message of this bot itself";
    if (telegram_in_true(from, "is_bot"))
        return SMA_WHY_BOT "from another bot";
    telegram_in_put_user(in, from, ingress);
    if (user_id <= 0) /* in a private chat the chat is the person */
        ingress->route.user_id = telegram_in_number(in->user_id, reading->chat.id);
    return NULL;
}

static void read_text(struct telegram_in *in, struct reading *reading)
{
    const struct telegram_bot *bot = in->options->bot;
    const json_t *message = reading->message;
    const json_t *rich = telegram_in_object(message, "rich_message");
    reading->text = telegram_in_str(message, "text");
    const char *entities = "entities";
    if (reading->text.len == 0) {
        reading->text = telegram_in_str(message, "caption");
        entities = "caption_entities";
    }
    if (reading->text.len == 0 && rich != NULL) {
        telegram_in_put_rich_text(bot, rich, &in->rich, &reading->marks);
        reading->text = sma_buf_str(&in->rich);
        return;
    }
    if (reading->text.len > SMA_TEXT_BYTES_MAX)
        return; /* refused by the caller; its entities are not worth a walk */
    telegram_in_read_marks(bot, reading->text, telegram_in_array(message, entities),
                           &reading->marks);
}

/* -- to whom ----------------------------------------------------------------------------------- */

/* "@name" of a command, without the '@'; ptr NULL when there is none. */
static struct sma_str command_owner(struct sma_str command)
{
    const char *at = command.len == 0 ? NULL : memchr(command.ptr, '@', command.len);
    if (at == NULL)
        return (struct sma_str){NULL, 0};
    return (struct sma_str){at + 1, (size_t)(command.ptr + command.len - at) - 1};
}

/* Commands that Telegram does not mark (/停止) and those after a mention: "@bot /stop". Only what is
 * known counts. */
static uint8_t find_unmarked_control(struct telegram_in *in, const struct reading *reading)
{
    if (reading->marks.mention_count == 0)
        return (uint8_t)sma_control_parse(reading->text);
    telegram_in_put_stripped(&in->stripped, reading->text, &reading->marks);
    return (uint8_t)sma_control_parse(sma_buf_str(&in->stripped));
}

static bool is_known(uint8_t control)
{
    return control != SMA_CONTROL_NONE && control != SMA_CONTROL_UNKNOWN;
}

static const char *address_in_group(struct telegram_in *in, struct reading *reading)
{
    const struct telegram_bot *bot = in->options->bot;
    struct sma_str command = reading->is_forward ? SMA_STR("") : reading->marks.command;
    struct sma_str owner = command_owner(command);
    uint8_t control =
        command.len > 0 ? (uint8_t)sma_control_parse(reading->text) : SMA_CONTROL_NONE;
    reading->addressed = reading->marks.mention_count > 0 ? SMA_ADDRESSED_MENTION
                         : reading->is_reply_to_us        ? SMA_ADDRESSED_REPLY
                                                          : SMA_ADDRESSED_NONE;
    if (owner.ptr != NULL) {
        if (bot->username.len == 0 || !sma_str_is_equal_nocase(owner, bot->username))
            return SMA_WHY_OTHER "a command for another bot";
        reading->addressed = SMA_ADDRESSED_MENTION;
        reading->control = control;
        return NULL;
    }
    if (control != SMA_CONTROL_NONE) {
        /* Without a name. Where the platform sends us everything, an unknown one is likely another
         * bot's. */
        bool is_ours = is_known(control) || !bot->reads_all;
        if (reading->addressed == SMA_ADDRESSED_NONE && is_ours)
            reading->addressed = SMA_ADDRESSED_MENTION;
        if (reading->addressed != SMA_ADDRESSED_NONE)
            reading->control = control;
        else
            reading->is_for_others = true;
        return NULL;
    }
    if (reading->addressed == SMA_ADDRESSED_NONE || reading->is_forward)
        return NULL;
    control = find_unmarked_control(in, reading);
    if (is_known(control))
        reading->control = control;
    return NULL;
}

static const char *address(struct telegram_in *in, struct reading *reading)
{
    const json_t *reply = telegram_in_object(reading->message, "reply_to_message");
    const json_t *author = telegram_in_object(reply, "from");
    int64_t author_id = telegram_in_int(author, "id");
    reading->is_reply_to_us = author_id != 0 && author_id == in->options->bot->id &&
                              telegram_in_is_real_reply(reading->message);
    reading->is_reply = telegram_in_is_real_reply(reading->message) ||
                        telegram_in_has(reading->message, "external_reply") ||
                        telegram_in_has(reading->message, "reply_to_story");
    reading->is_forward = telegram_in_has(reading->message, "forward_origin") ||
                          telegram_in_has(reading->message, "forward_date");
    if (!reading->chat.is_private)
        return address_in_group(in, reading);
    reading->addressed = SMA_ADDRESSED_PRIVATE;
    if (!reading->is_forward)
        reading->control = (uint8_t)sma_control_parse(reading->text);
    return NULL;
}

/* -- the text that is kept --------------------------------------------------------------------- */

static void put_text(struct telegram_in *in, const struct reading *reading)
{
    struct sma_buf *buf = &in->text;
    size_t lines_len = buf->len;
    if (lines_len > 0 && reading->text.len > 0)
        sma_buf_put_text(buf, "\n\n");
    size_t start = buf->len;
    if (!reading->chat.is_private && reading->control == SMA_CONTROL_NONE)
        telegram_in_put_stripped(buf, reading->text, &reading->marks);
    else
        sma_buf_put_str(buf, reading->text);
    if (buf->err == SMA_ERR_OK && buf->len == start && lines_len > 0) {
        buf->len = lines_len; /* nothing but the mention: no blank line at the end */
        buf->ptr[buf->len] = '\0';
    }
}

static bool is_service(const json_t *message)
{
    static const char *const members[] = {
        "new_chat_members",
        "left_chat_member",
        "new_chat_title",
        "new_chat_photo",
        "delete_chat_photo",
        "group_chat_created",
        "supergroup_chat_created",
        "pinned_message",
        "forum_topic_created",
        "forum_topic_edited",
        "forum_topic_closed",
        "forum_topic_reopened",
        "general_forum_topic_hidden",
        "general_forum_topic_unhidden",
        "video_chat_scheduled",
        "video_chat_started",
        "video_chat_ended",
        "video_chat_participants_invited",
        "message_auto_delete_timer_changed",
        "boost_added",
        "chat_background_set",
        "proximity_alert_triggered",
        "write_access_allowed",
        "users_shared",
        "chat_shared",
        "successful_payment",
        "connected_website",
        "web_app_data",
        "giveaway_created",
        "giveaway_completed",
        "gift",
        "unique_gift",
        "refunded_payment",
        "paid_message_price_changed",
        "direct_message_price_changed",
        "checklist_tasks_done",
        "checklist_tasks_added",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++)
        if (telegram_in_has(message, members[i]))
            return true;
    return false;
}

/* @return NULL, or why nothing is left to be kept */
static const char *make_text(struct telegram_in *in, const struct reading *reading,
                             size_t *ret_file_count)
{
    *ret_file_count = 0;
    if (reading->control == SMA_CONTROL_NONE)
        *ret_file_count = telegram_in_put_media(in, reading->message, &reading->origin, &in->text);
    put_text(in, reading);
    telegram_in_put_context(in, reading->message, reading->control == SMA_CONTROL_NONE);
    if (in->preparation.len > 0)
        sma_buf_put_char(&in->preparation, ']');
    if (in->text.err == SMA_ERR_TOOBIG)
        return SMA_WHY_LIMIT "its text is over the limit";
    if (sma_str_trim(sma_buf_str(&in->text)).len > 0)
        return NULL;
    if (reading->marks.mention_count == 0 && is_service(reading->message))
        return "a service message";
    if (telegram_in_put_unknown(reading->message, &in->text))
        return NULL;
    if (reading->marks.mention_count == 0)
        return "nothing in it to answer";
    /* "@bot" alone, or under somebody's message, which is the question then. The name stays, for a
     * text must not be empty. */
    sma_buf_clear(&in->text);
    sma_buf_put_str(&in->text, reading->text);
    return NULL;
}

static void put_group_key(const json_t *message, struct sma_ingress *ingress)
{
    struct sma_str key = telegram_in_str(message, "media_group_id");
    if (key.len > 0 && key.len <= SMA_ID_BYTES_MAX)
        ingress->group_key = key;
}

static const char *read_message(struct telegram_in *in, const json_t *message,
                                struct reading *reading, struct telegram_event *event)
{
    const char *why = telegram_in_read_chat(message, &reading->chat);
    if (why != NULL)
        return why;
    const json_t *message_id = json_object_get(message, "message_id");
    if (!json_is_integer(message_id) || json_integer_value(message_id) < 0)
        return SMA_WHY_MALFORMED "a message without an id";
    reading->message = message;
    reading->thread_id = telegram_in_thread(message);
    reading->origin = (struct telegram_origin){
        .chat_id = reading->chat.id,
        .message_id = (int64_t)json_integer_value(message_id),
        .date_ms = telegram_in_date_ms(in, telegram_in_int(message, "date")),
    };
    if (reading->origin.message_id == 0 && event->update_id == 0)
        return SMA_WHY_MALFORMED "a message without an id";
    why = read_speaker(in, reading, &event->ingress);
    if (why != NULL)
        return why;
    read_text(in, reading);
    if (reading->text.len > SMA_TEXT_BYTES_MAX)
        return SMA_WHY_LIMIT "its text is over the limit";
    return address(in, reading);
}

/* 0 stands for a message that the platform has yet to send: the update's number tells them
 * apart. */
static void put_event_key(struct telegram_in *in, const struct reading *reading,
                          struct telegram_event *event)
{
    if (reading->origin.message_id > 0) {
        event->ingress.route.message_id =
            telegram_in_number(in->message_id, reading->origin.message_id);
        event->ingress.event_key = event->ingress.route.message_id;
        return;
    }
    in->event_key[0] = 'u';
    struct sma_str number = telegram_in_number(in->event_key + 1, event->update_id);
    event->ingress.event_key = (struct sma_str){in->event_key, number.len + 1};
}

/* Whose words these are, what they answer, and when they were said. */
static void put_provenance(struct telegram_in *in, const struct reading *reading,
                           struct sma_ingress *ingress)
{
    const json_t *message = reading->message;
    const json_t *answered = telegram_in_object(message, "reply_to_message");
    int64_t date_s = telegram_in_int(message, "date"), id = telegram_in_int(answered, "message_id");
    ingress->is_forward = reading->is_forward || telegram_in_has(message, "via_bot");
    ingress->is_edited = telegram_in_has(message, "edit_date");
    ingress->is_reply = reading->is_reply;
    /* Numbers are a chat's: the one of another chat means another message here. */
    int64_t there = telegram_in_int(telegram_in_object(answered, "chat"), "id");
    bool is_here =
        there == 0 || there == telegram_in_int(telegram_in_object(message, "chat"), "id");
    if (id > 0 && is_here && telegram_in_is_real_reply(message))
        ingress->reply_to_id = telegram_in_number(in->reply_to_id, id);
    if (date_s > 0 && date_s < INT64_MAX / 1000)
        ingress->sent_ms = date_s * 1000;
}

const char *telegram_in_take_message(struct telegram_in *in, const json_t *message,
                                     struct telegram_event *event)
{
    struct reading reading = {0};
    struct sma_ingress *ingress = &event->ingress;
    size_t file_count;
    if (telegram_in_has(message, "migrate_to_chat_id") ||
        telegram_in_has(message, "migrate_from_chat_id"))
        return telegram_in_take_migration(in, message, event);
    const char *why = read_message(in, message, &reading, event);
    if (why != NULL)
        return why;
    why = make_text(in, &reading, &file_count);
    if (why != NULL)
        return why;
    telegram_in_put_chat(in, &reading.chat, reading.thread_id, ingress);
    telegram_in_put_meta(in, &reading.chat, reading.thread_id, file_count, ingress);
    put_event_key(in, &reading, event);
    ingress->text = sma_buf_str(&in->text);
    ingress->context = sma_buf_str(&in->context);
    ingress->preparation = sma_buf_str(&in->preparation);
    put_provenance(in, &reading, ingress);
    ingress->wall_ms = reading.origin.date_ms;
    ingress->control = reading.control;
    ingress->kind = reading.control == SMA_CONTROL_NONE ? SMA_EVENT_MESSAGE : SMA_EVENT_CONTROL;
    ingress->addressed = reading.addressed;
    ingress->is_record_only =
        telegram_in_true(message, "is_automatic_forward") || reading.is_for_others;
    if (ingress->kind == SMA_EVENT_MESSAGE)
        put_group_key(message, ingress);
    return NULL;
}
