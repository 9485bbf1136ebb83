/*
 * The checkpointer: a thread of its own with a database connection of its own that copies the WAL
 * into the database while the writer goes on. It shares nothing with the writer but this struct:
 * asked by a condition variable when the WAL has grown by half its pre-grown size, asleep otherwise
 * (idle = no wake-ups).
 *
 * This is the one thread of runtime/: SQLite wants its checkpoints on another connection, and the
 * store actor may not block for them. Lock rank: leaf; nothing is called while it is held.
 *
 * The writer never overtakes for long: SQLite starts the WAL anew only when everything in it was
 * copied, which a writer under load prevents. So at four times the pre-grown size the writer copies
 * the short rest itself before its next transaction, and at sixteen times it waits for the
 * checkpointer first. The commit that begins a larger WAL anew cuts it to four times the size
 * (journal_size_limit).
 *
 * A pass can fail in three ways. A failed fsync is the end: what the kernel has dropped is gone,
 * and asking again would be answered well; nothing is copied or committed any more and the owner is
 * told on this thread, because an idle store would not notice. Any other error, and a reader that
 * holds old pages, are troubles: noted for the owner to tell (sma_state_wal_trouble), tried again
 * with the next commit, at most once a second.
 */
#include "runtime/chat/state_priv.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define EAGER_TIMES 4    /* of the pre-grown size: the writer helps when little is left */
#define WAIT_TIMES 16    /* of the pre-grown size: the writer waits */
#define HELP_FRAMES 1024 /* what counts as little */
#define AGAIN_NS UINT64_C(1000000000) /* between two tries in trouble */

/* What one pass, or up to three in a row, have done. */
struct outcome
{
    int rc, os_errno;
    uint64_t left, total, passes;
    bool
        /* nothing more could be copied while nothing was wrong: somebody reads old pages */
        is_held;
};

struct sma_state_checkpointer
{
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    sqlite3 *db; /* used by the thread only, once it runs */
    const struct sma_sys *sys;
    sma_state_fatal_fn *on_fatal;
    void *on_fatal_user;
    uint64_t frames_grown;
    _Atomic bool is_fatal;
    /* under the lock */
    bool is_asked, is_busy, is_closing;
    uint64_t frames_left; /* after the last pass */
    uint64_t passes;
    struct sma_state_passes noted;
};

/* -- the thread -------------------------------------------------------------------------------- */

/* @before_copied  what the pass before had copied; UINT64_MAX = there was none */
static struct outcome pass(sqlite3 *db, uint64_t before_copied)
{
    int total = 0, copied = 0;
    int rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, &total, &copied);
    struct outcome outcome = {.rc = rc, .passes = 1, .left = UINT64_MAX};
    if (rc != SQLITE_OK)
        outcome.os_errno = sqlite3_system_errno(db);
    if (rc != SQLITE_OK || total < copied)
        return outcome; /* busy, or the disk is full or ill: the next request tries again */
    outcome.total = (uint64_t)total;
    outcome.left = (uint64_t)(total - copied);
    outcome.is_held = outcome.left > 0 && (uint64_t)copied == before_copied;
    return outcome;
}

/* Copy what can be copied; again at once while the WAL is over its size and much is left. */
static struct outcome copy(const struct sma_state_checkpointer *self)
{
    struct outcome outcome = pass(self->db, UINT64_MAX);
    for (uint64_t number = 2; number <= 3; number++) {
        if (outcome.rc != SQLITE_OK || outcome.total < self->frames_grown ||
            outcome.left < HELP_FRAMES / 4 || outcome.left > outcome.total)
            break;
        outcome = pass(self->db, outcome.total - outcome.left);
        outcome.passes = number;
    }
    return outcome;
}

static void note(struct sma_state_passes *noted, const struct outcome *outcome, uint64_t now_ns)
{
    bool is_failed = outcome->rc != SQLITE_OK && (outcome->rc & 0xff) != SQLITE_BUSY;
    noted->failure_count += is_failed;
    noted->rc = is_failed ? outcome->rc : SQLITE_OK;
    noted->os_errno = outcome->os_errno;
    if (is_failed || outcome->is_held)
        noted->since_ns = noted->is_trouble ? noted->since_ns : now_ns;
    noted->is_trouble = is_failed || outcome->is_held;
}

static void tell_fatal(struct sma_state_checkpointer *self, int os_errno)
{
    char text[160];
    atomic_store_explicit(&self->is_fatal, true, memory_order_release);
    sqlite3_snprintf(sizeof text, text,
                     "fsync of state.db failed in a checkpoint (errno %d): the disk has lost a "
                     "write; check it and start again",
                     os_errno);
    if (self->on_fatal != NULL)
        self->on_fatal(self->on_fatal_user, text);
}

static void *run(void *argument)
{
    struct sma_state_checkpointer *self = argument;
    pthread_mutex_lock(&self->lock);
    while (!self->is_closing) {
        if (!self->is_asked || atomic_load_explicit(&self->is_fatal, memory_order_relaxed)) {
            pthread_cond_wait(&self->changed, &self->lock);
            continue;
        }
        self->is_asked = false;
        self->is_busy = true;
        pthread_mutex_unlock(&self->lock);
        struct outcome outcome = copy(self);
        if (outcome.rc == SQLITE_IOERR_FSYNC)
            tell_fatal(self, outcome.os_errno);
        pthread_mutex_lock(&self->lock);
        self->is_busy = false;
        self->frames_left = outcome.left;
        self->passes += outcome.passes;
        note(&self->noted, &outcome, self->sys->now_ns(self->sys->self));
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
    self->sys = state->sys;
    self->on_fatal = state->on_fatal;
    self->on_fatal_user = state->on_fatal_user;
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
    state->is_fatal = state->is_fatal || atomic_load(&self->is_fatal);
    sma_state_close_connection(self->db, state->is_fatal); /* no statement is open on it */
    free(self);
    state->checkpointer = NULL;
}

/* -- the writer's side ------------------------------------------------------------------------- */

static void take_fatal(struct sma_state *state)
{
    if (state->checkpointer != NULL &&
        atomic_load_explicit(&state->checkpointer->is_fatal, memory_order_acquire))
        state->is_fatal = true;
}

static void copy_inline(struct sma_state *state)
{
    struct sma_state_vfs_counts before, after;
    state->inline_checkpoints++;
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &before);
    struct outcome outcome = pass(state->db, state->inline_copied);
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &after);
    state->counts_at_open.wal_syncs +=
        after.wal_syncs - before.wal_syncs; /* not of the commit path */
    state->inline_copied =
        outcome.left <= outcome.total ? outcome.total - outcome.left : UINT64_MAX;
    note(&state->passes, &outcome, state->sys->now_ns(state->sys->self));
    if (outcome.rc == SQLITE_IOERR_FSYNC)
        (void)sma_state_fail(state, outcome.rc, "checkpoint"); /* fatal is noted */
    if (outcome.rc == SQLITE_OK && outcome.left == 0)
        state->wal_frames = 0; /* the next commit starts it anew */
}

static void ask(struct sma_state *state)
{
    state->wal_frames_asked = state->wal_frames;
    state->wal_asked_ns = state->sys->now_ns(state->sys->self);
    if (state->checkpointer == NULL) {
        copy_inline(state);
        return;
    }
    pthread_mutex_lock(&state->checkpointer->lock);
    state->checkpointer->is_asked = true;
    pthread_cond_broadcast(&state->checkpointer->changed);
    pthread_mutex_unlock(&state->checkpointer->lock);
}

static void get_noted(const struct sma_state *state, struct sma_state_passes *ret_noted)
{
    *ret_noted = state->passes;
    if (state->checkpointer == NULL)
        return;
    pthread_mutex_lock(&state->checkpointer->lock);
    *ret_noted = state->checkpointer->noted;
    pthread_mutex_unlock(&state->checkpointer->lock);
}

/* Read without the lock first: it is asked after every commit. */
static bool is_again_due(const struct sma_state *state)
{
    struct sma_state_passes noted;
    if (state->sys->now_ns(state->sys->self) < state->wal_asked_ns + AGAIN_NS ||
        state->wal_asked_ns == 0)
        return false;
    get_noted(state, &noted);
    return noted.is_trouble;
}

void sma_state_checkpoint_after_commit(struct sma_state *state)
{
    if (state->wal_frames < state->wal_frames_asked)
        state->wal_frames_asked = 0; /* it began anew */
    if (state->wal_frames - state->wal_frames_asked >= state->wal_frames_grown / 2 ||
        is_again_due(state))
        ask(state);
    take_fatal(state);
}

void sma_state_checkpoint_before_begin(struct sma_state *state)
{
    struct sma_state_checkpointer *self = state->checkpointer;
    take_fatal(state);
    if (self == NULL || state->is_fatal ||
        state->wal_frames < EAGER_TIMES * state->wal_frames_grown)
        return;
    pthread_mutex_lock(&self->lock);
    while (state->wal_frames >= WAIT_TIMES * state->wal_frames_grown &&
           (self->is_busy || self->is_asked) && !atomic_load(&self->is_fatal) &&
           !self->noted.is_trouble)
        pthread_cond_wait(&self->changed, &self->lock);
    bool is_idle = !self->is_busy && !self->is_asked;
    bool is_little = self->frames_left < HELP_FRAMES;
    pthread_mutex_unlock(&self->lock);
    take_fatal(state);
    if (!state->is_fatal && is_idle && is_little)
        copy_inline(state); /* fatal is noted; else the WAL grows on, and it is tried again */
}

bool sma_state_wal_tend(struct sma_state *state)
{
    SMA_ASSERT(!state->is_in_transaction);
    struct sma_state_passes noted;
    take_fatal(state);
    get_noted(state, &noted);
    if (state->is_fatal || !noted.is_trouble)
        return false;
    if (state->sys->now_ns(state->sys->self) >= state->wal_asked_ns + AGAIN_NS)
        ask(state);
    return true;
}

bool sma_state_wal_trouble(const struct sma_state *state, struct sma_state_wal_trouble *ret_trouble)
{
    struct sma_state_passes noted;
    get_noted(state, &noted);
    uint64_t now = state->sys->now_ns(state->sys->self);
    *ret_trouble = (struct sma_state_wal_trouble){
        .wal_bytes = sma_state_wal_bytes(state),
        .lasting_ms = now > noted.since_ns ? (now - noted.since_ns) / 1000000 : 0,
        .failure_count = noted.failure_count};
    if (!noted.is_trouble)
        return false;
    if (noted.rc != SQLITE_OK) {
        (void)sma_fail(&ret_trouble->error, SMA_ERR_IO, "%s (%d, errno %d)",
                       sqlite3_errstr(noted.rc), noted.rc, noted.os_errno);
        return true;
    }
    /* A reader is no trouble while it is short. */
    if (ret_trouble->wal_bytes <= SMA_STATE_WAL_TIMES * state->wal_bytes_grown)
        return false;
    sma_state_wal_reader(state, ret_trouble->reader, sizeof ret_trouble->reader);
    return true;
}

void sma_state_counts(const struct sma_state *state, struct sma_state_counts *ret_counts)
{
    struct sma_state_vfs_counts now;
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &now);
    *ret_counts = (struct sma_state_counts){
        .chats = sma_state_chat_count(state),
        .chats_kept = state->chats.count,
        .claims = state->claims.count,
        .open_messages = sma_state_open_count(state),
        .commits = state->commits,
        .lazy_commits = state->lazy_commits,
        .wal_syncs = now.wal_syncs - state->counts_at_open.wal_syncs,
        .wal_restarts = now.wal_headers - state->counts_at_open.wal_headers,
        .inline_checkpoints = state->inline_checkpoints,
        .wal_frames = state->wal_frames,
        .checkpoint_failures = state->passes.failure_count,
        .claim_bytes = sma_claims_bytes(&state->claims),
    };
    if (state->checkpointer == NULL)
        return;
    pthread_mutex_lock(&state->checkpointer->lock);
    ret_counts->checkpoints = state->checkpointer->passes;
    ret_counts->checkpoint_failures += state->checkpointer->noted.failure_count;
    pthread_mutex_unlock(&state->checkpointer->lock);
}
