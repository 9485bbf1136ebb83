/*
 * Aim: what people see in their Feishu chats: answers, once, in the right place, and only where
 * they were asked for.
 * Method: the real binary between a Feishu and a model server; people speak, the chats and the
 * model's requests are read.
 *   scenario_feishu_chats BINARY FAKE_MODEL
 */
#include "feishu_world.h"

#include "sma/notices.h"
#include "support/check.h"

static const char *binary, *fake_model;

/* What the program itself says here, up to its first number: nobody's language is known, so it is
 * Chinese. */
static const char *notice(enum sma_notice which)
{
    static const char *const texts[] = {
#define X(name, english, chinese) chinese,
        SMA_NOTICE_MAP(X)
#undef X
    };
    static char text[512];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(texts[which], "%"), texts[which]);
    return text;
}

static void start(struct platform_world *world, const char *members)
{
    platform_world_start(world, &feishu_kind, binary, fake_model,
                         &(struct platform_options){.members = members});
}

/* Answers; a notice that the bot is busy may stand beside them. */
static void expect_sent(const struct platform_world *world, const char *chat, size_t count)
{
    size_t answers = chat_sent(world, chat) - chat_count(world, chat, notice(SMA_NOTICE_BUSY));
    if (answers != count)
        chat_show(world, chat);
    CHECK_INT(count, answers);
}

/* -- private chats ----------------------------------------------------------------------------- */
static void the_first_message_is_answered(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN_CHAT, ANN, "hello there");
    json_t *answer = chat_await(&world, ANN_CHAT, "You said: hello there");
    CHECK_TEXT("", talk_text(answer, "parent"));
    CHECK_TEXT("text", talk_text(answer, "type"));
    CHECK(talk_text(answer, "uuid")[0] != '\0');
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN_CHAT, 1);
    CHECK_INT(2, platform_asked(&world, "hello there"));
    CHECK_INT(1, platform_counter(&world, "acked"));
    CHECK_INT(1, platform_counter(&world, "delivered"));
    chat_say(&world, ANN_CHAT, ANN, "and again");
    chat_expect(&world, ANN_CHAT, "You said: and again");
    CHECK_INT(
        0, platform_counter(&world, "refused")); /* nothing a strict platform refuses was tried */
    CHECK_INT(1, platform_counter(&world, "tokens"));
    platform_world_stop(&world);
}

static void structure_goes_out_as_a_card(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN_CHAT, ANN, "[[plain]] this is **bold** and `a < b`");
    json_t *answer = chat_await(&world, ANN_CHAT, "this is **bold** and");
    CHECK_TEXT("interactive", talk_text(answer, "type"));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN_CHAT, 1);
    platform_tell(
        &world.client, "{s:s,s:s,s:s,s:i,s:i,s:s}", "do", "fault", "method", "send", "kind",
        "status", "status", 400, "code", 230099, "text",
        "Failed to create card content, ext=ErrCode: 11310; ErrMsg: element exceeds the limit;");
    chat_say(&world, ANN_CHAT, ANN, "please take **this**");
    answer = chat_await(&world, ANN_CHAT, "please take");
    CHECK_TEXT("text", talk_text(answer, "type"));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN_CHAT, 2);
    platform_world_stop(&world);
}

static void a_long_answer_comes_in_order_and_whole(void)
{
    struct platform_world world;
    char *text = calloc(1, 120000);
    CHECK(text != NULL);
    size_t len = (size_t)snprintf(text, 64, "[[plain]] **structure** makes cards of it\n");
    start(&world, NULL);
    for (unsigned i = 0; len < 100000; i++)
        len += (size_t)snprintf(text + len, 32, "word%u\xF0\x9F\x98\x80 ", i);
    snprintf(text + len, 32, "the end");
    chat_say(&world, ANN_CHAT, ANN, text);
    chat_expect(&world, ANN_CHAT, "the end");
    platform_settle(&world);
    json_t *list = platform_do(&world.client, "{s:s,s:s}", "do", "list", "chat", ANN_CHAT);
    const json_t *messages = json_object_get(list, "messages");
    unsigned next = 0;
    for (size_t i = 1; i < json_array_size(messages);
         i++) /* the words are there, each once, in order */
        for (const char *at = talk_text(json_array_get(messages, i), "text");
             (at = strstr(at, "word")) != NULL; at++)
            CHECK_INT(next++, strtol(at + 4, NULL, 10));
    CHECK(json_array_size(messages) >= 4 && next > 6000);
    json_decref(list);
    free(text);
    platform_world_stop(&world);
}

static void quick_messages_are_all_answered_in_order(void)
{
    struct platform_world world;
    char text[64];
    start(&world, NULL);
    for (int i = 0; i < 12; i++) {
        snprintf(text, sizeof text, "quick number %d.", i);
        chat_say(&world, ANN_CHAT, ANN, text);
    }
    chat_expect(&world, ANN_CHAT, "You said: quick number 11.");
    platform_settle(&world);
    json_t *list = platform_do(&world.client, "{s:s,s:s}", "do", "list", "chat", ANN_CHAT);
    const json_t *messages = json_object_get(list, "messages");
    int next = 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const char *at =
            strstr(talk_text(json_array_get(messages, i), "text"), "You said: quick number ");
        if (at != NULL)
            CHECK_INT(next++, strtol(at + 23, NULL, 10));
    }
    CHECK_INT(12, next);
    json_decref(list);
    platform_world_stop(&world);
}

/* The model's words come slowly: a card grows, and becomes the answer. */
static void a_slow_answer_grows_in_a_card_and_then_stands(void)
{
    struct platform_world world;
    char text[1400] = "[[plain]] [[fault:drip bytes=30 ms=50]]";
    bool is_growing = false;
    start(&world, NULL);
    for (size_t len = strlen(text); len < 1300; len += 10)
        memcpy(text + len, " and words", 11);
    chat_say(&world, ANN_CHAT, ANN, text);
    for (long long until = process_now_ms() + AWAIT_MS; process_now_ms() < until;
         process_pause_ms(5)) {
        json_t *card = chat_await(&world, ANN_CHAT, "");
        size_t len = strlen(talk_text(card, "text"));
        is_growing |= strcmp(talk_text(card, "type"), "interactive") == 0 && len < 1200;
        json_decref(card);
        if (len >= 1200)
            break;
    }
    CHECK(is_growing);
    platform_settle(&world);
    json_t *answer = chat_await(&world, ANN_CHAT, "and words");
    CHECK(strlen(talk_text(answer, "text")) >= 1200);
    CHECK(platform_number(answer, "edits", 0) >= 2);
    json_decref(answer);
    expect_sent(&world, ANN_CHAT, 1);
    CHECK_INT(0, platform_counter(&world, "refused"));
    platform_world_stop(&world);
}

/* -- groups ------------------------------------------------------------------------------------ */
static void a_group_is_answered_when_it_asks(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:b}", "do", "reads_all", "on", 1);
    chat_say(&world, TEAM, ANN, "just chatting, nobody asks");
    chat_say(&world, TEAM, ANN, "@{" BOB "} are you there");
    chat_say(&world, TEAM, ANN, "@{all} lunch is ready");
    struct chat_message asked = chat_say(&world, TEAM, ANN, "@{bot} first question for @{" BOB "}");
    json_t *answer = chat_await(&world, TEAM, "You said: first question for @Bob");
    CHECK_TEXT(asked.id, talk_text(answer, "parent"));
    CHECK_TEXT("", talk_text(answer, "thread"));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, TEAM, 1);
    CHECK_INT(0, platform_asked(&world, "You said: just chatting"));
    CHECK_INT(1, platform_asked(&world, ": just chatting, nobody asks\\n") > 0); /* as context */
    platform_world_stop(&world);
}

static void only_the_initiator_and_administrators_are_served(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, TEAM, ANN, "@{bot} I was first");
    chat_expect(&world, TEAM, "You said: I was first");
    chat_say(&world, TEAM, BOB, "@{bot} let me in");
    chat_expect(&world, TEAM, notice(SMA_NOTICE_NOT_ALLOWED));
    chat_say(&world, TEAM, EVE, "@{bot} I rule here");
    chat_expect(&world, TEAM, "You said: I rule here");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, TEAM, "let me in"));
    platform_world_stop(&world);
    start(&world, ",\"groupAccess\":\"anyone\"");
    chat_say(&world, TEAM, ANN, "@{bot} I was first");
    chat_say(&world, TEAM, BOB, "@{bot} let me in");
    chat_expect(&world, TEAM, "You said: I was first");
    chat_expect(&world, TEAM, "You said: let me in");
    platform_world_stop(&world);
}

static void topics_are_answered_where_they_are(void)
{
    struct platform_world world;
    start(&world, NULL);
    json_t *said = platform_do(&world.client, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", TOPICS,
                               "user", ANN, "text", "@{bot} in the topic");
    json_t *answer = chat_await(&world, TOPICS, "You said: in the topic");
    CHECK_TEXT(talk_text(said, "thread"), talk_text(answer, "thread"));
    CHECK_TEXT(talk_text(said, "message_id"), talk_text(answer, "parent"));
    json_decref(answer);
    json_decref(said);
    platform_settle(&world);
    expect_sent(&world, TOPICS, 1);
    platform_world_stop(&world);
}

/* -- what else people send --------------------------------------------------------------------- */
static void rich_text_reaches_the_model_as_markdown(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(
        &world.client, "{s:s,s:s,s:s,s:s,s:{s:s,s:[[{s:s,s:s,s:[s]},{s:s,s:s,s:s}],[{s:s,s:s}]]}}",
        "do", "say", "chat", ANN_CHAT, "user", ANN, "type", "post", "content", "title", "A heading",
        "content", "tag", "text", "text", "strong", "style", "bold", "tag", "a", "text", "a link",
        "href", "https://example.org/x", "tag", "text", "text", "second line");
    chat_expect(&world, ANN_CHAT, "second line");
    CHECK(platform_asked(&world, "**strong**") > 0);
    CHECK(platform_asked(&world, "[a link](https://example.org/x)") > 0);
    CHECK(platform_asked(&world, "A heading") > 0);
    platform_world_stop(&world);
}

static void unknown_things_are_acknowledged_in_silence(void)
{
    static const char *const types[] = {"sticker", "share_user", "vote", "hologram"};
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:b}", "do", "reads_all", "on", 1);
    platform_tell(&world.client, "{s:s,s:s}", "do", "event", "type", "im.message.message_read_v1");
    platform_tell(&world.client, "{s:s,s:s}", "do", "event", "type",
                  "im.something.of_next_year_v9");
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++)
        platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:{s:s}}", "do", "say", "chat", TEAM, "user",
                      ANN, "type", types[i], "content", "file_key", "file_v3_x");
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "bot_removed", "chat", TEAM, "user", EVE);
    platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "bot_added", "chat", TEAM, "user", EVE);
    chat_say(&world, ANN_CHAT, ANN, "still here");
    chat_expect(&world, ANN_CHAT, "You said: still here");
    platform_settle(&world);
    CHECK_INT(platform_counter(&world, "events"), platform_counter(&world, "acked"));
    CHECK_INT(0, platform_counter(&world, "retries"));
    expect_sent(&world, TEAM, 1);
    CHECK_INT(1, chat_count(&world, TEAM, "在群里与我对话")); /* greeted when it was added */
    platform_world_stop(&world);
}

static void commands_are_answered(void)
{
    static const struct
    {
        const char *command;
        enum sma_notice notice;
    } pairs[] = {{"/help", SMA_NOTICE_HELP},
                 {"/status", SMA_NOTICE_STATUS},
                 {"/clear", SMA_NOTICE_CLEARED},
                 {"/stop", SMA_NOTICE_NOTHING_TO_STOP},
                 {"/dance", SMA_NOTICE_UNKNOWN_COMMAND}};
    struct platform_world world;
    start(&world, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(pairs); i++) {
        size_t before = chat_sent(&world, ANN_CHAT);
        chat_say(&world, ANN_CHAT, ANN, pairs[i].command);
        chat_expect(&world, ANN_CHAT, notice(pairs[i].notice));
        platform_settle(&world);
        CHECK_INT(before + 1, chat_sent(&world, ANN_CHAT));
    }
    platform_world_stop(&world);
}

static void buttons_are_answered_in_time(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN_CHAT, ANN, "hello");
    chat_expect(&world, ANN_CHAT, "You said: hello");
    platform_settle(&world);
    int64_t events = platform_counter(&world, "events");
    platform_tell(&world.client, "{s:s,s:s,s:{s:{s:s},s:s,s:{s:{s:s},s:s},s:s,s:{s:s,s:s}}}", "do",
                  "event", "type", "card.action.trigger", "event", "operator", "open_id", ANN,
                  "token", "c-1", "action", "value", "odd", "\"thing\"", "tag", "button", "host",
                  "im_message", "context", "open_message_id", "om_old", "open_chat_id", ANN_CHAT);
    platform_await_counter(&world, "acked", events + 1);
    CHECK_INT(0, platform_counter(&world, "lost"));
    platform_settle(&world);
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(the_first_message_is_answered);
    RUN(structure_goes_out_as_a_card);
    RUN(a_long_answer_comes_in_order_and_whole);
    RUN(quick_messages_are_all_answered_in_order);
    RUN(a_slow_answer_grows_in_a_card_and_then_stands);
    RUN(a_group_is_answered_when_it_asks);
    RUN(only_the_initiator_and_administrators_are_served);
    RUN(topics_are_answered_where_they_are);
    RUN(rich_text_reaches_the_model_as_markdown);
    RUN(unknown_things_are_acknowledged_in_silence);
    RUN(commands_are_answered);
    RUN(buttons_are_answered_in_time);
    return check_summary();
}
