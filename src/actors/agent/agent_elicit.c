/* agent_elicit.c — questions that servers ask people in a call of a run: kept until the run, time
 * or its end answers them. At most SMA_ASK_ELICIT_COUNT_MAX: more are never asked. */
#include "agent_priv.h"

static void say(struct sma_agent *agent, const struct sma_msg *question,
                const struct sma_mcp_elicited *what)
{
    struct sma_msg *answer = agent_need(agent, sma_msg_make_mcp_elicited(what));
    sma_ctx_answer(agent->ctx, question, &answer);
}

static void dismiss(struct sma_agent *agent, struct sma_msg *question)
{
    const struct sma_mcp_elicit *asked = SMA_MSG_BODY(question, struct sma_mcp_elicit);
    const struct sma_mcp_elicited none = {
        .seq = asked->seq, .call = asked->call, .action = SMA_MCP_DISMISS};
    say(agent, question, &none);
}

/* The oldest first: of one call they are answered in their order. */
static void drop(struct sma_agent *agent, uint32_t index)
{
    sma_msg_destroy(agent->elicits[index].msg);
    agent->elicit_count--;
    memmove(&agent->elicits[index], &agent->elicits[index + 1],
            (agent->elicit_count - index) * sizeof agent->elicits[0]);
}

const struct sma_mcp_elicit *agent_elicit_keep(struct sma_agent *agent,
                                               const struct agent_run *entry, struct sma_msg **msg)
{
    if (entry == NULL || agent->is_draining ||
        agent->elicit_count == SMA_COUNT_OF(agent->elicits)) {
        dismiss(agent, *msg);
        return NULL;
    }
    const struct sma_mcp_elicit *asked = SMA_MSG_BODY(*msg, struct sma_mcp_elicit);
    agent->elicits[agent->elicit_count++] = (struct agent_elicit){
        .msg = SMA_TAKE(*msg), .serial = entry->serial, .deadline_ns = asked->deadline_ns};
    return asked;
}

void agent_elicit_answer(struct sma_agent *agent, const struct agent_run *entry,
                         const struct sma_mcp_elicited *what)
{
    for (uint32_t i = 0; i < agent->elicit_count; i++) {
        struct sma_msg *msg = agent->elicits[i].msg;
        if (agent->elicits[i].serial != entry->serial ||
            SMA_MSG_BODY(msg, struct sma_mcp_elicit)->call != what->call)
            continue;
        say(agent, msg, what);
        drop(agent, i);
        return;
    }
}

void agent_elicit_end_run(struct sma_agent *agent, uint64_t serial)
{
    for (uint32_t i = agent->elicit_count; i > 0; i--) {
        if (agent->elicits[i - 1].serial != serial)
            continue;
        dismiss(agent, agent->elicits[i - 1].msg);
        drop(agent, i - 1);
    }
}

uint64_t agent_elicit_wake_ns(const struct sma_agent *agent)
{
    uint64_t at = UINT64_MAX;
    for (uint32_t i = 0; i < agent->elicit_count; i++)
        if (agent->elicits[i].deadline_ns < at)
            at = agent->elicits[i].deadline_ns;
    return at;
}

bool agent_elicit_take_due(struct sma_agent *agent, uint64_t now_ns, uint64_t *ret_seq,
                           uint32_t *ret_call)
{
    for (uint32_t i = 0; i < agent->elicit_count; i++) {
        if (agent->elicits[i].deadline_ns > now_ns)
            continue;
        const struct sma_mcp_elicit *asked =
            SMA_MSG_BODY(agent->elicits[i].msg, struct sma_mcp_elicit);
        *ret_seq = asked->seq;
        *ret_call = asked->call;
        agent->elicits[i].deadline_ns = UINT64_MAX; /* its run answers it now, or ends */
        return true;
    }
    return false;
}

void agent_elicit_fini(struct sma_agent *agent)
{
    while (agent->elicit_count > 0)
        sma_msg_destroy(agent->elicits[--agent->elicit_count].msg);
}
