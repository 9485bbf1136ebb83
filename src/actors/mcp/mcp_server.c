/*
 * mcp_server.c — one server: opened, spoken to, lost, opened again.
 */
#include "mcp_priv.h"

#include <stdio.h>
#include <stdlib.h>

static const struct mcp_transport *const transports[SMA_MCP_TRANSPORT_COUNT] = {
    [SMA_MCP_STDIO] = &mcp_stdio, [SMA_MCP_HTTP] = &mcp_http, [SMA_MCP_SSE] = &mcp_sse};

static void set_trouble(struct mcp_server *server, const char *why)
{
    struct sma_buf clean, line;
    sma_buf_init(&clean, 8192);
    sma_buf_init(&line, 8192);
    sma_secrets_put(server->mcp->secrets, &clean, sma_str(why));
    sma_mcp_put_clean(&line, sma_buf_str(&clean), sizeof server->trouble - 1);
    (void)snprintf(server->trouble, sizeof server->trouble, "%s", line.ptr == NULL ? "" : line.ptr);
    sma_buf_fini(&clean);
    sma_buf_fini(&line);
}

static void set_state(struct mcp_server *server, enum sma_mcp_state state)
{
    if (server->state == state)
        return;
    server->state = state;
    mcp_note_change(server->mcp);
}

/* -- what the session says --------------------------------------------------------------------- */
static void on_send(void *user, const struct sma_mcp_out *out)
{
    struct mcp_server *server = user;
    if (server->phase == MCP_OPEN && !server->is_lost)
        server->transport->send(server, out);
}

static void on_listed(void *user)
{
    struct mcp_server *server = user;
    if (!server->was_ready) {
        server->ready_ns = sma_ctx_now(server->mcp->ctx);
        server->is_newly_listed = true;
    }
    server->is_relisted = server->was_ready;
    server->was_ready = true;
    server->trouble[0] = '\0';
    set_state(server, SMA_MCP_CONNECTED);
    mcp_note_change(server->mcp);
}

static void on_answered(void *user, uint64_t id, enum sma_mcp_outcome outcome, const json_t *result,
                        struct sma_str why)
{
    mcp_call_answered(user, id, outcome, result, why);
}

static void on_progress(void *user, uint64_t id, struct sma_str text)
{
    mcp_call_progress(user, id, text);
}

static void on_log(void *user, enum sma_log_level level, struct sma_str text)
{
    mcp_log(user, level, "%.*s", (int)text.len, text.len == 0 ? "" : text.ptr);
}

static bool on_elicit(void *user, const struct sma_mcp_question *question)
{
    return mcp_elicit_ask(user, question);
}

static const char *on_sample(void *user, const struct sma_mcp_wish *wish)
{
    return mcp_sample_ask(user, wish);
}

static void on_failed(void *user, const char *why)
{
    mcp_link_lost(user, why);
}

static const struct sma_mcp_session_ops session_ops = {.send = on_send,
                                                       .listed = on_listed,
                                                       .answered = on_answered,
                                                       .progress = on_progress,
                                                       .log = on_log,
                                                       .elicit = on_elicit,
                                                       .sample = on_sample,
                                                       .failed = on_failed};

/* -- life -------------------------------------------------------------------------------------- */
struct mcp_server *mcp_server_create(struct sma_mcp *mcp,
                                     const struct sma_mcp_config_server *config)
{
    struct mcp_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return NULL;
    server->mcp = mcp;
    server->config = config;
    (void)snprintf(server->name, sizeof server->name, "%s", config->name);
    server->transport = transports[config->transport];
    server->state = SMA_MCP_CONNECTING;
    if (config->trouble == NULL)
        return server;
    server->due_ns = UINT64_MAX;
    server->state = SMA_MCP_ERROR;
    set_trouble(server, config->trouble);
    return server;
}

void mcp_server_destroy(struct mcp_server *server)
{
    sma_mcp_session_destroy(server->session);
    free(server);
}

static uint64_t retry_ns(struct mcp_server *server)
{
    uint64_t pause = MCP_RETRY_MIN_NS;
    for (unsigned i = 1; i < server->failures && pause < MCP_RETRY_MAX_NS; i++)
        pause *= 2;
    pause = pause < MCP_RETRY_MAX_NS ? pause : MCP_RETRY_MAX_NS;
    return pause + sma_ctx_random(server->mcp->ctx) % (pause / 4); /* not all at once */
}

/* It did not come up, or it went. */
static void note_failure(struct mcp_server *server, const char *why)
{
    uint64_t now = sma_ctx_now(server->mcp->ctx);
    bool was_steady = server->was_ready && now - server->ready_ns >= MCP_STEADY_NS;
    server->failures = was_steady ? 1 : server->failures + 1;
    uint64_t pause = retry_ns(server);
    set_trouble(server, why);
    server->due_ns = now + pause;
    set_state(server, server->failures >= MCP_TROUBLE_COUNT ? SMA_MCP_ERROR : SMA_MCP_DISCONNECTED);
    mcp_log(server, SMA_LOG_WARN, "%s; started again in %llu s", server->trouble,
            (unsigned long long)(pause / SMA_NS_PER_S));
    mcp_note_change(server->mcp);
}

/* Only its owner can go on: told once, looked at quietly until then. */
static void hold(struct mcp_server *server, const char *why)
{
    char before[MCP_TROUBLE_BYTES_MAX];
    (void)snprintf(before, sizeof before, "%s", server->trouble);
    set_trouble(server, why);
    server->failures = 0;
    server->due_ns = sma_ctx_now(server->mcp->ctx) + MCP_HELD_NS;
    if (server->state != SMA_MCP_ERROR || strcmp(before, server->trouble) != 0) {
        mcp_log(server, SMA_LOG_ERROR, "%s", server->trouble);
        mcp_note_change(server->mcp);
    }
    set_state(server, SMA_MCP_ERROR);
}

void mcp_server_end(struct mcp_server *server, const char *why, bool is_trouble)
{
    if (server->phase != MCP_OPEN) {
        if (!is_trouble)
            server->due_ns = UINT64_MAX;
        return;
    }
    server->phase = MCP_CLOSING;
    server->is_lost = false;
    server->due_ns = UINT64_MAX;
    char text[MCP_TROUBLE_BYTES_MAX];
    (void)snprintf(text, sizeof text, "%s", why); /* it may be of what goes now */
    struct sma_mcp_session *session = SMA_TAKE(server->session);
    if (session != NULL)
        sma_mcp_session_end(session, sma_str(text));
    sma_mcp_session_destroy(session);
    if (is_trouble)
        note_failure(server, text);
    else
        set_state(server, SMA_MCP_DISCONNECTED);
    server->was_ready = server->is_newly_listed = server->is_relisted = false;
    server->transport->close(server, false); /* last: it may be closed already */
}

static void open_link(struct mcp_server *server)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_mcp_session_options options = {.server = server->name,
                                              .project_dir = server->mcp->config->project_dir,
                                              .probes_modern = server->transport->probes_modern,
                                              .may_sample = server->config->may_sample,
                                              .has_headers =
                                                  server->config->transport == SMA_MCP_HTTP};
    server->session = sma_mcp_session_create(&options, &session_ops, server);
    if (server->session == NULL)
        sma_ctx_fatal(server->mcp->ctx, "out of memory: an MCP server cannot be started");
    server->session_serial = ++server->mcp->session_serial;
    server->phase = MCP_OPEN;
    server->is_lost = false;
    server->is_held = false;
    if (server->state == SMA_MCP_DISCONNECTED)
        set_state(server, SMA_MCP_CONNECTING);
    if (server->transport->open(server, &error) == SMA_ERR_OK)
        return;
    sma_mcp_session_destroy(server->session);
    server->session = NULL;
    server->phase = MCP_WAITS;
    if (server->is_held)
        hold(server, error.text);
    else
        note_failure(server, error.text);
}

void mcp_server_check(struct mcp_server *server)
{
    char why[MCP_TROUBLE_BYTES_MAX];
    if (server->is_outgrown || server->phase != MCP_OPEN || server->is_lost ||
        server->transport->is_outgrown == NULL || !sma_mcp_session_is_ready(server->session) ||
        !server->transport->is_outgrown(server, why))
        return;
    uint64_t now = sma_ctx_now(server->mcp->ctx);
    if (now - server->ready_ns < MCP_RETRY_MIN_NS) { /* again: not without a pause */
        mcp_link_lost(server, why);
        return;
    }
    server->is_outgrown = true;
    server->anew_until_ns = now + MCP_ANEW_NS;
    set_trouble(server, why);
    mcp_log(server, SMA_LOG_WARN, "%s%s", server->trouble,
            mcp_call_count(server) > 0 ? " when its open calls have ended" : "");
    mcp_note_change(server->mcp);
}

/* Once nothing is open any more it goes, and comes at once; then what waits leaves. */
static void start_anew(struct mcp_server *server, uint64_t now_ns)
{
    bool is_going = server->is_removed || server->mcp->is_draining;
    if (!is_going && !server->is_anew && server->phase == MCP_OPEN && !server->is_lost &&
        mcp_call_count(server) == 0) {
        server->is_anew = true;
        mcp_server_end(server, server->trouble, false);
        server->due_ns = now_ns;
        return;
    }
    bool is_ready = server->is_anew && server->state == SMA_MCP_CONNECTED;
    bool has_failed = server->phase == MCP_WAITS && server->due_ns > now_ns;
    if (is_ready || has_failed || is_going)
        server->is_outgrown = server->is_anew = false;
    if (!server->is_outgrown || server->anew_until_ns <= now_ns)
        mcp_call_release(server);
}

uint64_t mcp_server_look(struct mcp_server *server, uint64_t now_ns)
{
    bool may_open = !server->is_removed && !server->mcp->is_draining;
    if (server->phase == MCP_WAITS && may_open && server->due_ns <= now_ns)
        open_link(server);
    if (server->phase == MCP_OPEN && !server->is_lost &&
        sma_mcp_session_due(server->session) <= now_ns)
        sma_mcp_session_tick(server->session, now_ns);
    bool is_doubtful = server->phase == MCP_OPEN && sma_mcp_session_is_doubtful(server->session);
    if (is_doubtful != server->is_doubtful) {
        server->is_doubtful = is_doubtful;
        mcp_note_change(server->mcp);
    }
    if (server->phase == MCP_OPEN && server->is_lost) {
        char why[MCP_TROUBLE_BYTES_MAX];
        (void)snprintf(why, sizeof why, "%s", server->trouble);
        mcp_server_end(server, why, true);
    }
    if (server->is_outgrown)
        start_anew(server, now_ns);
    uint64_t due = server->phase == MCP_OPEN                ? sma_mcp_session_due(server->session)
                   : server->phase == MCP_WAITS && may_open ? server->due_ns
                                                            : UINT64_MAX;
    bool has_time = server->is_outgrown && server->anew_until_ns > now_ns;
    return has_time && server->anew_until_ns < due ? server->anew_until_ns : due;
}

/* -- its end ----------------------------------------------------------------------------------- */
void mcp_tell_drained(struct sma_mcp *mcp)
{
    if (!mcp->is_draining || mcp->has_drained)
        return;
    for (size_t i = 0; i < mcp->server_count; i++)
        if (mcp->servers[i]->link != NULL)
            return;
    mcp->has_drained = true;
    sma_ctx_life_done(mcp->ctx, SMA_PHASE_DRAIN);
}

/* -- events of transports ---------------------------------------------------------------------- */
void mcp_link_opened(struct mcp_server *server)
{
    if (server->phase == MCP_OPEN && !server->is_lost)
        sma_mcp_session_begin(server->session, sma_ctx_now(server->mcp->ctx));
    sma_ctx_request_batch_end(server->mcp->ctx);
}

void mcp_link_message(struct mcp_server *server, struct sma_str message)
{
    if (server->phase == MCP_OPEN && !server->is_lost)
        sma_mcp_session_take(server->session, message, sma_ctx_now(server->mcp->ctx));
    sma_ctx_request_batch_end(server->mcp->ctx);
}

void mcp_link_skipped(struct mcp_server *server, struct sma_str head, struct sma_str tail)
{
    if (server->phase == MCP_OPEN && !server->is_lost)
        sma_mcp_session_skip(server->session, head, tail, sma_ctx_now(server->mcp->ctx));
    sma_ctx_request_batch_end(server->mcp->ctx);
}

void mcp_link_refused(struct mcp_server *server, uint64_t id, enum sma_mcp_outcome outcome,
                      struct sma_str why)
{
    if (server->phase == MCP_OPEN && !server->is_lost)
        sma_mcp_session_fail(server->session, id, outcome, why);
    sma_ctx_request_batch_end(server->mcp->ctx);
}

/* The session may be at work further up: it is ended by the next look. */
void mcp_link_lost(struct mcp_server *server, const char *why)
{
    if (server->phase != MCP_OPEN || server->is_lost)
        return;
    server->is_lost = true;
    set_trouble(server, why);
    sma_ctx_request_batch_end(server->mcp->ctx);
}

void mcp_link_closed(struct mcp_server *server)
{
    SMA_ASSERT(server->phase == MCP_CLOSING && server->link == NULL);
    server->phase = MCP_WAITS;
    mcp_tell_drained(server->mcp);
    sma_ctx_request_batch_end(server->mcp->ctx);
}
