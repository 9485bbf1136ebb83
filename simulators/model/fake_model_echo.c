/*
 * fake_model_echo.c — thoughts that were given must come back as they were. Source:
 * protocols/models.md §5.
 *
 * A signature says what was thought, by which model, and after what: "sig_TEXT_PREFIX_MODEL", all
 * hashes, so that nothing has to be remembered to check it.
 */
#include "fake_model_refuse.h"

#include "fake_model_meter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GIVEN_COUNT (1u << 16)

static uint64_t given[GIVEN_COUNT]; /* hashes of the ids of calls that came with a thought */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash == 0 ? 1 : hash;
}

static uint64_t key_of(const struct fake_question *question, const char *call_id)
{
    uint64_t key = hash_of(call_id) ^ (hash_of(question->model) << 1);
    return key == 0 ? 1 : key;
}

static bool was_given(const struct fake_question *question, const char *call_id)
{
    uint64_t hash = key_of(question, call_id);
    for (size_t i = 0; i < GIVEN_COUNT; i++) {
        uint64_t at = given[(hash + i) % GIVEN_COUNT];
        if (at == hash || at == 0)
            return at == hash;
    }
    return false;
}

void fake_echo_given(const struct fake_question *question, const char *call_id)
{
    uint64_t hash = key_of(question, call_id);
    for (size_t i = 0; i < GIVEN_COUNT; i++) {
        uint64_t *at = &given[(hash + i) % GIVEN_COUNT];
        if (*at == 0 || *at == hash) {
            *at = hash;
            return;
        }
    }
}

void fake_sign(const struct fake_question *question, const char *thought, uint64_t prefix,
               char *signature)
{
    snprintf(signature, 80, "sig_%016llx_%016llx_%016llx", (unsigned long long)hash_of(thought),
             (unsigned long long)prefix, (unsigned long long)hash_of(question->model));
}

/* Is it ours, for this text? */
static bool is_text_right(const char *signature, const char *thought, bool may_omit)
{
    char wanted[32];
    if (strncmp(signature, "sig_", 4) != 0 || strlen(signature) != 54)
        return false;
    snprintf(wanted, sizeof wanted, "%016llx", (unsigned long long)hash_of(thought));
    return strncmp(signature + 4, wanted, 16) == 0 || (may_omit && thought[0] == '\0');
}

static bool is_part_right(const char *signature, size_t part, uint64_t value)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%016llx", (unsigned long long)value);
    return strlen(signature) == 54 && strncmp(signature + 4 + part * 17, wanted, 16) == 0;
}

/* -- messages ---------------------------------------------------------------------------------- */
bool fake_is_bound(const struct fake_question *question)
{
    const json_t *binding =
        json_object_get(json_object_get(question->root, "thinking"), "block_binding");
    bool has_header = memmem(question->head.ptr, question->head.len, "thinking-binding-controls",
                             strlen("thinking-binding-controls")) != NULL;
    bool is_lifted = has_header && fake_is_word(binding, "prefix_mismatch_behavior", "drop_block");
    return (question->family->flags & FAKE_BOUND) && !is_lifted;
}

static bool refuse_thinking_block(const struct fake_question *question, const json_t *block,
                                  size_t message, const struct fake_units *units,
                                  struct fake_refusal *refusal)
{
    const char *signature = fake_text(block, "signature"), *thought = fake_text(block, "thinking");
    if (!is_text_right(signature, thought, true))
        return fake_refused(refusal, 400, "invalid_request_error", "messages",
                            "messages.%zu.content.0: Invalid `signature` in `thinking` block",
                            message);
    if (!fake_is_bound(question) || !is_part_right(signature, 2, hash_of(question->model)))
        return false; /* what another model thought is dropped in silence */
    if (is_part_right(signature, 1, fake_units_before(units, message)))
        return false;
    return fake_refused(refusal, 400, "invalid_request_error", "messages",
                        "messages.%zu.content.0: Invalid \"signature\" in \"thinking\" block. The "
                        "block is bound to a different conversation: what stands before it has "
                        "changed.",
                        message);
}

static bool refuse_blocks(struct fake_question *question, struct fake_refusal *refusal)
{
    static struct fake_units units;
    const json_t *messages = json_object_get(question->root, "messages");
    fake_units_read(&units, question->api, question->root);
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *content = json_object_get(json_array_get(messages, i), "content");
        bool has_thought = false, is_wanted = false;
        for (size_t k = 0; k < json_array_size(content); k++) {
            const json_t *block = json_array_get(content, k);
            is_wanted |= fake_is_word(block, "type", "tool_use") &&
                         was_given(question, fake_text(block, "id"));
            if (!fake_is_word(block, "type", "thinking"))
                continue;
            has_thought = true;
            if (refuse_thinking_block(question, block, i, &units, refusal))
                return true;
        }
        question->echo_misses += is_wanted && !has_thought;
        bool is_last = i + 2 >= json_array_size(messages);
        if (is_wanted && !has_thought && is_last && question->is_thinking &&
            !(question->family->flags & FAKE_BOUND))
            return fake_refused(refusal, 400, "invalid_request_error", "messages",
                                "messages.%zu.content.0.type: Expected `thinking` or "
                                "`redacted_thinking`, but found `tool_use`. When `thinking` is "
                                "enabled, a final `assistant` message must start with a thinking "
                                "block.",
                                i);
    }
    return false;
}

/* -- responses --------------------------------------------------------------------------------- */
static bool refuse_reasoning_item(const struct fake_question *question, const json_t *item,
                                  const json_t *next, struct fake_refusal *refusal)
{
    const char *encrypted = fake_text(item, "encrypted_content"), *id = fake_text(item, "id");
    if (!json_is_array(json_object_get(item, "summary")))
        return fake_refused(refusal, 400, "missing_required_parameter", "input.summary",
                            "Missing required parameter: 'input.summary'.");
    if (encrypted[0] == '\0')
        return fake_refused(refusal, 400, "invalid_request_error", "input",
                            "Item with id '%s' not found. Items are not persisted when `store` is "
                            "set to false. Try again with `store` set to true, or remove this item "
                            "from your input.",
                            id);
    if (!is_part_right(encrypted, 2, hash_of(question->model)) ||
        !is_text_right(encrypted, id, false))
        return fake_refused(refusal, 400, "invalid_encrypted_content", "input",
                            "The encrypted content for item %s could not be verified. Reason: "
                            "Encrypted content could not be decrypted or parsed.",
                            id);
    if (fake_is_word(next, "type", "function_call") || fake_is_word(next, "type", "message") ||
        fake_is_word(next, "role", "assistant"))
        return false;
    return fake_refused(refusal, 400, "invalid_request_error", "input",
                        "Item '%s' of type 'reasoning' was provided without its required following "
                        "item.",
                        id);
}

static bool refuse_items(struct fake_question *question, struct fake_refusal *refusal)
{
    const json_t *input = json_object_get(question->root, "input");
    bool has_reasoning = false;
    for (size_t i = 0; i < json_array_size(input); i++) {
        const json_t *item = json_array_get(input, i);
        const char *id = fake_text(item, "id");
        if (fake_is_word(item, "type", "reasoning")) {
            has_reasoning = true;
            if (refuse_reasoning_item(question, item, json_array_get(input, i + 1), refusal))
                return true;
        } else if (fake_is_word(item, "type", "function_call")) {
            bool is_wanted = was_given(question, fake_text(item, "call_id"));
            question->echo_misses += is_wanted && !has_reasoning;
            if (is_wanted && !has_reasoning && id[0] != '\0')
                return fake_refused(refusal, 400, "invalid_request_error", "input",
                                    "Item '%s' of type 'function_call' was provided without its "
                                    "required 'reasoning' item.",
                                    id);
        } else if (!fake_is_word(item, "type", "message")) {
            has_reasoning = false;
        }
    }
    return false;
}

/* -- chat -------------------------------------------------------------------------------------- */
/* Pieces of one thought must be one entry again, with its signature. */
static bool refuse_details(const struct fake_question *question, const json_t *details,
                           struct fake_refusal *refusal)
{
    if (strncmp(question->model, "anthropic/", 10) != 0)
        return false;
    for (size_t i = 0; i < json_array_size(details); i++) {
        const json_t *detail = json_array_get(details, i);
        if (fake_is_word(detail, "type", "reasoning.text") &&
            !is_text_right(fake_text(detail, "signature"), fake_text(detail, "text"), false))
            return fake_refused(refusal, 400, "400", "messages",
                                "Provider returned error: messages.%zu.content.0: Invalid "
                                "`signature` in `thinking` block",
                                i);
    }
    return false;
}

static bool refuse_signature(const struct fake_question *question, const json_t *calls,
                             size_t message, struct fake_refusal *refusal)
{
    const json_t *call = json_array_get(calls, 0);
    const char *signature = fake_text(
        json_object_get(json_object_get(call, "extra_content"), "google"), "thought_signature");
    if (call == NULL || strcmp(signature, "skip_thought_signature_validator") == 0)
        return false;
    if (signature[0] == '\0')
        return fake_refused(refusal, 400, "INVALID_ARGUMENT", "messages",
                            "Function call is missing a thought_signature in functionCall parts. "
                            "This is required for tools to work correctly, and missing "
                            "thought_signature may lead to degraded model performance. Function "
                            "call `%s`, position %zu.",
                            fake_text(json_object_get(call, "function"), "name"), message);
    if (is_text_right(signature, fake_text(call, "id"), false) &&
        is_part_right(signature, 2, hash_of(question->model)))
        return false;
    return fake_refused(refusal, 400, "INVALID_ARGUMENT", "messages",
                        "Corrupted thought signature.");
}

static bool refuse_content(const struct fake_question *question, const json_t *message,
                           struct fake_refusal *refusal)
{
    bool has = json_is_string(json_object_get(message, "reasoning_content"));
    if (!(question->family->flags & FAKE_ECHO_ALL) || has == question->is_thinking)
        return false;
    if (strcmp(question->profile->name, "kimi") == 0)
        return fake_refused(refusal, 400, "invalid_request_error", "messages",
                            "thinking is enabled but reasoning_content is missing in assistant "
                            "message");
    return fake_refused(
        refusal, 400, "invalid_request_error", "messages",
        has ? "reasoning_content is not allowed when thinking is disabled"
            : "The reasoning_content in the thinking mode must be passed back to the API.");
}

static const char *thought_name(const struct fake_question *question)
{
    switch (question->profile->thought) {
    case FAKE_THOUGHT_CONTENT:
        return "reasoning_content";
    case FAKE_THOUGHT_REASONING:
        return "reasoning";
    case FAKE_THOUGHT_DETAILS:
        return "reasoning_details";
    default:
        return "";
    }
}

static bool refuse_assistant(struct fake_question *question, const json_t *message, size_t index,
                             struct fake_refusal *refusal)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    const char *name = thought_name(question);
    if (name[0] != '\0' && json_array_size(calls) > 0 && !fake_has(message, name))
        question->echo_misses += was_given(question, fake_text(json_array_get(calls, 0), "id"));
    if (fake_has(message, "reasoning") && fake_has(message, "reasoning_content"))
        return fake_refused(refusal, 400, "invalid_request_error", "messages",
                            "reasoning and reasoning_content are two names of one thing");
    switch (question->profile->thought) {
    case FAKE_THOUGHT_CONTENT:
        return refuse_content(question, message, refusal);
    case FAKE_THOUGHT_DETAILS:
        return refuse_details(question, json_object_get(message, "reasoning_details"), refusal);
    case FAKE_THOUGHT_CALLS:
        return refuse_signature(question, calls, index, refusal);
    default:
        return false;
    }
}

bool fake_refuse_echo(struct fake_question *question, struct fake_refusal *refusal)
{
    if (question->api == SMA_LLM_MESSAGES)
        return refuse_blocks(question, refusal);
    if (question->api == SMA_LLM_RESPONSES)
        return refuse_items(question, refusal);
    const json_t *messages = json_object_get(question->root, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        if (fake_is_word(message, "role", "assistant") &&
            refuse_assistant(question, message, i, refusal))
            return true;
    }
    return false;
}
