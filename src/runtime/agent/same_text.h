/*
 * same_text.h — does a text say what was said already? Models repeat what they have sent as their
 * final answer, with other white space, case or Markdown.
 *
 * Two texts are compared without white space, letter case (ASCII), Markdown marks and full stops at
 * the end; a question mark counts. "Part of" means whole sentences or lines: "delete it" is no part
 * of "I did not delete it". A few words must be whole
 * sentences: the answer "SQLite" is not said by a list of candidates that has it as a line.
 * Threads: any; no state. Allocates.
 */
#ifndef SMA_RUNTIME_AGENT_SAME_TEXT_H
#define SMA_RUNTIME_AGENT_SAME_TEXT_H

#include "sma/base.h"

/** Equal apart from what is not compared. Out of memory: false, which repeats a text rather than
 *  lose one. */
bool sma_text_is_same(struct sma_str a, struct sma_str b);
/**
 * Is `text`, as whole sentences, in what was said, so that saying it again tells nothing?
 * @said  everything said, oldest first
 * @last  where the newest text begins in `said`: what is found must reach into it, since words of
 * before may need saying again
 */
bool sma_text_is_said(struct sma_str text, struct sma_str said, size_t last);

/** A few words that close what was sent before and tell nothing new: "Sent above.", "Done.", "已发送。"
 *  No digit, no question, no name. */
bool sma_text_is_closing(struct sma_str text);

#endif
