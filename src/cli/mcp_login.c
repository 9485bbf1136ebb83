/*
 * mcp_login.c — `shipmyagent mcp login SERVER`: a person logs in to an MCP server.
 */
#include "mcp.h"

#include "api.h"
#include "cli.h"
#include "runtime/mcp/oauth_file.h"
#include "sma/clock.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct login
{
    const struct sma_config *config;
    const struct sma_mcp_config_server *server;
    const struct sma_mcp_options *options;
    struct sma_oauth *oauth;
    bool has_said; /* which code to enter where */
};

static int64_t wall_ms(void)
{
    return sma_clock_wall_ms();
}

/* What the server says when it is asked without a token. */
static void ask_challenge(const struct login *login, struct sma_mcp_challenge *ret_challenge)
{
    bool is_sse = login->server->transport == SMA_MCP_SSE;
    struct sma_oauth_ask ask = {
        .method = is_sse ? "GET" : "POST",
        .url = login->server->url,
        .headers = {"Accept: application/json, text/event-stream",
                    "Content-Type: application/json"},
        .header_count = 2,
        .body = SMA_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                        "\"name\":\"shipmyagent\",\"version\":\"" SMA_VERSION "\"}}}")};
    struct sma_mcp_http answer;
    sma_mcp_http_ask(login->config, &ask, &answer);
    (void)sma_mcp_challenge_parse(sma_str(answer.challenge), ret_challenge); /* none: as well */
    sma_mcp_http_fini(&answer);
}

static void ask(struct login *login)
{
    const struct sma_oauth_ask *wanted = sma_oauth_ask(login->oauth);
    struct sma_mcp_http answer;
    if (wanted->wait_ms > 0 && !login->has_said) {
        fputs("Open ", stdout);
        sma_cli_print_clean(sma_str(sma_oauth_url(login->oauth)));
        fputs("\nin any browser and enter the code ", stdout);
        sma_cli_print_clean(sma_str(sma_oauth_user_code(login->oauth)));
        puts("");
        (void)fflush(stdout);
        login->has_said = true;
    }
    if (wanted->wait_ms > 0)
        (void)usleep((useconds_t)sma_clock_wait_ms(wanted->wait_ms) * 1000u);
    sma_mcp_http_ask(login->config, wanted, &answer);
    sma_oauth_answer(login->oauth, answer.status, sma_buf_str(&answer.body), wall_ms());
    sma_mcp_http_fini(&answer);
}

/* @return false: nobody came */
static bool ask_person(struct login *login, int listener)
{
    puts("Open this address in a browser and log in:\n");
    sma_cli_print_clean(sma_str(sma_oauth_url(login->oauth)));
    puts("\n");
    if (isatty(STDIN_FILENO))
        puts("Is the browser on another machine? Then paste the address where it ended here.");
    (void)fflush(stdout);
    char *query = sma_mcp_return_wait(listener);
    if (query == NULL)
        return false;
    sma_oauth_came(login->oauth, sma_str(query));
    explicit_bzero(query, strlen(query));
    free(query);
    return true;
}

static int keep(struct login *login)
{
    struct sma_oauth_token token;
    struct sma_error error = {.code = SMA_ERR_OK};
    sma_oauth_take_token(login->oauth, &token);
    enum sma_err err =
        sma_oauth_file_write(login->config->project_dir, login->server->name, &token, &error);
    sma_oauth_token_fini(&token);
    if (err != SMA_ERR_OK)
        return sma_cli_fail("mcp login: %s", error.text);
    printf("Logged in to %s. A running service connects at its next try; SIGHUP makes it try at "
           "once.\n",
           login->server->name);
    return 0;
}

static int run(struct login *login, int listener)
{
    for (;;) {
        switch (sma_oauth_step(login->oauth)) {
        case SMA_OAUTH_ASK:
            ask(login);
            break;
        case SMA_OAUTH_PERSON:
            if (!ask_person(login, listener))
                return sma_cli_fail("mcp login: nobody logged in in time");
            break;
        case SMA_OAUTH_FAILED:
            return sma_cli_fail("mcp login: %s: %s", login->server->name,
                                sma_oauth_why(login->oauth));
        case SMA_OAUTH_DONE:
            return keep(login);
        }
    }
}

static int begin(struct login *login, int listener, unsigned port)
{
    struct sma_mcp_challenge challenge;
    const struct sma_mcp_config_server *server = login->server;
    char redirect[64];
    (void)snprintf(redirect, sizeof redirect, "http://127.0.0.1:%u/callback", port);
    struct sma_oauth_options options = {
        .grant = server->has_credentials_grant ? SMA_OAUTH_CREDENTIALS
                 : login->options->is_device   ? SMA_OAUTH_DEVICE
                                               : SMA_OAUTH_CODE,
        .server_url = server->url,
        .challenge = &challenge,
        .client_id = server->client_id,
        .client_secret = server->client_secret,
        .scope = login->options->scope != NULL ? login->options->scope : server->scope,
        .redirect_uri = redirect};
    ask_challenge(login, &challenge);
    if (getrandom(options.random, sizeof options.random, 0) != sizeof options.random)
        return sma_cli_fail("mcp login: no randomness");
    login->oauth = sma_oauth_create(&options);
    explicit_bzero(&options.random, sizeof options.random);
    if (login->oauth == NULL)
        return sma_cli_fail("mcp login: out of memory");
    int status = run(login, listener);
    sma_oauth_destroy(login->oauth);
    return status;
}

int sma_mcp_login(const struct sma_config *config, const struct sma_mcp_config_server *server,
                  const struct sma_mcp_options *options)
{
    struct login login = {.config = config, .server = server, .options = options};
    unsigned port = 0;
    if (server->trouble != NULL)
        return sma_cli_fail("mcp login: %s", server->trouble);
    if (server->transport == SMA_MCP_STDIO)
        return sma_cli_fail("mcp login: %s is a program of this machine; give it what it needs by "
                            "env in mcp.json",
                            server->name);
    int listener = sma_mcp_return_listen(options->port, &port);
    if (listener < 0)
        return sma_cli_fail("mcp login: no port for the browser to come back to; another one may "
                            "be named with --port");
    int status = begin(&login, listener, port);
    close(listener);
    return status;
}
