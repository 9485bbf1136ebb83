/*
 * places.h — the folders of skills.paths that lie in the project, by name alone.
 *
 * What lies in them is instructions for the agent: tools write there only when an owner has agreed,
 * and commands find them read-only (`.claude` and `.agents` are the owner's in any case,
 * owner_files.h).
 * Threads: any; no state. Blocks, allocates: never.
 */
#ifndef SMA_RUNTIME_SKILLS_PLACES_H
#define SMA_RUNTIME_SKILLS_PLACES_H

#include "sma/config.h"

/** The index-th of them, relative to the project, without ".", ".." and slashes at its end
 *  ("team"). The project's folder itself stands for its `skills`. *ret_path "": this one lies
 *  outside.
 *  @return false: there are no more */
bool sma_skill_place(const struct sma_config *config, size_t index, char *ret_path, size_t size);
/** Does it lie in one of them, or is it one? @path: clean (guard.h); compared without case. */
bool sma_skill_place_holds(const struct sma_config *config, struct sma_str path);

#endif
