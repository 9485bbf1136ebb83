/*
 * wire_priv.h — what the three encoders share: what a target takes, and the writers of common
 * members.
 *
 * Invariants: deterministic bytes. A member is written only when the profile allows it, the target
 *             was not found to refuse it, and llm.extraBody does not say it itself (then that is
 *             what counts).
 * Threads:    any; no state.
 */
#ifndef SMA_MODEL_WIRE_PRIV_H
#define SMA_MODEL_WIRE_PRIV_H

#include "runtime/model/target.h"
#include "runtime/model/wire_part.h"
#include "sma/wire.h"

extern const struct sma_wire sma_wire_chat;
extern const struct sma_wire sma_wire_responses;
extern const struct sma_wire sma_wire_messages;

/* The encoders build on whatever buffer they are given; this schema stands for a tool without
 * parameters. */
#define SMA_WIRE_NO_PARAMETERS "{\"type\":\"object\",\"properties\":{}}"
#define SMA_WIRE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"
/* Names under which refusals are kept (target.c): of the request itself, and of its parts. */
#define SMA_MEMBER_CACHE "cache_control"
#define SMA_MEMBER_MARK "system.cache_control"

/** May this member of the request be written? */
bool sma_wire_allows(const struct sma_target *target, const char *member);
/** Does llm.extraBody say it? */
bool sma_wire_has_extra(const struct sma_target *target, const char *member);
/** The next member of a compact JSON object's text; *at begins at its '{'. false: there is none
 *  left. */
bool sma_wire_next_member(struct sma_str *at, struct sma_str *ret_name, struct sma_str *ret_value);

/** The shortest decimal that reads back as the same double, with '.' in any locale. */
/** A call's name as JSON, as every provider takes it: letters, digits, '_' and '-', at most 64. */
void sma_wire_put_name(struct sma_buf *buf, struct sma_str name);
void sma_wire_put_number(struct sma_buf *buf, double number);
/** A tool's schema as given, or the schema of no parameters. */
void sma_wire_put_schema(struct sma_buf *buf, struct sma_str parameters_json);
/** `"content":` of one user message: a string for one block unless is_list, else a list of
 *  {"type":type,"text":...}; empty blocks are left out because servers refuse them. */
void sma_wire_put_blocks(struct sma_buf *buf, const char *type, bool is_list,
                         const struct sma_str *blocks, size_t block_count);

/** The cap of the answer, where one is configured, under the name that the target takes. */
void sma_wire_put_cap(struct sma_buf *buf, const struct sma_target *target);
/** What of llm.maxTokens the model can give. */
int64_t sma_wire_cap(const struct sma_target *target);
/** temperature, top_p, penalties. */
void sma_wire_put_sampling(struct sma_buf *buf, const struct sma_target *target, bool has_tools);
/** Effort and the switch of thinking. max_tokens: the cap that is written, for budgets. */
void sma_wire_put_effort(struct sma_buf *buf, const struct sma_target *target, bool has_tools,
                         int64_t max_tokens);
/** Do parts of messages carry marks for the cache? target may be NULL: no. */
bool sma_wire_has_marks(const struct sma_target *target);

/** Is there nothing but white space? */
bool sma_wire_is_blank(struct sma_str text);
/** A call's arguments as a JSON object: what is none is wrapped, as the decoders do. */
void sma_wire_put_arguments(struct sma_buf *buf, const struct sma_model_call *call);
/** Parts of struct sma_wire that formats have in common: the end of the list of messages and of the
 *  request; a user message of "text" blocks; where a mark goes. */
void sma_wire_put_tail(struct sma_buf *buf, const struct sma_target *target,
                       struct sma_str cache_key);
void sma_wire_put_user(struct sma_buf *buf, const struct sma_target *target,
                       const struct sma_str *blocks, size_t block_count);
bool sma_wire_find_mark(struct sma_str fragment, size_t *ret_offset);
/** A part of text in a list of content, with a comma before it unless it is the first. */
void sma_wire_put_text_part(struct sma_buf *buf, const char *type, struct sma_str text);
/** The parts of a result behind others in a list of content: as the target takes them. */
void sma_wire_put_result_parts(struct sma_buf *buf, const struct sma_wire *wire,
                               const struct sma_target *target,
                               const struct sma_tool_result *result);
/** `data:<mime>;base64,<marker>` as a JSON string. */
void sma_wire_put_data_url(struct sma_buf *buf, const struct sma_part *part);
/** "filename": as its sender called it, else the end of its path. */
void sma_wire_put_file_name(struct sma_buf *buf, const char *member, const struct sma_part *part);

#endif
