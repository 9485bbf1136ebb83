/*
 * Aim: the model actor keeps its promises against a real server over loopback: answers on all
 *      wires, final errors with a remedy, cancel, connection reuse, streamed text, and silence
 *      when idle. Method: fake_model misbehaves by directives in the user's text.
 */
#include "harness.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"

#include <time.h>

#define MS UINT64_C(1000000)

CASE(all_wires_answer_streamed_and_whole)
{
    static const enum sma_llm_api apis[] = {SMA_LLM_CHAT, SMA_LLM_RESPONSES, SMA_LLM_MESSAGES};
    for (size_t i = 0; i < SMA_COUNT_OF(apis) * 2; i++) {
        static const char *const options[] = {"--key", "sk-secret-key", NULL};
        struct sma_config_llm llm = harness_llm(apis[i / 2]);
        llm.is_stream = i % 2 == 0;
        struct harness *harness = harness_create(&llm, options);
        const struct harness_record *record = harness_wait(harness, harness_ask(harness, "hello"));
        harness_check_said(record, "hello");
        CHECK(record->input_tokens > 0);
        CHECK(record->out_ns >= record->asked_ns && record->first_token_ns >= record->out_ns);
        CHECK(record->answered_ns >= record->first_token_ns);
        harness_destroy(harness);
    }
}

CASE(odd_streams_need_no_repetition)
{
    static const char *const texts[] = {
        "a [[fault:drip bytes=1]]",
        "b [[fault:drip bytes=7]]",
        "c [[fault:nodone]]",
        "d [[fault:json]]",
        "e [[fault:comments count=5 ms=1]]",
        "f [[fault:hugeline bytes=2000000]]",
        "g [[fault:shortlength]]",
    };
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    size_t records[SMA_COUNT_OF(texts)];
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        records[i] = harness_ask(harness, texts[i]);
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        harness_check_said(harness_wait(harness, records[i]), texts[i]);
    CHECK_INT(SMA_COUNT_OF(texts), harness_requests(harness, NULL));
}

CASE(final_faults_fail_at_once_with_a_remedy)
{
    static const struct
    {
        const char *text, *part;
        int status, http_status;
    } cases[] = {
        {"a [[fault:quota times=9]]", "top it up", SMA_MODEL_FAILED, 429},
        {"b [[fault:401 times=9]]", "set llm.apiKey in ship.json or LLM_API_KEY in .env",
         SMA_MODEL_FAILED, 401},
        {"c [[fault:404 times=9]]", "check llm.model", SMA_MODEL_FAILED, 404},
        {"d [[fault:400 times=9]]", "the request was refused", SMA_MODEL_FAILED, 400},
        {"e [[fault:302 times=9]]", "HTTP 302", SMA_MODEL_FAILED, 302},
        {"f [[fault:context times=9]]", "maximum context length", SMA_MODEL_CONTEXT_LENGTH, 400},
        {"g [[fault:500 should-retry=0 times=9]]", "try again later", SMA_MODEL_FAILED, 500},
        {"h [[fault:429 retry-after=600 times=9]]", "asks to wait 600 s", SMA_MODEL_FAILED, 429},
    };
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct harness_record *record =
            harness_wait(harness, harness_ask(harness, cases[i].text));
        CHECK_INT(cases[i].status, record->status);
        CHECK_INT(cases[i].http_status, record->http_status);
        if (strstr(record->error, cases[i].part) == NULL)
            fprintf(stderr, "  error is: %s\n", record->error);
        CHECK(strstr(record->error, cases[i].part) != NULL);
        CHECK(strstr(record->error, "127.0.0.1") != NULL);
        CHECK(strstr(record->error, "sk-secret") == NULL);
    }
    CHECK_INT(SMA_COUNT_OF(cases), harness_requests(harness, NULL));
}

CASE(an_open_end_after_the_reason_is_accepted)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record =
        harness_wait(harness, harness_ask(harness, "x [[fault:hang ms=5000]]"));
    harness_check_said(record,
                       "x [[fault:hang ms=5000]]"); /* [DONE] came, the end of the body did not */
    CHECK(record->answered_ns - record->asked_ns < 600 * MS * PATIENCE);
}

CASE(cancel_answers_at_once)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.first_byte_ms = llm.idle_ms = 10000;
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    size_t silent = harness_ask(harness, "x [[fault:silence ms=20000 times=9]]");
    size_t waiting = harness_ask(harness, "y [[fault:429 retry-after=10 times=9]]");
    harness_wait_requests(harness, 2);
    uint64_t begin_ns = sma_clock_now_ns();
    harness_cancel(harness, silent);
    harness_cancel(harness, waiting);
    const struct harness_record *first = harness_wait(harness, silent),
                                *second = harness_wait(harness, waiting);
    CHECK_INT(SMA_MODEL_CANCELLED, first->status);
    CHECK_INT(SMA_MODEL_CANCELLED, second->status);
    CHECK(first->answered_ns - begin_ns < 50 * MS * PATIENCE);
    CHECK(second->answered_ns - begin_ns < 50 * MS * PATIENCE);
    harness_cancel(harness, silent); /* too late: nothing happens */
    harness_check_said(harness_wait(harness, harness_ask(harness, "after")), "after");
}

CASE(draining_cancels_what_is_open)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.first_byte_ms = 10000;
    struct harness *harness = harness_create(&llm, NULL);
    harness_ask(harness, "x [[fault:silence ms=20000 times=9]]");
    harness_ask(harness, "y [[fault:429 retry-after=10 times=9]]");
    harness_wait_requests(harness, 2);
    harness_destroy(harness); /* checks that both were answered */
}

CASE(connections_are_used_again)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    for (int i = 0; i < 20; i++)
        harness_check_said(harness_wait(harness, harness_ask(harness, "again")), "again");
    size_t connections = 0;
    CHECK_INT(20, harness_requests(harness, &connections));
    CHECK_INT(1, connections);
}

CASE(sixty_four_requests_run_side_by_side)
{
    static const char *const options[] = {"--delay-ms", "200", NULL};
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.first_byte_ms = 10000;
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, options);
    size_t records[64];
    char text[32];
    for (size_t i = 0; i < 64; i++) {
        snprintf(text, sizeof text, "number %zu", i);
        records[i] = harness_ask(harness, text);
    }
    uint64_t last_ns = 0;
    for (size_t i = 0; i < 64; i++) {
        snprintf(text, sizeof text, "number %zu", i);
        const struct harness_record *record = harness_wait(harness, records[i]);
        harness_check_said(record, text);
        last_ns = record->answered_ns > last_ns ? record->answered_ns : last_ns;
    }
    CHECK(last_ns - harness_get(harness, records[0])->asked_ns <
          10000 * MS); /* one after the other: 12.8 s */
}

CASE(text_is_shown_while_it_comes)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.idle_ms = 5000;
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    static const char text[] =
        "[[plain]] a long text that comes in many pieces, slowly, one after the other "
        "[[fault:drip bytes=40 ms=10]]";
    const struct harness_record *record = harness_wait(harness, harness_ask(harness, text));
    CHECK_TEXT(text, record->text);
    CHECK(record->delta_count >= 2);
    CHECK(record->delta_count <= 2 + (record->answered_ns - record->asked_ns) / (50 * MS));
    CHECK(!record->is_delta_send);
    CHECK(strncmp(text, record->delta, strlen(record->delta)) == 0);
    record = harness_wait(harness, harness_ask(harness, "sent text [[fault:drip bytes=40 ms=10]]"));
    CHECK(record->delta_count >= 1);
    CHECK(record->is_delta_send);
}

CASE(an_unreachable_server_is_named)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    harness_check_said(harness_wait(harness, harness_ask(harness, "first")), "first");
    harness_kill_fake(harness);
    const struct harness_record *record = harness_wait(harness, harness_ask(harness, "second"));
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK(strstr(record->error, "cannot reach http://127.0.0.1:") != NULL);
    CHECK(strstr(record->error, "check llm.baseUrl") != NULL);
}

CASE(nothing_configured_is_said)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.base_url = "";
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record = harness_wait(harness, harness_ask(harness, "hello"));
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK(strstr(record->error, "no language model is configured") != NULL);
}

CASE(an_idle_actor_sleeps)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    harness_check_said(harness_wait(harness, harness_ask(harness, "hello")), "hello");
    struct timespec pause = {.tv_nsec = 300000000};
    nanosleep(&pause, NULL); /* the absence of events is what is measured: only time can show it */
    long before = harness_wakeups(harness);
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    CHECK_INT(before, harness_wakeups(harness));
}

CASES_MAIN
