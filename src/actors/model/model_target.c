/* model_target.c — where questions go: one target per llm that a question names. See
 * model_priv.h. */
#include "model_priv.h"

#include "runtime/model/address.h"

#include <stdlib.h>

#define MS 1000000u
#define SECOND UINT64_C(1000000000)

static char *make_url(const struct sma_config_llm *llm)
{
    struct sma_buf url;
    sma_buf_init(&url, 8192);
    sma_model_put_url(&url, llm);
    if (url.err != SMA_ERR_OK) {
        sma_buf_fini(&url);
        return NULL;
    }
    return sma_buf_take(&url);
}

static uint64_t timeout_ns(int64_t configured_ms, uint64_t default_s)
{
    return configured_ms > 0 ? (uint64_t)configured_ms * MS : default_s * SECOND;
}

static void set_times(struct model_target *target)
{
    const struct sma_config_llm *llm = target->llm;
    target->connect_ns = timeout_ns(llm->connect_ms, SMA_MODEL_CONNECT_S);
    target->is_local = sma_profile_is_local(llm);
    target->is_patient = target->is_local && llm->first_byte_ms == 0;
    /* A stream says something early; a whole answer comes when it is written. */
    target->first_byte_ns =
        timeout_ns(llm->first_byte_ms, target->is_local ? SMA_MODEL_LOCAL_FIRST_BYTE_S
                                       : llm->is_stream ? SMA_MODEL_FIRST_BYTE_S
                                                        : SMA_MODEL_WHOLE_S);
    target->idle_ns = timeout_ns(llm->idle_ms, SMA_MODEL_IDLE_S);
    target->total_ns = timeout_ns(llm->total_ms, SMA_MODEL_TOTAL_S);
}

static void add_key(struct model_target *target, const char *key)
{
    if (key == NULL || key[0] == '\0' || target->key_count == SMA_KEYS_COUNT_MAX)
        return;
    size_t host_len = strcspn(target->name + strcspn(target->name, " ") + 1, " ");
    struct sma_str host = {target->name + strcspn(target->name, " ") + 1, host_len};
    target->keys[target->key_count] = key;
    target->key_ids[target->key_count++] = sma_keys_id(host, sma_str(key));
}

static void set_keys(struct model_target *target)
{
    const struct sma_config_llm *llm = target->llm;
    target->model_id = sma_keys_id(SMA_STR("model"), sma_str(llm->model));
    for (size_t i = 0; i < llm->api_key_count; i++)
        add_key(target, llm->api_keys[i]);
    if (llm->api_key_count == 0)
        add_key(target, llm->api_key);
}

static void destroy_target(struct model_target *target)
{
    if (target == NULL)
        return;
    SMA_ASSERT(target->use_count == 0);
    model_net_forget(target);
    free(target->url);
    free(target);
}

static void name_target(struct model_target *target)
{
    struct sma_target named;
    sma_target_init(&named, target->llm);
    memcpy(target->name, named.key, sizeof target->name);
    target->profile = named.profile;
}

static struct model_target *create_target(const struct sma_config_llm *llm)
{
    struct model_target *target = calloc(1, sizeof *target);
    if (target == NULL)
        return NULL;
    target->llm = llm;
    name_target(target);
    set_times(target);
    if (llm->api == SMA_LLM_OFFLINE)
        return target;
    set_keys(target);
    target->url = make_url(llm);
    if (target->url == NULL || model_net_prepare(target) != SMA_ERR_OK) {
        destroy_target(target);
        return NULL;
    }
    return target;
}

/* -- the list ---------------------------------------------------------------------------------- */
static void take_out(struct sma_model *model, struct model_target *target)
{
    struct model_target **at = &model->targets;
    while (*at != target)
        at = &(*at)->next;
    *at = target->next;
    model->target_count--;
}

static bool make_room(struct sma_model *model)
{
    struct model_target *idlest = NULL;
    if (model->target_count < MODEL_TARGET_COUNT_MAX)
        return true;
    for (struct model_target *at = model->targets; at != NULL; at = at->next)
        if (at->use_count == 0 && (idlest == NULL || at->used_ns < idlest->used_ns))
            idlest = at;
    if (idlest == NULL)
        return false;
    take_out(model, idlest);
    destroy_target(idlest);
    return true;
}

struct model_target *model_target_get(struct sma_model *model, const struct sma_config_llm *llm)
{
    for (struct model_target *at = model->targets; at != NULL; at = at->next)
        if (at->llm == llm)
            return at;
    struct model_target *target = make_room(model) ? create_target(llm) : NULL;
    if (target == NULL)
        return NULL;
    target->next = model->targets;
    model->targets = target;
    model->target_count++;
    return target;
}

void model_targets_replace(struct sma_model *model)
{
    struct model_target *next;
    for (struct model_target *at = model->targets; at != NULL; at = next) {
        next = at->next;
        at->is_old = true;
        if (at->use_count > 0)
            continue;
        take_out(model, at);
        destroy_target(at);
    }
}

void model_target_use(struct model_target *target, uint64_t now_ns)
{
    target->use_count++;
    target->used_ns = now_ns;
}

void model_target_let_go(struct sma_model *model, struct model_target *target)
{
    SMA_ASSERT(target->use_count > 0);
    target->use_count--;
    if (target->use_count > 0 || !target->is_old)
        return;
    take_out(model, target);
    destroy_target(target);
}

void model_targets_destroy(struct sma_model *model)
{
    while (model->targets != NULL) {
        struct model_target *target = model->targets;
        model->targets = target->next;
        destroy_target(target);
    }
    model->target_count = 0;
}
