/* actor_world.c — see actor_world.h. */
#include "actor_world.h"

#include "adapters/telegram/telegram.h"

#include <string.h>

struct telegram world_platform;
int64_t world_cursor;

/* -- the service ------------------------------------------------------------------------------- */
static struct sma_route route_of(const struct world_order *order, char key[WORLD_KEY_SIZE],
                                 char type[WORLD_TYPE_SIZE])
{
    snprintf(type, WORLD_TYPE_SIZE, "%s", order->chat[0] == '-' ? "supergroup" : "private");
    snprintf(key, WORLD_KEY_SIZE, "telegram:chat:%s%s%s", order->chat,
             order->thread[0] == '\0' ? "" : ":topic:", order->thread);
    return (struct sma_route){.adapter = SMA_ACTOR_ADAPTER_0,
                              .channel = SMA_STR("telegram"),
                              .chat_key = sma_str(key),
                              .chat_id = sma_str(order->chat),
                              .chat_type = sma_str(type),
                              .thread_id = sma_str(order->thread),
                              .message_id = sma_str(order->reply),
                              .user_id = sma_str(order->user)};
}

static int64_t cursor_of(struct sma_str name)
{
    CHECK_STR("telegram.offset", name);
    return world_cursor;
}

void world_make_platform(void)
{
    world_platform = (struct telegram){.fake = fake_telegram_start(0)};
    world_platform.port = fake_telegram_port(world_platform.fake);
    telegram_tell(&world_platform, "{s:s,s:i,s:s}", "do", "user", "id", WORLD_ADA, "username",
                  "ada");
    telegram_tell(&world_platform, "{s:s,s:i,s:s}", "do", "user", "id", WORLD_BOB, "username",
                  "bob");
    telegram_tell(&world_platform, "{s:s,s:i,s:[i]}", "do", "chat", "id", WORLD_GROUP, "admins",
                  WORLD_ADA);
}

void world_open(const char *members)
{
    static char config[2048];
    static const struct adapter_world world = {.ops = &sma_telegram_adapter_ops,
                                               .config = config,
                                               .secrets = {"AAE-fake_token"},
                                               .route = route_of,
                                               .cursor = cursor_of};
    if (world_platform.fake == NULL)
        world_make_platform();
    snprintf(config, sizeof config,
             "{\"enabled\":true,\"botToken\":\"" FAKE_TELEGRAM_TOKEN
             "\",\"apiRoot\":\"http://127.0.0.1:%d\",\"webhookSecret\":\"" WORLD_SECRET "\"%s}",
             world_platform.port, members);
    world_start(&world);
}

void world_stop(void)
{
    world_end();
    fake_telegram_stop(world_platform.fake);
    world_platform.fake = NULL;
}

void world_close(void)
{
    world_stop();
    world_remove_project();
}

/* -- orders ------------------------------------------------------------------------------------ */
uint64_t world_deliver(uint64_t seq, const char *chat, const char *thread, const char *reply,
                       const char *text)
{
    return world_give(&(struct world_order){.kind = WORLD_DELIVER,
                                            .seq = seq,
                                            .chat = chat,
                                            .thread = thread,
                                            .reply = reply,
                                            .text = text});
}

size_t world_call_back(const char *secret, const char *body)
{
    char header[400] = "";
    if (secret != NULL)
        snprintf(header, sizeof header, "x-telegram-bot-api-secret-token: %s\r\n", secret);
    return world_webhook(header, body);
}

/* -- the platform ------------------------------------------------------------------------------ */
int64_t world_say(int64_t chat, int64_t user, const char *text)
{
    return telegram_number(&world_platform, "message_id", "{s:s,s:I,s:I,s:s}", "do", "say", "chat",
                           (json_int_t)chat, "user", (json_int_t)user, "text", text);
}

int64_t world_calls(const char *method)
{
    json_t *counters = telegram_do(&world_platform, "{s:s}", "do", "counters");
    int64_t count = json_integer_value(json_object_get(json_object_get(counters, "calls"), method));
    json_decref(counters);
    return count;
}

bool world_is_polled(void)
{
    json_t *counters = telegram_do(&world_platform, "{s:s}", "do", "counters");
    bool is_polled = json_is_true(json_object_get(counters, "is_polled"));
    json_decref(counters);
    return is_polled;
}

json_t *world_chat(int64_t chat)
{
    return telegram_do(&world_platform, "{s:s,s:I}", "do", "list", "chat", (json_int_t)chat);
}

size_t world_shown(int64_t chat, const char *text)
{
    json_t *list = world_chat(chat), *message;
    size_t index, count = 0;
    json_array_foreach(json_object_get(list, "messages"), index, message)
    {
        bool is_ours = json_is_true(json_object_get(message, "is_ours"));
        count += is_ours && strcmp(text, json_string_value(json_object_get(message, "text"))) == 0;
    }
    json_decref(list);
    return count;
}
