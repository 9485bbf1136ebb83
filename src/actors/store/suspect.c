/*
 * Suspects: runs that were begun before an unclean exit, any of which may be what ended the
 * program.
 *
 * They resume one at a time, each attempt written down before it is made; in the queue they are
 * held until their turn. The first one runs alone until it has made a step. One that takes long (a
 * slow model) must not stop everybody: after a while the others may start beside it, and the next
 * suspect has its turn.
 */
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#define QUARANTINE_NS (STORE_QUARANTINE_S * UINT64_C(1000000000))

void sma_store_add_suspect(struct sma_store *store, uint64_t seq)
{
    if (store->runs->suspect_count < STORE_SUSPECT_COUNT_MAX)
        store->runs->suspects[store->runs->suspect_count++] = (struct store_suspect){.seq = seq};
}

struct store_suspect *sma_store_find_suspect(const struct sma_store *store, uint64_t seq)
{
    for (uint32_t i = 0; i < store->runs->suspect_count; i++)
        if (store->runs->suspects[i].seq == seq)
            return &store->runs->suspects[i];
    return NULL;
}

void sma_store_forget_suspect(struct sma_store *store, uint64_t seq)
{
    struct store_suspect *suspect = sma_store_find_suspect(store, seq);
    if (suspect != NULL)
        suspect->is_over = true;
}

void sma_store_settle_suspects(struct sma_store *store)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < store->runs->suspect_count; i++)
        if (!store->runs->suspects[i].is_over)
            store->runs->suspects[kept++] = store->runs->suspects[i];
    store->runs->suspect_count = kept;
}

/* Runs that have to prove themselves now, and when the last one of them has had its time. */
static bool is_one_open(const struct sma_store *store, uint64_t *ret_until_ns)
{
    bool is_any = false;
    *ret_until_ns = 0;
    for (uint32_t i = 0; i < store->runs->open_count && store->runs->suspect_count > 0; i++) {
        const struct store_run *run = store->runs->entries[i];
        if (!run->is_suspect)
            continue;
        is_any = true;
        if (run->started_ns + QUARANTINE_NS > *ret_until_ns)
            *ret_until_ns = run->started_ns + QUARANTINE_NS;
    }
    return is_any;
}

bool sma_store_is_quarantined(const struct sma_store *store)
{
    uint64_t until_ns;
    return is_one_open(store, &until_ns) && sma_ctx_now(store->ctx) < store->runs->quarantine_ns;
}

void sma_store_let_suspect_go(struct sma_store *store)
{
    uint64_t until_ns, now = sma_ctx_now(store->ctx);
    if (store->runs->suspect_count == 0 || (is_one_open(store, &until_ns) && now < until_ns))
        return;
    for (uint32_t i = 0; i < store->runs->suspect_count; i++) {
        struct store_suspect *suspect = &store->runs->suspects[i];
        if (suspect->is_over || sma_store_run_find(store, suspect->seq) != NULL)
            continue;
        struct sma_state_head head;
        bool is_known = !suspect->is_let_go &&
                        sma_state_head_get(store->state, suspect->seq, &head) == SMA_ERR_OK;
        suspect->is_let_go = true;
        if (is_known)
            sma_queue_set_held(store->queue, sma_state_chat_by_id(store->state, head.chat_id)->id,
                               suspect->seq, false);
        return; /* it has its turn, or waits for its chat or a slot */
    }
}

uint64_t sma_store_suspects_wake(const struct sma_store *store)
{
    uint64_t until_ns;
    if (store->is_draining || !is_one_open(store, &until_ns))
        return UINT64_MAX;
    uint64_t now = sma_ctx_now(store->ctx), all_ns = store->runs->quarantine_ns;
    uint64_t wake = until_ns > now ? until_ns : UINT64_MAX;
    return all_ns > now && all_ns < wake ? all_ns : wake;
}
