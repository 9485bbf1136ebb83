/*
 * Aim: what people see in their Telegram chats: answers, once, in the right place, and only where
 * they were asked for.
 * Method: the real binary between a Bot API server and a model server; people speak, the chats and
 * the model's requests are read.
 *   scenario_telegram_chats BINARY FAKE_MODEL
 */
#include "telegram_world.h"

#include "support/check.h"

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *members)
{
    platform_world_start(world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){.members = members});
}

/* Answers; a notice that the bot is busy may stand beside them. */
static void expect_sent(const struct platform_world *world, int64_t chat, size_t count)
{
    size_t answers = chat_sent(world, chat) - chat_count(world, chat, "I'm still working");
    if (answers != count)
        chat_show(world, chat);
    CHECK_INT(count, answers);
}

/* -- private chats ----------------------------------------------------------------------------- */
static void the_first_message_is_answered(void)
{
    struct platform_world world;
    start(&world, NULL);
    int64_t id = chat_say(&world, ANN, ANN, "hello there").number;
    json_t *answer = chat_await(&world, ANN, "You said: hello there");
    CHECK_INT(0, platform_number(answer, "reply_to", 0));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN, 1);
    CHECK_INT(2, platform_asked(&world, "hello there"));
    json_t *list = platform_do(&world.client, "{s:s,s:i}", "do", "list", "chat", ANN);
    const json_t *said = json_array_get(json_object_get(list, "messages"), (size_t)id - 1);
    CHECK(json_is_true(json_object_get(said, "is_confirmed")));
    json_decref(list);
    chat_say(&world, ANN, ANN, "and again");
    chat_expect(&world, ANN, "You said: and again");
    json_t *counters = platform_do(&world.client, "{s:s}", "do", "counters");
    CHECK_INT(0, platform_number(counters, "refused",
                                 0)); /* nothing a strict platform refuses was tried */
    CHECK_INT(0, platform_number(counters, "conflicts", 0));
    json_decref(counters);
    platform_world_stop(&world);
}

static void an_answer_without_a_tool_falls_back_to_its_text(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN, ANN, "[[plain]] this is **bold** and `a < b`");
    json_t *answer = chat_await(&world, ANN, "this is bold and a < b");
    CHECK(strstr(talk_text(answer, "raw"), "<b>bold</b>") != NULL);
    CHECK(strstr(talk_text(answer, "raw"), "a &lt; b") != NULL);
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN, 1);
    platform_world_stop(&world);
}

static void refused_markup_goes_out_as_plain_text(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i,s:s}", "do", "fault", "method", "sendMessage",
                  "kind", "status", "status", 400, "text",
                  "Bad Request: can't parse entities: asked to fail");
    chat_say(&world, ANN, ANN, "please take **this**");
    json_t *answer = chat_await(&world, ANN, "please take");
    CHECK(json_is_true(json_object_get(answer, "is_plain")));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN, 1);
    platform_world_stop(&world);
}

static void a_long_answer_comes_in_order_and_whole(void)
{
    struct platform_world world;
    char *text = calloc(1, 12000);
    size_t len = (size_t)snprintf(text, 32, "[[plain]] ");
    start(&world, NULL);
    for (unsigned i = 0; len < 10000; i++)
        len += (size_t)snprintf(text + len, 32, "word%u\xF0\x9F\x98\x80 ", i);
    snprintf(text + len, 32, "the end");
    chat_say(&world, ANN, ANN, text);
    chat_expect(&world, ANN, "the end");
    platform_settle(&world);
    json_t *list = platform_do(&world.client, "{s:s,s:i}", "do", "list", "chat", ANN);
    const json_t *messages = json_object_get(list, "messages");
    unsigned next = 0;
    for (size_t i = 1; i < json_array_size(messages);
         i++) /* the words are there, each once, in order */
        for (const char *at = talk_text(json_array_get(messages, i), "text");
             (at = strstr(at, "word")) != NULL; at++)
            CHECK_INT(next++, strtol(at + 4, NULL, 10));
    CHECK(json_array_size(messages) >= 4 && next > 600);
    json_decref(list);
    free(text);
    platform_world_stop(&world);
}

static void quick_messages_are_all_answered_in_order(void)
{
    struct platform_world world;
    char text[64];
    start(&world, ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}");
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof text, "quick number %d.", i);
        chat_say(&world, ANN, ANN, text);
    }
    chat_expect(&world, ANN, "You said: quick number 7.");
    platform_settle(&world);
    json_t *list = platform_do(&world.client, "{s:s,s:i}", "do", "list", "chat", ANN);
    const json_t *messages = json_object_get(list, "messages");
    int next = 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const char *at =
            strstr(talk_text(json_array_get(messages, i), "text"), "You said: quick number ");
        if (at != NULL)
            CHECK_INT(next++, strtol(at + 23, NULL, 10));
    }
    CHECK_INT(8, next);
    json_decref(list);
    platform_world_stop(&world);
}

/* The model's words come slowly: a preview grows, and the message takes its place. */
static void a_slow_answer_is_previewed_and_then_stands(void)
{
    struct platform_world world;
    char text[1200] = "[[plain]] [[fault:drip bytes=60 ms=40]]";
    start(&world, NULL);
    for (size_t len = strlen(text); len < 1100; len += 10)
        memcpy(text + len, " and words", 11);
    chat_say(&world, ANN, ANN, text);
    bool has_draft = false, has_action = false;
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5)) {
        json_t *list = platform_do(&world.client, "{s:s,s:i}", "do", "list", "chat", ANN);
        has_draft |= talk_text(list, "draft")[0] != '\0';
        has_action |= platform_number(list, "actions", 0) > 0;
        size_t count = json_array_size(json_object_get(list, "messages"));
        json_decref(list);
        if (count > 1)
            break;
    }
    json_t *answer = chat_await(&world, ANN, "and words");
    CHECK(strlen(talk_text(answer, "text")) >= 1000);
    json_decref(answer);
    platform_settle(&world);
    json_t *list = platform_do(&world.client, "{s:s,s:i}", "do", "list", "chat", ANN);
    CHECK_TEXT("", talk_text(list, "draft")); /* nothing is left half shown */
    fprintf(stderr, "   drafts: %lld, actions: %lld\n",
            (long long)platform_number(list, "drafts", 0),
            (long long)platform_number(list, "actions", 0));
    CHECK(has_draft);
    json_decref(list);
    chat_say(&world, ANN, ANN, "[[plain]] [[fault:silence ms=1000]] and then nothing for a second");
    chat_expect(&world, ANN, "and then nothing for a second");
    list = platform_do(&world.client, "{s:s,s:i}", "do", "list", "chat", ANN);
    has_action |= platform_number(list, "actions", 0) > 0;
    json_decref(list);
    CHECK(has_action); /* typing, while there is no text to show */
    platform_settle(&world);
    expect_sent(&world, ANN, 2);
    platform_world_stop(&world);
}

/* -- groups ------------------------------------------------------------------------------------ */
static void a_group_is_answered_when_it_asks(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, TEAM, ANN, "just chatting, nobody asks");
    int64_t asked = chat_say(&world, TEAM, ANN, "@helper_bot first question").number;
    json_t *answer = chat_await(&world, TEAM, "You said: first question");
    CHECK_INT(asked, platform_number(answer, "reply_to", 0));
    int64_t answered = platform_number(answer, "id", 0);
    json_decref(answer);
    chat_say(&world, TEAM, ANN, "could you do more?"); /* in her window, and meant */
    chat_expect(&world, TEAM, "You said: could you do more?");
    chat_say(&world, TEAM, ANN, "lunch at noon");      /* in her window, but not meant */
    chat_say(&world, TEAM, BOB, "what do you think?"); /* another person's window */
    chat_say(&world, TEAM, ANN, "/status@other_bot");
    platform_tell(&world.client, "{s:s,s:I,s:i,s:s,s:I}", "do", "say", "chat", (json_int_t)TEAM,
                  "user", ANN, "text", "by reply", "reply_to", (json_int_t)answered);
    chat_expect(&world, TEAM, "You said: by reply");
    platform_settle(&world);
    expect_sent(&world, TEAM, 3);
    CHECK_INT(0, platform_asked(&world, "\"lunch at noon"));
    CHECK_INT(1, platform_asked(&world, ": just chatting, nobody asks\\n") > 0); /* as context */
    CHECK(platform_asked(&world, ": lunch at noon\\n") > 0);
    platform_world_stop(&world);
}

/* Whoever takes it in sees that it works, and what comes next; then he does it. */
static void a_group_is_greeted_when_the_bot_comes(void)
{
    struct platform_world world;
    platform_world_start(&world, &telegram_kind, binary, fake_model,
                         &(struct platform_options){.knows_no_group = true,
                                                    .access = "\"paired\"",
                                                    .root = ",\"permissions\":{\"roles\":{"
                                                            "\"owner\":[\"telegram:1001\"]}}"});
    platform_tell(&world.client, "{s:s,s:I,s:i}", "do", "take_in", "chat", (json_int_t)TEAM, "from",
                  ANN);
    chat_expect(&world, TEAM, "mentions me here once");
    chat_say(&world, TEAM, ANN, "@helper_bot here I am");
    chat_expect(&world, TEAM, "You said: here I am");
    platform_settle(&world);
    expect_sent(&world, TEAM, 2);
    platform_world_stop(&world);
}

static void only_the_initiator_and_administrators_are_served(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, TEAM, ANN, "@helper_bot I was first");
    chat_expect(&world, TEAM, "You said: I was first");
    chat_say(&world, TEAM, BOB, "@helper_bot let me in");
    chat_expect(&world, TEAM, "I answer only the person who spoke to me first");
    chat_say(&world, TEAM, EVE, "@helper_bot I rule here");
    chat_expect(&world, TEAM, "You said: I rule here");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, TEAM, "let me in"));
    CHECK_INT(0, platform_asked(&world, "let me in")); /* nor is it told what he said */
    platform_world_stop(&world);
    start(&world, ",\"groupAccess\":\"anyone\"");
    chat_say(&world, TEAM, EVE, "said by the way");
    chat_say(&world, TEAM, ANN, "@helper_bot I was first");
    chat_say(&world, TEAM, BOB, "@helper_bot let me in");
    chat_expect(&world, TEAM, "You said: I was first");
    chat_expect(&world, TEAM, "You said: let me in");
    CHECK(platform_asked(&world, ": said by the way\\n") > 0);
    platform_world_stop(&world);
}

static int64_t add_topic(const struct platform_world *world)
{
    return platform_get(&world->client, "thread", "{s:s,s:I,s:i,s:s}", "do", "topic", "chat",
                        (json_int_t)FORUM, "user", ANN, "name", "Plans");
}

static void topics_are_answered_where_they_are(void)
{
    struct platform_world world;
    start(&world, NULL);
    int64_t thread = add_topic(&world);
    platform_tell(&world.client, "{s:s,s:I,s:i,s:I,s:s}", "do", "say", "chat", (json_int_t)FORUM,
                  "user", ANN, "thread", (json_int_t)thread, "text", "nobody asked here");
    platform_tell(&world.client, "{s:s,s:I,s:i,s:I,s:s}", "do", "say", "chat", (json_int_t)FORUM,
                  "user", ANN, "thread", (json_int_t)thread, "text", "@helper_bot in the topic");
    json_t *answer = chat_await(&world, FORUM, "You said: in the topic");
    CHECK_INT(thread, platform_number(answer, "thread", 0));
    json_decref(answer);
    int64_t general = chat_say(&world, FORUM, ANN, "@helper_bot in general").number;
    answer = chat_await(&world, FORUM, "You said: in general");
    CHECK_INT(0, platform_number(answer, "thread", 0));
    json_decref(answer);
    platform_tell(&world.client, "{s:s,s:I,s:i,s:I,s:s}", "do", "say", "chat", (json_int_t)FORUM,
                  "user", ANN, "reply_to", (json_int_t)general, "text",
                  "@helper_bot a chain in general");
    answer = chat_await(&world, FORUM, "You said: a chain in general");
    CHECK_INT(0, platform_number(answer, "thread", 0));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, FORUM, 3);
    platform_world_stop(&world);
}

static void commands_are_answered_in_their_topic(void)
{
    struct platform_world world;
    start(&world, NULL);
    int64_t thread = add_topic(&world);
    platform_tell(&world.client, "{s:s,s:I,s:i,s:I,s:s}", "do", "say", "chat", (json_int_t)FORUM,
                  "user", ANN, "thread", (json_int_t)thread, "text", "/status@helper_bot");
    json_t *answer = chat_await(&world, FORUM, "Waiting here");
    CHECK_INT(thread, platform_number(answer, "thread", 0));
    json_decref(answer);
    static const char *const pairs[][2] = {{"/start", "Hello, I am "},
                                           {"/help", "Commands:"},
                                           {"/whoami", "id telegram:1001, role "},
                                           {"/status", "Waiting here"},
                                           {"/clear", "I have forgotten this conversation"},
                                           {"/stop", "Nothing is running here"},
                                           {"/dance", "I don't know that command"}};
    for (size_t i = 0; i < SMA_COUNT_OF(pairs); i++) {
        size_t before = chat_sent(&world, ANN);
        chat_say(&world, ANN, ANN, pairs[i][0]);
        chat_expect(&world, ANN, pairs[i][1]);
        platform_settle(&world);
        CHECK_INT(before + 1, chat_sent(&world, ANN));
    }
    json_t *list = platform_do(&world.client, "{s:s}", "do", "commands");
    char *text = json_dumps(list, 0);
    CHECK(strstr(text, "\"status\"") != NULL && strstr(text, "default zh") != NULL);
    free(text);
    json_decref(list);
    platform_world_stop(&world);
}

/* -- albums, context, buttons ------------------------------------------------------------------ */
static void an_album_is_one_message(void)
{
    struct platform_world world;
    start(&world, NULL);
    for (int i = 0; i < 3; i++)
        platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s},s:s*}", "do", "say", "chat", ANN,
                      "user", ANN, "group", "album-1", "file", "kind", "photo", "text", "picture",
                      "caption", i == 0 ? "look at these" : NULL);
    chat_expect(&world, ANN, "look at these");
    platform_settle(&world);
    expect_sent(&world, ANN, 1);
    json_t *list = world_asked(&world.world, "look at these");
    CHECK_INT(2, json_array_size(list)); /* one turn */
    const char *body = talk_text(json_array_get(list, 0), "body");
    int count = 0;
    for (const char *at = body; (at = strstr(at, "@attach photo")) != NULL; at++)
        count++;
    CHECK_INT(3, count);
    json_decref(list);
    platform_world_stop(&world);
}

static void quotes_and_forwards_reach_the_model(void)
{
    struct platform_world world;
    start(&world, NULL);
    int64_t first = chat_say(&world, ANN, ANN, "the sky is green").number;
    chat_expect(&world, ANN, "You said: the sky is green");
    platform_tell(&world.client, "{s:s,s:i,s:i,s:I,s:s,s:s}", "do", "say", "chat", ANN, "user", ANN,
                  "reply_to", (json_int_t)first, "quote", "is green", "text",
                  "surely this is wrong");
    chat_expect(&world, ANN, "surely this is wrong");
    CHECK(platform_asked(&world, "They quote this part of it") > 0);
    platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:s}", "do", "say", "chat", ANN, "user", ANN,
                  "forward", "Mister Hidden", "text", "a forwarded text");
    chat_expect(&world, ANN, "a forwarded text");
    CHECK(platform_asked(&world, "This message is forwarded") > 0);
    CHECK(platform_asked(&world, "Mister Hidden") > 0);
    platform_settle(&world);
    char *history = folder_read(&world.world.folder, ".ship/chats/telegram%3Achat%3A1001.jsonl");
    CHECK(history != NULL &&
          strstr(history, "\"surely this is wrong\"") != NULL); /* the text stays untouched */
    free(history);
    platform_world_stop(&world);
}

static void buttons_are_always_answered(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN, ANN, "hello");
    json_t *answer = chat_await(&world, ANN, "You said: hello");
    platform_tell(&world.client, "{s:s,s:i,s:i,s:I,s:s}", "do", "press", "chat", ANN, "user", ANN,
                  "message_id", (json_int_t)platform_number(answer, "id", 0), "data",
                  "anything \"odd\"");
    json_decref(answer);
    bool is_answered = false;
    for (long long until = process_now_ms() + AWAIT_MS; !is_answered && process_now_ms() < until;
         process_pause_ms(2)) {
        json_t *list = platform_do(&world.client, "{s:s}", "do", "callbacks");
        is_answered = json_is_true(
            json_object_get(json_array_get(json_object_get(list, "callbacks"), 0), "is_answered"));
        json_decref(list);
    }
    CHECK(is_answered);
    platform_settle(&world);
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(the_first_message_is_answered);
    RUN(an_answer_without_a_tool_falls_back_to_its_text);
    RUN(refused_markup_goes_out_as_plain_text);
    RUN(a_long_answer_comes_in_order_and_whole);
    RUN(a_group_is_greeted_when_the_bot_comes);
    RUN(quick_messages_are_all_answered_in_order);
    RUN(a_slow_answer_is_previewed_and_then_stands);
    RUN(a_group_is_answered_when_it_asks);
    RUN(only_the_initiator_and_administrators_are_served);
    RUN(topics_are_answered_where_they_are);
    RUN(commands_are_answered_in_their_topic);
    RUN(an_album_is_one_message);
    RUN(quotes_and_forwards_reach_the_model);
    RUN(buttons_are_always_answered);
    return check_summary();
}
