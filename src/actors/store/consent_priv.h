/*
 * consent_priv.h — what the files of the part "consent" share. Thread: the store's.
 */
#ifndef SMA_STORE_CONSENT_PRIV_H
#define SMA_STORE_CONSENT_PRIV_H

#include "consent.h"
#include "runtime/approval/answer.h"
#include "runtime/approval/card.h"

#define STORE_JUDGEMENT_COUNT_MAX 256 /* messages that the agent reads; further ones are ordinary */
#define STORE_CARD_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define STORE_APPROVAL_KEPT_MS (INT64_C(30) * 86400000) /* who decided is known for so long */

/* A waiting message that may be the answer to a request. */
struct store_judgement
{
    uint64_t seq;
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    struct store_chat *chat;
    bool is_sent, is_seen; /* is_seen: found again while the queue is read anew */
};

struct store_consent
{
    uint8_t key[SMA_CARD_KEY_BYTES];
    struct store_approval *first, *last; /* oldest first */
    struct store_approval *ended;        /* by the open transaction */
    struct store_approval *stale;        /* what was in memory before the rows are read again */
    uint32_t count;
    uint64_t wake_ns; /* no clock runs out before it */
    struct store_judgement *judgements;
    uint32_t judgement_count, judgement_cap;
    char (*projected)[SMA_STATE_APPROVAL_ID_BYTES + 1]; /* changed by the open batch */
    uint32_t projected_count, projected_cap;
};

/** Add to memory; NULL when out of memory. */
struct store_approval *sma_store_approval_add(struct sma_store *store, const char *id,
                                              struct store_chat *chat, uint64_t seq, uint32_t step);
SMA_CHECKED enum sma_err sma_store_approval_show(struct store_approval *approval,
                                                 struct store_chat *chat);
struct store_approval *sma_store_approval_by_id(const struct sma_store *store, struct sma_str id);
/** The one request that words said in this chat can mean. *ret_count: how many could be meant; those of other chats that
 *  are buried only when there is nothing else. */
struct store_approval *sma_store_approval_meant(const struct sma_store *store,
                                                const struct store_chat *chat, uint32_t *ret_count);
bool sma_store_is_shown_in(const struct store_approval *approval, const struct store_chat *chat);
/** The mark of it goes with the request. */
SMA_CHECKED enum sma_err sma_store_forget_burial(struct sma_store *store,
                                                 const struct store_approval *approval);
/** May words said in this private chat mean the request: have we said nothing else since? */
bool sma_store_is_approval_fresh(const struct sma_store *store,
                                 const struct store_approval *approval,
                                 const struct store_chat *chat);
SMA_CHECKED enum sma_err sma_store_approval_start_clock(struct sma_store *store,
                                                        struct store_approval *approval);
/** The clock stands while somebody's words are judged. */
void sma_store_approval_judging(struct sma_store *store, struct store_approval *approval,
                                int change);
/** It is over: out of the list, and freed after the commit. */
void sma_store_approval_end(struct sma_store *store, struct store_approval *approval);

/* -- meant.c ---------------------------------------------------------------------------------------------------- */
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

/* -- case.c, park.c --------------------------------------------------------------------------------------------- */
/** End a request that cannot be read, and its run. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_abandon(struct sma_store *store,
                                           struct store_approval *approval);
/** Write what was decided; when nothing is open any more, the run goes on. In the open transaction. `by` as people are
 *  told. *ret_is_closed: approval is gone. */
SMA_CHECKED enum sma_err sma_store_case_write(struct sma_store *store, struct store_case *it,
                                              struct sma_str by, bool *ret_is_closed);
/** End a request without its run: expired or cancelled items are set by the caller. */
SMA_CHECKED enum sma_err sma_store_case_close(struct sma_store *store, struct store_case *it,
                                              enum sma_state_approval_state state,
                                              struct sma_str by);
/** Change or follow the cards of a request; step: the number in the keys of what is sent. */
SMA_CHECKED enum sma_err sma_store_send_outcome(struct sma_store *store, struct store_case *it,
                                                uint32_t step, struct sma_str by);

/* -- decide.c --------------------------------------------------------------------------------------------------- */
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
/** A route's person, as people are told. */
struct sma_str sma_store_name_of(const struct sma_route *route);

/* -- grant.c, project.c ----------------------------------------------------------------------------------------- */
struct store_grant_facts
{
    const struct store_chat *chat;
    struct sma_str tool, rule, by;
    int64_t length_s; /* SMA_GRANT_ALWAYS or seconds */
};
/** In the open transaction. */
SMA_CHECKED enum sma_err sma_store_add_grant(struct sma_store *store,
                                             const struct store_grant_facts *facts);
void sma_store_revoke(struct sma_store *store, struct sma_msg **question);
/** The file of this request is to be made anew, or to go, after the commit. */
void sma_store_touch_projection(struct sma_store *store, const char *id);

#endif
