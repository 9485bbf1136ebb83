/* feishu_request.c — bodies and paths of requests. See feishu_out.h. */
#include "feishu_out.h"

#include "runtime/json/json_read.h"
#include "runtime/markup/markup.h"
#include "sma/text.h"

#define CONTENT_BYTES_MAX (512 * 1024)
#define BUTTON_COUNT_MAX SMA_CARD_BUTTON_COUNT_MAX
#define CARD_UNITS_MIN 256 /* left for the text of a card whatever its buttons take */

static const char MESSAGES_PATH[] = "/open-apis/im/v1/messages";

struct feishu_target feishu_target_make(const struct sma_route *route, uint32_t part)
{
    bool has_thread = route->thread_id.len > 0;
    bool is_reply =
        route->message_id.len > 0 && (has_thread || (part == 0 && feishu_is_group(route)));
    return (struct feishu_target){.chat_id = route->chat_id,
                                  .reply_to =
                                      is_reply ? route->message_id : (struct sma_str){"", 0},
                                  .is_in_thread = is_reply && has_thread};
}

void feishu_put_send_path(struct sma_buf *buf, const struct feishu_target *target)
{
    if (target->reply_to.len == 0) {
        sma_buf_printf(buf, "%s?receive_id_type=chat_id", MESSAGES_PATH);
        return;
    }
    feishu_put_message_path(buf, target->reply_to);
    sma_buf_put_text(buf, "/reply");
}

void feishu_put_message_path(struct sma_buf *buf, struct sma_str message_id)
{
    sma_buf_printf(buf, "%s/", MESSAGES_PATH);
    sma_buf_put_file_name(buf, message_id); /* percent-encoding; also right for a path segment */
}

void feishu_put_resource_path(struct sma_buf *buf, const char *type, struct sma_str message_id,
                              struct sma_str file_key)
{
    feishu_put_message_path(buf, message_id);
    sma_buf_put_text(buf, "/resources/");
    sma_buf_put_file_name(buf, file_key);
    sma_buf_printf(buf, "?type=%s", type);
}

/* The body around a content: JSON text inside a JSON string. */
static void put_body(struct sma_buf *buf, const struct feishu_target *target, const char *msg_type,
                     const struct sma_buf *content, struct sma_str uuid)
{
    if (content->err != SMA_ERR_OK) {
        buf->err = content->err;
        return;
    }
    sma_buf_put_char(buf, '{');
    if (target->reply_to.len == 0) {
        sma_buf_put_json_key(buf, "receive_id");
        sma_buf_put_json_string(buf, target->chat_id);
    }
    sma_buf_put_json_key(buf, "msg_type");
    sma_buf_put_json_string(buf, sma_str(msg_type));
    sma_buf_put_json_key(buf, "content");
    sma_buf_put_json_string(buf, sma_buf_str(content));
    if (target->reply_to.len > 0) {
        sma_buf_put_json_key(buf, "reply_in_thread");
        sma_buf_put_text(buf, target->is_in_thread ? "true" : "false");
    }
    if (uuid.len > 0) {
        sma_buf_put_json_key(buf, "uuid");
        sma_buf_put_json_string(buf, uuid);
    }
    sma_buf_put_char(buf, '}');
}

void feishu_put_text(struct sma_buf *buf, const struct feishu_target *target, struct sma_str text,
                     struct sma_str uuid)
{
    struct sma_buf content;
    sma_buf_init(&content, CONTENT_BYTES_MAX);
    sma_buf_put_text(&content, "{\"text\":");
    sma_buf_put_json_string(&content, text);
    sma_buf_put_char(&content, '}');
    put_body(buf, target, "text", &content, uuid);
    sma_buf_fini(&content);
}

/* -- cards ------------------------------------------------------------------------------------- */

static void put_button(struct sma_buf *buf, const struct feishu_button *button)
{
    sma_buf_put_text(buf,
                     "{\"tag\":\"column\",\"width\":\"auto\",\"elements\":[{\"tag\":\"button\","
                     "\"text\":{\"tag\":\"plain_text\",\"content\":");
    sma_buf_put_json_string(buf, button->label);
    sma_buf_put_text(buf, "},\"type\":");
    sma_buf_put_json_string(buf, sma_str(button->type == NULL ? "default" : button->type));
    sma_buf_put_text(buf, ",\"behaviors\":[{\"type\":\"callback\",\"value\":");
    sma_buf_put_str(buf, button->value_json.len == 0 ? SMA_STR("{}") : button->value_json);
    sma_buf_put_text(buf, "}]}]}");
}

static size_t clamp_button_count(const struct feishu_card *card)
{
    return card->button_count < BUTTON_COUNT_MAX ? card->button_count : BUTTON_COUNT_MAX;
}

/* Bytes of a prefix of text of at most units_max UTF-16 units, at a code point, as long as there is
 * one. */
static size_t cut_units(struct sma_str text, size_t units_max)
{
    size_t low = 0, high = text.len < 3 * units_max ? text.len : 3 * units_max;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2, len = sma_utf8_cut(text, middle);
        if (len > low && sma_utf16_length((struct sma_str){text.ptr, len}) <= units_max)
            low = len;
        else if (len <= low)
            break; /* nothing ends between the two */
        else
            high = len - 1;
    }
    return low;
}

static size_t text_units_max(const struct feishu_card *card)
{
    size_t taken = card->title.len;
    for (size_t i = 0; i < clamp_button_count(card); i++)
        taken += card->buttons[i].label.len + card->buttons[i].value_json.len + 64;
    return taken + CARD_UNITS_MIN < FEISHU_CARD_UNITS_MAX ? FEISHU_CARD_UNITS_MAX - taken
                                                          : CARD_UNITS_MIN;
}

/* Control characters are worth six bytes each escaped, and nothing to a reader. */
static void put_cut_markdown(struct sma_buf *buf, const struct feishu_card *card)
{
    struct sma_str text = card->markdown;
    size_t units_max = text_units_max(card);
    bool is_cut = sma_utf16_length(text) > units_max;
    struct sma_buf clean;
    sma_buf_init(&clean, CONTENT_BYTES_MAX);
    if (is_cut)
        text.len = cut_units(text, units_max - 1);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if ((byte >= 0x20 && byte != 0x7f) || byte == '\n' || byte == '\t')
            sma_buf_put_char(&clean, (char)byte);
    }
    if (is_cut)
        sma_buf_put_text(&clean, "…");
    if (clean.err != SMA_ERR_OK)
        buf->err = clean.err;
    sma_buf_put_json_string(buf, sma_buf_str(&clean));
    sma_buf_fini(&clean);
}

void feishu_put_card_json(struct sma_buf *buf, const struct feishu_card *card)
{
    bool is_kit = card->mode != FEISHU_CARD_WHOLE;
    sma_buf_put_text(buf, "{\"schema\":\"2.0\",\"config\":{\"update_multi\":true");
    if (is_kit)
        sma_buf_printf(buf, ",\"streaming_mode\":%s",
                       card->mode == FEISHU_CARD_STREAMING ? "true" : "false");
    sma_buf_put_char(buf, '}');
    if (card->title.len > 0) {
        sma_buf_put_text(buf, ",\"header\":{\"title\":{\"tag\":\"plain_text\",\"content\":");
        sma_buf_put_json_string(buf, card->title);
        sma_buf_put_text(buf, "},\"template\":");
        sma_buf_put_json_string(buf, sma_str(card->template == NULL ? "blue" : card->template));
        sma_buf_put_char(buf, '}');
    }
    sma_buf_put_text(buf, ",\"body\":{\"elements\":[{\"tag\":\"markdown\",");
    if (is_kit)
        sma_buf_put_text(buf, "\"element_id\":\"" FEISHU_KIT_ELEMENT "\",");
    sma_buf_put_text(buf, "\"content\":");
    put_cut_markdown(buf, card);
    sma_buf_put_char(buf, '}');
    size_t button_count = clamp_button_count(card);
    for (size_t i = 0; i < button_count; i++) {
        bool is_new_row = i == 0 || card->buttons[i].row != card->buttons[i - 1].row;
        if (is_new_row && i > 0)
            sma_buf_put_text(buf, "]}");
        sma_buf_put_text(buf, is_new_row
                                  ? ",{\"tag\":\"column_set\",\"flex_mode\":\"flow\",\"columns\":["
                                  : ",");
        put_button(buf, &card->buttons[i]);
    }
    sma_buf_put_text(buf, button_count > 0 ? "]}]}}" : "]}}");
}

void feishu_put_card_message(struct sma_buf *buf, const struct feishu_target *target,
                             const struct feishu_card *card, struct sma_str uuid)
{
    struct sma_buf content;
    sma_buf_init(&content, CONTENT_BYTES_MAX);
    feishu_put_card_json(&content, card);
    put_body(buf, target, "interactive", &content, uuid);
    sma_buf_fini(&content);
}

void feishu_put_card(struct sma_buf *buf, const struct feishu_target *target,
                     struct sma_str markdown, struct sma_str uuid)
{
    feishu_put_card_message(buf, target, &(struct feishu_card){.markdown = markdown}, uuid);
}

void feishu_put_own_card(struct sma_buf *buf, const struct feishu_target *target,
                         struct sma_str json, struct sma_str uuid)
{
    struct sma_buf content;
    sma_buf_init(&content, CONTENT_BYTES_MAX);
    sma_buf_put_str(&content, json);
    put_body(buf, target, "interactive", &content, uuid);
    sma_buf_fini(&content);
}

void feishu_put_kit_message(struct sma_buf *buf, const struct feishu_target *target,
                            struct sma_str card_id, struct sma_str uuid)
{
    struct sma_buf content;
    sma_buf_init(&content, 1024);
    sma_buf_put_text(&content, "{\"type\":\"card\",\"data\":{\"card_id\":");
    sma_buf_put_json_string(&content, card_id);
    sma_buf_put_text(&content, "}}");
    put_body(buf, target, "interactive", &content, uuid);
    sma_buf_fini(&content);
}

void feishu_put_card_patch(struct sma_buf *buf, const struct feishu_card *card)
{
    struct sma_buf content;
    sma_buf_init(&content, CONTENT_BYTES_MAX);
    feishu_put_card_json(&content, card);
    sma_buf_put_text(buf, "{\"content\":");
    sma_buf_put_json_string(buf, sma_buf_str(&content));
    sma_buf_put_char(buf, '}');
    if (content.err != SMA_ERR_OK)
        buf->err = content.err;
    sma_buf_fini(&content);
}

void feishu_put_toast(struct sma_buf *buf, const char *type, struct sma_str text)
{
    sma_buf_put_text(buf, "{\"toast\":{\"type\":");
    sma_buf_put_json_string(buf, sma_str(type));
    sma_buf_put_text(buf, ",\"content\":");
    sma_buf_put_json_string(buf, text);
    sma_buf_put_text(buf, "}}");
}

/* -- parts ------------------------------------------------------------------------------------- */

/* A refused card as a person would read it; the Markdown itself where that would be too long for a
 * text. */
static void put_plain(struct sma_buf *buf, const struct feishu_target *target,
                      struct sma_str markdown, struct sma_str uuid)
{
    struct sma_markup markup;
    sma_markup_init(&markup);
    struct sma_str text = markdown;
    if (sma_markup_parse(&markup, markdown, NULL) == SMA_ERR_OK &&
        !sma_text_is_blank(sma_buf_str(&markup.text)) &&
        sma_utf16_length(sma_buf_str(&markup.text)) <= FEISHU_TEXT_UNITS_MAX)
        text = sma_buf_str(&markup.text);
    feishu_put_text(buf, target, text, uuid);
    sma_markup_fini(&markup);
}

void feishu_put_part(struct sma_buf *buf, const struct feishu_target *target,
                     const struct feishu_part *part, bool is_plain, struct sma_str uuid)
{
    SMA_ASSERT(part->kind == FEISHU_PART_TEXT || part->kind == FEISHU_PART_CARD);
    if (part->kind == FEISHU_PART_TEXT)
        feishu_put_text(buf, target, part->text, uuid);
    else if (is_plain)
        put_plain(buf, target, part->text, uuid);
    else
        feishu_put_card(buf, target, part->text, uuid);
}

/* -- files ------------------------------------------------------------------------------------- */

struct file_form
{
    const char *extension, *file_type, *mime;
};
/* A video is uploaded as an ordinary file: as "media" it would need a cover image. */
static const struct file_form file_forms[] = {
    {"mp4", "stream", "video/mp4"},
    {"pdf", "pdf", "application/pdf"},
    {"doc", "doc", "application/msword"},
    {"docx", "doc", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"xls", "xls", "application/vnd.ms-excel"},
    {"xlsx", "xls", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"ppt", "ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "ppt", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"opus", "stream", "audio/ogg"},
    {"ogg", "stream", "audio/ogg"},
    {"mp3", "stream", "audio/mpeg"},
    {"m4a", "stream", "audio/mp4"},
    {"zip", "stream", "application/zip"},
};
static const struct file_form image_forms[] = {
    {"png", "stream", "image/png"},   {"jpg", "stream", "image/jpeg"},
    {"jpeg", "stream", "image/jpeg"}, {"webp", "stream", "image/webp"},
    {"gif", "stream", "image/gif"},   {"bmp", "stream", "image/bmp"},
};

/* What follows the last dot of the last segment, without query; empty when there is none. */
static struct sma_str extension_of(struct sma_str target)
{
    if (sma_str_starts_with(target, SMA_STR("http://")) ||
        sma_str_starts_with(target, SMA_STR("https://"))) {
        for (size_t i = 0; i < target.len; i++) {
            if (target.ptr[i] == '?' || target.ptr[i] == '#')
                target.len = i;
        }
    }
    for (size_t i = target.len; i-- > 0;) {
        if (target.ptr[i] == '/')
            break;
        if (target.ptr[i] == '.')
            return (struct sma_str){target.ptr + i + 1, target.len - i - 1};
    }
    return (struct sma_str){"", 0};
}

static const struct file_form *find_form(const struct file_form *forms, size_t count,
                                         struct sma_str extension)
{
    for (size_t i = 0; i < count; i++) {
        if (sma_str_is_equal_nocase(sma_str(forms[i].extension), extension))
            return &forms[i];
    }
    return NULL;
}

struct feishu_upload feishu_upload_plan(const struct feishu_part *part)
{
    struct sma_str extension = extension_of(part->target);
    bool is_voice = sma_str_is_equal(part->file_kind, SMA_STR("voice"));
    bool is_audio = is_voice || sma_str_is_equal(part->file_kind, SMA_STR("audio"));
    const struct file_form *image = find_form(image_forms, SMA_COUNT_OF(image_forms), extension);
    if (image != NULL && sma_str_is_equal(part->file_kind, SMA_STR("photo")))
        return (struct feishu_upload){true, "", "image", image->mime, FEISHU_IMAGE_BYTES_MAX};
    /* The platform plays opus only. Voice in .ogg is opus; music in .ogg may be anything. */
    if ((is_audio && sma_str_is_equal_nocase(extension, SMA_STR("opus"))) ||
        (is_voice && sma_str_is_equal_nocase(extension, SMA_STR("ogg"))))
        return (struct feishu_upload){false, "opus", "audio", "audio/ogg", FEISHU_FILE_BYTES_MAX};
    const struct file_form *form = image;
    if (form == NULL)
        form = find_form(file_forms, SMA_COUNT_OF(file_forms), extension);
    return (struct feishu_upload){false, form == NULL ? "stream" : form->file_type, "file",
                                  form == NULL ? "application/octet-stream" : form->mime,
                                  FEISHU_FILE_BYTES_MAX};
}

/* The first of these members of `data`. */
static SMA_CHECKED enum sma_err parse_key(struct sma_str body, const char *name, const char *other,
                                          char *ret_key, size_t key_size)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    enum sma_err err = sma_json_load(body, &root);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOMEM ? err : SMA_ERR_BADINPUT;
    const json_t *data = sma_json_get(root, "data");
    struct sma_str key = sma_json_str(data, name);
    if (key.len == 0)
        key = sma_json_str(data, other);
    if (sma_json_int(root, "code", INT64_MIN, INT64_MAX, -1) != 0 || key.len == 0 ||
        key.len >= key_size || memchr(key.ptr, '\0', key.len) != NULL)
        return SMA_ERR_BADINPUT;
    memcpy(ret_key, key.ptr, key.len);
    ret_key[key.len] = '\0';
    return SMA_ERR_OK;
}

enum sma_err feishu_upload_parse(struct sma_str body, char *ret_key, size_t key_size)
{
    return parse_key(body, "image_key", "file_key", ret_key, key_size);
}

enum sma_err feishu_kit_parse(struct sma_str body, char *ret_id, size_t id_size)
{
    return parse_key(body, "card_id", "card_id", ret_id, id_size);
}

void feishu_put_file(struct sma_buf *buf, const struct feishu_target *target,
                     const struct feishu_upload *upload, struct sma_str key, struct sma_str uuid)
{
    struct sma_buf content;
    sma_buf_init(&content, CONTENT_BYTES_MAX);
    sma_buf_put_text(&content, upload->is_image ? "{\"image_key\":" : "{\"file_key\":");
    sma_buf_put_json_string(&content, key);
    sma_buf_put_char(&content, '}');
    put_body(buf, target, upload->msg_type, &content, uuid);
    sma_buf_fini(&content);
}
