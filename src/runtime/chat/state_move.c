/*
 * A chat that goes on under another key. Its record keeps its id, so rows, turns and deliveries
 * stay where they are; the two records exchange keys, and the other one, with whatever it had,
 * stands for the chat from now on. Claims stay with
 * the keys: the records exchange their claim ids too, and a row's chat column is the claim id it
 * was accepted under.
 */
#include "runtime/chat/state_priv.h"

#include <stdlib.h>

static struct sma_state_chat_entry *entry_of(const struct sma_state_chat *chat)
{
    return (struct sma_state_chat_entry *)(uintptr_t)chat;
}

const struct sma_state_chat *sma_state_chat_next_former(const struct sma_state_chat *chat)
{
    const struct sma_state_chat_entry *next = entry_of(chat)->next_former;
    return next == NULL ? NULL : &next->pub;
}

/* -- memory ------------------------------------------------------------------------------------ */
static void exchange(struct sma_state *state, struct sma_state_chat_entry *chat,
                     struct sma_state_chat_entry *other)
{
    struct sma_str key = chat->pub.key, other_key = other->pub.key;
    uint32_t claim_id = chat->pub.claim_id;
    chat->pub.claim_id = other->pub.claim_id;
    other->pub.claim_id = claim_id;
    /* A string belongs to the record it was made with; both live as long as the state. */
    sma_state_chat_relink(state, chat, other_key);
    sma_state_chat_relink(state, other, key);
}

/* The last of the records that begin with `first`. */
static struct sma_state_chat_entry *last_former(struct sma_state_chat_entry *first,
                                                const struct sma_state_chat_entry *end)
{
    while (first->next_former != end)
        first = first->next_former;
    return first;
}

static void link_former(struct sma_state_chat_entry *chat, struct sma_state_chat_entry *other)
{
    last_former(other, NULL)->next_former = chat->next_former;
    chat->next_former = other;
    other->moved_to = chat;
}

void sma_state_chat_move_undo(struct sma_state *state, const struct sma_state_undo *undo)
{
    struct sma_state_chat_entry *chat = undo->p, *other = undo->q;
    struct sma_state_chat_entry *before = (struct sma_state_chat_entry *)(uintptr_t)undo->b;
    last_former(other, before)->next_former = NULL;
    chat->next_former = before;
    other->moved_to = NULL;
    exchange(state, chat, other);
    free((char *)(uintptr_t)
             chat->pub.place.ptr); /* what was before comes back with the chat's copy */
    chat->pub.place.ptr = (const char *)(uintptr_t)undo->a;
}

void sma_state_chat_move_done(const struct sma_state_undo *undo)
{
    free((char *)(uintptr_t)undo->a);
}

typedef SMA_STATE_ARRAY(struct sma_state_chat_entry *) record_array;

/* Every record of a former key, read once and kept, in order of id. */
static SMA_CHECKED enum sma_err read_moved(struct sma_state *state, record_array *records)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_MOVED);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct sma_state_chat_entry *record = NULL;
        err = SMA_STATE_RESERVE(*records);
        if (err == SMA_ERR_OK)
            err = sma_state_chat_read(state, stmt, &record);
        if (err == SMA_ERR_OK)
            SMA_STATE_PUSH(*records, record);
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read chats that have moved");
    sma_state_done(stmt);
    return err;
}

static SMA_CHECKED enum sma_err link_moved(struct sma_state *state, const record_array *records)
{
    for (size_t i = 0; i < records->count; i++) {
        struct sma_state_chat_entry *record = records->items[i], *to = NULL;
        enum sma_err err = sma_state_chat_record(state, record->moved_id, &to);
        if (err == SMA_ERR_NOTFOUND || to == record)
            continue; /* damaged: it went nowhere, so it is where it was */
        if (err != SMA_ERR_OK)
            return err;
        record->moved_to = to;
    }
    for (size_t i = 0; i < records->count; i++) {
        struct sma_state_chat_entry *record = records->items[i], *chat = record;
        size_t steps = 0;
        if (record->moved_to == NULL)
            continue;
        while (chat->moved_to != NULL && steps++ <= records->count)
            chat = chat->moved_to;
        if (chat->moved_to != NULL)
            return sma_state_fail(state, SQLITE_CORRUPT, "read chats: they went in a circle");
        record->next_former = chat->next_former;
        chat->next_former = record;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_state_moves_load(struct sma_state *state)
{
    record_array records = {NULL, 0, 0};
    enum sma_err err = read_moved(state, &records);
    if (err == SMA_ERR_OK)
        err = link_moved(state, &records);
    free((void *)records.items);
    return err;
}

/* -- rows -------------------------------------------------------------------------------------- */
static enum sma_err write_record(struct sma_state *state, const struct sma_state_chat_entry *record,
                                 struct sma_str key)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CHAT_MOVE);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, record->pub.id); /* valid indexes cannot fail */
    sma_state_bind(stmt, 2, key, true);
    (void)sqlite3_bind_int64(stmt, 3, record->moved_to == NULL ? 0 : record->moved_to->pub.id);
    (void)sqlite3_bind_int64(stmt, 4, record->pub.claim_id);
    sma_state_bind(stmt, 5, record->pub.place, true);
    return sma_state_run(state, stmt);
}

static enum sma_err write_records(struct sma_state *state, const struct sma_state_chat_entry *chat,
                                  const struct sma_state_chat_entry *other)
{
    /* A key stands once: the one that becomes free goes first. */
    enum sma_err err = write_record(state, chat, SMA_STR(""));
    if (err == SMA_ERR_OK)
        err = write_record(state, other, other->pub.key);
    return err == SMA_ERR_OK ? write_record(state, chat, chat->pub.key) : err;
}

enum sma_err sma_state_chat_move(struct sma_state *state, struct sma_state_chat *chat,
                                 struct sma_state_chat *other, struct sma_str place)
{
    struct sma_state_chat_entry *entry = entry_of(chat), *record = entry_of(other);
    SMA_ASSERT(entry != record && entry->moved_to == NULL && record->moved_to == NULL);
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_save(state, chat);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_save(state, other);
    if (err != SMA_ERR_OK)
        return err;
    char *copy = malloc(place.len + 1);
    if (copy == NULL)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    memcpy(copy, place.len > 0 ? place.ptr : "", place.len);
    err = sma_state_undo_push(state, (struct sma_state_undo){.kind = SMA_UNDO_CHAT_MOVE,
                                                             .a = (uintptr_t)chat->place.ptr,
                                                             .b = (uintptr_t)entry->next_former,
                                                             .p = entry,
                                                             .q = record});
    if (err != SMA_ERR_OK) {
        free(copy);
        return err;
    }
    chat->place = (struct sma_str){copy, place.len};
    exchange(state, entry, record);
    link_former(entry, record);
    err = write_records(state, entry, record);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_stop_mark(state, chat, other->stop_mark);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_clear_mark(state, chat, other->clear_mark);
    return err;
}
