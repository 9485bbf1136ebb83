/* Aim: codes and confirmations are as durable as messages. Method: the store actor between actors
 * that keep what they get; crashes, failed commits, and death at every write below SQLite. */
#include "people_support.h"

#include "runtime/chat/state_vfs.h"

CASE(a_crash_loses_neither_code_nor_confirmation)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    crash_world(&world);
    CHECK(strstr(listed(&world), code) != NULL);
    CHECK_INT(200, approve(&world, code));
    crash_world(&world);
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    CHECK(count_kept(&world.dispatcher, SMA_MSG_DELIVER) == 1);
    finish_next(&world);
    CHECK(run_seq(&world) == 0);
}

/* The transaction of a confirmation fails: nothing of it has happened, and it can be said again. */
CASE(a_failed_commit_confirms_nothing)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "eve", "1", "hello");
    char code[16];
    snprintf(code, sizeof code, "%s", code_in(told(&world, "eve")));
    struct sma_route route = route_of(API, "api:chat:x");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide, 512);
    struct sma_decide *body = SMA_MSG_BODY(msg, struct sma_decide);
    *body = (struct sma_decide){.kind = SMA_DECIDE_PAIRING, .is_approved = true, .standing = 1};
    body->route = sma_route_dup(msg, &route);
    body->id = sma_msg_dup(msg, sma_str(code));
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    CHECK_OK(sma_store_begin(world.store));
    CHECK_OK(sma_store_person_put(world.store, SMA_STR("test"), SMA_STR("eve"), SMA_ACCESS_OWNER,
                                  "paired"));
    CHECK_INT(SMA_STANDING_OWNER, standing_of(&world, "eve"));
    sma_store_fail_batch(world.store, SMA_ERR_IO);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    run(&world);
    sma_msg_destroy(take(&world.api, SMA_MSG_DECIDED));
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
}

/* The program dies at the n-th write below SQLite, for every n; with it the write fails. In the end
 * the person is a member, has been told, and what he wrote has been started once. */
static int writes_left;
static bool is_dead;
static enum sma_state_vfs_action die_at_write(enum sma_state_vfs_role role,
                                              enum sma_state_vfs_call call, bool is_wal)
{
    (void)role;
    if (!is_wal || call != SMA_STATE_VFS_WRITE)
        return SMA_STATE_VFS_PASS;
    if (!is_dead && writes_left-- > 0)
        return SMA_STATE_VFS_PASS;
    is_dead = true;
    return SMA_STATE_VFS_FAIL_FULL;
}

static void collect(struct world *world, char *code, int *codes, int *welcomes, int *runs)
{
    for (struct sma_msg *msg; (msg = deliver(world)) != NULL; sma_msg_destroy(msg)) {
        const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
        char text[512];
        snprintf(text, sizeof text, "%.*s", (int)body->text.len, body->text.ptr);
        if (strstr(text, "approve ") != NULL) {
            snprintf(code, 16, "%s", code_in(text));
            (*codes)++;
        }
        *welcomes += strstr(text, "You can talk") != NULL;
        receipt(world, &(struct sma_receipt){.outbox_id = body->outbox_id,
                                             .part_count = 1,
                                             .state = SMA_DELIVERY_SENT,
                                             .is_final = true});
        run(world);
    }
    for (struct sma_msg *msg; (msg = next_run(world)) != NULL; sma_msg_destroy(msg)) {
        CHECK_STR("hello", SMA_MSG_BODY(msg, struct sma_run_order)->text);
        (*runs)++;
        done(world, SMA_MSG_BODY(msg, struct sma_run_order)->seq, "ok", NULL, 0);
        run(world);
    }
}

static void say_hello(struct world *world)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = "eve", .user = "eve", .id = "1", .text = "hello"});
    run(world);
}

static void try_to_approve(struct world *world, const char *code)
{
    struct sma_route route = route_of(API, "api:chat:x");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_DECIDE, struct sma_decide, 512);
    struct sma_decide *body = SMA_MSG_BODY(msg, struct sma_decide);
    *body = (struct sma_decide){.kind = SMA_DECIDE_PAIRING, .is_approved = true, .standing = 1};
    body->route = sma_route_dup(msg, &route);
    body->id = sma_msg_dup(msg, sma_str(code));
    CHECK_OK(sma_ctx_ask(sma_system_ctx(world->system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(world);
}

static bool die_once(int write)
{
    struct world world;
    char code[16] = "";
    int codes = 0, welcomes = 0, runs = 0;
    start_paired(&world);
    writes_left = write;
    is_dead = false;
    sma_state_vfs_set_hook(die_at_write);
    for (int life = 0; life < 2; life++) {
        say_hello(&world); /* the platform delivers again what was not accepted */
        if (code[0] == '\0')
            collect(&world, code, &codes, &welcomes, &runs);
        if (code[0] != '\0' && standing_of(&world, "eve") == SMA_STANDING_STRANGER)
            try_to_approve(&world, code);
        if (life == 0)
            collect(&world, code, &codes, &welcomes, &runs);
        bool has_died = is_dead;
        sma_state_vfs_set_hook(NULL);
        if (life == 0)
            crash_world(&world);
        if (life == 0 && !has_died) {
            collect(&world, code, &codes, &welcomes, &runs);
            CHECK_INT(1, welcomes);
            CHECK(runs == 1);
            end_world(&world);
            return false;
        }
    }
    collect(&world, code, &codes, &welcomes, &runs);
    restart_world(&world);
    collect(&world, code, &codes, &welcomes, &runs);
    CHECK(code[0] != '\0');
    CHECK_INT(SMA_STANDING_MEMBER, standing_of(&world, "eve"));
    CHECK(codes >= 1 && welcomes >= 1 && runs >= 1);
    CHECK_INT(0, (int)sma_state_open_count(world.store->state));
    CHECK_INT(1, (int)count_of(history(&world, "test%3Achat%3Aeve"), "\"text\":\"hello\""));
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    end_world(&world);
    return true;
}

CASE(death_at_any_write_loses_nothing)
{
    int write = 0;
    while (die_once(write))
        write++;
    CHECK(write >= 4);
}

CASES_MAIN
