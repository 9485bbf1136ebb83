/*
 * Aim: a commit that fails, or a rollback, leaves nothing behind, neither on disk nor in memory,
 * and the next one works.
 * Method: fail the n-th write or sync below SQLite, for every n, and compare with what was there
 * before.
 */
#include "runtime/chat/state_vfs.h"
#include "state_support.h"
#include "turn_count.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

static int calls_until_failure;
static enum sma_state_vfs_action failing_action;
static enum sma_state_vfs_call failing_call;

static enum sma_state_vfs_action fail_at(enum sma_state_vfs_role role, enum sma_state_vfs_call call,
                                         bool is_wal)
{
    (void)role;
    if (!is_wal || call != failing_call || calls_until_failure == 0 || --calls_until_failure > 0)
        return SMA_STATE_VFS_PASS;
    return failing_action;
}

static enum sma_err collect_turn(void *user, uint64_t seq, struct sma_str wire,
                                 struct sma_str message_id, struct sma_str turn)
{
    (void)wire;
    (void)message_id;
    (void)turn;
    *(uint64_t *)user = *(uint64_t *)user * 100 + seq;
    return SMA_ERR_OK;
}

/* One of everything. Calls may fail: the commit says so. */
static void change_everything(struct sma_state *state, uint64_t running)
{
    struct sma_state_chat *old = sma_state_chat_get(state, SMA_STR("old")), *fresh = NULL;
    enum sma_err err = sma_state_chat_open(state, SMA_STR("fresh"), SMA_STR("test"), &fresh);
    uint64_t seq = 0;
    struct sma_state_message message = message_of(old, "second", SMA_ROW_WAITING);
    if (err == SMA_ERR_OK)
        err = sma_state_accept(state, &message, &seq);
    message = message_of(fresh, "third", SMA_ROW_WAITING);
    if (err == SMA_ERR_OK)
        err = sma_state_accept(state, &message, &seq);
    if (err == SMA_ERR_OK)
        err = sma_state_step_add(state, running, 2, 1, SMA_STR("step"));
    struct sma_state_finish finish = {
        .seq = running, .state = SMA_ROW_DONE, .turn = SMA_STR("turn")};
    if (err == SMA_ERR_OK)
        err = sma_state_finish(state, &finish);
    struct sma_state_delivery delivery = {.outbox_id = sma_state_outbox_id(running, 1, 0),
                                          .chat = old,
                                          .channel = SMA_STR("test"),
                                          .text = SMA_STR("text")};
    if (err == SMA_ERR_OK)
        err = sma_state_outbox_add(state, &delivery);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_rotation(state, old, SMA_STR("plan"));
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_rotation(state, old, SMA_STR("plan two"));
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_stop_mark(state, old, 9);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_set_clear_mark(state, old, 2);
    struct sma_state_contact contact = {.channel = SMA_STR("test"),
                                        .user_name = SMA_STR("ann"),
                                        .chat_id = SMA_STR("2"),
                                        .chat_key = SMA_STR("2")};
    if (err == SMA_ERR_OK)
        err = sma_state_contact_put(state, &contact);
    (void)err; /* seen again by the commit */
}

static uint64_t prepare(struct fixture *f)
{
    CHECK_OK(sma_state_begin(f->state));
    struct sma_state_finish finish = {.seq = accept_event(f->state, "old", "turn", SMA_ROW_WAITING),
                                      .state = SMA_ROW_DONE,
                                      .turn = SMA_STR("turn")};
    CHECK_OK(sma_state_finish(f->state, &finish));
    uint64_t running = accept_event(f->state, "old", "first", SMA_ROW_RUNNING);
    struct sma_state_chat *old = chat_named(f->state, "old");
    CHECK_OK(sma_state_chat_set_rotation(f->state, old, SMA_STR("before")));
    struct sma_state_contact contact = {.channel = SMA_STR("test"),
                                        .user_name = SMA_STR("Ann"),
                                        .chat_id = SMA_STR("1"),
                                        .chat_key = SMA_STR("1")};
    CHECK_OK(sma_state_contact_put(f->state, &contact));
    CHECK_OK(sma_state_commit(f->state));
    return running;
}

static void check_before(struct fixture *f, uint64_t running)
{
    CHECK_INT(3, sma_state_next_seq(f->state));
    CHECK_INT(2, sma_state_durable_seq(f->state));
    CHECK_INT(1, sma_state_open_count(f->state));
    CHECK_INT(2, sma_state_claim_count(f->state));
    CHECK(is_claimed(f->state, "old", "first") && !is_claimed(f->state, "old", "second"));
    CHECK(sma_state_chat_get(f->state, SMA_STR("fresh")) == NULL);
    const struct sma_state_chat *old = sma_state_chat_get(f->state, SMA_STR("old"));
    CHECK_STR("before", old->rotation);
    CHECK_INT(0, old->stop_mark);
    CHECK_INT(0, old->clear_mark);
    CHECK_INT(1, turn_count_of(f->state, old));
    uint64_t turns = 0;
    CHECK_OK(sma_state_each_turn(f->state, old, 100, 10, 1000, collect_turn, &turns));
    CHECK_INT(1, turns);
    struct sma_state_contact found;
    CHECK_OK(sma_state_contact_find(f->state, SMA_STR("test"), SMA_STR("ann"), &found));
    CHECK_STR("1", found.chat_id);
    uint32_t last = 9;
    CHECK_OK(sma_state_step_last(f->state, running, &last));
    CHECK_INT(0, last);
    unsigned count = 0;
    CHECK_OK(sma_state_each_outbox_open(f->state, count_delivery, &count));
    CHECK_INT(0, count);
}

static void check_after(struct fixture *f)
{
    CHECK_INT(5, sma_state_next_seq(f->state));
    CHECK_INT(2, sma_state_open_count(f->state));
    CHECK_INT(4, sma_state_claim_count(f->state));
    CHECK(is_claimed(f->state, "fresh", "third"));
    const struct sma_state_chat *old = sma_state_chat_get(f->state, SMA_STR("old"));
    CHECK_STR("plan two", old->rotation);
    CHECK_INT(9, old->stop_mark);
    uint64_t turns = 0;
    CHECK_OK(sma_state_each_turn(f->state, old, 100, 10, 1000, collect_turn, &turns));
    CHECK_INT(2, turns);
}

CASE(rollback_undoes_memory_and_disk)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    uint64_t running = prepare(&f);
    for (int round = 0; round < 3; round++) {
        CHECK_OK(sma_state_begin(f.state));
        change_everything(f.state, running);
        check_after(&f);
        sma_state_rollback(f.state);
        check_before(&f, running);
        if (round == 1)
            fixture_reopen(&f, true);
    }
    CHECK_OK(sma_state_begin(f.state));
    change_everything(f.state, running);
    CHECK_OK(sma_state_commit(f.state));
    check_after(&f);
    fixture_reopen(&f, false);
    check_after(&f);
}

/* @return false when the transaction made fewer than n writes */
static bool fails_at_write(int n, enum sma_state_vfs_action action, enum sma_err expected)
{
    struct fixture f;
    fixture_init(&f);
    f.is_durable = true;
    fixture_open(&f);
    uint64_t running = prepare(&f);
    failing_call = SMA_STATE_VFS_WRITE;
    failing_action = action;
    calls_until_failure = n;
    CHECK_OK(sma_state_begin(f.state));
    change_everything(f.state, running);
    enum sma_err err = sma_state_commit(f.state);
    bool has_failed = calls_until_failure == 0;
    calls_until_failure = 0;
    if (has_failed) {
        CHECK_ERR(expected, err);
        CHECK(!sma_state_is_fatal(f.state));
        CHECK(strstr(sma_state_error(f.state)->text, f.path) != NULL);
        check_before(&f, running);
        CHECK_OK(sma_state_begin(f.state)); /* it works again as soon as there is room */
        change_everything(f.state, running);
        err = sma_state_commit(f.state);
    }
    CHECK_OK(err);
    check_after(&f);
    fixture_reopen(&f, true);
    check_after(&f);
    fixture_fini(&f);
    return has_failed;
}

CASE(every_failed_write_undoes_the_commit)
{
    sma_state_vfs_set_hook(fail_at);
    int full = 1, broken = 1;
    while (fails_at_write(full, SMA_STATE_VFS_FAIL_FULL, SMA_ERR_NOSPACE))
        full++;
    while (fails_at_write(broken, SMA_STATE_VFS_FAIL_IO, SMA_ERR_IO))
        broken++;
    sma_state_vfs_set_hook(NULL);
    fprintf(stderr, "   %d writes failed with a full disk, %d with an error\n", full - 1,
            broken - 1);
    CHECK(full > 10 && full == broken);
}

/* The pieces of the WAL are held and written in one call by the sync: here that one call fails. */
CASE(a_failed_write_of_held_pieces_undoes_the_commit)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.is_durable = true;
    fixture_open(&f);
    uint64_t running = prepare(&f);
    struct rlimit before, low;
    CHECK_INT(0, getrlimit(RLIMIT_FSIZE, &before));
    signal(SIGXFSZ, SIG_IGN);
    low = before;
    low.rlim_cur = 8192;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &low));
        CHECK_OK(sma_state_begin(f.state));
        change_everything(f.state, running);
        CHECK_ERR(SMA_ERR_IO, sma_state_commit(f.state));
        CHECK(!sma_state_is_fatal(f.state));
        CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &before));
        check_before(&f, running);
    }
    CHECK_OK(sma_state_begin(f.state));
    change_everything(f.state, running);
    CHECK_OK(sma_state_commit(f.state));
    check_after(&f);
    fixture_reopen(&f, true);
    check_after(&f);
}

CASE(a_failed_fsync_is_fatal)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.is_durable = true;
    fixture_open(&f);
    uint64_t running = prepare(&f);
    sma_state_vfs_set_hook(fail_at);
    failing_call = SMA_STATE_VFS_SYNC;
    failing_action = SMA_STATE_VFS_FAIL_IO;
    calls_until_failure = 1;
    CHECK_OK(sma_state_begin(f.state));
    change_everything(f.state, running);
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_commit(f.state));
    CHECK(sma_state_is_fatal(f.state));
    CHECK_ERR(SMA_ERR_CORRUPT, sma_state_begin(f.state)); /* never tried again */
    sma_state_vfs_set_hook(NULL);
    sma_state_close(f.state, true);
    f.state = NULL;
    fixture_open(&f);
    CHECK(!sma_state_was_clean(f.state));
    CHECK(is_claimed(f.state, "old", "first"));
}

/* The checkpointer has a thread of its own, which may be late. */
static bool await_checkpoint(const struct sma_state *state)
{
    struct sma_state_counts counts;
    struct timespec pause = {.tv_nsec = 2000000};
    for (int i = 0; i < 10000; i++) {
        sma_state_counts(state, &counts);
        if (counts.checkpoints + counts.inline_checkpoints > 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

CASE(a_batch_costs_one_sync)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_init(&f);
    f.is_durable = f.is_threaded = true;
    fixture_open(&f);
    struct sma_state_counts before, after;
    char event[32];
    for (int batch = 0; batch < 300; batch++) {
        sma_state_counts(f.state, &before);
        CHECK_OK(sma_state_begin(f.state));
        for (int i = 0; i < 20; i++) {
            snprintf(event, sizeof event, "%d.%d", batch, i);
            accept_event(f.state, "c", event, SMA_ROW_DONE);
        }
        CHECK_OK(sma_state_commit(f.state));
        sma_state_counts(f.state, &after);
        CHECK_INT(1, after.commits - before.commits);
        uint64_t restarts = after.wal_restarts - before.wal_restarts;
        CHECK(restarts <= 1);
        CHECK_INT(1 + restarts, after.wal_syncs - before.wal_syncs);
    }
    CHECK(after.wal_restarts < 60); /* the header is rare */
    CHECK(await_checkpoint(f.state));
    CHECK(after.wal_frames <
          64 * 64); /* the WAL is bounded: 16 times its pre-grown size and a batch */
}

CASES_MAIN
