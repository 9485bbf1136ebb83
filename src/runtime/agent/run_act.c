/* run_act.c — what a run asks for: actions, progress, the end of its work. See run_priv.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <stdlib.h>

struct sma_run_action *run_act(struct sma_run *run, enum sma_run_action_kind kind)
{
    struct sma_run_actions *actions = run->actions;
    SMA_ASSERT(actions->count < SMA_RUN_ACTION_COUNT_MAX);
    struct sma_run_action *action = &actions->list[actions->count++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    if (kind == SMA_RUN_ASK_MODEL)
        run->asked_ns = run->now_ns;
    return action;
}

void run_progress(struct sma_run *run, enum sma_progress_kind kind, struct sma_str text)
{
    struct sma_run_action *action = run_act(run, SMA_RUN_PROGRESS);
    action->progress = (uint8_t)kind;
    action->text = text;
}

#define DETAIL_BYTES_MAX 200

/* Who watches sees what is being done, and on what. */
void run_progress_call(struct sma_run *run, uint32_t index)
{
    const struct sma_tool_args *args = &run->calls[index].args;
    const struct sma_str *const said[] = {&args->instructions, &args->command, &args->path,
                                          &args->pattern,      &args->keyword, &args->user_name,
                                          &args->name,         &args->url,     &args->query};
    run_progress(run, SMA_PROGRESS_TOOL, run->answer.calls[index].name);
    struct sma_run_action *action = &run->actions->list[run->actions->count - 1];
    for (size_t i = 0; i < SMA_COUNT_OF(said) && action->detail.len == 0; i++)
        if (said[i]->len > 0)
            action->detail =
                (struct sma_str){said[i]->ptr, sma_utf8_cut(*said[i], DETAIL_BYTES_MAX)};
}

void run_wait(struct sma_run *run)
{
    if (run->is_waiting)
        return;
    run->is_waiting = true;
    (void)run_act(run, SMA_RUN_WAIT);
}

/* What is being done is not waited for: commands end, late results are not wanted. */
void run_cancel_tools(struct sma_run *run)
{
    if (run->tool_open_count > 0 || run->see.open_count > 0 || run_child_has_cancelled(run))
        (void)run_act(run, SMA_RUN_CANCEL_TOOLS);
    if (run->mcp.open_count > 0 || run_child_has_cancelled_mcp(run))
        (void)run_act(run, SMA_RUN_CANCEL_MCP);
    run->tool_open_count = run->see.open_count = run->mcp.open_count = 0;
}

void run_end(struct sma_run *run, bool is_counted)
{
    run_child_leave_all(run);
    run_cancel_tools(run);
    run->state = RUN_OVER;
    run_progress(run, SMA_PROGRESS_FINISHED, (struct sma_str){0});
    struct sma_run_action *action = run_act(run, SMA_RUN_END);
    action->outcome = run->outcome;
    action->is_counted = is_counted;
}

void run_settle(struct sma_run *run)
{
    run_cancel_tools(run);
    if (run->results_number != 0 && run->results_are_asked)
        run->state = RUN_SETTLING;
    else
        run_end(run, false);
}

void run_store_results(struct sma_run *run)
{
    run->results_are_asked = true;
    struct sma_run_action *action = run_act(run, SMA_RUN_STORE_STEP);
    action->step = (struct sma_step){.seq = run->order->seq,
                                     .number = run->results_number,
                                     .kind = SMA_STEP_RESULTS,
                                     .data = sma_buf_str(&run->results_data)};
    run_added_tell(run, &action->step);
}

struct sma_str run_usage_target(const struct sma_run *run)
{
    if (run->usage.request_count == 0 || run->usage_target == NULL)
        return (struct sma_str){0};
    return sma_str(run->usage_target->key);
}

void run_drop_answer(struct sma_run *run)
{
    for (uint32_t i = 0; run->calls != NULL && i < run->call_count; i++) {
        sma_tool_args_fini(&run->calls[i].args);
        sma_buf_fini(&run->calls[i].result);
        sma_buf_fini(&run->calls[i].route_text);
        sma_buf_fini(&run->calls[i].delivery_text);
        sma_buf_fini(&run->calls[i].item);
        run_part_free_list(run->calls[i].parts, run->calls[i].part_count);
    }
    if (run->call_count > 0)
        run_child_drop(run);
    run->questions.count = 0;
    run->questions.is_asked = run->questions.is_storing = false;
    free(run->calls);
    free(run->deliveries);
    run->calls = NULL;
    run->deliveries = NULL;
    run->call_count = run->open_count = run->tool_open_count = run->delivery_count = 0;
    run->mcp.open_count = 0;
    run->is_parking = run->has_decisions = false;
    run->wait_ms = 0;
    run->note_number = 0;
    sma_stored_decisions_fini(&run->decisions);
    sma_stored_answer_fini(&run->answer);
    sma_buf_clear(&run->answer_data);
}
