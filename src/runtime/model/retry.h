/*
 * retry.h — what to do when a model request failed: again, not again, or with a shorter request;
 * and how to say it.
 *
 * Source: protocols/llm.md §2 "Errors and retry", §4 "Errors"; reference §8.5 (context length).
 * Threads: any; no state.
 */
#ifndef SMA_MODEL_RETRY_H
#define SMA_MODEL_RETRY_H

#include "runtime/model/decode.h"

#define SMA_RETRY_AFTER_MAX_MS 60000 /* a server that asks for more is not waited for */

enum sma_retry
{
    SMA_RETRY_NO,
    SMA_RETRY_YES,
    SMA_RETRY_CONTEXT_LENGTH, /* the request is too long for the model: shorten it */
};

enum sma_trouble
{
    SMA_TROUBLE_HTTP,        /* an HTTP status that is not 2xx */
    SMA_TROUBLE_EVENT,       /* an error object inside a 200 answer */
    SMA_TROUBLE_UNREACHABLE, /* no connection, or it broke before the answer; detail says how */
    SMA_TROUBLE_SETUP,  /* trying again will not help: bad URL, certificate refused; see detail */
    SMA_TROUBLE_SILENT, /* a deadline on data passed; detail says which */
    SMA_TROUBLE_TRUNCATED, /* the connection ended in the middle of the answer */
    SMA_TROUBLE_GARBAGE,   /* 200, but not an answer of the configured format */
    SMA_TROUBLE_TOOBIG,
    SMA_TROUBLE_NOMEM,
};

struct sma_failure
{
    enum sma_trouble trouble;
    enum sma_llm_api api;
    int http_status;                     /* 0 = none */
    bool has_should_retry, should_retry; /* header x-should-retry */
    int64_t retry_after_ms;              /* -1 = not said */
    struct sma_wire_error error;
    const char *detail; /* for UNREACHABLE, SETUP, SILENT; may be NULL */
};

enum sma_retry sma_retry_classify(const struct sma_failure *failure);
/** Value of `retry-after` (seconds, also fractions, or an HTTP date relative to wall_ms) in ms, or
 *  -1. */
int64_t sma_retry_after_parse(struct sma_str value, int64_t wall_ms);
/** How long to wait before attempt number `attempt` (1 = the first repetition): what the server
 *  asked for, else
 *  0.5 s doubling to 8 s, of which up to a quarter is taken off by `random`. */
uint64_t sma_retry_delay_ms(unsigned attempt, int64_t retry_after_ms, uint64_t random);
/** One line for people: what happened, where, what to do. The API key never appears in it. */
void sma_failure_describe(struct sma_buf *buf, const struct sma_failure *failure,
                          const struct sma_config_llm *llm, const char *url);

#endif
