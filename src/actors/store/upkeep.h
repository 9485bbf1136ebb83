/*
 * upkeep.h — what goes on beside the batches, in slices: a look at the WAL, the projection of the
 * contacts, retention. Part of the store; its thread.
 */
#ifndef SMA_STORE_UPKEEP_H
#define SMA_STORE_UPKEEP_H

#include "store.h"

/* -- wal.c ------------------------------------------------------------------------------------- */
/** Between batches: checkpoints that fail or are held back are tried again each second, and told
 *  once a minute. */
void sma_store_tend_wal(struct sma_store *store);
/** Say once an hour that message ids were forgotten before their age (docs/adr/0024). */
void sma_store_tend_claims(struct sma_store *store);

/* -- keep.c ------------------------------------------------------------------------------------ */
/** The configuration is new. */
void sma_store_set_retention(struct sma_store *store);
/** Between batches: a slice of the pass under way, or the beginning of one that is due. Nothing may
 *  be in a transaction. */
void sma_store_keep_slice(struct sma_store *store);
void sma_store_end_keep(struct sma_store *store); /* what a pass holds open */
uint64_t sma_store_keep_wake(const struct sma_store *store);
/** Append "sizes":{...} to an object that is open; looked at once a minute at most. */
void sma_store_put_sizes(struct sma_store *store, struct sma_buf *json);

/* -- contacts.c -------------------------------------------------------------------------------- */
/** Between batches: a slice of contacts.json, when somebody was seen somewhere new. */
void sma_store_tend_contacts(struct sma_store *store);
/** The rest of it, now (drain). */
void sma_store_finish_contacts(struct sma_store *store);

#endif
