/*
 * Aim: waits, learned refusals and sums of usage are kept, bounded, forgotten in time and undone
 *      with their transaction; a database of the version before gets the tables and keeps what it
 *      has.
 * Method: the state database alone; SQL to make an old file.
 */
#include "state_support.h"

#include "runtime/chat/state_model.h"
#include "sma/messages.h"

#include <sqlite3.h>

#define DAY_MS INT64_C(86400000)
#define NOW_MS (INT64_C(20000) * DAY_MS)

static struct fixture f;

static void execute(const char *sql)
{
    sqlite3 *db;
    CHECK_INT(SQLITE_OK, sqlite3_open(f.path, &db));
    CHECK_INT(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    CHECK_INT(SQLITE_OK, sqlite3_close(db));
}

static void begin(void)
{
    fixture_new(&f);
    CHECK_OK(sma_state_begin(f.state));
}

/* -- waits ------------------------------------------------------------------------------------- */
struct text
{
    char bytes[1 << 16];
    size_t len;
    unsigned count;
};
static struct text text;

static enum sma_err put_wait(void *user, const struct sma_state_wait *wait)
{
    struct text *to = user;
    to->len += (size_t)snprintf(to->bytes + to->len, sizeof to->bytes - to->len, "%llu:%lld/%lld;",
                                (unsigned long long)wait->run_seq, (long long)wait->due_ms,
                                (long long)wait->length_ms);
    return SMA_ERR_OK;
}

static const char *waits(void)
{
    text = (struct text){.len = 0};
    CHECK_OK(sma_state_each_wait(f.state, put_wait, &text));
    return text.bytes;
}

AFTER_EACH(fixture_fini(&f))

CASE(waits_are_kept_until_they_are_removed_or_swept)
{
    begin();
    uint64_t parked = accept_event(f.state, "a", "1", SMA_ROW_PARKED);
    uint64_t over = accept_event(f.state, "b", "2", SMA_ROW_RUNNING);
    CHECK(parked == 1 && over == 2);
    for (uint64_t seq = 1; seq <= 3; seq++)
        CHECK_OK(sma_state_wait_set(
            f.state, &(struct sma_state_wait){.run_seq = seq, .due_ms = 50, .length_ms = 9}));
    CHECK_OK(sma_state_wait_set(
        f.state, &(struct sma_state_wait){.run_seq = 1, .due_ms = 70, .length_ms = 20}));
    CHECK_OK(sma_state_commit(f.state));
    fixture_reopen(&f, false);
    CHECK_TEXT("1:70/20;2:50/9;3:50/9;", waits());
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_wait_remove(f.state, 1));
    sma_state_rollback(f.state);
    CHECK_TEXT("1:70/20;2:50/9;3:50/9;", waits());
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_waits_sweep(f.state)); /* 2 is not parked, 3 was never there */
    CHECK_OK(sma_state_commit(f.state));
    CHECK_TEXT("1:70/20;", waits());
}

/* -- learned ----------------------------------------------------------------------------------- */
static enum sma_err put_fact(void *user, struct sma_str target, struct sma_str member)
{
    struct text *to = user;
    to->count++;
    to->len += (size_t)snprintf(to->bytes + to->len, sizeof to->bytes - to->len, "%.*s %.*s;",
                                (int)target.len, target.ptr, (int)member.len, member.ptr);
    return SMA_ERR_OK;
}

static const char *learned(int64_t now_ms)
{
    text = (struct text){.len = 0};
    CHECK_OK(sma_state_each_learned(f.state, now_ms, put_fact, &text));
    return text.bytes;
}

static void learn(const char *target, const char *member, int64_t now_ms)
{
    CHECK_OK(sma_state_learn(f.state, sma_str(target), sma_str(member), now_ms));
}

CASE(facts_are_kept_once_and_for_some_days)
{
    begin();
    learn("t", "a", NOW_MS);
    learn("t", "b", NOW_MS);
    learn("t", "a", NOW_MS + 2 * DAY_MS);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_TEXT("t a;t b;", learned(NOW_MS + SMA_LEARNED_DAYS * DAY_MS));
    CHECK_TEXT("t a;", learned(NOW_MS + SMA_LEARNED_DAYS * DAY_MS + 1));
    CHECK_TEXT("", learned(NOW_MS - 2 * DAY_MS)); /* the clock was ahead */
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_learned_forget(f.state, NOW_MS + (SMA_LEARNED_DAYS + 1) * DAY_MS));
    CHECK_OK(sma_state_commit(f.state));
    CHECK_TEXT("t a;", learned(NOW_MS + 4 * DAY_MS));
}

CASE(the_longest_unseen_facts_go)
{
    static char longest[SMA_LEARNED_BYTES_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    begin();
    for (int i = 0; i <= SMA_LEARNED_TARGET_COUNT_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%03d", i);
        learn(name, "m", NOW_MS + i);
    }
    for (int i = 0; i <= SMA_LEARNED_MEMBER_COUNT_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%03d", i);
        learn("t010", name, NOW_MS + 1000 + i);
    }
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_learn(f.state, SMA_STR("t"), sma_str(longest), NOW_MS));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_state_learn(f.state, SMA_STR("t"), SMA_STR(""), NOW_MS));
    CHECK_OK(sma_state_commit(f.state));
    const char *all = learned(NOW_MS);
    CHECK_INT(SMA_LEARNED_TARGET_COUNT_MAX - 1 + SMA_LEARNED_MEMBER_COUNT_MAX, (int)text.count);
    CHECK(strstr(all, "t000 ") == NULL && strstr(all, "t001 m;") != NULL);
    CHECK(strstr(all, "t010 m;") == NULL && strstr(all, "t010 n000;") == NULL);
    CHECK(strstr(all, "t010 n001;") != NULL && strstr(all, "t010 n016;") != NULL);
}

/* -- usage ------------------------------------------------------------------------------------- */
struct sums
{
    unsigned count;
    int64_t first_key;
    struct sma_usage total;
};

static enum sma_err add_sum(void *user, int64_t key, struct sma_str name,
                            const struct sma_usage *usage)
{
    struct sums *sums = user;
    (void)name;
    if (sums->count++ == 0)
        sums->first_key = key;
    sma_usage_add(&sums->total, usage);
    return SMA_ERR_OK;
}

static struct sums sums_by(enum sma_state_usage_by by, int64_t from_day)
{
    struct sums sums = {0};
    CHECK_OK(sma_state_each_usage(
        f.state, &(struct sma_state_usage_query){.by = by, .from_day = from_day, .row_max = 5000},
        add_sum, &sums));
    return sums;
}

static void use(int64_t day, uint32_t chat, const char *person, uint64_t input)
{
    CHECK_OK(sma_state_usage_add(f.state,
                                 &(struct sma_state_usage_key){.day = day,
                                                               .chat_id = chat,
                                                               .person = sma_str(person),
                                                               .platform = SMA_STR("test"),
                                                               .target = SMA_STR("t")},
                                 &(struct sma_usage){.request_count = 1, .input = input}));
}

CASE(a_day_has_so_many_sums_and_loses_no_token)
{
    begin();
    for (uint32_t i = 1; i <= SMA_USAGE_DAY_ROW_COUNT_MAX + 10; i++)
        use(5, i, "p", 1);
    use(5, 1, "p", 100); /* one that has a row keeps it */
    use(6, 1, "p", 1000);
    CHECK_OK(sma_state_commit(f.state));
    struct sums chats = sums_by(SMA_STATE_USAGE_BY_CHAT, 5);
    CHECK_INT(SMA_USAGE_DAY_ROW_COUNT_MAX + 1, (int)chats.count);
    CHECK_INT(1, (int)chats.first_key); /* most tokens first */
    CHECK_INT(SMA_USAGE_DAY_ROW_COUNT_MAX + 10 + 100 + 1000, (int)chats.total.input);
    struct sums days = sums_by(SMA_STATE_USAGE_BY_DAY, 0);
    CHECK(days.count == 2 && days.first_key == 6);
    CHECK_INT(1, (int)sums_by(SMA_STATE_USAGE_TOTAL, 6).count);
    CHECK_INT(1000, (int)sums_by(SMA_STATE_USAGE_TOTAL, 6).total.input);
    CHECK_INT(0, (int)sums_by(SMA_STATE_USAGE_TOTAL, 7).count);
}

CASE(old_days_go_and_undone_ones_never_were)
{
    begin();
    use(100, 1, "p", 1);
    use(101, 1, "p", 2);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_OK(sma_state_begin(f.state));
    use(101, 1, "p", 4);
    use(101, 2, "q", 8);
    sma_state_rollback(f.state);
    CHECK_INT(3, (int)sums_by(SMA_STATE_USAGE_TOTAL, 0).total.input);
    CHECK_OK(sma_state_begin(f.state));
    use(101 + SMA_USAGE_DAYS, 1, "p", 16);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_INT(2 + 16, (int)sums_by(SMA_STATE_USAGE_TOTAL, 0).total.input);
}

CASE(absurd_numbers_do_not_break_the_sums)
{
    begin();
    for (int i = 0; i < 100; i++)
        use(5, 1, "p", UINT64_MAX);
    CHECK_OK(sma_state_commit(f.state));
    CHECK_INT(1, (int)sums_by(SMA_STATE_USAGE_BY_PERSON, 0).count);
    CHECK_INT(100, (int)sums_by(SMA_STATE_USAGE_TOTAL, 0).total.request_count);
}

static enum sma_err read_usage(void *user, const struct sma_state_result *result)
{
    *(struct sma_usage *)user = *result->usage;
    return SMA_ERR_OK;
}

CASE(steps_and_results_know_what_they_used)
{
    begin();
    uint64_t seq = accept_event(f.state, "a", "1", SMA_ROW_RUNNING);
    const struct sma_usage one = {1, 2, 3, 4, 5, 6, UINT64_C(0x0102030405060708)};
    for (uint32_t number = 1; number <= 2; number++)
        CHECK_OK(sma_state_step_add_used(
            f.state,
            &(struct sma_state_step){
                .seq = seq, .number = number, .kind = 1, .data = SMA_STR("x"), .usage = &one}));
    CHECK_OK(sma_state_step_add(f.state, seq, 3, 1, SMA_STR("x")));
    struct sma_usage sum = {0};
    CHECK_OK(sma_state_steps_usage(f.state, seq, &sum));
    CHECK(sum.request_count == 2 && sum.reasoning == 12 && sum.output == 10);
    CHECK(sum.cost_nano == 2 * one.cost_nano);
    CHECK_OK(sma_state_finish(
        f.state, &(struct sma_state_finish){.seq = seq, .state = SMA_ROW_DONE, .usage = &sum}));
    CHECK_OK(sma_state_commit(f.state));
    struct sma_usage read = {0};
    CHECK_OK(sma_state_result_get(f.state, seq, read_usage, &read));
    CHECK_INT(0, memcmp(&sum, &read, sizeof sum));
}

/* -- the version before ------------------------------------------------------------------------ */
CASE(a_database_of_the_version_before_gets_the_tables)
{
    begin();
    uint64_t open = accept_event(f.state, "a", "1", SMA_ROW_RUNNING);
    uint64_t over = accept_event(f.state, "b", "2", SMA_ROW_RUNNING);
    CHECK_OK(sma_state_step_add(f.state, open, 1, 1, SMA_STR("step")));
    CHECK_OK(
        sma_state_finish(f.state, &(struct sma_state_finish){.seq = over, .state = SMA_ROW_DONE}));
    CHECK_OK(sma_state_commit(f.state));
    sma_state_close(f.state, true);
    execute(DOWNGRADE_TO_5
            "; DROP TABLE waits; DROP TABLE learned; DROP TABLE usage;"
            "ALTER TABLE steps DROP COLUMN usage; ALTER TABLE runs DROP COLUMN usage;"
            "ALTER TABLE steps DROP COLUMN trace; ALTER TABLE runs DROP COLUMN trace;"
            "ALTER TABLE outbox DROP COLUMN made; ALTER TABLE outbox DROP COLUMN ended;"
            "PRAGMA user_version=4");
    fixture_open(&f);
    struct sma_usage usage = {.input = 1};
    CHECK_OK(sma_state_result_get(f.state, over, read_usage, &usage));
    CHECK(sma_usage_is_empty(&usage));
    CHECK_OK(sma_state_steps_usage(f.state, open, &usage));
    CHECK(sma_usage_is_empty(&usage));
    CHECK_OK(sma_state_begin(f.state));
    CHECK_OK(sma_state_wait_set(f.state, &(struct sma_state_wait){.run_seq = open}));
    learn("t", "m", NOW_MS);
    use(1, 1, "p", 1);
    CHECK_ERR(SMA_ERR_EXISTS, sma_state_step_add(f.state, open, 1, 1, SMA_STR("again")));
    CHECK_OK(sma_state_commit(f.state));
    CHECK_TEXT("1:0/0;", waits());
}

CASES_MAIN
