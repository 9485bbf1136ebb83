/*
 * tickets.c — for pages that cannot send a header: EventSource and WebSocket.
 *
 * A token in a URL stands in logs of proxies and in histories of browsers. A ticket stands there
 * harmlessly: it opens one path, for reading, for a quarter of an hour, and nothing else. It is a
 * keyed digest of its path and its end, so nothing is kept of it; the keys are made anew with each
 * start and each SIGHUP, which end all tickets.
 */
#include "http_priv.h"

#include "runtime/json/json_read.h"

#include <openssl/crypto.h>
#include <stdio.h>

#define TICKET_S 900
#define PATH_BYTES_MAX 128u
#define TICKET_BYTES (16 + 1 + 32)

static void make(const struct http_auth *auth, struct sma_str path, uint64_t end_s,
                 char ticket[TICKET_BYTES + 1])
{
    char bytes[PATH_BYTES_MAX + 32];
    uint64_t digest[HTTP_TOKEN_DIGEST_WORDS];
    int len = snprintf(bytes, sizeof bytes, "%016llx %.*s", (unsigned long long)end_s,
                       (int)path.len, path.ptr);
    for (size_t i = 0; i < HTTP_TOKEN_DIGEST_WORDS; i++)
        digest[i] = sma_siphash(auth->ticket_keys[i], bytes, (size_t)len);
    (void)snprintf(ticket, TICKET_BYTES + 1, "%016llx-%016llx%016llx", (unsigned long long)end_s,
                   (unsigned long long)digest[0], (unsigned long long)digest[1]);
}

bool http_ticket_opens(const struct sma_http *http, const struct sma_http_request *request)
{
    struct sma_buf given;
    char right[TICKET_BYTES + 1];
    sma_buf_init(&given, TICKET_BYTES + 1);
    unsigned long long end_s = 0;
    bool opens = request->path.len <= PATH_BYTES_MAX &&
                 sma_http_query_get(request->query, SMA_STR("ticket"), &given) == SMA_ERR_OK &&
                 given.len == TICKET_BYTES;
    for (size_t i = 0; opens && i < 16; i++) {
        const char *digits = "0123456789abcdef", *at = memchr(digits, given.ptr[i], 16);
        opens = at != NULL;
        end_s = end_s << 4 | (opens ? (unsigned)(at - digits) : 0);
    }
    if (opens) {
        make(&http->auth, request->path, end_s, right);
        opens = CRYPTO_memcmp(right, given.ptr, TICKET_BYTES) == 0 &&
                end_s >= http_now(http) / SMA_NS_PER_S;
    }
    sma_buf_fini(&given);
    return opens;
}

/* What a ticket can be for, and how long that may be. */
static bool is_path(struct sma_str path)
{
    struct sma_str value;
    const struct http_route_row *row = http_route_find(SMA_HTTP_GET, path, &value);
    return path.len <= PATH_BYTES_MAX && row != NULL &&
           (row->traits & HTTP_ROUTE_TAKES_TICKET) != 0;
}

void http_ticket_give(struct http_conn *conn, struct sma_str body)
{
    struct sma_http *http = conn->server;
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    struct sma_str path = SMA_STR("");
    if (sma_json_load(body, &root) == SMA_ERR_OK && json_is_object(root) &&
        json_object_size(root) == 1)
        path = sma_json_str(root, "path");
    if (!is_path(path)) {
        http_respond_error(conn, 400, NULL,
                           "A ticket is for \"/ws\" or the events of one run: send {\"path\": "
                           "\"/api/runs/17/events\"}");
        return;
    }
    char ticket[TICKET_BYTES + 1];
    struct sma_buf json;
    make(&http->auth, path, http_now(http) / SMA_NS_PER_S + TICKET_S, ticket);
    sma_buf_init(&json, 1024);
    sma_buf_printf(&json, "{\"success\":true,\"ticket\":\"%s\",\"seconds\":%d,\"url\":", ticket,
                   TICKET_S);
    char url[PATH_BYTES_MAX + TICKET_BYTES + 16];
    (void)snprintf(url, sizeof url, "%.*s?ticket=%s", (int)path.len, path.ptr, ticket);
    sma_buf_put_json_string(&json, sma_str(url));
    sma_buf_put_char(&json, '}');
    http_respond(conn, 200, HTTP_JSON, sma_buf_str(&json), NULL);
    sma_buf_fini(&json);
}
