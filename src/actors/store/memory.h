/*
 * memory.h — what is remembered of people, as the store's part: facts for RUN, and the questions of
 * the tools memory_search and memory_upsert. Files and index: runtime/memory. Thread: the store's.
 *
 * A scope is made here alone, of the route of a message that was accepted: its author, and the
 * group it was written in. Files are written while the question is answered, not with the batch: a
 * fact is durable when its tool says so, and the same fact twice is one.
 */
#ifndef SMA_STORE_MEMORY_H
#define SMA_STORE_MEMORY_H

#include "store.h"

/** What fits the message, into the order; its texts live until the next recall. Trouble is logged
 *  and recalls nothing: an answer is not delayed by it. Nothing while there is nothing. */
void sma_store_recall(struct sma_store *store, struct sma_run_order *order);
/** MEMORY */
void sma_store_memory(struct sma_store *store, struct sma_msg **msg);
/** The configuration is another one. */
void sma_store_set_memory(struct sma_store *store);

#endif
