/* run_parts.c — the parts of a run's messages are prepared and kept within bounds. See
 * run_parts.h. */
#include "run_priv.h"

#define TOO_MANY_NOTE "not shown, there are too many at once; tools can read the file"
#define NO_TOOLS_NOTE "it could not be prepared: the working tools do not run in this program"

/* -- preparing --------------------------------------------------------------------------------- */
/* Can any model that may be asked do something with it? What it is by its bytes may differ from
 * what the platform said. */
static bool is_wanted(const struct sma_run *run, const struct sma_part *part)
{
    static const struct sma_str any = {"", 0};
    const struct sma_run_settings *settings = run->settings;
    bool is_text = part->mime.len > 5 && memcmp(part->mime.ptr, "text/", 5) == 0;
    if (part->kind == SMA_PART_FILE && is_text)
        return false;
    bool is_file = part->kind == SMA_PART_FILE;
    for (size_t i = 0; i < settings->model_count; i++)
        if (sma_part_is_taken(&settings->targets[i], part->kind, any) ||
            (is_file && sma_part_is_taken(&settings->targets[i], SMA_PART_IMAGE, any)))
            return true;
    return settings->has_vision && part->kind != SMA_PART_AUDIO &&
           sma_part_is_taken(&settings->vision, SMA_PART_IMAGE, any);
}

bool run_ask_encode(struct sma_run *run, uint32_t index, const struct sma_part *part)
{
    struct sma_part_limits limits;
    if (part->hash.len > 0 || part->note.len > 0 || !is_wanted(run, part))
        return false;
    sma_part_limits_of(run->target, &limits);
    struct sma_run_action *action = run_act(run, SMA_RUN_ASK_ENCODE);
    action->call = index;
    action->encode = (struct sma_encode_ask){.seq = run->order->seq,
                                             .index = index,
                                             .max_side = limits.max_side,
                                             .max_bytes = limits.max_bytes,
                                             .part = *part};
    return true;
}

static void begin_all(struct sma_run *run)
{
    struct run_parts *parts = &run->see;
    uint32_t first = parts->count > RUN_PART_COUNT_MAX ? parts->count - RUN_PART_COUNT_MAX : 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        struct run_part *part = &parts->list[i];
        if (part->is_asked || part->is_ready)
            continue;
        if (i < first && part->part.note.len == 0)
            part->part.note = SMA_STR(TOO_MANY_NOTE);
        part->is_asked = run_ask_encode(run, i, &part->part);
        part->is_ready = !part->is_asked;
        parts->open_count += part->is_asked;
    }
}

bool run_parts_prepare(struct sma_run *run)
{
    begin_all(run);
    if (run->see.open_count == 0 && !run_look_next(run))
        return false;
    run->state = RUN_PREPARING;
    return true;
}

void run_part_ready(struct sma_run *run, struct run_part *part, const struct sma_part *answer)
{
    struct sma_part gone = part->part;
    gone.note = SMA_STR(NO_TOOLS_NOTE);
    part->is_ready = true;
    if (!run_part_take(part, answer == NULL ? &gone : answer))
        run->turn.err = SMA_ERR_NOMEM; /* the next request fails the run */
}

bool run_parts_encoded(struct sma_run *run, uint32_t index, const struct sma_part *answer)
{
    struct run_parts *parts = &run->see;
    if (index >= parts->count || !parts->list[index].is_asked || parts->list[index].is_ready)
        return false;
    struct run_part *part = &parts->list[index];
    run_part_ready(run, part, answer);
    SMA_ASSERT(parts->open_count > 0);
    parts->open_count--;
    return parts->open_count == 0;
}

/* -- bounds ------------------------------------------------------------------------------------ */
/* The oldest part of this run that is shown becomes a line. */
static bool drop_oldest(struct sma_run *run)
{
    for (uint32_t i = 0; i < run->see.count; i++) {
        struct sma_part *part = &run->see.list[i].part;
        if (!sma_part_is_shown(run->target, part))
            continue;
        part->note = SMA_STR(TOO_MANY_NOTE);
        return true;
    }
    for (uint32_t i = 0; i < run->round_count; i++)
        for (uint32_t k = 0; k < run->rounds[i].results.count; k++) {
            struct sma_stored_result *result = &run->rounds[i].results.results[k];
            for (uint32_t p = 0; p < result->part_count; p++) {
                if (!sma_part_is_shown(run->target, &result->parts[p]))
                    continue;
                result->parts[p].note = SMA_STR(TOO_MANY_NOTE);
                return true;
            }
        }
    return false;
}

static uint32_t count_shown(const struct sma_run *run, uint64_t *bytes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->see.count; i++)
        if (sma_part_is_shown(run->target, &run->see.list[i].part)) {
            *bytes += run->see.list[i].part.length;
            count++;
        }
    for (uint32_t i = 0; i < run->round_count; i++)
        for (uint32_t k = 0; k < run->rounds[i].results.count; k++) {
            const struct sma_stored_result *result = &run->rounds[i].results.results[k];
            for (uint32_t p = 0; p < result->part_count; p++)
                if (sma_part_is_shown(run->target, &result->parts[p])) {
                    *bytes += result->parts[p].length;
                    count++;
                }
        }
    return count;
}

void run_parts_bound(struct sma_run *run)
{
    struct sma_part_limits limits;
    bool has_changed = false;
    sma_part_limits_of(run->target, &limits);
    for (;;) {
        uint64_t bytes = 0;
        uint32_t count = count_shown(run, &bytes);
        count += sma_session_count_parts(run->session, run->target, &bytes);
        if (count <= limits.count_max && bytes <= limits.total_bytes)
            break;
        if (sma_session_hide_oldest_parts(run->session) == 0 && !drop_oldest(run))
            break;
        has_changed = true;
    }
    if (!has_changed)
        return;
    run_mark_moved(run, 0);
    run_rebuild(run);
}
