/*
 * store_seen.h — what the store says of its work: the log lines of messages and runs.
 * Thread: the store's, after the commit of what they tell.
 */
#ifndef SMA_ACTORS_STORE_SEEN_H
#define SMA_ACTORS_STORE_SEEN_H

#include "store_priv.h"

/* How a run left the agent. */
enum store_run_end
{
    STORE_END_STOPPED, /* by a control message */
    STORE_END_OK,
    STORE_END_FAILED,
    STORE_END_CANCELLED,
    STORE_END_GIVEN_UP,
    STORE_END_ASKS,  /* parked: people are asked */
    STORE_END_WAITS, /* parked: for a model */
};

/** A message of this adapter was refused: it comes again. */
void sma_store_count_refused(const struct sma_store *store, unsigned actor);
/** What became of a message: the answer to its INGRESS. Counted and logged. */
void sma_store_log_accepted(struct sma_store *store, const struct store_effect *effect,
                            uint64_t now);
/** A run has ended, or waits; run->end says which. */
void sma_store_log_end(struct sma_store *store, const struct store_run *run);
/** Append the life of a run ("17") or of a message as its platform names it ("m:55"): docs/http-api.md; {} when it is not
 *  known. */
void sma_store_put_trace(struct sma_store *store, struct sma_buf *json, struct sma_str asked);
/** Append the answer to /usage: this chat today and this month; in private to the owner's side of all chats, too. */
void sma_store_put_usage_notice(struct sma_store *store, struct sma_buf *text,
                                const struct store_chat *chat, const struct sma_ingress *in);
/** Append "usageToday":{...} to an object that is open. */
void sma_store_put_usage_today(struct sma_store *store, struct sma_buf *json);

#endif
