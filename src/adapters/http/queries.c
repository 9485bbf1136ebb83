/* queries.c — GET requests that the store answers: what is asked, and the answer. */
#include "http_priv.h"

#define HISTORY_LIMIT_DEFAULT 50
#define RUNS_LIMIT_DEFAULT 50
#define RUNS_LIMIT_MAX 200
#define CHATS_LIMIT_DEFAULT 100
#define CHATS_LIMIT_MAX 1000

enum key_rule
{
    KEY_NONE,
    KEY_MAY, /* ?chatKey= of one chat, without it all */
    KEY_MUST,
};
struct query_row
{
    enum http_route route;
    enum http_ask ask;
    enum sma_query_kind kind;
    enum key_rule key;
    const char *number; /* the parameter that says how many; NULL: none */
    int64_t number_max;
    uint32_t number_default;
    bool has_before, has_status;
};
static const struct query_row query_rows[] = {
    {HTTP_ROUTE_STATUS, HTTP_ASK_STATUS, SMA_QUERY_STATUS, .key = KEY_NONE},
    {HTTP_ROUTE_HISTORY, HTTP_ASK_HISTORY, SMA_QUERY_HISTORY, KEY_MUST, "limit",
     SMA_HISTORY_LOAD_COUNT_MAX, HISTORY_LIMIT_DEFAULT, .has_before = false},
    {HTTP_ROUTE_APPROVALS, HTTP_ASK_APPROVALS, SMA_QUERY_APPROVALS, .key = KEY_MAY},
    {HTTP_ROUTE_GRANTS, HTTP_ASK_GRANTS, SMA_QUERY_GRANTS, .key = KEY_NONE},
    {HTTP_ROUTE_PAIRINGS, HTTP_ASK_PAIRINGS, SMA_QUERY_PAIRINGS, .key = KEY_NONE},
    {HTTP_ROUTE_USAGE, HTTP_ASK_USAGE, SMA_QUERY_USAGE, KEY_MAY, "days", SMA_USAGE_DAYS, 0,
     .has_before = false},
    {HTTP_ROUTE_RUNS, HTTP_ASK_RUNS, SMA_QUERY_RUNS, KEY_MAY, "limit", RUNS_LIMIT_MAX,
     RUNS_LIMIT_DEFAULT, .has_before = true, .has_status = true},
    {HTTP_ROUTE_CHATS, HTTP_ASK_CHATS, SMA_QUERY_CHATS, KEY_NONE, "limit", CHATS_LIMIT_MAX,
     CHATS_LIMIT_DEFAULT, .has_before = true},
};

static const struct query_row *row_of(enum http_route route)
{
    for (size_t i = 0; i < SMA_COUNT_OF(query_rows); i++)
        if (query_rows[i].route == route)
            return &query_rows[i];
    return NULL;
}

bool http_query_is_route(enum http_route route)
{
    return route == HTTP_ROUTE_TRACE || row_of(route) != NULL;
}

/* -- what is asked ----------------------------------------------------------------------------- */
static void send_query(struct http_conn *conn, enum http_ask ask, const struct sma_query *query)
{
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = sma_msg_make_query(query);
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

/* A parameter that may be missing: *value is left as it is then. */
static bool read_number(struct sma_str query, const char *name, int64_t max, int64_t *value)
{
    struct sma_buf text;
    sma_buf_init(&text, 32);
    enum sma_err err = sma_http_query_get(query, sma_str(name), &text);
    if (err == SMA_ERR_OK)
        err = sma_parse_i64(sma_buf_str(&text), 1, max, value);
    sma_buf_fini(&text);
    return err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND;
}

static bool read_filter(struct sma_str query, uint8_t *ret_filter)
{
    static const char *const names[] = {
        [SMA_RUNS_ALL] = "all",
        [SMA_RUNS_OPEN] = "open",
        [SMA_RUNS_WAITING] = "waiting",
        [SMA_RUNS_PARKED] = "parked",
        [SMA_RUNS_FAILED] = "failed",
        [SMA_RUNS_DONE] = "done",
        [SMA_RUNS_CANCELLED] = "cancelled",
    };
    struct sma_buf text;
    *ret_filter = SMA_RUNS_ALL;
    sma_buf_init(&text, 32);
    enum sma_err err = sma_http_query_get(query, SMA_STR("status"), &text);
    bool is_right = err == SMA_ERR_NOTFOUND;
    for (size_t i = 0; err == SMA_ERR_OK && i < SMA_COUNT_OF(names); i++)
        if (sma_str_is_equal(sma_buf_str(&text), sma_str(names[i]))) {
            *ret_filter = (uint8_t)i;
            is_right = true;
        }
    sma_buf_fini(&text);
    return is_right;
}

/* What is wrong with ?chatKey=, or NULL. */
static const char *read_key(const struct query_row *row, struct sma_str query, struct sma_buf *key)
{
    enum sma_err err = row->key == KEY_NONE ? SMA_ERR_NOTFOUND
                                            : sma_http_query_get(query, SMA_STR("chatKey"), key);
    if (err == SMA_ERR_NOTFOUND && row->key != KEY_MUST)
        return NULL;
    if (err == SMA_ERR_OK && is_chat_key(key))
        return NULL;
    return row->key == KEY_MUST
               ? "chatKey is missing or malformed, for example ?chatKey=api:chat:default"
               : "chatKey is malformed, for example ?chatKey=api:chat:default";
}

static void ask_row(struct http_conn *conn, const struct query_row *row, struct sma_str query)
{
    struct sma_query asked = {.kind = (uint8_t)row->kind};
    struct sma_buf key;
    int64_t count = row->number_default, before = 0;
    sma_buf_init(&key, SMA_CHAT_KEY_BYTES_MAX);
    const char *wrong = read_key(row, query, &key);
    if (wrong != NULL)
        http_respond_error(conn, 400, NULL, "%s", wrong);
    else if (row->number != NULL && !read_number(query, row->number, row->number_max, &count))
        http_respond_error(conn, 400, NULL, "%s must be a number from 1 to %lld", row->number,
                           (long long)row->number_max);
    else if (row->has_before && !read_number(query, "before", INT64_MAX, &before))
        http_respond_error(conn, 400, NULL, "before must be what \"next\" of the page before was");
    else if (row->has_status && !read_filter(query, &asked.filter))
        http_respond_error(conn, 400, NULL,
                           "status must be all, open, waiting, parked, done, failed or cancelled");
    else {
        asked.limit = (uint32_t)count;
        asked.before = (uint64_t)before;
        asked.chat_key = sma_buf_str(&key);
        send_query(conn, row->ask, &asked);
    }
    sma_buf_fini(&key);
}

static void ask_trace(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf asked;
    sma_buf_init(&asked, SMA_ID_BYTES_MAX + 2);
    if (http_trace_asked(request, &asked))
        send_query(conn, HTTP_ASK_TRACE,
                   &(struct sma_query){.kind = SMA_QUERY_TRACE, .chat_key = sma_buf_str(&asked)});
    else
        http_respond_error(conn, 404, NULL, "No such run");
    sma_buf_fini(&asked);
}

void http_query_ask(struct http_conn *conn, enum http_route route,
                    const struct sma_http_request *request)
{
    if (route == HTTP_ROUTE_TRACE)
        ask_trace(conn, request);
    else
        ask_row(conn, row_of(route), request->query);
}

void http_query_one(struct http_conn *conn, enum http_ask ask, struct sma_str id)
{
    send_query(conn, ask, &(struct sma_query){.kind = SMA_QUERY_DELIVERY, .chat_key = id});
}

/* -- the answer -------------------------------------------------------------------------------- */
static void respond_status(struct http_conn *conn, struct sma_str store_json)
{
    struct sma_buf body;
    sma_buf_init(&body, HTTP_RESPONSE_BYTES_MAX / 2);
    http_put_status(conn->server, &body, store_json);
    http_respond(conn, 200, HTTP_JSON, sma_buf_str(&body), NULL);
    sma_buf_fini(&body);
}

void http_query_result(struct sma_http *http, const struct http_pending *pending,
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
    else if (pending->kind == HTTP_ASK_DELIVERY && result->json.len <= 2)
        http_respond_error(conn, 404, NULL, "No such delivery");
    else if (pending->kind == HTTP_ASK_RUNS || pending->kind == HTTP_ASK_DELIVERY)
        http_respond_clean(conn, result->json);
    else
        http_respond(conn, 200, HTTP_JSON,
                     result->json.len > 0                ? result->json
                     : pending->kind == HTTP_ASK_HISTORY ? SMA_STR("[]")
                                                         : SMA_STR("{}"),
                     NULL);
}
