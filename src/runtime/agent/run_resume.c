/* run_resume.c — continue a run from its durable steps. See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <stdlib.h>

#define LATE_MS (60 * 60 * 1000) /* the model does not know that so much time has passed */

/* The facts as they were sent the first time, from the first answer; empty when there is none.
 * Slices into the step. The parts of the messages likewise, which then are in the turn. */
static void put_stored_user(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    struct sma_stored_answer first = {0};
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order->steps[i].kind != SMA_STEP_ANSWER)
            continue;
        if (sma_codec_get_answer(order->steps[i].data, &first) != SMA_ERR_OK)
            first = (struct sma_stored_answer){0};
        break;
    }
    run_put_user(run, first.facts);
    if (first.part_count > 0) {
        run_parts_restore(run, first.parts, first.part_count);
        run_rebuild(run);
    }
    sma_stored_answer_fini(&first);
}

static bool resume_answer(struct sma_run *run, const struct sma_stored_step *step)
{
    run->round++;
    run->wait = (struct sma_stored_wait){0}; /* a model has answered since */
    run->answer_number = step->number;
    run_drop_answer(run);
    sma_buf_put_str(&run->answer_data, step->data);
    if (!run_open_answer(run))
        return false;
    run_egress_resume(run, &run->answer.egress);
    if (run->call_count > 0)
        return true;
    if (run->answer.line.len == 0 && run->answer.added_count == 0) {
        run_finish_failed(run, "the stored steps are damaged");
        return false;
    }
    run_absorb(run, (struct sma_str){0});
    run_drop_answer(run);
    return true;
}

static bool resume_results(struct sma_run *run, const struct sma_stored_step *step)
{
    struct sma_stored_results list;
    enum sma_err err = sma_codec_get_results(step->data, &list);
    if (err == SMA_ERR_OK && list.count != run->call_count) {
        sma_stored_results_fini(&list);
        err = SMA_ERR_CORRUPT;
    }
    if (err != SMA_ERR_OK) {
        run_finish_failed(run, err == SMA_ERR_CORRUPT ? "the stored steps are damaged"
                                                      : sma_err_text(err));
        return false;
    }
    sma_stored_results_fini(&list);
    run_absorb(run, step->data);
    run_drop_answer(run);
    return true;
}

/* What people said about the calls of the answer before it. Whatever does not fit is damage:
 * consent is not guessed. */
static bool resume_decisions(struct sma_run *run, const struct sma_stored_step *step)
{
    enum sma_err err = sma_codec_get_decisions(step->data, &run->decisions);
    run->has_decisions = err == SMA_ERR_OK;
    for (uint32_t i = 0; err == SMA_ERR_OK && i < run->decisions.count; i++) {
        const struct sma_stored_decision *decision = &run->decisions.list[i];
        bool is_known = decision->call < run->call_count;
        if (!is_known || run->answer.calls[decision->call].has_result ||
            run->calls[decision->call].is_decided) {
            err = SMA_ERR_CORRUPT;
            break;
        }
        struct run_call *call = &run->calls[decision->call];
        call->is_decided = true;
        call->is_approved = decision->is_approved;
        call->agreed = decision;
    }
    if (err == SMA_ERR_OK)
        return true;
    run_finish_failed(run,
                      err == SMA_ERR_CORRUPT ? "the stored steps are damaged" : sma_err_text(err));
    return false;
}

/* Deliveries of the answer, or of the note behind its decision: of steps before this number. */
static const struct sma_step_delivery_state *find_delivery(const struct sma_run *run, uint32_t call,
                                                           uint32_t before)
{
    const struct sma_run_order *order = run->order;
    for (uint32_t i = 0; i < order->delivery_count; i++) {
        const struct sma_step_delivery_state *delivery = &order->deliveries[i];
        if (delivery->step >= run->answer_number && delivery->step < before &&
            delivery->call == call && !run_child_has_step(run, delivery->step))
            return delivery;
    }
    return NULL;
}

static void set_known(struct run_call *call, const struct sma_stored_call *stored)
{
    sma_buf_put_str(&call->result, stored->result);
    call->has_result = true;
    call->is_error = stored->is_error;
}

/* The step after an answer without results: all of its calls were known when it was stored or are
 * messages to this chat, whose rows tell (run_is_known_by_rows). What is still on its way is not
 * waited for: the run went on long ago. */
static bool resume_rows(struct sma_run *run, uint32_t before)
{
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct sma_stored_call *stored = &run->answer.calls[i];
        struct run_call *call = &run->calls[i];
        const struct sma_step_delivery_state *delivery = find_delivery(run, i, before);
        if (stored->has_result) {
            set_known(call, stored);
        } else if (!run_is_send(call->tool) || call->goes_elsewhere) {
            run_finish_failed(run, "the stored steps are damaged");
            return false;
        } else if (delivery == NULL) {
            run_set_error(call, SMA_STR("The message could not be queued."));
        } else {
            run_delivery_is(run, i, delivery);
        }
    }
    if (!run_put_results(run))
        return false;
    run_absorb(run, sma_buf_str(&run->results_data));
    run_drop_answer(run);
    return true;
}

static bool resume_wait(struct sma_run *run, const struct sma_stored_step *step)
{
    struct sma_stored_wait wait;
    if (sma_codec_get_wait(step->data, &wait) != SMA_ERR_OK) {
        run_finish_failed(run, "the stored steps are damaged");
        return false;
    }
    run_resume_wait(run, &wait);
    return true;
}

static void set_refused(struct sma_run *run, struct run_call *call)
{
    struct sma_str reason = sma_str_trim(call->agreed->response);
    sma_buf_clear(&run->scratch);
    sma_buf_put_text(&run->scratch, "Not carried out: ");
    sma_buf_put_str(&run->scratch, reason.len > 0 ? reason : SMA_STR("refused"));
    sma_buf_put_text(&run->scratch,
                     ". Do not try it again in other words; go on without it, or tell the user.");
    run_set_error(call, sma_buf_str(&run->scratch));
}

/* A call that waited for the decision, of which nothing has been done yet. */
static void begin_decided(struct sma_run *run, uint32_t index)
{
    struct run_call *call = &run->calls[index];
    const struct sma_stored_call *stored = &run->answer.calls[index];
    run_check_call(run,
                   index); /* reads the arguments; and the person may have lost a right since */
    if (call->has_result)
        return;
    if (call->goes_elsewhere && !stored->has_receiver) {
        run_set_error(call, SMA_STR("Not sent: the receiver is not known any more. Call again."));
        return;
    }
    call->route = stored->receiver;
    if (call->tool == SMA_TOOL_SEND && !call->goes_elsewhere)
        run_set_error(call, SMA_STR("The message could not be queued."));
    else
        run_begin_call(run, index);
}

/* What only reads is not repeated either: it may be what ended the program. */
static void set_interrupted(struct run_call *call)
{
    if (sma_tool_only_reads(call->tool))
        run_set_error(call, SMA_STR("Interrupted by a restart before its result was there. It "
                                    "changes nothing: call it again if you still need it."));
    else
        run_set_error(call,
                      call->is_approved
                          ? SMA_STR("It was agreed to, but interrupted by a restart; the outcome "
                                    "is unknown. It was not repeated: look before you do it "
                                    "again.")
                          : SMA_STR("Interrupted by a restart; the outcome is unknown. It was "
                                    "not repeated: look before you do it again."));
}

/* Its own steps tell what was done: nothing of it is unknown. */
static void resume_child(struct sma_run *run, uint32_t index)
{
    run_check_call(run, index); /* reads the arguments */
    if (!run->calls[index].has_result)
        run_begin_call(run, index);
}

/* The calls of an answer whose results were not stored: what is known of each, and nothing is done
 * twice. */
static void resume_calls(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    bool is_fresh = order->is_decided && run->has_decisions && !run_child_is_decided(run) &&
                    order->steps[order->step_count - 1].kind == SMA_STEP_DECISION;
    run->state = RUN_TOOLS;
    run->tells_time = run->wall_ms - order->wall_ms >= LATE_MS;
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct sma_stored_call *stored = &run->answer.calls[i];
        struct run_call *call = &run->calls[i];
        const struct sma_step_delivery_state *delivery = find_delivery(run, i, UINT32_MAX);
        if (stored->has_result) {
            set_known(call, stored);
        } else if (delivery != NULL) {
            if (call->goes_elsewhere && /* the words alone, for what the model is told */
                sma_tool_args_parse(call->tool, stored->arguments, &call->args, &run->scratch) !=
                    SMA_ERR_OK)
                sma_buf_clear(&run->scratch);
            run_delivery_state(run, i, delivery);
        } else if (call->is_decided && !call->is_approved) {
            set_refused(run, call);
        } else if (run_child_resume_end(run, i)) {
            continue; /* its result was stored by itself */
        } else if (call->tool == SMA_TOOL_AGENT_RUN) {
            resume_child(run, i);
        } else if (is_fresh) {
            begin_decided(run, i);
        } else {
            set_interrupted(call);
        }
    }
    run_question_tell_lost(run);
    run_begin_commands(run);
    run_check_round(run);
}

static bool resume_step(struct sma_run *run, const struct sma_stored_step *step)
{
    bool has_answer = run->call_count > 0;
    bool is_next = step->kind == SMA_STEP_ANSWER || step->kind == SMA_STEP_WAIT ||
                   step->kind == SMA_STEP_COMPACTION;
    if (has_answer && is_next && !run->has_decisions) {
        if (!resume_rows(run, step->number))
            return false;
        has_answer = false;
    }
    switch (step->kind) {
    case SMA_STEP_NOTE:
        run_question_resume(run, step->data);
        return true;
    case SMA_STEP_WAIT:
        if (has_answer)
            break;
        return resume_wait(run, step);
    case SMA_STEP_COMPACTION:
        if (has_answer || !run_compact_resume(run, step->data))
            break;
        return true;
    case SMA_STEP_ANSWER:
        if (has_answer || run->round >= SMA_RUN_STEP_COUNT_MAX)
            break;
        return resume_answer(run, step);
    case SMA_STEP_RESULTS:
        if (!has_answer)
            break;
        run_question_resume(run, SMA_STR(""));
        return resume_results(run, step);
    case SMA_STEP_CHILD:
        if (!has_answer || !run_child_resume(run, step))
            break;
        return true;
    case SMA_STEP_DECISION:
        if (has_answer && run_child_decided(run, step))
            return true;
        if (!has_answer || run->has_decisions)
            break;
        return resume_decisions(run, step);
    default:
        break;
    }
    run_finish_failed(run, "the stored steps are damaged");
    return false;
}

void run_resume(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    if (!run_added_resume(run)) {
        run_finish_failed(run, "out of memory");
        return;
    }
    put_stored_user(run);
    for (uint32_t i = 0; i < order->step_count; i++) {
        run->next_number = order->steps[i].number + 1;
        if (!resume_step(run, &order->steps[i]))
            return;
    }
    if (run->call_count > 0) {
        resume_calls(run);
    } else {
        run_next(run);
    }
}
