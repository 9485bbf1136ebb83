/*
 * message_parts.h — the pictures, files and sounds of a message, as bytes beside its row (facts.h).
 *
 * What an adapter really got, in the order of the message: kind, path, name and what the platform
 * calls its type. What is found out about them later (struct sma_part: hash, length, sides) is not
 * kept here.
 * Threads: no state. Limits: SMA_ATTACHMENT_COUNT_MAX of one message; more are left out.
 */
#ifndef SMA_STORE_MESSAGE_PARTS_H
#define SMA_STORE_MESSAGE_PARTS_H

#include "sma/buf.h"
#include "sma/limits.h"
#include "sma/messages.h"

/** Append `count` parts. Nothing for none, so that a message without costs no byte. */
void sma_store_message_parts_put(struct sma_buf *buf, const struct sma_part *parts, uint32_t count);
/** Read at most SMA_ATTACHMENT_COUNT_MAX back; slices point into bytes. OK | CORRUPT */
SMA_CHECKED enum sma_err sma_store_message_parts_get(struct sma_str bytes, struct sma_part *parts,
                                                     uint32_t *ret_count);

#endif
