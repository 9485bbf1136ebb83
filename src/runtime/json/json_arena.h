/*
 * json_arena.h — jansson without malloc for trees that live for one event.
 *
 * jansson makes some twenty small allocations for an object of three members. Trees read here come
 * from one block of the thread, which is empty again when the last of its pieces is freed; what
 * does not fit, and everybody else, uses malloc. Which of the two a pointer came from is told by
 * its address, so every tree is released with json_decref as usual.
 *
 * Threads: one block each. A tree is released by the thread that loaded it.
 */
#ifndef SMA_RUNTIME_JSON_ARENA_H
#define SMA_RUNTIME_JSON_ARENA_H

#include "runtime/json/json_read.h"

/** Route jansson's allocations of the whole process through here; before threads start. Without it
 *  all is malloc. */
void sma_json_arena_install(void);
/** As sma_json_load_tolerant, from the block while there is room: an event of a platform. */
SMA_CHECKED enum sma_err sma_json_load_brief(struct sma_str text, bool keeps_nul,
                                             json_t **ret_root);
/** For a parser of one's own: what this thread allocates with jansson between the two comes from
 *  the block. */
void sma_json_arena_begin(void);
void sma_json_arena_end(void);

#endif
