/*
 * Aim: a commit that fails undoes everything it touched, in memory too; a full disk refuses and
 * recovers by itself.
 * Method: a hook under SQLite that answers "disk full", and a free-space probe of the test's own.
 */
#include "store_support.h"

#include "actors/store/batch_priv.h"
#include "actors/store/runs_priv.h"
#include "actors/store/trouble.h"
#include "runtime/chat/state_vfs.h"

#include <errno.h>

static struct world w;
static bool is_full, is_history_full;

static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

AFTER_EACH(end_world(&w))

CASE(a_failed_commit_takes_the_speculative_run_back)
{
    new_world(&w);
    is_full = true;
    say(&w, "a", "1", "x");
    say(&w, "a", "2", "y");
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    struct sma_accepted second = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_REFUSED, second.verdict);
    CHECK(second.seq == 0 && second.retry_after_ms > 0 && second.reason.len > 0);
    uint64_t seq = run_seq(&w);
    while (seq != 0) { /* asked before the commit, and taken back each time */
        struct sma_msg *control = take(&w.agent, SMA_MSG_CONTROL);
        CHECK(control != NULL);
        CHECK_INT(SMA_CONTROL_STOP, SMA_MSG_BODY(control, struct sma_control_order)->control);
        CHECK(SMA_MSG_BODY(control, struct sma_control_order)->mark_seq == seq + 1);
        CHECK_STR("test:chat:a", SMA_MSG_BODY(control, struct sma_control_order)->chat_key);
        sma_msg_destroy(control);
        step(&w, seq, 1, NULL, 0); /* the model was faster than the message */
        run(&w);
        CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_STEP_DONE));
        seq = run_seq(&w);
    }
    CHECK_TEXT("", history(&w, "test%3Achat%3Aa"));
    is_full = false;
    run_for(&w, 2 * SECOND);
    say(&w, "a", "1", "x");
    run(&w);
    struct sma_accepted again = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_ACCEPTED, again.verdict);
    CHECK(run_seq(&w) == again.seq);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
}

CASE(a_failed_commit_keeps_open_work_as_it_was)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    say(&w, "b", "2", "y");
    say(&w, "b", "3", "z");
    run(&w);
    uint64_t one = accepted(&w.test).seq, two = accepted(&w.test).seq;
    CHECK(run_seq(&w) == one);
    drop_kept(&w.test);
    struct sma_msg *row;
    while ((row = deliver(&w)) != NULL)
        sma_msg_destroy(row);
    is_full = true;
    step(&w, one, 1, &(struct delivery){.key = "test:chat:q", .text = "hi"}, 1);
    run(&w);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK(deliver(&w) == NULL); /* no effect without its step */
    done(&w, one, "out", NULL, 0);
    command(&w, "b", "s", SMA_CONTROL_STOP);
    run(&w);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_DONE_DONE));
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    CHECK(run_seq(&w) == 0);
    is_full = false;
    run_for(&w, 2 * SECOND);
    step(&w, one, 1, &(struct delivery){.key = "test:chat:q", .text = "hi"}, 1);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    row = deliver(&w);
    CHECK(row != NULL);
    sma_msg_destroy(row);
    done(&w, one, "out", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    CHECK(run_seq(&w) == two); /* the stop was refused: both messages of chat b still wait */
    CHECK_INT(1, sma_queue_waiting(w.store->queue));
}

CASE(a_nearly_full_disk_refuses_intake_first)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    uint64_t one = accepted(&w.test).seq;
    CHECK(run_seq(&w) == one);
    w.disk_free = 4ull * SMA_DISK_RESERVE_BYTES - 1;
    sma_sim_advance(w.system, 2 * SECOND);
    say(&w, "a", "2", "y");
    say(&w, "a", "1", "x"); /* what is known needs no disk */
    step(&w, one, 1, NULL, 0);
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_DUPLICATE, accepted(&w.test).verdict);
    CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_STEP_DONE)); /* open runs use the reserve */
    command(&w, "a", "s1", SMA_CONTROL_STATUS);                  /* so do commands */
    expect_accepted(&w);
    w.disk_free = SMA_DISK_RESERVE_BYTES - 1;
    run_for(&w, 2 * SECOND);
    step(&w, one, 2, NULL, 0);
    command(&w, "a", "s2", SMA_CONTROL_STATUS);
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    w.disk_free = 4ull * SMA_DISK_RESERVE_BYTES;
    run_for(&w, 2 * SECOND);
    CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_disk_degraded)); /* by itself */
    say(&w, "a", "2", "y");
    expect_accepted(&w);
}

CASE(what_is_too_large_is_refused_alone)
{
    new_world(&w);
    static char text[SMA_TEXT_BYTES_MAX + 2];
    for (size_t extra = 0; extra < 2; extra++) {
        memset(text, 'x', SMA_TEXT_BYTES_MAX + extra);
        say(&w, "a", extra == 0 ? "1" : "2", text);
        run(&w);
        CHECK_INT(extra == 0 ? SMA_VERDICT_ACCEPTED : SMA_VERDICT_REFUSED,
                  accepted(&w.test).verdict);
    }
    say(&w, "a", "", "no id");
    say(&w, "a", "3", "\xff\xfe not text");
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
    CHECK_INT(2, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
}

CASE(cursors_are_saved_with_the_commit)
{
    new_world(&w);
    (void)say_as(&w, TEST, &(struct saying){.chat = "a", .id = "1", .text = "x", .cursor = 11});
    run(&w);
    is_full = true;
    (void)say_as(&w, TEST, &(struct saying){.chat = "a", .id = "2", .text = "x", .cursor = 12});
    run(&w);
    is_full = false;
    crash_world(&w);
    int64_t value = 0;
    CHECK_OK(sma_state_cursor_get(w.store->state, SMA_STR("test.offset"), &value));
    CHECK_INT(11, value);
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "a", .id = "1", .text = "x", .cursor = 13}); /* duplicates too */
    run(&w);
    CHECK_OK(sma_state_cursor_get(w.store->state, SMA_STR("test.offset"), &value));
    CHECK_INT(13, value);
}

static ssize_t write_when_there_is_room(void *self, int fd, const void *bytes, size_t len,
                                        off_t offset)
{
    if (!is_history_full)
        return sma_sys_real()->pwrite(self, fd, bytes, len, offset);
    errno = ENOSPC;
    return -1;
}

CASE(history_that_finds_no_room_is_written_later)
{
    static struct sma_sys small; /* as long as the world */
    small = *sma_sys_real();
    small.pwrite = write_when_there_is_room;
    make_world(&w);
    w.sys = &small;
    open_world(&w);
    is_history_full = true;
    say(&w, "a", "1", "x");
    run(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict); /* state.db has the line */
    CHECK_TEXT("", history(&w, "test%3Achat%3Aa"));
    say(&w, "a", "2", "y");
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    CHECK_INT(1, (long long)sma_gauge_get(SMA_GAUGE_disk_degraded)); /* and /health says why */
    uint64_t seq = run_seq(&w);
    step(&w, seq, 1, &(struct delivery){.key = "test:chat:a", .text = "hi"}, 1);
    run_for(&w, 3 * SECOND);
    CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_STEP_DONE)); /* open work goes on */
    is_history_full = false;
    run_for(&w, 2 * SECOND);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
    CHECK_INT(0, (long long)sma_gauge_get(SMA_GAUGE_disk_degraded));
    say(&w, "a", "2", "y");
    expect_accepted(&w);
    CHECK_INT(2, count_of(history(&w, "test%3Achat%3Aa"), "\n"));
    run_for(&w, 60 * SECOND);
    CHECK(sma_state_history_flushed(w.store->state) == sma_state_durable_seq(w.store->state));
}

CASE(what_waited_for_disk_starts_by_itself)
{
    make_world(&w);
    w.config.agent_concurrency = 1;
    open_world(&w);
    say(&w, "a", "1", "one");
    say(&w, "a", "2", "two");
    run(&w);
    uint64_t first = run_seq(&w);
    w.disk_free = 0;
    run_for(&w, 2 * SECOND);
    say(&w, "a", "3", "refused"); /* looks at the disk */
    run(&w);
    done(&w, first, "x", NULL, 0); /* needs no room; the next one must wait */
    run_for(&w, 5 * SECOND);
    CHECK(run_seq(&w) == 0);
    w.disk_free = UINT64_C(1) << 40;
    run_for(&w, 5 * SECOND); /* and nobody says anything */
    CHECK(run_seq(&w) != 0);
}

/* The next step may be on its way while one is refused: stored alone it would leave a gap that
 * nobody can resume. */
CASE(a_step_does_not_pass_one_that_was_refused)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    uint64_t one = accepted(&w.test).seq;
    CHECK(run_seq(&w) == one);
    step(&w, one, 1, NULL, 0);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    is_full = true;
    step(&w, one, 2, NULL, 0);
    run(&w);
    is_full = false;
    step(&w, one, 3, NULL, 0);
    run(&w);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    step(&w, one, 2, NULL, 0);
    step(&w, one, 3, NULL, 0);
    step(&w, one, 2, NULL, 0); /* asked again: answered as stored */
    run(&w);
    for (int i = 0; i < 3; i++)
        CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_STEP_DONE));
    crash_world(&w);
    CHECK_INT(1, count_kept(&w.agent, SMA_MSG_RUN));
    struct sma_msg *order = take(&w.agent, SMA_MSG_RUN);
    CHECK_INT(3, SMA_MSG_BODY(order, struct sma_run_order)->step_count);
    sma_msg_destroy(order);
    step(&w, one, 5, NULL, 0);
    step(&w, one, 4, NULL, 0);
    run(&w);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_STEP_DONE));
}

CASE(what_a_failed_commit_held_up_starts_by_itself)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    say(&w, "b", "2", "y");
    run_for(&w, 5 * SECOND); /* no other wake-up is left */
    uint64_t one = run_seq(&w), two = one + 1;
    is_full = true;
    done(&w, one, "out", NULL, 0);
    run(&w);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_DONE_DONE));
    is_full = false;
    done(&w, one, "out", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    CHECK(run_seq(&w) == 0); /* the disk is given a second */
    run_for(&w, SECOND);
    CHECK(run_seq(&w) == two);
}

/* @return whether a message leaves for the agent although its commit fails */
static bool starts_before_its_commit(const char *id)
{
    is_full = true;
    say(&w, "c", id, "x");
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    bool has_started = run_seq(&w) != 0;
    drop_kept(&w.agent);
    is_full = false;
    run_for(&w, 2 * SECOND);
    return has_started;
}

CASE(after_a_crash_nothing_starts_before_its_commit_until_a_step)
{
    new_world(&w);
    CHECK(starts_before_its_commit("1"));
    crash_world(&w);
    CHECK(!starts_before_its_commit("2"));
    say(&w, "a", "3", "x");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(run_seq(&w) == seq);
    step(&w, seq, 1, NULL, 0);
    done(&w, seq, "out", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    CHECK(starts_before_its_commit("4"));
    restart_world(&w);
    CHECK(starts_before_its_commit("5")); /* an orderly end is no reason for caution */
}

/* Fill the lane to the agent behind the store's back. @return how many */
static size_t fill_lane(void)
{
    for (size_t count = 0;; count++) {
        struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_CONTROL, struct sma_control_order, 0);
        enum sma_err err =
            sma_ctx_send(sma_system_ctx(w.system, SMA_ACTOR_STORE), SMA_ACTOR_AGENT, &msg);
        if (err == SMA_ERR_OK)
            continue;
        CHECK_INT(SMA_ERR_FULL, err);
        sma_msg_destroy(msg);
        return count;
    }
}

CASE(what_found_the_lane_full_leaves_by_itself)
{
    bool was_deferred = false;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        make_world(&w);
        w.seed = seed;
        open_world(&w);
        CHECK(fill_lane() > SMA_CONCURRENCY_MAX);
        say(&w, "a", "1", "x");
        while (sma_sim_step(w.system) && w.test.count == 0)
            was_deferred |= w.store->batch->deferred_count > 0;
        was_deferred |= w.store->batch->deferred_count > 0;
        run(&w);
        CHECK_INT(0, w.store->batch->deferred_count);
        CHECK(run_seq(&w) == accepted(&w.test).seq);
        end_world(&w);
    }
    CHECK(was_deferred); /* some of the seeds let the store go first */
}

/* One person's record is damaged: what he says is passed over, named; the others of the batch are
 * accepted, and nothing is brought again and again. */
CASE(what_is_damaged_refuses_no_batch_mate)
{
    static char endless[300 * 1024];
    new_world(&w);
    memset(endless, 'x', sizeof endless);
    CHECK_OK(sma_store_begin(w.store));
    CHECK_OK(sma_state_access_set(w.store->state, SMA_STR("person/test/eve"),
                                  (struct sma_str){endless, sizeof endless}));
    sma_store_end_batch(w.store);
    say(&w, "a", "1", "before it");
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "e", .user = "eve", .id = "2", .text = "x", .cursor = 7});
    say(&w, "b", "3", "behind it");
    expect_accepted(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
    CHECK(sma_store_has_trouble(w.store, "incoming message", SMA_STR("test:chat:e")));
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    done(&w, seq, "", NULL, 0); /* what was begun in the same batch goes on */
    run(&w);
    CHECK(run_seq(&w) != 0);
}

/* A person whose record is too large to be read. */
static void damage_eve(void)
{
    static char endless[300 * 1024];
    memset(endless, 'x', sizeof endless);
    CHECK_OK(sma_store_begin(w.store));
    CHECK_OK(sma_state_access_set(w.store->state, SMA_STR("person/test/eve"),
                                  (struct sma_str){endless, sizeof endless}));
    sma_store_end_batch(w.store);
}

/* A damaged message in the batch in which a run makes a step, and in the one in which it ends. */
CASE(what_is_damaged_leaves_steps_and_ends_of_its_batch)
{
    new_world(&w);
    damage_eve();
    say(&w, "a", "1", "first");
    say(&w, "b", "2", "second");
    run(&w);
    uint64_t one = accepted(&w.test).seq, two = accepted(&w.test).seq;
    CHECK(run_seq(&w) == one);
    step(&w, one, 1, NULL, 0);
    (void)say_as(&w, TEST, &(struct saying){.chat = "e", .user = "eve", .id = "3", .text = "x"});
    expect_durable(&w, SMA_MSG_STEP_DONE);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    step(&w, one, 2, NULL, 0);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    done(&w, one, "", NULL, 0);
    (void)say_as(&w, TEST, &(struct saying){.chat = "e", .user = "eve", .id = "4", .text = "x"});
    expect_durable(&w, SMA_MSG_DONE_DONE);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    CHECK(run_seq(&w) == two); /* the slot is free */
    CHECK_INT(1, (int)w.store->runs->open_count);
    done(&w, two, "", NULL, 0);
    run(&w);
    say(&w, "a", "5", "third"); /* and so is the chat */
    run(&w);
    CHECK(run_seq(&w) != 0);
}

/* The step of a suspect is undone with its batch and comes again: it clears the attempts then. */
CASE(an_undone_step_leaves_its_run_a_suspect)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(run_seq(&w) == seq);
    crash_world(&w);
    CHECK(run_seq(&w) == seq);
    is_full = true;
    step(&w, seq, 1, NULL, 0);
    run(&w);
    CHECK_INT(SMA_STEP_NO_DISK, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(1, (int)w.store->runs->suspect_count);
    CHECK(w.store->runs->entries[0]->is_suspect);
    is_full = false;
    run_for(&w, 2 * SECOND);
    step(&w, seq, 1, NULL, 0);
    expect_durable(&w, SMA_MSG_STEP_DONE);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, seq, &head));
    CHECK_INT(0, (int)head.attempt);
    CHECK_INT(0, (int)w.store->runs->suspect_count);
}

/* Giving up is undone: no fourth attempt is made in its place. */
CASE(an_undone_giving_up_is_no_fourth_attempt)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(run_seq(&w) == seq);
    for (int i = 0; i < 2; i++) {
        crash_world(&w);
        CHECK(run_seq(&w) == seq);
    }
    sma_sim_crash(w.system);
    close_system(&w);
    open_world_only(&w);
    is_full = true;
    run(&w);
    is_full = false;
    run_for(&w, 3 * SECOND);
    CHECK(run_seq(&w) == 0);
    CHECK_INT(0, (int)sma_state_open_count(w.store->state));
}

int main(void)
{
    sma_state_vfs_set_hook(fail_when_full);
    check_run_cases(NULL);
    return check_summary();
}
