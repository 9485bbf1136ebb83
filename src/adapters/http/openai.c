/*
 * openai.c — answers of the OpenAI-compatible API: whole, as a stream, refused.
 *
 * What a stream has told cannot be taken back, and the agent may say one thing, work, and then say
 * another: each such piece follows the one before after an empty line. At the end comes what of the
 * answer is not told yet.
 *
 * These libraries repeat what failed by themselves. An answer that would be the same, or would run
 * the message a second time, says that they must not (x-should-retry).
 */
#include "openai.h"

#include <stdio.h>

#define NO_RETRY "x-should-retry: false\r\n"
#define BEHIND                                                                              \
    "This message waits: first somebody has to answer the question that this conversation " \
    "has asked. Answer it with the next message, or with shipmyagent approvals."

/* -- a stream's text --------------------------------------------------------------------------- */
static struct sma_str told_of(const struct http_openai *openai, size_t from)
{
    struct sma_str all = sma_buf_str(&openai->told);
    return (struct sma_str){all.ptr + from, all.len - from};
}

static void tell(struct http_conn *conn, struct sma_str text)
{
    struct http_openai *openai = conn->openai;
    if (text.len == 0)
        return;
    http_openai_put_delta(&conn->out, openai, conn->seq, text);
    sma_buf_put_str(&openai->told, text);
}

/* Another piece begins. */
static void tell_apart(struct http_conn *conn, struct sma_str text)
{
    struct http_openai *openai = conn->openai;
    struct sma_buf piece;
    sma_buf_init(&piece, HTTP_RESPONSE_BYTES_MAX);
    sma_buf_put_text(&piece, openai->told.len > 0 ? "\n\n" : "");
    size_t gap = piece.len;
    sma_buf_put_str(&piece, text);
    openai->from = openai->told.len + gap;
    if (piece.err == SMA_ERR_OK)
        tell(conn, sma_buf_str(&piece));
    sma_buf_fini(&piece);
}

static bool begins_with(struct sma_str text, struct sma_str begin)
{
    return text.len >= begin.len && (begin.len == 0 || memcmp(text.ptr, begin.ptr, begin.len) == 0);
}

static bool ends_with(struct sma_str text, struct sma_str end)
{
    return text.len >= end.len &&
           (end.len == 0 || memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0);
}

/* The text of now: what was added to it, or a new piece. A model that is asked again begins anew
 * with the same words: they are waited out. */
static void tell_progress(struct http_conn *conn, struct sma_str text)
{
    struct sma_str told = told_of(conn->openai, conn->openai->from);
    while (text.len > 0 && (text.ptr[0] == '\n' || text.ptr[0] == ' ')) {
        text.ptr++;
        text.len--;
    }
    if (!sma_utf8_is_valid(text) || begins_with(told, text))
        return;
    if (begins_with(text, told))
        tell(conn, (struct sma_str){text.ptr + told.len, text.len - told.len});
    else
        tell_apart(conn, text);
}

/* What of the answer the client has not heard. */
static void tell_rest(struct http_conn *conn, struct sma_str output)
{
    struct sma_str all = told_of(conn->openai, 0),
                   piece = told_of(conn->openai, conn->openai->from);
    struct sma_str answer = sma_str_trim(output);
    if (ends_with(sma_str_trim(all), answer))
        return;
    if (begins_with(answer, all))
        tell(conn, (struct sma_str){answer.ptr + all.len, answer.len - all.len});
    else if (begins_with(answer, piece))
        tell(conn, (struct sma_str){answer.ptr + piece.len, answer.len - piece.len});
    else
        tell_apart(conn, answer);
}

void http_openai_stream(struct http_conn *conn, uint64_t seq)
{
    http_put_stream_head(conn);
    http_openai_put_begin(&conn->out, conn->openai, seq);
    conn->state = HTTP_STREAM;
    http_conn_flush(conn);
}

void http_openai_progress(struct http_conn *conn, const struct sma_progress *progress)
{
    if (conn->state != HTTP_STREAM || progress->kind != SMA_PROGRESS_TEXT ||
        conn->out.len + conn->sending.len > HTTP_STREAM_BACKLOG_BYTES)
        return;
    tell_progress(conn, progress->text);
    if (conn->out.len > 0)
        http_conn_flush(conn);
}

/* -- the end ----------------------------------------------------------------------------------- */
/* The conversation goes on from these words, in this chat. */
static void remember(struct http_conn *conn, struct sma_str answer, uint64_t parked_seq)
{
    struct http_openai *openai = conn->openai;
    struct http_openai_key name = {{0}};
    http_openai_key_add(&name, 'n', sma_str(openai->chat_id));
    if (!openai->is_named)
        http_openai_key_add(&openai->key, 'a', answer);
    struct http_openai_talk *talk =
        http_openai_talk_put(conn->server, openai->is_named ? &name : &openai->key);
    if (talk == NULL)
        return; /* no memory: it is told the words again */
    talk->system = openai->system;
    talk->parked_seq = parked_seq;
    talk->next_id = 0;
    if (!openai->is_named)
        (void)snprintf(talk->chat_id, sizeof talk->chat_id, "%s", openai->chat_id);
}

static void respond_whole(struct http_conn *conn, const struct http_openai_end *end)
{
    struct sma_buf json;
    char extra[64];
    sma_buf_init(&json, HTTP_RESPONSE_BYTES_MAX);
    (void)snprintf(extra, sizeof extra, "X-Run-Id: %llu\r\n", (unsigned long long)conn->seq);
    http_openai_put_whole(&json, conn->openai, end);
    if (json.err == SMA_ERR_OK)
        http_respond(conn, 200, HTTP_JSON, sma_buf_str(&json), extra);
    else
        http_conn_close(conn); /* no memory */
    sma_buf_fini(&json);
}

/* status: of the answer that says so. */
static void fail(struct http_conn *conn, int status, struct sma_str why)
{
    const struct http_openai_end end = {.seq = conn->seq, .text = why, .status = "failed"};
    if (conn->state == HTTP_STREAM) {
        http_openai_put_failure(&conn->out, conn->openai, &end);
        http_conn_finish(conn);
    } else if (conn->openai->is_responses && status == 500) {
        respond_whole(conn, &end);
    } else {
        http_respond_error(conn, status, NO_RETRY, "%.*s", (int)sma_utf8_cut(why, 900), why.ptr);
    }
}

static void answer(struct http_conn *conn, struct http_openai_end *end, uint64_t parked_seq)
{
    if (conn->state != HTTP_STREAM) {
        remember(conn, end->text, parked_seq);
        respond_whole(conn, end);
        return;
    }
    tell_rest(conn, end->text);
    end->text = told_of(conn->openai, 0);
    remember(conn, end->text, parked_seq);
    http_openai_put_end(&conn->out, conn->openai, end);
    http_conn_finish(conn);
}

uint64_t http_openai_follows(struct http_conn *conn, const struct sma_result *result)
{
    uint64_t seq = conn->openai == NULL ? 0 : conn->openai->parked_seq;
    if (seq == 0 || result->state != SMA_RUN_DONE || result->usage.request_count > 0)
        return 0; /* the model has answered: it was something else */
    conn->openai->parked_seq = 0;
    return seq;
}

static void end_as(struct http_conn *conn, const struct sma_result *result, struct sma_str text)
{
    struct http_openai_end end = {
        .seq = conn->seq, .text = text, .usage = &result->usage, .status = "completed"};
    switch (result->state) {
    case SMA_RUN_DONE:
        answer(conn, &end, 0);
        return;
    case SMA_RUN_PARKED:
        answer(conn, &end, result->seq);
        return;
    case SMA_RUN_CANCELLED:
        if (end.text.len == 0)
            end.text = SMA_STR("Stopped.");
        answer(conn, &end, 0);
        return;
    case SMA_RUN_FAILED:
        fail(conn, 500, end.text.len > 0 ? end.text : SMA_STR("The run failed"));
        return;
    default:
        fail(conn, 503,
             SMA_STR("The service is stopping; the run will go on after its next start, see GET "
                     "/api/runs/:id"));
    }
}

void http_openai_result(struct http_conn *conn, const struct sma_result *result)
{
    struct sma_buf text;
    sma_buf_init(&text, HTTP_RESPONSE_BYTES_MAX);
    http_openai_put_answer(&text, result);
    if (text.err == SMA_ERR_OK)
        end_as(conn, result, text.len > 0 ? sma_buf_str(&text) : SMA_STR(""));
    else
        http_conn_close(conn); /* no memory */
    sma_buf_fini(&text);
}

void http_openai_behind(struct http_conn *conn)
{
    struct http_openai_end end = {.seq = conn->seq, .text = SMA_STR(BEHIND), .status = "completed"};
    answer(conn, &end, conn->openai->parked_seq);
}

void http_openai_later(struct http_conn *conn, const char *why)
{
    char text[300];
    (void)snprintf(text, sizeof text,
                   "%s. Do not send it again: fetch the result with GET /api/runs/%llu", why,
                   (unsigned long long)conn->seq);
    fail(conn, 504, sma_str(text));
}

/* -- refused ----------------------------------------------------------------------------------- */
void http_openai_refused(struct http_conn *conn, int status, struct sma_str why, const char *extra)
{
    struct sma_buf json, headers;
    sma_buf_init(&json, 65536);
    sma_buf_init(&headers, 512);
    sma_buf_put_text(&headers, extra == NULL ? "" : extra);
    sma_buf_put_text(&headers, status == 503 ? "" : NO_RETRY);
    sma_buf_put_char(&headers, '\0');
    http_openai_put_error(&json, conn, status, why);
    if (json.err == SMA_ERR_OK && headers.err == SMA_ERR_OK)
        http_respond(conn, status, HTTP_JSON, sma_buf_str(&json), headers.ptr);
    else
        http_conn_close(conn);
    sma_buf_fini(&json);
    sma_buf_fini(&headers);
}

/* -- GET /v1/models ---------------------------------------------------------------------------- */
static void put_model(struct sma_buf *json, struct sma_str id)
{
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "id", id);
    sma_buf_put_text(json, ",\"object\":\"model\",\"created\":0,\"owned_by\":\"shipmyagent\"}");
}

void http_openai_models(struct http_conn *conn, struct sma_str id)
{
    struct sma_str name = sma_str(conn->server->config->name);
    struct sma_buf json, asked;
    sma_buf_init(&json, 4096);
    sma_buf_init(&asked, 1024);
    enum sma_err err = sma_http_path_get(id, &asked);
    if (id.len == 0) {
        sma_buf_put_text(&json, "{\"object\":\"list\",\"data\":[");
        put_model(&json, name);
        sma_buf_put_text(&json, "]}");
    } else if (err == SMA_ERR_OK && sma_str_is_equal(sma_buf_str(&asked), name)) {
        put_model(&json, name);
    }
    if (json.len > 0 && json.err == SMA_ERR_OK)
        http_respond(conn, 200, HTTP_JSON, sma_buf_str(&json), NULL);
    else
        http_respond_error(conn, 404, NULL, "There is one model here, the agent itself");
    sma_buf_fini(&json);
    sma_buf_fini(&asked);
}
