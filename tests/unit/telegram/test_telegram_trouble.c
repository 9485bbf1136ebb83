/*
 * Aim: the adapter outlives what networks, proxies and other programs do, says so once, and loses
 * nothing by it.
 * Method: faults of the simulated platform; each costs one back-off of at most a second.
 */
#include "actor_world.h"

static int64_t counter(const char *name)
{
    return telegram_number(&world_platform, name, "{s:s}", "do", "counters");
}

static void fault(const char *method, const char *kind, int status)
{
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", method, "kind",
                  kind, "status", status);
}

static void failures_are_outlived(void)
{
    static const struct
    {
        const char *kind;
        int status;
        /* a connection that closes before it answers may be replaced without a word */
        bool is_told;
    } cases[] = {{"html", 502, true}, {"close", 0, false}, {"cut", 0, true}, {"status", 429, true}};
    size_t told = 0;
    world_open("");
    WORLD_WAIT(world_is_polled());
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char text[16];
        snprintf(text, sizeof text, "after %zu", i);
        told += cases[i].is_told;
        fault("getUpdates", cases[i].kind, cases[i].status);
        world_say(WORLD_ADA, WORLD_ADA, "wakes the poll"); /* the next one meets the fault */
        WORLD_WAIT(counter("faults_left") == 0); /* or two in a row might, which are told as one */
        world_say(WORLD_ADA, WORLD_ADA, text);
        WORLD_WAIT(world_event_count_of(text) == 1);
        WORLD_WAIT(world_log_count("getUpdates failed (1 in a row)") >= told);
    }
    world_close();
}

static void getme_is_tried_until_it_works(void)
{
    world_make_platform();
    fault("getMe", "html", 502);
    fault("deleteWebhook", "close", 0);
    world_say(WORLD_ADA, WORLD_ADA, "hello");
    world_open("");
    WORLD_WAIT(world_event_count_of("hello") == 1);
    WORLD_WAIT(world_log_count("getMe failed (1 in a row)") == 1);
    world_close();
}

static void a_refused_token_is_told_once_and_not_hammered(void)
{
    world_make_platform();
    telegram_tell(&world_platform, "{s:s}", "do", "revoke");
    world_open("");
    WORLD_WAIT(world_log_count("the bot token is refused (401)") == 1);
    world_rest(300);
    CHECK_INT(2, counter("refused")); /* deleteWebhook and getMe, once each */
    CHECK(world_status_shows("the bot token is refused (401)"));
    world_close();
}

static void a_refused_token_shows_in_status_until_it_works(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    CHECK(!world_status_shows(""));
    telegram_tell(&world_platform, "{s:s}", "do", "revoke");
    (void)world_deliver(1, "501", "", "", "not now"); /* is tried again in a minute */
    WORLD_WAIT(world_status_shows("the bot token is refused (401)"));
    telegram_tell(&world_platform, "{s:s,s:b}", "do", "revoke", "on", 0);
    world_say(WORLD_ADA, WORLD_ADA, "hello");
    WORLD_WAIT(world_event_count_of("hello") == 1);
    WORLD_WAIT(!world_status_shows(""));
    world_close();
}

static void a_webhook_in_the_way_is_removed(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    int64_t before = world_calls("deletewebhook");
    telegram_tell(&world_platform, "{s:s,s:s}", "do", "webhook", "url", "http://127.0.0.1:9/x");
    world_say(WORLD_ADA, WORLD_ADA,
              "hello"); /* the poll after this one, if not this one, meets it */
    telegram_tell(&world_platform, "{s:s}", "do", "restart");
    WORLD_WAIT(world_calls("deletewebhook") > before);
    WORLD_WAIT(world_event_count_of("hello") == 1);
    world_close();
}

static void a_few_conflicts_are_no_second_program(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    fault("getUpdates", "status", 409);
    world_say(WORLD_ADA, WORLD_ADA, "wakes the poll");
    WORLD_WAIT(counter("faults_left") == 0);
    world_say(WORLD_ADA, WORLD_ADA, "hello");
    WORLD_WAIT(world_event_count_of("hello") == 1);
    CHECK_INT(0, world_log_count("another program is polling"));
    world_close();
}

int main(void)
{
    RUN(failures_are_outlived);
    RUN(getme_is_tried_until_it_works);
    RUN(a_refused_token_is_told_once_and_not_hammered);
    RUN(a_refused_token_shows_in_status_until_it_works);
    RUN(a_webhook_in_the_way_is_removed);
    RUN(a_few_conflicts_are_no_second_program);
    return check_summary();
}
