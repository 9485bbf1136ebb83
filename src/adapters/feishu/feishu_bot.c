/*
 * feishu_bot.c — who the bot is. Asked for ever with back-off, and remembered over restarts, so
 * that group events need not wait.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>

#define BOT_FILE "bot.json"
#define BOT_FILE_BYTES_MAX 4096
#define PATH_BYTES_MAX 4096

static uint64_t delay_after(struct feishu *feishu, const struct sma_login_error *error,
                            unsigned failure_count)
{
    uint64_t delay_ns =
        sma_adapter_eager_backoff_ns(feishu->ctx, failure_count, FEISHU_BACKOFF_MAX_S);
    uint64_t ordered_ns =
        error->retry_after_ms > 0 ? (uint64_t)error->retry_after_ms * SMA_NS_PER_MS : 0;
    return ordered_ns > delay_ns ? ordered_ns : delay_ns;
}

/* -- who the bot is ---------------------------------------------------------------------------- */
static bool bot_path(const struct feishu *feishu, char path[PATH_BYTES_MAX])
{
    int len = snprintf(path, PATH_BYTES_MAX, "%s/%s" BOT_FILE, feishu->base.config->project_dir,
                       feishu->base.home.folder);
    return len > 0 && len < PATH_BYTES_MAX;
}

/* Of the same app only: an id is per app. */
static void recall_bot(struct feishu *feishu)
{
    char path[PATH_BYTES_MAX];
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len;
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (!bot_path(feishu, path) ||
        sma_sys_read_file(sma_ctx_sys(feishu->ctx), path, BOT_FILE_BYTES_MAX, &bytes, &len, NULL) !=
            SMA_ERR_OK ||
        sma_json_load((struct sma_str){bytes, len}, &root) != SMA_ERR_OK)
        return;
    struct sma_str open_id = sma_json_str(root, "open_id");
    if (!sma_str_is_equal(sma_json_str(root, "app_id"), sma_str(feishu->settings.app_id)) ||
        open_id.len == 0 || open_id.len >= sizeof feishu->identity.bot.open_id)
        return;
    memcpy(feishu->identity.bot.open_id, open_id.ptr, open_id.len);
}

static void keep_bot(struct feishu *feishu)
{
    char path[PATH_BYTES_MAX];
    const struct sma_sys *sys = sma_ctx_sys(feishu->ctx);
    struct sma_buf json;
    sma_buf_init(&json, BOT_FILE_BYTES_MAX);
    sma_buf_put_text(&json, "{\"app_id\":");
    sma_buf_put_json_string(&json, sma_str(feishu->settings.app_id));
    sma_buf_put_text(&json, ",\"open_id\":");
    sma_buf_put_json_string(&json, sma_str(feishu->identity.bot.open_id));
    sma_buf_put_text(&json, "}\n");
    char *slash = bot_path(feishu, path) ? strrchr(path, '/') : NULL;
    if (slash != NULL && json.err == SMA_ERR_OK) {
        *slash = '\0';
        enum sma_err err = sma_sys_make_dirs(sys, path, NULL);
        *slash = '/';
        if (err == SMA_ERR_OK)
            err = sma_sys_write_file_atomic(sys, path, sma_buf_str(&json), 0600, NULL);
        if (err !=
            SMA_ERR_OK) /* the next start asks before it connects: no more than that is lost */
            sma_platform_log(&feishu->base, SMA_LOG_WARN, "cannot write %s" BOT_FILE ": %s",
                             feishu->base.home.folder, sma_err_text(err));
    }
    sma_buf_fini(&json);
}

static void take_bot(struct feishu *feishu, const struct feishu_bot *bot)
{
    struct feishu_identity *identity = &feishu->identity;
    bool is_new = strcmp(identity->bot.open_id, bot->open_id) != 0;
    identity->bot = *bot;
    identity->is_fresh = true;
    identity->failure_count = 0;
    sma_adapter_health_heal(&feishu->base.health, SMA_CAUSE_BOT);
    if (is_new)
        keep_bot(feishu);
    if (!bot->is_active)
        sma_platform_log(&feishu->base, SMA_LOG_WARN,
                         "the app is not enabled in this organisation yet: release a version in "
                         "the developer "
                         "console; until then nobody can reach it");
    if (feishu->settings.is_webhook)
        sma_platform_log(&feishu->base, SMA_LOG_INFO, "ready as %s (%s); events are taken at %s",
                         bot->name, bot->open_id, feishu->base.home.webhook);
    feishu_socket_begin(feishu);
}

static void on_bot(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu *feishu = state;
    struct feishu_identity *identity = &feishu->identity;
    struct sma_login_error error = {0};
    struct feishu_bot bot;
    (void)user;
    identity->call = NULL;
    enum sma_login login = feishu_bot_parse(answer, &bot, &error);
    if (login == SMA_LOGIN_OK) {
        take_bot(feishu, &bot);
        return;
    }
    sma_adapter_health_error(&feishu->base.health, error.text);
    identity->failure_count++;
    uint64_t delay_ns = delay_after(feishu, &error, identity->failure_count);
    if (login == SMA_LOGIN_FATAL) {
        feishu_trouble(feishu, SMA_CAUSE_BOT, error.text);
        delay_ns = FEISHU_FATAL_S * SMA_NS_PER_S;
    } else if (!sma_adapter_health_has(&feishu->base.health, SMA_CAUSE_LOGIN) &&
               sma_adapter_is_worth_telling(identity->failure_count)) {
        sma_platform_log(&feishu->base, SMA_LOG_WARN, "%s (%u times); trying again", error.text,
                         identity->failure_count);
    }
    identity->due_ns = sma_ctx_now(feishu->ctx) + delay_ns;
}

static void ask_bot(struct feishu *feishu)
{
    struct feishu_identity *identity = &feishu->identity;
    identity->due_ns = UINT64_MAX;
    identity->call = sma_call_start(feishu->base.calls,
                                    &(struct sma_call_options){.method = "GET",
                                                               .path = SMA_STR(FEISHU_BOT_PATH),
                                                               .may_repeat = true,
                                                               .total_ms = 2 * FEISHU_CONTROL_MS,
                                                               .done = on_bot});
    if (identity->call == NULL)
        identity->due_ns = sma_ctx_now(feishu->ctx) + SMA_NS_PER_S; /* out of memory */
}

/* -- in order ---------------------------------------------------------------------------------- */
void feishu_bot_begin(struct feishu *feishu)
{
    recall_bot(feishu);
    ask_bot(feishu);
    if (feishu->identity.bot.open_id[0] != '\0')
        feishu_socket_begin(feishu);
}

uint64_t feishu_bot_tick(struct feishu *feishu, uint64_t now_ns)
{
    struct feishu_identity *identity = &feishu->identity;
    if (feishu->base.is_intake_off)
        return UINT64_MAX;
    if (identity->due_ns <= now_ns && identity->call == NULL)
        ask_bot(feishu);
    return identity->due_ns;
}
