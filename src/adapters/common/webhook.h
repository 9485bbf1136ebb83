/*
 * webhook.h — events that come as requests to /webhooks/<name>: believed by what the platform
 * signs, answered 200 only when the store has finished with them. Anything else makes the platform
 * bring the event again.
 *
 * What is refused is said at its first, second, fourth, ... time, for anybody can send requests; a
 * signed request that makes no sense is answered 200, or it would come for ever.
 *
 * Invariants: every request is answered exactly once, by the platform's take() or with the verdict.
 * Threads:    the actor's.
 * Limits:     SMA_ASK_WEBHOOK_COUNT_MAX requests wait at once, as many as may be asked of an
 *             adapter.
 */
#ifndef SMA_ADAPTERS_COMMON_WEBHOOK_H
#define SMA_ADAPTERS_COMMON_WEBHOOK_H

#include "intake.h"

/* One request that waits. */
struct sma_webhook_slot
{
    bool is_open;
    bool is_asked; /* the store was asked: it is answered with the verdict */
    uint8_t asker; /* enum sma_actor_id */
    uint64_t ask_id;
};
struct sma_webhook_ops
{
    /**
     * Authenticate one request and read it; its event goes to sma_intake_take under
     * the slot.
     * @return the status to answer now; body may be filled in, else it is body_ok or body_again.
     *         Without effect once the store was asked
     */
    int (*take)(void *state, const struct sma_webhook *webhook, struct sma_webhook_slot *slot,
                struct sma_buf *body);
    const char *body_ok, *body_again; /* JSON; NULL = {} */
};
struct sma_webhooks
{
    struct sma_platform *platform;
    struct sma_webhook_slot *slots; /* SMA_ASK_WEBHOOK_COUNT_MAX */
    unsigned refused_count, dropped_count;
};
SMA_CHECKED enum sma_err sma_webhooks_init(struct sma_webhooks *webhooks,
                                           struct sma_platform *platform);
void sma_webhooks_fini(struct sma_webhooks *webhooks); /* accepts a zeroed struct */
void sma_webhooks_on_request(struct sma_webhooks *webhooks, struct sma_msg *msg);
/** What to answer now when the event of a request was taken like this, under origin->slot. */
int sma_webhook_status(enum sma_took took, const struct sma_origin *origin);
/** The event has its verdict. result: the body, where the platform waits for words. */
void sma_webhook_settle(struct sma_webhooks *webhooks, struct sma_webhook_slot *slot,
                        const struct sma_accepted *accepted, struct sma_str result);
/** A request is not believed. @return status */
int sma_webhook_refuse(struct sma_webhooks *webhooks, int status, const char *why);
/** A believed request holds nothing that can be read. @return 200 */
int sma_webhook_drop(struct sma_webhooks *webhooks, const char *why);

#endif
