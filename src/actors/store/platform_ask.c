/* platform_ask.c — what a platform is asked for a question to the store. */
#include "platform_ask.h"

#include "outbox.h"
#include "query_priv.h"

#include <stdlib.h>
#include <string.h>

struct store_platform_ask
{
    struct store_platform_ask *next;
    struct sma_msg *question;
    uint64_t ask_id, until_ns;
    store_platform_done *done;
    size_t kept_len;
    char kept[];
};

static uint32_t count_of(const struct sma_store *store, store_platform_done *done)
{
    uint32_t count = 0;
    const struct store_platform_ask *ask = store->query->platform_asks;
    for (; ask != NULL; ask = ask->next)
        count += ask->done == done;
    return count;
}

enum sma_err sma_store_ask_platform(struct sma_store *store, struct sma_msg **question,
                                    const struct sma_prepare *prepare, uint64_t patience_ns,
                                    struct sma_str kept, store_platform_done *done)
{
    int adapter = sma_store_adapter_of(store, &prepare->route);
    if (adapter < 0 || count_of(store, done) >= SMA_PLATFORM_ASK_COUNT_MAX)
        return SMA_ERR_BUSY;
    enum sma_actor_id actor = store->adapters[adapter].adapter->actor;
    if (sma_ctx_ask_room(store->ctx, actor) == 0)
        return SMA_ERR_BUSY;
    struct store_platform_ask *ask = malloc(sizeof *ask + kept.len);
    if (ask == NULL)
        return SMA_ERR_BUSY;
    struct sma_prepare asked = *prepare;
    asked.route.adapter = (uint8_t)actor;
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_prepare(&asked));
    *ask = (struct store_platform_ask){.next = store->query->platform_asks,
                                       .until_ns = sma_ctx_now(store->ctx) + patience_ns,
                                       .done = done,
                                       .kept_len = kept.len};
    if (kept.len > 0)
        memcpy(ask->kept, kept.ptr, kept.len);
    if (sma_ctx_ask(store->ctx, actor, &msg, ask->until_ns, &ask->ask_id) != SMA_ERR_OK) {
        sma_msg_destroyp(&msg);
        free(ask);
        return SMA_ERR_BUSY;
    }
    ask->question = SMA_TAKE(*question);
    store->query->platform_asks = ask;
    return SMA_ERR_OK;
}

static void drop(struct store_platform_ask **at)
{
    struct store_platform_ask *ask = *at;
    *at = ask->next;
    sma_msg_destroyp(&ask->question);
    free(ask);
}

static void end(struct sma_store *store, struct store_platform_ask **at,
                const struct sma_prepared *said, struct sma_str why)
{
    struct store_platform_ask *ask = *at;
    ask->done(store, ask->question, (struct sma_str){ask->kept, ask->kept_len}, said, why);
    drop(at);
}

bool sma_store_platform_said(struct sma_store *store, struct sma_msg *msg)
{
    struct store_platform_ask **at = &store->query->platform_asks;
    while (*at != NULL && (*at)->ask_id != msg->ask_id)
        at = &(*at)->next;
    if (*at == NULL)
        return false;
    end(store, at, SMA_MSG_BODY(msg, struct sma_prepared), SMA_STR(""));
    return true;
}

void sma_store_expire_platform_asks(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    struct store_platform_ask **at = &store->query->platform_asks;
    while (*at != NULL)
        if ((*at)->until_ns <= now)
            end(store, at, NULL, SMA_STR("The platform did not answer in time."));
        else
            at = &(*at)->next;
}

uint64_t sma_store_platform_asks_wake(const struct sma_store *store)
{
    uint64_t wake = UINT64_MAX;
    const struct store_platform_ask *ask = store->query->platform_asks;
    for (; ask != NULL; ask = ask->next)
        wake = ask->until_ns < wake ? ask->until_ns : wake;
    return wake;
}

void sma_store_refuse_platform_asks(struct sma_store *store)
{
    while (store->query->platform_asks != NULL)
        end(store, &store->query->platform_asks, NULL, SMA_STR("The program is stopping."));
}

void sma_store_drop_platform_asks(struct sma_store *store)
{
    while (store->query->platform_asks != NULL)
        drop(&store->query->platform_asks);
}
