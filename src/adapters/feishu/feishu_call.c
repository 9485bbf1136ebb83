/*
 * feishu_call.c — one request to the platform: with a token, waiting for one when there is none,
 * and once more with a new one when the platform refuses the old.
 */
#include "feishu_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX (256 * 1024)
#define CODE_BYTES_MAX 65536 /* an answer larger than this is no refusal */
#define URL_BYTES_MAX 8192

struct feishu_call
{
    struct feishu *feishu;
    struct feishu_call *next, *previous;
    struct sma_net_request *request;    /* NULL while it waits for a token */
    struct feishu_call_options options; /* slices: into text */
    uint64_t until_ns;
    unsigned token_generation;
    bool is_waiting, is_repeated;
    char text[]; /* path, NUL, body */
};

static void free_call(struct feishu_call *call)
{
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        call->feishu->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    explicit_bzero(call->text, call->options.path.len + call->options.body.len +
                                   1); /* the token request's holds the secret */
    free(call);
}

static void finish(struct feishu_call *call, const struct sma_net_answer *answer)
{
    struct feishu *feishu = call->feishu;
    call->request = NULL;
    call->is_waiting = false;
    if (call->options.done != NULL)
        call->options.done(feishu, call->options.user, answer);
    free_call(call);
    sma_ctx_request_batch_end(feishu->ctx); /* the wake time may have changed */
}

static void fail(struct feishu_call *call, const char *why)
{
    finish(call, &(struct sma_net_answer){.end = SMA_NET_NOT_SENT,
                                          .retry_after_ms = -1,
                                          .body = SMA_STR(""),
                                          .log_id = SMA_STR(""),
                                          .type = SMA_STR(""),
                                          .error = why});
}

static bool is_token_refused(const struct feishu_call *call, const struct sma_net_answer *answer)
{
    if (call->options.has_no_token || call->is_repeated || answer->end != SMA_NET_ANSWERED ||
        answer->body.len == 0 || answer->body.len > CODE_BYTES_MAX)
        return false;
    struct feishu_outcome outcome;
    feishu_classify(answer, &outcome);
    return outcome.is_token_invalid;
}

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct feishu_call *call = user;
    if (!is_token_refused(call, answer)) {
        finish(call, answer);
        return;
    }
    struct feishu *feishu = call->feishu;
    call->request = NULL;
    call->is_waiting = call->is_repeated = true;
    feishu_token_drop(feishu, call->token_generation);
    sma_ctx_request_batch_end(feishu->ctx);
}

/* @return whether it is on its way */
static bool send_with(struct feishu_call *call, const char *token)
{
    const struct feishu_call_options *options = &call->options;
    char authorization[FEISHU_TOKEN_BYTES_MAX + 32];
    const char *headers[2];
    size_t header_count = 0;
    uint64_t now_ns = sma_ctx_now(call->feishu->ctx);
    uint64_t left_ms = call->until_ns > now_ns ? (call->until_ns - now_ns) / FEISHU_NS_PER_MS : 0;
    struct sma_buf url;
    sma_buf_init(&url, URL_BYTES_MAX);
    sma_buf_put_text(&url, call->feishu->settings.domain);
    sma_buf_put_str(&url, options->path);
    if (options->body.len > 0)
        headers[header_count++] = "Content-Type: application/json; charset=utf-8";
    if (token != NULL) {
        snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", token);
        headers[header_count++] = authorization;
    }
    struct sma_net_ask ask = {
        .method = options->method,
        .url = url.ptr,
        .headers = headers,
        .header_count = header_count,
        .body = options->body,
        .fields = options->fields,
        .field_count = options->field_count,
        .total_ms = left_ms > 0 ? (uint32_t)left_ms : 1,
        .may_repeat = options->may_repeat,
        .answer_bytes_max =
            options->answer_bytes_max == 0 ? ANSWER_BYTES_MAX : options->answer_bytes_max,
        .file = options->file,
        .done = on_done,
        .user = call,
    };
    bool is_asked = url.err == SMA_ERR_OK &&
                    sma_net_ask(call->feishu->base.net, &ask, &call->request) == SMA_ERR_OK;
    if (token != NULL)
        explicit_bzero(authorization, sizeof authorization);
    sma_buf_fini(&url);
    return is_asked;
}

struct feishu_call *feishu_call_start(struct feishu *feishu,
                                      const struct feishu_call_options *options)
{
    if (feishu->base.net == NULL)
        return NULL;
    struct feishu_call *call = malloc(sizeof *call + options->path.len + options->body.len + 2);
    if (call == NULL)
        return NULL;
    *call = (struct feishu_call){
        .feishu = feishu,
        .next = feishu->calls,
        .options = *options,
        .until_ns = sma_ctx_now(feishu->ctx) + options->total_ms * FEISHU_NS_PER_MS,
    };
    call->options.path.ptr = call->text;
    memcpy(call->text, options->path.ptr, options->path.len);
    call->options.body.ptr = call->text + options->path.len + 1;
    if (options->body.len > 0)
        memcpy(call->text + options->path.len + 1, options->body.ptr, options->body.len);
    if (feishu->calls != NULL)
        feishu->calls->previous = call;
    feishu->calls = call;
    const char *token =
        options->has_no_token ? NULL : feishu_token_get(feishu, &call->token_generation);
    if (!options->has_no_token && token == NULL) {
        call->is_waiting = true;
        sma_ctx_request_batch_end(feishu->ctx); /* it may have to end at once */
        return call;
    }
    if (send_with(call, token))
        return call;
    free_call(call);
    return NULL;
}

static struct feishu_call *first_waiting(const struct feishu *feishu, uint64_t until_ns)
{
    struct feishu_call *call = feishu->calls;
    while (call != NULL && !(call->is_waiting && call->until_ns <= until_ns))
        call = call->next;
    return call;
}

void feishu_calls_go_on(struct feishu *feishu)
{
    struct feishu_call *call;
    /* from the front each time: the end of one may start and cancel others */
    while ((call = first_waiting(feishu, UINT64_MAX)) != NULL) {
        const char *token = feishu_token_get(feishu, &call->token_generation);
        if (token == NULL && !feishu_token_is_hopeless(feishu))
            return;
        call->is_waiting = false;
        if (token == NULL)
            fail(call, feishu->tenant.why);
        else if (!send_with(call, token))
            fail(call, "out of memory");
    }
}

uint64_t feishu_calls_tick(struct feishu *feishu, uint64_t now_ns)
{
    struct feishu_call *call;
    uint64_t next_ns = UINT64_MAX;
    feishu_calls_go_on(feishu);
    while ((call = first_waiting(feishu, now_ns)) != NULL) {
        call->is_waiting = false;
        fail(call,
             feishu->tenant.why[0] != '\0' ? feishu->tenant.why : "no access token came in time");
    }
    for (call = feishu->calls; call != NULL; call = call->next)
        if (call->is_waiting && call->until_ns < next_ns)
            next_ns = call->until_ns;
    return next_ns;
}

void feishu_call_cancel(struct feishu_call *call)
{
    if (call == NULL)
        return;
    if (call->request != NULL)
        sma_net_cancel(call->request);
    free_call(call);
}

bool feishu_call_is_waiting(const struct feishu_call *call)
{
    return call->is_waiting;
}

void feishu_calls_forget(struct feishu *feishu)
{
    while (feishu->calls != NULL)
        free_call(feishu->calls);
}
