/* retry_judge.c — the words of providers into one verdict. Order and texts: protocols/models.md
 * §6.2-§6.4. */
#include "retry_priv.h"

#include "runtime/model/profile.h"
#include "sma/text.h"

#include <stdlib.h>
#include <strings.h>

/* -- matching ---------------------------------------------------------------------------------- */
static bool has_pattern(const char *text, const char *pattern)
{
    for (;;) {
        const char *star = strchr(pattern, '*');
        size_t len = star == NULL ? strlen(pattern) : (size_t)(star - pattern);
        const char *found = memmem(text, strlen(text), pattern, len);
        if (found == NULL)
            return false;
        if (star == NULL)
            return true;
        text = found + len;
        pattern = star + 1;
    }
}

bool sma_retry_has_word(const char *text, const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_pattern(text, patterns[i]))
            return true;
    return false;
}

#define HAS_WORD(text, ...)                                        \
    sma_retry_has_word((text), (const char *const[]){__VA_ARGS__}, \
                       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Type and code are names of the provider's own list: compared whole. */
static bool is_named(const struct sma_wire_error *error, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(error->code, names[i]) == 0 || strcasecmp(error->type, names[i]) == 0)
            return true;
    return false;
}

#define IS_NAMED(error, ...)                              \
    is_named((error), (const char *const[]){__VA_ARGS__}, \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool is_at(const struct sma_failure *failure, enum sma_host host)
{
    return failure->llm != NULL && sma_profile_host(failure->llm) == host;
}

static bool is_messages(const struct sma_failure *failure)
{
    return failure->llm != NULL && failure->llm->api == SMA_LLM_MESSAGES;
}

/* -- verdicts ---------------------------------------------------------------------------------- */
static bool say(struct sma_failure_verdict *verdict, enum sma_retry retry,
                enum sma_model_failure trouble)
{
    verdict->retry = retry;
    verdict->trouble = trouble;
    return true;
}

static bool say_quota(struct sma_failure_verdict *verdict)
{
    return say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_QUOTA);
}

static bool say_rate(struct sma_failure_verdict *verdict)
{
    return say(verdict, SMA_RETRY_YES, SMA_MODEL_FAILURE_RATE);
}

/* Errors inside a 200 answer carry no status most of the time: their names stand for one. */
static int status_of(const struct sma_failure *failure)
{
    const struct sma_wire_error *error = &failure->error;
    if (failure->trouble == SMA_FAILURE_HTTP)
        return failure->http_status;
    if (error->status != 0)
        return error->status;
    if (IS_NAMED(error, "authentication_error", "invalid_api_key"))
        return 401;
    if (IS_NAMED(error, "permission_error"))
        return 403;
    if (IS_NAMED(error, "not_found_error", "model_not_found"))
        return 404;
    if (IS_NAMED(error, "rate_limit_error", "rate_limit_exceeded"))
        return 429;
    if (IS_NAMED(error, "invalid_request_error", "invalid_prompt", "content_filter", "bio_policy",
                 "misalignment_policy_violation") ||
        strncmp(error->code, "image_", 6) == 0 || strncmp(error->code, "invalid_image", 13) == 0)
        return 400;
    return 500;
}

static bool is_refused(int status)
{
    return status == 400 || status == 422;
}

/* -- rules of one provider --------------------------------------------------------------------- */
/* It says the sentence of an empty purse for a wait of seconds, and names a wait even when the
 * day's quota is used up. */
static bool judge_gemini(const struct sma_failure *failure, int status,
                         struct sma_failure_verdict *verdict)
{
    if (!is_at(failure, SMA_HOST_GEMINI))
        return false;
    const char *said = failure->error.said;
    if (status != 429 && !HAS_WORD(said, "resource_exhausted"))
        return false;
    const char *limit = strstr(said, "limit: 0");
    bool is_never =
        limit != NULL && strchr("123456789.", limit[8] == '\0' ? ' ' : limit[8]) == NULL;
    if (!is_never && !HAS_WORD(said, "perday", "per day"))
        return say_rate(verdict);
    verdict->retry_after_ms = -1;
    return say_quota(verdict);
}

/* insufficient_quota is its throttle of tokens a minute. */
static bool judge_dashscope(const struct sma_failure *failure, int status,
                            struct sma_failure_verdict *verdict)
{
    if (!is_at(failure, SMA_HOST_QWEN))
        return false;
    const char *said = failure->error.said;
    if (HAS_WORD(said, "arrearage", "freetieronly", "free tier of the model has been exhausted"))
        return say_quota(verdict);
    if (status == 429 || HAS_WORD(said, "throttling"))
        return say_rate(verdict);
    return false;
}

static bool judge_zai(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    if (!is_at(failure, SMA_HOST_ZHIPU))
        return false;
    switch (atol(failure->error.code)) { /* a code that is no number is 0 */
    case 1302:
    case 1303:
    case 1305:
        return say_rate(verdict);
    case 1234:
    case 1312:
        return say(verdict, SMA_RETRY_YES, SMA_MODEL_FAILURE_TRANSIENT);
    case 1113:
    case 1304:
    case 1308:
    case 1309:
    case 1310:
    case 1313:
        return say_quota(verdict);
    case 1211:
    case 1311:
        return say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_NO_MODEL);
    case 1261:
        return say(verdict, SMA_RETRY_CONTEXT_LENGTH, SMA_MODEL_FAILURE_REQUEST);
    case 1301:
        return say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_REQUEST);
    default:
        break;
    }
    long code = atol(failure->error.code);
    bool is_account = (code >= 1000 && code <= 1004) || (code >= 1110 && code <= 1121);
    return is_account && say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_AUTH);
}

/* -- the classes, in order --------------------------------------------------------------------- */
/* What a server keeps about earlier turns and does not find as it was: reasoning of another model,
 * signatures, ids, images. In plain form there is nothing of it left. */
static bool is_about_session(const struct sma_failure *failure)
{
    const struct sma_wire_error *error = &failure->error;
    if (IS_NAMED(error, "invalid_encrypted_content", "image_dimensions_too_large"))
        return true;
    return HAS_WORD(
        error->said, "bound to a different conversation", "invalid*signature", "corrupted thought",
        "thought_signature", "thought signature", "thinking*blocks*cannot be modified",
        "expected `thinking` or", "expected `redacted_thinking`", "must be passed back",
        "reasoning_content is missing", "no tool output found", "without its required",
        "without*reasoning item", "encrypted content*could not be", "encrypted_content*could not",
        "items are not persisted", "tool_use` ids", "tool_use_id`", "must be followed by tool",
        "text content blocks must", "must be non-empty", "must contain non-whitespace",
        "image exceeds", "max bytes per data-uri", "too many images", "图片输入格式",
        "could not process image", "messages.*property*unsupported", "messages.*extra inputs");
}

static bool is_limit_over(const char *said)
{
    /* "Limit 6000, Requested 7000" without what is used already: it can never pass. */
    const char *limit = strstr(said, "limit ");
    for (; limit != NULL; limit = strstr(limit + 6, "limit ")) {
        char *end = NULL;
        unsigned long long most = strtoull(limit + 6, &end, 10);
        if (end == limit + 6 || strncmp(end, ", requested ", 12) != 0)
            continue;
        return strtoull(end + 12, NULL, 10) > most;
    }
    return false;
}

static bool is_context_length(const struct sma_failure *failure, int status)
{
    const struct sma_wire_error *error = &failure->error;
    if (is_limit_over(error->said) ||
        IS_NAMED(error, "context_length_exceeded", "exceed_context_size_error",
                 "model_context_window_exceeded", "request_too_large"))
        return true;
    if (HAS_WORD(error->said, "rate limit", "too many requests", "tokens per minute",
                 "tokens per day", "throttl"))
        return false;
    if (status == 413)
        return true;
    if (!is_refused(status) && status != 500)
        return false;
    return HAS_WORD(
        error->said, "context_length", "context length", "maximum context", "context window",
        "context_window", "context size", "context limit", "prompt is too long", "prompt too long",
        "prompt exceeds max", "input is too long", "maximum prompt length", "reduce the length",
        "maximum allowed input length", "input token count*exceeds the maximum",
        "tokens) is longer than", "exceeded model token limit", "token limit exceeded",
        "maximum model length", "in request more than max token", "range of input length should be",
        "exceed_context_size", "too long", "超长", "上下文过长", "超出最大上下文");
}

/* It says so in words that nobody uses of a picture: what it says of pictures besides is no reason
 * to leave them out. */
static bool is_about_window(const struct sma_failure *failure)
{
    return IS_NAMED(&failure->error, "context_length_exceeded", "exceed_context_size_error",
                    "model_context_window_exceeded") ||
           HAS_WORD(failure->error.said, "maximum context length", "maximum model length",
                    "context window", "prompt is too long");
}

static bool is_quota(const struct sma_failure *failure, int status)
{
    const struct sma_wire_error *error = &failure->error;
    if (status == 402 || error->status == 402 ||
        IS_NAMED(error, "insufficient_quota", "billing_error", "billing_not_active",
                 "billing_hard_limit_reached", "insufficient_balance", "insufficient_user_quota",
                 "exceeded_current_quota_error", "enforced_spend_limit_reached",
                 "contract_spend_limit_reached", "linked_organization_spend_limit_reached",
                 "organization_on_hold", "account_deactivated", "usage_limit_reached",
                 "subscription_sharing_usage_limit_exceeded"))
        return true;
    if (is_refused(status) &&
        !HAS_WORD(error->said, "balance", "credit", "usage limit", "arrearage", "欠费", "余额"))
        return false;
    return HAS_WORD(
        error->said, "exceeded your current quota", "insufficient balance", "insufficient credits",
        "insufficient_quota", "credit balance", "payment required", "spend limit", "spending limit",
        "out of budget", "require more credits", "requires more credits", "key limit exceeded",
        "membership benefits", "usage limit", "per-day", "per day", "(tpd)", "tpd rate limit",
        "daily limit", "weekly limit", "monthly limit", "余额不足", "欠费", "使用上限");
}

static bool is_rate(const struct sma_failure *failure, int status)
{
    const struct sma_wire_error *error = &failure->error;
    if (status == 429 || IS_NAMED(error, "rate_limit_exceeded", "rate_limit_error", "slow_down",
                                  "ramp_limit_exceeded", "rate_limit_reached_error"))
        return true;
    return (status == 403 || status >= 500) &&
           HAS_WORD(error->said, "rate limit", "rate_limit", "ratelimit", "too many requests",
                    "concurrency limit", "请求过于频繁", "流量限制");
}

static bool is_auth(const struct sma_failure *failure, int status)
{
    if (status == 401 || status == 403)
        return true;
    return is_refused(status) &&
           HAS_WORD(failure->error.said, "incorrect api key", "invalid api key",
                    "api key not valid", "api_key_invalid", "invalid x-api-key", "密钥无效");
}

static bool is_no_model(const struct sma_failure *failure, int status)
{
    const char *said = failure->error.said;
    if (IS_NAMED(&failure->error, "model_not_found", "model_not_exist"))
        return true;
    if (status == 404 || status == 410)
        return IS_NAMED(&failure->error, "not_found_error") ||
               HAS_WORD(said, "model", "no endpoints found", "模型");
    return is_refused(status) &&
           HAS_WORD(said, "model not exist", "not a valid model", "invalid model", "unknown model",
                    "no such model", "model not found", "does not support tools", "模型不存在");
}

/* Reasons that have nothing to do with the form of the request: it will be refused in any form. */
static bool is_about_content(const struct sma_failure *failure)
{
    return IS_NAMED(&failure->error, "content_filter", "invalid_prompt", "bio_policy",
                    "misalignment_policy_violation", "content_policy_violation",
                    "data_inspection_failed", "DataInspectionFailed") ||
           HAS_WORD(failure->error.said, "content management policy", "usage policies",
                    "inappropriate content", "invalid schema for function", "input was flagged",
                    "requires moderation", "content_policy_violation");
}

static void judge_refusal(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    if (is_about_content(failure)) {
        (void)say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_REQUEST);
        return;
    }
    sma_retry_find_member(failure, verdict->refused_member, sizeof verdict->refused_member);
    bool is_tool = strncmp(failure->error.param, "tools", 5) == 0;
    /* It names nothing that could be left out: what may have made it refuse is what other requests
     * do not have. */
    (void)say(verdict, SMA_RETRY_NO,
              verdict->refused_member[0] != '\0' ? SMA_MODEL_FAILURE_MEMBER
              : is_tool                          ? SMA_MODEL_FAILURE_REQUEST
                                                 : SMA_MODEL_FAILURE_SESSION);
}

static void judge_status(const struct sma_failure *failure, int status,
                         struct sma_failure_verdict *verdict)
{
    if (status == 403 &&
        is_about_content(failure)) /* what one said: the key is as good as before */
        (void)say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_REQUEST);
    else if (is_no_model(failure, status))
        (void)say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_NO_MODEL);
    else if (is_auth(failure, status))
        (void)say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_AUTH);
    else if (is_refused(status))
        judge_refusal(failure, verdict);
    else if (status == 408 || status == 409 || status == 425 || status >= 500)
        (void)say(verdict, SMA_RETRY_YES, SMA_MODEL_FAILURE_TRANSIENT);
    else if (status < 400 || status == 404 || status == 405 || status == 406 || status == 415)
        (void)say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_SETUP); /* nobody there knows this API */
    else
        (void)say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_REQUEST);
}

static void judge_answered(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    int status = status_of(failure);
    if (failure->has_files && (is_refused(status) || status == 404 || status == 413) &&
        !is_about_window(failure) && sma_retry_judge_picture(failure, verdict))
        return;
    if (judge_gemini(failure, status, verdict) || judge_dashscope(failure, status, verdict) ||
        judge_zai(failure, verdict))
        return;
    if ((is_refused(status) || status == 404) && is_about_session(failure))
        (void)say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_SESSION);
    else if (is_context_length(failure, status))
        (void)say(verdict, SMA_RETRY_CONTEXT_LENGTH, SMA_MODEL_FAILURE_REQUEST);
    else if (is_quota(failure, status))
        (void)say_quota(verdict);
    else if (is_rate(failure, status))
        (void)say_rate(verdict);
    else
        judge_status(failure, status, verdict);
    /* Anthropic names the wait of every true rate limit. Without one a quick repeat is refused,
     * too. */
    if (verdict->trouble == SMA_MODEL_FAILURE_RATE && failure->http_status == 429 &&
        is_messages(failure) && verdict->retry_after_ms < 0)
        verdict->retry = SMA_RETRY_NO;
}

static int64_t wait_of(const struct sma_failure *failure)
{
    const struct sma_wire_error *error = &failure->error;
    if (failure->retry_after_ms >= 0)
        return failure->retry_after_ms;
    if (error->has_retry_after)
        return error->retry_after_ms;
    if (error->reset_ms > 0 && failure->wall_ms > 0)
        return error->reset_ms > failure->wall_ms ? error->reset_ms - failure->wall_ms : 0;
    return -1;
}

static void heed_header(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    if (!failure->has_should_retry || verdict->retry == SMA_RETRY_CONTEXT_LENGTH)
        return;
    verdict->retry = failure->should_retry ? SMA_RETRY_YES : SMA_RETRY_NO;
    if (failure->should_retry && (verdict->trouble == SMA_MODEL_FAILURE_REQUEST ||
                                  verdict->trouble == SMA_MODEL_FAILURE_SESSION))
        verdict->trouble = SMA_MODEL_FAILURE_TRANSIENT;
}

void sma_failure_judge(const struct sma_failure *failure, struct sma_failure_verdict *ret_verdict)
{
    *ret_verdict = (struct sma_failure_verdict){
        .trouble = SMA_MODEL_FAILURE_TRANSIENT,
        .retry_after_ms = wait_of(failure),
    };
    switch (failure->trouble) {
    case SMA_FAILURE_SETUP:
    case SMA_FAILURE_NOMEM:
        ret_verdict->trouble = SMA_MODEL_FAILURE_SETUP;
        return;
    case SMA_FAILURE_TOOBIG:
        ret_verdict->trouble = SMA_MODEL_FAILURE_REQUEST;
        return;
    case SMA_FAILURE_UNREACHABLE:
    case SMA_FAILURE_SILENT:
    case SMA_FAILURE_TRUNCATED:
    case SMA_FAILURE_GARBAGE:
        ret_verdict->retry = SMA_RETRY_YES;
        break;
    case SMA_FAILURE_HTTP:
    case SMA_FAILURE_EVENT:
        judge_answered(failure, ret_verdict);
        heed_header(failure, ret_verdict);
        break;
    }
    if (ret_verdict->retry == SMA_RETRY_CONTEXT_LENGTH)
        ret_verdict->window_tokens = failure->error.window_tokens;
    if (ret_verdict->retry == SMA_RETRY_YES && ret_verdict->retry_after_ms > SMA_RETRY_AFTER_MAX_MS)
        ret_verdict->retry = SMA_RETRY_NO;
}
