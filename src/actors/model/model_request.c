/* model_request.c — requests: an open one for each question, idle ones kept for their decoders. */
#include "model_priv.h"

#include <stdlib.h>

uint64_t model_id_seed(const struct sma_model_ask *ask)
{
    return ask->seq * 64 + ask->round % 64;
}

void model_destroy_request(struct model_request *request)
{
    model_net_drop(request);
    model_body_end(request);
    sma_msg_destroy(request->question);
    sma_decoder_destroy(request->decoder);
    sma_buf_fini(&request->error_body);
    free(request);
}

/* -- time -------------------------------------------------------------------------------------- */
void model_wake_by(struct sma_model *model, uint64_t at_ns)
{
    if (at_ns >= model->wake_ns)
        return;
    model->wake_ns = at_ns;
    sma_ctx_wake_at(model->ctx, at_ns);
}

/* -- requests ---------------------------------------------------------------------------------- */
/* An idle one, best one whose decoder is made for this llm. */
static struct model_request *take_idle(struct sma_model *model, const struct sma_config_llm *llm)
{
    struct model_request **place = &model->pool;
    for (struct model_request **at = &model->pool; *at != NULL; at = &(*at)->next)
        if ((*at)->decoder_llm == llm) {
            place = at;
            break;
        }
    struct model_request *request = *place;
    if (request != NULL) {
        *place = request->next;
        model->pool_count--;
        return request;
    }
    request = calloc(1, sizeof *request);
    if (request != NULL)
        sma_buf_init(&request->error_body, MODEL_ERROR_BODY_BYTES_MAX);
    return request;
}

static bool fit_decoder(struct model_request *request, const struct sma_config_llm *llm)
{
    if (request->decoder_llm == llm)
        return true;
    sma_decoder_destroy(request->decoder);
    request->decoder = sma_decoder_create(llm);
    request->decoder_llm = request->decoder == NULL ? NULL : llm;
    return request->decoder != NULL;
}

struct model_request *model_open_request(struct sma_model *model, struct model_target *target,
                                         struct sma_msg **question)
{
    struct model_request *request = take_idle(model, target->llm);
    if (request == NULL)
        return NULL;
    if (!fit_decoder(request, target->llm)) {
        model_destroy_request(request);
        return NULL;
    }
    request->model = model;
    request->target = target;
    request->question = *question;
    *question = NULL;
    request->ask = SMA_MSG_BODY(request->question, struct sma_model_ask);
    request->attempt_count = request->repeat_count = request->hang_count = 0;
    request->needs_new_connection = request->is_queued = false;
    request->block_id = 0;
    request->usage = (struct sma_usage){0};
    request->begin_ns = sma_ctx_now(model->ctx);
    request->out_ns = request->first_token_ns = 0;
    request->http_status = 0;
    request->next = &model->open;
    request->previous = model->open.previous;
    request->previous->next = model->open.previous = request;
    model->open_count++;
    model_target_use(target, request->begin_ns);
    return request;
}

void model_release(struct model_request *request)
{
    struct sma_model *model = request->model;
    model_net_stop(request);
    model_body_end(request);
    sma_msg_destroy(request->question);
    request->question = NULL;
    request->ask = NULL;
    request->state = MODEL_IDLE;
    request->previous->next = request->next;
    request->next->previous = request->previous;
    model->open_count--;
    for (struct model_request *at = model->open.next; at != &model->open; at = at->next)
        if (at->is_queued && at->target == request->target) { /* the next one's turn */
            at->is_queued = false;
            at->due_ns = 0;
            model_wake_by(model, sma_ctx_now(model->ctx));
            break;
        }
    model_target_let_go(model, request->target);
    request->target = NULL;
    sma_decoder_reset(request->decoder, 0);
    sma_buf_clear(&request->error_body);
    if (model->pool_count == MODEL_POOL_COUNT_MAX) {
        model_destroy_request(request);
        return;
    }
    request->next = model->pool;
    model->pool = request;
    model->pool_count++;
}
