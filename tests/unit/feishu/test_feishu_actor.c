/* test_feishu_actor.c — the long connection: what is acknowledged, and when; how it is lost and
 * found again. */
#include "actor_world.h"

#include "sma/health.h"

#define BUTTON                                                                                    \
    "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"ev_button\",\"event_type\":\"card.action."    \
    "trigger\","                                                                                  \
    "\"create_time\":\"1763755000000000\",\"token\":\"vt\",\"app_id\":\"cli_0123456789abcdef\"}," \
    "\"event\":{"                                                                                 \
    "\"operator\":{\"open_id\":\"" WORLD_ADA                                                      \
    "\"},\"token\":\"c-1\",\"action\":{\"value\":{\"k\":\"v\"},\"tag\":"                          \
    "\"button\"},\"host\":\"im_message\",\"context\":{\"open_message_id\":\"om_1\",\"open_chat_"  \
    "id\":\"" WORLD_CHAT "\"}}}"

static void connect_world(const char *members)
{
    world_open(members);
    WORLD_WAIT(platform_is_connected());
}

static void an_event_is_acknowledged_when_it_is_durable(void)
{
    connect_world("");
    world_hold(true);
    platform_send_event("m1", platform_text_event("om_1", "hello"), 1, NULL);
    WORLD_WAIT(world_event_count() == 1);
    world_rest(100);
    CHECK_INT(0, platform_ack_count());
    world_hold(false);
    WORLD_WAIT(platform_ack_count() == 1);
    struct platform_ack ack = platform_ack_at(0);
    CHECK_STR("m1", sma_str(ack.message_id));
    CHECK_INT(200, ack.code);
    CHECK(ack.has_run_time);
    CHECK_STR("hello", sma_str(world_event_at(0).text));
    CHECK_STR("feishu:chat:" WORLD_CHAT, sma_str(world_event_at(0).chat_key));
    CHECK_STR("om_1", sma_str(world_event_at(0).event_key));
    CHECK_INT(SMA_ADDRESSED_PRIVATE, world_event_at(0).addressed);
    world_close();
}

static void a_refused_event_is_not_acknowledged(void)
{
    connect_world("");
    world_refuse(0, 1);
    platform_send_event("m1", platform_text_event("om_1", "one"), 1, NULL);
    WORLD_WAIT(world_event_count() == 1);
    platform_send_event("m2", platform_text_event("om_2", "two"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_STR("m2", sma_str(platform_ack_at(0).message_id));
    platform_send_event("m3", platform_text_event("om_1", "one"), 1, NULL); /* brought again */
    WORLD_WAIT(platform_ack_count() == 2);
    CHECK_STR("m3", sma_str(platform_ack_at(1).message_id));
    world_close();
}

static void what_is_of_no_interest_is_acknowledged_at_once(void)
{
    connect_world("");
    world_hold(true);
    platform_send_event("m1",
                        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"event_type\":"
                        "\"im.message.message_read_v1\"},\"event\":{}}",
                        1, NULL);
    platform_send_event("m2", "this is no event", 1, NULL);
    WORLD_WAIT(platform_ack_count() == 2);
    CHECK_STR("m1", sma_str(platform_ack_at(0).message_id));
    CHECK_STR("m2", sma_str(platform_ack_at(1).message_id));
    CHECK_INT(200, platform_ack_at(1).code);
    CHECK_INT(0, world_event_count());
    world_close();
}

static void split_events_are_joined_and_answered_once(void)
{
    static const size_t order[] = {2, 0, 4, 1, 3};
    connect_world("");
    platform_send_event(
        "m1", platform_text_event("om_1", "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c"), 5,
        order);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(1, world_event_count());
    CHECK_STR("\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c", sma_str(world_event_at(0).text));
    world_rest(50);
    CHECK_INT(1, platform_ack_count());
    world_close();
}

static void a_button_is_answered_with_a_toast(void)
{
    connect_world("");
    platform_send_event("m1", BUTTON, 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(SMA_EVENT_CALLBACK, world_event_at(0).kind);
    CHECK(strlen(platform_ack_at(0).data) > 20);
    world_refuse(0, 1); /* it is not brought again, so the person is told */
    platform_send_event("m2", BUTTON, 1, NULL);
    WORLD_WAIT(platform_ack_count() == 2);
    CHECK_INT(200, platform_ack_at(1).code);
    CHECK(strcmp(platform_ack_at(0).data, platform_ack_at(1).data) != 0);
    world_close();
}

static void a_lost_connection_comes_back_with_a_new_ticket(void)
{
    connect_world("");
    world_hold(true);
    platform_send_event("m1", platform_text_event("om_1", "in flight"), 1, NULL);
    WORLD_WAIT(world_event_count() == 1);
    ws_server_reset(platform_server(), 0);
    WORLD_WAIT(ws_server_accepted_count(platform_server()) == 2);
    CHECK_INT(2, platform_count("POST", "/callback/ws/endpoint"));
    world_hold(false);
    world_rest(100); /* its connection is gone: nothing is acknowledged on another */
    CHECK_INT(0, platform_ack_count());
    platform_send_event("m2", platform_text_event("om_1", "in flight"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    ws_server_close(platform_server(), 0, 1000, "bye");
    WORLD_WAIT(ws_server_accepted_count(platform_server()) == 3);
    world_close();
}

static void a_refused_handshake_says_why(void)
{
    platform_start();
    platform_refuse_upgrades(
        403, "Handshake-Status: 514\r\nHandshake-Msg: too many\r\nHandshake-Autherrcode: "
             "1000040350\r\n");
    world_open("");
    WORLD_WAIT(world_log_count("too many") == 1);
    world_rest(300); /* for good: no hammering */
    CHECK_INT(1, platform_count("POST", "/callback/ws/endpoint"));
    struct sma_buf trouble;
    sma_buf_init(&trouble, 4096);
    sma_health_format(&trouble); /* what status shows */
    CHECK(strstr(trouble.ptr, "\"feishu\":\"") != NULL && strstr(trouble.ptr, "too many") != NULL);
    sma_buf_fini(&trouble);
    world_close();
}

static void a_wrong_secret_is_said_once_and_not_hammered(void)
{
    platform_start();
    platform_script("POST", "/open-apis/auth/", 100, 400, "",
                    "{\"code\":10014,\"msg\":\"app secret invalid\"}");
    world_open("");
    WORLD_WAIT(world_log_count("trying again every 600 s") == 1);
    world_rest(300);
    CHECK_INT(1, platform_count("POST", "/open-apis/auth/"));
    CHECK_INT(0, platform_count("POST", "/callback/ws/endpoint"));
    WORLD_WAIT(world_log_count("trying again every 600 s") == 1);
    world_close();
}

static void a_known_bot_need_not_wait(void)
{
    connect_world("");
    world_stop();
    platform_script("GET", "/open-apis/bot/", 100, 0, "", ""); /* never answered any more */
    connect_world("");
    platform_send_event(
        "m1",
        "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e1\",\"event_type\":\"im.message.receive_"
        "v1\"},"
        "\"event\":{\"sender\":{\"sender_id\":{\"open_id\":\"" WORLD_ADA
        "\"},\"sender_type\":\"user\"},\"message\":{\"message_id\":\"om_9\",\"chat_id\":"
        "\"" WORLD_GROUP "\",\"chat_type\":\"group\",\"message_type\":\"text\",\"content\":\"{"
        "\\\"text\\\":\\\"@_user_1 "
        "hi\\\"}\",\"mentions\":[{\"key\":\"@_user_1\",\"id\":{\"open_id\":\"" WORLD_BOT
        "\"},\"name\":\"Ship\"}]}}}",
        1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(SMA_ADDRESSED_MENTION, world_event_at(0).addressed);
    world_close();
}

static void garbage_is_survived(void)
{
    connect_world("");
    ws_server_send(platform_server(), 0, SMA_STR("\xff\xff\xff\xff"), true);
    ws_server_send(platform_server(), 0, SMA_STR("text"), false);
    platform_send_event("m1", platform_text_event("om_1", "still here"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    CHECK_INT(1, ws_server_accepted_count(platform_server()));
    world_close();
}

static void no_room_at_the_store_stops_reading(void)
{
    connect_world("");
    world_hold(true);
    char name[32];
    for (unsigned i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "om_%u", i);
        platform_send_event(name, platform_text_event(name, "x"), 1, NULL);
    }
    WORLD_WAIT(world_event_count() == 512);
    world_rest(50);
    CHECK_INT(512, world_event_count());
    world_hold(false);
    WORLD_WAIT(world_event_count() == 600);
    CHECK_INT(1, ws_server_accepted_count(platform_server()));
    world_close();
}

static void the_end_waits_for_verdicts(void)
{
    connect_world("");
    platform_send_event("m1", platform_text_event("om_1", "last"), 1, NULL);
    WORLD_WAIT(platform_ack_count() == 1);
    world_stop(); /* orderly, with its connection open */
    WORLD_WAIT(ws_server_open_count(platform_server()) == 0);
    world_clean();
}

int main(void)
{
    RUN(an_event_is_acknowledged_when_it_is_durable);
    RUN(a_refused_event_is_not_acknowledged);
    RUN(what_is_of_no_interest_is_acknowledged_at_once);
    RUN(split_events_are_joined_and_answered_once);
    RUN(a_button_is_answered_with_a_toast);
    RUN(a_lost_connection_comes_back_with_a_new_ticket);
    RUN(garbage_is_survived);
    RUN(no_room_at_the_store_stops_reading);
    RUN(a_known_bot_need_not_wait);
    RUN(the_end_waits_for_verdicts);
    RUN(a_refused_handshake_says_why);
    RUN(a_wrong_secret_is_said_once_and_not_hammered);
    return check_summary();
}
