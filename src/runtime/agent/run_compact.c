/*
 * run_compact.c — the conversation is made smaller before it is too long: old results are cleared,
 * or everything old becomes a summary that the model is asked for. See run.h and context.h.
 *
 * Both are a COMPACTION step. The store takes the summary and lets the turns go in the step's own
 * transaction; the session changes when that is durable, so that memory never runs ahead of it.
 */
#include "run_priv.h"

#include "runtime/agent/summary.h"
#include "runtime/agent/transcript.h"
#include "sma/commands.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <stdlib.h>

#define SUMMARY_TOKENS_MAX 6000
#define SUMMARY_BYTES_MAX (64 * 1024)
#define ROUNDS_KEPT_MIN 1

/* What a summary may stand for: turns [first, turn_end) of the session, rounds [.., round_end). */
struct split
{
    uint32_t first, turn_end, round_end;
    size_t bytes; /* of it */
};

static struct sma_context_known *known_of(const struct sma_run *run)
{
    return &run->settings->known[run->target_index];
}

static uint32_t window_of(const struct sma_run *run)
{
    return sma_context_window(run->target, known_of(run));
}

/* The summary, which stands for what is older, is sent in any case. */
static uint32_t summary_count(const struct sma_session *session)
{
    return session->turn_count > 0 && session->turns[0]->is_summary;
}

bool run_is_skipped(const struct sma_run *run, uint32_t index)
{
    uint32_t first = summary_count(run->session);
    return index >= first && index < first + run->compact.skip_count;
}

struct sma_context_size run_context_size(const struct sma_run *run)
{
    const struct sma_session *session = run->session;
    return (struct sma_context_size){
        .part_tokens = run_parts_tokens(run),
        .head = run->head->len + run->settings->tails[run->target_index].len,
        .messages = session->bytes + session->turn_count - run->compact.skip_bytes + run->turn.len,
        .message_count = session->message_count + run->message_count};
}

static uint64_t tokens_of(const struct sma_run *run)
{
    struct sma_context_size size = run_context_size(run);
    return sma_context_request(run->target, known_of(run), &run->session->measure, &size);
}

static size_t round_bytes(const struct run_round *round)
{
    return round->answer_data.len + round->results_data.len;
}

/* -- telling ----------------------------------------------------------------------------------- */
static void tell(struct sma_run *run, const char *state, const char *reason)
{
    struct run_compact *compact = &run->compact;
    const struct sma_stored_past *past = &compact->past;
    sma_buf_clear(&compact->event);
    sma_buf_put_char(&compact->event, '{');
    sma_buf_put_json_member(&compact->event, "state", sma_str(state));
    if (reason != NULL)
        sma_buf_put_json_member(&compact->event, "reason", sma_str(reason));
    sma_buf_printf(&compact->event, ",\"turns\":%u,\"tokensBefore\":%llu", past->turn_count,
                   (unsigned long long)past->tokens_before);
    if (past->tokens_after > 0)
        sma_buf_printf(&compact->event, ",\"tokensAfter\":%llu",
                       (unsigned long long)past->tokens_after);
    sma_buf_put_char(&compact->event, '}');
    run_progress(run, SMA_PROGRESS_COMPACTION, sma_buf_str(&compact->event));
}

/* -- storing ----------------------------------------------------------------------------------- */
/* compact->past becomes a step; what it says happens when that is durable. false: the run has
 * failed. */
static bool store(struct sma_run *run)
{
    run_drop_answer(run);
    run->compact.past.egress = *run_egress(run);
    sma_codec_put_past(&run->answer_data, &run->compact.past);
    run->deliveries = calloc(1, sizeof *run->deliveries);
    if (run->answer_data.err != SMA_ERR_OK || run->deliveries == NULL) {
        run_finish_failed(run, "out of memory");
        return false;
    }
    run->compact.is_step = true;
    run->answer_number = run->next_number++;
    run->state = RUN_STORING;
    run_store_answer(run);
    return true;
}

/* As it is until now: a step says all of it. */
static void begin_past(struct sma_run *run)
{
    struct sma_stored_past *past = &run->compact.past;
    *past = run->session->past;
    past->turn_count = 0;
    past->round_count = run->compact.round_count;
    past->cleared_round_count = run->compact.cleared_round_count;
    past->tokens_before = tokens_of(run);
    past->tokens_after = 0;
}

/* Everything that is in the session now comes after something that has changed. */
static uint64_t end_of(const struct sma_session *session)
{
    return session->turn_count == 0 ? 0 : session->turns[session->turn_count - 1]->seq + 1;
}

/* -- old results ------------------------------------------------------------------------------- */
static size_t clear_gain(const struct run_round *round)
{
    size_t gain = 0;
    for (uint32_t i = 0; i < round->results.count; i++) {
        size_t len = round->results.results[i].content.len;
        gain += len > SMA_VIEW_CLEARED_MIN ? len : 0;
    }
    return gain;
}

/* The newest part keeps its results: turns before *ret_turns and rounds before *ret_rounds are
 * old. */
static void find_old(const struct sma_run *run, size_t protected_bytes, uint32_t *ret_turns,
                     uint32_t *ret_rounds)
{
    const struct sma_session *session = run->session;
    uint32_t rounds = run->round_count, turns = session->turn_count;
    size_t bytes = 0;
    while (rounds > 0 && (bytes < protected_bytes || rounds + 2 > run->round_count))
        bytes += round_bytes(&run->rounds[--rounds]);
    while (turns > 0 && bytes < protected_bytes)
        bytes += session->turns[--turns]->bytes.len;
    *ret_turns = turns;
    *ret_rounds = rounds;
}

/* All at once, and only when it is worth the provider's cache. false: it is not. */
static bool clear_old(struct sma_run *run)
{
    struct run_compact *compact = &run->compact;
    uint32_t window = window_of(run), turns, rounds;
    size_t protected_bytes =
        sma_context_bytes(run->target, known_of(run), sma_context_protected(window));
    find_old(run, protected_bytes, &turns, &rounds);
    size_t gain = sma_session_clear_gain(run->session, turns);
    for (uint32_t i = compact->cleared_round_count; i < rounds; i++)
        gain += clear_gain(&run->rounds[i]);
    uint64_t tokens = sma_context_tokens(run->target, known_of(run), gain);
    if (tokens < sma_context_clear_min(window))
        return false;
    begin_past(run);
    struct sma_stored_past *past = &compact->past;
    uint64_t cleared = turns > 0 ? run->session->turns[turns - 1]->seq + 1 : 0;
    if (cleared > past->cleared)
        past->cleared = cleared;
    past->moved = end_of(run->session);
    if (rounds > past->cleared_round_count)
        past->cleared_round_count = rounds;
    past->tokens_after = past->tokens_before > tokens ? past->tokens_before - tokens : 0;
    tell(run, "cleared", NULL);
    SMA_METRIC_ADD(context_clears_total, 1);
    return store(run);
}

/* -- what becomes a summary -------------------------------------------------------------------- */
/* The newest `keep` bytes stay, rounds of this run first; the newest round always does. */
static struct split find_split(const struct sma_run *run, size_t keep)
{
    const struct sma_session *session = run->session;
    struct split split = {.first = summary_count(session),
                          .turn_end = session->turn_count,
                          .round_end = run->round_count};
    size_t bytes = 0;
    while (split.round_end > run->compact.round_count) {
        size_t more = round_bytes(&run->rounds[split.round_end - 1]);
        bool is_needed = split.round_end + ROUNDS_KEPT_MIN > run->round_count;
        if (!is_needed && bytes + more > keep)
            break;
        bytes += more;
        split.round_end--;
    }
    bool has_rounds = split.round_end > run->compact.round_count;
    while (!has_rounds && split.turn_end > split.first) {
        size_t more = session->turns[split.turn_end - 1]->bytes.len;
        if (bytes + more > keep)
            break;
        bytes += more;
        split.turn_end--;
    }
    for (uint32_t i = split.first; i < split.turn_end; i++)
        split.bytes += session->turns[i]->bytes.len;
    for (uint32_t i = run->compact.round_count; i < split.round_end; i++)
        split.bytes += round_bytes(&run->rounds[i]);
    return split;
}

/* A piece is over the room that is left: the first is cut, later ones wait for the next summary.
 * false: stop here. */
static bool fits(struct sma_buf *text, size_t before, size_t room)
{
    if (text->err != SMA_ERR_OK || text->len <= room)
        return true;
    if (before == 0) {
        struct sma_buf cut;
        sma_buf_init(&cut, text->max);
        sma_transcript_put_cut(&cut, sma_buf_str(text), room);
        sma_buf_fini(text);
        *text = cut;
        return true;
    }
    text->len = before;
    return false;
}

/* What fits into one request, oldest first; *split is cut to it. */
static void put_transcript(const struct sma_run *run, struct split *split, size_t room,
                           struct sma_buf *text)
{
    size_t before = 0;
    for (uint32_t i = split->first; i < split->turn_end; i++, before = text->len) {
        sma_transcript_put_turn(text, &run->session->turns[i]->stored);
        if (!fits(text, before, room)) {
            split->turn_end = i;
            split->round_end = run->compact.round_count;
            return;
        }
    }
    if (split->round_end > run->compact.round_count)
        for (uint32_t i = 0; i < run->block_count && i < SMA_TOOL_CALL_COUNT_MAX; i++) {
            sma_buf_put_text(text, i == 0 ? "\n[user, the message that is being worked on] " : "");
            sma_transcript_put_cut(text, run->blocks[i], SMA_TRANSCRIPT_RESULT_BYTES);
            sma_buf_put_char(text, '\n');
        }
    before = text->len;
    for (uint32_t i = run->compact.round_count; i < split->round_end; i++, before = text->len) {
        sma_transcript_put_round(text, &run->rounds[i].answer, &run->rounds[i].results);
        if (!fits(text, before, room)) {
            split->round_end = i;
            return;
        }
    }
}

static size_t summary_bytes_max(const struct sma_run *run)
{
    size_t share = sma_context_bytes(run->target, known_of(run), window_of(run) / 4);
    return share < SUMMARY_BYTES_MAX ? share : SUMMARY_BYTES_MAX;
}

/* OK | NOMEM | TOOBIG: it cannot be asked */
static enum sma_err put_request(struct sma_run *run, struct split *split)
{
    struct run_compact *compact = &run->compact;
    uint32_t window = window_of(run), tokens = window / 8;
    size_t room = sma_context_bytes(run->target, known_of(run), (uint64_t)window * 11 / 20);
    struct sma_buf text;
    sma_buf_init(&text, SMA_REQUEST_BYTES_MAX);
    size_t previous = run->session->past.text.len;
    if (room > SMA_REQUEST_BYTES_MAX / 4)
        room = SMA_REQUEST_BYTES_MAX / 4; /* it is escaped twice as long at worst */
    room = room > 2 * previous ? room - previous : room / 2;
    put_transcript(run, split, room, &text);
    if (tokens > SUMMARY_TOKENS_MAX)
        tokens = SUMMARY_TOKENS_MAX;
    const struct sma_summary_question question = {
        .previous = run->session->past.text,
        .transcript = sma_buf_str(&text),
        .wishes = run->order->is_compaction ? sma_control_argument(run->order->text)
                                            : (struct sma_str){0},
        .facts_word = run->order->facts_word,
        .words_max = tokens / 2};
    sma_buf_fini(&compact->request);
    sma_buf_init(&compact->request, SMA_REQUEST_BYTES_MAX);
    if (text.err == SMA_ERR_OK)
        sma_summary_put_request(&compact->request, run->target, &question, &compact->turn_offset,
                                &compact->turn_end);
    enum sma_err err = text.err != SMA_ERR_OK ? text.err : compact->request.err;
    sma_buf_fini(&text);
    if (err != SMA_ERR_OK)
        sma_buf_fini(&compact->request);
    return err;
}

/* Ask for a summary of all but the newest `keep` tokens. false: there is nothing that it would
 * save, or it cannot be asked. */
static bool ask(struct sma_run *run, uint64_t keep, uint64_t gain_min)
{
    struct run_compact *compact = &run->compact;
    const struct sma_session *session = run->session;
    struct split split = find_split(run, sma_context_bytes(run->target, known_of(run), keep));
    if (split.bytes == 0 || compact->count >= SMA_COMPACTION_COUNT_MAX ||
        sma_context_tokens(run->target, known_of(run), split.bytes) < gain_min)
        return false;
    begin_past(run);
    if (put_request(run, &split) != SMA_ERR_OK)
        return false;
    struct sma_stored_past *past = &compact->past;
    past->turn_count = split.turn_end - split.first;
    if (past->turn_count > 0) {
        if (past->first == 0)
            past->first = session->turns[split.first]->seq;
        past->below = session->turns[split.turn_end - 1]->seq + 1;
    }
    past->moved = end_of(session);
    past->round_count = split.round_end;
    compact->count++;
    compact->saved_bytes = split.bytes;
    run->state = RUN_COMPACTING;
    tell(run, "begun", NULL);
    (void)run_act(run, SMA_RUN_ASK_MODEL);
    return true;
}

/* It stands in for the chat's own model, which holds more: what it cannot hold is left out for it,
 * and nothing is given up for good. */
static bool is_stand_in(const struct sma_run *run)
{
    const struct sma_run_settings *settings = run->settings;
    size_t own = run->chat.first;
    return run->target_index != own &&
           window_of(run) < sma_context_window(&settings->targets[own], &settings->known[own]);
}

static void skip_old(struct sma_run *run)
{
    struct run_compact *compact = &run->compact;
    const struct sma_session *session = run->session;
    uint64_t limit = sma_context_limit(run->target, known_of(run));
    uint32_t first = summary_count(session);
    compact->skip_count = 0;
    compact->skip_bytes = 0;
    if (!is_stand_in(run))
        return;
    uint64_t tokens = tokens_of(run);
    while (tokens > limit && first + compact->skip_count < session->turn_count) {
        size_t bytes = session->turns[first + compact->skip_count]->bytes.len + 1;
        uint64_t less = sma_context_tokens(run->target, known_of(run), bytes);
        compact->skip_count++;
        compact->skip_bytes += bytes;
        tokens = tokens > less ? tokens - less : 0;
    }
}

bool run_compact_when_due(struct sma_run *run)
{
    struct run_compact *compact = &run->compact;
    uint32_t window = window_of(run);
    if (run->parent != NULL)
        return false; /* a sub-agent has no earlier turns; its results are shortened */
    skip_old(run);
    if (compact->skip_count > 0)
        return false;
    uint64_t tokens = tokens_of(run), limit = sma_context_limit(run->target, known_of(run));
    bool is_border = run->round_count == 0; /* of two turns: the cache is lost once, not later */
    uint64_t clear_at = is_border && limit > window / 10 * 7 ? window / 10 * 7 : limit;
    if (tokens > clear_at && compact->count < SMA_COMPACTION_COUNT_MAX && clear_old(run))
        return true;
    if (run->state == RUN_FINISHING)
        return true; /* out of memory */
    if (tokens <= limit || compact->has_failed ||
        (run->session->failed_tokens > 0 && tokens < run->session->failed_tokens + window / 20))
        return false;
    return ask(run, sma_context_keep(window), window / 16);
}

bool run_compact_forced(struct sma_run *run)
{
    struct run_compact *compact = &run->compact;
    if (run->parent != NULL || compact->was_forced || run->is_draining || is_stand_in(run))
        return false;
    if (clear_old(run) || run->state == RUN_FINISHING)
        return true;
    compact->was_forced = true;
    compact->is_forced = ask(run, sma_context_keep(window_of(run)) / 2, 1);
    return compact->is_forced;
}

/* -- the answer -------------------------------------------------------------------------------- */
static bool failed(struct sma_run *run, const char *reason)
{
    run->compact.has_failed = true;
    run->session->failed_tokens = run->compact.past.tokens_before;
    tell(run, "failed", reason);
    sma_trace_compaction(&run->trace, sma_run_wall_ms(run, run->now_ns), &run->compact.past, false);
    SMA_METRIC_ADD(compactions_failed_total, 1);
    return false;
}

/* What the step keeps: the words before the summary, the summary, and what the chat is, which the
 * turns do not tell any more. */
static enum sma_err put_texts(struct sma_run *run, struct sma_str text)
{
    struct run_compact *compact = &run->compact;
    struct sma_buf *bufs[] = {&compact->note, &compact->text, &compact->chat};
    for (size_t i = 0; i < SMA_COUNT_OF(bufs); i++) {
        sma_buf_fini(bufs[i]);
        sma_buf_init(bufs[i], SUMMARY_BYTES_MAX + 4096);
    }
    sma_summary_put_note(&compact->note, run->order->facts_word);
    sma_buf_put_str(&compact->text, sma_str_trim(text));
    if (compact->text.err == SMA_ERR_OK)
        sma_summary_cross_out(compact->text.ptr, compact->text.len, run->order->facts_word);
    sma_prompt_put_chat(&compact->chat, run->order, &run->channel);
    compact->past.note = sma_buf_str(&compact->note);
    compact->past.text = sma_buf_str(&compact->text);
    compact->past.chat = sma_str_trim(sma_buf_str(&compact->chat));
    for (size_t i = 0; i < SMA_COUNT_OF(bufs); i++)
        if (bufs[i]->err != SMA_ERR_OK)
            return bufs[i]->err;
    return SMA_ERR_OK;
}

bool run_compact_answered(struct sma_run *run, const struct sma_model_answer *answer)
{
    struct run_compact *compact = &run->compact;
    struct sma_stored_past *past = &compact->past;
    struct sma_context_measure ignored;
    if (answer->status == SMA_MODEL_OK)
        sma_context_learn(run->target, known_of(run), &ignored,
                          &(struct sma_context_size){.messages = compact->request.len},
                          &answer->usage, 0);
    sma_buf_fini(&compact->request);
    if (answer->status == SMA_MODEL_CONTEXT_LENGTH) {
        sma_context_learn_window(run->target, known_of(run), answer->window_tokens,
                                 (uint64_t)window_of(run) * 4 / 5);
        if (compact->count < SMA_COMPACTION_COUNT_MAX / 4)
            return false; /* less of it at once */
    }
    const char *reason = sma_summary_check(answer, summary_bytes_max(run));
    if (reason == NULL && put_texts(run, answer->text) != SMA_ERR_OK)
        reason = "out of memory";
    size_t summary = past->note.len + past->text.len + past->chat.len;
    if (reason == NULL && summary >= compact->saved_bytes + run->session->past.text.len)
        reason = "the summary is longer than what it is of";
    if (reason != NULL)
        return failed(run, reason);
    const struct sma_context_known *known = known_of(run);
    uint64_t saved = sma_context_tokens(run->target, known, compact->saved_bytes);
    uint64_t added = sma_context_tokens(
        run->target, known,
        summary > run->session->past.text.len ? summary - run->session->past.text.len : 0);
    past->tokens_after =
        past->tokens_before + added > saved ? past->tokens_before + added - saved : added;
    return store(run);
}

void run_compact_durable(struct sma_run *run)
{
    struct run_compact *compact = &run->compact;
    const struct sma_stored_past *past = &compact->past;
    struct sma_buf data = run->answer_data;
    sma_buf_init(&run->answer_data, SMA_STEP_BYTES_MAX);
    compact->is_step = false;
    run->session->failed_tokens = 0;
    enum sma_err err = SMA_ERR_OK;
    if (!compact->is_void)
        err = sma_session_set_past(run->sessions, run->session, sma_buf_str(&data));
    compact->is_void = false;
    compact->round_count = past->round_count;
    compact->cleared_round_count = past->cleared_round_count;
    bool is_summary = past->turn_count > 0 || past->round_count > 0;
    if (is_summary)
        SMA_METRIC_ADD(compactions_total, 1);
    sma_trace_compaction(&run->trace, sma_run_wall_ms(run, run->now_ns), past, true);
    if (compact->text.len > 0)
        tell(run, "done", NULL);
    sma_buf_fini(&data);
    run_drop_answer(run);
    if (err != SMA_ERR_OK) {
        run_finish_failed(run, sma_err_text(err));
        return;
    }
    run_mark_moved(run, 0);
    run_rebuild(run);
}

bool run_compact_resume(struct sma_run *run, struct sma_str data)
{
    struct sma_stored_past past;
    if (sma_codec_get_past(data, &past) != SMA_ERR_OK || past.round_count > run->round_count ||
        past.cleared_round_count > run->round_count)
        return false;
    run->compact.round_count = past.round_count;
    run->compact.cleared_round_count = past.cleared_round_count;
    run->compact.past = past;
    run_mark_moved(run, 0);
    run_rebuild(run);
    return true;
}

void run_compact_cleared(struct sma_run *run)
{
    run->compact.skip_count = 0;
    run->compact.skip_bytes = 0;
    sma_buf_fini(&run->compact.request);
    run->compact.is_void = run->compact.is_step;
}

/* -- /compact ---------------------------------------------------------------------------------- */
bool run_compact_command(struct sma_run *run)
{
    return ask(run, sma_context_keep(window_of(run)) / 4, 1);
}

void run_compact_init(struct run_compact *compact)
{
    sma_buf_init(&compact->request, SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&compact->event, 1024);
    sma_buf_init(&compact->note, SUMMARY_BYTES_MAX);
    sma_buf_init(&compact->text, SUMMARY_BYTES_MAX);
    sma_buf_init(&compact->chat, SUMMARY_BYTES_MAX);
}

void run_compact_fini(struct run_compact *compact)
{
    struct sma_buf *bufs[] = {&compact->request, &compact->event, &compact->note, &compact->text,
                              &compact->chat};
    for (size_t i = 0; i < SMA_COUNT_OF(bufs); i++)
        sma_buf_fini(bufs[i]);
}
