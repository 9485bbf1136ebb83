/* The part "upkeep", and its look at the WAL of state.db. */
#include "upkeep_priv.h"

#include <stdlib.h>

#define READER_PATIENCE_S 5 /* a reader that is gone by then is nobody's business */

/* A trouble of checkpoints is told when it lasts, once a minute at most. */
static void tell(struct sma_store *store, uint64_t now)
{
    struct sma_state_wal_trouble trouble;
    if (now < store->upkeep->wal_told_ns || !sma_state_wal_trouble(store->state, &trouble))
        return;
    unsigned long long kilobytes = trouble.wal_bytes / 1000, seconds = trouble.lasting_ms / 1000;
    char text[256];
    if (trouble.error.code != SMA_ERR_OK)
        snprintf(text, sizeof text,
                 "state.db: copying the WAL fails for %llu s: %.100s; nothing is lost, the WAL has "
                 "%llu kB and grows; look at the disk",
                 seconds, trouble.error.text, kilobytes);
    else if (seconds >= READER_PATIENCE_S)
        snprintf(text, sizeof text,
                 "state.db: %s holds an open read transaction for %llu s; the WAL has %llu kB and "
                 "grows until it ends",
                 trouble.reader, seconds, kilobytes);
    else
        return;
    store->upkeep->wal_told_ns = now + 60 * SMA_NS_PER_S;
    sma_ctx_log(store->ctx, SMA_LOG_WARN, "%s", text);
    sma_store_note_error(store, text);
}

void sma_store_tend_wal(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    bool is_trouble = sma_state_wal_tend(store->state);
    store->upkeep->wal_ns = is_trouble ? now + SMA_NS_PER_S : 0;
    if (is_trouble)
        tell(store, now);
}

/* -- claims ------------------------------------------------------------------------------------ */
void sma_store_tend_claims(struct sma_store *store)
{
    uint64_t early = sma_state_expired_early(store->state), now = sma_ctx_now(store->ctx);
    if (early == store->upkeep->early_told || now < store->upkeep->early_told_ns)
        return;
    sma_ctx_log(store->ctx, SMA_LOG_WARN,
                "too many message ids came within %d hours: %llu older ones were forgotten early; "
                "a message that comes again after that is answered again",
                SMA_CLAIM_AGE_MIN_H, (unsigned long long)(early - store->upkeep->early_told));
    store->upkeep->early_told = early;
    store->upkeep->early_told_ns = now + 3600 * SMA_NS_PER_S;
}

/* -- the part ---------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->upkeep = calloc(1, sizeof *store->upkeep);
    return store->upkeep == NULL ? SMA_ERR_NOMEM : sma_store_contacts_create(store);
}

static uint64_t wake(const struct sma_store *store)
{
    uint64_t keep = sma_store_keep_wake(store), wal = store->upkeep->wal_ns;
    uint64_t contacts = sma_store_contacts_wake(store);
    keep = contacts < keep ? contacts : keep;
    return wal != 0 && wal < keep ? wal : keep;
}

static void fini(struct sma_store *store)
{
    sma_store_end_keep(store);
    if (store->upkeep != NULL)
        sma_store_contacts_fini(store);
    free(store->upkeep);
    store->upkeep = NULL;
}

const struct store_part sma_store_upkeep_part = {
    .name = "upkeep", .create = create, .wake = wake, .fini = fini};
