/*
 * Aim: an outside server asks people something in the middle of a call: the question stands in
 *      the chat, the next message answers it, refusing is possible, and a program that is killed
 *      meanwhile says that the question is over and calls nothing again.
 * Method: the real binary between a simulated Telegram, fake_model, and fake_mcp as the server.
 *   scenario_server_asks BINARY FAKE_MODEL FAKE_MCP
 */
#include "telegram_world.h"

#include "support/check.h"

#include <sys/stat.h>

#define ASK "[[do: call mcp__box__ask {}; text the server is content]]"
#define QUESTION "The outside server \"box\" asks"

static const char *binary;
static struct platform_world world;

static void write_servers(const char *fake_mcp)
{
    char text[2048], path[1024];
    snprintf(path, sizeof path, "%s/.ship", world.world.folder.path);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/.ship/mcp", world.world.folder.path);
    (void)mkdir(path, 0700);
    snprintf(text, sizeof text,
             "{\"servers\":{\"box\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"rich\",\"%"
             "s\"]}}}",
             fake_mcp, world.world.folder.path);
    folder_write(&world.world.folder, ".ship/mcp/mcp.json", text);
}

static void words_reach_the_server(void)
{
    chat_say(&world, ANN, ANN, ASK);
    chat_expect(&world, ANN, QUESTION);
    chat_expect(&world, ANN, "Who are you?");
    chat_say(&world, ANN, ANN, "Ann of Ulm");
    chat_expect(&world, ANN, "the server is content");
    CHECK(platform_asked(&world, "Ann of Ulm\\\\\\\"") > 0); /* in what the server answered */
    CHECK(platform_asked(&world, "accept") > 0);
    platform_settle(&world);
    CHECK_INT(1, (int)chat_count(&world, ANN, "the server is content")); /* no run of its own */
}

static void people_may_refuse(void)
{
    chat_say(&world, BOB, BOB, ASK);
    chat_expect(&world, BOB, QUESTION);
    chat_say(&world, BOB, BOB, "decline");
    chat_expect(&world, BOB, "the server is content");
    CHECK(platform_asked(&world, "they declined") > 0);
    platform_settle(&world);
}

static void after_a_kill_the_question_is_over(void)
{
    size_t asked = (size_t)chat_count(&world, ANN, QUESTION);
    chat_say(&world, ANN, ANN, "[[do: call mcp__box__ask {}; text so be it]]");
    long long until = process_now_ms() + AWAIT_MS;
    while ((size_t)chat_count(&world, ANN, QUESTION) == asked) {
        CHECK(process_now_ms() < until);
        process_pause_ms(10);
    }
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    chat_expect(&world, ANN, "I was restarted while a server");
    chat_expect(&world, ANN, "so be it");
    CHECK(platform_asked(&world, "nterrupted by a restart") > 0);
    platform_settle(&world);
    CHECK_INT((int)asked + 1, (int)chat_count(&world, ANN, QUESTION)); /* not called again */
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    binary = argv[1];
    platform_world_create(
        &world, &telegram_kind, argv[2],
        &(struct platform_options){.concurrency = "1",
                                   .root = ",\"permissions\":{\"mcp\":{\"allow\":[\"*\"]}}"});
    write_servers(argv[3]);
    world.may_complain = true; /* a kill in the middle of a send */
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    platform_await_log(&world, "mcp box: connected");
    RUN(words_reach_the_server);
    RUN(people_may_refuse);
    RUN(after_a_kill_the_question_is_over);
    platform_world_stop(&world);
    return check_summary();
}
