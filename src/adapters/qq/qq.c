/* qq.c — the adapter as an actor: life cycle, messages to their parts, one wake time for all of
 * them. */
#include "qq_priv.h"

#include "adapters/common/settings.h"
#include "runtime/json/json_arena.h"

#include <stdio.h>
#include <stdlib.h>

/* -- made and unmade --------------------------------------------------------------------------- */
static void destroy(void *state)
{
    struct qq *qq = state;
    if (qq == NULL)
        return;
    SMA_ASSERT(qq->magic == QQ_MAGIC);
    qq->magic = 0;
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++)
        qq_session_fini(&qq->shards[i].session);
    free(qq->shards);
    free(qq->asks);
    qq_settings_fini(&qq->settings);
    explicit_bzero(&qq->token.token, sizeof qq->token.token);
    if (qq->block_json != NULL)
        explicit_bzero(qq->block_json, strlen(qq->block_json)); /* the secret may stand in it */
    free(qq->block_json);
    free(qq);
}

static SMA_CHECKED enum sma_err make_shards(struct qq *qq)
{
    unsigned count = qq->settings.shard_count;
    qq->shards = calloc(count, sizeof *qq->shards);
    if (qq->shards == NULL)
        return SMA_ERR_NOMEM;
    for (unsigned i = 0; i < count; i++) {
        struct qq_shard *shard = &qq->shards[i];
        shard->qq = qq;
        shard->index = i;
        shard->connect_due_ns = UINT64_MAX;
        snprintf(shard->cursor_name, sizeof shard->cursor_name, "qq.%u.seq", i);
        if (qq_session_init(&shard->session, qq->settings.intents) != SMA_ERR_OK)
            return SMA_ERR_NOMEM;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err make_parts(struct qq *qq, const char *json, struct sma_error *error)
{
    qq->block_json = strdup(json);
    qq->asks = calloc(QQ_ASK_COUNT_MAX, sizeof *qq->asks);
    if (qq->block_json == NULL || qq->asks == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "qq adapter: out of memory");
    SMA_TRY(qq_settings_read(&qq->settings, qq->config->project_dir, json, error));
    if (!qq->settings.is_webhook && make_shards(qq) != SMA_ERR_OK)
        return sma_fail(error, SMA_ERR_NOMEM, "qq adapter: out of memory");
    return SMA_ERR_OK;
}

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    struct qq *qq = calloc(1, sizeof *qq);
    if (qq == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "qq adapter: out of memory");
    sma_json_arena_install();
    qq->magic = QQ_MAGIC;
    qq->config = config;
    qq->bot_due_ns = qq->token.due_ns = UINT64_MAX;
    qq_capture_begin(qq);
    enum sma_err err =
        make_parts(qq, block == NULL || block->json == NULL ? "" : block->json, error);
    if (err != SMA_ERR_OK) {
        destroy(qq);
        return err;
    }
    *ret_state = qq;
    return SMA_ERR_OK;
}

static void configure(const void *state, struct sma_capabilities *capabilities)
{
    const struct qq *qq = state;
    capabilities->adapter_per_second = qq->settings.per_second;
    capabilities->adapter_burst = qq->settings.per_second;
    capabilities->chat_per_minute = qq->settings.per_chat_minute;
}

static bool takes_webhooks(const void *state)
{
    return ((const struct qq *)state)->settings.is_webhook;
}

/* -- life -------------------------------------------------------------------------------------- */
static void stop(void *state, struct sma_ctx *ctx);

static enum sma_err open_all(struct qq *qq, struct sma_error *error)
{
    const char *ca_file = qq->settings.ca_file[0] == '\0' ? NULL : qq->settings.ca_file;
    struct sma_ws_options options = {.ca_file = ca_file};
    enum sma_err err = sma_net_open(qq->ctx, &qq->net, error);
    if (err == SMA_ERR_OK && ca_file != NULL && sma_net_trust(qq->net, ca_file) != SMA_ERR_OK)
        err = sma_fail(error, SMA_ERR_NOMEM, "qq adapter: out of memory");
    if (err == SMA_ERR_OK && !qq->settings.is_webhook)
        err = sma_ws_open(qq->ctx, &options, &qq->ws, error);
    if (err == SMA_ERR_IO)
        return sma_settings_refuse_ca_file("qq", error);
    if (err != SMA_ERR_OK)
        return err;
    qq->fetches = sma_fetches_create(qq->ctx, qq->config->project_dir, &qq_fetch_ops, qq);
    return qq->fetches == NULL ? sma_fail(error, SMA_ERR_NOMEM, "qq adapter: out of memory")
                               : SMA_ERR_OK;
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct qq *qq = state;
    SMA_ASSERT(qq->magic == QQ_MAGIC);
    qq->ctx = ctx;
    enum sma_err err = open_all(qq, error);
    if (err != SMA_ERR_OK) {
        stop(qq, ctx);
        return err;
    }
    sma_fetches_clean(qq->fetches);
    qq_token_begin(qq);
    if (qq->settings.is_webhook)
        qq_webhook_begin(qq);
    else
        qq_gateway_begin(qq);
    return SMA_ERR_OK;
}

static void close_all(struct qq *qq)
{
    if (qq->is_closed)
        return;
    qq->is_closed = qq->is_intake_off = true;
    qq_gateway_close(qq);
    sma_fetches_close(qq->fetches);
    qq_attempts_drop(qq);
    sma_ws_close(qq->ws);
    qq->ws = NULL;
    sma_net_close(qq->net);
    qq->net = NULL;
    qq_calls_forget(qq);
}

void qq_tell_intake(struct qq *qq)
{
    if (!qq->is_intake_off || qq->is_intake_told || qq->ask_count > 0)
        return;
    qq->is_intake_told = true;
    qq_gateway_keep(qq);
    sma_ctx_life_done(qq->ctx, SMA_PHASE_INTAKE_OFF);
}

static void on_life(struct qq *qq, const struct sma_life *life)
{
    if (life->phase == SMA_PHASE_INTAKE_OFF) {
        qq->is_intake_off = true; /* what is not finished comes again and is known by its claim */
        qq_gateway_stop_reading(qq);
        qq_tell_intake(qq);
        return;
    }
    if (life->phase == SMA_PHASE_CLOSE)
        close_all(qq);
    sma_ctx_life_done(qq->ctx, life->phase);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct qq *qq = state;
    SMA_ASSERT(qq->magic == QQ_MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_ACCEPTED:
        qq_on_accepted(qq, *msg, SMA_MSG_BODY(*msg, struct sma_accepted));
        return;
    case SMA_MSG_ATTEMPT:
        qq_attempt_take(qq, msg);
        return;
    case SMA_MSG_PROGRESS: /* typing may cost one of the few answers that a message allows */
        return;
    case SMA_MSG_PREPARE:
        sma_fetches_on_message(qq->fetches, msg);
        return;
    case SMA_MSG_WEBHOOK:
        qq_on_webhook(qq, *msg, SMA_MSG_BODY(*msg, struct sma_webhook));
        return;
    case SMA_MSG_QUERY_RESULT:
        qq_gateway_on_cursor(qq, (*msg)->ask_id, SMA_MSG_BODY(*msg, struct sma_query_result)->json);
        return;
    case SMA_MSG_LIFE:
        on_life(qq, SMA_MSG_BODY(*msg, struct sma_life));
        return;
    case SMA_MSG_RELOAD:
        sma_adapter_tell_reload(ctx, SMA_MSG_BODY(*msg, struct sma_reload)->config, "qq",
                                qq->block_json);
        return;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "qq: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

/* Everything that waits for time says when; on a quiet link that is the heartbeat, and the token's
 * renewal. */
static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct qq *qq = state;
    if (qq->is_closed) {
        sma_ctx_wake_at(ctx, UINT64_MAX);
        return;
    }
    uint64_t now_ns = sma_ctx_now(ctx);
    qq_token_tick(qq, now_ns);
    qq_webhook_tick(qq, now_ns);
    const uint64_t due_ns[] = {
        qq_gateway_tick(qq, now_ns),
        qq_intake_tick(qq, now_ns),
        sma_fetches_tick(qq->fetches, now_ns),
        qq_calls_tick(qq, now_ns),
        qq->token.due_ns,
        qq->bot_due_ns,
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
    struct qq *qq = state;
    (void)ctx;
    close_all(qq);
    sma_fetches_destroy(qq->fetches);
    qq->fetches = NULL;
}

static const struct sma_actor_ops actor_ops = {
    .name = "qq",
    .is_on_loop = true,
    .start = start,
    .handle = handle,
    .batch_end = batch_end,
    .wake = wake,
    .stop = stop,
};

const struct sma_adapter_ops sma_qq_adapter_ops = {
    .name = "qq",
    .channel = "qq",
    .actor = &actor_ops,
    /* Idempotent are answers in c2c and group alone: each attempt's outcome says whether a repeat
     * of it is hidden. */
    .capabilities = {.has_buttons = true,
                     .has_markdown = true,
                     .has_files = true,
                     .counts_replies = true,
                     .part_chars_max = QQ_PART_UNITS_LARGE,
                     .chat_per_minute = 20,
                     .chat_burst = 5,
                     .adapter_per_second = 50,
                     .adapter_burst = 50},
    .renderer_version = QQ_RENDERER_VERSION,
    .is_chinese_by_default = true,
    .create = create,
    .destroy = destroy,
    .render = qq_render,
    .configure = configure,
    .is_group = qq_is_group,
    .takes_webhooks = takes_webhooks,
};
