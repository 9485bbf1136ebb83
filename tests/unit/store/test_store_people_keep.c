/*
 * Aim: what is kept of people goes when it says nothing any more, in slices, and nothing else goes.
 * Method: a project of pairing, records made by what people do, time passes, rounds of people_keep.
 */
#include "people_support.h"

#include "runtime/chat/state_read.h"

#define DAY (86400 * SECOND)

static struct world w;

static bool has_record(struct world *world, const char *key)
{
    struct sma_buf value;
    sma_buf_init(&value, 64 * 1024);
    enum sma_err err = sma_state_access_get(world->store->state, sma_str(key), &value);
    sma_buf_fini(&value);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return err == SMA_ERR_OK;
}

static size_t count_under(struct world *world, const char *prefix)
{
    struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    CHECK_OK(sma_state_access_page(
        world->store->state, &(struct sma_state_page){.prefix = sma_str(prefix), .count_max = 5000},
        &rows, &pairs));
    sma_state_rows_free(&rows);
    return pairs.count;
}

static void put_record(struct world *world, const char *key, const char *value)
{
    CHECK_OK(sma_store_begin(world->store));
    CHECK_OK(sma_state_access_set(world->store->state, sma_str(key), sma_str(value)));
    sma_store_end_batch(world->store);
}

/* @return slices that it took */
static int keep_round(struct world *world, uint32_t budget)
{
    bool is_round = false;
    int slices = 0;
    for (; !is_round; slices++) {
        CHECK(slices < 10000);
        CHECK_OK(sma_store_people_keep(world->store, budget, &is_round));
        sma_store_end_batch(world->store);
    }
    return slices;
}

AFTER_EACH(end_world(&w))

CASE(pages_are_in_order_and_hold_copies)
{
    start_paired(&w);
    char key[32];
    for (int i = 0; i < 25; i++) {
        snprintf(key, sizeof key, "x/%02d", i);
        put_record(&w, key, key + 2);
    }
    put_record(&w, "x", "in front");
    put_record(&w, "x0", "behind");
    struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    struct sma_str after = SMA_STR("");
    int count = 0;
    do {
        CHECK_OK(sma_state_access_page(
            w.store->state,
            &(struct sma_state_page){.prefix = SMA_STR("x/"), .after = after, .count_max = 10},
            &rows, &pairs));
        for (size_t i = 0; i < pairs.count; i++, count++) {
            snprintf(key, sizeof key, "x/%02d", count);
            CHECK_STR(key, pairs.items[i].key);
            CHECK_STR(key + 2, pairs.items[i].value);
        }
        after = pairs.items[pairs.count - 1].key; /* a copy: the next page leaves it alone */
    } while (pairs.count == 10);
    CHECK_INT(25, count);
    sma_state_rows_free(&rows);
}

CASE(closed_windows_go_and_open_ones_stay)
{
    start_paired(&w);
    char key[40], value[40];
    int64_t now = sma_ctx_wall(sma_system_ctx(w.system, TEST));
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "window:%d:u", i);
        snprintf(value, sizeof value, "%lld", (long long)now + (i % 2 == 0 ? -1000 : 60000));
        put_record(&w, key, value);
    }
    put_record(&w, "window:7:bad", "soon");
    put_record(&w, "wind", "0"); /* somebody else's */
    CHECK(keep_round(&w, 16) > 5);
    CHECK_INT(50, (int)count_under(&w, "window:"));
    CHECK(!has_record(&w, "window:0:u") && has_record(&w, "window:1:u"));
    CHECK(!has_record(&w, "window:7:bad") && has_record(&w, "wind"));
    sma_sim_advance(w.system, 61 * SECOND);
    CHECK_INT(1, keep_round(&w, 1000));
    CHECK_INT(0, (int)count_under(&w, "window:"));
}

CASE(codes_that_nobody_answered_go_with_all_their_marks)
{
    start_paired(&w);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&w, "eve", "1", "hello"));
    put_record(&w, "grouping/test/g9", "QQQQQQQQ"); /* leads nowhere */
    CHECK_INT(1, (int)count_under(&w, "pair/"));
    CHECK_INT(1, (int)count_under(&w, "pairing/"));
    (void)keep_round(&w, 3);
    CHECK_INT(1, (int)count_under(&w, "pair/")); /* not before its time */
    CHECK_INT(1, (int)count_under(&w, "pairing/"));
    CHECK_INT(0, (int)count_under(&w, "grouping/"));
    sma_sim_advance(w.system, DAY + SECOND);
    put_record(&w, "pair/ZZZZZZZZ", "no JSON");
    (void)keep_round(&w, 3);
    CHECK_INT(0, (int)count_under(&w, "pair/"));
    CHECK_INT(0, (int)count_under(&w, "pairing/"));
}

CASE(homes_go_with_the_role_and_words_of_owners_stay)
{
    start_paired(&w);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "boss", "1", "hello"));
    CHECK_INT(200, decide_person(
                       &w, &(struct decision){.id = "test:ann", .standing = SMA_STANDING_ADMIN}));
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "ann", "1", "hello"));
    CHECK_INT(200, decide_person(&w, &(struct decision){.id = "test:eve", .is_refused = true}));
    put_record(&w, "home/test/damaged", "{");
    CHECK_INT(3, (int)count_under(&w, "home/"));
    (void)keep_round(&w, 2);
    CHECK_INT(2, (int)count_under(&w, "home/"));
    CHECK_INT(200, decide_person(
                       &w, &(struct decision){.id = "test:ann", .standing = SMA_STANDING_MEMBER}));
    sma_sim_advance(w.system, 400 * DAY);
    (void)keep_round(&w, 2);
    CHECK_INT(1, (int)count_under(&w, "home/"));
    CHECK(has_record(&w, "home/test/boss"));
    CHECK_INT(2, (int)count_under(&w, "person/")); /* a refusal holds for ever, as a pairing does */
}

/* A failed commit leaves the round where it is; what was removed with it is removed the next
 * time. */
CASE(a_slice_that_is_undone_is_done_again)
{
    start_paired(&w);
    put_record(&w, "window:1:u", "1");
    put_record(&w, "window:2:u", "1");
    bool is_round;
    CHECK_OK(sma_store_people_keep(w.store, 1, &is_round));
    sma_store_fail_batch(w.store, SMA_ERR_NOSPACE);
    CHECK_INT(2, (int)count_under(&w, "window:"));
    (void)keep_round(&w, 1);
    (void)keep_round(&w, 1);
    CHECK_INT(0, (int)count_under(&w, "window:"));
}

/* Nobody calls for it: a round begins with the start, and every hour while there is work; it sets
 * no time of its own for that. */
CASE(rounds_begin_by_themselves)
{
    start_paired(&w);
    char key[40];
    for (int i = 0; i < 600; i++) { /* several slices */
        snprintf(key, sizeof key, "window:%d:u", i);
        put_record(&w, key, "1");
    }
    CHECK_INT(600, (int)count_under(&w, "window:"));
    restart_world(&w);
    run_for(&w, SECOND);
    CHECK_INT(0, (int)count_under(&w, "window:"));
    put_record(&w, "window:1:u", "1");
    run_for(&w, 60 * SECOND);
    CHECK(sma_store_people_wake(w.store) == UINT64_MAX);
    CHECK_INT(1, (int)count_under(&w, "window:"));
    sma_sim_advance(w.system, 3601 * SECOND);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&w, "boss", "1", "hello"));
    CHECK_INT(0, (int)count_under(&w, "window:"));
}

int main(void)
{
    check_run_cases(NULL);
    return 0;
}
