/*
 * private.h — what a project keeps about people and keys is closed to other users of the machine.
 */
#ifndef SMA_PRIVATE_H
#define SMA_PRIVATE_H

#include "sma/config.h"

/**
 * Take other users' rights away from the state folder and from what stands directly in it, where
 * they are ours: an older version, a copy or a wide umask may have left them. Warns about what was
 * open, and about a .env that others can read, which is the user's own file.
 */
void sma_private_close(const struct sma_config *config, sma_config_warn_fn *warn, void *user);

#endif
