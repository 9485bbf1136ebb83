/* OpenAI chat completions and everything that calls itself compatible. Source: protocols/llm.md §2,
 * §5. */
#include "decode_priv.h"

#include <stdio.h>

static void take_usage(struct sma_decoder *decoder, const json_t *usage)
{
    if (!json_is_object(usage))
        return;
    decoder->decoded.input_tokens = sma_json_get_u64(usage, "prompt_tokens");
    decoder->decoded.output_tokens = sma_json_get_u64(usage, "completion_tokens");
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    uint64_t cached = sma_json_get_u64(details, "cached_tokens");
    if (cached == 0)
        cached = sma_json_get_u64(usage, "prompt_cache_hit_tokens"); /* DeepSeek */
    if (cached == 0)
        cached = sma_json_get_u64(usage, "cached_tokens"); /* Moonshot */
    decoder->decoded.cached_tokens = cached;
}

static bool add_reasoning(struct sma_decoder *decoder, const json_t *delta, const char *name)
{
    struct sma_str piece = sma_json_get_str(delta, name);
    if (piece.len == 0)
        return false;
    if (decoder->reasoning_name[0] == '\0')
        snprintf(decoder->reasoning_name, sizeof decoder->reasoning_name, "%s", name);
    sma_decode_add(decoder, &decoder->reasoning, piece);
    return true;
}

/* The same thought may come under several names: read one of them, keep the list for sending it
 * back. */
static void take_reasoning(struct sma_decoder *decoder, const json_t *delta)
{
    bool is_taken = add_reasoning(decoder, delta, "reasoning_content");
    if (!is_taken)
        is_taken = add_reasoning(decoder, delta, "reasoning");
    const json_t *details = json_object_get(delta, "reasoning_details");
    for (size_t i = 0; i < json_array_size(details) && decoder->status == SMA_DECODED_OK; i++) {
        const json_t *detail = json_array_get(details, i);
        struct sma_buf text;
        sma_buf_init(&text, SMA_ANSWER_BYTES_MAX);
        if (decoder->reasoning_details.len > 0)
            sma_buf_put_char(&text, ',');
        sma_json_dump(&text, detail);
        if (text.err == SMA_ERR_OK)
            sma_decode_add(decoder, &decoder->reasoning_details, sma_buf_str(&text));
        else
            sma_decode_fail(decoder, SMA_DECODED_TOOBIG);
        sma_buf_fini(&text);
        if (!is_taken)
            sma_decode_add(decoder, &decoder->reasoning, sma_json_get_str(detail, "text"));
    }
}

static void take_content(struct sma_decoder *decoder, const json_t *content)
{
    if (json_is_string(content)) {
        decoder->has_content = true;
        sma_decode_add(decoder, &decoder->content, sma_json_text_of(content));
        return;
    }
    for (size_t i = 0; i < json_array_size(content); i++) { /* a list of parts */
        const json_t *part = json_array_get(content, i);
        if (sma_json_is(part, "type", "text"))
            sma_decode_add(decoder, &decoder->content, sma_json_get_str(part, "text"));
    }
}

static struct sma_part *latest_call(struct sma_decoder *decoder)
{
    return decoder->part_count == 0 ? NULL : &decoder->parts[decoder->part_count - 1];
}

/* Which call a piece belongs to; NULL = a new one. The rule that survives every known server. */
static struct sma_part *find_call(struct sma_decoder *decoder, const json_t *piece,
                                  struct sma_str id, struct sma_str name)
{
    const json_t *index = json_object_get(piece, "index");
    struct sma_part *part;
    if (json_is_integer(index)) {
        part = sma_decode_find_part(decoder, json_integer_value(index));
    } else {
        part = latest_call(decoder);
        if (part != NULL && id.len == 0 && name.len > 0)
            return NULL;
        if (part != NULL && id.len > 0 && part->id.len == 0)
            return NULL;
    }
    /* All calls under one index, told apart by their ids (Ollama). */
    if (part != NULL && id.len > 0 && part->id.len > 0 &&
        !sma_str_is_equal(sma_buf_str(&part->id), id))
        return NULL;
    return part;
}

static void take_call_piece(struct sma_decoder *decoder, const json_t *piece, bool is_whole)
{
    if (!json_is_object(piece))
        return;
    const json_t *function = json_object_get(piece, "function");
    struct sma_str id = sma_json_get_str(piece, "id");
    struct sma_str name = sma_json_get_str(function, "name");
    struct sma_part *part = is_whole ? NULL : find_call(decoder, piece, id, name);
    if (part == NULL) {
        part = sma_decode_add_part(decoder, SMA_PART_CALL);
        if (part == NULL)
            return;
        const json_t *index = json_object_get(piece, "index");
        part->has_index = json_is_integer(index);
        part->index = json_integer_value(index);
    }
    if (part->id.len == 0)
        sma_decode_add(decoder, &part->id, id);
    sma_decode_set_name(decoder, part, name);
    sma_decode_add_arguments_value(decoder, part, json_object_get(function, "arguments"));
}

static void take_finish(struct sma_decoder *decoder, struct sma_str reason, const json_t *root)
{
    if (reason.len == 0)
        return;
    decoder->is_finishing = true;
    if (sma_str_is_equal(reason, SMA_STR("length"))) {
        decoder->is_length = true;
    } else if (sma_str_is_equal(reason, SMA_STR("content_filter")) ||
               sma_str_is_equal(reason, SMA_STR("sensitive"))) {
        decoder->is_filtered = true;
    } else if (sma_str_is_equal(reason, SMA_STR("error")) ||
               sma_str_is_equal(reason, SMA_STR("network_error")) ||
               sma_str_is_equal(reason, SMA_STR("insufficient_system_resource")) ||
               sma_str_is_equal(reason, SMA_STR("model_context_window_exceeded"))) {
        sma_decode_fail_with(decoder, root);
        struct sma_wire_error *error = &decoder->decoded.error;
        if (error->code[0] == '\0')
            snprintf(error->code, sizeof error->code, "%.*s", (int)reason.len, reason.ptr);
    }
}

static void take_message(struct sma_decoder *decoder, const json_t *message, bool is_whole)
{
    take_reasoning(decoder, message);
    take_content(decoder, json_object_get(message, "content"));
    sma_decode_add(decoder, &decoder->refusal, sma_json_get_str(message, "refusal"));
    const json_t *calls = json_object_get(message, "tool_calls");
    for (size_t i = 0; i < json_array_size(calls) && decoder->status == SMA_DECODED_OK; i++)
        take_call_piece(decoder, json_array_get(calls, i), is_whole);
}

static bool is_error(const json_t *event, struct sma_str name)
{
    const json_t *error = json_object_get(event, "error");
    if (json_is_object(error) || (json_is_string(error) && json_string_length(error) > 0))
        return true;
    if (sma_str_is_equal(name, SMA_STR("error")) || sma_json_is(event, "object", "error"))
        return true;
    /* {"code":1234,"msg":"..."} and {"detail":"..."}: an answer has choices. */
    return json_object_get(event, "choices") == NULL &&
           (json_object_get(event, "msg") != NULL || json_object_get(event, "detail") != NULL);
}

static const json_t *first_choice(const json_t *root)
{
    const json_t *choices = json_object_get(root, "choices");
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);
        if (sma_json_get_u64(choice, "index") == 0)
            return choice;
    }
    return NULL;
}

void sma_decode_chat_event(struct sma_decoder *decoder, struct sma_str name, json_t *event)
{
    if (is_error(event, name)) {
        sma_decode_fail_with(decoder, event);
        return;
    }
    take_usage(decoder, json_object_get(event, "usage"));
    const json_t *choice = first_choice(event);
    if (choice == NULL)
        return;
    if (json_is_object(json_object_get(choice, "error"))) {
        sma_decode_fail_with(decoder, choice);
        return;
    }
    take_usage(decoder, json_object_get(choice, "usage"));
    const json_t *delta = json_object_get(choice, "delta");
    bool is_whole = !json_is_object(delta);
    take_message(decoder, is_whole ? json_object_get(choice, "message") : delta, is_whole);
    take_finish(decoder, sma_json_get_str(choice, "finish_reason"), event);
}

void sma_decode_chat_document(struct sma_decoder *decoder, json_t *document)
{
    const json_t *choice = first_choice(document);
    const json_t *message = json_object_get(choice, "message");
    if (!json_is_object(message)) {
        sma_decode_fail_with(decoder, json_object_get(choice, "error") != NULL ? choice : document);
        return;
    }
    take_usage(decoder, json_object_get(document, "usage"));
    take_usage(decoder, json_object_get(choice, "usage"));
    take_message(decoder, message, true);
    take_finish(decoder, sma_json_get_str(choice, "finish_reason"), document);
    decoder->is_finishing = true; /* a document that parses is complete */
}

static void put_call(struct sma_buf *buf, const struct sma_part *part)
{
    sma_buf_put_text(buf, "{\"id\":");
    sma_buf_put_json_string(buf, sma_buf_str(&part->id));
    sma_buf_put_text(buf, ",\"type\":\"function\",\"function\":{\"name\":");
    sma_buf_put_json_string(buf, sma_buf_str(&part->name));
    sma_buf_put_text(buf, ",\"arguments\":");
    if (part->is_invalid) {
        /* Several servers parse old arguments when rendering their template: broken ones would fail
         * every later
         * request of the session. */
        struct sma_buf wrapped;
        sma_buf_init(&wrapped, buf->max);
        sma_decode_put_input(&wrapped, part);
        if (wrapped.err != SMA_ERR_OK)
            buf->err = wrapped.err;
        else
            sma_buf_put_json_string(buf, sma_buf_str(&wrapped));
        sma_buf_fini(&wrapped);
    } else {
        sma_buf_put_json_string(buf, sma_buf_str(&part->content));
    }
    sma_buf_put_text(buf, "}}");
}

/* Reasoning belongs to turns with calls only: without them every provider takes the turn bare, and
 * some refuse it. */
static void put_reasoning(struct sma_decoder *decoder, struct sma_buf *buf)
{
    if (decoder->reasoning_name[0] != '\0') {
        sma_buf_put_json_key(buf, decoder->reasoning_name);
        sma_buf_put_json_string(buf, sma_buf_str(&decoder->reasoning));
    } else if (decoder->is_reasoning_echoed) {
        sma_buf_put_text(buf, ",\"reasoning_content\":\"\"");
    }
    if (decoder->reasoning_details.len == 0)
        return;
    sma_buf_put_text(buf, ",\"reasoning_details\":[");
    sma_buf_put_str(buf, sma_buf_str(&decoder->reasoning_details));
    sma_buf_put_char(buf, ']');
}

void sma_decode_chat_fragment(struct sma_decoder *decoder)
{
    struct sma_buf *buf = &decoder->fragment;
    const struct sma_buf *content =
        decoder->content.len > 0 ? &decoder->content : &decoder->refusal;
    bool has_calls = decoder->part_count > 0 && sma_decode_has_calls(decoder);
    if (content->len == 0 && !has_calls)
        return;
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
    if (content->len == 0 && !decoder->has_content)
        sma_buf_put_text(buf, "null");
    else
        sma_buf_put_json_string(
            buf, (struct sma_str){content->len > 0 ? content->ptr : "", content->len});
    if (has_calls) {
        put_reasoning(decoder, buf);
        for (size_t i = 0; i < decoder->part_count; i++) {
            sma_buf_put_text(buf, i == 0 ? ",\"tool_calls\":[" : ",");
            put_call(buf, &decoder->parts[i]);
        }
        sma_buf_put_char(buf, ']');
    }
    sma_buf_put_char(buf, '}');
}
