/* token.c — see token.h. */
#include "token.h"

#include "answers.h"
#include "call.h"

#include <stdio.h>
#include <stdlib.h>

#define BACKOFF_MAX_S 60

struct sma_token_keeper
{
    struct sma_ctx *ctx;
    struct sma_calls *calls;
    const struct sma_token_ops *ops;
    void *state;
    struct sma_adapter_health *health;
    struct sma_token token;
    uint64_t number;                     /* counts tokens; the present one's */
    uint64_t asked_ns, got_ns, until_ns; /* until: it is good */
    uint64_t due_ns;                     /* of the next request; UINT64_MAX = none is due */
    struct sma_call *call;
    unsigned failure_count;
    unsigned young_count; /* tokens in a row that were refused while they were young */
    bool is_link, is_fatal;
    char why[256]; /* of the last failure */
};

/* -- the answer -------------------------------------------------------------------------------- */
static void on_token(struct sma_token_keeper *keeper, const struct sma_token *token)
{
    uint64_t now_ns = sma_ctx_now(keeper->ctx);
    if (keeper->failure_count > 0)
        sma_ctx_log(keeper->ctx, SMA_LOG_INFO,
                    "%s: there is an access token again after %u failures", keeper->health->name,
                    keeper->failure_count);
    keeper->token = *token;
    keeper->number++;
    keeper->got_ns = now_ns;
    /* its life counts from when it was handed out, at the latest from when it was asked for */
    keeper->until_ns = keeper->asked_ns + token->expires_s * SMA_NS_PER_S;
    keeper->due_ns = now_ns + keeper->ops->refresh_s(token->expires_s) * SMA_NS_PER_S;
    keeper->failure_count = 0;
    keeper->is_fatal = false;
    keeper->why[0] = '\0';
    sma_adapter_health_heal(keeper->health, SMA_CAUSE_LOGIN);
    if (keeper->is_link) /* else the connection tells */
        sma_adapter_health_up(keeper->health);
    sma_calls_go_on(keeper->calls);
}

static void tell_fatal(struct sma_token_keeper *keeper, const struct sma_login_error *error)
{
    char line[SMA_HEALTH_BYTES_MAX];
    snprintf(line, sizeof line, "%s", error->text);
    if (keeper->ops->explain != NULL)
        keeper->ops->explain(error, line);
    if (sma_adapter_health_set(keeper->health, SMA_CAUSE_LOGIN, line))
        sma_ctx_log(keeper->ctx, SMA_LOG_ERROR, "%s: %s; trying again every %u s",
                    keeper->health->name, line, keeper->ops->fatal_s);
}

static uint64_t delay_after(struct sma_token_keeper *keeper, const struct sma_login_error *error)
{
    uint64_t most_ns = keeper->ops->fatal_s * SMA_NS_PER_S;
    if (keeper->is_fatal)
        return most_ns;
    uint64_t ordered_ns =
        error->retry_after_ms > 0 ? (uint64_t)error->retry_after_ms * SMA_NS_PER_MS : 0;
    uint64_t delay_ns =
        sma_adapter_eager_backoff_ns(keeper->ctx, keeper->failure_count, BACKOFF_MAX_S);
    ordered_ns = ordered_ns < most_ns ? ordered_ns : most_ns;
    return ordered_ns > delay_ns ? ordered_ns : delay_ns;
}

static void on_failure(struct sma_token_keeper *keeper, bool is_fatal,
                       const struct sma_login_error *error)
{
    keeper->failure_count++;
    keeper->is_fatal = is_fatal;
    snprintf(keeper->why, sizeof keeper->why, "%s", error->text);
    if (keeper->is_link)
        sma_adapter_health_down(keeper->health, error->text);
    else
        sma_adapter_health_error(keeper->health, error->text);
    keeper->due_ns = sma_ctx_now(keeper->ctx) + delay_after(keeper, error);
    if (is_fatal)
        tell_fatal(keeper, error);
    else if (sma_adapter_is_worth_telling(keeper->failure_count))
        sma_ctx_log(keeper->ctx, SMA_LOG_WARN, "%s: no access token (failure %u): %s; trying again",
                    keeper->health->name, keeper->failure_count, error->text);
    sma_calls_go_on(keeper->calls); /* nobody waits for what will not come for long */
}

static void on_answer(void *state, void *user, const struct sma_net_answer *answer)
{
    struct sma_token_keeper *keeper = user;
    struct sma_token token = {0};
    struct sma_login_error error = {.code = -1, .retry_after_ms = -1};
    (void)state;
    keeper->call = NULL;
    enum sma_login login = keeper->ops->parse(answer, &token, &error);
    if (login == SMA_LOGIN_OK)
        on_token(keeper, &token);
    else
        on_failure(keeper, login == SMA_LOGIN_FATAL, &error);
    explicit_bzero(&token, sizeof token);
}

/* -- the question ------------------------------------------------------------------------------ */
static void fetch(struct sma_token_keeper *keeper)
{
    struct sma_buf url, body;
    keeper->due_ns = UINT64_MAX;
    keeper->asked_ns = sma_ctx_now(keeper->ctx);
    sma_buf_init(&url, 4096);
    sma_buf_init(&body, 8192);
    keeper->ops->put_url(keeper->state, &url);
    keeper->ops->put_body(keeper->state, &body);
    if (url.err == SMA_ERR_OK)
        keeper->call =
            sma_call_start(keeper->calls, &(struct sma_call_options){.method = "POST",
                                                                     .url = sma_buf_str(&url),
                                                                     .body = &body,
                                                                     .may_repeat = true,
                                                                     .total_ms = SMA_TOKEN_CALL_MS,
                                                                     .done = on_answer,
                                                                     .user = keeper});
    sma_buf_fini(&url);
    sma_buf_fini(&body);
    if (keeper->call == NULL)
        keeper->due_ns = keeper->asked_ns + SMA_NS_PER_S; /* out of memory */
}

void sma_token_begin(struct sma_token_keeper *keeper, bool is_link)
{
    keeper->is_link = is_link;
    fetch(keeper);
}

uint64_t sma_token_tick(struct sma_token_keeper *keeper, uint64_t now_ns)
{
    if (keeper->due_ns <= now_ns && keeper->call == NULL)
        fetch(keeper);
    return keeper->due_ns;
}

/* -- the token --------------------------------------------------------------------------------- */
struct sma_str sma_token_now(const struct sma_token_keeper *keeper, uint64_t *ret_number)
{
    *ret_number = keeper->number;
    bool is_good = keeper->token.value[0] != '\0' && sma_ctx_now(keeper->ctx) < keeper->until_ns;
    return is_good ? sma_str(keeper->token.value) : SMA_STR("");
}

void sma_token_drop(struct sma_token_keeper *keeper, uint64_t number)
{
    uint64_t now_ns = sma_ctx_now(keeper->ctx);
    if (number != keeper->number || keeper->token.value[0] == '\0')
        return; /* another one has taken its place already */
    explicit_bzero(keeper->token.value, sizeof keeper->token.value);
    bool is_young = now_ns - keeper->got_ns < SMA_TOKEN_YOUNG_S * SMA_NS_PER_S;
    keeper->young_count = is_young ? keeper->young_count + 1 : 0;
    if (keeper->call != NULL)
        return; /* the next one is on its way */
    uint64_t earliest_ns = keeper->asked_ns + SMA_TOKEN_PAUSE_MS * SMA_NS_PER_MS;
    if (keeper->young_count > 1) /* lest the two of us go in circles */
        earliest_ns += sma_adapter_backoff_ns(keeper->ctx, keeper->young_count - 1, BACKOFF_MAX_S);
    keeper->due_ns = earliest_ns > now_ns ? earliest_ns : now_ns;
    sma_ctx_request_batch_end(keeper->ctx);
}

bool sma_token_is_hopeless(const struct sma_token_keeper *keeper)
{
    return keeper->is_fatal && keeper->call == NULL;
}

const char *sma_token_why(const struct sma_token_keeper *keeper)
{
    return keeper->why;
}

/* -- made and unmade --------------------------------------------------------------------------- */
struct sma_token_keeper *sma_token_create(const struct sma_call_home *home, struct sma_calls *calls,
                                          const struct sma_token_ops *ops)
{
    struct sma_token_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL)
        return NULL;
    *keeper = (struct sma_token_keeper){.ctx = home->ctx,
                                        .calls = calls,
                                        .ops = ops,
                                        .state = home->state,
                                        .health = home->health,
                                        .due_ns = UINT64_MAX};
    return keeper;
}

void sma_token_close(struct sma_token_keeper *keeper)
{
    explicit_bzero(&keeper->token, sizeof keeper->token);
    keeper->call = NULL;
    keeper->due_ns = UINT64_MAX;
}

void sma_token_destroy(struct sma_token_keeper *keeper)
{
    if (keeper == NULL)
        return;
    sma_token_close(keeper);
    free(keeper);
}
