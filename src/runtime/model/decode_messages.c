/* Anthropic Messages. Source: protocols/llm.md §4. */
#include "decode_priv.h"

#include "sma/text.h"

#include <stdio.h>

static void raise_to(uint64_t *count, uint64_t told)
{
    if (told > *count)
        *count = told;
}

/* Cumulative, in message_start and message_delta; the later one may leave members out. The three
 * kinds of input are apart. */
static void on_usage(struct sma_decoder *decoder, const json_t *usage)
{
    struct sma_usage *sum = &decoder->decoded.usage;
    raise_to(&sum->input, sma_json_get_u64(usage, "input_tokens"));
    raise_to(&sum->cached, sma_json_get_u64(usage, "cache_read_input_tokens"));
    raise_to(&sum->written, sma_json_get_u64(usage, "cache_creation_input_tokens"));
    raise_to(&sum->output, sma_json_get_u64(usage, "output_tokens"));
    raise_to(&sum->reasoning,
             sma_json_get_u64(json_object_get(usage, "output_tokens_details"), "thinking_tokens"));
}

static void on_stop_reason(struct sma_decoder *decoder, const json_t *holder)
{
    struct sma_str reason = sma_json_str(holder, "stop_reason");
    if (reason.len == 0)
        return;
    decoder->is_finishing = decoder->has_reason = true;
    if (sma_str_is_equal(reason, SMA_STR("max_tokens")) ||
        sma_str_is_equal(reason, SMA_STR("pause_turn")) ||
        sma_str_is_equal(reason, SMA_STR("compaction"))) {
        decoder->is_length = true; /* of a pause, too: it goes on when it is asked again */
    } else if (sma_str_is_equal(reason, SMA_STR("refusal"))) {
        decoder->is_refused = true;
        sma_decode_add(decoder, &decoder->refusal,
                       sma_json_str(json_object_get(holder, "stop_details"), "explanation"));
    } else if (sma_str_is_equal(reason, SMA_STR("model_context_window_exceeded"))) {
        struct sma_wire_error *error = &decoder->decoded.error;
        snprintf(error->code, sizeof error->code, "model_context_window_exceeded");
        snprintf(error->message, sizeof error->message,
                 "the answer ran into the model's context window");
        sma_decode_fail(decoder, SMA_DECODED_ERROR);
    }
}

static void add_text(struct sma_decoder *decoder, struct sma_answer_part *part,
                     struct sma_str piece)
{
    sma_decode_add(decoder, &part->content, piece);
    if (decoder->status != SMA_DECODED_OK)
        return;
    sma_decode_put(part->kind == SMA_ANSWER_PART_TEXT ? &decoder->content : &decoder->reasoning,
                   piece);
    if (decoder->content.err == SMA_ERR_NOMEM || decoder->reasoning.err == SMA_ERR_NOMEM)
        sma_decode_fail(decoder, SMA_DECODED_NOMEM);
}

/* Members of a block that belong to nothing above: "caller" of a call. What a citation points at is
 * not sent back. */
static void keep_unknown(struct sma_decoder *decoder, struct sma_answer_part *part,
                         const json_t *block)
{
    static const char *const known[] = {"type", "id",       "name",      "input",
                                        "text", "thinking", "signature", "citations"};
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)block, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
            is_known |= strcmp(key, known[i]) == 0;
        if (!is_known)
            sma_decode_keep(decoder, &part->extra, key, value);
    }
}

/* A block of a kind we know nothing of goes back as it came. */
static void keep_block(struct sma_decoder *decoder, struct sma_answer_part *part,
                       const json_t *block)
{
    sma_decode_count(decoder, json_dumpb(block, NULL, 0, JSON_COMPACT));
    if (decoder->status == SMA_DECODED_OK)
        part->extra = json_copy((json_t *)block);
}

/* A content block, whole or as the stream announces it. */
static struct sma_answer_part *begin_block(struct sma_decoder *decoder, const json_t *block,
                                           bool is_whole)
{
    struct sma_str type = sma_json_str(block, "type");
    enum sma_answer_part_kind kind =
        sma_str_is_equal(type, SMA_STR("tool_use"))   ? SMA_ANSWER_PART_CALL
        : sma_str_is_equal(type, SMA_STR("text"))     ? SMA_ANSWER_PART_TEXT
        : sma_str_is_equal(type, SMA_STR("thinking")) ? SMA_ANSWER_PART_THINKING
                                                      : SMA_ANSWER_PART_OTHER;
    struct sma_answer_part *part = sma_decode_add_part(decoder, kind);
    if (part == NULL)
        return NULL;
    switch (kind) {
    case SMA_ANSWER_PART_CALL:
        sma_decode_add(decoder, &part->id, sma_json_str(block, "id"));
        sma_decode_set_name(decoder, part, sma_json_str(block, "name"));
        const json_t *input = json_object_get(block, "input");
        if (is_whole ||
            json_object_size(input) > 0) /* {} at the start of a stream is a placeholder */
            sma_decode_add_arguments_value(decoder, part, input);
        part->is_object = json_object_size(input) > 0;
        break;
    case SMA_ANSWER_PART_TEXT:
        add_text(decoder, part, sma_json_str(block, "text"));
        break;
    case SMA_ANSWER_PART_THINKING:
        add_text(decoder, part, sma_json_str(block, "thinking"));
        sma_decode_add(decoder, &part->signature, sma_json_str(block, "signature"));
        break;
    case SMA_ANSWER_PART_OTHER:
        keep_block(decoder, part, block);
        break;
    }
    if (kind != SMA_ANSWER_PART_OTHER)
        keep_unknown(decoder, part, block);
    return part;
}

static void on_delta(struct sma_decoder *decoder, struct sma_answer_part *part, const json_t *delta)
{
    struct sma_str type = sma_json_str(delta, "type");
    if (sma_str_is_equal(type, SMA_STR("text_delta")) && part->kind == SMA_ANSWER_PART_TEXT) {
        add_text(decoder, part, sma_json_str(delta, "text"));
    } else if (sma_str_is_equal(type, SMA_STR("thinking_delta")) &&
               part->kind == SMA_ANSWER_PART_THINKING) {
        add_text(decoder, part, sma_json_str(delta, "thinking"));
    } else if (sma_str_is_equal(type, SMA_STR("signature_delta"))) {
        sma_decode_add(decoder, &part->signature, sma_json_str(delta, "signature"));
    } else if (sma_str_is_equal(type, SMA_STR("input_json_delta")) &&
               part->kind == SMA_ANSWER_PART_OTHER) {
        sma_decode_add(decoder, &part->content, sma_json_str(delta, "partial_json"));
    } else if (sma_str_is_equal(type, SMA_STR("input_json_delta")) &&
               part->kind == SMA_ANSWER_PART_CALL) {
        struct sma_str piece = sma_json_str(delta, "partial_json");
        if (part->is_object && piece.len > 0) {
            sma_decode_set_arguments(decoder, part, (struct sma_str){"", 0});
            part->is_object = false;
        }
        sma_decode_add_arguments(decoder, part, piece);
    }
}

static void on_block_event(struct sma_decoder *decoder, struct sma_str type, const json_t *event)
{
    const json_t *index = json_object_get(event, "index");
    if (sma_str_is_equal(type, SMA_STR("content_block_start"))) {
        struct sma_answer_part *part =
            begin_block(decoder, json_object_get(event, "content_block"), false);
        if (part != NULL) {
            part->has_index = json_is_integer(index);
            part->index = json_integer_value(index);
        }
        return;
    }
    struct sma_answer_part *part = sma_decode_find_part(decoder, json_integer_value(index));
    if (part == NULL)
        return;
    if (sma_str_is_equal(type, SMA_STR("content_block_stop")))
        part->is_closed = true;
    else if (sma_str_is_equal(type, SMA_STR("content_block_delta")))
        on_delta(decoder, part, json_object_get(event, "delta"));
}

void sma_decode_messages_event(struct sma_decoder *decoder, struct sma_str name, json_t *event)
{
    struct sma_str type = sma_json_str(event, "type");
    if (type.len == 0)
        type = name;
    const json_t *error = json_object_get(event, "error");
    if (sma_str_is_equal(type, SMA_STR("error")) || json_is_object(error) ||
        json_is_string(error)) {
        sma_decode_fail_with(decoder, event);
    } else if (sma_str_is_equal(type, SMA_STR("message_start"))) {
        on_usage(decoder, json_object_get(json_object_get(event, "message"), "usage"));
    } else if (sma_str_is_equal(type, SMA_STR("message_delta"))) {
        on_usage(decoder, json_object_get(event, "usage"));
        on_stop_reason(decoder, json_object_get(event, "delta"));
    } else if (sma_str_is_equal(type, SMA_STR("message_stop"))) {
        decoder->is_finishing = decoder->is_done = true;
    } else {
        on_block_event(decoder, type, event);
    }
}

void sma_decode_messages_document(struct sma_decoder *decoder, json_t *document)
{
    const json_t *content = json_object_get(document, "content");
    if (!json_is_array(content)) {
        sma_decode_fail_with(decoder, document);
        return;
    }
    on_usage(decoder, json_object_get(document, "usage"));
    for (size_t i = 0; i < json_array_size(content) && decoder->status == SMA_DECODED_OK; i++)
        (void)begin_block(decoder, json_array_get(content, i),
                          true); /* failure is kept in the decoder */
    on_stop_reason(decoder, document);
    decoder->is_finishing = true;
}

static struct sma_str content_of(const struct sma_answer_part *part)
{
    return (struct sma_str){part->content.len > 0 ? part->content.ptr : "", part->content.len};
}

static void put_call(struct sma_buf *buf, const struct sma_answer_part *part)
{
    sma_buf_put_text(buf, "{\"type\":\"tool_use\",\"id\":");
    sma_buf_put_json_string(buf, sma_buf_str(&part->id));
    sma_buf_put_json_key(buf, "name");
    sma_buf_put_json_string(buf, sma_buf_str(&part->name));
    sma_buf_put_json_key(buf, "input");
    sma_decode_put_input(buf, part);
}

static void put_text(struct sma_buf *buf, const struct sma_answer_part *part)
{
    sma_buf_put_text(buf, "{\"type\":\"text\",\"text\":");
    sma_buf_put_json_string(buf, content_of(part));
}

/* Without its text it is as good as with it; without its signature it is refused. */
static void put_thinking(struct sma_buf *buf, const struct sma_answer_part *part)
{
    sma_buf_put_text(buf, "{\"type\":\"thinking\",\"thinking\":");
    sma_buf_put_json_string(buf, content_of(part));
    sma_buf_put_json_key(buf, "signature");
    sma_buf_put_json_string(buf, sma_buf_str(&part->signature));
}

static void put_other(struct sma_buf *buf, const struct sma_answer_part *part)
{
    struct sma_str type = sma_json_str(part->extra, "type");
    sma_buf_put_text(buf, "{\"type\":");
    sma_buf_put_json_string(buf, type);
    json_object_del(part->extra, "type"); /* written first, and only once */
    if (part->content.len > 0) {
        json_t *input = sma_json_parse(content_of(part));
        if (input != NULL)
            json_object_set_new(part->extra, "input", input);
    }
}

/* Writes the block, if it can go back; returns whether it is more than a thought. */
static bool put_block(struct sma_buf *buf, const struct sma_answer_part *part, bool has_calls)
{
    bool is_sent = part->kind == SMA_ANSWER_PART_CALL   ? has_calls
                   : part->kind == SMA_ANSWER_PART_TEXT ? sma_str_trim(content_of(part)).len > 0
                   : part->kind == SMA_ANSWER_PART_THINKING
                       ? part->signature.len > 0
                       : sma_json_str(part->extra, "type").len > 0;
    if (!is_sent)
        return false;
    if (buf->ptr[buf->len - 1] != '[')
        sma_buf_put_char(buf, ',');
    if (part->kind == SMA_ANSWER_PART_CALL)
        put_call(buf, part);
    else if (part->kind == SMA_ANSWER_PART_TEXT)
        put_text(buf, part);
    else if (part->kind == SMA_ANSWER_PART_THINKING)
        put_thinking(buf, part);
    else
        put_other(buf, part);
    sma_decode_put_extra(buf, part->extra);
    sma_buf_put_char(buf, '}');
    return part->kind == SMA_ANSWER_PART_CALL || part->kind == SMA_ANSWER_PART_TEXT;
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
