/*
 * probe_run.c — probes on an actor with a loop, as the adapters are: the whole of the product's
 * HTTP out, and nothing of the service.
 */
#include "probe_priv.h"

#include "sma/actor.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct prober
{
    struct probe_job *jobs;
    struct sma_probing *probings[SMA_PROBE_COUNT_MAX];
    size_t count, over_count;
    bool has_begun;
    int over_fd; /* readable when all are over */
};

static void tell_if_over(struct prober *prober)
{
    uint64_t one = 1;
    if (prober->has_begun && prober->over_count == prober->count)
        (void)!write(prober->over_fd, &one, sizeof one); /* of an eventfd: cannot fail */
}

static void on_over(void *user)
{
    struct prober *prober = user;
    prober->over_count++;
    tell_if_over(prober);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct prober *prober = state;
    (void)error;
    for (size_t i = 0; i < prober->count; i++) {
        struct probe_job *job = &prober->jobs[i];
        prober->probings[i] =
            sma_probing_begin(ctx, &(struct sma_probing_options){.name = job->name,
                                                                 .begin = job->begin,
                                                                 .user = job->user,
                                                                 .over = on_over,
                                                                 .over_user = prober,
                                                                 .result = job->result});
        if (prober->probings[i] != NULL)
            continue;
        probe_say(job->result, SMA_PROBE_ERROR, job->name, "out of memory or descriptors", "");
        prober->over_count++;
    }
    prober->has_begun = true;
    tell_if_over(prober);
    return SMA_ERR_OK;
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE)
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
}

static void stop(void *state, struct sma_ctx *ctx)
{
    struct prober *prober = state;
    (void)ctx;
    for (size_t i = 0; i < prober->count; i++)
        sma_probing_end(prober->probings[i]);
}

static const struct sma_actor_ops actor_ops = {
    .name = "probe", .is_on_loop = true, .start = start, .handle = handle, .stop = stop};

/* The system blocks the signals that its supervisor reads. Nobody reads them here: they do what
 * they do without us. */
static void let_signals_in(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* cannot fail with a set of its own */
}

static SMA_CHECKED enum sma_err run(struct prober *prober, struct sma_error *error)
{
    struct sma_system *system = sma_system_create(&(struct sma_system_options){0});
    if (system == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    enum sma_err err = sma_system_add(system, SMA_ACTOR_ADAPTER_0, &actor_ops, prober);
    if (err == SMA_ERR_OK)
        err = sma_system_start(system, error);
    if (err == SMA_ERR_OK) {
        let_signals_in();
        (void)!sma_system_supervise(
            system,
            &(struct sma_supervise_options){.stop_fd = prober->over_fd, .leaves_signals = true});
    }
    sma_system_destroy(system);
    return err;
}

void probe_run(struct probe_job *jobs, size_t count)
{
    struct prober prober = {.jobs = jobs, .count = count};
    struct sma_error error = {.text = "out of descriptors"};
    if (count == 0)
        return;
    prober.over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sma_log_set_level(SMA_LOG_ERROR); /* the life of this actor is nobody's news */
    enum sma_err err = prober.over_fd < 0 ? SMA_ERR_IO : run(&prober, &error);
    sma_log_set_level(SMA_LOG_DEBUG);
    for (size_t i = 0; err != SMA_ERR_OK && i < count; i++)
        probe_say(jobs[i].result, SMA_PROBE_ERROR, jobs[i].name, error.text, "");
    if (prober.over_fd >= 0)
        (void)close(prober.over_fd);
}
