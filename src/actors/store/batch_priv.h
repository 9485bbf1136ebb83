/*
 * batch_priv.h — the open batch. For store.c, batch.c and those that log it. Thread: the store's.
 */
#ifndef SMA_STORE_BATCH_PRIV_H
#define SMA_STORE_BATCH_PRIV_H

#include "store.h"

#define STORE_LAZY_NS UINT64_C(2000000000) /* a receipt that rides is synced after it */
#define STORE_ERROR_COUNT 8                /* last errors shown by STATUS */

struct store_trouble_entry;
struct store_effect
{
    struct sma_msg *msg;
    uint64_t ask_id, read_ns;
    uint8_t to;
    bool is_answer;
};

struct store_batch
{
    struct store_marks begun; /* as the open transaction found the lists */
    uint64_t answered_count, failed_count;
    struct store_effect *effects;
    uint32_t effect_count, effect_cap;
    uint64_t *finished;
    uint32_t finished_count, finished_cap;
    bool has_step, has_done, has_receipt;
    bool is_urgent;                 /* something in it must be durable before its answers leave */
    uint32_t done_count, bad_count; /* runs answered by this batch; runs that failed */
    struct store_effect *deferred;  /* hand-offs whose lane was full, in order */
    uint32_t deferred_count, deferred_cap;
    uint64_t retry_ns; /* what waits is not tried before it; 0 = it may be */
    uint64_t lazy_ns;  /* the first commit since the last sync that was not synced; 0 = none */
    uint64_t sync_count, commit_count, lazy_commit_count; /* of state.db, as last seen */
    bool is_in_item;
    struct store_trouble_entry *troubles; /* newest first */
    uint32_t trouble_count;
    char errors[STORE_ERROR_COUNT][200];
    int64_t error_ms[STORE_ERROR_COUNT];
    uint32_t error_count;
};

/** Drop the answers behind the first so many effects: they were undone, and somebody else
 *  answers. */
void sma_store_drop_answers(struct sma_store *store, uint32_t kept_count);

#endif
