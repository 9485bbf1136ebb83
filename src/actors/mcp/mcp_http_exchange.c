/*
 * mcp_http_exchange.c — one request of HTTP and its answer, up to its messages.
 */
#include "mcp_http_priv.h"

#include "sma/clock.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define HEADER_COUNT_MAX 64

/* -- times ------------------------------------------------------------------------------------- */
void mcp_http_sweep(struct mcp_http_link *link)
{
    struct mcp_http_exchange **at = &link->exchanges;
    while (*at != NULL) {
        struct mcp_http_exchange *exchange = *at;
        if (!exchange->is_gone || exchange->is_ready || exchange->request != NULL) {
            at = &exchange->next;
            continue;
        }
        *at = exchange->next;
        link->exchange_count--;
        mcp_http_exchange_free(exchange);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct mcp_http_link *link = timer->data;
    uint64_t now_ns = sma_ctx_now(link->server->mcp->ctx);
    if (link->due_ns <= now_ns && !link->is_closing) {
        link->due_ns = UINT64_MAX;
        mcp_link_lost(link->server, "it does not name the address for messages");
    }
    for (struct mcp_http_exchange *at = link->exchanges; at != NULL; at = at->next) {
        if (at->is_gone || at->due_ns > now_ns)
            continue;
        at->due_ns = UINT64_MAX;
        link->ops->due(at);
    }
    mcp_http_sweep(link);
    if (link->is_closing && link->exchanges == NULL)
        link->ops->closed(link);
    else
        mcp_http_arm(link);
}

void mcp_http_arm(struct mcp_http_link *link)
{
    if (!link->has_timer)
        return;
    uint64_t due_ns = link->due_ns, now_ns = sma_ctx_now(link->server->mcp->ctx);
    bool has_waste = link->is_closing && link->exchanges == NULL;
    for (const struct mcp_http_exchange *at = link->exchanges; at != NULL; at = at->next) {
        has_waste = has_waste || (at->is_gone && !at->is_ready);
        due_ns = at->due_ns < due_ns ? at->due_ns : due_ns;
    }
    if (has_waste)
        due_ns = 0;
    (void)uv_timer_stop(&link->timer);
    if (due_ns == UINT64_MAX)
        return;
    uint64_t left_ms = due_ns <= now_ns ? 0 : (due_ns - now_ns + SMA_NS_PER_MS - 1) / SMA_NS_PER_MS;
    uv_update_time(link->timer.loop);
    SMA_ASSERT(uv_timer_start(&link->timer, on_timer, sma_clock_wait_ms(left_ms), 0) == 0);
}

/* -- life -------------------------------------------------------------------------------------- */
static void on_event(void *user, struct sma_str name, struct sma_str data)
{
    struct mcp_http_exchange *exchange = user;
    struct mcp_http_link *link = exchange->link;
    if (exchange->is_gone || link->is_closing)
        return;
    if (sma_str_is_equal(name, SMA_STR("endpoint")) && link->is_sse)
        link->ops->endpoint(link, data);
    else if (name.len == 0 || sma_str_is_equal(name, SMA_STR("message")))
        mcp_link_message(link->server, data);
}

struct mcp_http_exchange *mcp_http_exchange_add(struct mcp_http_link *link, enum mcp_http_kind kind)
{
    struct mcp_http_exchange *exchange = NULL;
    if (link->exchange_count < SMA_MCP_HTTP_OPEN_COUNT_MAX)
        exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL) {
        mcp_link_lost(link->server, link->exchange_count < SMA_MCP_HTTP_OPEN_COUNT_MAX
                                        ? "no memory for what it is asked"
                                        : "too many requests to it are open");
        return NULL;
    }
    exchange->link = link;
    exchange->kind = kind;
    exchange->what = MCP_HTTP_TELL;
    exchange->due_ns = UINT64_MAX;
    sma_buf_init(&exchange->in, SMA_MCP_HTTP_HELD_BYTES_MAX);
    sma_sse_init(&exchange->sse, on_event, exchange);
    sma_sse_limit(&exchange->sse, SMA_MCP_MESSAGE_BYTES_MAX);
    exchange->next = link->exchanges;
    link->exchanges = exchange;
    link->exchange_count++;
    return exchange;
}

void mcp_http_exchange_free(struct mcp_http_exchange *exchange)
{
    for (size_t i = 0; i < exchange->header_count; i++)
        free(exchange->headers[i]);
    free(exchange->headers);
    free(exchange->body);
    sma_buf_fini(&exchange->in);
    sma_sse_fini(&exchange->sse);
    free(exchange);
}

void mcp_http_exchange_drop(struct mcp_http_exchange *exchange)
{
    struct sma_net_request *request = SMA_TAKE(exchange->request);
    if (request != NULL)
        sma_net_cancel(request);
    exchange->is_gone = true;
    exchange->due_ns = UINT64_MAX;
    mcp_http_arm(exchange->link); /* it is swept then */
}

void mcp_http_exchange_add_header(struct mcp_http_exchange *exchange, const char *line)
{
    char **grown = exchange->header_count >= HEADER_COUNT_MAX
                       ? NULL
                       : realloc(exchange->headers, (exchange->header_count + 1) * sizeof *grown);
    if (grown == NULL)
        return; /* the server says what it misses */
    exchange->headers = grown;
    grown[exchange->header_count] = strdup(line);
    exchange->header_count += grown[exchange->header_count] != NULL;
}

/* -- libcurl's callbacks: notes ---------------------------------------------------------------- */
static bool is_named(struct sma_str name, const char *wanted)
{
    return sma_str_is_equal_nocase(name, sma_str(wanted));
}

static void note_text(char *into, size_t size, struct sma_str value)
{
    if (value.len < size)
        (void)snprintf(into, size, "%.*s", (int)value.len, value.len == 0 ? "" : value.ptr);
}

static bool is_session_id(struct sma_str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] < 0x21 || value.ptr[i] > 0x7e)
            return false;
    return value.len > 0 && value.len <= SMA_MCP_HTTP_SESSION_BYTES_MAX;
}

static bool on_head(void *user, struct sma_str name, struct sma_str value)
{
    struct mcp_http_exchange *exchange = user;
    exchange->has_head = true;
    if (name.len == 0) {
        exchange->session[0] = exchange->type[0] = '\0';
        exchange->location[0] = exchange->challenge[0] = '\0';
        exchange->has_bad_session = false;
    } else if (is_named(name, "mcp-session-id")) {
        exchange->has_bad_session = !is_session_id(value);
        if (!exchange->has_bad_session)
            note_text(exchange->session, sizeof exchange->session, value);
    } else if (is_named(name, "content-type")) {
        note_text(exchange->type, sizeof exchange->type, value);
    } else if (is_named(name, "location")) {
        note_text(exchange->location, sizeof exchange->location, value);
    } else if (is_named(name, "www-authenticate") && exchange->challenge[0] == '\0') {
        note_text(exchange->challenge, sizeof exchange->challenge, value);
    }
    return true;
}

/* Of all the server's answers together. */
static size_t held_bytes(const struct mcp_http_link *link)
{
    size_t bytes = 0;
    for (const struct mcp_http_exchange *at = link->exchanges; at != NULL; at = at->next)
        bytes += at->in.len + at->sse.line.len + at->sse.data.len;
    return bytes;
}

static bool on_bytes(void *user, int status, struct sma_str bytes)
{
    struct mcp_http_exchange *exchange = user;
    struct mcp_http *http = exchange->link->server->mcp->http;
    exchange->status = status;
    bool is_good = status >= 200 && status < 300;
    if (!is_good && exchange->in.len + bytes.len > SMA_MCP_HTTP_ERROR_BYTES_MAX)
        return false;
    if (held_bytes(exchange->link) + bytes.len > SMA_MCP_HTTP_HELD_BYTES_MAX)
        return false;
    sma_buf_put_str(&exchange->in, bytes);
    if (!exchange->is_ready) {
        exchange->is_ready = true;
        exchange->next_ready = http->ready;
        http->ready = exchange;
    }
    return exchange->in.err == SMA_ERR_OK;
}

/* -- what has come ----------------------------------------------------------------------------- */
static bool is_type(const struct mcp_http_exchange *exchange, const char *type)
{
    struct sma_str whole = {exchange->type, strcspn(exchange->type, "; \t")};
    return sma_str_is_equal_nocase(whole, sma_str(type));
}

/* Before its first message: what is said next depends on it. */
static void take_head(struct mcp_http_exchange *exchange)
{
    struct mcp_http_link *link = exchange->link;
    if (exchange->has_head && exchange->kind == MCP_HTTP_RESUME)
        exchange->due_ns = UINT64_MAX;
    if (exchange->what != MCP_HTTP_INITIALIZE || exchange->status < 200 || exchange->status > 299)
        return;
    if (exchange->has_bad_session)
        mcp_link_lost(link->server, "its Mcp-Session-Id cannot be one: not plain ASCII, or too "
                                    "long");
    else if (exchange->session[0] != '\0')
        memcpy(link->session, exchange->session, sizeof link->session);
}

static bool is_stream(const struct mcp_http_exchange *exchange)
{
    return exchange->status >= 200 && exchange->status < 300 &&
           is_type(exchange, "text/event-stream");
}

/* The answer it was opened for is in: the rest is not waited for long. */
static void look_for_end(struct mcp_http_exchange *exchange)
{
    struct mcp_http_link *link = exchange->link;
    bool brings_one = exchange->kind == MCP_HTTP_POST || exchange->kind == MCP_HTTP_RESUME;
    if (exchange->is_gone || !brings_one || exchange->id == 0 || link->server->session == NULL ||
        sma_mcp_session_has_open(link->server->session, exchange->id))
        return;
    if (exchange->kind == MCP_HTTP_RESUME) {
        mcp_http_exchange_drop(exchange);
        return;
    }
    if (exchange->due_ns == UINT64_MAX)
        exchange->due_ns = sma_ctx_now(link->server->mcp->ctx) + MCP_HTTP_LINGER_MS * SMA_NS_PER_MS;
    mcp_http_arm(link);
}

static void take(struct mcp_http_exchange *exchange)
{
    struct mcp_server *server = exchange->link->server;
    take_head(exchange);
    if (!is_stream(exchange) || exchange->in.len == 0)
        return;
    enum sma_err err = sma_sse_feed(&exchange->sse, exchange->in.ptr, exchange->in.len);
    sma_buf_clear(&exchange->in);
    if (err == SMA_ERR_OK) {
        look_for_end(exchange);
        return;
    }
    if (exchange->kind == MCP_HTTP_STREAM)
        mcp_link_lost(server, "a message of its stream is too large to be read");
    else
        mcp_link_refused(server, exchange->id, SMA_MCP_PROTOCOL_ERROR,
                         SMA_STR("the server's answer is too large to be read"));
    mcp_http_exchange_drop(exchange);
}

void mcp_http_pass(void *user)
{
    struct mcp_http *http = user;
    while (http->ready != NULL) {
        struct mcp_http_exchange *exchange = http->ready;
        http->ready = exchange->next_ready;
        exchange->is_ready = false;
        if (!exchange->is_gone && !exchange->link->is_closing)
            take(exchange);
    }
}

/* An event without its last empty line counts; one that is too large was told of. */
static void finish(struct mcp_http_exchange *exchange)
{
    enum sma_err err = sma_sse_finish(&exchange->sse);
    if (err != SMA_ERR_OK)
        mcp_log(exchange->link->server, SMA_LOG_DEBUG, "its last event is not whole: %s",
                sma_err_text(err));
}

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct mcp_http_exchange *exchange = user;
    struct mcp_http_link *link = exchange->link;
    exchange->request = NULL;
    if (answer->status != 0)
        exchange->status = answer->status;
    if (!exchange->is_gone && !link->is_closing)
        take(exchange);
    if (!exchange->is_gone && is_stream(exchange))
        finish(exchange);
    if (!exchange->is_gone)
        link->ops->ended(exchange, answer);
    mcp_http_arm(link);
}

/* -- asking ------------------------------------------------------------------------------------ */
struct head
{
    const char *lines[HEADER_COUNT_MAX];
    size_t count;
};

static void put(struct head *head, const char *line)
{
    if (head->count < HEADER_COUNT_MAX)
        head->lines[head->count++] = line;
}

/* What mcp.json gives, but not what is the protocol's own. */
static bool is_ours(const char *line)
{
    static const char *const names[] = {
        "accept:",        "content-type:", "content-length:", "mcp-",
        "last-event-id:", "host:",         "connection:",     "transfer-encoding:"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        size_t len = strlen(names[i]);
        if (strlen(line) >= len &&
            sma_str_is_equal_nocase((struct sma_str){line, len}, sma_str(names[i])))
            return true;
    }
    return false;
}

static void put_given(struct head *head, const struct mcp_server *server)
{
    for (size_t i = 0; i < server->config->headers.count; i++)
        if (!is_ours(server->config->headers.items[i]))
            put(head, server->config->headers.items[i]);
}

static struct sma_net_ask make_ask(struct mcp_http_exchange *exchange)
{
    bool is_post = exchange->kind == MCP_HTTP_POST;
    bool has_end = is_post && exchange->what != MCP_HTTP_CALL && exchange->what != MCP_HTTP_LISTEN;
    uint32_t total_ms = SMA_NET_NO_LIMIT;
    if (exchange->kind == MCP_HTTP_DELETE)
        total_ms = MCP_HTTP_ENDING_MS;
    else if (has_end)
        total_ms = exchange->id == 0 ? MCP_HTTP_SHORT_MS : SMA_MCP_HANDSHAKE_MS;
    return (struct sma_net_ask){.method = is_post                             ? "POST"
                                          : exchange->kind == MCP_HTTP_DELETE ? "DELETE"
                                                                              : "GET",
                                .body = {exchange->body, is_post ? exchange->body_len : 0},
                                .total_ms = total_ms,
                                /* what may change something is never sent twice */
                                .may_repeat = is_post ? exchange->what == MCP_HTTP_ASK ||
                                                            exchange->what == MCP_HTTP_DISCOVER ||
                                                            exchange->what == MCP_HTTP_INITIALIZE
                                                      : true,
                                .head = on_head,
                                .bytes = on_bytes,
                                .done = on_done,
                                .user = exchange};
}

static void forget_answer(struct mcp_http_exchange *exchange)
{
    exchange->status = 0;
    exchange->has_head = false;
    exchange->type[0] = exchange->location[0] = exchange->challenge[0] = '\0';
    sma_buf_clear(&exchange->in);
}

void mcp_http_exchange_start(struct mcp_http_exchange *exchange)
{
    struct mcp_http_link *link = exchange->link;
    struct mcp_http *http = link->server->mcp->http;
    struct sma_net_ask ask = make_ask(exchange);
    struct head head = {.count = 0};
    char session[sizeof link->session + 32], version[64], last[SMA_SSE_ID_BYTES_MAX + 32];
    bool is_first = exchange->what == MCP_HTTP_INITIALIZE && exchange->kind == MCP_HTTP_POST;
    bool is_get = ask.method[0] == 'G';
    forget_answer(exchange);
    if (ask.method[0] == 'P') {
        put(&head, "Content-Type: application/json");
        put(&head, "Accept: application/json, text/event-stream");
    } else if (is_get) {
        put(&head, "Accept: text/event-stream");
    }
    (void)snprintf(session, sizeof session, "Mcp-Session-Id: %s", link->session);
    (void)snprintf(version, sizeof version, "MCP-Protocol-Version: %s", exchange->version);
    (void)snprintf(last, sizeof last, "Last-Event-ID: %s", exchange->sse.id);
    if (link->session[0] != '\0' && !is_first && !exchange->is_modern)
        put(&head, session);
    if (exchange->version[0] != '\0' && !is_first && !link->is_sse)
        put(&head, version);
    if (is_get && exchange->sse.id[0] != '\0')
        put(&head, last);
    for (size_t i = 0; i < exchange->header_count; i++)
        put(&head, exchange->headers[i]);
    put_given(&head, link->server);
    if (link->authorization != NULL)
        put(&head, link->authorization);
    ask.url = link->is_sse && is_get ? link->server->config->url : link->url;
    ask.headers = head.lines;
    ask.header_count = head.count;
    enum sma_err err = sma_net_ask(http->net, &ask, &exchange->request);
    if (err == SMA_ERR_OK)
        return;
    exchange->request = NULL; /* a session may be saying it: told when that is over */
    exchange->unsent = err == SMA_ERR_BADINPUT
                           ? "its address or a header of mcp.json cannot be used"
                           : "no memory for the request";
    exchange->due_ns = 0;
    mcp_http_arm(link);
}
