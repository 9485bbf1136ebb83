/*
 * result.h — what a server answered, as text for a model: parts joined by line ends, pictures and
 * resources as "[Image: mime]" and "[Resource: mime]", clean and bounded.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_MCP_RESULT_H
#define SMA_RUNTIME_MCP_RESULT_H

#include <jansson.h>

#include "sma/buf.h"
#include "sma/messages.h"

#define SMA_MCP_PICTURE_COUNT_MAX 8 /* of one answer; further ones are named only */

/** A picture of it: base64, as it came. Called in order. */
typedef void sma_mcp_picture_fn(void *user, struct sma_str mime, struct sma_str base64);
/**
 * Append the result of tools/call, resources/read or prompts/get.
 * @picture  may be NULL
 * The text is cut at SMA_TOOL_RESULT_BYTES_MAX, which is said at its end.
 */
void sma_mcp_put_result(struct sma_buf *buf, enum sma_mcp_call_kind kind, const json_t *result,
                        sma_mcp_picture_fn *picture, void *user);
/** Decode base64 with blanks in between. @return false: it is none, or too long for buf */
bool sma_mcp_put_decoded(struct sma_buf *buf, struct sma_str base64);

#endif
