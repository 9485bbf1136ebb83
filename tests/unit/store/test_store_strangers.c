/*
 * Aim: people who were never paired leave with all that is kept of them, by age and by number;
 * nobody else does; whoever comes back begins anew. Method: a project of pairing under the seeded
 * scheduler; the simulated clock goes on for weeks.
 */
#include "people_support.h"

#include <errno.h>

#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

static struct world w;

/* state.db notes days by this clock: it is the simulated one, too. */
static struct sma_sys files;
static int64_t last_wall_ms = INT64_C(1700000000000);
static bool is_dying; /* the next main file goes, and nothing after it is done */
static bool was_too_early;

static int64_t wall_of_world(void *self)
{
    (void)self;
    if (w.system != NULL)
        last_wall_ms = sma_ctx_wall(sma_system_ctx(w.system, SMA_ACTOR_STORE));
    return last_wall_ms;
}

static bool has_chat(const char *who)
{
    char key[64];
    struct sma_state_chat *chat;
    snprintf(key, sizeof key, "test:chat:%s", who);
    enum sma_err err = sma_state_chat_find(w.store->state, sma_str(key), &chat);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return err == SMA_ERR_OK;
}

static bool has_record(const char *who)
{
    char key[64];
    struct sma_buf value;
    snprintf(key, sizeof key, "stranger/test:chat:%s", who);
    sma_buf_init(&value, 64 * 1024);
    enum sma_err err = sma_state_access_get(w.store->state, sma_str(key), &value);
    sma_buf_fini(&value);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return err == SMA_ERR_OK;
}

static void path_of(char *path, size_t path_max, const char *who, const char *ending)
{
    snprintf(path, path_max, "%s/chats/test%%3Achat%%3A%s%s", w.state_dir, who, ending);
}

static bool has_file(const char *who, const char *ending)
{
    char path[256];
    path_of(path, sizeof path, who, ending);
    return access(path, F_OK) == 0;
}

static bool is_whole(const char *who)
{
    return has_chat(who) && has_file(who, ".jsonl");
}

static bool has_left(const char *who)
{
    return !has_chat(who) && !has_record(who) && !has_file(who, ".jsonl");
}

static int unlink_or_die(void *self, const char *path)
{
    (void)self;
    bool is_of_eve = strstr(path, "%3Aeve.") != NULL;
    was_too_early = was_too_early || (is_of_eve && (has_chat("eve") || !has_record("eve")));
    bool dies = is_dying && is_of_eve && strstr(path, "eve.jsonl") != NULL &&
                strstr(path, ".damaged") == NULL;
    if (unlink(path) == 0 && !dies)
        return 0;
    errno = dies ? EIO : errno;
    return -1;
}

static void begin(void)
{
    make_world(&w);
    files = *sma_sys_real();
    files.wall_ms = wall_of_world;
    files.unlink = unlink_or_die;
    is_dying = was_too_early = false;
    w.sys = &files;
    w.test_json = "{}";
    w.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\"]}}";
    w.config.retention =
        (struct sma_config_retention){.stranger_days = 30, .stranger_count = 10000};
    open_world(&w);
}

static void wait_for(uint64_t ns)
{
    uint64_t end = sma_sim_now(w.system) + ns;
    while (sma_sim_now(w.system) < end)
        run_for(&w, HOUR);
}

/* A stranger writes and is shown his code. */
static const char *knock(const char *who, const char *id, const char *text)
{
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, who, id, text));
    return code_in(told(&w, who));
}

/* A member, who stays; his is the newest chat. He has no home, so only strangers hear of codes. */
static void talk_as_zoe(const char *id)
{
    CHECK_INT(200, decide_person(
                       &w, &(struct decision){.id = "test:zoe", .standing = SMA_STANDING_MEMBER}));
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "zoe", id, "hello"));
    finish_next(&w);
}

AFTER_EACH(end_world(&w))

CASE(strangers_leave_thirty_days_after_they_last_wrote)
{
    begin();
    (void)knock("eve", "1", "let me in");
    (void)knock("bob", "1", "me too");
    CHECK_INT(200, approve(&w, knock("ann", "1", "it is me")));
    finish_next(&w);
    (void)told(&w, "ann");
    CHECK(!has_record("ann") && has_record("eve") && has_record("bob"));
    (void)say_as(
        &w, TEST,
        &(struct saying){.chat = "room", .user = "eve", .id = "1", .text = "we", .is_group = true});
    run(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&w.test).verdict);
    (void)told(&w, "room");
    talk_as_zoe("1");
    run_for(&w, 10 * SECOND);
    char path[256]; /* a rotation of long ago */
    path_of(path, sizeof path, "eve", ".archive-1.jsonl");
    FILE *archive = fopen(path, "w");
    CHECK(archive != NULL && fclose(archive) == 0);
    wait_for(20 * DAY);
    CHECK(is_whole("eve"));
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "bob", "2", "still here"));
    (void)told(&w, "bob");
    wait_for(9 * DAY);
    CHECK(is_whole("eve"));
    wait_for(3 * DAY);
    CHECK(has_left("eve"));
    CHECK(!has_file("eve", ".archive-1.jsonl"));
    CHECK(is_whole("bob") && is_whole("ann") && is_whole("room") && is_whole("zoe"));
    wait_for(20 * DAY);
    CHECK(has_left("bob"));
    CHECK(is_whole("ann") && is_whole("room") && is_whole("zoe"));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&w, "ann"));
    CHECK(!was_too_early);
}

CASE(roles_and_open_work_keep_a_chat)
{
    begin();
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "eve", "1", "let me in"));
    struct sma_msg *open = deliver(&w); /* never answered: the code is not shown yet */
    CHECK(open != NULL);
    (void)knock("bob", "1", "me too");
    CHECK_INT(200, decide_person(
                       &w, &(struct decision){.id = "test:bob", .standing = SMA_STANDING_MEMBER}));
    finish_next(&w);
    (void)told(&w, "bob");
    (void)knock("dan", "1", "later");
    talk_as_zoe("1");
    run_for(&w, 10 * SECOND);
    wait_for(DAY + HOUR); /* no code leads to him any more */
    CHECK_INT(200, decide_person(
                       &w, &(struct decision){.id = "test:dan", .standing = SMA_STANDING_MEMBER}));
    wait_for(40 * DAY);
    CHECK(is_whole("eve") && is_whole("bob") && is_whole("dan"));
    sma_msg_destroy(open);
}

CASE(beyond_the_bound_the_longest_silent_leave_first)
{
    begin();
    w.config.retention.stranger_days = 0;
    w.config.retention.stranger_count = 3;
    static const char *const names[] = {"s0", "s1", "s2", "s3", "s4", "s5"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        (void)knock(names[i], "1", "let me in");
        if (i % 2 == 1) /* two a day: the bound cuts through one */
            wait_for(DAY);
    }
    talk_as_zoe("1");
    wait_for(6 * DAY);
    size_t left = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        left += has_left(names[i]);
    CHECK_INT(3, (int)left);
    CHECK(has_left("s0") && has_left("s1"));
    CHECK(is_whole("s4") && is_whole("s5"));
    wait_for(60 * DAY); /* not by age */
    CHECK(is_whole("s4") && is_whole("s5"));
    w.config.retention.stranger_count = 0;
    wait_for(DAY);
    CHECK(is_whole("s4") && is_whole("s5"));
}

CASE(who_wrote_lately_stays_beyond_the_bound)
{
    begin();
    w.config.retention.stranger_count = 1;
    (void)knock("eve", "1", "let me in");
    (void)knock("bob", "1", "me too");
    talk_as_zoe("1");
    wait_for(20 * HOUR);
    CHECK(is_whole("eve") && is_whole("bob"));
    wait_for(3 * DAY);
    CHECK(has_left("eve") != has_left("bob"));
}

CASE(who_comes_back_begins_anew)
{
    begin();
    char first[16];
    snprintf(first, sizeof first, "%s", knock("eve", "1", "the old words"));
    talk_as_zoe("1");
    wait_for(33 * DAY);
    CHECK(has_left("eve"));
    restart_world(&w);
    const char *code = knock("eve", "9", "the new words");
    CHECK(strcmp(first, code) != 0);
    run_for(&w, 10 * SECOND);
    CHECK(is_whole("eve") && has_record("eve"));
    const char *text = history(&w, "test%3Achat%3Aeve");
    CHECK_INT(1, (int)count_of(text, "the new words"));
    CHECK_INT(0, (int)count_of(text, "the old words"));
    CHECK_INT(200, approve(&w, code));
    finish_next(&w);
    (void)told(&w, "eve");
    talk_as_zoe("2");
    wait_for(40 * DAY);
    CHECK(is_whole("eve"));
}

/* The record goes last: what a death leaves undone is done by the next pass. */
CASE(a_death_between_file_and_record_leaves_nothing_behind)
{
    begin();
    (void)knock("eve", "1", "let me in");
    talk_as_zoe("1");
    run_for(&w, 10 * SECOND);
    is_dying = true;
    wait_for(33 * DAY);
    CHECK(!has_chat("eve") && !has_file("eve", ".jsonl"));
    CHECK(has_record("eve"));
    crash_world(&w);
    CHECK(has_record("eve"));
    is_dying = false;
    wait_for(2 * HOUR);
    CHECK(has_left("eve"));
    CHECK(!was_too_early);
}

CASE(a_clock_that_jumps_sends_nobody_away)
{
    begin();
    (void)knock("eve", "1", "let me in");
    talk_as_zoe("1");
    wait_for(2 * HOUR);
    sma_sim_shift_wall(w.system, INT64_C(400) * 86400000);
    wait_for(12 * HOUR);
    CHECK(is_whole("eve"));
    wait_for(DAY); /* it stayed: now it is believed */
    CHECK(has_left("eve"));
}

/* Many, so that each round takes several slices; a chat in the middle that is talked in again
 * stays. */
CASE(a_crowd_leaves_in_slices)
{
    begin();
    char name[16];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "n%03d", i);
        (void)knock(name, "1", "let me in");
    }
    talk_as_zoe("1");
    wait_for(20 * DAY);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "n200", "2", "still here"));
    (void)told(&w, "n200");
    for (int i = 0; i < 24 * 13 && !has_left("n000"); i++)
        run_for(&w, HOUR);
    run_for(&w, 60 * SECOND); /* one pass is enough */
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "n%03d", i);
        CHECK(i == 200 ? is_whole(name) : has_left(name));
    }
    CHECK_INT(2, (int)sma_state_chat_count(w.store->state));
}

CASES_MAIN
