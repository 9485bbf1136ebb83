/*
 * split.h — cut a text into parts that a platform takes, without hurting it.
 *
 * A part is prefix + body + suffix. The bodies joined are the text, byte for byte. Prefix and
 * suffix are empty except where a cut falls into a fenced code block: then the part's suffix closes
 * the fence and the next part's prefix opens it again with the same info string.
 *
 * Where to cut, best first: before a fenced block, at an empty line, at a line end, after white
 * space, between grapheme clusters (never inside an emoji sequence, a flag or a letter with its
 * marks). Only a cluster that is longer than a whole part is cut between code points. White space
 * at a cut stays with the part before it.
 *
 * Lengths are UTF-16 code units; an invalid byte counts one. Same text, same limit: same parts.
 */
#ifndef SMA_DELIVERY_SPLIT_H
#define SMA_DELIVERY_SPLIT_H

#include "sma/base.h"

#define SMA_SPLIT_UNITS_MIN 16 /* the smallest limit that is accepted */

struct sma_split_part
{
    struct sma_str prefix, body, suffix; /* borrowed for the call */
    uint32_t index;                      /* 0, 1, ... */
};
typedef void sma_split_fn(void *user, const struct sma_split_part *part);

/**
 * Call `each` for every part in order; not at all for an empty text.
 * @units_max  largest part in UTF-16 units, 0 = no limit (one part)
 * @return     OK | BADINPUT: units_max is between 1 and SMA_SPLIT_UNITS_MIN - 1
 * Thread: any.  Allocates: no.  Time: linear in the text.
 */
SMA_CHECKED enum sma_err sma_text_split(struct sma_str text, uint32_t units_max, sma_split_fn *each,
                                        void *user);

#endif
