/* telegram_call.c — one request to the Bot API: the URL with the token is made here and shown to
 * nobody. */
#include "telegram_priv.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX (256 * 1024)
#define URL_BYTES_MAX 8192

struct telegram_call
{
    struct telegram *telegram;
    struct telegram_call *next, *previous;
    struct sma_net_request *request;
    telegram_call_fn *done;
    void *user;
    size_t body_len;
    char body[];
};

static void unlink_call(struct telegram_call *call)
{
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        call->telegram->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
}

static void free_call(struct telegram_call *call)
{
    unlink_call(call);
    free(call);
}

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct telegram_call *call = user;
    struct telegram *telegram = call->telegram;
    call->request = NULL;
    if (call->done != NULL)
        call->done(telegram, call->user, answer);
    free_call(call);
    sma_ctx_request_batch_end(telegram->ctx); /* the wake time may have changed */
}

/* A path of the platform's into a URL: everything but the plain characters is escaped. */
static void put_escaped_path(struct sma_buf *url, struct sma_str path)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~/";
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] != '\0' && strchr(plain, path.ptr[i]) != NULL)
            sma_buf_put_char(url, path.ptr[i]);
        else
            sma_buf_printf(url, "%%%02X", (unsigned)(unsigned char)path.ptr[i]);
}

static void put_url(struct sma_buf *url, const struct telegram *telegram,
                    const struct telegram_call_options *options)
{
    const struct telegram_settings *settings = &telegram->settings;
    bool is_file = options->file_path.len > 0;
    sma_buf_put_text(url, settings->api_root);
    sma_buf_put_text(url, is_file ? "/file/bot" : "/bot");
    sma_buf_put_text(url, settings->token);
    sma_buf_put_char(url, '/');
    if (is_file)
        put_escaped_path(url, options->file_path);
    else
        sma_buf_put_text(url, options->method);
}

static bool ask(struct telegram_call *call, const struct telegram_call_options *options)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    struct sma_buf url;
    sma_buf_init(&url, URL_BYTES_MAX);
    put_url(&url, call->telegram, options);
    bool is_get = options->file_path.len > 0, is_form = options->field_count > 0;
    struct sma_net_ask net_ask = {
        .method = is_get ? "GET" : "POST",
        .url = url.ptr,
        .headers = is_get || is_form ? NULL : headers,
        .header_count = is_get || is_form ? 0 : SMA_COUNT_OF(headers),
        .body = {call->body, call->body_len},
        .fields = options->fields,
        .field_count = options->field_count,
        .may_repeat = !options->is_once,
        .total_ms = options->total_ms,
        .answer_bytes_max =
            options->answer_bytes_max == 0 ? ANSWER_BYTES_MAX : options->answer_bytes_max,
        .file = options->file,
        .done = on_done,
        .user = call,
    };
    bool is_asked = url.err == SMA_ERR_OK &&
                    sma_net_ask(call->telegram->base.net, &net_ask, &call->request) == SMA_ERR_OK;
    if (url.ptr != NULL)
        explicit_bzero(url.ptr, url.len);
    sma_buf_fini(&url);
    return is_asked;
}

struct telegram_call *telegram_call_start(struct telegram *telegram,
                                          const struct telegram_call_options *options)
{
    if (telegram->base.net == NULL)
        return NULL;
    struct telegram_call *call = malloc(sizeof *call + options->body.len);
    if (call == NULL)
        return NULL;
    *call = (struct telegram_call){.telegram = telegram,
                                   .next = telegram->calls,
                                   .done = options->done,
                                   .user = options->user,
                                   .body_len = options->body.len};
    if (options->body.len > 0)
        memcpy(call->body, options->body.ptr, options->body.len);
    if (telegram->calls != NULL)
        telegram->calls->previous = call;
    telegram->calls = call;
    if (ask(call, options))
        return call;
    free_call(call);
    return NULL;
}

void telegram_call_cancel(struct telegram_call *call)
{
    if (call == NULL)
        return;
    if (call->request != NULL)
        sma_net_cancel(call->request);
    free_call(call);
}

void telegram_calls_forget(struct telegram *telegram)
{
    while (telegram->calls != NULL)
        free_call(telegram->calls);
}

void telegram_describe(const struct sma_net_answer *answer, char text[200])
{
    text[0] = '\0';
    json_t *root =
        answer->body.len == 0 ? NULL : json_loadb(answer->body.ptr, answer->body.len, 0, NULL);
    const json_t *description = json_object_get(root, "description");
    struct sma_str value = {json_string_value(description), json_string_length(description)};
    if (value.ptr != NULL) {
        size_t len = sma_utf8_cut(value, 199);
        memcpy(text, value.ptr, len);
        text[len] = '\0';
    }
    json_decref(root);
}

json_t *telegram_result(const struct sma_net_answer *answer, json_t **ret_root)
{
    *ret_root = NULL;
    if (answer->end != SMA_NET_ANSWERED || answer->status != 200 || answer->body.len == 0)
        return NULL;
    json_t *root = json_loadb(answer->body.ptr, answer->body.len, 0, NULL);
    *ret_root = root;
    return json_is_true(json_object_get(root, "ok")) ? json_object_get(root, "result") : NULL;
}

uint64_t telegram_backoff_ns(struct telegram *telegram, unsigned failure_count)
{
    return sma_adapter_backoff_ns(telegram->ctx, failure_count, TELEGRAM_BACKOFF_MAX_S);
}
