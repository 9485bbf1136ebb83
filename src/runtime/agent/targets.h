/*
 * targets.h — which target is asked: cool-downs of those that failed, and how long a run waits when
 * none is left. Pure.
 *
 * A target that failed is not asked for a while: 30 s, 1 min, 5 min when it may come back by
 * itself; 10 min when somebody must do something about it (money, key, model); what its server
 * asked for when it did. Then it is tried again.
 * Source: protocols/models.md §8. Threads: the owner only; time is an argument.
 */
#ifndef SMA_RUNTIME_AGENT_TARGETS_H
#define SMA_RUNTIME_AGENT_TARGETS_H

#include "sma/messages.h"

/* The state of one target. All zero: nothing is known against it. */
struct sma_cooldown
{
    uint64_t until_ns;      /* not asked before this while another one may be */
    uint32_t failure_count; /* in a row */
    bool is_told;           /* until_ns is what its server asked for */
};

void sma_cooldown_fail(struct sma_cooldown *cooldown, enum sma_model_failure trouble,
                       int64_t retry_after_ms, uint64_t now_ns);
void sma_cooldown_succeed(struct sma_cooldown *cooldown);
/** The first of list[0..count) that is neither cooled nor in `tried` (bit = index); count when
 *  there is none. */
size_t sma_cooldown_pick(const struct sma_cooldown *list, size_t count, uint32_t tried,
                         uint64_t now_ns);
/** The one that is back first, of those that are not in `skipped` (bit = index). count > 0. */
size_t sma_cooldown_first_back(const struct sma_cooldown *list, size_t count, uint32_t skipped);
/** May the target answer again without anybody's doing? */
bool sma_health_passes(enum sma_model_failure trouble);

/* What a run that waits for a model knows. */
struct sma_patience
{
    int64_t total_ms; /* of the configuration; 0 = no run waits */
    int64_t spent_ms; /* since the first failure */
    uint32_t count;   /* waits so far */
};
/** How long to wait now: @asked_ms is what a server asked for (-1: none did), else the back-off 5,
 *  15, 30, 60, 120 s ...; made up to a tenth longer by @random, so that runs do not come back all
 *  at once. 0: patience is over, or what the server asked for is beyond it. */
uint32_t sma_patience_wait_ms(const struct sma_patience *patience, int64_t asked_ms,
                              uint64_t random);

#endif
