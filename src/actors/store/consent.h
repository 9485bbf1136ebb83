/*
 * consent.h — runs that wait for people: requests, what is said about them, permissions that last.
 * Part of the store; its thread. Story: docs/notes/approvals.md.
 */
#ifndef SMA_STORE_CONSENT_H
#define SMA_STORE_CONSENT_H

#include "facts.h"
#include "runtime/access/access.h"
#include "runtime/approval/request.h"
#include "runtime/chat/state_grants.h"
#include "store.h"

/* A parked run: people are asked. consent_priv.h. */
struct store_approval;

/* -- approval.c, requests.c, clock.c ----------------------------------------------------------- */
/** The key that buttons are signed with, made at the first start. */
SMA_CHECKED enum sma_err sma_store_load_approval_key(struct sma_store *store);
/** SMA_CARD_KEY_BYTES that buttons are signed with. */
const uint8_t *sma_store_approval_key(const struct sma_store *store);
/** Drop what was made from the rows, and make it again. */
void sma_store_forget_consent(struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_load_consent(struct sma_store *store);
struct store_approval *sma_store_approval_of_run(const struct sma_store *store, uint64_t seq);
/** The chat's own open request, or NULL. */
struct store_approval *sma_store_approval_of_chat(const struct sma_store *store,
                                                  const struct store_chat *chat);
/** The chat was told what it waits for: once for each request. */
bool sma_store_approval_is_told(const struct store_approval *approval);
void sma_store_approval_note_told(struct store_approval *approval);
/** We say something else in this chat: words there do not mean the requests above it any more. In
 *  the open transaction. */
SMA_CHECKED enum sma_err sma_store_supersede_approvals(struct sma_store *store,
                                                       const struct store_chat *chat);
/** A request was delivered, or will not be: its clock starts. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_approval_delivered(struct sma_store *store, uint64_t outbox_id);
/** Refuse what nobody answered in time; inside the transaction or opening it. */
SMA_CHECKED enum sma_err sma_store_expire_approvals(struct sma_store *store);
uint32_t sma_store_count_approvals(const struct sma_store *store);
/** Write down how much time each has left; opens a transaction. */
SMA_CHECKED enum sma_err sma_store_save_clocks(struct sma_store *store);

/* -- case.c ------------------------------------------------------------------------------------ */
/* One request, read for a decision. */
struct store_case
{
    struct store_approval *approval;
    struct sma_state_rows rows; /* what the slices point into */
    void *doc;                  /* ... of what is decided */
    struct sma_request request;
    /* of the message whose run waits; route leads to where the chat is now */
    struct store_facts facts;
    int64_t created_ms;
    struct store_case_item
    {
        uint8_t outcome; /* enum sma_request_outcome */
        struct sma_str by, actor, via, response;
        int64_t at_ms;
        bool is_by_owner;
    } items[SMA_TOOL_CALL_COUNT_MAX];
};
/** OK | CORRUPT: what is stored of it cannot be read; the request is given up with the end of the
 *  batch | IO | NOMEM */
SMA_CHECKED enum sma_err sma_store_case_open(struct sma_store *store,
                                             struct store_approval *approval,
                                             struct store_case *ret_case);
void sma_store_case_fini(struct store_case *it);
uint64_t sma_store_case_mask(const struct store_case *it); /* items that are still open */
/** A parked message and what it answers besides: over as cancelled. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_cancel_run(struct sma_store *store, uint64_t seq);
/** A run that waits for people: its request is over, and so is the run. */
SMA_CHECKED enum sma_err sma_store_cancel_asking(struct sma_store *store,
                                                 struct store_approval *approval);
/** DECIDE: CANCEL. */
void sma_store_cancel(struct sma_store *store, const struct sma_msg *question);
/** /stop and /clear: the chat's parked and waiting runs below mark are over. In the open
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_cancel_parked(struct sma_store *store, struct store_chat *chat,
                                                 uint64_t mark, uint32_t *count);

/* -- park.c, decide.c, answer.c ---------------------------------------------------------------- */
/** The step just written parks its run. In the open transaction. BADINPUT: its request cannot be
 *  read, nothing was done. */
SMA_CHECKED enum sma_err sma_store_park(struct sma_store *store, struct store_run *run,
                                        const struct sma_step *step);
/** The rows of a run, and of what it answers besides, are parked. */
SMA_CHECKED enum sma_err sma_store_park_rows(struct sma_store *store, struct store_run *run);
/** The run is over in the agent. Its chat is not free. */
SMA_CHECKED enum sma_err sma_store_leave_run(struct sma_store *store, struct store_run *run);
/** What the card in the run's own chat says to those who cannot press, appended to text.
 *  NOTFOUND. */
SMA_CHECKED enum sma_err sma_store_put_explanation(struct sma_store *store,
                                                   const struct store_approval *approval,
                                                   struct sma_buf *text);
void sma_store_decide(struct sma_store *store, struct sma_msg **msg);
/** A button of ours was pressed. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_press(struct sma_store *store, struct store_chat *chat,
                                         struct sma_msg *msg);
/** Words in a chat with an open request. *ret_is_taken: they are dealt with, else the message is
 *  ordinary. */
SMA_CHECKED enum sma_err sma_store_words(struct sma_store *store, struct store_chat *chat,
                                         struct sma_msg *msg,
                                         const struct sma_access_outcome *outcome,
                                         bool *ret_is_taken);
/** The role of the author of a held press or held words is known now. *ret_is_over: nothing is left
 *  to do for the row. */
SMA_CHECKED enum sma_err sma_store_conclude_answer(struct sma_store *store, struct store_chat *chat,
                                                   uint64_t seq, bool may_run, bool *ret_is_over);
/** A waiting row that was being judged, while the queue is read again. */
SMA_CHECKED enum sma_err sma_store_judge_again(struct sma_store *store, struct store_chat *chat,
                                               uint64_t seq, struct sma_str request_id,
                                               bool *ret_is_held);
void sma_store_judged(struct sma_store *store, struct sma_msg **msg);
void sma_store_send_judgements(struct sma_store *store); /* between transactions */
void sma_store_drop_judgement(struct sma_store *store, uint64_t seq);

/* -- grant.c, project.c ------------------------------------------------------------------------ */
/** The permissions that hold in this chat now, oldest first. What cannot be read permits nothing,
 *  and is logged. */
void sma_store_grants_read(struct sma_store *store, const struct store_chat *chat,
                           struct sma_state_rows *rows, struct sma_state_grants *ret_grants);
/** At start: look at all files of requests, by and by. */
void sma_store_project_all(struct sma_store *store);
/** {"id","type","description","data":{...}} of the first open item. */
void sma_store_put_pending(const struct store_case *it, struct sma_buf *json);

#endif
