/*
 * Aim: rates, back-off, the consequences of every outcome, and the timer heap hold what policy.h
 * and timers.h promise.
 * Method: direct calls; the heap against a sorted list with random operations.
 */
#include "runtime/delivery/policy.h"
#include "runtime/delivery/timers.h"
#include "support/check.h"

#define S 1000000000ull

CASE(a_bucket_lets_burst_then_rate_through)
{
    struct sma_rate rate = sma_rate_make(20, 64 * S, 3);
    uint64_t taken = 0, now = 1000 * S, period = 65 * S / 18;
    for (int i = 0; i < 3; i++) {
        CHECK(sma_rate_ready_at(&rate, taken) <= now);
        taken = sma_rate_take(&rate, taken, now);
    }
    CHECK_INT(now + period, sma_rate_ready_at(&rate, taken));
    now += period;
    taken = sma_rate_take(&rate, taken, now);
    CHECK_INT(now + period, sma_rate_ready_at(&rate, taken));
    now += 3600 * S; /* idle for an hour: not more than one burst has gathered */
    for (int i = 0; i < 3; i++)
        taken = sma_rate_take(&rate, taken, now);
    CHECK_INT(now + period, sma_rate_ready_at(&rate, taken));
}

CASE(no_limit_and_no_burst)
{
    struct sma_rate none = sma_rate_make(0, S, 5);
    CHECK_INT(0, sma_rate_ready_at(&none, sma_rate_take(&none, 0, 77)));
    struct sma_rate one = sma_rate_make(2, 64 * S, 0);
    CHECK_INT(77 + 65 * S / 2, sma_rate_ready_at(&one, sma_rate_take(&one, 0, 77)));
}

/* The burst is part of what the platform allows, not beside it. */
CASE(no_window_holds_more_than_the_limit)
{
    static const struct
    {
        uint32_t count, burst;
        uint64_t per_ns;
    } limits[] = {{20, 5, 60 * S}, {20, 1, 60 * S}, {30, 30, S}, {60, 5, 60 * S},
                  {5, 2, S},       {1, 5, 60 * S},  {2, 2, S},   {240, 2, 60 * S}};
    for (size_t k = 0; k < SMA_COUNT_OF(limits); k++) {
        struct sma_rate rate = sma_rate_make(limits[k].count, limits[k].per_ns, limits[k].burst);
        uint64_t taken = 0, sent[400], count = SMA_COUNT_OF(sent);
        for (size_t i = 0; i < count; i++) { /* as fast as the bucket lets, after a long rest */
            sent[i] = sma_rate_ready_at(&rate, taken);
            sent[i] = sent[i] < 1000 * S ? 1000 * S : sent[i];
            taken = sma_rate_take(&rate, taken, sent[i]);
        }
        for (size_t i = 0; i + limits[k].count < count; i++)
            CHECK(sent[i + limits[k].count] - sent[i] > limits[k].per_ns);
        uint64_t slowest_ns = limits[k].per_ns * 2 / limits[k].count; /* and half of it at least */
        CHECK(sent[count - 1] - sent[0] <= (count - 1) * slowest_ns);
    }
    struct sma_rate chat = sma_rate_make(240, 60 * S, 2); /* Feishu: five a second */
    uint64_t taken = 0, sent[400];
    for (size_t i = 0; i < 400; i++) {
        sent[i] = sma_rate_ready_at(&chat, taken) < S ? S : sma_rate_ready_at(&chat, taken);
        taken = sma_rate_take(&chat, taken, sent[i]);
    }
    for (size_t i = 0; i + 5 < 400; i++)
        CHECK(sent[i + 5] - sent[i] > S);
}

CASE(a_limit_is_everybodys_when_several_chats_meet_it_together)
{
    struct sma_limits limits = {0};
    CHECK(!sma_limits_note(&limits, 1, false, 6 * S, S)); /* alone, however often */
    CHECK(!sma_limits_note(&limits, 1, false, 6 * S, S + 1));
    CHECK(sma_limits_note(&limits, 2, false, 7 * S, 2 * S));
    CHECK(!sma_limits_note(&limits, 3, false, 65 * S, 60 * S));  /* long after */
    CHECK(!sma_limits_note(&limits, 4, false, 101 * S, 61 * S)); /* each with an end of its own */
    CHECK(!sma_limits_note(&limits, 5, false, 362 * S, 62 * S));
    CHECK(sma_limits_note(&limits, 6, false, 363 * S, 64 * S));
    limits =
        (struct sma_limits){0}; /* two groups over their own limit say nothing about the bot's */
    CHECK(!sma_limits_note(&limits, 1, true, 30 * S, S));
    CHECK(!sma_limits_note(&limits, 2, true, 30 * S, S));
    CHECK(!sma_limits_note(&limits, 1, true, 31 * S, 2 * S));
    CHECK(sma_limits_note(&limits, 3, true, 31 * S, 2 * S)); /* three do */
    limits = (struct sma_limits){0};
    CHECK(!sma_limits_note(&limits, 1, true, 30 * S, S));
    CHECK(sma_limits_note(&limits, 9, false, 30 * S, S)); /* and so does a person beside a group */
}

CASE(back_off_doubles_with_jitter_up_to_its_cap)
{
    for (uint32_t attempt = 1; attempt < 40; attempt++) {
        uint64_t whole = attempt < 10 ? (S << (attempt - 1)) : 300 * S;
        if (whole > 300 * S)
            whole = 300 * S;
        CHECK_INT(whole / 2, sma_delivery_backoff_ns(attempt, 0));
        for (uint64_t random = 1; random < 1000; random += 37)
            CHECK(sma_delivery_backoff_ns(attempt, random * 0x9E3779B97F4A7C15ull) <= whole);
    }
}

CASE(retry_ends_after_its_attempts)
{
    struct sma_delivery_try try = {0};
    for (int i = 1; i < SMA_ATTEMPT_COUNT_MAX; i++)
        CHECK_INT(SMA_DELIVERY_NEXT_WAIT,
                  sma_delivery_decide(&try, SMA_ATTEMPT_RETRY, 0, false, 5).next);
    CHECK_INT(SMA_DELIVERY_NEXT_FAILED,
              sma_delivery_decide(&try, SMA_ATTEMPT_RETRY, 0, false, 5).next);
}

CASE(an_ordered_wait_is_kept_and_costs_no_attempt)
{
    struct sma_delivery_try try = {.left_ns = 24 * 3600 * S};
    struct sma_delivery_decision decision =
        sma_delivery_decide(&try, SMA_ATTEMPT_RETRY_AFTER, 30000, false, 12345);
    CHECK_INT(SMA_DELIVERY_NEXT_WAIT, decision.next);
    CHECK(decision.is_ordered && decision.delay_ns >= 30 * S && decision.delay_ns <= 31 * S);
    CHECK_INT(0, try.attempt_count);
    CHECK(sma_delivery_decide(&try, SMA_ATTEMPT_RETRY_AFTER, 0, false, 0).delay_ns == S);
    CHECK_INT(SMA_DELIVERY_NEXT_WAIT, /* hours are waited for, too */
              sma_delivery_decide(&try, SMA_ATTEMPT_RETRY_AFTER, 20 * 3600 * 1000, false, 0).next);
}

CASE(an_order_beyond_the_rows_age_fails_it_and_holds_all_the_same)
{
    struct sma_delivery_try try = {.left_ns = 100 * S};
    struct sma_delivery_decision decision =
        sma_delivery_decide(&try, SMA_ATTEMPT_RETRY_AFTER, 101 * 1000, false, 0);
    CHECK_INT(SMA_DELIVERY_NEXT_FAILED, decision.next);
    CHECK(decision.is_ordered && decision.delay_ns == 101 * S);
    try.unknown_count = 1;
    decision = sma_delivery_decide(&try, SMA_ATTEMPT_RETRY_AFTER, 101 * 1000, false, 0);
    CHECK_INT(SMA_DELIVERY_NEXT_UNKNOWN, decision.next);
}

CASE(unknown_is_repeated_once_without_idempotency)
{
    struct sma_delivery_try try = {0};
    CHECK_INT(SMA_DELIVERY_NEXT_REPEAT,
              sma_delivery_decide(&try, SMA_ATTEMPT_UNKNOWN, 0, false, 1).next);
    CHECK_INT(SMA_DELIVERY_NEXT_UNKNOWN,
              sma_delivery_decide(&try, SMA_ATTEMPT_UNKNOWN, 0, false, 1).next);
    struct sma_delivery_try after_crash = {.unknown_count = 1};
    CHECK_INT(SMA_DELIVERY_NEXT_UNKNOWN,
              sma_delivery_decide(&after_crash, SMA_ATTEMPT_UNKNOWN, 0, false, 1).next);
}

CASE(unknown_is_repeated_under_the_key_with_idempotency)
{
    struct sma_delivery_try try = {0};
    for (int i = 1; i < SMA_ATTEMPT_COUNT_MAX; i++)
        CHECK_INT(SMA_DELIVERY_NEXT_REPEAT,
                  sma_delivery_decide(&try, SMA_ATTEMPT_UNKNOWN, 0, true, 1).next);
    CHECK_INT(SMA_DELIVERY_NEXT_UNKNOWN,
              sma_delivery_decide(&try, SMA_ATTEMPT_UNKNOWN, 0, true, 1).next);
}

CASE(what_may_have_arrived_never_ends_as_failed)
{
    struct sma_delivery_try try = {0};
    (void)sma_delivery_decide(&try, SMA_ATTEMPT_UNKNOWN, 0, false, 1);
    CHECK_INT(SMA_DELIVERY_NEXT_REPEAT,
              sma_delivery_decide(&try, SMA_ATTEMPT_RETRY, 0, false, 1).next);
    CHECK_INT(SMA_DELIVERY_NEXT_UNKNOWN,
              sma_delivery_decide(&try, SMA_ATTEMPT_GIVE_UP, 0, false, 1).next);
    struct sma_delivery_try fresh = {0};
    CHECK_INT(SMA_DELIVERY_NEXT_FAILED,
              sma_delivery_decide(&fresh, SMA_ATTEMPT_GIVE_UP, 0, false, 1).next);
}

#define TIMER_COUNT 200
CASE(the_heap_gives_times_in_order)
{
    SMA_AUTO(sma_timers_fini) struct sma_timers heap;
    CHECK_OK(sma_timers_init(&heap, TIMER_COUNT));
    struct sma_timer timers[TIMER_COUNT] = {{0}};
    uint64_t random = 4242;
    for (int round = 0; round < 20000; round++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        struct sma_timer *timer = &timers[(random >> 33) % TIMER_COUNT];
        if ((random >> 60) < 10)
            sma_timers_set(&heap, timer, (random >> 20) % 50);
        else
            sma_timers_clear(&heap, timer);
        uint64_t least = UINT64_MAX;
        uint32_t count = 0;
        for (int i = 0; i < TIMER_COUNT; i++) {
            if (timers[i].slot == 0)
                continue;
            count++;
            least = timers[i].at_ns < least ? timers[i].at_ns : least;
        }
        CHECK_INT(count, heap.count);
        CHECK(sma_timers_next_at(&heap) == least);
    }
    uint64_t last_at = 0, last_order = 0;
    CHECK(sma_timers_take_due(&heap, 0) == NULL || heap.count > 0);
    for (struct sma_timer *timer; (timer = sma_timers_take_due(&heap, 100)) != NULL;) {
        CHECK(timer->at_ns > last_at || (timer->at_ns == last_at && timer->order > last_order));
        last_at = timer->at_ns;
        last_order = timer->order;
    }
    CHECK_INT(0, heap.count);
}

CASES_MAIN
