/* call.c — see call.h. */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX (256 * 1024)
#define URL_BYTES_MAX 8192
#define TYPE_BYTES_MAX 96

struct sma_call
{
    struct sma_calls *calls;
    struct sma_call *next, *previous;
    struct sma_net_request *request;
    struct sma_call_options options; /* path, url and body of it are in url and body below */
    struct sma_buf url, body;
    bool needs_token;
    bool is_waiting; /* for a token */
    bool is_renewed; /* repeated with another token already */
    uint64_t order, token_number, until_ns;
};
struct sma_calls
{
    struct sma_ctx *ctx;
    struct sma_net *net; /* NULL = closed */
    const struct sma_call_ops *ops;
    void *state;
    struct sma_token_keeper *token; /* NULL = the platform has none */
    struct sma_call *newest;
    size_t waiting_count;
    uint64_t order;
};

static void set_waiting(struct sma_call *call, bool is_waiting)
{
    if (call->is_waiting == is_waiting)
        return;
    call->is_waiting = is_waiting;
    if (is_waiting)
        call->calls->waiting_count++;
    else
        call->calls->waiting_count--;
}

static void wipe(struct sma_buf *buf)
{
    if (buf->ptr != NULL)
        explicit_bzero(buf->ptr, buf->len);
    sma_buf_fini(buf);
}

/* -- the end ----------------------------------------------------------------------------------- */
static void free_call(struct sma_call *call)
{
    set_waiting(call, false);
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        call->calls->newest = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    wipe(&call->url);
    wipe(&call->body);
    free(call);
}

static void end_call(struct sma_call *call, const struct sma_net_answer *answer)
{
    struct sma_calls *calls = call->calls;
    set_waiting(call, false);
    if (call->options.done != NULL)
        call->options.done(calls->state, call->options.user, answer);
    free_call(call);
    sma_ctx_request_batch_end(calls->ctx); /* the wake time may have changed */
}

static void end_unsent(struct sma_call *call, enum sma_net_end end, const char *why)
{
    end_call(call, &(struct sma_net_answer){.end = end,
                                            .status = end == SMA_NET_ANSWERED ? 204 : 0,
                                            .retry_after_ms = -1,
                                            .body = SMA_STR(""),
                                            .log_id = SMA_STR(""),
                                            .type = SMA_STR(""),
                                            .error = why});
}

/* -- sending ----------------------------------------------------------------------------------- */
static struct sma_str token_of(const struct sma_calls *calls, uint64_t *ret_number)
{
    return calls->token == NULL ? SMA_STR("") : sma_token_now(calls->token, ret_number);
}

static void proceed(struct sma_call *call);

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct sma_call *call = user;
    struct sma_calls *calls = call->calls;
    call->request = NULL;
    bool is_refused = call->needs_token && answer->end == SMA_NET_ANSWERED &&
                      calls->ops->is_token_refused(answer);
    if (is_refused)
        sma_token_drop(calls->token, call->token_number);
    if (!is_refused || call->is_renewed) {
        end_call(call, answer);
        return;
    }
    call->is_renewed = true; /* refused, so it was not carried out */
    proceed(call);
    sma_ctx_request_batch_end(calls->ctx);
}

static enum sma_err ask_net(struct sma_call *call, const char *const *headers, size_t header_count,
                            uint64_t now_ns)
{
    const struct sma_call_options *options = &call->options;
    struct sma_net_ask ask = {
        .method = options->method,
        .url = call->url.ptr,
        .headers = headers,
        .header_count = header_count,
        .body = sma_buf_str(&call->body),
        .fields = options->fields,
        .field_count = options->field_count,
        .total_ms = (uint32_t)((call->until_ns - now_ns) / SMA_NS_PER_MS) + 1,
        .answer_bytes_max =
            options->answer_bytes_max == 0 ? ANSWER_BYTES_MAX : options->answer_bytes_max,
        .may_repeat = options->may_repeat || strcmp(options->method, "GET") == 0,
        .file = options->file,
        .done = on_done,
        .user = call,
    };
    return sma_net_ask(call->calls->net, &ask, &call->request);
}

static enum sma_err send_call(struct sma_call *call, uint64_t now_ns)
{
    const struct sma_call_ops *ops = call->calls->ops;
    char own[SMA_CALL_HEADER_COUNT_MAX][SMA_CALL_HEADER_BYTES_MAX] = {{0}}, type[TYPE_BYTES_MAX];
    const char *headers[SMA_CALL_HEADER_COUNT_MAX + 1];
    const char *type_name = call->options.type == NULL ? ops->json_type : call->options.type;
    size_t count = 0;
    if (call->body.len > 0 && type_name != NULL) {
        snprintf(type, sizeof type, "Content-Type: %s", type_name);
        headers[count++] = type;
    }
    if (call->needs_token)
        ops->put_headers(call->calls->state, token_of(call->calls, &call->token_number), own);
    for (size_t i = 0; i < SMA_CALL_HEADER_COUNT_MAX; i++)
        if (own[i][0] != '\0')
            headers[count++] = own[i];
    enum sma_err err = ask_net(call, headers, count, now_ns);
    explicit_bzero(own, sizeof own);
    return err;
}

/* Send it when that is possible; else it waits for a token, or (out of memory) until its time is
 * over. */
static void proceed(struct sma_call *call)
{
    uint64_t now_ns = sma_ctx_now(call->calls->ctx), number;
    bool may_go = !call->needs_token || token_of(call->calls, &number).len > 0;
    bool is_sent = may_go && now_ns < call->until_ns && send_call(call, now_ns) == SMA_ERR_OK;
    set_waiting(call, !is_sent);
}

/* -- waiting ----------------------------------------------------------------------------------- */
static struct sma_call *find_waiting(const struct sma_calls *calls, uint64_t order_max)
{
    struct sma_call *call = calls->newest;
    while (call != NULL && (!call->is_waiting || call->order > order_max))
        call = call->next;
    return call;
}

void sma_calls_go_on(struct sma_calls *calls)
{
    struct sma_call *call;
    uint64_t number;
    if (calls->waiting_count == 0)
        return;
    /* what done() starts is newer than these; what it cancels is not found any more */
    for (uint64_t order_max = calls->order; (call = find_waiting(calls, order_max)) != NULL;) {
        bool has_token = token_of(calls, &number).len > 0;
        if (!has_token && !sma_token_is_hopeless(calls->token))
            return;
        order_max = call->order - 1;
        if (!has_token)
            end_unsent(call, SMA_NET_NOT_SENT, sma_token_why(calls->token));
        else if (call->options.is_token_only)
            end_unsent(call, SMA_NET_ANSWERED, "");
        else
            proceed(call);
    }
}

static struct sma_call *find_late(const struct sma_calls *calls, uint64_t now_ns,
                                  uint64_t *ret_next_ns)
{
    *ret_next_ns = UINT64_MAX;
    for (struct sma_call *call = calls->newest; call != NULL; call = call->next) {
        if (call->is_waiting && call->until_ns <= now_ns)
            return call;
        if (call->is_waiting && call->until_ns < *ret_next_ns)
            *ret_next_ns = call->until_ns;
    }
    return NULL;
}

uint64_t sma_calls_tick(struct sma_calls *calls, uint64_t now_ns)
{
    uint64_t token_ns = UINT64_MAX, next_ns = UINT64_MAX;
    struct sma_call *call;
    if (calls->token != NULL) {
        token_ns = sma_token_tick(calls->token, now_ns);
        sma_calls_go_on(calls);
    }
    while (calls->waiting_count > 0 && (call = find_late(calls, now_ns, &next_ns)) != NULL) {
        const char *why = calls->token == NULL ? "out of memory" : sma_token_why(calls->token);
        end_unsent(call, SMA_NET_NOT_SENT, why[0] == '\0' ? "no access token came in time" : why);
    }
    return token_ns < next_ns ? token_ns : next_ns;
}

/* -- starting ---------------------------------------------------------------------------------- */
static void put_url(struct sma_call *call)
{
    const struct sma_calls *calls = call->calls;
    sma_buf_init(&call->url, URL_BYTES_MAX);
    if (call->options.url.len > 0) {
        sma_buf_put_str(&call->url, call->options.url);
        return;
    }
    calls->ops->put_root(calls->state, &call->url);
    sma_buf_put_str(&call->url, call->options.path);
}

static struct sma_call *make_call(struct sma_calls *calls, const struct sma_call_options *options)
{
    struct sma_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    *call = (struct sma_call){
        .calls = calls,
        .next = calls->newest,
        .options = *options,
        .needs_token = calls->token != NULL && options->url.len == 0 && !options->has_no_token,
        .order = ++calls->order,
        .until_ns = sma_ctx_now(calls->ctx) + options->total_ms * SMA_NS_PER_MS,
    };
    if (calls->newest != NULL)
        calls->newest->previous = call;
    calls->newest = call;
    put_url(call);
    if (options->body != NULL) {
        call->body = *options->body;
        *options->body = (struct sma_buf){0};
    }
    return call;
}

/* @return whether it is on its way, or waits */
static bool begin_call(struct sma_call *call)
{
    uint64_t now_ns = sma_ctx_now(call->calls->ctx), number;
    if (call->url.err != SMA_ERR_OK)
        return false;
    bool has_token = token_of(call->calls, &number).len > 0;
    if (call->options.is_token_only || (call->needs_token && !has_token)) {
        set_waiting(call, true);
        sma_ctx_request_batch_end(call->calls->ctx); /* it may have to end at once */
        return true;
    }
    return send_call(call, now_ns) == SMA_ERR_OK;
}

struct sma_call *sma_call_start(struct sma_calls *calls, const struct sma_call_options *options)
{
    struct sma_call *call = NULL;
    bool has_body_failed = options->body != NULL && options->body->err != SMA_ERR_OK;
    if (calls->net != NULL && !has_body_failed)
        call = make_call(calls, options);
    if (call == NULL) {
        if (options->body != NULL)
            wipe(options->body);
        return NULL;
    }
    if (begin_call(call))
        return call;
    free_call(call);
    return NULL;
}

void sma_call_cancel(struct sma_call *call)
{
    if (call == NULL)
        return;
    if (call->request != NULL)
        sma_net_cancel(call->request);
    free_call(call);
}

bool sma_call_is_waiting(const struct sma_call *call)
{
    return call->is_waiting;
}

/* -- the token --------------------------------------------------------------------------------- */
void sma_calls_begin(struct sma_calls *calls, bool is_link)
{
    sma_token_begin(calls->token, is_link);
}

struct sma_str sma_calls_token(const struct sma_calls *calls)
{
    uint64_t number;
    return token_of(calls, &number);
}

void sma_calls_drop_token(struct sma_calls *calls)
{
    uint64_t number;
    (void)sma_token_now(calls->token, &number);
    sma_token_drop(calls->token, number);
}

/* -- made and unmade --------------------------------------------------------------------------- */
struct sma_calls *sma_calls_create(const struct sma_call_home *home, const struct sma_call_ops *ops)
{
    struct sma_calls *calls = calloc(1, sizeof *calls);
    if (calls == NULL)
        return NULL;
    *calls =
        (struct sma_calls){.ctx = home->ctx, .net = home->net, .ops = ops, .state = home->state};
    if (ops->token == NULL)
        return calls;
    calls->token = sma_token_create(home, calls, ops->token);
    if (calls->token != NULL)
        return calls;
    free(calls);
    return NULL;
}

void sma_calls_close(struct sma_calls *calls)
{
    if (calls == NULL)
        return;
    calls->net = NULL;
    while (calls->newest != NULL)
        free_call(calls->newest);
    if (calls->token != NULL)
        sma_token_close(calls->token);
}

void sma_calls_destroy(struct sma_calls *calls)
{
    if (calls == NULL)
        return;
    sma_calls_close(calls);
    sma_token_destroy(calls->token);
    free(calls);
}
