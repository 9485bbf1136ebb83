/*
 * programs.h — what is known about programs and files by their names (programs.c), for others than
 * the policy.
 *
 * Threads: any; no state. Blocks, allocates: never.
 */
#ifndef SMA_APPROVAL_PROGRAMS_H
#define SMA_APPROVAL_PROGRAMS_H

#include "sma/base.h"

/** The last part of a path. */
struct sma_str sma_program_base(struct sma_str path);
/** The part of a path behind the last dot of its last name; empty: none. */
struct sma_str sma_path_suffix(struct sma_str path);
/** What `program` loads beside the file `script` that it runs: suffixes, blank-separated
 *  (policy_write.c). */
const char *sma_script_suffixes(struct sma_str program, struct sma_str script);
/** The kinds of recipe that a file of this name is (a Makefile, a package.json ...), a bit each;
 *  0 = none, as of most. */
uint32_t sma_program_recipes(struct sma_str file);
/** Is `word` one of the blank-separated `list`? */
bool sma_list_has(const char *list, struct sma_str word);

#endif
