/* login_probe.c — see login_probe.h. */
#include "login_probe.h"

#include <stdio.h>

#define JSON_TYPE "application/json"

struct kept
{
    struct sma_login_probe login;
    struct sma_token token;
};

static void ask(struct sma_probing *probing, struct sma_probe_ask *ask, bool has_token)
{
    const struct kept *kept = sma_probing_kept(probing);
    char lines[SMA_CALL_HEADER_COUNT_MAX][SMA_CALL_HEADER_BYTES_MAX] = {{0}}, type[96];
    const char *headers[SMA_CALL_HEADER_COUNT_MAX + 1];
    const char *json = kept->login.ops->json_type;
    if (has_token && kept->login.ops->put_headers != NULL)
        kept->login.ops->put_headers(kept->login.state, sma_str(kept->token.value), lines);
    for (size_t i = 0; i < SMA_CALL_HEADER_COUNT_MAX; i++)
        if (lines[i][0] != '\0')
            headers[ask->header_count++] = lines[i];
    (void)snprintf(type, sizeof type, "Content-Type: %s", json == NULL ? JSON_TYPE : json);
    if (ask->body != NULL)
        headers[ask->header_count++] = type;
    ask->headers = headers;
    ask->user = kept->login.state;
    sma_probing_ask(probing, ask);
    explicit_bzero(lines, sizeof lines);
}

bool sma_login_probe_judge(struct sma_probing *probing, enum sma_login login,
                           const struct sma_login_error *error, const char *name,
                           const char *remedy)
{
    if (login == SMA_LOGIN_FATAL)
        sma_probing_say(probing, SMA_PROBE_ERROR, name, remedy, "%s", error->text);
    else if (login == SMA_LOGIN_RETRY)
        sma_probing_say(probing, SMA_PROBE_WARNING, name, "this may pass: try again later", "%s",
                        error->text);
    return login == SMA_LOGIN_OK;
}

/* -- the token --------------------------------------------------------------------------------- */
static void on_token(void *state, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct kept *kept = sma_probing_kept(probing);
    struct sma_login_error error = {0};
    if (sma_probing_is_lost(probing, answer, "token"))
        return;
    enum sma_login login = kept->login.ops->token->parse(answer, &kept->token, &error);
    if (sma_login_probe_judge(probing, login, &error, "token", kept->login.remedy))
        kept->login.go_on(state, probing);
}

void sma_login_probe_begin(struct sma_probing *probing, const struct sma_login_probe *login)
{
    struct kept *kept = sma_probing_keep(probing, sizeof *kept);
    const struct sma_token_ops *ops = login->ops->token;
    struct sma_buf url, body;
    if (kept == NULL)
        return;
    kept->login = *login;
    sma_buf_init(&url, 8192);
    sma_buf_init(&body, 65536);
    ops->put_url(login->state, &url);
    ops->put_body(login->state, &body);
    ask(probing,
        &(struct sma_probe_ask){.method = "POST", .url = &url, .body = &body, .done = on_token},
        false);
}

/* -- what follows ------------------------------------------------------------------------------ */
static void put_url(struct sma_probing *probing, const char *path, struct sma_buf *url)
{
    const struct kept *kept = sma_probing_kept(probing);
    sma_buf_init(url, 8192);
    kept->login.ops->put_root(kept->login.state, url);
    sma_buf_put_text(url, path);
}

void sma_login_probe_get(struct sma_probing *probing, const char *path, sma_probe_fn *done)
{
    struct sma_buf url;
    put_url(probing, path, &url);
    ask(probing, &(struct sma_probe_ask){.method = "GET", .url = &url, .done = done}, true);
}

void sma_login_probe_post(struct sma_probing *probing, const char *path, struct sma_buf *body,
                          sma_probe_fn *done)
{
    struct sma_buf url;
    put_url(probing, path, &url);
    ask(probing, &(struct sma_probe_ask){.method = "POST", .url = &url, .body = body, .done = done},
        false);
}
