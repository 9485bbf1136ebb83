/* telegram.c — the adapter as an actor: life cycle, messages to their parts, one wake time for all
 * of them. */
#include "telegram_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* -- made and unmade --------------------------------------------------------------------------- */
static void destroy(void *state)
{
    struct telegram *telegram = state;
    if (telegram == NULL)
        return;
    SMA_ASSERT(telegram->magic == TELEGRAM_MAGIC);
    telegram->magic = 0;
    telegram_settings_fini(&telegram->settings);
    if (telegram->block_json != NULL)
        explicit_bzero(telegram->block_json,
                       strlen(telegram->block_json)); /* the token stands in it */
    free(telegram->block_json);
    free(telegram->runs);
    free(telegram);
}

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    struct telegram *telegram = calloc(1, sizeof *telegram);
    if (telegram == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "telegram adapter: out of memory");
    telegram->magic = TELEGRAM_MAGIC;
    telegram->config = config;
    telegram->bot_due_ns = telegram->poll.due_ns = telegram->progress_due_ns = UINT64_MAX;
    for (size_t i = 0; i < TELEGRAM_ATTEMPT_COUNT_MAX; i++)
        telegram->attempts[i].fd = -1;
    const char *json = block == NULL || block->json == NULL ? "" : block->json;
    telegram->block_json = strdup(json);
    telegram->runs = calloc(TELEGRAM_RUN_COUNT_MAX, sizeof *telegram->runs);
    enum sma_err err = telegram->block_json == NULL || telegram->runs == NULL
                           ? sma_fail(error, SMA_ERR_NOMEM, "telegram adapter: out of memory")
                           : telegram_settings_read(&telegram->settings, json, error);
    if (err != SMA_ERR_OK) {
        destroy(telegram);
        return err;
    }
    *ret_state = telegram;
    return SMA_ERR_OK;
}

/* A limit that the core reads as "none" for a group means "as the chats": a limit nobody reaches
 * says it. */
static void configure(const void *state, struct sma_capabilities *capabilities)
{
    const struct telegram *telegram = state;
    const struct telegram_settings *settings = &telegram->settings;
    capabilities->adapter_per_second = settings->per_second;
    capabilities->adapter_burst = settings->per_second;
    capabilities->chat_per_minute = settings->per_chat_minute;
    capabilities->group_per_minute =
        settings->per_group_minute == 0 ? UINT32_MAX : settings->per_group_minute;
}

/* -- life -------------------------------------------------------------------------------------- */
static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct telegram *telegram = state;
    SMA_ASSERT(telegram->magic == TELEGRAM_MAGIC);
    telegram->ctx = ctx;
    SMA_TRY(sma_net_open(ctx, &telegram->net, error));
    telegram_prepare_clean(telegram);
    telegram_bot_begin(telegram);
    return SMA_ERR_OK;
}

static void close_all(struct telegram *telegram)
{
    if (telegram->is_closed)
        return;
    telegram->is_closed = telegram->is_intake_off = true;
    telegram_poll_stop(telegram);
    telegram_prepare_drop(telegram);
    telegram_attempts_drop(telegram);
    telegram_progress_drop(telegram);
    sma_net_close(telegram->net);
    telegram->net = NULL;
    telegram_calls_forget(telegram);
}

void telegram_tell_intake(struct telegram *telegram)
{
    if (!telegram->is_intake_off || telegram->is_intake_told || telegram->ask_count > 0)
        return;
    telegram->is_intake_told = true;
    sma_ctx_life_done(telegram->ctx, SMA_PHASE_INTAKE_OFF);
}

static void on_life(struct telegram *telegram, const struct sma_life *life)
{
    if (life->phase == SMA_PHASE_INTAKE_OFF) {
        telegram->is_intake_off = true;
        telegram_poll_stop(
            telegram); /* what was not confirmed comes again and is known by its claim */
        telegram_tell_intake(telegram);
        return;
    }
    if (life->phase == SMA_PHASE_CLOSE)
        close_all(telegram);
    sma_ctx_life_done(telegram->ctx, life->phase);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct telegram *telegram = state;
    SMA_ASSERT(telegram->magic == TELEGRAM_MAGIC);
    switch ((*msg)->kind) {
    case SMA_MSG_ACCEPTED:
        telegram_on_accepted(telegram, *msg, SMA_MSG_BODY(*msg, struct sma_accepted));
        return;
    case SMA_MSG_ATTEMPT:
        telegram_attempt_take(telegram, msg);
        return;
    case SMA_MSG_PROGRESS:
        telegram_progress_take(telegram, msg);
        return;
    case SMA_MSG_PREPARE:
        telegram_prepare_take(telegram, msg);
        return;
    case SMA_MSG_WEBHOOK:
        telegram_on_webhook(telegram, *msg, SMA_MSG_BODY(*msg, struct sma_webhook));
        return;
    case SMA_MSG_QUERY_RESULT:
        telegram_bot_take_cursor(telegram, SMA_MSG_BODY(*msg, struct sma_query_result)->json);
        return;
    case SMA_MSG_LIFE:
        on_life(telegram, SMA_MSG_BODY(*msg, struct sma_life));
        return;
    case SMA_MSG_RELOAD:
        sma_adapter_tell_reload(ctx, SMA_MSG_BODY(*msg, struct sma_reload)->config, "telegram",
                                telegram->block_json);
        return;
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "telegram: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

/* Everything that waits for time says when; with nothing but a poll in flight there is no such
 * time. */
static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct telegram *telegram = state;
    if (telegram->is_closed) {
        sma_ctx_wake_at(ctx, UINT64_MAX);
        return;
    }
    uint64_t now_ns = sma_ctx_now(ctx);
    telegram_bot_tick(telegram, now_ns);
    telegram_poll_tick(telegram, now_ns);
    const uint64_t due_ns[] = {
        telegram_intake_tick(telegram, now_ns),
        telegram_prepare_tick(telegram, now_ns),
        telegram_progress_tick(telegram, now_ns),
        telegram->bot_due_ns,
        telegram->poll.due_ns,
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
    (void)ctx;
    close_all(state);
}

static bool takes_webhooks(const void *state)
{
    const struct telegram *telegram = state;
    return telegram->settings.is_webhook;
}

static const struct sma_actor_ops actor_ops = {
    .name = "telegram",
    .is_on_loop = true,
    .start = start,
    .handle = handle,
    .batch_end = batch_end,
    .wake = wake,
    .stop = stop,
};

const struct sma_adapter_ops sma_telegram_adapter_ops = {
    .name = "telegram",
    .channel = "telegram",
    .actor = &actor_ops,
    .capabilities = {.has_buttons = true,
                     .has_threads = true,
                     .has_edits = true,
                     .has_markdown = true,
                     .has_files = true,
                     .has_reactions = true,
                     .part_chars_max = 4096,
                     .chat_per_minute = 60,
                     .chat_burst = 5,
                     .group_per_minute = 20,
                     .adapter_per_second = 30,
                     .adapter_burst = 30},
    .renderer_version = TELEGRAM_RENDERER_VERSION,
    .create = create,
    .destroy = destroy,
    .render = telegram_render,
    .configure = configure,
    .is_group = telegram_is_group,
    .takes_webhooks = takes_webhooks,
};
