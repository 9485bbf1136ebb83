/*
 * Aim: with queue.mode collect a run starts when people have been quiet for queue.quietMs, and not
 *      much later; then it has all they wrote. Nothing else waits for that, and nothing is woken up
 *      for it when nothing waits.
 * Method: the store actor under virtual time between actors that keep what they get.
 */
#include "store_support.h"

#include "actors/store/intake_priv.h"

#define MS UINT64_C(1000000)

static struct world w;

static void begin_world(void)
{
    make_world(&w);
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    w.config.queue_quiet_ms = 1500;
    w.config.agent_concurrency = 4;
    open_world(&w);
}

/* `ms` later. */
static void later(uint64_t ms)
{
    run(&w);
    sma_sim_advance(w.system, ms * MS);
    run(&w);
}

/* The next run has these texts, the newest last, and ends. */
static void expect_run(const char *const *texts, uint32_t count)
{
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_INT(count, order->collected_count + 1);
    for (uint32_t i = 0; i + 1 < count; i++)
        CHECK_STR(texts[i], order->collected[i].text);
    CHECK_STR(texts[count - 1], order->text);
    done(&w, order->seq, "ok", NULL, 0);
    sma_msg_destroy(msg);
    run(&w);
}

static void expect_no_run(void)
{
    CHECK_INT(0, count_kept(&w.agent, SMA_MSG_RUN));
}

AFTER_EACH(end_world(&w))

CASE(a_run_starts_when_its_chat_is_quiet)
{
    begin_world();
    say(&w, "a", "1", "hello");
    later(1000);
    expect_no_run();
    say(&w, "a", "2", "can you");
    later(1000);
    expect_no_run();
    say(&w, "a", "3", "look at it");
    later(1400);
    expect_no_run();
    later(200);
    expect_run((const char *[]){"hello", "can you", "look at it"}, 3);
    CHECK_TEXT("", next_delivery(&w)); /* nobody was told to wait */
}

/* Who goes on and on is answered in between. */
CASE(somebody_who_does_not_stop_is_answered_all_the_same)
{
    begin_world();
    for (int i = 0; i < 7; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        say(&w, "a", id, "more");
        later(900);
        expect_no_run();
    }
    say(&w, "a", "last", "more");
    later(600); /* 7.5 s and a little */
    CHECK_INT(1, (int)count_kept(&w.agent, SMA_MSG_RUN));
}

CASE(chats_are_quiet_each_by_itself)
{
    begin_world();
    say(&w, "a", "1", "of a");
    later(1000);
    say(&w, "b", "2", "of b");
    later(600);
    expect_run((const char *[]){"of a"}, 1);
    expect_no_run();
    later(1000);
    expect_run((const char *[]){"of b"}, 1);
}

CASE(the_next_run_waits_for_quiet_too)
{
    begin_world();
    say(&w, "a", "1", "one");
    later(1600);
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    say(&w, "a", "2", "two");
    later(100);
    done(&w, seq, "ok", NULL, 0);
    run(&w);
    expect_no_run();
    later(1500);
    expect_run((const char *[]){"two"}, 1);
}

CASE(other_modes_and_callers_do_not_wait)
{
    for (uint8_t mode = SMA_QUEUE_SERIAL; mode <= SMA_QUEUE_STEER; mode++) {
        begin_world();
        w.config.queue_mode = mode;
        if (mode == SMA_QUEUE_COLLECT)
            (void)say_as(&w, API, &(struct saying){.chat = "a", .id = "1", .text = "one"});
        else
            say(&w, "a", "1", "one");
        run(&w);
        CHECK(run_seq(&w) != 0);
        end_world(&w);
    }
}

/* A picture is fetched meanwhile; the longer of the two counts. */
CASE(what_is_prepared_is_also_waited_for)
{
    begin_world();
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "a", .id = "1", .text = "see", .preparation = "[file]"});
    later(1600);
    expect_no_run();
    CHECK(prepare(&w, SMA_ROLE_UNKNOWN, "") != 0);
    run(&w);
    expect_run((const char *[]){"see"}, 1);
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = "a", .id = "2", .text = "see", .preparation = "[file]"});
    run(&w);
    CHECK(prepare(&w, SMA_ROLE_UNKNOWN, "") != 0);
    later(1000);
    expect_no_run();
    later(600);
    expect_run((const char *[]){"see"}, 1);
}

CASE(a_crash_loses_nothing_of_it)
{
    begin_world();
    say(&w, "a", "1", "hello");
    say(&w, "a", "2", "can you");
    run(&w);
    expect_no_run();
    crash_world(&w);
    later(1600);
    expect_run((const char *[]){"hello", "can you"}, 2);
}

CASE(a_stop_ends_what_waits_for_quiet)
{
    begin_world();
    say(&w, "a", "1", "hello");
    run(&w);
    command(&w, "a", "2", SMA_CONTROL_STOP);
    later(2000);
    expect_no_run();
    say(&w, "a", "3", "again");
    later(1600);
    expect_run((const char *[]){"again"}, 1);
}

CASE(nothing_wakes_up_when_nothing_waits)
{
    begin_world();
    say(&w, "a", "1", "hello");
    later(1600);
    expect_run((const char *[]){"hello"}, 1);
    CHECK(w.store->intake->quiet_first == NULL);
    CHECK(sma_store_quiet_wake(w.store) == UINT64_MAX);
}

CASES_MAIN
