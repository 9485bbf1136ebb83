/* telegram_config.c — the block adapters.telegram as plain values. */
#include "telegram_priv.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

#define SECRET_LEN_MIN 16
#define SECRET_LEN_MAX 256
#define POLL_TIMEOUT_DEFAULT_S 30
#define POLL_TIMEOUT_MAX_S 50 /* the platform cuts there */

static enum sma_err refuse(struct sma_error *error, const char *key, const char *remedy)
{
    return sma_fail(error, SMA_ERR_BADINPUT, "ship.json: adapters.telegram.%s %s", key, remedy);
}

static SMA_CHECKED enum sma_err read_text(const json_t *root, const char *key, char **ret_text,
                                          struct sma_error *error)
{
    const json_t *value = json_object_get(root, key);
    if (value != NULL && !json_is_string(value) && !json_is_null(value))
        return refuse(error, key, "must be a string");
    const char *text = json_string_value(value);
    *ret_text = strdup(text == NULL ? "" : text);
    return *ret_text == NULL ? sma_fail(error, SMA_ERR_NOMEM, "out of memory") : SMA_ERR_OK;
}

/* One of the words; *ret_index untouched when the member is absent. */
static SMA_CHECKED enum sma_err read_word(const json_t *root, const char *key,
                                          const char *const *words, unsigned *ret_index,
                                          struct sma_error *error)
{
    const json_t *value = json_object_get(root, key);
    if (value == NULL)
        return SMA_ERR_OK;
    const char *text = json_string_value(value);
    for (unsigned i = 0; text != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0) {
            *ret_index = i;
            return SMA_ERR_OK;
        }
    struct sma_buf remedy;
    sma_buf_init(&remedy, 200);
    sma_buf_put_text(&remedy, "must be ");
    for (unsigned i = 0; words[i] != NULL; i++)
        sma_buf_printf(&remedy, "%s\"%s\"", i == 0 ? "" : " or ", words[i]);
    enum sma_err err = refuse(error, key, remedy.err == SMA_ERR_OK ? remedy.ptr : "is not known");
    sma_buf_fini(&remedy);
    return err;
}

/* A placeholder yields a string, so a number written in one is a number too. */
static SMA_CHECKED enum sma_err read_number(const json_t *object, const char *key,
                                            const char *shown, int64_t low, int64_t high,
                                            int64_t *ret_number, struct sma_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL)
        return SMA_ERR_OK;
    int64_t number = json_integer_value(value);
    struct sma_str text = {json_string_value(value), json_string_length(value)};
    bool is_number =
        json_is_integer(value) ||
        (json_is_string(value) && sma_parse_i64(text, INT64_MIN, INT64_MAX, &number) == SMA_ERR_OK);
    if (json_is_real(value) && json_real_value(value) >= 0 && json_real_value(value) < 9e15) {
        number = (int64_t)json_real_value(value);
        is_number = (double)number == json_real_value(value);
    }
    if (!is_number || number < low || number > high)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "ship.json: adapters.telegram.%s must be a whole number from %lld to %lld",
                        shown, (long long)low, (long long)high);
    *ret_number = number;
    return SMA_ERR_OK;
}

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

static bool is_http_url(const char *url)
{
    size_t skip = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    if (skip == 0 || url[skip] == '\0' || url[skip] == '/')
        return false;
    for (const char *at = url; *at != '\0'; at++)
        if ((unsigned char)*at <= 0x20 || *at == 0x7f)
            return false;
    return strlen(url) < 1024 && strchr(url, '?') == NULL && strchr(url, '#') == NULL;
}

static SMA_CHECKED enum sma_err check_texts(struct telegram_settings *settings,
                                            struct sma_error *error)
{
    if (settings->token[0] == '\0' || settings->token[0] == '$')
        return SMA_ERR_NOTFOUND; /* not configured, as in the old program */
    if (strlen(settings->token) > 200 || !is_made_of(settings->token, ":_-"))
        return refuse(
            error, "botToken",
            "is not a bot token: copy it from @BotFather, it looks like 123456789:AAE...");
    if (settings->api_root[0] == '\0') {
        free(settings->api_root);
        settings->api_root = strdup(TELEGRAM_CLOUD_ROOT);
        if (settings->api_root == NULL)
            return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    }
    if (!is_http_url(settings->api_root))
        return refuse(
            error, "apiRoot",
            "must be an http:// or https:// URL without query, e.g. " TELEGRAM_CLOUD_ROOT);
    for (size_t len = strlen(settings->api_root); len > 0 && settings->api_root[len - 1] == '/';
         len--)
        settings->api_root[len - 1] = '\0';
    settings->is_cloud = strcmp(settings->api_root, TELEGRAM_CLOUD_ROOT) == 0;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err check_webhook(const struct telegram_settings *settings,
                                              struct sma_error *error)
{
    if (!settings->is_webhook)
        return SMA_ERR_OK;
    size_t len = strlen(settings->webhook_secret);
    if (len < SECRET_LEN_MIN || len > SECRET_LEN_MAX || !is_made_of(settings->webhook_secret, "_-"))
        return refuse(error, "webhookSecret",
                      "must be set in webhook mode: 16 to 256 characters of A-Z a-z 0-9 _ -, for "
                      "example from "
                      "`openssl rand -hex 32`");
    if (settings->webhook_url[0] == '\0')
        return SMA_ERR_OK;
    if (!is_http_url(settings->webhook_url) ||
        (settings->is_cloud && settings->webhook_url[4] != 's'))
        return refuse(error, "webhookUrl",
                      "must be an https:// URL that reaches this service's /webhooks/telegram; "
                      "leave it out if you "
                      "set the webhook yourself");
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_words(struct telegram_settings *settings, const json_t *root,
                                           struct sma_error *error)
{
    static const char *const modes[] = {"polling", "webhook", NULL};
    static const char *const backlogs[] = {"answer", "record", NULL};
    static const char *const accesses[] = {"initiator_or_admin", "anyone", NULL};
    static const char *const progresses[] = {"auto", "typing", "off", NULL};
    unsigned mode = 0, backlog = 0, access = 0, progress = TELEGRAM_PROGRESS_AUTO;
    enum sma_err err = read_word(root, "mode", modes, &mode, error);
    if (err == SMA_ERR_OK)
        err = read_word(root, "backlog", backlogs, &backlog, error);
    if (err == SMA_ERR_OK)
        err = read_word(root, "groupAccess", accesses, &access,
                        error); /* for the core; only checked here */
    if (err == SMA_ERR_OK)
        err = read_word(root, "progress", progresses, &progress, error);
    settings->is_webhook = mode == 1;
    settings->backlog_records = backlog == 1;
    settings->progress = (uint8_t)progress;
    return err;
}

static SMA_CHECKED enum sma_err read_numbers(struct telegram_settings *settings, const json_t *root,
                                             struct sma_error *error)
{
    const json_t *limits = json_object_get(root, "limits");
    if (limits != NULL && !json_is_object(limits))
        return refuse(error, "limits", "must be an object: {\"perSecond\": 30}");
    int64_t second = 30, chat = 60, group = 20, poll_s = POLL_TIMEOUT_DEFAULT_S,
            bytes = SMA_ATTACHMENT_BYTES_MAX;
    int64_t window_ms = SMA_FOLLOWUP_WINDOW_MS;
    enum sma_err err =
        read_number(limits, "perSecond", "limits.perSecond", 0, 100000, &second, error);
    if (err == SMA_ERR_OK)
        err = read_number(limits, "perChatPerMinute", "limits.perChatPerMinute", 0, 1000000, &chat,
                          error);
    if (err == SMA_ERR_OK)
        err = read_number(limits, "perGroupPerMinute", "limits.perGroupPerMinute", 0, 1000000,
                          &group, error);
    if (err == SMA_ERR_OK)
        err = read_number(root, "pollTimeoutS", "pollTimeoutS", 1, POLL_TIMEOUT_MAX_S, &poll_s,
                          error);
    if (err == SMA_ERR_OK)
        err = read_number(root, "attachmentBytesMax", "attachmentBytesMax", 1, INT64_C(2147483648),
                          &bytes, error);
    if (err == SMA_ERR_OK) /* for the core; only checked here */
        err = read_number(root, "followupWindowMs", "followupWindowMs", 0, INT64_C(1000000000000),
                          &window_ms, error);
    settings->per_second = (uint32_t)second;
    settings->per_chat_minute = (uint32_t)chat;
    settings->per_group_minute = (uint32_t)group;
    settings->poll_timeout_s = (uint32_t)poll_s;
    settings->attachment_bytes_max = (size_t)bytes;
    return err;
}

static SMA_CHECKED enum sma_err read_block(struct telegram_settings *settings, const json_t *root,
                                           struct sma_error *error)
{
    if (!json_is_object(root))
        return sma_fail(error, SMA_ERR_BADINPUT, "ship.json: adapters.telegram must be an object");
    const struct
    {
        const char *key;
        char **ret_text;
    } texts[] = {{"botToken", &settings->token},
                 {"apiRoot", &settings->api_root},
                 {"webhookUrl", &settings->webhook_url},
                 {"webhookSecret", &settings->webhook_secret}};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        enum sma_err err = read_text(root, texts[i].key, texts[i].ret_text, error);
        if (err != SMA_ERR_OK)
            return err;
    }
    enum sma_err err = check_texts(settings, error);
    if (err == SMA_ERR_OK)
        err = read_words(settings, root, error);
    if (err == SMA_ERR_OK)
        err = read_numbers(settings, root, error);
    return err == SMA_ERR_OK ? check_webhook(settings, error) : err;
}

enum sma_err telegram_settings_read(struct telegram_settings *settings, const char *json,
                                    struct sma_error *error)
{
    if (json == NULL || json[0] == '\0')
        return SMA_ERR_NOTFOUND;
    json_t *root = json_loads(json, 0, NULL);
    enum sma_err err = read_block(settings, root, error);
    json_decref(root);
    return err;
}

static void wipe(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void telegram_settings_fini(struct telegram_settings *settings)
{
    wipe(&settings->token);
    wipe(&settings->webhook_secret);
    free(settings->api_root);
    free(settings->webhook_url);
    *settings = (struct telegram_settings){0};
}
