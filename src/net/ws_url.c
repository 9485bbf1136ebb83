/* ws_url.c — what is said before the first frame: URL and request. Pure. */

#include "ws_priv.h"

#include "sma/text.h"

#include <stdio.h>

/* -- the URL ---------------------------------------------------------------------------------- */
static bool is_plain(struct sma_str text) /* nothing that could break a request line or a header */
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || (unsigned char)text.ptr[i] >= 0x7f)
            return false;
    return true;
}

static size_t find_any(struct sma_str text, const char *set)
{
    size_t at = 0;
    while (at < text.len && strchr(set, text.ptr[at]) == NULL)
        at++;
    return at;
}

static enum sma_err parse_host(struct sma_str authority, struct ws_url *url)
{
    struct sma_str host = authority, port = {0};
    if (authority.len > 0 && authority.ptr[0] == '[') {
        const char *end = memchr(authority.ptr, ']', authority.len);
        if (end == NULL)
            return SMA_ERR_BADINPUT;
        host = (struct sma_str){authority.ptr + 1, (size_t)(end - authority.ptr) - 1};
        port = (struct sma_str){end + 1, authority.len - host.len - 2};
        url->is_ipv6 = true;
    } else {
        host.len = find_any(authority, ":");
        port = (struct sma_str){host.ptr + host.len, authority.len - host.len};
    }
    if (host.len == 0 || host.len >= sizeof url->host || find_any(host, "@[]/\\%\"<>") < host.len)
        return SMA_ERR_BADINPUT;
    memcpy(url->host, host.ptr, host.len);
    url->host[host.len] = '\0';
    int64_t number = url->is_tls ? 443 : 80;
    url->is_default_port = port.len == 0;
    if (port.len > 0 &&
        (port.ptr[0] != ':' || sma_parse_i64((struct sma_str){port.ptr + 1, port.len - 1}, 1, 65535,
                                             &number) != SMA_ERR_OK))
        return SMA_ERR_BADINPUT;
    (void)snprintf(url->port, sizeof url->port, "%d", (int)number);
    return SMA_ERR_OK;
}

enum sma_err ws_url_parse(struct sma_str text, struct ws_url *ret_url)
{
    struct ws_url url = {0};
    struct sma_str rest = text;
    size_t scheme = find_any(text, ":");
    url.is_tls = sma_str_is_equal_nocase((struct sma_str){text.ptr, scheme}, SMA_STR("wss"));
    if (text.len > WS_URL_BYTES_MAX || !is_plain(text) ||
        (!url.is_tls &&
         !sma_str_is_equal_nocase((struct sma_str){text.ptr, scheme}, SMA_STR("ws"))))
        return SMA_ERR_BADINPUT;
    rest.ptr += scheme;
    rest.len -= scheme;
    if (!sma_str_starts_with(rest, SMA_STR("://")))
        return SMA_ERR_BADINPUT;
    rest.ptr += 3;
    rest.len -= 3;
    size_t authority = find_any(rest, "/?#");
    enum sma_err err = parse_host((struct sma_str){rest.ptr, authority}, &url);
    if (err != SMA_ERR_OK)
        return err;
    rest.ptr += authority;
    rest.len -= authority;
    url.target = (struct sma_str){rest.ptr, find_any(rest, "#")};
    *ret_url = url;
    return SMA_ERR_OK;
}

/* -- the request ------------------------------------------------------------------------------ */
static bool is_header_allowed(struct sma_str line)
{
    static const char *const own[] = {"Host",
                                      "Upgrade",
                                      "Connection",
                                      "Sec-WebSocket-Key",
                                      "Sec-WebSocket-Version",
                                      "Sec-WebSocket-Extensions",
                                      "Content-Length",
                                      "Transfer-Encoding"};
    struct sma_str name = {line.ptr, find_any(line, ":")};
    if (name.len == 0 || name.len == line.len || !is_plain(name))
        return false;
    for (size_t i = 0; i < line.len; i++)
        if (((unsigned char)line.ptr[i] < ' ' && line.ptr[i] != '\t') || line.ptr[i] == 0x7f)
            return false;
    for (size_t i = 0; i < SMA_COUNT_OF(own); i++)
        if (sma_str_is_equal_nocase(name, sma_str(own[i])))
            return false;
    return true;
}

enum sma_err ws_put_request(struct sma_buf *buf, const struct ws_url *url,
                            const char *const *headers, size_t header_count)
{
    bool has_slash = url->target.len > 0 && url->target.ptr[0] == '/';
    sma_buf_printf(buf, "GET %s%.*s HTTP/1.1\r\n", has_slash ? "" : "/", (int)url->target.len,
                   url->target.ptr);
    sma_buf_printf(buf, "Host: %s%s%s%s%s\r\n", url->is_ipv6 ? "[" : "", url->host,
                   url->is_ipv6 ? "]" : "", url->is_default_port ? "" : ":",
                   url->is_default_port ? "" : url->port);
    sma_buf_printf(buf,
                   "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n");
    for (size_t i = 0; i < header_count; i++) {
        if (!is_header_allowed(sma_str(headers[i])))
            return SMA_ERR_BADINPUT;
        sma_buf_put_text(buf, headers[i]);
        sma_buf_put_text(buf, "\r\n");
    }
    return buf->err == SMA_ERR_TOOBIG ? SMA_ERR_BADINPUT : buf->err;
}

static struct sma_str ws_header(struct sma_str head, const char *name)
{
    struct sma_str wanted = sma_str(name);
    while (head.len > 0) {
        const char *end = memchr(head.ptr, '\n', head.len);
        size_t len = end == NULL ? head.len : (size_t)(end - head.ptr) + 1;
        if (len > wanted.len && head.ptr[wanted.len] == ':' &&
            sma_str_is_equal_nocase((struct sma_str){head.ptr, wanted.len}, wanted))
            return sma_str_trim((struct sma_str){head.ptr + wanted.len + 1, len - wanted.len - 1});
        head.ptr += len;
        head.len -= len;
    }
    return (struct sma_str){"", 0};
}

struct sma_str sma_ws_closed_header(const struct sma_ws_closed *closed, const char *name)
{
    return ws_header(closed->head, name);
}
