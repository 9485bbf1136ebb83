/* Permissions that last. */
#include "runtime/chat/state_grants.h"
#include "runtime/chat/state_priv.h"

/* -- reading ----------------------------------------------------------------------------------- */
static struct sma_state_grant *add_item(struct sma_state_rows *rows, struct sma_state_grants *list)
{
    size_t count = list->count;
    if (count == 0 || (count >= 8 && (count & (count - 1)) == 0)) {
        void *grown = sma_state_rows_take(rows, (count == 0 ? 8 : count * 2) * sizeof *list->items);
        if (grown == NULL)
            return NULL;
        if (count > 0)
            memcpy(grown, list->items, count * sizeof *list->items);
        list->items = grown;
    }
    return &list->items[list->count++];
}

/* What was to be a number reads as 0 when it is none, and until 0 is for good. */
static bool is_damaged(sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        if (sqlite3_column_type(stmt, i) !=
            (i == 0 || (i >= 2 && i <= 4) ? SQLITE_INTEGER : SQLITE_TEXT))
            return true;
    return false;
}

/* The rows of a bound statement, as copies behind those that list has. */
static SMA_CHECKED enum sma_err read_all(struct sma_state *state, sqlite3_stmt *stmt,
                                         struct sma_state_rows *rows, struct sma_state_grants *list)
{
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct sma_state_grant *grant = add_item(rows, list);
        if (grant == NULL) {
            err = SMA_ERR_NOMEM;
            break;
        }
        *grant = (struct sma_state_grant){
            .is_damaged = is_damaged(stmt), /* before reading converts */
            .seq = (uint64_t)sqlite3_column_int64(stmt, 0),
            .id = sma_state_column(stmt, 1),
            .chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 2)),
            .created_ms = sqlite3_column_int64(stmt, 3),
            .until_ms = sqlite3_column_int64(stmt, 4),
            .tool = sma_state_column(stmt, 5),
            .rule = sma_state_column(stmt, 6),
            .by = sma_state_column(stmt, 7)};
        struct sma_str *const slices[] = {&grant->id, &grant->tool, &grant->rule, &grant->by};
        err = sma_state_rows_own(rows, slices, SMA_COUNT_OF(slices));
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail_row(state, rc, "read permissions");
    sma_state_done(stmt);
    return err;
}

static SMA_CHECKED enum sma_err read_of_record(struct sma_state *state,
                                               const struct sma_state_chat *chat,
                                               struct sma_state_rows *rows,
                                               struct sma_state_grants *list)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_GRANT_OF_CHAT);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, chat->id);
    return read_all(state, stmt, rows, list);
}

/* Two short lists, each in order, become one. */
static void sort(struct sma_state_grants *list)
{
    for (size_t i = 1; i < list->count; i++) {
        struct sma_state_grant grant = list->items[i];
        size_t at = i;
        for (; at > 0 && list->items[at - 1].seq > grant.seq; at--)
            list->items[at] = list->items[at - 1];
        list->items[at] = grant;
    }
}

enum sma_err sma_state_grants_read(struct sma_state *state, const struct sma_state_chat *chat,
                                   struct sma_state_rows *rows, struct sma_state_grants *ret_grants)
{
    struct sma_state_grants list = {NULL, 0};
    enum sma_err err = SMA_ERR_OK;
    uint32_t records = 0;
    for (; chat != NULL && err == SMA_ERR_OK; chat = sma_state_chat_next_former(chat), records++)
        err = read_of_record(state, chat, rows, &list);
    if (records > 1)
        sort(&list);
    *ret_grants = list;
    return err;
}

enum sma_err sma_state_grants_find(struct sma_state *state, struct sma_str beginning,
                                   struct sma_state_rows *rows, struct sma_state_grants *ret_grants)
{
    char end[SMA_STATE_GRANT_ID_BYTES_MAX + 1];
    *ret_grants = (struct sma_state_grants){NULL, 0};
    if (beginning.len == 0 || beginning.len >= sizeof end)
        return SMA_ERR_OK;
    memcpy(end, beginning.ptr, beginning.len);
    end[beginning.len] = '~'; /* behind every hex digit */
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_GRANT_FIND);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, beginning, true);
    sma_state_bind(stmt, 2, (struct sma_str){end, beginning.len + 1}, true);
    return read_all(state, stmt, rows, ret_grants);
}

enum sma_err sma_state_grants_next(struct sma_state *state, uint64_t after, uint32_t count_max,
                                   struct sma_state_rows *rows, struct sma_state_grants *ret_grants)
{
    *ret_grants = (struct sma_state_grants){NULL, 0};
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_GRANT_NEXT);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, (int64_t)after);
    sma_state_bind_int(stmt, 2, count_max);
    return read_all(state, stmt, rows, ret_grants);
}

/* -- changing ---------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err remove_one(struct sma_state *state, struct sma_str id)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_GRANT_DELETE);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, id, true);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_grant_remove(struct sma_state *state, struct sma_str id)
{
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = remove_one(state, id);
    return err == SMA_ERR_OK && sqlite3_changes(state->db) == 0 ? SMA_ERR_NOTFOUND : err;
}

static SMA_CHECKED enum sma_err make_room(struct sma_state *state,
                                          const struct sma_state_grant *grant)
{
    struct sma_state_rows rows = {0};
    struct sma_state_grants list;
    enum sma_err err = sma_state_grants_read(state, grant->chat, &rows, &list);
    size_t kept = 0;
    for (size_t i = 0; i < list.count && err == SMA_ERR_OK; i++) {
        const struct sma_state_grant *at = &list.items[i];
        if (sma_str_is_equal(at->tool, grant->tool) && sma_str_is_equal(at->rule, grant->rule))
            err = remove_one(state, at->id);
        else
            list.items[kept++] = *at;
    }
    for (size_t i = 0; i + SMA_GRANT_COUNT_MAX <= kept && err == SMA_ERR_OK; i++)
        err = remove_one(state, list.items[i].id);
    sma_state_rows_free(&rows);
    return err;
}

enum sma_err sma_state_grant_add(struct sma_state *state, const struct sma_state_grant *grant)
{
    if (grant->id.len == 0 || grant->id.len > SMA_STATE_GRANT_ID_BYTES_MAX)
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = make_room(state, grant);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_GRANT_INSERT) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, grant->id, true);
    sma_state_bind_int(stmt, 2, grant->chat->id);
    sma_state_bind_int(stmt, 3, grant->created_ms);
    sma_state_bind_int(stmt, 4, grant->until_ms);
    sma_state_bind(stmt, 5, grant->tool, true);
    sma_state_bind(stmt, 6, grant->rule, true);
    sma_state_bind(stmt, 7, grant->by, true);
    err = sma_state_run(state, stmt);
    return err == SMA_ERR_OK && sqlite3_changes(state->db) == 0 ? SMA_ERR_EXISTS : err;
}

enum sma_err sma_state_grants_forget(struct sma_state *state, int64_t before_ms, uint32_t count_max,
                                     uint32_t *ret_removed)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_GRANT_FORGET) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, before_ms);
    sma_state_bind_int(stmt, 2, count_max);
    err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK)
        *ret_removed = (uint32_t)sqlite3_changes(state->db);
    return err;
}
