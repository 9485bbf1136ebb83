/* feishu_message.c — a message: its text by type, its place. See feishu_event.h. */
#include "feishu_code.h"
#include "feishu_event_priv.h"

#include "runtime/text/attach.h"
#include "sma/adapter.h"
#include "sma/text.h"

#define WORD_BYTES_MAX 512 /* of names and titles in words for the model */
#define EDIT_MS_MIN 1000   /* a message whose two times are further apart was changed */

/* -- text by type ------------------------------------------------------------------------------ */

static void put_words(struct sma_buf *buf, const char *what, struct sma_str detail)
{
    sma_buf_printf(buf, "[%s", what);
    if (detail.len > 0) {
        sma_buf_put_text(buf, ": ");
        sma_attach_put_label(buf, detail, WORD_BYTES_MAX);
    }
    sma_buf_put_char(buf, ']');
}

static void put_file(struct feishu_reading *reading, const char *kind, const char *key_name,
                     struct sma_str default_name)
{
    struct sma_str name = sma_json_str(reading->content, "file_name");
    if (name.len == 0)
        name = default_name;
    if (feishu_attach(reading, kind, sma_json_str(reading->content, key_name), name) == 0)
        put_words(&reading->body, kind, name);
}

static void put_location(struct feishu_reading *reading)
{
    put_words(&reading->body, "location", sma_json_str(reading->content, "name"));
    struct sma_str latitude = sma_json_str(reading->content, "latitude");
    struct sma_str longitude = sma_json_str(reading->content, "longitude");
    if (latitude.len == 0 || longitude.len == 0)
        return;
    sma_buf_put_text(&reading->body, " latitude ");
    sma_attach_put_label(&reading->body, latitude, 32);
    sma_buf_put_text(&reading->body, ", longitude ");
    sma_attach_put_label(&reading->body, longitude, 32);
}

enum text_kind
{
    TEXT_RUNS,   /* a message to answer */
    TEXT_NOTED,  /* recorded; answered where it can only be meant for us */
    TEXT_NOTHING /* not recorded either */
};

/* The type says what is needed of the content. raw: the content as it came, in case it is no
 * object: the message is still somebody's. */
static enum text_kind put_by_type(struct feishu_reading *reading, struct sma_str type,
                                  struct sma_str raw)
{
    const json_t *content = reading->content;
    bool is_bare = sma_str_is_equal(type, SMA_STR("merge_forward")) ||
                   sma_str_is_equal(type, SMA_STR("system")); /* nothing of it is needed */
    if (!json_is_object(content) && !is_bare) {
        feishu_put_unread(reading, type, raw);
        return TEXT_NOTED;
    }
    if (sma_str_is_equal(type, SMA_STR("text")))
        feishu_put_resolved(reading, &reading->body, sma_json_str(content, "text"));
    else if (sma_str_is_equal(type, SMA_STR("post")))
        feishu_put_post(reading, content);
    else if (sma_str_is_equal(type, SMA_STR("interactive")))
        feishu_put_card_words(reading, content);
    else if (sma_str_is_equal(type, SMA_STR("image")))
        put_file(reading, "photo", "image_key", SMA_STR("photo.jpg"));
    else if (sma_str_is_equal(type, SMA_STR("file")))
        put_file(reading, "document", "file_key", SMA_STR("file"));
    else if (sma_str_is_equal(type, SMA_STR("audio")))
        put_file(reading, "voice", "file_key", SMA_STR("voice.opus"));
    else if (sma_str_is_equal(type, SMA_STR("media")))
        put_file(reading, FEISHU_VIDEO, "file_key", SMA_STR("video.mp4"));
    else if (sma_str_is_equal(type, SMA_STR("folder")))
        put_words(&reading->body, "folder, which cannot be fetched",
                  sma_json_str(content, "file_name"));
    else if (sma_str_is_equal(type, SMA_STR("location")))
        put_location(reading);
    else if (sma_str_is_equal(type, SMA_STR("share_chat")))
        put_words(&reading->body, "shared chat", sma_json_str(content, "chat_id"));
    else if (sma_str_is_equal(type, SMA_STR("share_user")))
        put_words(&reading->body, "shared contact", sma_json_str(content, "user_id"));
    else if (sma_str_is_equal(type, SMA_STR("merge_forward")))
        put_words(&reading->body, "forwarded messages", SMA_STR(""));
    else if (sma_str_is_equal(type, SMA_STR("system")))
        return TEXT_NOTHING;
    else if (sma_str_is_equal(type, SMA_STR("sticker"))) {
        put_words(&reading->body, "sticker", SMA_STR(""));
        return TEXT_NOTED;
    } else if (!feishu_put_other(reading, type))
        return TEXT_NOTED;
    if (reading->body.len + reading->lines.len > 0 || json_is_string(sma_json_get(content, "text")))
        return TEXT_RUNS;
    (void)feishu_put_other(reading, type); /* it is not as its type should be */
    return TEXT_NOTED;
}

/* -- the ingress ------------------------------------------------------------------------------- */

static void put_text(struct feishu_reading *reading)
{
    struct sma_str body = sma_buf_str(&reading->body);
    if (reading->is_bot_removed || reading->event.ingress.is_group)
        body = sma_str_trim(body);
    sma_buf_put_str(&reading->text, sma_buf_str(&reading->lines));
    if (reading->lines.len > 0 && body.len > 0)
        sma_buf_put_text(&reading->text, "\n\n");
    sma_buf_put_str(&reading->text, body);
}

static void put_meta(struct feishu_reading *reading, struct sma_str chat_type)
{
    sma_buf_put_text(&reading->meta, "{\"chatType\":");
    sma_buf_put_json_string(&reading->meta, chat_type);
    struct sma_str name = reading->event.ingress.route.user_name;
    if (name.len > 0)
        sma_buf_put_json_member(&reading->meta, "name", name);
    if (reading->attachment_count > 0)
        sma_buf_printf(&reading->meta, ",\"attachments\":%zu", reading->attachment_count);
    sma_buf_put_char(&reading->meta, '}');
}

static void set_kind(struct feishu_reading *reading, enum text_kind text_kind)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    if (reading->is_bot_mentioned && ingress->is_group)
        ingress->addressed = SMA_ADDRESSED_MENTION;
    enum sma_control control = reading->lines.len > 0 || text_kind != TEXT_RUNS
                                   ? SMA_CONTROL_NONE
                                   : sma_control_parse(sma_buf_str(&reading->text));
    /* "/etc is full" among people is not a command to a bot nobody spoke to. */
    if (control == SMA_CONTROL_UNKNOWN && ingress->addressed == SMA_ADDRESSED_NONE)
        control = SMA_CONTROL_NONE;
    ingress->control = (uint8_t)control;
    bool is_note = text_kind == TEXT_NOTED && ingress->addressed == SMA_ADDRESSED_NONE;
    ingress->kind = is_note                       ? SMA_EVENT_NOTE
                    : control == SMA_CONTROL_NONE ? SMA_EVENT_MESSAGE
                                                  : SMA_EVENT_CONTROL;
}

/* What people call the bot here. */
static struct sma_str our_name(const struct feishu_reading *reading)
{
    for (size_t i = 0; i < reading->mention_count; i++)
        if (reading->mentions[i].is_bot && reading->mentions[i].name.len > 0)
            return reading->mentions[i].name;
    return SMA_STR("bot");
}

/* What has to be asked for before the model understands the message: what it answers, what it
 * forwards, who says it. Chatter is not worth it. In a topic every message answers the first one,
 * which is looked at once in a while. */
static void put_lookups(struct feishu_reading *reading)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    struct sma_str parent = ingress->reply_to_id;
    if (ingress->addressed == SMA_ADDRESSED_NONE)
        return;
    if (reading->is_forward_of_many)
        feishu_look(reading, FEISHU_LOOK_FORWARD, reading->message_id, false);
    if (parent.len > 0)
        feishu_look(reading, FEISHU_LOOK_QUOTE, parent, reading->is_reply_to_first);
    if (reading->wants_name)
        feishu_look(reading, FEISHU_LOOK_NAME, ingress->route.user_id, false);
}

/* body and lines are written: the rest of the ingress. */
static void finish(struct feishu_reading *reading, struct sma_str chat_type,
                   enum text_kind text_kind)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    put_text(reading);
    if (text_kind != TEXT_NOTHING && reading->is_bot_removed && reading->text.len == 0) {
        /* Its name alone is a question, too; it stays, for a text must not be empty. */
        sma_buf_put_char(&reading->text, '@');
        sma_attach_put_label(&reading->text, our_name(reading), SMA_NAME_BYTES_MAX);
    }
    if (text_kind == TEXT_NOTHING || sma_str_trim(sma_buf_str(&reading->text)).len == 0) {
        feishu_ignore(reading, text_kind == TEXT_NOTHING ? SMA_WHY_UNSUPPORTED
                                   "a message of the system"
                                                         : SMA_WHY_EMPTY "an empty text");
        return;
    }
    set_kind(reading, text_kind);
    put_meta(reading, chat_type);
    ingress->event_key = reading->message_id;
    ingress->text = sma_buf_str(&reading->text);
    ingress->context = sma_buf_str(&reading->context);
    ingress->meta_json = sma_buf_str(&reading->meta);
    if (ingress->kind == SMA_EVENT_MESSAGE)
        put_lookups(reading);
    if (reading->preparation.len > 0) {
        sma_buf_put_char(&reading->preparation, ']');
        ingress->preparation = sma_buf_str(&reading->preparation);
        ingress->is_whole = reading->attachment_count == 0;
    }
}

static bool is_program(const struct feishu_reading *reading, const json_t *sender,
                       const json_t *ids)
{
    struct sma_str type = sma_json_str(sender, "sender_type");
    if (sma_str_is_equal(type, SMA_STR("app")) || sma_str_is_equal(type, SMA_STR("bot")))
        return true;
    struct sma_str app_id = reading->options->app_id;
    return feishu_is_bot_id(reading, sma_json_str(ids, "open_id")) ||
           (app_id.len > 0 && sma_str_is_equal(sma_json_str(sender, "id"), app_id));
}

/* Events name nobody: what a person is called was asked for before, or is asked for now. */
static void put_person_name(struct feishu_reading *reading)
{
    const struct feishu_event_options *options = reading->options;
    struct sma_route *route = &reading->event.ingress.route;
    bool is_open_id = sma_str_starts_with(route->user_id, SMA_STR("ou_"));
    if (!is_open_id || options->find_name == NULL)
        return;
    route->user_name = options->find_name(options->user, route->user_id);
    reading->wants_name = route->user_name.ptr == NULL && options->may_ask_names;
}

/* Shared by both shapes: where it was said and by whom. false: the event is IGNORED. */
static bool place(struct feishu_reading *reading, struct sma_str chat_id, struct sma_str chat_type,
                  const struct feishu_author *author)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    if (!feishu_id_is_good(reading->message_id)) {
        feishu_ignore(reading, SMA_WHY_MALFORMED "no usable message id");
        return false;
    }
    if (!feishu_fill_route_of(reading, chat_id, chat_type, author))
        return false;
    if (ingress->route.user_id.len == 0 && ingress->is_group) {
        feishu_ignore(reading, SMA_WHY_NO_AUTHOR "a group message of nobody");
        return false;
    }
    ingress->route.message_id = reading->message_id;
    put_person_name(reading);
    return true;
}

/* A topic is a conversation of its own; what is said outside of topics keeps the chat's key. */
static void put_topic(struct feishu_reading *reading, struct sma_str thread_id)
{
    struct sma_route *route = &reading->event.ingress.route;
    if (!feishu_id_is_good(thread_id))
        return;
    route->thread_id = thread_id;
    if (!reading->event.ingress.is_group)
        return;
    sma_buf_put_text(&reading->chat_key, ":topic:");
    sma_buf_put_str(&reading->chat_key, thread_id);
    route->chat_key = sma_buf_str(&reading->chat_key);
}

/* Whose words these are, what they answer, and when they were said. In a topic every message
 * answers its first one. A single message that was forwarded looks like any other: the platform
 * does not say it. */
static void put_provenance(struct feishu_reading *reading, const json_t *message,
                           struct sma_str type)
{
    struct sma_ingress *ingress = &reading->event.ingress;
    struct sma_str parent = sma_json_str(message, "parent_id");
    int64_t changed_ms = feishu_raw_time_ms(message, "update_time");
    ingress->sent_ms = feishu_raw_time_ms(message, "create_time");
    ingress->is_reply = parent.len > 0 || sma_json_str(message, "root_id").len > 0;
    if (feishu_id_is_good(parent))
        ingress->reply_to_id = parent;
    struct sma_str root = sma_json_str(message, "root_id");
    reading->is_forward_of_many = sma_str_is_equal(type, SMA_STR("merge_forward"));
    reading->is_reply_to_first =
        sma_json_str(message, "thread_id").len > 0 && sma_str_is_equal(parent, root);
    ingress->is_edited = ingress->sent_ms > 0 && changed_ms > ingress->sent_ms + EDIT_MS_MIN;
    ingress->is_forward =
        reading->is_forward_of_many || sma_json_str(message, "upper_message_id").len > 0;
}

/* "ts" of the old envelope: seconds with a fraction. */
int64_t feishu_envelope_time_ms(const json_t *root)
{
    struct sma_str text = sma_json_str(root, "ts");
    const char *dot = text.len == 0 ? NULL : memchr(text.ptr, '.', text.len);
    int64_t seconds;
    if (dot != NULL)
        text.len = (size_t)(dot - text.ptr);
    return sma_parse_i64(text, 1, INT64_MAX / 1000, &seconds) == SMA_ERR_OK ? seconds * 1000 : 0;
}

/* Of a message that is ignored: for who looks for it in the log. */
static void note_place(struct feishu_reading *reading, struct sma_str chat_id,
                       struct sma_str message_id)
{
    struct sma_route *route = &reading->event.ingress.route;
    if (feishu_id_is_good(message_id))
        route->message_id = message_id;
    if (!feishu_id_is_good(chat_id))
        return;
    feishu_put_chat_key(reading, chat_id);
    route->chat_key = sma_buf_str(&reading->chat_key);
}

void feishu_read_message(struct feishu_reading *reading, const json_t *event)
{
    const json_t *sender = sma_json_get(event, "sender"), *ids = sma_json_get(sender, "sender_id");
    const json_t *message = sma_json_get(event, "message");
    struct sma_str chat_type = sma_json_str(message, "chat_type");
    if (is_program(reading, sender, ids)) {
        note_place(reading, sma_json_str(message, "chat_id"), sma_json_str(message, "message_id"));
        feishu_ignore(reading, SMA_WHY_BOT "a message of an app");
        return;
    }
    chat_type.len = chat_type.len > SMA_ID_BYTES_MAX ? 0 : chat_type.len;
    reading->message_id = sma_json_str(message, "message_id");
    reading->date_ms = feishu_time_ms(reading, message, "create_time");
    if (!place(reading, sma_json_str(message, "chat_id"), chat_type,
               &(struct feishu_author){ids, sma_json_str(sender, "tenant_key")}))
        return;
    const json_t *inner = sma_json_get(message, "content");
    struct sma_str content = sma_json_str_of(inner);
    if (json_is_object(inner)) /* seen, too, though documented is text */
        reading->content = json_deep_copy(inner);
    else if (sma_json_load_brief(content, true, &reading->content) == SMA_ERR_NOMEM)
        reading->body.err = SMA_ERR_NOMEM;
    put_provenance(reading, message, sma_json_str(message, "message_type"));
    put_topic(reading, sma_json_str(message, "thread_id"));
    feishu_read_mentions(reading, sma_json_get(message, "mentions"));
    feishu_read_mentions(reading, sma_json_get(reading->content, "mentions"));
    finish(reading, chat_type,
           put_by_type(reading, sma_json_str(message, "message_type"), content));
}

void feishu_read_message_v1(struct feishu_reading *reading, const json_t *event)
{
    struct sma_str chat_type = sma_json_str(event, "chat_type");
    if (sma_str_is_equal(chat_type, SMA_STR("private")))
        chat_type = SMA_STR("p2p"); /* one word for one thing, whatever the envelope */
    chat_type.len = chat_type.len > SMA_ID_BYTES_MAX ? 0 : chat_type.len;
    if (feishu_is_bot_id(reading, sma_json_str(event, "open_id"))) {
        note_place(reading, sma_json_str(event, "open_chat_id"),
                   sma_json_str(event, "open_message_id"));
        feishu_ignore(reading, SMA_WHY_BOT "a message of an app");
        return;
    }
    reading->message_id = sma_json_str(event, "open_message_id");
    if (!place(reading, sma_json_str(event, "open_chat_id"), chat_type,
               &(struct feishu_author){.ids = event}))
        return;
    struct sma_str employee = sma_json_str(event, "employee_id");
    if (!sma_str_is_equal(employee, reading->event.ingress.route.user_id))
        reading->event.ingress.user_alias = employee;
    put_provenance(reading, event, sma_json_str(event, "msg_type"));
    reading->event.ingress.sent_ms = feishu_envelope_time_ms(reading->root);
    /* The members of the content stand in the event itself. */
    reading->content = json_deep_copy(event);
    if (reading->content == NULL) {
        reading->body.err = SMA_ERR_NOMEM;
        return;
    }
    reading->is_bot_mentioned = json_is_true(sma_json_get(event, "is_mention"));
    struct sma_str type = sma_json_str(event, "msg_type");
    struct sma_str clean = sma_json_str(event, "text_without_at_bot");
    if (sma_str_is_equal(type, SMA_STR("text")) && clean.len > 0) {
        reading->is_bot_removed = true;
        feishu_put_resolved(reading, &reading->body, clean);
        finish(reading, chat_type, TEXT_RUNS);
        return;
    }
    finish(reading, chat_type, put_by_type(reading, type, SMA_STR("")));
}

/* -- messages that are read later -------------------------------------------------------------- */
enum sma_err feishu_item_read(const struct feishu_event_options *options, const json_t *json,
                              feishu_item_fn *each, void *user)
{
    struct sma_str content = sma_json_str(sma_json_get(json, "body"), "content");
    const json_t *sender = sma_json_get(json, "sender");
    struct feishu_reading *reading = feishu_reading_create(options);
    if (reading == NULL)
        return SMA_ERR_NOMEM;
    reading->message_id = sma_json_str(json, "message_id");
    reading->date_ms = feishu_time_ms(reading, json, "create_time");
    enum sma_err err =
        json_is_true(sma_json_get(json, "deleted")) || !feishu_id_is_good(reading->message_id)
            ? SMA_ERR_BADINPUT
            : SMA_ERR_OK;
    if (err == SMA_ERR_OK && sma_json_load_brief(content, true, &reading->content) == SMA_ERR_NOMEM)
        err = SMA_ERR_NOMEM;
    if (err == SMA_ERR_OK) {
        feishu_read_mentions(reading, sma_json_get(json, "mentions"));
        (void)put_by_type(reading, sma_json_str(json, "msg_type"), content);
        if (reading->preparation.len > 0)
            sma_buf_put_char(&reading->preparation, ']');
        err = feishu_reading_err(reading);
    }
    if (err == SMA_ERR_OK) {
        struct sma_str id = sma_json_str(sender, "id");
        bool is_program = sma_str_is_equal(sma_json_str(sender, "sender_type"), SMA_STR("app"));
        each(user, &(struct feishu_item){.text = sma_str_trim(sma_buf_str(&reading->body)),
                                         .lines = sma_buf_str(&reading->lines),
                                         .preparation = sma_buf_str(&reading->preparation),
                                         .sender_id = id,
                                         .is_program = is_program,
                                         .is_ours = id.len > 0 &&
                                                    (sma_str_is_equal(id, options->app_id) ||
                                                     sma_str_is_equal(id, options->bot_open_id)),
                                         .date_ms = reading->date_ms});
    }
    feishu_reading_destroy(reading);
    return err;
}
