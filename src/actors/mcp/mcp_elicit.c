/* mcp_elicit.c — questions of servers to people: to the agent, and back what was done with them. */
#include "mcp_priv.h"

bool mcp_elicit_ask(struct mcp_server *server, const struct sma_mcp_question *question)
{
    struct sma_mcp *mcp = server->mcp;
    struct mcp_question *place = NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(mcp->questions) && place == NULL; i++)
        if (mcp->questions[i].ask_id == 0)
            place = &mcp->questions[i];
    struct sma_mcp_elicit asked = {.server = sma_str(server->name),
                                   .text = question->text,
                                   .schema = question->schema,
                                   .deadline_ns = question->deadline_ns};
    if (place == NULL || mcp->is_draining ||
        !mcp_call_find(server, question->call_id, &asked.seq, &asked.call))
        return false;
    struct sma_msg *msg = sma_msg_make_mcp_elicit(&asked);
    bool is_asked = msg != NULL &&
                    sma_ctx_ask(mcp->ctx, SMA_ACTOR_AGENT, &msg, 0, &place->ask_id) == SMA_ERR_OK;
    sma_msg_destroy(msg); /* not sent: the server is told that nobody answers */
    if (!is_asked) {
        place->ask_id = 0;
        return false;
    }
    place->id = question->id;
    place->server = server;
    place->session_serial = server->session_serial;
    mcp_log(server, SMA_LOG_INFO, "asks people something");
    return true;
}

/* The server may be gone by now, or another session speaks with it. */
static struct mcp_server *find_asking(struct sma_mcp *mcp, const struct mcp_question *question)
{
    for (size_t i = 0; i < mcp->server_count; i++)
        if (mcp->servers[i] == question->server &&
            mcp->servers[i]->session_serial == question->session_serial &&
            mcp->servers[i]->session != NULL && !mcp->servers[i]->is_lost)
            return mcp->servers[i];
    return NULL;
}

void mcp_elicit_take(struct sma_mcp *mcp, struct sma_msg *answer)
{
    const struct sma_mcp_elicited *elicited = SMA_MSG_BODY(answer, struct sma_mcp_elicited);
    for (size_t i = 0; i < SMA_COUNT_OF(mcp->questions); i++) {
        struct mcp_question done = mcp->questions[i];
        if (done.ask_id == 0 || done.ask_id != answer->ask_id)
            continue;
        mcp->questions[i].ask_id = 0;
        struct mcp_server *server = find_asking(mcp, &done);
        enum sma_mcp_action action = elicited->action <= SMA_MCP_DISMISS
                                         ? (enum sma_mcp_action)elicited->action
                                         : SMA_MCP_DISMISS;
        if (server != NULL)
            sma_mcp_session_elicited(server->session, done.id, action, elicited->content,
                                     sma_ctx_now(mcp->ctx));
        return;
    }
}
