/*
 * Aim: servers over https and through proxies: every kind is connected and called; a certificate
 *      that is not trusted or another host's opens nothing, and neither a key nor a question
 *      leaves; a proxy is told names and ports and nothing else.
 * Method: nghttpx before http_mcp, a strict proxy, the real actor.
 */
#include "actor_world.h"

#include "support/http_mcp.h"
#include "support/proxy_server.h"
#include "support/tls_front.h"

#include <stdio.h>
#include <sys/wait.h>

#define KEY "let-me-in" /* http_mcp's for /key */
#define KEY_HEADER ",\"headers\":{\"Authorization\":\"Bearer " KEY "\"}"

static struct http_mcp *fake;
static struct tls_front front;

static void start(const char *cert)
{
    fake = http_mcp_start();
    tls_front_start(&front, http_mcp_port(fake), cert);
}

static void stop(struct world *world)
{
    tls_front_stop(&front);
    while (waitpid(-1, NULL, 0) > 0) /* its workers: children of the world, which is a subreaper */
        ;
    world_destroy(world);
    http_mcp_stop(fake);
}

static const char *url_of(char url[128], const char *kind, const char *host, const char *path)
{
    snprintf(url, 128, "%shttps://%s:%d%s", kind, host, front.port, path);
    return url;
}

static void check_echo(struct world *world, const char *server)
{
    world_await_state(world, server, SMA_MCP_CONNECTED);
    const struct world_call *call = world_do(world, server, "echo", "{\"message\":\"hi\"}");
    CHECK_INT(SMA_MCP_OK, call->outcome);
    CHECK_TEXT("hi", call->text);
}

static void check_every_kind(const char *host, struct proxy_server *proxy)
{
    static const struct
    {
        const char *name, *kind, *path;
    } kinds[] = {{"json", "", "/json"},
                 {"sse", "", "/sse"},
                 {"modern", "", "/modern"},
                 {"old", "sse:", "/old"}};
    const char *servers[2 * SMA_COUNT_OF(kinds) + 1] = {NULL};
    char urls[SMA_COUNT_OF(kinds)][128];
    start("good");
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        servers[2 * i] = kinds[i].name;
        servers[2 * i + 1] = url_of(urls[i], kinds[i].kind, host, kinds[i].path);
    }
    struct world *world =
        world_create_through(proxy == NULL ? NULL : proxy_server_url(proxy, false), servers, "");
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        check_echo(world, kinds[i].name);
    if (proxy != NULL) /* it saw no header that is the server's */
        CHECK_INT(0, proxy_server_refused(proxy));
    stop(world);
}

CASE(every_kind_is_called_over_tls)
{
    check_every_kind("127.0.0.1", NULL);
}

CASE(proxies_carry_tls_and_look_names_up)
{
    for (int socks = 0; socks <= 1; socks++) {
        struct proxy_server *proxy =
            proxy_server_start(&(struct proxy_server_options){.is_socks = socks});
        check_every_kind("tools.test", proxy);
        char target[300], wanted[64];
        proxy_server_target(proxy, target, sizeof target);
        snprintf(wanted, sizeof wanted, "tools.test:%d", front.port);
        CHECK_TEXT(wanted, target);
        CHECK(proxy_server_opened(proxy) > 0);
        proxy_server_stop(proxy);
    }
}

static void check_kept_out(const char *proxy, const char *host, const char *words)
{
    char url[128];
    struct world *world = world_create_through(
        proxy, (const char *const[]){"a", url_of(url, "", host, "/key"), NULL}, KEY_HEADER);
    world_await_log(world, words);
    const struct sma_mcp_server *server = world_server(world, "a");
    CHECK(server == NULL || server->state != SMA_MCP_CONNECTED);
    CHECK_INT(0, http_mcp_count(fake, "HTTP/1"));
    stop(world);
}

CASE(a_certificate_of_another_host_opens_nothing)
{
    start("other");
    check_kept_out(NULL, "127.0.0.1", "certificate");
}

CASE(an_authority_nobody_trusts_opens_nothing)
{
    tls_front_trust("stranger");
    start("good");
    check_kept_out(NULL, "127.0.0.1", "certificate");
    tls_front_trust("ca");
}

CASE(a_proxy_that_refuses_is_named)
{
    struct proxy_server *proxy =
        proxy_server_start(&(struct proxy_server_options){.fault = PROXY_REFUSES});
    start("good");
    check_kept_out(proxy_server_url(proxy, false), "tools.test", "proxy");
    proxy_server_stop(proxy);
}

CASE(the_key_reaches_its_server)
{
    char url[128];
    start("good");
    struct world *world = world_create(
        (const char *const[]){"a", url_of(url, "", "127.0.0.1", "/key"), NULL}, KEY_HEADER);
    check_echo(world, "a");
    CHECK(http_mcp_count(fake, "Bearer " KEY) >= 2);
    stop(world);
}

int main(void)
{
    tls_front_init("IP:127.0.0.1,DNS:tools.test");
    check_run_cases(NULL);
    tls_front_fini();
    return check_summary();
}
