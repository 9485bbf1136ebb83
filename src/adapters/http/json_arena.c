/*
 * json_arena.c — jansson makes some twenty small allocations for a request of three members. Between begin and end a
 * thread takes them from one block and forgets them all at once; everybody else, and what does not fit, uses malloc.
 * Which of the two a pointer came from is told by its address, so objects may outlive begin/end only if they were made
 * outside (the tree of a request is released in http_execute_fini, before end).
 */
#include "http_priv.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

#define ARENA_BYTES 16384

static _Thread_local struct
{
    size_t used;
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
    return place;
}

static void arena_free(void *place)
{
    uintptr_t at = (uintptr_t)place, start = (uintptr_t)arena.bytes;
    if (at < start || at >= start + sizeof arena.bytes)
        free(place);
}

static void install(void)
{
    json_set_alloc_funcs(arena_malloc, arena_free);
}

void http_json_arena_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install); /* cannot fail on an initialised control */
}

void http_json_arena_begin(void)
{
    SMA_ASSERT(!arena.is_active);
    arena.used = 0;
    arena.is_active = true;
}

void http_json_arena_end(void)
{
    arena.is_active = false;
}
