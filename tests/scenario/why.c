/*
 * Aim: whoever asks why a message was not answered is told, on each platform: while the service
 *      runs, after a restart, and from the log when it does not run.
 * Method: the real binary between a simulated platform and a model server; `shipmyagent why`,
 *      `logs` and `runs` are run as people run them.
 *   scenario_why_PLATFORM BINARY FAKE_MODEL
 */
#if defined(WHY_TELEGRAM)
#include "telegram_world.h"
#define KIND telegram_kind
#define CHAT ANN
#define USER ANN
#define USER_ID "1001"
#define OTHER_CHAT BOB
#define OTHER BOB
#define CHAT_KEY "telegram:chat:1001"
#define OTHER_KEY "telegram:chat:1002"
#define TEAM_KEY "telegram:chat:-1001234567890"
#elif defined(WHY_FEISHU)
#include "feishu_world.h"
#define KIND feishu_kind
#define CHAT ANN_CHAT
#define USER ANN
#define USER_ID "ou_ann"
#define OTHER_CHAT BOB_CHAT
#define OTHER BOB
#define CHAT_KEY "feishu:chat:oc_ann"
#define OTHER_KEY "feishu:chat:oc_bob"
#define TEAM_KEY "feishu:chat:oc_team"
#else
#include "qq_world.h"
#define KIND qq_kind
#define CHAT ANN
#define USER NULL
#define USER_ID "A1B2C3D4E5F60718293A4B5C6D7E8F90"
#define OTHER_CHAT BOB
#define OTHER NULL
#define CHAT_KEY "qq:" ANN
#define OTHER_KEY "qq:" BOB
#define TEAM_KEY "qq:group:B2C3D4E5F60718293A4B5C6D7E8F90A1"
#endif

#include "support/check.h"

static const char *binary, *fake_model;
static struct platform_world world;

/* What a command of ours prints about the project. */
static char *command(int status, const char *name, const char *what, const char *option)
{
    char *argv[6] = {(char *)binary, (char *)name};
    char *output = NULL;
    int count = 2;
    if (what != NULL)
        argv[count++] = (char *)what;
    argv[count++] = world.world.folder.path;
    if (option != NULL)
        argv[count++] = (char *)option;
    int got = run_to_end(argv, "", &output, AWAIT_MS);
    if (got != status)
        fprintf(stderr, "%s %s: status %d: %s\n", name, what == NULL ? "" : what, got, output);
    CHECK_INT(status, got);
    return output;
}

static void expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fprintf(stderr, "\"%s\" is not in: %s\n", part, text);
    CHECK(strstr(text, part) != NULL);
}

static void expect_why_in(const char *what, const char *option, const char *part)
{
    char *text = command(0, "why", what, option);
    expect_part(text, part);
    free(text);
}

static void expect_why(const char *what, const char *part)
{
    expect_why_in(what, NULL, part);
}

static const char *id_of(const struct chat_message *message)
{
    static char numbers[4][24];
    static unsigned next;
    if (message->id[0] != '\0')
        return message->id;
    char *number = numbers[next++ % 4];
    snprintf(number, sizeof numbers[0], "%lld", (long long)message->number);
    return number;
}

static struct chat_message chatter(const char *text)
{
#if defined(WHY_QQ)
    struct chat_message message = {"", 0};
    platform_tell(&world.client, "{s:s,s:s,s:b}", "do", "chat", "chat", TEAM, "tells_all", 1);
    json_t *said = platform_do(&world.client, "{s:s,s:s,s:s,s:b}", "do", "say", "chat", TEAM,
                               "text", text, "at", 0);
    const json_t *id = json_object_get(said, "message_id");
    snprintf(message.id, sizeof message.id, "%s",
             json_string_value(id != NULL ? id : json_object_get(said, "id")));
    json_decref(said);
    return message;
#else
#if defined(WHY_FEISHU)
    platform_tell(&world.client, "{s:s,s:b}", "do", "reads_all", "on", 1);
#endif
    return chat_say(&world, TEAM, USER, text);
#endif
}

static void await_log_line(const char *part)
{
    for (long long until = process_now_ms() + AWAIT_MS;; process_pause_ms(10)) {
        char *text = command(0, "logs", NULL, "--json");
        bool has_it = strstr(text, part) != NULL;
        if (!has_it && process_now_ms() >= until)
            fprintf(stderr, "the log has no %s: %s\n", part, text);
        free(text);
        if (has_it)
            return;
        CHECK(process_now_ms() < until);
    }
}

static void restart(void)
{
    CHECK_INT(0, service_stop(&world.world.service));
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
}

static struct chat_message asked, strange, idle;

static void a_message_is_answered_or_it_is_told_why_not(void)
{
    asked = chat_say(&world, CHAT, USER, "hello there");
    chat_expect(&world, CHAT, "You said: hello there");
    strange = chat_say(&world, OTHER_CHAT, OTHER, "my secret words");
    idle = chatter("just talk among us");
    await_log_line("\"not_listed\"");
    await_log_line("\"not_addressed\"");
    platform_settle(&world);
    expect_why_in(id_of(&asked), "--chat=" CHAT_KEY, "It was answered by run ");
    expect_why_in(id_of(&asked), "--chat=" CHAT_KEY, "  Delivered (");
#if defined(WHY_TELEGRAM) /* people have names */
    expect_why_in(id_of(&asked), "--chat=" CHAT_KEY, " by Ann (@ann) (1001), ");
#endif
    expect_why_in(id_of(&strange), "--chat=" OTHER_KEY, "It was not answered: not_listed.");
    expect_why_in(id_of(&strange), "--chat=" OTHER_KEY, "What to do: Add his id to adapters.");
    expect_why(id_of(&idle), "It was not answered: not_addressed.");
    expect_why(TEAM_KEY, "not_addressed");
    char *text = command(1, "why", "no-such-message", NULL);
    expect_part(text, "knows no-such-message");
    free(text);
}

static void the_reason_is_known_after_a_restart(void)
{
    restart();
    expect_why_in(id_of(&strange), "--chat=" OTHER_KEY, "It was not answered: not_listed.");
    expect_why(id_of(&idle), "It was not answered: not_addressed.");
    char *text = command(0, "runs", NULL, NULL);
    expect_part(text, "not_listed");
    expect_part(text, "done");
    CHECK(strstr(text, "secret") == NULL);
    free(text);
    text = command(0, "runs", NULL, "--open");
    expect_part(text, "none");
    free(text);
}

static void the_log_tells_it_while_nothing_runs(void)
{
    char option[256];
    CHECK_INT(0, service_stop(&world.world.service));
    expect_why_in(id_of(&strange), "--chat=" OTHER_KEY, "not_listed");
    expect_why_in(id_of(&strange), "--chat=" OTHER_KEY, "What to do: Add his id to adapters.");
    expect_why_in(id_of(&asked), "--chat=" CHAT_KEY, "run ended");
    expect_why(TEAM_KEY, "not_addressed");
    snprintf(option, sizeof option, "--chat=%s", TEAM_KEY);
    char *text = command(0, "logs", NULL, option);
    expect_part(text, "not_addressed");
    CHECK(strstr(text, "not_listed") == NULL);
    free(text);
    text = command(0, "logs", NULL, "--chat=" OTHER_KEY);
    expect_part(text, "message refused");
    CHECK(strstr(text, "secret") == NULL);
    CHECK(strstr(strstr(text, "message refused") + 1, "message refused") == NULL);
    free(text);
    text = command(3, "runs", NULL, NULL);
    free(text);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
}

/* What has no row is in the log alone. */
static void a_bots_message_is_known_from_the_log(void)
{
#if defined(WHY_TELEGRAM)
    platform_tell(&world.client, "{s:s,s:i,s:b}", "do", "user", "id", 1009, "is_bot", 1);
    chat_say(&world, TEAM, 1009, "beep");
#elif defined(WHY_QQ)
    json_decref(platform_do(&world.client, "{s:s,s:s,s:s,s:b}", "do", "say", "chat", TEAM, "text",
                            "beep", "is_bot", 1));
#endif
#if !defined(WHY_FEISHU)
    await_log_line("\"bot_message\"");
    expect_why(TEAM_KEY, "reason bot_message");
    expect_why(TEAM_KEY, "  Another bot or program wrote it.\n");
#endif
}

/* Each in a project of its own: these stand in the way of everybody. */
static void expect_refused(const struct platform_options *options, unsigned count,
                           const char *reason, const char *remedy)
{
    struct chat_message said = {"", 0};
    char part[128];
    platform_world_start(&world, &KIND, binary, fake_model, options);
    for (unsigned i = 0; i < count; i++)
        said = chat_say(&world, OTHER_CHAT, OTHER, "may I?");
    snprintf(part, sizeof part, "\"reason\":\"%s\"", reason);
    await_log_line(part);
    platform_settle(&world);
    snprintf(part, sizeof part, "It was not answered: %s.", reason);
    expect_why_in(id_of(&said), "--chat=" OTHER_KEY, part);
    expect_why_in(id_of(&said), "--chat=" OTHER_KEY, remedy);
    snprintf(part, sizeof part, "  refused: %s\n", reason); /* not "busy", as the row says */
    expect_why(OTHER_KEY, part);
    snprintf(part, sizeof part, "It was not answered: %s.", reason);
    restart();
    expect_why_in(id_of(&said), "--chat=" OTHER_KEY, part);
    platform_world_stop(&world);
}

static void strangers_and_those_who_write_too_fast_are_told_apart(void)
{
    expect_refused(&(struct platform_options){.access = "\"paired\""}, 1, "not_paired",
                   "shipmyagent pair approve CODE");
    expect_refused(&(struct platform_options){.root = ",\"limits\":{\"perPersonPerMinute\":1}"}, 2,
                   "rate", "raise limits.perPersonPerMinute");
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    platform_world_start(&world, &KIND, binary, fake_model,
                         &(struct platform_options){.access = "[\"" USER_ID "\"]"});
    RUN(a_message_is_answered_or_it_is_told_why_not);
    RUN(a_bots_message_is_known_from_the_log);
    RUN(the_reason_is_known_after_a_restart);
    RUN(the_log_tells_it_while_nothing_runs);
    platform_world_stop(&world);
    RUN(strangers_and_those_who_write_too_fast_are_told_apart);
    return check_summary();
}
