/*
 * Aim: killed at any write or sync while a run waits for a model, twice, and is answered: the
 * message is kept, it is answered once, its use of models is counted once, and what was
 * acknowledged as waiting does not run before its time.
 * Method: store_death.h.
 */
#include "store_death.h"

#include "actors/store/runs_priv.h"

#define WAIT_MS 5000

struct heard
{
    uint64_t seq; /* of the accepted message */
    uint32_t parked, answered, shown;
};

static struct world w;
static struct heard *heard;

static void wait_step(uint64_t seq, uint32_t number)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_STEP, struct sma_step, 256);
    struct sma_step *body = SMA_MSG_BODY(msg, struct sma_step);
    body->seq = seq;
    body->number = number;
    body->kind = SMA_STEP_WAIT;
    body->data = sma_msg_dup(msg, SMA_STR("wait"));
    body->wait_ms = WAIT_MS;
    body->usage = (struct sma_usage){.request_count = 1, .input = 10};
    body->target = sma_msg_dup(msg, SMA_STR("t"));
    ask_as_agent(&w, msg);
    run(&w);
    CHECK_INT(SMA_STEP_PARKED, verdict(&w, SMA_MSG_STEP_DONE));
    heard->parked++;
}

static void answer_run(uint64_t seq)
{
    const struct delivery row = {.key = CHAT_A, .text = "the answer"};
    done(&w, seq, "the answer", &row, 1);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    heard->answered++;
}

static void show(void)
{
    for (struct sma_msg *msg; (msg = deliver(&w)) != NULL; run(&w)) {
        const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
        CHECK(heard->shown == 0 || body->is_repeat); /* once more only where nobody can know */
        heard->shown++;
        receipt(&w, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                          .part_count = 1,
                                          .state = SMA_DELIVERY_SENT,
                                          .is_final = true});
        sma_msg_destroy(msg);
    }
}

/* What the agent does with a RUN: it waits twice, then it answers. @return whether there was one */
static bool work(void)
{
    struct sma_msg *msg = next_run(&w);
    if (msg == NULL)
        return false;
    const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
    uint64_t seq = order->seq;
    uint32_t step_count = order->step_count;
    CHECK(!order->is_decided && step_count <= 2);
    CHECK(step_count >= heard->parked); /* what was acknowledged is there */
    for (uint32_t i = 0; i < step_count; i++)
        CHECK_INT(SMA_STEP_WAIT, order->steps[i].kind);
    sma_msg_destroy(msg);
    if (step_count < 2)
        wait_step(seq, step_count + 1);
    else
        answer_run(seq);
    show();
    return true;
}

static void say_it(void)
{
    say(&w, "a", "1", "question");
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK(heard->seq == 0 || heard->seq == answer.seq);
    heard->seq = answer.seq;
}

static void play(void)
{
    open_world(&w);
    say_it();
    for (int i = 0; i < 10; i++) {
        (void)work();
        pass(&w, 1 + WAIT_MS / 1000 / 2);
    }
    stop_world(&w);
    close_system(&w);
}

static void play_to_the_end(void)
{
    open_world(&w);
    say_it(); /* the platform delivers again */
    show();
    for (int i = 0; i < 10; i++) {
        if (w.store->runs->wait_count > 0 && !w.store->runs->wait_first->is_due)
            CHECK_INT(0, (int)count_kept(&w.agent, SMA_MSG_RUN)); /* not before its time */
        (void)work();
        pass(&w, 1 + WAIT_MS / 1000 / 2);
    }
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, heard->seq, &head));
    CHECK_INT(SMA_ROW_DONE, head.state);
    CHECK(heard->answered <= 2 && heard->shown >= 1 && heard->shown <= 2);
    CHECK_INT(0, (int)w.store->runs->wait_count);
    CHECK_INT(0, (int)w.store->runs->open_count);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "the answer"));
    CHECK(strstr(query(&w, SMA_QUERY_USAGE, ""), "\"total\":{\"requests\":2,\"input\":20,") !=
          NULL);
    end_world(&w);
}

static void take_memory(void *memory)
{
    heard = memory;
}

static void check_alive(void)
{
    CHECK(heard->parked == 2 && heard->answered == 1 && heard->shown == 1);
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
