/*
 * Aim: requests have exactly the stated bytes on each wire, only configured members are written,
 *      and a longer session begins with the bytes of the shorter one. Method: golden strings.
 */
#include "runtime/model/target.h"
#include "sma/wire.h"
#include "support.h"

#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }

static const struct sma_tool_spec tools[] = {
    {TEXT("chat_send"), TEXT("Send \"it\"."),
     TEXT("{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}")},
    {TEXT("now"), TEXT(""), TEXT("")},
};

static void check_head(enum sma_llm_api api, const struct sma_config_llm *llm, const char *system,
                       size_t tool_count, const char *wanted)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    struct sma_target target;
    sma_target_init(&target, llm);
    CHECK(target.wire == sma_wire_get(api));
    target.wire->put_head(&buf, &target, sma_str(system), tools, tool_count);
    CHECK_STR(wanted, sma_buf_str(&buf));
    sma_buf_fini(&buf);
}

static void chat_heads(void)
{
    struct sma_config_llm llm = test_llm(SMA_LLM_CHAT, "custom");
    check_head(
        SMA_LLM_CHAT, &llm, "S", 2,
        "{\"model\":\"m-1\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"chat_send\","
        "\"description\":\"Send "
        "\\\"it\\\".\",\"parameters\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
        "\"string\"}}}}},{\"type\":\"function\",\"function\":{\"name\":\"now\",\"description\":"
        "\"\",\"parameters\":"
        "{\"type\":\"object\",\"properties\":{}}}}],\"messages\":[{\"role\":\"system\",\"content\":"
        "\"S\"},");
    llm.is_stream = false;
    check_head(SMA_LLM_CHAT, &llm, "", 0, "{\"model\":\"m-1\",\"messages\":[");
    llm.is_stream = true;
    llm.has_temperature = llm.has_top_p = llm.has_frequency_penalty = llm.has_presence_penalty =
        true;
    llm.temperature = 0.7;
    llm.top_p = 1;
    llm.frequency_penalty = -0.1;
    llm.presence_penalty = 1e-7;
    llm.max_tokens = 99;
    check_head(
        SMA_LLM_CHAT, &llm, "", 0,
        "{\"model\":\"m-1\",\"max_tokens\":99,\"temperature\":0.7,\"top_p\":1,\"frequency_"
        "penalty\":-0.1,"
        "\"presence_penalty\":1e-07,\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"messages\":[");
    llm = test_llm(SMA_LLM_CHAT, "openai");
    llm.base_url = "https://api.openai.com/v1";
    llm.max_tokens = 99;
    check_head(SMA_LLM_CHAT, &llm, "", 0,
               "{\"model\":\"m-1\",\"max_completion_tokens\":99,\"stream\":true,\"stream_options\":"
               "{\"include_usage\":true},"
               "\"messages\":[");
    llm.provider = "custom";
    llm.base_url = "https://api.deepseek.com";
    check_head(SMA_LLM_CHAT, &llm, "", 0,
               "{\"model\":\"m-1\",\"max_tokens\":99,\"stream\":true,\"stream_options\":{\"include_"
               "usage\":true},"
               "\"messages\":[");
}

static void responses_heads(void)
{
    struct sma_config_llm llm = test_llm(SMA_LLM_RESPONSES, "openai");
    llm.base_url = "https://api.openai.com/v1";
    llm.model = "gpt-5";
    llm.max_tokens = 5;
    check_head(SMA_LLM_RESPONSES, &llm, "S\n", 2,
               "{\"model\":\"gpt-5\",\"store\":false,\"include\":[\"reasoning.encrypted_content\"],"
               "\"max_output_tokens\":16," /* less is refused */
               "\"stream\":true,\"tools\":[{\"type\":\"function\",\"name\":\"chat_send\","
               "\"description\":\"Send \\\"it\\\".\","
               "\"parameters\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}"
               "},\"strict\":false},"
               "{\"type\":\"function\",\"name\":\"now\",\"description\":\"\",\"parameters\":{"
               "\"type\":\"object\",\"properties\":"
               "{}},\"strict\":false}],\"instructions\":\"S\\n\",\"input\":[");
    llm = test_llm(SMA_LLM_RESPONSES, "custom");
    llm.is_stream = false;
    check_head(SMA_LLM_RESPONSES, &llm, "", 0, "{\"model\":\"m-1\",\"store\":false,\"input\":[");
}

static void messages_heads(void)
{
    struct sma_config_llm llm = test_llm(SMA_LLM_MESSAGES, "anthropic");
    llm.model = "claude-sonnet-4-5";
    llm.has_temperature = true;
    llm.temperature = 0.5;
    check_head(SMA_LLM_MESSAGES, &llm, "S", 1,
               "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":64000,\"temperature\":0.5,"
               "\"stream\":true,\"cache_control\":{\"type\":\"ephemeral\"},\"tools\":[{\"name\":"
               "\"chat_send\",\"description\":\"Send "
               "\\\"it\\\".\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"text\":"
               "{\"type\":\"string\"}}}}],\"system\":[{\"type\":\"text\",\"text\":\"S\",\"cache_"
               "control\":{\"type\":"
               "\"ephemeral\"}}],\"messages\":[");
    llm.model = "unheard-of"; /* a provider that only speaks like it: no member it may not know */
    llm.anthropic_version = "2026-10-21"; /* refuses sampling members */
    check_head(SMA_LLM_MESSAGES, &llm, "", 0,
               "{\"model\":\"unheard-of\",\"max_tokens\":16384,\"stream\":true,\"messages\":[");
    static const struct
    {
        const char *model;
        int max_tokens;
    } models[] = {
        {"claude-opus-4-5-20251101", 64000}, {"claude-haiku-4-5", 64000},
        {"claude-sonnet-5-5", 64000},        {"claude-fable-5-2", 64000},
        {"claude-sonnet-9", 64000}, /* a family of later is no stranger */
    };
    for (size_t i = 0; i < SMA_COUNT_OF(models); i++) {
        char wanted[256];
        llm.model = models[i].model;
        snprintf(wanted, sizeof wanted,
                 "{\"model\":\"%s\",\"max_tokens\":%d,\"stream\":true,\"cache_control\":{"
                 "\"type\":\"ephemeral\"},\"messages\":[",
                 models[i].model, models[i].max_tokens);
        check_head(SMA_LLM_MESSAGES, &llm, "", 0, wanted);
    }
}

static void fragments_have_their_form(void)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *one, *two, *results, *assistant;
    } cases[] = {
        {SMA_LLM_CHAT, "{\"role\":\"user\",\"content\":\"a\\\"b\"}",
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\\\"b\"},{\"type\":"
         "\"text\",\"text\":\"\xe6\x9d\xad\"}]}",
         "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"{\\\"x\\\":1}\"},{\"role\":"
         "\"tool\",\"tool_call_id\":\"c2\","
         "\"content\":\"\"}",
         "{\"role\":\"assistant\",\"content\":\"t\"}"},
        {SMA_LLM_RESPONSES, "{\"role\":\"user\",\"content\":\"a\\\"b\"}",
         "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\\\"b\"},{\"type\":"
         "\"input_text\",\"text\":"
         "\"\xe6\x9d\xad\"}]}",
         "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"{\\\"x\\\":1}\"},{"
         "\"type\":"
         "\"function_call_output\",\"call_id\":\"c2\",\"output\":\"\"}",
         "{\"role\":\"assistant\",\"content\":\"t\"}"},
        {SMA_LLM_MESSAGES, "{\"role\":\"user\",\"content\":\"a\\\"b\"}",
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\\\"b\"},{\"type\":"
         "\"text\",\"text\":\"\xe6\x9d\xad\"}]}",
         "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\","
         "\"content\":\"{\\\"x\\\":1}\"},"
         "{\"type\":\"tool_result\",\"tool_use_id\":\"c2\",\"is_error\":true}]}",
         "{\"role\":\"assistant\",\"content\":\"t\"}"},
    };
    static const struct sma_str blocks[] = {{"a\"b", 3}, {"", 0}, {"\xe6\x9d\xad", 3}};
    static const struct sma_tool_result results[] = {
        {.call_id = {"c1", 2}, .name = {"f", 1}, .content = {"{\"x\":1}", 7}},
        {.call_id = {"c2", 2}, .name = {"g", 1}, .content = {"", 0}, .is_error = true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct sma_wire *wire = sma_wire_get(cases[i].api);
        struct sma_buf buf;
        sma_buf_init(&buf, 65536);
        wire->put_user(&buf, NULL, blocks,
                       2); /* the empty block is left out: one remains, as a string */
        CHECK_STR(cases[i].one, sma_buf_str(&buf));
        sma_buf_clear(&buf);
        wire->put_user(&buf, NULL, blocks, 3);
        CHECK_STR(cases[i].two, sma_buf_str(&buf));
        sma_buf_clear(&buf);
        wire->put_results(&buf, NULL, results, 2);
        CHECK_STR(cases[i].results, sma_buf_str(&buf));
        sma_buf_clear(&buf);
        wire->put_assistant_text(&buf, NULL, SMA_STR("t"));
        CHECK_STR(cases[i].assistant, sma_buf_str(&buf));
        sma_buf_fini(&buf);
    }
}

static void wires_are_found_by_name(void)
{
    CHECK(sma_wire_find(SMA_STR("chat")) == sma_wire_get(SMA_LLM_CHAT));
    CHECK(sma_wire_find(SMA_STR("responses")) == sma_wire_get(SMA_LLM_RESPONSES));
    CHECK(sma_wire_find(SMA_STR("messages")) == sma_wire_get(SMA_LLM_MESSAGES));
    CHECK(sma_wire_get(SMA_LLM_OFFLINE) == sma_wire_get(SMA_LLM_CHAT));
    CHECK(sma_wire_find(SMA_STR("other")) == NULL);
}

int main(void)
{
    RUN(chat_heads);
    RUN(responses_heads);
    RUN(messages_heads);
    RUN(fragments_have_their_form);
    RUN(wires_are_found_by_name);
    return check_summary();
}
