/* Chats that are set aside, and the places their lines get later. */
#include "runtime/chat/state_asides.h"
#include "runtime/chat/state_priv.h"

enum sma_err sma_state_asides_read(struct sma_state *state, struct sma_state_rows *rows,
                                   struct sma_state_asides *ret_asides)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ASIDE_EACH);
    struct sma_state_asides list = {NULL, 0};
    size_t capacity = 0;
    enum sma_err err = stmt == NULL ? state->error.code : SMA_ERR_OK;
    int rc = SQLITE_DONE;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (list.count == capacity) {
            capacity = capacity == 0 ? 16 : capacity * 2;
            struct sma_state_aside *grown = sma_state_rows_take(rows, capacity * sizeof *grown);
            if (grown != NULL && list.count > 0)
                memcpy(grown, list.items, list.count * sizeof *grown);
            list.items = grown;
            err = grown == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
        }
        if (err == SMA_ERR_OK)
            list.items[list.count++] =
                (struct sma_state_aside){.chat_id = (uint32_t)sqlite3_column_int64(stmt, 0),
                                         .from_seq = (uint64_t)sqlite3_column_int64(stmt, 1)};
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read chats that are set aside");
    if (stmt != NULL)
        sma_state_done(stmt);
    if (err != SMA_ERR_OK)
        return err;
    state->has_asides = state->has_asides || list.count > 0;
    *ret_asides = list;
    return SMA_ERR_OK;
}

/* A changing statement of the open transaction, or NULL: *ret_err says why. */
static sqlite3_stmt *begin_change(struct sma_state *state, enum sma_state_sql sql,
                                  enum sma_err *ret_err)
{
    *ret_err = sma_state_change(state);
    sqlite3_stmt *stmt = *ret_err == SMA_ERR_OK ? sma_state_statement(state, sql) : NULL;
    if (stmt == NULL && *ret_err == SMA_ERR_OK)
        *ret_err = state->error.code;
    return stmt;
}

enum sma_err sma_state_aside_set(struct sma_state *state, struct sma_state_aside aside)
{
    enum sma_err err;
    sqlite3_stmt *stmt = begin_change(state, SMA_SQL_ASIDE_SET, &err);
    if (stmt == NULL)
        return err;
    state->has_asides = true; /* stays when the transaction is undone: it only costs a look */
    sma_state_bind_int(stmt, 1, aside.chat_id);
    sma_state_bind_int(stmt, 2, aside.from_seq);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_aside_drop(struct sma_state *state, uint32_t chat_id)
{
    enum sma_err err;
    sqlite3_stmt *stmt = begin_change(state, SMA_SQL_ASIDE_DROP, &err);
    if (stmt == NULL)
        return err;
    sma_state_bind_int(stmt, 1, chat_id);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_line_place(struct sma_state *state, uint64_t seq, uint32_t generation,
                                  uint64_t offset)
{
    enum sma_err err;
    sqlite3_stmt *stmt = begin_change(state, SMA_SQL_LINE_PLACE, &err);
    if (stmt == NULL)
        return err;
    sma_state_bind_int(stmt, 1, seq);
    sma_state_bind_int(stmt, 2, generation);
    sma_state_bind_int(stmt, 3, offset);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_line_is_aside(struct sma_state *state, uint32_t chat_id, uint64_t seq,
                                     bool *ret_is)
{
    *ret_is = false;
    if (!state->has_asides)
        return SMA_ERR_OK;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ASIDE_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, chat_id);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_OK;
    if (rc == SQLITE_ROW)
        *ret_is = seq > (uint64_t)sqlite3_column_int64(stmt, 0);
    else if (rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "look for a chat that is set aside");
    sma_state_done(stmt);
    return err;
}
