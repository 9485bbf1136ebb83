/*
 * http_mcp.h — an MCP server over HTTP for tests, as strict as the official ones, and hostile where
 * its path says so. Every breach of the protocol is counted and printed.
 *
 * Paths: /json (legacy, answers in JSON) /sse (legacy, answers as events, with a priming event)
 *   /modern (2026-07-28; tool `mark` repeats "region" in a header)   /stateless (no session)
 *   /late (is slow to take notifications/initialized)
 *   /old (HTTP+SSE: GET; POST goes to /message?s=1)   /oldaway (names an address elsewhere)
 *   /plain (HTTP+SSE behind a url of type "http")  /key (wants "Authorization: Bearer let-me-in")
 *   /moved (307 to /json)  /away (307 to another port)  /forgets (404 after the first call)
 *   /forgets400 (as it, with 400)   /refuses (500)  /html  /empty (202 to everything)
 *   /closes (the connection ends at a call)  /drops (the stream ends after the priming event)
 *   /endless (a stream of notifications)  /big (a message without end)  /drip (a byte now and then)
 *   /heads (headers without end)  /badsession  /packed (gzip that nobody asked for)  /silent
 * Tools: echo {message}, fail, slow (progress), grow (list_changed).
 */
#ifndef SMA_TEST_HTTP_MCP_H
#define SMA_TEST_HTTP_MCP_H

#include <stddef.h>

struct http_mcp;
/** On 127.0.0.1. */
struct http_mcp *http_mcp_start(void);
/** Fails the test when the protocol was broken. */
void http_mcp_stop(struct http_mcp *server);
int http_mcp_port(const struct http_mcp *server);
/** Of a path: "http://127.0.0.1:PORT/json". Good until the next call. */
const char *http_mcp_url(struct http_mcp *server, const char *path);
/** How many requests came whose head or body holds this. */
size_t http_mcp_count(struct http_mcp *server, const char *part);
/** Asked first, for every request; *ret_status stays 0: not answered here. Returned texts are to be
 *  freed; more: further headers, lines that end with CRLF. From the server's threads. */
typedef char *http_mcp_hook(void *user, const char *method, const char *path, const char *head,
                            const char *body, int *ret_status, char more[1024]);
void http_mcp_set_hook(struct http_mcp *server, http_mcp_hook *hook, void *user);
void http_mcp_await(struct http_mcp *server, const char *part, size_t count);

#endif
