/*
 * outbox_priv.h — what the files of the part "outbox" share. Thread: the store's.
 *
 * Rows in memory are the rows of state.db with the open transaction; when that fails they are
 * thrown away and read again. What is in no row, because the dispatcher said it or was given it,
 * stands in store_out and changes with a commit only.
 */
#ifndef SMA_STORE_OUTBOX_PRIV_H
#define SMA_STORE_OUTBOX_PRIV_H

#include "map.h"
#include "outbox.h"

#define STORE_NO_ADAPTER UINT8_MAX

/* What the dispatcher has, or gave back, since this start. */
struct store_out
{
    uint64_t id;
    uint64_t due_ns;    /* given back: not to be attempted before */
    uint32_t waited_ms; /* as in DELIVER */
    uint8_t adapter;
    bool is_out;       /* it holds the row and a credit; otherwise the row was given back */
    bool is_attempted; /* ... by then */
    bool steps_aside;  /* a late file: others of its chat pass, wherever it is */
    bool is_stopped;   /* /stop came while it was with the dispatcher */
};

/* An open delivery. */
struct store_row
{
    uint64_t id;
    struct store_chat *chat;
    struct store_row *prev, *next;
    struct store_out *out; /* NULL: not handed out since this start, or by the open transaction */
    int64_t made_ms;
    uint8_t adapter; /* index in store->adapters */
    bool is_handed;  /* with the dispatcher: holds a credit */
    bool is_stopped; /* as in store_out */
    uint8_t aside;   /* nobody can deliver it now, another start may: index in asides + 1 */
    bool has_waiter, is_repeat;
    bool is_long_held; /* so long that the owner was told */
    bool steps_aside;  /* as in store_out */
    /* given back: not to be attempted before due_ns, in the list of such rows; 0 = it may be */
    struct store_row *held_prev, *held_next;
    uint64_t due_ns;
};

/* What the open transaction does to store_out. */
enum store_out_change
{
    STORE_OUT_HANDED,
    STORE_OUT_STOPPED,
    STORE_OUT_FINISHED,
};
struct store_change
{
    uint64_t id;
    uint8_t adapter, what;
};

/* The way to one adapter. */
struct store_lane
{
    uint32_t credits;
    struct store_chat *waiting_first, *waiting_last; /* chats whose next row waits for a credit */
};

#define STORE_ASIDE_COUNT (SMA_ADAPTER_COUNT_MAX + 1)
#define STORE_CHANNEL_SHOWN_BYTES 48
/* What waits for something that only another start can bring: a platform, or a newer version. */
struct store_missing_channel
{
    char channel[STORE_CHANNEL_SHOWN_BYTES]; /* "": of a newer version */
    uint32_t messages, deliveries;
    bool is_told;
};

struct store_outbox
{
    struct store_lane lanes[SMA_ADAPTER_COUNT_MAX]; /* as store->adapters */
    struct store_map rows;                          /* outbox id -> store_row */
    struct store_map outs;                          /* outbox id -> store_out */
    struct store_change *changes;
    uint32_t change_count, change_cap;
    bool is_loaded;  /* from the rows */
    bool is_changed; /* since the last commit: not as the rows any more, if that fails */
    uint32_t open_count;
    struct store_row *held_first; /* rows that wait for their time */
    uint32_t held_count;
    uint64_t held_wake_ns;    /* none is due before it */
    uint32_t long_hold_count; /* troubles told of */
    uint64_t *lost;           /* ids of rows that cannot be read: to be ended */
    uint32_t lost_count, lost_cap;
    struct store_missing_channel asides[STORE_ASIDE_COUNT];
    uint32_t aside_count;   /* used ones */
    uint32_t aside_rows;    /* deliveries of all of them */
    int64_t aside_first_ms; /* none of these is older */
    uint64_t *ours;         /* messages of ours that were sent, hashed (ours.c); NULL = none yet */
    uint32_t ours_next;
    bool is_ours_read; /* those of before the start, too */
};

/* -- outbox.c ---------------------------------------------------------------------------------- */
/** The chat's next row that somebody can deliver; NULL = none. */
struct store_row *sma_store_first_row(const struct store_chat *chat);
/** The chat's next row may go: it stands in line for a credit. */
void sma_store_wait_for_credit(struct sma_store *store, struct store_chat *chat);
/** No chat stands in any line. */
void sma_store_drop_waiters(struct sma_store *store);
/** The row is over in the open transaction: its record goes, the chat's next row stands in line. */
/** No platform has it, as far as is known. */
bool sma_store_row_is_unseen(const struct store_row *row);
SMA_CHECKED enum sma_err sma_store_finish_row(struct sma_store *store, struct store_row *row);
/** Give up a row that nobody can have seen. In the open transaction. Frees it. */
SMA_CHECKED enum sma_err sma_store_give_up_row(struct sma_store *store, struct store_row *row);
/** The open transaction does it: store_out follows with its commit. */
SMA_CHECKED enum sma_err sma_store_note_out(struct sma_store *store, const struct store_row *row,
                                            enum store_out_change what);

/* -- handout.c --------------------------------------------------------------------------------- */
/** End what is lost or has waited too long, then hand out all that may go. */
SMA_CHECKED enum sma_err sma_store_pump_outbox(struct sma_store *store);
/** It is not the weather: these bytes will never be better. */
bool sma_store_is_row_damage(const struct sma_store *store, enum sma_err err);
/** A text of a run that has yet to say its last word. */
bool sma_store_is_interim(struct sma_store *store, const struct store_row *row);
/** A row just added leaves with the open transaction, which says "begun". */
SMA_CHECKED enum sma_err sma_store_hand_out_new(struct sma_store *store, struct store_row *row,
                                                const struct sma_route *route,
                                                const struct sma_state_delivery *delivery,
                                                const struct sma_stamps *stamps);
struct store_said
{
    const struct sma_route *route;
    struct sma_str text;
    uint8_t intent;
    bool is_fallback; /* no tool sent it: meta.via says so */
    uint64_t run_seq;
    int64_t wall_ms;
};
/** The history line of a delivery. */
SMA_CHECKED enum sma_err sma_store_delivery_line(struct sma_store *store, struct store_chat *chat,
                                                 const struct store_said *said);

/* -- held.c ------------------------------------------------------------------------------------ */
/** RECEIPT with is_held. The question is answered. */
void sma_store_take_back_row(struct sma_store *store, struct store_row *row,
                             const struct sma_msg *question);
/** The platform has taken a row again: nobody is told of its limit any more. */
void sma_store_heal_long_hold(struct sma_store *store, const struct store_row *row);
/** In the list of rows that wait for their time. */
void sma_store_hold_row(struct sma_store *store, struct store_row *row, uint64_t due_ns);
/** The row leaves, or goes out: it waits for no time any more. */
void sma_store_unhold_row(struct sma_store *store, struct store_row *row);

/** Let those go that are due. */
void sma_store_expire_held_rows(struct sma_store *store);
uint64_t sma_store_held_rows_wake(const struct sma_store *store);

/* -- aside.c ----------------------------------------------------------------------------------- */
/** Nobody can deliver the row now. channel: of its platform; empty: its bytes are of a newer
 *  version. */
void sma_store_set_row_aside(struct sma_store *store, struct store_row *row,
                             struct sma_str channel);
/** It is over. */
void sma_store_unset_row_aside(struct sma_store *store, struct store_row *row);
void sma_store_forget_aside_rows(struct sma_store *store);
/** Say what waits and what for, once each. */
void sma_store_tell_asides(struct sma_store *store);
/** End those that waited too long. */
SMA_CHECKED enum sma_err sma_store_expire_aside_rows(struct sma_store *store);

#endif
