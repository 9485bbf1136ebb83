/* Cursors and access records. */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

#include <stdlib.h>

/* -- cursors and access ------------------------------------------------------------------------ */

enum sma_err sma_state_cursor_set(struct sma_state *state, struct sma_str name, int64_t value)
{
    enum sma_err err = sma_state_change(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_CURSOR_SET) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, name, true);
    (void)sqlite3_bind_int64(stmt, 2, value); /* valid index */
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_cursor_get(struct sma_state *state, struct sma_str name, int64_t *ret_value)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_CURSOR_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, name, true);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    if (rc == SQLITE_ROW) {
        *ret_value = sqlite3_column_int64(stmt, 0);
        err = SMA_ERR_OK;
    } else if (rc != SQLITE_DONE) {
        err = sma_state_fail(state, rc, "read a cursor");
    }
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_access_set(struct sma_state *state, struct sma_str key, struct sma_str value)
{
    enum sma_err err = sma_state_change(state);
    enum sma_state_sql sql = value.len == 0 ? SMA_SQL_ACCESS_DELETE : SMA_SQL_ACCESS_SET;
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, sql) : NULL;
    if (stmt == NULL)
        return err == SMA_ERR_OK ? state->error.code : err;
    sma_state_bind(stmt, 1, key, true);
    if (value.len > 0)
        sma_state_bind(stmt, 2, value, true);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_access_get(struct sma_state *state, struct sma_str key,
                                  struct sma_buf *value)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ACCESS_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, key, true);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_NOTFOUND;
    if (rc == SQLITE_ROW) {
        sma_buf_put_str(value, sma_state_column(stmt, 0));
        err = value->err;
    } else if (rc != SQLITE_DONE) {
        err = sma_state_fail(state, rc, "read an access record");
    }
    sma_state_done(stmt);
    return err;
}

/* Each row of a bound statement: two texts. */
static enum sma_err each_pair(struct sma_state *state, sqlite3_stmt *stmt, sma_state_pair_fn *each,
                              void *user)
{
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    state->live_reads++;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        err = each(user, sma_state_column(stmt, 0), sma_state_column(stmt, 1));
    state->live_reads--;
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read access records");
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_each_access_under(struct sma_state *state, struct sma_str prefix,
                                         sma_state_pair_fn *each, void *user)
{
    char end[64];
    SMA_ASSERT(prefix.len > 0 && prefix.len <= sizeof end && prefix.ptr[prefix.len - 1] == '/');
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_ACCESS_UNDER);
    if (stmt == NULL)
        return state->error.code;
    memcpy(end, prefix.ptr, prefix.len);
    end[prefix.len - 1] = '/' + 1;
    sma_state_bind(stmt, 1, prefix, true);
    sma_state_bind(stmt, 2, (struct sma_str){end, prefix.len}, true);
    return each_pair(state, stmt, each, user);
}

struct author
{
    const struct sma_state_chat *chat;
    struct sma_str name;
    char *own;
};

enum sma_err sma_state_each_author(struct sma_state *state, sma_state_author_fn *each, void *user)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_MESSAGE_AUTHORS);
    if (stmt == NULL)
        return state->error.code;
    SMA_STATE_ARRAY(struct author) authors = {NULL, 0, 0};
    enum sma_err err = SMA_ERR_OK;
    int rc = SQLITE_ROW;
    while (err == SMA_ERR_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct author author = {
            .chat = sma_state_chat_by_id(state, (uint32_t)sqlite3_column_int64(stmt, 0)),
            .name = sma_state_column(stmt, 1)};
        struct sma_str *const slices[] = {&author.name};
        if (author.chat == NULL)
            continue;
        err = SMA_STATE_RESERVE(authors);
        if (err == SMA_ERR_OK && (author.own = sma_state_own(slices, 1)) == NULL)
            err = SMA_ERR_NOMEM;
        if (err == SMA_ERR_OK)
            SMA_STATE_PUSH(authors, author);
    }
    if (err == SMA_ERR_OK && rc != SQLITE_DONE)
        err = sma_state_fail(state, rc, "read the authors of messages");
    sma_state_done(stmt); /* the read is over: the callback writes down who they are */
    for (size_t i = 0; i < authors.count; i++) {
        if (err == SMA_ERR_OK)
            err = each(user, authors.items[i].chat, authors.items[i].name);
        free(authors.items[i].own);
    }
    free(authors.items);
    return err;
}
