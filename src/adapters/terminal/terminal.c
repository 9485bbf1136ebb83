/* terminal.c — the terminal adapter as an actor: start, messages, life cycle. See terminal.h for
 * the protocol. */
#include "terminal_priv.h"

#include "sma/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    (void)block; /* nothing to configure */
    struct terminal *terminal = calloc(1, sizeof *terminal);
    size_t size = strlen(config->state_dir) + sizeof "/" SMA_TERMINAL_SOCKET_NAME;
    if (terminal != NULL)
        terminal->socket_path = malloc(size);
    if (terminal == NULL || terminal->socket_path == NULL) {
        free(terminal);
        return sma_fail(error, SMA_ERR_NOMEM, "terminal adapter: out of memory");
    }
    terminal->config = config;
    terminal->project_dir = config->project_dir;
    snprintf(terminal->socket_path, size, "%s/" SMA_TERMINAL_SOCKET_NAME, config->state_dir);
    terminal->magic = TERMINAL_MAGIC;
    *ret_state = terminal;
    return SMA_ERR_OK;
}

static void destroy(void *state)
{
    struct terminal *terminal = state;
    if (terminal == NULL)
        return;
    SMA_ASSERT(terminal->magic == TERMINAL_MAGIC);
    terminal->magic = 0;
    sma_terminal_drop_held(terminal);
    free(terminal->socket_path);
    free(terminal);
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct terminal *terminal = state;
    SMA_ASSERT(terminal->magic == TERMINAL_MAGIC);
    terminal->ctx = ctx;
    terminal->started_ns = sma_ctx_now(ctx);
    int fd;
    SMA_TRY(sma_terminal_listen(terminal->socket_path, &fd, error));
    int status = uv_pipe_init(sma_ctx_loop(ctx), &terminal->listener, 0);
    terminal->is_listening = status == 0;
    terminal->listener.data = terminal;
    if (status == 0)
        status = uv_pipe_open(&terminal->listener, fd);
    if (status != 0)
        close(fd);
    else
        status = uv_listen((uv_stream_t *)&terminal->listener, SMA_TERMINAL_CLIENT_COUNT_MAX,
                           sma_terminal_on_connection);
    if (status == 0) {
        sma_link_up("terminal", sma_ctx_wall(ctx));
        return SMA_ERR_OK;
    }
    return sma_fail(error, SMA_ERR_IO, "terminal adapter: cannot listen on %.300s: %s",
                    terminal->socket_path, uv_strerror(status));
}

static void close_all(struct terminal *terminal)
{
    if (terminal->is_listening) {
        uv_close((uv_handle_t *)&terminal->listener, NULL);
        (void)unlink(
            terminal->socket_path); /* left behind it would only be replaced at the next start */
    }
    terminal->is_listening = false;
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++)
        sma_terminal_close_client(&terminal->clients[i]);
}

static void tell_intake(struct terminal *terminal)
{
    if (!terminal->is_intake_off || terminal->is_intake_told || terminal->ingress_open_count > 0)
        return;
    terminal->is_intake_told = true;
    sma_ctx_life_done(terminal->ctx, SMA_PHASE_INTAKE_OFF);
}

static void on_life(struct terminal *terminal, const struct sma_life *life)
{
    if (life->phase == SMA_PHASE_INTAKE_OFF) {
        terminal->is_intake_off = true;
        sma_terminal_let_held_go(terminal); /* the shutdown does not wait for terminals */
        tell_intake(terminal);
        return;
    }
    if (life->phase == SMA_PHASE_CLOSE)
        close_all(terminal);
    sma_ctx_life_done(terminal->ctx, life->phase);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct terminal *terminal = state;
    SMA_ASSERT(terminal->magic == TERMINAL_MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_ACCEPTED:
        sma_terminal_take_accepted(terminal, *msg, SMA_MSG_BODY(*msg, struct sma_accepted));
        tell_intake(terminal);
        return;
    case SMA_MSG_RESULT:
        sma_terminal_take_result(terminal, msg);
        return;
    case SMA_MSG_ATTEMPT:
        if (sma_terminal_hold(terminal, msg))
            return;
        sma_terminal_take_attempt(terminal, *msg, SMA_MSG_BODY(*msg, struct sma_attempt));
        return;
    case SMA_MSG_PROGRESS:
        sma_terminal_take_progress(terminal, SMA_MSG_BODY(*msg, struct sma_progress));
        return;
    case SMA_MSG_LIFE:
        on_life(terminal, SMA_MSG_BODY(*msg, struct sma_life));
        return;
    case SMA_MSG_RELOAD: /* nothing is configured here, but a welcome names the model */
        terminal->config = SMA_MSG_BODY(*msg, struct sma_reload)->config;
        return;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "terminal: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

/* Only while something waits for time is there a tick: an idle terminal adapter sleeps. */
static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct terminal *terminal = state;
    uint64_t now = sma_ctx_now(ctx);
    bool has_stalled = sma_terminal_check_stalled(terminal, now);
    bool has_held = sma_terminal_release_held(terminal, now);
    if (terminal->held_count > 0)
        sma_terminal_let_held_go(terminal);
    has_held = has_held || terminal->held_count > 0;
    sma_ctx_wake_at(ctx, has_stalled || has_held ? now + TERMINAL_TICK_NS : UINT64_MAX);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx; /* batch_end, which follows, looks at what waits */
}

static void stop(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    close_all(state);
}

static enum sma_err render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    /* A terminal shows text of any length as it is. Cards stay cards: the attempt makes a line of
     * their members. */
    if (row->text.len > 0)
        each(user, row->text);
    return SMA_ERR_OK;
}

static const struct sma_actor_ops actor_ops = {
    .name = "terminal",
    .is_on_loop = true,
    .start = start,
    .handle = handle,
    .batch_end = batch_end,
    .wake = wake,
    .stop = stop,
};

static const struct sma_params params = {.name = "terminal", .shared = &sma_block_params};

const struct sma_adapter_ops sma_terminal_adapter_ops = {
    .name = "terminal",
    .params = &params,
    .channel = "cli",
    .actor = &actor_ops,
    .renderer_version = 1,
    .create = create,
    .destroy = destroy,
    .render = render,
};
