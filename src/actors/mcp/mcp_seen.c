/* mcp_seen.c — how the servers stand: a change is noted, and told to /api/status and `status`. */
#include "mcp_priv.h"

#include "sma/links.h"

void mcp_note_change(struct sma_mcp *mcp)
{
    if (mcp->tell_ns == UINT64_MAX)
        mcp->tell_ns = sma_ctx_now(mcp->ctx) + MCP_TELL_NS;
    sma_ctx_request_batch_end(mcp->ctx);
}

void mcp_seen_put(struct sma_mcp *mcp)
{
    struct sma_buf json;
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
        sma_buf_put_json_member(&json, "state", sma_str(sma_mcp_state_name(server->state)));
        sma_buf_put_json_number(&json, "tools", told->tool_count);
        if (told->dropped_count > 0)
            sma_buf_put_json_number(&json, "leftOut", told->dropped_count);
        if (server->session != NULL && sma_mcp_session_version(server->session)[0] != '\0')
            sma_buf_put_json_member(&json, "protocol",
                                    sma_str(sma_mcp_session_version(server->session)));
        if (server->trouble[0] != '\0')
            sma_buf_put_json_member(&json, "error", sma_str(server->trouble));
        sma_buf_put_char(&json, '}');
    }
    sma_buf_put_char(&json, '}');
    if (json.err == SMA_ERR_OK)
        sma_servers_put(sma_buf_str(&json));
    sma_buf_fini(&json);
}
