/*
 * ws_pipe.c — bytes over one TCP connection on the loop, in clear or through TLS.
 *
 * TLS works on memory: what libuv reads goes into from_peer, what OpenSSL wants to send is taken
 * from to_peer. One write is under way at a time; what is put into `out` meanwhile goes with the
 * next, so many small frames share a call.
 */
#include "ws_priv.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define REASON_BYTES 256

/* -- end --------------------------------------------------------------------------------------- */
static void on_handle_closed(uv_handle_t *handle)
{
    struct ws_pipe *pipe = handle->data;
    if (--pipe->handle_count > 0)
        return;
    SSL_free(pipe->ssl);
    sma_buf_fini(&pipe->out);
    sma_buf_fini(&pipe->sending);
    sma_buf_fini(&pipe->stash);
    ws_unref(pipe->ws);
    free(pipe);
}

void ws_pipe_close(struct ws_pipe *pipe)
{
    if (pipe->state == PIPE_CLOSED)
        return;
    pipe->state = PIPE_CLOSED;
    if (pipe->previous == NULL)
        pipe->ws->pipes = pipe->next;
    else
        pipe->previous->next = pipe->next;
    if (pipe->next != NULL)
        pipe->next->previous = pipe->previous;
    uv_close((uv_handle_t *)&pipe->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&pipe->timer, on_handle_closed);
}

static void end(struct ws_pipe *pipe, const char *reason)
{
    if (pipe->state == PIPE_CLOSED)
        return;
    bool is_before_tcp = pipe->state == PIPE_CONNECTING,
         is_released = pipe->state == PIPE_LINGERING;
    ws_pipe_close(pipe);
    if (!is_released)
        pipe->events->ended(pipe->user, is_before_tcp, reason);
}

/* -- writing ----------------------------------------------------------------------------------- */
static void go_on_lingering(struct ws_pipe *pipe);
static void arm(struct ws_pipe *pipe, uint64_t wait_ms);

static void on_written(uv_write_t *write, int status)
{
    struct ws_pipe *pipe = write->data;
    pipe->is_sending = false;
    if (pipe->sending.cap > WS_KEPT_BYTES) {
        sma_buf_fini(&pipe->sending);
        sma_buf_init(&pipe->sending, pipe->bytes_max);
    }
    sma_buf_clear(&pipe->sending);
    if (pipe->state == PIPE_CLOSED)
        return;
    if (status < 0) {
        /* What the peer said before it left may still wait to be read: let the reading side find
         * the end. */
        pipe->is_broken = true;
        arm(pipe, WS_LINGER_MS);
        return;
    }
    ws_pipe_flush(pipe);
    go_on_lingering(pipe);
}

static void take_from_tls(struct ws_pipe *pipe)
{
    size_t len = BIO_ctrl_pending(pipe->to_peer);
    char *room = len == 0 ? NULL : sma_buf_reserve(&pipe->sending, len);
    if (room != NULL && BIO_read(pipe->to_peer, room, (int)len) == (int)len)
        pipe->sending.len += len;
}

static void encrypt(struct ws_pipe *pipe)
{
    size_t done = 0;
    while (done < pipe->out.len) {
        size_t written = 0;
        ERR_clear_error();
        if (SSL_write_ex(pipe->ssl, pipe->out.ptr + done, pipe->out.len - done, &written) != 1) {
            pipe->is_broken = true; /* no memory, or the peer has ended TLS */
            arm(pipe, WS_LINGER_MS);
            break;
        }
        done += written;
    }
    sma_buf_clear(&pipe->out);
}

void ws_pipe_flush(struct ws_pipe *pipe)
{
    if (pipe->is_sending || pipe->is_broken || pipe->state == PIPE_CLOSED ||
        pipe->state == PIPE_CONNECTING)
        return;
    if (pipe->ssl == NULL) {
        struct sma_buf empty = pipe->sending;
        pipe->sending = pipe->out;
        pipe->out = empty;
    } else {
        if (pipe->state != PIPE_SHAKING)
            encrypt(pipe);
        take_from_tls(pipe);
    }
    if (pipe->sending.len == 0 && pipe->sending.err == SMA_ERR_OK)
        return;
    uv_buf_t buf = {.base = pipe->sending.ptr, .len = pipe->sending.len};
    pipe->write.data = pipe;
    if (pipe->sending.err != SMA_ERR_OK ||
        uv_write(&pipe->write, (uv_stream_t *)&pipe->tcp, &buf, 1, on_written) != 0) {
        pipe->is_broken = true;
        arm(pipe, 0); /* not from inside the caller's call */
        return;
    }
    pipe->is_sending = true;
}

size_t ws_pipe_unsent(const struct ws_pipe *pipe)
{
    return pipe->out.len + pipe->sending.len;
}

/* -- reading ----------------------------------------------------------------------------------- */
static bool is_reading_wanted(const struct ws_pipe *pipe)
{
    return pipe->state == PIPE_SHAKING || (pipe->state == PIPE_READY && !pipe->is_paused);
}

static void deliver(struct ws_pipe *pipe, const char *bytes, size_t len)
{
    while (len > 0 && is_reading_wanted(pipe)) {
        size_t used = pipe->events->bytes(pipe->user, (struct sma_str){bytes, len});
        bytes += used;
        len -= used;
    }
    if (len == 0 || pipe->state != PIPE_READY)
        return;
    sma_buf_put(&pipe->stash, bytes, len);
    if (pipe->stash.err != SMA_ERR_OK)
        end(pipe, "no memory for what was received");
}

static void describe_tls_error(const struct ws_pipe *pipe, char *reason)
{
    long verdict = SSL_get_verify_result(pipe->ssl);
    unsigned long code = ERR_peek_last_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);
    if (verdict != X509_V_OK)
        (void)snprintf(reason, REASON_BYTES,
                       "TLS refused: the server's certificate is not trusted: %s",
                       X509_verify_cert_error_string(verdict));
    else
        (void)snprintf(reason, REASON_BYTES, "TLS failed: %s",
                       text == NULL ? "unknown error" : text);
}

static void fail_tls(struct ws_pipe *pipe)
{
    char reason[REASON_BYTES];
    describe_tls_error(pipe, reason);
    if (!pipe->is_sending) {
        take_from_tls(pipe); /* the alert that tells the peer why */
        uv_buf_t buf = {.base = pipe->sending.ptr, .len = pipe->sending.len};
        if (buf.len > 0)
            (void)uv_try_write((uv_stream_t *)&pipe->tcp, &buf, 1); /* a courtesy: may be lost */
    }
    end(pipe, reason);
}

/* @return whether TLS stands and its user still wants it */
static bool shake_hands(struct ws_pipe *pipe)
{
    ERR_clear_error();
    int done = SSL_do_handshake(pipe->ssl);
    if (done != 1 && SSL_get_error(pipe->ssl, done) != SSL_ERROR_WANT_READ) {
        fail_tls(pipe);
        return false;
    }
    if (done == 1)
        pipe->state = PIPE_READY;
    ws_pipe_flush(pipe);
    if (done == 1)
        pipe->events->ready(pipe->user);
    return pipe->state == PIPE_READY;
}

static void read_tls(struct ws_pipe *pipe)
{
    if (pipe->state == PIPE_SHAKING && !shake_hands(pipe))
        return;
    while (is_reading_wanted(pipe)) {
        ERR_clear_error();
        int len = SSL_read(pipe->ssl, pipe->ws->plain, sizeof pipe->ws->plain);
        if (len > 0) {
            deliver(pipe, pipe->ws->plain, (size_t)len);
            continue;
        }
        int error = SSL_get_error(pipe->ssl, len);
        if (error == SSL_ERROR_ZERO_RETURN)
            end(pipe, "the server ended the connection");
        else if (error != SSL_ERROR_WANT_READ)
            fail_tls(pipe);
        break;
    }
    ws_pipe_flush(pipe); /* TLS may have something to say too */
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    (void)wanted;
    struct ws_pipe *pipe = handle->data;
    *buf = (uv_buf_t){.base = pipe->ws->received, .len = sizeof pipe->ws->received};
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct ws_pipe *pipe = stream->data;
    if (len < 0) {
        char reason[REASON_BYTES] = "the server ended the connection";
        if (len != UV_EOF)
            (void)snprintf(reason, sizeof reason, "the connection broke: %s",
                           uv_strerror((int)len));
        end(pipe, reason);
        return;
    }
    if (len == 0 || pipe->state == PIPE_LINGERING)
        return; /* of a connection that was given up, only the end is of interest */
    pipe->read_ns = sma_ctx_now(pipe->ws->ctx);
    if (pipe->ssl == NULL) {
        deliver(pipe, buf->base, (size_t)len);
        return;
    }
    if (BIO_write(pipe->from_peer, buf->base, (int)len) != (int)len) {
        end(pipe, "no memory for what was received");
        return;
    }
    read_tls(pipe);
}

static void set_reading(struct ws_pipe *pipe, bool is_wanted)
{
    if (pipe->is_reading == is_wanted)
        return;
    pipe->is_reading = is_wanted;
    if (!is_wanted)
        (void)uv_read_stop((uv_stream_t *)&pipe->tcp); /* always 0 */
    else if (uv_read_start((uv_stream_t *)&pipe->tcp, on_alloc, on_read) != 0)
        end(pipe, "reading cannot be started");
}

/* What was held back during a pause, then what is new. */
static void resume(struct ws_pipe *pipe)
{
    if (pipe->stash.len > 0) {
        struct sma_buf held = pipe->stash;
        sma_buf_init(&pipe->stash, 2 * WS_READ_BYTES);
        deliver(pipe, held.ptr, held.len);
        sma_buf_fini(&held);
    }
    if (pipe->ssl != NULL && is_reading_wanted(pipe))
        read_tls(pipe);
    if (is_reading_wanted(pipe))
        set_reading(pipe, true);
}

void ws_pipe_pause(struct ws_pipe *pipe, bool is_paused)
{
    if (pipe->is_paused == is_paused || pipe->state == PIPE_CLOSED)
        return;
    pipe->is_paused = is_paused;
    if (pipe->state != PIPE_READY)
        return;
    if (is_paused)
        set_reading(pipe, false);
    else
        arm(pipe, 0); /* not from inside the caller's call */
}

/* -- the timer: not running on a healthy connection -------------------------------------------- */
static void on_timer(uv_timer_t *timer)
{
    struct ws_pipe *pipe = timer->data;
    if (pipe->state == PIPE_LINGERING) {
        ws_pipe_close(pipe);
        return;
    }
    if (!is_reading_wanted(pipe))
        return; /* paused again: a broken pipe tells its end when it is resumed */
    if (pipe->is_reading) {
        end(pipe, "the connection broke while sending");
        return;
    }
    resume(pipe);
    if (pipe->is_broken && is_reading_wanted(pipe))
        arm(pipe, WS_LINGER_MS); /* for what is still to be read */
}

static void arm(struct ws_pipe *pipe, uint64_t wait_ms)
{
    uv_update_time(pipe->ws->loop); /* libuv counts from the time it last looked */
    SMA_ASSERT(uv_timer_start(&pipe->timer, on_timer, wait_ms, 0) == 0);
}

/* -- lingering --------------------------------------------------------------------------------- */
static void on_shutdown(uv_shutdown_t *shutdown, int status)
{
    (void)shutdown; /* the peer's end, or the timer, closes */
    (void)status;
}

static void go_on_lingering(struct ws_pipe *pipe)
{
    if (pipe->state != PIPE_LINGERING || pipe->is_sending || pipe->is_shut)
        return;
    pipe->is_shut = true;
    if (pipe->ssl != NULL) {
        ERR_clear_error();
        (void)SSL_shutdown(pipe->ssl); /* says goodbye; the answer is not waited for */
        ws_pipe_flush(pipe);
    }
    if (uv_shutdown(&pipe->shutdown, (uv_stream_t *)&pipe->tcp, on_shutdown) != 0)
        ws_pipe_close(pipe);
}

void ws_pipe_release(struct ws_pipe *pipe)
{
    if (pipe->state != PIPE_READY || pipe->is_broken) {
        ws_pipe_close(pipe);
        return;
    }
    pipe->state = PIPE_LINGERING;
    arm(pipe, WS_LINGER_MS);
    set_reading(pipe, true);
    ws_pipe_flush(pipe);
    go_on_lingering(pipe);
}

/* -- start ------------------------------------------------------------------------------------- */
static void on_connect(uv_connect_t *connect, int status)
{
    struct ws_pipe *pipe = connect->data;
    if (pipe->state == PIPE_CLOSED)
        return;
    if (status < 0) {
        end(pipe, uv_strerror(status));
        return;
    }
    (void)uv_tcp_nodelay(&pipe->tcp, 1); /* slower without, not wrong */
    pipe->state = pipe->ssl == NULL ? PIPE_READY : PIPE_SHAKING;
    set_reading(pipe, true);
    if (pipe->state == PIPE_READY)
        pipe->events->ready(pipe->user);
    else if (pipe->state == PIPE_SHAKING)
        (void)shake_hands(pipe);
}

static bool set_name(SSL *ssl, const char *host)
{
    struct sockaddr_storage address;
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (uv_inet_pton(AF_INET, host, &address) == 0 || uv_inet_pton(AF_INET6, host, &address) == 0)
        return X509_VERIFY_PARAM_set1_ip_asc(param, host) ==
               1; /* no SNI for addresses: RFC 6066 §3 */
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool open_tls(struct ws_pipe *pipe, const char *host)
{
    static const unsigned char http[] = "\x08http/1.1";
    BIO *from_peer = BIO_new(BIO_s_mem()), *to_peer = BIO_new(BIO_s_mem());
    pipe->ssl = SSL_new(pipe->ws->tls);
    if (from_peer == NULL || to_peer == NULL || pipe->ssl == NULL) {
        BIO_free(from_peer);
        BIO_free(to_peer);
        return false;
    }
    SSL_set_bio(pipe->ssl, from_peer, to_peer); /* both are the session's now */
    pipe->from_peer = from_peer;
    pipe->to_peer = to_peer;
    SSL_set_connect_state(pipe->ssl);
    return SSL_set_alpn_protos(pipe->ssl, http, sizeof http - 1) == 0 && set_name(pipe->ssl, host);
}

static void link_pipe(struct ws_pipe *pipe)
{
    struct sma_ws *ws = pipe->ws;
    pipe->next = ws->pipes;
    if (ws->pipes != NULL)
        ws->pipes->previous = pipe;
    ws->pipes = pipe;
    ws->use_count++;
}

enum sma_err ws_pipe_open(struct sma_ws *ws, const struct sockaddr *address, const char *host,
                          size_t bytes_max, const struct ws_pipe_events *events, void *user,
                          struct ws_pipe **ret_pipe, const char **ret_reason)
{
    struct ws_pipe *pipe = calloc(1, sizeof *pipe);
    *ret_reason = "no memory for a connection";
    if (pipe == NULL)
        return SMA_ERR_NOMEM;
    pipe->ws = ws;
    pipe->events = events;
    pipe->user = user;
    pipe->bytes_max = bytes_max;
    sma_buf_init(&pipe->out, bytes_max);
    sma_buf_init(&pipe->sending, bytes_max);
    sma_buf_init(&pipe->stash, 2 * WS_READ_BYTES);
    (void)uv_tcp_init(ws->loop, &pipe->tcp); /* these two cannot fail */
    (void)uv_timer_init(ws->loop, &pipe->timer);
    pipe->handle_count = 2;
    pipe->tcp.data = pipe->timer.data = pipe->connect.data = pipe;
    link_pipe(pipe);
    enum sma_err err = host != NULL && !open_tls(pipe, host) ? SMA_ERR_NOMEM : SMA_ERR_OK;
    int status =
        err != SMA_ERR_OK ? 0 : uv_tcp_connect(&pipe->connect, &pipe->tcp, address, on_connect);
    if (status != 0) {
        *ret_reason = uv_strerror(status);
        err = SMA_ERR_IO;
    }
    if (err != SMA_ERR_OK) {
        ws_pipe_close(pipe);
        return err;
    }
    *ret_pipe = pipe;
    return SMA_ERR_OK;
}
