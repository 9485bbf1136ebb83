/*
 * archive_keep.h — archives of history files that are too old are removed, in slices. Main files
 * are not looked at: they hold what was said last.
 * Threads: one at a time. Blocks: for one slice of names.
 */
#ifndef SMA_CHAT_ARCHIVE_KEEP_H
#define SMA_CHAT_ARCHIVE_KEEP_H

#include "sma/base.h"

struct sma_archive_keep; /* a pass through the folder */

/** Begin a pass. NULL: the folder cannot be read, or out of memory; it is tried with the next
 *  pass. */
struct sma_archive_keep *sma_archive_keep_begin(const char *directory);
/** Look at names_max names and remove archives that were last written before this wall time.
 *  @return the pass is over */
bool sma_archive_keep_slice(struct sma_archive_keep *keep, int64_t before_ms, unsigned names_max,
                            uint64_t *removed);
void sma_archive_keep_end(struct sma_archive_keep *keep); /* accepts NULL */

#endif
