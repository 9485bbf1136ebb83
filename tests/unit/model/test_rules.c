/*
 * Aim: no provider refuses what we send, whatever is configured: every model of the table with
 *      every effort, sampling member and cap, with a conversation that another model began. Method:
 *      whole requests of the encoders against the rules of the model server that plays the
 *      providers (simulators/model/fake_model_rules.c).
 */
#include "fake_model.h"
#include "fake_model_refuse.h"
#include "runtime/model/target.h"
#include "support.h"

static const struct
{
    const char *profile, *provider;
    enum sma_llm_api api;
    const char *model;
} MODELS[] = {
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-fable-5-2"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-fable-5"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-opus-5-5"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-opus-5"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-sonnet-5-5"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-sonnet-5"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-haiku-5-5"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-opus-4-8"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-opus-4-7"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-opus-4-6"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-sonnet-4-6"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-opus-4-5-20251101"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-haiku-4-5"},
    {"anthropic", "anthropic", SMA_LLM_MESSAGES, "claude-sonnet-4-5"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-6-astra"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-6.1-sol"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-6.1-terra"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-6-luna"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-5.6-terra"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-5.5"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-5.4-mini"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-5.2"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-5"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-4.1"},
    {"openai", "openai", SMA_LLM_RESPONSES, "gpt-4o"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-6.1-terra"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-6-luna"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-5.6-sol"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-5.5"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-5.4"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-5.2"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-5"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-4.1-mini"},
    {"openai", "openai", SMA_LLM_CHAT, "gpt-4o"},
    {"deepseek", "deepseek", SMA_LLM_CHAT, "deepseek-flash"},
    {"deepseek", "deepseek", SMA_LLM_CHAT, "deepseek-v4-pro"},
    {"kimi", "moonshot", SMA_LLM_CHAT, "kimi-k3"},
    {"kimi", "moonshot", SMA_LLM_CHAT, "kimi-k3.1-pro"},
    {"kimi", "moonshot", SMA_LLM_CHAT, "kimi-k2.7-code"},
    {"kimi", "moonshot", SMA_LLM_CHAT, "kimi-k2.6"},
    {"qwen", "qwen", SMA_LLM_CHAT, "qwen3.8-max"},
    {"qwen", "qwen", SMA_LLM_CHAT, "qwen3.7-plus"},
    {"glm", "zhipu", SMA_LLM_CHAT, "glm-5.3"},
    {"glm", "zhipu", SMA_LLM_CHAT, "glm-5.2"},
    {"glm", "zhipu", SMA_LLM_CHAT, "glm-4.7"},
    {"gemini", "gemini", SMA_LLM_CHAT, "gemini-4-argon"},
    {"gemini", "gemini", SMA_LLM_CHAT, "gemini-3.8-flash"},
    {"gemini", "gemini", SMA_LLM_CHAT, "gemini-3.5-flash"},
    {"gemini", "gemini", SMA_LLM_CHAT, "gemini-2.5-flash"},
    {"openrouter", "openrouter", SMA_LLM_CHAT, "anthropic/claude-sonnet-5.5"},
    {"openrouter", "openrouter", SMA_LLM_CHAT, "openai/gpt-6.1-sol"},
    {"openrouter", "openrouter", SMA_LLM_CHAT, "google/gemini-3.8-flash"},
    {"ollama", "ollama", SMA_LLM_CHAT, "qwen3:8b"},
    {"llamacpp", "custom", SMA_LLM_CHAT, "local"},
    {"vllm", "custom", SMA_LLM_CHAT, "local"},
};

static const char *const EFFORTS[] = {"",       "none", "minimal", "low",
                                      "medium", "high", "xhigh",   "max"};

static const struct sma_tool_spec tool = {{"now", 3}, {"The time.", 9}, {"", 0}};

/* A first turn with a call, made by another model, and a second question. */
static void put_request(struct sma_buf *buf, const struct sma_target *target)
{
    static const struct sma_str texts[] = {{"[facts]", 7}, {"What time is it?", 16}};
    static const struct sma_model_call call = {
        .id = {"call_1", 6}, .name = {"now", 3}, .arguments = {"{}", 2}};
    static const struct sma_tool_result result = {
        .call_id = {"call_1", 6}, .name = {"now", 3}, .content = {"noon", 4}};
    const struct sma_wire *wire = target->wire;
    wire->put_head(buf, target, SMA_STR("You are a test."), &tool, 1);
    wire->put_user(buf, target, texts, 2);
    sma_buf_put_char(buf, ',');
    wire->put_assistant(buf, target, SMA_STR("I look."), &call, 1);
    sma_buf_put_char(buf, ',');
    wire->put_results(buf, target, &result, 1);
    sma_buf_put_char(buf, ',');
    wire->put_assistant_text(buf, target, SMA_STR("Noon."));
    sma_buf_put_char(buf, ',');
    wire->put_user(buf, target, &texts[1], 1);
    wire->put_tail(buf, target, SMA_STR("0123456789abcdef"));
}

static bool is_taken(const char *profile, const struct sma_config_llm *llm)
{
    struct sma_target target;
    sma_target_init(&target, llm);
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    put_request(&buf, &target);
    CHECK_OK(buf.err);
    json_error_t where;
    json_t *root = json_loadb(buf.ptr, buf.len, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        fprintf(stderr, "%s\n%s\n", where.text, buf.ptr);
    CHECK(root != NULL);
    struct fake_question question = {
        .api = llm->api,
        .profile = fake_profile_find(profile, strlen(profile)),
        .root = root,
        .head = {"", 0},
    };
    CHECK(question.profile != NULL);
    fake_question_read(&question);
    struct fake_refusal refusal = {0};
    bool is_refused = fake_refuse(&question, &refusal);
    if (is_refused)
        fprintf(stderr, "%s, %s, effort \"%s\": %s\n%s\n", profile, llm->model, llm->effort,
                refusal.message, buf.ptr);
    json_decref(root);
    sma_buf_fini(&buf);
    return !is_refused;
}

static struct sma_config_llm configured(size_t model, size_t effort, unsigned more)
{
    struct sma_config_llm llm = test_llm(MODELS[model].api, MODELS[model].provider);
    llm.model = MODELS[model].model;
    llm.effort = EFFORTS[effort];
    llm.has_temperature = (more & 1) != 0;
    llm.temperature = 0.7;
    llm.has_top_p = llm.has_frequency_penalty = llm.has_presence_penalty = (more & 2) != 0;
    llm.top_p = 0.9;
    llm.frequency_penalty = llm.presence_penalty = 0.1;
    llm.max_tokens = (more & 4) != 0 ? 5 : (more & 8) != 0 ? 99000000 : 0;
    llm.is_stream = (more & 16) == 0;
    return llm;
}

/* A cap beyond what a model gives is cut to it, where the table knows the model. */
static bool is_senseless(const struct sma_config_llm *llm, unsigned more)
{
    struct sma_profile profile;
    sma_profile_find(llm, &profile);
    return (more & 8) != 0 && !profile.is_known;
}

CASE(every_model_takes_what_is_sent)
{
    size_t count = 0;
    for (size_t model = 0; model < SMA_COUNT_OF(MODELS); model++)
        for (size_t effort = 0; effort < SMA_COUNT_OF(EFFORTS); effort++)
            for (unsigned more = 0; more < 32; more++) {
                struct sma_config_llm llm = configured(model, effort, more);
                if (is_senseless(&llm, more))
                    continue;
                CHECK(is_taken(MODELS[model].profile, &llm));
                count++;
            }
    CHECK(count > 10000);
}

/* The menus of `init` hold nothing that is refused or retired. */
CASE(every_menu_is_served)
{
    size_t count = 0;
    const struct sma_provider *all = sma_provider_all(&count);
    for (size_t i = 0; i < count; i++)
        for (const char *const *id = all[i].menu; *id != NULL; id++) {
            struct sma_config_llm llm = test_llm(all[i].api, all[i].name);
            struct sma_profile profile;
            llm.model = *id;
            llm.base_url = all[i].base_url;
            sma_profile_find(&llm, &profile);
            CHECK(profile.host == all[i].host);
            CHECK(profile.is_known || all[i].api == SMA_LLM_OFFLINE);
            CHECK(profile.ends == NULL);
            CHECK(profile.prices.input > 0 || all[i].api == SMA_LLM_OFFLINE);
        }
}

/* A picture costs what a picture costs, whatever its bytes; an icon less than its letters. */
CASE(a_picture_is_not_counted_as_text)
{
    static struct fake_units units;
    static char base64[400001], url[400100];
    memset(base64, 'A', sizeof base64 - 1);
    snprintf(url, sizeof url, "data:image/png;base64,%s", base64);
    struct
    {
        enum sma_llm_api api;
        json_t *block;
    } const rows[] = {
        {SMA_LLM_CHAT, json_pack("{s:s,s:{s:s}}", "type", "image_url", "image_url", "url", url)},
        {SMA_LLM_RESPONSES, json_pack("{s:s,s:s}", "type", "input_image", "image_url", url)},
        {SMA_LLM_MESSAGES, json_pack("{s:s,s:{s:s,s:s,s:s}}", "type", "image", "source", "type",
                                     "base64", "media_type", "image/png", "data", base64)}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        json_t *root =
            json_pack("{s:[{s:s,s:[o]}]}", rows[i].api == SMA_LLM_RESPONSES ? "input" : "messages",
                      "role", "user", "content", rows[i].block);
        CHECK(root != NULL);
        fake_units_read(&units, rows[i].api, root);
        CHECK(units.count == 1);
        CHECK(units.list[0].tokens >= 1500 && units.list[0].tokens < 1600);
        json_decref(root);
    }
}

CASES_MAIN
