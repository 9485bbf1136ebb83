/*
 * Aim: what the platform orders is waited for and loses no answer; limits hold whom they are for;
 * rates hold.
 * Method: the actor under the seeded scheduler with a scripted platform (support/fake_adapter.h),
 * virtual time.
 */
#include "sma/text.h"
#include "world.h"

static struct world world;

static void open_plain(void)
{
    world_open(&world, 1, (struct sma_capabilities){0}, NULL, NULL);
}

AFTER_EACH(world_close(&world))

CASE(an_order_to_wait_holds_the_chat_alone)
{
    open_plain();
    struct world_row *held = world_add(&world, "a", "{after:20000} x");
    struct world_row *behind = world_add(&world, "a", "y");
    struct world_row *other = world_add(&world, "b", "z");
    world_run_all(&world);
    CHECK(held->over_ns >= 20 * WORLD_SECOND && held->over_ns < 23 * WORLD_SECOND);
    CHECK(behind->over_ns > held->over_ns);
    CHECK(other->over_ns < 2 * WORLD_SECOND);
    CHECK_INT(0, held->waiting_count);
}

CASE(an_adapter_wide_order_holds_all_its_chats)
{
    open_plain();
    (void)world_add(&world, "a", "{wide:20000} x");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    struct world_row *same = world_add(&world, "b", "y");
    struct world_row *other = world_add(&world, "c", "z");
    other->adapter = 1;
    world_run_all(&world);
    CHECK(same->over_ns >= 20 * WORLD_SECOND);
    CHECK(other->over_ns < 4 * WORLD_SECOND);
}

/* A ban of hours: nobody asks meanwhile, nothing is lost, and what waits holds no credit. */
CASE(a_long_order_to_wait_is_waited_for_in_the_store)
{
    open_plain();
    world.hands_one_of_a_chat = true;
    struct world_row *held = world_add(&world, "a", "{after:4000000} x");
    struct world_row *behind = world_add(&world, "a", "y");
    struct world_row *other = world_add(&world, "b", "z");
    world_hand_out(&world);
    world_run(&world, 3999 * WORLD_SECOND);
    CHECK_INT(2, fake_adapter_attempt_count(world.fakes[0])); /* other's, and the one refused */
    CHECK(other->is_over && !held->is_over && !held->is_handed && !held->is_platform_held);
    CHECK_INT(1, held->given_back_count);
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, world.credits[0]);
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, held->state);
    CHECK_INT(SMA_DELIVERY_SENT, behind->state);
    CHECK_INT(4, fake_adapter_attempt_count(world.fakes[0]));
}

CASE(a_long_order_for_all_gives_back_what_comes_later)
{
    open_plain();
    world.hands_one_of_a_chat = true;
    (void)world_add(&world, "a", "{wide:4000000} x");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    struct world_row *later = world_add(&world, "b", "y");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    CHECK(!later->is_handed && later->is_platform_held);
    CHECK_INT(1, fake_adapter_attempt_count(world.fakes[0]));
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_SENT, later->state);
    CHECK(later->over_ns >= 4000 * WORLD_SECOND);
}

/* What could only be sent when nobody waits for it any more is given up at once; the platform is
 * left alone all the same. */
CASE(an_order_beyond_a_day_gives_up_and_asks_no_more)
{
    open_plain();
    world.hands_one_of_a_chat = true;
    struct world_row *held = world_add(&world, "a", "{after:90000000} x");
    struct world_row *behind = world_add(&world, "a", "y");
    world_hand_out(&world);
    world_run(&world, 10 * WORLD_SECOND);
    struct world_row *later = world_add(&world, "a", "z");
    world_hand_out(&world);
    world_run(&world, 10 * WORLD_SECOND);
    CHECK_INT(SMA_DELIVERY_FAILED, held->state);
    CHECK_INT(SMA_DELIVERY_FAILED, behind->state);
    CHECK_INT(SMA_DELIVERY_FAILED, later->state);
    CHECK(strstr(later->error, "too old") != NULL);
    CHECK_INT(1, fake_adapter_attempt_count(world.fakes[0]));
}

/* An answer of yesterday evening is not worth waiting for until noon. */
CASE(the_age_of_the_row_bounds_its_wait)
{
    open_plain();
    world.hands_one_of_a_chat = true;
    int64_t now_ms = sma_ctx_wall(sma_system_ctx(world.system, SMA_ACTOR_STORE));
    struct world_row *old = world_add(&world, "a", "{chat:7200000} x");
    old->made_wall_ms = now_ms - 23 * 3600 * 1000;
    struct world_row *ancient =
        world_add(&world, "b", "{chat:1800000} y"); /* of before a restart */
    ancient->made_wall_ms = now_ms - INT64_C(48) * 3600 * 1000;
    struct world_row *fresh = world_add(&world, "c", "{chat:7200000} z");
    fresh->made_wall_ms = now_ms;
    world_run_all(&world);
    CHECK_INT(SMA_DELIVERY_FAILED, old->state);
    CHECK_INT(SMA_DELIVERY_SENT, ancient->state);
    CHECK_INT(SMA_DELIVERY_SENT, fresh->state);
}

static bool starts_with_g(const struct sma_route *route)
{
    return sma_str_starts_with(route->chat_id, SMA_STR("g"));
}

CASE(two_groups_over_their_limit_hold_nobody_else)
{
    open_plain();
    world.ops[0].is_group = starts_with_g;
    (void)world_add(&world, "g1", "{after:25000} x");
    (void)world_add(&world, "g2", "{after:25000} x");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    struct world_row *person = world_add(&world, "p", "hello");
    world_run_all(&world);
    CHECK(person->over_ns < 3 * WORLD_SECOND);
}

CASE(a_limit_that_people_meet_together_holds_all)
{
    open_plain();
    (void)world_add(&world, "p1", "{after:25000} x");
    (void)world_add(&world, "p2", "{after:25000} x");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    struct world_row *third = world_add(&world, "p3", "hello");
    world_run_all(&world);
    CHECK(third->over_ns >= 25 * WORLD_SECOND);
}

CASE(a_limit_of_one_chat_by_the_platforms_word_holds_no_other)
{
    open_plain();
    (void)world_add(&world, "p1", "{chat:25000} x");
    (void)world_add(&world, "p2", "{chat:25000} x");
    world_hand_out(&world);
    world_run(&world, WORLD_SECOND);
    struct world_row *third = world_add(&world, "p3", "hello");
    world_run_all(&world);
    CHECK(third->over_ns < 3 * WORLD_SECOND);
}

CASE(rates_hold_in_virtual_time)
{
    struct sma_capabilities limited = {.chat_per_minute = 20, .chat_burst = 3};
    world_open(&world, 1, limited, NULL, NULL);
    for (int i = 0; i < 13; i++)
        (void)world_add(&world, "a", "x");
    world_run_all(&world);
    uint64_t begin = world_saw_at(&world, 0, 0)->at_ns;
    CHECK(world_saw_at(&world, 0, 2)->at_ns - begin < WORLD_SECOND);
    for (size_t i = 3; i < 13; i++) {
        uint64_t wanted = (i - 2) * 3385 * WORLD_SECOND / 1000,
                 actual = world_saw_at(&world, 0, i)->at_ns - begin;
        CHECK(actual + WORLD_SECOND / 100 >=
              wanted); /* the platform's clock is a hop behind the dispatcher's */
        CHECK(actual < wanted + WORLD_SECOND);
    }
}

CASE(a_rate_is_remembered_when_a_chat_has_no_rows)
{
    struct sma_capabilities limited = {.chat_per_minute = 1};
    world_open(&world, 1, limited, NULL, NULL);
    (void)world_add(&world, "a", "x");
    world_hand_out(&world);
    world_run(&world, 10 * WORLD_SECOND);
    CHECK(world.rows[0].is_over);
    struct world_row *second = world_add(&world, "a", "y");
    world_run_all(&world);
    CHECK(second->over_ns >= 60 * WORLD_SECOND);
}

CASE(the_adapters_rate_is_shared_fairly)
{
    struct sma_capabilities limited = {.adapter_per_second = 10};
    world_open(&world, 1, limited, NULL, NULL);
    for (int i = 0; i < 30; i++)
        (void)world_add(&world, "greedy", "x");
    struct world_row *small = world_add(&world, "small", "y");
    world_run_all(&world);
    uint64_t begin = world_saw_at(&world, 0, 0)->at_ns, end = world_saw_at(&world, 0, 30)->at_ns;
    CHECK(end - begin >= 29 * WORLD_SECOND / 10);
    CHECK(small->over_ns - begin < WORLD_SECOND / 2); /* takes turns with the greedy chat */
}

CASES_MAIN
