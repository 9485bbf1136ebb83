/*
 * Aim: a summary takes the place of turns in one transaction, and nobody sees it again whose chat
 *      was cleared; /compact waits its turn like a message, over crashes, and only those give it
 *      who may.
 */
#include "store_support.h"

static struct world w;

static uint64_t begin_run(const char *id)
{
    say(&w, "a", id, "question");
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    CHECK(seq != 0 && run_seq(&w) == seq);
    return seq;
}

static void end_run(uint64_t seq)
{
    done(&w, seq, "x", NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    drop_kept(&w.dispatcher);
}

static void compact(uint64_t seq, uint64_t first, uint64_t below, const char *data)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 4096);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = 1;
    body->kind = SMA_STEP_COMPACTION;
    body->data = sma_msg_dup(msg, sma_str(data));
    body->past_first = first;
    body->past_below = below;
    ask_as_agent(&w, msg);
}

/* "past|seq;seq;" as the agent gets it. */
static const char *session(void)
{
    static char text[512];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_SESSION, struct sma_session_ask, 256);
    *SMA_MSG_BODY(msg, struct sma_session_ask) =
        (struct sma_session_ask){.chat_key = sma_msg_dup(msg, SMA_STR("test:chat:a")),
                                 .before_seq = UINT64_C(1) << 40,
                                 .turns_max = 1000,
                                 .bytes_max = 1 << 20};
    ask_as_agent(&w, msg);
    run(&w);
    msg = take(&w.agent, SMA_MSG_SESSION_TURNS);
    CHECK(msg != NULL);
    const struct sma_session_turns *turns = SMA_MSG_BODY(msg, struct sma_session_turns);
    int len = snprintf(text, sizeof text, "%.*s|", (int)turns->past.len, turns->past.ptr);
    for (uint32_t i = 0; i < turns->turn_count; i++)
        len +=
            snprintf(text + len, sizeof text - (size_t)len, "%u;", (unsigned)turns->turns[i].seq);
    sma_msg_destroy(msg);
    return text;
}

CASE(a_summary_takes_the_place_of_turns_whatever_ends_the_program)
{
    for (int is_durable = 0; is_durable < 2; is_durable++) {
        new_world(&w);
        for (int i = 1; i <= 3; i++)
            end_run(begin_run((const char *[]){"", "1", "2", "3"}[i]));
        uint64_t seq = begin_run("4");
        CHECK_TEXT("|1;2;3;", session());
        compact(seq, 1, 3, "summary");
        if (is_durable) {
            expect_durable(&w, SMA_MSG_STEP_DONE);
        }
        crash_world(&w);
        CHECK_TEXT(is_durable ? "summary|3;" : "|1;2;3;", session());
        struct sma_msg *msg = next_run(&w);
        CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_run_order)->has_past);
        CHECK_INT(is_durable, SMA_MSG_BODY(msg, struct sma_run_order)->step_count);
        sma_msg_destroy(msg);
        compact(seq, 1, 3, "summary"); /* asked again: the same */
        expect_durable(&w, SMA_MSG_STEP_DONE);
        CHECK_TEXT("summary|3;", session());
        end_run(seq);
        CHECK_TEXT("summary|3;4;", session());
        end_world(&w);
    }
}

CASE(a_cleared_chat_never_sees_its_summary_again)
{
    new_world(&w);
    end_run(begin_run("1"));
    uint64_t seq = begin_run("2");
    compact(seq, 1, 2, "summary");
    expect_durable(&w, SMA_MSG_STEP_DONE);
    end_run(seq);
    command(&w, "a", "c", SMA_CONTROL_CLEAR);
    run(&w);
    (void)accepted(&w.test);
    CHECK_TEXT("|", session());
    seq = begin_run("3"); /* it was begun with the session of before */
    compact(seq, 1, 2, "of before");
    expect_durable(&w, SMA_MSG_STEP_DONE);
    CHECK_TEXT("|", session());
    end_run(seq);
    restart_world(&w);
    CHECK_TEXT("|4;", session());
    end_world(&w);
}

/* -- /compact ---------------------------------------------------------------------------------- */
static void expect_command(uint64_t seq)
{
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL);
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    CHECK_INT(seq, order->seq);
    CHECK(order->is_compaction && order->collected_count == 0);
    CHECK_STR("/x", order->text);
    sma_msg_destroy(msg);
}

CASE(it_waits_its_turn_and_is_a_run_by_itself)
{
    static const enum sma_queue_mode modes[] = {SMA_QUEUE_SERIAL, SMA_QUEUE_COLLECT,
                                                SMA_QUEUE_STEER};
    for (size_t i = 0; i < SMA_COUNT_OF(modes); i++) {
        make_world(&w);
        w.config.queue_mode = modes[i];
        open_world(&w);
        command(&w, "a", "0", SMA_CONTROL_COMPACT);
        run(&w);
        uint64_t seq = accepted(&w.test).seq;
        expect_command(seq); /* at once: nothing runs */
        end_run(seq);
        uint64_t one = begin_run("1");
        command(&w, "a", "2", SMA_CONTROL_COMPACT);
        run(&w);
        seq = accepted(&w.test).seq;
        CHECK(take(&w.agent, SMA_MSG_STEER) == NULL && run_seq(&w) == 0);
        if (i == 1)
            crash_world(&w);
        else
            restart_world(&w);
        CHECK(run_seq(&w) == one);
        end_run(one);
        expect_command(seq);
        crash_world(&w);
        expect_command(seq); /* begun, and begun again */
        end_run(seq);
        CHECK(run_seq(&w) == 0);
        end_world(&w);
    }
}

CASE(in_a_group_it_is_for_those_who_may)
{
    new_world(&w);
    struct saying asks = {.chat = "g",
                          .id = "1",
                          .text = "/compact",
                          .kind = SMA_EVENT_CONTROL,
                          .control = SMA_CONTROL_COMPACT,
                          .addressed = SMA_ADDRESSED_MENTION,
                          .is_group = true,
                          .user = "bob",
                          .role = SMA_ROLE_ADMIN};
    (void)say_as(&w, TEST, &asks);
    run(&w);
    uint64_t seq = accepted(&w.test).seq;
    struct sma_msg *msg = next_run(&w);
    CHECK(msg != NULL && SMA_MSG_BODY(msg, struct sma_run_order)->is_compaction);
    sma_msg_destroy(msg);
    end_run(seq);
    asks.id = "2";
    asks.user = "eve";
    asks.role = SMA_ROLE_MEMBER;
    (void)say_as(&w, TEST, &asks);
    run(&w);
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

CASES_MAIN
