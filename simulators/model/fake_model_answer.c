/* See fake_model_answer.h. Source: protocols/llm.md §2-§5, protocols/models.md §5, §6.1. */
#include "fake_model_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *string_of(struct sma_str text)
{
    return json_stringn(text.ptr == NULL ? "" : text.ptr, text.len);
}

/* What was thought: two pieces, not pure ASCII, different in each answer. */
static void think(const struct fake_answer *answer, char *thought, size_t size)
{
    snprintf(thought, size, "Let me think about it (%llu). \xE5\xA5\xBD.",
             (unsigned long long)answer->number);
}

static void call_id(const struct fake_question *question, const struct fake_answer *answer,
                    size_t call, char *id, size_t size)
{
    size_t len = 0;
    id[0] = '\0';
    for (const char *at = question->profile->call_ids; *at != '\0' && len + 1 < size; at++) {
        if (*at == '#')
            len +=
                (size_t)snprintf(id + len, size - len, "%llu", (unsigned long long)answer->number);
        else if (*at == '@')
            len += (size_t)snprintf(id + len, size - len, "%zu", call);
        else if (*at == '$')
            len += (size_t)snprintf(id + len, size - len, "%.*s", (int)answer->calls[call].name.len,
                                    answer->calls[call].name.ptr);
        else
            len += (size_t)snprintf(id + len, size - len, "%c", *at);
    }
    if (question->is_thinking)
        fake_echo_given(question, id);
}

static bool stops(const struct fake_answer *answer, const char *word)
{
    return answer->stop != NULL && strcmp(answer->stop, word) == 0;
}

/* -- messages ---------------------------------------------------------------------------------- */
static json_t *thinking_block(const struct fake_question *question,
                              const struct fake_answer *answer)
{
    char thought[120], signature[80];
    const char *display = fake_text(json_object_get(question->root, "thinking"), "display");
    bool is_omitted =
        (question->family->flags & FAKE_OMITS_TEXT) && strcmp(display, "summarized") != 0;
    think(answer, thought, sizeof thought);
    fake_sign(question, thought, question->prefix, signature);
    return json_pack("{s:s,s:s,s:s}", "type", "thinking", "thinking", is_omitted ? "" : thought,
                     "signature", signature);
}

static json_t *messages_document(const struct fake_question *question,
                                 const struct fake_answer *answer)
{
    json_t *content = json_array();
    char id[160];
    if (question->is_thinking)
        json_array_append_new(content, thinking_block(question, answer));
    if (answer->text.len > 0)
        json_array_append_new(
            content, json_pack("{s:s,s:o}", "type", "text", "text", string_of(answer->text)));
    for (size_t i = 0; i < answer->call_count; i++) {
        call_id(question, answer, i, id, sizeof id);
        json_t *input =
            json_loadb(answer->calls[i].arguments.ptr, answer->calls[i].arguments.len, 0, NULL);
        json_array_append_new(content, json_pack("{s:s,s:s,s:o,s:o}", "type", "tool_use", "id", id,
                                                 "name", string_of(answer->calls[i].name), "input",
                                                 input == NULL ? json_object() : input));
    }
    const char *stop = stops(answer, "length")   ? "max_tokens"
                       : stops(answer, "window") ? "model_context_window_exceeded"
                       : answer->stop != NULL    ? "refusal"
                       : answer->call_count > 0  ? "tool_use"
                                                 : "end_turn";
    snprintf(id, sizeof id, "msg_%llu", (unsigned long long)answer->number);
    json_t *document =
        json_pack("{s:s,s:s,s:s,s:s,s:o,s:s,s:n,s:o}", "id", id, "type", "message", "role",
                  "assistant", "model", question->model, "content", content, "stop_reason", stop,
                  "stop_sequence", "usage", fake_usage(question, answer));
    if (strcmp(stop, "refusal") == 0)
        json_object_set_new(document, "stop_details",
                            json_pack("{s:s,s:s,s:s}", "type", "refusal", "category", "cyber",
                                      "explanation", "This request may break the usage policy."));
    return document;
}

/* -- responses --------------------------------------------------------------------------------- */
static json_t *reasoning_item(const struct fake_question *question,
                              const struct fake_answer *answer)
{
    char id[60], encrypted[80];
    snprintf(id, sizeof id, "rs_%llu", (unsigned long long)answer->number);
    fake_sign(question, id, question->prefix, encrypted);
    return json_pack("{s:s,s:s,s:[],s:s}", "id", id, "type", "reasoning", "summary",
                     "encrypted_content", encrypted);
}

static json_t *message_item(const struct fake_answer *answer)
{
    char id[60];
    snprintf(id, sizeof id, "msg_%llu", (unsigned long long)answer->number);
    json_t *part = stops(answer, "refusal")
                       ? json_pack("{s:s,s:s}", "type", "refusal", "refusal",
                                   "I'm sorry, but I cannot help with that.")
                       : json_pack("{s:s,s:o,s:[]}", "type", "output_text", "text",
                                   string_of(answer->text), "annotations");
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:[o]}", "id", id, "type", "message", "role", "assistant", "status",
        answer->stop == NULL || stops(answer, "refusal") ? "completed" : "incomplete", "phase",
        answer->call_count > 0 ? "commentary" : "final_answer", "content", part);
}

static json_t *call_item(const struct fake_question *question, const struct fake_answer *answer,
                         size_t call)
{
    char id[160], item[60];
    call_id(question, answer, call, id, sizeof id);
    snprintf(item, sizeof item, "fc_%llu_%zu", (unsigned long long)answer->number, call);
    bool is_cut = stops(answer, "length") && call + 1 == answer->call_count;
    return json_pack("{s:s,s:s,s:s,s:o,s:o,s:s}", "id", item, "type", "function_call", "call_id",
                     id, "name", string_of(answer->calls[call].name), "arguments",
                     string_of(answer->calls[call].arguments), "status",
                     is_cut ? "incomplete" : "completed");
}

static json_t *responses_document(const struct fake_question *question,
                                  const struct fake_answer *answer)
{
    json_t *output = json_array();
    char id[60];
    bool is_incomplete = stops(answer, "length") || stops(answer, "filter");
    if (question->is_thinking)
        json_array_append_new(output, reasoning_item(question, answer));
    if (answer->text.len > 0 || answer->call_count == 0)
        json_array_append_new(output, message_item(answer));
    for (size_t i = 0; i < answer->call_count; i++)
        json_array_append_new(output, call_item(question, answer, i));
    snprintf(id, sizeof id, "resp_%llu", (unsigned long long)answer->number);
    json_t *document =
        json_pack("{s:s,s:s,s:i,s:s,s:n,s:n,s:s,s:o,s:b,s:o}", "id", id, "object", "response",
                  "created_at", 1795000000, "status", is_incomplete ? "incomplete" : "completed",
                  "error", "incomplete_details", "model", question->model, "output", output,
                  "parallel_tool_calls", 1, "usage", fake_usage(question, answer));
    if (is_incomplete)
        json_object_set_new(
            document, "incomplete_details",
            json_pack("{s:s}", "reason",
                      stops(answer, "filter") ? "content_filter" : "max_output_tokens"));
    return document;
}

/* -- chat -------------------------------------------------------------------------------------- */
static json_t *details_of(const struct fake_question *question, const char *thought)
{
    char signature[80];
    fake_sign(question, thought, question->prefix, signature);
    return json_pack("[{s:s,s:s,s:s,s:i,s:s}]", "type", "reasoning.text", "text", thought, "format",
                     "anthropic-claude-v1", "index", 0, "signature", signature);
}

static void put_thought(json_t *message, const struct fake_question *question,
                        const struct fake_answer *answer)
{
    char thought[120];
    think(answer, thought, sizeof thought);
    if (!question->is_thinking)
        return;
    if (question->profile->thought == FAKE_THOUGHT_CONTENT)
        json_object_set_new(message, "reasoning_content", json_string(thought));
    if (question->profile->thought == FAKE_THOUGHT_REASONING ||
        question->profile->thought == FAKE_THOUGHT_DETAILS)
        json_object_set_new(message, "reasoning", json_string(thought));
    if (question->profile->thought == FAKE_THOUGHT_DETAILS)
        json_object_set_new(message, "reasoning_details", details_of(question, thought));
}

static json_t *chat_call(const struct fake_question *question, const struct fake_answer *answer,
                         size_t call)
{
    char id[160], signature[80];
    call_id(question, answer, call, id, sizeof id);
    json_t *value = json_pack("{s:s,s:s,s:{s:o,s:o}}", "id", id, "type", "function", "function",
                              "name", string_of(answer->calls[call].name), "arguments",
                              string_of(answer->calls[call].arguments));
    if (question->profile->thought == FAKE_THOUGHT_CALLS && call == 0) {
        fake_sign(question, id, question->prefix, signature);
        json_object_set_new(value, "extra_content",
                            json_pack("{s:{s:s}}", "google", "thought_signature", signature));
    }
    return value;
}

static const char *chat_finish(const struct fake_question *question,
                               const struct fake_answer *answer)
{
    bool is_glm = question->profile->shape == FAKE_SHAPE_ZHIPU;
    if (stops(answer, "length"))
        return "length";
    if (stops(answer, "window"))
        return "model_context_window_exceeded";
    if (stops(answer, "filter") || (stops(answer, "refusal") && is_glm))
        return is_glm ? "sensitive" : "content_filter";
    return answer->call_count > 0 && answer->stop == NULL ? "tool_calls" : "stop";
}

static json_t *chat_document(const struct fake_question *question, const struct fake_answer *answer)
{
    char id[60];
    json_t *message = json_pack("{s:s}", "role", "assistant"), *calls = json_array();
    bool is_refusal = stops(answer, "refusal") && question->profile->shape == FAKE_SHAPE_OPENAI;
    json_object_set_new(message, "content",
                        answer->text.len > 0 || answer->call_count == 0 ? string_of(answer->text)
                                                                        : json_null());
    if (is_refusal) {
        json_object_set_new(message, "content", json_null());
        json_object_set_new(message, "refusal",
                            json_string("I'm sorry, but I cannot help with that."));
    }
    put_thought(message, question, answer);
    for (size_t i = 0; i < answer->call_count; i++)
        json_array_append_new(calls, chat_call(question, answer, i));
    if (answer->call_count > 0)
        json_object_set(message, "tool_calls", calls);
    json_decref(calls);
    snprintf(id, sizeof id, "chatcmpl-%llu", (unsigned long long)answer->number);
    return json_pack("{s:s,s:s,s:i,s:s,s:[{s:i,s:o,s:s}],s:o}", "id", id, "object",
                     "chat.completion", "created", 1795000000, "model", question->model, "choices",
                     "index", 0, "message", message, "finish_reason", chat_finish(question, answer),
                     "usage", fake_usage(question, answer));
}

json_t *fake_document(const struct fake_question *question, const struct fake_answer *answer)
{
    if (question->api == SMA_LLM_MESSAGES)
        return messages_document(question, answer);
    return question->api == SMA_LLM_RESPONSES ? responses_document(question, answer)
                                              : chat_document(question, answer);
}
