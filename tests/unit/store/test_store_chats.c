/*
 * Aim: what `chats` says of a chat holds there and nowhere else: who is answered.
 * Method: the store actor between actors that keep what they get.
 */
#include "people_support.h"

#include "sma/chats.h"

static void reload(struct world *world)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 0);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &world->config;
    sma_store_actor_ops.handle(world->store, &msg, world->store->ctx);
    sma_msg_destroyp(&msg);
    run(world);
}

static int verdict_in(struct world *world, const char *chat, const char *id, const char *user)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = chat, .id = id, .text = "hello", .user = user});
    run(world);
    int verdict = accepted(&world->test).verdict;
    while (run_seq(world) != 0)
        continue;
    return verdict;
}

/* One platform, three chats, three rules. */
static void access_is_the_chats_own_where_it_says_so(void)
{
    static const struct sma_chat_rule rules[] = {
        {.pattern = "test:chat:open*", .access_json = "{\"access\":\"anyone\"}"},
        {.pattern = "test:chat:few", .access_json = "{\"access\":[\"ann\"]}"},
        {.pattern = "other:chat:*", .access_json = "{\"access\":\"anyone\"}"}};
    struct world world;
    make_world(&world);
    world.config.agent_concurrency = 8;
    world.test_json = "{}"; /* paired */
    world.config.chats = rules;
    world.config.chat_count = SMA_COUNT_OF(rules);
    open_world(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "one", "1", "ann"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, verdict_in(&world, "open1", "2", "bob"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, verdict_in(&world, "few", "3", "ann"));
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "few", "4", "bob"));
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "other", "5", "bob"));
    world.config.chat_count = 0; /* SIGHUP with fewer entries, and with none */
    reload(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "open2", "6", "eve"));
    world.config.chat_count = 1;
    reload(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, verdict_in(&world, "open3", "7", "joe"));
    CHECK_INT(SMA_VERDICT_IGNORED, verdict_in(&world, "few", "8", "ann2"));
    end_world(&world);
}

int main(void)
{
    RUN(access_is_the_chats_own_where_it_says_so);
    return check_summary();
}
