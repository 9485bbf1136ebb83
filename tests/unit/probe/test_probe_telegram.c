/*
 * Aim: the probe of Telegram says whether the token is good, what the bot may read and who fetches
 * its events, and asks nothing but getMe and getWebhookInfo.
 * Method: the simulated platform, and a server of the test's own that keeps every request.
 */
#include "adapters/telegram/telegram.h"
#include "cli/probe/probe.h"
#include "support/check.h"
#include "telegram/fake_telegram.h"
#include "unit/model/raw_server.h"

#include <stdio.h>

struct world
{
    char root[64], token[128], mode[128];
    struct sma_probe_result result;
};

static const struct sma_probe_line *find(const struct world *world, const char *name)
{
    for (size_t i = 0; i < world->result.line_count; i++)
        if (strcmp(world->result.lines[i].name, name) == 0)
            return &world->result.lines[i];
    return NULL;
}

static void probe(struct world *world)
{
    char json[512];
    snprintf(json, sizeof json, "{\"enabled\":true,\"botToken\":\"%s\",\"apiRoot\":\"%s\"%s}",
             world->token, world->root, world->mode);
    struct sma_config config = {.project_dir = "/tmp", .state_dir = "/tmp/.ship", .proxy = ""};
    struct sma_config_adapter block = {
        .name = "telegram", .is_enabled = true, .says_enabled = true, .json = json};
    sma_probe_platform(&sma_telegram_adapter_ops, &config, &block, &world->result);
    for (size_t i = 0; world->token[0] != '\0' && i < world->result.line_count; i++) {
        CHECK(strstr(world->result.lines[i].seen, world->token) == NULL);
        CHECK(strstr(world->result.lines[i].remedy, world->token) == NULL);
    }
}

static struct world world_of(int port)
{
    struct world world = {.token = FAKE_TELEGRAM_TOKEN};
    snprintf(world.root, sizeof world.root, "http://127.0.0.1:%d", port);
    return world;
}

static const struct sma_probe_line *line_of(const struct world *world, const char *name,
                                            enum sma_probe_state state)
{
    const struct sma_probe_line *line = find(world, name);
    CHECK(line != NULL);
    CHECK_INT(state, line->state);
    return line;
}

#define HAS(text, part) CHECK(strstr((text), (part)) != NULL)

CASE(a_bot_that_is_known_is_fine)
{
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    struct world world = world_of(fake_telegram_port(telegram.fake));
    telegram_tell(&telegram, "{s:s,s:b}", "do", "privacy", "on", 0);
    probe(&world);
    CHECK_INT(SMA_PROBE_OK, world.result.state);
    HAS(line_of(&world, "telegram token", SMA_PROBE_OK)->seen, "@" FAKE_TELEGRAM_BOT_NAME);
    CHECK_TEXT("@" FAKE_TELEGRAM_BOT_NAME, world.result.who);
    HAS(line_of(&world, "telegram privacy", SMA_PROBE_OK)->seen, "off");
    HAS(line_of(&world, "telegram events", SMA_PROBE_OK)->seen, "no webhook");
    fake_telegram_stop(telegram.fake);
}

CASE(privacy_mode_names_where_to_switch_it_off)
{
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    struct world world = world_of(fake_telegram_port(telegram.fake));
    telegram_tell(&telegram, "{s:s,s:b}", "do", "privacy", "on", 1);
    probe(&world);
    HAS(line_of(&world, "telegram privacy", SMA_PROBE_WARNING)->remedy, "/setprivacy");
    CHECK_INT(SMA_PROBE_WARNING, world.result.state);
    fake_telegram_stop(telegram.fake);
}

CASE(a_refused_token_says_where_the_right_one_is)
{
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    struct world world = world_of(fake_telegram_port(telegram.fake));
    snprintf(world.token, sizeof world.token, "7001234567:AAE-another_token_00000000000000000");
    probe(&world);
    const struct sma_probe_line *line = line_of(&world, "telegram token", SMA_PROBE_ERROR);
    HAS(line->seen, "HTTP 401");
    HAS(line->remedy, "@BotFather");
    CHECK_INT(1, world.result.line_count);
    fake_telegram_stop(telegram.fake);
}

CASE(without_credentials_the_variable_is_named)
{
    struct world world = world_of(1);
    world.token[0] = '\0';
    probe(&world);
    HAS(line_of(&world, "telegram", SMA_PROBE_ERROR)->remedy, "TELEGRAM_BOT_TOKEN");
}

/* -- what is asked ----------------------------------------------------------------------------- */
static void be_hooked(void *user, size_t number, const char *request, char *response, size_t size)
{
    static const char me[] = "{\"ok\":true,\"result\":{\"id\":7001234567,\"is_bot\":true,"
                             "\"first_name\":\"H\",\"username\":\"helper_bot\",\"can_join_groups\":"
                             "true,\"can_read_all_group_messages\":true}}";
    static const char hook[] =
        "{\"ok\":true,\"result\":{\"url\":\"https://other.example/hook?x=1\","
        "\"pending_update_count\":4242,\"last_error_message\":\"Connection "
        "refused\"}}";
    const char *body = strstr(request, "/getMe ") != NULL ? me : hook;
    (void)user, (void)number;
    snprintf(response, size,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
}

CASE(a_webhook_while_polling_is_told_and_nothing_is_taken_away)
{
    struct raw_server *server = raw_server_create(be_hooked, NULL);
    struct world world = world_of(raw_server_port(server));
    probe(&world);
    const struct sma_probe_line *line = line_of(&world, "telegram events", SMA_PROBE_WARNING);
    HAS(line->seen, "other.example");
    CHECK(strstr(line->seen, "x=1") == NULL); /* the rest of its address may be a secret */
    HAS(line_of(&world, "telegram webhook", SMA_PROBE_WARNING)->seen, "Connection refused");
    HAS(line_of(&world, "telegram queue", SMA_PROBE_WARNING)->seen, "4242");
    CHECK_INT(2, raw_server_count(server));
    HAS(raw_server_request(server, 0), "GET /bot" FAKE_TELEGRAM_TOKEN "/getMe ");
    HAS(raw_server_request(server, 1), "GET /bot" FAKE_TELEGRAM_TOKEN "/getWebhookInfo ");
    snprintf(world.mode, sizeof world.mode,
             ",\"mode\":\"webhook\",\"webhookSecret\":\"0123456789abcdef0123\"");
    probe(&world);
    HAS(line_of(&world, "telegram events", SMA_PROBE_OK)->seen, "other.example");
    raw_server_destroy(server);
}

CASES_MAIN
