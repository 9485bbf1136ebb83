/* run_ask.c — the model is asked for the next answer, or the run waits for one. See run_priv.h. */
#include "run_priv.h"
#include "sma/text.h"

#include <stdlib.h>

#define TELL_WAIT_MS 10000 /* a wait longer than this is told to the chat */

/* Every target is cooled, and this one, the first that will be back, has said until when. */
static bool must_wait(const struct sma_run *run)
{
    const struct sma_run_settings *settings = run->settings;
    const struct sma_cooldown *cooldown = &settings->cooldowns[run->target_index];
    return !run->has_asked && cooldown->is_told && cooldown->until_ns > run->now_ns &&
           run_find_target(run, 0) == settings->model_count;
}

static int64_t left_ms(const struct sma_run *run, size_t index)
{
    uint64_t until_ns = run->settings->cooldowns[index].until_ns;
    return until_ns <= run->now_ns ? 1 : (int64_t)((until_ns - run->now_ns) / SMA_NS_PER_MS) + 1;
}

/* Can waiting help? asked_ms: what is the soonest that a server asked for, -1 when one may be back
 * any time. */
static bool may_wait(const struct sma_run *run, uint32_t targets, int64_t *ret_asked_ms)
{
    bool may = false;
    int64_t asked_ms = INT64_MAX;
    for (size_t i = 0; i < run->settings->model_count; i++) {
        bool is_told = run->settings->cooldowns[i].is_told;
        if ((targets >> i & 1) == 0)
            continue;
        if (is_told && left_ms(run, i) < asked_ms)
            asked_ms = left_ms(run, i);
        else if (!is_told && sma_health_passes((enum sma_model_failure)run->troubles[i]))
            asked_ms = -1;
        else if (!is_told)
            continue;
        may = true;
        if (asked_ms < 0)
            break;
    }
    *ret_asked_ms = asked_ms;
    return may;
}

void run_store_wait(struct sma_run *run, uint32_t wait_ms, const struct sma_stored_wait *wait,
                    const struct sma_step_delivery *delivery)
{
    run_drop_answer(run);
    sma_codec_put_wait(&run->answer_data, wait);
    run->deliveries = calloc(1, sizeof *run->deliveries);
    if (run->answer_data.err != SMA_ERR_OK || run->deliveries == NULL) {
        run_finish_failed(run, "out of memory");
        return;
    }
    if (delivery != NULL)
        run->deliveries[run->delivery_count++] = *delivery;
    run->wait_ms = wait_ms;
    run->answer_number = run->next_number++;
    run->state = RUN_STORING;
    run_store_answer(run);
}

/* false: waiting is no use (any more). */
bool run_wait_for_model(struct sma_run *run, uint32_t targets, struct sma_str reason)
{
    int64_t asked_ms, now_ms = sma_run_wall_ms(run, run->now_ns);
    struct sma_stored_wait wait = run->wait;
    if (!may_wait(run, targets, &asked_ms))
        return false;
    if (wait.count == 0)
        wait.since_ms = now_ms;
    struct sma_patience patience = {.total_ms = run->settings->config->llm_patience_s * 1000,
                                    .spent_ms = now_ms > wait.since_ms ? now_ms - wait.since_ms : 0,
                                    .count = wait.count};
    uint32_t ms = sma_patience_wait_ms(&patience, asked_ms, run->random[1] ^ run->now_ns);
    if (ms == 0)
        return false;
    bool tells = ms > TELL_WAIT_MS && !wait.is_told && !run->is_answered &&
                 !run->channel.is_stored; /* it would stand in the result */
    wait.count++;
    wait.is_told |= tells;
    wait.reason = (struct sma_str){reason.ptr, sma_utf8_cut(reason, 1000)};
    run->wait = wait;
    sma_buf_clear(&run->notice);
    struct sma_step_delivery delivery = {
        .intent = SMA_INTENT_NOTICE, .route = run->order->route, .is_fallback = true};
    if (tells) {
        int64_t rest_ms = patience.total_ms - patience.spent_ms;
        sma_notice_format(&run->notice, run->language, SMA_NOTICE_MODEL_WAIT,
                          (unsigned)((rest_ms + 59999) / 60000));
        delivery.text = sma_buf_str(&run->notice);
    }
    run->wait.reason = (struct sma_str){0}; /* it is the caller's */
    run_store_wait(run, ms, &wait, tells && run->notice.err == SMA_ERR_OK ? &delivery : NULL);
    return true;
}

void run_ask_model(struct sma_run *run)
{
    if (must_wait(run) &&
        run_wait_for_model(run, UINT32_C(1) << run->target_index,
                           SMA_STR("every model has asked to be left alone for a while")))
        return;
    if (run_parts_prepare(run))
        return;
    run_parts_bound(run);
    if (!run_make_fit(run) || run_compact_when_due(run) || !run_fit_request(run))
        return;
    if (!run_parts_list_files(run)) {
        run_finish_failed(run, "out of memory");
        return;
    }
    run->has_asked = true;
    run->asked_refused_count = run->target->refused_count;
    run->state = RUN_MODEL;
    (void)run_act(run, SMA_RUN_ASK_MODEL);
}

/* The same bytes when it is resumed: the step before is the last that is stored. */
void run_nudge_limit(struct sma_run *run)
{
    struct sma_buf line;
    sma_buf_init(&line, 1024);
    sma_prompt_put_note(
        &line, run->order->facts_word,
        run->is_looping ? "The same calls came again and again without anything new; no more "
                          "calls are carried out. Tell the user now in plain text what was "
                          "found and what is missing."
                        : "All steps of this run are used up; calls are not carried out any more. "
                          "Tell the user now in plain text what was done, what was found and what "
                          "is left to do.");
    if (line.err != SMA_ERR_OK)
        run->turn.err = line.err;
    run->is_summing = true;
    run_say(run, sma_buf_str(&line));
    sma_buf_fini(&line);
    run_ask_model(run);
}

void run_next(struct sma_run *run)
{
    if (run->over.scope != SMA_BUDGET_NONE)
        run_finish_over(run);
    else if ((run->is_looping = run_goes_in_circles(run)) || run->round >= run->round_max)
        run_nudge_limit(run);
    else
        run_ask_model(run);
}
