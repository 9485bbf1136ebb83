/*
 * Aim: on Feishu a request is a card with buttons, a press is answered by a toast, and the card
 * shows the outcome; who owns a group decides there, others do not.
 * Method: the real binary between a Feishu in this process and a model server that calls what the
 *   user's text says. scenario_approval_feishu BINARY FAKE_MODEL
 */
#include "feishu_world.h"

#include "support/check.h"

#define COUNT_COMMAND "echo done >> count"
#define WANT_OTHER "[[call exec_shell {\"command\":\"echo another >> count\"}]]"
#define WANT_COUNT "please [[call exec_shell {\"command\":\"" COUNT_COMMAND "\"}]]"

static const char *binary, *fake_model;

static void start(struct platform_world *world)
{
    platform_world_start(
        world, &feishu_kind, binary, fake_model,
        &(struct platform_options){
            .root = ",\"language\":\"en\",\"permissions\":{\"roles\":{\"owner\":[\"feishu:" ANN
                    "\"],\"member\":[\"feishu:" BOB "\"]}}"});
}

/* Until a card with buttons says it. */
static struct chat_message await_card(const struct platform_world *world, const char *chat,
                                      const char *part)
{
    struct chat_message card = {.number = 0};
    for (long long until = process_now_ms() + AWAIT_MS;
         card.id[0] == '\0' && process_now_ms() < until; process_pause_ms(2)) {
        json_t *message = chat_await(world, chat, part);
        if (json_array_size(json_object_get(message, "buttons")) > 0)
            snprintf(card.id, sizeof card.id, "%s", talk_text(message, "id"));
        json_decref(message);
    }
    if (card.id[0] == '\0')
        chat_show(world, chat);
    CHECK(card.id[0] != '\0');
    for (bool is_stored = false; !is_stored;) { /* where the card stands */
        struct http_answer answer =
            http_ask(world->world.service.port, "/api/status", "", NULL, AWAIT_MS);
        CHECK_INT(200, answer.status);
        is_stored = strstr(answer.body, "\"outbox\":{\"open\":0,") != NULL;
        http_answer_fini(&answer);
    }
    return card;
}

/* A press and what its toast says. `key` is "button" or "value". */
static void press(const struct platform_world *world, const char *user, const char *card,
                  const char *button, const char *part)
{
    json_t *answer = platform_do(&world->client, "{s:s,s:s,s:s,s:s}", "do", "press", "message_id",
                                 card, "user", user, "button", button);
    char event[80], text[512] = "";
    bool is_answered = false, is_late = false;
    snprintf(event, sizeof event, "%s", talk_text(answer, "event_id"));
    json_decref(answer);
    for (long long until = process_now_ms() + AWAIT_MS;
         process_now_ms() < until && !is_answered && !is_late; process_pause_ms(2)) {
        json_t *toast = platform_do(&world->client, "{s:s,s:s}", "do", "toast", "event_id", event);
        is_answered = json_is_true(json_object_get(toast, "is_answered"));
        is_late = json_is_true(json_object_get(toast, "is_late"));
        snprintf(text, sizeof text, "%s", talk_text(toast, "text"));
        json_decref(toast);
    }
    if (!is_answered || strstr(text, part) == NULL) {
        fprintf(stderr, "the toast is \"%s\", wanted \"%s\"\n", text, part);
        chat_show(world, ANN_CHAT);
    }
    CHECK(is_answered && strstr(text, part) != NULL);
}

/* The card itself was changed. */
static void expect_outcome(const struct platform_world *world, const char *chat, const char *card,
                           const char *part)
{
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5)) {
        json_t *message = chat_await(world, chat, part);
        bool is_it = strcmp(talk_text(message, "id"), card) == 0 &&
                     json_array_size(json_object_get(message, "buttons")) == 0;
        json_decref(message);
        if (is_it)
            return;
    }
    chat_show(world, chat);
    CHECK(!"the card is not changed");
}

static void a_press_is_answered_and_the_card_changed(void)
{
    struct platform_world world;
    start(&world);
    (void)chat_say(&world, ANN_CHAT, ANN, WANT_COUNT);
    struct chat_message card = await_card(&world, ANN_CHAT, COUNT_COMMAND);
    CHECK_INT(0, platform_lines(&world, "count"));
    press(&world, ANN, card.id, "Approve", "Approved.");
    expect_outcome(&world, ANN_CHAT, card.id, "Decided by:");
    chat_expect(&world, ANN_CHAT, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    CHECK_INT(1, chat_count(&world, ANN_CHAT, COUNT_COMMAND));
    (void)chat_say(&world, ANN_CHAT, ANN, WANT_COUNT);
    for (long long until = process_now_ms() + AWAIT_MS;
         chat_count(&world, ANN_CHAT, COUNT_COMMAND) < 2 && process_now_ms() < until;)
        process_pause_ms(2);
    card = await_card(&world, ANN_CHAT, COUNT_COMMAND);
    (void)chat_say(&world, ANN_CHAT, ANN, "拒绝，因为太晚了");
    expect_outcome(&world, ANN_CHAT, card.id, "Refused: ");
    chat_expect(&world, ANN_CHAT, "Not carried out");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    CHECK(platform_asked(&world, "太晚了") > 0);
    platform_world_stop(&world);
}

/* Its owner administers it, says the platform; nobody else may. */
static void the_owner_of_a_group_decides(void)
{
    struct platform_world world;
    start(&world);
    (void)chat_say(&world, TEAM, BOB, "@{bot} " WANT_COUNT);
    struct chat_message card = await_card(&world, TEAM, COUNT_COMMAND);
    press(&world, BOB, card.id, "Approve", "");
    chat_expect(&world, TEAM, "for an owner or administrator");
    press(&world, BOB, card.id, "Approve", "for an owner or administrator");
    CHECK_INT(0, platform_lines(&world, "count"));
    press(&world, EVE, card.id, "Approve", "");
    expect_outcome(&world, TEAM, card.id, "Approved: ");
    chat_expect(&world, TEAM, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

/* EVE owns TEAM, as whoever makes a group does; until the owner speaks there that is nothing. */
static void a_strangers_own_group_gives_her_nothing(void)
{
    struct platform_world world;
    platform_world_start(&world, &feishu_kind, binary, fake_model,
                         &(struct platform_options){
                             .access = "\"paired\"",
                             .knows_no_group = true,
                             .root = ",\"language\":\"en\",\"permissions\":{\"roles\":{\"owner\":["
                                     "\"feishu:" ANN "\"],\"member\":[\"feishu:" BOB "\"]}}"});
    (void)chat_say(&world, TEAM, EVE, "@{bot} /clear");
    chat_expect(&world, TEAM, "I do not talk in this group yet");
    (void)chat_say(&world, TEAM, EVE, "@{bot} " WANT_COUNT);
    (void)chat_say(&world, TEAM, EVE, "@{bot} yes");
    (void)chat_say(&world, TEAM, BOB, "@{bot} " WANT_COUNT);
    struct chat_message card = await_card(&world, TEAM, COUNT_COMMAND);
    press(&world, EVE, card.id, "Approve", "for an owner or administrator");
    CHECK_INT(0, platform_lines(&world, "count"));
    press(&world, ANN, card.id, "Refuse", "Refused");
    chat_expect(&world, TEAM, "Result: ");
    platform_settle(&world);
    CHECK_INT(0, platform_lines(&world, "count"));
    (void)chat_say(&world, TEAM, ANN, "@{bot} hello");
    chat_expect(&world, TEAM, "You said: hello");
    (void)chat_say(&world, TEAM, EVE, "@{bot} /clear");
    chat_expect(&world, TEAM, "I have forgotten this conversation");
    (void)chat_say(&world, TEAM, EVE, "@{bot} now then " WANT_OTHER);
    struct chat_message second = await_card(&world, TEAM, "another");
    press(&world, EVE, second.id, "Approve", "");
    chat_expect(&world, TEAM, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

/* -- whose words ------------------------------------------------------------------------------- */
/* A message of Ann with what `how` says of it; a later word of Bob shows that the service has read
 * it. */
static void say_so(const struct platform_world *world, const char *chat, json_t *how)
{
    static unsigned count;
    char mark[32], echo[64];
    json_object_update_new(
        how, json_pack("{s:s,s:s,s:s,s:s}", "do", "say", "chat", chat, "user", ANN, "text", "yes"));
    json_decref(platform_do(&world->client, "o", how));
    snprintf(mark, sizeof mark, "mark %u", ++count);
    snprintf(echo, sizeof echo, "You said: %s", mark);
    (void)chat_say(world, BOB_CHAT, BOB, mark);
    chat_expect(world, BOB_CHAT, echo);
    CHECK_INT(0, platform_lines(world, "count"));
    struct http_answer answer =
        http_ask(world->world.service.port, "/api/approvals", "", NULL, AWAIT_MS);
    CHECK(answer.status == 200 && strstr(answer.body, "\"pending\"") != NULL);
    http_answer_fini(&answer);
}

static void words_that_were_not_meant_are_no_consent(void)
{
    struct platform_world world;
    start(&world);
    struct chat_message other = chat_say(&world, ANN_CHAT, ANN, "hello");
    chat_expect(&world, ANN_CHAT, "You said: hello");
    (void)chat_say(&world, ANN_CHAT, ANN, WANT_COUNT);
    struct chat_message card = await_card(&world, ANN_CHAT, COUNT_COMMAND);
    say_so(&world, ANN_CHAT, json_pack("{s:s}", "reply_to", other.id));
    say_so(&world, ANN_CHAT, json_pack("{s:i}", "clock_ms", -7200000));
    say_so(&world, ANN_CHAT, json_pack("{s:{s:s}}", "members", "upper_message_id", "om_forward"));
    say_so(&world, ANN_CHAT, json_pack("{s:{s:s}}", "members", "update_time", "99999999999999"));
    say_so(&world, ANN_CHAT, json_pack("{s:s}", "type", "merge_forward"));
    json_decref(platform_do(&world.client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", ANN_CHAT,
                            "user", ANN, "text", "yes", "reply_to", card.id));
    expect_outcome(&world, ANN_CHAT, card.id, "Approved: ");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

static void a_yes_in_a_group_answers_the_card(void)
{
    struct platform_world world;
    start(&world);
    struct chat_message lunch = chat_say(&world, TEAM, BOB, "coming to lunch?");
    (void)chat_say(&world, TEAM, ANN, "@{bot} " WANT_COUNT);
    struct chat_message card = await_card(&world, TEAM, COUNT_COMMAND);
    say_so(&world, TEAM, json_pack("{s:s}", "reply_to", lunch.id));
    say_so(&world, TEAM, json_object());
    json_decref(platform_do(&world.client, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user",
                            ANN, "text", "@{bot} yes"));
    chat_expect(&world, TEAM, "reply to that message with yes or no");
    CHECK_INT(0, platform_lines(&world, "count"));
    json_decref(platform_do(&world.client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM,
                            "user", ANN, "text", "@{bot} yes", "reply_to", card.id));
    expect_outcome(&world, TEAM, card.id, "Approved: ");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

static void a_restart_loses_no_card(void)
{
    struct platform_world world;
    start(&world);
    (void)chat_say(&world, ANN_CHAT, ANN, WANT_COUNT);
    struct chat_message card = await_card(&world, ANN_CHAT, COUNT_COMMAND);
    int64_t connections = platform_counter(&world, "connections");
    CHECK_INT(0, service_stop(&world.world.service));
    service_start(&world.world.service, binary, &world.world.folder);
    platform_await_log(&world, "feishu: connected");
    (void)connections;
    platform_world_await_ready(&world);
    press(&world, ANN, card.id, "Approve", "Approved.");
    expect_outcome(&world, ANN_CHAT, card.id, "Approved: ");
    chat_expect(&world, ANN_CHAT, "Result: {\"success\":true");
    platform_settle(&world);
    CHECK_INT(1, platform_lines(&world, "count"));
    platform_world_stop(&world);
}

/* A card for another chat: people read what it is and where it goes; killed while it waits and
 * with the word given, it goes at most once, and nothing goes before the word. */
static void a_card_for_another_chat_waits_for_the_word(void)
{
    struct platform_world world;
    start(&world);
    (void)chat_say(&world, BOB_CHAT, BOB, "hello");
    chat_expect(&world, BOB_CHAT, "You said: hello");
    (void)chat_say(&world, ANN_CHAT, ANN,
                   "show [[call send_card {\"chatId\":\"" BOB_CHAT
                   "\",\"card\":{\"schema\":\"2.0\",\"body\":{\"elements\":[{\"tag\":\"markdown\","
                   "\"content\":\"the menu\"}]}}}]]");
    struct chat_message card = await_card(&world, ANN_CHAT, "the menu");
    CHECK_INT(1, chat_count(&world, ANN_CHAT, "feishu:chat:" BOB_CHAT));
    CHECK_INT(0, chat_count(&world, BOB_CHAT, "the menu"));
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    CHECK_INT(0, chat_count(&world, BOB_CHAT, "the menu"));
    press(&world, ANN, card.id, "Approve", "Approved.");
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    chat_expect(&world, ANN_CHAT, "Result: ");
    platform_settle(&world);
    bool is_told = chat_count(&world, ANN_CHAT, "It was not repeated") > 0;
    CHECK_INT(is_told ? 0 : 1, chat_count(&world, BOB_CHAT, "the menu"));
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_press_is_answered_and_the_card_changed);
    RUN(the_owner_of_a_group_decides);
    RUN(a_strangers_own_group_gives_her_nothing);
    RUN(words_that_were_not_meant_are_no_consent);
    RUN(a_yes_in_a_group_answers_the_card);
    RUN(a_restart_loses_no_card);
    RUN(a_card_for_another_chat_waits_for_the_word);
    return check_summary();
}
