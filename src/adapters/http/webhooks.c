/*
 * webhooks.c — requests of platforms to /webhooks/<name>: passed on to the adapter of that name as
 * they came, and its answer back to whoever still waits. Whether a request is genuine is the
 * adapter's to find out.
 */
#include "http_priv.h"

#include <stdio.h>

#define WEBHOOK_PREFIX "/webhooks/"

struct http_webhook *http_webhook_find(struct sma_http *http, struct sma_str path)
{
    size_t prefix_len = sizeof WEBHOOK_PREFIX - 1;
    if (http->webhook_count == 0 || !sma_str_starts_with(path, SMA_STR(WEBHOOK_PREFIX)))
        return NULL;
    struct sma_str name = {path.ptr + prefix_len, path.len - prefix_len};
    for (size_t i = 0; i < http->webhook_count; i++)
        if (sma_str_is_equal(name, sma_str(http->webhooks[i].name)))
            return &http->webhooks[i];
    return NULL;
}

static struct sma_msg *make_question(const struct http_conn *conn,
                                     const struct sma_http_request *request, struct sma_str body)
{
    return sma_msg_make_webhook(&(struct sma_webhook){
        .path = request->path,
        .query = request->query,
        .headers = request->headers,
        .body = body,
        .read_ns = conn->read_ns,
        .is_get = request->method == SMA_HTTP_GET,
    });
}

void http_webhook_run(struct http_conn *conn, const struct sma_http_request *request,
                      struct sma_str body)
{
    struct http_webhook *webhook = http_webhook_find(conn->server, request->path);
    SMA_ASSERT(webhook != NULL);
    enum sma_err err = SMA_ERR_FULL;
    SMA_AUTO(sma_msg_destroyp) struct sma_msg *msg = NULL;
    if (webhook->open_bytes + body.len <= HTTP_WEBHOOK_BYTES_MAX) {
        msg = make_question(conn, request, body);
        err = msg == NULL ? SMA_ERR_NOMEM : http_ask_adapter(conn, webhook, body.len, &msg);
    }
    if (err != SMA_ERR_OK)
        http_respond_error(conn, 503, "Retry-After: 1\r\n",
                           "The event is not taken (%s): send it again", sma_err_text(err));
}

void http_webhook_late(struct http_conn *conn)
{
    conn->webhook_ask_id = 0; /* an answer that comes now is not of the next request */
    http_respond_error(conn, 503, "Retry-After: 5\r\n",
                       "The event could not be handled within %u ms: send it again",
                       (unsigned)(conn->server->webhook_deadline_ns / 1000000));
}

static void forget_bytes(struct sma_http *http, const struct http_pending *pending)
{
    for (size_t i = 0; i < http->webhook_count; i++)
        if (http->webhooks[i].actor == pending->to) {
            SMA_ASSERT(http->webhooks[i].open_bytes >= pending->seq);
            http->webhooks[i].open_bytes -= pending->seq;
            return;
        }
}

void http_webhook_answered(struct sma_http *http, const struct http_pending *pending,
                           struct sma_msg *msg)
{
    const struct sma_webhook_answer *answer = SMA_MSG_BODY(msg, struct sma_webhook_answer);
    struct http_conn *conn = http_conn_find(http, pending->conn, pending->generation);
    forget_bytes(http, pending);
    if (conn == NULL || conn->state != HTTP_BUSY || conn->webhook_ask_id != pending->ask_id)
        return; /* the client has left, or was told that it took too long */
    conn->webhook_ask_id = 0;
    char extra[48] = "";
    if (answer->retry_after_s > 0)
        (void)snprintf(extra, sizeof extra, "Retry-After: %u\r\n", answer->retry_after_s);
    int status = answer->status < 200 || answer->status > 599 ? 500 : answer->status;
    http_respond(conn, status, HTTP_JSON, answer->body.ptr == NULL ? SMA_STR("") : answer->body,
                 extra);
}
