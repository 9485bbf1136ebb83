/* The tables of fake_model_rules.h. */
#include "fake_model_rules.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define OPENAI_MEMBERS                                                                            \
    "tool_choice parallel_tool_calls stream_options max_completion_tokens temperature top_p "     \
    "frequency_penalty presence_penalty logit_bias logprobs top_logprobs stop n response_format " \
    "reasoning_effort seed user safety_identifier prompt_cache_key prompt_cache_retention "       \
    "prompt_cache_options verbosity service_tier metadata store modalities prediction"
#define USUAL_MEMBERS "tool_choice stream_options temperature top_p stop response_format"

static const struct fake_profile PROFILES[] = {
    {"anthropic", .wires = FAKE_MESSAGES, .shape = FAKE_SHAPE_ANTHROPIC,
     .thought = FAKE_THOUGHT_BLOCKS, .call_ids = "toolu_#_@"},
    {"openai", .wires = FAKE_CHAT | FAKE_RESPONSES, .shape = FAKE_SHAPE_OPENAI,
     .thought = FAKE_THOUGHT_ITEMS, .count = FAKE_COUNT_OPENAI, .members = OPENAI_MEMBERS,
     .call_ids = "call_#_@", .is_usage_asked = true},
    {"deepseek", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_OPENAI, .thought = FAKE_THOUGHT_CONTENT,
     .count = FAKE_COUNT_HIT_MISS,
     .members = USUAL_MEMBERS " frequency_penalty presence_penalty logprobs top_logprobs thinking "
                              "reasoning_effort",
     .call_ids = "call_ds_#_@", .is_usage_asked = true},
    {"kimi", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_OPENAI, .thought = FAKE_THOUGHT_CONTENT,
     .count = FAKE_COUNT_TOP,
     .members =
         USUAL_MEMBERS " max_completion_tokens n frequency_penalty presence_penalty thinking "
                       "reasoning_effort prompt_cache_key prompt_cache_options",
     .call_ids = "functions.$:#@", .is_usage_asked = true},
    {"qwen", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_OPENAI, .thought = FAKE_THOUGHT_CONTENT,
     .count = FAKE_COUNT_OPENAI,
     .members = USUAL_MEMBERS " enable_thinking thinking_budget preserve_thinking reasoning_effort "
                              "parallel_tool_calls seed presence_penalty top_k n logprobs",
     .call_ids = "call_#@", .is_usage_asked = true},
    {"glm", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_ZHIPU, .thought = FAKE_THOUGHT_CONTENT,
     .count = FAKE_COUNT_OPENAI,
     .members = USUAL_MEMBERS " thinking reasoning_effort tool_stream do_sample request_id user_id",
     .call_ids = "call_-#@", .is_usage_asked = true},
    {"gemini", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_GEMINI, .thought = FAKE_THOUGHT_CALLS,
     .count = FAKE_COUNT_GEMINI,
     .members = USUAL_MEMBERS " max_completion_tokens reasoning_effort n google extra_body",
     .call_ids = "function-call-#@", .is_usage_asked = true},
    {"openrouter", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_OPENROUTER,
     .thought = FAKE_THOUGHT_DETAILS, .count = FAKE_COUNT_OPENROUTER,
     .members = OPENAI_MEMBERS " reasoning provider usage transforms models route top_k min_p",
     .call_ids = "toolu_or_#_@"},
    {"ollama", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_OPENAI, .thought = FAKE_THOUGHT_REASONING,
     .count = FAKE_COUNT_PLAIN,
     .members = USUAL_MEMBERS " frequency_penalty presence_penalty seed reasoning_effort reasoning",
     .call_ids = "call_#@", .is_usage_asked = true, .has_one_index = true, .cuts_silently = true,
     .ignores_unknown = true},
    {"llamacpp", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_LLAMACPP, .thought = FAKE_THOUGHT_CONTENT,
     .count = FAKE_COUNT_PLAIN,
     .members = USUAL_MEMBERS " frequency_penalty presence_penalty seed min_p top_k "
                              "chat_template_kwargs thinking_budget_tokens parallel_tool_calls",
     .call_ids = "#@AbCdEfGh", .ignores_unknown = true},
    {"vllm", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_FLAT, .thought = FAKE_THOUGHT_REASONING,
     .count = FAKE_COUNT_OPENAI,
     .members = USUAL_MEMBERS " frequency_penalty presence_penalty seed min_p top_k "
                              "chat_template_kwargs thinking_token_budget parallel_tool_calls",
     .call_ids = "chatcmpl-tool-#@", .is_usage_asked = true},
    {"groq", .wires = FAKE_CHAT, .shape = FAKE_SHAPE_OPENAI, .thought = FAKE_THOUGHT_REASONING,
     .count = FAKE_COUNT_OPENAI,
     .members = USUAL_MEMBERS " max_completion_tokens seed reasoning_effort reasoning_format "
                              "parallel_tool_calls service_tier user",
     .call_ids = "fc_#-@", .is_usage_asked = true},
    /* Knows what every server knows, and nothing else. */
    {"strict", .wires = FAKE_CHAT | FAKE_RESPONSES | FAKE_MESSAGES, .shape = FAKE_SHAPE_OPENAI,
     .count = FAKE_COUNT_PLAIN, .members = "temperature top_p", .call_ids = "call_#_@"},
};

#define TO_HIGH "low medium high"
#define TO_XHIGH "none low medium high xhigh"
#define TO_MAX "none low medium high xhigh max"
#define NEWEST (FAKE_THINKS | FAKE_NO_BUDGET | FAKE_NO_SAMPLING | FAKE_NO_PREFILL | FAKE_OMITS_TEXT)
#define REASONER (FAKE_THINKS | FAKE_NEW_CAP | FAKE_NO_STOP)

static const struct fake_family FAMILIES[] = {
    /* Anthropic: §1.1, §2.2 */
    {"anthropic", "claude-fable-5-[12]*",
     NEWEST | FAKE_CANNOT_STOP | FAKE_NO_FORCED | FAKE_BOUND | FAKE_SYSTEM_INSIDE,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 512, 8, 0.2, 10},
    {"anthropic", "claude-fable-5", NEWEST | FAKE_CANNOT_STOP | FAKE_SYSTEM_INSIDE,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 512, 10, 1, 12.5},
    {"anthropic", "claude-opus-5-5*",
     NEWEST | FAKE_CANNOT_STOP | FAKE_NO_FORCED | FAKE_BOUND | FAKE_SYSTEM_INSIDE,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 512, 4, 0.2, 5},
    {"anthropic", "claude-opus-5", NEWEST | FAKE_STOP_TO_HIGH | FAKE_SYSTEM_INSIDE,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 512, 5, 0.5, 6.25},
    {"anthropic", "claude-sonnet-5-5*",
     NEWEST | FAKE_CANNOT_STOP | FAKE_BETWEEN | FAKE_NO_FORCED | FAKE_BOUND | FAKE_SYSTEM_INSIDE,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 512, 2, 0.1, 2.5},
    {"anthropic", "claude-sonnet-5", NEWEST, "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000,
     128000, 1024, 2, 0.2, 2.5},
    {"anthropic", "claude-haiku-5-5*", NEWEST | FAKE_STOP_TO_HIGH | FAKE_BOUND | FAKE_SYSTEM_INSIDE,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 512, 0.1, 0.01, 0.125},
    {"anthropic", "claude-opus-4-8",
     FAKE_CAN_THINK | FAKE_NO_BUDGET | FAKE_NO_SAMPLING | FAKE_NO_PREFILL | FAKE_OMITS_TEXT |
         FAKE_SYSTEM_INSIDE,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 1024, 5, 0.5, 6.25},
    {"anthropic", "claude-opus-4-7",
     FAKE_CAN_THINK | FAKE_NO_BUDGET | FAKE_NO_SAMPLING | FAKE_NO_PREFILL | FAKE_OMITS_TEXT,
     "low medium high xhigh max", FAKE_CACHE_MARKS, 1000000, 128000, 2048, 5, 0.5, 6.25},
    {"anthropic", "claude-*-4-6",
     FAKE_CAN_THINK | FAKE_ONE_SAMPLING | FAKE_NO_FORCED_THINKING | FAKE_NO_PREFILL,
     "low medium high max", FAKE_CACHE_MARKS, 1000000, 128000, 4096, 5, 0.5, 6.25},
    {"anthropic", "claude-opus-4-5*",
     FAKE_CAN_THINK | FAKE_BUDGET_ONLY | FAKE_ONE_SAMPLING | FAKE_NO_FORCED_THINKING, TO_HIGH,
     FAKE_CACHE_MARKS, 200000, 64000, 4096, 5, 0.5, 6.25},
    {"anthropic", "claude-*-4-5*",
     FAKE_CAN_THINK | FAKE_BUDGET_ONLY | FAKE_ONE_SAMPLING | FAKE_NO_FORCED_THINKING, "",
     FAKE_CACHE_MARKS, 200000, 64000, 1024, 3, 0.3, 3.75},
    /* OpenAI: §1.2, §2.1 */
    {"openai", "gpt-6-astra*",
     REASONER | FAKE_CANNOT_STOP | FAKE_NO_SAMPLING | FAKE_NO_CHAT_TOOLS | FAKE_COUNTS_WRITES,
     "low medium high xhigh max", FAKE_CACHE_POINT, 1050000, 128000, 1024, 10, 1, 12.5},
    {"openai", "gpt-6.1-sol*",
     REASONER | FAKE_CANNOT_STOP | FAKE_NO_SAMPLING | FAKE_NO_CHAT_TOOLS | FAKE_COUNTS_WRITES,
     "low medium high xhigh max", FAKE_CACHE_POINT, 1050000, 128000, 1024, 2, 0.1, 2.5},
    {"openai", "gpt-6*", REASONER | FAKE_SAMPLING_IF_NONE | FAKE_TOOLS_NONE | FAKE_COUNTS_WRITES,
     TO_MAX, FAKE_CACHE_POINT, 1050000, 128000, 1024, 2, 0.2, 2.5},
    {"openai", "gpt-5.6*", REASONER | FAKE_SAMPLING_IF_NONE | FAKE_TOOLS_NONE | FAKE_COUNTS_WRITES,
     TO_MAX, FAKE_CACHE_POINT, 1050000, 128000, 1024, 4, 0.4, 5},
    {"openai", "gpt-5.[45]*", REASONER | FAKE_SAMPLING_IF_NONE | FAKE_TOOLS_NO_EFFORT, TO_XHIGH,
     FAKE_CACHE_AUTO, 1050000, 128000, 1024, 5, 0.5, 5},
    {"openai", "gpt-5.[12]*", REASONER | FAKE_SAMPLING_IF_NONE, TO_XHIGH, FAKE_CACHE_AUTO, 400000,
     128000, 1024, 1.25, 0.125, 1.25},
    {"openai", "gpt-5*", REASONER | FAKE_CANNOT_STOP | FAKE_NO_SAMPLING, "minimal low medium high",
     FAKE_CACHE_AUTO, 400000, 128000, 1024, 1.25, 0.125, 1.25},
    {"openai", "gpt-4.1*", 0, "", FAKE_CACHE_AUTO, 1047576, 32768, 1024, 2, 0.5, 2},
    {"openai", "gpt-4o*", 0, "", FAKE_CACHE_AUTO, 128000, 16384, 1024, 2.5, 1.25, 2.5},
    /* China: §1.3, §2.3 */
    {"deepseek", "deepseek-v4-pro", FAKE_THINKS | FAKE_ECHO_ALL | FAKE_NO_FORCED_THINKING,
     "high max", FAKE_CACHE_AUTO, 1000000, 393216, 64, 1.32, 0.044, 1.32},
    {"deepseek", "deepseek-flash", FAKE_THINKS | FAKE_ECHO_ALL | FAKE_NO_FORCED_THINKING,
     "low high max", FAKE_CACHE_AUTO, 1000000, 393216, 64, 0.3, 0.006, 0.3},
    {"deepseek", "deepseek-v4-*", FAKE_THINKS | FAKE_ECHO_ALL | FAKE_NO_FORCED_THINKING,
     "low high max", FAKE_CACHE_AUTO, 1000000, 393216, 64, 0.3, 0.006, 0.3},
    {"kimi", "kimi-k3*",
     FAKE_THINKS | FAKE_CANNOT_STOP | FAKE_NO_SWITCH | FAKE_ECHO_ALL | FAKE_NO_SAMPLING,
     "low high max", FAKE_CACHE_AUTO, 1048576, 1048576, 256, 3, 0.3, 3},
    {"kimi", "kimi-k2.7-code*",
     FAKE_THINKS | FAKE_CANNOT_STOP | FAKE_NO_SWITCH | FAKE_ECHO_ALL | FAKE_NO_SAMPLING |
         FAKE_NO_FORCED,
     "", FAKE_CACHE_AUTO, 262144, 262144, 256, 0.95, 0.19, 0.95},
    {"kimi", "kimi-k2.6", FAKE_THINKS | FAKE_ECHO_ALL | FAKE_NO_SAMPLING | FAKE_NO_FORCED_THINKING,
     "", FAKE_CACHE_AUTO, 262144, 262144, 256, 0.95, 0.16, 0.95},
    {"qwen", "qwen3.8*", FAKE_THINKS | FAKE_NO_FORCED_THINKING, "low medium xhigh", FAKE_CACHE_AUTO,
     1000000, 131072, 256, 2, 0.25, 2},
    {"qwen", "qwen3.7*", FAKE_THINKS | FAKE_NO_FORCED_THINKING, "", FAKE_CACHE_AUTO, 1000000, 65536,
     256, 0.4, 0.08, 0.4},
    {"glm", "glm-5.3*", FAKE_THINKS | FAKE_CANNOT_STOP | FAKE_AUTO_ONLY | FAKE_CODE_1210,
     "low high max", FAKE_CACHE_AUTO, 1000000, 131072, 64, 1.4, 0.26, 1.4},
    {"glm", "glm-5.2*", FAKE_THINKS | FAKE_AUTO_ONLY | FAKE_CODE_1210, "high max", FAKE_CACHE_AUTO,
     1000000, 131072, 64, 1.4, 0.26, 1.4},
    {"glm", "glm-4.*", FAKE_THINKS | FAKE_AUTO_ONLY | FAKE_CODE_1210, "", FAKE_CACHE_AUTO, 204800,
     131072, 64, 0.6, 0.11, 0.6},
    /* Gemini: §1.4, §2.3 */
    {"gemini", "gemini-4*", FAKE_THINKS | FAKE_CANNOT_STOP, TO_HIGH, FAKE_CACHE_AUTO, 1048576,
     32768, 4096, 2, 0.1, 2},
    {"gemini", "gemini-3.[78]*", FAKE_THINKS | FAKE_CANNOT_STOP, TO_HIGH, FAKE_CACHE_AUTO, 1048576,
     65536, 4096, 0.75, 0.075, 0.75},
    {"gemini", "gemini-3*", FAKE_THINKS | FAKE_CANNOT_STOP, "minimal low medium high",
     FAKE_CACHE_AUTO, 1048576, 65536, 4096, 0.75, 0.075, 0.75},
    {"gemini", "gemini-2.5*", FAKE_THINKS, "none low medium high", FAKE_CACHE_AUTO, 1048576, 65536,
     2048, 1.25, 0.125, 1.25},
    /* OpenRouter: what it passes on decides */
    {"openrouter", "anthropic/claude-*", FAKE_THINKS, TO_MAX, FAKE_CACHE_MARKS, 1000000, 128000,
     512, 2, 0.1, 2.5},
    {"openrouter", "openai/*", FAKE_THINKS, TO_MAX, FAKE_CACHE_AUTO, 1050000, 128000, 1024, 2, 0.2,
     2},
    {"openrouter", "*/*", FAKE_THINKS, TO_MAX, FAKE_CACHE_AUTO, 262144, 65536, 256, 1, 0.1, 1},
    /* one's own */
    {"ollama", "*", FAKE_THINKS, TO_MAX, FAKE_CACHE_NONE, 4096, 4096, 0, 0, 0, 0},
    {"llamacpp", "*", FAKE_THINKS, TO_MAX, FAKE_CACHE_NONE, 32768, 32768, 0, 0, 0, 0},
    {"vllm", "*", FAKE_THINKS, TO_MAX, FAKE_CACHE_AUTO, 32768, 32768, 16, 0, 0, 0},
    {"groq", "*", FAKE_THINKS, "low medium high none default", FAKE_CACHE_AUTO, 131072, 65536, 128,
     0.15, 0.075, 0.15},
    {"strict", "*", FAKE_SYSTEM_INSIDE, "", FAKE_CACHE_NONE, 128000, 8192, 0, 1, 1, 1},
};

const struct fake_profile *fake_profile_find(const char *name, size_t len)
{
    for (size_t i = 0; i < SMA_COUNT_OF(PROFILES); i++)
        if (strlen(PROFILES[i].name) == len && memcmp(PROFILES[i].name, name, len) == 0)
            return &PROFILES[i];
    return NULL;
}

void fake_profile_list(FILE *to)
{
    fputs("  Profiles (models by the name in the request):", to);
    for (size_t i = 0; i < SMA_COUNT_OF(PROFILES); i++)
        fprintf(to, " %s", PROFILES[i].name);
    fputc('\n', to);
}

const struct fake_family *fake_family_find(const struct fake_profile *profile, const char *model)
{
    for (size_t i = 0; i < SMA_COUNT_OF(FAMILIES); i++)
        if (strcmp(FAMILIES[i].profile, profile->name) == 0 &&
            fnmatch(FAMILIES[i].pattern, model, 0) == 0)
            return &FAMILIES[i];
    return NULL;
}
