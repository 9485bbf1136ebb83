/* decode_part.c — the answer as it grows: its parts, their names and arguments, the first failure.
 * See decode_priv.h. */
#include "decode_priv.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* A cut call comes back with every later request: its head tells what it was. */
#define CUT_ECHO_BYTES_MAX 2048

void sma_decode_fail(struct sma_decoder *decoder, enum sma_decoded_status status)
{
    if (decoder->status == SMA_DECODED_OK)
        decoder->status = status;
    decoder->is_done = true;
}

void sma_decode_fail_for(struct sma_decoder *decoder, enum sma_err err)
{
    if (err != SMA_ERR_OK)
        sma_decode_fail(decoder, err == SMA_ERR_NOMEM ? SMA_DECODED_NOMEM : SMA_DECODED_TOOBIG);
}

/* A half of a character that came alone stands as one of U+10D800.. until its other half comes
 * (decode_json.c); 0 = there is none. */
static uint32_t half_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;
    if (at[0] != 0xf4 || at[1] != 0x8d || at[2] < 0xa0 || at[2] > 0xbf)
        return 0;
    return 0xd800u + (((uint32_t)at[2] & 0x1f) << 6 | ((uint32_t)at[3] & 0x3f));
}

size_t sma_decode_half_length(const struct sma_buf *buf)
{
    return buf->len >= 4 && half_at(buf->ptr + buf->len - 4) != 0 ? 4 : 0;
}

void sma_decode_put(struct sma_buf *buf, struct sma_str piece)
{
    uint32_t high = sma_decode_half_length(buf) > 0 ? half_at(buf->ptr + buf->len - 4) : 0;
    uint32_t low = piece.len >= 4 ? half_at(piece.ptr) : 0;
    if (piece.len == 0)
        return;
    if (high != 0)
        buf->len -= 4;
    if (low >= 0xdc00 && high != 0) {
        uint32_t code = 0x10000u + ((high & 0x3ff) << 10 | (low & 0x3ff));
        char bytes[4] = {(char)(0xf0 | code >> 18), (char)(0x80 | (code >> 12 & 0x3f)),
                         (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f))};
        sma_buf_put(buf, bytes, 4);
    } else if (high != 0 || low >= 0xdc00) {
        sma_buf_put_text(buf, "\xef\xbf\xbd");
    }
    if (low >= 0xdc00)
        piece = (struct sma_str){piece.ptr + 4, piece.len - 4};
    sma_buf_put_str(buf, piece);
}

void sma_decode_add(struct sma_decoder *decoder, struct sma_buf *buf, struct sma_str piece)
{
    if (piece.len == 0)
        return;
    if (piece.len > SMA_ANSWER_BYTES_MAX - decoder->answer_bytes) {
        sma_decode_fail(decoder, SMA_DECODED_TOOBIG);
        return;
    }
    decoder->answer_bytes += piece.len;
    sma_decode_put(buf, piece);
    sma_decode_fail_for(decoder, buf->err);
}

struct sma_answer_part *sma_decode_add_part(struct sma_decoder *decoder,
                                            enum sma_answer_part_kind kind)
{
    if (decoder->part_count == SMA_DECODE_CALL_COUNT_MAX) {
        sma_decode_fail(decoder, SMA_DECODED_TOOBIG);
        return NULL;
    }
    if (decoder->part_count == decoder->part_cap) {
        size_t cap = decoder->part_cap == 0 ? 4 : 2 * decoder->part_cap;
        struct sma_answer_part *grown = realloc(decoder->parts, cap * sizeof *grown);
        if (grown == NULL) {
            sma_decode_fail(decoder, SMA_DECODED_NOMEM);
            return NULL;
        }
        decoder->parts = grown;
        decoder->part_cap = cap;
    }
    struct sma_answer_part *part = &decoder->parts[decoder->part_count++];
    *part = (struct sma_answer_part){.kind = kind};
    sma_buf_init(&part->id, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&part->item_id, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&part->name, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&part->name_rest, 1024);
    sma_buf_init(&part->content, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&part->signature, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&part->raw, 6 * (size_t)SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&part->problem, 512);
    sma_send_text_init(&part->send_text, SMA_ANSWER_BYTES_MAX);
    return part;
}

struct sma_answer_part *sma_decode_find_part(struct sma_decoder *decoder, int64_t index)
{
    for (size_t i = decoder->part_count; i > 0; i--) {
        struct sma_answer_part *part = &decoder->parts[i - 1];
        if (part->has_index && part->index == index)
            return part;
    }
    return NULL;
}

void sma_decode_set_name(struct sma_decoder *decoder, struct sma_answer_part *part,
                         struct sma_str name)
{
    if (part->name.len > 0 && name.len > part->name.len &&
        sma_str_starts_with(name, sma_buf_str(&part->name)))
        sma_buf_clear(&part->name); /* told anew, longer each time */
    if (name.len > 0 && part->name.len > 0)
        sma_buf_put_str(&part->name_rest, name); /* beyond its bound it is no name */
    if (name.len == 0 || part->name.len > 0)
        return;
    sma_decode_add(decoder, &part->name, name);
    if (!sma_str_is_equal(name, SMA_STR("chat_send")) &&
        !sma_str_is_equal(name, SMA_STR("send_message")))
        return;
    part->is_send = true;
    decoder->latest_send_at = (size_t)(part - decoder->parts) + 1;
    sma_send_text_feed(&part->send_text, sma_buf_str(&part->content));
}

void sma_decode_add_arguments(struct sma_decoder *decoder, struct sma_answer_part *part,
                              struct sma_str piece)
{
    if (piece.len == 0)
        return;
    part->last_piece = part->content.len;
    sma_decode_add(decoder, &part->content, piece);
    if (part->is_send && decoder->status == SMA_DECODED_OK)
        sma_send_text_feed(&part->send_text, piece);
}

void sma_decode_set_arguments(struct sma_decoder *decoder, struct sma_answer_part *part,
                              struct sma_str whole)
{
    struct sma_str held = sma_buf_str(&part->content);
    bool is_less = sma_str_trim(whole).len == 0 || sma_str_is_equal(whole, SMA_STR("{}")) ||
                   (!sma_json_is_object(whole) && sma_json_is_object(held));
    if (sma_str_is_equal(held, whole) || (held.len > 0 && is_less))
        return; /* the fullest of all that the events say counts */
    decoder->answer_bytes -= part->content.len;
    sma_buf_clear(&part->content);
    sma_send_text_fini(&part->send_text);
    sma_send_text_init(&part->send_text, SMA_ANSWER_BYTES_MAX);
    sma_decode_add_arguments(decoder, part, whole);
}

void sma_decode_add_arguments_value(struct sma_decoder *decoder, struct sma_answer_part *part,
                                    const json_t *value)
{
    if (json_is_string(value)) {
        sma_decode_add_arguments(decoder, part, sma_json_str_of(value));
        return;
    }
    if (!json_is_object(value) && !json_is_array(value))
        return;
    struct sma_buf text;
    sma_buf_init(&text, SMA_ANSWER_BYTES_MAX);
    sma_json_put(&text, value);
    sma_decode_fail_for(decoder, text.err);
    if (text.err == SMA_ERR_OK)
        sma_decode_add_arguments(decoder, part, sma_buf_str(&text));
    sma_buf_fini(&text);
}

void sma_decode_put_input(struct sma_buf *buf, const struct sma_answer_part *part)
{
    if (!part->is_invalid) {
        sma_buf_put_str(buf, sma_buf_str(&part->content));
        return;
    }
    struct sma_str text = {part->content.len > 0 ? part->content.ptr : "", part->content.len};
    bool is_long = part->is_cut && text.len > CUT_ECHO_BYTES_MAX;
    if (is_long)
        text.len = sma_utf8_cut(text, CUT_ECHO_BYTES_MAX);
    sma_buf_put_text(buf, part->is_cut ? "{\"cut_arguments\":" : "{\"invalid_arguments\":");
    sma_buf_put_json_string(buf, text);
    if (is_long)
        sma_buf_printf(buf, ",\"bytes_left_out\":%zu", part->content.len - text.len);
    sma_buf_put_char(buf, '}');
}

void sma_decode_put_arguments(struct sma_buf *buf, const struct sma_answer_part *part)
{
    if (!part->is_invalid) {
        sma_buf_put_json_string(buf, sma_buf_str(&part->content));
        return;
    }
    struct sma_buf wrapped;
    sma_buf_init(&wrapped, buf->max);
    sma_decode_put_input(&wrapped, part);
    if (wrapped.err != SMA_ERR_OK)
        buf->err = wrapped.err;
    else
        sma_buf_put_json_string(buf, sma_buf_str(&wrapped));
    sma_buf_fini(&wrapped);
}

bool sma_decode_has_calls(const struct sma_decoder *decoder)
{
    return decoder->status == SMA_DECODED_OK && !decoder->is_filtered && !decoder->is_refused;
}

void sma_decode_odd_reason(struct sma_decoder *decoder, struct sma_str reason)
{
    struct sma_wire_error *error = &decoder->decoded.error;
    decoder->is_odd_reason = true;
    snprintf(error->code, sizeof error->code, "%.*s", (int)sma_utf8_cut(reason, 48), reason.ptr);
    snprintf(error->message, sizeof error->message, "the answer ended without content: %s",
             error->code);
}
