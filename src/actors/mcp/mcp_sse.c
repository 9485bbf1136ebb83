/*
 * mcp_sse.c — standing streams: that of HTTP+SSE, which brings everything, and that of Streamable
 * HTTP, which brings what the server says by itself.
 */
#include "mcp_http_priv.h"

#include "runtime/mcp/origin.h"
#include "sma/text.h"

#include <stdio.h>

/* -- HTTP+SSE ---------------------------------------------------------------------------------- */
void mcp_sse_begin(struct mcp_http_link *link)
{
    struct mcp_http_exchange *stream = mcp_http_exchange_add(link, MCP_HTTP_STREAM);
    if (stream == NULL)
        return;
    link->due_ns = sma_ctx_now(link->server->mcp->ctx) + MCP_HTTP_SHORT_MS * SMA_NS_PER_MS;
    mcp_http_exchange_start(stream);
    mcp_http_arm(link);
}

/* What was to be said first and waited for the address. */
static void say_waiting(struct mcp_http_link *link)
{
    struct mcp_http_exchange *exchange = SMA_TAKE(link->waiting);
    if (exchange == NULL)
        mcp_link_opened(link->server);
    else
        mcp_http_exchange_start(exchange);
}

void mcp_sse_take_endpoint(struct mcp_http_link *link, struct sma_str data)
{
    struct sma_buf url;
    if (link->url != NULL)
        return; /* it has one */
    sma_buf_init(&url, SMA_MCP_URL_BYTES_MAX);
    const char *base = link->server->config->url;
    enum sma_err err = sma_mcp_url_join(&url, base, sma_str_trim(data));
    if (err != SMA_ERR_OK || !sma_mcp_url_is_same_origin(base, url.ptr)) {
        mcp_link_lost(link->server, err != SMA_ERR_OK
                                        ? "the address that it names for messages cannot be read"
                                        : "it names an address for messages at another host, which "
                                          "is refused");
        sma_buf_fini(&url);
        return;
    }
    link->url = sma_buf_take(&url);
    sma_buf_fini(&url);
    link->due_ns = UINT64_MAX;
    if (link->url == NULL)
        mcp_link_lost(link->server, "no memory for its address");
    else
        say_waiting(link);
}

/* -- Streamable HTTP --------------------------------------------------------------------------- */
void mcp_http_stream_open(struct mcp_http_link *link)
{
    struct mcp_http_exchange *stream = mcp_http_exchange_add(link, MCP_HTTP_STREAM);
    if (stream == NULL)
        return;
    memcpy(stream->version, link->version, sizeof stream->version);
    mcp_http_exchange_start(stream);
}

void mcp_http_stream_ended(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer)
{
    struct mcp_http_link *link = exchange->link;
    char why[MCP_TROUBLE_BYTES_MAX];
    if (exchange->status == 401 && mcp_oauth_wait(exchange))
        return;
    if (link->is_sse) {
        if (link->refusal[0] != '\0' && link->waiting != NULL)
            (void)snprintf(why, sizeof why, "%s", link->refusal);
        else if (exchange->status == 401)
            (void)snprintf(why, sizeof why, "it wants a login: type `shipmyagent mcp login %s`",
                           link->server->name);
        else if (exchange->status != 0 && answer->end == SMA_NET_ANSWERED &&
                 exchange->status != 200)
            (void)snprintf(why, sizeof why, "its stream is refused with HTTP status %d",
                           exchange->status);
        else
            (void)snprintf(why, sizeof why, "its stream ended%s%s",
                           answer->error[0] == '\0' ? "" : ": ", answer->error);
        mcp_link_lost(link->server, why);
        mcp_http_exchange_drop(exchange);
        return;
    }
    if (exchange->status >= 400 && exchange->status < 500) {
        mcp_http_exchange_drop(exchange); /* 405: it has none; changes are not heard of */
        return;
    }
    int64_t wait_ms =
        exchange->sse.retry_ms > MCP_HTTP_RESUME_MS ? exchange->sse.retry_ms : MCP_HTTP_RESUME_MS;
    for (unsigned i = 0; i < exchange->tries && wait_ms < MCP_HTTP_RESUME_MAX_MS; i++)
        wait_ms *= 2;
    wait_ms = wait_ms < MCP_HTTP_RESUME_MAX_MS ? wait_ms : MCP_HTTP_RESUME_MAX_MS;
    exchange->tries++;
    exchange->due_ns = sma_ctx_now(link->server->mcp->ctx) + (uint64_t)wait_ms * SMA_NS_PER_MS;
    mcp_http_arm(link);
}
