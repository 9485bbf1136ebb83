/*
 * load_platform.h — what differs between the simulated platforms that put a service under load: how
 * one is begun, what people and chats are called there, what the service needs to know of it.
 *
 * Person i has the private chat i with the bot. Threads: one; the platform has its own.
 */
#ifndef SMA_LOAD_PLATFORM_H
#define SMA_LOAD_PLATFORM_H

#include "platform/fake_platform.h"

#include <jansson.h>

struct load_platform
{
    const char *name;
    void *(*start)(void);
    struct platform_client (*client)(void *fake);
    void (*stop)(void *fake);
    /* the platform's own limits on senders, and on the service's answers, are not what is measured
     */
    const char *const *setup; /* commands, NULL behind the last */
    json_t *(*adapter)(int port);
    json_t *(*person)(int person);                /* a command that makes them */
    json_t *(*say)(int person, const char *text); /* ... that makes them write */
    json_t *(*chat)(int person);                  /* {"chat"}: the chat, as `list` wants it */
    const char *ready;  /* a counter, or a flag of `counters`: the service listens */
    const char *queued; /* a counter: what it was not told, or has not confirmed */
};

/** NULL: there is none of that name. */
const struct load_platform *load_platform_find(const char *name);

#endif
