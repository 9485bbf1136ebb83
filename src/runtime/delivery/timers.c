/* timers.c — a binary heap with back references; see timers.h. */
#include "runtime/delivery/timers.h"

#include <stdlib.h>

enum sma_err sma_timers_init(struct sma_timers *heap, uint32_t count_max)
{
    *heap = (struct sma_timers){0};
    heap->timers = calloc(count_max, sizeof *heap->timers);
    if (heap->timers == NULL)
        return SMA_ERR_NOMEM;
    heap->count_max = count_max;
    return SMA_ERR_OK;
}

void sma_timers_fini(struct sma_timers *heap)
{
    free(heap->timers);
    *heap = (struct sma_timers){0};
}

static bool is_before(const struct sma_timer *a, const struct sma_timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void place(struct sma_timers *heap, uint32_t index, struct sma_timer *timer)
{
    heap->timers[index] = timer;
    timer->slot = index + 1;
}

static void sift_up(struct sma_timers *heap, uint32_t index, struct sma_timer *timer)
{
    while (index > 0 && is_before(timer, heap->timers[(index - 1) / 2])) {
        place(heap, index, heap->timers[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    place(heap, index, timer);
}

static void sift_down(struct sma_timers *heap, uint32_t index, struct sma_timer *timer)
{
    while (2 * index + 1 < heap->count) {
        uint32_t child = 2 * index + 1;
        if (child + 1 < heap->count && is_before(heap->timers[child + 1], heap->timers[child]))
            child++;
        if (!is_before(heap->timers[child], timer))
            break;
        place(heap, index, heap->timers[child]);
        index = child;
    }
    place(heap, index, timer);
}

void sma_timers_clear(struct sma_timers *heap, struct sma_timer *timer)
{
    if (timer->slot == 0)
        return;
    uint32_t index = timer->slot - 1;
    SMA_ASSERT(index < heap->count);
    SMA_ASSERT(heap->timers[index] == timer);
    timer->slot = 0;
    struct sma_timer *last = heap->timers[--heap->count];
    if (last == timer)
        return;
    if (index > 0 && is_before(last, heap->timers[(index - 1) / 2]))
        sift_up(heap, index, last);
    else
        sift_down(heap, index, last);
}

void sma_timers_set(struct sma_timers *heap, struct sma_timer *timer, uint64_t at_ns)
{
    sma_timers_clear(heap, timer);
    SMA_ASSERT(heap->count < heap->count_max);
    timer->at_ns = at_ns;
    timer->order = ++heap->order;
    heap->count++;
    sift_up(heap, heap->count - 1, timer);
}

struct sma_timer *sma_timers_take_due(struct sma_timers *heap, uint64_t now)
{
    if (heap->count == 0 || heap->timers[0]->at_ns > now)
        return NULL;
    struct sma_timer *timer = heap->timers[0];
    sma_timers_clear(heap, timer);
    return timer;
}

uint64_t sma_timers_next_at(const struct sma_timers *heap)
{
    return heap->count == 0 ? UINT64_MAX : heap->timers[0]->at_ns;
}
