/*
 * How long requests wait. A request's clock starts when its card was delivered (or will not be),
 * stands while the service is down or somebody's words are judged, and is written down when it
 * starts and at an orderly end: after a crash it has a little more left. The clocks that run are a
 * heap: a batch looks at those that have run out and at no other.
 */
#include "consent_priv.h"
#include "record.h"
#include "store.h"

/* -- the heap ---------------------------------------------------------------------------------- */

/* -- one clock --------------------------------------------------------------------------------- */

enum sma_err sma_store_approval_start_clock(struct sma_store *store,
                                            struct store_approval *approval)
{
    if (approval->left_ms >= 0 || store->config->approvals_expire_s <= 0)
        return SMA_ERR_OK;
    approval->left_ms = store->config->approvals_expire_s * 1000;
    sma_store_run_clock(store, approval, sma_ctx_now(store->ctx));
    return sma_state_approval_set_left(store->state, sma_str(approval->id), approval->left_ms);
}

enum sma_err sma_store_approval_delivered(struct sma_store *store, uint64_t outbox_id)
{
    struct store_approval *approval =
        sma_store_approval_of_run(store, sma_state_outbox_seq(outbox_id));
    if (approval == NULL || approval->step != sma_state_outbox_step(outbox_id))
        return SMA_ERR_OK;
    return sma_store_approval_start_clock(store, approval);
}

enum sma_err sma_store_save_clocks(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next) {
        sma_store_stop_clock(store, at, now);
        if (at->left_ms < 0)
            continue;
        enum sma_err err = sma_store_begin(store);
        if (err == SMA_ERR_OK)
            err = sma_state_approval_set_left(store->state, sma_str(at->id), at->left_ms);
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

/* -- the end of their time --------------------------------------------------------------------- */
static enum sma_err expire(struct sma_store *store, void *ctx)
{
    struct store_approval *approval = sma_store_approval_of_run(store, *(const uint64_t *)ctx);
    struct store_case it;
    enum sma_err err = sma_store_case_open(store, approval, &it);
    if (approval->is_broken)
        return sma_store_abandon(store, approval);
    if (err != SMA_ERR_OK)
        return err;
    for (uint32_t i = 0; i < it.request.item_count; i++)
        if (it.items[i].outcome == SMA_REQUEST_OPEN)
            it.items[i] = (struct store_case_item){.outcome = SMA_REQUEST_EXPIRED,
                                                   .via = SMA_STR("clock"),
                                                   .response = SMA_STR("expired"),
                                                   .at_ms = sma_ctx_wall(store->ctx)};
    err = sma_store_case_close(store, &it, SMA_STATE_APPROVAL_EXPIRED, SMA_STR(""));
    sma_store_case_fini(&it);
    return err;
}

/* Whose time is over, or that cannot be used. */
static struct store_approval *next_over(const struct sma_store *store, uint64_t now)
{
    const struct store_consent *consent = store->consent;
    struct store_approval *broken = consent->broken;
    while (broken != NULL && broken->is_stuck)
        broken = broken->broken_next;
    if (broken != NULL)
        return broken;
    return consent->clock_count > 0 && consent->clocks[0]->deadline_ns <= now ? consent->clocks[0]
                                                                              : NULL;
}

/* After the rows were read, and when a reload said that requests expire, or never do. */
static void look_at_all(struct sma_store *store, uint64_t now)
{
    struct store_consent *consent = store->consent;
    if (!consent->are_clocks_new && consent->expire_s == store->config->approvals_expire_s)
        return;
    consent->are_clocks_new = false;
    consent->expire_s = store->config->approvals_expire_s;
    for (struct store_approval *at = consent->first; at != NULL; at = at->next) {
        if (consent->expire_s <= 0)
            sma_store_stop_clock(store, at, now);
        sma_store_run_clock(store, at, now);
    }
}

enum sma_err sma_store_expire_approvals(struct sma_store *store)
{
    if (store->is_draining || sma_store_disk_level(store) >= 2)
        return SMA_ERR_OK;
    uint64_t now = sma_ctx_now(store->ctx);
    look_at_all(store, now);
    for (struct store_approval *at; (at = next_over(store, now)) != NULL;) {
        uint64_t seq = at->seq;
        bool is_damaged;
        SMA_TRY(sma_store_on_request(store, at, expire, &seq, &is_damaged));
        look_at_all(store, now); /* damage: all were read again */
    }
    return SMA_ERR_OK;
}

uint64_t sma_store_clock_wake(const struct sma_store *store)
{
    const struct store_consent *consent = store->consent;
    if (!sma_store_may_write(store) || consent->count == 0)
        return UINT64_MAX;
    if (consent->are_clocks_new || next_over(store, sma_ctx_now(store->ctx)) != NULL)
        return 0;
    return consent->clock_count > 0 ? consent->clocks[0]->deadline_ns : UINT64_MAX;
}

/* -- reading the rows again -------------------------------------------------------------------- */

/* What is over in the open transaction stays kept: that may be undone yet. */
void sma_store_take_clocks(struct sma_store *store)
{
    struct store_consent *consent = store->consent;
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < consent->kept_count; i++) {
        const struct store_clock kept = consent->kept[i];
        struct store_approval *approval = sma_store_approval_of_run(store, kept.seq);
        if (approval == NULL || approval->step != kept.step) {
            consent->kept[kept_count++] = kept;
            continue;
        }
        approval->is_told = kept.is_told;
        if (approval->left_ms < 0 || kept.left_ms < 0)
            continue; /* what started it is undone */
        approval->left_ms = kept.left_ms;
        approval->deadline_ns = kept.deadline_ns;
        if (kept.deadline_ns != 0 && !approval->is_broken)
            sma_store_add_clock(store, approval);
    }
    consent->kept_count = kept_count;
    consent->are_clocks_new = true;
}

void sma_store_drop_kept_clocks(struct sma_store *store)
{
    store->consent->kept_count = 0;
}
