/*
 * Aim: what goes wrong while answers are sent, and starts, stops and kills in the midst of it, lose
 * nothing and double nothing.
 * Method: as feishu_weather.
 *   scenario_feishu_sending BINARY FAKE_MODEL
 */
#include "feishu_storm.h"

/* -- sending ----------------------------------------------------------------------------------- */
static void lost_answers_double_nothing(void)
{
    static const char *const kinds[] = {"close", "lose_answer", "cut",  "garbage",
                                        "html",  "slow",        "delay"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        fprintf(stderr, "   send: %s\n", kinds[i]);
        storm_set_fault("send", kinds[i], i < 3 ? 2 : 1);
        storm_talk_through(); /* under the same uuid, so that it shows once */
        CHECK_INT(0, platform_counter(&storm_world, "faults_left"));
    }
}

static void refused_sends_are_tried_again(void)
{
    static const struct
    {
        int status, code, seconds;
    } cases[] = {{500, 0, 0}, {503, 0, 0}, {400, 230020, 0}, {400, 230049, 0}, {429, 99991400, 1}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        fprintf(stderr, "   send: %d %d\n", cases[i].status, cases[i].code);
        storm_set_status("send", cases[i].status, cases[i].code, cases[i].seconds, 1);
        storm_talk_through();
        CHECK_INT(0, platform_counter(&storm_world, "faults_left"));
    }
}

static void tokens_end_in_mid_send(void)
{
    static const int codes[] = {99991663, 99991664, 99991671};
    for (size_t i = 0; i < SMA_COUNT_OF(codes); i++) {
        int64_t tokens = platform_counter(&storm_world, "tokens");
        platform_tell(&storm_world.client, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "send",
                      "kind", "token", "code", codes[i]);
        storm_talk_through();
        CHECK_INT(tokens + 1, platform_counter(&storm_world, "tokens"));
    }
    storm_tell("expire_tokens");
    storm_set_status("token", 500, 0, 0, 1);
    storm_talk_through();
}

static void a_flood_in_one_chat_delays_no_other(void)
{
    platform_tell(&storm_world.client, "{s:s,s:s,s:s,s:i,s:i,s:i,s:s}", "do", "fault", "method",
                  "send", "kind", "status", "status", 400, "code", 230020, "seconds", 2, "chat",
                  ANN_CHAT);
    long long asked = process_now_ms();
    chat_say(&storm_world, ANN_CHAT, ANN, "I am flooded");
    for (long long until = process_now_ms() + AWAIT_MS;
         platform_counter(&storm_world, "faults_left") > 0 && process_now_ms() < until;)
        process_pause_ms(1);
    chat_say(&storm_world, BOB_CHAT, BOB, "I am not");
    chat_expect(&storm_world, BOB_CHAT, "You said: I am not");
    CHECK_INT(0, chat_count(&storm_world, ANN_CHAT, "You said: I am flooded"));
    chat_expect(&storm_world, ANN_CHAT, "You said: I am flooded");
    CHECK(process_now_ms() - asked >= 2000);
    platform_settle(&storm_world);
    CHECK_INT(1, chat_count(&storm_world, ANN_CHAT, "I am flooded"));
}

/* Taken in and never answered: given up in the end, and sent again under its uuid; nobody else
 * waits for that. */
static void a_send_that_is_never_answered_delays_no_other_chat(void)
{
    platform_tell(&storm_world.client, "{s:s,s:s,s:s,s:s}", "do", "fault", "method", "send", "kind",
                  "half_open", "chat", ANN_CHAT);
    chat_say(&storm_world, ANN_CHAT, ANN, "into the void");
    storm_await_none("faults_left");
    long long asked = process_now_ms();
    chat_say(&storm_world, BOB_CHAT, BOB, "past the void");
    chat_expect(&storm_world, BOB_CHAT, "You said: past the void");
    CHECK(process_now_ms() - asked < RECOVERY_MS);
    CHECK_INT(0, chat_count(&storm_world, ANN_CHAT, "into the void"));
    while (chat_count(&storm_world, ANN_CHAT, "into the void") == 0 &&
           process_now_ms() - asked < 30000 + AWAIT_MS)
        process_pause_ms(10);
    platform_settle(&storm_world);
    CHECK_INT(1, chat_count(&storm_world, ANN_CHAT, "into the void"));
}

static void an_answer_to_a_recalled_message_goes_out_alone(void)
{
    struct chat_message asked =
        chat_say(&storm_world, TEAM, ANN, "@{bot} [[fault:silence ms=20000]] I shall recall this");
    while (platform_asked(&storm_world, "I shall recall this") == 0)
        process_pause_ms(2);
    platform_tell(&storm_world.client, "{s:s,s:s,s:b}", "do", "recall", "message_id", asked.id,
                  "quietly", 1);
    world_end_silence(&storm_world.world);
    json_t *answer = chat_await(&storm_world, TEAM, "I shall recall this");
    CHECK_TEXT("", talk_text(answer, "parent"));
    json_decref(answer);
    platform_settle(&storm_world);
    CHECK_INT(1, chat_count(&storm_world, TEAM, "I shall recall this"));
}

static void a_user_who_stops_the_bot_stops_nobody_else(void)
{
    chat_say(&storm_world, BOB_CHAT, BOB, "[[fault:silence ms=20000]] I shall stop you");
    while (platform_asked(&storm_world, "I shall stop you") == 0)
        process_pause_ms(2);
    platform_tell(&storm_world.client, "{s:s,s:s}", "do", "stop", "user", BOB);
    world_end_silence(&storm_world.world);
    storm_talk_through();
    platform_settle(&storm_world);
    platform_tell(&storm_world.client, "{s:s,s:s,s:b}", "do", "stop", "user", BOB, "on", 0);
    chat_say(&storm_world, BOB_CHAT, BOB, "I am back");
    chat_expect(&storm_world, BOB_CHAT, "You said: I am back");
    CHECK_INT(0, chat_count(&storm_world, BOB_CHAT, "I shall stop you"));
    platform_settle(&storm_world);
}

/* -- starting and stopping --------------------------------------------------------------------- */
static void a_start_in_bad_weather_comes_up_by_itself(void)
{
    CHECK_INT(0, service_stop(&storm_world.world.service));
    storm_set_fault("token", "html", 1);
    storm_set_fault("bot", "close", 1);
    storm_set_fault("bot", "garbage", 1);
    storm_set_fault("endpoint", "close", 1);
    service_start(&storm_world.world.service, storm_binary, &storm_world.world.folder);
    platform_world_await_ready(&storm_world);
    storm_await_none("faults_left");
    storm_talk_through();
}

static void bursts_survive(int (*end)(struct service *service), const char *name)
{
    char text[64];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 10; i++) {
            snprintf(text, sizeof text, "%s %d-%d.", name, round, i);
            chat_say(&storm_world, i % 2 == 0 ? ANN_CHAT : BOB_CHAT, i % 2 == 0 ? ANN : BOB, text);
        }
        process_pause_ms(round * 17);
        CHECK_INT(0, end(&storm_world.world.service));
        service_start(&storm_world.world.service, storm_binary, &storm_world.world.folder);
        platform_world_await_ready(&storm_world);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "You said: %s %d-%d.", name, i / 10, i % 10);
        chat_expect(&storm_world, i % 2 == 0 ? ANN_CHAT : BOB_CHAT, text);
    }
    storm_await_none("queued");
    platform_settle(&storm_world);
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "You said: %s %d-%d.", name, i / 10, i % 10);
        CHECK_INT(1, chat_count(&storm_world, i % 2 == 0 ? ANN_CHAT : BOB_CHAT, text));
    }
    CHECK_INT(0, platform_counter(&storm_world, "lost"));
}

static int kill_service(struct service *service)
{
    service_kill(service);
    return 0;
}

static void a_stop_in_mid_burst_loses_nothing(void)
{
    bursts_survive(service_stop, "burst");
}

static void a_kill_in_mid_burst_loses_and_doubles_nothing(void)
{
    bursts_survive(kill_service, "slaughter");
}

int main(int argc, char **argv)
{
    storm_begin(argc, argv);
    RUN_IN_STORM(lost_answers_double_nothing);
    RUN_IN_STORM(refused_sends_are_tried_again);
    RUN_IN_STORM(tokens_end_in_mid_send);
    RUN_IN_STORM(a_flood_in_one_chat_delays_no_other);
    RUN_IN_STORM(a_send_that_is_never_answered_delays_no_other_chat);
    RUN_IN_STORM(an_answer_to_a_recalled_message_goes_out_alone);
    RUN_IN_STORM(a_user_who_stops_the_bot_stops_nobody_else);
    RUN_IN_STORM(a_start_in_bad_weather_comes_up_by_itself);
    RUN_IN_STORM(a_stop_in_mid_burst_loses_nothing);
    RUN_IN_STORM(a_kill_in_mid_burst_loses_and_doubles_nothing);
    storm_end();
    return check_summary();
}
