/*
 * Aim: sub-agents in the whole program: they work beside each other and report, a kill at any
 *      moment does nothing twice and loses nothing, a hostile one is bounded, and /stop ends it.
 * Method: the real binary against fake_model, whose steps stand in the instructions. Commands write
 *   a line each into a file of the project, which is what is counted.
 *   scenario_sub_agents BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "talk.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MS 30000
#define OF_SUB "You are a sub-agent" /* in each of its requests, in no other */
/* What separates steps is written in JSON's escapes: once for steps of the sub-agent, twice
 * in a command of it. */
#define OPEN "\\u005b\\u005bdo: "
#define NEXT "\\u003b "
#define CLOSE "\\u005d\\u005d"
/* A call of agent_run whose sub-agent takes these steps. */
#define SUB(steps) "agent_run {\"instructions\":\"" OPEN steps CLOSE "\"}"
#define SHELL(command) "call exec_shell {\\\"command\\\":\\\"" command "\\\"}"

static const char *binary, *fake_model;

static void begin(struct world *world, const char *agent)
{
    char json[1024];
    *world = (struct world){.may_prefix_move = true};
    folder_create(&world->folder, NULL);
    world_model_start(world, fake_model, NULL);
    snprintf(json, sizeof json,
             "{\"name\":\"subs\",\"agent\":{%s},\"permissions\":{\"exec_shell\":true,\"write_"
             "repo\":true},"
             "\"llm\":{\"provider\":\"openai\",\"model\":\"gpt-4.1\",\"api\":\"chat\","
             "\"baseUrl\":\"http://127.0.0.1:%d/openai/v1\",\"apiKey\":\"" WORLD_API_KEY "\"}}",
             agent, world->fake_port);
    folder_write(&world->folder, "ship.json", json);
    service_start(&world->service, binary, &world->folder);
}

/* Lines of a file of the project. */
static size_t lines(const struct world *world, const char *name)
{
    size_t count = 0;
    char *text = folder_read(&world->folder, name);
    for (const char *at = text; at != NULL && *at != '\0'; at++)
        count += *at == '\n';
    free(text);
    return count;
}

static void await_lines(const struct world *world, const char *name, size_t wanted)
{
    long long end = process_now_ms() + WAIT_MS;
    while (lines(world, name) < wanted) {
        CHECK(process_now_ms() < end);
        process_pause_ms(5);
    }
}

static void await_asked(const struct world *world, const char *part, size_t wanted)
{
    long long end = process_now_ms() + WAIT_MS;
    while (world_asked_count(world, part) < wanted) {
        CHECK(process_now_ms() < end);
        process_pause_ms(5);
    }
}

CASE(beside_each_other)
{
    struct world world;
    begin(&world, "\"concurrency\":1");
    /* each waits for the other's line: one after the other they would wait in vain */
    talk_expect(
        world.service.port, "c1",
        "[[do: call " SUB(
            SHELL("echo a >> a.txt\\\\u003b while ! test -s b.txt\\\\u003b do "
                  "sleep 0.05\\\\u003b done") NEXT
            "text part A is done") " & " SUB(SHELL("echo b >> b.txt\\\\u003b while ! test -s "
                                                   "a.txt\\\\u003b do sleep "
                                                   "0.05\\\\u003b done") NEXT
                                             "text part B is done") "; text both are done]]",
        "both are done");
    CHECK_INT(1, (int)lines(&world, "a.txt"));
    CHECK_INT(1, (int)lines(&world, "b.txt"));
    CHECK_INT(1, (int)world_asked_count(&world, "part B is done\\\""));
    world_stop(&world);
}

/* Four at once, a fifth waits; together they are one run: with room for two, another chat is
 * answered while they work. */
CASE(many_are_one_place)
{
#define WAITS                                                                              \
    SUB(SHELL("echo x >> begun.txt\\\\u003b while ! test -s go.txt\\\\u003b do sleep 0.05" \
              "\\\\u003b done") NEXT "text part is done")
    struct world world;
    struct talk talk;
    begin(&world, "\"concurrency\":2");
    char *body = talk_body("c1", "m1",
                           "[[do: call " WAITS " & " WAITS " & " WAITS " & " WAITS " & " WAITS
                           "; text all five are done]]");
    talk_start(&talk, world.service.port, "/api/execute", "", body);
    free(body);
    await_lines(&world, "begun.txt", 4);
    for (int i = 0; i < 3; i++) /* one after the other, in the second place */
        talk_expect(world.service.port, "c2", "[[do: call list_files {}; text not starved]]",
                    "not starved");
    CHECK_INT(4, (int)lines(&world, "begun.txt"));
    folder_write(&world.folder, "go.txt", "go\n");
    talk_wait(&talk);
    CHECK_INT(200, talk.answer.status);
    CHECK(strstr(talk.answer.body, "all five are done") != NULL);
    talk_fini(&talk);
    CHECK_INT(5, (int)lines(&world, "begun.txt"));
    world_stop(&world);
}

/* Where the program is killed: once this stands in the file, or was asked. */
struct moment
{
    const char *file, *asked;
    size_t count;
};

static void killed_at(const struct moment *moment)
{
    static const char text[] = "[[do: call " SUB(
        SHELL("echo one >> one.txt\\\\u003b sleep 0.1")
            NEXT SHELL("echo two >> two.txt\\\\u003b sleep 0.1") NEXT
        "text REPORT-ONE") " & " SUB(SHELL("echo three >> three.txt") NEXT
                                     "text REPORT-TWO") "; call exec_shell {\"command\":\"echo "
                                                        "last >> last.txt\"}; text all is told]]";
    struct world world;
    struct talk talk;
    begin(&world, "\"helpers\":2");
    char *body = talk_body("c1", "m1", text);
    talk_start(&talk, world.service.port, "/api/execute", "", body);
    free(body);
    if (moment->file != NULL)
        await_lines(&world, moment->file, moment->count);
    else
        await_asked(&world, moment->asked, moment->count);
    service_kill(&world.service);
    talk_wait(&talk);
    talk_fini(&talk);
    service_start(&world.service, binary, &world.folder);
    json_t *answer = talk_execute(world.service.port, 200, "c1", "m1", text);
    CHECK(json_is_true(json_object_get(answer, "success")));
    CHECK(strstr(talk_text(answer, "output"), "all is told") != NULL);
    json_decref(answer);
    CHECK(world_asked_count(&world, "REPORT-ONE\\\"") > 0); /* both came back to the run */
    CHECK(world_asked_count(&world, "REPORT-TWO\\\"") > 0);
    static const char *const files[] = {"one.txt", "two.txt", "three.txt", "last.txt"};
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++)
        CHECK(lines(&world, files[i]) <= 1);
    CHECK_INT(1, (int)lines(&world, "last.txt")); /* begun after the kill: certainly once */
    world_stop(&world);
}

CASE(killed_at_any_moment_nothing_is_done_twice)
{
    static const struct moment moments[] = {
        {.asked = OF_SUB, .count = 1},   {.asked = OF_SUB, .count = 2},
        {.file = "one.txt", .count = 1}, {.file = "three.txt", .count = 1},
        {.asked = OF_SUB, .count = 4},   {.file = "two.txt", .count = 1},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(moments); i++)
        killed_at(&moments[i]);
}

CASE(a_hostile_one_is_bounded)
{
    struct world world;
    begin(&world, "\"helperSteps\":3");
    talk_expect(world.service.port, "endless",
                "[[do: call " SUB("90* call list_files {}") "; text I stopped it]]",
                "I stopped it");
    CHECK(world_asked_count(&world, OF_SUB) <= 4);
    CHECK(world_asked_count(&world, "steps were used up") > 0);
    talk_expect(world.service.port, "huge",
                "[[do: call " SUB(SHELL("yes 0123456789abcdef | head -c 3000000") NEXT
                                  "text seen") "; text it is bounded]]",
                "it is bounded");
    talk_expect(world.service.port, "deep",
                "[[do: call " SUB("call agent_run {\\\"instructions\\\":\\\"more\\\"}" NEXT
                                  "text no deeper") "; text flat]]",
                "flat");
    CHECK_INT(0, (int)world_asked_count(&world, "\"content\":\"more\""));
    world_stop(&world);
}

CASE(stop_ends_it)
{
    struct world world;
    struct talk talk;
    begin(&world, "\"helpers\":4");
    char *body =
        talk_body("c1", "m1",
                  "[[do: call " SUB(SHELL("echo x >> begun.txt\\\\u003b sleep 60\\\\u003b echo "
                                          "y >> begun.txt") NEXT "text late") "; text never]]");
    talk_start(&talk, world.service.port, "/api/execute", "", body);
    free(body);
    await_lines(&world, "begun.txt", 1);
    json_decref(talk_execute(world.service.port, 200, "c1", "m2", "/stop"));
    talk_wait(&talk);
    CHECK(strstr(talk.answer.body, "never") == NULL);
    CHECK(talk.ended_ms - talk.started_ms < 55000);
    talk_fini(&talk);
    talk_expect(world.service.port, "c1", "[[do: text on we go]]", "on we go");
    CHECK_INT(1, (int)lines(&world, "begun.txt"));
    CHECK_INT(0, (int)world_asked_count(&world, "late\\\""));
    world_stop(&world);
}

CASES_MAIN_GIVEN(&binary, &fake_model)
