/* What one provider or model refuses and others take. Source: protocols/models.md §2. */
#include "fake_model_refuse.h"

#include "fake_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool fake_refused(struct fake_refusal *refusal, int status, const char *code, const char *param,
                  const char *format, ...)
{
    va_list arguments;
    refusal->status = status;
    refusal->code = code;
    snprintf(refusal->param, sizeof refusal->param, "%s", param);
    va_start(arguments, format);
    vsnprintf(refusal->message, sizeof refusal->message, format, arguments);
    va_end(arguments);
    return true;
}

/* -- members ----------------------------------------------------------------------------------- */
const char *fake_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

bool fake_has(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

bool fake_is_word(const json_t *object, const char *key, const char *word)
{
    return strcmp(fake_text(object, key), word) == 0;
}

bool fake_has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = words; len > 0 && (at = strstr(at, word)) != NULL; at += len)
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

const char *fake_effort_of(const struct fake_question *question)
{
    const json_t *root = question->root;
    if (question->api == SMA_LLM_MESSAGES)
        return fake_text(json_object_get(root, "output_config"), "effort");
    if (question->api == SMA_LLM_RESPONSES || fake_has(root, "reasoning"))
        return fake_text(json_object_get(root, "reasoning"), "effort");
    return fake_text(root, "reasoning_effort");
}

static bool is_thinking(const struct fake_question *question)
{
    const json_t *root = question->root;
    const char *type = fake_text(json_object_get(root, "thinking"), "type");
    const json_t *enable = json_object_get(root, "enable_thinking");
    if (question->family == NULL || strcmp(type, "disabled") == 0 || json_is_false(enable) ||
        json_is_false(json_object_get(json_object_get(root, "reasoning"), "enabled")) ||
        strcmp(fake_effort_of(question), "none") == 0)
        return false;
    if (question->family->flags & FAKE_THINKS)
        return true;
    return (question->family->flags & FAKE_CAN_THINK) && type[0] != '\0';
}

void fake_question_read(struct fake_question *question)
{
    question->model = fake_text(question->root, "model");
    question->family = fake_family_find(question->profile, question->model);
    question->is_thinking = is_thinking(question);
}

/* -- all wires --------------------------------------------------------------------------------- */
static bool refuse_model(const struct fake_question *question, struct fake_refusal *refusal)
{
    if (!(question->profile->wires & (1u << question->api)))
        return fake_refused(refusal, 404, "not_found", "", "%s does not speak this format",
                            question->profile->name);
    if (question->family != NULL)
        return false;
    switch (question->profile->shape) {
    case FAKE_SHAPE_ANTHROPIC:
        return fake_refused(refusal, 404, "not_found_error", "model", "model: %s", question->model);
    case FAKE_SHAPE_ZHIPU:
        return fake_refused(refusal, 400, "1211", "model", "模型不存在，请检查模型代码。");
    default:
        return fake_refused(refusal, 404, "model_not_found", "model",
                            "The model `%s` does not exist or you do not have access to it.",
                            question->model);
    }
}

static bool refuse_unknown(const struct fake_question *question, struct fake_refusal *refusal)
{
    static const char chat[] = "model messages tools stream max_tokens",
                      responses[] =
                          "model input instructions tools tool_choice parallel_tool_calls stream "
                          "stream_options store include max_output_tokens temperature top_p "
                          "reasoning text truncation metadata prompt_cache_key "
                          "prompt_cache_retention prompt_cache_options previous_response_id "
                          "service_tier safety_identifier user context_management background",
                      messages[] = "model messages system tools tool_choice stream max_tokens "
                                   "temperature top_p top_k stop_sequences metadata thinking "
                                   "output_config cache_control service_tier context_management "
                                   "fallbacks diagnostics container";
    const char *words = question->api == SMA_LLM_CHAT        ? chat
                        : question->api == SMA_LLM_RESPONSES ? responses
                                                             : messages;
    const char *more = question->api == SMA_LLM_CHAT ? question->profile->members : "";
    const char *key;
    json_t *value;
    if (question->profile->ignores_unknown)
        return false;
    json_object_foreach((json_t *)question->root, key, value)
    {
        if (fake_has_word(words, key) || fake_has_word(more, key))
            continue;
        if (question->api == SMA_LLM_MESSAGES)
            return fake_refused(refusal, 400, "invalid_request_error", key,
                                "%s: Extra inputs are not permitted", key);
        return fake_refused(refusal, 400, "unknown_parameter", key, "Unknown parameter: '%s'.",
                            key);
    }
    return false;
}

static bool refuse_cap(const struct fake_question *question, struct fake_refusal *refusal)
{
    static const char *const names[] = {"max_tokens", "max_completion_tokens", "max_output_tokens"};
    const struct fake_family *family = question->family;
    if ((family->flags & FAKE_NEW_CAP) && fake_has(question->root, "max_tokens"))
        return fake_refused(refusal, 400, "unsupported_parameter", "max_tokens",
                            "Unsupported parameter: 'max_tokens' is not supported with this model. "
                            "Use 'max_completion_tokens' instead.");
    if (fake_has(question->root, "max_tokens") && fake_has(question->root, "max_completion_tokens"))
        return fake_refused(refusal, 400, "invalid_parameter_combination", "max_tokens",
                            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is "
                            "not supported.");
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        json_int_t cap = json_integer_value(json_object_get(question->root, names[i]));
        if (fake_has(question->root, names[i]) && cap < (i == 2 ? 16 : 1))
            return fake_refused(refusal, 400, "integer_below_min_value", names[i],
                                "Invalid '%s': integer below minimum value. Expected a value >= "
                                "%d, but got %lld instead.",
                                names[i], i == 2 ? 16 : 1, (long long)cap);
        if (cap <= (json_int_t)family->output_max)
            continue;
        if (family->flags & FAKE_CODE_1210)
            return fake_refused(refusal, 400, "1210", names[i], "API 调用参数有误，请检查文档。%s",
                                names[i]);
        return fake_refused(
            refusal, 400, "invalid_value", names[i],
            "%s: %lld > %u, which is the maximum allowed number of output tokens for %s", names[i],
            (long long)cap, family->output_max, question->model);
    }
    return false;
}

static bool refuse_sampling(const struct fake_question *question, struct fake_refusal *refusal)
{
    static const char *const names[] = {
        "temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "logprobs",
        "logit_bias",  "stop",  "n"};
    unsigned flags = question->family->flags;
    bool is_messages = question->api == SMA_LLM_MESSAGES,
         is_none = strcmp(fake_effort_of(question), "none") == 0;
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        if (!fake_has(question->root, names[i]))
            continue;
        bool is_refused = i < 3 ? (flags & FAKE_NO_SAMPLING) ||
                                      ((flags & FAKE_SAMPLING_IF_NONE) && !is_none) ||
                                      ((flags & FAKE_ONE_SAMPLING) && question->is_thinking)
                          : i < 8 ? (flags & FAKE_NO_STOP) != 0
                                  : false;
        if (is_refused && is_messages)
            return fake_refused(refusal, 400, "invalid_request_error", names[i],
                                "`%s` is deprecated for this model.", names[i]);
        if (is_refused)
            return fake_refused(refusal, 400, i < 3 ? "unsupported_value" : "unsupported_parameter",
                                names[i], "Unsupported %s: '%s' %s with this model.%s",
                                i < 3 ? "value" : "parameter", names[i],
                                i < 3 ? "does not support this value" : "is not supported",
                                i < 3 ? " Only the default (1) value is supported." : "");
    }
    if ((flags & FAKE_ONE_SAMPLING) && fake_has(question->root, "temperature") &&
        fake_has(question->root, "top_p"))
        return fake_refused(refusal, 400, "invalid_request_error", "top_p",
                            "`temperature` and `top_p` cannot both be specified for this model. "
                            "Please use only one.");
    return false;
}

static bool refuse_effort(const struct fake_question *question, struct fake_refusal *refusal)
{
    const char *effort = fake_effort_of(question), *efforts = question->family->efforts;
    const char *param = question->api == SMA_LLM_MESSAGES    ? "output_config.effort"
                        : question->api == SMA_LLM_RESPONSES ? "reasoning.effort"
                                                             : "reasoning_effort";
    if (effort[0] == '\0')
        return false;
    if (question->family->flags & FAKE_CODE_1210) {
        if (fake_has_word(efforts, effort))
            return false;
        return fake_refused(refusal, 400, "1210", param, "API 调用参数有误，请检查文档。%s", param);
    }
    if (efforts[0] == '\0')
        return fake_refused(refusal, 400, "unsupported_parameter", param,
                            "Unsupported parameter: '%s' is not supported with this model.", param);
    bool is_max = strcmp(effort, "max") == 0 && question->api == SMA_LLM_CHAT &&
                  strcmp(question->profile->name, "openai") == 0;
    if (fake_has_word(efforts, effort) && !is_max)
        return false;
    return fake_refused(
        refusal, 400, "unsupported_value", param,
        "Unsupported value: '%s' does not support '%s' with the '%s' model. Supported values "
        "are: '%s'.",
        param, effort, question->model, efforts);
}

static bool is_forced(const json_t *choice)
{
    if (json_is_object(choice))
        return !fake_is_word(choice, "type", "auto") && !fake_is_word(choice, "type", "none");
    const char *word = json_string_value(choice);
    return word != NULL && strcmp(word, "auto") != 0 && strcmp(word, "none") != 0;
}

static bool refuse_choice(const struct fake_question *question, struct fake_refusal *refusal)
{
    const json_t *choice = json_object_get(question->root, "tool_choice");
    unsigned flags = question->family->flags;
    if (choice == NULL)
        return false;
    if (!fake_has(question->root, "tools"))
        return fake_refused(refusal, 400, "invalid_request_error", "tool_choice",
                            "'tool_choice' is only allowed when 'tools' are specified.");
    if ((flags & FAKE_AUTO_ONLY) &&
        (!json_is_string(choice) || strcmp(json_string_value(choice), "auto") != 0))
        return fake_refused(refusal, 400, "1210", "tool_choice", "Tool choice must be auto");
    if (!is_forced(choice))
        return false;
    if (flags & FAKE_NO_FORCED)
        return fake_refused(
            refusal, 400, "invalid_request_error", "tool_choice",
            "tool_choice: type \"tool\" and \"any\" are not supported for this model");
    if (!(flags & FAKE_NO_FORCED_THINKING) || !question->is_thinking)
        return false;
    return fake_refused(refusal, 400, "invalid_request_error", "tool_choice",
                        question->api == SMA_LLM_MESSAGES
                            ? "Thinking may not be enabled when tool_choice forces tool use."
                            : "Thinking mode does not support this tool_choice");
}

static bool refuse_switch(const struct fake_question *question, struct fake_refusal *refusal)
{
    const json_t *root = question->root, *thinking = json_object_get(root, "thinking");
    const char *type = fake_text(thinking, "type");
    unsigned flags = question->family->flags;
    const char *code = flags & FAKE_CODE_1210 ? "1210" : "invalid_request_error";
    bool is_off = strcmp(type, "disabled") == 0,
         is_high = fake_has_word("xhigh max", fake_effort_of(question));
    if (thinking != NULL && (flags & FAKE_NO_SWITCH))
        return fake_refused(refusal, 400, code, "thinking",
                            "thinking is not supported with this model");
    if (is_off && ((flags & FAKE_CANNOT_STOP) || ((flags & FAKE_STOP_TO_HIGH) && is_high)))
        return fake_refused(refusal, 400, code, "thinking",
                            "thinking.type: \"disabled\" is not supported for this model");
    if (json_is_false(json_object_get(root, "enable_thinking")) && (flags & FAKE_CANNOT_STOP))
        return fake_refused(refusal, 400, code, "enable_thinking",
                            "parameter.enable_thinking must be set to true for this model");
    if (fake_has(root, "thinking_budget") && fake_has(root, "reasoning_effort"))
        return fake_refused(refusal, 400, code, "thinking_budget",
                            "thinking_budget and reasoning_effort cannot be used together");
    return false;
}

/* -- chat -------------------------------------------------------------------------------------- */
static bool refuse_chat_tools(const struct fake_question *question, struct fake_refusal *refusal)
{
    unsigned flags = question->family->flags;
    const char *effort = fake_effort_of(question);
    bool is_none = strcmp(effort, "none") == 0;
    if (question->api != SMA_LLM_CHAT || !fake_has(question->root, "tools"))
        return false;
    if (!(flags & FAKE_NO_CHAT_TOOLS) && !((flags & FAKE_TOOLS_NONE) && !is_none) &&
        !((flags & FAKE_TOOLS_NO_EFFORT) && effort[0] != '\0' && !is_none))
        return false;
    return fake_refused(
        refusal, 400, "unsupported_parameter", "reasoning_effort",
        "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "
        "Please use /v1/responses instead.",
        question->model);
}

static bool is_id_good(const char *id, size_t len_max, bool is_strict)
{
    size_t len = strlen(id);
    if (len == 0 || len > len_max)
        return false;
    for (; is_strict && *id != '\0'; id++)
        if (!((*id | 0x20) >= 'a' && (*id | 0x20) <= 'z') && !(*id >= '0' && *id <= '9') &&
            *id != '_' && *id != '-')
            return false;
    return true;
}

static bool refuse_chat_role(const struct fake_question *question, const char *role,
                             struct fake_refusal *refusal)
{
    bool is_openai = strcmp(question->profile->name, "openai") == 0 ||
                     strncmp(question->model, "openai/", 7) == 0 ||
                     strncmp(question->model, "anthropic/", 10) == 0;
    if (strcmp(role, "developer") != 0 || is_openai)
        return false;
    return fake_refused(refusal, 400, "invalid_request_error", "messages",
                        "unknown variant `developer`, expected one of `system`, `user`, "
                        "`assistant`, `tool`");
}

static bool refuse_chat_ids(const struct fake_question *question, struct fake_refusal *refusal)
{
    const json_t *messages = json_object_get(question->root, "messages");
    bool is_openai = strcmp(question->profile->name, "openai") == 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i),
                     *calls = json_object_get(message, "tool_calls");
        if (refuse_chat_role(question, fake_text(message, "role"), refusal))
            return true;
        for (size_t k = 0; k < json_array_size(calls); k++)
            if (is_openai && !is_id_good(fake_text(json_array_get(calls, k), "id"), 40, false))
                return fake_refused(refusal, 400, "string_above_max_length",
                                    "messages.tool_calls.id",
                                    "Invalid 'messages[%zu].tool_calls[%zu].id': string too long. "
                                    "Expected a string with maximum length 40.",
                                    i, k);
    }
    return false;
}

/* -- responses --------------------------------------------------------------------------------- */
static bool refuse_responses(const struct fake_question *question, struct fake_refusal *refusal)
{
    const json_t *include = json_object_get(question->root, "include"),
                 *input = json_object_get(question->root, "input");
    bool is_reasoner = (question->family->flags & FAKE_THINKS) != 0;
    for (size_t i = 0; i < json_array_size(include); i++)
        if (!is_reasoner && strcmp(json_string_value(json_array_get(include, i)),
                                   "reasoning.encrypted_content") == 0)
            return fake_refused(refusal, 400, "unsupported_parameter", "include",
                                "Encrypted content is not supported with this model.");
    if (fake_has(question->root, "reasoning") && !is_reasoner)
        return fake_refused(refusal, 400, "unsupported_parameter", "reasoning",
                            "Unsupported parameter: 'reasoning' is not supported with this model.");
    for (size_t i = 0; i < json_array_size(input); i++) {
        const json_t *item = json_array_get(input, i);
        if (fake_has(item, "call_id") && !is_id_good(fake_text(item, "call_id"), 64, true))
            return fake_refused(refusal, 400, "invalid_value", "input.call_id",
                                "Invalid 'input[%zu].call_id': '%s'. Expected an ID that contains "
                                "letters, numbers, underscores, or dashes, at most 64.",
                                i, fake_text(item, "call_id"));
        const char *id = fake_text(item, "id"), *type = fake_text(item, "type");
        const char *prefix = strcmp(type, "function_call") == 0 ? "fc"
                             : strcmp(type, "reasoning") == 0   ? "rs"
                             : strcmp(type, "message") == 0     ? "msg"
                                                                : "";
        if (id[0] != '\0' && (strncmp(id, prefix, strlen(prefix)) != 0 || strlen(id) > 64))
            return fake_refused(refusal, 400, "invalid_value", "input.id",
                                "Invalid 'input[%zu].id': '%s'. Expected an ID that begins with "
                                "'%s'.",
                                i, id, prefix);
    }
    return false;
}

/* -- messages ---------------------------------------------------------------------------------- */
static bool refuse_thinking(const struct fake_question *question, struct fake_refusal *refusal)
{
    const json_t *thinking = json_object_get(question->root, "thinking");
    const char *type = fake_text(thinking, "type");
    unsigned flags = question->family->flags;
    json_int_t budget = json_integer_value(json_object_get(thinking, "budget_tokens")),
               cap = json_integer_value(json_object_get(question->root, "max_tokens"));
    if (thinking == NULL)
        return false;
    if (strcmp(type, "enabled") == 0 && (flags & FAKE_NO_BUDGET))
        return fake_refused(refusal, 400, "invalid_request_error", "thinking",
                            "\"thinking.type.enabled\" is not supported for this model. Use "
                            "\"thinking.type.adaptive\" and \"output_config.effort\".");
    if (strcmp(type, "enabled") == 0 && (budget < 1024 || budget >= cap))
        return fake_refused(refusal, 400, "invalid_request_error", "thinking",
                            "thinking.enabled.budget_tokens: Input should be greater than or equal "
                            "to 1024 and less than max_tokens");
    if ((strcmp(type, "adaptive") == 0 && (flags & FAKE_BUDGET_ONLY)) ||
        (strcmp(type, "between_tools") == 0 && !(flags & FAKE_BETWEEN)))
        return fake_refused(refusal, 400, "invalid_request_error", "thinking",
                            "thinking.type: \"%s\" is not supported on this model", type);
    return false;
}

static bool refuse_marks(const struct fake_question *question, struct fake_refusal *refusal)
{
    char *text = json_dumps(question->root, JSON_COMPACT);
    size_t count = 0;
    for (const char *at = text; at != NULL && (at = strstr(at, "\"cache_control\":{")) != NULL;
         at++)
        count++;
    free(text);
    if (count <= 4)
        return false;
    return fake_refused(refusal, 400, "invalid_request_error", "cache_control",
                        "A maximum of 4 blocks with cache_control may be provided. Found %zu.",
                        count);
}

static bool refuse_block(const json_t *block, size_t message, struct fake_refusal *refusal)
{
    const char *type = fake_text(block, "type");
    bool has_mark = fake_has(block, "cache_control");
    const char *id = strcmp(type, "tool_use") == 0      ? fake_text(block, "id")
                     : strcmp(type, "tool_result") == 0 ? fake_text(block, "tool_use_id")
                                                        : "x";
    if (!is_id_good(id, 128, true))
        return fake_refused(refusal, 400, "invalid_request_error", "messages",
                            "messages.%zu.content.0.%s.id: String should match pattern "
                            "'^[a-zA-Z0-9_-]+$'",
                            message, type);
    if (has_mark && (strcmp(type, "thinking") == 0 || strcmp(type, "redacted_thinking") == 0))
        return fake_refused(refusal, 400, "invalid_request_error", "cache_control",
                            "messages.%zu: cache_control cannot be set on thinking blocks",
                            message);
    const json_t *inner = json_object_get(block, "content");
    for (size_t i = 0; i < json_array_size(inner); i++)
        if (json_is_true(json_object_get(block, "is_error")) &&
            !fake_is_word(json_array_get(inner, i), "type", "text"))
            return fake_refused(refusal, 400, "invalid_request_error", "messages",
                                "messages.%zu: all content must be type \"text\" if `is_error` is "
                                "true",
                                message);
    return false;
}

static bool refuse_messages(const struct fake_question *question, struct fake_refusal *refusal)
{
    const json_t *messages = json_object_get(question->root, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i),
                     *content = json_object_get(message, "content");
        if (fake_is_word(message, "role", "system") &&
            !(question->family->flags & FAKE_SYSTEM_INSIDE))
            return fake_refused(refusal, 400, "invalid_request_error", "messages",
                                "role 'system' is not supported on this model");
        for (size_t k = 0; k < json_array_size(content); k++)
            if (refuse_block(json_array_get(content, k), i, refusal))
                return true;
    }
    return refuse_thinking(question, refusal) || refuse_marks(question, refusal);
}

bool fake_refuse(struct fake_question *question, struct fake_refusal *refusal)
{
    if (refuse_model(question, refusal) || refuse_unknown(question, refusal) ||
        refuse_cap(question, refusal) || refuse_sampling(question, refusal) ||
        refuse_effort(question, refusal) || refuse_choice(question, refusal) ||
        refuse_switch(question, refusal) || refuse_chat_tools(question, refusal))
        return true;
    if (question->api == SMA_LLM_CHAT &&
        (refuse_chat_ids(question, refusal) || refuse_marks(question, refusal)))
        return true;
    if (question->api == SMA_LLM_RESPONSES && refuse_responses(question, refusal))
        return true;
    if (question->api == SMA_LLM_MESSAGES && refuse_messages(question, refusal))
        return true;
    return fake_refuse_echo(question, refusal);
}
