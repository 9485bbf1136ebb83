/*
 * budget.h — budgets.* and limits.perPersonPerMinute: what may begin, what is under way, what was
 * spent. Part of the store; its thread.
 *
 * A message that may begin a run reserves a share in the transaction that accepts it; the share
 * shrinks by what the run's steps use, in their transactions, and is gone with the row. What is
 * reserved in memory is the sum of the rows of shares, made from them at every load.
 * Without budgets and limits nothing is written or looked up: docs/adr/0042.
 */
#ifndef SMA_STORE_BUDGET_H
#define SMA_STORE_BUDGET_H

#include "intake.h"
#include "runtime/chat/state_budget.h"
#include "runtime/text/local_day.h"
#include "store.h"

struct store_run;

/** The configuration is new. */
void sma_store_set_budgets(struct sma_store *store);
/** Today, by the local time of the process. */
const struct sma_local_day *sma_store_today(struct sma_store *store);

/* -- messages ---------------------------------------------------------------------------------- */
struct store_share
{
    struct sma_budget_over over; /* scope NONE: it may begin */
    struct sma_state_spent size; /* what it reserves */
    bool is_taken;               /* it reserves something */
    uint64_t person;             /* hash, for the limit of a minute; 0 = nobody counts */
};
/** May this message begin a run? In the open transaction; nothing is changed by it but the first
 *  time after budgets were set. */
SMA_CHECKED enum sma_err sma_store_share_ask(struct sma_store *store, const struct store_chat *chat,
                                             const struct sma_ingress *in,
                                             struct store_share *ret_share);
/** Its row is written: the share is its. In the same transaction. */
SMA_CHECKED enum sma_err sma_store_share_take(struct sma_store *store,
                                              const struct store_chat *chat,
                                              const struct sma_route *route, uint64_t seq,
                                              const struct store_share *share);
/** A queued run starts; one that has no share, though budgets count, gets one. over: it is new, and
 *  nothing is left for it. In the open transaction. */
struct store_cover
{
    enum sma_standing standing;
    bool is_new;
};
SMA_CHECKED enum sma_err sma_store_share_cover(struct sma_store *store, const struct store_run *run,
                                               const struct store_cover *how,
                                               struct store_share *ret_share);
/** Its person is told what is used up: once a period and budget. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_share_notice(struct sma_store *store, struct store_chat *chat,
                                                const struct sma_route *route, uint64_t seq,
                                                const struct store_share *share);
/** BUDGET or RATE. */
enum sma_reason sma_store_share_why(const struct store_share *share);
/** Append what is used up and when it is renewed. */
void sma_store_share_put_text(const struct sma_store *store, struct sma_buf *text,
                              enum sma_language language, const struct sma_budget_over *over);
/** The same for programs, in scratch.text; counted as refused. */
struct sma_str sma_store_share_reason(struct sma_store *store, const struct store_share *share);
/** Claim and record it, tell its person, answer BUSY. */
SMA_CHECKED enum sma_err sma_store_share_refuse(struct sma_store *store, struct store_chat *chat,
                                                struct sma_msg *msg,
                                                const struct store_share *share);

/* -- runs -------------------------------------------------------------------------------------- */
/* Whose usage it is. */
struct store_spender
{
    uint64_t seq;
    uint32_t chat_id;
    struct sma_str person, platform;
};
/** More was used; is_first: by this run. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_share_spend(struct sma_store *store,
                                               const struct store_spender *spender,
                                               const struct sma_usage *usage, bool is_first);
/** Another run answers this message from now on, or none does. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_share_leave(struct sma_store *store, uint64_t seq);
/** May this run make another request? ret_over->scope NONE: yes. */
SMA_CHECKED enum sma_err sma_store_share_check(struct sma_store *store, uint64_t seq,
                                               struct sma_budget_over *ret_over);
/** What a run of this chat uses: the next ones reserve as much. */
void sma_store_share_learn(struct sma_store *store, const struct store_run *run);

/* -- telling ----------------------------------------------------------------------------------- */
/** Append "budgets":{...} to an object that is open; nothing without budgets. */
void sma_store_put_budgets(struct sma_store *store, struct sma_buf *json);
/** Append a line for each budget of this person and chat: what is left. is_whole: of the platform
 *  and of all, too. */
void sma_store_put_budgets_left(struct sma_store *store, struct sma_buf *text,
                                const struct store_chat *chat, const struct sma_ingress *in,
                                bool is_whole);

#endif
