/* Members of requests that targets refuse. */
#include "runtime/chat/state_priv.h"

#define DAY_MS INT64_C(86400000)

static SMA_CHECKED enum sma_err run_change(struct sma_state *state, sqlite3_stmt *stmt)
{
    return stmt == NULL ? state->error.code : sma_state_run(state, stmt);
}

/* Room for one more: of other targets, and of other members of this one. */
static SMA_CHECKED enum sma_err make_room(struct sma_state *state, struct sma_str target,
                                          struct sma_str member)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_LEARNED_CUT_TARGETS);
    if (stmt != NULL) {
        sma_state_bind(stmt, 1, target, true);
        (void)sqlite3_bind_int(stmt, 2, SMA_LEARNED_TARGET_COUNT_MAX - 1);
    }
    SMA_TRY(run_change(state, stmt));
    stmt = sma_state_statement(state, SMA_SQL_LEARNED_CUT_MEMBERS);
    if (stmt != NULL) {
        sma_state_bind(stmt, 1, target, true);
        (void)sqlite3_bind_int(stmt, 2, SMA_LEARNED_MEMBER_COUNT_MAX - 1);
        sma_state_bind(stmt, 3, member, true);
    }
    return run_change(state, stmt);
}

enum sma_err sma_state_learn(struct sma_state *state, struct sma_str target, struct sma_str member,
                             int64_t now_ms)
{
    if (target.len == 0 || member.len == 0 || target.len > SMA_LEARNED_BYTES_MAX ||
        member.len > SMA_LEARNED_BYTES_MAX)
        return SMA_ERR_BADINPUT;
    SMA_TRY(sma_state_change(state));
    SMA_TRY(make_room(state, target, member));
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_LEARNED_PUT);
    if (stmt != NULL) {
        sma_state_bind(stmt, 1, target, true);
        sma_state_bind(stmt, 2, member, true);
        (void)sqlite3_bind_int64(stmt, 3, now_ms);
    }
    return run_change(state, stmt);
}

/* From when on facts count, and until when: a clock may have been ahead by then. */
static void bind_span(sqlite3_stmt *stmt, int64_t now_ms)
{
    (void)sqlite3_bind_int64(stmt, 1, now_ms - SMA_LEARNED_DAYS * DAY_MS); /* a valid index */
    (void)sqlite3_bind_int64(stmt, 2, now_ms + DAY_MS);
}

enum sma_err sma_state_learned_forget(struct sma_state *state, int64_t now_ms)
{
    SMA_TRY(sma_state_change(state));
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_LEARNED_FORGET);
    if (stmt != NULL)
        bind_span(stmt, now_ms);
    return run_change(state, stmt);
}

enum sma_err sma_state_each_learned(struct sma_state *state, int64_t now_ms,
                                    sma_state_pair_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_LEARNED_EACH);
    if (stmt == NULL)
        return state->error.code;
    bind_span(stmt, now_ms);
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    state->live_reads++;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = each(user, sma_state_column(stmt, 0), sma_state_column(stmt, 1));
    state->live_reads--;
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read what targets refuse");
    sma_state_done(stmt);
    return err;
}
