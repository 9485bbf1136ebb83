/* json_arena.c — see json_arena.h. */
#include "runtime/json/json_arena.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define ARENA_BYTES 16384

static _Thread_local struct
{
    size_t used, piece_count; /* pieces in use: at none the block is empty again */
    bool is_active;
    max_align_t bytes[ARENA_BYTES / sizeof(max_align_t)];
} arena;

static void *arena_malloc(size_t bytes)
{
    size_t rounded = (bytes + 15u) & ~(size_t)15u;
    if (!arena.is_active || rounded < bytes || rounded > sizeof arena.bytes - arena.used)
        return malloc(bytes);
    void *place = (char *)arena.bytes + arena.used;
    arena.used += rounded;
    arena.piece_count++;
    return place;
}

static void arena_free(void *place)
{
    uintptr_t at = (uintptr_t)place, start = (uintptr_t)arena.bytes;
    if (at < start || at >= start + sizeof arena.bytes) {
        free(place);
        return;
    }
    SMA_ASSERT(arena.piece_count > 0);
    if (--arena.piece_count == 0)
        arena.used = 0;
}

void sma_json_arena_install(void)
{
    static atomic_flag is_installed = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_installed))
        json_set_alloc_funcs(arena_malloc, arena_free);
}

void sma_json_arena_begin(void)
{
    SMA_ASSERT(!arena.is_active);
    arena.is_active = true;
}

void sma_json_arena_end(void)
{
    arena.is_active = false;
}

enum sma_err sma_json_load_brief(struct sma_str text, bool keeps_nul, json_t **ret_root)
{
    sma_json_arena_begin();
    enum sma_err err = sma_json_load_tolerant(text, keeps_nul, ret_root);
    sma_json_arena_end();
    return err;
}
