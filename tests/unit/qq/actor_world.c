/* actor_world.c — see actor_world.h. */
#include "actor_world.h"

#include "adapters/qq/qq.h"

#include <string.h>

#define FIRST_CURSOR "qq.0.seq"

struct platform_client world_platform;
int64_t world_cursor;

static struct fake_qq *fake;

/* -- the service ------------------------------------------------------------------------------- */
static struct sma_route route_of(const struct world_order *order, char key[WORLD_KEY_SIZE],
                                 char type[WORLD_TYPE_SIZE])
{
    const char *colon = strchr(order->chat, ':');
    CHECK(colon != NULL);
    snprintf(type, WORLD_TYPE_SIZE, "%.*s", (int)(colon - order->chat), order->chat);
    snprintf(key, WORLD_KEY_SIZE, "qq:%s", order->chat);
    return (struct sma_route){.adapter = SMA_ACTOR_ADAPTER_0,
                              .channel = SMA_STR("qq"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(colon + 1),
                              .chat_type = sma_str(type),
                              .message_id = sma_str(order->reply),
                              .user_id = SMA_STR("M1"),
                              .language = SMA_STR("en")};
}

static int64_t cursor_of(struct sma_str name)
{
    return sma_str_is_equal(name, SMA_STR(FIRST_CURSOR)) ? world_cursor : 0;
}

static void save_cursor(const struct sma_ingress *in)
{
    if (sma_str_is_equal(in->cursor_name, SMA_STR(FIRST_CURSOR)))
        world_cursor = in->cursor_value;
}

void world_make_platform(void)
{
    fake = fake_qq_start(0);
    world_platform = fake_qq_client(fake);
    world_tell("{s:s,s:s}", "do", "chat", "chat", WORLD_C2C);
    world_tell("{s:s,s:s}", "do", "chat", "chat", WORLD_GROUP);
    world_tell("{s:s,s:s}", "do", "chat", "chat", WORLD_CHANNEL);
}

void world_open(const char *members)
{
    static char config[2048];
    static const struct adapter_world world = {.ops = &sma_qq_adapter_ops,
                                               .config = config,
                                               .secrets = {FAKE_QQ_SECRET, "QQBot "},
                                               .route = route_of,
                                               .cursor = cursor_of,
                                               .save = save_cursor};
    if (fake == NULL)
        world_make_platform();
    int port = fake_qq_port(fake);
    snprintf(config, sizeof config,
             "{\"enabled\":true,\"appId\":\"" FAKE_QQ_APP_ID "\",\"appSecret\":\"" FAKE_QQ_SECRET
             "\",\"apiRoot\":\"http://127.0.0.1:%d\",\"tokenUrl\":\"http://127.0.0.1:%d/app/"
             "getAppAccessToken\",\"limits\":{\"perChatPerMinute\":0}%s}",
             port, port, members);
    world_start(&world);
}

void world_stop(void)
{
    world_end();
}

void world_close(void)
{
    world_stop();
    fake_qq_stop(fake);
    fake = NULL;
    world_cursor = 0;
    world_remove_project();
}

int world_port(void)
{
    return fake_qq_port(fake);
}

/* -- orders ------------------------------------------------------------------------------------ */
uint64_t world_deliver(const struct world_row *row)
{
    return world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                            .seq = 1,
                                            .chat = row->chat,
                                            .reply = row->reply,
                                            .text = row->text,
                                            .intent = row->intent,
                                            .reply_count = row->reply_count,
                                            .is_interim = row->is_interim});
}

struct world_receipt world_await(uint64_t outbox_id, enum sma_delivery_state state)
{
    struct world_receipt receipt;
    WORLD_WAIT(world_has_receipt(outbox_id, &receipt));
    if (receipt.state != state)
        fprintf(stderr, "error: %s\n", receipt.error);
    CHECK_INT(state, receipt.state);
    return receipt;
}

/* -- the platform ------------------------------------------------------------------------------ */
void world_tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_decref(platform_vdo(&world_platform, format, arguments));
    va_end(arguments);
}

json_t *world_ask(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = platform_vdo(&world_platform, format, arguments);
    va_end(arguments);
    return answer;
}

const char *world_say(const char *chat, const char *text)
{
    static char id[96];
    json_t *answer =
        platform_do(&world_platform, "{s:s,s:s,s:s}", "do", "say", "chat", chat, "text", text);
    snprintf(id, sizeof id, "%s", platform_text(answer, "id", ""));
    json_decref(answer);
    return id;
}

int64_t world_counter(const char *name)
{
    return platform_get(&world_platform, name, "{s:s}", "do", "counters");
}

json_t *world_chat(const char *chat)
{
    return platform_do(&world_platform, "{s:s,s:s}", "do", "list", "chat", chat);
}

size_t world_shown(const char *chat, const char *text)
{
    size_t count = 0, index;
    json_t *list = world_chat(chat), *message;
    json_array_foreach(json_object_get(list, "messages"), index, message) count +=
        platform_flag(message, "is_ours", false) &&
        strcmp(platform_text(message, "text", ""), text) == 0;
    json_decref(list);
    return count;
}
