/*
 * The open batch: one transaction, one fdatasync, then the lines, then the answers.
 *
 * Order after a commit: history lines to their files (page cache), then every held message in the
 * order it was made; a row's hand-off therefore stands before the answer that lets its run go on.
 */
#include "batch_priv.h"
#include "record.h"
#include "runs.h"
#include "store.h"
#include "trouble.h"

#include <stdlib.h>

/* -- memory ------------------------------------------------------------------------------------ */

/* -- held messages ----------------------------------------------------------------------------- */

bool sma_store_hands_out(const struct sma_store *store, unsigned kind, uint64_t number)
{
    for (uint32_t i = 0; i < store->batch->effect_count; i++) {
        const struct store_effect *effect = &store->batch->effects[i];
        if (effect->is_answer || effect->msg->kind != kind)
            continue;
        if ((kind == SMA_MSG_RUN
                 ? SMA_MSG_BODY(effect->msg, struct sma_run_order)->seq
                 : SMA_MSG_BODY(effect->msg, struct sma_deliver)->outbox_id) == number)
            return true;
    }
    return false;
}

void sma_store_send_deferred(struct sma_store *store)
{
    uint32_t done = 0;
    while (done < store->batch->deferred_count) {
        struct store_effect *effect = &store->batch->deferred[done];
        enum sma_err err = sma_ctx_send(store->ctx, effect->to, &effect->msg);
        if (err == SMA_ERR_FULL)
            break;
        sma_msg_destroyp(&effect->msg); /* NULL after OK */
        done++;
    }
    store->batch->deferred_count -= done;
    if (done > 0 && store->batch->deferred_count > 0)
        memmove(store->batch->deferred, store->batch->deferred + done,
                store->batch->deferred_count * sizeof *store->batch->deferred);
}

/* -- answers ----------------------------------------------------------------------------------- */
static void turn_into_refusal(struct sma_msg *msg)
{
    switch (msg->kind) {
    case SMA_MSG_ACCEPTED: {
        struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
        *accepted = (struct sma_accepted){
            .verdict = SMA_VERDICT_REFUSED,
            .retry_after_ms = STORE_RETRY_MS,
            .why = SMA_REASON_NOT_STORED,
            .reason = SMA_STR("the message could not be stored; please try again")};
        break;
    }
    case SMA_MSG_DECIDED:
        *SMA_MSG_BODY(msg, struct sma_decided) = (struct sma_decided){
            .status = 503, .text = SMA_STR("it could not be stored; please try again")};
        break;
    case SMA_MSG_STEP_DONE:
    case SMA_MSG_JUDGED_DONE:
    case SMA_MSG_DONE_DONE: {
        struct sma_step_done *done = SMA_MSG_BODY(msg, struct sma_step_done);
        done->verdict = SMA_STEP_NO_DISK;
        done->delivery_count = 0;
        break;
    }
    default:
        SMA_ASSERT(msg->kind == SMA_MSG_RECEIPT_DONE);
        SMA_MSG_BODY(msg, struct sma_receipt_done)->verdict = SMA_STEP_NO_DISK;
        break;
    }
}

static void log_not_stored(struct sma_store *store, const struct store_effect *effect)
{
    const struct sma_accepted *accepted = SMA_MSG_BODY(effect->msg, struct sma_accepted);
    sma_store_log_unanswered(store, effect->to,
                             &(struct sma_unanswered){.reason = SMA_REASON_NOT_STORED,
                                                      .chat_key = accepted->chat_key,
                                                      .user_id = accepted->user_id,
                                                      .message_id = accepted->message_id});
}

/* What else there was is gone already: see forget. */
static void refuse_effects(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->batch->effect_count; i++) {
        struct store_effect *effect = &store->batch->effects[i];
        if (effect->msg->kind == SMA_MSG_ACCEPTED) {
            SMA_METRIC_ADD(ingress_refused_total, 1);
            sma_store_count_refused(store, effect->to);
            log_not_stored(store, effect);
        }
        turn_into_refusal(effect->msg);
        sma_ctx_answer_to(store->ctx, effect->to, effect->ask_id, &effect->msg);
    }
    store->batch->effect_count = 0;
}

static void count_accepted(struct store_effect *effect, uint64_t now)
{
    struct sma_accepted *accepted = SMA_MSG_BODY(effect->msg, struct sma_accepted);
    accepted->durable_ns = now;
    switch (accepted->verdict) {
    case SMA_VERDICT_ACCEPTED:
        SMA_METRIC_ADD(ingress_accepted_total, 1);
        break;
    case SMA_VERDICT_DUPLICATE:
    case SMA_VERDICT_CONFLICT:
        SMA_METRIC_ADD(ingress_duplicate_total, 1);
        return;
    case SMA_VERDICT_IGNORED:
        SMA_METRIC_ADD(ingress_ignored_total, 1);
        break;
    case SMA_VERDICT_BUSY:
        SMA_METRIC_ADD(ingress_busy_total, 1);
        break;
    default:
        return;
    }
    if (effect->read_ns != 0 && now > effect->read_ns)
        SMA_METRIC_TIME(read_to_durable, now - effect->read_ns);
}

/* What waits for its turn is measured by nobody: that is no cost of ours. */
static void note_durable(struct sma_store *store, const struct sma_accepted *accepted)
{
    struct store_run *run =
        accepted->verdict == SMA_VERDICT_ACCEPTED ? sma_store_run_find(store, accepted->seq) : NULL;
    if (run != NULL)
        run->durable_ns = accepted->durable_ns;
}

/*
 * The commit is all that ACCEPTED promises, so it does not wait for the history files: adapters
 * work while those are written. What tells of results, and whatever may ask for the history,
 * follows after them.
 */
static void send_accepted(struct sma_store *store)
{
    uint64_t now = sma_ctx_sys(store->ctx)->now_ns(sma_ctx_sys(store->ctx)->self);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < store->batch->effect_count; i++) {
        struct store_effect *effect = &store->batch->effects[i];
        if (effect->is_answer && effect->msg->kind == SMA_MSG_ACCEPTED) {
            count_accepted(effect, now);
            note_durable(store, SMA_MSG_BODY(effect->msg, struct sma_accepted));
            sma_store_log_accepted(store, &(struct store_accepted_log){.answer = effect->msg,
                                                                       .to = effect->to,
                                                                       .read_ns = effect->read_ns,
                                                                       .now = now});
            sma_ctx_answer_to(store->ctx, effect->to, effect->ask_id, &effect->msg);
        } else {
            store->batch->effects[kept++] = *effect;
        }
    }
    store->batch->effect_count = kept;
}

static void send_effects(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->batch->effect_count; i++) {
        struct store_effect *effect = &store->batch->effects[i];
        if (effect->is_answer)
            sma_ctx_answer_to(store->ctx, effect->to, effect->ask_id, &effect->msg);
        else
            sma_store_send_now(store, effect->to, &effect->msg);
    }
    store->batch->effect_count = 0;
}

/* -- the transaction --------------------------------------------------------------------------- */
/* Only lines outlive a batch (the disk was full): those of committed ones are no more undone. */
static void note_begun(struct sma_store *store)
{
    store->batch->begun = (struct store_marks){.lines = sma_store_marks(store).lines};
}

enum sma_err sma_store_begin(struct sma_store *store)
{
    store->batch->is_urgent = true;
    return sma_store_begin_lazy(store);
}

enum sma_err sma_store_begin_lazy(struct sma_store *store)
{
    if (sma_state_is_in_transaction(store->state))
        return SMA_ERR_OK;
    note_begun(store);
    return sma_state_begin(store->state);
}

static void end_marks(struct sma_store *store)
{
    store->batch->has_step = store->batch->has_done = store->batch->has_receipt = false;
    store->batch->is_urgent = false;
    store->batch->done_count = store->batch->bad_count = 0;
    note_begun(store);
}

static void check_fatal(struct sma_store *store)
{
    if (sma_state_is_fatal(store->state))
        sma_ctx_fatal(store->ctx, "state.db: %s", sma_state_error(store->state)->text);
}

/* Everything of the batch is undone in state.db already. */
static void undo(struct sma_store *store, enum sma_err err)
{
    check_fatal(store);
    SMA_METRIC_ADD(store_commit_failures_total, 1);
    const struct sma_error *error = sma_state_error(store->state);
    const char *text = error->text[0] != '\0' ? error->text : sma_err_text(err);
    sma_store_note_error(store, text);
    sma_ctx_log(store->ctx, SMA_LOG_ERROR,
                "a transaction failed and was undone; what came with it is refused: %s", text);
    sma_store_forget_parts(store, &store->batch->begun);
    sma_store_drop_undone_chats(store);
    refuse_effects(store);
    end_marks(store);
    if (sma_store_load_parts(store) != SMA_ERR_OK) {
        check_fatal(store);
        sma_ctx_fatal(store->ctx, "what is open cannot be read again: %s",
                      sma_state_error(store->state)->text);
    }
    sma_store_follow_parts(store);
    /* The disk is looked at again before anything else is written, and waiting work is not tried at
     * once. */
    sma_store_look_at_disk(store);
    store->batch->retry_ns = sma_ctx_now(store->ctx) + STORE_RETRY_MS * UINT64_C(1000000);
}

void sma_store_fail_batch(struct sma_store *store, enum sma_err err)
{
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    undo(store, err);
}

/* What belongs into the transaction but is decided last. */
static enum sma_err complete(struct sma_store *store)
{
    enum sma_err err = store->batch->retry_ns == 0 ? sma_store_expire_parts(store) : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = sma_store_complete_parts(store);
    if (err == SMA_ERR_OK && sma_state_is_in_transaction(store->state) &&
        sma_state_is_expiry_due(store->state)) {
        uint32_t removed;
        err = sma_state_expire(store->state, SMA_BATCH_COUNT_MAX, &removed);
    }
    return err;
}

/* A transaction in which nothing changed is no commit. */
static void note_commit(struct sma_store *store)
{
    struct sma_state_counts counts;
    sma_state_counts(store->state, &counts);
    SMA_METRIC_ADD(store_syncs_total, counts.wal_syncs - store->batch->sync_count);
    SMA_METRIC_ADD(store_commits_total, counts.commits - store->batch->commit_count);
    SMA_METRIC_ADD(store_lazy_commits_total, counts.lazy_commits - store->batch->lazy_commit_count);
    if (counts.commits != store->batch->commit_count)
        store->batch->lazy_ns = 0; /* its sync was theirs, too */
    else if (counts.lazy_commits != store->batch->lazy_commit_count && store->batch->lazy_ns == 0)
        store->batch->lazy_ns = sma_ctx_now(store->ctx) | 1;
    store->batch->sync_count = counts.wal_syncs;
    store->batch->commit_count = counts.commits;
    store->batch->lazy_commit_count = counts.lazy_commits;
    SMA_METRIC_SET(chats, (int64_t)counts.chats);
}

static enum sma_err commit(struct sma_store *store)
{
    const struct sma_sys *sys = sma_ctx_sys(store->ctx);
    SMA_CRASH_POINT("store.before_commit");
    uint64_t begun = sys->now_ns(sys->self);
    SMA_TRY(store->batch->is_urgent ? sma_state_commit(store->state)
                                    : sma_state_commit_lazy(store->state));
    SMA_METRIC_TIME(store_commit, sys->now_ns(sys->self) - begun);
    note_commit(store);
    sma_store_count_commit(store);
    store->batch->answered_count += store->batch->done_count;
    store->batch->failed_count += store->batch->bad_count;
    if (store->batch->has_step || store->batch->has_done)
        sma_store_set_cautious(store, false);
    SMA_CRASH_POINT("store.after_commit");
    if (store->batch->has_step)
        SMA_CRASH_POINT("store.step_committed");
    if (store->batch->has_done)
        SMA_CRASH_POINT("store.done_committed");
    if (store->batch->has_receipt)
        SMA_CRASH_POINT("store.receipt_committed");
    return SMA_ERR_OK;
}

void sma_store_end_batch(struct sma_store *store)
{
    enum sma_err err = complete(store);
    if (err != SMA_ERR_OK) {
        sma_store_fail_batch(store, err);
        return;
    }
    bool is_written = sma_state_is_in_transaction(store->state);
    if (is_written) {
        err = commit(store);
        if (err != SMA_ERR_OK) {
            undo(store, err);
            return;
        }
        sma_store_settle_parts(store);
    }
    bool has_answers = store->batch->effect_count > 0;
    sma_store_publish_runs(store); /* whoever sees an effect of this batch sees its numbers */
    send_accepted(store);
    if (is_written) {
        sma_store_write_lines(store);
        SMA_CRASH_POINT("store.after_history");
    }
    end_marks(store);
    send_effects(store);
    sma_store_follow_parts(store);
    if (has_answers)
        SMA_CRASH_POINT("store.after_answer");
    sma_store_sweep_chats(store);
    sma_store_drop_old_troubles(store);
}

void sma_store_drop_answers(struct sma_store *store, uint32_t kept_count)
{
    struct store_batch *batch = store->batch;
    for (uint32_t i = kept_count; i < batch->effect_count; i++)
        sma_msg_destroyp(&batch->effects[i].msg);
    batch->effect_count = kept_count;
}

/* -- for the other parts ----------------------------------------------------------------------- */
void sma_store_mark(struct sma_store *store, enum store_mark mark)
{
    struct store_batch *batch = store->batch;
    batch->has_step = batch->has_step || mark == STORE_MARK_STEP;
    batch->has_done = batch->has_done || mark == STORE_MARK_DONE || mark == STORE_MARK_FAILED;
    batch->has_receipt = batch->has_receipt || mark == STORE_MARK_RECEIPT;
    batch->done_count += mark == STORE_MARK_DONE;
    batch->bad_count += mark == STORE_MARK_FAILED;
}

bool sma_store_is_retrying(const struct sma_store *store)
{
    return store->batch->retry_ns != 0;
}

bool sma_store_may_write(const struct sma_store *store)
{
    return !store->is_draining && sma_store_disk_level(store) < 2 && !sma_store_is_retrying(store);
}

uint32_t sma_store_deferred_count(const struct sma_store *store)
{
    return store->batch->deferred_count;
}

uint64_t sma_store_failed_count(const struct sma_store *store)
{
    return store->batch->failed_count;
}

uint64_t sma_store_answered_count(const struct sma_store *store)
{
    return store->batch->answered_count;
}

void sma_store_sync_lazy(struct sma_store *store, uint64_t now)
{
    struct store_batch *batch = store->batch;
    if (batch->lazy_ns == 0 || now < batch->lazy_ns + STORE_LAZY_NS)
        return;
    batch->lazy_ns = 0;
    if (sma_state_sync(store->state) != SMA_ERR_OK)
        sma_ctx_fatal(store->ctx, "state.db: %s", sma_state_error(store->state)->text);
}

/* -- the part ---------------------------------------------------------------------------------- */
static void mark(const struct sma_store *store, struct store_marks *marks)
{
    marks->effects = store->batch->effect_count;
    marks->finished = store->batch->finished_count;
}

/* Answers are turned into refusals by whoever undoes. */
static void forget(struct sma_store *store, const struct store_marks *to)
{
    struct store_batch *batch = store->batch;
    uint32_t kept = to->effects;
    for (uint32_t i = to->effects; i < batch->effect_count; i++) {
        if (batch->effects[i].is_answer)
            batch->effects[kept++] = batch->effects[i];
        else
            sma_msg_destroyp(&batch->effects[i].msg);
    }
    batch->effect_count = kept;
    batch->finished_count = to->finished;
}

static enum sma_err create(struct sma_store *store)
{
    store->batch = calloc(1, sizeof *store->batch);
    return store->batch != NULL ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static uint64_t wake(const struct sma_store *store)
{
    const struct store_batch *batch = store->batch;
    uint64_t at = batch->lazy_ns != 0 ? batch->lazy_ns + STORE_LAZY_NS : UINT64_MAX;
    if (batch->retry_ns != 0 && batch->retry_ns < at)
        at = batch->retry_ns;
    uint64_t soon = sma_ctx_now(store->ctx) + UINT64_C(1000000);
    return batch->deferred_count > 0 && soon < at ? soon : at;
}

static void fini(struct sma_store *store)
{
    struct store_batch *batch = store->batch;
    for (uint32_t i = 0; i < batch->effect_count; i++)
        sma_msg_destroyp(&batch->effects[i].msg);
    for (uint32_t i = 0; i < batch->deferred_count; i++)
        sma_msg_destroyp(&batch->deferred[i].msg);
    free(batch->effects);
    free(batch->deferred);
    free(batch->finished);
    sma_store_free_troubles(store);
    free(batch);
}

const struct store_part sma_store_batch_part = {
    .name = "batch", .create = create, .mark = mark, .forget = forget, .wake = wake, .fini = fini};
