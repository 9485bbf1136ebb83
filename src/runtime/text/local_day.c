/* Days of the local calendar. See local_day.h. */
#include "runtime/text/local_day.h"

#include <time.h>

/* Days since 1970-01-01 of a date of the Gregorian calendar; month 1..12. */
static int64_t days_of(int64_t year, int month, int day)
{
    /* Years begin in March, so that the day of the leap year is the last one. */
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static int64_t day_of(time_t moment)
{
    struct tm local = {0};
    (void)localtime_r(&moment, &local); /* zeros for a moment beyond all calendars */
    return days_of((int64_t)local.tm_year + 1900, local.tm_mon + 1, local.tm_mday);
}

/* The first moment of this date. Some zones change their clocks at midnight: there the day begins
 * at one o'clock, and mktime may name an hour of the day before. */
static int64_t begin_of(const struct tm *date, int64_t day)
{
    struct tm midnight = {
        .tm_year = date->tm_year, .tm_mon = date->tm_mon, .tm_mday = date->tm_mday, .tm_isdst = -1};
    time_t moment = mktime(&midnight);
    for (int hour = 0; hour < 3 && day_of(moment) < day; hour++)
        moment += 3600;
    return (int64_t)moment * 1000;
}

void sma_local_day_find(int64_t wall_ms, struct sma_local_day *ret_day)
{
    struct tm local = {0};
    time_t moment = (time_t)((wall_ms - (wall_ms < 0 ? 999 : 0)) / 1000);
    (void)localtime_r(&moment, &local); /* zeros for a moment beyond all calendars */
    int64_t year = (int64_t)local.tm_year + 1900;
    int month = local.tm_mon + 1;
    int64_t day = days_of(year, month, local.tm_mday);
    int64_t next_first = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
    struct tm tomorrow = local, next_month = local;
    tomorrow.tm_mday++;
    next_month.tm_mday = 1;
    next_month.tm_mon++;
    *ret_day = (struct sma_local_day){.day = day,
                                      .month_first = days_of(year, month, 1),
                                      .month_last = next_first - 1,
                                      .from_ms = begin_of(&local, day),
                                      .until_ms = begin_of(&tomorrow, day + 1),
                                      .month_until_ms = begin_of(&next_month, next_first)};
}
