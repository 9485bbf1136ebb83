/* JSON as servers really send it: parsed leniently, read without trusting types. */
#include "decode_priv.h"

#include "sma/text.h"

#include <stdlib.h>

uint64_t sma_json_get_u64(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number =
        json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
    return number > 0 && number < 1e15 ? (uint64_t)number : 0;
}

bool sma_json_is(const json_t *object, const char *key, const char *text)
{
    return sma_str_is_equal(sma_json_str(object, key), sma_str(text));
}

/* Bytes of the UTF-8 character at text[at], or 0 when it is broken. */
static size_t character_length(struct sma_str text, size_t at)
{
    unsigned char first = (unsigned char)text.ptr[at];
    size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (at + length > text.len)
        return 0;
    return sma_utf8_is_valid((struct sma_str){text.ptr + at, length}) ? length : 0;
}

/* Some gateways cut characters and surrogate pairs between two events; jansson refuses the whole
 * event then. */
static void put_repaired(struct sma_buf *buf, struct sma_str text)
{
    size_t i = 0;
    while (i < text.len) {
        uint32_t unit = sma_json_escape(text, i);
        if (unit >= 0xd800 && unit <= 0xdfff) {
            uint32_t second = unit < 0xdc00 ? sma_json_escape(text, i + 6) : UINT32_MAX;
            bool is_first = i > 0 && text.ptr[i - 1] == '"';
            bool is_last = i + 6 < text.len && text.ptr[i + 6] == '"';
            if (second >= 0xdc00 && second <= 0xdfff) {
                sma_buf_put(buf, text.ptr + i, 12);
                i += 12;
            } else if (unit < 0xdc00 ? is_last
                                     : is_first) { /* its other half is in another event */
                sma_buf_printf(buf, "\\udbf6\\u%04x", 0xdc00 + (unit - 0xd800) % 0x400);
                if (unit >= 0xdc00)
                    memcpy(buf->ptr + buf->len - 12, "\\udbf7", 6);
                i += 6;
            } else {
                sma_buf_put_text(buf, "\\ufffd");
                i += 6;
            }
        } else if (text.ptr[i] == '\\' && i + 1 < text.len) {
            size_t length = character_length(text, i + 1);
            sma_buf_put(buf, text.ptr + i, length == 1 ? 2 : 1);
            i += length == 1 ? 2 : 1;
        } else {
            size_t length = character_length(text, i);
            if (length == 0)
                sma_buf_put_text(buf, "\xef\xbf\xbd");
            else
                sma_buf_put(buf, text.ptr + i, length);
            i += length == 0 ? 1 : length;
        }
    }
}

json_t *sma_json_parse_strict(struct sma_str text, json_error_t *ret_error)
{
    json_error_t ignored;
    if (text.len == 0 || !sma_json_is_shallow(text))
        return NULL;
    return json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, ret_error == NULL ? &ignored : ret_error);
}

json_t *sma_json_parse_first(struct sma_str text, size_t *ret_len)
{
    json_error_t error;
    if (text.len == 0 || !sma_json_is_shallow(text))
        return NULL;
    json_t *value = json_loadb(text.ptr, text.len,
                               JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
    *ret_len = value == NULL ? 0 : (size_t)error.position;
    return value;
}

json_t *sma_json_parse(struct sma_str text)
{
    if (text.len == 0 || !sma_json_is_shallow(text))
        return NULL;
    json_error_t error;
    json_t *value = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, &error);
    if (value != NULL || json_error_code(&error) == json_error_premature_end_of_input)
        return value;
    struct sma_buf repaired;
    sma_buf_init(&repaired, text.len * 3 + 16);
    put_repaired(&repaired, text);
    if (repaired.err == SMA_ERR_OK)
        value = json_loadb(repaired.ptr, repaired.len, JSON_ALLOW_NUL, &error);
    sma_buf_fini(&repaired);
    return value;
}
