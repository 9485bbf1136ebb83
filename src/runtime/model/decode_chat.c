/* OpenAI chat completions and everything that calls itself compatible. Source: protocols/llm.md §2,
 * §5. */
#include "decode_priv.h"

#include "sma/text.h"
#include "sma/wire.h"

#include <stdio.h>

/* Here prompt_tokens is everything that was sent, and cached and written are parts of it. What
 * total_tokens has more than the other two is reasoning that is counted nowhere else (Gemini, xAI).
 * Source: protocols/models.md §3. */
static void on_usage(struct sma_decoder *decoder, const json_t *usage)
{
    if (!json_is_object(usage))
        return;
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    uint64_t prompt = sma_json_get_u64(usage, "prompt_tokens") +
                      sma_json_get_u64(usage, "prompt_eval_count"); /* Ollama */
    uint64_t output =
        sma_json_get_u64(usage, "completion_tokens") + sma_json_get_u64(usage, "eval_count");
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
    struct sma_str piece = sma_json_str(delta, name);
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
    static const char *const names[] = {"reasoning_content", "reasoning", "reasoning_text",
                                        "thinking", "thought"};
    bool is_taken = false;
    for (size_t i = 0; i < SMA_COUNT_OF(names) && !is_taken; i++)
        is_taken = add_reasoning(decoder, delta, names[i]);
    const json_t *details = json_object_get(delta, "reasoning_details");
    for (size_t i = 0; i < json_array_size(details) && decoder->status == SMA_DECODED_OK; i++) {
        const json_t *detail = json_array_get(details, i);
        sma_decode_add_detail(decoder, detail);
        if (!is_taken)
            sma_decode_add(decoder, &decoder->reasoning, sma_json_str(detail, "text"));
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

static void on_call_piece(struct sma_decoder *decoder, const json_t *piece, bool is_whole);

/* A string; an object with text, a thought or a call; a list of them. */
static void on_content(struct sma_decoder *decoder, const json_t *content, bool is_whole)
{
    static const char *const texts[] = {"text", "output_text", ""};
    struct sma_str type = sma_json_str(content, "type");
    bool is_text = false;
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        is_text |= sma_str_is_equal(type, sma_str(texts[i]));
    decoder->has_content |= json_is_string(content);
    if (json_is_string(content))
        sma_decode_add(decoder, &decoder->content, sma_json_str_of(content));
    else if (json_is_object(content) && is_text)
        sma_decode_add(decoder, &decoder->content, sma_json_str(content, "text"));
    else if (sma_str_is_equal(type, SMA_STR("tool_use")))
        on_call_piece(decoder, content, is_whole);
    for (size_t i = 0; i < json_array_size(content); i++)
        if (!json_is_array(json_array_get(content, i)))
            on_content(decoder, json_array_get(content, i), is_whole);
}

/* Does a piece with these begin another call than `part`, which stands under the same index, or is
 * the latest? An id alone says nothing: some servers make a new one for each piece. */
static bool is_another(const struct sma_answer_part *part, struct sma_str id, struct sma_str name,
                       bool has_arguments)
{
    struct sma_str held = {part->content.len > 0 ? part->content.ptr : "", part->content.len};
    if (name.len == 0 || sma_str_is_equal(id, sma_buf_str(&part->id)))
        return false;
    if (part->name.len == 0 && ((part->id.len > 0 && id.len == 0) || !has_arguments))
        return false; /* its name comes last */
    if (held.len == 0)
        return !has_arguments || part->name.len == 0 ||
               !sma_str_is_equal(name, sma_buf_str(&part->name));
    /* Whole arguments, or another name: its pieces are over. */
    return !sma_str_is_equal(name, sma_buf_str(&part->name)) ||
           sma_json_is_object(sma_str_trim(held));
}

/* What a call is made of, also where its name stands in the piece itself. */
static const json_t *function_of(const json_t *piece)
{
    const json_t *function = json_object_get(piece, "function");
    return json_is_object(function) ? function : piece;
}

static const json_t *arguments_of(const json_t *function)
{
    static const char *const names[] = {"arguments", "parameters", "input"};
    const json_t *arguments = NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(names) && arguments == NULL; i++)
        arguments = json_object_get(function, names[i]);
    return arguments;
}

/* Which call a piece belongs to; NULL = a new one. The rule that survives every known server. */
static struct sma_answer_part *find_call(struct sma_decoder *decoder, const json_t *piece,
                                         struct sma_str id, struct sma_str name)
{
    const json_t *index = json_object_get(piece, "index");
    const json_t *arguments = arguments_of(function_of(piece));
    bool has_arguments = json_is_object(arguments) || json_string_length(arguments) > 0;
    struct sma_answer_part *part = NULL;
    if (json_is_integer(index)) {
        part = sma_decode_find_part(decoder, json_integer_value(index));
    } else {
        for (size_t i = decoder->part_count; i > 0 && id.len > 0 && part == NULL; i--)
            if (sma_str_is_equal(sma_buf_str(&decoder->parts[i - 1].id), id))
                part = &decoder->parts[i - 1];
        if (part == NULL && decoder->part_count > 0)
            part = &decoder->parts[decoder->part_count - 1];
        if (part != NULL && name.len > 0 && id.len == 0 && part->id.len > 0)
            return NULL;
    }
    /* A piece of the name under its index, as long as nothing else came: not another call. */
    bool begins_object = !json_is_integer(index) && json_is_string(arguments) &&
                         sma_str_starts_with(sma_json_str_of(arguments), SMA_STR("{"));
    if (part != NULL && name.len > 0 && id.len > 0 && part->content.len > 0 && begins_object &&
        !sma_str_is_equal(id, sma_buf_str(&part->id)))
        return NULL;
    bool is_rest_of_name =
        part != NULL && json_is_integer(index) && id.len == 0 && part->content.len == 0;
    return part != NULL && !is_rest_of_name && is_another(part, id, name, has_arguments) ? NULL
                                                                                         : part;
}

static void on_call_piece(struct sma_decoder *decoder, const json_t *piece, bool is_whole)
{
    if (!json_is_object(piece))
        return;
    const json_t *function = function_of(piece);
    struct sma_str id = sma_json_str(piece, "id");
    struct sma_str name = sma_json_str(function, "name");
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
    sma_decode_add_arguments_value(decoder, part, arguments_of(function));
    static const char *const of_call[] = {"id",        "type",       "index", "function", "name",
                                          "arguments", "parameters", "input", NULL};
    keep_unknown(decoder, piece, of_call, &part->extra);
    if (function != piece)
        keep_unknown(decoder, function, of_call, &part->extra_function);
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

static void on_calls(struct sma_decoder *decoder, const json_t *calls, bool is_whole)
{
    if (json_is_object(calls))
        on_call_piece(decoder, calls, is_whole);
    for (size_t i = 0; i < json_array_size(calls) && decoder->status == SMA_DECODED_OK; i++)
        on_call_piece(decoder, json_array_get(calls, i), is_whole);
}

static void on_message(struct sma_decoder *decoder, const json_t *message, bool is_whole)
{
    on_reasoning(decoder, message);
    on_content(decoder, json_object_get(message, "content"), is_whole);
    if (!decoder->has_content)
        on_content(decoder, json_object_get(json_object_get(message, "audio"), "transcript"),
                   is_whole);
    sma_decode_add(decoder, &decoder->refusal, sma_json_str(message, "refusal"));
    on_calls(decoder, json_object_get(message, "tool_calls"), is_whole);
    json_t *legacy = json_object_get(message, "function_call");
    if (json_is_object(legacy) && json_array_size(json_object_get(message, "tool_calls")) == 0) {
        json_t *piece = json_pack("{s:i,s:O}", "index", 0, "function", legacy);
        on_calls(decoder, piece, is_whole);
        json_decref(piece);
    }
    static const char *const known[] = {"role",
                                        "content",
                                        "refusal",
                                        "tool_calls",
                                        "function_call",
                                        "reasoning",
                                        "reasoning_text",
                                        "reasoning_details",
                                        "thinking",
                                        "thought",
                                        "audio",
                                        "index",
                                        "name",
                                        "images",
                                        "obfuscation",
                                        "reasoning_content",
                                        NULL};
    keep_unknown(decoder, message, known, &decoder->extra);
}

/* Some gateways wrap the answer. */
static json_t *unwrap(json_t *root)
{
    static const char *const members[] = {"data", "result", "response", "output"};
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        json_t *inner = json_object_get(root, members[i]);
        if (!json_is_array(json_object_get(root, "choices")) &&
            json_is_array(json_object_get(inner, "choices")))
            return inner;
    }
    return root;
}

/* The first answer of several; where there are no choices, of Ollama's own format the whole. */
static const json_t *first_choice(const json_t *root)
{
    const json_t *choices = json_object_get(root, "choices");
    bool has_done = json_is_boolean(json_object_get(root, "done"));
    if (json_is_object(choices) || (choices == NULL && has_done))
        return json_is_object(choices) ? choices : root;
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);
        if (sma_json_get_u64(choice, "index") == 0)
            return choice;
    }
    return NULL;
}

/* A message told anew with each event, longer each time: only what is new of it. */
static json_t *rest_of(const struct sma_decoder *decoder, json_t *message)
{
    struct sma_str text = sma_json_str(message, "content");
    struct sma_str held = {decoder->content.len > 0 ? decoder->content.ptr : "",
                           decoder->content.len};
    if (held.len == 0 || text.len <= held.len || !sma_str_starts_with(text, held))
        return json_incref(message);
    json_t *rest = json_copy(message);
    (void)json_object_set_new(rest, "content",
                              json_stringn_nocheck(text.ptr + held.len, text.len - held.len));
    return rest;
}

static bool on_choice(struct sma_decoder *decoder, const json_t *root, const json_t *choice)
{
    json_t *delta = json_object_get(choice, "delta"), *message = json_object_get(choice, "message");
    bool is_own = choice == root; /* Ollama: pieces are messages */
    bool is_whole = !json_is_object(delta);
    message = !is_whole ? json_incref(delta)
              : is_own  ? json_incref(message)
                        : rest_of(decoder, message);
    on_usage(decoder, is_own ? root : json_object_get(choice, "usage"));
    on_message(decoder, message, is_whole);
    on_content(decoder, json_object_get(choice, is_own ? "response" : "text"), is_whole);
    on_finish(decoder, sma_json_str(choice, is_own ? "done_reason" : "finish_reason"), root);
    if (is_own && json_is_true(json_object_get(root, "done")))
        decoder->is_finishing = decoder->has_reason = true;
    bool is_told =
        message != NULL || json_is_string(json_object_get(choice, is_own ? "response" : "text"));
    json_decref(message);
    return is_told;
}

void sma_decode_chat_event(struct sma_decoder *decoder, struct sma_str name, json_t *event)
{
    event = unwrap(event);
    if (sma_decode_is_error(event) || sma_str_is_equal(name, SMA_STR("error"))) {
        sma_decode_fail_with(decoder, event);
        return;
    }
    on_usage(decoder, json_object_get(event, "usage"));
    const json_t *choice = first_choice(event);
    if (json_is_object(json_object_get(choice, "error")))
        sma_decode_fail_with(decoder, choice);
    else if (choice != NULL)
        (void)on_choice(decoder, event, choice); /* without anything: a sign of life */
}

void sma_decode_chat_document(struct sma_decoder *decoder, json_t *document)
{
    document = unwrap(document);
    const json_t *choice = first_choice(document);
    bool has_error = json_object_get(choice, "error") != NULL;
    on_usage(decoder, json_object_get(document, "usage"));
    if (has_error || choice == NULL || !on_choice(decoder, document, choice)) {
        sma_decode_fail_with(decoder, has_error ? choice : document);
        return;
    }
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
    bool is_learned = (decoder->forms & SMA_ANSWER_REASONED) != 0;
    bool is_every = profile->echo == SMA_ECHO_EVERY || is_learned;
    if ((decoder->forms & SMA_ANSWER_BARE) != 0 || (profile->echo == SMA_ECHO_NEVER && !is_learned))
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
        sma_buf_put_json_key(buf, is_learned ? "reasoning_content" : profile->echo_member);
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
    bool has_null = (decoder->forms & SMA_ANSWER_NO_NULL) == 0;
    if (decoder->shown.len == 0 && !decoder->has_content && has_null)
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
