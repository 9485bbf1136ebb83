/* Token and gateway answers, good and bad. */
#include "adapters/qq/qq_login.h"
#include "sma/text.h"
#include "support/check.h"

static struct sma_net_answer answer_of(int status, const char *body)
{
    return (struct sma_net_answer){.end = SMA_NET_ANSWERED,
                                   .status = status,
                                   .body = sma_str(body),
                                   .retry_after_ms = -1,
                                   .error = ""};
}

static enum sma_login token_of(int status, const char *body, struct sma_token *token,
                               struct sma_login_error *error)
{
    struct sma_net_answer answer = answer_of(status, body);
    *error = (struct sma_login_error){0};
    enum sma_login login = qq_token_parse(&answer, token, error);
    CHECK((login == SMA_LOGIN_OK) == (error->text[0] == '\0'));
    return login;
}

static void tokens_are_asked_for(void)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 1024);
    qq_put_token_body(&buf, SMA_STR("102000001"), SMA_STR("a\"b"));
    CHECK_STR("{\"appId\":\"102000001\",\"clientSecret\":\"a\\\"b\"}", sma_buf_str(&buf));
    sma_buf_fini(&buf);
}

static void lives_come_as_text_and_as_number(void)
{
    struct sma_token token;
    struct sma_login_error error;
    CHECK_INT(SMA_LOGIN_OK,
              token_of(200, "{\"access_token\":\"AT0\",\"expires_in\":\"7200\"}", &token, &error));
    CHECK_TEXT("AT0", token.value);
    CHECK_INT(7200, token.expires_s);
    CHECK_INT(SMA_LOGIN_OK,
              token_of(200, "{\"access_token\":\"AT1\",\"expires_in\":61}", &token, &error));
    CHECK_INT(61, token.expires_s);
}

static void refusals_of_a_token(void)
{
    static const struct
    {
        int status;
        const char *body;
        enum sma_login login;
        int64_t code;
    } rows[] = {
        {200, "{\"code\":100016,\"message\":\"invalid appid or secret\"}", SMA_LOGIN_FATAL, 100016},
        {200, "{\"code\":100007,\"message\":\"x\"}", SMA_LOGIN_FATAL, 100007},
        {200, "{\"code\":10004}", SMA_LOGIN_FATAL, 10004},
        {200, "{\"code\":100001,\"message\":\"too many\"}", SMA_LOGIN_RETRY, 100001},
        {200, "{\"code\":77}", SMA_LOGIN_RETRY, 77},
        {200, "{}", SMA_LOGIN_RETRY, 0},
        {200, "", SMA_LOGIN_RETRY, 0},
        {200, "<html>", SMA_LOGIN_RETRY, 0},
        {200, "{\"access_token\":\"\",\"expires_in\":\"7200\"}", SMA_LOGIN_RETRY, 0},
        {200, "{\"access_token\":\"a b\",\"expires_in\":\"7200\"}", SMA_LOGIN_RETRY, 0},
        {200, "{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":\"7200\"}", SMA_LOGIN_RETRY, 0},
        {200, "{\"access_token\":\"a\"}", SMA_LOGIN_RETRY, 0},
        {200, "{\"access_token\":\"a\",\"expires_in\":\"0\"}", SMA_LOGIN_RETRY, 0},
        {200, "{\"access_token\":\"a\",\"expires_in\":-5}", SMA_LOGIN_RETRY, 0},
        {200, "{\"access_token\":\"a\",\"expires_in\":\"soon\"}", SMA_LOGIN_RETRY, 0},
        {400, "{\"code\":5}", SMA_LOGIN_FATAL, 5},
        {404, "", SMA_LOGIN_FATAL, 0},
        {429, "", SMA_LOGIN_RETRY, 0},
        {500, "", SMA_LOGIN_RETRY, 0},
        {502, "<html>", SMA_LOGIN_RETRY, 0},
    };
    struct sma_token token = {.expires_s = 1};
    struct sma_login_error error;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        enum sma_login login = token_of(rows[i].status, rows[i].body, &token, &error);
        if (login != rows[i].login)
            fprintf(stderr, "%d %s: %s\n", rows[i].status, rows[i].body, error.text);
        CHECK_INT(rows[i].login, login);
        CHECK_INT(rows[i].code, error.code);
        CHECK(token.expires_s == 1);
    }
    CHECK_INT(SMA_LOGIN_FATAL, token_of(200, rows[0].body, &token, &error));
    CHECK_TEXT("getting an access token from QQ failed: app id or secret is wrong: check appId and "
               "appSecret "
               "of adapters.qq (code 100016: invalid appid or secret; HTTP 200)",
               error.text);
}

static void servers_that_were_not_reached(void)
{
    struct sma_net_answer answer = {
        .end = SMA_NET_NOT_SENT, .error = "no such host", .retry_after_ms = -1};
    struct sma_token token;
    struct qq_gateway gateway;
    struct sma_login_error error;
    CHECK_INT(SMA_LOGIN_RETRY, qq_token_parse(&answer, &token, &error));
    CHECK_TEXT("getting an access token from QQ failed: no such host", error.text);
    CHECK_INT(SMA_LOGIN_RETRY, qq_gateway_parse(&answer, &gateway, &error));
    CHECK(!error.is_token_invalid);
}

static void tokens_are_renewed_in_their_last_minute(void)
{
    CHECK_INT(7155, qq_token_refresh_s(7200));
    for (uint32_t life = 66; life <= 7200; life++) {
        uint32_t left = life - qq_token_refresh_s(life);
        CHECK(left > 0 && left <= 60);
    }
    for (uint32_t life = 1; life < 66; life++)
        CHECK(qq_token_refresh_s(life) >= 5 && qq_token_refresh_s(life) <= 60);
}

static enum sma_login gateway_of(int status, const char *body, struct qq_gateway *gateway,
                                 struct sma_login_error *error)
{
    struct sma_net_answer answer = answer_of(status, body);
    *error = (struct sma_login_error){0};
    return qq_gateway_parse(&answer, gateway, error);
}

static void gateways_of_both_calls(void)
{
    struct qq_gateway gateway;
    struct sma_login_error error;
    CHECK_INT(SMA_LOGIN_OK, gateway_of(200, "{\"url\":\"wss://api.sgroup.qq.com/websocket/\"}",
                                       &gateway, &error));
    CHECK_TEXT("wss://api.sgroup.qq.com/websocket/", gateway.url);
    CHECK(gateway.shards == 1 && !gateway.has_limit);
    CHECK_INT(0, qq_gateway_identify_wait_ms(&gateway));
    CHECK_INT(
        SMA_LOGIN_OK,
        gateway_of(
            200,
            "{\"url\":\"ws://127.0.0.1:1/w\",\"shards\":3,\"session_start_limit\":{\"total\":1000,"
            "\"remaining\":0,\"reset_after\":14400000,\"max_concurrency\":2}}",
            &gateway, &error));
    CHECK(gateway.has_limit && gateway.shards == 3 && gateway.max_concurrency == 2);
    CHECK_INT(14400000, qq_gateway_identify_wait_ms(&gateway));
    gateway.remaining = 1;
    CHECK_INT(0, qq_gateway_identify_wait_ms(&gateway));
    gateway.remaining = 0;
    gateway.reset_after_ms = INT64_MAX;
    CHECK_INT(86400000, qq_gateway_identify_wait_ms(&gateway));
}

static void gateways_that_are_refused(void)
{
    static const struct
    {
        int status;
        const char *body;
        enum sma_login login;
        bool is_token;
    } rows[] = {
        {401, "{\"message\":\"x\",\"code\":11244,\"err_code\":11244}", SMA_LOGIN_RETRY, true},
        {401, "", SMA_LOGIN_RETRY, true},
        {200, "{\"err_code\":11243}", SMA_LOGIN_RETRY, true},
        {400, "{\"code\":11251}", SMA_LOGIN_FATAL, false},
        {200, "{\"url\":\"https://x\"}", SMA_LOGIN_RETRY, false},
        {200, "{\"url\":\"wss://a b\"}", SMA_LOGIN_RETRY, false},
        {200, "{\"url\":7}", SMA_LOGIN_RETRY, false},
        {504, "", SMA_LOGIN_RETRY, false},
    };
    struct qq_gateway gateway;
    struct sma_login_error error;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        CHECK_INT(rows[i].login, gateway_of(rows[i].status, rows[i].body, &gateway, &error));
        CHECK_INT(rows[i].is_token, error.is_token_invalid);
        CHECK(error.text[0] != '\0');
    }
    char body[2000] = "{\"url\":\"wss://";
    size_t len = strlen(body);
    memset(body + len, 'x', QQ_GATEWAY_URL_BYTES_MAX);
    snprintf(body + len + QQ_GATEWAY_URL_BYTES_MAX, 8, "\"}");
    CHECK_INT(SMA_LOGIN_RETRY, gateway_of(200, body, &gateway, &error));
}

int main(void)
{
    RUN(tokens_are_asked_for);
    RUN(lives_come_as_text_and_as_number);
    RUN(refusals_of_a_token);
    RUN(servers_that_were_not_reached);
    RUN(tokens_are_renewed_in_their_last_minute);
    RUN(gateways_of_both_calls);
    RUN(gateways_that_are_refused);
    return check_summary();
}
