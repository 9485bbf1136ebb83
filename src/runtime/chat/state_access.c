/* Access records in pages: owned copies, so much at a time. */
#include "runtime/chat/state_priv.h"

static enum sma_err take_pair(sqlite3_stmt *stmt, struct sma_state_rows *rows,
                              struct sma_state_records *pairs)
{
    struct sma_state_record *pair = &pairs->items[pairs->count];
    *pair = (struct sma_state_record){.key = sma_state_column(stmt, 0),
                                      .value = sma_state_column(stmt, 1)};
    struct sma_str *const slices[] = {&pair->key, &pair->value};
    enum sma_err err = sma_state_rows_own(rows, slices, SMA_COUNT_OF(slices));
    pairs->count += err == SMA_ERR_OK;
    return err;
}

enum sma_err sma_state_access_page(struct sma_state *state, const struct sma_state_page *page,
                                   struct sma_state_rows *rows, struct sma_state_records *ret_pairs)
{
    char end[64] = "\x7f"; /* behind every prefix in use */
    size_t end_len = 1;
    if (page->prefix.len > 0) {
        SMA_ASSERT(page->prefix.len < sizeof end);
        memcpy(end, page->prefix.ptr, page->prefix.len);
        end[page->prefix.len - 1]++;
        end_len = page->prefix.len;
    }
    struct sma_state_records pairs = {
        .items = sma_state_rows_take(rows, (size_t)page->count_max * sizeof *pairs.items)};
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ACCESS_PAGE);
    if (stmt == NULL)
        return state->error.code;
    if (pairs.items == NULL) {
        sma_state_done(stmt);
        return SMA_ERR_NOMEM;
    }
    sma_state_bind(stmt, 1, page->after.len > 0 ? page->after : page->prefix, true);
    sma_state_bind(stmt, 2, (struct sma_str){end, end_len}, true);
    (void)sqlite3_bind_int64(stmt, 3, page->count_max); /* a valid index cannot fail */
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = take_pair(stmt, rows, &pairs);
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read access records");
    sma_state_done(stmt);
    if (err == SMA_ERR_OK)
        *ret_pairs = pairs;
    return err;
}
