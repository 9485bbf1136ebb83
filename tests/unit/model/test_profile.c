/*
 * Aim: the table knows whose rules an address follows, what a model takes and costs, and when it
 *      ends; what was learned to be refused is left out, and only what changes requests counts as a
 *      cure. Method: configurations by hand, bytes compared.
 */
#include "runtime/model/target.h"
#include "runtime/model/wire_part.h"
#include "support.h"

static struct sma_config_llm llm_of(enum sma_llm_api api, const char *provider, const char *url,
                                    const char *model)
{
    struct sma_config_llm llm = test_llm(api, provider);
    llm.base_url = url;
    llm.model = model;
    return llm;
}

static struct sma_profile profile_of(enum sma_llm_api api, const char *provider, const char *url,
                                     const char *model)
{
    struct sma_config_llm llm = llm_of(api, provider, url, model);
    struct sma_profile profile;
    sma_profile_find(&llm, &profile);
    return profile;
}

/* -- hosts ------------------------------------------------------------------------------------- */
CASE(the_address_says_whose_rules_hold)
{
    static const struct
    {
        const char *provider, *url, *model;
        enum sma_host host;
    } rows[] = {
        {"custom", "https://api.openai.com/v1", "m", SMA_HOST_OPENAI},
        {"custom", "https://me.openai.azure.com/openai/v1", "gpt-5", SMA_HOST_AZURE},
        {"custom", "https://API.DeepSeek.com", "m", SMA_HOST_DEEPSEEK},
        {"openai", "https://api.moonshot.ai/v1", "kimi-k3", SMA_HOST_MOONSHOT},
        {"custom", "https://api.z.ai/api/paas/v4", "glm-5.3", SMA_HOST_ZHIPU},
        {"custom", "https://u:p@openrouter.ai/api/v1?x", "m", SMA_HOST_OPENROUTER},
        {"custom", "https://notopenrouter.ai/v1", "m", SMA_HOST_OTHER},
        {"custom", "https://api.openai.com.evil.example/v1", "m", SMA_HOST_OTHER},
        {"custom", "https://x.example/api.openai.com", "m", SMA_HOST_OTHER},
        {"deepseek", "https://gateway.example/v1", "deepseek-flash", SMA_HOST_DEEPSEEK},
        {"openai", "https://gateway.example/v1", "gpt-5", SMA_HOST_OPENAI},
        {"openai", "https://gateway.example/v1", "llama-4", SMA_HOST_OTHER}, /* only its likeness */
        {"openai", "http://127.0.0.1:8000/v1", "gpt-oss-120b", SMA_HOST_LOCAL},
        {"anthropic", "https://gateway.example", "kimi-k3", SMA_HOST_OTHER},
        {"custom", "http://localhost:11434/v1", "m", SMA_HOST_OLLAMA},
        {"custom", "http://192.168.1.7:8080/v1", "m", SMA_HOST_LOCAL},
        {"custom", "http://172.20.0.3:8080/v1", "m", SMA_HOST_LOCAL},
        {"custom", "http://box.local:8080/v1", "m", SMA_HOST_LOCAL},
        {"custom", "http://172.200.0.3:8080/v1", "m", SMA_HOST_OTHER},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].host,
                  profile_of(SMA_LLM_CHAT, rows[i].provider, rows[i].url, rows[i].model).host);
}

CASE(a_model_is_known_under_all_its_names)
{
    static const struct
    {
        const char *model;
        uint32_t window, output;
    } rows[] = {
        {"claude-opus-4-5-20251101", 200000, 64000},
        {"anthropic/claude-sonnet-5.5", 1000000, 128000},
        {"Claude-Haiku-4.5:beta", 200000, 64000},
        {"gpt-6.1-sol", 272000, 128000},
        {"gpt-5.4-mini", 400000, 128000},
        {"gpt-5", 400000, 128000},
        {"gpt-4.1-nano-2025-04-14", 1047576, 32768},
        {"gpt-4x", 128000, 0}, /* begins like another one */
        {"gpt-50", 128000, 0},
        {"glm-5.3-flash", 1000000, 131072},
        {"unheard-of", 128000, 0},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_profile profile =
            profile_of(SMA_LLM_CHAT, "custom", "https://x.example", rows[i].model);
        CHECK_INT(rows[i].window, profile.window_tokens);
        CHECK_INT(rows[i].output, profile.output_max);
        CHECK(profile.is_known == (rows[i].output != 0));
    }
    struct sma_config_llm llm = llm_of(SMA_LLM_CHAT, "custom", "https://x.example", "gpt-5");
    struct sma_profile profile;
    llm.context_tokens = 9000;
    sma_profile_find(&llm, &profile);
    CHECK_INT(9000, profile.window_tokens);
}

CASE(reasoning_goes_back_as_each_provider_wants_it)
{
    struct sma_config_llm llm =
        llm_of(SMA_LLM_CHAT, "deepseek", "https://api.deepseek.com", "deepseek-flash");
    struct sma_profile profile;
    sma_profile_find(&llm, &profile);
    CHECK(profile.echo == SMA_ECHO_EVERY);
    CHECK_TEXT("reasoning_content", profile.echo_member);
    llm.effort = "none";
    sma_profile_find(&llm, &profile);
    CHECK(profile.echo == SMA_ECHO_NEVER);
    profile = profile_of(SMA_LLM_CHAT, "qwen", "https://dashscope.aliyuncs.com/v1", "qwen3.8-max");
    CHECK(profile.echo == SMA_ECHO_CALLS);
    profile = profile_of(SMA_LLM_CHAT, "gemini", "https://generativelanguage.googleapis.com/x",
                         "gemini-4-argon");
    CHECK(profile.has_call_signatures && profile.has_hidden_reasoning);
    profile = profile_of(SMA_LLM_RESPONSES, "openai", "https://api.openai.com/v1", "gpt-4o");
    CHECK(!profile.has_encrypted_reasoning);
    profile = profile_of(SMA_LLM_RESPONSES, "custom", "https://me.openai.azure.com/v1", "gpt-5");
    CHECK(profile.has_encrypted_reasoning);
}

/* -- prices ------------------------------------------------------------------------------------ */
CASE(a_usage_has_its_price)
{
    struct sma_config_llm llm =
        llm_of(SMA_LLM_MESSAGES, "anthropic", "https://api.anthropic.com/v1", "claude-opus-5-5");
    struct sma_profile profile;
    struct sma_usage usage = {
        .request_count = 1, .input = 1000, .cached = 100000, .written = 2000, .output = 500};
    sma_profile_find(&llm, &profile);
    /* 1,000 at 4, 100,000 at 0.2, 2,000 at 5, 500 at 20 dollars a million */
    CHECK_INT(4000000 + 20000000 + 10000000 + 10000000,
              (int64_t)sma_profile_cost_nano(&llm, &profile, &usage));
    llm.has_prices = true;
    llm.price_input = llm.price_cached = llm.price_written = 1;
    llm.price_output = 2;
    CHECK_INT(104000000, (int64_t)sma_profile_cost_nano(&llm, &profile, &usage));
    llm = llm_of(SMA_LLM_RESPONSES, "openai", "https://api.openai.com/v1", "gpt-6.1-sol");
    sma_profile_find(&llm, &profile);
    usage = (struct sma_usage){.request_count = 1, .input = 272000, .output = 1000};
    CHECK_INT(272000 * 2000 + 1000 * 10000, (int64_t)sma_profile_cost_nano(&llm, &profile, &usage));
    usage.input = 272001; /* the whole request costs more */
    CHECK_INT(272001LL * 4000 + 1000 * 15000,
              (int64_t)sma_profile_cost_nano(&llm, &profile, &usage));
    usage.request_count = 2;
    CHECK_INT(272001LL * 2000 + 1000 * 10000,
              (int64_t)sma_profile_cost_nano(&llm, &profile, &usage));
    llm.model = "unheard-of";
    sma_profile_find(&llm, &profile);
    CHECK_INT(0, (int64_t)sma_profile_cost_nano(&llm, &profile, &usage));
}

/* -- lines ------------------------------------------------------------------------------------- */
static void join(void *user, const char *line)
{
    struct sma_buf *buf = user;
    sma_buf_put_text(buf, line);
    sma_buf_put_char(buf, '|');
}

static bool says(const char *model, const char *url, const char *today, const char *line)
{
    struct sma_config_llm llm = llm_of(SMA_LLM_MESSAGES, "anthropic", url, model);
    struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_profile_check(&llm, "llm", today, join, &buf);
    bool is_said = line == NULL ? buf.len == 0 : buf.len > 0 && strstr(buf.ptr, line) != NULL;
    if (!is_said)
        fprintf(stderr, "%s, %s: %s\n", model, today, buf.len == 0 ? "" : buf.ptr);
    sma_buf_fini(&buf);
    return is_said;
}

CASE(the_end_of_a_model_is_said_before_it_comes)
{
    static const char home[] = "https://api.anthropic.com/v1";
    CHECK(says("claude-sonnet-4-5", home, "2026-08-31", NULL)); /* 91 days before */
    CHECK(says("claude-sonnet-4-5", home, "2026-09-01",
               "is switched off by its provider on "
               "2026-11-30; use \"claude-sonnet-5-5\""));
    CHECK(says("claude-sonnet-4-5", home, "2026-11-30", "was switched off by its provider"));
    CHECK(says("claude-sonnet-4-5", home, "2027-03-01", "was switched off by its provider"));
    CHECK(says("claude-opus-5-5", home, "2026-11-22", NULL));
}

/* -- refused members --------------------------------------------------------------------------- */
static void render(struct sma_buf *buf, const struct sma_target *target)
{
    static const struct sma_tool_spec tool = {{"now", 3}, {"", 0}, {"", 0}};
    static const struct sma_str blocks[] = {{"hi", 2}};
    sma_buf_clear(buf);
    target->wire->put_head(buf, target, SMA_STR("S"), &tool, 1);
    target->wire->put_user(buf, target, blocks, 1);
    target->wire->put_tail(buf, target, SMA_STR("key"));
}

CASE(what_is_refused_is_left_out)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *provider, *model, *refused, *gone;
    } rows[] = {
        {SMA_LLM_CHAT, "custom", "m", "temperature", "\"temperature\""},
        {SMA_LLM_CHAT, "custom", "m", "top_p", "\"top_p\""},
        {SMA_LLM_CHAT, "custom", "m", "frequency_penalty", "\"frequency_penalty\""},
        {SMA_LLM_CHAT, "custom", "m", "stream_options.include_usage", "\"stream_options\""},
        {SMA_LLM_CHAT, "custom", "m", "max_tokens", "\"max_tokens\""},
        {SMA_LLM_CHAT, "custom", "m", "reasoning_effort", "\"reasoning_effort\""},
        {SMA_LLM_CHAT, "openai", "gpt-5", "max_completion_tokens", "\"max_completion_tokens\""},
        {SMA_LLM_CHAT, "openai", "gpt-5", "prompt_cache_key", "\"prompt_cache_key\""},
        {SMA_LLM_CHAT, "openai", "gpt-6-luna", "messages[0].content[0].prompt_cache_breakpoint",
         "prompt_cache_breakpoint"},
        {SMA_LLM_CHAT, "deepseek", "deepseek-flash", "thinking.type", "\"thinking\""},
        {SMA_LLM_CHAT, "qwen", "qwen3.8-max", "enable_thinking", "\"enable_thinking\""},
        {SMA_LLM_CHAT, "openrouter", "anthropic/claude-opus-5.5",
         "messages.0.content.0.cache_control", "\"cache_control\""},
        {SMA_LLM_CHAT, "openrouter", "anthropic/claude-opus-5.5", "cache_control",
         "\"cache_control\""},
        {SMA_LLM_CHAT, "custom", "m", "provider", "\"provider\""}, /* of llm.extraBody */
        {SMA_LLM_RESPONSES, "openai", "gpt-5", "include", "\"include\""},
        {SMA_LLM_RESPONSES, "openai", "gpt-5", "reasoning.encrypted_content", "\"include\""},
        {SMA_LLM_RESPONSES, "openai", "gpt-5", "reasoning.effort", "\"reasoning\""},
        {SMA_LLM_RESPONSES, "openai", "gpt-5", "store", "\"store\""},
        {SMA_LLM_RESPONSES, "openai", "gpt-5", "tools[0].strict", "\"strict\""},
        {SMA_LLM_RESPONSES, "openai", "gpt-5", "max_output_tokens", "\"max_output_tokens\""},
        {SMA_LLM_RESPONSES, "openai", "gpt-6-luna", "prompt_cache_breakpoint",
         "prompt_cache_breakpoint"},
        {SMA_LLM_MESSAGES, "anthropic", "claude-opus-4-8", "output_config.effort",
         "\"output_config\""},
        {SMA_LLM_MESSAGES, "anthropic", "claude-opus-4-8", "thinking.type", "\"thinking\""},
        {SMA_LLM_MESSAGES, "anthropic", "claude-opus-4-8", "cache_control",
         "\"stream\":true,\"cache_control\""},
        {SMA_LLM_MESSAGES, "anthropic", "claude-opus-4-8", "system.0.cache_control",
         "\"text\":\"S\",\"cache_control\""},
        {SMA_LLM_MESSAGES, "anthropic", "claude-opus-4-8", "max_tokens", "\"max_tokens\":99,"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_config_llm llm = test_llm(rows[i].api, rows[i].provider);
        llm.base_url = "https://x.example";
        llm.model = rows[i].model;
        llm.effort = "high";
        llm.extra_body_json = "{\"provider\":{\"order\":[\"a,b\"]},\"seed\":1}";
        llm.has_temperature = llm.has_top_p = llm.has_frequency_penalty = true;
        llm.max_tokens = 99;
        struct sma_target target;
        sma_target_init(&target, &llm);
        struct sma_buf buf;
        sma_buf_init(&buf, 65536);
        render(&buf, &target);
        if (strstr(buf.ptr, rows[i].gone) == NULL)
            fprintf(stderr, "%s is not sent: %s\n", rows[i].gone, buf.ptr);
        CHECK(strstr(buf.ptr, rows[i].gone) != NULL);
        CHECK(sma_target_refuse(&target, sma_str(rows[i].refused)));
        render(&buf, &target);
        if (strstr(buf.ptr, rows[i].gone) != NULL)
            fprintf(stderr, "%s is still sent: %s\n", rows[i].gone, buf.ptr);
        CHECK(strstr(buf.ptr, rows[i].gone) == NULL);
        CHECK(strstr(buf.ptr, "\"seed\":1}") != NULL); /* the rest stays */
        sma_buf_fini(&buf);
    }
}

/* Repeating the same bytes is no cure. */
CASE(only_what_changes_the_request_is_a_cure)
{
    struct sma_config_llm llm = llm_of(SMA_LLM_CHAT, "custom", "https://x.example", "m");
    struct sma_target target;
    sma_target_init(&target, &llm);
    static const char *const useless[] = {"temperature",
                                          "",
                                          "messages",
                                          "tools[0].parameters",
                                          "model",
                                          "seed",
                                          "prompt_cache_key",
                                          "cache_control",
                                          "a.name.that.is.much.longer.than.any.member.that.is.sent",
                                          "...",
                                          "tools"};
    for (size_t i = 0; i < SMA_COUNT_OF(useless); i++)
        CHECK(!sma_target_refuse(&target, sma_str(useless[i])));
    CHECK_INT(0, (int)target.refused_count);
    CHECK(sma_target_refuse(&target, SMA_STR("stream_options")));
    CHECK(!sma_target_refuse(&target, SMA_STR("stream_options"))); /* known */
}

CASE(a_refused_cap_takes_its_other_name)
{
    struct sma_config_llm llm = llm_of(SMA_LLM_CHAT, "custom", "https://x.example", "m");
    llm.max_tokens = 50;
    struct sma_target target;
    sma_target_init(&target, &llm);
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    CHECK(sma_target_refuse(&target, SMA_STR("max_tokens")));
    render(&buf, &target);
    CHECK(strstr(buf.ptr, "\"max_completion_tokens\":50,") != NULL);
    CHECK(sma_target_refuse(&target, SMA_STR("max_completion_tokens")));
    render(&buf, &target);
    CHECK(strstr(buf.ptr, "_tokens") == NULL);
    /* Too large it is called by its first name, whichever was sent. */
    sma_target_init(&target, &llm);
    CHECK(sma_target_refuse(&target, SMA_STR("max_tokens")));
    CHECK(sma_target_refuse(&target, SMA_STR("max_tokens")));
    sma_buf_clear(&buf);
    render(&buf, &target);
    CHECK(strstr(buf.ptr, "_tokens") == NULL);
    CHECK(!sma_target_refuse(&target, SMA_STR("max_tokens")));
}

/* -- what people add --------------------------------------------------------------------------- */
CASE(extra_members_win)
{
    struct sma_config_llm llm = llm_of(SMA_LLM_CHAT, "custom", "https://x.example", "m");
    llm.has_temperature = true;
    llm.temperature = 0.5;
    llm.max_tokens = 50;
    llm.extra_body_json =
        "{\"temperature\":1,\"max_completion_tokens\":7,\"x\":{\"y\":[\"}\\\"\"]}}";
    struct sma_target target;
    sma_target_init(&target, &llm);
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    target.wire->put_head(&buf, &target, SMA_STR(""), NULL, 0);
    target.wire->put_tail(&buf, &target, SMA_STR(""));
    CHECK_STR("{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
              "\"messages\":[],\"temperature\":1,\"max_completion_tokens\":7,"
              "\"x\":{\"y\":[\"}\\\"\"]}}",
              sma_buf_str(&buf));
}

/* -- caching ----------------------------------------------------------------------------------- */
CASE(marks_go_behind_the_last_part)
{
    struct sma_config_llm llm = llm_of(SMA_LLM_CHAT, "openrouter", "https://openrouter.ai/api/v1",
                                       "anthropic/claude-opus-5.5");
    struct sma_target target;
    sma_target_init(&target, &llm);
    static const struct sma_str block = {"hi }]}", 6};
    static const struct sma_tool_result results[] = {{.call_id = {"a", 1}, .content = {"one", 3}},
                                                     {.call_id = {"b", 1}, .content = {"two", 3}}};
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    size_t at = 0;
    target.wire->put_user(&buf, &target, &block, 1);
    CHECK(target.wire->find_mark(sma_buf_str(&buf), &at));
    CHECK_STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi }]}\"",
              ((struct sma_str){buf.ptr, at}));
    sma_buf_clear(&buf);
    target.wire->put_results(&buf, &target, results, 2);
    CHECK(target.wire->find_mark(sma_buf_str(&buf), &at));
    CHECK(at == buf.len - 3);
    CHECK_STR(",\"cache_control\":{\"type\":\"ephemeral\"}", sma_target_mark(&target));
    sma_buf_clear(&buf);
    target.wire->put_user(&buf, NULL, &block, 1); /* a string that ends like a list */
    CHECK(!target.wire->find_mark(sma_buf_str(&buf), &at));
}

CASE(who_caches_by_marks)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *provider, *url, *model;
        bool has_marks;
    } rows[] = {
        {SMA_LLM_MESSAGES, "anthropic", "https://api.anthropic.com/v1", "claude-opus-5-5", false},
        {SMA_LLM_MESSAGES, "custom", "https://gateway.example", "claude-opus-5-5", true},
        {SMA_LLM_CHAT, "openrouter", "https://openrouter.ai/api/v1", "qwen/qwen3.8-max", true},
        {SMA_LLM_CHAT, "openrouter", "https://openrouter.ai/api/v1", "openai/gpt-5", false},
        {SMA_LLM_CHAT, "qwen", "https://dashscope.aliyuncs.com/v1", "qwen3.8-max", true},
        {SMA_LLM_CHAT, "openai", "https://api.openai.com/v1", "gpt-6-luna", false},
        {SMA_LLM_CHAT, "deepseek", "https://api.deepseek.com", "deepseek-flash", false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_config_llm llm =
            llm_of(rows[i].api, rows[i].provider, rows[i].url, rows[i].model);
        struct sma_target target;
        sma_target_init(&target, &llm);
        CHECK((sma_target_mark(&target).len > 0) == rows[i].has_marks);
    }
    /* A proxy in front of Anthropic that does not know the member of the request: marks instead. */
    struct sma_config_llm llm =
        llm_of(SMA_LLM_MESSAGES, "anthropic", "https://api.anthropic.com/v1", "claude-opus-5-5");
    struct sma_target target;
    sma_target_init(&target, &llm);
    CHECK(sma_target_refuse(&target, SMA_STR("cache_control")));
    CHECK(sma_target_mark(&target).len > 0);
    CHECK(sma_target_refuse(&target, SMA_STR("cache_control"))); /* nor marks: nothing */
    CHECK(sma_target_mark(&target).len == 0);
}

/* -- messages of other models ------------------------------------------------------------------ */
CASE(foreign_calls_have_the_form_each_provider_takes)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *provider, *model, *text, *wanted;
    } rows[] = {
        {SMA_LLM_CHAT, "deepseek", "deepseek-flash", " \n",
         "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"\",\"tool_calls\":[{"
         "\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
         "\"{\\\"x\\\":1}\"}},{\"id\":\"d\",\"type\":\"function\",\"function\":{\"name\":\"g\","
         "\"arguments\":\"{\\\"invalid_arguments\\\":\\\"{\\\"}\"}}]}"},
        {SMA_LLM_CHAT, "gemini", "gemini-4-argon", "T",
         "{\"role\":\"assistant\",\"content\":\"T\",\"tool_calls\":[{\"id\":\"c\",\"type\":"
         "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"},"
         "\"extra_content\":{\"google\":{\"thought_signature\":"
         "\"skip_thought_signature_validator\"}}},{\"id\":\"d\",\"type\":\"function\","
         "\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"invalid_arguments\\\":\\\"{\\\"}\"}}"
         "]}"},
        {SMA_LLM_RESPONSES, "openai", "gpt-5", "T",
         "{\"role\":\"assistant\",\"content\":\"T\"},{\"type\":\"function_call\",\"call_id\":\"c\","
         "\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"},{\"type\":\"function_call\",\"call_id\":"
         "\"d\",\"name\":\"g\",\"arguments\":\"{\\\"invalid_arguments\\\":\\\"{\\\"}\"}"},
        {SMA_LLM_MESSAGES, "anthropic", "claude-opus-5-5", "",
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\","
         "\"input\":{\"x\":1}},{\"type\":\"tool_use\",\"id\":\"d\",\"name\":\"g\",\"input\":{"
         "\"invalid_arguments\":\"{\"}}]}"},
    };
    static const struct sma_model_call calls[] = {
        {.id = {"c", 1}, .name = {"f", 1}, .arguments = {"{\"x\":1}", 7}},
        {.id = {"d", 1}, .name = {"g", 1}, .arguments = {"{", 1}, .is_invalid = true}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_config_llm llm =
            llm_of(rows[i].api, rows[i].provider, "https://x.example", rows[i].model);
        struct sma_target target;
        sma_target_init(&target, &llm);
        struct sma_buf buf;
        sma_buf_init(&buf, 65536);
        target.wire->put_assistant(&buf, &target, sma_str(rows[i].text), calls, 2);
        CHECK_STR(rows[i].wanted, sma_buf_str(&buf));
        sma_buf_clear(&buf);
        target.wire->put_assistant(&buf, &target, SMA_STR(" "), NULL, 0);
        CHECK_INT(0, (int)buf.len);
        sma_buf_fini(&buf);
    }
}

CASE(ids_of_calls_fit_everywhere)
{
    static const char *const plain[] = {"call_1", "toolu_01ABC-x"};
    static const char *const others[] = {"functions.now:0", "", "a b",
                                         "0123456789012345678901234567890123456789x"};
    struct sma_buf buf, again;
    sma_buf_init(&buf, 256);
    sma_buf_init(&again, 256);
    for (size_t i = 0; i < SMA_COUNT_OF(plain); i++) {
        sma_buf_clear(&buf);
        sma_wire_put_call_id(&buf, sma_str(plain[i]));
        CHECK_TEXT(plain[i], buf.ptr);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        sma_buf_clear(&buf);
        sma_buf_clear(&again);
        sma_wire_put_call_id(&buf, sma_str(others[i]));
        sma_wire_put_call_id(&again, sma_str(others[i]));
        CHECK_TEXT(buf.ptr, again.ptr);
        CHECK(buf.len <= 40 && strncmp(buf.ptr, "call_", 5) == 0);
        CHECK(buf.ptr[5 + strspn(buf.ptr + 5, "0123456789abcdef")] == '\0');
    }
    sma_buf_fini(&buf);
    sma_buf_fini(&again);
}

/* -- pictures ---------------------------------------------------------------------------------- */
/* Measured: protocols/models.md §4.3. */
CASE(a_picture_costs_what_its_provider_counts)
{
    static const struct
    {
        const char *provider, *url, *model;
        enum sma_llm_api api;
        uint32_t width, height, tokens;
    } rows[] = {
        {"anthropic", "https://api.anthropic.com", "claude-opus-5-5", SMA_LLM_MESSAGES, 1024, 1024,
         1369},
        {"anthropic", "https://api.anthropic.com", "claude-opus-5-5", SMA_LLM_MESSAGES, 1920, 1080,
         2691},
        {"anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", SMA_LLM_MESSAGES, 1568,
         1568, 1568},
        {"openai", "https://api.openai.com/v1", "gpt-4o", SMA_LLM_CHAT, 1024, 1024, 765},
        {"gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro",
         SMA_LLM_CHAT, 4000, 4000, 1101},
        {"deepseek", "https://api.deepseek.com", "deepseek-flash", SMA_LLM_CHAT, 2000, 2000, 384},
        {"moonshot", "https://api.moonshot.cn/v1", "kimi-k3", SMA_LLM_CHAT, 500, 500, 1024},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_profile profile =
            profile_of(rows[i].api, rows[i].provider, rows[i].url, rows[i].model);
        struct sma_part part = {
            .kind = SMA_PART_IMAGE, .width = rows[i].width, .height = rows[i].height};
        CHECK_INT(rows[i].tokens, sma_part_tokens(&profile, &part));
    }
}

CASES_MAIN
