/*
 * Aim: bad weather between the service and the platform passes by itself: nothing is lost, nothing
 * is answered twice but in the one window where the platform took a message and nobody heard so.
 * Method: as telegram_chats; one kind of weather a case, then an ordinary message must be answered.
 *   scenario_telegram_weather BINARY FAKE_MODEL
 */
#include "telegram_world.h"

#include "support/check.h"

#define QUICK_POLLS ",\"pollTimeoutS\":1,\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}"

static const char *binary, *fake_model;
static struct platform_world world;
static unsigned message_number;

static void set_status(const char *method, int status, int seconds, int times)
{
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", method,
                  "kind", "status", "status", status, "seconds", seconds, "times", times);
}

/* Say something and see it answered `low` to `high` times. */
static void talk_through(size_t low, size_t high)
{
    char text[64], part[80];
    snprintf(text, sizeof text, "message %u of the storm", message_number++);
    snprintf(part, sizeof part, "You said: %s", text);
    chat_say(&world, ANN, ANN, text);
    chat_expect(&world, ANN, part);
    platform_settle(&world);
    size_t count = chat_count(&world, ANN, part);
    if (count < low || count > high)
        chat_show(&world, ANN);
    CHECK(count >= low && count <= high);
}

/* -- receiving --------------------------------------------------------------------------------- */
static void polling_survives(const char *kind)
{
    fprintf(stderr, "   getUpdates: %s\n", kind);
    platform_fault(&world, "getUpdates", kind, 1);
    platform_await_none(&world, "faults_left"); /* by a poll that waits now, or has failed */
    talk_through(1, 1);
}

static void cut_polls_lose_and_double_nothing(void)
{
    static const char *const kinds[] = {"close", "lose_answer", "cut", "slow", "html", "garbage"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        polling_survives(kinds[i]);
}

static void refused_polls_are_tried_again(void)
{
    static const int statuses[] = {500, 502, 409, 403};
    for (size_t i = 0; i < SMA_COUNT_OF(statuses); i++) {
        fprintf(stderr, "   getUpdates: %d\n", statuses[i]);
        set_status("getUpdates", statuses[i], 0, i == 0 ? 3 : 1);
        platform_await_none(&world, "faults_left");
        talk_through(1, 1);
    }
    set_status("getUpdates", 429, 1, 1);
    platform_await_none(&world, "faults_left");
    talk_through(1, 1);
}

static void a_half_open_poll_is_given_up(void)
{
    platform_fault(&world, "getUpdates", "half_open", 1);
    platform_await_none(&world, "faults_left");
    long long asked = process_now_ms();
    talk_through(1, 1);
    CHECK(process_now_ms() - asked < 25000); /* its own time and ten seconds */
}

static void updates_that_come_again_are_not_answered_again(void)
{
    talk_through(1, 1);
    talk_through(1, 1);
    size_t before = chat_sent(&world, ANN);
    platform_tell(&world.client, "{s:s,s:i}", "do", "redeliver", "count", 4);
    platform_settle(&world);
    talk_through(1, 1);
    CHECK_INT(before + 1, chat_sent(&world, ANN));
}

static void numbers_may_skip_and_jump_back(void)
{
    platform_tell(&world.client, "{s:s,s:i}", "do", "gap", "count", 1000);
    talk_through(1, 1);
    platform_tell(&world.client, "{s:s,s:i}", "do", "restart", "update_id", 4000);
    talk_through(1, 1);
    talk_through(1, 1);
    CHECK_INT(4002, platform_get(&world.client, "next_update_id", "{s:s}", "do", "counters"));
}

static void a_restart_of_the_platform_keeps_the_queue(void)
{
    char text[64];
    platform_tell(&world.client, "{s:s}", "do", "restart");
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "restart number %d.", i);
        chat_say(&world, ANN, ANN, text);
        platform_tell(&world.client, "{s:s}", "do", "restart");
    }
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "You said: restart number %d.", i);
        chat_expect(&world, ANN, text);
    }
    platform_settle(&world);
}

static void clocks_may_differ(void)
{
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", 7 * 86400);
    talk_through(1, 1); /* from the future: now */
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", -3600);
    talk_through(1, 1);
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", 0);
}

static void a_foreign_webhook_is_taken_down(void)
{
    platform_tell(&world.client, "{s:s,s:s}", "do", "webhook", "url",
                  "http://127.0.0.1:1/elsewhere");
    platform_tell(&world.client, "{s:s}", "do", "restart"); /* ends the poll that still waits */
    talk_through(1, 1);
    json_t *counters = platform_do(&world.client, "{s:s}", "do", "counters");
    CHECK(json_is_false(json_object_get(counters, "has_webhook")));
    json_decref(counters);
}

/* -- sending ----------------------------------------------------------------------------------- */
static void refused_sends_are_tried_again(void)
{
    static const int statuses[] = {500, 503, 409};
    for (size_t i = 0; i < SMA_COUNT_OF(statuses); i++) {
        fprintf(stderr, "   sendMessage: %d\n", statuses[i]);
        set_status("sendMessage", statuses[i], 0, 1);
        talk_through(1, 1);
    }
    platform_fault(&world, "sendMessage", "close", 1);
    talk_through(1, 1);
    platform_fault(&world, "sendMessage", "html", 1);
    talk_through(1, 1);
    platform_fault(&world, "sendMessage", "slow", 1);
    talk_through(1, 1);
}

/* While it answers with failures of its own, nothing is given up. */
static void an_outage_of_sending_is_outlasted(void)
{
    platform_fault(&world, "sendMessage", "html", 4);
    talk_through(1, 1);
    set_status("sendMessage", 500, 0, 4);
    talk_through(1, 1);
}

/* No answer at all, twice: it may have been sent, so it is not sent a third time, and the log says
 * so. */
static void an_unknown_end_is_told_in_the_log(void)
{
    platform_fault(&world, "sendMessage", "close", 2);
    chat_say(&world, ANN, ANN, "into the void");
    platform_await_none(&world, "faults_left");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, ANN, "into the void"));
    char *log = folder_read(&world.world.folder, "service.log");
    CHECK(log != NULL && strstr(log, "to telegram:chat:1001 has an unknown outcome") != NULL);
    free(log);
    talk_through(1, 1);
}

/* Taken by the platform, and nobody heard: the one window. */
static void an_answer_that_is_lost_may_double_once(void)
{
    static const char *const kinds[] = {"lose_answer", "cut", "garbage"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        fprintf(stderr, "   sendMessage: %s\n", kinds[i]);
        platform_fault(&world, "sendMessage", kinds[i], 1);
        talk_through(1, 2);
    }
}

static void floods_are_waited_out_for_one_chat_only(void)
{
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method",
                  "sendMessage", "kind", "status", "status", 429, "seconds", 2, "chat", ANN);
    long long asked = process_now_ms();
    chat_say(&world, ANN, ANN, "I am flooded");
    chat_say(&world, BOB, BOB, "I am not");
    chat_expect(&world, BOB, "You said: I am not");
    CHECK_INT(0, chat_count(&world, ANN, "You said: I am flooded"));
    chat_expect(&world, ANN, "You said: I am flooded");
    CHECK(process_now_ms() - asked >= 2000);
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, "I am flooded"));
}

static void a_user_who_blocks_the_bot_stops_nobody_else(void)
{
    chat_say(&world, BOB, BOB, "[[fault:silence ms=20000]] I shall block you");
    while (platform_asked(&world, "I shall block you") == 0)
        process_pause_ms(2);
    platform_tell(&world.client, "{s:s,s:i}", "do", "block", "chat", BOB);
    world_end_silence(&world.world);
    talk_through(1, 1);
    platform_tell(&world.client, "{s:s,s:i,s:b}", "do", "block", "chat", BOB, "on", 0);
    chat_say(&world, BOB, BOB, "I am back");
    chat_expect(&world, BOB, "You said: I am back");
    CHECK_INT(0, chat_count(&world, BOB, "I shall block you"));
    platform_settle(&world);
}

/* -- starting and stopping --------------------------------------------------------------------- */
static void a_start_in_bad_weather_comes_up_by_itself(void)
{
    CHECK_INT(0, service_stop(&world.world.service));
    platform_fault(&world, "deleteWebhook", "html", 1);
    platform_fault(&world, "getMe", "close", 1);
    platform_fault(&world, "getMe", "garbage", 1);
    platform_fault(&world, "setMyCommands", "close", 2);
    platform_fault(&world, "getUpdates", "close", 1);
    chat_say(&world, ANN, ANN, "said while it was down.");
    service_start(&world.world.service, binary, &world.world.folder);
    chat_expect(&world, ANN, "You said: said while it was down.");
    talk_through(1, 1);
    CHECK_INT(1, chat_count(&world, ANN, "said while it was down."));
}

static void a_stop_in_mid_burst_loses_nothing(void)
{
    char text[64];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 10; i++) {
            snprintf(text, sizeof text, "burst %d-%d.", round, i);
            chat_say(&world, i % 2 == 0 ? ANN : BOB, i % 2 == 0 ? ANN : BOB, text);
        }
        process_pause_ms(round * 7);
        CHECK_INT(0, service_stop(&world.world.service));
        service_start(&world.world.service, binary, &world.world.folder);
    }
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 10; i++) {
            snprintf(text, sizeof text, "You said: burst %d-%d.", round, i);
            chat_expect(&world, i % 2 == 0 ? ANN : BOB, text);
        }
    platform_settle(&world);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 10; i++) {
            snprintf(text, sizeof text, "You said: burst %d-%d.", round, i);
            CHECK_INT(1, chat_count(&world, i % 2 == 0 ? ANN : BOB, text));
        }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    platform_world_start(&world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){.members = QUICK_POLLS});
    RUN(cut_polls_lose_and_double_nothing);
    RUN(refused_polls_are_tried_again);
    RUN(a_half_open_poll_is_given_up);
    RUN(updates_that_come_again_are_not_answered_again);
    RUN(numbers_may_skip_and_jump_back);
    RUN(a_restart_of_the_platform_keeps_the_queue);
    RUN(clocks_may_differ);
    RUN(a_foreign_webhook_is_taken_down);
    RUN(refused_sends_are_tried_again);
    RUN(an_outage_of_sending_is_outlasted);
    RUN(an_unknown_end_is_told_in_the_log);
    RUN(an_answer_that_is_lost_may_double_once);
    RUN(floods_are_waited_out_for_one_chat_only);
    RUN(a_user_who_blocks_the_bot_stops_nobody_else);
    RUN(a_start_in_bad_weather_comes_up_by_itself);
    RUN(a_stop_in_mid_burst_loses_nothing);
    platform_world_stop(&world);
    return check_summary();
}
