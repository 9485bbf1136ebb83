/*
 * Aim: a server that takes less is spoken to in the form that it takes: known words teach the form,
 *      unknown ones are answered by the ladder, from the least loss on, and what did not help is
 *      taken back; a window that is cut in silence is learned.
 * Method: the run on its own, with refusals as the model actor reports them.
 */
#include "unit/agent/run_driver.h"

static const struct sma_config_llm small = {.api = SMA_LLM_CHAT,
                                            .provider = "custom",
                                            .model = "m-1",
                                            .base_url = "http://one",
                                            .api_key = "k",
                                            .has_temperature = true,
                                            .temperature = 0.5,
                                            .is_stream = true};
static const struct sma_config_llm *const targets[] = {&small};

static void begin(struct driver *d)
{
    driver_init(d, SMA_LLM_CHAT);
    driver_targets(d, targets, 1);
    driver_start(d);
}

static void refuse(struct driver *d, const char *form)
{
    struct sma_model_answer refusal = {
        .seq = d->order.seq,
        .status = SMA_MODEL_FAILED,
        .trouble = (uint8_t)(form == NULL ? SMA_MODEL_FAILURE_SESSION : SMA_MODEL_FAILURE_MEMBER),
        .http_status = 400,
        .is_unexplained = form == NULL,
        .refused_member = sma_str(form == NULL ? "" : form)};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &refusal});
}

static bool has_tools(const struct driver *d)
{
    return driver_request_has(d, "\"tools\":[");
}

static bool has_system(const struct driver *d)
{
    return driver_request_has(d, "\"role\":\"system\"");
}

CASE(known_words_teach_the_form_for_good)
{
    static const struct
    {
        const char *form, *gone;
    } cases[] = {{"role.system", "\"role\":\"system\""},
                 {"request.tools", "\"tools\":["},
                 {"request.stream", "\"stream\":true"},
                 {"request.options", "\"temperature\""}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct driver d;
        begin(&d);
        CHECK(driver_request_has(&d, cases[i].gone));
        refuse(&d, cases[i].form);
        CHECK(driver_find(&d, SMA_RUN_LEARN) != NULL);
        CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
        CHECK(!driver_request_has(&d, cases[i].gone));
        CHECK(driver_request_has(&d, "hello"));
        driver_answer(&d, "hi", SMA_FINISH_STOP, NULL);
        driver_done(&d, true);
        CHECK_TEXT("hi", d.done_text);
        driver_next(&d);
        driver_start(&d);
        CHECK(!driver_request_has(&d, cases[i].gone));
        driver_fini(&d);
    }
}

/* DeepSeek behind a gateway, from the second message on. */
CASE(reasoning_that_must_come_back_is_learned)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    driver_answer(&d, "hi", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    driver_next(&d);
    driver_start(&d);
    CHECK(!driver_request_has(&d, "reasoning_content"));
    refuse(&d, "content.reasoning");
    CHECK(driver_request_has(&d, "\"hi\",\"reasoning_content\":\"\""));
    struct sma_model_ask ask;
    free(driver_request(&d, &ask));
    CHECK((ask.forms & SMA_ANSWER_REASONED) != 0); /* the next answers keep theirs */
}

CASE(a_refusal_that_nobody_knows_walks_the_ladder_once)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    CHECK(driver_request_has(&d, "\"temperature\""));
    refuse(&d, NULL); /* options */
    CHECK(!driver_request_has(&d, "\"temperature\"") && has_system(&d) && has_tools(&d));
    refuse(&d, NULL); /* null */
    refuse(&d, NULL); /* system */
    CHECK(!has_system(&d) && has_tools(&d));
    refuse(&d, NULL); /* tools */
    CHECK(!has_tools(&d));
    refuse(&d, NULL);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    driver_next(&d);
    driver_start(&d); /* nothing of it was the reason */
    CHECK(driver_request_has(&d, "\"temperature\"") && has_system(&d) && has_tools(&d));
}

CASE(the_step_that_helped_is_kept)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    for (int i = 0; i < 3; i++)
        refuse(&d, NULL);
    driver_answer(&d, "hi", SMA_FINISH_STOP, NULL);
    CHECK(driver_find(&d, SMA_RUN_LEARN) != NULL);
    driver_done(&d, true);
    driver_next(&d);
    driver_start(&d);
    CHECK(!has_system(&d) && has_tools(&d));
    CHECK(driver_request_has(&d, "\"temperature\"")); /* the steps before did not help */
    refuse(&d, NULL); /* it has answered: this is about what was said, no step follows */
    refuse(&d, NULL);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) == NULL || has_tools(&d));
}

/* Ollama: 4,096 counted of a request of three times as many. */
CASE(a_window_that_is_cut_in_silence_is_learned)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_targets(&d, targets, 1);
    static char words[60000];
    memset(words, 'x', sizeof words - 1);
    d.order.text = sma_str(words);
    driver_start(&d);
    struct sma_model_answer cut = {.seq = d.order.seq,
                                   .status = SMA_MODEL_OK,
                                   .finish = SMA_FINISH_STOP,
                                   .text = SMA_STR("hm"),
                                   .fragment = SMA_STR("{\"role\":\"assistant\"}"),
                                   .usage = {.input = 4090, .request_count = 1}};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &cut});
    const struct sma_run_action *learn = driver_find(&d, SMA_RUN_LEARN);
    CHECK(learn != NULL);
    CHECK_STR("window.4096", learn->learned.member);
    CHECK_INT(4096, d.settings->known[0].window);
}

/* A gateway that counts only what no cache had, or one that counts wrongly: of no window. */
CASE(counts_of_what_was_not_cached_are_no_window)
{
    static const struct
    {
        const char *base_url;
        uint64_t counts[4];
        uint32_t window;
    } cases[] = {
        {"https://gateway.example.com/v1", {15000, 1300, 1250, 1700}, 0},
        {"https://gateway.example.com/v1", {1300, 1200, 1400, 1350}, 0},
        {"http://127.0.0.1:4000/v1", {15000, 1300, 1250, 1300}, 0},
        {"http://127.0.0.1:4000/v1", {1300, 2400, 1200, 3900}, 0},
        {"http://127.0.0.1:11434/v1", {3900, 3700, 3950, 3800}, 4096}, /* whole messages dropped */
        {"http://127.0.0.1:11434/v1", {4095, 4095, 4095, 4095}, 4096},
        {"https://gateway.example.com/v1", {5000, 5000, 5000, 5000}, 5120}, /* of more each time */
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_config_llm llm = small;
        llm.base_url = cases[i].base_url;
        struct sma_target target;
        struct sma_context_known known = {0};
        sma_target_init(&target, &llm);
        for (size_t k = 0; k < 4; k++) {
            struct sma_context_size sent = {
                .head = 30000, .messages = 20000 + 3000 * k, .message_count = 9};
            struct sma_usage usage = {.input = cases[i].counts[k], .request_count = 1};
            (void)sma_context_find_cut(&target, &known, &sent, &usage);
        }
        CHECK_INT(cases[i].window, known.window);
    }
}

/* One tool is left out for good, the others stay; when one after the other is refused, it is not
 * about one of them. */
CASE(a_refused_tool_is_left_out_alone)
{
    static const char *const names[] = {"exec_shell", "write_file", "edit_file",   "chat_send",
                                        "web_search", "web_fetch",  "memory_save", "memory_search"};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    CHECK(driver_request_has(&d, "\"name\":\"read_file\""));
    refuse(&d, "tool.read_file");
    CHECK(driver_find(&d, SMA_RUN_LEARN) != NULL);
    CHECK(!driver_request_has(&d, "\"name\":\"read_file\"") && has_tools(&d));
    driver_answer(&d, "hi", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    driver_next(&d);
    driver_start(&d);
    CHECK(!driver_request_has(&d, "\"name\":\"read_file\"") && has_tools(&d));
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char member[64];
        snprintf(member, sizeof member, "tool.%s", names[i]);
        CHECK(has_tools(&d));
        refuse(&d, member);
    }
    CHECK(!has_tools(&d));
    driver_answer(&d, "hi", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_TEXT("hi", d.done_text);
}

static void fail_long(struct driver *d)
{
    struct sma_model_answer refusal = {.seq = d->order.seq,
                                       .status = SMA_MODEL_CONTEXT_LENGTH,
                                       .http_status = 413,
                                       .is_unexplained = true};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &refusal});
}

/* A proxy that takes no tools, and says 413 with nothing else. */
CASE(a_small_request_that_is_too_large_goes_without_tools)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    for (int i = 0; i < 6 && has_tools(&d); i++)
        fail_long(&d);
    CHECK(!has_tools(&d) && driver_request_has(&d, "hello"));
    driver_answer(&d, "hi", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_TEXT("hi", d.done_text);
    driver_next(&d);
    driver_start(&d);
    CHECK(!has_tools(&d) && has_system(&d)); /* and its window is what it was */
    CHECK_INT(0, d.settings->known[0].window);
}

/* A template that knows no role of tools, after it has refused that of the system. */
CASE(a_role_that_is_refused_again_is_told_in_words)
{
    static const struct driver_call look[] = {{"c1", "chat_history", "{}"}, {0}};
    struct sma_history_lines none = {0};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    refuse(&d, "role.system");
    CHECK(!has_system(&d));
    driver_answer(&d, "", SMA_FINISH_TOOLS, look);
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 0, .history = &none});
    CHECK(driver_request_has(&d, "\"role\":\"tool\""));
    for (int i = 0; i < 3 && driver_request_has(&d, "\"role\":\"tool\""); i++)
        refuse(&d, "role.system");
    CHECK(!driver_request_has(&d, "\"role\":\"tool\""));
    driver_answer(&d, "at nine", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK_TEXT("at nine", d.done_text);
}

/* llama.cpp: the window was full before the first word. */
CASE(an_answer_cut_to_nothing_is_asked_for_once_shorter)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_targets(&d, targets, 1);
    static char words[60000];
    memset(words, 'x', sizeof words - 1);
    d.order.text = sma_str(words);
    driver_start(&d);
    driver_answer(&d, "one", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    driver_next(&d);
    d.order.text = SMA_STR("and now");
    driver_start(&d);
    CHECK(driver_request_has(&d, words));
    struct sma_model_answer cut = {.seq = d.order.seq,
                                   .status = SMA_MODEL_OK,
                                   .finish = SMA_FINISH_LENGTH,
                                   .fragment = SMA_STR("{\"role\":\"assistant\"}"),
                                   .usage = {.input = 20000, .request_count = 1}};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &cut});
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL); /* a summary, or without the oldest */
    CHECK(d.settings->known[0].window > 0);
}

CASES_MAIN
