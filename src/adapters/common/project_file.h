/*
 * project_file.h — files of the project on their way out. What to send is written by the model, so the path is walked
 * name by name from the project's folder, following no symbolic link, and the file that was opened and checked is the
 * one that is sent.
 *
 * Threads: no state; any.  Blocks: on the file system.
 */
#ifndef SMA_ADAPTERS_COMMON_PROJECT_FILE_H
#define SMA_ADAPTERS_COMMON_PROJECT_FILE_H

#include "sma/base.h"

/**
 * Open a file of the project for sending: a regular file beneath root, not empty, no symbolic link on the way, not one
 * that holds secrets or state. `target` is relative to root, or absolute beneath it.
 * @return OK; the descriptor is the caller's | BADINPUT, NOTFOUND, TOOBIG, IO with one line in *error
 */
SMA_CHECKED enum sma_err sma_project_file_open(const char *root, struct sma_str target,
                                               size_t bytes_max, int *ret_fd,
                                               struct sma_error *error);
/** What the receiver's client shows: the last name of the target, without what would break a form's header. */
void sma_project_file_name(struct sma_str target, char *name, size_t name_size);

#endif
