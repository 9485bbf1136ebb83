/*
 * dispatcher_priv.h — the dispatcher's state: rows in their chats, chats in their platforms,
 * questions of the agent.
 *
 * A chat is a queue of rows; only its first row moves. A chat whose first row wants an attempt is
 * either held by a timer (rate, back-off, the platform's order to wait) or in its platform's ready
 * queue, where chats take turns.
 *
 *   IDLE -> HELD -> READY -> BUSY (attempt, then receipt) -> HELD | READY | IDLE
 *
 * A file that is late leaves its chat for a queue of its own, out or waiting: words pass it.
 *
 * Invariants: rows held per platform <= SMA_DELIVER_CREDIT_COUNT; at most one attempt is waited for
 *             per chat; at most one receipt is open per row; a row leaves only after its final
 *             receipt was answered.
 * Threads:    the dispatcher's.
 * Limits:     SMA_DELIVER_CREDIT_COUNT, SMA_ASK_SEND_COUNT_MAX, SMA_DISPATCHER_IDLE_CHAT_COUNT_MAX.
 */
#ifndef SMA_DISPATCHER_PRIV_H
#define SMA_DISPATCHER_PRIV_H

#include "runtime/delivery/policy.h"
#include "runtime/delivery/timers.h"
#include "sma/actors.h"
#include "sma/metrics.h"

#define DISPATCHER_MAGIC 0x44495350u
#define SMA_DISPATCHER_IDLE_CHAT_COUNT_MAX \
    4096 /* chats remembered for their rate alone; beyond, the rate is forgotten */
#define SMA_DISPATCHER_DRAIN_S 10 /* wait for open attempts and receipts */
#define SMA_DISPATCHER_RETRY_S 1  /* want of disk, memory or room: try again after this */
#define SMA_RENDERED_BYTES_MAX \
    (8 * SMA_TEXT_BYTES_MAX) /* all parts of one row; over it the row fails */
/* A platform with more rows than this keeps none that only waits: others may need its credit. Below
 * it a short wait costs no message. */
#define DISPATCHER_HELD_COUNT (SMA_DELIVER_CREDIT_COUNT / 2)
#define DISPATCHER_TABLE_SIZE 1024
#define DISPATCHER_ERROR_BYTES_MAX 256

enum timer_kind
{
    TIMER_CHAT,
    TIMER_ROW,
    TIMER_PLATFORM,
    TIMER_SEND,
};
enum row_phase
{
    ROW_QUEUED,       /* waits for its turn or for its chat's gate */
    ROW_ATTEMPT,      /* an attempt is open and waited for */
    ROW_RECEIPT,      /* a receipt is open */
    ROW_RECEIPT_HELD, /* the receipt could not be asked or stored: timer */
};
enum chat_phase
{
    CHAT_IDLE,
    CHAT_HELD,
    CHAT_READY,
    CHAT_BUSY,
};

struct chat;
struct platform;

struct row
{
    struct row *next_in_chat, *next_in_table;
    struct chat *chat; /* NULL after cancelling: the row only waits for its receipt */
    struct platform *platform;
    struct sma_msg *msg; /* the DELIVER; owns what deliver points to */
    const struct sma_deliver *deliver;
    struct sma_timer timer; /* ATTEMPT: deadline; RECEIPT_HELD: when to ask again */
    struct sma_delivery_try try;
    uint64_t ask_id;      /* the attempt that is waited for; 0 = none */
    uint64_t attempt_ns;  /* when it was asked */
    struct sma_buf bytes; /* all parts, back to back */
    size_t part_ends[SMA_PART_COUNT_MAX];
    uint32_t part, part_count;
    uint32_t attempt_total; /* of all parts, here */
    uint8_t phase;          /* enum row_phase */
    bool is_rendered, is_attempted, has_excess;
    bool is_ended;           /* its final receipt is on the way: outcome in receipt_state */
    bool is_given_back;      /* its receipt says: not before give_until_ns */
    bool is_content_refused; /* why it failed */
    bool is_aside;           /* a file that is late: in a queue of its own, words pass it */
    bool is_platform_held;   /* ... because the platform holds all its chats */
    uint64_t give_until_ns;
    uint64_t expires_ns;   /* an order to wait beyond this fails it */
    bool is_late_sent;     /* an older attempt's success arrived while a receipt was open */
    uint8_t receipt_state; /* enum sma_delivery_state */
    uint64_t reply_ns;
    char platform_id[SMA_ID_BYTES_MAX + 1], reply_id[SMA_ID_BYTES_MAX + 1];
    int64_t sent_ms; /* with platform_id and reply_id: of the part that was sent last */
    char error[DISPATCHER_ERROR_BYTES_MAX];
};
struct chat
{
    struct chat *next_in_table, *next_ready;
    struct platform *platform;
    const struct sma_rate *rate; /* the platform's, for chats or for groups */
    struct row *first, *last;
    struct sma_timer timer;
    uint64_t taken_ns;      /* rate bucket */
    uint64_t hold_until_ns; /* back-off or the platform's order */
    uint8_t phase;          /* enum chat_phase */
    size_t key_len;
    char key[];
};
struct platform
{
    const struct sma_adapter_ops *ops; /* NULL: no adapter has this id */
    const char *name;                  /* of the bot */
    enum sma_actor_id actor;
    unsigned label; /* in labels.h */
    struct sma_rate rate, chat_rate, group_rate;
    struct sma_limits limits; /* that chats met lately */
    uint64_t taken_ns, hold_until_ns;
    struct chat *ready_first, *ready_last;
    struct sma_timer timer;
    uint32_t row_count;
};
/* One question of the agent, or one outcome that waits for its question. */
struct send
{
    struct send *next_in_table, *older, *newer; /* older/newer: outcomes only */
    struct sma_timer timer;                     /* questions only */
    uint64_t outbox_id, seq, ask_id;            /* ask_id 0 = an outcome */
    uint8_t asker, state;
    char error[];
};
struct sma_dispatcher
{
    uint32_t magic;
    const struct sma_config *config;
    struct sma_timers timers;
    struct platform platforms[SMA_ADAPTER_COUNT_MAX];
    struct row *rows[DISPATCHER_TABLE_SIZE];
    struct chat *chats[DISPATCHER_TABLE_SIZE];
    struct send *sends[DISPATCHER_TABLE_SIZE];
    struct send *outcome_oldest, *outcome_newest;
    uint32_t row_count, chat_idle_count, send_count, outcome_count;
    uint32_t attempt_open_count, receipt_open_count;
    uint8_t hash_key[16];
    bool is_draining, is_drained;
    uint64_t drain_until_ns;
};

/* -- rows, chats (dispatcher_rows.c) ----------------------------------------------------------- */
struct platform *sma_dispatcher_platform(struct sma_dispatcher *dispatcher, unsigned actor);
/** NULL when no such row is held. */
struct row *sma_dispatcher_find_row(struct sma_dispatcher *dispatcher, uint64_t outbox_id);
struct chat *sma_dispatcher_find_chat(struct sma_dispatcher *dispatcher,
                                      const struct platform *platform, struct sma_str key);
/** Take over a DELIVER and put its row at the end of its chat. NULL when out of memory (msg
 *  kept). */
struct row *sma_dispatcher_add_row(struct sma_dispatcher *dispatcher, struct platform *platform,
                                   struct sma_msg **msg);
/** Into a queue of its own. @return false: there is no memory for one */
bool sma_dispatcher_set_aside(struct sma_dispatcher *dispatcher, struct row *row);
/** Take the row out of its chat's queue; it stays in the table. */
void sma_dispatcher_unlink_row(struct row *row);
void sma_dispatcher_destroy_row(struct sma_dispatcher *dispatcher, struct row *row);
/** Remove an idle chat. */
void sma_dispatcher_forget_chat(struct sma_dispatcher *dispatcher, struct chat *chat);
/** Fill bytes, part_ends and part_count. BADINPUT: the adapter gave no part. Anything else render()
 *  says. */
SMA_CHECKED enum sma_err sma_dispatcher_render(struct sma_dispatcher *dispatcher, struct row *row);

/* -- scheduling and attempts (dispatcher_attempt.c) -------------------------------------------- */
/** See where the chat's first row stands and hold, queue, end or forget accordingly. No effect on a
 *  busy chat. */
void sma_dispatcher_advance(struct sma_dispatcher *dispatcher, struct chat *chat,
                            struct sma_ctx *ctx);
/** Start attempts of the chats in the ready queue as far as rates and room allow. */
void sma_dispatcher_pump(struct sma_dispatcher *dispatcher, struct platform *platform,
                         struct sma_ctx *ctx);
void sma_dispatcher_on_result(struct sma_dispatcher *dispatcher, const struct sma_msg *msg,
                              const struct sma_attempt_result *result, struct sma_ctx *ctx);
/** The timer of an open attempt: it is over, or it is a file, which others may pass from now on. */
void sma_dispatcher_time_out(struct sma_dispatcher *dispatcher, struct row *row,
                             struct sma_ctx *ctx);
void sma_dispatcher_part_sent(struct sma_dispatcher *dispatcher, struct row *row,
                              struct sma_ctx *ctx);

/* -- receipts (dispatcher_receipt.c) ----------------------------------------------------------- */
/** The row is over: tell who asks, then the store. error may be empty. */
void sma_dispatcher_end_row(struct sma_dispatcher *dispatcher, struct row *row,
                            enum sma_delivery_state state, struct sma_str error,
                            struct sma_ctx *ctx);
/** Ask the store to keep `state` of the current part. */
void sma_dispatcher_send_receipt(struct sma_dispatcher *dispatcher, struct row *row,
                                 enum sma_delivery_state state, struct sma_ctx *ctx);
/** The row may not be attempted before until_ns: the store keeps it, and its credit is free. */
void sma_dispatcher_give_back(struct sma_dispatcher *dispatcher, struct row *row, uint64_t until_ns,
                              struct sma_ctx *ctx);
/** The timer of a held receipt. */
void sma_dispatcher_repeat_receipt(struct sma_dispatcher *dispatcher, struct row *row,
                                   struct sma_ctx *ctx);
void sma_dispatcher_on_receipt_done(struct sma_dispatcher *dispatcher,
                                    const struct sma_receipt_done *done, struct sma_ctx *ctx);

/* -- questions of the agent (dispatcher_send.c) ------------------------------------------------ */
void sma_dispatcher_on_send(struct sma_dispatcher *dispatcher, const struct sma_msg *msg,
                            const struct sma_send *question, struct sma_ctx *ctx);
/** Answer everybody who asks for this row. @return whether somebody did */
bool sma_dispatcher_tell_waiting(struct sma_dispatcher *dispatcher, const struct row *row,
                                 enum sma_send_state state, struct sma_ctx *ctx);
/** Likewise; keep the outcome if the question is still to come. */
void sma_dispatcher_tell_outcome(struct sma_dispatcher *dispatcher, const struct row *row,
                                 struct sma_ctx *ctx);
/** The deadline of a question: QUEUED. Destroys it. */
void sma_dispatcher_expire_send(struct sma_dispatcher *dispatcher, struct send *send,
                                struct sma_ctx *ctx);
/** At the end: free everything without answering. */
void sma_dispatcher_drop_sends(struct sma_dispatcher *dispatcher);

#endif
