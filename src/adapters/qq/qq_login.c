/* qq_login.c — see qq_login.h. */
#include "qq_login.h"

#include "adapters/common/word.h"
#include "qq_code.h"
#include "sma/text.h"

#include <stdio.h>

#define TOKEN_LAST_S 60 /* in these a call gives a new token */
#define TOKEN_INTO_LAST_S 15
#define TOKEN_WAIT_S_MIN 5
#define TOKEN_LIFE_S_MAX (7 * 86400)
#define IDENTIFY_WAIT_MS_MAX INT64_C(86400000)

void qq_put_token_body(struct sma_buf *buf, struct sma_str app_id, struct sma_str secret)
{
    sma_buf_put_text(buf, "{\"appId\":");
    sma_buf_put_json_string(buf, app_id);
    sma_buf_put_text(buf, ",\"clientSecret\":");
    sma_buf_put_json_string(buf, secret);
    sma_buf_put_char(buf, '}');
}

static enum sma_login fail(const char *what, const struct sma_net_answer *answer,
                           const struct qq_reply *reply, struct sma_login_error *error)
{
    struct sma_answered answered;
    bool is_answered = answer->end == SMA_NET_ANSWERED;
    sma_verdict(&qq_verdicts, what, answer, SMA_WHEN_QUESTION, &answered);
    bool is_owners = answered.act == SMA_ACT_OWNER && (reply->code != 0 || answer->status >= 400);
    bool is_refused = is_answered && answered.attempt_class == SMA_ATTEMPT_GIVE_UP &&
                      answer->status >= 400 && answer->status < 500;
    *error = (struct sma_login_error){
        .code = reply->code,
        .retry_after_ms = is_answered ? answer->retry_after_ms : -1,
        .is_token_invalid =
            is_answered && ((answered.mend & SMA_MEND_TOKEN) != 0 || answer->status == 401)};
    snprintf(error->text, sizeof error->text, "%s", answered.error);
    if (answered.attempt_class == SMA_ATTEMPT_SENT)
        snprintf(error->text, sizeof error->text, "%s failed: the answer could not be read", what);
    return is_owners || is_refused ? SMA_LOGIN_FATAL : SMA_LOGIN_RETRY;
}

static bool is_success(const struct sma_net_answer *answer, const struct qq_reply *reply)
{
    return answer->end == SMA_NET_ANSWERED && answer->status >= 200 && answer->status < 300 &&
           reply->root != NULL && reply->code == 0;
}

static enum sma_login incomplete(const char *what, const char *member,
                                 struct sma_login_error *error)
{
    *error = (struct sma_login_error){.retry_after_ms = -1};
    snprintf(error->text, sizeof error->text, "%s failed: the answer has no usable %s", what,
             member);
    return SMA_LOGIN_RETRY;
}

static enum sma_login read_token(const struct sma_net_answer *answer, const struct qq_reply *reply,
                                 struct sma_token *token, struct sma_login_error *error)
{
    static const char what[] = "getting an access token from QQ";
    if (!is_success(answer, reply))
        return fail(what, answer, reply, error);
    if (!sma_adapter_copy_word(sma_json_str(reply->root, "access_token"), token->value,
                               sizeof token->value))
        return incomplete(what, "access_token", error);
    token->expires_s = (uint32_t)sma_json_int(reply->root, "expires_in", 1, TOKEN_LIFE_S_MAX, 0);
    return token->expires_s == 0 ? incomplete(what, "expires_in", error) : SMA_LOGIN_OK;
}

enum sma_login qq_token_parse(const struct sma_net_answer *answer, struct sma_token *ret_token,
                              struct sma_login_error *ret_error)
{
    struct qq_reply reply = qq_reply_read(answer);
    struct sma_token token = {0};
    enum sma_login login = read_token(answer, &reply, &token, ret_error);
    if (login == SMA_LOGIN_OK)
        *ret_token = token;
    json_decref(reply.root);
    return login;
}

uint32_t qq_token_refresh_s(uint32_t expires_s)
{
    if (expires_s > TOKEN_LAST_S + TOKEN_WAIT_S_MIN)
        return expires_s - TOKEN_LAST_S + TOKEN_INTO_LAST_S;
    return expires_s / 2 > TOKEN_WAIT_S_MIN ? expires_s / 2 : TOKEN_WAIT_S_MIN;
}

static enum sma_login read_gateway(const struct sma_net_answer *answer,
                                   const struct qq_reply *reply, struct qq_gateway *gateway,
                                   struct sma_login_error *error)
{
    static const char what[] = "asking QQ for its gateway";
    if (!is_success(answer, reply))
        return fail(what, answer, reply, error);
    struct sma_str url = sma_json_str(reply->root, "url");
    bool is_socket =
        sma_str_starts_with(url, SMA_STR("wss://")) || sma_str_starts_with(url, SMA_STR("ws://"));
    if (!is_socket || !sma_adapter_copy_word(url, gateway->url, sizeof gateway->url))
        return incomplete(what, "url", error);
    const json_t *limit = sma_json_get(reply->root, "session_start_limit");
    gateway->shards = (unsigned)sma_json_int(reply->root, "shards", 1, 10000, 1);
    gateway->total = sma_json_int(limit, "total", 0, INT32_MAX, 0);
    gateway->remaining = sma_json_int(limit, "remaining", 0, INT32_MAX, -1);
    gateway->reset_after_ms = sma_json_int(limit, "reset_after", 0, INT64_MAX, 0);
    gateway->max_concurrency = (unsigned)sma_json_int(limit, "max_concurrency", 1, 10000, 1);
    gateway->has_limit = gateway->remaining >= 0;
    if (!gateway->has_limit)
        gateway->remaining = 0;
    return SMA_LOGIN_OK;
}

enum sma_login qq_gateway_parse(const struct sma_net_answer *answer, struct qq_gateway *ret_gateway,
                                struct sma_login_error *ret_error)
{
    struct qq_reply reply = qq_reply_read(answer);
    struct qq_gateway gateway = {0};
    enum sma_login login = read_gateway(answer, &reply, &gateway, ret_error);
    if (login == SMA_LOGIN_OK)
        *ret_gateway = gateway;
    json_decref(reply.root);
    return login;
}

int64_t qq_gateway_identify_wait_ms(const struct qq_gateway *gateway)
{
    if (!gateway->has_limit || gateway->remaining > 0)
        return 0;
    return gateway->reset_after_ms > IDENTIFY_WAIT_MS_MAX ? IDENTIFY_WAIT_MS_MAX
                                                          : gateway->reset_after_ms;
}
