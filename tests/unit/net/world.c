#include "world.h"

#include "sma/messages.h"
#include "support/check.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

struct world_priv
{
    struct sma_system *system;
    pthread_t supervisor;
    int stop_pipe[2];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uv_async_t bell;
    void (*job)(struct world *world, void *user);
    void *user;
};

static void on_bell(uv_async_t *bell)
{
    struct world *world = bell->data;
    pthread_mutex_lock(&world->priv->lock);
    void (*job)(struct world * world, void *user) = world->priv->job;
    pthread_mutex_unlock(&world->priv->lock);
    if (job == NULL)
        return;
    job(world, world->priv->user);
    pthread_mutex_lock(&world->priv->lock);
    world->priv->job = NULL;
    pthread_cond_broadcast(&world->priv->changed);
    pthread_mutex_unlock(&world->priv->lock);
}

static enum sma_err on_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct world *world = state;
    world->ctx = ctx;
    CHECK(uv_async_init(sma_ctx_loop(ctx), &world->priv->bell, on_bell) == 0);
    world->priv->bell.data = world;
    return sma_net_open(ctx, &world->net, error);
}

static void on_message(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
}

static void on_stop(void *state, struct sma_ctx *ctx)
{
    struct world *world = state;
    (void)ctx;
    sma_net_close(world->net);
    uv_close((uv_handle_t *)&world->priv->bell, NULL);
}

static const struct sma_actor_ops ops = {
    .name = "net", .is_on_loop = true, .start = on_start, .handle = on_message, .stop = on_stop};

static void *supervise(void *argument)
{
    struct world_priv *priv = argument;
    struct sma_supervise_options options = {.stop_fd = priv->stop_pipe[0]};
    CHECK_INT(0, sma_system_supervise(priv->system, &options));
    return NULL;
}

void world_open(struct world *world)
{
    *world = (struct world){.server = server_create()};
    struct world_priv *priv = world->priv = calloc(1, sizeof *priv);
    world->replies = calloc(WORLD_ANSWER_COUNT_MAX, sizeof *world->replies);
    CHECK(priv != NULL && world->replies != NULL);
    pthread_mutex_init(&priv->lock, NULL);
    pthread_cond_init(&priv->changed, NULL);
    CHECK(pipe(priv->stop_pipe) == 0);
    struct sma_error error = {0};
    priv->system = sma_system_create(&(struct sma_system_options){0});
    CHECK(priv->system != NULL);
    CHECK_OK(sma_system_add(priv->system, SMA_ACTOR_ADAPTER_0, &ops, world));
    CHECK_OK(sma_system_start(priv->system, &error));
    CHECK(pthread_create(&priv->supervisor, NULL, supervise, priv) == 0);
}

void world_close(struct world *world)
{
    struct world_priv *priv = world->priv;
    CHECK(write(priv->stop_pipe[1], "x", 1) == 1);
    pthread_join(priv->supervisor, NULL);
    sma_system_destroy(priv->system);
    close(priv->stop_pipe[0]);
    close(priv->stop_pipe[1]);
    server_destroy(world->server);
    pthread_mutex_destroy(&priv->lock);
    pthread_cond_destroy(&priv->changed);
    free(world->replies);
    free(priv);
}

void world_run(struct world *world, void (*job)(struct world *world, void *user), void *user)
{
    struct world_priv *priv = world->priv;
    pthread_mutex_lock(&priv->lock);
    priv->job = job;
    priv->user = user;
    CHECK(uv_async_send(&priv->bell) == 0);
    while (priv->job != NULL)
        pthread_cond_wait(&priv->changed, &priv->lock);
    pthread_mutex_unlock(&priv->lock);
}

const struct reply *world_wait(struct world *world, size_t count)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    pthread_mutex_lock(&world->priv->lock);
    while (world->reply_count < count)
        CHECK(pthread_cond_timedwait(&world->priv->changed, &world->priv->lock, &end) == 0);
    const struct reply *reply = &world->replies[world->reply_count - 1];
    pthread_mutex_unlock(&world->priv->lock);
    return reply;
}

void world_done(void *user, const struct sma_net_answer *answer)
{
    struct world *world = user;
    pthread_mutex_lock(&world->priv->lock);
    CHECK(world->reply_count < WORLD_ANSWER_COUNT_MAX);
    struct reply *reply = &world->replies[world->reply_count++];
    reply->end = answer->end;
    reply->status = answer->status;
    reply->body_bytes = answer->body_bytes;
    reply->retry_after_ms = answer->retry_after_ms;
    snprintf(reply->body, sizeof reply->body, "%.*s", (int)answer->body.len, answer->body.ptr);
    snprintf(reply->log_id, sizeof reply->log_id, "%.*s", (int)answer->log_id.len,
             answer->log_id.ptr);
    snprintf(reply->error, sizeof reply->error, "%s", answer->error);
    pthread_cond_broadcast(&world->priv->changed);
    pthread_mutex_unlock(&world->priv->lock);
}

struct sma_net_ask world_ask(struct world *world, char url[128], const char *method,
                             const char *path)
{
    if (strstr(path, "://") != NULL)
        snprintf(url, 128, "%s", path);
    else
        snprintf(url, 128, "http://127.0.0.1:%d%s", server_port(world->server), path);
    return (struct sma_net_ask){
        .method = method, .url = url, .done = world_done, .user = world, .total_ms = 15000};
}

struct get
{
    const char *method, *path, *body;
};

static void start_get(struct world *world, void *user)
{
    const struct get *get = user;
    char url[128];
    struct sma_net_ask ask = world_ask(world, url, get->method, get->path);
    if (get->body != NULL)
        ask.body = sma_str(get->body);
    CHECK_OK(sma_net_ask(world->net, &ask, NULL));
}

const struct reply *world_get(struct world *world, const char *method, const char *path,
                              const char *body)
{
    struct get get = {method, path, body};
    size_t count = world->reply_count; /* nothing else is in flight */
    world_run(world, start_get, &get);
    return world_wait(world, count + 1);
}

static void read_wakeups(struct world *world, void *user)
{
    struct rusage usage;
    (void)world;
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
    *(long *)user = usage.ru_nvcsw;
}

long world_wakeups(struct world *world)
{
    long count = 0;
    world_run(world, read_wakeups, &count);
    return count;
}
