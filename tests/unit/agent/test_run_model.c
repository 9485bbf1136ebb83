/*
 * Aim: a model that fails costs nobody his answer: another target is asked, what is refused is left
 * out, the conversation is made plain, or the run waits; and it ends visibly only when none of it
 * helps.
 */
#include "unit/agent/run_driver.h"

#define SECOND UINT64_C(1000000000)

static const struct sma_config_llm first = {.api = SMA_LLM_CHAT,
                                            .provider = "deepseek",
                                            .model = "m-1",
                                            .base_url = "http://one",
                                            .api_key = "k",
                                            .has_temperature = true,
                                            .temperature = 0.5,
                                            .is_stream = true};
static const struct sma_config_llm second = {.api = SMA_LLM_MESSAGES,
                                             .provider = "anthropic",
                                             .model = "m-2",
                                             .base_url = "http://two",
                                             .api_key = "k",
                                             .anthropic_version = "2023-06-01",
                                             .is_stream = true};
static const struct sma_config_llm sister = {.api = SMA_LLM_CHAT,
                                             .provider = "openai",
                                             .model = "m-3",
                                             .base_url = "http://three",
                                             .api_key = "k",
                                             .is_stream = true};
static const struct sma_config_llm *const both[] = {&first, &second, &sister};

static const struct driver_call look[] = {
    {"an id! which others would not take, and which is far too long", "chat_load_history", "{}"},
    {0}};

static char *request_of(const struct driver *d, const struct sma_config_llm *llm)
{
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) != NULL);
    struct sma_model_ask ask;
    char *bytes = driver_request(d, &ask);
    CHECK_TEXT(llm->model, ask.llm->model);
    return bytes;
}

static void check_asked(const struct driver *d, const struct sma_config_llm *llm)
{
    free(request_of(d, llm));
}

static void begin(struct driver *d, size_t target_count, int64_t patience_s)
{
    driver_init(d, SMA_LLM_CHAT);
    d->config.llm_patience_s = patience_s;
    d->start_ms = 0;
    driver_targets(d, both, target_count);
    driver_start(d);
}

/* One round with a history call, its results durable; the model is asked again. */
static void one_round(struct driver *d, const char *lines)
{
    struct sma_history_line line = {.text = sma_str(lines)};
    struct sma_history_lines list = {.line_count = 1, .lines = &line};
    driver_answer(d, "I look.", SMA_FINISH_TOOLS, look);
    driver_durable(d);
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 0, .history = &list});
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) != NULL);
}

static void answer(struct driver *d, const char *text)
{
    driver_answer(d, text, SMA_FINISH_STOP, NULL);
    driver_done(d, true);
    CHECK_INT(SMA_OUTCOME_OK, d->done_outcome);
    CHECK_TEXT(text, d->done_text);
}

/* -- other targets ----------------------------------------------------------------------------- */
CASE(the_next_target_is_asked_at_once)
{
    static const enum sma_model_failure troubles[] = {
        SMA_MODEL_FAILURE_TRANSIENT, SMA_MODEL_FAILURE_RATE,     SMA_MODEL_FAILURE_QUOTA,
        SMA_MODEL_FAILURE_AUTH,      SMA_MODEL_FAILURE_NO_MODEL, SMA_MODEL_FAILURE_SETUP};
    for (size_t i = 0; i < SMA_COUNT_OF(troubles); i++) {
        struct driver d;
        begin(&d, 2, 900);
        check_asked(&d, &first);
        driver_trouble(&d, troubles[i], -1);
        char *bytes = request_of(&d, &second);
        CHECK(strstr(bytes, "\"max_tokens\"") != NULL);
        CHECK(strstr(bytes, "hello") != NULL);
        free(bytes);
        answer(&d, "from the second");
        CHECK_TEXT("messages two m-2", d.done_wire);
        driver_fini(&d);
    }
}

CASE(a_run_begins_with_the_first_that_is_well)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 2, 900);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    answer(&d, "a");
    driver_next(&d);
    driver_start(&d);
    check_asked(&d, &second); /* the first is left alone */
    answer(&d, "b");
    d.now_ns += 31 * SECOND;
    driver_next(&d);
    driver_start(&d);
    check_asked(&d, &first);
    answer(&d, "c");
    CHECK_INT(0, d.settings->cooldowns[0].failure_count);
}

CASE(rounds_go_on_with_another_target)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 3, 900);
    one_round(&d, "the lines that were found");
    driver_durable(&d);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    char *bytes = request_of(&d, &second);
    CHECK(strstr(bytes, "\"type\":\"tool_use\"") != NULL);
    CHECK(strstr(bytes, "\"type\":\"tool_result\"") != NULL);
    CHECK(strstr(bytes, "the lines that were found") != NULL);
    CHECK(strstr(bytes, "I look.") != NULL);
    CHECK(strstr(bytes, "which others would not take") == NULL); /* the id was made to fit */
    CHECK(strstr(bytes, "\"tool_calls\"") == NULL);
    const char *id = strstr(bytes, "\"id\":\"call_");
    CHECK(id != NULL);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"tool_use_id\":\"%.*s\"", (int)strcspn(id + 6, "\""), id + 6);
    CHECK(strstr(bytes, wanted) != NULL); /* the same for call and result */
    free(bytes);
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, -1);
    bytes = request_of(&d, &sister); /* and on */
    CHECK(strstr(bytes, "\"tool_calls\"") != NULL);
    free(bytes);
    one_round(&d, "more");
    answer(&d, "done");
    CHECK_TEXT("chat three m-3", d.done_wire);
}

/* Going back to a target gives it the bytes that it has cached, though another has answered in
 * between. */
CASE(a_session_fits_whoever_is_asked)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 2, 900);
    struct sma_model_ask ask;
    answer(&d, "one");
    driver_next(&d);
    driver_start(&d);
    char *before = driver_request(&d, &ask);
    uint32_t end = ask.turn_offset;
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    char *other = request_of(&d, &second);
    CHECK(strstr(other, "\"one\"") != NULL || strstr(other, "\"text\":\"one\"") != NULL);
    free(other);
    answer(&d, "two");
    d.now_ns += 31 * SECOND;
    driver_next(&d);
    driver_start(&d);
    char *after = request_of(&d, &first);
    CHECK(memcmp(before, after, end) == 0);
    CHECK(strstr(after, "\"two\"") != NULL);
    free(before);
    free(after);
}

CASE(a_request_that_will_not_pass_ends_the_run)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 2, 900);
    driver_trouble(&d, SMA_MODEL_FAILURE_REQUEST, -1);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK_INT(SMA_INTENT_NOTICE, d.done_intent);
    CHECK_INT(0, d.settings->cooldowns[0].failure_count); /* others may still ask it */
}

/* -- what is refused --------------------------------------------------------------------------- */
static void refuse_member(struct driver *d, const char *member)
{
    struct sma_model_answer refusal = {.seq = d->order.seq,
                                       .status = SMA_MODEL_FAILED,
                                       .trouble = SMA_MODEL_FAILURE_MEMBER,
                                       .http_status = 400,
                                       .refused_member = sma_str(member)};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &refusal});
}

/* Another chat learns it while this one's request, made before that, is on its way. */
CASE(what_another_chat_has_just_learned_is_left_out_once)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 900);
    CHECK(driver_request_has(&d, "\"temperature\""));
    CHECK(sma_run_settings_learn(d.settings, SMA_STR("chat one m-1"), SMA_STR("temperature")));
    refuse_member(&d, "temperature");
    CHECK(driver_find(&d, SMA_RUN_LEARN) == NULL); /* the other one has told of it */
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(!driver_request_has(&d, "\"temperature\""));
    answer(&d, "a");
    driver_next(&d);
    driver_start(&d);
    CHECK(sma_run_settings_learn(d.settings, SMA_STR("chat one m-1"), SMA_STR("stream_options")));
    refuse_member(
        &d, "temperature"); /* what is left out already: asked again for the sake of the other */
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    refuse_member(&d, "temperature"); /* and never more */
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
}

CASE(a_refused_member_is_left_out_and_remembered)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 900);
    CHECK(driver_request_has(&d, "\"temperature\""));
    refuse_member(&d, "temperature");
    const struct sma_run_action *learn = driver_find(&d, SMA_RUN_LEARN);
    CHECK(learn != NULL);
    CHECK_STR("chat one m-1", learn->learned.target);
    CHECK_STR("temperature", learn->learned.member);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(!driver_request_has(&d, "\"temperature\""));
    answer(&d, "a");
    driver_next(&d);
    driver_start(&d);
    CHECK(!driver_request_has(&d, "\"temperature\""));
    refuse_member(&d, "temperature"); /* again: leaving it out was no cure */
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    struct sma_run_settings *settings; /* a new configuration knows it, too */
    CHECK_OK(sma_run_settings_create(&d.config, d.settings, &settings));
    CHECK_INT(1, settings->targets[0].refused_count);
    sma_run_settings_destroy(settings);
}

/* A member learned by one run does not take the head from under another one. */
CASE(what_one_run_learns_the_others_use)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 900);
    one_round(&d, "x");
    CHECK(sma_run_settings_learn(d.settings, SMA_STR("chat one m-1"), SMA_STR("temperature")));
    driver_durable(&d);
    one_round(&d, "y");
    CHECK(!driver_request_has(&d, "\"temperature\""));
    CHECK(driver_request_has(&d, "\"model\":\"m-1\""));
}

static void add_thinking_turn(struct driver *d)
{
    struct sma_str fragments[] = {
        SMA_STR("{\"role\":\"user\",\"content\":\"earlier\"}"),
        SMA_STR("{\"role\":\"assistant\",\"content\":\"so\",\"reasoning_content\":\"SIGNED\"}")};
    struct sma_str block = SMA_STR("earlier");
    struct sma_stored_turn turn = {.message_count = 2,
                                   .block_count = 1,
                                   .blocks = &block,
                                   .fragment_count = 2,
                                   .fragments = fragments,
                                   .text = SMA_STR("so"),
                                   .key = sma_str(d->settings->targets[0].key)};
    CHECK_OK(sma_session_append(d->sessions, d->session, 1, &turn));
}

static void refuse_request(struct driver *d, enum sma_model_failure trouble)
{
    struct sma_model_answer refusal = {.seq = d->order.seq,
                                       .status = SMA_MODEL_FAILED,
                                       .trouble = (uint8_t)trouble,
                                       .http_status = 400};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &refusal});
}

CASE(a_refused_session_goes_plain_and_stays_so)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_targets(&d, both, 1);
    add_thinking_turn(&d);
    driver_start(&d);
    CHECK(driver_request_has(&d, "SIGNED"));
    refuse_request(&d, SMA_MODEL_FAILURE_SESSION);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(!driver_request_has(&d, "SIGNED"));
    CHECK(driver_request_has(&d, "earlier") && driver_request_has(&d, "\"so\""));
    answer(&d, "fine");
    struct sma_turn stored[] = {
        {.seq = 1, .wire = SMA_STR("chat one m-1")},
        {.seq = 10, .wire = sma_str(d.done_wire), .bytes = {d.done_turn, d.done_turn_len}}};
    struct sma_buf old;
    sma_buf_init(&old, 1 << 16);
    sma_codec_put_turn(&old, &d.session->turns[0]->stored);
    stored[0].bytes = sma_buf_str(&old);
    driver_next(&d);
    driver_start(&d);
    CHECK(!driver_request_has(&d, "SIGNED")); /* in memory */
    driver_cut(&d);
    sma_session_clear(d.sessions, d.session, UINT64_MAX);
    d.session->is_loaded = false;
    driver_start(&d);
    struct sma_session_turns turns = {.turn_count = 2, .turns = stored};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_SESSION, .turns = &turns});
    CHECK(!driver_request_has(&d, "SIGNED")); /* and after it was loaded again */
    CHECK(driver_request_has(&d, "fine"));
    sma_buf_fini(&old);
}

CASE(plain_form_that_does_not_help_is_given_up)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_targets(&d, both, 1);
    add_thinking_turn(&d);
    driver_start(&d);
    refuse_request(&d, SMA_MODEL_FAILURE_REQUEST); /* nobody knows why: it may be the session */
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(!driver_request_has(&d, "SIGNED"));
    refuse_request(&d, SMA_MODEL_FAILURE_REQUEST);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    driver_next(&d);
    driver_start(&d);
    CHECK(driver_request_has(&d, "SIGNED")); /* it was not the session */
}

/* First without reasoning; then in words, which no server can refuse for its form. */
CASE(refused_rounds_are_told_in_words)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 900);
    one_round(&d, "what was found");
    driver_durable(&d);
    CHECK(driver_request_has(&d, "which others would not take"));
    refuse_request(&d, SMA_MODEL_FAILURE_SESSION);
    CHECK(driver_request_has(&d, "\"tool_calls\""));
    CHECK(!driver_request_has(&d, "which others would not take"));
    refuse_request(&d, SMA_MODEL_FAILURE_SESSION);
    CHECK(!driver_request_has(&d, "\"tool_calls\""));
    CHECK(driver_request_has(&d, "You called chat_load_history with {}"));
    CHECK(driver_request_has(&d, "what was found"));
    one_round(&d, "later"); /* rounds after it are sent as they are */
    CHECK(driver_request_has(&d, "\"tool_calls\""));
    driver_durable(&d);
    refuse_request(&d, SMA_MODEL_FAILURE_SESSION);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
}

/* -- waiting ----------------------------------------------------------------------------------- */
static const struct sma_step *check_wait(const struct driver *d, uint32_t number, uint32_t least_ms)
{
    const struct sma_run_action *action = driver_find(d, SMA_RUN_STORE_STEP);
    CHECK(action != NULL);
    CHECK_INT(SMA_STEP_WAIT, action->step.kind);
    CHECK_INT(number, action->step.number);
    CHECK(action->step.wait_ms >= least_ms && action->step.wait_ms <= least_ms + least_ms / 10);
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) == NULL);
    return &action->step;
}

static void park(struct driver *d)
{
    driver_store(d);
    driver_verdict(d, d->step_count, SMA_STEP_PARKED);
    CHECK(driver_find(d, SMA_RUN_END) != NULL);
    CHECK(!driver_find(d, SMA_RUN_END)->is_counted);
    driver_cut(d);
}

/* The store hands it out again when it is due. */
static void due(struct driver *d, uint64_t seconds)
{
    d->now_ns += seconds * SECOND;
    d->wall_ms += (int64_t)seconds * 1000;
    driver_start(d);
}

CASE(a_run_waits_for_its_only_model_and_says_so_once)
{
    static const uint32_t waits[] = {5, 15, 30, 60, 120, 120};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 400);
    for (uint32_t i = 0; i < SMA_COUNT_OF(waits); i++) {
        driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
        uint32_t left = i == 5 ? 50 : waits[i];
        const struct sma_step *step = check_wait(&d, i + 1, left * 1000 - 100 * (i == 5));
        CHECK_INT(i == 1, step->delivery_count); /* with the first wait that takes a while */
        if (i == 1) {
            CHECK_INT(SMA_INTENT_NOTICE, step->deliveries[0].intent);
            CHECK(memmem(step->deliveries[0].text.ptr, step->deliveries[0].text.len, "minutes",
                         7) != NULL);
        }
        park(&d);
        due(&d, waits[i] + (i == 4 ? 120 : 0)); /* the program did not run for a while */
        check_asked(&d, &first);
    }
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1); /* patience is over */
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK(d.done_text != NULL);
}

/* Of an unknown 500 nobody knows whether it passes: patience bounds it (adr 0109). */
CASE(a_model_that_stays_broken_is_asked_a_bounded_number_of_times)
{
    static const struct
    {
        int64_t patience_s;
        int questions;
    } rows[] = {{0, 1}, {900, 12}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        SMA_AUTO(driver_fini) struct driver d;
        begin(&d, 1, rows[i].patience_s);
        int questions = 0;
        uint64_t begun_ns = d.now_ns;
        for (;;) {
            check_asked(&d, &first);
            questions++;
            driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
            const struct sma_run_action *action = driver_find(&d, SMA_RUN_STORE_STEP);
            if (action == NULL)
                break;
            uint64_t seconds = (action->step.wait_ms + 999) / 1000;
            park(&d);
            due(&d, seconds);
        }
        driver_done(&d, true);
        CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
        CHECK(d.done_text != NULL);
        CHECK_INT(rows[i].questions, questions);
        CHECK(d.now_ns - begun_ns <= (uint64_t)(rows[i].patience_s + 20) * SECOND);
    }
}

CASE(a_model_that_comes_back_is_waited_for_anew)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 900);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    (void)check_wait(&d, 1, 5000);
    park(&d);
    due(&d, 5);
    one_round(&d, "x"); /* steps 2 and 3 */
    driver_durable(&d);
    d.now_ns += 2000 * SECOND; /* longer than patience: that counts from the first failure */
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    (void)check_wait(&d, 4, 5000);
    park(&d);
    due(&d, 5);
    CHECK(driver_request_has(&d, "I look."));
    answer(&d, "at last");
}

CASE(what_the_server_asks_for_is_waited)
{
    struct driver d;
    begin(&d, 1, 900);
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, 65000);
    const struct sma_step *step = check_wait(&d, 1, 65000);
    CHECK_INT(1, step->delivery_count);
    park(&d);
    driver_next(&d); /* another message meanwhile: it does not ask in vain */
    driver_start(&d);
    (void)check_wait(&d, 1, 65000);
    park(&d);
    due(&d, 70);
    check_asked(&d, &first);
    driver_fini(&d);

    begin(&d, 1, 900); /* more than anybody has patience for */
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, 3600 * 1000);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    driver_fini(&d);
}

CASE(what_waiting_cannot_mend_ends_the_run)
{
    static const enum sma_model_failure troubles[] = {
        SMA_MODEL_FAILURE_QUOTA, SMA_MODEL_FAILURE_AUTH, SMA_MODEL_FAILURE_NO_MODEL,
        SMA_MODEL_FAILURE_SETUP};
    for (size_t i = 0; i < SMA_COUNT_OF(troubles); i++) {
        struct driver d;
        begin(&d, 2, 900);
        driver_trouble(&d, troubles[i], -1);
        check_asked(&d, &second);
        driver_trouble(&d, troubles[i], -1);
        driver_done(&d, true);
        CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
        driver_next(&d); /* but the next message asks again: somebody may have mended it */
        driver_start(&d);
        check_asked(&d, &first);
        driver_fini(&d);
    }
    struct driver d;
    begin(&d, 2, 900); /* one of the two may come back */
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    (void)check_wait(&d, 1, 5000);
    park(&d);
    due(&d, 31);
    check_asked(&d, &first);
    driver_fini(&d);

    begin(&d, 1, 0); /* patience 0: nobody waits */
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    driver_fini(&d);
}

CASE(a_wait_without_disk_is_stored_later)
{
    struct driver d;
    begin(&d, 1, 900);
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, 20000);
    (void)check_wait(&d, 1, 20000);
    driver_verdict(&d, 1, SMA_STEP_NO_DISK);
    CHECK(driver_find(&d, SMA_RUN_WAIT) != NULL);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    CHECK_INT(1, check_wait(&d, 1, 20000)->delivery_count);
    park(&d);
    driver_fini(&d);

    begin(&d, 1, 900); /* stopped meanwhile */
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    driver_verdict(&d, 1, SMA_STEP_STOPPED);
    CHECK(driver_find(&d, SMA_RUN_END) != NULL);
    CHECK_INT(SMA_OUTCOME_CANCELLED, driver_find(&d, SMA_RUN_END)->outcome);
    driver_fini(&d);

    begin(&d, 1, 900); /* a store that does not know waits must not leave it hanging */
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    driver_durable(&d);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    driver_fini(&d);
}

CASE(a_failure_while_the_program_ends_is_left_for_the_next_start)
{
    static const enum sma_model_failure troubles[] = {
        SMA_MODEL_FAILURE_TRANSIENT, SMA_MODEL_FAILURE_AUTH, SMA_MODEL_FAILURE_SESSION};
    for (size_t i = 0; i < SMA_COUNT_OF(troubles); i++) {
        struct driver d;
        begin(&d, 2, 900);
        driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
        driver_trouble(&d, troubles[i], -1);
        CHECK(driver_find(&d, SMA_RUN_END) != NULL);
        CHECK(driver_find(&d, SMA_RUN_STORE_DONE) == NULL);
        CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) == NULL);
        driver_fini(&d);
    }
}

/* The notice of a wait is a row of the wait's step, not the result of a call before it. */
CASE(the_notice_of_a_wait_is_nobody_s_result)
{
    static const struct driver_call send[] = {{"c1", "chat_send", "{\"text\":\"hi\"}"}, {0}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 900);
    driver_answer(&d, "", SMA_FINISH_TOOLS, send);
    driver_durable(&d);
    driver_sent(&d, 0, SMA_SEND_FAILED, "blocked"); /* so nobody has an answer yet */
    d.deliveries[0].state = SMA_DELIVERY_FAILED;
    d.deliveries[0].error = SMA_STR("blocked");
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, 20000);
    (void)check_wait(&d, 2, 20000);
    park(&d);
    CHECK_INT(2, d.delivery_count);
    d.deliveries[1].state = SMA_DELIVERY_SENT;
    struct sma_step_delivery_state row = d.deliveries[0]; /* in whatever order */
    d.deliveries[0] = d.deliveries[1];
    d.deliveries[1] = row;
    due(&d, 20);
    CHECK(driver_request_has(&d, "blocked"));
}

/* A round that only sends: the person has the answer, and the request that is left is the model's
 * closing word. */
static void send_only_round(struct driver *d, enum sma_send_state state)
{
    static const struct driver_call send[] = {{"c1", "chat_send", "{\"text\":\"It is 42.\"}"}, {0}};
    driver_answer(d, "", SMA_FINISH_TOOLS, send);
    driver_durable(d);
    d->deliveries[d->delivery_count - 1].state =
        state == SMA_SEND_SENT ? SMA_DELIVERY_SENT : SMA_DELIVERY_FAILED;
    driver_sent(d, 0, state, "");
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) != NULL);
}

CASE(who_has_been_sent_something_is_not_told_to_wait)
{
    struct driver d;
    begin(&d, 1, 100);
    send_only_round(&d, SMA_SEND_SENT);
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, 60000);
    CHECK_INT(0, check_wait(&d, 2, 60000)
                     ->delivery_count); /* there may be more to come: it waits, quietly */
    park(&d);
    due(&d, 110);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1); /* patience is over */
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
    CHECK(strstr(d.done_text, "before it said whether that was all") != NULL);
    CHECK(memmem(d.done_turn, d.done_turn_len, "It is 42.", 9) != NULL);
    CHECK(memmem(d.done_turn, d.done_turn_len, "[ended: ", 8) != NULL);
    driver_fini(&d);

    static const enum sma_model_failure troubles[] = {SMA_MODEL_FAILURE_AUTH,
                                                      SMA_MODEL_FAILURE_REQUEST};
    for (size_t i = 0; i < SMA_COUNT_OF(troubles); i++) {
        begin(&d, 1, 900);
        send_only_round(&d, SMA_SEND_SENT);
        driver_trouble(&d, troubles[i], -1);
        driver_done(&d, true);
        CHECK_INT(SMA_OUTCOME_OK, d.done_outcome);
        CHECK(strstr(d.done_text, "before it said whether that was all") != NULL);
        driver_fini(&d);
    }
}

CASE(who_waits_for_more_than_was_sent_is_told)
{
    static const struct driver_call moment[] = {
        {"c1", "chat_send", "{\"text\":\"One moment.\"}"}, {"c2", "chat_load_history", "{}"}, {0}};
    struct sma_history_lines none = {0};
    struct driver d;
    begin(&d, 1, 900);
    driver_answer(&d, "", SMA_FINISH_TOOLS, moment);
    driver_durable(&d);
    driver_sent(&d, 0, SMA_SEND_SENT, "");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 1, .history = &none});
    driver_durable(&d);
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, 60000);
    CHECK_INT(1, check_wait(&d, 3, 60000)->delivery_count);
    park(&d);
    driver_fini(&d);

    begin(&d, 1, 900); /* what could not be delivered is no answer */
    send_only_round(&d, SMA_SEND_FAILED);
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK(d.done_text != NULL);
    driver_fini(&d);

    begin(&d, 1, 900); /* nor is one that work has followed */
    send_only_round(&d, SMA_SEND_SENT);
    one_round(&d, "x");
    driver_durable(&d);
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    driver_fini(&d);
}

/* -- usage ------------------------------------------------------------------------------------- */
CASE(usage_goes_with_the_next_step_once)
{
    static const struct sma_model_call calls[] = {
        {.id = SMA_STR("c"), .name = SMA_STR("chat_load_history"), .arguments = SMA_STR("{}")}};
    struct sma_model_answer first_answer = {
        .seq = 10,
        .fragment = SMA_STR("{\"role\":\"assistant\",\"content\":\"x\"}"),
        .text = SMA_STR("x"),
        .call_count = 1,
        .calls = (struct sma_model_call *)(uintptr_t)calls,
        .usage = {.request_count = 1, .input = 10, .cached = 20, .output = 3}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 1, 900);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &first_answer});
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(10, step->usage.input);
    CHECK_INT(1, step->usage.request_count);
    CHECK_STR("chat one m-1", step->target);
    driver_verdict(&d, 1, SMA_STEP_NO_DISK);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    CHECK_INT(20, driver_find(&d, SMA_RUN_STORE_STEP)->step.usage.cached); /* not lost */
    driver_durable(&d);
    struct sma_history_lines none = {0};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY, .call = 0, .history = &none});
    CHECK_INT(0, driver_find(&d, SMA_RUN_STORE_STEP)->step.usage.request_count); /* not twice */
    struct sma_model_answer last = {.seq = 10,
                                    .fragment = SMA_STR("{}"),
                                    .text = SMA_STR("end"),
                                    .usage = {.request_count = 1, .output = 5}};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &last});
    const struct sma_done *done = &driver_find(&d, SMA_RUN_STORE_DONE)->done;
    CHECK_INT(5, done->usage.output);
    CHECK_INT(0, done->usage.input);
    CHECK_STR("chat one m-1", done->target);
}

/* A stream that broke after its tokens were counted; nobody else answers. */
CASE(a_failed_answer_counts_for_who_was_asked)
{
    struct sma_model_answer broken = {.seq = 10,
                                      .status = SMA_MODEL_FAILED,
                                      .trouble = SMA_MODEL_FAILURE_REQUEST,
                                      .retry_after_ms = -1,
                                      .error = SMA_STR("broken")};
    for (int is_counted = 0; is_counted < 2; is_counted++) {
        struct driver d;
        begin(&d, 1, 900);
        if (is_counted == 0)
            broken.usage = (struct sma_usage){.request_count = 3};
        else
            broken.usage =
                (struct sma_usage){.request_count = 3, .input = 120, .output = 9, .cost_nano = 7};
        driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &broken});
        const struct sma_done *done = &driver_find(&d, SMA_RUN_STORE_DONE)->done;
        CHECK_INT(SMA_OUTCOME_FAILED, done->outcome);
        CHECK_INT(3, done->usage.request_count);
        CHECK_INT(is_counted * 120, done->usage.input);
        CHECK_INT(is_counted * 9, done->usage.output);
        CHECK_INT(is_counted * 7, done->usage.cost_nano);
        CHECK_STR(is_counted ? "chat one m-1" : "", done->target);
        driver_fini(&d);
    }
}

CASES_MAIN
