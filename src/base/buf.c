/* buf.c — the growing buffer with a maximum, and the JSON string writer. */
#include "sma/buf.h"
#include "base_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sma_buf_init(struct sma_buf *buf, size_t max)
{
    *buf = (struct sma_buf){.max = max};
}

void sma_buf_fini(struct sma_buf *buf)
{
    free(buf->ptr);
    *buf = (struct sma_buf){.max = buf->max};
}

void sma_buf_clear(struct sma_buf *buf)
{
    buf->len = 0;
    buf->err = SMA_ERR_OK;
    if (buf->ptr != NULL)
        buf->ptr[0] = '\0';
}

/* Room for len + extra bytes and the NUL. cap counts the NUL, max does not. */
static bool grow(struct sma_buf *buf, size_t extra)
{
    if (buf->err != SMA_ERR_OK)
        return false;
    if (extra > buf->max || buf->len > buf->max - extra) {
        buf->err = SMA_ERR_TOOBIG;
        return false;
    }
    size_t need = buf->len + extra + 1;
    if (need <= buf->cap)
        return true;
    size_t cap = buf->cap < 32 ? 64 : buf->cap * 2;
    if (cap < need)
        cap = need;
    if (cap - 1 > buf->max)
        cap = buf->max + 1;
    char *bytes = realloc(buf->ptr, cap);
    if (bytes == NULL) {
        buf->err = SMA_ERR_NOMEM;
        return false;
    }
    buf->ptr = bytes;
    buf->cap = cap;
    return true;
}

char *sma_buf_reserve(struct sma_buf *buf, size_t extra)
{
    if (!grow(buf, extra))
        return NULL;
    buf->ptr[buf->len] = '\0';
    buf->ptr[buf->len + extra] = '\0'; /* in place already when the caller fills all of it */
    return buf->ptr + buf->len;
}

void sma_buf_put(struct sma_buf *buf, const void *bytes, size_t len)
{
    if (!grow(buf, len))
        return;
    if (len > 0)
        memcpy(buf->ptr + buf->len, bytes, len);
    buf->len += len;
    buf->ptr[buf->len] = '\0';
}

void sma_buf_put_str(struct sma_buf *buf, struct sma_str text)
{
    sma_buf_put(buf, text.ptr, text.len);
}

void sma_buf_put_text(struct sma_buf *buf, const char *text)
{
    sma_buf_put(buf, text, strlen(text));
}

void sma_buf_put_char(struct sma_buf *buf, char byte)
{
    sma_buf_put(buf, &byte, 1);
}

void sma_buf_put_u64(struct sma_buf *buf, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    sma_buf_put(buf, digits + at, sizeof digits - at);
}

void sma_buf_put_i64(struct sma_buf *buf, int64_t number)
{
    if (number >= 0) {
        sma_buf_put_u64(buf, (uint64_t)number);
        return;
    }
    sma_buf_put_char(buf, '-');
    sma_buf_put_u64(buf, 0 - (uint64_t)number); /* unsigned: INT64_MIN has no positive twin */
}

void sma_buf_printf(struct sma_buf *buf, const char *format, ...)
{
    if (!grow(buf, 0))
        return;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int len = vsnprintf(buf->ptr + buf->len, buf->cap - buf->len, format, arguments);
    va_end(arguments);
    if (len < 0) {
        buf->ptr[buf->len] = '\0';
        buf->err = SMA_ERR_BADINPUT;
    } else if ((size_t)len < buf->cap - buf->len) {
        buf->len += (size_t)len;
    } else if (grow(buf, (size_t)len)) {
        (void)vsnprintf(buf->ptr + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    } else {
        buf->ptr[buf->len] = '\0'; /* nothing of a refused append stays */
    }
    va_end(again);
}

/* True when none of the eight bytes needs escaping or checking: all in 0x20..0x7F, none a quote or
 * backslash. */
static bool is_plain_word(const unsigned char *bytes)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
    uint64_t hit = word | (word - ones * 0x20) | (quote - ones) | (slash - ones);
    return (hit & tops) == 0;
}

static bool is_plain_byte(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* Bytes from `at` on that go out as they are: plain ASCII and well-formed characters. */
static size_t clean_run(const unsigned char *bytes, size_t at, size_t len)
{
    while (at < len) {
        if (len - at >= 8 && is_plain_word(bytes + at)) {
            at += 8;
        } else if (is_plain_byte(bytes[at])) {
            at++;
        } else if (bytes[at] >= 0x80) {
            int step = sma_utf8_step(bytes + at, len - at);
            if (step < 0)
                return at;
            at += (size_t)step;
        } else {
            return at;
        }
    }
    return at;
}

static void put_escape(struct sma_buf *buf, unsigned char byte)
{
    static const char letters[256] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                      ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
    static const char hex[] = "0123456789abcdef";
    if (letters[byte] != 0) {
        sma_buf_put(buf, (char[]){'\\', letters[byte]}, 2);
        return;
    }
    sma_buf_put(buf, (char[]){'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]}, 6);
}

void sma_buf_put_json_escaped(struct sma_buf *buf, struct sma_str text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t at = 0;
    while (at < text.len && buf->err == SMA_ERR_OK) {
        size_t end = clean_run(bytes, at, text.len);
        sma_buf_put(buf, bytes + at, end - at);
        at = end;
        if (at == text.len)
            return;
        if (bytes[at] < 0x80) {
            put_escape(buf, bytes[at]);
            at++;
        } else {
            sma_buf_put(buf, "\xEF\xBF\xBD", 3);
            at += (size_t)-sma_utf8_step(bytes + at, text.len - at);
        }
    }
}

void sma_buf_put_json_string(struct sma_buf *buf, struct sma_str text)
{
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_escaped(buf, text);
    sma_buf_put_char(buf, '"');
}

void sma_buf_put_json_key(struct sma_buf *buf, const char *key)
{
    char last = buf->len == 0 ? '{' : buf->ptr[buf->len - 1];
    if (last != '{' && last != '[')
        sma_buf_put_char(buf, ',');
    sma_buf_put_json_string(buf, sma_str(key));
    sma_buf_put_char(buf, ':');
}

void sma_buf_put_json_member(struct sma_buf *buf, const char *key, struct sma_str text)
{
    sma_buf_put_json_key(buf, key);
    sma_buf_put_json_string(buf, text);
}

void sma_buf_put_json_number(struct sma_buf *buf, const char *key, uint64_t number)
{
    sma_buf_put_json_key(buf, key);
    sma_buf_put_u64(buf, number);
}

char *sma_buf_take(struct sma_buf *buf)
{
    if (!grow(buf, 0))
        return NULL;
    buf->ptr[buf->len] = '\0';
    char *bytes = buf->ptr;
    *buf = (struct sma_buf){.max = buf->max};
    return bytes;
}
