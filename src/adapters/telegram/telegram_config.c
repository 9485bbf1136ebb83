/* telegram_config.c — the keys of adapters.telegram, and what they mean together. */
#include "telegram_priv.h"

#include "runtime/access/access.h"
#include "sma/param.h"

#define SECRET_LEN_MIN 16
#define SECRET_LEN_MAX 256
#define POLL_TIMEOUT_MAX_S 50 /* the platform cuts there */

#define AT(member) SMA_PARAM_AT(struct telegram_settings, member)
static const struct sma_param ROWS[] = {
    {"botToken", SMA_PARAM_TEXT(NULL), AT(token), .traits = SMA_PARAM_ACCOUNT,
     .doc = "from @BotFather; without it the platform is skipped with a warning"},
    {"apiRoot", SMA_PARAM_URL(TELEGRAM_CLOUD_ROOT), AT(api_root), .doc = "a local Bot API server"},
    {"mode", SMA_PARAM_WORD("polling,webhook", 0), AT(is_webhook),
     .doc = "how events come; `webhook` needs `webhookSecret`"},
    {"webhookUrl", SMA_PARAM_TEXT(NULL), AT(webhook_url), .words = "https:// URL",
     .traits = SMA_PARAM_ACCOUNT,
     .doc = "the public address of this service's /webhooks/telegram, set at Telegram when given"},
    {"webhookSecret", SMA_PARAM_TEXT(NULL), AT(webhook_secret), .traits = SMA_PARAM_ACCOUNT,
     .words = "16 to 256 of A-Z a-z 0-9 _ -", .doc = "what Telegram shows with each event"},
    {"progress", SMA_PARAM_WORD("auto,typing,off", TELEGRAM_PROGRESS_AUTO), AT(progress),
     .doc = "`auto`: typing, and in private chats the text as it is written"},
    {"limits", .type = SMA_PARAM_TYPE_OBJECT},
    {"limits.perSecond", SMA_PARAM_INTEGER(0, 100000, 30), AT(per_second),
     .doc = "sends of the bot; 0 = no limit, for a server of your own"},
    {"limits.perChatPerMinute", SMA_PARAM_INTEGER(0, 1000000, 60), AT(per_chat_minute),
     .doc = "sends to a chat"},
    {"limits.perGroupPerMinute", SMA_PARAM_INTEGER(0, 1000000, 20), AT(per_group_minute),
     .doc = "sends into a group"},
    {"attachmentBytesMax", SMA_PARAM_INTEGER(1, 2147483648, SMA_ATTACHMENT_BYTES_MAX),
     AT(attachment_bytes_max), .doc = "bytes of a file that is fetched"},
    {"pollTimeoutS", SMA_PARAM_INTEGER(1, POLL_TIMEOUT_MAX_S, 30), AT(poll_timeout_s),
     .doc = "seconds that one question for events waits at Telegram"},
    {"chatId", .type = SMA_PARAM_TYPE_ANY, .words = "user id", .traits = SMA_PARAM_PARTLY,
     .doc = "only makes this person a member at the first start; it sends and allows nothing else"},
};
#undef AT
const struct sma_params telegram_params = {"telegram", ROWS, SMA_COUNT_OF(ROWS),
                                           &sma_platform_params};

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

static SMA_CHECKED enum sma_err check_token(const char *token, struct sma_error *error)
{
    if (strlen(token) <= 200 && is_made_of(token, ":_-"))
        return SMA_ERR_OK;
    return sma_params_refuse(
        &telegram_params, "botToken",
        "is not a bot token: copy it from @BotFather, it looks like 123456789:AAE...", error);
}

static SMA_CHECKED enum sma_err check_webhook(const struct telegram_settings *settings,
                                              struct sma_error *error)
{
    if (!settings->is_webhook)
        return SMA_ERR_OK;
    size_t len = strlen(settings->webhook_secret);
    if (len < SECRET_LEN_MIN || len > SECRET_LEN_MAX || !is_made_of(settings->webhook_secret, "_-"))
        return sma_params_refuse(
            &telegram_params, "webhookSecret",
            "must be set in webhook mode: 16 to 256 characters of A-Z a-z 0-9 _ -, for example "
            "from `openssl rand -hex 32`",
            error);
    if (settings->webhook_url[0] == '\0')
        return SMA_ERR_OK;
    if (!sma_param_is_url(settings->webhook_url) ||
        (settings->is_cloud && settings->webhook_url[4] != 's'))
        return sma_params_refuse(
            &telegram_params, "webhookUrl",
            "must be an https:// URL that reaches this service's /webhooks/telegram; leave it out "
            "if you set the webhook yourself",
            error);
    return SMA_ERR_OK;
}

enum sma_err telegram_settings_read(struct telegram_settings *settings, const char *json,
                                    struct sma_error *error)
{
    struct sma_access_rules *rules = NULL;
    SMA_TRY(sma_params_read_block(&telegram_params, json, "", settings, error));
    if (settings->token[0] == '\0' || settings->token[0] == '$')
        return SMA_ERR_NOTFOUND; /* not configured, as in the old program */
    SMA_TRY(check_token(settings->token, error));
    SMA_TRY(sma_access_rules_parse(sma_str(json), &rules, error));
    settings->is_paired = sma_access_opening(rules) != SMA_ACCESS_OPEN_ANYONE;
    sma_access_rules_destroy(rules);
    settings->is_cloud = strcmp(settings->api_root, TELEGRAM_CLOUD_ROOT) == 0;
    return check_webhook(settings, error);
}

void telegram_settings_fini(struct telegram_settings *settings)
{
    sma_params_free(&telegram_params, settings);
    *settings = (struct telegram_settings){0};
}
