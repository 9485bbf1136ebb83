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

static void hook(const struct platform_world *world)
{
    char url[128];
    platform_await_log(world, "qq: connected as"); /* now it knows its own mention in guilds */
    snprintf(url, sizeof url, "http://127.0.0.1:%d/webhooks/qq", world->world.service.port);
    platform_tell(&world->client, "{s:s,s:s,s:i,s:i}", "do", "webhook", "url", url, "retry_ms", 200,
                  "tries", 100);
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
