/*
 * clock.c — the factor of a test build; see clock.h. Of any other build this file is empty.
 */
#include "sma/clock.h"

#ifdef SMA_TEST_CLOCK
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define VARIABLE "SMA_TEST_SCALE" /* K, or K@ms since 1970 from which on wall time is scaled */
#define SCALE_MAX 1000u

static uint64_t scale = 1;
static int64_t begin_ms; /* of the machine; equal for every process of a test */

/* Before main, before any thread: the first process of a test writes down when its time began, and
 * all that it starts inherit that. */
__attribute__((constructor)) static void sma_clock_read_scale(void)
{
    const char *text = getenv(VARIABLE);
    char *end = NULL;
    uint64_t wanted = text == NULL ? 1 : strtoull(text, &end, 10);
    if (text == NULL || wanted == 1)
        return;
    if (end == text || wanted == 0 || wanted > SCALE_MAX || (*end != '\0' && *end != '@')) {
        (void)fprintf(stderr, VARIABLE " is \"%s\": give a whole number from 1 to %u\n", text,
                      SCALE_MAX);
        exit(2);
    }
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    begin_ms = *end == '@' ? strtoll(end + 1, NULL, 10)
                           : (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    scale = wanted;
    char shared[64];
    (void)snprintf(shared, sizeof shared, "%" PRIu64 "@%" PRId64, scale, begin_ms);
    (void)setenv(VARIABLE, shared, 1);
}

uint64_t sma_clock_scale(void)
{
    return scale;
}

int64_t sma_clock_wall_of(int64_t machine_ms)
{
    return scale == 1 ? machine_ms : begin_ms + (machine_ms - begin_ms) * (int64_t)scale;
}
#else
typedef int sma_clock_is_the_machines; /* ISO C wants something in a file */
#endif
