/*
 * platform_health.h — how a platform stands, as `shipmyagent status`, /health and /metrics show it.
 *
 * Two things are kept apart. The connection (links.h): up or down, since when, what went wrong
 * last. And what needs somebody to act (sma/health.h): a cause each, set by the part that knows it
 * and healed by the same part, so that one part's success does not hide another's failure. The line
 * that is shown is the first cause's of the list below: with a wrong secret there is no connection
 * either, and the secret is what is to be mended.
 *
 * A connection that stays down is such a cause too (DOWN), after SMA_ADAPTER_PATIENCE_S: shorter
 * losses mend themselves.
 *
 * Threads: the actor's.
 */
#ifndef SMA_ADAPTERS_COMMON_PLATFORM_HEALTH_H
#define SMA_ADAPTERS_COMMON_PLATFORM_HEALTH_H

#include "sma/actor.h"
#include "sma/health.h"

#define SMA_ADAPTER_PATIENCE_S 60 /* a connection that is down for longer is shown as a trouble */

enum sma_cause
{
    SMA_CAUSE_LOGIN,  /* the platform refuses our credentials */
    SMA_CAUSE_BOT,    /* it does not say who we are, or not as we need it */
    SMA_CAUSE_LINK,   /* it refuses the connection for good */
    SMA_CAUSE_DOWN,   /* no connection for long, for whatever reason; platform_health.c's own */
    SMA_CAUSE_RIGHTS, /* it does not let us send */
    SMA_CAUSE_COUNT,
};
struct sma_adapter_health
{
    struct sma_ctx *ctx;
    const char *name; /* of the platform; constant */
    uint64_t down_ns; /* since when the connection is down; 0 = it is not */
    char texts[SMA_CAUSE_COUNT][SMA_HEALTH_BYTES_MAX]; /* "" = nothing */
};
void sma_adapter_health_init(struct sma_adapter_health *health, struct sma_ctx *ctx,
                             const char *name);
/** The connection stands; by webhooks: the platform takes our requests. Heals LINK and DOWN. */
void sma_adapter_health_up(struct sma_adapter_health *health);
/** It does not. Counts a failure, and is told again with every try that fails. */
void sma_adapter_health_down(struct sma_adapter_health *health, const char *why);
/** Something failed that does not end the connection. Counts a failure. */
void sma_adapter_health_error(struct sma_adapter_health *health, const char *why);
/** An event came. Counts it. */
void sma_adapter_health_event(struct sma_adapter_health *health);
/** Somebody must act: text says what is wrong, for people. @return whether that is new, so that it
 * is worth a log line */
bool sma_adapter_health_set(struct sma_adapter_health *health, enum sma_cause cause,
                            const char *text);
/** The cause is gone. */
void sma_adapter_health_heal(struct sma_adapter_health *health, enum sma_cause cause);
bool sma_adapter_health_has(const struct sma_adapter_health *health, enum sma_cause cause);

#endif
