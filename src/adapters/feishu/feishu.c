/* feishu.c — the platform's table: what the skeleton asks of it (adapters/common/platform.h). */
#include "feishu_priv.h"

#include "adapters/common/part.h"

#include <stdlib.h>

/* -- made and unmade --------------------------------------------------------------------------- */
static void free_state(void *state)
{
    struct feishu *feishu = state;
    feishu_settings_fini(&feishu->settings);
    feishu_fragments_destroy(feishu->socket.fragments);
}

static enum sma_err open_state(void *state, const char *json, struct sma_error *error)
{
    struct feishu *feishu = state;
    feishu->identity.due_ns = UINT64_MAX;
    feishu->socket.due_ns = feishu->socket.ping_due_ns = feishu->socket.probe_due_ns = UINT64_MAX;
    feishu->socket.config = FEISHU_CLIENT_CONFIG_DEFAULT;
    feishu->socket.fragments = feishu_fragments_create();
    if (feishu->socket.fragments == NULL)
        return SMA_ERR_NOMEM;
    return feishu_settings_read(&feishu->settings, feishu->base.config->project_dir, json, error);
}

static struct sma_platform_facts facts(const void *state)
{
    const struct feishu_settings *settings = &((const struct feishu *)state)->settings;
    return (struct sma_platform_facts){.ca_file = settings->ca_file,
                                       .has_websocket = true,
                                       .takes_webhooks = settings->is_webhook,
                                       .per_second = settings->per_second,
                                       .per_chat_minute = settings->per_chat_minute,
                                       .per_group_minute = settings->per_group_minute};
}

/* -- life -------------------------------------------------------------------------------------- */
static enum sma_err begin(void *state, struct sma_error *error)
{
    struct feishu *feishu = state;
    (void)error;
    feishu->ctx = feishu->base.ctx;
    sma_calls_begin(feishu->base.calls, feishu->settings.is_webhook);
    feishu_bot_begin(feishu);
    return SMA_ERR_OK;
}

static void leave(void *state)
{
    feishu_socket_leave(state);
}

static void close_state(void *state)
{
    struct feishu *feishu = state;
    feishu_typing_drop(feishu);
    feishu->socket.conn = NULL;
    feishu->socket.state = FEISHU_SOCKET_IDLE;
}

/* -- messages ---------------------------------------------------------------------------------- */
static void take_progress(void *state, struct sma_msg **msg)
{
    feishu_typing_take(state, SMA_MSG_BODY(*msg, struct sma_progress));
}

static uint64_t tick(void *state, uint64_t now_ns)
{
    struct feishu *feishu = state;
    uint64_t next_ns = feishu_bot_tick(feishu, now_ns);
    next_ns = sma_platform_earlier(next_ns, feishu_socket_tick(feishu, now_ns));
    return sma_platform_earlier(next_ns, feishu_typing_tick(feishu, now_ns));
}

static const struct sma_platform_ops platform_ops = {
    .name = "feishu",
    .state_size = sizeof(struct feishu),
    .open = open_state,
    .free = free_state,
    .facts = facts,
    .begin = begin,
    .probe = feishu_probe,
    .leave = leave,
    .close = close_state,
    .tick = tick,
    .take_progress = take_progress,
    .intake = &feishu_intake_ops,
    .webhook = &feishu_webhook_ops,
    .sending = &feishu_sending_ops,
    .stream = &feishu_stream_ops,
    .call = &feishu_call_ops,
    .fetch = &feishu_fetch_ops,
};
static const struct sma_actor_ops actor_ops = SMA_PLATFORM_ACTOR("feishu");

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    return sma_platform_create(&platform_ops, config, block, ret_state, error);
}

const struct sma_adapter_ops sma_feishu_adapter_ops = {
    .name = "feishu",
    .params = &feishu_params,
    .channel = "feishu",
    .setup = {.members = "\"appId\": \"${FEISHU_APP_ID}\", \"appSecret\": \"${FEISHU_APP_SECRET}\"",
              .variables = "FEISHU_APP_ID and FEISHU_APP_SECRET",
              .source = "open.feishu.cn, docs/feishu.md says which rights"},
    .actor = &actor_ops,
    .capabilities = {.has_markdown = true,
                     .has_files = true,
                     .has_reactions = true,
                     .has_profiles = true,
                     .has_cards = true,
                     .has_topics_by_reply = true,
                     .has_idempotency = true,
                     .chat_per_minute =
                         240, /* with the burst four a second: all bots of a group share five */
                     .chat_burst = 2,
                     .group_per_minute = 240,
                     .adapter_per_second = 50},
    .renderer_version = FEISHU_RENDERER_VERSION,
    .is_chinese_by_default = true,
    .create = create,
    .destroy = sma_platform_destroy,
    .probe = sma_platform_probe,
    .render = feishu_render,
    .configure = sma_platform_configure,
    .is_group = feishu_is_group,
    .is_file = sma_part_is_file,
    .takes_webhooks = sma_platform_takes_webhooks,
    .key = feishu_key,
};
