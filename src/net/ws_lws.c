/*
 * ws_lws.c — libwebsockets on the actor's loop: its context, its virtual hosts, and their end.
 *
 * Traps of the packaged versions that are avoided here; each has a test in
 * tests/unit/ws/test_ws_traps.c:
 *  - 4.1.6 closes a descriptor twice in lws_context_destroy, a turn of the loop apart: in a
 *    program with threads the second is somebody else's. So the context is left (destroy).
 *  - 4.1.6 exchanges a process-wide index when a context is made with TLS: another thread's
 *    handshake then loses its connection. Only the virtual host has the option for TLS.
 *  - 4.3.5 counts users of a process-wide log without a lock, and asserts on the count: each
 *    context has a log of its own.
 *  - the proxy of the environment (http_proxy) is taken, without no_proxy: an empty one is given.
 *  - idle connections are pinged and given up by default: see no_pings in ws_connect.c.
 */
#include "ws_priv.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define NEVER_S 3600 /* the library's time-outs: ours are shorter */

/* -- TLS -------------------------------------------------------------------------------------- */
static enum sma_err make_tls(struct sma_ws *ws, const char *ca_file, struct sma_error *error)
{
    ERR_clear_error();
    ws->tls = SSL_CTX_new(TLS_client_method());
    /* The directory, searched when a certificate is needed. The file is the whole bundle: 6 to 28
     * ms to read. */
    if (ws->tls == NULL || SSL_CTX_set_min_proto_version(ws->tls, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_dir(ws->tls) != 1 ||
        (getenv("SSL_CERT_FILE") != NULL && SSL_CTX_set_default_verify_file(ws->tls) != 1))
        return sma_fail(error, SMA_ERR_NOMEM, "cannot prepare TLS for WebSocket connections");
    (void)SSL_CTX_set_options(ws->tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(ws->tls, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ws->tls, SSL_SESS_CACHE_OFF);
    if (ca_file == NULL || SSL_CTX_load_verify_file(ws->tls, ca_file) == 1)
        return SMA_ERR_OK;
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    return sma_fail(error, SMA_ERR_IO, "cannot read trusted certificates (PEM) from %s: %s",
                    ca_file, reason == NULL ? "not readable" : reason);
}

/* -- context and virtual hosts ---------------------------------------------------------------- */
static const struct lws_protocols protocols[] = {
    {.name = "sma", .callback = ws_on_event, .rx_buffer_size = WS_READ_BYTES}, {0}};

struct lws_vhost *ws_vhost(struct sma_ws *ws, bool is_tls)
{
    struct lws_context_creation_info info = {.vhost_name = is_tls ? "wss" : "ws",
                                             .port = CONTEXT_PORT_NO_LISTEN,
                                             .protocols = protocols,
                                             .http_proxy_address = "",
                                             .connect_timeout_secs = NEVER_S};
    if (ws->vhosts[is_tls] != NULL)
        return ws->vhosts[is_tls];
#if LWS_LIBRARY_VERSION_NUMBER >= 4003000
    info.log_cx = &ws->log;
#endif
    if (is_tls) {
        if (ws->tls == NULL && make_tls(ws, NULL, NULL) != SMA_ERR_OK)
            return NULL;
        info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.provided_client_ssl_ctx = ws->tls;
    }
    ws->vhosts[is_tls] = lws_create_vhost(ws->lws, &info);
    return ws->vhosts[is_tls];
}

struct lws_vhost *ws_page_vhost(struct sma_ws *ws)
{
    struct lws_context_creation_info info = {.vhost_name = "pages",
                                             .port = CONTEXT_PORT_NO_LISTEN_SERVER,
                                             .protocols = protocols,
                                             .http_proxy_address = "",
                                             .timeout_secs = NEVER_S};
#if LWS_LIBRARY_VERSION_NUMBER >= 4003000
    info.log_cx = &ws->log;
#endif
    if (ws->page_vhost == NULL)
        ws->page_vhost = lws_create_vhost(ws->lws, &info);
    return ws->page_vhost;
}

static void note_handle(uv_handle_t *handle, void *user)
{
    struct ws_handles *handles = user;
    if (handles->count < SMA_COUNT_OF(handles->list))
        handles->list[handles->count++] = handle;
}

static bool has_handle(const struct ws_handles *handles, const uv_handle_t *handle)
{
    size_t i = 0;
    while (i < handles->count && handles->list[i] != handle)
        i++;
    return i < handles->count;
}

/* Handles that came with the context are the library's. */
static void note_statics(struct sma_ws *ws, const struct ws_handles *before)
{
    struct ws_handles after = {0};
    uv_walk(ws->loop, note_handle, &after);
    for (size_t i = 0; i < after.count && ws->static_count < SMA_COUNT_OF(ws->statics); i++)
        if (!has_handle(before, after.list[i]))
            ws->statics[ws->static_count++] = after.list[i];
}

static void silence(void)
{
    lws_set_log_level(0, NULL); /* for the whole process */
}

static enum sma_err make_context(struct sma_ws *ws, struct sma_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *loops[] = {ws->loop};
    struct lws_context_creation_info info = {
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
        .port = CONTEXT_PORT_NO_LISTEN,
        .foreign_loops = loops,
        .pcontext = &ws->lws,
        .user = ws,
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
        .timeout_secs = NEVER_S,
        .pt_serv_buf_size = WS_READ_BYTES,
        .max_http_header_data2 = WS_HEAD_BYTES_MAX,
        .max_http_header_pool = WS_CONNECTION_COUNT_MAX, /* allocated as needed */
        .fd_limit_per_thread = WS_CONNECTION_COUNT_MAX};
    struct ws_handles before = {0};
#if LWS_LIBRARY_VERSION_NUMBER >= 4003000
    info.log_cx = &ws->log;
#endif
    (void)pthread_once(&once, silence);
    uv_walk(ws->loop, note_handle, &before);
    ws->lws = lws_create_context(&info);
    note_statics(ws, &before);
    if (ws->lws != NULL && ws_vhost(ws, false) != NULL &&
        (ws->tls == NULL || ws_vhost(ws, true) != NULL))
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_NOTFOUND,
                    "cannot start libwebsockets: is its libuv plugin there (Debian: "
                    "libwebsockets-evlib-uv)?");
}

/* -- the end ---------------------------------------------------------------------------------- */
static size_t count_statics(struct sma_ws *ws)
{
    struct ws_handles now = {0};
    size_t count = 0;
    uv_walk(ws->loop, note_handle, &now);
    for (size_t i = 0; i < ws->static_count; i++)
        count += has_handle(&now, ws->statics[i]);
    return count;
}

#if LWS_LIBRARY_VERSION_NUMBER < 4003000
/* The context is left, 49 KB once for an actor's life; its handles and the descriptor it would
 * close twice go. */
static void destroy(struct sma_ws *ws)
{
    static _Atomic(struct lws_context *) left[64]; /* still known, so that it is no leak */
    static atomic_uint left_count;
    for (size_t i = 0; i < ws->static_count; i++) {
        uv_handle_t *handle = (uv_handle_t *)(uintptr_t)ws->statics[i];
        uv_os_fd_t fd = -1;
        if (handle->type == UV_POLL)
            (void)uv_fileno(handle, &fd);
        uv_close(handle, NULL);
        if (fd >= 0)
            (void)close(fd);
    }
    left[atomic_fetch_add(&left_count, 1) % SMA_COUNT_OF(left)] = ws->lws;
    ws->lws = NULL;
}
#else
/* Takes two calls, the second once libuv has let go of the library's handles. */
static void destroy(struct sma_ws *ws)
{
    if (!ws->is_destroying || count_statics(ws) == 0)
        lws_context_destroy(ws->lws); /* sets ws->lws to NULL when it is done */
    ws->is_destroying = true;
}
#endif

static void on_closed(uv_handle_t *handle)
{
    ws_unref(handle->data);
}

static void on_closer(uv_idle_t *closer)
{
    struct sma_ws *ws = closer->data;
    if (ws->conns == NULL && ws->lws != NULL)
        destroy(ws);
    if (ws->lws == NULL && count_statics(ws) == 0) {
        uv_close((uv_handle_t *)&ws->check, on_closed);
        uv_close((uv_handle_t *)&ws->closer, on_closed);
    }
}

/* What it has of a connection is killed in the loop's next turn: this may be a callback of the
 * library's. */
void sma_ws_close(struct sma_ws *ws)
{
    if (ws == NULL)
        return;
    SMA_ASSERT(!ws->is_closing);
    ws->is_closing = true;
    net_names_close(&ws->names);
    for (struct sma_ws_conn *conn = ws->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        ws_conn_bury(conn);
    }
    (void)uv_idle_start(&ws->closer, on_closer);
}

/* -- the beginning ---------------------------------------------------------------------------- */
/* The library tells of a frame when WS_READ_BYTES of it have come: one that announces too much and
 * sends no more is found here, after each turn's reads. */
static void check_announced(struct sma_ws *ws)
{
    for (struct sma_ws_conn *conn = ws->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        if (conn->phase != WS_OPEN || conn->is_paused ||
            lws_remaining_packet_payload(conn->wsi) <=
                conn->ask.message_bytes_max - conn->message.len)
            continue;
        ws_conn_refuse(conn, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                       "the peer sent a message over the limit");
        return; /* the list may have changed: the rest in the next turn */
    }
}

static void on_check(uv_check_t *check)
{
    check_announced(check->data);
}

enum sma_err sma_ws_open(struct sma_ctx *ctx, const struct sma_ws_options *options,
                         struct sma_ws **ret_ws, struct sma_error *error)
{
    struct sma_ws *ws = calloc(1, sizeof *ws);
    if (ws == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for WebSocket connections");
    ws->magic = WS_MAGIC;
    ws->ctx = ctx;
    ws->loop = ws->names.loop = sma_ctx_loop(ctx);
    ws->use_count = 1;
    SMA_ASSERT(ws->loop != NULL);
    enum sma_err err = SMA_ERR_OK;
    if (options != NULL && options->proxy != NULL)
        ws->proxy = *options->proxy;
    if (options != NULL && options->ca_file != NULL) /* else with the first wss:// */
        err = make_tls(ws, options->ca_file, error);
    if (err != SMA_ERR_OK) {
        ws_unref(ws);
        return err;
    }
    (void)uv_idle_init(ws->loop, &ws->closer);
    (void)uv_check_init(ws->loop, &ws->check);
    (void)uv_check_start(&ws->check, on_check);
    ws->closer.data = ws->check.data = ws;
    ws->use_count = 2;
    err = make_context(ws, error);
    if (err != SMA_ERR_OK) {
        sma_ws_close(ws);
        return err;
    }
    *ret_ws = ws;
    return SMA_ERR_OK;
}
