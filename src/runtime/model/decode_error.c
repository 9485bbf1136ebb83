/* Error objects in every place and shape servers put them. Source: protocols/llm.md §2 Errors, §4
 * Errors, §5. */
#include "decode_priv.h"

#include "sma/text.h"

/* One line: runs of white space and control characters become one space; cut where a character
 * ends. */
static void copy_line(char *to, size_t size, struct sma_str text)
{
    text = sma_str_trim(text);
    size_t used = 0;
    bool is_gap = false;
    for (size_t i = 0; i < text.len && used + 2 < size; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte <= ' ' || byte == 0x7f) {
            is_gap = true;
            continue;
        }
        if (is_gap && used > 0)
            to[used++] = ' ';
        is_gap = false;
        to[used++] = (char)byte;
    }
    size_t last = used; /* the last character may have been cut */
    while (last > 0 && ((unsigned char)to[last - 1] & 0xc0) == 0x80)
        last--;
    if (last > 0 && !sma_utf8_is_valid((struct sma_str){to + last - 1, used - last + 1}))
        used = last - 1;
    to[used] = '\0';
    if (!sma_utf8_is_valid(sma_str(to)))
        for (char *at = to; *at != '\0'; at++)
            if ((unsigned char)*at >= 0x80)
                *at = '?';
}

static void take_code(struct sma_wire_error *error, const json_t *code)
{
    if (json_is_string(code)) {
        copy_line(error->code, sizeof error->code, sma_json_text_of(code));
        return;
    }
    if (!json_is_integer(code))
        return;
    json_int_t number = json_integer_value(code);
    struct sma_buf text;
    sma_buf_init(&text, 32);
    sma_buf_put_i64(&text, number);
    copy_line(error->code, sizeof error->code, sma_buf_str(&text));
    sma_buf_fini(&text);
    if (number >= 400 && number <= 599)
        error->status = (int)number;
}

static struct sma_str find_message(const json_t *object)
{
    static const char *const keys[] = {"message", "msg", "detail", "error_description", "title"};
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++) {
        const json_t *value = json_object_get(object, keys[i]);
        if (json_is_string(value) && json_string_length(value) > 0)
            return sma_json_text_of(value);
        if (json_is_array(value) && json_array_size(value) > 0) /* FastAPI: [{loc,msg,type}] */
            return sma_json_get_str(json_array_get(value, 0), "msg");
    }
    return (struct sma_str){"", 0};
}

static void take_error(struct sma_wire_error *error, const json_t *root)
{
    if (json_is_array(root))
        root = json_array_get(root, 0);
    const json_t *inner = json_object_get(root, "error");
    if (json_is_string(inner)) {
        copy_line(error->message, sizeof error->message, sma_json_text_of(inner));
        take_code(error, json_object_get(root, "code"));
        return;
    }
    const json_t *object = json_is_object(inner) ? inner : root;
    copy_line(error->message, sizeof error->message, find_message(object));
    copy_line(error->type, sizeof error->type, sma_json_get_str(object, "type"));
    take_code(error, json_object_get(object, "code"));
}

void sma_decode_fail_with(struct sma_decoder *decoder, const json_t *root)
{
    if (decoder->status != SMA_DECODED_OK)
        return;
    take_error(&decoder->decoded.error, root);
    sma_decode_fail(decoder, SMA_DECODED_ERROR);
}

/* What a proxy's page says: its title, else the text as it is. */
static struct sma_str page_text(struct sma_str body)
{
    for (size_t i = 0; i + 7 < body.len; i++) {
        if (!sma_str_is_equal_nocase((struct sma_str){body.ptr + i, 7}, SMA_STR("<title>")))
            continue;
        const char *start = body.ptr + i + 7;
        const char *end = memchr(start, '<', body.len - i - 7);
        if (end != NULL)
            return (struct sma_str){start, (size_t)(end - start)};
    }
    return body;
}

void sma_wire_error_parse(struct sma_str body, struct sma_wire_error *ret_error)
{
    *ret_error = (struct sma_wire_error){0};
    body = sma_str_trim(body);
    if (sma_str_starts_with(body, SMA_STR("data:")))
        body = sma_str_trim((struct sma_str){body.ptr + 5, body.len - 5});
    json_t *root = sma_json_parse(body);
    if (root == NULL) {
        copy_line(ret_error->message, sizeof ret_error->message, page_text(body));
        return;
    }
    take_error(ret_error, root);
    json_decref(root);
}
