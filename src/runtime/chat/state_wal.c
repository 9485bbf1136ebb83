/*
 * The file of the WAL itself: grown before it is used, bounded, believed only after a clean end,
 * and who holds it back.
 */
#include "runtime/chat/state_priv.h"
#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static char *path_with(const struct sma_state *state, const char *ending)
{
    size_t len = strlen(state->path), more = strlen(ending) + 1;
    char *path = malloc(len + more);
    if (path == NULL)
        return NULL;
    memcpy(path, state->path, len);
    memcpy(path + len, ending, more);
    return path;
}

uint64_t sma_state_wal_bytes(const struct sma_state *state)
{
    struct stat status;
    SMA_AUTO(sma_freep) char *wal = path_with(state, "-wal");
    return wal != NULL && stat(wal, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* -- pre-growing ------------------------------------------------------------------------------- */

/* In small pieces: the page cache takes a piece as one folio, and a file system writes a folio
 * whole. With pieces of 64 KiB each commit of 2 KiB would write 64 KiB to the disk. */
static enum sma_err write_zeros(int fd, uint64_t from, uint64_t to)
{
    static const char zeros[4096];
    while (from < to) {
        size_t len = to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
        ssize_t written = pwrite(fd, zeros, len, (off_t)from);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == ENOSPC || errno == EDQUOT ? SMA_ERR_NOSPACE : SMA_ERR_IO;
        from += (uint64_t)written;
    }
    return fsync(fd) == 0 ? SMA_ERR_OK : SMA_ERR_IO;
}

/*
 * Zeros at the end of a WAL are no frames, and a WAL of zeros is an empty one. Blocks that exist
 * make fdatasync a write of data alone, without one of the file's size.
 */
enum sma_err sma_state_wal_grow(struct sma_state *state, uint64_t wal_bytes)
{
    struct stat status;
    if (stat(state->path, &status) != 0 || status.st_size == 0)
        /* SQLite would delete it: the caller comes again when the database is there */
        return SMA_ERR_OK;
    SMA_AUTO(sma_freep) char *wal = path_with(state, "-wal");
    if (wal == NULL)
        return sma_fail(&state->error, SMA_ERR_NOMEM, "out of memory while opening %s",
                        state->path);
    int fd = open(wal, O_RDWR | O_CREAT | O_CLOEXEC, status.st_mode & 0777);
    if (fd < 0)
        return sma_fail_os(&state->error, errno, "cannot open %s", wal);
    enum sma_err err = SMA_ERR_OK;
    bool is_short = fstat(fd, &status) == 0 && (uint64_t)status.st_size < wal_bytes;
    if (is_short)
        err = write_zeros(fd, (uint64_t)status.st_size, wal_bytes);
    int os_errno = errno;
    (void)close(fd); /* what was written is synced */
    if (err == SMA_ERR_NOSPACE)
        /* the service starts and says that the disk is full; commits only cost a little more */
        return SMA_ERR_OK;
    if (err != SMA_ERR_OK)
        return sma_fail_os(&state->error, os_errno, "cannot grow %s", wal);
    /* Database and WAL may be new: their names must outlive a power cut as well. */
    return is_short ? sma_sys_sync_parent(state->sys, wal, &state->error) : SMA_ERR_OK;
}

/* SQLite cuts a WAL that is larger when it begins it anew, and with any limit to nothing when the
 * last connection goes: one that is kept has none then. */
void sma_state_wal_limit(struct sma_state *state, bool is_closing)
{
    char text[64];
    uint64_t limit = SMA_STATE_WAL_TIMES * state->wal_bytes_grown;
    bool is_kept = is_closing && sma_state_wal_bytes(state) <= limit;
    sqlite3_snprintf(sizeof text, text, "PRAGMA journal_size_limit=%lld",
                     is_kept ? -1LL : (long long)limit);
    /* It cannot fail but for memory, and then a large file stays for a while. */
    (void)sqlite3_exec(state->db, text, NULL, NULL, NULL);
}

/* -- after an unclean end ---------------------------------------------------------------------- */

/* Write every byte of the file where it stands. @return a SQLite code */
static int write_again(sqlite3_file *wal, char *bytes, int piece)
{
    sqlite3_int64 size = 0;
    int rc = wal->pMethods->xFileSize(wal, &size);
    for (sqlite3_int64 at = 0; rc == SQLITE_OK && at < size; at += piece) {
        int len = size - at < piece ? (int)(size - at) : piece;
        rc = wal->pMethods->xRead(wal, bytes, len, at);
        if (rc == SQLITE_OK)
            rc = wal->pMethods->xWrite(wal, bytes, len, at);
    }
    return rc == SQLITE_OK && size > 0 ? wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL) : rc;
}

static enum sma_err rewrite(struct sma_state *state)
{
    enum
    {
        PIECE = 65536
    };
    sqlite3_file *wal = sma_state_wal_file(state);
    if (wal == NULL)
        return SMA_ERR_OK; /* there is none: nothing to believe */
    SMA_AUTO(sma_freep) char *bytes = malloc(PIECE);
    if (bytes == NULL)
        return SMA_ERR_NOMEM;
    int rc = write_again(wal, bytes, PIECE);
    return rc == SQLITE_OK ? SMA_ERR_OK
                           : sma_state_fail(state, rc, "write the WAL again after an unclean end");
}

/*
 * A sync that failed may have left pages in the cache that are on no disk and count as clean: the
 * next one would answer well for them. So what the WAL seems to hold is written again before
 * anything is built on it, and then copied into the database, whose pages may be such ones too. In
 * this order: a checkpoint trusts its WAL.
 */
static enum sma_err distrust(struct sma_state *state)
{
    SMA_TRY(rewrite(state));
    int rc = sqlite3_wal_checkpoint_v2(state->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    /* A full disk, or somebody who reads: the WAL is good now, and all of it is still there. */
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_FULL && (rc & 0xff) != SQLITE_BUSY)
        return sma_state_fail(state, rc, "copy the WAL after an unclean end");
    return rc == SQLITE_OK ? sma_state_wal_grow(state, state->wal_bytes_grown) : SMA_ERR_OK;
}

/* Before the schema is looked at: that may write. A new file has no table yet. */
static bool was_clean(struct sma_state *state)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(state->db, "SELECT value FROM meta WHERE name='state.clean'", -1,
                                &stmt, NULL);
    bool is_clean = rc == SQLITE_ERROR;
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
        is_clean = sma_str_is_equal(sma_state_column(stmt, 0), SMA_STR("1"));
    (void)sqlite3_finalize(stmt); /* an error is met again, and told, by what is read next */
    return is_clean;
}

enum sma_err sma_state_wal_settle(struct sma_state *state)
{
    return state->is_durability_none || was_clean(state) ? SMA_ERR_OK : distrust(state);
}

/* -- who holds it back ------------------------------------------------------------------------- */

static void name_process(long pid, char *name, size_t name_max)
{
    char path[64], comm[32] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(comm, sizeof comm, file) == NULL)
            comm[0] = '\0';
        (void)fclose(file); /* was only read */
    }
    comm[strcspn(comm, "\n")] = '\0';
    (void)snprintf(name, name_max, "process %ld (%s)", pid, comm);
}

/* Locks of readers on the shared memory are bytes 123 to 127. It may not be opened: closing it
 * would drop our own. */
void sma_state_wal_reader(const struct sma_state *state, char *name, size_t name_max)
{
    struct stat status;
    SMA_AUTO(sma_freep) char *shm = path_with(state, "-shm");
    (void)snprintf(name, name_max, "a reader in this program");
    FILE *locks = shm != NULL && stat(shm, &status) == 0 ? fopen("/proc/locks", "re") : NULL;
    if (locks == NULL)
        return;
    char line[160];
    while (fgets(line, sizeof line, locks) != NULL) {
        long pid;
        unsigned device_major, device_minor;
        unsigned long long inode, first, last;
        if (sscanf(line, "%*s POSIX %*s READ %ld %x:%x:%llu %llu %llu", &pid, &device_major,
                   &device_minor, &inode, &first, &last) == 6 &&
            inode == status.st_ino && device_major == major(status.st_dev) &&
            device_minor == minor(status.st_dev) && first >= 123 && last <= 127 && pid != getpid())
            name_process(pid, name, name_max);
    }
    (void)fclose(locks); /* was only read */
}

sqlite3_file *sma_state_wal_file(struct sma_state *state)
{
    sqlite3_file *wal = NULL;
    int rc = sqlite3_file_control(state->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    return rc == SQLITE_OK && wal != NULL && wal->pMethods != NULL ? wal : NULL;
}
