/* conn.c — one connection: deadline, reading, writing, closing. What the bytes mean: server.c. */
#include "http_priv.h"

#include <sys/socket.h>

uint64_t http_now(const struct sma_http *http)
{
    return http->sys->now_ns(http->sys->self);
}

struct http_conn *http_conn_find(struct sma_http *http, uint32_t index, uint32_t generation)
{
    if (index >= http->conn_count)
        return NULL;
    struct http_conn *conn = http->conns[index];
    return conn->generation == generation && conn->state != HTTP_FREE && conn->state != HTTP_CLOSING
               ? conn
               : NULL;
}

void http_conn_deadline(struct http_conn *conn, uint64_t deadline_ns)
{
    conn->deadline_ns = deadline_ns;
    if (deadline_ns < conn->server->wake_ns) {
        conn->server->wake_ns = deadline_ns;
        sma_ctx_wake_at(conn->server->ctx, deadline_ns);
    }
}

void http_conn_deadline_in(struct http_conn *conn, uint64_t ns)
{
    http_conn_deadline(conn, http_now(conn->server) + ns);
}

/* What this connection holds of the common budget for request bytes. */
static void count_bytes(struct http_conn *conn)
{
    size_t held = conn->in.cap > HTTP_KEPT_BUFFER_BYTES ? conn->in.cap : 0;
    conn->server->buffered_bytes += held - conn->counted_bytes;
    conn->counted_bytes = held;
}

/* -- closing ----------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct http_conn *conn = handle->data;
    struct sma_http *http = conn->server;
    sma_buf_fini(&conn->in);
    count_bytes(conn);
    sma_buf_fini(&conn->out);
    sma_buf_fini(&conn->sending);
    conn->state = HTTP_FREE;
    conn->next_free = http->free_conn;
    http->free_conn = conn->index;
    http->closing_count--;
    conn->ops->place_free(http);
}

static void drop_guise(struct http_conn *conn)
{
    if (conn->guise != NULL)
        conn->guise->drop(conn);
}

void http_conn_close(struct http_conn *conn)
{
    if (conn->state == HTTP_CLOSING || conn->state == HTTP_FREE)
        return;
    http_watch_leave(conn);
    http_openai_drop(conn);
    drop_guise(conn);
    conn->state = HTTP_CLOSING;
    conn->generation++;
    conn->server->closing_count++;
    conn->deadline_ns = UINT64_MAX;
    conn->is_reading = false;
    if (conn->is_refusal) {
        conn->server->refusal_count--;
    } else {
        conn->server->open_count--;
        sma_gauge_add(SMA_GAUGE_http_connections, -1);
    }
    uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

/* -- reading ----------------------------------------------------------------------------------- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_space)
{
    struct http_conn *conn = handle->data;
    (void)suggested;
    if (conn->state == HTTP_LINGER) {
        *ret_space = uv_buf_init(conn->server->thrown_away, sizeof conn->server->thrown_away);
        return;
    }
    size_t bytes = conn->state == HTTP_BODY && conn->in.len >= HTTP_KEPT_BUFFER_BYTES
                       ? HTTP_BODY_READ_BYTES
                       : HTTP_READ_BYTES;
    char *place = sma_buf_reserve(&conn->in, bytes);
    count_bytes(conn);
    *ret_space = place == NULL ? uv_buf_init(NULL, 0) : uv_buf_init(place, (unsigned)bytes);
}

static void stop_reading(struct http_conn *conn)
{
    if (conn->is_reading)
        uv_read_stop((uv_stream_t *)&conn->tcp);
    conn->is_reading = false;
}

static void on_eof(struct http_conn *conn)
{
    conn->has_eof = true;
    stop_reading(conn);
    /* The client may only have shut down its sending side, so it still gets an answer that comes
     * soon. One that waits for a run is then taken to have left: the run goes on, its result is
     * stored. */
    if (conn->state == HTTP_WAIT)
        http_conn_deadline(conn,
                           http_now(conn->server) + HTTP_HALF_CLOSED_S * UINT64_C(1000000000));
    else if (conn->state != HTTP_BUSY && !conn->is_writing)
        http_conn_close(conn);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *space)
{
    struct http_conn *conn = stream->data;
    (void)space;
    if (got == 0 || conn->state == HTTP_CLOSING)
        return;
    if (got == UV_EOF) {
        on_eof(conn);
        return;
    }
    if (got < 0) { /* reset, or no memory for the buffer */
        http_conn_close(conn);
        return;
    }
    if (conn->state == HTTP_LINGER)
        return;
    if (conn->in.len == 0 && conn->state == HTTP_HEAD) {
        conn->read_ns = http_now(conn->server);
        http_conn_deadline(conn, conn->read_ns + conn->server->request_deadline_ns);
    }
    conn->in.len += (size_t)got;
    if (conn->state == HTTP_HEAD || conn->state == HTTP_BODY)
        conn->ops->advance(conn);
    else if (conn->in.len >= HTTP_PIPELINE_BYTES_MAX)
        stop_reading(conn);
}

void http_conn_start_reading(struct http_conn *conn)
{
    if (conn->is_reading || conn->has_eof)
        return;
    conn->is_reading = uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read) == 0;
    if (!conn->is_reading)
        http_conn_close(conn);
}

void http_conn_consume(struct http_conn *conn, size_t bytes)
{
    SMA_ASSERT(bytes <= conn->in.len);
    memmove(conn->in.ptr, conn->in.ptr + bytes, conn->in.len - bytes);
    conn->in.len -= bytes;
    conn->scanned = 0;
    if (conn->in.len == 0 && conn->in.cap > HTTP_KEPT_BUFFER_BYTES)
        sma_buf_fini(&conn->in);
    count_bytes(conn);
}

/* -- writing ----------------------------------------------------------------------------------- */

static void linger(struct http_conn *conn)
{
    http_watch_leave(conn);
    conn->state = HTTP_LINGER;
    sma_buf_fini(&conn->in);
    count_bytes(conn);
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) == 0)
        (void)shutdown(fd, SHUT_WR); /* fails when the client is gone: then reading tells */
    http_conn_deadline_in(conn, HTTP_LINGER_S * UINT64_C(1000000000));
    if (conn->has_eof)
        http_conn_close(conn);
    else
        http_conn_start_reading(conn);
}

static bool is_last_answer(const struct http_conn *conn)
{
    return conn->closes_after || (conn->has_eof && conn->in.len == 0);
}

/* Everything written. */
static void after_write(struct http_conn *conn)
{
    if (conn->state == HTTP_LINGER || (conn->state == HTTP_DONE && is_last_answer(conn))) {
        linger(conn);
        return;
    }
    if (conn->state == HTTP_DONE) {
        conn->ops->next_request(conn);
        return;
    }
    if (conn->has_eof && conn->state != HTTP_BUSY)
        http_conn_close(conn);
}

static void on_written(uv_write_t *write, int status)
{
    struct http_conn *conn = write->data;
    conn->is_writing = false;
    sma_buf_clear(&conn->sending);
    if (conn->state == HTTP_CLOSING)
        return;
    if (status < 0) {
        http_conn_close(conn);
        return;
    }
    if (conn->state == HTTP_STREAM)
        http_conn_deadline_in(conn, HTTP_STREAM_BEAT_S * UINT64_C(1000000000));
    if (conn->out.len > 0)
        http_conn_flush(conn);
    else
        after_write(conn);
    if (conn->state == HTTP_STREAM && conn->is_feed && !conn->is_writing)
        http_feed_more(conn);
}

void http_conn_flush(struct http_conn *conn)
{
    if (conn->is_writing || conn->state == HTTP_CLOSING)
        return;
    if (conn->out.err !=
        SMA_ERR_OK) { /* no memory, or a result beyond every bound: the client sees it cut off */
        http_conn_close(conn);
        return;
    }
    uv_buf_t bytes = uv_buf_init(conn->out.ptr, (unsigned)conn->out.len);
    bool waits = conn->out.len == 0 || conn->is_paced;
    int wrote = waits ? 0 : uv_try_write((uv_stream_t *)&conn->tcp, &bytes, 1);
    if (wrote < 0 && wrote != UV_EAGAIN) {
        http_conn_close(conn);
        return;
    }
    size_t done = wrote < 0 ? 0 : (size_t)wrote;
    if (done == conn->out.len) {
        sma_buf_clear(&conn->out);
        if (conn->out.cap > HTTP_KEPT_BUFFER_BYTES)
            sma_buf_fini(&conn->out);
        if (!conn->is_advancing)
            after_write(conn);
        else if (conn->state == HTTP_DONE && is_last_answer(conn))
            linger(conn);
        return;
    }
    struct sma_buf spare =
        conn->sending; /* the bytes in flight must not move: the two buffers change places */
    conn->sending = conn->out;
    conn->out = spare;
    sma_buf_clear(&conn->out);
    bytes = uv_buf_init(conn->sending.ptr + done, (unsigned)(conn->sending.len - done));
    conn->write.data = conn;
    conn->is_writing = true;
    http_conn_deadline_in(conn,
                          SMA_HTTP_KEEPALIVE_S *
                              UINT64_C(1000000000)); /* a client that does not read its answer */
    if (uv_write(&conn->write, (uv_stream_t *)&conn->tcp, &bytes, 1, on_written) != 0) {
        conn->is_writing = false;
        http_conn_close(conn);
    }
}

void http_conn_finish(struct http_conn *conn)
{
    uint64_t now = http_now(conn->server);
    if (conn->read_ns != 0 && now > conn->read_ns)
        SMA_METRIC_TIME(http_request, now - conn->read_ns);
    http_watch_leave(conn);
    http_openai_drop(conn);
    drop_guise(conn);
    conn->dialect = HTTP_DIALECT_OWN;
    conn->state = HTTP_DONE;
    http_conn_deadline(conn, UINT64_MAX);
    http_conn_flush(conn);
}
