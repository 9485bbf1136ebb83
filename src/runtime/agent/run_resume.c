/* run_resume.c — continue a run from its durable steps. See run.h. */
#include "run_priv.h"

#include <stdlib.h>

/* The facts as they were sent the first time, from the first answer; empty when there is none. Slices into the step. */
static struct sma_str stored_facts(const struct sma_run_order *order)
{
    struct sma_str facts = {0};
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order->steps[i].kind != SMA_STEP_ANSWER)
            continue;
        struct sma_stored_answer answer;
        if (sma_codec_get_answer(order->steps[i].data, &answer) == SMA_ERR_OK) {
            facts = answer.facts;
            sma_stored_answer_fini(&answer);
        }
        break;
    }
    return facts;
}

static bool resume_answer(struct sma_run *run, const struct sma_stored_step *step)
{
    run->round++;
    run->answer_number = step->number;
    run_drop_answer(run);
    sma_buf_put_str(&run->answer_data, step->data);
    return run_open_answer(run);
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
    run_absorb(run, &run->answer, list.results, list.count);
    sma_stored_results_fini(&list);
    run_drop_answer(run);
    return true;
}

static const struct sma_step_delivery_state *find_delivery(const struct sma_run *run, uint32_t call)
{
    const struct sma_run_order *order = run->order;
    for (uint32_t i = 0; i < order->delivery_count; i++) {
        if (order->deliveries[i].step == run->answer_number && order->deliveries[i].call == call)
            return &order->deliveries[i];
    }
    return NULL;
}

/* The calls of an answer whose results were not stored: what is known of each, and nothing is done twice. */
static void resume_calls(struct sma_run *run)
{
    run->state = RUN_TOOLS;
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct sma_stored_call *stored = &run->answer.calls[i];
        struct run_call *call = &run->calls[i];
        const struct sma_step_delivery_state *delivery = find_delivery(run, i);
        if (stored->has_result) {
            sma_buf_put_str(&call->result, stored->result);
            call->has_result = true;
            call->is_error = stored->is_error;
        } else if (delivery != NULL) {
            run_delivery_state(run, i, delivery);
        } else {
            run_set_error(
                call,
                SMA_STR(
                    "Interrupted by a restart; the outcome is unknown. It was not repeated: look "
                    "before you do it again."));
        }
    }
    run_check_round(run);
}

void run_resume(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    run_put_user(run, stored_facts(order));
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct sma_stored_step *step = &order->steps[i];
        bool has_answer = run->call_count > 0;
        run->next_number = step->number + 1;
        if (step->kind == SMA_STEP_NOTE)
            continue;
        bool is_answer = step->kind == SMA_STEP_ANSWER;
        if (is_answer == has_answer || (is_answer && run->round >= SMA_RUN_STEP_COUNT_MAX)) {
            run_finish_failed(run, "the stored steps are damaged");
            return;
        }
        if (!(is_answer ? resume_answer(run, step) : resume_results(run, step)))
            return;
        if (is_answer && run->call_count == 0) {
            run_finish_failed(run, "the stored steps are damaged");
            return;
        }
    }
    if (run->call_count > 0) {
        resume_calls(run);
    } else if (run->round >= SMA_RUN_STEP_COUNT_MAX) {
        sma_notice_format(&run->done_text, run->language, SMA_NOTICE_STEP_LIMIT,
                          (unsigned)run->round);
        run_finish_notice(run, SMA_OUTCOME_FAILED);
    } else {
        run_ask_model(run);
    }
}
