/* news.c — see news.h. */
#include "sma/news.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static atomic_int bell = -1;
static atomic_bool is_awaited; /* somebody listens, and nobody has rung since the last look */

int sma_news_open(void)
{
    if (atomic_load(&bell) < 0)
        atomic_store(&bell, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    return atomic_load(&bell);
}

void sma_news_take(void)
{
    uint64_t count;
    (void)!read(atomic_load(&bell), &count, sizeof count); /* nothing was rung: that is no error */
    atomic_store(&is_awaited, true);
}

void sma_news_mute(void)
{
    atomic_store(&is_awaited, false);
}

void sma_news_ring(void)
{
    const uint64_t one = 1;
    if (atomic_load(&is_awaited) && atomic_exchange(&is_awaited, false))
        (void)!write(atomic_load(&bell), &one, sizeof one); /* of an eventfd: cannot fail */
}
