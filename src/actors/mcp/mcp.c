/*
 * mcp.c — the mcp actor: messages in and out, the catalogue, mcp.json read again, life cycle.
 */
#include "mcp_priv.h"

#include "runtime/policy/policy_mcp.h"
#include "sma/health.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MCP_MAGIC 0x6d637061u
#define PREFIX_KEY "shipmyagent exec" /* as in tools.c: the next start finds what was left behind */

/* -- mcp.json ---------------------------------------------------------------------------------- */
static const char *find_variable(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

static void warn(void *user, const char *line)
{
    struct sma_mcp *mcp = user;
    if (mcp->ctx != NULL)
        sma_ctx_log(mcp->ctx, SMA_LOG_WARN, "%s", line);
}

/* A value that people hide behind a name must not stand in logs. */
static void keep_secrets(struct sma_mcp *mcp, const struct sma_mcp_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        char name[128];
        size_t len = strcspn(words->items[i], "=:");
        (void)snprintf(name, sizeof name, "%.*s", (int)len, words->items[i]);
        const char *value = words->items[i] + len;
        value += strspn(value, "=: ");
        if (!sma_secrets_is_name(name) && strcmp(name, "Authorization") != 0)
            continue;
        const char *blank = strchr(value, ' '); /* "Bearer ..." */
        if (sma_secrets_add(mcp->secrets, blank == NULL ? value : blank + 1) != SMA_ERR_OK)
            warn(mcp, "mcp: too many secrets to keep them all out of results and logs");
    }
}

static enum sma_err load(struct sma_mcp *mcp, struct sma_mcp_config **ret_config,
                         struct sma_error *error)
{
    struct sma_mcp_config_options options = {
        .project_dir = mcp->config->project_dir, .find = find_variable, .warn = warn, .user = mcp};
    if (mcp->config_count == MCP_CONFIG_COUNT_MAX)
        return sma_fail(error, SMA_ERR_FULL, "mcp.json was read again too often");
    SMA_TRY(sma_mcp_config_load(&options, ret_config, error));
    for (size_t i = 0; i < (*ret_config)->server_count; i++) {
        keep_secrets(mcp, &(*ret_config)->servers[i].env);
        keep_secrets(mcp, &(*ret_config)->servers[i].headers);
    }
    mcp->configs[mcp->config_count++] = *ret_config;
    return SMA_ERR_OK;
}

static struct mcp_server *find_server(const struct sma_mcp *mcp, const char *name)
{
    for (size_t i = 0; i < mcp->server_count; i++)
        if (!mcp->servers[i]->is_removed && strcmp(mcp->servers[i]->name, name) == 0)
            return mcp->servers[i];
    return NULL;
}

/* Those that go need their places until they are gone. */
static void add_server(struct sma_mcp *mcp, const struct sma_mcp_config_server *config)
{
    if (mcp->server_count == SMA_COUNT_OF(mcp->servers)) {
        sma_ctx_log(mcp->ctx, SMA_LOG_WARN,
                    "mcp: %s is not started: too many servers are ending; send SIGHUP again",
                    config->name);
        return;
    }
    struct mcp_server *server = mcp_server_create(mcp, config);
    if (server == NULL)
        sma_ctx_fatal(mcp->ctx, "out of memory: an MCP server cannot be started");
    mcp->servers[mcp->server_count++] = server;
}

static void take_config(struct sma_mcp *mcp, const struct sma_mcp_config *config)
{
    size_t before = mcp->server_count;
    for (size_t i = 0; i < before; i++) {
        struct mcp_server *server = mcp->servers[i];
        const struct sma_mcp_config_server *now = sma_mcp_config_find(config, server->name);
        if (server->is_removed)
            continue;
        if (now != NULL && now->fingerprint == server->config->fingerprint) {
            server->config = now;
            if (server->phase == MCP_WAITS && server->due_ns != UINT64_MAX)
                server->due_ns = sma_ctx_now(mcp->ctx); /* somebody may have logged in */
            continue;
        }
        sma_ctx_log(mcp->ctx, SMA_LOG_INFO, "mcp %s: %s", server->name,
                    now == NULL ? "not in mcp.json any more: ended"
                                : "changed in mcp.json: started anew");
        server->is_removed = true;
        mcp_server_end(server, "its configuration has changed", false);
    }
    for (size_t i = 0; i < config->server_count; i++)
        if (find_server(mcp, config->servers[i].name) == NULL)
            add_server(mcp, &config->servers[i]);
    if (mcp->server_count > 0) /* else runs know of none, or were told that they went */
        mcp_note_change(mcp);
}

static void reload(struct sma_mcp *mcp, const struct sma_config *config)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_mcp_config *servers = NULL;
    mcp->config = config;
    mcp->rules_config = NULL; /* another may come to lie where one has lain before */
    for (size_t i = 0; i < mcp->server_count; i++)
        mcp->servers[i]->walls_config = NULL;
    if (sma_secrets_add_config(mcp->secrets, config) != SMA_ERR_OK)
        warn(mcp, "mcp: too many secrets to keep them all out of results and logs");
    if (load(mcp, &servers, &error) != SMA_ERR_OK) {
        sma_ctx_log(mcp->ctx, SMA_LOG_ERROR, "mcp: the servers stay as they were: %s", error.text);
        return;
    }
    take_config(mcp, servers);
    for (size_t i = 0; i < mcp->server_count; i++) /* a rule may run a script that it could write */
        mcp_server_check(mcp->servers[i]);
}

/* -- the catalogue ----------------------------------------------------------------------------- */
/* Whatever runs outside of the walls, or with a network, may send on what it gets. */
static bool may_send_on(const struct mcp_server *server)
{
    const struct sma_mcp_config_server *config = server->config;
    return config->transport != SMA_MCP_STDIO || config->has_network || !config->is_sandboxed ||
           (server->mcp->has_sandbox && !server->mcp->sandbox.is_on);
}

static void add_offer(struct sma_mcp_builder *builder, const struct mcp_server *server)
{
    const struct sma_mcp_catalogue *offer =
        server->session == NULL ? NULL : sma_mcp_session_offer(server->session);
    struct sma_mcp_server added = {
        .name = sma_str(server->name),
        .state = server->state,
        .is_remote = may_send_on(server),
        .trust = (uint8_t)sma_mcp_trust_parse(server->config->permissions_json),
        .trouble = sma_str(server->trouble)};
    if (offer != NULL) {
        added.instructions = offer->servers[0].instructions;
        added.dropped_count = (uint32_t)sma_mcp_session_count(server->session).left_out;
    }
    sma_mcp_builder_add_server(builder, &added);
    if (server->state != SMA_MCP_CONNECTED || offer == NULL)
        return;
    for (size_t i = 0; i < offer->tool_count; i++) {
        struct sma_mcp_tool tool = offer->tools[i];
        tool.is_allowed = sma_mcp_config_allows(server->config, tool.name);
        sma_mcp_builder_add_tool(builder, &tool);
    }
    if (mcp_entry_lets(server->config, SMA_MCP_RESOURCE, SMA_STR("")))
        for (size_t i = 0; i < offer->resource_count; i++)
            sma_mcp_builder_add_resource(builder, &offer->resources[i]);
    for (size_t i = 0; i < offer->prompt_count; i++)
        if (mcp_entry_lets(server->config, SMA_MCP_PROMPT, offer->prompts[i].name))
            sma_mcp_builder_add_prompt(builder, &offer->prompts[i]);
}

/* What lasts until somebody does something. */
static void tell_health(const struct sma_mcp *mcp)
{
    struct sma_buf line;
    sma_buf_init(&line, 65536);
    for (size_t i = 0; i < mcp->server_count; i++)
        if (mcp->servers[i]->state == SMA_MCP_ERROR && !mcp->servers[i]->is_removed)
            sma_buf_printf(&line, "%s%s: %s", line.len == 0 ? "" : "; ", mcp->servers[i]->name,
                           mcp->servers[i]->trouble);
    sma_health_set("mcp", sma_buf_str(&line));
    sma_buf_fini(&line);
}

static void tell(struct sma_mcp *mcp)
{
    struct sma_mcp_builder *builder = sma_mcp_builder_create(++mcp->version);
    const struct sma_mcp_catalogue *made = NULL;
    if (builder != NULL)
        for (size_t i = 0; i < mcp->server_count; i++)
            if (!mcp->servers[i]->is_removed)
                add_offer(builder, mcp->servers[i]);
    if (builder == NULL || sma_mcp_builder_finish(builder, &made) != SMA_ERR_OK) {
        sma_ctx_log(mcp->ctx, SMA_LOG_ERROR,
                    "mcp: out of memory: the list of tools stays as it is");
        return;
    }
    sma_mcp_catalogue_unref(mcp->told);
    mcp->told = made;
    tell_health(mcp);
    struct sma_mcp_offer offer = {.catalogue = made};
    struct sma_msg *msg = sma_msg_make_mcp_catalogue(&offer);
    mcp->is_telling =
        msg != NULL && sma_ctx_ask(mcp->ctx, SMA_ACTOR_AGENT, &msg, 0, NULL) == SMA_ERR_OK;
    sma_msg_destroy(msg);
    if (!mcp->is_telling)
        mcp_seen_put(mcp); /* no agent: nobody else wants to know */
}

/* -- life -------------------------------------------------------------------------------------- */
enum sma_err sma_mcp_create(const struct sma_config *config, struct sma_mcp **ret_mcp,
                            struct sma_error *error)
{
    static const uint8_t key[16] = PREFIX_KEY;
    struct sma_mcp *mcp = calloc(1, sizeof *mcp);
    if (mcp == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the mcp actor");
    mcp->magic = MCP_MAGIC;
    mcp->config = config;
    mcp->tell_ns = UINT64_MAX;
    mcp->calls = calloc(SMA_ASK_MCP_COUNT_MAX, sizeof *mcp->calls);
    enum sma_err err = mcp->calls == NULL || sma_secrets_create(config, &mcp->secrets) != SMA_ERR_OK
                           ? sma_fail(error, SMA_ERR_NOMEM, "no memory for the mcp actor")
                           : sma_exec_options_parse(config->permissions_json, config->project_dir,
                                                    &mcp->options, error);
    if (err != SMA_ERR_OK) {
        sma_mcp_destroy(mcp);
        return err;
    }
    snprintf(
        mcp->marker_prefix, sizeof mcp->marker_prefix, "%016llx-",
        (unsigned long long)sma_siphash(key, config->project_dir, strlen(config->project_dir)));
    *ret_mcp = mcp;
    return SMA_ERR_OK;
}

void sma_mcp_destroy(struct sma_mcp *mcp)
{
    if (mcp == NULL)
        return;
    SMA_ASSERT(mcp->magic == MCP_MAGIC);
    for (size_t i = 0; mcp->calls != NULL && i < SMA_ASK_MCP_COUNT_MAX; i++)
        sma_msg_destroy(mcp->calls[i].waits);
    for (size_t i = 0; i < mcp->server_count; i++)
        mcp_server_destroy(mcp->servers[i]);
    for (size_t i = 0; i < mcp->config_count; i++)
        sma_mcp_config_destroy(mcp->configs[i]);
    sma_mcp_catalogue_unref(mcp->told);
    sma_secrets_destroy(mcp->secrets);
    sma_exec_options_fini(&mcp->options);
    sma_policy_destroy(mcp->rules);
    free(mcp->calls);
    mcp->magic = 0;
    free(mcp);
}

static void on_child(uv_signal_t *handle, int signo)
{
    struct sma_mcp *mcp = handle->data;
    (void)signo;
    mcp_stdio_children(mcp);
    sma_ctx_request_batch_end(mcp->ctx);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_mcp *mcp = state;
    SMA_ASSERT(mcp->magic == MCP_MAGIC);
    mcp->ctx = ctx;
    /* What a server leaves behind becomes our child, so that it is found and waited for. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return sma_fail(error, SMA_ERR_IO, "cannot become the parent of what MCP servers leave");
    int status = uv_signal_init(sma_ctx_loop(ctx), &mcp->children);
    if (status == 0) {
        mcp->children.data = mcp;
        mcp->has_children = true;
        status = uv_signal_start(&mcp->children, on_child, SIGCHLD);
    }
    if (status != 0)
        return sma_fail(error, SMA_ERR_IO, "cannot wait for MCP servers: %s", uv_strerror(status));
    struct sma_mcp_config *config = NULL;
    struct sma_error detail = {.code = SMA_ERR_OK};
    if (load(mcp, &config, &detail) == SMA_ERR_OK)
        take_config(mcp, config); /* they are opened by the first batch_end, not here */
    else
        sma_ctx_log(ctx, SMA_LOG_ERROR, "mcp: %s", detail.text);
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx));
    return SMA_ERR_OK;
}

static void live(struct sma_mcp *mcp, unsigned phase)
{
    if (phase != SMA_PHASE_DRAIN) {
        sma_ctx_life_done(mcp->ctx, phase);
        return;
    }
    mcp->is_draining = true;
    for (size_t i = 0; i < mcp->server_count; i++)
        mcp_server_end(mcp->servers[i], "the program ends", false);
    mcp_tell_drained(mcp);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_mcp *mcp = state;
    SMA_ASSERT(mcp->magic == MCP_MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_MCP_CALL:
        mcp_call_take(mcp, msg);
        break;
    case SMA_MSG_MCP_CANCEL: {
        const struct sma_mcp_cancel *cancel = SMA_MSG_BODY(*msg, struct sma_mcp_cancel);
        mcp_call_cancel(mcp, cancel->seq, cancel->call, "stopped");
        break;
    }
    case SMA_MSG_MCP_ELICITED:
        mcp_elicit_take(mcp, *msg);
        break;
    case SMA_MSG_MCP_SAMPLED:
        mcp_sample_take(mcp, *msg);
        break;
    case SMA_MSG_MCP_TAKEN:
        mcp->is_telling = false;
        mcp_seen_put(mcp);
        break;
    case SMA_MSG_MCP_RULED: {
        const struct sma_mcp_ruled *ruled = SMA_MSG_BODY(*msg, struct sma_mcp_ruled);
        struct mcp_server *server = find_server(mcp, ruled->server.ptr);
        if (ruled->is_accepted && server != NULL && server->is_held && server->phase == MCP_WAITS &&
            !mcp->is_draining)
            mcp_spawn_ruled(server, ruled->digest);
        break;
    }
    case SMA_MSG_RELOAD:
        reload(mcp, SMA_MSG_BODY(*msg, struct sma_reload)->config);
        break;
    case SMA_MSG_LIFE:
        live(mcp, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        break;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "mcp: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
    sma_ctx_request_batch_end(ctx);
}

/* Servers that were removed and are gone. */
static void forget_gone(struct sma_mcp *mcp)
{
    for (size_t i = 0; i < mcp->server_count;) {
        struct mcp_server *server = mcp->servers[i];
        if (!server->is_removed || server->link != NULL) {
            i++;
            continue;
        }
        mcp_server_destroy(server);
        mcp->servers[i] = mcp->servers[--mcp->server_count];
    }
}

static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct sma_mcp *mcp = state;
    uint64_t now = sma_ctx_now(ctx), due = UINT64_MAX;
    for (size_t i = 0; i < mcp->server_count; i++) {
        uint64_t at = mcp_server_look(mcp->servers[i], now);
        due = at < due ? at : due;
    }
    forget_gone(mcp);
    if (mcp->tell_ns <= now && !mcp->is_telling && !mcp->is_draining) {
        mcp->tell_ns = UINT64_MAX;
        tell(mcp);
    }
    if (!mcp->is_telling && !mcp->is_draining && mcp->tell_ns < due)
        due = mcp->tell_ns;
    sma_ctx_wake_at(ctx, due);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    sma_ctx_request_batch_end(ctx);
}

static void stop(void *state, struct sma_ctx *ctx)
{
    struct sma_mcp *mcp = state;
    (void)ctx;
    mcp->is_draining = true;
    for (size_t i = 0; i < mcp->server_count; i++) {
        mcp_server_end(mcp->servers[i], "the program ends", false);
        if (mcp->servers[i]->link != NULL)
            mcp->servers[i]->transport->close(mcp->servers[i], true);
    }
    mcp_http_stop(mcp);
    if (mcp->has_children)
        uv_close((uv_handle_t *)&mcp->children, NULL);
    if (mcp->placeholders != 0)
        sma_sandbox_remove_placeholders(mcp->config, mcp->placeholders);
    sma_health_set("mcp", (struct sma_str){NULL, 0});
}

const struct sma_actor_ops sma_mcp_actor_ops = {.name = "mcp",
                                                .is_on_loop = true,
                                                .start = start,
                                                .handle = handle,
                                                .batch_end = batch_end,
                                                .wake = wake,
                                                .stop = stop};
