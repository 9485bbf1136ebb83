/*
 * What the bot said itself: the platform's names of the messages that were sent lately. Whoever
 * answers one of them in a group speaks to the bot, whatever the platform says of mentions.
 *
 * Names are kept hashed, with the chat they belong to (a topic's is its chat's). In memory; the
 * first time it is asked after a start, those of the newest runs are read.
 */
#include "outbox.h"
#include "outbox_priv.h"
#include "store.h"

#include "runtime/approval/consent.h"
#include "runtime/chat/state_read.h"

#include <stdlib.h>

#define OURS_COUNT 4096 /* the oldest goes */
#define RUN_COUNT_MAX 256

static uint64_t hash_of(const struct sma_store *store, struct sma_str chat_key, struct sma_str id)
{
    struct sma_str base = sma_store_chat_base(chat_key);
    uint64_t place = sma_siphash(store->hash_key, base.ptr, base.len);
    char bytes[sizeof place + SMA_ID_BYTES_MAX];
    size_t len = id.len < SMA_ID_BYTES_MAX ? id.len : SMA_ID_BYTES_MAX;
    memcpy(bytes, &place, sizeof place);
    memcpy(bytes + sizeof place, id.ptr, len);
    return sma_siphash(store->hash_key, bytes, sizeof place + len) | 1;
}

void sma_store_note_ours(struct sma_store *store, struct sma_str chat_key, struct sma_str id)
{
    struct store_outbox *outbox = store->outbox;
    if (id.len == 0)
        return;
    if (outbox->ours == NULL)
        outbox->ours = calloc(OURS_COUNT, sizeof *outbox->ours);
    if (outbox->ours == NULL)
        return; /* an answer to it has to mention the bot */
    outbox->ours[outbox->ours_next] = hash_of(store, chat_key, id);
    outbox->ours_next = (outbox->ours_next + 1) % OURS_COUNT;
}

static void note_run(struct sma_store *store, uint64_t seq)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_deliveries list = {0};
    if (sma_state_deliveries_read(store->state, seq, &rows, &list) != SMA_ERR_OK)
        return; /* none, or damaged: who reads it for its own sake says so */
    for (size_t i = 0; i < list.count; i++) {
        const struct sma_state_delivery *sent = &list.items[i];
        bool is_card = sma_state_outbox_call(sent->outbox_id) >= STORE_CARD_CALL;
        if (sent->state == SMA_DELIVERY_SENT && sent->chat != NULL)
            sma_store_note_ours(store, sent->chat->key,
                                is_card ? sma_card_mark_parse(sent->error).id : sent->error);
    }
}

static void read_once(struct sma_store *store)
{
    uint64_t end = sma_state_next_seq(store->state);
    uint64_t from = end > RUN_COUNT_MAX ? end - RUN_COUNT_MAX : 1;
    store->outbox->is_ours_read = true;
    for (uint64_t seq = from; seq < end; seq++)
        note_run(store, seq);
}

bool sma_store_is_ours(struct sma_store *store, struct sma_str chat_key, struct sma_str id)
{
    if (id.len == 0)
        return false;
    if (!store->outbox->is_ours_read)
        read_once(store);
    uint64_t hash = hash_of(store, chat_key, id);
    for (size_t i = 0; store->outbox->ours != NULL && i < OURS_COUNT; i++)
        if (store->outbox->ours[i] == hash)
            return true;
    return false;
}
