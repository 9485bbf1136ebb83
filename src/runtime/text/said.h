/*
 * said.h — what platforms say of people, made fit for a model to read.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_TEXT_SAID_H
#define SMA_RUNTIME_TEXT_SAID_H

#include "sma/buf.h"

#define SMA_SAID_BYTES_MAX 256 /* of one text: a few of them fit a profile even when escaped */

/**
 * Append `,"key":"text"` (no comma behind '{'). The text is one line of at most
 * SMA_SAID_BYTES_MAX bytes: control characters become blanks, and what nobody sees but changes how
 * the text reads is left out.
 */
void sma_said_put_member(struct sma_buf *buf, const char *key, struct sma_str text);
/** The same, and nothing where the text is empty. */
void sma_said_put_given(struct sma_buf *buf, const char *key, struct sma_str text);

#endif
