/* state_meta.c — named values of the database, and how long the service has run in all. See
 * state_priv.h. */
#include "runtime/chat/state_priv.h"

uint64_t sma_state_uptime_ms(const struct sma_state *state)
{
    uint64_t now = state->sys->now_ns(state->sys->self);
    return state->uptime_base_ms +
           (now > state->opened_ns ? (now - state->opened_ns) / 1000000 : 0);
}

enum sma_err sma_state_meta_write(struct sma_state *state, struct sma_str name,
                                  struct sma_str value)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_META_SET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, name, true);
    sma_state_bind(stmt, 2, value, false);
    return sma_state_run(state, stmt);
}

enum sma_err sma_state_meta_read(struct sma_state *state, struct sma_str name, char *bytes,
                                 size_t max, size_t *ret_len)
{
    sqlite3_stmt *stmt = sma_state_statement(state, SMA_SQL_META_GET);
    if (stmt == NULL)
        return state->error.code;
    sma_state_bind(stmt, 1, name, true);
    int rc = sqlite3_step(stmt);
    enum sma_err err = SMA_ERR_OK;
    if (rc == SQLITE_ROW) {
        struct sma_str value = sma_state_column(stmt, 0);
        *ret_len = value.len < max ? value.len : max;
        if (*ret_len > 0)
            memcpy(bytes, value.ptr, *ret_len);
    } else {
        err = rc == SQLITE_DONE ? SMA_ERR_NOTFOUND : sma_state_fail(state, rc, "read meta");
    }
    sma_state_done(stmt);
    return err;
}

enum sma_err sma_state_meta_set(struct sma_state *state, struct sma_str name, struct sma_str value)
{
    if (name.len == 0 || (name.len >= 6 && memcmp(name.ptr, "state.", 6) == 0))
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_state_change(state);
    return err == SMA_ERR_OK ? sma_state_meta_write(state, name, value) : err;
}

enum sma_err sma_state_meta_get(struct sma_state *state, struct sma_str name, char *value_buf,
                                size_t value_max)
{
    size_t len = 0;
    enum sma_err err = sma_state_meta_read(state, name, value_buf, value_max - 1, &len);
    if (err == SMA_ERR_OK)
        value_buf[len] = '\0';
    return err;
}
