/*
 * Aim: what a server lists becomes what is offered: pages, changes, bounds, hostile schemas, names
 * and descriptions.
 * Method: the test is the server.
 */
#include "talk.h"

#define OBJECT "\"inputSchema\":{\"type\":\"object\"}"

static const struct sma_mcp_catalogue *offer(const struct talk *talk)
{
    const struct sma_mcp_catalogue *made = sma_mcp_session_offer(talk->session);
    CHECK(made != NULL);
    return made;
}

CASE(a_tool_is_taken_whole)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk,
                 "[{\"name\":\"echo\",\"title\":\"Echo Tool\",\"description\":\"says\\u200B it\","
                 "\"inputSchema\":{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
                 "\"type\":\"object\",\"properties\":{\"m\":{\"$ref\":\"http://evil/x\"}}},"
                 "\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false,"
                 "\"idempotentHint\":true,\"openWorldHint\":false}},{\"name\":\"plain\"}]");
    const struct sma_mcp_tool *tool = &offer(&talk)->tools[0];
    CHECK_STR("Echo Tool", tool->title);
    CHECK_STR("says it", tool->description);
    CHECK_STR("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\","
              "\"properties\":{\"m\":{\"$ref\":\"http://evil/x\"}}}",
              tool->schema);
    CHECK(tool->is_read_only && !tool->is_destructive && tool->is_idempotent &&
          !tool->is_open_world && tool->is_allowed);
    tool = &offer(&talk)->tools[1];
    CHECK_STR("{\"type\":\"object\"}", tool->schema);
    CHECK(!tool->is_read_only && tool->is_destructive && !tool->is_idempotent &&
          tool->is_open_world); /* as the protocol has it */
}

CASE(a_number_that_is_too_large_loses_no_list)
{
    static const struct
    {
        const char *written, *read;
    } rows[] = {{"9223372036854775807", "9223372036854775807"},
                {"9223372036854775808", "9.2233720368547758e18"},
                {"-18446744073709551616", "-1.8446744073709552e19"},
                {"1e400", "1e308"},
                {"-1e400", "-1e308"},
                {"0.5e-400", "0.0"},
                {"7", "7"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct talk talk;
        char *list = NULL, *wanted = NULL;
        CHECK(asprintf(
                  &list,
                  "[{\"name\":\"a\",\"description\":\"up to 99999999999999999999, \\\"1e999\\\"\","
                  "\"inputSchema\":{\"type\":\"object\",\"x\":%s}},{\"name\":\"b\"}]",
                  rows[i].written) > 0);
        CHECK(asprintf(&wanted, "{\"type\":\"object\",\"x\":%s}", rows[i].read) > 0);
        talk_connect(&talk, list);
        CHECK_INT(2, offer(&talk)->tool_count);
        CHECK_STR("up to 99999999999999999999, \"1e999\"", offer(&talk)->tools[0].description);
        CHECK_STR(wanted, offer(&talk)->tools[0].schema);
        free(list);
        free(wanted);
        talk_end(&talk);
    }
}

CASE(what_cannot_be_offered_is_left_out_and_counted)
{
    SMA_AUTO(talk_end) struct talk talk;
    char *list = NULL, deep[400] = "", big[SMA_MCP_SCHEMA_BYTES_MAX + 1];
    for (int i = 0; i < SMA_MCP_SCHEMA_DEPTH_MAX; i++)
        strcat(deep, "{\"a\":"); // NOLINT: a test's own text
    strcat(deep, "1");
    for (int i = 0; i < SMA_MCP_SCHEMA_DEPTH_MAX; i++)
        strcat(deep, "}");
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    CHECK(asprintf(&list,
                   "[{\"name\":\"good\"," OBJECT "},{\"name\":\"a\\u202Eb\"," OBJECT "},"
                   "{\"name\":\"\"," OBJECT "},{\"name\":7," OBJECT "},7,"
                   "{\"name\":\"list\",\"inputSchema\":[]},"
                   "{\"name\":\"text\",\"inputSchema\":{\"type\":\"string\"}},"
                   "{\"name\":\"task\"," OBJECT ",\"execution\":{\"taskSupport\":\"required\"}},"
                   "{\"name\":\"deep\",\"inputSchema\":{\"x\":%s}},"
                   "{\"name\":\"big\",\"inputSchema\":{\"x\":\"%s\"}},"
                   "{\"name\":\"good\"," OBJECT "}]",
                   deep, big) > 0);
    talk_connect(&talk, list);
    CHECK_INT(1, offer(&talk)->tool_count);
    CHECK_STR("good", offer(&talk)->tools[0].name);
    CHECK_INT(9, sma_mcp_session_count(talk.session).left_out);
    free(list);
}

/* Deeper than any message may be: the others are offered, and it is named. */
CASE(a_schema_of_any_depth_hides_its_own_tool_alone)
{
    static const int depths[] = {31, 60, 64, 2000};
    for (size_t i = 0; i < SMA_COUNT_OF(depths); i++) {
        struct talk talk;
        struct sma_buf list;
        sma_buf_init(&list, SMA_MCP_MESSAGE_BYTES_MAX);
        sma_buf_put_text(&list, "[{\"name\":\"deep\",\"inputSchema\":");
        for (int k = 0; k < depths[i]; k++)
            sma_buf_put_text(&list, "{\"type\":\"object\",\"title\":\"{\\\"[\","
                                    "\"properties\":{\"a]\":");
        sma_buf_put_text(&list, "{\"type\":\"string\",\"enum\":[\"x\",[7]]}");
        for (int k = 0; k < depths[i]; k++)
            sma_buf_put_text(&list, "}}");
        sma_buf_put_text(&list, "},{\"name\":\"good\"," OBJECT "},{\"name\":\"text\","
                                "\"inputSchema\":{\"type\":\"string\"}}]");
        talk_connect(&talk, list.ptr);
        CHECK_INT(1, offer(&talk)->tool_count);
        CHECK_STR("good", offer(&talk)->tools[0].name);
        CHECK_INT(2, sma_mcp_session_count(talk.session).left_out);
        CHECK_TEXT("deep (nested deeper than 32), text (its schema is no object)",
                   sma_mcp_session_left_names(talk.session));
        CHECK_TEXT("2 of what it lists cannot be offered: deep (nested deeper than 32), text (its "
                   "schema is no object)",
                   talk.log);
        sma_buf_fini(&list);
        talk_end(&talk);
    }
}

CASE(a_root_that_may_be_null_is_an_object)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[{\"name\":\"a\",\"inputSchema\":{\"type\":[\"object\",\"null\"]}},"
                        "{\"name\":\"b\",\"inputSchema\":{\"type\":null}}]");
    CHECK_INT(2, offer(&talk)->tool_count);
    CHECK_STR("{\"type\":\"object\"}", offer(&talk)->tools[0].schema);
    CHECK_STR("{\"type\":\"object\"}", offer(&talk)->tools[1].schema);
}

CASE(more_names_than_fit_are_counted)
{
    SMA_AUTO(talk_end) struct talk talk;
    struct sma_buf list;
    sma_buf_init(&list, SMA_MCP_MESSAGE_BYTES_MAX);
    for (int i = 0; i < 50; i++)
        sma_buf_printf(&list, "%c{\"name\":\"t%d\",\"inputSchema\":7}", i == 0 ? '[' : ',', i);
    sma_buf_put_text(&list, "]");
    talk_connect(&talk, list.ptr);
    const char *names = sma_mcp_session_left_names(talk.session);
    CHECK_INT(50, sma_mcp_session_count(talk.session).left_out);
    CHECK(strstr(names, "t0 (") == names && strcmp(names + strlen(names) - 5, ") ...") == 0);
    sma_buf_fini(&list);
}

CASE(ten_thousand_tools_are_bounded)
{
    SMA_AUTO(talk_end) struct talk talk;
    struct sma_buf list;
    sma_buf_init(&list, SMA_MCP_MESSAGE_BYTES_MAX);
    sma_buf_put_text(&list, "[");
    for (int i = 0; i < 10000; i++)
        sma_buf_printf(&list, "%s{\"name\":\"t%d\"," OBJECT "}", i == 0 ? "" : ",", i);
    sma_buf_put_text(&list, "]");
    CHECK_OK(list.err);
    talk_connect(&talk, list.ptr);
    CHECK_INT(SMA_MCP_TOOL_COUNT_MAX, offer(&talk)->tool_count);
    CHECK_INT(10000 - SMA_MCP_TOOL_COUNT_MAX, sma_mcp_session_count(talk.session).left_out);
    CHECK(strstr(talk.log, "cannot be offered") != NULL);
    sma_buf_fini(&list);
}

CASE(texts_of_a_list_are_bounded_together)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, false);
    talk_answer(&talk, "initialize",
                "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}");
    char *schema = malloc(SMA_MCP_SCHEMA_BYTES_MAX);
    CHECK(schema != NULL);
    memset(schema, 'x', SMA_MCP_SCHEMA_BYTES_MAX);
    schema[SMA_MCP_SCHEMA_BYTES_MAX - 100] = '\0';
    unsigned page = 0;
    for (; !sma_mcp_session_is_ready(talk.session) && page < 100; page++) {
        struct sma_buf text;
        sma_buf_init(&text, SMA_MCP_MESSAGE_BYTES_MAX);
        sma_buf_put_text(&text, "\"result\":{\"tools\":[");
        for (int i = 0; i < 50; i++)
            sma_buf_printf(&text, "%s{\"name\":\"p%u-%d\",\"inputSchema\":{\"d\":\"%s\"}}",
                           i == 0 ? "" : ",", page, i, schema);
        sma_buf_printf(&text, "]%s%u%s}", page < 5 ? ",\"nextCursor\":\"c" : "",
                       page < 5 ? page : 0, page < 5 ? "\"" : "");
        if (page >= 5)
            text.len -= 2; /* the 0 and the brace */
        if (page >= 5)
            sma_buf_put_text(&text, "}");
        sma_buf_put_char(&text, '\0');
        CHECK_OK(text.err);
        talk_answer(&talk, "tools/list", text.ptr);
        sma_buf_fini(&text);
    }
    CHECK_INT(6, page);
    CHECK(offer(&talk)->texts.len <= SMA_MCP_LIST_BYTES_MAX + 100000);
    CHECK(offer(&talk)->tool_count >= 120 && offer(&talk)->tool_count < 300);
    free(schema);
}

CASE(pages_are_followed_and_not_for_ever)
{
    struct talk talk;
    talk_begin(&talk, false);
    talk_answer(&talk, "initialize",
                "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}");
    talk_answer(&talk, "tools/list",
                "\"result\":{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"x\"}");
    CHECK(strstr(talk_newest(&talk), "\"params\":{\"cursor\":\"x\"}") != NULL);
    talk_answer(&talk, "tools/list",
                "\"result\":{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"y\"}");
    talk_answer(&talk, "tools/list",
                "\"result\":{\"tools\":[{\"name\":\"c\"}],\"nextCursor\":\"x\"}");
    CHECK(sma_mcp_session_is_ready(talk.session)); /* round and round */
    CHECK_INT(3, offer(&talk)->tool_count);
    talk_end(&talk);

    talk_begin(&talk, false);
    talk_answer(&talk, "initialize",
                "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}");
    unsigned page = 0;
    for (; !sma_mcp_session_is_ready(talk.session) && page < 1000; page++) {
        char text[100];
        snprintf(text, sizeof text, "\"result\":{\"tools\":[],\"nextCursor\":\"c%u\"}", page);
        talk_answer(&talk, "tools/list", text);
    }
    CHECK_INT(SMA_MCP_PAGE_COUNT_MAX + 1, page);
    talk_end(&talk);
}

CASE(a_burst_of_changes_lists_once)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_connect(&talk, "[{\"name\":\"a\"}]");
    const struct sma_mcp_catalogue *before = sma_mcp_catalogue_ref(offer(&talk));
    for (int i = 0; i < 4; i++)
        talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    CHECK_INT(1, talk_count(&talk, "tools/list"));
    CHECK_INT(talk.now + SMA_MCP_RELIST_MS * MS, sma_mcp_session_due(talk.session));
    talk.now += SMA_MCP_RELIST_MS * MS;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(2, talk_count(&talk, "tools/list"));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    talk.now += 10 * SMA_MCP_RELIST_MS * MS;
    sma_mcp_session_tick(talk.session, talk.now); /* one is open still */
    CHECK_INT(2, talk_count(&talk, "tools/list"));
    CHECK(offer(&talk) == before); /* until the new one is whole */
    talk_answer(&talk, "tools/list", "\"result\":{\"tools\":[{\"name\":\"b\"}]}");
    CHECK_INT(2, talk.listed_count);
    CHECK_STR("b", offer(&talk)->tools[0].name);
    CHECK_STR("a", before->tools[0].name);
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(3, talk_count(&talk, "tools/list")); /* what changed meanwhile */
    sma_mcp_catalogue_unref(before);
}

/* Whatever the list does meanwhile, a call is over when its answer comes, and then only. */
CASE(a_call_outlives_the_list_that_named_it)
{
    static const char *const lists[] = {"\"result\":{\"tools\":[]}", "\"result\":{\"tools\":7}",
                                        "\"error\":{\"code\":-32603,\"message\":\"no\"}", NULL};
    for (size_t i = 0; i < SMA_COUNT_OF(lists); i++) {
        SMA_AUTO(talk_end) struct talk talk;
        talk_connect(&talk, "[{\"name\":\"a\"}]");
        talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
        talk.now += SMA_MCP_RELIST_MS * MS - 1;
        uint64_t id = talk_call(&talk, "a", "{}");
        talk.now += 1;
        sma_mcp_session_tick(talk.session, talk.now);
        CHECK_INT(2, talk_count(&talk, "tools/list"));
        if (lists[i] != NULL)
            talk_answer(&talk, "tools/list", lists[i]);
        CHECK_INT(0, talk.answered_count);
        talk_answer(&talk, "tools/call",
                    "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}");
        CHECK_INT(1, talk.answered_count);
        CHECK_INT(id, talk.answered_id);
        CHECK_INT(SMA_MCP_OK, talk.outcome);
        CHECK_TEXT("late", talk.text);
    }
}

CASE(resources_and_prompts_are_listed_where_they_are_announced)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, false);
    talk_answer(&talk, "initialize",
                "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"prompts\":{},"
                "\"resources\":{}}}");
    CHECK_INT(0, talk_count(&talk, "tools/list"));
    talk_answer(&talk, "resources/list",
                "\"result\":{\"resources\":[{\"uri\":\"demo://1\",\"name\":\"One\",\"mimeType\":"
                "\"text/plain\"},{\"uri\":\"bad\\u202E\",\"name\":\"x\"},{\"name\":\"none\"}]}");
    talk_answer(&talk, "resources/templates/list",
                "\"error\":{\"code\":-32601,\"message\":\"no\"}");
    talk_answer(&talk, "prompts/list",
                "\"result\":{\"prompts\":[{\"name\":\"ask\",\"description\":\"d\",\"arguments\":[{"
                "\"name\":\"city\",\"description\":\"where\",\"required\":true},{\"name\":\"when\","
                "\"description\":\"then\"}]}]}");
    CHECK(sma_mcp_session_is_ready(talk.session));
    CHECK_INT(1, offer(&talk)->resource_count);
    CHECK_STR("demo://1", offer(&talk)->resources[0].uri);
    CHECK_STR("text/plain", offer(&talk)->resources[0].mime);
    const struct sma_mcp_prompt *prompt = &offer(&talk)->prompts[0];
    CHECK_INT(2, prompt->argument_count);
    CHECK_STR("where", prompt->arguments[0].description);
    CHECK_STR("then", prompt->arguments[1].description);
    CHECK(prompt->arguments[0].is_required && !prompt->arguments[1].is_required);
}

CASE(a_list_that_never_comes_does_not_keep_the_rest)
{
    SMA_AUTO(talk_end) struct talk talk;
    talk_begin(&talk, false);
    talk_answer(&talk, "initialize",
                "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{},"
                "\"prompts\":{}}}");
    talk.now += SMA_MCP_LIST_MS * MS;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(1, talk_count(&talk, "prompts/list"));
    talk_answer(&talk, "prompts/list", "\"result\":{\"prompts\":[]}");
    CHECK(sma_mcp_session_is_ready(talk.session));
}

CASES_MAIN
