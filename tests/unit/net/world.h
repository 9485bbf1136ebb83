/*
 * world.h — an actor on a loop with an open net, and a way to run a function on its thread and to
 * wait for answers.
 */
#ifndef SMA_TEST_NET_WORLD_H
#define SMA_TEST_NET_WORLD_H

#include "server.h"
#include "sma/net.h"

#define WORLD_ANSWER_COUNT_MAX 4096

struct reply
{
    enum sma_net_end end;
    int status;
    char body[4096];
    uint64_t body_bytes;
    int64_t retry_after_ms;
    char log_id[128], error[512];
};

struct world
{
    struct server *server;
    struct sma_net *net; /* of the actor's thread */
    struct sma_ctx *ctx;
    struct reply *replies;
    size_t reply_count;
    struct world_priv *priv;
};

void world_open(struct world *world);
/** Ordered shutdown: the actor's stop closes the net. */
void world_close(struct world *world);
/** Run on the actor's thread; returns when it has run. */
void world_run(struct world *world, void (*job)(struct world *world, void *user), void *user);
/** Wait until so many answers are there (20 s, then the test fails) and give the latest one. */
const struct reply *world_wait(struct world *world, size_t count);
/** The done callback; user is the world. */
void world_done(void *user, const struct sma_net_answer *answer);
/** Actor's thread: POST JSON to this path of the server, filled in for changes. */
struct sma_net_ask world_ask(struct world *world, char url[128], const char *method,
                             const char *path);
/** From the test's thread: ask with this method and body, wait, give the answer. */
const struct reply *world_get(struct world *world, const char *method, const char *path,
                              const char *body);
/** Voluntary context switches of the actor's thread so far. */
long world_wakeups(struct world *world);

#endif
