/*
 * Aim: a run that waits for servers alone leaves its place to others after a second, by a durable
 *      step, once; it takes it again with its results, in the order of the numbers; work of our
 *      own, a question to people and the program's end keep it from that.
 * Method: the driver plays store and model, the test plays the server and the clock.
 */
#include "unit/agent/run_driver.h"

#define CHILD(number) ((uint32_t)(number) << 20)
#define ALLOWED "{\"mcp\":{\"allow\":[\"files:*\"]}}"

static const struct driver_call writes[] = {{"w0", "mcp__files__write", "{\"path\":\"a\"}"},
                                            {"w1", "mcp__files__read", "{\"path\":\"b\"}"},
                                            {0}};

static void begin(struct driver *d, const struct driver_call *calls)
{
    driver_init(d, SMA_LLM_CHAT);
    driver_offer(d, ALLOWED);
    driver_start(d);
    driver_answer(d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(d);
}

static void serve(struct driver *d, uint32_t call, const char *text)
{
    const struct sma_mcp_answer said = {.outcome = SMA_MCP_OK, .text = sma_str(text)};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MCP, .call = call, .mcp = &said});
}

/* The timer that was asked for, so late. */
static void ring(struct driver *d, uint64_t ms)
{
    d->now_ns += ms * SMA_NS_PER_MS;
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
}

static bool leaves(const struct driver *d)
{
    const struct sma_run_action *action = driver_find(d, SMA_RUN_STORE_STEP);
    return action != NULL && action->step.kind == SMA_STEP_NOTE && action->step.leaves_place &&
           action->step.delivery_count == 0 && !action->step.asks_words;
}

static void it_leaves_after_a_second_and_comes_back(void)
{
    struct driver d;
    begin(&d, writes);
    CHECK_INT(1, driver_count(&d, SMA_RUN_WAIT));
    ring(&d, SMA_MCP_PLACE_MS - 1);
    CHECK(!leaves(&d));
    CHECK_INT(1, driver_count(&d, SMA_RUN_WAIT));
    ring(&d, 1);
    CHECK(leaves(&d));
    CHECK_INT(2, driver_find(&d, SMA_RUN_STORE_STEP)->step.number);
    driver_durable(&d);
    driver_check_kinds(&d, ""); /* once, and no timer runs on */
    ring(&d, 60000);
    driver_check_kinds(&d, "");
    serve(&d, 0, "written");
    driver_check_kinds(&d, "");
    serve(&d, 1, "read");
    const struct sma_step *results = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(SMA_STEP_RESULTS, results->kind);
    CHECK_INT(3, results->number);
    CHECK(!results->leaves_place);
    driver_durable(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, writes); /* the next round anew */
    driver_durable(&d);
    ring(&d, SMA_MCP_PLACE_MS);
    CHECK(leaves(&d));
    driver_fini(&d);
}

static void results_wait_for_the_step_that_says_so(void)
{
    struct driver d;
    begin(&d, writes);
    ring(&d, SMA_MCP_PLACE_MS);
    driver_store(&d); /* not told yet */
    serve(&d, 0, "written");
    serve(&d, 1, "read");
    driver_check_kinds(&d, ""); /* numbers of steps stay in order */
    driver_verdict(&d, 2, SMA_STEP_DURABLE);
    driver_check_kinds(&d, "PM");
    driver_fini(&d);
}

static void want_of_disk_is_waited_out(void)
{
    struct driver d;
    begin(&d, writes);
    ring(&d, SMA_MCP_PLACE_MS);
    driver_verdict(&d, 2, SMA_STEP_NO_DISK);
    CHECK_INT(1, driver_count(&d, SMA_RUN_WAIT));
    ring(&d, 1000);
    CHECK(leaves(&d));
    driver_durable(&d);
    serve(&d, 0, "written");
    serve(&d, 1, "read");
    driver_check_kinds(&d, "PM");
    driver_fini(&d);
}

static void work_of_our_own_keeps_it(void)
{
    static const struct driver_call both[] = {{"w0", "mcp__files__write", "{\"path\":\"a\"}"},
                                              {"w1", "list_files", "{\"path\":\".\"}"},
                                              {0}};
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_offer(&d, ALLOWED);
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, both);
    if (driver_count(&d, SMA_RUN_STORE_STEP) == 0)
        driver_tool(&d, 1, SMA_TOOL_ALLOWED, "");
    driver_durable(&d);
    CHECK_INT(1, driver_count(&d, SMA_RUN_ASK_MCP));
    CHECK_INT(0, driver_count(&d, SMA_RUN_WAIT));
    d.now_ns += 60 * SMA_NS_PER_S;
    driver_tool(&d, 1, SMA_TOOL_ALLOWED, "files");
    CHECK_INT(1, driver_count(&d, SMA_RUN_WAIT)); /* from now on */
    ring(&d, SMA_MCP_PLACE_MS);
    CHECK(leaves(&d));
    driver_fini(&d);
}

static void a_question_to_people_has_its_own_way(void)
{
    static const struct sma_mcp_elicit question = {
        .server = SMA_STR("files"), .text = SMA_STR("Really?"), .schema = SMA_STR("")};
    struct driver d;
    begin(&d, writes);
    ring(&d, SMA_MCP_PLACE_MS);
    CHECK(leaves(&d));
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_ELICIT, .elicit = &question});
    driver_check_kinds(&d, "P");
    CHECK(driver_find(&d, SMA_RUN_STORE_STEP)->step.asks_words);
    driver_verdict(&d, 2, SMA_STEP_DURABLE); /* of the place, not of the question */
    static const struct sma_collected message = {
        .seq = 20, .message_id = SMA_STR("m"), .text = SMA_STR("yes")};
    static const struct sma_steer steer = {.seq = 10,
                                           .standing = SMA_STANDING_OWNER,
                                           .is_answer = true,
                                           .message_count = 1,
                                           .messages = (struct sma_collected *)(uintptr_t)&message};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_ADDED, .steer = &steer});
    CHECK_INT(0, driver_count(&d, SMA_RUN_ELICITED)); /* nobody can have read it */
    driver_verdict(&d, 3, SMA_STEP_DURABLE);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_ELICIT_END, .call = 0});
    CHECK_INT(1, driver_count(&d, SMA_RUN_ELICITED));
    driver_fini(&d);
}

static void one_that_is_asked_first_has_left_already(void)
{
    static const struct sma_mcp_elicit question = {
        .server = SMA_STR("files"), .text = SMA_STR("Really?"), .schema = SMA_STR("")};
    struct driver d;
    begin(&d, writes);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_ELICIT, .elicit = &question});
    driver_durable(&d);
    ring(&d, SMA_MCP_PLACE_MS);
    CHECK(!leaves(&d));
    driver_fini(&d);
}

static void a_sub_agent_at_a_server_is_no_work_and_one_that_thinks_is(void)
{
    static const struct driver_call task[] = {{"c1", "agent_run", "{\"instructions\":\"write a\"}"},
                                              {0}};
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 4;
    driver_offer(&d, ALLOWED);
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, task);
    driver_durable(&d);
    d.asker = CHILD(1);
    CHECK_INT(0, driver_count(&d, SMA_RUN_WAIT));
    driver_answer(&d, "", SMA_FINISH_TOOLS, writes);
    driver_durable(&d);
    CHECK_INT(2, driver_count(&d, SMA_RUN_ASK_MCP));
    CHECK_INT(1, driver_count(&d, SMA_RUN_WAIT));
    ring(&d, SMA_MCP_PLACE_MS);
    CHECK(leaves(&d));
    driver_durable(&d);
    serve(&d, CHILD(1), "written");
    serve(&d, CHILD(1) + 1, "read");
    CHECK_INT(SMA_STEP_CHILD, driver_find(&d, SMA_RUN_STORE_STEP)->step.kind); /* takes it again */
    CHECK_INT(0, driver_count(&d, SMA_RUN_WAIT));
    driver_fini(&d);
}

static void a_program_that_ends_stores_nothing_of_it(void)
{
    struct driver d;
    begin(&d, writes);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    ring(&d, SMA_MCP_PLACE_MS);
    CHECK(!leaves(&d));
    driver_fini(&d);
}

static void after_a_kill_the_call_is_interrupted_as_ever(void)
{
    struct driver d;
    begin(&d, writes);
    ring(&d, SMA_MCP_PLACE_MS);
    driver_store(&d);
    driver_cut(&d);
    driver_start(&d);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MCP));
    CHECK(driver_request_has(&d, "nterrupted by a restart"));
    CHECK_INT(0, d.delivery_count); /* the chat is told nothing */
    driver_fini(&d);
}

int main(void)
{
    RUN(it_leaves_after_a_second_and_comes_back);
    RUN(results_wait_for_the_step_that_says_so);
    RUN(want_of_disk_is_waited_out);
    RUN(work_of_our_own_keeps_it);
    RUN(a_question_to_people_has_its_own_way);
    RUN(one_that_is_asked_first_has_left_already);
    RUN(a_sub_agent_at_a_server_is_no_work_and_one_that_thinks_is);
    RUN(a_program_that_ends_stores_nothing_of_it);
    RUN(after_a_kill_the_call_is_interrupted_as_ever);
    return check_summary();
}
