/* state_change.c — a change begins: the transaction in SQLite, the savepoint, the list of what to
 * undo. See state_priv.h. */
#include "runtime/chat/state_priv.h"

static SMA_CHECKED enum sma_err begin_sql(struct sma_state *state)
{
    sqlite3_stmt *begin = sma_state_statement(state, SMA_SQL_BEGIN);
    enum sma_err err = begin == NULL ? state->error.code : sma_state_run(state, begin);
    state->is_begun = err == SMA_ERR_OK;
    return err;
}

enum sma_err sma_state_change(struct sma_state *state)
{
    SMA_ASSERT(state->is_in_transaction);
    SMA_ASSERT(state->live_reads == 0);
    if (__builtin_expect(state->is_fatal, 0))
        return SMA_ERR_CORRUPT;
    if (__builtin_expect(state->failed != SMA_ERR_OK, 0))
        return state->failed;
    SMA_TRY(state->is_begun ? SMA_ERR_OK : begin_sql(state));
    if (state->savepoint.is_open && !state->savepoint.is_begun)
        SMA_TRY(sma_state_savepoint_begin(state));
    return SMA_ERR_OK;
}

/* The savepoint of SQLite is made before the first change behind ours: an item that changes nothing
 * costs nothing. */
enum sma_err sma_state_savepoint_begin(struct sma_state *state)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_SAVEPOINT);
    enum sma_err err = stmt == NULL ? state->error.code : sma_state_run(state, stmt);
    state->savepoint.is_begun = err == SMA_ERR_OK;
    return err;
}

enum sma_err sma_state_undo_push(struct sma_state *state, struct sma_state_undo undo)
{
    if (SMA_STATE_RESERVE(state->undo) != SMA_ERR_OK)
        return sma_state_fail_change(state, SMA_ERR_NOMEM);
    SMA_STATE_PUSH(state->undo, undo);
    return SMA_ERR_OK;
}
