/*
 * fake_qq_main.c — the simulated QQ platform as a program; see platform/fake_program.h.
 */
#include "fake_qq.h"

#include "platform/fake_program.h"

#define ANN "c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90"
#define TEAM "group:B2C3D4E5F60718293A4B5C6D7E8F90A1"

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
        .env = "QQ_APP_ID=" FAKE_QQ_APP_ID "\nQQ_APP_SECRET=" FAKE_QQ_SECRET "\n"};
    return fake_program_main(argc, argv, &program);
}
