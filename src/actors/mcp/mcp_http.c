/*
 * mcp_http.c — links to servers over HTTP: opened, spoken through, closed.
 */
#include "mcp_http_priv.h"

#include "runtime/json/json_read.h"
#include "runtime/mcp/http_head.h"
#include "runtime/mcp/origin.h"
#include "sma/proxy.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

/* -- what all links share ---------------------------------------------------------------------- */
/* Made with the first server that needs it. */
static enum sma_err open_shared(struct sma_mcp *mcp, struct sma_error *error)
{
    if (mcp->http != NULL)
        return SMA_ERR_OK;
    struct mcp_http *http = calloc(1, sizeof *http);
    if (http == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for HTTP");
    http->mcp = mcp;
    struct sma_proxy proxy = {.kind = SMA_PROXY_NONE};
    const char *text = mcp->config->proxy == NULL ? "" : mcp->config->proxy;
    enum sma_err err = sma_proxy_parse(sma_str(text), &proxy);
    if (err != SMA_ERR_OK)
        (void)sma_fail(error, err, "the proxy of ship.json cannot be used");
    else
        err = sma_net_open(mcp->ctx, &http->net, error);
    if (err != SMA_ERR_OK) {
        free(http);
        return err;
    }
    sma_net_use_proxy(http->net, &proxy);
    sma_net_on_pass(http->net, mcp_http_pass, http);
    mcp->http = http;
    return SMA_ERR_OK;
}

void mcp_http_stop(struct sma_mcp *mcp)
{
    struct mcp_http *http = SMA_TAKE(mcp->http);
    if (http == NULL)
        return;
    sma_net_close(http->net);
    free(http);
}

/* -- saying ------------------------------------------------------------------------------------ */
static enum mcp_http_what what_is(const struct sma_mcp_out *out)
{
    static const struct
    {
        const char *method;
        enum mcp_http_what what;
    } known[] = {{"server/discover", MCP_HTTP_DISCOVER},
                 {"initialize", MCP_HTTP_INITIALIZE},
                 {"notifications/initialized", MCP_HTTP_INITIALIZED},
                 {"tools/call", MCP_HTTP_CALL},
                 {"subscriptions/listen", MCP_HTTP_LISTEN}};
    for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
        if (sma_str_is_equal(out->method, sma_str(known[i].method)))
            return known[i].what;
    return out->id == 0 ? MCP_HTTP_TELL : MCP_HTTP_ASK;
}

static void add_line(void *user, const char *line)
{
    mcp_http_exchange_add_header(user, line);
}

/* Arguments that are repeated in headers. */
static void add_params(struct mcp_http_exchange *exchange, const struct sma_mcp_out *out)
{
    struct sma_mcp_session *session = exchange->link->server->session;
    const struct sma_mcp_catalogue *offer = sma_mcp_session_offer(session);
    for (size_t i = 0; offer != NULL && i < offer->tool_count; i++) {
        const struct sma_mcp_tool *tool = &offer->tools[i];
        if (!sma_str_is_equal(tool->name, out->name) ||
            memmem(tool->schema.ptr, tool->schema.len, "x-mcp-header", 12) == NULL)
            continue;
        json_t *schema = NULL, *message = NULL;
        if (sma_json_load(tool->schema, &schema) == SMA_ERR_OK &&
            sma_json_load_tolerant(out->text, false, &message) == SMA_ERR_OK)
            sma_mcp_header_params(schema,
                                  sma_json_get(sma_json_get(message, "params"), "arguments"),
                                  add_line, exchange);
        json_decref(schema);
        json_decref(message);
        return;
    }
}

static void add_modern_head(struct mcp_http_exchange *exchange, const struct sma_mcp_out *out)
{
    struct sma_buf line;
    sma_buf_init(&line, 16384);
    sma_buf_put_text(&line, "Mcp-Method: ");
    sma_buf_put_str(&line, out->method);
    if (line.err == SMA_ERR_OK)
        mcp_http_exchange_add_header(exchange, line.ptr);
    sma_buf_clear(&line);
    sma_buf_put_text(&line, "Mcp-Name: ");
    sma_mcp_put_header_value(&line, out->name);
    if (out->name.len > 0 && line.err == SMA_ERR_OK)
        mcp_http_exchange_add_header(exchange, line.ptr);
    sma_buf_fini(&line);
    if (exchange->what == MCP_HTTP_CALL)
        add_params(exchange, out);
}

/* Given up: nobody waits for its answer any more. @return is that all that has to be done? */
static bool cancel(struct mcp_http_link *link, const struct sma_mcp_out *out)
{
    for (struct mcp_http_exchange *at = link->exchanges; at != NULL; at = at->next)
        if (at->id == out->cancels && !at->is_gone)
            mcp_http_exchange_drop(at);
    return out->is_modern; /* there the end of the connection says it */
}

static void send_text(struct mcp_server *server, const struct sma_mcp_out *out)
{
    struct mcp_http_link *link = server->link;
    if (link == NULL || link->is_closing || link->url == NULL ||
        (out->cancels != 0 && cancel(link, out)))
        return;
    struct mcp_http_exchange *exchange = mcp_http_exchange_add(link, MCP_HTTP_POST);
    if (exchange == NULL)
        return;
    exchange->what = what_is(out);
    exchange->id = out->id;
    exchange->is_modern = out->is_modern;
    (void)snprintf(exchange->version, sizeof exchange->version, "%s", out->version);
    (void)snprintf(link->version, sizeof link->version, "%s", out->version);
    exchange->body = strndup(out->text.ptr, out->text.len);
    exchange->body_len = out->text.len;
    if (exchange->body == NULL) {
        mcp_link_lost(server, "no memory for what it is asked");
        return;
    }
    if (exchange->what == MCP_HTTP_INITIALIZE)
        link->session[0] = '\0';
    if (out->is_modern)
        add_modern_head(exchange, out);
    exchange->is_held = link->is_settling;
    link->is_settling = link->is_settling || exchange->what == MCP_HTTP_INITIALIZED;
    if (!exchange->is_held)
        mcp_http_exchange_start(exchange);
}

static const struct mcp_http_ops http_ops;

/* -- opening and closing ----------------------------------------------------------------------- */
static enum sma_err open_link(struct mcp_server *server, bool is_sse, struct sma_error *error)
{
    struct sma_buf url;
    SMA_TRY(open_shared(server->mcp, error));
    sma_buf_init(&url, SMA_MCP_URL_BYTES_MAX);
    struct mcp_http_link *link = calloc(1, sizeof *link);
    enum sma_err err = sma_mcp_url_join(&url, server->config->url, sma_str(server->config->url));
    if (err == SMA_ERR_OK && link != NULL && !is_sse)
        link->url = sma_buf_take(&url);
    sma_buf_fini(&url);
    if (err != SMA_ERR_OK || link == NULL || (!is_sse && link->url == NULL)) {
        free(link);
        return err == SMA_ERR_BADINPUT
                   ? sma_fail(error, err,
                              "its url in mcp.json cannot be read; a name and a password do not "
                              "belong there but into headers")
                   : sma_fail(error, SMA_ERR_NOMEM, "no memory for it");
    }
    link->server = server;
    link->ops = &http_ops;
    link->is_sse = is_sse;
    link->due_ns = UINT64_MAX;
    SMA_ASSERT(uv_timer_init(sma_ctx_loop(server->mcp->ctx), &link->timer) == 0);
    link->timer.data = link;
    link->has_timer = true;
    server->link = link;
    mcp_oauth_open(link);
    if (is_sse)
        mcp_sse_begin(link);
    else
        mcp_link_opened(server);
    return SMA_ERR_OK;
}

static enum sma_err open_http(struct mcp_server *server, struct sma_error *error)
{
    return open_link(server, false, error);
}

static enum sma_err open_sse(struct mcp_server *server, struct sma_error *error)
{
    return open_link(server, true, error);
}

static void on_closed(uv_handle_t *handle)
{
    struct mcp_http_link *link = handle->data;
    struct mcp_server *server = link->server;
    free(link->url);
    free(link);
    server->link = NULL;
    if (server->phase == MCP_CLOSING)
        mcp_link_closed(server);
}

/* Nothing of it is under way. */
static void finish_closing(struct mcp_http_link *link)
{
    if (!link->has_timer)
        return;
    link->has_timer = false;
    uv_close((uv_handle_t *)&link->timer, on_closed);
}

static void drop_all(struct mcp_http_link *link)
{
    struct mcp_http *http = link->server->mcp->http;
    link->waiting = NULL;
    for (struct mcp_http_exchange **at = &http->ready; *at != NULL;) {
        struct mcp_http_exchange *exchange = *at;
        if (exchange->link != link) {
            at = &exchange->next_ready;
            continue;
        }
        *at = exchange->next_ready;
        exchange->is_ready = false;
    }
    for (struct mcp_http_exchange *at = link->exchanges; at != NULL; at = at->next)
        if (!at->is_gone)
            mcp_http_exchange_drop(at);
    mcp_http_sweep(link);
}

static void close_link(struct mcp_server *server, bool is_at_once)
{
    struct mcp_http_link *link = server->link;
    link->is_closing = true;
    link->due_ns = UINT64_MAX;
    drop_all(link);
    bool may_say = !is_at_once && link->login == NULL;
    if (may_say && link->session[0] != '\0') {
        struct mcp_http_exchange *last = mcp_http_exchange_add(link, MCP_HTTP_DELETE);
        if (last != NULL) {
            memcpy(last->version, link->version, sizeof last->version);
            mcp_http_exchange_start(last);
        }
    }
    mcp_oauth_close(link);
    if (link->exchanges == NULL || is_at_once)
        finish_closing(link);
}

static const struct mcp_http_ops http_ops = {.ended = mcp_http_on_end,
                                             .due = mcp_http_on_due,
                                             .endpoint = mcp_sse_take_endpoint,
                                             .closed = finish_closing};

const struct mcp_transport mcp_http = {
    .probes_modern = true, .open = open_http, .send = send_text, .close = close_link};
const struct mcp_transport mcp_sse = {.open = open_sse, .send = send_text, .close = close_link};
