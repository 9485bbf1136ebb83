/*
 * outbox_priv.h — what the files of the part "outbox" share. Thread: the store's.
 */
#ifndef SMA_STORE_OUTBOX_PRIV_H
#define SMA_STORE_OUTBOX_PRIV_H

#include "map.h"
#include "outbox.h"

/* An open delivery. */
struct store_row
{
    uint64_t id;
    struct store_chat *chat;
    struct store_row *prev, *next;
    uint8_t adapter; /* index in store->adapters */
    bool is_handed;  /* with the dispatcher: holds a credit */
    /* given back: not to be attempted before due_ns, in the list of such rows; 0 = it may be */
    struct store_row *held_prev, *held_next;
    uint64_t due_ns;
    uint32_t waited_ms;  /* as in DELIVER */
    bool is_given_back;  /* since it was begun: its row says so already */
    bool is_attempted;   /* by then */
    bool is_stopped;     /* /stop came while it was with the dispatcher */
    bool is_stopped_now; /* ... in the open transaction */
    bool has_waiter, is_repeat;
    /* what the open transaction did */
    bool is_touched, is_new, is_handed_now, is_finished;
};

/* The way to one adapter. */
struct store_lane
{
    uint32_t credits;
    struct store_chat *waiting_first, *waiting_last; /* chats whose next row waits for a credit */
};

struct store_outbox
{
    struct store_lane lanes[SMA_ADAPTER_COUNT_MAX]; /* as store->adapters */
    struct store_map rows;                          /* outbox id -> store_row */
    uint32_t open_count;
    bool is_loaded;
    struct store_row *held_first; /* rows that wait for their time */
    uint32_t held_count;
    uint64_t held_wake_ns; /* none is due before it */
    struct store_row **touched;
    uint32_t touched_count, touched_cap;
};

/** The history line of a delivery. */
SMA_CHECKED enum sma_err sma_store_delivery_line(struct sma_store *store, struct store_chat *chat,
                                                 const struct sma_route *route, struct sma_str text,
                                                 uint8_t intent, uint64_t run_seq, int64_t wall_ms);
/** The chat's next row may go: it stands in line for a credit. */
void sma_store_wait_for_credit(struct store_lane *lane, struct store_chat *chat);
/** Give up a row that nobody can have seen. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_give_up_row(struct sma_store *store, struct store_row *row);

/** The row is over in the open transaction. */
SMA_CHECKED enum sma_err sma_store_finish_row(struct sma_store *store, struct store_row *row);
/** Hand out the chat's next row, if it may go. */
SMA_CHECKED enum sma_err sma_store_pump_chat(struct sma_store *store, struct store_chat *chat);

/* -- held.c ----------------------------------------------------------------------------------------------------- */
/** RECEIPT with is_held. The question is answered. */
void sma_store_take_back_row(struct sma_store *store, struct store_row *row,
                             const struct sma_msg *question);
/** The row leaves, or goes out: it waits for no time any more. */
void sma_store_unhold_row(struct sma_store *store, struct store_row *row);

#endif
