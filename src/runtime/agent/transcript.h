/*
 * transcript.h — turns and rounds as plain text, for a model that is to write down what they were.
 *
 * What people and the model said, calls with their arguments, results cut to
 * SMA_TRANSCRIPT_RESULT_BYTES. Thinking is left out: some models refuse to be shown it
 * (protocols/models.md §7.2), and none needs it. Deterministic. Threads: any; no state.
 */
#ifndef SMA_RUNTIME_AGENT_TRANSCRIPT_H
#define SMA_RUNTIME_AGENT_TRANSCRIPT_H

#include "runtime/agent/codec.h"

#define SMA_TRANSCRIPT_RESULT_BYTES 2000

/** A turn, of any wire. What cannot be read is left out; what was said is there in any case. */
void sma_transcript_put_turn(struct sma_buf *buf, const struct sma_stored_turn *turn);
/** A round of a run that is not over. */
void sma_transcript_put_round(struct sma_buf *buf, const struct sma_stored_answer *answer,
                              const struct sma_stored_results *results);
/** Its middle left out, when it is longer: most bytes of the two ends. */
void sma_transcript_put_cut(struct sma_buf *buf, struct sma_str text, size_t bytes_max);

#endif
