/*
 * Aim: two bots of one platform in one project are two: who talks with both has two conversations,
 *      answers leave by the bot that was written to, kill -9 loses and doubles nothing with either,
 *      a bot whose credentials are refused stands alone in that. On each platform.
 * Method: the real binary between two simulators of one platform and a model server.
 *   scenario_bots_PLATFORM BINARY FAKE_MODEL
 */
#if defined(BOTS_TELEGRAM)
#include "approval_world.h"
#define KIND telegram_kind
#define CHAT ANN
#define USER ANN
#define KEY "chat:1001"
#define ACCOUNT FAKE_TELEGRAM_TOKEN
#define OTHER "7009999999:AAE-token_of_the_second_test_bot_0002"
#define SET_ACCOUNT "token"
#elif defined(BOTS_FEISHU)
#include "feishu_world.h"
#define KIND feishu_kind
#define CHAT ANN_CHAT
#define USER ANN
#define KEY "chat:oc_ann"
#define ACCOUNT FAKE_FEISHU_APP
#define OTHER "cli_fedcba9876543210"
#define SET_ACCOUNT "app"
#else
#include "qq_world.h"
#define KIND qq_kind
#define CHAT ANN
#define USER NULL
#define KEY ANN
#define ACCOUNT FAKE_QQ_APP_ID
#define OTHER "102000002"
#define SET_ACCOUNT "app"
#endif

#include "support/check.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SECOND "support"
#define ROUND_COUNT 5 /* a cursor is kept with the event behind it */

static const char *binary, *fake_model;

/* The same service seen through the first bot's platform and through the second's. */
struct town
{
    struct platform_world first, second;
};

/* `text` with another account and the port in place of each "%d". */
static void put_block(char *block, size_t size, const char *account, int port)
{
    size_t len = 0;
    for (const char *at = KIND.block; *at != '\0';) {
        if (strncmp(at, ACCOUNT, strlen(ACCOUNT)) == 0) {
            len += (size_t)snprintf(block + len, size - len, "%s", account);
            at += strlen(ACCOUNT);
        } else if (strncmp(at, "%d", 2) == 0) {
            len += (size_t)snprintf(block + len, size - len, "%d", port);
            at += 2;
        } else {
            len += (size_t)snprintf(block + len, size - len, "%c", *at++);
        }
        CHECK(len < size);
    }
}

/* other: the account of the second; more members may stand behind it. */
static void configure_second(const struct town *town, const char *other, const char *access,
                             const char *more)
{
    char one[1024], two[1024], json[4096];
    put_block(one, sizeof one, ACCOUNT, town->first.client.port);
    put_block(two, sizeof two, other, town->second.client.port);
    int len = snprintf(json, sizeof json,
                       "%s,\"queue\":{\"mode\":\"serial\"},\"agent\":{\"concurrency\":4},"
                       "\"access\":%s,\"adapters\":{\"terminal\":{\"enabled\":false},"
                       "\"%s\":[{%s},{\"id\":\"" SECOND "\",%s}]}%s",
                       KIND.root, access, KIND.name, one, two, more);
    CHECK(len > 0 && (size_t)len < sizeof json);
    world_configure(&town->first.world, town->first.world.fake_port,
                    "\"apiKey\":\"" WORLD_API_KEY "\"", json);
}

static void configure(const struct town *town, const char *access, const char *more)
{
    configure_second(town, OTHER, access, more);
}

/* The first alone, as an object. */
static void configure_one(const struct town *town)
{
    char one[1024], json[4096];
    put_block(one, sizeof one, ACCOUNT, town->first.client.port);
    int len = snprintf(json, sizeof json,
                       "%s,\"queue\":{\"mode\":\"serial\"},\"access\":\"anyone\",\"adapters\":{"
                       "\"terminal\":{\"enabled\":false},\"%s\":{%s}}",
                       KIND.root, KIND.name, one);
    CHECK(len > 0 && (size_t)len < sizeof json);
    world_configure(&town->first.world, town->first.world.fake_port,
                    "\"apiKey\":\"" WORLD_API_KEY "\"", json);
}

static void share_service(struct town *town)
{
    town->second.world = town->first.world;
}

static void town_create(struct town *town, const char *access, const char *more)
{
    platform_world_create(&town->first, &KIND, fake_model, &(struct platform_options){0});
    town->second = (struct platform_world){.kind = &KIND, .fake = KIND.start(0)};
    town->second.client = KIND.client(town->second.fake);
    for (size_t i = 0; KIND.people[i] != NULL; i++)
        platform_tell(&town->second.client, "o", json_loads(KIND.people[i], 0, NULL));
    platform_tell(&town->second.client, "{s:s,s:s}", "do", SET_ACCOUNT, SET_ACCOUNT, OTHER);
#if defined(BOTS_TELEGRAM) /* the platform counts for each bot by itself */
    platform_tell(&town->second.client, "{s:s,s:i}", "do", "gap", "count", 5000);
#endif
    share_service(town);
    configure(town, access, more);
}

static void town_run(struct town *town)
{
    service_start(&town->first.world.service, binary, &town->first.world.folder);
    share_service(town);
    platform_world_await_ready(&town->first);
    platform_world_await_ready(&town->second);
}

static void town_start(struct town *town)
{
    town_create(town, "\"anyone\"", "");
    town_run(town);
}

static void town_stop(struct town *town)
{
    platform_world_stop(&town->first);
    if (KIND.wrong != NULL && !town->second.may_complain)
        CHECK_INT(0, platform_counter(&town->second, KIND.wrong));
    KIND.stop(town->second.fake);
}

static void settle(const struct town *town)
{
    platform_settle(&town->first);
    platform_settle(&town->second);
}

static bool api_has(const struct town *town, const char *path, const char *part)
{
    struct http_answer answer =
        http_ask(town->first.world.service.port, path, "", NULL, PATIENCE_AWAIT_MS);
    bool has = answer.body != NULL && strstr(answer.body, part) != NULL;
    http_answer_fini(&answer);
    return has;
}

/* -- conversations ----------------------------------------------------------------------------- */
static void one_person_has_two_conversations(void)
{
    struct town town = {0};
    town_start(&town);
    chat_say(&town.first, CHAT, USER, "[[plain]] the word is apple");
    chat_expect(&town.first, CHAT, "apple");
    chat_say(&town.second, CHAT, USER, "[[plain]] the word is pear");
    chat_expect(&town.second, CHAT, "pear");
    settle(&town);
    CHECK_INT(0, chat_count(&town.first, CHAT, "pear"));
    CHECK_INT(0, chat_count(&town.second, CHAT, "apple"));
    CHECK_INT(1, platform_asked(&town.first, "apple"));
    CHECK_INT(1, platform_asked(&town.first, "pear")); /* neither stands in the other's session */
    char path[256];
    snprintf(path, sizeof path, "/api/history?chatKey=%s%%40" SECOND ":" KEY, KIND.name);
    CHECK(api_has(&town, path, "pear") && !api_has(&town, path, "apple"));
    snprintf(path, sizeof path, "/api/history?chatKey=%s:" KEY, KIND.name);
    CHECK(api_has(&town, path, "apple") && !api_has(&town, path, "pear"));
    snprintf(path, sizeof path, "/api/chats/%s%%40" SECOND ":" KEY "/messages", KIND.name);
    struct http_answer said = http_ask(town.first.world.service.port, path, "",
                                       "{\"text\":\"by the owner's program\"}", AWAIT_MS);
    CHECK_INT(202, said.status);
    http_answer_fini(&said);
    chat_expect(&town.second, CHAT, "by the owner's program");
    settle(&town);
    CHECK_INT(0, chat_count(&town.first, CHAT, "by the owner's program"));
    char name[64];
    snprintf(name, sizeof name, "\"%s@" SECOND "\":{\"connected\":true", KIND.name);
    CHECK(api_has(&town, "/api/status", name));
    snprintf(name, sizeof name, "\"%s\":{\"connected\":true", KIND.name);
    CHECK(api_has(&town, "/api/status", name));
    snprintf(name, sizeof name, "platform=\"%s@" SECOND "\"", KIND.name);
    CHECK(api_has(&town, "/metrics", name));
    town_stop(&town);
}

static void kill_9_loses_and_doubles_nothing_of_either(void)
{
    struct town town = {0};
    town_start(&town);
#if !defined(BOTS_TELEGRAM) && !defined(BOTS_FEISHU)
    platform_tell(&town.second.client, "{s:s,s:i}", "do", "skip", "count", 500);
#endif
    for (unsigned round = 0; round < ROUND_COUNT; round++) {
        char one[64], two[64];
        snprintf(one, sizeof one, "[[plain]] first round %u", round);
        snprintf(two, sizeof two, "[[plain]] second round %u", round);
        if (round % 2 == 0) {
            chat_say(&town.first, CHAT, USER, one);
            chat_expect(&town.first, CHAT, one + 10);
            chat_say(&town.second, CHAT, USER, two); /* its cursor is kept last */
            chat_expect(&town.second, CHAT, two + 10);
            settle(&town);
            service_kill(&town.first.world.service);
        } else { /* what is said while nobody listens */
            chat_say(&town.first, CHAT, USER, one);
            chat_say(&town.second, CHAT, USER, two);
#if defined(BOTS_TELEGRAM) /* the other's cursor would be believed, and pass over what waits */
            if (round == ROUND_COUNT - 2)
                platform_tell(&town.first.client, "{s:s,s:i}", "do", "gap", "count", 20000);
#endif
            town_run(&town);
            chat_expect(&town.first, CHAT, one + 10);
            chat_expect(&town.second, CHAT, two + 10);
            settle(&town);
        }
    }
    town_run(&town);
    settle(&town);
    for (unsigned round = 0; round < ROUND_COUNT; round++) {
        char part[64];
        snprintf(part, sizeof part, "first round %u", round);
        CHECK_INT(1, chat_count(&town.first, CHAT, part));
        snprintf(part, sizeof part, "second round %u", round);
        CHECK_INT(1, chat_count(&town.second, CHAT, part));
    }
    CHECK_INT(0, chat_count(&town.first, CHAT, "second"));
    town_stop(&town);
}

/* -- a project that had one bot ---------------------------------------------------------------- */
static char *read_tree(const struct town *town)
{
    char *names = NULL;
    char script[512];
    snprintf(script, sizeof script,
             "cd %s/.ship && find . -name '*@*' -o -name '*%%40*' | sort; ls chats .cache",
             town->first.world.folder.path);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    (void)run_to_end((char *const *)argv, "", &names, 20000);
    return names;
}

/* The bot without an id goes on where the object was: conversation, history, cursor, files. */
static void a_list_keeps_what_the_one_bot_had(void)
{
    struct town town = {0};
    town_create(&town, "\"anyone\"", "");
    configure_one(&town);
    service_start(&town.first.world.service, binary, &town.first.world.folder);
    share_service(&town);
    platform_world_await_ready(&town.first);
    chat_say(&town.first, CHAT, USER, "[[plain]] remember the plum");
    chat_expect(&town.first, CHAT, "plum");
    platform_settle(&town.first);
    char *before = read_tree(&town);
    CHECK(strchr(before, '@') == NULL && strstr(before, "%40") == NULL);
    CHECK_INT(0, service_stop(&town.first.world.service));
    configure(&town, "\"anyone\"", "");
    town_run(&town);
    chat_say(&town.first, CHAT, USER, "[[plain]] and the fig");
    chat_expect(&town.first, CHAT, "fig");
    chat_say(&town.second, CHAT, USER, "[[plain]] a nut for me");
    chat_expect(&town.second, CHAT, "nut");
    settle(&town);
    CHECK_INT(1, chat_count(&town.first, CHAT, "plum")); /* not fetched again */
    CHECK_INT(2, platform_asked(&town.first, "plum"));   /* in the session of both turns */
    CHECK_INT(1, platform_asked(&town.first, "nut"));
    char *after = read_tree(&town);
    CHECK(strstr(after, "%40" SECOND) != NULL); /* its history, beside that of the first */
    free(before);
    free(after);
    town_stop(&town);
}

/* -- one of them is refused -------------------------------------------------------------------- */
static void a_refused_bot_does_not_hold_up_the_other(void)
{
    struct town town = {0};
    char trouble[96], none[96];
    town_create(&town, "\"anyone\"", "");
    platform_tell(&town.second.client, "{s:s,s:s}", "do", SET_ACCOUNT, SET_ACCOUNT, "another-one");
    town.second.may_complain = true;
    service_start(&town.first.world.service, binary, &town.first.world.folder);
    share_service(&town);
    platform_world_await_ready(&town.first);
    chat_say(&town.first, CHAT, USER, "[[plain]] are you there");
    chat_expect(&town.first, CHAT, "are you there");
    snprintf(trouble, sizeof trouble, "\"%s@" SECOND "\":\"", KIND.name);
    snprintf(none, sizeof none, "\"%s\":\"", KIND.name);
    long long until = process_now_ms() + AWAIT_MS;
    while (!api_has(&town, "/api/status", trouble)) {
        CHECK(process_now_ms() < until);
        process_pause_ms(10);
    }
    CHECK(!api_has(&town, "/api/status", none));
    CHECK(api_has(&town, "/health", "degraded"));
    char line[64];
    snprintf(line, sizeof line, "%s@" SECOND ": ", KIND.name);
    CHECK(platform_log_has(&town.first, line));
    town_stop(&town);
}

/* -- Telegram: consent, a webhook, other bots -------------------------------------------------- */
#if defined(BOTS_TELEGRAM)
#define ROLES ",\"permissions\":{\"roles\":{\"owner\":[\"telegram:1001\"]}}"

/* Ann owns both bots and has written to both. Bob asks for something by one of them: she is asked
 * by that one, and there alone. */
static void consent_is_asked_and_given_by_the_bot_that_was_spoken_to(void)
{
    struct town town = {0};
    town_create(&town, "\"paired\"",
                ",\"permissions\":{\"roles\":{\"owner\":[\"telegram:1001\"],\"member\":["
                "\"telegram:1002\"]}}");
    town_run(&town);
    chat_say(&town.first, ANN, ANN, "[[plain]] I am here");
    chat_expect(&town.first, ANN, "I am here");
    chat_say(&town.second, ANN, ANN, "[[plain]] I am there, too");
    chat_expect(&town.second, ANN, "I am there, too");
    chat_say(&town.second, BOB, BOB, WANT_COUNT);
    json_t *message = approval_await_card(&town.second, ANN, COUNT_COMMAND);
    int64_t card = platform_number(message, "id", 0);
    json_decref(message);
    platform_await_receipts(&town.second);
    CHECK_INT(0, chat_count(&town.first, ANN, COUNT_COMMAND));
    (void)chat_say(&town.first, ANN, ANN, "[[plain]] yes"); /* in another chat it is no answer */
    chat_expect(&town.first, ANN, "yes");
    CHECK_INT(0, platform_lines(&town.first, "count"));
    approval_press_for(&town.second, ANN, ANN, card, "Approve", "Approved.");
    json_decref(approval_await_outcome(&town.second, ANN, card, "Approved: " COUNT_COMMAND));
    approval_await_lines(&town.second, "count", 1);
    chat_expect(&town.second, BOB, "Result: {\"success\":true");
    settle(&town);
    int64_t own = approval_ask(&town.second, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    CHECK_INT(0, chat_count(&town.first, ANN, COUNT_COMMAND));
    approval_press_for(&town.second, ANN, ANN, own, "Approve", "Approved.");
    approval_await_lines(&town.second, "count", 2);
    settle(&town);
    CHECK_INT(0, chat_count(&town.first, ANN, "Result: "));
    town_stop(&town);
}

/* Who is let in by one bot is a stranger to the other. */
static void pairing_is_each_bots_own(void)
{
    struct town town = {0};
    town_create(&town, "\"paired\"", ROLES);
    town_run(&town);
    chat_say(&town.second, BOB, BOB, "hello");
    json_t *notice = chat_await(&town.second, BOB, "pair");
    json_decref(notice);
    approval_cli(&town.second, binary, 0, "may talk now", "pair", "approve",
                 "telegram@" SECOND ":1002", NULL);
    chat_say(&town.second, BOB, BOB, "[[plain]] and now");
    chat_expect(&town.second, BOB, "and now");
    chat_say(&town.first, BOB, BOB, "[[plain]] the same for me");
    json_decref(chat_await(&town.first, BOB, "pair"));
    settle(&town);
    CHECK_INT(0, chat_count(&town.first, BOB, "the same for me"));
    CHECK_INT(0, platform_asked(&town.first, "the same for me"));
    approval_cli(&town.second, binary, 0, "telegram@" SECOND, "pair", NULL);
    town_stop(&town);
}

/* What a person may use is used of the platform: by whichever of its bots. */
static void a_second_bot_is_no_second_budget(void)
{
    struct town town = {0};
    town_create(&town, "\"anyone\"",
                ",\"language\":\"en\",\"budgets\":{\"perPerson\":{\"runs\":{\"day\":1}}}");
    town_run(&town);
    chat_say(&town.first, ANN, ANN, "[[plain]] one question");
    chat_expect(&town.first, ANN, "one question");
    settle(&town);
    chat_say(&town.second, ANN, ANN, "[[plain]] another question");
    chat_expect(&town.second, ANN, "is used up (number of tasks)");
    chat_say(&town.second, BOB, BOB, "[[plain]] mine is another"); /* somebody else's */
    chat_expect(&town.second, BOB, "mine is another");
    settle(&town);
    CHECK_INT(0, platform_asked(&town.first, "another question"));
    town_stop(&town);
}

/* Bob is known to both bots: each finds him where it can reach him. */
static void a_contact_is_reached_by_the_bot_that_is_asked(void)
{
    struct town town = {0};
    town_create(&town, "\"paired\"", ROLES);
    town_run(&town);
    struct platform_world *const worlds[] = {&town.first, &town.second};
    static const char *const keys[] = {"telegram:1002", "telegram@" SECOND ":1002"};
    for (size_t i = 0; i < 2; i++) {
        approval_cli(worlds[i], binary, 0, "may talk now", "pair", "approve", keys[i], NULL);
        chat_say(worlds[i], BOB, BOB, "[[plain]] hello, I am Bob");
        chat_expect(worlds[i], BOB, "I am Bob");
    }
    settle(&town);
    for (size_t i = 0; i < 2; i++) {
        char part[96];
        char *result =
            approval_do(worlds[i], ANN, ANN, "[[call chat_contact_lookup {\"username\":\"bob\"}]]");
        snprintf(part, sizeof part, "\"chatKey\":\"telegram%s:chat:1002\"",
                 i == 0 ? "" : "@" SECOND);
        if (strstr(result, part) == NULL || strstr(result, "namesake") != NULL)
            fprintf(stderr, "%s\n", result);
        CHECK(strstr(result, part) != NULL);
        CHECK(strstr(result, i == 0 ? "@" SECOND : "\"telegram:chat") == NULL);
        free(result);
    }
    town_stop(&town);
}

/* Rules count at once and for the bot that they are written for; an account waits for the start. */
static void what_is_read_again_is_the_bots_own(void)
{
    struct town town = {0};
    town_start(&town);
    chat_say(&town.second, BOB, BOB, "[[plain]] before");
    chat_expect(&town.second, BOB, "before");
    settle(&town);
    configure_second(&town, OTHER "\",\"access\":[\"1001\"],\"webhookUrl\":\"", "\"anyone\"", "");
    CHECK_INT(0, kill(town.first.world.service.pid, SIGHUP));
    platform_await_log(&town.first, "next start: adapters.telegram@" SECOND ".webhookUrl");
    chat_say(&town.second, BOB, BOB, "[[plain]] behind it");
    chat_say(&town.second, ANN, ANN, "[[plain]] listed");
    chat_expect(&town.second, ANN, "listed");
    chat_say(&town.first, BOB, BOB, "[[plain]] elsewhere");
    chat_expect(&town.first, BOB, "elsewhere");
    settle(&town);
    CHECK_INT(0, platform_asked(&town.first, "behind it"));
    configure_second(&town, ACCOUNT, "\"anyone\"", "");
    CHECK_INT(0, kill(town.first.world.service.pid, SIGHUP));
    platform_await_log(&town.first, "telegram and telegram@" SECOND " have one botToken");
    chat_say(&town.second, ANN, ANN, "[[plain]] as it was");
    chat_expect(&town.second, ANN, "as it was");
    town_stop(&town);
}

static int post_update(const struct town *town, const char *path, const char *secret,
                       const char *text)
{
    static int number;
    char headers[128], body[512];
    number++;
    snprintf(headers, sizeof headers, "X-Telegram-Bot-Api-Secret-Token: %s\r\n", secret);
    snprintf(body, sizeof body,
             "{\"update_id\":%d,\"message\":{\"message_id\":%d,\"date\":%lld,\"text\":\"%s\","
             "\"from\":{\"id\":1001,\"is_bot\":false,\"first_name\":\"Ann\"},"
             "\"chat\":{\"id\":1001,\"type\":\"private\",\"first_name\":\"Ann\"}}}",
             1000 + number, 500 + number, (long long)time(NULL), text);
    struct http_answer answer =
        http_ask(town->first.world.service.port, path, headers, body, PATIENCE_AWAIT_MS);
    int status = answer.status;
    http_answer_fini(&answer);
    return status;
}

/* Each bot has an address and a secret of its own. */
static void a_webhook_is_one_bots(void)
{
    struct town town = {0};
    char json[2048];
    town_create(&town, "\"anyone\"", "");
    snprintf(json, sizeof json,
             ",\"access\":\"anyone\",\"adapters\":{\"terminal\":{\"enabled\":false},"
             "\"telegram\":[{\"enabled\":true,\"botToken\":\"" ACCOUNT
             "\",\"apiRoot\":\"http://127.0.0.1:%d\",\"mode\":\"webhook\",\"webhookSecret\":"
             "\"first-secret-0001\"},{\"id\":\"" SECOND "\",\"enabled\":true,\"botToken\":\"" OTHER
             "\",\"apiRoot\":\"http://127.0.0.1:%d\",\"mode\":\"webhook\",\"webhookSecret\":"
             "\"second-secret-002\"}]}",
             town.first.client.port, town.second.client.port);
    world_configure(&town.first.world, town.first.world.fake_port,
                    "\"apiKey\":\"" WORLD_API_KEY "\"", json);
    service_start(&town.first.world.service, binary, &town.first.world.folder);
    share_service(&town);
    platform_await_log(&town.first, "telegram: connected as");
    platform_await_log(&town.first, "telegram@" SECOND ": connected as");
    CHECK(platform_log_has(&town.first, "requests are taken at /webhooks/telegram/" SECOND));
    CHECK_INT(401, post_update(&town, "/webhooks/telegram", "second-secret-002", "[[plain]] no"));
    CHECK_INT(401, post_update(&town, "/webhooks/telegram/" SECOND, "first-secret-0001", "no"));
    CHECK_INT(404, post_update(&town, "/webhooks/telegram@" SECOND, "second-secret-002", "no"));
    CHECK_INT(404, post_update(&town, "/webhooks/telegram/other", "second-secret-002", "no"));
    CHECK_INT(200, post_update(&town, "/webhooks/telegram/" SECOND, "second-secret-002",
                               "[[plain]] by the second way"));
    chat_expect(&town.second, ANN, "by the second way");
    CHECK_INT(200,
              post_update(&town, "/webhooks/telegram", "first-secret-0001", "[[plain]] first"));
    chat_expect(&town.first, ANN, "first");
    settle(&town);
    CHECK_INT(0, chat_count(&town.first, ANN, "second way"));
    town_stop(&town);
}

/* Two bots in one group: what one says never wakes the other. */
static void bots_in_one_group_do_not_answer_each_other(void)
{
    struct town town = {0};
    town_create(&town, "\"anyone\"", ",\"chats\":{\"telegram:group:*\":{\"access\":\"anyone\"}}");
    for (unsigned i = 0; i < 2; i++) {
        struct platform_client *client = i == 0 ? &town.first.client : &town.second.client;
        platform_tell(client, "{s:s,s:b}", "do", "privacy", "on", 0);
        platform_tell(client, "{s:s,s:I,s:s,s:s,s:b}", "do", "user", "id", (json_int_t)7009999999,
                      "first_name", "Other", "username", "other_bot", "is_bot", 1);
    }
    town_run(&town);
    chat_say(&town.first, TEAM, 7009999999, "@" FAKE_TELEGRAM_BOT_NAME " what do you think?");
    chat_say(&town.first, TEAM, EVE, "[[plain]] @" FAKE_TELEGRAM_BOT_NAME " and you?");
    settle(&town);
    CHECK_INT(0, platform_asked(&town.first, "what do you think?"));
    town_stop(&town);
}
#endif

#if !defined(BOTS_TELEGRAM) && !defined(BOTS_FEISHU)
static void bots_in_one_group_do_not_answer_each_other(void)
{
    struct town town = {0};
    town_start(&town);
    platform_tell(&town.second.client, "{s:s,s:s,s:s,s:b,s:b}", "do", "say", "chat", TEAM, "text",
                  "what do you think?", "at", 1, "is_bot", 1);
    chat_say(&town.second, CHAT, USER, "[[plain]] a person");
    chat_expect(&town.second, CHAT, "a person");
    settle(&town);
    CHECK_INT(0, platform_asked(&town.first, "what do you think?"));
    CHECK_INT(0, chat_sent(&town.second, TEAM));
    town_stop(&town);
}
#endif

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    RUN(one_person_has_two_conversations);
    RUN(kill_9_loses_and_doubles_nothing_of_either);
    RUN(a_list_keeps_what_the_one_bot_had);
    RUN(a_refused_bot_does_not_hold_up_the_other);
#if defined(BOTS_TELEGRAM)
    RUN(consent_is_asked_and_given_by_the_bot_that_was_spoken_to);
    RUN(pairing_is_each_bots_own);
    RUN(a_second_bot_is_no_second_budget);
    RUN(a_contact_is_reached_by_the_bot_that_is_asked);
    RUN(what_is_read_again_is_the_bots_own);
    RUN(a_webhook_is_one_bots);
#endif
#if !defined(BOTS_FEISHU)
    RUN(bots_in_one_group_do_not_answer_each_other);
#endif
    return 0;
}
