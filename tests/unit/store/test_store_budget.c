/*
 * Aim: budgets hold: what may begin reserves a share, what was used is counted once, what is over
 *      is said once, whatever the clock, a crash or a change of the configuration does.
 * Method: the store actor under virtual time between actors that keep what they get; sums of the
 *         database against those in memory and against usage.
 */
#include "budget_support.h"

static struct world w;

static void begin_world(const struct sma_config_budgets *budgets, int per_minute)
{
    make_world(&w);
    w.config.agent_concurrency = 8;
    if (budgets != NULL)
        w.config.budgets = *budgets;
    w.config.per_person_per_minute = per_minute;
    open_world(&w);
    (void)said(&w);
}

static struct sma_accepted say_now(const char *chat, const char *id, const char *user)
{
    (void)say_as(&w, TEST,
                 &(struct saying){.chat = chat, .id = id, .text = "question", .user = user});
    run(&w);
    return accepted(&w.test);
}

static void refused(const char *chat, const char *id, const char *user, unsigned scope)
{
    struct sma_accepted answer = say_now(chat, id, user);
    CHECK_INT(SMA_VERDICT_BUSY, answer.verdict);
    CHECK_INT((int)scope, answer.over.scope);
    CHECK(answer.seq != 0 && answer.retry_after_ms > 0);
    CHECK(run_seq(&w) == 0);
}

static uint64_t begins(const char *chat, const char *id, const char *user)
{
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_now(chat, id, user).verdict);
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    return seq;
}

static void ends(uint64_t seq, uint64_t tokens)
{
    use_done(&w, seq, tokens, SMA_OUTCOME_OK);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    check_shares(&w);
}

AFTER_EACH(end_world(&w))

/* -- over it ----------------------------------------------------------------------------------- */
CASE(what_is_over_is_recorded_and_told_once)
{
    begin_world(&(struct sma_config_budgets){.person.tokens_day = 10000}, 0);
    ends(begins("a", "1", "u1"), 10000);
    refused("a", "2", "u1", SMA_BUDGET_PERSON);
    CHECK_TEXT("Your budget for today is used up (tokens). I have noted this message and will not "
               "answer it. The budget is renewed in 24 hours.",
               said(&w));
    refused("a", "3", "u1", SMA_BUDGET_PERSON);
    refused("b", "4", "u1", SMA_BUDGET_PERSON);
    CHECK_TEXT("", said(&w));
    ends(begins("a", "5", "u2"), 1); /* others have theirs */
    crash_world(&w);
    refused("a", "6", "u1", SMA_BUDGET_PERSON); /* told before the crash */
    CHECK_TEXT("", said(&w));
    check_spent(&w);
}

CASE(each_scope_and_each_kind_counts)
{
    const struct
    {
        struct sma_config_budgets budgets;
        unsigned scope, kind;
        const char *chat, *user; /* who is refused, too */
    } cases[] = {
        {{.person.runs_day = 1}, SMA_BUDGET_PERSON, SMA_BUDGET_RUNS, "b", "u1"},
        {{.chat.tokens_month = 100}, SMA_BUDGET_CHAT, SMA_BUDGET_TOKENS, "a", "u2"},
        {{.platform.cost_day = 1e-6}, SMA_BUDGET_PLATFORM, SMA_BUDGET_COST, "c", "u3"},
        {{.total.runs_month = 1}, SMA_BUDGET_TOTAL, SMA_BUDGET_RUNS, "c", "u3"},
        {{.total.tokens_day = 100}, SMA_BUDGET_TOTAL, SMA_BUDGET_TOKENS, "c", "u3"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        begin_world(&cases[i].budgets, 0);
        ends(begins("a", "1", "u1"), 100);
        struct sma_accepted answer = say_now(cases[i].chat, "2", cases[i].user);
        CHECK_INT(SMA_VERDICT_BUSY, answer.verdict);
        CHECK_INT((int)cases[i].scope, answer.over.scope);
        CHECK_INT((int)cases[i].kind, answer.over.kind);
        bool is_free = cases[i].scope == SMA_BUDGET_PERSON || cases[i].scope == SMA_BUDGET_CHAT;
        if (is_free)
            ends(begins("z", "3", "u9"), 1);
        check_spent(&w);
        end_world(&w);
    }
}

CASE(commands_still_work_and_tell_what_is_left)
{
    begin_world(&(struct sma_config_budgets){.person = {.tokens_day = 1000, .runs_month = 1}}, 0);
    ends(begins("a", "1", NULL), 400);
    refused("a", "2", NULL, SMA_BUDGET_PERSON);
    CHECK(strstr(said(&w), "this month is used up (number of tasks)") != NULL);
    command(&w, "a", "3", SMA_CONTROL_USAGE);
    expect_accepted(&w);
    const char *text = said(&w);
    CHECK(strstr(text, "This chat: today 1 requests and 400 tokens") != NULL);
    CHECK(strstr(text, "You: today 1 requests and 400 tokens") != NULL);
    CHECK(strstr(text, "Your budget for today: 600 of 1000 left (tokens)") != NULL);
    CHECK(strstr(text, "Your budget for this month: 0 of 1 left (number of tasks)") != NULL);
    command(&w, "a", "4", SMA_CONTROL_STOP);
    expect_accepted(&w);
}

/* It is a message like any other, and over a budget the conversation stays as it is. */
CASE(a_retry_counts_as_the_message_that_it_is)
{
    for (int has_budget = 0; has_budget <= 1; has_budget++) {
        begin_world(has_budget ? &(struct sma_config_budgets){.person.runs_day = 2} : NULL,
                    has_budget ? 0 : 2);
        ends(begins("a", "1", NULL), 100);
        command(&w, "a", "2", SMA_CONTROL_RETRY);
        run(&w);
        uint64_t again = run_seq(&w);
        CHECK(again != 0);
        ends(again, 100);
        CHECK_INT(1, (long long)ask_db(&w, "SELECT count(*) FROM turns"));
        (void)said(&w);
        command(&w, "a", "3", SMA_CONTROL_RETRY);
        run(&w);
        CHECK(run_seq(&w) == 0);
        CHECK(strstr(said(&w), has_budget ? "today is used up (number of tasks)" : "minute") !=
              NULL);
        CHECK_INT(1, (long long)ask_db(&w, "SELECT count(*) FROM turns"));
        end_world(&w);
    }
}

CASE(owners_are_exempt_if_they_want)
{
    begin_world(&(struct sma_config_budgets){.total.runs_day = 1, .exempts_owners = true}, 0);
    w.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    reload(&w);
    ends(begins("a", "1", "u1"), 100);
    refused("a", "2", "u1", SMA_BUDGET_TOTAL);
    ends(begins("b", "3", "boss"), 100);
    ends(begins("b", "4", "boss"), 100);
    CHECK_INT(300, (long long)ask_db(&w, "SELECT tokens FROM spent WHERE scope=4")); /* counted */
    w.config.budgets.exempts_owners = false;
    reload(&w);
    refused("b", "5", "boss", SMA_BUDGET_TOTAL);
}

/* -- shares ------------------------------------------------------------------------------------ */
CASE(messages_at_once_share_what_there_is)
{
    begin_world(&(struct sma_config_budgets){.total.tokens_day = 5000}, 0);
    uint64_t first = begins("a", "1", "u1"); /* 2000 each, the last one what is left */
    uint64_t second = begins("b", "2", "u2");
    uint64_t third = begins("c", "3", "u3");
    CHECK_INT(5000, (long long)w.store->budget->total.sum.tokens);
    refused("d", "4", "u4", SMA_BUDGET_TOTAL);
    check_shares(&w);
    ends(first, 500); /* took less: the others may have it */
    uint64_t fourth = begins("d", "5", "u4");
    CHECK_INT(4500, (long long)w.store->budget->total.sum.tokens);
    ends(second, 500);
    ends(third, 500);
    ends(fourth, 500);
    CHECK_INT(0, (long long)w.store->budget->total.sum.tokens);
    check_spent(&w);
}

CASE(a_share_shrinks_by_what_is_used)
{
    begin_world(&(struct sma_config_budgets){.chat = {.tokens_day = 100000, .runs_day = 5}}, 0);
    uint64_t seq = begins("a", "1", NULL);
    CHECK_INT(2000, (long long)ask_db(&w, "SELECT tokens FROM shares"));
    use_step(&w, seq, 1, 700);
    run(&w);
    CHECK_INT(SMA_BUDGET_NONE, step_over(&w).scope);
    CHECK_INT(1300, (long long)ask_db(&w, "SELECT tokens FROM shares"));
    CHECK_INT(0, (long long)ask_db(&w, "SELECT runs FROM shares"));
    CHECK_INT(1, (long long)ask_db(&w, "SELECT runs FROM spent WHERE scope=2"));
    use_step(&w, seq, 1, 700); /* asked again: counted once */
    use_step(&w, seq, 2, 1500);
    run(&w);
    CHECK_INT(0, (long long)ask_db(&w, "SELECT tokens FROM shares"));
    check_shares(&w);
    check_spent(&w);
    crash_world(&w);
    check_shares(&w);
    check_spent(&w);
    CHECK(run_seq(&w) == seq);
    ends(seq, 10);
    CHECK_INT(0, (long long)ask_db(&w, "SELECT count(*) FROM shares"));
    CHECK_INT(1, (long long)ask_db(&w, "SELECT runs FROM spent WHERE scope=2"));
    check_spent(&w);
}

CASE(a_chat_reserves_what_its_runs_usually_take)
{
    begin_world(&(struct sma_config_budgets){.chat.tokens_day = 100000}, 0);
    ends(begins("a", "1", NULL), 20000);
    uint64_t again = begins("a", "2", NULL);
    CHECK_INT(20000, (long long)w.store->budget->total.sum.tokens);
    ends(again, 20000);
    uint64_t other = begins("b", "3", NULL); /* nothing is known of it: as others */
    CHECK_INT(20000, (long long)w.store->budget->total.sum.tokens);
    ends(other, 5);
}

CASE(what_is_cancelled_gives_its_share_back)
{
    begin_world(&(struct sma_config_budgets){.person.runs_day = 3}, 0);
    uint64_t seq = begins("a", "1", NULL);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_now("a", "2", NULL).verdict); /* waits */
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_now("a", "3", NULL).verdict);
    refused("a", "4", NULL, SMA_BUDGET_PERSON);
    CHECK_INT(3, (long long)w.store->budget->total.sum.runs);
    command(&w, "a", "5", SMA_CONTROL_STOP);
    expect_accepted(&w);
    CHECK_INT(0, (long long)w.store->budget->total.sum.runs);
    check_shares(&w);
    use_done(&w, seq, 300, SMA_OUTCOME_CANCELLED); /* what it had used by then, told later */
    run(&w);
    check_spent(&w);
    CHECK_INT(300, (long long)ask_db(&w, "SELECT tokens FROM spent WHERE scope=4"));
    drop_kept(&w.agent);
    (void)begins("a", "6", NULL);
    check_shares(&w);
}

CASE(collected_messages_are_one_run)
{
    begin_world(&(struct sma_config_budgets){.person.runs_day = 10}, 0);
    w.config.queue_mode = SMA_QUEUE_COLLECT;
    reload(&w);
    uint64_t first = begins("a", "1", NULL);
    for (unsigned i = 2; i < 6; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        CHECK_INT(SMA_VERDICT_ACCEPTED, say_now("a", id, NULL).verdict);
    }
    CHECK_INT(5, (long long)w.store->budget->total.sum.runs);
    ends(first, 10);
    CHECK_INT(1, (long long)w.store->budget->total.sum.runs); /* the rest is one run */
    uint64_t rest = run_seq(&w);
    CHECK(rest != 0);
    ends(rest, 10);
    CHECK_INT(2, (long long)ask_db(&w, "SELECT runs FROM spent WHERE scope=4"));
}

CASE(a_run_that_goes_over_is_told_with_its_step)
{
    begin_world(&(struct sma_config_budgets){.chat.tokens_day = 10000}, 0);
    uint64_t seq = begins("a", "1", NULL);
    use_step(&w, seq, 1, 9999);
    run(&w);
    CHECK_INT(SMA_BUDGET_NONE, step_over(&w).scope);
    use_step(&w, seq, 2, 5000);
    run(&w);
    struct sma_budget_over over = step_over(&w);
    CHECK_INT(SMA_BUDGET_CHAT, over.scope);
    CHECK_INT(SMA_BUDGET_TOKENS, over.kind);
    CHECK(over.left_ms > 0);
    crash_world(&w);
    struct sma_msg *msg = next_run(&w); /* and again when it comes back */
    CHECK(msg != NULL);
    CHECK_INT(SMA_BUDGET_CHAT, SMA_MSG_BODY(msg, struct sma_run_order)->over.scope);
    sma_msg_destroy(msg);
}

CASE(what_others_have_reserved_is_theirs)
{
    begin_world(&(struct sma_config_budgets){.total.tokens_day = 4000}, 0);
    uint64_t first = begins("a", "1", "u1"), second = begins("b", "2", "u2");
    use_step(&w, first, 1, 1999);
    run(&w);
    CHECK_INT(SMA_BUDGET_NONE, step_over(&w).scope);
    use_step(&w, first, 2, 1);
    run(&w);
    CHECK_INT(SMA_BUDGET_TOTAL, step_over(&w).scope); /* 2000 are the second's */
    ends(first, 0);
    use_step(&w, second, 1, 1999);
    run(&w);
    CHECK_INT(SMA_BUDGET_NONE, step_over(&w).scope);
    ends(second, 0);
}

/* One sync, as without budgets; so many more rows are written. */
CASE(a_batch_has_one_sync)
{
    struct sma_state_counts before, after;
    begin_world(&(struct sma_config_budgets){.person.tokens_day = 100000}, 0);
    ends(begins("a", "0", NULL), 10);
    sma_state_counts(w.store->state, &before);
    for (unsigned i = 1; i < 8; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        say(&w, id, id, "question");
    }
    run(&w);
    sma_state_counts(w.store->state, &after);
    CHECK(after.commits > before.commits);
    CHECK_INT((long long)(after.commits - before.commits),
              (long long)(after.wal_syncs - before.wal_syncs));
    CHECK_INT(7, (long long)ask_db(&w, "SELECT count(*) FROM shares"));
}

/* /compact asks the model, too. */
CASE(a_command_that_runs_needs_a_share)
{
    begin_world(&(struct sma_config_budgets){.person.runs_day = 1}, 0);
    ends(begins("a", "1", NULL), 10);
    command(&w, "a", "2", SMA_CONTROL_COMPACT);
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_BUSY, answer.verdict);
    CHECK_INT(SMA_BUDGET_RUNS, answer.over.kind);
}

/* -- clocks ------------------------------------------------------------------------------------ */
CASE(a_day_ends_at_local_midnight)
{
    set_zone("Asia/Shanghai");
    begin_world(&(struct sma_config_budgets){.chat.runs_day = 1}, 0);
    set_clock(&w, 2026, 11, 23, 23, 30);
    ends(begins("a", "1", NULL), 10);
    struct sma_accepted answer = say_now("a", "2", NULL);
    CHECK(answer.over.left_ms > 29 * 60000 && answer.over.left_ms <= 30 * 60000);
    CHECK_TEXT("The budget of this chat for today is used up (number of tasks). I have noted this "
               "message and will not answer it. The budget is renewed in 30 minutes.",
               said(&w));
    set_clock(&w, 2026, 11, 24, 0, 0);
    ends(begins("a", "3", NULL), 10);
    refused("a", "4", NULL, SMA_BUDGET_CHAT);
    CHECK(strstr(said(&w), "in 24 hours") != NULL); /* a new day, a new notice */
    set_clock(&w, 2026, 11, 23, 12, 0);             /* set back: that day is used up */
    refused("a", "5", NULL, SMA_BUDGET_CHAT);
    set_clock(&w, 2026, 11, 25, 12, 0);
    ends(begins("a", "6", NULL), 10);
    end_world(&w);
    set_zone("UTC");
}

CASE(a_month_is_one_of_the_calendar)
{
    set_zone("America/Sao_Paulo");
    begin_world(&(struct sma_config_budgets){.chat.tokens_month = 3000}, 0);
    set_clock(&w, 2027, 2, 1, 0, 0);
    ends(begins("a", "1", NULL), 1500);
    set_clock(&w, 2027, 2, 28, 23, 59);
    ends(begins("a", "2", NULL), 1500);
    refused("a", "3", NULL, SMA_BUDGET_CHAT);
    set_clock(&w, 2027, 2, 14, 0, 0); /* days of this month that are still to come count, too */
    refused("a", "4", NULL, SMA_BUDGET_CHAT);
    set_clock(&w, 2027, 3, 1, 0, 0);
    ends(begins("a", "5", NULL), 10);
    end_world(&w);
    set_zone("UTC");
}

CASE(a_day_of_another_length_is_one_day)
{
    const struct
    {
        const char *zone;
        int month, day, hours;
    } days[] = {{"Europe/Berlin", 3, 29, 23},
                {"Europe/Berlin", 10, 25, 25},
                {"Africa/Cairo", 4, 24, 23},
                {"Australia/Lord_Howe", 1, 5, 24}};
    for (size_t i = 0; i < SMA_COUNT_OF(days); i++) {
        set_zone(days[i].zone);
        begin_world(&(struct sma_config_budgets){.chat.runs_day = 1}, 0);
        struct sma_local_day day;
        set_clock(&w, 2026, days[i].month, days[i].day, 12, 0);
        sma_local_day_find(sma_ctx_wall(sma_system_ctx(w.system, SMA_ACTOR_STORE)), &day);
        CHECK_INT(days[i].hours, (long long)(day.until_ms - day.from_ms) / 3600000);
        sma_sim_shift_wall(w.system,
                           day.from_ms - sma_ctx_wall(sma_system_ctx(w.system, SMA_ACTOR_STORE)));
        ends(begins("a", "1", NULL), 10);
        sma_sim_shift_wall(w.system, day.until_ms - 2000 -
                                         sma_ctx_wall(sma_system_ctx(w.system, SMA_ACTOR_STORE)));
        refused("a", "2", NULL, SMA_BUDGET_CHAT);
        sma_sim_shift_wall(w.system,
                           day.until_ms - sma_ctx_wall(sma_system_ctx(w.system, SMA_ACTOR_STORE)));
        ends(begins("a", "3", NULL), 10);
        end_world(&w);
    }
    set_zone("UTC");
}

CASE(a_run_over_midnight_counts_where_it_ends)
{
    begin_world(&(struct sma_config_budgets){.chat = {.tokens_day = 5000, .runs_day = 1}}, 0);
    set_clock(&w, 2026, 11, 23, 23, 59);
    uint64_t seq = begins("a", "1", NULL);
    set_clock(&w, 2026, 11, 24, 0, 1);
    CHECK_INT(SMA_VERDICT_BUSY,
              say_now("a", "2", NULL).verdict); /* what it holds is of today now */
    ends(seq, 100);
    CHECK_INT(1, (long long)ask_db(&w, "SELECT count(*) FROM spent WHERE scope=4"));
    refused("a", "3", NULL, SMA_BUDGET_CHAT);
}

/* -- the configuration ------------------------------------------------------------------------- */
CASE(without_budgets_nothing_is_written)
{
    begin_world(NULL, 0);
    ends(begins("a", "1", NULL), 1000);
    CHECK_INT(0, (long long)ask_db(&w, "SELECT (SELECT count(*) FROM spent)+(SELECT count(*) FROM "
                                       "shares)"));
    CHECK_INT(0, (long long)ask_db(&w, "SELECT count(*) FROM meta WHERE name LIKE 'budget%'"));
    /* Nor looked up: these statements were never prepared. */
    static const enum sma_state_sql statements[] = {
        SMA_SQL_SPENT_ADD,           SMA_SQL_SPENT_SET,          SMA_SQL_SPENT_SUM,
        SMA_SQL_SPENT_CLEAR,         SMA_SQL_SHARE_SET,          SMA_SQL_SHARE_REMOVE,
        SMA_SQL_USAGE_OF_PERSON,     SMA_SQL_SPENT_FILL_PERSONS, SMA_SQL_SPENT_FILL_CHATS,
        SMA_SQL_SPENT_FILL_PLATFORMS};
    for (size_t i = 0; i < SMA_COUNT_OF(statements); i++)
        CHECK(w.store->state->statements[statements[i]] == NULL);
}

CASE(what_was_used_before_counts)
{
    begin_world(NULL, 0);
    ends(begins("a", "1", "u1"), 1000);
    uint64_t open = begins("b", "2", "u2");
    w.config.budgets.person.tokens_day = 1000;
    reload(&w);
    refused("a", "3", "u1", SMA_BUDGET_PERSON);
    check_spent(&w);
    ends(open, 999); /* begun before */
    check_spent(&w);
    ends(begins("b", "4", "u2"), 1);
    refused("b", "5", "u2", SMA_BUDGET_PERSON);
    w.config.budgets.person.tokens_day = 0; /* off, and on again */
    reload(&w);
    ends(begins("a", "6", "u1"), 50);
    restart_world(&w);
    ends(begins("a", "7", "u1"), 50);
    w.config.budgets.person.tokens_day = 2000;
    reload(&w);
    check_spent(&w);
    CHECK_INT(1100, (long long)ask_db(&w, "SELECT tokens FROM spent WHERE scope=1 AND "
                                          "name='test:u1'"));
    ends(begins("a", "8", "u1"), 900);
    refused("a", "9", "u1", SMA_BUDGET_PERSON);
}

/* The table is filled by the transaction that brings usage: that stands in both. */
CASE(usage_that_comes_with_the_budgets_counts_once)
{
    begin_world(NULL, 0);
    uint64_t first = begins("a", "1", "u1"), second = begins("b", "2", "u2");
    use_step(&w, first, 1, 500);
    run(&w);
    w.config.budgets.total.tokens_day = 100000;
    sma_store_set_budgets(w.store); /* as RELOAD does, in the batch of the steps */
    use_step(&w, first, 2, 70);
    use_step(&w, second, 1, 8);
    run(&w);
    check_spent(&w);
    CHECK_INT(578, (long long)ask_db(&w, "SELECT tokens FROM spent WHERE scope=4"));
    CHECK_INT(1, (long long)ask_db(&w, "SELECT runs FROM spent WHERE scope=4"));
}

/* What came to the queue by another way than the door: paired, judged, from before the budgets. */
CASE(what_waits_without_a_share_asks_when_its_turn_comes)
{
    begin_world(NULL, 0);
    uint64_t first = begins("a", "1", "u1");
    uint64_t second = say_now("a", "2", "u1").seq, third = say_now("a", "3", "u1").seq;
    struct sma_state_head head;
    w.config.budgets.person.tokens_day = 1000;
    reload(&w);
    (void)said(&w);
    ends(first, 1000);
    CHECK(run_seq(&w) == 0);
    CHECK(strstr(said(&w), "Your budget for today is used up (tokens)") != NULL);
    CHECK_INT(1, (long long)ask_db(&w, "SELECT count(*) FROM outbox WHERE text LIKE "
                                       "'%is used up%'")); /* once for both */
    CHECK_OK(sma_state_head_get(w.store->state, second, &head));
    CHECK_INT(SMA_ROW_FAILED, head.state);
    CHECK_OK(sma_state_head_get(w.store->state, third, &head));
    CHECK_INT(SMA_ROW_FAILED, head.state);
    check_shares(&w);
    w.config.budgets.person.tokens_day = 2000;
    reload(&w);
    ends(begins("a", "4", "u1"), 10);
    check_spent(&w);
}

CASE(a_limit_that_is_raised_is_told_anew)
{
    begin_world(&(struct sma_config_budgets){.chat.runs_day = 1}, 0);
    ends(begins("a", "1", NULL), 10);
    refused("a", "2", NULL, SMA_BUDGET_CHAT);
    CHECK(said(&w)[0] != '\0');
    w.config.budgets.chat.runs_day = 2;
    reload(&w);
    ends(begins("a", "3", NULL), 10);
    refused("a", "4", NULL, SMA_BUDGET_CHAT);
    CHECK(said(&w)[0] != '\0');
    w.config.budgets = (struct sma_config_budgets){0};
    reload(&w);
    ends(begins("a", "5", NULL), 10);
}

/* -- too fast ---------------------------------------------------------------------------------- */
CASE(a_person_has_so_many_messages_a_minute)
{
    begin_world(NULL, 3);
    for (unsigned i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        ends(begins("a", id, "u1"), 1);
    }
    struct sma_accepted answer = say_now("b", "4", "u1");
    CHECK_INT(SMA_VERDICT_BUSY, answer.verdict);
    CHECK_INT(SMA_BUDGET_MESSAGES, answer.over.kind);
    CHECK_TEXT("You may send me 3 messages a minute. I have noted this one and will not answer it; "
               "please send it again in a minute.",
               said(&w));
    refused("a", "5", "u1", SMA_BUDGET_PERSON);
    CHECK_TEXT("", said(&w));
    ends(begins("a", "6", "u2"), 1); /* others may */
    command(&w, "a", "7", SMA_CONTROL_STATUS);
    expect_accepted(&w);
    (void)said(&w);
    run_for(&w, answer.retry_after_ms * UINT64_C(1000000));
    ends(begins("a", "8", "u1"), 1);
    CHECK_INT(0, (long long)ask_db(&w, "SELECT count(*) FROM spent"));
}

/* Never more than the limit in any minute, whatever the rhythm. */
CASE(no_minute_has_more)
{
    uint64_t taken[400], state = 7;
    unsigned count = 0;
    begin_world(NULL, 5);
    for (unsigned i = 0; i < 300; i++) {
        char id[8];
        state = state * 6364136223846793005u + 1;
        sma_sim_advance(w.system, (state >> 40) % 20 * SECOND);
        snprintf(id, sizeof id, "%u", i);
        uint64_t now = sma_sim_now(w.system);
        if (say_now("a", id, "u1").verdict != SMA_VERDICT_ACCEPTED)
            continue;
        if (count >= 5)
            CHECK(now + SECOND - taken[count - 5] >= 60 * SECOND);
        taken[count++] = now;
        uint64_t seq = run_seq(&w);
        ends(seq, 1);
        drop_kept(&w.dispatcher);
    }
    CHECK(count > 100);
}

/* -- many -------------------------------------------------------------------------------------- */
#define AT_ONCE 50u
CASE(ten_thousand_people_have_a_budget_each)
{
    const unsigned count = 10000;
    begin_world(&(struct sma_config_budgets){.person = {.tokens_day = 100, .tokens_month = 1000},
                                             .total.tokens_day = 100000000},
                600);
    w.config.agent_concurrency = AT_ONCE;
    reload(&w);
    for (unsigned i = 0; i < count; i++) {
        char id[16], user[16], chat[16];
        snprintf(id, sizeof id, "%u", i);
        snprintf(user, sizeof user, "u%u", i);
        snprintf(chat, sizeof chat, "%u", i % AT_ONCE);
        (void)say_as(&w, TEST, &(struct saying){.chat = chat, .id = id, .text = "q", .user = user});
        if ((i + 1) % AT_ONCE != 0)
            continue;
        run_for(&w, 1000000);
        for (uint64_t seq; (seq = run_seq(&w)) != 0;)
            use_done(&w, seq, 100, SMA_OUTCOME_OK);
        run_for(&w, 1000000);
        for (unsigned k = 0; k < AT_ONCE; k++)
            CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&w.test).verdict);
        drop_kept(&w.agent);
    }
    check_shares(&w);
    CHECK_INT(count, (long long)ask_db(&w, "SELECT count(*) FROM spent WHERE scope=1"));
    CHECK_INT(count * 100, (long long)ask_db(&w, "SELECT tokens FROM spent WHERE scope=4"));
    refused("h", "again", "u4711", SMA_BUDGET_PERSON);
}

/* -- damage ------------------------------------------------------------------------------------ */
static void damage(const char *sql)
{
    CHECK_INT(SQLITE_OK, sqlite3_exec(w.store->state->db, sql, NULL, NULL, NULL));
}

/* A row of shares that no program has written costs its own message at most. */
CASE(a_damaged_share_costs_nobody_else)
{
    static const char *const damages[] = {
        "UPDATE shares SET tokens=-1,cost=-1,runs=-1 WHERE person='test:u1'",
        "UPDATE shares SET tokens=9223372036854775807,cost=9223372036854775807 WHERE "
        "person='test:u1'",
        "UPDATE shares SET tokens=1e300,cost='much',runs=x'ff' WHERE person='test:u1'"};
    for (size_t i = 0; i < SMA_COUNT_OF(damages); i++) {
        begin_world(&(struct sma_config_budgets){.person.tokens_day = 10000}, 0);
        uint64_t first = begins("a", "1", "u1"), second = begins("b", "2", "u2");
        damage(damages[i]);
        restart_world(&w);
        CHECK(run_seq(&w) == first && run_seq(&w) == second);
        use_done(&w, second, 100, SMA_OUTCOME_OK);
        expect_durable(&w, SMA_MSG_DONE_DONE);
        use_done(&w, first, 100, SMA_OUTCOME_OK);
        expect_durable(&w, SMA_MSG_DONE_DONE);
        check_shares(&w);
        ends(begins("b", "3", "u2"), 10);
        end_world(&w);
    }
}

/* Nor does a row of what was spent, or a server that counts without end. */
CASE(a_damaged_sum_costs_nobody_else)
{
    begin_world(&(struct sma_config_budgets){.person.tokens_month = 1000000,
                                             .total.tokens_month = INT64_C(1) << 60},
                0);
    for (int day = 0; day < 3; day++)
        ends(begins("a", day == 0 ? "1" : day == 1 ? "2" : "3", "u1"), 10);
    damage("INSERT OR REPLACE INTO spent(scope,name,day,tokens,cost,runs) "
           "SELECT scope,name,day+1,9223372036854775807,9223372036854775807,9223372036854775807 "
           "FROM spent");
    damage("UPDATE spent SET tokens=9223372036854775807,cost=-5,runs=9223372036854775807 "
           "WHERE name='test:u1'");
    ends(begins("b", "5", "u2"), 10);
}

int main(void)
{
    set_zone("UTC");
    check_run_cases(NULL);
    return check_summary();
}
