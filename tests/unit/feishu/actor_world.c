/* actor_world.c — see actor_world.h. */
#include "actor_world.h"

#include "adapters/feishu/feishu.h"

/* -- the service ------------------------------------------------------------------------------- */
static struct sma_route route_of(const struct world_order *order, char key[WORLD_KEY_SIZE],
                                 char type[WORLD_TYPE_SIZE])
{
    const char *usual = order->kind == WORLD_PREPARE ? "group" : "p2p";
    snprintf(type, WORLD_TYPE_SIZE, "%s",
             order->kind == WORLD_DELIVER || order->chat_type[0] != '\0' ? order->chat_type
                                                                         : usual);
    snprintf(key, WORLD_KEY_SIZE, "feishu:chat:%s", order->chat);
    return (struct sma_route){.adapter = SMA_ACTOR_ADAPTER_0,
                              .channel = SMA_STR("feishu"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(order->chat),
                              .chat_type = sma_str(type),
                              .message_id = sma_str(order->reply),
                              .user_id = sma_str(order->user)};
}

void world_open(const char *members)
{
    static char config[2048];
    static const struct adapter_world world = {.ops = &sma_feishu_adapter_ops,
                                               .config = config,
                                               .secrets = {WORLD_SECRET, "t-test-", "ticket="},
                                               .route = route_of};
    if (platform_server() == NULL)
        platform_start();
    snprintf(config, sizeof config,
             "{\"enabled\":true,\"appId\":\"cli_0123456789abcdef\",\"appSecret\":\"" WORLD_SECRET
             "\",\"domain\":\"%s\"%s}",
             platform_url(), members);
    world_start(&world);
}

void world_stop(void)
{
    world_end();
}

void world_clean(void)
{
    platform_stop();
    world_remove_project();
}

void world_close(void)
{
    world_stop();
    world_clean();
}

/* -- orders ------------------------------------------------------------------------------------ */
uint64_t world_deliver(uint64_t seq, const char *chat, const char *chat_type, const char *reply,
                       const char *text)
{
    return world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                            .seq = seq,
                                            .chat = chat,
                                            .chat_type = chat_type,
                                            .reply = reply,
                                            .text = text});
}

void world_deliver_again(uint64_t outbox_id, uint64_t seq, const char *chat, const char *chat_type,
                         const char *reply, const char *text)
{
    (void)world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                           .id = outbox_id,
                                           .seq = seq,
                                           .is_repeat = true,
                                           .chat = chat,
                                           .chat_type = chat_type,
                                           .reply = reply,
                                           .text = text});
}
