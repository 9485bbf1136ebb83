/*
 * hooks.h — the store with what only tests replace: files, clock of checkpoints, free disk space.
 */
#ifndef SMA_STORE_HOOKS_H
#define SMA_STORE_HOOKS_H

#include "sma/actors.h"
#include "sma/sys.h"

/* Free bytes for the project, for tests to replace. false: not known (taken as plenty). */
typedef bool store_disk_fn(void *user, uint64_t *ret_free_bytes);

/* What only tests change. */
struct sma_store_hooks
{
    const struct sma_sys *sys; /* for files; NULL = real */
    bool is_single_threaded;   /* checkpoints inside the commit */
    store_disk_fn *disk;
    void *disk_user;
};
SMA_CHECKED enum sma_err sma_store_create_hooked(const struct sma_store_options *options,
                                                 const struct sma_store_hooks *hooks,
                                                 struct sma_store **ret_store,
                                                 struct sma_error *error);

#endif
