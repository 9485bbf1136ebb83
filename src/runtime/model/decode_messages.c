/* Anthropic Messages. Source: protocols/llm.md §4. */
#include "decode_priv.h"

#include <stdio.h>

/* Cumulative, in message_start and message_delta; the later one may leave members out. */
static void take_usage(struct sma_decoder *decoder, const json_t *usage)
{
    struct sma_decoded *decoded = &decoder->decoded;
    uint64_t cached = sma_json_get_u64(usage, "cache_read_input_tokens");
    uint64_t input = sma_json_get_u64(usage, "input_tokens") + cached +
                     sma_json_get_u64(usage, "cache_creation_input_tokens");
    uint64_t output = sma_json_get_u64(usage, "output_tokens");
    if (input > decoded->input_tokens)
        decoded->input_tokens = input;
    if (cached > 0)
        decoded->cached_tokens = cached;
    if (output > decoded->output_tokens)
        decoded->output_tokens = output;
}

static void take_stop_reason(struct sma_decoder *decoder, struct sma_str reason)
{
    if (reason.len == 0)
        return;
    decoder->is_finishing = true;
    if (sma_str_is_equal(reason, SMA_STR("max_tokens"))) {
        decoder->is_length = true;
    } else if (sma_str_is_equal(reason, SMA_STR("refusal"))) {
        decoder->is_filtered = true;
    } else if (sma_str_is_equal(reason, SMA_STR("model_context_window_exceeded"))) {
        struct sma_wire_error *error = &decoder->decoded.error;
        snprintf(error->code, sizeof error->code, "model_context_window_exceeded");
        snprintf(error->message, sizeof error->message,
                 "the answer ran into the model's context window");
        sma_decode_fail(decoder, SMA_DECODED_ERROR);
    }
}

static void add_text(struct sma_decoder *decoder, struct sma_part *part, struct sma_str piece)
{
    sma_decode_add(decoder, &part->content, piece);
    if (decoder->status != SMA_DECODED_OK)
        return;
    sma_buf_put_str(part->kind == SMA_PART_TEXT ? &decoder->content : &decoder->reasoning, piece);
    if (decoder->content.err == SMA_ERR_NOMEM || decoder->reasoning.err == SMA_ERR_NOMEM)
        sma_decode_fail(decoder, SMA_DECODED_NOMEM);
}

/* A content block, whole or as the stream announces it. */
static struct sma_part *begin_block(struct sma_decoder *decoder, const json_t *block, bool is_whole)
{
    struct sma_str type = sma_json_get_str(block, "type");
    enum sma_part_kind kind = sma_str_is_equal(type, SMA_STR("tool_use"))   ? SMA_PART_CALL
                              : sma_str_is_equal(type, SMA_STR("text"))     ? SMA_PART_TEXT
                              : sma_str_is_equal(type, SMA_STR("thinking")) ? SMA_PART_THINKING
                                                                            : SMA_PART_OTHER;
    struct sma_part *part = sma_decode_add_part(decoder, kind);
    if (part == NULL)
        return NULL;
    switch (kind) {
    case SMA_PART_CALL:
        sma_decode_add(decoder, &part->id, sma_json_get_str(block, "id"));
        sma_decode_set_name(decoder, part, sma_json_get_str(block, "name"));
        const json_t *input = json_object_get(block, "input");
        if (is_whole ||
            json_object_size(input) > 0) /* {} at the start of a stream is a placeholder */
            sma_decode_add_arguments_value(decoder, part, input);
        part->is_object = json_object_size(input) > 0;
        break;
    case SMA_PART_TEXT:
        add_text(decoder, part, sma_json_get_str(block, "text"));
        break;
    case SMA_PART_THINKING:
        add_text(decoder, part, sma_json_get_str(block, "thinking"));
        sma_decode_add(decoder, &part->signature, sma_json_get_str(block, "signature"));
        break;
    case SMA_PART_OTHER:
        if (sma_str_is_equal(type, SMA_STR("redacted_thinking")))
            sma_json_dump(&part->raw, block);
        break;
    }
    return part;
}

static void take_delta(struct sma_decoder *decoder, struct sma_part *part, const json_t *delta)
{
    struct sma_str type = sma_json_get_str(delta, "type");
    if (sma_str_is_equal(type, SMA_STR("text_delta")) && part->kind == SMA_PART_TEXT) {
        add_text(decoder, part, sma_json_get_str(delta, "text"));
    } else if (sma_str_is_equal(type, SMA_STR("thinking_delta")) &&
               part->kind == SMA_PART_THINKING) {
        add_text(decoder, part, sma_json_get_str(delta, "thinking"));
    } else if (sma_str_is_equal(type, SMA_STR("signature_delta"))) {
        sma_decode_add(decoder, &part->signature, sma_json_get_str(delta, "signature"));
    } else if (sma_str_is_equal(type, SMA_STR("input_json_delta")) && part->kind == SMA_PART_CALL) {
        struct sma_str piece = sma_json_get_str(delta, "partial_json");
        if (part->is_object && piece.len > 0) {
            sma_decode_set_arguments(decoder, part, (struct sma_str){"", 0});
            part->is_object = false;
        }
        sma_decode_add_arguments(decoder, part, piece);
    }
}

static void take_block_event(struct sma_decoder *decoder, struct sma_str type, const json_t *event)
{
    const json_t *index = json_object_get(event, "index");
    if (sma_str_is_equal(type, SMA_STR("content_block_start"))) {
        struct sma_part *part =
            begin_block(decoder, json_object_get(event, "content_block"), false);
        if (part != NULL) {
            part->has_index = json_is_integer(index);
            part->index = json_integer_value(index);
        }
        return;
    }
    struct sma_part *part = sma_decode_find_part(decoder, json_integer_value(index));
    if (part == NULL)
        return;
    if (sma_str_is_equal(type, SMA_STR("content_block_stop")))
        part->is_closed = true;
    else if (sma_str_is_equal(type, SMA_STR("content_block_delta")))
        take_delta(decoder, part, json_object_get(event, "delta"));
}

void sma_decode_messages_event(struct sma_decoder *decoder, struct sma_str name, json_t *event)
{
    struct sma_str type = sma_json_get_str(event, "type");
    if (type.len == 0)
        type = name;
    const json_t *error = json_object_get(event, "error");
    if (sma_str_is_equal(type, SMA_STR("error")) || json_is_object(error) ||
        json_is_string(error)) {
        sma_decode_fail_with(decoder, event);
    } else if (sma_str_is_equal(type, SMA_STR("message_start"))) {
        take_usage(decoder, json_object_get(json_object_get(event, "message"), "usage"));
    } else if (sma_str_is_equal(type, SMA_STR("message_delta"))) {
        take_usage(decoder, json_object_get(event, "usage"));
        take_stop_reason(decoder, sma_json_get_str(json_object_get(event, "delta"), "stop_reason"));
    } else if (sma_str_is_equal(type, SMA_STR("message_stop"))) {
        decoder->is_finishing = decoder->is_done = true;
    } else {
        take_block_event(decoder, type, event);
    }
}

void sma_decode_messages_document(struct sma_decoder *decoder, json_t *document)
{
    const json_t *content = json_object_get(document, "content");
    if (!json_is_array(content)) {
        sma_decode_fail_with(decoder, document);
        return;
    }
    take_usage(decoder, json_object_get(document, "usage"));
    for (size_t i = 0; i < json_array_size(content) && decoder->status == SMA_DECODED_OK; i++)
        (void)begin_block(decoder, json_array_get(content, i),
                          true); /* failure is kept in the decoder */
    take_stop_reason(decoder, sma_json_get_str(document, "stop_reason"));
    decoder->is_finishing = true;
}

static bool put_block(struct sma_buf *buf, const struct sma_part *part, bool has_calls)
{
    size_t before = buf->len;
    const char *separator = buf->ptr[buf->len - 1] == '[' ? "" : ",";
    if (part->kind == SMA_PART_CALL && has_calls) {
        sma_buf_printf(buf, "%s{\"type\":\"tool_use\",\"id\":", separator);
        sma_buf_put_json_string(buf, sma_buf_str(&part->id));
        sma_buf_put_json_key(buf, "name");
        sma_buf_put_json_string(buf, sma_buf_str(&part->name));
        sma_buf_put_json_key(buf, "input");
        sma_decode_put_input(buf, part);
        sma_buf_put_char(buf, '}');
    } else if (part->kind == SMA_PART_TEXT && part->content.len > 0) {
        sma_buf_printf(buf, "%s{\"type\":\"text\",\"text\":", separator);
        sma_buf_put_json_string(buf, sma_buf_str(&part->content));
        sma_buf_put_char(buf, '}');
    } else if (part->kind == SMA_PART_THINKING && part->signature.len > 0) {
        sma_buf_printf(buf, "%s{\"type\":\"thinking\",\"thinking\":", separator);
        sma_buf_put_json_string(
            buf,
            (struct sma_str){part->content.len > 0 ? part->content.ptr : "", part->content.len});
        sma_buf_put_json_key(buf, "signature");
        sma_buf_put_json_string(buf, sma_buf_str(&part->signature));
        sma_buf_put_char(buf, '}');
    } else if (part->raw.len > 0) {
        sma_buf_put_text(buf, separator);
        sma_buf_put_str(buf, sma_buf_str(&part->raw));
    }
    bool is_thinking = part->kind == SMA_PART_THINKING || part->kind == SMA_PART_OTHER;
    return buf->len > before && !is_thinking;
}

void sma_decode_messages_fragment(struct sma_decoder *decoder)
{
    struct sma_buf *buf = &decoder->fragment;
    bool has_calls = sma_decode_has_calls(decoder), has_substance = false;
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":[");
    for (size_t i = 0; i < decoder->part_count && buf->err == SMA_ERR_OK; i++)
        has_substance |= put_block(buf, &decoder->parts[i], has_calls);
    sma_buf_put_text(buf, "]}");
    if (!has_substance && buf->err == SMA_ERR_OK)
        sma_buf_clear(buf); /* a turn of thinking alone, or of nothing, is refused */
}
