/* probe.c — see probe.h: probes are made, run together, and taken apart. */
#include "probe_priv.h"

#include <stdio.h>
#include <stdlib.h>

struct sma_probes
{
    struct probe_job jobs[SMA_PROBE_COUNT_MAX];
    size_t count;
};

void probe_say(struct sma_probe_result *result, enum sma_probe_state state, const char *name,
               const char *seen, const char *remedy)
{
    if (state > result->state)
        result->state = state;
    if (result->line_count == SMA_PROBE_LINE_COUNT_MAX)
        return;
    struct sma_probe_line *line = &result->lines[result->line_count++];
    line->state = state;
    (void)snprintf(line->name, sizeof line->name, "%s", name);
    (void)snprintf(line->seen, sizeof line->seen, "%s", seen);
    (void)snprintf(line->remedy, sizeof line->remedy, "%s", remedy);
}

/* -- platforms --------------------------------------------------------------------------------- */
struct platform_probe
{
    const struct sma_adapter_ops *ops;
    void *state;
    const char *code; /* of find_owner */
};

static void begin_platform(void *user, struct sma_probing *probing)
{
    const struct platform_probe *probe = user;
    probe->ops->probe(probe->state, probing);
}

static void begin_owner(void *user, struct sma_probing *probing)
{
    const struct platform_probe *probe = user;
    probe->ops->find_owner(probe->state, probe->code, probing);
}

static void destroy_platform(void *user)
{
    struct platform_probe *probe = user;
    probe->ops->destroy(probe->state);
    free(probe);
}

/* false: the result says why. */
static SMA_CHECKED bool create_state(struct platform_probe *probe, const struct sma_config *config,
                                     const struct sma_config_adapter *block,
                                     struct sma_probe_result *result)
{
    struct sma_error error = {0};
    char seen[sizeof error.text], remedy[256];
    enum sma_err err = probe->ops->create(config, block, &probe->state, &error);
    if (err == SMA_ERR_OK)
        return true;
    (void)snprintf(seen, sizeof seen, "%s",
                   err == SMA_ERR_NOTFOUND ? "it has no credentials" : error.text);
    bool is_first = strcmp(block->name, probe->ops->name) == 0;
    (void)snprintf(remedy, sizeof remedy, "put %s into .env, or set \"enabled\" of %s to false",
                   is_first && probe->ops->setup.variables != NULL
                       ? probe->ops->setup.variables
                       : "the variables that its block names",
                   is_first ? "the platform" : "this bot");
    probe_say(result, SMA_PROBE_ERROR, block->name, seen,
              err == SMA_ERR_NOTFOUND ? remedy : "correct ship.json or .env");
    return false;
}

void sma_probe_settings(const struct sma_adapter_ops *ops, const struct sma_config *config,
                        const struct sma_config_adapter *block, struct sma_probe_result *ret_result)
{
    struct platform_probe probe = {.ops = ops};
    *ret_result = (struct sma_probe_result){0};
    if (!create_state(&probe, config, block, ret_result))
        return;
    ops->destroy(probe.state);
    probe_say(ret_result, SMA_PROBE_OK, block->name, "its credentials are there, not tried", "");
}

static SMA_CHECKED bool make_platform(const struct sma_adapter_ops *ops,
                                      const struct sma_config *config,
                                      const struct sma_config_adapter *block,
                                      struct sma_probe_result *result, struct probe_job *ret_job)
{
    *result = (struct sma_probe_result){0};
    if (ops->probe == NULL)
        return false;
    struct platform_probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL) {
        probe_say(result, SMA_PROBE_ERROR, block->name, "out of memory", "");
        return false;
    }
    probe->ops = ops;
    if (!create_state(probe, config, block, result)) {
        free(probe);
        return false;
    }
    *ret_job = (struct probe_job){
        .begin = begin_platform, .destroy = destroy_platform, .user = probe, .result = result};
    (void)snprintf(ret_job->name, sizeof ret_job->name, "%s", block->name);
    return true;
}

/* -- several at once --------------------------------------------------------------------------- */
struct sma_probes *sma_probes_create(void)
{
    return calloc(1, sizeof(struct sma_probes));
}

void sma_probes_add_model(struct sma_probes *probes, const struct sma_config_llm *llm,
                          struct sma_probe_result *result)
{
    if (probes != NULL && probes->count < SMA_PROBE_COUNT_MAX &&
        probe_model_make(llm, result, &probes->jobs[probes->count]))
        probes->count++;
}

void sma_probes_add_platform(struct sma_probes *probes, const struct sma_adapter_ops *ops,
                             const struct sma_config *config,
                             const struct sma_config_adapter *block,
                             struct sma_probe_result *result)
{
    if (probes != NULL && probes->count < SMA_PROBE_COUNT_MAX &&
        make_platform(ops, config, block, result, &probes->jobs[probes->count]))
        probes->count++;
}

void sma_probes_run(struct sma_probes *probes)
{
    if (probes == NULL)
        return;
    probe_run(probes->jobs, probes->count);
    for (size_t i = 0; i < probes->count; i++)
        probes->jobs[i].destroy(probes->jobs[i].user);
    free(probes);
}

/* -- one --------------------------------------------------------------------------------------- */
static void run_one(struct probe_job *job)
{
    probe_run(job, 1);
    job->destroy(job->user);
}

void sma_probe_model(const struct sma_config_llm *llm, struct sma_probe_result *ret_result)
{
    struct probe_job job;
    if (probe_model_make(llm, ret_result, &job))
        run_one(&job);
}

bool sma_probe_models_list(const struct sma_config_llm *llm, struct sma_models_list *ret_list,
                           struct sma_probe_result *ret_result)
{
    struct probe_job job;
    bool is_there = false;
    if (probe_list_make(llm, ret_list, &is_there, ret_result, &job))
        run_one(&job);
    return is_there;
}

void sma_probe_platform(const struct sma_adapter_ops *ops, const struct sma_config *config,
                        const struct sma_config_adapter *block, struct sma_probe_result *ret_result)
{
    struct probe_job job;
    if (make_platform(ops, config, block, ret_result, &job))
        run_one(&job);
}

void sma_probe_owner(const struct sma_adapter_ops *ops, const struct sma_config *config,
                     const struct sma_config_adapter *block, const char *code,
                     struct sma_probe_result *ret_result)
{
    struct probe_job job;
    *ret_result = (struct sma_probe_result){0};
    if (ops->find_owner == NULL || !make_platform(ops, config, block, ret_result, &job))
        return;
    ((struct platform_probe *)job.user)->code = code;
    job.begin = begin_owner;
    run_one(&job);
}
