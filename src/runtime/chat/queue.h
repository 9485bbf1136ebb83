/*
 * queue.h — which waiting message starts next: order, fairness and bounds, in memory only.
 *
 * Holds a number pair (seq, chat) per waiting message and nothing else; the rows are in state.db,
 * and after a failed transaction the owner clears the queue and fills it again from there.
 *
 * A message may be held: something of it is still being fetched. It keeps its place, and its chat
 * waits for it.
 *
 * Invariants: a chat is busy between start and finish and never started while busy; messages of one
 *             chat leave in the order they came, resumed ones first; a chat is in the heap exactly
 *             when it is free, has messages, the first of them is not held, and the chat is not
 *             paused or that one was begun before.
 * Order:      fifo: the free chat whose oldest message is oldest, resumed messages before all
 *             others. fair: persons take turns, and the chats of one person among each other:
 *             who has many chats ready goes once before somebody who has one. In the same turn
 *             resumed messages first, then the oldest. At most eight that came later pass by one
 *             whose turn has not come. One chat of one person: as it came.
 * Cost:       push, start, finish, position: O(log n); clear: O(n), n = chats that are busy or have
 * messages: others cost
 *             nothing. About 28 bytes a waiting message, 64 a chat or person that has one.
 * Threads:    the owner only.
 */
#ifndef SMA_RUNTIME_CHAT_QUEUE_H
#define SMA_RUNTIME_CHAT_QUEUE_H

#include "sma/base.h"

struct sma_queue;

struct sma_queue_options
{
    bool is_fair;
    uint32_t chat_waiting_max; /* messages waiting in one chat; push refuses beyond */
    uint32_t waiting_max;      /* in all chats */
    /* Whose message this is, never 0; asked when it is added. NULL: each chat is somebody else's */
    uint32_t (*person_of)(void *user, uint64_t seq);
    void *user;
};

/** @return OK | NOMEM. Allocates. */
SMA_CHECKED enum sma_err sma_queue_create(const struct sma_queue_options *options,
                                          struct sma_queue **ret_queue);
void sma_queue_destroy(struct sma_queue *queue); /* accepts NULL */
/** Forget all messages and all busy marks. */
void sma_queue_clear(struct sma_queue *queue);

/** Nothing more may wait, in whatever chat. */
bool sma_queue_is_full(const struct sma_queue *queue);
/** May one more wait in this chat? `chat` is the number the caller gives its chats.
 *  OK | FULL: at the chat's or the global bound. */
SMA_CHECKED enum sma_err sma_queue_check(const struct sma_queue *queue, uint32_t chat);
/** Add a message that was begun before: at the head of its chat and before all new ones. Not
 *  bounded. OK | NOMEM. */
SMA_CHECKED enum sma_err sma_queue_push_resumed(struct sma_queue *queue, uint32_t chat,
                                                uint64_t seq);
/** Add a message at the end of its chat, whatever the bounds say. seq must be larger than any other
 *  waiting in this chat. OK | NOMEM. */
SMA_CHECKED enum sma_err sma_queue_push_accepted(struct sma_queue *queue, uint32_t chat,
                                                 uint64_t seq);

/** The same, held. */
SMA_CHECKED enum sma_err sma_queue_push_held(struct sma_queue *queue, uint32_t chat, uint64_t seq);
/** Hold a waiting message, or let it go. Nothing happens when it does not wait here. Cost: as
 *  position. */
void sma_queue_set_held(struct sma_queue *queue, uint32_t chat, uint64_t seq, bool is_held);
/** While it is paused nothing new of a chat starts; what was begun does. Forgotten when nothing of
 *  it waits any more. */
void sma_queue_set_paused(struct sma_queue *queue, uint32_t chat, bool is_paused);
/** Take a message out of the middle. false: it does not wait here. */
bool sma_queue_remove(struct sma_queue *queue, uint32_t chat, uint64_t seq);
/** The oldest waiting message of a chat, busy or not. false: none waits. */
bool sma_queue_first(const struct sma_queue *queue, uint32_t chat, uint64_t *ret_seq);

/** The waiting messages of a chat, one after the other: *place begins with 0 and is good until the
 *  queue changes. false: there are no more. */
bool sma_queue_each(const struct sma_queue *queue, uint32_t chat, uint32_t *place,
                    uint64_t *ret_seq, bool *ret_is_held);

/** Which message would start next. false: none (nothing waits, or every chat with messages is busy
 *  or held). */
bool sma_queue_peek(const struct sma_queue *queue, uint32_t *ret_chat, uint64_t *ret_seq);
/** Take the oldest message of a free chat and make the chat busy. false: the chat is busy, held or
 *  has none. */
bool sma_queue_start(struct sma_queue *queue, uint32_t chat, uint64_t *ret_seq);
/** Take one more waiting message of a busy chat (collect). false: none waits, or the oldest is
 *  held. */
bool sma_queue_take_more(struct sma_queue *queue, uint32_t chat, uint64_t *ret_seq);
/** Take the oldest waiting message of a chat, busy, held or not, if its seq is below mark. false:
 *  there is none. */
bool sma_queue_take_below(struct sma_queue *queue, uint32_t chat, uint64_t mark, uint64_t *ret_seq);
/** Make a chat busy without taking a message: a run of this person is open already; 0: it waits for
 *  something else, and nobody's run is. */
SMA_CHECKED enum sma_err sma_queue_hold(struct sma_queue *queue, uint32_t chat, uint32_t person);
/** The chat's run is over: it is free again. */
void sma_queue_finish(struct sma_queue *queue, uint32_t chat);

/** How many runs of this person are open; 0: of the one whose message would start next. */
uint32_t sma_queue_running(const struct sma_queue *queue, uint32_t person);
bool sma_queue_is_busy(const struct sma_queue *queue, uint32_t chat);
uint32_t sma_queue_waiting(const struct sma_queue *queue);
uint32_t sma_queue_chat_waiting(const struct sma_queue *queue, uint32_t chat);
/** So many of those that wait now go before this one at most; 0 = none, or not waiting. fifo: all
 *  that came earlier.
 *  Cost: the chat's messages + log n. */
uint32_t sma_queue_position(const struct sma_queue *queue, uint32_t chat, uint64_t seq);
/** Memory it has taken. */
uint64_t sma_queue_bytes(const struct sma_queue *queue);

#endif
