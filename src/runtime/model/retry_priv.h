/* retry_priv.h — what the files of retry.h share: matching of words, and the search for a refused
 * member. */
#ifndef SMA_MODEL_RETRY_PRIV_H
#define SMA_MODEL_RETRY_PRIV_H

#include "runtime/model/retry.h"

/** Does text hold one of the patterns, which '|' divides? '*' stands for any bytes. All are lower
 *  case. */
bool sma_retry_has(const char *text, const char *patterns);
/** The optional member of the request that a 400 names, as the server wrote it, cut to size; empty
 *  when it names none or one that no request can do without. */
void sma_retry_find_member(const struct sma_failure *failure, char *ret_member, size_t size);
/** The form that these words refuse (target.h); NULL: none is known to be meant. */
const char *sma_retry_find_form(const char *said);
/** The tool of the request that these words are about, as SMA_REFUSES_TOOL and its name. false:
 *  none of them alone. */
bool sma_retry_find_tool(const struct sma_failure *failure, char *ret_member, size_t size);
/** Of a request with pictures, files or sounds: is it one of them that is refused? Then the verdict
 *  says so. is_broken: the status tells of a server in trouble, so that only words about what it
 *  never takes count. */
bool sma_retry_judge_picture(const struct sma_failure *failure, bool is_broken,
                             struct sma_failure_verdict *verdict);

#endif
