/*
 * Aim: what servers say about their models is read in every shape they say it, and what is no list
 * is refused.
 * Method: bodies as the providers' documents show them, in miniature.
 */
#include "runtime/model/models_list.h"
#include "sma/buf.h"
#include "support/check.h"

static struct sma_models_list parse(const char *body)
{
    struct sma_models_list list = {0};
    CHECK_OK(sma_models_list_parse(sma_str(body), &list));
    return list;
}

CASE(lists_of_all_providers_are_read)
{
    static const struct
    {
        const char *body, *id;
        uint64_t window, output;
        const char *ends;
    } cases[] = {
        {"{\"object\":\"list\",\"data\":[{\"id\":\"gpt-6-luna\",\"object\":\"model\",\"owned_by\":"
         "\"openai\"}]}",
         "gpt-6-luna", 0, 0, ""},
        {"{\"data\":[{\"type\":\"model\",\"id\":\"claude-sonnet-5-5\",\"max_input_tokens\":1000000,"
         "\"max_tokens\":128000,\"lifecycle\":\"active\",\"retires_at\":\"2027-09-28T00:00:00Z\"}],"
         "\"has_more\":false}",
         "claude-sonnet-5-5", 1000000, 128000, "2027-09-28T00:00:00Z"},
        {"{\"data\":[{\"id\":\"a/"
         "b\",\"context_length\":262144,\"top_provider\":{\"context_length\":"
         "131072,\"max_completion_tokens\":32768},\"expiration_date\":\"2026-12-01\"}]}",
         "a/b", 131072, 32768, "2026-12-01"},
        {"{\"data\":[{\"id\":\"qwen\",\"max_model_len\":32768}]}", "qwen", 32768, 0, ""},
        {"{\"models\":[{\"name\":\"models/gemini-3.8-flash\",\"inputTokenLimit\":1048576,"
         "\"outputTokenLimit\":65536}]}",
         "gemini-3.8-flash", 1048576, 65536, ""},
        {"{\"models\":[{\"name\":\"llama3:8b\",\"model\":\"llama3:8b\",\"size\":1}]}", "llama3:8b",
         0, 0, ""},
        {"[{\"id\":\"together/x\",\"context_length\":8192}]", "together/x", 8192, 0, ""},
        {"{\"id\":\"claude-opus-5\",\"max_input_tokens\":1000000,\"max_tokens\":128000}",
         "claude-opus-5", 1000000, 128000, ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_models_list list = parse(cases[i].body);
        CHECK_INT(1, list.count);
        const struct sma_model_facts *facts = sma_models_list_find(&list, cases[i].id);
        CHECK(facts != NULL);
        CHECK_INT(cases[i].window, facts->window_tokens);
        CHECK_INT(cases[i].output, facts->output_max);
        CHECK_TEXT(cases[i].ends, facts->ends);
        CHECK(!facts->is_retired && !facts->is_deprecated && !facts->has_no_tools);
        CHECK(sma_models_list_find(&list, "another") == NULL);
        sma_models_list_fini(&list);
    }
}

CASE(a_loaded_model_fits_every_name)
{
    struct sma_models_list list =
        parse("{\"default_generation_settings\":{\"n_ctx\":8192,\"params\":{}},\"total_slots\":1}");
    CHECK_INT(8192, sma_models_list_find(&list, "whatever")->window_tokens);
    sma_models_list_fini(&list);
    list = parse(
        "{\"model_info\":{\"general.architecture\":\"llama\",\"llama.context_length\":131072},"
        "\"capabilities\":[\"tools\"]}");
    CHECK_INT(131072, sma_models_list_find(&list, "x")->window_tokens);
    sma_models_list_fini(&list);
    list =
        parse("{\"model_info\":{\"llama.context_length\":131072},\"parameters\":\"stop \\\"x\\\"\\n"
              "num_ctx                        16384\"}");
    CHECK_INT(16384, sma_models_list_find(&list, "x")->window_tokens);
    sma_models_list_fini(&list);
}

CASE(the_window_of_a_server_is_read_under_any_name)
{
    static const char *const members[] = {
        "\"max_model_len\":4096",
        "\"n_ctx\":4096",
        "\"meta\":{\"n_ctx_train\":4096}",
        "\"loaded_context_length\":4096,\"max_context_length\":131072",
        "\"max_seq_len\":\"4096\"",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"data\":[{\"id\":\"m\",%s}]}", members[i]);
        struct sma_models_list list = parse(body);
        CHECK_INT(4096, sma_models_list_find(&list, "m")->window_tokens);
        sma_models_list_fini(&list);
    }
}

CASE(the_life_and_the_tools_of_a_model_are_told)
{
    struct sma_models_list list =
        parse("{\"data\":[{\"id\":\"old\",\"lifecycle\":{\"status\":\"deprecated\",\"retires_at\":"
              "\"2026-11-30\"}},{\"id\":\"gone\",\"lifecycle\":\"retired\"},"
              "{\"id\":\"mute\",\"supported_parameters\":[\"temperature\"]},"
              "{\"id\":\"handy\",\"supported_parameters\":[\"tools\"]},{\"object\":\"noise\"},7]}");
    CHECK_INT(4, list.count);
    CHECK(sma_models_list_find(&list, "old")->is_deprecated);
    CHECK_TEXT("2026-11-30", sma_models_list_find(&list, "old")->ends);
    CHECK(sma_models_list_find(&list, "gone")->is_retired);
    CHECK(sma_models_list_find(&list, "mute")->has_no_tools);
    CHECK(!sma_models_list_find(&list, "handy")->has_no_tools);
    sma_models_list_fini(&list);
}

CASE(what_is_no_list_is_refused)
{
    static const char *const bodies[] = {
        "",     "<html>",       "7", "\"x\"", "{}", "{\"error\":{\"message\":\"no\"}}",
        "null", "{\"data\":{}}"};
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++) {
        struct sma_models_list list = {0};
        CHECK_INT(SMA_ERR_BADINPUT, sma_models_list_parse(sma_str(bodies[i]), &list));
    }
}

CASE(a_list_is_bounded)
{
    for (size_t count = SMA_MODELS_COUNT_MAX - 1; count <= SMA_MODELS_COUNT_MAX + 1; count++) {
        struct sma_buf body;
        sma_buf_init(&body, SMA_MODELS_BYTES_MAX);
        sma_buf_put_text(&body, "{\"data\":[");
        for (size_t i = 0; i < count; i++)
            sma_buf_printf(&body, "%s{\"id\":\"m-%zu\"}", i == 0 ? "" : ",", i);
        sma_buf_put_text(&body, "]}");
        struct sma_models_list list = {0};
        CHECK_OK(sma_models_list_parse(sma_buf_str(&body), &list));
        CHECK_INT(count < SMA_MODELS_COUNT_MAX ? count : SMA_MODELS_COUNT_MAX, list.count);
        CHECK(list.is_cut == (count > SMA_MODELS_COUNT_MAX));
        sma_models_list_fini(&list);
        sma_buf_fini(&body);
    }
}

CASES_MAIN
