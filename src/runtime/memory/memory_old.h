/*
 * memory_old.h — memory files of the program before: `.ship/memory/<enc(chatKey)>.json`. The memory
 * actor reads each once and notes that in work.db, by name and stamp.
 *
 * Threads: any; no state. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_MEMORY_OLD_H
#define SMA_RUNTIME_MEMORY_OLD_H

#include "sma/base.h"

#define MEMORY_OLD_STAMP_BYTES 64

bool sma_memory_old_is_name(const char *name);
/** What makes it another file. false: it is no plain file. */
bool sma_memory_old_stamp(const char *path, char stamp[MEMORY_OLD_STAMP_BYTES]);
/** How many of the folder were not read yet. Changes nothing. */
uint32_t sma_memory_old_count(const char *folder);

#endif
