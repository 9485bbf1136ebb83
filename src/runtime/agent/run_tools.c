/* run_tools.c — working tools and consent: checks, requests, what was decided, and calls that keep
 * failing. See run.h. */
#include "run_priv.h"

static const char stopped_text[] =
    "Stopped before it was finished; it may have been done in part. It was not repeated: look "
    "before you do it again.";

/* -- questions to the tools -------------------------------------------------------------------- */

/* What the tools said, as the result. */
static void on_content(struct run_call *call, struct sma_str content, const char *otherwise,
                       bool is_error)
{
    if (content.len > 0)
        sma_buf_put_str(&call->result, content);
    else
        sma_tool_put_error(&call->result, sma_str(otherwise));
    run_set_result(call, is_error || content.len == 0);
}

static void on_refusal(struct run_call *call, const struct sma_tool_answer *answer)
{
    if (answer->verdict == SMA_TOOL_STOPPED)
        run_set_error(call, SMA_STR("Not carried out: the program is stopping."));
    else
        on_content(call, answer->content, "Not carried out: it is not allowed.", true);
}

/* -- before the answer is stored --------------------------------------------------------------- */
static void checked(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    struct run_call *call = run_close_call(run, index, CALL_CHECK);
    if (call == NULL)
        return;
    if (answer->verdict == SMA_TOOL_STOPPED && run->is_draining) {
        run_settle(run); /* the answer is not stored yet: the model is asked again */
        return;
    }
    run_egress_checked(run, call, (enum sma_egress_to)answer->leaves_to);
    if (answer->verdict == SMA_TOOL_ASKS) {
        call->is_asked = true;
        if (run->parent != NULL)
            sma_request_put_by_helper(&call->item, answer->item_json);
        else
            sma_buf_put_str(&call->item, answer->item_json);
        if (call->item.err != SMA_ERR_OK)
            run_set_error(call, SMA_STR("Out of memory."));
    } else if (answer->verdict != SMA_TOOL_ALLOWED) {
        on_refusal(call, answer);
    }
    if (run->open_count == 0)
        run_resolved(run);
}

/* -- carried out ------------------------------------------------------------------------------- */
static void ran(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    struct run_call *call = run_close_call(run, index, CALL_RUN);
    if (call == NULL)
        return;
    if (answer->verdict == SMA_TOOL_STOPPED && run->is_draining) {
        run_settle(
            run); /* the next start says "interrupted": that is true then, "stopping" is not */
        return;
    }
    if (answer->verdict == SMA_TOOL_STOPPED)
        run_set_error(call, sma_str(stopped_text));
    else if (answer->verdict == SMA_TOOL_ALLOWED)
        on_content(call, answer->content, "The tool gave no result.", answer->is_error);
    else if (answer->verdict == SMA_TOOL_ASKS)
        on_content(call, answer->content,
                   "Not carried out: it is not what was agreed to any more. Call again if it is "
                   "still wanted; people are then asked anew.",
                   true);
    else
        on_refusal(call, answer);
    bool is_open = answer->verdict == SMA_TOOL_ALLOWED &&
                   run_call_prepare(run, index, answer->parts, answer->part_count);
    run_begin_commands(run);
    if (!is_open)
        run_check_round(run);
}

/* -- sends that were agreed to ----------------------------------------------------------------- */
/* Would people be asked for exactly what they have agreed to? */
static bool is_agreed(struct sma_run *run, const struct run_call *call, struct sma_str item_json)
{
    struct sma_request request;
    uint32_t zero = 0;
    if (!call->is_approved)
        return false;
    sma_buf_clear(&run->scratch);
    if (sma_request_put(&run->scratch, &item_json, &zero, 1) != SMA_ERR_OK ||
        sma_request_parse(sma_buf_str(&run->scratch), &request) != SMA_ERR_OK)
        return false;
    bool is_same = request.item_count == 1 && memcmp(request.items[0].digest, call->agreed->digest,
                                                     sizeof call->agreed->digest) == 0;
    sma_request_fini(&request);
    return is_same;
}

/* All checks are there: the sends that may go become deliveries of one step. */
static void gather_note(struct sma_run *run)
{
    run->delivery_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        if (run->calls[i].stage == CALL_CHECK)
            return;
    }
    for (uint32_t i = 0; i < run->call_count; i++) {
        if (run->calls[i].stage == CALL_NOTE)
            run_put_delivery(run, i);
    }
    if (run->delivery_count == 0)
        return;
    run->note_number = run->next_number++;
    run_store_note(run);
}

static void checked_again(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    struct run_call *call = run_close_call(run, index, CALL_CHECK);
    if (call == NULL)
        return;
    if (answer->verdict == SMA_TOOL_ALLOWED ||
        (answer->verdict == SMA_TOOL_ASKS && is_agreed(run, call, answer->item_json)))
        run_open_call(run, index, CALL_NOTE);
    else if (answer->verdict == SMA_TOOL_ASKS)
        run_set_error(call, SMA_STR("Not sent: it is not what was agreed to any more. Call again "
                                    "if it is still wanted; people are then asked anew."));
    else
        on_refusal(call, answer);
    gather_note(run);
    run_check_round(run);
}

void run_store_note(struct sma_run *run)
{
    run->note_is_asked = true;
    struct sma_run_action *action = run_act(run, SMA_RUN_STORE_STEP);
    action->step = (struct sma_step){.seq = run->order->seq,
                                     .number = run->note_number,
                                     .kind = SMA_STEP_NOTE,
                                     .data = SMA_STR("sent after consent"),
                                     .delivery_count = run->delivery_count,
                                     .deliveries = run->deliveries};
}

void run_note_durable(struct sma_run *run, const struct sma_step_done *step)
{
    run->note_number = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct run_call *call = run_close_call(run, i, CALL_NOTE);
        if (call == NULL)
            continue;
        if (call->delivery == 0 || call->delivery > step->delivery_count)
            run_set_error(call, SMA_STR("The message could not be queued."));
        else
            run_delivery_state(run, i, &step->deliveries[call->delivery - 1]);
    }
    run_check_round(run);
}

void run_tool(struct sma_run *run, uint32_t index, const struct sma_tool_answer *answer)
{
    if (index >= run->call_count)
        return;
    if (run->state == RUN_CHECKING)
        checked(run, index, answer);
    else if (run->state == RUN_TOOLS && run->calls[index].stage == CALL_CHECK)
        checked_again(run, index, answer);
    else if (run->state == RUN_TOOLS)
        ran(run, index, answer);
}

/* -- calls that keep failing ------------------------------------------------------------------- */
