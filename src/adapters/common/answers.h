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

/* A platform that does not say whom a rate limit is for: one chat, until another is limited within
 * the same time. */
struct sma_adapter_flood
{
    uint64_t chat, until_ns; /* the last limited chat's hash; until when */
};
/**
 * Note a limit met in chat_id.
 * @apart_ns  the ends of one limit, as two chats are told them, differ by this at most; UINT64_MAX:
 * by anything
 * @return    whether it is everybody's
 */
bool sma_adapter_flood_note(struct sma_adapter_flood *flood, struct sma_str chat_id,
                            uint32_t retry_after_ms, uint64_t apart_ns, uint64_t now_ns);

/** RELOAD: say so when the adapter's block, whose text was `json`, has changed; it takes effect at
 *  the next start. */
void sma_adapter_tell_reload(struct sma_ctx *ctx, const struct sma_config *config, const char *name,
                             const char *json);

#endif
