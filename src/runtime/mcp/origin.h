/*
 * origin.h — addresses that servers name: joined to one of ours, and compared by who serves them.
 *
 * A token goes to the origin that it is for (scheme, host, port) and nowhere else, so every address
 * that a server names is looked at here before anything is sent to it, by the one reader of
 * addresses (web/url.h).
 * Threads: any; no state. Allocates.
 * Limits:  SMA_WEB_URL_BYTES_MAX.
 */
#ifndef SMA_RUNTIME_MCP_ORIGIN_H
#define SMA_RUNTIME_MCP_ORIGIN_H

#include "sma/buf.h"

/**
 * Append what `reference`, which may be relative, means where `base` is the address at hand;
 * without fragment.
 * @return OK | BADINPUT: it is no http or https address, holds a user name, or is too long | NOMEM
 */
SMA_CHECKED enum sma_err sma_mcp_url_join(struct sma_buf *buf, const char *base,
                                          struct sma_str reference);
/** Same scheme, host and port, the port of the scheme said or not. */
bool sma_mcp_url_is_same_origin(const char *a, const char *b);
/** Is it http or https, and of this machine (localhost, 127.0.0.0/8, ::1)? */
bool sma_mcp_url_is_loopback(const char *url);
/** Append scheme, host and port: "https://host:8443". OK | BADINPUT | NOMEM. */
SMA_CHECKED enum sma_err sma_mcp_url_put_origin(struct sma_buf *buf, const char *url);
/** Append the path, "" when it is "/" alone. Errors as above. */
SMA_CHECKED enum sma_err sma_mcp_url_put_path(struct sma_buf *buf, const char *url);

#endif
