/*
 * Aim: a token that was revoked and given back is taken up again without a restart; a ban of hours
 * is waited out.
 * Method: as telegram_chats. A refused token is tried again every minute, so it takes one: a
 * program of its own, beside the others.
 *   scenario_telegram_refused BINARY FAKE_MODEL
 */
#include "telegram_world.h"

#include "support/check.h"

#define REFUSED_MS (60000 + AWAIT_MS) /* a refused token is tried again every minute */

static const char *binary, *fake_model;
static struct platform_world world;

/* Who looks whether all is well is told that it is not. */
static void expect_refused_in_status(void)
{
    char *argv[] = {(char *)binary, (char *)"status", world.world.folder.path, NULL};
    char *text = NULL;
    CHECK_INT(0, run_to_end(argv, "", &text, AWAIT_MS));
    CHECK(strstr(text, "  TROUBLE            telegram: ") != NULL);
    CHECK(strstr(text, "  telegram           NOT CONNECTED since ") != NULL);
    free(text);
    struct http_answer health = http_ask(world.world.service.port, "/health", "", NULL, AWAIT_MS);
    CHECK(strstr(health.body, "\"reasons\":[\"telegram\"]") != NULL);
    http_answer_fini(&health);
}

static void a_token_given_back_is_taken_up_again(void)
{
    platform_tell(&world.client, "{s:s,s:b}", "do", "revoke", "on", 1);
    platform_tell(&world.client, "{s:s}", "do", "restart"); /* ends the poll that waits */
    char *log = NULL;
    long long until = process_now_ms() + AWAIT_MS;
    while ((log == NULL || strstr(log, "token is refused") == NULL) && process_now_ms() < until) {
        free(log);
        process_pause_ms(5);
        log = folder_read(&world.world.folder, "service.log");
    }
    CHECK(strstr(log, "token is refused") != NULL);
    free(log);
    expect_refused_in_status();
    /* Said only now: the poll that waited at the time of the refusal would have brought it
     * along. */
    chat_say(&world, ANN, ANN, "hello, are you there");
    platform_tell(&world.client, "{s:s,s:b}", "do", "revoke", "on", 0);
    until = process_now_ms() + REFUSED_MS;
    while (chat_count(&world, ANN, "hello, are you there") == 0 && process_now_ms() < until)
        process_pause_ms(20);
    CHECK_INT(1, chat_count(&world, ANN, "You said: hello, are you there"));
    platform_settle(&world);
}

/* Asking on makes a ban longer. The owner hears of it, others are answered, nothing is given up. */
static void a_ban_of_hours_is_left_in_peace(void)
{
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method",
                  "sendMessage", "kind", "status", "status", 429, "seconds", 4000, "chat", ANN);
    int64_t sent = platform_calls(&world, "sendmessage");
    chat_say(&world, ANN, ANN, "am I banned");
    platform_await_log(&world, "the platform takes no message in this chat before");
    chat_say(&world, ANN, ANN, "and now");
    chat_say(&world, BOB, BOB, "I am not");
    chat_expect(&world, BOB, "You said: I am not");
    CHECK_INT(sent + 2, platform_calls(&world, "sendmessage")); /* the refused one, and Bob's */
    CHECK_INT(0, chat_count(&world, ANN, "am I banned"));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    platform_world_start(&world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){.concurrency = "4"});
    RUN(a_token_given_back_is_taken_up_again);
    RUN(a_ban_of_hours_is_left_in_peace); /* the last: it lasts */
    platform_world_stop(&world);
    return check_summary();
}
