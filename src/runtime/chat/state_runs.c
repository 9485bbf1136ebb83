/* Steps of open runs and results of finished ones. */
#include "runtime/chat/state_priv.h"

#include "sma/messages.h"

#include <stdlib.h>

#define TRACE_BYTES_MAX (1024 * 1024) /* of one run; a step has at most 1 KiB */
#define STEP_SHIFT 10                 /* steps.id = seq << STEP_SHIFT | number */
_Static_assert(SMA_STATE_STEP_NUMBER_MAX < (1 << STEP_SHIFT), "a step number fits into its id");

static void bind_usage(sqlite3_stmt *stmt, int index, const struct sma_usage *usage,
                       char bytes[SMA_STATE_USAGE_BYTES])
{
    struct sma_str put = sma_state_usage_put(usage, bytes);
    if (put.len == 0)
        (void)sqlite3_bind_null(stmt, index); /* a valid index cannot fail */
    else
        sma_state_bind(stmt, index, put, false);
}

static void bind_trace(sqlite3_stmt *stmt, int index, struct sma_str trace)
{
    if (trace.len == 0)
        (void)sqlite3_bind_null(stmt, index); /* a valid index cannot fail */
    else
        sma_state_bind(stmt, index, trace, false);
}

static sqlite3_stmt *bind_run(struct sma_state *state, enum sma_state_sql sql, uint64_t seq)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt == NULL)
        return NULL;
    sma_state_bind_int(stmt, 1, seq << STEP_SHIFT);
    sma_state_bind_int(stmt, 2, (seq + 1) << STEP_SHIFT);
    return stmt;
}

enum sma_err sma_state_step_add(struct sma_state *state, uint64_t seq, uint32_t number,
                                uint8_t kind, struct sma_str data)
{
    return sma_state_step_add_used(
        state, &(struct sma_state_step){.seq = seq, .number = number, .kind = kind, .data = data});
}

enum sma_err sma_state_step_add_used(struct sma_state *state, const struct sma_state_step *step)
{
    uint64_t seq = step->seq;
    uint32_t number = step->number;
    if (number == 0 || number > SMA_STATE_STEP_NUMBER_MAX || seq == 0 || seq > SMA_STATE_SEQ_MAX)
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_STEP_INSERT) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, seq << STEP_SHIFT | number);
    sma_state_bind_int(stmt, 2, step->kind);
    sma_state_bind(stmt, 3, step->data, false);
    char bytes[SMA_STATE_USAGE_BYTES];
    bind_usage(stmt, 4, step->usage, bytes);
    bind_trace(stmt, 5, step->trace);
    err = sma_state_run(state, stmt);
    return err == SMA_ERR_OK && sqlite3_changes(state->db) == 0 ? SMA_ERR_EXISTS : err;
}

enum sma_err sma_state_steps_usage(struct sma_state *state, uint64_t seq, struct sma_usage *sum)
{
    sqlite3_stmt *stmt = bind_run(state, SMA_SQL_STEP_USAGE, seq);
    if (stmt == NULL)
        return state->error.code;
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct sma_usage usage;
        sma_state_usage_get(sma_state_column(stmt, 0), &usage);
        sma_usage_add(sum, &usage);
    }
    enum sma_err err = rc == SQLITE_DONE ? SMA_ERR_OK : sma_state_fail(state, rc, "read usage");
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_step_last(struct sma_state *state, uint64_t seq, uint32_t *ret_number)
{
    sqlite3_stmt *stmt = bind_run(state, SMA_SQL_STEP_LAST, seq);
    if (stmt == NULL)
        return state->error.code;
    int rc = sqlite3_step(stmt);
    uint32_t number = rc == SQLITE_ROW
                          ? (uint32_t)(sqlite3_column_int64(stmt, 0) & SMA_STATE_STEP_NUMBER_MAX)
                          : 0;
    sma_state_done(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return sma_state_fail(state, rc, "read the last step");
    *ret_number = number;
    return SMA_ERR_OK;
}

/* -- the trace --------------------------------------------------------------------------------- */
/* Rows of one column, appended. */
static enum sma_err append_traces(struct sma_state *state, sqlite3_stmt *stmt, struct sma_buf *out)
{
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        sma_buf_put_str(out, sma_state_column(stmt, 0));
    enum sma_err err = rc == SQLITE_DONE ? out->err : sma_state_fail(state, rc, "read a trace");
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_trace_get(struct sma_state *state, uint64_t seq, struct sma_buf *out)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_RUN_TRACE);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    SMA_TRY(append_traces(state, stmt, out));
    stmt = bind_run(state, SMA_SQL_STEP_TRACE, seq); /* of an open run: a finished one has none */
    return stmt == NULL ? state->error.code : append_traces(state, stmt, out);
}

static enum sma_err write_result(struct sma_state *state, const struct sma_state_finish *finish,
                                 struct sma_str trace)
{
    uint64_t total = 0;
    enum sma_err err = sma_state_results_add(
        state, finish->output.len + finish->tool_calls_json.len + trace.len + 64, &total);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_RUN_INSERT) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, finish->seq);
    sma_state_bind_int(stmt, 2, finish->outcome);
    sma_state_bind_int(stmt, 3, finish->is_success);
    sma_state_bind_int(stmt, 4, (uint64_t)finish->wall_ms);
    sma_state_bind(stmt, 5, finish->output, true);
    sma_state_bind(stmt, 6, finish->tool_calls_json, true);
    char bytes[SMA_STATE_USAGE_BYTES];
    bind_usage(stmt, 7, finish->usage, bytes);
    bind_trace(stmt, 8, trace);
    sma_state_bind_int(stmt, 9, total);
    return sma_state_run(state, stmt);
}

/* What the steps hold, which go now, and what came after them. A buffer is needed only where there
 * are both. */
static enum sma_err write_traced_result(struct sma_state *state,
                                        const struct sma_state_finish *finish)
{
    sqlite3_stmt *stmt = bind_run(state, SMA_SQL_STEP_TRACE, finish->seq);
    if (stmt == NULL)
        return state->error.code;
    struct sma_buf trace;
    sma_buf_init(&trace, TRACE_BYTES_MAX);
    (void)append_traces(state, stmt,
                        &trace); /* it only tells: a result is stored without it, too */
    if (trace.len > 0)
        sma_buf_put_str(&trace, finish->trace);
    enum sma_err err =
        write_result(state, finish, trace.len > 0 ? sma_buf_str(&trace) : finish->trace);
    sma_buf_fini(&trace);
    return err;
}

enum sma_err sma_state_finish(struct sma_state *state, const struct sma_state_finish *finish)
{
    SMA_ASSERT(!sma_row_is_open(finish->state));
    struct sma_state_head head;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = sma_state_head_get(state, finish->seq, &head);
    if (err != SMA_ERR_OK)
        return err;
    if (!sma_row_is_open(head.state))
        return SMA_ERR_EXISTS;
    struct sma_state_chat *chat = sma_state_chat_by_id(state, head.chat_id);
    if (chat == NULL)
        return sma_state_damaged(state, "finish a run: its chat is not there");
    err = sma_state_set_row_state(state, finish->seq, finish->state);
    if (err == SMA_ERR_OK)
        err = write_traced_result(state, finish);
    if (err == SMA_ERR_OK)
        err = sma_state_turn_add(state, chat, finish);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? bind_run(state, SMA_SQL_STEP_DELETE, finish->seq) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_result_get(struct sma_state *state, uint64_t seq, sma_state_result_fn *each,
                                  void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_RUN_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, seq);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    struct sma_state_result result;
    struct sma_usage usage;
    char *own = NULL;
    if (rc == SQLITE_ROW) {
        sma_state_usage_get(sma_state_column(stmt, 6), &usage);
        result = (struct sma_state_result){
            .seq = seq,
            .outcome = (uint8_t)sqlite3_column_int(stmt, 1),
            .is_success = sqlite3_column_int(stmt, 2) != 0,
            .wall_ms = sqlite3_column_int64(stmt, 3),
            .output = sma_state_column(stmt, 4),
            .tool_calls_json = sma_state_column(stmt, 5),
            .usage = &usage,
        };
        struct sma_str *const slices[] = {&result.output, &result.tool_calls_json};
        own = sma_state_own(slices, SMA_COUNT_OF(slices));
        err = own == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    } else if (rc != SQLITE_DONE) {
        err = sma_state_fail(state, rc, "read a result");
    }
    sma_state_done(stmt); /* the read is over: the callback may act */
    if (err == SMA_ERR_OK)
        err = each(user, &result);
    free(own);
    return err;
}
