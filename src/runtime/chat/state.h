/*
 * state.h — the state database `.ship/state.db`: what the machine must remember, in one SQLite
 * file.
 *
 * Everything that changes is written inside one open transaction (group commit):
 *
 *     sma_state_begin -> any number of changes -> sma_state_commit      one fdatasync, or
 *     everything is undone
 *
 * The tables in memory (claims, chats, open messages, next seq) change with each call and are
 * undone together with the rows when the commit fails or on rollback. A chat that was created in an
 * undone transaction is freed: drop pointers to it. Changes after a failed change answer the same
 * error until the transaction is ended.
 *
 * What stands where (docs/notes/store.md has the whole story):
 *   messages  one append-only row per accepted event (claim + inbox + history line in one) and per
 *   assistant line
 *   chats     small ids, history generation, rotation intent, stop and clear marks
 *   steps     durable steps of open runs; deleted when the run is finished
 *   runs      stored results, kept as long as the claim
 *   turns     the last SMA_STATE_TURN_COUNT_MAX turns of each chat, after its clear mark
 *   outbox    deliveries, id = f(seq, step, call): idempotent by construction
 *   approvals what people are asked, and who decided it
 *   waits, learned, usage   about models: state_model.h
 *   cursors, contacts, access, meta
 *
 * Invariants: seq > 0, rises by one per row, is never used again, also after undo of a *committed*
 *             row by expiry. No randomly ordered index is written when a message of a known chat is
 *             accepted. The last commit of this process is readable by every later read of this
 *             process.
 * Threads:    the thread that opened it (the store actor's), for everything. Checkpoints run on a
 * thread of this
 *             library's own, which touches nothing but its own database connection.
 * Errors of changes: NOSPACE (disk full), IO, NOMEM: the transaction can only be ended now. TOOBIG,
 * BADINPUT of a change
 *             that SQLite refused: the same, but behind a savepoint going back heals it. CORRUPT:
 *             of the file, or an
 *             fsync failed: sma_state_is_fatal() is true from now on and the program must end.
 *             CORRUPT without is_fatal: this row alone cannot be read; nothing else is the worse
 *             for it.
 * Slices handed to callbacks live until the callback returns. Callbacks that get messages, steps,
 * results, deliveries, turns and authors get copies after the read is over (state_read.h): they may
 * read anything again and, inside a transaction, change it. Those of access records, contacts,
 * waits, learned and usage see a row under its statement: they copy, and may read other things, but
 * changing anything or starting the same function again is asserted against. A callback returns OK
 * to go on; any other value ends the iteration and is returned.
 */
#ifndef SMA_CHAT_STATE_H
#define SMA_CHAT_STATE_H

#include "sma/base.h"
#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/sys.h"

#define SMA_STATE_TURN_COUNT_MAX SMA_SESSION_TURN_COUNT_MAX /* turns kept per chat */
#define SMA_STATE_STEP_NUMBER_MAX 1023 /* step numbers 1..1023; BADINPUT beyond */
#define SMA_STATE_CALL_MAX 63          /* call indexes 0..63 in an outbox key; BADINPUT beyond */
#define SMA_STATE_SEQ_MAX ((UINT64_C(1) << 46) - 1)

struct sma_state;

/* -- open and close ---------------------------------------------------------------------------- */

typedef void sma_state_fatal_fn(void *user, const char *text);
struct sma_state_options
{
    const char *path;          /* the database file; its directory must exist */
    const struct sma_sys *sys; /* clock and randomness; NULL = sma_sys_real() */
    bool is_durability_none;   /* durability: "none": commits are not synced */
    bool
        /* simulation and some tests: no checkpointer thread, checkpoints run inside commit */
        is_single_threaded;
    uint64_t wal_bytes; /* size the WAL is pre-grown to; 0 = SMA_WAL_PREGROWN_BYTES */
    /* An fsync of a checkpoint has failed. Called once, on the checkpointer's thread: end the
     * process. Without it sma_state_is_fatal tells from the next call on. */
    sma_state_fatal_fn *on_fatal;
    void *on_fatal_user;
};

/**
 * Open or create the database, bring its schema up to date, load what lives in memory.
 * @return OK | UNSUPPORTED (written by a newer version) | CORRUPT (damaged; the text names file and
 *         remedy) | BUSY (held by another process) | NOTFOUND (no such directory) | IO | NOSPACE |
 *         NOMEM; *error filled
 * Blocks: reads claims (0.1 s a million) and rows above the watermarks.
 */
SMA_CHECKED enum sma_err sma_state_open(const struct sma_state_options *options,
                                        struct sma_state **ret_state, struct sma_error *error);
/** Roll back what is open, write watermarks, and with is_clean the mark that sma_state_was_clean()
 *  reports next time. Ends the checkpointer and frees everything. Accepts NULL. After is_fatal
 *  nothing more is written. */
void sma_state_close(struct sma_state *state, bool is_clean);
/** The last process closed with is_clean and nothing was committed since. True for a new
 *  database. */
bool sma_state_was_clean(const struct sma_state *state);
/** An fsync failed or the file is damaged: end the process without another effect. */
bool sma_state_is_fatal(const struct sma_state *state);
/** Detail of the last error of any call; never NULL, empty text when there was none. */
const struct sma_error *sma_state_error(const struct sma_state *state);

/* -- transactions ------------------------------------------------------------------------------ */

/** Start a transaction. None may be open. @return OK | IO | BUSY | CORRUPT (fatal). */
SMA_CHECKED enum sma_err sma_state_begin(struct sma_state *state);
/**
 * Make everything since begin durable. An empty transaction costs nothing and syncs nothing.
 * @return OK | NOSPACE, IO, NOMEM, BUSY (everything is undone, also in memory; go on when you like)
 *         | CORRUPT (fatal: what is on disk is unknown; abort)
 * Blocks: one fdatasync (one more when the WAL starts anew, once in wal_bytes).
 */
SMA_CHECKED enum sma_err sma_state_commit(struct sma_state *state);
/**
 * As commit, without a sync: what was written outlives this process, but a power failure before the
 * next commit or sma_state_sync undoes it. For changes that may be made again without harm.
 */
SMA_CHECKED enum sma_err sma_state_commit_lazy(struct sma_state *state);
/** Make lazy commits durable; costs nothing when there are none. None may be open. OK | CORRUPT
 *  (fatal). */
SMA_CHECKED enum sma_err sma_state_sync(struct sma_state *state);
/** Undo everything since begin, also in memory. */
void sma_state_rollback(struct sma_state *state);
/**
 * A savepoint in the open transaction, one level deep: what one item of a batch changes is kept or
 * undone alone, on disk and in memory. An item that changes nothing costs nothing. Chats opened
 * behind an undone one are freed.
 * @return OK | what failed before: the transaction can only be ended
 */
SMA_CHECKED enum sma_err sma_state_savepoint(struct sma_state *state);
/** Keep what was changed since. @return OK | what failed since: the savepoint is open still, go
 *  back */
SMA_CHECKED enum sma_err sma_state_savepoint_keep(struct sma_state *state);
/**
 * Undo what was changed since.
 * @return OK: also after a change that failed for what it was given (TOOBIG, BADINPUT, CORRUPT of
 *         one row); go on | NOSPACE, IO, NOMEM, BUSY of a change since: the transaction can only be
 *         rolled back | CORRUPT (fatal)
 */
SMA_CHECKED enum sma_err sma_state_savepoint_back(struct sma_state *state);
bool sma_state_is_in_transaction(const struct sma_state *state);
/** The seq the next row gets. */
uint64_t sma_state_next_seq(const struct sma_state *state);
/** Every row with seq <= this is durable (next_seq - 1 at the last successful commit). */
uint64_t sma_state_durable_seq(const struct sma_state *state);

/* -- chats ------------------------------------------------------------------------------------- */

/* One chat. Fields are read by the caller and changed by functions only, except `user`. It is read
 * when it is asked for, and its pointer is good until the next sma_state_begin; with a `user` for
 * as long as it has one. */
struct sma_state_chat
{
    uint32_t id;             /* 1.. */
    uint32_t generation;     /* history generation: raised by each rotation; starts at 0 */
    uint64_t stop_mark;      /* everything accepted before it was stopped; 0 = none */
    uint64_t clear_mark;     /* everything before it is not in the session; 0 = none */
    struct sma_str key;      /* chat key, NUL-terminated */
    struct sma_str channel;  /* of the first message */
    struct sma_str rotation; /* rotation plan under way, opaque; empty = none */
    uint32_t seen_day;       /* when somebody wrote in it last: days since 1970 */
    uint32_t claim_id;       /* which claims its key has; another than id after a move */
    struct sma_str place;    /* the platform's chat id since the last move; empty = never moved */
    void *user;              /* the caller's; not undone, not freed. NULL at first */
};

/** @return the chat or NULL: there is none, or the read failed (then an open transaction fails
 *  too). A former key, and the id of a record of one, give the chat that goes on. */
struct sma_state_chat *sma_state_chat_get(struct sma_state *state, struct sma_str key);
struct sma_state_chat *sma_state_chat_by_id(struct sma_state *state, uint32_t id);
/** The claims of exactly this key, for sma_state_claim_find and sma_state_accept; 0 = there is no
 *  record of it. Message ids of a platform may begin anew with a new key, so those under a former
 *  key are not mixed with them. */
uint32_t sma_state_claim_id(struct sma_state *state, struct sma_str key);
/**
 * The chat `chat` goes on under the key of `other`: a group got another id. `other` becomes the
 * record of the former key; its rows, turns and deliveries count as the chat's from now on. Marks
 * become the higher ones. In a transaction; both must be chats of their own. Moving the history is
 * the caller's (history.h).
 * @place  the platform's chat id from now on
 */
SMA_CHECKED enum sma_err sma_state_chat_move(struct sma_state *state, struct sma_state_chat *chat,
                                             struct sma_state_chat *other, struct sma_str place);
/** The former keys of a chat: give the chat first, then what was returned; NULL = no more. */
const struct sma_state_chat *sma_state_chat_next_former(const struct sma_state_chat *chat);
/** The chat, made if need be (then: needs a transaction). Key 1..SMA_CHAT_KEY_BYTES_MAX bytes, else
 *  BADINPUT. */
SMA_CHECKED enum sma_err sma_state_chat_open(struct sma_state *state, struct sma_str key,
                                             struct sma_str channel,
                                             struct sma_state_chat **ret_chat);
/** Raise a mark (never lowered). Turns below a clear mark are forgotten at once and deleted by and
 *  by. */
SMA_CHECKED enum sma_err sma_state_chat_set_stop_mark(struct sma_state *state,
                                                      struct sma_state_chat *chat, uint64_t seq);
SMA_CHECKED enum sma_err sma_state_chat_set_clear_mark(struct sma_state *state,
                                                       struct sma_state_chat *chat, uint64_t seq);
/** Store the plan of a rotation that is about to start (opaque, <= 64 KiB). */
SMA_CHECKED enum sma_err sma_state_chat_set_rotation(struct sma_state *state,
                                                     struct sma_state_chat *chat,
                                                     struct sma_str plan);
/** The rotation is complete: new generation, no plan. */
SMA_CHECKED enum sma_err sma_state_chat_set_generation(struct sma_state *state,
                                                       struct sma_state_chat *chat,
                                                       uint32_t generation);
typedef enum sma_err sma_state_chat_fn(void *user, struct sma_state_chat *chat);

/** The chat with the largest number below this one (0: of all); former keys are no chats.
 *  NOTFOUND: there is none. */
SMA_CHECKED enum sma_err sma_state_chat_below(struct sma_state *state, uint32_t below,
                                              sma_state_chat_fn *each, void *user);
/** When its newest turn was over; 0: there is none, or its result is kept no more. */
SMA_CHECKED enum sma_err sma_state_chat_answered(struct sma_state *state,
                                                 const struct sma_state_chat *chat,
                                                 int64_t *ret_wall_ms);
/** Every chat with a rotation plan under way, in order of id. */
SMA_CHECKED enum sma_err sma_state_each_rotating(struct sma_state *state, sma_state_chat_fn *each,
                                                 void *user);
/** sma_state_chat_get, which says why there is none. OK | NOTFOUND | IO ... */
SMA_CHECKED enum sma_err sma_state_chat_find(struct sma_state *state, struct sma_str key,
                                             struct sma_state_chat **ret_chat);
/**
 * In a transaction: remove a chat's turns, contacts and at last its record, at most rows_max rows
 * of each in one call; call again until it is gone, then the pointer is dead. Nothing of it may be
 * open; its files are the caller's.
 * @return OK | BUSY (it has a user, has moved, is rotated, or is the newest chat: numbers are not
 * used again) | ...
 */
SMA_CHECKED enum sma_err sma_state_chat_forget(struct sma_state *state, struct sma_state_chat *chat,
                                               uint32_t rows_max, bool *ret_is_gone);
uint64_t sma_state_chat_count(const struct sma_state *state); /* records; reads nothing */
/** Tests: how many chats are kept in memory that nobody uses. */
void sma_state_set_chats_kept(struct sma_state *state, uint32_t count);

/* -- messages ---------------------------------------------------------------------------------- */

/* State of a row. The first three are "open": found again at start. Numbers are on disk; all need
 * one byte, so that a change of state rewrites a row in place. */
enum sma_row_state
{
    SMA_ROW_WAITING = 2, /* accepted, not started */
    SMA_ROW_RUNNING = 3, /* handed to the agent */
    SMA_ROW_PARKED = 4,  /* waits for an approval */
    SMA_ROW_DONE = 5,    /* finished well, or a claim without work (control, note, imported) */
    SMA_ROW_FAILED = 6,
    SMA_ROW_CANCELLED = 7,
    SMA_ROW_GIVEN_UP = 8,
    SMA_ROW_IGNORED = 9, /* claimed, recorded, not run by policy; may be upgraded */
    SMA_ROW_BUSY = 10,   /* claimed, recorded, visibly refused */
    SMA_ROW_LINE = 11,   /* an assistant or notice line: no claim */
};
static inline bool sma_row_is_open(int row_state)
{
    return row_state >= SMA_ROW_WAITING && row_state <= SMA_ROW_PARKED;
}

#define SMA_STATE_NO_LINE (-1) /* history_offset of a row without a history line */

struct sma_state_message
{
    uint64_t seq; /* out only: given by accept */
    struct sma_state_chat *chat;
    uint8_t kind;     /* claim kind: enum sma_event_kind; unused in LINE rows */
    uint8_t state;    /* enum sma_row_state */
    uint32_t attempt; /* unclean attempts */
    uint64_t
        /* LINE: the run it belongs to (0 = none). Message: the run that answers it instead of its
         * own (queue.mode collect), 0 = its own */
        run_seq;
    uint64_t body_hash;       /* 0 = not compared */
    uint32_t claim_id;        /* in: whose claim it is, 0 = chat->claim_id; not given back */
    struct sma_str event_key; /* <= SMA_ID_BYTES_MAX; empty in LINE rows */
    struct sma_str user_id;   /* <= SMA_ID_BYTES_MAX */
    uint32_t generation;      /* history place: (chat, generation, offset) */
    int64_t history_offset; /* SMA_STATE_NO_LINE = the row has no line (then line must be empty) */
    struct sma_str line;    /* exact bytes of the JSONL line, newline included; kept until expiry */
    struct sma_str
        /* opaque: all that is needed to run it again. Leave the text out when the line has it */
        facts;
};

/* A row without its line and facts. user_id and event_key live until the next call on this
 * state. */
struct sma_state_head
{
    uint64_t seq, run_seq, body_hash;
    uint32_t chat_id, claim_id, attempt, generation;
    uint8_t kind, state;
    int64_t history_offset;
    struct sma_str event_key, user_id;
};

/**
 * Is this event claimed? Looks into memory; a hit is verified against its row, rows of the open
 * transaction included.
 * @return OK (*ret_head) | NOTFOUND | IO | CORRUPT
 * Allocates: no.
 */
SMA_CHECKED enum sma_err sma_state_claim_find(struct sma_state *state, uint32_t claim_id,
                                              uint8_t kind, struct sma_str event_key,
                                              struct sma_state_head *ret_head);
/**
 * Add a row and its claim (no claim for LINE rows and for an empty event_key). Does not look for an
 * older claim: ask sma_state_claim_find first.
 * @return OK | FULL (claims at the hard bound) | BADINPUT (key too long, seq space used up) |
 * NOSPACE | IO | NOMEM
 * Allocates: amortised none.
 */
SMA_CHECKED enum sma_err sma_state_accept(struct sma_state *state,
                                          const struct sma_state_message *message,
                                          uint64_t *ret_seq);
/** Replace state, run_seq, history place, line and facts of a row (an addressed copy upgrades an
 *  ignored claim). Chat, kind, event key stay. A row whose line is already in the history keeps its
 *  place: pass the same values. NOTFOUND. */
SMA_CHECKED enum sma_err sma_state_upgrade(struct sma_state *state,
                                           const struct sma_state_message *message);
/** Change the state of a row. NOTFOUND when it is gone. */
SMA_CHECKED enum sma_err sma_state_set_row_state(struct sma_state *state, uint64_t seq,
                                                 enum sma_row_state row_state);
/** Like the above, and names the run that answers this message (collect). */
SMA_CHECKED enum sma_err sma_state_set_run(struct sma_state *state, uint64_t seq,
                                           enum sma_row_state row_state, uint64_t run_seq);
SMA_CHECKED enum sma_err sma_state_set_attempt(struct sma_state *state, uint64_t seq,
                                               uint32_t attempt);
/** Replace the facts of a row. NOTFOUND when it is gone. */
SMA_CHECKED enum sma_err sma_state_set_facts(struct sma_state *state, uint64_t seq,
                                             struct sma_str facts);
/** One row without line and facts: user id, event key, history place ... @return OK | NOTFOUND | IO
 *  | CORRUPT */
SMA_CHECKED enum sma_err sma_state_head_get(struct sma_state *state, uint64_t seq,
                                            struct sma_state_head *ret_head);
/** The newest message (no line, no note) with this event key among the last `count` rows, of
 *  whatever chat. NOTFOUND. Reads their heads. */
SMA_CHECKED enum sma_err sma_state_find_event(struct sma_state *state, struct sma_str event_key,
                                              uint64_t count, uint64_t *ret_seq);
typedef enum sma_err sma_state_message_fn(void *user, const struct sma_state_message *message);
/** One whole row. NOTFOUND, else what the callback returned. */
SMA_CHECKED enum sma_err sma_state_message_get(struct sma_state *state, uint64_t seq,
                                               sma_state_message_fn *each, void *user);
/** Number of open rows. */
uint64_t sma_state_open_count(const struct sma_state *state);

/* -- history lines ----------------------------------------------------------------------------- */

/** All lines of rows with seq <= this are in files that were fsynced. Kept in memory at once;
 *  written to disk by one of the next commits, or at close (writing it late only repeats a replay
 *  that skips). Never lowered. No transaction needed. */
void sma_state_set_history_flushed(struct sma_state *state, uint64_t seq);
uint64_t sma_state_history_flushed(const struct sma_state *state);

/* -- runs -------------------------------------------------------------------------------------- */

/** Add a durable step. Number 1.. . @return OK | EXISTS (that number is stored: nothing changed) |
 *  BADINPUT | ... */
SMA_CHECKED enum sma_err sma_state_step_add(struct sma_state *state, uint64_t seq, uint32_t number,
                                            uint8_t kind, struct sma_str data);
struct sma_usage;
struct sma_state_step
{
    uint64_t seq;
    uint32_t number;
    uint8_t kind;
    struct sma_str data;
    const struct sma_usage *usage; /* of the model requests since the step before; NULL = none */
    struct sma_str trace; /* opaque: what happened since the step before; empty = nothing */
};
/** The same, with what it used. */
SMA_CHECKED enum sma_err sma_state_step_add_used(struct sma_state *state,
                                                 const struct sma_state_step *step);
/** Highest stored step number of a run, 0 = none. */
SMA_CHECKED enum sma_err sma_state_step_last(struct sma_state *state, uint64_t seq,
                                             uint32_t *ret_number);

struct sma_state_finish
{
    uint64_t seq;
    enum sma_row_state state; /* DONE FAILED CANCELLED GIVEN_UP */
    uint8_t outcome;          /* enum sma_outcome */
    bool is_success;
    struct sma_str output, tool_calls_json;
    struct sma_str wire,
        /* the session's new turn; empty turn = none. Not kept when seq < the chat's clear mark */
        turn;
    struct sma_str message_id;     /* of the user's message, for the turn */
    int64_t wall_ms;               /* when it was finished */
    const struct sma_usage *usage; /* of the whole run; NULL = not known */
    struct sma_str trace;          /* since the last step; the steps' are put before it */
};
/** A run is over: row state, stored result, turn; its steps go. NOTFOUND when the row is gone;
 *  EXISTS when it is not open any more (nothing changed). */
SMA_CHECKED enum sma_err sma_state_finish(struct sma_state *state,
                                          const struct sma_state_finish *finish);
/** The turn of a run that was CANCELLED before its turn was known: only seq, wire, message_id, turn
 *  of *finish count. From before a clear mark it is not kept, and that is OK. EXISTS: its turn is
 *  there already, or the run ended otherwise (nothing changed). NOTFOUND when the row is gone. */
SMA_CHECKED enum sma_err sma_state_late_turn(struct sma_state *state,
                                             const struct sma_state_finish *finish);

struct sma_state_result
{
    uint64_t seq;
    uint8_t outcome;
    bool is_success;
    int64_t wall_ms;
    struct sma_str output, tool_calls_json;
    const struct sma_usage *usage; /* never NULL; zeros = not known */
};
/** What happened in a run so far, oldest first, appended to out; nothing when nothing is known. */
SMA_CHECKED enum sma_err sma_state_trace_get(struct sma_state *state, uint64_t seq,
                                             struct sma_buf *out);
typedef enum sma_err sma_state_result_fn(void *user, const struct sma_state_result *result);
/** The stored result of a finished run. NOTFOUND: not finished, or expired with its claim. */
SMA_CHECKED enum sma_err sma_state_result_get(struct sma_state *state, uint64_t seq,
                                              sma_state_result_fn *each, void *user);
typedef enum sma_err sma_state_turn_fn(void *user, uint64_t seq, struct sma_str wire,
                                       struct sma_str message_id, struct sma_str turn);
/* What was before a chat's turns: opaque bytes, one row a chat. */
struct sma_state_past
{
    uint64_t seq;   /* of the run that made it */
    uint64_t first; /* the oldest turn that it stands for; 0 = none */
    uint64_t below; /* turns before it go; 0 = none does */
    struct sma_str data;
};
/** It takes the place of the one before, and of the turns below it. Not kept, and OK, when the chat
 *  was cleared since what it stands for. */
SMA_CHECKED enum sma_err sma_state_past_set(struct sma_state *state,
                                            const struct sma_state_chat *chat,
                                            const struct sma_state_past *past);
/** Appended to out; nothing when there is none. */
SMA_CHECKED enum sma_err sma_state_past_get(struct sma_state *state,
                                            const struct sma_state_chat *chat, struct sma_buf *out);
/** The chat has a turn after its clear mark, or a summary. One look; false also when that fails. */
bool sma_state_has_past(struct sma_state *state, const struct sma_state_chat *chat);
/** The newest run of a chat that is over and whose message is there: it has a turn after the clear
 *  mark, or is one of the last SMA_STATE_LAST_ROW_COUNT rows before `before_seq`. NOTFOUND. */
#define SMA_STATE_LAST_ROW_COUNT 10000
SMA_CHECKED enum sma_err sma_state_last_run(struct sma_state *state,
                                            const struct sma_state_chat *chat, uint64_t before_seq,
                                            uint64_t *ret_seq);
/** The other messages that this run has answered, in their order: at most count_max, of its
 *  neighbours in the file. */
SMA_CHECKED enum sma_err sma_state_run_messages(struct sma_state *state, uint64_t seq,
                                                uint64_t *seqs, uint32_t count_max,
                                                uint32_t *ret_count);
/** Nothing happens when it is not there. */
SMA_CHECKED enum sma_err sma_state_turn_remove(struct sma_state *state, uint64_t seq);
/** The last turns of a chat, oldest first: after the clear mark, seq < before_seq, at most
 *  turns_max of at most bytes_max together (newest win). */
SMA_CHECKED enum sma_err sma_state_each_turn(struct sma_state *state,
                                             const struct sma_state_chat *chat, uint64_t before_seq,
                                             uint32_t turns_max, uint64_t bytes_max,
                                             sma_state_turn_fn *each, void *user);

/* -- outbox ------------------------------------------------------------------------------------ */

/** The id of a delivery: seq << 16 | step << 6 | call. Rows of one run are neighbours, in order of
 *  step and call. */
static inline uint64_t sma_state_outbox_id(uint64_t seq, uint32_t step, uint32_t call)
{
    return seq << 16 | (uint64_t)step << 6 | call;
}
static inline uint64_t sma_state_outbox_seq(uint64_t outbox_id)
{
    return outbox_id >> 16;
}
static inline uint32_t sma_state_outbox_step(uint64_t outbox_id)
{
    return (uint32_t)(outbox_id >> 6 & 1023);
}
static inline uint32_t sma_state_outbox_call(uint64_t outbox_id)
{
    return (uint32_t)(outbox_id & 63);
}

struct sma_state_delivery
{
    uint64_t outbox_id;          /* sma_state_outbox_id() */
    struct sma_state_chat *chat; /* where it goes: decides the order */
    struct sma_str channel;      /* adapter's channel; actor ids change between starts */
    struct sma_str route;        /* opaque facts of the route */
    struct sma_str text;
    uint8_t intent;     /* enum sma_intent */
    uint8_t state;      /* enum sma_delivery_state; WAITING and BEGUN are "open" */
    bool is_part_begun; /* part number part_done_count was begun: a repeat must say so */
    uint32_t renderer_version, part_done_count, part_count, attempt_count;
    struct sma_str error; /* of the last attempt; also the platform's message id when SENT */
    /* of the row's idempotency keys: made when it is added, 0 = by an older version */
    uint64_t salt;
    int64_t made_ms,
        /* wall clock; 0 = not known. made_ms is written by add, ended_ms by update alone */
        ended_ms;
};
/** Add a delivery and set its salt. @return OK | EXISTS (stored already: nothing changed) |
 *  BADINPUT | ... */
SMA_CHECKED enum sma_err sma_state_outbox_add(struct sma_state *state,
                                              struct sma_state_delivery *delivery);
/** Write state, is_part_begun, renderer_version, part counts, attempt_count and error; the rest of
 *  *delivery is not looked at. NOTFOUND. */
SMA_CHECKED enum sma_err sma_state_outbox_update(struct sma_state *state,
                                                 const struct sma_state_delivery *delivery);
typedef enum sma_err sma_state_delivery_fn(void *user, const struct sma_state_delivery *delivery);
SMA_CHECKED enum sma_err sma_state_outbox_get(struct sma_state *state, uint64_t outbox_id,
                                              sma_state_delivery_fn *each, void *user);
/** Every open delivery in order of id (order of acceptance). Reads only open ones. */
SMA_CHECKED enum sma_err sma_state_each_outbox_open(struct sma_state *state,
                                                    sma_state_delivery_fn *each, void *user);
/** Every delivery of one run, open or not, in order of step and call. */
SMA_CHECKED enum sma_err sma_state_each_delivery(struct sma_state *state, uint64_t seq,
                                                 sma_state_delivery_fn *each, void *user);

/* -- approvals --------------------------------------------------------------------------------- */

#define SMA_STATE_APPROVAL_ID_BYTES 32 /* hex digits of 128 random bits */
enum sma_state_approval_state
{
    SMA_STATE_APPROVAL_OPEN, /* numbers are on disk */
    SMA_STATE_APPROVAL_DECIDED,
    SMA_STATE_APPROVAL_EXPIRED,
    SMA_STATE_APPROVAL_CANCELLED,
};
struct sma_state_approval
{
    struct sma_str id;
    uint64_t run_seq;
    struct sma_state_chat *chat;      /* of the run; where it goes on, if it has moved */
    uint8_t state;                    /* enum sma_state_approval_state */
    uint32_t step;                    /* number of the answer that is asked about */
    int64_t created_ms, responded_ms; /* wall clock */
    int64_t
        /* until it expires, when the clock last stood still; -1 = it has not begun to run */
        left_ms;
    struct sma_str request; /* opaque; empty when it is not open any more */
    struct sma_str doc;     /* opaque: what was decided, by whom */
};
/** @return OK | EXISTS | BADINPUT | ... */
SMA_CHECKED enum sma_err sma_state_approval_add(struct sma_state *state,
                                                const struct sma_state_approval *approval);
/** Write state, left_ms, responded_ms and doc of the row with this id; a state other than OPEN
 *  drops the request. NOTFOUND. */
SMA_CHECKED enum sma_err sma_state_approval_update(struct sma_state *state,
                                                   const struct sma_state_approval *approval);
SMA_CHECKED enum sma_err sma_state_approval_set_left(struct sma_state *state, struct sma_str id,
                                                     int64_t left_ms);

/* -- cursors, contacts, access, meta ----------------------------------------------------------- */

/** Platform cursors. get: NOTFOUND when never set. An unchanged value is not written again. */
SMA_CHECKED enum sma_err sma_state_cursor_set(struct sma_state *state, struct sma_str name,
                                              int64_t value);
SMA_CHECKED enum sma_err sma_state_cursor_get(struct sma_state *state, struct sma_str name,
                                              int64_t *ret_value);

/* Who was seen where last (protocols/project.md §7.6). Slices given by find live until the next
 * call on this state. */
struct sma_state_contact
{
    struct sma_str channel,
        user_name; /* the key: channel + lower-cased trimmed ASCII name + person */
    struct sma_str chat_id, chat_key, chat_type, thread_id, user_id, message_id;
    int64_t wall_ms; /* last seen */
};
#define SMA_STATE_NAMESAKE_COUNT_MAX \
    8 /* people of one channel that share a name; the longest unseen goes */
/** Remember a contact; the last one of a person wins. Two people with one name are two contacts.
 *  Where somebody is, is durable with this commit; a changed message id and time alone ride on a
 *  later one. Visible to find at once, undone with the transaction. Empty channel, chat or name:
 *  ignored. */
SMA_CHECKED enum sma_err sma_state_contact_put(struct sma_state *state,
                                               const struct sma_state_contact *contact);
/** channel empty = any, the most recently seen. @return OK | NOTFOUND */
SMA_CHECKED enum sma_err sma_state_contact_find(struct sma_state *state, struct sma_str channel,
                                                struct sma_str user_name,
                                                struct sma_state_contact *ret_contact);
/** Everybody with this name, newest first; channel empty = any. @return how many, at most max.
 *  Slices as of find. */
uint32_t sma_state_contacts_named(struct sma_state *state, struct sma_str channel,
                                  struct sma_str user_name, struct sma_state_contact *ret_contacts,
                                  uint32_t max);
/** The person with this id, as last seen. @return OK | NOTFOUND | IO ... */
SMA_CHECKED enum sma_err sma_state_contact_of(struct sma_state *state, struct sma_str channel,
                                              struct sma_str user_id,
                                              struct sma_state_contact *ret_contact);
typedef enum sma_err sma_state_contact_fn(void *user, const struct sma_state_contact *contact);
/** How often somebody was seen somewhere new, since the open: what a projection of the contacts
 *  depends on. */
uint64_t sma_state_contact_news(const struct sma_state *state);
struct sma_state_contact_time
{
    int64_t id, wall_ms;
};
/** The next contacts behind after_id in order of id: their numbers, and when their rows say they
 *  were seen. 0: no more. */
SMA_CHECKED enum sma_err sma_state_contact_times(struct sma_state *state, int64_t after_id,
                                                 struct sma_state_contact_time *times, uint32_t max,
                                                 uint32_t *ret_count);
/** One of them. NOTFOUND, else what the callback returned. */
SMA_CHECKED enum sma_err sma_state_contact_get(struct sma_state *state, int64_t id,
                                               sma_state_contact_fn *each, void *user);
/** One of those whose last place is this chat. NOTFOUND, else what the callback returned. */
SMA_CHECKED enum sma_err sma_state_contact_in(struct sma_state *state, struct sma_str chat_key,
                                              sma_state_contact_fn *each, void *user);
/** Tests: how many names are kept in memory. */
void sma_state_set_names_kept(struct sma_state *state, uint32_t count);
/** Every contact, in order of first meeting. */
SMA_CHECKED enum sma_err sma_state_each_contact(struct sma_state *state, sma_state_contact_fn *each,
                                                void *user);

/** Records of runtime/access: key -> JSON. Written through. Empty value deletes. */
SMA_CHECKED enum sma_err sma_state_access_set(struct sma_state *state, struct sma_str key,
                                              struct sma_str value);
/** One record, appended to value. The open transaction's changes are seen. NOTFOUND | what buf
 *  says. */
SMA_CHECKED enum sma_err sma_state_access_get(struct sma_state *state, struct sma_str key,
                                              struct sma_buf *value);
typedef enum sma_err sma_state_pair_fn(void *user, struct sma_str key, struct sma_str value);
/** Those whose key begins with `prefix` (which ends in '/', at most 64 bytes), in order of key. */
SMA_CHECKED enum sma_err sma_state_each_access_under(struct sma_state *state, struct sma_str prefix,
                                                     sma_state_pair_fn *each, void *user);
typedef enum sma_err sma_state_author_fn(void *user, const struct sma_state_chat *chat,
                                         struct sma_str user_id);
/** Everybody who is the author of a kept row, once for each chat. Reads all rows. */
SMA_CHECKED enum sma_err sma_state_each_author(struct sma_state *state, sma_state_author_fn *each,
                                               void *user);

/** Free marks of the caller, e.g. "import.done". Names that start with "state." are the library's:
 *  BADINPUT. */
SMA_CHECKED enum sma_err sma_state_meta_set(struct sma_state *state, struct sma_str name,
                                            struct sma_str value);
/** The value is copied into value_buf (NUL-terminated, cut at value_max - 1). NOTFOUND. */
SMA_CHECKED enum sma_err sma_state_meta_get(struct sma_state *state, struct sma_str name,
                                            char *value_buf, size_t value_max);

/* -- claims: bounds and expiry ----------------------------------------------------------------- */

uint64_t sma_state_claim_count(const struct sma_state *state);
/** At the hard bound: intake stops (sma_state_accept answers FULL). */
bool sma_state_is_claims_full(const struct sma_state *state);
/** There is something to expire now: over the soft bound and the oldest generation is old enough;
 *  or so near the hard bound that the oldest go whatever their age. */
bool sma_state_is_expiry_due(const struct sma_state *state);
/** Inside a transaction: remove at most rows_max of the oldest finished rows with claim, result,
 *  deliveries. Call it once per batch while is_expiry_due. Unfinished rows stay. *ret_removed may
 *  be 0. */
SMA_CHECKED enum sma_err sma_state_expire(struct sma_state *state, uint32_t rows_max,
                                          uint32_t *ret_removed);
/** Claims that were removed before SMA_CLAIM_AGE_MIN_H because intake would have stopped; since the
 *  open. */
uint64_t sma_state_expired_early(const struct sma_state *state);
/** Imports: claims that are written from now on count as that old; 0 = as made now. A generation
 *  has one age, so add them oldest first. */
void sma_state_set_claim_age(struct sma_state *state, uint64_t age_ms);
/** Imports into a database without claims, in a transaction: the service was up for so long that
 *  ages can be told. */
void sma_state_make_room_for_ages(struct sma_state *state);
/** Service uptime over all runs, in ms: the clock of expiry. */
uint64_t sma_state_uptime_ms(const struct sma_state *state);
/** Tests and configuration: other bounds than limits.h. */
void sma_state_set_claim_bounds(struct sma_state *state, uint64_t soft, uint64_t hard,
                                uint64_t age_min_ms);
/** Tests: another hash, to force collisions. Only directly after opening a new database; NULL =
 *  SipHash. */
void sma_state_set_claim_hash(struct sma_state *state,
                              uint64_t (*hash)(const void *bytes, size_t len));

/* -- checkpoints and counting ------------------------------------------------------------------ */

struct sma_state_counts
{
    uint64_t chats, claims, open_messages;
    uint64_t chats_kept; /* records in memory */
    uint64_t commits;    /* successful, not empty, synced */
    uint64_t lazy_commits;
    uint64_t wal_syncs; /* fdatasync calls of the commit path: <= commits + wal_restarts */
    /* times the commit path began the WAL anew (one more sync for its header) */
    uint64_t wal_restarts;
    uint64_t inline_checkpoints; /* checkpoints the writer had to help with */
    uint64_t checkpoints;        /* of the checkpointer */
    uint64_t checkpoint_failures;
    uint64_t wal_frames;  /* in the WAL after the last commit */
    uint64_t claim_bytes; /* memory of the claims table */
};
void sma_state_counts(const struct sma_state *state, struct sma_state_counts *ret_counts);
/** Size of the WAL file. Asks the file system. */
uint64_t sma_state_wal_bytes(const struct sma_state *state);
struct sma_state_wal_trouble
{
    uint64_t wal_bytes, lasting_ms, failure_count;
    struct sma_error error; /* how copying failed; code OK: somebody reads and holds the WAL back */
    char reader[64];        /* who, as far as it can be seen */
};
/** Checkpoints fail, or a reader keeps a large WAL from beginning anew. Nothing is lost by either;
 *  the file grows. */
bool sma_state_wal_trouble(const struct sma_state *state,
                           struct sma_state_wal_trouble *ret_trouble);
/** Outside of transactions: in such a trouble ask for another try, at most once a second. @return
 *  call it again in a second */
bool sma_state_wal_tend(struct sma_state *state);

#endif
