/* json_read.c — see json_read.h. */
#include "runtime/json/json_read.h"

#include "sma/limits.h"
#include "sma/text.h"

bool sma_json_is_shallow(struct sma_str text)
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
    if (text.len == 0 || !sma_json_is_shallow(text))
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

/* -- what strangers send ----------------------------------------------------------------------- */

uint32_t sma_json_escape(struct sma_str json, size_t at)
{
    uint32_t value = 0;
    if (at + 6 > json.len || json.ptr[at] != '\\' || json.ptr[at + 1] != 'u')
        return UINT32_MAX;
    for (size_t i = at + 2; i < at + 6; i++) {
        char digit = json.ptr[i];
        if (digit >= '0' && digit <= '9')
            value = value * 16 + (uint32_t)(digit - '0');
        else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
            value = value * 16 + (uint32_t)((digit | 0x20) - 'a' + 10);
        else
            return UINT32_MAX;
    }
    return value;
}

/* One escape inside a string; returns the index behind it. */
static size_t repair_escape(struct sma_str json, size_t at, bool keeps_nul, struct sma_buf *buf)
{
    uint32_t unit = sma_json_escape(json, at);
    size_t len = unit == UINT32_MAX ? 2 : 6;
    if (unit >= 0xd800 && unit < 0xdc00) {
        uint32_t low = sma_json_escape(json, at + 6);
        if (low >= 0xdc00 && low < 0xe000)
            len = 12;
    }
    if ((unit == 0 && !keeps_nul) || (len == 6 && unit >= 0xd800 && unit < 0xe000)) {
        sma_buf_put_text(buf, "\\ufffd");
        return at + 6;
    }
    if (len > json.len - at)
        len = json.len - at;
    sma_buf_put(buf, json.ptr + at, len);
    return at + len;
}

static void put_tolerable(struct sma_buf *buf, struct sma_str json, bool keeps_nul)
{
    bool is_string = false;
    for (size_t at = 0; at < json.len && buf->err == SMA_ERR_OK;) {
        unsigned char byte = (unsigned char)json.ptr[at];
        size_t end = at;
        while (end < json.len && (unsigned char)json.ptr[end] >= 0x80)
            end++;
        if (end > at) {
            /* No ASCII in it, so escaping changes nothing but what is no UTF-8. */
            sma_buf_put_json_escaped(buf, (struct sma_str){json.ptr + at, end - at});
            at = end;
            continue;
        }
        if (is_string && byte == '\\') {
            at = repair_escape(json, at, keeps_nul, buf);
            continue;
        }
        if (byte == '"')
            is_string = !is_string;
        sma_buf_put_char(buf, is_string && byte < 0x20 ? ' ' : (char)byte);
        at++;
    }
}

/* After jansson refused `bytes` of JSON: was it memory that it lacked? It does not always say; what
 * is taken for broken is lost, so the memory is asked. */
static bool is_memory_short(size_t bytes)
{
    json_malloc_t take;
    json_free_t give;
    json_get_alloc_funcs(&take, &give);
    void *probe = take(2 * bytes + 65536);
    if (probe == NULL)
        return true;
    give(probe);
    return false;
}

static enum sma_err load_event(struct sma_str text, bool keeps_nul, json_t **ret_root)
{
    size_t flags = JSON_DECODE_ANY | (keeps_nul ? JSON_ALLOW_NUL : 0);
    json_t *root = json_loadb(text.ptr, text.len, flags, NULL);
    if (root == NULL)
        return is_memory_short(text.len) ? SMA_ERR_NOMEM : SMA_ERR_BADINPUT;
    *ret_root = root;
    return SMA_ERR_OK;
}

enum sma_err sma_json_load_tolerant(struct sma_str text, bool keeps_nul, json_t **ret_root)
{
    if (text.len > SMA_JSON_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    if (text.len == 0 || !sma_json_is_shallow(text))
        return SMA_ERR_BADINPUT;
    enum sma_err err = load_event(text, keeps_nul, ret_root);
    if (err != SMA_ERR_BADINPUT)
        return err;
    struct sma_buf repaired;
    sma_buf_init(&repaired, 6 * text.len + 16); /* a byte may become the six of \ufffd */
    put_tolerable(&repaired, text, keeps_nul);
    err = repaired.err == SMA_ERR_OK ? load_event(sma_buf_str(&repaired), keeps_nul, ret_root)
                                     : repaired.err;
    sma_buf_fini(&repaired);
    return err;
}

/* -- members ----------------------------------------------------------------------------------- */
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
