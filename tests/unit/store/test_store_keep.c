/*
 * Aim: what is over leaves by age and by bytes, what is needed stays whatever its age, a clock that
 * jumps removes nothing, and an idle service is woken once an hour at most. Method: the store under
 * the seeded scheduler; the simulated clock goes on for days.
 */
#include "actors/store/upkeep_priv.h"
#include "store_support.h"
#include "turn_count.h"

#include <fcntl.h>

#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static struct world w;

/* state.db notes the hours by this clock: it is the simulated one, too. */
static struct sma_sys files;
static int64_t last_wall_ms = INT64_C(1700000000000);
static int64_t wall_of_world(void *self)
{
    (void)self;
    if (w.system != NULL)
        last_wall_ms = sma_ctx_wall(sma_system_ctx(w.system, SMA_ACTOR_STORE));
    return last_wall_ms;
}

static void begin(void)
{
    make_world(&w);
    files = *sma_sys_real();
    files.wall_ms = wall_of_world;
    w.sys = &files;
    w.config.retention = (struct sma_config_retention){.turns = 30,
                                                       .turn_days = 3,
                                                       .result_hours = 24,
                                                       .result_mb = 1024,
                                                       .request_log_days = 7,
                                                       .request_days = 30,
                                                       .stranger_days = 30,
                                                       .stranger_count = 10000};
    open_world(&w);
}

/* Time passes, step by step: nothing is kept from what would wake up in between. */
static void wait_for(uint64_t ns)
{
    uint64_t end = sma_sim_now(w.system) + ns;
    while (sma_sim_now(w.system) < end)
        run_for(&w, 10 * MINUTE);
}

static uint64_t answer(const char *chat, const char *id, const char *output)
{
    say(&w, chat, id, "a question");
    run(&w);
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    done(&w, seq, output, NULL, 0);
    expect_durable(&w, SMA_MSG_DONE_DONE);
    run_for(&w, 10 * SECOND); /* its lines are in a synced file */
    return seq;
}

static enum sma_err note_output(void *has_text, const struct sma_state_result *result)
{
    *(bool *)has_text = result->output.len > 0;
    return SMA_ERR_OK;
}

static bool has_result(uint64_t seq)
{
    bool has_text = false;
    enum sma_err err = sma_state_result_get(w.store->state, seq, note_output, &has_text);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return has_text;
}

static unsigned turns(const char *key)
{
    struct sma_state_chat *chat;
    CHECK_OK(sma_state_chat_open(w.store->state, sma_str(key), SMA_STR("test"), &chat));
    return turn_count_of(w.store->state, chat);
}

AFTER_EACH(end_world(&w))

CASE(what_is_over_leaves_by_age)
{
    begin();
    uint64_t old = answer("a", "m1", "the old answer");
    wait_for(20 * HOUR);
    CHECK(has_result(old));
    uint64_t young = answer("a", "m2", "the young answer");
    wait_for(8 * HOUR);
    CHECK(!has_result(old));
    CHECK(has_result(young));
    CHECK_INT(2, turns("test:chat:a"));
    wait_for(2 * DAY);
    CHECK_INT(1, turns("test:chat:a"));
    wait_for(DAY);
    CHECK_INT(0, turns("test:chat:a"));
    say(&w, "a", "m1", "a question"); /* the claim outlives the text */
    run(&w);
    struct sma_accepted known = {0};
    while (known.verdict != SMA_VERDICT_DUPLICATE)
        known = accepted(&w.test);
    CHECK_INT(old, known.seq);
}

CASE(open_work_stays_whatever_its_age)
{
    begin();
    say(&w, "a", "m1", "first");
    run(&w);
    uint64_t open = run_seq(&w);
    CHECK(open != 0);
    step(&w, open, 1, &(struct delivery){"test:chat:a", "sent in time", 0, TEST, false}, 1);
    run(&w);
    say(&w, "a", "m2", "second");
    run(&w);
    wait_for(5 * DAY);
    crash_world(&w); /* everything is in the rows, or nowhere */
    struct sma_msg *order = next_run(&w);
    CHECK(order != NULL);
    CHECK_INT(open, SMA_MSG_BODY(order, struct sma_run_order)->seq);
    sma_msg_destroy(order);
    CHECK(strcmp("sent in time", next_delivery(&w)) == 0);
    done(&w, open, "late", NULL, 0);
    run(&w);
    order = next_run(&w);
    CHECK(order != NULL);
    sma_msg_destroy(order);
}

CASE(a_chat_keeps_as_many_turns_as_told)
{
    begin();
    w.config.retention.turns = 2;
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 16);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &w.config;
    CHECK_OK(sma_ctx_send(sma_system_ctx(w.system, SMA_ACTOR_SUPERVISOR), SMA_ACTOR_STORE, &msg));
    for (int i = 0; i < 40; i++) {
        char id[8];
        snprintf(id, sizeof id, "m%d", i);
        (void)answer("a", id, "an answer");
    }
    CHECK_INT(2, turns("test:chat:a"));
    restart_world(&w);
    CHECK_INT(2, turns("test:chat:a"));
    sma_state_set_turn_count(w.store->state, 0); /* what is on disk */
    CHECK(turns("test:chat:a") <= 2 + 16);
}

CASE(results_stay_within_their_bytes)
{
    static char large[600000];
    begin();
    w.config.retention.result_mb = 1;
    memset(large, 'x', sizeof large - 1);
    uint64_t seqs[3];
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "m%d", i);
        seqs[i] = answer("a", id, large);
    }
    wait_for(HOUR);
    CHECK(!has_result(seqs[0]));
    CHECK(has_result(seqs[2]));
}

CASE(a_clock_that_jumps_removes_nothing)
{
    begin();
    wait_for(HOUR);
    uint64_t seq = answer("a", "m1", "an answer");
    sma_sim_shift_wall(w.system, INT64_C(400) * 86400000);
    wait_for(12 * HOUR);
    CHECK(has_result(seq));
    CHECK_INT(1, turns("test:chat:a"));
    wait_for(DAY); /* it stayed: now it is believed */
    CHECK(!has_result(seq));
    CHECK_INT(0, turns("test:chat:a"));
}

CASE(a_short_disk_is_freed_at_once)
{
    begin();
    uint64_t seq = answer("a", "m1", "an answer");
    wait_for(30 * HOUR);
    CHECK(!has_result(seq));
    seq = answer("a", "m2", "another");
    w.store->upkeep->keep.due_ns = sma_sim_now(w.system) + 27 * HOUR; /* none by the clock */
    wait_for(26 * HOUR);
    CHECK(has_result(seq));
    w.disk_free = SMA_DISK_RESERVE_BYTES / 2;
    say(&w, "a", "m3", "it is refused, and the disk is looked at");
    wait_for(10 * MINUTE);
    CHECK(!has_result(seq));
}

static void make_file(const char *folder, const char *name, int64_t age_ms)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", w.state_dir, folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fclose(file) == 0);
    int64_t s = (wall_of_world(NULL) - age_ms) / 1000;
    const struct timespec times[2] = {{.tv_sec = s}, {.tv_sec = s}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static bool is_there(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", w.state_dir, folder, name);
    return access(path, F_OK) == 0;
}

CASE(archives_leave_only_when_told)
{
    const int64_t day_ms = INT64_C(86400000);
    begin();
    (void)answer("a", "m1", "an answer");
    make_file("chats", "x.archive-1.jsonl", 400 * day_ms);
    make_file("chats", "x.archive-2.jsonl", 10 * day_ms);
    make_file("chats", "x.jsonl", 400 * day_ms);
    wait_for(3 * HOUR);
    CHECK(is_there("chats", "x.archive-1.jsonl"));
    w.config.retention.archive_days = 100;
    wait_for(2 * HOUR);
    CHECK(!is_there("chats", "x.archive-1.jsonl"));
    CHECK(is_there("chats", "x.archive-2.jsonl"));
    CHECK(is_there("chats", "x.jsonl"));
}

CASE(a_short_disk_costs_old_request_logs)
{
    char path[128];
    begin();
    snprintf(path, sizeof path, "%s/logs", w.state_dir);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/logs/llm", w.state_dir);
    CHECK(mkdir(path, 0700) == 0);
    make_file("logs/llm", "2026-01-01.jsonl", 0);
    make_file("logs/llm", "2026-01-02.jsonl", 0);
    make_file("logs/llm", "notes.txt", 0);
    wait_for(2 * HOUR);
    CHECK(is_there("logs/llm", "2026-01-01.jsonl"));
    w.disk_free = SMA_DISK_RESERVE_BYTES / 2;
    say(&w, "a", "m3", "it is refused, and the disk is looked at");
    wait_for(10 * MINUTE);
    CHECK(!is_there("logs/llm", "2026-01-01.jsonl"));
    CHECK(is_there("logs/llm", "2026-01-02.jsonl"));
    CHECK(is_there("logs/llm", "notes.txt"));
}

CASES_MAIN
