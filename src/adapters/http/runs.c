/* runs.c — waiting for runs and telling their results: the answer to execute, event streams, GET
 * /api/runs/:id. */
#include "http_priv.h"

#include <stdio.h>

static const char *state_name(unsigned state)
{
    static const char *const names[] = {
        [SMA_RUN_UNKNOWN] = "unknown",     [SMA_RUN_WAITING] = "waiting",
        [SMA_RUN_RUNNING] = "running",     [SMA_RUN_PARKED] = "parked",
        [SMA_RUN_DONE] = "done",           [SMA_RUN_FAILED] = "failed",
        [SMA_RUN_CANCELLED] = "cancelled", [SMA_RUN_WAITS_FOR_MODEL] = "waiting_for_model",
    };
    return state < SMA_COUNT_OF(names) ? names[state] : "unknown";
}

static bool is_final(const struct sma_result *result)
{
    return result->state == SMA_RUN_DONE || result->state == SMA_RUN_FAILED ||
           result->state == SMA_RUN_CANCELLED;
}

/* Nothing comes of waiting on: people must speak first. */
static bool is_parked(const struct sma_result *result)
{
    return result->state == SMA_RUN_PARKED;
}

static void put_seq(struct sma_buf *buf, uint64_t seq)
{
    sma_buf_put_json_key(buf, "runId");
    sma_buf_printf(buf, "\"%llu\"", (unsigned long long)seq);
}

/* What the models used for it; nothing where no model was asked. */
static void put_usage(struct sma_buf *buf, const struct sma_usage *usage)
{
    if (usage->request_count == 0)
        return;
    sma_buf_put_json_key(buf, "usage");
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_number(buf, "requests", usage->request_count);
    sma_buf_put_json_number(buf, "input", usage->input);
    sma_buf_put_json_number(buf, "cached", usage->cached);
    sma_buf_put_json_number(buf, "written", usage->written);
    sma_buf_put_json_number(buf, "output", usage->output);
    sma_buf_put_json_number(buf, "reasoning", usage->reasoning);
    sma_buf_put_json_number(buf, "costNano", usage->cost_nano);
    sma_buf_put_char(buf, '}');
}

/* {success, output, toolCalls} as the reference has them, then what is ours. */
static void put_result(struct sma_buf *buf, const struct sma_result *result, uint64_t seq,
                       struct sma_str message_id)
{
    sma_buf_put_char(buf, '{');
    if (is_final(result) || is_parked(result) || result->state == SMA_RUN_UNKNOWN) {
        sma_buf_put_text(buf, result->is_success ? "\"success\":true" : "\"success\":false");
        sma_buf_put_json_key(buf, "output");
        sma_buf_put_json_string(buf, result->output);
        sma_buf_put_json_key(buf, "toolCalls");
        sma_buf_put_str(buf,
                        result->tool_calls_json.len > 0 ? result->tool_calls_json : SMA_STR("[]"));
    }
    sma_buf_put_json_key(buf, "status");
    sma_buf_printf(buf, "\"%s\"", state_name(result->state));
    if (result->state == SMA_RUN_WAITING) {
        sma_buf_put_json_key(buf, "position");
        sma_buf_put_u64(buf, result->position);
    }
    put_seq(buf, seq);
    sma_buf_put_json_key(buf, "messageId");
    sma_buf_put_json_string(buf, result->message_id.len > 0 ? result->message_id : message_id);
    if (result->chat_id.len > 0) {
        sma_buf_put_json_key(buf, "chatId");
        sma_buf_put_json_string(buf, result->chat_id);
    }
    if (is_final(result) && result->duration_ms > 0) {
        sma_buf_put_json_key(buf, "duration");
        sma_buf_put_u64(buf, result->duration_ms);
    }
    if (is_final(result))
        put_usage(buf, &result->usage);
    if (is_parked(result)) {
        sma_buf_put_json_key(buf, "pendingApproval");
        sma_buf_put_str(buf, result->pending_json.len > 0 ? result->pending_json : SMA_STR("null"));
    }
    sma_buf_put_char(buf, '}');
}

static struct sma_str message_id_of(const struct http_conn *conn)
{
    return (struct sma_str){conn->message_id, conn->message_id_len};
}

/* -- waiting ----------------------------------------------------------------------------------- */

bool http_watch_has_room(const struct sma_http *http)
{
    return http->free_watch != HTTP_NONE;
}

enum sma_err http_watch_join(struct http_conn *conn, uint64_t seq)
{
    struct sma_http *http = conn->server;
    uint32_t watch = http_watch_find(http, seq);
    if (watch == HTTP_NONE) {
        SMA_AUTO(sma_msg_destroyp)
        struct sma_msg *msg = sma_msg_make_await(&(struct sma_await){.seq = seq});
        if (msg == NULL || !http_watch_has_room(http))
            return SMA_ERR_FULL;
        SMA_TRY(http_ask_store(http, HTTP_ASK_AWAIT, NULL, seq, &msg));
        watch = http_watch_create(http, seq);
    }
    conn->watch = watch;
    conn->watch_previous = HTTP_NONE;
    conn->watch_next = http->watches[watch].first_conn;
    if (conn->watch_next != HTTP_NONE)
        http->conns[conn->watch_next]->watch_previous = conn->index;
    http->watches[watch].first_conn = conn->index;
    return SMA_ERR_OK;
}

/* -- telling ----------------------------------------------------------------------------------- */

static void end_stream(struct http_conn *conn, struct sma_str json)
{
    http_put_event(conn, "result", json);
    http_conn_finish(conn);
}

static void tell_result(struct http_conn *conn, const struct sma_result *result)
{
    struct sma_buf json;
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
    put_result(&json, result, conn->seq, message_id_of(conn));
    if (json.err != SMA_ERR_OK) {
        http_respond_error(conn, 500, NULL, "The result of run %llu cannot be shown: %s",
                           (unsigned long long)conn->seq, sma_err_text(json.err));
    } else if (conn->state == HTTP_STREAM) {
        end_stream(conn, sma_buf_str(&json));
    } else if (conn->is_poll || is_final(result) || is_parked(result) ||
               result->state == SMA_RUN_UNKNOWN) {
        http_respond(conn, 200, HTTP_JSON, sma_buf_str(&json), NULL);
    } else {
        http_run_later(conn, "The service is stopping; the run will go on after its next start");
    }
    sma_buf_fini(&json);
}

void http_run_later(struct http_conn *conn, const char *why)
{
    char extra[128];
    struct sma_buf json;
    sma_buf_init(&json, 16384);
    sma_buf_put_text(&json, "{\"success\":true,\"status\":\"running\"");
    put_seq(&json, conn->seq);
    if (conn->message_id_len > 0) {
        sma_buf_put_json_key(&json, "messageId");
        sma_buf_put_json_string(&json, message_id_of(conn));
    }
    sma_buf_put_json_key(&json, "location");
    sma_buf_printf(&json, "\"/api/runs/%llu\"", (unsigned long long)conn->seq);
    sma_buf_put_json_key(&json, "message");
    sma_buf_printf(&json, "\"%s. Fetch the result with GET /api/runs/%llu\"}", why,
                   (unsigned long long)conn->seq);
    snprintf(extra, sizeof extra, "Location: /api/runs/%llu\r\n", (unsigned long long)conn->seq);
    if (conn->state == HTTP_STREAM)
        end_stream(conn, sma_buf_str(&json));
    else
        http_respond(conn, conn->is_poll ? 200 : 202, HTTP_JSON, sma_buf_str(&json), extra);
    sma_buf_fini(&json);
}

void http_watch_result(struct sma_http *http, const struct http_pending *pending,
                       struct sma_msg *msg)
{
    const struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
    uint32_t watch = http_watch_find(http, pending->seq);
    if (watch == HTTP_NONE)
        return;
    /* Telling ends each one's wait (http_conn_finish leaves the watch), so the first one is always
     * the next one. */
    while (http->watches[watch].first_conn != HTTP_NONE) {
        struct http_conn *conn = http->conns[http->watches[watch].first_conn];
        http_watch_leave(conn);
        tell_result(conn, result);
    }
    http_watch_destroy(http, watch);
}

void http_watch_progress(struct sma_http *http, const struct sma_progress *progress)
{
    uint32_t watch = http_watch_find(http, progress->seq);
    if (watch == HTTP_NONE || progress->kind == SMA_PROGRESS_FINISHED)
        return;
    struct sma_buf json;
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
    bool is_tool = progress->kind == SMA_PROGRESS_TOOL;
    bool is_compaction = progress->kind == SMA_PROGRESS_COMPACTION;
    const char *name = is_tool ? "tool" : is_compaction ? "compaction" : "progress";
    if (is_compaction) {
        sma_buf_put_str(&json, progress->text); /* JSON of ours */
    } else if (progress->kind == SMA_PROGRESS_STARTED) {
        sma_buf_put_text(&json, "{\"status\":\"running\"}");
    } else {
        sma_buf_put_text(&json, is_tool ? "{\"name\":" : "{\"text\":");
        sma_buf_put_json_string(&json, progress->text);
        sma_buf_put_char(&json, '}');
    }
    uint32_t index = json.err == SMA_ERR_OK ? http->watches[watch].first_conn : HTTP_NONE;
    while (index != HTTP_NONE) {
        struct http_conn *conn = http->conns[index];
        index = conn->watch_next;
        /* Progress replaces progress: a client that reads too slowly misses some of it, never the
         * result. */
        if (conn->state != HTTP_STREAM ||
            conn->out.len + conn->sending.len > HTTP_STREAM_BACKLOG_BYTES)
            continue;
        http_put_event(conn, name, sma_buf_str(&json));
        http_conn_flush(conn);
    }
    sma_buf_fini(&json);
}

/* -- GET /api/runs/:id ------------------------------------------------------------------------- */

static uint32_t wait_of(const struct sma_http_request *request, bool *ret_is_bad)
{
    struct sma_buf text;
    int64_t seconds = 0;
    sma_buf_init(&text, 32);
    enum sma_err err = sma_http_query_get(request->query, SMA_STR("wait"), &text);
    if (err == SMA_ERR_OK)
        err = sma_parse_i64(sma_buf_str(&text), 0, 86400, &seconds);
    sma_buf_fini(&text);
    *ret_is_bad = err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND;
    return (uint32_t)(seconds > HTTP_POLL_S_MAX ? HTTP_POLL_S_MAX : seconds);
}

void http_run_get(struct http_conn *conn, const struct sma_http_request *request, struct sma_str id)
{
    int64_t seq = 0;
    bool is_bad = false;
    conn->wait_s = wait_of(request, &is_bad);
    if (is_bad) {
        http_respond_error(conn, 400, NULL, "wait must be a number of seconds, %d at most",
                           HTTP_POLL_S_MAX);
        return;
    }
    if (id.len == 0 || id.ptr[0] < '0' || id.ptr[0] > '9' ||
        sma_parse_i64(id, 1, INT64_MAX, &seq) != SMA_ERR_OK) {
        http_respond_error(conn, 404, NULL, "No such run");
        return;
    }
    conn->seq = (uint64_t)seq;
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg =
        sma_msg_make_await(&(struct sma_await){.seq = conn->seq, .is_peek = true});
    enum sma_err err = msg == NULL
                           ? SMA_ERR_NOMEM
                           : http_ask_store(conn->server, HTTP_ASK_PEEK, conn, conn->seq, &msg);
    if (err != SMA_ERR_OK)
        http_respond_error(conn, 503, "Retry-After: 1\r\n", "The service is busy (%s): ask again",
                           sma_err_text(err));
}

void http_run_peeked(struct sma_http *http, const struct http_pending *pending, struct sma_msg *msg)
{
    const struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
    struct http_conn *conn = http_conn_find(http, pending->conn, pending->generation);
    if (conn == NULL || conn->state != HTTP_BUSY)
        return;
    if (result->state == SMA_RUN_UNKNOWN) {
        http_respond_error(conn, 404, NULL, "No such run");
        return;
    }
    conn->is_poll = true;
    if (is_final(result) || is_parked(result) || conn->wait_s == 0 || conn->has_eof ||
        http->is_closing) {
        tell_result(conn, result);
        return;
    }
    conn->state = HTTP_WAIT;
    conn->wait_end_ns = http_now(http) + conn->wait_s * SMA_NS_PER_S;
    http_conn_deadline(conn, conn->wait_end_ns);
    if (http_watch_join(conn, conn->seq) != SMA_ERR_OK)
        tell_result(conn, result);
}
