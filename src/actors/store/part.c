/* The table of the parts, and who walks it. */
#include "part.h"
#include "store.h"

static const struct store_part *const parts[] = {
    &sma_store_batch_part,   &sma_store_record_part, &sma_store_people_part, &sma_store_outbox_part,
    &sma_store_consent_part, &sma_store_runs_part,   &sma_store_intake_part, &sma_store_query_part,
    &sma_store_budget_part,  &sma_store_memory_part, &sma_store_upkeep_part,
};

enum sma_err sma_store_create_parts(struct sma_store *store)
{
    for (uint32_t i = 0; i < SMA_COUNT_OF(parts); i++, store->part_count++) {
        SMA_TRY(parts[i]->create(store));
    }
    return SMA_ERR_OK;
}

void sma_store_end_parts(struct sma_store *store)
{
    while (store->part_count > 0)
        parts[--store->part_count]->fini(store);
}

static SMA_CHECKED enum sma_err load(struct sma_store *store, const struct store_part *part)
{
    return part->load != NULL ? part->load(store) : SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err expire(struct sma_store *store, const struct store_part *part)
{
    return part->expire != NULL ? part->expire(store) : SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err complete(struct sma_store *store, const struct store_part *part)
{
    return part->complete != NULL ? part->complete(store) : SMA_ERR_OK;
}

typedef enum sma_err visit_fn(struct sma_store *store, const struct store_part *part);

static SMA_CHECKED enum sma_err each(struct sma_store *store, visit_fn *visit)
{
    for (uint32_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        SMA_TRY(visit(store, parts[i]));
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_load_parts(struct sma_store *store)
{
    return each(store, load);
}

enum sma_err sma_store_expire_parts(struct sma_store *store)
{
    return each(store, expire);
}

enum sma_err sma_store_complete_parts(struct sma_store *store)
{
    return each(store, complete);
}

void sma_store_forget_parts(struct sma_store *store, const struct store_marks *to)
{
    for (uint32_t i = SMA_COUNT_OF(parts); i-- > 0;)
        if (parts[i]->forget != NULL)
            parts[i]->forget(store, to);
}

struct store_marks sma_store_marks(const struct sma_store *store)
{
    struct store_marks marks = {0};
    for (uint32_t i = 0; i < SMA_COUNT_OF(parts); i++)
        if (parts[i]->mark != NULL)
            parts[i]->mark(store, &marks);
    return marks;
}

void sma_store_settle_parts(struct sma_store *store)
{
    for (uint32_t i = 0; i < SMA_COUNT_OF(parts); i++)
        if (parts[i]->settle != NULL)
            parts[i]->settle(store);
}

void sma_store_follow_parts(struct sma_store *store)
{
    for (uint32_t i = 0; i < SMA_COUNT_OF(parts); i++)
        if (parts[i]->follow != NULL)
            parts[i]->follow(store);
}

uint64_t sma_store_wake_parts(const struct sma_store *store)
{
    uint64_t wake = UINT64_MAX;
    for (uint32_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        uint64_t at = parts[i]->wake != NULL ? parts[i]->wake(store) : UINT64_MAX;
        wake = at < wake ? at : wake;
    }
    return wake;
}
