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

/* A message that waits behind such a run of its chat. */
static bool is_behind(const struct sma_result *result)
{
    return result->state == SMA_RUN_WAITING && result->pending_json.len > 0;
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
    if (is_behind(result))
        sma_buf_put_text(buf,
                         ",\"message\":\"It waits until the question of this chat is answered; "
                         "see pendingApproval\"");
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
    if (is_parked(result) || is_behind(result)) {
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

/* is_behind: the question that it waits behind is known, and the answer is to be the run's. */
static SMA_CHECKED enum sma_err ask_await(struct sma_http *http, uint64_t seq, bool is_behind)
{
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg =
        sma_msg_make_await(&(struct sma_await){.seq = seq, .ends_at_question = !is_behind});
    if (msg == NULL)
        return SMA_ERR_FULL;
    return http_ask_store(http, HTTP_ASK_AWAIT, NULL, seq, &msg);
}

enum sma_err http_watch_join(struct http_conn *conn, uint64_t seq, bool is_behind)
{
    struct sma_http *http = conn->server;
    uint32_t watch = http_watch_find(http, seq);
    if (watch == HTTP_NONE) {
        if (!http_watch_has_room(http))
            return SMA_ERR_FULL;
        SMA_TRY(ask_await(http, seq, is_behind));
        watch = http_watch_create(http, seq);
        http->watches[watch].is_behind = is_behind;
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
    if (conn->openai != NULL) {
        uint64_t seq = http_openai_follows(conn, result);
        if (seq == 0 || http_watch_join(conn, seq, false) != SMA_ERR_OK)
            http_openai_result(conn, result);
        return;
    }
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
    put_result(&json, result, conn->seq, message_id_of(conn));
    if (json.err != SMA_ERR_OK) {
        http_respond_error(conn, 500, NULL, "The result of run %llu cannot be shown: %s",
                           (unsigned long long)conn->seq, sma_err_text(json.err));
    } else if (conn->state == HTTP_STREAM && conn->is_feed) {
        http_feed_end(conn, result, sma_buf_str(&json));
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
    if (conn->openai != NULL) {
        http_openai_later(conn, why);
        return;
    }
    if (conn->is_feed) { /* it comes again */
        http_conn_finish(conn);
        return;
    }
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

/* 202, or 200 to who asks for the state: others have to speak first, and that may take days. */
static void respond_behind(struct http_conn *conn, struct sma_str json)
{
    char extra[128];
    snprintf(extra, sizeof extra, "Location: /api/runs/%llu\r\n", (unsigned long long)conn->seq);
    http_respond(conn, conn->is_poll ? 200 : 202, HTTP_JSON, json, extra);
}

/* A stream hears what its message waits for, and goes on; whoever waits for an answer gets that. */
static void tell_question(struct sma_http *http, uint32_t watch, const struct sma_result *result)
{
    uint64_t seq = http->watches[watch].seq;
    uint32_t index = http->watches[watch].first_conn;
    while (index != HTTP_NONE) {
        struct http_conn *conn = http->conns[index];
        struct sma_buf json;
        index = conn->watch_next;
        if (conn->openai != NULL) {
            http_openai_behind(conn);
            continue;
        }
        sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
        put_result(&json, result, seq, message_id_of(conn));
        if (json.err != SMA_ERR_OK) {
            http_conn_close(conn); /* no memory */
        } else if (conn->state == HTTP_STREAM) {
            http_put_event(conn, "waiting", sma_buf_str(&json));
            http_conn_flush(conn);
        } else {
            respond_behind(conn, sma_buf_str(&json));
        }
        sma_buf_fini(&json);
    }
    http->watches[watch].is_behind = true;
    if (http->watches[watch].first_conn == HTTP_NONE) {
        http_watch_destroy(http, watch);
        return;
    }
    if (ask_await(http, seq, true) == SMA_ERR_OK)
        return;
    while (http->watches[watch].first_conn != HTTP_NONE) {
        struct http_conn *conn = http->conns[http->watches[watch].first_conn];
        http_watch_leave(conn);
        http_run_later(conn, "Too many callers are waiting");
    }
    http_watch_destroy(http, watch);
}

void http_watch_result(struct sma_http *http, const struct http_pending *pending,
                       struct sma_msg *msg)
{
    const struct sma_result *result = SMA_MSG_BODY(msg, struct sma_result);
    uint32_t watch = http_watch_find(http, pending->seq);
    if (watch == HTTP_NONE)
        return;
    if (is_behind(result) && !http->is_intake_off && !http->is_closing) {
        tell_question(http, watch, result);
        return;
    }
    /* Telling ends each one's wait (http_conn_finish leaves the watch), so the first one is always
     * the next one. */
    while (http->watches[watch].first_conn != HTTP_NONE) {
        struct http_conn *conn = http->conns[http->watches[watch].first_conn];
        http_watch_leave(conn);
        tell_result(conn, result);
    }
    http_watch_destroy(http, watch);
}

/* @return the name of its event */
static const char *put_progress(struct sma_buf *json, const struct sma_progress *progress)
{
    if (progress->kind == SMA_PROGRESS_COMPACTION) {
        sma_buf_put_str(json, progress->text); /* JSON of ours */
        return "compaction";
    }
    if (progress->kind == SMA_PROGRESS_STARTED) {
        sma_buf_put_text(json, "{\"status\":\"running\"}");
        return "progress";
    }
    bool is_tool = progress->kind == SMA_PROGRESS_TOOL;
    sma_buf_put_text(json, is_tool ? "{\"name\":" : "{\"text\":");
    sma_buf_put_json_string(json, progress->text);
    sma_buf_put_char(json, '}');
    return is_tool ? "tool" : "progress";
}

void http_watch_progress(struct sma_http *http, const struct sma_progress *progress)
{
    uint32_t watch = http_watch_find(http, progress->seq);
    if (watch == HTTP_NONE || progress->kind == SMA_PROGRESS_FINISHED)
        return;
    struct sma_buf json;
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
    const char *name = put_progress(&json, progress);
    http->watches[watch].is_behind = false;
    if (json.err == SMA_ERR_OK)
        http_feed_progress(http, watch, progress, name, sma_buf_str(&json));
    uint32_t index = json.err == SMA_ERR_OK ? http->watches[watch].first_conn : HTTP_NONE;
    while (index != HTTP_NONE) {
        struct http_conn *conn = http->conns[index];
        index = conn->watch_next;
        if (conn->openai != NULL) {
            http_openai_progress(conn, progress);
            continue;
        }
        if (conn->guise != NULL) {
            conn->guise->progress(conn, progress);
            continue;
        }
        /* Progress replaces progress: a client that reads too slowly misses some of it, never the
         * result. */
        if (conn->state != HTTP_STREAM || conn->is_feed ||
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
    bool is_bad = false;
    conn->wait_s = wait_of(request, &is_bad);
    if (is_bad)
        http_respond_error(conn, 400, NULL, "wait must be a number of seconds, %d at most",
                           HTTP_POLL_S_MAX);
    else
        http_run_ask(conn, id);
}

void http_run_ask(struct http_conn *conn, struct sma_str id)
{
    int64_t seq = 0;
    if (id.len == 0 || id.ptr[0] < '0' || id.ptr[0] > '9' ||
        sma_parse_i64(id, 1, INT64_MAX, &seq) != SMA_ERR_OK) {
        http_respond_error(conn, 404, NULL, "No such run");
        return;
    }
    conn->seq = (uint64_t)seq;
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = sma_msg_make_await(
        &(struct sma_await){.seq = conn->seq, .is_peek = true, .ends_at_question = true});
    enum sma_err err = msg == NULL
                           ? SMA_ERR_NOMEM
                           : http_ask_store(conn->server, HTTP_ASK_PEEK, conn, conn->seq, &msg);
    if (err != SMA_ERR_OK)
        http_respond_error(conn, 503, "Retry-After: 1\r\n", "The service is busy (%s): ask again",
                           sma_err_text(err));
}

static void peek_feed(struct http_conn *conn, const struct sma_result *result)
{
    struct sma_buf json;
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
    put_result(&json, result, conn->seq, message_id_of(conn));
    if (json.err != SMA_ERR_OK)
        http_respond_error(conn, 500, NULL, "The state of run %llu cannot be shown: %s",
                           (unsigned long long)conn->seq, sma_err_text(json.err));
    else if (!http_feed_peeked(conn, result, sma_buf_str(&json)))
        ; /* it is over */
    else if (http_watch_join(conn, conn->seq, is_behind(result)) == SMA_ERR_OK)
        http_feed_begin(conn, sma_buf_str(&json));
    else
        http_conn_finish(conn); /* too many wait: it comes again */
    sma_buf_fini(&json);
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
    if (conn->is_feed) {
        peek_feed(conn, result);
        return;
    }
    conn->is_poll = true;
    if (is_final(result) || is_parked(result) || is_behind(result) || conn->wait_s == 0 ||
        conn->has_eof || http->is_closing) {
        tell_result(conn, result);
        return;
    }
    conn->state = HTTP_WAIT;
    conn->wait_end_ns = http_now(http) + conn->wait_s * SMA_NS_PER_S;
    http_conn_deadline(conn, conn->wait_end_ns);
    if (http_watch_join(conn, conn->seq, false) != SMA_ERR_OK)
        tell_result(conn, result);
}
