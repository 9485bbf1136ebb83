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

#include <stdlib.h>

#define SECOND "support"

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

static void configure(const struct town *town, const char *access, const char *more)
{
    char one[1024], two[1024], json[4096];
    put_block(one, sizeof one, ACCOUNT, town->first.client.port);
    put_block(two, sizeof two, OTHER, town->second.client.port);
    int len = snprintf(json, sizeof json,
                       "%s,\"queue\":{\"mode\":\"serial\"},\"agent\":{\"concurrency\":4},"
                       "\"access\":%s,\"adapters\":{\"terminal\":{\"enabled\":false},"
                       "\"%s\":[{%s},{\"id\":\"" SECOND "\",%s}]}%s",
                       KIND.root, access, KIND.name, one, two, more);
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
    for (unsigned round = 0; round < 3; round++) {
        char one[64], two[64];
        snprintf(one, sizeof one, "[[plain]] first round %u", round);
        snprintf(two, sizeof two, "[[plain]] second round %u", round);
        if (round % 2 == 0) {
            chat_say(&town.first, CHAT, USER, one);
            chat_say(&town.second, CHAT, USER, two);
            chat_expect(&town.first, CHAT, one + 10);
            chat_expect(&town.second, CHAT, two + 10);
            settle(&town);
            service_kill(&town.first.world.service);
        } else { /* what is said while nobody listens */
            chat_say(&town.first, CHAT, USER, one);
            chat_say(&town.second, CHAT, USER, two);
            town_run(&town);
            chat_expect(&town.first, CHAT, one + 10);
            chat_expect(&town.second, CHAT, two + 10);
            settle(&town);
        }
    }
    town_run(&town);
    settle(&town);
    for (unsigned round = 0; round < 3; round++) {
        char part[64];
        snprintf(part, sizeof part, "first round %u", round);
        CHECK_INT(1, chat_count(&town.first, CHAT, part));
        snprintf(part, sizeof part, "second round %u", round);
        CHECK_INT(1, chat_count(&town.second, CHAT, part));
    }
    CHECK_INT(0, chat_count(&town.first, CHAT, "second"));
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

/* Ann is the owner at each bot; asked is in the chat that wants it, and there alone. */
static void consent_is_asked_and_given_by_the_bot_that_was_spoken_to(void)
{
    struct town town = {0};
    town_create(&town, "\"paired\"", ROLES);
    town_run(&town);
    chat_say(&town.first, ANN, ANN, "[[plain]] I am here, too");
    chat_expect(&town.first, ANN, "I am here, too");
    int64_t card = approval_ask(&town.second, ANN, ANN, WANT_COUNT, COUNT_COMMAND);
    CHECK_INT(0, chat_count(&town.first, ANN, COUNT_COMMAND));
    (void)chat_say(&town.first, ANN, ANN, "[[plain]] yes"); /* in another chat it is no answer */
    chat_expect(&town.first, ANN, "yes");
    CHECK_INT(0, platform_lines(&town.first, "count"));
    approval_press_for(&town.second, ANN, ANN, card, "Approve", "Approved.");
    json_decref(approval_await_outcome(&town.second, ANN, card, "Approved: " COUNT_COMMAND));
    approval_await_lines(&town.second, "count", 1);
    chat_expect(&town.second, ANN, "Result: {\"success\":true");
    settle(&town);
    CHECK_INT(1, platform_lines(&town.second, "count"));
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
    RUN(a_refused_bot_does_not_hold_up_the_other);
#if defined(BOTS_TELEGRAM)
    RUN(consent_is_asked_and_given_by_the_bot_that_was_spoken_to);
    RUN(pairing_is_each_bots_own);
#endif
#if !defined(BOTS_FEISHU)
    RUN(bots_in_one_group_do_not_answer_each_other);
#endif
    return 0;
}
