/* serve_modern.c — 2026-07-28: there is no handshake. Each request says its version and what the
 * client can do; over HTTP its headers repeat version, method and name, so that proxies can route
 * without reading the body, and a header that says another thing than the body is refused. */
#include "serve_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <string.h>

#define META "io.modelcontextprotocol/"
#define LIST_FRESH_MS 300000u /* tools change with the program alone */

bool sma_mcp_serve_is_modern(const json_t *params, const struct sma_mcp_serve_headers *headers)
{
    if (json_object_get(sma_json_get(params, "_meta"), META "protocolVersion") != NULL)
        return true;
    return headers != NULL && headers->has_version &&
           sma_str_is_equal(headers->version, SMA_STR(SMA_MCP_SERVE_MODERN));
}

static void fail_version(struct sma_mcp_serve_step *step, struct sma_str requested)
{
    struct sma_buf *buf = &step->answer;
    step->kind = SMA_MCP_SERVE_ANSWER;
    step->http_status = 400;
    sma_buf_put_text(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    sma_buf_put_text(buf, step->id);
    sma_buf_printf(buf, ",\"error\":{\"code\":%d,\"message\":\"Unsupported protocol version\"",
                   SMA_MCP_UNSUPPORTED_VERSION);
    sma_buf_put_text(buf, ",\"data\":{\"supported\":[\"" SMA_MCP_SERVE_MODERN "\"]");
    requested.len = requested.len > 64 ? sma_utf8_cut(requested, 64) : requested.len;
    sma_buf_put_json_member(buf, "requested", requested);
    sma_buf_put_text(buf, "}}}");
}

/* NULL: the headers say what the body says. */
static const char *find_mismatch(const char *method, const json_t *params,
                                 const struct sma_mcp_serve_headers *headers)
{
    const json_t *meta = sma_json_get(params, "_meta");
    if (!headers->has_version ||
        !sma_str_is_equal(headers->version, sma_json_str(meta, META "protocolVersion")))
        return "The header MCP-Protocol-Version is missing or says another version than the body";
    if (!headers->has_method || !sma_str_is_equal(headers->method, sma_str(method)))
        return "The header Mcp-Method is missing or says another method than the body";
    bool is_call = strcmp(method, "tools/call") == 0;
    if (is_call && json_is_string(sma_json_get(params, "name")) &&
        (!headers->has_name || !sma_str_is_equal(headers->name, sma_json_str(params, "name"))))
        return "The header Mcp-Name is missing or says another name than the body";
    return NULL;
}

bool sma_mcp_serve_check_modern(struct sma_mcp_serve_step *step, const char *method,
                                const json_t *params, const struct sma_mcp_serve_headers *headers)
{
    const json_t *meta = sma_json_get(params, "_meta");
    const json_t *version = sma_json_get(meta, META "protocolVersion");
    const char *mismatch = NULL;
    if (!json_is_string(version) ||
        !json_is_object(sma_json_get(meta, META "clientCapabilities"))) {
        sma_mcp_serve_fail(step, 400, SMA_MCP_INVALID_PARAMS,
                           "params._meta needs " META "protocolVersion, a string, and " META
                           "clientCapabilities, an object");
        return false;
    }
    if (headers != NULL)
        mismatch = find_mismatch(method, params, headers);
    if (mismatch != NULL) {
        sma_mcp_serve_fail(step, 400, SMA_MCP_HEADER_MISMATCH, mismatch);
        return false;
    }
    if (strcmp(json_string_value(version), SMA_MCP_SERVE_MODERN) == 0)
        return true;
    fail_version(step, sma_json_str(meta, META "protocolVersion"));
    return false;
}

void sma_mcp_serve_put_tail(struct sma_buf *buf, bool is_modern, bool is_list)
{
    bool is_first = buf->len > 0 && buf->ptr[buf->len - 1] == '{';
    if (is_modern) {
        sma_buf_put_text(buf, is_first ? "" : ",");
        sma_buf_put_text(buf, "\"resultType\":\"complete\"");
        if (is_list)
            sma_buf_printf(buf, ",\"ttlMs\":%u,\"cacheScope\":\"private\"", LIST_FRESH_MS);
        sma_buf_put_text(buf, ",\"_meta\":{\"" META "serverInfo\":{\"name\":\"shipmyagent\","
                              "\"title\":\"ShipMyAgent\",\"version\":\"" SMA_VERSION "\"}}");
    }
    sma_buf_put_text(buf, "}}");
}
