/* mcp_seen.c — how the servers stand: a change is noted, and told to /api/status and `status`. */
#include "mcp_priv.h"

#include "runtime/decisive/decisive.h"
#include "runtime/mcp/prompt_words.h"
#include "runtime/policy/policy_mcp.h"
#include "sma/links.h"
#include "sma/plural.h"
#include "sma/text.h"

#define PROMPT_ABOUT_BYTES_MAX 120

void mcp_note_change(struct sma_mcp *mcp)
{
    if (mcp->tell_ns == UINT64_MAX)
        mcp->tell_ns = sma_ctx_now(mcp->ctx) + MCP_TELL_NS;
    sma_ctx_request_batch_end(mcp->ctx);
}

/* "Connected" is said when runs that begin now have its tools. A server may say as often as it
 * likes that its list has changed. */
static void log_lists(struct sma_mcp *mcp, struct mcp_server *server)
{
    uint64_t now = sma_ctx_now(mcp->ctx), pause = SMA_MCP_CHANGED_LOG_S * SMA_NS_PER_S;
    bool is_due = server->relisted_ns == 0 || now - server->relisted_ns >= pause;
    const struct sma_mcp_catalogue *offer =
        server->session == NULL ? NULL : sma_mcp_session_offer(server->session);
    if (offer == NULL || !(server->is_newly_listed || (server->is_relisted && is_due)))
        return;
    mcp_log(server, SMA_LOG_INFO, "%s: %zu tool%s, %zu resource%s, %zu prompt%s (MCP %s)",
            server->is_newly_listed ? "connected" : "its list has changed", offer->tool_count,
            SMA_S(offer->tool_count), offer->resource_count, SMA_S(offer->resource_count),
            offer->prompt_count, SMA_S(offer->prompt_count),
            sma_mcp_session_version(server->session));
    if (!server->is_newly_listed)
        server->relisted_ns = now;
    server->is_newly_listed = server->is_relisted = false;
}

static void put_prompt(struct sma_buf *lines, const struct sma_mcp_prompt *prompt)
{
    sma_prompt_words_put_usage(lines, prompt);
    struct sma_str about = prompt->description.len > 0 ? prompt->description : prompt->title;
    if (about.len == 0)
        return;
    const char *end = memchr(about.ptr, '\n', about.len);
    about.len = sma_utf8_cut(
        (struct sma_str){about.ptr, end == NULL ? about.len : (size_t)(end - about.ptr)},
        PROMPT_ABOUT_BYTES_MAX);
    if (about.len == 0)
        return;
    sma_buf_put_text(lines, " - ");
    sma_buf_put_str(lines, about);
}

/* Those of servers that may be called at all, for /prompts: who sees which the store knows. */
static void put_prompts(const struct sma_mcp *mcp)
{
    struct sma_buf lines, line;
    size_t left_out = 0;
    sma_buf_init(&lines, SMA_PROMPTS_BYTES_MAX);
    sma_buf_init(&line, SMA_PROMPTS_BYTES_MAX);
    for (size_t i = 0; i < mcp->told->prompt_count; i++) {
        const struct sma_mcp_server *server =
            sma_mcp_catalogue_find_server(mcp->told, mcp->told->prompts[i].server);
        if (server == NULL || server->trust == SMA_MCP_TRUST_DENY)
            continue;
        sma_buf_clear(&line);
        sma_buf_printf(&line, "%u", server->trust);
        put_prompt(&line, &mcp->told->prompts[i]);
        sma_buf_put_char(&line, '\n');
        if (line.err == SMA_ERR_OK && lines.len + line.len < SMA_PROMPTS_BYTES_MAX - 64)
            sma_buf_put_str(&lines, sma_buf_str(&line));
        else
            left_out++;
    }
    if (left_out > 0)
        sma_buf_printf(&lines, "%zu\n", left_out);
    sma_prompts_put(sma_buf_str(&lines));
    sma_buf_fini(&lines);
    sma_buf_fini(&line);
}

void mcp_seen_put(struct sma_mcp *mcp)
{
    struct sma_buf json;
    if (mcp->told == NULL)
        return;
    put_prompts(mcp);
    for (size_t i = 0; i < mcp->server_count; i++)
        log_lists(mcp, mcp->servers[i]);
    sma_buf_init(&json, SMA_SERVERS_BYTES_MAX);
    sma_buf_put_char(&json, '{');
    for (size_t i = 0; i < mcp->server_count; i++) {
        const struct mcp_server *server = mcp->servers[i];
        const struct sma_mcp_server *told =
            sma_mcp_catalogue_find_server(mcp->told, sma_str(server->name));
        if (server->is_removed || told == NULL)
            continue;
        sma_buf_put_json_key(&json, server->name);
        sma_buf_put_char(&json, '{');
        sma_buf_put_json_member(&json, "type",
                                sma_str(sma_mcp_transport_name(server->config->transport)));
        bool is_doubtful = server->is_doubtful && server->state == SMA_MCP_CONNECTED;
        bool is_not_told = server->state == SMA_MCP_CONNECTED && told->state != SMA_MCP_CONNECTED;
        /* whoever reads "connected" and writes a message finds its tools in that run */
        enum sma_mcp_state state = is_doubtful || is_not_told ? SMA_MCP_CONNECTING : server->state;
        sma_buf_put_json_member(&json, "state", sma_str(sma_mcp_state_name(state)));
        sma_buf_put_json_number(&json, "tools", told->tool_count);
        if (told->dropped_count > 0)
            sma_buf_put_json_number(&json, "leftOut", told->dropped_count);
        if (server->session != NULL && sma_mcp_session_left_names(server->session)[0] != '\0')
            sma_buf_put_json_member(&json, "leftOutNames",
                                    sma_str(sma_mcp_session_left_names(server->session)));
        if (server->session != NULL && sma_mcp_session_version(server->session)[0] != '\0')
            sma_buf_put_json_member(&json, "protocol",
                                    sma_str(sma_mcp_session_version(server->session)));
        if (is_doubtful)
            sma_buf_put_json_member(&json, "error",
                                    SMA_STR("calls in a row had no readable answer: it is asked "
                                            "whether it is still there"));
        else if (server->trouble[0] != '\0')
            sma_buf_put_json_member(&json, "error", sma_str(server->trouble));
        const char *remedy = "",
                   *warning = sma_decisive_warning(mcp->config, server->config, &remedy);
        char line[256] = "";
        (void)snprintf(line, sizeof line, "%s; %s", warning == NULL ? "" : warning, remedy);
        if (warning != NULL)
            sma_buf_put_json_member(&json, "warning", sma_str(line));
        sma_buf_put_char(&json, '}');
    }
    sma_buf_put_char(&json, '}');
    if (json.err == SMA_ERR_OK)
        sma_servers_put(sma_buf_str(&json));
    sma_buf_fini(&json);
}
