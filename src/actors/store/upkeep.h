/*
 * upkeep.h — what goes on beside the batches, in slices: a look at the WAL. Part of the store; its thread.
 */
#ifndef SMA_STORE_UPKEEP_H
#define SMA_STORE_UPKEEP_H

#include "store.h"

/* -- wal.c ------------------------------------------------------------------------------------------------------ */
/** Between batches: checkpoints that fail or are held back are tried again each second, and told once a minute. */
void sma_store_tend_wal(struct sma_store *store);
/** Say once an hour that message ids were forgotten before their age (docs/adr/0024). */
void sma_store_tend_claims(struct sma_store *store);

#endif
