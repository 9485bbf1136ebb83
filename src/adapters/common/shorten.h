/*
 * shorten.h — a text that the platform found too long, although it was cut by its documented limit.
 *
 * Threads: any; nothing here has state.
 */
#ifndef SMA_ADAPTERS_COMMON_SHORTEN_H
#define SMA_ADAPTERS_COMMON_SHORTEN_H

#include "sma/buf.h"

/** Append the first half of text and, in the chat's language (empty = Chinese), that it was cut. */
void sma_adapter_put_short(struct sma_buf *buf, struct sma_str text, struct sma_str language);

#endif
