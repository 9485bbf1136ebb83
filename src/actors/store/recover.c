/*
 * What start-up does before the first message: finish a rotation, replay the history lines that
 * were not known to be synced, import what an older program left, find the open runs and deliveries
 * again. Everything found damaged or repaired is noted and logged when the actor starts.
 */
#include "outbox.h"
#include "people.h"
#include "record_priv.h"
#include "runs.h"
#include "store.h"

#include "runtime/chat/state_asides.h"
#include "runtime/chat/state_budget.h"
#include "runtime/chat/state_model.h"

void sma_store_report(void *self, const struct sma_history_report *report)
{
    enum sma_log_level level =
        report->kind == SMA_HISTORY_TAIL_COMPLETED ? SMA_LOG_INFO : SMA_LOG_WARN;
    sma_store_boot_line(self, level, "history %s, byte %llu: %s", report->path,
                        (unsigned long long)report->offset, report->text);
}

static enum sma_err fail(struct sma_store *store, struct sma_error *error, enum sma_err err,
                         const char *what)
{
    const char *detail = sma_state_error(store->state)->text;
    return sma_fail(error, err, "%s: %s", what, detail[0] != '\0' ? detail : sma_err_text(err));
}

/* -- history ----------------------------------------------------------------------------------- */
struct recovery
{
    struct sma_store *store;
    struct sma_error *error;
    uint64_t lines, written, skipped, appended;
};

/* @return OK also when the chat is set aside: what is wrong with its files stops nobody else */
static SMA_CHECKED enum sma_err settle(struct sma_store *store, const struct sma_state_chat *chat,
                                       enum sma_err err, struct sma_error *error)
{
    if (err == SMA_ERR_OK || err == SMA_ERR_NOMEM || err == SMA_ERR_CORRUPT)
        return err;
    sma_store_set_aside(store, chat, err, error->text);
    *error = (struct sma_error){0};
    return SMA_ERR_OK;
}

static enum sma_err finish_rotation(void *user, struct sma_state_chat *chat)
{
    struct recovery *recovery = user;
    if (chat->rotation.len == 0 || sma_store_is_file_aside(recovery->store, chat->id))
        return SMA_ERR_OK;
    enum sma_err err = sma_store_finish_plan(recovery->store, chat, recovery->error);
    return settle(recovery->store, chat, err, recovery->error);
}

/* It is synced, like any other, by the first flush. */
static SMA_CHECKED enum sma_err mark_replayed(struct sma_store *store,
                                              struct sma_state_chat *state_chat)
{
    struct store_chat *chat = sma_store_chat(store, state_chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    sma_store_mark_dirty(store, chat);
    store->record->has_unflushed = true;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err replay_line(struct recovery *recovery,
                                            const struct sma_state_message *message)
{
    struct sma_store *store = recovery->store;
    enum sma_history_outcome outcome = SMA_HISTORY_WRITTEN;
    if (sma_store_is_file_aside(store, message->chat->id))
        return SMA_ERR_OK;
    if (message->history_offset == SMA_STATE_LINE_WAITS) {
        /* Set aside, and the end came before that was recorded. */
        sma_store_set_aside(store, message->chat, SMA_ERR_IO,
                            "it could not be used before the start");
        return SMA_ERR_OK;
    }
    recovery->lines++;
    enum sma_err err = sma_history_replay(
        store->history, message->chat->key, message->generation, message->chat->generation,
        (uint64_t)message->history_offset, message->line, &outcome, recovery->error);
    if (err == SMA_ERR_BADINPUT) {
        sma_store_report_damage(store, message->seq, message->chat->key);
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        return settle(store, message->chat, err, recovery->error);
    recovery->written += outcome == SMA_HISTORY_WRITTEN;
    recovery->skipped += outcome == SMA_HISTORY_SKIPPED;
    recovery->appended += outcome == SMA_HISTORY_APPENDED;
    return mark_replayed(store, message->chat);
}

static SMA_CHECKED enum sma_err replay_lines(struct recovery *recovery)
{
    struct sma_store *store = recovery->store;
    enum sma_err err = SMA_ERR_OK;
    for (uint64_t seq = sma_state_history_flushed(store->state); err == SMA_ERR_OK;) {
        SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
        struct sma_state_message message = {0};
        err = sma_state_unflushed_next(store->state, seq, &rows, &message);
        seq = message.seq;
        if (err == SMA_ERR_OK)
            err = replay_line(recovery, &message);
        else if (err == SMA_ERR_CORRUPT && message.seq != 0) {
            sma_store_report_damage(store, seq, SMA_STR(""));
            err = SMA_ERR_OK;
        }
    }
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err repair_history(struct sma_store *store, struct sma_error *error)
{
    struct recovery recovery = {.store = store, .error = error};
    enum sma_err err = sma_store_read_asides(store);
    if (err == SMA_ERR_OK)
        err = sma_state_each_rotating(store->state, finish_rotation, &recovery);
    if (err == SMA_ERR_OK)
        err = replay_lines(&recovery);
    if (err != SMA_ERR_OK)
        return error->text[0] != '\0' ? err : fail(store, error, err, "history cannot be replayed");
    if (recovery.written + recovery.appended > 0)
        sma_store_boot_line(store, SMA_LOG_INFO,
                            "history: %llu accepted lines had not reached their files and were "
                            "written, %llu stood there",
                            (unsigned long long)(recovery.written + recovery.appended),
                            (unsigned long long)recovery.skipped);
    return SMA_ERR_OK;
}

/* -- open work --------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err find_open_work(struct sma_store *store, struct sma_error *error)
{
    bool was_clean = sma_state_was_clean(store->state);
    sma_store_set_cautious(store, !was_clean);
    enum sma_err err = sma_store_load_parts(store);
    if (err != SMA_ERR_OK)
        return fail(store, error, err, "open messages cannot be read");
    uint32_t waiting = sma_queue_waiting(store->queue);
    if (!was_clean)
        sma_store_boot_line(store, SMA_LOG_WARN,
                            "the last run of the program did not end cleanly: %u messages wait, %u "
                            "of them were begun, "
                            "%u deliveries are open",
                            waiting, sma_store_run_counts(store).suspects,
                            sma_store_outbox_counts(store).open);
    else if (waiting + sma_store_outbox_counts(store).open > 0)
        sma_store_boot_line(store, SMA_LOG_INFO,
                            "%u messages wait and %u deliveries are open from before", waiting,
                            sma_store_outbox_counts(store).open);
    return SMA_ERR_OK;
}

/* A first commit of this run of the program. A crash before any other commit is then seen as
 * unclean too, so that an event that ends the program before it is stored does not start
 * speculatively each time it comes again. */
static SMA_CHECKED enum sma_err mark_started(struct sma_store *store, struct sma_error *error)
{
    char now[24];
    snprintf(now, sizeof now, "%lld", (long long)store->sys->wall_ms(store->sys->self));
    enum sma_err err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK)
        err = sma_state_meta_set(store->state, SMA_STR("store.started"), sma_str(now));
    if (err == SMA_ERR_OK)
        err = sma_state_waits_sweep(store->state);
    if (err == SMA_ERR_OK)
        err = sma_state_shares_sweep(store->state);
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    if (err == SMA_ERR_NOSPACE)
        return SMA_ERR_OK; /* the service starts and says that the disk is full */
    return err == SMA_ERR_OK ? err : fail(store, error, err, "state.db cannot be written");
}

enum sma_err sma_store_recover(struct sma_store *store, struct sma_error *error)
{
    struct sma_error ignored = {0};
    if (error == NULL)
        error = &ignored;
    error->text[0] = '\0';
    enum sma_err err = repair_history(store, error);
    if (err == SMA_ERR_OK)
        err = sma_store_import(store, error);
    if (err == SMA_ERR_OK)
        err = sma_store_import_people(store, error);
    if (err == SMA_ERR_OK)
        err = find_open_work(store, error);
    return err == SMA_ERR_OK ? mark_started(store, error) : err;
}
