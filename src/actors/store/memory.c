/* memory.c — see memory.h. */
#include "memory.h"

#include "runtime/memory/memory.h"

#include <stdlib.h>

struct store_memory
{
    struct sma_memory *memory; /* looks whether there is something to recall, and nothing else */
    struct store_memory_lists *lists;
};

struct store_memory_lists **sma_store_memory_lists(struct sma_store *store)
{
    return &store->memory->lists;
}

bool sma_store_has_memory(struct sma_store *store, const struct sma_run_order *order)
{
    struct store_memory *self = store->memory;
    char folder[4096];
    bool is_wanted = store->config->memory != SMA_MEMORY_REFUSE &&
                     order->standing > SMA_STANDING_STRANGER && !order->is_compaction &&
                     order->step_count == 0;
    if (!is_wanted)
        return false;
    if (self->memory == NULL && snprintf(folder, sizeof folder, "%s/memory",
                                         store->config->state_dir) < (int)sizeof folder) {
        const struct sma_memory_options options = {
            .folder = folder, .sys = store->sys, .is_guest = true};
        if (sma_memory_create(&options, &self->memory) != SMA_ERR_OK)
            self->memory = NULL; /* nothing is recalled until there is memory */
    }
    return self->memory != NULL && sma_memory_has_any(self->memory, sma_ctx_now(store->ctx));
}

void sma_store_tell_forgotten(struct sma_store *store, uint32_t count)
{
    struct sma_msg *msg = sma_msg_make_forgotten(&(struct sma_forgotten){.count = count});
    if (msg != NULL) /* a signal may be lost: the index follows all the same */
        sma_ctx_signal(store->ctx, SMA_ACTOR_MEMORY, &msg);
}

static enum sma_err create(struct sma_store *store)
{
    store->memory = calloc(1, sizeof *store->memory);
    return store->memory == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static void fini(struct sma_store *store)
{
    struct store_memory *self = store->memory;
    sma_memory_destroy(self->memory);
    free(self->lists);
    free(self);
}

const struct store_part sma_store_memory_part = {.name = "memory", .create = create, .fini = fini};
