/* run_settings.c — what all runs of one configuration share: targets, heads and tails of requests.
 * See run.h. */
#include "run_priv.h"

#include "sma/text.h"

#include "runtime/agent/prompt.h"
#include "runtime/secrets/secrets.h"
#include "sma/chats.h"

#include <stdlib.h>

/* Stands for the cache key while a tail is made; as long as run_put_cache_key writes. */
static const char key_place[] = "<-cache-of-chat>";
_Static_assert(sizeof key_place == RUN_CACHE_KEY_BYTES + 1, "the key takes its place");

/* -- heads and tails --------------------------------------------------------------------------- */
static void drop_head(struct sma_run_settings *settings, struct sma_run_head *head)
{
    settings->head_bytes -= head->bytes.len;
    sma_buf_fini(&head->bytes);
}

static void drop_target(struct sma_run_settings *settings, size_t index)
{
    for (size_t k = 0; k < SMA_RUN_HEAD_COUNT_MAX; k++)
        if (settings->heads[k].key.target == index)
            drop_head(settings, &settings->heads[k]);
    sma_buf_fini(&settings->tails[index]);
}

static void drop_heads(struct sma_run_settings *settings)
{
    for (size_t i = 0; i < SMA_MODEL_COUNT_MAX; i++)
        drop_target(settings, i);
}

/* Our own, and behind them those of servers: what stands before them stays cached. */
static enum sma_err make_tools(const struct sma_run_head_key *key, const struct sma_mcp_view *view,
                               struct sma_mcp_specs *ret_specs, struct sma_tool_spec **ret_tools,
                               size_t *ret_count)
{
    SMA_TRY(sma_mcp_view_specs(view, ret_specs));
    struct sma_tool_spec *tools = calloc(SMA_TOOL_COUNT + ret_specs->count, sizeof *tools);
    if (tools == NULL) {
        sma_mcp_specs_fini(ret_specs);
        return SMA_ERR_NOMEM;
    }
    size_t count = sma_tool_specs_for(key->offers, tools);
    for (size_t i = 0; i < ret_specs->count; i++)
        tools[count++] = ret_specs->list[i];
    *ret_tools = tools;
    *ret_count = count;
    return SMA_ERR_OK;
}

static enum sma_err make_head(struct sma_run_settings *settings, const struct sma_mcp_view *view,
                              struct sma_run_head *head)
{
    const struct sma_target *target = &settings->targets[head->key.target];
    struct sma_mcp_specs specs;
    struct sma_tool_spec *tools;
    size_t tool_count;
    SMA_TRY(make_tools(&head->key, view, &specs, &tools, &tool_count));
    size_t kept = 0;
    for (size_t i = 0; i < tool_count; i++) /* one that it refuses, whoever made it */
        if (!sma_target_refuses_tool(target, tools[i].name))
            tools[kept++] = tools[i];
    tool_count = kept;
    struct sma_buf system;
    sma_buf_init(&system, SMA_REQUEST_BYTES_MAX / 4);
    sma_prompt_put_system(&system, settings->config, head->key.prompt, settings->facts_word,
                          sma_buf_str(&settings->skills));
    sma_buf_init(&head->bytes, SMA_REQUEST_BYTES_MAX / 2);
    target->wire->put_head(&head->bytes, target, sma_buf_str(&system), tools, tool_count);
    enum sma_err err = system.err != SMA_ERR_OK ? system.err : head->bytes.err;
    sma_buf_fini(&system);
    sma_mcp_specs_fini(&specs);
    free(tools);
    if (err != SMA_ERR_OK)
        sma_buf_fini(&head->bytes);
    settings->head_bytes += head->bytes.len;
    return err;
}

static bool is_same_key(const struct sma_run_head_key *a, const struct sma_run_head_key *b)
{
    return a->target == b->target && a->offers == b->offers && a->prompt == b->prompt &&
           a->catalogue == b->catalogue && a->tools == b->tools && a->names == b->names;
}

/* The head of this key, else a free place, else the one that was longest not used. */
static struct sma_run_head *find_place(struct sma_run_settings *settings,
                                       const struct sma_run_head_key *key)
{
    struct sma_run_head *oldest = &settings->heads[0];
    for (size_t i = 0; i < SMA_RUN_HEAD_COUNT_MAX; i++) {
        struct sma_run_head *head = &settings->heads[i];
        if (head->bytes.len > 0 && is_same_key(&head->key, key))
            return head;
        uint64_t used = head->bytes.len == 0 ? 0 : head->used;
        if (used < (oldest->bytes.len == 0 ? 0 : oldest->used))
            oldest = head;
    }
    drop_head(settings, oldest);
    oldest->key = *key;
    return oldest;
}

static void bound_heads(struct sma_run_settings *settings, const struct sma_run_head *kept)
{
    while (settings->head_bytes > SMA_RUN_HEAD_BYTES_MAX) {
        struct sma_run_head *oldest = NULL;
        for (size_t i = 0; i < SMA_RUN_HEAD_COUNT_MAX; i++) {
            struct sma_run_head *head = &settings->heads[i];
            if (head != kept && head->bytes.len > 0 &&
                (oldest == NULL || head->used < oldest->used))
                oldest = head;
        }
        if (oldest == NULL)
            return;
        drop_head(settings, oldest);
    }
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

enum sma_err run_find_head(struct sma_run_settings *settings, const struct run_head_need *need,
                           const struct sma_buf **ret_head)
{
    const struct sma_run_head_key *key = &need->key;
    if (settings->facts_word !=
        need->facts_word) { /* with the first run: the word is always the same */
        drop_heads(settings);
        settings->facts_word = need->facts_word;
    }
    struct sma_run_head *head = find_place(settings, key);
    enum sma_err err = SMA_ERR_OK;
    if (head->bytes.len == 0)
        err = make_head(settings, &need->view, head);
    if (err == SMA_ERR_OK && settings->tails[key->target].len == 0)
        err = make_tail(settings, key->target);
    if (err != SMA_ERR_OK)
        return err;
    head->used = ++settings->head_use;
    bound_heads(settings, head);
    *ret_head = &head->bytes;
    return SMA_ERR_OK;
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
    for (size_t i = 0; i < settings->model_count; i++) {
        struct sma_target *target = &settings->targets[i];
        for (size_t k = 0; k < before->model_count; k++) {
            const struct sma_target *from = &before->targets[k];
            take_over_refusals(target, from);
            if (strcmp(target->key, from->key) == 0)
                settings->known[i] = before->known[k];
            if (strcmp(target->key, from->key) == 0 && has_equal_keys(target->llm, from->llm))
                settings->cooldowns[i] = before->cooldowns[k];
        }
        take_over_refusals(target, &before->judge);
        take_over_refusals(&settings->judge, &before->judge);
    }
    for (size_t k = 0; k < before->model_count; k++)
        take_over_refusals(&settings->judge, &before->targets[k]);
}

/* The largest of each prompt: what is too large shows now. */
static enum sma_err try_heads(struct sma_run_settings *settings)
{
    const struct sma_config *config = settings->config;
    const struct sma_buf *head;
    for (size_t i = 0; i <= config->chat_count; i++) {
        const struct sma_chat_rule *rule = i == config->chat_count ? NULL : &config->chats[i];
        if (rule != NULL && rule->prompt == NULL && rule->agent_md == NULL)
            continue;
        const struct run_head_need need = {.key = {.offers = SMA_TOOL_OFFER_ALL, .prompt = rule}};
        SMA_TRY(run_find_head(settings, &need, &head));
    }
    return SMA_ERR_OK;
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
    sma_buf_init(&settings->skills, SMA_TOOL_RESULT_BYTES_MAX);
    settings->model_count = sma_models_count(config);
    for (size_t i = 0; i < settings->model_count; i++)
        sma_target_init(&settings->targets[i], sma_models_get(config, i));
    settings->target_count = config->llm_target_count == 0 ? 1 : config->llm_target_count;
    sma_target_init(&settings->judge, config->llm_judge == NULL ? llm : config->llm_judge);
    settings->has_vision = config->llm_vision != NULL;
    if (settings->has_vision)
        sma_target_init(&settings->vision, config->llm_vision);
    settings->has_small = config->llm_small != NULL;
    if (settings->has_small)
        sma_target_init(&settings->small, config->llm_small);
    settings->is_configured = llm->api == SMA_LLM_OFFLINE || llm->model[0] != '\0';
    if (before != NULL)
        take_over(settings, before);
    struct sma_error why; /* the tools actor has told what is wrong with it */
    enum sma_err err = sma_mcp_policy_load(config->permissions_json, &settings->mcp_policy, &why);
    if (err == SMA_ERR_OK && before != NULL)
        err = sma_run_settings_offer(settings, before->catalogue);
    if (err == SMA_ERR_OK)
        err = try_heads(settings);
    if (err != SMA_ERR_OK) {
        sma_run_settings_destroy(settings);
        return err;
    }
    *ret_settings = settings;
    return SMA_ERR_OK;
}

enum sma_err sma_run_settings_offer(struct sma_run_settings *settings,
                                    const struct sma_mcp_catalogue *catalogue)
{
    if (catalogue != NULL && settings->mcp_secrets == NULL)
        SMA_TRY(sma_secrets_create(settings->config, &settings->mcp_secrets));
    sma_mcp_catalogue_unref(settings->catalogue);
    settings->catalogue = catalogue == NULL ? NULL : sma_mcp_catalogue_ref(catalogue);
    return SMA_ERR_OK;
}

bool sma_run_settings_learn(struct sma_run_settings *settings, struct sma_str target,
                            struct sma_str member)
{
    bool is_new = false;
    for (size_t i = 0; i < settings->model_count; i++) {
        if (!sma_str_is_equal(target, sma_str(settings->targets[i].key)) ||
            !sma_target_refuse(&settings->targets[i], member))
            continue;
        drop_target(settings, i);
        is_new = true;
    }
    if (sma_str_is_equal(target, sma_str(settings->judge.key)))
        is_new |= sma_target_refuse(&settings->judge, member);
    if (settings->has_small && sma_str_is_equal(target, sma_str(settings->small.key)))
        is_new |= sma_target_refuse(&settings->small, member);
    return is_new;
}

void sma_run_settings_allow(struct sma_run_settings *settings, struct sma_str target,
                            const char *form)
{
    for (size_t i = 0; i < settings->model_count; i++)
        if (sma_str_is_equal(target, sma_str(settings->targets[i].key))) {
            sma_target_allow(&settings->targets[i], form);
            if (sma_str_starts_with(sma_str(form), SMA_STR(SMA_LEARNED_WINDOW)))
                settings->known[i].window = 0;
            drop_target(settings, i);
        }
    if (sma_str_is_equal(target, sma_str(settings->judge.key)))
        sma_target_allow(&settings->judge, form);
    if (settings->has_small && sma_str_is_equal(target, sma_str(settings->small.key)))
        sma_target_allow(&settings->small, form);
}

void sma_run_settings_set_skills(struct sma_run_settings *settings, struct sma_str lines)
{
    if (sma_str_is_equal(sma_buf_str(&settings->skills), lines))
        return;
    drop_heads(settings);
    sma_buf_clear(&settings->skills);
    sma_buf_put_str(&settings->skills, lines);
    if (settings->skills.err != SMA_ERR_OK) /* no memory: as if there were none */
        sma_buf_clear(&settings->skills);
}

void sma_run_settings_destroy(struct sma_run_settings *settings)
{
    if (settings == NULL)
        return;
    drop_heads(settings);
    sma_buf_fini(&settings->skills);
    sma_mcp_catalogue_unref(settings->catalogue);
    sma_mcp_policy_destroy(settings->mcp_policy);
    sma_secrets_destroy(settings->mcp_secrets);
    free(settings);
}
