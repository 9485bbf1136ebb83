/*
 * Aim: token, bot, group and endpoint answers are read, and each failure is known as passing or
 * final.
 * Method: the recorded session, then tables.
 */
#include "adapters/feishu/feishu_login.h"

#include "vectors.h"

static struct sma_net_answer answer_of(int status, const char *body)
{
    return (struct sma_net_answer){.end = SMA_NET_ANSWERED,
                                   .status = status,
                                   .body = sma_str(body),
                                   .retry_after_ms = -1,
                                   .log_id = {"", 0},
                                   .error = ""};
}

static void recorded_bodies_are_made_and_read(void)
{
    json_t *session = load_vectors("feishu_ws_session.json");
    const json_t *steps = json_object_get(session, "full");
    struct sma_buf body;
    sma_buf_init(&body, 4096);
    int made = 0, read = 0;
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i), *url = json_object_get(step, "url");
        if (!json_is_string(url))
            continue;
        bool is_token = strcmp(json_string_value(url), FEISHU_TOKEN_PATH) == 0;
        bool is_endpoint = strcmp(json_string_value(url), FEISHU_ENDPOINT_PATH) == 0;
        const char *what = json_string_value(json_object_get(step, "what"));
        if (!is_token && !is_endpoint)
            continue;
        if (strcmp(what, "http") == 0) {
            sma_buf_clear(&body);
            (is_token ? feishu_put_token_body : feishu_put_endpoint_body)(
                &body, SMA_STR("cli_0123456789abcdef"), SMA_STR("sec"));
            CHECK_STR(json_string_value(json_object_get(step, "body")), sma_buf_str(&body));
            made++;
            continue;
        }
        char *text = json_dumps(json_object_get(step, "body"), JSON_COMPACT);
        struct sma_net_answer answer = answer_of(200, text);
        struct sma_login_error error;
        if (is_token) {
            struct sma_token token;
            CHECK_INT(SMA_LOGIN_OK, feishu_token_parse(&answer, &token, &error));
            CHECK_TEXT("t-fake0001", token.value);
            CHECK_INT(7200, token.expires_s);
        } else {
            struct feishu_endpoint endpoint;
            struct feishu_client_config known = FEISHU_CLIENT_CONFIG_DEFAULT;
            CHECK_INT(SMA_LOGIN_OK, feishu_endpoint_parse(&answer, &known, &endpoint, &error));
            CHECK_INT(33554678, endpoint.service_id);
            CHECK_TEXT("7400000000000000001", endpoint.device_id);
            CHECK(endpoint.has_config);
            CHECK_INT(2, endpoint.config.ping_interval_s);
            CHECK_INT(1, endpoint.config.reconnect_nonce_s);
        }
        free(text);
        read++;
    }
    CHECK(made >= 2 && read >= 2);
    sma_buf_fini(&body);
    json_decref(session);
}

static void endpoint_failures_are_passing_or_final(void)
{
    static const struct
    {
        int status;
        const char *body;
        enum sma_login wanted;
    } rows[] = {
        {200, "{\"code\":1,\"msg\":\"busy\",\"data\":{}}", SMA_LOGIN_RETRY},
        {200, "{\"code\":1000040343,\"msg\":\"internal\"}", SMA_LOGIN_RETRY},
        {200, "{\"code\":514,\"msg\":\"auth\"}", SMA_LOGIN_FATAL},
        {200, "{\"code\":403,\"msg\":\"forbidden\"}", SMA_LOGIN_FATAL},
        {200, "{\"code\":1000040344,\"msg\":\"\"}", SMA_LOGIN_FATAL},
        {200, "{\"code\":1000040350,\"msg\":\"\"}", SMA_LOGIN_FATAL},
        {200, "{\"code\":4711,\"msg\":\"\"}", SMA_LOGIN_FATAL},
        {500, "{\"code\":514}", SMA_LOGIN_RETRY},
        {404, "not here", SMA_LOGIN_RETRY},
        {429, "{\"code\":514}", SMA_LOGIN_RETRY},
        {200, "{\"code\":0,\"data\":{}}", SMA_LOGIN_RETRY},
        {200, "{\"code\":0}", SMA_LOGIN_RETRY},
        {200, "{\"code\":0,\"data\":{\"URL\":\"http://x\"}}", SMA_LOGIN_RETRY},
        {200, "{\"code\":0,\"data\":{\"URL\":\"wss://x y\"}}", SMA_LOGIN_RETRY},
        {200, "{\"code\":0,\"data\":{\"URL\":5}}", SMA_LOGIN_RETRY},
        {200, "", SMA_LOGIN_RETRY},
        {200, "[]", SMA_LOGIN_RETRY},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_net_answer answer = answer_of(rows[i].status, rows[i].body);
        struct feishu_client_config known = FEISHU_CLIENT_CONFIG_DEFAULT;
        struct feishu_endpoint endpoint;
        struct sma_login_error error = {0};
        CHECK_INT(rows[i].wanted, feishu_endpoint_parse(&answer, &known, &endpoint, &error));
        CHECK(error.text[0] != '\0');
    }
    struct sma_net_answer lost = {.end = SMA_NET_NOT_SENT,
                                  .body = {"", 0},
                                  .retry_after_ms = -1,
                                  .log_id = {"", 0},
                                  .error = "no name"};
    struct feishu_client_config known = FEISHU_CLIENT_CONFIG_DEFAULT;
    struct feishu_endpoint endpoint;
    struct sma_login_error error = {0};
    CHECK_INT(SMA_LOGIN_RETRY, feishu_endpoint_parse(&lost, &known, &endpoint, &error));
    CHECK(strstr(error.text, "no name") != NULL);
    /* service_id first in the query, absent, and no configuration. */
    struct sma_net_answer bare = answer_of(
        200, "{\"code\":0,\"data\":{\"URL\":\"wss://h/p?service_id=-5&x=service_id=7\"}}");
    CHECK_INT(SMA_LOGIN_OK, feishu_endpoint_parse(&bare, &known, &endpoint, &error));
    CHECK_INT(-5, endpoint.service_id);
    CHECK(!endpoint.has_config && endpoint.config.ping_interval_s == 120 &&
          endpoint.device_id[0] == '\0');
    bare = answer_of(200, "{\"code\":0,\"data\":{\"URL\":\"ws://h/p\"}}");
    CHECK_INT(SMA_LOGIN_OK, feishu_endpoint_parse(&bare, &known, &endpoint, &error));
    CHECK_INT(0, endpoint.service_id);
}

static void urls_have_a_limit(void)
{
    static char body[FEISHU_URL_BYTES_MAX + 128];
    for (size_t len = FEISHU_URL_BYTES_MAX - 1; len <= FEISHU_URL_BYTES_MAX + 1; len++) {
        size_t at = (size_t)snprintf(body, sizeof body, "{\"code\":0,\"data\":{\"URL\":\"wss://");
        memset(body + at, 'u', len - 6);
        snprintf(body + at + len - 6, 8, "\"}}");
        struct sma_net_answer answer = answer_of(200, body);
        struct feishu_client_config known = FEISHU_CLIENT_CONFIG_DEFAULT;
        struct feishu_endpoint endpoint;
        struct sma_login_error error;
        CHECK_INT(len <= FEISHU_URL_BYTES_MAX ? SMA_LOGIN_OK : SMA_LOGIN_RETRY,
                  feishu_endpoint_parse(&answer, &known, &endpoint, &error));
    }
}

static void client_configurations_merge(void)
{
    static const struct
    {
        const char *json;
        bool is_changed;
        struct feishu_client_config wanted;
    } rows[] = {
        {"{\"ReconnectCount\":5,\"ReconnectInterval\":90,\"ReconnectNonce\":25,\"PingInterval\":"
         "91}",
         true,
         {5, 90, 25, 91}},
        {"{\"PingInterval\":3}", true, {-1, 120, 30, 3}},
        {"{\"PingInterval\":0,\"ReconnectNonce\":-5,\"ReconnectInterval\":null,\"ReconnectCount\":"
         "0}",
         false,
         {-1, 120, 30, 120}},
        {"{\"PingInterval\":999999}", true, {-1, 120, 30, FEISHU_CLIENT_INTERVAL_S_MAX}},
        {"{\"PingInterval\":\"x\"}", false, {-1, 120, 30, 120}},
        {"", false, {-1, 120, 30, 120}},
        {"nonsense", false, {-1, 120, 30, 120}},
        {"[1]", false, {-1, 120, 30, 120}},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct feishu_client_config config = FEISHU_CLIENT_CONFIG_DEFAULT;
        CHECK_INT(rows[i].is_changed, feishu_client_config_merge(&config, sma_str(rows[i].json)));
        CHECK_INT(rows[i].wanted.reconnect_count, config.reconnect_count);
        CHECK_INT(rows[i].wanted.reconnect_interval_s, config.reconnect_interval_s);
        CHECK_INT(rows[i].wanted.reconnect_nonce_s, config.reconnect_nonce_s);
        CHECK_INT(rows[i].wanted.ping_interval_s, config.ping_interval_s);
    }
}

static void tokens_are_read(void)
{
    static const struct
    {
        int status;
        const char *body;
        enum sma_login wanted;
    } rows[] = {
        {200, "{\"code\":0,\"tenant_access_token\":\"t-1\",\"expire\":7200}", SMA_LOGIN_OK},
        {200, "{\"code\":0,\"tenant_access_token\":\"t-1\"}", SMA_LOGIN_RETRY},
        {200, "{\"code\":0,\"tenant_access_token\":\"t 1\",\"expire\":7200}", SMA_LOGIN_RETRY},
        {200, "{\"code\":0,\"tenant_access_token\":\"t-1\\r\\nX: y\",\"expire\":7200}",
         SMA_LOGIN_RETRY},
        {200, "{\"code\":10014,\"msg\":\"app secret invalid\"}", SMA_LOGIN_FATAL},
        {400, "{\"code\":10003,\"msg\":\"invalid param\"}", SMA_LOGIN_FATAL},
        {200, "{\"code\":99991543}", SMA_LOGIN_FATAL},
        {400, "{\"code\":99991400}", SMA_LOGIN_RETRY},
        {503, "", SMA_LOGIN_RETRY},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_net_answer answer = answer_of(rows[i].status, rows[i].body);
        struct sma_token token;
        struct sma_login_error error;
        CHECK_INT(rows[i].wanted, feishu_token_parse(&answer, &token, &error));
    }
    for (uint32_t expire = 1; expire < 20000; expire++) {
        uint32_t wait = feishu_token_refresh_s(expire);
        CHECK(wait >= 1 && (wait <= expire));
        if (expire >= 1800) /* the last half hour is when a new one is to be had */
            CHECK(expire - wait >= 180 && (expire <= 3000 || expire - wait < 1800));
    }
}

static void bots_and_managers_are_read(void)
{
    struct sma_net_answer answer =
        answer_of(200, "{\"code\":0,\"bot\":{\"activate_status\":2,\"app_name\":\"小助手\",\"open_"
                       "id\":\"ou_bot\"}}");
    struct feishu_bot bot;
    struct sma_login_error error;
    CHECK_INT(SMA_LOGIN_OK, feishu_bot_parse(&answer, &bot, &error));
    CHECK_TEXT("ou_bot", bot.open_id);
    CHECK_TEXT("小助手", bot.name);
    CHECK(bot.is_active);
    answer = answer_of(400, "{\"code\":99991663}");
    CHECK_INT(SMA_LOGIN_RETRY, feishu_bot_parse(&answer, &bot, &error));
    CHECK(error.is_token_invalid);
    answer = answer_of(200, "{\"code\":0,\"bot\":[]}");
    CHECK_INT(SMA_LOGIN_RETRY, feishu_bot_parse(&answer, &bot, &error));
    static const struct
    {
        const char *body, *user;
        bool is_admin;
    } rows[] = {
        {"{\"code\":0,\"data\":{\"owner_id\":\"ou_1\"}}", "ou_1", true},
        {"{\"code\":0,\"data\":{\"owner_id\":\"ou_1\"}}", "ou_2", false},
        {"{\"code\":0,\"data\":{\"user_manager_id_list\":[5,\"ou_2\"]}}", "ou_2", true},
        {"{\"code\":0,\"data\":{\"owner_id\":\"\",\"user_manager_id_list\":[\"\"]}}", "", false},
        {"{\"code\":0}", "ou_1", false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        bool is_admin = !rows[i].is_admin;
        answer = answer_of(200, rows[i].body);
        CHECK_INT(SMA_LOGIN_OK,
                  feishu_chat_parse(&answer, sma_str(rows[i].user), &is_admin, &error));
        CHECK_INT(rows[i].is_admin, is_admin);
    }
    struct sma_buf path;
    sma_buf_init(&path, 256);
    feishu_put_chat_path(&path, SMA_STR("oc_1"), SMA_STR("ou_1"));
    CHECK_STR("/open-apis/im/v1/chats/oc_1?user_id_type=open_id", sma_buf_str(&path));
    sma_buf_clear(&path);
    feishu_put_chat_path(&path, SMA_STR("oc_1"), SMA_STR("e33ggbyz"));
    CHECK_STR("/open-apis/im/v1/chats/oc_1?user_id_type=user_id", sma_buf_str(&path));
    sma_buf_fini(&path);
}

static void refused_handshakes_are_passing_or_final(void)
{
    static const struct
    {
        const char *status, *auth_code;
        enum sma_login wanted;
        const char *words;
    } rows[] = {
        {"514", "1000040350", SMA_LOGIN_FATAL, "too many connections"},
        {"514", "1000040349", SMA_LOGIN_RETRY, "ticket"},
        {"514", "", SMA_LOGIN_RETRY, "ticket"},
        {"403", "", SMA_LOGIN_FATAL, "long connection"},
        {"500", "", SMA_LOGIN_RETRY, "refused"},
        {"", "", SMA_LOGIN_RETRY, "refused"},
        {"x", "1000040350", SMA_LOGIN_RETRY, "refused"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct feishu_handshake handshake = {403, sma_str(rows[i].status), SMA_STR("because\nof"),
                                             sma_str(rows[i].auth_code)};
        struct sma_login_error error = {0};
        CHECK_INT(rows[i].wanted, feishu_handshake_classify(&handshake, &error));
        CHECK(strstr(error.text, rows[i].words) != NULL && strchr(error.text, '\n') == NULL);
    }
}

int main(void)
{
    RUN(recorded_bodies_are_made_and_read);
    RUN(endpoint_failures_are_passing_or_final);
    RUN(urls_have_a_limit);
    RUN(client_configurations_merge);
    RUN(tokens_are_read);
    RUN(bots_and_managers_are_read);
    RUN(refused_handshakes_are_passing_or_final);
    return check_summary();
}
