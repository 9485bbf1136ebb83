/* Deliveries. */
#include "runtime/chat/state_priv.h"

#include "sma/messages.h"

#include <stdlib.h>

/* Columns 2..7 of both the INSERT and the UPDATE. */
static void bind_progress(sqlite3_stmt *stmt, const struct sma_state_delivery *delivery)
{
    sma_state_bind_int(stmt, 1, delivery->outbox_id);
    sma_state_bind_int(stmt, 2, delivery->state);
    sma_state_bind_int(stmt, 3, delivery->is_part_begun);
    sma_state_bind_int(stmt, 4, delivery->renderer_version);
    sma_state_bind_int(stmt, 5, delivery->part_done_count);
    sma_state_bind_int(stmt, 6, delivery->part_count);
    sma_state_bind_int(stmt, 7, delivery->attempt_count);
}

/* Outbox ids begin anew with every new database, and a restored one gives them out again; a
 * platform remembers keys longer than that, for the whole app. So each row has random bits of its
 * own, as old as the row. */
static uint64_t make_salt(const struct sma_state *state)
{
    uint64_t salt = 0;
    state->sys->random_bytes(state->sys->self, &salt, sizeof salt);
    return salt == 0 ? 1 : salt;
}

enum sma_err sma_state_outbox_add(struct sma_state *state, struct sma_state_delivery *delivery)
{
    uint64_t seq = sma_state_outbox_seq(delivery->outbox_id);
    if (seq == 0 || seq > SMA_STATE_SEQ_MAX)
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_OUTBOX_INSERT) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    bind_progress(stmt, delivery);
    sma_state_bind_int(stmt, 8, delivery->chat->id);
    sma_state_bind_int(stmt, 9, delivery->intent);
    sma_state_bind(stmt, 10, delivery->channel, true);
    sma_state_bind(stmt, 11, delivery->error, true);
    sma_state_bind(stmt, 12, delivery->route, false);
    sma_state_bind(stmt, 13, delivery->text, true);
    uint64_t salt = make_salt(state);
    sma_state_bind_int(stmt, 14, salt);
    sma_state_bind_int(stmt, 15, (uint64_t)delivery->made_ms);
    err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK && sqlite3_changes(state->db) == 0)
        err = SMA_ERR_EXISTS;
    if (err == SMA_ERR_OK)
        delivery->salt = salt;
    return err;
}

enum sma_err sma_state_outbox_update(struct sma_state *state,
                                     const struct sma_state_delivery *delivery)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_OUTBOX_UPDATE) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    bind_progress(stmt, delivery);
    sma_state_bind(stmt, 8, delivery->error, true);
    sma_state_bind_int(stmt, 9, (uint64_t)delivery->ended_ms);
    err = sma_state_run(state, stmt);
    return err == SMA_ERR_OK && sqlite3_changes(state->db) == 0 ? SMA_ERR_NOTFOUND : err;
}

enum sma_err sma_state_outbox_fail(struct sma_state *state, uint64_t outbox_id,
                                   struct sma_str error, int64_t ended_ms)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_OUTBOX_FAIL) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, outbox_id);
    sma_state_bind_int(stmt, 2, SMA_DELIVERY_FAILED);
    sma_state_bind(stmt, 3, error, true);
    sma_state_bind_int(stmt, 4, (uint64_t)ended_ms);
    err = sma_state_run(state, stmt);
    return err == SMA_ERR_OK && sqlite3_changes(state->db) == 0 ? SMA_ERR_NOTFOUND : err;
}

/* The row under the statement; its slices are the statement's. */
enum sma_err sma_state_delivery_row(struct sma_state *state, sqlite3_stmt *stmt,
                                    struct sma_state_delivery *ret_delivery)
{
    *ret_delivery = (struct sma_state_delivery){
        .outbox_id = (uint64_t)sqlite3_column_int64(stmt, 0),
        .state = (uint8_t)sqlite3_column_int(stmt, 1),
        .is_part_begun = sqlite3_column_int(stmt, 2) != 0,
        .renderer_version = (uint32_t)sqlite3_column_int64(stmt, 3),
        .part_done_count = (uint32_t)sqlite3_column_int64(stmt, 4),
        .part_count = (uint32_t)sqlite3_column_int64(stmt, 5),
        .attempt_count = (uint32_t)sqlite3_column_int64(stmt, 6),
        .chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 7)),
        .intent = (uint8_t)sqlite3_column_int(stmt, 8),
        .channel = sma_state_column(stmt, 9),
        .error = sma_state_column(stmt, 10),
        .route = sma_state_column(stmt, 11),
        .text = sma_state_column(stmt, 12),
        .salt = (uint64_t)sqlite3_column_int64(stmt, 13),
        .made_ms = sqlite3_column_int64(stmt, 14),
        .ended_ms = sqlite3_column_int64(stmt, 15),
    };
    if (ret_delivery->chat == NULL)
        return sma_state_damaged(state, "read a delivery: its chat is not there");
    return SMA_ERR_OK;
}

enum sma_err sma_state_outbox_get(struct sma_state *state, uint64_t outbox_id,
                                  sma_state_delivery_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_OUTBOX_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, outbox_id);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    struct sma_state_delivery delivery;
    char *own = NULL;
    if (rc == SQLITE_ROW)
        err = sma_state_delivery_row(state, stmt, &delivery);
    else if (rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read a delivery");
    if (err == SMA_ERR_OK) {
        struct sma_str *const slices[] = {&delivery.channel, &delivery.error, &delivery.route,
                                          &delivery.text};
        own = sma_state_own(slices, SMA_COUNT_OF(slices));
        err = own == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    }
    sma_state_done(stmt); /* the read is over: the callback may act */
    if (err == SMA_ERR_OK)
        err = each(user, &delivery);
    free(own);
    return err;
}

/* The ids first, then the rows: the callback may change the very index that is read. */
enum sma_err sma_state_each_outbox_open(struct sma_state *state, sma_state_delivery_fn *each,
                                        void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_OUTBOX_OPEN);
    if (stmt == NULL)
        return state->error.code;
    SMA_STATE_ARRAY(uint64_t) ids = {NULL, 0, 0};
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        err = SMA_STATE_RESERVE(ids);
        if (err == SMA_ERR_OK)
            SMA_STATE_PUSH(ids, (uint64_t)sqlite3_column_int64(stmt, 0));
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read open deliveries");
    sma_state_done(stmt);
    for (size_t i = 0; i < ids.count && err == SMA_ERR_OK; i++)
        err = sma_state_outbox_get(state, ids.items[i], each, user);
    free(ids.items);
    return err;
}
