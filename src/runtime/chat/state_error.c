/* state_error.c — what went wrong, and whose it is: one item's, or the whole transaction's. See
 * state_priv.h. */
#include "runtime/chat/state_priv.h"

#include <errno.h>
#include <stdlib.h>

/* items points to the array's pointer, whose type is not known here: it is read and written as
 * bytes. */
enum sma_err sma_state_array_grow(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
    if (count <= *capacity)
        return SMA_ERR_OK;
    size_t wanted = *capacity < 16 ? 16 : *capacity + *capacity / 2;
    if (wanted < count)
        wanted = count;
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = realloc(old, wanted * item_bytes);
    if (grown == NULL)
        return SMA_ERR_NOMEM;
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return SMA_ERR_OK;
}

static enum sma_err classify(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return SMA_ERR_NOSPACE;
    case SQLITE_NOMEM:
        return SMA_ERR_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SMA_ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return SMA_ERR_CORRUPT;
    case SQLITE_TOOBIG:
        return SMA_ERR_TOOBIG;
    case SQLITE_CONSTRAINT: /* the statement is undone, the transaction goes on */
    case SQLITE_MISMATCH:
        return SMA_ERR_BADINPUT;
    default:
        break;
    }
    /* What an fsync that failed has left on disk is unknown, and asking again would lie. */
    if (rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC)
        return SMA_ERR_CORRUPT;
    return SMA_ERR_IO;
}

bool sma_state_is_of_item(enum sma_err err)
{
    return err == SMA_ERR_TOOBIG || err == SMA_ERR_BADINPUT || err == SMA_ERR_CORRUPT;
}

enum sma_err sma_state_damaged(struct sma_state *state, const char *what)
{
    return sma_fail(&state->error, SMA_ERR_CORRUPT, "state database %s: damaged row: %.120s",
                    state->path, what);
}

enum sma_err sma_state_fail_change(struct sma_state *state, enum sma_err err)
{
    if (err == SMA_ERR_CORRUPT)
        state->is_fatal = true;
    if (state->is_in_transaction && state->failed == SMA_ERR_OK)
        state->failed = err;
    return err;
}

/* SQLite says FULL only of a write that met ENOSPC: a quota, or no room for the -shm, is an error
 * of input and output to it. */
static bool is_no_room(const struct sma_state *state, int rc)
{
    int os_errno = state->db == NULL ? 0 : sqlite3_system_errno(state->db);
    return (rc & 0xff) == SQLITE_IOERR && (os_errno == ENOSPC || os_errno == EDQUOT);
}

enum sma_err sma_state_fail(struct sma_state *state, int rc, const char *what)
{
    enum sma_err err = classify(rc);
    if (err == SMA_ERR_IO && is_no_room(state, rc))
        err = SMA_ERR_NOSPACE;
    const char *remedy = "";
    if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
        remedy = "; the file is damaged: move it and its -wal and -shm away and start again, "
                 "claims are rebuilt from "
                 "the history files";
    else if (err == SMA_ERR_CORRUPT)
        remedy = "; the disk has lost a write: the service ends, check the disk and start it again";
    else if (err == SMA_ERR_NOSPACE)
        remedy = "; free some disk space, intake resumes by itself";
    else if (err == SMA_ERR_BUSY)
        remedy = "; another process holds the database";
    (void)sma_fail(&state->error, err, "state database %s: %s (%d) at: %.120s%s", state->path,
                   sqlite3_errstr(rc), rc, what,
                   remedy); /* returns err, which we return ourselves */
    if (state->db != NULL)
        state->error.os_errno = sqlite3_system_errno(state->db);
    return sma_state_fail_change(state, err);
}

const struct sma_error *sma_state_error(const struct sma_state *state)
{
    return &state->error;
}
