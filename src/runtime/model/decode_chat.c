/* OpenAI chat completions and everything that calls itself compatible. Source: protocols/llm.md §2,
 * §5. */
#include "decode_priv.h"

#include <stdio.h>

/* Here prompt_tokens is everything that was sent, and cached and written are parts of it. What
 * total_tokens has more than the other two is reasoning that is counted nowhere else (Gemini, xAI).
 * Source: protocols/models.md §3. */
static void on_usage(struct sma_decoder *decoder, const json_t *usage)
{
    if (!json_is_object(usage))
        return;
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    uint64_t prompt = sma_json_get_u64(usage, "prompt_tokens");
    uint64_t output = sma_json_get_u64(usage, "completion_tokens");
    uint64_t total = sma_json_get_u64(usage, "total_tokens");
    uint64_t cached = sma_json_get_u64(details, "cached_tokens");
    uint64_t written = sma_json_get_u64(details, "cache_write_tokens");
    uint64_t reasoning =
        sma_json_get_u64(json_object_get(usage, "completion_tokens_details"), "reasoning_tokens");
    if (cached == 0)
        cached = sma_json_get_u64(usage, "prompt_cache_hit_tokens"); /* DeepSeek */
    if (cached == 0)
        cached = sma_json_get_u64(usage, "cached_tokens"); /* Moonshot */
    if (written == 0)
        written = sma_json_get_u64(details, "cache_creation_input_tokens"); /* DashScope */
    uint64_t apart = total > prompt + output ? total - prompt - output : 0;
    struct sma_usage *sum = &decoder->decoded.usage;
    sma_decode_set_prompt(sum, prompt, cached, written);
    sum->output = output + apart;
    sum->reasoning = reasoning > apart ? reasoning : apart;
    double cost = json_number_value(json_object_get(usage, "cost")); /* OpenRouter: US dollars */
    if (cost > 0 && cost < 1e6)
        sum->cost_nano = (uint64_t)(cost * 1e9 + 0.5);
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
static void on_reasoning(struct sma_decoder *decoder, const json_t *delta)
{
    bool is_taken = add_reasoning(decoder, delta, "reasoning_content") ||
                    add_reasoning(decoder, delta, "reasoning") ||
                    add_reasoning(decoder, delta, "reasoning_text");
    const json_t *details = json_object_get(delta, "reasoning_details");
    for (size_t i = 0; i < json_array_size(details) && decoder->status == SMA_DECODED_OK; i++) {
        const json_t *detail = json_array_get(details, i);
        sma_decode_add_detail(decoder, detail);
        if (!is_taken)
            sma_decode_add(decoder, &decoder->reasoning, sma_json_get_str(detail, "text"));
    }
}

/* -- members that we do not know --------------------------------------------------------------- */
static bool is_known(const char *key, const char *const *known)
{
    for (; *known != NULL; known++)
        if (strcmp(key, *known) == 0)
            return true;
    return false;
}

static void keep_unknown(struct sma_decoder *decoder, const json_t *object,
                         const char *const *known, json_t **extra)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!is_known(key, known))
            sma_decode_keep(decoder, extra, key, value);
    }
}

static void on_content(struct sma_decoder *decoder, const json_t *content)
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

static struct sma_answer_part *latest_call(struct sma_decoder *decoder)
{
    return decoder->part_count == 0 ? NULL : &decoder->parts[decoder->part_count - 1];
}

/* Which call a piece belongs to; NULL = a new one. The rule that survives every known server. */
static struct sma_answer_part *find_call(struct sma_decoder *decoder, const json_t *piece,
                                         struct sma_str id, struct sma_str name)
{
    const json_t *index = json_object_get(piece, "index");
    struct sma_answer_part *part;
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

static void on_call_piece(struct sma_decoder *decoder, const json_t *piece, bool is_whole)
{
    if (!json_is_object(piece))
        return;
    const json_t *function = json_object_get(piece, "function");
    struct sma_str id = sma_json_get_str(piece, "id");
    struct sma_str name = sma_json_get_str(function, "name");
    struct sma_answer_part *part = is_whole ? NULL : find_call(decoder, piece, id, name);
    if (part == NULL) {
        part = sma_decode_add_part(decoder, SMA_ANSWER_PART_CALL);
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
    static const char *const of_call[] = {"id", "type", "index", "function", NULL};
    static const char *const of_function[] = {"name", "arguments", NULL};
    keep_unknown(decoder, piece, of_call, &part->extra);
    keep_unknown(decoder, function, of_function, &part->extra_function);
}

static bool is_one_of(struct sma_str word, const char *const *list)
{
    for (; *list != NULL; list++)
        if (sma_str_is_equal(word, sma_str(*list)))
            return true;
    return false;
}

static void on_finish(struct sma_decoder *decoder, struct sma_str reason, const json_t *root)
{
    static const char *const good[] = {"stop",          "tool_calls", "function_call", "tool_call",
                                       "tool_use",      "end_turn",   "end",           "eos",
                                       "stop_sequence", NULL};
    static const char *const cut[] = {"length", "max_tokens", NULL};
    static const char *const filtered[] = {"content_filter", "sensitive", NULL};
    /* The server broke down on the way: what came is of no use, the same request may pass. */
    static const char *const broken[] = {"error",
                                         "network_error",
                                         "insufficient_system_resource",
                                         "abort",
                                         "malformed_response",
                                         "malformed_function_call",
                                         "model_context_window_exceeded",
                                         NULL};
    if (reason.len == 0)
        return;
    decoder->is_finishing = decoder->has_reason = true;
    decoder->is_length |= is_one_of(reason, cut);
    decoder->is_filtered |= is_one_of(reason, filtered);
    decoder->is_refused |= sma_str_is_equal(reason, SMA_STR("refusal"));
    if (is_one_of(reason, broken)) {
        sma_decode_fail_with(decoder, root);
        struct sma_wire_error *error = &decoder->decoded.error;
        if (error->code[0] == '\0')
            snprintf(error->code, sizeof error->code, "%.*s", (int)reason.len, reason.ptr);
    } else if (!is_one_of(reason, good) && !decoder->is_length && !decoder->is_filtered &&
               !decoder->is_refused) {
        sma_decode_odd_reason(decoder, reason);
    }
}

static void on_message(struct sma_decoder *decoder, const json_t *message, bool is_whole)
{
    on_reasoning(decoder, message);
    on_content(decoder, json_object_get(message, "content"));
    sma_decode_add(decoder, &decoder->refusal, sma_json_get_str(message, "refusal"));
    const json_t *calls = json_object_get(message, "tool_calls");
    for (size_t i = 0; i < json_array_size(calls) && decoder->status == SMA_DECODED_OK; i++)
        on_call_piece(decoder, json_array_get(calls, i), is_whole);
    static const char *const known[] = {"role",
                                        "content",
                                        "refusal",
                                        "tool_calls",
                                        "function_call",
                                        "reasoning_content",
                                        "reasoning",
                                        "reasoning_text",
                                        "reasoning_details",
                                        "audio",
                                        "index",
                                        "name",
                                        "obfuscation",
                                        NULL};
    keep_unknown(decoder, message, known, &decoder->extra);
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
    on_usage(decoder, json_object_get(event, "usage"));
    const json_t *choice = first_choice(event);
    if (choice == NULL)
        return;
    if (json_is_object(json_object_get(choice, "error"))) {
        sma_decode_fail_with(decoder, choice);
        return;
    }
    on_usage(decoder, json_object_get(choice, "usage"));
    const json_t *delta = json_object_get(choice, "delta");
    bool is_whole = !json_is_object(delta);
    on_message(decoder, is_whole ? json_object_get(choice, "message") : delta, is_whole);
    on_finish(decoder, sma_json_get_str(choice, "finish_reason"), event);
}

void sma_decode_chat_document(struct sma_decoder *decoder, json_t *document)
{
    const json_t *choice = first_choice(document);
    const json_t *message = json_object_get(choice, "message");
    if (!json_is_object(message)) {
        sma_decode_fail_with(decoder, json_object_get(choice, "error") != NULL ? choice : document);
        return;
    }
    on_usage(decoder, json_object_get(document, "usage"));
    on_usage(decoder, json_object_get(choice, "usage"));
    on_message(decoder, message, true);
    on_finish(decoder, sma_json_get_str(choice, "finish_reason"), document);
    decoder->is_finishing = true; /* a document that parses is complete */
}

static void put_call(struct sma_buf *buf, const struct sma_answer_part *part)
{
    sma_buf_put_text(buf, "{\"id\":");
    sma_buf_put_json_string(buf, sma_buf_str(&part->id));
    sma_buf_put_text(buf, ",\"type\":\"function\",\"function\":{\"name\":");
    sma_buf_put_json_string(buf, sma_buf_str(&part->name));
    sma_buf_put_text(buf, ",\"arguments\":");
    sma_decode_put_arguments(buf, part);
    sma_decode_put_extra(buf, part->extra_function);
    sma_buf_put_char(buf, '}');
    sma_decode_put_extra(buf, part->extra);
    sma_buf_put_char(buf, '}');
}

/* The list says all that the plain member says, and its signatures: never both. */
static void put_reasoning(struct sma_decoder *decoder, struct sma_buf *buf, bool has_calls)
{
    const struct sma_profile *profile = &decoder->profile;
    bool is_every = profile->echo == SMA_ECHO_EVERY;
    if (profile->echo == SMA_ECHO_NEVER)
        return;
    if (decoder->detail_count > 0) {
        sma_buf_put_json_key(buf, "reasoning_details");
        sma_decode_put_details(buf, decoder);
    } else if (decoder->reasoning_name[0] != '\0' && (has_calls || is_every)) {
        /* Of turns without calls every other provider takes the answer bare, and some refuse
         * more. */
        sma_buf_put_json_key(buf, decoder->reasoning_name);
        sma_buf_put_json_string(buf, sma_buf_str(&decoder->reasoning));
    } else if (is_every && decoder->reasoning_name[0] == '\0') {
        sma_buf_put_json_key(buf, profile->echo_member);
        sma_buf_put_text(buf, "\"\"");
    }
}

void sma_decode_chat_fragment(struct sma_decoder *decoder)
{
    struct sma_buf *buf = &decoder->fragment;
    bool has_calls = decoder->part_count > 0 && sma_decode_has_calls(decoder);
    if (decoder->shown.len == 0 && !has_calls)
        return;
    sma_buf_put_text(buf, "{\"role\":\"assistant\",\"content\":");
    if (decoder->shown.len == 0 && !decoder->has_content)
        sma_buf_put_text(buf, "null");
    else
        sma_buf_put_json_string(buf, decoder->shown);
    put_reasoning(decoder, buf, has_calls);
    for (size_t i = 0; i < decoder->part_count && has_calls; i++) {
        sma_buf_put_text(buf, i == 0 ? ",\"tool_calls\":[" : ",");
        put_call(buf, &decoder->parts[i]);
    }
    if (has_calls)
        sma_buf_put_char(buf, ']');
    sma_decode_put_extra(buf, decoder->extra);
    sma_buf_put_char(buf, '}');
}
