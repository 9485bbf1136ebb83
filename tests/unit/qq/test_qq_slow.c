/*
 * Aim: the link comes back by itself after every loss, and nothing is lost by it; nor is anything
 * said twice.
 * Method: the adapter against the simulated platform, which misbehaves on command. The pauses
 * before a new try are real, so these take seconds.
 */
#include "actor_world.h"
#include "support/cards.h"

#include <stdlib.h>

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

static void lost_links_lose_nothing(void)
{
    static const char *const losses[] = {"drop", "reset", "reconnect"};
    open_connected("");
    for (size_t i = 0; i < SMA_COUNT_OF(losses); i++) {
        char before[32], after[32];
        snprintf(before, sizeof before, "before %zu", i);
        snprintf(after, sizeof after, "after %zu", i);
        world_say(WORLD_C2C, before);
        world_tell("{s:s}", "do", losses[i]);
        world_say(WORLD_C2C, after);
        WORLD_WAIT(world_event_count_of(before) >= 1 && world_event_count_of(after) >= 1);
        WORLD_WAIT(world_counter("resumes") == (int64_t)i + 1);
    }
    CHECK_INT(1, world_counter("identifies"));
    world_close();
}

static void an_event_the_store_refused_comes_again(void)
{
    open_connected("");
    world_refuse(0, 1);
    world_say(WORLD_C2C, "again");
    WORLD_WAIT(world_event_count_of("again") >= 2);
    CHECK_INT(1, world_counter("identifies"));
    world_close();
}

static void a_message_without_a_token_waits_and_goes(void)
{
    world_open("");
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    world_tell("{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", "token", "kind", "status",
               "times", 1, "status", 500, "code", 0);
    world_tell("{s:s}", "do", "expire_token");
    const char *id = world_say(WORLD_C2C, "hello");
    WORLD_WAIT(world_event_count() == 1);
    uint64_t row = world_deliver(&(struct world_row){WORLD_C2C, id, "late", 0, 0, 0});
    world_await(row, SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "late"));
    world_close();
}

/* Kept until the next call. */
static const char *request_json(void)
{
    static char *json;
    free(json);
    return json = card_request(NULL, NULL);
}

static bool has_buttons(const char *chat)
{
    json_t *list = world_chat(chat), *messages = json_object_get(list, "messages"), *message;
    size_t index;
    bool has = false;
    json_array_foreach(messages, index, message) has |=
        json_array_size(json_object_get(message, "buttons")) > 0;
    json_decref(list);
    return has;
}

static void an_intent_that_is_not_allowed_is_done_without(void)
{
    world_make_platform();
    world_tell("{s:s,s:i}", "do", "rights", "intents", 3 << 25);
    open_connected("");
    WORLD_WAIT(world_log_count("connected without guild_at, direct, audit;") == 1);
    hears("with fewer rights"); /* and presses of buttons go on coming */
    const char *id = world_say(WORLD_C2C, "may I?");
    uint64_t row = world_deliver(&(struct world_row){.chat = WORLD_C2C,
                                                     .reply = id,
                                                     .text = request_json(),
                                                     .intent = SMA_INTENT_APPROVAL_REQUEST});
    world_await(row, SMA_DELIVERY_SENT);
    CHECK(has_buttons(WORLD_C2C));
    world_close();
}

/* Buttons that nobody hears would be a wall: requests are answered by words. */
static void without_presses_requests_are_words(void)
{
    world_make_platform();
    world_tell("{s:s,s:i}", "do", "rights", "intents", 1 << 25);
    open_connected("");
    WORLD_WAIT(world_log_count("no press of a button arrives") == 1);
    const char *id = world_say(WORLD_C2C, "may I?");
    uint64_t row = world_deliver(&(struct world_row){.chat = WORLD_C2C,
                                                     .reply = id,
                                                     .text = request_json(),
                                                     .intent = SMA_INTENT_APPROVAL_REQUEST});
    world_await(row, SMA_DELIVERY_SENT);
    CHECK(!has_buttons(WORLD_C2C));
    CHECK_INT(1, world_shown(WORLD_C2C, "Approval needed\nRun this command:\n  git <push> & run\n"
                                        "Reply: yes / no\n"));
    world_close();
}

static void sessions_that_are_gone_are_begun_anew(void)
{
    open_connected("");
    world_tell("{s:s,s:b}", "do", "invalid", "resumable", 0);
    WORLD_WAIT(world_log_count("connected again") == 1);
    CHECK_INT(2, world_counter("identifies"));
    hears("in the second session");
    world_close();
}

static void garbage_ends_the_link_and_loses_nothing(void)
{
    static const char *const kinds[] = {"text", "utf8", "frame"};
    open_connected("");
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        char text[32];
        snprintf(text, sizeof text, "after %s", kinds[i]);
        world_tell("{s:s,s:s}", "do", "garbage", "kind", kinds[i]);
        hears(text);
    }
    CHECK_INT(1, world_counter("identifies"));
    world_close();
}

static void two_shards_share_the_work(void)
{
    open_connected(",\"shards\":2");
    WORLD_WAIT(world_log_count("shard 2 of 2, new session") == 1); /* refused at first, maybe */
    hears("to one of them");
    world_close();
}

/* The platform counts five seconds from one log-in to the next, however long the way to the first
 * one was. */
static void a_slow_first_log_in_moves_the_second(void)
{
    world_make_platform();
    world_tell("{s:s,s:s,s:s,s:i}", "do", "fault", "method", "gateway_bot", "kind", "delay", "ms",
               2000);
    open_connected(",\"shards\":2");
    WORLD_WAIT(world_log_count("shard 2 of 2, new session") == 1);
    CHECK_INT(0, world_log_count("is not connected"));
    CHECK_INT(2, world_counter("identifies"));
    world_close();
}

/* -- deliveries -------------------------------------------------------------------------------- */
static const char *start_talk(const char *members, const char *chat)
{
    world_open(members);
    WORLD_WAIT(world_log_count("qq: connected") > 0);
    const char *id = world_say(chat, "hello");
    WORLD_WAIT(world_event_count() == 1);
    return id;
}

static uint64_t answer(const char *chat, const char *id, const char *text)
{
    return world_deliver(&(struct world_row){.chat = chat, .reply = id, .text = text});
}

static void fault(const char *kind, int status, int code)
{
    world_tell("{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", "send", "kind", kind, "times",
               1, "status", status, "code", code);
}

static void a_lost_answer_is_not_said_twice(void)
{
    const char *id = start_talk("", WORLD_C2C);
    fault("lose_answer", 0, 0);
    world_await(answer(WORLD_C2C, id, "once"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "once"));
    CHECK_INT(1, world_counter("duplicates"));
    world_close();
}

static void trouble_that_passes_is_waited_for(void)
{
    const char *id = start_talk("", WORLD_C2C);
    fault("status", 429, 0);
    world_await(answer(WORLD_C2C, id, "after 429"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "after 429"));
    fault("close", 0, 0);
    world_await(answer(WORLD_C2C, id, "after a cut"), SMA_DELIVERY_SENT);
    CHECK_INT(1, world_shown(WORLD_C2C, "after a cut"));
    world_close();
}

/* -- attachments ------------------------------------------------------------------------------- */
static void a_download_that_stalls_is_begun_again(void)
{
    struct world_prepared prepared;
    open_connected("");
    json_decref(platform_do(&world_platform, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat",
                            WORLD_C2C, "text", "look", "attachments", "type", "image/jpeg", "name",
                            "x.jpg", "text", "the picture"));
    WORLD_WAIT(world_event_count() == 1);
    world_tell("{s:s,s:s,s:s,s:i}", "do", "fault", "method", "download", "kind", "half_open",
               "times", 1);
    struct world_event event = world_event_at(0);
    uint64_t seq = world_prepare(event.preparation, WORLD_C2C, "M1", false);
    WORLD_WAIT(world_has_prepared(seq, &prepared)); /* long before the message may wait no more */
    CHECK_TEXT("", prepared.context);
    CHECK_INT(0, world_counter("faults_left"));
    world_close();
}

int main(void)
{
    RUN(lost_links_lose_nothing);
    RUN(an_event_the_store_refused_comes_again);
    RUN(a_message_without_a_token_waits_and_goes);
    RUN(an_intent_that_is_not_allowed_is_done_without);
    RUN(without_presses_requests_are_words);
    RUN(sessions_that_are_gone_are_begun_anew);
    RUN(garbage_ends_the_link_and_loses_nothing);
    RUN(two_shards_share_the_work);
    RUN(a_slow_first_log_in_moves_the_second);
    RUN(a_lost_answer_is_not_said_twice);
    RUN(trouble_that_passes_is_waited_for);
    RUN(a_download_that_stalls_is_begun_again);
    return check_summary();
}
