/*
 * log_ring.h — the newest lines of the log in memory, for GET /api/logs.
 *
 * Written by the log actor as it writes its file: redacted lines of JSON. Read by whoever asks.
 * Threads: any; one lock of its own, held for a copy. Allocates: no.
 * Limits:  SMA_LOG_RING_LINE_COUNT lines, SMA_LOG_RING_BYTES of them together; the oldest go. A
 *          longer line than a quarter of it is left out.
 */
#ifndef SMA_LOG_RING_H
#define SMA_LOG_RING_H

#include "sma/buf.h"

#define SMA_LOG_RING_LINE_COUNT 2000
#define SMA_LOG_RING_BYTES (256 * 1024)

/** line: one JSON object, a line feed at its end or none. */
void sma_log_ring_put(struct sma_str line);
/** Append the last count_max lines, oldest first, with commas between them. */
void sma_log_ring_format(struct sma_buf *json, size_t count_max);
void sma_log_ring_reset(void); /* tests only */

#endif
