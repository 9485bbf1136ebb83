/* run_finish.c — the ends of a run: its answer, a notice, and the turn that goes into the session.
 * See run.h. */
#include "run_priv.h"

#include "runtime/agent/same_text.h"
#include "runtime/text/budget_text.h"
#include "sma/metrics.h"
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
    run_child_leave_all(run);
    run->state = RUN_FINISHING;
    run->outcome = (uint8_t)outcome;
    run->results_number = 0; /* steps do not matter any more: DONE ends them */
    if (run->tool_calls.len > 0)
        sma_buf_put_char(&run->tool_calls, ']');
    run_store_done(run);
}

/* The one row of DONE: run->done_text. */
static void deliver(struct sma_run *run, enum sma_intent intent)
{
    if (run->done_text.err != SMA_ERR_OK || run->done_text.len == 0)
        return;
    run->has_done_delivery = true;
    run->done_delivery = (struct sma_step_delivery){.intent = (uint8_t)intent,
                                                    .route = run->order->route,
                                                    .text = sma_buf_str(&run->done_text),
                                                    .is_fallback = true};
}

/* -- the turn ---------------------------------------------------------------------------------- */
/* What a user may write that is kept for each later request, when the turn cannot be kept as it
 * was. */
#define PLAIN_BYTES_MAX (SMA_TURN_BYTES_MAX / 4)

/*
 * Encode the turn for the store and add it to the session at once: the chat's next run may arrive
 * before the answer to DONE. A STOPPED verdict takes it out again.
 */
static void keep_turn(struct sma_run *run, struct sma_stored_turn *turn)
{
    turn->egress = *run_egress(run);
    turn->key = sma_str(run->target->key);
    turn->is_break = run->is_break;
    if (run->session->is_loaded && /* else it is read from the store with the others */
        sma_session_append(run->sessions, run->session, run->order->seq, turn) == SMA_ERR_TOOBIG) {
        return;
    }
    sma_codec_put_turn(&run->turn_data, turn);
    if (run->turn_data.err != SMA_ERR_OK)
        sma_buf_fini(&run->turn_data); /* out of memory: the run ends without a turn */
}

/* What was said, without the calls: one user and one assistant message. */
static void keep_plain(struct sma_run *run, struct sma_stored_turn *turn)
{
    struct sma_buf plain;
    sma_buf_init(&plain, SMA_TURN_BYTES_MAX);
    if (sma_view_put(&plain, turn, run->target, SMA_VIEW_PLAIN) == SMA_ERR_OK) {
        struct sma_str fragment = sma_buf_str(&plain);
        turn->fragments = &fragment;
        turn->fragment_count = 1;
        turn->message_count = sma_str_trim(turn->text).len > 0 ? 2 : 1;
        keep_turn(run, turn);
    }
    sma_buf_fini(&plain);
}

/* Without the user's words: what a model refuses would make it refuse each later request, too. */
static void keep_hidden(struct sma_run *run, struct sma_stored_turn *turn, const char *instead)
{
    struct sma_str blocks[2] = {sma_buf_str(&run->facts), sma_str(instead)};
    turn->blocks = blocks;
    turn->block_count = 2;
    turn->own_block = 0;
    run_parts_free_turn(turn);
    keep_plain(run, turn);
}

static size_t blocks_bytes(const struct sma_run *run)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < run->block_count; i++)
        bytes += run->blocks[i].len;
    return bytes;
}

/* A turn over the bounds of a session: the user's message and the newest rounds that fit. false:
 * not even one does. */
static bool cut_rounds(const struct sma_run *run, struct sma_stored_turn *turn)
{
    uint32_t first = turn->fragment_count, messages = run->fragment_messages[0];
    size_t bytes = turn->fragments[0].len;
    for (uint32_t i = turn->fragment_count - 1; i > 0; i--) {
        messages += run->fragment_messages[i];
        bytes += turn->fragments[i].len;
        if (bytes > SMA_TURN_BYTES_MAX / 2)
            break;
        if (!run->fragment_is_user[i]) {
            first = i; /* what the model said stands before what came of it */
            turn->message_count = messages;
        }
    }
    uint32_t kept = turn->fragment_count - first;
    if (kept < 2)
        return false;
    memmove(&turn->fragments[1], &turn->fragments[first], kept * sizeof *turn->fragments);
    turn->fragment_count = kept + 1;
    return true;
}

enum turn_form
{
    TURN_DONE,   /* answered: over a bound what was said suffices */
    TURN_OPEN,   /* to be continued: over a bound the newest rounds stay */
    TURN_HIDDEN, /* refused by the model: not to be sent again */
    /* by the provider, unread: whatever it was about, each later request would be refused for it */
    TURN_REFUSED,
};

static void keep_form(struct sma_run *run, struct sma_stored_turn *turn, enum turn_form form)
{
    bool is_large = run->turn.len > SMA_TURN_BYTES_MAX;
    bool is_whole = run->turn.err == SMA_ERR_OK && turn->fragment_count > 0;
    if (form == TURN_HIDDEN)
        keep_hidden(run, turn, "[This message is not shown: the model refused to answer it.]");
    else if (form == TURN_REFUSED)
        keep_hidden(run, turn,
                    "[This message is not shown: the provider of the language model refused the "
                    "request that held it; chat_load_history has it.]");
    else if (is_whole && !is_large)
        keep_turn(run, turn);
    else if (is_whole && form == TURN_OPEN && cut_rounds(run, turn))
        keep_turn(run, turn);
    else if (blocks_bytes(run) <= PLAIN_BYTES_MAX)
        keep_plain(run, turn);
    else
        keep_hidden(run, turn, "[This message was too long to keep; chat_load_history has it.]");
}

/* @text  what the assistant said, for the plain form */
static void build_turn(struct sma_run *run, struct sma_str text, enum turn_form form)
{
    const struct sma_run_order *order = run->order;
    struct sma_str fragments[FRAGMENT_COUNT_MAX];
    if (run->parent != NULL)
        return; /* a sub-agent's conversation ends with it */
    for (uint32_t i = 0; i < run->fragment_count && run->turn.err == SMA_ERR_OK; i++) {
        fragments[i] = (struct sma_str){run->turn.ptr + run->fragment_starts[i],
                                        run->fragment_ends[i] - run->fragment_starts[i]};
    }
    uint32_t added = run->added.given_count, block_count = run->block_count;
    struct sma_str *ids = calloc((size_t)order->collected_count + added + 1, sizeof *ids);
    struct sma_str *blocks =
        calloc(run->block_count + (size_t)added * RUN_ADDED_BLOCKS + 1, sizeof *blocks);
    if (ids == NULL || blocks == NULL || run->blocks == NULL || run->block_count == 0) {
        free(ids);
        free(blocks);
        return;
    }
    memcpy(blocks, run->blocks, run->block_count * sizeof *blocks);
    block_count += run_added_blocks(run, 0, added, blocks + block_count);
    uint32_t id_count = 0;
    for (uint32_t i = 0; i < order->collected_count; i++)
        ids[id_count++] = order->collected[i].message_id;
    ids[id_count++] = order->route.message_id;
    id_count += run_added_ids(run, ids + id_count);
    struct sma_stored_turn turn = {.message_count = run->message_count,
                                   .id_count = id_count,
                                   .ids = ids,
                                   .block_count = block_count,
                                   .blocks = blocks,
                                   .own_block = run_own_words(run).len > 0 ? run->block_count : 0,
                                   .fragment_count = run->fragment_count,
                                   .fragments = fragments,
                                   .text = text};
    if (run_parts_put_turn(run, &turn)) /* out of memory: the run ends without a turn */
        keep_form(run, &turn, form);
    run_parts_free_turn(&turn);
    free(ids);
    free(blocks);
}

static void put_said(struct sma_buf *said, struct sma_str text)
{
    if (said->len > 0 && text.len > 0)
        sma_buf_put_text(said, "\n\n");
    sma_buf_put_str(said, text);
}

/* The end with a line that says how it came. */
static void keep_ended_as(struct sma_run *run, const char *why, enum turn_form form)
{
    struct sma_buf said, line;
    sma_buf_init(&said, SMA_TURN_BYTES_MAX / 2);
    sma_buf_init(&line, 1024);
    sma_buf_put_text(&line, "[ended: ");
    sma_buf_put_text(&line, why);
    sma_buf_put_char(&line, ']');
    if (run->blocks == NULL)
        run_put_user(run, (struct sma_str){0}); /* it ended before anything was sent */
    if (line.err == SMA_ERR_OK && run->fragment_count < FRAGMENT_COUNT_MAX) {
        run_open_fragment(run);
        run->target->wire->put_assistant_text(&run->turn, run->target, sma_buf_str(&line));
        run_close_fragment(run, 1);
    }
    if (form != TURN_REFUSED)
        put_said(&said, sma_buf_str(&run->sent_texts));
    put_said(&said, sma_buf_str(&line));
    build_turn(run, said.err == SMA_ERR_OK ? sma_buf_str(&said) : sma_buf_str(&line), form);
    sma_buf_fini(&said);
    sma_buf_fini(&line);
}

/* Whatever the end: what was asked and done stays, so that "continue" continues. */
static void keep_ended(struct sma_run *run, const char *why)
{
    keep_ended_as(run, why, TURN_OPEN);
}

/* -- the answer -------------------------------------------------------------------------------- */
static void put_notice(struct sma_run *run, enum sma_notice notice)
{
    if (run->done_text.len > 0)
        sma_buf_put_text(&run->done_text, "\n\n");
    sma_notice_format(&run->done_text, run->language, notice, (unsigned)run->round);
}

static bool is_refused(uint8_t finish)
{
    return finish == SMA_FINISH_REFUSED || finish == SMA_FINISH_FILTERED;
}

/* The final text is the answer, unless the user has it already. */
static void put_answer(struct sma_run *run, const struct sma_model_answer *answer)
{
    struct sma_str text = sma_buf_str(&run->final_text);
    bool is_said = run->sent_texts.err == SMA_ERR_OK && run->sent_texts.len > 0 &&
                   ((run->is_shown && sma_text_is_closing(text)) ||
                    sma_text_is_said(text, sma_buf_str(&run->sent_texts), run->last_sent));
    size_t len = is_said ? 0 : sma_utf8_cut(text, SMA_TEXT_BYTES_MAX);
    sma_buf_put(&run->done_text, text.ptr, len);
    if (!is_said && (len < text.len || answer->finish == SMA_FINISH_LENGTH)) {
        sma_buf_put_char(&run->done_text, '\n');
        sma_notice_format(&run->done_text, run->language,
                          len < text.len ? SMA_NOTICE_CUT_MORE : SMA_NOTICE_CUT);
    }
    if (!is_said)
        put_said(&run->sent_texts, text); /* from now on: what was said */
    if (answer->finish == SMA_FINISH_FILTERED)
        put_notice(run, SMA_NOTICE_FILTERED);
    if (run->is_summing)
        put_notice(run, run->is_looping ? SMA_NOTICE_LOOP : SMA_NOTICE_STEP_LIMIT);
    deliver(run, is_said ? SMA_INTENT_NOTICE : SMA_INTENT_ASSISTANT_TEXT);
}

static void finish_text(struct sma_run *run, const struct sma_model_answer *answer)
{
    run_open_fragment(run);
    if (answer->fragment.len > 0 && answer->call_count == 0 && sma_str_trim(answer->text).len > 0)
        sma_buf_put_str(&run->turn, answer->fragment);
    /* calls that nobody answers are refused by providers, and so is a last part without words */
    else
        run->target->wire->put_assistant_text(
            &run->turn, run->target,
            sma_str_trim(answer->text).len > 0 ? answer->text : SMA_STR(RUN_NO_WORDS));
    run_close_fragment(run, 1);
    put_answer(run, answer);
    build_turn(run, sma_buf_str(&run->sent_texts),
               is_refused(answer->finish) ? TURN_HIDDEN
               : run->is_summing          ? TURN_OPEN
                                          : TURN_DONE);
    bool is_good = answer->finish != SMA_FINISH_FILTERED && !run->is_summing;
    finish(run, is_good ? SMA_OUTCOME_OK : SMA_OUTCOME_FAILED);
}

static void finish_refused(struct sma_run *run, uint8_t finish_kind)
{
    bool is_filter = finish_kind == SMA_FINISH_FILTERED;
    put_notice(run, is_filter ? SMA_NOTICE_FILTERED : SMA_NOTICE_REFUSED);
    deliver(run, SMA_INTENT_NOTICE);
    put_said(&run->sent_texts, is_filter ? SMA_STR("[ended: the provider's filter refused it]")
                                         : SMA_STR("[ended: the model refused]"));
    build_turn(run, sma_buf_str(&run->sent_texts), TURN_HIDDEN);
    finish(run, SMA_OUTCOME_FAILED);
}

void run_finish_answer(struct sma_run *run, const struct sma_model_answer *answer)
{
    sma_buf_put_str(&run->final_text, sma_buf_str(&run->parts));
    if (sma_str_trim(answer->text).len > 0)
        run_join_part(&run->final_text, answer->text);
    bool has_words = sma_str_trim(sma_buf_str(&run->final_text)).len > 0;
    bool is_given = run->has_delivered || run->has_shown;
    struct sma_model_answer meant = *answer;
    if (!has_words && !is_given && sma_str_trim(answer->reasoning).len > 0) {
        /* It was asked again and has nothing else to say: the server put it in the wrong place. */
        meant.text = answer->reasoning;
        meant.fragment = (struct sma_str){0};
        run_join_part(&run->final_text, meant.text);
        has_words = true;
    }
    if (has_words) {
        finish_text(run, &meant);
    } else if (is_refused(answer->finish)) {
        finish_refused(run, answer->finish);
    } else if (run->is_summing) {
        put_notice(run, run->is_looping ? SMA_NOTICE_LOOP : SMA_NOTICE_STEP_LIMIT);
        run_finish_notice(run, SMA_OUTCOME_FAILED,
                          run->is_looping ? "the same steps came again and again"
                                          : "the limit of steps was reached");
    } else if (!run->has_delivered && !run->has_shown) {
        put_notice(run, SMA_NOTICE_NO_ANSWER);
        run_finish_notice(run, SMA_OUTCOME_FAILED, "without an answer");
        /* all was said and shown before; a blank message says nothing, and some providers refuse
         * it */
    } else {
        build_turn(run,
                   run->has_delivered ? sma_buf_str(&run->sent_texts)
                                      : SMA_STR("[answered without words]"),
                   TURN_DONE);
        finish(run, SMA_OUTCOME_OK);
    }
}

/* -- the other ends ---------------------------------------------------------------------------- */
void run_finish_notice(struct sma_run *run, enum sma_outcome outcome, const char *why)
{
    deliver(run, SMA_INTENT_NOTICE);
    keep_ended(run, why);
    finish(run, outcome);
}

/* The user has been sent something, and the model's closing word is missing. Mostly that was the
 * answer, but "one moment" looks
 * just so: whoever waits for more must not wait for ever. */
static void finish_unclosed(struct sma_run *run, enum turn_form form)
{
    sma_buf_clear(&run->done_text);
    put_notice(run, SMA_NOTICE_MAYBE_MORE);
    deliver(run, SMA_INTENT_NOTICE);
    keep_ended_as(run, "the model could not be asked after what was sent", form);
    finish(run, SMA_OUTCOME_OK);
}

void run_finish_too_long(struct sma_run *run)
{
    /* Forgetting the conversation helps only where there is one. */
    put_notice(run,
               run->session->turn_count > 0 ? SMA_NOTICE_TOO_LONG : SMA_NOTICE_MESSAGE_TOO_LONG);
    sma_buf_fini(&run->turn); /* what was too long once would be so again: in plain form */
    run->turn.err = SMA_ERR_TOOBIG;
    if (run->is_answered)
        finish_unclosed(run, TURN_OPEN);
    else
        run_finish_notice(run, SMA_OUTCOME_FAILED, "it became too long for the model");
}

/* Its budget is used up: what was said and done stays. */
void run_finish_over(struct sma_run *run)
{
    bool has_parts = sma_str_trim(sma_buf_str(&run->parts)).len > 0;
    sma_buf_put_str(&run->final_text, sma_buf_str(&run->parts));
    if (has_parts) {
        sma_buf_put_str(&run->done_text, sma_buf_str(&run->parts));
        sma_buf_put_text(&run->done_text, "\n\n");
    }
    sma_budget_text_put(&run->done_text, run->language, SMA_NOTICE_BUDGET_ENDED, &run->over);
    if (run->parent == NULL)
        SMA_METRIC_ADD(runs_over_budget_total, 1);
    deliver(run, has_parts ? SMA_INTENT_ASSISTANT_TEXT : SMA_INTENT_NOTICE);
    keep_ended(run, "its budget is used up");
    finish(run, SMA_OUTCOME_FAILED);
}

void run_finish_command(struct sma_run *run, enum sma_outcome outcome)
{
    deliver(run, SMA_INTENT_NOTICE);
    finish(run, outcome);
}

void run_finish_failed(struct sma_run *run, const char *why)
{
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_RUN_FAILED, why);
    run_finish_notice(run, SMA_OUTCOME_FAILED, why);
}

void run_finish_stopped(struct sma_run *run)
{
    if (run->state == RUN_TOOLS && run->call_count > 0)
        run_absorb_open(run);
    if (run->state == RUN_FINISHING)
        return; /* out of memory: it has ended otherwise */
    keep_ended(run, "the user stopped it");
    if (run->turn_data.len > 0)
        run_store_done(run);
}

/* -- failures of the model --------------------------------------------------------------------- */
/* What the provider said, its address and, last, the remedy: a shorter line would lose just
 * that. */
#define MODEL_REASON_BYTES_MAX 1000

/* The plain sentence for this kind of trouble: no address, model or key, nothing about our
 * files. */
static enum sma_notice error_for_people(enum sma_model_failure trouble)
{
    switch (trouble) {
    case SMA_MODEL_FAILURE_TRANSIENT:
        return SMA_NOTICE_MODEL_AWAY;
    case SMA_MODEL_FAILURE_RATE:
        return SMA_NOTICE_MODEL_BUSY;
    case SMA_MODEL_FAILURE_QUOTA:
        return SMA_NOTICE_MODEL_QUOTA;
    case SMA_MODEL_FAILURE_AUTH:
    case SMA_MODEL_FAILURE_NO_MODEL:
    case SMA_MODEL_FAILURE_SETUP:
        return SMA_NOTICE_MODEL_SETUP;
    case SMA_MODEL_FAILURE_MEMBER:
    case SMA_MODEL_FAILURE_SESSION:
    case SMA_MODEL_FAILURE_REQUEST:
    case SMA_MODEL_FAILURE_PICTURE:
    case SMA_MODEL_FAILURE_FILE:
    default:
        return SMA_NOTICE_MODEL_REQUEST;
    }
}

/* Addresses, models and our files are for owners, and in a group others read along. */
static bool may_see_details(const struct sma_run *run)
{
    return run->order->standing == SMA_STANDING_OWNER &&
           !sma_prompt_is_group(run->order->route.chat_type);
}

static void put_details(struct sma_run *run, struct sma_str why)
{
    char text[MODEL_REASON_BYTES_MAX + 1];
    why = sma_str_trim(why);
    size_t len = sma_utf8_cut(why, MODEL_REASON_BYTES_MAX);
    for (size_t i = 0; i < len; i++)
        text[i] = (unsigned char)why.ptr[i] < ' ' ? ' ' : why.ptr[i];
    text[len] = '\0';
    if (len == 0 || run->parent != NULL || !may_see_details(run))
        return;
    sma_buf_put_char(&run->done_text, '\n');
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_MODEL_DETAILS, text);
}

/* For what was said, or for nothing we know: in every form that it was sent in. Where a member is
 * named it was not the words. */
static bool is_refused_for_good(const struct sma_model_answer *answer)
{
    return answer != NULL && answer->http_status >= 400 &&
           (answer->trouble == SMA_MODEL_FAILURE_REQUEST ||
            answer->trouble == SMA_MODEL_FAILURE_SESSION ||
            answer->trouble == SMA_MODEL_FAILURE_PICTURE);
}

void run_finish_model_failed(struct sma_run *run, const struct sma_model_answer *answer)
{
    enum turn_form form = is_refused_for_good(answer) ? TURN_REFUSED : TURN_OPEN;
    if (run->is_answered) {
        finish_unclosed(run, form);
        return;
    }
    bool is_set_up = answer != NULL;
    enum sma_notice notice = is_set_up ? error_for_people((enum sma_model_failure)answer->trouble)
                                       : SMA_NOTICE_MODEL_SETUP;
    put_notice(run, notice);
    put_details(run, is_set_up ? answer->error
                               : SMA_STR("No language model is configured. Set llm.model and "
                                         "llm.apiKey in ship.json and restart."));
    deliver(run, SMA_INTENT_NOTICE);
    keep_ended_as(run,
                  form == TURN_REFUSED ? "the request was refused"
                                       : "the language model could not be asked",
                  form);
    finish(run, SMA_OUTCOME_FAILED);
}
