/*
 * Between two batches: what nobody waits for, in slices. History files are synced (only then may a
 * restart skip their replay), long files rotated, the address book projected, the disk watched;
 * then the next wake-up is set, or none.
 */
#include "record_priv.h"
#include "store.h"

static uint64_t clock_ns(const struct sma_store *store)
{
    const struct sma_sys *sys = sma_ctx_sys(store->ctx);
    return sys->now_ns(sys->self);
}

/* -- disk -------------------------------------------------------------------------------------- */

/* -- flush ------------------------------------------------------------------------------------- */
static void end_by_sync(struct sma_store *store, const struct sma_error *error)
{
    sma_ctx_fatal(store->ctx, "history cannot be made durable: %s", error->text);
}

static bool is_flush_due(const struct sma_store *store, uint64_t now)
{
    const struct store_record *record = store->record;
    if (!record->has_unflushed)
        return false;
    return record->lines_since_flush >= STORE_FLUSH_LINE_COUNT ||
           record->bytes_since_flush >= STORE_FLUSH_BYTES ||
           now - record->last_line_ns >= STORE_FLUSH_IDLE_NS;
}

static void begin_flush(struct sma_store *store)
{
    struct store_record *record = store->record;
    record->flush = STORE_FLUSH_FILES;
    record->flush_first = record->dirty_first;
    record->dirty_first = NULL;
    record->flush_seq = sma_state_durable_seq(store->state);
    record->lines_since_flush = 0;
    record->bytes_since_flush = 0;
    record->flush_resume_ns = 0;
    sma_store_asides_begin_flush(store);
}

/* Hand the next file to the syncing thread. @return false: it has enough to do */
static bool hand_over_one(struct sma_store *store)
{
    struct store_record *record = store->record;
    struct store_chat *chat = record->flush_first;
    struct sma_error error = {0};
    enum sma_err err = sma_history_sync_begin(store->history, sma_store_chat_key(chat), &error);
    if (err == SMA_ERR_BUSY)
        return false;
    if (err == SMA_ERR_CORRUPT)
        end_by_sync(store, &error);
    if (err != SMA_ERR_OK)
        sma_store_set_aside(store, chat->state, err, error.text);
    record->flush_first = chat->dirty_next;
    chat->is_dirty = false;
    return true;
}

/* The files of the flush are with the thread: their names are to be durable, too. @return false:
 * later */
static bool hand_over_names(struct sma_store *store)
{
    struct store_record *record = store->record;
    struct sma_error error = {0};
    enum sma_err err = sma_history_sync_directory_begin(store->history, &error);
    if (err == SMA_ERR_CORRUPT)
        end_by_sync(store, &error);
    if (err != SMA_ERR_OK)
        return false;
    record->flush = STORE_FLUSH_WAIT;
    record->flush_ticket = sma_history_sync_ticket(store->history);
    record->planned_ready = record->planned_count;
    return true;
}

/* Their files have their names for good. What is not dropped now is with the next flush, or at the
 * next start. */
static void drop_plans(struct sma_store *store)
{
    struct store_record *record = store->record;
    if (record->planned_ready == 0)
        return;
    enum sma_err err = sma_state_begin(store->state);
    for (uint32_t i = 0; err == SMA_ERR_OK && i < record->planned_ready; i++) {
        struct sma_state_chat *chat = sma_state_chat_by_id(store->state, record->planned[i]);
        struct sma_history_plan plan;
        if (chat != NULL && sma_history_plan_parse(chat->rotation, &plan) == SMA_ERR_OK)
            err = sma_state_chat_set_rotation(store->state, chat, SMA_STR(""));
    }
    if (err == SMA_ERR_OK)
        err = sma_state_commit_lazy(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    if (err != SMA_ERR_OK)
        return;
    record->planned_count -= record->planned_ready;
    memmove(record->planned, record->planned + record->planned_ready,
            record->planned_count * sizeof *record->planned);
    record->planned_ready = 0;
}

/* What has to be recorded with the watermark could not be: the next flush tries again. */
static void retry_flush(struct sma_store *store)
{
    store->record->has_unflushed = true;
    store->record->last_line_ns = sma_ctx_now(store->ctx);
}

/* Everything of the flush is durable. Lines that came since it began are of the next one. */
static void end_flush(struct sma_store *store)
{
    struct store_record *record = store->record;
    record->flush = STORE_FLUSH_NONE;
    record->has_unflushed = record->dirty_first != NULL;
    if (sma_store_asides_end_flush(store))
        sma_state_set_history_flushed(store->state, record->flush_seq);
    else
        retry_flush(store);
    drop_plans(store);
}

/* @return true: the flush is over */
static bool look_at_flush(struct sma_store *store)
{
    struct sma_error error = {0};
    bool is_done = false;
    if (sma_history_sync_look(store->history, store->record->flush_ticket, &is_done, &error) !=
        SMA_ERR_OK)
        end_by_sync(store, &error);
    if (is_done)
        end_flush(store);
    return is_done;
}

static void flush_slice(struct sma_store *store, uint64_t slice_ns)
{
    struct store_record *record = store->record;
    uint64_t now = clock_ns(store);
    if (record->flush == STORE_FLUSH_NONE && !is_flush_due(store, now))
        return;
    if (record->flush == STORE_FLUSH_NONE)
        begin_flush(store);
    if (now < record->flush_resume_ns)
        return;
    bool is_free = true;
    while (is_free && record->flush_first != NULL && clock_ns(store) - now < slice_ns)
        is_free = hand_over_one(store);
    if (record->flush == STORE_FLUSH_FILES && record->flush_first == NULL)
        is_free = hand_over_names(store);
    if (record->flush == STORE_FLUSH_WAIT && look_at_flush(store))
        return;
    record->flush_resume_ns = clock_ns(store) + STORE_FLUSH_PAUSE_NS;
}

/* On this thread, and the syncing thread is waited for. */
static void sync_list(struct sma_store *store, struct store_chat **list)
{
    while (*list != NULL) {
        struct store_chat *chat = *list;
        struct sma_error error = {0};
        enum sma_err err = sma_history_sync(store->history, sma_store_chat_key(chat), &error);
        if (err == SMA_ERR_CORRUPT)
            end_by_sync(store, &error);
        if (err != SMA_ERR_OK)
            sma_store_set_aside(store, chat->state, err, error.text);
        *list = chat->dirty_next;
        chat->is_dirty = false;
    }
}

void sma_store_flush_all(struct sma_store *store)
{
    struct store_record *record = store->record;
    struct sma_error error = {0};
    sma_store_write_lines(store);
    sma_store_asides_begin_flush(store);
    sync_list(store, &record->flush_first);
    sync_list(store, &record->dirty_first);
    enum sma_err err = sma_history_sync_all(store->history, &error);
    if (err == SMA_ERR_CORRUPT)
        end_by_sync(store, &error);
    record->flush = STORE_FLUSH_NONE;
    if (err != SMA_ERR_OK) {
        retry_flush(store); /* the folder cannot be opened: the lines are above the watermark */
        return;
    }
    record->flush_seq = sma_state_durable_seq(store->state);
    record->planned_ready = record->planned_count;
    end_flush(store);
}

/* -- rotation ---------------------------------------------------------------------------------- */
/* The plan, and that places are in the next file from now on. */
static SMA_CHECKED enum sma_err record_plan(struct sma_store *store, struct store_chat *chat,
                                            const struct sma_history_plan *plan)
{
    sma_buf_clear(&store->scratch.load);
    sma_history_plan_format(&store->scratch.load, plan);
    enum sma_err err = store->scratch.load.err;
    if (err == SMA_ERR_OK)
        err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_generation(store->state, chat->state, chat->state->generation + 1);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_rotation(store->state, chat->state,
                                          sma_buf_str(&store->scratch.load));
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    return err;
}

static void rotate(struct sma_store *store, struct store_chat *chat)
{
    struct sma_history_plan plan;
    struct sma_error error = {0};
    enum sma_err err = sma_history_plan_rotation(store->history, sma_store_chat_key(chat),
                                                 chat->state->generation, &plan, &error);
    if (err == SMA_ERR_OK)
        err = record_plan(store, chat, &plan);
    if (err != SMA_ERR_OK)
        return; /* comes again with the chat's next line */
    SMA_CRASH_POINT("store.rotation_recorded");
    enum sma_history_rotation rotation = SMA_HISTORY_UNDONE;
    err = sma_history_rotate(store->history, &plan, &rotation, &error);
    if (err == SMA_ERR_CORRUPT)
        end_by_sync(store, &error);
    if (err !=
        SMA_ERR_OK) { /* the plan stays recorded: it is carried out when the files can be used */
        sma_store_set_aside(store, chat->state, err, error.text);
        return;
    }
    SMA_CRASH_POINT("store.rotation_renamed");
    sma_store_note_planned(store, chat->id);
    SMA_METRIC_ADD(store_rotations_total, 1);
}

/* One step for the first chat that may be due. @return false: it is dealt with */
static bool rotate_step(struct sma_store *store, struct store_chat *chat)
{
    struct sma_str key = sma_store_chat_key(chat);
    bool is_ready = false;
    if (chat->state->rotation.len > 0 || sma_store_is_file_aside(store, chat->id))
        /* the plan of the last one is not dropped yet: again with the chat's next line */
        return false;
    if (sma_history_needs_count(store->history, key))
        return sma_history_count_step(store->history, key, NULL) == SMA_ERR_OK;
    if (!sma_history_is_rotation_due(store->history, key) ||
        sma_history_rotation_step(store->history, &is_ready, NULL) != SMA_ERR_OK)
        return false;
    if (is_ready)
        rotate(store, chat);
    return !is_ready;
}

static void rotate_one(struct sma_store *store)
{
    struct store_chat *chat = store->record->rotate_first;
    if (chat == NULL || store->record->disk_level > 0 || rotate_step(store, chat))
        return;
    store->record->rotate_first = chat->rotate_next;
    chat->is_rotating = false;
    if (sma_state_is_fatal(store->state))
        sma_ctx_fatal(store->ctx, "state.db: %s", sma_state_error(store->state)->text);
}

/* -- the round --------------------------------------------------------------------------------- */
void sma_store_between(struct sma_store *store)
{
    SMA_ASSERT(!sma_state_is_in_transaction(store->state));
    uint64_t now = sma_ctx_now(store->ctx);
    sma_store_heal_slice(store, now);
    rotate_one(store);
    flush_slice(store, STORE_FLUSH_SLICE_NS);
}

static void earlier(uint64_t *wake, bool is_wanted, uint64_t when)
{
    if (is_wanted && when < *wake)
        *wake = when;
}

uint64_t sma_store_record_wake(const struct sma_store *store)
{
    const struct store_record *record = store->record;
    uint64_t wake = UINT64_MAX;
    earlier(&wake, record->rotate_first != NULL && record->disk_level == 0, 0);
    bool is_flushing = record->flush != STORE_FLUSH_NONE;
    earlier(&wake, is_flushing, record->flush_resume_ns);
    earlier(&wake, true, sma_store_asides_wake(store));
    earlier(&wake, record->has_unflushed && !is_flushing,
            record->last_line_ns + STORE_FLUSH_IDLE_NS);
    earlier(&wake, record->disk_level > 0, record->disk_checked_ns + STORE_DISK_PERIOD_NS);
    return wake;
}

/* -- for the other parts ----------------------------------------------------------------------- */

void sma_store_drop_rotation(struct sma_store *store, struct store_chat *chat)
{
    struct store_chat **link = &store->record->rotate_first;
    while (*link != NULL && *link != chat)
        link = &(*link)->rotate_next;
    if (*link == chat)
        *link = chat->rotate_next;
    chat->is_rotating = false;
}
