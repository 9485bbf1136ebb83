/*
 * The checkpointer: a thread of its own with a database connection of its own that copies the WAL into the database
 * while the writer goes on. It shares nothing with the writer but this struct: asked by a condition variable when the
 * WAL has grown by half its pre-grown size, asleep otherwise (idle = no wake-ups).
 *
 * This is the one thread of runtime/: SQLite wants its checkpoints on another connection, and the store actor may not
 * block for them. Lock rank: leaf; nothing is called while it is held.
 *
 * The writer never overtakes for long: SQLite starts the WAL anew only when everything in it was copied, which a
 * writer under load prevents. So at four times the pre-grown size the writer copies the short rest itself before its
 * next transaction, and at sixteen times it waits for the checkpointer first.
 */
#include "runtime/chat/state_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define EAGER_TIMES 4    /* of the pre-grown size: the writer helps when little is left */
#define WAIT_TIMES 16    /* of the pre-grown size: the writer waits */
#define HELP_FRAMES 1024 /* what counts as little */

struct sma_state_checkpointer
{
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    sqlite3 *db; /* used by the thread only, once it runs */
    /* under the lock */
    bool is_asked, is_busy, is_closing, is_fatal;
    uint64_t frames_left; /* after the last pass */
    uint64_t passes, frames_grown;
};

/* ---- the thread ----------------------------------------------------------------------------------------------- */

/* Copy what can be copied; again at once while the WAL is over its size and much is left. */
static bool copy(struct sma_state_checkpointer *self, uint64_t *ret_left, uint64_t *ret_passes)
{
    for (int pass = 1; pass <= 3; pass++) {
        int total = 0, copied = 0;
        int rc =
            sqlite3_wal_checkpoint_v2(self->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &total, &copied);
        *ret_passes = (uint64_t)pass;
        if (rc == SQLITE_IOERR_FSYNC)
            return false; /* pages the kernel has dropped would be missing: the process must end */
        if (rc != SQLITE_OK || total < copied) {
            *ret_left = UINT64_MAX; /* busy, or the disk is full: the next request tries again */
            return true;
        }
        *ret_left = (uint64_t)(total - copied);
        if ((uint64_t)total < self->frames_grown || *ret_left < HELP_FRAMES / 4)
            break;
    }
    return true;
}

static void *run(void *argument)
{
    struct sma_state_checkpointer *self = argument;
    pthread_mutex_lock(&self->lock);
    while (!self->is_closing) {
        if (!self->is_asked) {
            pthread_cond_wait(&self->changed, &self->lock);
            continue;
        }
        self->is_asked = false;
        self->is_busy = true;
        pthread_mutex_unlock(&self->lock);
        uint64_t left = UINT64_MAX, passes = 0;
        bool is_good = copy(self, &left, &passes);
        pthread_mutex_lock(&self->lock);
        self->is_busy = false;
        self->is_fatal = self->is_fatal || !is_good;
        self->frames_left = left;
        self->passes += passes;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static int open_own(struct sma_state *state, sqlite3 **ret_db)
{
    int rc = sqlite3_open_v2(state->path, ret_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                             SMA_STATE_VFS_CHECKPOINTER);
    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_extended_result_codes(*ret_db, 1); /* cannot fail on an open connection */
    int is_persistent = 1;
    (void)sqlite3_file_control(*ret_db, NULL, SQLITE_FCNTL_PERSIST_WAL,
                               &is_persistent); /* see the writer */
    const char *const texts[] = {
        state->is_durability_none ? "PRAGMA synchronous=OFF" : "PRAGMA synchronous=FULL",
        "PRAGMA wal_autocheckpoint=0", "PRAGMA cache_size=16",
        "SELECT 1 FROM sqlite_schema", /* opens the WAL now, not in the first checkpoint */
    };
    for (size_t i = 0; i < SMA_COUNT_OF(texts) && rc == SQLITE_OK; i++)
        rc = sqlite3_exec(*ret_db, texts[i], NULL, NULL, NULL);
    return rc;
}

/* Signals belong to the supervisor. */
static int start_thread(struct sma_state_checkpointer *self)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&self->thread, NULL, run, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        (void)pthread_setname_np(self->thread, "checkpointer"); /* for people who look */
    return error;
}

enum sma_err sma_state_checkpointer_start(struct sma_state *state)
{
    struct sma_state_checkpointer *self = calloc(1, sizeof *self);
    if (self == NULL)
        return SMA_ERR_NOMEM;
    self->frames_grown = state->wal_frames_grown;
    int rc = open_own(state, &self->db);
    if (rc != SQLITE_OK) {
        (void)sqlite3_close(self->db);
        free(self);
        return sma_state_fail(state, rc, "open for checkpoints");
    }
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    int error = start_thread(self);
    if (error != 0) {
        pthread_cond_destroy(&self->changed);
        pthread_mutex_destroy(&self->lock);
        (void)sqlite3_close(self->db);
        free(self);
        return sma_fail_os(&state->error, error, "cannot start the checkpointer thread");
    }
    state->checkpointer = self;
    return SMA_ERR_OK;
}

void sma_state_checkpointer_stop(struct sma_state *state)
{
    struct sma_state_checkpointer *self = state->checkpointer;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->is_closing = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    (void)sqlite3_close(self->db); /* no statement is open on it */
    free(self);
    state->checkpointer = NULL;
}

/* ---- the writer's side ---------------------------------------------------------------------------------------- */

static int copy_inline(struct sma_state *state)
{
    int total = 0, copied = 0;
    struct sma_state_vfs_counts before, after;
    state->inline_checkpoints++;
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &before);
    int rc = sqlite3_wal_checkpoint_v2(state->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &total, &copied);
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &after);
    state->counts_at_open.wal_syncs +=
        after.wal_syncs - before.wal_syncs; /* not of the commit path */
    if (rc == SQLITE_IOERR_FSYNC)
        state->is_fatal = true;
    if (rc == SQLITE_OK && total == copied)
        state->wal_frames = 0; /* the next commit starts it anew */
    return rc;
}

void sma_state_checkpoint_after_commit(struct sma_state *state)
{
    if (state->wal_frames < state->wal_frames_asked)
        state->wal_frames_asked = 0; /* it began anew */
    if (state->wal_frames - state->wal_frames_asked < state->wal_frames_grown / 2)
        return;
    if (state->checkpointer == NULL) {
        (void)copy_inline(
            state); /* fatal is noted; anything else is tried again after more commits */
        state->wal_frames_asked = state->wal_frames;
        return;
    }
    state->wal_frames_asked = state->wal_frames;
    pthread_mutex_lock(&state->checkpointer->lock);
    state->checkpointer->is_asked = true;
    state->is_fatal = state->is_fatal || state->checkpointer->is_fatal;
    pthread_cond_broadcast(&state->checkpointer->changed);
    pthread_mutex_unlock(&state->checkpointer->lock);
}

void sma_state_checkpoint_before_begin(struct sma_state *state)
{
    struct sma_state_checkpointer *self = state->checkpointer;
    if (self == NULL || state->wal_frames < EAGER_TIMES * state->wal_frames_grown)
        return;
    pthread_mutex_lock(&self->lock);
    while (state->wal_frames >= WAIT_TIMES * state->wal_frames_grown &&
           (self->is_busy || self->is_asked))
        pthread_cond_wait(&self->changed, &self->lock);
    bool is_idle = !self->is_busy && !self->is_asked;
    bool is_little = self->frames_left < HELP_FRAMES;
    state->is_fatal = state->is_fatal || self->is_fatal;
    pthread_mutex_unlock(&self->lock);
    if (!state->is_fatal && is_idle && is_little)
        (void)copy_inline(state); /* fatal is noted; else the WAL grows on, and it is tried again */
}

void sma_state_counts(const struct sma_state *state, struct sma_state_counts *ret_counts)
{
    struct sma_state_vfs_counts now;
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &now);
    *ret_counts = (struct sma_state_counts){
        .chats = state->chats.count,
        .claims = state->claims.count,
        .open_messages = sma_state_open_count(state),
        .commits = state->commits,
        .lazy_commits = state->lazy_commits,
        .wal_syncs = now.wal_syncs - state->counts_at_open.wal_syncs,
        .wal_restarts = now.wal_headers - state->counts_at_open.wal_headers,
        .inline_checkpoints = state->inline_checkpoints,
        .wal_frames = state->wal_frames,
        .claim_bytes = sma_claims_bytes(&state->claims),
    };
    if (state->checkpointer == NULL)
        return;
    pthread_mutex_lock(&state->checkpointer->lock);
    ret_counts->checkpoints = state->checkpointer->passes;
    pthread_mutex_unlock(&state->checkpointer->lock);
}

/* ---- pre-growing ---------------------------------------------------------------------------------------------- */

static enum sma_err write_zeros(int fd, uint64_t from, uint64_t to)
{
    static const char zeros[65536];
    while (from < to) {
        size_t len = to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
        ssize_t written = pwrite(fd, zeros, len, (off_t)from);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == ENOSPC ? SMA_ERR_NOSPACE : SMA_ERR_IO;
        from += (uint64_t)written;
    }
    return fsync(fd) == 0 ? SMA_ERR_OK : SMA_ERR_IO;
}

/*
 * Zeros at the end of a WAL are no frames, and a WAL of zeros is an empty one. Blocks that exist make fdatasync a write of
 * data alone, without one of the file's size.
 */
enum sma_err sma_state_wal_grow(struct sma_state *state, uint64_t wal_bytes)
{
    struct stat status;
    if (stat(state->path, &status) != 0 || status.st_size == 0)
        return SMA_ERR_OK; /* SQLite would delete it: the caller comes again when the database is there */
    size_t len = strlen(state->path);
    SMA_AUTO(sma_freep) char *wal = malloc(len + sizeof "-wal");
    if (wal == NULL)
        return sma_fail(&state->error, SMA_ERR_NOMEM, "out of memory while opening %s",
                        state->path);
    memcpy(wal, state->path, len);
    memcpy(wal + len, "-wal", sizeof "-wal");
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
        return sma_fail(&state->error, err,
                        "%s cannot grow to %llu bytes: the disk is full, free some space", wal,
                        (unsigned long long)wal_bytes);
    if (err != SMA_ERR_OK)
        return sma_fail_os(&state->error, os_errno, "cannot grow %s", wal);
    /* Database and WAL may be new: their names must outlive a power cut as well. */
    return is_short ? sma_sys_sync_parent(state->sys, wal, &state->error) : SMA_ERR_OK;
}
