/*
 * Aim: a run that waits for models, goes on with others and has been refused comes to the same end
 * wherever it is cut, with every effect exactly once. Method: as test_run_resume.c, with a model
 * that fails by a script of its own, and a store that parks waits and hands them out when they are
 * due.
 */
#include "runtime/agent/prompt.h"
#include "unit/agent/run_driver.h"

#define SECOND UINT64_C(1000000000)
#define ROUND_COUNT 4

static const struct sma_config_llm one = {.api = SMA_LLM_CHAT,
                                          .provider = "deepseek",
                                          .model = "m-1",
                                          .base_url = "http://one",
                                          .api_key = "k"};
static const struct sma_config_llm two = {.api = SMA_LLM_CHAT,
                                          .provider = "openai",
                                          .model = "m-2",
                                          .base_url = "http://two",
                                          .api_key = "k"};
static const struct sma_config_llm *const targets[] = {&one, &two};

/* The first round only sends: no results of it are stored. */
static const struct driver_call round_calls[ROUND_COUNT][4] = {
    {{"a1", "chat_send", "{\"text\":\"one\"}"}, {0}},
    {{"b1", "chat_load_history", "{}"}, {"b2", "nope", "{}"}, {0}},
    {{"c1", "chat_contact_send", "{\"username\":\"bob\",\"text\":\"yo\"}"}, {0}},
    {{"d1", "chat_send", "{\"text\":\"two\"}"},
     {"d2", "chat_contact_lookup", "{\"username\":\"bob\"}"},
     {0}},
};
/* How often the model fails before it answers in a round: two are all targets, so that the run
 * waits. */
static const uint32_t failures[ROUND_COUNT + 1] = {2, 2, 1, 1, 2};
#define REFUSED_ROUND 2 /* its failure is a refused conversation: it goes plain */

struct play
{
    struct driver_play p;
    uint32_t failed[ROUND_COUNT + 1], wait_count;
    bool is_parked;
};

static void note(struct driver_play *p, const struct sma_run_action *action,
                 struct driver_pending *pending)
{
    (void)p;
    pending->is_parking = action->kind == SMA_RUN_STORE_STEP && action->step.kind == SMA_STEP_WAIT;
}

static void note_stored(struct driver_play *p, const struct driver_pending *pending)
{
    struct play *play = (struct play *)p;
    play->is_parked = pending->is_parking;
    play->wait_count += pending->is_parking;
}

static void refuse(struct driver *d)
{
    struct sma_model_answer refusal = {.seq = d->order.seq,
                                       .status = SMA_MODEL_FAILED,
                                       .trouble = SMA_MODEL_FAILURE_SESSION,
                                       .http_status = 400};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &refusal});
}

static void answer_model(struct driver_play *p, uint32_t call)
{
    (void)call;
    struct play *play = (struct play *)p;
    struct driver *d = &p->d;
    struct sma_model_ask ask;
    free(driver_request(d, &ask));
    CHECK(ask.round <= ROUND_COUNT);
    if (play->failed[ask.round] < failures[ask.round]) {
        play->failed[ask.round]++;
        if (ask.round == REFUSED_ROUND)
            refuse(d);
        else
            driver_trouble(d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    } else if (ask.round < ROUND_COUNT) {
        driver_answer(d, "", SMA_FINISH_TOOLS, round_calls[ask.round]);
    } else {
        driver_answer(d, "end", SMA_FINISH_STOP, NULL);
    }
}

static void hand_out(struct play *play, bool is_crash)
{
    struct driver *d = &play->p.d;
    play_cut(&play->p);
    play->is_parked = false;
    if (is_crash)
        driver_targets(d, targets, 2); /* what was known of the targets is gone, too */
    d->now_ns += 320 * SECOND;         /* longer than any target is cooled */
    d->wall_ms += 320000;
    driver_start(d);
    play_perform(&play->p);
}

static void check_end(struct play *play)
{
    static const char *const texts[] = {"one", "yo", "two"}, *const chats[] = {"t:1", "t:bob",
                                                                               "t:1"};
    struct driver *d = &play->p.d;
    CHECK_INT(3, d->delivery_count); /* every effect exactly once, and no word of short waits */
    for (int i = 0; i < 3; i++) {
        CHECK_TEXT(texts[i], d->texts[i]);
        CHECK_TEXT(chats[i], d->chats[i]);
    }
    CHECK_INT(SMA_OUTCOME_OK, d->done_outcome);
    CHECK_TEXT("end", d->done_text);
    CHECK(strstr(d->done_tool_calls, "\"tool\":\"nope\"") != NULL);
    CHECK_INT(1, d->session->turn_count);
    CHECK_INT(1 + 2 + 3 + 2 + 3 + 1, d->session->message_count);
}

static size_t play_run(size_t cut_at, bool is_lost, uint32_t *ret_wait_count)
{
    struct play play = {.p = {.note = note, .answer_model = answer_model, .stored = note_stored}};
    driver_init(&play.p.d, SMA_LLM_CHAT);
    play.p.d.config.llm_patience_s = 900;
    play.p.d.start_ms = 0;
    driver_targets(&play.p.d, targets, 2);
    driver_start(&play.p.d);
    play_perform(&play.p);
    bool has_cut = false;
    while (!play.p.is_over) {
        bool is_cut = !has_cut && play.p.event_count == cut_at;
        has_cut |= is_cut;
        if (is_cut || (play.is_parked && play.p.head == play.p.tail)) {
            hand_out(&play, is_cut);
            continue;
        }
        play_step(&play.p);
        play.p.is_over &= !play.is_parked;
        if (is_lost && !has_cut && play.p.event_count == cut_at)
            continue;
        play_perform(&play.p);
    }
    check_end(&play);
    if (ret_wait_count != NULL)
        *ret_wait_count = play.wait_count;
    driver_fini(&play.p.d);
    return play.p.event_count;
}

CASE(a_run_with_waits_cut_anywhere_comes_to_the_same_end)
{
    uint32_t wait_count;
    size_t events = play_run(SIZE_MAX, false, &wait_count);
    CHECK_INT(3, wait_count); /* before anything, behind a round without results, at the end */
    CHECK(events > 25);
    for (size_t at = 0; at + 2 < events; at++) {
        play_run(at, false, NULL);
        play_run(at, true, NULL);
    }
}

/* -- consent and waits ------------------------------------------------------------------------- */
static const struct driver_call shell[] = {{"s", "exec_shell", "{\"command\":\"make\"}"}, {0}};
static const struct sma_stored_decision yes[] = {{.call = 0, .is_approved = true, .digest = {'A'}}};

static void begin(struct driver *d)
{
    driver_init(d, SMA_LLM_CHAT);
    d->config.llm_patience_s = 900;
    d->start_ms = 0;
    driver_targets(d, targets, 1);
    driver_start(d);
}

static void park(struct driver *d, uint64_t seconds)
{
    driver_store(d);
    driver_verdict(d, d->step_count, SMA_STEP_PARKED);
    CHECK(driver_find(d, SMA_RUN_END) != NULL);
    driver_cut(d);
    d->now_ns += seconds * SECOND;
    d->wall_ms += (int64_t)seconds * 1000;
}

/* What was agreed to is started once, however often the run waits before and after it. */
CASE(consent_behind_and_before_a_wait_starts_its_call_once)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    park(&d, 5);
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, shell);
    driver_tool(&d, 0, SMA_TOOL_ASKS, "A");
    park(&d, 3600);
    driver_decide(&d, yes, 1);
    driver_start(&d);
    CHECK_INT(1, driver_count(&d, SMA_RUN_ASK_TOOL));
    CHECK_INT(SMA_TOOL_RUN, driver_find(&d, SMA_RUN_ASK_TOOL)->tool.mode);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "{\"output\":\"built\"}");
    driver_store(&d);
    driver_verdict(&d, d.step_count, SMA_STEP_DURABLE);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    CHECK_INT(SMA_STEP_WAIT, driver_find(&d, SMA_RUN_STORE_STEP)->step.kind);
    park(&d, 5);
    driver_start(&d); /* is_decided still: that is of the run, not of its last step */
    CHECK(d.order.is_decided);
    CHECK(driver_find(&d, SMA_RUN_ASK_TOOL) == NULL);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask);
    CHECK(strstr(bytes, "built") != NULL);
    free(bytes);
}

CASE(a_decision_of_days_later_tells_what_time_it_is)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct driver d;
        begin(&d);
        d.order.wall_ms = d.wall_ms;
        driver_answer(&d, "", SMA_FINISH_TOOLS, shell);
        driver_tool(&d, 0, SMA_TOOL_ASKS, "A");
        park(&d, is_late ? 3 * 86400 : 60);
        driver_decide(&d, yes, 1);
        driver_start(&d);
        driver_tool(&d, 0, SMA_TOOL_ALLOWED, "{\"output\":\"built\"}");
        struct sma_buf time;
        sma_buf_init(&time, 100);
        sma_prompt_put_time(&time, d.wall_ms);
        struct sma_model_ask ask;
        char *bytes = driver_request(&d, &ask);
        CHECK_INT(is_late, strstr(bytes, "timeNow") != NULL);
        CHECK(!is_late || memmem(bytes, strlen(bytes), time.ptr, time.len) != NULL);
        free(bytes);
        sma_buf_fini(&time);
        driver_fini(&d);
    }
}

/* "Stopped" is for the log: the model would read it when the program has long been running
 * again. */
CASE(what_the_end_of_the_program_stops_is_no_result)
{
    for (int is_running = 0; is_running < 2; is_running++) { /* a check; the command itself */
        struct driver d;
        begin(&d);
        driver_answer(&d, "", SMA_FINISH_TOOLS, shell);
        if (is_running) {
            driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
            driver_durable(&d);
        }
        driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
        driver_tool(&d, 0, SMA_TOOL_STOPPED, "");
        CHECK(driver_find(&d, SMA_RUN_END) != NULL);
        CHECK(driver_find(&d, SMA_RUN_STORE_STEP) == NULL);
        driver_cut(&d);
        driver_start(&d);
        struct sma_model_ask ask;
        char *bytes = driver_request(&d, &ask);
        CHECK_INT(is_running, strstr(bytes, "Interrupted by a restart") != NULL);
        free(bytes);
        driver_fini(&d);
    }
}

/* -- crashes and damage ------------------------------------------------------------------------ */
CASE(a_suspect_run_that_waited_goes_on_until_its_attempts_are_over)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    park(&d, 5);
    d.order.is_suspect = true;
    d.order.attempt = SMA_RUN_ATTEMPT_COUNT_MAX;
    driver_start(&d);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    driver_cut(&d);
    d.order.attempt++;
    driver_start(&d);
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_GIVEN_UP, d.done_outcome);
    CHECK(d.done_text != NULL && d.done_turn_len > 0);
}

CASE(a_damaged_wait_ends_visibly_or_goes_on)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    driver_trouble(&d, SMA_MODEL_FAILURE_TRANSIENT, -1);
    park(&d, 5);
    struct sma_str whole = d.steps[0].data;
    char *bytes = (char *)(uintptr_t)whole.ptr;
    for (size_t at = 0; at < whole.len; at++) {
        bytes[at] = (char)(bytes[at] ^ 0x41);
        driver_start(&d);
        CHECK(at >= 5 || driver_find(&d, SMA_RUN_STORE_DONE) != NULL); /* its magic and version */
        CHECK(driver_find(&d, SMA_RUN_STORE_DONE) != NULL ||
              driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
        driver_cut(&d);
        sma_session_clear(d.sessions, d.session, UINT64_MAX);
        bytes[at] = (char)(bytes[at] ^ 0x41);
    }
    for (size_t len = 0; len < whole.len; len++) {
        d.steps[0].data.len = len;
        driver_start(&d);
        driver_done(&d, true);
        CHECK_TEXT("I could not finish this: the stored steps are damaged", d.done_text);
        driver_cut(&d);
        sma_session_clear(d.sessions, d.session, UINT64_MAX);
    }
    d.steps[0].data = whole;
}

CASES_MAIN
