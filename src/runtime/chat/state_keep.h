/*
 * state_keep.h — letting go: what is old enough leaves the state database in slices, and how big
 * things are.
 *
 * A slice runs in the caller's transaction and removes at most rows_max rows, oldest first;
 * *ret_removed < rows_max says that nothing more is due. Nothing here decides when or how much:
 * that is the caller's (store/keep.c). Rows that work needs stay whatever their age: open messages,
 * open deliveries, open requests, lines whose file is not synced.
 *
 * Age is told by the hour a row was accepted in: the first seq of each hour is kept (table hours).
 * Rows from before that table count as young as it. A clock that jumps ahead makes rows old: let
 * the caller distrust a jump.
 *
 * Space of what was removed is used again; the file gets smaller by sma_state_compact alone.
 * Threads: as state.h, but sma_state_compact and its reader: any, while nobody has the database
 * open.
 */
#ifndef SMA_CHAT_STATE_KEEP_H
#define SMA_CHAT_STATE_KEEP_H

#include "runtime/chat/state.h"

/** Rows with seq < *ret_seq were accepted at least age_ms ago (an hour more, at worst). 0 = not
 *  known of any. */
SMA_CHECKED enum sma_err sma_state_seq_of_age(struct sma_state *state, int64_t now_ms,
                                              int64_t age_ms, uint64_t *ret_seq);

/** Turns of a chat that are kept and read; 0, or more than SMA_STATE_TURN_COUNT_MAX: that. A few
 *  more may stay on disk. */
void sma_state_set_turn_count(struct sma_state *state, uint32_t count_max);

/* -- slices ------------------------------------------------------------------------------------ */

/** Turns of all chats with seq < before_seq. */
SMA_CHECKED enum sma_err sma_state_keep_turns(struct sma_state *state, uint64_t before_seq,
                                              uint32_t rows_max, uint32_t *ret_removed);
/** Results of runs with seq < before_seq, and the oldest ones while all together are over
 *  bytes_max. Results from before schema 6 are in no sum: they are the first to go when the others
 *  are over it. */
SMA_CHECKED enum sma_err sma_state_keep_results(struct sma_state *state, uint64_t before_seq,
                                                uint64_t bytes_max, uint32_t rows_max,
                                                uint32_t *ret_removed);
/** Line and facts of finished messages with seq < before_seq whose line is in a synced file; the
 *  claim stays. Lines that wait for a bad history file (table asides) stay. *ret_removed: rows
 *  looked at. */
SMA_CHECKED enum sma_err sma_state_keep_messages(struct sma_state *state, uint64_t before_seq,
                                                 uint32_t rows_max, uint32_t *ret_removed);
/** Deliveries that ended, of runs with seq < before_seq. */
SMA_CHECKED enum sma_err sma_state_keep_deliveries(struct sma_state *state, uint64_t before_seq,
                                                   uint32_t rows_max, uint32_t *ret_removed);
/** Requests that were decided before this wall time. */
SMA_CHECKED enum sma_err sma_state_keep_approvals(struct sma_state *state, int64_t before_ms,
                                                  uint32_t rows_max, uint32_t *ret_removed);
/** Sums of usage of days before this one (since 1970, UTC). */
SMA_CHECKED enum sma_err sma_state_keep_usage(struct sma_state *state, int64_t before_day,
                                              uint32_t rows_max, uint32_t *ret_removed);

/* -- sizes ------------------------------------------------------------------------------------- */

/* Bytes of text and numbers, without what the file needs around them. */
struct sma_state_table_size
{
    uint64_t rows, bytes;
};
struct sma_state_sizes
{
    uint64_t file_bytes, free_bytes; /* free: of removed rows, used again */
    uint64_t wal_bytes;
    uint64_t result_bytes; /* counted; results from before schema 6 are not in it */
    struct sma_state_table_size messages, turns, results, deliveries; /* estimated from samples */
};
/** Costs some milliseconds whatever the size: numbers of rows and bytes are estimates from about
 *  500 rows of each table, exact for tables of up to that. */
SMA_CHECKED enum sma_err sma_state_sizes(struct sma_state *state,
                                         struct sma_state_sizes *ret_sizes);

/* -- making the file smaller ------------------------------------------------------------------- */

struct sma_state_compacted
{
    uint64_t bytes_before, bytes_after; /* of the database and its WAL */
};
/**
 * Write the database anew without its free pages, in pages of today's size, beside it as
 * PATH.compact, and put that in its place. Killed at any moment, either the old file or the new one
 * is there, whole. Nobody may have it open.
 * @return OK | NOTFOUND (there is none) | BUSY (open in another process) | NOSPACE (needs as much
 *         room again as the result) | CORRUPT | UNSUPPORTED (newer schema) | IO | NOMEM; *error
 *         filled
 * Blocks: reads and writes everything, about 100 MB a second.
 */
SMA_CHECKED enum sma_err sma_state_compact(const char *path, struct sma_state_compacted *ret_result,
                                           struct sma_error *error);

/* -- a copy of it ------------------------------------------------------------------------------ */
/**
 * Write the database as it is at one moment, WAL included, to `copy`, which must not be there, and
 * check the copy. A service may be writing it; its checkpoints wait meanwhile. Nothing of `path`
 * and its WAL is changed.
 * @return OK | NOTFOUND | EXISTS | NOSPACE | CORRUPT | IO | NOMEM; *error filled
 * Blocks: reads everything twice.
 */
SMA_CHECKED enum sma_err sma_state_snapshot(const char *path, const char *copy,
                                            struct sma_error *error);
/** Is the file a sound database? Nothing of it is changed. @return OK | CORRUPT */
SMA_CHECKED enum sma_err sma_state_check(const char *path, struct sma_error *error);

#endif
