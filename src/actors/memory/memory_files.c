/* memory_files.c — facts and proposals, opened when they are first needed. See memory_priv.h. */
#include "memory_priv.h"

#include "sma/text.h"

#include <stdio.h>

static struct sma_memory *open_folder(struct sma_memory_actor *actor, const char *name,
                                      struct sma_memory **memory)
{
    char folder[4096];
    if (actor->config->memory == SMA_MEMORY_REFUSE)
        return NULL;
    if (*memory != NULL)
        return *memory;
    if (snprintf(folder, sizeof folder, "%s/%s", actor->config->state_dir, name) >=
        (int)sizeof folder)
        return NULL;
    if (actor->secrets == NULL && sma_secrets_create(actor->config, &actor->secrets) != SMA_ERR_OK)
        return NULL;
    const struct sma_memory_options options = {
        .folder = folder, .sys = actor->sys, .secrets = actor->secrets};
    return sma_memory_create(&options, memory) == SMA_ERR_OK ? *memory : NULL;
}

struct sma_memory *memory_facts(struct sma_memory_actor *actor)
{
    return open_folder(actor, "memory", &actor->facts);
}

struct sma_memory *memory_proposed(struct sma_memory_actor *actor)
{
    return open_folder(actor, "memory/proposed", &actor->proposed);
}

void memory_tell_trouble(struct sma_memory_actor *actor, struct sma_memory *memory,
                         enum sma_err err)
{
    struct sma_str text = sma_memory_trouble(memory);
    if (text.len > 0 && !actor->is_broken)
        sma_ctx_log(actor->ctx, SMA_LOG_WARN, "memory: %.*s", (int)text.len, text.ptr);
    else if (err != SMA_ERR_OK && !actor->is_broken)
        sma_ctx_log(actor->ctx, SMA_LOG_WARN, "memory: %s", sma_err_text(err));
    actor->is_broken = text.len > 0 || err != SMA_ERR_OK;
}
