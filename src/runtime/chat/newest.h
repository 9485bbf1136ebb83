/*
 * newest.h — the newest so many of many message ids, for an import that may meet any number of them
 * in any order.
 *
 * Limits:  count_max ids and SMA_NEWEST_BYTES_MAX bytes of them are kept; half as much again is
 * held while it is filled.
 * Threads: the owner only.
 */
#ifndef SMA_CHAT_NEWEST_H
#define SMA_CHAT_NEWEST_H

#include "sma/base.h"

#define SMA_NEWEST_BYTES_MAX (64 * 1024 * 1024)

struct sma_newest;
struct sma_newest_item
{
    int64_t wall_ms;
    uint32_t chat;
    struct sma_str id;
};

SMA_CHECKED enum sma_err sma_newest_create(size_t count_max, struct sma_newest **ret_newest);
void sma_newest_destroy(struct sma_newest *newest); /* accepts NULL */
/** Copies *item, unless it is older than all that fit. OK | NOMEM. */
SMA_CHECKED enum sma_err sma_newest_add(struct sma_newest *newest,
                                        const struct sma_newest_item *item);
/** No more are added: put them in order, oldest first. @return how many are left */
size_t sma_newest_sort(struct sma_newest *newest);
/** Number `at` of the sorted ones; its id lives as long as *newest. */
struct sma_newest_item sma_newest_get(const struct sma_newest *newest, size_t at);
/** How many were left out because too many newer ones came. */
uint64_t sma_newest_dropped(const struct sma_newest *newest);
uint64_t sma_newest_bytes(const struct sma_newest *newest); /* memory it holds */

#endif
