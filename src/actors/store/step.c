/*
 * What the steps of a run and its end do: STEP and DONE.
 */
#include "budget.h"
#include "consent.h"
#include "facts.h"
#include "item.h"
#include "outbox.h"
#include "record.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

/* Its deliveries are filled in as they are written. */
static struct sma_msg *make_answer(struct sma_store *store, unsigned kind, uint64_t seq,
                                   uint32_t number, uint32_t delivery_count)
{
    return sma_store_made(
        store, sma_msg_make(kind, &(struct sma_step_done){.seq = seq,
                                                          .number = number,
                                                          .verdict = SMA_STEP_DURABLE,
                                                          .delivery_count = delivery_count}));
}

static void answer_verdict(struct sma_store *store, const struct sma_msg *question, unsigned kind,
                           uint64_t seq, enum sma_step_verdict verdict)
{
    struct sma_msg *answer = make_answer(store, kind, seq, 0, 0);
    SMA_MSG_BODY(answer, struct sma_step_done)->verdict = (uint8_t)verdict;
    /* NO_DISK depends on no transaction; STOPPED may be the doing of the open one. */
    if (verdict == SMA_STEP_NO_DISK)
        sma_ctx_answer(store->ctx, question, &answer);
    else
        sma_store_answer_later(store, question, &answer, 0);
}

static SMA_CHECKED enum sma_err deliver_all(struct sma_store *store, struct store_run *run,
                                            uint32_t step,
                                            const struct sma_step_delivery *deliveries,
                                            struct sma_step_done *done)
{
    bool is_step = step != 0 && done->number != 0;
    for (uint32_t i = 0; i < done->delivery_count; i++) {
        struct store_delivery_facts facts = {
            .seq = run->seq, .step = step, .has_waiter = is_step, .stamps = &run->stamps};
        SMA_TRY(sma_store_deliver(store, &facts, &deliveries[i], &done->deliveries[i]));
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err clear_suspicion(struct sma_store *store, struct store_run *run)
{
    enum sma_err err = sma_state_set_attempt(store->state, run->seq, 0);
    if (err == SMA_ERR_OK) {
        run->is_suspect = false;
        sma_store_forget_suspect(store, run->seq);
    }
    return err;
}

static SMA_CHECKED enum sma_err write_step(struct sma_store *store, struct store_run *run,
                                           const struct sma_step *step, struct sma_step_done *done)
{
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_step_add_used(store->state, &(struct sma_state_step){.seq = run->seq,
                                                                             .number = step->number,
                                                                             .kind = step->kind,
                                                                             .data = step->data,
                                                                             .usage = &step->usage,
                                                                             .trace = step->trace});
    if (err == SMA_ERR_EXISTS) {
        err = SMA_ERR_OK; /* asked again: answered as stored */
    } else if (err == SMA_ERR_OK) {
        SMA_METRIC_ADD(steps_total, 1);
        run->last_step = step->number;
        err = sma_store_count_usage(store, run, &step->usage, step->target);
    }
    if (err == SMA_ERR_OK)
        sma_store_note_waiting(store, run, step);
    if (err == SMA_ERR_OK && step->added_count > 0)
        err = sma_store_take_additions(store, run, step);
    if (err == SMA_ERR_OK && step->kind == SMA_STEP_COMPACTION)
        err = sma_state_past_set(store->state, run->chat->state,
                                 &(struct sma_state_past){.seq = run->seq,
                                                          .first = step->past_first,
                                                          .below = step->past_below,
                                                          .data = step->data});
    if (err == SMA_ERR_OK)
        err = deliver_all(store, run, step->number, step->deliveries, done);
    if (err == SMA_ERR_OK && run->is_suspect)
        err = clear_suspicion(store, run);
    if (err == SMA_ERR_OK)
        err = sma_store_share_check(store, run->seq, &done->over);
    bool waits = (step->kind == SMA_STEP_WAIT || step->kind == SMA_STEP_CHILD) && step->wait_ms > 0;
    if (err == SMA_ERR_OK && waits) {
        done->verdict = SMA_STEP_PARKED;
        return sma_store_wait_for_model(store, run, step);
    }
    if (err != SMA_ERR_OK || step->request_json.len == 0)
        return err;
    done->verdict = SMA_STEP_PARKED;
    err = sma_store_park(store, run, step);
    if (err != SMA_ERR_BADINPUT)
        return err;
    /* Nobody can be asked, and nothing of it may be done without. */
    done->verdict = SMA_STEP_STOPPED;
    return sma_store_give_up_run(store, run, "its request for consent cannot be read");
}

/* -- as items: what cannot be stored is its run's end ------------------------------------------ */
struct report
{
    uint64_t seq;
    const struct sma_step *step; /* or */
    const struct sma_done *done;
    struct sma_step_done *answer;
};

/* The run's end cut its answer to what a message may have; the result has the whole (output.c). */
static SMA_CHECKED enum sma_err put_whole(struct sma_store *store, const struct sma_done *done)
{
    struct sma_buf *text = &store->scratch.text;
    struct sma_str cut = done->deliveries[done->delivery_count - 1].text;
    if (done->output.len <= SMA_TEXT_BYTES_MAX || cut.len < SMA_TEXT_BYTES_MAX ||
        text->len < cut.len || memcmp(text->ptr + text->len - cut.len, cut.ptr, cut.len) != 0)
        return SMA_ERR_OK;
    text->len -= cut.len;
    sma_buf_put_str(text, done->output);
    return text->err;
}

static SMA_CHECKED enum sma_err write_done(struct sma_store *store, struct store_run *run,
                                           const struct sma_done *done,
                                           struct sma_step_done *answer);

static enum sma_err write_report(struct sma_store *store, void *ctx)
{
    const struct report *report = ctx;
    struct store_run *run = sma_store_run_find(store, report->seq);
    if (run == NULL)
        return SMA_ERR_NOTFOUND;
    return report->step != NULL ? write_step(store, run, report->step, report->answer)
                                : write_done(store, run, report->done, report->answer);
}

static enum sma_err give_up_reporter(struct sma_store *store, void *ctx)
{
    const struct report *report = ctx;
    struct store_run *run = sma_store_run_find(store, report->seq);
    return run == NULL ? SMA_ERR_OK
                       : sma_store_give_up_run(store, run, "what it did cannot be stored");
}

static enum store_mark mark_of(const struct report *report)
{
    if (report->step != NULL)
        return STORE_MARK_STEP;
    bool has_failed = report->done->outcome == SMA_OUTCOME_FAILED ||
                      report->done->outcome == SMA_OUTCOME_GIVEN_UP;
    return has_failed ? STORE_MARK_FAILED : STORE_MARK_DONE;
}

/* Write it, and answer: as it says, STOPPED when the run is over by that, NO_DISK when everything
 * failed. */
static void carry_out(struct sma_store *store, const struct sma_msg *question,
                      struct report *report, struct sma_msg **answer)
{
    unsigned kind = (*answer)->kind;
    const struct store_run *run = sma_store_run_find(store, report->seq);
    struct store_item item = {.step = write_report,
                              .on_damage = give_up_reporter,
                              .ctx = report,
                              .name = "run",
                              .number = report->seq,
                              .chat_key = {run->key, run->key_len},
                              .remedy = "its person may send the message again"};
    char key[SMA_CHAT_KEY_BYTES_MAX + 1];
    memcpy(key, run->key, run->key_len);
    item.chat_key.ptr = key; /* the run may be gone when it is told */
    enum sma_err err = sma_store_item(store, &item);
    if (err == SMA_ERR_OK && item.damage == SMA_ERR_OK) {
        sma_store_mark(store, mark_of(report));
        sma_store_answer_later(store, question, answer, 0);
        return;
    }
    sma_msg_destroyp(answer);
    if (err != SMA_ERR_OK)
        sma_store_fail_batch(store, err);
    else if (item.is_stuck)
        sma_store_leave_stuck(store, report->seq);
    answer_verdict(store, question, kind, report->seq,
                   err != SMA_ERR_OK ? SMA_STEP_NO_DISK : SMA_STEP_STOPPED);
}

void sma_store_step(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_step *step = SMA_MSG_BODY(*msg, struct sma_step);
    struct store_run *run = sma_store_run_find(store, step->seq);
    if (run == NULL) {
        answer_verdict(store, *msg, SMA_MSG_STEP_DONE, step->seq, SMA_STEP_STOPPED);
        return;
    }
    sma_store_check_disk(store);
    /* The one before it was refused while it was on its way: it comes again behind that one. */
    bool is_ahead = step->number > run->last_step + 1;
    if (sma_store_disk_level(store) >= 2 || is_ahead) {
        answer_verdict(store, *msg, SMA_MSG_STEP_DONE, step->seq, SMA_STEP_NO_DISK);
        return;
    }
    struct sma_msg *answer =
        make_answer(store, SMA_MSG_STEP_DONE, step->seq, step->number, step->delivery_count);
    struct report report = {
        .seq = step->seq, .step = step, .answer = SMA_MSG_BODY(answer, struct sma_step_done)};
    carry_out(store, *msg, &report, &answer);
}

/* Channel api: a result that nobody "sent" is written to the history like an answer
 * (protocols/project.md §4.3). */
static SMA_CHECKED enum sma_err write_result_line(struct sma_store *store,
                                                  const struct sma_done *done,
                                                  const struct sma_state_message *message)
{
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(message->facts, &facts);
    int adapter = err == SMA_ERR_OK ? sma_store_adapter_of(store, &facts.route) : -1;
    if (adapter < 0 || !store->adapters[adapter].adapter->ops->capabilities.is_stored_delivery)
        return SMA_ERR_OK;
    struct store_chat *chat = sma_store_chat(store, message->chat);
    return sma_store_add_line(store, chat,
                              &(struct sma_history_entry){
                                  .wall_ms = sma_ctx_wall(store->ctx),
                                  .channel = facts.route.channel,
                                  .chat_id = facts.route.chat_id,
                                  .chat_key = message->chat->key,
                                  .user_id = SMA_STR("bot"),
                                  .message_id = message->event_key,
                                  .role = SMA_STR("assistant"),
                                  .text = sma_buf_str(&store->scratch.text),
                                  .meta_json = done->outcome == SMA_OUTCOME_OK
                                                   ? SMA_STR("{\"success\":true}")
                                                   : SMA_STR("{\"success\":false}"),
                              },
                              message->seq);
}

static enum sma_row_state row_state_of(uint8_t outcome)
{
    switch (outcome) {
    case SMA_OUTCOME_OK:
        return SMA_ROW_DONE;
    case SMA_OUTCOME_CANCELLED:
        return SMA_ROW_CANCELLED;
    case SMA_OUTCOME_GIVEN_UP:
        return SMA_ROW_GIVEN_UP;
    default:
        return SMA_ROW_FAILED;
    }
}

static SMA_CHECKED enum sma_err write_done(struct sma_store *store, struct store_run *run,
                                           const struct sma_done *done,
                                           struct sma_step_done *answer)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_message message = {0};
    uint32_t last = 0;
    bool is_sent = false;
    SMA_TRY(sma_store_begin(store));
    if (done->delivery_count > 0)
        SMA_TRY(sma_state_step_last(store->state, run->seq, &last));
    SMA_TRY(deliver_all(store, run, last + 1, done->deliveries, answer));
    SMA_TRY(sma_store_count_usage(store, run, &done->usage, done->target));
    SMA_TRY(sma_store_collect_output(store, run, done->output, &is_sent));
    if (is_sent && done->delivery_count > 0)
        SMA_TRY(put_whole(store, done));
    SMA_TRY(sma_state_message_read(store->state, run->seq, &rows, &message));
    if (!is_sent && store->scratch.text.len > 0)
        SMA_TRY(write_result_line(store, done, &message));
    return sma_store_finish_run(
        store, run,
        &(struct sma_state_finish){.seq = run->seq,
                                   .state = row_state_of(done->outcome),
                                   .outcome = done->outcome,
                                   .is_success = done->outcome == SMA_OUTCOME_OK,
                                   .output = sma_buf_str(&store->scratch.text),
                                   .tool_calls_json = done->tool_calls_json,
                                   .wire = done->wire,
                                   .turn = done->turn,
                                   .message_id = message.event_key,
                                   .trace = done->trace});
}

void sma_store_done(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_done *done = SMA_MSG_BODY(*msg, struct sma_done);
    struct store_run *run = sma_store_run_find(store, done->seq);
    if (run == NULL) {
        sma_store_keep_late_turn(store, done);
        answer_verdict(store, *msg, SMA_MSG_DONE_DONE, done->seq, SMA_STEP_STOPPED);
        return;
    }
    sma_store_check_disk(store);
    if (sma_store_disk_level(store) >= 2 && done->delivery_count > 0) {
        answer_verdict(store, *msg, SMA_MSG_DONE_DONE, done->seq, SMA_STEP_NO_DISK);
        return;
    }
    SMA_METRIC_TIME(run_total, sma_ctx_now(store->ctx) - run->started_ns);
    uint64_t out_ns = done->stamps.model_out_ns;
    if (run->durable_ns != 0 && out_ns != 0) /* 0: the request was there before the commit */
        SMA_METRIC_TIME(durable_to_model, out_ns > run->durable_ns ? out_ns - run->durable_ns : 0);
    struct sma_msg *answer =
        make_answer(store, SMA_MSG_DONE_DONE, done->seq, 0, done->delivery_count);
    struct report report = {
        .seq = done->seq, .done = done, .answer = SMA_MSG_BODY(answer, struct sma_step_done)};
    carry_out(store, *msg, &report, &answer);
}
