/*
 * state_budget.h — what the state database keeps about budgets: what was spent, by day, and what
 * open messages hold.
 *
 * Invariants: a row of spent is the sum of what the steps and ends of one day have used, written
 *             by their transactions; a share exists only for an open message. Without budgets both
 *             tables stay empty and nobody looks at them.
 * Threads:    as state.h. Changes need a transaction and are undone with it.
 * Limits:     spent: SMA_SPENT_DAYS days; shares: one an open message.
 */
#ifndef SMA_CHAT_STATE_BUDGET_H
#define SMA_CHAT_STATE_BUDGET_H

#include "runtime/chat/state.h"

#define SMA_SPENT_DAYS 62 /* a month is summed up from its days */

struct sma_state_spent
{
    uint64_t tokens, cost_nano, runs;
};

/* -- spent ------------------------------------------------------------------------------------- */
/* @scope: the store's (sma_budget_scope, and marks of what was told); @name: whose, within it. */
SMA_CHECKED enum sma_err sma_state_spent_add(struct sma_state *state, unsigned scope,
                                             struct sma_str name, int64_t day,
                                             const struct sma_state_spent *more);
/** Replace the row. */
SMA_CHECKED enum sma_err sma_state_spent_set(struct sma_state *state, unsigned scope,
                                             struct sma_str name, int64_t day,
                                             const struct sma_state_spent *value);
/** The sum of these days, both included; zeros when there is nothing. */
SMA_CHECKED enum sma_err sma_state_spent_sum(struct sma_state *state, unsigned scope,
                                             struct sma_str name, const int64_t days[2],
                                             struct sma_state_spent *ret_sum);
/** Everything anew, from the sums of usage of this day and later ones. They do not tell runs. */
SMA_CHECKED enum sma_err sma_state_spent_fill(struct sma_state *state, int64_t from_day);
/** Remove days before this one, at most rows_max. */
SMA_CHECKED enum sma_err sma_state_keep_spent(struct sma_state *state, int64_t before_day,
                                              uint32_t rows_max, uint32_t *ret_removed);

/* -- shares ------------------------------------------------------------------------------------ */
struct sma_state_share
{
    uint64_t seq; /* of the message */
    uint32_t chat_id;
    struct sma_str person, platform;
    struct sma_state_spent held;
};
/** Add, or replace the one of this message. */
SMA_CHECKED enum sma_err sma_state_share_set(struct sma_state *state,
                                             const struct sma_state_share *share);
/** Remove it; nothing happens when there is none. */
SMA_CHECKED enum sma_err sma_state_share_remove(struct sma_state *state, uint64_t seq);
/** Remove those whose message is not open. */
SMA_CHECKED enum sma_err sma_state_shares_sweep(struct sma_state *state);
typedef enum sma_err sma_state_share_fn(void *user, const struct sma_state_share *share);
/** In order of their messages. */
SMA_CHECKED enum sma_err sma_state_each_share(struct sma_state *state, sma_state_share_fn *each,
                                              void *user);

#endif
