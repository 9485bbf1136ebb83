/*
 * timers.h — one heap of all the times an actor waits for.
 *
 * A timer lives inside the thing that waits; the heap holds pointers only, its room is taken once
 * at init, so setting and clearing never fail. Equal times come out in the order in which they were
 * set.
 *
 * Invariants: timers[slot - 1] of a set timer is the timer itself; slot 0 = not set.
 * Threads:    the owner only.
 */
#ifndef SMA_DELIVERY_TIMERS_H
#define SMA_DELIVERY_TIMERS_H

#include "sma/base.h"

struct sma_timer
{
    uint64_t at_ns, order;
    uint32_t slot; /* 1-based place in the heap; 0 = not set */
    uint32_t kind; /* the owner's word for what the timer is part of */
};
struct sma_timers
{
    struct sma_timer **timers;
    uint64_t order;
    uint32_t count, count_max;
};

/** Room for count_max timers set at once. NOMEM. */
SMA_CHECKED enum sma_err sma_timers_init(struct sma_timers *heap, uint32_t count_max);
/** Accepts a zeroed struct. */
void sma_timers_fini(struct sma_timers *heap);
/** Set or move. Asserts that the heap has room. */
void sma_timers_set(struct sma_timers *heap, struct sma_timer *timer, uint64_t at_ns);
/** No effect on a timer that is not set. */
void sma_timers_clear(struct sma_timers *heap, struct sma_timer *timer);
/** Remove and return the earliest timer with at_ns <= now; NULL when there is none. */
struct sma_timer *sma_timers_take_due(struct sma_timers *heap, uint64_t now);
/** UINT64_MAX when none is set. */
uint64_t sma_timers_next_at(const struct sma_timers *heap);

#endif
