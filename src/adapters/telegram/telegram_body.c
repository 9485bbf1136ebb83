/* telegram_body.c — JSON bodies of the methods we call. See telegram_out.h; Source: Bot API,
 * Available methods. */
#include "telegram_in.h"
#include "telegram_out_priv.h"

#include "sma/commands.h"
#include "sma/text.h"

#define CUT_UNITS_SPARE 1 /* for the ellipsis */

/* -- where ------------------------------------------------------------------------------------- */
bool telegram_is_group(const struct sma_route *route)
{
    static const char *const groups[] = {"group", "supergroup", "channel"};
    for (size_t i = 0; i < SMA_COUNT_OF(groups); i++)
        if (sma_str_is_equal(route->chat_type, sma_str(groups[i])))
            return true;
    return route->chat_type.len == 0 && route->chat_id.len > 0 &&
           (route->chat_id.ptr[0] == '-' || route->chat_id.ptr[0] == '@');
}

static void put_chat(struct sma_buf *buf, const struct sma_route *route)
{
    int64_t id;
    sma_buf_put_text(buf, "{\"chat_id\":");
    if (sma_parse_i64(route->chat_id, INT64_MIN, INT64_MAX, &id) == SMA_ERR_OK)
        sma_buf_put_i64(buf, id);
    else
        sma_buf_put_json_string(buf, route->chat_id);
}

/* Topic 1, "General", is written to without its id: the platform refuses it in every method that
 * sends. */
static void put_thread(struct sma_buf *buf, const struct sma_route *route, int64_t low)
{
    int64_t id;
    bool is_direct = sma_str_is_equal(route->chat_type, SMA_STR(TELEGRAM_DIRECT));
    if (sma_parse_i64(route->thread_id, is_direct ? 1 : low, INT64_MAX, &id) != SMA_ERR_OK)
        return;
    sma_buf_put_json_key(buf, is_direct ? "direct_messages_topic_id" : "message_thread_id");
    sma_buf_put_i64(buf, id);
}

static void put_send_thread(struct sma_buf *buf, const struct telegram_send *send)
{
    if (!send->is_no_thread)
        put_thread(buf, send->route, 2);
}

static bool put_message_id(struct sma_buf *buf, struct sma_str message_id)
{
    int64_t id;
    if (sma_parse_i64(message_id, 1, INT64_MAX, &id) != SMA_ERR_OK)
        return false;
    sma_buf_put_json_key(buf, "message_id");
    sma_buf_put_i64(buf, id);
    return true;
}

static bool is_reply(const struct telegram_send *send)
{
    int64_t id;
    return send->part_index == 0 && !send->is_no_reply && telegram_is_group(send->route) &&
           sma_parse_i64(send->route->message_id, 1, INT64_MAX, &id) == SMA_ERR_OK;
}

void telegram_put_reply_parameters(struct sma_buf *buf, const struct telegram_send *send)
{
    if (!is_reply(send))
        return;
    sma_buf_put_char(buf, '{');
    (void)put_message_id(buf, send->route->message_id); /* is_reply has looked at it */
    sma_buf_put_text(buf, ",\"allow_sending_without_reply\":true}");
}

static void put_reply(struct sma_buf *buf, const struct telegram_send *send)
{
    if (!is_reply(send))
        return;
    sma_buf_put_json_key(buf, "reply_parameters");
    telegram_put_reply_parameters(buf, send);
}

/* -- text -------------------------------------------------------------------------------------- */
static void put_text(struct sma_buf *buf, const struct telegram_send *send)
{
    bool is_html = !send->is_plain && send->part->html.len > 0;
    sma_buf_put_json_key(buf, "text");
    sma_buf_put_json_string(buf, is_html ? send->part->html : send->part->plain);
    if (is_html)
        sma_buf_put_text(buf, ",\"parse_mode\":\"HTML\"");
}

/* Telegram fetches the first address of a text at once and for everybody to see: an address that
 * the model made up would carry what it has read, and nobody had to press it. Not for drafts, which
 * do not take the member (Bot API, sendMessageDraft). */
static void put_no_preview(struct sma_buf *buf)
{
    sma_buf_put_text(buf, ",\"link_preview_options\":{\"is_disabled\":true}");
}

void telegram_put_send_message(struct sma_buf *buf, const struct telegram_send *send)
{
    put_chat(buf, send->route);
    put_send_thread(buf, send);
    put_text(buf, send);
    put_no_preview(buf);
    put_reply(buf, send);
    if (send->card != NULL)
        telegram_put_keyboard(buf, send->card);
    sma_buf_put_char(buf, '}');
}

void telegram_put_edit_message(struct sma_buf *buf, const struct telegram_send *send,
                               struct sma_str message_id)
{
    put_chat(buf, send->route);
    (void)put_message_id(buf, message_id); /* a bad one is refused by the platform */
    put_text(buf, send);
    put_no_preview(buf);
    sma_buf_put_char(buf, '}');
}

void telegram_put_delete(struct sma_buf *buf, const struct sma_route *route,
                         struct sma_str message_id)
{
    put_chat(buf, route);
    (void)put_message_id(buf, message_id); /* likewise */
    sma_buf_put_char(buf, '}');
}

void telegram_put_reaction(struct sma_buf *buf, const struct sma_route *route, const char *emoji)
{
    put_chat(buf, route);
    (void)put_message_id(buf, route->message_id); /* likewise */
    sma_buf_put_json_key(buf, "reaction");
    sma_buf_put_text(buf, "[{\"type\":\"emoji\",\"emoji\":");
    sma_buf_put_json_string(buf, sma_str(emoji));
    sma_buf_put_text(buf, "}]}");
}

void telegram_put_draft(struct sma_buf *buf, const struct telegram_send *send, int64_t draft_id)
{
    put_chat(buf, send->route);
    put_thread(buf, send->route, 2);
    sma_buf_put_json_key(buf, "draft_id");
    sma_buf_put_i64(buf, draft_id);
    put_text(buf, send);
    sma_buf_put_char(buf, '}');
}

void telegram_put_chat_action(struct sma_buf *buf, const struct sma_route *route,
                              const char *action)
{
    put_chat(buf, route);
    put_thread(buf, route, 1);
    sma_buf_put_json_key(buf, "action");
    sma_buf_put_json_string(buf, sma_str(action));
    sma_buf_put_char(buf, '}');
}

/* -- cutting short texts ----------------------------------------------------------------------- */
static void on_first(void *user, const struct sma_markup_part *part)
{
    struct sma_buf *buf = user;
    if (part->index == 0)
        sma_buf_put_str(buf, part->text);
    else if (part->index == 1)
        sma_buf_put_text(buf, "\xE2\x80\xA6");
}

void telegram_put_cut(struct sma_buf *buf, struct sma_str text, uint32_t units_max)
{
    struct sma_markup markup;
    sma_markup_init(&markup);
    struct sma_markup_limits limits = {.units_max = units_max - CUT_UNITS_SPARE};
    enum sma_err err = sma_markup_set_plain(&markup, text);
    if (err == SMA_ERR_OK)
        err = sma_markup_split(&markup, &limits, on_first, buf);
    if (err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
        buf->err = err;
    sma_markup_fini(&markup);
}

void telegram_put_callback_answer(struct sma_buf *buf, struct sma_str callback_id,
                                  struct sma_str text, bool is_alert)
{
    struct sma_buf cut;
    sma_buf_init(&cut, text.len * 3 + 8);
    telegram_put_cut(&cut, text, TELEGRAM_CALLBACK_TEXT_UNITS_MAX);
    sma_buf_put_text(buf, "{\"callback_query_id\":");
    sma_buf_put_json_string(buf, callback_id);
    if (cut.len > 0) {
        sma_buf_put_json_key(buf, "text");
        sma_buf_put_json_string(buf, sma_buf_str(&cut));
        if (is_alert)
            sma_buf_put_text(buf, ",\"show_alert\":true");
    }
    sma_buf_put_char(buf, '}');
    sma_buf_fini(&cut);
}

/* -- files ------------------------------------------------------------------------------------- */
static const struct
{
    const char *kind, *method;
} file_methods[] = {{"photo", "sendPhoto"},
                    {"document", "sendDocument"},
                    {"voice", "sendVoice"},
                    {"audio", "sendAudio"}};

static size_t file_index(struct sma_str file_kind)
{
    for (size_t i = 0; i < SMA_COUNT_OF(file_methods); i++)
        if (sma_str_is_equal(file_kind, sma_str(file_methods[i].kind)))
            return i;
    return 1; /* everything can be sent as a document */
}

const char *telegram_file_method(struct sma_str file_kind)
{
    return file_methods[file_index(file_kind)].method;
}

const char *telegram_file_field(struct sma_str file_kind)
{
    return file_methods[file_index(file_kind)].kind;
}

bool telegram_target_is_url(struct sma_str target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < SMA_COUNT_OF(schemes); i++) {
        struct sma_str scheme = sma_str(schemes[i]);
        if (target.len > scheme.len &&
            sma_str_is_equal_nocase((struct sma_str){target.ptr, scheme.len}, scheme))
            return true;
    }
    return false;
}

const char *telegram_file_type(struct sma_str path)
{
    static const struct
    {
        const char *extension, *type;
    } types[] = {
        {".png", "image/png"},       {".jpg", "image/jpeg"},        {".jpeg", "image/jpeg"},
        {".webp", "image/webp"},     {".gif", "image/gif"},         {".pdf", "application/pdf"},
        {".zip", "application/zip"}, {".mp3", "audio/mpeg"},        {".m4a", "audio/mp4"},
        {".ogg", "audio/ogg"},       {".opus", "audio/opus"},       {".oga", "audio/ogg"},
        {".mp4", "video/mp4"},       {".txt", "text/plain"},        {".md", "text/markdown"},
        {".csv", "text/csv"},        {".json", "application/json"}, {".html", "text/html"}};
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++) {
        struct sma_str extension = sma_str(types[i].extension);
        if (path.len <= extension.len)
            continue;
        struct sma_str end = {path.ptr + path.len - extension.len, extension.len};
        if (sma_str_is_equal_nocase(end, extension))
            return types[i].type;
    }
    return "application/octet-stream";
}

/* Music is played in the formats that the platform's players know; everything can be sent as a
 * document. */
const char *telegram_file_other_kind(struct sma_str file_kind, struct sma_str target)
{
    const char *type = telegram_file_type(target);
    bool is_music = strcmp(type, "audio/mpeg") == 0 || strcmp(type, "audio/mp4") == 0;
    return sma_str_is_equal(file_kind, SMA_STR("voice")) && is_music ? "audio" : "document";
}

void telegram_put_send_file(struct sma_buf *buf, const struct telegram_send *send)
{
    put_chat(buf, send->route);
    put_send_thread(buf, send);
    sma_buf_put_json_key(buf, telegram_file_field(send->part->file_kind));
    sma_buf_put_json_string(buf, send->part->target);
    if (send->part->caption.len > 0 && !send->is_captionless) {
        sma_buf_put_json_key(buf, "caption");
        sma_buf_put_json_string(buf, send->part->caption);
    }
    put_reply(buf, send);
    sma_buf_put_char(buf, '}');
}

/* -- commands ---------------------------------------------------------------------------------- */
void telegram_put_commands(struct sma_buf *buf, bool is_chinese)
{
    size_t count;
    const struct sma_command *commands = sma_commands(&count);
    sma_buf_put_text(buf, "{\"commands\":[");
    for (size_t i = 0; i < count; i++) {
        sma_buf_put_text(buf, i == 0 ? "{" : ",{");
        sma_buf_put_json_key(buf, "command");
        sma_buf_put_json_string(buf, sma_str(commands[i].word));
        sma_buf_put_json_key(buf, "description");
        sma_buf_put_json_string(buf,
                                sma_str(is_chinese ? commands[i].chinese_doc : commands[i].doc));
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_char(buf, ']');
    if (is_chinese)
        sma_buf_put_text(buf, ",\"language_code\":\"zh\"");
    sma_buf_put_char(buf, '}');
}
