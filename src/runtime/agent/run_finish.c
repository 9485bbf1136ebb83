/* run_finish.c — the ends of a run: its answer, a notice, and the turn that goes into the session. See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#include <stdlib.h>

void run_store_done(struct sma_run *run)
{
    run->done_is_asked = true;
    struct sma_run_action *action = run_act(run, SMA_RUN_STORE_DONE);
    action->done = (struct sma_done){
        .seq = run->order->seq,
        .outcome = run->outcome,
        .output = sma_buf_str(&run->final_text),
        .tool_calls_json = run->tool_calls.len > 0 ? sma_buf_str(&run->tool_calls) : SMA_STR("[]"),
        .turn = sma_buf_str(&run->turn_data),
        .wire = sma_str(run->target->key),
        .usage = run->usage,
        .target = run_usage_target(run),
        .delivery_count = run->has_done_delivery ? 1 : 0,
        .deliveries = &run->done_delivery,
        .stamps = run->stamps};
}

static void finish(struct sma_run *run, enum sma_outcome outcome)
{
    run->state = RUN_FINISHING;
    run->outcome = (uint8_t)outcome;
    run->results_number = 0; /* steps do not matter any more: DONE ends them */
    if (run->tool_calls.len > 0)
        sma_buf_put_char(&run->tool_calls, ']');
    run_store_done(run);
}

static void deliver(struct sma_run *run, enum sma_intent intent)
{
    if (run->done_text.err != SMA_ERR_OK || run->done_text.len == 0)
        return;
    run->has_done_delivery = true;
    run->done_delivery = (struct sma_step_delivery){.intent = (uint8_t)intent,
                                                    .route = run->order->route,
                                                    .text = sma_buf_str(&run->done_text)};
}

/* -- the turn ----------------------------------------------------------------------------------------------------- */
/*
 * Encode the turn for the store and add it to the session at once: the chat's next run may arrive before the answer
 * to DONE. A STOPPED verdict takes it out again.
 */
static void keep_turn(struct sma_run *run, struct sma_stored_turn *turn)
{
    turn->key = sma_str(run->target->key);
    turn->is_break = run->is_break;
    if (sma_session_append(run->sessions, run->session, run->order->seq, turn) == SMA_ERR_TOOBIG) {
        return;
    }
    sma_codec_put_turn(&run->turn_data, turn);
    if (run->turn_data.err != SMA_ERR_OK)
        sma_buf_fini(&run->turn_data); /* out of memory: the run ends without a turn */
}

/* What was said, without the calls: one user and one assistant message. */
static void keep_plain_turn(struct sma_run *run, struct sma_stored_turn *turn)
{
    struct sma_buf user, assistant;
    sma_buf_init(&user, SMA_SESSION_BYTES_MAX);
    sma_buf_init(&assistant, SMA_SESSION_BYTES_MAX);
    run->target->wire->put_user(&user, run->target, run->blocks, run->block_count);
    run->target->wire->put_assistant_text(&assistant, run->target, turn->text);
    struct sma_str fragments[2] = {sma_buf_str(&user), sma_buf_str(&assistant)};
    turn->fragments = fragments;
    turn->fragment_count = turn->message_count = 2;
    if (user.err == SMA_ERR_OK && assistant.err == SMA_ERR_OK)
        keep_turn(run, turn);
    sma_buf_fini(&user);
    sma_buf_fini(&assistant);
}

static void build_turn(struct sma_run *run, struct sma_str text, bool is_plain)
{
    const struct sma_run_order *order = run->order;
    struct sma_str fragments[FRAGMENT_COUNT_MAX];
    for (uint32_t i = 0; i < run->fragment_count; i++) {
        fragments[i] = (struct sma_str){run->turn.ptr + run->fragment_starts[i],
                                        run->fragment_ends[i] - run->fragment_starts[i]};
    }
    struct sma_str *ids = calloc((size_t)order->collected_count + 1, sizeof *ids);
    if (ids == NULL || run->turn.err != SMA_ERR_OK) {
        free(ids);
        return;
    }
    uint32_t id_count = 0;
    for (uint32_t i = 0; i < order->collected_count; i++)
        ids[id_count++] = order->collected[i].message_id;
    ids[id_count++] = order->route.message_id;
    struct sma_stored_turn turn = {.message_count = run->message_count,
                                   .id_count = id_count,
                                   .ids = ids,
                                   .block_count = run->block_count,
                                   .blocks = run->blocks,
                                   .fragment_count = run->fragment_count,
                                   .fragments = fragments,
                                   .text = text};
    if (is_plain || run->message_count > SMA_SESSION_MESSAGE_COUNT_MAX ||
        run->turn.len > SMA_SESSION_BYTES_MAX)
        keep_plain_turn(run, &turn);
    else
        keep_turn(run, &turn);
    free(ids);
}

/* -- the ends ----------------------------------------------------------------------------------------------------- */
static void put_fallback(struct sma_run *run, struct sma_str text, bool is_cut)
{
    size_t len = sma_utf8_cut(text, SMA_TEXT_BYTES_MAX);
    sma_buf_put(&run->done_text, text.ptr, len);
    if (len < text.len || is_cut) {
        sma_buf_put_char(&run->done_text, '\n');
        sma_notice_format(&run->done_text, run->language, SMA_NOTICE_CUT);
    }
    deliver(run, SMA_INTENT_ASSISTANT_TEXT);
}

void run_finish_answer(struct sma_run *run, const struct sma_model_answer *answer)
{
    bool is_blank = sma_str_trim(answer->text).len == 0;
    if (is_blank && !run->has_delivered && !run->has_shown) {
        sma_notice_format(&run->done_text, run->language, SMA_NOTICE_NO_ANSWER);
        run_finish_notice(run, SMA_OUTCOME_OK);
        return;
    }
    if (!is_blank) { /* a blank assistant message is refused by some providers, and says nothing */
        sma_buf_put_str(&run->final_text, answer->text);
        run_open_fragment(run);
        if (answer->fragment.len > 0)
            sma_buf_put_str(&run->turn, answer->fragment);
        else
            run->target->wire->put_assistant_text(&run->turn, run->target, answer->text);
        run_close_fragment(run, 1);
    }
    if (!run->has_delivered && !is_blank)
        put_fallback(run, answer->text, answer->finish == SMA_FINISH_LENGTH);
    struct sma_str text = run->has_delivered ? sma_buf_str(&run->sent_texts) : answer->text;
    if (!run->has_delivered && is_blank)
        text = SMA_STR("[answered without words]");
    build_turn(run, text, false);
    finish(run, SMA_OUTCOME_OK);
}

void run_finish_notice(struct sma_run *run, enum sma_outcome outcome)
{
    deliver(run, SMA_INTENT_NOTICE);
    if (run->has_delivered && run->sent_texts.len > 0 && run->sent_texts.err == SMA_ERR_OK)
        build_turn(run, sma_buf_str(&run->sent_texts), true);
    finish(run, outcome);
}

void run_finish_too_long(struct sma_run *run)
{
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_TOO_LONG);
    run_finish_notice(run, SMA_OUTCOME_FAILED);
}

void run_finish_failed(struct sma_run *run, const char *why)
{
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_RUN_FAILED, why);
    run_finish_notice(run, SMA_OUTCOME_FAILED);
}
