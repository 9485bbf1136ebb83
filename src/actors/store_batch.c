/*
 * The open batch: one transaction, one fdatasync, then the lines, then the answers.
 *
 * Order after a commit: history lines to their files (page cache), then every held message in the order it was made;
 * a row's hand-off therefore stands before the answer that lets its run go on.
 */
#include "store_model.h"
#include "store_seen.h"

#include <stdlib.h>

#define LINE_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* -- memory ----------------------------------------------------------------------------------------------------- */
bool sma_store_grow(void *array_pointer, uint32_t count, uint32_t *cap, size_t item_bytes)
{
    if (count < *cap)
        return true;
    uint32_t larger = *cap == 0 ? 64 : *cap * 2;
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    array = realloc(array, larger * item_bytes);
    if (array == NULL)
        return false;
    memcpy(array_pointer, &array, sizeof array);
    *cap = larger;
    return true;
}

static void need(struct sma_store *store, bool has_memory)
{
    if (!has_memory)
        sma_ctx_fatal(store->ctx, "the store is out of memory; what was accepted is on disk and "
                                  "continues after a restart");
}

struct sma_msg *sma_store_msg(struct sma_store *store, unsigned kind, size_t body_bytes,
                              size_t space)
{
    struct sma_msg *msg = sma_msg_create(kind, body_bytes, space);
    need(store, msg != NULL);
    return msg;
}

struct store_chat *sma_store_chat(struct sma_store *store, struct sma_state_chat *state_chat)
{
    if (state_chat->user != NULL)
        return state_chat->user;
    struct store_chat *chat = calloc(1, sizeof *chat + state_chat->key.len + 1);
    if (chat == NULL)
        return NULL;
    chat->state = state_chat;
    chat->id = state_chat->id;
    chat->key = (char *)(chat + 1);
    chat->key_len = (uint32_t)state_chat->key.len;
    memcpy(chat->key, state_chat->key.ptr, state_chat->key.len);
    chat->next = store->chats;
    if (store->chats != NULL)
        store->chats->prev = chat;
    store->chats = chat;
    store->chat_count++;
    state_chat->user = chat;
    return chat;
}

void sma_store_chat_free(struct sma_store *store, struct store_chat *chat)
{
    if (chat->prev != NULL)
        chat->prev->next = chat->next;
    else
        store->chats = chat->next;
    if (chat->next != NULL)
        chat->next->prev = chat->prev;
    store->chat_count--;
    if (chat->has_own_key)
        free(chat->key);
    free(chat);
}

static bool is_chat_idle(const struct sma_store *store, const struct store_chat *chat, uint64_t now)
{
    const uint64_t interval = SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000);
    return chat->run == NULL && chat->first == NULL && !chat->is_dirty &&
           !chat->is_credit_waiting && !chat->is_rotating && chat->line_count == 0 &&
           chat->held_count == 0 && chat->approval_count == 0 && chat->wait_count == 0 &&
           !sma_queue_is_busy(store->queue, chat->id) &&
           sma_queue_chat_waiting(store->queue, chat->id) == 0 &&
           now - chat->busy_notice_ns > interval && now - chat->full_notice_ns > interval &&
           now - chat->refusal_notice_ns > interval && now - chat->unclear_notice_ns > interval;
}

/* Between batches only: nothing points to an idle chat then. */
static void sweep_chats(struct sma_store *store)
{
    if (store->chat_count < store->chat_sweep_at)
        return;
    uint64_t now = sma_ctx_now(store->ctx);
    for (struct store_chat *chat = store->chats, *next; chat != NULL; chat = next) {
        next = chat->next;
        if (!is_chat_idle(store, chat, now))
            continue;
        chat->state->user = NULL;
        sma_store_chat_free(store, chat);
    }
    store->chat_sweep_at = store->chat_count * 2;
    if (store->chat_sweep_at < STORE_CHAT_KEPT_COUNT)
        store->chat_sweep_at = STORE_CHAT_KEPT_COUNT;
}

/* Chats that were created in an undone transaction exist no more; after the undo nothing of ours hangs on them. */
static void drop_undone_chats(struct sma_store *store)
{
    for (struct store_chat *chat = store->chats, *next; chat != NULL; chat = next) {
        next = chat->next;
        struct sma_state_chat *there = sma_state_chat_by_id(store->state, chat->id);
        if (there != NULL && there->user == chat &&
            sma_str_is_equal(there->key, sma_store_chat_key(chat))) {
            chat->state = there;
            continue;
        }
        SMA_ASSERT(chat->run == NULL && chat->first == NULL && chat->line_count == 0 &&
                   chat->held_count == 0 && chat->approval_count == 0 && chat->wait_count == 0);
        sma_store_chat_free(store, chat);
    }
}

/* -- held messages ---------------------------------------------------------------------------------------------- */
static void hold(struct sma_store *store, const struct store_effect *effect)
{
    need(store,
         sma_store_grow(&store->effects, store->effect_count, &store->effect_cap, sizeof *effect));
    store->effects[store->effect_count++] = *effect;
}

void sma_store_answer_later(struct sma_store *store, const struct sma_msg *question,
                            struct sma_msg **answer, uint64_t read_ns)
{
    hold(store, &(struct store_effect){.msg = *answer,
                                       .ask_id = question->ask_id,
                                       .read_ns = read_ns,
                                       .to = question->from,
                                       .is_answer = true});
    *answer = NULL;
}

void sma_store_send_later(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg)
{
    hold(store, &(struct store_effect){.msg = *msg, .to = (uint8_t)to});
    *msg = NULL;
}

void sma_store_send_now(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg)
{
    /* Once one had to wait, the others wait behind it: order is part of the promise. */
    if (store->deferred_count == 0) {
        enum sma_err err = sma_ctx_send(store->ctx, to, msg);
        if (err == SMA_ERR_OK)
            return;
        if (err != SMA_ERR_FULL) {
            sma_msg_destroyp(
                msg); /* the receiver has ended: the row is still open and runs after the next start */
            return;
        }
    }
    need(store, sma_store_grow(&store->deferred, store->deferred_count, &store->deferred_cap,
                               sizeof *store->deferred));
    store->deferred[store->deferred_count++] =
        (struct store_effect){.msg = *msg, .to = (uint8_t)to};
    *msg = NULL;
}

void sma_store_send_deferred(struct sma_store *store)
{
    uint32_t done = 0;
    while (done < store->deferred_count) {
        struct store_effect *effect = &store->deferred[done];
        enum sma_err err = sma_ctx_send(store->ctx, effect->to, &effect->msg);
        if (err == SMA_ERR_FULL)
            break;
        sma_msg_destroyp(&effect->msg); /* NULL after OK */
        done++;
    }
    store->deferred_count -= done;
    if (done > 0 && store->deferred_count > 0)
        memmove(store->deferred, store->deferred + done,
                store->deferred_count * sizeof *store->deferred);
}

void sma_store_note_finished(struct sma_store *store, uint64_t seq)
{
    need(store, sma_store_grow(&store->finished, store->finished_count, &store->finished_cap,
                               sizeof *store->finished));
    store->finished[store->finished_count++] = seq;
}

void sma_store_note_error(struct sma_store *store, const char *text)
{
    uint32_t place = store->error_count++ % STORE_ERROR_COUNT;
    snprintf(store->errors[place], sizeof store->errors[place], "%s", text);
    store->error_ms[place] = sma_ctx_wall(store->ctx);
}

/* -- history lines ---------------------------------------------------------------------------------------------- */
enum sma_err sma_store_place_line(struct sma_store *store, struct store_chat *chat,
                                  const struct sma_history_entry *entry, int64_t *ret_offset)
{
    sma_buf_clear(&store->line_buf);
    sma_history_format(&store->line_buf, entry);
    if (store->line_buf.err != SMA_ERR_OK)
        return store->line_buf.err;
    if (!sma_store_grow(&store->lines, store->line_count, &store->line_cap, sizeof *store->lines))
        return SMA_ERR_NOMEM;
    size_t start = store->line_bytes.len;
    sma_buf_put_str(&store->line_bytes, sma_buf_str(&store->line_buf));
    if (store->line_bytes.err != SMA_ERR_OK)
        return store->line_bytes.err;
    uint64_t offset;
    struct sma_error error = {0};
    enum sma_err err = sma_history_reserve(store->history, sma_store_chat_key(chat),
                                           store->line_buf.len, &offset, &error);
    if (err != SMA_ERR_OK) {
        store->has_no_place = true;
        store->line_bytes.len = start;
        sma_store_note_error(store, error.text);
        sma_ctx_log(store->ctx, SMA_LOG_ERROR, "nothing can be recorded in %s: %s", chat->key,
                    error.text);
        return err;
    }
    store->lines[store->line_count++] = (struct store_line){
        .chat = chat, .offset = offset, .start = start, .len = store->line_buf.len};
    chat->line_count++;
    *ret_offset = (int64_t)offset;
    return SMA_ERR_OK;
}

enum sma_err sma_store_add_line(struct sma_store *store, struct store_chat *chat,
                                const struct sma_history_entry *entry, uint64_t run_seq)
{
    int64_t offset;
    enum sma_err err = sma_store_place_line(store, chat, entry, &offset);
    if (err != SMA_ERR_OK)
        return err;
    uint64_t seq;
    return sma_state_accept(store->state,
                            &(struct sma_state_message){.chat = chat->state,
                                                        .state = SMA_ROW_LINE,
                                                        .run_seq = run_seq,
                                                        .generation = chat->state->generation,
                                                        .history_offset = offset,
                                                        .line = sma_buf_str(&store->line_buf)},
                            &seq);
}

static int compare_lines(const void *left, const void *right)
{
    const struct store_line *a = left, *b = right;
    if (a->chat->id != b->chat->id)
        return a->chat->id < b->chat->id ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* One write of lines [first, last) of one chat, which stand together. */
static enum sma_err write_run(struct sma_store *store, uint32_t first, uint32_t last)
{
    struct store_chat *chat = store->lines[first].chat;
    struct sma_str bytes = {store->line_bytes.ptr + store->lines[first].start,
                            store->lines[first].len};
    if (last - first > 1) {
        sma_buf_clear(&store->load_buf);
        for (uint32_t i = first; i < last; i++)
            sma_buf_put(&store->load_buf, store->line_bytes.ptr + store->lines[i].start,
                        store->lines[i].len);
        need(store, store->load_buf.err == SMA_ERR_OK);
        bytes = sma_buf_str(&store->load_buf);
    }
    enum sma_history_outcome outcome;
    struct sma_error error = {0};
    enum sma_err err = sma_history_write(store->history, sma_store_chat_key(chat),
                                         store->lines[first].offset, bytes, &outcome, &error);
    if (err == SMA_ERR_IO || err == SMA_ERR_NOMEM)
        sma_ctx_fatal(store->ctx, "history of %s cannot be written: %s", chat->key, error.text);
    if (err != SMA_ERR_OK)
        sma_store_note_error(store, error.text);
    return err;
}

/* Drop lines that were written; keep the others (disk full) for the next try. Their bytes stay where they are. */
static void keep_lines(struct sma_store *store, uint32_t kept)
{
    store->line_count = kept;
    store->is_history_stuck = kept > 0;
    sma_store_publish_disk(store);
    if (kept > 0)
        return;
    sma_buf_clear(&store->line_bytes);
    if (store->line_bytes.cap > STORE_BATCH_LINE_BYTES) {
        sma_buf_fini(&store->line_bytes);
        sma_buf_init(&store->line_bytes, LINE_BYTES_MAX);
    }
}

void sma_store_write_lines(struct sma_store *store)
{
    if (store->line_count == 0)
        return;
    /* Lines of one chat are already in order; sorting brings them together. */
    qsort(store->lines, store->line_count, sizeof *store->lines, compare_lines);
    uint32_t kept = 0, first = 0;
    while (first < store->line_count) {
        uint32_t last = first + 1;
        const struct store_line *line = &store->lines[first];
        while (last < store->line_count && store->lines[last].chat == line->chat &&
               store->lines[last].offset ==
                   store->lines[last - 1].offset + store->lines[last - 1].len)
            last++;
        struct store_chat *chat = line->chat;
        if (write_run(store, first, last) == SMA_ERR_OK) {
            chat->line_count -= last - first;
            store->lines_since_flush += last - first;
            sma_store_mark_dirty(store, chat);
        } else {
            memmove(&store->lines[kept], &store->lines[first],
                    (last - first) * sizeof *store->lines);
            kept += last - first;
        }
        first = last;
    }
    if (kept > 0 && !store->is_history_stuck)
        sma_ctx_log(
            store->ctx, SMA_LOG_ERROR,
            "the disk is full: %u history lines wait in state.db; free space and they are written",
            kept);
    keep_lines(store, kept);
    store->last_line_ns = sma_ctx_now(store->ctx);
    store->has_unflushed = true;
}

static void release_lines(struct sma_store *store)
{
    while (store->line_count > store->line_batch_first) {
        struct store_line *line = &store->lines[--store->line_count];
        sma_history_release(store->history, sma_store_chat_key(line->chat), line->offset);
        line->chat->line_count--;
        store->line_bytes.len = line->start;
    }
    store->line_bytes.err = SMA_ERR_OK;
}

/* -- answers ---------------------------------------------------------------------------------------------------- */
static void turn_into_refusal(struct sma_msg *msg)
{
    switch (msg->kind) {
    case SMA_MSG_ACCEPTED: {
        struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
        *accepted = (struct sma_accepted){
            .verdict = SMA_VERDICT_REFUSED,
            .retry_after_ms = STORE_RETRY_MS,
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

static void refuse_effects(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->effect_count; i++) {
        struct store_effect *effect = &store->effects[i];
        if (!effect->is_answer) {
            sma_msg_destroyp(&effect->msg);
            continue;
        }
        if (effect->msg->kind == SMA_MSG_ACCEPTED) {
            SMA_METRIC_ADD(ingress_refused_total, 1);
            sma_store_count_refused(store, effect->to);
        }
        turn_into_refusal(effect->msg);
        sma_ctx_answer_to(store->ctx, effect->to, effect->ask_id, &effect->msg);
    }
    store->effect_count = 0;
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

/*
 * The commit is all that ACCEPTED promises, so it does not wait for the history files: adapters work while those are
 * written. What tells of results, and whatever may ask for the history, follows after them.
 */
static void send_accepted(struct sma_store *store)
{
    uint64_t now = sma_ctx_sys(store->ctx)->now_ns(sma_ctx_sys(store->ctx)->self);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < store->effect_count; i++) {
        struct store_effect *effect = &store->effects[i];
        if (effect->is_answer && effect->msg->kind == SMA_MSG_ACCEPTED) {
            count_accepted(effect, now);
            sma_store_log_accepted(store, effect, now);
            sma_ctx_answer_to(store->ctx, effect->to, effect->ask_id, &effect->msg);
        } else {
            store->effects[kept++] = *effect;
        }
    }
    store->effect_count = kept;
}

static void send_effects(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->effect_count; i++) {
        struct store_effect *effect = &store->effects[i];
        if (effect->is_answer)
            sma_ctx_answer_to(store->ctx, effect->to, effect->ask_id, &effect->msg);
        else
            sma_store_send_now(store, effect->to, &effect->msg);
    }
    store->effect_count = 0;
    for (uint32_t i = 0; i < store->finished_count; i++)
        sma_store_answer_waiters(store, store->finished[i]);
    store->finished_count = 0;
}

/* -- the transaction -------------------------------------------------------------------------------------------- */
enum sma_err sma_store_begin(struct sma_store *store)
{
    store->is_urgent = true;
    return sma_store_begin_lazy(store);
}

enum sma_err sma_store_begin_lazy(struct sma_store *store)
{
    if (sma_state_is_in_transaction(store->state))
        return SMA_ERR_OK;
    store->line_batch_first = store->line_count;
    return sma_state_begin(store->state);
}

static void end_marks(struct sma_store *store)
{
    store->has_step = store->has_done = store->has_receipt = false;
    store->is_urgent = false;
    store->done_count = 0;
    store->line_batch_first = store->line_count;
    store->touched_count = 0;
    sma_store_drop_busy(store);
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
    release_lines(store);
    sma_store_settle_rows(store, true);
    sma_store_settle_runs(store, true);
    store->finished_count = 0;
    refuse_effects(store);
    end_marks(store);
    sma_store_reset_holds(store);
    sma_store_reset_approvals(store);
    sma_store_reset_waits(store);
    drop_undone_chats(store);
    sma_store_answer_asked(store);
    if (sma_store_load_queue(store) != SMA_ERR_OK) {
        check_fatal(store);
        sma_ctx_fatal(store->ctx, "the waiting messages cannot be read again: %s",
                      sma_state_error(store->state)->text);
    }
    if (store->has_no_place) {
        store->has_no_place = false;
        return; /* nobody else has to wait for that */
    }
    /* The disk is looked at again before anything else is written, and waiting work is not tried at once. */
    store->disk_checked_ns = 0;
    store->retry_ns = sma_ctx_now(store->ctx) + STORE_RETRY_MS * UINT64_C(1000000);
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
    enum sma_err err = SMA_ERR_OK;
    sma_store_expire_groups(store);
    if (store->retry_ns == 0) {
        err = sma_store_expire_questions(store);
        if (err == SMA_ERR_OK)
            err = sma_store_expire_approvals(store);
        if (err == SMA_ERR_OK)
            err = sma_store_expire_waits(store);
        sma_store_expire_held_rows(store);
        if (err == SMA_ERR_OK)
            err = sma_store_pump_outbox(store);
        if (err == SMA_ERR_OK)
            err = sma_store_pump_runs(store);
    }
    if (err == SMA_ERR_OK)
        err = sma_store_busy_notices(store);
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
    SMA_METRIC_ADD(store_syncs_total, counts.wal_syncs - store->sync_count);
    SMA_METRIC_ADD(store_commits_total, counts.commits - store->commit_count);
    SMA_METRIC_ADD(store_lazy_commits_total, counts.lazy_commits - store->lazy_commit_count);
    if (counts.commits != store->commit_count)
        store->lazy_ns = 0; /* its sync was theirs, too */
    else if (counts.lazy_commits != store->lazy_commit_count && store->lazy_ns == 0)
        store->lazy_ns = sma_ctx_now(store->ctx) | 1;
    store->sync_count = counts.wal_syncs;
    store->commit_count = counts.commits;
    store->lazy_commit_count = counts.lazy_commits;
    SMA_METRIC_SET(chats, (int64_t)counts.chats);
}

static enum sma_err commit(struct sma_store *store)
{
    const struct sma_sys *sys = sma_ctx_sys(store->ctx);
    SMA_CRASH_POINT("store.before_commit");
    uint64_t begun = sys->now_ns(sys->self);
    enum sma_err err =
        store->is_urgent ? sma_state_commit(store->state) : sma_state_commit_lazy(store->state);
    if (err != SMA_ERR_OK)
        return err;
    SMA_METRIC_TIME(store_commit, sys->now_ns(sys->self) - begun);
    note_commit(store);
    store->disk_commits++;
    store->answered_count += store->done_count;
    if (store->has_step || store->has_done)
        store->is_cautious = false;
    SMA_CRASH_POINT("store.after_commit");
    if (store->has_step)
        SMA_CRASH_POINT("store.step_committed");
    if (store->has_done)
        SMA_CRASH_POINT("store.done_committed");
    if (store->has_receipt)
        SMA_CRASH_POINT("store.receipt_committed");
    return SMA_ERR_OK;
}

void sma_store_end_batch(struct sma_store *store)
{
    enum sma_err err = complete(store);
    if (err != SMA_ERR_OK) {
        store->has_no_place = false; /* what was begun here would be tried with every batch */
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
        sma_store_settle_rows(store, false);
        sma_store_settle_runs(store, false);
        sma_store_settle_approvals(store);
    }
    bool has_answers = store->effect_count > 0;
    sma_store_publish_runs(store); /* whoever sees an effect of this batch sees its numbers */
    send_accepted(store);
    if (is_written) {
        sma_store_write_lines(store);
        SMA_CRASH_POINT("store.after_history");
    }
    end_marks(store);
    send_effects(store);
    sma_store_answer_asked(store);
    sma_store_ask_questions(store);
    sma_store_send_judgements(store);
    sma_store_flush_audit(store);
    sma_store_project(store);
    if (has_answers)
        SMA_CRASH_POINT("store.after_answer");
    sweep_chats(store);
}
