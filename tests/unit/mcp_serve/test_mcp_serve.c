/*
 * Aim: the promises of serve.h: what each message is answered with, in both eras and over both
 * transports; which request to the API a call becomes; what its answer becomes; bounds.
 * Method: messages as text, answers read as JSON.
 */
#include "runtime/mcp_serve/serve.h"
#include "support/check.h"

#include <jansson.h>
#include <stdlib.h>

#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(name, arguments)                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"" name \
    "\",\"arguments\":" arguments "}}"

static struct sma_mcp_serve_step step;

static enum sma_mcp_serve_kind read_as(const char *text,
                                       const struct sma_mcp_serve_headers *headers)
{
    sma_mcp_serve_end(&step);
    sma_mcp_serve_begin(&step);
    CHECK_OK(sma_mcp_serve_read(sma_str(text), headers, &step));
    return step.kind;
}

static enum sma_mcp_serve_kind read_line(const char *text)
{
    return read_as(text, NULL);
}

/* What stands in a buffer, as JSON; decref it. */
static json_t *json_of(const struct sma_buf *buf)
{
    CHECK_INT(SMA_ERR_OK, buf->err);
    json_t *root = json_loadb(buf->ptr, buf->len, 0, NULL);
    if (root == NULL)
        fprintf(stderr, "%.*s\n", (int)buf->len, buf->ptr);
    CHECK(root != NULL);
    CHECK(memchr(buf->ptr, '\n', buf->len) == NULL); /* it is to be one line */
    CHECK_TEXT("2.0", json_string_value(json_object_get(root, "jsonrpc")));
    return root;
}

static void expect_error(const char *text, int code, const char *id_json)
{
    CHECK_INT(SMA_MCP_SERVE_ANSWER, read_line(text));
    json_t *root = json_of(&step.answer);
    int told = (int)json_integer_value(json_object_get(json_object_get(root, "error"), "code"));
    char *id = json_dumps(json_object_get(root, "id"), JSON_ENCODE_ANY);
    if (told != code)
        fprintf(stderr, "%s\n", text);
    CHECK_INT(code, told);
    CHECK_TEXT(id_json, id);
    CHECK(json_object_get(root, "result") == NULL);
    free(id);
    json_decref(root);
}

/* The result of an answer at once; decref the root that holds it. */
static const json_t *result_of(const char *text, json_t **ret_root)
{
    CHECK_INT(SMA_MCP_SERVE_ANSWER, read_line(text));
    CHECK_INT(200, step.http_status);
    *ret_root = json_of(&step.answer);
    const json_t *result = json_object_get(*ret_root, "result");
    CHECK(json_is_object(result));
    return result;
}

/* -- JSON-RPC ---------------------------------------------------------------------------------- */
CASE(what_is_no_message_is_said_to_be_none)
{
    expect_error("", SMA_MCP_PARSE_ERROR, "null");
    expect_error("{", SMA_MCP_PARSE_ERROR, "null");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", SMA_MCP_PARSE_ERROR,
                 "null");
    expect_error("17", SMA_MCP_INVALID_REQUEST, "null");
    expect_error("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", SMA_MCP_INVALID_REQUEST,
                 "null");
    expect_error("{\"id\":1,\"method\":\"ping\"}", SMA_MCP_INVALID_REQUEST, "1");
    expect_error("{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", SMA_MCP_INVALID_REQUEST,
                 "\"a\"");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", SMA_MCP_INVALID_REQUEST,
                 "null");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", SMA_MCP_INVALID_REQUEST,
                 "null");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", SMA_MCP_INVALID_REQUEST,
                 "null");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":4}", SMA_MCP_INVALID_REQUEST, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1}", SMA_MCP_INVALID_REQUEST, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
                 SMA_MCP_INVALID_PARAMS, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}",
                 SMA_MCP_METHOD_NOT_FOUND, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}",
                 SMA_MCP_METHOD_NOT_FOUND, "1");
}

CASE(ids_have_a_bound)
{
    char text[600];
    for (int len = SMA_MCP_SERVE_ID_BYTES_MAX - 1; len <= SMA_MCP_SERVE_ID_BYTES_MAX + 1; len++) {
        int at = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"");
        memset(text + at, 'i', (size_t)len);
        snprintf(text + at + len, sizeof text - (size_t)(at + len), "\"}");
        CHECK_INT(SMA_MCP_SERVE_ANSWER, read_line(text));
        json_t *root = json_of(&step.answer);
        bool is_taken = json_object_get(root, "result") != NULL;
        CHECK(is_taken == (len <= SMA_MCP_SERVE_ID_BYTES_MAX));
        json_decref(root);
    }
    /* the longest as JSON: each byte six */
    int at = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"");
    for (int i = 0; i < 20; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "\\u0001\\\"\\n");
    snprintf(text + at, sizeof text - (size_t)at, "\"}");
    json_t *root;
    result_of(text, &root);
    CHECK_INT(60, json_string_length(json_object_get(root, "id")));
    json_decref(root);
}

/* An answer to an answer could go on for ever. */
CASE(notifications_and_responses_are_not_answered)
{
    CHECK_INT(SMA_MCP_SERVE_NOTHING,
              read_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
    CHECK_INT(SMA_MCP_SERVE_NOTHING, read_line("{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}"));
    CHECK_INT(SMA_MCP_SERVE_NOTHING, read_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
    CHECK_INT(SMA_MCP_SERVE_NOTHING,
              read_line("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}"));
    CHECK_INT(
        SMA_MCP_SERVE_NOTHING,
        read_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":3}"));
    CHECK_INT(SMA_MCP_SERVE_CANCEL,
              read_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                        "\"requestId\":\"x\"}}"));
    CHECK_TEXT("\"x\"", step.id);
}

/* -- the handshake ----------------------------------------------------------------------------- */
CASE(versions_with_a_handshake_are_negotiated)
{
    static const char *const rows[][2] = {
        {"2025-11-25", "2025-11-25"}, {"2025-06-18", "2025-06-18"}, {"2025-03-26", "2025-03-26"},
        {"2024-11-05", "2024-11-05"}, {"1999-01-01", "2025-11-25"}, {"2026-07-28", "2025-11-25"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[300];
        json_t *root;
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{}}}",
                 rows[i][0]);
        const json_t *result = result_of(text, &root);
        CHECK_TEXT(rows[i][1], json_string_value(json_object_get(result, "protocolVersion")));
        CHECK(json_object_get(json_object_get(result, "capabilities"), "tools") != NULL);
        CHECK_TEXT("shipmyagent", json_string_value(json_object_get(
                                      json_object_get(result, "serverInfo"), "name")));
        CHECK(json_object_get(result, "resultType") == NULL);
        json_decref(root);
    }
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}", SMA_MCP_INVALID_PARAMS,
                 "0");
}

/* -- 2026-07-28 -------------------------------------------------------------------------------- */
CASE(the_new_era_needs_no_handshake)
{
    json_t *root;
    const json_t *result = result_of(
        "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"server/discover\",\"params\":{" META "}}",
        &root);
    CHECK_TEXT("2026-07-28",
               json_string_value(json_array_get(json_object_get(result, "supportedVersions"), 0)));
    CHECK_TEXT("complete", json_string_value(json_object_get(result, "resultType")));
    CHECK(json_is_integer(json_object_get(result, "ttlMs")));
    json_decref(root);
    result = result_of(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}", &root);
    CHECK_TEXT("private", json_string_value(json_object_get(result, "cacheScope")));
    CHECK(json_object_get(json_object_get(result, "_meta"), "io.modelcontextprotocol/serverInfo") !=
          NULL);
    json_decref(root);
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}",
                 SMA_MCP_METHOD_NOT_FOUND, "1");
    CHECK_INT(404, step.http_status);
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
                 SMA_MCP_INVALID_PARAMS, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2027-01-01\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 SMA_MCP_UNSUPPORTED_VERSION, "1");
    CHECK_INT(400, step.http_status);
}

static struct sma_mcp_serve_headers headers_of(const char *version, const char *method,
                                               const char *name)
{
    return (struct sma_mcp_serve_headers){
        .has_version = version != NULL,
        .has_method = method != NULL,
        .has_name = name != NULL,
        .version = sma_str(version == NULL ? "" : version),
        .method = sma_str(method == NULL ? "" : method),
        .name = sma_str(name == NULL ? "" : name),
    };
}

CASE(headers_must_say_what_the_body_says)
{
    static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                               "call\",\"params\":{\"name\":\"list_chats\"," META "}}";
    static const char list[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}";
    static const char old[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    static const struct
    {
        const char *text, *version, *method, *name;
        int code; /* 0: none */
    } rows[] = {
        {call, "2026-07-28", "tools/call", "list_chats", 0},
        {call, "2026-07-28", "tools/call", "read_history", SMA_MCP_HEADER_MISMATCH},
        {call, "2026-07-28", "tools/call", NULL, SMA_MCP_HEADER_MISMATCH},
        {call, "2026-07-28", "tools/list", "list_chats", SMA_MCP_HEADER_MISMATCH},
        {call, NULL, "tools/call", "list_chats", SMA_MCP_HEADER_MISMATCH},
        {call, "2025-11-25", "tools/call", "list_chats", SMA_MCP_HEADER_MISMATCH},
        {list, "2026-07-28", "tools/list", NULL, 0},
        {list, "2026-07-28", NULL, NULL, SMA_MCP_HEADER_MISMATCH},
        {old, "2026-07-28", "tools/list", NULL, SMA_MCP_INVALID_PARAMS},
        {old, "2025-11-25", NULL, NULL, 0},
        {old, "2025-03-26", NULL, NULL, 0},
        {old, NULL, NULL, NULL, 0},
        {old, "2025-11-26", NULL, NULL, SMA_MCP_INVALID_REQUEST},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_mcp_serve_headers headers =
            headers_of(rows[i].version, rows[i].method, rows[i].name);
        enum sma_mcp_serve_kind kind = read_as(rows[i].text, &headers);
        if (kind == SMA_MCP_SERVE_CALL) {
            CHECK_INT(0, rows[i].code);
            continue;
        }
        json_t *root = json_of(&step.answer);
        json_int_t code =
            json_integer_value(json_object_get(json_object_get(root, "error"), "code"));
        if (code != rows[i].code)
            fprintf(stderr, "row %zu\n", i);
        CHECK_INT(rows[i].code, code);
        CHECK_INT(rows[i].code == 0 ? 200 : 400, step.http_status);
        json_decref(root);
    }
}

/* -- tools ------------------------------------------------------------------------------------- */
CASE(tools_have_real_schemas)
{
    static const char *const names[] = {"ask_agent",    "send_message",   "list_chats",
                                        "read_history", "list_approvals", "decide_approval"};
    static const bool reads[] = {false, false, true, true, true, false};
    json_t *root;
    const json_t *result =
        result_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", &root);
    const json_t *tools = json_object_get(result, "tools");
    CHECK_INT(SMA_COUNT_OF(names), json_array_size(tools));
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        const json_t *tool = json_array_get(tools, i);
        const json_t *schema = json_object_get(tool, "inputSchema");
        const json_t *hints = json_object_get(tool, "annotations"), *one;
        size_t k;
        CHECK_TEXT(names[i], json_string_value(json_object_get(tool, "name")));
        CHECK_TEXT("object", json_string_value(json_object_get(schema, "type")));
        CHECK(json_is_false(json_object_get(schema, "additionalProperties")));
        json_array_foreach(json_object_get(schema, "required"), k, one) CHECK(
            json_object_get(json_object_get(schema, "properties"), json_string_value(one)) != NULL);
        CHECK(json_is_true(json_object_get(hints, "readOnlyHint")) == reads[i]);
        CHECK(json_is_boolean(json_object_get(hints, "destructiveHint")));
        CHECK(json_string_length(json_object_get(tool, "description")) > 20);
    }
    json_decref(root);
    expect_error(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
        SMA_MCP_INVALID_PARAMS, "1");
}

static void expect_call(const char *text, const char *path, const char *query, const char *body)
{
    CHECK_INT(SMA_MCP_SERVE_CALL, read_line(text));
    sma_buf_put_char(&step.path, '\0');
    sma_buf_put_char(&step.query, '\0');
    sma_buf_put_char(&step.body, '\0');
    CHECK_TEXT(path, step.path.ptr);
    CHECK_TEXT(query, step.query.ptr);
    CHECK_TEXT(body, step.body.ptr);
    CHECK(step.is_post == (body[0] != '\0'));
}

CASE(calls_become_requests)
{
    expect_call(CALL("ask_agent", "{\"text\":\"hi \\\"you\\\"\"}"), "/api/execute", "",
                "{\"instructions\":\"hi \\\"you\\\"\",\"chatId\":\"mcp\",\"userId\":\"mcp\"}");
    CHECK(step.is_ask);
    expect_call(CALL("ask_agent", "{\"text\":\"hi\",\"chat\":\"work\"}"), "/api/execute", "",
                "{\"instructions\":\"hi\",\"chatId\":\"work\",\"userId\":\"mcp\"}");
    expect_call(CALL("send_message", "{\"chatKey\":\"qq:group:../a b?c\",\"text\":\"x\"}"),
                "/api/chats/qq%3Agroup%3A..%2Fa%20b%3Fc/messages", "", "{\"text\":\"x\"}");
    expect_call(CALL("list_chats", "{}"), "/api/chats", "", "");
    expect_call("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"list_approvals\"}}",
                "/api/approvals", "", "");
    expect_call(CALL("read_history", "{\"chatKey\":\"api:chat:a&limit=9\"}"), "/api/history",
                "chatKey=api%3Achat%3Aa%26limit%3D9", "");
    expect_call(CALL("read_history", "{\"chatKey\":\"k\",\"limit\":200}"), "/api/history",
                "chatKey=k&limit=200", "");
    expect_call(CALL("decide_approval", "{\"id\":\"9f2c\",\"decision\":\"approve\"}"),
                "/api/approvals/9f2c/approve", "", "{}");
    expect_call(CALL("decide_approval", "{\"id\":\"9f2c\",\"decision\":\"reject\"}"),
                "/api/approvals/9f2c/reject", "", "{}");
    CHECK_TEXT("7", step.id);
    CHECK(!step.has_progress_token);
    read_line("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"
              "\"list_chats\",\"_meta\":{\"progressToken\":\"p\"}}}");
    CHECK(step.has_progress_token);
}

/* The model that made them reads what is wrong. */
CASE(wrong_arguments_are_results)
{
    static const char *const rows[] = {
        CALL("ask_agent", "{}"),
        CALL("ask_agent", "{\"text\":\"\"}"),
        CALL("ask_agent", "{\"text\":3}"),
        CALL("ask_agent", "{\"text\":\"a\\u0000b\"}"),
        CALL("ask_agent", "{\"text\":\"x\",\"chat\":null}"),
        CALL("ask_agent", "{\"text\":\"x\",\"chat\":\"\"}"),
        CALL("ask_agent", "{\"text\":\"x\",\"user\":\"root\"}"),
        CALL("send_message", "{\"text\":\"x\"}"),
        CALL("send_message", "{\"chatKey\":\"k\"}"),
        CALL("list_chats", "{\"x\":1}"),
        CALL("read_history", "{\"chatKey\":\"k\",\"limit\":0}"),
        CALL("read_history", "{\"chatKey\":\"k\",\"limit\":201}"),
        CALL("read_history", "{\"chatKey\":\"k\",\"limit\":\"9\"}"),
        CALL("decide_approval", "{\"id\":\"../../grants/1\",\"decision\":\"approve\"}"),
        CALL("decide_approval", "{\"id\":\"9f\",\"decision\":\"revoke\"}"),
        CALL("decide_approval", "{\"id\":\"9f\"}"),
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        json_t *root;
        if (read_line(rows[i]) != SMA_MCP_SERVE_ANSWER)
            fprintf(stderr, "%s\n", rows[i]);
        const json_t *result = result_of(rows[i], &root);
        CHECK(json_is_true(json_object_get(result, "isError")));
        json_decref(root);
    }
    expect_error(CALL("delete_all", "{}"), SMA_MCP_INVALID_PARAMS, "7");
    expect_error(CALL("list_chats", "[]"), SMA_MCP_INVALID_PARAMS, "7");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}", SMA_MCP_INVALID_PARAMS,
                 "7");
}

CASE(texts_have_a_bound)
{
    static const int more[] = {-1, 0, 1};
    for (size_t i = 0; i < SMA_COUNT_OF(more); i++) {
        size_t len = (size_t)(SMA_TEXT_BYTES_MAX + more[i]);
        char *text = malloc(len + 200);
        CHECK(text != NULL);
        int at =
            sprintf(text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"ask_agent\",\"arguments\":{\"text\":\"");
        memset(text + at, 'x', len);
        strcpy(text + (size_t)at + len, "\"}}}");
        CHECK_INT(more[i] <= 0 ? SMA_MCP_SERVE_CALL : SMA_MCP_SERVE_ANSWER, read_line(text));
        free(text);
    }
}

/* -- results ----------------------------------------------------------------------------------- */
static json_t *put(int status, const char *json)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    sma_mcp_serve_put_result(&buf, &step, status, sma_str(json));
    json_t *root = json_of(&buf);
    sma_buf_fini(&buf);
    CHECK_INT(7, json_integer_value(json_object_get(root, "id")));
    return root;
}

static void expect_result(int status, const char *json, const char *text, bool is_error)
{
    json_t *root = put(status, json);
    const json_t *result = json_object_get(root, "result");
    const json_t *item = json_array_get(json_object_get(result, "content"), 0);
    CHECK_TEXT("text", json_string_value(json_object_get(item, "type")));
    CHECK_TEXT(text, json_string_value(json_object_get(item, "text")));
    CHECK(json_is_true(json_object_get(result, "isError")) == is_error);
    json_decref(root);
}

CASE(what_the_api_answers_is_told)
{
    read_line(CALL("ask_agent", "{\"text\":\"hi\"}"));
    expect_result(200, "{\"success\":true,\"output\":\"Hello\",\"status\":\"done\"}", "Hello",
                  false);
    expect_result(200, "{\"success\":false,\"output\":\"broken\",\"status\":\"failed\"}", "broken",
                  true);
    expect_result(200, "{\"success\":false,\"output\":\"May I?\",\"status\":\"parked\"}", "May I?",
                  false);
    expect_result(202, "{\"status\":\"waiting\",\"message\":\"It waits\"}", "It waits", false);
    expect_result(503, "{\"success\":false,\"message\":\"busy\"}", "busy", true);
    expect_result(0, "It does not run", "It does not run", true);
    json_t *root =
        put(200, "{\"success\":false,\"output\":\"q\",\"status\":\"parked\",\"runId\":\"17\","
                 "\"chatId\":\"mcp\",\"pendingApproval\":{\"id\":\"9f\"}}");
    const json_t *told = json_object_get(json_object_get(root, "result"), "structuredContent");
    CHECK_TEXT("17", json_string_value(json_object_get(told, "runId")));
    CHECK_TEXT("9f",
               json_string_value(json_object_get(json_object_get(told, "pendingApproval"), "id")));
    json_decref(root);
    read_line(CALL("list_chats", "{}"));
    expect_result(200, "{\"chats\":[]}", "{\"chats\":[]}", false);
    expect_result(404, "{\"success\":false,\"message\":\"no such chat\"}", "no such chat", true);
    expect_result(500, "", "", true);
}

CASE(progress_tells_the_newest)
{
    char text[500];
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 4,
           "\xc3\xa4"
           "yz",
           4);
    read_line("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"
              "\"ask_agent\",\"arguments\":{\"text\":\"x\"},\"_meta\":{\"progressToken\":4}}}");
    sma_buf_init(&buf, 4096);
    sma_mcp_serve_put_progress(&buf, &step, 3, (struct sma_str){text, sizeof text});
    json_t *root = json_of(&buf);
    const json_t *params = json_object_get(root, "params");
    const char *message = json_string_value(json_object_get(params, "message"));
    CHECK_INT(4, json_integer_value(json_object_get(params, "progressToken")));
    CHECK_INT(3, json_integer_value(json_object_get(params, "progress")));
    CHECK_INT(SMA_MCP_SERVE_PROGRESS_BYTES_MAX, strlen(message));
    CHECK_TEXT("yz", message + strlen(message) - 2);
    json_decref(root);
}

int main(void)
{
    sma_mcp_serve_begin(&step);
    check_run_cases(NULL);
    sma_mcp_serve_end(&step);
    return 0;
}
