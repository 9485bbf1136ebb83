/*
 * Aim: whatever the platform does, every row ends exactly once, each chat's rows and parts are seen
 *      in order, every question is answered exactly once, no credit is lost, and one seed gives one
 *      run.
 * Method: random rows, outcomes, questions and stops from a seed, on two platforms with rates,
 * until all is quiet.
 */
#include "world.h"

#define ROW_COUNT 600
#define CHAT_COUNT 23

struct chance
{
    uint64_t state;
};
static struct world world;
static struct chance chance;

static uint64_t draw(uint64_t below)
{
    chance.state = chance.state * 6364136223846793005ull + 1442695040888963407ull;
    return (chance.state >> 33) % below;
}

static void plan(void *user, const struct sma_attempt *attempt, unsigned number,
                 struct fake_plan *ret)
{
    (void)user;
    (void)attempt;
    (void)number;
    ret->delay_ns = draw(4) == 0 ? 0 : draw(3000) * 1000000u;
    switch (draw(20)) {
    case 0:
    case 1:
        *ret = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY, .delay_ns = ret->delay_ns};
        return;
    case 2:
        *ret = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY_AFTER,
                                  .retry_after_ms = (uint32_t)draw(20000),
                                  .is_adapter_wide = draw(3) == 0};
        return;
    case 3:
        ret->attempt_class = SMA_ATTEMPT_UNKNOWN;
        ret->is_seen = draw(2) == 0;
        return;
    case 4:
        ret->delay_ns = 55 * WORLD_SECOND + draw(15000) * 1000000u; /* around the deadline */
        return;
    case 5:
        if (draw(3) == 0)
            *ret = (struct fake_plan){.attempt_class = SMA_ATTEMPT_GIVE_UP};
        return;
    default:
        return;
    }
}

static char chats[CHAT_COUNT][8];

static void add_rows(size_t count)
{
    static const char *const texts[] = {"x", "one|two", "a|b|c|d", ""};
    for (size_t i = 0; i < count && world.row_count < ROW_COUNT; i++) {
        uint64_t chat = draw(CHAT_COUNT);
        struct world_row *row = world_add(&world, chats[chat], texts[draw(20) == 0 ? 3 : draw(3)]);
        row->adapter = chat % 2;
        row->has_waiter = draw(2) == 0;
        row->is_repeat = draw(10) == 0;
        row->no_disk_count = draw(15) == 0 ? 2 : 0;
        row->is_stopped = draw(40) == 0;
    }
    world_hand_out(&world);
}

/* A chat's first sightings of (row, part) must rise; repeats come directly after, never out of an
 * older row. */
static void check_order(const struct fake_adapter *fake)
{
    for (size_t chat = 0; chat < CHAT_COUNT; chat++) {
        unsigned long long last = 0;
        for (const struct fake_saw *saw = fake_adapter_first_saw(fake); saw != NULL;
             saw = saw->next) {
            if (strcmp(saw->chat, chats[chat]) != 0)
                continue;
            unsigned long long id, part;
            CHECK_INT(2, sscanf(saw->key, "%llu.%llu", &id, &part));
            CHECK(id * 100 + part > last || (id * 100 + part == last && saw->is_repeat));
            last = id * 100 + part;
        }
    }
}

static uint64_t run_seed(uint64_t seed, bool is_idempotent)
{
    struct sma_capabilities capabilities = {.has_idempotency = is_idempotent,
                                            .chat_per_minute = 60,
                                            .chat_burst = 3,
                                            .adapter_per_second = 20};
    chance.state = seed * 77 + 5;
    world_open(&world, seed, capabilities, plan, NULL);
    world.hands_one_of_a_chat = true;
    while (world.row_count < ROW_COUNT) {
        add_rows(1 + draw(60));
        if (draw(3) == 0)
            world_cancel(&world, chats[draw(CHAT_COUNT)], draw(world.row_count * 10 + 1));
        for (int i = 0; i < 10; i++) {
            uint64_t id = 1 + draw(world.row_count);
            if (world.rows[id - 1].has_waiter && world_answer_count_of(&world, id) == 0) {
                world_ask_send(&world, id, world_now(&world) + 1 + draw(30 * WORLD_SECOND));
                world.rows[id - 1].has_waiter = false; /* asked: not again */
                world.rows[id - 1].seq |= 1ull << 63;
            }
        }
        world_run(&world, draw(20 * WORLD_SECOND));
    }
    world_run(&world, 1000000 * WORLD_SECOND);
    for (size_t i = 0; i < world.row_count; i++) {
        CHECK(world.rows[i].is_over); /* "once" is checked where receipts are booked */
        CHECK_INT(world.rows[i].seq >> 63, world_answer_count_of(&world, i + 1));
    }
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, world.credits[0]);
    CHECK_INT(SMA_DELIVER_CREDIT_COUNT, world.credits[1]);
    check_order(world.fakes[0]);
    check_order(world.fakes[1]);
    uint64_t hash = sma_sim_trace_hash(world.system);
    world_close(&world);
    return hash;
}

CASE(every_row_ends_once_in_order)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        (void)run_seed(seed, seed % 2 == 0);
}

CASE(same_seed_same_trace)
{
    uint64_t first = run_seed(99, false);
    CHECK(first == run_seed(99, false));
    CHECK(first != run_seed(100, false));
}

int main(void)
{
    for (unsigned i = 0; i < CHAT_COUNT; i++)
        snprintf(chats[i], sizeof chats[i], "c%u", i);
    check_run_cases(NULL);
    return check_summary();
}
