/* A document in pieces. Source: protocols/llm.md §2-§4. */
#include "fake_model_answer.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 24

/* Takes the event. name NULL: no event line. */
static void put_event(struct sma_buf *out, const char *name, json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);
    if (name != NULL)
        sma_buf_printf(out, "event: %s\n", name);
    sma_buf_printf(out, "data: %s\n\n", text == NULL ? "{}" : text);
    free(text);
    json_decref(event);
}

/* The next piece of a text, cut between characters. */
static struct sma_str take_piece(struct sma_str *left, size_t bytes)
{
    size_t len = left->len < bytes ? left->len : bytes;
    while (len < left->len && ((unsigned char)left->ptr[len] & 0xc0) == 0x80)
        len++;
    struct sma_str piece = {left->ptr, len};
    *left = (struct sma_str){left->ptr + len, left->len - len};
    return piece;
}

static struct sma_str str_of(const json_t *object, const char *key)
{
    return sma_str(fake_text(object, key));
}

static json_t *json_piece(struct sma_str piece)
{
    return json_stringn(piece.ptr, piece.len);
}

/* -- chat -------------------------------------------------------------------------------------- */
/* Takes the delta. */
static void put_delta(struct sma_buf *out, const json_t *document, json_t *delta)
{
    put_event(out, NULL,
              json_pack("{s:O,s:s,s:O,s:O,s:[{s:i,s:o,s:n}]}", "id",
                        json_object_get(document, "id"), "object", "chat.completion.chunk",
                        "created", json_object_get(document, "created"), "model",
                        json_object_get(document, "model"), "choices", "index", 0, "delta", delta,
                        "finish_reason"));
}

static void put_texts(struct sma_buf *out, const json_t *document, const json_t *message,
                      const char *member)
{
    struct sma_str left = str_of(message, member);
    while (left.len > 0) {
        json_t *delta = json_object();
        json_object_set_new(delta, member, json_piece(take_piece(&left, PIECE_BYTES)));
        put_delta(out, document, delta);
    }
}

/* Text in pieces under one index, the signature last and alone. */
static void put_details(struct sma_buf *out, const json_t *document, const json_t *details)
{
    const json_t *detail = json_array_get(details, 0);
    struct sma_str left = str_of(detail, "text");
    while (left.len > 0) {
        struct sma_str piece = take_piece(&left, PIECE_BYTES);
        put_delta(out, document,
                  json_pack("{s:o,s:[{s:s,s:o,s:s,s:i}]}", "reasoning", json_piece(piece),
                            "reasoning_details", "type", "reasoning.text", "text",
                            json_piece(piece), "format", "anthropic-claude-v1", "index", 0));
    }
    if (detail != NULL)
        put_delta(out, document,
                  json_pack("{s:[{s:s,s:s,s:s,s:i}]}", "reasoning_details", "type",
                            "reasoning.text", "signature", fake_text(detail, "signature"), "format",
                            "anthropic-claude-v1", "index", 0));
}

static void put_call(struct sma_buf *out, const json_t *document, const json_t *call, size_t index,
                     bool is_whole)
{
    json_t *first = json_deep_copy(call), *function = json_object_get(first, "function");
    struct sma_str left = str_of(json_object_get(call, "function"), "arguments");
    json_object_set_new(first, "index", json_integer((json_int_t)index));
    if (!is_whole)
        json_object_set_new(function, "arguments", json_string(""));
    put_delta(out, document, json_pack("{s:[o]}", "tool_calls", first));
    while (!is_whole && left.len > 0)
        put_delta(out, document,
                  json_pack("{s:[{s:i,s:{s:o}}]}", "tool_calls", "index", (int)index, "function",
                            "arguments", json_piece(take_piece(&left, PIECE_BYTES))));
}

static void chat_events(const struct fake_question *question, const json_t *document,
                        struct sma_buf *out)
{
    const json_t *choice = json_array_get(json_object_get(document, "choices"), 0),
                 *message = json_object_get(choice, "message"),
                 *calls = json_object_get(message, "tool_calls"),
                 *details = json_object_get(message, "reasoning_details"),
                 *options = json_object_get(question->root, "stream_options");
    bool is_whole = question->profile->has_one_index ||
                    question->profile->thought == FAKE_THOUGHT_CALLS ||
                    question->profile->shape == FAKE_SHAPE_ZHIPU;
    put_delta(out, document, json_pack("{s:s,s:s}", "role", "assistant", "content", ""));
    put_texts(out, document, message, "reasoning_content");
    if (details == NULL)
        put_texts(out, document, message, "reasoning");
    put_details(out, document, details);
    put_texts(out, document, message, "content");
    put_texts(out, document, message, "refusal");
    for (size_t i = 0; i < json_array_size(calls); i++)
        put_call(out, document, json_array_get(calls, i), question->profile->has_one_index ? 0 : i,
                 is_whole);
    json_t *last = json_pack("{s:O,s:s,s:O,s:O,s:[{s:i,s:{},s:O}]}", "id",
                             json_object_get(document, "id"), "object", "chat.completion.chunk",
                             "created", json_object_get(document, "created"), "model",
                             json_object_get(document, "model"), "choices", "index", 0, "delta",
                             "finish_reason", json_object_get(choice, "finish_reason"));
    put_event(out, NULL, last);
    if (!question->profile->is_usage_asked ||
        json_is_true(json_object_get(options, "include_usage")))
        put_event(out, NULL,
                  json_pack("{s:O,s:s,s:O,s:O,s:[],s:O}", "id", json_object_get(document, "id"),
                            "object", "chat.completion.chunk", "created",
                            json_object_get(document, "created"), "model",
                            json_object_get(document, "model"), "choices", "usage",
                            json_object_get(document, "usage")));
    sma_buf_put_text(out, "data: [DONE]\n\n");
}

/* -- messages ---------------------------------------------------------------------------------- */
static void put_block_delta(struct sma_buf *out, size_t index, const char *type, const char *member,
                            struct sma_str text)
{
    struct sma_str left = text;
    do {
        json_t *delta = json_pack("{s:s}", "type", type);
        json_object_set_new(delta, member, json_piece(take_piece(&left, PIECE_BYTES * 4)));
        put_event(out, "content_block_delta",
                  json_pack("{s:s,s:i,s:o}", "type", "content_block_delta", "index", (int)index,
                            "delta", delta));
    } while (left.len > 0);
}

static void put_block(struct sma_buf *out, size_t index, const json_t *block,
                      struct sma_str arguments)
{
    json_t *start = json_deep_copy(block);
    const char *type = fake_text(block, "type");
    bool is_call = strcmp(type, "tool_use") == 0, is_text = strcmp(type, "text") == 0;
    if (is_call)
        json_object_set_new(start, "input", json_object());
    else
        json_object_set_new(start, is_text ? "text" : "thinking", json_string(""));
    if (!is_call && !is_text)
        json_object_set_new(start, "signature", json_string(""));
    put_event(out, "content_block_start",
              json_pack("{s:s,s:i,s:o}", "type", "content_block_start", "index", (int)index,
                        "content_block", start));
    if (is_call)
        put_block_delta(out, index, "input_json_delta", "partial_json", arguments);
    else if (is_text)
        put_block_delta(out, index, "text_delta", "text", str_of(block, "text"));
    else if (fake_text(block, "thinking")[0] != '\0')
        put_block_delta(out, index, "thinking_delta", "thinking", str_of(block, "thinking"));
    if (!is_call && !is_text)
        put_block_delta(out, index, "signature_delta", "signature", str_of(block, "signature"));
    put_event(out, "content_block_stop",
              json_pack("{s:s,s:i}", "type", "content_block_stop", "index", (int)index));
}

static void messages_events(const struct fake_answer *answer, const json_t *document,
                            struct sma_buf *out)
{
    const json_t *content = json_object_get(document, "content"),
                 *usage = json_object_get(document, "usage");
    json_t *skeleton = json_copy((json_t *)document), *first = json_copy((json_t *)usage);
    json_object_set_new(first, "output_tokens", json_integer(1));
    json_object_set_new(skeleton, "content", json_array());
    json_object_set_new(skeleton, "stop_reason", json_null());
    json_object_set_new(skeleton, "usage", first);
    json_object_del(skeleton, "stop_details");
    put_event(out, "message_start",
              json_pack("{s:s,s:o}", "type", "message_start", "message", skeleton));
    put_event(out, "ping", json_pack("{s:s}", "type", "ping"));
    size_t call = 0;
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i);
        bool is_call = fake_is_word(block, "type", "tool_use");
        put_block(out, i, block, is_call ? answer->calls[call].arguments : SMA_STR(""));
        call += is_call;
    }
    json_t *delta = json_pack("{s:O,s:n}", "stop_reason", json_object_get(document, "stop_reason"),
                              "stop_sequence");
    if (fake_has(document, "stop_details"))
        json_object_set(delta, "stop_details", json_object_get(document, "stop_details"));
    put_event(out, "message_delta",
              json_pack("{s:s,s:o,s:{s:O}}", "type", "message_delta", "delta", delta, "usage",
                        "output_tokens", json_object_get(usage, "output_tokens")));
    put_event(out, "message_stop", json_pack("{s:s}", "type", "message_stop"));
}

/* -- responses --------------------------------------------------------------------------------- */
struct sequence
{
    struct sma_buf *out;
    int number;
};

/* Takes the event; `type` is its name too. */
static void put_numbered(struct sequence *sequence, const char *type, json_t *event)
{
    json_object_set_new(event, "type", json_string(type));
    json_object_set_new(event, "sequence_number", json_integer(sequence->number++));
    put_event(sequence->out, type, event);
}

static void put_pieces(struct sequence *sequence, const char *kind, int index, const json_t *item,
                       const char *text)
{
    char type[64];
    struct sma_str left = sma_str(text);
    bool is_call = strcmp(kind, "function_call_arguments") == 0;
    snprintf(type, sizeof type, "response.%s.delta", kind);
    while (left.len > 0) {
        json_t *event =
            json_pack("{s:O,s:i,s:o}", "item_id", json_object_get(item, "id"), "output_index",
                      index, "delta", json_piece(take_piece(&left, PIECE_BYTES)));
        if (!is_call)
            json_object_set_new(event, "content_index", json_integer(0));
        put_numbered(sequence, type, event);
    }
    snprintf(type, sizeof type, "response.%s.done", kind);
    json_t *event =
        json_pack("{s:O,s:i,s:s}", "item_id", json_object_get(item, "id"), "output_index", index,
                  is_call                        ? "arguments"
                  : strcmp(kind, "refusal") == 0 ? "refusal"
                                                 : "text",
                  text);
    if (!is_call)
        json_object_set_new(event, "content_index", json_integer(0));
    put_numbered(sequence, type, event);
}

static void put_message(struct sequence *sequence, int index, const json_t *item)
{
    const json_t *part = json_array_get(json_object_get(item, "content"), 0);
    bool is_refusal = fake_is_word(part, "type", "refusal");
    json_t *empty = json_deep_copy(part);
    json_object_set_new(empty, is_refusal ? "refusal" : "text", json_string(""));
    put_numbered(sequence, "response.content_part.added",
                 json_pack("{s:O,s:i,s:i,s:o}", "item_id", json_object_get(item, "id"),
                           "output_index", index, "content_index", 0, "part", empty));
    put_pieces(sequence, is_refusal ? "refusal" : "output_text", index, item,
               fake_text(part, is_refusal ? "refusal" : "text"));
    put_numbered(sequence, "response.content_part.done",
                 json_pack("{s:O,s:i,s:i,s:O}", "item_id", json_object_get(item, "id"),
                           "output_index", index, "content_index", 0, "part", part));
}

static void put_item(struct sequence *sequence, int index, const json_t *item)
{
    const char *type = fake_text(item, "type");
    json_t *begun = json_deep_copy(item);
    if (strcmp(type, "reasoning") == 0)
        json_object_del(begun, "encrypted_content"); /* complete in .done only */
    if (strcmp(type, "message") == 0)
        json_object_set_new(begun, "content", json_array());
    if (strcmp(type, "function_call") == 0)
        json_object_set_new(begun, "arguments", json_string(""));
    put_numbered(sequence, "response.output_item.added",
                 json_pack("{s:i,s:o}", "output_index", index, "item", begun));
    if (strcmp(type, "message") == 0)
        put_message(sequence, index, item);
    if (strcmp(type, "function_call") == 0)
        put_pieces(sequence, "function_call_arguments", index, item, fake_text(item, "arguments"));
    put_numbered(sequence, "response.output_item.done",
                 json_pack("{s:i,s:O}", "output_index", index, "item", item));
}

static void responses_events(const json_t *document, struct sma_buf *out)
{
    const json_t *output = json_object_get(document, "output");
    struct sequence sequence = {.out = out};
    json_t *begun = json_copy((json_t *)document);
    json_object_set_new(begun, "output", json_array());
    json_object_set_new(begun, "status", json_string("in_progress"));
    json_object_set_new(begun, "usage", json_null());
    put_numbered(&sequence, "response.created", json_pack("{s:O}", "response", begun));
    put_numbered(&sequence, "response.in_progress", json_pack("{s:o}", "response", begun));
    for (size_t i = 0; i < json_array_size(output); i++)
        put_item(&sequence, (int)i, json_array_get(output, i));
    put_numbered(&sequence,
                 fake_is_word(document, "status", "incomplete") ? "response.incomplete"
                                                                : "response.completed",
                 json_pack("{s:O}", "response", document));
}

void fake_events(const struct fake_question *question, const struct fake_answer *answer,
                 struct sma_buf *out)
{
    json_t *document = fake_document(question, answer);
    if (question->api == SMA_LLM_MESSAGES)
        messages_events(answer, document, out);
    else if (question->api == SMA_LLM_RESPONSES)
        responses_events(document, out);
    else
        chat_events(question, document, out);
    json_decref(document);
}
