/*
 * http_head.h — what the headers of HTTP say in MCP: values that are no plain ASCII, parameters of
 * tools that are repeated in headers (2026-07-28), what a refusal asks for.
 *
 * A property of a tool's schema may be marked "x-mcp-header": "Region"; its value then goes into
 * the header Mcp-Param-Region besides, so that what stands before a server can route by it.
 * Source: specification 2026-07-28, transports, "Standard headers"; RFC 9110 §11, RFC 6750 §3.
 * Threads: any; no state. Allocates.
 */
#ifndef SMA_RUNTIME_MCP_HTTP_HEAD_H
#define SMA_RUNTIME_MCP_HTTP_HEAD_H

#include <jansson.h>

#include "sma/buf.h"
#include "sma/limits.h"

/** A value as a header carries it: as it is when it is plain ASCII, else "=?base64?...?=". */
void sma_mcp_put_header_value(struct sma_buf *buf, struct sma_str value);
void sma_mcp_put_base64(struct sma_buf *buf, struct sma_str bytes);

/** Are the marks of this schema, if there are any, ones that can be obeyed? A tool with others is
 *  not offered over HTTP. */
bool sma_mcp_header_marks_are_good(const json_t *schema);
/** Calls `add` with "Mcp-Param-X: value" for each mark whose property is among the arguments. */
typedef void sma_mcp_header_fn(void *user, const char *line);
void sma_mcp_header_params(const json_t *schema, const json_t *arguments, sma_mcp_header_fn *add,
                           void *user);

/* What a 401 or 403 says. Texts are "" where nothing is said. */
struct sma_mcp_challenge
{
    char resource_metadata[SMA_MCP_URL_BYTES_MAX + 1];
    char scope[1024], error[64];
};
/** Of the Bearer challenge in a WWW-Authenticate header. @return false: there is none */
bool sma_mcp_challenge_parse(struct sma_str header, struct sma_mcp_challenge *ret_challenge);

#endif
