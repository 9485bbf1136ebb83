/*
 * Aim: a run that waits for a decision survives everything and holds up nobody: restarts of both
 * kinds, other chats, further messages, /stop, and time.
 * Method: the real binary between a Bot API server and a model server; see approval_telegram.c.
 *   scenario_approval_parked BINARY FAKE_MODEL
 */
#include "approval_world.h"

#include "support/check.h"

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *permissions, const char *root)
{
    approval_start(world, binary, fake_model,
                   &(struct approval_options){.permissions = permissions, .root = root});
}

static void a_restart_loses_no_question(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
        json_decref(approval_await_open(&world, 1));
        if (i == 0)
            CHECK_INT(0, service_stop(&world.world.service));
        else
            service_kill(&world.world.service);
        char *press = approval_press(&world, ANN, ANN, card, "Approve"); /* nobody is there */
        approval_restart(&world, binary);
        approval_expect_toast(&world, press, "Approved.");
        json_decref(approval_await_outcome(&world, ANN, card, "Approved: "));
        approval_await_lines(&world, "count", i + 1);
        approval_await_results(&world, ANN, i + 1);
        platform_settle(&world);
        CHECK_INT(i + 1, platform_lines(&world, "count"));
        CHECK_INT(i + 1, chat_count(&world, ANN, "Result: {\"success\":true"));
    }
    CHECK_INT(2, chat_count(&world, ANN, COUNT_COMMAND)); /* no question came twice */
    platform_world_stop(&world);
}

static void other_chats_go_on(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t first = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    int64_t second =
        approval_ask(&world, TEAM, ANN, "@helper_bot " WANT("echo team >> team"), "echo team");
    json_decref(approval_await_open(&world, 2));
    (void)chat_say(&world, BOB, BOB, "and how are you");
    chat_expect(&world, BOB, "You said: and how are you");
    approval_press_for(&world, TEAM, ANN, second, "Approve", "Approved.");
    chat_expect(&world, TEAM, "Result: {\"success\":true");
    CHECK_INT(1, platform_lines(&world, "team"));
    CHECK_INT(0, platform_lines(&world, "count"));
    (void)chat_say(&world, BOB, BOB, "and now");
    chat_expect(&world, BOB, "You said: and now");
    approval_press_for(&world, ANN, ANN, first, "Approve", "Approved.");
    chat_expect(&world, ANN, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

static void messages_wait_and_are_told_once(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t card = approval_ask(&world, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    (void)chat_say(&world, ANN, ANN, "tell me about whales meanwhile");
    chat_expect(&world, ANN, "I am waiting for a decision about: " COUNT_COMMAND);
    (void)chat_say(&world, ANN, ANN, "tell me about lions meanwhile");
    (void)chat_say(&world, BOB, BOB, "a mark");
    chat_expect(&world, BOB, "You said: a mark");
    CHECK_INT(0, chat_count(&world, ANN, "You said: "));
    CHECK_INT(1, chat_count(&world, ANN, "I am waiting for a decision"));
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    chat_expect(&world, ANN, "Result: {\"success\":true");
    chat_expect(&world, ANN, "lions meanwhile");
    platform_settle(&world);
    CHECK(platform_asked(&world, "whales meanwhile") > 0);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

static void stop_takes_the_question_back(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    (void)chat_say(&world, ANN, ANN, WANT_COUNT);
    json_t *message = approval_await_card(&world, ANN, COUNT_COMMAND);
    int64_t card = platform_number(message, "id", 0);
    char *yes = approval_button(message, "Approve");
    json_decref(message);
    platform_await_receipts(&world);
    (void)chat_say(&world, ANN, ANN, "/stop");
    json_decref(approval_await_outcome(&world, ANN, card, "Cancelled: "));
    json_decref(approval_await_open(&world, 0));
    approval_expect_toast(&world, approval_press_data(&world, ANN, ANN, card, yes), "cancelled");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "count"));
    (void)chat_say(&world, ANN, ANN, "are you there");
    chat_expect(&world, ANN, "You said: are you there");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "count"));
    free(yes);
    platform_world_stop(&world);
}

static void time_runs_out(void)
{
    struct platform_world world;
    start(&world, NULL, ",\"approvals\":{\"expireS\":1}");
    (void)chat_say(&world, ANN, ANN, WANT_COUNT);
    chat_expect(&world, ANN, "Expired: ");
    chat_expect(&world, ANN, "Result: "); /* and the run goes on */
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, COUNT_COMMAND));
    CHECK(platform_asked(&world, "expired") > 0);
    CHECK_INT(0, platform_lines(&world, "count"));
    json_decref(approval_await_open(&world, 0));
    (void)chat_say(&world, ANN, ANN, "are you there");
    chat_expect(&world, ANN, "You said: are you there");
    platform_world_stop(&world);
}

/* What was agreed to is what runs: the script was another one by then. */
static void a_changed_script_is_asked_about_again(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    folder_write(&world.world.folder, "job.sh", COUNT_COMMAND "\n");
    int64_t card = approval_ask(&world, ANN, ANN, WANT("sh ./job.sh"), "sh ./job.sh");
    folder_write(&world.world.folder, "job.sh", "echo other >> other\n");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "count"));
    CHECK_INT(0, platform_lines(&world, "other"));
    CHECK(platform_asked(&world, "changed") > 0);
    card = approval_ask(&world, ANN, ANN, WANT("sh ./job.sh"), "sh ./job.sh");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    chat_expect(&world, ANN, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "other"));
    platform_world_stop(&world);
}

/* Nor is a Makefile that became another one: somebody else's command may have written it. */
static void a_changed_recipe_is_asked_about_again(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    folder_write(&world.world.folder, "Makefile", "all:\n\techo done >> count\n");
    int64_t card = approval_ask(&world, ANN, ANN, WANT("make all"), "make all");
    folder_write(&world.world.folder, "Makefile", "all:\n\techo other >> other\n");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "count"));
    CHECK_INT(0, platform_lines(&world, "other"));
    CHECK(platform_asked(&world, "changed") > 0);
    card = approval_ask(&world, ANN, ANN, WANT("make all"), "make all");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    chat_expect(&world, ANN, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "other"));
    platform_world_stop(&world);
}

/* Killed after the decision was stored, while the command runs: never again, and everybody is
 * told. */
static void a_killed_command_is_not_repeated(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t card =
        approval_ask(&world, ANN, ANN, WANT("echo begun >> count; sleep 300"), "sleep 300");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    approval_await_lines(&world, "count", 1);
    service_kill(&world.world.service);
    approval_restart(&world, binary);
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    CHECK(platform_asked(&world, "nterrupted") > 0);
    json_decref(approval_await_open(&world, 0));
    platform_world_stop(&world);
}

/* SIGTERM while a command runs and the model is fast: nobody hears that it was stopped, and the run
 * goes on after the start. */
static void a_stop_of_the_service_leaves_the_run_at_its_answer(void)
{
    struct platform_world world;
    approval_start(
        &world, binary, fake_model,
        &(struct approval_options){.permissions = ",\"write_repo\":true,\"exec_shell\":true"});
    (void)chat_say(&world, ANN, ANN, WANT("echo begun >> count; sleep 300"));
    approval_await_lines(&world, "count", 1);
    CHECK_INT(0, service_stop(&world.world.service));
    CHECK_INT(0, platform_asked(&world, "Stopped while it ran"));
    CHECK_INT(0, chat_count(&world, ANN, "Result: "));
    approval_restart(&world, binary);
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    CHECK(platform_asked(&world, "nterrupted") > 0);
    CHECK_INT(0, platform_asked(&world, "Stopped while it ran"));
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

/* What was agreed to for one thing is not asked twice in one chat while it waits; /stop ends what
 * runs. */
static void stop_ends_a_running_command(void)
{
    struct platform_world world;
    start(&world, NULL, NULL);
    int64_t card =
        approval_ask(&world, ANN, ANN, WANT("echo begun >> count; sleep 300"), "sleep 300");
    approval_press_for(&world, ANN, ANN, card, "Approve", "Approved.");
    approval_await_lines(&world, "count", 1);
    (void)chat_say(&world, ANN, ANN, "/stop");
    platform_settle(&world);
    (void)chat_say(&world, ANN, ANN, "are you there");
    chat_expect(&world, ANN, "You said: are you there");
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_restart_loses_no_question);
    RUN(other_chats_go_on);
    RUN(messages_wait_and_are_told_once);
    RUN(stop_takes_the_question_back);
    RUN(time_runs_out);
    RUN(a_changed_script_is_asked_about_again);
    RUN(a_changed_recipe_is_asked_about_again);
    RUN(a_killed_command_is_not_repeated);
    RUN(a_stop_of_the_service_leaves_the_run_at_its_answer);
    RUN(stop_ends_a_running_command);
    return check_summary();
}
