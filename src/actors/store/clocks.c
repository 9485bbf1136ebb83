/* clocks.c — how long requests have yet, which is over first, and whose clock stands while the
 * agent reads an answer. See consent_priv.h. */
#include "consent_priv.h"
#include "store.h"

#define LEFT_MS_MAX (INT64_C(3660) * 86400000) /* no clock has more, whatever its row says */

static void put_at(struct store_consent *consent, uint32_t place, struct store_approval *approval)
{
    consent->clocks[place - 1] = approval;
    approval->clock_place = place;
}

static bool is_earlier(const struct store_approval *a, const struct store_approval *b)
{
    return a->deadline_ns < b->deadline_ns;
}

static void sift(struct store_consent *consent, uint32_t place, struct store_approval *approval)
{
    for (; place > 1 && is_earlier(approval, consent->clocks[place / 2 - 1]); place /= 2)
        put_at(consent, place, consent->clocks[place / 2 - 1]);
    for (uint32_t child; (child = place * 2) <= consent->clock_count; place = child) {
        if (child < consent->clock_count &&
            is_earlier(consent->clocks[child], consent->clocks[child - 1]))
            child++;
        if (!is_earlier(consent->clocks[child - 1], approval))
            break;
        put_at(consent, place, consent->clocks[child - 1]);
    }
    put_at(consent, place, approval);
}

void sma_store_drop_clock(struct sma_store *store, struct store_approval *approval)
{
    struct store_consent *consent = store->consent;
    uint32_t place = approval->clock_place;
    if (place == 0)
        return;
    approval->clock_place = 0;
    struct store_approval *last = consent->clocks[--consent->clock_count];
    if (last != approval)
        sift(consent, place, last);
}

void sma_store_add_clock(struct sma_store *store, struct store_approval *approval)
{
    struct store_consent *consent = store->consent;
    sma_store_need(store, sma_store_grow(&consent->clocks, consent->clock_count,
                                         &consent->clock_cap, sizeof(struct store_approval *)));
    sift(consent, ++consent->clock_count, approval);
}

void sma_store_keep_clock(struct sma_store *store, const struct store_approval *approval)
{
    struct store_consent *consent = store->consent;
    if (approval->left_ms < 0 && !approval->is_told)
        return;
    sma_store_need(store, sma_store_grow(&consent->kept, consent->kept_count, &consent->kept_cap,
                                         sizeof *consent->kept));
    consent->kept[consent->kept_count++] =
        (struct store_clock){.seq = approval->seq,
                             .step = approval->step,
                             .deadline_ns = approval->deadline_ns,
                             .left_ms = approval->left_ms,
                             .is_told = approval->is_told};
}

void sma_store_run_clock(struct sma_store *store, struct store_approval *approval, uint64_t now)
{
    if (approval->left_ms < 0 || approval->judged_count > 0 || approval->deadline_ns != 0 ||
        approval->is_broken || /* it is over in any case */
        store->config->approvals_expire_s <= 0)
        return;
    int64_t left_ms = approval->left_ms < LEFT_MS_MAX ? approval->left_ms : LEFT_MS_MAX;
    approval->deadline_ns = now + (uint64_t)left_ms * SMA_NS_PER_MS;
    sma_store_add_clock(store, approval);
}

void sma_store_stop_clock(struct sma_store *store, struct store_approval *approval, uint64_t now)
{
    if (approval->deadline_ns == 0)
        return;
    approval->left_ms =
        approval->deadline_ns > now ? (int64_t)((approval->deadline_ns - now) / SMA_NS_PER_MS) : 0;
    approval->deadline_ns = 0;
    sma_store_drop_clock(store, approval);
}

void sma_store_approval_judging(struct sma_store *store, struct store_approval *approval,
                                int change)
{
    approval->judged_count += (uint32_t)change;
    if (store->ctx == NULL)
        return; /* before the start all clocks stand */
    uint64_t now = sma_ctx_now(store->ctx);
    if (approval->judged_count > 0)
        sma_store_stop_clock(store, approval, now);
    else
        sma_store_run_clock(store, approval, now);
}

struct store_judgement *sma_store_find_judgement(struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->consent->judgement_count; i++)
        if (store->consent->judgements[i].seq == seq)
            return &store->consent->judgements[i];
    return NULL;
}

static struct store_approval *approval_of(const struct sma_store *store,
                                          const struct store_judgement *judgement)
{
    return sma_store_approval_by_id(store, sma_str(judgement->id));
}

void sma_store_drop_judgement(struct sma_store *store, uint64_t seq)
{
    struct store_judgement *judgement = sma_store_find_judgement(store, seq);
    if (judgement == NULL)
        return;
    struct store_approval *approval = approval_of(store, judgement);
    if (approval != NULL && approval->judged_count > 0)
        sma_store_approval_judging(store, approval, -1);
    *judgement = store->consent->judgements[--store->consent->judgement_count];
}
