/*
 * web_server.h — a small web server for tests, honest and hostile: what it does stands in the path.
 *
 *   /page /text /json /gbk /plain (no type) /image /empty (204) /missing (404) /inject
 *   /to/URL (redirects there)   /hop/N (N redirects, then /page)   /loop
 *   /slow (a byte now and then, for ever)   /silent   /endless   /bomb (gzip, 100 MB of nothing)
 *   /obey (orders to the reader)   /huge (20 MB of HTML)
 *   /short (promises more than it sends)   /garbage (no HTTP)   /search... (what `answer` says)
 */
#ifndef SMA_TEST_WEB_SERVER_H
#define SMA_TEST_WEB_SERVER_H

#include <stddef.h>

struct web_server;
/** On 127.0.0.1. @return listening */
struct web_server *web_server_start(void);
void web_server_stop(struct web_server *server);
int web_server_port(const struct web_server *server);
/** What /search... is answered with, and its status. The text stays the caller's. */
void web_server_set_answer(struct web_server *server, int status, const char *text);
/** How many requests came whose head or body holds `part`. */
size_t web_server_count(struct web_server *server, const char *part);
/** How many are being answered: who asked has not gone away. */
size_t web_server_open_count(struct web_server *server);

#endif
