/*
 * providers.c — which wire a provider speaks and where it lives.
 * Source: reference §2.4, protocols/llm.md §5; deepseek speaks chat completions.
 */
#include "config_priv.h"

static const struct sma_provider PROVIDERS[] = {
    {"anthropic", SMA_LLM_MESSAGES, "https://api.anthropic.com/v1", "claude-sonnet-4-20250514"},
    {"openai", SMA_LLM_RESPONSES, "https://api.openai.com/v1", NULL},
    {"custom", SMA_LLM_CHAT, "https://api.openai.com/v1", NULL},
    {"deepseek", SMA_LLM_CHAT, "https://api.deepseek.com/v1", "deepseek-chat"},
    {"moonshot", SMA_LLM_CHAT, "https://api.moonshot.cn/v1", NULL},
    {"qwen", SMA_LLM_CHAT, "https://dashscope.aliyuncs.com/compatible-mode/v1", NULL},
    {"zhipu", SMA_LLM_CHAT, "https://open.bigmodel.cn/api/paas/v4", NULL},
    {"openrouter", SMA_LLM_CHAT, "https://openrouter.ai/api/v1", NULL},
    {"ollama", SMA_LLM_CHAT, "http://127.0.0.1:11434/v1", NULL},
    {"offline", SMA_LLM_OFFLINE, "", "offline"},
};

const struct sma_provider *sma_provider_find(const char *name)
{
    for (size_t i = 0; i < SMA_COUNT_OF(PROVIDERS); i++)
        if (strcmp(PROVIDERS[i].name, name) == 0)
            return &PROVIDERS[i];
    return NULL;
}

const char *const *sma_provider_variables(const char *provider)
{
    /* Source: the providers' own quick starts. */
    static const struct
    {
        const char *provider, *variables[3];
    } rows[] = {
        {"anthropic", {"ANTHROPIC_API_KEY"}},   {"openai", {"OPENAI_API_KEY"}},
        {"deepseek", {"DEEPSEEK_API_KEY"}},     {"moonshot", {"MOONSHOT_API_KEY"}},
        {"qwen", {"DASHSCOPE_API_KEY"}},        {"zhipu", {"ZHIPUAI_API_KEY", "ZAI_API_KEY"}},
        {"openrouter", {"OPENROUTER_API_KEY"}}, {"ollama", {"OLLAMA_API_KEY"}},
    };
    static const char *const others[] = {"LLM_API_KEY", "API_KEY", NULL};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (strcmp(rows[i].provider, provider) == 0)
            return rows[i].variables;
    return others;
}

const char *sma_provider_names(void)
{
    return "anthropic, openai, custom, deepseek, moonshot, qwen, zhipu, openrouter, ollama, "
           "offline";
}

const char *sma_config_provider_of_model(const char *model)
{
    static const struct
    {
        const char *prefix, *provider;
    } families[] = {{"claude-", "anthropic"},
                    {"gpt-", "openai"},
                    {"deepseek-", "deepseek"},
                    {"offline", "offline"}};
    for (size_t i = 0; i < SMA_COUNT_OF(families); i++)
        if (strncmp(model, families[i].prefix, strlen(families[i].prefix)) == 0)
            return families[i].provider;
    return "custom";
}

const char *sma_config_base_url(const char *provider)
{
    const struct sma_provider *found = sma_provider_find(provider);
    return found == NULL ? "" : found->base_url;
}
