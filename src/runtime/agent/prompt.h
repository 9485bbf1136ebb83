/*
 * prompt.h — what the model is told besides the user's words. Three parts with different lives:
 *
 * - the system text: Agent.md and the house rules. Stable: the same bytes for every request of a
 *   configuration.
 * - the facts: time, speaker and kind of chat of one message, in one line. Volatile: a text block
 *   of its own before the user's text block, which stays untouched. Once sent it stays in the
 *   session as sent.
 * - what is the same for a whole chat (its ids, what it shows): a second line of the facts, only
 *   where the conversation that is sent along does not hold it.
 * Every value that comes from outside stands in the facts as a JSON string, so that a name cannot
 * forge a line; and each block begins with a word of this installation, which the system text
 * names, so that a user's text cannot forge a block.
 */
#ifndef SMA_RUNTIME_AGENT_PROMPT_H
#define SMA_RUNTIME_AGENT_PROMPT_H

#include "sma/config.h"
#include "sma/messages.h"

/* What can be sent to a chat: of the adapter's capabilities and the tools that it is offered. */
struct sma_prompt_channel
{
    bool has_markdown;       /* it is shown as such */
    bool is_stored;          /* another program takes the text as it is */
    bool sends_files;        /* the chat is offered send_file and send_voice */
    bool has_reactions;      /* ... and react */
    uint32_t part_chars_max; /* longer texts come in several messages; 0 = none does */
};

/** The system text. @chat: the entry of `chats` whose prompt holds, NULL = none; @facts_word: what
 *  begins our blocks and nobody else knows, as in RUN; @skills: lines that name the project's
 *  skills, at the end, for they change more often than the rest */
void sma_prompt_put_system(struct sma_buf *buf, const struct sma_config *config,
                           const struct sma_chat_rule *chat, uint64_t facts_word,
                           struct sma_str skills);
/** The facts of a run: one line. Local time is the process's zone. */
void sma_prompt_put_facts(struct sma_buf *buf, const struct sma_run_order *order, int64_t wall_ms);
/** The line about the chat, with the line feed before it. */
void sma_prompt_put_chat(struct sma_buf *buf, const struct sma_run_order *order,
                         const struct sma_prompt_channel *channel);
/** How that line begins, as it stands in a request: nothing in it needs escaping. */
void sma_prompt_put_chat_mark(struct sma_buf *buf, uint64_t facts_word);
/** How the block of remembered facts begins, in the facts and as it stands in a request. */
void sma_prompt_put_memory_mark(struct sma_buf *buf, uint64_t facts_word);
/** That block, with the line feed before it; the facts themselves follow. */
void sma_prompt_put_memory(struct sma_buf *buf, const struct sma_run_order *order);
/** "\n- \"text\" (preference, m0123456789abcdef)" */
void sma_prompt_put_recalled(struct sma_buf *buf, const struct sma_recalled *fact);
/** The line before what a server gave for the prompt that the message names; its name follows. */
void sma_prompt_put_prompt(struct sma_buf *buf, uint64_t facts_word);
/** "m0123456789abcdef": the id of a fact, for models and people. */
void sma_prompt_put_fact_id(struct sma_buf *buf, uint64_t id);
/** The block before an earlier message that is answered in the same run (queue.mode collect). */
void sma_prompt_put_earlier(struct sma_buf *buf, const struct sma_collected *message,
                            uint64_t facts_word);
/** The block before what was added while the run is open (queue.mode steer). */
void sma_prompt_put_added(struct sma_buf *buf, const struct sma_collected *message,
                          uint64_t facts_word);
/** Something that the program itself says to the model in the middle of a run. */
void sma_prompt_put_note(struct sma_buf *buf, uint64_t facts_word, const char *text);
/** 2026-11-22 14:22 +01:00 Sun */
void sma_prompt_put_time(struct sma_buf *buf, int64_t wall_ms);
/** Does a chat of this type hold more than one person? Unknown and empty types do not. */
bool sma_prompt_is_group(struct sma_str chat_type);

#endif
