/*
 * prompt.h — what the model is told besides the user's words. Two parts with different lives:
 *
 * - the system text: Agent.md and the house rules. Stable: the same bytes for every request of a configuration.
 * - the facts: time, request, speaker, place of one message. Volatile: a text block of its own before the user's text
 *   block, which stays untouched. Once sent it stays in the session as sent.
 * Every value that comes from outside stands in the facts as a JSON string, so that a name cannot forge a line; and each
 * block begins with a word of this installation, which the system text names, so that a user's text cannot forge a block.
 */
#ifndef SMA_RUNTIME_AGENT_PROMPT_H
#define SMA_RUNTIME_AGENT_PROMPT_H

#include "sma/config.h"
#include "sma/messages.h"

/** The system text. @facts_word: what begins our blocks and nobody else knows, as in RUN */
void sma_prompt_put_system(struct sma_buf *buf, const struct sma_config *config,
                           uint64_t facts_word);
/** The facts block of a run. @random makes the request id unguessable. Local time is the process's zone. */
void sma_prompt_put_facts(struct sma_buf *buf, const struct sma_run_order *order, int64_t wall_ms,
                          const uint64_t random[2]);
/** The block before an earlier message that is answered in the same run (queue.mode collect). */
void sma_prompt_put_earlier(struct sma_buf *buf, const struct sma_collected *message,
                            uint64_t facts_word);
/** Does a chat of this type hold more than one person? Unknown and empty types do not. */
bool sma_prompt_is_group(struct sma_str chat_type);

#endif
