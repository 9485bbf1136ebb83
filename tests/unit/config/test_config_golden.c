/*
 * Aim: a ship.json that was accepted goes on meaning the same: projects of the earlier program, and
 *      every key of today.
 * Method: tests/golden/config/<case>: ship.json and env are loaded, and all that the program knows
 *         of them is compared with expect. Written by the version before the table of keys. With
 *         WRITE_GOLDEN=1 in the environment it is written.
 */
#include "adapters/feishu/feishu_priv.h"
#include "adapters/qq/qq_priv.h"
#include "adapters/telegram/telegram_priv.h"
#include "sma/buf.h"
#include "sma/config.h"
#include "support/check.h"
#include "support/platform_params.h"

#include <sys/stat.h>
#include <unistd.h>

#define GOLDEN SMA_SOURCE_DIR "/tests/golden/config/"
static char top[] = "/tmp/sma-golden-XXXXXX", dir[64]; /* dir: top/project, its name is seen */
static struct sma_buf out;

static void put(const char *name, const char *text)
{
    sma_buf_printf(&out, "%s %s\n", name, text);
}

static void put_number(const char *name, double number)
{
    sma_buf_printf(&out, "%s %.15g\n", name, number);
}
#define NUMBER(of, member) put_number(#member, (double)(of)->member)
#define TEXT(of, member) put(#member, (of)->member)

static void put_llm(const char *title, const struct sma_config_llm *llm)
{
    put("--", title);
    TEXT(llm, provider);
    TEXT(llm, model);
    TEXT(llm, base_url);
    TEXT(llm, api_key);
    TEXT(llm, api_key_source);
    TEXT(llm, anthropic_version);
    TEXT(llm, effort);
    TEXT(llm, extra_body_json);
    TEXT(llm, proxy);
    NUMBER(llm, api);
    NUMBER(llm, has_temperature);
    NUMBER(llm, temperature);
    NUMBER(llm, has_top_p);
    NUMBER(llm, top_p);
    NUMBER(llm, has_frequency_penalty);
    NUMBER(llm, frequency_penalty);
    NUMBER(llm, has_presence_penalty);
    NUMBER(llm, presence_penalty);
    NUMBER(llm, max_tokens);
    NUMBER(llm, context_tokens);
    NUMBER(llm, is_stream);
    NUMBER(llm, logs_messages);
    NUMBER(llm, connect_ms);
    NUMBER(llm, first_byte_ms);
    NUMBER(llm, idle_ms);
    NUMBER(llm, total_ms);
    NUMBER(llm, has_prices);
    NUMBER(llm, price_input);
    NUMBER(llm, price_cached);
    NUMBER(llm, price_written);
    NUMBER(llm, price_output);
    for (size_t i = 0; i < llm->extra_header_count; i++)
        put("header", llm->extra_headers[i]);
    for (size_t i = 0; i < llm->api_key_count; i++)
        put("key", llm->api_keys[i]);
}

static void put_core(const struct sma_config *config)
{
    TEXT(config, name);
    TEXT(config, version);
    TEXT(config, description);
    TEXT(config, start_host);
    NUMBER(config, start_port);
    TEXT(config, api_token);
    NUMBER(config, agent_concurrency);
    NUMBER(config, queue_is_fair);
    NUMBER(config, queue_mode);
    NUMBER(config, queue_chat_waiting_max);
    NUMBER(config, queue_waiting_max);
    NUMBER(config, durability_is_none);
    NUMBER(config, language);
    NUMBER(config, approvals_expire_s);
    NUMBER(config, llm_patience_s);
    NUMBER(config, retention.turns);
    NUMBER(config, retention.turn_days);
    NUMBER(config, retention.result_hours);
    NUMBER(config, retention.result_mb);
    NUMBER(config, retention.request_log_days);
    NUMBER(config, retention.request_days);
    NUMBER(config, retention.stranger_days);
    NUMBER(config, retention.stranger_count);
    NUMBER(config, retention.archive_days);
    TEXT(config, permissions_json);
}

static void put_telegram(const char *json)
{
    struct telegram_settings settings = {0}, *at = &settings;
    struct sma_error error = {0};
    put_number("read", telegram_settings_read(&settings, json, &error));
    if (settings.token != NULL && settings.token[0] != '\0') {
        TEXT(at, token);
        TEXT(at, api_root);
        TEXT(at, webhook_url);
        TEXT(at, webhook_secret);
        NUMBER(at, is_webhook);
        NUMBER(at, is_cloud);
        NUMBER(at, is_paired);
        NUMBER(at, progress);
        NUMBER(at, per_second);
        NUMBER(at, per_chat_minute);
        NUMBER(at, per_group_minute);
        NUMBER(at, poll_timeout_s);
        NUMBER(at, attachment_bytes_max);
    }
    telegram_settings_fini(&settings);
}

static void put_feishu(const char *json)
{
    struct feishu_settings settings = {0}, *at = &settings;
    struct sma_error error = {0};
    enum sma_err err = feishu_settings_read(&settings, "/project", json, &error);
    put_number("read", err);
    if (err == SMA_ERR_OK) {
        TEXT(at, app_id);
        TEXT(at, app_secret);
        TEXT(at, domain);
        TEXT(at, encrypt_key);
        TEXT(at, verification_token);
        TEXT(at, ca_file);
        NUMBER(at, is_webhook);
        NUMBER(at, progress);
        NUMBER(at, per_second);
        NUMBER(at, per_chat_minute);
        NUMBER(at, per_group_minute);
        NUMBER(at, attachment_bytes_max);
    }
    feishu_settings_fini(&settings);
}

static void put_qq(const char *json)
{
    struct qq_settings settings = {0}, *at = &settings;
    struct sma_error error = {0};
    enum sma_err err = qq_settings_read(&settings, "/project", json, &error);
    put_number("read", err);
    if (err == SMA_ERR_OK) {
        TEXT(at, app_id);
        TEXT(at, secret);
        TEXT(at, api_root);
        TEXT(at, token_url);
        TEXT(at, gateway_url);
        TEXT(at, ca_file);
        NUMBER(at, is_sandbox);
        NUMBER(at, is_webhook);
        NUMBER(at, is_markdown);
        NUMBER(at, is_keyboard);
        NUMBER(at, is_api_default);
        NUMBER(at, shard_count);
        NUMBER(at, intents);
        NUMBER(at, per_second);
        NUMBER(at, per_chat_minute);
        NUMBER(at, attachment_bytes_max);
    }
    qq_settings_fini(&settings);
}

static void put_adapter(const struct sma_config_adapter *adapter)
{
    static const struct
    {
        const char *name;
        void (*put)(const char *json);
    } platforms[] = {{"telegram", put_telegram}, {"feishu", put_feishu}, {"qq", put_qq}};
    put("--", adapter->name);
    NUMBER(adapter, is_enabled);
    NUMBER(adapter, says_enabled);
    TEXT(adapter, json);
    for (size_t i = 0; i < SMA_COUNT_OF(platforms); i++)
        if (strcmp(adapter->name, platforms[i].name) == 0)
            platforms[i].put(adapter->json);
}

static void copy(const char *from, const char *name)
{
    char path[512], command[1100];
    snprintf(path, sizeof path, GOLDEN "%s/%s", from, name);
    snprintf(command, sizeof command, "cp %s %s/%s%s", path, dir,
             strcmp(name, "env") == 0 ? "." : "", name);
    CHECK(system(command) == 0);
}

static char *read_expected(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s/expect", name);
    FILE *file = fopen(path, "r");
    char *bytes = NULL;
    size_t len = 0;
    if (file == NULL)
        return NULL;
    CHECK(getdelim(&bytes, &len, '\0', file) > 0);
    CHECK(fclose(file) == 0);
    return bytes;
}

static void write_expected(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s/expect", name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fwrite(out.ptr, 1, out.len, file) == out.len && fclose(file) == 0);
}

static void check_case(const char *name)
{
    struct sma_config_overrides overrides = {.platforms = platform_params()};
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    copy(name, "ship.json");
    copy(name, "env");
    sma_buf_init(&out, 1 << 20);
    if (sma_config_load(dir, &overrides, NULL, NULL, &config, &error) != SMA_ERR_OK)
        fprintf(stderr, "%s: %s\n", name, error.text);
    CHECK(config != NULL);
    put_core(config);
    for (size_t i = 0; i < config->llm_target_count; i++)
        put_llm("target", config->llm_targets[i]);
    put_llm("judge", config->llm_judge);
    for (size_t i = 0; i < config->adapter_count; i++)
        put_adapter(&config->adapters[i]);
    sma_config_destroy(config);
    if (getenv("WRITE_GOLDEN") != NULL)
        write_expected(name);
    SMA_AUTO(sma_freep) char *expected = read_expected(name);
    if (expected == NULL || strcmp(expected, out.ptr) != 0)
        fprintf(stderr, "%s is\n%s", name, out.ptr);
    CHECK(expected != NULL);
    CHECK_TEXT(expected, out.ptr);
    sma_buf_fini(&out);
}

CASE(documents_go_on_meaning_the_same)
{
    static const char *const names[] = {"first_era", "second_era",      "all_old_keys",
                                        "empty",     "written_as_text", "all_keys"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        check_case(names[i]);
}

int main(void)
{
    CHECK(mkdtemp(top) != NULL);
    snprintf(dir, sizeof dir, "%s/project", top);
    CHECK(mkdir(dir, 0700) == 0);
    char path[256];
    snprintf(path, sizeof path, "%s/Agent.md", dir);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("a", file) >= 0 && fclose(file) == 0);
    check_run_cases(NULL);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", top);
    CHECK(system(command) == 0);
    return check_summary();
}
