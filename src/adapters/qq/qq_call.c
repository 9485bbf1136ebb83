/* qq_call.c — one request to the platform. The token is put in here, and got anew when it is
 * refused. */
#include "qq_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX (256 * 1024)
#define URL_BYTES_MAX 8192
#define HEADER_BYTES_MAX (QQ_TOKEN_BYTES_MAX + 64)

struct qq_call
{
    struct qq *qq;
    struct qq_call *next, *previous;
    struct sma_net_request *request;
    bool is_waiting; /* for a token */
    bool needs_token, is_token_only, is_once;
    bool is_renewed; /* repeated with another token already */
    uint64_t order, token_number, until_ns;
    const char *method, *type;
    char *url;
    struct sma_buf body;
    int file;
    size_t answer_bytes_max;
    qq_call_fn *done;
    void *user;
};

static void set_waiting(struct qq_call *call, bool is_waiting)
{
    if (call->is_waiting == is_waiting)
        return;
    call->is_waiting = is_waiting;
    if (is_waiting)
        call->qq->call_waiting_count++;
    else
        call->qq->call_waiting_count--;
}

static void free_call(struct qq_call *call)
{
    set_waiting(call, false);
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        call->qq->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    if (call->body.ptr != NULL)
        explicit_bzero(call->body.ptr, call->body.len); /* the token request's holds the secret */
    sma_buf_fini(&call->body);
    free(call->url);
    free(call);
}

static void end_call(struct qq_call *call, const struct sma_net_answer *answer)
{
    struct qq *qq = call->qq;
    set_waiting(call, false);
    if (call->done != NULL)
        call->done(qq, call->user, answer);
    free_call(call);
    sma_ctx_request_batch_end(qq->ctx); /* the wake time may have changed */
}

static void end_not_sent(struct qq_call *call, const char *why)
{
    end_call(call,
             &(struct sma_net_answer){.end = SMA_NET_NOT_SENT, .retry_after_ms = -1, .error = why});
}

/* -- sending ----------------------------------------------------------------------------------- */
static bool is_token_refused(const struct qq_call *call, const struct sma_net_answer *answer)
{
    bool may_be = call->needs_token && answer->end == SMA_NET_ANSWERED && answer->status >= 400;
    if (!may_be)
        return false;
    struct qq_outcome outcome;
    qq_classify(answer, &(struct qq_asked){0}, &outcome);
    return outcome.is_token_invalid;
}

static void proceed(struct qq_call *call);

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct qq_call *call = user;
    struct qq *qq = call->qq;
    call->request = NULL;
    if (is_token_refused(call, answer)) {
        qq_token_drop(qq, call->token_number);
        if (!call->is_renewed) { /* refused, so it was not carried out */
            call->is_renewed = true;
            proceed(call);
            sma_ctx_request_batch_end(qq->ctx);
            return;
        }
    }
    end_call(call, answer);
}

static enum sma_err ask(struct qq_call *call, uint64_t now_ns)
{
    char authorization[HEADER_BYTES_MAX] = "", app[80], type[80];
    const char *headers[3];
    size_t count = 0;
    struct sma_str token = qq_token_now(call->qq);
    if (call->body.len > 0) {
        snprintf(type, sizeof type, "Content-Type: %s",
                 call->type == NULL ? "application/json; charset=utf-8" : call->type);
        headers[count++] = type;
    }
    if (call->needs_token) {
        snprintf(authorization, sizeof authorization, "Authorization: QQBot %s", token.ptr);
        snprintf(app, sizeof app, "X-Union-Appid: %s", call->qq->settings.app_id);
        headers[count++] = authorization;
        headers[count++] = app;
        call->token_number = call->qq->token.number;
    }
    struct sma_net_ask net_ask = {
        .method = call->method,
        .url = call->url,
        .headers = headers,
        .header_count = count,
        .body = sma_buf_str(&call->body),
        .total_ms = (uint32_t)((call->until_ns - now_ns) / QQ_NS_PER_MS) + 1,
        .answer_bytes_max = call->answer_bytes_max,
        .may_repeat = !call->is_once,
        .file = call->file,
        .done = on_done,
        .user = call,
    };
    enum sma_err err = sma_net_ask(call->qq->base.net, &net_ask, &call->request);
    explicit_bzero(authorization, sizeof authorization);
    return err;
}

/* Send it when that is possible; else it waits for a token, or (out of memory) until its time is
 * over. */
static void proceed(struct qq_call *call)
{
    uint64_t now_ns = sma_ctx_now(call->qq->ctx);
    bool may_go = !call->needs_token || qq_token_now(call->qq).len > 0;
    if (may_go && now_ns < call->until_ns && ask(call, now_ns) == SMA_ERR_OK)
        set_waiting(call, false);
    else
        set_waiting(call, true);
}

static struct qq_call *find_waiting(const struct qq *qq, uint64_t order_max)
{
    struct qq_call *call = qq->calls; /* the newest stands first */
    while (call != NULL && (!call->is_waiting || call->order > order_max))
        call = call->next;
    return call;
}

void qq_calls_token(struct qq *qq, const char *why)
{
    struct qq_call *call;
    /* what done() starts is newer than these; what it cancels is not found any more */
    for (uint64_t order_max = qq->call_order; (call = find_waiting(qq, order_max)) != NULL;) {
        order_max = call->order - 1;
        if (why != NULL)
            end_not_sent(call, why);
        else if (call->is_token_only)
            end_call(call, &(struct sma_net_answer){.end = SMA_NET_ANSWERED,
                                                    .status = 204,
                                                    .retry_after_ms = -1,
                                                    .error = ""});
        else
            proceed(call);
    }
}

uint64_t qq_calls_tick(struct qq *qq, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    if (qq->call_waiting_count == 0)
        return next_ns;
    for (struct qq_call *call = qq->calls; call != NULL;) {
        if (call->is_waiting && call->until_ns <= now_ns) {
            const char *trouble = qq->token.trouble;
            end_not_sent(call, trouble[0] == '\0' ? "no access token came in time" : trouble);
            call = qq->calls; /* done() may have changed the list anywhere */
            continue;
        }
        if (call->is_waiting)
            next_ns = call->until_ns < next_ns ? call->until_ns : next_ns;
        call = call->next;
    }
    return next_ns;
}

/* -- starting ---------------------------------------------------------------------------------- */
static char *make_url(const struct qq *qq, const struct qq_call_options *options)
{
    struct sma_buf url;
    sma_buf_init(&url, URL_BYTES_MAX);
    if (options->url.len > 0) {
        sma_buf_put_str(&url, options->url);
    } else {
        sma_buf_put_text(&url, qq->settings.api_root);
        sma_buf_put_str(&url, options->path);
    }
    if (url.err != SMA_ERR_OK) {
        sma_buf_fini(&url);
        return NULL;
    }
    return sma_buf_take(&url);
}

static struct qq_call *make_call(struct qq *qq, const struct qq_call_options *options)
{
    struct qq_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    *call = (struct qq_call){
        .qq = qq,
        .next = qq->calls,
        .order = ++qq->call_order,
        .needs_token = options->url.len == 0,
        .is_token_only = options->is_token_only,
        .is_once = options->is_once,
        .until_ns = sma_ctx_now(qq->ctx) + options->total_ms * QQ_NS_PER_MS,
        .method = options->method,
        .type = options->type,
        .url = make_url(qq, options),
        .file = options->file,
        .answer_bytes_max =
            options->answer_bytes_max == 0 ? ANSWER_BYTES_MAX : options->answer_bytes_max,
        .done = options->done,
        .user = options->user,
    };
    if (qq->calls != NULL)
        qq->calls->previous = call;
    qq->calls = call;
    if (options->body != NULL) {
        call->body = *options->body;
        *options->body = (struct sma_buf){0};
    }
    return call;
}

struct qq_call *qq_call_start(struct qq *qq, const struct qq_call_options *options)
{
    struct qq_call *call =
        qq->base.net == NULL || (options->body != NULL && options->body->err != SMA_ERR_OK)
            ? NULL
            : make_call(qq, options);
    if (call == NULL) {
        if (options->body != NULL)
            sma_buf_fini(options->body);
        return NULL;
    }
    if (call->url == NULL) {
        free_call(call);
        return NULL;
    }
    if (call->is_token_only || (call->needs_token && qq_token_now(qq).len == 0)) {
        set_waiting(call, true);
        return call;
    }
    if (ask(call, sma_ctx_now(qq->ctx)) == SMA_ERR_OK)
        return call;
    free_call(call);
    return NULL;
}

void qq_call_cancel(struct qq_call *call)
{
    if (call == NULL)
        return;
    if (call->request != NULL)
        sma_net_cancel(call->request);
    free_call(call);
}

void qq_calls_forget(struct qq *qq)
{
    while (qq->calls != NULL)
        free_call(qq->calls);
}
