/*
 * wire.h — the wire formats of LLM APIs as pure functions: the agent encodes fragments, the model actor decodes answers.
 *
 * A request is head + messages + tail. Each message of a session is kept as the very bytes that go on the wire: a
 * *fragment*, one or more JSON values joined by commas, without outer brackets. Serialisation is deterministic: fixed
 * member order, no locale; an unchanged prefix is byte-identical from request to request.
 * Source: protocols/llm.md §2–§5.
 */
#ifndef SMA_WIRE_H
#define SMA_WIRE_H

#include "sma/buf.h"
#include "sma/config.h"
#include "sma/messages.h"

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
};

struct sma_wire
{
    const char *name; /* "chat" "responses" "messages"; stored beside session turns */
    /** Everything before the first message, including the separator it needs: head + fragments joined by ',' + tail is
     *  a whole request. Order in the bytes: model and options, then tools, then system, then messages where the format
     *  allows; nothing volatile. */
    void (*put_head)(struct sma_buf *buf, const struct sma_config_llm *llm, struct sma_str system,
                     const struct sma_tool_spec *tools, size_t tool_count);
    void (*put_tail)(struct sma_buf *buf, const struct sma_config_llm *llm);
    /** One user message made of text blocks (none empty). One block: plain string content. */
    void (*put_user)(struct sma_buf *buf, const struct sma_str *blocks, size_t block_count);
    /** The results of one step's calls, all of them, in the order of the calls. */
    void (*put_results)(struct sma_buf *buf, const struct sma_tool_result *results, size_t result_count);
    /** A plain assistant message (sessions rebuilt from another wire or from text). */
    void (*put_assistant_text)(struct sma_buf *buf, struct sma_str text);
};

/** OFFLINE uses the chat wire. Never NULL. Thread: any. */
const struct sma_wire *sma_wire_get(enum sma_llm_api api);
/** By name; NULL when unknown. */
const struct sma_wire *sma_wire_find(struct sma_str name);

#endif
