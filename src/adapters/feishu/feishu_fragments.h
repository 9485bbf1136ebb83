/*
 * feishu_fragments.h — put the payloads of split data frames together again.
 *
 * Frames of one message share the header message_id; `sum` says how many there are, `seq` which one
 * this is. They come in any order, may come twice, may be cut inside a UTF-8 character, or never
 * come. Bytes are joined by seq when all are there; the frame that came last is the one to answer.
 *
 * Invariants: held bytes <= FEISHU_FRAGMENT_BYTES_MAX; a set is held at most
 *             FEISHU_FRAGMENT_EXPIRE_NS after its first frame. Nothing held was acknowledged, so
 *             what is dropped here is delivered again by the platform.
 * Threads:    the owner's.
 * Source:     protocols/feishu.md §4.6.
 */
#ifndef SMA_FEISHU_FRAGMENTS_H
#define SMA_FEISHU_FRAGMENTS_H

#include "feishu_frame.h"

#define FEISHU_FRAGMENT_EXPIRE_NS 10000000000ull
#define FEISHU_FRAGMENT_SET_COUNT_MAX 64   /* unfinished messages; at it the oldest is dropped */
#define FEISHU_FRAGMENT_PART_COUNT_MAX 256 /* frames of one message; beyond: REFUSED */
#define FEISHU_FRAGMENT_MESSAGE_BYTES_MAX \
    (4 * 1024 * 1024) /* one message joined; beyond: REFUSED, its set dropped */
#define FEISHU_FRAGMENT_BYTES_MAX \
    (16 * 1024 * 1024)                   /* all held; beyond: the oldest sets are dropped */
#define FEISHU_FRAGMENT_ID_BYTES_MAX 128 /* of the header message_id; beyond: REFUSED */

enum feishu_fragment
{
    FEISHU_FRAGMENT_WHOLE,   /* *ret_payload is the message; answer this frame */
    FEISHU_FRAGMENT_HELD,    /* more must come; no answer */
    FEISHU_FRAGMENT_REPEAT,  /* this part is held already; no answer */
    FEISHU_FRAGMENT_REFUSED, /* headers missing or senseless, or over a limit; no answer */
    FEISHU_FRAGMENT_NOMEM,   /* no memory to hold it; no answer */
};
struct feishu_fragments;

/** @return NULL when out of memory. */
struct feishu_fragments *feishu_fragments_create(void);
void feishu_fragments_destroy(struct feishu_fragments *fragments); /* NULL is fine */
/** Forget everything held: a new connection starts from nothing. */
void feishu_fragments_clear(struct feishu_fragments *fragments);
/**
 * Take one data frame. Sets older than FEISHU_FRAGMENT_EXPIRE_NS at now_ns are dropped first.
 * @ret_payload  set only for WHOLE; valid until the next call on this object and as long as frame
 * lives
 */
enum feishu_fragment feishu_fragments_take(struct feishu_fragments *fragments,
                                           const struct feishu_frame *frame, uint64_t now_ns,
                                           struct sma_str *ret_payload);
/** Drop what is expired at now_ns, when no frame comes for a while. */
void feishu_fragments_expire(struct feishu_fragments *fragments, uint64_t now_ns);

struct feishu_fragments_stat
{
    size_t set_count, held_bytes; /* now */
    uint64_t expired_count, dropped_count,
        refused_count; /* since create: sets out of time, sets pushed out, frames */
};
struct feishu_fragments_stat feishu_fragments_stat(const struct feishu_fragments *fragments);

#endif
