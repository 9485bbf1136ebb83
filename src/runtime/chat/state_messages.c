/* Rows of messages: accepting, changing, reading; the list of open ones. */
#include "runtime/chat/state_priv.h"

#include <stdlib.h>

/* -- open rows --------------------------------------------------------------------------------- */

/* -- start ------------------------------------------------------------------------------------- */

enum sma_err sma_state_tail_load(struct sma_state *state, uint64_t low, uint64_t covered)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_TAIL);
    if (stmt == NULL)
        return state->error.code;
    uint64_t from = low <= covered ? low : covered + 1;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)from); /* valid index */
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
        if (seq > SMA_STATE_SEQ_MAX / 2)
            /* damaged: no program gets so far, and the next one is not to begin behind it */
            continue;
        int row_state = sqlite3_column_int(stmt, 3);
        struct sma_str event = sma_state_column(stmt, 4);
        if (seq >= low && sma_row_is_open(row_state))
            err = sma_state_open_add(state, seq);
        if (err == SMA_ERR_OK && seq > covered && row_state != SMA_ROW_LINE && event.len > 0)
            err = sma_state_claim_add(
                state,
                sma_state_claim_hash(state, (uint32_t)sqlite3_column_int64(stmt, 1),
                                     (uint8_t)sqlite3_column_int(stmt, 2), event),
                seq);
        if (seq >= state->next_seq)
            state->next_seq = seq + 1;
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read the newest messages");
    sma_state_done(stmt);
    return err;
}

/* -- changes ----------------------------------------------------------------------------------- */

static void bind_place(sqlite3_stmt *stmt, int index, int64_t history_offset)
{
    if (history_offset < 0)
        (void)sqlite3_bind_null(stmt, index); /* a valid index cannot fail */
    else
        sma_state_bind_int(stmt, index, (uint64_t)history_offset);
}

/* The row's chat column says whose claim it is; read back, a record of a former key stands for its
 * chat. */
static uint32_t claim_id_of(const struct sma_state_message *message)
{
    return message->claim_id != 0 ? message->claim_id : message->chat->claim_id;
}

static enum sma_err insert_row(struct sma_state *state, const struct sma_state_message *message)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_INSERT);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, state->next_seq);
    sma_state_bind_int(stmt, 2, claim_id_of(message));
    sma_state_bind_int(stmt, 3, message->kind);
    sma_state_bind_int(stmt, 4, message->state);
    sma_state_bind_int(stmt, 5, message->attempt);
    sma_state_bind_int(stmt, 6, message->generation);
    bind_place(stmt, 7, message->history_offset);
    sma_state_bind_int(stmt, 8, message->run_seq);
    sma_state_bind_int(stmt, 9, message->body_hash);
    sma_state_bind(stmt, 10, message->event_key, true);
    sma_state_bind(stmt, 11, message->user_id, true);
    sma_state_bind(stmt, 12, message->line, false);
    sma_state_bind(stmt, 13, message->facts, false);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_accept(struct sma_state *state, const struct sma_state_message *message,
                              uint64_t *ret_seq)
{
    bool is_claim = message->state != SMA_ROW_LINE && message->event_key.len > 0;
    if (message->event_key.len > SMA_ID_BYTES_MAX || message->user_id.len > SMA_ID_BYTES_MAX ||
        (message->history_offset < 0 && message->line.len > 0) ||
        state->next_seq > SMA_STATE_SEQ_MAX)
        return SMA_ERR_BADINPUT;
    if (is_claim && sma_state_is_claims_full(state))
        return SMA_ERR_FULL;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = sma_state_hour_note(state);
    if (err == SMA_ERR_OK)
        err = insert_row(state, message);
    if (err == SMA_ERR_OK && message->state != SMA_ROW_LINE)
        err = sma_state_chat_seen(state, message->chat);
    if (err != SMA_ERR_OK)
        return err;
    uint64_t seq = state->next_seq++;
    if (sma_row_is_open(message->state))
        err = sma_state_row_state_noted(state, seq, message->state);
    if (err == SMA_ERR_OK && is_claim) {
        uint64_t hash =
            sma_state_claim_hash(state, claim_id_of(message), message->kind, message->event_key);
        err = sma_state_claim_add(state, hash, seq);
    }
    if (err != SMA_ERR_OK)
        return sma_state_fail_change(
            state, err); /* the row is there and its claim is not: only undoing helps */
    *ret_seq = seq;
    return SMA_ERR_OK;
}

/* Run an UPDATE of one row. */
static enum sma_err run_update(struct sma_state *state, sqlite3_stmt *stmt, uint64_t seq,
                               int row_state)
{
    enum sma_err err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK && sqlite3_changes(state->db) == 0)
        return SMA_ERR_NOTFOUND;
    return err == SMA_ERR_OK && row_state >= 0 ? sma_state_row_state_noted(state, seq, row_state)
                                               : err;
}

enum sma_err sma_state_upgrade(struct sma_state *state, const struct sma_state_message *message)
{
    if (message->history_offset < 0 && message->line.len > 0)
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_MESSAGE_UPGRADE) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, message->seq);
    sma_state_bind_int(stmt, 2, message->state);
    sma_state_bind_int(stmt, 3, message->generation);
    bind_place(stmt, 4, message->history_offset);
    sma_state_bind_int(stmt, 5, message->run_seq);
    sma_state_bind(stmt, 6, message->line, false);
    sma_state_bind(stmt, 7, message->facts, false);
    return run_update(state, stmt, message->seq, message->state);
}

static enum sma_err update_number(struct sma_state *state, enum sma_state_sql sql, uint64_t seq,
                                  uint64_t number, int row_state)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, sql) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, seq);
    sma_state_bind_int(stmt, 2, number);
    return run_update(state, stmt, seq, row_state);
}

enum sma_err sma_state_set_row_state(struct sma_state *state, uint64_t seq,
                                     enum sma_row_state row_state)
{
    return update_number(state, SMA_SQL_MESSAGE_STATE, seq, row_state, (int)row_state);
}

enum sma_err sma_state_set_attempt(struct sma_state *state, uint64_t seq, uint32_t attempt)
{
    return update_number(state, SMA_SQL_MESSAGE_ATTEMPT, seq, attempt, -1);
}

enum sma_err sma_state_set_facts(struct sma_state *state, uint64_t seq, struct sma_str facts)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_MESSAGE_FACTS) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, seq);
    sma_state_bind(stmt, 2, facts, false);
    return run_update(state, stmt, seq, -1);
}

enum sma_err sma_state_set_run(struct sma_state *state, uint64_t seq, enum sma_row_state row_state,
                               uint64_t run_seq)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_MESSAGE_RUN) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, seq);
    sma_state_bind_int(stmt, 2, row_state);
    sma_state_bind_int(stmt, 3, run_seq);
    return run_update(state, stmt, seq, (int)row_state);
}

/* -- reading ----------------------------------------------------------------------------------- */

enum sma_err sma_state_find_event(struct sma_state *state, struct sma_str event_key, uint64_t count,
                                  uint64_t *ret_seq)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_EVENT);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, event_key, true);
    sma_state_bind_int(stmt, 2, state->next_seq > count ? state->next_seq - count : 0);
    int rc = event_key.len == 0 ? SQLITE_DONE : sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret_seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    enum sma_err err = rc == SQLITE_ROW    ? SMA_ERR_OK
                       : rc == SQLITE_DONE ? SMA_ERR_NOTFOUND
                                           : sma_state_fail(state, rc, "look for a message");
    sma_state_done(stmt);
    return err;
}

/* The row under the statement; its slices are the statement's. */
enum sma_err sma_state_message_row(struct sma_state *state, sqlite3_stmt *stmt,
                                   struct sma_state_message *ret_message)
{
    *ret_message = (struct sma_state_message){
        .seq = (uint64_t)sqlite3_column_int64(stmt, 0),
        .chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 1)),
        .kind = (uint8_t)sqlite3_column_int(stmt, 2),
        .state = (uint8_t)sqlite3_column_int(stmt, 3),
        .attempt = (uint32_t)sqlite3_column_int64(stmt, 4),
        .generation = (uint32_t)sqlite3_column_int64(stmt, 5),
        .history_offset = sma_state_column_place(stmt, 6),
        .run_seq = (uint64_t)sqlite3_column_int64(stmt, 7),
        .body_hash = (uint64_t)sqlite3_column_int64(stmt, 8),
        .event_key = sma_state_column(stmt, 9),
        .user_id = sma_state_column(stmt, 10),
        .line = sma_state_column(stmt, 11),
        .facts = sma_state_column(stmt, 12),
    };
    if (ret_message->chat == NULL)
        return sma_state_damaged(state, "read a message: its chat is not there");
    return SMA_ERR_OK;
}

enum sma_err sma_state_message_get(struct sma_state *state, uint64_t seq,
                                   sma_state_message_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    struct sma_state_message message;
    char *own = NULL;
    if (rc == SQLITE_ROW)
        err = sma_state_message_row(state, stmt, &message);
    else if (rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read a message");
    if (err == SMA_ERR_OK) {
        struct sma_str *const slices[] = {&message.event_key, &message.user_id, &message.line,
                                          &message.facts};
        own = sma_state_own(slices, SMA_COUNT_OF(slices));
        err = own == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    }
    sma_state_done(stmt); /* the read is over: the callback may act */
    if (err == SMA_ERR_OK)
        err = each(user, &message);
    free(own);
    return err;
}
