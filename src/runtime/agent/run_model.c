/* run_model.c — what an answer of the model does: a round, the end, a shorter request, a failure. See run.h. */
#include "run_priv.h"

#include "sma/text.h"

/* -- the model ---------------------------------------------------------------------------------------------------- */
/* What the provider said, its address and, last, the remedy: a shorter line would lose just that. */
#define MODEL_REASON_BYTES_MAX 1000

static void model_failed(struct sma_run *run, const struct sma_model_answer *answer)
{
    struct sma_str why = sma_str_trim(answer->error);
    char text[MODEL_REASON_BYTES_MAX + 1] = "no reason given";
    size_t len = sma_utf8_cut(why, MODEL_REASON_BYTES_MAX);
    for (size_t i = 0; i < len; i++)
        text[i] = (unsigned char)why.ptr[i] < ' ' ? ' ' : why.ptr[i];
    if (len > 0)
        text[len] = '\0';
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_MODEL_FAILED, text);
    run_finish_notice(run, SMA_OUTCOME_FAILED);
}

void run_model_answered(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run->state != RUN_MODEL)
        return;
    run_trace_answer(run, answer);
    if (run->stamps.model_out_ns == 0) {
        run->stamps.model_out_ns = answer->out_ns;
        run->stamps.first_token_ns = answer->first_token_ns;
    }
    if (answer->status == SMA_MODEL_OK) {
        if (run_nudge(run, answer))
            return;
        if (answer->call_count == 0)
            run_finish_answer(run, answer);
        else
            run_take_answer(run, answer);
        return;
    }
    if (run->is_draining && answer->status != SMA_MODEL_FAILED) {
        run_settle(run);
        return;
    }
    if (answer->status != SMA_MODEL_CONTEXT_LENGTH)
        model_failed(run, answer);
    else if (run_shrink(run))
        run_ask_model(run);
    else
        run_finish_too_long(run);
}

void run_next(struct sma_run *run)
{
    if (run->round >= SMA_RUN_STEP_COUNT_MAX)
        run_nudge_limit(run);
    else
        run_ask_model(run);
}

/* -- answers that are not the end --------------------------------------------------------------------------------- */
void run_go_on(struct sma_run *run, const struct sma_model_answer *answer, struct sma_str line)
{
    struct sma_model_answer plain = *answer;
    plain.call_count = 0;
    if (run_begin_round(run, &plain, line))
        run_resolved(run);
}
