/* Rows as copies that belong to the caller. */
#include "runtime/chat/state_priv.h"

#include "sma/messages.h"

/* Room for one more item of a list: twice as many in a new place, the old place stays until all is
 * freed. */
static void *list_grow(struct sma_state_rows *rows, void *items, size_t count, size_t item_bytes)
{
    bool is_full = count == 0 || (count >= 8 && (count & (count - 1)) == 0);
    if (!is_full)
        return items;
    void *grown = sma_state_rows_take(rows, (count == 0 ? 8 : count * 2) * item_bytes);
    if (grown != NULL && count > 0)
        memcpy(grown, items, count * item_bytes);
    return grown;
}

/* -- one row ----------------------------------------------------------------------------------- */

/* @return OK: there is a row, the statement is to be ended by the caller */
static enum sma_err step_to_row(struct sma_state *state, sqlite3_stmt *stmt, const char *what)
{
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return SMA_ERR_OK;
    enum sma_err err = rc == SQLITE_DONE ? SMA_ERR_NOTFOUND : sma_state_fail_row(state, rc, what);
    sma_state_done(stmt);
    return err;
}

static sqlite3_stmt *bind_one(struct sma_state *state, enum sma_state_sql sql, uint64_t number)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt != NULL)
        (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)number); /* a valid index cannot fail */
    return stmt;
}

static sqlite3_stmt *bind_two(struct sma_state *state, enum sma_state_sql sql, uint64_t number,
                              uint64_t second)
{
    sqlite3_stmt *stmt = bind_one(state, sql, number);
    if (stmt != NULL)
        (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)second); /* a valid index cannot fail */
    return stmt;
}

/* -- messages ---------------------------------------------------------------------------------- */
static enum sma_err own_message(struct sma_state *state, sqlite3_stmt *stmt,
                                struct sma_state_rows *rows, struct sma_state_message *ret_message)
{
    enum sma_err err = sma_state_message_row(state, stmt, ret_message);
    struct sma_str *const slices[] = {&ret_message->event_key, &ret_message->user_id,
                                      &ret_message->line, &ret_message->facts};
    if (err == SMA_ERR_OK)
        err = sma_state_rows_own(rows, slices, SMA_COUNT_OF(slices));
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_message_read(struct sma_state *state, uint64_t seq,
                                    struct sma_state_rows *rows,
                                    struct sma_state_message *ret_message)
{
    sqlite3_stmt *stmt = bind_one(state, SMA_SQL_MESSAGE_GET, seq);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = step_to_row(state, stmt, "read a message");
    return err == SMA_ERR_OK ? own_message(state, stmt, rows, ret_message) : err;
}

enum sma_err sma_state_unflushed_next(struct sma_state *state, uint64_t after,
                                      struct sma_state_rows *rows,
                                      struct sma_state_message *ret_message)
{
    sqlite3_stmt *stmt = bind_one(state, SMA_SQL_MESSAGE_LINE_NEXT, after);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = step_to_row(state, stmt, "read a history line");
    if (err != SMA_ERR_OK)
        return err;
    uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    sma_state_done(stmt);
    err = sma_state_message_read(state, seq, rows, ret_message);
    ret_message->seq = seq;
    return err;
}

/* -- runs -------------------------------------------------------------------------------------- */
enum sma_err sma_state_steps_read(struct sma_state *state, uint64_t seq,
                                  struct sma_state_rows *rows, struct sma_state_steps *ret_steps)
{
    sqlite3_stmt *stmt = bind_two(state, SMA_SQL_STEP_EACH, seq << 10, (seq + 1) << 10);
    struct sma_state_steps list = {NULL, 0};
    enum sma_err err = stmt == NULL ? state->error.code : SMA_ERR_OK;
    while (err == SMA_ERR_OK && (err = step_to_row(state, stmt, "read steps")) == SMA_ERR_OK) {
        struct sma_state_step step = {
            .seq = seq,
            .number = (uint32_t)(sqlite3_column_int64(stmt, 0) & SMA_STATE_STEP_NUMBER_MAX),
            .kind = (uint8_t)sqlite3_column_int(stmt, 1),
            .data = sma_state_column(stmt, 2),
        };
        struct sma_str *const slices[] = {&step.data};
        err = sma_state_rows_own(rows, slices, 1);
        void *grown = list_grow(rows, list.items, list.count, sizeof *list.items);
        if (err != SMA_ERR_OK || grown == NULL) {
            sma_state_done(stmt);
            return SMA_ERR_NOMEM;
        }
        list.items = grown;
        list.items[list.count++] = step;
    }
    *ret_steps = list;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

/* -- outbox ------------------------------------------------------------------------------------ */
static enum sma_err own_delivery(struct sma_state *state, sqlite3_stmt *stmt,
                                 struct sma_state_rows *rows,
                                 struct sma_state_delivery *ret_delivery)
{
    enum sma_err err = sma_state_delivery_row(state, stmt, ret_delivery);
    struct sma_str *const slices[] = {&ret_delivery->channel, &ret_delivery->error,
                                      &ret_delivery->route, &ret_delivery->text};
    return err == SMA_ERR_OK ? sma_state_rows_own(rows, slices, SMA_COUNT_OF(slices)) : err;
}

static SMA_CHECKED enum sma_err read_delivery(struct sma_state *state, enum sma_state_sql sql,
                                              uint64_t outbox_id, struct sma_state_rows *rows,
                                              struct sma_state_delivery *ret_delivery)
{
    sqlite3_stmt *stmt = bind_one(state, sql, outbox_id);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = step_to_row(state, stmt, "read a delivery");
    if (err != SMA_ERR_OK)
        return err;
    err = own_delivery(state, stmt, rows, ret_delivery);
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_delivery_read(struct sma_state *state, uint64_t outbox_id,
                                     struct sma_state_rows *rows,
                                     struct sma_state_delivery *ret_delivery)
{
    return read_delivery(state, SMA_SQL_OUTBOX_GET, outbox_id, rows, ret_delivery);
}

enum sma_err sma_state_delivery_head_read(struct sma_state *state, uint64_t outbox_id,
                                          struct sma_state_rows *rows,
                                          struct sma_state_delivery *ret_delivery)
{
    return read_delivery(state, SMA_SQL_OUTBOX_HEAD, outbox_id, rows, ret_delivery);
}

enum sma_err sma_state_deliveries_read(struct sma_state *state, uint64_t seq,
                                       struct sma_state_rows *rows,
                                       struct sma_state_deliveries *ret_deliveries)
{
    sqlite3_stmt *stmt = bind_two(state, SMA_SQL_OUTBOX_RUN, seq << 16, (seq + 1) << 16);
    struct sma_state_deliveries list = {NULL, 0};
    enum sma_err err = stmt == NULL ? state->error.code : SMA_ERR_OK;
    while (err == SMA_ERR_OK && (err = step_to_row(state, stmt, "read deliveries")) == SMA_ERR_OK) {
        struct sma_state_delivery delivery;
        err = own_delivery(state, stmt, rows, &delivery);
        void *grown = list_grow(rows, list.items, list.count, sizeof *list.items);
        if (err == SMA_ERR_OK && grown == NULL)
            err = SMA_ERR_NOMEM;
        if (err != SMA_ERR_OK) {
            sma_state_done(stmt);
            return err;
        }
        list.items = grown;
        list.items[list.count++] = delivery;
    }
    *ret_deliveries = list;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_state_outbox_open_read(struct sma_state *state, struct sma_state_rows *rows,
                                        struct sma_state_ids *ret_ids)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_OUTBOX_OPEN);
    struct sma_state_ids list = {NULL, 0};
    enum sma_err err = stmt == NULL ? state->error.code : SMA_ERR_OK;
    int rc = SQLITE_DONE;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        void *grown = list_grow(rows, list.items, list.count, sizeof *list.items);
        if (grown == NULL) {
            sma_state_done(stmt);
            return SMA_ERR_NOMEM;
        }
        list.items = grown;
        list.items[list.count++] = (uint64_t)sqlite3_column_int64(stmt, 0);
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read open deliveries");
    if (stmt != NULL)
        sma_state_done(stmt);
    *ret_ids = list;
    return err;
}

/* -- approvals --------------------------------------------------------------------------------- */
enum sma_err sma_state_approval_read(struct sma_state *state, struct sma_str id,
                                     struct sma_state_rows *rows,
                                     struct sma_state_approval *ret_approval)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_APPROVAL_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, id, true);
    enum sma_err err = step_to_row(state, stmt, "read an approval");
    if (err != SMA_ERR_OK)
        return err;
    err = sma_state_approval_row(state, stmt, ret_approval);
    struct sma_str *const slices[] = {&ret_approval->id, &ret_approval->request,
                                      &ret_approval->doc};
    if (err == SMA_ERR_OK)
        err = sma_state_rows_own(rows, slices, SMA_COUNT_OF(slices));
    sma_state_done(stmt);
    return err;
}

/* The ids a bound statement answers with. */
struct approval_ids
{
    struct sma_str *ids;
    size_t count;
};

static enum sma_err read_ids(struct sma_state *state, sqlite3_stmt *stmt,
                             struct sma_state_rows *rows, struct approval_ids *ret_list)
{
    struct approval_ids list = {NULL, 0};
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_DONE;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct sma_str id = sma_state_column(stmt, 0);
        struct sma_str *const slices[] = {&id};
        err = sma_state_rows_own(rows, slices, 1);
        void *grown = list_grow(rows, list.ids, list.count, sizeof *list.ids);
        if (grown == NULL)
            err = SMA_ERR_NOMEM;
        else
            list.ids = grown;
        if (err == SMA_ERR_OK)
            list.ids[list.count++] = id;
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read approvals");
    sma_state_done(stmt);
    *ret_list = list;
    return err;
}

enum sma_err sma_state_approval_ids(struct sma_state *state, struct sma_str beginning,
                                    struct sma_state_rows *rows, struct sma_str ids[2],
                                    uint32_t *ret_count)
{
    char end[SMA_STATE_APPROVAL_ID_BYTES + 1];
    *ret_count = 0;
    if (beginning.len == 0 || beginning.len > SMA_STATE_APPROVAL_ID_BYTES)
        return SMA_ERR_NOTFOUND;
    memcpy(end, beginning.ptr, beginning.len);
    end[beginning.len] = '~'; /* behind every hex digit */
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_APPROVAL_IDS);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, beginning, true);
    sma_state_bind(stmt, 2, (struct sma_str){end, beginning.len + 1}, true);
    struct approval_ids list;
    enum sma_err err = read_ids(state, stmt, rows, &list);
    for (size_t i = 0; err == SMA_ERR_OK && i < list.count && i < 2; i++)
        ids[(*ret_count)++] = list.ids[i];
    return err == SMA_ERR_OK && *ret_count == 0 ? SMA_ERR_NOTFOUND : err;
}

#define ASKED_LEFT_MS_MAX (INT64_C(3660) * 86400000) /* ten years: nobody is asked for longer */

static struct sma_state_asked asked_of(struct sma_state *state, sqlite3_stmt *stmt)
{
    static const int types[] = {SQLITE_TEXT, SQLITE_INTEGER, SQLITE_INTEGER, SQLITE_INTEGER,
                                SQLITE_INTEGER};
    struct sma_state_asked asked = {0};
    for (int i = 0; i < (int)SMA_COUNT_OF(types); i++)
        asked.is_damaged = asked.is_damaged || sqlite3_column_type(stmt, i) != types[i];
    asked.id = sma_state_column(stmt, 0);
    asked.run_seq = (uint64_t)sqlite3_column_int64(stmt, 1);
    asked.chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 2));
    int64_t step = sqlite3_column_int64(stmt, 3);
    asked.is_damaged =
        asked.is_damaged || asked.chat == NULL || step <= 0 || step >= SMA_STATE_STEP_NUMBER_MAX;
    struct sma_state_chat *chat =
        sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 5));
    asked.is_damaged = asked.is_damaged || asked.chat != chat;
    asked.chat = chat;
    asked.is_lost = chat == NULL || sqlite3_column_int64(stmt, 6) != SMA_ROW_PARKED;
    asked.step = (uint32_t)step;
    asked.left_ms = sqlite3_column_int64(stmt, 4);
    asked.is_damaged = asked.is_damaged || asked.left_ms < -1 || asked.left_ms > ASKED_LEFT_MS_MAX;
    return asked;
}

enum sma_err sma_state_asked_read(struct sma_state *state, struct sma_state_rows *rows,
                                  struct sma_state_asked_list *ret_list)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ASKED_EACH);
    struct sma_state_asked_list list = {NULL, 0};
    enum sma_err err = stmt == NULL ? state->error.code : SMA_ERR_OK;
    int rc = SQLITE_DONE;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct sma_state_asked asked = asked_of(state, stmt);
        struct sma_str *const slices[] = {&asked.id};
        err = sma_state_rows_own(rows, slices, 1);
        void *grown = list_grow(rows, list.items, list.count, sizeof *list.items);
        if (grown == NULL)
            err = SMA_ERR_NOMEM;
        else
            list.items = grown;
        if (err == SMA_ERR_OK)
            list.items[list.count++] = asked;
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read open approvals");
    if (stmt != NULL)
        sma_state_done(stmt);
    *ret_list = list;
    return err;
}

enum sma_err sma_state_asked_drop(struct sma_state *state, uint64_t run_seq)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? bind_one(state, SMA_SQL_ASKED_DROP, run_seq) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_places_read(struct sma_state *state, uint64_t first_id, uint64_t last_id,
                                   uint8_t intent, struct sma_state_rows *rows,
                                   struct sma_state_places *ret_places)
{
    sqlite3_stmt *stmt = bind_two(state, SMA_SQL_OUTBOX_PLACES, first_id, last_id);
    struct sma_state_places list = {NULL, 0};
    enum sma_err err = stmt == NULL ? state->error.code : SMA_ERR_OK;
    if (stmt != NULL)
        (void)sqlite3_bind_int(stmt, 3, intent); /* a valid index cannot fail */
    int rc = SQLITE_DONE;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        void *grown = list_grow(rows, list.items, list.count, sizeof *list.items);
        if (grown == NULL) {
            err = SMA_ERR_NOMEM;
            break;
        }
        list.items = grown;
        list.items[list.count++] = (struct sma_state_place){
            .outbox_id = (uint64_t)sqlite3_column_int64(stmt, 0),
            .chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 1))};
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail_row(state, rc, "read where deliveries go");
    if (stmt != NULL)
        sma_state_done(stmt);
    *ret_places = list;
    return err;
}

enum sma_err sma_state_each_delivery(struct sma_state *state, uint64_t seq,
                                     sma_state_delivery_fn *each, void *user)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_deliveries deliveries;
    SMA_TRY(sma_state_deliveries_read(state, seq, &rows, &deliveries));
    for (size_t i = 0; i < deliveries.count; i++)
        SMA_TRY(each(user, &deliveries.items[i]));
    return SMA_ERR_OK;
}
