/* Aim: who may speak in a group, and that what is remembered of people is as durable as the
 * messages. Method: the store actor between actors that keep what they get; failures by a full disk
 * below SQLite. */
#include "store_support.h"

#include "actors/store/people_priv.h"
#define GROUP(who, how, ...)                            \
    (&(struct saying){.chat = "g",                      \
                      .user = (who),                    \
                      .addressed = SMA_ADDRESSED_##how, \
                      .is_group = true,                 \
                      __VA_ARGS__})

static int say_in_group(struct world *world, const struct saying *saying)
{
    (void)say_as(world, TEST, saying);
    run(world);
    return accepted(&world->test).verdict;
}

CASE(first_one_is_answered_and_others_are_asked_for)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in_group(&world, GROUP("ann", MENTION, .id = "1", .text = "hi")));
    /* he may talk; what he may have done is asked before anything is */
    CHECK(run_seq(&world) == 0);
    CHECK(prepare(&world, SMA_ROLE_MEMBER, "") == 1);
    run(&world);
    finish_next(&world);
    /* somebody else: waits for the role, and nothing starts */
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in_group(&world, GROUP("bob", REPLY, .id = "2", .text = "me?")));
    CHECK(run_seq(&world) == 0);
    struct sma_msg *question = world.test.msgs[0];
    CHECK_INT(SMA_MSG_PREPARE, question->kind);
    CHECK(SMA_MSG_BODY(question, struct sma_prepare)->wants_role);
    CHECK_STR("bob", SMA_MSG_BODY(question, struct sma_prepare)->route.user_id);
    CHECK_STR("test:chat:g", SMA_MSG_BODY(question, struct sma_prepare)->route.chat_key);
    CHECK(prepare(&world, SMA_ROLE_ADMIN, "") == 2);
    run(&world);
    finish_next(&world);
    /* known for a while */
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in_group(&world, GROUP("bob", MENTION, .id = "3", .text = "again")));
    CHECK(prepare(&world, SMA_ROLE_ADMIN, "") == 0);
    finish_next(&world);
    pass(&world, 601);
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in_group(&world, GROUP("bob", MENTION, .id = "4", .text = "later")));
    CHECK(run_seq(&world) == 0);
    CHECK(prepare(&world, SMA_ROLE_ADMIN, "") != 0);
    run(&world);
    finish_next(&world);
}

/* Some platforms say with the message what its author may do: nobody is asked then. */
CASE(a_role_that_comes_with_the_event_counts)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_in_group(&world,
                       GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in_group(&world,
                           GROUP("bob", MENTION, .id = "2", .text = "hi", .role = SMA_ROLE_ADMIN)));
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_group(
                  &world, GROUP("eve", MENTION, .id = "3", .text = "hi", .role = SMA_ROLE_MEMBER)));
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    CHECK(run_seq(&world) == 0);
}

CASE(members_are_refused_visibly_and_not_too_often)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_in_group(&world,
                       GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    finish_next(&world);
    (void)say_in_group(&world, GROUP("bob", MENTION, .id = "2", .text = "hi"));
    CHECK(prepare(&world, SMA_ROLE_MEMBER, "") != 0);
    run(&world);
    CHECK(run_seq(&world) == 0);
    CHECK(strstr(next_delivery(&world), "administrators") != NULL);
    /* remembered: refused at once, without another notice */
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_group(&world, GROUP("bob", MENTION, .id = "3", .text = "hi")));
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    CHECK_INT(0, (int)count_kept(&world.dispatcher, SMA_MSG_DELIVER));
    /* the platform did not know: asked again the next time */
    (void)say_in_group(&world, GROUP("eve", MENTION, .id = "4", .text = "hi"));
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "") != 0);
    run(&world);
    (void)say_in_group(&world, GROUP("eve", MENTION, .id = "5", .text = "hi"));
    CHECK(prepare(&world, SMA_ROLE_ADMIN, "") != 0);
    run(&world);
    finish_next(&world);
    const char *text = history(&world, "test%3Achat%3Ag");
    CHECK_INT(5, (int)count_of(text, "\"role\":\"user\""));
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
}

CASE(windows_open_close_and_survive)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_in_group(&world, GROUP("ann", NONE, .role = SMA_ROLE_MEMBER,
                                                              .id = "0", .text = "why?")));
    (void)say_in_group(&world,
                       GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_in_group(&world, GROUP("ann", NONE, .role = SMA_ROLE_MEMBER,
                                                               .id = "2", .text = "为什么")));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_in_group(&world, GROUP("ann", NONE, .role = SMA_ROLE_MEMBER,
                                                              .id = "3", .text = "thanks")));
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_group(&world, GROUP("bob", NONE, .id = "4", .text = "why?")));
    crash_world(&world);
    sma_sim_shift_wall(world.system, 500 * 1000);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_in_group(&world, GROUP("ann", NONE, .role = SMA_ROLE_MEMBER,
                                                               .id = "5", .text = "how")));
    finish_next(&world);
    pass(&world, 601);
    CHECK_INT(SMA_VERDICT_IGNORED, say_in_group(&world, GROUP("ann", NONE, .role = SMA_ROLE_MEMBER,
                                                              .id = "6", .text = "how")));
}

CASE(initiator_survives_and_is_the_one_imported)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_in_group(&world,
                       GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    finish_next(&world);
    crash_world(&world);
    (void)say_in_group(&world, GROUP("bob", MENTION, .id = "2", .text = "hi"));
    CHECK_INT(1, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    /* not answered: asked again after a restart */
    crash_world(&world);
    CHECK(prepare(&world, SMA_ROLE_ADMIN, "") == 2);
    run(&world);
    finish_next(&world);
}

CASE(commands_need_access_but_help_does_not)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_in_group(&world,
                       GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    uint64_t running = run_seq(&world);
    (void)say_in_group(&world, GROUP("bob", NONE, .id = "2", .text = "/help",
                                     .kind = SMA_EVENT_CONTROL, .control = SMA_CONTROL_HELP));
    CHECK(strstr(next_delivery(&world), "/status") != NULL);
    /* /stop of somebody else waits for the role, also over a restart, and acts then */
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in_group(&world, GROUP("bob", NONE, .id = "3", .text = "/stop",
                                         .kind = SMA_EVENT_CONTROL, .control = SMA_CONTROL_STOP)));
    CHECK_INT(0, (int)count_kept(&world.agent, SMA_MSG_CONTROL));
    crash_world(&world);
    CHECK(run_seq(&world) == running);
    CHECK(prepare(&world, SMA_ROLE_ADMIN, "") == 3);
    run(&world);
    CHECK_INT(1, (int)count_kept(&world.agent, SMA_MSG_CONTROL));
    done(&world, running, "ok", NULL, 0);
    run(&world);
    CHECK_INT(SMA_STEP_STOPPED, verdict(&world, SMA_MSG_DONE_DONE));
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    /* and a member's is refused */
    (void)say_in_group(&world, GROUP("eve", NONE, .id = "4", .text = "/clear",
                                     .kind = SMA_EVENT_CONTROL, .control = SMA_CONTROL_CLEAR));
    CHECK(prepare(&world, SMA_ROLE_MEMBER, "") == 4);
    drop_kept(&world.agent);
    run(&world);
    CHECK_INT(0, (int)count_kept(&world.agent, SMA_MSG_CONTROL));
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
}

CASE(configuration_decides_and_is_read_again)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"groupAccess\":\"anyone\",\"groups\":[\"g\"]}";
    open_world(&world);
    (void)say_in_group(&world,
                       GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    finish_next(&world);
    (void)say_in_group(&world,
                       GROUP("bob", MENTION, .role = SMA_ROLE_MEMBER, .id = "2", .text = "hi"));
    finish_next(&world);
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    struct sma_config strict = world.config;
    strict.adapters[0].json =
        "{\"adminUserIds\":[\"bob\"],\"followupWindowMs\":0,\"groups\":[\"g\"]}";
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 0);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &strict;
    sma_store_actor_ops.handle(world.store, &msg, world.store->ctx);
    sma_msg_destroyp(&msg);
    (void)say_in_group(
        &world, GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "3", .text = "first now"));
    finish_next(&world);
    (void)say_in_group(&world,
                       GROUP("bob", MENTION, .role = SMA_ROLE_MEMBER, .id = "4", .text = "named"));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_group(&world, GROUP("bob", NONE, .id = "5", .text = "why?")));
    (void)say_in_group(&world, GROUP("eve", MENTION, .id = "6", .text = "hi"));
    CHECK_INT(1, (int)count_kept(&world.test, SMA_MSG_PREPARE));
}

CASE(bad_configuration_falls_back_to_the_strict_default)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"groupAccess\":\"all\",\"groups\":[\"g\"]}";
    world.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    open_world(&world);
    /* the strict default knows no group: an owner lets this one in */
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_group(
                  &world, GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "0", .text = "hi")));
    (void)say_in_group(&world, GROUP("boss", MENTION, .id = "b", .text = "hi"));
    finish_next(&world);
    (void)say_in_group(&world,
                       GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    finish_next(&world);
    (void)say_in_group(&world, GROUP("bob", MENTION, .id = "2", .text = "hi"));
    CHECK_INT(1, (int)count_kept(&world.test, SMA_MSG_PREPARE));
}

/* The first one's message fails with its batch: so does being the first. */
CASE(failed_commit_forgets_who_was_first)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST,
                 GROUP("ann", MENTION, .role = SMA_ROLE_MEMBER, .id = "1", .text = "hi"));
    struct sma_msg *msg;
    while ((msg = take(&world.test, SMA_MSG_ACCEPTED)) != NULL)
        sma_msg_destroy(msg);
    /* in the batch, before its end */
    CHECK_OK(sma_store_begin(world.store));
    struct sma_state_chat *chat;
    CHECK_OK(
        sma_state_chat_open(world.store->state, SMA_STR("test:chat:g"), SMA_STR("test"), &chat));
    struct sma_route route = route_of(TEST, "test:chat:g");
    route.user_id = SMA_STR("eve");
    CHECK_OK(sma_store_admit(
        world.store, sma_store_chat(world.store, chat), &route,
        &(struct sma_access_outcome){.opens_window = true, .becomes_initiator = true}));
    sma_store_fail_batch(world.store, SMA_ERR_NOSPACE);
    run_for(&world, 2 * SECOND);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world.test).verdict);
    finish_next(&world); /* ann is the first one */
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_group(&world, GROUP("eve", NONE, .id = "2", .text = "why?")));
}

CASE(buttons_and_notes_are_recorded_only)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(
        &world, TEST,
        &(struct saying){.chat = "p", .id = "c1", .text = "yes", .kind = SMA_EVENT_CALLBACK});
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "p", .id = "n1", .text = "", .kind = SMA_EVENT_NOTE});
    run(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK(run_seq(&world) == 0);
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_group(&world, GROUP("", MENTION, .id = "1", .text = "nobody")));
}

CASES_MAIN
