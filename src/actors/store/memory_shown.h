/*
 * memory_shown.h — what stood behind the numbers of the last /memory: of each chat and person, so
 * that "/forget 2" means what was seen, whatever was written since. In memory alone: after a start
 * the list must be shown again. Thread: the store's.
 */
#ifndef SMA_STORE_MEMORY_SHOWN_H
#define SMA_STORE_MEMORY_SHOWN_H

#include "sma/base.h"
#include "sma/limits.h"
#include "sma/text.h"

struct store_memory_shown
{
    uint64_t who; /* hash of chat and person; 0 = free */
    uint32_t first, count;
    struct
    {
        uint64_t id;
        bool is_proposal, is_project;
    } facts[SMA_MEMORY_PAGE_COUNT];
};
struct store_memory_lists;

/** Whose list it is. */
uint64_t sma_store_memory_who(struct sma_str chat_key, struct sma_str person);
/** Replaces the one there was. Out of memory: none is kept. */
void sma_store_memory_keep(struct store_memory_lists **lists,
                           const struct store_memory_shown *shown);
/** NULL: none. */
const struct store_memory_shown *sma_store_memory_kept(const struct store_memory_lists *lists,
                                                       uint64_t who);

#endif
