/* memory_shown.c — see memory_shown.h. */
#include "memory_shown.h"

#include "sma/text.h"

#include <stdlib.h>

struct store_memory_lists
{
    struct store_memory_shown list[SMA_MEMORY_SHOWN_COUNT_MAX];
    uint32_t next; /* the oldest */
};

uint64_t sma_store_memory_who(struct sma_str chat_key, struct sma_str person)
{
    static const uint8_t key[16] = "lists of memory.";
    uint64_t parts[2] = {sma_siphash(key, chat_key.len == 0 ? "" : chat_key.ptr, chat_key.len),
                         sma_siphash(key, person.len == 0 ? "" : person.ptr, person.len)};
    return sma_siphash(key, parts, sizeof parts) | 1;
}

void sma_store_memory_keep(struct store_memory_lists **lists,
                           const struct store_memory_shown *shown)
{
    if (*lists == NULL)
        *lists = calloc(1, sizeof **lists);
    if (*lists == NULL)
        return;
    uint32_t place = (*lists)->next;
    for (uint32_t i = 0; i < SMA_MEMORY_SHOWN_COUNT_MAX; i++)
        if ((*lists)->list[i].who == shown->who)
            place = i;
    (*lists)->list[place] = *shown;
    if (place == (*lists)->next)
        (*lists)->next = (place + 1) % SMA_MEMORY_SHOWN_COUNT_MAX;
}

const struct store_memory_shown *sma_store_memory_kept(const struct store_memory_lists *lists,
                                                       uint64_t who)
{
    for (uint32_t i = 0; lists != NULL && i < SMA_MEMORY_SHOWN_COUNT_MAX; i++)
        if (lists->list[i].who == who)
            return &lists->list[i];
    return NULL;
}
