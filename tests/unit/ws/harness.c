/* harness.c — see harness.h. */
#include "harness.h"

#include "sma/messages.h"
#include "support/patience.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

struct job
{
    struct job *next;
    void (*run)(void *user);
    void *user;
    bool is_done;
};

struct ws_harness
{
    struct sma_system *system;
    struct sma_ctx *ctx;
    struct sma_ws *ws;
    const char *ca_file;
    const struct sma_proxy *proxy;
    pthread_t supervisor;
    int stop_fd, status;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *jobs;
    uv_async_t async;
};

void ws_lock(struct ws_harness *harness)
{
    (void)pthread_mutex_lock(&harness->lock);
}

void ws_unlock(struct ws_harness *harness)
{
    (void)pthread_mutex_unlock(&harness->lock);
}

static void changed(struct ws_harness *harness)
{
    (void)pthread_cond_broadcast(&harness->changed);
}

/* -- the actor --------------------------------------------------------------------------------- */
static void on_async(uv_async_t *async)
{
    struct ws_harness *harness = async->data;
    for (;;) {
        ws_lock(harness);
        struct job *job = harness->jobs;
        if (job != NULL)
            harness->jobs = job->next;
        ws_unlock(harness);
        if (job == NULL)
            return;
        job->run(job->user);
        ws_lock(harness);
        job->is_done = true;
        changed(harness);
        ws_unlock(harness);
    }
}

static enum sma_err actor_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct ws_harness *harness = state;
    harness->ctx = ctx;
    harness->async.data = harness;
    CHECK_INT(0, uv_async_init(sma_ctx_loop(ctx), &harness->async, on_async));
    return sma_ws_open(
        ctx, &(struct sma_ws_options){.ca_file = harness->ca_file, .proxy = harness->proxy},
        &harness->ws, error);
}

static void actor_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
}

static void actor_stop(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    struct ws_harness *harness = state;
    sma_ws_close(harness->ws);
    harness->ws = NULL;
    uv_close((uv_handle_t *)&harness->async, NULL);
}

static const struct sma_actor_ops ops = {.name = "ws-test",
                                         .is_on_loop = true,
                                         .start = actor_start,
                                         .handle = actor_handle,
                                         .stop = actor_stop};

static void *supervise(void *argument)
{
    struct ws_harness *harness = argument;
    struct sma_supervise_options options = {.stop_fd = harness->stop_fd, .leaves_signals = true};
    harness->status = sma_system_supervise(harness->system, &options);
    return NULL;
}

struct ws_harness *ws_harness_start(const char *ca_file)
{
    return ws_harness_start_through(ca_file, NULL);
}

struct ws_harness *ws_harness_start_through(const char *ca_file, const struct sma_proxy *proxy)
{
    struct sma_error error = {0};
    struct ws_harness *harness = calloc(1, sizeof *harness);
    CHECK(harness != NULL);
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    CHECK_INT(0, pthread_mutex_init(&harness->lock, NULL));
    CHECK_INT(0, pthread_cond_init(&harness->changed, &attributes));
    (void)pthread_condattr_destroy(&attributes);
    harness->ca_file = ca_file;
    harness->proxy = proxy;
    harness->stop_fd = eventfd(0, EFD_CLOEXEC);
    CHECK(harness->stop_fd >= 0);
    harness->system = sma_system_create(&(struct sma_system_options){0});
    CHECK(harness->system != NULL);
    CHECK_OK(sma_system_add(harness->system, SMA_ACTOR_ADAPTER_0, &ops, harness));
    CHECK_OK(sma_system_start(harness->system, &error));
    CHECK_INT(0, pthread_create(&harness->supervisor, NULL, supervise, harness));
    return harness;
}

void ws_harness_stop(struct ws_harness *harness)
{
    uint64_t one = 1;
    CHECK_INT(sizeof one, write(harness->stop_fd, &one, sizeof one));
    CHECK_INT(0, pthread_join(harness->supervisor, NULL));
    CHECK_INT(0, harness->status);
    sma_system_destroy(harness->system);
    (void)close(harness->stop_fd);
    (void)pthread_mutex_destroy(&harness->lock);
    (void)pthread_cond_destroy(&harness->changed);
    free(harness);
}

static struct timespec in_good_time(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += PATIENCE_AWAIT_MS / 1000;
    return at;
}

void ws_on_actor(struct ws_harness *harness, void (*run)(void *user), void *user)
{
    struct job job = {.run = run, .user = user};
    struct timespec end = in_good_time();
    ws_lock(harness);
    struct job **last = &harness->jobs;
    while (*last != NULL)
        last = &(*last)->next;
    *last = &job;
    ws_unlock(harness);
    CHECK_INT(0, uv_async_send(&harness->async));
    ws_lock(harness);
    while (!job.is_done)
        CHECK_INT(0, pthread_cond_timedwait(&harness->changed, &harness->lock, &end));
    ws_unlock(harness);
}

void ws_wait(struct ws_harness *harness, bool (*holds)(void *user), void *user, const char *what)
{
    struct timespec end = in_good_time();
    ws_lock(harness);
    while (!holds(user))
        if (pthread_cond_timedwait(&harness->changed, &harness->lock, &end) != 0) {
            (void)fprintf(stderr, "waited in vain for: %s\n", what);
            exit(1);
        }
    ws_unlock(harness);
}

struct sma_ctx *ws_ctx_of(struct ws_harness *harness)
{
    return harness->ctx;
}

struct sma_ws *ws_of(struct ws_harness *harness)
{
    return harness->ws;
}

void ws_forget(struct ws_harness *harness)
{
    harness->ws = NULL;
}

static void run_cost(void *user)
{
    CHECK_INT(0, getrusage(RUSAGE_THREAD, user));
}

void ws_actor_cost(struct ws_harness *harness, long *ret_cpu_us, long *ret_switches)
{
    struct rusage usage;
    ws_on_actor(harness, run_cost, &usage);
    *ret_cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L +
                  usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    *ret_switches = usage.ru_nvcsw;
}

/* -- clients ----------------------------------------------------------------------------------- */
static void on_opened(void *user)
{
    struct client *client = user;
    ws_lock(client->harness);
    client->opened_count++;
    changed(client->harness);
    ws_unlock(client->harness);
    if (client->on_open != NULL)
        client->on_open(client);
}

static void on_message(void *user, struct sma_str bytes, bool is_binary, uint64_t read_ns)
{
    struct client *client = user;
    ws_lock(client->harness);
    client->message_count++;
    client->bytes_count += bytes.len;
    client->is_binary = is_binary;
    client->read_ns = read_ns;
    client->text_len = bytes.len;
    (void)snprintf(client->text, sizeof client->text, "%.*s",
                   bytes.len > 255 ? 255 : (int)bytes.len, bytes.len == 0 ? "" : bytes.ptr);
    for (size_t i = 0; i < bytes.len; i++)
        client->hash = (client->hash ^ (unsigned char)bytes.ptr[i]) * 1099511628211u;
    changed(client->harness);
    ws_unlock(client->harness);
    if (client->on_message != NULL)
        client->on_message(client);
}

static void on_closed(void *user, const struct sma_ws_closed *closed)
{
    struct client *client = user;
    struct sma_str diagnosis = sma_ws_closed_header(closed, "Handshake-Status");
    ws_lock(client->harness);
    void (*then)(struct client *) =
        client->on_closed; /* without one the client may go once it is unlocked */
    client->closed_count++;
    client->conn = NULL;
    client->closed = *closed;
    client->closed.head = client->closed.reason = (struct sma_str){0};
    (void)snprintf(client->reason, sizeof client->reason, "%.*s", (int)closed->reason.len,
                   closed->reason.len == 0 ? "" : closed->reason.ptr);
    (void)snprintf(client->diagnosis, sizeof client->diagnosis, "%.*s", (int)diagnosis.len,
                   diagnosis.ptr);
    changed(client->harness);
    ws_unlock(client->harness);
    if (then != NULL)
        then(client);
}

struct call
{
    struct client *client;
    const struct sma_ws_ask *ask;
    struct sma_str bytes;
    bool is_on;
    unsigned code;
    enum sma_err err;
};

static void run_try(void *user)
{
    struct call *call = user;
    struct sma_ws_ask ask = *call->ask;
    struct sma_ws_conn *conn = NULL;
    ask.opened = on_opened;
    ask.message = on_message;
    ask.closed = on_closed;
    ask.user = call->client;
    static const char *const kept[] = {"Handshake-Status"};
    ask.kept_headers = kept;
    ask.kept_header_count = SMA_COUNT_OF(kept);
    call->client->again = ask;
    call->client->again.headers = NULL;
    call->client->again.header_count = 0;
    call->err = sma_ws_connect(ws_of(call->client->harness), &ask, &conn);
    call->client->conn = conn;
}

enum sma_err client_try(struct ws_harness *harness, struct client *client,
                        const struct sma_ws_ask *ask)
{
    struct call call = {.client = client, .ask = ask};
    client->harness = harness;
    ws_on_actor(harness, run_try, &call);
    return call.err;
}

void client_connect(struct ws_harness *harness, struct client *client, const char *url)
{
    CHECK_OK(client_try(harness, client, &(struct sma_ws_ask){.url = url}));
}

static void run_send(void *user)
{
    struct call *call = user;
    CHECK(call->client->conn != NULL);
    call->err = sma_ws_send(call->client->conn, call->bytes, call->is_on);
}

enum sma_err client_send(struct client *client, struct sma_str bytes, bool is_binary)
{
    struct call call = {.client = client, .bytes = bytes, .is_on = is_binary};
    ws_on_actor(client->harness, run_send, &call);
    return call.err;
}

static void run_end(void *user)
{
    struct call *call = user;
    if (call->client->conn != NULL)
        sma_ws_end(call->client->conn, call->code);
}

void client_end(struct client *client, unsigned code)
{
    struct call call = {.client = client, .code = code};
    ws_on_actor(client->harness, run_end, &call);
}

static void run_pause(void *user)
{
    struct call *call = user;
    sma_ws_pause(call->client->conn, call->is_on);
}

void client_pause(struct client *client, bool is_paused)
{
    struct call call = {.client = client, .is_on = is_paused};
    ws_on_actor(client->harness, run_pause, &call);
}

static bool is_open_or_closed(void *user)
{
    struct client *client = user;
    return client->opened_count > 0 || client->closed_count > 0;
}

static bool is_closed(void *user)
{
    return ((struct client *)user)->closed_count > 0;
}

struct wanted
{
    struct client *client;
    unsigned count;
};

static bool has_messages(void *user)
{
    struct wanted *wanted = user;
    return wanted->client->message_count >= wanted->count || wanted->client->closed_count > 0;
}

void client_wait_open(struct client *client)
{
    ws_wait(client->harness, is_open_or_closed, client, "an open connection");
    if (CLIENT_GET(client, opened_count) == 0)
        (void)fprintf(stderr, "not open: %s\n", client->reason);
    CHECK_INT(1, CLIENT_GET(client, opened_count));
}

void client_wait_closed(struct client *client)
{
    ws_wait(client->harness, is_closed, client, "the end of a connection");
    CHECK_INT(1, CLIENT_GET(client, closed_count));
}

void client_wait_messages(struct client *client, unsigned count)
{
    struct wanted wanted = {client, count};
    ws_wait(client->harness, has_messages, &wanted, "messages");
    CHECK_INT(count, CLIENT_GET(client, message_count));
}

/* -- a second sma_ws that cannot be opened ----------------------------------------------------- */
struct try_open
{
    struct ws_harness *harness;
    const char *ca_file;
    struct sma_error *error;
    enum sma_err err;
};

static void run_try_open(void *user)
{
    struct try_open *call = user;
    struct sma_ws *ws = NULL;
    call->err = sma_ws_open(call->harness->ctx, &(struct sma_ws_options){.ca_file = call->ca_file},
                            &ws, call->error);
    sma_ws_close(ws);
}

enum sma_err ws_try_open(struct ws_harness *harness, const char *ca_file, struct sma_error *error)
{
    struct try_open call = {.harness = harness, .ca_file = ca_file, .error = error};
    ws_on_actor(harness, run_try_open, &call);
    return call.err;
}
