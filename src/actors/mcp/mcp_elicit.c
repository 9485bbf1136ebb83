/* mcp_elicit.c — questions of servers to people and to the model: to the agent, and back what
 * came of them. A server has one question to the model at a time and SMA_MCP_SAMPLE_COUNT_S60 in
 * a minute, whatever becomes of its connection meanwhile. */
#include "mcp_priv.h"

#define MINUTE_NS (60 * SMA_NS_PER_S)

/* -- to people --------------------------------------------------------------------------------- */

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

/* -- to the model ------------------------------------------------------------------------------ */
/* @return is it one more than a minute has? Counts it. */
static bool is_too_often(struct mcp_server *server, uint64_t now_ns)
{
    if (server->sampled_count == 0 || now_ns - server->sampled_ns >= MINUTE_NS) {
        server->sampled_ns = now_ns;
        server->sampled_count = 0;
    }
    if (server->sampled_count >= SMA_MCP_SAMPLE_COUNT_S60)
        return true;
    server->sampled_count++;
    return false;
}

static const char *find_place(struct mcp_server *server, struct mcp_question **ret_place)
{
    struct sma_mcp *mcp = server->mcp;
    struct mcp_question *place = NULL;
    if (mcp->is_draining)
        return "the program ends";
    for (size_t i = 0; i < SMA_COUNT_OF(mcp->samples); i++) {
        if (mcp->samples[i].ask_id != 0 && mcp->samples[i].server == server)
            return "one sampling request at a time: the one before is not over yet";
        if (mcp->samples[i].ask_id == 0)
            place = &mcp->samples[i];
    }
    if (place == NULL)
        return "too many servers want the model asked at once";
    if (is_too_often(server, sma_ctx_now(mcp->ctx)))
        return "too many sampling requests in a minute";
    *ret_place = place;
    return NULL;
}

const char *mcp_sample_ask(struct mcp_server *server, const struct sma_mcp_wish *wish)
{
    struct sma_mcp *mcp = server->mcp;
    struct mcp_question *place = NULL;
    const char *why = find_place(server, &place);
    struct sma_mcp_sample asked = {
        .server = sma_str(server->name),
        .system = wish->system,
        .lines = (struct sma_mcp_sample_line *)(uintptr_t)wish->lines, /* copied */
        .line_count = wish->line_count,
        .tokens_max = wish->tokens_max,
        .deadline_ns = wish->deadline_ns};
    if (why == NULL && !mcp_call_find(server, wish->call_id, &asked.seq, &asked.call))
        why = "its call is over";
    if (why != NULL) {
        mcp_log(server, SMA_LOG_DEBUG, "sampling is refused: %s", why);
        return why;
    }
    struct sma_msg *msg = sma_msg_make_mcp_sample(&asked);
    bool is_asked = msg != NULL &&
                    sma_ctx_ask(mcp->ctx, SMA_ACTOR_AGENT, &msg, 0, &place->ask_id) == SMA_ERR_OK;
    sma_msg_destroy(msg); /* not sent: the server is told */
    if (!is_asked) {
        place->ask_id = 0;
        return "the model cannot be asked now";
    }
    place->id = wish->id;
    place->server = server;
    place->session_serial = server->session_serial;
    mcp_log(server, SMA_LOG_INFO, "has the model asked something (sampling), in run %llu",
            (unsigned long long)asked.seq);
    return NULL;
}

void mcp_sample_take(struct sma_mcp *mcp, struct sma_msg *answer)
{
    for (size_t i = 0; i < SMA_COUNT_OF(mcp->samples); i++) {
        struct mcp_question done = mcp->samples[i];
        if (done.ask_id == 0 || done.ask_id != answer->ask_id)
            continue;
        mcp->samples[i].ask_id = 0;
        struct mcp_server *server = find_asking(mcp, &done);
        if (server != NULL)
            sma_mcp_session_sampled(server->session, done.id,
                                    SMA_MSG_BODY(answer, struct sma_mcp_sampled),
                                    sma_ctx_now(mcp->ctx));
        return;
    }
}
