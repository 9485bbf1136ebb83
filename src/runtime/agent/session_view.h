/*
 * session_view.h — a stored turn as another target takes it.
 *
 * Fragments are good for the target of the turn's key only: reasoning, signatures and ids of items
 * are bound to the model that made them. For others of the same wire they are left out and calls
 * and results stay; for another wire, or when the fragments themselves were refused, what was said
 * remains (the user's blocks and the assistant's text). Source: protocols/models.md §5.
 * Deterministic: equal input gives equal bytes.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_AGENT_SESSION_VIEW_H
#define SMA_RUNTIME_AGENT_SESSION_VIEW_H

#include "runtime/agent/codec.h"
#include "runtime/model/wire_part.h"

#define SMA_SHORT_HEAD_BYTES 2000 /* what stays of a result that is shortened */
#define SMA_SHORT_TAIL_BYTES 1000

enum sma_view_form
{
    SMA_VIEW_STORED,   /* the fragments as they are */
    SMA_VIEW_SHORT,    /* the fragments with their results shortened */
    SMA_VIEW_STRIPPED, /* without reasoning, with calls and results */
    SMA_VIEW_STRIPPED_SHORT,
    SMA_VIEW_CLEARED, /* the fragments with a line in the place of their results */
    SMA_VIEW_STRIPPED_CLEARED,
    SMA_VIEW_PLAIN, /* what was said */
};

/* What has happened to a turn since it was made. */
struct sma_view_state
{
    bool is_plain;   /* its fragments were refused */
    bool is_short;   /* its results must be short */
    bool is_cleared; /* and old ones must go altogether */
    bool
        /* what stood before it has changed: thinking that is bound to it is refused (messages
         * wire) */
        is_moved;
};
/** The form in which this target takes the turn. */
enum sma_view_form sma_view_form_for(const struct sma_stored_turn *turn,
                                     const struct sma_target *target,
                                     const struct sma_view_state *state);
/** What becomes of the turn's parts with this target: 0: they stand in the fragments as it takes
 *  them; else a number that is equal for equal views. */
uint64_t sma_view_parts_key(const struct sma_stored_turn *turn, const struct sma_target *target);
/** Append the turn in this form (STORED: only its parts change), comma-joined. Parts that are
 *  hidden, or that the target does not take, are lines. What cannot be read becomes PLAIN.
 *  OK | NOMEM | TOOBIG | CORRUPT: it has no blocks to make a plain form of. */
SMA_CHECKED enum sma_err sma_view_put(struct sma_buf *buf, const struct sma_stored_turn *turn,
                                      const struct sma_target *target, enum sma_view_form form);
/** What stands in the place of a result that was cleared. */
#define SMA_VIEW_CLEARED_TEXT                                                              \
    "[This old result was cleared to make room. What is still needed of it: ask for that " \
    "part again.]"
#define SMA_VIEW_CLEARED_MIN 400 /* shorter results stay */
/** How many bytes clearing the results of this turn would save. */
size_t sma_view_clear_gain(const struct sma_stored_turn *turn);
/** A result with its middle left out, when it is longer than head and tail together; else as it is.
 *  @return was it cut */
bool sma_view_put_short(struct sma_buf *buf, struct sma_str content, size_t head_bytes,
                        size_t tail_bytes);

#endif
