/*
 * unlink_words.h — addresses that a platform refuses, so that people can still read and type them.
 *
 * Threads: any; nothing here has state.
 */
#ifndef SMA_ADAPTERS_COMMON_UNLINK_WORDS_H
#define SMA_ADAPTERS_COMMON_UNLINK_WORDS_H

#include "sma/buf.h"

/** Append text: addresses without their scheme, the dots of their hosts written out in the chat's
 *  language (empty = Chinese). */
void sma_adapter_put_unlinked(struct sma_buf *buf, struct sma_str text, struct sma_str language);

#endif
