/*
 * run_nudge.c — answers of the model that are not the end, though they ask for nothing: an empty
 * one, a text that was cut off, and the last word when the steps are used up. What is said to the
 * model then begins like our other blocks, so that it is not taken for the user's. See run.h.
 */
#include "run_priv.h"

#include "sma/text.h"

#define CUT_TEXT_COUNT_MAX 3
#define CUT_CALL_COUNT_MAX 2

static bool has_rounds_left(const struct sma_run *run)
{
    return run->round < run->round_max && !run->is_summing;
}

/* Has the user been given something since the tools last ran? */
static bool is_answered(const struct sma_run *run)
{
    return (run->has_delivered || run->has_shown) && !run->has_worked;
}

static void ask_again(struct sma_run *run, const struct sma_model_answer *answer, const char *text)
{
    struct sma_buf line;
    sma_buf_init(&line, 1024);
    sma_prompt_put_note(&line, run->order->facts_word, text);
    if (line.err == SMA_ERR_OK)
        run_go_on(run, answer, sma_buf_str(&line));
    else
        run_finish_failed(run, sma_err_text(line.err));
    sma_buf_fini(&line);
}

/* The text is one answer, though it came in parts. */
static bool continue_text(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run->cut_text_count >= CUT_TEXT_COUNT_MAX || !has_rounds_left(run))
        return false;
    ask_again(run, answer,
              "Your text was cut off. Go on where it stopped, beginning with the last word you "
              "wrote; repeat nothing else and make no remark: both parts are put together.");
    return true;
}

static bool wake(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run->empty_count > 0 || is_answered(run) || !has_rounds_left(run) || run->parts.len > 0)
        return false;
    struct sma_model_answer spoken = *answer;
    spoken.text = sma_str(RUN_NO_WORDS);
    spoken.fragment = (struct sma_str){0};
    ask_again(run, &spoken,
              run->has_delivered ? "Your answer was empty. Give the user your answer now; if they "
                                   "have been sent all of it, answer nothing."
                                 : "Your answer was empty. Give the user your answer now.");
    return true;
}

bool run_nudge(struct sma_run *run, const struct sma_model_answer *answer)
{
    bool is_blank = sma_str_trim(answer->text).len == 0;
    if (run->is_summing || answer->finish == SMA_FINISH_REFUSED ||
        answer->finish == SMA_FINISH_FILTERED) { /* calls are not carried out: this is the end */
        run_finish_answer(run, answer);
        return true;
    }
    if (answer->call_count > 0) {
        if (answer->finish != SMA_FINISH_LENGTH || run->cut_call_count < CUT_CALL_COUNT_MAX)
            return false; /* a round; calls that were cut off get errors */
        sma_notice_format(&run->done_text, run->language, SMA_NOTICE_CUT_CALLS);
        run_finish_notice(run, SMA_OUTCOME_FAILED, "three answers were cut off inside of a call");
        return true;
    }
    if (answer->finish == SMA_FINISH_LENGTH && !is_blank)
        return continue_text(run, answer);
    return is_blank && wake(run, answer);
}

void run_nudge_count(struct sma_run *run)
{
    const struct sma_stored_answer *answer = &run->answer;
    bool is_cut = answer->finish == SMA_FINISH_LENGTH;
    if (answer->line.len > 0 && sma_str_is_equal(answer->text, sma_str(RUN_NO_WORDS))) {
        run->empty_count++;
    } else if (answer->line.len > 0) {
        run->cut_text_count++;
        run_join_part(&run->parts, answer->text);
    } else if (answer->call_count > 0) {
        run->cut_call_count += is_cut;
        if (run->parts.len >
            0) { /* told to go on with its text it called tools: the text is not lost */
            run_join_part(&run->parts, answer->text);
            sma_buf_put_text(&run->parts, "\n\n");
        }
    }
}
