/*
 * chat_cluster.h — text as people see it: grapheme clusters and the columns they take.
 *
 * A letter with its accents, a flag, a family of emoji is one cluster: it is deleted and stepped
 * over as one, and takes as many columns as its widest character.
 * Threads: any; no state.
 */
#ifndef SMA_CLI_CHAT_CLUSTER_H
#define SMA_CLI_CHAT_CLUSTER_H

#include "sma/base.h"

/** Length in bytes of the cluster at text[at]; at < text.len. Invalid bytes are one each.
 *  @ret_width  its columns, 0..2; NULL: not wanted */
size_t sma_cluster_next(struct sma_str text, size_t at, unsigned *ret_width);
/** Where the cluster begins that ends at text[at], or that `at` lies in; 0 < at <= text.len. */
size_t sma_cluster_begin(struct sma_str text, size_t at);
/** Columns of a whole text of one line. */
unsigned sma_cluster_width(struct sma_str text);

#endif
