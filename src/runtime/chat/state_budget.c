/* What was spent, by day, and the shares that open messages hold. See state_budget.h. */
#include "runtime/chat/state_budget.h"

#include "runtime/chat/state_priv.h"

static SMA_CHECKED enum sma_err begin_change(struct sma_state *state, enum sma_state_sql sql,
                                             sqlite3_stmt **ret_stmt)
{
    SMA_TRY(sma_state_change(state));
    *ret_stmt = sma_state_statement(state, sql);
    return *ret_stmt != NULL ? SMA_ERR_OK : state->error.code;
}

/* What a server says is not believed without end: a sum of sums must stay a number. */
#define NUMBER_MAX ((int64_t)SMA_STATE_SPENT_MAX)

static void bind_spent(sqlite3_stmt *stmt, int index, const struct sma_state_spent *spent)
{
    const uint64_t numbers[] = {spent->tokens, spent->cost_nano, spent->runs};
    const uint64_t max = (uint64_t)NUMBER_MAX;
    for (int i = 0; i < 3; i++)
        sma_state_bind_int(stmt, index + i, numbers[i] < max ? numbers[i] : max);
}

/* Nor is a damaged row. */
static uint64_t number_at(sqlite3_stmt *stmt, int column, int64_t max)
{
    int64_t number = sqlite3_column_int64(stmt, column);
    return (uint64_t)(number < 0 ? 0 : number > max ? max : number);
}

static struct sma_state_spent spent_at(sqlite3_stmt *stmt, int column, int64_t max)
{
    return (struct sma_state_spent){.tokens = number_at(stmt, column, max),
                                    .cost_nano = number_at(stmt, column + 1, max),
                                    .runs = number_at(stmt, column + 2, max)};
}

/* -- spent ------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err write_spent(struct sma_state *state, enum sma_state_sql sql,
                                            const struct sma_state_spent *value, unsigned scope,
                                            struct sma_str name, int64_t day)
{
    sqlite3_stmt *stmt;
    SMA_TRY(begin_change(state, sql, &stmt));
    sma_state_bind_int(stmt, 1, scope);
    sma_state_bind(stmt, 2, name, true);
    (void)sqlite3_bind_int64(stmt, 3, day); /* a valid index cannot fail */
    bind_spent(stmt, 4, value);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_spent_add(struct sma_state *state, unsigned scope, struct sma_str name,
                                 int64_t day, const struct sma_state_spent *more)
{
    return write_spent(state, SMA_SQL_SPENT_ADD, more, scope, name, day);
}

enum sma_err sma_state_spent_set(struct sma_state *state, unsigned scope, struct sma_str name,
                                 int64_t day, const struct sma_state_spent *value)
{
    return write_spent(state, SMA_SQL_SPENT_SET, value, scope, name, day);
}

enum sma_err sma_state_spent_sum(struct sma_state *state, unsigned scope, struct sma_str name,
                                 const int64_t days[2], struct sma_state_spent *ret_sum)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_SPENT_SUM);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, scope);
    sma_state_bind(stmt, 2, name, true);
    (void)sqlite3_bind_int64(stmt, 3, days[0]); /* a valid index cannot fail */
    (void)sqlite3_bind_int64(stmt, 4, days[1]);
    int rc = sqlite3_step(stmt); /* one row, always */
    if (rc == SQLITE_ROW)
        *ret_sum = spent_at(stmt, 0, INT64_MAX);
    sma_state_done(stmt);
    return rc == SQLITE_ROW ? SMA_ERR_OK : sma_state_fail(state, rc, "sum up what was spent");
}

enum sma_err sma_state_spent_fill(struct sma_state *state, int64_t from_day)
{
    static const enum sma_state_sql fills[] = {SMA_SQL_SPENT_FILL_PERSONS, SMA_SQL_SPENT_FILL_CHATS,
                                               SMA_SQL_SPENT_FILL_PLATFORMS,
                                               SMA_SQL_SPENT_FILL_TOTAL};
    sqlite3_stmt *stmt;
    SMA_TRY(begin_change(state, SMA_SQL_SPENT_CLEAR, &stmt));
    SMA_TRY(sma_state_run(state, stmt));
    for (size_t i = 0; i < SMA_COUNT_OF(fills); i++) {
        SMA_TRY(begin_change(state, fills[i], &stmt));
        (void)sqlite3_bind_int64(stmt, 1, from_day);
        SMA_TRY(sma_state_run(state, stmt));
    }
    return SMA_ERR_OK;
}

enum sma_err sma_state_keep_spent(struct sma_state *state, int64_t before_day, uint32_t rows_max,
                                  uint32_t *ret_removed)
{
    sqlite3_stmt *stmt;
    *ret_removed = 0;
    SMA_TRY(begin_change(state, SMA_SQL_KEEP_SPENT, &stmt));
    (void)sqlite3_bind_int64(stmt, 1, before_day);
    sma_state_bind_int(stmt, 2, rows_max);
    SMA_TRY(sma_state_run(state, stmt));
    *ret_removed = (uint32_t)sqlite3_changes(state->db);
    return SMA_ERR_OK;
}

/* -- shares ------------------------------------------------------------------------------------ */
enum sma_err sma_state_share_set(struct sma_state *state, const struct sma_state_share *share)
{
    sqlite3_stmt *stmt;
    SMA_TRY(begin_change(state, SMA_SQL_SHARE_SET, &stmt));
    sma_state_bind_int(stmt, 1, share->seq);
    sma_state_bind_int(stmt, 2, share->chat_id);
    sma_state_bind(stmt, 3, share->person, true);
    sma_state_bind(stmt, 4, share->platform, true);
    bind_spent(stmt, 5, &share->held);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_share_remove(struct sma_state *state, uint64_t seq)
{
    sqlite3_stmt *stmt;
    SMA_TRY(begin_change(state, SMA_SQL_SHARE_REMOVE, &stmt));
    sma_state_bind_int(stmt, 1, seq);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_shares_sweep(struct sma_state *state)
{
    sqlite3_stmt *stmt;
    SMA_TRY(begin_change(state, SMA_SQL_SHARE_SWEEP, &stmt));
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_each_share(struct sma_state *state, sma_state_share_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_SHARE_EACH);
    if (stmt == NULL)
        return state->error.code;
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    state->live_reads++;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = each(user, &(struct sma_state_share){
                             .seq = (uint64_t)sqlite3_column_int64(stmt, 0),
                             .chat_id = (uint32_t)sqlite3_column_int64(stmt, 1),
                             .person = sma_state_column(stmt, 2),
                             .platform = sma_state_column(stmt, 3),
                             .held = spent_at(stmt, 4, NUMBER_MAX),
                         });
    state->live_reads--;
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read shares of budgets");
    sma_state_done(stmt);
    return err;
}
