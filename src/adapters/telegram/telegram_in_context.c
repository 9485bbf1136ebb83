/*
 * telegram_in_context.c — replies, quotes and forwards as sentences for the model. Everything that
 * people wrote stands in JSON string quotes and is cut, so that a name cannot pass for a sentence
 * of ours.
 */
#include "telegram_in_priv.h"

void telegram_in_put_quoted(struct sma_buf *buf, struct sma_str text, size_t bytes_max)
{
    size_t len = sma_utf8_cut(text, bytes_max);
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_escaped(buf, (struct sma_str){text.ptr, len});
    sma_buf_put_text(buf, len < text.len ? "…\"" : "\"");
}

static bool is_handle(struct sma_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.ptr[i];
        bool is_word = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                       (byte >= 'A' && byte <= 'Z') || byte == '_';
        if (!is_word)
            return false;
    }
    return name.len > 0 && name.len <= 64;
}

static void put_handle(struct sma_buf *buf, struct sma_str name)
{
    if (!is_handle(name))
        return;
    sma_buf_put_text(buf, " (@");
    sma_buf_put_str(buf, name);
    sma_buf_put_char(buf, ')');
}

/* "First Last" (@handle) */
static void put_user_name(struct sma_buf *buf, const json_t *user)
{
    struct sma_str first = telegram_in_str(user, "first_name");
    struct sma_str last = telegram_in_str(user, "last_name");
    size_t half = TELEGRAM_QUOTED_NAME_BYTES_MAX / 2;
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_escaped(buf, (struct sma_str){first.ptr, sma_utf8_cut(first, half)});
    if (first.len > 0 && last.len > 0)
        sma_buf_put_char(buf, ' ');
    sma_buf_put_json_escaped(buf, (struct sma_str){last.ptr, sma_utf8_cut(last, half)});
    sma_buf_put_char(buf, '"');
    put_handle(buf, telegram_in_str(user, "username"));
}

/* the group "Title" (@handle) */
static void put_chat_name(struct sma_buf *buf, const json_t *chat)
{
    struct sma_str type = telegram_in_str(chat, "type");
    sma_buf_put_text(buf, sma_str_is_equal(type, SMA_STR("channel"))   ? "the channel "
                          : sma_str_is_equal(type, SMA_STR("private")) ? "a private chat "
                                                                       : "the group ");
    telegram_in_put_quoted(buf, telegram_in_str(chat, "title"), TELEGRAM_QUOTED_NAME_BYTES_MAX);
    put_handle(buf, telegram_in_str(chat, "username"));
}

static void put_signature(struct sma_buf *buf, const json_t *object)
{
    struct sma_str signature = telegram_in_str(object, "author_signature");
    if (signature.len == 0)
        return;
    sma_buf_put_text(buf, ", signed ");
    telegram_in_put_quoted(buf, signature, TELEGRAM_QUOTED_NAME_BYTES_MAX);
}

/* A MessageOrigin: of "Ann" (@ann) | of "Ann", whose account is hidden | of the channel "News",
 * signed "A" */
static void put_origin(struct sma_buf *buf, const json_t *origin)
{
    struct sma_str type = telegram_in_str(origin, "type");
    if (sma_str_is_equal(type, SMA_STR("user"))) {
        sma_buf_put_text(buf, " by ");
        put_user_name(buf, telegram_in_object(origin, "sender_user"));
    } else if (sma_str_is_equal(type, SMA_STR("hidden_user"))) {
        sma_buf_put_text(buf, " by ");
        telegram_in_put_quoted(buf, telegram_in_str(origin, "sender_user_name"),
                               TELEGRAM_QUOTED_NAME_BYTES_MAX);
        sma_buf_put_text(buf, ", whose account is hidden");
    } else if (sma_str_is_equal(type, SMA_STR("chat"))) {
        sma_buf_put_text(buf, " in the name of ");
        put_chat_name(buf, telegram_in_object(origin, "sender_chat"));
        put_signature(buf, origin);
    } else if (sma_str_is_equal(type, SMA_STR("channel"))) {
        sma_buf_put_text(buf, " in ");
        put_chat_name(buf, telegram_in_object(origin, "chat"));
        put_signature(buf, origin);
    } else {
        sma_buf_put_text(buf, " elsewhere");
    }
}

static void put_time(struct sma_buf *buf, int64_t date_s)
{
    if (date_s <= 0 || date_s > INT64_C(253402300799)) /* year 9999 */
        return;
    sma_buf_put_text(buf, " at ");
    sma_buf_put_iso_time(buf, date_s * 1000);
}

static void begin_sentence(struct sma_buf *buf)
{
    if (buf->len > 0)
        sma_buf_put_char(buf, '\n');
}

/* -- forwards ---------------------------------------------------------------------------------- */

static void put_forward(struct sma_buf *buf, const json_t *message)
{
    const json_t *origin = telegram_in_object(message, "forward_origin");
    if (origin == NULL && !telegram_in_has(message, "forward_date"))
        return;
    begin_sentence(buf);
    sma_buf_put_text(buf, "This message is forwarded. It was written");
    put_origin(buf, origin);
    put_time(buf, telegram_in_int(origin, "date"));
    sma_buf_put_char(buf, '.');
}

/* -- replies ----------------------------------------------------------------------------------- */

bool telegram_in_is_real_reply(const json_t *message)
{
    const json_t *reply = telegram_in_object(message, "reply_to_message");
    if (reply == NULL || telegram_in_has(reply, "forum_topic_created"))
        return false;
    int64_t thread_id = telegram_in_int(message, "message_thread_id");
    return !telegram_in_true(message, "is_topic_message") || thread_id == 0 ||
           telegram_in_int(reply, "message_id") != thread_id;
}

static struct sma_str words_of(const json_t *message)
{
    struct sma_str text = telegram_in_str(message, "text");
    return text.len > 0 ? text : telegram_in_str(message, "caption");
}

/* `: "text"`, ` (a photo): "caption"`, or what kind of thing it is. */
static void put_content(struct sma_buf *buf, const json_t *message)
{
    struct sma_str words = words_of(message);
    const char *kind = telegram_in_media_name(message);
    if (kind != NULL) {
        sma_buf_put_text(buf, " (");
        sma_buf_put_text(buf, kind);
        sma_buf_put_char(buf, ')');
    }
    if (words.len == 0)
        return;
    sma_buf_put_text(buf, ": ");
    telegram_in_put_quoted(buf, words, TELEGRAM_QUOTED_TEXT_BYTES_MAX);
}

static void put_quote(struct sma_buf *buf, const json_t *message, struct sma_str whole)
{
    struct sma_str quote = telegram_in_str(telegram_in_object(message, "quote"), "text");
    if (quote.len == 0 || sma_str_is_equal(quote, whole))
        return;
    sma_buf_put_text(buf, " They quote this part of it: ");
    telegram_in_put_quoted(buf, quote, TELEGRAM_QUOTED_TEXT_BYTES_MAX);
    sma_buf_put_char(buf, '.');
}

/* The files of what is answered are fetched like those that are sent: with privacy mode the bot has
 * never seen them. The same message gives the same path, so what is there is not fetched again. */
static void put_quoted_files(struct telegram_in *in, const json_t *reply, const json_t *message,
                             int64_t date_s)
{
    int64_t chat_id = telegram_in_int(telegram_in_object(reply, "chat"), "id");
    if (chat_id == 0)
        chat_id = telegram_in_int(telegram_in_object(message, "chat"), "id");
    const struct telegram_origin origin = {.chat_id = chat_id,
                                           .message_id = telegram_in_int(reply, "message_id"),
                                           .date_ms = telegram_in_date_ms(in, date_s)};
    (void)telegram_in_put_files(in, reply, &origin, &in->context);
}

static void put_reply(struct sma_buf *buf, const struct telegram_bot *bot, const json_t *message)
{
    const json_t *reply = telegram_in_object(message, "reply_to_message");
    const json_t *author = telegram_in_object(reply, "from");
    const json_t *sender_chat = telegram_in_object(reply, "sender_chat");
    int64_t author_id = telegram_in_int(author, "id");
    begin_sentence(buf);
    sma_buf_put_text(buf, "This message is a reply to ");
    if (sender_chat != NULL) {
        sma_buf_put_text(buf, "a message in the name of ");
        put_chat_name(buf, sender_chat);
    } else if (author_id != 0 && author_id == bot->id) {
        sma_buf_put_text(buf, "your own message");
    } else if (author_id != 0 &&
               author_id == telegram_in_int(telegram_in_object(message, "from"), "id")) {
        sma_buf_put_text(buf, "an earlier message of the same person");
    } else {
        sma_buf_put_text(buf, "a message of ");
        put_user_name(buf, author);
    }
    put_content(buf, reply);
    sma_buf_put_char(buf, '.');
    put_quote(buf, message, words_of(reply));
}

static void put_external_reply(struct sma_buf *buf, const json_t *message)
{
    const json_t *reply = telegram_in_object(message, "external_reply");
    const json_t *chat = telegram_in_object(reply, "chat");
    const char *kind = telegram_in_media_name(reply);
    begin_sentence(buf);
    sma_buf_put_text(buf, "This message is a reply to a message from elsewhere, written");
    put_origin(buf, telegram_in_object(reply, "origin"));
    if (chat != NULL) {
        sma_buf_put_text(buf, ", found in ");
        put_chat_name(buf, chat);
    }
    if (kind != NULL) {
        sma_buf_put_text(buf, " (");
        sma_buf_put_text(buf, kind);
        sma_buf_put_char(buf, ')');
    }
    sma_buf_put_char(buf, '.');
    put_quote(buf, message, SMA_STR(""));
}

/* -- in whose name ----------------------------------------------------------------------------- */

static void put_sender(struct sma_buf *buf, const json_t *message)
{
    const json_t *sender_chat = telegram_in_object(message, "sender_chat");
    const json_t *via = telegram_in_object(message, "via_bot");
    if (sender_chat != NULL) {
        begin_sentence(buf);
        if (telegram_in_int(sender_chat, "id") ==
            telegram_in_int(telegram_in_object(message, "chat"), "id")) {
            sma_buf_put_text(buf, "It was sent anonymously by an administrator of this chat.");
        } else {
            sma_buf_put_text(buf, "It was sent in the name of ");
            put_chat_name(buf, sender_chat);
            sma_buf_put_char(buf, '.');
        }
    }
    if (via != NULL) {
        begin_sentence(buf);
        sma_buf_put_text(buf, "It was made with the help of the bot ");
        put_user_name(buf, via);
        sma_buf_put_char(buf, '.');
    }
}

void telegram_in_put_context(struct telegram_in *in, const json_t *message, bool with_files)
{
    struct sma_buf *buf = &in->context;
    const json_t *reply = telegram_in_object(message, "reply_to_message");
    const json_t *elsewhere = telegram_in_object(message, "external_reply");
    int64_t author_id = telegram_in_int(telegram_in_object(reply, "from"), "id");
    put_forward(buf, message);
    if (telegram_in_is_real_reply(message)) {
        put_reply(buf, in->options->bot, message);
        if (with_files && author_id != in->options->bot->id) /* our own we know */
            put_quoted_files(in, reply, message, telegram_in_int(reply, "date"));
    } else if (elsewhere != NULL) {
        put_external_reply(buf, message);
        if (with_files)
            put_quoted_files(in, elsewhere, message,
                             telegram_in_int(telegram_in_object(elsewhere, "origin"), "date"));
    }
    put_sender(buf, message);
}
