/* run_place.c — the place of a run in agent.concurrency while it waits for servers. See
 * run_mcp.h. */
#include "run_priv.h"

#define WAITING_NOTE "waits for a server"

/* Is a call of it at a server, and nothing else under way but sub-agents? A server may never
 * answer; all else is work of ours, or comes to an end soon. */
static bool is_at_servers(const struct sma_run *run)
{
    bool has_any = false;
    for (uint32_t i = 0; i < run->call_count; i++) {
        enum call_stage stage = run->calls[i].stage;
        if (stage != CALL_IDLE && stage != CALL_MCP && stage != CALL_CHILD)
            return false;
        has_any = has_any || stage != CALL_IDLE;
    }
    return has_any;
}

static bool waits_for_servers_alone(const struct sma_run *run)
{
    if (run->state != RUN_TOOLS || run->is_draining || run->questions.count > 0 ||
        !is_at_servers(run))
        return false;
    for (uint32_t i = 0; run->children != NULL && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        const struct run_child *child = &run->children->list[i];
        bool is_over = child->state == CHILD_NONE || child->state == CHILD_LEFT;
        if (!is_over && (child->state != CHILD_OPEN || child->run == NULL ||
                         child->run->state != RUN_TOOLS || !is_at_servers(child->run)))
            return false;
    }
    return true;
}

static void leave(struct sma_run *run)
{
    const struct sma_step note = {.seq = run->order->seq,
                                  .kind = SMA_STEP_NOTE,
                                  .data = SMA_STR(WAITING_NOTE),
                                  .leaves_place = true};
    if (!run_child_put_note(run, &note))
        return; /* out of memory: it keeps its place */
    run->mcp.has_left = run->mcp.is_leaving = true;
    run->open_count++; /* the round waits for it */
}

void run_place_look(struct sma_run *run)
{
    struct run_mcp *mcp = &run->mcp;
    if (!waits_for_servers_alone(run)) {
        mcp->alone_ns = 0;
        return;
    }
    if (mcp->alone_ns == 0)
        mcp->alone_ns = run->now_ns;
    if (mcp->has_left || mcp->is_timed)
        return;
    if (run->now_ns - mcp->alone_ns >= SMA_MCP_PLACE_MS * SMA_NS_PER_MS) {
        leave(run);
        return;
    }
    mcp->is_timed = true;
    if (!run->is_waiting)
        (void)run_act(run, SMA_RUN_WAIT);
}
