/*
 * model_attempt.c — the attempts of one request: begun, judged when they fail, repeated with the
 * same key or the next one, and ended. See model_priv.h.
 *
 * Three things may help a failed attempt here: another key of the same provider, at once (the key
 * was refused or has its limit); a repeat after a short wait (it may pass: at most
 * SMA_MODEL_RETRY_COUNT_MAX); a repeat on a new connection (nothing
 * was heard: once, because each such attempt holds its run for the whole first_byte_ns). Whatever
 * takes longer is the run's.
 */
#include "model_priv.h"

#include "runtime/model/request_scan.h"
#include "sma/metrics.h"
#include "sma/text.h"

#include <stdio.h>

#define MS 1000000u
#define SECOND UINT64_C(1000000000)

/* -- time -------------------------------------------------------------------------------------- */
/* Since what, and for how long, an attempt may be silent now. */
static uint64_t silence_end(const struct model_request *request)
{
    const struct model_target *target = request->target;
    if (request->event_ns == 0 && request->sent_ns == 0)
        return request->attempt_ns + target->connect_ns + target->first_byte_ns;
    if (request->event_ns == 0)
        return request->sent_ns + target->first_byte_ns;
    /* Of an error the status says the most: a slow body must not hold the run's slot. */
    if (request->error_body.len > 0 || sma_decoder_is_finishing(request->decoder)) {
        uint64_t limit_ns = MODEL_FINISHING_S * SECOND;
        return request->event_ns + (limit_ns < target->idle_ns ? limit_ns : target->idle_ns);
    }
    return request->event_ns + target->idle_ns;
}

uint64_t model_due(const struct model_request *request)
{
    uint64_t total_end = request->begin_ns + request->target->total_ns;
    uint64_t due = request->due_ns;
    if (request->state == MODEL_RUNNING)
        due = silence_end(request);
    if (request->state == MODEL_RUNNING && request->has_delta && request->delta_due_ns < due)
        due = request->delta_due_ns;
    return request->state != MODEL_LINGERING && total_end < due ? total_end : due;
}

/* -- the end ----------------------------------------------------------------------------------- */
static void answer_so_far(struct model_request *request, struct model_outcome *outcome)
{
    outcome->attempt_count = request->attempt_count;
    outcome->block_id = request->block_id;
    outcome->begin_ns = request->begin_ns;
    outcome->out_ns = request->out_ns;
    outcome->first_token_ns = request->first_token_ns;
    model_answer(request->model, request->target, request->question, outcome);
}

/* A provider bills what it has read and said, although the attempt failed or is not wanted any
 * more. While a repeat is waited for, the last attempt has been counted. */
void model_count_attempt(struct model_request *request)
{
    if (request->state == MODEL_RUNNING)
        sma_usage_add(&request->usage, &sma_decoder_finish(request->decoder)->usage);
}

void model_end(struct model_request *request, struct model_outcome *outcome)
{
    outcome->usage = request->usage;
    answer_so_far(request, outcome);
    model_release(request);
}

static void end_failed(struct model_request *request, enum sma_model_failure trouble,
                       int64_t retry_after_ms, struct sma_str error)
{
    struct model_outcome outcome = {
        .status = SMA_MODEL_FAILED,
        .http_status = request->http_status,
        .trouble = trouble,
        .retry_after_ms = retry_after_ms,
        .error = error,
    };
    model_end(request, &outcome);
}

static void end_judged(struct model_request *request, const struct sma_failure_verdict *verdict,
                       struct sma_str line)
{
    struct model_outcome outcome = {
        .status = verdict->retry == SMA_RETRY_CONTEXT_LENGTH ? SMA_MODEL_CONTEXT_LENGTH
                                                             : SMA_MODEL_FAILED,
        .http_status = request->http_status,
        .trouble = verdict->trouble,
        .retry_after_ms = verdict->retry_after_ms,
        .refused_member = sma_str(verdict->refused_member),
        .is_unexplained = verdict->is_unexplained,
        .window_tokens = verdict->window_tokens,
        .error = line,
    };
    model_end(request, &outcome);
}

void model_end_lost(struct model_request *request)
{
    struct sma_str path = request->ask->files[request->body.number].path;
    char line[512];
    int len = snprintf(line, sizeof line, "a file of the request is gone or was changed: %.*s",
                       (int)(path.len < 400 ? path.len : 400), path.ptr);
    struct model_outcome outcome = {
        .status = SMA_MODEL_FAILED,
        .trouble = SMA_MODEL_FAILURE_FILE,
        .retry_after_ms = -1,
        .refused_member = path,
        .error = {line, (size_t)len},
    };
    model_end(request, &outcome);
}

/* -- an attempt -------------------------------------------------------------------------------- */
static bool is_busy(const struct model_request *request)
{
    const struct model_request *head = &request->model->open;
    for (const struct model_request *at = head->next; at != head; at = at->next)
        if (at != request && at->target == request->target && at->state == MODEL_RUNNING)
            return true;
    return false;
}

/* Its server does one thing at a time: it waits until model_release lets it go. */
static void queue(struct model_request *request)
{
    request->state = MODEL_WAITING;
    request->is_queued = true;
    request->due_ns = UINT64_MAX;
    model_wake_by(request->model, model_due(request));
}

static void begin_attempt(struct model_request *request)
{
    if (request->target->is_serial && is_busy(request)) {
        queue(request);
        return;
    }
    request->is_queued = false;
    sma_decoder_reset(request->decoder, model_id_seed(request->ask));
    sma_decoder_set_request(request->decoder, request->ask->body);
    sma_decoder_set_forms(request->decoder, request->ask->forms);
    sma_buf_clear(&request->error_body);
    request->attempt_ns = sma_ctx_now(request->model->ctx);
    request->sent_ns = request->event_ns = request->event_count = 0;
    request->delta_ns = request->delta_due_ns = 0;
    request->out_ns = request->first_token_ns = 0;
    request->delta_len = 0;
    request->has_delta = request->is_delta_send = false;
    request->http_status = 0;
    request->retry_after_ms = -1;
    request->has_retry_after_ms = request->has_should_retry = false;
    request->state = MODEL_RUNNING;
    request->attempt_count++;
    SMA_METRIC_ADD(model_requests_total, 1);
    if (request->ask->file_count > 0 && !model_body_begin(request)) {
        model_end_lost(request);
        return;
    }
    if (model_net_start(request) != SMA_ERR_OK) {
        end_failed(request, SMA_MODEL_FAILURE_SETUP, -1,
                   SMA_STR("cannot start a model request: out of memory or descriptors"));
        return;
    }
    model_wake_by(request->model, model_due(request));
    if (request->attempt_count == 1)
        model_block_request(request);
}

/* -- keys -------------------------------------------------------------------------------------- */
/* The key for the next attempt. With one key there is no choice, and whether to rest is the run's
 * to decide. */
static bool choose_key(struct model_request *request, struct sma_key_rest *ret_rest)
{
    struct model_target *target = request->target;
    if (target->key_count <= 1) {
        request->key = 0;
        return true;
    }
    struct sma_str chat = request->ask->chat_key;
    struct sma_key_ask ask = {
        .keys = target->key_ids,
        .count = target->key_count,
        .model = target->model_id,
        .chat = sma_keys_id(SMA_STR("chat"), chat.len == 0 ? SMA_STR("") : chat),
        .now_ns = sma_ctx_now(request->model->ctx),
    };
    return sma_keys_pick(&request->model->keys, &ask, &request->key, ret_rest);
}

static void end_without_key(struct model_request *request, const struct sma_key_rest *rest,
                            struct sma_str why)
{
    uint64_t now_ns = sma_ctx_now(request->model->ctx);
    int64_t wait_ms = rest->end_ns > now_ns ? (int64_t)((rest->end_ns - now_ns + MS - 1) / MS) : 0;
    char line[512];
    int len = snprintf(line, sizeof line,
                       "all %zu keys of provider %s rest (%s), the first for %lld s more%s%.*s",
                       request->target->key_count, request->target->llm->provider,
                       rest->trouble == SMA_MODEL_FAILURE_RATE    ? "limit of rate"
                       : rest->trouble == SMA_MODEL_FAILURE_QUOTA ? "no money left"
                                                                  : "refused",
                       (long long)((wait_ms + 999) / 1000), why.len > 0 ? "; " : "", (int)why.len,
                       why.len > 0 ? why.ptr : "");
    struct sma_str error = {line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1};
    error.len = sma_utf8_cut(error, error.len);
    end_failed(request, (enum sma_model_failure)rest->trouble, wait_ms, error);
}

void model_begin(struct model_request *request)
{
    struct sma_key_rest rest = {0};
    if (choose_key(request, &rest))
        begin_attempt(request);
    else
        end_without_key(request, &rest, SMA_STR(""));
}

static bool is_of_key(const struct model_request *request, enum sma_model_failure trouble)
{
    return request->target->key_count > 1 &&
           (trouble == SMA_MODEL_FAILURE_RATE || trouble == SMA_MODEL_FAILURE_QUOTA ||
            trouble == SMA_MODEL_FAILURE_AUTH);
}

/* The key rests; the request goes on with the next one at once, or ends. */
static void change_key(struct model_request *request, const struct sma_failure_verdict *verdict,
                       struct sma_str line)
{
    struct sma_model *model = request->model;
    struct sma_key_rest refusal = {
        .key = request->target->key_ids[request->key],
        .model = request->target->model_id,
        .begin_ns = sma_ctx_now(model->ctx),
        .trouble = (uint8_t)verdict->trouble,
    };
    struct sma_key_rest rest = {0};
    sma_keys_cool(&model->keys, &refusal, verdict->retry_after_ms);
    bool is_again =
        request->attempt_count < SMA_MODEL_RETRY_COUNT_MAX + request->target->key_count &&
        choose_key(request, &rest);
    model_log_attempt(request, line, is_again);
    if (is_again) {
        SMA_METRIC_ADD(model_retries_total, 1);
        begin_attempt(request);
        return;
    }
    if (rest.key != 0)
        end_without_key(request, &rest, line);
    else
        end_judged(request, verdict, line);
}

/* -- repeats ----------------------------------------------------------------------------------- */
static bool try_again(struct model_request *request, const struct sma_failure_verdict *verdict)
{
    struct sma_model *model = request->model;
    if (request->target->is_patient && request->hang_count > 0)
        return false; /* it has the request: to ask again throws its work away */
    unsigned most = verdict->repeat_max > 0 ? verdict->repeat_max : SMA_MODEL_RETRY_COUNT_MAX;
    if (request->repeat_count >= most || request->hang_count >= MODEL_HANG_COUNT_MAX)
        return false;
    uint64_t delay_ns = request->hang_count > 0 && request->needs_new_connection
                            ? 0 /* it has waited long enough */
                            : sma_retry_delay_ms(request->repeat_count + 1, verdict->retry_after_ms,
                                                 sma_ctx_random(model->ctx)) *
                                  MS;
    uint64_t now_ns = sma_ctx_now(model->ctx);
    if (now_ns + delay_ns >= request->begin_ns + request->target->total_ns)
        return false;
    request->repeat_count++;
    request->state = MODEL_WAITING;
    request->due_ns = now_ns + delay_ns;
    model_wake_by(model, request->due_ns);
    SMA_METRIC_ADD(model_retries_total, 1);
    return true;
}

void model_fail(struct model_request *request, const struct sma_failure *failure)
{
    bool is_hang = failure->trouble == SMA_FAILURE_SILENT && request->event_ns == 0;
    request->hang_count += is_hang;
    request->needs_new_connection = is_hang;
    model_net_stop(request);
    bool says_busy = request->target->is_local && sma_failure_says_busy(failure);
    if (says_busy && is_busy(request)) {
        if (!request->target->is_serial)
            sma_ctx_log(request->model->ctx, SMA_LOG_INFO,
                        "%s does one request at a time: others wait for it", request->target->name);
        request->target->is_serial = true;
        queue(request);
        return;
    }
    struct sma_failure_verdict verdict;
    struct sma_failure whole = *failure;
    struct sma_request_facts facts;
    sma_request_scan(request->ask->body, &facts);
    whole.tools = facts.tools;
    whole.has_files = request->ask->file_count > 0;
    sma_failure_judge(&whole, &verdict);
    struct sma_buf said, line;
    sma_buf_init(&said, 4096);
    sma_buf_init(&line, 4096);
    sma_failure_describe(&said, failure, request->target->llm, request->target->url);
    if (said.err == SMA_ERR_OK) /* servers quote keys, and headers */
        sma_secrets_put(request->model->secrets, &line, sma_buf_str(&said));
    struct sma_str text = said.err == SMA_ERR_OK && line.err == SMA_ERR_OK
                              ? sma_buf_str(&line)
                              : SMA_STR("the model request failed");
    model_count_attempt(request);
    if (verdict.retry != SMA_RETRY_CONTEXT_LENGTH && is_of_key(request, verdict.trouble)) {
        change_key(request, &verdict, text);
    } else if (verdict.retry == SMA_RETRY_YES && try_again(request, &verdict)) {
        model_log_attempt(request, text, true);
    } else {
        model_log_attempt(request, text, false);
        end_judged(request, &verdict, text);
    }
    sma_buf_fini(&said);
    sma_buf_fini(&line);
}

void model_fail_http(struct model_request *request)
{
    if (sma_decoder_read_failed(request->decoder, sma_buf_str(&request->error_body))) {
        model_net_stop(request);
        model_conclude(request, true); /* what the server could not read can be read here */
        return;
    }
    struct sma_failure failure = {
        .trouble = SMA_FAILURE_HTTP,
        .llm = request->target->llm,
        .wall_ms = sma_ctx_wall(request->model->ctx),
        .http_status = request->http_status,
        .has_should_retry = request->has_should_retry,
        .should_retry = request->should_retry,
        .retry_after_ms = request->retry_after_ms,
    };
    if (request->error_body.len > 0)
        sma_wire_error_parse(sma_buf_str(&request->error_body), &failure.error);
    model_fail(request, &failure);
}

/* -- an answer --------------------------------------------------------------------------------- */
static enum sma_failure_cause trouble_of(enum sma_decoded_status status)
{
    switch (status) {
    case SMA_DECODED_ERROR:
        return SMA_FAILURE_EVENT;
    case SMA_DECODED_GARBAGE:
        return SMA_FAILURE_GARBAGE;
    case SMA_DECODED_TOOBIG:
        return SMA_FAILURE_TOOBIG;
    case SMA_DECODED_NOMEM:
        return SMA_FAILURE_NOMEM;
    case SMA_DECODED_OK:
    case SMA_DECODED_TRUNCATED:
        break;
    }
    return SMA_FAILURE_TRUNCATED;
}

static void answer_decoded(struct model_request *request, const struct sma_decoded *decoded)
{
    struct model_outcome outcome = {
        .status = SMA_MODEL_OK,
        .decoded = decoded,
        .http_status = request->http_status,
        .retry_after_ms = -1,
        .usage = request->usage,
    };
    sma_usage_add(&outcome.usage, &decoded->usage);
    if (request->target->key_count > 1)
        sma_keys_praise(&request->model->keys, request->target->key_ids[request->key],
                        request->target->model_id, request->attempt_ns);
    answer_so_far(request, &outcome);
}

void model_conclude(struct model_request *request, bool is_network_done)
{
    struct sma_model *model = request->model;
    const struct sma_decoded *decoded = sma_decoder_finish(request->decoder);
    if (decoded->status != SMA_DECODED_OK) {
        struct sma_failure failure = {
            .trouble = trouble_of(decoded->status),
            .llm = request->target->llm,
            .http_status = request->http_status,
            .retry_after_ms = request->retry_after_ms,
            .wall_ms = sma_ctx_wall(model->ctx),
            .error = decoded->error,
        };
        model_fail(request, &failure);
        return;
    }
    answer_decoded(request, decoded);
    if (is_network_done) {
        model_release(request);
        return;
    }
    /* The body stays until the transfer ends: libcurl may still be sending it. */
    request->state = MODEL_LINGERING;
    request->due_ns = sma_ctx_now(model->ctx) + MODEL_LINGER_NS;
    model_wake_by(model, request->due_ns);
}

/* -- its time has come ------------------------------------------------------------------------- */
static void fail_silent(struct model_request *request, uint64_t now_ns)
{
    bool is_total = now_ns >= request->begin_ns + request->target->total_ns;
    uint64_t limit_ns = is_total                 ? request->target->total_ns
                        : request->event_ns == 0 ? request->target->first_byte_ns
                                                 : request->target->idle_ns;
    char detail[96];
    snprintf(detail, sizeof detail, "%s within %.6g s",
             is_total ? "did not finish" : "sent no data", (double)limit_ns / 1e9);
    struct sma_failure failure = {
        .trouble = SMA_FAILURE_SILENT,
        .llm = request->target->llm,
        .http_status = request->http_status,
        .retry_after_ms = -1,
        .detail = detail,
    };
    model_fail(request, &failure);
}

void model_go_on(struct model_request *request, uint64_t now_ns)
{
    struct sma_model *model = request->model;
    if (request->state == MODEL_LINGERING) {
        model_release(request);
    } else if (request->state == MODEL_WAITING && request->target->llm->api == SMA_LLM_OFFLINE) {
        model_offline_answer(model, request->target, request->question);
        model_release(request);
    } else if (now_ns >= request->begin_ns + request->target->total_ns) {
        fail_silent(request, now_ns);
    } else if (request->state == MODEL_WAITING) {
        begin_attempt(request);
    } else if (now_ns >= silence_end(request)) {
        if (request->error_body.len > 0) {
            model_fail_http(request);
        } else if (sma_decoder_is_finishing(request->decoder)) {
            /* All there but the formal end: good, yet the connection is not. */
            model_net_stop(request);
            model_conclude(request, true);
        } else {
            fail_silent(request, now_ns);
        }
    } else {
        model_show(request, now_ns);
    }
}
