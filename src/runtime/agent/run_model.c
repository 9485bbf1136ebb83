/* run_model.c — who is asked, and what an answer does: a round, the end, another target, a wait.
 * See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#define NS_PER_MS UINT64_C(1000000)
#define TELL_WAIT_MS 10000 /* a wait longer than this is told to the chat */

/* -- who is asked ------------------------------------------------------------------------------ */
static void set_target(struct sma_run *run, size_t index)
{
    run->target_index = index;
    run->target = &run->settings->targets[index];
    run->form = RUN_FORM_OWN; /* what another one refused this one may take */
    run->form_round_count = 0;
    run_rebuild(run);
}

void run_pick_target(struct sma_run *run)
{
    const struct sma_run_settings *settings = run->settings;
    size_t index = sma_cooldown_pick(settings->cooldowns, settings->target_count, 0, run->now_ns);
    if (index == settings->target_count)
        index = sma_cooldown_first_back(settings->cooldowns, settings->target_count);
    set_target(run, index);
}

/* -- waiting ----------------------------------------------------------------------------------- */
static int64_t left_ms(const struct sma_run *run, size_t index)
{
    uint64_t until_ns = run->settings->cooldowns[index].until_ns;
    return until_ns <= run->now_ns ? 1 : (int64_t)((until_ns - run->now_ns) / NS_PER_MS) + 1;
}

/* Can waiting help? asked_ms: what is the soonest that a server asked for, -1 when one may be back
 * any time. */
static bool may_wait(const struct sma_run *run, uint32_t targets, int64_t *ret_asked_ms)
{
    bool may = false;
    int64_t asked_ms = INT64_MAX;
    for (size_t i = 0; i < run->settings->target_count; i++) {
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

/* false: waiting is no use (any more). */
static bool wait_for_model(struct sma_run *run, uint32_t targets, struct sma_str reason)
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
                 !sma_str_is_equal(run->order->route.channel,
                                   SMA_STR("api")); /* it would stand in the result */
    wait.count++;
    wait.is_told |= tells;
    wait.reason = (struct sma_str){reason.ptr, sma_utf8_cut(reason, 1000)};
    run->wait = wait;
    sma_buf_clear(&run->notice);
    struct sma_step_delivery delivery = {.intent = SMA_INTENT_NOTICE, .route = run->order->route};
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

void run_resume_wait(struct sma_run *run, const struct sma_stored_wait *wait)
{
    run->wait = *wait;
}

/* -- asking ------------------------------------------------------------------------------------ */
/* Every target is cooled, and this one, the first that will be back, has said until when. */
static bool must_wait(const struct sma_run *run)
{
    const struct sma_run_settings *settings = run->settings;
    const struct sma_cooldown *cooldown = &settings->cooldowns[run->target_index];
    return !run->has_asked && cooldown->is_told && cooldown->until_ns > run->now_ns &&
           sma_cooldown_pick(settings->cooldowns, settings->target_count, 0, run->now_ns) ==
               settings->target_count;
}

void run_ask_model(struct sma_run *run)
{
    if (must_wait(run) &&
        wait_for_model(run, UINT32_C(1) << run->target_index,
                       SMA_STR("every model has asked to be left alone for a while")))
        return;
    if (!run_fit_request(run))
        return;
    run->has_asked = true;
    run->asked_refused_count = run->target->refused_count;
    run->state = RUN_MODEL;
    (void)run_act(run, SMA_RUN_ASK_MODEL);
}

/* -- failures ---------------------------------------------------------------------------------- */
/* Without the member that was refused, once each. Another chat may have learned it while this
 * request was on its way. */
static bool leave_out(struct sma_run *run, struct sma_str member)
{
    struct sma_str key = sma_str(run->target->key);
    if (!sma_run_settings_learn(run->settings, key, member)) {
        if (run->target->refused_count <= run->asked_refused_count)
            return false;
        run_ask_model(run);
        return true;
    }
    struct sma_run_action *action = run_act(run, SMA_RUN_LEARN);
    action->learned = (struct sma_learned_fact){.target = key, .member = member};
    run_ask_model(run);
    return true;
}

/* The conversation is refused: once without reasoning and with what was said of earlier turns, and
 * when it is still refused for what it is, once with this run's rounds told in words. */
static bool change_form(struct sma_run *run, const struct sma_model_answer *answer)
{
    bool is_session = answer->trouble == SMA_MODEL_FAILURE_SESSION;
    bool is_odd = answer->trouble == SMA_MODEL_FAILURE_REQUEST &&
                  (answer->http_status == 400 || answer->http_status == 422);
    bool has_past = run->session->turn_count > 0 || run->round_count > 0;
    if (run->form < RUN_FORM_PLAIN && has_past && (is_session || is_odd))
        run->form = RUN_FORM_PLAIN;
    else if (run->form == RUN_FORM_PLAIN && run->round_count > 0 && is_session)
        run->form = RUN_FORM_TOLD;
    else
        return false;
    run->form_round_count = run->round_count;
    run_rebuild(run);
    run_ask_model(run);
    return true;
}

static bool moves_on(enum sma_model_failure trouble)
{
    return trouble != SMA_MODEL_FAILURE_MEMBER && trouble != SMA_MODEL_FAILURE_SESSION &&
           trouble != SMA_MODEL_FAILURE_REQUEST;
}

static bool ask_another(struct sma_run *run)
{
    const struct sma_run_settings *settings = run->settings;
    size_t index =
        sma_cooldown_pick(settings->cooldowns, settings->target_count, run->tried, run->now_ns);
    if (index == settings->target_count)
        return false;
    set_target(run, index);
    run_ask_model(run);
    return true;
}

static void model_failed(struct sma_run *run, const struct sma_model_answer *answer)
{
    enum sma_model_failure trouble = (enum sma_model_failure)answer->trouble;
    if (trouble == SMA_MODEL_FAILURE_MEMBER && leave_out(run, answer->refused_member))
        return;
    if (change_form(run, answer))
        return;
    if (moves_on(trouble)) {
        size_t index = run->target_index;
        sma_cooldown_fail(&run->settings->cooldowns[index], trouble, answer->retry_after_ms,
                          run->now_ns);
        run_trace_cooled(run, run->settings->cooldowns[index].until_ns, answer->error);
        run->tried |= UINT32_C(1) << index;
        run->troubles[index] = answer->trouble;
        if (ask_another(run) || wait_for_model(run, run->tried, answer->error))
            return;
    }
    run_finish_model_failed(run, answer);
}

/* -- answers ----------------------------------------------------------------------------------- */
/* The target has answered: it is well, and what it was sent it takes. */
static void note_success(struct sma_run *run)
{
    sma_cooldown_succeed(&run->settings->cooldowns[run->target_index]);
    run->tried = 0;
    run->shrink_count = 0;
    run->wait = (struct sma_stored_wait){0};
    run->usage_target = run->target;
    if (run->form >= RUN_FORM_PLAIN && !run->is_break) {
        run->is_break = true; /* that it helped shows that it was needed */
        sma_session_make_plain(run->session);
    }
}

static void too_long(struct sma_run *run)
{
    if (run_shrink(run))
        run_ask_model(run);
    else
        run_finish_too_long(run);
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
    sma_usage_add(&run->usage, &answer->usage);
    if (answer->status == SMA_MODEL_OK) {
        note_success(run);
        if (run_nudge(run, answer))
            return;
        if (answer->call_count == 0)
            run_finish_answer(run, answer);
        else
            run_on_answer(run, answer);
    } else if (run->is_draining && (answer->status != SMA_MODEL_FAILED ||
                                    answer->trouble != SMA_MODEL_FAILURE_REQUEST)) {
        run_settle(run); /* nothing is begun any more: it is asked again after the next start */
    } else if (answer->status == SMA_MODEL_CONTEXT_LENGTH) {
        too_long(run);
    } else {
        model_failed(run, answer);
    }
}

void run_next(struct sma_run *run)
{
    if (run->round >= SMA_RUN_STEP_COUNT_MAX)
        run_nudge_limit(run);
    else
        run_ask_model(run);
}

/* -- answers that are not the end -------------------------------------------------------------- */
void run_go_on(struct sma_run *run, const struct sma_model_answer *answer, struct sma_str line)
{
    struct sma_model_answer plain = *answer;
    plain.call_count = 0;
    if (run_begin_round(run, &plain, line))
        run_resolved(run);
}
