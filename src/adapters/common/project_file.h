/*
 * project_file.h — files of the project on their way out. What to send is written by the model, so
 * the path goes through the same guard as those of the tools (runtime/files/guard.h): beneath the
 * project's folder by handle, no link that leads out, never `.env*`, `ship.json`, the service's own
 * state, git's credentials, or another name of one of them. The file that was opened and checked is
 * the one that is sent.
 *
 * Threads: no state; any.  Blocks: on the file system.
 */
#ifndef SMA_ADAPTERS_COMMON_PROJECT_FILE_H
#define SMA_ADAPTERS_COMMON_PROJECT_FILE_H

#include "sma/base.h"

/**
 * Open a file of the project for sending: a regular file beneath root, not empty, not one that
 * holds secrets or state. `target` is relative to root, or absolute beneath it.
 * @intent  enum sma_intent of the row that sends it: SMA_INTENT_OUTPUT opens a file of .ship/output
 *          and nothing else, every other intent none of them
 * @return OK; the descriptor is the caller's | BADINPUT, NOTFOUND, TOOBIG, IO with one line in
 * *error
 */
SMA_CHECKED enum sma_err sma_project_file_open(const char *root, struct sma_str target,
                                               uint8_t intent, size_t bytes_max, int *ret_fd,
                                               struct sma_error *error);
/** What the receiver's client shows: the last name of the target, without what would break a form's
 *  header. */
void sma_project_file_name(struct sma_str target, char *name, size_t name_size);

#endif
