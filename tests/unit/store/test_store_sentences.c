/*
 * Aim: sentences of docs/notes/store-actor.md and approvals.md that no other test proves, one test
 * each. Every one was seen to fail with the line that keeps the promise taken out.
 * Method: the store actor between actors that keep what they get; full disks below SQLite; clocks
 * that move.
 */
#include "approval_support.h"

#include "runtime/chat/state_vfs.h"

#include "runtime/chat/state_read.h"

static struct world w;
static bool is_full;

static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

AFTER_EACH(end_world(&w))

/* Each start makes a commit of its own first, so that a crash before any other commit counts as
 * unclean too. */
CASE(a_crash_before_any_commit_of_a_life_counts)
{
    new_world(&w);
    say(&w, "a", "1", "x");
    run(&w);
    finish_next(&w);
    restart_world(&w);
    CHECK(sma_state_was_clean(w.store->state));
    crash_world(&w); /* nothing was asked of it */
    CHECK(!sma_state_was_clean(w.store->state));
    /* so a message does not leave for the agent before its commit */
    is_full = true;
    say(&w, "a", "2", "y");
    run(&w);
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&w.test).verdict);
    CHECK_INT(0, (int)run_seq(&w));
    is_full = false;
}

/* A commit that fails undoes a decision: the request is read again, still waits, and is decided
 * once. */
CASE(a_request_is_read_again_after_a_failed_commit)
{
    char id[64];
    open_people(&w);
    uint64_t seq = park(&w, "a", "1", one_command, 1);
    show_all(&w);
    snprintf(id, sizeof id, "%s", open_id(&w));
    is_full = true;
    CHECK(decide_all(&w, id, true) >= 500);
    CHECK_TEXT("no run", resumed(&w, seq));
    is_full = false;
    run_for(&w, 2 * SECOND);
    CHECK_TEXT("no run", resumed(&w, seq));
    CHECK_TEXT(id, open_id(&w));
    CHECK(count_of(query(&w, SMA_QUERY_APPROVALS, ""), id) > 0);
    CHECK_INT(200, decide_all(&w, id, false));
    CHECK_TEXT("0:no:refused by root;", resumed(&w, seq));
}

/* After an unclean exit the begun runs are suspects: they resume one at a time. */
CASE(suspects_resume_one_at_a_time)
{
    make_world(&w);
    w.config.agent_concurrency = 4;
    open_world(&w);
    static const char *const chats[] = {"a", "b", "c"};
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        say(&w, chats[i], "1", "x");
    run(&w);
    CHECK_INT(3, (int)count_kept(&w.agent, SMA_MSG_RUN));
    crash_world(&w);
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++) {
        CHECK_INT(1, (int)count_kept(&w.agent, SMA_MSG_RUN));
        uint64_t seq = run_seq(&w);
        CHECK(seq != 0);
        step(&w, seq, 1, NULL, 0); /* it did not kill us: the next one */
        expect_durable(&w, SMA_MSG_STEP_DONE);
    }
    CHECK_INT(0, (int)count_kept(&w.agent, SMA_MSG_RUN));
}

/* What was prepared while the message waited is in its row: after a crash nobody is asked again. */
CASE(what_was_prepared_is_not_asked_again)
{
    new_world(&w);
    say(&w, "a", "1", "first");
    run(&w);
    uint64_t first = run_seq(&w);
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "a", .id = "2", .text = "see this", .preparation = "[1]"});
    run(&w);
    uint64_t second = prepare(&w, SMA_ROLE_UNKNOWN, "one file could not be fetched");
    CHECK(second > first);
    run(&w);
    for (int life = 0; life < 2; life++) {
        crash_world(&w);
        CHECK_INT(0, (int)count_kept(&w.test, SMA_MSG_PREPARE));
    }
    CHECK(run_seq(&w) == first);
    step(&w, first, 1, NULL, 0);
    done(&w, first, "ok", NULL, 0);
    run(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    CHECK(SMA_MSG_BODY(msg, struct sma_run_order)->seq == second);
    CHECK_STR("one file could not be fetched", SMA_MSG_BODY(msg, struct sma_run_order)->context);
    sma_msg_destroy(msg);
}

/* A press that is read before the clock has been looked at, but after the time, does not decide.
 * Whatever is first. */
CASE(a_press_after_the_time_does_not_decide)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        make_world(&w);
        w.seed = seed;
        w.config.permissions_json = PEOPLE;
        w.config.approvals_expire_s = 3600;
        open_world(&w);
        uint64_t seq = park(&w, "a", "1", one_command, 1);
        show_all(&w);
        char data[SMA_CARD_DATA_BYTES_MAX + 1];
        snprintf(data, sizeof data, "%s", button(&w, open_id(&w), 0, SMA_CARD_APPROVE));
        drop_kept(&w.test);
        const struct saying pressed = {
            .chat = "a", .user = "boss", .id = "p", .text = data, .kind = SMA_EVENT_CALLBACK};
        (void)say_as(&w, TEST, &pressed); /* it waits in the mailbox */
        sma_sim_advance(w.system, 3601 * SECOND);
        run(&w);
        CHECK_TEXT("0:no:expired;", resumed(&w, seq));
        end_world(&w);
    }
}

static unsigned grants_of_next_run(const char *id)
{
    say(&w, "a", id, "next");
    run(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    unsigned count = SMA_MSG_BODY(msg, struct sma_run_order)->grant_count;
    done(&w, SMA_MSG_BODY(msg, struct sma_run_order)->seq, "", NULL, 0);
    run(&w);
    sma_msg_destroy(msg);
    return count;
}

/* A clock that was set back gives nobody more time than he was given. One for good is not
 * concerned. */
CASE(a_permission_does_not_outlive_a_clock_set_back)
{
    for (int is_for_good = 0; is_for_good < 2; is_for_good++) {
        open_people(&w);
        uint64_t seq = park(&w, "a", "g1", one_command, 1);
        drop_kept(&w.test);
        CHECK_TEXT("Approved.",
                   press(&w, "a", "boss", "gp",
                         button(&w, open_id(&w), 0,
                                is_for_good ? SMA_CARD_ALWAYS : SMA_CARD_TEN_MINUTES)));
        CHECK_TEXT("0:yes:;", resumed(&w, seq));
        done(&w, seq, "", NULL, 0);
        run(&w);
        CHECK_INT(1, grants_of_next_run("2"));
        sma_sim_shift_wall(w.system, -2 * 3600 * 1000);
        CHECK_INT(is_for_good, grants_of_next_run("3"));
        end_world(&w);
    }
}

static unsigned count_windows(void)
{
    struct sma_state_rows rows = {0};
    struct sma_state_records found = {0};
    CHECK_OK(sma_state_access_page(
        w.store->state, &(struct sma_state_page){.prefix = SMA_STR("window:"), .count_max = 1000},
        &rows, &found));
    sma_state_rows_free(&rows);
    return (unsigned)found.count;
}

static int64_t
    /* of the store's start; the simulation has one of its own, which begins anew with each life */
    wall_ms;
static int64_t wall_as_told(void *self)
{
    (void)self;
    return wall_ms;
}

/* Who decided is known for 30 days. */
CASE(old_requests_go)
{
    char id[64];
    static struct sma_sys sys;
    sys = *sma_sys_real();
    sys.wall_ms = wall_as_told;
    make_world(&w);
    w.sys = &sys;
    w.config.permissions_json = PEOPLE;
    w.config.approvals_expire_s = 3600;
    w.config.retention.request_days = 30;
    open_world(&w);
    (void)park(&w, "a", "1", one_command, 1);
    snprintf(id, sizeof id, "%s", open_id(&w));
    CHECK_INT(200, decide_all(&w, id, true));
    run(&w);
    const int64_t day_ms = INT64_C(86400000), decided_ms = sma_ctx_wall(w.store->ctx);
    static const int days[] = {29, 31};
    for (size_t i = 0; i < SMA_COUNT_OF(days); i++) {
        wall_ms = decided_ms + days[i] * day_ms;
        stop_world(&w);
        close_system(&w);
        open_world_only(&w);
        sma_sim_shift_wall(w.system, days[i] * day_ms);
        run_for(&w, 900 * SECOND); /* retention begins ten minutes after a start */
        CHECK_INT(days[i] < 30 ? 409 : 404, decide_all(&w, id, true));
    }
}

/* A follow-up window is kept until it closes. */
CASE(closed_windows_go)
{
    new_world(&w);
    sma_sim_shift_wall(w.system, -3600 * 1000); /* so that it is closed when the next life begins */
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "g",
                                  .user = "u1",
                                  .id = "2",
                                  .text = "hi",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_MENTION});
    run(&w);
    CHECK_INT(1, count_windows());
    restart_world(&w);
    run_for(&w, 60 * SECOND);
    CHECK_INT(0, count_windows());
}

int main(void)
{
    sma_state_vfs_set_hook(fail_when_full);
    check_run_cases(NULL);
    return check_summary();
}
