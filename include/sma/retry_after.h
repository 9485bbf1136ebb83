/*
 * retry_after.h — the HTTP header Retry-After, as every client of ours reads it.
 *
 * Source: RFC 9110 section 10.2.3; some servers send fractions of a second.
 * Threads: any; no state. Blocks, allocates: never.
 */
#ifndef SMA_RETRY_AFTER_H
#define SMA_RETRY_AFTER_H

#include "sma/base.h"

/** `value` (seconds, also fractions, or an HTTP date relative to wall_ms) in milliseconds, or
 *  -1. */
int64_t sma_retry_after_parse(struct sma_str value, int64_t wall_ms);

#endif
