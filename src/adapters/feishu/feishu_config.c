/* feishu_config.c — the block adapters.feishu as plain values. */
#include "feishu_priv.h"

#include "adapters/common/settings.h"
#include "adapters/common/word.h"

#include <stdio.h>
#include <stdlib.h>

#define PER_SECOND 50       /* an app's calls of one kind */
#define PER_CHAT_MINUTE 300 /* 5 a second to one user or into one group */
#define SECRET_BYTES_MAX 512

/* Of the block, or of the environment. A placeholder without a variable has left the block, or
 * stands there as it is. */
static SMA_CHECKED enum sma_err read_credential(const struct sma_settings *block, const char *key,
                                                const char *variable, char **ret_text)
{
    enum sma_err err = sma_settings_text(block, key, ret_text);
    if (err != SMA_ERR_OK || ((*ret_text)[0] != '\0' && (*ret_text)[0] != '$'))
        return err;
    const char *found = getenv(variable);
    char *copy = strdup(found == NULL ? "" : found);
    if (copy == NULL)
        return sma_fail(block->error, SMA_ERR_NOMEM, "out of memory");
    sma_settings_wipe(ret_text);
    *ret_text = copy;
    return SMA_ERR_OK;
}

static bool is_word(const char *text)
{
    return strlen(text) <= SECRET_BYTES_MAX && sma_adapter_is_visible(sma_str(text));
}

static SMA_CHECKED enum sma_err read_login(struct feishu_settings *settings,
                                           const struct sma_settings *block)
{
    SMA_TRY(read_credential(block, "appId", "FEISHU_APP_ID", &settings->app_id));
    SMA_TRY(read_credential(block, "appSecret", "FEISHU_APP_SECRET", &settings->app_secret));
    if (settings->app_id[0] == '\0' || settings->app_secret[0] == '\0')
        return SMA_ERR_NOTFOUND; /* not configured, as in the old program */
    if (!is_word(settings->app_id))
        return sma_settings_refuse(
            block, "appId",
            "is not an app id: copy it from the developer console, it looks like cli_a1b2...");
    if (!is_word(settings->app_secret))
        return sma_settings_refuse(block, "appSecret",
                                   "is not an app secret: copy it from the developer console");
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_domain(struct feishu_settings *settings,
                                            const struct sma_settings *block)
{
    SMA_TRY(sma_settings_text(block, "domain", &settings->domain));
    if (settings->domain[0] == '\0') {
        free(settings->domain);
        settings->domain = strdup(FEISHU_DOMAIN_DEFAULT);
        if (settings->domain == NULL)
            return sma_fail(block->error, SMA_ERR_NOMEM, "out of memory");
    }
    if (!sma_settings_is_http_url(settings->domain))
        return sma_settings_refuse(
            block, "domain",
            "must be an http:// or https:// URL without query: " FEISHU_DOMAIN_DEFAULT
            ", or https://open.larksuite.com for Lark");
    sma_settings_trim_slashes(settings->domain);
    return SMA_ERR_OK;
}

/* Relative to the project. */
static SMA_CHECKED enum sma_err read_ca_file(struct feishu_settings *settings,
                                             const char *project_dir,
                                             const struct sma_settings *block)
{
    enum sma_err err = sma_settings_text(block, "caFile", &settings->ca_file);
    if (err != SMA_ERR_OK || settings->ca_file[0] == '\0' || settings->ca_file[0] == '/')
        return err;
    char *full = NULL;
    if (asprintf(&full, "%s/%s", project_dir, settings->ca_file) < 0)
        return sma_fail(block->error, SMA_ERR_NOMEM, "out of memory");
    free(settings->ca_file);
    settings->ca_file = full;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_words(struct feishu_settings *settings,
                                           const struct sma_settings *block)
{
    static const char *const modes[] = {"websocket", "webhook", NULL};
    static const char *const accesses[] = {"initiator_or_admin", "anyone", NULL};
    static const char *const progresses[] = {"auto", "card", "off", NULL};
    unsigned mode = 0, access = 0, progress = FEISHU_PROGRESS_AUTO;
    enum sma_err err = sma_settings_word(block, "mode", modes, &mode);
    if (err == SMA_ERR_OK) /* for the core; only checked here */
        err = sma_settings_word(block, "groupAccess", accesses, &access);
    if (err == SMA_ERR_OK)
        err = sma_settings_word(block, "progress", progresses, &progress);
    settings->is_webhook = mode == 1;
    settings->progress = (uint8_t)progress;
    return err;
}

/* Requests come from anywhere: without a secret everybody could speak as anybody. */
static SMA_CHECKED enum sma_err read_secrets(struct feishu_settings *settings,
                                             const struct sma_settings *block)
{
    enum sma_err err = sma_settings_text(block, "encryptKey", &settings->encrypt_key);
    if (err == SMA_ERR_OK)
        err = sma_settings_text(block, "verificationToken", &settings->verification_token);
    if (err != SMA_ERR_OK || !settings->is_webhook)
        return err;
    if (settings->encrypt_key[0] == '$' || settings->verification_token[0] == '$')
        return sma_settings_refuse(
            block, settings->encrypt_key[0] == '$' ? "encryptKey" : "verificationToken",
            "names a variable that is not set: put it into .env");
    if (settings->encrypt_key[0] == '\0' && settings->verification_token[0] == '\0')
        return sma_settings_refuse(
            block, "encryptKey",
            "must be set in webhook mode (or verificationToken, which is weaker): copy it from "
            "the developer console, Events and Callbacks, Encryption Strategy. Without one "
            "anybody could send events");
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_numbers(struct feishu_settings *settings,
                                             const struct sma_settings *block)
{
    int64_t second = PER_SECOND, chat = PER_CHAT_MINUTE, group = PER_CHAT_MINUTE,
            bytes = SMA_ATTACHMENT_BYTES_MAX, window_ms = SMA_FOLLOWUP_WINDOW_MS;
    enum sma_err err = sma_settings_number(block, "limits.perSecond", 0, 100000, &second);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "limits.perChatPerMinute", 0, 1000000, &chat);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "limits.perGroupPerMinute", 0, 1000000, &group);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "attachmentBytesMax", 1, INT64_C(2147483648), &bytes);
    if (err == SMA_ERR_OK) /* for the core; only checked here */
        err = sma_settings_number(block, "followupWindowMs", 0, INT64_C(1000000000000), &window_ms);
    settings->per_second = (uint32_t)second;
    settings->per_chat_minute = (uint32_t)chat;
    settings->per_group_minute = (uint32_t)group;
    settings->attachment_bytes_max = (size_t)bytes;
    return err;
}

enum sma_err feishu_settings_read(struct feishu_settings *settings, const char *project_dir,
                                  const char *json, struct sma_error *error)
{
    struct sma_settings block;
    enum sma_err err = sma_settings_open(&block, "feishu", json, error);
    if (err != SMA_ERR_OK)
        return err;
    err = read_login(settings, &block);
    if (err == SMA_ERR_OK)
        err = read_domain(settings, &block);
    if (err == SMA_ERR_OK)
        err = read_ca_file(settings, project_dir, &block);
    if (err == SMA_ERR_OK)
        err = read_words(settings, &block);
    if (err == SMA_ERR_OK)
        err = read_secrets(settings, &block);
    if (err == SMA_ERR_OK)
        err = read_numbers(settings, &block);
    sma_settings_close(&block);
    return err;
}

void feishu_settings_fini(struct feishu_settings *settings)
{
    sma_settings_wipe(&settings->app_secret);
    sma_settings_wipe(&settings->encrypt_key);
    sma_settings_wipe(&settings->verification_token);
    free(settings->app_id);
    free(settings->domain);
    free(settings->ca_file);
    *settings = (struct feishu_settings){0};
}
