/*
 * wire_priv.h — what the three encoders share: provider facts and the writers of common members.
 *
 * Invariants: deterministic bytes; a member that was not configured is not written (many servers
 *             answer 400 on members they do not know).
 * Threads:    any; no state.
 */
#ifndef SMA_MODEL_WIRE_PRIV_H
#define SMA_MODEL_WIRE_PRIV_H

#include "runtime/model/target.h"
#include "sma/wire.h"

extern const struct sma_wire sma_wire_chat;
extern const struct sma_wire sma_wire_responses;
extern const struct sma_wire sma_wire_messages;

/* The encoders build on whatever buffer they are given; this schema stands for a tool without
 * parameters. */
#define SMA_WIRE_NO_PARAMETERS "{\"type\":\"object\",\"properties\":{}}"

/** The shortest decimal that reads back as the same double, with '.' in any locale. */
void sma_wire_put_number(struct sma_buf *buf, double number);
/** `"key":number` with its separator, only when is_set and finite. */
void sma_wire_put_option(struct sma_buf *buf, const char *key, bool is_set, double number);
/** A tool's schema as given, or the schema of no parameters. */
void sma_wire_put_schema(struct sma_buf *buf, struct sma_str parameters_json);
/** `"content":` of one user message: a string for one block, else a list of
 *  {"type":type,"text":...}; empty blocks are
 *  left out because servers refuse them. */
void sma_wire_put_blocks(struct sma_buf *buf, const char *type, const struct sma_str *blocks,
                         size_t block_count);
/** Parts of struct sma_wire that formats have in common: the end of the list of messages and of the request; a user
 *  message of "text" blocks; an assistant message with plain content. */
void sma_wire_put_tail(struct sma_buf *buf, const struct sma_target *target,
                       struct sma_str cache_key);
void sma_wire_put_user(struct sma_buf *buf, const struct sma_str *blocks, size_t block_count);
void sma_wire_put_assistant_text(struct sma_buf *buf, struct sma_str text);
/** Is this the platform api.openai.com itself (max_completion_tokens, encrypted reasoning)? */
bool sma_wire_is_openai(const struct sma_config_llm *llm);
/** Does the provider know stream_options.include_usage? Source: protocols/llm.md §5. */
bool sma_wire_has_stream_usage(const struct sma_config_llm *llm);

#endif
