/*
 * Aim: what passes is overcome by repeating, what lasts ends, and deadlines count data only.
 *      Method: fake_model misbehaves by directives in the user's text; the times given to the
 *      actor are short.
 */
#include "harness.h"
#include "support/check.h"
#include "support/patience.h"

#include <time.h>

#define MS UINT64_C(1000000)

CASE(passing_faults_are_overcome)
{
    static const char *const texts[] = {
        "a [[fault:429 retry-after-ms=20]]",
        "b [[fault:500 retry-after-ms=20]]",
        "c [[fault:503 retry-after-ms=20 times=2]]",
        "d [[fault:529 retry-after-ms=20]]",
        "e [[fault:408 retry-after-ms=20]]",
        "f [[fault:cut]]",
        "g [[fault:error200]]",
        "h [[fault:garbage]]",
        "i [[fault:reset]]",
        "j [[fault:silence ms=9000]]",
        "k [[fault:stall ms=9000]]",
        "l [[fault:page200]]",
        "m [[fault:html]]",
        "n [[fault:400 should-retry=1 retry-after-ms=20]]",
    };
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    size_t records[SMA_COUNT_OF(texts)];
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        records[i] = harness_ask(harness, texts[i]);
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        harness_check_said(harness_wait(harness, records[i]), texts[i]);
    CHECK_INT(2 * SMA_COUNT_OF(texts) + 1, harness_requests(harness, NULL));
}

CASE(lasting_faults_end_after_two_repetitions)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record =
        harness_wait(harness, harness_ask(harness, "x [[fault:503 retry-after-ms=5 times=9]]"));
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK_INT(1 + SMA_MODEL_RETRY_COUNT_MAX, harness_requests(harness, NULL));
}

CASE(retry_after_is_honoured)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    size_t slow = harness_ask(harness, "x [[fault:429 retry-after=1]]");
    size_t fast = harness_ask(harness, "y [[fault:429 retry-after=5 retry-after-ms=100]]");
    const struct harness_record *record = harness_wait(harness, fast);
    harness_check_said(record, "y [[fault:429 retry-after=5 retry-after-ms=100]]");
    CHECK(record->answered_ns - record->asked_ns >= 100 * MS);
    CHECK(record->answered_ns - record->asked_ns < 4000 * MS);
    record = harness_wait(harness, slow);
    CHECK(record->answered_ns - record->asked_ns >= 1000 * MS);
}

CASE(comments_do_not_count_as_data)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.first_byte_ms = 100;
    llm.total_ms = 600;
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record = harness_wait(
        harness, harness_ask(harness, "x [[fault:comments count=2000 ms=10 times=9]]"));
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK(strstr(record->error, "s; try again later") != NULL);
    CHECK(record->answered_ns - record->asked_ns < 3000 * MS * PATIENCE);
}

CASE(the_total_limit_holds_while_data_drips)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.total_ms = 300;
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record =
        harness_wait(harness, harness_ask(harness, "x [[fault:drip bytes=20 ms=30 times=9]]"));
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK(strstr(record->error, "did not finish within 0.3 s") != NULL);
}

CASES_MAIN
