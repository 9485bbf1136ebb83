/*
 * Aim: requests go out with a token and once more when it was refused; who waits for one is told in
 * time; the platform is not asked for tokens in circles.
 * Method: the network is this file (sma_net_ask stands below); the actor runs under virtual time.
 */
#include "adapters/common/call.h"
#include "sma/actors.h"
#include "sma/links.h"
#include "sma/metrics.h"
#include "sma/sim.h"
#include "support/check.h"

#include <stdlib.h>

#define SECOND UINT64_C(1000000000)
#define TOKEN_URL "https://login.example/token"
#define ROOT "https://api.example"
#define SECRET "s3cret-of-the-app"
#define REQUEST_COUNT_MAX 256

struct sma_net_request
{
    bool is_open, is_token, may_repeat;
    char url[128], authorization[64], type[64], body[128];
    uint64_t at_ns;
    void (*done)(void *user, const struct sma_net_answer *answer);
    void *user;
};
/* How the platform answers requests for a token. */
enum login
{
    LOGIN_GIVES,
    LOGIN_BROKEN,  /* the way there: trouble that may pass */
    LOGIN_REFUSES, /* the secret */
    LOGIN_SILENT,
};
static struct
{
    struct sma_system *system;
    struct sma_ctx *ctx;
    struct sma_calls *calls;
    struct sma_adapter_health health;
    struct sma_net_request requests[REQUEST_COUNT_MAX];
    size_t request_count, token_count;
    enum login login;
    bool is_token_refused; /* by every call */
    struct sma_call *call;
    size_t done_count;
    uint64_t done_ns;
    enum sma_net_end end;
    int status;
    char why[256];
} world;

/* -- the network ------------------------------------------------------------------------------- */
enum sma_err sma_net_ask(struct sma_net *net, const struct sma_net_ask *ask,
                         struct sma_net_request **ret_request)
{
    (void)net;
    CHECK(world.request_count < REQUEST_COUNT_MAX);
    struct sma_net_request *request = &world.requests[world.request_count++];
    *request = (struct sma_net_request){.is_open = true,
                                        .is_token = strcmp(ask->url, TOKEN_URL) == 0,
                                        .may_repeat = ask->may_repeat,
                                        .at_ns = sma_sim_now(world.system),
                                        .done = ask->done,
                                        .user = ask->user};
    snprintf(request->url, sizeof request->url, "%s", ask->url);
    snprintf(request->body, sizeof request->body, "%.*s", (int)ask->body.len, ask->body.ptr);
    for (size_t i = 0; i < ask->header_count; i++) {
        if (strncmp(ask->headers[i], "Authorization: ", 15) == 0)
            snprintf(request->authorization, sizeof request->authorization, "%s",
                     ask->headers[i] + 15);
        if (strncmp(ask->headers[i], "Content-Type: ", 14) == 0)
            snprintf(request->type, sizeof request->type, "%s", ask->headers[i] + 14);
    }
    *ret_request = request;
    return SMA_ERR_OK;
}

void sma_net_cancel(struct sma_net_request *request)
{
    request->is_open = false;
}

static void answer(struct sma_net_request *request)
{
    int status = request->is_token ? (world.login == LOGIN_GIVES    ? 200
                                      : world.login == LOGIN_BROKEN ? 500
                                                                    : 401)
                                   : (world.is_token_refused ? 401 : 200);
    request->is_open = false;
    request->done(request->user, &(struct sma_net_answer){.end = SMA_NET_ANSWERED,
                                                          .status = status,
                                                          .retry_after_ms = -1,
                                                          .body = SMA_STR(""),
                                                          .error = ""});
}

/* -- the platform ------------------------------------------------------------------------------ */
static void put_root(const void *state, struct sma_buf *url)
{
    CHECK(state == &world);
    sma_buf_put_text(url, ROOT);
}

static void put_headers(const void *state, struct sma_str token,
                        char lines[SMA_CALL_HEADER_COUNT_MAX][SMA_CALL_HEADER_BYTES_MAX])
{
    (void)state;
    snprintf(lines[1], SMA_CALL_HEADER_BYTES_MAX, "Authorization: Bearer %.*s", (int)token.len,
             token.ptr);
}

static bool is_token_refused(const struct sma_net_answer *net_answer)
{
    return net_answer->status == 401;
}

static void put_token_url(const void *state, struct sma_buf *url)
{
    (void)state;
    sma_buf_put_text(url, TOKEN_URL);
}

static void put_token_body(const void *state, struct sma_buf *body)
{
    (void)state;
    sma_buf_put_text(body, SECRET);
}

static enum sma_login parse_token(const struct sma_net_answer *net_answer,
                                  struct sma_token *ret_token, struct sma_login_error *ret_error)
{
    snprintf(ret_error->text, sizeof ret_error->text, "status %d", net_answer->status);
    if (net_answer->status != 200)
        return net_answer->status == 401 ? SMA_LOGIN_FATAL : SMA_LOGIN_RETRY;
    snprintf(ret_token->value, sizeof ret_token->value, "token-%zu", ++world.token_count);
    ret_token->expires_s = 7200;
    return SMA_LOGIN_OK;
}

static uint32_t refresh_s(uint32_t expires_s)
{
    return expires_s - 60;
}

static const struct sma_token_ops token_ops = {
    .put_url = put_token_url,
    .put_body = put_token_body,
    .parse = parse_token,
    .refresh_s = refresh_s,
    .fatal_s = 600,
};
static const struct sma_call_ops call_ops = {
    .put_root = put_root,
    .json_type = "application/json; charset=utf-8",
    .put_headers = put_headers,
    .is_token_refused = is_token_refused,
    .token = &token_ops,
};

/* -- the actor --------------------------------------------------------------------------------- */
static enum sma_err actor_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    static char net; /* nobody looks into it */
    (void)error;
    world.ctx = ctx;
    sma_adapter_health_init(&world.health, ctx, "test");
    struct sma_call_home home = {ctx, (struct sma_net *)(void *)&net, state, &world.health};
    world.calls = sma_calls_create(&home, &call_ops);
    CHECK(world.calls != NULL);
    sma_calls_begin(world.calls, false);
    return SMA_ERR_OK;
}

static void actor_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)msg;
    (void)ctx;
}

/* The platform answers what is open, then time goes on. */
static void actor_batch_end(void *state, struct sma_ctx *ctx)
{
    (void)state;
    for (size_t i = 0; i < world.request_count; i++)
        if (world.requests[i].is_open &&
            !(world.requests[i].is_token && world.login == LOGIN_SILENT))
            answer(&world.requests[i]);
    uint64_t next_ns = sma_calls_tick(world.calls, sma_ctx_now(ctx));
    for (size_t i = 0; i < world.request_count; i++)
        if (world.requests[i].is_open && world.login != LOGIN_SILENT)
            next_ns = sma_ctx_now(ctx); /* asked meanwhile */
    sma_ctx_wake_at(ctx, next_ns);
}

static void actor_wake(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
}

static void actor_stop(void *state, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    sma_calls_close(world.calls);
    sma_calls_destroy(world.calls);
}

static const struct sma_actor_ops actor_ops = {
    .name = "test",
    .start = actor_start,
    .handle = actor_handle,
    .batch_end = actor_batch_end,
    .wake = actor_wake,
    .stop = actor_stop,
};

static void open_world(enum login login)
{
    memset(&world, 0, sizeof world);
    sma_metrics_reset();
    sma_links_reset();
    world.login = login;
    struct sma_system_options options = {.is_simulated = true, .seed = 11};
    struct sma_error error;
    world.system = sma_system_create(&options);
    CHECK(world.system != NULL);
    CHECK_OK(sma_system_add(world.system, SMA_ACTOR_ADAPTER_0, &actor_ops, &world));
    CHECK_OK(sma_system_start(world.system, &error));
}

static void close_world(void)
{
    sma_system_destroy(world.system);
}

static void run_s(unsigned seconds)
{
    sma_ctx_wake_at(world.ctx, sma_sim_now(world.system)); /* look at once */
    (void)sma_sim_run(world.system, 100000, sma_sim_now(world.system) + seconds * SECOND);
}

static void on_done(void *state, void *user, const struct sma_net_answer *net_answer)
{
    CHECK(state == &world && user == &world.done_count);
    world.done_count++;
    world.done_ns = sma_sim_now(world.system);
    world.end = net_answer->end;
    world.status = net_answer->status;
    world.call = NULL;
    snprintf(world.why, sizeof world.why, "%s", net_answer->error);
}

static void start_call(bool may_repeat)
{
    struct sma_buf body;
    sma_buf_init(&body, 100);
    sma_buf_put_text(&body, "{\"a\":1}");
    world.call = sma_call_start(world.calls, &(struct sma_call_options){.method = "POST",
                                                                        .path = SMA_STR("/send"),
                                                                        .body = &body,
                                                                        .may_repeat = may_repeat,
                                                                        .total_ms = 30000,
                                                                        .done = on_done,
                                                                        .user = &world.done_count});
    CHECK(world.call != NULL);
    CHECK(body.ptr == NULL); /* moved */
}

static size_t count_requests(bool is_token)
{
    size_t count = 0;
    for (size_t i = 0; i < world.request_count; i++)
        count += world.requests[i].is_token == is_token;
    return count;
}

static const struct sma_net_request *request_at(size_t index)
{
    for (size_t i = 0; i < world.request_count; i++)
        if (!world.requests[i].is_token && index-- == 0)
            return &world.requests[i];
    CHECK(false);
    return NULL;
}

/* -- cases ------------------------------------------------------------------------------------- */
static void a_call_goes_out_with_the_token(void)
{
    open_world(LOGIN_GIVES);
    run_s(1);
    start_call(false);
    run_s(1);
    CHECK_INT(1, world.done_count);
    CHECK_INT(200, world.status);
    const struct sma_net_request *request = request_at(0);
    CHECK_TEXT(ROOT "/send", request->url);
    CHECK_TEXT("Bearer token-1", request->authorization);
    CHECK_TEXT("application/json; charset=utf-8", request->type);
    CHECK_TEXT("{\"a\":1}", request->body);
    CHECK(!request->may_repeat);
    start_call(true);
    run_s(1);
    CHECK(request_at(1)->may_repeat);
    CHECK_INT(1, count_requests(true));
    close_world();
}

static void a_call_waits_for_a_token_and_goes(void)
{
    open_world(LOGIN_BROKEN);
    run_s(1);
    start_call(false);
    CHECK(sma_call_is_waiting(world.call));
    run_s(3);
    CHECK_INT(0, world.done_count);
    CHECK_INT(0, count_requests(false));
    world.login = LOGIN_GIVES;
    run_s(8);
    CHECK_INT(1, world.done_count);
    CHECK_INT(200, world.status);
    close_world();
}

static void a_call_without_a_token_ends_in_time(void)
{
    open_world(LOGIN_BROKEN);
    run_s(1);
    uint64_t from_ns = sma_sim_now(world.system);
    start_call(false);
    run_s(60);
    CHECK_INT(1, world.done_count);
    CHECK_INT(SMA_NET_NOT_SENT, world.end);
    CHECK_TEXT("status 500", world.why);
    CHECK_INT(30, (world.done_ns - from_ns) / SECOND);
    close_world();
}

static void nobody_waits_for_a_refused_secret(void)
{
    open_world(LOGIN_REFUSES);
    start_call(false);
    run_s(1);
    CHECK_INT(1, world.done_count);
    CHECK_INT(SMA_NET_NOT_SENT, world.end);
    CHECK_TEXT("status 401", world.why);
    CHECK(sma_adapter_health_has(&world.health, SMA_CAUSE_LOGIN));
    start_call(false); /* the next one is told as soon */
    run_s(1);
    CHECK_INT(2, world.done_count);
    CHECK_INT(1, count_requests(true));
    world.login = LOGIN_GIVES;
    run_s(600);
    CHECK_INT(2, count_requests(true));
    CHECK(!sma_adapter_health_has(&world.health, SMA_CAUSE_LOGIN));
    close_world();
}

static void a_refused_token_is_replaced_and_the_call_repeated_once(void)
{
    open_world(LOGIN_GIVES);
    run_s(60);
    world.is_token_refused = true;
    start_call(false); /* refused, so not carried out: also what may be sent only once */
    run_s(10);
    CHECK_INT(1, world.done_count);
    CHECK_INT(401, world.status);
    CHECK_INT(2, count_requests(false));
    CHECK_TEXT("Bearer token-1", request_at(0)->authorization);
    CHECK_TEXT("Bearer token-2", request_at(1)->authorization);
    CHECK_TEXT("{\"a\":1}", request_at(1)->body);
    world.is_token_refused = false;
    start_call(false);
    run_s(10);
    CHECK_INT(200, world.status);
    close_world();
}

/* A platform that hands out tokens and takes none: every call asks for two. */
static void refused_tokens_are_not_fetched_in_circles(void)
{
    open_world(LOGIN_GIVES);
    run_s(1);
    world.is_token_refused = true;
    for (unsigned i = 0; i < 120; i++) {
        if (world.call == NULL)
            start_call(false);
        run_s(1);
    }
    CHECK(count_requests(true) >= 4); /* but it goes on trying */
    CHECK(count_requests(true) <= 12);
    close_world();
}

static void a_token_is_renewed_before_its_end(void)
{
    open_world(LOGIN_GIVES);
    run_s(7139);
    CHECK_INT(1, count_requests(true));
    run_s(2);
    CHECK_INT(2, count_requests(true));
    CHECK_STR("token-2", sma_calls_token(world.calls));
    sma_calls_drop_token(world.calls);
    CHECK_STR("", sma_calls_token(world.calls));
    run_s(2);
    CHECK_STR("token-3", sma_calls_token(world.calls));
    close_world();
}

static void what_is_cancelled_is_not_answered(void)
{
    open_world(LOGIN_SILENT);
    run_s(1);
    start_call(false);
    sma_call_cancel(world.call); /* while it waits */
    world.login = LOGIN_GIVES;
    run_s(20);
    start_call(false);
    sma_call_cancel(world.call); /* while it is on its way */
    run_s(60);
    CHECK_INT(0, world.done_count);
    close_world();
}

static void what_needs_no_token_waits_for_none(void)
{
    open_world(LOGIN_SILENT);
    world.login = LOGIN_BROKEN;
    CHECK(sma_call_start(world.calls, &(struct sma_call_options){.method = "GET",
                                                                 .url = SMA_STR("https://x/file"),
                                                                 .total_ms = 1000,
                                                                 .done = on_done,
                                                                 .user = &world.done_count}) !=
          NULL);
    CHECK(sma_call_start(world.calls, &(struct sma_call_options){.method = "GET",
                                                                 .path = SMA_STR("/where"),
                                                                 .has_no_token = true,
                                                                 .total_ms = 1000,
                                                                 .done = on_done,
                                                                 .user = &world.done_count}) !=
          NULL);
    run_s(1);
    CHECK_INT(2, world.done_count);
    CHECK_TEXT("https://x/file", request_at(0)->url);
    CHECK_TEXT(ROOT "/where", request_at(1)->url);
    for (size_t i = 0; i < 2; i++) {
        CHECK_TEXT("", request_at(i)->authorization);
        CHECK(request_at(i)->may_repeat); /* a GET always may */
    }
    close_world();
}

int main(void)
{
    RUN(a_call_goes_out_with_the_token);
    RUN(a_call_waits_for_a_token_and_goes);
    RUN(a_call_without_a_token_ends_in_time);
    RUN(nobody_waits_for_a_refused_secret);
    RUN(a_refused_token_is_replaced_and_the_call_repeated_once);
    RUN(refused_tokens_are_not_fetched_in_circles);
    RUN(a_token_is_renewed_before_its_end);
    RUN(what_is_cancelled_is_not_answered);
    RUN(what_needs_no_token_waits_for_none);
    return check_summary();
}
