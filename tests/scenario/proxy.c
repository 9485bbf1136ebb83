/*
 * Aim: a platform that is reached through a proxy works like one that is not: its REST calls, its
 * WebSocket and its files go through it, names are the proxy's to look up, and its password stands
 * in no log, status or error.
 * Method: the real binary, a QQ platform under a name that only the strict SOCKS proxy of this
 * process knows.
 *   scenario_proxy BINARY FAKE_MODEL
 */
#include "qq_world.h"

#include "support/check.h"
#include "support/proxy_server.h"

#define PASSWORD "the-password-of-the-proxy"
#define PLACE_PATTERN "qq.test:%%d"

static const char *binary, *fake_model;

static void start(struct platform_world *world, struct proxy_server *proxy, const char *user)
{
    char block[1024];
    (void)snprintf(block, sizeof block,
                   "\"enabled\":true,\"appId\":\"" FAKE_QQ_APP_ID
                   "\",\"appSecret\":\"" FAKE_QQ_SECRET "\",\"apiRoot\":\"http://" PLACE_PATTERN
                   "\",\"tokenUrl\":\"http://" PLACE_PATTERN
                   "/app/getAppAccessToken\",\"gatewayUrl\":\"ws://" PLACE_PATTERN
                   "/websocket\",\"proxy\":\"socks5h://%s:" PASSWORD "@127.0.0.1:%u\"",
                   user, proxy_server_port(proxy));
    platform_world_create(world, &qq_kind, fake_model, &(struct platform_options){.block = block});
    service_start(&world->world.service, binary, &world->world.folder);
}

CASE(a_platform_behind_a_proxy_works_and_is_shown)
{
    struct platform_world world;
    char name[128];
    struct proxy_server *proxy = proxy_server_start(
        &(struct proxy_server_options){.is_socks = true, .user = "ann", .password = PASSWORD});
    start(&world, proxy, "ann");
    platform_world_await_ready(&world);
    (void)chat_say(&world, ANN, NULL, "hello through the proxy");
    json_decref(chat_await(&world, ANN, "You said: hello through the proxy"));
    CHECK(proxy_server_opened(proxy) >= 2);
    CHECK_INT(0, proxy_server_refused(proxy));
    (void)snprintf(name, sizeof name, "\"proxy\":\"socks5h://127.0.0.1:%u\"",
                   proxy_server_port(proxy));
    struct http_answer status = http_ask(world.world.service.port, "/api/status", "", NULL, 20000);
    CHECK_INT(200, status.status);
    CHECK(strstr(status.body, name) != NULL);
    CHECK(strstr(status.body, PASSWORD) == NULL);
    free(status.body);
    world_keeps_secret(&world.world, PASSWORD);
    platform_world_stop(&world);
    proxy_server_stop(proxy);
}

CASE(a_proxy_that_refuses_us_is_named_without_its_password)
{
    struct platform_world world;
    struct proxy_server *proxy = proxy_server_start(
        &(struct proxy_server_options){.is_socks = true, .user = "bob", .password = PASSWORD});
    start(&world, proxy, "ann");
    platform_await_log(&world, "through proxy socks5h://127.0.0.1:");
    CHECK(proxy_server_refused(proxy) > 0);
    CHECK_INT(0, proxy_server_opened(proxy));
    world_keeps_secret(&world.world, PASSWORD);
    platform_world_stop(&world);
    proxy_server_stop(proxy);
}

int main(int argc, char **argv)
{
    CHECK_INT(3, argc);
    binary = argv[1];
    fake_model = argv[2];
    check_run_cases(NULL);
    return check_summary();
}
