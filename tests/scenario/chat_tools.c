/*
 * Aim: a message of the agent to another chat really goes there and nowhere else; people are asked
 * first, and see where it goes; what cannot go there is not called sent.
 * Method: the real binary between a platform in this process and a model server that calls what the
 *   user's text says. scenario_chat_tools_X BINARY FAKE_MODEL
 */
#if defined(CHAT_TOOLS_TELEGRAM)
#include "approval_world.h"
#define CHANNEL "telegram"
#define OWNER "1001"
#define MEMBER "1002"
#define ANN_CHAT ANN
#define BOB_CHAT BOB
#define BOB_ID "1002"
#define BOB_KEY "telegram:chat:1002"
#define ANN_ID "1001"
#define KIND telegram_kind
#define UNKNOWN_ID "\"4242\""
#elif defined(CHAT_TOOLS_FEISHU)
#include "feishu_world.h"
#define CHANNEL "feishu"
#define OWNER ANN
#define MEMBER BOB
#define BOB_ID BOB_CHAT
#define BOB_KEY "feishu:chat:" BOB_CHAT
#define ANN_ID ANN_CHAT
#define KIND feishu_kind
#define UNKNOWN_ID "\"oc_nobody\""
#else
#include "qq_world.h"
#define CHANNEL "qq"
#define OWNER "A1B2C3D4E5F60718293A4B5C6D7E8F90"
#define MEMBER "B0B2C3D4E5F60718293A4B5C6D7E8F91"
#define ANN_CHAT ANN
#define BOB_CHAT BOB
#define BOB_ID MEMBER
#define BOB_KEY "qq:c2c:" MEMBER
#define ANN_ID OWNER
#define KIND qq_kind
#define UNKNOWN_ID "\"D0D2C3D4E5F60718293A4B5C6D7E8F99\""
#endif

#include "support/check.h"

#include <dirent.h>

#define SEND(members) "tell [[call chat_send {" members ",\"text\":\"the tea is ready\"}]]"
#define TEA "the tea is ready"

static const char *binary, *fake_model;

static void say(const struct platform_world *world, bool is_ann, const char *text)
{
#if defined(CHAT_TOOLS_QQ)
    chat_say(world, is_ann ? ANN : BOB, NULL, text);
#else
    if (is_ann)
        (void)chat_say(world, ANN_CHAT, ANN, text);
    else
        (void)chat_say(world, BOB_CHAT, BOB, text);
#endif
}

static void await_results(const struct platform_world *world, size_t count)
{
    long long until = process_now_ms() + AWAIT_MS;
    while (chat_count(world, ANN_CHAT, "Result: ") < count && process_now_ms() < until)
        process_pause_ms(2);
    if (chat_count(world, ANN_CHAT, "Result: ") != count)
        chat_show(world, ANN_CHAT);
    CHECK_INT(count, chat_count(world, ANN_CHAT, "Result: "));
}

/* Ann owns the project and Bob is a member; both have talked to the agent. */
static void start(struct platform_world *world, const char *rule)
{
    char root[512];
    snprintf(root, sizeof root,
             ",\"language\":\"en\",\"permissions\":{%s\"roles\":{\"owner\":[\"" CHANNEL ":" OWNER
             "\"],\"member\":[\"" CHANNEL ":" MEMBER "\"]}}",
             rule);
    if (strstr(KIND.root == NULL ? "" : KIND.root, "language") != NULL) /* it says it itself */
        memmove(root, strchr(root + 1, ','), strlen(strchr(root + 1, ',')) + 1);
    platform_world_start(
        world, &KIND, binary, fake_model,
        &(struct platform_options){
            .root = root, .members = ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}"});
    say(world, true, "hello");
    chat_expect(world, ANN_CHAT, "You said: hello");
    say(world, false, "hi there");
    chat_expect(world, BOB_CHAT, "You said: hi there");
    platform_settle(world);
}

static void it_goes_where_it_is_sent(void)
{
    static const char *const calls[] = {
        SEND("\"chatId\":\"" BOB_ID "\""),
        SEND("\"chatId\":\"" BOB_KEY "\",\"chatType\":null"),
        "tell [[call send_message {\"text\":\"the tea is ready\",\"channel\":\"" CHANNEL
        "\",\"chatId\":\"" BOB_ID "\"}]]",
#if defined(CHAT_TOOLS_TELEGRAM)
        SEND("\"chatId\":1002"),
#elif defined(CHAT_TOOLS_QQ)
        SEND("\"chatId\":\"" BOB_ID "\",\"chatType\":\"c2c\""),
#endif
    };
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++) {
        say(&world, true, calls[i]);
        await_results(&world, i + 1);
        platform_settle(&world);
        CHECK_INT(i + 1, chat_count(&world, BOB_CHAT, TEA));
        CHECK_INT(0, chat_count(&world, BOB_CHAT, "Result: "));
        CHECK_INT(0, chat_count(&world, ANN_CHAT, TEA));
    }
    chat_expect(&world, ANN_CHAT, "\"sentTo\":\"" BOB_KEY "\"");
    /* Bob's history has it, Ann's has not; and his next message is answered. */
    say(&world, false, "thank you");
    chat_expect(&world, BOB_CHAT, "You said: thank you");
    /* Her own chat, named, is her own chat. */
    say(&world, true, "me [[call chat_send {\"chatId\":\"" ANN_ID "\",\"text\":\"to you\"}]]");
    chat_expect(&world, ANN_CHAT, "to you");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, BOB_CHAT, "to you"));
    platform_world_stop(&world);
}

/* -- files ------------------------------------------------------------------------------------- */
#define FILE_CALL(tool, members) "give [[call " tool " {" members ",\"chatId\":\"" BOB_ID "\"}]]"

#if !defined(CHAT_TOOLS_QQ)
/* Files in a chat whose content is this. */
static size_t count_files(const struct platform_world *world, bool is_ann, const char *content)
{
#if defined(CHAT_TOOLS_TELEGRAM)
    json_t *list = platform_do(&world->client, "{s:s,s:i}", "do", "list", "chat",
                               is_ann ? ANN_CHAT : BOB_CHAT);
#else
    json_t *list = platform_do(&world->client, "{s:s,s:s}", "do", "list", "chat",
                               is_ann ? ANN_CHAT : BOB_CHAT);
#endif
    const json_t *message;
    size_t count = 0, index;
    json_array_foreach(json_object_get(list, "messages"), index, message)
    {
        count += strcmp(talk_text(message, "file_text"), content) == 0;
    }
    json_decref(list);
    return count;
}

/* A file goes where the call says, the own chat gets none of it, and what is no file of the project
 * goes nowhere. */
static void a_file_goes_where_it_is_sent(void)
{
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    folder_write(&world.world.folder, "report.txt", "all is well");
    folder_write(&world.world.folder, "hello.ogg", "OggS and so on");
    say(&world, true, FILE_CALL("send_file", "\"path\":\"report.txt\",\"caption\":\"for you\""));
    await_results(&world, 1);
    chat_expect(&world, ANN_CHAT, "\"sentTo\":\"" BOB_KEY "\"");
    platform_settle(&world);
    CHECK_INT(1, count_files(&world, false, "all is well"));
    CHECK_INT(0, count_files(&world, true, "all is well"));
    say(&world, true, FILE_CALL("send_voice", "\"path\":\"hello.ogg\""));
    await_results(&world, 2);
    platform_settle(&world);
    CHECK_INT(1, count_files(&world, false, "OggS and so on"));
    CHECK_INT(0, count_files(&world, true, "OggS and so on"));
    say(&world, true, "me [[call send_voice {\"path\":\"hello.ogg\"}]]");
    await_results(&world, 3);
    platform_settle(&world);
    CHECK_INT(1, count_files(&world, true, "OggS and so on"));
    say(&world, true, FILE_CALL("send_file", "\"path\":\".env\""));
    await_results(&world, 4);
    say(&world, true, FILE_CALL("send_voice", "\"path\":\"report.txt\""));
    chat_expect(&world, ANN_CHAT, "is no sound file");
    platform_settle(&world);
    CHECK_INT(2, chat_count(&world, ANN_CHAT, "\"sentTo\":"));
    platform_world_stop(&world);
}
#endif

static void what_cannot_go_there_is_not_called_sent(void)
{
    static const struct
    {
        const char *call, *said;
    } rows[] = {
        {SEND("\"chatId\":" UNKNOWN_ID), "does not know such a chat"},
        {SEND("\"chatId\":\"" BOB_ID "\",\"messageThreadId\":99"), "does not know such a chat"},
        {SEND("\"chatId\":\"" BOB_ID "\",\"channel\":\"icq\""), "not configured here"},
        {SEND("\"channel\":\"icq\""), "is missing"},
        {SEND("\"chatId\":\"a b\""), "without spaces"},
        {SEND("\"chatId\":\"" BOB_ID "\",\"silent\":true"), "is not known to this tool"},
    };
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        say(&world, true, rows[i].call);
        chat_expect(&world, ANN_CHAT, rows[i].said);
        await_results(&world, i + 1);
    }
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, ANN_CHAT, "\"success\":true"));
    CHECK_INT(0, chat_count(&world, BOB_CHAT, TEA));
    CHECK_INT(0, chat_count(&world, ANN_CHAT, TEA));
    platform_world_stop(&world);
    start(&world, "\"send_elsewhere\":\"refuse\",");
    say(&world, true, SEND("\"chatId\":\"" BOB_ID "\""));
    chat_expect(&world, ANN_CHAT, "Sending to other chats is switched off");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, BOB_CHAT, TEA));
    folder_write(&world.world.folder, "report.txt", "all is well");
    say(&world, true, FILE_CALL("send_file", "\"path\":\"report.txt\""));
    await_results(&world, 2);
    CHECK_INT(2, chat_count(&world, ANN_CHAT, "Sending to other chats is switched off"));
    platform_world_stop(&world);
}

#if defined(CHAT_TOOLS_TELEGRAM)
/* The card says where; nothing goes before the word, and what was agreed to goes once, whatever
 * happens to the program. */
static void people_are_asked_and_see_where_it_goes(void)
{
    struct platform_world world;
    start(&world, "");
    int64_t card =
        approval_ask(&world, ANN, ANN, SEND("\"chatId\":\"" BOB_ID "\""), "(" BOB_KEY ")");
    CHECK_INT(0, chat_count(&world, BOB, TEA));
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    await_results(&world, 1);
    CHECK_INT(0, chat_count(&world, BOB, TEA));
    for (int i = 0; i < 2; i++) { /* killed while it waits, and again with the word given */
        card = approval_ask(&world, ANN, ANN, SEND("\"chatId\":\"" BOB_ID "\""), BOB_KEY);
        service_kill(&world.world.service);
        char *press = approval_press(&world, ANN, ANN, card, "Approve");
        approval_restart(&world, binary);
        approval_expect_toast(&world, press, "Approved.");
        if (i == 1) {
            service_kill(&world.world.service);
            approval_restart(&world, binary);
        }
        json_decref(approval_await_outcome(&world, ANN, card, "Approved: "));
        await_results(&world, (size_t)i + 2);
        platform_settle(&world);
        /* The second may have died with the program, and is then not repeated but told. */
        bool is_told = i == 1 && chat_count(&world, ANN, "It was not repeated") > 0;
        CHECK_INT(is_told ? i : i + 1, chat_count(&world, BOB, TEA));
    }
    platform_world_stop(&world);
}

/* The card says which file goes where; killed while it waits, it goes once. */
static void people_see_which_file_goes_where(void)
{
    struct platform_world world;
    start(&world, "");
    folder_write(&world.world.folder, "report.txt", "all is well");
    int64_t card = approval_ask(
        &world, ANN, ANN, FILE_CALL("send_file", "\"path\":\"report.txt\",\"caption\":\"for you\""),
        "document report.txt | for you");
    CHECK_INT(0, count_files(&world, false, "all is well"));
    service_kill(&world.world.service);
    char *press = approval_press(&world, ANN, ANN, card, "Approve");
    approval_restart(&world, binary);
    approval_expect_toast(&world, press, "Approved.");
    await_results(&world, 1);
    platform_settle(&world);
    CHECK_INT(1, count_files(&world, false, "all is well"));
    CHECK_INT(0, count_files(&world, true, "all is well"));
    platform_world_stop(&world);
}

/* The platform took it and did not say so, and the program dies: it is not sent again silently. */
static void a_send_of_unknown_end_is_not_repeated(void)
{
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    platform_fault(&world, "sendMessage", "lose_answer", 1);
    say(&world, true, SEND("\"chatId\":\"" BOB_ID "\""));
    chat_expect(&world, BOB, TEA);
    service_kill(&world.world.service);
    approval_restart(&world, binary);
    await_results(&world, 1);
    platform_settle(&world);
    CHECK(chat_count(&world, BOB, TEA) <= 2); /* a repetition is marked as one */
    platform_world_stop(&world);
}

/* What the platform says is what the model is told. */
static void a_refusal_of_the_platform_comes_back(void)
{
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    platform_tell(&world.client, "{s:s,s:i,s:b}", "do", "block", "chat", BOB, "on", true);
    say(&world, true, SEND("\"chatId\":\"" BOB_ID "\""));
    chat_expect(&world, ANN, "\"success\":false");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, BOB, TEA));
    platform_world_stop(&world);
}

/* Whom nobody knows may talk here, and nowhere else. */
static void a_stranger_sends_nothing_elsewhere(void)
{
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    platform_tell(&world.client, "{s:s,s:i,s:s,s:s,s:s}", "do", "user", "id", CAT, "first_name",
                  "Cat", "username", "cat", "language", "en");
    (void)chat_say(&world, CAT, CAT, SEND("\"chatId\":\"" BOB_ID "\""));
    chat_expect(&world, CAT, "may only talk");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, BOB, TEA));
    platform_world_stop(&world);
}

/* -- commands that decide by id ---------------------------------------------------------------- */
/* Bob asks; Ann reads in her own chat what waits and decides it there by the beginning of its id,
 * also after the program died. Bob's own word by id counts as little as his press would. */
static void an_owner_decides_by_id_from_her_own_chat(void)
{
    struct platform_world world;
    start(&world, "");
    for (int i = 0; i < 2; i++) {
        (void)chat_say(&world, BOB, BOB, WANT_COUNT);
        json_t *list = approval_await_open(&world, 1);
        char id[64], text[128];
        snprintf(id, sizeof id, "%.8s",
                 talk_text(json_array_get(json_object_get(list, "approvals"), 0), "id"));
        json_decref(list);
        chat_expect(&world, BOB, "An owner or administrator decides this");
        (void)chat_say(&world, ANN, ANN, "/approvals");
        snprintf(text, sizeof text, "%s " COUNT_COMMAND " (" BOB_KEY ")", id);
        chat_expect(&world, ANN, text);
        snprintf(text, sizeof text, "/approve %s", id);
        (void)chat_say(&world, BOB, BOB, text);
        chat_expect(&world, BOB, "This is for an owner or administrator to decide.");
        CHECK_INT(i, platform_lines(&world, "count"));
        if (i == 1) {
            service_kill(&world.world.service);
            approval_restart(&world, binary);
        }
        (void)chat_say(&world, ANN, ANN, text);
        approval_await_lines(&world, "count", (size_t)i + 1);
        approval_await_results(&world, BOB, (size_t)i + 1);
        platform_settle(&world);
        CHECK_INT(i + 1, chat_count(&world, ANN, "Approved."));
        (void)chat_say(&world, ANN, ANN, text);
        chat_expect(&world, ANN, "Already decided by ");
        platform_settle(&world);
        CHECK_INT(i + 1, platform_lines(&world, "count"));
    }
    platform_world_stop(&world);
}
#endif

/* -- what was cut ------------------------------------------------------------------------------ */
#if defined(CHAT_TOOLS_QQ)
/* Four answers have no room for it: the rest comes when it is asked for, also after the program
 * died, each word once; then the same word is the model's. */
static void what_was_cut_comes_when_it_is_asked_for(void)
{
    struct platform_world world;
    static char text[32768];
    size_t len = (size_t)snprintf(text, sizeof text, "[[plain]] ");
    for (unsigned i = 0; len < 19000; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "word%u ", i);
    snprintf(text + len, sizeof text - len, "the end");
    start(&world, "");
    say(&world, true, text);
    chat_expect(&world, ANN_CHAT, "[cut: send \"more\" for the rest, /full for all of it]");
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, ANN_CHAT, "the end"));
    say(&world, false, "more"); /* Bob's chat has nothing of it */
    chat_expect(&world, BOB_CHAT, "You said: more");
    platform_settle(&world);
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    say(&world, true, "继续");
    chat_expect(&world, ANN_CHAT, "the end");
    platform_settle(&world);
    json_t *ours = chat_ours(&world, ANN_CHAT);
    int64_t next = 0;
    for (size_t i = 0; i < json_array_size(ours); i++)
        for (const char *at = talk_text(json_array_get(ours, i), "text");
             (at = strstr(at, "word")) != NULL; at++)
            CHECK_INT(next++, strtol(at + 4, NULL, 10));
    CHECK(next > 1800);
    json_decref(ours);
    say(&world, true, "继续");
    chat_expect(&world, ANN_CHAT, "You said: 继续");
    platform_world_stop(&world);
}
#else
/* Path of the file that /full made of what Bob was answered. */
static void find_output(const struct platform_world *world, char path[128])
{
    char folder[600], whole[900], text[256];
    snprintf(folder, sizeof folder, "%s/.ship/output", world->world.folder.path);
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    path[0] = '\0';
    for (struct dirent *item; dir != NULL && (item = readdir(dir)) != NULL;) {
        snprintf(whole, sizeof whole, "%s/%s", folder, item->d_name);
        FILE *file = item->d_name[0] == '.' ? NULL : fopen(whole, "re");
        if (file == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        if (strstr(text, "hi there") != NULL)
            snprintf(path, 128, ".ship/output/%.100s", item->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    CHECK(path[0] != '\0');
}

/* Ann knows the name of what Bob got: no tool and no words of a model send it, there or here. */
static void nobody_else_sends_it(const struct platform_world *world)
{
    static const char *const tries[][2] = {
        {"send_file {\"path\":\"", "\"}"},
        {"send_file {\"path\":\"./.ship/../", "\"}"},
        {"send_file {\"path\":\".//", "\"}"},
        {"send_file {\"path\":\"", "\",\"chatId\":\"" BOB_ID "\"}"},
        {"send_voice {\"path\":\"", "\"}"},
        {"read_file {\"path\":\"", "\"}"}};
    char path[128], text[400];
    find_output(world, path);
    for (size_t i = 0; i < SMA_COUNT_OF(tries); i++) {
        snprintf(text, sizeof text, "give [[call %s%s%s]]", tries[i][0], path, tries[i][1]);
        say(world, true, text);
        await_results(world, i + 1);
    }
    snprintf(text, sizeof text,
             "give [[call chat_send {\"text\":\"@attach document %s\\n@attach voice %s\"}]]", path,
             path);
    say(world, true, text);
    platform_settle(world);
    CHECK_INT(0, chat_count(world, ANN_CHAT, "\"success\":true"));
    CHECK_INT(0, count_files(world, true, "You said: hi there"));
    CHECK_INT(1, count_files(world, false, "You said: hi there"));
}

static void the_whole_answer_comes_as_a_file(void)
{
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    say(&world, true, "/more");
    chat_expect(&world, ANN_CHAT, "Nothing of my last answer was cut");
    say(&world, true, "/full");
    say(&world, false, "发完整输出");
    platform_settle(&world);
    CHECK_INT(1, count_files(&world, true, "You said: hello"));
    CHECK_INT(1, count_files(&world, false, "You said: hi there"));
    CHECK_INT(0, count_files(&world, true, "You said: hi there"));
    nobody_else_sends_it(&world);
    platform_world_stop(&world);
}
#endif

#if defined(CHAT_TOOLS_FEISHU)
#define CARD_WITH(members, element)   \
    "show [[call send_card {" members \
    "\"card\":{\"schema\":\"2.0\",\"body\":{\"elements\":[" element "]}}}]]"
#define CARD(element) CARD_WITH("", element)
#define MENU "{\"tag\":\"markdown\",\"content\":\"the menu\"}"

/* What the platform takes is shown; what it refuses, and what no card may have, is not called
 * sent. */
static void a_card_is_shown_or_said_why_not(void)
{
    struct platform_world world;
    start(&world, "");
    say(&world, true, CARD(MENU));
    await_results(&world, 1);
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN_CHAT, "the menu"));
    say(&world, true, CARD("{\"tag\":\"note\",\"content\":\"old\"}"));
    await_results(&world, 2);
    chat_expect(&world, ANN_CHAT, "no longer support");
    say(&world, true,
        CARD("{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":\"OK\"},"
             "\"value\":{\"a\":1}}"));
    await_results(&world, 3);
    chat_expect(&world, ANN_CHAT, "do nothing else");
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN_CHAT, "\"success\":true"));
    platform_world_stop(&world);
}

static void first_id(const struct platform_world *world, const char *chat, char id[80])
{
    json_t *list = platform_do(&world->client, "{s:s,s:s}", "do", "list", "chat", chat);
    snprintf(id, 80, "%s", talk_text(json_array_get(json_object_get(list, "messages"), 0), "id"));
    json_decref(list);
    CHECK(id[0] != '\0');
}

/* Feishu replies in the chat of the message that is named, whatever chat is meant: one of Bob's
 * chat leads nowhere, and nobody is asked. */
static void a_message_of_another_chat_is_not_replied_to(void)
{
    char text[400], id[80];
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"refuse\",");
    first_id(&world, BOB_CHAT, id);
    snprintf(text, sizeof text, CARD_WITH("\"messageId\":\"%s\",", MENU), id);
    say(&world, true, text);
    await_results(&world, 1);
    chat_expect(&world, ANN_CHAT, "No message with this id is known in that chat");
    snprintf(text, sizeof text, "tell [[call chat_send {\"messageId\":\"%s\",\"text\":\"%s\"}]]",
             id, TEA);
    say(&world, true, text);
    platform_settle(&world);
    snprintf(text, sizeof text, "like [[call react {\"message_id\":\"%s\",\"emoji\":\"OK\"}]]", id);
    say(&world, true, text);
    await_results(&world, 2);
    platform_settle(&world);
    CHECK_INT(0, chat_count(&world, BOB_CHAT, TEA));
    CHECK_INT(0, chat_count(&world, BOB_CHAT, "the menu"));
    CHECK_INT(0, chat_count(&world, ANN_CHAT, "\"success\":true"));
    first_id(&world, ANN_CHAT, id); /* one of her own is replied to */
    snprintf(text, sizeof text, CARD_WITH("\"messageId\":\"%s\",", MENU), id);
    say(&world, true, text);
    await_results(&world, 3);
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN_CHAT, "\"success\":true"));
    CHECK_INT(1, chat_count(&world, ANN_CHAT, "the menu"));
    CHECK_INT(0, chat_count(&world, BOB_CHAT, "the menu"));
    platform_world_stop(&world);
}

/* A topic of Feishu is reached by a reply alone: what is agreed to for it stands in it. */
static void what_is_for_a_topic_stands_in_it(void)
{
    char text[400];
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    json_t *said = platform_do(&world.client, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", TOPICS,
                               "user", ANN, "text", "@{bot} in the topic");
    chat_expect(&world, TOPICS, "You said: in the topic");
    platform_settle(&world);
    snprintf(text, sizeof text,
             "tell [[call chat_send {\"chatId\":\"feishu:chat:%s:topic:%s\",\"text\":\"%s\"}]]",
             TOPICS, talk_text(said, "thread"), TEA);
    say(&world, true, text);
    await_results(&world, 1);
    json_t *answer = chat_await(&world, TOPICS, TEA);
    CHECK_TEXT(talk_text(said, "thread"), talk_text(answer, "thread"));
    json_decref(answer);
    json_decref(said);
    platform_world_stop(&world);
}

/* It goes to the other chat alone; a chat that is unknown gets none, nor does one before people
 * have agreed, who see what it holds. */
static void a_card_goes_where_it_is_sent(void)
{
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    say(&world, true, CARD_WITH("\"chatId\":\"" BOB_ID "\",", MENU));
    await_results(&world, 1);
    chat_expect(&world, ANN_CHAT, "\"sentTo\":\"" BOB_KEY "\"");
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, BOB_CHAT, "the menu"));
    CHECK_INT(0, chat_count(&world, ANN_CHAT, "the menu"));
    say(&world, true, CARD_WITH("\"chatId\":" UNKNOWN_ID ",", MENU));
    await_results(&world, 2);
    chat_expect(&world, ANN_CHAT, "does not know such a chat");
    platform_world_stop(&world);
    start(&world, "");
    say(&world, true, CARD_WITH("\"chatId\":\"" BOB_ID "\",", MENU));
    chat_expect(&world, ANN_CHAT, "(" BOB_KEY ")");
    CHECK(chat_count(&world, ANN_CHAT, "the menu") > 0);
    CHECK_INT(0, chat_count(&world, BOB_CHAT, "the menu"));
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    say(&world, true, "yes");
    await_results(&world, 1);
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, BOB_CHAT, "the menu"));
    platform_world_stop(&world);
}

/* The platform took it and did not say so, and the program dies: there is still one. */
static void a_card_of_unknown_end_is_there_once(void)
{
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "send", "kind",
                  "lose_answer", "times", 1);
    say(&world, true, CARD_WITH("\"chatId\":\"" BOB_ID "\",", MENU));
    chat_expect(&world, BOB_CHAT, "the menu");
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    await_results(&world, 1);
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, BOB_CHAT, "the menu"));
    CHECK_INT(0, chat_count(&world, ANN_CHAT, "the menu"));
    platform_world_stop(&world);
}

/* From a platform without cards to one with them: to that chat, and none to itself. What hostile
 * models write goes nowhere. */
static void a_card_comes_from_another_platform(void)
{
#define SOUP "\"card\":{\"elements\":[{\"tag\":\"markdown\",\"content\":\"the soup\"}]}"
    static const struct
    {
        const char *members, *said;
        size_t count;
    } rows[] = {
        {SOUP, "has no cards. Name another", 0},
        {SOUP ",\"channel\":\"feishu\",\"chatId\":\"" BOB_ID "\"", "\"sentTo", 1},
        {SOUP ",\"chatId\":\"" BOB_KEY "\"", "\"sentTo", 2},
        {SOUP ",\"ch\\u0061tId\":\"" BOB_KEY "\"", "\"sentTo", 3},
        {SOUP ",\"chatId\":\"d\",\"chatId\":\"" BOB_KEY "\"", "\"sentTo", 4},
        {SOUP ",\"chatId\":\"" BOB_KEY "\",\"chatId\":\"d\"", "no cards", 4},
        {SOUP ",\"channel\":\"Feishu\",\"chatId\":\"" BOB_ID "\"", "not configured here", 4},
        {SOUP ",\"chatId\":\"" BOB_KEY "\",\"to\":\"x\"", "is not known to this tool", 4},
        {SOUP ",\"chatId\":\"feishu:chat:oc_nobody\"", "does not know such a chat", 4},
        {SOUP ",\"channel\":\"feishu\",\"chatId\":\"" BOB_ID "\",\"messageThreadId\":\"t\"",
         "does not know such a chat", 4},
        {"\"chatId\":\"" BOB_KEY "\",\"card\":{\"elements\":[{\"tag\":\"form\"}]}", "fill in", 4},
    };
    struct platform_world world;
    start(&world, "\"send_elsewhere\":\"allow\",");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char text[600];
        snprintf(text, sizeof text, "show [[call send_card {%s}]]", rows[i].members);
        json_t *body =
            json_pack("{s:s,s:s,s:s}", "instructions", text, "chatId", "d", "userId", "u");
        char *bytes = json_dumps(body, JSON_COMPACT);
        struct http_answer answer =
            http_ask(world.world.service.port, "/api/execute", "", bytes, AWAIT_MS);
        if (answer.status != 200 || strstr(answer.body, rows[i].said) == NULL)
            fprintf(stderr, "%s: %d %s\n", rows[i].members, answer.status, answer.body);
        CHECK(answer.status == 200 && strstr(answer.body, rows[i].said) != NULL);
        CHECK_INT(rows[i].count, chat_count(&world, BOB_CHAT, "the soup"));
        http_answer_fini(&answer);
        free(bytes);
        json_decref(body);
    }
    platform_world_stop(&world);
#undef SOUP
}
#endif

/* Who asks is looked up by the platform, where it has a way; others only by an owner. */
static void people_are_looked_up(void)
{
#define WHO(members) "who [[call resolve_user_profile {" members "}]]"
    struct platform_world world;
    start(&world, "");
    say(&world, true, WHO(""));
#if defined(CHAT_TOOLS_QQ)
    chat_expect(&world, ANN_CHAT, "This platform has no such look-up");
#else
    chat_expect(&world, ANN_CHAT, "\"source\":\"platform\"");
    say(&world, true, WHO("\"userId\":\"" MEMBER "\""));
    await_results(&world, 2);
    CHECK_INT(2, chat_count(&world, ANN_CHAT, "\"profile\":{\"name\":\""));
#endif
    say(&world, false, WHO("\"userId\":\"" OWNER "\""));
    chat_expect(&world, BOB_CHAT, "Nobody with this id is known here");
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    people_are_looked_up();
    it_goes_where_it_is_sent();
#if !defined(CHAT_TOOLS_QQ)
    a_file_goes_where_it_is_sent();
#endif
    what_cannot_go_there_is_not_called_sent();
#if defined(CHAT_TOOLS_QQ)
    what_was_cut_comes_when_it_is_asked_for();
#else
    the_whole_answer_comes_as_a_file();
#endif
#if defined(CHAT_TOOLS_FEISHU)
    a_message_of_another_chat_is_not_replied_to();
    what_is_for_a_topic_stands_in_it();
    a_card_is_shown_or_said_why_not();
    a_card_goes_where_it_is_sent();
    a_card_of_unknown_end_is_there_once();
    a_card_comes_from_another_platform();
#endif
#if defined(CHAT_TOOLS_TELEGRAM)
    people_are_asked_and_see_where_it_goes();
    people_see_which_file_goes_where();
    a_send_of_unknown_end_is_not_repeated();
    a_refusal_of_the_platform_comes_back();
    a_stranger_sends_nothing_elsewhere();
    an_owner_decides_by_id_from_her_own_chat();
#endif
    return 0;
}
