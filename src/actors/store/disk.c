/* disk.c — how full the disk is, and what follows from it. See record.h. */
#include "record_priv.h"
#include "store.h"

bool sma_store_is_degraded(const struct sma_store *store)
{
    return store->record->disk_level > 0 || sma_store_is_history_stuck(store);
}

void sma_store_publish_disk(const struct sma_store *store)
{
    SMA_METRIC_SET(disk_degraded, sma_store_is_degraded(store));
}

static void set_disk_level(struct sma_store *store, int level)
{
    if (level == store->record->disk_level)
        return;
    static const char *const texts[] = {
        "there is enough disk again: messages are accepted",
        "the disk is nearly full: no new message is accepted until there is more room; open work "
        "continues",
        "the disk is full: nothing new is accepted and nothing is sent until there is more room",
    };
    store->record->disk_level = level;
    sma_store_publish_disk(store);
    sma_ctx_log(store->ctx, level == 0 ? SMA_LOG_INFO : SMA_LOG_ERROR, "%s (%llu MB free)",
                texts[level], (unsigned long long)(store->record->disk_free / 1000000));
    if (level > 0)
        sma_store_note_error(store, texts[level]);
}

void sma_store_check_disk(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    if (store->record->disk_checked_ns != 0 &&
        now - store->record->disk_checked_ns < STORE_DISK_PERIOD_NS &&
        store->record->disk_commits < STORE_DISK_COMMIT_COUNT)
        return;
    store->record->disk_checked_ns = now == 0 ? 1 : now;
    store->record->disk_commits = 0;
    if (!store->record->disk(store->record->disk_user, &store->record->disk_free))
        return;
    int level = 0;
    if (store->record->disk_free < SMA_DISK_RESERVE_BYTES)
        level = 2;
    else if (store->record->disk_free < 4ull * SMA_DISK_RESERVE_BYTES)
        level = 1;
    set_disk_level(store, level);
}

int sma_store_disk_level(const struct sma_store *store)
{
    return store->record->disk_level;
}

uint64_t sma_store_free_bytes(const struct sma_store *store)
{
    return store->record->disk_free;
}

void sma_store_look_at_disk(struct sma_store *store)
{
    store->record->disk_checked_ns = 0;
}

void sma_store_count_commit(struct sma_store *store)
{
    store->record->disk_commits++;
}

void sma_store_set_disk(struct sma_store *store, store_disk_fn *disk, void *user)
{
    store->record->disk = disk;
    store->record->disk_user = user;
}
