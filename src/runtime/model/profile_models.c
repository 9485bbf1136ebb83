/*
 * profile_models.c — the table of models. The first pattern that fits counts: longer ones stand
 * before shorter ones.
 * Source: protocols/models.md §1, §2 (22 Nov 2026). Windows of OpenAI's 1M models are those of the
 * plain price.
 */
#include "profile_priv.h"

#include <ctype.h>

#define EFFORT(name) (1u << SMA_EFFORT_##name)
#define LOW_TO_HIGH (EFFORT(LOW) | EFFORT(MEDIUM) | EFFORT(HIGH))
#define LOW_TO_MAX (LOW_TO_HIGH | EFFORT(XHIGH) | EFFORT(MAX))
#define NONE_TO_MAX (EFFORT(NONE) | LOW_TO_MAX)
#define NONE_TO_XHIGH (EFFORT(NONE) | LOW_TO_HIGH | EFFORT(XHIGH))
#define LOW_HIGH_MAX (EFFORT(LOW) | EFFORT(HIGH) | EFFORT(MAX))
#define MINIMAL_TO_HIGH (EFFORT(MINIMAL) | LOW_TO_HIGH)

#define CLAUDE_FLAGS (MODEL_REASONS | MODEL_SEES | MODEL_READS_PDF)
#define GPT_FLAGS (MODEL_REASONS | MODEL_SEES | MODEL_READS_PDF)
#define GEMINI_FLAGS (MODEL_REASONS | MODEL_SEES | MODEL_READS_PDF | MODEL_HEARS)
#define CHINA_FLAGS MODEL_REASONS

#define ROW(name, host, context, most, bits, sampled, effort_bits, switched, tools, ...) \
    .pattern = (name), .vendor = SMA_HOST_##host, .window = (context), .output = (most), \
    .flags = (bits), .sampling = SMA_SAMPLING_##sampled, .efforts = (effort_bits),       \
    .thinking = SMA_THINKING_##switched, .chat_tools = SMA_CHAT_TOOLS_##tools,           \
    .price = {__VA_ARGS__}
#define CLAUDE(name, context, most, sampled, effort_bits, switched, ...)                        \
    ROW("claude-" name, ANTHROPIC, context, most, CLAUDE_FLAGS, sampled, effort_bits, switched, \
        FREE, __VA_ARGS__)
#define BINDING_CLAUDE(name, context, most, sampled, effort_bits, switched, ...)       \
    ROW("claude-" name, ANTHROPIC, context, most, CLAUDE_FLAGS | MODEL_BINDS, sampled, \
        effort_bits, switched, FREE, __VA_ARGS__)
#define GPT(name, context, most, more, sampled, effort_bits, tools, ...)                     \
    ROW(name, OPENAI, context, most, GPT_FLAGS | (more), sampled, effort_bits, FIXED, tools, \
        __VA_ARGS__)
#define OLD_GPT(name, context, most, more, ...) \
    ROW(name, OPENAI, context, most, more, ANY, 0, FIXED, FREE, __VA_ARGS__)
#define CHINA(name, host, context, most, more, sampled, effort_bits, switched, ...)            \
    ROW(name, host, context, most, CHINA_FLAGS | (more), sampled, effort_bits, switched, FREE, \
        __VA_ARGS__)
#define GEMINI(name, most, effort_bits, ...)                                                \
    ROW("gemini-" name, GEMINI, 1048576, most, GEMINI_FLAGS, ANY, effort_bits, FIXED, FREE, \
        __VA_ARGS__)
#define GONE(name, host, day, next)                                                                \
    .pattern = (name), .vendor = SMA_HOST_##host, .window = 128000, .output = 8192, .ends = (day), \
    .successor = (next)
#define MILLION 1000000
#define OVER_272K 272000, 2, 1.5

static const struct model MODELS[] = {
    /* -- Anthropic: input, cache read, cache write for five minutes, output */
    {BINDING_CLAUDE("fable-5-2", MILLION, 128000, NEVER, LOW_TO_MAX, FIXED, 8, .2, 10, 40)},
    {BINDING_CLAUDE("fable-5-1", MILLION, 128000, NEVER, LOW_TO_MAX, FIXED, 10, .25, 12.5, 50)},
    {CLAUDE("fable-5", MILLION, 128000, NEVER, LOW_TO_MAX, FIXED, 10, 1, 12.5, 50)},
    {CLAUDE("mythos-5", MILLION, 128000, NEVER, LOW_TO_MAX, FIXED, 10, 1, 12.5, 50)},
    {BINDING_CLAUDE("opus-5-5", MILLION, 128000, NEVER, LOW_TO_MAX, FIXED, 4, .2, 5, 20)},
    {CLAUDE("opus-5", MILLION, 128000, NEVER, LOW_TO_MAX, ON, 5, .5, 6.25, 25)},
    {BINDING_CLAUDE("sonnet-5-5", MILLION, 128000, NEVER, LOW_TO_MAX, BETWEEN, 2, .1, 2.5, 10)},
    {CLAUDE("sonnet-5", MILLION, 128000, NEVER, LOW_TO_MAX, ON, 2, .2, 2.5, 10)},
    {BINDING_CLAUDE("haiku-5-5", MILLION, 128000, NEVER, LOW_TO_MAX, ON, .1, .01, .125, .5, 100000,
                    5, 5)},
    {CLAUDE("opus-4-8", MILLION, 128000, NEVER, LOW_TO_MAX, ADAPTIVE, 5, .5, 6.25, 25)},
    {CLAUDE("opus-4-7", MILLION, 128000, NEVER, LOW_TO_MAX, ADAPTIVE, 5, .5, 6.25, 25)},
    {CLAUDE("opus-4-6", MILLION, 128000, ONE, LOW_TO_HIGH | EFFORT(MAX), ADAPTIVE, 5, .5, 6.25,
            25)},
    {CLAUDE("sonnet-4-6", MILLION, 128000, ONE, LOW_TO_HIGH | EFFORT(MAX), ADAPTIVE, 3, .3, 3.75,
            15)},
    {CLAUDE("opus-4-5", 200000, 64000, ONE, LOW_TO_HIGH, BUDGET, 5, .5, 6.25, 25)},
    {CLAUDE("haiku-4-5", 200000, 64000, ONE, 0, BUDGET, 1, .1, 1.25, 5)},
    {CLAUDE("sonnet-4-5", 200000, 64000, ONE, 0, BUDGET, 3, .3, 3.75, 15), .ends = "2026-11-30",
     .successor = "claude-sonnet-5-5"},
    {GONE("claude-opus-4-1", ANTHROPIC, "2026-08-05", "claude-opus-5-5")},
    {GONE("claude-opus-4-0", ANTHROPIC, "2026-06-15", "claude-opus-5-5")},
    {GONE("claude-opus-4-20250514", ANTHROPIC, "2026-06-15", "claude-opus-5-5")},
    {GONE("claude-sonnet-4-0", ANTHROPIC, "2026-06-15", "claude-sonnet-5-5")},
    {GONE("claude-sonnet-4-20250514", ANTHROPIC, "2026-06-15", "claude-sonnet-5-5")},
    {GONE("claude-3-opus", ANTHROPIC, "2026-02-19", "claude-opus-5-5")},
    {GONE("claude-3-haiku", ANTHROPIC, "2026-02-19", "claude-haiku-5-5")},
    {GONE("claude-3-5-haiku", ANTHROPIC, "2026-02-19", "claude-haiku-5-5")},
    {GONE("claude-3", ANTHROPIC, "2026-02-19", "claude-sonnet-5-5")},
    /* A Claude of later: what all of today's newest take. */
    {BINDING_CLAUDE("fable", 200000, 64000, NEVER, LOW_TO_HIGH, FIXED, 0)},
    {BINDING_CLAUDE("opus", 200000, 64000, NEVER, LOW_TO_HIGH, FIXED, 0)},
    {BINDING_CLAUDE("sonnet", 200000, 64000, NEVER, LOW_TO_HIGH, FIXED, 0)},
    {BINDING_CLAUDE("haiku", 200000, 64000, NEVER, LOW_TO_HIGH, FIXED, 0)},

    /* -- OpenAI: input, cached, written, output. Where writing is free its tokens cost what input
     * costs. */
    {GPT("gpt-6-astra", 272000, 128000, MODEL_BREAKPOINTS, NEVER, LOW_TO_MAX, NEVER, 10, 1, 12.5,
         50, OVER_272K)},
    {GPT("gpt-6-1-sol", 272000, 128000, MODEL_BREAKPOINTS, NEVER, LOW_TO_MAX, NEVER, 2, .1, 2.5, 10,
         OVER_272K)},
    {GPT("gpt-6-1-terra", 272000, 128000, MODEL_BREAKPOINTS, AT_NONE, NONE_TO_MAX, NONE, 1, .05,
         1.25, 5, OVER_272K)},
    {GPT("gpt-6-sol", 272000, 128000, MODEL_BREAKPOINTS, AT_NONE, NONE_TO_MAX, NONE, 2, .2, 2.5, 10,
         OVER_272K)},
    {GPT("gpt-6-luna", 272000, 128000, MODEL_BREAKPOINTS, AT_NONE, NONE_TO_MAX, NONE, .1, .01, .125,
         .5, OVER_272K)},
    {GPT("gpt-5-6-sol", 272000, 128000, MODEL_BREAKPOINTS, AT_NONE, NONE_TO_MAX, NONE, 4, .4, 5, 20,
         OVER_272K)},
    {GPT("gpt-5-6-terra", 272000, 128000, MODEL_BREAKPOINTS, AT_NONE, NONE_TO_MAX, NONE, 2, .2, 2.5,
         12, OVER_272K)},
    {GPT("gpt-5-6-luna", 272000, 128000, MODEL_BREAKPOINTS, AT_NONE, NONE_TO_MAX, NONE, .2, .02,
         .25, 1.2, OVER_272K)},
    {GPT("gpt-5-6", 272000, 128000, MODEL_BREAKPOINTS, AT_NONE, NONE_TO_MAX, NONE, 0)},
    {GPT("gpt-5-5", 272000, 128000, 0, AT_NONE, NONE_TO_XHIGH, UNSET, 5, .5, 5, 30, OVER_272K)},
    {GPT("gpt-5-4-mini", 400000, 128000, 0, AT_NONE, NONE_TO_XHIGH, UNSET, .75, .075, .75, 4.5,
         OVER_272K)},
    {GPT("gpt-5-4-nano", 400000, 128000, 0, AT_NONE, NONE_TO_XHIGH, UNSET, .2, .02, .2, 1.25,
         OVER_272K)},
    {GPT("gpt-5-4", 272000, 128000, 0, AT_NONE, NONE_TO_XHIGH, UNSET, 2.5, .25, 2.5, 15,
         OVER_272K)},
    {GPT("gpt-5-2", 400000, 128000, 0, AT_NONE, NONE_TO_XHIGH, FREE, 1.75, .175, 1.75, 14)},
    {GPT("gpt-5-1", 400000, 128000, 0, AT_NONE, EFFORT(NONE) | LOW_TO_HIGH, FREE, 1.25, .125, 1.25,
         10)},
    {OLD_GPT("gpt-5-chat", 128000, 16384, MODEL_SEES | MODEL_READS_PDF, 1.25, .125, 1.25, 10)},
    {GPT("gpt-5-mini", 400000, 128000, 0, NEVER, MINIMAL_TO_HIGH, FREE, 0)},
    {GPT("gpt-5-nano", 400000, 128000, 0, NEVER, MINIMAL_TO_HIGH, FREE, 0)},
    {GPT("gpt-5", 400000, 128000, 0, NEVER, MINIMAL_TO_HIGH, FREE, 1.25, .125, 1.25, 10)},
    {GPT("gpt-6", 272000, 128000, MODEL_BREAKPOINTS, NEVER, LOW_TO_HIGH, NONE, 0)},
    {GPT("o1", 200000, 100000, 0, NEVER, LOW_TO_HIGH, FREE, 0)},
    {GPT("o3", 200000, 100000, 0, NEVER, LOW_TO_HIGH, FREE, 0)},
    {GPT("o4", 200000, 100000, 0, NEVER, LOW_TO_HIGH, FREE, 0)},
    {OLD_GPT("gpt-4-1-mini", 1047576, 32768, MODEL_SEES | MODEL_READS_PDF, .4, .1, .4, 1.6)},
    {OLD_GPT("gpt-4-1-nano", 1047576, 32768, MODEL_SEES | MODEL_READS_PDF, .1, .025, .1, .4)},
    {OLD_GPT("gpt-4-1", 1047576, 32768, MODEL_SEES | MODEL_READS_PDF, 2, .5, 2, 8)},
    {OLD_GPT("gpt-4o-mini", 128000, 16384, MODEL_SEES | MODEL_READS_PDF, .15, .075, .15, .6)},
    {OLD_GPT("gpt-4o", 128000, 16384, MODEL_SEES | MODEL_READS_PDF, 2.5, 1.25, 2.5, 10)},
    {OLD_GPT("gpt-4-turbo", 128000, 4096, MODEL_SEES, 0)},
    {OLD_GPT("gpt-4", 8192, 4096, 0, 0)},
    {OLD_GPT("gpt-3-5-turbo", 16385, 4096, 0, 0)},

    /* -- China: input, cached, written, output */
    {CHINA("deepseek-flash", DEEPSEEK, MILLION, 393216, MODEL_SEES, ANY, LOW_HIGH_MAX, TYPE, .3,
           .006, .3, 1.2)},
    {CHINA("deepseek-v4-pro", DEEPSEEK, MILLION, 393216, 0, ANY, EFFORT(HIGH) | EFFORT(MAX), TYPE,
           1.32, .044, 1.32, 3.96)},
    {CHINA("deepseek-v4-flash", DEEPSEEK, MILLION, 393216, MODEL_SEES, ANY, LOW_HIGH_MAX, TYPE, .3,
           .006, .3, 1.2)},
    {GONE("deepseek-chat", DEEPSEEK, "2026-07-24", "deepseek-flash")},
    {GONE("deepseek-reasoner", DEEPSEEK, "2026-07-24", "deepseek-v4-pro")},
    {CHINA("kimi-k3-1-pro-highspeed", MOONSHOT, 1048576, 1048576, MODEL_SEES, NEVER, LOW_HIGH_MAX,
           FIXED, 4, .4, 4, 20)},
    {CHINA("kimi-k3-1-highspeed", MOONSHOT, 1048576, 1048576, MODEL_SEES, NEVER, LOW_HIGH_MAX,
           FIXED, 4, .4, 4, 20)},
    {CHINA("kimi-k3-1", MOONSHOT, 1048576, 1048576, MODEL_SEES, NEVER, LOW_HIGH_MAX, FIXED, 2, .2,
           2, 10)},
    {CHINA("kimi-k3", MOONSHOT, 1048576, 1048576, MODEL_SEES, NEVER, LOW_HIGH_MAX, FIXED, 3, .3, 3,
           15)},
    {CHINA("kimi-k2-7-code-highspeed", MOONSHOT, 262144, 262144, MODEL_SEES, NEVER, 0, FIXED, 1.9,
           .38, 1.9, 8)},
    {CHINA("kimi-k2-7-code", MOONSHOT, 262144, 262144, MODEL_SEES, NEVER, 0, FIXED, .95, .19, .95,
           4)},
    {CHINA("kimi-k2-6", MOONSHOT, 262144, 262144, MODEL_SEES, NEVER, 0, TYPE, .95, .16, .95, 4)},
    {GONE("kimi-k2-thinking", MOONSHOT, "2026-06-30", "kimi-k3")},
    {GONE("kimi-k2-0711-preview", MOONSHOT, "2026-06-30", "kimi-k3")},
    {GONE("kimi-k2-0905-preview", MOONSHOT, "2026-06-30", "kimi-k3")},
    {GONE("kimi-k2-turbo-preview", MOONSHOT, "2026-06-30", "kimi-k3")},
    {CHINA("qwen3-8-max", QWEN, MILLION, 131072, MODEL_SEES, ANY,
           EFFORT(LOW) | EFFORT(MEDIUM) | EFFORT(XHIGH), ENABLE, 2, .25, 2.5, 6)},
    {CHINA("qwen3-8-flash", QWEN, MILLION, 131072, MODEL_SEES, ANY,
           EFFORT(LOW) | EFFORT(MEDIUM) | EFFORT(XHIGH), ENABLE, .15, .016, .2, .47)},
    {CHINA("qwen3-7-max", QWEN, MILLION, 65536, 0, ANY, 0, ENABLE, 2.5, .5, 3.125, 7.5)},
    {CHINA("qwen3-7-plus", QWEN, MILLION, 65536, MODEL_SEES, ANY, 0, ENABLE, .4, .08, .5, 1.6)},
    {CHINA("qwen3-7-flash", QWEN, MILLION, 65536, MODEL_SEES, ANY, 0, ENABLE, .03, .006, .0375,
           .13)},
    {GONE("qwen3-max", QWEN, "2026-10-10", "qwen3.8-max")},
    {GONE("qwen3-coder-plus", QWEN, "2026-10-10", "qwen3.8-max")},
    {GONE("qwen3-vl-flash", QWEN, "2026-10-10", "qwen3.8-flash")},
    {GONE("qwen-omni-turbo", QWEN, "2026-10-10", "qwen3.8-flash")},
    {GONE("qwen-turbo", QWEN, "2026-07-31", "qwen3.8-flash")},
    {GONE("qwen-vl-max", QWEN, "2026-07-31", "qwen3.8-max")},
    {GONE("qwen-vl-plus", QWEN, "2026-07-31", "qwen3.8-flash")},
    {CHINA("glm-5-3-flash", ZHIPU, MILLION, 131072, MODEL_SEES, ANY, LOW_HIGH_MAX, FIXED, .15, .03,
           .15, .5)},
    {CHINA("glm-5-3", ZHIPU, MILLION, 131072, 0, ANY, LOW_HIGH_MAX, FIXED, 1.4, .26, 1.4, 4.4)},
    {CHINA("glm-5-2", ZHIPU, MILLION, 131072, 0, ANY, EFFORT(HIGH) | EFFORT(MAX), TYPE, 1.4, .26,
           1.4, 4.4)},
    {CHINA("glm-4-7", ZHIPU, 204800, 131072, 0, ANY, 0, TYPE, .6, .11, .6, 2.2)},
    {CHINA("glm-4-6v", ZHIPU, 128000, 32768, MODEL_SEES, ANY, 0, TYPE, .3, .05, .3, .9)},

    /* -- Gemini: it tells no writes */
    {GEMINI("4-argon", 32768, LOW_TO_HIGH, 2, .1, 2, 10)},
    {GEMINI("3-8-flash", 65536, LOW_TO_HIGH, .75, .075, .75, 3.75)},
    {GEMINI("3-7-flash", 65536, LOW_TO_HIGH, .75, .075, .75, 3.75)},
    {GEMINI("3-6-flash", 65536, MINIMAL_TO_HIGH, .75, .075, .75, 3.75)},
    {GEMINI("3-5-flash-lite", 65536, MINIMAL_TO_HIGH, .3, .03, .3, 2.5)},
    {GEMINI("3-5-flash", 65536, MINIMAL_TO_HIGH, 1.5, .15, 1.5, 9)},
    {GEMINI("3-1-flash-lite", 65536, MINIMAL_TO_HIGH, .25, .025, .25, 1.5)},
    {GEMINI("3-1-pro", 65536, LOW_TO_HIGH, 2, .2, 2, 12, 200000, 2, 1.5)},
    {GEMINI("2-5-pro", 65536, LOW_TO_HIGH, 1.25, .125, 1.25, 10)},
    {GEMINI("2-5-flash", 65536, EFFORT(NONE) | LOW_TO_HIGH, .3, .03, .3, 2.5)},
    {GEMINI("4", 32768, LOW_TO_HIGH, 0)},
    {GEMINI("3", 65536, LOW_TO_HIGH, 0)},
};

static char plain(char byte)
{
    return byte == '.' || byte == '_' ? '-' : (char)tolower((unsigned char)byte);
}

static bool fits(const char *pattern, const char *id)
{
    for (; *pattern != '\0'; pattern++, id++)
        if (plain(*id) != *pattern)
            return false;
    return *id == '\0' || strchr("-.:@", *id) != NULL;
}

const struct model *sma_model_find(const char *id)
{
    const char *slash = strrchr(id, '/'); /* "vendor/model" of gateways */
    if (slash != NULL)
        id = slash + 1;
    for (size_t i = 0; i < SMA_COUNT_OF(MODELS); i++)
        if (fits(MODELS[i].pattern, id))
            return &MODELS[i];
    return NULL;
}
