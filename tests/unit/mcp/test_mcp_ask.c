/*
 * Aim: what a server asks of people reaches the right call, in both eras, and what they answer
 *      reaches the server once and only when it fits; whoever talks without end, or not at all any
 *      more, is given up.
 * Method: a session, the test in the server's place.
 */
#include "talk.h"

#include <stdlib.h>

#define TOOL "{\"name\":\"deploy\",\"inputSchema\":{\"type\":\"object\"}}"
#define FORM                                                                               \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":5}," \
    "\"size\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"s\",\"title\":\"Small\"},"      \
    "{\"const\":\"l\"}]},\"sure\":{\"type\":\"boolean\",\"title\":\"Sure?\\u202e\"}},"     \
    "\"required\":[\"name\"]}"
#define ASK(id, form)                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"elicitation/create\",\"params\":{" \
    "\"message\":\"Who are you?\\u001b[2J\",\"requestedSchema\":" form "}}"

static uint64_t call_of(struct talk *talk, uint64_t group)
{
    struct sma_mcp_session_call call = {
        .kind = SMA_MCP_TOOL, .name = SMA_STR("deploy"), .timeout_ms = 1000, .group = group};
    uint64_t id = 0;
    CHECK_OK(sma_mcp_session_call(talk->session, &call, talk->now, &id));
    return id;
}

static void elicited(struct talk *talk, enum sma_mcp_action action, const char *content)
{
    sma_mcp_session_elicited(talk->session, talk->question, action, sma_str(content), talk->now);
}

/* -- questions --------------------------------------------------------------------------------- */
CASE(a_question_comes_clean_and_its_answer_goes_back)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    uint64_t call = call_of(&talk, 7);
    talk_hear(&talk, ASK("\"q\"", FORM));
    CHECK_INT(1, talk.question_count);
    CHECK_INT(call, talk.question_call);
    CHECK_TEXT("Who are you? [2J", talk.question_text);
    CHECK_TEXT("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":5"
               "},\"size\":{\"type\":\"string\",\"enum\":[\"s\",\"l\"]},\"sure\":{\"type\":"
               "\"boolean\",\"title\":\"Sure?\"}},\"required\":[\"name\"]}",
               talk.question_form);
    elicited(&talk, SMA_MCP_ACCEPT, "{\"name\":\"Ann\",\"sure\":true}");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"action\":\"accept\",\"content\":{"
               "\"name\":\"Ann\",\"sure\":true}}}",
               talk_newest(&talk));
    size_t said = talk.said_count;
    elicited(&talk, SMA_MCP_DECLINE, ""); /* once */
    CHECK_INT(said, talk.said_count);
    CHECK_INT(0, talk.answered_count);
}

CASE(what_does_not_fit_the_form_is_not_sent)
{
    static const char *const contents[] = {
        "{\"name\":\"Annabel\"}", "{\"name\":\"A\",\"size\":\"m\"}", "{}", "[]", "", "{"};
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    for (size_t i = 0; i < SMA_COUNT_OF(contents); i++) {
        (void)call_of(&talk, 7);
        talk_hear(&talk, ASK("1", FORM));
        elicited(&talk, SMA_MCP_ACCEPT, contents[i]);
        CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"cancel\"}}",
                   talk_newest(&talk));
        talk_answer(&talk, "tools/call", "\"result\":{\"content\":[]}");
    }
}

CASE(forms_that_cannot_be_shown_are_declined)
{
    static const char *const forms[] = {
        "null",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}}}",
        "{\"type\":\"object\",\"properties\":{\"a\\u0007\":{\"type\":\"string\"}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[]}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[{}]}}}",
        "{\"type\":\"object\",\"properties\":{},\"required\":[\"a\"]}"};
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    (void)call_of(&talk, 7);
    for (size_t i = 0; i < SMA_COUNT_OF(forms); i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{"
                 "\"requestedSchema\":%s}}",
                 forms[i]);
        talk_hear(&talk, text);
        CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"decline\"}}",
                   talk_newest(&talk));
    }
    CHECK_INT(0, talk.question_count);
}

CASE(it_is_clear_whose_question_it_is_or_it_is_declined)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    talk_hear(&talk, ASK("1", FORM)); /* nobody's */
    CHECK_INT(0, talk.question_count);
    uint64_t first = call_of(&talk, 7);
    (void)call_of(&talk, 7);
    talk_hear(&talk, ASK("2", FORM)); /* of two calls of one run */
    CHECK_INT(1, talk.question_count);
    CHECK_INT(first, talk.question_call);
    (void)call_of(&talk, 8);
    talk_hear(&talk, ASK("3", FORM)); /* of two runs */
    CHECK_INT(1, talk.question_count);
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"action\":\"decline\"}}",
               talk_newest(&talk));
}

CASE(so_many_questions_in_a_call_and_no_more)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    (void)call_of(&talk, 7);
    for (int i = 0; i < SMA_MCP_ELICIT_COUNT_MAX + 1; i++) {
        talk_hear(&talk, ASK("1", FORM));
        elicited(&talk, SMA_MCP_DECLINE, "");
    }
    CHECK_INT(SMA_MCP_ELICIT_COUNT_MAX, talk.question_count);
    talk.is_deaf = true;
    talk_answer(&talk, "tools/call", "\"result\":{\"content\":[]}");
    (void)call_of(&talk, 7);
    talk_hear(&talk, ASK("1", FORM));
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"decline\"}}",
               talk_newest(&talk));
}

CASE(a_call_waits_for_people_and_not_for_ever)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    (void)call_of(&talk, 7);
    talk_hear(&talk, ASK("1", FORM));
    uint64_t asked_ns = talk.now;
    talk.now += 5000 * MS; /* the call has 1000 ms */
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(0, talk.answered_count);
    CHECK_INT(asked_ns + SMA_MCP_ELICIT_MS * MS, sma_mcp_session_due(talk.session));
    talk.now = asked_ns + SMA_MCP_ELICIT_MS * MS;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"cancel\"}}",
               talk_newest(&talk));
    CHECK_INT(talk.now + 1000 * MS, sma_mcp_session_due(talk.session)); /* goes on */
    talk.now += 1000 * MS;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(SMA_MCP_UNKNOWN, talk.outcome);
}

CASE(the_end_of_a_call_is_the_end_of_its_questions)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    uint64_t call = call_of(&talk, 7);
    talk_hear(&talk, ASK("1", FORM));
    sma_mcp_session_cancel(talk.session, call, "stopped");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"cancel\"}}",
               talk_newest(&talk));
    size_t said = talk.said_count;
    elicited(&talk, SMA_MCP_ACCEPT, "{\"name\":\"Ann\"}");
    CHECK_INT(said, talk.said_count);

    (void)call_of(&talk, 7);
    talk_hear(&talk, ASK("2", FORM));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":2}}");
    said = talk.said_count;
    elicited(&talk, SMA_MCP_ACCEPT, "{\"name\":\"Ann\"}");
    CHECK_INT(said, talk.said_count);
    CHECK_INT(talk.now + 1000 * MS, sma_mcp_session_due(talk.session));
}

CASE(the_modern_era_asks_in_results)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, true);
    talk_answer(&talk, "server/discover",
                "\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}"
                "}");
    talk_answer(&talk, "tools/list", "\"result\":{\"tools\":[" TOOL "]}");
    uint64_t call = call_of(&talk, 7);
    talk_answer(&talk, "tools/call",
                "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"st\","
                "\"inputRequests\":{\"who\":{\"method\":\"elicitation/create\",\"params\":{"
                "\"message\":\"Who?\",\"requestedSchema\":" FORM "}},\"where\":{\"method\":"
                "\"roots/list\"}}}");
    CHECK_INT(1, talk.question_count);
    CHECK_INT(call, talk.question_call);
    size_t said = talk.said_count;
    elicited(&talk, SMA_MCP_ACCEPT, "{\"name\":\"Ann\"}");
    CHECK_INT(said + 1, talk.said_count);
    const char *again = talk_newest(&talk);
    CHECK(strstr(again, "\"requestState\":\"st\"") != NULL);
    CHECK(strstr(again, "\"who\":{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}") != NULL);
    CHECK(strstr(again, "\"where\":{\"roots\":[") != NULL);
    talk_answer(&talk, "tools/call", "\"result\":{\"content\":[]}");
    CHECK_INT(1, talk.answered_count);
    CHECK_INT(call, talk.answered_id);
    CHECK_INT(SMA_MCP_OK, talk.outcome);
}

/* -- too much, and nothing --------------------------------------------------------------------- */
#define NOTICE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"

CASE(whoever_talks_without_end_is_given_up)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    talk.now += SMA_MCP_UNASKED_MS * MS;
    for (int i = 0; i < SMA_MCP_UNASKED_COUNT_MAX; i++)
        talk_hear(&talk, NOTICE);
    CHECK_INT(0, talk.failed_count);
    (void)call_of(&talk, 1);
    talk_answer(&talk, "tools/call", "\"result\":{\"content\":[]}"); /* asked for: counts nothing */
    CHECK_INT(0, talk.failed_count);
    talk.now += SMA_MCP_UNASKED_MS * MS; /* a new time */
    for (int i = 0; i < SMA_MCP_UNASKED_COUNT_MAX; i++)
        talk_hear(&talk, NOTICE);
    CHECK_INT(0, talk.failed_count);
    talk_hear(&talk, NOTICE);
    CHECK_INT(1, talk.failed_count);
    CHECK_TEXT("it talks without end, unasked", talk.why);
}

CASE(so_is_whoever_talks_too_big)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    size_t len = SMA_MCP_MESSAGE_BYTES_MAX - 1;
    char *text = malloc(len + 1);
    CHECK(text != NULL);
    memset(text, ' ', len);
    text[len] = '\0';
    memcpy(text, "{\"jsonrpc\":\"2.0\",\"method\":\"x\"", 29);
    text[len - 1] = '}';
    unsigned fits = SMA_MCP_UNASKED_BYTES_MAX / (unsigned)len;
    for (unsigned i = 0; i < fits; i++)
        talk_hear(&talk, text);
    CHECK_INT(0, talk.failed_count);
    talk_hear(&talk, text);
    CHECK_INT(1, talk.failed_count);
    free(text);
}

CASE(whoever_answers_nothing_any_more_is_given_up)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    (void)call_of(&talk, 1);
    talk.now += 1000 * MS;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(SMA_MCP_UNKNOWN, talk.outcome);
    CHECK_INT(1, talk_count(&talk, "ping"));
    talk.now += SMA_MCP_PING_MS * MS - 1;
    talk_hear(&talk, NOTICE); /* it is at work, and slow */
    talk.now += SMA_MCP_PING_MS * MS - 1;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(0, talk.failed_count);
    talk.now += 1;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(1, talk.failed_count);
    CHECK_TEXT("it does not answer any more", talk.why);
}

CASE(an_answered_ping_is_forgotten)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL "]");
    for (int i = 1; i <= 3; i++) {
        (void)call_of(&talk, 1);
        talk.now += 1000 * MS;
        sma_mcp_session_tick(talk.session, talk.now);
        CHECK_INT(i, talk_count(&talk, "ping"));
        talk_answer(&talk, "ping", i == 1 ? "\"result\":{}" : "\"error\":{\"code\":-32601}");
        CHECK_INT(-1, (int64_t)sma_mcp_session_due(talk.session));
    }
    CHECK_INT(0, talk.failed_count);
}

CASES_MAIN
