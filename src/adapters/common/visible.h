/*
 * visible.h — what people see of a JSON tree whose shape nobody has written down: cards, votes,
 * tasks, calendars and whatever comes next.
 *
 * Walked in document order by a stack, so that depth costs nothing; ids, keys, colours and other
 * members that nobody sees are left out by name. Of translations the first is taken.
 * Threads: any; no state. Limits: SMA_VISIBLE_NODE_COUNT_MAX members.
 */
#ifndef SMA_ADAPTERS_COMMON_VISIBLE_H
#define SMA_ADAPTERS_COMMON_VISIBLE_H

#include "sma/base.h"

#define SMA_VISIBLE_NODE_COUNT_MAX 4000

struct json_t;
/** One text. key: its member's name; "tag" and "type" come too, for parts that have no words.
 *  parent: the object that holds it. */
typedef void sma_visible_fn(void *user, const char *key, const struct json_t *parent,
                            struct sma_str text);
/** @return false: there was more than the limit, or no memory */
bool sma_visible_walk(const struct json_t *tree, sma_visible_fn *each, void *user);

#endif
