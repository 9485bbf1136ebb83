/*
 * doctor_net.c — every model and every platform of the configuration, asked at once, and what the
 * answers say of the clock.
 */
#include "doctor_priv.h"

#include "adapters.h"
#include "probe/probe.h"
#include "runtime/model/profile.h"
#include "sma/bot.h"

#include <stdio.h>
#include <stdlib.h>

#define CLOCK_WARNING_S 60
#define CLOCK_ERROR_S 300

static const struct sma_adapter_ops *find_ops(const struct sma_config_adapter *block)
{
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++)
        if (sma_bot_is_of(sma_str(block->name), sma_adapter_table[i].ops->name))
            return sma_adapter_table[i].ops;
    return NULL;
}

/* Every model that may be asked, each once: those of chats, too, and those with special work. */
static size_t list_models(const struct sma_config *config,
                          const struct sma_config_llm *models[SMA_PROBE_COUNT_MAX])
{
    const struct sma_config_llm *special[] = {config->llm_judge, config->llm_vision,
                                              config->llm_small};
    size_t count = 0;
    for (size_t i = 0; i < config->model_count; i++)
        models[count++] = config->models[i];
    for (size_t i = 0; config->model_count == 0 && i < config->llm_target_count; i++)
        models[count++] = config->llm_targets[i];
    if (count == 0)
        models[count++] = &config->llm;
    for (size_t i = 0; i < SMA_COUNT_OF(special); i++) {
        bool is_new = special[i] != NULL;
        for (size_t k = 0; is_new && k < count; k++)
            is_new = special[i] != models[k] &&
                     (strcmp(special[i]->model, models[k]->model) != 0 ||
                      strcmp(special[i]->base_url, models[k]->base_url) != 0 ||
                      strcmp(special[i]->api_key, models[k]->api_key) != 0);
        if (is_new)
            models[count++] = special[i];
    }
    return count;
}

/* -- without a request ------------------------------------------------------------------------- */
static bool wants_key(const struct sma_config_llm *llm)
{
    const struct sma_provider *provider = sma_provider_find(llm->provider);
    return llm->api != SMA_LLM_OFFLINE && provider != NULL && provider->host != SMA_HOST_OTHER &&
           provider->host != SMA_HOST_OLLAMA && llm->extra_header_count == 0;
}

/* -- adapters ---------------------------------------------------------------------------------- */
void doctor_look_at_adapters(struct doctor *doctor)
{
    for (size_t i = 0; doctor->config != NULL && i < doctor->config->adapter_count; i++) {
        const struct sma_config_adapter *block = &doctor->config->adapters[i];
        if (block->is_enabled && find_ops(block) == NULL)
            doctor_say(&doctor->report, SMA_PROBE_WARNING, block->name,
                       "take it out of ship.json, or set its \"enabled\" to false",
                       "adapters.%s is enabled, and this version has no such adapter", block->name);
    }
}

static void look_at_credentials(struct doctor *doctor, const struct sma_config_adapter *block)
{
    const struct sma_adapter_ops *ops = block->is_enabled ? find_ops(block) : NULL;
    struct sma_probe_result result;
    if (ops == NULL || ops->probe == NULL)
        return;
    sma_probe_settings(ops, doctor->config, block, &result);
    for (size_t i = 0; i < result.line_count; i++)
        doctor_say_line(&doctor->report, &result.lines[i]);
}

void doctor_look_at_keys(struct doctor *doctor)
{
    const struct sma_config_llm *models[SMA_PROBE_COUNT_MAX];
    size_t count = doctor->config == NULL ? 0 : list_models(doctor->config, models);
    for (size_t i = 0; i < count; i++) {
        bool has_key = models[i]->api_key[0] != '\0';
        char name[SMA_PROBE_NAME_BYTES_MAX];
        (void)snprintf(name, sizeof name, "key %s", models[i]->provider);
        if (!has_key && wants_key(models[i]))
            doctor_say(&doctor->report, SMA_PROBE_ERROR, name,
                       "put it into .env, e.g. LLM_API_KEY=..., and \"apiKey\": \"${LLM_API_KEY}\" "
                       "into llm of ship.json",
                       "no key for %s/%s", models[i]->provider, models[i]->model);
        else if (has_key)
            doctor_say(&doctor->report, SMA_PROBE_OK, name, "", "from %s, not tried (--offline)",
                       models[i]->api_key_source);
    }
    for (size_t i = 0; doctor->config != NULL && i < doctor->config->adapter_count; i++)
        look_at_credentials(doctor, &doctor->config->adapters[i]);
}

/* -- the clock --------------------------------------------------------------------------------- */
static void say_clock(struct doctor *doctor, const struct sma_probe_result *results, size_t count)
{
    int64_t best_s = 0;
    bool is_known = false;
    for (size_t i = 0; i < count; i++) {
        int64_t ahead_s = results[i].clock_ahead_s;
        if (!results[i].has_clock || (is_known && llabs(ahead_s) >= llabs(best_s)))
            continue;
        is_known = true;
        best_s = ahead_s;
    }
    /* A server's own clock may be wrong: the one that agrees best is believed. */
    if (!is_known)
        return;
    if (llabs(best_s) < CLOCK_WARNING_S)
        doctor_say(&doctor->report, SMA_PROBE_OK, "clock", "", "agrees with the servers'");
    else
        doctor_say(&doctor->report,
                   llabs(best_s) >= CLOCK_ERROR_S ? SMA_PROBE_ERROR : SMA_PROBE_WARNING, "clock",
                   "set it and keep it right: timedatectl set-ntp true (signatures, certificates "
                   "and expiries go by it)",
                   "this machine's clock is %lld s %s the servers'", (long long)llabs(best_s),
                   best_s > 0 ? "behind" : "ahead of");
}

/* -- the proxy --------------------------------------------------------------------------------- */
/* What the shell has is not what the service takes: worth a line where something is not reached. */
static void say_proxy(struct doctor *doctor, const struct sma_probe_result *results, size_t count)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    const char *found = NULL;
    bool is_lost = false;
    for (size_t i = 0; i < count; i++)
        is_lost = is_lost || results[i].is_lost;
    for (size_t i = 0; i < SMA_COUNT_OF(names) && found == NULL; i++)
        found = getenv(names[i]) != NULL && getenv(names[i])[0] != '\0' ? names[i] : NULL;
    const char *used = doctor->config->proxy;
    if (is_lost && found != NULL && (used == NULL || used[0] == '\0'))
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "proxy",
                   "if this network needs it, set \"proxy\": \"environment\" in ship.json, or the "
                   "proxy itself (a service of systemd does not have your shell's variables)",
                   "%s is set, and ship.json does not say that it is to be used", found);
}

/* -- all at once ------------------------------------------------------------------------------- */
static void say_results(struct doctor *doctor, const struct sma_probe_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < results[i].line_count; k++)
            doctor_say_line(&doctor->report, &results[i].lines[k]);
    say_clock(doctor, results, count);
    say_proxy(doctor, results, count);
}

void doctor_look_at_network(struct doctor *doctor)
{
    const struct sma_config *config = doctor->config;
    const struct sma_config_llm *models[SMA_PROBE_COUNT_MAX];
    if (config == NULL)
        return;
    struct sma_probe_result *results = calloc(SMA_PROBE_COUNT_MAX, sizeof *results);
    struct sma_probes *probes = sma_probes_create();
    size_t model_count = list_models(config, models), count = 0;
    if (results == NULL || probes == NULL) {
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "network", "", "out of memory");
        sma_probes_run(probes);
        free(results);
        return;
    }
    for (size_t i = 0; i < model_count; i++)
        sma_probes_add_model(probes, models[i], &results[count++]);
    for (size_t i = 0; i < config->adapter_count; i++) {
        const struct sma_config_adapter *block = &config->adapters[i];
        const struct sma_adapter_ops *ops = block->is_enabled ? find_ops(block) : NULL;
        if (ops != NULL && ops->probe != NULL)
            sma_probes_add_platform(probes, ops, config, block, &results[count++]);
    }
    sma_probes_run(probes);
    say_results(doctor, results, count);
    free(results);
}
