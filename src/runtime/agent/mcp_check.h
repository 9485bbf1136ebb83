/*
 * mcp_check.h — may this call of a tool of an MCP server be carried out, and what exactly would
 * people agree to?
 *
 * What people agree to is the tool as it is now (its description, schema and hint are part of the
 * digest) with these very arguments. A permission that lasts names the tool and ends with a mark of
 * the same: when a server changes what a tool is under its old name, people are asked again.
 *
 * Threads: no state. No I/O.
 */
#ifndef SMA_RUNTIME_AGENT_MCP_CHECK_H
#define SMA_RUNTIME_AGENT_MCP_CHECK_H

#include "runtime/policy/policy_mcp.h"
#include "sma/messages.h"

struct sma_secrets;

#define SMA_MCP_ITEM_TYPE "mcp_tool" /* of an item of a request */

struct sma_mcp_check_ask
{
    const struct sma_mcp_policy *policy;
    const struct sma_secrets *secrets;  /* taken out of what people are shown; may be NULL */
    struct sma_mcp_query tool;          /* what is called */
    struct sma_str description, schema; /* as the server says now */
    struct sma_str arguments;           /* a JSON object: what the server is sent, byte by byte */
    const struct sma_grant *grants;     /* that hold in this chat */
    uint32_t grant_count;
    int64_t wall_ms;
    bool is_much; /* would leave (runtime/web/egress.h): asked, though a rule allows it */
};
struct sma_mcp_check
{
    uint8_t verdict; /* enum sma_tool_verdict: ALLOWED, ASKS, REFUSED */
    uint8_t digest[32];
};
/**
 * @item  ASKS: the item of the request is appended
 * @why   REFUSED: a sentence for the model is appended
 * @return OK | NOMEM
 */
SMA_CHECKED enum sma_err sma_mcp_check(const struct sma_mcp_check_ask *ask, struct sma_buf *item,
                                       struct sma_buf *why, struct sma_mcp_check *ret_check);

#endif
