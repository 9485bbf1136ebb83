/*
 * local_day.h — days and months by the local time of the process, as numbers that can be counted
 * with.
 *
 * Threads: any. Reads the time zone of the process (TZ); keeps nothing.
 */
#ifndef SMA_TEXT_LOCAL_DAY_H
#define SMA_TEXT_LOCAL_DAY_H

#include "sma/base.h"

struct sma_local_day
{
    int64_t day;                     /* its date, as days since 1970-01-01 */
    int64_t month_first, month_last; /* of its month, likewise */
    int64_t from_ms, until_ms;       /* wall clock: 23 to 25 hours where clocks are changed */
    int64_t month_until_ms;
};
/** The day of this moment. */
void sma_local_day_find(int64_t wall_ms, struct sma_local_day *ret_day);
static inline bool sma_local_day_has(const struct sma_local_day *day, int64_t wall_ms)
{
    return wall_ms >= day->from_ms && wall_ms < day->until_ms;
}

#endif
