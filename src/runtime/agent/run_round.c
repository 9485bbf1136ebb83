/* run_round.c — one round of a run: the answer comes in, its results go out. See run.h. */
#include "run_priv.h"

#include <stdlib.h>

/* -- the answer arrives ------------------------------------------------------------------------ */
bool run_open_answer(struct sma_run *run)
{
    enum sma_err err = run->answer_data.err;
    if (err == SMA_ERR_OK)
        err = sma_codec_get_answer(sma_buf_str(&run->answer_data), &run->answer);
    if (err == SMA_ERR_OK) {
        run->call_count = run->answer.call_count;
        run->calls = calloc(run->call_count + 1, sizeof *run->calls);
        run->deliveries = calloc(run->call_count + 1, sizeof *run->deliveries);
        if (run->calls == NULL || run->deliveries == NULL)
            err = SMA_ERR_NOMEM;
    }
    if (err != SMA_ERR_OK) {
        run->call_count = run->calls == NULL ? 0 : run->call_count;
        run_finish_failed(run, err == SMA_ERR_CORRUPT ? "the stored steps are damaged"
                                                      : sma_err_text(err));
        return false;
    }
    for (uint32_t i = 0; i < run->call_count; i++) {
        sma_buf_init(&run->calls[i].result, SMA_STEP_BYTES_MAX);
        sma_buf_init(&run->calls[i].route_text, SMA_STEP_BYTES_MAX);
        sma_buf_init(&run->calls[i].delivery_text, SMA_TEXT_BYTES_MAX);
        sma_buf_init(&run->calls[i].item, SMA_STEP_BYTES_MAX);
        run->calls[i].tool = sma_tool_find(run->answer.calls[i].name);
        if (run->calls[i].tool == SMA_TOOL_UNKNOWN && run_mcp_is_name(run->answer.calls[i].name))
            run->calls[i].tool = SMA_TOOL_MCP;
        run->calls[i].goes_elsewhere = run_goes_elsewhere(run, &run->answer.calls[i]);
    }
    run->open_count = run->tool_open_count = run->delivery_count = 0;
    run_nudge_count(run);
    return true;
}

bool run_begin_round(struct sma_run *run, const struct sma_model_answer *answer,
                     struct sma_str line)
{
    run->round++;
    run_drop_answer(run);
    struct sma_answer_extra extra = {.facts = run->round == 1 ? sma_buf_str(&run->facts)
                                                              : (struct sma_str){0},
                                     .key = sma_str(run->target->key),
                                     .line = line};
    struct sma_part *parts = run->round == 1 ? run_parts_copy(run, &extra.part_count) : NULL;
    extra.parts = parts;
    struct sma_model_answer told = *answer;
    struct run_mcp_names names;
    if (!run_mcp_translate(run, &told, &names))
        run->answer_data.err = SMA_ERR_NOMEM;
    sma_codec_put_answer(&run->answer_data, &extra, &told);
    run_mcp_names_fini(&names);
    free(parts);
    return run_open_answer(run);
}

void run_on_answer(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (answer->fragment.len == 0) { /* its results would have nothing to belong to */
        run_finish_failed(run, "the model's answer could not be read");
        return;
    }
    if (!run_begin_round(run, answer, (struct sma_str){0}))
        return;
    for (uint32_t i = 0; i < run->call_count; i++)
        run_check_call(run, i);
    for (uint32_t i = 0; i < run->call_count; i++) {
        if (run->calls[i].has_result)
            continue;
        if (run->calls[i].goes_elsewhere || run_names_message(run, i))
            run_ask_contact(run, i); /* and when it is known who that is: the check */
        else if (run->calls[i].tool == SMA_TOOL_MCP)
            run_mcp_judge(run, i);
        else if (sma_tool_is_gated(run->calls[i].tool))
            run_ask_tool(run, i, SMA_TOOL_CHECK);
    }
    if (run->open_count > 0)
        run->state = RUN_CHECKING;
    else
        run_resolved(run);
}

/* -- the answer is durable: carry its calls out ------------------------------------------------ */
/* The conversation is smaller now: on with what was to be asked. */
static void go_on_smaller(struct sma_run *run)
{
    run_compact_durable(run);
    if (run->state == RUN_FINISHING)
        return; /* out of memory */
    if (run->is_draining)
        run_end(run, false);
    else if (run->order->is_compaction)
        run_command_durable(run);
    else if (run->over.scope != SMA_BUDGET_NONE)
        run_finish_over(run);
    else
        run_ask_model(run);
}

void run_carry_out(struct sma_run *run, const struct sma_step_done *step)
{
    if (run->compact.is_step) {
        go_on_smaller(run);
        return;
    }
    if (run->is_parking || run->wait_ms > 0) { /* nobody was asked: nothing may be done */
        run_finish_failed(run, run->is_parking ? "consent could not be asked for"
                                               : "it could not be left waiting for the model");
        return;
    }
    if (run->is_draining) {
        run_end(run,
                /* its rows are the store's and the dispatcher's now; the rest is told on resume */
                false);
        return;
    }
    if (run->call_count == 0) {
        run_absorb(run, (struct sma_str){0});
        run_drop_answer(run);
        run_next(run);
        return;
    }
    run->state = RUN_TOOLS;
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct run_call *call = &run->calls[i];
        if (call->has_result)
            continue;
        if (call->delivery == 0) {
            run_begin_call(run, i);
            continue;
        }
        run_progress_call(run, i);
        if (call->delivery > step->delivery_count)
            run_set_error(call, SMA_STR("The message could not be queued."));
        else
            run_delivery_state(run, i, &step->deliveries[call->delivery - 1]);
    }
    run_begin_commands(run);
    run_check_round(run);
}

/* -- the round is over ------------------------------------------------------------------------- */

void run_go_on(struct sma_run *run, const struct sma_model_answer *answer, struct sma_str line)
{
    struct sma_model_answer plain = *answer;
    plain.call_count = 0;
    if (run_begin_round(run, &plain, line))
        run_resolved(run);
}
