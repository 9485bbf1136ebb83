/*
 * chat_markdown.h — Markdown as a terminal shows it: bold, italics, code, links with their
 * addresses, quotes, tables in columns. Styles are ours; whatever the text holds, no other escape
 * sequence comes out (sma_chat_put_clean).
 * Threads: any; no state. Allocates.
 */
#ifndef SMA_CLI_CHAT_MARKDOWN_H
#define SMA_CLI_CHAT_MARKDOWN_H

#include "sma/buf.h"

/** Append the text with styles; what cannot be read as Markdown is appended as it is. */
void sma_chat_put_markdown(struct sma_buf *buf, struct sma_str text);
/** The same of a text that is still being written: only its last part, from the beginning of a
 *  line, is read when it is long. */
void sma_chat_put_markdown_tail(struct sma_buf *buf, struct sma_str text);

#endif
