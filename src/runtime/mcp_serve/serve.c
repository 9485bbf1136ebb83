/* serve.c — JSON-RPC and the methods; see serve.h. */
#include "serve_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>
#include <string.h>

#define ANSWER_BYTES_MAX (256u * 1024)
#define BODY_BYTES_MAX (8u * SMA_TEXT_BYTES_MAX)

void sma_mcp_serve_begin(struct sma_mcp_serve_step *step)
{
    *step = (struct sma_mcp_serve_step){.http_status = 200, .id = "null"};
    sma_buf_init(&step->answer, ANSWER_BYTES_MAX);
    sma_buf_init(&step->path, 8192);
    sma_buf_init(&step->query, 8192);
    sma_buf_init(&step->body, BODY_BYTES_MAX);
}

void sma_mcp_serve_end(struct sma_mcp_serve_step *step)
{
    sma_buf_fini(&step->answer);
    sma_buf_fini(&step->path);
    sma_buf_fini(&step->query);
    sma_buf_fini(&step->body);
}

/* -- responses --------------------------------------------------------------------------------- */
static void put_error_open(struct sma_buf *buf, const char *id_json, int code, const char *message)
{
    sma_buf_put_text(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    sma_buf_put_text(buf, id_json);
    sma_buf_printf(buf, ",\"error\":{\"code\":%d", code);
    sma_buf_put_json_member(buf, "message", sma_str(message));
}

void sma_mcp_serve_put_error(struct sma_buf *buf, const char *id_json, int code,
                             const char *message)
{
    put_error_open(buf, id_json, code, message);
    sma_buf_put_text(buf, "}}");
}

void sma_mcp_serve_fail(struct sma_mcp_serve_step *step, int status, int code, const char *message)
{
    step->kind = SMA_MCP_SERVE_ANSWER;
    step->http_status = status;
    sma_buf_clear(&step->answer);
    sma_mcp_serve_put_error(&step->answer, step->id, code, message);
}

void sma_mcp_serve_put_head(struct sma_buf *buf, const char *id_json)
{
    sma_buf_put_text(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    sma_buf_put_text(buf, id_json);
    sma_buf_put_text(buf, ",\"result\":{");
}

void sma_mcp_serve_put_progress(struct sma_buf *buf, const struct sma_mcp_serve_step *call,
                                uint64_t number, struct sma_str message)
{
    if (message.len > SMA_MCP_SERVE_PROGRESS_BYTES_MAX) { /* the newest is at the end */
        size_t from = message.len - SMA_MCP_SERVE_PROGRESS_BYTES_MAX;
        while (from < message.len && ((unsigned char)message.ptr[from] & 0xc0) == 0x80)
            from++;
        message = (struct sma_str){message.ptr + from, message.len - from};
    }
    sma_buf_put_text(buf, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                          "\"progressToken\":");
    sma_buf_put_text(buf, call->progress_token);
    sma_buf_put_json_number(buf, "progress", number);
    sma_buf_put_json_member(buf, "message", message);
    sma_buf_put_text(buf, "}}");
}

/* -- ids --------------------------------------------------------------------------------------- */
/* A request id or a token: a string or an integer. false: it is something else, or too long. */
static bool read_id(const json_t *value, char json[SMA_MCP_SERVE_ID_JSON_BYTES_MAX + 1])
{
    struct sma_buf text;
    if (!json_is_integer(value) && !json_is_string(value))
        return false;
    if (json_string_length(value) > SMA_MCP_SERVE_ID_BYTES_MAX)
        return false;
    sma_buf_init(&text, SMA_MCP_SERVE_ID_JSON_BYTES_MAX);
    sma_json_put(&text, value);
    bool is_whole = text.err == SMA_ERR_OK && text.len > 0;
    if (is_whole) {
        memcpy(json, text.ptr, text.len);
        json[text.len] = '\0';
    }
    sma_buf_fini(&text);
    return is_whole;
}

static void read_progress_token(struct sma_mcp_serve_step *step, const json_t *params)
{
    const json_t *token = sma_json_get(sma_json_get(params, "_meta"), "progressToken");
    step->has_progress_token = token != NULL && read_id(token, step->progress_token);
}

/* -- methods ----------------------------------------------------------------------------------- */
/* Of versions with a handshake: the one asked for where we speak it, else our newest. */
static const char *choose_version(struct sma_str asked)
{
    static const char *const known[] = {SMA_MCP_SERVE_LEGACY, "2025-06-18", "2025-03-26",
                                        "2024-11-05"};
    for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
        if (sma_str_is_equal(asked, sma_str(known[i])))
            return known[i];
    return SMA_MCP_SERVE_LEGACY;
}

static void initialize(struct sma_mcp_serve_step *step, const json_t *params)
{
    const json_t *asked = sma_json_get(params, "protocolVersion");
    if (!json_is_string(asked)) {
        sma_mcp_serve_fail(step, 200, SMA_MCP_INVALID_PARAMS,
                           "initialize: params.protocolVersion must be a string");
        return;
    }
    struct sma_buf *buf = &step->answer;
    sma_mcp_serve_put_head(buf, step->id);
    sma_buf_printf(buf,
                   "\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{"
                   "\"name\":\"shipmyagent\",\"title\":\"ShipMyAgent\",\"version\":\"%s\"}",
                   choose_version(sma_json_str_of(asked)), SMA_VERSION);
    sma_buf_put_json_member(buf, "instructions", SMA_STR(SERVE_INSTRUCTIONS));
    sma_mcp_serve_put_tail(buf, false, false);
}

static void discover(struct sma_mcp_serve_step *step, const json_t *params)
{
    (void)params;
    struct sma_buf *buf = &step->answer;
    sma_mcp_serve_put_head(buf, step->id);
    sma_buf_put_text(buf, "\"supportedVersions\":[\"" SMA_MCP_SERVE_MODERN
                          "\"],\"capabilities\":{\"tools\":{}}");
    sma_buf_put_json_member(buf, "instructions", SMA_STR(SERVE_INSTRUCTIONS));
    sma_mcp_serve_put_tail(buf, true, true);
}

static void ping(struct sma_mcp_serve_step *step, const json_t *params)
{
    (void)params;
    sma_mcp_serve_put_head(&step->answer, step->id);
    sma_mcp_serve_put_tail(&step->answer, false, false);
}

static void list_tools(struct sma_mcp_serve_step *step, const json_t *params)
{
    if (sma_json_get(params, "cursor") != NULL) {
        sma_mcp_serve_fail(step, 200, SMA_MCP_INVALID_PARAMS,
                           "tools/list: there is one page, so no cursor is one of ours");
        return;
    }
    sma_mcp_serve_put_head(&step->answer, step->id);
    sma_mcp_serve_put_tools(&step->answer);
    sma_mcp_serve_put_tail(&step->answer, step->is_modern, true);
}

static const struct
{
    const char *name;
    void (*run)(struct sma_mcp_serve_step *step, const json_t *params);
    bool is_legacy, is_modern;
} methods[] = {
    {"initialize", initialize, .is_legacy = true, .is_modern = false},
    {"ping", ping, .is_legacy = true, .is_modern = false},
    {"server/discover", discover, .is_legacy = false, .is_modern = true},
    {"tools/list", list_tools, .is_legacy = true, .is_modern = true},
    {"tools/call", sma_mcp_serve_call, .is_legacy = true, .is_modern = true},
};

static void run_method(struct sma_mcp_serve_step *step, const char *name, const json_t *params)
{
    step->kind = SMA_MCP_SERVE_ANSWER;
    for (size_t i = 0; i < SMA_COUNT_OF(methods); i++) {
        bool is_spoken = step->is_modern ? methods[i].is_modern : methods[i].is_legacy;
        if (!is_spoken || strcmp(name, methods[i].name) != 0)
            continue;
        methods[i].run(step, params);
        return;
    }
    sma_mcp_serve_fail(step, step->is_modern ? 404 : 200, SMA_MCP_METHOD_NOT_FOUND,
                       "Method not found");
}

/* -- messages ---------------------------------------------------------------------------------- */
static void read_notification(struct sma_mcp_serve_step *step, const char *method,
                              const json_t *params)
{
    const json_t *id = sma_json_get(params, "requestId");
    if (strcmp(method, "notifications/cancelled") == 0 && id != NULL && read_id(id, step->id))
        step->kind = SMA_MCP_SERVE_CANCEL;
}

static void read_request(struct sma_mcp_serve_step *step, const char *method, const json_t *params,
                         const struct sma_mcp_serve_headers *headers)
{
    if (params != NULL && !json_is_object(params)) {
        sma_mcp_serve_fail(step, 400, SMA_MCP_INVALID_PARAMS, "params must be an object");
        return;
    }
    step->is_modern = sma_mcp_serve_is_modern(params, headers);
    if (step->is_modern && !sma_mcp_serve_check_modern(step, method, params, headers))
        return;
    if (!step->is_modern && headers != NULL && headers->has_version &&
        !sma_str_is_equal(headers->version, sma_str(choose_version(headers->version)))) {
        sma_mcp_serve_fail(
            step, 400, SMA_MCP_INVALID_REQUEST,
            "MCP-Protocol-Version: this version is not spoken here; " SMA_MCP_SERVE_LEGACY " is");
        return;
    }
    read_progress_token(step, params);
    run_method(step, method, params);
}

static void read_message(struct sma_mcp_serve_step *step, const json_t *root,
                         const struct sma_mcp_serve_headers *headers)
{
    const json_t *method = json_object_get(root, "method"), *id = json_object_get(root, "id");
    bool is_answer = method == NULL && (json_object_get(root, "result") != NULL ||
                                        json_object_get(root, "error") != NULL);
    const char *wrong = NULL;
    if (json_is_array(root))
        wrong = "Batches are not taken: send one message at a time";
    else if (!json_is_object(root))
        wrong = "A message is a JSON object";
    else if (is_answer) /* to nothing we have asked; an answer to it could go on for ever */
        return;
    else if (id != NULL && !read_id(id, step->id))
        wrong = "The member id must be an integer or a string of at most 256 bytes";
    else if (!sma_str_is_equal(sma_json_str(root, "jsonrpc"), SMA_STR("2.0")))
        wrong = "The member jsonrpc must be \"2.0\"";
    else if (!json_is_string(method) || json_string_length(method) == 0)
        wrong = "The member method must be a string";
    if (wrong != NULL)
        sma_mcp_serve_fail(step, 400, SMA_MCP_INVALID_REQUEST, wrong);
    else if (id == NULL)
        read_notification(step, json_string_value(method), json_object_get(root, "params"));
    else
        read_request(step, json_string_value(method), json_object_get(root, "params"), headers);
}

enum sma_err sma_mcp_serve_read(struct sma_str text, const struct sma_mcp_serve_headers *headers,
                                struct sma_mcp_serve_step *step)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    enum sma_err err = sma_json_load(text, &root);
    if (err == SMA_ERR_NOMEM)
        return err;
    if (err != SMA_ERR_OK)
        sma_mcp_serve_fail(step, 400, SMA_MCP_PARSE_ERROR,
                           err == SMA_ERR_TOOBIG ? "The message is too long"
                                                 : "This is no JSON, or nested too deeply");
    else
        read_message(step, root, headers);
    const struct sma_buf *made = step->kind == SMA_MCP_SERVE_ANSWER ? &step->answer : &step->body;
    return made->err != SMA_ERR_OK || step->path.err != SMA_ERR_OK || step->query.err != SMA_ERR_OK
               ? SMA_ERR_NOMEM
               : SMA_ERR_OK;
}
