/* providers.c — what configuration and `init` ask about providers. The table is
 * runtime/model/profile_hosts.c. */
#include "config_priv.h"

const char *const *sma_provider_variables(const char *provider)
{
    static const char *const others[] = {"LLM_API_KEY", "API_KEY", NULL};
    const struct sma_provider *found = sma_provider_find(provider);
    return found == NULL ? others : found->variables;
}

const char *sma_config_provider_of_model(const char *model)
{
    static const struct
    {
        const char *prefix, *provider;
    } families[] = {{"claude-", "anthropic"}, {"gpt-", "openai"},    {"deepseek-", "deepseek"},
                    {"kimi-", "moonshot"},    {"qwen", "qwen"},      {"glm-", "zhipu"},
                    {"gemini-", "gemini"},    {"offline", "offline"}};
    for (size_t i = 0; i < SMA_COUNT_OF(families); i++)
        if (strncmp(model, families[i].prefix, strlen(families[i].prefix)) == 0)
            return families[i].provider;
    return "custom";
}
