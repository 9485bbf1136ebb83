/* media_priv.h — what the files of prepare.h share. */
#ifndef SMA_RUNTIME_MEDIA_PRIV_H
#define SMA_RUNTIME_MEDIA_PRIV_H

#include "runtime/media/prepare.h"

#include <limits.h>

/* A part being written: bytes in, base64 into a file of its own, hash at the end. */
struct media_sink;
/* NULL with a sentence in why. */
struct media_sink *media_sink_open(const char *state_dir, struct sma_buf *why);
/* Any number of bytes. false: no space or I/O error; keep calling finish. */
bool media_sink_put(struct media_sink *sink, const void *bytes, size_t len);
/* Rename it to its hash and free the sink. false with a sentence in why: nothing is left. */
bool media_sink_finish(struct media_sink *sink, struct sma_media_made *made, struct sma_buf *why);
void media_sink_drop(struct media_sink *sink);

/* What the helper made of the file, malloc'ed, or NULL with a sentence in why. */
char *media_scale(const struct sma_media_place *place, const struct sma_media_wish *wish,
                  const struct sma_media *media, size_t *ret_len, struct sma_buf *why);

#endif
