/*
 * loop.c — the thread of an actor: the plain loop over its mailbox, or a libuv loop that its
 * doorbell wakes.
 *
 * Plain: drain a bounded batch, wake if due, batch_end, park. On a loop: the same once an
 * iteration, in the prepare hook, which runs after all callbacks and before the loop sleeps.
 */
#include "kernel_priv.h"

#include "sma/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define LOOP_CLOSE_MS 2000
#define STOP_BATCH_COUNT_MAX \
    1024 /* batches handled after the stop order: nobody sends any more by then */

struct actor_loop
{
    uv_loop_t loop;
    uv_poll_t bell;
    uv_timer_t timer; /* wake_at; after the stop order: the guard against handles left open */
    uv_prepare_t prepare;
    uv_idle_t busy; /* active while messages wait: the loop polls without sleeping */
    uint64_t armed_at_ns;
    struct sma_ctx *ctx;
};

static bool is_stopping(struct sma_ctx *ctx)
{
    return atomic_load_explicit(&ctx->is_stopping, memory_order_acquire);
}

/* One round. @return true when the mailbox may hold more. */
static bool run_round(struct sma_ctx *ctx)
{
    size_t count = sma_kernel_drain(ctx, SMA_BATCH_COUNT_MAX);
    sma_kernel_wake_if_due(ctx);
    sma_kernel_batch_end(ctx);
    sma_kernel_set_activity(ctx, ACTIVITY_IDLE);
    return count == SMA_BATCH_COUNT_MAX;
}

static void run_plain(struct sma_ctx *ctx)
{
    while (!is_stopping(ctx))
        if (!run_round(ctx) && !ctx->is_batch_end_wanted && !is_stopping(ctx))
            sma_mailbox_wait(ctx->box, ctx->wake_at_ns);
}

/* -- on a libuv loop --------------------------------------------------------------------------- */
struct uv_loop_s *sma_ctx_loop(struct sma_ctx *ctx)
{
    return ctx->loop == NULL ? NULL : &ctx->loop->loop;
}

static void on_bell(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct actor_loop *loop = poll->data;
    sma_mailbox_awake(loop->ctx->box); /* the messages are taken in on_prepare */
}

static void on_timer(uv_timer_t *timer)
{
    struct actor_loop *loop = timer->data;
    loop->armed_at_ns =
        UINT64_MAX; /* on_prepare looks at the clock and arms it again if it was early */
}

static void on_busy(uv_idle_t *idle)
{
    (void)idle;
}

static void arm_timer(struct actor_loop *loop)
{
    uint64_t at = loop->ctx->wake_at_ns;
    if (at == loop->armed_at_ns)
        return;
    loop->armed_at_ns = at;
    if (at == UINT64_MAX) {
        (void)uv_timer_stop(&loop->timer); /* cannot fail on an initialised timer */
        return;
    }
    uint64_t now = sma_ctx_now(loop->ctx);
    uint64_t wait_ms = at > now ? (at - now + 999999) / 1000000 : 0;
    uv_update_time(&loop->loop); /* libuv counts from the time it last looked */
    SMA_ASSERT(uv_timer_start(&loop->timer, on_timer, sma_clock_wait_ms(wait_ms), 0) == 0);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct actor_loop *loop = prepare->data;
    struct sma_ctx *ctx = loop->ctx;
    bool has_more = run_round(ctx);
    if (is_stopping(ctx)) {
        uv_stop(&loop->loop);
        return;
    }
    arm_timer(loop);
    if (has_more || ctx->is_batch_end_wanted || !sma_mailbox_prepare_sleep(ctx->box))
        (void)uv_idle_start(&loop->busy, on_busy); /* cannot fail: the callback is not NULL */
    else
        (void)uv_idle_stop(&loop->busy);
}

static enum sma_err loop_open(struct sma_ctx *ctx, struct sma_error *error)
{
    struct actor_loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the event loop of %s", ctx->ops->name);
    int status = uv_loop_init(&loop->loop);
    if (status != 0) {
        free(loop);
        return sma_fail(error, SMA_ERR_IO, "cannot create the event loop of %s: %s", ctx->ops->name,
                        uv_strerror(status));
    }
    loop->ctx = ctx;
    loop->armed_at_ns = UINT64_MAX;
    loop->bell.data = loop->timer.data = loop->prepare.data = loop->busy.data = loop;
    (void)uv_timer_init(&loop->loop, &loop->timer); /* these three cannot fail */
    (void)uv_prepare_init(&loop->loop, &loop->prepare);
    (void)uv_idle_init(&loop->loop, &loop->busy);
    status = uv_poll_init(&loop->loop, &loop->bell, sma_mailbox_fd(ctx->box));
    SMA_ASSERT(status == 0); /* an eventfd of our own, non-blocking, not yet watched */
    SMA_ASSERT(uv_poll_start(&loop->bell, UV_READABLE, on_bell) == 0);
    SMA_ASSERT(uv_prepare_start(&loop->prepare, on_prepare) == 0);
    ctx->loop = loop;
    return SMA_ERR_OK;
}

static void on_guard(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* After ops->stop: let its handles finish closing, but not for ever. */
static void loop_close(struct sma_ctx *ctx)
{
    struct actor_loop *loop = ctx->loop;
    uv_close((uv_handle_t *)&loop->bell, NULL);
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->busy, NULL);
    uv_update_time(&loop->loop);
    SMA_ASSERT(uv_timer_start(&loop->timer, on_guard, LOOP_CLOSE_MS, 0) == 0);
    uv_unref((uv_handle_t *)&loop->timer);
    (void)uv_run(&loop->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&loop->timer, NULL);
    (void)uv_run(&loop->loop, UV_RUN_NOWAIT);
    ctx->loop = NULL;
    if (uv_loop_close(&loop->loop) != 0) {
        sma_ctx_log(ctx, SMA_LOG_WARN, "%s left handles open on its event loop", ctx->ops->name);
        return; /* they point into the loop: it is not freed */
    }
    free(loop);
}

static void run_loop(struct sma_ctx *ctx)
{
    while (!is_stopping(ctx))
        (void)uv_run(&ctx->loop->loop,
                     UV_RUN_DEFAULT); /* returns on uv_stop; actors may call that too */
}

/* -- the thread -------------------------------------------------------------------------------- */
static enum sma_err start_actor(struct sma_ctx *ctx)
{
    if (ctx->ops->is_on_loop) {
        enum sma_err err = loop_open(ctx, &ctx->start_error);
        if (err != SMA_ERR_OK)
            return err;
    }
    if (ctx->ops->start == NULL)
        return SMA_ERR_OK;
    sma_kernel_set_activity(ctx, ACTIVITY_HANDLE);
    enum sma_err err = ctx->ops->start(ctx->state, ctx, &ctx->start_error);
    sma_kernel_set_activity(ctx, ACTIVITY_IDLE);
    return err;
}

void *sma_kernel_thread(void *argument)
{
    struct sma_ctx *ctx = argument;
    char name[16];
    (void)snprintf(name, sizeof name, "%s", ctx->ops->name); /* the kernel shows 15 bytes */
    (void)pthread_setname_np(pthread_self(), name);
    enum sma_err err = ctx->start_err = start_actor(ctx);
    ctx->has_started = err == SMA_ERR_OK;
    sem_post(&ctx->start_is_over);
    if (err == SMA_ERR_OK) {
        if (ctx->loop != NULL)
            run_loop(ctx);
        else
            run_plain(ctx);
        for (int i = 0; i < STOP_BATCH_COUNT_MAX && run_round(ctx); i++) {
        }
    }
    sma_mailbox_close(ctx->box);
    if (err == SMA_ERR_OK && ctx->ops->stop != NULL)
        ctx->ops->stop(ctx->state, ctx);
    if (ctx->loop != NULL)
        loop_close(ctx);
    return NULL;
}
