/*
 * prompt_words.h — the words behind "/server:prompt" as arguments of that prompt.
 *
 * A word is what stands between blanks, or between quotation marks ("", '', “”). Words `name=value`
 * with the name of an argument are that argument; the others are the arguments that are left, in
 * their order, and the last of those takes everything that follows as it was written.
 *
 * Threads: no state.
 */
#ifndef SMA_RUNTIME_MCP_PROMPT_WORDS_H
#define SMA_RUNTIME_MCP_PROMPT_WORDS_H

#include "runtime/mcp/catalogue.h"

enum sma_prompt_words
{
    SMA_PROMPT_FIT,     /* the JSON object is appended */
    SMA_PROMPT_MISSES,  /* ret_missing has no value, and is required */
    SMA_PROMPT_SURPLUS, /* it takes no argument, or a name twice */
};
/** @json         errors stay in it
 *  @ret_missing  set with MISSES */
enum sma_prompt_words sma_prompt_words_read(const struct sma_mcp_prompt *prompt,
                                            struct sma_str words, struct sma_buf *json,
                                            struct sma_str *ret_missing);
/** Append "/server:prompt topic [style]": required ones first as they stand, others in brackets. */
void sma_prompt_words_put_usage(struct sma_buf *buf, const struct sma_mcp_prompt *prompt);

#endif
