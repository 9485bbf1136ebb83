/*
 * runs_priv.h — what the files of the part "runs" share. Thread: the store's.
 */
#ifndef SMA_STORE_RUNS_PRIV_H
#define SMA_STORE_RUNS_PRIV_H

#include "map.h"
#include "runs.h"
#include "runtime/chat/state_model.h"

#define STORE_SUSPECT_COUNT_MAX (SMA_CONCURRENCY_MAX * 2)
#define STORE_NOTE_COUNT_MAX 64  /* of a chat; older ones are not told any more */
#define STORE_NOTE_LINE_MS 60000 /* what changes all the time has a line of history this often */
#define STORE_QUARANTINE_S 10    /* a suspect without a step stops nobody else after it */

struct store_collected
{
    uint64_t run_seq, seq;
};

/* A NOTE row that waits for its author's next request. */
struct store_note
{
    struct store_chat *chat;
    uint64_t seq;
    uint64_t target;  /* hash of the message that it is about; 0 = not known */
    int64_t lined_ms; /* its last line of history */
};

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

/* A run that was begun before an unclean exit: it may be what ended the program. */
struct store_suspect
{
    uint64_t seq;
    bool is_let_go; /* in the queue it is held until its turn */
    bool is_over;   /* by the open transaction: it made a step, or is over */
};

struct store_runs
{
    struct store_run *entries[SMA_CONCURRENCY_MAX]; /* open: credits in use */
    uint32_t open_count;
    struct store_run **ended; /* by the open transaction: the agent has them until its commit */
    uint32_t ended_count, ended_cap;
    struct store_run *kept; /* between forget and load: what may be in the agent */
    struct store_suspect suspects[STORE_SUSPECT_COUNT_MAX];
    uint32_t suspect_count;
    uint64_t quarantine_ns; /* until then nothing runs beside a suspect; 0 = none has begun */
    bool
        /* the last exit was unclean and no step was made since: nothing starts before its commit */
        is_cautious;
    bool is_loaded;
    uint64_t *stuck; /* rows that can neither be used nor ended */
    uint32_t stuck_count, stuck_cap;
    struct store_collected *orphans; /* collected messages of runs that are not resumed yet */
    uint32_t orphan_count, orphan_cap;
    struct store_note *notes; /* in order */
    uint32_t note_count, note_cap, note_dropped_count;
    struct store_wait *wait_first, *wait_last;
    struct store_map waits; /* seq -> store_wait */
    uint32_t wait_count;    /* those that are due included */
    uint64_t wait_wake_ns;  /* none is due before it */
    bool has_taught;        /* the agent has heard what targets refuse */
    bool has_additions;     /* some open run's steering is due */
    struct store_author
    {
        uint64_t seq; /* 0: none */
        uint32_t person;
    } author; /* of the message that is put into the queue right now */
    /* Who is told of ends: those of the start, like the adapter that sends. NULL: nobody */
    const struct sma_hook *hooks;
    size_t hook_count;
    enum sma_err (*tell_hooks)(struct sma_store *store, const struct sma_state_finish *finish);
};

/* -- runs_load.c ------------------------------------------------------------------------------- */
enum sma_err sma_store_load_runs(struct sma_store *store);
void sma_store_forget_runs(struct sma_store *store, const struct store_marks *to);
void sma_store_free_kept_runs(struct sma_store *store);
/** An open run that is new, or found again. Its chat's. */
void sma_store_enter_run(struct sma_store *store, struct store_run *run, struct store_chat *chat);
/** This row can neither be used nor ended: it is passed over in this life. */
bool sma_store_is_stuck(const struct sma_store *store, uint64_t seq);
void sma_store_set_stuck(struct sma_store *store, uint64_t seq, struct sma_str chat_key,
                         const char *why);

/** The same of an open run: its slot is free, its row stays. */
void sma_store_leave_stuck(struct sma_store *store, uint64_t seq);

/* -- suspect.c --------------------------------------------------------------------------------- */
/** More than there is room for are ordinary. */
void sma_store_add_suspect(struct sma_store *store, uint64_t seq);
struct store_suspect *sma_store_find_suspect(const struct sma_store *store, uint64_t seq);
/** Nothing may start beside it yet. */
bool sma_store_is_quarantined(const struct sma_store *store);
/** The next suspect's turn. */
void sma_store_let_suspect_go(struct sma_store *store);
void sma_store_settle_suspects(struct sma_store *store);
uint64_t sma_store_suspects_wake(const struct sma_store *store);

uint32_t sma_store_count_collected(const struct sma_store *store, uint64_t run_seq);
void sma_store_forget_suspect(struct sma_store *store, uint64_t seq);
/** The turn of a run that was ended by /stop comes. Errors fail the batch. */
void sma_store_keep_late_turn(struct sma_store *store, const struct sma_done *done);

/* -- runs.c, for step.c ------------------------------------------------------------------------ */
/** Finish its row and those it answers besides; the run is over in the open transaction. */
SMA_CHECKED enum sma_err sma_store_finish_run(struct sma_store *store, struct store_run *run,
                                              struct sma_state_finish *finish);
/** What the run has sent to its own chat, or will, into scratch.text; otherwise its final text. */
SMA_CHECKED enum sma_err sma_store_collect_output(struct sma_store *store,
                                                  const struct store_run *run,
                                                  struct sma_str otherwise, bool *ret_is_sent);
/** End a run that cannot go on, with a notice unless its person has the answer. In the open
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_give_up_run(struct sma_store *store, struct store_run *run,
                                               const char *why);

/* -- run_order.c ------------------------------------------------------------------------------- */
struct sma_msg *sma_store_order_from_ingress(struct sma_store *store, const struct store_run *run,
                                             const struct sma_ingress *ingress);
struct store_order
{
    const struct store_run *run;
    bool is_resumed, is_decided;
    uint32_t attempt;
    uint64_t blamed_seq; /* out: whose row cannot be used; 0 = the run's own */
};
/** Load what the run needs from state.db. @return OK | CORRUPT | NOTFOUND (its row cannot be used)
 *  | IO | NOMEM */
SMA_CHECKED enum sma_err sma_store_order_from_rows(struct sma_store *store,
                                                   struct store_order *order,
                                                   struct sma_msg **ret_msg);

/** What waits for this run's own person, as STEER. @return OK | CORRUPT | NOTFOUND: its row cannot
 *  be used | IO | NOMEM */
/** The step of the open transaction may ask the run's person: what they write from now on is told
 *  to it, in any queue.mode, until its next results. Or it says that the run waits for servers
 *  alone, or goes on: whether it takes a place follows from both. */
/* From now on it counts in agent.concurrency, for as long as what it does next takes usually. */
void sma_store_keep_place(const struct sma_store *store, struct store_run *run, bool is_calling);
void sma_store_note_waiting(struct sma_store *store, struct store_run *run,
                            const struct sma_step *step);
SMA_CHECKED enum sma_err sma_store_steer_from_row(struct sma_store *store,
                                                  const struct store_run *run, uint64_t seq,
                                                  struct sma_msg **ret_msg);

/* -- notes.c ----------------------------------------------------------------------------------- */
/** Some wait: the next run begins with its rows, and with them. */
bool sma_store_has_notes(const struct sma_store *store, const struct store_chat *chat);
/** Notes of this chat that wait for their author's next request. */
uint32_t sma_store_count_notes(const struct sma_store *store, const struct store_chat *chat);
/** Those of this run's author go with it. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_adopt_notes(struct sma_store *store, struct store_run *run);
/** The agent has been told that this may go into the run. false: it has as much as it can take. */
bool sma_store_note_told(struct store_run *run, uint64_t seq);
/** ... or into it, while it is open. */
SMA_CHECKED enum sma_err sma_store_tell_notes(struct sma_store *store, struct store_run *run,
                                              struct sma_str author);
/** A step holds it. false: it does not wait. */
bool sma_store_take_note(struct sma_store *store, uint64_t seq);
void sma_store_reset_notes(struct sma_store *store);

/* -- steer.c ----------------------------------------------------------------------------------- */
/** Tell the agent what may go into the open runs. In the open transaction, or opening none. */
SMA_CHECKED enum sma_err sma_store_tell_additions(struct sma_store *store);
/** A step holds these: the run answers them from now on. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_take_additions(struct sma_store *store, struct store_run *run,
                                                  const struct sma_step *step);

/* -- wait.c ------------------------------------------------------------------------------------ */
/** The step just written makes its run wait. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_wait_for_model(struct sma_store *store, struct store_run *run,
                                                  const struct sma_step *step);
/** It is handed out, or over; nothing happens when it does not wait. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_end_wait(struct sma_store *store, uint64_t seq);
SMA_CHECKED enum sma_err sma_store_load_waits(struct sma_store *store);
void sma_store_forget_waits(struct sma_store *store); /* the end */

/* -- hook.c ------------------------------------------------------------------------------------ */
/** The run has ended in the open transaction, which has its row and result: hooks are told. */
static inline SMA_CHECKED enum sma_err sma_store_tell_hooks(struct sma_store *store,
                                                            const struct sma_state_finish *finish)
{
    return store->runs->tell_hooks == NULL ? SMA_ERR_OK : store->runs->tell_hooks(store, finish);
}

/* -- usage.c, seen.c --------------------------------------------------------------------------- */
/** Add to the sums and to the run's own. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_count_usage(struct sma_store *store, struct store_run *run,
                                               const struct sma_usage *usage,
                                               struct sma_str target);
/** Append "requests":n,... of an object that is open. */
void sma_store_put_usage_members(struct sma_buf *buf, const struct sma_usage *usage);
/* How a run left the agent. */
enum store_run_end
{
    STORE_END_STOPPED, /* by a control message */
    STORE_END_OK,
    STORE_END_FAILED,
    STORE_END_CANCELLED,
    STORE_END_GIVEN_UP,
    STORE_END_ASKS,  /* parked: people are asked */
    STORE_END_WAITS, /* parked: for a model */
};
/** A run has ended, or waits; run->end says which. */
void sma_store_log_end(struct sma_store *store, const struct store_run *run);
/** Append the answer to /usage: this chat today and this month; in private to the owner's side of
 *  all chats, too. */
void sma_store_put_usage_notice(struct sma_store *store, struct sma_buf *text,
                                const struct store_chat *chat, const struct sma_ingress *in);

/* -- control.c --------------------------------------------------------------------------------- */
/* A command that is being carried out, in the transaction that accepts it. */
struct store_command
{
    struct store_chat *chat;
    const struct sma_ingress *ingress; /* of one that waited for a role: route, text, is_group */
    uint64_t seq;
    struct sma_str argument; /* what stands behind it, trimmed */
    enum sma_language language;
    struct sma_buf *text; /* what it answers; cleared when it begins */
    uint8_t *intent;      /* of what it answers; a notice unless set */
    bool *becomes_run;    /* set: its row waits for a run, and nothing is answered */
};
typedef enum sma_err store_command_fn(struct sma_store *store, const struct store_command *command);

/* -- output.c ---------------------------------------------------------------------------------- */
/** /more: what the last answer's messages left out. */
store_command_fn sma_store_send_more;
/** /full: the last answer whole, as a file where the platform takes files. */
store_command_fn sma_store_send_full;
/* -- retry.c ----------------------------------------------------------------------------------- */
/** /retry: the last message of its author is answered again. */
store_command_fn sma_store_retry;
/* prompts.c: /prompts */
store_command_fn sma_store_show_prompts;
/** The agent's session of this chat, under each key that it has had. */
void sma_store_tell_agent(struct sma_store *store, const struct store_chat *chat,
                          enum sma_control control, uint64_t mark);

/* -- verdict.c, look.c ------------------------------------------------------------------------- */
store_command_fn sma_store_approve_by_id, sma_store_reject_by_id, sma_store_tell_asked;
store_command_fn sma_store_show_tasks, sma_store_show_logs;

/* -- memory_command.c -------------------------------------------------------------------------- */
/** /memory [N | words | project | keep N...|all], /forget N...|words|all. */
store_command_fn sma_store_show_memory, sma_store_forget;

/* -- model_choice.c ---------------------------------------------------------------------------- */
/** /model: list, or choose. */
store_command_fn sma_store_choose_model;
/** What was chosen for this chat, appended; nothing when nobody has, or there is one model. */
SMA_CHECKED enum sma_err sma_store_read_choice(struct sma_store *store,
                                               const struct store_chat *chat, struct sma_buf *buf);

#endif
