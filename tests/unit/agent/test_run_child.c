/*
 * Aim: sub-agents: what they are given and may do, that their steps are their run's, that they end
 *      with it, and that none of them can do more than it was allowed. (Cuts at every event:
 *      test_run_child_cut.c.)
 * Method: the driver plays store, model and tools; `asker` says whose question is answered.
 */
#include "unit/agent/run_driver.h"

#define CHILD(number) ((uint32_t)(number) << 20)

static const struct driver_call one[] = {
    {"a0", "agent_run", "{\"instructions\":\"count the files\"}"}, {0}};
static const struct driver_call three[] = {{"a0", "agent_run", "{\"instructions\":\"part one\"}"},
                                           {"a1", "agent_run", "{\"instructions\":\"part two\"}"},
                                           {"a2", "agent_run", "{\"instructions\":\"part three\"}"},
                                           {0}};
static const struct driver_call shell[] = {{"x1", "exec_shell", "{\"command\":\"ls\"}"}, {0}};
static const struct driver_call reads[] = {{"x1", "list_files", "{}"}, {0}};

/* A run whose model has answered with these calls, whose step is durable. */
static void begin(struct driver *d, int helpers, const struct driver_call *calls)
{
    driver_init(d, SMA_LLM_CHAT);
    d->config.agent_helpers = helpers;
    d->config.agent_helper_steps = 3;
    driver_start(d);
    driver_answer(d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(d);
}

static void answer(struct driver *d, uint32_t child, const char *text,
                   const struct driver_call *calls)
{
    d->asker = CHILD(child);
    driver_answer(d, text, calls == NULL ? SMA_FINISH_STOP : SMA_FINISH_TOOLS, calls);
    d->asker = 0;
}

static bool child_sends(struct driver *d, uint32_t child, const char *text)
{
    d->asker = CHILD(child);
    bool has = driver_request_has(d, text);
    d->asker = 0;
    return has;
}

static void finish(struct driver *d)
{
    driver_answer(d, "done", SMA_FINISH_STOP, NULL);
    driver_done(d, true);
    CHECK_INT(SMA_OUTCOME_OK, d->done_outcome);
}

static void check_child_step(const struct driver *d, uint8_t kind, uint32_t call)
{
    struct sma_stored_child child;
    const struct sma_stored_step *step = &d->steps[d->step_count - 1];
    CHECK_INT(SMA_STEP_CHILD, step->kind);
    CHECK_OK(sma_codec_get_child(step->data, &child));
    CHECK_INT(kind, child.kind);
    CHECK_INT(call, child.call);
}

CASE(a_sub_agent_works_and_reports)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    driver_check_kinds(&d, "gM");
    CHECK_STR("count the files", driver_find(&d, SMA_RUN_PROGRESS)->detail);
    CHECK_INT(CHILD(1), driver_find(&d, SMA_RUN_ASK_MODEL)->call);
    CHECK(child_sends(&d, 1, "count the files"));
    CHECK(child_sends(&d, 1, "You are a sub-agent"));
    CHECK(!child_sends(&d, 1, "hello")); /* nothing of the conversation */
    CHECK(child_sends(&d, 1, "\"name\":\"read_file\""));
    CHECK(!child_sends(&d, 1, "\"name\":\"chat_send\""));
    CHECK(!child_sends(&d, 1, "\"name\":\"chat_contact_send\""));
    CHECK(!child_sends(&d, 1, "\"name\":\"send_file\""));
    CHECK(!child_sends(&d, 1, "\"name\":\"agent_run\""));

    answer(&d, 1, "", shell);
    driver_check_kinds(&d, "T");
    CHECK_INT(SMA_TOOL_CHECK, driver_tool_ask(&d, CHILD(1))->mode);
    CHECK_INT(10, driver_tool_ask(&d, CHILD(1))->seq);
    driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "");
    driver_check_kinds(&d, "P");
    driver_verdict(&d, 2, SMA_STEP_NO_DISK);
    driver_check_kinds(&d, "W"); /* not durable: not run */
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    check_child_step(&d, SMA_STEP_ANSWER, 0);
    driver_check_kinds(&d, "gT");
    CHECK_INT(SMA_TOOL_RUN, driver_tool_ask(&d, CHILD(1))->mode);
    driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "{\"stdout\":\"a b c\"}");
    driver_check_kinds(&d, "PM"); /* its results, its next request */
    CHECK(child_sends(&d, 1, "a b c"));
    driver_durable(&d);
    driver_check_kinds(&d, "");
    answer(&d, 1, "three files", NULL);
    driver_check_kinds(&d, "P"); /* its end; the run's call is still open */
    driver_durable(&d);
    check_child_step(&d, SMA_CHILD_END, 0);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "\\\"output\\\":\\\"three files\\\""));
    CHECK(!driver_request_has(&d, "a b c")); /* what it read stays its own */
    driver_durable(&d);
    finish(&d);
    CHECK(strstr(d.done_tool_calls, "three files") != NULL);
    CHECK_INT(1, d.session->turn_count);
}

CASE(no_more_at_once_than_configured)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 2, three);
    CHECK_INT(2, driver_count(&d, SMA_RUN_ASK_MODEL));
    CHECK(child_sends(&d, 1, "part one"));
    CHECK(child_sends(&d, 2, "part two"));
    answer(&d, 2, "second", NULL);
    driver_check_kinds(&d, "PM"); /* the third takes its place */
    CHECK_INT(CHILD(3), driver_find(&d, SMA_RUN_ASK_MODEL)->call);
    driver_durable(&d);
    answer(&d, 3, "third", NULL);
    driver_durable(&d);
    driver_check_kinds(&d, "");
    answer(&d, 2, "too-late-word", NULL); /* it is over: nobody listens */
    driver_check_kinds(&d, "");
    answer(&d, 1, "first", NULL);
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "first"));
    CHECK(driver_request_has(&d, "second"));
    CHECK(driver_request_has(&d, "third"));
    CHECK(!driver_request_has(&d, "too-late-word"));
    driver_durable(&d);
    finish(&d);
}

CASE(switched_off_it_is_not_offered)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    CHECK(!driver_request_has(&d, "agent_run"));
    driver_answer(&d, "", SMA_FINISH_TOOLS, one);
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "Not carried out"));
}

CASE(it_has_no_tool_that_its_run_has_not)
{
    static const struct driver_call asks[] = {
        {"a0", "agent_run",
         "{\"instructions\":\"x\",\"tools\":[\"exec_shell\",\"agent_run\",\"chat_send\","
         "\"list_files\"]}"},
        {0}};
    static const struct driver_call tries[] = {{"x0", "exec_shell", "{\"command\":\"ls\"}"},
                                               {"x1", "agent_run", "{\"instructions\":\"y\"}"},
                                               {"x2", "read_file", "{\"path\":\"a\"}"},
                                               {"x3", "chat_send", "{\"text\":\"hi\"}"},
                                               {0}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 4;
    d.order.standing = SMA_STANDING_MEMBER;
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, asks);
    driver_durable(&d);
    CHECK(child_sends(&d, 1, "\"name\":\"exec_shell\""));
    CHECK(child_sends(&d, 1, "\"name\":\"chat_send\""));
    CHECK(!child_sends(&d, 1, "\"name\":\"agent_run\""));
    CHECK(!child_sends(&d, 1, "\"name\":\"read_file\""));
    answer(&d, 1, "", tries);
    driver_check_kinds(&d, "T"); /* the command alone is checked; two of the others are refused */
    CHECK_INT(SMA_STANDING_MEMBER, driver_tool_ask(&d, CHILD(1))->standing);
    driver_tool(&d, CHILD(1), SMA_TOOL_REFUSED, "{\"success\":false}");
    driver_check_kinds(&d, "P");
    CHECK_INT(1, driver_find(&d, SMA_RUN_STORE_STEP)->step.delivery_count);
    driver_durable(&d);
    CHECK_TEXT("hi", d.texts[0]);
    driver_check_kinds(&d, "gS");
    driver_sent(&d, CHILD(1) | 3, SMA_SEND_SENT, "");
    driver_check_kinds(&d, "M"); /* its rows tell */
    CHECK_INT(CHILD(1), driver_find(&d, SMA_RUN_ASK_MODEL)->call);
}

CASE(a_stranger_has_none)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 4;
    d.order.standing = SMA_STANDING_STRANGER;
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, one);
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "may only talk"));
}

CASE(wrong_arguments_are_told)
{
    static const struct driver_call wrong[] = {
        {"a0", "agent_run", "{\"instructions\":\" \"}"},
        {"a1", "agent_run", "{\"instructions\":\"x\",\"tools\":[\"rocket\"]}"},
        {"a2", "agent_run", "{\"instructions\":\"x\",\"tools\":\"exec_shell\"}"},
        {"a3", "agent_run", "{\"instructions\":\"x\",\"model\":\"gpt-99\"}"},
        {0}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, wrong);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "is blank"));
    CHECK(driver_request_has(&d, "rocket"));
    CHECK(driver_request_has(&d, "a list with names of your tools"));
    CHECK(driver_request_has(&d, "no model of this name"));
}

CASE(a_configured_model_may_be_named)
{
    static const struct driver_call named[] = {
        {"a0", "agent_run", "{\"instructions\":\"x\",\"model\":\"small\"}"}, {0}};
    struct sma_config_llm first, second;
    const struct sma_config_llm *list[] = {&first, &second};
    SMA_AUTO(driver_fini) struct driver d;
    struct sma_model_ask ask;
    driver_init(&d, SMA_LLM_CHAT);
    first = second = d.config.llm;
    second.model = "small";
    d.config.agent_helpers = 4;
    driver_targets(&d, list, 2);
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, named);
    driver_durable(&d);
    d.asker = CHILD(1);
    free(driver_request(&d, &ask));
    CHECK_TEXT("small", ask.llm->model);
    d.asker = 0;
    answer(&d, 1, "yes", NULL);
    driver_durable(&d);
    free(driver_request(&d, &ask));
    CHECK_TEXT("m-1", ask.llm->model);
}

/* -- it ends ----------------------------------------------------------------------------------- */
CASE(endless_calls_end_at_its_steps)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(1, driver_count(&d, SMA_RUN_ASK_MODEL));
        answer(&d, 1, "", reads);
        driver_durable(&d);
        driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "{\"success\":true}");
        driver_store(&d);
        uint32_t asks = driver_count(&d, SMA_RUN_ASK_MODEL);
        CHECK_INT(1, asks);
        if (i < 2) {
            struct sma_run_actions kept = d.actions;
            driver_verdict(&d, d.step_count, SMA_STEP_DURABLE);
            d.actions = kept;
        }
    }
    CHECK(child_sends(&d, 1, "All steps of this run are used up"));
    driver_verdict(&d, d.step_count, SMA_STEP_DURABLE);
    answer(&d, 1, "got so far", reads); /* and calls are not carried out any more */
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "got so far"));
    CHECK(driver_request_has(&d, "steps were used up"));
}

CASE(a_huge_report_is_cut)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    char *huge = malloc(400001);
    CHECK(huge != NULL);
    memset(huge, 'z', 400000);
    huge[400000] = '\0';
    answer(&d, 1, huge, NULL);
    free(huge);
    CHECK(driver_find(&d, SMA_RUN_STORE_STEP)->step.data.len < 2 * SMA_TOOL_RESULT_BYTES_MAX);
    driver_durable(&d);
    CHECK(driver_request_has(&d, "\\\"truncated\\\":true"));
}

CASE(a_run_has_only_so_many)
{
    struct driver_call many[SMA_HELPER_TOTAL_MAX + 3];
    SMA_AUTO(driver_fini) struct driver d;
    for (size_t i = 0; i < SMA_HELPER_TOTAL_MAX + 2; i++)
        many[i] = (struct driver_call){"a", "agent_run", "{\"instructions\":\"x\"}"};
    many[SMA_HELPER_TOTAL_MAX + 2] = (struct driver_call){0};
    begin(&d, 4, many);
    for (uint32_t i = 0; i < SMA_HELPER_TOTAL_MAX; i++) {
        answer(&d, i + 1, "ok", NULL);
        driver_durable(&d);
    }
    driver_check_kinds(&d, "PM");
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask);
    uint32_t refused = 0;
    for (const char *at = bytes; (at = strstr(at, "as many sub-agents")) != NULL; at++)
        refused++;
    CHECK_INT(2, refused);
    free(bytes);
    driver_durable(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, one); /* nor in a later answer */
    driver_durable(&d);
    CHECK_INT(0, driver_find(&d, SMA_RUN_ASK_MODEL)->call);
}

CASE(its_failure_is_a_result)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    d.asker = CHILD(1);
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, 0);
    d.asker = 0;
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "\\\"success\\\":false"));
    CHECK(!driver_request_has(&d, "it said no")); /* details are for people, not for a model */
}

CASE(a_budget_that_is_used_up_ends_both)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    answer(&d, 1, "", reads);
    driver_store(&d);
    struct sma_step_done done = {.seq = 10,
                                 .number = d.step_count,
                                 .verdict = SMA_STEP_DURABLE,
                                 .over = {.scope = SMA_BUDGET_CHAT}};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STEP_DONE, .step = &done});
    driver_check_kinds(&d, "gT");
    driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "{\"success\":true}");
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MODEL));  /* no further request of it */
    CHECK_INT(2, driver_count(&d, SMA_RUN_STORE_STEP)); /* results, end */
    driver_store(&d);
    driver_verdict(&d, d.step_count - 1, SMA_STEP_DURABLE);
    driver_verdict(&d, d.step_count, SMA_STEP_DURABLE);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MODEL)); /* nor of its run */
    driver_done(&d, true);
    CHECK_INT(SMA_OUTCOME_FAILED, d.done_outcome);
    CHECK(strstr(d.done_tool_calls, "success\\\":false") != NULL);
}

CASE(its_usage_is_told_with_its_steps)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    struct sma_model_answer said = {.seq = 10,
                                    .finish = SMA_FINISH_STOP,
                                    .text = SMA_STR("all"),
                                    .fragment = SMA_STR("{}"),
                                    .usage = {.request_count = 1, .input = 70, .output = 7}};
    driver_event(&d,
                 (struct sma_run_event){.kind = SMA_RUN_MODEL, .call = CHILD(1), .model = &said});
    CHECK_INT(70, (int)driver_find(&d, SMA_RUN_STORE_STEP)->step.usage.input);
    CHECK(driver_find(&d, SMA_RUN_STORE_STEP)->step.target.len > 0);
}

CASE(stopped_with_its_run)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, three);
    answer(&d, 1, "", reads);
    driver_durable(&d); /* a tool works for the first; the others wait for their models */
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP, .is_by_user = true});
    CHECK_INT(2, driver_count(&d, SMA_RUN_CANCEL_MODEL));
    CHECK(driver_find(&d, SMA_RUN_CANCEL_MODEL)->call >= CHILD(2));
    CHECK_INT(1, driver_count(&d, SMA_RUN_CANCEL_TOOLS));
    CHECK_INT(1, driver_count(&d, SMA_RUN_END));
    CHECK_INT(SMA_RUN_END, d.actions.list[d.actions.count - 1].kind);
    CHECK(driver_find(&d, SMA_RUN_STORE_DONE) != NULL); /* what was done stays in the session */
}

CASE(a_drain_leaves_it_at_a_durable_point)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, three);
    answer(&d, 1, "", reads);
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    driver_check_kinds(&d, ""); /* a tool and two models have three seconds */
    answer(&d, 2, "", reads);
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, ""); /* its calls are not begun any more */
    driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "{\"success\":true}");
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    CHECK_INT(0, driver_count(&d, SMA_RUN_END));
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN_HARD});
    CHECK_INT(1, driver_count(&d, SMA_RUN_CANCEL_MODEL)); /* of the third */
    CHECK_INT(1, driver_count(&d, SMA_RUN_END));
    driver_cut(&d);
    d.order.is_resumed = true;
    driver_start(&d);
    CHECK_INT(3, driver_count(&d, SMA_RUN_ASK_MODEL));
    CHECK_INT(1, driver_count(&d, SMA_RUN_STORE_STEP)); /* the second's calls were never begun */
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_TOOL));
}

/* -- people, and a model that is away ---------------------------------------------------------- */
static const struct driver_call both[] = {{"a0", "agent_run", "{\"instructions\":\"part one\"}"},
                                          {"a1", "agent_run", "{\"instructions\":\"part two\"}"},
                                          {"a2", "list_files", "{}"},
                                          {0}};

CASE(consent_waits_until_nothing_else_is_under_way)
{
    static const struct sma_stored_decision yes[] = {
        {.call = 0, .is_approved = true, .digest = {'Q'}}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, both);
    answer(&d, 1, "", shell);
    driver_tool(&d, CHILD(1), SMA_TOOL_ASKS, "Q");
    driver_check_kinds(&d, ""); /* the second, and the run's own call, are under way */
    driver_tool(&d, 2, SMA_TOOL_ALLOWED, "{\"success\":true,\"files\":\"own result\"}");
    driver_check_kinds(&d, "");
    answer(&d, 2, "part two is done", NULL);
    driver_check_kinds(&d, "P");
    driver_store(&d);
    driver_verdict(&d, d.step_count, SMA_STEP_DURABLE);
    driver_check_kinds(&d, "PP"); /* the result that nobody has, and the question */
    const struct sma_step *asked = &d.actions.list[1].step;
    CHECK(memmem(asked->request_json.ptr, asked->request_json.len, "\"isByHelper\":true", 17) !=
          NULL);
    driver_store(&d);
    driver_verdict(&d, d.step_count - 1, SMA_STEP_DURABLE);
    driver_verdict(&d, d.step_count, SMA_STEP_PARKED);
    CHECK_INT(1, driver_count(&d, SMA_RUN_END));
    CHECK_INT(0, driver_count(&d, SMA_RUN_CANCEL_TOOLS));

    driver_cut(&d);
    driver_decide(&d, yes, 1);
    driver_start(&d);
    CHECK_INT(1, driver_count(&d, SMA_RUN_ASK_TOOL)); /* only what was agreed to */
    const struct sma_tool_ask *ask = driver_tool_ask(&d, CHILD(1));
    CHECK_INT(SMA_TOOL_RUN, ask->mode);
    CHECK(ask->is_approved);
    CHECK_STR("exec_shell", ask->name);
    driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "{\"success\":true}");
    driver_durable(&d);
    answer(&d, 1, "part one is done", NULL);
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "part one is done"));
    CHECK(driver_request_has(&d, "part two is done"));
    CHECK(driver_request_has(&d, "own result"));
}

CASE(a_decision_is_started_once)
{
    static const struct sma_stored_decision yes[] = {
        {.call = 0, .is_approved = true, .digest = {'Q'}}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    answer(&d, 1, "", shell);
    driver_tool(&d, CHILD(1), SMA_TOOL_ASKS, "Q");
    driver_check_kinds(&d, "P");
    driver_store(&d);
    driver_verdict(&d, d.step_count, SMA_STEP_PARKED);
    driver_cut(&d);
    driver_decide(&d, yes, 1);
    driver_start(&d);
    CHECK_INT(1, driver_count(&d, SMA_RUN_ASK_TOOL));
    driver_cut(&d); /* killed: whether the command was run is not known */
    d.order.is_decided = false;
    driver_start(&d);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_TOOL));
    CHECK(child_sends(&d, 1, "interrupted by a restart"));
}

CASE(a_model_that_is_away_parks_the_run)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.llm_patience_s = 900;
    d.config.agent_helpers = 4;
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, one);
    driver_durable(&d);
    d.asker = CHILD(1);
    driver_trouble(&d, SMA_MODEL_FAILURE_RATE, 20000);
    d.asker = 0;
    driver_check_kinds(&d, "P");
    CHECK(driver_find(&d, SMA_RUN_STORE_STEP)->step.wait_ms >= 20000);
    driver_store(&d);
    driver_verdict(&d, d.step_count, SMA_STEP_PARKED);
    CHECK_INT(1, driver_count(&d, SMA_RUN_END));
    driver_cut(&d);
    d.now_ns += UINT64_C(30) * 1000000000;
    driver_start(&d);
    CHECK_INT(CHILD(1), driver_find(&d, SMA_RUN_ASK_MODEL)->call);
    answer(&d, 1, "back", NULL);
    driver_durable(&d);
    CHECK(driver_request_has(&d, "back"));
}

CASE(steps_without_disk_are_stored_again_in_order)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, three);
    answer(&d, 1, "", reads);
    uint32_t first = driver_find(&d, SMA_RUN_STORE_STEP)->step.number;
    answer(&d, 2, "", reads);
    CHECK_INT((int)first + 1, driver_find(&d, SMA_RUN_STORE_STEP)->step.number);
    driver_verdict(&d, first, SMA_STEP_NO_DISK);
    driver_verdict(&d, first + 1, SMA_STEP_NO_DISK);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    driver_check_kinds(&d, "PP");
    CHECK_INT(first, d.actions.list[0].step.number);
    CHECK_INT(first + 1, d.actions.list[1].step.number);
    driver_store(&d);
    driver_verdict(&d, first, SMA_STEP_DURABLE);
    driver_check_kinds(&d, "gT");
}

CASE(damaged_steps_end_the_run_visibly)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, 4, one);
    answer(&d, 1, "", reads);
    driver_durable(&d);
    driver_cut(&d);
    struct sma_str whole = d.steps[1].data;
    for (size_t len = 0; len < whole.len; len += 3) {
        d.steps[1].data.len = len;
        driver_start(&d);
        CHECK(driver_find(&d, SMA_RUN_STORE_DONE) != NULL);
        CHECK_INT(SMA_OUTCOME_FAILED, driver_find(&d, SMA_RUN_STORE_DONE)->done.outcome);
        sma_session_clear(d.sessions, d.session, UINT64_MAX);
        driver_cut(&d);
    }
    d.steps[1].data = whole;
}

CASES_MAIN
