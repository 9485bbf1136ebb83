/* Runs that wait for a model: when each is due. */
#include "runtime/chat/state_priv.h"

enum sma_err sma_state_wait_set(struct sma_state *state, const struct sma_state_wait *wait)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_WAIT_SET) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, (int64_t)wait->run_seq);
    sma_state_bind_int(stmt, 2, wait->due_ms);
    sma_state_bind_int(stmt, 3, wait->length_ms);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_wait_remove(struct sma_state *state, uint64_t run_seq)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_WAIT_REMOVE) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, (int64_t)run_seq);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_waits_sweep(struct sma_state *state)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_WAIT_SWEEP) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_each_wait(struct sma_state *state, sma_state_wait_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_WAIT_EACH);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    state->live_reads++;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = each(user, &(struct sma_state_wait){
                             .run_seq = (uint64_t)sqlite3_column_int64(stmt, 0),
                             .due_ms = sqlite3_column_int64(stmt, 1),
                             .length_ms = sqlite3_column_int64(stmt, 2),
                         });
    state->live_reads--;
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read waiting runs");
    sma_state_done(stmt);
    return err;
}
