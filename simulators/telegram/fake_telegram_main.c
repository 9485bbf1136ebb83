/*
 * fake_telegram_main.c — the simulated Bot API as a program; see platform/fake_program.h.
 */
#include "fake_telegram.h"

#include "platform/fake_program.h"

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

int main(int argc, char **argv)
{
    static const char *const people[] = {
        "{\"do\":\"user\",\"id\":1001,\"first_name\":\"Ann\",\"username\":\"ann\",\"language\":"
        "\"en\"}",
        "{\"do\":\"chat\",\"id\":-1001234567890,\"title\":\"Team\",\"admins\":[1001]}",
        "{\"do\":\"rates\",\"bot_per_second\":30,\"group_per_minute\":20}", NULL};
    static const struct fake_program program = {
        .name = "telegram",
        .commands = fake_telegram_commands,
        .start = start,
        .stop = stop,
        .client = client,
        .people = people,
        .person = "{\"chat\":1001,\"user\":1001}",
        .ship_json = "\"telegram\": { \"enabled\": true, \"botToken\": \"${TELEGRAM_BOT_TOKEN}\", "
                     "\"apiRoot\": \"@\" }",
        .env = "TELEGRAM_BOT_TOKEN=" FAKE_TELEGRAM_TOKEN "\n"};
    return fake_program_main(argc, argv, &program);
}
