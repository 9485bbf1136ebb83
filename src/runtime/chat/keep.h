/*
 * keep.h — retention: one table says what leaves state.db when it is over, by age and by bytes.
 *
 * A pass goes through the table in slices, each in the caller's transaction; a slice that was
 * undone is simply done again by a later pass. What may not go yet, whatever its age, state_keep.h
 * says.
 * Threads: as state.h.
 */
#ifndef SMA_CHAT_KEEP_H
#define SMA_CHAT_KEEP_H

#include "runtime/chat/state_keep.h"
#include "sma/config.h"

enum sma_keep_kind
{
    SMA_KEEP_TURNS,
    SMA_KEEP_RESULTS,
    SMA_KEEP_MESSAGES, /* texts and facts; the claim stays */
    SMA_KEEP_DELIVERIES,
    SMA_KEEP_REQUESTS,
    SMA_KEEP_GRANTS, /* permissions that have ended */
    SMA_KEEP_USAGE,
    SMA_KEEP_SPENT,
    SMA_KEEP_KIND_COUNT,
};

struct sma_keep
{
    struct sma_config_retention retention;
    int64_t now_ms;
    unsigned kind; /* that is looked at now; SMA_KEEP_KIND_COUNT = the pass is over */
    uint64_t removed[SMA_KEEP_KIND_COUNT];
};

/** Begin a pass. What retention says 0 of is kept for ever. now_ms: wall clock; 0 = not to be
 *  trusted: only bytes count. */
void sma_keep_begin(struct sma_keep *keep, const struct sma_config_retention *retention,
                    int64_t now_ms);
/** Remove at most rows_max rows, inside a transaction. *ret_is_over: the pass is. @return what
 *  state_keep.h says */
SMA_CHECKED enum sma_err sma_keep_slice(struct sma_keep *keep, struct sma_state *state,
                                        uint32_t rows_max, bool *ret_is_over);
/** "12 turns, 3 results": what the pass removed, appended; nothing when it removed nothing. */
void sma_keep_format(const struct sma_keep *keep, struct sma_buf *buf);

#endif
