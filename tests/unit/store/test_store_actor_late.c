/* Aim: a message that comes too late is not answered as if it were new, whatever platform brings
 * it; it is recorded, and its author is told once. Method: the store actor between actors that
 * keep what they get, under a clock of its own. */
#include "store_support.h"

#include "sma/links.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

static int64_t now_ms(struct world *world)
{
    return sma_ctx_wall(sma_system_ctx(world->system, TEST));
}

/* Said so long ago, and brought now. */
static int say_old(struct world *world, const char *id, int64_t age_ms)
{
    (void)say_as(
        world, TEST,
        &(struct saying){.chat = "a", .id = id, .text = "x", .sent_ms = now_ms(world) - age_ms});
    run(world);
    return accepted(&world->test).verdict;
}

/* The next delivery has these words; it is sent, so that the one behind it may come. "": there
 * is none. */
static bool has_notice(struct world *world, const char *words)
{
    struct sma_msg *msg = take(&world->dispatcher, SMA_MSG_DELIVER);
    if (msg == NULL)
        return words[0] == '\0';
    const struct sma_deliver *row = SMA_MSG_BODY(msg, struct sma_deliver);
    bool has =
        words[0] != '\0' && memmem(row->text.ptr, row->text.len, words, strlen(words)) != NULL;
    receipt(world, &(struct sma_receipt){.outbox_id = row->outbox_id,
                                         .state = SMA_DELIVERY_SENT,
                                         .part_count = 1,
                                         .is_final = true});
    sma_msg_destroy(msg);
    run(world);
    return has;
}

CASE(an_old_message_behind_an_answer_is_recorded_and_told_once)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "new", 1000));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "old", 6 * HOUR_MS));
    CHECK(run_seq(&world) == 0);
    CHECK(has_notice(&world, "6 hours ago"));
    /* the rest of the same outage */
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "old2", 5 * HOUR_MS));
    CHECK(has_notice(&world, ""));
    /* a copy changes nothing */
    CHECK_INT(SMA_VERDICT_DUPLICATE, say_old(&world, "old", 6 * HOUR_MS));
    CHECK(run_seq(&world) == 0);
    /* another outage */
    pass(&world, 3601);
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "old3", 90 * MINUTE_MS));
    CHECK(has_notice(&world, "90 minutes ago"));
}

/* Nobody has been answered since: the question still stands. */
CASE(an_old_message_that_nothing_overtook_is_answered)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "1", 6 * HOUR_MS));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "2", 5 * HOUR_MS)); /* in order */
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "3", 1000));
    finish_next(&world);
    /* brought again after a few minutes: late, not old */
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "4", 6 * MINUTE_MS));
    finish_next(&world);
    CHECK(has_notice(&world, ""));
}

CASE(what_was_answered_is_known_after_a_restart)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "new", 1000));
    finish_next(&world);
    restart_world(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "old", HOUR_MS));
    CHECK(has_notice(&world, "ago"));
}

CASE(beyond_the_limit_nothing_is_answered)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "1", DAY_MS - 1000));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "2", DAY_MS + 1000));
    CHECK(run_seq(&world) == 0);
    CHECK(has_notice(&world, "24 hours ago"));
}

CASE(the_limits_are_the_configurations)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":\"anyone\",\"backlogMaxS\":3600,\"backlogLateS\":60}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "1", 61 * MINUTE_MS));
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "2", 59 * MINUTE_MS));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "3", 0));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "4", 2 * MINUTE_MS));
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "5", MINUTE_MS - 1000));
}

CASE(record_takes_what_was_said_before_the_start_without_a_word)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":\"anyone\",\"backlog\":\"record\"}";
    open_world(&world);
    pass(&world, 60);
    CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "1", 2 * MINUTE_MS));
    CHECK(has_notice(&world, ""));
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "2", 30000));
}

/* The last date there is was not before the start. */
CASE(a_message_of_the_farthest_future_is_answered)
{
    struct world world;
    make_world(&world);
    world.test_json = "{\"access\":\"anyone\",\"backlog\":\"record\"}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "1", now_ms(&world) - INT64_MAX));
    end_world(&world);
    sma_links_reset();
}

/* "/stop" of six hours ago stops nothing of now. */
CASE(an_old_command_does_nothing)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "1", 1000));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "2", 1000));
    CHECK(run_seq(&world) != 0);
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "a",
                                  .id = "3",
                                  .text = "/stop",
                                  .kind = SMA_EVENT_CONTROL,
                                  .control = SMA_CONTROL_STOP,
                                  .sent_ms = now_ms(&world) - 6 * HOUR_MS});
    run(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK_INT(0, (int)count_kept(&world.agent, SMA_MSG_CONTROL));
    CHECK(has_notice(&world, "6 hours ago"));
}

/* Who would not have been answered hears nothing of it: chatter of a group, and people who may
 * not. */
CASE(nobody_is_told_who_waits_for_nothing)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":[\"u1\"],\"groups\":[\"g\"]}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "1", 1000));
    finish_next(&world);
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "g",
                                  .id = "2",
                                  .text = "x",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_NONE,
                                  .sent_ms = now_ms(&world) - 2 * DAY_MS});
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "a",
                                  .id = "3",
                                  .user = "stranger",
                                  .text = "x",
                                  .sent_ms = now_ms(&world) - 2 * DAY_MS});
    run(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK(has_notice(&world, ""));
}

/* -- the clock --------------------------------------------------------------------------------- */
static bool shows(const char *text)
{
    struct sma_buf json;
    sma_buf_init(&json, 4096);
    sma_link_up("test", 1);
    sma_links_format(&json);
    bool does = strstr(json.ptr, text) != NULL;
    sma_buf_fini(&json);
    return does;
}

CASE(a_message_of_the_future_says_that_the_clock_is_slow)
{
    struct world world;
    new_world(&world);
    (void)say_old(&world, "1", -90000);
    CHECK(shows("\"clockOffsetS\":-90,") || shows("\"clockOffsetS\":-90}"));
    (void)say_old(&world, "2", 100); /* mended */
    CHECK(!shows("clockOffsetS"));
    end_world(&world);
    sma_links_reset();
}

/* Dates that lie further in the future than what counts as late tell no order, until one agrees. */
CASE(a_clock_known_to_be_wrong_makes_nothing_overtaken)
{
    static const struct
    {
        int64_t ahead_ms;
        bool agrees_since;
        enum sma_verdict verdict;
    } rows[] = {{7 * DAY_MS, false, SMA_VERDICT_ACCEPTED},
                {31 * MINUTE_MS, false, SMA_VERDICT_ACCEPTED},
                {29 * MINUTE_MS, false, SMA_VERDICT_IGNORED},
                {7 * DAY_MS, true, SMA_VERDICT_IGNORED}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct world world;
        new_world(&world);
        CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "future", -rows[i].ahead_ms));
        finish_next(&world);
        if (rows[i].agrees_since) {
            CHECK_INT(SMA_VERDICT_ACCEPTED, say_old(&world, "now", 100));
            finish_next(&world);
        }
        CHECK_INT(rows[i].verdict, say_old(&world, "old", HOUR_MS));
        CHECK_INT(SMA_VERDICT_IGNORED, say_old(&world, "older", DAY_MS + 1000));
        end_world(&world);
        sma_links_reset();
    }
}

/* A backlog is late by many times and comes at once; a clock that is fast makes everything late
 * by one. */
CASE(messages_that_stay_late_by_the_same_time_say_that_the_clock_is_fast)
{
    static const struct
    {
        int64_t ages_ms[4];
        uint64_t pause_s;
        bool is_told;
    } rows[] = {{{400000, 401000, 399500, 400500}, 20, true},
                {{400000, 401000, 399500, 400500}, 1, false},
                {{900000, 700000, 500000, 350000}, 20, false},
                {{400000, 1000, 400000, 400000}, 20, false},
                {{200000, 200000, 200000, 200000}, 20, false},
                {{2 * DAY_MS, 2 * DAY_MS, 0, 2 * DAY_MS}, 1, true}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct world world;
        new_world(&world);
        for (size_t j = 0; j < 4; j++) {
            char id[16];
            snprintf(id, sizeof id, "%zu", j);
            (void)say_old(&world, id, rows[i].ages_ms[j]);
            pass(&world, rows[i].pause_s);
        }
        CHECK_INT(rows[i].is_told, shows("clockOffsetS"));
        end_world(&world);
        sma_links_reset();
    }
}

CASES_MAIN
