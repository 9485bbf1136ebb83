/*
 * leak.h — is a secret of the project in what would go out?
 *
 * Looked for in the text as it is, with percent escapes undone (twice: %2573), and in what its
 * pieces say as hex or base64 (both alphabets, at each of the four places a piece may begin). A
 * secret cut in two by other text is not found: this stops what a page talks a model into by name,
 * not a determined spy; SECURITY.md says so.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_WEB_LEAK_H
#define SMA_RUNTIME_WEB_LEAK_H

#include "runtime/secrets/secrets.h"

/** Out of memory counts as yes. */
bool sma_web_leaks(const struct sma_secrets *secrets, struct sma_str text);

#endif
