/*
 * summary.h — the request that makes a summary of a conversation, and whether its answer is one.
 *
 * Sections are fixed, so that a model that chatted instead is noticed, and the next summary can be
 * an update of this one. Names, numbers, paths and ids are asked for literally.
 * Source: protocols/models.md §7.2. Threads: any; no state.
 */
#ifndef SMA_RUNTIME_AGENT_SUMMARY_H
#define SMA_RUNTIME_AGENT_SUMMARY_H

#include "runtime/model/target.h"
#include "sma/messages.h"

struct sma_summary_question
{
    struct sma_str previous;   /* the summary until now; empty = there is none */
    struct sma_str transcript; /* what has been said and done since */
    struct sma_str wishes;     /* what a person wants it to keep; may be empty */
    uint64_t facts_word;       /* of our blocks: it is crossed out */
    uint32_t words_max;
};
/** The whole request. @ret_turn_offset, @ret_turn_end: where its one message stands. */
void sma_summary_put_request(struct sma_buf *buf, const struct sma_target *target,
                             const struct sma_summary_question *question, size_t *ret_turn_offset,
                             size_t *ret_turn_end);
/** NULL: the answer is a summary. Else why it is none, for the log. */
const char *sma_summary_check(const struct sma_model_answer *answer, size_t bytes_max);
/** What the program says before it. */
void sma_summary_put_note(struct sma_buf *buf, uint64_t facts_word);
/** The word of our blocks, wherever it stands in the bytes, made unreadable in place. */
void sma_summary_cross_out(char *bytes, size_t len, uint64_t facts_word);

#endif
