/*
 * cors.c — pages of other origins: those of `api.cors` are served, as a browser needs to be told.
 *
 * A page that is let in still needs the token; no cookies are set or read, so credentials are never
 * allowed. The origin is always named, never "*", since the answer depends on it.
 * Source: WHATWG Fetch §3.2.
 */
#include "http_priv.h"

bool http_cors_allows(const struct sma_http *http, struct sma_str origin)
{
    const char *at = http->config->api_cors;
    if (at == NULL || origin.len == 0 || origin.len > HTTP_ORIGIN_BYTES_MAX ||
        memchr(origin.ptr, ' ', origin.len) != NULL)
        return false;
    while (*at != '\0') {
        struct sma_str allowed = {at, strcspn(at, " ")};
        if (sma_str_is_equal(allowed, SMA_STR("*")) || sma_str_is_equal_nocase(allowed, origin))
            return true;
        at += allowed.len + (at[allowed.len] == ' ');
    }
    return false;
}

void http_cors_note(struct http_conn *conn, const struct sma_http_request *request)
{
    conn->origin_len = 0;
    if (!request->has_origin || !http_cors_allows(conn->server, request->origin))
        return;
    memcpy(conn->origin, request->origin.ptr, request->origin.len);
    conn->origin_len = request->origin.len;
}

void http_put_cors(const struct http_conn *conn, struct sma_buf *out)
{
    const char *list = conn->server->config->api_cors;
    if (list == NULL || list[0] == '\0')
        return;
    sma_buf_put_text(out, "Vary: Origin\r\n");
    if (conn->origin_len == 0)
        return;
    sma_buf_put_text(out, "Access-Control-Allow-Origin: ");
    sma_buf_put_str(out, (struct sma_str){conn->origin, conn->origin_len});
    sma_buf_put_text(out, "\r\nAccess-Control-Expose-Headers: Location, Retry-After, Allow, "
                          "X-Message-Id, Preference-Applied, WWW-Authenticate\r\n");
}
