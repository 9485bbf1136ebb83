/*
 * Aim: what people see in their QQ chats: answers, once, in the right place, and only where they
 * were asked for; files in and out; buttons that do not spin; replies within what the platform
 * allows.
 * Method: the real binary between a QQ platform and a model server; people speak, the chats and the
 * model's requests are read.
 *   scenario_qq_chats BINARY FAKE_MODEL
 */
#include "qq_world.h"

#include "support/check.h"

#include <dirent.h>

#define FAST ",\"limits\":{\"perSecond\":0,\"perChatPerMinute\":0}"

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *members)
{
    platform_world_start(world, &qq_kind, binary, fake_model,
                         &(struct platform_options){.members = members});
}

static void expect_sent(const struct platform_world *world, const char *chat, size_t count)
{
    size_t sent = chat_sent(world, chat);
    if (sent != count)
        chat_show(world, chat);
    CHECK_INT(count, sent);
}

/* Nothing a strict platform refuses was tried. */
static void expect_no_refusal(const struct platform_world *world)
{
    if (platform_counter(world, "refusals") != 0)
        chat_show(world, ANN);
    CHECK_INT(0, platform_counter(world, "refusals"));
    CHECK_INT(0, platform_counter(world, "closed_by_us"));
}

/* -- where people speak ------------------------------------------------------------------------ */
static void the_first_message_is_answered(void)
{
    struct platform_world world;
    start(&world, NULL);
    struct chat_message said = chat_say(&world, ANN, NULL, "hello there");
    json_t *answer = chat_await(&world, ANN, "You said: hello there");
    CHECK_TEXT(said.id, talk_text(answer, "replied")); /* a passive reply */
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN, 1);
    chat_say(&world, ANN, NULL, "and again");
    chat_expect(&world, ANN, "You said: and again");
    platform_settle(&world);
    expect_no_refusal(&world);
    CHECK_INT(1, platform_counter(&world, "identifies"));
    char *history = folder_read(&world.world.folder,
                                ".ship/chats/qq%3Ac2c%3AA1B2C3D4E5F60718293A4B5C6D7E8F90.jsonl");
    CHECK(history != NULL && strstr(history, "\"hello there\"") != NULL);
    free(history);
    platform_world_stop(&world);
}

static void every_kind_of_chat_is_answered(void)
{
    static const char *const chats[] = {ANN, TEAM, PLACE, DIRECT};
    struct platform_world world;
    start(&world, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        chat_say(&world, chats[i], NULL, "hello & goodbye");
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        chat_expect(&world, chats[i], "You said: hello & goodbye");
    platform_settle(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        expect_sent(&world, chats[i], 1);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

static void old_forms_of_events_are_answered(void)
{
    static const char *const chats[] = {ANN, TEAM};
    struct platform_world world;
    start(&world, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++) {
        platform_tell(&world.client, "{s:s,s:s,s:s,s:b}", "do", "say", "chat", chats[i], "text",
                      "an old form", "old", 1);
        chat_expect(&world, chats[i], "You said: an old form");
    }
    platform_settle(&world);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

static void what_comes_twice_is_answered_once(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:i}", "do", "say", "chat", ANN, "text",
                  "sent thrice", "times", 3);
    platform_tell(&world.client, "{s:s,s:s,s:b}", "do", "chat", "chat", TEAM, "tells_all", 1);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:b}", "do", "say", "chat", TEAM, "text",
                  "as both types", "both", 1);
    chat_expect(&world, ANN, "You said: sent thrice");
    chat_expect(&world, TEAM, "You said: as both types");
    platform_settle(&world);
    platform_tell(&world.client, "{s:s,s:i}", "do", "redeliver", "count", 3); /* hours later */
    platform_talk(&world, 1, 1);
    CHECK_INT(1, chat_count(&world, ANN, "sent thrice"));
    CHECK_INT(1, chat_count(&world, TEAM, "as both types"));
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

static void a_group_is_answered_when_it_asks(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:s,s:b}", "do", "chat", "chat", TEAM, "tells_all", 1);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:b}", "do", "say", "chat", TEAM, "text",
                  "just chatting, nobody asks", "at", 0);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:b,s:b}", "do", "say", "chat", TEAM, "text",
                  "dinner is ready, everybody", "at", 0, "everybody", 1);
    chat_say(&world, TEAM, NULL, "now the bot");
    chat_expect(&world, TEAM, "You said: now the bot");
    CHECK_INT(1, platform_asked(&world, ": just chatting, nobody asks\\n") > 0); /* as context */
    platform_settle(&world); /* who speaks while the run is still open is told to wait */
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user", "M2",
                  "text", "let me in");
    chat_expect(&world, TEAM, "I answer only the person who spoke to me first");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", TEAM, "user", "M3",
                  "role", "admin", "text", "I rule here");
    chat_expect(&world, TEAM, "You said: I rule here");
    platform_settle(&world);
    expect_sent(&world, TEAM, 3);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

/* Nobody who speaks to the bot is left without an answer; what is not for it is. */
static void without_words_only_those_who_speak_to_the_bot_are_answered(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN, NULL, "");
    chat_say(&world, TEAM, NULL, " ");
    platform_tell(&world.client, "{s:s,s:s,s:s,s:b}", "do", "say", "chat", PLACE, "text",
                  "a bot speaks", "is_bot", 1);
    static const char *const types[] = {"GUILD_CREATE", "MESSAGE_REACTION_ADD", "SOMETHING_NEW"};
    for (size_t i = 0; i < SMA_COUNT_OF(types); i++)
        platform_tell(&world.client, "{s:s,s:s,s:{s:s}}", "do", "emit", "type", types[i], "data",
                      "id", "1");
    chat_expect(&world, ANN, "You said: [a message whose content the platform does not show");
    chat_expect(&world, TEAM, "You said: @helper");
    platform_settle(&world); /* who speaks while the run is still open is told to wait */
    platform_talk(&world, 1, 1);
    platform_settle(&world);
    expect_sent(&world, TEAM, 1);
    expect_sent(&world, PLACE, 0);
    expect_sent(&world, ANN, 2);
    platform_world_stop(&world);
}

static void quotes_reach_the_model(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s}", "do", "say", "chat", ANN, "text",
                  "surely this is wrong", "quote", "the sky is green");
    chat_expect(&world, ANN, "You said: surely this is wrong");
    CHECK(platform_asked(&world, "the sky is green") > 0);
    platform_world_stop(&world);
}

static void commands_are_answered(void)
{
    static const char *const pairs[][2] = {{"/help", "Commands:"},
                                           {"/status", "Waiting here"},
                                           {"/clear", "I have forgotten this conversation"},
                                           {"/stop", "Nothing is running here"}};
    struct platform_world world;
    start(&world, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(pairs); i++) {
        size_t before = chat_sent(&world, ANN);
        chat_say(&world, ANN, NULL, pairs[i][0]);
        chat_expect(&world, ANN, pairs[i][1]);
        platform_settle(&world);
        expect_sent(&world, ANN, before + 1);
    }
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

/* -- buttons and relations --------------------------------------------------------------------- */
static void buttons_are_acknowledged_in_time(void)
{
    static const char *const chats[] = {ANN, TEAM};
    struct platform_world world;
    start(&world, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(chats); i++)
        platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "press", "chat", chats[i], "data",
                      "anything \"odd\"");
    platform_talk(&world, 1, 1);
    json_t *list = platform_do(&world.client, "{s:s}", "do", "interactions");
    const json_t *interactions = json_object_get(list, "interactions");
    CHECK_INT(2, json_array_size(interactions));
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(0, platform_number(json_array_get(interactions, i), "code", 0));
        CHECK_INT(1, platform_number(json_array_get(interactions, i), "acks", 0));
        CHECK(platform_number(json_array_get(interactions, i), "took_ms", 0) < 3500);
    }
    json_decref(list);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

/* The first word to a new friend or a new group is a greeting; of the rest nobody is told. */
static void a_new_friend_is_greeted_and_other_relations_are_noted(void)
{
    static const char *const pairs[][2] = {{ANN, "FRIEND_ADD"},        {ANN, "C2C_MSG_REJECT"},
                                           {ANN, "C2C_MSG_RECEIVE"},   {TEAM, "GROUP_ADD_ROBOT"},
                                           {TEAM, "GROUP_MSG_REJECT"}, {TEAM, "GROUP_DEL_ROBOT"}};
    struct platform_world world;
    start(&world, NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(pairs); i++) {
        platform_tell(&world.client, "{s:s,s:s,s:s}", "do", "relate", "chat", pairs[i][0], "type",
                      pairs[i][1]);
        if (strcmp(pairs[i][1], "GROUP_ADD_ROBOT") == 0)
            chat_expect(&world, TEAM, "mention me or reply"); /* while it is there */
    }
    chat_expect(&world, ANN, "Hello, I am ");
    platform_talk(&world, 1, 1);
    expect_sent(&world, TEAM, 1);
    expect_sent(&world, ANN, 2);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

/* -- long answers, few replies ----------------------------------------------------------------- */
static void a_long_answer_fits_into_the_replies(void)
{
    struct platform_world world;
    char *text = calloc(1, 20000);
    size_t len = (size_t)snprintf(text, 32, "[[plain]] ");
    start(&world, FAST);
    for (unsigned i = 0; len < 7000; i++)
        len += (size_t)snprintf(text + len, 32, "word%u ", i);
    snprintf(text + len, 32, "the end");
    chat_say(&world, ANN, NULL, text);
    chat_expect(&world, ANN, "the end");
    platform_settle(&world);
    json_t *ours = chat_ours(&world, ANN);
    CHECK(json_array_size(ours) >= 2 && json_array_size(ours) <= 4);
    int64_t next = 0;
    for (size_t i = 0; i < json_array_size(ours); i++) /* each word once, in order */
        for (const char *at = talk_text(json_array_get(ours, i), "text");
             (at = strstr(at, "word")) != NULL; at++)
            CHECK_INT(next++, strtol(at + 4, NULL, 10));
    CHECK(next > 600);
    json_decref(ours);
    for (unsigned i = 0; len < 19000; i++)
        len += (size_t)snprintf(text + len, 32, "more%u ", i);
    chat_say(&world, ANN, NULL, text); /* more than four replies hold */
    chat_expect(&world, ANN, "[cut: send \"more\" for the rest, /full for all of it]");
    platform_settle(&world);
    ours = chat_ours(&world, ANN);
    CHECK(json_array_size(ours) <= 4 + 4);
    json_decref(ours);
    free(text);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

static void an_answer_behind_the_window_goes_out_actively(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN, NULL, "[[fault:silence ms=20000]] think long");
    while (platform_asked(&world, "think long") == 0)
        process_pause_ms(2);
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", 3700);
    world_end_silence(&world.world);
    json_t *answer = chat_await(&world, ANN, "think long");
    CHECK(json_is_true(json_object_get(answer, "is_active")));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, ANN, 1);
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", 0);
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "active", 0);
    chat_say(&world, ANN, NULL, "[[fault:silence ms=20000]] think longer");
    while (platform_asked(&world, "think longer") == 0)
        process_pause_ms(2);
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", 3700);
    world_end_silence(&world.world);
    platform_settle(&world); /* given up, with the reason in the log */
    CHECK_INT(0, chat_count(&world, ANN, "think longer"));
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", 0);
    platform_talk(&world, 1, 1);
    platform_world_stop(&world);
}

/* -- Markdown ---------------------------------------------------------------------------------- */
static void structure_is_markdown_or_plain(void)
{
    struct platform_world world;
    start(&world, NULL);
    chat_say(&world, ANN, NULL, "[[plain]] this is **bold** text");
    json_t *answer = chat_await(&world, ANN, "this is");
    CHECK_TEXT("markdown", talk_text(answer, "kind"));
    CHECK(strstr(talk_text(answer, "text"), "**bold**") != NULL);
    json_decref(answer);
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "markdown",
                  0); /* the right is taken */
    chat_say(&world, BOB, NULL, "[[plain]] this is **bold** too");
    answer = chat_await(&world, BOB, "this is bold too");
    CHECK_TEXT("text", talk_text(answer, "kind"));
    json_decref(answer);
    platform_settle(&world);
    expect_sent(&world, BOB, 1);
    platform_world_stop(&world);
    start(&world, ",\"markdown\":false");
    chat_say(&world, ANN, NULL, "[[plain]] this is **bold** text");
    answer = chat_await(&world, ANN, "this is bold text");
    CHECK_TEXT("text", talk_text(answer, "kind"));
    json_decref(answer);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

/* -- files ------------------------------------------------------------------------------------- */
/* The one file in the adapter's cache whose name ends so; its content, malloc'ed; NULL: it is not
 * there. */
static char *read_cached(const struct platform_world *world, const char *end)
{
    char path[256], name[512] = "";
    snprintf(path, sizeof path, "%s/.ship/.cache/qq", world->world.folder.path);
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len > strlen(end) && strcmp(entry->d_name + len - strlen(end), end) == 0)
            snprintf(name, sizeof name, ".ship/.cache/qq/%s", entry->d_name);
    }
    closedir(folder);
    return name[0] == '\0' ? NULL : folder_read(&world->world.folder, name);
}

static void attachments_are_on_disk_before_the_model_reads_of_them(void)
{
    struct platform_world world;
    start(&world, NULL);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat", ANN,
                  "text", "see this", "attachments", "type", "file", "name", "../my file.txt",
                  "text", "what the file says");
    chat_expect(&world, ANN, "see this");
    CHECK(platform_asked(&world, "@attach document .ship/.cache/qq/") > 0);
    char *text = read_cached(&world, "my_file.txt");
    CHECK(text != NULL);
    CHECK_TEXT("what the file says", text);
    free(text);
    platform_fault(&world, "download", "cut", 1);
    platform_status(&world, "download", 502, 0, 1);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat", ANN,
                  "text", "in bad weather", "attachments", "type", "image/png", "name", "storm.png",
                  "text", "whole in the end");
    chat_expect(&world, ANN, "in bad weather");
    text = read_cached(&world, "storm.png");
    CHECK(text != NULL);
    CHECK_TEXT("whole in the end", text);
    free(text);
    platform_status(&world, "download", 404, 0, 9);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat", ANN,
                  "text", "expired already", "attachments", "type", "file", "name", "gone.txt",
                  "text", "x");
    chat_expect(&world, ANN, "expired already");
    CHECK(read_cached(&world, "gone.txt") == NULL);
    CHECK(platform_asked(&world, "gone.txt") > 0); /* named as missing */
    platform_settle(&world);
    platform_world_stop(&world);
}

/* Four remarks on the way and an end: QQ shows four messages, and the end is one of them. */
static void remarks_on_the_way_leave_room_for_the_end(void)
{
#define REMARK(number) \
    "{\"calls\":[{\"name\":\"chat_send\",\"arguments\":{\"text\":\"remark " number "\"}}]},"
    static const char script[] = "[" REMARK("one") REMARK("two") REMARK("three")
        REMARK("four") "{\"text\":\"This is the end.\"}]";
    struct platform_world world;
    platform_world_create(&world, &qq_kind, fake_model,
                          &(struct platform_options){.script = script});
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "active", 0);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    chat_say(&world, ANN, NULL, "tell me as you go");
    chat_expect(&world, ANN, "This is the end.");
    platform_settle(&world);
    CHECK_INT(1, chat_count(&world, ANN, "remark three"));
    CHECK_INT(0, chat_count(&world, ANN, "remark four"));
    CHECK(platform_asked(&world, "kept for your final text") > 0); /* the model heard why */
    CHECK(platform_asked(&world, "at most 4 messages can answer this one") > 0);
    platform_world_stop(&world);
}

/* A host without NTP, a machine back from sleep: the platform's clock is what holds. */
static void a_wrong_clock_mutes_nobody(void)
{
    struct platform_world world;
    platform_world_create(&world, &qq_kind, fake_model, &(struct platform_options){0});
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", -400);
    platform_tell(&world.client, "{s:s,s:b}", "do", "rights", "active", 0);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    chat_say(&world, TEAM, NULL, "are you there?");
    chat_expect(&world, TEAM, "You said:");
    platform_world_stop(&world);
}

static void a_file_goes_out_with_its_words(void)
{
    static const char script[] = "[{\"calls\":[{\"name\":\"chat_send\",\"arguments\":{\"text\":\"@"
                                 "attach document report.txt "
                                 "| The report\\n\\nhere it is\"}}]},{\"text\":\"Done.\"}]";
    struct platform_world world;
    platform_world_create(&world, &qq_kind, fake_model,
                          &(struct platform_options){.script = script});
    folder_write(&world.world.folder, "report.txt", "all is well");
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    chat_say(&world, ANN, NULL, "send me the report");
    chat_expect(&world, ANN, "here it is");
    platform_settle(&world);
    json_t *ours = chat_ours(&world, ANN);
    size_t files = 0;
    for (size_t i = 0; i < json_array_size(ours); i++) {
        const json_t *message = json_array_get(ours, i);
        if (strcmp(talk_text(message, "kind"), "media") != 0)
            continue;
        files++;
        CHECK_TEXT("4:report.txt:11", talk_text(message, "detail"));
    }
    if (files != 1)
        chat_show(&world, ANN);
    CHECK_INT(1, files);
    json_decref(ours);
    expect_no_refusal(&world);
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(the_first_message_is_answered);
    RUN(every_kind_of_chat_is_answered);
    RUN(old_forms_of_events_are_answered);
    RUN(what_comes_twice_is_answered_once);
    RUN(a_group_is_answered_when_it_asks);
    RUN(without_words_only_those_who_speak_to_the_bot_are_answered);
    RUN(quotes_reach_the_model);
    RUN(commands_are_answered);
    RUN(buttons_are_acknowledged_in_time);
    RUN(a_new_friend_is_greeted_and_other_relations_are_noted);
    RUN(a_long_answer_fits_into_the_replies);
    RUN(an_answer_behind_the_window_goes_out_actively);
    RUN(structure_is_markdown_or_plain);
    RUN(attachments_are_on_disk_before_the_model_reads_of_them);
    RUN(remarks_on_the_way_leave_room_for_the_end);
    RUN(a_wrong_clock_mutes_nobody);
    RUN(a_file_goes_out_with_its_words);
    return check_summary();
}
