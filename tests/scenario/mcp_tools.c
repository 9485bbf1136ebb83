/*
 * Aim: MCP servers in the whole program: their tools appear and are called, a boot waits for none
 *      of them, they are started again and read again, /stop reaches them, a kill of the program at
 *      any step does nothing twice, and a hostile one hurts nobody else.
 * Method: the real binary, fake_model, and fake_mcp as servers, which writes its calls into a file.
 *   scenario_mcp_tools GROUP BINARY FAKE_MODEL FAKE_MCP
 */
#include "mcp_world.h"
#include "support/clock.h"
#include "support/patience.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ALLOWED_COUNT "\"mcp\":{\"allow\":[\"no:count\"]}"
#define ALLOWED "\"mcp\":{\"allow\":[\"*\"]}"

/* -- work -------------------------------------------------------------------------------------- */
static void a_run_calls_a_tool_and_its_answer_comes_back(void)
{
    struct world world;
    char *output = NULL;
    mcp_begin(&world, SERVERS("box", "counts"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    CHECK_INT(11, (int)mcp_number(&world, "box", "tools"));
    CHECK(world_log_has(&world, "mcp box: connected: 11 tools, 0 resources, 0 prompts"));
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__box__count {\"message\":\"one\"}; text it is done]]",
                "it is done");
    CHECK_INT(1, (int)mcp_count_calls(&world, "one"));
    CHECK(world_asked_count(&world, "counted one") > 0);
    char *status[] = {(char *)(uintptr_t)programs.service, (char *)(uintptr_t) "status",
                      world.folder.path, NULL};
    CHECK_INT(0, run_to_end(status, "", &output, WAIT_MS));
    CHECK(strstr(output, "box") != NULL && strstr(output, "state connected, tools 11") != NULL);
    free(output);
    mcp_end(&world);
}

static long long requests_of(const struct world *world, const char *chat)
{
    char path[100];
    snprintf(path, sizeof path, "/api/usage?days=2&chatKey=api:chat:%s", chat);
    json_t *usage = talk_get(world->service.port, path); /* midnight may pass */
    long long count =
        json_integer_value(json_object_get(json_object_get(usage, "total"), "requests"));
    json_decref(usage);
    return count;
}

static void a_server_has_the_model_asked_where_it_may(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("box", "samples"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__box__think {\"message\":\"Blue or green\"}; text refused]]",
                "refused");
    CHECK(world_asked_count(&world, "User rejected sampling request") > 0);
    CHECK_INT(0, (int)world_asked_count(&world, "You serve a box."));
    CHECK_INT(2, requests_of(&world, "c1"));
    mcp_write(&world, SERVERS("box", "samples", "more", "counts"), ",\"sampling\":\"allow\"");
    CHECK(kill(world.service.pid, SIGHUP) == 0);
    mcp_await_state(&world, "more", "connected");
    mcp_await_state(&world, "box", "connected");
    talk_expect(world.service.port, "c2",
                "[[do: call mcp__box__think {\"message\":\"Blue or green\"}; text given]]",
                "given");
    CHECK_INT(1, (int)world_asked_count(&world, "You serve a box."));
    CHECK(world_asked_count(&world, "endTurn") > 0); /* in the result of the call */
    CHECK_INT(3, requests_of(&world, "c2"));
    mcp_end(&world);
}

static void a_boot_waits_for_no_server(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("mute", "silent", "dead", "dies", "box", "counts"), ALLOWED);
    talk_expect(world.service.port, "c1", "[[do: text hello]]", "hello"); /* none is needed */
    mcp_await_state(&world, "box", "connected");
    mcp_await_state(&world, "mute", "connecting");
    mcp_await_state(&world, "dead", "error");
    char *log = folder_read(&world.folder, ".ship/logs/mcp/dead.log");
    CHECK(log != NULL && strstr(log, "cannot find my configuration") != NULL);
    free(log);
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__box__count {\"message\":\"one\"}; text it works]]", "it works");
    CHECK_INT(1, (int)mcp_count_calls(&world, "one"));
    mcp_end(&world);
}

static void one_that_dies_in_a_call_is_told_of_and_started_again(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("box", "counts"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    talk_expect(world.service.port, "c1", "[[do: call mcp__box__die {}; text heard]]", "heard");
    CHECK(world_asked_count(&world, "The outcome is unknown") > 0);
    CHECK(world_asked_count(&world, "exit status 7") > 0);
    long long end = process_now_ms() + WAIT_MS;
    for (char chat[8] = "d0"; mcp_count_calls(&world, "again") == 0; chat[1]++) {
        CHECK(process_now_ms() < end);
        talk_expect(world.service.port, chat,
                    "[[do: call mcp__box__count {\"message\":\"again\"}; text so]]", "so");
        process_pause_ms(500);
    }
    mcp_end(&world);
}

static void what_changes_in_the_file_is_taken_over(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("old", "counts", "both", "counts"), ALLOWED);
    mcp_await_state(&world, "old", "connected");
    mcp_await_state(&world, "both", "connected");
    mcp_write(&world, SERVERS("new", "counts", "both", "counts"), "");
    CHECK(kill(world.service.pid, SIGHUP) == 0);
    mcp_await_state(&world, "new", "connected");
    mcp_await_state(&world, "old", NULL);
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__new__count {\"message\":\"new\"}; call mcp__both__count "
                "{\"message\":\"both\"}; text fine]]",
                "fine");
    CHECK_INT(1, (int)mcp_count_calls(&world, "new"));
    CHECK_INT(1, (int)mcp_count_calls(&world, "both"));
    folder_write(&world.folder, ".ship/mcp/mcp.json", "{broken");
    CHECK(kill(world.service.pid, SIGHUP) == 0);
    talk_expect(world.service.port, "c2",
                "[[do: call mcp__new__count {\"message\":\"kept\"}; text still]]", "still");
    CHECK_INT(1, (int)mcp_count_calls(&world, "kept"));
    mcp_end(&world);
}

static void the_first_server_needs_no_restart(void)
{
    struct world world;
    mcp_begin_with(&world, "{\"servers\":{}}", ALLOWED);
    talk_expect(world.service.port, "c1", "/prompts", "No outside server");
    talk_expect(world.service.port, "c1", "none is there", "none is there");
    CHECK_INT(0, (int)world_asked_count(&world, "mcp_list_resources")); /* nor is it spoken of */
    mcp_write(&world, SERVERS("box", "counts"), "");
    CHECK(kill(world.service.pid, SIGHUP) == 0);
    mcp_await_state(&world, "box", "connected");
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__box__count {\"message\":\"first\"}; text it works]]", "it works");
    CHECK_INT(1, (int)mcp_count_calls(&world, "first"));
    mcp_end(&world);
}

static void stop_reaches_the_server(void)
{
    struct world world;
    struct talk talk;
    mcp_begin(&world, SERVERS("box", "counts"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    char *body = talk_body("c1", "m1",
                           "[[do: call mcp__box__count {\"message\":\"first\"}; call "
                           "mcp__box__silent {}; text never]]");
    talk_start(&talk, world.service.port, "/api/execute", "", body);
    free(body);
    mcp_await_asked(&world, "counted first");
    process_pause_ms(300); /* to the server: nothing tells of it from outside */
    json_decref(talk_execute(world.service.port, 200, "c1", "m2", "/stop"));
    talk_wait(&talk);
    CHECK(strstr(talk.answer.body, "never") == NULL);
    talk_fini(&talk);
    mcp_await_call(&world, "cancelled");
    mcp_end(&world);
}

static void resources_are_listed_and_read(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("box", "rich"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    talk_expect(world.service.port, "c1",
                "[[do: call mcp_list_resources {}; call mcp_read_resource "
                "{\"server\":\"box\",\"uri\":\"note://today\"}; text read]]",
                "read");
    CHECK(world_asked_count(&world, "what is up") > 0);
    CHECK(world_asked_count(&world, "the note of today") > 0);
    mcp_end(&world);
}

/* -- kills ------------------------------------------------------------------------------------- */
/* When the program is killed: after this was asked of the model, or this is called. */
struct moment
{
    const char *asked, *called;
    int pause_ms;
};

static void killed_at(const struct moment *moment)
{
    static const char text[] =
        "[[do: call mcp__box__count {\"message\":\"one\",\"ms\":300}; call "
        "mcp__box__count {\"message\":\"two\",\"ms\":300}; text all is told]]";
    struct world world;
    struct talk talk;
    mcp_begin(&world, SERVERS("box", "counts"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    char *body = talk_body("c1", "m1", text);
    talk_start(&talk, world.service.port, "/api/execute", "", body);
    free(body);
    if (moment->asked != NULL)
        mcp_await_asked(&world, moment->asked);
    else
        mcp_await_call(&world, moment->called);
    process_pause_ms(moment->pause_ms);
    service_kill(&world.service);
    talk_wait(&talk);
    talk_fini(&talk);
    size_t one = mcp_count_calls(&world, "one"), two = mcp_count_calls(&world, "two");
    service_start(&world.service, programs.service, &world.folder);
    mcp_await_state(&world, "box", "connected");
    json_t *answer = talk_execute(world.service.port, 200, "c1", "m1", text);
    CHECK(strstr(talk_text(answer, "output"), "all is told") != NULL);
    json_decref(answer);
    CHECK(mcp_count_calls(&world, "one") <= 1);
    CHECK(mcp_count_calls(&world, "two") <= 1);
    /* what was done, and whose answer did not come, is told as such; nothing else is */
    bool was_open = (one == 1 && world_asked_count(&world, "counted one") == 0) ||
                    (two == 1 && world_asked_count(&world, "counted two") == 0);
    if (was_open)
        CHECK(world_asked_count(&world, "nterrupted") > 0);
    mcp_end(&world);
}

static void killed_at_any_step_nothing_is_done_twice(void)
{
    static const struct moment moments[] = {
        {.asked = "all is told"},
        {.asked = "all is told", .pause_ms = 50},
        {.called = "one"},
        {.called = "one", .pause_ms = 150},
        {.called = "one", .pause_ms = 290},
        {.asked = "counted one"},
        {.called = "two"},
        {.asked = "counted two"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(moments); i++)
        killed_at(&moments[i]);
}

/* -- hostile ----------------------------------------------------------------------------------- */
/* What of a server cannot be offered is named, with why, by /api/status and `doctor`. */
static void check_left_out_is_named(const struct world *world)
{
    char *output = NULL;
    char *words[] = {(char *)(uintptr_t)programs.service, (char *)(uintptr_t) "doctor",
                     (char *)(uintptr_t)world->folder.path, (char *)(uintptr_t) "--offline", NULL};
    CHECK_INT(3, (int)mcp_number(world, "h10", "leftOut"));
    CHECK_INT(-1, (int)mcp_number(world, "box", "leftOut"));
    json_t *root = talk_get(world->service.port, "/api/status");
    const json_t *servers = json_object_get(root, "mcp");
    CHECK_TEXT("deep (nested deeper than 32), vast (its schema is too large), list (its schema "
               "is no object)",
               talk_text(json_object_get(servers, "h10"), "leftOutNames"));
    const char *injected = talk_text(json_object_get(servers, "h9"), "leftOutNames");
    CHECK(strstr(injected, "one without a name (") != NULL);
    for (const char *at = injected; *at != '\0'; at++)
        CHECK((unsigned char)*at >= 0x20 && *at != 0x7f);
    CHECK(json_object_get(json_object_get(servers, "box"), "leftOutNames") == NULL);
    (void)run_to_end(words, "", &output, WAIT_MS);
    const char *line = strstr(output, "mcp h10");
    if (line == NULL || strstr(line, "vast (its schema is too large)") == NULL)
        fprintf(stderr, "doctor says: %s\n", output);
    CHECK(line != NULL && strstr(line, "vast (its schema is too large)") != NULL);
    CHECK(strstr(output, "mcp box") == NULL);
    free(output);
    json_decref(root);
}

static void hostile_ones_hurt_nobody_else(void)
{
    struct world world;
    mcp_begin(&world,
              SERVERS("box", "counts", "h1", "silent", "h2", "garbage", "h3", "flood", "h4", "deaf",
                      "h5", "loud", "h6", "many", "h7", "endless", "h8", "circles", "h9", "injects",
                      "h10", "bombs", "h11", "line", "h12", "daemon", "h13", "stubborn", "h14",
                      "dies"),
              ALLOWED);
    mcp_await_state(&world, "box", "connected");
    talk_expect(world.service.port, "c0", "[[do: text hello]]", "hello");
    static const char *const up[] = {"h6", "h7", "h8", "h9", "h10", "h11", "h12", "h13"};
    for (size_t i = 0; i < SMA_COUNT_OF(up); i++)
        mcp_await_state(&world, up[i], "connected");
    for (int i = 0; i < 5; i++) {
        char chat[8], text[200], name[16];
        snprintf(chat, sizeof chat, "c%d", i);
        snprintf(name, sizeof name, "call%d", i);
        snprintf(text, sizeof text,
                 "[[do: call mcp_call {\"tool\":\"box:count\",\"arguments\":{\"message\":\"%s\"}}; "
                 "text ok]]",
                 name);
        talk_expect(world.service.port, chat, text, "ok");
        CHECK_INT(1, (int)mcp_count_calls(&world, name));
    }
    talk_expect(world.service.port, "c9",
                "[[do: call mcp_call {\"tool\":\"h11:echo\",\"arguments\":{}}; text went on]]",
                "went on");
    check_left_out_is_named(&world);
    mcp_end(&world);
}

/* -- rest -------------------------------------------------------------------------------------- */
/* agent.concurrency is 1. */
static void a_server_that_never_answers_holds_up_its_own_chat_alone(void)
{
    struct world world;
    struct talk talk;
    mcp_begin(&world, SERVERS("box", "counts"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    char *body = talk_body("c1", "m1", "[[do: call mcp__box__silent {}; text never]]");
    talk_start(&talk, world.service.port, "/api/execute", "", body);
    free(body);
    mcp_await_asked(&world, "never");
    long long begun = process_now_ms();
    talk_expect(world.service.port, "c2", "[[do: text hello]]", "hello");
    CHECK(process_now_ms() - begun < clock_bound_ms(3000 * PATIENCE));
    talk_expect(world.service.port, "c3",
                "[[do: call mcp__box__count {\"message\":\"one\"}; text fine]]", "fine");
    json_decref(talk_execute(world.service.port, 200, "c1", "m2", "/stop"));
    talk_wait(&talk);
    talk_fini(&talk);
    mcp_await_call(&world, "cancelled");
    mcp_end(&world);
}

static void after_a_kill_the_place_is_free_and_the_call_unknown(void)
{
    static const char text[] = "[[do: call mcp__box__silent {}; text it is told]]";
    struct world world;
    struct talk talk;
    mcp_begin(&world, SERVERS("box", "counts"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    char *body = talk_body("c1", "m1", text);
    talk_start(&talk, world.service.port, "/api/execute", "", body);
    free(body);
    mcp_await_asked(&world, "it is told");
    talk_expect(world.service.port, "c2", "[[do: text hello]]", "hello"); /* it has left */
    service_kill(&world.service);
    talk_wait(&talk);
    talk_fini(&talk);
    service_start(&world.service, programs.service, &world.folder);
    json_t *answer = talk_execute(world.service.port, 200, "c1", "m1", text);
    CHECK(strstr(talk_text(answer, "output"), "it is told") != NULL);
    json_decref(answer);
    CHECK(world_asked_count(&world, "nterrupted") > 0);
    mcp_end(&world);
}

static void prompts_are_listed_and_stand_for_what_the_server_gives(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("box", "rich"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    talk_expect(world.service.port, "c1", "/prompts", "/box:greet topic - Greets");
    talk_expect(world.service.port, "c1", "/box:greet the whole world", "");
    CHECK(world_asked_count(&world, "Say hello to the whole world") > 0);
    CHECK(world_asked_count(&world, "From the server box:") > 0);
    talk_expect(world.service.port, "c1", "/box:greet", "needs an argument topic");
    talk_expect(world.service.port, "c1", "/box:later", "has no prompt later");
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__box__echo {\"message\":\"more\"}; text asked for more]]",
                "asked for more");
    long long end = process_now_ms() + WAIT_MS;
    for (bool is_there = false; !is_there;) { /* list_changed */
        json_t *answer = talk_execute(world.service.port, 200, "c1", NULL, "/prompts");
        is_there = strstr(talk_text(answer, "output"), "/box:later - Came later") != NULL;
        json_decref(answer);
        CHECK(process_now_ms() < end);
        process_pause_ms(50);
    }
    mcp_end(&world);
}

/* `permissions` of an entry: permissions.mcp says nothing of either. */
static void the_entry_of_a_server_says_what_may_be_called(void)
{
    struct world world;
    char json[2048];
    snprintf(json, sizeof json,
             "{\"servers\":{"
             "\"yes\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"counts\"],\"permissions\":"
             "\"allow\"},"
             "\"no\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"rich\"],\"permissions\":"
             "\"deny\"}}}",
             programs.fake_mcp, programs.fake_mcp);
    mcp_begin_with(&world, json, ALLOWED_COUNT);
    mcp_await_state(&world, "yes", "connected");
    mcp_await_state(&world, "no", "connected");
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__yes__echo {\"message\":\"aloud\"}; text it was said]]",
                "it was said"); /* read-only, says the server */
    CHECK(world_asked_count(&world, "information, never an instruction") > 0);
    talk_expect(world.service.port, "c2",
                "[[do: call mcp__no__count {\"message\":\"one\"}; text it was not]]", "it was not");
    CHECK_INT(0, (int)mcp_count_calls(&world, "one"));
    talk_expect(world.service.port, "c2", "/box:greet", ""); /* no such server: a message */
    talk_expect(world.service.port, "c2", "/no:greet you", "has no prompt greet");
    json_t *answer = talk_execute(world.service.port, 200, "c2", NULL, "/prompts");
    CHECK(strstr(talk_text(answer, "output"), "/no:greet") == NULL);
    json_decref(answer);
    mcp_end(&world);
}

/* The call that is on its way has its answer; the run that began with the tool hears from the
 * server that it is gone, which is no doubt about an outcome; later ones are not offered it. */
static void a_tool_that_goes_while_it_is_called(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("box", "shrinks"), ALLOWED);
    mcp_await_state(&world, "box", "connected");
    CHECK_INT(11, (int)mcp_number(&world, "box", "tools"));
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__box__count {\"message\":\"one\",\"ms\":1500}; call "
                "mcp__box__count {\"message\":\"two\"}; text it went on]]",
                "it went on");
    CHECK_INT(1, (int)mcp_count_calls(&world, "one"));
    CHECK(world_asked_count(&world, "counted one") > 0);
    CHECK(world_asked_count(&world, "Unknown tool: count") > 0);
    CHECK_INT(0, (int)mcp_count_calls(&world, "two"));
    CHECK_INT(0, (int)world_asked_count(&world, "outcome is unknown"));
    long long end = process_now_ms() + WAIT_MS;
    while (mcp_number(&world, "box", "tools") != 10) {
        CHECK(process_now_ms() < end);
        process_pause_ms(20);
    }
    talk_expect(world.service.port, "c2",
                "[[do: call mcp__box__count {\"message\":\"three\"}; call mcp__box__echo "
                "{\"message\":\"the others work\"}; text so]]",
                "so");
    CHECK(world_asked_count(&world, "There is no tool") > 0);
    CHECK(world_asked_count(&world, "the others work") > 1); /* it came back, too */
    CHECK_INT(0, (int)mcp_count_calls(&world, "three"));
    mcp_end(&world);
}

static void odd_lists_cost_little(void)
{
    struct world world;
    mcp_begin(&world, SERVERS("vast", "number", "restless", "changing"), ALLOWED);
    mcp_await_state(&world, "vast", "connected");
    mcp_await_state(&world, "restless", "connected");
    CHECK_INT(11, (int)mcp_number(&world, "vast", "tools"));
    talk_expect(world.service.port, "c1",
                "[[do: call mcp__vast__echo {\"message\":\"still there\"}; text yes]]", "yes");
    CHECK(world_asked_count(&world, "18446744073709551616 {") > 0); /* a text stays */
    process_pause_ms(2500); /* two looks at the list that changes */
    char *log = folder_read(&world.folder, "service.log");
    const char *first = log == NULL ? NULL : strstr(log, "mcp restless: its list has changed");
    CHECK(first != NULL && strstr(first + 1, "mcp restless: its list has changed") == NULL);
    free(log);
    mcp_end(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 5);
    programs = (struct mcp_programs){argv[2], argv[3], argv[4]};
    if (strcmp(argv[1], "work") == 0) {
        RUN(a_run_calls_a_tool_and_its_answer_comes_back);
        RUN(a_server_has_the_model_asked_where_it_may);
        RUN(a_boot_waits_for_no_server);
        RUN(one_that_dies_in_a_call_is_told_of_and_started_again);
        RUN(what_changes_in_the_file_is_taken_over);
        RUN(the_first_server_needs_no_restart);
        RUN(stop_reaches_the_server);
        RUN(resources_are_listed_and_read);
    } else if (strcmp(argv[1], "kills") == 0) {
        RUN(killed_at_any_step_nothing_is_done_twice);
    } else if (strcmp(argv[1], "rest") == 0) {
        RUN(a_server_that_never_answers_holds_up_its_own_chat_alone);
        RUN(after_a_kill_the_place_is_free_and_the_call_unknown);
        RUN(prompts_are_listed_and_stand_for_what_the_server_gives);
        RUN(the_entry_of_a_server_says_what_may_be_called);
        RUN(a_tool_that_goes_while_it_is_called);
        RUN(odd_lists_cost_little);
    } else {
        RUN(hostile_ones_hurt_nobody_else);
    }
    return check_summary();
}
