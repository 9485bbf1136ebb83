/* logs.c — GET /api/logs: the newest lines of the log, as they stand in its file. */
#include "http_priv.h"

#include "sma/log_ring.h"

void http_respond_logs(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_buf text, body;
    int64_t count = SMA_LOG_RING_LINE_COUNT;
    sma_buf_init(&text, 32);
    enum sma_err err = sma_http_query_get(request->query, SMA_STR("limit"), &text);
    if (err == SMA_ERR_OK)
        err = sma_parse_i64(sma_buf_str(&text), 1, SMA_LOG_RING_LINE_COUNT, &count);
    sma_buf_fini(&text);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND) {
        http_respond_error(conn, 400, NULL, "limit must be a number from 1 to %d",
                           SMA_LOG_RING_LINE_COUNT);
        return;
    }
    sma_buf_init(&body, 2 * SMA_LOG_RING_BYTES);
    sma_buf_put_text(&body, "{\"logs\":[");
    sma_log_ring_format(&body, (size_t)count);
    sma_buf_put_text(&body, "]}");
    if (body.err == SMA_ERR_OK)
        http_respond(conn, 200, HTTP_JSON, sma_buf_str(&body), NULL);
    else
        http_respond_error(conn, 503, "Retry-After: 1\r\n", "The service is busy (%s): ask again",
                           sma_err_text(body.err));
    sma_buf_fini(&body);
}
