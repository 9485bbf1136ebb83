/*
 * Aim: on QQ a request has a keyboard where the bot may send one, and is numbered text where it may
 * not; words decide in both; in a group its administrators do.
 * Method: the real binary between a QQ platform in this process and a model server that calls what
 *   the user's text says. scenario_approval_qq BINARY FAKE_MODEL
 */
#include "qq_world.h"

#include "support/check.h"

#define COUNT_COMMAND "echo done >> count"
#define WANT_COUNT "please [[call exec_shell {\"command\":\"" COUNT_COMMAND "\"}]]"
#define OWNER "A1B2C3D4E5F60718293A4B5C6D7E8F90" /* of the project: ANN */

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *members)
{
    platform_world_start(
        world, &qq_kind, binary, fake_model,
        &(struct platform_options){.members = members,
                                   .root = ",\"permissions\":{\"roles\":{\"owner\":[\"qq:" OWNER
                                           "\"]}}"});
}

static void await_card(const struct platform_world *world, const char *chat, char card[128])
{
    json_t *message = chat_await(world, chat, COUNT_COMMAND);
    snprintf(card, 128, "%s", talk_text(message, "id"));
    json_decref(message);
    platform_await_receipts(world);
}

static void a_press_decides(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN, NULL, WANT_COUNT);
    json_t *card = chat_await(&world, ANN, COUNT_COMMAND);
    if (json_array_size(json_object_get(card, "buttons")) == 0)
        chat_show(&world, ANN);
    CHECK(json_array_size(json_object_get(card, "buttons")) > 0);
    json_t *answer = platform_do(&world.client, "{s:s,s:s,s:s,s:s}", "do", "press", "chat", ANN,
                                 "message_id", talk_text(card, "id"), "button", "Approve");
    json_decref(card);
    char id[128];
    snprintf(id, sizeof id, "%s", talk_text(answer, "id"));
    json_decref(answer);
    chat_expect(&world, ANN, "Result: {\"success\":true");
    chat_expect(&world, ANN, "Approved: ");
    answer = platform_do(&world.client, "{s:s,s:s}", "do", "toast", "id", id);
    CHECK(json_is_true(json_object_get(answer, "is_answered")));
    CHECK_INT(0, platform_number(answer, "code", 0));
    json_decref(answer);
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

static void without_the_right_it_is_text(void)
{
    struct platform_world world;
    start(&world, ",\"keyboard\":false");
    chat_say(&world, ANN, NULL,
             "both [[call exec_shell {\"command\":\"" COUNT_COMMAND "\"}]] "
             "[[call exec_shell {\"command\":\"echo other >> other\"}]]");
    json_t *card = chat_await(&world, ANN, "1. ");
    CHECK(strstr(talk_text(card, "text"), "2. ") != NULL);
    CHECK(strstr(talk_text(card, "text"), "only 2") != NULL); /* how to answer */
    CHECK_INT(0, json_array_size(json_object_get(card, "buttons")));
    json_decref(card);
    platform_await_receipts(&world);
    chat_say(&world, ANN, NULL, "1同意，2拒绝");
    chat_expect(&world, ANN, "Result: ");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    char *other = folder_read(&world.world.folder, "other");
    CHECK(other == NULL);
    platform_world_stop(&world);
}

/* What the platform says about who speaks counts; a member's word does not. */
static void an_administrator_of_the_group_decides(void)
{
    struct platform_world world;
    char card[128];
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user", "M7",
                  "role", "owner", "text", "@bot " WANT_COUNT);
    await_card(&world, TEAM, card);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user",
                  "M8", "role", "member", "text", "yes", "reply_to", card);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user", "M9",
                  "role", "member", "text", "同意");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user", "M7",
                  "role", "owner", "text", "yes"); /* an answer to nothing */
    chat_expect(&world, TEAM, "reply to that message with yes or no");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user",
                  "M7", "role", "owner", "text", "yes", "quote", "coming to lunch?");
    chat_say(&world, BOB, NULL, "a mark");
    chat_expect(&world, BOB, "You said: a mark");
    CHECK_INT(0, platform_lines(&world, "count"));
    CHECK_INT(0, chat_count(&world, TEAM, "Result: "));
    platform_await_receipts(&world);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user",
                  "M7", "role", "owner", "text", "yes", "reply_to", card);
    chat_expect(&world, TEAM, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

static void say_in_team(const struct platform_world *world, const char *user, const char *role,
                        const char *text)
{
    platform_tell(&world->client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user", user,
                  "role", role, "text", text);
}

/* Each event says that its author owns the group, as whoever makes one does; until the project's
 * owner, who has an id of his own in groups, speaks there that is nothing. */
static void a_strangers_own_group_gives_him_nothing(void)
{
    struct platform_world world;
    char card[128];
    platform_world_start(
        &world, &qq_kind, binary, fake_model,
        &(struct platform_options){.access = "\"paired\"",
                                   .knows_no_group = true,
                                   .root = ",\"permissions\":{\"roles\":{\"owner\":[\"qq:" OWNER
                                           "\",\"qq:M1\"]}}"});
    say_in_team(&world, "M7", "owner", "/clear");
    chat_expect(&world, TEAM, "I do not talk in this group yet");
    say_in_team(&world, "M7", "owner", WANT_COUNT);
    say_in_team(&world, "M7", "owner", "yes");
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, TEAM, ""));
    CHECK_INT(0, platform_lines(&world, "count"));
    say_in_team(&world, "M1", "member", "hello");
    chat_expect(&world, TEAM, "You said: hello");
    say_in_team(&world, "M7", "owner", WANT_COUNT);
    await_card(&world, TEAM, card);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user",
                  "M7", "role", "owner", "text", "yes", "reply_to", card);
    chat_expect(&world, TEAM, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

/* A message of Ann with what `how` says of it; a later word of Bob shows that the service has read
 * it. */
static void say_so(const struct platform_world *world, json_t *how)
{
    static unsigned count;
    char mark[32], echo[64];
    json_object_update_new(how,
                           json_pack("{s:s,s:s,s:s}", "do", "say", "chat", ANN, "text", "yes"));
    json_decref(platform_do(&world->client, "o", how));
    snprintf(mark, sizeof mark, "mark %u", ++count);
    snprintf(echo, sizeof echo, "You said: %s", mark);
    chat_say(world, BOB, NULL, mark);
    chat_expect(world, BOB, echo);
    CHECK_INT(0, platform_lines(world, "count"));
    CHECK_INT(0, chat_count(world, ANN, "Result: "));
}

static void words_that_were_not_meant_are_no_consent(void)
{
    struct platform_world world;
    char card[128];
    start(&world, NULL);
    chat_say(&world, ANN, NULL, WANT_COUNT);
    await_card(&world, ANN, card);
    say_so(&world, json_pack("{s:s}", "quote", "Shall I remind you of lunch tomorrow?"));
    say_so(&world, json_pack("{s:i}", "age", 7200));
    say_so(&world, json_pack("{s:{s:i}}", "members", "message_type", 3));
    json_decref(platform_do(&world.client, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", ANN, "text",
                            "yes", "reply_to", card));
    chat_expect(&world, ANN, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_press_decides);
    RUN(without_the_right_it_is_text);
    RUN(an_administrator_of_the_group_decides);
    RUN(a_strangers_own_group_gives_him_nothing);
    RUN(words_that_were_not_meant_are_no_consent);
    return check_summary();
}
