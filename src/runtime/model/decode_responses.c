/* OpenAI Responses API. Output items go back verbatim. Source: protocols/llm.md §3. */
#include "decode_priv.h"

#include <stdio.h>

static void on_usage(struct sma_decoder *decoder, const json_t *usage)
{
    if (!json_is_object(usage))
        return;
    const json_t *details = json_object_get(usage, "input_tokens_details");
    uint64_t prompt = sma_json_get_u64(usage, "input_tokens");
    struct sma_usage *sum = &decoder->decoded.usage;
    sma_decode_set_prompt(sum, prompt, sma_json_get_u64(details, "cached_tokens"),
                          sma_json_get_u64(details, "cache_write_tokens"));
    sum->output = sma_json_get_u64(usage, "output_tokens");
    sum->reasoning =
        sma_json_get_u64(json_object_get(usage, "output_tokens_details"), "reasoning_tokens");
}

static enum sma_answer_part_kind item_kind(const json_t *item)
{
    if (sma_json_is(item, "type", "function_call"))
        return SMA_ANSWER_PART_CALL;
    return sma_json_is(item, "type", "message") ? SMA_ANSWER_PART_TEXT : SMA_ANSWER_PART_OTHER;
}

/* Fragments are keyed by output_index, or by item_id where a server leaves the index out. */
static struct sma_answer_part *find_item(struct sma_decoder *decoder, const json_t *event,
                                         const json_t *item)
{
    const json_t *index = json_object_get(event, "output_index");
    if (json_is_integer(index))
        return sma_decode_find_part(decoder, json_integer_value(index));
    struct sma_str id = sma_json_str(event, "item_id");
    if (id.len == 0)
        id = sma_json_str(item, "id");
    for (size_t i = decoder->part_count; i > 0 && id.len > 0; i--)
        if (sma_str_is_equal(sma_buf_str(&decoder->parts[i - 1].item_id), id))
            return &decoder->parts[i - 1];
    return NULL;
}

static struct sma_answer_part *add_item(struct sma_decoder *decoder, const json_t *event,
                                        const json_t *item)
{
    struct sma_answer_part *part = sma_decode_add_part(decoder, item_kind(item));
    if (part == NULL)
        return NULL;
    const json_t *index = json_object_get(event, "output_index");
    part->has_index = json_is_integer(index);
    part->index = json_integer_value(index);
    sma_decode_add(decoder, &part->item_id, sma_json_str(item, "id"));
    if (part->kind == SMA_ANSWER_PART_CALL) {
        sma_decode_add(decoder, &part->id, sma_json_str(item, "call_id"));
        sma_decode_set_name(decoder, part, sma_json_str(item, "name"));
        sma_decode_add_arguments_value(decoder, part, json_object_get(item, "arguments"));
    }
    return part;
}

static void put_item_text(struct sma_buf *buf, const json_t *item)
{
    const json_t *content = json_object_get(item, "content");
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        struct sma_str text = sma_json_str(part, "text");
        sma_buf_put_str(buf, text.len > 0 ? text : sma_json_str(part, "refusal"));
    }
}

/* Reasoning can be sent back only with what carries it: nothing is stored on the server's side. */
static bool is_returnable(const json_t *item)
{
    if (!sma_json_is(item, "type", "reasoning"))
        return true;
    return sma_json_str(item, "encrypted_content").len > 0 ||
           json_array_size(json_object_get(item, "content")) > 0;
}

/* Keep a finished item for sending it back; the later copy wins, but not over one that tells
 * more. */
static void keep_item(struct sma_decoder *decoder, struct sma_answer_part *part, const json_t *item)
{
    if (!is_returnable(item))
        return;
    sma_buf_clear(&part->raw);
    sma_json_put(&part->raw, item);
    if (part->raw.err != SMA_ERR_OK)
        sma_decode_fail(decoder, SMA_DECODED_TOOBIG);
}

static bool has_refusal(const json_t *item)
{
    const json_t *content = json_object_get(item, "content");
    for (size_t i = 0; i < json_array_size(content); i++)
        if (sma_json_is(json_array_get(content, i), "type", "refusal"))
            return true;
    return false;
}

/* Of a call: what we do not write ourselves. */
static void keep_call(struct sma_decoder *decoder, struct sma_answer_part *part, const json_t *item)
{
    static const char *const known[] = {"type", "id", "call_id", "name", "arguments"};
    const char *key = NULL;
    json_t *value = NULL;
    json_decref(part->extra);
    part->extra = NULL;
    json_object_foreach((json_t *)item, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
            is_known |= strcmp(key, known[i]) == 0;
        if (!is_known)
            sma_decode_keep(decoder, &part->extra, key, value);
    }
}

/* The item as the server finished it: trusted over the pieces that came before. */
static void close_item(struct sma_decoder *decoder, struct sma_answer_part *part,
                       const json_t *item)
{
    part->is_closed = !sma_json_is(item, "status", "incomplete");
    decoder->is_refused |= has_refusal(item);
    if (part->kind == SMA_ANSWER_PART_CALL) {
        keep_call(decoder, part, item);
        if (part->id.len == 0)
            sma_decode_add(decoder, &part->id, sma_json_str(item, "call_id"));
        sma_decode_set_name(decoder, part, sma_json_str(item, "name"));
        const json_t *arguments = json_object_get(item, "arguments");
        if (json_is_string(arguments))
            sma_decode_set_arguments(decoder, part, sma_json_str_of(arguments));
        else if (part->content.len == 0)
            sma_decode_add_arguments_value(decoder, part, arguments);
        return;
    }
    struct sma_buf text;
    sma_buf_init(&text, SMA_ANSWER_BYTES_MAX);
    put_item_text(&text, item);
    if (part->kind == SMA_ANSWER_PART_TEXT && text.len > 0 &&
        !sma_str_is_equal(sma_buf_str(&text), sma_buf_str(&part->content))) {
        decoder->answer_bytes -= part->content.len;
        sma_buf_clear(&part->content);
        sma_decode_add(decoder, &part->content, sma_buf_str(&text));
    }
    sma_buf_fini(&text);
    keep_item(decoder, part, item);
}

static void on_item(struct sma_decoder *decoder, const json_t *event, const json_t *item,
                    bool is_done)
{
    if (!json_is_object(item))
        return;
    struct sma_answer_part *part = find_item(decoder, event, item);
    if (part == NULL)
        part = add_item(decoder, event, item);
    if (part != NULL && is_done)
        close_item(decoder, part, item);
}

/* The visible text is that of the message items, in order. */
static void gather_text(struct sma_decoder *decoder)
{
    sma_buf_clear(&decoder->content);
    for (size_t i = 0; i < decoder->part_count; i++)
        if (decoder->parts[i].kind == SMA_ANSWER_PART_TEXT)
            sma_buf_put_str(&decoder->content, sma_buf_str(&decoder->parts[i].content));
    if (decoder->content.err == SMA_ERR_NOMEM)
        sma_decode_fail(decoder, SMA_DECODED_NOMEM);
}

static void on_end(struct sma_decoder *decoder, const json_t *response)
{
    const json_t *output = json_object_get(response, "output");
    on_usage(decoder, json_object_get(response, "usage"));
    if (json_is_object(json_object_get(response, "error")) ||
        sma_json_is(response, "status", "failed") || sma_json_is(response, "status", "cancelled")) {
        sma_decode_fail_with(decoder, response);
        return;
    }
    for (size_t i = 0; i < json_array_size(output) && decoder->status == SMA_DECODED_OK; i++) {
        json_t *place = json_pack("{s:I}", "output_index", (json_int_t)i);
        on_item(decoder, place, json_array_get(output, i), true);
        json_decref(place);
    }
    if (sma_json_is(response, "status", "incomplete")) {
        const json_t *details = json_object_get(response, "incomplete_details");
        decoder->is_filtered = sma_json_is(details, "reason", "content_filter");
        decoder->is_length = !decoder->is_filtered;
    }
    gather_text(decoder);
    if (decoder->is_refused)
        sma_buf_put_str(&decoder->refusal, sma_buf_str(&decoder->content));
    decoder->is_finishing = decoder->is_done = decoder->has_reason = true;
}

static void on_piece(struct sma_decoder *decoder, struct sma_str type, const json_t *event)
{
    struct sma_answer_part *part = find_item(decoder, event, NULL);
    struct sma_str delta = sma_json_str(event, "delta");
    bool is_call = sma_str_is_equal(type, SMA_STR("response.function_call_arguments.delta"));
    if (part == NULL &&
        (is_call || sma_str_is_equal(type, SMA_STR("response.output_text.delta")))) {
        part = sma_decode_add_part(decoder, is_call ? SMA_ANSWER_PART_CALL
                                                    : SMA_ANSWER_PART_TEXT); /* not announced */
        const json_t *index = json_object_get(event, "output_index");
        if (part != NULL) {
            part->has_index = json_is_integer(index);
            part->index = json_integer_value(index);
            sma_decode_add(decoder, &part->item_id, sma_json_str(event, "item_id"));
        }
    }
    if (part == NULL)
        return;
    if (is_call) {
        sma_decode_add_arguments(decoder, part, delta);
    } else if (sma_str_is_equal(type, SMA_STR("response.function_call_arguments.done"))) {
        const json_t *arguments = json_object_get(event, "arguments");
        if (json_is_string(arguments))
            sma_decode_set_arguments(decoder, part, sma_json_str_of(arguments));
    } else if (part->kind == SMA_ANSWER_PART_TEXT &&
               (sma_str_is_equal(type, SMA_STR("response.output_text.delta")) ||
                sma_str_is_equal(type, SMA_STR("response.refusal.delta")))) {
        sma_decode_add(decoder, &part->content, delta);
        if (decoder->status == SMA_DECODED_OK)
            sma_decode_put(&decoder->content,
                           delta); /* as it can be shown now; settled at the end */
    }
}

void sma_decode_responses_event(struct sma_decoder *decoder, struct sma_str name, json_t *event)
{
    struct sma_str type = sma_json_str(event, "type");
    if (type.len == 0)
        type = name;
    const json_t *response = json_object_get(event, "response");
    const json_t *error = json_object_get(event, "error");
    if (sma_str_is_equal(type, SMA_STR("error")) || json_is_object(error) ||
        json_is_string(error)) {
        if (!json_is_object(error) && !json_is_string(error))
            json_object_del(event, "type"); /* the event's own name, not the kind of error */
        sma_decode_fail_with(decoder, event);
    } else if (sma_str_is_equal(type, SMA_STR("response.failed"))) {
        sma_decode_fail_with(decoder, response != NULL ? response : event);
    } else if (sma_str_is_equal(type, SMA_STR("response.completed")) ||
               sma_str_is_equal(type, SMA_STR("response.incomplete"))) {
        on_end(decoder, response);
        decoder->is_length |=
            sma_str_is_equal(type, SMA_STR("response.incomplete")) && !decoder->is_filtered;
    } else if (sma_str_is_equal(type, SMA_STR("response.output_item.added"))) {
        on_item(decoder, event, json_object_get(event, "item"), false);
    } else if (sma_str_is_equal(type, SMA_STR("response.output_item.done"))) {
        on_item(decoder, event, json_object_get(event, "item"), true);
    } else if (sma_str_is_equal(type, SMA_STR("response.reasoning_summary_text.delta")) ||
               sma_str_is_equal(type, SMA_STR("response.reasoning_text.delta"))) {
        sma_decode_add(decoder, &decoder->reasoning, sma_json_str(event, "delta"));
    } else {
        on_piece(decoder, type, event);
    }
}

void sma_decode_responses_document(struct sma_decoder *decoder, json_t *document)
{
    if (!json_is_array(json_object_get(document, "output"))) {
        sma_decode_fail_with(decoder, document);
        return;
    }
    on_end(decoder, document);
}

static void put_call(struct sma_buf *buf, const struct sma_answer_part *part, bool has_id)
{
    sma_buf_put_text(buf, "{\"type\":\"function_call\",");
    if (part->item_id.len > 0 && has_id) {
        sma_buf_put_text(buf, "\"id\":");
        sma_buf_put_json_string(buf, sma_buf_str(&part->item_id));
        sma_buf_put_char(buf, ',');
    }
    sma_buf_put_text(buf, "\"call_id\":");
    sma_buf_put_json_string(buf, sma_buf_str(&part->id));
    sma_buf_put_json_key(buf, "name");
    sma_buf_put_json_string(buf, sma_buf_str(&part->name));
    sma_buf_put_json_key(buf, "arguments");
    sma_decode_put_arguments(buf, part);
    if (part->is_cut)
        json_object_del(part->extra, "status"); /* what goes back is whole: see put_arguments */
    sma_decode_put_extra(buf, part->extra);
    sma_buf_put_char(buf, '}');
}

static void put_item(struct sma_buf *buf, const struct sma_answer_part *part, bool has_id)
{
    if (part->kind == SMA_ANSWER_PART_CALL) {
        put_call(buf, part, has_id);
    } else if (part->raw.len > 0 && has_id) {
        sma_buf_put_str(buf, sma_buf_str(&part->raw));
    } else if (part->raw.len > 0) {
        json_t *item = sma_json_parse(sma_buf_str(&part->raw));
        json_object_del(item, "id");
        if (item != NULL)
            sma_json_put(buf, item);
        json_decref(item);
    } else {
        sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
        sma_buf_put_json_string(buf, sma_buf_str(&part->content));
        sma_buf_put_char(buf, '}');
    }
}

static bool is_filled(const struct sma_answer_part *part)
{
    return part->kind == SMA_ANSWER_PART_CALL || part->raw.len > 0 || part->content.len > 0;
}

/* Of what came, does something follow that the item at `number` may stand in front of? */
static bool has_follower(const struct sma_decoder *decoder, size_t number)
{
    for (size_t i = number + 1; i < decoder->part_count; i++)
        if (decoder->parts[i].kind != SMA_ANSWER_PART_OTHER && is_filled(&decoder->parts[i]))
            return true;
    return false;
}

void sma_decode_responses_fragment(struct sma_decoder *decoder)
{
    struct sma_buf *buf = &decoder->fragment;
    bool has_calls = sma_decode_has_calls(decoder);
    bool has_ids =
        true; /* an id tells which reasoning it came with: without the one, not the other */
    for (size_t i = 0; i < decoder->part_count; i++) {
        const struct sma_answer_part *part = &decoder->parts[i];
        bool is_other = part->kind == SMA_ANSWER_PART_OTHER;
        bool is_sent = is_filled(part) && (has_calls || part->kind == SMA_ANSWER_PART_TEXT) &&
                       (!is_other || has_follower(decoder, i));
        has_ids &= is_sent || !is_other;
        if (!is_sent)
            continue;
        if (buf->len > 0)
            sma_buf_put_char(buf, ',');
        put_item(buf, part, has_ids);
    }
}
