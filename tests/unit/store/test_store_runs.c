/*
 * Aim: one run's trouble is its own: a slow suspect after a crash, a row that cannot be read, an
 * order that is too big end or delay that run, and everybody else is answered.
 * Method: rows are damaged under the running store, by SQL.
 */
#include "actors/store/runs_priv.h"
#include "actors/store/trouble.h"
#include "runtime/chat/state_priv.h"
#include "store_support.h"

static struct world w;

static void damage(const char *sql)
{
    CHECK_INT(SQLITE_OK, sqlite3_exec(w.store->state->db, sql, NULL, NULL, NULL));
}

static void expect_given_up(uint64_t seq)
{
    await(&w, TEST, seq, true, "");
    run(&w);
    struct sma_msg *msg = take(&w.test, SMA_MSG_RESULT);
    CHECK(msg != NULL);
    CHECK_INT(SMA_RUN_FAILED, SMA_MSG_BODY(msg, struct sma_result)->state);
    sma_msg_destroy(msg);
}

static uint64_t say_first(const char *chat, const char *id, const char *text)
{
    say(&w, chat, id, text);
    run(&w);
    return accepted(&w.test).seq;
}

AFTER_EACH(end_world(&w))

CASE(a_slow_suspect_stops_the_others_for_a_while_only)
{
    make_world(&w);
    w.config.agent_concurrency = 4;
    open_world(&w);
    uint64_t slow = say_first("a", "1", "slow"), other = say_first("b", "2", "other");
    CHECK(run_seq(&w) == slow && run_seq(&w) == other);
    crash_world(&w);
    uint64_t fresh = say_first("c", "3", "fresh");
    CHECK(run_seq(&w) == slow);
    run_for(&w, 9 * SECOND);
    CHECK(run_seq(&w) == 0); /* it runs alone: it may be what ended the program */
    run_for(&w, 2 * SECOND);
    uint64_t first = run_seq(&w), second = run_seq(&w);
    CHECK((first == other && second == fresh) || (first == fresh && second == other));
    CHECK(run_seq(&w) == 0);
}

CASE(the_next_suspect_has_its_turn_when_one_takes_long)
{
    make_world(&w);
    w.config.agent_concurrency = 4;
    open_world(&w);
    uint64_t seqs[3];
    for (int i = 0; i < 3; i++) {
        seqs[i] = say_first((const char *[]){"a", "b", "c"}[i], (const char *[]){"1", "2", "3"}[i],
                            "slow");
        CHECK(run_seq(&w) == seqs[i]);
    }
    crash_world(&w);
    for (int i = 0; i < 3; i++) {
        CHECK(run_seq(&w) == seqs[i]);
        CHECK(run_seq(&w) == 0); /* one new suspect at a time */
        run_for(&w, 11 * SECOND);
    }
    for (int i = 0; i < 3; i++) {
        step(&w, seqs[i], 1, NULL, 0);
        expect_durable(&w, SMA_MSG_STEP_DONE);
    }
    CHECK_INT(0, w.store->runs->suspect_count);
}

CASE(an_unreadable_message_takes_no_collected_one_along)
{
    make_world(&w);
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    w.config.agent_concurrency = 1;
    open_world(&w);
    uint64_t one = say_first("a", "1", "one"), two = say_first("a", "2", "two");
    uint64_t bad = say_first("a", "3", "bad"), four = say_first("a", "4", "four");
    CHECK(run_seq(&w) == one);
    damage("UPDATE messages SET facts = x'FF00FF' WHERE event = '3'");
    done(&w, one, "out", NULL, 0);
    run(&w);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == four);
    CHECK_INT(1, order->collected_count);
    CHECK(order->collected[0].seq == two);
    sma_msg_destroy(msg);
    expect_given_up(bad);
    CHECK(sma_store_has_trouble(w.store, "message", SMA_STR("test:chat:a")));
}

CASE(an_order_that_is_too_big_is_its_runs_end)
{
    static char big[6000];
    make_world(&w);
    w.config.agent_concurrency = 1;
    open_world(&w);
    memset(big, 'x', sizeof big - 1);
    uint64_t one = say_first("a", "1", "one"), large = say_first("b", "2", big);
    uint64_t small = say_first("c", "3", "small");
    CHECK(run_seq(&w) == one);
    sma_buf_fini(&w.store->scratch.load);
    sma_buf_init(&w.store->scratch.load, 4096);
    done(&w, one, "out", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    CHECK(run_seq(&w) == small);
    expect_given_up(large);
}

CASE(a_row_of_no_chat_does_not_stop_the_start)
{
    make_world(&w);
    w.config.agent_concurrency = 1;
    open_world(&w);
    uint64_t one = say_first("a", "1", "one");
    CHECK(say_first("b", "2", "of nobody") != 0);
    run_for(&w, 5 * SECOND); /* the lines are synced */
    uint64_t three = say_first("c", "3", "three");
    CHECK(run_seq(&w) == one);
    done(&w, one, "out", NULL, 0);
    damage("UPDATE messages SET chat = 4000 WHERE event = '2'");
    crash_world(&w);
    run(&w);
    uint64_t first = run_seq(&w);
    if (first == one) { /* its end had not been committed */
        done(&w, one, "out", NULL, 0);
        run(&w);
        first = run_seq(&w);
    }
    CHECK(first == three);
    CHECK(sma_store_has_trouble(w.store, "unreadable message", SMA_STR("")));
}

/* A step is damaged when it could never be stored: its run is given up, who came with it in the
 * batch is not. */
CASE(a_step_that_cannot_be_stored_ends_its_run_alone)
{
    make_world(&w);
    w.config.agent_concurrency = 4;
    open_world(&w);
    uint64_t one = say_first("a", "1", "one"), two = say_first("b", "2", "two");
    CHECK(run_seq(&w) == one && run_seq(&w) == two);
    sma_store_run_find(w.store, one)->last_step = SMA_STATE_STEP_NUMBER_MAX;
    step(&w, two, 1, NULL, 0);
    step(&w, one, SMA_STATE_STEP_NUMBER_MAX + 1, NULL, 0);
    say(&w, "c", "3", "three");
    expect_accepted(&w);
    CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_STEP_DONE));
    CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_STEP_DONE));
    expect_given_up(one);
    step(&w, two, 2, NULL, 0);
    expect_durable(&w, SMA_MSG_STEP_DONE);
}

CASES_MAIN
