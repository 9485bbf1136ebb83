/* Aim: everybody has the highest standing that the configuration, a pairing, a list or the platform
 * gives, until it is taken away; the store knows where owners and administrators can be asked.
 * Method: the store actor between actors that keep what they get. */
#include "people_support.h"

/* -- homes ------------------------------------------------------------------------------------- */
CASE(homes_are_owners_then_administrators)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{}";
    world.config.permissions_json = "{\"roles\":{\"owner\":[\"test:boss\",\"test:second\"],"
                                    "\"admin\":[\"test:adm\"],\"member\":[\"test:mem\"]}}";
    open_world(&world);
    static const char *const people[] = {"adm", "boss", "mem", "second"};
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++) {
        CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, people[i], people[i], "hello"));
        finish_next(&world);
    }
    restart_world(&world);
    struct sma_route homes[4];
    struct sma_buf storage;
    sma_buf_init(&storage, 1 << 16);
    CHECK_INT(3, (int)sma_store_approver_routes(world.store, SMA_STR("test:group:g"), homes, 4,
                                                &storage));
    CHECK_STR("boss", homes[0].user_id);
    CHECK_STR("test:chat:boss", homes[0].chat_key);
    CHECK_INT(TEST, homes[0].adapter);
    CHECK_STR("second", homes[1].chat_id);
    CHECK_STR("adm", homes[2].user_id);
    CHECK_INT(1, (int)sma_store_approver_routes(world.store, SMA_STR("test:chat:boss"), homes, 1,
                                                &storage));
    CHECK_STR("second", homes[0].user_id);
    /* an administrator's word ends with the platform */
    CHECK_INT(2, (int)sma_store_approver_routes(world.store, SMA_STR("other:chat:1"), homes, 4,
                                                &storage));
    sma_buf_fini(&storage);
}

CASE(a_home_is_written_when_it_changes)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    struct sma_buf value;
    sma_buf_init(&value, 4096);
    (void)write_as(&world, "boss", "1", "hello");
    finish_next(&world);
    CHECK_OK(sma_state_access_get(world.store->state, SMA_STR("home/test/boss"), &value));
    CHECK(strstr(value.ptr, "\"chatKey\":\"test:chat:boss\"") != NULL);
    /* from another chat: the last one counts */
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "elsewhere", .user = "boss", .id = "2", .text = "hi"});
    run(&world);
    finish_next(&world);
    sma_buf_clear(&value);
    CHECK_OK(sma_state_access_get(world.store->state, SMA_STR("home/test/boss"), &value));
    CHECK(strstr(value.ptr, "\"chatKey\":\"test:chat:elsewhere\"") != NULL);
    /* a group is no home */
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "g",
                                  .user = "boss",
                                  .id = "3",
                                  .text = "hi",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_MENTION});
    run(&world);
    finish_next(&world);
    sma_buf_clear(&value);
    CHECK_OK(sma_state_access_get(world.store->state, SMA_STR("home/test/boss"), &value));
    CHECK(strstr(value.ptr, "elsewhere") != NULL);
    sma_buf_fini(&value);
}

/* -- what is remembered ------------------------------------------------------------------------ */
static enum sma_access_standing read_standing(struct world *world)
{
    struct store_person person;
    CHECK_OK(sma_store_person_get(world->store, SMA_STR("test"), SMA_STR("ann"), &person));
    return person.standing;
}

CASE(what_is_remembered_of_people_follows_change_and_undo)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    CHECK_INT(SMA_ACCESS_STRANGER, read_standing(&world)); /* remembered from now on */
    CHECK_OK(sma_store_begin(world.store));
    CHECK_OK(sma_store_person_put(world.store, SMA_STR("test"), SMA_STR("ann"), SMA_ACCESS_ADMIN,
                                  "paired"));
    CHECK_INT(SMA_ACCESS_ADMIN, read_standing(&world));
    CHECK_INT(SMA_ACCESS_ADMIN, read_standing(&world));
    sma_store_fail_batch(world.store, SMA_ERR_NOSPACE);
    CHECK_INT(SMA_ACCESS_STRANGER, read_standing(&world));
}

/* -- standing ---------------------------------------------------------------------------------- */
CASE(standing_is_the_highest_that_somebody_has)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":[\"lis\"],\"adminUserIds\":[\"gad\"]}";
    world.config.permissions_json = "{\"roles\":{\"admin\":[\"test:chat:g:user:long\"]}}";
    open_world(&world);
    CHECK_OK(sma_store_begin(world.store));
    struct sma_state_chat *chat;
    CHECK_OK(
        sma_state_chat_open(world.store->state, SMA_STR("test:chat:g"), SMA_STR("test"), &chat));
    struct store_chat *group = sma_store_chat(world.store, chat);
    CHECK_OK(sma_store_person_put(world.store, SMA_STR("test"), SMA_STR("old"), SMA_ACCESS_MEMBER,
                                  "history"));
    CHECK_OK(sma_store_person_put(world.store, SMA_STR("test"), SMA_STR("prd"), SMA_ACCESS_MEMBER,
                                  "paired"));
    sma_store_note_role(world.store, group, SMA_STR("pla"), SMA_ROLE_ADMIN);
    struct sma_route place = route_of(TEST, "test:chat:g");
    place.user_id = SMA_STR("pla");
    CHECK_INT(SMA_STANDING_STRANGER, sma_store_standing(world.store, group, &place, true));
    CHECK_OK(sma_store_group_say(world.store, &place, "paired", NULL));
    sma_store_note_role(world.store, group, SMA_STR("prd"), SMA_ROLE_MEMBER);
    static const struct
    {
        const char *user;
        enum sma_standing in_private, in_group;
        bool is_role_known;
    } rows[] = {
        {"lis", SMA_STANDING_MEMBER, SMA_STANDING_MEMBER, false},
        {"gad", SMA_STANDING_STRANGER, SMA_STANDING_ADMIN, true},
        {"long", SMA_STANDING_STRANGER, SMA_STANDING_ADMIN, true},
        {"old", SMA_STANDING_STRANGER, SMA_STANDING_STRANGER, false}, /* the list outweighs it */
        {"prd", SMA_STANDING_MEMBER, SMA_STANDING_MEMBER, true},
        {"pla", SMA_STANDING_STRANGER, SMA_STANDING_ADMIN, true},
        {"new", SMA_STANDING_STRANGER, SMA_STANDING_STRANGER, false},
        {"", SMA_STANDING_STRANGER, SMA_STANDING_STRANGER, true},
    };
    for (int twice = 0; twice < 2; twice++) { /* read, then remembered */
        for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
            struct sma_route route = route_of(TEST, "test:chat:p");
            route.user_id = sma_str(rows[i].user);
            CHECK_INT(rows[i].in_private, sma_store_standing(world.store, NULL, &route, false));
            route = route_of(TEST, "test:chat:g");
            route.user_id = sma_str(rows[i].user);
            CHECK_INT(rows[i].in_group, sma_store_standing(world.store, group, &route, true));
            CHECK_INT(rows[i].is_role_known,
                      sma_store_role_is_known(world.store, group, &route, true));
        }
        if (twice == 0)
            sma_store_end_batch(world.store);
    }
    struct sma_route api = route_of(API, "api:chat:x");
    CHECK_INT(SMA_STANDING_OWNER, sma_store_standing(world.store, NULL, &api, false));
    /* roles of the platform are forgotten */
    sma_sim_advance(world.system, 601 * SECOND);
    struct sma_route route = route_of(TEST, "test:chat:g");
    route.user_id = SMA_STR("pla");
    CHECK_INT(SMA_STANDING_STRANGER, sma_store_standing(world.store, group, &route, true));
    CHECK(!sma_store_role_is_known(world.store, group, &route, true));
}

/* A role that is taken away counts no more with the next message, nor does the home that came with
 * it. */
CASE(roles_are_read_again)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)write_as(&world, "boss", "1", "hello");
    finish_next(&world);
    struct sma_config changed = world.config;
    changed.permissions_json = "{\"roles\":{\"owner\":[\"test:second\"]}}";
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 0);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &changed;
    sma_store_actor_ops.handle(world.store, &msg, world.store->ctx);
    sma_msg_destroyp(&msg);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "boss"));
    CHECK_INT(SMA_STANDING_OWNER, standing_of(&world, "second"));
    struct sma_route homes[4];
    struct sma_buf storage;
    sma_buf_init(&storage, 1 << 16);
    CHECK_INT(
        0, (int)sma_store_approver_routes(world.store, SMA_STR("test:chat:x"), homes, 4, &storage));
    sma_buf_fini(&storage);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "boss", "2", "hello"));
    CHECK(strstr(told(&world, "boss"), "paired") != NULL);
    /* what cannot be read gives nobody anything */
    changed.permissions_json = "{\"roles\":{\"owner\":[\"second\"]}}";
    msg = SMA_MSG_NEW(SMA_MSG_RELOAD, struct sma_reload, 0);
    SMA_MSG_BODY(msg, struct sma_reload)->config = &changed;
    sma_store_actor_ops.handle(world.store, &msg, world.store->ctx);
    sma_msg_destroyp(&msg);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "second"));
}

CASE(lists_refuse_politely)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":[\"lis\"]}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "lis", "1", "hello"));
    finish_next(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "2", "hello"));
    CHECK(strstr(told(&world, "eve"), "allowed") != NULL);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "3", "hello"));
    CHECK_TEXT("", told(&world, "eve"));
    CHECK_INT(SMA_VERDICT_IGNORED, command_as(&world, "eve", "4", SMA_CONTROL_STOP));
    CHECK(strstr(listed(&world), "\"pairings\":[]") != NULL);
    CHECK(run_seq(&world) == 0);
}

CASE(anyone_may_talk_and_is_nobody_by_it)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{\"access\":\"anyone\"}";
    open_world(&world);
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "eve", "1", "hello"));
    finish_next(&world);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
    restart_world(&world);
    CHECK_INT(SMA_STANDING_STRANGER, standing_of(&world, "eve"));
}

/* -- contacts ---------------------------------------------------------------------------------- */
/* Everybody here is called Ann. Who is found: "" nobody, else "<count> <chat key> <whom> doubtful".
 * In static memory. */
static const char *look_up(struct world *world, const char *name)
{
    static char text[512];
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_CONTACT, struct sma_contact_ask, 64);
    SMA_MSG_BODY(msg, struct sma_contact_ask)->user_name = sma_msg_dup(msg, sma_str(name));
    ask_as_agent(world, msg);
    run(world);
    struct sma_msg *answer = take(&world->agent, SMA_MSG_CONTACT_RESULT);
    CHECK(answer != NULL);
    const struct sma_contact_result *found = SMA_MSG_BODY(answer, struct sma_contact_result);
    text[0] = '\0';
    if (found->count > 0)
        snprintf(text, sizeof text, "%u %.*s %.*s%s", found->count, (int)found->route.chat_key.len,
                 found->route.chat_key.len == 0 ? "" : found->route.chat_key.ptr,
                 (int)found->whom.len, found->whom.len == 0 ? "" : found->whom.ptr,
                 found->is_doubtful ? " doubtful" : "");
    CHECK(found->is_found == (found->count == 1));
    json_t *root = json_loadb(found->contact_json.ptr, found->contact_json.len, 0, NULL);
    CHECK_INT(found->count > 1 ? (int)found->count : 0, (int)json_array_size(root));
    CHECK(found->count == 0 || found->count > 1 ||
          json_string_length(json_object_get(root, "standing")) > 0);
    json_decref(root);
    sma_msg_destroy(answer);
    return text;
}

static int say_in_strange_group(struct world *world, const char *who, const char *id)
{
    (void)say_as(world, TEST,
                 &(struct saying){.chat = "hers",
                                  .user = who,
                                  .id = id,
                                  .text = "hi",
                                  .is_group = true,
                                  .addressed = SMA_ADDRESSED_MENTION,
                                  .role = SMA_ROLE_ADMIN});
    run(world);
    return accepted(&world->test).verdict;
}

CASE(a_stranger_takes_nobodys_name)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "1", "hello"));
    CHECK_TEXT("", look_up(&world, "Ann"));
    CHECK_INT(SMA_VERDICT_ACCEPTED, write_as(&world, "boss", "2", "hello"));
    finish_next(&world);
    CHECK_TEXT("1 test:chat:boss owner, test:boss", look_up(&world, "ann"));
    CHECK_INT(SMA_VERDICT_IGNORED, write_as(&world, "eve", "3", "hello"));
    CHECK_INT(SMA_VERDICT_IGNORED,
              say_in_strange_group(&world, "eve", "4")); /* nor from a group of her own */
    CHECK_TEXT("1 test:chat:boss owner, test:boss", look_up(&world, "ann"));
    CHECK_TEXT("", look_up(&world, "test:eve"));
    restart_world(&world);
    CHECK_TEXT("1 test:chat:boss owner, test:boss", look_up(&world, " ANN "));
}

/* A displayed name and a handle, alone or together as the model is shown them. */
CASE(people_are_found_by_name_and_by_handle)
{
    static const char *const names[] = {"Xiao Ming", "xm", "@xm", "Xiao Ming (@xm)", " (@XM)"};
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    (void)say_as(&world, TEST,
                 &(struct saying){.chat = "boss",
                                  .user = "boss",
                                  .id = "1",
                                  .text = "hello",
                                  .display_name = "Xiao Ming",
                                  .handle = "xm"});
    run(&world);
    finish_next(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        CHECK_TEXT("1 test:chat:boss owner, test:boss", look_up(&world, names[i]));
    CHECK_TEXT("", look_up(&world, "Ming"));
    CHECK_TEXT("", look_up(&world, "Xiao Ming (@eve)"));
    CHECK_TEXT("", look_up(&world, "@"));
    CHECK_TEXT("", look_up(&world, "(@)"));
}

CASE(two_people_with_one_name_are_asked_about)
{
    SMA_AUTO(end_world) struct world world;
    make_world(&world);
    world.test_json = "{}";
    world.config.permissions_json =
        "{\"roles\":{\"owner\":[\"test:boss\"],\"member\":[\"test:mem\"]}}";
    open_world(&world);
    (void)write_as(&world, "boss", "1", "hello");
    finish_next(&world);
    (void)write_as(&world, "mem", "2", "hello");
    finish_next(&world);
    CHECK_TEXT("2  ", look_up(&world, "ann"));
    CHECK_TEXT("1 test:chat:mem member, test:mem", look_up(&world, "test:mem"));
    CHECK_TEXT("1 test:chat:boss owner, test:boss", look_up(&world, "test:boss"));
    crash_world(&world);
    CHECK_TEXT("2  ", look_up(&world, "ann"));
}

/* Whoever was a member and is no more, and whoever has another name by now, is never sent to
 * without a question. */
CASE(who_is_meant_is_in_doubt)
{
    SMA_AUTO(end_world) struct world world;
    start_paired(&world);
    CHECK_OK(sma_store_begin(world.store));
    struct sma_state_contact contact = {.channel = SMA_STR("test"),
                                        .user_name = SMA_STR("old"),
                                        .chat_id = SMA_STR("1"),
                                        .chat_key = SMA_STR("test:chat:1"),
                                        .user_id = SMA_STR("boss"),
                                        .wall_ms = 1};
    CHECK_OK(sma_state_contact_put(world.store->state, &contact));
    contact.user_name = SMA_STR("gone");
    contact.user_id = SMA_STR("eve");
    CHECK_OK(sma_state_contact_put(world.store->state, &contact));
    sma_store_end_batch(world.store);
    CHECK_TEXT("1 test:chat:1 owner, test:boss", look_up(&world, "old"));
    CHECK_TEXT("1 test:chat:1 stranger, test:eve doubtful", look_up(&world, "gone"));
    (void)write_as(&world, "boss", "1", "hello"); /* as Ann */
    finish_next(&world);
    CHECK_TEXT("1 test:chat:1 owner, test:boss doubtful", look_up(&world, "old"));
    CHECK_TEXT("1 test:chat:boss owner, test:boss", look_up(&world, "ann"));
}

CASES_MAIN
