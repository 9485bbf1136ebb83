/*
 * outbox.h — deliveries: in which order they are handed out, what becomes of them. Part of the
 * store; its thread.
 *
 * A credit is a row that may be attempted now. What may not (its chat's rate, back-off, the
 * platform's order to wait) is given back by the dispatcher and handed out again when it is due;
 * nothing is written for either.
 */
#ifndef SMA_STORE_OUTBOX_H
#define SMA_STORE_OUTBOX_H

#include "store.h"

/** Index in store->adapters, or -1. */
int sma_store_adapter_of(const struct sma_store *store, const struct sma_route *route);
#define STORE_CARD_CALL 40u /* outbox keys of cards: own chat, then the homes */

struct store_delivery_facts
{
    uint64_t seq;
    uint32_t step;
    bool has_waiter;
    bool is_about_cards;             /* speaks of open requests: it supersedes none */
    const struct sma_stamps *stamps; /* may be NULL */
};
/** Add one delivery to the transaction and, if its turn is now, its hand-off. state->error is
 *  static or empty. */
SMA_CHECKED enum sma_err sma_store_deliver(struct sma_store *store,
                                           const struct store_delivery_facts *facts,
                                           const struct sma_step_delivery *delivery,
                                           struct sma_step_delivery_state *ret_state);
/** Give up the rows of a chat that are not handed out and older than mark. */
SMA_CHECKED enum sma_err sma_store_cancel_rows(struct sma_store *store, struct store_chat *chat,
                                               uint64_t mark);
/** Give up those of one run that nobody can have seen. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_cancel_rows_of(struct sma_store *store, struct store_chat *chat,
                                                  uint64_t seq);
/** Give up one row if nobody can have seen it. *ret_is_gone: it was given up. In the open
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_withdraw(struct sma_store *store, uint64_t outbox_id,
                                            bool *ret_is_gone);
/** Append the platform's id of a request's card; nothing when it is not known or cannot be changed
 *  from here. */
SMA_CHECKED enum sma_err sma_store_card_id(const struct sma_state_delivery *request,
                                           struct sma_buf *id);
/** How many answers to message seq the platform still takes; 0: it counts none. */
uint32_t sma_store_replies_left(struct sma_store *store, const struct store_chat *chat,
                                uint64_t seq, const struct sma_route *route);
void sma_store_receipt(struct sma_store *store, struct sma_msg **msg);
/** LATE: what the chat is to be sent behind it is handed out. */
void sma_store_late(struct sma_store *store, const struct sma_late *late);
/** The other chat's deliveries come behind the chat's own. */
void sma_store_merge_rows(struct sma_store *store, struct store_chat *chat,
                          struct store_chat *other);
/** The route leads to where the chat is now. message_id of a former place is not answered to. */
void sma_store_follow_route(const struct sma_state_chat *chat, struct sma_route *route);

struct store_outbox_counts
{
    uint32_t open, held;
};
struct store_outbox_counts sma_store_outbox_counts(const struct sma_store *store);

/* -- aside.c: what nobody can deliver now, because its platform is not in the configuration ---- */
/** The platform of this chat is not configured: its runs wait, too. */
bool sma_store_is_aside(const struct sma_store *store, const struct sma_state_chat *chat);
/** A message of such a chat waits; forgotten before the messages are read again. */
void sma_store_note_aside_message(struct sma_store *store, const struct sma_state_chat *chat);
void sma_store_forget_aside_messages(struct sma_store *store);
/** Append "waitingForPlatform":[{"channel":"...","messages":n,"deliveries":n}] to an object that is
 *  open. */
void sma_store_put_asides(const struct sma_store *store, struct sma_buf *json);

/* -- ours.c ------------------------------------------------------------------------------------ */
/** A message of ours was sent in this chat, under this name of the platform's. */
void sma_store_note_ours(struct sma_store *store, struct sma_str chat_key, struct sma_str id);
/** Is this message one that we sent there lately? */
bool sma_store_is_ours(struct sma_store *store, struct sma_str chat_key, struct sma_str id);

#endif
