/*
 * consent_priv.h — what the files of the part "consent" share. Thread: the store's.
 */
#ifndef SMA_STORE_CONSENT_PRIV_H
#define SMA_STORE_CONSENT_PRIV_H

#include "consent.h"
#include "item.h"
#include "map.h"
#include "runtime/approval/answer.h"
#include "runtime/approval/card.h"
#include "runtime/approval/consent.h"

#define STORE_JUDGEMENT_COUNT_MAX 256 /* messages that the agent reads; further ones are ordinary */
#define STORE_CONDEMNED_COUNT_MAX 64
#define STORE_CARD_BYTES_MAX ((size_t)8 * 1024 * 1024)

/* A chat in which a request is shown, one of its list there. */
struct store_sight
{
    struct store_sight *prev,
        *next; /* of its chat, older requests first; the first one's prev is the last */
    struct store_approval *approval;
    struct store_chat *chat;
    uint8_t place;      /* 0: the run's own chat; 1 ...: a home, as in the key of its card */
    bool is_superseded; /* we said something else there since: words there may mean that */
};

/* A parked run: people are asked. In memory while it is open, made from its rows; state.db has the
 * whole. */
struct store_approval
{
    struct store_approval *prev, *next; /* all of them, oldest first */
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    struct store_chat *chat; /* whose run waits */
    uint64_t seq;
    uint32_t step;
    uint64_t deadline_ns;  /* 0 = the clock stands */
    int64_t left_ms;       /* then; -1 = it has not begun to run */
    uint32_t judged_count; /* messages that the agent reads: the clock stands */
    uint32_t clock_place;  /* in the heap of clocks, from 1 on; 0 = not in it */
    bool is_told;          /* the chat knows that it waits */
    bool is_touched;       /* its file waits to be looked at */
    bool is_broken;        /* its rows cannot be used: it is given up with the next batch */
    bool is_stuck;         /* ... and cannot be ended: it is left alone */
    struct store_approval *broken_next;
    uint32_t sight_count;
    struct store_sight sights[1 + SMA_APPROVAL_HOME_COUNT_MAX]; /* the own chat's first */
};

/* What no row knows of a request that is not in memory, until the commit: how far its clock is, and
 * whether its chat was told. A failed commit would give it all of its time again. */
struct store_clock
{
    uint64_t seq, deadline_ns;
    int64_t left_ms;
    uint32_t step;
    bool is_told;
};

/* A run whose request is found damaged, known until it is given up: reading the rows again does not
 * show it. */
struct store_condemned
{
    uint64_t seq;
    bool is_stuck;
};

/* A waiting message that may be the answer to a request. Its row says so; that the agent has it,
 * only we know. */
struct store_judgement
{
    uint64_t seq;
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1];
    struct store_chat *chat;
    bool is_sent;
};

struct store_consent
{
    uint8_t key[SMA_CARD_KEY_BYTES];
    struct store_approval *first, *last; /* oldest first */
    uint32_t count;
    struct store_map by_id, by_run,
        by_chat; /* half of the id, seq -> approval; chat id -> its first sight */
    struct store_approval *broken;
    struct store_condemned condemned[STORE_CONDEMNED_COUNT_MAX];
    uint32_t condemned_count;
    struct store_approval **clocks; /* that run: a heap, the next deadline first */
    uint32_t clock_count, clock_cap;
    bool are_clocks_new;      /* read again: those that should run have to be started */
    int64_t expire_s;         /* as the clocks run by now */
    struct store_clock *kept; /* of those that ended in the open transaction, or are read again */
    uint32_t kept_count, kept_cap;
    struct store_judgement *judgements,
        *out; /* out: was with the agent when the rows were read again */
    uint32_t judgement_count, judgement_cap, out_count, out_cap;
    char (*projected)[SMA_STATE_APPROVAL_ID_BYTES +
                      1]; /* whose files are to be made anew, or to go */
    uint32_t projected_at, projected_count, projected_cap;
};

/* -- requests.c -------------------------------------------------------------------------------- */
struct store_approval_facts
{
    struct sma_str id;
    struct store_chat *chat;
    uint64_t seq;
    uint32_t step;
};
/** Add to memory. EXISTS: another one has this id, or this run; NOMEM. */
SMA_CHECKED enum sma_err sma_store_approval_add(struct sma_store *store,
                                                const struct store_approval_facts *facts,
                                                struct store_approval **ret_approval);
/** It is shown in this chat too. TOOBIG: in as many as can be. */
SMA_CHECKED enum sma_err sma_store_approval_show(struct sma_store *store,
                                                 struct store_approval *approval,
                                                 struct store_chat *chat, uint8_t place);
/** It is over: freed. */
void sma_store_approval_end(struct sma_store *store, struct store_approval *approval);
struct store_approval *sma_store_approval_by_id(const struct sma_store *store, struct sma_str id);
/** The first request that is shown in this chat, its own or another chat's; then ->next until
 *  NULL. */
struct store_sight *sma_store_first_sight(const struct sma_store *store,
                                          const struct store_chat *chat);
/** The one request that words said in this chat can mean, as it is shown there. *ret_count: how
 *  many could be meant; those of other chats that are superseded only when there is nothing
 *  else. */
struct store_sight *sma_store_sight_meant(const struct sma_store *store,
                                          const struct store_chat *chat, uint32_t *ret_count);
/** Its rows cannot be used: it is given up with the next batch. */
void sma_store_approval_break(struct sma_store *store, struct store_approval *approval);
/** The same for what is damaged without looking so: also when the rows are read again. is_stuck: it
 *  could not be given up. */
void sma_store_condemn(struct sma_store *store, uint64_t seq, bool is_stuck);
void sma_store_pardon(struct sma_store *store, uint64_t seq); /* it is given up */
/** The marks of what is superseded: read, and gone with the request. */
SMA_CHECKED enum sma_err sma_store_load_supersessions(struct sma_store *store);
SMA_CHECKED enum sma_err sma_store_forget_superseded(struct sma_store *store,
                                                     const struct store_approval *approval);

/* -- clock.c ----------------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err sma_store_approval_start_clock(struct sma_store *store,
                                                        struct store_approval *approval);
/** Out of the heap; nothing happens when it is not in it. */
/** NULL: the agent is not asked about this message. */
struct store_judgement *sma_store_find_judgement(struct sma_store *store, uint64_t seq);
/** The request's clock goes on, and stands still. */
void sma_store_run_clock(struct sma_store *store, struct store_approval *approval, uint64_t now);
void sma_store_stop_clock(struct sma_store *store, struct store_approval *approval, uint64_t now);
/** Into the heap, and out of it. */
void sma_store_add_clock(struct sma_store *store, struct store_approval *approval);
void sma_store_drop_clock(struct sma_store *store, struct store_approval *approval);
/** The clock stands while somebody's words are judged. */
void sma_store_approval_judging(struct sma_store *store, struct store_approval *approval,
                                int change);
/** It leaves memory, and may be read again: what no row knows of it. */
void sma_store_keep_clock(struct sma_store *store, const struct store_approval *approval);
void sma_store_take_clocks(struct sma_store *store);      /* the rows were read again */
void sma_store_drop_kept_clocks(struct sma_store *store); /* committed: nothing of it comes back */
uint64_t sma_store_clock_wake(const struct sma_store *store);

/* -- meant.c ----------------------------------------------------------------------------------- */
struct store_meant
{
    struct store_approval *approval; /* NULL: no request can be meant */
    enum sma_meant how;
};
SMA_CHECKED enum sma_err sma_store_find_meant(struct sma_store *store,
                                              const struct store_chat *chat,
                                              const struct sma_said *said,
                                              struct store_meant *ret_meant);

/* -- answer.c ---------------------------------------------------------------------------------- */
/** The rows are read again: which messages the agent is reading, and that nothing else is known. */
void sma_store_keep_judgements(struct sma_store *store);

/* -- case.c, park.c ---------------------------------------------------------------------------- */
/** End a request that cannot be read, and its run. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_abandon(struct sma_store *store,
                                           struct store_approval *approval);
/** Do something with a request as an item of the batch (item.h). Damage gives it up, with its run,
 *  and nothing else.
 *  *ret_is_damaged: it is gone, and every pointer to requests with it. */
SMA_CHECKED enum sma_err sma_store_on_request(struct sma_store *store,
                                              struct store_approval *approval, store_step_fn *step,
                                              void *ctx, bool *ret_is_damaged);
/** Write what was decided; when nothing is open any more, the run goes on. In the open transaction.
 *  `by` as people are told. *ret_is_closed: approval is gone. */
SMA_CHECKED enum sma_err sma_store_case_write(struct sma_store *store, struct store_case *it,
                                              struct sma_str by, bool *ret_is_closed);
/** End a request without its run: expired or cancelled items are set by the caller. */
SMA_CHECKED enum sma_err sma_store_case_close(struct sma_store *store, struct store_case *it,
                                              enum sma_state_approval_state state,
                                              struct sma_str by);
/** Change or follow the cards of a request; step: the number in the keys of what is sent. */
SMA_CHECKED enum sma_err sma_store_send_outcome(struct sma_store *store, struct store_case *it,
                                                uint32_t step, struct sma_str by);

/* -- decide.c ---------------------------------------------------------------------------------- */
/* What somebody says about a request. */
struct store_word
{
    const struct sma_route *route; /* who, and where */
    uint64_t approved, refused;    /* items */
    struct sma_str response, grant_rule;
    int64_t grant_s;
    const char *via;
};
struct store_decision
{
    int status;         /* as in sma_decided */
    bool is_role_open;  /* 403: the platform may know that he may */
    bool is_closed;     /* 200: nothing is open any more */
    bool needs_telling; /* 200: the outcome's card does not say everything */
    char text[600];     /* one line in the language of the person */
};
/** Decide as far as this person may. In the open transaction. An error is of the store, not of the
 *  person. */
SMA_CHECKED enum sma_err sma_store_rule(struct sma_store *store, struct store_case *it,
                                        const struct store_word *word,
                                        struct store_decision *ret_decision);
/** Which items may this person decide? *ret_is_role_open: the platform may know more. */
uint64_t sma_store_permitted(struct sma_store *store, const struct store_case *it,
                             const struct sma_route *route, bool *ret_is_role_open);
/** What became of a request that is not open any more, or was never there. */
void sma_store_rule_late(struct sma_store *store, const struct sma_route *route, struct sma_str id,
                         struct store_decision *ret_decision);
/** Which request is meant by the beginning of an id; NULL: the decision says why none is. */
struct store_approval *sma_store_find_wanted(struct sma_store *store,
                                             const struct sma_decide *decide,
                                             struct store_decision *decision);
/** A route's person, as people are told. */
struct sma_str sma_store_name_of(const struct sma_route *route);

/* -- decide.c ---------------------------------------------------------------------------------- */
/* Was the program of the one item agreed to so often that its card offers to allow it for good? */
bool sma_store_offers_program(struct sma_store *store, const struct sma_request *request);

/* -- grant.c, project.c ------------------------------------------------------------------------ */
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
/** Append the object of one that a list shows. */
void sma_store_put_grant(struct sma_buf *json, const struct sma_state_grant *grant);
void sma_store_put_case(const struct store_case *it, struct sma_buf *json);
/** Some of the files that wait, for about so long; between transactions. */
void sma_store_project(struct sma_store *store, uint64_t budget_ns);
/** The file of this request is to be made anew, or to go, after the commit. */
void sma_store_touch_projection(struct sma_store *store, const char *id);

/* -- card_send.c ------------------------------------------------------------------------------ */
void sma_store_fill_card(struct sma_store *store, const struct store_case *it,
                         const struct sma_route *to, struct sma_card_facts *card);
SMA_CHECKED enum sma_err sma_store_send_card(struct sma_store *store, const struct store_case *it,
                                             const struct sma_step_delivery *delivery,
                                             uint32_t step, bool *ret_is_waiting);

#endif
