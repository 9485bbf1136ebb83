/*
 * names.h — name look-ups for an actor's loop, each on a thread of its own.
 *
 * getaddrinfo blocks for as long as the resolver likes and cannot be called back. On libuv's
 * shared pool of four threads a few hanging ones would stop everybody's file work; here they stop
 * nobody. Who asks for a name that is being looked up joins; so a name server that hangs costs one
 * thread a name, however often the connection is tried. A thread shares no memory with the loop:
 * it sends its answer through a socket, and ends unheard when nobody listens.
 *
 * Threads: the actor's. Limits: NET_NAMES_COUNT_MAX threads an actor.
 */
#ifndef SMA_NET_NAMES_H
#define SMA_NET_NAMES_H

#include "sma/base.h"

#include <sys/socket.h>

#define NET_NAMES_COUNT_MAX 8   /* look-ups under way; more are refused */
#define NET_ADDRESS_COUNT_MAX 8 /* kept of an answer */
#define NET_HOST_BYTES 256
#define NET_PORT_BYTES 8

struct net_addresses
{
    int status; /* 0 or an EAI_ code */
    size_t count;
    struct sockaddr_storage list[NET_ADDRESS_COUNT_MAX];
};

struct uv_loop_s;
struct net_name_lookup;
/* Lives in its owner, who keeps it until the loop has closed his other handles. */
struct net_names
{
    struct uv_loop_s *loop;
    struct net_name_lookup *lookups;
    struct net_name_wait *telling; /* who is still to be told of the answer at hand */
    size_t count;
};
/** Nobody is told any more. The loop must still run to close its handles. */
void net_names_close(struct net_names *names);

/** One who waits for a name: lives in whoever asks. */
struct net_name_wait
{
    struct net_name_wait *next;
    void (*done)(void *user, const struct net_addresses *addresses);
    void *user;
    bool is_waiting;
};
/** done follows from the loop, never from inside this call. Addresses have their port; families
 *  alternate. @return OK | FULL: too many look-ups hang | NOMEM */
SMA_CHECKED enum sma_err net_names_ask(struct net_names *names, const char *host, const char *port,
                                       struct net_name_wait *wait);
/** Not waiting any more; nothing happens to one that is not. The look-up itself goes on. */
void net_names_forget(struct net_names *names, struct net_name_wait *wait);
/** An IPv4 or IPv6 literal needs no look-up. false: it is a name. */
SMA_CHECKED bool net_names_literal(const char *host, const char *port,
                                   struct net_addresses *ret_addresses);

#endif
