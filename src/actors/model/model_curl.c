/*
 * model_curl.c — the network of the model actor: streaming transfers on the actor's HTTP out
 * (net.h).
 *
 * libcurl's callbacks only take notes (bytes to the decoder, request into the ready list); what
 * follows from them happens after libcurl has returned, because transfers may not be removed
 * inside its callbacks.
 */
#include "model_priv.h"

#include "runtime/model/address.h"
#include "sma/clock.h"
#include "sma/metrics.h"
#include "sma/net.h"
#include "sma/retry_after.h"
#include "sma/text.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

struct model_net
{
    struct sma_model *model;
    struct sma_net *out;
    struct model_request *ready; /* got bytes since libcurl was last entered */
};

/* -- from sma_net: what follows is not for here ------------------------------------------------ */
static void on_ended(void *user, int result)
{
    struct model_request *request = user;
    long status = 0;
    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    request->http_status = (int)status;
    request->is_added = false;
    request->is_nameless = result == CURLE_COULDNT_RESOLVE_HOST;
    request->model->events->on_ended(request, result);
}

static void on_pass(void *user)
{
    struct model_net *net = user;
    while (net->ready != NULL) {
        struct model_request *request = net->ready;
        net->ready = request->next_ready;
        request->is_ready = false;
        request->model->events->on_bytes(request);
    }
}

static bool is_success(const struct model_request *request)
{
    return request->http_status >= 200 && request->http_status < 300;
}

/* -- libcurl's callbacks ----------------------------------------------------------------------- */
/* libcurl has sent the request by now: note when. An interim response may have said so before. */
static void note_sent(struct model_request *request)
{
    if (request->out_ns != 0)
        return;
    curl_off_t sent_us = 0;
    curl_easy_getinfo(request->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
    request->out_ns = request->attempt_ns + (sent_us > 0 ? (uint64_t)sent_us * 1000u : 0);
    if (request->attempt_count == 1 && request->ask->round == 0 && request->ask->read_ns != 0 &&
        request->out_ns > request->ask->read_ns)
        SMA_METRIC_TIME(read_to_model, request->out_ns - request->ask->read_ns);
}

static bool read_header(struct sma_str line, const char *name, struct sma_str *ret_value)
{
    size_t len = strlen(name);
    if (line.len <= len || line.ptr[len] != ':')
        return false;
    if (!sma_str_is_equal_nocase((struct sma_str){line.ptr, len}, sma_str(name)))
        return false;
    *ret_value = sma_str_trim((struct sma_str){line.ptr + len + 1, line.len - len - 1});
    return true;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct model_request *request = user;
    struct sma_str line = {bytes, size * count}, value;
    if (request->state != MODEL_RUNNING)
        return line.len;
    if (sma_str_starts_with(line, SMA_STR("HTTP/"))) {
        note_sent(request);
        request->has_length = sma_str_starts_with(line, SMA_STR("HTTP/2"));
    } else if (read_header(line, "content-length", &value) ||
               read_header(line, "transfer-encoding", &value)) {
        request->has_length = true;
    } else if (read_header(line, "retry-after-ms", &value)) {
        int64_t wait_ms =
            sma_retry_after_parse(value, 0); /* a plain number: here of milliseconds */
        request->retry_after_ms = wait_ms < 0 ? request->retry_after_ms : wait_ms / 1000;
        request->has_retry_after_ms = wait_ms >= 0;
    } else if (read_header(line, "retry-after", &value)) {
        if (!request->has_retry_after_ms)
            request->retry_after_ms =
                sma_retry_after_parse(value, sma_ctx_wall(request->model->ctx));
    } else if (read_header(line, "x-ratelimit-reset", &value)) {
        if (request->retry_after_ms < 0) /* OpenRouter: when the limit of a day is over */
            request->retry_after_ms =
                sma_retry_reset_parse(value, sma_ctx_wall(request->model->ctx));
    } else if (read_header(line, "x-should-retry", &value)) {
        request->has_should_retry = true;
        request->should_retry = sma_str_is_equal_nocase(value, SMA_STR("true"));
    }
    return line.len;
}

static void mark_ready(struct model_request *request)
{
    struct model_net *net = request->model->net;
    if (request->is_ready)
        return;
    request->is_ready = true;
    request->next_ready = net->ready;
    net->ready = request;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct model_request *request = user;
    size_t len = size * count;
    if (request->state != MODEL_RUNNING)
        return len; /* answered: read on only to keep the connection */
    if (request->http_status == 0) {
        long status = 0;
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        request->http_status = (int)status;
    }
    uint64_t now_ns = sma_ctx_now(request->model->ctx);
    if (!is_success(request)) {
        size_t room = MODEL_ERROR_BODY_BYTES_MAX - request->error_body.len;
        sma_buf_put(&request->error_body, bytes, len < room ? len : room);
        request->event_ns = request->event_ns == 0 ? now_ns : request->event_ns;
        mark_ready(request);
        return len;
    }
    if (request->event_ns == 0 && request->target->is_patient)
        request->sent_ns = now_ns; /* comments of a server that works on it */
    sma_decoder_feed(request->decoder, bytes, len);
    uint64_t event_count = sma_decoder_event_count(request->decoder);
    if (event_count != request->event_count) {
        if (request->first_token_ns == 0) {
            request->first_token_ns = now_ns;
            SMA_METRIC_TIME(model_first_token, now_ns - request->out_ns);
        }
        request->event_count = event_count;
        request->event_ns = now_ns;
    }
    mark_ready(request);
    return len;
}

/* Connected, and the request goes out now: from here on the server may be silent for
 * first_byte_ns. */
static int on_connected(void *user, char *address, char *own_address, int port, int own_port)
{
    struct model_request *request = user;
    (void)address, (void)own_address, (void)port, (void)own_port;
    if (request->state != MODEL_RUNNING || request->sent_ns != 0)
        return CURL_PREREQFUNC_OK;
    request->sent_ns = sma_ctx_now(request->model->ctx);
    mark_ready(request);
    return CURL_PREREQFUNC_OK;
}

/* -- transfers --------------------------------------------------------------------------------- */
static enum sma_err add_header(void *user, const char *name, const char *value)
{
    struct curl_slist **list = user;
    struct sma_buf line;
    sma_buf_init(&line, 32768);
    sma_buf_printf(&line, "%s: %s", name, value);
    struct curl_slist *grown = line.err == SMA_ERR_OK ? curl_slist_append(*list, line.ptr) : NULL;
    sma_buf_fini(&line);
    if (grown == NULL)
        return SMA_ERR_NOMEM;
    *list = grown;
    return SMA_ERR_OK;
}

enum sma_err model_net_prepare(struct model_target *target)
{
    size_t count = target->key_count == 0 ? 1 : target->key_count;
    for (size_t i = 0; i < count; i++) {
        struct curl_slist *list = curl_slist_append(NULL, "Expect:");
        enum sma_err err = list == NULL
                               ? SMA_ERR_NOMEM
                               : sma_model_headers(target->llm, target->keys[i], add_header, &list);
        target->headers[i] = list;
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

void model_net_forget(struct model_target *target)
{
    for (size_t i = 0; i < SMA_KEYS_COUNT_MAX; i++)
        curl_slist_free_all(target->headers[i]);
    memset(target->headers, 0, sizeof target->headers);
}

static CURL *create_easy(struct model_request *request)
{
    CURL *easy = curl_easy_init();
    if (easy == NULL)
        return NULL;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT,
                     1L); /* cancelling must not wait for a name look-up */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "shipmyagent/" SMA_VERSION);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->curl_error);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    if (sma_net_set_trust(request->model->net->out, easy) != SMA_ERR_OK) {
        curl_easy_cleanup(easy); /* to go on would mean to trust others */
        return NULL;
    }
    return easy;
}

/* The environment's only when that is said. What runs on this machine is not asked through one. */
static CURLcode set_proxy(CURL *easy, const struct sma_config_llm *llm)
{
    if (llm->proxy != NULL && strcmp(llm->proxy, "environment") == 0) {
        CURLcode reset = curl_easy_setopt(easy, CURLOPT_NOPROXY, NULL);
        return reset == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_PROXY, NULL) : reset;
    }
    CURLcode code = curl_easy_setopt(easy, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_PROXY, llm->proxy == NULL ? "" : llm->proxy);
    return code;
}

/* While the request leaves, nobody is silent. */
static size_t on_read(char *bytes, size_t size, size_t count, void *user)
{
    struct model_request *request = user;
    size_t len = model_body_read(request, bytes, size * count);
    if (request->sent_ns != 0)
        request->sent_ns = sma_ctx_now(request->model->ctx);
    return len == SIZE_MAX ? CURL_READFUNC_ABORT : len;
}

/* Another connection, or the way back from a proxy: once more from here. */
static int on_seek(void *user, curl_off_t offset, int origin)
{
    struct model_request *request = user;
    return origin == SEEK_SET && offset >= 0 && model_body_seek(request, (uint64_t)offset)
               ? CURL_SEEKFUNC_OK
               : CURL_SEEKFUNC_FAIL;
}

static void set_body(struct model_request *request)
{
    CURL *easy = request->easy;
    bool has_files = request->ask->file_count > 0;
    curl_off_t length = (curl_off_t)(has_files ? request->body.total : request->ask->body.len);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, length);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, has_files ? NULL : request->ask->body.ptr);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, has_files ? on_read : NULL);
    curl_easy_setopt(easy, CURLOPT_READDATA, request);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, has_files ? on_seek : NULL);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, request);
}

enum sma_err model_net_start(struct model_request *request)
{
    struct model_net *net = request->model->net;
    const struct model_target *target = request->target;
    if (request->is_nameless)
        model_net_drop(request);
    request->is_nameless = false;
    if (request->easy == NULL)
        request->easy = create_easy(request);
    if (request->easy == NULL)
        return SMA_ERR_NOMEM;
    CURL *easy = request->easy;
    request->curl_error[0] = '\0';
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)sma_clock_wait_ms(target->connect_ns / 1000000u));
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, target->headers[request->key]);
    set_body(request);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->needs_new_connection ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 0L);
    if (set_proxy(easy, target->llm) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_URL, target->url) != CURLE_OK ||
        sma_net_add(net->out, easy, on_ended, request) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    request->is_added = true;
    return SMA_ERR_OK;
}

void model_net_stop(struct model_request *request)
{
    if (!request->is_added)
        return;
    request->is_added = false;
    if (request->needs_new_connection) /* of HTTP/2: or it would serve the next one */
        curl_easy_setopt(request->easy, CURLOPT_FORBID_REUSE, 1L);
    sma_net_remove(request->model->net->out, request->easy);
}

void model_net_drop(struct model_request *request)
{
    SMA_ASSERT(!request->is_added);
    if (request->easy != NULL)
        curl_easy_cleanup(request->easy);
    request->easy = NULL;
}

enum sma_err model_net_open(struct sma_model *model, struct sma_error *error)
{
    if (model->net != NULL)
        return SMA_ERR_OK;
    if (sma_ctx_loop(model->ctx) == NULL)
        return sma_fail(error, SMA_ERR_IO,
                        "this program was started for the offline model alone; restart it to ask "
                        "a model on the network");
    struct model_net *net = calloc(1, sizeof *net);
    if (net == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the model's network");
    enum sma_err err = sma_net_open(model->ctx, &net->out, error);
    if (err != SMA_ERR_OK) {
        free(net);
        return err;
    }
    net->model = model;
    sma_net_on_pass(net->out, on_pass, net);
    model->net = net;
    return SMA_ERR_OK;
}

void model_net_close(struct sma_model *model)
{
    struct model_net *net = model->net;
    if (net == NULL)
        return;
    for (struct model_request *request = model->pool; request != NULL; request = request->next)
        model_net_drop(request);
    sma_net_close(net->out);
    model->net = NULL;
    free(net);
}
