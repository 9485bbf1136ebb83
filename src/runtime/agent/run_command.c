/* run_command.c — /compact as a run of its own: it waits its turn like a message, survives what a
 * message survives, and answers with a notice. See run.h. */
#include "run_priv.h"

static void finish(struct sma_run *run, enum sma_notice notice, enum sma_outcome outcome)
{
    const struct run_compact *compact = &run->compact;
    sma_notice_format(&run->done_text, run->language, notice, compact->command_turns,
                      (unsigned)(compact->command_before / 1000 + 1),
                      (unsigned)(compact->past.tokens_after / 1000 + 1));
    run_finish_command(run, outcome);
}

void run_command_failed(struct sma_run *run)
{
    bool is_part = run->compact.command_turns > 0; /* one of several pieces is done, and stays so */
    finish(run, is_part ? SMA_NOTICE_COMPACTED : SMA_NOTICE_NOT_COMPACTED,
           is_part ? SMA_OUTCOME_OK : SMA_OUTCOME_FAILED);
}

static void add(struct run_compact *compact, const struct sma_stored_past *past)
{
    if (compact->command_turns == 0)
        compact->command_before = past->tokens_before;
    compact->command_turns += past->turn_count;
    compact->past.tokens_after = past->tokens_after;
}

static void go_on(struct sma_run *run)
{
    if (run_make_fit(run) && !run_compact_command(run))
        finish(run,
               run->compact.command_turns > 0 ? SMA_NOTICE_COMPACTED
                                              : SMA_NOTICE_NOTHING_TO_COMPACT,
               SMA_OUTCOME_OK);
}

void run_command_durable(struct sma_run *run)
{
    add(&run->compact, &run->compact.past);
    go_on(run);
}

void run_command_begin(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    for (uint32_t i = 0; i < order->step_count; i++) {
        struct sma_stored_past past;
        run->next_number = order->steps[i].number + 1;
        if (order->steps[i].kind == SMA_STEP_COMPACTION &&
            sma_codec_get_past(order->steps[i].data, &past) == SMA_ERR_OK)
            add(&run->compact, &past);
    }
    go_on(run);
}
