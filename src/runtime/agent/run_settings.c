/* run_settings.c — what all runs of one configuration share: targets, heads and tails of requests. See run.h. */
#include "run_priv.h"

#include "runtime/agent/prompt.h"

#include <stdlib.h>

/* -- settings ----------------------------------------------------------------------------------------------------- */
/* Everything of a request before its messages, when these tools are offered. */
static void drop_heads(struct sma_run_settings *settings)
{
    for (size_t i = 0; i < SMA_TARGET_COUNT_MAX; i++)
        for (size_t k = 0; k < SMA_TOOL_OFFER_SETS; k++)
            sma_buf_fini(&settings->heads[i][k]);
}

enum sma_err run_find_head(struct sma_run_settings *settings, size_t target_index, uint32_t offers,
                           uint64_t facts_word, const struct sma_buf **ret_head)
{
    SMA_ASSERT(offers < SMA_TOOL_OFFER_SETS);
    if (settings->facts_word != facts_word) { /* with the first run: the word is always the same */
        drop_heads(settings);
        settings->facts_word = facts_word;
    }
    const struct sma_target *target = &settings->targets[target_index];
    struct sma_buf *head = &settings->heads[target_index][offers];
    if (head->len == 0 || head->err != SMA_ERR_OK) {
        struct sma_tool_spec tools[SMA_TOOL_COUNT];
        size_t tool_count = sma_tool_specs_for(offers, tools);
        struct sma_buf system;
        sma_buf_init(&system, SMA_REQUEST_BYTES_MAX / 4);
        sma_prompt_put_system(&system, settings->config, facts_word);
        sma_buf_fini(head);
        sma_buf_init(head, SMA_REQUEST_BYTES_MAX / 2);
        target->wire->put_head(head, target, sma_buf_str(&system), tools, tool_count);
        enum sma_err err = system.err != SMA_ERR_OK ? system.err : head->err;
        sma_buf_fini(&system);
        if (err != SMA_ERR_OK) {
            sma_buf_fini(head);
            return err;
        }
    }
    *ret_head = head;
    return SMA_ERR_OK;
}

enum sma_err sma_run_settings_create(const struct sma_config *config,
                                     struct sma_run_settings **ret_settings)
{
    struct sma_run_settings *settings = calloc(1, sizeof *settings);
    if (settings == NULL)
        return SMA_ERR_NOMEM;
    const struct sma_config_llm *llm = &config->llm;
    settings->config = config;
    for (size_t i = 0; i < config->llm_target_count; i++)
        sma_target_init(&settings->targets[i], config->llm_targets[i]);
    if (config->llm_target_count == 0)
        sma_target_init(&settings->targets[0], llm);
    settings->target_count = config->llm_target_count == 0 ? 1 : config->llm_target_count;
    settings->is_configured = llm->api == SMA_LLM_OFFLINE || llm->model[0] != '\0';
    sma_buf_init(&settings->tail, SMA_REQUEST_BYTES_MAX / 2);
    settings->targets[0].wire->put_tail(&settings->tail, &settings->targets[0],
                                        (struct sma_str){0});
    const struct sma_buf *head; /* the largest: what is too large shows now */
    enum sma_err err = run_find_head(settings, 0, SMA_TOOL_OFFER_SETS - 1, 0, &head);
    if (err == SMA_ERR_OK)
        err = settings->tail.err;
    if (err != SMA_ERR_OK) {
        sma_run_settings_destroy(settings);
        return err;
    }
    *ret_settings = settings;
    return SMA_ERR_OK;
}

void sma_run_settings_destroy(struct sma_run_settings *settings)
{
    if (settings == NULL)
        return;
    drop_heads(settings);
    sma_buf_fini(&settings->tail);
    free(settings);
}
