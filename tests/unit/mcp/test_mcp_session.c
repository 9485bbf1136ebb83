/*
 * Aim: the promises of session.h in both eras: the handshake, lists, calls that are answered once,
 * requests of the server that are always answered, and a hostile server that gets nowhere.
 * Method: the test is the server; messages as recorded from real ones.
 */
#include "talk.h"

#define INITIALIZED(version) \
    "\"result\":{\"protocolVersion\":\"" version "\",\"capabilities\":{\"tools\":{}}}"
#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"

/* -- legacy ------------------------------------------------------------------------------------ */
CASE(the_legacy_handshake_is_as_recorded)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, false);
    CHECK_TEXT(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{},\"elicitation\":{}},"
        "\"clientInfo\":{"
        "\"name\":\"shipmyagent\",\"title\":\"ShipMyAgent\",\"version\":\"" SMA_VERSION "\"}}}",
        talk_newest(&talk));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    talk_answer(&talk, "initialize", INITIALIZED("2025-11-25"));
    CHECK_INT(1, talk_count(&talk, "notifications/initialized"));
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}", talk_newest(&talk));
    CHECK(!sma_mcp_session_is_ready(talk.session));
    talk_answer(&talk, "tools/list", "\"result\":{\"tools\":[" TOOL("echo") "]}");
    CHECK(sma_mcp_session_is_ready(talk.session));
    CHECK_INT(1, talk.listed_count);
    CHECK_STR("fake:echo", sma_mcp_session_offer(talk.session)->tools[0].shown);
}

CASE(older_versions_are_taken_and_unknown_ones_are_not)
{
    static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05", "1999-01-01"};
    for (size_t i = 0; i < SMA_COUNT_OF(versions); i++) {
        struct talk talk;
        char member[200];
        talk_begin(&talk, false);
        snprintf(member, sizeof member,
                 "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{}}", versions[i]);
        talk_answer(&talk, "initialize", member);
        CHECK_INT(i < 3, sma_mcp_session_is_ready(talk.session));
        CHECK_INT(i < 3 ? 0 : 1, talk.failed_count);
        if (i < 3)
            CHECK_TEXT(versions[i], sma_mcp_session_version(talk.session));
        talk_end(&talk);
    }
}

CASE(a_silent_server_is_given_up)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, false);
    CHECK_INT(talk.now + SMA_MCP_HANDSHAKE_MS * MS, sma_mcp_session_due(talk.session));
    sma_mcp_session_tick(talk.session, talk.now + SMA_MCP_HANDSHAKE_MS * MS - 1);
    CHECK_INT(0, talk.failed_count);
    sma_mcp_session_tick(talk.session, talk.now + SMA_MCP_HANDSHAKE_MS * MS);
    CHECK_INT(1, talk.failed_count);
    CHECK_INT(-1, (int64_t)sma_mcp_session_due(talk.session));
}

/* -- modern ------------------------------------------------------------------------------------ */
#define DISCOVERED                                                                     \
    "\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{" \
    "\"listChanged\":true}},\"resultType\":\"complete\",\"instructions\":\"be\\u200b nice\"}"
#define META                                                                      \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","      \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"shipmyagent\",\"title\":" \
    "\"ShipMyAgent\",\"version\":\"" SMA_VERSION "\"},"                           \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{},\"elicitation\":{}}}"

static void connect_modern(struct talk *talk)
{
    talk_begin(talk, true);
    talk_answer(talk, "server/discover", DISCOVERED);
    talk_answer(talk, "tools/list", "\"result\":{\"tools\":[" TOOL("deploy") "]}");
    CHECK(sma_mcp_session_is_ready(talk->session));
}

CASE(the_modern_era_has_meta_everywhere_and_no_handshake)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, true);
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META
               "}}",
               talk_newest(&talk));
    talk_answer(&talk, "server/discover", DISCOVERED);
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{" META "}}",
               talk_newest(&talk));
    talk_answer(&talk, "tools/list", "\"result\":{\"tools\":[]}");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"subscriptions/listen\",\"params\":{"
               "\"notifications\":{\"toolsListChanged\":true}," META "}}",
               talk_newest(&talk));
    CHECK_INT(0, talk_count(&talk, "initialize"));
    CHECK_STR("be nice", sma_mcp_session_offer(talk.session)->servers[0].instructions);
    CHECK_INT(-1, (int64_t)sma_mcp_session_due(talk.session)); /* listening has no end */
}

CASE(whoever_does_not_know_discovery_is_legacy)
{
    struct talk talk;
    talk_begin(&talk, true);
    talk_answer(&talk, "server/discover", "\"error\":{\"code\":-32601,\"message\":\"no\"}");
    CHECK_INT(1, talk_count(&talk, "initialize"));
    talk_answer(&talk, "initialize", INITIALIZED("2025-06-18"));
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}", talk_newest(&talk));
    talk_end(&talk);

    talk_begin(&talk, true); /* silence is an answer, too; a late one is none */
    sma_mcp_session_tick(talk.session, talk.now + SMA_MCP_PROBE_MS * MS);
    CHECK_INT(1, talk_count(&talk, "initialize"));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    CHECK_INT(1, sma_mcp_session_count(talk.session).stray);
    CHECK_INT(0, talk.failed_count);
    talk_end(&talk);
}

CASE(a_modern_server_that_starts_slowly_is_modern)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, true);
    sma_mcp_session_tick(talk.session, talk.now + SMA_MCP_PROBE_MS * MS);
    CHECK_INT(1, talk_count(&talk, "initialize"));
    talk_answer(&talk, "server/discover", DISCOVERED); /* both lie in its stdin */
    talk_answer(&talk, "initialize", "\"error\":{\"code\":-32601,\"message\":\"no\"}");
    CHECK_INT(0, talk.failed_count);
    talk_answer(&talk, "tools/list", "\"result\":{\"tools\":[" TOOL("echo") "]}");
    CHECK(sma_mcp_session_is_ready(talk.session));
    CHECK_TEXT("2026-07-28", sma_mcp_session_version(talk.session));
    CHECK_INT(0, talk_count(&talk, "notifications/initialized"));
    talk_answer(&talk, "server/discover", DISCOVERED); /* once */
    CHECK_INT(1, talk_count(&talk, "tools/list"));
    CHECK_INT(2, sma_mcp_session_count(talk.session).stray);
}

CASE(a_result_that_is_not_the_end_is_asked_for_again)
{
    SMA_AUTO(talk_end) struct talk talk;
    connect_modern(&talk);
    uint64_t id = talk_call(&talk, "deploy", "{\"env\":\"prod\"}");
    talk_answer(&talk, "tools/call",
                "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"opaque-1\","
                "\"inputRequests\":{\"ok\":{\"method\":\"elicitation/create\",\"params\":{}}}}");
    const char *again = talk_newest(&talk);
    CHECK(strstr(again, "\"requestState\":\"opaque-1\"") != NULL);
    CHECK(strstr(again, "\"inputResponses\":{\"ok\":{\"action\":\"decline\"}}") != NULL);
    CHECK(strstr(again, "\"arguments\":{\"env\":\"prod\"}") != NULL);
    CHECK_INT(0, talk.answered_count);
    talk_answer(&talk, "tools/call",
                "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}");
    CHECK_INT(1, talk.answered_count);
    CHECK_INT(id, talk.answered_id); /* the first id, by which the owner knows it */
    CHECK_INT(SMA_MCP_OK, talk.outcome);

    (void)talk_call(&talk, "deploy", "");
    for (int i = 0; i < SMA_MCP_ROUND_COUNT_MAX; i++)
        talk_answer(&talk, "tools/call",
                    "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"s\"}");
    CHECK_INT(1, talk.answered_count);
    talk_answer(&talk, "tools/call",
                "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"s\"}");
    CHECK_INT(2, talk.answered_count);
    CHECK_INT(SMA_MCP_PROTOCOL_ERROR, talk.outcome);

    (void)talk_call(&talk, "deploy", "");
    talk_answer(&talk, "tools/call",
                "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{"
                "\"method\":\"sampling/createMessage\"}}}");
    CHECK_INT(3, talk.answered_count);
    CHECK_INT(SMA_MCP_PROTOCOL_ERROR, talk.outcome);
}

/* -- calls ------------------------------------------------------------------------------------- */
CASE(a_call_is_answered_once_in_any_order)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[" TOOL("echo") "]");
    uint64_t first = talk_call(&talk, "echo", "{\"message\":\"hi\"}");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
               "\"echo\",\"arguments\":{\"message\":\"hi\"},\"_meta\":{\"progressToken\":3}}}",
               talk_newest(&talk));
    uint64_t second = talk_call(&talk, "echo", "");
    CHECK(first != second);
    talk_answer(&talk, "tools/call",
                "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"two\"}],\"isError\":true}");
    CHECK_INT(second, talk.answered_id);
    CHECK_INT(SMA_MCP_TOOL_ERROR, talk.outcome);
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\","
                     "\"text\":\"one\"}]}}");
    CHECK_INT(first, talk.answered_id);
    CHECK_TEXT("one", talk.text);
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"); /* once more */
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}");
    talk_hear(&talk,
              "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}");
    CHECK_INT(2, talk.answered_count);
    CHECK_INT(3, sma_mcp_session_count(talk.session).stray);
}

CASE(a_call_never_waits_for_what_has_come)
{
    static const struct
    {
        const char *answer;
        enum sma_mcp_outcome outcome;
    } rows[] = {
        {"\"result\":null", SMA_MCP_OK}, /* a function that gives nothing back */
        {"\"result\":null,\"error\":null", SMA_MCP_OK},
        {"\"result\":null,\"error\":{\"code\":1}", SMA_MCP_PROTOCOL_ERROR},
        {"\"result\":{\"content\":[],\"isError\":\"true\"}", SMA_MCP_TOOL_ERROR},
        {"\"result\":{\"content\":[],\"isError\":1}", SMA_MCP_TOOL_ERROR},
        {"\"result\":{\"content\":[],\"isError\":\"false\"}", SMA_MCP_OK},
        {"\"result\":{\"content\":[],\"isError\":null}", SMA_MCP_OK},
    };
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        (void)talk_call(&talk, "x", "{}");
        talk_answer(&talk, "tools/call", rows[i].answer);
        CHECK_INT(i + 1, talk.answered_count);
        CHECK_INT(rows[i].outcome, talk.outcome);
    }
}

CASE(errors_say_what_they_are)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    (void)talk_call(&talk, "nope", "{}");
    talk_answer(&talk, "tools/call",
                "\"error\":{\"code\":-32602,\"message\":\"Unknown \\u202Etool\"}");
    CHECK_INT(SMA_MCP_PROTOCOL_ERROR, talk.outcome);
    CHECK_TEXT("MCP error -32602: Unknown tool", talk.why);
    (void)talk_call(&talk, "nope", "{}");
    talk_answer(&talk, "tools/call", "\"result\":7"); /* no result, but what it said */
    CHECK_INT(SMA_MCP_OK, talk.outcome);
    uint64_t id = 0;
    struct sma_mcp_session_call bad = {.name = SMA_STR("x"), .arguments = SMA_STR("[1]")};
    CHECK_ERR(SMA_ERR_BADINPUT, sma_mcp_session_call(talk.session, &bad, talk.now, &id));
}

CASE(progress_renews_the_time_but_not_for_ever)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    (void)talk_call(&talk, "slow", "{}");
    uint64_t begin = talk.now;
    unsigned renewed = 0;
    while (talk.answered_count == 0 && renewed < 100) {
        talk.now += 900 * MS;
        talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                         "\"progressToken\":3,\"progress\":1.5,\"total\":4}}");
        sma_mcp_session_tick(talk.session, talk.now);
        renewed++;
    }
    CHECK_TEXT("1.5/4", talk.progress);
    CHECK_INT(SMA_MCP_UNKNOWN, talk.outcome);
    CHECK(renewed > 2);
    CHECK(talk.now - begin >= 1000 * MS * SMA_MCP_RENEWED_COUNT_MAX);
    CHECK(talk.now - begin <= 1000 * MS * SMA_MCP_RENEWED_COUNT_MAX + 900 * MS);
    CHECK_INT(1, talk_count(&talk, "notifications/cancelled"));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                     "\"progressToken\":3,\"progress\":2}}");
    CHECK_INT(1, sma_mcp_session_count(talk.session).stray);

    (void)talk_call(&talk, "silent", "{}");
    CHECK_INT(talk.now + 1000 * MS, sma_mcp_session_due(talk.session));
    sma_mcp_session_tick(talk.session, talk.now + 1000 * MS - 1);
    CHECK_INT(1, talk.answered_count);
    sma_mcp_session_tick(talk.session, talk.now + 1000 * MS);
    CHECK_INT(2, talk.answered_count);
    CHECK_TEXT("no answer in time", talk.why);
}

CASE(a_cancelled_call_is_answered_at_once_and_never_again)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    uint64_t id = talk_call(&talk, "slow", "{}");
    sma_mcp_session_cancel(talk.session, id, "stopped");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
               "\"requestId\":3,\"reason\":\"stopped\"}}",
               talk_newest(&talk));
    CHECK_INT(SMA_MCP_CANCELLED, talk.outcome);
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}");
    sma_mcp_session_cancel(talk.session, id, "stopped");
    CHECK_INT(1, talk.answered_count);
}

CASE(so_many_calls_are_open_and_no_more)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    talk.now += SMA_MCP_RELIST_MS * MS - 1;
    for (int i = 0; i < SMA_MCP_OPEN_COUNT_MAX; i++)
        (void)talk_call(&talk, "x", "{}");
    struct sma_mcp_session_call call = {.name = SMA_STR("x"), .timeout_ms = 1000};
    uint64_t id = 0;
    CHECK_ERR(SMA_ERR_FULL, sma_mcp_session_call(talk.session, &call, talk.now, &id));
    talk.now += 1;
    sma_mcp_session_tick(talk.session, talk.now); /* a list has a place of its own */
    CHECK_INT(2, talk_count(&talk, "tools/list"));
    sma_mcp_session_end(talk.session, SMA_STR("it died"));
    CHECK_INT(SMA_MCP_OPEN_COUNT_MAX, talk.answered_count);
    CHECK_INT(SMA_MCP_UNKNOWN, talk.outcome);
    CHECK_TEXT("it died", talk.why);
}

CASE(before_it_is_ready_nothing_leaves)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, false);
    struct sma_mcp_session_call call = {.name = SMA_STR("x"), .timeout_ms = 1000};
    uint64_t id = 0;
    CHECK_ERR(SMA_ERR_BUSY, sma_mcp_session_call(talk.session, &call, talk.now, &id));
    CHECK_INT(1, talk.said_count);
}

/* -- what the server asks for ------------------------------------------------------------------ */
CASE(whatever_it_asks_is_answered)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}", talk_newest(&talk));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"result\":{\"roots\":[{\"uri\":"
               "\"file:///home/a%20b/project\",\"name\":\"project\"}]}}",
               talk_newest(&talk));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}");
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"decline\"}}",
               talk_newest(&talk));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sampling/createMessage\"}");
    CHECK(strstr(talk_newest(&talk), "\"error\":{\"code\":-1") != NULL);
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tasks/list\"}");
    CHECK(strstr(talk_newest(&talk), "\"error\":{\"code\":-32601") != NULL);
    CHECK_INT(3, sma_mcp_session_count(talk.session).refused);
}

CASE(its_words_go_to_the_log_and_not_too_many)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    for (int i = 0; i < 1000; i++)
        talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
                         "\"level\":\"error\",\"data\":{\"a\":\"b\\nc\"}}}");
    CHECK(talk.log_count > 0 && talk.log_count <= 20);
    CHECK_TEXT("it says: {\"a\":\"b\\nc\"}", talk.log);
}

/* -- hostile ----------------------------------------------------------------------------------- */
CASE(garbage_is_counted_and_skipped)
{
    static const char *const lines[] = {"Server listening on stdio",
                                        "{",
                                        "[]",
                                        "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]",
                                        "{\"jsonrpc\":\"2.0\"}",
                                        "{\"id\":3}",
                                        "{\"id\":{},\"method\":\"ping\"}",
                                        "{\"id\":3,\"method\":7}",
                                        "\"text\"",
                                        "{\"id\":4,\"result\":{}} trailing",
                                        "{\"id\":3,\"method\":\"result\" trailing"};
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    (void)talk_call(&talk, "x", "{}");
    size_t said = talk.said_count;
    for (size_t i = 0; i < SMA_COUNT_OF(lines); i++)
        talk_hear(&talk, lines[i]);
    CHECK_INT(SMA_COUNT_OF(lines), sma_mcp_session_count(talk.session).garbage);
    CHECK_INT(0, talk.answered_count);
    CHECK_INT(said, talk.said_count);
    talk_hear(&talk, "  ");
    talk_hear(&talk, "");
    CHECK_INT(SMA_COUNT_OF(lines), sma_mcp_session_count(talk.session).garbage);
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}");
    CHECK_INT(1, talk.answered_count);
}

CASE(nothing_but_garbage_ends_it)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    for (int i = 0; i < SMA_MCP_GARBAGE_COUNT_MAX - 1; i++)
        talk_hear(&talk, "noise");
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}"); /* begins anew */
    for (int i = 0; i < SMA_MCP_GARBAGE_COUNT_MAX - 1; i++)
        talk_hear(&talk, "noise");
    CHECK_INT(0, talk.failed_count);
    talk_hear(&talk, "noise");
    CHECK_INT(1, talk.failed_count);
}

CASE(a_bomb_of_brackets_is_garbage)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    size_t len = 1000000;
    char *bomb = malloc(len + 1);
    CHECK(bomb != NULL);
    memset(bomb, '[', len);
    bomb[len] = '\0';
    talk_hear(&talk, bomb);
    CHECK_INT(1, sma_mcp_session_count(talk.session).garbage);
    (void)talk_call(&talk, "x", "{}"); /* one that is an answer ends what it answers */
    memcpy(bomb, "{\"id\":3,\"result\":", 17);
    talk_hear(&talk, bomb);
    CHECK_INT(1, talk.answered_count);
    CHECK_INT(SMA_MCP_PROTOCOL_ERROR, talk.outcome);
    (void)talk_call(&talk, "x", "{}");
    talk_hear(&talk, "{\"id\":4,\"result\":{}} trailing");
    CHECK_INT(2, talk.answered_count);
    free(bomb);
}

CASE(what_is_too_long_ends_what_it_answers)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[]");
    uint64_t first = talk_call(&talk, "x", "{}"), second = talk_call(&talk, "x", "{}");
    sma_mcp_session_skip(talk.session, SMA_STR("{\"result\":{\"content\":[{\"text\":\"aaa"),
                         SMA_STR("aa\"}]},\"jsonrpc\":\"2.0\",\"id\":4}"), talk.now);
    CHECK_INT(second, talk.answered_id);
    CHECK_INT(SMA_MCP_PROTOCOL_ERROR, talk.outcome);
    sma_mcp_session_skip(talk.session, SMA_STR("{\"jsonrpc\":\"2.0\",\"id\": 3,\"result\":"),
                         SMA_STR("aaa"), talk.now);
    CHECK_INT(first, talk.answered_id);
    sma_mcp_session_skip(talk.session, SMA_STR("aaa"), SMA_STR("aaa"), talk.now);
    CHECK_INT(2, talk.answered_count);
}

CASE(an_array_is_taken_where_the_revision_has_it)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, false);
    talk_answer(&talk, "initialize", INITIALIZED("2025-03-26"));
    talk_answer(&talk, "tools/list", "\"result\":{\"tools\":[]}");
    (void)talk_call(&talk, "x", "{}");
    talk_hear(&talk, "[{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"},"
                     "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}]");
    CHECK_INT(1, talk.answered_count);
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}", talk_newest(&talk));
}

/* However its end is called: two calls in a row without a readable answer, and the ping decides. */
CASE(a_session_is_judged_by_what_works)
{
    static const struct
    {
        enum sma_mcp_outcome first, second;
        bool is_answered_between, is_pinged;
    } cases[] = {{SMA_MCP_UNKNOWN, SMA_MCP_UNKNOWN, false, true},
                 {SMA_MCP_PROTOCOL_ERROR, SMA_MCP_UNKNOWN, false, true},
                 {SMA_MCP_UNKNOWN, SMA_MCP_UNKNOWN, true, false},
                 {SMA_MCP_UNKNOWN, SMA_MCP_NOT_CONNECTED, false, false}};
    for (size_t i = 0; i < 2 * SMA_COUNT_OF(cases); i++) {
        struct talk talk;
        bool is_there = i % 2 == 1, is_pinged = cases[i / 2].is_pinged;
        talk_connect(&talk, "[]");
        uint64_t call = talk_call(&talk, "x", "{}");
        sma_mcp_session_fail(talk.session, call, cases[i / 2].first, SMA_STR("HTTP status 503"));
        CHECK_INT(0, talk_count(&talk, "ping"));
        if (cases[i / 2].is_answered_between) {
            (void)talk_call(&talk, "x", "{}");
            talk_answer(&talk, "tools/call", "\"error\":{\"code\":-1,\"message\":\"no\"}");
        }
        call = talk_call(&talk, "x", "{}");
        sma_mcp_session_fail(talk.session, call, cases[i / 2].second, SMA_STR("HTTP status 503"));
        CHECK_INT(is_pinged, talk_count(&talk, "ping"));
        CHECK_INT(is_pinged, sma_mcp_session_is_doubtful(talk.session));
        if (is_pinged && is_there)
            talk_answer(&talk, "ping", "\"result\":{}");
        else if (is_pinged)
            sma_mcp_session_fail(talk.session, call + 1, SMA_MCP_UNKNOWN, SMA_STR("503"));
        CHECK_INT(is_pinged && !is_there, talk.failed_count);
        CHECK(!sma_mcp_session_is_doubtful(talk.session));
        talk_end(&talk);
    }
}

CASES_MAIN
