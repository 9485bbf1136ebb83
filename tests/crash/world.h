/*
 * world.h — what the threads of the crash loop share: where the service is now, when to stop, what clients saw.
 */
#ifndef SMA_TEST_WORLD_H
#define SMA_TEST_WORLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct world
{
    char dir[256]; /* private folder: project/, clients.log, saw.log */
    char project[300];
    char socket[320];        /* of the scripted platform */
    char saw[320];           /* what the scripted platform delivered */
    atomic_int port;         /* 0 while the service is down */
    atomic_bool is_stopping; /* finish what was begun, begin nothing */
    atomic_uint_fast64_t accepted, answered, failures;
};

/** Append one line to clients.log. Any thread. */
void world_note(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A promise was broken as a client sees it: printed, noted, counted. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A seeded generator, one per thread. */
uint64_t world_random(uint64_t *state);
void world_sleep_ms(unsigned ms);

struct caller
{
    struct world *world;
    unsigned number;
    uint64_t seed;
};
/** One HTTP caller: numbered messages, each asked again under the same messageId until it is answered. */
void *caller_run(void *caller);
/** The scripted platform: delivers each event again until it is acknowledged, then never. */
void *platform_run(void *caller);

#endif
