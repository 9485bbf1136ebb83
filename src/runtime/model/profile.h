/*
 * profile.h — what a model takes and gives, and what it costs: one table of hosts, one of models.
 *
 * A row is found by the host of the address (the provider's name where the address says nothing)
 * and by the pattern of the model's id; "vendor/" before an id and dots instead of dashes do not
 * matter. What no row names gets careful defaults: what was configured and no other optional
 * member, a window of 128k. The encoders write what the profile allows and what the target was not
 * found to refuse (target.h).
 * Source: protocols/models.md §1-§5 (22 Nov 2026). Threads: any; no state.
 */
#ifndef SMA_MODEL_PROFILE_H
#define SMA_MODEL_PROFILE_H

#include "sma/config.h"

struct sma_usage;

/* Whose rules the server at the address follows. */
enum sma_host
{
    SMA_HOST_OTHER, /* a gateway, a proxy, something new */
    SMA_HOST_ANTHROPIC,
    SMA_HOST_OPENAI,
    SMA_HOST_AZURE,
    SMA_HOST_DEEPSEEK,
    SMA_HOST_MOONSHOT, /* Kimi */
    SMA_HOST_QWEN,     /* DashScope */
    SMA_HOST_ZHIPU,    /* GLM: open.bigmodel.cn, api.z.ai */
    SMA_HOST_GEMINI,   /* the OpenAI-style address */
    SMA_HOST_OPENROUTER,
    SMA_HOST_GROQ,
    SMA_HOST_OLLAMA,
    SMA_HOST_LOCAL, /* llama.cpp, vLLM, ... */
    SMA_HOST_OFFLINE,
};
enum sma_effort /* in rising order */
{
    SMA_EFFORT_NONE,
    SMA_EFFORT_MINIMAL,
    SMA_EFFORT_LOW,
    SMA_EFFORT_MEDIUM,
    SMA_EFFORT_HIGH,
    SMA_EFFORT_XHIGH,
    SMA_EFFORT_MAX,
    SMA_EFFORT_COUNT,
    SMA_EFFORT_UNSET = SMA_EFFORT_COUNT, /* nothing is said about it: the provider's default */
};
enum sma_sampling /* temperature, top_p */
{
    SMA_SAMPLING_ANY,
    SMA_SAMPLING_ONE,     /* one of the two, and neither while it thinks */
    SMA_SAMPLING_AT_NONE, /* only with effort "none" */
    SMA_SAMPLING_NEVER,
};
enum sma_thinking /* how thinking is switched, besides by an effort */
{
    SMA_THINKING_FIXED,  /* there is no switch, or it must not be sent */
    SMA_THINKING_BUDGET, /* Anthropic: thinking {type enabled, budget_tokens}; off when left out */
    SMA_THINKING_ADAPTIVE, /* Anthropic: thinking {type adaptive}; off when left out */
    SMA_THINKING_ON,       /* Anthropic: on when left out, thinking {type disabled} */
    /* Anthropic: on when left out, thinking {type between_tools} is the least */
    SMA_THINKING_BETWEEN,
    SMA_THINKING_TYPE,     /* DeepSeek, GLM, Kimi: thinking {type enabled | disabled} */
    SMA_THINKING_ENABLE,   /* Qwen: enable_thinking */
    SMA_THINKING_TEMPLATE, /* llama.cpp, vLLM: chat_template_kwargs {enable_thinking} */
};
enum sma_effort_form /* where an effort stands in the request */
{
    SMA_EFFORT_FORM_NONE,
    SMA_EFFORT_FORM_PLAIN,     /* reasoning_effort */
    SMA_EFFORT_FORM_REASONING, /* reasoning {effort}: Responses, OpenRouter */
    SMA_EFFORT_FORM_OUTPUT,    /* output_config {effort}: Anthropic */
};
enum sma_chat_tools /* chat completions with function tools */
{
    SMA_CHAT_TOOLS_FREE,
    SMA_CHAT_TOOLS_UNSET, /* refused when an effort is sent */
    SMA_CHAT_TOOLS_NONE,  /* refused unless effort "none" is sent */
    SMA_CHAT_TOOLS_NEVER, /* always refused: Responses only */
};
enum sma_echo /* which assistant messages carry their reasoning back; chat wire */
{
    SMA_ECHO_CALLS, /* those with calls, under the name it came with */
    SMA_ECHO_EVERY, /* every one: echo_member, "" when it had none */
    SMA_ECHO_NEVER, /* none: thinking is switched off, and it is refused then */
};
enum sma_cache /* what makes the provider cache a prompt */
{
    SMA_CACHE_SELF, /* it does so by itself, or not at all */
    SMA_CACHE_TOP,  /* Anthropic: cache_control of the request and on the system block */
    /* cache_control on parts: system, and the newest user-side messages (sma_target_mark) */
    SMA_CACHE_MARKS,
    SMA_CACHE_BREAKPOINT, /* OpenAI 5.6 and later: prompt_cache_breakpoint on the system part */
};

/* US dollars per million tokens, list prices. */
struct sma_prices
{
    double input, cached, written, output; /* all 0: not known */
    uint32_t
        /* a request that sends more than this pays the prices below; 0 = no such tier */
        tier_tokens;
    double tier_input, tier_cached, tier_written, tier_output;
};

struct sma_profile
{
    enum sma_host host;
    bool is_known;             /* a row fits the model */
    uint32_t window_tokens;    /* input and output together; llm.contextTokens where that is set */
    uint32_t output_max;       /* most tokens of one answer; 0 = not known */
    uint32_t output_min;       /* least value of the cap */
    const char *output_member; /* the cap's name on this wire */
    bool is_reasoning;
    enum sma_sampling sampling;
    bool has_penalties; /* frequency_penalty, presence_penalty */
    uint8_t efforts;    /* 1 << enum sma_effort, of this wire */
    enum sma_effort_form effort_form;
    /* what llm.effort comes to: the nearest that it takes; UNSET: none is configured */
    enum sma_effort effort;
    enum sma_thinking thinking;
    enum sma_chat_tools chat_tools;
    enum sma_echo echo;
    const char *echo_member; /* EVERY: "reasoning_content" */
    bool
        /* Gemini: extra_content.google.thought_signature of a call must come back */
        has_call_signatures;
    bool
        /* Responses: include reasoning.encrypted_content is asked for; else no ids of items go
         * back */
        has_encrypted_reasoning;
    bool
        /* usage: thinking is total_tokens - prompt_tokens - completion_tokens only */
        has_hidden_reasoning;
    bool has_stream_usage; /* stream_options.include_usage */
    bool has_cache_key;    /* prompt_cache_key */
    enum sma_cache cache;
    bool
        /* Messages: thinking is refused when anything before it has changed since */
        binds_thinking;
    bool has_images, has_pdf, has_audio;
    struct sma_prices prices;
    /* "2026-11-30": the day it is (or was) switched off; NULL = not known to end */
    const char *ends;
    const char *successor; /* with ends: the id to use instead */
};

/** Never fails: the careful row when nothing fits. */
void sma_profile_find(const struct sma_config_llm *llm, struct sma_profile *ret_profile);
/** Whose rules the address follows. */
enum sma_host sma_profile_host(const struct sma_config_llm *llm);

/** A server of this machine or of a private network, or Ollama anywhere. */
bool sma_profile_is_local(const struct sma_config_llm *llm);

/** "none" "minimal" ... for effort < SMA_EFFORT_COUNT. */
const char *sma_effort_name(enum sma_effort effort);
/** UNSET for other words. */
enum sma_effort sma_effort_find(const char *name);
/** The least effort that it takes, for questions that need no thought; "" = it knows none. */
const char *sma_profile_least_effort(const struct sma_profile *profile);

/** In 1e-9 of the prices' currency, by llm.prices, else by the table; 0 = no price is known. Usage
 *  of several requests is priced as so many requests of equal size. */
uint64_t sma_profile_cost_nano(const struct sma_config_llm *llm, const struct sma_profile *profile,
                               const struct sma_usage *usage);

/** One line for people each: a model that has ended or ends within 90 days with its successor,
 *  options that have no effect or another one than written, a wire on which the model takes no
 *  tools. today: "2026-11-22".
 *  place: where it is configured, "llm" or "llm.fallbacks.0". */
void sma_profile_check(const struct sma_config_llm *llm, const char *place, const char *today,
                       void (*each)(void *user, const char *line), void *user);

/* -- providers --------------------------------------------------------------------------------- */
struct sma_provider
{
    const char *name;
    enum sma_host host;
    enum sma_llm_api api;
    const char *base_url;
    const char *default_model; /* NULL: llm.model must be given */
    const char *variables[4];  /* that hold its key, the first one first; ends with NULL */
    const char *menu[8];       /* ids to offer, the first one first; ends with NULL */
};
/** NULL when the name is not one of ours. "kimi", "glm", "google" are other names of moonshot,
 *  zhipu, gemini. */
const struct sma_provider *sma_provider_find(const char *name);
/** All of them in the order of menus; *ret_count. */
const struct sma_provider *sma_provider_all(size_t *ret_count);
/** All names, comma separated, for error lines. */
const char *sma_provider_names(void);
/** The wire to use where llm.api does not say: the provider's own; for "custom" and unknown names
 *  by the host. */
enum sma_llm_api sma_profile_api(const char *provider, const char *base_url);

#endif
