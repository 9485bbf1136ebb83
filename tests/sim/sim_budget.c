/*
 * sim_budget.c — budgets in every third seed: so large that nobody is refused, so that only the
 * sums are at stake. What is reserved is what the rows of shares say, and what was spent is what
 * usage says, after every kill.
 */
#include "sim.h"

#include "actors/store/budget_priv.h"
#include "runtime/chat/state_model.h"

#define HUGE INT64_C(1000000000000)

void budget_draw(struct world *world)
{
    bool has_budgets = world->options.seed % 3 == 1;
    if (has_budgets)
        world->config.budgets =
            (struct sma_config_budgets){.person = {.tokens_day = HUGE, .runs_month = HUGE},
                                        .chat.cost_day = 1e6,
                                        .platform.runs_day = HUGE,
                                        .total.tokens_month = HUGE};
}

struct sums
{
    struct sma_state_spent held;
    uint32_t count;
};

static enum sma_err add_share(void *user, const struct sma_state_share *share)
{
    struct sums *sums = user;
    sums->held.tokens += share->held.tokens;
    sums->held.cost_nano += share->held.cost_nano;
    sums->held.runs += share->held.runs;
    sums->count++;
    return SMA_ERR_OK;
}

static enum sma_err take_usage(void *user, int64_t key, struct sma_str name,
                               const struct sma_usage *usage)
{
    (void)key;
    (void)name;
    *(struct sma_usage *)user = *usage;
    return SMA_ERR_OK;
}

static void check_shares(struct world *world, bool is_at_rest)
{
    const struct store_budget *budget = world->store->budget;
    struct sums sums = {0};
    if (sma_state_each_share(world->store->state, add_share, &sums) != SMA_ERR_OK)
        complain(world, "shares cannot be read");
    if (sums.count != budget->total.share_count ||
        memcmp(&sums.held, &budget->total.sum, sizeof sums.held) != 0)
        complain(world, "%u shares of %" PRIu64 " tokens, %u of %" PRIu64 " in memory", sums.count,
                 sums.held.tokens, budget->total.share_count, budget->total.sum.tokens);
    if (sums.count > sma_state_open_count(world->store->state) || (is_at_rest && sums.count != 0))
        complain(world, "%u shares of %" PRIu64 " open messages", sums.count,
                 sma_state_open_count(world->store->state));
}

static void check_spent(struct world *world)
{
    const int64_t days[2] = {-1000000, 1000000};
    struct sma_state *state = world->store->state;
    struct sma_usage usage = {0};
    struct sma_state_spent spent = {0};
    struct sma_state_usage_query all = {
        .by = SMA_STATE_USAGE_TOTAL, .from_day = days[0], .row_max = 1};
    if (sma_state_each_usage(state, &all, take_usage, &usage) != SMA_ERR_OK ||
        sma_state_spent_sum(state, SMA_BUDGET_TOTAL, SMA_STR(""), days, &spent) != SMA_ERR_OK)
        complain(world, "what was spent cannot be read");
    uint64_t tokens = usage.input + usage.cached + usage.written + usage.output;
    if (tokens != spent.tokens || usage.cost_nano != spent.cost_nano)
        complain(world, "%" PRIu64 " tokens were used, %" PRIu64 " spent", tokens, spent.tokens);
}

void check_budgets(struct world *world, bool is_at_rest)
{
    if (world->config.budgets.total.tokens_month == 0)
        return;
    check_shares(world, is_at_rest);
    check_spent(world);
}
