/* telegram_world.c — see telegram_world.h. */
#include "telegram_world.h"

static void *start(int port)
{
    return fake_telegram_start(port);
}

static void stop(void *fake)
{
    fake_telegram_stop(fake);
}

static struct platform_client client(void *fake)
{
    return fake_telegram_client(fake);
}

static const char *const people[] = {
    "{\"do\":\"user\",\"id\":1001,\"first_name\":\"Ann\",\"username\":\"ann\",\"language\":\"en\"}",
    "{\"do\":\"user\",\"id\":1002,\"first_name\":\"Bob\",\"username\":\"bob\",\"language\":\"en\"}",
    "{\"do\":\"user\",\"id\":1003,\"first_name\":\"Eve\",\"username\":\"\",\"language\":\"en\"}",
    "{\"do\":\"chat\",\"id\":-1001234567890,\"admins\":[1003]}",
    "{\"do\":\"chat\",\"id\":-1001234567891,\"forum\":true,\"admins\":[1003]}",
    NULL};
const struct platform_kind telegram_kind = {
    .name = "telegram",
    .start = start,
    .stop = stop,
    .client = client,
    .people = people,
    .ann = "{\"chat\":1001,\"user\":1001}",
    .block = "\"enabled\":true,\"botToken\":\"" FAKE_TELEGRAM_TOKEN
             "\",\"apiRoot\":\"http://127.0.0.1:%d\"",
    .groups = ",\"groups\":[-1001234567890,\"-1001234567891\"]",
    .root = "",
    .ready = "is_polled",
    .queued = "queued",
    .secrets = {FAKE_TELEGRAM_TOKEN},
    .views = {"list"}};
