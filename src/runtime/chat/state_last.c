/* state_last.c — the run of a chat that was over last, with what it answered. See state.h. */
#include "runtime/chat/state_priv.h"

#define NEIGHBOUR_COUNT 4096 /* rows between a run's message and the others that it answers */

/* The newest turn's number; 0 = there is none. */
static enum sma_err take_seq(void *user, uint64_t seq, struct sma_str wire,
                             struct sma_str message_id, struct sma_str turn)
{
    (void)wire;
    (void)message_id;
    (void)turn;
    *(uint64_t *)user = seq;
    return SMA_ERR_OK;
}

enum sma_err sma_state_last_run(struct sma_state *state, const struct sma_state_chat *chat,
                                uint64_t before_seq, uint64_t *ret_seq)
{
    uint64_t newest = 0;
    SMA_TRY(sma_state_each_turn(state, chat, before_seq, 1, UINT64_MAX, take_seq, &newest));
    uint64_t from = newest > chat->clear_mark ? newest : chat->clear_mark;
    if (before_seq > SMA_STATE_LAST_ROW_COUNT && from < before_seq - SMA_STATE_LAST_ROW_COUNT)
        from = before_seq - SMA_STATE_LAST_ROW_COUNT;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_LAST);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, chat->id);
    sma_state_bind_int(stmt, 2, from);
    sma_state_bind_int(stmt, 3, before_seq);
    uint64_t later;
    enum sma_err err = sma_state_ask_number(state, stmt, &later);
    if (err == SMA_ERR_NOTFOUND && newest == 0)
        return err;
    *ret_seq = err == SMA_ERR_OK ? later : newest;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_state_run_messages(struct sma_state *state, uint64_t seq, uint64_t *seqs,
                                    uint32_t count_max, uint32_t *ret_count)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_COLLECTED);
    uint32_t count = 0;
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    sma_state_bind_int(stmt, 2, seq > NEIGHBOUR_COUNT ? seq - NEIGHBOUR_COUNT : 0);
    sma_state_bind_int(stmt, 3, seq + NEIGHBOUR_COUNT);
    sma_state_bind_int(stmt, 4, count_max);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        seqs[count++] = (uint64_t)sqlite3_column_int64(stmt, 0);
    sma_state_done(stmt);
    *ret_count = count;
    return rc == SQLITE_DONE ? SMA_ERR_OK : sma_state_fail(state, rc, "read what a run answered");
}

enum sma_err sma_state_turn_remove(struct sma_state *state, uint64_t seq)
{
    SMA_TRY(sma_state_change(state));
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_TURN_REMOVE);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    return sma_state_run(state, stmt);
}
