/*
 * Aim: a chat has the model, the prompt and the tools that `chats` gives it, another one has not;
 *      people choose a model there, begin anew and have a message answered again; a choice survives
 *      kill -9. On each platform.
 * Method: the real binary between a simulated platform and a model server whose requests are read.
 *   scenario_differ_PLATFORM BINARY FAKE_MODEL
 */
#if defined(DIFFER_TELEGRAM)
#include "telegram_world.h"
#define KIND telegram_kind
#define CHAT ANN
#define USER ANN
#elif defined(DIFFER_FEISHU)
#include "feishu_world.h"
#define KIND feishu_kind
#define CHAT ANN_CHAT
#define USER ANN
#else
#include "qq_world.h"
#define KIND qq_kind
#define CHAT ANN
#define USER NULL
#endif

#include "support/check.h"

#include <signal.h>

static const char *binary, *fake_model;

static void start(struct platform_world *world, const char *entry)
{
    char root[1024];
    snprintf(root, sizeof root,
             "%s,\"chats\":{\"%s:private:*\":%s,"
             "\"%s:group:*\":{\"prompt\":\"Never in private.\"}}",
             strstr(KIND.root, "language") != NULL ? "" : ",\"language\":\"en\"", KIND.name, entry,
             KIND.name);
    platform_world_start(world, &KIND, binary, fake_model,
                         &(struct platform_options){.root = root});
}

static void a_chat_has_its_own_model_prompt_and_tools(void)
{
    struct platform_world world;
    start(&world, "{\"model\":{\"name\":\"other\",\"model\":\"second-1\"},"
                  "\"prompt\":\"Speak like a pirate.\",\"tools\":{\"deny\":[\"exec_shell\"]}}");
    chat_say(&world, CHAT, USER, "[[plain]] hello there");
    chat_expect(&world, CHAT, "hello there");
    platform_settle(&world);
    CHECK_INT(1, platform_asked(&world, "Speak like a pirate."));
    CHECK_INT(1, platform_asked(&world, "\"second-1\""));
    CHECK_INT(0, platform_asked(&world, "\"fake-1\""));
    CHECK_INT(0, platform_asked(&world, "\"exec_shell\""));
    CHECK_INT(1, platform_asked(&world, "\"read_file\""));
    CHECK_INT(0, platform_asked(&world, "Never in private."));
    platform_world_stop(&world);
}

static void a_choice_counts_from_the_next_message_on_and_survives(void)
{
    struct platform_world world;
    start(&world, "{\"model\":{\"name\":\"other\",\"model\":\"second-1\"},"
                  "\"modelChoice\":\"everybody\"}");
    chat_say(&world, CHAT, USER, "/model");
    chat_expect(&world, CHAT, "2. other (in use)");
    chat_say(&world, CHAT, USER, "/model othr");
    chat_expect(&world, CHAT, "Did you mean other?");
    chat_say(&world, CHAT, USER, "/model 1");
    chat_expect(&world, CHAT, "custom/fake-1 answers here");
    platform_settle(&world);
    CHECK_INT(0, platform_asked(&world, "fake-1"));
    service_kill(&world.world.service);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
    chat_say(&world, CHAT, USER, "[[plain]] who is it");
    chat_expect(&world, CHAT, "who is it");
    platform_settle(&world);
    CHECK_INT(1, platform_asked(&world, "\"fake-1\""));
    CHECK_INT(0, platform_asked(&world, "\"second-1\""));
    chat_say(&world, CHAT, USER, "/model default");
    chat_expect(&world, CHAT, "configured model answers here again: other");
    platform_world_stop(&world);
}

/* Others may not choose, and may list. */
static void a_member_does_not_choose(void)
{
    struct platform_world world;
    start(&world, "{\"model\":{\"name\":\"other\",\"model\":\"second-1\"}}");
    chat_say(&world, CHAT, USER, "/model 1");
    chat_expect(&world, CHAT, "Only an owner or administrator");
    chat_say(&world, CHAT, USER, "/model");
    chat_expect(&world, CHAT, "2. other (in use)");
    platform_world_stop(&world);
}

/* The model does not see its first answer; people keep it. */
static void the_last_message_is_answered_again(void)
{
    struct platform_world world;
    start(&world, "{}");
    chat_say(&world, CHAT, USER, "/retry");
    chat_expect(&world, CHAT, "no message here that I could answer again");
    chat_say(&world, CHAT, USER, "[[plain]] a riddle");
    chat_expect(&world, CHAT, "a riddle");
    platform_settle(&world);
    size_t before = chat_sent(&world, CHAT);
    chat_say(&world, CHAT, USER, "/retry");
    long long until = process_now_ms() + AWAIT_MS;
    while (chat_count(&world, CHAT, "a riddle") < 2) {
        CHECK(process_now_ms() < until);
        process_pause_ms(5);
    }
    platform_settle(&world);
    CHECK_INT(before + 1, chat_sent(&world, CHAT));
    CHECK_INT(2, platform_asked(&world, "a riddle"));
    CHECK_INT(0, platform_asked(&world, "\"assistant\"")); /* neither time had an answer before */
    chat_say(&world, CHAT, USER, "/new");
    chat_expect(&world, CHAT, "A new conversation begins.");
    chat_say(&world, CHAT, USER, "[[plain]] something else");
    chat_expect(&world, CHAT, "something else");
    platform_settle(&world);
    CHECK_INT(2, platform_asked(&world, "a riddle"));
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    binary = argv[1];
    fake_model = argv[2];
    RUN(a_chat_has_its_own_model_prompt_and_tools);
    RUN(a_choice_counts_from_the_next_message_on_and_survives);
    RUN(a_member_does_not_choose);
    RUN(the_last_message_is_answered_again);
    return check_summary();
}
