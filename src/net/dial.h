/*
 * dial.h — a TCP connection to a host and port, straight or through a proxy, for an actor's loop.
 *
 * The name is looked up (names.h); its addresses are tried a quarter of a second apart until one
 * answers (RFC 8305).
 * Through a proxy it is the proxy's name and addresses; the proxy looks up the host.
 * Threads: the actor's. A deadline is the caller's affair.
 */
#ifndef SMA_NET_DIAL_H
#define SMA_NET_DIAL_H

#include "names.h"

#include "sma/proxy.h"

#define NET_DIAL_ERROR_BYTES 400

struct net_dial;
struct net_dial_ask
{
    struct net_names *names;
    const char *host, *port;       /* copied */
    const struct sma_proxy *proxy; /* copied; HTTP, SOCKS5H, or NONE */
    /* Once, unless cancelled; the dial is gone then. fd: connected, non-blocking, close-on-exec,
     * the caller's; -1: error says why not, in words that name the host
     * and the proxy. */
    void (*done)(void *user, int fd, const char *error);
    void *user;
};
/** done never runs from inside this call. NULL: no memory. */
struct net_dial *net_dial_start(const struct net_dial_ask *ask);
/** done is not called. NULL is fine. */
void net_dial_cancel(struct net_dial *dial);
/** Why it is not done after so long, in words that name the host. */
void net_dial_describe_wait(const struct net_dial *dial, unsigned waited_ms, char *text,
                            size_t size);

#endif
