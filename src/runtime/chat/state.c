/* Opening, closing, the transaction. */
#include "runtime/chat/state_priv.h"

#include "sma/news.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* -- errors ------------------------------------------------------------------------------------ */

/* -- transactions ------------------------------------------------------------------------------ */

enum sma_err sma_state_begin(struct sma_state *state)
{
    SMA_ASSERT(state->magic == SMA_STATE_MAGIC);
    SMA_ASSERT(!state->is_in_transaction);
    sma_state_chats_sweep(state);
    sma_state_contacts_sweep(state);
    if (!state->is_fatal)
        sma_state_checkpoint_before_begin(state);
    if (state->is_fatal)
        return SMA_ERR_CORRUPT;
    state->is_in_transaction = true;
    state->is_begun = false;
    state->failed = SMA_ERR_OK;
    state->is_marks_forced = false;
    state->save_floor = ++state->save_number;
    state->next_seq_at_begin = state->next_seq;
    state->pending_at_begin = state->pending.count;
    state->blocks_at_begin = state->blocks.count;
    return SMA_ERR_OK;
}

/* End the SQL transaction without effect; SQLite may have done so itself after FULL or IOERR. */
static void roll_back_sql(struct sma_state *state)
{
    if (!state->is_begun || sqlite3_get_autocommit(state->db) != 0)
        return;
    int rc = sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
    /* A rollback in WAL mode only drops pages from memory. Were it to fail, the next begin would
     * find a transaction. */
    if (rc != SQLITE_OK && sqlite3_get_autocommit(state->db) == 0)
        state->is_fatal = true;
}

void sma_state_rollback(struct sma_state *state)
{
    SMA_ASSERT(state->is_in_transaction);
    roll_back_sql(state);
    sma_state_undo_all(state);
    state->is_in_transaction = false;
    state->is_begun = false;
}

/* Rows that ride on this commit: a generation of claims, watermarks, late contacts. */
static enum sma_err write_housekeeping(struct sma_state *state)
{
    SMA_TRY(sma_state_blocks_write(state));
    return sma_state_marks_write(state, state->is_marks_forced);
}

static enum sma_err commit(struct sma_state *state, bool is_lazy)
{
    SMA_ASSERT(state->is_in_transaction && !state->savepoint.is_open);
    if (!state->is_begun && state->failed == SMA_ERR_OK) {
        sma_state_undo_forget(state); /* hints about history ends may have changed */
        state->is_in_transaction = false;
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = write_housekeeping(state);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_COMMIT) : NULL;
    sqlite3_file *wal = is_lazy ? sma_state_wal_file(state) : NULL;
    if (wal != NULL)
        sma_state_vfs_set_lazy(wal, true);
    if (err == SMA_ERR_OK)
        err = stmt == NULL ? state->error.code : sma_state_run(state, stmt);
    if (wal != NULL)
        sma_state_vfs_set_lazy(wal, false);
    if (err != SMA_ERR_OK) {
        sma_state_rollback(state);
        return state->is_fatal ? SMA_ERR_CORRUPT : err;
    }
    SMA_ASSERT_SLOW(sqlite3_get_autocommit(state->db) != 0);
    *(is_lazy ? &state->lazy_commits : &state->commits) += 1;
    state->durable_seq = state->next_seq - 1;
    state->is_unclean_written = true;
    sma_state_undo_forget(state);
    state->is_in_transaction = false;
    state->is_begun = false;
    sma_state_checkpoint_after_commit(state);
    sma_news_ring();
    return SMA_ERR_OK;
}

enum sma_err sma_state_commit(struct sma_state *state)
{
    return commit(state, false);
}

enum sma_err sma_state_commit_lazy(struct sma_state *state)
{
    return commit(state, true);
}

enum sma_err sma_state_sync(struct sma_state *state)
{
    SMA_ASSERT(!state->is_in_transaction);
    sqlite3_file *wal = sma_state_wal_file(state);
    if (wal == NULL || !sma_state_vfs_is_unsynced(wal) || state->is_fatal)
        return state->is_fatal ? SMA_ERR_CORRUPT : SMA_ERR_OK;
    int rc = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
    if (rc == SQLITE_OK)
        return SMA_ERR_OK;
    (void)sma_state_fail(state, rc, "sync the WAL"); /* returns what the caller is told here */
    state->is_fatal = true;
    return SMA_ERR_CORRUPT;
}

bool sma_state_is_in_transaction(const struct sma_state *state)
{
    return state->is_in_transaction;
}

uint64_t sma_state_next_seq(const struct sma_state *state)
{
    return state->next_seq;
}

uint64_t sma_state_durable_seq(const struct sma_state *state)
{
    return state->durable_seq;
}

/* -- open and close ---------------------------------------------------------------------------- */

static int note_wal_frames(void *user, sqlite3 *db, const char *database, int frames)
{
    (void)db;
    (void)database;
    struct sma_state *state = user;
    state->wal_frames = (uint64_t)frames;
    return SQLITE_OK;
}

static enum sma_err open_connection(struct sma_state *state)
{
    int rc = sqlite3_open_v2(state->path, &state->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                             SMA_STATE_VFS_WRITER);
    if (rc != SQLITE_OK)
        return sma_state_fail(state, rc, "open");
    (void)sqlite3_extended_result_codes(state->db, 1); /* cannot fail on an open connection */
    (void)sqlite3_busy_timeout(state->db, 5000); /* somebody looks at it with the sqlite3 tool */
    int is_persistent = 1;
    (void)sqlite3_file_control(state->db, NULL, SQLITE_FCNTL_PERSIST_WAL,
                               &is_persistent); /* else regrown at start */
    const char *const pragmas[] = {
        "PRAGMA page_size=" SMA_STRING_OF(SMA_STATE_PAGE_BYTES), /* of a file that is new */
        "PRAGMA journal_mode=WAL",
        state->is_durability_none ? "PRAGMA synchronous=OFF" : "PRAGMA synchronous=FULL",
        "PRAGMA wal_autocheckpoint=0",
        "PRAGMA cache_size=-4096",
        "PRAGMA mmap_size=0",
        "PRAGMA temp_store=MEMORY",
        "PRAGMA trusted_schema=OFF",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(pragmas); i++) {
        rc = sqlite3_exec(state->db, pragmas[i], NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            return sma_state_fail(state, rc, pragmas[i]);
    }
    (void)sqlite3_wal_hook(state->db, note_wal_frames, state); /* returns the previous one: none */
    sma_state_wal_limit(state, false);
    return SMA_ERR_OK;
}

static void close_connection(struct sma_state *state)
{
    for (size_t i = 0; i < SMA_SQL_COUNT; i++) {
        (void)sqlite3_finalize(state->statements[i]); /* repeats the last error of the statement */
        state->statements[i] = NULL;
    }
    if (state->db != NULL) {
        sma_state_wal_limit(state, true);
        sma_state_close_connection(state->db, state->is_fatal);
    }
    state->db = NULL;
}

/* People's messages are in it: nobody else may read it. SQLite gives -wal and -shm the mode of the
 * database. */
static enum sma_err create_file(struct sma_state *state)
{
    int fd = open(state->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return sma_fail_os(&state->error, errno, "cannot open the state database %s", state->path);
    (void)close(fd); /* nothing was written */
    return SMA_ERR_OK;
}

/* A new file gets its schema first: SQLite throws away the WAL of an empty database, so it is
 * pre-grown after that. */
static enum sma_err open_database(struct sma_state *state, uint64_t wal_bytes)
{
    enum sma_err err = create_file(state);
    if (err == SMA_ERR_OK)
        err = sma_state_wal_grow(state, wal_bytes);
    if (err == SMA_ERR_OK)
        err = open_connection(state);
    if (err == SMA_ERR_OK)
        err = sma_state_wal_settle(state);
    if (err == SMA_ERR_OK)
        err = sma_state_migrate(state);
    if (err != SMA_ERR_OK || !state->is_new)
        return err;
    close_connection(state);
    err = sma_state_wal_grow(state, wal_bytes);
    return err == SMA_ERR_OK ? open_connection(state) : err;
}

static enum sma_err load(struct sma_state *state)
{
    uint64_t covered = 0;
    enum sma_err err = sma_claims_init(&state->claims);
    if (err == SMA_ERR_OK)
        err = sma_state_marks_load(state);
    if (err == SMA_ERR_OK)
        err = sma_state_chats_load(state);
    if (err == SMA_ERR_OK)
        err = sma_state_moves_load(state);
    if (err == SMA_ERR_OK)
        err = sma_state_blocks_load(state, &covered);
    if (err == SMA_ERR_OK)
        err = sma_state_tail_load(state, state->marks_seq, covered);
    if (err == SMA_ERR_OK)
        err = sma_state_contacts_load(state);
    state->durable_seq = state->next_seq - 1;
    state->marks_seq = state->next_seq;
    return err;
}

static enum sma_err open_all(struct sma_state *state, const struct sma_state_options *options)
{
    uint64_t wal_bytes = options->wal_bytes == 0 ? SMA_WAL_PREGROWN_BYTES : options->wal_bytes;
    state->wal_bytes_grown = wal_bytes;
    state->inline_copied = UINT64_MAX;
    enum sma_err err = sma_state_vfs_register();
    if (err != SMA_ERR_OK)
        return sma_fail(&state->error, err, "cannot initialise SQLite");
    err = open_database(state, wal_bytes);
    uint64_t page_bytes = SMA_STATE_PAGE_BYTES;
    if (err == SMA_ERR_OK)
        err = sma_state_ask_pragma(state, "PRAGMA page_size", &page_bytes);
    state->wal_frames_grown = wal_bytes / (page_bytes + 24);
    if (err == SMA_ERR_OK)
        err = load(state);
    if (err == SMA_ERR_OK && !state->is_single_threaded)
        err = sma_state_checkpointer_start(state);
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &state->counts_at_open);
    return err;
}

static void destroy(struct sma_state *state)
{
    sma_state_checkpointer_stop(state);
    close_connection(state);
    sma_state_chats_free(state);
    sma_state_contacts_free(state);
    sma_claims_fini(&state->claims);
    free(state->undo.items);
    free(state->saves.items);
    free(state->open.items);
    free(state->pending.items);
    free(state->blocks.items);
    free(state->expiry.kept.items);
    free(state->block_bytes);
    free(state->path);
    state->magic = 0;
    free(state);
}

enum sma_err sma_state_open(const struct sma_state_options *options, struct sma_state **ret_state,
                            struct sma_error *error)
{
    struct sma_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory while opening %s", options->path);
    state->turn_count_max = SMA_STATE_TURN_COUNT_MAX;
    state->magic = SMA_STATE_MAGIC;
    state->sys = options->sys == NULL ? sma_sys_real() : options->sys;
    state->is_durability_none = options->is_durability_none;
    state->is_single_threaded = options->is_single_threaded;
    state->opened_ns = state->sys->now_ns(state->sys->self);
    state->on_fatal = options->on_fatal;
    state->on_fatal_user = options->on_fatal_user;
    state->next_seq = 1;
    state->chats.kept_max = SMA_STATE_CHAT_KEPT_MAX;
    state->hour_noted = -1;
    state->was_clean = true;
    sma_state_set_claim_bounds(state, SMA_CLAIM_COUNT_SOFT, SMA_CLAIM_COUNT_MAX,
                               UINT64_C(3600000) * SMA_CLAIM_AGE_MIN_H);
    state->path = strdup(options->path);
    state->block_bytes = malloc((size_t)SMA_STATE_BLOCK_COUNT * SMA_STATE_BLOCK_PAIR_BYTES);
    enum sma_err err = state->path == NULL || state->block_bytes == NULL
                           ? sma_fail(&state->error, SMA_ERR_NOMEM,
                                      "out of memory while opening %s", options->path)
                           : open_all(state, options);
    if (err != SMA_ERR_OK) {
        if (error != NULL) {
            *error = state->error;
            error->code = err;
        }
        destroy(state);
        return err;
    }
    *ret_state = state;
    return SMA_ERR_OK;
}

/* One last commit with the watermarks, and the mark of a clean end. */
static void write_last(struct sma_state *state, bool is_clean)
{
    if (sma_state_begin(state) != SMA_ERR_OK)
        return;
    enum sma_err err = sma_state_change(state);
    if (err == SMA_ERR_OK)
        err = sma_state_contacts_flush(state, SIZE_MAX);
    if (err == SMA_ERR_OK)
        err = sma_state_marks_write(state, true);
    sqlite3_stmt *stmt = err == SMA_ERR_OK ? sma_state_statement(state, SMA_SQL_META_SET) : NULL;
    if (stmt != NULL) {
        state->is_unclean_written = true; /* so that the commit does not write the opposite */
        sma_state_bind(stmt, 1, SMA_STR("state.clean"), true);
        sma_state_bind(stmt, 2, is_clean ? SMA_STR("1") : SMA_STR("0"), true);
        err = sma_state_run(state, stmt);
    }
    if (err == SMA_ERR_OK)
        err = sma_state_commit(state);
    else
        sma_state_rollback(state);
    (void)err; /* nobody is left to tell: the next start sees an unclean end, which is true */
}

void sma_state_close(struct sma_state *state, bool is_clean)
{
    if (state == NULL)
        return;
    SMA_ASSERT(state->magic == SMA_STATE_MAGIC);
    if (state->is_in_transaction)
        sma_state_rollback(state);
    bool has_something = state->commits + state->lazy_commits > 0 || state->is_marks_dirty ||
                         state->late.count > 0 || (is_clean && !state->was_clean);
    if (!state->is_fatal && has_something)
        write_last(state, is_clean);
    destroy(state);
}

bool sma_state_was_clean(const struct sma_state *state)
{
    return state->was_clean;
}

bool sma_state_is_fatal(const struct sma_state *state)
{
    return state->is_fatal;
}
