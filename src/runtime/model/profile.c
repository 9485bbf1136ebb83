/* profile.c — rows of hosts and models put together for one wire. See profile.h. */
#include "profile_priv.h"

#include "sma/buf.h"
#include "sma/messages.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define WINDOW_UNKNOWN 128000
#define WINDOW_LOCAL 32768      /* of an unknown model on a machine of one's own: few load more */
#define OUTPUT_UNKNOWN 8192     /* Messages needs a cap; every model of today takes this one */
#define RESPONSES_OUTPUT_MIN 16 /* Source: protocols/models.md §2.1 */
#define ENDS_SOON_DAYS 90

/* -- efforts ----------------------------------------------------------------------------------- */
static const char *const EFFORTS[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};

const char *sma_effort_name(enum sma_effort effort)
{
    SMA_ASSERT(effort < SMA_EFFORT_COUNT);
    return EFFORTS[effort];
}

enum sma_effort sma_effort_find(const char *name)
{
    for (int i = 0; i < SMA_EFFORT_COUNT; i++)
        if (name != NULL && strcmp(EFFORTS[i], name) == 0)
            return (enum sma_effort)i;
    return SMA_EFFORT_UNSET;
}

/* Thinking can be switched off besides by an effort. */
static bool has_off_switch(enum sma_thinking thinking)
{
    return thinking != SMA_THINKING_FIXED && thinking != SMA_THINKING_BETWEEN;
}

static bool takes(const struct sma_profile *profile, int effort)
{
    if (effort == SMA_EFFORT_NONE && has_off_switch(profile->thinking))
        return true;
    return (profile->efforts >> effort & 1) != 0;
}

/* The next one below what is wanted, else the next one above. A thinking switch without efforts is
 * on or off. */
static enum sma_effort nearest(const struct sma_profile *profile, enum sma_effort wanted)
{
    bool is_switch = has_off_switch(profile->thinking) && profile->efforts == 0;
    if (wanted == SMA_EFFORT_UNSET || (is_switch && wanted != SMA_EFFORT_NONE))
        return wanted;
    for (int effort = wanted; effort > SMA_EFFORT_NONE; effort--)
        if (takes(profile, effort))
            return (enum sma_effort)effort;
    for (int effort = wanted; effort < SMA_EFFORT_COUNT; effort++)
        if (takes(profile, effort))
            return (enum sma_effort)effort;
    return SMA_EFFORT_UNSET;
}

const char *sma_profile_least_effort(const struct sma_profile *profile)
{
    for (int effort = 0; effort < SMA_EFFORT_COUNT; effort++)
        if (profile->is_known && takes(profile, effort))
            return EFFORTS[effort];
    return "";
}

/* -- putting together -------------------------------------------------------------------------- */
static struct sma_prices prices_of(const double price[7])
{
    return (struct sma_prices){
        .input = price[0],
        .cached = price[1],
        .written = price[2],
        .output = price[3],
        .tier_tokens = (uint32_t)price[4],
        .tier_input = price[0] * price[5],
        .tier_cached = price[1] * price[5],
        .tier_written = price[2] * price[5],
        .tier_output = price[3] * price[6],
    };
}

static void take_model(struct sma_profile *profile, const struct model *model)
{
    bool is_at_home = model->vendor == profile->host;
    profile->is_known = true;
    profile->window_tokens = model->window;
    profile->output_max = model->output;
    profile->is_reasoning = (model->flags & MODEL_REASONS) != 0;
    profile->has_images = (model->flags & MODEL_SEES) != 0;
    profile->has_pdf = (model->flags & MODEL_READS_PDF) != 0;
    profile->has_audio = (model->flags & MODEL_HEARS) != 0;
    profile->sampling = model->sampling;
    profile->efforts = model->efforts;
    profile->thinking = model->thinking;
    profile->chat_tools = model->chat_tools;
    if (is_at_home || profile->host == SMA_HOST_OPENROUTER || profile->host == SMA_HOST_AZURE)
        profile->prices = prices_of(model->price);
    if (is_at_home) {
        profile->ends = model->ends;
        profile->successor = model->successor;
    }
}

/* Switches of a vendor go to its own host and to gateways that speak its own wire. */
static void settle_thinking(struct sma_profile *profile, const struct sma_config_llm *llm,
                            const struct model *model)
{
    bool is_claude = model != NULL && model->vendor == SMA_HOST_ANTHROPIC;
    if (is_claude && llm->api == SMA_LLM_MESSAGES)
        return;
    if (!is_claude && model != NULL && model->vendor == profile->host)
        return;
    profile->thinking = SMA_THINKING_FIXED;
    if (profile->host != SMA_HOST_LOCAL || llm->api != SMA_LLM_CHAT)
        return;
    profile->thinking = SMA_THINKING_TEMPLATE; /* on or off is all they have */
    profile->efforts = 0;
}

static void settle_chat(struct sma_profile *profile, const struct model *model)
{
    bool is_gpt = model != NULL && model->vendor == SMA_HOST_OPENAI;
    bool is_openai = profile->host == SMA_HOST_OPENAI || profile->host == SMA_HOST_AZURE;
    bool is_like_openai = is_openai || (is_gpt && profile->host == SMA_HOST_OTHER);
    profile->effort_form = SMA_EFFORT_FORM_PLAIN;
    profile->output_member = is_openai || (is_like_openai && profile->is_reasoning)
                                 ? "max_completion_tokens"
                                 : "max_tokens";
    profile->has_stream_usage = true;
    if (!is_like_openai)
        profile->chat_tools = SMA_CHAT_TOOLS_FREE;
    if (is_like_openai)
        profile->efforts &= (uint8_t) ~(1u << SMA_EFFORT_MAX);
    if (profile->host != SMA_HOST_OPENROUTER)
        return;
    /* It maps efforts and leaves out what the model behind it refuses. */
    profile->effort_form = SMA_EFFORT_FORM_REASONING;
    profile->sampling = SMA_SAMPLING_ANY;
    profile->efforts = 1u << SMA_EFFORT_NONE | 1u << SMA_EFFORT_LOW | 1u << SMA_EFFORT_MEDIUM |
                       1u << SMA_EFFORT_HIGH | 1u << SMA_EFFORT_XHIGH;
}

/* From this version on a sampling member is refused whatever the model. */
static bool is_unsampled_version(const struct sma_config_llm *llm)
{
    return llm->anthropic_version != NULL && strcmp(llm->anthropic_version, "2026-10-21") >= 0;
}

static void settle_wire(struct sma_profile *profile, const struct sma_config_llm *llm,
                        const struct model *model)
{
    profile->output_min = 1;
    switch (llm->api) {
    case SMA_LLM_RESPONSES:
        profile->output_member = "max_output_tokens";
        profile->output_min = RESPONSES_OUTPUT_MIN;
        profile->effort_form = SMA_EFFORT_FORM_REASONING;
        profile->has_encrypted_reasoning =
            profile->is_reasoning && (model != NULL && model->vendor == SMA_HOST_OPENAI);
        break;
    case SMA_LLM_MESSAGES:
        profile->output_member = "max_tokens";
        profile->effort_form = SMA_EFFORT_FORM_OUTPUT;
        if (profile->sampling == SMA_SAMPLING_ANY)
            profile->sampling = SMA_SAMPLING_ONE;
        if (is_unsampled_version(llm))
            profile->sampling = SMA_SAMPLING_NEVER;
        break;
    case SMA_LLM_CHAT:
    case SMA_LLM_OFFLINE:
        settle_chat(profile, model);
        break;
    }
    profile->has_penalties = llm->api == SMA_LLM_CHAT && profile->sampling == SMA_SAMPLING_ANY &&
                             profile->host != SMA_HOST_QWEN && profile->host != SMA_HOST_ZHIPU &&
                             profile->host != SMA_HOST_GEMINI && profile->host != SMA_HOST_GROQ;
    if (profile->efforts == 0)
        profile->effort_form = SMA_EFFORT_FORM_NONE;
}

static void settle_cache(struct sma_profile *profile, const struct sma_config_llm *llm,
                         const struct model *model)
{
    bool is_claude = model != NULL && model->vendor == SMA_HOST_ANTHROPIC;
    bool is_qwen = model != NULL && model->vendor == SMA_HOST_QWEN;
    profile->has_cache_key = llm->api != SMA_LLM_MESSAGES &&
                             (profile->host == SMA_HOST_OPENAI || profile->host == SMA_HOST_AZURE);
    if (llm->api == SMA_LLM_MESSAGES)
        profile->cache = profile->host == SMA_HOST_ANTHROPIC ? SMA_CACHE_TOP : SMA_CACHE_MARKS;
    else if (profile->host == SMA_HOST_OPENAI && model != NULL &&
             (model->flags & MODEL_BREAKPOINTS) != 0)
        profile->cache = SMA_CACHE_BREAKPOINT;
    else if (llm->api == SMA_LLM_CHAT &&
             ((profile->host == SMA_HOST_OPENROUTER && (is_claude || is_qwen)) ||
              profile->host == SMA_HOST_QWEN))
        profile->cache = SMA_CACHE_MARKS;
}

static void settle_echo(struct sma_profile *profile, const struct sma_config_llm *llm,
                        const struct model *model)
{
    /* A gateway, a LAN address and a tunnel ask for it as the vendor behind them does; names that
     * no row has are of the family that they tell. */
    bool is_family =
        model != NULL
            ? model->vendor == SMA_HOST_DEEPSEEK || model->vendor == SMA_HOST_MOONSHOT
            : strcasestr(llm->model, "deepseek") != NULL || strcasestr(llm->model, "kimi") != NULL;
    bool passes_on = profile->host == SMA_HOST_OTHER || profile->host == SMA_HOST_LOCAL ||
                     profile->host == SMA_HOST_OLLAMA;
    bool is_direct = profile->host == SMA_HOST_DEEPSEEK || profile->host == SMA_HOST_MOONSHOT ||
                     (passes_on && is_family);
    profile->has_call_signatures = profile->host == SMA_HOST_GEMINI;
    profile->binds_thinking =
        llm->api == SMA_LLM_MESSAGES && model != NULL && (model->flags & MODEL_BINDS) != 0;
    profile->has_hidden_reasoning = profile->host == SMA_HOST_GEMINI;
    if (llm->api != SMA_LLM_CHAT || !is_direct)
        return;
    bool is_off = profile->thinking == SMA_THINKING_TYPE && profile->effort == SMA_EFFORT_NONE;
    profile->echo = is_off ? SMA_ECHO_NEVER : SMA_ECHO_EVERY;
    profile->echo_member = "reasoning_content";
}

void sma_profile_find(const struct sma_config_llm *llm, struct sma_profile *ret_profile)
{
    const struct model *model = sma_model_find(llm->model);
    struct sma_profile profile = {
        .host = sma_profile_host(llm),
        .window_tokens = WINDOW_UNKNOWN,
        .output_max = 0,
        .efforts = ((1u << SMA_EFFORT_COUNT) - 1) & ~(1u << SMA_EFFORT_MINIMAL),
    };
    if (model != NULL)
        take_model(&profile, model);
    settle_thinking(&profile, llm, model);
    settle_wire(&profile, llm, model);
    settle_cache(&profile, llm, model);
    profile.effort = nearest(&profile, sma_effort_find(llm->effort));
    settle_echo(&profile, llm, model);
    if (model == NULL && (profile.host == SMA_HOST_LOCAL || profile.host == SMA_HOST_OLLAMA))
        profile.window_tokens = WINDOW_LOCAL;
    if (llm->context_tokens > 0)
        profile.window_tokens =
            llm->context_tokens > UINT32_MAX ? UINT32_MAX : (uint32_t)llm->context_tokens;
    *ret_profile = profile;
}

/* -- cost -------------------------------------------------------------------------------------- */
/* Dollars per million tokens are micro-dollars per token: a thousand times 1e-9. */
static double cost_of(uint64_t tokens, double price)
{
    return (double)tokens * price * 1000;
}

uint64_t sma_profile_cost_nano(const struct sma_config_llm *llm, const struct sma_profile *profile,
                               const struct sma_usage *usage)
{
    struct sma_prices prices = profile->prices;
    if (llm->has_prices)
        prices = (struct sma_prices){.input = llm->price_input,
                                     .cached = llm->price_cached,
                                     .written = llm->price_written,
                                     .output = llm->price_output};
    uint64_t sent = usage->input + usage->cached + usage->written;
    uint64_t requests = usage->request_count == 0 ? 1 : usage->request_count;
    if (prices.tier_tokens > 0 && sent / requests > prices.tier_tokens) {
        prices.input = prices.tier_input;
        prices.cached = prices.tier_cached;
        prices.written = prices.tier_written;
        prices.output = prices.tier_output;
    }
    double nano = cost_of(usage->input, prices.input) + cost_of(usage->cached, prices.cached) +
                  cost_of(usage->written, prices.written) + cost_of(usage->output, prices.output);
    return nano >= 9e18 ? (uint64_t)9e18 : (uint64_t)llround(nano);
}

/* -- lines for people -------------------------------------------------------------------------- */
/* Days since some day long ago; the difference of two is what counts. -1: not a date. */
static long day_number(const char *date)
{
    char *end = NULL;
    long year = strtol(date, &end, 10);
    if (*end != '-')
        return -1;
    long month = strtol(end + 1, &end, 10);
    if (*end != '-' || month < 1 || month > 12)
        return -1;
    long day = strtol(end + 1, &end, 10);
    if (month <= 2) { /* the year begins in March: the leap day is its last */
        year--;
        month += 12;
    }
    return 365 * year + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + day;
}

struct lines
{
    const struct sma_config_llm *llm;
    const struct sma_profile *profile;
    const char *place;
    void (*each)(void *user, const char *line);
    void *user;
};

static void say(const struct lines *lines, const char *format, ...) SMA_PRINTF(2, 3);
static void say(const struct lines *lines, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    lines->each(lines->user, line);
}

static void check_end(const struct lines *lines, const char *today)
{
    const struct sma_profile *profile = lines->profile;
    if (profile->ends == NULL)
        return;
    long left = day_number(profile->ends) - day_number(today);
    if (left <= 0)
        say(lines, "%s.model: \"%s\" was switched off by its provider; use \"%s\" instead",
            lines->place, lines->llm->model, profile->successor);
    else if (left <= ENDS_SOON_DAYS)
        say(lines, "%s.model: \"%s\" is switched off by its provider on %s; use \"%s\" instead",
            lines->place, lines->llm->model, profile->ends, profile->successor);
}

/* Says of one member that it is not sent: because of the wire, or of the model. */
static void say_unsent(const struct lines *lines, bool is_set, const char *member, const char *why)
{
    if (is_set)
        say(lines, "%s.%s has no effect: %s%s%s%s", lines->place, member, why == NULL ? "\"" : why,
            why == NULL ? lines->llm->model : "", why == NULL ? "\" refuses it" : "",
            why == NULL && lines->profile->sampling == SMA_SAMPLING_AT_NONE
                ? " unless the effort is \"none\""
                : "");
}

static void check_sampling(const struct lines *lines)
{
    const struct sma_config_llm *llm = lines->llm;
    const struct sma_profile *profile = lines->profile;
    bool is_by_version = llm->api == SMA_LLM_MESSAGES && is_unsampled_version(llm);
    const char *why = is_by_version ? "this anthropicVersion takes no sampling" : NULL;
    if (profile->sampling == SMA_SAMPLING_NEVER ||
        (profile->sampling == SMA_SAMPLING_AT_NONE && profile->effort != SMA_EFFORT_NONE)) {
        say_unsent(lines, llm->has_temperature, "temperature", why);
        say_unsent(lines, llm->has_top_p, "topP", why);
    }
    if (llm->has_temperature && llm->has_top_p && profile->sampling == SMA_SAMPLING_ONE)
        say(lines, "%s.topP has no effect beside %s.temperature: \"%s\" takes one of them",
            lines->place, lines->place, llm->model);
    why = llm->api == SMA_LLM_CHAT ? NULL : "only the wire format \"chat\" has it";
    say_unsent(lines, llm->has_frequency_penalty && !profile->has_penalties, "frequencyPenalty",
               why);
    say_unsent(lines, llm->has_presence_penalty && !profile->has_penalties, "presencePenalty", why);
}

static void check_effort(const struct lines *lines)
{
    const struct sma_profile *profile = lines->profile;
    enum sma_effort wanted = sma_effort_find(lines->llm->effort);
    if (wanted == profile->effort)
        return;
    if (profile->effort == SMA_EFFORT_UNSET)
        say(lines, "%s.effort has no effect: \"%s\" takes none", lines->place, lines->llm->model);
    else
        say(lines, "%s.effort: \"%s\" does not take \"%s\"; \"%s\" is used", lines->place,
            lines->llm->model, lines->llm->effort, EFFORTS[profile->effort]);
}

static void check_chat_tools(const struct lines *lines)
{
    const struct sma_config_llm *llm = lines->llm;
    enum sma_chat_tools rule = lines->profile->chat_tools;
    if (llm->api != SMA_LLM_CHAT || rule == SMA_CHAT_TOOLS_FREE)
        return;
    if (rule == SMA_CHAT_TOOLS_NEVER)
        say(lines,
            "%s.api: \"%s\" takes no tools in chat completions; write \"api\": \"responses\"",
            lines->place, llm->model);
    else if (lines->profile->effort != SMA_EFFORT_UNSET &&
             lines->profile->effort != SMA_EFFORT_NONE)
        say(lines,
            "%s.effort has no effect: \"%s\" takes none beside tools in chat completions; write "
            "\"api\": \"responses\"",
            lines->place, llm->model);
}

void sma_profile_check(const struct sma_config_llm *llm, const char *place, const char *today,
                       void (*each)(void *user, const char *line), void *user)
{
    if (llm->api == SMA_LLM_OFFLINE)
        return;
    struct sma_profile profile;
    sma_profile_find(llm, &profile);
    struct lines lines = {llm, &profile, place, each, user};
    check_end(&lines, today);
    check_sampling(&lines);
    check_effort(&lines);
    check_chat_tools(&lines);
    if (profile.output_max > 0 && llm->max_tokens > (int64_t)profile.output_max)
        say(&lines, "%s.maxTokens: \"%s\" answers with at most %u tokens; %u is used", place,
            llm->model, profile.output_max, profile.output_max);
}
