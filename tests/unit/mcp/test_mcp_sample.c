/*
 * Aim: what a server wants the model asked reaches it only where mcp.json allows it, for an open
 *      call, one at a time, text alone and bounded; the model's words reach the server once, in
 *      both eras; what is refused is refused with a code and words.
 * Method: a session, the test in the server's place and in the model's.
 */
#include "talk.h"

#include <stdlib.h>

#define TOOL "{\"name\":\"deploy\",\"inputSchema\":{\"type\":\"object\"}}"
#define HELLO "[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Hello\"}}]"
#define PARAMS(messages) "{\"maxTokens\":100,\"messages\":" messages "}"
#define ASK(id, params)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"sampling/createMessage\",\"params\":" params \
    "}"
#define ERROR(id, code, why) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" why "\"}}"

static void connect(struct talk *talk)
{
    talk_begin_sampling(talk, false);
    talk_shake_hands(talk, "[" TOOL "]");
}

static void connect_modern(struct talk *talk, bool may_sample)
{
    if (may_sample)
        talk_begin_sampling(talk, true);
    else
        talk_begin(talk, true);
    talk_answer(talk, "server/discover",
                "\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}"
                "}");
    talk_answer(talk, "tools/list", "\"result\":{\"tools\":[" TOOL "]}");
}

static void require(struct talk *talk, const char *params)
{
    char *text = NULL;
    CHECK(asprintf(&text,
                   "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"st\","
                   "\"inputRequests\":{\"k\":{\"method\":\"sampling/createMessage\",\"params\":%s}}"
                   "}",
                   params) > 0);
    talk_answer(talk, "tools/call", text);
    free(text);
}

static void said(struct talk *talk, const char *text, bool is_cut)
{
    sma_mcp_session_sampled(talk->session, talk->wish,
                            &(struct sma_mcp_sampled){.text = sma_str(text),
                                                      .model = SMA_STR("small-1"),
                                                      .is_cut = is_cut},
                            talk->now);
}

static bool has_announced(const struct talk *talk, size_t index)
{
    char *text = json_dumps(talk->said[index], JSON_COMPACT);
    bool has = strstr(text, "\"sampling\":{}") != NULL;
    free(text);
    return has;
}

/* -- legacy ------------------------------------------------------------------------------------ */
CASE(it_is_announced_where_it_is_allowed_alone)
{
    struct talk talk;
    connect(&talk);
    CHECK(has_announced(&talk, 0)); /* initialize */
    talk_end(&talk);
    talk_connect(&talk, "[" TOOL "]");
    CHECK(!has_announced(&talk, 0));
    (void)talk_call(&talk, "deploy", "");
    talk_hear(&talk, ASK("1", PARAMS(HELLO)));
    CHECK_TEXT(ERROR("1", "-1", "User rejected sampling request"), talk_newest(&talk));
    CHECK_INT(0, talk.wish_count);
    talk_end(&talk);
    connect_modern(&talk, true);
    CHECK(has_announced(&talk, 0) && has_announced(&talk, 1)); /* with every request */
    talk_end(&talk);
    connect_modern(&talk, false);
    CHECK(!has_announced(&talk, 0) && !has_announced(&talk, 1));
    talk_end(&talk);
}

CASE(words_go_to_the_model_clean_and_its_words_come_back_once)
{
    SMA_AUTO(talk_end) struct talk talk;
    connect(&talk);
    uint64_t call = talk_call(&talk, "deploy", "");
    talk_hear(&talk,
              ASK("\"q\"", "{\"maxTokens\":100,\"systemPrompt\":\"Be\\u202e brief\",\"messages\":["
                           "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"A\"},{"
                           "\"type\":\"text\",\"text\":\"B\\u001b\"}]},"
                           "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"C\"}},"
                           "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"D\"}"
                           "},{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"E\"}}]"
                           "}"));
    CHECK_INT(1, talk.wish_count);
    CHECK_INT(call, talk.wish_call);
    CHECK_INT(100, talk.wish_tokens);
    CHECK_TEXT("Be brief|u:A\nB \nC|a:D|u:E", talk.wish_text);
    said(&talk, "Fine", false);
    CHECK_TEXT("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"role\":\"assistant\",\"content\":{"
               "\"type\":\"text\",\"text\":\"Fine\"},\"model\":\"small-1\",\"stopReason\":"
               "\"endTurn\"}}",
               talk_newest(&talk));
    size_t count = talk.said_count;
    said(&talk, "Again", false);
    CHECK_INT(count, talk.said_count);
    talk_hear(&talk, ASK("2", PARAMS(HELLO)));
    said(&talk, "Cut", true);
    CHECK(strstr(talk_newest(&talk), "\"stopReason\":\"maxTokens\"") != NULL);
    CHECK_INT(0, talk.answered_count);
}

CASE(what_is_more_than_text_is_refused_with_words)
{
    static const struct
    {
        const char *params, *why;
    } rows[] = {
        {PARAMS("[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":\"aa\",\"mimeType\":"
                "\"image/png\"}}]"),
         "text alone"},
        {PARAMS("[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":"
                "\"tool_result\",\"text\":\"x\"}]}]"),
         "text alone"},
        {PARAMS("[{\"role\":\"user\",\"content\":\"x\"}]"), "text alone"},
        {PARAMS("[{\"role\":\"system\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}]"), "role"},
        {PARAMS("[{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}]"),
         "the first and the last"},
        {PARAMS("[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\" \\n\"}}]"),
         "holds no text"},
        {PARAMS("[{\"role\":\"user\",\"content\":[]}]"), "holds no text"},
        {PARAMS("[]"), "1 to 64 messages"},
        {"{\"maxTokens\":1}", "1 to 64 messages"},
        {"{\"messages\":" HELLO "}", "maxTokens"},
        {"{\"maxTokens\":0,\"messages\":" HELLO "}", "maxTokens"},
        {"{\"maxTokens\":1,\"tools\":[],\"messages\":" HELLO "}", "without tools"},
        {"{\"maxTokens\":1,\"toolChoice\":{},\"messages\":" HELLO "}", "without tools"},
        {"null", "maxTokens"},
    };
    SMA_AUTO(talk_end) struct talk talk;
    connect(&talk);
    (void)talk_call(&talk, "deploy", "");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char *text = NULL;
        CHECK(asprintf(&text,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\","
                       "\"params\":%s}",
                       rows[i].params) > 0);
        talk_hear(&talk, text);
        free(text);
        CHECK(strstr(talk_newest(&talk), "\"error\":{\"code\":-32602") != NULL);
        if (strstr(talk_newest(&talk), rows[i].why) == NULL)
            CHECK_TEXT(rows[i].why, talk_newest(&talk));
    }
    CHECK_INT(0, talk.wish_count);
    CHECK_INT(SMA_COUNT_OF(rows), sma_mcp_session_count(talk.session).refused);
}

/* One text of this many bytes, in so many messages beside it. */
static void ask_of_size(struct talk *talk, size_t bytes, size_t messages, const char *tokens)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_buf_init(&text, 1024 * 1024);
    sma_buf_printf(&text,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\",\"params\":"
                   "{\"maxTokens\":%s,\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
                   "\"text\",\"text\":\"",
                   tokens);
    for (size_t i = 0; i < bytes; i++)
        sma_buf_put_char(&text, 'x');
    sma_buf_put_text(&text, "\"}}");
    for (size_t i = 1; i < messages; i++)
        sma_buf_put_text(&text, ",{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x\"}"
                                "}");
    sma_buf_put_text(&text, "]}}");
    CHECK_OK(text.err);
    talk_hear(talk, text.ptr);
}

CASE(the_bounds_hold_to_the_byte)
{
    SMA_AUTO(talk_end) struct talk talk;
    connect(&talk);
    (void)talk_call(&talk, "deploy", "");
    ask_of_size(&talk, SMA_MCP_SAMPLE_BYTES_MAX - 1, 1, "4095");
    CHECK_INT(4095, talk.wish_tokens);
    said(&talk, "1", false);
    ask_of_size(&talk, SMA_MCP_SAMPLE_BYTES_MAX, 1, "4096");
    CHECK_INT(4096, talk.wish_tokens);
    said(&talk, "2", false);
    ask_of_size(&talk, SMA_MCP_SAMPLE_BYTES_MAX + 1, 1, "1");
    CHECK(strstr(talk_newest(&talk), "too large (64 KiB in all)") != NULL);
    CHECK_INT(2, talk.wish_count);
    ask_of_size(&talk, 1, SMA_MCP_SAMPLE_MESSAGE_COUNT_MAX, "1000000");
    CHECK_INT(SMA_MCP_SAMPLE_TOKENS_MAX, talk.wish_tokens);
    said(&talk, "3", false);
    ask_of_size(&talk, 1, SMA_MCP_SAMPLE_MESSAGE_COUNT_MAX + 1, "1");
    CHECK(strstr(talk_newest(&talk), "1 to 64 messages") != NULL);
    CHECK_INT(3, talk.wish_count);
}

CASE(one_at_a_time_for_an_open_call_and_so_many_in_one)
{
    SMA_AUTO(talk_end) struct talk talk;
    connect(&talk);
    talk_hear(&talk, ASK("1", PARAMS(HELLO)));
    CHECK(strstr(talk_newest(&talk), "for an open call only") != NULL);
    (void)talk_call(&talk, "deploy", "");
    talk_hear(&talk, ASK("2", PARAMS(HELLO)));
    talk_hear(&talk, ASK("3", PARAMS(HELLO)));
    CHECK_TEXT(
        ERROR("3", "-1", "one sampling request at a time: wait for the answer of the one before"),
        talk_newest(&talk));
    CHECK_INT(1, talk.wish_count);
    said(&talk, "x", false);
    for (int i = 1; i < SMA_MCP_SAMPLE_COUNT_MAX; i++) {
        talk_hear(&talk, ASK("4", PARAMS(HELLO)));
        said(&talk, "x", false);
    }
    CHECK_INT(SMA_MCP_SAMPLE_COUNT_MAX, talk.wish_count);
    talk_hear(&talk, ASK("5", PARAMS(HELLO)));
    CHECK(strstr(talk_newest(&talk), "too many sampling requests in one call") != NULL);
    talk_answer(&talk, "tools/call", "\"result\":{\"content\":[]}");

    (void)talk_call(&talk, "deploy", "");
    talk.wish_why = "too many in a minute";
    talk_hear(&talk, ASK("6", PARAMS(HELLO)));
    CHECK_TEXT(ERROR("6", "-1", "too many in a minute"), talk_newest(&talk));
    talk.wish_why = NULL;
    struct sma_mcp_session_call other = {
        .kind = SMA_MCP_TOOL, .name = SMA_STR("deploy"), .timeout_ms = 1000, .group = 9};
    uint64_t id;
    CHECK_OK(sma_mcp_session_call(talk.session, &other, talk.now, &id));
    talk_hear(&talk, ASK("7", PARAMS(HELLO))); /* for whose call? */
    CHECK(strstr(talk_newest(&talk), "only when it is clear for which") != NULL);
}

CASE(its_call_waits_and_takes_it_along)
{
    SMA_AUTO(talk_end) struct talk talk;
    connect(&talk);
    uint64_t call = talk_call(&talk, "deploy", "");
    talk_hear(&talk, ASK("1", PARAMS(HELLO)));
    uint64_t asked_ns = talk.now;
    talk.now += 5000 * MS; /* the call has 1000 ms */
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_INT(0, talk.answered_count);
    CHECK_INT(asked_ns + SMA_MCP_SAMPLE_MS * MS, sma_mcp_session_due(talk.session));
    talk.now = asked_ns + SMA_MCP_SAMPLE_MS * MS;
    sma_mcp_session_tick(talk.session, talk.now);
    CHECK_TEXT(ERROR("1", "-32603", "the model did not answer in time"), talk_newest(&talk));

    talk_hear(&talk, ASK("2", PARAMS(HELLO)));
    sma_mcp_session_cancel(talk.session, call, "stopped");
    CHECK_TEXT(ERROR("2", "-32603", "its call is over"), talk_newest(&talk));
    size_t count = talk.said_count;
    said(&talk, "late", false);
    CHECK_INT(count, talk.said_count);

    (void)talk_call(&talk, "deploy", "");
    talk_hear(&talk, ASK("3", PARAMS(HELLO)));
    sma_mcp_session_sampled(talk.session, talk.wish,
                            &(struct sma_mcp_sampled){.why = SMA_STR("no model")}, talk.now);
    CHECK_TEXT(ERROR("3", "-32603", "no model"), talk_newest(&talk));
    talk_hear(&talk, ASK("4", PARAMS(HELLO)));
    talk_hear(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":4}}");
    count = talk.said_count;
    said(&talk, "late", false);
    CHECK_INT(count, talk.said_count);
}

/* -- modern ------------------------------------------------------------------------------------ */
CASE(the_modern_era_asks_in_results)
{
    SMA_AUTO(talk_end) struct talk talk;
    connect_modern(&talk, true);
    uint64_t call = talk_call(&talk, "deploy", "");
    require(&talk, PARAMS(HELLO));
    CHECK_INT(1, talk.wish_count);
    CHECK_INT(call, talk.wish_call);
    size_t count = talk.said_count;
    said(&talk, "Fine", false);
    CHECK_INT(count + 1, talk.said_count);
    CHECK(strstr(talk_newest(&talk),
                 "\"inputResponses\":{\"k\":{\"role\":\"assistant\",\"content\":{\"type\":\"text\","
                 "\"text\":\"Fine\"},\"model\":\"small-1\",\"stopReason\":\"endTurn\"}}") != NULL);
    CHECK(strstr(talk_newest(&talk), "\"requestState\":\"st\"") != NULL);
    talk_answer(&talk, "tools/call", "\"result\":{\"content\":[]}");
    CHECK_INT(SMA_MCP_OK, talk.outcome);
}

CASE(there_a_refusal_is_the_end_of_the_call)
{
    struct talk talk;
    connect_modern(&talk, true);
    (void)talk_call(&talk, "deploy", "");
    require(&talk, "{\"maxTokens\":1,\"messages\":[]}");
    CHECK_INT(1, talk.answered_count);
    CHECK_INT(SMA_MCP_PROTOCOL_ERROR, talk.outcome);
    CHECK_TEXT("a sampling request has 1 to 64 messages", talk.why);
    (void)talk_call(&talk, "deploy", "");
    require(&talk, PARAMS(HELLO));
    sma_mcp_session_sampled(talk.session, talk.wish,
                            &(struct sma_mcp_sampled){.why = SMA_STR("no model")}, talk.now);
    CHECK_INT(2, talk.answered_count);
    CHECK_TEXT("no model", talk.why);
    talk_end(&talk);
    connect_modern(&talk, false);
    (void)talk_call(&talk, "deploy", "");
    require(&talk, PARAMS(HELLO));
    CHECK_INT(0, talk.wish_count);
    CHECK_TEXT("User rejected sampling request", talk.why);
    talk_end(&talk);
}

CASES_MAIN
