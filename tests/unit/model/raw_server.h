/*
 * raw_server.h — a server of the test's own, where fake_model is too well-bred: it answers what the
 * test says, byte for byte, and keeps every request as it came. As a proxy (CONNECT, SOCKS5, and
 * plain requests with a whole URL) it leads every connection to one port of this machine, whatever
 * host is named, and keeps what was asked of it.
 */
#ifndef SMA_TEST_RAW_SERVER_H
#define SMA_TEST_RAW_SERVER_H

#include "support/check.h"

#include <stdbool.h>
#include <stddef.h>

#define RAW_REQUEST_COUNT_MAX 256
#define RAW_REQUEST_BYTES_MAX (1 << 20)

/** Write the whole response to this request (head and body, NUL-terminated); number: 0 for the
 *  first one of the server.
 *  Empty: say nothing and keep the connection. Runs on the server's threads, under its lock. */
typedef void raw_answer_fn(void *user, size_t number, const char *request, char *response,
                           size_t size);

struct raw_server;
struct raw_server *raw_server_create(raw_answer_fn *answer, void *user);
struct raw_server *raw_proxy_create(int to_port);
void raw_server_destroy(struct raw_server *server);
ENDING(raw_server_destroy, struct raw_server)
int raw_server_port(const struct raw_server *server);
size_t raw_server_count(struct raw_server *server);
/** A copy, valid until the server is destroyed. */
const char *raw_server_request(struct raw_server *server, size_t number);

/** A 200 answer of the chat format that says this text, streamed. */
void raw_say(char *response, size_t size, const char *text);
/** An error with this body and further header lines ("Name: value\r\n" or ""). */
void raw_fail(char *response, size_t size, int status, const char *headers, const char *body);

#endif
