/*
 * feishu_token.c — the access token, always fetched before the old one ends, and who the bot is.
 *
 * Both are asked for ever with back-off: a service that was started while the network was down, or
 * before its secret was mended, comes up by itself. Who the bot is is remembered over restarts, so
 * that group events need not wait.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>

#define BOT_FILE FEISHU_CACHE_FOLDER "bot.json"
#define BOT_FILE_BYTES_MAX 4096
#define PATH_BYTES_MAX 4096
#define YOUNG_S \
    10 /* a token refused at this age: the next one waits, lest the two of us go in circles */

/* -- trouble ----------------------------------------------------------------------------------- */
void feishu_trouble(struct feishu *feishu, enum sma_cause cause, const char *text)
{
    if (sma_adapter_health_set(&feishu->base.health, cause, text))
        sma_ctx_log(feishu->ctx, SMA_LOG_ERROR, "feishu: %s; trying again every %d minutes", text,
                    FEISHU_FATAL_S / 60);
}

static uint64_t delay_after(struct feishu *feishu, const struct feishu_login_error *error,
                            unsigned failure_count)
{
    uint64_t delay_ns =
        sma_adapter_eager_backoff_ns(feishu->ctx, failure_count, FEISHU_BACKOFF_MAX_S);
    uint64_t ordered_ns =
        error->retry_after_ms > 0 ? (uint64_t)error->retry_after_ms * FEISHU_NS_PER_MS : 0;
    return ordered_ns > delay_ns ? ordered_ns : delay_ns;
}

/* -- token ------------------------------------------------------------------------------------- */
static void take_token(struct feishu *feishu, uint64_t asked_ns)
{
    struct feishu_tenant *tenant = &feishu->tenant;
    tenant->generation++;
    tenant->got_ns = sma_ctx_now(feishu->ctx);
    tenant->good_until_ns = asked_ns + tenant->token.expire_s * FEISHU_NS_PER_S;
    tenant->due_ns =
        tenant->got_ns + feishu_token_refresh_s(tenant->token.expire_s) * FEISHU_NS_PER_S;
    tenant->failure_count = 0;
    tenant->why[0] = '\0';
    sma_adapter_health_heal(&feishu->base.health, SMA_CAUSE_LOGIN);
    tenant->is_fatal = false;
}

static void on_token(struct feishu *feishu, void *user, const struct sma_net_answer *answer)
{
    struct feishu_tenant *tenant = &feishu->tenant;
    struct feishu_login_error error = {0};
    (void)user;
    tenant->call = NULL;
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    /* its life counts from when it was handed out, at the latest from when it was asked for: got_ns
     * holds that */
    enum feishu_login login = feishu_token_parse(answer, &tenant->token, &error);
    if (login == FEISHU_LOGIN_OK) {
        take_token(feishu, tenant->got_ns);
        if (feishu->settings.is_webhook) /* else the connection tells */
            sma_adapter_health_up(&feishu->base.health);
        feishu_calls_go_on(feishu);
        return;
    }
    if (feishu->settings.is_webhook)
        sma_adapter_health_down(&feishu->base.health, error.text);
    else
        sma_adapter_health_error(&feishu->base.health, error.text);
    snprintf(tenant->why, sizeof tenant->why, "%s", error.text);
    tenant->failure_count++;
    tenant->is_fatal = login == FEISHU_LOGIN_FATAL;
    if (tenant->is_fatal) {
        feishu_trouble(feishu, SMA_CAUSE_LOGIN, error.text);
        tenant->due_ns = now_ns + FEISHU_FATAL_S * FEISHU_NS_PER_S;
        feishu_calls_go_on(feishu); /* nobody waits ten minutes */
        return;
    }
    tenant->due_ns = now_ns + delay_after(feishu, &error, tenant->failure_count);
    if (sma_adapter_is_worth_telling(tenant->failure_count))
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN, "feishu: %s (%u times); trying again", error.text,
                    tenant->failure_count);
}

static void ask_token(struct feishu *feishu)
{
    struct feishu_tenant *tenant = &feishu->tenant;
    struct sma_buf body;
    tenant->due_ns = UINT64_MAX;
    tenant->got_ns = sma_ctx_now(feishu->ctx);
    sma_buf_init(&body, 8192);
    feishu_put_token_body(&body, sma_str(feishu->settings.app_id),
                          sma_str(feishu->settings.app_secret));
    if (body.err == SMA_ERR_OK)
        tenant->call = feishu_call_start(
            feishu, &(struct feishu_call_options){.method = "POST",
                                                  .path = SMA_STR(FEISHU_TOKEN_PATH),
                                                  .body = sma_buf_str(&body),
                                                  .has_no_token = true,
                                                  .may_repeat = true,
                                                  .total_ms = FEISHU_CONTROL_MS,
                                                  .done = on_token});
    if (body.ptr != NULL)
        explicit_bzero(body.ptr, body.len);
    sma_buf_fini(&body);
    if (tenant->call == NULL)
        tenant->due_ns = sma_ctx_now(feishu->ctx) + FEISHU_NS_PER_S; /* out of memory */
}

const char *feishu_token_get(struct feishu *feishu, unsigned *ret_generation)
{
    const struct feishu_tenant *tenant = &feishu->tenant;
    if (tenant->token.value[0] == '\0' || sma_ctx_now(feishu->ctx) >= tenant->good_until_ns)
        return NULL;
    *ret_generation = tenant->generation;
    return tenant->token.value;
}

bool feishu_token_is_hopeless(const struct feishu *feishu)
{
    return feishu->tenant.is_fatal && feishu->tenant.call == NULL;
}

void feishu_token_drop(struct feishu *feishu, unsigned generation)
{
    struct feishu_tenant *tenant = &feishu->tenant;
    if (generation != tenant->generation || tenant->token.value[0] == '\0')
        return; /* another one has come meanwhile */
    uint64_t now_ns = sma_ctx_now(feishu->ctx);
    explicit_bzero(tenant->token.value, sizeof tenant->token.value);
    if (tenant->call != NULL)
        return;
    bool is_young = now_ns - tenant->got_ns < YOUNG_S * FEISHU_NS_PER_S;
    tenant->due_ns = now_ns;
    if (is_young && ++tenant->failure_count > 1)
        tenant->due_ns +=
            sma_adapter_backoff_ns(feishu->ctx, tenant->failure_count - 1, FEISHU_BACKOFF_MAX_S);
    sma_ctx_request_batch_end(feishu->ctx);
}

/* -- who the bot is ---------------------------------------------------------------------------- */
static bool bot_path(const struct feishu *feishu, char path[PATH_BYTES_MAX])
{
    int len = snprintf(path, PATH_BYTES_MAX, "%s/" BOT_FILE, feishu->base.config->project_dir);
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
            sma_ctx_log(feishu->ctx, SMA_LOG_WARN, "feishu: cannot write %s: %s", BOT_FILE,
                        sma_err_text(err));
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
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN,
                    "feishu: the app is not enabled in this organisation yet: release a version in "
                    "the developer "
                    "console; until then nobody can reach it");
    if (feishu->settings.is_webhook)
        sma_ctx_log(feishu->ctx, SMA_LOG_INFO,
                    "feishu: ready as %s (%s); events are taken at /webhooks/feishu", bot->name,
                    bot->open_id);
    feishu_socket_begin(feishu);
}

static void on_bot(struct feishu *feishu, void *user, const struct sma_net_answer *answer)
{
    struct feishu_identity *identity = &feishu->identity;
    struct feishu_login_error error = {0};
    struct feishu_bot bot;
    (void)user;
    identity->call = NULL;
    enum feishu_login login = feishu_bot_parse(answer, &bot, &error);
    if (login == FEISHU_LOGIN_OK) {
        take_bot(feishu, &bot);
        return;
    }
    sma_adapter_health_error(&feishu->base.health, error.text);
    identity->failure_count++;
    uint64_t delay_ns = delay_after(feishu, &error, identity->failure_count);
    if (login == FEISHU_LOGIN_FATAL) {
        feishu_trouble(feishu, SMA_CAUSE_BOT, error.text);
        delay_ns = FEISHU_FATAL_S * FEISHU_NS_PER_S;
    } else if (!feishu->tenant.is_fatal && sma_adapter_is_worth_telling(identity->failure_count)) {
        sma_ctx_log(feishu->ctx, SMA_LOG_WARN, "feishu: %s (%u times); trying again", error.text,
                    identity->failure_count);
    }
    identity->due_ns = sma_ctx_now(feishu->ctx) + delay_ns;
}

static void ask_bot(struct feishu *feishu)
{
    struct feishu_identity *identity = &feishu->identity;
    identity->due_ns = UINT64_MAX;
    identity->call =
        feishu_call_start(feishu, &(struct feishu_call_options){.method = "GET",
                                                                .path = SMA_STR(FEISHU_BOT_PATH),
                                                                .may_repeat = true,
                                                                .total_ms = 2 * FEISHU_CONTROL_MS,
                                                                .done = on_bot});
    if (identity->call == NULL)
        identity->due_ns = sma_ctx_now(feishu->ctx) + FEISHU_NS_PER_S; /* out of memory */
}

/* -- in order ---------------------------------------------------------------------------------- */
void feishu_token_begin(struct feishu *feishu)
{
    feishu->tenant.due_ns = feishu->identity.due_ns = UINT64_MAX;
    recall_bot(feishu);
    ask_token(feishu);
    ask_bot(feishu);
    if (feishu->identity.bot.open_id[0] != '\0')
        feishu_socket_begin(feishu);
}

uint64_t feishu_token_tick(struct feishu *feishu, uint64_t now_ns)
{
    struct feishu_tenant *tenant = &feishu->tenant;
    struct feishu_identity *identity = &feishu->identity;
    if (tenant->due_ns <= now_ns && tenant->call == NULL)
        ask_token(feishu);
    if (identity->due_ns <= now_ns && identity->call == NULL && !feishu->base.is_intake_off)
        ask_bot(feishu);
    uint64_t bot_due_ns = feishu->base.is_intake_off ? UINT64_MAX : identity->due_ns;
    return tenant->due_ns < bot_due_ns ? tenant->due_ns : bot_due_ns;
}

void feishu_token_stop(struct feishu *feishu)
{
    explicit_bzero(feishu->tenant.token.value, sizeof feishu->tenant.token.value);
    feishu->tenant.due_ns = feishu->identity.due_ns = UINT64_MAX;
}
