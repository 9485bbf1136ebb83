/*
 * store_model.h — what the store knows of models: runs that wait for one, what targets refuse, what was used.
 * Thread: the store's.
 */
#ifndef SMA_STORE_MODEL_H
#define SMA_STORE_MODEL_H

#include "store_approval.h"

#include "runtime/chat/state_model.h"

/* A run that waits for a model. Made from the rows at start and after a failed transaction. */
struct store_wait
{
    struct store_wait *prev, *next;
    struct store_chat *chat;
    uint64_t seq;
    int64_t due_ms, length_ms; /* as in its row */
    uint64_t due_ns;           /* 0 = not looked at yet */
    bool is_due;               /* in the queue: waits for a slot only */
};

/* -- store_wait.c ----------------------------------------------------------------------------------------------- */
/** The step just written makes its run wait. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_wait_for_model(struct sma_store *store, struct store_run *run,
                                                  const struct sma_step *step);
/** It waits for a model, or is due and waits for a slot. */
bool sma_store_is_waiting_run(const struct sma_store *store, uint64_t seq);
/** When it is due, wall clock; 0 = it does not wait. */
int64_t sma_store_wait_due_ms(const struct sma_store *store, uint64_t seq);
/** It is handed out, or over; nothing happens when it does not wait. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_end_wait(struct sma_store *store, uint64_t seq);
/** Queue those that are due. */
SMA_CHECKED enum sma_err sma_store_expire_waits(struct sma_store *store);
uint64_t sma_store_waits_wake(const struct sma_store *store);
/** Before and after the rows are read again. */
void sma_store_reset_waits(struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_load_waits(struct sma_store *store);
void sma_store_forget_waits(struct sma_store *store); /* the end */
/** /stop and /clear: the chat's waiting runs below mark are over. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_cancel_waits(struct sma_store *store, struct store_chat *chat,
                                                uint64_t mark, uint32_t *count);
/** The chat is free for whoever is next, unless something of it is open or waits. */
void sma_store_free_chat(struct sma_store *store, struct store_chat *chat);

/* -- store_learned.c -------------------------------------------------------------------------------------------- */
/** Tell the agent what is known, once, before its first RUN. */
void sma_store_teach(struct sma_store *store);
void sma_store_learn(struct sma_store *store, const struct sma_learned *learned);
/** Append {"<target>":["<member>"]}. */
void sma_store_put_learned(struct sma_store *store, struct sma_buf *buf);

/* -- store_usage.c ---------------------------------------------------------------------------------------------- */
/** Add to the sums and to the run's own. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_count_usage(struct sma_store *store, struct store_run *run,
                                               const struct sma_usage *usage,
                                               struct sma_str target);
/** Add to the sums only: the run is over. NOTFOUND when its row is gone. */
SMA_CHECKED enum sma_err sma_store_count_usage_of(struct sma_store *store, uint64_t seq,
                                                  const struct sma_usage *usage,
                                                  struct sma_str target);
/** Append "requests":n,... of an object that is open. */
void sma_store_put_usage_members(struct sma_buf *buf, const struct sma_usage *usage);
/** The answer to SMA_QUERY_USAGE. */
void sma_store_put_usage(struct sma_store *store, struct sma_buf *buf,
                         const struct sma_query *query);

#endif
