/*
 * listen.c — the listening socket: which address, and what to say when it cannot be had.
 */
#include "http_priv.h"

#include "sma/links.h"

#include <netdb.h>
#include <netinet/in.h>

#define HTTP_BACKLOG 511

static enum sma_err resolve(struct sma_http *http, struct sma_error *error)
{
    char port[16];
    const char *host = http->config->start_host;
    snprintf(port, sizeof port, "%d", http->config->start_port);
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    if (strcasecmp(host, "localhost") == 0)
        host = "127.0.0.1";
    int failed = getaddrinfo(host, port, &hints, &list);
    if (failed != 0 || list == NULL)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "cannot listen on \"%s\": %s; correct start.host in ship.json", host,
                        failed != 0 ? gai_strerror(failed) : "no address");
    memcpy(&http->address, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    if (http->address.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&http->address;
        http->is_loopback = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&http->address;
        http->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
    return SMA_ERR_OK;
}

static enum sma_err explain_listen(struct sma_http *http, int failed, struct sma_error *error)
{
    const char *host = http->config->start_host;
    int port = http->config->start_port;
    if (failed == UV_EADDRINUSE)
        return sma_fail(error, SMA_ERR_BUSY,
                        "port %d on %s is taken by another program: stop it, or choose another "
                        "port with --port N or "
                        "start.port in ship.json (0 = any free port)",
                        port, host);
    if (failed == UV_EACCES)
        return sma_fail(error, SMA_ERR_IO,
                        "not allowed to listen on %s:%d: choose a port over 1023 with --port N",
                        host, port);
    return sma_fail(error, SMA_ERR_IO,
                    "cannot listen on %s:%d: %s; check start.host and start.port in ship.json",
                    host, port, uv_strerror(failed));
}

enum sma_err http_server_listen(struct sma_http *http, struct sma_error *error)
{
    SMA_TRY(resolve(http, error));
    int failed = uv_tcp_init(http->loop, &http->listener);
    if (failed != 0)
        return explain_listen(http, failed, error);
    http->is_listening = true;
    http->listener.data = http;
    failed = uv_tcp_bind(&http->listener, (const struct sockaddr *)&http->address, 0);
    if (failed == 0)
        failed = uv_listen((uv_stream_t *)&http->listener, HTTP_BACKLOG, http_on_connection);
    struct sockaddr_storage bound;
    int bound_bytes = sizeof bound;
    if (failed == 0)
        failed = uv_tcp_getsockname(&http->listener, (struct sockaddr *)&bound, &bound_bytes);
    if (failed != 0)
        return explain_listen(http, failed, error);
    uint16_t port = bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                               : ((struct sockaddr_in6 *)&bound)->sin6_port;
    atomic_store(&http->port, ntohs(port));
    sma_link_up("http", sma_ctx_wall(http->ctx));
    return SMA_ERR_OK;
}

void http_server_stop_listening(struct sma_http *http)
{
    if (!http->is_listening)
        return;
    http->is_listening = false;
    sma_link_down("http", sma_ctx_wall(http->ctx), SMA_STR(""));
    uv_close((uv_handle_t *)&http->listener, NULL);
}
