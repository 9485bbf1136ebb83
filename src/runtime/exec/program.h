/*
 * program.h — is there a program of this name, and if not: what it may be called, who brings it.
 *
 * Threads: any. Blocks: looks at folders. Allocates: no.
 */
#ifndef SMA_PROGRAM_H
#define SMA_PROGRAM_H

#include "sma/base.h"

#include <limits.h>

/** In one of the folders of `path` ("/usr/bin:/bin"; NULL: these two). A name with '/' is a file
 *  below dir, or from the root on. ret_file: its path, set when it is there. */
bool sma_program_find(const char *name, const char *path, const char *dir, char ret_file[PATH_MAX]);
/** How to get it on Debian: "sudo apt install npm"; NULL: nothing is known. */
const char *sma_program_source(const char *name);
/** The program of `path` that the name is a misspelling of: one letter too many, too few, wrong, or
 *  two exchanged. false: none. */
bool sma_program_near(const char *name, const char *path, char *ret_near, size_t room);

#endif
