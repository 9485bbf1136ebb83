/*
 * wire.h — the wire formats of LLM APIs as pure functions: the agent encodes fragments, the model
 * actor decodes answers.
 *
 * A request is head + messages + tail. Each message of a session is kept as the very bytes that go
 * on the wire: a
 * *fragment*, one or more JSON values joined by commas, without outer brackets. Serialisation is
 * deterministic: fixed member order, no locale; an unchanged prefix is byte-identical from request
 * to request.
 * Source: protocols/llm.md §2–§5.
 */
#ifndef SMA_WIRE_H
#define SMA_WIRE_H

#include "sma/buf.h"
#include "sma/config.h"
#include "sma/messages.h"

/* How an answer of a target goes back to it, where that was learned (target.h); bits. */
#define SMA_ANSWER_REASONED 1 /* with its reasoning, "" where there was none */
#define SMA_ANSWER_BARE 2     /* without */
#define SMA_ANSWER_NO_NULL 4  /* content is "" where there is none */

struct sma_tool_spec
{
    struct sma_str name, description;
    struct sma_str parameters_json; /* JSON Schema, type object */
};
struct sma_tool_result
{
    struct sma_str call_id, name;
    struct sma_str content; /* JSON text or plain text */
    bool is_error;
    uint32_t part_count;
    const struct sma_part *parts; /* what else the model is shown of it */
};
/* A picture, file or sound of a user message, in front of blocks[block]; behind the last block
 * when it has no such block. */
struct sma_block_part
{
    const struct sma_part *part;
    uint32_t block;
};

struct sma_target; /* runtime/model/target.h: provider, model, profile, what it refuses */

struct sma_wire
{
    const char *name; /* "chat" "responses" "messages"; the first word of a target's key */
    /** Everything before the first message, including the separator it needs: head + fragments
     *  joined by ',' + tail is a whole request. Order in the bytes: model and options, then tools,
     *  then system, then messages where the format allows; nothing volatile. */
    void (*put_head)(struct sma_buf *buf, const struct sma_target *target, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count);
    /** Everything behind the last message. cache_key: which conversation it is, for providers that
     *  route by it, at most 64 bytes; empty = none. */
    void (*put_tail)(struct sma_buf *buf, const struct sma_target *target,
                     struct sma_str cache_key);
    /** One user message made of text blocks (none empty). One block: plain string content, unless
     *  the target caches by marks, which need a list of parts. target may be NULL here and below:
     *  the form that most servers take. */
    void (*put_user)(struct sma_buf *buf, const struct sma_target *target,
                     const struct sma_str *blocks, size_t block_count);
    /** The type of a part of text in a user message: "text", "input_text". */
    const char *text_type;
    /** A part that this target takes (sma_part_is_shown), as it stands in a list of content: where
     *  its base64 text goes is its marker (sma_part_put_marker). */
    void (*put_part)(struct sma_buf *buf, const struct sma_target *target,
                     const struct sma_part *part);
    /** The results of one step's calls, all of them, in the order of the calls. */
    void (*put_results)(struct sma_buf *buf, const struct sma_target *target,
                        const struct sma_tool_result *results, size_t result_count);
    /** A plain assistant message (sessions rebuilt from another wire or from text). Give the
     *  target: some want an empty reasoning member beside it. */
    void (*put_assistant_text)(struct sma_buf *buf, const struct sma_target *target,
                               struct sma_str text);
    /** An assistant message from neutral parts, without reasoning: what another target has
     *  answered. Blank text is left out; ids as given (sma_wire_put_call_id makes foreign ones
     *  fit). Nothing when both are empty. */
    void (*put_assistant)(struct sma_buf *buf, const struct sma_target *target, struct sma_str text,
                          const struct sma_model_call *calls, size_t call_count);
    /** Where the bytes of sma_target_mark go inside a fragment made by put_user or put_results of
     *  this wire, so that the provider caches up to its end. false: nowhere in this fragment. */
    bool (*find_mark)(struct sma_str fragment, size_t *ret_offset);
};

/** put_user with parts; what the target does not take stands there as a line. */
void sma_wire_put_user_parts(struct sma_buf *buf, const struct sma_wire *wire,
                             const struct sma_target *target, const struct sma_str *blocks,
                             size_t block_count, const struct sma_block_part *parts,
                             size_t part_count);
/** OFFLINE uses the chat wire. Never NULL. Thread: any. */
const struct sma_wire *sma_wire_get(enum sma_llm_api api);
/** An id of a call that every provider takes: the id itself when it is at most 40 of [A-Za-z0-9_-],
 *  else "call_" and a hash of it (equal for equal ids). */
void sma_wire_put_call_id(struct sma_buf *buf, struct sma_str id);

#endif
