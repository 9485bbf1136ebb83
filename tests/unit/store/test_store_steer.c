/*
 * Aim: what a person adds while their run is open is told to the agent, and is answered exactly
 *      once: by that run when a step of it holds the message, else by a run of its own.
 * Method: the store actor under virtual time between actors that keep what they get; the test is
 *      the agent.
 */
#include "approval_support.h"

#include "actors/store/runs_priv.h"
#include "runtime/chat/state_vfs.h"

static struct world w;
static bool is_full;

static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

static void begin_world(void)
{
    make_world(&w);
    w.config.queue_mode = SMA_QUEUE_STEER;
    w.config.agent_concurrency = 4;
    open_world(&w);
}

/* A message is accepted; its number. */
static uint64_t say_it(const struct saying *saying)
{
    (void)say_as(&w, TEST, saying);
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_ACCEPTED, answer.verdict);
    return answer.seq;
}

static uint64_t say_in(const char *chat, const char *id, const char *text)
{
    return say_it(&(struct saying){.chat = chat, .id = id, .text = text});
}

/* The first message of this chat, whose run is open now. */
static uint64_t begin_run(const char *chat, const char *id)
{
    uint64_t seq = say_in(chat, id, "look after the house");
    CHECK(run_seq(&w) == seq);
    return seq;
}

/* The agent has been told that this was added to that run. */
static void expect_steer(uint64_t run_seq, uint64_t seq, const char *text)
{
    struct sma_msg *msg = take(&w.agent, SMA_MSG_STEER);
    CHECK(msg != NULL);
    const struct sma_steer *steer = SMA_MSG_BODY(msg, struct sma_steer);
    CHECK(steer->seq == run_seq);
    CHECK_INT(1, steer->message_count);
    CHECK(steer->messages[0].seq == seq);
    CHECK_STR(text, steer->messages[0].text);
    CHECK_STR("u1", steer->messages[0].user_id);
    sma_msg_destroy(msg);
}

static void expect_no_steer(void)
{
    CHECK_INT(0, count_kept(&w.agent, SMA_MSG_STEER));
}

/* The next step of the run holds these. */
static int step_with(uint64_t seq, uint32_t number, const uint64_t *added, uint32_t count)
{
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096 + count * sizeof(struct sma_seq));
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = SMA_STEP_RESULTS;
    body->data = sma_msg_dup(msg, SMA_STR("step data"));
    body->added_count = count;
    body->added = sma_msg_space(msg, count * sizeof(struct sma_seq));
    for (uint32_t i = 0; i < count; i++)
        body->added[i].seq = added[i];
    ask_as_agent(&w, msg);
    run(&w);
    return verdict(&w, SMA_MSG_STEP_DONE);
}

static int state_of(uint64_t seq)
{
    await(&w, TEST, seq, true, "");
    run(&w);
    struct sma_msg *msg = take(&w.test, SMA_MSG_RESULT);
    CHECK(msg != NULL);
    int state = SMA_MSG_BODY(msg, struct sma_result)->state;
    sma_msg_destroy(msg);
    return state;
}

static void end_run(uint64_t seq)
{
    done(&w, seq, "all done", NULL, 0);
    run(&w);
    CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_DONE_DONE));
}

static void put_step(uint64_t seq, uint32_t number, const struct sma_step *step)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    *body = *step;
    body->seq = seq;
    body->number = number;
    body->data = sma_msg_dup(msg, SMA_STR("some step"));
    ask_as_agent(&w, msg);
    run(&w);
    CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_STEP_DONE));
}

/* The run asks its person something. */
static void ask_person(uint64_t seq, uint32_t number)
{
    put_step(seq, number, &(struct sma_step){.kind = SMA_STEP_NOTE, .asks_words = true});
}

/* -- the way of one message -------------------------------------------------------------------- */
static void an_addition_is_told_and_answered_by_the_run_that_took_it(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    expect_steer(seq, added, "and the cat");
    CHECK_INT(SMA_RUN_WAITING, state_of(added));
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    CHECK_INT(SMA_RUN_RUNNING, state_of(added));
    end_run(seq);
    CHECK(run_seq(&w) == 0); /* it has no run of its own */
    CHECK_INT(SMA_RUN_DONE, state_of(seq));
    CHECK_INT(SMA_RUN_DONE, state_of(added));
    CHECK_INT(1, (int)count_of(history(&w, "test%3Achat%3Aa"), "and the cat"));
    end_world(&w);
}

static void what_a_run_did_not_take_has_a_run_of_its_own(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    expect_steer(seq, added, "and the cat");
    end_run(seq);
    CHECK(run_seq(&w) == added);
    expect_no_steer();
    end_run(added);
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

static void a_step_that_is_asked_again_takes_nothing_twice(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 2, &added, 1));
    CHECK_INT(1, (int)sma_store_run_find(w.store, seq)->collected_count);
    end_run(seq);
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

static void other_modes_tell_nothing(void)
{
    for (uint8_t mode = SMA_QUEUE_SERIAL; mode < SMA_QUEUE_STEER; mode++) {
        make_world(&w);
        w.config.queue_mode = mode;
        open_world(&w);
        uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
        expect_no_steer();
        end_run(seq);
        CHECK(run_seq(&w) == added);
        end_world(&w);
    }
}

/* -- what may go in ---------------------------------------------------------------------------- */
static void messages_of_others_wait_and_do_not_keep_ones_own(void)
{
    struct saying first = {.chat = "g", .id = "1", .text = "bot", .user = "u1", .is_group = true};
    struct saying other = first, own = first;
    other.id = "2";
    other.text = "me too";
    other.user = "u2";
    other.role = SMA_ROLE_ADMIN;
    own.id = "3";
    own.text = "go on";
    begin_world();
    uint64_t seq = say_it(&first);
    CHECK(run_seq(&w) == seq);
    uint64_t others = say_it(&other);
    expect_no_steer();
    uint64_t added = say_it(&own);
    expect_steer(seq, added, "go on");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    end_run(seq);
    CHECK(run_seq(&w) == others);
    end_world(&w);
}

static void other_chats_go_their_own_way(void)
{
    begin_world();
    (void)begin_run("a", "1");
    (void)begin_run("b", "2");
    expect_no_steer();
    end_world(&w);
}

/* Words of others, albums and what has an API behind it have runs of their own, and what is said
 * after them belongs to them. */
static void what_may_not_go_in_keeps_what_is_said_behind_it(void)
{
    struct saying apart[] = {
        {.chat = "a", .id = "2", .text = "look at this", .is_forward = true},
        {.chat = "a", .id = "2", .text = "photo", .group_key = "album"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(apart); i++) {
        begin_world();
        uint64_t seq = begin_run("a", "1");
        uint64_t forwarded = say_it(&apart[i]), behind = say_in("a", "3", "what is it?");
        run_for(&w, 2 * SECOND);
        expect_no_steer();
        end_run(seq);
        CHECK(run_seq(&w) == forwarded);
        expect_steer(forwarded, behind, "what is it?");
        end_world(&w);
    }
}

static void each_caller_of_the_api_gets_a_result_of_its_own(void)
{
    begin_world();
    (void)say_as(&w, API, &(struct saying){.chat = "a", .id = "1", .text = "one"});
    (void)say_as(&w, API, &(struct saying){.chat = "a", .id = "2", .text = "two"});
    run(&w);
    CHECK(run_seq(&w) != 0);
    expect_no_steer();
    end_world(&w);
}

/* A picture is fetched first; what was said after it stays behind it. */
static void an_addition_is_told_when_it_is_prepared(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1");
    uint64_t photo = say_it(
        &(struct saying){.chat = "a", .id = "2", .text = "this one", .preparation = "[file]"});
    uint64_t behind = say_in("a", "3", "you see?");
    expect_no_steer();
    CHECK(prepare(&w, SMA_ROLE_UNKNOWN, "it could not be fetched") == photo);
    run(&w);
    struct sma_msg *msg = take(&w.agent, SMA_MSG_STEER);
    CHECK(msg != NULL);
    CHECK(SMA_MSG_BODY(msg, struct sma_steer)->messages[0].seq == photo);
    CHECK_STR("it could not be fetched", SMA_MSG_BODY(msg, struct sma_steer)->messages[0].context);
    sma_msg_destroy(msg);
    expect_steer(seq, behind, "you see?");
    end_world(&w);
}

/* As many as one run answers; the others wait. */
static void a_run_is_told_so_many_and_no_more(void)
{
    begin_world();
    w.config.queue_chat_waiting_max = 100;
    close_system(&w);
    open_world(&w);
    uint64_t seq = begin_run("a", "1");
    for (int i = 0; i < 80; i++) {
        char id[16];
        snprintf(id, sizeof id, "x%d", i);
        (void)say_in("a", id, "more");
    }
    CHECK_INT(STORE_COLLECT_COUNT_MAX, (int)count_kept(&w.agent, SMA_MSG_STEER));
    end_run(seq);
    CHECK(run_seq(&w) != 0);
    end_world(&w);
}

static void nobody_is_told_to_wait_for_the_run_that_takes_it(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    expect_steer(seq, added, "and the cat");
    CHECK_TEXT("", next_delivery(&w));
    end_world(&w);
}

/* -- when the run is not there ----------------------------------------------------------------- */
static void a_waiting_run_is_told_when_it_goes_on(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = 1;
    body->kind = SMA_STEP_WAIT;
    body->data = sma_msg_dup(msg, SMA_STR("wait data"));
    body->wait_ms = 5000;
    ask_as_agent(&w, msg);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    uint64_t added = say_in("a", "2", "and the cat");
    expect_no_steer();
    pass(&w, 6);
    CHECK(run_seq(&w) == seq);
    expect_steer(seq, added, "and the cat");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 2, &added, 1));
    end_run(seq);
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

/* What a step holds waits, is decided about and goes on with its run. */
static void an_addition_parks_with_its_run(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = 2;
    body->kind = SMA_STEP_WAIT;
    body->data = sma_msg_dup(msg, SMA_STR("wait data"));
    body->wait_ms = 5000;
    ask_as_agent(&w, msg);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    crash_world(&w);
    pass(&w, 6);
    msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK(order->seq == seq);
    CHECK_INT(1, order->collected_count);
    CHECK(order->collected[0].seq == added);
    sma_msg_destroy(msg);
    expect_no_steer();
    end_run(seq);
    CHECK_INT(SMA_RUN_DONE, state_of(added));
    end_world(&w);
}

static void a_stop_ends_what_was_taken_and_what_waits(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), taken = say_in("a", "2", "and the cat");
    uint64_t told = say_in("a", "3", "and the dog");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &taken, 1));
    command(&w, "a", "4", SMA_CONTROL_STOP);
    run(&w);
    CHECK_INT(SMA_RUN_CANCELLED, state_of(taken));
    CHECK_INT(SMA_RUN_CANCELLED, state_of(told));
    CHECK_INT(SMA_STEP_STOPPED, step_with(seq, 2, &told, 1));
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

static void a_clear_leaves_what_the_run_had_not_taken(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), told = say_in("a", "2", "and the cat");
    command(&w, "a", "3", SMA_CONTROL_CLEAR);
    run(&w);
    CHECK_INT(SMA_STEP_STOPPED, step_with(seq, 1, &told, 1));
    CHECK(run_seq(&w) == told);
    end_world(&w);
}

/* -- crashes ----------------------------------------------------------------------------------- */
static void a_crash_before_the_step_finds_it_waiting(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    expect_steer(seq, added, "and the cat");
    crash_world(&w);
    CHECK(run_seq(&w) == seq);
    expect_steer(seq, added, "and the cat"); /* behind the run, which goes on */
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    end_run(seq);
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

static void a_crash_behind_the_step_finds_it_taken(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    drop_kept(&w.agent);
    crash_world(&w);
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_INT(1, order->collected_count);
    CHECK(order->collected[0].seq == added);
    sma_msg_destroy(msg);
    expect_no_steer();
    end_run(seq);
    CHECK(run_seq(&w) == 0);
    CHECK_INT(SMA_RUN_DONE, state_of(added));
    end_world(&w);
}

/* The step is refused with its batch: nothing is taken, and it comes again. */
static void a_failed_commit_leaves_it_waiting(void)
{
    is_full = false;
    sma_state_vfs_set_hook(fail_when_full);
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    expect_steer(seq, added, "and the cat");
    is_full = true;
    CHECK_INT(SMA_STEP_NO_DISK, step_with(seq, 1, &added, 1));
    is_full = false;
    CHECK_INT(SMA_RUN_WAITING, state_of(added));
    pass(&w, 2);
    (void)say_in("a", "3", "and the dog");
    expect_steer(seq, added, "and the cat"); /* told again: the agent has it once */
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    CHECK_INT(SMA_RUN_RUNNING, state_of(added));
    sma_state_vfs_set_hook(NULL);
    end_world(&w);
}

/* -- questions --------------------------------------------------------------------------------- */
static void words_behind_a_question_are_told_in_any_mode(void)
{
    static const enum sma_queue_mode modes[] = {SMA_QUEUE_SERIAL, SMA_QUEUE_COLLECT,
                                                SMA_QUEUE_STEER};
    for (size_t i = 0; i < SMA_COUNT_OF(modes); i++) {
        bool has_mode = modes[i] == SMA_QUEUE_STEER;
        begin_world();
        w.config.queue_mode = modes[i];
        uint64_t seq = begin_run("a", "1"), before = say_in("a", "2", "and the cat");
        CHECK_INT(has_mode, (int)count_kept(&w.agent, SMA_MSG_STEER));
        if (has_mode)
            expect_steer(seq, before, "and the cat");
        ask_person(seq, 1);
        expect_no_steer(); /* what was said before is no answer */
        (void)say_it(&(struct saying){.chat = "a", .id = "3", .text = "not me", .user = "u2"});
        expect_no_steer();
        uint64_t answer = say_in("a", "4", "seven");
        struct sma_msg *msg = take(&w.agent, SMA_MSG_STEER);
        CHECK(msg != NULL);
        CHECK(SMA_MSG_BODY(msg, struct sma_steer)->is_answer);
        CHECK(SMA_MSG_BODY(msg, struct sma_steer)->messages[0].seq == answer);
        sma_msg_destroy(msg);
        CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 2, &answer, 1));
        CHECK_INT(SMA_RUN_RUNNING, state_of(answer));
        CHECK_INT(SMA_RUN_WAITING, state_of(before));
        (void)say_in("a", "5", "later");
        CHECK_INT(has_mode, (int)count_kept(&w.agent, SMA_MSG_STEER));
        end_world(&w);
    }
}

static void a_run_that_asks_leaves_its_place(void)
{
    begin_world();
    w.config.agent_concurrency = 1;
    uint64_t seq = begin_run("a", "1");
    uint64_t other = say_in("b", "2", "hello");
    CHECK(run_seq(&w) == 0);
    ask_person(seq, 1);
    CHECK(run_seq(&w) == other);
    uint64_t third = say_in("c", "3", "hello");
    CHECK(run_seq(&w) == 0); /* one place was left, not two */
    end_run(other);
    CHECK(run_seq(&w) == third);
    end_world(&w);
}

/* With whatever step takes it back. */
static void a_run_that_waits_for_servers_leaves_its_place(void)
{
    static const uint8_t kinds[] = {SMA_STEP_RESULTS, SMA_STEP_CHILD};
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        begin_world();
        w.config.agent_concurrency = 1;
        uint64_t seq = begin_run("a", "1"), other = say_in("b", "2", "hello");
        CHECK(run_seq(&w) == 0);
        put_step(seq, 1, &(struct sma_step){.kind = SMA_STEP_NOTE, .leaves_place = true});
        CHECK(run_seq(&w) == other);
        uint64_t third = say_in("c", "3", "hello");
        uint64_t later = say_in("a", "4", "seven");
        CHECK(run_seq(&w) == 0);           /* one place was left, and its own chat waits for it */
        expect_steer(seq, later, "seven"); /* as in this mode ever: it is no answer */
        end_run(other);
        CHECK(run_seq(&w) == third);
        put_step(seq, 2, &(struct sma_step){.kind = kinds[i]}); /* it goes on, and has a place */
        uint64_t fourth = say_in("d", "5", "hello");
        end_run(third);
        CHECK(run_seq(&w) == 0);
        end_run(seq);
        uint64_t next = run_seq(&w);
        CHECK(next == fourth || next == later);
        end_world(&w);
    }
}

static void what_stands_for_a_prompt_is_no_addition(void)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), prompt = say_in("a", "2", "/box:greet world");
    (void)say_in("a", "3", "and the cat");
    expect_no_steer(); /* it keeps those behind it, too */
    end_run(seq);
    CHECK(run_seq(&w) == prompt);
    end_world(&w);
}

int main(void)
{
    RUN(a_run_that_waits_for_servers_leaves_its_place);
    RUN(what_stands_for_a_prompt_is_no_addition);
    RUN(words_behind_a_question_are_told_in_any_mode);
    RUN(a_run_that_asks_leaves_its_place);
    RUN(an_addition_is_told_and_answered_by_the_run_that_took_it);
    RUN(what_a_run_did_not_take_has_a_run_of_its_own);
    RUN(a_step_that_is_asked_again_takes_nothing_twice);
    RUN(other_modes_tell_nothing);
    RUN(messages_of_others_wait_and_do_not_keep_ones_own);
    RUN(other_chats_go_their_own_way);
    RUN(what_may_not_go_in_keeps_what_is_said_behind_it);
    RUN(each_caller_of_the_api_gets_a_result_of_its_own);
    RUN(an_addition_is_told_when_it_is_prepared);
    RUN(a_run_is_told_so_many_and_no_more);
    RUN(nobody_is_told_to_wait_for_the_run_that_takes_it);
    RUN(a_waiting_run_is_told_when_it_goes_on);
    RUN(an_addition_parks_with_its_run);
    RUN(a_stop_ends_what_was_taken_and_what_waits);
    RUN(a_clear_leaves_what_the_run_had_not_taken);
    RUN(a_crash_before_the_step_finds_it_waiting);
    RUN(a_crash_behind_the_step_finds_it_taken);
    RUN(a_failed_commit_leaves_it_waiting);
    return check_summary();
}
