#include "runtime/chat/claims.h"

#include <stdlib.h>

struct slot
{
    uint64_t hash, seq; /* seq 0 = free */
};
struct sma_claims_segment
{
    uint32_t depth, used;
    struct slot slots[SMA_CLAIMS_SEGMENT_SLOTS];
};

#define SLOT_MASK (SMA_CLAIMS_SEGMENT_SLOTS - 1)

static uint64_t directory_index(uint64_t hash, uint32_t depth)
{
    return depth == 0 ? 0 : hash >> (64 - depth);
}

static struct sma_claims_segment *segment_of(const struct sma_claims *claims, uint64_t hash)
{
    return claims->directory[directory_index(hash, claims->depth)];
}

enum sma_err sma_claims_init(struct sma_claims *claims)
{
    memset(claims, 0, sizeof *claims);
    claims->directory = calloc(1, sizeof *claims->directory);
    if (claims->directory == NULL)
        return SMA_ERR_NOMEM;
    claims->directory[0] = calloc(1, sizeof **claims->directory);
    if (claims->directory[0] == NULL) {
        sma_claims_fini(claims);
        return SMA_ERR_NOMEM;
    }
    claims->segment_count = 1;
    return SMA_ERR_OK;
}

void sma_claims_fini(struct sma_claims *claims)
{
    uint64_t size = claims->directory == NULL ? 0 : UINT64_C(1) << claims->depth;
    for (uint64_t i = 0; i < size;) {
        struct sma_claims_segment *segment = claims->directory[i];
        if (segment == NULL)
            break;
        i += UINT64_C(1) << (claims->depth -
                             segment->depth); /* a segment fills neighbouring entries */
        free(segment);
    }
    free(claims->directory);
    memset(claims, 0, sizeof *claims);
}

static void put(struct sma_claims_segment *segment, uint64_t hash, uint64_t seq)
{
    uint32_t at = (uint32_t)hash & SLOT_MASK;
    while (segment->slots[at].seq != 0)
        at = (at + 1) & SLOT_MASK;
    segment->slots[at] = (struct slot){hash, seq};
    segment->used++;
}

static enum sma_err grow_directory(struct sma_claims *claims)
{
    if (claims->depth == SMA_CLAIMS_DEPTH_MAX)
        return SMA_ERR_FULL;
    uint64_t size = UINT64_C(1) << claims->depth;
    struct sma_claims_segment **directory = malloc(2 * size * sizeof *directory);
    if (directory == NULL)
        return SMA_ERR_NOMEM;
    for (uint64_t i = 0; i < size; i++)
        directory[2 * i] = directory[2 * i + 1] = claims->directory[i];
    free(claims->directory);
    claims->directory = directory;
    claims->depth++;
    return SMA_ERR_OK;
}

/* Replace the segment of hash by two of one more bit of depth. */
static enum sma_err split(struct sma_claims *claims, uint64_t hash)
{
    struct sma_claims_segment *old = segment_of(claims, hash);
    if (old->depth == claims->depth) {
        SMA_TRY(grow_directory(claims));
    }
    struct sma_claims_segment *halves[2] = {calloc(1, sizeof *old), calloc(1, sizeof *old)};
    if (halves[0] == NULL || halves[1] == NULL) {
        free(halves[0]);
        free(halves[1]);
        return SMA_ERR_NOMEM;
    }
    uint32_t depth = old->depth + 1;
    halves[0]->depth = halves[1]->depth = depth;
    for (uint32_t i = 0; i < SMA_CLAIMS_SEGMENT_SLOTS; i++) {
        const struct slot *slot = &old->slots[i];
        if (slot->seq != 0)
            put(halves[slot->hash >> (64 - depth) & 1], slot->hash, slot->seq);
    }
    uint64_t half_span = UINT64_C(1) << (claims->depth - depth);
    uint64_t first = directory_index(hash, depth) >> 1 << 1;
    for (uint64_t i = 0; i < 2 * half_span; i++)
        claims->directory[first * half_span + i] = halves[i >= half_span];
    free(old);
    claims->segment_count++;
    return SMA_ERR_OK;
}

enum sma_err sma_claims_add(struct sma_claims *claims, uint64_t hash, uint64_t seq)
{
    SMA_ASSERT(seq != 0);
    /* Each round gives the segment one more bit of depth, so the directory's bound ends the
     * loop. */
    while (segment_of(claims, hash)->used >= SMA_CLAIMS_SEGMENT_USED_MAX) {
        SMA_TRY(split(claims, hash));
    }
    put(segment_of(claims, hash), hash, seq);
    claims->count++;
    return SMA_ERR_OK;
}

/* Close the gap at `gap` by moving back what was pushed past it (Knuth 6.4, algorithm R). */
static void close_gap(struct sma_claims_segment *segment, uint32_t gap)
{
    uint32_t at = gap;
    for (;;) {
        at = (at + 1) & SLOT_MASK;
        if (segment->slots[at].seq == 0)
            break;
        uint32_t home = (uint32_t)segment->slots[at].hash & SLOT_MASK;
        if (((at - home) & SLOT_MASK) >= ((at - gap) & SLOT_MASK)) {
            segment->slots[gap] = segment->slots[at];
            gap = at;
        }
    }
    segment->slots[gap] = (struct slot){0, 0};
}

bool sma_claims_remove(struct sma_claims *claims, uint64_t hash, uint64_t seq)
{
    struct sma_claims_segment *segment = segment_of(claims, hash);
    for (uint32_t at = (uint32_t)hash & SLOT_MASK; segment->slots[at].seq != 0;
         at = (at + 1) & SLOT_MASK) {
        if (segment->slots[at].hash != hash || segment->slots[at].seq != seq)
            continue;
        close_gap(segment, at);
        segment->used--;
        claims->count--;
        return true;
    }
    return false;
}

uint64_t sma_claims_next(const struct sma_claims *claims, uint64_t hash,
                         struct sma_claims_cursor *cursor)
{
    const struct sma_claims_segment *segment = segment_of(claims, hash);
    for (;;) {
        const struct slot *slot = &segment->slots[((uint32_t)hash + cursor->step) & SLOT_MASK];
        if (slot->seq == 0)
            return 0;
        cursor->step++;
        if (slot->hash == hash)
            return slot->seq;
    }
}

uint64_t sma_claims_bytes(const struct sma_claims *claims)
{
    return claims->segment_count * sizeof(struct sma_claims_segment) +
           (UINT64_C(1) << claims->depth) * sizeof *claims->directory;
}
