/*
 * Aim: HTTP requests and WebSockets go through the proxy they are told of and no other; it looks
 * the names up; credentials go to it alone; what it refuses is said with its name, not its
 * password.
 * Method: a strict proxy and a TLS server in this process; this program's getaddrinfo ends the test
 * when it is asked for a name that is the proxy's to look up.
 */
#include "support/patience.h"
#include "support/proxy_server.h"
#include "unit/ws/harness.h"

#include "sma/net.h"
#include "sma/proxy.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define HOST "server.proxied.test"
#define USER "ann%40home"
#define PASSWORD "pa:ss%25word"

static struct ws_server *server; /* TLS, for HOST too */

static struct sma_proxy parsed(const char *text)
{
    struct sma_proxy proxy;
    CHECK_OK(sma_proxy_parse(sma_str(text), &proxy));
    return proxy;
}

/* -- one try of each -------------------------------------------------------------------------- */
struct tried
{
    struct ws_harness *harness;
    struct sma_net *net;
    const struct sma_proxy *proxy;
    char url[160], error[512];
    enum sma_net_end end;
    atomic_bool is_done;
};

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct tried *tried = user;
    tried->end = answer->end;
    (void)snprintf(tried->error, sizeof tried->error, "%s", answer->error);
    atomic_store(&tried->is_done, true);
}

static void start_ask(void *user)
{
    struct tried *tried = user;
    struct sma_error error = {0};
    const char *headers[] = {"Authorization: for the server alone"};
    CHECK_OK(sma_net_open(ws_ctx_of(tried->harness), &tried->net, &error));
    CHECK_OK(sma_net_trust(tried->net, ws_server_ca_file(server)));
    sma_net_use_proxy(tried->net, tried->proxy);
    struct sma_net_ask ask = {.method = "POST",
                              .url = tried->url,
                              .headers = headers,
                              .header_count = 1,
                              .body = SMA_STR("{}"),
                              .connect_ms = 1500 * PATIENCE,
                              .done = on_done,
                              .user = tried};
    CHECK_OK(sma_net_ask(tried->net, &ask, NULL));
}

static void end_ask(void *user)
{
    sma_net_close(((struct tried *)user)->net);
}

static enum sma_net_end ask_http(const struct sma_proxy *proxy, const char *host, char error[512])
{
    struct tried tried = {.harness = ws_harness_start(NULL), .proxy = proxy};
    (void)snprintf(tried.url, sizeof tried.url, "https://%s:%u/", host, ws_server_port(server));
    ws_on_actor(tried.harness, start_ask, &tried);
    for (int i = 0; i < PATIENCE_AWAIT_MS && !atomic_load(&tried.is_done); i++)
        (void)usleep(1000);
    CHECK(atomic_load(&tried.is_done));
    ws_on_actor(tried.harness, end_ask, &tried);
    ws_harness_stop(tried.harness);
    (void)snprintf(error, 512, "%s", tried.error);
    return tried.end;
}

static bool open_ws(const struct sma_proxy *proxy, const char *host, char error[512])
{
    struct ws_harness *harness = ws_harness_start_through(ws_server_ca_file(server), proxy);
    struct client client = {0};
    char url[160];
    (void)snprintf(url, sizeof url, "wss://%s:%u/", host, ws_server_port(server));
    CHECK_OK(client_try(harness, &client,
                        &(struct sma_ws_ask){.url = url, .connect_ms = 1500 * PATIENCE}));
    for (int i = 0; i < PATIENCE_AWAIT_MS && CLIENT_GET(&client, opened_count) == 0 &&
                    CLIENT_GET(&client, closed_count) == 0;
         i++)
        (void)usleep(1000);
    bool is_open = CLIENT_GET(&client, opened_count) == 1;
    if (is_open) {
        CHECK_OK(client_send(&client, SMA_STR("through the proxy"), false));
        client_wait_messages(&client, 1);
        CHECK_TEXT("through the proxy", client.text);
        client_end(&client, 1000);
    }
    client_wait_closed(&client);
    (void)snprintf(error, 512, "%s", client.reason);
    ws_harness_stop(harness);
    return is_open;
}

static void check_clean(const char *error, const struct sma_proxy *proxy)
{
    CHECK(strstr(error, "pa:ss") == NULL && strstr(error, "ann@") == NULL);
    if (strstr(error, proxy->name) == NULL)
        (void)fprintf(stderr, "error: %s\n", error);
    CHECK(strstr(error, proxy->name) != NULL);
}

static void check_ways(const struct proxy_server_options *options, bool has_user)
{
    char target[300], wanted[300], error[512];
    struct proxy_server *server_proxy = proxy_server_start(options);
    struct sma_proxy proxy = parsed(proxy_server_url(server_proxy, false));
    if (has_user) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s://%s:%s@127.0.0.1:%u",
                       options->is_socks ? "socks5h" : "http", USER, PASSWORD,
                       proxy_server_port(server_proxy));
        proxy = parsed(text);
    }
    (void)snprintf(wanted, sizeof wanted, HOST ":%u", ws_server_port(server));
    CHECK_INT(SMA_NET_ANSWERED, ask_http(&proxy, HOST, error));
    CHECK_INT(1, proxy_server_opened(server_proxy));
    proxy_server_target(server_proxy, target, sizeof target);
    CHECK_TEXT(wanted, target);
    bool is_open = open_ws(&proxy, HOST, error);
    if (!is_open)
        (void)fprintf(stderr, "not open: %s\n", error);
    CHECK(is_open);
    CHECK_INT(2, proxy_server_opened(server_proxy));
    proxy_server_target(server_proxy, target, sizeof target);
    CHECK_TEXT(wanted, target);
    CHECK_INT(0, proxy_server_refused(server_proxy));
    proxy_server_stop(server_proxy);
}

CASE(both_go_through_the_proxy_which_looks_names_up)
{
    for (int socks = 0; socks <= 1; socks++) {
        check_ways(&(struct proxy_server_options){.is_socks = socks}, false);
        check_ways(&(struct proxy_server_options){.is_socks = socks, .fault = PROXY_IN_PIECES},
                   false);
    }
}

CASE(credentials_are_decoded_and_given_to_the_proxy)
{
    for (int socks = 0; socks <= 1; socks++)
        check_ways(&(struct proxy_server_options){.is_socks = socks,
                                                  .user = "ann@home",
                                                  .password = "pa:ss%word"},
                   true);
}

/* -- what goes wrong -------------------------------------------------------------------------- */
static void check_trouble(const struct proxy_server_options *options, const char *url_user,
                          const char *ws_words)
{
    char error[512], text[256];
    struct proxy_server *server_proxy = proxy_server_start(options);
    (void)snprintf(text, sizeof text, "%s://%s127.0.0.1:%u", options->is_socks ? "socks5h" : "http",
                   url_user, proxy_server_port(server_proxy));
    struct sma_proxy proxy = parsed(text);
    CHECK_INT(SMA_NET_NOT_SENT, ask_http(&proxy, HOST, error)); /* the server has seen nothing */
    check_clean(error, &proxy);
    CHECK(!open_ws(&proxy, HOST, error));
    check_clean(error, &proxy);
    if (strstr(error, ws_words) == NULL)
        (void)fprintf(stderr, "error: %s\n", error);
    CHECK(strstr(error, ws_words) != NULL);
    proxy_server_stop(server_proxy);
}

CASE(a_proxy_that_refuses_is_named)
{
    for (int socks = 0; socks <= 1; socks++) {
        struct proxy_server_options options = {.is_socks = socks};
        options.fault = PROXY_REFUSES;
        check_trouble(&options, "", socks ? "not allowed by its rules" : "403 Forbidden");
        options.fault = PROXY_SILENT;
        check_trouble(&options, "", "no answer of the proxy within");
        options.fault = PROXY_GARBAGE;
        check_trouble(&options, "", "does not speak");
        options.fault = PROXY_HANGS_UP;
        check_trouble(&options, "", "the proxy closed the connection");
        options = (struct proxy_server_options){
            .is_socks = socks, .user = "ann@home", .password = "pa:ss%word"};
        check_trouble(&options, "", "wants a user and a password");
        check_trouble(&options, USER ":wrong@", "refuses the user or the password");
    }
}

CASE(bytes_nobody_asked_for_end_it)
{
    for (int socks = 0; socks <= 1; socks++) {
        char error[512];
        struct proxy_server *eager = proxy_server_start(
            &(struct proxy_server_options){.is_socks = socks, .fault = PROXY_EAGER});
        struct sma_proxy proxy = parsed(proxy_server_url(eager, false));
        CHECK(!open_ws(&proxy, HOST, error)); /* by us, or as what TLS finds is no TLS */
        proxy_server_stop(eager);
    }
}

CASE(a_proxy_that_is_not_there_is_named)
{
    char error[512];
    struct proxy_server *gone = proxy_server_start(&(struct proxy_server_options){0});
    struct sma_proxy proxy = parsed(proxy_server_url(gone, false));
    proxy_server_stop(gone);
    CHECK_INT(SMA_NET_NOT_SENT, ask_http(&proxy, HOST, error));
    check_clean(error, &proxy);
    CHECK(!open_ws(&proxy, HOST, error));
    check_clean(error, &proxy);
    CHECK(strstr(error, "connection refused") != NULL);
    struct sma_proxy nameless = parsed("http://no.such.proxy.invalid:3128");
    CHECK(!open_ws(&nameless, HOST, error));
    CHECK(strstr(error, "no.such.proxy.invalid") != NULL);
}

/* -- whom it is for --------------------------------------------------------------------------- */
CASE(this_machine_is_not_asked_through_a_proxy)
{
    char error[512];
    struct sma_proxy proxy = parsed("http://127.0.0.1:1");
    CHECK_INT(SMA_NET_ANSWERED, ask_http(&proxy, "127.0.0.1", error));
    CHECK(open_ws(&proxy, "127.0.0.1", error));
    CHECK(open_ws(&proxy, "localhost", error));
}

CASE(the_environment_counts_when_it_is_told_to)
{
    char error[512];
    struct proxy_server *server_proxy = proxy_server_start(&(struct proxy_server_options){0});
    struct sma_proxy told = parsed("environment"), none = parsed("none");
    CHECK_INT(0, setenv("https_proxy", proxy_server_url(server_proxy, false), 1));
    CHECK_INT(SMA_NET_ANSWERED, ask_http(&told, HOST, error));
    CHECK(open_ws(&told, HOST, error));
    CHECK_INT(2, proxy_server_opened(server_proxy));
    CHECK_INT(SMA_NET_ANSWERED, ask_http(&none, "127.0.0.1", error));
    CHECK(open_ws(&none, "127.0.0.1", error));
    CHECK_INT(0, setenv("no_proxy", "elsewhere.example, .invalid", 1));
    CHECK(!open_ws(&told, "server.invalid", error)); /* asked for here, where it has no address */
    CHECK_INT(2, proxy_server_opened(server_proxy));
    CHECK_INT(0, unsetenv("no_proxy"));
    CHECK_INT(0, unsetenv("https_proxy"));
    proxy_server_stop(server_proxy);
}

static void check_parse(const char *text, enum sma_proxy_kind kind, const char *name)
{
    struct sma_proxy proxy = parsed(text);
    CHECK_INT(kind, proxy.kind);
    CHECK_TEXT(name, proxy.name);
}

CASE(what_is_written_is_read)
{
    static const char *const bad[] = {
        "proxy",          "ftp://p:1",      "http://",     "http://:3128",   "http://p:0",
        "http://p:70000", "http://a%00b@p", "http://[::1", "http://p:3128x", "socks5h://u@"};
    check_parse("", SMA_PROXY_NONE, "");
    check_parse("none", SMA_PROXY_NONE, "");
    check_parse("environment", SMA_PROXY_ENVIRONMENT, "of the environment");
    check_parse("http://u:p@proxy.example:3128/", SMA_PROXY_HTTP, "http://proxy.example:3128");
    check_parse("SOCKS5H://[::1]:9050", SMA_PROXY_SOCKS5H, "socks5h://[::1]:9050");
    check_parse("https://u@p", SMA_PROXY_OTHER, "https://p:443");
    struct sma_proxy proxy = parsed("http://a%40b:c%3Ad%@p:1");
    CHECK_TEXT("a@b", proxy.user);
    CHECK_TEXT("c:d%", proxy.password);
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, sma_proxy_parse(sma_str(bad[i]), &proxy));
}

int main(void)
{
    server = ws_server_start(&(struct ws_server_options){.tls = WS_SERVER_TLS});
    check_run_cases(NULL);
    ws_server_stop(server);
    return check_summary();
}
