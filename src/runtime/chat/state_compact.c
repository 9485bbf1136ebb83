/*
 * Making the file smaller: SQLite writes a copy without free pages, which takes the place of the
 * file by one rename. An incremental vacuum would need a map of pages in the file, that is one more
 * page in nearly every commit.
 */
#include "runtime/chat/state_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct compacting
{
    const char *path;
    char *copy, *wal, *shm; /* PATH.compact, PATH-wal, PATH-shm */
    sqlite3 *db;
    struct sma_error *error;
};

static char *join(const char *path, const char *end)
{
    size_t len = strlen(path), end_len = strlen(end);
    char *joined = malloc(len + end_len + 1);
    if (joined == NULL)
        return NULL;
    memcpy(joined, path, len);
    memcpy(joined + len, end, end_len + 1);
    return joined;
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static SMA_CHECKED enum sma_err refuse(const struct compacting *self, int rc, const char *what)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return sma_fail(self->error, SMA_ERR_NOSPACE,
                        "%s cannot be compacted: the disk is full; it needs as much room again as "
                        "the result",
                        self->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return sma_fail(self->error, SMA_ERR_BUSY,
                        "%s is in use: stop the service first, then compact it", self->path);
    case SQLITE_NOMEM:
        return sma_fail(self->error, SMA_ERR_NOMEM, "out of memory while compacting %s",
                        self->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return sma_fail(self->error, SMA_ERR_CORRUPT, "%s is damaged and stays as it is: %s",
                        self->path, sqlite3_errstr(rc));
    default:
        return sma_fail(self->error, SMA_ERR_IO, "%s cannot be compacted: %s (%d) at: %s",
                        self->path, sqlite3_errstr(rc), rc, what);
    }
}

static SMA_CHECKED enum sma_err execute(const struct compacting *self, const char *sql)
{
    int rc = sqlite3_exec(self->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? SMA_ERR_OK : refuse(self, rc, sql);
}

/* Alone with it: whatever is in the WAL goes into the file, and the WAL is empty. */
static SMA_CHECKED enum sma_err open_alone(struct compacting *self)
{
    if (access(self->path, F_OK) != 0)
        return sma_fail_os(self->error, errno, "cannot compact %s", self->path);
    int rc =
        sqlite3_open_v2(self->path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return refuse(self, rc, "open");
    (void)sqlite3_extended_result_codes(self->db, 1); /* cannot fail on an open connection */
    int total = 0, copied = 0;
    SMA_TRY(execute(
        self, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL;"
              "PRAGMA page_size=" SMA_STRING_OF(SMA_STATE_PAGE_BYTES) ";"
                                                                      "BEGIN EXCLUSIVE; COMMIT"));
    rc = sqlite3_wal_checkpoint_v2(self->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &total, &copied);
    return rc == SQLITE_OK ? SMA_ERR_OK : refuse(self, rc, "checkpoint");
}

static SMA_CHECKED enum sma_err write_copy(struct compacting *self)
{
    if (unlink(self->copy) != 0 && errno != ENOENT)
        return sma_fail_os(self->error, errno, "cannot remove %s", self->copy);
    int fd = open(self->copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return sma_fail_os(self->error, errno, "cannot make %s", self->copy);
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", self->copy);
    enum sma_err err = sql == NULL ? refuse(self, SQLITE_NOMEM, "vacuum") : execute(self, sql);
    sqlite3_free(sql);
    if (err == SMA_ERR_OK && fsync(fd) != 0)
        err = sma_fail_os(self->error, errno, "cannot write %s", self->copy);
    (void)close(fd); /* what was written is synced */
    return err;
}

/* The WAL is empty by now; a new file without it begins with one of its own. */
static SMA_CHECKED enum sma_err put_in_place(struct compacting *self)
{
    if (rename(self->copy, self->path) != 0)
        return sma_fail_os(self->error, errno, "cannot replace %s", self->path);
    (void)unlink(self->wal); /* what is in an empty one harms nobody */
    (void)unlink(self->shm);
    return sma_sys_sync_parent(sma_sys_real(), self->path, self->error);
}

static SMA_CHECKED enum sma_err compact(struct compacting *self,
                                        struct sma_state_compacted *ret_result)
{
    ret_result->bytes_before = size_of(self->path) + size_of(self->wal);
    enum sma_err err = open_alone(self);
    if (err == SMA_ERR_OK)
        err = write_copy(self);
    if (err == SMA_ERR_OK)
        err = put_in_place(self);
    if (err != SMA_ERR_OK)
        (void)unlink(self->copy);  /* half of a copy is good for nothing */
    (void)sqlite3_close(self->db); /* no statement is open on it */
    ret_result->bytes_after = size_of(self->path);
    return err;
}

enum sma_err sma_state_compact(const char *path, struct sma_state_compacted *ret_result,
                               struct sma_error *error)
{
    char real[PATH_MAX]; /* the file that a link leads to is made smaller, and stays where it is */
    if (realpath(path, real) != NULL)
        path = real;
    struct compacting self = {.path = path,
                              .copy = join(path, ".compact"),
                              .wal = join(path, "-wal"),
                              .shm = join(path, "-shm"),
                              .error = error};
    *ret_result = (struct sma_state_compacted){0, 0};
    enum sma_err err =
        self.copy == NULL || self.wal == NULL || self.shm == NULL
            ? sma_fail(error, SMA_ERR_NOMEM, "out of memory while compacting %s", path)
            : compact(&self, ret_result);
    free(self.copy);
    free(self.wal);
    free(self.shm);
    return err;
}
