/*
 * Aim: requests have exactly the stated bytes on each wire, only configured members are written,
 *      and a longer session begins with the bytes of the shorter one. Method: golden strings.
 */
#include "runtime/model/target.h"
#include "sma/wire.h"
#include "support.h"

#include <jansson.h>

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

CASE(chat_heads)
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

CASE(responses_heads)
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

CASE(messages_heads)
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

CASE(fragments_have_their_form)
{
    static const struct
    {
        enum sma_llm_api api;
        const char *one, *two, *results, *assistant;
    } cases[] = {
        {SMA_LLM_CHAT, "{\"role\":\"user\",\"content\":\"a\\\"b\"}",
         "{\"role\":\"user\",\"content\":\"a\\\"b\\n\\n\xe6\x9d\xad\"}",
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

CASE(the_offline_model_talks_chat)
{
    CHECK(sma_wire_get(SMA_LLM_OFFLINE) == sma_wire_get(SMA_LLM_CHAT));
}

/* What people, files and other models leave in a history must not make every later request fail. */
CASE(odd_history_is_a_request_that_providers_take)
{
    static char huge[200000];
    memset(huge, 'n', sizeof huge - 1);
    const struct sma_str odd[] = {TEXT(""),
                                  TEXT("a\0b"),
                                  TEXT("\xff\xfe\x80"),
                                  TEXT("\xed\xa0\x80"),
                                  TEXT("a.b:c/d e"),
                                  TEXT("\x01\x7f\x1b[0m"),
                                  TEXT("名前"),
                                  {huge, sizeof huge - 1}};
    static const enum sma_llm_api apis[] = {SMA_LLM_CHAT, SMA_LLM_RESPONSES, SMA_LLM_MESSAGES};
    for (size_t k = 0; k < SMA_COUNT_OF(apis); k++)
        for (size_t i = 0; i < SMA_COUNT_OF(odd); i++) {
            struct sma_config_llm llm = test_llm(apis[k], "custom");
            struct sma_target target;
            struct sma_buf body;
            sma_target_init(&target, &llm);
            sma_buf_init(&body, 1 << 22);
            const struct sma_model_call call = {
                .id = SMA_STR("c1"), .name = odd[i], .arguments = SMA_STR("{}")};
            const struct sma_tool_result result = {
                .call_id = call.id, .name = call.name, .content = odd[i]};
            target.wire->put_head(&body, &target, odd[i], NULL, 0);
            target.wire->put_user(&body, &target, &odd[i], 1);
            sma_buf_put_char(&body, ',');
            target.wire->put_assistant(&body, &target, odd[i], &call, 1);
            sma_buf_put_char(&body, ',');
            target.wire->put_results(&body, &target, &result, 1);
            target.wire->put_tail(&body, &target, SMA_STR(""));
            CHECK_OK(body.err);
            json_t *root = json_loadb(body.ptr, body.len, JSON_ALLOW_NUL, NULL);
            CHECK(json_is_object(root));
            json_decref(root);
            const char *name = memmem(body.ptr, body.len, "\"name\":\"", 8);
            CHECK(name != NULL);
            size_t len = strspn(name + 8, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-");
            CHECK(len >= 1 && len <= 64 && name[8 + len] == '"');
            sma_buf_fini(&body);
        }
}

CASES_MAIN
