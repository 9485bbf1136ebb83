/* qq_body.c — paths and JSON bodies of messages. See qq_out.h; Source: protocols/qq.md §6.1, §6.2,
 * §6.5. */
#include "qq_event.h"
#include "qq_out.h"

#include "sma/text.h"

#define ROW_COUNT_MAX 5
#define ROW_BUTTON_COUNT_MAX 5

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

static bool is_sent_as_markdown(const struct qq_send *send)
{
    return send->is_markdown && (send->part->markdown.len > 0 || send->button_count > 0);
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
    bool is_markdown = is_sent_as_markdown(send);
    put_text_body(buf, send,
                  is_markdown && send->part->markdown.len > 0 ? send->part->markdown
                                                              : send->part->plain,
                  is_markdown);
}

void qq_put_media_message(struct sma_buf *buf, const struct qq_send *send, struct sma_str file_info)
{
    bool has_words = !send->is_captionless && send->part->caption.len > 0;
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, "content");
    sma_buf_put_json_string(buf, has_words ? send->part->caption : SMA_STR(" "));
    sma_buf_put_json_key(buf, "media");
    sma_buf_put_text(buf, "{\"file_info\":");
    sma_buf_put_json_string(buf, file_info);
    sma_buf_put_char(buf, '}');
    put_type(buf, send, 7);
    put_answered(buf, send);
    sma_buf_put_char(buf, '}');
}

void qq_put_image_message(struct sma_buf *buf, const struct qq_send *send)
{
    sma_buf_put_char(buf, '{');
    if (!send->is_captionless && send->part->caption.len > 0) {
        sma_buf_put_json_key(buf, "content");
        sma_buf_put_json_string(buf, send->part->caption);
    }
    sma_buf_put_json_key(buf, "image");
    sma_buf_put_json_string(buf, send->part->target);
    put_answered(buf, send);
    sma_buf_put_char(buf, '}');
}

void qq_put_typing(struct sma_buf *buf, const struct qq_send *send, unsigned seconds)
{
    sma_buf_printf(buf, "{\"input_notify\":{\"input_type\":1,\"input_second\":%u}",
                   seconds > 60 ? 60 : seconds);
    put_type(buf, send, 6);
    put_answered(buf, send);
    sma_buf_put_char(buf, '}');
}
