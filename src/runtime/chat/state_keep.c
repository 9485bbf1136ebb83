/* Letting go of old rows in slices, and sizes. */
#include "runtime/chat/state_priv.h"

#include <stdio.h>
#include <sys/stat.h>

#define SAMPLE_COUNT 32
#define SAMPLE_ROWS 16

/* -- age --------------------------------------------------------------------------------------- */

/* -- slices ------------------------------------------------------------------------------------ */
/* DELETE with a bound as first number and the count as second. */
static SMA_CHECKED enum sma_err remove_slice(struct sma_state *state, enum sma_state_sql sql,
                                             int64_t before, uint32_t rows_max,
                                             uint32_t *ret_removed)
{
    *ret_removed = 0;
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, sql) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind_int(stmt, 1, (uint64_t)before);
    sma_state_bind_int(stmt, 2, rows_max);
    err = sma_state_run(state, stmt);
    if (err == SMA_ERR_OK)
        *ret_removed = (uint32_t)sqlite3_changes(state->db);
    return err;
}

enum sma_err sma_state_keep_turns(struct sma_state *state, uint64_t before_seq, uint32_t rows_max,
                                  uint32_t *ret_removed)
{
    SMA_TRY(remove_slice(state, SMA_SQL_PAST_KEEP, (int64_t)before_seq, rows_max, ret_removed));
    if (*ret_removed >= rows_max)
        return SMA_ERR_OK;
    uint32_t summaries = *ret_removed;
    SMA_TRY(remove_slice(state, SMA_SQL_KEEP_TURNS, (int64_t)before_seq, rows_max - summaries,
                         ret_removed));
    *ret_removed += summaries;
    return SMA_ERR_OK;
}

enum sma_err sma_state_keep_deliveries(struct sma_state *state, uint64_t before_seq,
                                       uint32_t rows_max, uint32_t *ret_removed)
{
    return remove_slice(state, SMA_SQL_KEEP_OUTBOX, (int64_t)(before_seq << 16), rows_max,
                        ret_removed);
}

enum sma_err sma_state_keep_approvals(struct sma_state *state, int64_t before_ms, uint32_t rows_max,
                                      uint32_t *ret_removed)
{
    return remove_slice(state, SMA_SQL_KEEP_APPROVALS, before_ms, rows_max, ret_removed);
}

enum sma_err sma_state_keep_usage(struct sma_state *state, int64_t before_day, uint32_t rows_max,
                                  uint32_t *ret_removed)
{
    state->is_usage_counted = false;
    return remove_slice(state, SMA_SQL_KEEP_USAGE, before_day, rows_max, ret_removed);
}

/* -- results ----------------------------------------------------------------------------------- */
/* Each result has the sum up to itself, so that what all of them take needs no counting: the newest
 * sum less the oldest. Results come nearly in order of their runs, so the newest sum is among the
 * last few. */
static SMA_CHECKED enum sma_err know_results(struct sma_state *state)
{
    if (state->is_results_known)
        return SMA_ERR_OK;
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_RUN_TOTAL);
    enum sma_err err =
        stmt == NULL ? state->error.code : sma_state_ask_number(state, stmt, &state->results_total);
    state->is_results_known = err == SMA_ERR_OK;
    return err;
}

enum sma_err sma_state_results_add(struct sma_state *state, uint64_t bytes, uint64_t *ret_total)
{
    enum sma_err err = know_results(state);
    if (err == SMA_ERR_OK)
        *ret_total = state->results_total += bytes;
    return err;
}

struct old_results
{
    uint64_t seqs[256];
    uint32_t count;
};

/* Those of the oldest rows that may go: by their age, or because all behind them are enough. */
static SMA_CHECKED enum sma_err find_results(struct sma_state *state, uint64_t before_seq,
                                             uint64_t total_before, uint32_t rows_max,
                                             struct old_results *old)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_KEEP_RUNS);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, rows_max);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
        uint64_t start = (uint64_t)sqlite3_column_int64(stmt, 1); /* the sum before it */
        if (seq < before_seq || start < total_before)
            old->seqs[old->count++] = seq;
    }
    sma_state_done(stmt);
    return rc == SQLITE_DONE ? SMA_ERR_OK : sma_state_fail(state, rc, "look for old results");
}

enum sma_err sma_state_keep_results(struct sma_state *state, uint64_t before_seq,
                                    uint64_t bytes_max, uint32_t rows_max, uint32_t *ret_removed)
{
    struct old_results old = {.count = 0};
    uint32_t max = rows_max < SMA_COUNT_OF(old.seqs) ? rows_max : SMA_COUNT_OF(old.seqs);
    *ret_removed = 0;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = know_results(state);
    uint64_t total = state->results_total;
    if (err == SMA_ERR_OK)
        err = find_results(state, before_seq, total > bytes_max ? total - bytes_max : 0, max, &old);
    for (uint32_t i = 0; i < old.count && err == SMA_ERR_OK; i++) {
        sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_RUN_DELETE);
        if (stmt == NULL)
            return state->error.code;
        sma_state_bind_int(stmt, 1, old.seqs[i]);
        err = sma_state_run(state, stmt);
    }
    if (err == SMA_ERR_OK) /* a full array is a full slice, whatever was asked for */
        *ret_removed = old.count == max ? rows_max : old.count;
    return err;
}

/* -- messages ---------------------------------------------------------------------------------- */
static const struct sma_str stripped_name = {"kept.stripped", 13};

static SMA_CHECKED enum sma_err know_stripped(struct sma_state *state)
{
    char text[24];
    if (state->is_stripped_known)
        return SMA_ERR_OK;
    enum sma_err err = sma_state_meta_get(state, stripped_name, text, sizeof text);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return err;
    uint64_t seq = 0;
    for (const char *at = text; err == SMA_ERR_OK && *at >= '0' && *at <= '9'; at++)
        seq = seq * 10 + (uint64_t)(*at - '0');
    state->stripped_below = seq < state->next_seq ? seq : 0;
    state->is_stripped_known = true;
    return SMA_ERR_OK;
}

struct old_messages
{
    uint64_t seqs[256];
    uint32_t count, seen;
    uint64_t next;
};

static SMA_CHECKED enum sma_err find_messages(struct sma_state *state, uint64_t before_seq,
                                              uint32_t rows_max, struct old_messages *old)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_KEEP_MESSAGES);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, state->stripped_below);
    sma_state_bind_int(stmt, 2, before_seq);
    sma_state_bind_int(stmt, 3, rows_max);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
        bool is_aside = sqlite3_column_int(stmt, 2) != 0;
        if (!sma_row_is_open(sqlite3_column_int(stmt, 1)) && !is_aside)
            old->seqs[old->count++] = seq;
        old->next = seq + 1;
        old->seen++;
    }
    sma_state_done(stmt);
    return rc == SQLITE_DONE ? SMA_ERR_OK : sma_state_fail(state, rc, "look for old messages");
}

/* How far it got is written with the slice: a start does not look at a year's rows again. */
static SMA_CHECKED enum sma_err note_stripped(struct sma_state *state, uint64_t below)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)below);
    state->stripped_below = below;
    return sma_state_meta_set(state, stripped_name, sma_str(text));
}

enum sma_err sma_state_keep_messages(struct sma_state *state, uint64_t before_seq,
                                     uint32_t rows_max, uint32_t *ret_removed)
{
    struct old_messages old = {.count = 0};
    uint32_t max = rows_max < SMA_COUNT_OF(old.seqs) ? rows_max : SMA_COUNT_OF(old.seqs);
    uint64_t synced = state->history_flushed + 1;
    *ret_removed = 0;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = know_stripped(state);
    if (err == SMA_ERR_OK)
        err = find_messages(state, before_seq < synced ? before_seq : synced, max, &old);
    for (uint32_t i = 0; i < old.count && err == SMA_ERR_OK; i++) {
        sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_KEEP_STRIP);
        if (stmt == NULL)
            return state->error.code;
        sma_state_bind_int(stmt, 1, old.seqs[i]);
        err = sma_state_run(state, stmt);
    }
    if (err == SMA_ERR_OK && old.seen > 0)
        err = note_stripped(state, old.next);
    if (err == SMA_ERR_OK)
        *ret_removed = old.seen == max ? rows_max : old.seen;
    return err;
}

/* -- sizes ------------------------------------------------------------------------------------- */
/* Rows and bytes of seqs in [from, to). */
static SMA_CHECKED enum sma_err add_sample(struct sma_state *state, enum sma_state_sql sql,
                                           uint64_t from, uint64_t to,
                                           struct sma_state_table_size *sum)
{
    sqlite3_stmt *stmt = sma_state_statement(state, sql);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind_int(stmt, 1, from);
    sma_state_bind_int(stmt, 2, to);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        sum->rows += (uint64_t)sqlite3_column_int64(stmt, 0);
        sum->bytes += (uint64_t)sqlite3_column_int64(stmt, 1);
    }
    sma_state_done(stmt);
    return rc == SQLITE_ROW ? SMA_ERR_OK : sma_state_fail(state, rc, "look at samples");
}

/* Windows at even distances; of all seqs when they are few. */
static SMA_CHECKED enum sma_err estimate(struct sma_state *state, enum sma_state_sql sql,
                                         uint64_t first, struct sma_state_table_size *ret_size)
{
    uint64_t span = state->next_seq - first, seen = (uint64_t)SAMPLE_COUNT * SAMPLE_ROWS;
    *ret_size = (struct sma_state_table_size){0, 0};
    if (span <= seen)
        return add_sample(state, sql, first, state->next_seq, ret_size);
    enum sma_err err = SMA_ERR_OK;
    for (uint64_t i = 0; i < SAMPLE_COUNT && err == SMA_ERR_OK; i++) {
        uint64_t from = first + (span - SAMPLE_ROWS) / (SAMPLE_COUNT - 1) * i;
        err = add_sample(state, sql, from, from + SAMPLE_ROWS, ret_size);
    }
    ret_size->rows = ret_size->rows * (span / SAMPLE_ROWS) / SAMPLE_COUNT;
    ret_size->bytes = ret_size->bytes / SAMPLE_COUNT * (span / SAMPLE_ROWS);
    return err;
}

static SMA_CHECKED enum sma_err ask_files(struct sma_state *state, struct sma_state_sizes *sizes)
{
    uint64_t page = 0, pages = 0, unused = 0;
    enum sma_err err = sma_state_ask_pragma(state, "PRAGMA page_size", &page);
    if (err == SMA_ERR_OK)
        err = sma_state_ask_pragma(state, "PRAGMA page_count", &pages);
    if (err == SMA_ERR_OK)
        err = sma_state_ask_pragma(state, "PRAGMA freelist_count", &unused);
    sizes->file_bytes = page * pages;
    sizes->free_bytes = page * unused;
    char wal[4096];
    struct stat status;
    int len = snprintf(wal, sizeof wal, "%s-wal", state->path);
    if (len > 0 && (size_t)len < sizeof wal && stat(wal, &status) == 0)
        sizes->wal_bytes = (uint64_t)status.st_size;
    return err;
}

/* The oldest result's own bytes are in no difference: they are looked at. */
static SMA_CHECKED enum sma_err count_results(struct sma_state *state, uint64_t *ret_bytes)
{
    enum sma_err err = know_results(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_RUN_OLDEST) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    uint64_t before = 0;
    err = sma_state_ask_number(state, stmt, &before);
    *ret_bytes =
        err == SMA_ERR_OK && before < state->results_total ? state->results_total - before : 0;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_state_sizes(struct sma_state *state, struct sma_state_sizes *ret_sizes)
{
    uint64_t first = state->next_seq;
    *ret_sizes = (struct sma_state_sizes){0};
    enum sma_err err = ask_files(state, ret_sizes);
    if (err == SMA_ERR_OK)
        err = count_results(state, &ret_sizes->result_bytes);
    sqlite3_stmt *stmt =
        err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_FIRST_MESSAGE) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    err = sma_state_ask_number(state, stmt, &first);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = estimate(state, SMA_SQL_SIZE_MESSAGES, first, &ret_sizes->messages);
    if (err == SMA_ERR_OK)
        err = estimate(state, SMA_SQL_SIZE_TURNS, first, &ret_sizes->turns);
    if (err == SMA_ERR_OK)
        err = estimate(state, SMA_SQL_SIZE_RUNS, first, &ret_sizes->results);
    ret_sizes->results.bytes = ret_sizes->result_bytes;
    return err == SMA_ERR_OK ? estimate(state, SMA_SQL_SIZE_OUTBOX, first, &ret_sizes->deliveries)
                             : err;
}
