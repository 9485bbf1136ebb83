/*
 * Aim: the link comes back by itself from everything, says what is wrong, hammers nobody and loses
 * nothing.
 * Method: the adapter against the simulated platform, which misbehaves on command.
 */
#include "actor_world.h"

static void open_connected(const char *members)
{
    world_open(members);
    WORLD_WAIT(world_log_count("qq: connected") > 0);
}

static void hears(const char *text)
{
    world_say(WORLD_C2C, text);
    WORLD_WAIT(world_event_count_of(text) >= 1);
}

static void a_wrong_secret_is_said_once(void)
{
    world_open(",\"appSecret\":\"wrongsecret\"");
    WORLD_WAIT(world_log_count("does not take this bot's appId and appSecret") == 1);
    world_rest(300);
    WORLD_WAIT(world_log_count("does not take this bot's") == 1);
    CHECK_INT(0, world_log_count("wrongsecret"));
    CHECK(world_status_shows("does not take this bot's appId and appSecret"));
    CHECK(world_counter("tokens") <= 1);
    world_close();
}

static void a_store_that_is_slow_stops_the_reading(void)
{
    open_connected("");
    world_hold(true);
    for (int i = 0; i < 1500; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %d", i);
        world_say(WORLD_C2C, text);
    }
    WORLD_WAIT(world_event_count() == 1024);
    world_rest(50);
    CHECK_INT(1024, world_event_count());
    world_hold(false);
    WORLD_WAIT(world_event_count() == 1500);
    for (size_t i = 0; i < 1500; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %zu", i);
        CHECK_TEXT(text, world_event_at(i).text);
    }
    CHECK_INT(0, world_counter("resumes"));
    world_close();
}

static int64_t interaction_code(void)
{
    json_t *list = platform_do(&world_platform, "{s:s}", "do", "interactions");
    int64_t code =
        platform_number(json_array_get(json_object_get(list, "interactions"), 0), "code", -1);
    json_decref(list);
    return code;
}

static void buttons_are_acknowledged(void)
{
    open_connected("");
    world_tell("{s:s,s:s,s:s}", "do", "press", "chat", WORLD_C2C, "data", "approve:1");
    WORLD_WAIT(world_event_count() == 1);
    WORLD_WAIT(interaction_code() == 0);
    struct world_event event = world_event_at(0);
    CHECK_INT(SMA_EVENT_CALLBACK, event.kind);
    CHECK_TEXT("approve:1", event.text);
    world_await(world_deliver(&(struct world_row){WORLD_C2C, event.message_id, "done", 0, 0, 0}),
                SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "done"));
    world_close();
}

static void a_late_verdict_does_not_keep_a_button_waiting(void)
{
    open_connected("");
    world_hold(true);
    world_tell("{s:s,s:s,s:s}", "do", "press", "chat", WORLD_C2C, "data", "late");
    WORLD_WAIT(interaction_code() == 0);
    world_hold(false);
    world_close();
}

static void payloads_are_kept_when_asked_for(void)
{
    char folder[300], command[400];
    setenv("SHIP_QQ_CAPTURE_EVENTS", "dispatch", 1);
    open_connected("");
    unsetenv("SHIP_QQ_CAPTURE_EVENTS");
    hears("kept");
    snprintf(folder, sizeof folder, "%s/.ship/.debug/qq-events", world_dir);
    snprintf(command, sizeof command, "grep -q kept %s/*_0_C2C_MESSAGE_CREATE_*.json", folder);
    CHECK(system(command) == 0);
    world_close();
}

int main(void)
{
    RUN(a_wrong_secret_is_said_once);
    RUN(a_store_that_is_slow_stops_the_reading);
    RUN(buttons_are_acknowledged);
    RUN(a_late_verdict_does_not_keep_a_button_waiting);
    RUN(payloads_are_kept_when_asked_for);
    return check_summary();
}
