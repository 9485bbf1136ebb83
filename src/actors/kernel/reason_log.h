/*
 * reason_log.h — the log line and the count of a message that was not answered, with the reason.
 *
 *     sma_reason_say(&gate, ctx, &(struct sma_unanswered){.reason = SMA_REASON_RATE, ...});
 *     wake = earlier(wake, sma_reason_tick(&gate, ctx));
 *
 * Events `message_ignored` and `message_refused` (docs/notes/seen.md). Whoever can write to a bot
 * can make such lines, so they are bounded: of each reason the first SMA_REASON_LINE_COUNT of a
 * minute, then one line (`messages_left_out`) that counts the rest. With SMA_DEBUG all are written.
 * Threads: the actor's, a gate each. Blocks: never. Allocates: a message a line.
 */
#ifndef SMA_ACTORS_REASON_LOG_H
#define SMA_ACTORS_REASON_LOG_H

#include "sma/actor.h"
#include "sma/reasons.h"

#define SMA_REASON_LINE_COUNT 10 /* of a reason, in a minute */

/* All zeros at first. */
struct sma_reason_gate
{
    uint64_t end_ns; /* of the minute under way */
    bool has_left_out;
    uint16_t said[SMA_REASON_COUNT];
    uint64_t left_out[SMA_REASON_COUNT];
};
/* What is not known is empty. Ids and names of ours only. */
struct sma_unanswered
{
    enum sma_reason reason;
    struct sma_str platform, chat_key, user_id, message_id;
    const char *more; /* constant text, NULL = nothing */
    uint64_t seq;     /* its row; 0 = it has none */
};
/** NONE: nothing. */
void sma_reason_say(struct sma_reason_gate *gate, struct sma_ctx *ctx,
                    const struct sma_unanswered *it);
/** Tell what was left out when its minute is over. @return when to look again; UINT64_MAX = no
 *  need */
uint64_t sma_reason_tick(struct sma_reason_gate *gate, struct sma_ctx *ctx);
/** When sma_reason_tick wants to be called. */
uint64_t sma_reason_due(const struct sma_reason_gate *gate);

#endif
