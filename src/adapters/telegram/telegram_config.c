/* telegram_config.c — the block adapters.telegram as plain values. */
#include "telegram_priv.h"

#include "adapters/common/settings.h"

#include <jansson.h>
#include <stdlib.h>

#define SECRET_LEN_MIN 16
#define SECRET_LEN_MAX 256
#define POLL_TIMEOUT_DEFAULT_S 30
#define POLL_TIMEOUT_MAX_S 50 /* the platform cuts there */

static bool is_made_of(const char *text, const char *others)
{
    for (; *text != '\0'; text++) {
        bool is_plain = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
                        (*text >= 'A' && *text <= 'Z');
        if (!is_plain && strchr(others, *text) == NULL)
            return false;
    }
    return true;
}

static SMA_CHECKED enum sma_err check_token(const struct telegram_settings *settings,
                                            const struct sma_settings *block)
{
    if (settings->token[0] == '\0' || settings->token[0] == '$')
        return SMA_ERR_NOTFOUND; /* not configured, as in the old program */
    if (strlen(settings->token) > 200 || !is_made_of(settings->token, ":_-"))
        return sma_settings_refuse(
            block, "botToken",
            "is not a bot token: copy it from @BotFather, it looks like 123456789:AAE...");
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err check_root(struct telegram_settings *settings,
                                           const struct sma_settings *block)
{
    if (settings->api_root[0] == '\0') {
        free(settings->api_root);
        settings->api_root = strdup(TELEGRAM_CLOUD_ROOT);
        if (settings->api_root == NULL)
            return sma_fail(block->error, SMA_ERR_NOMEM, "out of memory");
    }
    if (!sma_settings_is_http_url(settings->api_root))
        return sma_settings_refuse(
            block, "apiRoot",
            "must be an http:// or https:// URL without query, e.g. " TELEGRAM_CLOUD_ROOT);
    sma_settings_trim_slashes(settings->api_root);
    settings->is_cloud = strcmp(settings->api_root, TELEGRAM_CLOUD_ROOT) == 0;
    return SMA_ERR_OK;
}

/* Every text first: a wrong type is told although the token is missing. */
static SMA_CHECKED enum sma_err read_texts(struct telegram_settings *settings,
                                           const struct sma_settings *block)
{
    enum sma_err err = sma_settings_text(block, "botToken", &settings->token);
    if (err == SMA_ERR_OK)
        err = sma_settings_text(block, "apiRoot", &settings->api_root);
    if (err == SMA_ERR_OK)
        err = sma_settings_text(block, "webhookUrl", &settings->webhook_url);
    if (err == SMA_ERR_OK)
        err = sma_settings_text(block, "webhookSecret", &settings->webhook_secret);
    if (err == SMA_ERR_OK)
        err = check_token(settings, block);
    return err == SMA_ERR_OK ? check_root(settings, block) : err;
}

static SMA_CHECKED enum sma_err check_webhook(const struct telegram_settings *settings,
                                              const struct sma_settings *block)
{
    if (!settings->is_webhook)
        return SMA_ERR_OK;
    size_t len = strlen(settings->webhook_secret);
    if (len < SECRET_LEN_MIN || len > SECRET_LEN_MAX || !is_made_of(settings->webhook_secret, "_-"))
        return sma_settings_refuse(
            block, "webhookSecret",
            "must be set in webhook mode: 16 to 256 characters of A-Z a-z 0-9 _ -, for example "
            "from `openssl rand -hex 32`");
    if (settings->webhook_url[0] == '\0')
        return SMA_ERR_OK;
    if (!sma_settings_is_http_url(settings->webhook_url) ||
        (settings->is_cloud && settings->webhook_url[4] != 's'))
        return sma_settings_refuse(
            block, "webhookUrl",
            "must be an https:// URL that reaches this service's /webhooks/telegram; leave it out "
            "if you set the webhook yourself");
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_words(struct telegram_settings *settings,
                                           const struct sma_settings *block)
{
    static const char *const modes[] = {"polling", "webhook", NULL};
    static const char *const backlogs[] = {"answer", "record", NULL};
    static const char *const accesses[] = {"initiator_or_admin", "anyone", NULL};
    static const char *const progresses[] = {"auto", "typing", "off", NULL};
    unsigned mode = 0, backlog = 0, access = 0, progress = TELEGRAM_PROGRESS_AUTO;
    enum sma_err err = sma_settings_word(block, "mode", modes, &mode);
    if (err == SMA_ERR_OK)
        err = sma_settings_word(block, "backlog", backlogs, &backlog);
    if (err == SMA_ERR_OK) /* for the core; only checked here */
        err = sma_settings_word(block, "groupAccess", accesses, &access);
    if (err == SMA_ERR_OK)
        err = sma_settings_word(block, "progress", progresses, &progress);
    settings->is_webhook = mode == 1;
    settings->backlog_records = backlog == 1;
    const char *opening = json_string_value(json_object_get(block->root, "access"));
    settings->is_paired = opening == NULL || strcmp(opening, "anyone") != 0;
    settings->progress = (uint8_t)progress;
    return err;
}

static SMA_CHECKED enum sma_err read_numbers(struct telegram_settings *settings,
                                             const struct sma_settings *block)
{
    int64_t second = 30, chat = 60, group = 20, poll_s = POLL_TIMEOUT_DEFAULT_S,
            bytes = SMA_ATTACHMENT_BYTES_MAX, window_ms = SMA_FOLLOWUP_WINDOW_MS;
    enum sma_err err = sma_settings_number(block, "limits.perSecond", 0, 100000, &second);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "limits.perChatPerMinute", 0, 1000000, &chat);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "limits.perGroupPerMinute", 0, 1000000, &group);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "pollTimeoutS", 1, POLL_TIMEOUT_MAX_S, &poll_s);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "attachmentBytesMax", 1, INT64_C(2147483648), &bytes);
    if (err == SMA_ERR_OK) /* for the core; only checked here */
        err = sma_settings_number(block, "followupWindowMs", 0, INT64_C(1000000000000), &window_ms);
    settings->per_second = (uint32_t)second;
    settings->per_chat_minute = (uint32_t)chat;
    settings->per_group_minute = (uint32_t)group;
    settings->poll_timeout_s = (uint32_t)poll_s;
    settings->attachment_bytes_max = (size_t)bytes;
    return err;
}

enum sma_err telegram_settings_read(struct telegram_settings *settings, const char *json,
                                    struct sma_error *error)
{
    struct sma_settings block;
    enum sma_err err = sma_settings_open(&block, "telegram", json, error);
    if (err != SMA_ERR_OK)
        return err;
    err = read_texts(settings, &block);
    if (err == SMA_ERR_OK)
        err = read_words(settings, &block);
    if (err == SMA_ERR_OK)
        err = read_numbers(settings, &block);
    if (err == SMA_ERR_OK)
        err = check_webhook(settings, &block);
    sma_settings_close(&block);
    return err;
}

void telegram_settings_fini(struct telegram_settings *settings)
{
    sma_settings_wipe(&settings->token);
    sma_settings_wipe(&settings->webhook_secret);
    free(settings->api_root);
    free(settings->webhook_url);
    *settings = (struct telegram_settings){0};
}
