/* route_table.c — every path and method of the API, one row each. docs/openapi.json has the same
 * rows; test_http_routes compares them. */
#include "http_priv.h"

#include "runtime/files/served.h"

#define GET SMA_HTTP_GET
#define POST SMA_HTTP_POST
#define DELETE SMA_HTTP_DELETE

/* In a pattern ":name" stands for one segment, "*name" at its end for all that follow. Of two rows
 * that match, the earlier one counts. */
static const struct http_route_row rows[] = {
    {POST, "/api/execute", HTTP_ROUTE_EXECUTE, HTTP_ROUTE_IS_WORK},
    {GET, "/api/runs", HTTP_ROUTE_RUNS, 0},
    {GET, "/api/runs/:id", HTTP_ROUTE_RUN, 0},
    {DELETE, "/api/runs/:id", HTTP_ROUTE_CANCEL, HTTP_ROUTE_IS_WORK},
    {GET, "/api/runs/:id/trace", HTTP_ROUTE_TRACE, 0},
    {GET, "/api/runs/:id/events", HTTP_ROUTE_EVENTS, HTTP_ROUTE_TAKES_TICKET},
    {POST, "/api/tickets", HTTP_ROUTE_TICKETS, 0},
    {GET, "/api/trace", HTTP_ROUTE_TRACE, 0},
    {GET, "/api/chats", HTTP_ROUTE_CHATS, 0},
    {POST, "/api/chats/:chatKey/messages", HTTP_ROUTE_SAY, HTTP_ROUTE_IS_WORK},
    {GET, "/api/deliveries/:id", HTTP_ROUTE_DELIVERY, 0},
    {GET, "/api/approvals", HTTP_ROUTE_APPROVALS, 0},
    {POST, "/api/approvals/:id/approve", HTTP_ROUTE_DECIDE, HTTP_ROUTE_IS_WORK},
    {POST, "/api/approvals/:id/reject", HTTP_ROUTE_DECIDE, HTTP_ROUTE_IS_WORK},
    {GET, "/api/grants", HTTP_ROUTE_GRANTS, 0},
    {POST, "/api/grants/:id/revoke", HTTP_ROUTE_DECIDE, HTTP_ROUTE_IS_WORK},
    {GET, "/api/pairings", HTTP_ROUTE_PAIRINGS, 0},
    {POST, "/api/pairings/:code/approve", HTTP_ROUTE_DECIDE, HTTP_ROUTE_IS_WORK},
    {POST, "/api/pairings/:code/reject", HTTP_ROUTE_DECIDE, HTTP_ROUTE_IS_WORK},
    {GET, "/api/usage", HTTP_ROUTE_USAGE, 0},
    {GET, "/api/status", HTTP_ROUTE_STATUS, 0},
    {GET, "/api/history", HTTP_ROUTE_HISTORY, 0},
    {GET, "/api/logs", HTTP_ROUTE_LOGS, 0},
    {GET, "/api/files", HTTP_ROUTE_FILES, 0},
    {GET, "/api/files/*path", HTTP_ROUTE_FILE, 0},
    {POST, "/webhook/:type", HTTP_ROUTE_OLD_WEBHOOK, HTTP_ROUTE_IS_WORK},
    {POST, "/v1/chat/completions", HTTP_ROUTE_OPENAI, HTTP_ROUTE_IS_WORK},
    {POST, "/v1/responses", HTTP_ROUTE_OPENAI, HTTP_ROUTE_IS_WORK},
    {GET, "/v1/models", HTTP_ROUTE_MODELS, 0},
    {GET, "/v1/models/*id", HTTP_ROUTE_MODELS, 0},
    {POST, "/mcp", HTTP_ROUTE_MCP, 0},
    {GET, "/metrics", HTTP_ROUTE_METRICS, 0},
    {GET, "/ws", HTTP_ROUTE_PAGE, HTTP_ROUTE_TAKES_TICKET},
    {GET, "/ui", HTTP_ROUTE_WEB, HTTP_ROUTE_IS_OPEN},
    {GET, "/ui/", HTTP_ROUTE_WEB, HTTP_ROUTE_IS_OPEN},
    {GET, "/ui/*file", HTTP_ROUTE_WEB, HTTP_ROUTE_IS_OPEN},
    {POST, "/sign-in", HTTP_ROUTE_SIGN_IN, HTTP_ROUTE_IS_OPEN},
    {POST, "/sign-in/codes", HTTP_ROUTE_SIGN_IN_CODES, 0},
    {POST, "/api/sign-out", HTTP_ROUTE_SIGN_OUT, 0},
    {GET, "/openapi.json", HTTP_ROUTE_OPENAPI, 0},
    {GET, "/health", HTTP_ROUTE_HEALTH, HTTP_ROUTE_IS_OPEN},
#define STATIC_ROW(request, name, type) {GET, request, HTTP_ROUTE_STATIC, HTTP_ROUTE_IS_OPEN},
    SMA_SERVED_FILES(STATIC_ROW)
#undef STATIC_ROW
};

const struct http_route_row *http_route_rows(size_t *ret_count)
{
    *ret_count = SMA_COUNT_OF(rows);
    return rows;
}

static struct sma_str take_segment(struct sma_str *path)
{
    const char *slash = memchr(path->ptr, '/', path->len);
    struct sma_str segment = {path->ptr, slash == NULL ? path->len : (size_t)(slash - path->ptr)};
    path->ptr += segment.len;
    path->len -= segment.len;
    return segment;
}

/* The path has the form of the pattern. *value: what its last variable part stands for. */
static bool matches(const char *pattern, struct sma_str path, struct sma_str *value)
{
    for (;;) {
        size_t plain = strcspn(pattern, ":*");
        if (path.len < plain || memcmp(path.ptr, pattern, plain) != 0)
            return false;
        path.ptr += plain;
        path.len -= plain;
        pattern += plain;
        if (*pattern == '\0')
            return path.len == 0;
        if (*pattern == '*') {
            *value = path;
            return path.len > 0;
        }
        *value = take_segment(&path);
        if (value->len == 0)
            return false;
        pattern += strcspn(pattern, "/");
    }
}

const struct http_route_row *http_route_find(enum sma_http_method method, struct sma_str path,
                                             struct sma_str *ret_value)
{
    if (method == SMA_HTTP_HEAD)
        method = SMA_HTTP_GET;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        *ret_value = SMA_STR("");
        if (rows[i].method == method && matches(rows[i].pattern, path, ret_value))
            return &rows[i];
    }
    return NULL;
}

bool http_route_allow(struct sma_str path, struct sma_buf *allow)
{
    static const struct
    {
        enum sma_http_method method;
        const char *name;
    } names[] = {{GET, "GET, HEAD"}, {POST, "POST"}, {DELETE, "DELETE"}};
    struct sma_str value;
    bool is_known = false;
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        if (http_route_find(names[i].method, path, &value) == NULL)
            continue;
        sma_buf_put_text(allow, is_known ? ", " : "");
        sma_buf_put_text(allow, names[i].name);
        is_known = true;
    }
    sma_buf_put_text(allow, is_known ? ", OPTIONS" : "");
    return is_known;
}
