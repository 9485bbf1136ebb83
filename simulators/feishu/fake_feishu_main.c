/*
 * fake_feishu_main.c — the simulated Feishu as a program; see platform/fake_program.h.
 */
#include "fake_feishu.h"

#include "platform/fake_program.h"
#include "play/play.h"

#define SECOND_APP "cli_fedcba9876543210"

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

/* -- for scripts ------------------------------------------------------------------------------- */
static const char *const play_people[] = {
    "{\"do\":\"user\",\"id\":\"ou_ann\",\"name\":\"Ann\"}",
    "{\"do\":\"user\",\"id\":\"ou_bob\",\"name\":\"Bob\"}",
    "{\"do\":\"user\",\"id\":\"ou_eve\",\"name\":\"Eve\"}",
    "{\"do\":\"chat\",\"id\":\"oc_team\",\"owner\":\"ou_eve\"}",
    "{\"do\":\"chat\",\"id\":\"oc_topics\",\"owner\":\"ou_eve\",\"topics\":true}",
    "{\"do\":\"scale\",\"factor\":60}",
    "{\"do\":\"contacts\",\"on\":true}",
    NULL};
static const struct play_role cast[] = {
    {"ann", "\"oc_ann\"", "\"ou_ann\"", "feishu:chat:oc_ann", "ou_ann"},
    {"bob", "\"oc_bob\"", "\"ou_bob\"", "feishu:chat:oc_bob", "ou_bob"},
    {"eve", "\"oc_eve\"", "\"ou_eve\"", "feishu:chat:oc_eve", "ou_eve"},
    {"team", "\"oc_team\"", NULL, "feishu:chat:oc_team", NULL},
    {"forum", "\"oc_topics\"", NULL, "feishu:chat:oc_topics", NULL},
};
static const struct play_platform play = {
    .people = play_people,
    .cast = cast,
    .cast_count = SMA_COUNT_OF(cast),
    .groups = "[\"oc_team\",\"oc_topics\"]",
    .ready = "connections",
    .queued = "queued",
    .hurry = "hurry",
    .wrong = "complaints",
    .hidden = "is_recalled",
    /* the last two: in every token of the platform; in every URL of the long connection */
    .secrets = (const char *const[]){FAKE_FEISHU_SECRET, "fakeTenantAccessToken", "ticket=", NULL},
    .views = (const char *const[]){"list", "counters", "complaints", NULL},
    .second = "{\"id\":\"support\",\"appId\":\"" SECOND_APP "\"}",
    .second_account = (const char *const[]){"{\"do\":\"app\",\"app\":\"" SECOND_APP "\"}", NULL},
};

int main(int argc, char **argv)
{
    static const char *const people[] = {
        "{\"do\":\"user\",\"id\":\"ou_ann\",\"name\":\"Ann\"}",
        "{\"do\":\"chat\",\"id\":\"oc_team\",\"name\":\"Team\",\"owner\":\"ou_ann\"}", NULL};
    static const struct fake_program program = {
        .name = "feishu",
        .commands = fake_feishu_commands,
        .start = start,
        .stop = stop,
        .client = client,
        .people = people,
        .person = "{\"chat\":\"oc_ann\",\"user\":\"ou_ann\"}",
        .ship_json = "\"feishu\": { \"enabled\": true, \"appId\": \"${FEISHU_APP_ID}\", "
                     "\"appSecret\": \"${FEISHU_APP_SECRET}\", \"domain\": \"@\" }",
        .env = "FEISHU_APP_ID=" FAKE_FEISHU_APP "\nFEISHU_APP_SECRET=" FAKE_FEISHU_SECRET "\n",
        .play = &play};
    return fake_program_main(argc, argv, &program);
}
