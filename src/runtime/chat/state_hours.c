/* state_hours.c — which message was accepted in which hour: ages without a column. See
 * state_keep.h. */
#include "runtime/chat/state_priv.h"

#define HOUR_MS INT64_C(3600000)
#define HOURS_KEPT (400 * 24)

enum sma_err sma_state_hour_note(struct sma_state *state)
{
    int64_t hour = state->sys->wall_ms(state->sys->self) / HOUR_MS;
    if (__builtin_expect(hour == state->hour_noted, 1))
        return SMA_ERR_OK;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_HOUR_NOTE);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, (uint64_t)hour);
    sma_state_bind_int(stmt, 2, state->next_seq);
    enum sma_err err = sma_state_run(state, stmt);
    stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_HOUR_FORGET) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, (uint64_t)(hour - HOURS_KEPT));
    err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK)
        state->hour_noted = hour;
    return err;
}

void sma_state_keep_undone(struct sma_state *state)
{
    state->hour_noted = -1;
    state->is_results_known = state->is_stripped_known = false;
}

enum sma_err sma_state_seq_of_age(struct sma_state *state, int64_t now_ms, int64_t age_ms,
                                  uint64_t *ret_seq)
{
    uint64_t any;
    *ret_seq = 0;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_HOUR_ANY);
    enum sma_err err = stmt == NULL ? state->error.code : sma_state_ask_number(state, stmt, &any);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    stmt = sma_state_statement(state, SMA_SQL_HOUR_SEQ);
    if (stmt == NULL)
        return state->error.code;
    /* The hour that contains the moment is young still. */
    sma_state_bind_int(stmt, 1, (uint64_t)((now_ms - age_ms) / HOUR_MS));
    err = sma_state_ask_number(state, stmt, ret_seq);
    if (err == SMA_ERR_NOTFOUND) /* nothing was accepted since */
        *ret_seq = state->next_seq;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}
