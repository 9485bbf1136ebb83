/*
 * serve.h — the Model Context Protocol as a server speaks it: one message in, what to do about it
 * out. Pure; no socket, no service, no clock.
 *
 * Each message stands for itself: nothing is remembered between two of them, so a client that goes
 * on after a restart notices nothing. Of a message comes an answer, nothing, or a call: a request
 * to the service's own HTTP API, whose answer becomes the tool's result. Both transports go this
 * way, `shipmyagent mcp-serve` (lines) and POST /mcp, so neither can do what the API cannot.
 *
 * Spoken are the versions with `initialize` (SMA_MCP_SERVE_LEGACY) and 2026-07-28, where each
 * request brings its version in params._meta and HTTP repeats it in headers. Batches are not taken
 * in any version.
 *
 * Source: modelcontextprotocol.io/specification, 2025-11-25 and 2026-07-28; JSON-RPC 2.0.
 * Threads: no state. Limits: SMA_MCP_SERVE_ID_BYTES_MAX, SMA_JSON_DEPTH_MAX, SMA_TEXT_BYTES_MAX.
 */
#ifndef SMA_RUNTIME_MCP_SERVE_H
#define SMA_RUNTIME_MCP_SERVE_H

#include "sma/buf.h"
#include "sma/limits.h"

#include <stdbool.h>

#define SMA_MCP_SERVE_MODERN "2026-07-28"
#define SMA_MCP_SERVE_LEGACY "2025-11-25" /* the newest with `initialize` */

#define SMA_MCP_PARSE_ERROR (-32700)
#define SMA_MCP_INVALID_REQUEST (-32600)
#define SMA_MCP_METHOD_NOT_FOUND (-32601)
#define SMA_MCP_INVALID_PARAMS (-32602)
#define SMA_MCP_INTERNAL_ERROR (-32603)
#define SMA_MCP_HEADER_MISMATCH (-32020)
#define SMA_MCP_UNSUPPORTED_VERSION (-32022)

enum sma_mcp_serve_kind
{
    SMA_MCP_SERVE_NOTHING, /* a notification, or a response to nothing we asked */
    SMA_MCP_SERVE_ANSWER,
    SMA_MCP_SERVE_CALL,
    SMA_MCP_SERVE_CANCEL, /* of the call whose id is in `id` */
};

/* What HTTP says beside the body. */
struct sma_mcp_serve_headers
{
    bool has_version, has_method, has_name;
    struct sma_str version, method, name; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
};

/* What to do about one message. */
struct sma_mcp_serve_step
{
    enum sma_mcp_serve_kind kind;
    int http_status; /* of an ANSWER: 200, or what HTTP says about such an error */
    struct sma_buf answer;
    bool is_modern, is_post; /* of a CALL */
    bool is_ask;             /* of a CALL: an answer of the agent, which may tell progress */
    bool has_progress_token;
    char id[SMA_MCP_SERVE_ID_JSON_BYTES_MAX + 1];             /* as JSON */
    char progress_token[SMA_MCP_SERVE_ID_JSON_BYTES_MAX + 1]; /* as JSON */
    const char *tool;
    struct sma_buf path, query, body; /* of the request to the API; query without '?' */
};

/** What nobody has begun has nothing to give back. */
void sma_mcp_serve_begin(struct sma_mcp_serve_step *step);
void sma_mcp_serve_end(struct sma_mcp_serve_step *step);
/**
 * Read one message.
 * @headers  of the POST that brought it; NULL: it came as a line
 * @step     begun; to be ended whatever comes back
 * @return   OK | NOMEM: nothing can be said
 */
SMA_CHECKED enum sma_err sma_mcp_serve_read(struct sma_str text,
                                            const struct sma_mcp_serve_headers *headers,
                                            struct sma_mcp_serve_step *step);
/**
 * Append the response to a CALL.
 * @status  HTTP status of the API's answer; 0: it could not be asked, and json says why, as text
 * @json    its body
 */
void sma_mcp_serve_put_result(struct sma_buf *buf, const struct sma_mcp_serve_step *call,
                              int status, struct sma_str json);
/** Append notifications/progress for a CALL that has a token. number: grows. */
void sma_mcp_serve_put_progress(struct sma_buf *buf, const struct sma_mcp_serve_step *call,
                                uint64_t number, struct sma_str message);
/** Append an error response; id_json: "null" where none is known. */
void sma_mcp_serve_put_error(struct sma_buf *buf, const char *id_json, int code,
                             const char *message);

#endif
