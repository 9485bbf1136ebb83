/*
 * store_approval.h — what the files of the store that park runs, and hear what people say about them, share with the
 * others. Story: docs/notes/store-actor.md, "Parked runs".
 * Thread: the store's.
 */
#ifndef SMA_STORE_APPROVAL_H
#define SMA_STORE_APPROVAL_H

#include "store_outbox.h"

/* -- store_approval.c ------------------------------------------------------------------------------------------- */
/** The key that buttons are signed with, made at the first start. */
SMA_CHECKED enum sma_err sma_store_load_approval_key(struct sma_store *store);
/** Forget who decided long ago; in the open transaction. */
SMA_CHECKED enum sma_err sma_store_sweep_approvals(struct sma_store *store);
/** Before and after the rows are read again: the list, the clocks and the judgements. */
void sma_store_reset_approvals(struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_load_approvals(struct sma_store *store);
void sma_store_settle_approvals(struct sma_store *store); /* after the commit */
void sma_store_forget_approvals(struct sma_store *store); /* the end */
/** Add to memory; NULL when out of memory. */
struct store_approval *sma_store_approval_add(struct sma_store *store, const char *id,
                                              struct store_chat *chat, uint64_t seq, uint32_t step);
SMA_CHECKED enum sma_err sma_store_approval_show(struct store_approval *approval,
                                                 struct store_chat *chat);
struct store_approval *sma_store_approval_by_id(const struct sma_store *store, struct sma_str id);
struct store_approval *sma_store_approval_of_run(const struct sma_store *store, uint64_t seq);
/** The chat's own open request, or NULL. */
struct store_approval *sma_store_approval_of_chat(const struct sma_store *store,
                                                  const struct store_chat *chat);
/** The one request that words said in this chat can mean. *ret_count: how many could be meant; those of other chats that
 *  are buried only when there is nothing else. */
struct store_approval *sma_store_approval_meant(const struct sma_store *store,
                                                const struct store_chat *chat, uint32_t *ret_count);
bool sma_store_is_shown_in(const struct store_approval *approval, const struct store_chat *chat);
/** We say something else in this chat: words there do not mean the requests above it any more. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_bury_approvals(struct sma_store *store,
                                                  const struct store_chat *chat);
/** The mark of it goes with the request. */
SMA_CHECKED enum sma_err sma_store_forget_burial(struct sma_store *store,
                                                 const struct store_approval *approval);
/** May words said in this private chat mean the request: have we said nothing else since? */
bool sma_store_is_approval_fresh(const struct sma_store *store,
                                 const struct store_approval *approval,
                                 const struct store_chat *chat);
/** A request was delivered, or will not be: its clock starts. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_approval_delivered(struct sma_store *store, uint64_t outbox_id);
SMA_CHECKED enum sma_err sma_store_approval_start_clock(struct sma_store *store,
                                                        struct store_approval *approval);
/** The clock stands while somebody's words are judged. */
void sma_store_approval_judging(struct sma_store *store, struct store_approval *approval,
                                int change);
/** Refuse what nobody answered in time; inside the transaction or opening it. */
SMA_CHECKED enum sma_err sma_store_expire_approvals(struct sma_store *store);
uint64_t sma_store_approvals_wake(const struct sma_store *store);
/** Write down how much time each has left; opens a transaction. */
SMA_CHECKED enum sma_err sma_store_save_clocks(struct sma_store *store);

/** It is over: out of the list, and freed after the commit. */
void sma_store_approval_end(struct sma_store *store, struct store_approval *approval);

/* -- store_meant.c ---------------------------------------------------------------------------------------------- */
/* What a message says of itself, as in INGRESS. */
struct store_said
{
    struct sma_str reply_to_id;
    int64_t sent_ms;
    uint8_t addressed;
    bool is_group, is_reply, is_forward, is_edited;
};
enum store_meant_how
{
    STORE_MEANT_CARD,           /* it answers the card */
    STORE_MEANT_BELOW,          /* in private, nothing of ours since the card */
    STORE_MEANT_MENTION,        /* in a group, said to us, an answer to nothing: it may refuse */
    STORE_MEANT_TALK,           /* in a group, among people */
    STORE_MEANT_BURIED,         /* in private, and we said something else since */
    STORE_MEANT_ONE_OF_SEVERAL, /* approval: the oldest */
};
struct store_meant
{
    struct store_approval *approval; /* NULL: no request can be meant */
    enum store_meant_how how;
};
SMA_CHECKED enum sma_err sma_store_find_meant(struct sma_store *store,
                                              const struct store_chat *chat,
                                              const struct store_said *said,
                                              struct store_meant *ret_meant);
/** What is kept of the receipt of a card: appended to buf; and the platform's id of it, read from there. */
void sma_store_card_mark_put(struct sma_buf *buf, const struct sma_receipt *receipt,
                             int64_t wall_ms);
struct sma_str sma_store_card_mark_id(struct sma_str mark);

/* -- store_case.c ----------------------------------------------------------------------------------------------- */
/* One request, read for a decision. */
struct store_case
{
    struct store_approval *approval;
    struct sma_buf bytes; /* what the slices point into */
    struct sma_request request;
    struct store_facts
        facts; /* of the message whose run waits; route leads to where the chat is now */
    int64_t created_ms;
    struct store_case_item
    {
        uint8_t outcome; /* enum sma_request_outcome */
        struct sma_str by, actor, via, response;
        int64_t at_ms;
        bool is_by_owner;
    } items[SMA_TOOL_CALL_COUNT_MAX];
};
/** OK | CORRUPT: what is stored of it cannot be read; the request is given up with the end of the batch | IO | NOMEM */
SMA_CHECKED enum sma_err sma_store_case_open(struct sma_store *store,
                                             struct store_approval *approval,
                                             struct store_case *ret_case);
/** End a request that cannot be read, and its run. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_abandon(struct sma_store *store,
                                           struct store_approval *approval);
void sma_store_case_fini(struct store_case *it);
uint64_t sma_store_case_mask(const struct store_case *it); /* items that are still open */
/** Write what was decided; when nothing is open any more, the run goes on. In the open transaction. `by` as people are
 *  told. *ret_is_closed: approval is gone. */
SMA_CHECKED enum sma_err sma_store_case_write(struct sma_store *store, struct store_case *it,
                                              struct sma_str by, bool *ret_is_closed);
/** End a request without its run: expired or cancelled items are set by the caller. */
SMA_CHECKED enum sma_err sma_store_case_close(struct sma_store *store, struct store_case *it,
                                              enum sma_state_approval_state state,
                                              struct sma_str by);

/** A parked message and what it answers besides: over as cancelled. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_cancel_run(struct sma_store *store, uint64_t seq);
/** /stop and /clear: the chat's parked and waiting runs below mark are over. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_cancel_parked(struct sma_store *store, struct store_chat *chat,
                                                 uint64_t mark, uint32_t *count);

/* -- store_park.c ----------------------------------------------------------------------------------------------- */
/** The step just written parks its run. In the open transaction. BADINPUT: its request cannot be read, nothing was done. */
SMA_CHECKED enum sma_err sma_store_park(struct sma_store *store, struct store_run *run,
                                        const struct sma_step *step);
/** The rows of a run, and of what it answers besides, are parked. */
SMA_CHECKED enum sma_err sma_store_park_rows(struct sma_store *store, struct store_run *run);
/** The run is over in the agent. Its chat is not free. */
SMA_CHECKED enum sma_err sma_store_leave_run(struct sma_store *store, struct store_run *run);
/** Change or follow the cards of a request; step: the number in the keys of what is sent. */
SMA_CHECKED enum sma_err sma_store_send_outcome(struct sma_store *store, struct store_case *it,
                                                uint32_t step, struct sma_str by);
/** What the card in the run's own chat says to those who cannot press, appended to text. NOTFOUND. */
SMA_CHECKED enum sma_err sma_store_put_explanation(struct sma_store *store,
                                                   const struct store_approval *approval,
                                                   struct sma_buf *text);

/* -- store_decide.c --------------------------------------------------------------------------------------------- */
/* What somebody says about a request. */
struct store_word
{
    const struct sma_route *route; /* who, and where */
    uint64_t approved, refused;    /* items */
    struct sma_str response, grant_rule;
    int64_t grant_s;
    const char *via;
};
struct store_ruling
{
    int status;         /* as in sma_decided */
    bool is_role_open;  /* 403: the platform may know that he may */
    bool is_closed;     /* 200: nothing is open any more */
    bool needs_telling; /* 200: the outcome's card does not say everything */
    char text[600];     /* one line in the language of the person */
};
/** Decide as far as this person may. In the open transaction. An error is of the store, not of the person. */
SMA_CHECKED enum sma_err sma_store_rule(struct sma_store *store, struct store_case *it,
                                        const struct store_word *word,
                                        struct store_ruling *ret_ruling);
/** Which items may this person decide? *ret_is_role_open: the platform may know more. */
uint64_t sma_store_permitted(struct sma_store *store, const struct store_case *it,
                             const struct sma_route *route, bool *ret_is_role_open);
/** What became of a request that is not open any more, or was never there. */
void sma_store_rule_late(struct sma_store *store, const struct sma_route *route, struct sma_str id,
                         struct store_ruling *ret_ruling);
void sma_store_decide(struct sma_store *store, struct sma_msg **msg);
/** A route's person, as people are told. */
struct sma_str sma_store_name_of(const struct sma_route *route);

/* -- store_answer.c --------------------------------------------------------------------------------------------- */
/** A button of ours was pressed. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_press(struct sma_store *store, struct store_chat *chat,
                                         struct sma_msg *msg);
/** Words in a chat with an open request. *ret_is_taken: they are dealt with, else the message is ordinary. */
SMA_CHECKED enum sma_err sma_store_words(struct sma_store *store, struct store_chat *chat,
                                         struct sma_msg *msg,
                                         const struct sma_access_outcome *outcome,
                                         bool *ret_is_taken);
/** The role of the author of a held press or held words is known now. *ret_is_over: nothing is left to do for the row. */
SMA_CHECKED enum sma_err sma_store_conclude_answer(struct sma_store *store, struct store_chat *chat,
                                                   uint64_t seq, bool may_run, bool *ret_is_over);
/** A waiting row that was being judged, while the queue is read again. */
SMA_CHECKED enum sma_err sma_store_judge_again(struct sma_store *store, struct store_chat *chat,
                                               uint64_t seq, struct sma_str request_id,
                                               bool *ret_is_held);
void sma_store_judged(struct sma_store *store, struct sma_msg **msg);
void sma_store_send_judgements(struct sma_store *store); /* between transactions */
void sma_store_drop_judgement(struct sma_store *store, uint64_t seq);

/* -- store_grant.c ---------------------------------------------------------------------------------------------- */
void sma_store_free_grants(struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_load_grants(struct sma_store *store);
struct store_grant_facts
{
    const struct store_chat *chat;
    struct sma_str tool, rule, by;
    int64_t length_s; /* SMA_GRANT_ALWAYS or seconds */
};
/** In the open transaction. */
SMA_CHECKED enum sma_err sma_store_add_grant(struct sma_store *store,
                                             const struct store_grant_facts *facts);
/** The first, or the one after `grant`, that holds in this chat now; NULL = no more. */
const struct store_grant *sma_store_next_grant(const struct sma_store *store,
                                               const struct store_chat *chat,
                                               const struct store_grant *grant);
SMA_CHECKED enum sma_err sma_store_sweep_grants(struct sma_store *store);
void sma_store_revoke(struct sma_store *store, struct sma_msg **question);
void sma_store_put_grants(struct sma_store *store, struct sma_buf *json, struct sma_str chat_key);

/* -- store_project.c -------------------------------------------------------------------------------------------- */
/** The file of this request is to be made anew, or to go, after the commit. */
void sma_store_touch_projection(struct sma_store *store, const char *id);
void sma_store_project(struct sma_store *store);     /* after the commit */
void sma_store_project_all(struct sma_store *store); /* at start */
void sma_store_put_approvals(struct sma_store *store, struct sma_buf *json,
                             struct sma_str chat_key);
/** {"id","type","description","data":{...}} of the first open item. */
void sma_store_put_pending(const struct store_case *it, struct sma_buf *json);

#endif
