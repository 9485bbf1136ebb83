/*
 * What a budget allows: may a message begin a run, may a run make another request. See budget.h.
 *
 * A message may begin as long as something is left that nobody has reserved; what it reserves is
 * what a run usually takes, and at most what is left. So messages that come together share what
 * there is, and a budget is passed by one request of each open run at most.
 */
#include "budget_priv.h"
#include "outbox.h"
#include "people.h"
#include "runs.h"
#include "runtime/text/budget_text.h"

#include "intake_priv.h"

#define SHARE_TOKENS_MIN 2000
#define SHARE_COST_NANO_MIN UINT64_C(1000000)
#define TOLD_SCOPE 16u /* rows of spent that say what was told: behind the scopes */

/* -- how much ---------------------------------------------------------------------------------- */
static uint64_t at_least(uint64_t number, uint64_t min)
{
    return number > min ? number : min;
}

void sma_store_share_estimate(const struct sma_store *store, const struct store_chat *chat,
                              struct sma_state_spent *ret_size)
{
    const struct sma_state_spent *usual =
        chat->usual.tokens > 0 ? &chat->usual : &store->budget->usual;
    ret_size->tokens = at_least(usual->tokens, SHARE_TOKENS_MIN);
    ret_size->cost_nano = at_least(usual->cost_nano, SHARE_COST_NANO_MIN);
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
    return used < limit ? limit - used : 0;
}

static void clamp(struct sma_state_spent *size, unsigned kind, uint64_t max)
{
    uint64_t *number = kind == SMA_BUDGET_TOKENS ? &size->tokens
                       : kind == SMA_BUDGET_COST ? &size->cost_nano
                                                 : &size->runs;
    if (*number > max)
        *number = max;
}

/* The one that is renewed last: until then the others do not matter. */
static void note_over(struct sma_store *store, unsigned scope, unsigned kind, unsigned period,
                      struct sma_budget_over *over)
{
    const struct sma_local_day *today = sma_store_today(store);
    if (over->scope != SMA_BUDGET_NONE && over->period >= period)
        return;
    int64_t renewed_ms = period == SMA_BUDGET_DAY ? today->until_ms : today->month_until_ms;
    *over = (struct sma_budget_over){.scope = (uint8_t)scope,
                                     .kind = (uint8_t)kind,
                                     .period = (uint8_t)period,
                                     .renewed_ms = renewed_ms,
                                     .left_ms = renewed_ms - sma_ctx_wall(store->ctx)};
}

struct look
{
    const struct store_share_row *own; /* of the run that is looked at; NULL = a new message */
    struct sma_state_spent *size;      /* made smaller where less is left; NULL = not */
    struct sma_budget_over *over;
};

static SMA_CHECKED enum sma_err look_at_scope(struct sma_store *store, unsigned scope,
                                              struct sma_str name, const struct look *look)
{
    const struct store_limits limits = sma_store_limits_of(sma_store_budget_of(store, scope));
    struct store_use use;
    if (!limits.is_any)
        return SMA_ERR_OK;
    SMA_TRY(sma_store_use_of(store, scope, name, look->own, &use));
    for (unsigned kind = 0; kind < SMA_BUDGET_KIND_COUNT; kind++)
        for (unsigned period = 0; period < SMA_BUDGET_PERIOD_COUNT; period++) {
            uint64_t limit = limits.limit[kind][period];
            uint64_t left = left_of(limit, sma_store_amount(&use.spent[period], kind) +
                                               sma_store_amount(&use.reserved, kind));
            bool counts = limit > 0 && (look->own == NULL || kind != SMA_BUDGET_RUNS);
            if (counts && left == 0)
                note_over(store, scope, kind, period, look->over);
            else if (counts && look->size != NULL)
                clamp(look->size, kind, left);
        }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err
look_at_all(struct sma_store *store, const struct store_names *names, const struct look *look)
{
    SMA_TRY(sma_store_count_budgets(store));
    for (unsigned scope = SMA_BUDGET_PERSON; scope < SMA_BUDGET_SCOPE_COUNT; scope++)
        SMA_TRY(look_at_scope(store, scope, names->name[scope], look));
    return SMA_ERR_OK;
}

/* -- messages ---------------------------------------------------------------------------------- */
static bool is_by_exempt(struct sma_store *store, const struct store_chat *chat,
                         const struct sma_ingress *in)
{
    return store->config->budgets.exempts_owners &&
           sma_store_is_exempt(store, sma_store_standing(store, chat, &in->route, in->is_group));
}

static void look_at_minute(struct sma_store *store, struct store_share *share)
{
    uint64_t wait_ns = sma_store_rate_wait_ns(store, share->person);
    if (wait_ns > 0)
        share->over = (struct sma_budget_over){.scope = SMA_BUDGET_PERSON,
                                               .kind = SMA_BUDGET_MESSAGES,
                                               .period = SMA_BUDGET_MINUTE,
                                               .left_ms = (int64_t)(wait_ns / 1000000) + 1,
                                               .renewed_ms = sma_ctx_wall(store->ctx) +
                                                             (int64_t)(wait_ns / 1000000) + 1};
}

enum sma_err sma_store_share_ask(struct sma_store *store, const struct store_chat *chat,
                                 const struct sma_ingress *in, struct store_share *ret_share)
{
    char person[STORE_NAME_BYTES];
    struct store_names names;
    *ret_share = (struct store_share){0};
    if ((!store->budget->is_on && !store->budget->has_rate) || is_by_exempt(store, chat, in))
        return SMA_ERR_OK;
    struct sma_str channel = chat->state->channel;
    sma_store_names_init(&names, channel, chat->id,
                         sma_store_person_name(person, sizeof person, channel, in->route.user_id));
    if (store->budget->has_rate && in->route.user_id.len > 0) {
        struct sma_str name = names.name[SMA_BUDGET_PERSON];
        ret_share->person = sma_siphash(store->hash_key, name.ptr, name.len) | 1;
        look_at_minute(store, ret_share);
    }
    if (!store->budget->is_on || ret_share->over.scope != SMA_BUDGET_NONE)
        return SMA_ERR_OK;
    ret_share->size.runs = 1;
    ret_share->is_taken = true;
    sma_store_share_estimate(store, chat, &ret_share->size);
    return look_at_all(store, &names,
                       &(struct look){.size = &ret_share->size, .over = &ret_share->over});
}

enum sma_err sma_store_share_take(struct sma_store *store, const struct store_chat *chat,
                                  const struct sma_route *route, uint64_t seq,
                                  const struct store_share *share)
{
    char person[STORE_NAME_BYTES];
    if (share->person != 0)
        sma_store_rate_count(store, share->person);
    if (!share->is_taken)
        return SMA_ERR_OK;
    struct sma_str channel = chat->state->channel;
    return sma_store_share_write(
        store, &(struct sma_state_share){
                   .seq = seq,
                   .chat_id = chat->id,
                   .person = sma_store_person_name(person, sizeof person, channel, route->user_id),
                   .platform = sma_bot_platform(channel),
                   .held = share->size});
}

/* A new run asks as a message does. One that was begun before budgets were set goes on. */
static SMA_CHECKED enum sma_err cover(struct sma_store *store, const struct store_run *run,
                                      bool is_new, struct store_share *ret_share)
{
    struct sma_state_head head;
    struct store_names names;
    char person[STORE_NAME_BYTES];
    SMA_TRY(sma_state_head_get(store->state, run->seq, &head));
    const struct sma_route route = {.user_id = head.user_id};
    struct sma_str channel = run->chat->state->channel;
    struct store_share share = {.is_taken = true, .size = {.runs = run->usage.request_count == 0}};
    sma_store_share_estimate(store, run->chat, &share.size);
    sma_store_names_init(&names, channel, run->chat->id,
                         sma_store_person_name(person, sizeof person, channel, route.user_id));
    if (is_new)
        SMA_TRY(
            look_at_all(store, &names, &(struct look){.size = &share.size, .over = &share.over}));
    *ret_share = share;
    return share.over.scope != SMA_BUDGET_NONE
               ? SMA_ERR_OK
               : sma_store_share_take(store, run->chat, &route, run->seq, &share);
}

enum sma_err sma_store_share_cover(struct sma_store *store, const struct store_run *run,
                                   const struct store_cover *how, struct store_share *ret_share)
{
    *ret_share = (struct store_share){0};
    /* What is answered besides is part of this run from now on. */
    for (uint32_t i = 0; i < run->collected_count && store->budget->shares.count > 0; i++)
        SMA_TRY(sma_store_share_leave(store, run->collected[i]));
    if (!store->budget->is_on || sma_store_is_exempt(store, how->standing) ||
        sma_store_share_of(store, run->seq) != NULL)
        return SMA_ERR_OK;
    return cover(store, run, how->is_new, ret_share);
}

enum sma_err sma_store_share_check(struct sma_store *store, uint64_t seq,
                                   struct sma_budget_over *ret_over)
{
    struct store_names names;
    const struct store_share_row *row = sma_store_share_of(store, seq);
    *ret_over = (struct sma_budget_over){0};
    /* Without a share: an owner's, or begun before budgets were set. */
    if (!store->budget->is_on || row == NULL)
        return SMA_ERR_OK;
    sma_store_names_init(&names, (struct sma_str){row->text + row->person_len, row->platform_len},
                         row->chat_id, (struct sma_str){row->text, row->person_len});
    return look_at_all(store, &names, &(struct look){.own = row, .over = ret_over});
}

/* -- telling ----------------------------------------------------------------------------------- */
/* Once a period: of a person's own budget he is told once, of others each chat is. */
static SMA_CHECKED enum sma_err may_tell(struct sma_store *store, const struct store_chat *chat,
                                         const struct sma_route *route,
                                         const struct sma_budget_over *over, bool *ret_may)
{
    char person[STORE_NAME_BYTES];
    struct store_names names;
    struct sma_state_spent told;
    sma_store_names_init(
        &names, chat->state->channel, chat->id,
        sma_store_person_name(person, sizeof person, chat->state->channel, route->user_id));
    const struct sma_local_day *today = sma_store_today(store);
    const struct store_limits limits = sma_store_limits_of(sma_store_budget_of(store, over->scope));
    int64_t begin = over->period == SMA_BUDGET_DAY ? today->day : today->month_first;
    unsigned mark = TOLD_SCOPE + over->scope * 2u + over->period;
    struct sma_str name =
        names.name[over->scope == SMA_BUDGET_PERSON ? SMA_BUDGET_PERSON : SMA_BUDGET_CHAT];
    /* Another limit, another notice: it was raised, and that is used up, too. */
    struct sma_state_spent now = {.tokens = limits.limit[over->kind][over->period],
                                  .runs = over->kind + 1u};
    SMA_TRY(sma_state_spent_sum(store->state, mark, name, (int64_t[]){begin, begin}, &told));
    *ret_may = told.tokens != now.tokens || told.runs != now.runs;
    return *ret_may ? sma_state_spent_set(store->state, mark, name, begin, &now) : SMA_ERR_OK;
}

void sma_store_share_put_text(const struct sma_store *store, struct sma_buf *text,
                              enum sma_language language, const struct sma_budget_over *over)
{
    if (over->kind == SMA_BUDGET_MESSAGES)
        sma_notice_format(text, language, SMA_NOTICE_TOO_FAST,
                          (unsigned)store->config->per_person_per_minute);
    else
        sma_budget_text_put(text, language, SMA_NOTICE_BUDGET_OVER, over);
}

enum sma_err sma_store_share_notice(struct sma_store *store, struct store_chat *chat,
                                    const struct sma_route *route, uint64_t seq,
                                    const struct store_share *share)
{
    bool may = false;
    if (sma_store_is_channel_quiet(route))
        return SMA_ERR_OK;
    if (share->over.kind == SMA_BUDGET_MESSAGES)
        may = sma_store_rate_may_tell(store, share->person);
    else
        SMA_TRY(may_tell(store, chat, route, &share->over, &may));
    if (!may)
        return SMA_ERR_OK;
    sma_buf_clear(&store->scratch.text);
    sma_store_share_put_text(store, &store->scratch.text, sma_store_language(store, route),
                             &share->over);
    struct sma_step_delivery delivery = {.call = STORE_OVER_CALL,
                                         .intent = SMA_INTENT_NOTICE,
                                         .route = *route,
                                         .text = sma_buf_str(&store->scratch.text)};
    struct sma_step_delivery_state state;
    return sma_store_deliver(store,
                             &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP},
                             &delivery, &state);
}

struct sma_str sma_store_share_reason(struct sma_store *store, const struct store_share *share)
{
    sma_buf_clear(&store->scratch.text);
    sma_store_share_put_text(store, &store->scratch.text, SMA_LANGUAGE_EN, &share->over);
    if (share->over.kind == SMA_BUDGET_MESSAGES)
        SMA_METRIC_ADD(ingress_too_fast_total, 1);
    else
        SMA_METRIC_ADD(ingress_over_budget_total, 1);
    return sma_buf_str(&store->scratch.text);
}

enum sma_reason sma_store_share_why(const struct store_share *share)
{
    return share->over.kind == SMA_BUDGET_MESSAGES ? SMA_REASON_RATE : SMA_REASON_BUDGET;
}

enum sma_err sma_store_share_refuse(struct sma_store *store, struct store_chat *chat,
                                    struct sma_msg *msg, const struct store_share *share)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    int64_t left_ms = share->over.left_ms < INT32_MAX ? share->over.left_ms : INT32_MAX;
    enum sma_reason why = sma_store_share_why(share);
    struct store_acceptance how = {.row_state = SMA_ROW_BUSY, .why = why};
    struct sma_accepted accepted = {.verdict = SMA_VERDICT_BUSY,
                                    .why = (uint8_t)why,
                                    .retry_after_ms = left_ms < 1 ? 1 : (uint32_t)left_ms,
                                    .over = share->over};
    SMA_TRY(sma_store_write_row(store, chat, in, &how, &accepted.seq));
    SMA_TRY(sma_store_share_notice(store, chat, &in->route, accepted.seq, share));
    accepted.reason = sma_store_share_reason(store, share);
    sma_store_accept_later(store, msg, &accepted);
    return store->scratch.text.err;
}
