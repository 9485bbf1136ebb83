/*
 * state_model.h — what the state database keeps about models: runs that wait for one, members of
 * requests that targets refuse, and what was used.
 *
 * Invariants: a wait exists only for an open run in state PARKED; what is learned is bounded by
 *             SMA_LEARNED_TARGET_COUNT_MAX x SMA_LEARNED_MEMBER_COUNT_MAX; a day has at most
 *             SMA_USAGE_DAY_ROW_COUNT_MAX + 1 rows of usage, the last one for everything that found
 *             no room.
 * Threads:    as state.h. Changes need a transaction and are undone with it.
 * Limits:     SMA_LEARNED_*, SMA_USAGE_* (limits.h).
 */
#ifndef SMA_CHAT_STATE_MODEL_H
#define SMA_CHAT_STATE_MODEL_H

#include "runtime/chat/state.h"

struct sma_usage;

/* -- waiting runs ------------------------------------------------------------------------------ */

struct sma_state_wait
{
    uint64_t run_seq;
    int64_t due_ms; /* wall clock */
    /* how long it was when it began: a clock that was set back makes it no longer */
    int64_t length_ms;
};
/** Add, or replace the one of this run. */
SMA_CHECKED enum sma_err sma_state_wait_set(struct sma_state *state,
                                            const struct sma_state_wait *wait);
/** Remove it; nothing happens when there is none. */
SMA_CHECKED enum sma_err sma_state_wait_remove(struct sma_state *state, uint64_t run_seq);
/** Remove those whose run is not parked any more: of a database that something else has changed. */
SMA_CHECKED enum sma_err sma_state_waits_sweep(struct sma_state *state);
typedef enum sma_err sma_state_wait_fn(void *user, const struct sma_state_wait *wait);
/** In order of their runs. */
SMA_CHECKED enum sma_err sma_state_each_wait(struct sma_state *state, sma_state_wait_fn *each,
                                             void *user);

/* -- what targets refuse ----------------------------------------------------------------------- */

/** Remember a fact, or that it was seen again. Where there is no room the longest unseen goes.
 *  BADINPUT: empty or longer than SMA_LEARNED_BYTES_MAX. */
SMA_CHECKED enum sma_err sma_state_learn(struct sma_state *state, struct sma_str target,
                                         struct sma_str member, int64_t now_ms);
/** Remove what was not seen for SMA_LEARNED_DAYS, and what is from the future: providers change. */
SMA_CHECKED enum sma_err sma_state_learned_forget(struct sma_state *state, int64_t now_ms);
/** What still counts, in order of target and member: key is the target. */
SMA_CHECKED enum sma_err sma_state_each_learned(struct sma_state *state, int64_t now_ms,
                                                sma_state_pair_fn *each, void *user);

/* -- usage ------------------------------------------------------------------------------------- */

/* Whose it is. */
struct sma_state_usage_key
{
    int64_t day; /* since 1970, by the local time of the process (before schema 7: UTC) */
    uint32_t chat_id;
    struct sma_str person, platform, target;
};
/** Add to the sums of a day. With the first one of a day older ones than SMA_USAGE_DAYS go. */
SMA_CHECKED enum sma_err sma_state_usage_add(struct sma_state *state,
                                             const struct sma_state_usage_key *key,
                                             const struct sma_usage *usage);
enum sma_state_usage_by
{
    SMA_STATE_USAGE_BY_DAY, /* newest first; the others: dearest first, then most tokens */
    SMA_STATE_USAGE_BY_CHAT,
    SMA_STATE_USAGE_BY_PERSON,
    SMA_STATE_USAGE_BY_PLATFORM,
    SMA_STATE_USAGE_BY_TARGET,
    SMA_STATE_USAGE_TOTAL, /* one row, or none */
    SMA_STATE_USAGE_BY_COUNT
};
struct sma_state_usage_query
{
    enum sma_state_usage_by by;
    int64_t from_day;
    uint32_t chat_id; /* only of this chat, former keys included; 0 = of all */
    uint32_t row_max;
};
/** @key: number of BY_DAY, id of BY_CHAT (0: what found no room); @name: of the others. */
typedef enum sma_err sma_state_usage_fn(void *user, int64_t key, struct sma_str name,
                                        const struct sma_usage *usage);
SMA_CHECKED enum sma_err sma_state_each_usage(struct sma_state *state,
                                              const struct sma_state_usage_query *query,
                                              sma_state_usage_fn *each, void *user);
/** The rows of one day, SMA_USAGE_DAY_ROW_COUNT_MAX + 1 at most: for who sums up many days in
 *  slices. */
typedef enum sma_err sma_state_usage_row_fn(void *user, const struct sma_state_usage_key *key,
                                            const struct sma_usage *usage);
SMA_CHECKED enum sma_err sma_state_usage_of_day(struct sma_state *state, int64_t day,
                                                uint32_t chat_id, sma_state_usage_row_fn *each,
                                                void *user);

/** Of one person ("telegram:1001") since this day. */
SMA_CHECKED enum sma_err sma_state_usage_of_person(struct sma_state *state, int64_t from_day,
                                                   struct sma_str person,
                                                   struct sma_usage *ret_usage);

/* -- usage of one run -------------------------------------------------------------------------- */

/** What the stored steps of an open run have used, added to *sum. */
SMA_CHECKED enum sma_err sma_state_steps_usage(struct sma_state *state, uint64_t seq,
                                               struct sma_usage *sum);

#endif
