/* feishu.c — the adapter as an actor: life cycle, messages to their parts, one wake time for all of
 * them. */
#include "feishu_priv.h"

#include "adapters/common/answers.h"
#include "adapters/common/settings.h"
#include "runtime/json/json_arena.h"

#include <stdlib.h>

/* -- made and unmade --------------------------------------------------------------------------- */
static void destroy(void *state)
{
    struct feishu *feishu = state;
    if (feishu == NULL)
        return;
    SMA_ASSERT(feishu->magic == FEISHU_MAGIC);
    feishu->magic = 0;
    feishu_settings_fini(&feishu->settings);
    if (feishu->block_json != NULL)
        explicit_bzero(feishu->block_json,
                       strlen(feishu->block_json)); /* the secret stands in it */
    free(feishu->block_json);
    feishu_fragments_destroy(feishu->socket.fragments);
    free(feishu->progress.runs);
    free(feishu);
}

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    struct feishu *feishu = calloc(1, sizeof *feishu);
    if (feishu == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "feishu adapter: out of memory");
    sma_json_arena_install();
    feishu->magic = FEISHU_MAGIC;
    feishu->config = config;
    feishu->tenant.due_ns = feishu->identity.due_ns = UINT64_MAX;
    feishu->socket.due_ns = feishu->socket.ping_due_ns = feishu->socket.probe_due_ns = UINT64_MAX;
    feishu->socket.config = FEISHU_CLIENT_CONFIG_DEFAULT;
    for (size_t i = 0; i < FEISHU_ATTEMPT_COUNT_MAX; i++)
        feishu->attempts[i].fd = -1;
    const char *json = block == NULL || block->json == NULL ? "" : block->json;
    feishu->block_json = strdup(json);
    feishu->socket.fragments = feishu_fragments_create();
    enum sma_err err =
        feishu->block_json == NULL || feishu->socket.fragments == NULL
            ? sma_fail(error, SMA_ERR_NOMEM, "feishu adapter: out of memory")
            : feishu_settings_read(&feishu->settings, config->project_dir, json, error);
    if (err != SMA_ERR_OK) {
        destroy(feishu);
        return err;
    }
    *ret_state = feishu;
    return SMA_ERR_OK;
}

/* A limit that the core reads as "none" for a group means "as the chats": a limit nobody reaches
 * says it. */
static void configure(const void *state, struct sma_capabilities *capabilities)
{
    const struct feishu *feishu = state;
    const struct feishu_settings *settings = &feishu->settings;
    capabilities->adapter_per_second = settings->per_second;
    capabilities->adapter_burst = settings->per_second;
    capabilities->chat_per_minute = settings->per_chat_minute;
    capabilities->group_per_minute =
        settings->per_group_minute == 0 ? UINT32_MAX : settings->per_group_minute;
}

static bool takes_webhooks(const void *state)
{
    const struct feishu *feishu = state;
    return feishu->settings.is_webhook;
}

/* -- life -------------------------------------------------------------------------------------- */
static void stop(void *state, struct sma_ctx *ctx);

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct feishu *feishu = state;
    SMA_ASSERT(feishu->magic == FEISHU_MAGIC);
    feishu->ctx = ctx;
    const char *ca_file = feishu->settings.ca_file[0] == '\0' ? NULL : feishu->settings.ca_file;
    enum sma_err err = sma_net_open(ctx, &feishu->net, error);
    if (err == SMA_ERR_OK)
        err = sma_ws_open(ctx, &(struct sma_ws_options){.ca_file = ca_file}, &feishu->ws, error);
    if (err == SMA_ERR_IO)
        err = sma_settings_refuse_ca_file("feishu", error);
    if (err == SMA_ERR_OK && ca_file != NULL)
        err = sma_net_trust(feishu->net, ca_file);
    if (err == SMA_ERR_OK) {
        feishu->fetches =
            sma_fetches_create(ctx, feishu->config->project_dir, &feishu_fetch_ops, feishu);
        err = feishu->fetches == NULL ? SMA_ERR_NOMEM : feishu_progress_open(feishu);
    }
    if (err == SMA_ERR_NOMEM)
        (void)sma_fail(error, err, "feishu adapter: out of memory");
    if (err != SMA_ERR_OK) {
        stop(feishu, ctx);
        return err;
    }
    sma_fetches_clean(feishu->fetches);
    feishu_token_begin(feishu);
    return SMA_ERR_OK;
}

static void close_all(struct feishu *feishu)
{
    if (feishu->is_closed)
        return;
    feishu->is_closed = feishu->is_intake_off = true;
    sma_fetches_close(feishu->fetches);
    feishu_attempts_drop(feishu);
    feishu_progress_drop(feishu);
    feishu_intake_drop(feishu);
    sma_ws_close(feishu->ws);
    feishu->ws = NULL;
    feishu->socket.conn = NULL;
    feishu->socket.state = FEISHU_SOCKET_IDLE;
    sma_net_close(feishu->net);
    feishu->net = NULL;
    feishu_calls_forget(feishu);
    feishu_token_stop(feishu);
}

void feishu_tell_intake(struct feishu *feishu)
{
    if (!feishu->is_intake_off || feishu->is_intake_told || feishu->ask_count > 0)
        return;
    feishu->is_intake_told = true;
    sma_ctx_life_done(feishu->ctx, SMA_PHASE_INTAKE_OFF);
}

static void on_life(struct feishu *feishu, const struct sma_life *life)
{
    if (life->phase == SMA_PHASE_INTAKE_OFF) {
        feishu->is_intake_off = true;
        feishu_socket_leave(
            feishu); /* what was not acknowledged comes again and is known by its claim */
        feishu_tell_intake(feishu);
        return;
    }
    if (life->phase == SMA_PHASE_CLOSE)
        close_all(feishu);
    sma_ctx_life_done(feishu->ctx, life->phase);
}

void feishu_tell_scope(struct feishu *feishu, const char *error)
{
    if (sma_adapter_is_worth_telling(++feishu->scope_count))
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN, "feishu: %s (%u times)", error, feishu->scope_count);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct feishu *feishu = state;
    SMA_ASSERT(feishu->magic == FEISHU_MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_ACCEPTED:
        feishu_on_accepted(feishu, *msg, SMA_MSG_BODY(*msg, struct sma_accepted));
        return;
    case SMA_MSG_ATTEMPT:
        feishu_attempt_take(feishu, msg);
        return;
    case SMA_MSG_PROGRESS:
        feishu_progress_take(feishu, msg);
        return;
    case SMA_MSG_PREPARE:
        sma_fetches_on_message(feishu->fetches, msg);
        return;
    case SMA_MSG_WEBHOOK:
        feishu_on_webhook(feishu, *msg, SMA_MSG_BODY(*msg, struct sma_webhook));
        return;
    case SMA_MSG_LIFE:
        on_life(feishu, SMA_MSG_BODY(*msg, struct sma_life));
        return;
    case SMA_MSG_RELOAD:
        sma_adapter_tell_reload(ctx, SMA_MSG_BODY(*msg, struct sma_reload)->config, "feishu",
                                feishu->block_json);
        return;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "feishu: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

/* Everything that waits for time says when. */
static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct feishu *feishu = state;
    if (feishu->is_closed) {
        sma_ctx_wake_at(ctx, UINT64_MAX);
        return;
    }
    uint64_t now_ns = sma_ctx_now(ctx);
    const uint64_t due_ns[] = {
        feishu_token_tick(feishu, now_ns),    feishu_calls_tick(feishu, now_ns),
        feishu_socket_tick(feishu, now_ns),   sma_fetches_tick(feishu->fetches, now_ns),
        feishu_progress_tick(feishu, now_ns),
    };
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < SMA_COUNT_OF(due_ns); i++)
        next_ns = due_ns[i] < next_ns ? due_ns[i] : next_ns;
    sma_ctx_wake_at(ctx, next_ns);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx; /* batch_end, which follows, looks at what is due */
}

static void stop(void *state, struct sma_ctx *ctx)
{
    struct feishu *feishu = state;
    (void)ctx;
    close_all(feishu);
    sma_fetches_destroy(feishu->fetches);
    feishu->fetches = NULL;
}

static const struct sma_actor_ops actor_ops = {
    .name = "feishu",
    .is_on_loop = true,
    .start = start,
    .handle = handle,
    .batch_end = batch_end,
    .wake = wake,
    .stop = stop,
};

const struct sma_adapter_ops sma_feishu_adapter_ops = {
    .name = "feishu",
    .channel = "feishu",
    .actor = &actor_ops,
    .capabilities = {.has_buttons = true,
                     .has_cards = true,
                     .has_threads = true,
                     .has_edits = true,
                     .has_markdown = true,
                     .has_files = true,
                     .has_reactions = true,
                     .has_idempotency = true,
                     .chat_per_minute = 300,
                     .chat_burst = 5,
                     .group_per_minute = 300,
                     .adapter_per_second = 50,
                     .adapter_burst = 50},
    .renderer_version = FEISHU_RENDERER_VERSION,
    .is_chinese_by_default = true,
    .create = create,
    .destroy = destroy,
    .render = feishu_render,
    .configure = configure,
    .is_group = feishu_is_group,
    .takes_webhooks = takes_webhooks,
    .key = feishu_key,
};
