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

static size_t answer_space(const struct sma_decoded *decoded)
{
    size_t space = decoded->text.len + decoded->fragment.len + 2;
    space += decoded->call_count * sizeof *decoded->calls + 16;
    for (size_t i = 0; i < decoded->call_count; i++)
        space += decoded->calls[i].id.len + decoded->calls[i].name.len +
                 decoded->calls[i].arguments.len + decoded->calls[i].problem.len + 4;
    return space;
}

static void count(const struct sma_model *model, const struct model_outcome *outcome)
{
    const struct sma_usage *usage = &outcome->usage;
    SMA_METRIC_ADD(model_input_tokens_total, usage->input + usage->cached + usage->written);
    SMA_METRIC_ADD(model_cached_tokens_total, usage->cached);
    SMA_METRIC_ADD(model_output_tokens_total, usage->output);
    if (outcome->status == SMA_MODEL_OK)
        SMA_METRIC_TIME(model_total, sma_ctx_now(model->ctx) - outcome->out_ns);
    if (outcome->status == SMA_MODEL_FAILED || outcome->status == SMA_MODEL_CONTEXT_LENGTH)
        SMA_METRIC_ADD(model_errors_total, 1);
}

static void put_calls(struct sma_msg *msg, struct sma_model_answer *answer,
                      const struct sma_decoded *decoded)
{
    answer->call_count = (uint32_t)decoded->call_count;
    if (decoded->call_count > 0)
        answer->calls = sma_msg_space(msg, decoded->call_count * sizeof *answer->calls);
    for (size_t i = 0; i < decoded->call_count; i++) {
        const struct sma_model_call *call = &decoded->calls[i];
        answer->calls[i] = *call;
        answer->calls[i].id = sma_msg_dup(msg, call->id);
        answer->calls[i].name = sma_msg_dup(msg, call->name);
        answer->calls[i].arguments = sma_msg_dup(msg, call->arguments);
        answer->calls[i].problem = sma_msg_dup(msg, call->problem);
    }
}

static struct sma_msg *make_answer(const struct sma_msg *question,
                                   const struct model_outcome *outcome)
{
    const struct sma_decoded *decoded = outcome->decoded;
    size_t space = outcome->error.len + outcome->refused_member.len + 2;
    struct sma_msg *msg =
        new_answer(question, space + (decoded == NULL ? 0 : answer_space(decoded)));
    if (msg == NULL)
        return NULL;
    struct sma_model_answer *answer = SMA_MSG_BODY(msg, struct sma_model_answer);
    answer->status = (uint8_t)outcome->status;
    answer->http_status = decoded == NULL ? outcome->http_status : 200;
    answer->error = sma_msg_dup(msg, outcome->error);
    answer->trouble = (uint8_t)outcome->trouble;
    answer->retry_after_ms = outcome->retry_after_ms;
    answer->refused_member = sma_msg_dup(msg, outcome->refused_member);
    answer->window_tokens = outcome->window_tokens;
    answer->usage = outcome->usage;
    answer->out_ns = outcome->out_ns;
    answer->first_token_ns = outcome->first_token_ns;
    if (decoded == NULL)
        return msg;
    answer->finish = (uint8_t)decoded->finish;
    put_calls(msg, answer, decoded);
    answer->text = sma_msg_dup(msg, decoded->text);
    answer->fragment = sma_msg_dup(msg, decoded->fragment);
    return msg;
}

void model_answer(struct sma_model *model, const struct model_target *target,
                  const struct sma_msg *question, const struct model_outcome *outcome)
{
    struct model_outcome full = *outcome, poor;
    full.usage.request_count = outcome->attempt_count;
    const struct model_outcome *said = &full;
    struct sma_msg *msg = make_answer(question, &full);
    if (msg == NULL && full.decoded != NULL) { /* the answer is too large for what is left */
        poor = full;
        poor.decoded = NULL;
        poor.status = SMA_MODEL_FAILED;
        poor.trouble = SMA_MODEL_FAILURE_SETUP;
        poor.error = SMA_STR("out of memory while reading the model's answer");
        said = &poor;
        msg = make_answer(question, &poor);
    }
    if (msg == NULL)
        sma_ctx_fatal(model->ctx, "out of memory answering a model question");
    count(model, said);
    sma_ctx_answer(model->ctx, question, &msg);
    model_log_call(model, target, question, said);
}

void model_refuse(struct sma_model *model, const struct model_target *target,
                  const struct sma_msg *question, struct sma_str error)
{
    struct model_outcome outcome = {
        .status = SMA_MODEL_FAILED,
        .trouble = SMA_MODEL_FAILURE_SETUP,
        .retry_after_ms = -1,
        .error = error,
        .begin_ns = sma_ctx_now(model->ctx),
    };
    model_answer(model, target, question, &outcome);
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
