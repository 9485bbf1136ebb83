/*
 * model.c — the model actor: questions in, answers out, deadlines, repetitions, cancelling.
 *
 * One wake time serves all requests: each knows its own next deadline (model_due), the actor asks
 * to be woken at the earliest and looks at all of them then. Deadlines that data has pushed back
 * are found out at that look, so that data costs no timer work.
 */
#include "model_priv.h"

#include "runtime/model/offline.h"
#include "sma/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#define MODEL_MAGIC 0x6d6f646cu
#define MS 1000000u
#define SECOND 1000000000u

/* -- where requests go ------------------------------------------------------------------------- */
static bool ends_with(struct sma_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

/* base + path; a query stays behind the path, and a base that names the whole path already is taken
 * as it is. */
static char *make_url(const struct sma_config_llm *llm)
{
    const char *path = llm->api == SMA_LLM_RESPONSES  ? "/responses"
                       : llm->api == SMA_LLM_MESSAGES ? "/messages"
                                                      : "/chat/completions";
    struct sma_str base = sma_str(llm->base_url);
    const char *query = strchr(llm->base_url, '?');
    if (query != NULL)
        base.len = (size_t)(query - llm->base_url);
    while (base.len > 0 && base.ptr[base.len - 1] == '/')
        base.len--;
    struct sma_buf url;
    sma_buf_init(&url, 8192);
    sma_buf_put_str(&url, base);
    if (!ends_with(base, path)) {
        if (llm->api == SMA_LLM_MESSAGES && !ends_with(base, "/v1"))
            sma_buf_put_text(&url, "/v1");
        sma_buf_put_text(&url, path);
    }
    if (query != NULL)
        sma_buf_put_text(&url, query);
    if (url.err != SMA_ERR_OK) {
        sma_buf_fini(&url);
        return NULL;
    }
    return sma_buf_take(&url);
}

static uint64_t timeout_ns(int64_t configured_ms, uint64_t default_s)
{
    return configured_ms > 0 ? (uint64_t)configured_ms * MS : default_s * SECOND;
}

static void destroy_target(struct model_target *target)
{
    if (target == NULL)
        return;
    model_net_forget(target);
    free(target->url);
    free(target);
}

static enum sma_err add_target(struct sma_model *model, const struct sma_config_llm *llm)
{
    struct model_target *target = calloc(1, sizeof *target);
    if (target == NULL)
        return SMA_ERR_NOMEM;
    target->llm = llm;
    target->url = make_url(llm);
    target->connect_ns = timeout_ns(llm->connect_ms, SMA_MODEL_CONNECT_S);
    target->first_byte_ns = timeout_ns(llm->first_byte_ms, SMA_MODEL_FIRST_BYTE_S);
    target->idle_ns = timeout_ns(llm->idle_ms, SMA_MODEL_IDLE_S);
    target->total_ns = timeout_ns(llm->total_ms, SMA_MODEL_TOTAL_S);
    if (target->url == NULL ||
        (llm->api != SMA_LLM_OFFLINE && model_net_prepare(target) != SMA_ERR_OK)) {
        destroy_target(target);
        return SMA_ERR_NOMEM;
    }
    target->next = model->targets;
    model->targets = model->target = target;
    return SMA_ERR_OK;
}

/* -- life -------------------------------------------------------------------------------------- */
enum sma_err sma_model_create(const struct sma_config *config, struct sma_model **ret_model,
                              struct sma_error *error)
{
    struct sma_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the model actor");
    model->magic = MODEL_MAGIC;
    model->config = config;
    model->open.next = model->open.previous = &model->open;
    model->wake_ns = UINT64_MAX;
    sma_buf_init(&model->offline_answer, (size_t)SMA_ANSWER_BYTES_MAX);
    if (add_target(model, &config->llm) != SMA_ERR_OK) {
        sma_model_destroy(model);
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the model actor");
    }
    *ret_model = model;
    return SMA_ERR_OK;
}

static void destroy_request(struct model_request *request)
{
    model_net_drop(request);
    sma_msg_destroy(request->question);
    sma_decoder_destroy(request->decoder);
    sma_buf_fini(&request->error_body);
    free(request);
}

void sma_model_destroy(struct sma_model *model)
{
    if (model == NULL)
        return;
    SMA_ASSERT(model->magic == MODEL_MAGIC);
    while (model->open.next != &model->open) { /* a simulated crash leaves them behind */
        struct model_request *request = model->open.next;
        request->previous->next = request->next;
        request->next->previous = request->previous;
        destroy_request(request);
    }
    while (model->pool != NULL) {
        struct model_request *request = model->pool;
        model->pool = request->next;
        destroy_request(request);
    }
    while (model->targets != NULL) {
        struct model_target *target = model->targets;
        model->targets = target->next;
        destroy_target(target);
    }
    sma_decoder_destroy(model->offline_decoder);
    sma_buf_fini(&model->offline_answer);
    model->magic = 0;
    free(model);
}

/* -- time -------------------------------------------------------------------------------------- */
void model_wake_by(struct sma_model *model, uint64_t at_ns)
{
    if (at_ns >= model->wake_ns)
        return;
    model->wake_ns = at_ns;
    sma_ctx_wake_at(model->ctx, at_ns);
}

/* Since what, and for how long, an attempt may be silent now. */
static uint64_t silence_end(const struct model_request *request)
{
    const struct model_target *target = request->target;
    if (request->event_ns == 0)
        return request->attempt_ns + target->connect_ns + target->first_byte_ns;
    if (sma_decoder_is_finishing(request->decoder)) {
        uint64_t limit_ns = (uint64_t)MODEL_FINISHING_S * SECOND;
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

/* -- requests ---------------------------------------------------------------------------------- */
static struct model_request *open_request(struct sma_model *model, struct sma_msg **question)
{
    struct model_request *request = model->pool;
    if (request != NULL) {
        model->pool = request->next;
        model->pool_count--;
    } else {
        request = calloc(1, sizeof *request);
        if (request == NULL)
            return NULL;
        sma_buf_init(&request->error_body, MODEL_ERROR_BODY_BYTES_MAX);
    }
    if (request->decoder == NULL || request->target != model->target) {
        sma_decoder_destroy(request->decoder);
        request->decoder = sma_decoder_create(model->target->llm);
        if (request->decoder == NULL) {
            destroy_request(request);
            return NULL;
        }
    }
    request->model = model;
    request->target = model->target;
    request->question = *question;
    *question = NULL;
    request->ask = SMA_MSG_BODY(request->question, struct sma_model_ask);
    request->attempt = 0;
    request->begin_ns = sma_ctx_now(model->ctx);
    request->out_ns = request->first_token_ns = 0;
    request->next = &model->open;
    request->previous = model->open.previous;
    request->previous->next = model->open.previous = request;
    model->open_count++;
    return request;
}

void model_release(struct model_request *request)
{
    struct sma_model *model = request->model;
    SMA_ASSERT(request->state != MODEL_IDLE);
    model_net_stop(request);
    sma_msg_destroy(request->question);
    request->question = NULL;
    request->ask = NULL;
    request->state = MODEL_IDLE;
    request->previous->next = request->next;
    request->next->previous = request->previous;
    model->open_count--;
    sma_decoder_reset(request->decoder, 0);
    sma_buf_clear(&request->error_body);
    if (model->pool_count == MODEL_POOL_COUNT_MAX) {
        destroy_request(request);
        return;
    }
    request->next = model->pool;
    model->pool = request;
    model->pool_count++;
}

static uint64_t id_seed(const struct sma_model_ask *ask)
{
    return ask->seq * 64 + ask->round % 64;
}

static void finish_with(struct model_request *request, enum sma_model_status status,
                        int http_status, struct sma_str error)
{
    model_answer_status(request->model, request->question, status, http_status, error);
    model_release(request);
}

static void begin_attempt(struct model_request *request)
{
    sma_decoder_reset(request->decoder, id_seed(request->ask));
    sma_buf_clear(&request->error_body);
    request->attempt_ns = sma_ctx_now(request->model->ctx);
    request->event_ns = request->event_count = request->delta_ns = request->delta_due_ns = 0;
    request->out_ns = request->first_token_ns = 0;
    request->delta_len = 0;
    request->has_delta = request->is_delta_send = false;
    request->http_status = 0;
    request->retry_after_ms = -1;
    request->has_retry_after_ms = request->has_should_retry = false;
    request->state = MODEL_RUNNING;
    SMA_METRIC_ADD(model_requests_total, 1);
    if (model_net_start(request) != SMA_ERR_OK) {
        finish_with(request, SMA_MODEL_FAILED, 0,
                    SMA_STR("cannot start a model request: out of memory or descriptors"));
        return;
    }
    model_wake_by(request->model, model_due(request));
}

/* -- how an attempt ends ----------------------------------------------------------------------- */
static bool try_again(struct model_request *request, const struct sma_failure_verdict *verdict)
{
    struct sma_model *model = request->model;
    if (request->attempt >= SMA_MODEL_RETRY_COUNT_MAX)
        return false;
    uint64_t delay_ns = sma_retry_delay_ms(request->attempt + 1, verdict->retry_after_ms,
                                           sma_ctx_random(model->ctx)) *
                        MS;
    uint64_t now_ns = sma_ctx_now(model->ctx);
    if (now_ns + delay_ns >= request->begin_ns + request->target->total_ns)
        return false;
    request->attempt++;
    request->state = MODEL_WAITING;
    request->due_ns = now_ns + delay_ns;
    model_wake_by(model, request->due_ns);
    SMA_METRIC_ADD(model_retries_total, 1);
    return true;
}

void model_fail(struct model_request *request, const struct sma_failure *failure)
{
    struct sma_model *model = request->model;
    model_net_stop(request);
    struct sma_failure_verdict verdict;
    sma_failure_judge(failure, &verdict);
    enum sma_retry retry = verdict.retry;
    bool is_again = retry == SMA_RETRY_YES && try_again(request, &verdict);
    struct sma_buf line;
    sma_buf_init(&line, 4096);
    sma_failure_describe(&line, failure, request->target->llm, request->target->url);
    struct sma_str text =
        line.err == SMA_ERR_OK ? sma_buf_str(&line) : SMA_STR("the model request failed");
    sma_ctx_log(model->ctx, SMA_LOG_WARN, "model request of run %llu failed (attempt %u%s): %.*s",
                (unsigned long long)request->ask->seq, request->attempt + !is_again,
                is_again ? ", will be repeated" : "", (int)text.len, text.ptr);
    if (!is_again)
        finish_with(request,
                    retry == SMA_RETRY_CONTEXT_LENGTH ? SMA_MODEL_CONTEXT_LENGTH : SMA_MODEL_FAILED,
                    failure->http_status, text);
    sma_buf_fini(&line);
}

static enum sma_trouble trouble_of(enum sma_decoded_status status)
{
    switch (status) {
    case SMA_DECODED_ERROR:
        return SMA_TROUBLE_EVENT;
    case SMA_DECODED_GARBAGE:
        return SMA_TROUBLE_GARBAGE;
    case SMA_DECODED_TOOBIG:
        return SMA_TROUBLE_TOOBIG;
    case SMA_DECODED_NOMEM:
        return SMA_TROUBLE_NOMEM;
    case SMA_DECODED_OK:
    case SMA_DECODED_TRUNCATED:
        break;
    }
    return SMA_TROUBLE_TRUNCATED;
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
            .error = decoded->error,
        };
        model_fail(request, &failure);
        return;
    }
    model_answer_decoded(model, request->question, decoded, request->out_ns,
                         request->first_token_ns);
    if (is_network_done) {
        model_release(request);
        return;
    }
    /* The body stays until the transfer ends: libcurl may still be sending it. */
    request->state = MODEL_LINGERING;
    request->due_ns = sma_ctx_now(model->ctx) + MODEL_LINGER_NS;
    model_wake_by(model, request->due_ns);
}

/* -- the offline model ------------------------------------------------------------------------- */
static struct sma_str turn_of(const struct sma_model_ask *ask)
{
    if (ask->turn_end > ask->body.len || ask->turn_offset > ask->turn_end)
        return (struct sma_str){"", 0};
    return (struct sma_str){ask->body.ptr + ask->turn_offset, ask->turn_end - ask->turn_offset};
}

static void answer_offline(struct sma_model *model, const struct sma_msg *question,
                           const struct sma_model_ask *ask)
{
    struct sma_decoder *decoder = model->offline_decoder;
    struct sma_buf *answer = &model->offline_answer;
    uint64_t delay_ms = 0, now_ns = sma_ctx_now(model->ctx);
    bool is_failure = false, is_send_text = false;
    SMA_METRIC_ADD(model_requests_total, 1);
    if (ask->round == 0 && ask->read_ns != 0)
        SMA_METRIC_TIME(read_to_model, now_ns - ask->read_ns);
    sma_buf_clear(answer);
    enum sma_err err =
        sma_offline_answer(turn_of(ask), id_seed(ask), answer, &delay_ms, &is_failure);
    if (err != SMA_ERR_OK || is_failure) {
        model_answer_status(
            model, question, SMA_MODEL_FAILED, 0,
            is_failure
                ? SMA_STR("the offline model was asked to fail; ask it something else")
                : SMA_STR("the offline model cannot read this request; report it as a defect"));
        return;
    }
    sma_decoder_reset(decoder, id_seed(ask));
    sma_decoder_feed(decoder, answer->ptr, answer->len);
    struct sma_str shown = sma_decoder_progress(decoder, &is_send_text);
    if (shown.len > 0 && model->target->llm->is_stream)
        model_signal_delta(model, question, shown, is_send_text);
    model_answer_decoded(model, question, sma_decoder_finish(decoder), now_ns, now_ns);
}

static void ask_offline(struct sma_model *model, struct sma_msg **msg)
{
    const struct sma_model_ask *ask = SMA_MSG_BODY(*msg, struct sma_model_ask);
    uint64_t delay_ms = 0;
    bool is_failure = false;
    if (model->offline_decoder == NULL)
        model->offline_decoder = sma_decoder_create(model->target->llm);
    if (model->offline_decoder == NULL) {
        model_answer_status(model, *msg, SMA_MODEL_FAILED, 0,
                            SMA_STR("out of memory in the offline model"));
        return;
    }
    /* Only a turn that speaks of waiting needs to be read twice. */
    struct sma_str turn = turn_of(ask);
    bool may_wait = memmem(turn.ptr, turn.len, "/slow ", 6) != NULL ||
                    memmem(turn.ptr, turn.len, "wait ", 5) != NULL ||
                    memmem(turn.ptr, turn.len, "Wait ", 5) != NULL;
    sma_buf_clear(&model->offline_answer);
    if (may_wait &&
        sma_offline_answer(turn, 0, &model->offline_answer, &delay_ms, &is_failure) != SMA_ERR_OK)
        delay_ms = 0; /* answered as unreadable below */
    if (delay_ms == 0) {
        answer_offline(model, *msg, ask);
        return;
    }
    struct model_request *request = open_request(model, msg);
    if (request == NULL) {
        model_answer_status(model, *msg, SMA_MODEL_FAILED, 0,
                            SMA_STR("out of memory in the offline model"));
        return;
    }
    request->state = MODEL_WAITING;
    request->due_ns = request->begin_ns + delay_ms * MS;
    model_wake_by(model, request->due_ns);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void take_question(struct sma_model *model, struct sma_msg **msg)
{
    const struct sma_config_llm *llm = model->target->llm;
    if (model->is_draining) {
        model_answer_status(model, *msg, SMA_MODEL_CANCELLED, 0,
                            SMA_STR("the program is stopping"));
        return;
    }
    if (llm->api == SMA_LLM_OFFLINE) {
        ask_offline(model, msg);
        return;
    }
    if (llm->base_url[0] == '\0' || llm->model[0] == '\0') {
        model_answer_status(
            model, *msg, SMA_MODEL_FAILED, 0,
            SMA_STR("no language model is configured; set llm.model and llm.baseUrl in ship.json"));
        return;
    }
    struct model_request *request = open_request(model, msg);
    if (request == NULL) {
        model_answer_status(model, *msg, SMA_MODEL_FAILED, 0,
                            SMA_STR("out of memory for a model request"));
        return;
    }
    begin_attempt(request);
}

static void cancel(struct model_request *request)
{
    finish_with(request, SMA_MODEL_CANCELLED, 0, SMA_STR("cancelled"));
}

static void take_cancel(struct sma_model *model, const struct sma_msg *msg)
{
    uint64_t ask_id = SMA_MSG_BODY((struct sma_msg *)msg, struct sma_model_cancel)->ask_id;
    for (struct model_request *at = model->open.next; at != &model->open; at = at->next)
        if (at->state != MODEL_LINGERING && at->question->ask_id == ask_id &&
            at->question->from == msg->from) {
            cancel(at);
            return;
        }
}

static void cancel_all(struct sma_model *model)
{
    for (struct model_request *at = model->open.next, *next = at->next; at != &model->open;
         at = next, next = at->next) {
        if (at->state == MODEL_LINGERING)
            model_release(at);
        else
            cancel(at);
    }
}

static void take_reload(struct sma_model *model, const struct sma_config *config)
{
    if (config->llm.api != model->target->llm->api) {
        sma_ctx_log(model->ctx, SMA_LOG_WARN,
                    "llm.api or llm.provider changed: restart to use the new one");
        return;
    }
    if (add_target(model, &config->llm) != SMA_ERR_OK)
        sma_ctx_log(model->ctx, SMA_LOG_ERROR, "out of memory: the old llm settings stay in use");
    else
        model->config = config;
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    switch ((*msg)->kind) {
    case SMA_MSG_MODEL:
        take_question(model, msg);
        return;
    case SMA_MSG_MODEL_CANCEL:
        take_cancel(model, *msg);
        return;
    case SMA_MSG_RELOAD:
        take_reload(model, SMA_MSG_BODY(*msg, struct sma_reload)->config);
        return;
    case SMA_MSG_LIFE: {
        unsigned phase = SMA_MSG_BODY(*msg, struct sma_life)->phase;
        if (phase == SMA_PHASE_DRAIN) {
            model->is_draining = true;
            cancel_all(model);
        }
        sma_ctx_life_done(ctx, phase);
        return;
    }
    default:
        sma_ctx_log(ctx, SMA_LOG_ERROR, "model: unexpected message %s",
                    sma_msg_kind_name((*msg)->kind));
    }
}

/* -- wake -------------------------------------------------------------------------------------- */
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
        .trouble = SMA_TROUBLE_SILENT,
        .llm = request->target->llm,
        .http_status = request->http_status,
        .retry_after_ms = -1,
        .detail = detail,
    };
    model_fail(request, &failure);
}

static void go_on(struct model_request *request, uint64_t now_ns)
{
    struct sma_model *model = request->model;
    if (request->state == MODEL_LINGERING) {
        model_release(request);
    } else if (request->state == MODEL_WAITING && request->target->llm->api == SMA_LLM_OFFLINE) {
        answer_offline(model, request->question, request->ask);
        model_release(request);
    } else if (now_ns >= request->begin_ns + request->target->total_ns) {
        fail_silent(request, now_ns);
    } else if (request->state == MODEL_WAITING) {
        begin_attempt(request);
    } else if (now_ns >= silence_end(request)) {
        if (sma_decoder_is_finishing(request->decoder)) {
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

static void wake(void *state, struct sma_ctx *ctx)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    model->wake_ns = UINT64_MAX;
    sma_ctx_wake_at(ctx, UINT64_MAX);
    uint64_t now_ns = sma_ctx_now(ctx);
    for (struct model_request *at = model->open.next, *next = at->next; at != &model->open;
         at = next, next = at->next)
        if (now_ns >= model_due(at))
            go_on(at, now_ns);
    for (struct model_request *at = model->open.next; at != &model->open; at = at->next)
        model_wake_by(model, model_due(at));
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    if (model->target->llm->api == SMA_LLM_OFFLINE)
        return SMA_ERR_OK;
    /* Where it came from, never what it is. */
    sma_ctx_log(ctx, SMA_LOG_INFO, "provider %s: its key is from %s", model->target->llm->provider,
                model->target->llm->api_key_source);
    return model_net_open(model, error);
}

static enum sma_err start_offline(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    if (model->target->llm->api == SMA_LLM_OFFLINE)
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_BADINPUT, "the offline model serves provider \"offline\" only");
}

static void stop(void *state, struct sma_ctx *ctx)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    for (struct model_request *at = model->open.next, *next = at->next; at != &model->open;
         at = next, next = at->next)
        model_release(at); /* nobody listens any more */
    model_net_close(model);
}

const struct sma_actor_ops sma_model_actor_ops = {
    .name = "model",
    .is_on_loop = true,
    .start = start,
    .handle = handle,
    .wake = wake,
    .stop = stop,
};

const struct sma_actor_ops sma_model_offline_actor_ops = {
    .name = "model",
    .is_on_loop = false,
    .start = start_offline,
    .handle = handle,
    .wake = wake,
    .stop = stop,
};
