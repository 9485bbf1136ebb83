/*
 * Aim: bad weather on the long connection passes by itself, in less than 5 s after it ends: nothing
 * is lost, nothing is answered twice.
 * Method: as feishu_chats; one kind of weather a case, then an ordinary message must be answered
 *   once. scenario_feishu_weather BINARY FAKE_MODEL
 */
#include "feishu_storm.h"

/* -- the connection ---------------------------------------------------------------------------- */
static void a_broken_connection_is_replaced(void)
{
    static const struct
    {
        const char *how;
        int code;
    } cases[] = {{"drop", 0},     {"reset", 0}, {"close", 1000}, {"close", 1001}, {"close", 1011},
                 {"close", 4000}, {"half", 0},  {"rubbish", 0},  {"oversize", 0}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        fprintf(stderr, "   %s %d\n", cases[i].how, cases[i].code);
        storm_start_afresh();
        int64_t opened = platform_counter(&storm_world, "opened");
        storm_break_connections(cases[i].how, cases[i].code);
        storm_talk_through_loss(opened);
        CHECK_INT(opened + 1, platform_counter(&storm_world, "opened"));
        CHECK_INT(1, platform_counter(&storm_world, "connections"));
    }
}

static void nonsense_does_not_end_a_connection(void)
{
    static const char *const ways[] = {"text", "garbage", "ping"};
    int64_t opened = platform_counter(&storm_world, "opened");
    for (size_t i = 0; i < SMA_COUNT_OF(ways); i++) {
        fprintf(stderr, "   %s\n", ways[i]);
        storm_break_connections(ways[i], 0);
        storm_talk_through();
    }
    CHECK_INT(opened, platform_counter(&storm_world, "opened"));
}

static void a_silent_connection_is_noticed_and_replaced(void)
{
    storm_start_afresh();
    long long began = process_now_ms();
    int64_t opened = platform_counter(&storm_world, "opened");
    storm_break_connections("freeze", 0);
    storm_say_one(); /* into nowhere */
    platform_await_counter(&storm_world, "opened", opened + 1);
    CHECK(process_now_ms() - began < RECOVERY_MS); /* pings go out every second here */
    chat_expect(&storm_world, ANN_CHAT, storm_part);
    for (long long until = process_now_ms() + AWAIT_MS;
         platform_counter(&storm_world, "connections") != 1 && process_now_ms() < until;)
        process_pause_ms(5); /* the platform gives the old one up as well */
    storm_talk_through();
}

static void missing_pongs_do_not_stop_the_talk(void)
{
    int64_t opened = platform_counter(&storm_world, "opened");
    platform_tell(&storm_world.client, "{s:s,s:b}", "do", "pongs", "on", 0);
    platform_await_counter(&storm_world, "opened", opened + 1); /* taken for dead */
    storm_talk_through();
    platform_tell(&storm_world.client, "{s:s,s:b}", "do", "pongs", "on", 1);
    storm_talk_through();
    platform_tell(&storm_world.client, "{s:s,s:b,s:b}", "do", "pongs", "on", 1, "config", 0);
    int64_t pings = platform_counter(&storm_world, "pings");
    opened = platform_counter(&storm_world, "opened");
    platform_await_counter(&storm_world, "pings", pings + 3);
    CHECK_INT(opened, platform_counter(&storm_world, "opened")); /* an empty pong is one */
    platform_tell(&storm_world.client, "{s:s,s:b,s:b}", "do", "pongs", "on", 1, "config", 1);
    storm_talk_through();
}

static void a_restart_of_the_platform_loses_nothing(void)
{
    char text[64];
    storm_tell_number("restart", "ms", 300);
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "restart number %d.", i);
        chat_say(&storm_world, ANN_CHAT, ANN, text);
    }
    process_pause_ms(300);
    long long ended = process_now_ms();
    platform_world_await_ready(&storm_world);
    CHECK(process_now_ms() - ended < RECOVERY_MS);
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "You said: restart number %d.", i);
        chat_expect(&storm_world, ANN_CHAT, text);
        CHECK_INT(1, chat_count(&storm_world, ANN_CHAT, text));
    }
    storm_talk_through();
}

static void endpoints_fail_and_come_back(void)
{
    static const char *const kinds[] = {"close", "lose_answer", "cut",    "slow",
                                        "delay", "html",        "garbage"};
    static const struct
    {
        int status, code;
    } refusals[] = {{500, 0}, {503, 0}, {200, 1}, {200, 1000040343}};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds) + SMA_COUNT_OF(refusals); i++) {
        size_t j = i - SMA_COUNT_OF(kinds);
        if (i < SMA_COUNT_OF(kinds)) {
            fprintf(stderr, "   endpoint: %s\n", kinds[i]);
            storm_set_fault("endpoint", kinds[i], 1);
        } else {
            fprintf(stderr, "   endpoint: %d %d\n", refusals[j].status, refusals[j].code);
            storm_set_status("endpoint", refusals[j].status, refusals[j].code, 0, 1);
        }
        storm_start_afresh();
        int64_t opened = platform_counter(&storm_world, "opened");
        storm_break_connections("drop", 0);
        storm_await_none("faults_left");
        storm_talk_through_loss(opened);
    }
}

static void refused_handshakes_are_tried_again(void)
{
    static const struct
    {
        int http, status;
        const char *auth_code;
    } cases[] = {{403, 514, "1000040347"}, {500, 500, ""}, {429, 1000, ""}, {503, 0, ""}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        fprintf(stderr, "   handshake: %d %d %s\n", cases[i].http, cases[i].status,
                cases[i].auth_code);
        platform_tell(&storm_world.client, "{s:s,s:i,s:i,s:s}", "do", "refuse_handshake", "http",
                      cases[i].http, "status", cases[i].status, "auth_code", cases[i].auth_code);
        storm_start_afresh();
        int64_t opened = platform_counter(&storm_world, "opened");
        storm_break_connections("drop", 0);
        storm_await_none("refusals_left");
        storm_talk_through_loss(opened);
    }
}

static void bad_certificates_are_refused(void)
{
    static const char *const kinds[] = {"self_signed", "wrong_name", "expired"};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        fprintf(stderr, "   TLS: %s\n", kinds[i]);
        platform_tell(&storm_world.client, "{s:s,s:s}", "do", "bad_tls", "kind", kinds[i]);
        storm_start_afresh();
        int64_t opened = platform_counter(&storm_world, "opened");
        storm_break_connections("drop", 0);
        storm_await_none("bad_tls_left");
        storm_talk_through_loss(opened);
    }
}

static void a_server_that_never_says_a_word_is_given_up(void)
{
    storm_start_afresh();
    int64_t opened = platform_counter(&storm_world, "opened");
    platform_tell(&storm_world.client, "{s:s,s:s}", "do", "bad_tls", "kind", "silent");
    storm_break_connections("drop", 0);
    platform_await_counter(&storm_world, "opened", opened + 1); /* after its time for connecting */
    storm_talk_through();
}

/* -- events ------------------------------------------------------------------------------------ */
static void what_comes_again_is_answered_once(void)
{
    storm_tell_number("double", "count", 1); /* at once */
    storm_talk_through();
    size_t before = chat_sent(&storm_world, ANN_CHAT);
    storm_tell_number("redeliver", "count", 20); /* hours later */
    storm_await_none("queued");
    platform_settle(&storm_world);
    CHECK_INT(before, chat_sent(&storm_world, ANN_CHAT));
    storm_tell_number("lose_acks", "count", 2); /* in between */
    storm_talk_through();
    storm_await_none("lose_acks_left");
}

/* The same message as another event: only the message's own id says so. */
static void a_message_under_another_event_is_answered_once(void)
{
    storm_talk_through();
    size_t before = chat_sent(&storm_world, ANN_CHAT);
    json_t *list = platform_do(&storm_world.client, "{s:s,s:s}", "do", "list", "chat", ANN_CHAT);
    const json_t *messages = json_object_get(list, "messages"), *newest = NULL;
    for (size_t i = json_array_size(messages); i > 0 && newest == NULL; i--)
        if (json_is_false(json_object_get(json_array_get(messages, i - 1), "is_ours")))
            newest = json_array_get(messages, i - 1);
    int64_t acked = platform_counter(&storm_world, "acked");
    platform_tell(&storm_world.client, "{s:s,s:s,s:{s:{s:{s:s},s:s},s:{s:s,s:s,s:s,s:s,s:s}}}",
                  "do", "event", "type", "im.message.receive_v1", "event", "sender", "sender_id",
                  "open_id", ANN, "sender_type", "user", "message", "message_id",
                  talk_text(newest, "id"), "chat_id", ANN_CHAT, "chat_type", "p2p", "message_type",
                  "text", "content", talk_text(newest, "raw"));
    platform_await_counter(&storm_world, "acked", acked + 1);
    json_decref(list);
    platform_settle(&storm_world);
    CHECK_INT(before, chat_sent(&storm_world, ANN_CHAT));
}

static void events_in_pieces_are_put_together(void)
{
    static const char *const orders[] = {"", "reverse", "shuffle", "double", "missing"};
    for (size_t i = 0; i < SMA_COUNT_OF(orders); i++) {
        fprintf(stderr, "   pieces: %s\n", orders[i]);
        platform_tell(&storm_world.client, "{s:s,s:i,s:s}", "do", "pieces", "parts", 5, "order",
                      orders[i]);
        storm_talk_through();
    }
}

static void events_that_are_no_events_hurt_nobody(void)
{
    static const char *const bytes[] = {
        "no json", "{}",
        "[]",      "{\"schema\":\"2.0\"}",
        "null",    "{\"schema\":\"2.0\",\"header\":7,\"event\":[]}"};
    for (size_t i = 0; i < SMA_COUNT_OF(bytes); i++)
        platform_tell(&storm_world.client, "{s:s,s:s}", "do", "event", "bytes", bytes[i]);
    storm_talk_through();
}

int main(int argc, char **argv)
{
    storm_begin(argc, argv);
    RUN_IN_STORM(a_broken_connection_is_replaced);
    RUN_IN_STORM(nonsense_does_not_end_a_connection);
    RUN_IN_STORM(a_silent_connection_is_noticed_and_replaced);
    RUN_IN_STORM(missing_pongs_do_not_stop_the_talk);
    RUN_IN_STORM(a_restart_of_the_platform_loses_nothing);
    RUN_IN_STORM(endpoints_fail_and_come_back);
    RUN_IN_STORM(refused_handshakes_are_tried_again);
    RUN_IN_STORM(bad_certificates_are_refused);
    RUN_IN_STORM(a_server_that_never_says_a_word_is_given_up);
    RUN_IN_STORM(what_comes_again_is_answered_once);
    RUN_IN_STORM(a_message_under_another_event_is_answered_once);
    RUN_IN_STORM(events_in_pieces_are_put_together);
    RUN_IN_STORM(events_that_are_no_events_hurt_nobody);
    storm_end();
    return check_summary();
}
