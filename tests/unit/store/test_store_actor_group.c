/* Aim: pieces of an album are one message. Method: the store actor between actors that keep what
 * they get. */
#include "store_support.h"

#include "actors/store/intake_priv.h"
#include "actors/store/runs_priv.h"
#include "runtime/chat/state_vfs.h"

#define PIECE(number, ...) \
    (&(struct saying){     \
        .chat = "a", .id = (number), .text = "piece " number, .group_key = "album", __VA_ARGS__})
#define MS UINT64_C(1000000)

static bool is_full;

static enum sma_state_vfs_action fail_when_full(enum sma_state_vfs_role role,
                                                enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    return is_full && is_wal && call == SMA_STATE_VFS_WRITE ? SMA_STATE_VFS_FAIL_FULL
                                                            : SMA_STATE_VFS_PASS;
}

/* The next RUN as text: "<seq>:<collected> <collected>" */
static const char *order(struct world *world)
{
    static char text[512];
    struct sma_msg *msg = next_run(world);
    if (msg == NULL)
        return "";
    const struct sma_run_order *run_order = SMA_MSG_BODY(msg, struct sma_run_order);
    int len = snprintf(text, sizeof text, "%d:", (int)run_order->seq);
    for (uint32_t i = 0; i < run_order->collected_count; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, "%s%d", i > 0 ? " " : "",
                        (int)run_order->collected[i].seq);
    sma_msg_destroy(msg);
    return text;
}
#define CHECK_ORDER(wanted, world) CHECK_STR(wanted, sma_str(order(world)))

static void finish(struct world *world, uint64_t seq)
{
    done(world, seq, "ok", NULL, 0);
    expect_durable(world, SMA_MSG_DONE_DONE);
}

CASE(pieces_run_together_after_the_quiet_time)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, PIECE("1"));
    run_for(&world, 500 * MS);
    (void)say_as(&world, TEST, PIECE("2"));
    run_for(&world, 500 * MS);
    (void)say_as(&world, TEST, PIECE("3"));
    say(&world, "b", "4", "others pass");
    run_for(&world, 500 * MS);
    CHECK_ORDER("4:", &world);
    CHECK_ORDER("", &world);
    finish(&world, 4);
    run_for(&world, 300 * MS);
    CHECK_ORDER("1:2 3", &world);
    CHECK_INT(0, (int)world.store->intake->group_count);
    await(&world, TEST, 3, true, "");
    finish(&world, 1);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    /* what comes after is a message of its own */
    (void)say_as(&world, TEST, PIECE("5"));
    run_for(&world, SECOND);
    CHECK_ORDER("5:", &world);
}

CASE(message_between_pieces_keeps_its_place)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, PIECE("1"));
    say(&world, "a", "2", "of somebody else");
    (void)say_as(&world, TEST, PIECE("3"));
    run_for(&world, SECOND);
    CHECK_ORDER("1:3", &world);
    finish(&world, 1);
    CHECK_ORDER("2:", &world);
}

CASE(recorded_pieces_join_an_addressed_one)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST,
                 PIECE("1", .is_group = true, .addressed = SMA_ADDRESSED_NONE, .preparation = "p"));
    run(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    (void)say_as(&world, TEST, PIECE("2", .is_group = true, .addressed = SMA_ADDRESSED_MENTION));
    (void)say_as(&world, TEST, PIECE("3", .is_group = true, .addressed = SMA_ADDRESSED_NONE));
    run_for(&world, SECOND);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world.test).verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world.test).verdict);
    CHECK_ORDER("", &world); /* the first is being prepared */
    crash_world(&world);
    CHECK_INT(1, (int)prepare(&world, SMA_ROLE_UNKNOWN, "fetched"));
    run(&world);
    CHECK_ORDER("", &world); /* quiet again after the restart */
    run_for(&world, SECOND);
    CHECK_ORDER("2:1 3", &world);
    finish(&world, 2);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    /* nobody addressed: recorded, and forgotten soon */
    (void)say_as(&world, TEST, PIECE("4", .is_group = true, .addressed = SMA_ADDRESSED_NONE));
    run_for(&world, SECOND);
    CHECK_INT(0, (int)world.store->intake->group_count);
    (void)say_as(&world, TEST, PIECE("5", .is_group = true, .addressed = SMA_ADDRESSED_MENTION));
    run_for(&world, SECOND);
    CHECK_ORDER("5:", &world);
}

/* The addressed piece is accepted and runs; the one that cannot be read stays recorded. */
CASE(a_damaged_recorded_piece_is_left_out)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    for (int i = 0; i < 2; i++)
        (void)say_as(&world, TEST,
                     &(struct saying){.chat = "g",
                                      .id = i == 0 ? "1" : "2",
                                      .text = "a picture",
                                      .group_key = "k",
                                      .is_group = true,
                                      .addressed = SMA_ADDRESSED_NONE});
    run(&world);
    CHECK_OK(sma_store_begin(world.store));
    CHECK_OK(sma_state_set_facts(world.store->state, 1, SMA_STR("\x7f damaged")));
    sma_store_end_batch(world.store);
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "g",
                                  .id = "3",
                                  .text = "look",
                                  .group_key = "k",
                                  .is_group = true,
                                  .role = SMA_ROLE_MEMBER,
                                  .addressed = SMA_ADDRESSED_MENTION});
    run(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world.test).verdict);
    run_for(&world, SECOND);
    struct sma_msg *msg = take(&world.agent, SMA_MSG_RUN);
    CHECK(msg != NULL);
    CHECK_INT(1, (int)SMA_MSG_BODY(msg, struct sma_run_order)->collected_count);
    sma_msg_destroy(msg);
    struct sma_state_head head;
    CHECK_OK(sma_state_head_get(world.store->state, 1, &head));
    CHECK_INT(SMA_ROW_IGNORED, head.state);
}

CASE(refused_person_is_refused_with_all_pieces)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":\"anyone\",\"groups\":[\"a\"]}";
    open_world(&world);
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "a",
                                  .id = "0",
                                  .text = "first",
                                  .user = "boss",
                                  .is_group = true,
                                  .role = SMA_ROLE_MEMBER,
                                  .addressed = SMA_ADDRESSED_MENTION});
    run(&world);
    CHECK_ORDER("1:", &world);
    finish(&world, 1);
    (void)say_as(&world, TEST, PIECE("2", .is_group = true, .addressed = SMA_ADDRESSED_MENTION));
    (void)say_as(&world, TEST,
                 PIECE("3", .is_group = true, .addressed = SMA_ADDRESSED_NONE, .preparation = "p"));
    run(&world);
    CHECK_INT(2, (int)prepare(&world, SMA_ROLE_MEMBER, ""));
    run_for(&world, SECOND);
    CHECK_ORDER("", &world);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    CHECK_INT(0, (int)world.store->intake->group_count);
    CHECK_INT(3, (int)prepare(&world, SMA_ROLE_UNKNOWN, "nobody listens"));
    run(&world);
    say(&world, "a", "4", "on");
    run(&world);
    CHECK_ORDER("4:", &world);
}

CASE(stop_ends_an_album)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, PIECE("1"));
    (void)say_as(&world, TEST, PIECE("2", .preparation = "p"));
    run(&world);
    command(&world, "a", "3", SMA_CONTROL_STOP);
    run(&world);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    CHECK_INT(0, (int)world.store->intake->group_count);
    (void)say_as(&world, TEST, PIECE("4"));
    run_for(&world, SECOND);
    CHECK_ORDER("4:", &world);
}

CASE(full_album_starts_and_the_rest_is_the_next)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    for (int i = 1; i <= SMA_GROUP_COUNT_MAX + 2; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", i);
        (void)say_as(&world, TEST,
                     &(struct saying){.chat = "a", .id = id, .text = "x", .group_key = "k"});
    }
    run(&world);
    struct sma_msg *msg = next_run(&world);
    CHECK(msg != NULL);
    CHECK_INT(SMA_GROUP_COUNT_MAX - 1, SMA_MSG_BODY(msg, struct sma_run_order)->collected_count);
    sma_msg_destroy(msg);
    finish(&world, 1);
    run_for(&world, SECOND);
    CHECK_ORDER("33:34", &world);
}

CASE(collect_takes_whole_albums)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.config.queue_mode = SMA_QUEUE_COLLECT;
    open_world(&world);
    say(&world, "a", "1", "long work");
    run(&world);
    CHECK_ORDER("1:", &world);
    (void)say_as(&world, TEST, PIECE("2"));
    (void)say_as(&world, TEST, PIECE("3"));
    say(&world, "a", "4", "after it");
    run_for(&world, SECOND);
    finish(&world, 1);
    CHECK_ORDER("4:2 3", &world);
    crash_world(&world);
    CHECK_ORDER("4:2 3", &world);
}

CASE(undone_batch_leaves_no_piece)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, PIECE("1"));
    run(&world);
    /* a second piece comes in a batch that fails */
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress, 256);
    struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    in->route = route_of(TEST, "test:chat:a");
    in->event_key = SMA_STR("2");
    in->text = SMA_STR("piece 2");
    in->group_key = SMA_STR("album");
    msg->from = TEST;
    uint64_t ask_id = say_as(&world, TEST, &(struct saying){.chat = "z", .id = "z", .text = "z"});
    msg->ask_id = ask_id; /* answered in place of that one, which stays in the mailbox */
    sma_store_ingress(world.store, &msg);
    sma_msg_destroyp(&msg);
    CHECK_INT(1, world.store->runs->orphan_count);
    sma_store_fail_batch(world.store, SMA_ERR_NOSPACE);
    CHECK_INT(0, world.store->runs->orphan_count);
    CHECK_INT(1, (int)world.store->intake->group_count);
    CHECK_INT(1, world.store->intake->gathering.first->piece_count);
    sma_sim_crash(world.system);
    close_system(&world);
    open_world(&world);
    run_for(&world, SECOND);
    CHECK_ORDER("1:", &world);
}

/* The addressed piece comes in a batch that fails, and again: what was recorded before it joins all
 * the same. */
CASE(an_undone_leader_leaves_what_was_recorded)
{
    SMA_AUTO(end_world) struct world world;
    new_world(&world);
    (void)say_as(&world, TEST, PIECE("1", .is_group = true, .addressed = SMA_ADDRESSED_NONE));
    run(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, accepted(&world.test).verdict);
    is_full = true;
    (void)say_as(&world, TEST, PIECE("2", .is_group = true, .addressed = SMA_ADDRESSED_MENTION));
    run(&world);
    is_full = false;
    CHECK_INT(SMA_VERDICT_REFUSED, accepted(&world.test).verdict);
    (void)say_as(&world, TEST, PIECE("2", .is_group = true, .addressed = SMA_ADDRESSED_MENTION));
    run_for(&world, 3 * SECOND);
    CHECK_INT(SMA_VERDICT_ACCEPTED, accepted(&world.test).verdict);
    CHECK_ORDER("2:1", &world);
    CHECK_INT(0, (int)world.store->intake->group_count);
}

/* The client cut a long text: one message again, with nothing between, whichever piece spoke to us
 * and however it is loaded. */
CASE(a_text_in_pieces_is_one_message)
{
    for (int addressed = 1; addressed <= 3; addressed++) {
        struct world world;
        new_world(&world);
        for (int i = 1; i <= 3; i++) {
            static const char *const ids[] = {"", "1", "2", "3"}, *const texts[] = {"", "first hal",
                                                                                    "f and the ",
                                                                                    "rest"};
            (void)say_as(&world, TEST,
                         &(struct saying){.chat = "g",
                                          .id = ids[i],
                                          .text = texts[i],
                                          .group_key = "paste:1",
                                          .is_group = true,
                                          .role = SMA_ROLE_MEMBER,
                                          .addressed = i == addressed ? SMA_ADDRESSED_MENTION
                                                                      : SMA_ADDRESSED_NONE});
        }
        (void)say_as(&world, TEST,
                     &(struct saying){.chat = "a", .id = "7", .text = "p", .group_key = "album"});
        run_for(&world, 1000 * MS);
        CHECK_ORDER("4:", &world); /* the album has a shorter time, and waits for no paste */
        finish(&world, 4);
        CHECK_ORDER("", &world);
        run_for(&world, 600 * MS);
        struct sma_msg *msg = next_run(&world);
        CHECK(msg != NULL);
        const struct sma_run_order *one = SMA_MSG_BODY(msg, struct sma_run_order);
        CHECK_STR("first half and the rest", one->text);
        CHECK_INT(2, (int)one->collected_count);
        CHECK(one->collected[0].is_piece && one->collected[0].text.len == 0);
        CHECK(one->collected[1].is_piece && one->collected[1].text.len == 0);
        sma_msg_destroy(msg);
        end_world(&world);
    }
}

int main(void)
{
    sma_state_vfs_set_hook(fail_when_full);
    check_run_cases(NULL);
    return check_summary();
}
