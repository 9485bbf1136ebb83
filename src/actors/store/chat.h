/*
 * chat.h — records of chats that are busy in some way. Part of the spine; its thread.
 */
#ifndef SMA_STORE_CHAT_H
#define SMA_STORE_CHAT_H

#include "runtime/chat/state_budget.h"

struct sma_store;

#define STORE_CHAT_KEPT_COUNT 4096 /* kept in memory before idle ones are dropped */

/* queue.mode collect: the next run waits until nobody has written for a while. */
struct store_quiet
{
    struct store_chat *prev, *next; /* by until_ns */
    uint64_t since_ns, until_ns;
    bool is_on;
};

/* What the store keeps in memory of a chat that is busy in some way; hangs on
 * sma_state_chat.user. */
struct store_chat
{
    struct sma_state_chat *state;
    struct store_chat *prev, *next; /* all of them */
    uint32_t id;
    struct store_run *run; /* open in the agent */
    struct store_row *first,
        *last; /* open deliveries in order; finished ones until the batch is settled */
    uint32_t row_count;
    uint64_t busy_notice_ns, full_notice_ns, refusal_notice_ns, unclear_notice_ns; /* 0 = never */
    uint64_t late_notice_ns;
    uint32_t held_count; /* questions, groups and the quiet time point here */
    struct store_quiet quiet;
    struct sma_state_spent usual; /* what its runs use, lately; budgets only */
    struct store_chat *dirty_next, *credit_next, *rotate_next;
    bool is_dirty, is_credit_waiting, is_rotating;
    uint32_t line_count;     /* lines not yet written to the file */
    uint32_t approval_count; /* open requests that are its own or are shown here */
    uint32_t wait_count;     /* its runs that wait for a model and are not due */
    bool has_own_key;        /* key was allocated by itself: the chat got it later */
    bool has_behind;         /* perhaps something waits that goes into a run in every mode */
    bool has_two_runs; /* two chats with open runs became one: more than one run may be open */
    uint32_t key_len;
    char *key; /* NUL-terminated */
};

/** The chat's record, made if need be; NULL only when out of memory (which ends the program when
 *  running). */
struct store_chat *sma_store_chat(struct sma_store *store, struct sma_state_chat *state_chat);
/** Between batches: records of chats in which nothing goes on are dropped. */
void sma_store_sweep_chats(struct sma_store *store);
/** Between batches: drop the record of this chat, if nothing goes on in it. @return there is none
 *  now */
bool sma_store_let_go_chat(struct sma_store *store, struct sma_state_chat *state_chat);
/** Chats that were made by an undone transaction exist no more. */
void sma_store_drop_undone_chats(struct sma_store *store);
void sma_store_chat_free(struct sma_store *store, struct store_chat *chat);
/** A key without the topic: `feishu:chat:oc_x:topic:omt_y` is a conversation of the chat
 *  feishu:chat:oc_x. */
struct sma_str sma_store_chat_base(struct sma_str key);
static inline struct sma_str sma_store_chat_key(const struct store_chat *chat)
{
    return (struct sma_str){chat->key, chat->key_len};
}

#endif
