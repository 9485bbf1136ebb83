/*
 * Aim: whatever order people write, stop, crash and change the configuration in: the sum of what is
 *      reserved is what open messages hold, and what was spent is what the durable steps used.
 * Method: acts drawn from a seed; the store actor alone, killed between and within batches. A seed
 *         as argument plays that one; "FROM COUNT" a range.
 */
#include "budget_support.h"

static struct world w;
static uint64_t chance;
static uint64_t spent, refused_count, crash_count;

static uint64_t draw(uint64_t below)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (chance >> 33) % below;
}

/* What the agent of this life has. */
static struct open_run
{
    uint64_t seq;
    uint32_t next;
} runs[64];
static uint32_t run_count, message_count;

static void draw_budgets(void)
{
    struct sma_config_budgets budgets = {.exempts_owners = draw(4) == 0};
    budgets.person.runs_day = draw(2) * (int64_t)(1 + draw(20));
    budgets.chat.tokens_day = draw(2) * (int64_t)(1000 + draw(50000));
    budgets.platform.cost_month = (double)draw(2) * (double)draw(100) * 1e-5;
    budgets.total.tokens_month = 1 + (int64_t)draw(500000); /* on in any case */
    w.config.budgets = budgets;
    w.config.per_person_per_minute = (int)(draw(3) * draw(5));
    w.config.queue_mode = (uint8_t)draw(3);
}

static void take_runs(void)
{
    for (struct sma_msg *msg; (msg = next_run(&w)) != NULL;) {
        const struct sma_run_order *order = SMA_MSG_BODY(msg, struct sma_run_order);
        CHECK(run_count < SMA_COUNT_OF(runs));
        runs[run_count++] = (struct open_run){.seq = order->seq, .next = order->step_count + 1};
        sma_msg_destroy(msg);
    }
}

static void say_something(void)
{
    char id[16], chat[4], user[4];
    snprintf(id, sizeof id, "%u", message_count++);
    snprintf(chat, sizeof chat, "%u", (unsigned)draw(4));
    snprintf(user, sizeof user, "u%u", (unsigned)draw(3));
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = chat,
                                  .id = id,
                                  .text = "q",
                                  .user = user,
                                  .kind = draw(12) == 0 ? SMA_EVENT_CONTROL : SMA_EVENT_MESSAGE,
                                  .control = SMA_CONTROL_STOP});
}

/* A step or the end of a run, told to a store that lives; what is durable is spent. */
static void work(void)
{
    if (run_count == 0)
        return;
    uint32_t at = (uint32_t)draw(run_count);
    struct open_run *open = &runs[at];
    uint64_t tokens = draw(5) == 0 ? 0 : 1 + draw(6000);
    bool is_end = draw(3) == 0;
    unsigned kind = is_end ? SMA_MSG_DONE_DONE : SMA_MSG_STEP_DONE;
    if (is_end)
        use_done(&w, open->seq, tokens, (uint8_t)(draw(2) * SMA_OUTCOME_FAILED));
    else
        use_step(&w, open->seq, open->next++, tokens);
    run(&w);
    int what = verdict(&w, kind);
    CHECK(what == SMA_STEP_DURABLE || what == SMA_STEP_STOPPED);
    if (what == SMA_STEP_DURABLE)
        spent += tokens;
    if (is_end || what == SMA_STEP_STOPPED)
        *open = runs[--run_count];
}

static void count_answers(void)
{
    for (struct sma_msg *msg; (msg = take(&w.test, SMA_MSG_ACCEPTED)) != NULL;) {
        refused_count += SMA_MSG_BODY(msg, struct sma_accepted)->over.scope != SMA_BUDGET_NONE;
        sma_msg_destroy(msg);
    }
    drop_kept(&w.test);
    drop_kept(&w.dispatcher);
}

static void check_all(void)
{
    check_shares(&w);
    check_spent(&w);
    CHECK_INT((long long)spent,
              (long long)ask_db(&w, "SELECT coalesce(sum(tokens),0) FROM spent WHERE scope=4"));
}

static void act(void)
{
    switch (draw(16)) {
    case 0:
        run_count = 0;
        crash_count++;
        if (draw(2) == 0)
            say_something(); /* on its way when it ends */
        crash_world(&w);
        break;
    case 1:
        draw_budgets();
        reload(&w);
        break;
    case 2:
        sma_sim_shift_wall(w.system, (int64_t)draw(40) * 3600000 - 3600000);
        break;
    case 3:
        sma_sim_advance(w.system, draw(90) * SECOND);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        say_something();
        if (draw(2) == 0)
            say_something(); /* in one batch */
        break;
    default:
        work();
        break;
    }
    run(&w);
    take_runs();
    drop_kept(&w.agent);
    count_answers();
    check_all();
}

static void play(uint64_t seed)
{
    chance = seed * 77 + 1;
    spent = run_count = message_count = 0;
    make_world(&w);
    w.seed = seed;
    w.config.agent_concurrency = (int)(1 + draw(4));
    draw_budgets();
    open_world(&w);
    for (unsigned i = 0; i < 150; i++)
        act();
    end_world(&w);
}

static uint64_t first = 1, count = 12;

CASE(sums_hold_in_any_order)
{
    for (uint64_t seed = first; seed < first + count; seed++) {
        fprintf(stderr, "   seed %llu\n", (unsigned long long)seed);
        play(seed);
    }
    CHECK(refused_count > 0 && crash_count > 0);
}

int main(int argc, char **argv)
{
    set_zone("UTC");
    if (argc > 1)
        first = strtoull(argv[1], NULL, 10);
    if (argc > 1)
        count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    check_run_cases(NULL);
    return check_summary();
}
