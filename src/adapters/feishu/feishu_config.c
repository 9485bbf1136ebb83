/* feishu_config.c — the keys of adapters.feishu, and what they mean together. */
#include "feishu_priv.h"

#include "adapters/common/word.h"
#include "runtime/access/access.h"
#include "sma/param.h"

#define PER_SECOND 50 /* an app's calls of one kind */
#define PER_CHAT_MINUTE \
    240 /* 4 a second: to one user or into one group are 5, and all bots of a group share them */
#define SECRET_BYTES_MAX 512

#define AT(member) SMA_PARAM_AT(struct feishu_settings, member)
static const struct sma_param ROWS[] = {
    {"appId", SMA_PARAM_TEXT(NULL), AT(app_id), .env = "FEISHU_APP_ID", .traits = SMA_PARAM_ACCOUNT,
     .doc = "without it the platform is skipped with a warning"},
    {"appSecret", SMA_PARAM_TEXT(NULL), AT(app_secret), .env = "FEISHU_APP_SECRET",
     .doc = "likewise"},
    {"domain", SMA_PARAM_URL(FEISHU_DOMAIN_DEFAULT), AT(domain),
     .doc = "`https://open.larksuite.com` for Lark, or a gateway of your own"},
    {"caFile", .type = SMA_PARAM_TYPE_FILE, AT(ca_file),
     .doc = "certificate authorities (PEM) that are trusted instead of the system's"},
    {"mode", SMA_PARAM_WORD("websocket,webhook", 0), AT(is_webhook),
     .doc = "how events come; `webhook` needs `encryptKey` or `verificationToken`"},
    {"encryptKey", SMA_PARAM_TEXT(NULL), AT(encrypt_key),
     .doc = "of the developer console: events are encrypted and signed with it"},
    {"verificationToken", SMA_PARAM_TEXT(NULL), AT(verification_token),
     .doc = "what events show without an `encryptKey`; weaker"},
    {"progress", SMA_PARAM_WORD("auto,card,off", FEISHU_PROGRESS_AUTO), AT(progress),
     .doc = "one card that changes while the answer is written; `auto`: in private chats, and in "
            "groups when `streaming` types the text into it"},
    {"limits", .type = SMA_PARAM_TYPE_OBJECT},
    {"limits.perSecond", SMA_PARAM_INTEGER(0, 100000, PER_SECOND), AT(per_second),
     .doc = "sends of the app; 0 = no limit"},
    {"limits.perChatPerMinute", SMA_PARAM_INTEGER(0, 1000000, PER_CHAT_MINUTE), AT(per_chat_minute),
     .doc = "sends to a person"},
    {"limits.perGroupPerMinute", SMA_PARAM_INTEGER(0, 1000000, PER_CHAT_MINUTE),
     AT(per_group_minute), .doc = "sends into a group"},
    {"attachmentBytesMax", SMA_PARAM_INTEGER(1, 2147483648, SMA_ATTACHMENT_BYTES_MAX),
     AT(attachment_bytes_max), .doc = "bytes of a file that is fetched"},
};
#undef AT
const struct sma_params feishu_params = {"feishu", ROWS, SMA_COUNT_OF(ROWS), &sma_platform_params};

static bool is_word(const char *text)
{
    return strlen(text) <= SECRET_BYTES_MAX && sma_adapter_is_visible(sma_str(text));
}

static SMA_CHECKED enum sma_err check_login(const struct feishu_settings *settings,
                                            struct sma_error *error)
{
    if (!is_word(settings->app_id))
        return sma_params_refuse(
            &feishu_params, "appId",
            "is not an app id: copy it from the developer console, it looks like cli_a1b2...",
            error);
    if (!is_word(settings->app_secret))
        return sma_params_refuse(&feishu_params, "appSecret",
                                 "is not an app secret: copy it from the developer console", error);
    return SMA_ERR_OK;
}

/* Requests come from anywhere: without a secret everybody could speak as anybody. */
static SMA_CHECKED enum sma_err check_secrets(const struct feishu_settings *settings,
                                              struct sma_error *error)
{
    const char *key = settings->encrypt_key, *token = settings->verification_token;
    if (!settings->is_webhook)
        return SMA_ERR_OK;
    if (key[0] == '$' || token[0] == '$')
        return sma_params_refuse(&feishu_params, key[0] == '$' ? "encryptKey" : "verificationToken",
                                 "names a variable that is not set: put it into .env", error);
    if (key[0] == '\0' && token[0] == '\0')
        return sma_params_refuse(
            &feishu_params, "encryptKey",
            "must be set in webhook mode (or verificationToken, which is weaker): copy it from "
            "the developer console, Events and Callbacks, Encryption Strategy. Without one "
            "anybody could send events",
            error);
    return SMA_ERR_OK;
}

enum sma_err feishu_settings_read(struct feishu_settings *settings, const char *project_dir,
                                  const char *json, struct sma_error *error)
{
    SMA_TRY(sma_params_read_block(&feishu_params, json, project_dir, settings, error));
    if (settings->app_id[0] == '\0' || settings->app_secret[0] == '\0')
        return SMA_ERR_NOTFOUND; /* not configured, as in the old program */
    SMA_TRY(check_login(settings, error));
    return check_secrets(settings, error);
}

void feishu_settings_fini(struct feishu_settings *settings)
{
    sma_params_free(&feishu_params, settings);
    *settings = (struct feishu_settings){0};
}
