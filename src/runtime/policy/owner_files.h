/*
 * owner_files.h — which files of a project only an owner may change: they say what the agent is and
 * may do, what programs run, and what hooks and CI do.
 *
 * One table for every way of writing: tools, commands, and the walls around commands. By name
 * alone, at any depth, without case, by classes (ROWS in owner_files.c): `Agent.md`, `ship.json`,
 * `.env*` (but .env.example and its like), `.ship`, what guides other agents, hooks and CI, what
 * editors, shells and interpreters read before they begin (`.*rc`, `*.conf`, `*.pth` ...), what
 * builds run (`*.config.*`, `Xfile`), what services are made from, and recipes (the table in
 * programs.c), also with further suffixes (make makes `Makefile` from `Makefile.sh` by a rule of
 * its own).
 * Threads: any; no state. Blocks, allocates: never.
 */
#ifndef SMA_APPROVAL_OWNER_FILES_H
#define SMA_APPROVAL_OWNER_FILES_H

#include "sma/base.h"

/** `path` is relative to the project or absolute; "." and empty parts are no matter. */
bool sma_file_is_owner_only(struct sma_str path);
/** Why it is: one clause for people, constant. NULL: it is anybody's. */
const char *sma_file_owner_reason(struct sma_str path);
/** May a name that the shell makes of this pattern be such a file? Rather too often than too
 *  seldom. */
bool sma_pattern_is_owner_only(struct sma_str pattern);

#endif
