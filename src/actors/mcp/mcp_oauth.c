/*
 * mcp_oauth.c — tokens of servers over HTTP: the login that is kept, made fresh when it is over,
 * and client credentials. Whatever needs a person is `shipmyagent mcp login`.
 */
#include "mcp_http_priv.h"

#include "runtime/mcp/oauth_file.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

struct mcp_login
{
    struct mcp_http_link *link;
    struct sma_oauth *oauth;
    struct sma_net_request *request;
};

static void go_on(struct mcp_login *login);

/* A token must not stand in logs or results. */
static void hide(struct mcp_server *server, const char *text)
{
    if (sma_secrets_add(server->mcp->secrets, text) != SMA_ERR_OK)
        mcp_log(server, SMA_LOG_WARN, "too many secrets to keep them all out of results and logs");
}

static bool has_given(const struct mcp_server *server)
{
    static const struct sma_str name = {"Authorization:", 14};
    for (size_t i = 0; i < server->config->headers.count; i++) {
        const char *line = server->config->headers.items[i];
        if (strlen(line) > name.len &&
            sma_str_is_equal_nocase((struct sma_str){line, name.len}, name))
            return true;
    }
    return false;
}

static void take_token(struct mcp_http_link *link, struct sma_oauth_token *token)
{
    struct mcp_server *server = link->server;
    struct sma_buf line;
    sma_oauth_token_fini(&link->token);
    link->token = *token;
    sma_buf_init(&line, 16384);
    sma_buf_printf(&line, "Authorization: Bearer %s", token->access_token);
    free(link->authorization);
    link->authorization = line.err == SMA_ERR_OK ? sma_buf_take(&line) : NULL;
    sma_buf_fini(&line);
    hide(server, token->access_token);
    hide(server, token->refresh_token);
    hide(server, token->client_secret);
}

void mcp_oauth_open(struct mcp_http_link *link)
{
    struct mcp_server *server = link->server;
    struct sma_oauth_token token;
    struct sma_error error = {.code = SMA_ERR_OK};
    hide(server, server->config->client_secret);
    if (has_given(server))
        return;
    enum sma_err err = sma_oauth_file_read(server->mcp->config->project_dir, server->name,
                                           server->config->url, &token, &error);
    if (err == SMA_ERR_OK)
        take_token(link, &token);
    else if (err != SMA_ERR_NOTFOUND)
        mcp_log(server, SMA_LOG_WARN, "%s", error.text);
}

void mcp_oauth_close(struct mcp_http_link *link)
{
    struct mcp_login *login = SMA_TAKE(link->login);
    if (login != NULL) {
        if (login->request != NULL)
            sma_net_cancel(login->request);
        sma_oauth_destroy(login->oauth);
        free(login);
    }
    sma_oauth_token_fini(&link->token);
    if (link->authorization != NULL)
        explicit_bzero(link->authorization, strlen(link->authorization));
    free(link->authorization);
    link->authorization = NULL;
}

/* -- getting one ------------------------------------------------------------------------------- */
static void release(struct mcp_http_link *link)
{
    for (struct mcp_http_exchange *at = link->exchanges; at != NULL; at = at->next) {
        if (!at->is_locked || at->is_gone)
            continue;
        at->is_locked = false;
        mcp_http_exchange_start(at);
    }
}

static void finish(struct mcp_login *login)
{
    struct mcp_http_link *link = login->link;
    struct mcp_server *server = link->server;
    struct sma_oauth_token token;
    struct sma_error error = {.code = SMA_ERR_OK};
    bool is_done = sma_oauth_step(login->oauth) == SMA_OAUTH_DONE;
    char why[MCP_TROUBLE_BYTES_MAX];
    (void)snprintf(why, sizeof why, "it wants a login: type `shipmyagent mcp login %s` (%s)",
                   server->name, sma_oauth_why(login->oauth));
    if (is_done)
        sma_oauth_take_token(login->oauth, &token);
    sma_oauth_destroy(login->oauth);
    free(login);
    link->login = NULL;
    if (!is_done) {
        mcp_link_lost(server, why);
        return;
    }
    take_token(link, &token);
    if (sma_oauth_file_write(server->mcp->config->project_dir, server->name, &link->token,
                             &error) != SMA_ERR_OK)
        mcp_log(server, SMA_LOG_WARN, "its new token cannot be kept: %s", error.text);
    mcp_log(server, SMA_LOG_INFO, "it has given a new token");
    release(link);
}

static void on_answer(void *user, const struct sma_net_answer *answer)
{
    struct mcp_login *login = user;
    struct sma_ctx *ctx = login->link->server->mcp->ctx;
    int status = answer->end == SMA_NET_ANSWERED ? answer->status : 0;
    login->request = NULL;
    sma_oauth_answer(login->oauth, status, answer->body, sma_ctx_wall(ctx));
    go_on(login);
}

static void go_on(struct mcp_login *login)
{
    struct mcp_http *http = login->link->server->mcp->http;
    while (sma_oauth_step(login->oauth) == SMA_OAUTH_ASK) {
        const struct sma_oauth_ask *wanted = sma_oauth_ask(login->oauth);
        struct sma_net_ask ask = {.method = wanted->method,
                                  .url = wanted->url,
                                  .headers = wanted->headers,
                                  .header_count = wanted->header_count,
                                  .body = wanted->body,
                                  .total_ms = MCP_HTTP_SHORT_MS,
                                  .answer_bytes_max = SMA_OAUTH_ANSWER_BYTES_MAX,
                                  .done = on_answer,
                                  .user = login};
        if (sma_net_ask(http->net, &ask, &login->request) == SMA_ERR_OK)
            return;
        login->request = NULL;
        sma_oauth_answer(login->oauth, 0, SMA_STR(""), 0);
    }
    finish(login);
}

static bool begin(struct mcp_http_link *link, const struct sma_mcp_challenge *challenge)
{
    const struct sma_mcp_config_server *config = link->server->config;
    bool has_refresh = link->token.refresh_token != NULL && !config->has_credentials_grant;
    struct sma_oauth_options options = {
        .grant = has_refresh ? SMA_OAUTH_REFRESH : SMA_OAUTH_CREDENTIALS,
        .server_url = config->url,
        .challenge = challenge,
        .client_id = config->client_id,
        .client_secret = config->client_secret,
        .scope = config->scope,
        .known = link->token.server_url == NULL ? NULL : &link->token};
    struct mcp_login *login = calloc(1, sizeof *login);
    if (login == NULL ||
        getrandom(options.random, sizeof options.random, 0) != sizeof options.random ||
        (login->oauth = sma_oauth_create(&options)) == NULL) {
        free(login);
        return false;
    }
    login->link = link;
    link->login = login;
    return true;
}

bool mcp_oauth_wait(struct mcp_http_exchange *exchange)
{
    struct mcp_http_link *link = exchange->link;
    struct mcp_server *server = link->server;
    struct sma_mcp_challenge challenge;
    bool can_try = link->token.refresh_token != NULL || server->config->has_credentials_grant;
    if (link->login != NULL) {
        exchange->is_locked = true;
        return true;
    }
    bool is_again = exchange->lock_count++ > 0; /* the new token does not open it either */
    if (!can_try || is_again || has_given(server))
        return false;
    (void)sma_mcp_challenge_parse(sma_str(exchange->challenge), &challenge);
    if (!begin(link, &challenge))
        return false;
    exchange->is_locked = true;
    go_on(link->login);
    return true;
}
