/*
 * intake.h — how messages come in: accepted, prepared, gathered, answered by the store itself. Part
 * of the store; its thread.
 */
#ifndef SMA_STORE_INTAKE_H
#define SMA_STORE_INTAKE_H

#include "facts.h"
#include "store.h"

#include "sma/reasons.h"

void sma_store_ingress(struct sma_store *store, struct sma_msg **msg);
/* How a message comes in. */
struct sma_access_outcome;
struct store_acceptance
{
    enum sma_row_state row_state;
    uint64_t leader; /* the message whose run answers this piece of an album; 0 = its own */
    /* as in store_facts */
    bool wants_role, is_role_open, may_answer, is_else_ignored, is_judged;
    bool is_run_command; /* a command that waits its turn like a message: /compact */
    bool is_press;       /* no history line; its data is kept in the facts */
    bool is_unkept;      /* no history line: only claimed */
    bool is_aside;       /* its line is marked: the answer to a request, nothing for the model */
    struct sma_str request_id; /* as in store_facts */
    enum sma_reason why;       /* likewise: it is not answered; NONE = it is */
};
/** Claim, row, line, cursor, contact; in the open transaction. */
SMA_CHECKED enum sma_err sma_store_write_row(struct sma_store *store, struct store_chat *chat,
                                             const struct sma_ingress *in,
                                             const struct store_acceptance *how, uint64_t *ret_seq);
/** The name of a row's author is known only now: a contact, as if it had come with it. In the open
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_remember_name(struct sma_store *store,
                                                 const struct store_chat *chat,
                                                 const struct store_facts *facts);
/** ACCEPTED after the commit. notice is copied. */
void sma_store_accept_later(struct sma_store *store, const struct sma_msg *question,
                            const struct sma_accepted *accepted);

/* -- late.c ------------------------------------------------------------------------------------ */
enum store_late
{
    STORE_IN_TIME,
    STORE_TOO_OLD,   /* beyond the limit */
    STORE_OVERTAKEN, /* a newer message of the chat is answered already */
    STORE_PASSED,    /* the configuration wants it so, or nobody waits: nobody is told */
};
/** Judge an event; what would be answered, or refused in words, and comes too late for that, is
 *  recorded only. */
SMA_CHECKED enum sma_err sma_store_judge_in_time(struct sma_store *store, struct store_chat *chat,
                                                 const struct sma_ingress *in,
                                                 struct sma_access_outcome *ret_outcome,
                                                 enum store_late *ret_late);

/* -- skew.c ------------------------------------------------------------------------------------ */
/** A message came: does the date that its platform gave it agree with our clock? is_too_old: it is
 *  older than backlogMaxS. */
void sma_store_note_clock(struct sma_store *store, const struct sma_ingress *in, bool is_too_old);
/** How far this platform's clock is known to be ahead of ours; 0 = it is not. */
int64_t sma_store_slow_ms(const struct sma_store *store, const struct sma_ingress *in);

/* -- notice.c ---------------------------------------------------------------------------------- */
/** Tell those that have to wait; inside the transaction, after the pump. */
SMA_CHECKED enum sma_err sma_store_busy_notices(struct sma_store *store);
/** Down to the first so many; of the audit: bytes. What is behind them was undone, or is told. */
void sma_store_drop_busy(struct sma_store *store, uint32_t kept_count);
/** Any text in the chat of this route, once per message seq. Nothing on channels that see for
 *  themselves. */
SMA_CHECKED enum sma_err sma_store_tell(struct sma_store *store, const struct sma_route *route,
                                        uint64_t seq, struct sma_str text);
/** Who brought it sees for himself what becomes of it. */
bool sma_store_is_channel_quiet(const struct sma_route *route);
/** Append a line with what is asked in this chat; nothing where nothing is. */
SMA_CHECKED enum sma_err sma_store_put_asked(struct sma_store *store, struct store_chat *chat,
                                             enum sma_language language, struct sma_buf *buf);
/** What a parked chat waits for, once for each request. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_remind(struct sma_store *store, struct store_chat *chat,
                                          const struct sma_route *route, uint64_t seq);
/** Words would decide, but nobody can tell what: ask. `about`: the one request that may be meant,
 *  NULL = several may. Once in a while; in the open transaction. */
SMA_CHECKED enum sma_err sma_store_ask_which(struct sma_store *store, struct store_chat *chat,
                                             const struct sma_route *route, uint64_t seq,
                                             const struct sma_str *about);
struct store_plea
{
    enum sma_notice notice; /* takes the title */
    struct sma_str title;
};
/** Words that do not decide, of somebody who may: how to say it so that it does. Once in a while;
 *  in the open transaction. */
SMA_CHECKED enum sma_err sma_store_ask_plainly(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_route *route, uint64_t seq,
                                               const struct store_plea *plea);
/** May a person hear again in this chat that he may not? At most once in a while. */
bool sma_store_may_refuse_again(struct sma_store *store, struct store_chat *chat);
/** A line for the audit, logged after the commit. details: a JSON object. */
void sma_store_audit(struct sma_store *store, const char *message, struct sma_str details_json);
void sma_store_drop_audit(struct sma_store *store, size_t kept_len);
void sma_store_flush_audit(struct sma_store *store);
enum sma_language sma_store_language(const struct sma_store *store, const struct sma_route *route);

/* -- prepare.c --------------------------------------------------------------------------------- */
struct store_group;
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

/* -- quiet.c ----------------------------------------------------------------------------------- */
/** A message that came this way holds its chat's next run for the quiet time. */
bool sma_store_wants_quiet(const struct sma_store *store, const struct sma_route *route);
/** The quiet time of this chat begins (anew). What waits must stand in the queue. */
void sma_store_await_quiet(struct sma_store *store, struct store_chat *chat);

/* -- group.c, migrate.c ------------------------------------------------------------------------ */
void sma_store_expire_groups(struct sma_store *store);
uint32_t sma_store_count_albums(const struct sma_store *store);
uint64_t sma_store_groups_wake(const struct sma_store *store);
/** Finish one that was cut, at start. NOTFOUND: the plan is of something else. */
/** A rotation that is planned and not done is dropped: its chat has another file now. */
SMA_CHECKED enum sma_err sma_store_drop_plan(struct sma_store *store, struct sma_state_chat *chat);
SMA_CHECKED enum sma_err sma_store_finish_move(struct sma_store *store, struct sma_state_chat *chat,
                                               struct sma_error *error);

#endif
