/*
 * intake_priv.h — what the files of the part "intake" share. Thread: the store's.
 */
#ifndef SMA_STORE_INTAKE_PRIV_H
#define SMA_STORE_INTAKE_PRIV_H

#include "intake.h"
#include "map.h"

#include "actors/kernel/reason_log.h"

#define STORE_AUDIT_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct store_busy
{
    struct sma_msg *msg; /* the INGRESS, kept for its route */
    uint64_t seq;
    struct store_chat *chat;
};

/* PREPARE for one waiting message: asked, or waiting for a place. */
struct store_question
{
    struct store_question *prev, *next; /* in one of its adapter's lists, oldest first */
    struct store_chat *chat;
    struct store_group *group; /* the album whose piece it is */
    uint64_t seq, ask_id;      /* ask_id 0 = not asked yet */
    uint64_t since_ns;         /* asked, or began to wait; 0 = not noted yet */
    uint8_t adapter;           /* index in store->adapters */
    bool is_damaged;           /* its row cannot be read */
    bool is_control, is_seen;  /* is_seen: found again while the queue is read anew */
};

/* An album under way: pieces that share a key. In memory only; what is accepted of it is in the
 * rows. */
struct store_group
{
    struct store_group *prev, *next; /* in order of their deadlines */
    struct store_chat *chat;
    uint64_t hash;   /* of chat and key */
    uint64_t leader; /* the waiting message that stands for all; 0 = only recorded pieces yet */
    uint64_t deadline_ns; /* of the quiet time; 0 = not noted yet */
    bool is_gathering;    /* within the quiet time */
    uint32_t piece_count, question_count;
    uint32_t recorded_count;
    uint64_t recorded[SMA_GROUP_COUNT_MAX];
    uint32_t key_len;
    char key[];
};

struct store_groups
{
    struct store_group *first, *last;
};

struct store_questions
{
    struct store_question *first, *last;
    uint32_t count;
};

/* What is asked of one adapter. */
struct store_desk
{
    struct store_questions asked, unasked;
    uint64_t busy_ns; /* when it was last asked to prepare, or answered */
};

/* What the dates of one platform's messages say of our clock. */
struct store_skew
{
    int64_t age_ms;    /* of the first of those that are late by the same time */
    uint64_t since_ns; /* when it came */
    uint32_t count;
    bool is_told;
    int64_t slow_ms; /* by how much the last date of the future was; 0 = none since one agreed */
};

struct store_intake
{
    struct store_skew skews[SMA_ADAPTER_COUNT_MAX]; /* as store->adapters */
    /* as store->adapters; the last: not configured */
    struct store_desk desks[SMA_ADAPTER_COUNT_MAX + 1];
    struct store_questions damaged; /* to be ended with the next batch */
    struct store_busy *busy;
    uint32_t busy_count, busy_cap;
    struct store_map questions; /* seq -> store_question */
    struct store_map groups;    /* hash -> store_group; full ones are not in it */
    struct store_map leaders;   /* seq -> store_group */
    struct store_groups gathering, gathered;
    uint32_t group_count;
    struct store_chat *quiet_first, *quiet_last;
    struct sma_buf audit; /* lines of the open batch */
    struct sma_reason_gate reasons;
    uint64_t full_told_ns; /* when it was last logged that no more may wait; 0 = never */
    bool
        /* it was logged that messages wait for a platform that is not configured */
        is_absence_told;
};

/** The message that came (taken when it is kept) may have to wait; that is known only at the end of
 *  the batch. */
void sma_store_consider_busy(struct sma_store *store, struct store_chat *chat, struct sma_msg **msg,
                             uint64_t seq);
/** Say in the chat that it has no room, or that this person may not; once in a while. Inside the
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_full_notice(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_ingress *in, uint64_t seq);
/** Say that this message came too late to be answered; once an hour. */
SMA_CHECKED enum sma_err sma_store_late_notice(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_ingress *in, uint64_t seq);
/** Say in the group into which the bot has come who it is and how it is talked to, and, where
 *  nobody has let it in, who does that: once for each join, by the platform's dates. Not when it
 *  came long ago, or when an owner has said no to the group. */
SMA_CHECKED enum sma_err sma_store_greet(struct sma_store *store, struct store_chat *chat,
                                         const struct sma_ingress *in, uint64_t seq);
SMA_CHECKED enum sma_err sma_store_refusal_notice(struct sma_store *store, struct store_chat *chat,
                                                  const struct sma_route *route, uint64_t seq);

/* -- group.c ----------------------------------------------------------------------------------- */
/** The album of this chat that a piece with this key may join, or NULL. */
struct store_group *sma_store_group_find(struct sma_store *store, const struct store_chat *chat,
                                         struct sma_str key);
/** Begin an album, or NULL when out of memory. */
struct store_group *sma_store_group_begin(struct sma_store *store, struct store_chat *chat,
                                          struct sma_str key);
/** One more piece: the quiet time begins anew. */
void sma_store_group_touch(struct sma_store *store, struct store_group *group);
/** A piece that was only recorded; it may still be wanted. */
void sma_store_group_record(struct sma_store *store, struct store_group *group, uint64_t seq);
/** The album is addressed by this message: recorded pieces wait with it from now on. In the
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_group_lead(struct sma_store *store, struct store_group *group,
                                              uint64_t seq);
/** A piece (row WAITING, answered by the leader's run) joins. */
SMA_CHECKED enum sma_err sma_store_group_join(struct sma_store *store, struct store_group *group,
                                              uint64_t seq);
/** Let the leader go when nothing holds the album any more. */
void sma_store_group_settle(struct sma_store *store, struct store_group *group);
struct store_group *sma_store_group_of_leader(const struct sma_store *store, uint64_t leader);
void sma_store_group_drop(struct sma_store *store, struct store_group *group);
/** Forget those that the rows will make again and, is_all, also recorded pieces that are
 *  durable. */
void sma_store_groups_reset(struct sma_store *store, bool is_all);

/* -- change.c ---------------------------------------------------------------------------------- */
/** A NOTE that says that a message was edited or is gone: acts on it, accepts the note. */
SMA_CHECKED enum sma_err sma_store_change(struct sma_store *store, struct sma_msg *msg);

/* -- quiet.c ----------------------------------------------------------------------------------- */
void sma_store_expire_quiet(struct sma_store *store);
uint64_t sma_store_quiet_wake(const struct sma_store *store);
void sma_store_reset_quiet(struct sma_store *store); /* the queue is read again */

/* -- migrate.c --------------------------------------------------------------------------------- */
/** The chat of migrated_from goes on under the key of the event's route, if it does not already.
 *  Commits what is open first and is a transaction of its own. @ret_obstacle: text when it cannot
 *  be done now, else empty. */
void sma_store_migrate(struct sma_store *store, const struct sma_ingress *in,
                       struct sma_str *ret_obstacle);

/* -- holds.c ----------------------------------------------------------------------------------- */
void sma_store_question_link(struct sma_store *store, struct store_question *question);
void sma_store_question_unlink(struct sma_store *store, struct store_question *question);
void sma_store_question_remove(struct sma_store *store, struct store_question *question);

/* -- message_row.c ----------------------------------------------------------------------------- */
void sma_store_format_facts(struct sma_store *store, const struct sma_ingress *in,
                            const struct store_acceptance *how);
SMA_CHECKED enum sma_err sma_store_save_cursor(struct sma_store *store,
                                               const struct sma_ingress *in);

/* -- tell.c ----------------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err sma_store_deliver_text(struct sma_store *store,
                                                const struct sma_route *route, uint64_t seq,
                                                struct sma_str text, bool is_about_cards);

/* -- say.c ------------------------------------------------------------------------------------- */
/** An event of kind SAY that is new. */
SMA_CHECKED enum sma_err sma_store_say(struct sma_store *store, const struct sma_msg *msg);

#endif
