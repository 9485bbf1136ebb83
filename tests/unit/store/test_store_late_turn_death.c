/*
 * Aim: killed at any write or sync while a run is stopped and its turn comes late: the run stays
 * stopped once that was told, its turn is whole or not there, never twice and never behind a
 * /clear; what it used is counted once.
 * Method: store_death.h.
 */
#include "store_death.h"

#include "actors/store/runs_priv.h"

#define TURN "what was done until then"

struct heard
{
    uint64_t seq; /* of the accepted message */
    uint32_t stopped, kept, clearing, cleared;
};

static struct world w;
static struct heard *heard;

static void late_done(uint64_t seq)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DONE, struct sma_done, 4096);
    struct sma_done *body = SMA_MSG_BODY(msg, struct sma_done);
    body->seq = seq;
    body->outcome = SMA_OUTCOME_CANCELLED;
    body->tool_calls_json = SMA_STR("[]");
    body->turn = SMA_STR(TURN);
    body->wire = SMA_STR("chat h m");
    body->usage = (struct sma_usage){.request_count = 1, .input = 10};
    body->target = SMA_STR("t");
    ask_as_agent(&w, msg);
    run(&w);
    CHECK_INT(SMA_STEP_STOPPED, verdict(&w, SMA_MSG_DONE_DONE));
}

static void used_step(uint64_t seq)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = 1;
    body->kind = SMA_STEP_ANSWER;
    body->data = SMA_STR("step");
    body->usage = (struct sma_usage){.request_count = 1, .input = 10};
    body->target = SMA_STR("t");
    ask_as_agent(&w, msg);
    expect_durable(&w, SMA_MSG_STEP_DONE);
}

/* How often the turn stands in the session. */
static uint32_t turns(void)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_SESSION, struct sma_session_ask, 256);
    *SMA_MSG_BODY(msg, struct sma_session_ask) =
        (struct sma_session_ask){.chat_key = SMA_STR(CHAT_A),
                                 .before_seq = UINT64_C(1) << 40,
                                 .turns_max = 100,
                                 .bytes_max = 1 << 20};
    ask_as_agent(&w, msg);
    run(&w);
    msg = take(&w.agent, SMA_MSG_SESSION_TURNS);
    CHECK(msg != NULL);
    const struct sma_session_turns *list = SMA_MSG_BODY(msg, struct sma_session_turns);
    uint32_t count = list->turn_count;
    for (uint32_t i = 0; i < count; i++)
        CHECK_STR(TURN, list->turns[i].bytes);
    sma_msg_destroy(msg);
    return count;
}

static uint64_t input_used(void)
{
    const char *at = strstr(query(&w, SMA_QUERY_USAGE, ""), "\"input\":");
    CHECK(at != NULL);
    return strtoull(at + strlen("\"input\":"), NULL, 10);
}

static void say_it(void)
{
    say(&w, "a", "1", "question");
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK(heard->seq == 0 || heard->seq == answer.seq);
    heard->seq = answer.seq;
}

static void control(const char *id, enum sma_control control)
{
    command(&w, "a", id, control);
    run(&w);
    int answer = accepted(&w.test).verdict;
    CHECK(answer == SMA_VERDICT_ACCEPTED || answer == SMA_VERDICT_DUPLICATE);
}

static void play(void)
{
    open_world(&w);
    say_it();
    CHECK(run_seq(&w) == heard->seq);
    used_step(heard->seq);
    control("2", SMA_CONTROL_STOP);
    heard->stopped = 1;
    late_done(heard->seq);
    heard->kept = 1;
    heard->clearing = 1;
    control("3", SMA_CONTROL_CLEAR);
    heard->cleared = 1;
    stop_world(&w);
    close_system(&w);
}

static void play_to_the_end(void)
{
    open_world(&w);
    bool is_resumed = run_seq(&w) != 0;
    CHECK(!(is_resumed && heard->stopped));
    uint32_t count = turns();
    CHECK(count <= 1);
    CHECK(count == 1 || !heard->kept || heard->clearing);
    uint64_t used = input_used();
    CHECK(used == 0 || used == 10 || used == 20);
    CHECK(used == 20 || !heard->kept);
    CHECK(used >= 10 || !heard->stopped);
    CHECK(!heard->cleared || count == 0);
    say_it(); /* the platform delivers again */
    drop_kept(&w.agent);
    control("2", SMA_CONTROL_STOP);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, heard->seq, &head));
    CHECK_INT(SMA_ROW_CANCELLED, head.state);
    late_done(heard->seq);
    late_done(heard->seq);
    if (!heard->clearing)
        CHECK_INT((int)used + (count == 0 ? 10 : 0), (int)input_used());
    count = turns();
    CHECK(count == 1 || heard->clearing);
    control("3", SMA_CONTROL_CLEAR);
    CHECK_INT(0, (int)turns());
    late_done(heard->seq);
    crash_world(&w);
    CHECK_INT(0, (int)turns());
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

static void take_memory(void *memory)
{
    heard = memory;
}

static void check_alive(void)
{
    CHECK(heard->stopped == 1 && heard->kept == 1 && heard->cleared == 1);
}

int main(int argc, char **argv)
{
    static const struct store_death story = {.world = &w,
                                             .take = take_memory,
                                             .memory_bytes = sizeof *heard,
                                             .play = play,
                                             .play_to_the_end = play_to_the_end,
                                             .check_alive = check_alive};
    return die_everywhere(argc, argv, &story);
}
