/* proxy.c — see proxy.h. */
#include "sma/proxy.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* -- what is written -------------------------------------------------------------------------- */
static int hex(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool decode(struct sma_str text, char room[SMA_PROXY_USER_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        int byte = (unsigned char)text.ptr[i];
        if (byte == '%' && i + 2 < text.len && hex(text.ptr[i + 1]) >= 0 &&
            hex(text.ptr[i + 2]) >= 0) {
            byte = hex(text.ptr[i + 1]) * 16 + hex(text.ptr[i + 2]);
            i += 2;
        }
        if (byte == 0 || len + 1 >= SMA_PROXY_USER_BYTES)
            return false;
        room[len++] = (char)byte;
    }
    room[len] = '\0';
    return true;
}

static bool take_user(struct sma_str text, struct sma_proxy *proxy)
{
    const char *colon = memchr(text.ptr, ':', text.len);
    size_t user_len = colon == NULL ? text.len : (size_t)(colon - text.ptr);
    struct sma_str password = {"", 0};
    if (colon != NULL)
        password = (struct sma_str){colon + 1, text.len - user_len - 1};
    return decode((struct sma_str){text.ptr, user_len}, proxy->user) &&
           decode(password, proxy->password);
}

static bool take_place(struct sma_str text, const char *default_port, struct sma_proxy *proxy)
{
    bool is_bracketed = text.len > 0 && text.ptr[0] == '[';
    const char *end = is_bracketed ? memchr(text.ptr, ']', text.len) : NULL;
    if (is_bracketed && end == NULL)
        return false;
    struct sma_str host = text;
    const char *colon = memchr(is_bracketed ? end : text.ptr, ':',
                               text.len - (is_bracketed ? (size_t)(end - text.ptr) : 0));
    if (is_bracketed)
        host = (struct sma_str){text.ptr + 1, (size_t)(end - text.ptr) - 1};
    else if (colon != NULL)
        host.len = (size_t)(colon - text.ptr);
    int64_t port = 0;
    struct sma_str port_text = sma_str(default_port);
    if (colon != NULL)
        port_text = (struct sma_str){colon + 1, (size_t)(text.ptr + text.len - colon) - 1};
    if (host.len == 0 || host.len >= sizeof proxy->host ||
        sma_parse_i64(port_text, 1, 65535, &port) != SMA_ERR_OK)
        return false;
    memcpy(proxy->host, host.ptr, host.len);
    (void)snprintf(proxy->port, sizeof proxy->port, "%d", (int)port);
    return true;
}

static bool take_scheme(struct sma_str *text, struct sma_proxy *proxy, const char **ret_scheme,
                        const char **ret_port)
{
    static const struct
    {
        const char *scheme, *port;
        enum sma_proxy_kind kind;
    } schemes[] = {
        {"http://", "1080", SMA_PROXY_HTTP},      {"socks5h://", "1080", SMA_PROXY_SOCKS5H},
        {"socks5://", "1080", SMA_PROXY_SOCKS5H}, {"https://", "443", SMA_PROXY_OTHER},
        {"socks4://", "1080", SMA_PROXY_OTHER},   {"socks4a://", "1080", SMA_PROXY_OTHER}};
    for (size_t i = 0; i < SMA_COUNT_OF(schemes); i++) {
        size_t len = strlen(schemes[i].scheme);
        if (text->len < len || strncasecmp(text->ptr, schemes[i].scheme, len) != 0)
            continue;
        proxy->kind = schemes[i].kind;
        *ret_scheme = schemes[i].scheme;
        *ret_port = schemes[i].port;
        *text = (struct sma_str){text->ptr + len, text->len - len};
        return true;
    }
    return false;
}

enum sma_err sma_proxy_parse(struct sma_str text, struct sma_proxy *ret_proxy)
{
    struct sma_proxy proxy = {0};
    const char *scheme = "", *port = "";
    *ret_proxy = proxy;
    if (text.len == 0 || sma_str_is_equal(text, SMA_STR("none")))
        return SMA_ERR_OK;
    if (sma_str_is_equal(text, SMA_STR("environment"))) {
        ret_proxy->kind = SMA_PROXY_ENVIRONMENT;
        (void)snprintf(ret_proxy->name, sizeof ret_proxy->name, "of the environment");
        return SMA_ERR_OK;
    }
    if (!take_scheme(&text, &proxy, &scheme, &port))
        return SMA_ERR_BADINPUT;
    size_t len = 0;
    while (len < text.len && strchr("/?#", text.ptr[len]) == NULL)
        len++;
    const char *at = memrchr(text.ptr, '@', len);
    size_t user_len = at == NULL ? 0 : (size_t)(at - text.ptr),
           place_at = at == NULL ? 0 : user_len + 1;
    if ((at != NULL && !take_user((struct sma_str){text.ptr, user_len}, &proxy)) ||
        !take_place((struct sma_str){text.ptr + place_at, len - place_at}, port, &proxy))
        return SMA_ERR_BADINPUT;
    bool is_ipv6 = strchr(proxy.host, ':') != NULL;
    (void)snprintf(proxy.name, sizeof proxy.name, "%s%s%s%s:%s", scheme, is_ipv6 ? "[" : "",
                   proxy.host, is_ipv6 ? "]" : "", proxy.port);
    *ret_proxy = proxy;
    return SMA_ERR_OK;
}

/* -- whom it is for --------------------------------------------------------------------------- */
static bool is_here(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
           strcmp(host, "::1") == 0;
}

/* no_proxy: names with commas or blanks between; each stands for itself and what is below it. */
static bool is_excepted(const char *list, const char *host)
{
    size_t host_len = strlen(host);
    if (list == NULL)
        return false;
    while (*list != '\0') {
        list += strspn(list, ", ");
        size_t len = strcspn(list, ", ");
        const char *name = list;
        list += len;
        if (len == 1 && name[0] == '*')
            return true;
        if (len > 0 && name[0] == '.') {
            name++;
            len--;
        }
        if (len > 0 && host_len >= len && strncasecmp(host + host_len - len, name, len) == 0 &&
            (host_len == len || host[host_len - len - 1] == '.'))
            return true;
    }
    return false;
}

static const char *variable(const char *lower, const char *upper)
{
    const char *value = getenv(lower);
    if ((value == NULL || value[0] == '\0') && upper != NULL)
        value = getenv(upper);
    return value == NULL ? "" : value;
}

static SMA_CHECKED enum sma_err read_environment(const char *host, bool is_tls,
                                                 struct sma_proxy *ret_proxy)
{
    char with_scheme[1200];
    const char *value = is_tls ? variable("https_proxy", "HTTPS_PROXY")
                               : variable("http_proxy", NULL); /* HTTP_PROXY is a CGI's header */
    *ret_proxy = (struct sma_proxy){0};
    if (value[0] == '\0')
        value = variable("all_proxy", "ALL_PROXY");
    if (value[0] == '\0' || is_excepted(variable("no_proxy", "NO_PROXY"), host))
        return SMA_ERR_OK;
    (void)snprintf(with_scheme, sizeof with_scheme, "%s%s",
                   strstr(value, "://") == NULL ? "http://" : "", value);
    enum sma_err err = sma_proxy_parse(sma_str(with_scheme), ret_proxy);
    explicit_bzero(with_scheme, sizeof with_scheme);
    return err;
}

enum sma_err sma_proxy_choose(const struct sma_proxy *proxy, const char *host, bool is_tls,
                              struct sma_proxy *ret_proxy)
{
    *ret_proxy = (struct sma_proxy){0};
    if (proxy->kind == SMA_PROXY_NONE || is_here(host))
        return SMA_ERR_OK;
    if (proxy->kind == SMA_PROXY_ENVIRONMENT)
        SMA_TRY(read_environment(host, is_tls, ret_proxy));
    else
        *ret_proxy = *proxy;
    return ret_proxy->kind == SMA_PROXY_OTHER ? SMA_ERR_BADINPUT : SMA_ERR_OK;
}
