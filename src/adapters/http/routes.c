/* routes.c — which request is what, who may ask, and the answers that need no run. */
#include "http_priv.h"

#include "runtime/files/served.h"
#include "sma/health.h"
#include "sma/labels.h"
#include "sma/metrics.h"

#include <stdio.h>

#define HISTORY_LIMIT_DEFAULT 50
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

static enum http_route find_route(struct sma_http *http, const struct sma_http_request *request)
{
    struct sma_str path = request->path;
    if ((request->method == SMA_HTTP_POST || request->method == SMA_HTTP_GET) &&
        http_webhook_find(http, path) != NULL)
        return HTTP_ROUTE_WEBHOOK;
    if (request->method == SMA_HTTP_POST && http_decide_is_path(path))
        return HTTP_ROUTE_DECIDE;
    if (request->method == SMA_HTTP_POST)
        return sma_str_is_equal(path, SMA_STR("/api/execute")) ? HTTP_ROUTE_EXECUTE
                                                               : HTTP_ROUTE_NONE;
    if (request->method == SMA_HTTP_OTHER)
        return HTTP_ROUTE_NONE;
    if (sma_str_is_equal(path, SMA_STR("/health")))
        return HTTP_ROUTE_HEALTH;
    if (sma_str_is_equal(path, SMA_STR("/api/status")))
        return HTTP_ROUTE_STATUS;
    if (sma_str_is_equal(path, SMA_STR("/metrics")))
        return HTTP_ROUTE_METRICS;
    if (sma_str_is_equal(path, SMA_STR("/api/history")))
        return HTTP_ROUTE_HISTORY;
    if (sma_str_is_equal(path, SMA_STR("/api/approvals")))
        return HTTP_ROUTE_APPROVALS;
    if (sma_str_is_equal(path, SMA_STR("/api/grants")))
        return HTTP_ROUTE_GRANTS;
    if (sma_str_is_equal(path, SMA_STR("/api/pairings")))
        return HTTP_ROUTE_PAIRINGS;
    if (sma_str_is_equal(path, SMA_STR("/api/usage")))
        return HTTP_ROUTE_USAGE;
    if (sma_str_is_equal(path, SMA_STR("/ws")))
        return HTTP_ROUTE_PAGE;
    if (http_is_trace_path(path))
        return HTTP_ROUTE_TRACE;
    if (sma_str_starts_with(path, SMA_STR("/api/runs/")))
        return HTTP_ROUTE_RUN;
    for (size_t i = 0; i < SMA_COUNT_OF(statics); i++)
        if (sma_str_is_equal(path, sma_str(statics[i].path)))
            return HTTP_ROUTE_STATIC;
    return HTTP_ROUTE_NONE;
}

/* A refusal: the connection can stay only when no body follows that nobody would read. */
static bool refuse(struct http_conn *conn, const struct sma_http_request *request, int status,
                   const char *extra, const char *text)
{
    if (request->content_bytes > 0 || request->has_transfer_encoding)
        conn->closes_after = true;
    if (status == 404)
        http_respond_not_found(conn);
    else
        http_respond_error(conn, status, extra, "%s", text);
    return false;
}

static bool admit_body(struct http_conn *conn, const struct sma_http_request *request,
                       size_t bytes_max)
{
    struct sma_http *http = conn->server;
    if (request->has_transfer_encoding)
        return refuse(conn, request, 411, NULL,
                      "Send the body with Content-Length; Transfer-Encoding is not read");
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

/* The files of public/ are public content, and a page must be able to load before anybody can type
 * a token into it. */
static bool is_open_to_all(enum http_route route)
{
    return route == HTTP_ROUTE_HEALTH || route == HTTP_ROUTE_STATIC;
}

bool http_route_admit(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_http *http = conn->server;
    if (!request->has_host)
        return refuse(conn, request, 400, NULL, "The Host header is missing");
    enum http_route route = find_route(http, request);
    if (route ==
        HTTP_ROUTE_WEBHOOK) /* comes from anywhere: its adapter knows a secret of its own */
        return admit_intake(conn, request) && admit_body(conn, request, SMA_HTTP_BODY_BYTES_MAX);
    if (!http_auth_allows_host(&http->auth, request))
        return refuse(conn, request, 403, NULL,
                      "This Host is not served: use localhost, 127.0.0.1 or the configured "
                      "start.host, with the port");
    if (!http_auth_allows_origin(request))
        return refuse(conn, request, 403, NULL,
                      "Requests from pages of another origin are not served");
    bool has_token = http_auth_has_token(&http->auth, request);
    conn->is_known |= has_token;
    if (!is_open_to_all(route) && !has_token)
        return refuse(conn, request, 401, "WWW-Authenticate: Bearer\r\n", NO_TOKEN);
    if (route == HTTP_ROUTE_NONE)
        return refuse(conn, request, 404, NULL, "");
    if (route == HTTP_ROUTE_EXECUTE) {
        conn->wants_stream = sma_http_list_has(request->accept, SMA_STR("text/event-stream"));
        conn->wants_async = sma_http_list_has(request->prefer, SMA_STR("respond-async"));
        if (!admit_intake(conn, request))
            return false;
        if (!conn->wants_async && !http_watch_has_room(http))
            return refuse(
                conn, request, 503, "Retry-After: 1\r\n",
                "Too many callers are waiting for results: use Prefer: respond-async or try again");
    }
    if (route == HTTP_ROUTE_DECIDE && !admit_intake(conn, request))
        return false;
    return admit_body(conn, request,
                      route == HTTP_ROUTE_EXECUTE ? SMA_HTTP_EXECUTE_BYTES_MAX
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
    sma_buf_put_text(&body, sma_gauge_get(SMA_GAUGE_sandbox_on) != 0 ? ",\"sandbox\":\"on\"}"
                                                                     : ",\"sandbox\":\"off\"}");
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

static void respond_static(struct http_conn *conn, struct sma_str path)
{
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
    else if (which == 0)
        http_respond(conn, 200, "text/plain; charset=utf-8", SMA_STR("ShipMyAgent Agent Server"),
                     NULL);
    else
        http_respond(conn, 404, "text/plain; charset=utf-8", SMA_STR("Not Found"), NULL);
    sma_buf_fini(&body);
}

/* -- answers by the store ---------------------------------------------------------------------- */

static enum sma_query_kind query_of(enum http_ask ask)
{
    switch (ask) {
    case HTTP_ASK_HISTORY:
        return SMA_QUERY_HISTORY;
    case HTTP_ASK_APPROVALS:
        return SMA_QUERY_APPROVALS;
    case HTTP_ASK_GRANTS:
        return SMA_QUERY_GRANTS;
    case HTTP_ASK_PAIRINGS:
        return SMA_QUERY_PAIRINGS;
    case HTTP_ASK_USAGE:
        return SMA_QUERY_USAGE;
    case HTTP_ASK_TRACE:
        return SMA_QUERY_TRACE;
    default:
        return SMA_QUERY_STATUS;
    }
}

static void ask_query(struct http_conn *conn, enum http_ask ask, uint32_t limit,
                      struct sma_str chat_key)
{
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = sma_msg_make_query(
        &(struct sma_query){.kind = (uint8_t)query_of(ask), .limit = limit, .chat_key = chat_key});
    enum sma_err err =
        msg == NULL ? SMA_ERR_NOMEM : http_ask_store(conn->server, ask, conn, 0, &msg);
    if (err != SMA_ERR_OK)
        http_respond_error(conn, 503, "Retry-After: 1\r\n", "The service is busy (%s): ask again",
                           sma_err_text(err));
}

static bool is_chat_key(const struct sma_buf *key)
{
    return key->len > 0 && sma_utf8_is_valid(sma_buf_str(key)) &&
           memchr(key->ptr, '\0', key->len) == NULL;
}

static void ask_history(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf key, limit;
    int64_t count = HISTORY_LIMIT_DEFAULT;
    sma_buf_init(&key, SMA_CHAT_KEY_BYTES_MAX);
    sma_buf_init(&limit, 32);
    enum sma_err key_err = sma_http_query_get(request->query, SMA_STR("chatKey"), &key);
    enum sma_err limit_err = sma_http_query_get(request->query, SMA_STR("limit"), &limit);
    if (limit_err == SMA_ERR_OK)
        limit_err = sma_parse_i64(sma_buf_str(&limit), 1, SMA_HISTORY_LOAD_COUNT_MAX, &count);
    if (key_err != SMA_ERR_OK || !is_chat_key(&key))
        http_respond_error(
            conn, 400, NULL,
            "chatKey is missing or malformed, for example ?chatKey=api:chat:default");
    else if (limit_err != SMA_ERR_OK && limit_err != SMA_ERR_NOTFOUND)
        http_respond_error(conn, 400, NULL, "limit must be a number from 1 to %d",
                           SMA_HISTORY_LOAD_COUNT_MAX);
    else
        ask_query(conn, HTTP_ASK_HISTORY, (uint32_t)count, sma_buf_str(&key));
    sma_buf_fini(&key);
    sma_buf_fini(&limit);
}

/* Of all chats, or of one: ?chatKey= */
static void ask_approvals(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf key;
    sma_buf_init(&key, SMA_CHAT_KEY_BYTES_MAX);
    enum sma_err err = sma_http_query_get(request->query, SMA_STR("chatKey"), &key);
    if (err == SMA_ERR_NOTFOUND)
        ask_query(conn, HTTP_ASK_APPROVALS, 0, SMA_STR(""));
    else if (err == SMA_ERR_OK && is_chat_key(&key))
        ask_query(conn, HTTP_ASK_APPROVALS, 0, sma_buf_str(&key));
    else
        http_respond_error(conn, 400, NULL,
                           "chatKey is malformed, for example ?chatKey=api:chat:default");
    sma_buf_fini(&key);
}

/* ?days=30&chatKey= */
static void ask_usage(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf key, days;
    int64_t count = 0;
    sma_buf_init(&key, SMA_CHAT_KEY_BYTES_MAX);
    sma_buf_init(&days, 32);
    enum sma_err key_err = sma_http_query_get(request->query, SMA_STR("chatKey"), &key);
    enum sma_err days_err = sma_http_query_get(request->query, SMA_STR("days"), &days);
    if (days_err == SMA_ERR_OK)
        days_err = sma_parse_i64(sma_buf_str(&days), 1, SMA_USAGE_DAYS, &count);
    if (key_err != SMA_ERR_NOTFOUND && (key_err != SMA_ERR_OK || !is_chat_key(&key)))
        http_respond_error(conn, 400, NULL,
                           "chatKey is malformed, for example ?chatKey=api:chat:default");
    else if (days_err != SMA_ERR_OK && days_err != SMA_ERR_NOTFOUND)
        http_respond_error(conn, 400, NULL, "days must be a number from 1 to %d", SMA_USAGE_DAYS);
    else
        ask_query(conn, HTTP_ASK_USAGE, (uint32_t)count, sma_buf_str(&key));
    sma_buf_fini(&key);
    sma_buf_fini(&days);
}

static void ask_trace(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf asked;
    sma_buf_init(&asked, SMA_ID_BYTES_MAX + 2);
    if (http_trace_asked(request, &asked))
        ask_query(conn, HTTP_ASK_TRACE, 0, sma_buf_str(&asked));
    else
        http_respond_error(conn, 404, NULL, "No such run");
    sma_buf_fini(&asked);
}

static void respond_status(struct http_conn *conn, struct sma_str store_json)
{
    struct sma_buf body;
    sma_buf_init(&body, HTTP_RESPONSE_BYTES_MAX / 2);
    http_put_status(conn->server, &body, store_json);
    http_respond(conn, 200, HTTP_JSON, sma_buf_str(&body), NULL);
    sma_buf_fini(&body);
}

void http_route_query_result(struct sma_http *http, const struct http_pending *pending,
                             struct sma_msg *msg)
{
    const struct sma_query_result *result = SMA_MSG_BODY(msg, struct sma_query_result);
    if (pending->kind == HTTP_ASK_PAGES) {
        http_pages_tell(http, result->json);
        return;
    }
    struct http_conn *conn = http_conn_find(http, pending->conn, pending->generation);
    if (conn == NULL || conn->state != HTTP_BUSY)
        return;
    if (pending->kind == HTTP_ASK_STATUS)
        respond_status(conn, result->json);
    else if (pending->kind == HTTP_ASK_TRACE)
        http_respond_trace(conn, result->json);
    else
        http_respond(conn, 200, HTTP_JSON,
                     result->json.len > 0                ? result->json
                     : pending->kind == HTTP_ASK_HISTORY ? SMA_STR("[]")
                                                         : SMA_STR("{}"),
                     NULL);
}

void http_route_run(struct http_conn *conn, const struct sma_http_request *request,
                    struct sma_str body)
{
    switch (find_route(conn->server, request)) {
    case HTTP_ROUTE_WEBHOOK:
        http_webhook_run(conn, request, body);
        return;
    case HTTP_ROUTE_EXECUTE:
        http_execute(conn, body);
        return;
    case HTTP_ROUTE_RUN:
        http_run_get(conn, request);
        return;
    case HTTP_ROUTE_HEALTH:
        respond_health(conn);
        return;
    case HTTP_ROUTE_STATUS:
        ask_query(conn, HTTP_ASK_STATUS, 0, SMA_STR(""));
        return;
    case HTTP_ROUTE_METRICS:
        respond_metrics(conn);
        return;
    case HTTP_ROUTE_HISTORY:
        ask_history(conn, request);
        return;
    case HTTP_ROUTE_STATIC:
        respond_static(conn, request->path);
        return;
    case HTTP_ROUTE_APPROVALS:
        ask_approvals(conn, request);
        return;
    case HTTP_ROUTE_GRANTS:
        ask_query(conn, HTTP_ASK_GRANTS, 0, SMA_STR(""));
        return;
    case HTTP_ROUTE_PAIRINGS:
        ask_query(conn, HTTP_ASK_PAIRINGS, 0, SMA_STR(""));
        return;
    case HTTP_ROUTE_DECIDE:
        http_decide(conn, request, body);
        return;
    case HTTP_ROUTE_USAGE:
        ask_usage(conn, request);
        return;
    case HTTP_ROUTE_TRACE:
        ask_trace(conn, request);
        return;
    case HTTP_ROUTE_PAGE:
        http_page_open(conn, request);
        return;
    case HTTP_ROUTE_NONE:
        break;
    }
    http_respond_not_found(conn);
}
