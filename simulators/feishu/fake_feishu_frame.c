/* fake_feishu_frame.c — see fake_feishu_frame.h. */
#include "fake_feishu_frame.h"

#include <stdlib.h>

#define REQUIRED_FIELDS 0x1eu /* bits 1 to 4 */

static bool take_varint(struct sma_str *rest, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 10 && i < rest->len; i++) {
        unsigned char byte = (unsigned char)rest->ptr[i];
        number |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            rest->ptr += i + 1;
            rest->len -= i + 1;
            *ret_number = number;
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct sma_str *rest, struct sma_str *ret_bytes)
{
    uint64_t len;
    if (!take_varint(rest, &len) || len > rest->len)
        return false;
    *ret_bytes = (struct sma_str){rest->ptr, (size_t)len};
    rest->ptr += len;
    rest->len -= len;
    return true;
}

static const char *decode_header(struct sma_str bytes, struct fake_frame *frame)
{
    struct sma_str key = {NULL, 0}, value = {NULL, 0};
    while (bytes.len > 0) {
        uint64_t tag;
        struct sma_str *field;
        if (!take_varint(&bytes, &tag))
            return "a header is cut";
        field = tag == 0x0a ? &key : tag == 0x12 ? &value : NULL;
        if (field == NULL || !take_bytes(&bytes, field))
            return "a header has another field, or is cut";
    }
    if (key.ptr == NULL || value.ptr == NULL)
        return "a header without key or value";
    if (frame->header_count == FAKE_FRAME_HEADERS_MAX)
        return "too many headers";
    frame->headers[frame->header_count].key = key;
    frame->headers[frame->header_count++].value = value;
    return NULL;
}

static const char *take_field(struct sma_str *rest, uint64_t tag, struct fake_frame *frame)
{
    uint64_t number = 0;
    struct sma_str bytes = {NULL, 0};
    bool is_number = (tag & 7) == 0;
    if (((tag & 7) != 0 && (tag & 7) != 2) || tag >> 3 > 9 || is_number != (tag >> 3 <= 4))
        return "a field of no frame";
    if (is_number ? !take_varint(rest, &number) : !take_bytes(rest, &bytes))
        return "a field is cut";
    switch (tag >> 3) {
    case 1:
        frame->seq_id = number;
        return NULL;
    case 2:
        frame->log_id = number;
        return NULL;
    case 3:
        frame->service = (int32_t)number;
        return NULL;
    case 4:
        frame->method = (int32_t)number;
        return NULL;
    case 5:
        return decode_header(bytes, frame);
    case 6:
        frame->payload_encoding = bytes;
        return NULL;
    case 7:
        frame->payload_type = bytes;
        return NULL;
    case 8:
        frame->payload = bytes;
        return NULL;
    default:
        frame->log_id_new = bytes;
        return NULL;
    }
}

const char *fake_frame_decode(struct sma_str bytes, struct fake_frame *ret_frame)
{
    unsigned seen = 0;
    *ret_frame = (struct fake_frame){0};
    while (bytes.len > 0) {
        uint64_t tag;
        if (!take_varint(&bytes, &tag) || tag < 8)
            return "no frame at all";
        const char *wrong = take_field(&bytes, tag, ret_frame);
        if (wrong != NULL)
            return wrong;
        seen |= 1u << (tag >> 3);
    }
    return (seen & REQUIRED_FIELDS) == REQUIRED_FIELDS ? NULL : "a required field is missing";
}

static void put_varint(struct sma_buf *buf, uint64_t number)
{
    while (number >= 0x80) {
        sma_buf_put_char(buf, (char)(number | 0x80));
        number >>= 7;
    }
    sma_buf_put_char(buf, (char)number);
}

static void put_bytes(struct sma_buf *buf, char tag, struct sma_str bytes)
{
    if (bytes.ptr == NULL)
        return;
    sma_buf_put_char(buf, tag);
    put_varint(buf, bytes.len);
    sma_buf_put(buf, bytes.ptr, bytes.len);
}

static size_t varint_length(size_t number)
{
    size_t len = 1;
    for (; number >= 0x80; number >>= 7)
        len++;
    return len;
}

void fake_frame_encode(const struct fake_frame *frame, struct sma_buf *buf)
{
    const uint64_t numbers[] = {frame->seq_id, frame->log_id, (uint64_t)(int64_t)frame->service,
                                (uint64_t)(int64_t)frame->method};
    for (size_t i = 0; i < 4; i++) {
        sma_buf_put_char(buf, (char)(8 * (i + 1)));
        put_varint(buf, numbers[i]);
    }
    for (size_t i = 0; i < frame->header_count; i++) {
        struct sma_str key = frame->headers[i].key, value = frame->headers[i].value;
        sma_buf_put_char(buf, 0x2a);
        put_varint(buf,
                   2 + varint_length(key.len) + key.len + varint_length(value.len) + value.len);
        put_bytes(buf, 0x0a, key);
        put_bytes(buf, 0x12, value);
    }
    put_bytes(buf, 0x32, frame->payload_encoding);
    put_bytes(buf, 0x3a, frame->payload_type);
    put_bytes(buf, 0x42, frame->payload);
    put_bytes(buf, 0x4a, frame->log_id_new);
}

struct sma_str fake_frame_header(const struct fake_frame *frame, const char *key)
{
    for (size_t i = 0; i < frame->header_count; i++)
        if (sma_str_is_equal(frame->headers[i].key, sma_str(key)))
            return frame->headers[i].value;
    return (struct sma_str){"", 0};
}

void fake_frame_add(struct fake_frame *frame, const char *key, struct sma_str value)
{
    if (frame->header_count == FAKE_FRAME_HEADERS_MAX)
        abort();
    frame->headers[frame->header_count].key = sma_str(key);
    frame->headers[frame->header_count++].value = value;
}
