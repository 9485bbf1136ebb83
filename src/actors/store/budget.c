/*
 * The part "budget": shares that open messages hold, and what was spent. Reserved sums are made
 * from the rows of shares and changed with them, so nothing can leak: what an undone transaction
 * changed is read again, what a crash left is read at start.
 */
#include "budget_priv.h"
#include "item.h"
#include "runs.h"
#include "runs_priv.h"

#include <math.h>
#include <stdlib.h>

#define COUNTING_KEY SMA_STR("budgets.counting")

/* -- names and limits -------------------------------------------------------------------------- */
/* What people use they use of the platform, by whichever of its bots: a second bot gives nobody a
 * second budget. */
struct sma_str sma_store_person_name(char *bytes, size_t size, struct sma_str channel,
                                     struct sma_str user_id)
{
    struct sma_str platform = sma_bot_platform(channel);
    int len = snprintf(bytes, size, "%.*s:%.*s", (int)platform.len, platform.ptr, (int)user_id.len,
                       user_id.ptr);
    return (struct sma_str){bytes, (size_t)len < size ? (size_t)len : size - 1};
}

void sma_store_names_init(struct store_names *names, struct sma_str channel, uint32_t chat_id,
                          struct sma_str person)
{
    snprintf(names->chat, sizeof names->chat, "%u", chat_id);
    names->name[SMA_BUDGET_NONE] = names->name[SMA_BUDGET_TOTAL] = SMA_STR("");
    names->name[SMA_BUDGET_PERSON] = person;
    names->name[SMA_BUDGET_CHAT] = sma_str(names->chat);
    names->name[SMA_BUDGET_PLATFORM] = sma_bot_platform(channel);
}

const struct sma_config_budget *sma_store_budget_of(const struct sma_store *store, unsigned scope)
{
    const struct sma_config_budgets *budgets = &store->config->budgets;
    return scope == SMA_BUDGET_PERSON     ? &budgets->person
           : scope == SMA_BUDGET_CHAT     ? &budgets->chat
           : scope == SMA_BUDGET_PLATFORM ? &budgets->platform
                                          : &budgets->total;
}

static uint64_t nano(double cost)
{
    return cost <= 0 ? 0 : (uint64_t)llround(cost * 1e9) + (cost < 1e-9);
}

struct store_limits sma_store_limits_of(const struct sma_config_budget *config)
{
    struct store_limits limits = {
        .limit = {
            [SMA_BUDGET_TOKENS] = {(uint64_t)config->tokens_day, (uint64_t)config->tokens_month},
            [SMA_BUDGET_COST] = {nano(config->cost_day), nano(config->cost_month)},
            [SMA_BUDGET_RUNS] = {(uint64_t)config->runs_day, (uint64_t)config->runs_month}}};
    for (unsigned kind = 0; kind < SMA_BUDGET_KIND_COUNT; kind++) {
        limits.has_month = limits.has_month || limits.limit[kind][SMA_BUDGET_MONTH] > 0;
        limits.is_any = limits.is_any || limits.limit[kind][SMA_BUDGET_DAY] > 0;
    }
    limits.is_any = limits.is_any || limits.has_month;
    return limits;
}

bool sma_store_is_exempt(const struct sma_store *store, enum sma_standing standing)
{
    const struct sma_config_budgets *settings = &store->config->budgets;
    return settings->exempts_owners && standing == SMA_STANDING_OWNER;
}

void sma_store_set_budgets(struct sma_store *store)
{
    struct store_budget *budget = store->budget;
    budget->is_on = false;
    for (unsigned scope = SMA_BUDGET_PERSON; scope < SMA_BUDGET_SCOPE_COUNT; scope++)
        budget->is_on =
            budget->is_on || sma_store_limits_of(sma_store_budget_of(store, scope)).is_any;
    budget->has_rate = store->config->per_person_per_minute > 0;
    budget->is_published = false;
}

const struct sma_local_day *sma_store_today(struct sma_store *store)
{
    struct sma_local_day *today = &store->budget->today;
    int64_t wall_ms = sma_ctx_wall(store->ctx);
    if (!sma_local_day_has(today, wall_ms))
        sma_local_day_find(wall_ms, today);
    return today;
}

/* -- what is reserved -------------------------------------------------------------------------- */
static void add_sum(struct sma_state_spent *sum, const struct sma_state_spent *more)
{
    sum->tokens += more->tokens;
    sum->cost_nano += more->cost_nano;
    sum->runs += more->runs;
}

static void take_sum(struct sma_state_spent *sum, const struct sma_state_spent *less)
{
    SMA_ASSERT(sum->tokens >= less->tokens && sum->cost_nano >= less->cost_nano &&
               sum->runs >= less->runs);
    sum->tokens -= less->tokens;
    sum->cost_nano -= less->cost_nano;
    sum->runs -= less->runs;
}

static uint64_t key_of(const struct sma_store *store, unsigned scope, struct sma_str name)
{
    char bytes[STORE_NAME_BYTES + 1];
    size_t len = name.len < STORE_NAME_BYTES ? name.len : STORE_NAME_BYTES;
    bytes[0] = (char)scope;
    if (len > 0)
        memcpy(bytes + 1, name.ptr, len);
    return sma_siphash(store->hash_key, bytes, len + 1) | 1;
}

/* The three that have names. */
static void names_of(const struct store_share_row *row, struct store_names *names)
{
    sma_store_names_init(names, (struct sma_str){row->text + row->person_len, row->platform_len},
                         row->chat_id, (struct sma_str){row->text, row->person_len});
}

static void reserve(struct sma_store *store, const struct store_share_row *row)
{
    struct store_budget *budget = store->budget;
    struct store_names names;
    names_of(row, &names);
    for (unsigned scope = SMA_BUDGET_PERSON; scope < SMA_BUDGET_TOTAL; scope++) {
        uint64_t key = key_of(store, scope, names.name[scope]);
        struct store_reserved *reserved = sma_store_map_get(&budget->reserved, key);
        if (reserved == NULL) {
            reserved = calloc(1, sizeof *reserved);
            sma_store_need(store,
                           reserved != NULL && sma_store_map_put(&budget->reserved, key, reserved));
        }
        add_sum(&reserved->sum, &row->held);
        reserved->share_count++;
    }
    add_sum(&budget->total.sum, &row->held);
    budget->total.share_count++;
    budget->is_published = false;
}

static void unreserve(struct sma_store *store, const struct store_share_row *row)
{
    struct store_budget *budget = store->budget;
    struct store_names names;
    names_of(row, &names);
    for (unsigned scope = SMA_BUDGET_PERSON; scope < SMA_BUDGET_TOTAL; scope++) {
        uint64_t key = key_of(store, scope, names.name[scope]);
        struct store_reserved *reserved = sma_store_map_get(&budget->reserved, key);
        SMA_ASSERT(reserved != NULL && reserved->share_count > 0);
        take_sum(&reserved->sum, &row->held);
        if (--reserved->share_count > 0)
            continue;
        sma_store_map_remove(&budget->reserved, key);
        free(reserved);
    }
    take_sum(&budget->total.sum, &row->held);
    budget->total.share_count--;
    budget->is_published = false;
}

const struct store_share_row *sma_store_share_of(const struct sma_store *store, uint64_t seq)
{
    return sma_store_map_get(&store->budget->shares, seq);
}

/* Forget the row in memory. */
static void drop(struct sma_store *store, struct store_share_row *row)
{
    unreserve(store, row);
    sma_store_map_remove(&store->budget->shares, row->seq);
    free(row);
}

static void keep(struct sma_store *store, const struct sma_state_share *share)
{
    struct store_share_row *old = sma_store_map_get(&store->budget->shares, share->seq);
    if (old != NULL)
        drop(store, old);
    struct store_share_row *row = calloc(1, sizeof *row + share->person.len + share->platform.len);
    sma_store_need(store, row != NULL);
    row->seq = share->seq;
    row->chat_id = share->chat_id;
    row->held = share->held;
    row->person_len = (uint32_t)share->person.len;
    row->platform_len = (uint32_t)share->platform.len;
    if (share->person.len > 0)
        memcpy(row->text, share->person.ptr, share->person.len);
    if (share->platform.len > 0)
        memcpy(row->text + row->person_len, share->platform.ptr, share->platform.len);
    sma_store_need(store, sma_store_map_put(&store->budget->shares, row->seq, row));
    reserve(store, row);
}

enum sma_err sma_store_share_write(struct sma_store *store, const struct sma_state_share *share)
{
    SMA_TRY(sma_state_share_set(store->state, share));
    keep(store, share);
    return SMA_ERR_OK;
}

enum sma_err sma_store_share_leave(struct sma_store *store, uint64_t seq)
{
    struct store_share_row *row = sma_store_map_get(&store->budget->shares, seq);
    if (row == NULL)
        return SMA_ERR_OK;
    SMA_TRY(sma_store_begin(store));
    SMA_TRY(sma_state_share_remove(store->state, seq));
    drop(store, row);
    return SMA_ERR_OK;
}

/* -- what is used ------------------------------------------------------------------------------ */
enum sma_err sma_store_use_of(struct sma_store *store, unsigned scope, struct sma_str name,
                              const struct store_share_row *own, struct store_use *ret_use)
{
    const struct store_budget *budget = store->budget;
    const struct store_reserved *reserved =
        scope == SMA_BUDGET_TOTAL
            ? &budget->total
            : sma_store_map_get(&budget->reserved, key_of(store, scope, name));
    const struct sma_local_day *today = sma_store_today(store);
    const int64_t days[][2] = {[SMA_BUDGET_DAY] = {today->day, today->day},
                               [SMA_BUDGET_MONTH] = {today->month_first, today->month_last}};
    *ret_use = (struct store_use){0};
    if (reserved != NULL)
        ret_use->reserved = reserved->sum;
    if (own != NULL)
        take_sum(&ret_use->reserved, &own->held);
    for (unsigned period = 0; period < SMA_BUDGET_PERIOD_COUNT; period++)
        SMA_TRY(
            sma_state_spent_sum(store->state, scope, name, days[period], &ret_use->spent[period]));
    return SMA_ERR_OK;
}

/* -- counting ---------------------------------------------------------------------------------- */
enum sma_err sma_store_count_budgets(struct sma_store *store)
{
    struct store_budget *budget = store->budget;
    if (budget->is_counting == budget->is_on)
        return SMA_ERR_OK;
    SMA_TRY(sma_store_begin(store));
    if (budget->is_on)
        SMA_TRY(sma_state_spent_fill(store->state, sma_store_today(store)->month_first));
    SMA_TRY(sma_state_meta_set(store->state, COUNTING_KEY,
                               budget->is_on ? SMA_STR("1") : SMA_STR("0")));
    budget->is_counting = budget->is_on;
    return SMA_ERR_OK;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The share of a run shrinks by what it has used. */
static SMA_CHECKED enum sma_err shrink(struct sma_store *store, uint64_t seq,
                                       const struct sma_state_spent *used)
{
    struct store_share_row *row = sma_store_map_get(&store->budget->shares, seq);
    if (row == NULL)
        return SMA_ERR_OK;
    struct sma_state_share share = {
        .seq = seq,
        .chat_id = row->chat_id,
        .person = {row->text, row->person_len},
        .platform = {row->text + row->person_len, row->platform_len},
        .held = {.tokens = less(row->held.tokens, used->tokens),
                 .cost_nano = less(row->held.cost_nano, used->cost_nano),
                 .runs = less(row->held.runs, used->runs)}};
    SMA_TRY(sma_state_share_set(store->state, &share));
    unreserve(store, row);
    row->held = share.held;
    reserve(store, row);
    return SMA_ERR_OK;
}

enum sma_err sma_store_share_spend(struct sma_store *store, const struct store_spender *spender,
                                   const struct sma_usage *usage, bool is_first)
{
    if (!store->budget->is_on && !store->budget->is_counting && store->budget->shares.count == 0)
        return SMA_ERR_OK;
    struct sma_state_spent used = {.tokens = usage->input + usage->cached + usage->written +
                                             usage->output,
                                   .cost_nano = usage->cost_nano,
                                   .runs = is_first};
    struct store_names names;
    bool is_counted = store->budget->is_counting;
    SMA_TRY(sma_store_count_budgets(store));
    SMA_TRY(shrink(store, spender->seq, &used));
    if (!store->budget->is_on)
        return SMA_ERR_OK;
    /* Counting begins with this very usage: the sums it was filled from have it already. */
    if (!is_counted)
        used.tokens = used.cost_nano = 0;
    sma_store_names_init(&names, spender->platform, spender->chat_id, spender->person);
    for (unsigned scope = SMA_BUDGET_PERSON; scope < SMA_BUDGET_SCOPE_COUNT; scope++)
        SMA_TRY(sma_state_spent_add(store->state, scope, names.name[scope],
                                    sma_store_today(store)->day, &used));
    store->budget->is_published = false;
    return SMA_ERR_OK;
}

static uint64_t nearer(uint64_t usual, uint64_t now)
{
    return usual == 0 ? now : usual - usual / 4 + now / 4;
}

void sma_store_share_learn(struct sma_store *store, const struct store_run *run)
{
    const struct sma_usage *usage = &run->usage;
    uint64_t tokens = usage->input + usage->cached + usage->written + usage->output;
    struct sma_state_spent *const usual[] = {&store->budget->usual, &run->chat->usual};
    if (!store->budget->is_on || usage->request_count == 0)
        return;
    for (size_t i = 0; i < SMA_COUNT_OF(usual); i++) {
        usual[i]->tokens = nearer(usual[i]->tokens, tokens);
        usual[i]->cost_nano = nearer(usual[i]->cost_nano, usage->cost_nano);
    }
}

/* -- release ----------------------------------------------------------------------------------- */
/* Whatever ended its message: the share goes with the transaction in which the row is over. */
static SMA_CHECKED enum sma_err release_finished(struct sma_store *store, uint64_t seq)
{
    struct sma_state_head head;
    if (sma_store_share_of(store, seq) == NULL)
        return SMA_ERR_OK;
    enum sma_err err = sma_state_head_get(store->state, seq, &head);
    if (err == SMA_ERR_OK && sma_row_is_open(head.state))
        return SMA_ERR_OK; /* parked: it comes again */
    if (err != SMA_ERR_OK && !sma_store_is_damage(store, err))
        return err;
    return sma_store_share_leave(store, seq);
}

static enum sma_err complete(struct sma_store *store)
{
    uint64_t seq;
    if (store->budget->shares.count == 0)
        return SMA_ERR_OK;
    for (uint32_t i = 0; sma_store_finished_at(store, i, &seq); i++)
        SMA_TRY(release_finished(store, seq));
    return SMA_ERR_OK;
}

/* -- the part ---------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->budget = calloc(1, sizeof *store->budget);
    if (store->budget == NULL)
        return SMA_ERR_NOMEM;
    sma_store_set_budgets(store);
    return SMA_ERR_OK;
}

static enum sma_err take_row(void *user, const struct sma_state_share *share)
{
    struct sma_store *store = user;
    struct sma_state_head head;
    if (sma_state_head_get(store->state, share->seq, &head) == SMA_ERR_OK &&
        sma_row_is_open(head.state))
        keep(store, share);
    return SMA_ERR_OK;
}

static enum sma_err load(struct sma_store *store)
{
    char value[8] = "";
    enum sma_err err = sma_state_meta_get(store->state, COUNTING_KEY, value, sizeof value);
    store->budget->is_counting = err == SMA_ERR_OK && strcmp(value, "1") == 0;
    if (err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND)
        err = sma_state_each_share(store->state, take_row, store);
    return err;
}

static void forget(struct sma_store *store, const struct store_marks *to)
{
    struct store_budget *budget = store->budget;
    (void)to;
    for (uint32_t i = 0; i < budget->shares.cap; i++)
        if (budget->shares.keys[i] != 0)
            free(budget->shares.values[i]);
    for (uint32_t i = 0; i < budget->reserved.cap; i++)
        if (budget->reserved.keys[i] != 0)
            free(budget->reserved.values[i]);
    sma_store_map_fini(&budget->shares);
    sma_store_map_fini(&budget->reserved);
    budget->shares = budget->reserved = (struct store_map){0};
    budget->total = (struct store_reserved){0};
    budget->is_published = false;
    sma_store_rate_forget(store); /* what was undone is said again */
}

/* As soon as nobody waits for it. */
static enum sma_err expire(struct sma_store *store)
{
    return sma_store_may_write(store) ? sma_store_count_budgets(store) : SMA_ERR_OK;
}

static void publish(struct sma_store *store)
{
    struct store_budget *budget = store->budget;
    struct store_use use;
    if (budget->is_published || !budget->is_on ||
        sma_store_use_of(store, SMA_BUDGET_TOTAL, SMA_STR(""), NULL, &use) != SMA_ERR_OK)
        return;
    budget->is_published = true;
    SMA_METRIC_SET(budget_shares, budget->total.share_count);
    SMA_METRIC_SET(budget_reserved_tokens, (int64_t)use.reserved.tokens);
    SMA_METRIC_SET(budget_used_tokens, (int64_t)use.spent[SMA_BUDGET_DAY].tokens);
    SMA_METRIC_SET(budget_limit_tokens, store->config->budgets.total.tokens_day);
}

static void fini(struct sma_store *store)
{
    forget(store, NULL);
    free(store->budget);
}

const struct store_part sma_store_budget_part = {.name = "budget",
                                                 .create = create,
                                                 .load = load,
                                                 .forget = forget,
                                                 .expire = expire,
                                                 .complete = complete,
                                                 .settle = publish,
                                                 .fini = fini};
