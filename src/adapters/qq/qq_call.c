/* qq_call.c — the platform's part of sma_calls: its root, its headers, its token. */
#include "qq_priv.h"

#include <stdio.h>

static void put_root(const void *state, struct sma_buf *url)
{
    sma_buf_put_text(url, ((const struct qq *)state)->settings.api_root);
}

static void put_headers(const void *state, struct sma_str token,
                        char lines[SMA_CALL_HEADER_COUNT_MAX][SMA_CALL_HEADER_BYTES_MAX])
{
    const struct qq *qq = state;
    snprintf(lines[0], SMA_CALL_HEADER_BYTES_MAX, "Authorization: QQBot %.*s", (int)token.len,
             token.ptr);
    snprintf(lines[1], SMA_CALL_HEADER_BYTES_MAX, "X-Union-Appid: %s", qq->settings.app_id);
}

static bool is_token_refused(const struct sma_net_answer *answer)
{
    struct sma_answered outcome;
    if (answer->status < 400)
        return false;
    sma_verdict(&qq_verdicts, NULL, answer, 0, &outcome);
    return (outcome.mend & SMA_MEND_TOKEN) != 0;
}

/* -- the token --------------------------------------------------------------------------------- */
static void put_token_url(const void *state, struct sma_buf *url)
{
    sma_buf_put_text(url, ((const struct qq *)state)->settings.token_url);
}

static void put_token_body(const void *state, struct sma_buf *body)
{
    const struct qq *qq = state;
    qq_put_token_body(body, sma_str(qq->settings.app_id), sma_str(qq->settings.secret));
}

static void explain_token(const struct sma_login_error *error, char line[SMA_HEALTH_BYTES_MAX])
{
    snprintf(line, SMA_HEALTH_BYTES_MAX,
             "the platform does not take this bot's appId and appSecret: %.120s. Compare "
             "adapters.qq in ship.json, or QQ_APP_ID and QQ_APP_SECRET, with the platform's "
             "console and restart",
             error->text);
}

/* The platform gives the same token until its last 60 s, so the next one is asked for inside
 * them, while this one still holds. */
static const struct sma_token_ops token_ops = {
    .put_url = put_token_url,
    .put_body = put_token_body,
    .parse = qq_token_parse,
    .refresh_s = qq_token_refresh_s,
    .explain = explain_token,
    .fatal_s = QQ_TOKEN_REFUSED_S,
};

const struct sma_call_ops qq_call_ops = {
    .put_root = put_root,
    .json_type = "application/json; charset=utf-8",
    .put_headers = put_headers,
    .is_token_refused = is_token_refused,
    .token = &token_ops,
};
