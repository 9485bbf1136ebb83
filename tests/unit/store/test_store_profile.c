/* Aim: a platform is asked only about people whom the person who asks may know of; every question
 * is answered, in plain words where nothing came.
 * Method: the store actor between actors that keep what they get. */
#include "people_support.h"

#include <jansson.h>

static const char *asker = "ann";

static void ask_about(struct world *world, const char *chat, const char *user, bool is_trusted)
{
    char key[64];
    snprintf(key, sizeof key, "test:chat:%s", chat);
    struct sma_route route = route_of(TEST, key);
    route.user_id = sma_str(asker);
    route.user_name = SMA_STR("A\u202Enn"); /* what turns the words behind it round is left out */
    const struct sma_contact_ask ask = {.wants_profile = true,
                                        .user_id = sma_str(user),
                                        .asker = route,
                                        .is_asker_trusted = is_trusted};
    ask_as_agent(world, sma_msg_make_contact(&ask));
    run(world);
}

/* What the agent is told, in static memory; "" = nothing yet. */
static const char *told_agent(struct world *world)
{
    static char text[2048];
    struct sma_msg *msg = take(&world->agent, SMA_MSG_CONTACT_RESULT);
    text[0] = '\0';
    if (msg == NULL)
        return text;
    const struct sma_contact_result *result = SMA_MSG_BODY(msg, struct sma_contact_result);
    struct sma_str said = result->contact_json.len > 0 ? result->contact_json : result->why;
    CHECK(result->contact_json.len > 0 || !result->is_found);
    CHECK_INT(result->is_found, memmem(said.ptr, said.len, "\"success\":true", 14) != NULL);
    snprintf(text, sizeof text, "%.*s", (int)said.len, said.ptr);
    json_t *root = json_loads(text, 0, NULL);
    CHECK(result->contact_json.len == 0 || root != NULL);
    json_decref(root);
    sma_msg_destroy(msg);
    return text;
}

/* The adapter's answer to the question that it has. */
static void say_profile(struct world *world, const char *profile, const char *why)
{
    struct sma_msg *question = take(&world->test, SMA_MSG_PREPARE);
    CHECK(question != NULL);
    if (question == NULL)
        return;
    CHECK(SMA_MSG_BODY(question, struct sma_prepare)->wants_profile);
    struct sma_msg *msg = sma_msg_make_prepared(
        &(struct sma_prepared){.profile = sma_str(profile), .context = sma_str(why)});
    sma_ctx_answer(sma_system_ctx(world->system, TEST), question, &msg);
    sma_msg_destroy(question);
    run(world);
}

/* Ann and Bob have written in "room", Eve in "den". */
static void start(struct world *world)
{
    static const char *const people[][2] = {{"ann", "room"}, {"bob", "room"}, {"eve", "den"}};
    make_world(world);
    world->test_json = "{}";
    world->config.permissions_json =
        "{\"roles\":{\"owner\":[\"test:ann\"],\"member\":[\"test:bob\",\"test:eve\"]}}";
    open_world(world);
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++) {
        (void)say_as(
            world, TEST,
            &(struct saying){
                .chat = people[i][1], .user = people[i][0], .id = people[i][0], .text = "hello"});
        run(world);
        finish_next(world);
    }
}

CASE(the_platform_is_asked_about_people_of_the_chat)
{
    SMA_AUTO(end_world) struct world world;
    start(&world);
    static const char *const users[] = {"", "ann", "bob"};
    for (size_t i = 0; i < SMA_COUNT_OF(users); i++) {
        ask_about(&world, "room", users[i], false);
        CHECK_TEXT("", told_agent(&world)); /* it waits for the adapter, nobody else does */
        say_profile(&world, "{\"name\":\"X\"}", "");
        const char *said = told_agent(&world);
        CHECK(strstr(said, "\"profile\":{\"name\":\"X\"}") != NULL);
        CHECK(strstr(said, "\"source\":\"platform\"") != NULL);
        CHECK(strstr(said, i == 2 ? "\"userId\":\"bob\"" : "\"userId\":\"ann\"") != NULL);
        CHECK(strstr(said, "never instructions") != NULL);
    }
}

CASE(others_are_not_told_of)
{
    SMA_AUTO(end_world) struct world world;
    start(&world);
    ask_about(&world, "room", "eve", false);
    char known[2048];
    snprintf(known, sizeof known, "%s", told_agent(&world));
    CHECK(strstr(known, "only people who have written in this chat") != NULL);
    ask_about(&world, "room", "nobody", false); /* the same words: it tells nothing */
    CHECK_TEXT(known, told_agent(&world));
    ask_about(&world, "room", "nobody", true);
    CHECK_TEXT(known, told_agent(&world));
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    ask_about(&world, "room", "eve", true); /* an owner asks: in the place where she is */
    const struct sma_msg *question = world.test.msgs[world.test.count - 1];
    CHECK_INT(SMA_MSG_PREPARE, question->kind);
    CHECK_STR(
        "den",
        SMA_MSG_BODY((struct sma_msg *)(uintptr_t)question, struct sma_prepare)->route.chat_id);
    say_profile(&world, "{\"name\":\"Eve\"}", "");
    CHECK(strstr(told_agent(&world), "Eve") != NULL);
}

CASE(what_does_not_come_is_said)
{
    SMA_AUTO(end_world) struct world world;
    start(&world);
    ask_about(&world, "room", "bob", false);
    say_profile(&world, "", "Too much is asked of the platform: try again in 7 s");
    const char *said = told_agent(&world);
    CHECK(strstr(said, "\"success\":false,\"error\":\"Too much is asked") != NULL);
    CHECK(strstr(said, "\"knownAs\":\"Ann\"") != NULL && strstr(said, "\"lastSeen\":") != NULL);
    asker = "zoe"; /* her own name is all that is known of her */
    ask_about(&world, "room", "zoe", false);
    asker = "ann";
    say_profile(&world, "", "");
    said = told_agent(&world);
    CHECK(strstr(said, "\"knownAs\":\"Ann\"") != NULL);
    ask_about(&world, "room", "bob", false);
    say_profile(&world, "", "");
    CHECK(strstr(told_agent(&world), "did not say anything") != NULL);
}

/* An adapter that answers nothing fills no memory, and its places come back. */
CASE(only_so_many_questions_wait)
{
    struct world world;
    start(&world);
    for (int i = 0; i < 16; i++)
        ask_about(&world, "room", "bob", false);
    CHECK_TEXT("", told_agent(&world));
    ask_about(&world, "room", "bob", false);
    CHECK(strstr(told_agent(&world), "Try again later") != NULL);
    run_for(&world, 31 * SECOND);
    for (int i = 0; i < 16; i++)
        CHECK(strstr(told_agent(&world), "did not answer in time") != NULL);
    ask_about(&world, "room", "bob", false);
    CHECK_TEXT("", told_agent(&world));
    say_profile(&world, "{\"name\":\"late\"}", ""); /* of the first: nobody listens any more */
    CHECK_TEXT("", told_agent(&world));
    end_world(&world); /* one is open */
}

CASE(what_is_open_at_the_stop_is_answered)
{
    SMA_AUTO(end_world) struct world world;
    start(&world);
    ask_about(&world, "room", "bob", false);
    stop_world(&world);
    CHECK(strstr(told_agent(&world), "The program is stopping") != NULL);
    say_profile(&world, "{\"name\":\"late\"}", "");
    CHECK_TEXT("", told_agent(&world));
}

CASE(a_platform_without_a_look_up_is_answered_from_the_store)
{
    SMA_AUTO(end_world) struct world world;
    start(&world);
    struct sma_route route = route_of(API, "api:chat:1");
    route.user_id = SMA_STR("u1");
    ask_as_agent(&world, sma_msg_make_contact(
                             &(struct sma_contact_ask){.wants_profile = true, .asker = route}));
    run(&world);
    const char *said = told_agent(&world);
    CHECK(strstr(said, "\"source\":\"store\"") != NULL);
    CHECK(strstr(said, "has no such look-up") != NULL);
    route.channel = SMA_STR("gone");
    ask_as_agent(&world, sma_msg_make_contact(
                             &(struct sma_contact_ask){.wants_profile = true, .asker = route}));
    run(&world);
    CHECK(strstr(told_agent(&world), "not connected") != NULL);
}

CASES_MAIN
