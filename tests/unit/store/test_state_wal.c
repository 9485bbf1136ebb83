/*
 * Aim: the WAL stays small, failed checkpoints are told and tried again, and no failed fsync is
 * believed later.
 * Method: a hook below SQLite that fails calls of the checkpointer or the writer, a second
 * connection that reads, and a model of a disk behind a page cache: what was written since the last
 * sync that answered well is on no disk, and a sync that fails drops it for good, although every
 * read goes on showing it.
 */
#include "state_support.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <time.h>

/* -- ways -------------------------------------------------------------------------------------- */

static _Atomic bool fails_checkpoint_write, fails_checkpoint_sync, fails_commit_sync;
static _Atomic unsigned fatal_count, asked_syncs;

static enum sma_state_vfs_action fail_some(enum sma_state_vfs_role role,
                                           enum sma_state_vfs_call call, bool is_wal)
{
    bool is_checkpointer = role == SMA_STATE_VFS_ROLE_CHECKPOINTER;
    if (is_checkpointer && call == SMA_STATE_VFS_SYNC)
        asked_syncs++;
    if (is_checkpointer && call == SMA_STATE_VFS_WRITE && fails_checkpoint_write)
        return SMA_STATE_VFS_FAIL_IO;
    if (is_checkpointer && call == SMA_STATE_VFS_SYNC && fails_checkpoint_sync)
        return SMA_STATE_VFS_FAIL_IO;
    if (!is_checkpointer && is_wal && call == SMA_STATE_VFS_SYNC && fails_commit_sync)
        return SMA_STATE_VFS_FAIL_IO;
    return SMA_STATE_VFS_PASS;
}

static void note_fatal(void *user, const char *text)
{
    (void)user;
    CHECK(strstr(text, "fsync") != NULL);
    fatal_count++;
}

static void open_with_thread(struct fixture *f)
{
    struct sma_error error = {0};
    fails_checkpoint_write = fails_checkpoint_sync = fails_commit_sync = false;
    fatal_count = asked_syncs = 0;
    sma_state_vfs_set_hook(fail_some);
    CHECK_OK(sma_state_open(
        &(struct sma_state_options){
            .path = f->path, .sys = &f->sys, .wal_bytes = 256 * 1024, .on_fatal = note_fatal},
        &f->state, &error));
}

static enum sma_err write_batch(struct fixture *f, int number)
{
    enum sma_err err = sma_state_begin(f->state);
    if (err != SMA_ERR_OK)
        return err;
    char line[2000], event[24];
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 20; i++) {
        snprintf(event, sizeof event, "%d.%d", number, i);
        struct sma_state_message message = message_of(chat_named(f->state, "c"), event, 5);
        message.line = (struct sma_str){line, sizeof line};
        uint64_t seq;
        CHECK_OK(sma_state_accept(f->state, &message, &seq));
    }
    return sma_state_commit(f->state);
}

/* Wait for what another thread does. */
#define AWAIT(condition)                                             \
    do {                                                             \
        int left_ms = 20000;                                         \
        while (!(condition) && left_ms-- > 0)                        \
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); \
        CHECK(condition);                                            \
    } while (0)

static uint64_t passes_of(struct fixture *f)
{
    struct sma_state_counts counts;
    sma_state_counts(f->state, &counts);
    return counts.checkpoints;
}

static uint64_t failures_of(struct fixture *f)
{
    struct sma_state_counts counts;
    sma_state_counts(f->state, &counts);
    return counts.checkpoint_failures;
}

static bool tend_after_a_second(struct fixture *f)
{
    f->now_ns += UINT64_C(1100000000);
    uint64_t before = passes_of(f);
    bool is_wanted = sma_state_wal_tend(f->state);
    if (is_wanted)
        AWAIT(passes_of(f) > before);
    return is_wanted;
}

/* -- bounded and shrinking --------------------------------------------------------------------- */

CASE(a_reader_that_holds_the_wal_back_is_named_and_the_file_shrinks_when_it_goes)
{
    struct fixture f;
    struct sma_state_wal_trouble trouble;
    fixture_init(&f);
    open_with_thread(&f);
    CHECK_OK(write_batch(&f, 0));
    sqlite3 *reader = NULL;
    CHECK_INT(SQLITE_OK, sqlite3_open_v2(f.path, &reader, SQLITE_OPEN_READONLY, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM messages", 0, 0, 0));
    CHECK(!sma_state_wal_trouble(f.state, &trouble));
    for (int i = 1; i < 120; i++)
        CHECK_OK(write_batch(&f, i));
    (void)tend_after_a_second(&f);
    AWAIT(sma_state_wal_trouble(f.state, &trouble) || !tend_after_a_second(&f));
    CHECK(sma_state_wal_trouble(f.state, &trouble));
    CHECK_INT(SMA_ERR_OK, trouble.error.code);
    CHECK(strstr(trouble.reader, "reader") != NULL);
    CHECK(trouble.wal_bytes > 4 * 256 * 1024);
    CHECK(tend_after_a_second(&f));
    CHECK(sma_state_wal_trouble(f.state, &trouble) && trouble.lasting_ms >= 1000);

    CHECK_INT(SQLITE_OK, sqlite3_exec(reader, "COMMIT", 0, 0, 0));
    CHECK_INT(SQLITE_OK, sqlite3_close(reader));
    while (tend_after_a_second(&f))
        continue;
    CHECK(!sma_state_wal_trouble(f.state, &trouble));
    CHECK_OK(write_batch(&f, 1000));
    CHECK_INT(4 * 256 * 1024, (long long)sma_state_wal_bytes(f.state));
    CHECK(is_claimed(f.state, "c", "119.7"));
    fixture_fini(&f);
    sma_state_vfs_set_hook(NULL);
}

CASE(the_wal_is_kept_over_an_end_unless_it_is_large)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.is_durable = true;
    fixture_open(&f);
    CHECK_OK(write_batch(&f, 0));
    fixture_reopen(&f, true);
    CHECK_INT(256 * 1024, (long long)sma_state_wal_bytes(f.state));
    fixture_reopen(&f, false);
    CHECK_INT(256 * 1024, (long long)sma_state_wal_bytes(f.state));
    CHECK(is_claimed(f.state, "c", "0.19"));
}

/* -- failed checkpoints ------------------------------------------------------------------------ */

CASE(a_checkpoint_that_fails_is_counted_told_and_tried_again)
{
    struct fixture f;
    struct sma_state_wal_trouble trouble;
    fixture_init(&f);
    open_with_thread(&f);
    fails_checkpoint_write = true;
    for (int i = 0; i < 8 && failures_of(&f) == 0; i++)
        CHECK_OK(write_batch(&f, i));
    AWAIT(failures_of(&f) > 0);
    CHECK(sma_state_wal_trouble(f.state, &trouble));
    CHECK_INT(SMA_ERR_IO, trouble.error.code);
    CHECK(strstr(trouble.error.text, "disk I/O error") != NULL);
    CHECK(!sma_state_is_fatal(f.state));

    uint64_t before = failures_of(&f);
    CHECK(sma_state_wal_tend(f.state)); /* too early: asks nobody */
    CHECK(tend_after_a_second(&f));
    AWAIT(failures_of(&f) > before);
    fails_checkpoint_write = false;
    CHECK(tend_after_a_second(&f));
    AWAIT(!sma_state_wal_trouble(f.state, &trouble));
    CHECK(!sma_state_wal_tend(f.state));
    CHECK(trouble.failure_count >= 2);
    CHECK_OK(write_batch(&f, 100));
    fixture_fini(&f);
    sma_state_vfs_set_hook(NULL);
}

CASE(a_failed_fsync_of_a_checkpoint_ends_everything_at_once_and_is_never_asked_again)
{
    struct fixture f;
    fixture_init(&f);
    open_with_thread(&f);
    fails_checkpoint_sync = true;
    for (int i = 0; i < 8 && fatal_count == 0; i++)
        if (write_batch(&f, i) != SMA_ERR_OK)
            break;
    /* Nobody calls the state meanwhile: an idle store would not. */
    AWAIT(fatal_count > 0);
    unsigned asked = asked_syncs;
    fails_checkpoint_sync = false;
    CHECK_ERR(SMA_ERR_CORRUPT, write_batch(&f, 50));
    CHECK(sma_state_is_fatal(f.state));
    f.now_ns += UINT64_C(5000000000);
    CHECK(!sma_state_wal_tend(f.state));
    struct sma_state_vfs_counts before, after;
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &before);
    sma_state_close(f.state, true);
    sma_state_vfs_counts(SMA_STATE_VFS_ROLE_WRITER, &after);
    CHECK_INT(before.main_syncs + before.wal_syncs, after.main_syncs + after.wal_syncs);
    CHECK_INT(asked, asked_syncs);
    CHECK_INT(1, fatal_count);
    f.state = NULL;
    fixture_open(&f); /* the WAL has all of it */
    CHECK(is_claimed(f.state, "c", "0.0"));
    fixture_fini(&f);
    sma_state_vfs_set_hook(NULL);
}

/* -- a disk behind a page cache ---------------------------------------------------------------- */

#define DISK_BYTES_MAX (4 * 1024 * 1024)
#define SECTOR 512
struct disk
{
    char path[192];
    unsigned char *bytes; /* what a power cut leaves */
    size_t len;
    bool is_dirty[DISK_BYTES_MAX / SECTOR]; /* in the cache only, and known to be */
};
static struct disk disks[2]; /* database, WAL */

static size_t read_whole(const char *path, unsigned char *bytes)
{
    FILE *file = fopen(path, "rbe");
    CHECK(file != NULL);
    size_t len = fread(bytes, 1, DISK_BYTES_MAX, file);
    fclose(file);
    return len;
}

static void watch_disk(bool is_wal, enum sma_state_vfs_call call, bool is_good, int64_t offset,
                       int len)
{
    struct disk *disk = &disks[is_wal];
    static unsigned char cache[DISK_BYTES_MAX];
    if (call == SMA_STATE_VFS_WRITE && is_good)
        for (int64_t at = offset / SECTOR; at * SECTOR < offset + len; at++)
            disk->is_dirty[at] = true;
    if (call == SMA_STATE_VFS_TRUNCATE && is_good && (size_t)offset < disk->len)
        disk->len = (size_t)offset; /* names and sizes are journaled */
    if (call != SMA_STATE_VFS_SYNC)
        return;
    size_t now = is_good ? read_whole(disk->path, cache) : 0;
    for (size_t at = 0; at < DISK_BYTES_MAX / SECTOR; at++) {
        if (disk->is_dirty[at] && is_good && at * SECTOR < now)
            memcpy(disk->bytes + at * SECTOR, cache + at * SECTOR, SECTOR);
        disk->is_dirty[at] = false; /* a failed one has marked it clean all the same */
    }
    if (is_good && now > disk->len)
        disk->len = now;
}

static void start_disks(const struct fixture *f)
{
    for (int i = 0; i < 2; i++) {
        snprintf(disks[i].path, sizeof disks[i].path, "%s%s", f->path, i == 0 ? "" : "-wal");
        disks[i].bytes = calloc(1, DISK_BYTES_MAX);
        CHECK(disks[i].bytes != NULL);
        disks[i].len = read_whole(disks[i].path, disks[i].bytes);
        memset(disks[i].is_dirty, 0, sizeof disks[i].is_dirty);
    }
    sma_state_vfs_set_watch(watch_disk);
}

/* Another machine gets what the disk has, and nothing else. */
static void cut_power(struct fixture *after)
{
    sma_state_vfs_set_watch(NULL);
    sma_state_vfs_set_hook(NULL);
    fixture_init(after);
    for (int i = 0; i < 2; i++) {
        char path[192];
        snprintf(path, sizeof path, "%s%s", after->path, i == 0 ? "" : "-wal");
        FILE *file = fopen(path, "wbe");
        CHECK(file != NULL);
        CHECK_INT(disks[i].len, fwrite(disks[i].bytes, 1, disks[i].len, file));
        fclose(file);
        free(disks[i].bytes);
    }
    fixture_open(after);
}

static void open_durable(struct fixture *f)
{
    f->is_durable = true;
    fixture_open(f);
}

/* What the killed process leaves behind it. */
static void leave(struct fixture *f)
{
    sma_state_close(f->state, true); /* fatal: writes nothing */
    f->state = NULL;
}

CASE(what_is_acknowledged_after_a_failed_commit_outlives_a_power_cut)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    open_durable(&f);
    CHECK_OK(write_batch(&f, 0));
    start_disks(&f);
    CHECK_OK(write_batch(&f, 1));
    sma_state_vfs_set_hook(fail_some);
    fails_commit_sync = true;
    CHECK_ERR(SMA_ERR_CORRUPT, write_batch(&f, 2));
    fails_commit_sync = false;
    leave(&f);

    open_durable(&f); /* the cache shows batch 2, no disk has it */
    CHECK(is_claimed(f.state, "c", "1.0"));
    bool has_second = is_claimed(f.state, "c", "2.0");
    CHECK_OK(write_batch(&f, 3));
    struct fixture after;
    cut_power(&after);
    CHECK(is_claimed(after.state, "c", "0.19"));
    CHECK(is_claimed(after.state, "c", "1.19"));
    CHECK_INT(has_second, is_claimed(after.state, "c", "2.19"));
    CHECK(is_claimed(after.state, "c", "3.19"));
    fixture_fini(&after);
}

CASES_MAIN
