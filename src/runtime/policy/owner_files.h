/*
 * owner_files.h — which files of a project only an owner may change: they say what the agent is and
 * may do, what programs run, and what hooks and CI do.
 *
 * One list for every way of writing: tools, commands, and the walls around commands. By name alone,
 * at any depth, without
 * case: `Agent.md`, `ship.json`, `.env*` (but .env.example and its like), `.ship`, `.git`,
 * `.claude`, `.github` and the files of other CI systems, hooks, and recipes (Makefile,
 * package.json ...; the table in programs.c), also with further suffixes (make makes `Makefile`
 * from `Makefile.sh` by a rule of its own).
 * Threads: any; no state. Blocks, allocates: never.
 */
#ifndef SMA_APPROVAL_OWNER_FILES_H
#define SMA_APPROVAL_OWNER_FILES_H

#include "sma/base.h"

/** `path` is relative to the project or absolute; "." and empty parts are no matter. */
bool sma_file_is_owner_only(struct sma_str path);
/** May a name that the shell makes of this pattern be such a file? Rather too often than too
 *  seldom. */
bool sma_pattern_is_owner_only(struct sma_str pattern);

#endif
