/*
 * clock.h — the two times of a test (sma/clock.h, adr 0094).
 *
 * What the program promises in seconds is measured and waited for in the program's time
 * (clock_now_ms, clock_rest): under scripts/test it passes ten times as fast. The patience with
 * which a test waits for what must come (support/patience.h) is the machine's time: it only catches
 * what hangs, and a busy machine is not ten times as fast.
 */
#ifndef SMA_TEST_CLOCK_H
#define SMA_TEST_CLOCK_H

#include "sma/clock.h"
#include "support/patience.h"

#define CLOCK_LOOK_MS 2u /* between two looks at least: K times as many would find no more */

/** Milliseconds of the program, monotonic. */
static inline long long clock_now_ms(void)
{
    return (long long)(sma_clock_now_ns() / 1000000u);
}

/** Seconds since 1970 of the program: what a platform writes into a message. */
static inline long long clock_wall_s(void)
{
    return (long long)(sma_clock_wall_ms() / 1000);
}

/** How much of the machine's time something may take that takes `ms` of the program's at most: that
 *  wait, and, where it is shortened, what a busy machine needs for the work beside it. */
static inline long long clock_bound_ms(unsigned ms)
{
    return (long long)sma_clock_wait_ms(ms) + (sma_clock_scale() > 1 ? 2000 * PATIENCE : 0);
}

/** So much time of the program passes: between two looks at something that has no event, or long
 *  enough to see that nothing comes. */
static inline void clock_rest(unsigned ms)
{
    uint64_t us = sma_clock_wait_ms((uint64_t)ms * 1000);
    uint64_t least_us = (ms < CLOCK_LOOK_MS ? ms : CLOCK_LOOK_MS) * 1000u;
    us = us < least_us ? least_us : us;
    struct timespec wait = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    (void)nanosleep(&wait, NULL);
}

#endif
