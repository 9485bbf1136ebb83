/*
 * http.c — the HTTP adapter as an actor: options, life cycle, the store's answers to their owners.
 * See http_priv.h.
 */
#include "http_priv.h"

#include "runtime/secrets/secrets.h"

#include "runtime/json/json_arena.h"

#include <jansson.h>
#include <stdlib.h>

#define HTTP_MAGIC 0x68747470u

/* -- options ----------------------------------------------------------------------------------- */

static enum sma_err read_number(const json_t *root, const char *name, json_int_t low,
                                json_int_t high, json_int_t *number, struct sma_error *error)
{
    const json_t *value = json_object_get(root, name);
    if (value == NULL)
        return SMA_ERR_OK;
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "ship.json: adapters.http.%s must be a whole number from %lld to %lld",
                        name, (long long)low, (long long)high);
    *number = json_integer_value(value);
    return SMA_ERR_OK;
}

/* adapters.http may lower three limits: requestDeadlineMs, webhookDeadlineMs and connections. */
static enum sma_err read_options(struct sma_http *http, const struct sma_config_adapter *block,
                                 struct sma_error *error)
{
    json_int_t deadline_ms = SMA_HTTP_REQUEST_DEADLINE_S * 1000, webhook_ms = HTTP_WEBHOOK_S * 1000,
               connections = SMA_HTTP_CONNECTION_COUNT_MAX;
    if (block != NULL && block->json != NULL && block->json[0] != '\0') {
        json_t *root = json_loads(block->json, 0, NULL);
        enum sma_err err =
            json_is_object(root)
                ? SMA_ERR_OK
                : sma_fail(error, SMA_ERR_BADINPUT, "ship.json: adapters.http must be an object");
        if (err == SMA_ERR_OK)
            err = read_number(root, "requestDeadlineMs", 10, SMA_HTTP_REQUEST_DEADLINE_S * 1000,
                              &deadline_ms, error);
        if (err == SMA_ERR_OK)
            err = read_number(root, "webhookDeadlineMs", 10, HTTP_WEBHOOK_S * 1000, &webhook_ms,
                              error);
        if (err == SMA_ERR_OK)
            err = read_number(root, "connections", 1, SMA_HTTP_CONNECTION_COUNT_MAX, &connections,
                              error);
        json_decref(root);
        if (err != SMA_ERR_OK)
            return err;
    }
    http->request_deadline_ns = (uint64_t)deadline_ms * 1000000;
    http->webhook_deadline_ns = (uint64_t)webhook_ms * 1000000;
    http->connection_count_max = (uint32_t)connections;
    return SMA_ERR_OK;
}

static void http_destroy(void *state)
{
    struct sma_http *http = state;
    if (http == NULL)
        return;
    SMA_ASSERT(http->magic == HTTP_MAGIC);
    for (uint32_t i = 0; i < http->conn_count; i++)
        free(http->conns[i]);
    free(http->conns);
    sma_secrets_destroy(http->secrets);
    free(http->talks);
    http_tables_destroy(http);
    sma_buf_fini(&http->scratch);
    sma_buf_fini(&http->scratch_headers);
    explicit_bzero(&http->auth, sizeof http->auth);
    http->magic = 0;
    free(http);
}

static enum sma_err http_create(const struct sma_config *config,
                                const struct sma_config_adapter *block, void **ret_state,
                                struct sma_error *error)
{
    struct sma_http *http = calloc(1, sizeof *http);
    if (http == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory for the HTTP adapter");
    http->magic = HTTP_MAGIC;
    http->config = config;
    http->free_conn = HTTP_NONE;
    http->wake_ns = UINT64_MAX;
    http->random_used = sizeof http->random;
    sma_buf_init(&http->scratch, 16384);
    sma_buf_init(&http->scratch_headers, 4096);
    sma_json_arena_install();
    enum sma_err err = read_options(http, block, error);
    if (err == SMA_ERR_OK) {
        http->conns = calloc(HTTP_SLOT_COUNT(http->connection_count_max), sizeof *http->conns);
        err = http->conns == NULL ? SMA_ERR_NOMEM : http_tables_create(http);
        if (err != SMA_ERR_OK)
            err = sma_fail(error, err, "out of memory for the HTTP adapter");
    }
    if (err != SMA_ERR_OK) {
        http_destroy(http);
        return err;
    }
    *ret_state = http;
    return SMA_ERR_OK;
}

void sma_http_set_metrics_source(void *state, void (*format)(void *user, struct sma_buf *buf),
                                 void *user)
{
    struct sma_http *http = state;
    SMA_ASSERT(http->magic == HTTP_MAGIC);
    http->format_metrics = format;
    http->metrics_user = user;
}

enum sma_err sma_http_add_webhook(void *state, const char *name, enum sma_actor_id actor)
{
    struct sma_http *http = state;
    SMA_ASSERT(http->magic == HTTP_MAGIC);
    if (http->webhook_count == SMA_ADAPTER_COUNT_MAX)
        return SMA_ERR_FULL;
    http->webhooks[http->webhook_count++] = (struct http_webhook){.name = name, .actor = actor};
    return SMA_ERR_OK;
}

int sma_http_port(const void *state)
{
    return atomic_load(&((const struct sma_http *)state)->port);
}

/* -- life -------------------------------------------------------------------------------------- */

/* A full disk keeps nobody out: who knows the port is served, and the file follows when there is
 * room. */
static enum sma_err write_service_file(struct sma_http *http, struct sma_error *error)
{
    struct sma_error reason = {0};
    enum sma_err err = http_service_file_write(http, &reason);
    if (err != SMA_ERR_NOSPACE) {
        *error = err == SMA_ERR_OK ? *error : reason;
        return err;
    }
    sma_ctx_log(http->ctx, SMA_LOG_WARN,
                "%s/service.json is not written: %s; `shipmyagent status` finds the service when "
                "there is room on the disk",
                http->config->state_dir, reason.text);
    http_service_file_later(http);
    return SMA_ERR_OK;
}

static enum sma_err http_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_http *http = state;
    SMA_ASSERT(http->magic == HTTP_MAGIC);
    http->ctx = ctx;
    http->sys = sma_ctx_sys(ctx);
    http->loop = sma_ctx_loop(ctx);
    if (http->loop == NULL)
        return sma_fail(error, SMA_ERR_UNSUPPORTED, "the HTTP adapter needs an event loop");
    enum sma_err err = http_server_listen(http, error);
    if (err == SMA_ERR_OK)
        err = http_auth_load(http, error);
    if (err == SMA_ERR_OK)
        http_sessions_load(http);
    if (err == SMA_ERR_OK)
        err = write_service_file(http, error);
    if (err != SMA_ERR_OK) {
        http_server_stop_listening(http);
        return err;
    }
    const char *host = http->config->start_host;
    sma_ctx_log(ctx, SMA_LOG_INFO, "HTTP listens on %s:%d; the API token is in %s/api-token", host,
                atomic_load(&http->port), http->config->state_dir);
    if (!http->is_loopback)
        sma_ctx_log(ctx, SMA_LOG_WARN,
                    "HTTP is reachable from other machines (start.host is %s), without encryption: "
                    "put a TLS proxy in front of it",
                    host);
    return SMA_ERR_OK;
}

/* Whoever still waits is told where the result will be; what can be written at once is written, the
 * rest is cut. */
static void close_all(struct sma_http *http)
{
    http->is_closing = true;
    http_server_stop_listening(http);
    http_pages_leave(http);
    for (uint32_t i = 0; i < http->conn_count; i++) {
        struct http_conn *conn = http->conns[i];
        if (conn->state == HTTP_FREE)
            continue;
        conn->closes_after = true;
        if (conn->state == HTTP_WAIT || conn->state == HTTP_STREAM)
            http_run_later(conn, "The service is stopping; the run goes on after its next start");
        else if (conn->state == HTTP_BUSY)
            http_reject(conn, 503, "Retry-After: 5\r\n",
                        "The service is stopping: send it again later");
        else if (conn->state == HTTP_HEAD && conn->in.len == 0)
            http_conn_close(conn);
    }
    http_service_file_remove(http);
}

static void on_life(struct sma_http *http, const struct sma_life *life)
{
    if (life->phase == SMA_PHASE_INTAKE_OFF)
        http->is_intake_off = true;
    else if (life->phase == SMA_PHASE_CLOSE && !http->is_closing)
        close_all(http);
    else if (life->phase == SMA_PHASE_DRAIN)
        sma_ctx_life_done(http->ctx, SMA_PHASE_DRAIN);
    http_report_when_done(http);
}

static void on_reload(struct sma_http *http, const struct sma_reload *reload)
{
    struct sma_error error = {0};
    const struct sma_config *before = http->config;
    http->config = reload->config;
    if (http_auth_load(http, &error) != SMA_ERR_OK) { /* the old token stays in force */
        http->config = before;
        sma_ctx_log(http->ctx, SMA_LOG_ERROR, "HTTP keeps its settings: %s", error.text);
    }
    if (http->secrets != NULL &&
        sma_secrets_add_config(http->secrets, reload->config) != SMA_ERR_OK)
        sma_ctx_log(http->ctx, SMA_LOG_WARN,
                    "a secret more than can be kept: `status` may show it");
}

static void on_answer(struct sma_http *http, struct sma_msg *msg)
{
    struct http_pending pending;
    if (http_pending_take(http, msg->ask_id, &pending) != SMA_ERR_OK)
        return;
    switch (pending.kind) {
    case HTTP_ASK_INGRESS:
        http_execute_accepted(http, &pending, msg);
        break;
    case HTTP_ASK_AWAIT:
        http_watch_result(http, &pending, msg);
        break;
    case HTTP_ASK_PEEK:
        http_run_peeked(http, &pending, msg);
        break;
    case HTTP_ASK_STATUS:
    case HTTP_ASK_HISTORY:
    case HTTP_ASK_APPROVALS:
    case HTTP_ASK_GRANTS:
    case HTTP_ASK_PAIRINGS:
    case HTTP_ASK_USAGE:
    case HTTP_ASK_TRACE:
    case HTTP_ASK_PAGES:
    case HTTP_ASK_RUNS:
    case HTTP_ASK_CHATS:
    case HTTP_ASK_DELIVERY:
        http_query_result(http, &pending, msg);
        break;
    case HTTP_ASK_WEBHOOK:
        http_webhook_answered(http, &pending, msg);
        break;
    case HTTP_ASK_SAY:
        http_said(http, &pending, msg);
        break;
    case HTTP_ASK_DECIDE:
        http_decided(http, &pending, msg);
        break;
    }
    http_report_when_done(http);
}

/* Nothing is ever attempted here; a question that comes all the same is answered, as every question
 * must be. */
static void refuse_attempt(struct sma_http *http, const struct sma_msg *msg)
{
    const struct sma_attempt *attempt = SMA_MSG_BODY((struct sma_msg *)msg, struct sma_attempt);
    struct sma_msg *answer = sma_msg_make_attempt_result(&(struct sma_attempt_result){
        .outbox_id = attempt->outbox_id,
        .part = attempt->part,
        .attempt_class = SMA_ATTEMPT_GIVE_UP,
        .error = SMA_STR("HTTP answers are stored results, they are not sent")});
    if (answer == NULL)
        sma_ctx_fatal(http->ctx, "out of memory for an answer");
    sma_ctx_answer(http->ctx, msg, &answer);
}

static void http_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_http *http = state;
    (void)ctx;
    switch ((*msg)->kind) {
    case SMA_MSG_LIFE:
        on_life(http, SMA_MSG_BODY(*msg, struct sma_life));
        break;
    case SMA_MSG_RELOAD:
        on_reload(http, SMA_MSG_BODY(*msg, struct sma_reload));
        break;
    case SMA_MSG_ACCEPTED:
    case SMA_MSG_RESULT:
    case SMA_MSG_QUERY_RESULT:
    case SMA_MSG_DECIDED:
    case SMA_MSG_WEBHOOK_ANSWER:
        on_answer(http, *msg);
        break;
    case SMA_MSG_PROGRESS:
        http_watch_progress(http, SMA_MSG_BODY(*msg, struct sma_progress));
        break;
    case SMA_MSG_ATTEMPT:
        refuse_attempt(http, *msg);
        break;
    default:
        break;
    }
}

static void http_wake(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    http_server_tick(state);
}

static void http_stop(void *state, struct sma_ctx *ctx)
{
    struct sma_http *http = state;
    (void)ctx;
    if (http->loop == NULL)
        return;
    http_server_stop_listening(http);
    http_pages_stop(http);
    for (uint32_t i = 0; i < http->conn_count; i++)
        http_conn_close(http->conns[i]);
    http_service_file_remove(http);
    /* The kernel turns the loop until the handles have closed. */
}

/* -- the adapter ------------------------------------------------------------------------------- */

static enum sma_err http_render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    each(user, row->text);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops actor_ops = {
    .name = "http",
    .is_on_loop = true,
    .start = http_start,
    .handle = http_handle,
    .wake = http_wake,
    .stop = http_stop,
};

static const struct sma_params params = {.name = "http", .shared = &sma_block_params};

const struct sma_adapter_ops sma_http_adapter_ops = {
    .name = "http",
    .params = &params,
    .channel = "api",
    .actor = &actor_ops,
    .capabilities = {.is_stored_delivery = true},
    .renderer_version = 1,
    .create = http_create,
    .destroy = http_destroy,
    .render = http_render,
};
