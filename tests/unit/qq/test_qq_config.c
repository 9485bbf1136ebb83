/*
 * Aim: adapters.qq is read whole or refused with key and remedy; without credentials it is silently
 * not configured.
 * Method: tables of blocks.
 */
#include "adapters/qq/qq_priv.h"
#include "support/check.h"

static enum sma_err read_block(const char *json, struct qq_settings *settings,
                               struct sma_error *error)
{
    *settings = (struct qq_settings){0};
    *error = (struct sma_error){0};
    return qq_settings_read(settings, "/project", json, error);
}

static void defaults(void)
{
    struct qq_settings settings;
    struct sma_error error;
    CHECK_OK(read_block("{\"appId\":\"1020\",\"appSecret\":\"abc\"}", &settings, &error));
    CHECK_TEXT("https://api.sgroup.qq.com", settings.api_root);
    CHECK_TEXT("https://bots.qq.com/app/getAppAccessToken", settings.token_url);
    CHECK_INT(UINT32_C(1) << 25 | UINT32_C(1) << 26 | UINT32_C(1) << 27 | UINT32_C(1) << 30 |
                  UINT32_C(1) << 12,
              settings.intents);
    CHECK_INT(1, settings.shard_count);
    CHECK(settings.is_markdown && !settings.is_webhook && settings.is_api_default);
    qq_settings_fini(&settings);
}

static void everything_given(void)
{
    struct qq_settings settings;
    struct sma_error error;
    CHECK_OK(read_block("{\"appId\":\"1020\",\"appSecret\":\"abc\",\"sandbox\":true,\"shards\":3,"
                        "\"intents\":[\"guild_all\"],\"markdown\":false,\"mode\":\"webhook\","
                        "\"gatewayUrl\":\"ws://x/\",\"limits\":{\"perSecond\":7,"
                        "\"perChatPerMinute\":8},\"attachmentBytesMax\":9,\"caFile\":\"a.pem\"}",
                        &settings, &error));
    CHECK_TEXT("https://sandbox.api.sgroup.qq.com", settings.api_root);
    CHECK_TEXT("ws://x/", settings.gateway_url);
    CHECK_TEXT("/project/a.pem", settings.ca_file);
    CHECK_INT(512, settings.intents);
    CHECK_INT(3, settings.shard_count);
    CHECK_INT(7, settings.per_second);
    CHECK_INT(8, settings.per_chat_minute);
    CHECK_INT(9, settings.attachment_bytes_max);
    CHECK(!settings.is_markdown && settings.is_webhook && settings.is_sandbox);
    qq_settings_fini(&settings);
}

static void the_environment_fills_in(void)
{
    struct qq_settings settings;
    struct sma_error error;
    setenv("QQ_APP_ID", "77", 1);
    setenv("QQ_APP_SECRET", "fromtheenvironment", 1);
    setenv("QQ_SANDBOX", "True", 1);
    CHECK_OK(read_block("{\"appId\":\"${}\"}", &settings, &error));
    CHECK_TEXT("77", settings.app_id);
    CHECK_TEXT("fromtheenvironment", settings.secret);
    CHECK(settings.is_sandbox);
    qq_settings_fini(&settings);
    CHECK_OK(read_block("{\"sandbox\":false,\"appId\":\"5\"}", &settings, &error));
    CHECK_TEXT("5", settings.app_id);
    CHECK(!settings.is_sandbox);
    qq_settings_fini(&settings);
    unsetenv("QQ_APP_ID");
    unsetenv("QQ_APP_SECRET");
    unsetenv("QQ_SANDBOX");
}

static void not_configured(void)
{
    static const char *const blocks[] = {"", "{}", "{\"appId\":\"1\"}", "{\"appSecret\":\"1\"}",
                                         "{\"appId\":\"${}\",\"appSecret\":\"a\"}"};
    struct qq_settings settings;
    struct sma_error error;
    for (size_t i = 0; i < SMA_COUNT_OF(blocks); i++) {
        CHECK_ERR(SMA_ERR_NOTFOUND, read_block(blocks[i], &settings, &error));
        qq_settings_fini(&settings);
    }
}

static void wrong_blocks_name_the_member(void)
{
    static const struct
    {
        const char *members, *named;
    } cases[] = {
        {"\"appId\":\"abc\",\"appSecret\":\"a\"", "appId"},
        {"\"appId\":\"1\",\"appSecret\":\"a b\"", "appSecret"},
        {"\"appId\":\"1\",\"mode\":\"webhook\"", "appSecret must be set in webhook mode"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"mode\":\"poll\"", "mode"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"apiRoot\":\"ftp://x\"", "apiRoot"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"tokenUrl\":\"nowhere\"", "tokenUrl"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"gatewayUrl\":\"http://x\"", "gatewayUrl"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"shards\":17", "shards"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"shards\":0", "shards"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"intents\":[]", "intents"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"intents\":[\"all\"]", "intents"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"intents\":[1]", "intents"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"intents\":\"guild_at\"", "intents"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"markdown\":1", "markdown"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"limits\":1",
         "limits must be an object: {\"perSecond\": 50}"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"limits\":{\"perSecond\":-1}", "limits.perSecond"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"groupAccess\":\"me\"", "groupAccess"},
        {"\"appId\":\"1\",\"appSecret\":\"a\",\"attachmentBytesMax\":0", "attachmentBytesMax"},
    };
    struct qq_settings settings;
    struct sma_error error;
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char json[256];
        snprintf(json, sizeof json, "{%s}", cases[i].members);
        CHECK_ERR(SMA_ERR_BADINPUT, read_block(json, &settings, &error));
        if (strstr(error.text, cases[i].named) == NULL)
            fprintf(stderr, "%s\n", error.text);
        CHECK(strstr(error.text, cases[i].named) != NULL);
        qq_settings_fini(&settings);
    }
}

/* A number of an older session must never be used with a newer one. */
static void cursors_belong_to_their_session(void)
{
    uint32_t first = qq_epoch_make(1784000000000, 0), second = qq_epoch_make(1784000000000, first);
    CHECK(first != 0 && second != 0 && first != second);
    int64_t cursor = qq_cursor_make(first, 12345);
    CHECK(cursor > 0);
    CHECK_INT(12345, qq_cursor_seq(first, cursor));
    CHECK_INT(-1, qq_cursor_seq(second, cursor));
    CHECK_INT(-1, qq_cursor_seq(0, cursor));
    CHECK_INT(-1, qq_cursor_seq(first, -1));
    CHECK_INT(0, qq_cursor_seq(first, qq_cursor_make(first, 0)));
    int64_t seq_max = (INT64_C(1) << 40) - 1;
    CHECK(qq_cursor_make(0xfffff, seq_max) > 0);
    CHECK_INT(seq_max, qq_cursor_seq(0xfffff, qq_cursor_make(0xfffff, seq_max)));
    CHECK_INT(1, qq_epoch_make(0, 0)); /* 0 means none */
}

int main(void)
{
    unsetenv("QQ_APP_ID");
    unsetenv("QQ_APP_SECRET");
    unsetenv("QQ_SANDBOX");
    RUN(defaults);
    RUN(everything_given);
    RUN(the_environment_fills_in);
    RUN(not_configured);
    RUN(wrong_blocks_name_the_member);
    RUN(cursors_belong_to_their_session);
    return check_summary();
}
