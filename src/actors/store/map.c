/* A small map of numbers. */
#include "map.h"

#include <stdlib.h>

static uint32_t map_slot(const struct store_map *map, uint64_t key)
{
    uint32_t slot = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->cap - 1);
    while (map->keys[slot] != 0 && map->keys[slot] != key)
        slot = (slot + 1) & (map->cap - 1);
    return slot;
}

static bool map_grow(struct store_map *map)
{
    struct store_map larger = {.cap = map->cap == 0 ? 64 : map->cap * 2};
    larger.keys = calloc(larger.cap, sizeof *larger.keys);
    larger.values = calloc(larger.cap, sizeof *larger.values);
    if (larger.keys == NULL || larger.values == NULL) {
        sma_store_map_fini(&larger);
        return false;
    }
    for (uint32_t i = 0; i < map->cap; i++) {
        if (map->keys[i] == 0)
            continue;
        uint32_t slot = map_slot(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.values[slot] = map->values[i];
    }
    larger.count = map->count;
    sma_store_map_fini(map);
    *map = larger;
    return true;
}

bool sma_store_map_put(struct store_map *map, uint64_t key, void *value)
{
    SMA_ASSERT(key != 0);
    if (map->count * 2 >= map->cap && !map_grow(map))
        return false;
    uint32_t slot = map_slot(map, key);
    if (map->keys[slot] == 0)
        map->count++;
    map->keys[slot] = key;
    map->values[slot] = value;
    return true;
}

void *sma_store_map_get(const struct store_map *map, uint64_t key)
{
    if (map->cap == 0 || key == 0)
        return NULL;
    uint32_t slot = map_slot(map, key);
    return map->keys[slot] == key ? map->values[slot] : NULL;
}

void sma_store_map_remove(struct store_map *map, uint64_t key)
{
    if (map->cap == 0 || key == 0)
        return;
    uint32_t slot = map_slot(map, key);
    if (map->keys[slot] != key)
        return;
    map->keys[slot] = 0;
    map->count--;
    /* Whatever stands behind the hole moves back to where a search would now look for it. */
    for (uint32_t i = (slot + 1) & (map->cap - 1); map->keys[i] != 0;
         i = (i + 1) & (map->cap - 1)) {
        uint64_t moved = map->keys[i];
        map->keys[i] = 0;
        uint32_t place = map_slot(map, moved);
        map->keys[place] = moved;
        if (place != i)
            map->values[place] = map->values[i];
    }
}

void sma_store_map_fini(struct store_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct store_map){0};
}
