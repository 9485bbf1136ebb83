/*
 * state_read.h — rows of the state database as copies that belong to the caller.
 *
 *     SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
 *     err = sma_state_message_read(state, seq, &rows, &message);        all slices live in rows
 *
 * A reader is over when it returns: no statement is open, the caller may read and change whatever
 * he likes. Copies stay until their rows are freed, also when the row in the database changes or
 * goes.
 *
 * Errors:  NOTFOUND. CORRUPT: this row alone is damaged (sma_state_error has the text); neither the
 *          transaction nor the program is the worse for it. IO, NOMEM: weather; a transaction that
 *          is open can only be ended.
 * Threads: as state.h.
 */
#ifndef SMA_CHAT_STATE_READ_H
#define SMA_CHAT_STATE_READ_H

#include "runtime/chat/state.h"

struct sma_state_piece;
/* Memory of what was read; all zeros is empty. Not to be copied. */
struct sma_state_rows
{
    struct sma_state_piece *pieces;
};
/** Free all copies; ready for new ones. */
void sma_state_rows_free(struct sma_state_rows *rows);

/* -- messages ---------------------------------------------------------------------------------- */

SMA_CHECKED enum sma_err sma_state_message_read(struct sma_state *state, uint64_t seq,
                                                struct sma_state_rows *rows,
                                                struct sma_state_message *ret_message);
/** The open rows, one after the other: the smallest open seq > after, 0 = no more. From memory. */
uint64_t sma_state_open_next(const struct sma_state *state, uint64_t after);
/**
 * The lines to be replayed at start, one after the other: the first row with a line and seq >
 * after, which begins as sma_state_history_flushed(). NOTFOUND: no more. CORRUPT: ret_message->seq
 * tells whose line cannot be read; go on behind it.
 */
SMA_CHECKED enum sma_err sma_state_unflushed_next(struct sma_state *state, uint64_t after,
                                                  struct sma_state_rows *rows,
                                                  struct sma_state_message *ret_message);

/* -- runs -------------------------------------------------------------------------------------- */

struct sma_state_steps
{
    struct sma_state_step *items; /* seq, number, kind, data */
    size_t count;
};
/** The steps of an open run, oldest first. */
SMA_CHECKED enum sma_err sma_state_steps_read(struct sma_state *state, uint64_t seq,
                                              struct sma_state_rows *rows,
                                              struct sma_state_steps *ret_steps);

struct sma_state_turn
{
    uint64_t seq;
    struct sma_str wire, message_id, turn;
};
struct sma_state_turns
{
    struct sma_state_turn *items;
    size_t count;
};
/* After the clear mark, seq < before_seq, at most turns_max of at most bytes_max together (newest
 * win). */
struct sma_state_turns_wanted
{
    const struct sma_state_chat *chat;
    uint64_t before_seq, bytes_max;
    uint32_t turns_max;
};
/** The last turns of a chat, oldest first. */
SMA_CHECKED enum sma_err sma_state_turns_read(struct sma_state *state,
                                              const struct sma_state_turns_wanted *wanted,
                                              struct sma_state_rows *rows,
                                              struct sma_state_turns *ret_turns);

/* -- outbox ------------------------------------------------------------------------------------ */

SMA_CHECKED enum sma_err sma_state_delivery_read(struct sma_state *state, uint64_t outbox_id,
                                                 struct sma_state_rows *rows,
                                                 struct sma_state_delivery *ret_delivery);
/** The same without route, text and error: for deciding what to do with it. */
SMA_CHECKED enum sma_err sma_state_delivery_head_read(struct sma_state *state, uint64_t outbox_id,
                                                      struct sma_state_rows *rows,
                                                      struct sma_state_delivery *ret_delivery);
struct sma_state_deliveries
{
    struct sma_state_delivery *items;
    size_t count;
};
/** Every delivery of one run, open or not, in order of step and call. One that is damaged: CORRUPT
 *  for all. */
SMA_CHECKED enum sma_err sma_state_deliveries_read(struct sma_state *state, uint64_t seq,
                                                   struct sma_state_rows *rows,
                                                   struct sma_state_deliveries *ret_deliveries);
struct sma_state_ids
{
    uint64_t *items;
    size_t count;
};
/** The ids of all open deliveries, ascending (order of acceptance). Reads open ones only. */
SMA_CHECKED enum sma_err sma_state_outbox_open_read(struct sma_state *state,
                                                    struct sma_state_rows *rows,
                                                    struct sma_state_ids *ret_ids);
/** End a delivery whose row cannot be read: state FAILED and this error, whatever else stands
 *  there. NOTFOUND. */
SMA_CHECKED enum sma_err sma_state_outbox_fail(struct sma_state *state, uint64_t outbox_id,
                                               struct sma_str error, int64_t ended_ms);

/* -- approvals --------------------------------------------------------------------------------- */

SMA_CHECKED enum sma_err sma_state_approval_read(struct sma_state *state, struct sma_str id,
                                                 struct sma_state_rows *rows,
                                                 struct sma_state_approval *ret_approval);
/** The full ids that begin so, at most two, open or not: two tell that the beginning says too
 *  little. NOTFOUND: none. */
SMA_CHECKED enum sma_err sma_state_approval_ids(struct sma_state *state, struct sma_str beginning,
                                                struct sma_state_rows *rows, struct sma_str ids[2],
                                                uint32_t *ret_count);
/* An open one without what is asked. */
struct sma_state_asked
{
    struct sma_str id;
    struct sma_state_chat *chat; /* of the run's message; NULL only when is_lost */
    uint64_t run_seq;
    int64_t left_ms;
    uint32_t step;
    bool is_lost;    /* no parked run belongs to it */
    bool is_damaged; /* something in it is not what it should be; its run can be believed */
};
struct sma_state_asked_list
{
    struct sma_state_asked *items;
    size_t count;
};
/** All open ones, oldest run first. */
SMA_CHECKED enum sma_err sma_state_asked_read(struct sma_state *state, struct sma_state_rows *rows,
                                              struct sma_state_asked_list *ret_list);
/** Remove the open ones of a run, whatever their ids. */
SMA_CHECKED enum sma_err sma_state_asked_drop(struct sma_state *state, uint64_t run_seq);
struct sma_state_place
{
    uint64_t outbox_id;
    struct sma_state_chat *chat; /* NULL: it is not there */
};
struct sma_state_places
{
    struct sma_state_place *items;
    size_t count;
};
/** Where the deliveries with these ids, both included, and this intent go; open or not. */
SMA_CHECKED enum sma_err sma_state_places_read(struct sma_state *state, uint64_t first_id,
                                               uint64_t last_id, uint8_t intent,
                                               struct sma_state_rows *rows,
                                               struct sma_state_places *ret_places);

/* -- access ------------------------------------------------------------------------------------ */

struct sma_state_page
{
    struct sma_str prefix; /* of the keys, at most 63 bytes; empty: all records */
    struct sma_str after;  /* the last key of the page before; empty: from the beginning */
    uint32_t count_max;
};
struct sma_state_record
{
    struct sma_str key, value;
};
struct sma_state_records
{
    struct sma_state_record *items;
    size_t count;
};
/** The next records in order of their keys; fewer than count_max: the last page. The open
 *  transaction's changes are seen. */
SMA_CHECKED enum sma_err sma_state_access_page(struct sma_state *state,
                                               const struct sma_state_page *page,
                                               struct sma_state_rows *rows,
                                               struct sma_state_records *ret_pairs);

#endif
