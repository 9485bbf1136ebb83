/* seen.c — how connections and models stand, for GET /api/status. */
#include "http_priv.h"

#include "runtime/tools/secrets.h"
#include "sma/links.h"

#define SEEN_BYTES_MAX (64 * 1024)

/* The texts are what platforms and providers said, and may hold what we told them: a token stands in the path of a URL. */
void http_put_seen(struct sma_http *http, struct sma_buf *body)
{
    struct sma_buf plain, clean;
    if (http->secrets == NULL && sma_secrets_create(http->config, &http->secrets) != SMA_ERR_OK)
        return;
    sma_buf_init(&plain, SEEN_BYTES_MAX);
    sma_buf_init(&clean, SEEN_BYTES_MAX);
    sma_buf_put_text(&plain, "\"platforms\":");
    sma_links_format(&plain);
    sma_buf_put_text(&plain, ",\"models\":");
    sma_targets_format(&plain, sma_ctx_wall(http->ctx));
    if (plain.err == SMA_ERR_OK)
        sma_secrets_put(http->secrets, &clean, sma_buf_str(&plain));
    if (plain.err == SMA_ERR_OK && clean.err == SMA_ERR_OK) {
        sma_buf_put_char(body, ',');
        sma_buf_put_str(body, sma_buf_str(&clean));
    }
    sma_buf_fini(&plain);
    sma_buf_fini(&clean);
}
