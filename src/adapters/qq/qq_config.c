/* qq_config.c — adapters.qq: read once, checked whole, errors that name file, key and remedy. */
#include "qq_priv.h"

#include "adapters/common/settings.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <strings.h>

#define APP_ID_LEN_MAX 32
#define SECRET_LEN_MAX 512
#define PATH_BYTES_MAX 4096

static const struct intent
{
    const char *name;
    uint32_t mask;
} intents[] = {
    {"group_and_c2c", UINT32_C(1) << 25}, {"interaction", UINT32_C(1) << 26},
    {"guild_at", UINT32_C(1) << 30},      {"direct", UINT32_C(1) << 12},
    {"guild_all", UINT32_C(1) << 9},
};
#define INTENTS_DEFAULT \
    (UINT32_C(1) << 25 | UINT32_C(1) << 26 | UINT32_C(1) << 30 | UINT32_C(1) << 12)

static SMA_CHECKED enum sma_err replace(char **text, const char *by)
{
    char *copy = strdup(by);
    if (copy == NULL)
        return SMA_ERR_NOMEM;
    sma_settings_wipe(text);
    *text = copy;
    return SMA_ERR_OK;
}

/* A placeholder whose variable is not set counts as not given. */
static SMA_CHECKED enum sma_err fall_back(char **text, const char *value)
{
    bool is_given = (*text)[0] != '\0' && (*text)[0] != '$';
    return is_given ? SMA_ERR_OK : replace(text, value == NULL ? "" : value);
}

/* -- credentials ------------------------------------------------------------------------------- */
static bool is_decimal(const char *text)
{
    size_t len = strspn(text, "0123456789");
    return len > 0 && len <= APP_ID_LEN_MAX && text[len] == '\0';
}

static bool is_plain(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7f)
            return false;
    return strlen(text) <= SECRET_LEN_MAX;
}

static SMA_CHECKED enum sma_err read_credentials(const struct sma_settings *block,
                                                 struct qq_settings *settings)
{
    SMA_TRY(sma_settings_text(block, "appId", &settings->app_id));
    SMA_TRY(sma_settings_text(block, "appSecret", &settings->secret));
    SMA_TRY(fall_back(&settings->app_id, getenv("QQ_APP_ID")));
    SMA_TRY(fall_back(&settings->secret, getenv("QQ_APP_SECRET")));
    if (settings->app_id[0] == '\0' || (settings->secret[0] == '\0' && !settings->is_webhook))
        return SMA_ERR_NOTFOUND; /* not configured, as in the old program */
    if (settings->secret[0] == '\0')
        return sma_settings_refuse(block, "appSecret",
                                   "must be set in webhook mode: without it anybody could send "
                                   "events. Copy it from the platform's console");
    if (!is_decimal(settings->app_id))
        return sma_settings_refuse(block, "appId",
                                   "is not a bot's AppID: copy it from the platform's console, it "
                                   "is a number like 102000001");
    if (!is_plain(settings->secret))
        return sma_settings_refuse(block, "appSecret",
                                   "holds blanks or characters no secret has: copy it from the "
                                   "platform's console again");
    return SMA_ERR_OK;
}

/* -- addresses --------------------------------------------------------------------------------- */
static bool read_is_sandbox(const struct sma_settings *block)
{
    const json_t *value = json_object_get(block->root, "sandbox");
    const char *variable = getenv("QQ_SANDBOX");
    if (json_is_boolean(value))
        return json_is_true(value);
    if (json_is_string(value) && strcasecmp(json_string_value(value), "true") == 0)
        return true;
    return variable != NULL && strcasecmp(variable, "true") == 0;
}

static bool is_socket_url(const char *url)
{
    size_t skip = strncmp(url, "wss://", 6) == 0 ? 6 : strncmp(url, "ws://", 5) == 0 ? 5 : 0;
    return skip > 0 && url[skip] != '\0' && url[skip] != '/' && is_plain(url);
}

static SMA_CHECKED enum sma_err read_addresses(const struct sma_settings *block,
                                               struct qq_settings *settings)
{
    settings->is_sandbox = read_is_sandbox(block);
    SMA_TRY(sma_settings_text(block, "apiRoot", &settings->api_root));
    SMA_TRY(sma_settings_text(block, "tokenUrl", &settings->token_url));
    SMA_TRY(sma_settings_text(block, "gatewayUrl", &settings->gateway_url));
    settings->is_api_default = settings->api_root[0] == '\0';
    SMA_TRY(fall_back(&settings->api_root,
                      settings->is_sandbox ? QQ_API_ROOT_SANDBOX : QQ_API_ROOT_DEFAULT));
    SMA_TRY(fall_back(&settings->token_url, QQ_TOKEN_URL_DEFAULT));
    if (!sma_settings_is_http_url(settings->api_root))
        return sma_settings_refuse(block, "apiRoot",
                                   "must be an http:// or https:// URL without query, "
                                   "e.g. " QQ_API_ROOT_DEFAULT);
    if (!sma_settings_is_http_url(settings->token_url))
        return sma_settings_refuse(block, "tokenUrl",
                                   "must be an http:// or https:// URL without query, "
                                   "e.g. " QQ_TOKEN_URL_DEFAULT);
    if (settings->gateway_url[0] != '\0' && !is_socket_url(settings->gateway_url))
        return sma_settings_refuse(block, "gatewayUrl",
                                   "must be a ws:// or wss:// URL; leave it out to let the "
                                   "platform name its gateway");
    sma_settings_trim_slashes(settings->api_root);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_ca_file(const struct sma_settings *block,
                                             struct qq_settings *settings, const char *project_dir)
{
    enum sma_err err = sma_settings_text(block, "caFile", &settings->ca_file);
    if (err != SMA_ERR_OK || settings->ca_file[0] == '\0' || settings->ca_file[0] == '/')
        return err;
    struct sma_buf full; /* relative to the project */
    sma_buf_init(&full, PATH_BYTES_MAX);
    sma_buf_printf(&full, "%s/%s", project_dir, settings->ca_file);
    err = full.err == SMA_ERR_TOOBIG ? sma_settings_refuse(block, "caFile", "is too long")
          : full.err != SMA_ERR_OK   ? full.err
                                     : replace(&settings->ca_file, full.ptr);
    sma_buf_fini(&full);
    return err;
}

/* -- the rest ---------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err read_intents(const struct sma_settings *block,
                                             struct qq_settings *settings)
{
    static const char remedy[] = "must be a list of \"group_and_c2c\", \"interaction\", "
                                 "\"guild_at\", \"direct\", \"guild_all\"";
    const json_t *list = json_object_get(block->root, "intents"), *item;
    size_t index;
    settings->intents = list == NULL ? INTENTS_DEFAULT : 0;
    if (list == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(list))
        return sma_settings_refuse(block, "intents", remedy);
    json_array_foreach((json_t *)(uintptr_t)list, index, item)
    {
        const char *name = json_string_value(item);
        size_t i = 0;
        while (i < SMA_COUNT_OF(intents) && (name == NULL || strcmp(intents[i].name, name) != 0))
            i++;
        if (i == SMA_COUNT_OF(intents))
            return sma_settings_refuse(block, "intents", remedy);
        settings->intents |= intents[i].mask;
    }
    return settings->intents == 0 ? sma_settings_refuse(block, "intents", remedy) : SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_switches(const struct sma_settings *block,
                                              struct qq_settings *settings)
{
    static const char *const modes[] = {"websocket", "webhook", NULL};
    static const char *const accesses[] = {"initiator_or_admin", "anyone", NULL};
    unsigned mode = 0, access = 0;
    enum sma_err err = sma_settings_word(block, "mode", modes, &mode);
    if (err == SMA_ERR_OK) /* for the core; only checked here */
        err = sma_settings_word(block, "groupAccess", accesses, &access);
    const json_t *markdown = json_object_get(block->root, "markdown");
    if (err == SMA_ERR_OK && markdown != NULL && !json_is_boolean(markdown))
        err = sma_settings_refuse(block, "markdown", "must be true or false");
    const json_t *keyboard = json_object_get(block->root, "keyboard");
    if (err == SMA_ERR_OK && keyboard != NULL && !json_is_boolean(keyboard))
        err = sma_settings_refuse(block, "keyboard", "must be true or false");
    settings->is_keyboard = keyboard == NULL || json_is_true(keyboard);
    settings->is_webhook = mode == 1;
    settings->is_markdown = markdown == NULL || json_is_true(markdown);
    return err;
}

static SMA_CHECKED enum sma_err read_numbers(const struct sma_settings *block,
                                             struct qq_settings *settings)
{
    int64_t second = 50, chat = 20, shards = 1, bytes = SMA_ATTACHMENT_BYTES_MAX;
    int64_t window_ms = SMA_FOLLOWUP_WINDOW_MS;
    enum sma_err err = sma_settings_number(block, "limits.perSecond", 0, 100000, &second);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "limits.perChatPerMinute", 0, 1000000, &chat);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "shards", 1, QQ_SHARD_COUNT_MAX, &shards);
    if (err == SMA_ERR_OK)
        err = sma_settings_number(block, "attachmentBytesMax", 1, INT64_C(2147483648), &bytes);
    if (err == SMA_ERR_OK) /* for the core; only checked here */
        err = sma_settings_number(block, "followupWindowMs", 0, INT64_C(1000000000000), &window_ms);
    settings->per_second = (uint32_t)second;
    settings->per_chat_minute = (uint32_t)chat;
    settings->shard_count = (unsigned)shards;
    settings->attachment_bytes_max = (size_t)bytes;
    return err;
}

enum sma_err qq_settings_read(struct qq_settings *settings, const char *project_dir,
                              const char *json, struct sma_error *error)
{
    struct sma_settings block;
    enum sma_err err = sma_settings_open(&block, "qq", json, error);
    if (err != SMA_ERR_OK)
        return err;
    err = read_switches(&block, settings);
    if (err == SMA_ERR_OK)
        err = read_credentials(&block, settings);
    if (err == SMA_ERR_OK)
        err = read_addresses(&block, settings);
    if (err == SMA_ERR_OK)
        err = read_ca_file(&block, settings, project_dir);
    if (err == SMA_ERR_OK)
        err = read_intents(&block, settings);
    if (err == SMA_ERR_OK)
        err = read_numbers(&block, settings);
    sma_settings_close(&block);
    if (err == SMA_ERR_NOMEM)
        return sma_fail(error, SMA_ERR_NOMEM, "qq adapter: out of memory");
    return err;
}

void qq_settings_fini(struct qq_settings *settings)
{
    char **texts[] = {&settings->app_id,    &settings->secret,      &settings->api_root,
                      &settings->token_url, &settings->gateway_url, &settings->ca_file};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        sma_settings_wipe(texts[i]);
}
