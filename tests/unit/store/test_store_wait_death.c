/*
 * Aim: killed at any write or sync while a run waits for a model, twice, and is answered: the message is kept, it is answered
 * once, its use of models is counted once, and what was acknowledged as waiting does not run before its time.
 * Method: a child plays the story and dies at its n-th call below SQLite, for every n; it notes in shared memory what it
 * heard. The parent opens what is left and plays it to the end. An argument k looks at every k-th n only.
 */
#include "approval_support.h"

#include "actors/store_model.h"
#include "runtime/chat/state_vfs.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define WAIT_MS 5000

struct heard
{
    uint64_t seq; /* of the accepted message */
    uint32_t parked, answered, shown;
};

static struct world w;
static struct heard *heard;
static long calls_until_death;
static bool is_torn;

static enum sma_state_vfs_action die_at(enum sma_state_vfs_role role, enum sma_state_vfs_call call,
                                        bool is_wal)
{
    (void)role;
    (void)is_wal;
    if (--calls_until_death > 0)
        return SMA_STATE_VFS_PASS;
    return is_torn && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_TEAR_DIE : SMA_STATE_VFS_DIE;
}

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
    run(&w);
    CHECK_INT(SMA_STEP_DURABLE, verdict(&w, SMA_MSG_DONE_DONE));
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
        if (w.store->wait_count > 0 && !w.store->wait_first->is_due)
            CHECK_INT(0, (int)count_kept(&w.agent, SMA_MSG_RUN)); /* not before its time */
        (void)work();
        pass(&w, 1 + WAIT_MS / 1000 / 2);
    }
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(w.store->state, heard->seq, &head));
    CHECK_INT(SMA_ROW_DONE, head.state);
    CHECK(heard->answered <= 2 && heard->shown >= 1 && heard->shown <= 2);
    CHECK_INT(0, (int)w.store->wait_count);
    CHECK_INT(0, (int)w.store->runs_open);
    CHECK_INT(1, count_of(history(&w, "test%3Achat%3Aa"), "the answer"));
    CHECK(strstr(query(&w, SMA_QUERY_USAGE, ""), "\"total\":{\"requests\":2,\"input\":20,") !=
          NULL);
    end_world(&w);
}

/* @return false: the child came to the end alive */
static bool die_and_go_on(long at, bool is_half)
{
    memset(heard, 0, sizeof *heard);
    make_world(&w);
    open_world(&w); /* the schema and the first marks are not the story */
    stop_world(&w);
    close_system(&w);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        calls_until_death = at;
        is_torn = is_half;
        sma_state_vfs_set_hook(die_at);
        play();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    bool is_dead = WEXITSTATUS(status) == SMA_STATE_VFS_EXIT_STATUS;
    CHECK(is_dead || WEXITSTATUS(status) == 0);
    if (is_dead) {
        play_to_the_end();
    } else {
        CHECK(heard->parked == 2 && heard->answered == 1 && heard->shown == 1);
        remove_tree(w.dir);
    }
    return is_dead;
}

static long stride = 1;

static void dead_at_every_call(void)
{
    long deaths = 0;
    for (long at = 1; die_and_go_on(at, at % 2 == 0); at += stride)
        deaths++;
    CHECK(deaths > 5);
    fprintf(stderr, "   %ld deaths\n", deaths);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        stride = strtol(argv[1], NULL, 10);
    heard = mmap(NULL, sizeof *heard, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(heard != MAP_FAILED);
    RUN(dead_at_every_call);
    munmap(heard, sizeof *heard);
    return check_summary();
}
