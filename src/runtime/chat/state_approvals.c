/* Requests to people: open ones, and who decided the others. */
#include "runtime/chat/state_priv.h"

enum sma_err sma_state_approval_add(struct sma_state *state,
                                    const struct sma_state_approval *approval)
{
    if (approval->id.len == 0 || approval->id.len > SMA_STATE_APPROVAL_ID_BYTES)
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_APPROVAL_INSERT) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, approval->id, true);
    sma_state_bind_int(stmt, 2, (int64_t)approval->run_seq);
    sma_state_bind_int(stmt, 3, approval->chat->id);
    sma_state_bind_int(stmt, 4, approval->state);
    sma_state_bind_int(stmt, 5, approval->step);
    sma_state_bind_int(stmt, 6, approval->created_ms);
    sma_state_bind_int(stmt, 7, approval->left_ms);
    sma_state_bind_int(stmt, 8, approval->responded_ms);
    sma_state_bind(stmt, 9, approval->request, false);
    sma_state_bind(stmt, 10, approval->doc, false);
    err = sma_state_run(state, stmt);
    return err == SMA_ERR_OK && sqlite3_changes(state->db) == 0 ? SMA_ERR_EXISTS : err;
}

enum sma_err sma_state_approval_update(struct sma_state *state,
                                       const struct sma_state_approval *approval)
{
    enum sma_err err = sma_state_change(state);
    bool is_open = approval->state == SMA_STATE_APPROVAL_OPEN;
    sqlite3_stmt *stmt =
        err != SMA_ERR_OK
            ? NULL
            : sma_state_statement(state, is_open ? SMA_SQL_APPROVAL_UPDATE : SMA_SQL_APPROVAL_END);
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, approval->id, true);
    sma_state_bind_int(stmt, 2, approval->state);
    sma_state_bind_int(stmt, 3, approval->left_ms);
    sma_state_bind_int(stmt, 4, approval->responded_ms);
    sma_state_bind(stmt, 5, approval->doc, false);
    err = sma_state_run(state, stmt);
    return err == SMA_ERR_OK && sqlite3_changes(state->db) == 0 ? SMA_ERR_NOTFOUND : err;
}

enum sma_err sma_state_approval_set_left(struct sma_state *state, struct sma_str id,
                                         int64_t left_ms)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_APPROVAL_LEFT) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, id, true);
    sma_state_bind_int(stmt, 2, left_ms);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_approval_row(struct sma_state *state, sqlite3_stmt *stmt,
                                    struct sma_state_approval *ret_approval)
{
    *ret_approval = (struct sma_state_approval){
        .id = sma_state_column(stmt, 0),
        .run_seq = (uint64_t)sqlite3_column_int64(stmt, 1),
        .chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 2)),
        .state = (uint8_t)sqlite3_column_int(stmt, 3),
        .step = (uint32_t)sqlite3_column_int64(stmt, 4),
        .created_ms = sqlite3_column_int64(stmt, 5),
        .left_ms = sqlite3_column_int64(stmt, 6),
        .responded_ms = sqlite3_column_int64(stmt, 7),
        .request = sma_state_column(stmt, 8),
        .doc = sma_state_column(stmt, 9),
    };
    if (ret_approval->chat == NULL)
        return sma_state_damaged(state, "read an approval: its chat is not there");
    return SMA_ERR_OK;
}
