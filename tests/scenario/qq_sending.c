/*
 * Aim: bad weather between the service and QQ's REST side passes by itself: what was refused for a
 * while is sent later, what the platform took is never shown twice although nobody heard so, and
 * one chat's trouble is no other's.
 * Method: the real binary between a QQ platform and a model server; one kind of weather a case,
 * then an ordinary message must be answered.
 *   scenario_qq_sending BINARY FAKE_MODEL
 */
#include "qq_world.h"

#include "support/check.h"

#define FAST ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}"

#define LOAD_TOTAL 240
#define STALLED_MS \
    (30000 + PATIENCE_AWAIT_MS) /* a call gets half a minute, and is then made again */

static const char *binary, *fake_model;
static struct platform_world world;

static void tell(const char *what)
{
    fprintf(stderr, "   %s\n", what);
}

static void refused_sends_are_tried_again(void)
{
    static const struct
    {
        int status, code;
    } cases[] = {{500, 50055001}, {503, 0}, {504, 0}, {400, 11252}, {400, 50055006}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        fprintf(stderr, "   send: %d, code %d\n", cases[i].status, cases[i].code);
        platform_status(&world, "send", cases[i].status, cases[i].code, 1);
        platform_talk(&world, 1, 1);
    }
    static const char *const kinds[] = {"close", "html", "slow", "delay"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        tell(kinds[i]);
        platform_fault(&world, "send", kinds[i], 1);
        platform_talk(&world, 1, 1);
    }
}

/* Taken by the platform, and nobody heard: the same msg_seq is refused, and that means sent. */
static void an_answer_that_is_lost_is_not_doubled(void)
{
    static const char *const kinds[] = {"lose_answer", "cut", "garbage"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        tell(kinds[i]);
        int64_t duplicates = platform_counter(&world, "duplicates");
        platform_fault(&world, "send", kinds[i], 1);
        platform_talk(&world, 1, 1);
        CHECK_INT(duplicates + 1, platform_counter(&world, "duplicates"));
    }
}

static void a_token_that_ends_in_mid_send_is_fetched_anew(void)
{
    int64_t tokens = platform_counter(&world, "tokens");
    platform_fault(&world, "send", "token", 1);
    platform_talk(&world, 1, 1);
    CHECK_INT(tokens + 1, platform_counter(&world, "tokens"));
    platform_tell(&world.client, "{s:s}", "do", "expire_token");
    platform_status(&world, "token", 200, 100001, 1); /* and it cannot be had at once */
    platform_talk(&world, 1, 1);
}

/* Ends of tokens lie in the future of every service: refreshed ahead of time, nothing is ever
 * refused. */
static void tokens_are_refreshed_ahead_of_time(void)
{
    int64_t tokens = platform_counter(&world, "tokens");
    platform_tell(&world.client, "{s:s,s:i,s:i}", "do", "token_life", "seconds", 12, "overlap", 60);
    platform_talk(&world, 1, 1); /* meets the end of the old one */
    platform_tell(&world.client, "{s:s,s:b}", "do", "refusals", "clear", 1);
    long long until = process_now_ms() + 16000;
    while (process_now_ms() < until) {
        platform_talk(&world, 1, 1);
        process_pause_ms(500);
    }
    CHECK(platform_counter(&world, "tokens") >= tokens + 2);
    CHECK_INT(0, platform_counter(&world, "refusals"));
    platform_tell(&world.client, "{s:s}", "do", "token_life");
    platform_talk(&world, 1, 1); /* with the next one */
}

static void floods_are_waited_out_for_one_chat_only(void)
{
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:i,s:i,s:s}", "do", "fault", "method", "send",
                  "kind", "status", "status", 429, "code", 20028, "seconds", 2, "chat", ANN);
    long long asked = process_now_ms();
    chat_say(&world, ANN, NULL, "I am flooded");
    chat_say(&world, BOB, NULL, "I am not");
    chat_expect(&world, BOB, "You said: I am not");
    CHECK_INT(0, chat_count(&world, ANN, "You said: I am flooded"));
    chat_expect(&world, ANN, "You said: I am flooded");
    CHECK(process_now_ms() - asked >= 2000);
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, "I am flooded"));
}

static void a_stalled_call_holds_up_nobody_else(void)
{
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s}", "do", "fault", "method", "send", "kind",
                  "half_open", "chat", ANN);
    chat_say(&world, ANN, NULL, "I am stalled");
    while (platform_counter(&world, "faults_left") > 0)
        process_pause_ms(2);
    for (int i = 0; i < 5; i++) {
        long long asked = process_now_ms();
        char text[32], part[48];
        snprintf(text, sizeof text, "I am free %d.", i);
        snprintf(part, sizeof part, "You said: %s", text);
        chat_say(&world, BOB, NULL, text);
        chat_expect(&world, BOB, part);
        CHECK(process_now_ms() - asked < 2000 * PATIENCE);
    }
    CHECK_INT(0, chat_count(&world, ANN, "I am stalled"));
    long long until = process_now_ms() + STALLED_MS;
    while (chat_count(&world, ANN, "You said: I am stalled") == 0 && process_now_ms() < until)
        process_pause_ms(20);
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, "You said: I am stalled"));
}

static void chats_that_refuse_stop_nobody_else(void)
{
    static const char *const whats[] = {"refuses", "gone"};
    for (size_t i = 0; i < SMA_COUNT_OF(whats); i++) {
        char text[64];
        tell(whats[i]);
        snprintf(text, sizeof text, "[[fault:silence ms=20000]] up to when it %s", whats[i]);
        chat_say(&world, BOB, NULL, text);
        while (platform_asked(&world, strchr(text, ']') + 3) == 0)
            process_pause_ms(2);
        platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "membership", "chat", BOB, "what",
                      whats[i]);
        world_end_silence(&world.world);
        platform_talk(&world, 1, 1);
        platform_tell(&world.client, "{s:s,s:s,s:s,s:b}", "do", "membership", "chat", BOB, "what",
                      whats[i], "on", 0);
        snprintf(text, sizeof text, "back, it no more %s", whats[i]);
        chat_say(&world, BOB, NULL, text);
        chat_expect(&world, BOB, text);
        platform_settle(&world);
        CHECK_INT(0, chat_count(&world, BOB, whats[i]) - 1);
    }
}

static void what_is_refused_once_goes_out_in_another_form(void)
{
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "note_refused",
                  1); /* its number is used up */
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "refuse_urls", 1);
    chat_say(&world, ANN, NULL, "look at https://www.example.com/a/page please");
    chat_expect(&world, ANN, "You said: look at"); /* without what makes it a link */
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, "You said: look at"));
    CHECK_INT(0, chat_count(&world, ANN, "https://"));
    platform_tell(&world.client, "{s:s,s:b,s:i}", "do", "rights", "refuse_urls", 0, "text_max",
                  100);
    chat_say(&world, ANN, NULL,
             "this text is longer than the platform takes today, because it allows no more than "
             "a hundred characters in one message");
    chat_expect(&world, ANN, "this text is longer");
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, "this text is longer"));
    platform_tell(&world.client, "{s:s,s:i,s:b}", "do", "rights", "text_max", 5000, "note_refused",
                  0);
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "audit", 1);
    platform_talk(&world, 1, 1); /* waits for somebody to look at it: sent */
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "audit", 0);
}

static void many_chats_at_once_are_answered_once_each(void)
{
    platform_tell(&world.client, "{s:s,s:i}", "do", "rights", "per_second", 0);
    platform_tell(&world.client, "{s:s,s:i,s:i,s:i}", "do", "load", "chats", 12, "total",
                  LOAD_TOTAL, "per_chat", 10);
    platform_await_counter(&world, "finished", LOAD_TOTAL);
    platform_settle(&world);
    CHECK_INT(LOAD_TOTAL, platform_counter(&world, "finished"));
    json_t *answer = platform_do(&world.client, "{s:s}", "do", "latencies");
    CHECK_INT(LOAD_TOTAL, json_array_size(json_object_get(answer, "latencies")));
    json_decref(answer);
    platform_tell(&world.client, "{s:s,s:i}", "do", "rights", "per_second", 100);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    platform_world_start(&world, &qq_kind, binary, fake_model,
                         &(struct platform_options){.members = FAST});
    RUN(many_chats_at_once_are_answered_once_each);
    RUN(refused_sends_are_tried_again);
    RUN(an_answer_that_is_lost_is_not_doubled);
    RUN(a_token_that_ends_in_mid_send_is_fetched_anew);
    RUN(tokens_are_refreshed_ahead_of_time);
    RUN(floods_are_waited_out_for_one_chat_only);
    RUN(chats_that_refuse_stop_nobody_else);
    RUN(what_is_refused_once_goes_out_in_another_form);
    RUN(a_stalled_call_holds_up_nobody_else);
    platform_world_stop(&world);
    return check_summary();
}
