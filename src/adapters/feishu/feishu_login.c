/* feishu_login.c — see feishu_login.h. */
#include "feishu_login.h"

#include <stdio.h>

#include "adapters/common/word.h"
#include "feishu_code.h"
#include "sma/text.h"

#define TOKEN_EARLY_S \
    1500u /* the platform gives a new token only in the last 1800 s of the old one */
#define TOKEN_WAIT_S_MIN 30u

/* Class and words of an answer that is no success. */
static enum sma_login fail(const char *what, const struct sma_net_answer *answer,
                           const struct feishu_reply *reply, struct sma_login_error *error)
{
    *error =
        (struct sma_login_error){.code = reply->code, .retry_after_ms = answer->retry_after_ms};
    struct sma_answered answered;
    sma_verdict(&feishu_verdicts, what, answer, SMA_WHEN_QUESTION, &answered);
    snprintf(error->text, sizeof error->text, "%s", answered.error);
    if (answered.attempt_class == SMA_ATTEMPT_SENT)
        snprintf(error->text, sizeof error->text, "%s failed: the answer could not be read", what);
    if (answer->end != SMA_NET_ANSWERED || answer->status >= 500 || answer->status == 429 ||
        answer->status == 408 || reply->code < 0)
        /* not JSON: a proxy or a page between, not a verdict of the platform */
        return SMA_LOGIN_RETRY;
    error->is_token_invalid = (answered.mend & SMA_MEND_TOKEN) != 0;
    return answered.attempt_class == SMA_ATTEMPT_GIVE_UP ? SMA_LOGIN_FATAL : SMA_LOGIN_RETRY;
}

static bool is_success(const struct sma_net_answer *answer, const struct feishu_reply *reply)
{
    return reply->root != NULL && reply->code == 0 && answer->status == 200;
}

/* A success that lacks what it should hold: the platform's fault, so try again. */
static enum sma_login incomplete(const char *what, const char *missing,
                                 struct sma_login_error *error)
{
    *error = (struct sma_login_error){.code = 0, .retry_after_ms = -1};
    snprintf(error->text, sizeof error->text, "%s failed: the answer has no usable %s", what,
             missing);
    return SMA_LOGIN_RETRY;
}

/* -- tenant token ------------------------------------------------------------------------------ */

static void put_pair(struct sma_buf *buf, const char *id_name, struct sma_str id,
                     const char *secret_name, struct sma_str secret)
{
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, id_name);
    sma_buf_put_json_string(buf, id);
    sma_buf_put_json_key(buf, secret_name);
    sma_buf_put_json_string(buf, secret);
    sma_buf_put_char(buf, '}');
}

void feishu_put_token_body(struct sma_buf *buf, struct sma_str app_id, struct sma_str app_secret)
{
    put_pair(buf, "app_id", app_id, "app_secret", app_secret);
}

static enum sma_login read_token(const struct sma_net_answer *answer,
                                 const struct feishu_reply *reply, struct sma_token *token,
                                 struct sma_login_error *error)
{
    static const char what[] = "getting an access token from Feishu";
    if (!is_success(answer, reply))
        return fail(what, answer, reply, error);
    if (!sma_adapter_copy_word(sma_json_str(reply->root, "tenant_access_token"), token->value,
                               sizeof token->value))
        return incomplete(what, "tenant_access_token", error);
    token->expires_s = (uint32_t)sma_json_int(reply->root, "expire", 1, 7 * 86400, 0);
    if (token->expires_s == 0)
        return incomplete(what, "expire", error);
    return SMA_LOGIN_OK;
}

enum sma_login feishu_token_parse(const struct sma_net_answer *answer, struct sma_token *ret_token,
                                  struct sma_login_error *ret_error)
{
    struct feishu_reply reply = feishu_reply_read(answer);
    struct sma_token token = {0};
    enum sma_login login = read_token(answer, &reply, &token, ret_error);
    if (login == SMA_LOGIN_OK)
        *ret_token = token;
    json_decref(reply.root);
    return login;
}

uint32_t feishu_token_refresh_s(uint32_t expires_s)
{
    if (expires_s > 2 * TOKEN_EARLY_S)
        return expires_s - TOKEN_EARLY_S;
    /* Short-lived, or handed out late in its life: half of what is left. */
    return expires_s / 2 > TOKEN_WAIT_S_MIN ? expires_s / 2
           : expires_s > TOKEN_WAIT_S_MIN   ? TOKEN_WAIT_S_MIN
                                            : 1 + expires_s / 2;
}

/* -- the bot itself ---------------------------------------------------------------------------- */

enum sma_login feishu_bot_parse(const struct sma_net_answer *answer, struct feishu_bot *ret_bot,
                                struct sma_login_error *ret_error)
{
    static const char what[] = "asking Feishu who the bot is";
    struct feishu_reply reply = feishu_reply_read(answer);
    struct feishu_bot bot = {0};
    enum sma_login login = SMA_LOGIN_OK;
    if (!is_success(answer, &reply)) {
        login = fail(what, answer, &reply, ret_error);
    } else {
        const json_t *info = sma_json_get(reply.root, "bot");
        struct sma_str name = sma_json_str(info, "app_name");
        name.len = sma_utf8_cut(name, sizeof bot.name - 1);
        memcpy(bot.name, name.ptr, name.len);
        bot.is_active = sma_json_int(info, "activate_status", 0, 1000, 0) == 2;
        if (!sma_adapter_copy_word(sma_json_str(info, "open_id"), bot.open_id, sizeof bot.open_id))
            login = incomplete(what, "open_id", ret_error);
    }
    if (login == SMA_LOGIN_OK)
        *ret_bot = bot;
    json_decref(reply.root);
    return login;
}

/* -- rights in a group ------------------------------------------------------------------------- */

void feishu_put_chat_path(struct sma_buf *buf, struct sma_str chat_id, struct sma_str user_id)
{
    const char *type = sma_str_starts_with(user_id, SMA_STR("ou_"))   ? "open_id"
                       : sma_str_starts_with(user_id, SMA_STR("on_")) ? "union_id"
                                                                      : "user_id";
    sma_buf_put_text(buf, "/open-apis/im/v1/chats/");
    sma_buf_put_file_name(buf, chat_id);
    sma_buf_printf(buf, "?user_id_type=%s", type);
}

enum sma_login feishu_chat_parse(const struct sma_net_answer *answer, struct sma_str user_id,
                                 bool *ret_is_admin, struct sma_login_error *ret_error)
{
    struct feishu_reply reply = feishu_reply_read(answer);
    enum sma_login login = SMA_LOGIN_OK;
    if (is_success(answer, &reply)) {
        const json_t *data = sma_json_get(reply.root, "data");
        const json_t *managers = sma_json_get(data, "user_manager_id_list");
        /* owner_id is absent when a bot owns the group. */
        bool is_admin =
            user_id.len > 0 && sma_str_is_equal(sma_json_str(data, "owner_id"), user_id);
        for (size_t i = 0; i < json_array_size(managers) && !is_admin; i++)
            is_admin = user_id.len > 0 &&
                       sma_str_is_equal(sma_json_str_of(json_array_get(managers, i)), user_id);
        *ret_is_admin = is_admin;
    } else {
        login = fail("asking Feishu who manages the group", answer, &reply, ret_error);
    }
    json_decref(reply.root);
    return login;
}

/* -- long connection --------------------------------------------------------------------------- */

static bool merge_interval(const json_t *config, const char *key, uint32_t *seconds)
{
    int64_t given = sma_json_int(config, key, 1, INT64_MAX, 0);
    if (given == 0)
        return false;
    *seconds =
        given > FEISHU_CLIENT_INTERVAL_S_MAX ? FEISHU_CLIENT_INTERVAL_S_MAX : (uint32_t)given;
    return true;
}

static bool merge(struct feishu_client_config *config, const json_t *json)
{
    int64_t none = INT64_MIN,
            count = sma_json_int(json, "ReconnectCount", INT32_MIN, INT32_MAX, none);
    bool is_changed = false;
    if (count != none &&
        count != 0) { /* 0 tries would mean to give up at once: nobody asks for that */
        config->reconnect_count = (int32_t)count;
        is_changed = true;
    }
    is_changed |= merge_interval(json, "ReconnectInterval", &config->reconnect_interval_s);
    is_changed |= merge_interval(json, "ReconnectNonce", &config->reconnect_nonce_s);
    is_changed |= merge_interval(json, "PingInterval", &config->ping_interval_s);
    return is_changed;
}

bool feishu_client_config_merge(struct feishu_client_config *config, struct sma_str json)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (sma_json_load(json, &root) != SMA_ERR_OK)
        return false;
    return merge(config, root);
}

void feishu_put_endpoint_body(struct sma_buf *buf, struct sma_str app_id, struct sma_str app_secret)
{
    put_pair(buf, "AppID", app_id, "AppSecret", app_secret);
}

/* Value of a query parameter; empty when it is absent. */
static struct sma_str query_value(struct sma_str url, struct sma_str name)
{
    const char *at = memchr(url.ptr, '?', url.len);
    struct sma_str rest = {at, at == NULL ? 0 : (size_t)(url.ptr + url.len - at)};
    while (rest.len > 0) {
        rest.ptr++; /* '?' or '&' */
        rest.len--;
        const char *end = memchr(rest.ptr, '&', rest.len);
        struct sma_str pair = {rest.ptr, end == NULL ? rest.len : (size_t)(end - rest.ptr)};
        if (pair.len > name.len && pair.ptr[name.len] == '=' && sma_str_starts_with(pair, name))
            return (struct sma_str){pair.ptr + name.len + 1, pair.len - name.len - 1};
        rest.ptr += pair.len;
        rest.len -= pair.len;
    }
    return (struct sma_str){"", 0};
}

static enum sma_login read_endpoint(const struct sma_net_answer *answer,
                                    const struct feishu_reply *reply,
                                    struct feishu_endpoint *endpoint, struct sma_login_error *error)
{
    static const char what[] = "asking Feishu for a connection";
    if (!is_success(answer, reply))
        return fail(what, answer, reply, error);
    const json_t *data = sma_json_get(reply->root, "data");
    struct sma_str url = sma_json_str(data, "URL");
    if ((!sma_str_starts_with(url, SMA_STR("wss://")) &&
         !sma_str_starts_with(url, SMA_STR("ws://"))) ||
        !sma_adapter_copy_word(url, endpoint->url, sizeof endpoint->url))
        return incomplete(what, "URL", error);
    int64_t service_id = 0;
    if (sma_parse_i64(query_value(url, SMA_STR("service_id")), INT32_MIN, INT32_MAX, &service_id) ==
        SMA_ERR_OK)
        endpoint->service_id = (int32_t)service_id;
    (void)sma_adapter_copy_word(query_value(url, SMA_STR("device_id")), endpoint->device_id,
                                sizeof endpoint->device_id); /* for the log only */
    endpoint->has_config = merge(&endpoint->config, sma_json_get(data, "ClientConfig"));
    return SMA_LOGIN_OK;
}

enum sma_login feishu_endpoint_parse(const struct sma_net_answer *answer,
                                     const struct feishu_client_config *known,
                                     struct feishu_endpoint *ret_endpoint,
                                     struct sma_login_error *ret_error)
{
    struct feishu_reply reply = feishu_reply_read(answer);
    struct feishu_endpoint endpoint = {.config = *known};
    enum sma_login login = read_endpoint(answer, &reply, &endpoint, ret_error);
    if (login == SMA_LOGIN_OK)
        *ret_endpoint = endpoint;
    json_decref(reply.root);
    return login;
}

enum sma_login feishu_handshake_classify(const struct feishu_handshake *handshake,
                                         struct sma_login_error *ret_error)
{
    struct sma_str too_many = SMA_STR("1000040350");
    struct sma_login_error error = {.code = -1, .retry_after_ms = -1};
    if (sma_parse_i64(handshake->status, 0, INT64_MAX, &error.code) != SMA_ERR_OK)
        error.code = -1; /* absent or senseless */
    bool is_full = error.code == 514 && sma_str_is_equal(handshake->auth_code, too_many);
    bool is_fatal = is_full || error.code == 403;
    const char *words = is_full             ? sma_verdict_words(&feishu_verdicts, 1000040350)
                        : error.code == 403 ? sma_verdict_words(&feishu_verdicts, 403)
                        : error.code == 514 ? "the ticket was refused; a new one will be asked for"
                                            : "the server refused";
    struct sma_str message = handshake->message;
    message.len = sma_utf8_cut(message, 64);
    struct sma_buf line;
    sma_buf_init(&line, sizeof error.text - 1);
    sma_buf_printf(&line, "the connection to Feishu was refused: %s (HTTP %d", words,
                   handshake->http_status);
    if (error.code >= 0)
        sma_buf_printf(&line, ", status %lld", (long long)error.code);
    sma_buf_put_text(&line, message.len > 0 ? ": " : "");
    for (size_t i = 0; i < message.len; i++)
        sma_buf_put_char(&line, (unsigned char)message.ptr[i] < 0x20 ? ' ' : message.ptr[i]);
    sma_buf_put_char(&line, ')');
    if (line.len > 0)
        memcpy(error.text, line.ptr, line.len);
    sma_buf_fini(&line);
    *ret_error = error;
    return is_fatal ? SMA_LOGIN_FATAL : SMA_LOGIN_RETRY;
}
