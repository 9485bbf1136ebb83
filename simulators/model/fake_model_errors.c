/* See fake_model_errors.h. */
#include "fake_model_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTA_SENTENCE                                                                       \
    "You exceeded your current quota, please check your plan and billing details. For more " \
    "information on this error, read the docs: https://platform.example.com/docs/error-codes."

/* In messages: # the tokens of the request, @ the window, ~ seconds to wait (wait-ms=). */
struct trouble
{
    const char *profile, *name;
    int status;
    const char *code, *message;
    const char *details; /* JSON; member "details", NULL = none */
};

static const struct trouble TROUBLES[] = {
    {"anthropic", "rate", 429, "rate_limit_error",
     "This request would exceed your organization's rate limit of 50 requests per minute.", NULL},
    {"anthropic", "overloaded", 529, "overloaded_error", "Overloaded", NULL},
    {"anthropic", "ramp", 429, "rate_limit_error", "Usage is growing too fast.",
     "{\"error_code\":\"ramp_limit_exceeded\"}"},
    {"anthropic", "spend", 429, "rate_limit_error",
     "You have reached your specified API usage limits.",
     "{\"error_code\":\"enforced_spend_limit_reached\"}"},
    {"anthropic", "billing", 402, "billing_error",
     "Your credit balance is too low to access the Anthropic API.", NULL},
    {"anthropic", "key", 401, "authentication_error", "invalid x-api-key", NULL},
    {"anthropic", "nomodel", 404, "not_found_error", "model: claude-sonnet-4-20250514", NULL},
    {"anthropic", "overflow", 400, "invalid_request_error",
     "prompt is too long: # tokens > @ maximum", NULL},
    {"openai", "rate", 429, "rate_limit_exceeded",
     "Rate limit reached for requests. Limit: 3 / min. Please try again in ~s.", NULL},
    {"openai", "overloaded", 503, "server_error", "The engine is currently overloaded", NULL},
    {"openai", "billing", 429, "insufficient_quota", QUOTA_SENTENCE, NULL},
    {"openai", "window", 429, "usage_limit_reached", "The usage limit has been reached", NULL},
    {"openai", "overflow", 400, "context_length_exceeded",
     "Your input exceeds the context window of this model. Please adjust your input and try again.",
     NULL},
    {"deepseek", "rate", 429, "rate_limit_error", "Rate limit reached", NULL},
    {"deepseek", "overloaded", 503, "service_unavailable_error",
     "Service is too busy. We advise users to temporarily switch to alternative LLM API service.",
     NULL},
    {"deepseek", "billing", 402, "invalid_request_error", "Insufficient Balance", NULL},
    {"deepseek", "overflow", 400, "invalid_request_error",
     "This model's maximum context length is @ tokens. However, you requested # tokens (# in the "
     "messages, 0 in the completion). Please reduce the length of the messages or completion.",
     NULL},
    {"kimi", "rate", 429, "rate_limit_reached_error",
     "Your account org-1 request reached organization max RPM: 3, please try again after 1 seconds",
     NULL},
    {"kimi", "overloaded", 429, "engine_overloaded_error",
     "The engine is currently overloaded, please try again later", NULL},
    {"kimi", "window", 429, "rate_limit_reached_error",
     "Your account org-1 request reached organization TPD rate limit, current: 1500001", NULL},
    {"kimi", "billing", 403, "exceeded_current_quota_error",
     "Your account org-1 is suspended due to insufficient balance, please recharge your account or "
     "check your plan and billing details",
     NULL},
    {"kimi", "overflow", 400, "invalid_request_error",
     "Invalid request: Your request exceeded model token limit: @ (requested: #)", NULL},
    {"qwen", "rate", 429, "limit_requests", "Requests rate limit exceeded, please try again later.",
     NULL},
    {"qwen", "minute-quota", 429, "insufficient_quota", QUOTA_SENTENCE, NULL},
    {"qwen", "overloaded", 429, "Throttling.RateQuota", "Requests throttling triggered.", NULL},
    {"qwen", "billing", 400, "Arrearage",
     "Access denied, please make sure your account is in good standing.", NULL},
    {"qwen", "window", 403, "AllocationQuota.FreeTierOnly",
     "The free tier of the model has been exhausted.", NULL},
    {"qwen", "overflow", 400, "invalid_parameter_error", "Range of input length should be [1, @]",
     NULL},
    {"glm", "rate", 429, "1302", "您当前使用该 API 的并发数过高，请降低并发，或联系客服增加限额。",
     NULL},
    {"glm", "overloaded", 429, "1312", "该模型当前访问量过大，请稍后再试", NULL},
    {"glm", "window", 429, "1308",
     "已达到 5 小时的使用上限。您的限额将在 2026-11-23 12:00:00 重置。", NULL},
    {"glm", "billing", 429, "1113", "您的账户已欠费，请充值后重试。", NULL},
    {"glm", "key", 401, "1002", "API Key 密钥无效，认证失败", NULL},
    {"glm", "overflow", 400, "1261", "Prompt 超长", NULL},
    {"gemini", "rate", 429, "RESOURCE_EXHAUSTED",
     "You exceeded your current quota, please check your plan and billing details. Please retry in "
     "~s.",
     "[{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{\"quotaId\":"
     "\"GenerateRequestsPerMinutePerProjectPerModel\",\"quotaValue\":\"10\"}]},{\"@type\":"
     "\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"~s\"}]"},
    {"gemini", "window", 429, "RESOURCE_EXHAUSTED",
     "You exceeded your current quota, please check your plan and billing details.",
     "[{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{\"quotaId\":"
     "\"GenerateRequestsPerDayPerProjectPerModel\",\"quotaValue\":\"250\"}]}]"},
    {"gemini", "billing", 403, "PERMISSION_DENIED",
     "This API method requires billing to be enabled.", NULL},
    {"gemini", "overloaded", 503, "UNAVAILABLE",
     "This model is currently experiencing high demand. Spikes in demand are usually temporary. "
     "Please try again later.",
     NULL},
    {"gemini", "overflow", 400, "INVALID_ARGUMENT",
     "The input token count (#) exceeds the maximum number of tokens allowed (@).", NULL},
    {"openrouter", "rate", 429, "429", "Provider returned error", NULL},
    {"openrouter", "overloaded", 502, "502", "Provider returned error", NULL},
    {"openrouter", "billing", 402, "402",
     "This request requires more credits, or fewer max_tokens. To increase, visit "
     "https://openrouter.ai/settings/credits and add more credits",
     NULL},
    {"openrouter", "key-limit", 403, "403", "Key limit exceeded (total limit).", NULL},
    {"openrouter", "overflow", 400, "400",
     "This endpoint's maximum context length is @ tokens. However, you requested about # tokens (# "
     "of text input). Please reduce the length of either one.",
     NULL},
    {"ollama", "overloaded", 503, "api_error",
     "server busy, please try again. maximum pending "
     "requests exceeded",
     NULL},
    {"ollama", "nomodel", 404, "api_error", "model \"m\" not found, try pulling it first", NULL},
    {"ollama", "overflow", 400, "invalid_request_error",
     "prompt too long; exceeded max context length by # tokens", NULL},
    {"llamacpp", "overloaded", 503, "unavailable_error", "Loading model", NULL},
    {"llamacpp", "overflow", 400, "exceed_context_size_error",
     "the request exceeds the available context size, try increasing it", NULL},
    {"vllm", "overloaded", 503, "ServiceUnavailableError", "The engine is overloaded", NULL},
    {"vllm", "overflow", 400, "BadRequestError",
     "This model's maximum context length is @ tokens. However, you requested # tokens (# in the "
     "messages, 0 in the completion). Please reduce the length of the messages or completion.",
     NULL},
    {"groq", "rate", 429, "rate_limit_exceeded",
     "Rate limit reached for model in organization on tokens per minute (TPM): Limit 8000, Used "
     "7900, Requested 500. Please try again in ~s.",
     NULL},
    {"groq", "overflow", 413, "rate_limit_exceeded",
     "Request too large for model in organization on tokens per minute (TPM): Limit @, Requested "
     "#, please reduce the length of the messages and try again.",
     NULL},
    {"*", "rate", 429, "rate_limit_exceeded", "Too many requests", NULL},
    {"*", "overloaded", 503, "server_error", "The server is overloaded", NULL},
    {"*", "billing", 429, "insufficient_quota", QUOTA_SENTENCE, NULL},
    {"*", "key", 401, "invalid_api_key", "Incorrect API key provided: sk-...", NULL},
    {"*", "nomodel", 404, "model_not_found",
     "The model `m` does not exist or you do not have access to it.", NULL},
    {"*", "overflow", 400, "context_length_exceeded",
     "This model's maximum context length is @ tokens. However, your messages resulted in # "
     "tokens. Please reduce the length of the messages.",
     NULL},
};

static const struct trouble *find_trouble(const struct fake_profile *profile, const char *fault)
{
    for (size_t i = 0; i < SMA_COUNT_OF(TROUBLES); i++)
        if (fake_is(fault, TROUBLES[i].name) && (strcmp(TROUBLES[i].profile, profile->name) == 0 ||
                                                 strcmp(TROUBLES[i].profile, "*") == 0))
            return &TROUBLES[i];
    return NULL;
}

struct numbers
{
    size_t tokens, window;
    long wait_ms;
};

static void expand(const char *format, const struct numbers *numbers, char *text, size_t size)
{
    size_t len = 0;
    text[0] = '\0';
    for (; *format != '\0' && len + 1 < size; format++) {
        if (*format == '#')
            len += (size_t)snprintf(text + len, size - len, "%zu", numbers->tokens);
        else if (*format == '@' && strncmp(format, "@type", 5) != 0)
            len += (size_t)snprintf(text + len, size - len, "%zu", numbers->window);
        else if (*format == '~')
            len += (size_t)snprintf(text + len, size - len, "%ld.%03ld", numbers->wait_ms / 1000,
                                    numbers->wait_ms % 1000);
        else
            len += (size_t)snprintf(text + len, size - len, "%c", *format);
    }
}

/* -- shapes ------------------------------------------------------------------------------------ */
static json_t *error_of(enum fake_shape shape, const struct fake_refusal *refusal, json_t *details)
{
    const char *code = refusal->code, *message = refusal->message;
    switch (shape) {
    case FAKE_SHAPE_ANTHROPIC: {
        json_t *error = json_pack("{s:s,s:s}", "type", code, "message", message);
        if (details != NULL)
            json_object_set(error, "details", details);
        return json_pack("{s:s,s:o,s:s}", "type", "error", "error", error, "request_id",
                         "req_011CSHoEeqs5C35K2UUqR7Fy");
    }
    case FAKE_SHAPE_ZHIPU:
        return json_pack("{s:{s:s,s:s}}", "error", "code", code, "message", message);
    case FAKE_SHAPE_OPENROUTER:
        return json_pack("{s:{s:i,s:s,s:{s:s}}}", "error", "code", refusal->status, "message",
                         message, "metadata", "provider_name", "Upstream");
    case FAKE_SHAPE_GEMINI: {
        json_t *error = json_pack("{s:i,s:s,s:s}", "code", refusal->status, "message", message,
                                  "status", code[0] >= 'a' ? "INVALID_ARGUMENT" : code);
        if (details != NULL)
            json_object_set(error, "details", details);
        return json_pack("[{s:o}]", "error", error);
    }
    case FAKE_SHAPE_FLAT:
        return json_pack("{s:s,s:s,s:s,s:n,s:i}", "object", "error", "message", message, "type",
                         code, "param", "code", refusal->status);
    case FAKE_SHAPE_LLAMACPP:
        return json_pack("{s:{s:i,s:s,s:s}}", "error", "code", refusal->status, "message", message,
                         "type", code);
    case FAKE_SHAPE_OPENAI:
        break;
    }
    bool is_request = refusal->status == 400 || refusal->status == 404;
    json_t *error = json_pack(
        "{s:s,s:s,s:s}", "message", message, "type",
        is_request && strcmp(code, "insufficient_quota") != 0 ? "invalid_request_error" : code,
        "code", code);
    json_object_set_new(error, "param",
                        refusal->param[0] == '\0' ? json_null() : json_string(refusal->param));
    return json_pack("{s:o}", "error", error);
}

/* Takes the body. */
static void put_body(struct fake_response *response, int status, json_t *body,
                     const char *more_headers)
{
    char *text = json_dumps(body, JSON_COMPACT);
    fake_put_head(response, status, "application/json", more_headers,
                  text == NULL ? 0 : (long)strlen(text));
    sma_buf_put_text(&response->bytes, text == NULL ? "" : text);
    free(text);
    json_decref(body);
}

void fake_put_refusal(struct fake_response *response, const struct fake_profile *profile,
                      const struct fake_refusal *refusal, const char *more_headers)
{
    put_body(response, refusal->status, error_of(profile->shape, refusal, NULL), more_headers);
}

static void put_trouble(struct fake_response *response, const struct fake_profile *profile,
                        const struct trouble *trouble, const struct numbers *numbers,
                        const char *more_headers)
{
    struct fake_refusal refusal;
    char message[480], details[480];
    expand(trouble->message, numbers, message, sizeof message);
    expand(trouble->details == NULL ? "" : trouble->details, numbers, details, sizeof details);
    fake_refused(&refusal, trouble->status, trouble->code, "", "%s", message);
    json_t *more = json_loads(details, 0, NULL);
    json_t *body = error_of(profile->shape, &refusal, more);
    json_decref(more);
    if (profile->shape == FAKE_SHAPE_LLAMACPP && numbers->window > 0) {
        json_t *error = json_object_get(body, "error");
        json_object_set_new(error, "n_prompt_tokens", json_integer((json_int_t)numbers->tokens));
        json_object_set_new(error, "n_ctx", json_integer((json_int_t)numbers->window));
    }
    put_body(response, trouble->status, body, more_headers);
}

void fake_put_overflow(struct fake_response *response, const struct fake_profile *profile,
                       size_t tokens, size_t window)
{
    put_trouble(response, profile, find_trouble(profile, "overflow"),
                &(struct numbers){.tokens = tokens, .window = window}, "");
}

bool fake_put_trouble(struct fake_response *response, const struct fake_profile *profile,
                      const char *fault, const char *more_headers)
{
    const struct trouble *trouble = find_trouble(profile, fault);
    int status = (int)strtol(fault, NULL, 10);
    if (trouble == NULL && status >= 400) {
        struct fake_refusal refusal;
        fake_refused(&refusal, status, "server_error", "", "asked to fail with this status");
        fake_put_refusal(response, profile, &refusal, more_headers);
        return true;
    }
    if (trouble == NULL)
        return false;
    put_trouble(response, profile, trouble,
                &(struct numbers){
                    .tokens = 9001, .window = 9000, .wait_ms = fake_option(fault, "wait-ms", 1200)},
                more_headers);
    return true;
}
