/*
 * clock.h — the one place where the program looks at the clock of the machine and where it says how
 * long the machine is to wait.
 *
 * In a test build (SMA_TEST_CLOCK, set by the presets dev, tsan and coverage) time passes K times
 * as fast: K is SMA_TEST_SCALE of the environment, 1 without it. Elapsed time and wall time are
 * scaled alike, from one beginning that all processes of a test share, so that a stored stamp and a
 * timer of the same length end together (adr 0094). In any other build nothing of it is there: the
 * functions below are the clock itself.
 *
 * What is counted in program time: whatever the program promises, asks or tells (time-outs, pauses,
 * rates, windows, stamps). What stays in the machine's time: a bound that only catches what hangs,
 * or that measures work (CPU time, the start of a helper process, a lock between two processes).
 *
 * Threads: any. Blocks, allocates: no.
 */
#ifndef SMA_CLOCK_H
#define SMA_CLOCK_H

#include <stdint.h>
#include <time.h>

#ifdef SMA_TEST_CLOCK
/** K: how many seconds of the program pass in one of the machine. At least 1, fixed at start. */
uint64_t sma_clock_scale(void);
/** Wall time of the program (ms since 1970) at this wall time of the machine. */
int64_t sma_clock_wall_of(int64_t machine_ms);
#else
static inline uint64_t sma_clock_scale(void)
{
    return 1;
}

static inline int64_t sma_clock_wall_of(int64_t machine_ms)
{
    return machine_ms;
}
#endif

/** Monotonic nanoseconds of the program. */
static inline uint64_t sma_clock_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * sma_clock_scale();
}

/** Milliseconds since 1970 of the program. */
static inline int64_t sma_clock_wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    return sma_clock_wall_of((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/** How many milliseconds the machine waits for so many of the program: never early, 0 stays 0. */
static inline uint64_t sma_clock_wait_ms(uint64_t ms)
{
    return ms / sma_clock_scale() + (ms % sma_clock_scale() != 0);
}

/** The same for poll and its like: negative waits for ever. */
static inline int sma_clock_poll_ms(int ms)
{
    return ms < 0 ? ms : (int)sma_clock_wait_ms((uint64_t)ms);
}

/** How much time of the program passes in so much of the machine's (any unit). For what the machine
 *  waits for in any case: a watchdog of systemd, a thread that hangs, time-outs of a library. */
static inline uint64_t sma_clock_of_machine(uint64_t time)
{
    return time * sma_clock_scale();
}

/** CLOCK_MONOTONIC of the machine at a moment of sma_clock_now_ns. UINT64_MAX = never stays. */
static inline uint64_t sma_clock_machine_ns(uint64_t ns)
{
    return ns == UINT64_MAX ? ns : ns / sma_clock_scale();
}

#endif
