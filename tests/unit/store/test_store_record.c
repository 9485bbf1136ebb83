/*
 * Aim: what is wrong with one chat's history file is the trouble of that chat alone, and not of its
 *      answers: its lines wait, over restarts too, and are written once and in order when the file
 *      can be used again.
 * Method: files replaced by directories and the like, a system table that fails, a probe of the
 * watermark.
 */
#include "store_support.h"

#include "actors/store/record_priv.h"
#include "runtime/chat/state_asides.h"
#include "runtime/chat/state_read.h"
#include "runtime/chat/state_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <time.h>

static struct world w;

/* -- a system that fails on demand ------------------------------------------------------------- */
static struct sma_sys sys;
static int write_errno, sync_count;
static const char *write_victim; /* only files whose inode this path has; NULL = all */

static bool is_victim(int fd)
{
    struct stat there, wanted;
    return write_victim == NULL || (fstat(fd, &there) == 0 && stat(write_victim, &wanted) == 0 &&
                                    there.st_ino == wanted.st_ino);
}

static ssize_t failing_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    if (write_errno == 0 || !is_victim(fd))
        return sma_sys_real()->pwrite(self, fd, bytes, len, offset);
    errno = write_errno;
    return -1;
}

static _Atomic bool is_sync_blocked; /* read by the syncing thread */
static sem_t may_sync;

static int counting_fdatasync(void *self, int fd)
{
    __atomic_add_fetch(&sync_count, 1, __ATOMIC_SEQ_CST);
    if (is_sync_blocked)
        while (sem_wait(&may_sync) != 0) {
        }
    return sma_sys_real()->fdatasync(self, fd);
}

static void make_failing_world(void)
{
    make_world(&w);
    sys = *sma_sys_real();
    sys.pwrite = failing_pwrite;
    sys.fdatasync = counting_fdatasync;
    write_errno = sync_count = 0;
    write_victim = NULL;
    w.sys = &sys;
}

static const char *path_of(const char *chat)
{
    static char path[2][200];
    static int next;
    char *at = path[next++ % 2];
    snprintf(at, sizeof path[0], "%s/chats/test%%3Achat%%3A%s.jsonl", w.state_dir, chat);
    return at;
}

/* Everything that is asked for answers is answered: by "ok". @return how many */
static int answer_all(void)
{
    int count = 0;
    for (uint64_t seq; (seq = run_seq(&w)) != 0; count++) {
        step(&w, seq, 1, &(struct delivery){.key = "test:chat:x", .text = "hi"}, 1);
        done(&w, seq, "ok", NULL, 0);
        expect_durable(&w, SMA_MSG_STEP_DONE);
        CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_DONE_DONE));
    }
    return count;
}

static void say_and_answer(const char *chat, const char *id)
{
    say(&w, chat, id, id);
    expect_accepted(&w);
    CHECK_INT(1, answer_all());
}

/* The ids of the user lines of a chat, joined. */
static const char *ids_of(const char *chat)
{
    static char ids[4096];
    char file[64];
    snprintf(file, sizeof file, "test%%3Achat%%3A%s", chat);
    ids[0] = '\0';
    for (const char *at = history(&w, file); (at = strstr(at, "\"messageId\":\"")) != NULL;) {
        at += strlen("\"messageId\":\"");
        size_t len = strcspn(at, "\"");
        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%.*s ", (int)len, at);
    }
    return ids;
}

static bool is_flushed(void)
{
    return sma_state_history_flushed(w.store->state) == sma_state_durable_seq(w.store->state);
}

/* -- one bad file ------------------------------------------------------------------------------ */
enum spoiling
{
    SPOIL_DIRECTORY,
    SPOIL_FIFO,
    SPOIL_LOOP,
    SPOIL_COUNT
};

static void spoil(const char *path, enum spoiling how)
{
    (void)unlink(path);
    int status = how == SPOIL_DIRECTORY ? mkdir(path, 0700)
                 : how == SPOIL_FIFO    ? mkfifo(path, 0600)
                                        : symlink(path, path);
    CHECK_INT(0, status);
}

AFTER_EACH(end_world(&w))

/* Review 1.5: the file of a *known* chat. */
CASE(a_bad_history_file_stops_nobody_not_even_its_chat)
{
    for (enum spoiling how = 0; how < SPOIL_COUNT; how++) {
        new_world(&w);
        say_and_answer("a", "1");
        run_for(&w, 5 * SECOND); /* synced */
        CHECK_TEXT("1 ", ids_of("a"));
        spoil(path_of("a"), how);
        restart_world(&w); /* no descriptor is left */
        say_and_answer("a", "2");
        say_and_answer("b", "1");
        run_for(&w, 20 * SECOND);
        say_and_answer("a", "3");
        run_for(&w, 5 * SECOND);
        CHECK_TEXT("1 ", ids_of("b"));
        CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_disk_degraded));
        CHECK_INT(1, (long long)sma_gauge_get(SMA_GAUGE_store_troubles));
        CHECK(is_flushed());          /* of the others; what waits is recorded */
        for (int i = 0; i < 2; i++) { /* also over restarts, both kinds */
            if (i == 0)
                crash_world(&w);
            else
                restart_world(&w);
            CHECK_INT(1, w.store->record->aside_count);
        }
        say_and_answer("a", "4");
        CHECK_INT(0, remove(path_of("a")));
        run_for(&w, 900 * SECOND);
        CHECK_TEXT("2 3 4 ", ids_of("a")); /* once, in order; 1 went with the file */
        CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_store_troubles));
        say_and_answer("a", "5");
        CHECK_TEXT("2 3 4 5 ", ids_of("a"));
        crash_world(&w);
        CHECK_TEXT("2 3 4 5 ", ids_of("a"));
        end_world(&w);
    }
}

/* The relatives: a delivery to such a chat, and its receipt. */
CASE(deliveries_to_a_chat_with_a_bad_file_get_their_receipts)
{
    new_world(&w);
    char path[200];
    snprintf(path, sizeof path, "%s", path_of("q"));
    CHECK_INT(0, mkdir(path, 0700));
    say(&w, "a", "1", "x");
    run(&w);
    uint64_t seq = run_seq(&w);
    step(&w, seq, 1, &(struct delivery){.key = "test:chat:q", .text = "hi"}, 1);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    struct sma_msg *order = deliver(&w);
    CHECK(order != NULL);
    uint64_t id = SMA_MSG_BODY(order, struct sma_deliver)->outbox_id;
    sma_msg_destroy(order);
    receipt(&w, &(struct sma_receipt){.outbox_id = id,
                                      .state = SMA_DELIVERY_SENT,
                                      .part_count = 1,
                                      .is_final = true,
                                      .platform_message_id = SMA_STR("p1")});
    run(&w);
    struct sma_msg *answer = take(&w.dispatcher, SMA_MSG_RECEIPT_DONE);
    CHECK(answer != NULL);
    CHECK_INT(SMA_STEP_DURABLE, SMA_MSG_BODY(answer, struct sma_receipt_done)->verdict);
    sma_msg_destroy(answer);
    done(&w, seq, "ok", NULL, 0);
    run(&w);
    CHECK_INT(0, rmdir(path));
    run_for(&w, 30 * SECOND);
    CHECK_INT(1, (long long)count_of(history(&w, "test%3Achat%3Aq"), "\"text\":\"hi\""));
}

CASE(the_history_of_such_a_chat_says_why_it_cannot_be_read)
{
    new_world(&w);
    CHECK_INT(0, mkdir(path_of("a"), 0700));
    say_and_answer("a", "1");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_HISTORY, struct sma_history_ask, 256);
    struct sma_history_ask *ask = SMA_MSG_BODY(msg, struct sma_history_ask);
    ask->chat_key = sma_msg_dup(msg, SMA_STR("test:chat:a"));
    ask->limit = 5;
    ask_as_agent(&w, msg);
    run(&w);
    msg = take(&w.agent, SMA_MSG_HISTORY_LINES);
    CHECK(msg != NULL);
    struct sma_str error = SMA_MSG_BODY(msg, struct sma_history_lines)->error;
    CHECK(memmem(error.ptr, error.len, "cannot be read now", 18) != NULL);
    sma_msg_destroy(msg);
}

/* -- errors of one write ----------------------------------------------------------------------- */
CASE(a_write_that_fails_is_made_again_later)
{
    make_failing_world();
    open_world(&w);
    say_and_answer("a", "1");
    say_and_answer("b", "1");
    static char victim[200]; /* as long as the world */
    snprintf(victim, sizeof victim, "%s", path_of("a"));
    write_victim = victim;
    write_errno = EIO;
    say_and_answer("a", "2");
    say_and_answer("b", "2");
    CHECK_TEXT("1 ", ids_of("a"));
    CHECK_TEXT("1 2 ", ids_of("b"));
    CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_disk_degraded));
    crash_world(&w); /* the start meets it as well */
    CHECK_TEXT("1 ", ids_of("a"));
    say_and_answer("a", "3");
    write_errno = 0;
    run_for(&w, 900 * SECOND);
    CHECK_TEXT("1 2 3 ", ids_of("a"));
    CHECK(is_flushed());
    restart_world(&w);
    CHECK_TEXT("1 2 3 ", ids_of("a"));
}

/* Review 2.6. */
CASE(a_start_on_a_full_disk_keeps_lines_waiting)
{
    make_failing_world();
    open_world(&w);
    write_errno = ENOSPC;
    say(&w, "a", "1", "x");
    expect_accepted(&w);
    crash_world(&w);
    CHECK_INT(1, (long long)sma_gauge_get(SMA_GAUGE_disk_degraded));
    say(&w, "b", "1", "x");
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    CHECK_TEXT("", ids_of("a"));
    write_errno = 0;
    run_for(&w, 5 * SECOND); /* by itself */
    CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_disk_degraded));
    CHECK_TEXT("1 ", ids_of("a"));
    say(&w, "b", "1", "x");
    expect_accepted(&w);
}

/* -- the watermark ----------------------------------------------------------------------------- */
static bool is_db_full;

static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_db_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                               : SMA_STATE_VFS_PASS;
}

CASE(the_watermark_stays_until_who_is_set_aside_is_recorded)
{
    new_world(&w);
    CHECK_INT(0, mkdir(path_of("a"), 0700));
    say_and_answer("a", "1");
    sma_state_vfs_set_hook(fail_when_full);
    is_db_full = true;
    uint64_t before = sma_state_history_flushed(w.store->state);
    run_for(&w, 60 * SECOND);
    CHECK(sma_state_history_flushed(w.store->state) == before);
    is_db_full = false;
    run_for(&w, 60 * SECOND);
    CHECK(is_flushed());
    crash_world(&w);
    CHECK_INT(0, rmdir(path_of("a")));
    run_for(&w, 900 * SECOND);
    CHECK_TEXT("1 ", ids_of("a"));
}

/* What comes while files are being synced is of the next flush. */
CASE(the_watermark_is_that_of_the_beginning_of_the_flush)
{
    make_failing_world();
    w.has_threads = true;
    CHECK_INT(0, sem_init(&may_sync, 0, 0));
    open_world(&w);
    say_and_answer("a", "1");
    uint64_t first = sma_state_durable_seq(w.store->state);
    is_sync_blocked = true;
    int before = __atomic_load_n(&sync_count, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 100 && w.store->record->flush != STORE_FLUSH_WAIT; i++)
        run_for(&w, SECOND); /* until the files are handed to the thread */
    say_and_answer("a", "2");
    CHECK(sma_state_history_flushed(w.store->state) < first); /* it is being synced */
    is_sync_blocked = false;
    for (int i = 0; i < 100; i++)
        sem_post(&may_sync);
    uint64_t flushed = 0;
    for (int i = 0; i < 10000 && flushed < first; i++) {
        struct timespec moment = {0, 1000000};
        nanosleep(&moment, NULL); /* the thread of the history; bounded */
        run_for(&w, SECOND / 100);
        flushed = sma_state_history_flushed(w.store->state);
    }
    CHECK(flushed >= first && flushed < sma_state_durable_seq(w.store->state));
    CHECK(__atomic_load_n(&sync_count, __ATOMIC_SEQ_CST) > before);
    end_world(&w);
    sem_destroy(&may_sync);
}

/* -- odd bytes and odd editors ----------------------------------------------------------------- */
CASE(a_damaged_line_in_the_database_stops_no_start)
{
    new_world(&w);
    say_and_answer("a", "1");
    say_and_answer("b", "1");
    sma_sim_crash(w.system);
    close_system(&w);
    (void)unlink(path_of("a"));
    char path[200];
    snprintf(path, sizeof path, "%s/state.db", w.state_dir);
    sqlite3 *db;
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &db));
    CHECK_INT(SQLITE_OK, sqlite3_exec(db, "UPDATE messages SET line='no newline' WHERE seq=1", NULL,
                                      NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
    open_world(&w);
    CHECK_INT(0, (long long)count_of(history(&w, "test%3Achat%3Aa"), "no newline"));
    say_and_answer("a", "2");
    say_and_answer("b", "2");
    CHECK_TEXT("1 2 ", ids_of("b"));
}

/* An editor that keeps a backup: x becomes x~, a new x is written. */
CASE(an_editors_backup_gets_no_lines)
{
    for (int is_idle = 0; is_idle < 2; is_idle++) {
        new_world(&w);
        say_and_answer("a", "1");
        if (is_idle)
            run_for(&w, 10 * SECOND);
        char backup[210];
        snprintf(backup, sizeof backup, "%s~", path_of("a"));
        CHECK_INT(0, rename(path_of("a"), backup));
        char *bytes = NULL;
        size_t len = 0;
        CHECK_OK(sma_sys_read_file(sma_sys_real(), backup, 1 << 20, &bytes, &len, NULL));
        CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path_of("a"),
                                           (struct sma_str){bytes, len}, 0600, NULL));
        free(bytes);
        say_and_answer("a", "2");
        run_for(&w, 60 * SECOND);
        CHECK_TEXT("1 2 ", ids_of("a"));
        CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_store_troubles));
        CHECK(is_flushed());
        end_world(&w);
    }
}

/* A line that a start replays is as dirty as a new one: the watermark may pass it when it is
 * synced, not before. */
CASE(replayed_lines_are_synced_before_the_watermark_passes_them)
{
    make_failing_world();
    open_world(&w);
    say_and_answer("a", "1");
    sma_sim_crash(w.system);
    close_system(&w);
    sync_count = 0;
    open_world_only(&w);
    CHECK(!is_flushed());
    CHECK_INT(1, sma_history_dirty_count(w.store->history));
    CHECK_INT(0, sync_count); /* a start waits for no disk */
    run_for(&w, 10 * SECOND);
    CHECK(is_flushed());
    CHECK_INT(0, sma_history_dirty_count(w.store->history));
    CHECK(sync_count > 0);
    CHECK_TEXT("1 ", ids_of("a"));
}

int main(void)
{
    sma_state_vfs_set_hook(fail_when_full);
    check_run_cases(NULL);
    return check_summary();
}
