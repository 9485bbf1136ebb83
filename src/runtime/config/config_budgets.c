/* config_budgets.c — a budget of cost where no price is known, said at start. */
#include "config_load.h"

#include "runtime/model/profile.h"
#include "sma/messages.h"

#include <stdio.h>
#include <string.h>

static bool has_cost(const struct sma_config_budgets *budgets)
{
    const struct sma_config_budget *const scopes[] = {&budgets->person, &budgets->chat,
                                                      &budgets->platform, &budgets->total};
    for (size_t i = 0; i < SMA_COUNT_OF(scopes); i++)
        if (scopes[i]->cost_day > 0 || scopes[i]->cost_month > 0)
            return true;
    return false;
}

static bool has_price(const struct sma_config_llm *llm)
{
    const struct sma_usage usage = {
        .request_count = 1, .input = 1000, .cached = 1000, .output = 1000};
    struct sma_profile profile;
    sma_profile_find(llm, &profile);
    return llm->api == SMA_LLM_OFFLINE || sma_profile_cost_nano(llm, &profile, &usage) > 0;
}

void config_warn_prices(const struct sma_config *config, sma_config_warn_fn *warn, void *user)
{
    char names[400] = "", line[640];
    if (!has_cost(&config->budgets))
        return;
    for (size_t i = 0; i < config->llm_target_count; i++) {
        size_t len = strlen(names);
        if (!has_price(config->llm_targets[i]))
            snprintf(names + len, sizeof names - len, "%s\"%s\"", len > 0 ? ", " : "",
                     config->llm_targets[i]->model);
    }
    if (names[0] == '\0')
        return;
    snprintf(line, sizeof line,
             "ship.json: budgets: no price of %s is known, so it counts without cost unless its "
             "provider names one; write llm.prices, or a budget of tokens",
             names);
    warn(user, line);
}
