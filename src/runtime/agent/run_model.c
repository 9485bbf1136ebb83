/* run_model.c — who is asked, and what an answer does: a round, the end, another target, a wait.
 * See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* -- who is asked ------------------------------------------------------------------------------ */
static void set_target(struct sma_run *run, size_t index)
{
    run->target_index = index;
    run->target = &run->settings->targets[index];
    /* What another one refused this one may take. */
    bool has_calls = !sma_target_refuses(run->target, SMA_REFUSES_TOOLS);
    run->form = has_calls ? RUN_FORM_OWN : RUN_FORM_TOLD;
    run->form_round_count = has_calls ? 0 : run->round_count;
    run->ladder_count = 0;
    run_rebuild(run);
}

void run_pick_target(struct sma_run *run)
{
    size_t index = run_find_target(run, 0);
    set_target(run, index == run->settings->model_count ? run_first_back(run) : index);
}

/* -- waiting ----------------------------------------------------------------------------------- */

void run_resume_wait(struct sma_run *run, const struct sma_stored_wait *wait)
{
    run->wait = *wait;
}

/* -- asking ------------------------------------------------------------------------------------ */

/* -- failures ---------------------------------------------------------------------------------- */
/* What was said before stands in the form that is refused: it is told anew. */
static void adapt_form(struct sma_run *run, struct sma_str member)
{
    bool has_past = run->session->turn_count > 0 || run->round_count > 0;
    bool is_tools = sma_str_is_equal(member, SMA_STR(SMA_REFUSES_TOOLS));
    if (!is_tools && !sma_str_starts_with(member, SMA_STR("content.")))
        return;
    if (has_past && (is_tools || run->form < RUN_FORM_PLAIN))
        run->form = is_tools ? RUN_FORM_TOLD : RUN_FORM_PLAIN;
    run->form_round_count = run->round_count;
    run_rebuild(run);
}

/* Without the member that was refused, or in another form, once each. Another chat may have learned
 * it while this request was on its way. */
static bool leave_out(struct sma_run *run, struct sma_str member)
{
    struct sma_str key = sma_str(run->target->key);
    bool is_new = sma_run_settings_learn(run->settings, key, member);
    if (!is_new && run->target->refused_count <= run->asked_refused_count) {
        /* One tool after the other: it is not about one of them. */
        bool is_tool = sma_str_starts_with(member, SMA_STR(SMA_REFUSES_TOOL));
        return is_tool && leave_out(run, SMA_STR(SMA_REFUSES_TOOLS));
    }
    adapt_form(run, member);
    if (is_new) {
        struct sma_run_action *action = run_act(run, SMA_RUN_LEARN);
        action->learned = (struct sma_learned_fact){.target = key, .member = member};
    }
    run_ask_model(run);
    return true;
}

/* A server that has never answered refuses for a reason that no rule knows: one form after the
 * other, from the least loss on. What did not help is taken back. One that has answered refuses
 * what this run says: the requests of others must not change for it. */
static bool step_down(struct sma_run *run, const struct sma_model_answer *answer)
{
    struct sma_str key = sma_str(run->target->key);
    bool has_answered = run->settings->known[run->target_index].has_answered;
    const char *form =
        !answer->is_unexplained || has_answered || run->ladder_count == SMA_RUN_LADDER_MAX
            ? NULL
            : sma_target_next_form(run->target, run->see.count > 0);
    if (form == NULL) {
        for (uint32_t i = 0; i < run->ladder_count; i++)
            sma_run_settings_allow(run->settings, key, run->ladder[i]);
        run->ladder_count = 0;
        return false;
    }
    run->ladder[run->ladder_count++] = form;
    (void)sma_run_settings_learn(run->settings, key, sma_str(form)); /* no room: it is the last */
    adapt_form(run, sma_str(form));
    run_ask_model(run);
    return true;
}

/* The largest request that it has ever seen: it may be just that. */
static bool try_smaller(struct sma_run *run, const struct sma_model_answer *answer)
{
    const struct sma_context_known *known = &run->settings->known[run->target_index];
    const struct sma_context_size *sent = &run->compact.sent;
    if (!answer->is_unexplained || run->was_tried_smaller || !known->has_answered ||
        sent->head + sent->messages <= known->largest)
        return false;
    run->was_tried_smaller = true;
    if (!run_shorten_own(run) && !run_shrink(run))
        return false;
    run_ask_model(run);
    return true;
}

/* The conversation is refused: once without reasoning and with what was said of earlier turns, and
 * when it is still refused for what it is, once with this run's rounds told in words. */
static bool change_form(struct sma_run *run, const struct sma_model_answer *answer)
{
    /* A form that is known, and yet refused, stands in what was said. */
    bool is_session = answer->trouble == SMA_MODEL_FAILURE_SESSION ||
                      (answer->trouble == SMA_MODEL_FAILURE_MEMBER &&
                       (sma_str_starts_with(answer->refused_member, SMA_STR("content.")) ||
                        sma_str_starts_with(answer->refused_member, SMA_STR("role."))));
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
    return trouble != SMA_MODEL_FAILURE_PICTURE && trouble != SMA_MODEL_FAILURE_FILE &&
           trouble != SMA_MODEL_FAILURE_MEMBER && trouble != SMA_MODEL_FAILURE_SESSION &&
           trouble != SMA_MODEL_FAILURE_REQUEST;
}

static bool ask_another(struct sma_run *run)
{
    size_t index = run_find_target(run, run->tried);
    if (index == run->settings->model_count)
        return false;
    set_target(run, index);
    run_ask_model(run);
    return true;
}

static void model_failed(struct sma_run *run, const struct sma_model_answer *answer)
{
    enum sma_model_failure trouble = (enum sma_model_failure)answer->trouble;
    if (run_parts_repair(run, answer)) {
        run_ask_model(run);
        return;
    }
    if (trouble == SMA_MODEL_FAILURE_MEMBER && leave_out(run, answer->refused_member))
        return;
    if (change_form(run, answer))
        return;
    if (run_parts_suspect(run, answer)) {
        run_ask_model(run);
        return;
    }
    if (try_smaller(run, answer) || step_down(run, answer))
        return;
    if (moves_on(trouble)) {
        size_t index = run->target_index;
        sma_cooldown_fail(&run->settings->cooldowns[index], trouble, answer->retry_after_ms,
                          run->now_ns);
        run_trace_cooled(run, run->settings->cooldowns[index].until_ns, answer->error);
        run->tried |= UINT32_C(1) << index;
        run->troubles[index] = answer->trouble;
        if (ask_another(run) || run_wait_for_model(run, run->tried, answer->error))
            return;
    }
    run_finish_model_failed(run, answer);
}

/* -- answers ----------------------------------------------------------------------------------- */
/* The target has answered: it is well, and what it was sent it takes. */
static void note_success(struct sma_run *run, const struct sma_model_answer *answer)
{
    static const struct sma_usage nothing;
    const struct sma_usage *counted = answer->is_usage_guessed ? &nothing : &answer->usage;
    uint32_t window = sma_context_find_cut(run->target, &run->settings->known[run->target_index],
                                           &run->compact.sent, counted);
    if (window > 0) {
        snprintf(run->window_fact, sizeof run->window_fact, SMA_LEARNED_WINDOW "%u", window);
        run_act(run, SMA_RUN_LEARN)->learned = (struct sma_learned_fact){
            .target = sma_str(run->target->key), .member = sma_str(run->window_fact)};
        counted = &nothing; /* it tells nothing of what the request took */
    }
    sma_context_learn(run->target, &run->settings->known[run->target_index], &run->session->measure,
                      &run->compact.sent, counted, answer->fragment.len);
    struct sma_context_known *known = &run->settings->known[run->target_index];
    size_t bytes = run->compact.sent.head + run->compact.sent.messages;
    known->has_answered = true;
    known->largest = bytes > known->largest ? bytes : known->largest;
    for (uint32_t i = 0; i + 1 < run->ladder_count; i++) /* the last step is the one that helped */
        sma_run_settings_allow(run->settings, sma_str(run->target->key), run->ladder[i]);
    if (run->ladder_count > 0)
        run_act(run, SMA_RUN_LEARN)->learned =
            (struct sma_learned_fact){.target = sma_str(run->target->key),
                                      .member = sma_str(run->ladder[run->ladder_count - 1])};
    run->ladder_count = 0;
    sma_cooldown_succeed(&run->settings->cooldowns[run->target_index]);
    run->tried = 0;
    run->shrink_count = 0;
    run->wait = (struct sma_stored_wait){0};
    run->usage_target = run->target;
    run_parts_accepted(run);
    if (run->form >= RUN_FORM_PLAIN && !run->is_break) {
        run->is_break = true; /* that it helped shows that it was needed */
        sma_session_make_plain(run->session);
    }
}

/* Own results first: they cost nothing. Then everything old becomes a summary, once; then what is
 * left is left out; then the honest notice. */
static void too_long(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run_parts_suspect(run, answer)) {
        run_ask_model(run);
        return;
    }
    struct sma_context_known *known = &run->settings->known[run->target_index];
    uint64_t tokens =
        sma_context_request(run->target, known, &run->session->measure, &run->compact.sent);
    sma_context_learn_window(run->target, known, answer->window_tokens, tokens / 20 * 19);
    run->session->measure = (struct sma_context_measure){0};
    if (run_shorten_own(run))
        run_ask_model(run);
    else if (run_compact_forced(run))
        return;
    else if (run_shrink(run))
        run_ask_model(run);
    else
        run_finish_too_long(run);
}

/* What a failed answer has used counts like any other, as the target's when none has answered. */
static void add_usage(struct sma_run *run, const struct sma_model_answer *answer)
{
    const struct sma_usage *usage = &answer->usage;
    bool has_tokens = usage->input + usage->cached + usage->written + usage->output > 0;
    sma_usage_add(&run->usage, usage);
    if (run->usage_target == NULL && has_tokens)
        run->usage_target = run->target;
}

/* The summary, or none: then the run goes on as if it had not been asked for. */
static void on_summary(struct sma_run *run, const struct sma_model_answer *answer)
{
    bool is_ok = answer->status == SMA_MODEL_OK;
    add_usage(run, answer);
    if (is_ok) {
        sma_cooldown_succeed(&run->settings->cooldowns[run->target_index]);
        run->usage_target = run->target;
    }
    if (run_compact_answered(run, answer) || run->state != RUN_COMPACTING)
        return;
    if (run->is_draining)
        run_settle(run);
    else if (answer->trouble == SMA_MODEL_FAILURE_MEMBER && answer->status == SMA_MODEL_FAILED)
        (void)sma_run_settings_learn(run->settings, sma_str(run->target->key),
                                     answer->refused_member); /* known, or no cure: without it */
    if (run->state != RUN_COMPACTING)
        return;
    bool is_too_long = run->compact.is_forced && run->compact.has_failed;
    run->compact.is_forced = false;
    if (is_too_long && !run_shrink(run))
        run_finish_too_long(run);
    else if (run->order->is_compaction && run->compact.has_failed)
        run_command_failed(run);
    else if (run->order->is_compaction)
        run_command_begin(run);
    else
        run_ask_model(run);
}

static bool has_marker_in(struct sma_str text)
{
    size_t at = 0, start;
    struct sma_str hash;
    return sma_part_find_marker(text, &at, &start, &hash);
}

/* As it is, and as it is when it is written anew, without spaces and escapes. */
static bool has_marker_for_good(struct sma_str arguments)
{
    bool has = has_marker_in(arguments);
    bool is_doubtful =
        arguments.len > 0 && (memmem(arguments.ptr, arguments.len, SMA_PART_MARKER,
                                     sizeof SMA_PART_MARKER - 1) != NULL ||
                              memmem(arguments.ptr, arguments.len, "\\u", 2) != NULL);
    if (has || !is_doubtful)
        return has;
    json_t *value = json_loadb(arguments.ptr, arguments.len, 0, NULL);
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    has = text != NULL && has_marker_in(sma_str(text));
    free(text);
    json_decref(value);
    return has;
}

/* Arguments made to look like a part of ours. Kept, every later request would carry the file there,
 * as often as it stands there, or fail with it once it is gone. */
static bool imitates_part(const struct sma_model_answer *answer)
{
    bool has = has_marker_in(answer->fragment);
    for (uint32_t i = 0; i < answer->call_count && !has; i++)
        has = has_marker_for_good(answer->calls[i].arguments);
    return has;
}

/* The window was full before the first word. */
static bool is_cut_to_nothing(const struct sma_model_answer *answer)
{
    return answer->status == SMA_MODEL_OK && answer->finish == SMA_FINISH_LENGTH &&
           answer->call_count == 0 && answer->text.len == 0 && answer->usage.output == 0 &&
           answer->usage.input > 0 && !answer->is_usage_guessed;
}

#define SMALL_BYTES (256 * 1024)

/* Too large for nothing that was told, and no proxy's limit is so low: it may be the form. */
static bool is_small(const struct sma_run *run, const struct sma_model_answer *answer)
{
    const struct sma_context_size *sent = &run->compact.sent;
    return answer->is_unexplained && sent->head + sent->messages < SMALL_BYTES;
}

void run_model_answered(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run->state != RUN_MODEL && run->state != RUN_COMPACTING)
        return;
    run_trace_answer(run, answer);
    if (run->state == RUN_COMPACTING) {
        on_summary(run, answer);
        return;
    }
    if (run->stamps.model_out_ns == 0) {
        run->stamps.model_out_ns = answer->out_ns;
        run->stamps.first_token_ns = answer->first_token_ns;
    }
    add_usage(run, answer);
    if (is_cut_to_nothing(answer)) {
        too_long(run, answer);
    } else if (answer->status == SMA_MODEL_OK) {
        note_success(run, answer);
        if (imitates_part(answer))
            run_finish_failed(run, "the model's answer imitates an attached file");
        else if (run_added_go_on(run, answer) || run_nudge(run, answer))
            return;
        else if (answer->call_count == 0)
            run_finish_answer(run, answer);
        else
            run_on_answer(run, answer);
    } else if (run->is_draining && (answer->status != SMA_MODEL_FAILED ||
                                    answer->trouble != SMA_MODEL_FAILURE_REQUEST)) {
        run_settle(run); /* nothing is begun any more: it is asked again after the next start */
    } else if (answer->status == SMA_MODEL_CONTEXT_LENGTH) {
        if (!is_small(run, answer) || !step_down(run, answer))
            too_long(run, answer);
    } else {
        model_failed(run, answer);
    }
}
