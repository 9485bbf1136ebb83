/* run_settings.c — what all runs of one configuration share: targets, heads and tails of requests.
 * See run.h. */
#include "run_priv.h"

#include "runtime/agent/prompt.h"

#include <stdlib.h>

/* Stands for the cache key while a tail is made; as long as run_put_cache_key writes. */
static const char key_place[] = "<-cache-of-chat>";
_Static_assert(sizeof key_place == RUN_CACHE_KEY_BYTES + 1, "the key takes its place");

/* -- heads and tails --------------------------------------------------------------------------- */
static void drop_target(struct sma_run_settings *settings, size_t index)
{
    for (size_t k = 0; k < SMA_TOOL_OFFER_SETS; k++)
        sma_buf_fini(&settings->heads[index][k]);
    sma_buf_fini(&settings->tails[index]);
}

static void drop_heads(struct sma_run_settings *settings)
{
    for (size_t i = 0; i < SMA_TARGET_COUNT_MAX; i++)
        drop_target(settings, i);
}

static enum sma_err make_head(const struct sma_run_settings *settings,
                              const struct sma_target *target, uint32_t offers,
                              struct sma_buf *head)
{
    struct sma_tool_spec tools[SMA_TOOL_COUNT];
    size_t tool_count = sma_tool_specs_for(offers, tools);
    struct sma_buf system;
    sma_buf_init(&system, SMA_REQUEST_BYTES_MAX / 4);
    sma_prompt_put_system(&system, settings->config, settings->facts_word);
    sma_buf_fini(head);
    sma_buf_init(head, SMA_REQUEST_BYTES_MAX / 2);
    target->wire->put_head(head, target, sma_buf_str(&system), tools, tool_count);
    enum sma_err err = system.err != SMA_ERR_OK ? system.err : head->err;
    sma_buf_fini(&system);
    if (err != SMA_ERR_OK)
        sma_buf_fini(head);
    return err;
}

static enum sma_err make_tail(struct sma_run_settings *settings, size_t index)
{
    const struct sma_target *target = &settings->targets[index];
    struct sma_buf *tail = &settings->tails[index];
    sma_buf_init(tail, SMA_REQUEST_BYTES_MAX / 2);
    target->wire->put_tail(tail, target, sma_str(key_place));
    if (tail->err != SMA_ERR_OK) {
        enum sma_err err = tail->err;
        sma_buf_fini(tail);
        return err;
    }
    const char *place = memmem(tail->ptr, tail->len, key_place, sizeof key_place - 1);
    settings->key_offsets[index] = place == NULL ? SIZE_MAX : (size_t)(place - tail->ptr);
    return SMA_ERR_OK;
}

enum sma_err run_find_head(struct sma_run_settings *settings, size_t target_index, uint32_t offers,
                           uint64_t facts_word, const struct sma_buf **ret_head)
{
    SMA_ASSERT(offers < SMA_TOOL_OFFER_SETS);
    if (settings->facts_word != facts_word) { /* with the first run: the word is always the same */
        drop_heads(settings);
        settings->facts_word = facts_word;
    }
    struct sma_buf *head = &settings->heads[target_index][offers];
    enum sma_err err = SMA_ERR_OK;
    if (head->len == 0)
        err = make_head(settings, &settings->targets[target_index], offers, head);
    if (err == SMA_ERR_OK && settings->tails[target_index].len == 0)
        err = make_tail(settings, target_index);
    if (err == SMA_ERR_OK)
        *ret_head = head;
    return err;
}

/* -- the object -------------------------------------------------------------------------------- */
static void take_over_refusals(struct sma_target *target, const struct sma_target *from)
{
    if (strcmp(target->key, from->key) != 0)
        return;
    for (size_t i = 0; i < from->refused_count; i++)
        (void)sma_target_refuse(target, sma_str(from->refused[i])); /* known, or no room */
}

static bool has_equal_keys(const struct sma_config_llm *a, const struct sma_config_llm *b)
{
    return strcmp(a->api_key, b->api_key) == 0 && a->api_key_count == b->api_key_count;
}

/* What a target refuses and takes is its own; that it is cooled may have been the key's fault. */
static void take_over(struct sma_run_settings *settings, const struct sma_run_settings *before)
{
    for (size_t i = 0; i < settings->target_count; i++) {
        struct sma_target *target = &settings->targets[i];
        for (size_t k = 0; k < before->target_count; k++) {
            const struct sma_target *from = &before->targets[k];
            take_over_refusals(target, from);
            if (strcmp(target->key, from->key) == 0 && has_equal_keys(target->llm, from->llm))
                settings->cooldowns[i] = before->cooldowns[k];
        }
        take_over_refusals(target, &before->judge);
        take_over_refusals(&settings->judge, &before->judge);
    }
    for (size_t k = 0; k < before->target_count; k++)
        take_over_refusals(&settings->judge, &before->targets[k]);
}

enum sma_err sma_run_settings_create(const struct sma_config *config,
                                     const struct sma_run_settings *before,
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
    sma_target_init(&settings->judge, config->llm_judge == NULL ? llm : config->llm_judge);
    settings->is_configured = llm->api == SMA_LLM_OFFLINE || llm->model[0] != '\0';
    if (before != NULL)
        take_over(settings, before);
    const struct sma_buf *head; /* the largest: what is too large shows now */
    enum sma_err err = run_find_head(settings, 0, SMA_TOOL_OFFER_SETS - 1, 0, &head);
    if (err != SMA_ERR_OK) {
        sma_run_settings_destroy(settings);
        return err;
    }
    *ret_settings = settings;
    return SMA_ERR_OK;
}

bool sma_run_settings_learn(struct sma_run_settings *settings, struct sma_str target,
                            struct sma_str member)
{
    bool is_new = false;
    for (size_t i = 0; i < settings->target_count; i++) {
        if (!sma_str_is_equal(target, sma_str(settings->targets[i].key)) ||
            !sma_target_refuse(&settings->targets[i], member))
            continue;
        drop_target(settings, i);
        is_new = true;
    }
    if (sma_str_is_equal(target, sma_str(settings->judge.key)))
        is_new |= sma_target_refuse(&settings->judge, member);
    return is_new;
}

void sma_run_settings_destroy(struct sma_run_settings *settings)
{
    if (settings == NULL)
        return;
    drop_heads(settings);
    free(settings);
}
