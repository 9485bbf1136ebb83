/*
 * claims.h — the table of claims in memory: 64-bit hash -> seq, several seqs a hash allowed.
 *
 * Extendible hashing: a directory indexed by the top bits of the hash points to segments of 4096
 * slots (linear probing by the low bits). A full segment is split in two, so growing moves at most
 * one segment's claims in one call and never the whole table. 16 bytes a slot, segments 44 % to 87
 * % full.
 *
 * Invariants: a segment of local depth d holds exactly the hashes of its d-bit prefix; at most 7/8
 * of its slots are used.
 * Threads:    the owner only.
 * Limits:     2^SMA_CLAIMS_DEPTH_MAX segments; the caller's bound is far below
 * (SMA_CLAIM_COUNT_MAX).
 */
#ifndef SMA_CHAT_CLAIMS_H
#define SMA_CHAT_CLAIMS_H

#include "sma/base.h"

#define SMA_CLAIMS_SEGMENT_SLOTS 4096u
#define SMA_CLAIMS_SEGMENT_USED_MAX (SMA_CLAIMS_SEGMENT_SLOTS / 8 * 7)
#define SMA_CLAIMS_DEPTH_MAX 16u

struct sma_claims_segment;
struct sma_claims
{
    struct sma_claims_segment **directory; /* 1 << depth entries */
    uint32_t depth;
    uint64_t count, segment_count;
};

/* Where a search goes on; zero-initialise before the first step. */
struct sma_claims_cursor
{
    uint32_t step;
};

SMA_CHECKED enum sma_err sma_claims_init(struct sma_claims *claims); /* OK | NOMEM */
void sma_claims_fini(struct sma_claims *claims);                     /* accepts a zeroed struct */
/** Add (hash, seq), seq > 0; the pair must not be there. @return OK | NOMEM | FULL (more equal
 *  hashes than a segment holds, or the directory at its bound). Blocks: never. Allocates: a segment
 *  now and then. */
SMA_CHECKED enum sma_err sma_claims_add(struct sma_claims *claims, uint64_t hash, uint64_t seq);
/** Remove the pair. @return whether it was there. Allocates: no. */
bool sma_claims_remove(struct sma_claims *claims, uint64_t hash, uint64_t seq);
/** The next seq claimed under hash; 0 = no more. The table must not change between steps. */
uint64_t sma_claims_next(const struct sma_claims *claims, uint64_t hash,
                         struct sma_claims_cursor *cursor);
uint64_t sma_claims_bytes(const struct sma_claims *claims);

#endif
