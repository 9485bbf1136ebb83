/* run_nudge.c — answers of the model that are not the end, though they ask for nothing. See run.h. */
#include "run_priv.h"

bool run_nudge(struct sma_run *run, const struct sma_model_answer *answer)
{
    (void)run;
    (void)answer;
    return false;
}

bool run_nudge_resume(struct sma_run *run, const struct sma_stored_answer *answer)
{
    (void)run;
    (void)answer;
    return false;
}

void run_nudge_limit(struct sma_run *run)
{
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_STEP_LIMIT, (unsigned)run->round);
    run_finish_notice(run, SMA_OUTCOME_FAILED);
}
