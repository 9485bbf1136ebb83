/* session_out.c — what we say: requests, notifications, answers. */
#include "session_priv.h"

#include <stdlib.h>

static json_t *client_info(void)
{
    return json_pack("{s:s,s:s,s:s}", "name", "shipmyagent", "title", "ShipMyAgent", "version",
                     SMA_VERSION);
}

/* Takes message, which may be NULL. */
static bool put(struct sma_mcp_session *session, json_t *message, struct sma_mcp_out *out)
{
    char *text = message == NULL ? NULL : json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (text == NULL)
        return false;
    out->text = sma_str(text);
    out->version = session->version;
    out->is_modern = session->is_modern;
    session->ops->send(session->user, out);
    free(text);
    return true;
}

static bool set(json_t *object, const char *key, json_t *value)
{
    return value != NULL && json_object_set_new(object, key, value) == 0;
}

/* Sampling without tools and without the conversation: neither member is announced. */
json_t *session_capabilities(const struct sma_mcp_session *session)
{
    json_t *made = json_pack("{s:{},s:{}}", "roots", "elicitation");
    if (made != NULL && session->options.may_sample && !set(made, "sampling", json_object())) {
        json_decref(made);
        return NULL;
    }
    return made;
}

/* What every modern request carries, and what every call does. */
static bool add_meta(const struct sma_mcp_session *session, const struct session_request *request,
                     json_t *params)
{
    bool is_call = request->kind == SESSION_CALL;
    if (!session->is_modern && !is_call)
        return true;
    json_t *meta = json_object();
    bool is_whole = set(params, "_meta", meta);
    if (is_whole && is_call)
        is_whole = set(meta, "progressToken", json_integer((json_int_t)request->id));
    if (is_whole && session->is_modern)
        is_whole =
            set(meta, "io.modelcontextprotocol/protocolVersion",
                json_string(SESSION_MODERN_VERSION)) &&
            set(meta, "io.modelcontextprotocol/clientInfo", client_info()) &&
            set(meta, "io.modelcontextprotocol/clientCapabilities", session_capabilities(session));
    return is_whole;
}

bool session_put_request(struct sma_mcp_session *session, const struct session_request *request,
                         const char *method, json_t *params)
{
    if (params == NULL)
        params = json_object();
    json_t *message = json_object();
    bool is_whole =
        message != NULL && params != NULL && set(message, "jsonrpc", json_string("2.0")) &&
        set(message, "id", json_integer((json_int_t)request->id)) &&
        set(message, "method", json_string(method)) && add_meta(session, request, params);
    struct sma_mcp_out out = {.method = sma_str(method), .id = request->id};
    const char *name = json_string_value(json_object_get(params, "name"));
    if (name == NULL)
        name = json_string_value(json_object_get(params, "uri"));
    if (request->kind == SESSION_CALL)
        out.name = sma_str(name);
    bool has_params = json_object_size(params) > 0;
    if (is_whole && has_params)
        is_whole = json_object_set(message, "params", params) == 0;
    bool is_put = is_whole && put(session, json_incref(message), &out);
    json_decref(message);
    json_decref(params);
    return is_put;
}

void session_put_notification(struct sma_mcp_session *session, const char *method, json_t *params)
{
    json_t *message = params == NULL ? json_pack("{s:s,s:s}", "jsonrpc", "2.0", "method", method)
                                     : json_pack("{s:s,s:s,s:o}", "jsonrpc", "2.0", "method",
                                                 method, "params", params);
    struct sma_mcp_out out = {.method = sma_str(method)};
    (void)put(session, message, &out); /* no memory: as if it were lost on the way */
}

void session_put_cancelled(struct sma_mcp_session *session, uint64_t id, const char *reason)
{
    json_t *message =
        json_pack("{s:s,s:s,s:{s:I,s:s}}", "jsonrpc", "2.0", "method", "notifications/cancelled",
                  "params", "requestId", (json_int_t)id, "reason", reason);
    struct sma_mcp_out out = {.method = SMA_STR("notifications/cancelled"), .cancels = id};
    (void)put(session, message, &out); /* no memory: as if it were lost on the way */
}

void session_put_result(struct sma_mcp_session *session, const json_t *id, json_t *result)
{
    json_t *message = json_pack("{s:s,s:O,s:o*}", "jsonrpc", "2.0", "id", id, "result", result);
    struct sma_mcp_out out = {.id = 0};
    (void)put(session, message, &out); /* no memory: as if it were lost on the way */
}

void session_put_error(struct sma_mcp_session *session, const json_t *id, int code,
                       const char *text)
{
    json_t *message = json_pack("{s:s,s:O,s:{s:i,s:s}}", "jsonrpc", "2.0", "id", id, "error",
                                "code", code, "message", text);
    struct sma_mcp_out out = {.id = 0};
    (void)put(session, message, &out); /* no memory: as if it were lost on the way */
}
