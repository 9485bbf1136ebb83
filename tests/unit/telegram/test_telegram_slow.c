/*
 * Aim: what only time can show: a connection that is half open, a verdict that is late.
 * Method: real deadlines, some seconds each; not among the quick tests.
 */
#include "actor_world.h"

static int64_t counter(const char *name)
{
    return telegram_number(&world_platform, name, "{s:s}", "do", "counters");
}

static bool is_callback_answered(size_t index)
{
    json_t *list = telegram_do(&world_platform, "{s:s}", "do", "callbacks");
    json_t *callback = json_array_get(json_object_get(list, "callbacks"), index);
    bool is_answered = json_is_true(json_object_get(callback, "is_answered"));
    json_decref(list);
    return is_answered;
}

static void press(const char *data, int64_t message_id)
{
    telegram_tell(&world_platform, "{s:s,s:i,s:i,s:I,s:s}", "do", "press", "chat", WORLD_ADA,
                  "user", WORLD_ADA, "message_id", (json_int_t)message_id, "data", data);
}

static void a_late_verdict_does_not_keep_a_button_turning(void)
{
    world_open("");
    int64_t message = world_say(WORLD_ADA, WORLD_ADA, "hello");
    WORLD_WAIT(counter("confirmed") == 1);
    world_hold(true);
    press("x", message);
    WORLD_WAIT(world_event_count() == 2);
    WORLD_WAIT(is_callback_answered(0)); /* after 5 s */
    CHECK_INT(1, counter("confirmed"));
    world_hold(false);
    WORLD_WAIT(counter("confirmed") == 2);
    CHECK_INT(1, world_calls("answercallbackquery"));
    world_close();
}

static void a_half_open_poll_is_given_up_at_its_deadline(void)
{
    world_open(",\"pollTimeoutS\":1");
    WORLD_WAIT(world_is_polled());
    telegram_tell(&world_platform, "{s:s,s:s,s:s}", "do", "fault", "method", "getUpdates", "kind",
                  "half_open");
    world_say(WORLD_ADA, WORLD_ADA, "wakes the poll");
    WORLD_WAIT(world_event_count() == 1);
    world_say(WORLD_ADA, WORLD_ADA, "behind the dead connection");
    world_rest(5000);
    CHECK_INT(1, world_event_count());
    WORLD_WAIT(world_event_count_of("behind the dead connection") == 1); /* 1 s + 10 s + back-off */
    WORLD_WAIT(world_log_count("getUpdates failed (1 in a row)") == 1);
    world_close();
}

static void a_second_program_is_told_loudly(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "getUpdates",
                  "kind", "status", "status", 409, "times", 4);
    world_say(WORLD_ADA, WORLD_ADA, "wakes the poll");
    WORLD_WAIT(world_log_count("another program is polling") == 1); /* at the fourth */
    CHECK_INT(0, world_log_count("getUpdates failed"));
    world_close();
}

int main(void)
{
    RUN(a_late_verdict_does_not_keep_a_button_turning);
    RUN(a_half_open_poll_is_given_up_at_its_deadline);
    RUN(a_second_program_is_told_loudly);
    return check_summary();
}
