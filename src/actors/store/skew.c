/*
 * Does this machine's clock agree with the platforms'? A message dated in the future says no at
 * once; one dated long ago may only be late, so several have to be late by the same time. Said once
 * in the log, and in the status until a message agrees again.
 */
#include "intake.h"
#include "intake_priv.h"
#include "outbox.h"
#include "store.h"

#include "sma/links.h"

#include <stdlib.h>

#define AGREES_MS 60000
#define FAST_MS INT64_C(300000)             /* what is late by less is no matter of clocks */
#define SPREAD_MS 30000                     /* ... and late by the same time, give or take */
#define FAST_COUNT 3                        /* messages, */
#define FAST_NS (UINT64_C(20) * 1000000000) /* over so long a time: a backlog comes at once */

static void tell(struct sma_store *store, const char *platform, struct store_skew *skew,
                 int64_t age_ms)
{
    sma_link_clock(platform, age_ms);
    if (skew->is_told)
        return;
    skew->is_told = true;
    long long seconds = llabs((long long)age_ms) / 1000;
    if (age_ms < 0)
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "%s: a message is dated %lld s after now: the clock of this machine is slow",
                    platform, seconds);
    else
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "%s: messages come dated %lld s ago: either the platform brings them late, or "
                    "the clock of this machine is fast",
                    platform, seconds);
}

/* Late by the same time as those before it? */
static bool is_steady(struct sma_store *store, struct store_skew *skew, int64_t age_ms)
{
    uint64_t now_ns = sma_ctx_now(store->ctx);
    if (skew->count == 0 || llabs((long long)(age_ms - skew->age_ms)) > SPREAD_MS)
        *skew = (struct store_skew){.age_ms = age_ms,
                                    .slow_ms = skew->slow_ms,
                                    .since_ns = now_ns,
                                    .is_told = skew->is_told};
    skew->count++;
    return skew->count >= FAST_COUNT && now_ns - skew->since_ns >= FAST_NS;
}

void sma_store_note_clock(struct sma_store *store, const struct sma_ingress *in, bool is_too_old)
{
    int adapter = sma_store_adapter_of(store, &in->route);
    if (in->sent_ms <= 0 || adapter < 0)
        return;
    struct store_skew *skew = &store->intake->skews[adapter];
    const char *platform = sma_adapter_name(store->adapters[adapter].adapter);
    int64_t age_ms = sma_ctx_wall(store->ctx) - in->sent_ms;
    if (age_ms < -AGREES_MS)
        skew->slow_ms = -age_ms;
    if (age_ms < -AGREES_MS || is_too_old) {
        tell(store, platform, skew, age_ms);
    } else if (age_ms > FAST_MS) {
        if (is_steady(store, skew, age_ms))
            tell(store, platform, skew, age_ms);
    } else if (age_ms < AGREES_MS && (skew->count > 0 || skew->is_told)) {
        *skew = (struct store_skew){0};
        sma_link_clock(platform, 0);
    }
}

int64_t sma_store_slow_ms(const struct sma_store *store, const struct sma_ingress *in)
{
    int adapter = sma_store_adapter_of(store, &in->route);
    return adapter < 0 ? 0 : store->intake->skews[adapter].slow_ms;
}
