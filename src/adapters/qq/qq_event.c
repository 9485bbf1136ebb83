/* qq_event.c — see qq_event.h. */
#include "qq_event.h"

#include "runtime/json/json_read.h"
#include "runtime/text/attach.h"
#include "sma/adapter.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUOTE_BYTES_MAX 2000
#define MENTION_COUNT_MAX 64
#define MESSAGE_PLAIN 0
#define MESSAGE_QUOTE 103

struct reading
{
    const struct qq_event_options *options;
    const struct qq_frame *frame;
    const json_t *data, *author;
    struct qq_event event;
    struct sma_buf chat_key, reply_id, lines, said, text, context, meta, preparation;
    int64_t date_ms;
    size_t file_count;
};

enum place
{
    PLACE_GROUP,
    PLACE_C2C,
    PLACE_CHANNEL,
    PLACE_DM,
};
static const char *const place_words[] = {"group", "c2c", "channel", "dm"};

static void ignore(struct reading *in, const char *why)
{
    in->event.kind = QQ_EVENT_IGNORED;
    in->event.why = why;
}

static struct sma_str first_of(const json_t *object, const char *const *keys, size_t count)
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

static int64_t time_of(const struct reading *in)
{
    int64_t now = in->options->now_wall_ms, ms = qq_timestamp_ms(in->data);
    return ms > 0 && ms <= now ? ms : now;
}

/* -- who and where ----------------------------------------------------------------------------- */
static bool is_id(struct sma_str id)
{
    return id.len > 0 && id.len <= SMA_ID_BYTES_MAX && memchr(id.ptr, '\0', id.len) == NULL;
}

static bool fill_route(struct reading *in, enum place place, struct sma_str chat_id,
                       struct sma_str user_id)
{
    if (!is_id(chat_id) || user_id.len > SMA_ID_BYTES_MAX) {
        ignore(in, "no usable chat id");
        return false;
    }
    sma_buf_printf(&in->chat_key, "qq:%s:", place_words[place]);
    sma_buf_put_str(&in->chat_key, chat_id);
    struct sma_route *route = &in->event.ingress.route;
    route->adapter = in->options->adapter;
    route->channel = SMA_STR("qq");
    route->chat_key = sma_buf_str(&in->chat_key);
    route->chat_id = chat_id;
    route->chat_type = sma_str(place_words[place]);
    route->user_id = user_id;
    in->event.ingress.wall_ms = in->date_ms;
    in->event.ingress.stamps.read_ns = in->options->read_ns;
    in->event.ingress.is_group = place == PLACE_GROUP || place == PLACE_CHANNEL;
    return true;
}

static struct sma_str author_id(const json_t *author)
{
    static const char *const keys[] = {"member_openid", "user_openid", "id", "user_id", "uid"};
    return first_of(author, keys, SMA_COUNT_OF(keys));
}

static struct sma_str author_name(const struct reading *in)
{
    static const char *const keys[] = {"nickname", "username", "name"};
    static const char *const user_keys[] = {"username", "nickname"};
    struct sma_str name = first_of(in->author, keys, SMA_COUNT_OF(keys));
    if (name.len == 0)
        name = first_of(sma_json_get(in->author, "user"), user_keys, SMA_COUNT_OF(user_keys));
    if (name.len == 0)
        name = author_id(in->author); /* so every speaker has a contact, as in projects of old */
    name.len = sma_utf8_cut(name, SMA_NAME_BYTES_MAX);
    return name;
}

static enum sma_role role_of(const struct reading *in)
{
    struct sma_str word = sma_json_str(in->author, "member_role");
    if (sma_str_is_equal(word, SMA_STR("admin")) || sma_str_is_equal(word, SMA_STR("owner")))
        return SMA_ROLE_ADMIN;
    if (word.len > 0)
        return SMA_ROLE_MEMBER;
    const json_t *roles = sma_json_get(sma_json_get(in->data, "member"), "roles");
    enum sma_role role = json_array_size(roles) > 0 ? SMA_ROLE_MEMBER : SMA_ROLE_UNKNOWN;
    for (size_t i = 0; i < json_array_size(roles); i++) {
        struct sma_str one = sma_json_str_of(json_array_get(roles, i));
        if (sma_str_is_equal(one, SMA_STR("2")) || sma_str_is_equal(one, SMA_STR("4")) ||
            sma_str_is_equal(one, SMA_STR("5")))
            role = SMA_ROLE_ADMIN;
    }
    return role;
}

/* -- mentions ---------------------------------------------------------------------------------- */
static bool is_us(const struct reading *in, const json_t *mention)
{
    if (json_is_true(json_object_get(mention, "is_you"))) /* so does a mention of everybody */
        return sma_str_is_equal(sma_json_str(mention, "scope"), SMA_STR("single"));
    /* Before our own id is known (a webhook may come first), a bot that is mentioned to us is
     * us. */
    if (in->options->bot_id.len == 0)
        return json_is_true(json_object_get(mention, "bot")) &&
               json_object_get(mention, "is_you") == NULL;
    return sma_str_is_equal(sma_json_str(mention, "id"), in->options->bot_id);
}

static bool is_mentioned(const struct reading *in)
{
    const json_t *mentions = sma_json_get(in->data, "mentions");
    for (size_t i = 0; i < json_array_size(mentions) && i < MENTION_COUNT_MAX; i++)
        if (is_us(in, json_array_get(mentions, i)))
            return true;
    return false;
}

static const json_t *find_mention(const struct reading *in, struct sma_str id)
{
    const json_t *mentions = sma_json_get(in->data, "mentions");
    for (size_t i = 0; i < json_array_size(mentions) && i < MENTION_COUNT_MAX; i++) {
        const json_t *mention = json_array_get(mentions, i);
        if (sma_str_is_equal(sma_json_str(mention, "id"), id) ||
            sma_str_is_equal(sma_json_str(mention, "member_openid"), id))
            return mention;
    }
    return NULL;
}

/* `<@id>` or `<@!id>` at text[at]: its length, 0 = none. */
static size_t mention_at(struct sma_str text, size_t at, struct sma_str *ret_id)
{
    if (text.len - at < 4 || text.ptr[at] != '<' || text.ptr[at + 1] != '@')
        return 0;
    size_t start = at + 2 + (text.ptr[at + 2] == '!'), end = start;
    while (end < text.len && end - start <= 64 && text.ptr[end] != '>' && text.ptr[end] != '<' &&
           text.ptr[end] != ' ')
        end++;
    if (end >= text.len || text.ptr[end] != '>' || end == start)
        return 0;
    *ret_id = (struct sma_str){text.ptr + start, end - start};
    return end + 1 - at;
}

static size_t entity_at(struct sma_str text, size_t at, char *ret_byte)
{
    static const struct
    {
        struct sma_str entity;
        char byte;
    } entities[] = {{SMA_STR("&amp;"), '&'}, {SMA_STR("&lt;"), '<'}, {SMA_STR("&gt;"), '>'}};
    struct sma_str rest = {text.ptr + at, text.len - at};
    for (size_t i = 0; i < SMA_COUNT_OF(entities); i++) {
        if (sma_str_starts_with(rest, entities[i].entity)) {
            *ret_byte = entities[i].byte;
            return entities[i].entity.len;
        }
    }
    return 0;
}

static void put_mention(struct reading *in, struct sma_str id)
{
    const json_t *mention = find_mention(in, id);
    bool is_ours = mention != NULL
                       ? is_us(in, mention)
                       : in->options->bot_id.len > 0 && sma_str_is_equal(id, in->options->bot_id);
    if (is_ours)
        return;
    struct sma_str name = sma_json_str(mention, "username");
    sma_buf_put_char(&in->said, '@');
    sma_attach_put_label(&in->said, name.len > 0 ? name : id, SMA_NAME_BYTES_MAX);
}

static void read_said(struct reading *in, bool has_entities)
{
    struct sma_str content = sma_json_str(in->data, "content"), id;
    for (size_t at = 0; at < content.len;) {
        char byte;
        size_t len = mention_at(content, at, &id);
        if (len > 0) {
            put_mention(in, id);
        } else if (has_entities && (len = entity_at(content, at, &byte)) > 0) {
            sma_buf_put_char(&in->said, byte);
        } else {
            sma_buf_put_char(&in->said, content.ptr[at]);
            len = 1;
        }
        at += len;
    }
}

/* -- attachments ------------------------------------------------------------------------------- */
static const char *kind_of(struct sma_str type)
{
    if (sma_str_starts_with(type, SMA_STR("image/")))
        return "photo";
    bool is_voice =
        sma_str_is_equal(type, SMA_STR("voice")) || sma_str_starts_with(type, SMA_STR("audio/"));
    return is_voice ? "voice" : "document";
}

static struct sma_str without_scheme(struct sma_str url)
{
    size_t len = sma_str_starts_with(url, SMA_STR("http://"))    ? 7
                 : sma_str_starts_with(url, SMA_STR("https://")) ? 8
                                                                 : 0;
    return (struct sma_str){url.ptr + len, url.len - len};
}

/* Guild events leave the scheme out. */
static void put_url(struct sma_buf *buf, struct sma_str url)
{
    if (without_scheme(url).len == url.len)
        sma_buf_put_text(buf, "https://");
    sma_buf_put_json_escaped(buf, url);
}

static bool is_fetchable(struct sma_str url)
{
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= 0x20 || url.ptr[i] == 0x7f)
            return false;
    return url.len > 0 && url.len <= QQ_URL_BYTES_MAX;
}

static void put_file(struct reading *in, const json_t *attachment)
{
    struct sma_str type = sma_json_str(attachment, "content_type"),
                   name = sma_json_str(attachment, "filename");
    struct sma_str wav = sma_json_str(attachment, "voice_wav_url"),
                   url = sma_json_str(attachment, "url");
    struct sma_str asr = sma_json_str(attachment, "asr_refer_text");
    const char *kind = kind_of(type);
    if (wav.len > 0) { /* what everybody can play, instead of the platform's own format */
        url = wav;
        name = SMA_STR("voice.wav");
    }
    if (!is_fetchable(url) || in->file_count == SMA_ATTACHMENT_COUNT_MAX) {
        sma_buf_printf(&in->lines, "%s[%s, not fetched]", in->lines.len > 0 ? "\n" : "", kind);
        return;
    }
    if (name.len == 0)
        name = sma_str(kind);
    struct sma_buf path;
    sma_buf_init(&path, 1024);
    sma_attach_put_path(&path, QQ_CACHE_FOLDER, in->date_ms, without_scheme(url),
                        in->event.ingress.event_key, name);
    sma_attach_put_line(&in->lines, kind, sma_buf_str(&path), name);
    sma_buf_printf(&in->preparation, "%s{\"kind\":\"%s\",\"url\":\"",
                   in->file_count == 0 ? "[" : ",", kind);
    put_url(&in->preparation, url);
    sma_buf_put_text(&in->preparation, "\",\"path\":");
    sma_buf_put_json_string(&in->preparation, sma_buf_str(&path));
    sma_buf_put_text(&in->preparation, ",\"name\":");
    name.len = sma_utf8_cut(name, SMA_NAME_BYTES_MAX);
    sma_buf_put_json_string(&in->preparation, name);
    sma_buf_put_char(&in->preparation, '}');
    if (path.err != SMA_ERR_OK && in->lines.err == SMA_ERR_OK)
        in->lines.err = path.err;
    sma_buf_fini(&path);
    in->file_count++;
    if (asr.len > 0) {
        asr.len = sma_utf8_cut(asr, QUOTE_BYTES_MAX);
        sma_buf_put_text(&in->context,
                         "The platform recognised this speech in the voice message: ");
        sma_buf_put_json_string(&in->context, asr);
        sma_buf_put_char(&in->context, '\n');
    }
}

static void read_files(struct reading *in)
{
    const json_t *files = sma_json_get(in->data, "attachments");
    for (size_t i = 0; i < json_array_size(files) && i < 2 * SMA_ATTACHMENT_COUNT_MAX; i++)
        if (json_is_object(json_array_get(files, i)))
            put_file(in, json_array_get(files, i));
    if (in->file_count > 0)
        sma_buf_put_char(&in->preparation, ']');
}

static void read_quotes(struct reading *in)
{
    const json_t *elements = sma_json_get(in->data, "msg_elements");
    for (size_t i = 0; i < json_array_size(elements) && i < 8; i++) {
        struct sma_str quoted = sma_json_str(json_array_get(elements, i), "content");
        if (quoted.len == 0)
            continue;
        quoted.len = sma_utf8_cut(quoted, QUOTE_BYTES_MAX);
        sma_buf_put_text(&in->context, "This message quotes another one: ");
        sma_buf_put_json_string(&in->context, quoted);
        sma_buf_put_char(&in->context, '\n');
    }
}

/* Quoting a message is answering it. Groups and private chats name it by its index, guilds by its
 * id; a message of any other type than plain and quote (a card, records that were forwarded) is not
 * its sender's own words. */
static void read_provenance(struct reading *in)
{
    const struct sma_str key = SMA_STR("ref_msg_idx=");
    struct sma_ingress *ingress = &in->event.ingress;
    const json_t *ext = sma_json_get(sma_json_get(in->data, "message_scene"), "ext");
    const json_t *reference = sma_json_get(in->data, "message_reference");
    bool has_type = sma_json_get(in->data, "message_type") != NULL; /* guilds say none */
    int64_t type =
        has_type ? sma_json_int(in->data, "message_type", 0, INT32_MAX, -1) : MESSAGE_PLAIN;
    ingress->sent_ms = qq_timestamp_ms(in->data);
    ingress->is_forward = type != MESSAGE_PLAIN && type != MESSAGE_QUOTE;
    struct sma_str id = sma_json_str(reference, "message_id");
    for (size_t i = 0; i < json_array_size(ext) && i < 16; i++) {
        struct sma_str pair = sma_json_str_of(json_array_get(ext, i));
        if (sma_str_starts_with(pair, key))
            id = (struct sma_str){pair.ptr + key.len, pair.len - key.len};
    }
    ingress->is_reply = type == MESSAGE_QUOTE || reference != NULL || id.len > 0;
    if (is_id(id))
        ingress->reply_to_id = id;
}

/* -- messages ---------------------------------------------------------------------------------- */
static void join_text(struct reading *in)
{
    struct sma_str said = sma_str_trim(sma_buf_str(&in->said));
    sma_buf_put_str(&in->text, sma_buf_str(&in->lines));
    if (in->lines.len > 0 && said.len > 0)
        sma_buf_put_text(&in->text, "\n\n");
    sma_buf_put_str(&in->text, said);
}

static void put_meta(struct reading *in)
{
    sma_buf_put_char(&in->meta, '{');
    sma_buf_put_json_key(&in->meta, "chatType");
    sma_buf_put_json_string(&in->meta, in->event.ingress.route.chat_type);
    sma_buf_put_json_key(&in->meta, "username");
    sma_buf_put_json_string(&in->meta, in->event.ingress.route.user_name);
    if (in->file_count > 0) {
        sma_buf_put_json_key(&in->meta, "attachments");
        sma_buf_put_u64(&in->meta, in->file_count);
    }
    sma_buf_put_char(&in->meta, '}');
}

static void finish_message(struct reading *in)
{
    struct sma_ingress *ingress = &in->event.ingress;
    struct sma_str said = sma_str_trim(sma_buf_str(&in->said));
    bool is_own =
        in->lines.len == 0 && !ingress->is_forward; /* what others wrote commands nothing */
    ingress->control = (uint8_t)(is_own ? sma_control_parse(said) : SMA_CONTROL_NONE);
    ingress->kind = ingress->control == SMA_CONTROL_NONE ? SMA_EVENT_MESSAGE : SMA_EVENT_CONTROL;
    ingress->route.user_name = author_name(in);
    join_text(in);
    put_meta(in);
    ingress->text = sma_buf_str(&in->text);
    ingress->context = sma_buf_str(&in->context);
    ingress->meta_json = sma_buf_str(&in->meta);
    ingress->preparation = sma_buf_str(&in->preparation);
    if (ingress->text.len == 0)
        ignore(in, "a message without text and attachment");
    else if (ingress->text.len > SMA_TEXT_BYTES_MAX)
        ignore(in, "a message over the limit of text");
}

static void read_message(struct reading *in, enum place place, bool is_addressed)
{
    static const char *const c2c_keys[] = {"user_openid", "id", "member_openid"};
    static const char *const group_keys[] = {"group_openid", "group_id"};
    struct sma_str chat_id;
    if (place == PLACE_C2C)
        chat_id = first_of(in->author, c2c_keys, SMA_COUNT_OF(c2c_keys));
    else if (place == PLACE_GROUP)
        chat_id = first_of(in->data, group_keys, SMA_COUNT_OF(group_keys));
    else
        chat_id = sma_json_str(in->data, place == PLACE_DM ? "guild_id" : "channel_id");
    struct sma_ingress *ingress = &in->event.ingress;
    ingress->event_key = sma_json_str(in->data, "id");
    if (!is_id(ingress->event_key)) {
        ignore(in, "a message without id");
        return;
    }
    if (json_is_true(json_object_get(in->author, "bot"))) {
        ignore(in, "a bot's message");
        return;
    }
    if (!fill_route(in, place, chat_id, author_id(in->author)))
        return;
    ingress->route.message_id = ingress->event_key;
    ingress->addressed = (uint8_t)(!ingress->is_group ? SMA_ADDRESSED_PRIVATE
                                   : is_addressed     ? SMA_ADDRESSED_MENTION
                                                      : SMA_ADDRESSED_NONE);
    ingress->role = (uint8_t)(ingress->is_group ? role_of(in) : SMA_ROLE_UNKNOWN);
    read_said(in, place == PLACE_CHANNEL || place == PLACE_DM);
    read_files(in);
    read_quotes(in);
    read_provenance(in);
    finish_message(in);
}

/* -- everything else --------------------------------------------------------------------------- */
static void set_reply_event(struct reading *in)
{
    struct sma_str prefix = SMA_STR(QQ_EVENT_REPLY_PREFIX);
    if (!is_id(in->frame->id) || in->frame->id.len > SMA_ID_BYTES_MAX - prefix.len)
        return; /* nothing that an answer could name */
    sma_buf_put_str(&in->reply_id, prefix);
    sma_buf_put_str(&in->reply_id, in->frame->id);
    in->event.ingress.route.message_id = sma_buf_str(&in->reply_id);
}

static void read_interaction(struct reading *in)
{
    struct sma_str group = sma_json_str(in->data, "group_openid"),
                   user = sma_json_str(in->data, "user_openid");
    struct sma_str channel = sma_json_str(in->data, "channel_id");
    const json_t *resolved = sma_json_get(sma_json_get(in->data, "data"), "resolved");
    struct sma_ingress *ingress = &in->event.ingress;
    in->event.interaction_id = sma_json_str(in->data, "id");
    if (!is_id(in->event.interaction_id))
        in->event.interaction_id = SMA_STR("");
    ingress->event_key = is_id(in->frame->id) ? in->frame->id : in->event.interaction_id;
    bool is_routed =
        group.len > 0
            ? fill_route(in, PLACE_GROUP, group, sma_json_str(in->data, "group_member_openid"))
        : user.len > 0 ? fill_route(in, PLACE_C2C, user, user)
                       : fill_route(in, PLACE_CHANNEL, channel, sma_json_str(resolved, "user_id"));
    if (!is_routed)
        return;
    ingress->kind = SMA_EVENT_CALLBACK;
    ingress->addressed =
        (uint8_t)(ingress->is_group ? SMA_ADDRESSED_MENTION : SMA_ADDRESSED_PRIVATE);
    ingress->text = sma_json_str(resolved, "button_data");
    if (!is_id(ingress->event_key))
        ignore(in, "a button press without id");
    else if (ingress->text.len > SMA_ID_BYTES_MAX)
        ignore(in, "a button press with more data than a button holds");
    else
        set_reply_event(in);
}

static void read_relation(struct reading *in)
{
    struct sma_str group = sma_json_str(in->data, "group_openid"),
                   user = sma_json_str(in->data, "openid");
    bool is_routed = group.len > 0 ? fill_route(in, PLACE_GROUP, group,
                                                sma_json_str(in->data, "op_member_openid"))
                                   : fill_route(in, PLACE_C2C, user, user);
    in->event.ingress.kind = SMA_EVENT_NOTE;
    in->event.ingress.addressed = SMA_ADDRESSED_NONE;
    in->event.ingress.event_key = in->frame->id;
    if (is_routed && !is_id(in->frame->id))
        ignore(in, "a notice without event id");
    else if (is_routed)
        set_reply_event(in);
}

static void read_event(struct reading *in)
{
    static const char *const relations[] = {
        "FRIEND_ADD",      "FRIEND_DEL",      "C2C_MSG_REJECT",   "C2C_MSG_RECEIVE",
        "GROUP_ADD_ROBOT", "GROUP_DEL_ROBOT", "GROUP_MSG_REJECT", "GROUP_MSG_RECEIVE"};
    struct sma_str type = in->frame->type;
    if (sma_str_is_equal(type, SMA_STR("C2C_MESSAGE_CREATE")))
        read_message(in, PLACE_C2C, true);
    else if (sma_str_is_equal(type, SMA_STR("GROUP_AT_MESSAGE_CREATE")))
        read_message(in, PLACE_GROUP, true);
    else if (sma_str_is_equal(type, SMA_STR("GROUP_MESSAGE_CREATE")))
        read_message(in, PLACE_GROUP, is_mentioned(in));
    else if (sma_str_is_equal(type, SMA_STR("AT_MESSAGE_CREATE")))
        read_message(in, PLACE_CHANNEL, true);
    else if (sma_str_is_equal(type, SMA_STR("MESSAGE_CREATE")))
        read_message(in, PLACE_CHANNEL, is_mentioned(in));
    else if (sma_str_is_equal(type, SMA_STR("DIRECT_MESSAGE_CREATE")))
        read_message(in, PLACE_DM, true);
    else if (sma_str_is_equal(type, SMA_STR("INTERACTION_CREATE")))
        read_interaction(in);
    else {
        for (size_t i = 0; i < SMA_COUNT_OF(relations); i++) {
            if (sma_str_is_equal(type, sma_str(relations[i]))) {
                read_relation(in);
                return;
            }
        }
        ignore(in, sma_str_is_equal(type, SMA_STR("MESSAGE_AUDIT_REJECT"))
                       ? "the platform's audit has refused a message of ours"
                       : "an event of no interest here");
    }
}

#define BUFFER_MAP(X) \
    X(chat_key) X(reply_id) X(lines) X(said) X(text) X(context) X(meta) X(preparation)

enum sma_err qq_event_parse(const struct qq_event_options *options, const struct qq_frame *frame,
                            qq_event_fn *each, void *user)
{
    struct reading in = {.options = options,
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

/* -- preparation ------------------------------------------------------------------------------- */
static bool is_good_file(const struct sma_file_item *item)
{
    struct sma_str url = sma_json_str(item->json, "url");
    return sma_str_starts_with(url, SMA_STR("https://")) ||
           sma_str_starts_with(url, SMA_STR("http://"));
}

const struct sma_file_shape qq_file_shape = {QQ_CACHE_FOLDER, is_good_file};
