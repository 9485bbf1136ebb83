/*
 * word.h — words of visible ASCII, without blanks: what may go into a header or an address.
 *
 * Threads: any; no state.
 */
#ifndef SMA_ADAPTERS_COMMON_WORD_H
#define SMA_ADAPTERS_COMMON_WORD_H

#include "sma/base.h"

/** Whether every byte is visible ASCII; so is nothing. */
bool sma_adapter_is_visible(struct sma_str text);
/** The word with a NUL at its end. @return false, and nothing copied: empty, too long for size
 *  bytes, or not visible */
bool sma_adapter_copy_word(struct sma_str word, char *to, size_t size);

#endif
