/*
 * mcp.c — POST /mcp: the Model Context Protocol over streamable HTTP.
 *
 * A tool call becomes the request to this API that runtime/mcp_serve makes of it and is carried out
 * like any other; what it answers is put into the tool's result on its way out (struct http_guise).
 * So a tool can do what a request with this token can do, and nothing else. There are no sessions:
 * GET and DELETE are not served, and no client notices a restart.
 */
#include "http_priv.h"

#include "runtime/mcp_serve/serve.h"

#include <stdio.h>
#include <stdlib.h>

struct http_mcp
{
    struct sma_mcp_serve_step step;
    uint64_t told_count; /* of progress */
};

static void drop(struct http_conn *conn)
{
    sma_mcp_serve_end(&conn->mcp->step);
    free(conn->mcp);
    conn->mcp = NULL;
    conn->guise = NULL;
}

/* -- answers ----------------------------------------------------------------------------------- */
static void put_message(struct http_conn *conn, const struct sma_buf *json)
{
    sma_buf_put_text(&conn->out, "event: message\ndata: ");
    sma_buf_put_str(&conn->out, sma_buf_str(json));
    sma_buf_put_text(&conn->out, "\n\n");
}

static void tell(struct http_conn *conn, struct sma_str message)
{
    struct sma_buf json;
    sma_buf_init(&json, 16384);
    sma_mcp_serve_put_progress(&json, &conn->mcp->step, ++conn->mcp->told_count, message);
    if (json.err == SMA_ERR_OK)
        put_message(conn, &json);
    sma_buf_fini(&json);
}

static void respond(struct http_conn *conn, int status, struct sma_str body)
{
    struct sma_buf json;
    sma_buf_init(&json, SMA_MCP_SERVE_ANSWER_BYTES_MAX);
    sma_mcp_serve_put_result(&json, &conn->mcp->step, status, body);
    if (json.err == SMA_ERR_TOOBIG) { /* the API's answer fits, the same as a string does not */
        sma_buf_clear(&json);
        sma_mcp_serve_put_error(&json, conn->mcp->step.id, SMA_MCP_INTERNAL_ERROR,
                                "The result is too long to be told");
    }
    drop(conn); /* from here on an answer is this request's own */
    if (json.err != SMA_ERR_OK)
        http_conn_close(conn); /* no memory */
    else
        http_respond(conn, 200, HTTP_JSON, sma_buf_str(&json), NULL);
    sma_buf_fini(&json);
}

static void put_event(struct http_conn *conn, const char *name, struct sma_str json)
{
    if (strcmp(name, "waiting") == 0)
        tell(conn, SMA_STR("It waits until the question of this chat is answered"));
    if (strcmp(name, "result") != 0)
        return;
    struct sma_buf result;
    sma_buf_init(&result, SMA_MCP_SERVE_ANSWER_BYTES_MAX);
    sma_mcp_serve_put_result(&result, &conn->mcp->step, 200, json);
    if (result.err != SMA_ERR_OK) {
        sma_buf_clear(&result);
        sma_mcp_serve_put_error(&result, conn->mcp->step.id, SMA_MCP_INTERNAL_ERROR,
                                "The result is too long to be told");
    }
    put_message(conn, &result);
    sma_buf_fini(&result);
}

static void put_progress(struct http_conn *conn, const struct sma_progress *progress)
{
    char line[SMA_MCP_SERVE_PROGRESS_BYTES_MAX];
    if (conn->state != HTTP_STREAM || conn->out.len + conn->sending.len > HTTP_STREAM_BACKLOG_BYTES)
        return;
    if (progress->kind == SMA_PROGRESS_TEXT) {
        tell(conn, progress->text);
    } else if (progress->kind == SMA_PROGRESS_TOOL) {
        (void)snprintf(line, sizeof line, "Tool: %.*s", (int)sma_utf8_cut(progress->text, 100),
                       progress->text.ptr);
        tell(conn, sma_str(line));
    } else if (progress->kind == SMA_PROGRESS_STARTED) {
        tell(conn, SMA_STR("The agent has begun"));
    } else {
        return;
    }
    http_conn_flush(conn);
}

static const struct http_guise guise = {respond, put_event, put_progress, drop};

/* -- requests ---------------------------------------------------------------------------------- */
/* The value of the first header of this name. */
static bool find_header(struct sma_str headers, struct sma_str name, struct sma_str *ret_value)
{
    while (headers.len > 0) {
        const char *end = memchr(headers.ptr, '\n', headers.len);
        size_t len = end == NULL ? headers.len : (size_t)(end - headers.ptr) + 1;
        struct sma_str line = {headers.ptr, len};
        headers = (struct sma_str){headers.ptr + len, headers.len - len};
        if (line.len <= name.len || line.ptr[name.len] != ':' ||
            !sma_str_is_equal_nocase((struct sma_str){line.ptr, name.len}, name))
            continue;
        *ret_value =
            sma_str_trim((struct sma_str){line.ptr + name.len + 1, line.len - name.len - 1});
        return true;
    }
    return false;
}

static void call(struct http_conn *conn, const struct sma_http_request *request, http_run_fn *run)
{
    const struct sma_mcp_serve_step *step = &conn->mcp->step;
    const struct sma_http_request inner = {
        .method = step->is_post ? SMA_HTTP_POST : SMA_HTTP_GET,
        .path = sma_buf_str(&step->path),
        .query = step->query.len == 0 ? SMA_STR("") : sma_buf_str(&step->query),
        .host = request->host,
        .has_host = true,
    };
    conn->wants_async = false;
    conn->wants_stream = step->is_ask && step->has_progress_token &&
                         sma_http_list_has(request->accept, SMA_STR("text/event-stream"));
    if (step->is_post && conn->server->is_intake_off)
        http_respond_error(conn, 503, NULL, "The service is stopping: ask again later");
    else if (step->is_ask && !http_watch_has_room(conn->server))
        http_respond_error(conn, 503, NULL, "Too many callers wait for answers: ask again later");
    else
        run(conn, &inner, step->body.len == 0 ? SMA_STR("") : sma_buf_str(&step->body));
}

void http_mcp_run(struct http_conn *conn, const struct sma_http_request *request,
                  struct sma_str body, http_run_fn *run)
{
    struct sma_mcp_serve_headers headers = {.has_version = false};
    struct http_mcp *mcp = malloc(sizeof *mcp);
    if (mcp == NULL) {
        http_conn_close(conn);
        return;
    }
    mcp->told_count = 0;
    headers.has_version =
        find_header(request->headers, SMA_STR("mcp-protocol-version"), &headers.version);
    headers.has_method = find_header(request->headers, SMA_STR("mcp-method"), &headers.method);
    headers.has_name = find_header(request->headers, SMA_STR("mcp-name"), &headers.name);
    sma_mcp_serve_begin(&mcp->step);
    enum sma_err err = sma_mcp_serve_read(body, &headers, &mcp->step);
    if (err == SMA_ERR_OK && mcp->step.kind == SMA_MCP_SERVE_CALL) {
        conn->mcp = mcp;
        conn->guise = &guise;
        call(conn, request, run);
        return;
    }
    if (err != SMA_ERR_OK)
        http_conn_close(conn);
    else if (mcp->step.kind == SMA_MCP_SERVE_ANSWER)
        http_respond(conn, mcp->step.http_status, HTTP_JSON, sma_buf_str(&mcp->step.answer), NULL);
    else
        http_respond(conn, 202, HTTP_JSON, SMA_STR(""), NULL);
    sma_mcp_serve_end(&mcp->step);
    free(mcp);
}
