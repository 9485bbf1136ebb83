/*
 * Aim: whom to ask is resolved in the same way for llm, its fallbacks and its judge; a key goes to
 *      its own provider only; what cannot work is refused in one line, what will not work as
 *      written is said. Method: as test_config.c.
 */
#include "sma/buf.h"
#include "sma/config.h"
#include "support/check.h"

#include <unistd.h>

static char dir[] = "/tmp/sma-config-llm-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static void project(const char *ship_json, const char *env)
{
    static const char *const names[] = {
        "LLM_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY",  "DEEPSEEK_API_KEY", "KEY_A",
        "KEY_B",       "PROXY_URL",         "MOONSHOT_API_KEY"};
    write_file("Agent.md", "# Role\n");
    write_file("ship.json", ship_json);
    write_file(".env", env);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        unsetenv(names[i]);
}

static char warnings[4096];
static void collect(void *user, const char *line)
{
    (void)user;
    size_t len = strlen(warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

static struct sma_config *load_with(const struct sma_config_overrides *overrides)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    warnings[0] = '\0';
    enum sma_err err = sma_config_load(dir, overrides, collect, NULL, &config, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    return config;
}

static struct sma_config *load(void)
{
    return load_with(NULL);
}

static void refuse(const char *must_contain)
{
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    CHECK(sma_config_load(dir, NULL, NULL, NULL, &config, &error) != SMA_ERR_OK);
    CHECK(config == NULL);
    if (strstr(error.text, must_contain) == NULL)
        fprintf(stderr, "line: %s\nwanted: %s\n", error.text, must_contain);
    CHECK(strstr(error.text, must_contain) != NULL && strstr(error.text, "ship.json") != NULL);
    CHECK(strchr(error.text, '\n') == NULL);
}

ENDING(sma_config_destroy, struct sma_config)

CASE(fallbacks_are_resolved_like_llm)
{
    project("{\"proxy\":\"socks5h://127.0.0.1:9050\",\"llm\":{\"provider\":\"anthropic\","
            "\"model\":\"claude-opus-5-5\",\"stream\":false,\"timeouts\":{\"totalMs\":7000},"
            "\"extraHeaders\":{\"x-team\":\"blue\"},\"effort\":\"high\",\"fallbacks\":["
            "{\"provider\":\"openai\",\"model\":\"gpt-6-luna\",\"maxTokens\":4000,"
            "\"extraBody\":{\"service_tier\":\"flex\"},\"prices\":{\"input\":1,\"output\":3}},"
            "{\"model\":\"claude-haiku-5-5\",\"apiKey\":[\"${KEY_A}\"]},"
            "{\"model\":\"claude-sonnet-5-5\"},"
            "{\"provider\":\"ollama\",\"model\":\"qwen3\",\"contextTokens\":32000,"
            "\"stream\":\"true\"}]}}",
            "ANTHROPIC_API_KEY=of-anthropic\nOPENAI_API_KEY=of-openai\nKEY_A=second\n");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK_TEXT("", warnings);
    CHECK_INT(5, (int)config->llm_target_count);
    const struct sma_config_llm *const *at = config->llm_targets;
    CHECK(at[0] == &config->llm && config->llm_patience_s == 900);
    CHECK_TEXT("of-anthropic", at[0]->api_key);
    CHECK_TEXT("socks5h://127.0.0.1:9050", at[0]->proxy);
    CHECK_TEXT("x-team: blue", at[0]->extra_headers[0]);
    CHECK_TEXT("https://api.openai.com/v1", at[1]->base_url);
    CHECK_TEXT("of-openai", at[1]->api_key);
    CHECK_TEXT("OPENAI_API_KEY", at[1]->api_key_source);
    CHECK_INT(SMA_LLM_RESPONSES, at[1]->api);
    CHECK_TEXT("{\"service_tier\":\"flex\"}", at[1]->extra_body_json);
    CHECK_TEXT("", at[1]->effort);                /* its own default */
    CHECK_INT(0, (int)at[1]->extra_header_count); /* headers are for one provider only */
    CHECK(!at[1]->is_stream && at[1]->total_ms == 7000 && at[1]->max_tokens == 4000);
    CHECK(at[1]->has_prices && at[1]->price_cached == 1 && at[1]->price_output == 3);
    CHECK_TEXT("second", at[2]->api_key); /* same provider and address, another key */
    CHECK_TEXT("claude-haiku-5-5", at[2]->model);
    CHECK_TEXT("x-team: blue", at[2]->extra_headers[0]);
    CHECK_TEXT("of-anthropic", at[3]->api_key);
    CHECK_TEXT("http://127.0.0.1:11434/v1", at[4]->base_url);
    CHECK_TEXT("", at[4]->api_key);
    CHECK_TEXT("", at[4]->proxy); /* no proxy leads to this machine */
    CHECK(at[4]->is_stream && at[4]->context_tokens == 32000);
}

CASE(a_fallback_keeps_the_timeouts_it_does_not_name)
{
    project("{\"llm\":{\"provider\":\"ollama\",\"model\":\"m\",\"logMessages\":false,\"timeouts\":{"
            "\"connectMs\":5,\"totalMs\":7000},\"fallbacks\":[{\"timeouts\":{\"totalMs\":9}}]}}",
            "");
    SMA_AUTO(sma_config_destroyp) struct sma_config *config = load();
    CHECK_INT(5, config->llm_targets[1]->connect_ms);
    CHECK_INT(9, config->llm_targets[1]->total_ms);
    CHECK(!config->llm.logs_messages && !config->llm_targets[1]->logs_messages);
}

CASE(several_keys_keep_their_order)
{
    static const char ship[] = "{\"llm\":{\"provider\":\"deepseek\",\"apiKey\":"
                               "[\"${KEY_A}\",\"${KEY_B}\",\"literal-3\"]}}";
    project(ship, "KEY_A=one\nKEY_B=two\n");
    struct sma_config *config = load();
    CHECK_INT(3, (int)config->llm.api_key_count);
    CHECK_TEXT("one", config->llm.api_key);
    CHECK_TEXT("one", config->llm.api_keys[0]);
    CHECK_TEXT("two", config->llm.api_keys[1]);
    CHECK_TEXT("literal-3", config->llm.api_keys[2]);
    CHECK_TEXT("${KEY_A}", config->llm.api_key_source);
    sma_config_destroy(config);
    project(ship, "KEY_B=two\n");
    config = load();
    CHECK_INT(2, (int)config->llm.api_key_count);
    CHECK_TEXT("two", config->llm.api_key);
    CHECK(strstr(warnings, "llm.apiKey uses ${KEY_A}, which is not set; the other keys") != NULL);
    sma_config_destroy(config);
    project("{\"llm\":{\"provider\":\"deepseek\",\"apiKey\":\"only\"}}", "");
    config = load();
    CHECK_INT(1, (int)config->llm.api_key_count);
    CHECK_TEXT("only", config->llm.api_keys[0]);
    sma_config_destroy(config);
}

/* Both speak to the same company, but the key was given for the other address. */
CASE(a_key_does_not_follow_to_another_address)
{
    project("{\"llm\":{\"provider\":\"openai\",\"model\":\"gpt-5\",\"apiKey\":\"sk-main\","
            "\"fallbacks\":[{\"provider\":\"openai\",\"model\":\"gpt-5\","
            "\"baseUrl\":\"https://elsewhere.example/v1\"}]}}",
            "");
    refuse("llm.fallbacks.0.apiKey is not set, nor is OPENAI_API_KEY");
    project("{\"llm\":{\"provider\":\"openai\",\"model\":\"gpt-5\",\"apiKey\":\"sk-main\","
            "\"fallbacks\":[{\"provider\":\"deepseek\"}]}}",
            "OPENAI_API_KEY=k\n");
    refuse("llm.fallbacks.0.apiKey is not set, nor is DEEPSEEK_API_KEY");
    refuse("put DEEPSEEK_API_KEY=... into .env and \"apiKey\": \"${DEEPSEEK_API_KEY}\" here");
}

CASE(the_judge_thinks_as_little_as_its_model_can)
{
    static const struct
    {
        const char *model, *effort;
    } rows[] = {
        {"claude-opus-4-8", "none"}, {"claude-opus-5", "none"},  {"claude-sonnet-5-5", "low"},
        {"claude-fable-5-2", "low"}, {"gpt-6-astra", "low"},     {"gpt-6.1-terra", "none"},
        {"gpt-5", "minimal"},        {"deepseek-flash", "none"}, {"kimi-k3", "low"},
        {"kimi-k2.7-code", "high"},  {"unheard-of", "high"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[256];
        const char *provider = strncmp(rows[i].model, "claude", 6) == 0 ? "anthropic"
                               : strncmp(rows[i].model, "gpt", 3) == 0  ? "openai"
                               : strncmp(rows[i].model, "kimi", 4) == 0 ? "moonshot"
                                                                        : "deepseek";
        snprintf(text, sizeof text,
                 "{\"llm\":{\"provider\":\"%s\",\"model\":\"%s\",\"apiKey\":\"k\","
                 "\"effort\":\"high\"}}",
                 provider, rows[i].model);
        project(text, "");
        struct sma_config *config = load();
        CHECK(config->llm_judge != NULL && config->llm_judge != &config->llm);
        CHECK_TEXT(rows[i].effort, config->llm_judge->effort);
        CHECK_TEXT("high", config->llm.effort);
        CHECK_TEXT(rows[i].model, config->llm_judge->model);
        sma_config_destroy(config);
    }
    project("{\"llm\":{\"provider\":\"anthropic\",\"model\":\"claude-opus-5-5\",\"judge\":{"
            "\"provider\":\"openai\",\"model\":\"gpt-6-luna\",\"effort\":\"low\"}}}",
            "ANTHROPIC_API_KEY=a\nOPENAI_API_KEY=of-openai\n");
    struct sma_config *config = load();
    CHECK_TEXT("gpt-6-luna", config->llm_judge->model);
    CHECK_TEXT("of-openai", config->llm_judge->api_key);
    CHECK_TEXT("low", config->llm_judge->effort);
    CHECK_INT(1, (int)config->llm_target_count);
    sma_config_destroy(config);
}

/* Nobody, unless it is said; another provider has its own address and key. */
CASE(who_describes_pictures_is_said)
{
    project("{\"llm\":{\"provider\":\"deepseek\",\"apiKey\":\"k\"}}", "");
    struct sma_config *config = load();
    CHECK(config->llm_vision == NULL);
    sma_config_destroy(config);
    project("{\"llm\":{\"provider\":\"deepseek\",\"apiKey\":\"k\",\"vision\":{"
            "\"provider\":\"openai\",\"model\":\"gpt-6-luna\"}}}",
            "OPENAI_API_KEY=of-openai\n");
    config = load();
    CHECK_TEXT("gpt-6-luna", config->llm_vision->model);
    CHECK_TEXT("of-openai", config->llm_vision->api_key);
    CHECK(strstr(config->llm_vision->base_url, "openai.com") != NULL);
    sma_config_destroy(config);
}

/* Who starts it with the offline model must not be sent to a paid one by its failure. */
CASE(a_provider_of_the_command_line_stands_alone)
{
    project("{\"llm\":{\"provider\":\"openai\",\"model\":\"gpt-5\",\"apiKey\":\"k\","
            "\"judge\":{\"model\":\"gpt-6-luna\"},"
            "\"fallbacks\":[{\"provider\":\"deepseek\",\"apiKey\":\"k\"}]}}",
            "");
    struct sma_config_overrides overrides = {.provider = "offline"};
    struct sma_config *config = load_with(&overrides);
    CHECK_INT(1, (int)config->llm_target_count);
    CHECK_INT(SMA_LLM_OFFLINE, config->llm_judge->api);
    sma_config_destroy(config);
    overrides.provider = "openai";
    config = load_with(&overrides);
    CHECK_INT(2, (int)config->llm_target_count);
    CHECK_TEXT("gpt-6-luna", config->llm_judge->model);
    sma_config_destroy(config);
}

/* The address that "custom" has by itself is OpenAI's. */
CASE(a_foreign_key_never_goes_to_openai)
{
    project("{\"llm\":{\"provider\":\"custom\",\"model\":\"kimi-k3\",\"apiKey\":\"k\"}}", "");
    refuse("or the provider to \"moonshot\"");
    project("{\"llm\":{\"provider\":\"anthropic\",\"apiKey\":\"k\",\"fallbacks\":[{\"provider\":"
            "\"custom\",\"model\":\"deepseek-flash\",\"apiKey\":\"k\"}]}}",
            "");
    refuse("llm.fallbacks.0.baseUrl");
    project("{\"llm\":{\"provider\":\"custom\",\"model\":\"gpt-6-luna\",\"apiKey\":\"k\"}}", "");
    sma_config_destroy(load());
    project("{\"llm\":{\"provider\":\"custom\",\"model\":\"kimi-k3\",\"apiKey\":\"k\","
            "\"baseUrl\":\"https://gateway.example/v1\"}}",
            "");
    sma_config_destroy(load());
}

/* "custom" says nothing: the address does. */
CASE(the_address_chooses_the_wire)
{
    static const struct
    {
        const char *provider, *url;
        enum sma_llm_api api;
    } rows[] = {
        {"custom", "https://api.openai.com/v1", SMA_LLM_RESPONSES},
        {"custom", "https://api.anthropic.com/v1", SMA_LLM_MESSAGES},
        {"somebody", "https://gateway.example/v1", SMA_LLM_CHAT},
        {"kimi", "https://api.moonshot.ai/v1", SMA_LLM_CHAT},
        {"google", "https://generativelanguage.googleapis.com/v1beta/openai", SMA_LLM_CHAT},
        {"openai", "https://gateway.example/v1", SMA_LLM_RESPONSES},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "{\"llm\":{\"provider\":\"%s\",\"model\":\"m\",\"apiKey\":\"k\",\"baseUrl\":\"%s\"}}",
            rows[i].provider, rows[i].url);
        project(text, "");
        struct sma_config *config = load();
        CHECK_INT(rows[i].api, config->llm.api);
        sma_config_destroy(config);
    }
}

#define LLM(members) "{\"llm\":{\"provider\":\"ollama\",\"model\":\"m\"," members "}}"
CASE(wrong_targets_give_one_line)
{
    static const struct
    {
        const char *ship_json, *expect;
    } rows[] = {
        {LLM("\"effort\":\"much\""), "llm.effort must be one of none,minimal"},
        {LLM("\"extraBody\":[]"), "llm.extraBody must be an object"},
        {LLM("\"extraBody\":{\"messages\":[]}"), "llm.extraBody must not hold \"messages\""},
        {LLM("\"extraBody\":{\"input\":[]}"), "must not hold \"input\""},
        {LLM("\"extraBody\":{\"tools\":[]}"), "must not hold \"tools\""},
        {LLM("\"extraBody\":{\"stream\":false}"), "remove it and use llm.stream"},
        {LLM("\"extraBody\":{\"model\":\"x\"}"), "remove it and use llm.model"},
        {LLM("\"extraBody\":{\"system\":\"x\"}"), "must not hold \"system\""},
        {LLM("\"extraBody\":{\"x\":\"${KEY_A}\"}"), "llm.extraBody.x uses ${KEY_A}, which is not"},
        {LLM("\"extraHeaders\":{\"a b\":\"x\"}"), "\"a b\": that is not the name of a header"},
        {LLM("\"extraHeaders\":{\"Host\":\"x\"}"), "the program writes it itself"},
        {LLM("\"extraHeaders\":{\"x\":\"a\\r\\nb\"}"), "llm.extraHeaders.x must be a string"},
        {LLM("\"extraHeaders\":{\"x\":1}"), "llm.extraHeaders.x must be a string"},
        {LLM("\"extraHeaders\":{\"x\":\"${KEY_A}\"}"), "llm.extraHeaders.x uses ${KEY_A}"},
        {LLM("\"proxy\":\"127.0.0.1:80\""), "llm.proxy must be an address like http://host:port"},
        {LLM("\"proxy\":\"http://\""), "llm.proxy must be an address like http://host:port"},
        {LLM("\"proxy\":\"http://:80\""), "llm.proxy must be an address like http://host:port"},
        {LLM("\"proxy\":\"http://u:p@h:99999\""), "llm.proxy must be an address like"},
        {LLM("\"proxy\":\"socks5://h:port\""), "llm.proxy must be an address like"},
        {"{\"proxy\":\"${PROXY_URL}\",\"llm\":{\"provider\":\"offline\"}}",
         "proxy uses ${PROXY_URL}, which is not set"},
        {LLM("\"apiKey\":[1]"), "llm.apiKey must be a string or a list of strings"},
        {LLM("\"apiKey\":[\"a b\"]"), "llm.apiKey holds a line end, a blank"},
        {LLM("\"contextTokens\":12"), "llm.contextTokens must be between 1000 and"},
        {LLM("\"patienceS\":-1"), "llm.patienceS must be between 0 and"},
        {LLM("\"prices\":{\"input\":1}"), "llm.prices needs \"input\" and \"output\""},
        {LLM("\"fallbacks\":{}"), "llm.fallbacks must be a list"},
        {LLM("\"fallbacks\":[7]"), "llm.fallbacks.0 must be an object"},
        {LLM("\"fallbacks\":[{},{\"model\":7}]"), "llm.fallbacks.1.model must be a string"},
        {LLM("\"fallbacks\":[{\"timeouts\":{\"idleMs\":0}}]"),
         "llm.fallbacks.0.timeouts.idleMs must be between 1"},
        {LLM("\"fallbacks\":[{\"provider\":\"nobody\",\"model\":\"m\"}]"),
         "llm.fallbacks.0.provider \"nobody\" is unknown and has no llm.fallbacks.0.baseUrl"},
        {LLM("\"fallbacks\":[{\"provider\":\"deepseek\",\"model\":\"${KEY_A}\"}]"),
         "llm.fallbacks.0.model uses ${KEY_A}"},
        {LLM("\"fallbacks\":[{},{},{},{},{},{},{},{}]"), "llm.fallbacks has more than 7 entries"},
        {LLM("\"judge\":[]"), "llm.judge must be an object"},
        {LLM("\"judge\":{\"provider\":\"openai\",\"model\":\"m\"}"),
         "llm.judge.apiKey is not set, nor is OPENAI_API_KEY"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        project(rows[i].ship_json, "");
        refuse(rows[i].expect);
    }
    project(LLM("\"fallbacks\":[{\"modle\":\"x\",\"patienceS\":3}],\"judge\":{\"effrt\":\"low\"}"),
            "");
    sma_config_destroy(load());
    CHECK(strstr(warnings, "unknown key llm.fallbacks.0.modle is ignored") != NULL);
    CHECK(strstr(warnings, "unknown key llm.fallbacks.0.patienceS is ignored") != NULL);
    CHECK(strstr(warnings, "unknown key llm.judge.effrt is ignored") != NULL);
}

CASE(what_will_not_work_is_said_at_start)
{
    static const struct
    {
        const char *llm, *line;
    } rows[] = {
        {"\"provider\":\"deepseek\",\"model\":\"deepseek-chat\"",
         "llm.model: \"deepseek-chat\" was switched off by its provider; use \"deepseek-flash\""},
        {"\"provider\":\"anthropic\",\"model\":\"claude-sonnet-4-20250514\"",
         "use \"claude-sonnet-5-5\" instead"},
        {"\"provider\":\"anthropic\",\"model\":\"claude-opus-5-5\",\"temperature\":0.7",
         "llm.temperature has no effect: \"claude-opus-5-5\" refuses it"},
        {"\"provider\":\"openai\",\"model\":\"gpt-4o\",\"frequencyPenalty\":1,"
         "\"presencePenalty\":1",
         "llm.frequencyPenalty has no effect: only the wire format \"chat\" has it\n"},
        {"\"provider\":\"openai\",\"model\":\"gpt-4o\",\"frequencyPenalty\":1,"
         "\"presencePenalty\":1",
         "llm.presencePenalty has no effect: only the wire format \"chat\" has it\n"},
        {"\"provider\":\"anthropic\",\"model\":\"claude-sonnet-5-5\",\"topP\":0.5,"
         "\"temperature\":1,\"anthropicVersion\":\"2026-10-21\"",
         "llm.temperature has no effect: this anthropicVersion takes no sampling\n"},
        {"\"provider\":\"anthropic\",\"model\":\"claude-sonnet-5-5\",\"topP\":0.5,"
         "\"anthropicVersion\":\"2026-10-21\"",
         "llm.topP has no effect: this anthropicVersion takes no sampling\n"},
        {"\"provider\":\"openai\",\"model\":\"gpt-6-astra\",\"api\":\"chat\"",
         "takes no tools in chat completions"},
        {"\"provider\":\"deepseek\",\"effort\":\"medium\"",
         "\"deepseek-flash\" does not take \"medium\"; \"low\" is used"},
        {"\"provider\":\"openai\",\"model\":\"gpt-4o\",\"maxTokens\":64000", "16384 is used"},
        {"\"provider\":\"ollama\",\"model\":\"m\",\"fallbacks\":[{\"provider\":\"deepseek\","
         "\"model\":\"deepseek-reasoner\",\"apiKey\":\"k\"}]",
         "llm.fallbacks.0.model: \"deepseek-reasoner\" was switched off"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"llm\":{\"apiKey\":\"k\",%s}}", rows[i].llm);
        project(text, "");
        sma_config_destroy(load());
        if (strstr(warnings, rows[i].line) == NULL)
            fprintf(stderr, "said: %s\nwanted: %s\n", warnings, rows[i].line);
        CHECK(strstr(warnings, rows[i].line) != NULL);
    }
    project("{\"llm\":{\"provider\":\"anthropic\",\"apiKey\":\"k\"}}", "");
    sma_config_destroy(load());
    CHECK_TEXT("", warnings); /* the default is not retired */
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    char command[64];
    static const char *const names[] = {"Agent.md", "ship.json", ".env"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        snprintf(command, sizeof command, "%s/%s", dir, names[i]);
        (void)unlink(command);
    }
    (void)rmdir(dir);
    return check_summary();
}
