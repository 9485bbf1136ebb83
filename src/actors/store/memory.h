/*
 * memory.h — the store's side of what is remembered: whether a run should ask the memory, and the
 * commands of people (memory_command.c). Recall, the tools and the index: actors/memory.
 * Thread: the store's.
 */
#ifndef SMA_STORE_MEMORY_H
#define SMA_STORE_MEMORY_H

#include "memory_shown.h"
#include "store.h"

/** May there be something to recall for this order? Looks at a folder once in SMA_MEMORY_LOOK_S,
 *  opens nothing. */
bool sma_store_has_memory(struct sma_store *store, const struct sma_run_order *order);
/** The numbers of the last /memory. */
struct store_memory_lists **sma_store_memory_lists(struct sma_store *store);
/** People have deleted something: what is left of it is to go, too. */
void sma_store_tell_forgotten(struct sma_store *store, uint32_t count);

#endif
