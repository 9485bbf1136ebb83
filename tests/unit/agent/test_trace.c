/*
 * Aim: what a run notes of its life comes back as stages with their times, stays within its bound,
 * and bytes that no program wrote do no harm.
 * Method: records written and read back as JSON; then every cut and many random changes of them.
 */
#include "runtime/agent/trace.h"
#include "support/check.h"

#include <jansson.h>

#define WALL 1700000000000
#define MS UINT64_C(1000000)

static json_t *read_back(struct sma_str bytes)
{
    struct sma_buf json;
    sma_buf_init(&json, 1024 * 1024);
    sma_buf_put_char(&json, '[');
    sma_trace_put_json(&json, bytes);
    sma_buf_put_char(&json, ']');
    json_error_t error;
    json_t *list = json_loadb(json.ptr, json.len, JSON_ALLOW_NUL, &error);
    if (list == NULL)
        fprintf(stderr, "%s: %s\n", error.text, json.ptr);
    CHECK(json_is_array(list));
    sma_buf_fini(&json);
    return list;
}

static const char *text_of(const json_t *stage, const char *member)
{
    const char *text = json_string_value(json_object_get(stage, member));
    return text == NULL ? "" : text;
}

static void write_all(struct sma_trace *trace)
{
    struct sma_run_order order = {.attempt = 2, .step_count = 3};
    order.stamps.read_ns = 1000 * MS;
    order.stamps.claimed_ns = 1002 * MS;
    sma_trace_begin(trace, WALL, 1010 * MS, &order);
    sma_trace_model(trace, WALL + 900,
                    &(struct sma_trace_model){.round = 1,
                                              .asked_ns = 1010 * MS,
                                              .now_ns = 1910 * MS,
                                              .target = SMA_STR("chat api.openai.com gpt")},
                    &(struct sma_model_answer){.status = SMA_MODEL_OK,
                                               .finish = SMA_FINISH_TOOLS,
                                               .usage = {.input = 10, .cached = 300, .output = 7},
                                               .out_ns = 1011 * MS,
                                               .first_token_ns = 1311 * MS});
    sma_trace_tool(trace, WALL + 950, SMA_STR("list_files"), 12, true);
    sma_trace_model(
        trace, WALL + 960, &(struct sma_trace_model){.asked_ns = 1950 * MS, .now_ns = 1960 * MS},
        &(struct sma_model_answer){.status = SMA_MODEL_FAILED, .trouble = SMA_MODEL_FAILURE_QUOTA});
    sma_trace_wait(trace, WALL + 970, 5000);
    sma_trace_durable(trace, WALL + 980);
    sma_trace_end(trace, WALL + 990, SMA_OUTCOME_FAILED);
}

CASE(a_life_comes_back_as_stages)
{
    static const char *const stages[] = {"read",  "claimed", "begun",   "model", "tool",
                                         "model", "waits",   "durable", "ended"};
    struct sma_trace trace = {.len = 0};
    write_all(&trace);
    json_t *list = read_back(sma_trace_bytes(&trace));
    CHECK_INT(SMA_COUNT_OF(stages), (long long)json_array_size(list));
    for (size_t i = 0; i < SMA_COUNT_OF(stages); i++)
        CHECK_TEXT(stages[i], text_of(json_array_get(list, i), "stage"));
    /* ten milliseconds before the run began */
    CHECK_TEXT("2023-11-14T22:13:19.990Z", text_of(json_array_get(list, 0), "at"));
    const json_t *begun = json_array_get(list, 2), *model = json_array_get(list, 3);
    CHECK_INT(2, json_integer_value(json_object_get(begun, "attempt")));
    CHECK_TEXT("ok", text_of(model, "outcome"));
    CHECK_TEXT("chat api.openai.com gpt", text_of(model, "target"));
    CHECK_INT(900, (long long)json_real_value(json_object_get(model, "ms")));
    CHECK_INT(300, (long long)json_real_value(json_object_get(model, "firstTokenMs")));
    CHECK_INT(300, json_integer_value(json_object_get(model, "cached")));
    CHECK_INT(12, json_integer_value(json_object_get(json_array_get(list, 4), "ms")));
    CHECK(json_is_true(json_object_get(json_array_get(list, 4), "isError")));
    CHECK_TEXT("quota", text_of(json_array_get(list, 5), "outcome"));
    CHECK(json_object_get(json_array_get(list, 5), "firstTokenMs") == NULL);
    CHECK_INT(5000, json_integer_value(json_object_get(json_array_get(list, 6), "waitMs")));
    CHECK_TEXT("failed", text_of(json_array_get(list, 8), "outcome"));
    json_decref(list);
}

CASE(what_does_not_fit_is_left_out_and_said)
{
    struct sma_trace trace = {.len = 0};
    for (int i = 0; i < 1000; i++)
        sma_trace_tool(&trace, WALL, SMA_STR("list_files"), 1, false);
    CHECK(trace.len <= sizeof trace.bytes && trace.len > sizeof trace.bytes - 40);
    json_t *list = read_back(sma_trace_bytes(&trace));
    size_t count = json_array_size(list);
    CHECK_TEXT("tool", text_of(json_array_get(list, count - 2), "stage"));
    CHECK_TEXT("left_out", text_of(json_array_get(list, count - 1), "stage"));
    json_decref(list);
    sma_trace_clear(&trace);
    sma_trace_end(&trace, WALL, SMA_OUTCOME_OK);
    list = read_back(sma_trace_bytes(&trace));
    CHECK_INT(1, (long long)json_array_size(list));
    json_decref(list);
}

CASE(a_long_name_is_cut_between_characters)
{
    struct sma_trace trace = {.len = 0};
    char name[3 * 60 + 1];
    for (size_t i = 0; i < 60; i++)
        memcpy(name + 3 * i, "\xe4\xb8\x9b", 3);
    name[3 * 60] = '\0';
    sma_trace_tool(&trace, WALL, sma_str(name), 1, false);
    json_t *list = read_back(sma_trace_bytes(&trace));
    CHECK_INT(99, (long long)strlen(text_of(json_array_get(list, 0), "tool")));
    json_decref(list);
}

CASE(bytes_of_nobody_do_no_harm)
{
    struct sma_trace trace = {.len = 0};
    write_all(&trace);
    for (size_t len = 0; len <= trace.len; len++)
        json_decref(read_back((struct sma_str){trace.bytes, len}));
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 5000; i++) {
        struct sma_trace changed = trace;
        for (int k = 0; k < 3; k++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            changed.bytes[random % changed.len] = (char)(random >> 32);
        }
        json_decref(read_back(sma_trace_bytes(&changed)));
    }
}

CASES_MAIN
