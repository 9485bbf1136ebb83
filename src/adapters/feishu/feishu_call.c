/* feishu_call.c — the platform's part of sma_calls: its root, its header, its token. */
#include "feishu_priv.h"

#include <stdio.h>

#define CODE_BYTES_MAX 65536 /* an answer larger than this is no refusal */

static void put_root(const void *state, struct sma_buf *url)
{
    sma_buf_put_text(url, ((const struct feishu *)state)->settings.domain);
}

static void put_headers(const void *state, struct sma_str token,
                        char lines[SMA_CALL_HEADER_COUNT_MAX][SMA_CALL_HEADER_BYTES_MAX])
{
    (void)state;
    snprintf(lines[0], SMA_CALL_HEADER_BYTES_MAX, "Authorization: Bearer %.*s", (int)token.len,
             token.ptr);
}

static bool is_token_refused(const struct sma_net_answer *answer)
{
    struct sma_answered outcome;
    if (answer->body.len == 0 || answer->body.len > CODE_BYTES_MAX)
        return false;
    sma_verdict(&feishu_verdicts, NULL, answer, 0, &outcome);
    return (outcome.mend & SMA_MEND_TOKEN) != 0;
}

/* -- the token --------------------------------------------------------------------------------- */
static void put_token_url(const void *state, struct sma_buf *url)
{
    put_root(state, url);
    sma_buf_put_text(url, FEISHU_TOKEN_PATH);
}

static void put_token_body(const void *state, struct sma_buf *body)
{
    const struct feishu *feishu = state;
    feishu_put_token_body(body, sma_str(feishu->settings.app_id),
                          sma_str(feishu->settings.app_secret));
}

static const struct sma_token_ops token_ops = {
    .put_url = put_token_url,
    .put_body = put_token_body,
    .parse = feishu_token_parse,
    .refresh_s = feishu_token_refresh_s,
    .fatal_s = FEISHU_FATAL_S,
};

const struct sma_call_ops feishu_call_ops = {
    .put_root = put_root,
    .json_type = "application/json; charset=utf-8",
    .put_headers = put_headers,
    .is_token_refused = is_token_refused,
    .token = &token_ops,
};
