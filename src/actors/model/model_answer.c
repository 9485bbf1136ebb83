/* model_answer.c — what the model actor says to the agent: answers and streamed text. */
#include "model_priv.h"

#include "runtime/model/profile.h"
#include "sma/metrics.h"
#include "sma/text.h"

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

static struct sma_msg *make_answer(const struct sma_msg *question,
                                   const struct model_outcome *outcome)
{
    const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
    const struct sma_decoded *decoded = outcome->decoded;
    struct sma_model_answer answer = {
        .seq = ask->seq,
        .status = (uint8_t)outcome->status,
        .http_status = decoded == NULL ? outcome->http_status : 200,
        .error = outcome->error,
        .trouble = (uint8_t)outcome->trouble,
        .retry_after_ms = outcome->retry_after_ms,
        .refused_member = outcome->refused_member,
        .is_unexplained = outcome->is_unexplained,
        .window_tokens = outcome->window_tokens,
        .usage = outcome->usage,
        .is_usage_guessed = outcome->is_usage_guessed,
        .out_ns = outcome->out_ns,
        .first_token_ns = outcome->first_token_ns,
    };
    if (decoded != NULL) {
        answer.finish = (uint8_t)decoded->finish;
        answer.call_count = (uint32_t)decoded->call_count;
        answer.calls = decoded->calls;
        answer.text = decoded->text;
        if (decoded->finish == SMA_FINISH_STOP && sma_str_trim(decoded->text).len == 0)
            answer.reasoning = decoded->reasoning;
        answer.fragment = decoded->fragment;
    }
    return sma_msg_make_model_answer(&answer);
}

#define BYTES_OF_TOKEN 4
#define TOKENS_OF_FILE 1500

/* Some servers count nothing, or what cannot be true, which reads as nothing: no budget would ever
 * be used up. */
static void guess_usage(const struct sma_msg *question, struct model_outcome *outcome)
{
    const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
    struct sma_usage *usage = &outcome->usage;
    if (outcome->status != SMA_MODEL_OK || outcome->decoded == NULL || ask->llm == NULL ||
        strcmp(ask->llm->provider, "offline") == 0 ||
        usage->input + usage->cached + usage->written > 0)
        return;
    usage->input = ask->body.len / BYTES_OF_TOKEN + (uint64_t)ask->file_count * TOKENS_OF_FILE;
    if (usage->output == 0)
        usage->output = outcome->decoded->fragment.len / BYTES_OF_TOKEN;
    outcome->is_usage_guessed = true;
}

/* Where the provider does not say what it was: by llm.prices or the table; 0 = nobody knows. */
static void put_price(const struct sma_msg *question, struct sma_usage *usage)
{
    const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
    struct sma_profile profile;
    if (usage->cost_nano > 0 || ask->llm == NULL ||
        usage->input + usage->cached + usage->written + usage->output == 0)
        return;
    sma_profile_find(ask->llm, &profile);
    usage->cost_nano = sma_profile_cost_nano(ask->llm, &profile, usage);
}

void model_answer(struct sma_model *model, const struct model_target *target,
                  const struct sma_msg *question, const struct model_outcome *outcome)
{
    struct model_outcome full = *outcome, poor;
    full.usage.request_count = outcome->attempt_count;
    guess_usage(question, &full);
    put_price(question, &full.usage);
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
    struct sma_msg *msg = sma_msg_make_model_delta(
        &(struct sma_model_delta){.seq = ask->seq, .is_send_text = is_send_text, .text = text});
    if (msg != NULL) /* a signal: may be lost */
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
