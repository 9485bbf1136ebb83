/* run_chat.c — what `chats` and /model change in a run: who is asked, with which prompt and tools.
 * See run_priv.h. */
#include "run_priv.h"

#include "sma/chats.h"

#define BIT(index) (UINT32_C(1) << (index))
_Static_assert(SMA_MODEL_COUNT_MAX < 32, "a set of models is a word");

/* By /model, else by the configuration. One that is not configured any more is nobody's choice. */
static size_t first_model(const struct sma_run *run, const struct sma_chat_rules *rules)
{
    const struct sma_config *config = run->settings->config;
    size_t count = run->settings->model_count;
    size_t index = run->order->model.len > 0 ? sma_models_find(config, run->order->model) : count;
    for (size_t i = 0; index == count && rules->model != NULL && i < count; i++)
        if (sma_models_get(config, i) == rules->model->model)
            return i;
    return index < count ? index : 0;
}

void run_chat_init(struct sma_run *run, uint64_t channel_offers)
{
    const struct sma_run_settings *settings = run->settings;
    const struct sma_route *route = &run->order->route;
    struct sma_chat_rules rules = sma_chat_rules_find(settings->config, route->chat_key,
                                                      sma_chat_type_is_group(route->chat_type));
    run->offers = channel_offers;
    run_mcp_init(run, rules.tools);
    if (rules.tools != NULL)
        run->offers |= (uint64_t)rules.tools->refused_tools << SMA_TOOL_OFFER_REFUSED;
    if (settings->config->memory == SMA_MEMORY_REFUSE)
        run->offers |= (uint64_t)(BIT(SMA_TOOL_MEMORY_SEARCH) | BIT(SMA_TOOL_MEMORY_UPSERT))
                       << SMA_TOOL_OFFER_REFUSED;
    run->chat.prompt = rules.prompt;
    run->chat.first = first_model(run, &rules);
    /* A chat that has a model of its own does not go to llm: that it has one has a reason. */
    run->chat.skipped = ~(BIT(settings->target_count) - 1) | (run->chat.first != 0 ? BIT(0) : 0);
    run->chat.skipped &= ~BIT(run->chat.first);
}

enum sma_err run_take_head(struct sma_run *run)
{
    struct run_head_need need = {
        .key = {.target = run->target_index, .offers = run->offers, .prompt = run->chat.prompt},
        .view = run_mcp_view(run),
        .facts_word = run->order->facts_word};
    if (run->mcp.catalogue != NULL) {
        need.key.catalogue = run->mcp.catalogue->version;
        need.key.tools = run->mcp.rule;
        need.key.names = run_mcp_names_hash(run);
    }
    return run_find_head(run->settings, &need, &run->head);
}

size_t run_find_target(const struct sma_run *run, uint32_t tried)
{
    const struct sma_run_settings *settings = run->settings;
    size_t first = run->chat.first;
    if ((tried >> first & 1) == 0 && settings->cooldowns[first].until_ns <= run->now_ns)
        return first;
    return sma_cooldown_pick(settings->cooldowns, settings->model_count, tried | run->chat.skipped,
                             run->now_ns);
}

size_t run_first_back(const struct sma_run *run)
{
    return sma_cooldown_first_back(run->settings->cooldowns, run->settings->model_count,
                                   run->chat.skipped);
}
