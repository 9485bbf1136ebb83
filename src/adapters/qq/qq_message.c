/* qq_message.c — one message: who speaks, to whom, what is quoted, and the text that is kept.
 * See qq_event.h. */
#include "qq_event_priv.h"

#include "runtime/text/attach.h"
#include "sma/adapter.h"

#define MESSAGE_PLAIN 0
#define MESSAGE_QUOTE 103
#define QUOTE_COUNT_MAX 8

static struct sma_str author_id(const json_t *author)
{
    static const char *const keys[] = {"member_openid", "user_openid", "id", "user_id", "uid"};
    return qq_first_of(author, keys, SMA_COUNT_OF(keys));
}

static struct sma_str author_name(const struct qq_reading *in)
{
    static const char *const keys[] = {"nickname", "username", "name"};
    static const char *const user_keys[] = {"username", "nickname"};
    struct sma_str name = qq_first_of(in->author, keys, SMA_COUNT_OF(keys));
    if (name.len == 0)
        name = qq_first_of(sma_json_get(in->author, "user"), user_keys, SMA_COUNT_OF(user_keys));
    if (name.len == 0)
        name = author_id(in->author); /* so every speaker has a contact, as in projects of old */
    name.len = sma_utf8_cut(name, SMA_NAME_BYTES_MAX);
    return name;
}

static enum sma_role role_of(const struct qq_reading *in)
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

/* -- quotes ------------------------------------------------------------------------------------ */
/* What the bot sent itself it need not be shown again. */
static bool is_ours(const struct qq_reading *in, const json_t *author)
{
    struct sma_str id = in->options->bot_id;
    return json_is_true(json_object_get(author, "is_you")) ||
           (id.len > 0 && sma_str_is_equal(author_id(author), id)) ||
           (id.len == 0 && json_is_true(json_object_get(author, "bot")));
}

/* Words of a quoted message; its files are fetched like those that are sent. They are not the
 * speaker's own words. */
static void put_quote(struct qq_reading *in, const json_t *quoted)
{
    const json_t *author = sma_json_get(quoted, "author");
    struct sma_buf words, lines;
    sma_buf_init(&words, QQ_FRAME_BYTES_MAX);
    sma_buf_init(&lines, QQ_FRAME_BYTES_MAX);
    qq_put_said(in, sma_json_str(quoted, "content"), &words);
    struct sma_str said = sma_str_trim(sma_buf_str(&words));
    if (said.len == 0 && qq_put_card(&words, sma_json_get(quoted, "ark_data")))
        said = sma_buf_str(&words);
    said.len = sma_utf8_cut(said, QQ_QUOTE_BYTES_MAX);
    bool is_own = is_ours(in, author);
    if (!is_own)
        qq_put_files(in, quoted, &lines);
    if (said.len > 0 || lines.len > 0) {
        sma_buf_put_text(&in->context, is_own ? "This message quotes one of your own"
                                              : "This message quotes another one");
        struct sma_str name = sma_json_str(author, "username");
        if (!is_own && name.len > 0) {
            sma_buf_put_text(&in->context, ", of ");
            name.len = sma_utf8_cut(name, SMA_NAME_BYTES_MAX);
            sma_buf_put_json_string(&in->context, name);
        }
        sma_buf_put_text(&in->context, said.len > 0 ? ": " : ", which is a file:");
        if (said.len > 0)
            sma_buf_put_json_string(&in->context, said);
        sma_buf_put_char(&in->context, '\n');
        sma_buf_put_str(&in->context, sma_buf_str(&lines));
        if (lines.len > 0)
            sma_buf_put_char(&in->context, '\n');
    }
    if (words.err != SMA_ERR_OK || lines.err != SMA_ERR_OK)
        in->context.err = words.err != SMA_ERR_OK ? words.err : lines.err;
    sma_buf_fini(&words);
    sma_buf_fini(&lines);
}

static void read_quotes(struct qq_reading *in)
{
    const json_t *elements = sma_json_get(in->data, "msg_elements");
    for (size_t i = 0; i < json_array_size(elements) && i < QUOTE_COUNT_MAX; i++)
        if (json_is_object(json_array_get(elements, i)))
            put_quote(in, json_array_get(elements, i));
}

/* Quoting a message is answering it. Groups and private chats name it by its index, guilds by
 * its id; a message of any other type than plain and quote (a card, records that were forwarded)
 * is not its sender's own words. */
static void read_provenance(struct qq_reading *in)
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
    if (qq_is_id(id))
        ingress->reply_to_id = id;
}

/* -- messages ---------------------------------------------------------------------------------- */
static void join_text(struct qq_reading *in)
{
    struct sma_str said = sma_str_trim(sma_buf_str(&in->said));
    sma_buf_put_str(&in->text, sma_buf_str(&in->lines));
    if (in->lines.len > 0 && said.len > 0)
        sma_buf_put_text(&in->text, "\n\n");
    sma_buf_put_str(&in->text, said);
}

static void put_meta(struct qq_reading *in)
{
    sma_buf_put_char(&in->meta, '{');
    sma_buf_put_json_key(&in->meta, "chatType");
    sma_buf_put_json_string(&in->meta, in->event.ingress.route.chat_type);
    sma_buf_put_json_key(&in->meta, "username");
    sma_buf_put_json_string(&in->meta, in->event.ingress.route.user_name);
    if (in->own_file_count > 0) {
        sma_buf_put_json_key(&in->meta, "attachments");
        sma_buf_put_u64(&in->meta, in->own_file_count);
    }
    sma_buf_put_char(&in->meta, '}');
}

/* Nothing of it is words or a file. Whoever spoke to the bot gets an answer all the same: to its
 * name alone, and to what the platform shows people and not bots. */
static void put_nothing(struct qq_reading *in)
{
    const struct sma_ingress *ingress = &in->event.ingress;
    if (ingress->addressed == SMA_ADDRESSED_NONE)
        return;
    int64_t type = sma_json_int(in->data, "message_type", 0, INT32_MAX, MESSAGE_PLAIN);
    if (type != MESSAGE_PLAIN && type != MESSAGE_QUOTE) {
        sma_buf_put_text(&in->said, "[a message of type ");
        sma_buf_put_i64(&in->said, type);
        sma_buf_put_text(&in->said, " that could not be read]");
    } else if (ingress->is_group) {
        sma_buf_put_char(&in->said, '@');
        sma_attach_put_label(&in->said, qq_our_name(in), SMA_NAME_BYTES_MAX);
    } else {
        sma_buf_put_text(&in->said, "[a message whose content the platform does not show to bots]");
    }
}

static void finish_message(struct qq_reading *in)
{
    struct sma_ingress *ingress = &in->event.ingress;
    struct sma_str said = sma_str_trim(sma_buf_str(&in->said));
    if (said.len == 0 && in->lines.len == 0)
        put_nothing(in);
    bool is_own =
        in->lines.len == 0 && !ingress->is_forward; /* what others wrote commands nothing */
    ingress->control = (uint8_t)(is_own ? sma_control_parse(said) : SMA_CONTROL_NONE);
    /* "/roll 3" among people is not a command to a bot that nobody spoke to. */
    if (ingress->control == SMA_CONTROL_UNKNOWN && ingress->addressed == SMA_ADDRESSED_NONE)
        ingress->control = SMA_CONTROL_NONE;
    ingress->kind = ingress->control == SMA_CONTROL_NONE ? SMA_EVENT_MESSAGE : SMA_EVENT_CONTROL;
    ingress->route.user_name = author_name(in);
    join_text(in);
    put_meta(in);
    ingress->text = sma_buf_str(&in->text);
    ingress->context = sma_buf_str(&in->context);
    ingress->meta_json = sma_buf_str(&in->meta);
    ingress->preparation = sma_buf_str(&in->preparation);
    if (ingress->text.len == 0)
        qq_ignore(in, SMA_WHY_EMPTY "group chatter without text and attachment");
    else if (ingress->text.len > SMA_TEXT_BYTES_MAX)
        qq_ignore(in, SMA_WHY_LIMIT "a message over the limit of text");
}

void qq_read_message(struct qq_reading *in, enum qq_place place, bool is_addressed)
{
    static const char *const c2c_keys[] = {"user_openid", "id", "member_openid"};
    static const char *const group_keys[] = {"group_openid", "group_id"};
    struct sma_str chat_id;
    if (place == QQ_PLACE_C2C)
        chat_id = qq_first_of(in->author, c2c_keys, SMA_COUNT_OF(c2c_keys));
    else if (place == QQ_PLACE_GROUP)
        chat_id = qq_first_of(in->data, group_keys, SMA_COUNT_OF(group_keys));
    else
        chat_id = sma_json_str(in->data, place == QQ_PLACE_DM ? "guild_id" : "channel_id");
    struct sma_ingress *ingress = &in->event.ingress;
    ingress->event_key = sma_json_str(in->data, "id");
    if (!qq_is_id(ingress->event_key)) {
        qq_ignore(in, SMA_WHY_MALFORMED "a message without id");
        return;
    }
    if (!qq_fill_route(in, place, chat_id, author_id(in->author)))
        return;
    if (json_is_true(json_object_get(in->author, "bot"))) {
        qq_ignore(in, SMA_WHY_BOT "a bot's message");
        return;
    }
    ingress->route.message_id = ingress->event_key;
    ingress->addressed = (uint8_t)(!ingress->is_group ? SMA_ADDRESSED_PRIVATE
                                   : is_addressed     ? SMA_ADDRESSED_MENTION
                                                      : SMA_ADDRESSED_NONE);
    ingress->role = (uint8_t)(ingress->is_group ? role_of(in) : SMA_ROLE_UNKNOWN);
    qq_put_said(in, sma_json_str(in->data, "content"), &in->said);
    qq_put_card(&in->lines, sma_json_get(in->data, "ark_data"));
    qq_put_files(in, in->data, &in->lines);
    in->own_file_count = in->file_count;
    read_quotes(in);
    if (in->file_count > 0)
        sma_buf_put_char(&in->preparation, ']');
    read_provenance(in);
    finish_message(in);
}
