/*
 * proxy_server.h — a proxy in the test process: HTTP's CONNECT or SOCKS 5, as strict as real ones.
 *
 * It looks names up itself: every name that ends in ".test" is 127.0.0.1, addresses stand for
 * themselves, anything else is refused. What a real proxy refuses is refused here: another method,
 * a target that is no host:port, another Host, headers that are the server's (Authorization,
 * Cookie), bytes before its answer, credentials that are wrong or missing, methods of SOCKS that
 * were not offered, reserved bytes that are not zero.
 *
 * Threads: one of its own and one a connection; counts may be read by any.
 */
#ifndef SMA_TEST_PROXY_SERVER_H
#define SMA_TEST_PROXY_SERVER_H

#include "sma/base.h"

enum proxy_fault
{
    PROXY_FINE,
    PROXY_IN_PIECES, /* its answers come byte by byte */
    PROXY_REFUSES,   /* 403; SOCKS: not allowed */
    PROXY_SILENT,    /* takes the connection and says nothing */
    PROXY_GARBAGE,   /* says what no proxy says */
    PROXY_EAGER,     /* sends bytes behind its answer that nobody asked for */
    PROXY_HANGS_UP,
};
struct proxy_server_options
{
    bool is_socks;
    const char *user, *password; /* wanted; NULL = none */
    enum proxy_fault fault;
};

struct proxy_server;
struct proxy_server *proxy_server_start(const struct proxy_server_options *options);
/** Ends its connections, too. */
void proxy_server_stop(struct proxy_server *proxy);
/** "http://127.0.0.1:PORT" or "socks5h://..."; with the user when `has_user`. */
const char *proxy_server_url(struct proxy_server *proxy, bool has_user);
unsigned proxy_server_port(const struct proxy_server *proxy);
/** Ways that were opened through it. */
unsigned proxy_server_opened(const struct proxy_server *proxy);
/** Requests it refused because a real one would. */
unsigned proxy_server_refused(const struct proxy_server *proxy);
/** Where to the latest way went: "host:port" as the client wrote it. */
void proxy_server_target(struct proxy_server *proxy, char *text, size_t size);

#endif
