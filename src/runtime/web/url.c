/*
 * url.c — see url.h. The one place in runtime that knows libcurl: its reader of addresses, which is
 * a pure function. Another reader than the one that fetches could see another host.
 */
#include "runtime/web/url.h"

#include "sma/text.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <locale.h>
#include <stdlib.h>

static enum sma_err refuse(struct sma_buf *why, const char *sentence)
{
    sma_buf_put_text(why, sentence);
    return SMA_ERR_BADINPUT;
}

static bool has_bad_byte(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= 0x20 || text.ptr[i] == 0x7f || text.ptr[i] == '\\')
            return true;
    return false;
}

static bool is_address(const char *host)
{
    uint8_t bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Small letters; no brackets, no dot at the end: example.com. is example.com. */
static bool keep_host(const char *host, char ret_host[SMA_WEB_HOST_BYTES])
{
    size_t len = strlen(host);
    bool is_bracketed = len > 2 && host[0] == '[' && host[len - 1] == ']';
    if (is_bracketed) {
        host++;
        len -= 2;
    }
    if (!is_bracketed && len > 1 && host[len - 1] == '.')
        len--;
    if (len == 0 || len >= SMA_WEB_HOST_BYTES)
        return false;
    for (size_t i = 0; i < len; i++) {
        char byte = host[i] >= 'A' && host[i] <= 'Z' ? (char)(host[i] | 0x20) : host[i];
        bool is_good = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                       byte == '-' || byte == '.' || byte == '_' || (is_bracketed && byte == ':');
        if (!is_good)
            return false;
        ret_host[i] = byte;
    }
    ret_host[len] = '\0';
    return ret_host[0] != '.';
}

static bool take_part(CURLU *curl, CURLUPart part, unsigned flags, char **ret_text)
{
    *ret_text = NULL;
    return curl_url_get(curl, part, ret_text, flags) == CURLUE_OK && *ret_text != NULL;
}

static enum sma_err read_parts(CURLU *curl, struct sma_web_url *url, struct sma_buf *why)
{
    /* libidn2 reads names in the locale's encoding; the service has none */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 == (locale_t)0 ? (locale_t)0 : uselocale(utf8);
    char *scheme = NULL, *host = NULL, *port = NULL, *text = NULL, *other = NULL;
    enum sma_err err = SMA_ERR_OK;
    if (!take_part(curl, CURLUPART_SCHEME, 0, &scheme) ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        err = refuse(why, "Only addresses that begin with http:// or https:// are fetched.");
    else if (take_part(curl, CURLUPART_USER, 0, &other) ||
             take_part(curl, CURLUPART_PASSWORD, 0, &other) ||
             take_part(curl, CURLUPART_ZONEID, 0, &other))
        err = refuse(why, "An address with a user, a password or a zone in it is not fetched.");
    else if (!take_part(curl, CURLUPART_HOST, CURLU_PUNYCODE, &host) ||
             !take_part(curl, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port) ||
             !keep_host(host, url->host))
        err = refuse(why, "The address has no host that can be asked.");
    if (err == SMA_ERR_OK) {
        url->is_tls = strcmp(scheme, "https") == 0;
        url->is_ip = is_address(url->host);
        url->port = (unsigned)strtoul(port, NULL, 10);
        /* the one spelling: the host in ASCII, no fragment */
        bool is_set = curl_url_set(curl, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
                      (strchr(host, ':') != NULL ||
                       curl_url_set(curl, CURLUPART_HOST, url->host, 0) == CURLUE_OK) &&
                      take_part(curl, CURLUPART_URL, 0, &text);
        if (!is_set || strlen(text) > SMA_WEB_URL_BYTES_MAX)
            err = refuse(why, "The address is too long.");
        else
            memcpy(url->text, text, strlen(text) + 1);
    }
    if (utf8 != (locale_t)0) {
        (void)uselocale(before);
        freelocale(utf8);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(text);
    curl_free(other);
    return err;
}

static enum sma_err read_url(const struct sma_web_url *from, struct sma_str text,
                             struct sma_web_url *ret_url, struct sma_buf *why)
{
    if (text.len == 0 || text.len > SMA_WEB_URL_BYTES_MAX)
        return refuse(why, text.len == 0 ? "The address is empty." : "The address is too long.");
    if (has_bad_byte(text))
        return refuse(why, "The address holds blanks, backslashes or control characters.");
    SMA_AUTO(sma_freep) char *copy = strndup(text.ptr, text.len);
    CURLU *curl = curl_url();
    if (copy == NULL || curl == NULL) {
        curl_url_cleanup(curl);
        return SMA_ERR_NOMEM;
    }
    enum sma_err err = SMA_ERR_OK;
    if (strlen(copy) != text.len ||
        (from != NULL && curl_url_set(curl, CURLUPART_URL, from->text, 0) != CURLUE_OK) ||
        curl_url_set(curl, CURLUPART_URL, copy, CURLU_URLENCODE) != CURLUE_OK)
        err = refuse(why, "It is no address that can be fetched; expected one like "
                          "https://example.com/page.");
    struct sma_web_url url = {.port = 0};
    if (err == SMA_ERR_OK)
        err = read_parts(curl, &url, why);
    curl_url_cleanup(curl);
    if (err == SMA_ERR_OK)
        *ret_url = url;
    return err;
}

enum sma_err sma_web_url_read(struct sma_str text, struct sma_web_url *ret_url, struct sma_buf *why)
{
    return read_url(NULL, text, ret_url, why);
}

enum sma_err sma_web_url_follow(const struct sma_web_url *from, struct sma_str location,
                                struct sma_web_url *ret_url, struct sma_buf *why)
{
    return read_url(from, location, ret_url, why);
}

bool sma_web_host_read(struct sma_str text, char ret_host[SMA_WEB_HOST_BYTES])
{
    char line[SMA_WEB_HOST_BYTES + 16] = "http://";
    struct sma_web_url url;
    struct sma_buf why;
    bool is_6 = text.len > 0 && memchr(text.ptr, ':', text.len) != NULL;
    if (text.len == 0 || text.len > SMA_WEB_HOST_BYTES - 3)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (strchr("/?#@[]%", text.ptr[i]) != NULL)
            return false;
    size_t len = strlen(line);
    if (is_6)
        line[len++] = '[';
    memcpy(line + len, text.ptr, text.len);
    len += text.len;
    if (is_6)
        line[len++] = ']';
    line[len] = '\0';
    sma_buf_init(&why, 1000);
    bool is_good = sma_web_url_read((struct sma_str){line, len}, &url, &why) == SMA_ERR_OK;
    sma_buf_fini(&why);
    if (is_good)
        memcpy(ret_host, url.host, sizeof url.host);
    return is_good;
}
