/*
 * store.h — the spine of the store actor: what all its parts see.
 * Story and guarantees: docs/notes/store-actor.md. Thread: the store's, after sma_store_create.
 */
#ifndef SMA_STORE_STORE_H
#define SMA_STORE_STORE_H

#include "batch.h"
#include "chat.h"
#include "part.h"

#include "runtime/chat/history.h"
#include "runtime/chat/queue.h"
#include "runtime/chat/state.h"
#include "sma/actors.h"
#include "sma/messages.h"
#include "sma/metrics.h"
#include "sma/notices.h"
#include "sma/text.h"

#include <stdio.h>

struct store_adapter
{
    const struct sma_adapter *adapter;
    unsigned label; /* of its platform in labels.h */
};

#define STORE_NOTICE_STEP 0u /* outbox keys of the store's own notices: no run has a step 0 */

/* Each private to its part: batch_priv.h, runs_priv.h ... */
struct store_batch;
struct store_runs;
struct store_outbox;
struct store_intake;
struct store_people;
struct store_consent;
struct store_record;
struct store_query;
struct store_upkeep;
struct store_budget;
struct store_memory;

/* Records of chats in which something goes on: chat.h. */
struct store_chats
{
    struct store_chat *first;
    uint32_t count, sweep_at;
};
/* Bytes of the moment, kept for their memory. */
struct store_scratch
{
    struct sma_buf line, meta, facts, parts, text, load, model;
};

struct sma_store
{
    uint32_t magic;
    const struct sma_config *config;
    const struct sma_sys *sys;
    struct sma_ctx *ctx; /* set by start(): the store acts in one place only */
    struct store_adapter adapters[SMA_ADAPTER_COUNT_MAX];
    uint32_t adapter_count;
    struct sma_state *state;
    struct sma_history *history;
    struct sma_queue *queue;
    bool is_draining, is_drained;
    bool has_failed_start,
        has_worked; /* the service did not come up; a message was handled or a run begun */
    uint64_t start_ns;

    struct store_chats chats;
    uint8_t hash_key[16];

    struct store_scratch scratch;
    struct sma_buf boot_log; /* lines noted before start() */

    uint32_t part_count; /* parts that were created */
    struct store_batch *batch;
    struct store_runs *runs;
    struct store_outbox *outbox;
    struct store_intake *intake;
    struct store_people *people;
    struct store_consent *consent;
    struct store_record *record;
    struct store_query *query;
    struct store_upkeep *upkeep;
    struct store_budget *budget;
    struct store_memory *memory;
};

#endif
