/* run_added_end.c — an answer that would be the end is not, for somebody has added something. */
#include "run_priv.h"

#include "sma/text.h"

/* That something was taken back is no reason to go on. */
static bool wants_answer(const struct run_added *added)
{
    for (uint32_t i = added->given_count; i < added->count; i++)
        if (added->room->list[i].message->change != SMA_CHANGE_RECALL)
            return true;
    return false;
}

/* Where the platform counts answers to a message, this one and the last must still be taken: with a
 * run of its own the next message has answers of its own. */
static bool has_reply_left(const struct sma_run *run)
{
    uint32_t left = run->order->replies_left;
    return left == 0 || run->added.end_count + 2 <= left;
}

bool run_added_go_on(struct sma_run *run, const struct sma_model_answer *answer)
{
    bool is_end = answer->call_count == 0 && answer->finish != SMA_FINISH_LENGTH &&
                  answer->finish != SMA_FINISH_FILTERED && answer->finish != SMA_FINISH_REFUSED;
    if (!is_end || !run_added_is_due(run) || !wants_answer(&run->added) ||
        run->added.end_count >= RUN_ADDED_END_COUNT_MAX || !has_reply_left(run) ||
        run_added_text(run, answer->text).len > SMA_TEXT_BYTES_MAX ||
        run->added.text.err != SMA_ERR_OK)
        return false;
    struct sma_model_answer spoken = *answer;
    if (sma_str_trim(answer->text).len == 0) {
        spoken.text = sma_str(RUN_NO_WORDS);
        spoken.fragment = (struct sma_str){0};
    }
    run->added.is_going_on = true;
    run_go_on(run, &spoken, (struct sma_str){0});
    run->added.is_going_on = false;
    return true;
}
