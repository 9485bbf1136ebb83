/*
 * model.c — the model actor: questions in, answers out, cancelling, reload; when what is due.
 *
 * A question names its target by the llm it points to, so whom a run asks is decided by who asks:
 * another configuration, a fallback and the judge need nothing here but a pointer. One wake time
 * serves all requests: each knows its own next deadline (model_due), the actor asks to be woken at
 * the earliest and looks at all of them then. Deadlines that data has pushed back are found out at
 * that look, so that data costs no timer work.
 */
#include "model_priv.h"

#include <stdlib.h>
#include <string.h>

#define MODEL_MAGIC 0x6d6f646cu

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
    model->events = &model_net_events;
    sma_buf_init(&model->offline_answer, (size_t)SMA_ANSWER_BYTES_MAX);
    if (sma_secrets_create(config, &model->secrets) != SMA_ERR_OK ||
        model_blocks_create(model) != SMA_ERR_OK) {
        sma_model_destroy(model);
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for the model actor");
    }
    *ret_model = model;
    return SMA_ERR_OK;
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
        request->target->use_count--;
        model_destroy_request(request);
    }
    while (model->pool != NULL) {
        struct model_request *request = model->pool;
        model->pool = request->next;
        model_destroy_request(request);
    }
    model_targets_destroy(model);
    model_blocks_destroy(model);
    sma_secrets_destroy(model->secrets);
    sma_decoder_destroy(model->offline_decoder);
    sma_buf_fini(&model->offline_answer);
    model->magic = 0;
    free(model);
}

/* -- messages ---------------------------------------------------------------------------------- */
static void refuse_draining(struct sma_model *model, const struct sma_msg *question)
{
    struct model_outcome outcome = {.status = SMA_MODEL_CANCELLED,
                                    .retry_after_ms = -1,
                                    .error = SMA_STR("the program is stopping"),
                                    .begin_ns = sma_ctx_now(model->ctx)};
    model_answer(model, NULL, question, &outcome);
}

static void ask_network(struct sma_model *model, struct model_target *target, struct sma_msg **msg)
{
    struct sma_error error = {0};
    if (target->llm->base_url[0] == '\0' || target->llm->model[0] == '\0') {
        model_refuse(
            model, target, *msg,
            SMA_STR("no language model is configured; set llm.model and llm.baseUrl in ship.json"));
        return;
    }
    if (model_net_open(model, &error) != SMA_ERR_OK) {
        model_refuse(model, target, *msg, sma_str(error.text));
        return;
    }
    struct model_request *request = model_open_request(model, target, msg);
    if (request == NULL)
        model_refuse(model, target, *msg, SMA_STR("out of memory for a model request"));
    else
        model_begin(request);
}

static void on_question(struct sma_model *model, struct sma_msg **msg)
{
    if (model->is_draining) {
        refuse_draining(model, *msg);
        return;
    }
    const struct sma_config_llm *llm = SMA_MSG_BODY(*msg, struct sma_model_ask)->llm;
    struct model_target *target = model_target_get(model, llm == NULL ? &model->config->llm : llm);
    if (target == NULL)
        model_refuse(model, NULL, *msg,
                     SMA_STR("out of memory for a model request, or too many models in use"));
    else if (target->llm->api == SMA_LLM_OFFLINE)
        model_offline_ask(model, target, msg);
    else
        ask_network(model, target, msg);
}

static void cancel(struct model_request *request)
{
    struct model_outcome outcome = {
        .status = SMA_MODEL_CANCELLED, .retry_after_ms = -1, .error = SMA_STR("cancelled")};
    model_count_attempt(request);
    model_end(request, &outcome);
}

static void on_cancel(struct sma_model *model, const struct sma_msg *msg)
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

/* Where it came from, never what it is. */
static void log_source(struct sma_model *model)
{
    const struct sma_config_llm *llm = &model->config->llm;
    if (llm->api == SMA_LLM_OFFLINE)
        return;
    /* NULL: a configuration that no file was read for */
    if (llm->api_key_source == NULL || strcmp(llm->api_key_source, "none") == 0)
        sma_ctx_log(model->ctx, SMA_LOG_INFO, "provider %s is asked without a key", llm->provider);
    else
        sma_ctx_log(model->ctx, SMA_LOG_INFO, "provider %s: its key is from %s", llm->provider,
                    llm->api_key_source);
}

static void on_reload(struct sma_model *model, const struct sma_config *config)
{
    if (sma_secrets_add_config(model->secrets, config) != SMA_ERR_OK)
        sma_ctx_log(model->ctx, SMA_LOG_WARN,
                    "out of memory: the request logs do not know the new secrets");
    model->config = config;
    model_targets_replace(model);
    sma_keys_forgive(&model->keys);
    model_log_reloaded(model);
    log_source(model);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    switch ((*msg)->kind) {
    case SMA_MSG_MODEL:
        on_question(model, msg);
        return;
    case SMA_MSG_MODEL_CANCEL:
        on_cancel(model, *msg);
        return;
    case SMA_MSG_RELOAD:
        on_reload(model, SMA_MSG_BODY(*msg, struct sma_reload)->config);
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
            model_go_on(at, now_ns);
    for (struct model_request *at = model->open.next; at != &model->open; at = at->next)
        model_wake_by(model, model_due(at));
}

static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    if (model->config->llm.api == SMA_LLM_OFFLINE)
        return SMA_ERR_OK; /* the network is opened when a question needs it */
    log_source(model);
    return model_net_open(model, error);
}

static enum sma_err start_offline(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_model *model = state;
    model->ctx = ctx;
    if (model->config->llm.api == SMA_LLM_OFFLINE)
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
