/*
 * Aim: killed at any write or sync while messages of two chats are accepted, worked on, stopped and
 * answered under budgets: what is reserved is what open messages hold, what was spent is what the
 * steps and ends used, each of them once.
 * Method: store_death.h. The agent of the story does each step once; what it was not answered it
 * does again, as it is.
 */
#include "budget_support.h"
#include "store_death.h"

#define STEP_TOKENS 100
#define DONE_TOKENS 50

static struct world w;
static struct heard
{
    uint32_t done;
} * heard;

static bool work(void)
{
    struct sma_msg *msg = next_run(&w);
    if (msg == NULL)
        return false;
    uint64_t seq = SMA_MSG_BODY(msg, struct sma_run_order)->seq;
    uint32_t stored = SMA_MSG_BODY(msg, struct sma_run_order)->step_count;
    sma_msg_destroy(msg);
    for (uint32_t number = stored + 1; number <= 2; number++) {
        use_step(&w, seq, number, STEP_TOKENS);
        use_step(&w, seq, number, STEP_TOKENS); /* asked again */
        run(&w);
        CHECK_INT(SMA_BUDGET_NONE, step_over(&w).scope);
        CHECK_INT(SMA_BUDGET_NONE, step_over(&w).scope);
        check_shares(&w);
    }
    use_done(&w, seq, DONE_TOKENS, SMA_OUTCOME_OK);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    heard->done++;
    check_shares(&w);
    return true;
}

static void say_all(void)
{
    say(&w, "a", "1", "question");
    say(&w, "a", "2", "behind it");
    say(&w, "b", "3", "elsewhere");
    run(&w);
    drop_kept(&w.test);
    check_shares(&w);
}

static void configure(void)
{
    w.config.budgets = (struct sma_config_budgets){.person = {.tokens_day = 100000, .runs_day = 50},
                                                   .total = {.tokens_month = 1000000}};
    w.config.agent_concurrency = 2;
}

static void play(void)
{
    open_world(&w);
    say_all();
    while (work())
        continue;
    stop_world(&w);
    close_system(&w);
}

static void play_to_the_end(void)
{
    open_world(&w);
    check_shares(&w);
    check_spent(&w);
    say_all(); /* the platform delivers again */
    while (work())
        continue;
    CHECK_INT(0, (long long)ask_db(&w, "SELECT count(*) FROM shares"));
    check_spent(&w);
    CHECK_INT(3 * (2 * STEP_TOKENS + DONE_TOKENS),
              (long long)ask_db(&w, "SELECT tokens FROM spent WHERE scope=4"));
    CHECK_INT(3, (long long)ask_db(&w, "SELECT runs FROM spent WHERE scope=4"));
    end_world(&w);
}

static void take_memory(void *memory)
{
    heard = memory;
}

static void check_alive(void)
{
    CHECK_INT(3, (int)heard->done);
}

int main(int argc, char **argv)
{
    static const struct store_death story = {.world = &w,
                                             .take = take_memory,
                                             .memory_bytes = sizeof *heard,
                                             .configure = configure,
                                             .play = play,
                                             .play_to_the_end = play_to_the_end,
                                             .check_alive = check_alive};
    return die_everywhere(argc, argv, &story);
}
