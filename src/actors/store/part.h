/*
 * part.h — a part of the store and its life. Part of the spine; its thread.
 *
 * The parts stand in one table (part.c), in the order in which they are loaded. Each keeps what it
 * needs in memory of its own and makes it from the rows. There is one undo: forget and load again,
 * with the code of the start.
 */
#ifndef SMA_STORE_PART_H
#define SMA_STORE_PART_H

#include "sma/base.h"

struct sma_store;

/* How far the lists of the open transaction are filled. What stands behind it goes with what is
 * undone. */
struct store_marks
{
    uint32_t effects, finished; /* batch */
    uint32_t lines;             /* record */
    uint32_t ended;             /* runs */
    uint32_t busy;              /* intake */
    uint32_t deliveries;        /* outbox: what becomes of those that the dispatcher has */
    size_t audit;
};

/* Any of these may be NULL. load, expire, complete: an error undoes the transaction (at start: ends
 * it). */
struct store_part
{
    const char *name;
    /* Begins and ends everything; fini backwards, also after a start that failed. */
    enum sma_err (*create)(struct sma_store *store);
    void (*fini)(struct sma_store *store);
    /* What is open, from the rows, into memory that is empty: at start, and after forget. The chats
     * are there. */
    enum sma_err (*load)(struct sma_store *store);
    /* Something was undone, down to these marks (a whole transaction, or one item of it: item.h):
     * drop what the rows will say again. state.db is back already; of chats that it made nothing
     * but the record in memory is there. Backwards. What is no row is kept: what the agent and the
     * dispatcher hold or get with this transaction (sma_store_hands_out), and when somebody was
     * told something. */
    void (*forget)(struct sma_store *store, const struct store_marks *to);
    void (*mark)(const struct sma_store *store, struct store_marks *marks);
    /* With each batch: first everybody does what the clock demands, unless a transaction has just
     * failed; then everybody adds what belongs into the transaction but is decided last. Either may
     * open it. */
    enum sma_err (*expire)(struct sma_store *store);
    enum sma_err (*complete)(struct sma_store *store);
    void (*settle)(struct sma_store *store); /* committed; nobody has been told yet */
    void (*follow)(struct sma_store *store); /* after the answers of a batch, or its undoing */
    uint64_t (*wake)(const struct sma_store *store); /* when it wants to run; UINT64_MAX = not */
};

extern const struct store_part sma_store_batch_part, sma_store_record_part, sma_store_people_part,
    sma_store_outbox_part, sma_store_consent_part, sma_store_runs_part, sma_store_intake_part,
    sma_store_query_part, sma_store_budget_part, sma_store_memory_part, sma_store_upkeep_part;

/** NOMEM: those that were created are ended by sma_store_end_parts. */
SMA_CHECKED enum sma_err sma_store_create_parts(struct sma_store *store);
void sma_store_end_parts(struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_load_parts(struct sma_store *store);
void sma_store_forget_parts(struct sma_store *store, const struct store_marks *to);
struct store_marks sma_store_marks(const struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_expire_parts(struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_complete_parts(struct sma_store *store);
void sma_store_settle_parts(struct sma_store *store);
void sma_store_follow_parts(struct sma_store *store);
uint64_t sma_store_wake_parts(const struct sma_store *store);

#endif
