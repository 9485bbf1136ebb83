/*
 * key_shape.h — what a key, a token or an id of an app looks like: to see one that was entered in
 * the wrong place, and one that cannot be whole, before anything is done with it.
 *
 * Invariants: no sentence of this file repeats what was entered.
 * Threads: any; no state.
 */
#ifndef SMA_CLI_KEY_SHAPE_H
#define SMA_CLI_KEY_SHAPE_H

#include "sma/base.h"

/** Does it read as a key or a token, and not as the name of a model, a person or an address? Also
 *  of a part from the beginning on: "sk-". */
bool sma_key_looks_like_one(const char *text, size_t len);
/** What is wrong with the value of this variable, and where the right one is found; NULL: nothing
 *  that can be seen, or no shape is known. */
const char *sma_key_shape_fault(const char *variable, const char *value);

#endif
