/* run_child_leave.c — sub-agents end with their run; what a run asks of them in the middle of its
 * own work. See run_child.h. */
#include "run_priv.h"

#include <stdlib.h>

struct run_children *run_child_room(struct sma_run *run)
{
    if (run->children == NULL)
        run->children = calloc(1, sizeof *run->children);
    return run->children;
}

struct run_child *run_child_find(const struct sma_run *run, uint32_t number)
{
    for (uint32_t i = 0; run->children != NULL && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        struct run_child *child = &run->children->list[i];
        if (child->number == number && child->run != NULL)
            return child;
    }
    return NULL;
}

const struct sma_run *sma_run_asker(const struct sma_run *run, uint32_t call)
{
    uint32_t number = call >> RUN_CHILD_SHIFT;
    const struct run_child *child = number == 0 ? NULL : run_child_find(run, number);
    return child != NULL ? child->run : run;
}

struct sma_str sma_run_mcp_name(const struct sma_run *run, uint32_t call)
{
    const struct sma_run *asker = sma_run_asker(run, call);
    bool is_over = asker == run && call >> RUN_CHILD_SHIFT != 0;
    call &= RUN_CHILD_CALL_MASK;
    if (is_over || asker->state != RUN_TOOLS || call >= asker->call_count ||
        asker->calls[call].stage != CALL_MCP)
        return (struct sma_str){0};
    return asker->answer.calls[call].name;
}

void run_child_drop_steps(struct run_children *children)
{
    while (children->first != NULL) {
        struct run_child_step *step = children->first;
        children->first = step->next;
        sma_buf_fini(&step->bytes);
        free(step);
    }
    children->last = NULL;
}

static void close_child(const struct sma_run *run, struct run_child *child)
{
    if (child->run != NULL)
        run->machine->destroy(child->run);
    sma_sessions_destroy(child->sessions);
    free(child->steps);
    free(child->deliveries);
    sma_buf_fini(&child->result);
    *child = (struct run_child){0};
}

void run_child_drop(struct sma_run *run)
{
    struct run_children *children = run->children;
    if (children == NULL)
        return;
    for (uint32_t i = 0; i < SMA_TOOL_CALL_COUNT_MAX; i++)
        close_child(run, &children->list[i]);
    run_child_drop_steps(children);
    free(children);
    run->children = NULL;
}

void run_child_put_role(struct sma_run *run)
{
    sma_buf_put_text(
        &run->facts,
        "\nYou are a sub-agent: the text below is a task that the agent of this chat gives you, "
        "not a message of the user. Nobody can answer you. Your final text goes to that agent, "
        "not to the user: report what was asked for, briefly and completely, with what failed.");
}

/* What is on its way for it is not wanted any more; its steps tell how far it is. */
static void leave(struct sma_run *run, struct run_child *child)
{
    struct sma_run *made = child->run;
    bool asks_model = made != NULL && (made->state == RUN_MODEL || made->state == RUN_COMPACTING ||
                                       (made->state == RUN_PREPARING && made->see.is_looking));
    if (asks_model)
        run_act(run, SMA_RUN_CANCEL_MODEL)->call = child->number << RUN_CHILD_SHIFT;
    if (made != NULL && (made->tool_open_count > 0 || made->see.open_count > 0))
        run->children->has_cancelled = true;
    if (made != NULL && made->mcp.open_count > 0)
        run->children->has_cancelled_mcp = true;
    if (made != NULL)
        made->state = RUN_OVER;
    child->state = CHILD_LEFT;
}

void run_child_leave_all(struct sma_run *run)
{
    for (uint32_t i = 0; run->children != NULL && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
        struct run_child *child = &run->children->list[i];
        if (child->state != CHILD_NONE && child->state != CHILD_LEFT)
            leave(run, child);
    }
}

bool run_child_is_at_rest(const struct sma_run *run, uint32_t index)
{
    if (run->children == NULL || index >= SMA_TOOL_CALL_COUNT_MAX)
        return true;
    enum run_child_state state = run->children->list[index].state;
    return state != CHILD_OPEN && state != CHILD_ENDING;
}

bool run_child_has_cancelled(const struct sma_run *run)
{
    return run->children != NULL && run->children->has_cancelled;
}

bool run_child_has_cancelled_mcp(const struct sma_run *run)
{
    return run->children != NULL && run->children->has_cancelled_mcp;
}
