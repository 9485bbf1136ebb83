/*
 * Chats that are set aside: what is wrong with one chat's history files is the trouble of that chat
 * alone, and not even of its answers. Its lines wait in state.db; the file is tried again with
 * growing pauses, by itself.
 */
#include "intake.h"
#include "record.h"
#include "record_priv.h"
#include "store.h"
#include "trouble.h"

#include "runtime/chat/state_asides.h"

#include <stdlib.h>

#define SLICE_NS UINT64_C(2000000)

static uint64_t clock_ns(const struct sma_store *store)
{
    const struct sma_sys *sys = sma_ctx_sys(store->ctx);
    return sys->now_ns(sys->self);
}

/* -- which there are --------------------------------------------------------------------------- */
struct store_file_aside *sma_store_aside(const struct sma_store *store, uint32_t chat_id)
{
    return store->record->aside_count == 0 ? NULL
                                           : sma_store_map_get(&store->record->aside_map, chat_id);
}

bool sma_store_is_placeless(const struct sma_store *store, uint32_t chat_id)
{
    const struct store_file_aside *aside = sma_store_aside(store, chat_id);
    return aside != NULL && aside->state != STORE_ASIDE_SYNCS;
}

const char *sma_store_aside_reason(const struct sma_store *store, uint32_t chat_id)
{
    return sma_store_is_placeless(store, chat_id) ? sma_store_aside(store, chat_id)->reason : NULL;
}

bool sma_store_is_file_aside(const struct sma_store *store, uint32_t chat_id)
{
    return sma_store_aside(store, chat_id) != NULL;
}

bool sma_store_is_history_stuck(const struct sma_store *store)
{
    for (const struct store_file_aside *aside = store->record->asides; aside != NULL;
         aside = aside->next) {
        if (aside->is_disk && aside->state != STORE_ASIDE_SYNCS)
            return true;
    }
    return false;
}

static struct store_file_aside *add(struct sma_store *store, const struct sma_state_chat *chat,
                                    uint64_t from_seq)
{
    struct store_record *record = store->record;
    struct store_file_aside *aside = calloc(1, sizeof *aside + chat->key.len + 1);
    if (aside == NULL || !sma_store_map_put(&record->aside_map, chat->id, aside)) {
        free(aside);
        return NULL;
    }
    memcpy(aside->key, chat->key.ptr, chat->key.len);
    aside->chat_id = chat->id;
    aside->from_seq = from_seq;
    aside->next = record->asides;
    record->asides = aside;
    record->aside_count++;
    return aside;
}

static void drop(struct sma_store *store, struct store_file_aside *aside)
{
    struct store_record *record = store->record;
    struct store_file_aside **link = &record->asides;
    while (*link != aside)
        link = &(*link)->next;
    *link = aside->next;
    if (record->try_at == aside)
        record->try_at = aside->next;
    sma_store_map_remove(&record->aside_map, aside->chat_id);
    record->aside_count--;
    free(aside);
}

void sma_store_free_asides(struct sma_store *store)
{
    while (store->record->asides != NULL)
        drop(store, store->record->asides);
    sma_store_map_fini(&store->record->aside_map);
}

/* The trouble of this chat has a name and a remedy until it is healed; that of the disk is told as
 * such. */
static void tell(struct sma_store *store, const struct store_file_aside *aside)
{
    char what[400];
    if (aside->is_disk) {
        sma_store_boot_line(store, SMA_LOG_ERROR,
                            "the disk is full: history lines of %s wait in state.db; free space "
                            "and they are written",
                            aside->key);
        return;
    }
    snprintf(what, sizeof what, "the history file of %.120s cannot be used: %s", aside->key,
             aside->reason);
    sma_store_trouble(
        store,
        &(struct store_trouble){
            .name = "history",
            .chat_key = sma_str(aside->key),
            .what = what,
            .remedy = "make it a file that this program may read and write, or take it away; "
                      "the chat is answered meanwhile, its lines wait in state.db and are "
                      "written by themselves"});
}

void sma_store_set_aside(struct sma_store *store, const struct sma_state_chat *chat,
                         enum sma_err err, const char *reason)
{
    struct store_file_aside *aside = sma_store_aside(store, chat->id);
    bool is_new = aside == NULL || aside->state == STORE_ASIDE_SYNCS;
    if (aside == NULL)
        aside = add(store, chat, sma_state_history_flushed(store->state));
    if (aside == NULL) {
        if (store->ctx != NULL)
            sma_store_need(store, false);
        store->record->has_lost_aside = true; /* the next start replays, the watermark stays */
        return;
    }
    bool is_other = aside->is_disk != (err == SMA_ERR_NOSPACE);
    aside->is_disk = err == SMA_ERR_NOSPACE;
    aside->tries = is_new ? 0 : aside->tries + 1;
    aside->state = STORE_ASIDE_WAITS;
    aside->is_in_flush = false;
    uint64_t pause = STORE_ASIDE_PAUSE_NS;
    for (uint32_t i = 0; i < aside->tries && !aside->is_disk && pause < STORE_ASIDE_PAUSE_MAX_NS;
         i++)
        pause *= 2;
    if (pause > STORE_ASIDE_PAUSE_MAX_NS)
        pause = STORE_ASIDE_PAUSE_MAX_NS;
    aside->next_ns =
        store->ctx == NULL || err == SMA_ERR_GONE ? 0 : sma_ctx_now(store->ctx) + pause;
    if (aside->next_ns < store->record->aside_due_ns)
        store->record->aside_due_ns = aside->next_ns;
    snprintf(aside->reason, sizeof aside->reason, "%s", reason);
    sma_history_abandon(store->history, chat->key);
    if (err != SMA_ERR_GONE && (is_new || is_other || !aside->is_disk))
        tell(store, aside);
    if (store->ctx != NULL && (is_new || is_other))
        sma_store_publish_disk(store);
}

enum sma_err sma_store_read_asides(struct sma_store *store)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_asides list = {NULL, 0};
    enum sma_err err = sma_state_asides_read(store->state, &rows, &list);
    for (size_t i = 0; err == SMA_ERR_OK && i < list.count; i++) {
        const struct sma_state_chat *chat =
            sma_state_chat_by_id(store->state, list.items[i].chat_id);
        if (chat == NULL)
            continue;
        struct store_file_aside *aside = add(store, chat, list.items[i].from_seq);
        if (aside == NULL)
            return SMA_ERR_NOMEM;
        aside->is_recorded = true;
        snprintf(aside->reason, sizeof aside->reason, "it could not be used before the start");
    }
    return err;
}

void sma_store_check_asides(struct sma_store *store)
{
    for (struct store_file_aside *aside = store->record->asides, *next; aside != NULL;
         aside = next) {
        next = aside->next;
        const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, aside->chat_id);
        if (!aside->is_recorded &&
            (chat == NULL || !sma_str_is_equal(chat->key, sma_str(aside->key))))
            drop(store, aside);
    }
}

/* -- recorded plans ---------------------------------------------------------------------------- */
void sma_store_note_planned(struct sma_store *store, uint32_t chat_id)
{
    struct store_record *record = store->record;
    if (!sma_store_grow(&record->planned, record->planned_count, &record->planned_cap,
                        sizeof *record->planned))
        return; /* the plan is carried out again at the next start, which changes nothing */
    record->planned[record->planned_count++] = chat_id;
    record->has_unflushed = true;
}

static SMA_CHECKED enum sma_err record_halves(struct sma_store *store, struct sma_state_chat *chat,
                                              bool is_done)
{
    enum sma_err err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK)
        err = is_done ? sma_state_chat_set_generation(store->state, chat, chat->generation + 1)
                      : sma_state_chat_set_rotation(store->state, chat, SMA_STR(""));
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    return err;
}

enum sma_err sma_store_finish_plan(struct sma_store *store, struct sma_state_chat *chat,
                                   struct sma_error *error)
{
    enum sma_err err = sma_store_finish_move(store, chat, error);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    struct sma_history_plan plan = {.split_offset = 1};
    enum sma_history_rotation rotation = SMA_HISTORY_UNDONE;
    err = sma_history_plan_parse(chat->rotation, &plan);
    if (err == SMA_ERR_BADINPUT)
        sma_store_boot_line(store, SMA_LOG_ERROR,
                            "the recorded rotation of %s cannot be read and is dropped",
                            chat->key.ptr);
    else if (err == SMA_ERR_OK)
        err = sma_history_rotate(store->history, &plan, &rotation, error);
    if (err != SMA_ERR_OK && err != SMA_ERR_BADINPUT)
        return err;
    bool is_done = rotation == SMA_HISTORY_ROTATED;
    sma_store_boot_line(store, SMA_LOG_INFO, "the interrupted rotation of %s was %s", chat->key.ptr,
                        is_done ? "finished" : "undone");
    if (is_done && !sma_history_plan_is_of_halves(&plan)) {
        sma_store_note_planned(store, chat->id); /* the next generation is recorded with the plan */
        return SMA_ERR_OK;
    }
    return record_halves(store, chat, is_done);
}

/* -- trying again ------------------------------------------------------------------------------ */
static void fail_on_sync(struct sma_store *store, enum sma_err err, const struct sma_error *error)
{
    if (err == SMA_ERR_CORRUPT)
        sma_ctx_fatal(store->ctx, "history cannot be made durable: %s", error->text);
}

/* Can its file be used? */
static void try_again(struct sma_store *store, struct store_file_aside *aside)
{
    struct sma_state_chat *chat = sma_state_chat_by_id(store->state, aside->chat_id);
    struct sma_error error = {0};
    uint64_t offset;
    enum sma_err err = SMA_ERR_OK;
    if (chat == NULL) {
        aside->state = STORE_ASIDE_SYNCS; /* nothing of it is left */
        return;
    }
    struct sma_history_plan plan;
    bool is_planned = chat->rotation.len > 0;
    bool is_rotated = is_planned && sma_history_plan_parse(chat->rotation, &plan) == SMA_ERR_OK &&
                      !sma_history_plan_is_of_halves(&plan);
    for (uint32_t i = 0; is_rotated && i < store->record->planned_count; i++)
        is_planned = is_planned && store->record->planned[i] != chat->id; /* waits to be dropped */
    if (is_planned)
        err = sma_store_finish_plan(store, chat, &error);
    if (err == SMA_ERR_OK)
        err = sma_history_reserve(store->history, chat->key, 0, &offset, &error);
    fail_on_sync(store, err, &error);
    if (err != SMA_ERR_OK) {
        sma_store_set_aside(store, chat, err, error.text);
        return;
    }
    aside->state = STORE_ASIDE_HEALS;
}

static void earliest(uint64_t *time, uint64_t other)
{
    if (other < *time)
        *time = other;
}

/* A round over all of them, so many files at a time; when it is over, those that can be used heal
 * together. */
static void try_some(struct sma_store *store, uint64_t now)
{
    struct store_record *record = store->record;
    uint32_t tried = 0;
    if (!record->is_trying) {
        if (now < record->aside_due_ns)
            return;
        record->is_trying = true;
        record->try_at = record->asides;
        record->heal_seq = record->aside_due_ns = UINT64_MAX;
    }
    while (record->try_at != NULL && tried < STORE_ASIDE_TRY_COUNT) {
        struct store_file_aside *aside = record->try_at;
        record->try_at = aside->next;
        if (aside->state == STORE_ASIDE_WAITS && aside->next_ns <= now) {
            tried++;
            try_again(store, aside);
        }
        if (aside->state == STORE_ASIDE_HEALS)
            earliest(&record->heal_seq, aside->from_seq);
        if (aside->state == STORE_ASIDE_WAITS)
            earliest(&record->aside_due_ns, aside->next_ns);
    }
    record->is_trying = record->try_at != NULL;
    record->is_healing = !record->is_trying && record->heal_seq != UINT64_MAX;
}

/* A line that has a place. */
static void replay(struct sma_store *store, const struct sma_state_message *message)
{
    struct sma_error error = {0};
    enum sma_history_outcome outcome;
    enum sma_err err = sma_history_replay(
        store->history, message->chat->key, message->generation, message->chat->generation,
        (uint64_t)message->history_offset, message->line, &outcome, &error);
    fail_on_sync(store, err, &error);
    if (err == SMA_ERR_BADINPUT)
        sma_store_report_damage(store, message->seq, message->chat->key);
    else if (err != SMA_ERR_OK)
        sma_store_set_aside(store, message->chat, err, error.text);
}

/* A line that waited gets its place, in the open transaction; it is written after its commit. */
static SMA_CHECKED enum sma_err place(struct sma_store *store,
                                      const struct sma_state_message *message)
{
    struct store_chat *chat = sma_store_chat(store, message->chat);
    struct sma_error error = {0};
    uint64_t offset;
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    if (!sma_history_is_line(message->line)) {
        sma_store_report_damage(store, message->seq, message->chat->key);
        return SMA_ERR_OK;
    }
    enum sma_err err =
        sma_history_reserve(store->history, message->chat->key, message->line.len, &offset, &error);
    fail_on_sync(store, err, &error);
    if (err != SMA_ERR_OK) {
        sma_store_set_aside(store, message->chat, err, error.text);
        return SMA_ERR_OK;
    }
    err = sma_store_push_line(store, chat, offset, message->line);
    if (err == SMA_ERR_OK)
        err = sma_state_line_place(store->state, message->seq, message->chat->generation, offset);
    return err;
}

/* The next row whose chat heals. NOTFOUND: that was all. EMPTY: the slice is over. */
static SMA_CHECKED enum sma_err next_line(struct sma_store *store, uint64_t until_ns,
                                          struct sma_state_rows *rows,
                                          struct sma_state_message *ret_message)
{
    struct store_record *record = store->record;
    for (;;) {
        enum sma_err err =
            sma_state_unflushed_next(store->state, record->heal_seq, rows, ret_message);
        if (err == SMA_ERR_OK || err == SMA_ERR_CORRUPT)
            record->heal_seq = ret_message->seq;
        if (err != SMA_ERR_OK && err != SMA_ERR_CORRUPT)
            return err;
        const struct store_file_aside *aside =
            err == SMA_ERR_OK ? sma_store_aside(store, ret_message->chat->id) : NULL;
        if (aside != NULL && aside->state == STORE_ASIDE_HEALS &&
            ret_message->seq > aside->from_seq)
            return SMA_ERR_OK;
        sma_state_rows_free(rows);
        if (clock_ns(store) >= until_ns)
            return SMA_ERR_EMPTY;
    }
}

/* Everything is written: with the next flush it is over. */
static void end_healing(struct sma_store *store)
{
    struct store_record *record = store->record;
    record->is_healing = false;
    for (struct store_file_aside *aside = record->asides; aside != NULL; aside = aside->next) {
        if (aside->state != STORE_ASIDE_HEALS)
            continue;
        aside->state = STORE_ASIDE_SYNCS;
        aside->is_in_flush = false;
        struct store_chat *chat =
            sma_store_chat(store, sma_state_chat_by_id(store->state, aside->chat_id));
        sma_store_need(store, chat != NULL);
        sma_store_mark_dirty(store, chat);
        record->has_unflushed = true;
        sma_store_healed(store, "history", sma_str(aside->key));
    }
    sma_store_publish_disk(store);
}

/* The transaction of a slice ends: places are committed, then the lines are written to them. */
static void commit_places(struct sma_store *store, enum sma_err err, uint64_t begun_seq)
{
    if (!sma_state_is_in_transaction(store->state))
        return;
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    else
        sma_state_rollback(store->state);
    if (err == SMA_ERR_OK) {
        sma_store_write_lines(store);
        return;
    }
    if (sma_state_is_fatal(store->state))
        sma_ctx_fatal(store->ctx, "state.db: %s", sma_state_error(store->state)->text);
    sma_store_forget_lines(store, 0);
    store->record->heal_seq = begun_seq;
    for (struct store_file_aside *aside = store->record->asides; aside != NULL;
         aside = aside->next) {
        if (aside->state == STORE_ASIDE_HEALS)
            sma_store_set_aside(store, sma_state_chat_by_id(store->state, aside->chat_id), err,
                                sma_state_error(store->state)->text);
    }
    store->record->is_healing = false;
}

void sma_store_heal_slice(struct sma_store *store, uint64_t now)
{
    struct store_record *record = store->record;
    if (record->aside_count == 0)
        return;
    if (!record->is_healing)
        try_some(store, now);
    if (!record->is_healing)
        return;
    uint64_t until_ns = clock_ns(store) + SLICE_NS, begun_seq = record->heal_seq;
    enum sma_err err = SMA_ERR_OK;
    uint32_t placed = 0;
    while (err == SMA_ERR_OK && placed < STORE_HEAL_BATCH_COUNT &&
           sma_store_line_bytes(store) < STORE_HEAL_BATCH_BYTES && clock_ns(store) < until_ns) {
        SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
        struct sma_state_message message;
        err = next_line(store, until_ns, &rows, &message);
        if (err != SMA_ERR_OK)
            break;
        if (message.history_offset != SMA_STATE_LINE_WAITS) {
            replay(store, &message);
            continue;
        }
        if (placed++ == 0)
            err = sma_state_begin(store->state);
        if (err == SMA_ERR_OK)
            err = place(store, &message);
    }
    bool is_end = err == SMA_ERR_NOTFOUND;
    commit_places(store, is_end || err == SMA_ERR_EMPTY ? SMA_ERR_OK : err, begun_seq);
    if (is_end && record->is_healing)
        end_healing(store);
}

uint64_t sma_store_asides_wake(const struct sma_store *store)
{
    const struct store_record *record = store->record;
    if (record->is_healing || record->is_trying)
        return 0;
    return record->aside_count > 0 ? record->aside_due_ns : UINT64_MAX;
}

/* -- with the flush ---------------------------------------------------------------------------- */
void sma_store_asides_begin_flush(struct sma_store *store)
{
    uint32_t count = 0; /* what is over leaves in one commit: not too many of them */
    for (struct store_file_aside *aside = store->record->asides; aside != NULL; aside = aside->next)
        aside->is_in_flush = aside->state == STORE_ASIDE_SYNCS && count++ < STORE_ASIDE_END_COUNT;
}

static bool is_over(const struct store_file_aside *aside)
{
    return aside->state == STORE_ASIDE_SYNCS && aside->is_in_flush;
}

bool sma_store_asides_end_flush(struct sma_store *store)
{
    if (store->record->has_lost_aside)
        return false;
    if (store->record->aside_count == 0)
        return true;
    enum sma_err err = sma_state_begin(store->state);
    for (struct store_file_aside *aside = store->record->asides; err == SMA_ERR_OK && aside != NULL;
         aside = aside->next) {
        if (is_over(aside) && aside->is_recorded)
            err = sma_state_aside_drop(store->state, aside->chat_id);
        else if (!is_over(aside) && !aside->is_recorded)
            err = sma_state_aside_set(store->state,
                                      (struct sma_state_aside){aside->chat_id, aside->from_seq});
    }
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    if (sma_state_is_in_transaction(store->state))
        sma_state_rollback(store->state);
    if (sma_state_is_fatal(store->state))
        sma_ctx_fatal(store->ctx, "state.db: %s", sma_state_error(store->state)->text);
    if (err != SMA_ERR_OK)
        return false;
    for (struct store_file_aside *aside = store->record->asides, *next; aside != NULL;
         aside = next) {
        next = aside->next;
        aside->is_recorded = true;
        if (is_over(aside))
            drop(store, aside);
        else if (aside->state == STORE_ASIDE_SYNCS)
            store->record->has_unflushed = true; /* with the next one */
    }
    sma_store_publish_disk(store);
    return true;
}

enum sma_err sma_store_drop_plan(struct sma_store *store, struct sma_state_chat *chat)
{
    enum sma_err err = sma_state_begin(store->state);
    if (err != SMA_ERR_OK)
        return err;
    err = sma_state_chat_set_rotation(store->state, chat, SMA_STR(""));
    if (err == SMA_ERR_OK)
        return sma_state_commit(store->state);
    sma_state_rollback(store->state);
    return err;
}

enum sma_err sma_store_finish_move(struct sma_store *store, struct sma_state_chat *chat,
                                   struct sma_error *error)
{
    struct sma_history_move move;
    if (sma_history_move_parse(chat->rotation, &move) != SMA_ERR_OK)
        return SMA_ERR_NOTFOUND;
    SMA_TRY(sma_history_move(store->history, &move, error));
    sma_store_boot_line(store, SMA_LOG_INFO, "the history of %s was given its new name, %s",
                        move.from_key, move.to_key);
    return sma_store_drop_plan(store, chat);
}
