/* telegram.c — the platform's table: what the skeleton asks of it (adapters/common/platform.h). */
#include "telegram_priv.h"

#include "adapters/common/part.h"

#include <stdlib.h>

/* -- made and unmade --------------------------------------------------------------------------- */
static void free_state(void *state)
{
    struct telegram *telegram = state;
    telegram_settings_fini(&telegram->settings);
    free(telegram->runs);
}

static enum sma_err open_state(void *state, const char *json, struct sma_error *error)
{
    struct telegram *telegram = state;
    telegram->bot_due_ns = telegram->poll.due_ns = telegram->progress_due_ns = UINT64_MAX;
    telegram->runs = calloc(TELEGRAM_RUN_COUNT_MAX, sizeof *telegram->runs);
    if (telegram->runs == NULL)
        return SMA_ERR_NOMEM;
    return telegram_settings_read(&telegram->settings, json, error);
}

static struct sma_platform_facts facts(const void *state)
{
    const struct telegram_settings *settings = &((const struct telegram *)state)->settings;
    return (struct sma_platform_facts){.takes_webhooks = settings->is_webhook,
                                       .per_second = settings->per_second,
                                       .per_chat_minute = settings->per_chat_minute,
                                       .per_group_minute = settings->per_group_minute};
}

/* -- life -------------------------------------------------------------------------------------- */
static enum sma_err begin(void *state, struct sma_error *error)
{
    struct telegram *telegram = state;
    (void)error;
    telegram->ctx = telegram->base.ctx;
    telegram_bot_begin(telegram);
    return SMA_ERR_OK;
}

static void leave(void *state)
{
    telegram_poll_stop(state);
}

static void close_state(void *state)
{
    telegram_poll_stop(state);
    telegram_progress_drop(state);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void take_progress(void *state, struct sma_msg **msg)
{
    telegram_progress_take(state, msg);
}

static void take_cursor(void *state, uint64_t ask_id, struct sma_str json)
{
    (void)ask_id;
    telegram_bot_take_cursor(state, json);
}

/* With nothing but a poll in flight nothing waits for time. */
static uint64_t tick(void *state, uint64_t now_ns)
{
    struct telegram *telegram = state;
    telegram_bot_tick(telegram, now_ns);
    telegram_poll_tick(telegram, now_ns);
    uint64_t next_ns = telegram_progress_tick(telegram, now_ns);
    next_ns = sma_platform_earlier(next_ns, telegram->bot_due_ns);
    return sma_platform_earlier(next_ns, telegram->poll.due_ns);
}

static const struct sma_platform_ops platform_ops = {
    .name = "telegram",
    .state_size = sizeof(struct telegram),
    .open = open_state,
    .free = free_state,
    .facts = facts,
    .begin = begin,
    .probe = telegram_probe,
    .find_owner = telegram_find_owner,
    .leave = leave,
    .close = close_state,
    .tick = tick,
    .take_cursor = take_cursor,
    .take_progress = take_progress,
    .intake = &telegram_intake_ops,
    .webhook = &telegram_webhook_ops,
    .sending = &telegram_sending_ops,
    .stream = &telegram_stream_ops,
    .call = &telegram_call_ops,
    .fetch = &telegram_fetch_ops,
};
static const struct sma_actor_ops actor_ops = SMA_PLATFORM_ACTOR("telegram");

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    return sma_platform_create(&platform_ops, config, block, ret_state, error);
}

const struct sma_adapter_ops sma_telegram_adapter_ops = {
    .name = "telegram",
    .params = &telegram_params,
    .channel = "telegram",
    .setup = {.members = "\"botToken\": \"${TELEGRAM_BOT_TOKEN}\"",
              .variables = "TELEGRAM_BOT_TOKEN",
              .source = "@BotFather on Telegram, /newbot"},
    .actor = &actor_ops,
    .capabilities = {.has_markdown = true,
                     .has_files = true,
                     .has_reactions = true,
                     .has_profiles = true,
                     .part_chars_max = 4096,
                     .chat_per_minute = 60,
                     .chat_burst = 5,
                     .group_per_minute = 20,
                     .adapter_per_second = 30},
    .renderer_version = TELEGRAM_RENDERER_VERSION,
    .create = create,
    .destroy = sma_platform_destroy,
    .probe = sma_platform_probe,
    .find_owner = sma_platform_find_owner,
    .render = telegram_render,
    .configure = sma_platform_configure,
    .is_group = telegram_is_group,
    .is_file = sma_part_is_file,
    .takes_webhooks = sma_platform_takes_webhooks,
};
