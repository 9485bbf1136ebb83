/*
 * Aim: an outside server asks people something in the middle of a call: the question stands in
 *      the chat, the next message answers it, refusing is possible, others are answered meanwhile,
 *      in a group the answer must be for us, /stop ends it, and a program that is killed says that
 *      the question is over and calls nothing again. In both eras of the protocol. And people ask
 *      for prompts of servers.
 * Method: the real binary between a simulated Telegram, fake_model, and fake_mcp as the servers.
 *   scenario_server_asks BINARY FAKE_MODEL FAKE_MCP
 */
#include "telegram_world.h"

#include "support/check.h"

#include <sys/stat.h>

#define ASK "[[call mcp__box__ask {}]]"
#define QUESTION "The outside server \"box\" asks"
#define IN_GROUP "reply to this message or mention me"

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
             "{\"servers\":{"
             "\"box\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"rich\",\"%s\"]},"
             "\"new\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"asks\",\"%s\"]}}}",
             fake_mcp, world.world.folder.path, fake_mcp, world.world.folder.path);
    folder_write(&world.world.folder, ".ship/mcp/mcp.json", text);
}

/* Until the chat holds one more question than before. */
static void await_question(int64_t chat, size_t before)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (chat_count(&world, chat, QUESTION) <= before) {
        CHECK(process_now_ms() < until);
        process_pause_ms(10);
    }
}

/* Until the model was asked with this more often than before. */
static void await_asked(const char *part, size_t before)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (platform_asked(&world, part) <= before) {
        CHECK(process_now_ms() < until);
        process_pause_ms(10);
    }
}

CASE(words_reach_the_server_and_others_are_answered_meanwhile)
{
    chat_say(&world, ANN, ANN, ASK);
    chat_expect(&world, ANN, QUESTION);
    chat_expect(&world, ANN, "Who are you?");
    CHECK_INT(0, (int)chat_count(&world, ANN, IN_GROUP));
    chat_say(&world, BOB, BOB, "how is it"); /* agent.concurrency is 1 */
    chat_expect(&world, BOB, "how is it");
    CHECK_INT(0, (int)platform_asked(&world, "they answered"));
    chat_say(&world, ANN, ANN, "Ann of Ulm");
    chat_expect(&world, ANN, "Ann of Ulm");
    CHECK(platform_asked(&world, "the server asked the user something; they answered") > 0);
    CHECK(platform_asked(&world, "{\\\\\\\"name\\\\\\\":\\\\\\\"Ann of Ulm\\\\\\\"}") > 0);
    platform_settle(&world);
    CHECK_INT(1, (int)chat_count(&world, ANN, "Ann of Ulm")); /* no run of its own */
}

CASE(people_may_refuse_or_leave_it)
{
    chat_say(&world, BOB, BOB, ASK);
    await_question(BOB, 0);
    chat_say(&world, BOB, BOB, "decline");
    await_asked("they declined", 0);
    platform_settle(&world);
    chat_say(&world, BOB, BOB, ASK " ");
    await_question(BOB, 1);
    chat_say(&world, BOB, BOB, "cancel");
    await_asked("they gave no answer", 0);
    platform_settle(&world);
    CHECK_INT(2, (int)chat_count(&world, BOB, QUESTION));
}

CASE(in_a_group_the_answer_is_for_us)
{
    chat_say(&world, TEAM, ANN, "@helper_bot " ASK);
    chat_expect(&world, TEAM, QUESTION);
    chat_expect(&world, TEAM, IN_GROUP);
    chat_say(&world, TEAM, EVE, "@helper_bot Eve"); /* not whose question it is */
    chat_say(&world, TEAM, ANN, "said to the others");
    process_pause_ms(200); /* nothing comes of it: nothing tells */
    CHECK_INT(0, (int)platform_asked(&world, "said to the others"));
    CHECK_INT(0, (int)platform_asked(&world, "Eve"));
    chat_say(&world, TEAM, ANN, "@helper_bot Ann, here");
    await_asked("\\\\\\\"Ann, here\\\\\\\"}", 0);
    platform_settle(&world);
}

CASE(input_is_required_in_the_new_era)
{
    chat_say(&world, ANN, ANN, "[[call mcp__new__ask {}]]");
    chat_expect(&world, ANN, "The outside server \"new\" asks");
    chat_say(&world, ANN, ANN, "Ann of Jena");
    chat_expect(&world, ANN, "Ann of Jena");
    CHECK_INT(1, (int)platform_lines(&world, "calls.txt"));
    char *calls = folder_read(&world.world.folder, "calls.txt");
    CHECK(calls != NULL && strcmp(calls, "state came back\n") == 0);
    free(calls);
    platform_settle(&world);
}

/* Text like any other for the platform: no letter of it is one that commands may not have. */
CASE(a_prompt_is_asked_for_in_chats_and_groups)
{
    chat_say(&world, ANN, ANN, "/box:greet the people of Jena");
    await_asked("Say hello to the people of Jena", 0);
    chat_say(&world, TEAM, ANN, "@helper_bot /box:greet topic=\"you all\"");
    await_asked("Say hello to you all", 0);
    chat_say(&world, BOB, BOB, "/prompts");
    chat_expect(&world, BOB, "/box:greet topic - Greets");
    platform_settle(&world);
}

CASE(stop_ends_the_question)
{
    size_t asked = chat_count(&world, ANN, QUESTION);
    chat_say(&world, ANN, ANN, ASK "  ");
    await_question(ANN, asked);
    chat_say(&world, ANN, ANN, "/stop");
    chat_expect(&world, ANN, "Stopped");
    chat_say(&world, ANN, ANN, "a message like any other");
    chat_expect(&world, ANN, "a message like any other");
    platform_settle(&world);
    CHECK_INT(0, (int)chat_count(&world, ANN, "Result:"));
}

CASE(after_a_kill_the_question_is_over)
{
    size_t asked = chat_count(&world, ANN, QUESTION);
    chat_say(&world, ANN, ANN, ASK "   ");
    await_question(ANN, asked);
    platform_await_receipts(&world); /* a send that is cut off is made again */
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    chat_expect(&world, ANN, "I was restarted while a server");
    chat_expect(&world, ANN, "Interrupted by a restart");
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
                                   .root = ",\"memory\":{\"extract\":false},\"permissions\":{"
                                           "\"roles\":{\"owner\":[\"telegram:1001\"],\"member\":["
                                           "\"telegram:1002\",\"telegram:1003\"]},"
                                           "\"mcp\":{\"allow\":[\"*\"]}}"});
    write_servers(argv[3]);
    world.world.may_prefix_move = true; /* the servers' tools come when they come */
    world.may_complain = true;          /* a kill in the middle of a send */
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    platform_await_log(&world, "mcp box: connected"); /* and runs have its tools */
    platform_await_log(&world, "mcp new: connected");
    check_run_cases(NULL);
    platform_world_stop(&world);
    return check_summary();
}
