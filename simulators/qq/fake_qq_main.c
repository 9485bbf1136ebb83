/*
 * fake_qq_main.c — the simulated QQ platform as a program; see platform/fake_program.h.
 */
#include "fake_qq.h"

#include "platform/fake_program.h"
#include "play/play.h"

#define ANN "c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90"
#define BOB "c2c:B0B2C3D4E5F60718293A4B5C6D7E8F91"
#define TEAM "group:B2C3D4E5F60718293A4B5C6D7E8F90A1"
#define PLACE "channel:100010"
#define DIRECT "dm:900001"
#define SECOND_APP "102000002"

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

/* -- for scripts: a chat says who speaks ------------------------------------------------------- */
static const char *const play_people[] = {
    "{\"do\":\"chat\",\"chat\":\"" ANN "\"}",    "{\"do\":\"chat\",\"chat\":\"" BOB "\"}",
    "{\"do\":\"chat\",\"chat\":\"" TEAM "\"}",   "{\"do\":\"chat\",\"chat\":\"" PLACE "\"}",
    "{\"do\":\"chat\",\"chat\":\"" DIRECT "\"}", NULL};
static const struct play_role cast[] = {
    {"ann", "\"" ANN "\"", NULL, "qq:" ANN, "A1B2C3D4E5F60718293A4B5C6D7E8F90"},
    {"bob", "\"" BOB "\"", NULL, "qq:" BOB, "B0B2C3D4E5F60718293A4B5C6D7E8F91"},
    {"team", "\"" TEAM "\"", NULL, "qq:" TEAM, NULL},
    {"place", "\"" PLACE "\"", NULL, "qq:" PLACE, NULL},
    {"direct", "\"" DIRECT "\"", NULL, "qq:" DIRECT, NULL},
};
static const struct play_platform play = {
    .people = play_people,
    .cast = cast,
    .cast_count = SMA_COUNT_OF(cast),
    .groups = "[\"B2C3D4E5F60718293A4B5C6D7E8F90A1\"]",
    .ready = "ready",
    .queued = "webhook_waiting",
    .hidden = "is_recalled",
    .wrong = "leaks",
    .secrets = (const char *const[]){FAKE_QQ_SECRET, NULL},
    .views = (const char *const[]){"list", "counters", "sessions", "refusals", NULL},
    .second = "{\"id\":\"support\",\"appId\":\"" SECOND_APP "\"}",
    .second_account = (const char *const[]){"{\"do\":\"app\",\"app\":\"" SECOND_APP "\"}", NULL},
};

int main(int argc, char **argv)
{
    static const char *const people[] = {"{\"do\":\"chat\",\"chat\":\"" ANN "\"}",
                                         "{\"do\":\"chat\",\"chat\":\"" TEAM "\"}", NULL};
    static const struct fake_program program = {
        .name = "qq",
        .commands = fake_qq_commands,
        .start = start,
        .stop = stop,
        .client = client,
        .people = people,
        .person = "{\"chat\":\"" ANN "\"}",
        .ship_json = "\"qq\": { \"enabled\": true, \"appId\": \"${QQ_APP_ID}\", \"appSecret\": "
                     "\"${QQ_APP_SECRET}\", \"apiRoot\": \"@\", \"tokenUrl\": "
                     "\"@/app/getAppAccessToken\" }",
        .env = "QQ_APP_ID=" FAKE_QQ_APP_ID "\nQQ_APP_SECRET=" FAKE_QQ_SECRET "\n",
        .play = &play};
    return fake_program_main(argc, argv, &program);
}
