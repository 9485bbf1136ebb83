/* feishu_world.c — see feishu_world.h. */
#include "feishu_world.h"

static void *start(int port)
{
    return fake_feishu_start(port);
}

static void stop(void *fake)
{
    fake_feishu_stop(fake);
}

static struct platform_client client(void *fake)
{
    return fake_feishu_client(fake);
}

static const char *const people[] = {"{\"do\":\"user\",\"id\":\"" ANN "\",\"name\":\"Ann\"}",
                                     "{\"do\":\"user\",\"id\":\"" BOB "\",\"name\":\"Bob\"}",
                                     "{\"do\":\"user\",\"id\":\"" EVE "\",\"name\":\"Eve\"}",
                                     "{\"do\":\"chat\",\"id\":\"" TEAM "\",\"owner\":\"" EVE "\"}",
                                     "{\"do\":\"chat\",\"id\":\"" TOPICS "\",\"owner\":\"" EVE
                                     "\",\"topics\":true}",
                                     "{\"do\":\"scale\",\"factor\":60}",
                                     "{\"do\":\"contacts\",\"on\":true}",
                                     NULL};
const struct platform_kind feishu_kind = {
    .name = "feishu",
    .start = start,
    .stop = stop,
    .client = client,
    .people = people,
    .ann = "{\"chat\":\"" ANN_CHAT "\",\"user\":\"" ANN "\"}",
    .block = "\"enabled\":true,\"appId\":\"" FAKE_FEISHU_APP
             "\",\"appSecret\":\"" FAKE_FEISHU_SECRET "\",\"domain\":\"http://127.0.0.1:%d\"",
    .groups = ",\"groups\":[\"" TEAM "\",\"" TOPICS "\"]",
    .root = "",
    .ready = "connections",
    .queued = "queued",
    .wrong = "complaints",
    .hidden = "is_recalled",
    /* the last two: in every token of the platform; in every URL of the long connection */
    .secrets = {FAKE_FEISHU_SECRET, "fakeTenantAccessToken", "ticket="},
    .views = {"list", "counters", "complaints"}};
