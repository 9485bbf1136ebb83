/*
 * answers.h — the messages every adapter makes alike: an INGRESS from its fields, answers to
 * ATTEMPT and WEBHOOK; and the endless back-off.
 *
 * Threads: the actor's.
 */
#ifndef SMA_ADAPTERS_COMMON_ANSWERS_H
#define SMA_ADAPTERS_COMMON_ANSWERS_H

#include "sma/messages.h"

/** A message with a copy of every field; stamps.parsed_ns is now. NULL when out of memory. */
struct sma_msg *sma_adapter_make_ingress(struct sma_ctx *ctx, const struct sma_ingress *ingress);
/** Answer an ATTEMPT: `result` with its slices copied; outbox_id and part are taken from the
 *  question. */
void sma_adapter_answer_attempt(struct sma_ctx *ctx, struct sma_msg *question,
                                const struct sma_attempt_result *result);
/** Answer a WEBHOOK. */
void sma_adapter_answer_webhook(struct sma_ctx *ctx, enum sma_actor_id asker, uint64_t ask_id,
                                const struct sma_webhook_answer *answer);
/** failure_count from 1: 1 s doubling to max_s, each between half and the whole of it. */
uint64_t sma_adapter_backoff_ns(struct sma_ctx *ctx, unsigned failure_count, unsigned max_s);
/** The same for what everything waits for: the first sixteen are at most 4 s apart, so that a short
 *  outage costs little. */
uint64_t sma_adapter_eager_backoff_ns(struct sma_ctx *ctx, unsigned failure_count, unsigned max_s);
/** Whether failure number `count` is worth a line: 1, 2, 4, 8, ... */
static inline bool sma_adapter_is_worth_telling(unsigned count)
{
    return (count & (count - 1)) == 0;
}

/*
 * What is believed when a platform says how long to wait. Of a rate limit a day: bans last for
 * hours, and asking on makes them longer; later answers answer nothing. Of anything else (a front
 * that says "unavailable") ten minutes.
 */
#define SMA_ADAPTER_LIMIT_MS_MAX (24 * 3600 * 1000)
#define SMA_ADAPTER_PAUSE_MS_MAX (600 * 1000)
/** @said_ms  of the platform; 0 and less: nothing, then otherwise_ms */
uint32_t sma_adapter_wait_ms(int64_t said_ms, uint32_t otherwise_ms, bool is_rate_limit);

#endif
