/* run_results.c — what calls resulted in is counted, and a round whose calls all have results ends.
 * See run_priv.h. */
#include "run_priv.h"

#include <jansson.h>

bool run_is_known_by_rows(const struct sma_run *run)
{
    uint32_t row_count = 0;
    for (uint32_t i = 0; i < run->call_count; i++) {
        const struct run_call *call = &run->calls[i];
        bool is_row = call->delivery != 0 && run_is_send(call->tool) && !call->goes_elsewhere;
        row_count += is_row;
        if (!is_row && !run->answer.calls[i].has_result)
            return false;
    }
    return row_count > 0 && !run->has_decisions;
}

static void close_round(struct sma_run *run)
{
    bool is_known = run_is_known_by_rows(run) && !run_added_is_due(run);
    SMA_ASSERT(run->results_number ==
               0); /* the answer in between was durable, so the ones before it are */
    if (!run_put_results(run))
        return;
    run_added_put(run, &run->results_data);
    run_trace_calls(run);
    run_absorb(run, sma_buf_str(&run->results_data));
    run_drop_answer(run);
    if (!is_known) {
        run->results_number = run->next_number++;
        run_store_results(run);
    }
    if (!run->is_draining)
        run_next(run);
    else if (is_known)
        run_end(run, false);
    else
        run->state = RUN_SETTLING;
}

/* Draining: what only waits for a platform need not be waited for; its outbox row is the result. */
void run_check_round(struct sma_run *run)
{
    if (run->open_count == 0) {
        close_round(run);
        return;
    }
    if (!run->is_draining)
        return;
    for (uint32_t i = 0; i < run->call_count; i++) {
        enum call_stage stage = run->calls[i].stage;
        if (stage != CALL_IDLE && stage != CALL_SENT &&
            !(stage == CALL_CHILD && run_child_is_at_rest(run, i)))
            return;
    }
    run_settle(run);
}
