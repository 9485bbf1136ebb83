/*
 * budget_priv.h — what the files of the part "budget" share. Thread: the store's.
 */
#ifndef SMA_STORE_BUDGET_PRIV_H
#define SMA_STORE_BUDGET_PRIV_H

#include "budget.h"
#include "map.h"

#define STORE_NAME_BYTES (SMA_ID_BYTES_MAX * 2 + 2)

/* A share in memory, as in its row. */
struct store_share_row
{
    uint64_t seq;
    uint32_t chat_id;
    struct sma_state_spent held;
    uint32_t person_len, platform_len;
    char text[]; /* person, platform */
};

/* Reserved by all shares of one name of a scope. */
struct store_reserved
{
    struct sma_state_spent sum;
    uint32_t share_count;
};

struct store_rate; /* rate.c */

struct store_budget
{
    bool is_on;       /* some budget has a limit */
    bool has_rate;    /* limits.perPersonPerMinute */
    bool is_counting; /* spent is complete: says a row of meta */
    struct sma_local_day today;
    struct store_map shares;   /* seq -> store_share_row */
    struct store_map reserved; /* hash of scope and name -> store_reserved */
    struct store_reserved total;
    struct sma_state_spent usual; /* of a run of any chat, lately */
    struct store_rate *rate;
    bool is_published; /* the gauges are as it is */
};

/* The name of each scope, for one message. */
struct store_names
{
    struct sma_str name[SMA_BUDGET_SCOPE_COUNT];
    char person[STORE_NAME_BYTES], chat[16];
};
void sma_store_names_init(struct store_names *names, struct sma_str channel, uint32_t chat_id,
                          struct sma_str person);
/** "telegram:1001", by whichever bot of the platform. */
struct sma_str sma_store_person_name(char *bytes, size_t size, struct sma_str channel,
                                     struct sma_str user_id);
/** Budgets do not hold for who stands so. */
bool sma_store_is_exempt(const struct sma_store *store, enum sma_standing standing);
const struct sma_config_budget *sma_store_budget_of(const struct sma_store *store, unsigned scope);
/* 0 = no limit. Cost in 1e-9. */
struct store_limits
{
    uint64_t limit[SMA_BUDGET_KIND_COUNT][SMA_BUDGET_PERIOD_COUNT];
    bool is_any, has_month;
};
struct store_limits sma_store_limits_of(const struct sma_config_budget *config);
static inline uint64_t sma_store_amount(const struct sma_state_spent *spent, unsigned kind)
{
    return kind == SMA_BUDGET_TOKENS ? spent->tokens
           : kind == SMA_BUDGET_COST ? spent->cost_nano
                                     : spent->runs;
}
/** What is reserved by others than `own` (may be NULL), and what was spent today and this month. */
struct store_use
{
    struct sma_state_spent reserved, spent[SMA_BUDGET_PERIOD_COUNT];
};
SMA_CHECKED enum sma_err sma_store_use_of(struct sma_store *store, unsigned scope,
                                          struct sma_str name, const struct store_share_row *own,
                                          struct store_use *ret_use);
/** Budgets were set or taken away: spent is made complete, or said to be no more. In the open
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_count_budgets(struct sma_store *store);
/** A row of a share, in state.db and in memory. */
SMA_CHECKED enum sma_err sma_store_share_write(struct sma_store *store,
                                               const struct sma_state_share *share);
/** What a run of this chat will use, by those before it: tokens and cost of *ret_size. */
void sma_store_share_estimate(const struct sma_store *store, const struct store_chat *chat,
                              struct sma_state_spent *ret_size);
const struct store_share_row *sma_store_share_of(const struct sma_store *store, uint64_t seq);

/* -- rate.c ------------------------------------------------------------------------------------ */
/** How long this person has to wait for the next message; 0 = not at all. */
uint64_t sma_store_rate_wait_ns(struct sma_store *store, uint64_t person);
/** A message of this person begins work. */
void sma_store_rate_count(struct sma_store *store, uint64_t person);
/** May he be told that he is too fast? Once a minute. */
bool sma_store_rate_may_tell(struct sma_store *store, uint64_t person);
void sma_store_rate_forget(struct sma_store *store);

#endif
