/*
 * qq_token.c — the access token: fetched ahead of time, by one request at a time, and anew when the
 * platform refuses it.
 *
 * The platform gives the same token until its last 60 s, so the next one is asked for inside them,
 * while this one still holds. A wrong secret is said once and tried again slowly, so that a service
 * comes up by itself when it is mended.
 */
#include "qq_priv.h"

#include <stdio.h>

static void fetch(struct qq *qq);

static void come_back(struct qq *qq, uint64_t delay_ns)
{
    qq->token.due_ns = sma_ctx_now(qq->ctx) + delay_ns;
}

/* -- the answer -------------------------------------------------------------------------------- */
static void tell_failure(struct qq *qq, bool is_fatal, const char *text)
{
    struct qq_token_keeper *keeper = &qq->token;
    char line[SMA_HEALTH_BYTES_MAX];
    snprintf(line, sizeof line,
             "the platform does not take this bot's appId and appSecret: %.120s. Compare "
             "adapters.qq in ship.json, or QQ_APP_ID and QQ_APP_SECRET, with the platform's "
             "console and restart",
             text);
    if (!is_fatal) {
        if (sma_adapter_is_worth_telling(keeper->failure_count))
            sma_ctx_log(qq->ctx, SMA_LOG_WARN, "qq: no access token (failure %u): %s; trying again",
                        keeper->failure_count, text);
    } else if (sma_adapter_health_set(&qq->base.health, SMA_CAUSE_LOGIN, line)) {
        sma_ctx_log(qq->ctx, SMA_LOG_ERROR, "qq: %s; trying again every %d s", line,
                    QQ_TOKEN_REFUSED_S);
    }
}

static void on_failure(struct qq *qq, bool is_fatal, const struct qq_login_error *error)
{
    struct qq_token_keeper *keeper = &qq->token;
    keeper->failure_count++;
    if (qq->settings.is_webhook)
        sma_adapter_health_down(&qq->base.health, error->text);
    else
        sma_adapter_health_error(&qq->base.health, error->text);
    tell_failure(qq, is_fatal, error->text);
    snprintf(keeper->trouble, sizeof keeper->trouble, "%s", error->text);
    uint64_t delay_ns =
        is_fatal ? QQ_TOKEN_REFUSED_S * QQ_NS_PER_S
                 : sma_adapter_eager_backoff_ns(qq->ctx, keeper->failure_count, QQ_BACKOFF_MAX_S);
    uint64_t ordered_ns =
        error->retry_after_ms > 0 ? (uint64_t)error->retry_after_ms * QQ_NS_PER_MS : 0;
    if (ordered_ns > QQ_TOKEN_REFUSED_S * QQ_NS_PER_S)
        ordered_ns = QQ_TOKEN_REFUSED_S * QQ_NS_PER_S;
    come_back(qq, ordered_ns > delay_ns ? ordered_ns : delay_ns);
    if (qq_token_now(qq).len == 0)
        qq_calls_token(qq, keeper->trouble);
}

static void take_token(struct qq *qq, const struct qq_token *token)
{
    struct qq_token_keeper *keeper = &qq->token;
    uint64_t now_ns = sma_ctx_now(qq->ctx);
    if (keeper->failure_count > 0)
        sma_ctx_log(qq->ctx, SMA_LOG_INFO, "qq: there is an access token again after %u failures",
                    keeper->failure_count);
    keeper->token = *token;
    keeper->number++;
    keeper->expires_ns = now_ns + token->expires_s * QQ_NS_PER_S;
    keeper->failure_count = 0;
    sma_adapter_health_heal(&qq->base.health, SMA_CAUSE_LOGIN);
    keeper->trouble[0] = '\0';
    if (qq->settings.is_webhook) /* else the sessions tell */
        sma_adapter_health_up(&qq->base.health);
    come_back(qq, qq_token_refresh_s(token->expires_s) * QQ_NS_PER_S);
    qq_calls_token(qq, NULL);
}

static void on_token(struct qq *qq, void *user, const struct sma_net_answer *answer)
{
    (void)user;
    struct qq_token token;
    struct qq_login_error error;
    enum qq_login login = qq_token_parse(answer, &token, &error);
    if (login == QQ_LOGIN_OK)
        take_token(qq, &token);
    else
        on_failure(qq, login == QQ_LOGIN_FATAL, &error);
    explicit_bzero(&token, sizeof token);
}

/* -- the question ------------------------------------------------------------------------------ */
static void fetch(struct qq *qq)
{
    struct sma_buf body;
    qq->token.due_ns = UINT64_MAX;
    qq->token.asked_ns = sma_ctx_now(qq->ctx);
    sma_buf_init(&body, 4096);
    qq_put_token_body(&body, sma_str(qq->settings.app_id), sma_str(qq->settings.secret));
    struct qq_call_options options = {.method = "POST",
                                      .url = sma_str(qq->settings.token_url),
                                      .body = &body,
                                      .total_ms = QQ_CONTROL_MS,
                                      .done = on_token};
    if (qq_call_start(qq, &options) == NULL)
        come_back(qq, QQ_NS_PER_S); /* out of memory */
}

void qq_token_begin(struct qq *qq)
{
    fetch(qq);
}

struct sma_str qq_token_now(const struct qq *qq)
{
    const struct qq_token_keeper *keeper = &qq->token;
    bool is_good = keeper->token.value[0] != '\0' && sma_ctx_now(qq->ctx) < keeper->expires_ns;
    return is_good ? sma_str(keeper->token.value) : SMA_STR("");
}

void qq_token_drop(struct qq *qq, uint64_t number)
{
    struct qq_token_keeper *keeper = &qq->token;
    if (number != keeper->number || keeper->token.value[0] == '\0')
        return; /* another one has taken its place already */
    explicit_bzero(keeper->token.value, sizeof keeper->token.value);
    keeper->token.expires_s = 0;
    if (keeper->due_ns == UINT64_MAX)
        return; /* one is on its way */
    uint64_t earliest_ns = keeper->asked_ns + QQ_TOKEN_PAUSE_MS * QQ_NS_PER_MS;
    if (earliest_ns <= sma_ctx_now(qq->ctx))
        fetch(qq);
    else
        keeper->due_ns = earliest_ns;
}

void qq_token_tick(struct qq *qq, uint64_t now_ns)
{
    if (qq->token.due_ns <= now_ns)
        fetch(qq);
}
