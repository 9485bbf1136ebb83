/*
 * fake_feishu_main.c — the simulated Feishu as a program; see platform/fake_program.h.
 */
#include "fake_feishu.h"

#include "platform/fake_program.h"

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
        .env = "FEISHU_APP_ID=" FAKE_FEISHU_APP "\nFEISHU_APP_SECRET=" FAKE_FEISHU_SECRET "\n"};
    return fake_program_main(argc, argv, &program);
}
