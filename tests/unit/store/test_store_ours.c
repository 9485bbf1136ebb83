/* Aim: whoever answers a message of the bot in a group speaks to the bot, also when the platform
 * does not say so. Method: the store actor; receipts with the platform's names. */
#include "store_support.h"

static int answer_to(struct world *world, const char *chat, const char *id, const char *reply_to)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = chat,
                                  .user = "u1",
                                  .id = id,
                                  .text = "and that?",
                                  .is_group = true,
                                  .role = SMA_ROLE_MEMBER,
                                  .addressed = SMA_ADDRESSED_NONE,
                                  .reply_to = reply_to});
    run(world);
    int verdict = accepted(&world->test).verdict;
    if (verdict == SMA_VERDICT_ACCEPTED)
        finish_next(world);
    return verdict;
}

/* The bot says something in the group, which the platform calls `id` (and `other`). */
static void speak(struct world *world, const char *id, const char *other)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = "g",
                                  .id = "1",
                                  .text = "hi",
                                  .is_group = true,
                                  .role = SMA_ROLE_MEMBER,
                                  .addressed = SMA_ADDRESSED_MENTION});
    expect_accepted(world);
    uint64_t seq = run_seq(world);
    done(world, seq, "hello", &(struct delivery){.key = "test:chat:g", .text = "hello"}, 1);
    expect_durable(world, SMA_MSG_DONE_DONE);
    struct sma_msg *msg = take(&world->dispatcher, SMA_MSG_DELIVER);
    CHECK(msg != NULL);
    receipt(world,
            &(struct sma_receipt){.outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id,
                                  .state = SMA_DELIVERY_SENT,
                                  .part_count = 1,
                                  .platform_message_id = sma_str(id),
                                  .reply_id = sma_str(other),
                                  .is_final = true});
    sma_msg_destroy(msg);
    run(world);
}

CASE(an_answer_to_the_bot_is_meant_for_it)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":\"anyone\",\"groups\":[\"g\"],\"followupWindowMs\":0}";
    open_world(&world);
    speak(&world, "om_1", "idx_1");
    CHECK_INT(SMA_VERDICT_ACCEPTED, answer_to(&world, "g", "2", "om_1"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, answer_to(&world, "g", "3", "idx_1"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, answer_to(&world, "g:topic:t", "4", "om_1"));
    CHECK_INT(SMA_VERDICT_IGNORED, answer_to(&world, "g", "5", "om_2")); /* somebody else's */
    CHECK_INT(SMA_VERDICT_IGNORED, answer_to(&world, "g", "6", "?"));
    CHECK_INT(SMA_VERDICT_IGNORED, answer_to(&world, "h", "7", "om_1")); /* another chat's */
    restart_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, answer_to(&world, "g", "8", "om_1"));
}

CASES_MAIN
