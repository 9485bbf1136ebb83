/* qq.c — the platform's table: what the skeleton asks of it (adapters/common/platform.h). */
#include "qq_priv.h"

#include "adapters/common/part.h"

#include <stdio.h>
#include <stdlib.h>

/* -- made and unmade --------------------------------------------------------------------------- */
static void free_state(void *state)
{
    struct qq *qq = state;
    for (unsigned i = 0; qq->shards != NULL && i < qq->settings.shard_count; i++)
        qq_session_fini(&qq->shards[i].session);
    free(qq->shards);
    qq_settings_fini(&qq->settings);
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
        snprintf(shard->cursor_name, sizeof shard->cursor_name, "%s.%u.seq", qq->base.home.name, i);
        if (qq_session_init(&shard->session, qq->settings.intents) != SMA_ERR_OK)
            return SMA_ERR_NOMEM;
    }
    return SMA_ERR_OK;
}

static enum sma_err open_state(void *state, const char *json, struct sma_error *error)
{
    struct qq *qq = state;
    qq->bot_due_ns = UINT64_MAX;
    qq_capture_begin(qq);
    SMA_TRY(qq_settings_read(&qq->settings, qq->base.config->project_dir, json, error));
    return qq->settings.is_webhook ? SMA_ERR_OK : make_shards(qq);
}

static struct sma_platform_facts facts(const void *state)
{
    const struct qq_settings *settings = &((const struct qq *)state)->settings;
    return (struct sma_platform_facts){.ca_file = settings->ca_file,
                                       .has_websocket = !settings->is_webhook,
                                       .takes_webhooks = settings->is_webhook,
                                       .per_second = settings->per_second,
                                       .per_chat_minute = settings->per_chat_minute,
                                       .per_group_minute = settings->per_chat_minute};
}

/* -- life -------------------------------------------------------------------------------------- */
static enum sma_err begin(void *state, struct sma_error *error)
{
    struct qq *qq = state;
    (void)error;
    qq->ctx = qq->base.ctx;
    sma_calls_begin(qq->base.calls, qq->settings.is_webhook);
    if (qq->settings.is_webhook)
        qq_webhook_begin(qq);
    else
        qq_gateway_begin(qq);
    return SMA_ERR_OK;
}

static void leave(void *state)
{
    qq_gateway_stop_reading(state);
}

static void drained(void *state)
{
    qq_gateway_keep(state);
}

static void close_state(void *state)
{
    qq_gateway_close(state);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void take_cursor(void *state, uint64_t ask_id, struct sma_str json)
{
    qq_gateway_on_cursor(state, ask_id, json);
}

/* On a quiet link that is the heartbeat, and the token's renewal. */
static uint64_t tick(void *state, uint64_t now_ns)
{
    struct qq *qq = state;
    qq_webhook_tick(qq, now_ns);
    uint64_t next_ns = qq_gateway_tick(qq, now_ns);
    return sma_platform_earlier(next_ns, qq->bot_due_ns);
}

static const struct sma_platform_ops platform_ops = {
    .name = "qq",
    .state_size = sizeof(struct qq),
    .open = open_state,
    .free = free_state,
    .facts = facts,
    .begin = begin,
    .probe = qq_probe,
    .leave = leave,
    .drained = drained,
    .close = close_state,
    .tick = tick,
    .take_cursor = take_cursor,
    .take_progress = NULL, /* typing may cost one of the few answers that a message allows */
    .stream = &qq_stream_ops,
    .intake = &qq_intake_ops,
    .webhook = &qq_webhook_ops,
    .sending = &qq_sending_ops,
    .call = &qq_call_ops,
    .fetch = &qq_fetch_ops,
};
static const struct sma_actor_ops actor_ops = SMA_PLATFORM_ACTOR("qq");

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    return sma_platform_create(&platform_ops, config, block, ret_state, error);
}

const struct sma_adapter_ops sma_qq_adapter_ops = {
    .name = "qq",
    .params = &qq_params,
    .channel = "qq",
    .setup = {.members = "\"appId\": \"${QQ_APP_ID}\", \"appSecret\": \"${QQ_APP_SECRET}\"",
              .variables = "QQ_APP_ID and QQ_APP_SECRET",
              .source = "q.qq.com, development settings",
              .switch_key = "sandbox",
              .switch_question = "Use QQ's sandbox?"},
    .actor = &actor_ops,
    /* Idempotent are answers in c2c and group alone: each attempt's outcome says whether a repeat
     * of it is hidden. */
    .capabilities = {.has_markdown = true,
                     .has_files = true,
                     .part_chars_max = QQ_PART_UNITS_LARGE,
                     .chat_per_minute = 20,
                     .chat_burst = 5,
                     .adapter_per_second = 50},
    .renderer_version = QQ_RENDERER_VERSION,
    .is_chinese_by_default = true,
    .create = create,
    .destroy = sma_platform_destroy,
    .probe = sma_platform_probe,
    .render = qq_render,
    .rest = qq_rest,
    .replies_max = qq_replies_max,
    .configure = sma_platform_configure,
    .is_group = qq_is_group,
    .is_file = sma_part_is_file,
    .takes_webhooks = sma_platform_takes_webhooks,
};
