/*
 * fake_telegram_main.c — the simulated Bot API as a program; see platform/fake_program.h.
 */
#include "fake_telegram.h"

#include "platform/fake_program.h"
#include "play/play.h"

#define SECOND_TOKEN "7009999999:AAE-token_of_the_second_test_bot_0002"

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

/* -- for scripts ------------------------------------------------------------------------------- */
static const char *const play_people[] = {
    "{\"do\":\"user\",\"id\":1001,\"first_name\":\"Ann\",\"username\":\"ann\",\"language\":\"en\"}",
    "{\"do\":\"user\",\"id\":1002,\"first_name\":\"Bob\",\"username\":\"bob\",\"language\":\"en\"}",
    "{\"do\":\"user\",\"id\":1003,\"first_name\":\"Eve\",\"username\":\"\",\"language\":\"en\"}",
    "{\"do\":\"user\",\"id\":1004,\"first_name\":\"Cat\",\"username\":\"cat\",\"language\":\"en\"}",
    "{\"do\":\"chat\",\"id\":-1001234567890,\"admins\":[1003]}",
    "{\"do\":\"chat\",\"id\":-1001234567891,\"forum\":true,\"admins\":[1003]}",
    NULL};
static const struct play_role cast[] = {
    {"ann", "1001", "1001", "telegram:chat:1001", "1001"},
    {"bob", "1002", "1002", "telegram:chat:1002", "1002"},
    {"eve", "1003", "1003", "telegram:chat:1003", "1003"},
    {"cat", "1004", "1004", "telegram:chat:1004", "1004"},
    {"team", "-1001234567890", NULL, "telegram:chat:-1001234567890", NULL},
    {"forum", "-1001234567891", NULL, "telegram:chat:-1001234567891", NULL},
};
static const struct play_platform play = {
    .people = play_people,
    .cast = cast,
    .cast_count = SMA_COUNT_OF(cast),
    .groups = "[-1001234567890,\"-1001234567891\"]",
    .ready = "is_polled",
    .queued = "queued",
    .confirmed = "is_confirmed",
    .hidden = "is_deleted",
    .secrets = (const char *const[]){FAKE_TELEGRAM_TOKEN, NULL},
    .views = (const char *const[]){"list", NULL},
    .second = "{\"id\":\"support\",\"botToken\":\"" SECOND_TOKEN "\"}",
    .second_account = (const char *const[]){"{\"do\":\"token\",\"token\":\"" SECOND_TOKEN "\"}",
                                            "{\"do\":\"gap\",\"count\":5000}",
                                            NULL}, /* the platform counts for each bot by itself */
};

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
        .env = "TELEGRAM_BOT_TOKEN=" FAKE_TELEGRAM_TOKEN "\n",
        .play = &play};
    return fake_program_main(argc, argv, &program);
}
