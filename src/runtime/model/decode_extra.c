/* decode_extra.c — what is kept because a provider wants it back: members nobody here knows,
 * reasoning_details. */
#include "decode_priv.h"

#include <stdlib.h>

void sma_decode_count(struct sma_decoder *decoder, size_t len)
{
    if (len > SMA_ANSWER_BYTES_MAX - decoder->answer_bytes)
        sma_decode_fail(decoder, SMA_DECODED_TOOBIG);
    else
        decoder->answer_bytes += len;
}

static bool is_nothing(const json_t *value)
{
    return value == NULL || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

void sma_decode_keep(struct sma_decoder *decoder, json_t **extra, const char *key, json_t *value)
{
    if (is_nothing(value))
        return;
    sma_decode_count(decoder, json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY));
    if (decoder->status != SMA_DECODED_OK)
        return;
    if (*extra == NULL)
        *extra = json_object();
    json_t *old = json_object_get(*extra, key);
    int result = json_is_object(old) && json_is_object(value)
                     ? json_object_update_recursive(old, value)
                 : json_is_array(old) && json_is_array(value) ? json_array_extend(old, value)
                                                              : json_object_set(*extra, key, value);
    if (result != 0)
        sma_decode_fail(decoder, SMA_DECODED_NOMEM);
}

void sma_decode_put_extra(struct sma_buf *buf, const json_t *extra)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)extra, key, value)
    {
        sma_buf_put_char(buf, ',');
        sma_buf_put_json_string(buf, sma_str(key));
        sma_buf_put_char(buf, ':');
        sma_json_put(buf, value);
    }
}

/* -- reasoning_details ------------------------------------------------------------------------- */
static bool is_compatible(const json_t *a, const json_t *b, const char *key)
{
    const json_t *left = json_object_get(a, key), *right = json_object_get(b, key);
    return is_nothing(left) || is_nothing(right) || json_equal(left, right);
}

/* The entry that a piece goes on with: of its index, or where it tells none, the latest. Encrypted
 * ones are whole. */
static struct sma_detail *find_detail(struct sma_decoder *decoder, const json_t *piece,
                                      const char *text_key)
{
    bool has_index = json_is_integer(json_object_get(piece, "index"));
    for (size_t i = decoder->detail_count; i > 0 && text_key != NULL; i--) {
        struct sma_detail *detail = &decoder->details[i - 1];
        bool is_same =
            json_equal(json_object_get(detail->object, "type"), json_object_get(piece, "type")) &&
            is_compatible(detail->object, piece, "index") &&
            is_compatible(detail->object, piece, "id");
        /* Text behind a signature is the next thought. */
        bool is_closed = sma_json_str(detail->object, "signature").len > 0 &&
                         sma_json_str(piece, text_key).len > 0 && !has_index;
        if (is_same && !is_closed)
            return detail;
        if (!has_index)
            return NULL;
    }
    return NULL;
}

static struct sma_detail *add_detail(struct sma_decoder *decoder)
{
    if (decoder->detail_count == SMA_DECODE_CALL_COUNT_MAX) {
        sma_decode_fail(decoder, SMA_DECODED_TOOBIG);
        return NULL;
    }
    if (decoder->detail_count == decoder->detail_cap) {
        size_t cap = decoder->detail_cap == 0 ? 4 : 2 * decoder->detail_cap;
        struct sma_detail *grown = realloc(decoder->details, cap * sizeof *grown);
        if (grown == NULL) {
            sma_decode_fail(decoder, SMA_DECODED_NOMEM);
            return NULL;
        }
        decoder->details = grown;
        decoder->detail_cap = cap;
    }
    struct sma_detail *detail = &decoder->details[decoder->detail_count++];
    *detail = (struct sma_detail){.object = json_object()};
    sma_buf_init(&detail->text, SMA_ANSWER_BYTES_MAX);
    return detail;
}

/* The first value of a member stays (a signature, an id); what was missing is filled in. */
static void fill_detail(struct sma_decoder *decoder, struct sma_detail *detail, const json_t *piece)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)piece, key, value)
    {
        json_t *old = json_object_get(detail->object, key);
        bool is_text = detail->text_key != NULL && strcmp(key, detail->text_key) == 0;
        if (is_text && json_is_string(value))
            sma_decode_add(decoder, &detail->text, sma_json_str_of(value));
        if (old != NULL && (is_text || !is_nothing(old) || is_nothing(value)))
            continue;
        if (!is_text)
            sma_decode_count(decoder, json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY));
        if (json_object_set(detail->object, key, is_text ? json_null() : value) != 0)
            sma_decode_fail(decoder, SMA_DECODED_NOMEM);
    }
}

void sma_decode_add_detail(struct sma_decoder *decoder, const json_t *piece)
{
    if (!json_is_object(piece))
        return;
    const char *text_key = sma_json_is(piece, "type", "reasoning.text")      ? "text"
                           : sma_json_is(piece, "type", "reasoning.summary") ? "summary"
                                                                             : NULL;
    struct sma_detail *detail = find_detail(decoder, piece, text_key);
    if (detail == NULL)
        detail = add_detail(decoder);
    if (detail == NULL)
        return;
    detail->text_key = text_key;
    fill_detail(decoder, detail, piece);
}

static void put_detail(struct sma_buf *buf, const struct sma_detail *detail)
{
    char separator = '{';
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(detail->object, key, value)
    {
        sma_buf_put_char(buf, separator);
        separator = ',';
        sma_buf_put_json_string(buf, sma_str(key));
        sma_buf_put_char(buf, ':');
        if (detail->text_key != NULL && strcmp(key, detail->text_key) == 0)
            sma_buf_put_json_string(
                buf,
                (struct sma_str){detail->text.len > 0 ? detail->text.ptr : "", detail->text.len});
        else
            sma_json_put(buf, value);
    }
    sma_buf_put_text(buf, separator == '{' ? "{}" : "}");
}

void sma_decode_put_details(struct sma_buf *buf, const struct sma_decoder *decoder)
{
    for (size_t i = 0; i < decoder->detail_count; i++) {
        sma_buf_put_char(buf, i == 0 ? '[' : ',');
        put_detail(buf, &decoder->details[i]);
    }
    sma_buf_put_char(buf, ']');
}
