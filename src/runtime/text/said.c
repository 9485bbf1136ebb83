/* said.c — see said.h. */
#include "said.h"

#include "sma/text.h"

/* A character of `left` > 0 bytes. Of bytes that are no UTF-8 one is taken: the writer of JSON
 * replaces it. */
static size_t read_point(const unsigned char *bytes, size_t left, uint32_t *ret_point)
{
    unsigned char first = bytes[0];
    size_t len = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    *ret_point = first;
    if (len == 1 || len > left || !sma_utf8_is_valid((struct sma_str){(const char *)bytes, len}))
        return 1;
    *ret_point = (uint32_t)first & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        *ret_point = *ret_point << 6 | (bytes[i] & 0x3Fu);
    return len;
}

static void put_clean(struct sma_buf *buf, struct sma_str text)
{
    uint32_t before = 0, point;
    for (size_t at = 0; at < text.len;) {
        const unsigned char *bytes = (const unsigned char *)text.ptr + at;
        size_t len = read_point(bytes, text.len - at, &point);
        bool is_control = point < 0x20 || point == 0x7F || (len == 2 && point < 0xA0);
        at += len;
        if (sma_point_misleads(point, before))
            continue;
        before = point;
        if (is_control)
            sma_buf_put_char(buf, ' ');
        else
            sma_buf_put(buf, bytes, len);
    }
}

void sma_said_put_member(struct sma_buf *buf, const char *key, struct sma_str text)
{
    struct sma_buf clean;
    sma_buf_init(&clean, SMA_SAID_BYTES_MAX);
    text.len = sma_utf8_cut(text, SMA_SAID_BYTES_MAX);
    put_clean(&clean, text);
    if (clean.err != SMA_ERR_OK)
        buf->err = clean.err;
    sma_buf_put_json_key(buf, key);
    sma_buf_put_json_string(buf, sma_str_trim(sma_buf_str(&clean)));
    sma_buf_fini(&clean);
}

void sma_said_put_given(struct sma_buf *buf, const char *key, struct sma_str text)
{
    if (text.len > 0)
        sma_said_put_member(buf, key, text);
}
