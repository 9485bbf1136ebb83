/*
 * runs.h — which run starts; RUN, STEP, DONE; runs that wait for a model; usage. Part of the store;
 * its thread.
 */
#ifndef SMA_STORE_RUNS_H
#define SMA_STORE_RUNS_H

#include "store.h"

#include "actors/kernel/reason_log.h"

#define STORE_COLLECT_COUNT_MAX 64 /* messages one run answers together */
#define STORE_GIVEN_UP_CALL 1u     /* ... of the notice that a run was given up */
#define STORE_HOOK_CALL 16u        /* ... of what hooks are told, one each: below those of cards */
#define STORE_OVER_CALL 7u         /* ... that a budget is used up */
#define STORE_REFUSED_CALL 3u /* ... of the notice that the platform does not show the answer */

/* A run in the agent: one credit. The row has the rest. */
struct store_run
{
    struct store_run *next; /* while the rows are read again */
    uint64_t seq;
    struct store_chat *chat;
    struct sma_stamps stamps;
    uint64_t started_ns;
    uint64_t durable_ns;    /* the commit of its message, where it began before that; 0 = not */
    bool is_sent;           /* RUN has left: the agent holds it */
    bool is_suspect;        /* begun before an unclean exit, no step since */
    uint8_t end;            /* how it left: enum store_run_end, for the log */
    struct sma_usage usage; /* of its steps */
    uint32_t last_step;     /* stored ones */
    /* its last step; so long after it, it waits for something slow: its place is another's */
    uint64_t place_ns;
    uint32_t place_ms;
    struct store_steering
    {
        bool is_due;                      /* something waits that may go into it */
        uint64_t told_seq, told_note_seq; /* the agent has heard of those up to here ... */
        uint32_t told_count;              /* ... and no step holds these yet */
        uint64_t told[STORE_COLLECT_COUNT_MAX];
        bool is_asking;     /* it waits for words of its person ... */
        uint64_t asked_seq; /* ... that came after this message */
    } steering;
    uint32_t collected_count;
    uint64_t collected[STORE_COLLECT_COUNT_MAX];
    uint32_t key_len;
    char key[]; /* of its chat, as RUN says it; NUL-terminated */
};

/** May a message of this person in this chat start before its commit? */
bool sma_store_may_start_now(const struct sma_store *store, const struct store_chat *chat,
                             struct sma_str user_id);
/** Of the author of a message in the rows, for the queue: the same in all chats of a platform. */
uint32_t sma_store_person_of(void *store, uint64_t seq);
/** A message that has just been written, by this person: its row need not be read for that. */
SMA_CHECKED enum sma_err sma_store_queue_accepted(struct sma_store *store,
                                                  const struct store_chat *chat, uint64_t seq,
                                                  struct sma_str user_id, bool is_held);
/** Start a just accepted message: RUN leaves at once. */
void sma_store_start_now(struct sma_store *store, struct store_chat *chat,
                         const struct sma_ingress *ingress, uint64_t seq);
struct store_run *sma_store_run_find(struct sma_store *store, uint64_t seq);
/** The run is over in this transaction: frees credit and chat. */
void sma_store_run_end(struct sma_store *store, struct store_run *run);
SMA_CHECKED enum sma_err sma_store_add_collected(struct sma_store *store, uint64_t run_seq,
                                                 uint64_t seq);
/** The next message that waits to be answered by this run (an album's piece, or collected before
 *  the program was started), taken off the list. */
bool sma_store_take_collected(struct sma_store *store, uint64_t run_seq, uint64_t *ret_seq);
/** The next such message from *place on (0 at first), which stays on the list. */
bool sma_store_next_collected(const struct sma_store *store, uint64_t run_seq, uint32_t *place,
                              uint64_t *ret_seq);
/** It leaves the agent because people are asked; for the log. */
void sma_store_note_asks(struct store_run *run);
/** The next run could start now, if its chat were free. */
bool sma_store_has_room(const struct sma_store *store);
void sma_store_step(struct sma_store *store, struct sma_msg **msg);
void sma_store_done(struct sma_store *store, struct sma_msg **msg);
/** Nothing starts before its commit until a run has made a step. */
void sma_store_set_cautious(struct sma_store *store, bool is_cautious);
struct store_run_counts
{
    uint32_t open, suspects, waiting_for_model;
};
struct store_run_counts sma_store_run_counts(const struct sma_store *store);
void sma_store_publish_runs(struct sma_store *store); /* gauges */

/* -- hook.c ------------------------------------------------------------------------------------ */
/** Who is told when a run ends: at the store's creation. */
void sma_store_set_hooks(struct sma_store *store);

/* -- control.c --------------------------------------------------------------------------------- */
/** Carry out a control message whose row (RUNNING) was just accepted; finishes the row. */
SMA_CHECKED enum sma_err sma_store_control(struct sma_store *store, struct store_chat *chat,
                                           const struct sma_ingress *ingress, uint64_t seq);
/** An open run, with everything it answers; the agent is the caller's to tell. */
SMA_CHECKED enum sma_err sma_store_cancel_open(struct sma_store *store, struct store_run *run,
                                               uint32_t *count);
/** Finish a waiting or parked message as cancelled, with whatever it holds. */
SMA_CHECKED enum sma_err sma_store_cancel_message(struct sma_store *store, uint64_t seq);

/* -- wait.c ------------------------------------------------------------------------------------ */
/** It waits for a model, or is due and waits for a slot. */
bool sma_store_is_waiting_run(const struct sma_store *store, uint64_t seq);
/** Queue those that are due. */
SMA_CHECKED enum sma_err sma_store_expire_waits(struct sma_store *store);
uint64_t sma_store_waits_wake(const struct sma_store *store);
/** Before and after the rows are read again. */
void sma_store_reset_waits(struct sma_store *store);
/** /stop and /clear: the chat's waiting runs below mark are over. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_cancel_waits(struct sma_store *store, struct store_chat *chat,
                                                uint64_t mark, uint32_t *count);
/** The chat is free for whoever is next, unless something of it is open or waits. */
void sma_store_free_chat(struct sma_store *store, struct store_chat *chat);

/* -- steer.c ----------------------------------------------------------------------------------- */
/** A message of the chat waits, or is ready by now: perhaps its open run takes it. */
void sma_store_note_addition(struct sma_store *store, const struct store_chat *chat);
/** It is withdrawn: the agent forgets it, if it can still. */
void sma_store_take_back_addition(struct sma_store *store, struct store_chat *chat, uint64_t seq);
/** The agent has been told of it, so the person need not hear that it waits. */
bool sma_store_is_addition(const struct store_chat *chat, uint64_t seq);

/* -- notes.c ----------------------------------------------------------------------------------- */
/** A waiting NOTE: its author's next request in this chat is told. In the open transaction, or at
 *  start. */
SMA_CHECKED enum sma_err sma_store_add_note(struct sma_store *store, struct store_chat *chat,
                                            uint64_t seq, struct sma_str message_id);
/** Is its change worth a line of history now? One that changes all the time has one a minute. */
bool sma_store_wants_note_line(struct sma_store *store, struct store_chat *chat,
                               struct sma_str message_id);
/** A piece of an album waits no more, if it is one. */
void sma_store_drop_collected(struct sma_store *store, uint64_t seq);

/* -- learned.c, usage.c, trace.c, seen.c ------------------------------------------------------- */
/** Tell the agent what is known, once, before its first RUN. */
void sma_store_teach(struct sma_store *store);
void sma_store_learn(struct sma_store *store, const struct sma_learned *learned);
/** Append {"<target>":["<member>"]}. */
void sma_store_put_learned(struct sma_store *store, struct sma_buf *buf);
/* -- usage_sum.c: the answer to SMA_QUERY_USAGE, made a day at a time */
struct store_usage_sum;
struct store_usage_sum *sma_store_usage_begin(struct sma_store *store,
                                              const struct sma_query *query);
/** One more day. @return none is left */
bool sma_store_usage_next(struct sma_store *store, struct store_usage_sum *sum);
void sma_store_usage_put(struct sma_store *store, struct sma_buf *buf,
                         const struct store_usage_sum *sum);
void sma_store_usage_end(struct store_usage_sum *sum); /* NULL: nothing */
/** Append the life of a run ("17") or of a message as its platform names it ("m:55"):
 *  docs/http-api.md; {} when it is not known. */
void sma_store_put_trace(struct sma_store *store, struct sma_buf *json, struct sma_str asked);
/** "waiting", "done", ... as in docs/http-api.md; run: what answers the message. */
const char *sma_store_state_name(const struct sma_store *store, const struct sma_state_head *head,
                                 uint64_t run);
/* -- run_list.c */
/** Append what GET /api/runs says of this message. */
SMA_CHECKED enum sma_err sma_store_put_run(struct sma_store *store, struct sma_buf *json,
                                           const struct sma_state_head *head);
/** Append position, approvalId and waitsFor of an open message, as far as they are known. */
void sma_store_put_waits(struct sma_store *store, struct sma_buf *json,
                         const struct sma_state_head *head);
/** Append what became of one delivery, {} when there is none: docs/http-api.md. */
void sma_store_put_delivery(struct sma_store *store, struct sma_buf *json, struct sma_str asked);
/** In the open transaction, add to the sums only: the run is over, or has not begun. NOTFOUND when
 *  its row is gone. */
SMA_CHECKED enum sma_err sma_store_count_usage_of(struct sma_store *store, uint64_t seq,
                                                  const struct sma_usage *usage,
                                                  struct sma_str target);
/** SPENT: the same of what no run tells of; nothing when there is no disk. */
void sma_store_count_spent(struct sma_store *store, const struct sma_spent *spent);
/** Append "usageToday":{...} to an object that is open. */
void sma_store_put_usage_today(struct sma_store *store, struct sma_buf *json);
struct store_accepted_log
{
    struct sma_msg *answer; /* ACCEPTED */
    uint8_t to;
    uint64_t read_ns, now;
};
/** What became of a message: the answer to its INGRESS. Counted and logged. */
void sma_store_log_accepted(struct sma_store *store, const struct store_accepted_log *accepted);
/** A message of this adapter is not answered: its reason. platform is filled in; from the store
 *  itself it is given. */
void sma_store_log_unanswered(struct sma_store *store, unsigned actor,
                              const struct sma_unanswered *unanswered);
/** A message of this adapter was refused: it comes again. */
void sma_store_count_refused(const struct sma_store *store, unsigned actor);

/* -- model_choice.c ---------------------------------------------------------------------------- */
/** The chat is gone: so is what was chosen for it. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_forget_choice(struct sma_store *store, uint32_t chat_id);
/** `chat` goes on under the key of `other`: what was chosen for it stays, else what was for the
 *  other counts. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_move_choice(struct sma_store *store, uint32_t chat,
                                               uint32_t other);
/** Whoever is answered in this chat may choose. */
bool sma_store_choice_is_free(const struct sma_store *store, const struct store_chat *chat,
                              const struct sma_route *route);
/** {"telegram:chat:7":"spare",...}: chats for which /model has chosen. */
void sma_store_put_choices(struct sma_store *store, struct sma_buf *json);

/* -- output.c ---------------------------------------------------------------------------------- */
/** Is this message a word for one of these here and now? *ret_control: which one; NONE: it is for
 *  the model. */
SMA_CHECKED enum sma_err sma_store_output_word(struct sma_store *store,
                                               const struct store_chat *chat,
                                               const struct sma_ingress *in,
                                               enum sma_control *ret_control);

#endif
