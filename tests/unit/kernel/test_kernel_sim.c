/*
 * Aim: one seed is one run; another seed is another; virtual time jumps; a crash stops nothing in
 * an orderly way.
 * Method: a fake agent asks a fake store in a loop with random waits, under the seeded scheduler.
 */
#include "sma/messages.h"
#include "sma/sim.h"
#include "support/check.h"

struct asker
{
    unsigned asked, answered, wakes, batches, life;
    uint64_t draws;
    bool has_stopped;
};

static void ask(struct asker *asker, struct sma_ctx *ctx)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_SESSION, struct sma_session_ask, 0);
    CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, NULL));
    asker->asked++;
}

static enum sma_err agent_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)state;
    (void)error;
    CHECK(sma_ctx_loop(ctx) == NULL);
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + SMA_NS_PER_S);
    return SMA_ERR_OK;
}

static void agent_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct asker *asker = state;
    if ((*msg)->kind == SMA_MSG_LIFE) {
        asker->life = SMA_MSG_BODY(*msg, struct sma_life)->phase;
        sma_ctx_life_done(ctx, asker->life);
        return;
    }
    CHECK_INT(SMA_MSG_SESSION_TURNS, (*msg)->kind);
    asker->answered++;
    asker->draws ^= sma_ctx_random(ctx);
}

static void agent_batch_end(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    ((struct asker *)state)->batches++;
}

static void agent_wake(void *state, struct sma_ctx *ctx)
{
    struct asker *asker = state;
    asker->wakes++;
    for (uint64_t i = 1 + sma_ctx_random(ctx) % 5; i > 0; i--)
        ask(asker, ctx);
    if (asker->wakes < 50)
        sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + sma_ctx_random(ctx) % (60 * SMA_NS_PER_S));
}

static void agent_stop(void *state, struct sma_ctx *ctx)
{
    (void)ctx;
    ((struct asker *)state)->has_stopped = true;
}

static void store_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_SESSION_TURNS, struct sma_session_turns, 0);
    sma_ctx_answer(ctx, *msg, &answer);
}

static const struct sma_actor_ops agent_ops = {.name = "agent",
                                               .is_on_loop = true,
                                               .start = agent_start,
                                               .handle = agent_handle,
                                               .batch_end = agent_batch_end,
                                               .wake = agent_wake,
                                               .stop = agent_stop};
static const struct sma_actor_ops store_ops = {.name = "store", .handle = store_handle};

static struct sma_system *create(uint64_t seed, struct asker *asker)
{
    *asker = (struct asker){0};
    struct sma_system *system =
        sma_system_create(&(struct sma_system_options){.is_simulated = true, .seed = seed});
    CHECK(system != NULL);
    CHECK_OK(sma_system_add(system, SMA_ACTOR_STORE, &store_ops, NULL));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_AGENT, &agent_ops, asker));
    CHECK_OK(sma_system_start(system, NULL));
    return system;
}

static uint64_t hash_of(uint64_t seed, struct asker *asker)
{
    struct sma_system *system = create(seed, asker);
    CHECK(sma_sim_run(system, 100000, UINT64_MAX) > 50);
    CHECK(!sma_sim_step(system));
    uint64_t hash = sma_sim_trace_hash(system);
    CHECK(sma_sim_now(system) >
          60 * SMA_NS_PER_S); /* fifty waits of up to a minute took no time at all */
    sma_system_destroy(system);
    CHECK(asker->has_stopped);
    CHECK_INT(50, asker->wakes);
    CHECK(asker->asked >= 50 && asker->asked == asker->answered);
    return hash;
}

ENDING(sma_system_destroy, struct sma_system)

CASE(one_seed_is_one_run)
{
    struct asker first, second;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        CHECK(hash_of(seed, &first) == hash_of(seed, &second));
        CHECK(memcmp(&first, &second, sizeof first) == 0);
    }
}

CASE(another_seed_is_another_run)
{
    struct asker asker;
    uint64_t hashes[20];
    for (uint64_t seed = 0; seed < 20; seed++) {
        hashes[seed] = hash_of(seed, &asker);
        for (uint64_t other = 0; other < seed; other++)
            CHECK(hashes[seed] != hashes[other]);
    }
}

CASE(time_stops_where_told)
{
    struct asker asker;
    SMA_AUTO(sma_system_destroyp) struct sma_system *system = create(7, &asker);
    uint64_t begin = sma_sim_now(system);
    CHECK_INT(0, (long long)sma_sim_run(
                     system, 100, begin + SMA_NS_PER_S / 2)); /* the first wake is in one second */
    CHECK_INT((long long)(begin + SMA_NS_PER_S / 2), (long long)sma_sim_now(system));
    CHECK_INT(0, asker.wakes);
    sma_sim_advance(system, SMA_NS_PER_S);
    CHECK(sma_sim_step(system));
    CHECK_INT(1, asker.wakes);
    const struct sma_ctx *ctx = sma_system_ctx(system, SMA_ACTOR_AGENT);
    int64_t wall = sma_ctx_wall(ctx);
    uint64_t now = sma_ctx_now(ctx);
    sma_sim_shift_wall(system, -3600000);
    CHECK_INT(wall - 3600000, sma_ctx_wall(ctx));
    CHECK(now == sma_ctx_now(ctx));
}

CASE(life_reaches_actors_and_comes_back)
{
    struct asker asker;
    SMA_AUTO(sma_system_destroyp) struct sma_system *system = create(3, &asker);
    sma_sim_life(system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN);
    CHECK(!sma_sim_life_is_done(system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    (void)sma_sim_run(system, 100000, UINT64_MAX);
    CHECK(sma_sim_life_is_done(system, SMA_ACTOR_AGENT, SMA_PHASE_DRAIN));
    CHECK_INT(SMA_PHASE_DRAIN, asker.life);
}

CASE(a_crash_stops_nobody)
{
    struct asker asker;
    struct sma_system *system = create(5, &asker);
    (void)sma_sim_run(system, 20, UINT64_MAX);
    sma_sim_crash(system);
    CHECK(!sma_sim_step(system));
    sma_system_destroy(system);
    CHECK(!asker.has_stopped);
}

/* Hand-offs share the lane with answers; as many as fit leave room for every answer that may still
 * come. */
CASE(hand_offs_leave_room_for_the_answers)
{
    struct asker asker;
    SMA_AUTO(sma_system_destroyp) struct sma_system *system = create(1, &asker);
    struct sma_ctx *agent = sma_system_ctx(system, SMA_ACTOR_AGENT);
    struct sma_ctx *store = sma_system_ctx(system, SMA_ACTOR_STORE);
    static uint64_t ids[SMA_ASK_STORE_COUNT_MAX];
    struct sma_msg *msg;
    for (size_t i = 0; i < SMA_ASK_STORE_COUNT_MAX; i++) {
        msg = SMA_MSG_NEW(SMA_MSG_SESSION, struct sma_session_ask, 0);
        CHECK_OK(sma_ctx_ask(agent, SMA_ACTOR_STORE, &msg, 0, &ids[i]));
    }
    size_t count = 0;
    enum sma_err err;
    for (;; count++) {
        msg = SMA_MSG_NEW(SMA_MSG_CONTROL, struct sma_control_order, 0);
        err = sma_ctx_send(store, SMA_ACTOR_AGENT, &msg);
        if (err != SMA_ERR_OK)
            break;
    }
    CHECK_INT(SMA_ERR_FULL, err);
    sma_msg_destroy(msg); /* kept by a refusal */
    CHECK(count > SMA_CONCURRENCY_MAX);
    for (size_t i = 0; i < SMA_ASK_STORE_COUNT_MAX; i++) {
        msg = SMA_MSG_NEW(SMA_MSG_SESSION_TURNS, struct sma_session_turns, 0);
        sma_ctx_answer_to(store, SMA_ACTOR_AGENT, ids[i], &msg);
        CHECK(msg == NULL);
    }
    sma_sim_crash(system);
}

CASES_MAIN
