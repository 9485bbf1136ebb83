/*
 * bare_lws.c — the reference of bench_ingress: a libwebsockets server that takes a POST and only
 * answers. Prints its port; ends when its standard input does.
 */
#include <libwebsockets.h>

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char body[] =
    "{\"success\":true,\"status\":\"accepted\",\"runId\":\"1234567\",\"messageId\":"
    "\"0123456789abcdef0123456789abcdef\",\"position\":0,\"location\":\"/api/runs/1234567\"}";

static int write_answer(struct lws *wsi)
{
    unsigned char bytes[LWS_PRE + 1024];
    int len = snprintf(
        (char *)bytes + LWS_PRE, sizeof bytes - LWS_PRE,
        "HTTP/1.1 202 Accepted\r\nContent-Type: application/json; charset=utf-8\r\n"
        "Content-Length: %zu\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        "Location: /api/runs/1234567\r\n\r\n%s",
        sizeof body - 1, body);
    if (lws_write(wsi, bytes + LWS_PRE, (size_t)len, LWS_WRITE_HTTP_HEADERS) != len)
        return -1;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    (void)user;
    (void)in;
    (void)len;
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
            lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return write_answer(wsi);
    default:
        return 0;
    }
}

int main(void)
{
    static const struct lws_protocols protocols[] = {{"http", on_event, 0, 4096, 0, NULL, 0}, {0}};
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN,
                                             .protocols = protocols,
                                             .fd_limit_per_thread = 2048,
                                             .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                                                        LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS |
                                                        LWS_SERVER_OPTION_DISABLE_IPV6};
    lws_set_log_level(LLL_ERR, NULL);
    struct lws_context *context = lws_create_context(&info);
    info.port = 0;
    info.iface = "127.0.0.1";
    struct lws_vhost *vhost = context == NULL ? NULL : lws_create_vhost(context, &info);
    if (vhost == NULL)
        return 1;
    printf("%d\n", lws_get_vhost_listen_port(vhost));
    fflush(stdout);
    while (lws_service(context, 0) >= 0) {
    }
    lws_context_destroy(context);
    return 0;
}
