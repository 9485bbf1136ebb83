/*
 * profile_hosts.c — providers: where they live, which wire they speak, whose rules an address
 * follows.
 * Source: protocols/models.md §1, §2.3; the providers' own quick starts.
 */
#include "runtime/model/profile.h"

#include "sma/buf.h"
#include "sma/text.h"

#include <strings.h>

static const struct sma_provider PROVIDERS[] = {
    {"anthropic",
     SMA_HOST_ANTHROPIC,
     SMA_LLM_MESSAGES,
     "https://api.anthropic.com/v1",
     "claude-sonnet-5-5",
     {"ANTHROPIC_API_KEY"},
     {"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2"}},
    {"openai",
     SMA_HOST_OPENAI,
     SMA_LLM_RESPONSES,
     "https://api.openai.com/v1",
     NULL,
     {"OPENAI_API_KEY"},
     {"gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-luna", "gpt-6-astra", "gpt-5.6-terra"}},
    {"custom",
     SMA_HOST_OTHER,
     SMA_LLM_CHAT,
     "https://api.openai.com/v1",
     NULL,
     {"LLM_API_KEY", "API_KEY"},
     {NULL}},
    {"deepseek",
     SMA_HOST_DEEPSEEK,
     SMA_LLM_CHAT,
     "https://api.deepseek.com/v1",
     "deepseek-flash",
     {"DEEPSEEK_API_KEY"},
     {"deepseek-flash", "deepseek-v4-pro"}},
    {"moonshot",
     SMA_HOST_MOONSHOT,
     SMA_LLM_CHAT,
     "https://api.moonshot.cn/v1",
     NULL,
     {"MOONSHOT_API_KEY", "KIMI_API_KEY"},
     {"kimi-k3.1-pro", "kimi-k3", "kimi-k2.6"}},
    {"qwen",
     SMA_HOST_QWEN,
     SMA_LLM_CHAT,
     "https://dashscope.aliyuncs.com/compatible-mode/v1",
     NULL,
     {"DASHSCOPE_API_KEY"},
     {"qwen3.8-max", "qwen3.8-flash", "qwen3.7-plus"}},
    {"zhipu",
     SMA_HOST_ZHIPU,
     SMA_LLM_CHAT,
     "https://open.bigmodel.cn/api/paas/v4",
     NULL,
     {"ZHIPUAI_API_KEY", "ZAI_API_KEY"},
     {"glm-5.3", "glm-5.3-flash", "glm-4.7"}},
    {"gemini",
     SMA_HOST_GEMINI,
     SMA_LLM_CHAT,
     "https://generativelanguage.googleapis.com/v1beta/openai",
     NULL,
     {"GEMINI_API_KEY", "GOOGLE_API_KEY"},
     {"gemini-3.8-flash", "gemini-4-argon", "gemini-3.5-flash-lite"}},
    {"openrouter",
     SMA_HOST_OPENROUTER,
     SMA_LLM_CHAT,
     "https://openrouter.ai/api/v1",
     NULL,
     {"OPENROUTER_API_KEY"},
     {"anthropic/claude-sonnet-5.5", "openai/gpt-6.1-sol", "deepseek/deepseek-flash"}},
    {"ollama",
     SMA_HOST_OLLAMA,
     SMA_LLM_CHAT,
     "http://127.0.0.1:11434/v1",
     NULL,
     {"OLLAMA_API_KEY"},
     {NULL}},
    {"offline",
     SMA_HOST_OFFLINE,
     SMA_LLM_OFFLINE,
     "",
     "offline",
     {"LLM_API_KEY", "API_KEY"},
     {"offline"}},
};

const struct sma_provider *sma_provider_all(size_t *ret_count)
{
    *ret_count = SMA_COUNT_OF(PROVIDERS);
    return PROVIDERS;
}

const struct sma_provider *sma_provider_find(const char *name)
{
    static const char *const others[][2] = {{"kimi", "moonshot"},
                                            {"glm", "zhipu"},
                                            {"zai", "zhipu"},
                                            {"google", "gemini"},
                                            {"dashscope", "qwen"}};
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
        if (strcasecmp(others[i][0], name) == 0)
            name = others[i][1];
    for (size_t i = 0; i < SMA_COUNT_OF(PROVIDERS); i++)
        if (strcasecmp(PROVIDERS[i].name, name) == 0)
            return &PROVIDERS[i];
    return NULL;
}

const char *sma_provider_names(void)
{
    return "anthropic, openai, custom, deepseek, moonshot, qwen, zhipu, gemini, openrouter, "
           "ollama, offline";
}

/* -- whose rules an address follows ------------------------------------------------------------ */
static bool is_host(struct sma_str host, const char *suffix)
{
    size_t len = strlen(suffix);
    const char *port = memchr(host.ptr, ':', host.len);
    if (port != NULL)
        host.len = (size_t)(port - host.ptr);
    return host.len >= len && strncasecmp(host.ptr + host.len - len, suffix, len) == 0 &&
           (host.len == len || suffix[0] == '.' || host.ptr[host.len - len - 1] == '.');
}

static bool is_local(struct sma_str host)
{
    static const char *const beginnings[] = {
        "127.",     "localhost", "[::1]",   "host.docker.internal",
        "10.",      "192.168.",  "[fd",     "[fe80",
        "169.254.", "172.16.",   "172.17.", "172.18.",
        "172.19.",  "172.20.",   "172.21.", "172.22.",
        "172.23.",  "172.24.",   "172.25.", "172.26.",
        "172.27.",  "172.28.",   "172.29.", "172.30.",
        "172.31."};
    static const char *const ends[] = {".local", ".lan", ".internal", ".home.arpa"};
    const char *colon = memchr(host.ptr, ':', host.len);
    size_t name_len = colon == NULL ? host.len : (size_t)(colon - host.ptr);
    for (size_t i = 0; i < SMA_COUNT_OF(ends); i++) {
        size_t len = strlen(ends[i]);
        if (name_len > len && strncasecmp(host.ptr + name_len - len, ends[i], len) == 0)
            return true;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(beginnings); i++) {
        size_t len = strlen(beginnings[i]);
        if (host.len >= len && strncasecmp(host.ptr, beginnings[i], len) == 0)
            return true;
    }
    return false;
}

static enum sma_host host_by_address(const char *base_url)
{
    static const struct
    {
        const char *name;
        enum sma_host host;
    } rows[] = {
        {"api.anthropic.com", SMA_HOST_ANTHROPIC},
        {"api.openai.com", SMA_HOST_OPENAI},
        {".openai.azure.com", SMA_HOST_AZURE},
        {".services.ai.azure.com", SMA_HOST_AZURE},
        {".cognitiveservices.azure.com", SMA_HOST_AZURE},
        {"deepseek.com", SMA_HOST_DEEPSEEK},
        {"moonshot.ai", SMA_HOST_MOONSHOT},
        {"moonshot.cn", SMA_HOST_MOONSHOT},
        {"api.kimi.com", SMA_HOST_MOONSHOT},
        {"aliyuncs.com", SMA_HOST_QWEN},
        {"bigmodel.cn", SMA_HOST_ZHIPU},
        {"z.ai", SMA_HOST_ZHIPU},
        {"generativelanguage.googleapis.com", SMA_HOST_GEMINI},
        {"openrouter.ai", SMA_HOST_OPENROUTER},
        {"api.groq.com", SMA_HOST_GROQ},
    };
    struct sma_str host = sma_url_host(base_url);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (is_host(host, rows[i].name))
            return rows[i].host;
    if (is_local(host) && memmem(host.ptr, host.len, ":11434", 6) != NULL)
        return SMA_HOST_OLLAMA;
    return is_local(host) ? SMA_HOST_LOCAL : SMA_HOST_OTHER;
}

bool sma_profile_is_local(const struct sma_config_llm *llm)
{
    const struct sma_provider *provider = sma_provider_find(llm->provider);
    return is_local(sma_url_host(llm->base_url)) ||
           (provider != NULL && provider->host == SMA_HOST_OLLAMA);
}

/* "openai" is what people write for any server that speaks like it: its rules are for its own
 * models only. */
static bool is_meant(const struct sma_provider *provider, const char *model)
{
    const char *slash = strrchr(model, '/');
    const char *id = slash == NULL ? model : slash + 1;
    if (provider->host == SMA_HOST_ANTHROPIC)
        return strncasecmp(id, "claude", 6) == 0;
    if (provider->host == SMA_HOST_OPENAI)
        return (strncasecmp(id, "gpt-", 4) == 0 && strncasecmp(id, "gpt-oss", 7) != 0) ||
               (id[0] == 'o' && id[1] >= '0' && id[1] <= '9');
    return true;
}

enum sma_host sma_profile_host(const struct sma_config_llm *llm)
{
    if (llm->api == SMA_LLM_OFFLINE)
        return SMA_HOST_OFFLINE;
    const struct sma_provider *provider = sma_provider_find(llm->provider);
    enum sma_host host = host_by_address(llm->base_url);
    bool is_named = provider != NULL && provider->host != SMA_HOST_OTHER;
    if ((host == SMA_HOST_OTHER || host == SMA_HOST_LOCAL || host == SMA_HOST_OLLAMA) && is_named &&
        is_meant(provider, llm->model))
        return provider->host;
    return host;
}

enum sma_llm_api sma_profile_api(const char *name, const char *base_url)
{
    const struct sma_provider *provider = sma_provider_find(name);
    if (provider != NULL && provider->host != SMA_HOST_OTHER)
        return provider->api;
    enum sma_host host = host_by_address(base_url);
    return host == SMA_HOST_OPENAI      ? SMA_LLM_RESPONSES
           : host == SMA_HOST_ANTHROPIC ? SMA_LLM_MESSAGES
                                        : SMA_LLM_CHAT;
}
