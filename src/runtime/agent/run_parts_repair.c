/* run_parts_repair.c — a request that failed for a picture, a file or a sound: it becomes a line,
 * so that neither the repetition nor any later request fails for it. See run_parts.h.
 *
 * Servers seldom say which one they mean. What a model has answered to before is innocent: the
 * others of this run go first, and when there are none, all of them.
 */
#include "run_priv.h"

#include <stdlib.h>

#define REFUSED_NOTE "not shown, the provider of the model refused it; tools can read the file"
#define GONE_NOTE "not shown any more; tools can read the file"
#define REPAIR_COUNT_MAX 4

/* -- which ones -------------------------------------------------------------------------------- */
/* Later turns of the chat, and the chat after a restart, know it by its hash. */
static void note_refused(struct sma_run *run, struct sma_str hash)
{
    struct run_parts *parts = &run->see;
    for (uint32_t i = 0; i < parts->refused_count; i++)
        if (sma_str_is_equal(parts->refused[i], hash))
            return;
    struct sma_str *more =
        realloc(parts->refused, (parts->refused_count + 1) * sizeof *parts->refused);
    if (more == NULL)
        return; /* it is refused and found out once more then */
    parts->refused = more;
    char *copy = malloc(hash.len + 1);
    if (copy == NULL)
        return;
    memcpy(copy, hash.ptr, hash.len);
    copy[hash.len] = '\0';
    parts->refused[parts->refused_count++] = (struct sma_str){copy, hash.len};
}

/* What of this run is shown and meant. */
struct meant
{
    bool is_all;         /* else those that no model has answered to yet */
    struct sma_str hash; /* not empty: this one alone */
    struct sma_str note;
    uint32_t image_count;
};

static bool drop_if(struct sma_run *run, struct sma_part *part, bool is_new, struct meant *meant)
{
    if (!sma_part_is_shown(run->target, part))
        return false;
    if (meant->hash.len > 0 ? !sma_str_is_equal(meant->hash, part->hash)
                            : !is_new && !meant->is_all)
        return false;
    meant->image_count += part->kind == SMA_PART_IMAGE;
    part->note = meant->note;
    return true;
}

static uint32_t drop_of_run(struct sma_run *run, struct meant *meant)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->see.count; i++)
        count += drop_if(run, &run->see.list[i].part, !run->see.list[i].is_accepted, meant);
    for (uint32_t i = 0; i < run->round_count; i++)
        for (uint32_t k = 0; k < run->rounds[i].results.count; k++) {
            struct sma_stored_result *result = &run->rounds[i].results.results[k];
            for (uint32_t p = 0; p < result->part_count; p++)
                count += drop_if(run, &result->parts[p], i >= run->see.accepted_round_count, meant);
        }
    return count;
}

static uint32_t drop_of_session(struct sma_run *run)
{
    for (uint32_t i = 0; i < run->session->turn_count; i++) {
        const struct sma_stored_turn *turn = &run->session->turns[i]->stored;
        for (uint32_t k = 0; k < turn->part_count; k++)
            if (!turn->parts[k].is_hidden && sma_part_is_shown(run->target, &turn->parts[k].part))
                note_refused(run, turn->parts[k].part.hash);
    }
    return sma_session_hide_parts(run->session, 0);
}

/* -- what helps -------------------------------------------------------------------------------- */
static bool learn(struct sma_run *run, struct sma_str member)
{
    struct sma_str key = sma_str(run->target->key);
    if (!sma_run_settings_learn(run->settings, key, member))
        return run->target->refused_count > run->asked_refused_count; /* another chat has */
    struct sma_run_action *action = run_act(run, SMA_RUN_LEARN);
    action->learned = (struct sma_learned_fact){.target = key, .member = member};
    return true;
}

/* The path ends in "<hash>.b64". */
static bool drop_gone(struct sma_run *run, struct sma_str path)
{
    struct sma_str hash = {0};
    if (path.len > 68)
        hash = (struct sma_str){path.ptr + path.len - 68, 64};
    struct meant meant = {.hash = hash, .note = SMA_STR(GONE_NOTE)};
    uint32_t count = hash.len == 0 ? 0 : drop_of_run(run, &meant);
    return count + sma_session_hide_part(run->session, hash) > 0;
}

static bool drop_refused(struct sma_run *run, bool are_too_many)
{
    struct meant meant = {.note = SMA_STR(REFUSED_NOTE)};
    if (are_too_many && drop_of_session(run) > 0)
        return true;
    if (drop_of_run(run, &meant) > 0)
        return true;
    meant.is_all = true;
    return drop_of_session(run) + drop_of_run(run, &meant) > 0;
}

static bool has_seen(const struct sma_run *run)
{
    return run->settings->known[run->target_index].has_seen;
}

/* It was refused and not said why: what is new in it is what was attached. A model that nobody
 * knows may have no eyes: that is known when it takes the request without. One that has seen a
 * picture has some: then it is this picture, and other chats keep theirs. A request that is too
 * large, or whose content was refused, says nothing of eyes. */
static bool drop_suspects(struct sma_run *run, bool has_reason)
{
    struct meant meant = {.note = SMA_STR(REFUSED_NOTE)};
    uint64_t bytes = 0;
    if (drop_of_run(run, &meant) == 0)
        return false;
    run->see.is_eyeless_guess = !run->target->profile.is_known && meant.image_count > 0 &&
                                !has_reason && !has_seen(run) &&
                                sma_session_count_parts(run->session, run->target, &bytes) == 0;
    return true;
}

static bool repair(struct sma_run *run, const struct sma_model_answer *answer)
{
    enum sma_model_failure trouble = (enum sma_model_failure)answer->trouble;
    bool are_too_many = sma_str_is_equal(answer->refused_member, SMA_STR(SMA_PARTS_TOO_MANY));
    if (trouble == SMA_MODEL_FAILURE_FILE)
        return drop_gone(run, answer->refused_member);
    if (trouble != SMA_MODEL_FAILURE_PICTURE || run->see.repair_count >= REPAIR_COUNT_MAX)
        return false;
    /* Of a model that has answered to pictures it is not believed: then it is about this one. */
    bool is_odd =
        sma_str_is_equal(answer->refused_member, SMA_STR(SMA_REFUSES_IMAGES)) && has_seen(run);
    if (answer->refused_member.len > 0 && !are_too_many && !is_odd &&
        learn(run, answer->refused_member))
        return true;
    return drop_refused(run, are_too_many);
}

bool run_parts_repair(struct sma_run *run, const struct sma_model_answer *answer)
{
    if (run->see.file_count == 0 || !repair(run, answer))
        return false;
    run->see.repair_count++;
    run_mark_moved(run, 0);
    run_rebuild(run);
    return true;
}

bool run_parts_suspect(struct sma_run *run, const struct sma_model_answer *answer)
{
    enum sma_model_failure trouble = (enum sma_model_failure)answer->trouble;
    bool is_large = answer->status == SMA_MODEL_CONTEXT_LENGTH && answer->http_status == 413;
    bool is_odd = answer->status == SMA_MODEL_FAILED &&
                  (trouble == SMA_MODEL_FAILURE_REQUEST || trouble == SMA_MODEL_FAILURE_SESSION) &&
                  (answer->http_status == 400 || answer->http_status == 422);
    if (run->see.file_count == 0 || run->see.repair_count >= REPAIR_COUNT_MAX ||
        (!is_large && !is_odd))
        return false;
    if (!(is_large && drop_of_session(run) > 0) &&
        !drop_suspects(run, trouble == SMA_MODEL_FAILURE_REQUEST))
        return false;
    run->form = RUN_FORM_OWN; /* it was not the conversation */
    run->form_round_count = 0;
    run->see.repair_count++;
    run_mark_moved(run, 0);
    run_rebuild(run);
    return true;
}

void run_parts_accepted(struct sma_run *run)
{
    struct run_parts *parts = &run->see;
    if (parts->is_eyeless_guess)
        (void)learn(run, SMA_STR(SMA_REFUSES_IMAGES));
    parts->is_eyeless_guess = false;
    parts->repair_count = 0;
    parts->accepted_round_count = run->round_count;
    for (uint32_t i = 0; i < parts->count; i++) {
        bool is_shown = sma_part_is_shown(run->target, &parts->list[i].part);
        parts->list[i].is_accepted |= is_shown;
        run->settings->known[run->target_index].has_seen |=
            is_shown && parts->list[i].part.kind == SMA_PART_IMAGE;
    }
}
