/* Budgets for people and programs: what is used, reserved and left. See budget.h. */
#include "budget_priv.h"
#include "runtime/text/budget_text.h"

static void put_object(struct sma_buf *json, const char *key)
{
    sma_buf_put_json_key(json, key);
    sma_buf_put_char(json, '{');
}

/* "tokens":{"reserved":n,"day":{"used":n,"limit":n},"month":{...}}; without a limit no limit.
 * Cost in 1e-9, as in usage. use NULL: only the limits that there are. */
static void put_kind(struct sma_buf *json, unsigned kind, const struct store_limits *limits,
                     const struct store_use *use)
{
    if (use == NULL && limits->limit[kind][SMA_BUDGET_DAY] == 0 &&
        limits->limit[kind][SMA_BUDGET_MONTH] == 0)
        return;
    put_object(json, kind == SMA_BUDGET_COST ? "costNano" : sma_budget_kind_name(kind));
    if (use != NULL)
        sma_buf_put_json_number(json, "reserved", sma_store_amount(&use->reserved, kind));
    for (unsigned period = 0; period < SMA_BUDGET_PERIOD_COUNT; period++) {
        uint64_t limit = limits->limit[kind][period];
        if (use == NULL && limit == 0)
            continue;
        put_object(json, sma_budget_period_name(period));
        if (use != NULL)
            sma_buf_put_json_number(json, "used", sma_store_amount(&use->spent[period], kind));
        if (limit > 0)
            sma_buf_put_json_number(json, "limit", limit);
        sma_buf_put_char(json, '}');
    }
    sma_buf_put_char(json, '}');
}

static void put_scope(struct sma_buf *json, const char *key, const struct sma_config_budget *config,
                      const struct store_use *use)
{
    const struct store_limits limits = sma_store_limits_of(config);
    put_object(json, key);
    for (unsigned kind = 0; kind < SMA_BUDGET_KIND_COUNT; kind++)
        put_kind(json, kind, &limits, use);
    sma_buf_put_char(json, '}');
}

static void put_use(struct sma_store *store, struct sma_buf *json, unsigned scope, const char *key,
                    struct sma_str name)
{
    struct store_use use;
    if (sma_store_use_of(store, scope, name, NULL, &use) != SMA_ERR_OK)
        use = (struct store_use){0};
    put_scope(json, key, sma_store_budget_of(store, scope), &use);
}

void sma_store_put_budgets(struct sma_store *store, struct sma_buf *json)
{
    const struct store_budget *budget = store->budget;
    if (!budget->is_on)
        return;
    put_object(json, "budgets");
    sma_buf_put_json_number(json, "shares", budget->total.share_count);
    put_use(store, json, SMA_BUDGET_TOTAL, "total", SMA_STR(""));
    put_object(json, "platforms");
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        const char *platform = store->adapters[i].adapter->ops->channel;
        if (i == 0 || store->adapters[i - 1].adapter->ops->channel != platform)
            put_use(store, json, SMA_BUDGET_PLATFORM, platform, sma_str(platform));
    }
    sma_buf_put_char(json, '}');
    put_scope(json, "perChat", &store->config->budgets.chat, NULL);
    put_scope(json, "perPerson", &store->config->budgets.person, NULL);
    sma_buf_put_char(json, '}');
}

/* -- /usage ------------------------------------------------------------------------------------ */
static const char *put_amount(char *bytes, size_t size, unsigned kind, uint64_t amount)
{
    if (kind == SMA_BUDGET_COST)
        snprintf(bytes, size, "%.4f", (double)amount / 1e9);
    else
        snprintf(bytes, size, "%llu", (unsigned long long)amount);
    return bytes;
}

struct line
{
    unsigned scope, kind, period;
    uint64_t limit, used;
};

static void put_line(struct sma_buf *text, enum sma_language language, const struct line *line)
{
    uint64_t left = line->used < line->limit ? line->limit - line->used : 0;
    char left_text[32], limit_text[32];
    sma_buf_put_char(text, '\n');
    sma_budget_left_put(
        text, language,
        &(struct sma_budget_left){
            .scope = line->scope,
            .kind = line->kind,
            .period = line->period,
            .left = put_amount(left_text, sizeof left_text, line->kind, left),
            .limit = put_amount(limit_text, sizeof limit_text, line->kind, line->limit)});
}

void sma_store_put_budgets_left(struct sma_store *store, struct sma_buf *text,
                                const struct store_chat *chat, const struct sma_ingress *in,
                                bool is_whole)
{
    char person[STORE_NAME_BYTES];
    struct store_names names;
    struct sma_str channel = chat->state->channel;
    enum sma_language language = sma_store_language(store, &in->route);
    unsigned last = is_whole ? SMA_BUDGET_TOTAL : SMA_BUDGET_CHAT;
    if (!store->budget->is_on)
        return;
    sma_store_names_init(&names, channel, chat->id,
                         sma_store_person_name(person, sizeof person, channel, in->route.user_id));
    for (unsigned scope = SMA_BUDGET_PERSON; scope <= last; scope++) {
        const struct store_limits limits = sma_store_limits_of(sma_store_budget_of(store, scope));
        struct store_use use;
        if (!limits.is_any ||
            sma_store_use_of(store, scope, names.name[scope], NULL, &use) != SMA_ERR_OK)
            continue;
        for (unsigned at = 0; at < SMA_BUDGET_KIND_COUNT * SMA_BUDGET_PERIOD_COUNT; at++) {
            unsigned kind = at / SMA_BUDGET_PERIOD_COUNT, period = at % SMA_BUDGET_PERIOD_COUNT;
            struct line line = {.scope = scope,
                                .kind = kind,
                                .period = period,
                                .limit = limits.limit[kind][period],
                                .used = sma_store_amount(&use.spent[period], kind) +
                                        sma_store_amount(&use.reserved, kind)};
            if (line.limit > 0)
                put_line(text, language, &line);
        }
    }
}
