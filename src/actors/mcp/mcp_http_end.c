/*
 * mcp_http_end.c — exchanges that are over: what their end means for the request and the link.
 *
 * Of a request that may have arrived nobody says that it was not done, and nobody sends it again: a
 * stream that broke is asked to go on (Last-Event-ID), anything else is UNKNOWN.
 */
#include "mcp_http_priv.h"

#include "runtime/json/json_read.h"
#include "runtime/mcp/http_head.h"
#include "runtime/mcp/origin.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_handshake(const struct mcp_http_exchange *exchange)
{
    return exchange->what == MCP_HTTP_DISCOVER || exchange->what == MCP_HTTP_INITIALIZE;
}

/* Its request is answered with this; without the handshake there is no link. */
static void refuse(struct mcp_http_exchange *exchange, enum sma_mcp_outcome outcome,
                   const char *format, ...) SMA_PRINTF(3, 4);
static void refuse(struct mcp_http_exchange *exchange, enum sma_mcp_outcome outcome,
                   const char *format, ...)
{
    struct mcp_server *server = exchange->link->server;
    char why[MCP_TROUBLE_BYTES_MAX * 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments); /* cut: as well */
    va_end(arguments);
    if (is_handshake(exchange))
        mcp_link_lost(server, why);
    else if (exchange->id != 0)
        mcp_link_refused(server, exchange->id, outcome, sma_str(why));
    else
        mcp_log(server, SMA_LOG_DEBUG, "a word to it was not taken: %s", why);
    mcp_http_exchange_drop(exchange);
}

static bool is_open(const struct mcp_http_exchange *exchange)
{
    const struct mcp_server *server = exchange->link->server;
    return exchange->id != 0 && server->session != NULL && !server->is_lost &&
           sma_mcp_session_has_open(server->session, exchange->id);
}

/* -- streams that go on ------------------------------------------------------------------------ */
/* Ask for the rest when it is time; nobody says anything new. */
static void resume(struct mcp_http_exchange *exchange)
{
    int64_t wait_ms = exchange->sse.retry_ms >= 0 ? exchange->sse.retry_ms : MCP_HTTP_RESUME_MS;
    for (unsigned i = 0; i < exchange->tries; i++)
        wait_ms = (wait_ms < 100 ? 100 : wait_ms) * 2;
    wait_ms = wait_ms < MCP_HTTP_RESUME_MAX_MS ? wait_ms : MCP_HTTP_RESUME_MAX_MS;
    char id[sizeof exchange->sse.id];
    memcpy(id, exchange->sse.id, sizeof id);
    int64_t retry_ms = exchange->sse.retry_ms;
    sma_sse_reset(&exchange->sse);
    memcpy(exchange->sse.id, id, sizeof id);
    exchange->sse.retry_ms = retry_ms;
    exchange->kind = MCP_HTTP_RESUME;
    exchange->due_ns =
        sma_ctx_now(exchange->link->server->mcp->ctx) + (uint64_t)wait_ms * SMA_NS_PER_MS;
    mcp_http_arm(exchange->link);
}

static bool can_resume(const struct mcp_http_exchange *exchange)
{
    return !exchange->is_modern && exchange->sse.id[0] != '\0' &&
           exchange->tries < MCP_HTTP_TRIES_COUNT_MAX && is_open(exchange);
}

static void on_stream_broken(struct mcp_http_exchange *exchange,
                             const struct sma_net_answer *answer)
{
    if (!is_open(exchange)) {
        mcp_http_exchange_drop(exchange);
        return;
    }
    if (can_resume(exchange)) {
        resume(exchange);
        return;
    }
    refuse(exchange, SMA_MCP_UNKNOWN, "the connection ended before the answer came%s%s",
           answer->error[0] == '\0' ? "" : ": ", answer->error);
}

static void on_resume_ended(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer)
{
    bool is_refused = answer->end == SMA_NET_ANSWERED && exchange->status >= 400;
    bool is_good = answer->end == SMA_NET_ANSWERED && exchange->status < 300;
    exchange->tries = is_good && exchange->sse.is_started ? 0 : exchange->tries + 1;
    if (is_refused && is_open(exchange))
        refuse(exchange, SMA_MCP_UNKNOWN,
               "the connection ended before the answer came, and the rest is refused with HTTP "
               "status %d",
               exchange->status);
    else
        on_stream_broken(exchange, answer);
}

void mcp_http_on_due(struct mcp_http_exchange *exchange)
{
    if (exchange->unsent != NULL) {
        struct sma_net_answer answer = {.end = SMA_NET_NOT_SENT, .error = exchange->unsent};
        exchange->unsent = NULL;
        mcp_http_on_end(exchange, &answer);
        return;
    }
    bool was_asked = exchange->request != NULL;
    if (exchange->kind == MCP_HTTP_POST) { /* its answer is in, its end is not */
        mcp_http_exchange_drop(exchange);
        return;
    }
    if (exchange->kind == MCP_HTTP_RESUME && !is_open(exchange)) {
        mcp_http_exchange_drop(exchange);
        return;
    }
    if (was_asked) /* no head: some servers keep silent until there is something; ask again */
        sma_net_cancel(SMA_TAKE(exchange->request));
    if (exchange->kind == MCP_HTTP_RESUME)
        exchange->due_ns =
            sma_ctx_now(exchange->link->server->mcp->ctx) + MCP_HTTP_QUIET_MS * SMA_NS_PER_MS;
    mcp_http_exchange_start(exchange);
}

/* -- answers ----------------------------------------------------------------------------------- */
static bool is_json(const struct mcp_http_exchange *exchange)
{
    struct sma_str type = {exchange->type, strcspn(exchange->type, "; \t")};
    return sma_str_is_equal_nocase(type, SMA_STR("application/json"));
}

static bool is_stream(const struct mcp_http_exchange *exchange)
{
    struct sma_str type = {exchange->type, strcspn(exchange->type, "; \t")};
    return sma_str_is_equal_nocase(type, SMA_STR("text/event-stream"));
}

static void on_good(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer)
{
    struct mcp_http_link *link = exchange->link;
    if (exchange->what == MCP_HTTP_INITIALIZED && !link->is_sse)
        mcp_http_stream_open(link);
    if (link->is_sse) { /* its answer comes on the stream */
        mcp_http_exchange_drop(exchange);
        return;
    }
    if (is_stream(exchange)) {
        on_stream_broken(exchange, answer);
        return;
    }
    if (is_json(exchange) && exchange->in.len > 0)
        mcp_link_message(link->server, sma_buf_str(&exchange->in));
    if (is_open(exchange) && is_json(exchange))
        refuse(exchange, SMA_MCP_PROTOCOL_ERROR, "it answers with something else than an answer");
    else if (is_open(exchange))
        refuse(exchange, SMA_MCP_PROTOCOL_ERROR,
               "it answers with HTTP status %d and \"%.60s\" instead of JSON", exchange->status,
               exchange->type);
    else
        mcp_http_exchange_drop(exchange);
}

/* -- what waits ---------------------------------------------------------------------------- */
/* notifications/initialized was taken, or was not. */
static void settle(struct mcp_http_link *link)
{
    link->is_settling = false;
    for (;;) { /* in the order in which they were said: the last of them first in the list */
        struct mcp_http_exchange *first = NULL;
        for (struct mcp_http_exchange *at = link->exchanges; at != NULL; at = at->next)
            first = at->is_held && !at->is_gone ? at : first;
        if (first == NULL)
            return;
        first->is_held = false;
        mcp_http_exchange_start(first);
    }
}

/* It is HTTP+SSE, as it seems: what initialize was, waits; begin that way. */
static void fall_back(struct mcp_http_exchange *initialize)
{
    struct mcp_http_link *link = initialize->link;
    link->is_sse = true;
    link->waiting = initialize;
    free(link->url);
    link->url = NULL;
    mcp_sse_begin(link);
}

/* -- refusals ---------------------------------------------------------------------------------- */
/* What a body says: the message of a JSON-RPC error, or its beginning. */
static void read_refusal(const struct mcp_http_exchange *exchange, char *text, size_t size,
                         bool *ret_is_ours, bool *ret_is_rpc)
{
    json_t *root = NULL;
    struct sma_buf clean;
    struct sma_str said = sma_buf_str(&exchange->in);
    *ret_is_ours = *ret_is_rpc = false;
    if (said.len > 0 && sma_json_load_tolerant(said, false, &root) == SMA_ERR_OK) {
        const json_t *error = sma_json_get(root, "error"), *id = sma_json_get(root, "id");
        *ret_is_rpc = json_is_object(error);
        *ret_is_ours = *ret_is_rpc && json_is_integer(id) && exchange->id != 0 &&
                       json_integer_value(id) == (json_int_t)exchange->id;
        said = sma_json_str(json_is_object(error) ? error : root, "message");
    } else if (!sma_str_starts_with(sma_str(exchange->type), SMA_STR("text/plain"))) {
        said = SMA_STR(""); /* pages of HTML say nothing here */
    }
    sma_buf_init(&clean, 1024);
    sma_mcp_put_clean(&clean, said, 160);
    (void)snprintf(text, size, "%s", clean.err == SMA_ERR_OK && clean.len > 0 ? clean.ptr : "");
    sma_buf_fini(&clean);
    json_decref(root);
}

static bool means_no_session(const struct mcp_http_exchange *exchange, const char *text)
{
    if (exchange->link->session[0] == '\0' || exchange->what == MCP_HTTP_INITIALIZE)
        return false;
    return exchange->status == 404 ||
           (exchange->status == 400 && strcasestr(text, "session") != NULL);
}

/* It has forgotten us: begin anew. It has done nothing of what it was asked. */
static void lose_session(struct mcp_http_exchange *exchange)
{
    struct mcp_http_link *link = exchange->link;
    link->session[0] = '\0'; /* nothing to end */
    if (exchange->id != 0)
        mcp_link_refused(
            link->server, exchange->id, SMA_MCP_NOT_CONNECTED,
            SMA_STR("the server has ended the session; a new one is begun, ask again"));
    mcp_link_lost(link->server, "it has ended the session");
    mcp_http_exchange_drop(exchange);
}

static void on_redirect(struct mcp_http_exchange *exchange)
{
    struct mcp_http_link *link = exchange->link;
    struct sma_buf url;
    sma_buf_init(&url, SMA_MCP_URL_BYTES_MAX);
    bool keeps_method = exchange->status == 307 || exchange->status == 308;
    enum sma_err err = link->url == NULL || exchange->location[0] == '\0'
                           ? SMA_ERR_BADINPUT
                           : sma_mcp_url_join(&url, link->url, sma_str(exchange->location));
    bool is_same = err == SMA_ERR_OK && sma_mcp_url_is_same_origin(link->url, url.ptr);
    if (is_same && keeps_method && exchange->kind == MCP_HTTP_POST &&
        ++link->redirects <= MCP_HTTP_REDIRECT_COUNT_MAX) {
        free(link->url);
        link->url = sma_buf_take(&url);
        mcp_http_exchange_start(exchange);
        sma_buf_fini(&url);
        return;
    }
    struct sma_str host = err == SMA_ERR_OK ? sma_url_host(url.ptr) : SMA_STR("nowhere");
    if (link->redirects > MCP_HTTP_REDIRECT_COUNT_MAX) {
        refuse(exchange, SMA_MCP_NOT_CONNECTED,
               "it sends from one address to another more than %d times; write the url where it "
               "ends into mcp.json, or look at its configuration",
               MCP_HTTP_REDIRECT_COUNT_MAX);
        sma_buf_fini(&url);
        return;
    }
    refuse(exchange, SMA_MCP_NOT_CONNECTED,
           "it sends to another address (HTTP status %d, host %.*s), which is not followed; write "
           "the right url into mcp.json",
           exchange->status, (int)(host.len < 100 ? host.len : 100), host.ptr);
    sma_buf_fini(&url);
}

static bool may_be_sse(const struct mcp_http_exchange *exchange)
{
    int status = exchange->status;
    return exchange->what == MCP_HTTP_INITIALIZE && exchange->kind == MCP_HTTP_POST &&
           !exchange->link->is_sse && (status == 400 || status == 404 || status == 405);
}

/* 401 was not done: it is said again when there is a token. */
static void on_locked(struct mcp_http_exchange *exchange, const char *text)
{
    struct mcp_server *server = exchange->link->server;
    struct sma_mcp_challenge challenge;
    char why[MCP_TROUBLE_BYTES_MAX];
    bool is_bearer = sma_mcp_challenge_parse(sma_str(exchange->challenge), &challenge);
    if (exchange->status == 401 && mcp_oauth_wait(exchange))
        return;
    if (exchange->status == 403 && is_bearer &&
        strcmp(challenge.error, "insufficient_scope") == 0) {
        refuse(exchange, SMA_MCP_PROTOCOL_ERROR,
               "it wants more rights (%.100s): type `shipmyagent mcp login %s --scope ...`",
               challenge.scope, server->name);
        return;
    }
    if (exchange->status == 403) {
        refuse(exchange, SMA_MCP_PROTOCOL_ERROR, "it refuses (HTTP status 403%s%.100s)",
               text[0] == '\0' ? "" : ": ", text);
        return;
    }
    (void)snprintf(why, sizeof why,
                   "it wants a login: type `shipmyagent mcp login %s` (HTTP status 401%s%.80s)",
                   server->name, text[0] == '\0' ? "" : ": ", text);
    if (exchange->id != 0 && !is_handshake(exchange))
        mcp_link_refused(server, exchange->id, SMA_MCP_NOT_CONNECTED, sma_str(why));
    mcp_link_lost(server, why);
    mcp_http_exchange_drop(exchange);
}

static void on_refused(struct mcp_http_exchange *exchange)
{
    struct mcp_http_link *link = exchange->link;
    char text[256];
    bool is_ours, is_rpc;
    int status = exchange->status;
    read_refusal(exchange, text, sizeof text, &is_ours, &is_rpc);
    if (status == 401 || status == 403) {
        on_locked(exchange, text);
    } else if (means_no_session(exchange, text)) {
        lose_session(exchange);
    } else if (may_be_sse(exchange)) {
        (void)snprintf(link->refusal, sizeof link->refusal, "HTTP status %d%s%s", status,
                       text[0] == '\0' ? "" : ": ", text);
        fall_back(exchange);
    } else if (is_ours && exchange->what != MCP_HTTP_INITIALIZE) {
        mcp_link_message(link->server, sma_buf_str(&exchange->in));
        mcp_http_exchange_drop(exchange);
    } else if (exchange->what == MCP_HTTP_DISCOVER && status < 500) {
        mcp_link_refused(link->server, exchange->id, SMA_MCP_PROTOCOL_ERROR, SMA_STR(""));
        mcp_http_exchange_drop(exchange);
    } else { /* what stands between may fail after it was done */
        refuse(exchange, status >= 500 ? SMA_MCP_UNKNOWN : SMA_MCP_PROTOCOL_ERROR,
               "it answers with HTTP status %d%s%s", status, text[0] == '\0' ? "" : ": ", text);
    }
}

/* -- ends -------------------------------------------------------------------------------------- */
static void on_failed(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer)
{
    if (answer->end == SMA_NET_TOO_BIG) {
        refuse(exchange, SMA_MCP_PROTOCOL_ERROR, "the server's answer is too large to be read");
        return;
    }
    if (answer->end == SMA_NET_UNKNOWN) {
        on_stream_broken(exchange, answer);
        return;
    }
    bool is_down = exchange->kind == MCP_HTTP_POST && exchange->id != 0;
    struct mcp_server *server = exchange->link->server;
    refuse(exchange, SMA_MCP_NOT_CONNECTED, "it cannot be reached: %s", answer->error);
    if (is_down)
        mcp_link_lost(server, answer->error);
}

static void on_end(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer)
{
    bool is_cut = answer->end == SMA_NET_TOO_BIG && exchange->status >= 300;
    bool is_whole = answer->end == SMA_NET_ANSWERED || is_cut;
    if (exchange->kind == MCP_HTTP_DELETE || exchange->link->server->is_lost) {
        mcp_http_exchange_drop(exchange);
    } else if (exchange->kind == MCP_HTTP_STREAM) {
        mcp_http_stream_ended(exchange, answer);
    } else if (exchange->kind == MCP_HTTP_RESUME) {
        on_resume_ended(exchange, answer);
    } else if (!is_whole && !is_handshake(exchange) && exchange->id == 0) {
        refuse(exchange, SMA_MCP_UNKNOWN, "%s", answer->error);
    } else if (!is_whole && answer->end == SMA_NET_UNKNOWN && is_handshake(exchange)) {
        refuse(exchange, SMA_MCP_UNKNOWN, "it cannot be reached: %s", answer->error);
    } else if (!is_whole) {
        on_failed(exchange, answer);
    } else if (exchange->status < 300) {
        on_good(exchange, answer);
    } else if (exchange->status < 400) {
        on_redirect(exchange);
    } else {
        on_refused(exchange);
    }
}

void mcp_http_on_end(struct mcp_http_exchange *exchange, const struct sma_net_answer *answer)
{
    bool is_settling = exchange->what == MCP_HTTP_INITIALIZED;
    struct mcp_http_link *link = exchange->link;
    on_end(exchange, answer);
    if (is_settling && !link->server->is_lost)
        settle(link);
}
