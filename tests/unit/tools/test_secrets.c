/*
 * Aim: a known value never leaves, whatever form it has, however the text is cut into pieces;
 * ordinary words stay.
 * Method: a set made of a configuration; texts whole, in every two pieces, and byte by byte.
 */
#include "runtime/secrets/secrets.h"
#include "support/check.h"

#include <unistd.h>

static const char *const dotenv_names[] = {"CANARY_ONE", "NODE_ENV", "SOME_PIN", "APP_MODEL",
                                           "DB_PASS",    "ABSENT",   "PEM_TEXT"};
static const char pem[] = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n-----END KEY-----";

static struct sma_secrets *create(void)
{
    setenv("CANARY_ONE", "c4nary \"quoted\"/slash", 1);
    setenv("NODE_ENV", "production", 1);
    setenv("SOME_PIN", "1234567", 1);
    setenv("APP_MODEL", "gpt-4o-mini", 1);
    setenv("DB_PASS", "letmein", 1);
    setenv("PEM_TEXT", pem, 1);
    setenv("OUTSIDE_API_KEY", "key-of-the-environment", 1);
    setenv("OUTSIDE_KEY_FILE", "/etc/key-of-the-environment-file", 1);
    static const char *const keys[] = {"sk-of-a-fallback-1", "sk-of-a-fallback-2"};
    static const char *const headers[] = {"Authorization: Bearer header-secret-9"};
    static const struct sma_config_llm fallback = {
        .api_key = "sk-of-a-fallback-1",
        .api_keys = keys,
        .api_key_count = 2,
        .extra_headers = headers,
        .extra_header_count = 1,
        .proxy = "http://user:proxy-pass-7@proxy.example:3128",
        .extra_body_json = "{\"metadata\":{\"api_token\":\"body-token-5\"},\"user\":\"plainly\"}",
    };
    static const struct sma_config config = {
        .llm_targets = {&fallback},
        .llm_target_count = 1,
        .state_dir = "/nonexistent",
        .api_token = "token-abc",
        .llm = {.api_key = "sk-1234567890"},
        .dotenv_names = dotenv_names,
        .dotenv_count = SMA_COUNT_OF(dotenv_names),
        .adapters = {{.name = "qq",
                      .json = "{\"appSecret\":\"qq-app-sec\",\"appId\":\"1024000\"}"}},
        .adapter_count = 1,
    };
    struct sma_secrets *secrets;
    CHECK_OK(sma_secrets_create(&config, &secrets));
    return secrets;
}

static const struct
{
    const char *text, *shown;
} rows[] = {
    {"", ""},
    {"nothing here", "nothing here"},
    {"key sk-1234567890.", "key [redacted]."},
    {"sk-1234567890sk-1234567890", "[redacted][redacted]"},
    {"sk-123x", "sk-123x"},
    {"cut at the end: sk-123", "cut at the end: [redacted]"},
    {"cut at the end: sk-12", "cut at the end: sk-12"},
    {"sk-sk-1234567890", "sk-[redacted]"},
    {"c4nary \"quoted\"/slash", "[redacted]"},
    {"{\"x\":\"c4nary \\\"quoted\\\"/slash\"}", "{\"x\":\"[redacted]\"}"},
    {"?q=c4nary%20%22quoted%22%2Fslash&", "?q=[redacted]&"},
    {"in production with gpt-4o-mini at 1234567", "in production with gpt-4o-mini at 1234567"},
    {"letmein please", "[redacted] please"},
    {"MIIEvQIBADANBgkqhkiG9w0 alone, short", "[redacted] alone, short"},
    {"key-of-the-environment", "[redacted]"},
    {"/etc/passwd", "/etc/passwd"},
    {"qq-app-sec 1024000 token-abc", "[redacted] 1024000 [redacted]"},
    {"sk-of-a-fallback-1, sk-of-a-fallback-2.", "[redacted], [redacted]."},
    {"Bearer header-secret-9;", "[redacted];"},
    {"basic header-secret-9;", "basic [redacted];"},
    {"user:proxy-pass-7@proxy.example", "user:[redacted]@proxy.example"},
    {"body-token-5 plainly https://example.org/app", "[redacted] plainly https://example.org/app"},
};

ENDING(sma_secrets_destroy, struct sma_secrets)

CASE(values_are_replaced)
{
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = create();
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf out;
        sma_buf_init(&out, 10000);
        sma_secrets_put(secrets, &out, sma_str(rows[i].text));
        CHECK_STR(rows[i].shown, sma_buf_str(&out));
        CHECK((strcmp(rows[i].text, rows[i].shown) != 0) ==
              sma_secrets_has(secrets, sma_str(rows[i].text)));
        sma_buf_fini(&out);
    }
}

CASE(streams_give_the_same)
{
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = create();
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_str text = sma_str(rows[i].text);
        for (size_t step = 1; step <= text.len + 1; step++) {
            struct sma_secrets_stream stream;
            struct sma_buf out;
            sma_secrets_stream_init(&stream);
            sma_buf_init(&out, 10000);
            for (size_t at = 0; at < text.len; at += step) {
                size_t len = text.len - at < step ? text.len - at : step;
                sma_secrets_stream_put(secrets, &stream, &out,
                                       (struct sma_str){text.ptr + at, len});
                CHECK(stream.held.len <= SMA_SECRETS_BYTES_MAX);
            }
            sma_secrets_stream_end(secrets, &stream, &out);
            CHECK_STR(rows[i].shown, sma_buf_str(&out));
            sma_buf_fini(&out);
            sma_secrets_stream_fini(&stream);
        }
    }
}

CASE(long_values_are_replaced_in_pieces)
{
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = create();
    size_t len = 3 * SMA_SECRETS_BYTES_MAX + 500;
    char *value = malloc(len + 1);
    CHECK(value != NULL);
    for (size_t i = 0; i < len; i++)
        value[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGH"[(i * i + i / 7) % 34];
    value[len] = '\0';
    CHECK_OK(sma_secrets_add(secrets, value));
    struct sma_buf out;
    sma_buf_init(&out, 10000);
    sma_secrets_put(secrets, &out, (struct sma_str){value, len});
    CHECK_STR("[redacted][redacted][redacted][redacted]", sma_buf_str(&out));
    sma_buf_fini(&out);
    free(value);
}

CASE(the_set_has_a_limit)
{
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = create();
    enum sma_err err = SMA_ERR_OK;
    int count = 0;
    for (; err == SMA_ERR_OK && count <= SMA_SECRETS_COUNT_MAX; count++) {
        char value[32];
        snprintf(value, sizeof value, "value-%d-x", count);
        err = sma_secrets_add(secrets, value);
    }
    CHECK_INT(SMA_ERR_FULL, err);
    CHECK(count > SMA_SECRETS_COUNT_MAX / 2);
    CHECK(sma_secrets_has(secrets, SMA_STR("value-7-x")));
    CHECK_OK(sma_secrets_add(secrets, "value-7-x"));
    CHECK_OK(sma_secrets_add(secrets, "short"));
    CHECK(!sma_secrets_has(secrets, SMA_STR("short")));
}

CASES_MAIN
