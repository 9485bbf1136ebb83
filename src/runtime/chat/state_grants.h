/*
 * state_grants.h — permissions that last, one row each: read when they are asked for, never kept in
 * memory.
 *
 * Invariants: a chat and its former names have at most SMA_GRANT_COUNT_MAX together (grant_add
 *             makes the room); an id names one. Every read is a search in an index, whatever the
 *             number of all of them.
 * Threads:    as state.h. Changes need a transaction and are undone with it; readers see it.
 * Errors:     CORRUPT without sma_state_is_fatal: what was asked for cannot be read; everything
 * else can.
 */
#ifndef SMA_CHAT_STATE_GRANTS_H
#define SMA_CHAT_STATE_GRANTS_H

#include "runtime/chat/state_read.h"

#define SMA_STATE_GRANT_ID_BYTES_MAX 64

struct sma_state_grant
{
    uint64_t seq;      /* its place in the order in which they were given; set by the database */
    struct sma_str id; /* hex digits */
    const struct sma_state_chat *chat; /* it was given in; NULL when read: that chat is not there */
    int64_t created_ms, until_ms;      /* wall clock; until 0 = for good */
    struct sma_str tool, rule, by;     /* opaque */
    bool is_damaged;                   /* when read: it permits nothing */
};
struct sma_state_grants
{
    struct sma_state_grant *items;
    size_t count;
};

/** Add one. The same tool and rule given before goes, and at the bound the oldest of the chat.
 *  EXISTS | BADINPUT */
SMA_CHECKED enum sma_err sma_state_grant_add(struct sma_state *state,
                                             const struct sma_state_grant *grant);
/** Remove one. NOTFOUND. */
SMA_CHECKED enum sma_err sma_state_grant_remove(struct sma_state *state, struct sma_str id);
/** Those of a chat, its former names included, oldest first; some may have ended. */
SMA_CHECKED enum sma_err sma_state_grants_read(struct sma_state *state,
                                               const struct sma_state_chat *chat,
                                               struct sma_state_rows *rows,
                                               struct sma_state_grants *ret_grants);
/** At most two whose id begins so: two tell that the beginning says too little. */
SMA_CHECKED enum sma_err sma_state_grants_find(struct sma_state *state, struct sma_str beginning,
                                               struct sma_state_rows *rows,
                                               struct sma_state_grants *ret_grants);
/** At most count_max with seq > after, oldest first: a slice of all of them, which begins with
 *  0. */
SMA_CHECKED enum sma_err sma_state_grants_next(struct sma_state *state, uint64_t after,
                                               uint32_t count_max, struct sma_state_rows *rows,
                                               struct sma_state_grants *ret_grants);
/** Remove at most count_max that had ended by then, the longest ended first. */
SMA_CHECKED enum sma_err sma_state_grants_forget(struct sma_state *state, int64_t before_ms,
                                                 uint32_t count_max, uint32_t *ret_removed);

#endif
