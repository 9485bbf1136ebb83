/* origin.c — see origin.h. */
#include "origin.h"

#include "runtime/web/url.h"
#include "sma/text.h"

static enum sma_err read_url(const char *text, struct sma_web_url *ret_url)
{
    struct sma_buf why; /* a sentence for models, which does not fit here */
    sma_buf_init(&why, 512);
    enum sma_err err = sma_web_url_read(sma_str(text), ret_url, &why);
    sma_buf_fini(&why);
    return err;
}

enum sma_err sma_mcp_url_join(struct sma_buf *buf, const char *base, struct sma_str reference)
{
    struct sma_web_url from, to;
    struct sma_buf why;
    SMA_TRY(read_url(base, &from));
    sma_buf_init(&why, 512);
    enum sma_err err = sma_web_url_follow(&from, reference, &to, &why);
    sma_buf_fini(&why);
    if (err == SMA_ERR_OK)
        sma_buf_put_text(buf, to.text);
    return err == SMA_ERR_OK ? buf->err : err;
}

bool sma_mcp_url_is_same_origin(const char *a, const char *b)
{
    struct sma_web_url left, right;
    return read_url(a, &left) == SMA_ERR_OK && read_url(b, &right) == SMA_ERR_OK &&
           left.is_tls == right.is_tls && left.port == right.port &&
           strcmp(left.host, right.host) == 0;
}

bool sma_mcp_url_is_loopback(const char *url)
{
    struct sma_web_url read;
    if (read_url(url, &read) != SMA_ERR_OK)
        return false;
    return strcmp(read.host, "localhost") == 0 || strcmp(read.host, "::1") == 0 ||
           (read.is_ip && strncmp(read.host, "127.", 4) == 0);
}

enum sma_err sma_mcp_url_put_origin(struct sma_buf *buf, const char *url)
{
    struct sma_web_url read;
    SMA_TRY(read_url(url, &read));
    bool is_six = strchr(read.host, ':') != NULL;
    sma_buf_printf(buf, "http%s://%s%s%s", read.is_tls ? "s" : "", is_six ? "[" : "", read.host,
                   is_six ? "]" : "");
    if (read.port != (read.is_tls ? 443u : 80u))
        sma_buf_printf(buf, ":%u", read.port);
    return buf->err;
}

enum sma_err sma_mcp_url_put_path(struct sma_buf *buf, const char *url)
{
    struct sma_web_url read;
    SMA_TRY(read_url(url, &read));
    const char *path = strchr(strstr(read.text, "://") + 3, '/');
    size_t len = path == NULL ? 0 : strcspn(path, "?#");
    if (len > 1)
        sma_buf_put(buf, path, len);
    return buf->err;
}
