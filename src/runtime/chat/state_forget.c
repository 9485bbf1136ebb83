/*
 * Chats that are forgotten: letting go of one with its turns, contacts and record. Who may be
 * forgotten is the caller's decision. Rows of messages and results go with their claims; they need
 * no record of their chat.
 */
#include "runtime/chat/state_priv.h"

#include <stdio.h>
#include <stdlib.h>

static SMA_CHECKED enum sma_err run_with(struct sma_state *state, enum sma_state_sql sql,
                                         uint64_t first, uint64_t second)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt == NULL)
        return state->error.code;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)first); /* valid indexes cannot fail */
    if (sqlite3_bind_parameter_count(stmt) > 1)
        (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)second);
    return sma_state_run(state, stmt);
}

static SMA_CHECKED enum sma_err write_removed(struct sma_state *state)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)state->chats.removed);
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_META_SET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, SMA_STR(SMA_STATE_CHATS_REMOVED), true);
    sma_state_bind(stmt, 2, sma_str(text), false);
    return sma_state_run(state, stmt);
}

static SMA_CHECKED enum sma_err remove_record(struct sma_state *state,
                                              struct sma_state_chat_entry *entry)
{
    SMA_TRY(run_with(state, SMA_SQL_CHAT_DELETE, entry->pub.id, 0));
    SMA_TRY(sma_state_undo_push(state,
                                (struct sma_state_undo){.kind = SMA_UNDO_CHAT_REMOVE, .p = entry}));
    sma_state_chat_unlink(state, entry);
    state->chats.removed++;
    return write_removed(state);
}

void sma_state_chat_remove_undo(struct sma_state *state, struct sma_state_chat_entry *entry)
{
    sma_state_chat_link(state, entry);
    state->chats.removed--;
}

enum sma_err sma_state_chat_forget(struct sma_state *state, struct sma_state_chat *chat,
                                   uint32_t rows_max, bool *ret_is_gone)
{
    struct sma_state_chat_entry *entry = (struct sma_state_chat_entry *)(void *)chat;
    *ret_is_gone = false;
    /* The newest stays: its number would be given again, and rows of messages still know it. */
    if (chat->user != NULL || entry->moved_to != NULL || entry->next_former != NULL ||
        chat->rotation.len > 0 || chat->id == state->chats.last_id)
        return SMA_ERR_BUSY;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = run_with(state, SMA_SQL_PAST_CLEAR, chat->id, SMA_STATE_SEQ_MAX);
    if (err == SMA_ERR_OK)
        err = run_with(state, SMA_SQL_TURN_FORGET, chat->id, rows_max);
    if (err != SMA_ERR_OK || (uint32_t)sqlite3_changes(state->db) >= rows_max)
        return err;
    uint32_t removed = 0;
    err = sma_state_contacts_forget(state, chat->key, rows_max, &removed);
    if (err != SMA_ERR_OK || removed >= rows_max)
        return err;
    err = remove_record(state, entry);
    *ret_is_gone = err == SMA_ERR_OK;
    return err;
}
