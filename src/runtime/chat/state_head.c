/* state_head.c — what a message's row says without its text. See state_priv.h. */
#include "runtime/chat/state_priv.h"

static struct sma_str copy_id(char *to, struct sma_str from)
{
    size_t len = from.len < SMA_ID_BYTES_MAX ? from.len : SMA_ID_BYTES_MAX;
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
    return (struct sma_str){to, len};
}

int64_t sma_state_column_place(sqlite3_stmt *stmt, int index)
{
    return sqlite3_column_type(stmt, index) == SQLITE_NULL ? SMA_STATE_NO_LINE
                                                           : sqlite3_column_int64(stmt, index);
}

enum sma_err sma_state_head_get(struct sma_state *state, uint64_t seq,
                                struct sma_state_head *ret_head)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_HEAD);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_OK;
    if (rc == SQLITE_ROW)
        *ret_head = (struct sma_state_head){
            .seq = seq,
            .chat_id = sma_state_chat_id_of(state, (uint32_t)sqlite3_column_int64(stmt, 1)),
            .claim_id = (uint32_t)sqlite3_column_int64(stmt, 1),
            .kind = (uint8_t)sqlite3_column_int(stmt, 2),
            .state = (uint8_t)sqlite3_column_int(stmt, 3),
            .attempt = (uint32_t)sqlite3_column_int64(stmt, 4),
            .generation = (uint32_t)sqlite3_column_int64(stmt, 5),
            .history_offset = sma_state_column_place(stmt, 6),
            .run_seq = (uint64_t)sqlite3_column_int64(stmt, 7),
            .body_hash = (uint64_t)sqlite3_column_int64(stmt, 8),
            .event_key = copy_id(state->head_event, sma_state_column(stmt, 9)),
            .user_id = copy_id(state->head_user, sma_state_column(stmt, 10)),
        };
    else
        err = rc == SQLITE_DONE ? SMA_ERR_NOTFOUND : sma_state_fail(state, rc, "read a message");
    sma_state_done(stmt);
    return err;
}
