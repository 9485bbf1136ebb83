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
    w.config.queue_is_fair = true;
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
    expect_durable(&w, SMA_MSG_DONE_DONE);
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
    expect_durable(&w, SMA_MSG_STEP_DONE);
}

/* The run asks its person something. */
static void ask_person(uint64_t seq, uint32_t number)
{
    put_step(seq, number, &(struct sma_step){.kind = SMA_STEP_NOTE, .asks_words = true});
}

AFTER_EACH(end_world(&w))

/* -- the way of one message -------------------------------------------------------------------- */
CASE(an_addition_is_told_and_answered_by_the_run_that_took_it)
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
}

CASE(what_a_run_did_not_take_has_a_run_of_its_own)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    expect_steer(seq, added, "and the cat");
    end_run(seq);
    CHECK(run_seq(&w) == added);
    expect_no_steer();
    end_run(added);
    CHECK(run_seq(&w) == 0);
}

CASE(a_step_that_is_asked_again_takes_nothing_twice)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 1, &added, 1));
    CHECK_INT(SMA_STEP_DURABLE, step_with(seq, 2, &added, 1));
    CHECK_INT(1, (int)sma_store_run_find(w.store, seq)->collected_count);
    end_run(seq);
    CHECK(run_seq(&w) == 0);
}

CASE(other_modes_tell_nothing)
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

/* Of words that run, of words that wait, and after a new start. */
CASE(what_is_forwarded_with_words_goes_into_their_run_in_every_mode)
{
    const struct saying behind = {
        .chat = "a", .text = "from elsewhere", .is_forward = true, .is_behind = true};
    struct saying now = behind, later = behind;
    make_world(&w);
    w.config.queue_mode = SMA_QUEUE_SERIAL;
    open_world(&w);
    uint64_t first = begin_run("a", "1");
    now.id = "2";
    uint64_t added = say_it(&now);
    expect_steer(first, added, "from elsewhere");
    CHECK_INT(SMA_STEP_DURABLE, step_with(first, 1, &added, 1));
    uint64_t words = say_in("a", "3", "and this");
    later.id = "4";
    added = say_it(&later);
    expect_no_steer();
    end_run(first);
    CHECK(run_seq(&w) == words);
    run(&w);
    expect_steer(words, added, "from elsewhere");
    crash_world(&w);
    run(&w);
    CHECK(run_seq(&w) == words);
    run(&w);
    expect_steer(words, added, "from elsewhere");
}

/* -- what may go in ---------------------------------------------------------------------------- */
CASE(messages_of_others_wait_and_do_not_keep_ones_own)
{
    struct saying first = {.chat = "g", .id = "1", .text = "bot", .user = "u1", .is_group = true};
    struct saying other = first, own = first;
    other.id = "2";
    other.text = "me too";
    other.user = "u2";
    first.role = own.role = SMA_ROLE_MEMBER;
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
}

CASE(other_chats_go_their_own_way)
{
    begin_world();
    (void)begin_run("a", "1");
    (void)begin_run("b", "2");
    expect_no_steer();
}

/* Words of others, albums and what has an API behind it have runs of their own, and what is said
 * after them belongs to them. */
CASE(what_may_not_go_in_keeps_what_is_said_behind_it)
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

CASE(each_caller_of_the_api_gets_a_result_of_its_own)
{
    begin_world();
    (void)say_as(&w, API, &(struct saying){.chat = "a", .id = "1", .text = "one"});
    (void)say_as(&w, API, &(struct saying){.chat = "a", .id = "2", .text = "two"});
    run(&w);
    CHECK(run_seq(&w) != 0);
    expect_no_steer();
}

/* A picture is fetched first; what was said after it stays behind it. */
CASE(an_addition_is_told_when_it_is_prepared)
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
}

/* As many as one run answers; the others wait. */
CASE(a_run_is_told_so_many_and_no_more)
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
}

CASE(nobody_is_told_to_wait_for_the_run_that_takes_it)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), added = say_in("a", "2", "and the cat");
    expect_steer(seq, added, "and the cat");
    CHECK_TEXT("", next_delivery(&w));
}

/* -- when the run is not there ----------------------------------------------------------------- */
CASE(a_waiting_run_is_told_when_it_goes_on)
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
}

/* What a step holds waits, is decided about and goes on with its run. */
CASE(an_addition_parks_with_its_run)
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
}

CASE(a_stop_ends_what_was_taken_and_what_waits)
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
}

CASE(a_clear_leaves_what_the_run_had_not_taken)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), told = say_in("a", "2", "and the cat");
    command(&w, "a", "3", SMA_CONTROL_CLEAR);
    run(&w);
    CHECK_INT(SMA_STEP_STOPPED, step_with(seq, 1, &told, 1));
    CHECK(run_seq(&w) == told);
}

/* -- crashes ----------------------------------------------------------------------------------- */
CASE(a_crash_before_the_step_finds_it_waiting)
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
}

CASE(a_crash_behind_the_step_finds_it_taken)
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
}

/* The step is refused with its batch: nothing is taken, and it comes again. */
CASE(a_failed_commit_leaves_it_waiting)
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
}

/* -- questions --------------------------------------------------------------------------------- */
CASE(words_behind_a_question_are_told_in_any_mode)
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

CASE(a_run_that_asks_leaves_its_place)
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
}

static void pass_ms(uint64_t ms)
{
    sma_sim_advance(w.system, ms * SMA_NS_PER_MS);
    run(&w);
}

/* After a step that opens calls a second, after one behind which a model is asked ten: then others
 * need not wait, and its own chat does. Its next step takes the place back. */
CASE(a_run_that_waits_long_leaves_its_place)
{
    static const struct
    {
        struct sma_step step; /* number 0: none, the model has just been asked */
        uint64_t ms;
    } rows[] = {
        {{.number = 0}, SMA_PLACE_MODEL_MS},
        {{.number = 1, .kind = SMA_STEP_ANSWER}, SMA_PLACE_CALL_MS},
        {{.number = 1, .kind = SMA_STEP_NOTE}, SMA_PLACE_CALL_MS},
        {{.number = 1, .kind = SMA_STEP_CHILD, .opens_calls = true}, SMA_PLACE_CALL_MS},
        {{.number = 1, .kind = SMA_STEP_CHILD}, SMA_PLACE_MODEL_MS},
        {{.number = 1, .kind = SMA_STEP_RESULTS}, SMA_PLACE_MODEL_MS},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        begin_world();
        w.config.agent_concurrency = 1;
        uint64_t seq = begin_run("a", "1"), other = say_in("b", "2", "hello");
        CHECK(run_seq(&w) == 0);
        if (rows[i].step.number > 0)
            put_step(seq, 1, &rows[i].step);
        pass_ms(rows[i].ms - 500); /* each run() may take 50 ms */
        CHECK(run_seq(&w) == 0);
        pass_ms(500); /* nobody but the clock says so */
        CHECK(run_seq(&w) == other);
        uint64_t third = say_in("c", "3", "hello");
        uint64_t later = say_in("a", "4", "seven");
        CHECK(run_seq(&w) == 0);           /* one place was left, and its own chat waits for it */
        expect_steer(seq, later, "seven"); /* as in this mode ever: it is no answer */
        end_run(other);
        CHECK(run_seq(&w) == third);
        /* it goes on, and has a place */
        put_step(seq, rows[i].step.number + 1, &(struct sma_step){.kind = SMA_STEP_RESULTS});
        uint64_t fourth = say_in("d", "5", "hello");
        end_run(third);
        CHECK(run_seq(&w) == 0);
        end_run(seq);
        uint64_t next = run_seq(&w);
        CHECK(next == fourth || next == later);
        end_world(&w);
    }
}

/* One message at a time to the letter: whatever the run waits for. */
CASE(a_strict_agent_keeps_its_place)
{
    begin_world();
    w.config.agent_concurrency = 1;
    w.config.agent_is_strict = true;
    uint64_t seq = begin_run("a", "1"), other = say_in("b", "2", "hello");
    put_step(seq, 1, &(struct sma_step){.kind = SMA_STEP_ANSWER});
    pass_ms(60 * SMA_PLACE_MODEL_MS);
    CHECK(run_seq(&w) == 0);
    ask_person(seq, 2);
    pass_ms(60 * SMA_PLACE_MODEL_MS);
    CHECK(run_seq(&w) == 0);
    end_run(seq);
    CHECK(run_seq(&w) == other);
}

#define CHAT_COUNT 24u
static uint64_t begun[CHAT_COUNT];
static uint32_t begun_count;

/* What starts meanwhile gets this step, if any. @return another person's run has begun */
static bool pass_with(const struct sma_step *step, uint64_t other, uint64_t ms)
{
    bool is_there = false;
    for (uint64_t passed = 0; passed < ms; passed += 100) {
        pass_ms(50);
        for (uint64_t seq; (seq = run_seq(&w)) != 0;) {
            is_there = is_there || seq == other;
            if (seq == other)
                continue;
            begun[begun_count++] = seq;
            if (step->kind != 0)
                put_step(seq, 1, step);
        }
    }
    return is_there;
}

/* They run commands that take long, or wait for a model that says nothing, in all of their chats;
 * another one's first words do not wait for that. Nothing is lost, and all start as they came. */
CASE(many_chats_of_one_person_hold_nobody_else)
{
    static const struct sma_step steps[] = {{.kind = SMA_STEP_ANSWER}, {.kind = 0}};
    for (size_t i = 0; i < 2 * SMA_COUNT_OF(steps); i++) {
        uint64_t said[CHAT_COUNT];
        begin_world();
        w.config.agent_concurrency = 1;
        begun_count = 0;
        for (uint32_t k = 0; k < CHAT_COUNT; k++) {
            char name[8];
            snprintf(name, sizeof name, "a%u", k);
            said[k] = say_in(name, name, "sleep");
        }
        (void)pass_with(&steps[i / 2], 0, 4000);
        CHECK(begun_count > 0 && begun_count < CHAT_COUNT);
        if (i % 2 == 1) { /* what was begun goes on after a restart, and is not before others */
            restart_world(&w);
            begun_count = 0;
            (void)pass_with(&(struct sma_step){.kind = 0}, 0, 1000);
        }
        uint64_t other =
            say_it(&(struct saying){.chat = "b", .id = "b1", .text = "hello", .user = "u2"});
        CHECK(pass_with(&(struct sma_step){.kind = 0}, other, 3000));
        end_run(other);
        for (int rounds = 0; rounds < 100 && begun_count < CHAT_COUNT; rounds++)
            (void)pass_with(&(struct sma_step){.kind = 0}, 0, SMA_PLACE_MODEL_MS);
        CHECK_INT(CHAT_COUNT, begun_count);
        for (uint32_t k = 0; k < CHAT_COUNT; k++)
            CHECK(begun[k] == said[k]);
        end_world(&w);
    }
}

/* However many may run at once: half of what is left is somebody else's. */
CASE(nobody_takes_the_last_place)
{
    enum
    {
        COUNT = SMA_CONCURRENCY_MAX / 2 + 20
    };
    uint32_t started = 0;
    begin_world();
    w.config.agent_concurrency = SMA_CONCURRENCY_MAX;
    for (uint32_t k = 0; k < COUNT; k++) {
        char name[8];
        snprintf(name, sizeof name, "a%u", k);
        (void)say_in(name, name, "sleep");
    }
    while (run_seq(&w) != 0)
        started++;
    CHECK_INT(SMA_CONCURRENCY_MAX / 2, started);
    uint64_t other =
        say_it(&(struct saying){.chat = "b", .id = "b1", .text = "hello", .user = "u2"});
    CHECK(run_seq(&w) == other);
    end_world(&w);
}

CASE(what_stands_for_a_prompt_is_no_addition)
{
    begin_world();
    uint64_t seq = begin_run("a", "1"), prompt = say_in("a", "2", "/box:greet world");
    (void)say_in("a", "3", "and the cat");
    expect_no_steer(); /* it keeps those behind it, too */
    end_run(seq);
    CHECK(run_seq(&w) == prompt);
}

CASES_MAIN
