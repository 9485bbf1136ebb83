/*
 * server.c — connections arrive, their requests one after the other, and what is done at their
 * deadlines. Reading and writing is conn.c.
 *
 * Why not libwebsockets for this: docs/adr/0005-http.md.
 */
#include "http_priv.h"

#include <stdlib.h>

/* -- requests ---------------------------------------------------------------------------------- */

static void refuse_head(struct http_conn *conn, int status)
{
    if (status == 431)
        http_reject(conn, 431, NULL, "Request head is over the limit of %d bytes",
                    SMA_HTTP_HEADER_BYTES_MAX);
    else if (status == 505)
        http_reject(conn, 505, NULL, "Only HTTP/1.0 and HTTP/1.1 are spoken here");
    else
        http_reject(conn, 400, NULL, "Malformed HTTP request");
}

/* A body that grows has the time of its size, and the room that there is. */
static void check_growth(struct http_conn *conn)
{
    struct sma_http *http = conn->server;
    uint64_t large = conn->chunks.body_bytes / SMA_HTTP_BODY_BYTES_MAX;
    size_t room = HTTP_BUFFERED_BYTES_MAX + (large > 0 ? 0 : HTTP_SMALLER_BYTES_MAX);
    if (large > 0)
        http_conn_deadline(conn, conn->read_ns + http->request_deadline_ns * (1 + large));
    if (http->buffered_bytes > room)
        http_reject(conn, 503, "Retry-After: 1\r\n",
                    "Too many large requests at once: send it again");
}

/* Undo the chunks that have come; what is decoded stands behind the head. @return the body is
 * whole, and request->content_bytes its length */
static bool read_chunks(struct http_conn *conn, struct sma_http_request *request)
{
    size_t at = request->head_bytes + (size_t)conn->chunks.body_bytes;
    struct sma_http_chunk_bytes bytes = {.ptr = conn->in.ptr + at, .len = conn->in.len - at};
    enum sma_err err = sma_http_chunks_read(&conn->chunks, conn->body_bytes_max, &bytes);
    if (err == SMA_ERR_TOOBIG) {
        http_reject(conn, 413, NULL, "The body is over the limit of %zu bytes",
                    conn->body_bytes_max);
        return false;
    }
    if (err == SMA_ERR_BADINPUT) {
        http_reject(conn, 400, NULL, "Malformed chunks in the body");
        return false;
    }
    size_t rest = bytes.len - bytes.used; /* what follows the body */
    memmove(bytes.ptr + bytes.made, bytes.ptr + bytes.used, rest);
    conn->in.len = at + bytes.made + rest;
    request->content_bytes = conn->chunks.body_bytes;
    if (err != SMA_ERR_OK)
        check_growth(conn);
    return err == SMA_ERR_OK;
}

/* One step: read the head, or carry out a whole request. @return there may be more to do. */
static bool advance_once(struct http_conn *conn)
{
    struct sma_http_request request;
    int status = 400;
    if (conn->state == HTTP_HEAD && conn->scanned == 0) {
        size_t blank = sma_http_skip_blank(sma_buf_str(&conn->in));
        if (blank > 0)
            http_conn_consume(conn, blank);
    }
    if (conn->in.len == 0)
        return false;
    enum sma_err err = sma_http_request_parse(sma_buf_str(&conn->in), conn->scanned,
                                              SMA_HTTP_HEADER_BYTES_MAX, &request, &status);
    if (err == SMA_ERR_EMPTY) {
        conn->scanned = conn->in.len;
        return false;
    }
    if (conn->state == HTTP_HEAD) {
        SMA_METRIC_ADD(http_requests_total, 1);
        conn->is_head_only = false;
        conn->origin_len = 0;
        if (err != SMA_ERR_OK) {
            refuse_head(conn, status);
            return false;
        }
        conn->closes_after = !request.is_keep_alive;
        conn->is_head_only = request.method == SMA_HTTP_HEAD;
        if (!http_route_admit(conn, &request)) {
            if (conn->state != HTTP_DONE)
                return false;
            http_conn_consume(
                conn,
                request.head_bytes); /* refused for good only when there is no body to throw away */
            return true;
        }
        conn->scanned =
            request.head_bytes - 1; /* its end is found again at once when the body has come */
        conn->state = HTTP_BODY;
        conn->chunks = (struct sma_http_chunks){0};
        if (request.expects_continue &&
            (request.is_chunked ? conn->in.len == request.head_bytes
                                : conn->in.len < request.head_bytes + request.content_bytes)) {
            sma_buf_put_text(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
            http_conn_flush(conn);
        }
    }
    if (request.is_chunked && !read_chunks(conn, &request))
        return false;
    size_t whole = request.head_bytes + (size_t)request.content_bytes;
    if (conn->in.len < whole)
        return false;
    conn->state = HTTP_BUSY;
    http_conn_deadline(conn, UINT64_MAX);
    http_route_run(
        conn, &request,
        (struct sma_str){conn->in.ptr + request.head_bytes, (size_t)request.content_bytes});
    if (conn->state == HTTP_CLOSING || conn->state == HTTP_LINGER)
        return false;
    http_conn_consume(conn, whole);
    return conn->state == HTTP_DONE;
}

static void begin_request(struct http_conn *conn)
{
    conn->state = HTTP_HEAD;
    conn->message_id_len = 0;
    conn->is_feed = conn->is_poll = false;
    conn->read_ns = http_now(conn->server);
    http_conn_deadline(conn,
                       conn->read_ns + (conn->in.len > 0 ? conn->server->request_deadline_ns
                                                         : SMA_HTTP_KEEPALIVE_S * SMA_NS_PER_S));
    http_conn_start_reading(conn);
}

/* Requests of one connection one after the other, without recursion however many were pipelined. */
static void conn_advance(struct http_conn *conn)
{
    if (conn->is_advancing)
        return;
    conn->is_advancing = true;
    while (conn->state == HTTP_HEAD || conn->state == HTTP_BODY) {
        bool goes_on = advance_once(conn);
        if (conn->state == HTTP_DONE && !conn->is_writing)
            begin_request(conn);
        else if (!goes_on)
            break;
    }
    conn->is_advancing = false;
    if (conn->has_eof && (conn->state == HTTP_HEAD || conn->state == HTTP_BODY))
        http_conn_close(conn); /* the rest of this request will never come */
}

/* The answer to the last one is written. */
static void next_request(struct http_conn *conn)
{
    begin_request(conn);
    if (conn->in.len > 0)
        conn_advance(conn);
}

/* -- deadlines --------------------------------------------------------------------------------- */

static void pass_deadline(struct http_conn *conn)
{
    conn->deadline_ns = UINT64_MAX;
    if (conn->is_writing || conn->state == HTTP_LINGER) {
        http_conn_close(conn);
        return;
    }
    switch (conn->state) {
    case HTTP_HEAD:
        if (conn->in.len == 0) { /* idle keep-alive, or connected and silent */
            http_conn_close(conn);
            return;
        }
        /* fall through */
    case HTTP_BODY:
        conn->is_head_only = false;
        http_reject(conn, 408, NULL, "The request was not complete after %u ms",
                    (unsigned)(conn->server->request_deadline_ns / 1000000));
        return;
    case HTTP_WAIT:
        if (conn->has_eof && http_now(conn->server) < conn->wait_end_ns) {
            http_conn_close(conn);
            return;
        }
        http_run_later(conn, "The run is still going on");
        return;
    case HTTP_BUSY:
        if (conn->webhook_ask_id != 0) /* the store needs no deadline: it answers */
            http_webhook_late(conn);
        return;
    case HTTP_STREAM:
        if (http_now(conn->server) >= conn->wait_end_ns) {
            http_run_later(conn, "The run is still going on");
            return;
        }
        sma_buf_put_text(&conn->out, ": beat\n\n");
        http_conn_flush(conn);
        if (conn->state == HTTP_STREAM && !conn->is_writing)
            http_conn_deadline_in(conn, HTTP_STREAM_BEAT_S * SMA_NS_PER_S);
        return;
    default:
        return;
    }
}

void http_server_tick(struct sma_http *http)
{
    uint64_t now = http_now(http), next = UINT64_MAX;
    http->wake_ns = UINT64_MAX;
    http_service_file_retry(http, now);
    for (uint32_t i = 0; i < http->conn_count; i++) {
        struct http_conn *conn = http->conns[i];
        if (conn->state != HTTP_FREE && conn->deadline_ns <= now)
            pass_deadline(conn);
    }
    for (uint32_t i = 0; i < http->conn_count; i++)
        if (http->conns[i]->state != HTTP_FREE && http->conns[i]->deadline_ns < next)
            next = http->conns[i]->deadline_ns;
    if (http->service_file_ns != 0 && http->service_file_ns < next)
        next = http->service_file_ns;
    http->wake_ns = next;
    sma_ctx_wake_at(http->ctx, next);
}

/* -- connections arrive ------------------------------------------------------------------------ */

static void place_free(struct sma_http *http)
{
    if (http->is_accept_waiting && http->is_listening) {
        http->is_accept_waiting = false;
        http_on_connection((uv_stream_t *)&http->listener, 0);
    }
}

static const struct http_conn_ops conn_ops = {
    .advance = conn_advance, .next_request = next_request, .place_free = place_free};

static struct http_conn *take_conn(struct sma_http *http)
{
    struct http_conn *conn;
    if (http->free_conn != HTTP_NONE) {
        conn = http->conns[http->free_conn];
        http->free_conn = conn->next_free;
    } else {
        if (http->conn_count == HTTP_SLOT_COUNT(http->connection_count_max))
            return NULL;
        conn = calloc(1, sizeof *conn);
        if (conn == NULL)
            return NULL;
        conn->index = http->conn_count;
        http->conns[http->conn_count++] = conn;
    }
    uint32_t index = conn->index, generation = conn->generation;
    *conn = (struct http_conn){.server = http,
                               .ops = &conn_ops,
                               .index = index,
                               .generation = generation + 1,
                               .number = ++http->arrived_count,
                               .watch = HTTP_NONE,
                               .watch_next = HTTP_NONE,
                               .watch_previous = HTTP_NONE,
                               .deadline_ns = UINT64_MAX,
                               .state = HTTP_HEAD};
    sma_buf_init(&conn->in,
                 SMA_HTTP_HEADER_BYTES_MAX + SMA_HTTP_EXECUTE_BYTES_MAX + HTTP_BODY_READ_BYTES);
    sma_buf_init(&conn->out, HTTP_RESPONSE_BYTES_MAX);
    sma_buf_init(&conn->sending, HTTP_RESPONSE_BYTES_MAX);
    return conn;
}

static void on_refused_closed(uv_handle_t *handle)
{
    free(handle);
}

/* No slot even to say so: take the connection off the queue and close it. */
static void drop_connection(uv_stream_t *listener, struct sma_http *http)
{
    uv_tcp_t *tcp = malloc(sizeof *tcp);
    if (tcp == NULL)
        return;
    SMA_METRIC_ADD(http_rejected_total, 1);
    if (uv_tcp_init(http->loop, tcp) != 0) {
        free(tcp);
        return;
    }
    (void)uv_accept(listener, (uv_stream_t *)tcp);
    uv_close((uv_handle_t *)tcp, on_refused_closed);
}

void http_on_connection(uv_stream_t *listener, int status)
{
    struct sma_http *http = listener->data;
    if (status < 0)
        return; /* for instance no descriptor left: libuv tries again */
    bool is_refusal = http->open_count >= http->connection_count_max && !http_room_make(http);
    bool is_too_many = is_refusal && http->refusal_count >= HTTP_REFUSAL_COUNT_MAX;
    struct http_conn *conn = is_too_many ? NULL : take_conn(http);
    if (conn == NULL && !is_too_many && http->closing_count > 0) {
        http->is_accept_waiting = true; /* the queue of the system holds the others */
        return;
    }
    if (conn == NULL) {
        drop_connection(listener, http);
        return;
    }
    if (uv_tcp_init(http->loop, &conn->tcp) != 0) {
        conn->state = HTTP_FREE;
        conn->next_free = http->free_conn;
        http->free_conn = conn->index;
        return;
    }
    conn->tcp.data = conn;
    conn->is_refusal = is_refusal;
    if (is_refusal) {
        http->refusal_count++;
    } else {
        http->open_count++;
        sma_gauge_add(SMA_GAUGE_http_connections, 1);
    }
    if (uv_accept(listener, (uv_stream_t *)&conn->tcp) != 0) {
        http_conn_close(conn);
        return;
    }
    (void)uv_tcp_nodelay(&conn->tcp, 1);
    struct sockaddr_storage peer = {0};
    int peer_bytes = sizeof peer;
    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&peer, &peer_bytes) == 0)
        conn->address = http_room_address(&peer);
    if (is_refusal) {
        http_reject(conn, 503, "Retry-After: 1\r\n", "Too many connections: the limit is %u",
                    http->connection_count_max);
        return;
    }
    http_conn_deadline_in(conn, http->request_deadline_ns);
    http_conn_start_reading(conn);
}
