/*
 * state_asides.h — chats whose history files cannot be used now: their lines stay in the rows until
 * they can.
 *
 * A record says from which seq on the lines of a chat are not known to be in its files. Rows with
 * such lines do not expire. The place of a line that came while its chat was set aside is not
 * known: SMA_STATE_LINE_WAITS.
 * Threads: as state.h.
 */
#ifndef SMA_CHAT_STATE_ASIDES_H
#define SMA_CHAT_STATE_ASIDES_H

#include "runtime/chat/state_read.h"

#define SMA_STATE_LINE_WAITS INT64_MAX /* history_offset of a row whose line has no place yet */

struct sma_state_aside
{
    uint32_t chat_id;
    uint64_t from_seq; /* lines of rows above it are not known to be in the files */
};
struct sma_state_asides
{
    struct sma_state_aside *items;
    size_t count;
};
SMA_CHECKED enum sma_err sma_state_asides_read(struct sma_state *state, struct sma_state_rows *rows,
                                               struct sma_state_asides *ret_asides);
/** In the open transaction. */
SMA_CHECKED enum sma_err sma_state_aside_set(struct sma_state *state, struct sma_state_aside aside);
/** In the open transaction. */
SMA_CHECKED enum sma_err sma_state_aside_drop(struct sma_state *state, uint32_t chat_id);
/** A line that waited for its place has one. In the open transaction. */
SMA_CHECKED enum sma_err sma_state_line_place(struct sma_state *state, uint64_t seq,
                                              uint32_t generation, uint64_t offset);

#endif
