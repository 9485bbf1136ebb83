/* The undo log of what is in memory, and savepoints: marks in it. */
#include "runtime/chat/state_priv.h"

#include <stdlib.h>

static void undo_chat_change(struct sma_state *state, const struct sma_state_undo *undo)
{
    struct sma_state_chat_entry *chat = undo->p;
    const struct sma_state_chat *saved = &state->saves.items[undo->a];
    void *user = chat->pub.user;
    if (chat->pub.rotation.ptr != saved->rotation.ptr)
        free((char *)(uintptr_t)chat->pub.rotation.ptr);
    chat->pub = *saved;
    chat->pub.user = user;
    chat->saved_in = undo->b;
}

static void undo_one(struct sma_state *state, const struct sma_state_undo *undo)
{
    enum sma_err err = SMA_ERR_OK;
    switch (undo->kind) {
    case SMA_UNDO_CLAIM_ADD:
        (void)sma_claims_remove(&state->claims, undo->a, undo->b); /* it is there: it was added */
        break;
    case SMA_UNDO_CLAIM_REMOVE:
        err = sma_claims_add(&state->claims, undo->a, undo->b);
        break;
    case SMA_UNDO_OPEN_ADD:
        sma_state_open_remove(state, undo->a);
        break;
    case SMA_UNDO_OPEN_REMOVE:
        err = sma_state_open_add(state, undo->a);
        break;
    case SMA_UNDO_CHAT_ADD:
        sma_state_chat_unmake(state, undo->p);
        break;
    case SMA_UNDO_CHAT_REMOVE:
        sma_state_chat_remove_undo(state, undo->p);
        break;
    case SMA_UNDO_CHAT_CHANGE:
        undo_chat_change(state, undo);
        break;
    case SMA_UNDO_CONTACT:
        sma_state_contact_swap(state, undo->q, undo->p);
        free(undo->q);
        break;
    case SMA_UNDO_CHAT_MOVE:
        sma_state_chat_move_undo(state, undo);
        break;
    }
    /* Memory that was just released is asked for again; if even that fails, memory and disk
     * disagree. */
    if (err != SMA_ERR_OK)
        state->is_fatal = true;
}

/* Newest first, down to the first `count` entries. */
static void undo_down_to(struct sma_state *state, size_t count)
{
    while (state->undo.count > count)
        undo_one(state, &state->undo.items[--state->undo.count]);
}

void sma_state_undo_all(struct sma_state *state)
{
    state->is_usage_counted = false;
    sma_state_keep_undone(state);
    undo_down_to(state, 0);
    state->saves.count = 0;
    state->next_seq = state->next_seq_at_begin;
    state->is_marks_taken = false;
    state->savepoint.is_open = state->savepoint.is_begun = false;
    sma_state_blocks_undone(state);
}

/* A chat that was changed before a savepoint and after it has two copies, which may share one plan:
 * it is freed once. */
static void forget_plans(struct sma_state *state)
{
    for (size_t i = 0; i < state->undo.count; i++) {
        struct sma_state_chat_entry *chat = state->undo.items[i].p;
        if (state->undo.items[i].kind == SMA_UNDO_CHAT_CHANGE)
            chat->plan_after = chat->pub.rotation.ptr;
    }
    for (size_t i = state->undo.count; i-- > 0;) {
        const struct sma_state_undo *undo = &state->undo.items[i];
        struct sma_state_chat_entry *chat = undo->p;
        if (undo->kind != SMA_UNDO_CHAT_CHANGE)
            continue;
        const char *before = state->saves.items[undo->a].rotation.ptr;
        if (before != chat->plan_after)
            free((char *)(uintptr_t)before);
        chat->plan_after = before;
    }
}

void sma_state_undo_forget(struct sma_state *state)
{
    forget_plans(state);
    for (size_t i = 0; i < state->undo.count; i++) {
        const struct sma_state_undo *undo = &state->undo.items[i];
        if (undo->kind == SMA_UNDO_CONTACT)
            free(undo->p);
        if (undo->kind == SMA_UNDO_CHAT_REMOVE)
            sma_state_chat_free(undo->p);
        if (undo->kind == SMA_UNDO_CHAT_MOVE)
            sma_state_chat_move_done(undo);
    }
    state->undo.count = 0;
    state->saves.count = 0;
    sma_state_blocks_committed(state);
    sma_state_marks_committed(state);
}

/* -- savepoints -------------------------------------------------------------------------------- */

enum sma_err sma_state_savepoint(struct sma_state *state)
{
    SMA_ASSERT(state->is_in_transaction && !state->savepoint.is_open);
    SMA_ASSERT(state->live_reads == 0);
    if (state->is_fatal)
        return SMA_ERR_CORRUPT;
    if (state->failed != SMA_ERR_OK)
        return state->failed;
    state->savepoint = (struct sma_state_savepoint){
        .is_open = true,
        .undo = state->undo.count,
        .saves = state->saves.count,
        .pending = state->pending.count,
        .next_seq = state->next_seq,
        .is_block_done = state->expiry.is_block_done,
        .is_block_removed = state->expiry.is_block_removed,
        .save_floor = state->save_floor,
    };
    state->save_floor = ++state->save_number;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err run_if_begun(struct sma_state *state, enum sma_state_sql sql)
{
    if (!state->savepoint.is_begun)
        return SMA_ERR_OK;
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    return stmt == NULL ? state->error.code : sma_state_run(state, stmt);
}

enum sma_err sma_state_savepoint_keep(struct sma_state *state)
{
    SMA_ASSERT(state->savepoint.is_open && state->live_reads == 0);
    if (state->is_fatal)
        return SMA_ERR_CORRUPT;
    if (state->failed != SMA_ERR_OK)
        return state->failed;
    SMA_TRY(run_if_begun(state, SMA_SQL_SAVEPOINT_KEEP));
    state->save_floor = state->savepoint.save_floor;
    state->savepoint.is_open = state->savepoint.is_begun = false;
    return SMA_ERR_OK;
}

static void undo_to_savepoint(struct sma_state *state)
{
    const struct sma_state_savepoint *mark = &state->savepoint;
    state->is_usage_counted = false;
    sma_state_keep_undone(state);
    undo_down_to(state, mark->undo);
    state->saves.count = mark->saves;
    state->pending.count = mark->pending;
    state->next_seq = mark->next_seq;
    state->save_floor = mark->save_floor;
    state->expiry.is_block_done = mark->is_block_done;
    state->expiry.is_block_removed = mark->is_block_removed;
    if (state->expiry.is_touched && !mark->is_block_done) { /* look at its range again */
        state->expiry.next_seq = 0;
        state->expiry.kept.count = 0;
    }
}

enum sma_err sma_state_savepoint_back(struct sma_state *state)
{
    SMA_ASSERT(state->savepoint.is_open && state->live_reads == 0);
    if (state->is_fatal)
        return SMA_ERR_CORRUPT;
    if (state->failed != SMA_ERR_OK && !sma_state_is_of_item(state->failed))
        return state
            ->failed; /* SQLite may have ended the transaction: only undoing all of it helps */
    state->failed = SMA_ERR_OK;
    SMA_TRY(run_if_begun(state, SMA_SQL_SAVEPOINT_BACK));
    SMA_TRY(run_if_begun(state, SMA_SQL_SAVEPOINT_KEEP));
    undo_to_savepoint(state);
    state->savepoint.is_open = state->savepoint.is_begun = false;
    return SMA_ERR_OK;
}
