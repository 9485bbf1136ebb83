/*
 * load_compare.c — is this run worse than a baseline by more than its noise?
 *
 * A figure is worse when it is above the baseline's by more than its share AND its least
 * difference. Of latencies the share is never less than the noise: how much the p50 of the four
 * quarters of either run differ.
 */
#include "load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct
{
    const char *block, *name, *what;
    double share, least;
    bool is_noisy;
} ROWS[] = {
    {"latencyMs", "p50", "p50, ms", 0.25, 1, true},
    {"latencyMs", "p90", "p90, ms", 0.35, 2, true},
    {"latencyMs", "p99", "p99, ms", 0.5, 5, true},
    {"perMessage", "cpuMs", "processor a message, ms", 0.25, 0.1, false},
    {"perMessage", "bytesWritten", "bytes written a message", 0.25, 4096, false},
    {"perMessage", "syncs", "syncs a message", 0.25, 0.1, false},
    {"messages", "refused", "refused", 0, 0, false},
    {"messages", "broken", "broken off", 0, 0, false},
    {"messages", "unanswered", "unanswered", 0, 0, false},
};

static double number(const json_t *tree, const char *block, const char *name)
{
    return json_number_value(json_object_get(json_object_get(tree, block), name));
}

/* The spread of the quarters' p50, as a share of the least. */
static double noise_of(const json_t *report)
{
    double least = INFINITY, most = 0;
    size_t i;
    const json_t *value;
    json_array_foreach(json_object_get(report, "quartersP50Ms"), i, value)
    {
        double ms = json_number_value(value);
        if (ms <= 0)
            continue; /* nothing was answered then */
        least = fmin(least, ms);
        most = fmax(most, ms);
    }
    return most > 0 ? (most - least) / least : 0;
}

static bool is_same_question(const json_t *baseline, const json_t *report)
{
    static const char *const members[] = {"version", "platform", "mode",   "rate",
                                          "chats",   "seconds",  "modelMs"};
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        const json_t *was = json_object_get(baseline, members[i]),
                     *is = json_object_get(report, members[i]);
        if (json_equal(was, is) || (json_is_number(was) && json_is_number(is) &&
                                    json_number_value(was) == json_number_value(is)))
            continue;
        fprintf(stderr, "bench: the baseline cannot be compared: its %s is another\n", members[i]);
        return false;
    }
    return true;
}

int load_compare(const json_t *baseline, const json_t *report)
{
    if (!is_same_question(baseline, report))
        return 2;
    double noise = fmax(noise_of(baseline), noise_of(report));
    unsigned worse = 0;
    printf("\n%-26s %12s %12s %12s\n", "compared", "baseline", "now", "allowed");
    for (size_t i = 0; i < SMA_COUNT_OF(ROWS); i++) {
        double was = number(baseline, ROWS[i].block, ROWS[i].name),
               is = number(report, ROWS[i].block, ROWS[i].name),
               share = ROWS[i].is_noisy ? fmax(ROWS[i].share, noise) : ROWS[i].share,
               allowed = was + fmax(was * share, ROWS[i].least);
        worse += is > allowed;
        printf("  %-24s %12.2f %12.2f %12.2f%s\n", ROWS[i].what, was, is, allowed,
               is > allowed ? "  WORSE" : "");
    }
    printf("noise: the p50 of a run's quarters differ by %.0f %%%s\n", noise * 100,
           noise > 0.25 ? ": smaller differences of latency are not seen" : "");
    printf(worse == 0 ? "not worse than the baseline\n" : "%u figure(s) worse than the baseline\n",
           worse);
    return worse == 0 ? 0 : 1;
}
