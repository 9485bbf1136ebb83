/* How many turns a chat's session has. */
#ifndef SMA_TEST_TURN_COUNT_H
#define SMA_TEST_TURN_COUNT_H

#include "runtime/chat/state_read.h"
#include "support/check.h"

static inline unsigned turn_count_of(struct sma_state *state, const struct sma_state_chat *chat)
{
    const struct sma_state_turns_wanted wanted = {chat, SMA_STATE_SEQ_MAX, UINT64_MAX,
                                                  SMA_STATE_TURN_COUNT_MAX};
    struct sma_state_rows rows = {0};
    struct sma_state_turns turns;
    CHECK_OK(sma_state_turns_read(state, &wanted, &rows, &turns));
    sma_state_rows_free(&rows);
    CHECK_INT(turns.count > 0, sma_state_has_past(state, chat));
    return (unsigned)turns.count;
}

#endif
