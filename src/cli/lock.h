/*
 * lock.h — one process per project: flock on .ship/lock, close-on-exec, held as long as the process
 * lives.
 */
#ifndef SMA_LOCK_H
#define SMA_LOCK_H

#include "sma/base.h"

/**
 * Take the project's lock.
 * @ret_fd  close it to let go
 * @return  OK | BUSY (somebody serves this project; *error names the process) | IO
 */
SMA_CHECKED enum sma_err sma_lock_take(const char *state_dir, int *ret_fd, struct sma_error *error);
/** Whether a living process holds the lock. */
bool sma_lock_is_held(const char *state_dir);

#endif
