/*
 * named.h — did the person name this host in what they wrote?
 *
 * Who writes "what does example.com say?" has agreed to example.com being asked. Only the person's
 * own words of the message that is answered count: not what they quote or forward, no earlier
 * message, no result of a tool; that is the caller's to keep apart.
 * A host is named by its address (https://example.com/a: example.com, not what stands in its path
 * or query), or alone in the text when it cannot be anything else: not as a part of a mail address,
 * a path or a longer word, and not with an ending that files have, too (README.md, run.sh), unless
 * www. stands before it. www.example.com and example.com name each other. No other relation does.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_WEB_NAMED_H
#define SMA_RUNTIME_WEB_NAMED_H

#include "sma/base.h"

/** host: as in struct sma_web_url. */
bool sma_web_is_named(struct sma_str words, const char *host);

#endif
