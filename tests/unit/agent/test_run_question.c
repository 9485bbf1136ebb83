/*
 * Aim: a server asks people something in a call: the question stands in the chat after its step,
 *      one at a time; words of an answer go to the server and to the model; refusing, silence, the
 *      call's end, stop and restart leave nobody waiting, and nothing is passed on twice.
 * Method: the driver plays store and model, the test plays the server and the person.
 */
#include "unit/agent/run_driver.h"

#include "runtime/agent/codec.h"

#define CHILD(number) ((uint32_t)(number) << 20)
#define ALLOWED "{\"mcp\":{\"allow\":[\"files:*\"]}}"
#define FORM                                                                            \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[" \
    "\"n\"]}"

static const struct driver_call writes[] = {{"w0", "mcp__files__write", "{\"path\":\"a\"}"},
                                            {"w1", "mcp__files__read", "{\"path\":\"b\"}"},
                                            {0}};
static const struct sma_mcp_elicit question = {
    .server = SMA_STR("files"), .text = SMA_STR("How many?"), .schema = SMA_STR(FORM)};
static const struct sma_mcp_elicit other = {
    .server = SMA_STR("files"), .text = SMA_STR("Really?"), .schema = SMA_STR("")};

static void begin(struct driver *d)
{
    driver_init(d, SMA_LLM_CHAT);
    driver_offer(d, ALLOWED);
    driver_start(d);
    driver_answer(d, "", SMA_FINISH_TOOLS, writes);
    driver_durable(d);
    CHECK_INT(2, driver_count(d, SMA_RUN_ASK_MCP));
}

static void elicit(struct driver *d, uint32_t call, const struct sma_mcp_elicit *asked)
{
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_ELICIT, .call = call, .elicit = asked});
}

static void serve(struct driver *d, uint32_t call, const char *text)
{
    const struct sma_mcp_answer said = {.outcome = SMA_MCP_OK, .text = sma_str(text)};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MCP, .call = call, .mcp = &said});
}

static void say_as(struct driver *d, uint64_t seq, const char *text, bool is_answer)
{
    static struct sma_collected messages[16];
    static struct sma_steer steers[16];
    size_t i = seq % 16;
    messages[i] =
        (struct sma_collected){.seq = seq, .message_id = SMA_STR("m"), .text = sma_str(text)};
    steers[i] = (struct sma_steer){.seq = 10,
                                   .standing = SMA_STANDING_OWNER,
                                   .is_answer = is_answer,
                                   .message_count = 1,
                                   .messages = &messages[i]};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_ADDED, .steer = &steers[i]});
}

/* The NOTE in the last actions: what the chat reads. */
static void check_note(const struct driver *d, const char *text, bool asks)
{
    const struct sma_run_action *action = driver_find(d, SMA_RUN_STORE_STEP);
    CHECK(action != NULL);
    CHECK_INT(SMA_STEP_NOTE, action->step.kind);
    CHECK_INT(1, action->step.delivery_count);
    CHECK_INT(SMA_INTENT_NOTICE, action->step.deliveries[0].intent);
    CHECK(action->step.asks_words == asks);
    CHECK(memmem(action->step.deliveries[0].text.ptr, action->step.deliveries[0].text.len, text,
                 strlen(text)) != NULL);
}

static void check_told(const struct driver *d, uint32_t call, enum sma_mcp_action how,
                       const char *content)
{
    const struct sma_run_action *action = driver_find(d, SMA_RUN_ELICITED);
    CHECK(action != NULL);
    CHECK_INT(call, action->call);
    CHECK_INT(call, action->elicited.call);
    CHECK_INT(how, action->elicited.action);
    CHECK_STR(content, action->elicited.content);
}

CASE(words_go_to_the_server_and_to_the_model)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    elicit(&d, 0, &question);
    check_note(&d, "The outside server \"files\" asks", true);
    say_as(&d, 20, "1", true); /* before anybody can have read it */
    CHECK_INT(0, driver_count(&d, SMA_RUN_ELICITED));
    elicit(&d, 0, &question); /* it waits */
    driver_check_kinds(&d, "");
    driver_verdict(&d, 2, SMA_STEP_NO_DISK);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_RETRY});
    check_note(&d, "How many?", true);
    driver_durable(&d);
    driver_check_kinds(&d, "");
    say_as(&d, 21, "7", false); /* something from before the question */
    CHECK_INT(0, driver_count(&d, SMA_RUN_ELICITED));
    say_as(&d, 22, "42", true);
    check_told(&d, 0, SMA_MCP_ACCEPT, "{\"n\":42}");
    check_note(&d, "How many?", true); /* the next one */
    driver_durable(&d);
    say_as(&d, 23, "43", true);
    check_told(&d, 0, SMA_MCP_ACCEPT, "{\"n\":43}");
    say_as(&d, 24, "44", true);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ELICITED));
    serve(&d, 0, "written");
    serve(&d, 1, "read");
    CHECK(driver_request_has(&d, "the server asked the user something; they answered"));
    CHECK(driver_request_has(&d, "42"));
    const struct sma_step *results = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(SMA_STEP_RESULTS, results->kind);
    CHECK_INT(5, results->added_count); /* every word stands in the conversation, too */
}

CASE(in_a_group_it_says_how_to_answer)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.order.is_group = true;
    driver_offer(&d, ALLOWED);
    driver_start(&d);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_HISTORY,
                                            .history = &(struct sma_history_lines){0}});
    driver_answer(&d, "", SMA_FINISH_TOOLS, writes);
    driver_durable(&d);
    elicit(&d, 0, &question);
    check_note(&d, "reply to this message or mention me", true);
    driver_durable(&d);
    say_as(&d, 20, "many", true);
    check_note(&d, "reply to this message or mention me", true); /* again */
}

CASE(refusing_and_leaving_are_said)
{
    static const struct
    {
        const char *words;
        enum sma_mcp_action how;
        const char *told;
    } rows[] = {{"decline", SMA_MCP_DECLINE, "they declined"},
                {"取消", SMA_MCP_DISMISS, "they gave no answer"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct driver d;
        begin(&d);
        elicit(&d, 1, &question);
        driver_durable(&d);
        say_as(&d, 20, rows[i].words, true);
        check_told(&d, 1, rows[i].how, "");
        serve(&d, 0, "written");
        serve(&d, 1, "not read");
        CHECK(driver_request_has(&d, rows[i].told));
        driver_fini(&d);
    }
}

CASE(what_does_not_fit_is_asked_again_a_few_times)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    elicit(&d, 0, &question);
    driver_durable(&d);
    for (uint64_t i = 0; i < 2; i++) {
        say_as(&d, 20 + i, "a lot", true);
        CHECK_INT(0, driver_count(&d, SMA_RUN_ELICITED));
        check_note(&d, "That does not fit", true);
        driver_durable(&d);
    }
    say_as(&d, 22, "a lot", true);
    check_told(&d, 0, SMA_MCP_DISMISS, "");
}

CASE(silence_ends_it)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    elicit(&d, 0, &question);
    driver_durable(&d);
    elicit(&d, 1, &other);
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_ELICIT_END, .call = 0});
    check_told(&d, 0, SMA_MCP_DISMISS, "");
    check_note(&d, "was not answered in time", false);
    driver_durable(&d);
    check_note(&d, "Really?", true); /* the other one's turn */
    driver_durable(&d);
    say_as(&d, 20, "yes", true);
    check_told(&d, 1, SMA_MCP_ACCEPT, "{}");
}

/* The server does not wait any longer: the round is not over before the chat knows. */
CASE(a_call_that_ends_takes_its_question_along)
{
    struct driver d;
    begin(&d);
    serve(&d, 1, "read");
    elicit(&d, 0, &question);
    driver_store(&d);
    serve(&d, 0, "gave up"); /* while the question is on its way to the disk */
    check_told(&d, 0, SMA_MCP_DISMISS, "");
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MODEL));
    driver_verdict(&d, d.step_count, SMA_STEP_DURABLE);
    check_note(&d, "is over", false);
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    driver_fini(&d);

    begin(&d);
    serve(&d, 1, "read");
    elicit(&d, 0, &question);
    driver_durable(&d);
    serve(&d, 0, "gave up");
    check_told(&d, 0, SMA_MCP_DISMISS, "");
    check_note(&d, "is over", false);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MODEL));
    driver_durable(&d);
    driver_check_kinds(&d, "PM");
    CHECK(driver_request_has(&d, "gave up"));
    say_as(&d, 20, "42", true);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ELICITED));
    driver_fini(&d);
}

CASE(who_cannot_be_asked_is_not)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    elicit(&d, 5, &question); /* no such call */
    check_told(&d, 5, SMA_MCP_DISMISS, "");
    for (int i = 0; i < SMA_MCP_ELICIT_COUNT_MAX; i++) {
        elicit(&d, 0, &question);
        CHECK_INT(0, driver_count(&d, SMA_RUN_ELICITED));
    }
    elicit(&d, 0, &question); /* too many */
    check_told(&d, 0, SMA_MCP_DISMISS, "");
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_DRAIN});
    CHECK_INT(SMA_MCP_ELICIT_COUNT_MAX, driver_count(&d, SMA_RUN_ELICITED));
    elicit(&d, 0, &question);
    check_told(&d, 0, SMA_MCP_DISMISS, "");
}

CASE(a_restart_says_that_it_is_over_once)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d);
    elicit(&d, 0, &question);
    driver_durable(&d);
    driver_cut(&d);
    driver_start(&d);
    check_note(&d, "I was restarted while a server", false);
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MCP)); /* and nothing is called again */
    CHECK_INT(0, driver_count(&d, SMA_RUN_ASK_MODEL));
    driver_store(&d);
    driver_cut(&d); /* once more, before anybody knew */
    driver_start(&d);
    CHECK_INT(SMA_STEP_RESULTS, driver_find(&d, SMA_RUN_STORE_STEP)->step.kind);
    CHECK(driver_request_has(&d, "nterrupted by a restart; the outcome is unknown"));
}

CASE(a_sub_agents_server_asks_the_person_too)
{
    static const struct driver_call one[] = {{"a0", "agent_run", "{\"instructions\":\"x\"}"}, {0}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    d.config.agent_helpers = 4;
    driver_offer(&d, ALLOWED);
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, one);
    driver_durable(&d);
    d.asker = CHILD(1);
    driver_answer(&d, "", SMA_FINISH_TOOLS, writes);
    driver_durable(&d);
    elicit(&d, CHILD(1), &question);
    check_note(&d, "How many?", true);
    driver_durable(&d);
    say_as(&d, 20, "5", true);
    check_told(&d, CHILD(1), SMA_MCP_ACCEPT, "{\"n\":5}");
    serve(&d, CHILD(1), "written");
    serve(&d, CHILD(1) | 1, "read");
    CHECK(driver_request_has(&d, "the server asked the user something; they answered"));
}

CASES_MAIN
