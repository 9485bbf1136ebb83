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

/* It came with the words that are answered: they are read together, or they were not understood. */
static bool has_gesture(const struct run_added *added)
{
    for (uint32_t i = added->given_count; i < added->count; i++)
        if (added->room->list[i].message->is_behind)
            return true;
    return false;
}

/* Nothing but words to the person's own chat. */
static bool only_talks(const struct sma_run *run, const struct sma_model_answer *answer)
{
    for (uint32_t i = 0; i < answer->call_count; i++)
        if (sma_tool_find(answer->calls[i].name) != SMA_TOOL_SEND ||
            sma_tool_goes_elsewhere(SMA_TOOL_SEND, answer->calls[i].arguments, &run->order->route))
            return false;
    return true;
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
    bool is_together = has_gesture(&run->added); /* then nothing is said by itself */
    bool is_end = (answer->call_count == 0 || (is_together && only_talks(run, answer))) &&
                  answer->finish != SMA_FINISH_LENGTH && answer->finish != SMA_FINISH_FILTERED &&
                  answer->finish != SMA_FINISH_REFUSED;
    if (!is_end || !run_added_is_due(run) || !wants_answer(&run->added) ||
        run->added.end_count >= RUN_ADDED_END_COUNT_MAX || !has_reply_left(run) ||
        run_added_text(run, answer->text).len > SMA_TEXT_BYTES_MAX ||
        run->added.text.err != SMA_ERR_OK)
        return false;
    struct sma_model_answer spoken = *answer;
    if (sma_str_trim(answer->text).len == 0 || is_together) {
        spoken.text = sma_str(RUN_NO_WORDS);
        spoken.fragment = (struct sma_str){0};
        (void)run_added_text(run, spoken.text);
    }
    run->added.is_going_on = true;
    run_go_on(run, &spoken, (struct sma_str){0});
    run->added.is_going_on = false;
    return true;
}
