/* Aim: whoever was known by another id of his keeps what he may do, and nobody else gets it.
 * Method: the store actor; events that name both ids. */
#include "people_support.h"

static int say_under(struct world *world, const char *who, const char *alias, const char *id)
{
    (void)say_as(
        world, TEST,
        &(struct saying){.chat = "p", .user = who, .alias = alias, .id = id, .text = "hello"});
    run(world);
    int verdict = accepted(&world->test).verdict;
    if (verdict == SMA_VERDICT_ACCEPTED)
        finish_next(world);
    drop_kept(&world->dispatcher);
    return verdict;
}

static enum sma_standing standing_now(struct world *world, const char *who)
{
    const struct sma_route route = {.channel = SMA_STR("test"), .user_id = sma_str(who)};
    return sma_store_standing(world->store, NULL, &route, false);
}

static void put_person(struct world *world, const char *who, enum sma_access_standing standing,
                       const char *via)
{
    CHECK_OK(sma_store_begin(world->store));
    CHECK_OK(sma_store_person_put(world->store, SMA_STR("test"), sma_str(who), standing, via));
    sma_store_end_batch(world->store);
    run(world);
}

CASE(a_paired_person_stays_who_he_is)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{}";
    open_world(&world);
    put_person(&world, "u1", SMA_ACCESS_OWNER, "paired");
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_under(&world, "ou_1", "u1", "1"));
    CHECK_INT(SMA_STANDING_OWNER, standing_now(&world, "ou_1"));
    CHECK_INT(SMA_STANDING_STRANGER, standing_now(&world, "u1")); /* it went over */
    /* the right to see the other id is gone again */
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_under(&world, "ou_1", NULL, "2"));
    restart_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_under(&world, "ou_1", NULL, "3"));
    /* nobody else is he */
    CHECK_INT(SMA_VERDICT_IGNORED, say_under(&world, "ou_2", "u2", "4"));
    CHECK_INT(SMA_STANDING_STRANGER, standing_now(&world, "ou_2"));
}

CASE(who_is_named_in_the_configuration_stays_named)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":[\"u2\"]}";
    world.config.permissions_json = "{\"roles\":{\"owner\":[\"test:u1\"]}}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_under(&world, "ou_1", "u1", "1"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_under(&world, "ou_2", "u2", "2"));
    restart_world(&world);
    CHECK_INT(SMA_STANDING_OWNER, standing_now(&world, "ou_1"));
    CHECK_INT(SMA_STANDING_MEMBER, standing_now(&world, "ou_2"));
}

/* Refused under the one id is refused under the other; of two words the newer counts. */
CASE(the_newer_word_counts)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{}";
    open_world(&world);
    put_person(&world, "ou_1", SMA_ACCESS_OWNER, "paired");
    pass(&world, 60);
    put_person(&world, "u1", SMA_ACCESS_STRANGER, "rejected");
    CHECK_INT(SMA_VERDICT_IGNORED, say_under(&world, "ou_1", "u1", "1"));
    CHECK_INT(SMA_STANDING_STRANGER, standing_now(&world, "ou_1"));
    put_person(&world, "u2", SMA_ACCESS_MEMBER, "paired");
    pass(&world, 60);
    put_person(&world, "ou_2", SMA_ACCESS_OWNER, "paired");
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_under(&world, "ou_2", "u2", "2"));
    CHECK_INT(SMA_STANDING_OWNER, standing_now(&world, "ou_2"));
}

CASE(of_strangers_nothing_is_kept)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, say_under(&world, "ou_9", "u9", "1"));
    CHECK(!world.store->people->has_aliases);
}

CASES_MAIN
