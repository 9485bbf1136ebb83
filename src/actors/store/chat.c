/*
 * What the store keeps in memory of chats that are busy in some way.
 */
#include "store.h"

#include <stdlib.h>

struct sma_str sma_store_chat_base(struct sma_str key)
{
    static const struct sma_str topic = SMA_STR(":topic:");
    const char *at = key.len == 0 ? NULL : memmem(key.ptr, key.len, topic.ptr, topic.len);
    return at == NULL ? key : (struct sma_str){key.ptr, (size_t)(at - key.ptr)};
}

struct store_chat *sma_store_chat(struct sma_store *store, struct sma_state_chat *state_chat)
{
    if (state_chat->user != NULL)
        return state_chat->user;
    struct store_chat *chat = calloc(1, sizeof *chat + state_chat->key.len + 1);
    if (chat == NULL)
        return NULL;
    chat->state = state_chat;
    chat->id = state_chat->id;
    chat->key = (char *)(chat + 1);
    chat->key_len = (uint32_t)state_chat->key.len;
    memcpy(chat->key, state_chat->key.ptr, state_chat->key.len);
    chat->next = store->chats.first;
    if (store->chats.first != NULL)
        store->chats.first->prev = chat;
    store->chats.first = chat;
    store->chats.count++;
    state_chat->user = chat;
    return chat;
}

void sma_store_chat_free(struct sma_store *store, struct store_chat *chat)
{
    if (chat->prev != NULL)
        chat->prev->next = chat->next;
    else
        store->chats.first = chat->next;
    if (chat->next != NULL)
        chat->next->prev = chat->prev;
    store->chats.count--;
    if (chat->has_own_key)
        free(chat->key);
    free(chat);
}

static bool is_chat_idle(const struct sma_store *store, const struct store_chat *chat, uint64_t now)
{
    const uint64_t interval = SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000);
    return chat->run == NULL && chat->first == NULL && !chat->is_dirty &&
           !chat->is_credit_waiting && !chat->is_rotating && chat->line_count == 0 &&
           chat->held_count == 0 && chat->approval_count == 0 && chat->wait_count == 0 &&
           !sma_queue_is_busy(store->queue, chat->id) &&
           sma_queue_chat_waiting(store->queue, chat->id) == 0 &&
           now - chat->busy_notice_ns > interval && now - chat->full_notice_ns > interval &&
           now - chat->refusal_notice_ns > interval && now - chat->unclear_notice_ns > interval;
}

bool sma_store_let_go_chat(struct sma_store *store, struct sma_state_chat *state_chat)
{
    struct store_chat *chat = state_chat->user;
    if (chat == NULL)
        return true;
    if (!is_chat_idle(store, chat, sma_ctx_now(store->ctx)))
        return false;
    state_chat->user = NULL;
    sma_store_chat_free(store, chat);
    return true;
}

/* Between batches only: nothing points to an idle chat then. */
void sma_store_sweep_chats(struct sma_store *store)
{
    if (store->chats.count < store->chats.sweep_at)
        return;
    uint64_t now = sma_ctx_now(store->ctx);
    for (struct store_chat *chat = store->chats.first, *next; chat != NULL; chat = next) {
        next = chat->next;
        if (!is_chat_idle(store, chat, now))
            continue;
        chat->state->user = NULL;
        sma_store_chat_free(store, chat);
    }
    store->chats.sweep_at = store->chats.count * 2;
    if (store->chats.sweep_at < STORE_CHAT_KEPT_COUNT)
        store->chats.sweep_at = STORE_CHAT_KEPT_COUNT;
}

/* Chats that were created in an undone transaction exist no more; after the undo nothing of ours
 * hangs on them. */
void sma_store_drop_undone_chats(struct sma_store *store)
{
    for (struct store_chat *chat = store->chats.first, *next; chat != NULL; chat = next) {
        next = chat->next;
        struct sma_state_chat *there = sma_state_chat_by_id(store->state, chat->id);
        if (there != NULL && there->user == chat &&
            sma_str_is_equal(there->key, sma_store_chat_key(chat))) {
            chat->state = there;
            continue;
        }
        SMA_ASSERT(chat->run == NULL && chat->first == NULL && chat->line_count == 0 &&
                   chat->held_count == 0 && chat->approval_count == 0 && chat->wait_count == 0);
        sma_store_chat_free(store, chat);
    }
}
