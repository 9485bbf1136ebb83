/*
 * ws_connect.c — from a URL to an open connection: dial.c makes the TCP connection, libwebsockets
 * does TLS and the upgrade.
 *
 * The library would look names up on the loop, try addresses one by one and say nothing of why it
 * failed, so it is given a socket that is connected. It has no call for that: it is told to
 * connect to a unix socket whose queue is full, waits to be told that it may write, and finds our
 * socket under the number of its own (dup3) when it is.
 */
#include "ws_priv.h"

#include "sma/text.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stddef.h>
#include <sys/un.h>
#include <unistd.h>

#define PATH_MARK "/ws-mark-7d1e" /* stands where the path will */

/* -- the library gets a connected socket ------------------------------------------------------ */
/* A unix socket that takes no more connections: connect() to it says "not now". Its name is the
 * kernel's choice. */
struct full_socket
{
    int listener, filler;
    char address[2 +
                 sizeof((struct sockaddr_un *)0)->sun_path]; /* as the library wants it: +@name */
};

static void close_full(struct full_socket *full)
{
    if (full->filler >= 0)
        (void)close(full->filler);
    if (full->listener >= 0)
        (void)close(full->listener);
}

static bool open_full(struct full_socket *full)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size = sizeof name;
    full->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    full->filler = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (full->listener < 0 || full->filler < 0 ||
        bind(full->listener, (struct sockaddr *)&name, sizeof name.sun_family) != 0 ||
        listen(full->listener, 0) != 0 ||
        getsockname(full->listener, (struct sockaddr *)&name, &size) != 0 ||
        connect(full->filler, (struct sockaddr *)&name, size) != 0)
        return false;
    size_t len = size - offsetof(struct sockaddr_un, sun_path) - 1; /* without the leading NUL */
    (void)snprintf(full->address, sizeof full->address, "+@%.*s", (int)len, name.sun_path + 1);
    return true;
}

static struct lws *begin_upgrade(struct sma_ws_conn *conn, const char *address)
{
    static const lws_retry_bo_t no_pings = {0}; /* by default one after 300 s, the end at 310 s */
    struct lws_client_connect_info info = {.context = conn->ws->lws,
                                           .vhost = ws_vhost(conn->ws, conn->url.is_tls),
                                           .address = address,
                                           .port = 1,
                                           .path = PATH_MARK,
                                           .host = conn->url.host, /* for SNI */
                                           .alpn = "http/1.1",
                                           .local_protocol_name = "sma",
                                           .ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT,
                                           .ietf_version_or_minus_one = -1,
                                           .retry_and_idle_policy = &no_pings,
                                           .opaque_user_data = conn};
    if (conn->url.is_tls) /* we check names: ws_conn_look_at_certificate */
        info.ssl_connection |= LCCSCF_USE_SSL | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK;
    return info.vhost == NULL ? NULL : lws_client_connect_via_info(&info);
}

/* The library's socket becomes ours before the loop has watched it: that begins with its next
 * poll. */
static bool hand_over(struct sma_ws_conn *conn, int fd)
{
    struct full_socket full;
    struct lws *wsi = open_full(&full) ? begin_upgrade(conn, full.address) : NULL;
    close_full(&full);
    if (wsi == NULL)
        return false;
    conn->wsi = wsi;
    return dup3(fd, lws_get_socket_fd(wsi), O_CLOEXEC) >= 0;
}

static void on_dialled(void *user, int fd, const char *error)
{
    struct sma_ws_conn *conn = user;
    conn->dial = NULL;
    if (fd < 0) {
        ws_conn_finish_in_words(conn, SMA_WS_NOT_CONNECTED, error);
        return;
    }
    conn->phase = conn->url.is_tls ? WS_SHAKING : WS_UPGRADING;
    bool is_begun = hand_over(conn, fd);
    (void)close(fd);
    if (is_begun)
        return;
    ws_conn_kill_wsi(conn);
    ws_conn_set_reason(conn, "cannot prepare %s for %s", conn->url.is_tls ? "TLS" : "the upgrade",
                       conn->url.host);
    ws_conn_finish_in_words(conn, SMA_WS_NOT_CONNECTED, conn->reason);
}

/* -- it came to nothing ----------------------------------------------------------------------- */
static void finish_refused(struct sma_ws_conn *conn)
{
    struct sma_str body = sma_buf_str(&conn->body);
    body.len = sma_utf8_cut(body, sizeof conn->reason - 128);
    ws_conn_set_reason(conn, "%s refused the upgrade with status %d%s%.*s", conn->url.host,
                       conn->http_status, body.len > 0 ? ": " : "", (int)body.len,
                       body.len > 0 ? body.ptr : "");
    bool is_text = sma_utf8_is_valid(sma_str(conn->reason));
    for (char *at = conn->reason; *at != '\0'; at++) /* it goes into a log line */
        if ((unsigned char)*at < ' ' || *at == 0x7f || (!is_text && (unsigned char)*at > 0x7f))
            *at = ' ';
    ws_conn_finish(conn, &(struct sma_ws_closed){.end = SMA_WS_NOT_CONNECTED,
                                                 .http_status = conn->http_status,
                                                 .head = sma_buf_str(&conn->head),
                                                 .reason = sma_str(conn->reason)});
}

void ws_conn_fail(struct sma_ws_conn *conn, struct sma_str words)
{
    if (conn->http_status != 0 && conn->http_status != 101) {
        finish_refused(conn);
        return;
    }
    if (conn->reason[0] == '\0' && conn->http_status == 101)
        ws_conn_set_reason(conn, "%s answered the upgrade wrongly: %.*s", conn->url.host,
                           (int)words.len, words.ptr);
    else if (conn->reason[0] == '\0')
        ws_conn_set_reason(conn, "%s: %.*s before it answered the upgrade", conn->url.host,
                           (int)words.len, words.ptr);
    ws_conn_finish_in_words(conn, SMA_WS_NOT_CONNECTED, conn->reason);
}

/* -- callbacks of the library ----------------------------------------------------------------- */
/* 0: the certificate is accepted as far as OpenSSL did. The library asks for each of the chain,
 * the server's own last. */
int ws_conn_look_at_certificate(struct sma_ws_conn *conn, X509_STORE_CTX *store, bool is_good)
{
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    const char *host = conn->url.host;
    struct net_addresses literal;
    bool is_own = X509_STORE_CTX_get_error_depth(store) == 0;
    if (is_good && is_own) {
        bool is_address = net_names_literal(host, "1", &literal);
        conn->is_certificate_good =
            certificate != NULL &&
            (is_address ? X509_check_ip_asc(certificate, host, 0)
                        : X509_check_host(certificate, host, strlen(host),
                                          X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL)) == 1;
        if (!conn->is_certificate_good)
            X509_STORE_CTX_set_error(store, is_address ? X509_V_ERR_IP_ADDRESS_MISMATCH
                                                       : X509_V_ERR_HOSTNAME_MISMATCH);
        is_good = conn->is_certificate_good;
    }
    if (is_good)
        return 0;
    ws_conn_set_reason(
        conn, "cannot connect to %s: TLS refused: the server's certificate is not trusted: %s",
        host, X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
    return -1;
}

/* What the library has written so far is replaced but for the key: it cuts the path at 2 KiB
 * (4.1.6) and adds headers. */
int ws_conn_put_request(struct sma_ws_conn *conn, char **end, size_t room)
{
    static const char start_mark[] = "GET " PATH_MARK " HTTP/1.1\r\n";
    static const char key_mark[] = "Sec-WebSocket-Key: ";
    const size_t mark_len = sizeof start_mark - 1;
    char *start = *end - mark_len, *first = *end - 1024, key[64];
    if (conn->url.is_tls && !conn->is_certificate_good)
        return -1;
    while (start > first && memcmp(start, start_mark, mark_len) != 0)
        start--; /* it is there: it was the path we gave, and little is behind it */
    if (start == first)
        return -1;
    room += (size_t)(*end - start);
    const char *at = memmem(start, (size_t)(*end - start), key_mark, sizeof key_mark - 1);
    const char *over = at == NULL ? NULL : memchr(at, '\r', (size_t)(*end - at));
    if (over == NULL || (size_t)(over - at) >= sizeof key - 2 ||
        room < conn->request.len + sizeof key)
        return -1;
    int key_len = snprintf(key, sizeof key, "%.*s\r\n", (int)(over - at), at);
    memcpy(start, conn->request.ptr, conn->request.len);
    memcpy(start + conn->request.len, key, (size_t)key_len);
    *end = start + conn->request.len + key_len; /* the library adds the empty line */
    sma_buf_fini(&conn->request);
    conn->phase = WS_UPGRADING;
    return 0;
}

/* The library keeps headers of an answer it does not know by its lower-case name only. */
static void keep_header(struct sma_ws_conn *conn, struct lws *wsi, const char *name)
{
    char lower[64], value[512];
    int len = snprintf(lower, sizeof lower, "%s:", name);
    for (char *at = lower; *at != '\0'; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    int count = lws_hdr_custom_copy(wsi, value, sizeof value, lower, len);
    if (count > 0)
        sma_buf_printf(&conn->head, "%s: %.*s\r\n", name, count, value);
}

/* The head of the answer is whole; of a refusal, what came of its body in the same packets is read
 * too. */
int ws_conn_look_at_answer(struct sma_ws_conn *conn, struct lws *wsi)
{
    conn->http_status = (int)lws_http_client_http_response(wsi);
    if (conn->http_status == 101)
        return 0;
    for (size_t i = 0; i < conn->ask.kept_header_count; i++)
        keep_header(conn, wsi, conn->ask.kept_headers[i]);
    char *bytes = NULL;
    int len = 0;
    (void)lws_http_client_read(wsi, &bytes, &len); /* tells by RECEIVE_CLIENT_HTTP_READ */
    return -1;
}

/* -- the beginning ---------------------------------------------------------------------------- */
enum sma_err ws_conn_prepare(struct sma_ws_conn *conn, const struct sma_ws_ask *ask)
{
    sma_buf_init(&conn->request, WS_REQUEST_BYTES_MAX);
    sma_buf_init(&conn->head, WS_HEAD_BYTES_MAX);
    sma_buf_init(&conn->body, WS_REFUSAL_BYTES_MAX);
    enum sma_err err = ws_url_parse(sma_str(ask->url), &conn->url);
    if (err == SMA_ERR_OK)
        err = ws_put_request(&conn->request, &conn->url, ask->headers, ask->header_count);
    conn->url.target = (struct sma_str){"", 0}; /* it was the caller's text */
    return err;
}

enum sma_err ws_conn_begin(struct sma_ws_conn *conn)
{
    struct sma_proxy proxy;
    SMA_TRY(sma_proxy_choose(&conn->ws->proxy, conn->url.host, conn->url.is_tls, &proxy));
    conn->dial = net_dial_start(&(struct net_dial_ask){.names = &conn->ws->names,
                                                       .host = conn->url.host,
                                                       .port = conn->url.port,
                                                       .proxy = &proxy,
                                                       .done = on_dialled,
                                                       .user = conn});
    explicit_bzero(&proxy, sizeof proxy);
    return conn->dial == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}
