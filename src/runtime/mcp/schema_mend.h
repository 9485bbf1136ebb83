/*
 * schema_mend.h — schemas of strangers, made so that every provider takes them.
 *
 * What one server writes goes into a request that all chats share, so a keyword that a provider
 * refuses would end everybody's messages. What is valid and accepted everywhere stays as it is;
 * what the providers' published rules refuse is changed to the nearest thing that they take, or
 * left out. The tool itself still checks its arguments.
 * Source: OpenAI, function calling (array schema missing items; no anyOf at the root); Anthropic,
 * tool use (draft 2020-12; property names of [a-zA-Z0-9_.-]{1,64}; no anyOf at the root) (as
 * documented); integers beyond 2^53, null keywords (as seen: kimi-code#2328, langchain#39271).
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_MCP_SCHEMA_MEND_H
#define SMA_RUNTIME_MCP_SCHEMA_MEND_H

#include "sma/base.h"

#define SMA_SCHEMA_NODE_COUNT_MAX 4000 /* schemas inside one: beyond, it takes anything */

struct json_t;
/** Change a tool's input schema, an object, in place. Its alternatives and what was left out are
 *  told in its `description`. @return false: no memory, or too large; it is half changed then */
bool sma_schema_mend(struct json_t *schema);

#endif
