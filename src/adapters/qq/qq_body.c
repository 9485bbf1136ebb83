/* qq_body.c — paths and JSON bodies of messages. See qq_out.h; Source: protocols/qq.md §6.1, §6.2,
 * §6.5. */
#include "qq_event.h"
#include "qq_out.h"

#include "adapters/common/shorten.h"
#include "sma/notices.h"
#include "sma/text.h"

#define ROW_COUNT_MAX 5
#define WORDS_ROOM(len) \
    (3 * (len) + 4096) /* dots written out, and the note that something was cut */
#define ROW_BUTTON_COUNT_MAX 5
/* What stands for the dot of an address: people can read it, and nothing takes it for a link. A
 * full-width full stop would be one to whoever normalises addresses. */
#define DOT_CHINESE "点"
#define DOT_OTHERS "[.]"

static bool is_type(const struct sma_route *route, const char *type)
{
    return sma_str_is_equal(route->chat_type, sma_str(type));
}

static bool is_guild(const struct sma_route *route)
{
    return is_type(route, "channel") || is_type(route, "dm");
}

/* -- paths ------------------------------------------------------------------------------------- */
static void put_chat_path(struct sma_buf *buf, const struct sma_route *route)
{
    sma_buf_put_text(buf, is_type(route, "group")     ? "/v2/groups/"
                          : is_type(route, "channel") ? "/channels/"
                          : is_type(route, "dm")      ? "/dms/"
                                                      : "/v2/users/");
    sma_buf_put_file_name(buf, route->chat_id);
    sma_buf_put_char(buf, '/');
}

void qq_put_send_path(struct sma_buf *buf, const struct sma_route *route)
{
    put_chat_path(buf, route);
    sma_buf_put_text(buf, "messages");
}

void qq_put_media_path(struct sma_buf *buf, const struct sma_route *route, const char *what)
{
    put_chat_path(buf, route);
    sma_buf_put_text(buf, what);
}

void qq_put_interaction_path(struct sma_buf *buf, struct sma_str interaction_id)
{
    sma_buf_put_text(buf, "/interactions/");
    sma_buf_put_file_name(buf, interaction_id);
}

void qq_put_interaction(struct sma_buf *buf, int code)
{
    sma_buf_printf(buf, "{\"code\":%d}", code);
}

/* -- the words --------------------------------------------------------------------------------- */
static bool take_scheme(struct sma_str text, size_t *ret_len)
{
    static const char *const schemes[] = {"https://", "http://", "ftp://"};
    for (size_t i = 0; i < SMA_COUNT_OF(schemes); i++) {
        size_t len = strlen(schemes[i]);
        if (text.len > len &&
            sma_str_is_equal_nocase((struct sma_str){text.ptr, len}, sma_str(schemes[i]))) {
            *ret_len = len;
            return true;
        }
    }
    return false;
}

static bool is_label_byte(char byte)
{
    unsigned char lower = (unsigned char)byte | 0x20;
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '-';
}

/* From `at` on: labels with dots between them. @return its end; *ret_is_name: it may be the name of
 * a host */
static size_t host_end(struct sma_str text, size_t at, bool *ret_is_name)
{
    size_t dot_count = 0, letter_count = 0, from = at;
    for (; at < text.len; at++) {
        bool is_dot = text.ptr[at] == '.' && at > from && is_label_byte(text.ptr[at - 1]) &&
                      at + 1 < text.len && is_label_byte(text.ptr[at + 1]);
        if (!is_dot && !is_label_byte(text.ptr[at]))
            break;
        dot_count += is_dot;
        letter_count = is_dot ? 0 : letter_count + (text.ptr[at] < '0' || text.ptr[at] > '9');
    }
    /* The last label of a name has letters; four numbers are an address. 3.14 and 1.2.3 are
     * neither. */
    *ret_is_name = dot_count > 0 && (letter_count >= 2 || dot_count == 3);
    return at;
}

/* Addresses without their scheme, the dots of their hosts written out; paths stay, so that people
 * can type them. */
static void put_without_links(struct sma_buf *buf, struct sma_str text, struct sma_str language)
{
    bool is_chinese = sma_notice_language(SMA_LANGUAGE_AUTO, language, true) == SMA_LANGUAGE_ZH;
    size_t at = 0, scheme_len;
    while (at < text.len) {
        struct sma_str rest = {text.ptr + at, text.len - at};
        bool has_scheme = take_scheme(rest, &scheme_len), is_name;
        at += has_scheme ? scheme_len : 0;
        size_t end = host_end(text, at, &is_name);
        for (; at < end; at++) {
            if (text.ptr[at] == '.' && (is_name || has_scheme))
                sma_buf_put_text(buf, is_chinese ? DOT_CHINESE : DOT_OTHERS);
            else
                sma_buf_put_char(buf, text.ptr[at]);
        }
        bool is_foreign_dot = at > 0 && at + 1 < text.len && text.ptr[at] == '.' &&
                              (unsigned char)text.ptr[at - 1] >= 0x80 &&
                              is_label_byte(text.ptr[at + 1]); /* 例子.com */
        if (is_foreign_dot)
            sma_buf_put_text(buf, is_chinese ? DOT_CHINESE : DOT_OTHERS);
        else if (at < text.len && !has_scheme)
            sma_buf_put_char(buf, text.ptr[at]);
        at += at < text.len && (is_foreign_dot || !has_scheme);
    }
}

static void take_error(struct sma_buf *buf, const struct sma_buf *words)
{
    if (buf->err == SMA_ERR_OK)
        buf->err = words->err;
}

static bool is_sent_as_markdown(const struct qq_send *send)
{
    return send->is_markdown && !send->is_without_links &&
           (send->part->markdown.len > 0 || send->button_count > 0);
}

/* Words as the platform takes them: what it refused before it is not asked for again. */
static void put_mended(struct sma_buf *words, const struct qq_send *send, struct sma_str text)
{
    struct sma_buf cut;
    sma_buf_init(&cut, text.len + 4096);
    if (send->is_short && text.len > 0) {
        sma_adapter_put_short(&cut, text, send->language);
        text = sma_buf_str(&cut);
    }
    if (send->is_without_links)
        put_without_links(words, text, send->language);
    else
        sma_buf_put_str(words, text);
    take_error(words, &cut);
    sma_buf_fini(&cut);
}

/* The text of a TEXT part in the form that is wanted. */
static void put_words(struct sma_buf *words, const struct qq_send *send)
{
    bool is_markdown = is_sent_as_markdown(send) && send->part->markdown.len > 0;
    put_mended(words, send, is_markdown ? send->part->markdown : send->part->plain);
}

/* Refused in every form, it is left out: the file is what counts. */
static void put_caption(struct sma_buf *words, const struct qq_send *send)
{
    if (!send->is_captionless)
        put_mended(words, send, send->part->caption);
}

/* -- bodies ------------------------------------------------------------------------------------ */
static void put_type(struct sma_buf *buf, const struct qq_send *send, int type)
{
    if (is_guild(send->route))
        return;
    sma_buf_put_json_key(buf, "msg_type");
    sma_buf_put_i64(buf, type);
}

static void put_answered(struct sma_buf *buf, const struct qq_send *send)
{
    struct sma_str id = send->route->message_id, prefix = SMA_STR(QQ_EVENT_REPLY_PREFIX);
    if (send->way != QQ_PASSIVE || id.len == 0)
        return;
    bool is_event = sma_str_starts_with(id, prefix);
    if (is_event)
        id = (struct sma_str){id.ptr + prefix.len, id.len - prefix.len};
    sma_buf_put_json_key(buf, is_event ? "event_id" : "msg_id");
    sma_buf_put_json_string(buf, id);
    if (is_guild(send->route))
        return;
    sma_buf_put_json_key(buf, "msg_seq");
    sma_buf_put_u64(buf, send->msg_seq);
}

/* As many characters as a label has; rather no half word behind a whole one. */
static size_t label_bytes(struct sma_str label)
{
    size_t at = 0, blank = 0;
    for (size_t count = 0; at < label.len; at++) {
        bool is_start = ((unsigned char)label.ptr[at] & 0xc0) != 0x80;
        if (is_start && ++count > QQ_BUTTON_LABEL_CHARS_MAX)
            return blank > 0 && label.ptr[at] != ' ' ? blank : at;
        if (label.ptr[at] == ' ')
            blank = at;
    }
    return at;
}

static void put_button(struct sma_buf *buf, const struct qq_button *button)
{
    struct sma_str label = button->label;
    label.len = label_bytes(label);
    sma_buf_put_text(buf, "{\"id\":");
    sma_buf_put_json_string(buf, button->id);
    sma_buf_put_text(buf, ",\"group_id\":\"g\",\"render_data\":{\"label\":");
    sma_buf_put_json_string(buf, label);
    sma_buf_put_text(buf, ",\"visited_label\":");
    sma_buf_put_json_string(buf, label);
    sma_buf_printf(buf,
                   ",\"style\":%d},\"action\":{\"type\":1,\"permission\":{\"type\":2},\"data\":",
                   button->is_primary ? 4 : 0);
    sma_buf_put_json_string(buf, button->data);
    sma_buf_put_text(buf, ",\"unsupport_tips\":");
    sma_buf_put_json_string(buf, label);
    sma_buf_put_text(buf, "}}");
}

/* Do the wanted rows suffice? Else every row is filled. */
static bool fits_rows(const struct qq_button *buttons, size_t count)
{
    size_t row_count = 1, in_row = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new_row =
            (i > 0 && buttons[i].row != buttons[i - 1].row) || in_row == ROW_BUTTON_COUNT_MAX;
        row_count += is_new_row;
        in_row = is_new_row ? 1 : in_row + 1;
    }
    return row_count <= ROW_COUNT_MAX;
}

static void put_keyboard(struct sma_buf *buf, const struct qq_send *send)
{
    size_t count =
        send->button_count > QQ_BUTTON_COUNT_MAX ? QQ_BUTTON_COUNT_MAX : send->button_count;
    if (count == 0)
        return;
    bool has_rows = fits_rows(send->buttons, count);
    size_t in_row = 0;
    sma_buf_put_json_key(buf, "keyboard");
    sma_buf_put_text(buf, "{\"content\":{\"rows\":[");
    for (size_t i = 0; i < count; i++) {
        bool is_other = has_rows && i > 0 && send->buttons[i].row != send->buttons[i - 1].row;
        bool is_new_row = i == 0 || is_other || in_row == ROW_BUTTON_COUNT_MAX;
        in_row = is_new_row ? 1 : in_row + 1;
        if (is_new_row)
            sma_buf_put_text(buf, i == 0 ? "{\"buttons\":[" : "]},{\"buttons\":[");
        else
            sma_buf_put_char(buf, ',');
        put_button(buf, &send->buttons[i]);
    }
    sma_buf_put_text(buf, "]}]}}");
}

static void put_text_body(struct sma_buf *buf, const struct qq_send *send, struct sma_str words,
                          bool is_markdown)
{
    sma_buf_put_char(buf, '{');
    if (is_markdown) {
        sma_buf_put_json_key(buf, "markdown");
        sma_buf_put_text(buf, "{\"content\":");
        sma_buf_put_json_string(buf, words);
        sma_buf_put_char(buf, '}');
        put_keyboard(buf, send);
    } else {
        sma_buf_put_json_key(buf, "content");
        sma_buf_put_json_string(buf, words);
    }
    put_type(buf, send, is_markdown ? 2 : 0);
    put_answered(buf, send);
    sma_buf_put_char(buf, '}');
}

void qq_put_message(struct sma_buf *buf, const struct qq_send *send)
{
    struct sma_buf words;
    sma_buf_init(&words, WORDS_ROOM(send->part->plain.len + send->part->markdown.len));
    put_words(&words, send);
    put_text_body(buf, send, sma_buf_str(&words), is_sent_as_markdown(send));
    take_error(buf, &words);
    sma_buf_fini(&words);
}

void qq_put_media_message(struct sma_buf *buf, const struct qq_send *send, struct sma_str file_info)
{
    struct sma_buf words;
    sma_buf_init(&words, WORDS_ROOM(send->part->caption.len));
    put_caption(&words, send);
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "content");
    sma_buf_put_json_string(buf, words.len > 0 ? sma_buf_str(&words) : SMA_STR(" "));
    sma_buf_put_json_key(buf, "media");
    sma_buf_put_text(buf, "{\"file_info\":");
    sma_buf_put_json_string(buf, file_info);
    sma_buf_put_char(buf, '}');
    put_type(buf, send, 7);
    put_answered(buf, send);
    sma_buf_put_char(buf, '}');
    take_error(buf, &words);
    sma_buf_fini(&words);
}

void qq_put_image_message(struct sma_buf *buf, const struct qq_send *send)
{
    struct sma_buf words;
    sma_buf_init(&words, WORDS_ROOM(send->part->caption.len));
    put_caption(&words, send);
    sma_buf_put_char(buf, '{');
    if (words.len > 0) {
        sma_buf_put_json_key(buf, "content");
        sma_buf_put_json_string(buf, sma_buf_str(&words));
    }
    sma_buf_put_json_key(buf, "image");
    sma_buf_put_json_string(buf, send->part->target);
    put_answered(buf, send);
    sma_buf_put_char(buf, '}');
    take_error(buf, &words);
    sma_buf_fini(&words);
}

void qq_put_file_as_text(struct sma_buf *buf, const struct qq_send *send)
{
    struct sma_buf words, shown;
    struct qq_media media = qq_media_of(send->part);
    size_t bytes_max = WORDS_ROOM(send->part->caption.len + send->part->target.len);
    sma_buf_init(&words, bytes_max);
    sma_buf_init(&shown, bytes_max);
    sma_buf_put_str(&words, send->part->caption);
    if (words.len > 0)
        sma_buf_put_char(&words, '\n');
    sma_buf_put_str(&words, media.is_url ? send->part->target : media.name);
    put_mended(&shown, send, sma_buf_str(&words));
    put_text_body(buf, send, sma_buf_str(&shown), false);
    take_error(buf, &words);
    take_error(buf, &shown);
    sma_buf_fini(&words);
    sma_buf_fini(&shown);
}

void qq_put_typing(struct sma_buf *buf, const struct qq_send *send, unsigned seconds)
{
    sma_buf_printf(buf, "{\"input_notify\":{\"input_type\":1,\"input_second\":%u}",
                   seconds > 60 ? 60 : seconds);
    put_type(buf, send, 6);
    put_answered(buf, send);
    sma_buf_put_char(buf, '}');
}
