/* targets.c — see targets.h. */
#include "runtime/agent/targets.h"

#define COOL_FIXED_MS (10 * 60 * 1000)        /* somebody must do something */
#define RETRY_AFTER_MS_MAX (24 * 3600 * 1000) /* more is not believed */
#define WAIT_COUNT_MAX 256 /* of one run: a clock set back must not make it wait for ever */

static const int64_t cool_ms[] = {30 * 1000, 60 * 1000, 5 * 60 * 1000};
static const int64_t back_off_ms[] = {5 * 1000, 15 * 1000, 30 * 1000, 60 * 1000, 120 * 1000};

bool sma_health_passes(enum sma_model_failure trouble)
{
    return trouble == SMA_MODEL_FAILURE_TRANSIENT || trouble == SMA_MODEL_FAILURE_RATE;
}

static bool needs_somebody(enum sma_model_failure trouble)
{
    return trouble == SMA_MODEL_FAILURE_QUOTA || trouble == SMA_MODEL_FAILURE_AUTH ||
           trouble == SMA_MODEL_FAILURE_NO_MODEL;
}

void sma_cooldown_fail(struct sma_cooldown *cooldown, enum sma_model_failure trouble,
                       int64_t retry_after_ms, uint64_t now_ns)
{
    size_t last = SMA_COUNT_OF(cool_ms) - 1;
    int64_t wait_ms = cool_ms[cooldown->failure_count < last ? cooldown->failure_count : last];
    cooldown->failure_count++;
    cooldown->is_told = retry_after_ms > 0;
    if (retry_after_ms > 0)
        wait_ms = retry_after_ms < RETRY_AFTER_MS_MAX ? retry_after_ms : RETRY_AFTER_MS_MAX;
    else if (needs_somebody(trouble))
        wait_ms = COOL_FIXED_MS;
    cooldown->until_ns = now_ns + (uint64_t)wait_ms * SMA_NS_PER_MS;
}

void sma_cooldown_succeed(struct sma_cooldown *cooldown)
{
    *cooldown = (struct sma_cooldown){0};
}

size_t sma_cooldown_pick(const struct sma_cooldown *list, size_t count, uint32_t tried,
                         uint64_t now_ns)
{
    size_t index = 0;
    while (index < count && ((tried >> index & 1) != 0 || list[index].until_ns > now_ns))
        index++;
    return index;
}

size_t sma_cooldown_first_back(const struct sma_cooldown *list, size_t count, uint32_t skipped)
{
    size_t first = count;
    for (size_t i = 0; i < count; i++)
        if ((skipped >> i & 1) == 0 && (first == count || list[i].until_ns < list[first].until_ns))
            first = i;
    return first == count ? 0 : first;
}

uint32_t sma_patience_wait_ms(const struct sma_patience *patience, int64_t asked_ms,
                              uint64_t random)
{
    size_t last = SMA_COUNT_OF(back_off_ms) - 1;
    int64_t left_ms = patience->total_ms - patience->spent_ms;
    if (left_ms <= 0 || patience->count >= WAIT_COUNT_MAX)
        return 0;
    if (asked_ms > left_ms)
        return 0;
    int64_t wait_ms =
        asked_ms > 0 ? asked_ms : back_off_ms[patience->count < last ? patience->count : last];
    wait_ms += (int64_t)(random % 100) * wait_ms / 1000;
    wait_ms = wait_ms < left_ms ? wait_ms : left_ms; /* a last try at the end */
    wait_ms = wait_ms > 1000 ? wait_ms : 1000;
    return wait_ms < UINT32_MAX ? (uint32_t)wait_ms : UINT32_MAX;
}
