/* The rules of consent. */
#include "runtime/approval/consent.h"

#include "sma/messages.h"

#define LENGTH_S_MAX (INT64_C(3660) * 86400) /* ten years; longer is cut */
#define CLOCK_TOLERANCE_MS 60000             /* two readings of one clock may be that far apart */

/* -- permissions that last -------------------------------------------------------------------------------------- */
int64_t sma_grant_until(int64_t now_ms, int64_t length_s)
{
    if (length_s == SMA_GRANT_ALWAYS)
        return 0;
    int64_t bounded_s = length_s < 0 ? 0 : length_s > LENGTH_S_MAX ? LENGTH_S_MAX : length_s;
    return now_ms + bounded_s * 1000;
}

bool sma_grant_holds(int64_t created_ms, int64_t until_ms, int64_t now_ms)
{
    if (until_ms == 0)
        return true;
    return until_ms > now_ms && created_ms <= now_ms + CLOCK_TOLERANCE_MS;
}
