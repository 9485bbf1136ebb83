/*
 * Aim: a run that /stop ended keeps its turn, though the turn comes after the end: once, in the
 *      chat as it is called by then, never behind a /clear, and never at the cost of anything that
 *      was acknowledged. What it used is counted once.
 * Method: the store actor under virtual time between actors that keep what they get.
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
    new_world(&w);
}

/* A message of this chat comes and is handed out. @return its seq */
static uint64_t begin_run(const char *chat, const char *id)
{
    say(&w, chat, id, "question");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(seq != 0 && run_seq(&w) == seq);
    return seq;
}

static void control(const char *chat, const char *id, enum sma_control control)
{
    command(&w, chat, id, control);
    expect_accepted(&w);
}

#define USED 11

static void end_with(uint64_t seq, enum sma_outcome outcome, const char *turn)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DONE, struct sma_done, 4096);
    struct sma_done *body = SMA_MSG_BODY(msg, struct sma_done);
    body->seq = seq;
    body->outcome = (uint8_t)outcome;
    body->tool_calls_json = SMA_STR("[]");
    body->turn = sma_msg_dup(msg, sma_str(turn));
    body->wire = SMA_STR("chat h m");
    body->usage = (struct sma_usage){.request_count = 1, .input = USED};
    body->target = SMA_STR("chat h m");
    ask_as_agent(&w, msg);
    run(&w);
}

/* What the agent sends for a run that it was told to stop. Whatever comes of it, the run is
 * over. */
static void late(uint64_t seq, const char *turn)
{
    end_with(seq, SMA_OUTCOME_CANCELLED, turn);
    int answer = verdict(&w, SMA_MSG_DONE_DONE);
    CHECK(answer == SMA_STEP_STOPPED || answer == SMA_STEP_NO_DISK);
}

/* "turn;turn;" of a chat's session, oldest first, in static memory. */
static const char *session(const char *key)
{
    static char text[8192];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_SESSION, struct sma_session_ask, 256);
    struct sma_session_ask *ask = SMA_MSG_BODY(msg, struct sma_session_ask);
    *ask = (struct sma_session_ask){.chat_key = sma_msg_dup(msg, sma_str(key)),
                                    .before_seq = UINT64_C(1) << 40,
                                    .turns_max = 1000,
                                    .bytes_max = 1 << 20};
    ask_as_agent(&w, msg);
    run(&w);
    msg = take(&w.agent, SMA_MSG_SESSION_TURNS);
    CHECK(msg != NULL);
    const struct sma_session_turns *turns = SMA_MSG_BODY(msg, struct sma_session_turns);
    size_t len = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < turns->turn_count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s;",
                                (int)turns->turns[i].bytes.len, turns->turns[i].bytes.ptr);
    sma_msg_destroy(msg);
    return text;
}

static uint64_t input_used(void)
{
    const char *json = query(&w, SMA_QUERY_USAGE, "");
    const char *at = strstr(json, "\"input\":");
    CHECK(at != NULL);
    return strtoull(at + strlen("\"input\":"), NULL, 10);
}

AFTER_EACH(end_world(&w))

CASE(it_is_kept_and_stays_over_restarts_and_crashes)
{
    for (int is_crash = 0; is_crash < 2; is_crash++) {
        begin_world();
        uint64_t seq = begin_run("a", "1");
        control("a", "2", SMA_CONTROL_STOP);
        late(seq, "stopped");
        CHECK_TEXT("stopped;", session(CHAT_A));
        if (is_crash)
            crash_world(&w);
        else
            restart_world(&w);
        CHECK(run_seq(&w) == 0);
        CHECK_TEXT("stopped;", session(CHAT_A));
        say(&w, "a", "3", "continue");
        run(&w);
        struct sma_msg *msg = next_run(&w);
        CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_run_order)->has_past);
        sma_msg_destroy(msg);
        end_world(&w);
    }
}

CASE(it_stands_where_its_message_stood)
{
    begin_world();
    uint64_t one = begin_run("a", "1");
    done(&w, one, "x", NULL, 0);
    run(&w);
    uint64_t two = begin_run("a", "2");
    control("a", "3", SMA_CONTROL_STOP);
    uint64_t three = begin_run("a", "4");
    sma_msg_destroy(take(&w.agent, SMA_MSG_DONE_DONE));
    done(&w, three, "x", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    late(two, "stopped");
    CHECK_TEXT("{\"turn\":1};stopped;{\"turn\":1};", session(CHAT_A));
    restart_world(&w);
    CHECK_TEXT("{\"turn\":1};stopped;{\"turn\":1};", session(CHAT_A));
}

CASE(a_cleared_turn_does_not_come_back)
{
    for (int is_crash = 0; is_crash < 2; is_crash++) {
        begin_world();
        uint64_t seq = begin_run("a", "1");
        step(&w, seq, 1, NULL, 0);
        expect_durable(&w, SMA_MSG_STEP_DONE);
        control("a", "2", SMA_CONTROL_CLEAR); /* it ends the run, too */
        late(seq, "cleared");
        CHECK_TEXT("", session(CHAT_A));
        uint64_t next = begin_run("a", "3");
        control("a", "4", SMA_CONTROL_STOP);
        control("a", "5", SMA_CONTROL_CLEAR);
        late(next, "stopped, then cleared");
        CHECK_TEXT("", session(CHAT_A));
        uint64_t third = begin_run("a", "6");
        control("a", "7", SMA_CONTROL_STOP);
        late(third, "kept");
        control("a", "8", SMA_CONTROL_CLEAR);
        late(third, "again");
        CHECK_TEXT("", session(CHAT_A));
        if (is_crash)
            crash_world(&w);
        else
            restart_world(&w);
        late(next, "after a restart");
        late(third, "after a restart");
        CHECK_TEXT("", session(CHAT_A));
        end_world(&w);
    }
}

static void move_chat(const char *from, const char *to, const char *id)
{
    char key[64];
    snprintf(key, sizeof key, "test:chat:%s", from);
    (void)say_as(
        &w, TEST,
        &(struct saying){
            .chat = to, .id = id, .text = "", .kind = SMA_EVENT_NOTE, .migrated_from = key});
    run(&w);
    drop_kept(&w.test);
}

CASE(it_goes_with_a_chat_that_moved)
{
    begin_world();
    uint64_t seq = begin_run("old", "1");
    control("old", "2", SMA_CONTROL_STOP);
    move_chat("old", "new", "n1");
    late(seq, "stopped");
    CHECK_TEXT("stopped;", session("test:chat:new"));
    restart_world(&w);
    CHECK_TEXT("stopped;", session("test:chat:new"));
}

/* Either of two chats that became one: what the other had is now the chat's, and its clear mark
 * counts for both. */
CASE(it_goes_with_chats_that_became_one)
{
    for (int is_cleared = 0; is_cleared < 2; is_cleared++) {
        begin_world();
        w.config.agent_concurrency = 2;
        uint64_t one = begin_run("old", "1"), two = begin_run("new", "2");
        control("old", "3", SMA_CONTROL_STOP);
        control("new", "4", SMA_CONTROL_STOP);
        if (is_cleared)
            control("new", "5", SMA_CONTROL_CLEAR);
        move_chat("old", "new", "n1");
        late(two, "two");
        late(one, "one");
        late(two, "again");
        CHECK_TEXT(is_cleared ? "" : "one;two;", session("test:chat:new"));
        crash_world(&w);
        CHECK_TEXT(is_cleared ? "" : "one;two;", session("test:chat:new"));
        late(two, "after a restart");
        CHECK_TEXT(is_cleared ? "" : "one;two;", session("test:chat:new"));
        end_world(&w);
    }
}

CASE(a_repeated_one_brings_nothing)
{
    begin_world();
    uint64_t seq = begin_run("a", "1");
    control("a", "2", SMA_CONTROL_STOP);
    for (int i = 0; i < 3; i++)
        late(seq, i == 0 ? "first" : "again");
    CHECK_TEXT("first;", session(CHAT_A));
    CHECK_INT(USED, (int)input_used());
    crash_world(&w);
    late(seq, "after a crash");
    CHECK_TEXT("first;", session(CHAT_A));
    CHECK_INT(USED, (int)input_used());
}

/* Of a run that ended otherwise, of none, of one that said it was answered when it had been
 * stopped, and an empty one. */
CASE(only_a_stopped_run_has_one)
{
    begin_world();
    uint64_t answered = begin_run("a", "1");
    done(&w, answered, "x", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    late(answered, "not its end");
    late(answered + 1000, "nobody's");
    uint64_t stopped = begin_run("a", "2");
    control("a", "3", SMA_CONTROL_STOP);
    end_with(stopped, SMA_OUTCOME_OK, "an answer nobody got");
    CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_DONE_DONE));
    late(stopped, "");
    CHECK_TEXT("{\"turn\":1};", session(CHAT_A));
    CHECK_INT(0, (int)input_used());
}

/* The disk is full when it comes: it is lost, and nothing else. */
CASE(a_full_disk_loses_it_and_nothing_else)
{
    begin_world();
    uint64_t seq = begin_run("a", "1");
    control("a", "2", SMA_CONTROL_STOP);
    is_full = true;
    late(seq, "no room");
    is_full = false;
    pass(&w, 3);
    CHECK_TEXT("", session(CHAT_A));
    CHECK_INT(0, (int)input_used());
    crash_world(&w);
    CHECK(run_seq(&w) == 0); /* it stays stopped */
    late(seq, "there is room");
    CHECK_TEXT("there is room;", session(CHAT_A));
    CHECK_INT(USED, (int)input_used());
}

CASE(old_turns_go_first)
{
    enum
    {
        KEPT = 30
    };
    make_world(&w);
    w.config.retention.turns = KEPT;
    open_world(&w);
    uint64_t stopped = begin_run("a", "0");
    control("a", "s", SMA_CONTROL_STOP);
    for (int i = 0; i < KEPT; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i + 1);
        done(&w, begin_run("a", id), "x", NULL, 0);
        expect_durable(&w, SMA_MSG_DONE_DONE);
        drop_kept(&w.dispatcher);
    }
    late(stopped, "older than all");
    late(stopped, "again");
    CHECK(strstr(session(CHAT_A), "older") == NULL);
    restart_world(&w);
    CHECK(strstr(session(CHAT_A), "older") == NULL);
    CHECK_INT(KEPT, (int)count_of(session(CHAT_A), "{\"turn\":1}"));
}

/* -- usage ------------------------------------------------------------------------------------- */
static void used_step(uint64_t seq, uint32_t number, uint32_t wait_ms, uint64_t input)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = wait_ms > 0 ? SMA_STEP_WAIT : SMA_STEP_ANSWER;
    body->wait_ms = wait_ms;
    body->data = SMA_STR("data");
    body->usage = (struct sma_usage){.request_count = 1, .input = input};
    body->target = number % 2 == 0 ? SMA_STR("other") : SMA_STR("first");
    ask_as_agent(&w, msg);
    run(&w);
}

static uint64_t input_of(uint64_t seq)
{
    await(&w, TEST, seq, true, "");
    run(&w);
    struct sma_msg *msg = take(&w.test, SMA_MSG_RESULT);
    CHECK(msg != NULL);
    uint64_t input = SMA_MSG_BODY(msg, struct sma_result)->usage.input;
    sma_msg_destroy(msg);
    return input;
}

/* Steps before the stop, one refused by it, which the agent's last word tells again; over a crash,
 * too. */
CASE(what_a_stopped_run_used_is_counted_once)
{
    begin_world();
    uint64_t seq = begin_run("a", "1");
    used_step(seq, 1, 0, 100);
    used_step(seq, 2, 0, 1000); /* another target: it failed over */
    control("a", "2", SMA_CONTROL_STOP);
    used_step(seq, 3, 0, USED); /* it was on its way */
    CHECK_INT(1100, (int)input_used());
    late(seq, "stopped");
    CHECK_INT(1100 + USED, (int)input_used());
    CHECK_INT(1100, (int)input_of(seq));
    crash_world(&w);
    CHECK_INT(1100 + USED, (int)input_used());
    CHECK(strstr(query(&w, SMA_QUERY_USAGE, ""),
                 "{\"target\":\"first\",\"requests\":1,\"input\":100,") != NULL);
}

CASE(what_a_waiting_run_used_is_counted_once)
{
    begin_world();
    uint64_t seq = begin_run("a", "1");
    used_step(seq, 1, 5000, 100);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    crash_world(&w);
    pass(&w, 6);
    CHECK(run_seq(&w) == seq);
    used_step(seq, 1, 5000, 100); /* asked again: answered as stored */
    sma_msg_destroy(take(&w.agent, SMA_MSG_STEP_DONE));
    CHECK_INT(100, (int)input_used());
    control("a", "2", SMA_CONTROL_STOP);
    CHECK_INT(100, (int)input_used());
    CHECK_INT(100, (int)input_of(seq)); /* the steps are gone, the sum of the run is not */
}

int main(void)
{
    sma_state_vfs_set_hook(fail_when_full);
    check_run_cases(NULL);
    return check_summary();
}
