/* qq_world.c — see qq_world.h. */
#include "qq_world.h"

#include "support/check.h"

static void *start(int port)
{
    return fake_qq_start(port);
}

static void stop(void *fake)
{
    fake_qq_stop(fake);
}

static struct platform_client client(void *fake)
{
    return fake_qq_client(fake);
}

void qq_set_webhook(const struct platform_world *world)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/webhooks/qq", world->world.service.port);
    platform_tell(&world->client, "{s:s,s:s,s:i,s:i}", "do", "webhook", "url", url, "retry_ms", 200,
                  "tries", 100);
}

static void hook(const struct platform_world *world)
{
    platform_await_log(world, "qq: connected as"); /* now it knows its own mention in guilds */
    qq_set_webhook(world);
}

static const char *const people[] = {
    "{\"do\":\"chat\",\"chat\":\"" ANN "\"}",    "{\"do\":\"chat\",\"chat\":\"" BOB "\"}",
    "{\"do\":\"chat\",\"chat\":\"" TEAM "\"}",   "{\"do\":\"chat\",\"chat\":\"" PLACE "\"}",
    "{\"do\":\"chat\",\"chat\":\"" DIRECT "\"}", NULL};
const struct platform_kind qq_kind = {
    .name = "qq",
    .start = start,
    .stop = stop,
    .client = client,
    .people = people,
    .ann = "{\"chat\":\"" ANN "\"}",
    .block = "\"enabled\":true,\"appId\":\"" FAKE_QQ_APP_ID "\",\"appSecret\":\"" FAKE_QQ_SECRET
             "\",\"apiRoot\":\"http://127.0.0.1:%d\",\"tokenUrl\":\"http://127.0.0.1:%d/app/"
             "getAppAccessToken\"",
    .groups = ",\"groups\":[\"B2C3D4E5F60718293A4B5C6D7E8F90A1\"]",
    .root = ",\"language\":\"en\"",
    .ready = "ready",
    .queued = "webhook_waiting",
    .wrong = "leaks",
    .secrets = {FAKE_QQ_SECRET},
    .views = {"list", "counters", "sessions", "refusals"},
    .hook = hook};

/* -- sessions --------------------------------------------------------------------------------- */
void qq_recovers(const struct platform_world *world, const char *counter, int64_t value,
                 long long ended)
{
    platform_await_counter(world, counter, value);
    platform_world_await_ready(world);
    long long took = process_now_ms() - ended;
    if (took > RECOVERY_MS)
        chat_show(world, ANN);
    CHECK(took <= RECOVERY_MS);
    platform_talk(world, 1, 1);
}

void qq_say_meanwhile(const struct platform_world *world, size_t count)
{
    char text[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "said meanwhile, number %zu.", i);
        chat_say(world, ANN, NULL, text);
    }
}

void qq_expect_meanwhile(const struct platform_world *world, size_t count)
{
    char part[80];
    for (size_t i = 0; i < count; i++) {
        snprintf(part, sizeof part, "You said: said meanwhile, number %zu.", i);
        chat_expect(world, ANN, part);
    }
    platform_settle(world);
    for (size_t i = 0; i < count; i++) {
        snprintf(part, sizeof part, "You said: said meanwhile, number %zu.", i);
        CHECK_INT(1, chat_count(world, ANN, part));
    }
}
