/* Aim: a message waits for what must be fetched, in its place, and no longer than it has to.
 * Method: the store actor between actors that keep what they get. */
#include "store_support.h"

#include "actors/store/runs.h"

#include "actors/store/intake_priv.h"
#include "actors/store/trouble.h"
#define WITH(name, number, ...) \
    (&(struct saying){          \
        .chat = (name), .id = (number), .text = "see this", .preparation = "[1]", __VA_ARGS__})

static struct sma_str context_of(const struct sma_msg *msg)
{
    return SMA_MSG_BODY((struct sma_msg *)(uintptr_t)msg, struct sma_run_order)->context;
}

CASE(run_waits_for_the_answer_and_carries_it)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1", .context = "a quote"));
    say(&world, "a", "2", "behind it");
    say(&world, "b", "3", "another chat");
    run(&world);
    CHECK_INT(3, (int)run_seq(&world)); /* others pass */
    CHECK(run_seq(&world) == 0);
    const struct sma_msg *question = world.test.msgs[world.test.count - 1];
    CHECK_INT(SMA_MSG_PREPARE, question->kind);
    CHECK_STR("[1]",
              SMA_MSG_BODY((struct sma_msg *)(uintptr_t)question, struct sma_prepare)->preparation);
    done(&world, 3, "ok", NULL, 0);
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "one file could not be fetched") == 1);
    run(&world);
    struct sma_msg *msg = next_run(&world);
    CHECK(msg != NULL);
    CHECK_STR("a quote\n\none file could not be fetched", context_of(msg));
    sma_msg_destroy(msg);
    /* the same after a crash, and it is not asked again */
    crash_world(&world);
    msg = next_run(&world);
    CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_run_order)->is_resumed);
    CHECK_STR("a quote\n\none file could not be fetched", context_of(msg));
    sma_msg_destroy(msg);
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    step(&world, 1, 1, NULL, 0); /* no suspect any more */
    done(&world, 1, "ok", NULL, 0);
    run(&world);
    CHECK_INT(2, (int)run_seq(&world));
}

CASE(restart_asks_again_for_what_was_not_begun)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1"));
    (void)say_as(&world, TEST, WITH("a", "2"));
    run(&world);
    CHECK_INT(2, (int)count_kept(&world.test, SMA_MSG_PREPARE)); /* both at once */
    crash_world(&world);
    CHECK_INT(2, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, ""));
    run(&world);
    CHECK_INT(1, (int)run_seq(&world));
    restart_world(&world);
    CHECK_INT(1, (int)run_seq(&world)); /* resumed, with nothing to ask */
    CHECK_INT(2, (int)prepare(&world, SMA_ROLE_UNKNOWN, "x"));
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "") == 0);
    done(&world, 1, "ok", NULL, 0);
    run(&world);
    CHECK_INT(2, (int)run_seq(&world));
}

CASE(order_in_the_chat_is_kept)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.config.agent_concurrency = 4;
    open_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1"));
    (void)say_as(&world, TEST, WITH("a", "2"));
    run(&world);
    struct sma_msg *first = take(&world.test, SMA_MSG_PREPARE);
    CHECK_INT(2, (int)prepare(&world, SMA_ROLE_UNKNOWN, ""));
    run(&world);
    CHECK(run_seq(&world) == 0); /* the second is ready and waits for the first */
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_PREPARED, struct sma_prepared, 0);
    SMA_MSG_BODY(answer, struct sma_prepared)->seq = 1;
    sma_ctx_answer(sma_system_ctx(world.system, TEST), first, &answer);
    sma_msg_destroy(first);
    run(&world);
    CHECK_INT(1, (int)run_seq(&world));
    CHECK(run_seq(&world) == 0);
}

CASE(silence_ends_after_a_while)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1"));
    run_for(&world, (SMA_PREPARE_S - 1) * SECOND);
    CHECK(run_seq(&world) == 0);
    run_for(&world, 2 * SECOND);
    CHECK_INT(1, (int)run_seq(&world));
    /* too late: nobody listens, nothing breaks */
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, "late"));
    run(&world);
    crash_world(&world);
    struct sma_msg *msg = next_run(&world);
    CHECK(msg != NULL);
    CHECK_STR("", context_of(msg));
    sma_msg_destroy(msg);
}

CASE(only_so_many_questions_at_once)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    enum
    {
        COUNT = SMA_ASK_PREPARE_COUNT_MAX * 2 + 3
    };
    for (int i = 0; i < COUNT; i++) {
        char chat[16], id[16];
        snprintf(chat, sizeof chat, "c%d", i);
        snprintf(id, sizeof id, "%d", i);
        (void)say_as(&world, TEST, WITH(chat, id));
    }
    run(&world);
    CHECK_INT(SMA_ASK_PREPARE_COUNT_MAX, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "") != 0);
    run(&world);
    CHECK_INT(SMA_ASK_PREPARE_COUNT_MAX, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    uint32_t asked, waiting;
    sma_store_count_questions(world.store, &asked, &waiting);
    CHECK_INT(SMA_ASK_PREPARE_COUNT_MAX, asked);
    CHECK_INT(COUNT - SMA_ASK_PREPARE_COUNT_MAX - 1, waiting);
    /* an adapter that answers nobody holds nobody up for ever */
    run_for(&world, (2 * SMA_PREPARE_S + 2) * SECOND);
    sma_store_count_questions(world.store, &asked, &waiting);
    CHECK_INT(0, asked + waiting);
    /* the model is slow here: some have left their places to others */
    CHECK_INT(COUNT, (int)(sma_queue_waiting(world.store->queue) +
                           sma_store_run_counts(world.store).open));
    /* and when it speaks again there are places again */
    while (prepare(&world, SMA_ROLE_UNKNOWN, "") != 0) {
    }
    (void)say_as(&world, TEST, WITH("new", "new"));
    run(&world);
    CHECK_INT(1, (int)count_kept(&world.test, SMA_MSG_PREPARE));
}

CASE(stop_cancels_what_is_being_prepared)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1"));
    run(&world);
    CHECK_INT(0, (int)count_kept(&world.dispatcher, SMA_MSG_DELIVER)); /* it waits for nobody */
    command(&world, "a", "2", SMA_CONTROL_STOP);
    run(&world);
    CHECK_STR("Stopped.", sma_str(next_delivery(&world)));
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, "late"));
    run(&world);
    CHECK(run_seq(&world) == 0);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    say(&world, "a", "3", "on with it");
    run(&world);
    CHECK_INT(3, (int)run_seq(&world));
}

CASE(waiting_for_others_is_told)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    say(&world, "a", "1", "long work");
    run(&world);
    CHECK_INT(1, (int)run_seq(&world));
    (void)say_as(&world, TEST, WITH("a", "2"));
    run(&world);
    CHECK(strstr(next_delivery(&world), "still working") != NULL);
}

CASE(failed_commit_asks_again)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1"));
    run(&world);
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, "lost"));
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PREPARED, struct sma_prepared, 0);
    /* the answer is in the batch that fails */
    SMA_MSG_BODY(msg, struct sma_prepared)->seq = 1;
    struct store_question *question = sma_store_map_get(&world.store->intake->questions, 1);
    CHECK(question != NULL);
    msg->ask_id = question->ask_id;
    sma_store_prepared(world.store, &msg);
    sma_msg_destroyp(&msg);
    CHECK(sma_store_map_get(&world.store->intake->questions, 1) == NULL);
    sma_store_fail_batch(world.store, SMA_ERR_NOSPACE);
    CHECK(sma_store_map_get(&world.store->intake->questions, 1) != NULL);
    run_for(&world, 2 * SECOND);
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, "found"));
    run(&world);
    msg = next_run(&world);
    CHECK(msg != NULL);
    CHECK_STR("found", context_of(msg));
    sma_msg_destroy(msg);
}

/* -- damage ------------------------------------------------------------------------------------ */
/* The facts of a row become bytes that nobody can read. */
static void damage_facts(struct world *world, uint64_t seq)
{
    CHECK_OK(sma_store_begin(world->store));
    CHECK_OK(sma_state_set_facts(world->store->state, seq, SMA_STR("\x7f damaged")));
    sma_store_end_batch(world->store);
}

static int outcome_of(struct world *world, uint64_t seq)
{
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(world->store->state, seq, &head));
    return head.state;
}

/* It is ended as failed and named; questions behind it are asked, its batch-mates accepted, also
 * after a restart. */
CASE(a_damaged_row_holds_up_nobody_who_is_asked_for)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    for (int i = 0; i < SMA_ASK_PREPARE_COUNT_MAX + 2; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        (void)say_as(&world, TEST, WITH(i % 2 == 0 ? "a" : "b", id));
    }
    run(&world);
    CHECK_INT(SMA_ASK_PREPARE_COUNT_MAX, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    damage_facts(&world, SMA_ASK_PREPARE_COUNT_MAX + 1); /* the next that would be asked */
    for (int i = 0; i < 2; i++)
        CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "found") == (uint64_t)i + 1);
    say(&world, "c", "mate", "in the same batch");
    run(&world);
    for (int i = 0; i < SMA_ASK_PREPARE_COUNT_MAX + 3; i++)
        CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world.test).verdict);
    CHECK_INT(SMA_ASK_PREPARE_COUNT_MAX - 1, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    CHECK_INT(SMA_ROW_GIVEN_UP, outcome_of(&world, SMA_ASK_PREPARE_COUNT_MAX + 1));
    CHECK(sma_store_has_trouble(world.store, "message", SMA_STR("test:chat:a")));
    crash_world(&world);
    CHECK_INT(SMA_ASK_PREPARE_COUNT_MAX - 1, (int)count_kept(&world.test, SMA_MSG_PREPARE));
}

CASE(what_is_answered_for_a_damaged_row_refuses_no_batch_mate)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1"));
    expect_accepted(&world);
    damage_facts(&world, 1);
    say(&world, "b", "2", "before it in the batch");
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "found") == 1);
    say(&world, "b", "3", "behind it in the batch");
    expect_accepted(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world.test).verdict);
    CHECK_INT(SMA_ROW_GIVEN_UP, outcome_of(&world, 1));
    say(&world, "a", "4", "the chat goes on");
    run(&world);
    done(&world, run_seq(&world), "", NULL, 0);
    run(&world);
    done(&world, run_seq(&world), "", NULL, 0);
    run(&world);
    CHECK(run_seq(&world) != 0);
}

/* A command stands in no queue: nobody else would come upon its row. */
CASE(a_damaged_command_is_ended_with_the_next_start)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "g",
                                  .id = "1",
                                  .text = "hi",
                                  .user = "first",
                                  .is_group = true,
                                  .role = SMA_ROLE_MEMBER,
                                  .addressed = SMA_ADDRESSED_MENTION});
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "g",
                                  .id = "2",
                                  .text = "/stop",
                                  .user = "eve",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_MENTION,
                                  .kind = SMA_EVENT_CONTROL,
                                  .control = SMA_CONTROL_STOP});
    run(&world);
    CHECK_INT(1, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    damage_facts(&world, 2);
    crash_world(&world);
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    CHECK_INT(SMA_ROW_GIVEN_UP, outcome_of(&world, 2));
}

/* -- a platform that is away ------------------------------------------------------------------- */
static const struct sma_adapter_ops other_adapter = {.name = "other", .channel = "other"};

static void restart_with(struct world *world, const struct sma_adapter_ops *ops)
{
    stop_world(world);
    close_system(world);
    world->adapters[0].ops = ops;
    open_world(world);
}

/* Accepted and told so, then the platform is taken out of ship.json: nothing is run into the
 * void. */
CASE(messages_of_a_platform_that_is_not_configured_wait_for_it)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1")); /* holds its chat */
    say(&world, "a", "2", "waits");
    run(&world);
    (void)say_as(&world, API, &(struct saying){.chat = "z", .id = "9", .text = "has the slot"});
    run(&world);
    say(&world, "b", "3", "waits for the slot");
    run(&world);
    CHECK_INT(3, (int)run_seq(&world));
    restart_with(&world, &other_adapter);
    CHECK_INT(3, (int)run_seq(&world)); /* of a platform that is there */
    done(&world, 3, "", NULL, 0);
    run_for(&world, 200 * SECOND);
    CHECK(run_seq(&world) == 0);
    restart_with(&world, &other_adapter);
    CHECK(run_seq(&world) == 0);
    restart_with(&world, &test_adapter);
    CHECK_INT(4, (int)run_seq(&world));
    CHECK(prepare(&world, SMA_ROLE_UNKNOWN, "") == 1);
    done(&world, 4, "", NULL, 0);
    run(&world);
    CHECK_INT(1, (int)run_seq(&world));
    done(&world, 1, "", NULL, 0);
    run(&world);
    CHECK_INT(2, (int)run_seq(&world));
}

CASE(stopping_leaves_it_for_the_next_start)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, WITH("a", "1"));
    run(&world);
    stop_world(&world);
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, "while stopping"));
    run(&world);
    close_system(&world);
    open_world(&world);
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, "now"));
    run(&world);
    CHECK_INT(1, (int)run_seq(&world));
}

CASES_MAIN
