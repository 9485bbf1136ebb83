/*
 * Aim: the rules of consent, case by case: whose item it is, what follows from what is said, which permissions hold.
 * Method: tables; the rules are functions of what they are told.
 */
#include "runtime/approval/consent.h"
#include "sma/messages.h"
#include "support/check.h"

#define MINUTE INT64_C(60000)
#define DAY (INT64_C(86400) * 1000)

static void a_permission_holds_for_its_time_by_any_clock(void)
{
    static const struct
    {
        int64_t created, until, now;
        bool holds;
    } rows[] = {
        {1000, 0, 0, true}, /* for good, whatever the clock says */
        {1000, 0, INT64_MAX, true},
        {1000, 601000, 1000, true},
        {1000, 601000, 600999, true},
        {1000, 601000, 601000, false},
        {1000, 601000, 10 * DAY, false},
        {DAY, 2 * DAY, DAY - MINUTE, true}, /* the clock was put right a little */
        {DAY, 2 * DAY, DAY - MINUTE - 1, false},
        {DAY, 2 * DAY, 0, false},
        {DAY, -1, DAY, false},
        {INT64_MAX, INT64_MAX, DAY, false},
        {INT64_MIN, 2 * DAY, DAY, true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK(sma_grant_holds(rows[i].created, rows[i].until, rows[i].now) == rows[i].holds);
}

static void any_length_of_a_permission_has_an_end_that_can_be_told(void)
{
    static const struct
    {
        int64_t length_s, until;
    } rows[] = {
        {SMA_GRANT_ALWAYS, 0},
        {1, DAY + 1000},
        {600, DAY + 600000},
        {0, DAY},
        {-2, DAY},
        {INT64_MIN, DAY},
        {3660 * 86400, 3661 * DAY},
        {3660 * INT64_C(86400) + 1, 3661 * DAY},
        {INT64_MAX, 3661 * DAY},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].until, sma_grant_until(DAY, rows[i].length_s));
}

int main(void)
{
    RUN(a_permission_holds_for_its_time_by_any_clock);
    RUN(any_length_of_a_permission_has_an_end_that_can_be_told);
    return check_summary();
}
