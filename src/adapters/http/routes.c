/* routes.c — which request is what, who may ask, and the answers that need no run. */
#include "http_priv.h"
#include "openapi.h"

#include "runtime/files/served.h"
#include "sma/health.h"
#include "sma/labels.h"
#include "sma/metrics.h"

#include <stdio.h>

#define PREFLIGHT_S 600
#define NO_TOKEN                                                                             \
    "This needs the API token, on this machine too: send Authorization: Bearer <token>; it " \
    "stands in .ship/api-token of the project, readable by the user who runs the service"

static const struct
{
    const char *path, *file, *type;
} statics[] = {
#define STATIC_ROW(request, name, type) {request, name, type},
    SMA_SERVED_FILES(STATIC_ROW)
#undef STATIC_ROW
};

/* NULL: this path, or this method on it, is not served. */
static const struct http_route_row *
find_row(struct sma_http *http, const struct sma_http_request *request, struct sma_str *ret_value)
{
    static const struct http_route_row webhook = {SMA_HTTP_POST, "/webhooks/:name",
                                                  HTTP_ROUTE_WEBHOOK, HTTP_ROUTE_IS_WORK};
    if ((request->method == SMA_HTTP_POST || request->method == SMA_HTTP_GET) &&
        http_webhook_find(http, request->path) != NULL) {
        *ret_value = SMA_STR("");
        return &webhook;
    }
    return http_route_find(request->method, request->path, ret_value);
}

/* A refusal: the connection can stay only when no body follows that nobody would read. */
static bool refuse(struct http_conn *conn, const struct sma_http_request *request, int status,
                   const char *extra, const char *text)
{
    if (request->content_bytes > 0 || request->has_transfer_encoding)
        conn->closes_after = true;
    http_respond_error(conn, status, extra, "%s", text);
    return false;
}

/* Neither the path nor the method on it: 404, or 405 with what is served there. OPTIONS asks for
 * just that. */
static bool refuse_route(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf allow;
    char extra[128];
    if (request->content_bytes > 0 || request->has_transfer_encoding)
        conn->closes_after = true;
    sma_buf_init(&allow, 64);
    bool is_known = http_route_allow(request->path, &allow);
    (void)snprintf(extra, sizeof extra, "Allow: %.*s\r\n", (int)allow.len,
                   allow.len == 0 ? "" : allow.ptr);
    sma_buf_fini(&allow);
    if (is_known && request->method == SMA_HTTP_OPTIONS)
        http_respond_empty(conn, extra);
    else if (is_known)
        http_respond_error(conn, 405, extra, "This method is not served on this path; see Allow");
    else
        http_respond_not_found(conn, request->path);
    return false;
}

static bool admit_body(struct http_conn *conn, const struct sma_http_request *request,
                       size_t bytes_max)
{
    struct sma_http *http = conn->server;
    conn->body_bytes_max = bytes_max;
    if (request->has_transfer_encoding && !request->is_chunked)
        return refuse(conn, request, 501, NULL,
                      "Transfer-Encoding: chunked is read, and no other one");
    if (request->content_bytes > bytes_max) {
        http_reject(conn, 413, NULL, "The body is over the limit of %zu bytes", bytes_max);
        return false;
    }
    size_t whole = request->head_bytes + (size_t)request->content_bytes;
    if (whole <= HTTP_KEPT_BUFFER_BYTES || conn->in.len >= whole)
        return true;
    bool is_large = request->content_bytes > SMA_HTTP_BODY_BYTES_MAX;
    size_t room = HTTP_BUFFERED_BYTES_MAX + (is_large ? 0 : HTTP_SMALLER_BYTES_MAX);
    if (http->buffered_bytes + whole > room)
        return refuse(conn, request, 503, "Retry-After: 1\r\n",
                      "Too many large requests at once: send it again");
    /* The parsed head points into the buffer that may move here: nothing of it is used after
     * this. */
    if (sma_buf_reserve(&conn->in, whole - conn->in.len) == NULL)
        return refuse(conn, request, 503, "Retry-After: 1\r\n", "Out of memory: send it again");
    if (is_large) /* the time grows with what comes */
        http_conn_deadline(conn, conn->read_ns +
                                     http->request_deadline_ns *
                                         (1 + request->content_bytes / SMA_HTTP_BODY_BYTES_MAX));
    size_t held = conn->in.cap;
    http->buffered_bytes += held - conn->counted_bytes;
    conn->counted_bytes = held;
    return true;
}

static bool admit_intake(struct http_conn *conn, const struct sma_http_request *request)
{
    if (!conn->server->is_intake_off)
        return true;
    conn->closes_after = true;
    return refuse(conn, request, 503, "Retry-After: 5\r\n",
                  "The service is stopping: send it again later");
}

/* A browser asks before it sends the request of a page; it has no token then. false: it does not
 * ask, or may not. */
static bool answer_preflight(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf extra;
    if (request->method != SMA_HTTP_OPTIONS || !request->has_preflight_method ||
        conn->origin_len == 0)
        return false;
    if (request->content_bytes > 0 || request->has_transfer_encoding)
        conn->closes_after = true;
    sma_buf_init(&extra, 1024);
    sma_buf_put_text(&extra, "Access-Control-Allow-Methods: ");
    bool is_known = http_route_allow(request->path, &extra);
    sma_buf_printf(&extra,
                   "\r\nAccess-Control-Allow-Headers: Authorization, X-Api-Token, Content-Type, "
                   "Accept, Prefer, Idempotency-Key, Last-Event-ID, X-Chat-Id\r\n"
                   "Access-Control-Max-Age: %d\r\n",
                   PREFLIGHT_S);
    sma_buf_put_char(&extra, '\0');
    if (!is_known)
        http_respond_not_found(conn, request->path);
    else if (extra.err == SMA_ERR_OK)
        http_respond_empty(conn, extra.ptr);
    else
        http_conn_close(conn); /* no memory */
    sma_buf_fini(&extra);
    return true;
}

bool http_route_admit(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_http *http = conn->server;
    conn->dialect = sma_str_starts_with(request->path, SMA_STR("/v1/responses"))
                        ? HTTP_DIALECT_RESPONSES
                    : sma_str_starts_with(request->path, SMA_STR("/v1/")) ? HTTP_DIALECT_CHAT
                                                                          : HTTP_DIALECT_OWN;
    if (!request->has_host)
        return refuse(conn, request, 400, NULL, "The Host header is missing");
    struct sma_str value;
    const struct http_route_row *row = find_row(http, request, &value);
    enum http_route route = row == NULL ? HTTP_ROUTE_NONE : row->route;
    if (route ==
        HTTP_ROUTE_WEBHOOK) /* comes from anywhere: its adapter knows a secret of its own */
        return admit_intake(conn, request) && admit_body(conn, request, SMA_HTTP_BODY_BYTES_MAX);
    if (!http_auth_allows_host(&http->auth, request))
        return refuse(conn, request, 403, NULL,
                      "This Host is not served: use localhost, 127.0.0.1 or the configured "
                      "start.host, with the port");
    http_cors_note(conn, request);
    if (answer_preflight(conn, request))
        return false;
    if (!http_auth_allows_origin(request) && conn->origin_len == 0)
        return refuse(conn, request, 403, NULL,
                      "Requests from pages of another origin are not served");
    conn->is_page = conn->origin_len == 0 && http_session_opens(http, request);
    bool has_token = conn->is_page || http_auth_has_token(&http->auth, request) ||
                     (row != NULL && (row->traits & HTTP_ROUTE_TAKES_TICKET) != 0 &&
                      http_ticket_opens(http, request));
    conn->is_known |= has_token;
    /* The files of public/ are public content, and a page must be able to load before anybody can
     * type a token into it. */
    if ((row == NULL || (row->traits & HTTP_ROUTE_IS_OPEN) == 0) && !has_token)
        return refuse(conn, request, 401, "WWW-Authenticate: Bearer\r\n", NO_TOKEN);
    if (row == NULL)
        return refuse_route(conn, request);
    if ((row->traits & HTTP_ROUTE_IS_WORK) != 0 && !admit_intake(conn, request))
        return false;
    bool is_message = route == HTTP_ROUTE_EXECUTE || route == HTTP_ROUTE_OPENAI;
    if (is_message) {
        bool is_own = route == HTTP_ROUTE_EXECUTE;
        conn->wants_stream =
            is_own && sma_http_list_has(request->accept, SMA_STR("text/event-stream"));
        conn->wants_async = is_own && sma_http_list_has(request->prefer, SMA_STR("respond-async"));
        if (!conn->wants_async && !http_watch_has_room(http))
            return refuse(
                conn, request, 503, "Retry-After: 1\r\n",
                "Too many callers are waiting for results: use Prefer: respond-async or try again");
    }
    return admit_body(conn, request,
                      is_message                    ? SMA_HTTP_EXECUTE_BYTES_MAX
                      : route == HTTP_ROUTE_SIGN_IN ? HTTP_SIGN_IN_BYTES_MAX
                                                    : SMA_HTTP_BODY_BYTES_MAX);
}

/* -- answers at once --------------------------------------------------------------------------- */

/* Asked without a token: it says how we are, not why; GET /api/status does. 503 only when nothing
 * new is accepted: what concerns a chat or a row does not take the service away from all others. */
static void respond_health(struct http_conn *conn)
{
    struct sma_http *http = conn->server;
    bool is_open = sma_gauge_get(SMA_GAUGE_disk_degraded) == 0 && !http->is_intake_off;
    bool is_well =
        is_open && sma_gauge_get(SMA_GAUGE_store_troubles) == 0 && sma_health_count() == 0;
    struct sma_buf body;
    sma_buf_init(&body, 1024);
    sma_buf_put_text(&body, is_well ? "{\"status\":\"ok\"" : "{\"status\":\"degraded\"");
    http_put_timestamp(http, &body);
    sma_buf_put_text(&body, sma_gauge_get(SMA_GAUGE_sandbox_on) != 0 ? ",\"sandbox\":\"on\""
                                                                     : ",\"sandbox\":\"off\"");
    if (!is_well)
        http_put_parts(http, &body);
    sma_buf_put_char(&body, '}');
    http_respond(conn, is_open ? 200 : 503, HTTP_JSON, sma_buf_str(&body), NULL);
    sma_buf_fini(&body);
}

static void respond_metrics(struct http_conn *conn)
{
    struct sma_buf body;
    sma_buf_init(&body, HTTP_RESPONSE_BYTES_MAX / 2);
    sma_metrics_format(&body);
    sma_labels_format(&body);
    if (conn->server->format_metrics != NULL)
        conn->server->format_metrics(conn->server->metrics_user, &body);
    if (body.err == SMA_ERR_OK)
        http_respond(conn, 200, "text/plain; version=0.0.4; charset=utf-8", sma_buf_str(&body),
                     NULL);
    else
        http_respond_error(conn, 500, NULL, "Metrics cannot be shown: %s", sma_err_text(body.err));
    sma_buf_fini(&body);
}

static void respond_static(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_str path = request->path;
    size_t which = 0;
    while (!sma_str_is_equal(path, sma_str(statics[which].path)))
        which++;
    struct sma_buf body;
    sma_buf_init(&body, HTTP_STATIC_BYTES_MAX + 65536);
    enum sma_err err = http_static_read(conn->server, statics[which].file, &body);
    if (err == SMA_ERR_OK)
        http_respond_page(conn, statics[which].type, sma_buf_str(&body));
    else if (err != SMA_ERR_NOTFOUND)
        http_respond_error(conn, 500, NULL, "public/%s cannot be read: %s", statics[which].file,
                           sma_err_text(err));
    else if (which == 0 && sma_http_list_has(request->accept, SMA_STR("text/html")))
        http_web_lead(conn); /* a browser; programs get the words of the old one */
    else if (which == 0)
        http_respond(conn, 200, "text/plain; charset=utf-8", SMA_STR("ShipMyAgent Agent Server"),
                     NULL);
    else
        http_respond(conn, 404, "text/plain; charset=utf-8", SMA_STR("Not Found"), NULL);
    sma_buf_fini(&body);
}

/* -- carrying out ------------------------------------------------------------------------------ */
/* What the agent, or a platform, is asked by. @return whether it was one of these */
static bool run_message(struct http_conn *conn, enum http_route route,
                        const struct sma_http_request *request, struct sma_str body)
{
    switch (route) {
    case HTTP_ROUTE_WEBHOOK:
        http_webhook_run(conn, request, body);
        return true;
    case HTTP_ROUTE_EXECUTE:
    case HTTP_ROUTE_OPENAI:
        http_execute(conn, request, body);
        return true;
    case HTTP_ROUTE_MCP:
        http_mcp_run(conn, request, body, http_route_run);
        return true;
    default:
        return false;
    }
}

void http_route_run(struct http_conn *conn, const struct sma_http_request *request,
                    struct sma_str body)
{
    struct sma_str value;
    const struct http_route_row *row = find_row(conn->server, request, &value);
    enum http_route route = row == NULL ? HTTP_ROUTE_NONE : row->route;
    if (http_query_is_route(route)) {
        http_query_ask(conn, route, request);
        return;
    }
    if (run_message(conn, route, request, body))
        return;
    switch (route) {
    case HTTP_ROUTE_MODELS:
        http_openai_models(conn, value);
        return;
    case HTTP_ROUTE_RUN:
        http_run_get(conn, request, value);
        return;
    case HTTP_ROUTE_EVENTS:
        if (http_feed_open(conn, request))
            http_run_ask(conn, value);
        return;
    case HTTP_ROUTE_OPENAPI:
        http_respond(conn, 200, HTTP_JSON, (struct sma_str){http_openapi_bytes, http_openapi_len},
                     NULL);
        return;
    case HTTP_ROUTE_FILE:
        http_project_file(conn, value);
        return;
    case HTTP_ROUTE_FILES:
        http_project_files(conn, request->query);
        return;
    case HTTP_ROUTE_OLD_WEBHOOK:
        http_old_webhook(conn, value, body.len);
        return;
    case HTTP_ROUTE_SAY:
        http_say(conn, request, value, body);
        return;
    case HTTP_ROUTE_DELIVERY:
        http_query_one(conn, HTTP_ASK_DELIVERY, value);
        return;
    case HTTP_ROUTE_WEB:
        http_web(conn, request);
        return;
    case HTTP_ROUTE_SIGN_IN:
        http_sign_in(conn, request, body);
        return;
    case HTTP_ROUTE_SIGN_IN_CODES:
        http_sign_in_code(conn, request);
        return;
    case HTTP_ROUTE_SIGN_OUT:
        http_sign_out(conn, request, body);
        return;
    case HTTP_ROUTE_TICKETS:
        http_ticket_give(conn, body);
        return;
    case HTTP_ROUTE_CANCEL:
    case HTTP_ROUTE_DECIDE:
        http_decide(conn, request, body);
        return;
    case HTTP_ROUTE_HEALTH:
        respond_health(conn);
        return;
    case HTTP_ROUTE_LOGS:
        http_respond_logs(conn, request);
        return;
    case HTTP_ROUTE_METRICS:
        respond_metrics(conn);
        return;
    case HTTP_ROUTE_STATIC:
        respond_static(conn, request);
        return;
    case HTTP_ROUTE_PAGE:
        http_page_open(conn, request);
        return;
    default:
        http_respond_not_found(conn, request->path);
    }
}
