/*
 * Aim: an answer that is seen while it is written is one answer, on each platform, whatever moment
 * the service is killed at.
 * Method: the real binary between a platform and a model server that writes slowly. The service is
 * killed at the named points of a stream and of its delivery, and when something has been seen, and
 * started again; then the chats are read.
 *   scenario_stream BINARY FAKE_MODEL
 */
#include "platform_world.h"
#include "telegram/fake_telegram.h"

#include "support/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define END "the very end"
#define SLOWLY "[[plain]] [[fault:drip bytes=60 ms=60 times=99]] "

static const char *binary, *fake_model;

extern const struct platform_kind telegram_kind, feishu_kind, qq_kind;

/* Where a platform streams, and what its chats are called. */
struct place
{
    const struct platform_kind *kind;
    const char *chat, *user; /* as JSON */
    const char *mention;     /* in front of what is said */
    unsigned orphan_max;     /* unfinished messages that a kill at after_stream may leave */
};
/* No key: the one that was begun cannot be found again; it holds no words. */
static const struct place telegram = {&telegram_kind, "-1001234567890", "1001",
                                      "@" FAKE_TELEGRAM_BOT_NAME " ", 1};
static const struct place feishu = {&feishu_kind, NULL, NULL, "", 0};
/* Likewise no key; the platform shows its first lines. */
static const struct place qq = {&qq_kind, NULL, NULL, "", 1};

static json_t *id_of(const struct place *place, const char *given, const char *member)
{
    if (given != NULL)
        return json_integer(strtoll(given, NULL, 10));
    json_t *ann = json_loads(place->kind->ann, 0, NULL);
    json_t *id = json_incref(json_object_get(ann, member));
    json_decref(ann);
    return id;
}

static json_t *chat_of(const struct place *place)
{
    return id_of(place, place->chat, "chat");
}

static void say(const struct platform_world *world, const struct place *place)
{
    char text[2048];
    int len = snprintf(text, sizeof text, "%s" SLOWLY "\n", place->mention);
    for (int i = 0; i < 24; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, "line %d of a long answer\n", i);
    snprintf(text + len, sizeof text - (size_t)len, END);
    (void)chat_say_as(world, chat_of(place), id_of(place, place->user, "user"), text);
}

static size_t shown(const struct platform_world *world, const struct place *place, const char *part)
{
    return chat_count_in(world, chat_of(place), part);
}

static int64_t unfinished(const struct platform_world *world)
{
    json_t *counters = platform_do(&world->client, "{s:s,s:b}", "do", "counters", "unfinished", 1);
    int64_t count = json_integer_value(json_object_get(counters, "unfinished"));
    json_decref(counters);
    return count;
}

static void start(struct platform_world *world, const struct place *place)
{
    platform_world_start(world, place->kind, binary, fake_model, &(struct platform_options){0});
}

/* Until the beginning is seen, and the end is not. */
static void await_beginning(const struct platform_world *world, const struct place *place)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (shown(world, place, "line 0") == 0) {
        if (process_now_ms() > until)
            chat_show_of(world, chat_of(place));
        CHECK(process_now_ms() <= until);
        process_pause_ms(5);
    }
    CHECK_INT(0, shown(world, place, END));
}

static void the_answer_grows(const struct place *place)
{
    struct platform_world world;
    start(&world, place);
    say(&world, place);
    await_beginning(&world, place);
    CHECK_INT(1, unfinished(&world));
    json_decref(chat_await_in(&world, chat_of(place), END));
    platform_settle(&world);
    CHECK_INT(1, shown(&world, place, "line 0"));
    CHECK_INT(1, shown(&world, place, END));
    CHECK_INT(0, unfinished(&world));
    platform_world_stop(&world);
}

static void await_death(const struct platform_world *world)
{
    long long until = process_now_ms() + AWAIT_MS;
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)world->world.service.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
        CHECK(process_now_ms() <= until);
        process_pause_ms(2);
    }
}

static void killed_at(const struct place *place, const char *what, unsigned orphan_max)
{
    struct platform_world world;
    char point[64];
    snprintf(point, sizeof point, "%s.%s:1", place->kind->name, what);
    setenv("SMA_CRASH_AT", point, 1);
    start(&world, place);
    unsetenv("SMA_CRASH_AT");
    world.world.may_prefix_move = true;
    say(&world, place);
    await_death(&world);
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    json_decref(chat_await_in(&world, chat_of(place), END));
    platform_settle(&world);
    if (shown(&world, place, END) != 1 || unfinished(&world) > orphan_max)
        chat_show_of(&world, chat_of(place));
    CHECK_INT(1, shown(&world, place, END));
    CHECK(unfinished(&world) <= orphan_max);
    CHECK(shown(&world, place, "line 0") <= 1 + (place->kind == &qq_kind ? orphan_max : 0));
    platform_world_stop(&world);
}

static void at_any_point_there_is_one_answer(const struct place *place)
{
    static const char *const points[] = {"before_stream", "after_stream", "after_claim",
                                         "before_send", "after_send"};
    for (size_t i = 0; i < SMA_COUNT_OF(points); i++)
        killed_at(place, points[i], strcmp(points[i], "after_stream") == 0 ? place->orphan_max : 0);
}

static void begin_next_life(struct platform_world *world)
{
    service_kill(&world->world.service);
    service_start(&world->world.service, binary, &world->world.folder);
}

/* Killed while it is written, when the model has said the end (the step, the end of the run or the
 * delivery is cut), when all is over, and after a new start. No more than two of these come before
 * the answer is a step of its run, however slow the machine: a run that was interrupted three times
 * without a step is given up (SMA_RUN_ATTEMPT_COUNT_MAX), and its answer never comes. */
static void killed_again_and_again(const struct place *place)
{
    struct platform_world world;
    start(&world, place);
    world.world.may_prefix_move = true;
    say(&world, place);
    await_beginning(&world, place);
    begin_next_life(&world);
    platform_await_log(&world, "round 0, outcome ok");
    begin_next_life(&world);
    platform_settle(&world);
    begin_next_life(&world);
    platform_world_await_ready(&world);
    begin_next_life(&world);
    json_decref(chat_await_in(&world, chat_of(place), END));
    platform_settle(&world);
    if (shown(&world, place, END) != 1)
        chat_show_of(&world, chat_of(place));
    CHECK_INT(1, shown(&world, place, END));
    platform_world_stop(&world);
}

static void however_often_it_is_killed_there_is_one_answer(void)
{
    killed_again_and_again(&telegram);
    killed_again_and_again(&feishu);
    killed_again_and_again(&qq);
}

static void a_telegram_group_sees_it_grow(void)
{
    the_answer_grows(&telegram);
}

static void a_feishu_chat_sees_it_typed(void)
{
    the_answer_grows(&feishu);
}

static void a_qq_chat_sees_its_lines(void)
{
    the_answer_grows(&qq);
}

static void killed_at_any_point_telegram_shows_one_answer(void)
{
    at_any_point_there_is_one_answer(&telegram);
}

static void killed_at_any_point_feishu_shows_one_answer(void)
{
    at_any_point_there_is_one_answer(&feishu);
}

static void killed_at_any_point_qq_shows_one_answer(void)
{
    at_any_point_there_is_one_answer(&qq);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_telegram_group_sees_it_grow);
    RUN(a_feishu_chat_sees_it_typed);
    RUN(a_qq_chat_sees_its_lines);
    RUN(killed_at_any_point_telegram_shows_one_answer);
    RUN(killed_at_any_point_feishu_shows_one_answer);
    RUN(killed_at_any_point_qq_shows_one_answer);
    RUN(however_often_it_is_killed_there_is_one_answer);
    return check_summary();
}
