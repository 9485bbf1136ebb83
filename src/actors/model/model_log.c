/*
 * model_log.c — what the log and `status` say about model calls: a line a call, a line for each
 * attempt that failed, and what stands in the way of the model that is asked.
 */
#include "model_priv.h"

#include "actors/kernel/traffic.h"
#include "sma/health.h"

static const char *trouble_word(enum sma_model_failure trouble)
{
    switch (trouble) {
    case SMA_MODEL_FAILURE_TRANSIENT:
        return "transient";
    case SMA_MODEL_FAILURE_RATE:
        return "rate";
    case SMA_MODEL_FAILURE_QUOTA:
        return "quota";
    case SMA_MODEL_FAILURE_AUTH:
        return "auth";
    case SMA_MODEL_FAILURE_NO_MODEL:
        return "no_model";
    case SMA_MODEL_FAILURE_MEMBER:
        return "member";
    case SMA_MODEL_FAILURE_SESSION:
        return "session";
    case SMA_MODEL_FAILURE_REQUEST:
        return "request";
    case SMA_MODEL_FAILURE_SETUP:
        return "setup";
    case SMA_MODEL_FAILURE_PICTURE:
        return "picture";
    case SMA_MODEL_FAILURE_FILE:
        return "file";
    }
    return "failed";
}

const char *model_outcome_word(const struct model_outcome *outcome)
{
    switch (outcome->status) {
    case SMA_MODEL_OK:
        return "ok";
    case SMA_MODEL_CONTEXT_LENGTH:
        return "context_length";
    case SMA_MODEL_CANCELLED:
        return "cancelled";
    case SMA_MODEL_FAILED:
        break;
    }
    return trouble_word(outcome->trouble);
}

static void put_usage(struct sma_traffic *line, const struct sma_usage *usage)
{
    uint64_t read = usage->input + usage->cached + usage->written;
    if (read + usage->output == 0)
        return;
    sma_traffic_u64(line, "input", usage->input);
    sma_traffic_u64(line, "cached", usage->cached);
    sma_traffic_u64(line, "written", usage->written);
    sma_traffic_u64(line, "output", usage->output);
    if (usage->reasoning > 0)
        sma_traffic_u64(line, "reasoning", usage->reasoning);
    if (read > 0)
        sma_traffic_u64(line, "cachedShare", usage->cached * 100 / read);
    if (usage->cost_nano > 0)
        sma_traffic_u64(line, "costNano", usage->cost_nano);
}

static void log_line(struct sma_model *model, const struct model_target *target,
                     const struct sma_model_ask *ask, const struct model_outcome *outcome)
{
    struct sma_traffic line;
    bool is_bad =
        outcome->status == SMA_MODEL_FAILED || outcome->status == SMA_MODEL_CONTEXT_LENGTH;
    if (!sma_traffic_begin(&line, model->ctx, is_bad ? SMA_LOG_WARN : SMA_LOG_INFO, "model_call",
                           ask->seq, ask->chat_key))
        return;
    if (target != NULL)
        sma_traffic_str(&line, "target", sma_str(target->name));
    sma_traffic_u64(&line, "round", ask->round);
    sma_traffic_str(&line, "outcome", sma_str(model_outcome_word(outcome)));
    sma_traffic_u64(&line, "attempts", outcome->attempt_count);
    sma_traffic_ms(&line, "firstTokenMs", outcome->begin_ns, outcome->first_token_ns);
    sma_traffic_ms(&line, "ms", outcome->begin_ns, sma_ctx_now(model->ctx));
    put_usage(&line, &outcome->usage);
    if (is_bad && outcome->http_status != 0)
        sma_traffic_u64(&line, "status", (uint64_t)outcome->http_status);
    if (is_bad && outcome->retry_after_ms >= 0)
        sma_traffic_u64(&line, "retryAfterMs", (uint64_t)outcome->retry_after_ms);
    sma_traffic_str(&line, "refusedMember", outcome->refused_member);
    if (is_bad)
        sma_traffic_str(&line, "error", outcome->error);
    sma_traffic_end(&line);
}

/* The run repairs these by itself: nobody has to do anything. */
static bool is_repaired(const struct model_outcome *outcome)
{
    return outcome->trouble == SMA_MODEL_FAILURE_MEMBER ||
           outcome->trouble == SMA_MODEL_FAILURE_SESSION ||
           outcome->trouble == SMA_MODEL_FAILURE_PICTURE ||
           outcome->trouble == SMA_MODEL_FAILURE_FILE;
}

/* `status` tells of the target that failed last until it answers: a fallback that does is no cure
 * of it. */
static void note_trouble(struct sma_model *model, const struct model_target *target,
                         const struct model_outcome *outcome)
{
    if (target == NULL)
        return;
    if (outcome->status == SMA_MODEL_OK && model->troubled == target->llm) {
        model->troubled = NULL;
        sma_health_set("model", SMA_STR(""));
    } else if (outcome->status == SMA_MODEL_FAILED && !is_repaired(outcome)) {
        model->troubled = target->llm;
        sma_health_set("model", outcome->error);
    }
}

void model_log_call(struct sma_model *model, const struct model_target *target,
                    const struct sma_msg *question, const struct model_outcome *outcome)
{
    const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
    note_trouble(model, target, outcome);
    log_line(model, target, ask, outcome);
    model_block_response(model, question, outcome);
}

void model_log_attempt(const struct model_request *request, struct sma_str error, bool is_again)
{
    sma_ctx_log(request->model->ctx, SMA_LOG_WARN,
                "model request of run %llu failed (attempt %u%s): %.*s",
                (unsigned long long)request->ask->seq, request->attempt_count,
                is_again ? ", will be repeated" : "", (int)error.len, error.ptr);
}

void model_log_reloaded(struct sma_model *model)
{
    const struct sma_config_llm *llm = &model->config->llm;
    sma_ctx_log(model->ctx, SMA_LOG_INFO, "new requests go to provider %s, model %s", llm->provider,
                llm->model);
    model->troubled = NULL;
    sma_health_set("model", SMA_STR(""));
}
