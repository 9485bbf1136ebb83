/* json_read.c — see json_read.h. */
#include "runtime/json/json_read.h"

#include "sma/limits.h"
#include "sma/text.h"

static bool is_shallow(struct sma_str text)
{
    size_t depth = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.ptr[i];
        if (is_in_string) {
            if (byte == '\\')
                i++;
            else if (byte == '"')
                is_in_string = false;
        } else if (byte == '"') {
            is_in_string = true;
        } else if (byte == '{' || byte == '[') {
            if (++depth > SMA_JSON_DEPTH_MAX)
                return false;
        } else if ((byte == '}' || byte == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

/* Repair goes through the escaping of JSON strings, which replaces what is not UTF-8, and undoes
 * nothing else: bytes from 0x20 on, except quote and backslash, are their own escapes. The rest is
 * copied around it. */
static void put_repaired(struct sma_buf *buf, struct sma_str text)
{
    size_t from = 0;
    for (size_t i = 0; i <= text.len; i++) {
        bool is_plain = i < text.len && (unsigned char)text.ptr[i] >= 0x20 && text.ptr[i] != '"' &&
                        text.ptr[i] != '\\';
        if (is_plain)
            continue;
        sma_buf_put_json_escaped(buf, (struct sma_str){text.ptr + from, i - from});
        if (i < text.len)
            sma_buf_put_char(buf, text.ptr[i]);
        from = i + 1;
    }
}

static enum sma_err load(struct sma_str text, json_t **ret_root)
{
    json_error_t error;
    json_t *root = json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (root == NULL)
        return json_error_code(&error) == json_error_out_of_memory ? SMA_ERR_NOMEM
                                                                   : SMA_ERR_BADINPUT;
    *ret_root = root;
    return SMA_ERR_OK;
}

enum sma_err sma_json_load(struct sma_str text, json_t **ret_root)
{
    if (text.len > SMA_JSON_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    if (text.len == 0 || !is_shallow(text))
        return SMA_ERR_BADINPUT;
    if (sma_utf8_is_valid(text))
        return load(text, ret_root);
    struct sma_buf repaired;
    sma_buf_init(&repaired, 3 * SMA_JSON_BYTES_MAX + 1);
    put_repaired(&repaired, text);
    enum sma_err err =
        repaired.err == SMA_ERR_OK ? load(sma_buf_str(&repaired), ret_root) : repaired.err;
    sma_buf_fini(&repaired);
    return err;
}

const json_t *sma_json_get(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

struct sma_str sma_json_str_of(const json_t *value)
{
    return json_is_string(value)
               ? (struct sma_str){json_string_value(value), json_string_length(value)}
               : (struct sma_str){"", 0};
}

struct sma_str sma_json_str(const json_t *object, const char *key)
{
    return sma_json_str_of(json_object_get(object, key));
}

int64_t sma_json_int(const json_t *object, const char *key, int64_t low, int64_t high,
                     int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    int64_t number = 0;
    if (json_is_integer(value))
        number = json_integer_value(value);
    else if (!json_is_string(value) ||
             sma_parse_i64(sma_json_str_of(value), low, high, &number) != SMA_ERR_OK)
        return otherwise;
    return number < low || number > high ? otherwise : number;
}

static int put_piece(const char *bytes, size_t len, void *user)
{
    sma_buf_put(user, bytes, len);
    return 0;
}

void sma_json_put(struct sma_buf *buf, const json_t *value)
{
    if (json_dump_callback(value, put_piece, buf, JSON_COMPACT | JSON_ENCODE_ANY) != 0 &&
        buf->err == SMA_ERR_OK)
        buf->err = SMA_ERR_NOMEM;
}
