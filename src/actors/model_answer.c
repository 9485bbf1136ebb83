/* model_answer.c — what the model actor says to the agent: answers and streamed text. */
#include "model_priv.h"

#include "sma/metrics.h"

static struct sma_msg *new_answer(const struct sma_msg *question, size_t space)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL_ANSWER, struct sma_model_answer, space);
    if (msg != NULL) {
        const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
        SMA_MSG_BODY(msg, struct sma_model_answer)->seq = ask->seq;
    }
    return msg;
}

void model_answer_status(struct sma_model *model, const struct sma_msg *question,
                         enum sma_model_status status, int http_status, struct sma_str error)
{
    struct sma_msg *msg = new_answer(question, error.len + 1);
    if (msg == NULL)
        sma_ctx_fatal(model->ctx, "out of memory answering a model question");
    struct sma_model_answer *answer = SMA_MSG_BODY(msg, struct sma_model_answer);
    answer->status = (uint8_t)status;
    answer->http_status = http_status;
    answer->error = sma_msg_dup(msg, error);
    answer->retry_after_ms = -1;
    if (status == SMA_MODEL_FAILED || status == SMA_MODEL_CONTEXT_LENGTH)
        SMA_METRIC_ADD(model_errors_total, 1);
    sma_ctx_answer(model->ctx, question, &msg);
}

static size_t answer_space(const struct sma_decoded *decoded)
{
    size_t space = decoded->text.len + decoded->fragment.len + 2;
    space += decoded->call_count * sizeof *decoded->calls + 16;
    for (size_t i = 0; i < decoded->call_count; i++)
        space += decoded->calls[i].id.len + decoded->calls[i].name.len +
                 decoded->calls[i].arguments.len + decoded->calls[i].problem.len + 4;
    return space;
}

static void count(const struct sma_model *model, const struct sma_decoded *decoded, uint64_t out_ns)
{
    const struct sma_usage *usage = &decoded->usage;
    SMA_METRIC_ADD(model_input_tokens_total, usage->input + usage->cached + usage->written);
    SMA_METRIC_ADD(model_cached_tokens_total, usage->cached);
    SMA_METRIC_ADD(model_output_tokens_total, usage->output);
    SMA_METRIC_TIME(model_total, sma_ctx_now(model->ctx) - out_ns);
}

void model_answer_decoded(struct sma_model *model, const struct sma_msg *question,
                          const struct sma_decoded *decoded, uint64_t out_ns,
                          uint64_t first_token_ns)
{
    struct sma_msg *msg = new_answer(question, answer_space(decoded));
    if (msg == NULL) {
        model_answer_status(model, question, SMA_MODEL_FAILED, 0,
                            SMA_STR("out of memory while reading the model's answer"));
        return;
    }
    struct sma_model_answer *answer = SMA_MSG_BODY(msg, struct sma_model_answer);
    answer->status = SMA_MODEL_OK;
    answer->finish = (uint8_t)decoded->finish;
    answer->http_status = 200;
    answer->usage = decoded->usage;
    answer->usage.request_count = 1;
    answer->out_ns = out_ns;
    answer->first_token_ns = first_token_ns;
    answer->call_count = (uint32_t)decoded->call_count;
    if (decoded->call_count > 0)
        answer->calls = sma_msg_space(msg, decoded->call_count * sizeof *answer->calls);
    for (size_t i = 0; i < decoded->call_count; i++)
        answer->calls[i] = (struct sma_model_call){
            .id = sma_msg_dup(msg, decoded->calls[i].id),
            .name = sma_msg_dup(msg, decoded->calls[i].name),
            .arguments = sma_msg_dup(msg, decoded->calls[i].arguments),
            .is_invalid = decoded->calls[i].is_invalid,
            .is_cut = decoded->calls[i].is_cut,
            .problem = sma_msg_dup(msg, decoded->calls[i].problem),
        };
    answer->text = sma_msg_dup(msg, decoded->text);
    answer->fragment = sma_msg_dup(msg, decoded->fragment);
    count(model, decoded, out_ns);
    sma_ctx_answer(model->ctx, question, &msg);
}

void model_signal_delta(struct sma_model *model, const struct sma_msg *question,
                        struct sma_str text, bool is_send_text)
{
    const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL_DELTA, struct sma_model_delta, text.len + 1);
    if (msg == NULL)
        return; /* a signal: may be lost */
    struct sma_model_delta *delta = SMA_MSG_BODY(msg, struct sma_model_delta);
    delta->seq = ask->seq;
    delta->is_send_text = is_send_text;
    delta->text = sma_msg_dup(msg, text);
    sma_ctx_signal(model->ctx, (enum sma_actor_id)question->from, &msg);
}

void model_show(struct model_request *request, uint64_t now_ns)
{
    bool is_send_text = false;
    struct sma_str text = sma_decoder_progress(request->decoder, &is_send_text);
    request->has_delta =
        text.len > 0 && (text.len != request->delta_len || is_send_text != request->is_delta_send);
    if (!request->has_delta)
        return;
    uint64_t pause_ns = MODEL_DELTA_NS * (1 + text.len / MODEL_DELTA_STEP_BYTES);
    request->delta_due_ns = request->delta_ns + pause_ns;
    if (request->delta_ns != 0 && now_ns < request->delta_due_ns) {
        model_wake_by(request->model, request->delta_due_ns);
        return;
    }
    model_signal_delta(request->model, request->question, text, is_send_text);
    request->delta_ns = now_ns;
    request->delta_len = text.len;
    request->is_delta_send = is_send_text;
    request->has_delta = false;
}
