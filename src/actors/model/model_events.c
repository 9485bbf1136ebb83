/* model_events.c — what follows from what the network of the model actor has noted. */
#include "model_priv.h"

#include <curl/curl.h>

static bool is_success(const struct model_request *request)
{
    return request->http_status >= 200 && request->http_status < 300;
}

static void fail_transfer(struct model_request *request, CURLcode code)
{
    bool is_setup = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
                    code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
                    code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_ISSUER_ERROR;
    struct sma_failure failure = {
        .trouble = code == CURLE_OUT_OF_MEMORY ? SMA_FAILURE_NOMEM
                   : is_setup                  ? SMA_FAILURE_SETUP
                                               : SMA_FAILURE_UNREACHABLE,
        .llm = request->target->llm,
        .retry_after_ms = -1,
        .detail = request->curl_error[0] != '\0' ? request->curl_error : curl_easy_strerror(code),
    };
    model_fail(request, &failure);
}

static void on_ended(struct model_request *request, int result)
{
    CURLcode code = (CURLcode)result;
    if (request->state == MODEL_LINGERING) {
        model_release(request);
        return;
    }
    if (request->body.is_lost && request->http_status == 0) {
        model_end_lost(request);
        return;
    }
    bool has_data = sma_decoder_event_count(request->decoder) > 0;
    if (request->http_status == 0 || (is_success(request) && code != CURLE_OK && !has_data)) {
        fail_transfer(request, code == CURLE_OK ? CURLE_GOT_NOTHING : code);
    } else if (is_success(request)) {
        if (code == CURLE_OK && request->has_length)
            sma_decoder_end_cleanly(request->decoder);
        model_conclude(request, true);
    } else {
        model_fail_http(request);
    }
}

static void show(struct model_request *request, uint64_t now_ns)
{
    if (request->event_ns == 0) /* connected only: its deadline came nearer */
        model_wake_by(request->model, model_due(request));
    else
        model_show(request, now_ns);
}

static void on_bytes(struct model_request *request)
{
    if (request->state != MODEL_RUNNING)
        return;
    if (request->error_body.len >= MODEL_ERROR_BODY_BYTES_MAX)
        model_fail_http(request); /* the rest says no more, and may have no end */
    else if (request->error_body.len > 0)
        model_wake_by(request->model, model_due(request));
    else if (sma_decoder_is_done(request->decoder))
        model_conclude(request, false);
    else
        show(request, sma_ctx_now(request->model->ctx));
}

const struct model_net_events model_net_events = {.on_ended = on_ended, .on_bytes = on_bytes};
