/*
 * queue.mode collect waits until people are quiet (queue.quietMs): each message of a chat holds its
 * next run for so long, five times as long at most. In memory only: after a restart what waits has
 * been quiet for long enough. There is no timer while nothing waits.
 */
#include "intake_priv.h"
#include "outbox.h"
#include "store.h"

#define QUIET_TIMES_MAX 5

static uint64_t quiet_ns(const struct sma_store *store)
{
    const struct sma_config *config = store->config;
    return config->queue_mode == SMA_QUEUE_COLLECT && config->queue_quiet_ms > 0
               ? (uint64_t)config->queue_quiet_ms * SMA_NS_PER_MS
               : 0;
}

bool sma_store_wants_quiet(const struct sma_store *store, const struct sma_route *route)
{
    int adapter = sma_store_adapter_of(store, route);
    return quiet_ns(store) > 0 && adapter >= 0 && !sma_store_is_channel_quiet(route) &&
           !store->adapters[adapter].adapter->ops->capabilities.is_stored_delivery;
}

/* -- the list, by the end of the quiet time ---------------------------------------------------- */
static void unlink_chat(struct sma_store *store, struct store_chat *chat)
{
    struct store_quiet *quiet = &chat->quiet;
    *(quiet->prev != NULL ? &quiet->prev->quiet.next : &store->intake->quiet_first) = quiet->next;
    *(quiet->next != NULL ? &quiet->next->quiet.prev : &store->intake->quiet_last) = quiet->prev;
    *quiet = (struct store_quiet){0};
    chat->held_count--;
}

/* Mostly the last; those that have waited long enough go before others. */
static void link_chat(struct sma_store *store, struct store_chat *chat)
{
    struct store_chat *before = store->intake->quiet_last;
    while (before != NULL && before->quiet.until_ns > chat->quiet.until_ns)
        before = before->quiet.prev;
    struct store_chat **after = before != NULL ? &before->quiet.next : &store->intake->quiet_first;
    chat->quiet.prev = before;
    chat->quiet.next = *after;
    *(chat->quiet.next != NULL ? &chat->quiet.next->quiet.prev : &store->intake->quiet_last) = chat;
    *after = chat;
    chat->held_count++;
}

void sma_store_await_quiet(struct sma_store *store, struct store_chat *chat)
{
    uint64_t now = store->ctx != NULL ? sma_ctx_now(store->ctx) : 0, length = quiet_ns(store);
    uint64_t since = chat->quiet.is_on ? chat->quiet.since_ns : now;
    if (chat->quiet.is_on)
        unlink_chat(store, chat);
    uint64_t latest = since + QUIET_TIMES_MAX * length;
    chat->quiet = (struct store_quiet){.is_on = true,
                                       .since_ns = since,
                                       .until_ns = now + length < latest ? now + length : latest};
    link_chat(store, chat);
    sma_queue_set_paused(store->queue, chat->id, true);
}

void sma_store_expire_quiet(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    struct store_chat *chat;
    while ((chat = store->intake->quiet_first) != NULL && chat->quiet.until_ns <= now) {
        unlink_chat(store, chat);
        sma_queue_set_paused(store->queue, chat->id, false);
    }
}

uint64_t sma_store_quiet_wake(const struct sma_store *store)
{
    const struct store_chat *first = store->intake->quiet_first;
    return first == NULL || store->is_draining ? UINT64_MAX : first->quiet.until_ns;
}

void sma_store_reset_quiet(struct sma_store *store)
{
    while (store->intake->quiet_first != NULL)
        unlink_chat(store, store->intake->quiet_first);
}
