/*
 * map.h — uint64 -> pointer, open addressing. Key 0 is not allowed.
 */
#ifndef SMA_STORE_MAP_H
#define SMA_STORE_MAP_H

#include "sma/base.h"

struct store_map
{
    uint64_t *keys;
    void **values;
    uint32_t count, cap;
};
SMA_CHECKED bool sma_store_map_put(struct store_map *map, uint64_t key, void *value);
void *sma_store_map_get(const struct store_map *map, uint64_t key);
void sma_store_map_remove(struct store_map *map, uint64_t key);
void sma_store_map_fini(struct store_map *map);

#endif
