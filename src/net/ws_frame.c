/*
 * ws_frame.c — frames of RFC 6455 §5: a reader that takes bytes as they come and refuses what a
 * server may not send, and a writer of whole masked frames. A message that lies whole in the bytes
 * at hand is handed out without a copy.
 */
#include "sma/text.h"
#include "ws_priv.h"

void ws_reader_init(struct ws_reader *reader, size_t message_bytes_max)
{
    *reader = (struct ws_reader){.message_bytes_max = message_bytes_max};
    sma_buf_init(&reader->message, message_bytes_max + 1); /* and the buffer's NUL */
}

void ws_reader_fini(struct ws_reader *reader)
{
    sma_buf_fini(&reader->message);
}

static void found_fault(struct ws_found *found, unsigned code, const char *text)
{
    *found = (struct ws_found){.kind = WS_FOUND_FAULT, .code = code, .bytes = sma_str(text)};
}

/* -- the head ---------------------------------------------------------------------------------- */
static size_t head_bytes(const struct ws_reader *reader)
{
    if (reader->head_len < 2)
        return 2;
    unsigned len = reader->head[1] & 0x7fu;
    return len == 126 ? 4 : len == 127 ? 10 : 2;
}

/* What is wrong with the first two bytes, or NULL. */
static const char *head_fault(const struct ws_reader *reader)
{
    unsigned first = reader->head[0], opcode = first & 15u, len = reader->head[1] & 0x7fu;
    if ((first & 0x70) != 0)
        return "a frame with reserved bits";
    if ((reader->head[1] & 0x80) != 0)
        return "a masked frame from a server";
    if (opcode > WS_PONG || (opcode > WS_BINARY && opcode < WS_CLOSE))
        return "a frame with an unknown opcode";
    if (opcode >= WS_CLOSE && ((first & 0x80) == 0 || len > WS_CONTROL_BYTES_MAX))
        return "a control frame that is fragmented or too long";
    if (opcode == WS_CONTINUATION && !reader->is_in_message)
        return "a continuation without a message";
    if ((opcode == WS_TEXT || opcode == WS_BINARY) && reader->is_in_message)
        return "a new message inside another";
    return NULL;
}

static void take_head(struct ws_reader *reader, struct ws_found *found)
{
    unsigned opcode = reader->head[0] & 15u;
    size_t len = reader->head_len;
    uint64_t payload = reader->head[1] & 0x7fu;
    if (len > 2) {
        payload = 0;
        for (size_t i = 2; i < len; i++)
            payload = payload << 8 | reader->head[i];
        if (payload < (len == 4 ? 126u : 65536u) || payload >> 63 != 0) {
            found_fault(found, 1002, "a frame with a malformed length");
            return;
        }
    }
    reader->payload_left = payload;
    reader->is_in_payload = true;
    reader->control_len = 0;
    if (opcode >= WS_CLOSE)
        return;
    if (payload > reader->message_bytes_max - reader->message.len) {
        found_fault(found, 1009, "a message over the limit");
        return;
    }
    if (opcode != WS_CONTINUATION)
        reader->is_binary = opcode == WS_BINARY;
    reader->is_in_message = true;
}

/* -- the payload ------------------------------------------------------------------------------- */
static void found_close(struct sma_str payload, struct ws_found *found)
{
    *found = (struct ws_found){.kind = WS_FOUND_CLOSE};
    if (payload.len == 0)
        return;
    if (payload.len == 1) {
        found_fault(found, 1002, "a close frame of one byte");
        return;
    }
    found->code = (unsigned)((unsigned char)payload.ptr[0] << 8 | (unsigned char)payload.ptr[1]);
    found->bytes = (struct sma_str){payload.ptr + 2, payload.len - 2};
    if (!sma_utf8_is_valid(found->bytes))
        found->bytes = (struct sma_str){"", 0}; /* the code is what matters; no reason to lose it */
}

static void found_message(struct ws_reader *reader, struct sma_str bytes, struct ws_found *found)
{
    reader->is_in_message = false;
    if (!reader->is_binary && !sma_utf8_is_valid(bytes)) {
        found_fault(found, 1007, "a text message that is not UTF-8");
        return;
    }
    *found =
        (struct ws_found){.kind = WS_FOUND_MESSAGE, .is_binary = reader->is_binary, .bytes = bytes};
}

/* The frame's payload is whole: `last` are its last bytes, those before are in message or
 * control. */
static void end_frame(struct ws_reader *reader, struct sma_str last, struct ws_found *found)
{
    unsigned opcode = reader->head[0] & 15u;
    bool is_final = (reader->head[0] & 0x80) != 0;
    reader->is_in_payload = false;
    reader->head_len = 0;
    if (opcode >= WS_CLOSE) {
        struct sma_str payload = {reader->control, reader->control_len};
        if (opcode == WS_CLOSE)
            found_close(payload, found);
        else
            *found = (struct ws_found){.kind = opcode == WS_PING ? WS_FOUND_PING : WS_FOUND_PONG,
                                       .bytes = payload};
        return;
    }
    if (is_final && reader->message.len == 0) {
        found_message(reader, last, found);
        return;
    }
    sma_buf_put_str(&reader->message, last);
    if (reader->message.err != SMA_ERR_OK)
        found_fault(found, 1011, "no memory for a message"); /* its size was checked before */
    else if (is_final)
        found_message(reader, sma_buf_str(&reader->message), found);
}

static size_t take_payload(struct ws_reader *reader, struct sma_str bytes, struct ws_found *found)
{
    size_t len = reader->payload_left < bytes.len ? (size_t)reader->payload_left : bytes.len;
    struct sma_str part = {bytes.ptr, len};
    reader->payload_left -= len;
    if ((reader->head[0] & 15u) >= WS_CLOSE) {
        if (len > 0)
            memcpy(reader->control + reader->control_len, bytes.ptr, len);
        reader->control_len += len;
    } else if (reader->payload_left > 0) {
        sma_buf_put_str(&reader->message, part);
        if (reader->message.err != SMA_ERR_OK)
            found_fault(found, 1011, "no memory for a message");
    }
    if (reader->payload_left == 0)
        end_frame(reader, part, found);
    return len;
}

/* The buffer of the message that was handed out last is free again. */
static void forget_message(struct ws_reader *reader)
{
    if (reader->is_in_message || reader->message.len == 0)
        return;
    if (reader->message.cap > WS_KEPT_BYTES) {
        sma_buf_fini(&reader->message);
        sma_buf_init(&reader->message, reader->message_bytes_max + 1);
        return;
    }
    sma_buf_clear(&reader->message);
}

size_t ws_reader_take(struct ws_reader *reader, struct sma_str bytes, struct ws_found *ret_found)
{
    size_t used = 0;
    *ret_found = (struct ws_found){.kind = WS_FOUND_NOTHING};
    if (!reader->is_in_payload)
        forget_message(reader);
    while (ret_found->kind == WS_FOUND_NOTHING && used < bytes.len) {
        if (reader->is_in_payload) {
            used += take_payload(reader, (struct sma_str){bytes.ptr + used, bytes.len - used},
                                 ret_found);
            continue;
        }
        reader->head[reader->head_len++] = (unsigned char)bytes.ptr[used++];
        const char *fault = reader->head_len == 2 ? head_fault(reader) : NULL;
        if (fault != NULL)
            found_fault(ret_found, 1002, fault);
        if (fault != NULL || reader->head_len < head_bytes(reader))
            continue;
        take_head(reader, ret_found);
        if (ret_found->kind == WS_FOUND_NOTHING && reader->payload_left == 0)
            end_frame(reader, (struct sma_str){"", 0}, ret_found);
    }
    return used;
}

/* -- writing ----------------------------------------------------------------------------------- */
size_t ws_frame_bytes(size_t payload_len)
{
    return payload_len + (payload_len < 126 ? 6 : payload_len < 65536 ? 8 : 14);
}

static void put_masked(char *to, struct sma_str from, const unsigned char mask[4])
{
    uint64_t wide;
    unsigned char twice[8];
    memcpy(twice, mask, 4);
    memcpy(twice + 4, mask, 4);
    memcpy(&wide, twice, 8);
    size_t at = 0;
    for (; at + 8 <= from.len; at += 8) {
        uint64_t word;
        memcpy(&word, from.ptr + at, 8);
        word ^= wide;
        memcpy(to + at, &word, 8);
    }
    for (; at < from.len; at++)
        to[at] = (char)((unsigned char)from.ptr[at] ^ twice[at % 8]);
}

void ws_put_frame(struct sma_buf *buf, enum ws_opcode opcode, struct sma_str payload,
                  const unsigned char mask[4])
{
    size_t len = ws_frame_bytes(payload.len), at = 2;
    char *to = sma_buf_reserve(buf, len);
    if (to == NULL)
        return; /* the error stays in the buffer */
    to[0] = (char)(0x80u | (unsigned)opcode);
    size_t length_bytes = payload.len < 126 ? 0 : payload.len < 65536 ? 2 : 8;
    to[1] = (char)(0x80u | (length_bytes == 0   ? (unsigned)payload.len
                            : length_bytes == 2 ? 126u
                                                : 127u));
    for (size_t i = length_bytes; i > 0; i--)
        to[at++] = (char)((uint64_t)payload.len >> (8 * (i - 1)));
    memcpy(to + at, mask, 4);
    put_masked(to + at + 4, payload, mask);
    buf->len += len;
}

/* Source: RFC 6455 §7.4, and the registry of close codes up to 1014. */
bool ws_close_code_is_valid(unsigned code)
{
    return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}
