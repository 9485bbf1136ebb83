/* state_open.c — which messages are open: accepted, and not done. In memory, sorted. See
 * state_priv.h. */
#include "runtime/chat/state_priv.h"

/* Index of the first open seq >= the given one, in [open_head, count]. */
static size_t find_open(const struct sma_state *state, uint64_t seq)
{
    size_t low = state->open_head, high = state->open.count;
    if (high > low && state->open.items[high - 1] < seq)
        return high; /* a new row: the usual case */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->open.items[middle] < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Room is made by dropping the gap at the head before the array grows. */
enum sma_err sma_state_open_add(struct sma_state *state, uint64_t seq)
{
    if (state->open.count == state->open.capacity && state->open_head > state->open.count / 2) {
        state->open.count -= state->open_head;
        memmove(state->open.items, state->open.items + state->open_head,
                state->open.count * sizeof(uint64_t));
        state->open_head = 0;
    }
    if (SMA_STATE_RESERVE(state->open) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    size_t at = find_open(state, seq);
    SMA_ASSERT(at == state->open.count || state->open.items[at] != seq);
    memmove(state->open.items + at + 1, state->open.items + at,
            (state->open.count - at) * sizeof(uint64_t));
    state->open.items[at] = seq;
    state->open.count++;
    return SMA_ERR_OK;
}

static bool is_open_seq(const struct sma_state *state, uint64_t seq)
{
    size_t at = find_open(state, seq);
    return at < state->open.count && state->open.items[at] == seq;
}

/* The shorter side moves: rows are mostly finished in order. */
void sma_state_open_remove(struct sma_state *state, uint64_t seq)
{
    size_t at = find_open(state, seq);
    SMA_ASSERT(at < state->open.count && state->open.items[at] == seq);
    uint64_t *items = state->open.items;
    if (at - state->open_head < state->open.count - at) {
        memmove(items + state->open_head + 1, items + state->open_head,
                (at - state->open_head) * sizeof(uint64_t));
        state->open_head++;
    } else {
        memmove(items + at, items + at + 1, (state->open.count - at - 1) * sizeof(uint64_t));
        state->open.count--;
    }
}

enum sma_err sma_state_row_state_noted(struct sma_state *state, uint64_t seq, int row_state)
{
    bool is_open = sma_row_is_open(row_state);
    if (is_open == is_open_seq(state, seq))
        return SMA_ERR_OK;
    SMA_TRY(sma_state_undo_push(
        state, (struct sma_state_undo){.kind = is_open ? SMA_UNDO_OPEN_ADD : SMA_UNDO_OPEN_REMOVE,
                                       .a = seq}));
    /* A row that was finished is open again: it may be below the watermark on disk, which must list
     * it. */
    if (is_open && seq < state->next_seq_at_begin)
        state->is_marks_forced = true;
    if (!is_open) {
        sma_state_open_remove(state, seq);
        return SMA_ERR_OK;
    }
    if (sma_state_open_add(state, seq) == SMA_ERR_OK)
        return SMA_ERR_OK;
    state->undo.count--; /* nothing to undo */
    return sma_state_fail_change(state, SMA_ERR_NOMEM);
}

uint64_t sma_state_open_next(const struct sma_state *state, uint64_t after)
{
    size_t at = find_open(state, after + 1);
    return at < state->open.count ? state->open.items[at] : 0;
}

uint64_t sma_state_open_count(const struct sma_state *state)
{
    return state->open.count - state->open_head;
}
