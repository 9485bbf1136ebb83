/*
 * batch.h — the open transaction: who is answered after it, what leaves with it, how it ends. Part
 * of the spine; its thread.
 */
#ifndef SMA_STORE_BATCH_H
#define SMA_STORE_BATCH_H

#include "sma/actors.h"
#include "sma/messages.h"

struct sma_store;

#define STORE_BATCH_LINE_BYTES \
    (8 * 1024 * 1024)       /* a batch with more history bytes commits at once */
#define STORE_RETRY_MS 1000 /* what is refused for want of disk may come again */

/** Make sure that a transaction is open. */
SMA_CHECKED enum sma_err sma_store_begin(struct sma_store *store);
/** The same for what may wait for the sync of a later commit. */
SMA_CHECKED enum sma_err sma_store_begin_lazy(struct sma_store *store);
/** Pump, commit, write lines, answer; or undo and refuse. Safe with nothing open. */
void sma_store_end_batch(struct sma_store *store);
/** A change failed: undo the open batch and refuse everybody in it. */
void sma_store_fail_batch(struct sma_store *store, enum sma_err err);
/** What the batch holds: crash points and counters of its commit. */
enum store_mark
{
    STORE_MARK_STEP,
    STORE_MARK_DONE,
    STORE_MARK_FAILED, /* as DONE, of a run that failed */
    STORE_MARK_RECEIPT,
};
void sma_store_mark(struct sma_store *store, enum store_mark mark);
/** A transaction failed: what waits is not tried again for a moment. */
bool sma_store_is_retrying(const struct sma_store *store);
/** Effects may be made: there is disk, nothing failed a moment ago, the service is not ending. */
bool sma_store_may_write(const struct sma_store *store);
uint32_t sma_store_deferred_count(const struct sma_store *store); /* hand-offs whose lane is full */
uint64_t sma_store_answered_count(const struct sma_store *store); /* runs since the start, */
uint64_t sma_store_failed_count(const struct sma_store *store);   /* ... and these failed */
/** Receipts were written without a sync and no commit has come since. */
void sma_store_sync_lazy(struct sma_store *store, uint64_t now);
/** Keep an answer to `question` until the commit. Takes *answer. */
void sma_store_answer_later(struct sma_store *store, const struct sma_msg *question,
                            struct sma_msg **answer, uint64_t read_ns);
/** Keep a hand-off until the commit. Takes *msg. */
void sma_store_send_later(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg);
/** Does RUN of this seq, or DELIVER of this outbox id, leave with the open transaction? For load:
 *  an item was undone, and what the others of its batch hand out is as good as handed out. Looks at
 *  every hand-off that is kept. */
bool sma_store_hands_out(const struct sma_store *store, unsigned kind, uint64_t number);
/** Send now, or as soon as the lane has room. Takes *msg. */
void sma_store_send_now(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg);
/** Try the hand-offs whose lane was full. */
void sma_store_send_deferred(struct sma_store *store);
/** A message just made; NULL (no memory) ends the program: nothing is lost, the disk has it. */
struct sma_msg *sma_store_made(struct sma_store *store, struct sma_msg *msg);
void sma_store_note_finished(struct sma_store *store, uint64_t seq);
/** The next of them behind *place, which begins with 0; false, and the list is empty again:
 *  none. */
bool sma_store_next_finished(struct sma_store *store, uint32_t *place, uint64_t *ret_seq);
/** The one at this place of the list, which stays as it is. */
bool sma_store_finished_at(const struct sma_store *store, uint32_t place, uint64_t *ret_seq);
void sma_store_note_error(struct sma_store *store, const char *text);
/** Out of memory ends the program: nothing is lost, the disk has it. */
void sma_store_need(struct sma_store *store, bool has_memory);
/** Grow an array of items to hold one more. false: out of memory. */
SMA_CHECKED bool sma_store_grow(void *array_pointer, uint32_t count, uint32_t *cap,
                                size_t item_bytes);

#endif
