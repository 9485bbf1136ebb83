/* retry_priv.h — what the files of retry.h share: matching of words, and the search for a refused
 * member. */
#ifndef SMA_MODEL_RETRY_PRIV_H
#define SMA_MODEL_RETRY_PRIV_H

#include "runtime/model/retry.h"

/** Does text hold one of the patterns? In a pattern, '*' stands for any bytes. All are lower
 *  case. */
bool sma_retry_has_word(const char *text, const char *const *patterns, size_t count);
/** The optional member of the request that a 400 names, as the server wrote it, cut to size; empty
 *  when it names none or one that no request can do without. */
void sma_retry_find_member(const struct sma_failure *failure, char *ret_member, size_t size);
/** Of a request with pictures, files or sounds: is it one of them that is refused? Then the verdict
 *  says so. */
bool sma_retry_judge_picture(const struct sma_failure *failure,
                             struct sma_failure_verdict *verdict);

#endif
