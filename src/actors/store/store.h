/*
 * store.h — the spine of the store actor: the open transaction, the records of chats, its parts.
 * Story and guarantees: docs/notes/store-actor.md. Thread: the store's, after sma_store_create.
 */
#ifndef SMA_STORE_STORE_H
#define SMA_STORE_STORE_H

#include "runtime/chat/history.h"
#include "runtime/chat/queue.h"
#include "runtime/chat/state.h"
#include "sma/actors.h"
#include "sma/messages.h"
#include "sma/metrics.h"
#include "sma/notices.h"
#include "sma/text.h"

#include <stdio.h>

/* What the store keeps in memory of a chat that is busy in some way; hangs on sma_state_chat.user. */
struct store_chat
{
    struct sma_state_chat *state;
    struct store_chat *prev, *next; /* all of them */
    uint32_t id;
    struct store_run *run; /* open in the agent, not ending */
    bool has_ending;       /* a run of it ends in the open transaction */
    struct store_row *first,
        *last; /* open deliveries in order; finished ones until the batch is settled */
    uint32_t row_count;
    uint64_t busy_notice_ns, full_notice_ns, refusal_notice_ns, unclear_notice_ns; /* 0 = never */
    uint32_t held_count; /* questions and groups that point here */
    struct store_chat *dirty_next, *credit_next, *rotate_next;
    bool is_dirty, is_credit_waiting, is_rotating;
    uint32_t line_count;     /* lines not yet written to the file */
    uint32_t approval_count; /* open requests that are its own or are shown here */
    uint32_t wait_count;     /* its runs that wait for a model and are not due */
    bool has_own_key;        /* key was allocated by itself: the chat got it later */
    bool has_twins; /* two chats with open runs became one: more than one run may be open */
    uint32_t key_len;
    char *key; /* NUL-terminated */
};

struct store_adapter
{
    const struct sma_adapter *adapter;
    unsigned label; /* of its platform in labels.h */
};

#define STORE_CHAT_KEPT_COUNT 4096 /* chat records kept in memory before idle ones are dropped */
#define STORE_BATCH_LINE_BYTES \
    (8 * 1024 * 1024)        /* a batch with more history bytes commits at once */
#define STORE_RETRY_MS 1000  /* what is refused for want of disk may come again */
#define STORE_NOTICE_STEP 0u /* outbox keys of the store's own notices: no run has a step 0 */

/* Each private to its part: batch_priv.h, runs_priv.h ... */
struct store_batch;
struct store_runs;
struct store_outbox;
struct store_intake;
struct store_people;
struct store_consent;
struct store_record;
struct store_query;
struct store_upkeep;

/*
 * A part of the store and its life. The parts stand in one table (store.c), in the order in which they are loaded.
 * create and fini frame everything; load reads what is open from the rows, at start and, after forget, when a transaction has
 * failed; complete adds to the transaction what belongs into it but is decided last; settle follows its commit. Any of them may
 * be NULL.
 */
struct store_part
{
    const char *name;
    enum sma_err (*create)(struct sma_store *store);
    void (*settle)(struct sma_store *store);
    uint64_t (*wake)(const struct sma_store *store); /* when it wants to run; UINT64_MAX = not */
    void (*fini)(struct sma_store *store);
};

extern const struct store_part sma_store_batch_part, sma_store_record_part, sma_store_people_part,
    sma_store_consent_part, sma_store_runs_part, sma_store_intake_part, sma_store_outbox_part,
    sma_store_query_part, sma_store_upkeep_part;

struct sma_store
{
    uint32_t magic;
    const struct sma_config *config;
    const struct sma_sys *sys;
    struct sma_ctx *ctx; /* set by start(): the store acts in one place only */
    struct store_adapter adapters[SMA_ADAPTER_COUNT_MAX];
    uint32_t adapter_count;
    struct sma_state *state;
    struct sma_history *history;
    struct sma_queue *queue;
    bool is_draining, is_drained;
    bool has_failed_start,
        has_worked; /* the service did not come up; a message was handled or a run begun */
    uint64_t start_ns;

    struct store_chat *chats;
    uint32_t chat_count, chat_sweep_at;
    uint8_t hash_key[16];

    struct sma_buf line_buf, facts_buf, text_buf, load_buf; /* scratch, kept for their memory */
    struct sma_buf boot_log;                                /* lines noted before start() */

    uint32_t part_count; /* parts that were created */
    struct store_batch *batch;
    struct store_runs *runs;
    struct store_outbox *outbox;
    struct store_intake *intake;
    struct store_people *people;
    struct store_consent *consent;
    struct store_record *record;
    struct store_query *query;
    struct store_upkeep *upkeep;
};

/* -- batch.c: the open transaction ------------------------------------------------------------------------------ */
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
    STORE_MARK_RECEIPT,
};
void sma_store_mark(struct sma_store *store, enum store_mark mark);
/** A transaction failed: what waits is not tried again for a moment. */
bool sma_store_is_retrying(const struct sma_store *store);
/** Effects may be made: there is disk, nothing failed a moment ago, the service is not ending. */
bool sma_store_may_write(const struct sma_store *store);
uint32_t sma_store_deferred_count(const struct sma_store *store); /* hand-offs whose lane is full */
uint64_t sma_store_answered_count(const struct sma_store *store); /* runs since the start */
/** Receipts were written without a sync and no commit has come since. */
void sma_store_sync_lazy(struct sma_store *store, uint64_t now);
/** Keep an answer to `question` until the commit. Takes *answer. */
void sma_store_answer_later(struct sma_store *store, const struct sma_msg *question,
                            struct sma_msg **answer, uint64_t read_ns);
/** Keep a hand-off until the commit. Takes *msg. */
void sma_store_send_later(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg);
/** Send now, or as soon as the lane has room. Takes *msg. */
void sma_store_send_now(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg);
/** Try the hand-offs whose lane was full. */
void sma_store_send_deferred(struct sma_store *store);
/** A new message; out of memory ends the program (nothing is lost: the disk has it). */
struct sma_msg *sma_store_msg(struct sma_store *store, unsigned kind, size_t body_bytes,
                              size_t space);
#define STORE_MSG(store, KIND, TYPE, space) \
    sma_store_msg((store), SMA_MSG_##KIND, sizeof(TYPE), (space))
void sma_store_note_finished(struct sma_store *store, uint64_t seq);
void sma_store_note_error(struct sma_store *store, const char *text);
/** Out of memory ends the program: nothing is lost, the disk has it. */
void sma_store_need(struct sma_store *store, bool has_memory);
/** Grow an array of items to hold one more. false: out of memory. */
SMA_CHECKED bool sma_store_grow(void *array_pointer, uint32_t count, uint32_t *cap,
                                size_t item_bytes);

/* -- chat.c: records of chats that are busy in some way --------------------------------------------------------- */
/** The chat's record, made if need be; NULL only when out of memory (which ends the program when running). */
struct store_chat *sma_store_chat(struct sma_store *store, struct sma_state_chat *state_chat);
/** Between batches: records of chats in which nothing goes on are dropped. */
void sma_store_sweep_chats(struct sma_store *store);
/** Chats that were made by an undone transaction exist no more. */
void sma_store_drop_undone_chats(struct sma_store *store);
void sma_store_chat_free(struct sma_store *store, struct store_chat *chat);
static inline struct sma_str sma_store_chat_key(const struct store_chat *chat)
{
    return (struct sma_str){chat->key, chat->key_len};
}

#endif
