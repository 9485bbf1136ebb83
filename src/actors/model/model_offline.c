/* model_offline.c — the built-in model of provider "offline", through the same decoder as all
 * others. */
#include "model_priv.h"

#include "runtime/model/offline.h"
#include "sma/metrics.h"

#define MS 1000000u

static struct sma_str turn_of(const struct sma_model_ask *ask)
{
    if (ask->turn_end > ask->body.len || ask->turn_offset > ask->turn_end)
        return (struct sma_str){"", 0};
    return (struct sma_str){ask->body.ptr + ask->turn_offset, ask->turn_end - ask->turn_offset};
}

void model_offline_answer(struct sma_model *model, struct model_target *target,
                          const struct sma_msg *question)
{
    const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
    struct sma_decoder *decoder = model->offline_decoder;
    struct sma_buf *answer = &model->offline_answer;
    uint64_t delay_ms = 0, now_ns = sma_ctx_now(model->ctx);
    bool is_failure = false, is_send_text = false;
    SMA_METRIC_ADD(model_requests_total, 1);
    if (ask->round == 0 && ask->read_ns != 0)
        SMA_METRIC_TIME(read_to_model, now_ns - ask->read_ns);
    sma_buf_clear(answer);
    enum sma_err err =
        sma_offline_answer(turn_of(ask), model_id_seed(ask), answer, &delay_ms, &is_failure);
    if (err != SMA_ERR_OK || is_failure) {
        model_refuse(
            model, target, question,
            is_failure
                ? SMA_STR("the offline model was asked to fail; ask it something else")
                : SMA_STR("the offline model cannot read this request; report it as a defect"));
        return;
    }
    sma_decoder_reset(decoder, model_id_seed(ask));
    sma_decoder_feed(decoder, answer->ptr, answer->len);
    struct sma_str shown = sma_decoder_progress(decoder, &is_send_text);
    if (shown.len > 0 && target->llm->is_stream)
        model_signal_delta(model, question, shown, is_send_text);
    struct model_outcome outcome = {
        .status = SMA_MODEL_OK,
        .decoded = sma_decoder_finish(decoder),
        .retry_after_ms = -1,
        .attempt_count = 1,
        .begin_ns = now_ns,
        .out_ns = now_ns,
        .first_token_ns = now_ns,
    };
    model_answer(model, target, question, &outcome);
}

/* How long the text asks it to wait. Only a turn that speaks of waiting is read twice. */
static uint64_t delay_of(struct sma_model *model, struct sma_str turn)
{
    uint64_t delay_ms = 0;
    bool is_failure = false;
    bool may_wait = memmem(turn.ptr, turn.len, "/slow ", 6) != NULL ||
                    memmem(turn.ptr, turn.len, "wait ", 5) != NULL ||
                    memmem(turn.ptr, turn.len, "Wait ", 5) != NULL;
    sma_buf_clear(&model->offline_answer);
    if (may_wait &&
        sma_offline_answer(turn, 0, &model->offline_answer, &delay_ms, &is_failure) != SMA_ERR_OK)
        return 0; /* answered as unreadable then */
    return delay_ms;
}

void model_offline_ask(struct sma_model *model, struct model_target *target, struct sma_msg **msg)
{
    if (model->offline_decoder == NULL)
        model->offline_decoder = sma_decoder_create(target->llm);
    if (model->offline_decoder == NULL) {
        model_refuse(model, target, *msg, SMA_STR("out of memory in the offline model"));
        return;
    }
    uint64_t delay_ms = delay_of(model, turn_of(SMA_MSG_BODY(*msg, struct sma_model_ask)));
    if (delay_ms == 0) {
        model_offline_answer(model, target, *msg);
        return;
    }
    struct model_request *request = model_open_request(model, target, msg);
    if (request == NULL) {
        model_refuse(model, target, *msg, SMA_STR("out of memory in the offline model"));
        return;
    }
    request->state = MODEL_WAITING;
    request->due_ns = request->begin_ns + delay_ms * MS;
    model_wake_by(model, request->due_ns);
}
