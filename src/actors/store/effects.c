/* effects.c — answers and messages that leave after the commit, and what the batch needs to know.
 * See batch.h. */
#include "batch_priv.h"
#include "store.h"

#include <stdlib.h>

bool sma_store_grow(void *array_pointer, uint32_t count, uint32_t *cap, size_t item_bytes)
{
    if (count < *cap)
        return true;
    uint32_t larger = *cap == 0 ? 64 : *cap * 2;
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    array = realloc(array, larger * item_bytes);
    if (array == NULL)
        return false;
    memcpy(array_pointer, &array, sizeof array);
    *cap = larger;
    return true;
}

void sma_store_need(struct sma_store *store, bool has_memory)
{
    if (!has_memory)
        sma_ctx_fatal(store->ctx, "the store is out of memory; what was accepted is on disk and "
                                  "continues after a restart");
}

struct sma_msg *sma_store_made(struct sma_store *store, struct sma_msg *msg)
{
    sma_store_need(store, msg != NULL);
    return msg;
}

static void hold(struct sma_store *store, const struct store_effect *effect)
{
    sma_store_need(store, sma_store_grow(&store->batch->effects, store->batch->effect_count,
                                         &store->batch->effect_cap, sizeof *effect));
    store->batch->effects[store->batch->effect_count++] = *effect;
}

void sma_store_answer_later(struct sma_store *store, const struct sma_msg *question,
                            struct sma_msg **answer, uint64_t read_ns)
{
    hold(store, &(struct store_effect){.msg = *answer,
                                       .ask_id = question->ask_id,
                                       .read_ns = read_ns,
                                       .to = question->from,
                                       .is_answer = true});
    *answer = NULL;
}

void sma_store_send_later(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg)
{
    hold(store, &(struct store_effect){.msg = *msg, .to = (uint8_t)to});
    *msg = NULL;
}

void sma_store_send_now(struct sma_store *store, enum sma_actor_id to, struct sma_msg **msg)
{
    /* Once one had to wait, the others wait behind it: order is part of the promise. */
    if (store->batch->deferred_count == 0) {
        enum sma_err err = sma_ctx_send(store->ctx, to, msg);
        if (err == SMA_ERR_OK)
            return;
        if (err != SMA_ERR_FULL) {
            sma_msg_destroyp(
                /* the receiver has ended: the row is still open and runs after the next start */
                msg);
            return;
        }
    }
    sma_store_need(store,
                   sma_store_grow(&store->batch->deferred, store->batch->deferred_count,
                                  &store->batch->deferred_cap, sizeof *store->batch->deferred));
    store->batch->deferred[store->batch->deferred_count++] =
        (struct store_effect){.msg = *msg, .to = (uint8_t)to};
    *msg = NULL;
}

void sma_store_note_finished(struct sma_store *store, uint64_t seq)
{
    sma_store_need(store,
                   sma_store_grow(&store->batch->finished, store->batch->finished_count,
                                  &store->batch->finished_cap, sizeof *store->batch->finished));
    store->batch->finished[store->batch->finished_count++] = seq;
}

void sma_store_note_error(struct sma_store *store, const char *text)
{
    uint32_t place = store->batch->error_count++ % STORE_ERROR_COUNT;
    snprintf(store->batch->errors[place], sizeof store->batch->errors[place], "%s", text);
    store->batch->error_ms[place] = sma_ctx_wall(store->ctx);
}

bool sma_store_finished_at(const struct sma_store *store, uint32_t place, uint64_t *ret_seq)
{
    if (place >= store->batch->finished_count)
        return false;
    *ret_seq = store->batch->finished[place];
    return true;
}

bool sma_store_next_finished(struct sma_store *store, uint32_t *place, uint64_t *ret_seq)
{
    if (*place < store->batch->finished_count) {
        *ret_seq = store->batch->finished[(*place)++];
        return true;
    }
    store->batch->finished_count = 0;
    return false;
}
