/*
 * store_priv.h — what the files of the store actor share. Story and guarantees: docs/notes/store-actor.md.
 *
 *   store.c         create, destroy, the actor's table, one message in
 *   store_batch.c   the open transaction: begin, commit or undo, history lines, answers
 *   store_flush.c   between batches: history flush, rotation, contacts, disk watch, the next wake-up
 *   store_accept.c  INGRESS: claim, policy, row, line
 *   store_notice.c  what the store itself says in a chat
 *   store_access.c  who may: rules, what is remembered of people
 *   store_people.c  standing, where people can be reached
 *   store_pairing.c strangers and their codes
 *   store_let_in.c  groups that the owner's side has let in
 *   store_stranger.c  how much is kept of strangers
 *   store_known.c   who was there before people were paired
 *   store_prepare.c PREPARE and PREPARED: what must be fetched before a message starts
 *   store_group.c   albums: messages that are one message
 *   store_migrate.c a chat goes on under another key
 *   store_approval.c  parked runs: open requests and their clock (this and the next ones: store_approval.h)
 *   store_case.c    one request: read, decided, ended
 *   store_park.c    a step that parks its run; the cards
 *   store_decide.c  what somebody says about a request: may he, and what follows; DECIDE
 *   store_answer.c  presses and words, JUDGE and JUDGED
 *   store_grant.c   standing permissions
 *   store_project.c requests as JSON: lists, files, pending results
 *   store_control.c what /stop, /clear, /status and /help do
 *   store_runs.c    which run starts; RUN, STEP, DONE
 *   store_run_order.c  what RUN carries
 *   store_await.c   AWAIT and RESULT
 *   store_wait.c    runs that wait for a model (this and the next two: store_model.h)
 *   store_learned.c what targets refuse
 *   store_usage.c   what models used
 *   store_outbox.c  deliveries and receipts (this and the next: store_outbox.h)
 *   store_held.c    deliveries that may not be attempted yet
 *   store_query.c   STATUS, HISTORY, SESSION, CONTACT
 *   store_recover.c what start-up repairs
 *   store_facts.c   the opaque bytes kept beside a row; a small map of numbers
 *
 * Rule of the batch: everything in memory that belongs to the open transaction is marked so (is_new, is_ending,
 * is_handed_now ...) and settled after the commit or undone after its failure. The queue is cleared and read again
 * from state.db after a failure: failures are rare and the database is the truth.
 * Thread: the store's, after sma_store_create.
 */
#ifndef SMA_STORE_PRIV_H
#define SMA_STORE_PRIV_H

#include "runtime/access/access.h"
#include "runtime/approval/answer.h"
#include "runtime/approval/card.h"
#include "runtime/approval/request.h"
#include "runtime/chat/history.h"
#include "runtime/chat/queue.h"
#include "runtime/chat/state.h"
#include "sma/actors.h"
#include "sma/messages.h"
#include "sma/metrics.h"
#include "sma/notices.h"
#include "sma/text.h"

#include <stdio.h>

#define STORE_SUSPECT_COUNT_MAX (SMA_CONCURRENCY_MAX * 2)
#define STORE_COLLECT_COUNT_MAX 64 /* messages one run answers together */
#define STORE_CHAT_KEPT_COUNT 4096 /* chat records kept in memory before idle ones are dropped */
#define STORE_BATCH_LINE_BYTES \
    (8 * 1024 * 1024)                /* a batch with more history bytes commits at once */
#define STORE_FLUSH_LINE_COUNT 16384 /* history lines written before files are synced */
#define STORE_FLUSH_IDLE_NS UINT64_C(2000000000) /* ... or this long after the last one */
#define STORE_FLUSH_SLICE_NS \
    UINT64_C(2000000) /* files are synced for this long between two batches */
#define STORE_FLUSH_PAUSE_NS UINT64_C(8000000)    /* ... and then not for this long */
#define STORE_DISK_PERIOD_NS UINT64_C(1000000000) /* free space is looked at this often, */
#define STORE_DISK_COMMIT_COUNT 64                /* ... and every so many commits */
#define STORE_RETRY_MS 1000       /* what is refused for want of disk may come again */
#define STORE_SEARCH_COUNT_MAX 16 /* searches read at once; further ones wait */
#define STORE_NOTICE_STEP 0u      /* outbox keys of the store's own notices: no run has a step 0 */
#define STORE_GIVEN_UP_CALL 1u    /* ... of the notice that a run was given up */
#define STORE_ERROR_COUNT 8       /* last errors shown by STATUS */

struct store_row;
struct store_run;
struct store_group;

/* What is kept beside the row of a message. */
struct store_facts
{
    struct sma_route route; /* adapter and chat_key are not stored */
    struct sma_str context, text;
    bool has_text; /* otherwise the history line has it */
    int64_t wall_ms;
    int64_t accepted_ms; /* when it was accepted, wall clock; 0 = not noted */
    struct sma_str group_key;
    /* What has to happen before the row may start; gone from the row when it has. */
    struct sma_str preparation;
    bool wants_role;
    uint8_t control; /* of a command that waits for the role of its author */
    bool is_group,
        is_admin;    /* where it was said; the platform calls its author an administrator there */
    bool may_answer; /* may be the answer to a request, once the role of its author is known */
    bool is_else_ignored; /* ... and when it is not, it is only recorded */
    bool is_judged;       /* the agent is asked whether it is the answer to a request */
    struct sma_str
        request_id; /* may_answer, is_judged: the request that it means; empty: a press, which says it */
};

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

/* A run in the agent: one credit. */
struct store_run
{
    uint64_t seq;
    struct store_chat *chat;
    struct sma_stamps stamps;
    uint64_t started_ns;
    bool is_committed;                     /* its message and its start are durable */
    bool is_sent;                          /* RUN has left */
    bool is_ending;                        /* ended by the open transaction */
    bool is_suspect;                       /* begun before an unclean exit, no step since */
    uint8_t end;                           /* is_ending: enum store_run_end, for the log */
    struct sma_usage usage, usage_durable; /* of its steps; as of the last commit */
    uint32_t delivery_count;
    uint32_t last_step, last_step_durable; /* stored ones, with and without the open batch */
    uint32_t collected_count;
    uint64_t collected[STORE_COLLECT_COUNT_MAX];
};

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

struct store_effect
{
    struct sma_msg *msg;
    uint64_t ask_id, read_ns;
    uint8_t to;
    bool is_answer;
};
struct store_line
{
    struct store_chat *chat;
    uint64_t offset;
    size_t start, len; /* in line_bytes */
};
struct store_busy
{
    struct sma_msg *msg; /* the INGRESS, kept for its route */
    uint64_t seq;
    struct store_chat *chat;
};
struct store_waiter
{
    uint64_t seq, ask_id;
    uint32_t next;
    uint8_t asker;
};
struct store_orphan
{
    uint64_t run_seq, seq;
};
struct store_search
{
    struct store_search *next;
    struct sma_msg *question; /* HISTORY or QUERY */
    struct sma_history_reader *reader;
};

/* uint64 -> pointer, open addressing. Key 0 is not allowed. */
struct store_map
{
    uint64_t *keys;
    void **values;
    uint32_t count, cap;
};
SMA_CHECKED bool sma_store_map_put(struct store_map *map, uint64_t key, void *value);
void *sma_store_map_get(const struct store_map *map, uint64_t key);
void sma_store_map_remove(struct store_map *map, uint64_t key);
void sma_store_map_fini(struct store_map *map);

/* PREPARE for one waiting message: asked, or waiting for a place. */
struct store_question
{
    struct store_question *prev, *next; /* in one of its adapter's lists, oldest first */
    struct store_chat *chat;
    struct store_group *group; /* the album whose piece it is */
    uint64_t seq, ask_id;      /* ask_id 0 = not asked yet */
    uint64_t since_ns;         /* asked, or began to wait; 0 = not noted yet */
    uint8_t adapter;           /* index in store->adapters */
    bool is_control, is_seen;  /* is_seen: found again while the queue is read anew */
};
struct store_questions
{
    struct store_question *first, *last;
    uint32_t count;
};

/* An album under way: pieces that share a key. In memory only; what is accepted of it is in the rows. */
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

struct store_adapter
{
    const struct sma_adapter *adapter;
    unsigned label; /* of its platform in labels.h */
    uint32_t credits;
    struct store_chat *waiting_first, *waiting_last; /* chats whose next row waits for a credit */
    struct sma_access_rules *rules;
    struct store_questions asked, unasked;
    uint64_t busy_ns; /* when it was last asked to prepare, or answered */
};

/* A parked run: people are asked. In memory while it is open; state.db has the whole. */
struct store_approval
{
    struct store_approval *prev, *next;
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    struct store_chat *chat; /* whose run waits */
    uint64_t seq;
    uint32_t step;
    uint64_t deadline_ns;  /* 0 = the clock stands */
    int64_t left_ms;       /* then; -1 = it has not begun to run */
    uint32_t judged_count; /* messages that the agent reads: the clock stands */
    bool is_told;          /* the chat knows that it waits */
    bool is_own_buried;    /* we said something else in its chat since: words there may mean that */
    bool is_broken;        /* its rows cannot be read: it is given up with the next batch */
    uint32_t shown_count;
    struct store_chat *shown[SMA_APPROVAL_HOME_COUNT_MAX]; /* other chats that were asked */
    bool is_buried
        [SMA_APPROVAL_HOME_COUNT_MAX]; /* something was said there since: words may mean that */
};

/* A waiting message that may be the answer to a request. */
struct store_judgement
{
    uint64_t seq;
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    struct store_chat *chat;
    bool is_sent, is_seen; /* is_seen: found again while the queue is read anew */
};

struct store_grant
{
    struct store_grant *next; /* newer */
    int64_t until_ms, created_ms;
    struct sma_str id, chat_key, tool, rule, by; /* in bytes */
    char bytes[];
};

#define STORE_JUDGEMENT_COUNT_MAX 256 /* messages that the agent reads; further ones are ordinary */
#define STORE_CARD_CALL 40u           /* outbox keys of cards: own chat, then the homes */
#define STORE_CARD_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define STORE_APPROVAL_KEPT_MS (INT64_C(30) * 86400000) /* who decided is known for so long */

#define STORE_ROLE_COUNT 4096 /* roles remembered; a newer one takes the place of an older */
struct store_role
{
    uint64_t hash, until_ns; /* of chat and person */
    uint8_t role;
};

/* Free bytes for the project, for tests to replace. false: not known (taken as plenty). */
typedef bool store_disk_fn(void *user, uint64_t *ret_free_bytes);

/* What only tests change. */
struct sma_store_hooks
{
    const struct sma_sys *sys; /* for files; NULL = real */
    bool is_single_threaded;   /* checkpoints inside the commit */
    store_disk_fn *disk;
    void *disk_user;
};
SMA_CHECKED enum sma_err sma_store_create_hooked(const struct sma_store_options *options,
                                                 const struct sma_store_hooks *hooks,
                                                 struct sma_store **ret_store,
                                                 struct sma_error *error);

struct sma_store
{
    uint32_t magic;
    const struct sma_config *config;
    const struct sma_sys *sys;
    struct sma_ctx *ctx; /* set by start(): the store acts in one place only */
    struct store_adapter
        adapters[SMA_ADAPTER_COUNT_MAX + 1]; /* the last: channels not configured */
    uint32_t adapter_count;
    struct sma_state *state;
    struct sma_history *history;
    struct sma_queue *queue;
    bool is_draining, is_drained;
    bool has_failed_start,
        has_worked; /* the service did not come up; a message was handled or a run begun */
    uint64_t start_ns, answered_count;

    struct store_chat *chats;
    uint32_t chat_count, chat_sweep_at;

    struct store_run *runs[SMA_CONCURRENCY_MAX];
    uint32_t run_count; /* entries of runs, ending ones included */
    uint32_t runs_open; /* without the ending ones: credits in use */
    uint64_t suspects[STORE_SUSPECT_COUNT_MAX];
    uint32_t suspect_count;
    struct store_run *suspect_run; /* the one that has to prove itself now */
    bool
        is_cautious; /* the last exit was unclean and no step was made since: nothing starts before its commit */

    struct store_map rows; /* outbox id -> store_row */
    uint32_t outbox_open;
    struct store_row *held_first; /* rows that wait for their time */
    uint32_t held_count;
    uint64_t held_wake_ns; /* none is due before it */

    /* the open batch */
    struct store_effect *effects;
    uint32_t effect_count, effect_cap;
    uint64_t *finished;
    uint32_t finished_count, finished_cap;
    struct store_row **touched;
    uint32_t touched_count, touched_cap;
    struct store_busy *busy;
    uint32_t busy_count, busy_cap;
    uint32_t
        line_batch_first; /* lines before it belong to earlier, committed batches (disk was full) */
    bool has_run_change, has_step, has_done, has_receipt;
    bool is_urgent; /* something in it must be durable before its answers leave */
    bool
        has_no_place; /* a history file could not be opened: the trouble of one chat, not of the disk */
    bool is_refused_alone;        /* ... and the message that wanted it has changed nothing */
    uint32_t done_count;          /* runs answered by this batch */
    struct store_orphan *orphans; /* collected messages of runs that are not resumed yet */
    uint32_t orphan_count, orphan_cap;

    struct store_line *lines;
    uint32_t line_count, line_cap;
    struct sma_buf line_bytes;
    bool is_history_stuck; /* a history write met a full disk; repeated each second */

    struct store_effect *deferred; /* hand-offs whose lane was full, in order */
    uint32_t deferred_count, deferred_cap;

    /* AWAIT */
    struct sma_msg **asked; /* questions of the open batch: looked at after its commit */
    uint32_t asked_count, asked_cap;
    struct store_waiter *waiters;
    uint32_t waiter_count, waiter_cap, waiter_free; /* free list and heads: index + 1, 0 = none */
    struct store_map waiter_heads;                  /* seq -> index + 1 */

    /* between batches */
    struct store_chat *dirty_first; /* written since their last sync */
    struct store_chat *flush_first; /* what is left of the flush under way */
    struct store_chat *rotate_first;
    uint32_t lines_since_flush;
    uint64_t last_line_ns, flush_resume_ns, flush_seq, retry_ns;
    uint64_t lazy_ns; /* the first commit since the last sync that was not synced; 0 = none */
    bool is_flushing, has_unflushed, has_contact_change;
    uint64_t stuck_ns; /* when a full disk is tried again */
    struct store_search *search_first, *search_last;
    uint32_t search_count; /* with an open reader */

    /* disk */
    store_disk_fn *disk;
    void *disk_user;
    uint64_t disk_checked_ns, disk_free;
    uint32_t disk_commits;
    int disk_level; /* 0 plenty, 1 no intake, 2 no effects either */

    uint64_t sync_count, commit_count, lazy_commit_count; /* of state.db, as last seen */
    char errors[STORE_ERROR_COUNT][200];
    int64_t error_ms[STORE_ERROR_COUNT];
    uint32_t error_count;

    /* what waits for its preparation */
    struct sma_access_rules *default_rules;
    struct sma_access_roles *named;    /* permissions.roles */
    struct store_strangers *strangers; /* counted today: store_stranger.c */
    struct store_people *people;       /* what is remembered of people: store_people.h */
    struct store_map questions;        /* seq -> store_question */
    struct store_map groups;           /* hash -> store_group; full ones are not in it */
    struct store_map leaders;          /* seq -> store_group */
    struct store_groups gathering, gathered;
    uint32_t group_count;
    struct store_role roles[STORE_ROLE_COUNT];
    uint8_t hash_key[16];

    /* approvals */
    uint8_t approval_key[SMA_CARD_KEY_BYTES];
    struct store_approval *approval_first, *approval_last; /* oldest first */
    struct store_approval *approval_ended;                 /* by the open transaction */
    struct store_approval *approval_stale; /* what was in memory before the rows are read again */
    uint32_t approval_count;
    uint64_t approval_wake_ns; /* no clock runs out before it */
    struct store_judgement *judgements;
    uint32_t judgement_count, judgement_cap;
    struct store_grant *grant_first;
    char (*projected)[SMA_STATE_APPROVAL_ID_BYTES + 1]; /* changed by the open batch */
    uint32_t projected_count, projected_cap;
    struct sma_buf audit; /* lines of the open batch */

    /* models: store_model.h */
    struct store_wait *wait_first, *wait_last;
    struct store_map waits; /* seq -> store_wait */
    uint32_t wait_count;    /* those that are due included */
    uint64_t wait_wake_ns;  /* none is due before it */
    bool has_taught;        /* the agent has heard what targets refuse */

    struct sma_buf line_buf, facts_buf, text_buf, load_buf; /* scratch, kept for their memory */
    struct sma_buf boot_log;                                /* lines noted before start() */
};

/* -- store_batch.c ---------------------------------------------------------------------------------------------- */
/** Make sure that a transaction is open. */
SMA_CHECKED enum sma_err sma_store_begin(struct sma_store *store);
/** The same for what may wait for the sync of a later commit. */
SMA_CHECKED enum sma_err sma_store_begin_lazy(struct sma_store *store);
/** Pump, commit, write lines, answer; or undo and refuse. Safe with nothing open. */
void sma_store_end_batch(struct sma_store *store);
/** A change failed: undo the open batch and refuse everybody in it. */
void sma_store_fail_batch(struct sma_store *store, enum sma_err err);
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
/** Format an entry into store->line_buf and reserve its place. */
SMA_CHECKED enum sma_err sma_store_place_line(struct sma_store *store, struct store_chat *chat,
                                              const struct sma_history_entry *entry,
                                              int64_t *ret_offset);
/** An assistant or notice line: a row of its own in the open transaction. */
SMA_CHECKED enum sma_err sma_store_add_line(struct sma_store *store, struct store_chat *chat,
                                            const struct sma_history_entry *entry,
                                            uint64_t run_seq);
/** Write the committed lines to their files. */
void sma_store_write_lines(struct sma_store *store);
void sma_store_note_finished(struct sma_store *store, uint64_t seq);
void sma_store_note_error(struct sma_store *store, const char *text);
/** The chat's record, made if need be; NULL only when out of memory (which ends the program when running). */
struct store_chat *sma_store_chat(struct sma_store *store, struct sma_state_chat *state_chat);
void sma_store_chat_free(struct sma_store *store, struct store_chat *chat);
static inline struct sma_str sma_store_chat_key(const struct store_chat *chat)
{
    return (struct sma_str){chat->key, chat->key_len};
}
/** Grow an array of items to hold one more. false: out of memory. */
SMA_CHECKED bool sma_store_grow(void *array_pointer, uint32_t count, uint32_t *cap,
                                size_t item_bytes);

/* -- store_flush.c ---------------------------------------------------------------------------------------------- */
void sma_store_between(struct sma_store *store);   /* after the answers of a batch, in slices */
void sma_store_flush_all(struct sma_store *store); /* everything, now (drain) */
void sma_store_mark_dirty(struct sma_store *store, struct store_chat *chat);
void sma_store_check_disk(struct sma_store *store);
bool sma_store_is_degraded(
    const struct sma_store *store); /* nothing new is accepted for want of disk */
void sma_store_publish_disk(const struct sma_store *store);
void sma_store_set_wake(struct sma_store *store);

/* -- store_accept.c --------------------------------------------------------------------------------------------- */
void sma_store_ingress(struct sma_store *store, struct sma_msg **msg);
/* How a message comes in. */
struct store_acceptance
{
    enum sma_row_state row_state;
    uint64_t leader; /* the message whose run answers this piece of an album; 0 = its own */
    bool wants_role, may_answer, is_else_ignored, is_judged; /* as in store_facts */
    bool is_press;             /* no history line; its data is kept in the facts */
    bool is_unkept;            /* no history line: only claimed */
    struct sma_str request_id; /* as in store_facts */
};
/** Claim, row, line, cursor, contact; in the open transaction. */
SMA_CHECKED enum sma_err sma_store_write_row(struct sma_store *store, struct store_chat *chat,
                                             const struct sma_ingress *in,
                                             const struct store_acceptance *how, uint64_t *ret_seq);
/** ACCEPTED after the commit. notice is copied. */
void sma_store_accept_later(struct sma_store *store, const struct sma_msg *question,
                            const struct sma_accepted *accepted);

/* -- store_notice.c --------------------------------------------------------------------------------------------- */
/** The message that came (taken when it is kept) may have to wait; that is known only at the end of the batch. */
void sma_store_consider_busy(struct sma_store *store, struct store_chat *chat, struct sma_msg **msg,
                             uint64_t seq);
/** Tell those that have to wait; inside the transaction, after the pump. */
SMA_CHECKED enum sma_err sma_store_busy_notices(struct sma_store *store);
void sma_store_drop_busy(struct sma_store *store);
/** Say in the chat that it has no room, or that this person may not; once in a while. Inside the transaction. */
SMA_CHECKED enum sma_err sma_store_full_notice(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_ingress *in, uint64_t seq);
SMA_CHECKED enum sma_err sma_store_refusal_notice(struct sma_store *store, struct store_chat *chat,
                                                  const struct sma_route *route, uint64_t seq);
/** Any text in the chat of this route, once per message seq. Nothing on channels that see for themselves. */
SMA_CHECKED enum sma_err sma_store_tell(struct sma_store *store, const struct sma_route *route,
                                        uint64_t seq, struct sma_str text);
/** What a parked chat waits for, once for each request. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_remind(struct sma_store *store, struct store_chat *chat,
                                          const struct sma_route *route, uint64_t seq);
/** Words would decide, but nobody can tell what: ask. `about`: the one request that may be meant, NULL = several may.
 *  Once in a while; in the open transaction. */
SMA_CHECKED enum sma_err sma_store_ask_which(struct sma_store *store, struct store_chat *chat,
                                             const struct sma_route *route, uint64_t seq,
                                             const struct sma_str *about);
struct store_plea
{
    enum sma_notice notice; /* takes the title */
    struct sma_str title;
};
/** Words that do not decide, of somebody who may: how to say it so that it does. Once in a while; in the open transaction. */
SMA_CHECKED enum sma_err sma_store_ask_plainly(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_route *route, uint64_t seq,
                                               const struct store_plea *plea);
/** May a person hear again in this chat that he may not? At most once in a while. */
bool sma_store_may_refuse_again(struct sma_store *store, struct store_chat *chat);
/** A line for the audit, logged after the commit. details: a JSON object. */
void sma_store_audit(struct sma_store *store, const char *message, struct sma_str details_json);
void sma_store_flush_audit(struct sma_store *store);
enum sma_language sma_store_language(const struct sma_store *store, const struct sma_route *route);

/* -- store_access.c --------------------------------------------------------------------------------------------- */
/** Read the rules of every adapter from the configuration; what cannot be read is logged and the defaults hold. */
SMA_CHECKED enum sma_err sma_store_load_rules(struct sma_store *store);
void sma_store_free_rules(struct sma_store *store);
/** Decide about an event. chat may be NULL when there is no record of it yet. */
SMA_CHECKED enum sma_err sma_store_judge(struct sma_store *store, const struct store_chat *chat,
                                         const struct sma_ingress *in,
                                         struct sma_access_outcome *ret_outcome);
/** Remember, in the open transaction, what the outcome says about the person. */
SMA_CHECKED enum sma_err sma_store_admit(struct sma_store *store, const struct store_chat *chat,
                                         const struct sma_route *route,
                                         const struct sma_access_outcome *outcome);
/** What the platform said of a person, for ten minutes. UNKNOWN is not kept. */
void sma_store_note_role(struct sma_store *store, const struct store_chat *chat,
                         struct sma_str user_id, enum sma_role role);
/** At start: windows that have closed are forgotten. */
SMA_CHECKED enum sma_err sma_store_sweep_windows(struct sma_store *store);

/* -- store_people.c, store_pairing.c, store_let_in.c, store_known.c ----------------------------------------------- */
/** What the author of this route may do in this chat: by configuration, pairing and the platform's role as it is remembered.
 *  chat may be NULL. Slices of the route are enough; the adapter of it is not looked at. */
enum sma_standing sma_store_standing(struct sma_store *store, const struct store_chat *chat,
                                     const struct sma_route *route, bool is_group);
/** The platform's word on this person in this group is remembered, or would change nothing. false: ask PREPARE. */
bool sma_store_role_is_known(struct sma_store *store, const struct store_chat *chat,
                             const struct sma_route *route, bool is_group);
/** Where owners, then administrators, can be told in private: at most max routes, none of them of the chat not_chat_key.
 *  Slices point into storage. @return how many */
uint32_t sma_store_homes(struct sma_store *store, struct sma_str not_chat_key,
                         struct sma_route *ret_routes, uint32_t max, struct sma_buf *storage);
/** DECIDE of kind PAIRING. Takes *question; DECIDED follows the commit. */
void sma_store_decide_pairing(struct sma_store *store, struct sma_msg **question);
/** A stranger wrote: show a code. In private the message is kept for his pairing; in a group the code is the group's.
 *  is_whole: it may run as it is kept. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_ask_pairing(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_ingress *in, uint64_t seq,
                                               bool is_whole);
/** Say to a stranger that he may not talk here; once in a while. Inside the transaction. */
SMA_CHECKED enum sma_err sma_store_stranger_notice(struct sma_store *store, struct store_chat *chat,
                                                   const struct sma_ingress *in, uint64_t seq);
/** An owner writes "pair CODE" in private: not for the model. */
SMA_CHECKED enum sma_err sma_store_is_pairing_answer(struct sma_store *store,
                                                     const struct sma_ingress *in,
                                                     bool *ret_is_answer);
/** Carry it out and answer. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_answer_pairing(struct sma_store *store,
                                                  const struct sma_ingress *in, uint64_t seq);
/** The owner's side has let this group in: only there a platform's word about a role counts. In doubt false. */
bool sma_store_is_let_in(struct sma_store *store, const struct sma_route *route);
/** The group of this chat goes on under another chat id: what was said of it holds there too. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_group_move(struct sma_store *store, struct sma_str channel,
                                              struct sma_str from_chat_id,
                                              struct sma_str to_chat_id);
/** Standing by configuration and pairing, and is_rejected. */
SMA_CHECKED enum sma_err sma_store_find_person(struct sma_store *store,
                                               const struct sma_route *route,
                                               struct sma_access_facts *facts);
/** At the first start of a version that pairs: whoever was there before is a member. */
SMA_CHECKED enum sma_err sma_store_import_people(struct sma_store *store, struct sma_error *error);
/** Append {"pairings":[...],"people":[...]}. */
void sma_store_put_pairings(struct sma_store *store, struct sma_buf *json);
/** At start: where people can write but nobody is owner, one line of the log says how to become it. */
void sma_store_say_owner(struct sma_store *store);
/** A message was accepted, in the open transaction: remember where its author can be reached. */
SMA_CHECKED enum sma_err sma_store_note_person(struct sma_store *store,
                                               const struct store_chat *chat,
                                               const struct sma_ingress *in);

/* -- store_prepare.c -------------------------------------------------------------------------------------------- */
/** The message waits for its adapter; asked after the commit. group may be NULL. OK | NOMEM. */
SMA_CHECKED enum sma_err sma_store_hold(struct sma_store *store, struct store_chat *chat,
                                        uint64_t seq, const struct sma_route *route,
                                        struct store_group *group, bool is_control);
/** A waiting row of state.db, when the queue is read again. *ret_is_held: it must not start. */
SMA_CHECKED enum sma_err sma_store_hold_again(struct sma_store *store,
                                              const struct sma_state_message *message,
                                              bool *ret_is_held);
/** Before and after the queue is read again. */
void sma_store_reset_holds(struct sma_store *store);
void sma_store_drop_lost_questions(struct sma_store *store);
void sma_store_forget_holds(struct sma_store *store); /* the end */
/** The message is cancelled or over. */
void sma_store_release(struct sma_store *store, uint64_t seq);
/** Ask what may be asked. Nothing may be in a transaction. */
void sma_store_ask_questions(struct sma_store *store);
/** Go on without those who did not answer in time; inside the transaction or opening it. */
SMA_CHECKED enum sma_err sma_store_expire_questions(struct sma_store *store);
uint64_t sma_store_questions_wake(const struct sma_store *store);
void sma_store_prepared(struct sma_store *store, struct sma_msg **msg);
void sma_store_count_questions(const struct sma_store *store, uint32_t *ret_asked,
                               uint32_t *ret_waiting);

/* -- store_group.c ---------------------------------------------------------------------------------------------- */
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
/** The album is addressed by this message: recorded pieces wait with it from now on. In the transaction. */
SMA_CHECKED enum sma_err sma_store_group_lead(struct sma_store *store, struct store_group *group,
                                              uint64_t seq);
/** A piece (row WAITING, answered by the leader's run) joins. */
SMA_CHECKED enum sma_err sma_store_group_join(struct sma_store *store, struct store_group *group,
                                              uint64_t seq);
/** Let the leader go when nothing holds the album any more. */
void sma_store_group_settle(struct sma_store *store, struct store_group *group);
struct store_group *sma_store_group_of_leader(const struct sma_store *store, uint64_t leader);
void sma_store_group_drop(struct sma_store *store, struct store_group *group);
/** Forget those that the rows will make again and, is_all, also recorded pieces that are durable. */
void sma_store_groups_reset(struct sma_store *store, bool is_all);
void sma_store_expire_groups(struct sma_store *store);
uint64_t sma_store_groups_wake(const struct sma_store *store);

/* -- store_migrate.c -------------------------------------------------------------------------------------------- */
/** The chat of migrated_from goes on under the key of the event's route, if it does not already. Commits what is open
 *  first and is a transaction of its own. @ret_obstacle: text when it cannot be done now, else empty. */
void sma_store_migrate(struct sma_store *store, const struct sma_ingress *in,
                       struct sma_str *ret_obstacle);
/** Finish one that was cut, at start. NOTFOUND: the plan is of something else. */
SMA_CHECKED enum sma_err sma_store_finish_move(struct sma_store *store, struct sma_state_chat *chat,
                                               struct sma_error *error);

/* -- store_control.c -------------------------------------------------------------------------------------------- */
/** Carry out a control message whose row (RUNNING) was just accepted; finishes the row. */
SMA_CHECKED enum sma_err sma_store_control(struct sma_store *store, struct store_chat *chat,
                                           const struct sma_ingress *ingress, uint64_t seq);
/** The turn of a run that was ended by /stop comes. Errors fail the batch. */
void sma_store_keep_late_turn(struct sma_store *store, const struct sma_done *done);

/* -- store_runs.c ----------------------------------------------------------------------------------------------- */
/** May a message of this chat start before its commit? */
bool sma_store_may_start_now(const struct sma_store *store, const struct store_chat *chat);
/** Start a just accepted message: RUN leaves at once. */
void sma_store_start_now(struct sma_store *store, struct store_chat *chat,
                         const struct sma_ingress *ingress, uint64_t seq);
/** Start what can start; their RUN leaves after the commit. */
SMA_CHECKED enum sma_err sma_store_pump_runs(struct sma_store *store);
struct store_run *sma_store_run_find(struct sma_store *store, uint64_t seq);
/** The run is over in this transaction: frees credit and chat. */
void sma_store_run_end(struct sma_store *store, struct store_run *run);
/** After the commit, or (is_undone) after its failure. */
void sma_store_settle_runs(struct sma_store *store, bool is_undone);
/** Fill the queue from state.db. */
SMA_CHECKED enum sma_err sma_store_load_queue(struct sma_store *store);
void sma_store_forget_suspect(struct sma_store *store, uint64_t seq);
/** The next message that waits to be answered by this run (an album's piece, or collected before the program was
 *  started), taken off the list. */
bool sma_store_take_orphan(struct sma_store *store, uint64_t run_seq, uint64_t *ret_seq);
SMA_CHECKED enum sma_err sma_store_add_orphan(struct sma_store *store, uint64_t run_seq,
                                              uint64_t seq);
uint32_t sma_store_count_orphans(const struct sma_store *store, uint64_t run_seq);
/** A run could start now, if its chat were free. */
bool sma_store_has_room(const struct sma_store *store);
void sma_store_step(struct sma_store *store, struct sma_msg **msg);
void sma_store_done(struct sma_store *store, struct sma_msg **msg);
void sma_store_publish_runs(struct sma_store *store); /* gauges */

/** Finish a waiting or parked message as cancelled, with whatever it holds. */
SMA_CHECKED enum sma_err sma_store_cancel_message(struct sma_store *store, uint64_t seq);

/* -- store_run_order.c ------------------------------------------------------------------------------------------ */
struct sma_msg *sma_store_order_from_ingress(struct sma_store *store, const struct store_run *run,
                                             const struct sma_ingress *ingress);
struct store_order
{
    const struct store_run *run;
    bool is_resumed, is_decided;
    uint32_t attempt;
};
/** Load what the run needs from state.db. @return OK | CORRUPT | NOTFOUND (its row cannot be used) | IO | NOMEM */
SMA_CHECKED enum sma_err sma_store_order_from_rows(struct sma_store *store,
                                                   const struct store_order *order,
                                                   struct sma_msg **ret_msg);

/* -- store_await.c ---------------------------------------------------------------------------------------------- */
void sma_store_await(struct sma_store *store, struct sma_msg **msg);
void sma_store_answer_asked(struct sma_store *store); /* after the commit */
void sma_store_answer_waiters(struct sma_store *store, uint64_t seq);
void sma_store_answer_all_waiters(struct sma_store *store);

/* -- store_query.c ---------------------------------------------------------------------------------------------- */
void sma_store_query(struct sma_store *store, struct sma_msg **msg);
void sma_store_history(struct sma_store *store, struct sma_msg **msg);
void sma_store_search_slice(struct sma_store *store);
void sma_store_refuse_searches(struct sma_store *store); /* stopping: everybody gets an answer */
void sma_store_drop_searches(struct sma_store *store);
void sma_store_session(struct sma_store *store, struct sma_msg **msg);
void sma_store_contact(struct sma_store *store, struct sma_msg **msg);

/* -- store_recover.c -------------------------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err sma_store_recover(struct sma_store *store, struct sma_error *error);
void sma_store_report(void *self, const struct sma_history_report *report);
void sma_store_boot_line(struct sma_store *store, enum sma_log_level level, const char *format, ...)
    SMA_PRINTF(3, 4);

/* -- store_facts.c ---------------------------------------------------------------------------------------------- */
void sma_store_facts_put(struct sma_buf *buf, const struct store_facts *facts);
/** Slices point into bytes. */
SMA_CHECKED enum sma_err sma_store_facts_get(struct sma_str bytes, struct store_facts *ret_facts);
/** The "text" of a history line, appended to buf. */
SMA_CHECKED enum sma_err sma_store_line_text(struct sma_str line, struct sma_buf *buf);

#endif
