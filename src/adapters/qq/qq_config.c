/* qq_config.c — the keys of adapters.qq, and what they mean together. */
#include "qq_priv.h"

#include "adapters/common/word.h"
#include "runtime/access/access.h"
#include "sma/param.h"

#include <stdlib.h>

#define APP_ID_LEN_MAX 32
#define SECRET_LEN_MAX 512
/* The words of `intents`, and the platform's bit of each. */
#define INTENTS "group_and_c2c,interaction,guild_at,direct,guild_all,audit"
#define INTENTS_DEFAULT 0x2f /* all but guild_all */
static const uint32_t INTENT_MASKS[] = {QQ_INTENT_GROUP_AND_C2C, QQ_INTENT_INTERACTION,
                                        QQ_INTENT_GUILD_AT,      QQ_INTENT_DIRECT,
                                        QQ_INTENT_GUILD_ALL,     QQ_INTENT_AUDIT};

#define AT(member) SMA_PARAM_AT(struct qq_settings, member)
static const struct sma_param ROWS[] = {
    {"appId", SMA_PARAM_TEXT(NULL), AT(app_id), .env = "QQ_APP_ID", .traits = SMA_PARAM_ACCOUNT,
     .doc = "without it the platform is skipped with a warning"},
    {"appSecret", SMA_PARAM_TEXT(NULL), AT(secret), .env = "QQ_APP_SECRET",
     .doc = "likewise; webhooks are checked with it"},
    {"sandbox", SMA_PARAM_FLAG(0), AT(is_sandbox), .traits = SMA_PARAM_LENIENT, .env = "QQ_SANDBOX",
     .doc = "the platform's sandbox"},
    {"mode", SMA_PARAM_WORD("websocket,webhook", 0), AT(is_webhook), .doc = "how events come"},
    {"apiRoot", SMA_PARAM_URL(NULL), AT(api_root),
     .doc = "a gateway of your own, or the platform's newer host; by `sandbox`"},
    {"tokenUrl", SMA_PARAM_URL(QQ_TOKEN_URL_DEFAULT), AT(token_url),
     .doc = "where the token comes from"},
    {"gatewayUrl", .type = SMA_PARAM_TYPE_SOCKET, AT(gateway_url),
     .doc = "the event stream; without it the platform names its gateway"},
    {"caFile", .type = SMA_PARAM_TYPE_FILE, AT(ca_file),
     .doc = "certificate authorities (PEM) that are trusted instead of the system's"},
    {"shards", SMA_PARAM_INTEGER(1, QQ_SHARD_COUNT_MAX, 1), AT(shard_count),
     .doc = "connections that share the events"},
    {"intents", .type = SMA_PARAM_TYPE_WORDS, .words = INTENTS, .standard = INTENTS_DEFAULT,
     AT(intents), .text = "all but `guild_all`",
     .doc = "kinds of events; without a right they are dropped, with a line in the log"},
    {"markdown", SMA_PARAM_FLAG(1), AT(is_markdown), .doc = "answers are sent as Markdown"},
    {"keyboard", SMA_PARAM_FLAG(1), AT(is_keyboard),
     .doc = "buttons; without the right to them requests are numbered text"},
    {"limits", .type = SMA_PARAM_TYPE_OBJECT},
    {"limits.perSecond", SMA_PARAM_INTEGER(0, 100000, 50), AT(per_second),
     .doc = "sends of the bot; 0 = no limit"},
    {"limits.perChatPerMinute", SMA_PARAM_INTEGER(0, 1000000, 20), AT(per_chat_minute),
     .doc = "sends to a chat"},
    {"attachmentBytesMax", SMA_PARAM_INTEGER(1, 2147483648, SMA_ATTACHMENT_BYTES_MAX),
     AT(attachment_bytes_max), .doc = "bytes of a file that is fetched"},
};
#undef AT
const struct sma_params qq_params = {"qq", ROWS, SMA_COUNT_OF(ROWS), &sma_platform_params};

void qq_put_intents(struct sma_buf *buf, uint32_t mask)
{
    const char *word = INTENTS, *before = "";
    for (size_t i = 0; i < SMA_COUNT_OF(INTENT_MASKS); i++) {
        size_t len = strcspn(word, ",");
        if ((mask & INTENT_MASKS[i]) != 0) {
            sma_buf_printf(buf, "%s%.*s", before, (int)len, word);
            before = ", ";
        }
        word += len + (word[len] == ',');
    }
}

static bool is_decimal(const char *text)
{
    size_t len = strspn(text, "0123456789");
    return len > 0 && len <= APP_ID_LEN_MAX && text[len] == '\0';
}

static SMA_CHECKED enum sma_err check_login(const struct qq_settings *settings,
                                            struct sma_error *error)
{
    if (settings->app_id[0] == '\0' || (settings->secret[0] == '\0' && !settings->is_webhook))
        return SMA_ERR_NOTFOUND; /* not configured, as in the old program */
    if (settings->secret[0] == '\0')
        return sma_params_refuse(&qq_params, "appSecret",
                                 "must be set in webhook mode: without it anybody could send "
                                 "events. Copy it from the platform's console",
                                 error);
    if (!is_decimal(settings->app_id))
        return sma_params_refuse(&qq_params, "appId",
                                 "is not a bot's AppID: copy it from the platform's console, it "
                                 "is a number like 102000001",
                                 error);
    if (strlen(settings->secret) > SECRET_LEN_MAX ||
        !sma_adapter_is_visible(sma_str(settings->secret)))
        return sma_params_refuse(&qq_params, "appSecret",
                                 "holds blanks or characters no secret has: copy it from the "
                                 "platform's console again",
                                 error);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err choose_root(struct qq_settings *settings, struct sma_error *error)
{
    settings->is_api_default = settings->api_root[0] == '\0';
    if (!settings->is_api_default)
        return SMA_ERR_OK;
    free(settings->api_root);
    settings->api_root = strdup(settings->is_sandbox ? QQ_API_ROOT_SANDBOX : QQ_API_ROOT_DEFAULT);
    return settings->api_root == NULL ? sma_fail(error, SMA_ERR_NOMEM, "qq adapter: out of memory")
                                      : SMA_ERR_OK;
}

enum sma_err qq_settings_read(struct qq_settings *settings, const char *project_dir,
                              const char *json, struct sma_error *error)
{
    SMA_TRY(sma_params_read_block(&qq_params, json, project_dir, settings, error));
    SMA_TRY(check_login(settings, error));
    uint32_t chosen = settings->intents;
    settings->intents = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(INTENT_MASKS); i++)
        if ((chosen & UINT32_C(1) << i) != 0)
            settings->intents |= INTENT_MASKS[i];
    return choose_root(settings, error);
}

void qq_settings_fini(struct qq_settings *settings)
{
    sma_params_free(&qq_params, settings);
}
