/*
 * server.h — a small HTTP/1.1 server on threads, loopback only. What it does is in the path:
 *   /echo           200 with the request's body
 *   /bytes/N        200 with N bytes
 *   /status/N       N with a JSON body; X-Tt-Logid; /status/N/after/V adds Retry-After: V ('_'
 *   stands for a blank)
 *   /close          reads the request and closes without an answer
 *   /hang           reads the request and stays silent
 *   /stall          head of 100 bytes, ten of them, then silence
 *   /part           the same, then closes
 *   /drip/N         ten bytes, one every N ms
 *   /mortal         200; the next request of this connection is read, then the connection closed
 *   without an answer
 *   /farewell       200, then closes while the connection is idle
 */
#ifndef SMA_TEST_NET_SERVER_H
#define SMA_TEST_NET_SERVER_H

#include "sma/base.h"

struct server;

struct server *server_create(void);
void server_destroy(struct server *server);
int server_port(const struct server *server);
size_t server_connections(struct server *server);
/** Requests read in whole. */
size_t server_requests(struct server *server);
/** Connections that are open now. */
size_t server_open(struct server *server);
/** Head and body of the latest request, NUL-terminated, cut at size. */
void server_last(struct server *server, char *text, size_t size);

#endif
